/* Creation and destruction of a simulation: options, buffers, consistent start. */
#include "sim/sim.h"

#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* More halvings would shorten a step by more than a billion: a hang, not a help. */
enum { HALVINGS_MAX = 30, SWEEPS_MAX = 1000 };
/* Shortest step, in roundings of t. */
enum { STEP_ROUNDINGS = 16 };

vin_status vini_sim_check_step(vini_object *object, double t, double step) {
  if (!isfinite(step) || step <= 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "step is %s s, must be finite and > 0",
                     VINI_SIM_NUMBER(step));
  /* vin_sim_run() takes times that differ by a few roundings of t for the same time: a step must be
   * well above that, or a run would end without a step. */
  if (!(step > STEP_ROUNDINGS * DBL_EPSILON * vini_max(fabs(t), VINI_SIM_TINY_TIME)))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "step %s s is too small: it is lost in the rounding of t = %s s",
                     VINI_SIM_NUMBER(step), VINI_SIM_NUMBER(t));
  return VIN_OK;
}

vin_status vini_sim_check_values(vini_object *object, const vin_system *system, const char *what,
                                 const double *x) {
  int64_t bad = vini_first_nonfinite(x, vin_system_positions(system));
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_system_position_name(system, (vin_int)bad, name, sizeof name);
  return vini_fail(object, VIN_ERR_BAD_INPUT, "%s '%s' (index %d) is %s", what, name, (int)bad,
                   VINI_SIM_NUMBER(x[bad]));
}

static vin_status check_tolerance(vini_object *object, const char *name, double value) {
  if (isfinite(value) && value > 0) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "%s is %s, must be finite and > 0", name,
                   VINI_SIM_NUMBER(value));
}

static vin_status check_options(vin_sim *sim) {
  vini_object *object = &sim->object;
  const vin_options *o = &sim->options;
  if ((unsigned)o->method >= (unsigned)vini_method_count)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "method %d is unknown", (int)o->method);
  if ((int)o->projection < VIN_PROJECTION_NONE || o->projection > VIN_PROJECTION_BOTH)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "projection %d is unknown", (int)o->projection);
  if (!isfinite(o->start_time))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "start_time is %s s, must be finite",
                     VINI_SIM_NUMBER(o->start_time));
  VINI_TRY(vini_sim_check_step(object, o->start_time, o->step));
  if (o->max_halvings < 0 || o->max_halvings > HALVINGS_MAX)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_halvings is %d, must be 0..%d",
                     o->max_halvings, HALVINGS_MAX);
  if (o->max_sweeps < 1 || o->max_sweeps > SWEEPS_MAX)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_sweeps is %d, must be 1..%d", o->max_sweeps,
                     SWEEPS_MAX);
  VINI_TRY(check_tolerance(object, "position_tolerance", o->position_tolerance));
  return check_tolerance(object, "velocity_tolerance", o->velocity_tolerance);
}

static vin_status allocate_state(const vin_sim *sim, vin_state *state) {
  const vin_context *context = &sim->object.context;
  state->p = vini_alloc(context, (size_t)sim->n, sizeof *state->p);
  state->v = vini_alloc(context, (size_t)sim->n, sizeof *state->v);
  state->lambda = vini_alloc(context, (size_t)sim->m, sizeof *state->lambda);
  return state->p && state->v && state->lambda ? VIN_OK : VIN_ERR_NO_MEMORY;
}

static vin_status no_memory(vin_sim *sim) {
  return vini_fail(&sim->object, VIN_ERR_NO_MEMORY,
                   "no memory for the states of %d positions and %d constraints", (int)sim->n,
                   (int)sim->m);
}

static vin_status allocate_start(vin_sim *sim) {
  sim->accepted = &sim->buffers[0];
  return allocate_state(sim, sim->accepted) == VIN_OK ? VIN_OK : no_memory(sim);
}

static vin_status allocate_spares(vin_sim *sim) {
  const vin_context *context = &sim->object.context;
  vin_status status = VIN_OK;
  for (int k = 1; k < 3 && status == VIN_OK; k++) status = allocate_state(sim, &sim->buffers[k]);
  sim->vdot = vini_alloc(context, (size_t)sim->n, sizeof *sim->vdot);
  sim->lambda = vini_alloc(context, (size_t)sim->m, sizeof *sim->lambda);
  if (status != VIN_OK || !sim->vdot || !sim->lambda) return no_memory(sim);
  sim->spare[0] = &sim->buffers[1];
  sim->spare[1] = &sim->buffers[2];
  return VIN_OK;
}

/* Memory for the start. Takes over one reference to the system. */
static vin_status take_system(vin_sim *sim, vin_system *system) {
  sim->system = system;
  sim->n = vin_system_positions(system);
  sim->m = vin_system_constraints(system);
  return allocate_start(sim);
}

/* The system whose constraints fit the start, in place of the one given. */
static vin_status shift_constraints(vin_sim *sim) {
  vin_system *shifted = NULL;
  const vin_state *state = sim->accepted;
  vin_status status = vin_system_shifted(&shifted, &sim->object.context, sim->system,
                                         sim->options.start_time, state->p, state->v);
  if (status != VIN_OK) {
    vini_fail(&sim->object, status, "the constraints cannot be shifted: %s",
              vin_system_error(shifted));
    vin_system_destroy(shifted);
    return status;
  }
  vin_system_destroy(sim->system);
  sim->system = shifted;
  return VIN_OK;
}

static vin_status make_integrator(vin_sim *sim) {
  vin_status status =
      vin_integrator_create(&sim->integrator, &sim->object.context, sim->system, &sim->options);
  /* were borrowed; the integrator has its own copies */
  sim->options.projector.weights = sim->options.projector.velocity_weights = NULL;
  if (status != VIN_OK)
    return vini_fail(&sim->object, status, "%s", vin_integrator_error(sim->integrator));
  sim->projector = vin_integrator_projector(sim->integrator);
  sim->control = (vini_control){
      .on = vini_integrator_controlled(sim->integrator), .h = sim->options.step, .error = 1};
  return allocate_spares(sim); /* not before: the analysis needs much memory for a while */
}

void vini_sim_restart(vin_sim *sim, double t, bool lambda_known) {
  vin_state *state = sim->accepted;
  state->t = t;
  sim->base = t;
  sim->count = 0;
  sim->last_end = sim->previous = NULL;
  sim->control.error = 1;
  /* Multipliers of a state that no step led to are those of the acceleration level; where there are
   * none (a singular configuration) zero is the neutral choice. */
  if (!lambda_known && vini_sim_accelerations(sim, sim->vdot, state->lambda, NULL) != VIN_OK)
    memset(state->lambda, 0, (size_t)sim->m * sizeof *state->lambda);
}

vin_status vini_sim_start_energy(vin_sim *sim, double t, const double *p, const double *v,
                                 double *energy) {
  double kinetic = NAN, potential = NAN;
  vin_status status = vini_projector_energy(sim->projector, t, p, v, &kinetic, &potential);
  *energy = kinetic + potential;
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&sim->object, status, "the start has no energy: %s",
                   vin_projector_error(sim->projector));
}

/* Start values are in the accepted buffer: checks them, makes them consistent if asked to. */
static vin_status begin(vin_sim *sim) {
  vin_state *state = sim->accepted;
  double t = sim->options.start_time;
  VINI_TRY(vini_sim_check_values(&sim->object, sim->system, "start position", state->p));
  VINI_TRY(vini_sim_check_values(&sim->object, sim->system, "start velocity of", state->v));
  sim->start_report.most_moved = sim->start_report.worst = -1;
  if (!sim->options.fix_start && sim->options.shift_constraints) VINI_TRY(shift_constraints(sim));
  VINI_TRY(make_integrator(sim));
  if (sim->options.fix_start) {
    vin_status status = vin_initial_values(sim->projector, t, state->p, state->v, sim->vdot,
                                           state->lambda, &sim->start_report);
    if (status != VIN_OK)
      return vini_fail(&sim->object, status, "the start cannot be made consistent: %s",
                       vin_projector_error(sim->projector));
  }
  vini_sim_restart(sim, t, sim->options.fix_start != 0);
  return vini_sim_start_energy(sim, t, state->p, state->v, &sim->energy_start);
}

/* Handle and checked options, common to both ways in. */
static vin_status open_sim(vin_sim **sim, const vin_context *context, const vin_options *options) {
  VINI_TRY(vini_object_begin((void **)sim, context, sizeof **sim));
  (*sim)->options = vin_options_default();
  if (!vini_options_copy(&(*sim)->options, sizeof(vin_options), options))
    return vini_fail(&(*sim)->object, VIN_ERR_BAD_INPUT,
                     "options: struct_size is wrong; start from vin_options_default()");
  return check_options(*sim);
}

static vin_status close_sim(vin_sim *sim, vin_status status) {
  if (sim && sim->object.created == VIN_ERR_BAD_STATE) sim->object.created = status;
  return status;
}

static vin_status from_model(vin_sim *sim, vin_model *model) {
  vin_system *system = NULL;
  vin_status status = vin_model_compile(model, &system);
  if (status != VIN_OK) {
    vini_fail(&sim->object, status, "%s", vin_model_error(model));
    vin_system_destroy(system); /* a failed create hands back a handle too */
    return status;
  }
  VINI_TRY(take_system(sim, system));
  status = vin_model_start(model, sim->accepted->p, sim->accepted->v);
  if (status != VIN_OK) return vini_fail(&sim->object, status, "%s", vin_model_error(model));
  return begin(sim);
}

vin_status vin_sim_create(vin_sim **sim, vin_model *model, const vin_options *options) {
  if (!sim) return VIN_ERR_BAD_INPUT;
  vin_status status = open_sim(sim, model ? &model->object.context : NULL, options);
  if (status == VIN_OK)
    status = model ? from_model(*sim, model)
                   : vini_fail(&(*sim)->object, VIN_ERR_BAD_INPUT, "the model is NULL");
  return close_sim(*sim, status);
}

static vin_status from_system(vin_sim *sim, vin_system *system, const double *p, const double *v) {
  if (!system || !p || !v)
    return vini_fail(&sim->object, VIN_ERR_BAD_INPUT, "%s is NULL",
                     !system ? "the system"
                     : !p    ? "p, the start positions,"
                             : "v, the start velocities,");
  if (vini_ready(&system->object) != VIN_OK)
    return vini_fail(&sim->object, VIN_ERR_BAD_STATE, "the system was not created: %s",
                     vin_system_error(system));
  VINI_TRY(take_system(sim, vin_system_retain(system)));
  memcpy(sim->accepted->p, p, (size_t)sim->n * sizeof *p);
  memcpy(sim->accepted->v, v, (size_t)sim->n * sizeof *v);
  return begin(sim);
}

vin_status vin_sim_create_from_system(vin_sim **sim, const vin_context *context, vin_system *system,
                                      const double *p, const double *v,
                                      const vin_options *options) {
  if (!sim) return VIN_ERR_BAD_INPUT;
  vin_status status = open_sim(sim, context, options);
  if (status == VIN_OK) status = from_system(*sim, system, p, v);
  return close_sim(*sim, status);
}

void vin_sim_destroy(vin_sim *sim) {
  if (!sim) return;
  for (int k = 0; k < sim->observer_count; k++)
    if (sim->observers[k].gone) sim->observers[k].gone(sim->observers[k].user);
  const vin_context *context = &sim->object.context;
  vin_integrator_destroy(sim->integrator);
  vin_system_destroy(sim->system);
  for (int k = 0; k < 3; k++) {
    vini_free(context, sim->buffers[k].p);
    vini_free(context, sim->buffers[k].v);
    vini_free(context, sim->buffers[k].lambda);
  }
  vini_free(context, sim->vdot);
  vini_free(context, sim->lambda);
  vini_object_destroy(&sim->object);
}

const char *vin_sim_error(const vin_sim *sim) {
  return vini_text(sim ? &sim->object : NULL);
}
