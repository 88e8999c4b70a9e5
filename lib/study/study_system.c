/* Order studies of constrained systems, run by vin_sim. */
#include "sim/sim.h"
#include "study/study.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* How far end - start may be from a whole number of steps, in steps. */
#define WHOLE 1e-6

typedef struct system_run {
  const vin_context *context;
  vin_system *system;
  const double *p, *v;
  double end;
  vin_options options;
  vin_sim *sim;            /* of the present run */
  double *phi, *h;         /* m each: of the present state */
  double *phi_max, *h_max; /* m each, in the result */
  vin_int m;
} system_run;

/* Observer: the largest residuals so far. */
static int watch(void *user, const vin_state_view *state) {
  system_run *run = user;
  double phi_max, h_max;
  vin_status status = vini_projector_residuals(run->sim->projector, state->t, state->p, state->v,
                                               &phi_max, &h_max, run->phi, run->h);
  if (status != VIN_OK) return 1;
  for (vin_int c = 0; c < run->m; c++) {
    run->phi_max[c] = vini_max(run->phi_max[c], fabs(run->phi[c]));
    run->h_max[c] = vini_max(run->h_max[c], fabs(run->h[c]));
  }
  return 0;
}

static vin_options loosened(const vin_options *options, double factor) {
  vin_options result = *options;
  result.position_tolerance *= factor;
  result.velocity_tolerance *= factor;
  result.newton_tolerance *= factor;
  return result;
}

/* To the end, with the residuals of every step; y: as vin_study_system() says. */
static vin_status advance(system_run *run, double *y) {
  size_t n = (size_t)run->system->n, m = (size_t)run->m;
  const vin_context *context = &run->sim->object.context;
  run->phi = vini_alloc(context, m, sizeof(double));
  run->h = vini_alloc(context, m, sizeof(double));
  vin_status status = run->phi != NULL && run->h != NULL
                          ? VIN_OK
                          : vini_fail(&run->sim->object, VIN_ERR_NO_MEMORY, "no memory");
  if (status == VIN_OK && m > 0) status = vin_sim_add_observer(run->sim, 1, watch, run);
  if (status == VIN_OK) status = vin_sim_run(run->sim, run->end);
  vini_free(context, run->phi);
  vini_free(context, run->h);
  if (status != VIN_OK) return status;
  vin_state_view state = vin_sim_state(run->sim);
  memcpy(y, state.p, n * sizeof *y);
  memcpy(y + n, state.v, n * sizeof *y);
  if (m > 0) memcpy(y + 2 * n, state.lambda, m * sizeof *y);
  return VIN_OK;
}

static vin_status solve(void *user, double step, double tolerance_factor, double *y, char *text,
                        size_t text_size) {
  system_run *run = user;
  size_t n = (size_t)run->system->n, m = (size_t)run->m;
  vin_options options = loosened(&run->options, tolerance_factor);
  options.step = step;
  run->phi_max = y + 2 * n + m;
  run->h_max = run->phi_max + m;
  memset(y, 0, (2 * n + 3 * m) * sizeof *y);
  run->sim = NULL;
  vin_status status =
      vin_sim_create_from_system(&run->sim, run->context, run->system, run->p, run->v, &options);
  if (status == VIN_OK) status = advance(run, y);
  if (status != VIN_OK) {
    vini_fail_text(text, text_size, status, "%s", vin_sim_error(run->sim));
  }
  vin_sim_destroy(run->sim);
  return status;
}

/* A failed handle with a text: the study itself refuses NULL for solve. */
static vin_status refuse(vin_study **study, const vin_context *context, const char *format,
                         double value) {
  VINI_TRY(vini_object_begin((void **)study, context, sizeof **study));
  vin_status status = vini_fail(&(*study)->object, VIN_ERR_BAD_INPUT, format, value);
  (*study)->object.created = status;
  return status;
}

vin_status vin_study_system(vin_study **study, const vin_context *context, vin_system *system,
                            const double *p, const double *v, double end,
                            const vin_options *options, const vin_study_options *study_options) {
  vin_options own = vin_options_default();
  if (system == NULL || p == NULL || v == NULL) {
    return refuse(study, context, "study: the system, p or v is NULL", 0);
  }
  if (vini_ready(&system->object) != VIN_OK) {
    return refuse(study, context, "study: the system was not created", 0);
  }
  if (!vini_options_copy(&own, sizeof own, options)) {
    return refuse(study, context, "study: struct_size of the method's options is wrong", 0);
  }
  double step = study_options == NULL ? 0 : study_options->step;
  double steps = (end - own.start_time) / step;
  if (!(steps >= 1 - WHOLE && fabs(steps - round(steps)) <= WHOLE)) {
    return refuse(study, context,
                  "study: from start_time to end there are %g steps, must be a whole number",
                  steps);
  }
  system_run run = {.context = context, .system = system, .p = p, .v = v, .end = end};
  run.options = own;
  run.m = system->m;
  vin_study_quantity quantities[] = {{"position", system->n, VIN_STUDY_SOLUTION},
                                     {"velocity", system->n, VIN_STUDY_SOLUTION},
                                     {"multiplier", system->m, VIN_STUDY_SOLUTION},
                                     {"constraint", system->m, VIN_STUDY_RESIDUAL},
                                     {"hidden", system->m, VIN_STUDY_RESIDUAL}};
  return vin_study_create(study, context, run.m > 0 ? 5 : 2, quantities, solve, &run,
                          study_options);
}
