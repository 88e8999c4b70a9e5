/* ivp - runs of the problems by the methods of the library. */
#include "ivp_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

vin_status ivp_dae(vin_dae **dae, const ivp_problem *p) {
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = p->n;
  desc.mass_pattern = (vin_triplets){p->mass_count, p->mass_row, p->mass_col};
  desc.mass_values = p->mass_value;
  desc.function = p->f;
  desc.jacobian = p->jacobian;
  desc.jacobian_pattern = (vin_triplets){p->jacobian_count, p->jacobian_row, p->jacobian_col};
  desc.index = p->variable_index;
  desc.typical = p->typical;
  desc.user = (void *)(uintptr_t)p;
  return vin_dae_create(dae, NULL, &desc);
}

/* The part of |f| without derivative: Phi of a mechanical problem, else the rows where B is zero. */
static double constraint_residual(const ivp_problem *p, double t, const double *y, double *f) {
  double largest = 0;
  const vin_system_desc *s = &p->system;
  if (s->positions > 0) {
    if (s->constraint(s->user, t, y, f) != 0) return NAN;
    for (vin_int c = 0; c < s->constraints; c++) largest = fmax(largest, fabs(f[c]));
    return largest;
  }
  if (p->f((void *)(uintptr_t)p, t, y, f) != 0) return NAN;
  for (vin_int e = 0; e < p->mass_count; e++) f[p->mass_row[e]] = 0;
  for (vin_int i = 0; i < p->n; i++) largest = fmax(largest, fabs(f[i]));
  return largest;
}

static vin_status fail(ivp_result *r, vin_status status, const char *text) {
  r->status = status;
  snprintf(r->text, sizeof r->text, "%s", text);
  return status;
}

/* y := start values. Rounded ones of a mechanical problem, y = (p, v, w, lambda): velocities are moved
 * onto their constraints, then accelerations and multipliers follow; positions stay, as in a code
 * for index 2, so that the published end values belong to the same motion. */
static vin_status start_values(const ivp_problem *p, double *y, ivp_result *r) {
  memcpy(y, p->y0, (size_t)p->n * sizeof *y);
  if (!p->rounded_start) return VIN_OK;
  vin_int n = p->system.positions;
  double *v = y + n, *w = v + n;
  vin_system *system = NULL;
  vin_projector *projector = NULL;
  vin_status status = vin_system_create(&system, NULL, &p->system);
  if (status == VIN_OK) status = vin_projector_create(&projector, NULL, system, NULL);
  if (status == VIN_OK) status = vin_project_velocity(projector, p->t0, y, v, NULL);
  if (status == VIN_OK) status = vin_project_acceleration(projector, p->t0, y, v, w, w + n);
  if (status != VIN_OK) fail(r, status, vin_projector_error(projector));
  vin_projector_destroy(projector);
  vin_system_destroy(system);
  return status;
}

/* From start to end; y (n) is the end. watch: residuals are looked at after each step, which takes
 * time. */
static vin_status integrate(const ivp_problem *p, vin_dae_integrator *integrator, bool watch,
                            double *y, double *scratch, ivp_result *r) {
  vin_status status = vin_dae_integrator_start(integrator, p->t0, y);
  if (status == VIN_OK && !watch) status = vin_dae_integrator_run(integrator, p->t_end);
  while (status == VIN_OK && vin_dae_integrator_state(integrator).t != p->t_end) {
    status = vin_dae_integrator_step(integrator, p->t_end);
    vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
    r->constraint_max = fmax(r->constraint_max, constraint_residual(p, at.t, at.y, scratch));
  }
  if (status != VIN_OK) return fail(r, status, vin_dae_integrator_error(integrator));
  memcpy(y, vin_dae_integrator_state(integrator).y, (size_t)p->n * sizeof *y);
  return VIN_OK;
}

static void run_once(const ivp_problem *p, const vin_dae_integrator_options *options, bool watch,
                     double *y, double *scratch, ivp_result *r) {
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  vin_status status = ivp_dae(&dae, p);
  if (status != VIN_OK) {
    fail(r, status, vin_dae_error(dae));
    vin_dae_destroy(dae);
    return;
  }
  status = vin_dae_integrator_create(&integrator, NULL, dae, options);
  vin_dae_destroy(dae);
  if (status != VIN_OK) {
    fail(r, status, vin_dae_integrator_error(integrator));
  } else if (start_values(p, y, r) == VIN_OK) {
    integrate(p, integrator, watch, y, scratch, r);
  }
  r->stats = vin_dae_integrator_get_stats(integrator);
  r->steps = r->stats.steps;
  r->numeric = r->stats.numeric;
  r->cpu_s = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  r->wall_s = now(CLOCK_MONOTONIC) - begin;
  vin_dae_integrator_destroy(integrator);
}

ivp_result ivp_run_dae(const ivp_problem *p, vin_dae_integrator_method method, double tolerance,
                       double *y) {
  ivp_result r = {.status = VIN_OK};
  size_t n = (size_t)p->n;
  double *absolute = malloc(n * sizeof *absolute), *scratch = malloc((n + 1) * sizeof *scratch);
  double *end = malloc(n * sizeof *end);
  if (absolute && scratch && end) {
    for (size_t i = 0; i < n; i++) absolute[i] = tolerance * p->typical[i];
    vin_dae_integrator_options options = vin_dae_integrator_options_default();
    options.method = method;
    options.relative_tolerance = tolerance;
    options.absolute_tolerances = absolute;
    options.time_scale = p->time_scale;
    options.breaks = p->breaks, options.break_count = p->break_count;
    run_once(p, &options, false, end, scratch, &r);
    double wall = r.wall_s, cpu = r.cpu_s;
    if (r.status == VIN_OK) run_once(p, &options, true, end, scratch, &r);
    r.wall_s = wall, r.cpu_s = cpu;
    r.error = ivp_error(p, end, p->n);
    if (y) memcpy(y, end, n * sizeof *y);
  } else {
    fail(&r, VIN_ERR_NO_MEMORY, "no memory");
  }
  free(absolute), free(scratch), free(end);
  return r;
}

static int watch_step(void *user, const vin_state_view *state) {
  (void)state;
  (*(int64_t *)user)++;
  return 0;
}

ivp_result ivp_run_system(const ivp_problem *p, vin_method method, double h) {
  ivp_result r = {.status = VIN_OK};
  if (p->system.positions == 0) {
    fail(&r, VIN_ERR_UNSUPPORTED, "no mechanical problem");
    return r;
  }
  vin_system *system = NULL;
  vin_sim *sim = NULL;
  vin_options options = vin_options_default();
  options.method = method;
  options.step = h;
  options.start_time = p->t0;
  vin_int n = p->system.positions;
  int64_t steps = 0;
  double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  vin_status status = vin_system_create(&system, NULL, &p->system);
  if (status != VIN_OK) {
    fail(&r, status, vin_system_error(system));
  } else {
    status = vin_sim_create_from_system(&sim, NULL, system, p->y0, p->y0 + n, &options);
    if (status == VIN_OK) status = vin_sim_add_observer(sim, 1, watch_step, &steps);
    if (status == VIN_OK) status = vin_sim_run(sim, p->t_end);
    if (status != VIN_OK) fail(&r, status, vin_sim_error(sim));
  }
  r.cpu_s = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  r.wall_s = now(CLOCK_MONOTONIC) - begin;
  r.steps = steps;
  if (status == VIN_OK) {
    vin_state_view end = vin_sim_state(sim);
    double *y = calloc((size_t)(2 * n), sizeof *y);
    if (y) memcpy(y, end.p, (size_t)n * sizeof *y);
    if (y) memcpy(y + n, end.v, (size_t)n * sizeof *y);
    r.error = y ? ivp_error(p, y, 2 * n) : NAN;
    r.constraint_max = vin_sim_report(sim).position_residual;
    r.numeric = vin_sim_get_stats(sim).solver.numeric;
    free(y);
  }
  vin_sim_destroy(sim);
  vin_system_destroy(system);
  return r;
}
