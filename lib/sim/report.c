/* Diagnostics of the accepted state. They evaluate through the integrator's projector and use its
 * factorisation where it belongs to this very state; the integrator notices by itself when a new
 * one was made (projector.factor_stamp). */
#include "sim/sim.h"

#include <math.h>

static bool factor_fits(const vin_sim *sim) {
  return sim->last_end == sim->accepted && vini_integrator_factor_fits(sim->integrator);
}

vin_status vini_sim_accelerations(vin_sim *sim, double *vdot, double *lambda, double *residual) {
  const vin_state *state = sim->accepted;
  bool fits = factor_fits(sim);
  return vini_projector_acceleration(sim->projector, state->t, state->p, state->v, fits, vdot,
                                     lambda, residual);
}

/* Text of a failed diagnosis, unless it would replace the reason why the run ended: that is what a
 * caller prints who looks at the report first. */
static void report_text(vin_sim *sim, const char *what, vin_status status, const char *reason) {
  if (!sim->run_text)
    vini_fail(&sim->object, status, "%s at t = %s s: %s", what, VINI_SIM_NUMBER(sim->accepted->t),
              reason);
}

static vin_report undefined_report(vin_status status) {
  return (vin_report){.time = NAN,
                      .kinetic = NAN,
                      .potential = NAN,
                      .energy = NAN,
                      .energy_start = NAN,
                      .position_residual = NAN,
                      .velocity_residual = NAN,
                      .dae_residual = NAN,
                      .linear_momentum = {NAN, NAN, NAN},
                      .angular_momentum = {NAN, NAN, NAN},
                      .max_multiplier = NAN,
                      .status = status};
}

static void report_accelerations(vin_sim *sim, const vin_state *state, bool fits,
                                 vin_report *report) {
  const vini_spare spare = vini_projector_spare(sim->projector);
  double residual = NAN;
  report->status = vini_projector_acceleration(sim->projector, state->t, state->p, state->v, fits,
                                               spare.n, spare.m, &residual);
  if (report->status != VIN_OK) {
    report_text(sim, "no accelerations", report->status, vin_projector_error(sim->projector));
    return;
  }
  report->dae_residual = residual;
  report->max_multiplier = vini_max_abs(spare.m, sim->m);
}

static void report_energy(vin_sim *sim, const vin_state *state, vin_report *report) {
  double kinetic = NAN, potential = NAN;
  vin_status status =
      vini_projector_energy(sim->projector, state->t, state->p, state->v, &kinetic, &potential);
  if (status != VIN_OK) {
    report_text(sim, "no energy", status, vin_projector_error(sim->projector));
    return;
  }
  report->kinetic = kinetic;
  report->potential = potential;
  report->energy = kinetic + potential;
}

static void report_residuals(vin_sim *sim, const vin_state *state, vin_report *report) {
  double phi = NAN, h = NAN;
  vin_status status =
      vini_projector_residuals(sim->projector, state->t, state->p, state->v, &phi, &h, NULL, NULL);
  if (status != VIN_OK) {
    report_text(sim, "no residuals", status, vin_projector_error(sim->projector));
    return;
  }
  report->position_residual = phi;
  report->velocity_residual = h;
}

static void report_momentum(vin_sim *sim, const vin_state *state, vin_report *report) {
  vini_object reason = {.created = VIN_OK}; /* takes the text, so that the sim's own may stay */
  vin_status status = vini_eval_momentum(sim->system, &reason, state->t, state->p, state->v,
                                         report->linear_momentum, report->angular_momentum);
  if (status == VIN_OK) return;
  for (int k = 0; k < 3; k++) report->linear_momentum[k] = report->angular_momentum[k] = NAN;
  report_text(sim, "no momentum", status, reason.text);
}

vin_report vini_sim_report_at(vin_sim *sim, const vin_state *state, bool fits) {
  vin_report report = undefined_report(VIN_OK);
  report.time = state->t;
  report.steps = sim->steps;
  report.energy_start = sim->energy_start;
  /* first: a factorisation that fits is used before it is lost */
  report_accelerations(sim, state, fits, &report);
  report_energy(sim, state, &report);
  report_residuals(sim, state, &report);
  report_momentum(sim, state, &report);
  return report;
}

vin_report vin_sim_report(vin_sim *sim) {
  vin_status ready = vini_ready(sim ? &sim->object : NULL);
  if (ready != VIN_OK) return undefined_report(ready);
  return vini_sim_report_at(sim, sim->accepted, factor_fits(sim));
}

vin_status vin_sim_accelerations(vin_sim *sim, double *vdot, double *lambda) {
  VINI_TRY(vini_ready(sim ? &sim->object : NULL));
  if (!vdot) vdot = vini_projector_spare(sim->projector).n;
  if (!lambda) lambda = vini_projector_spare(sim->projector).m;
  vin_status status = vini_sim_accelerations(sim, vdot, lambda, NULL);
  if (status != VIN_OK)
    vini_fail(&sim->object, status, "no accelerations at t = %s s: %s",
              VINI_SIM_NUMBER(sim->accepted->t), vin_projector_error(sim->projector));
  return status;
}

vin_stats vin_sim_get_stats(const vin_sim *sim) {
  if (vini_ready(sim ? &sim->object : NULL) != VIN_OK) return (vin_stats){0};
  return vin_integrator_get_stats(sim->integrator);
}

vin_projection_report vin_sim_start_report(const vin_sim *sim) {
  /* also of a failed start: it tells how far the projection came */
  if (!sim) return (vin_projection_report){.most_moved = -1, .worst = -1};
  return sim->start_report;
}

vin_system *vin_sim_system(vin_sim *sim) {
  return sim ? sim->system : NULL;
}

vin_kkt *vin_sim_kkt(vin_sim *sim) {
  return sim && sim->projector ? vin_projector_kkt(sim->projector) : NULL;
}
