/* Consistent initial values. */
#include "project/project.h"

#include "project/initial.h"

#include <math.h>
#include <string.h>

/* p and v onto the constraints, then v' and lambda. fixed: 2 n flags or NULL. */
static vin_status initial(vin_projector *self, double t, double *p, double *v, double *vdot,
                          double *lambda, const unsigned char *fixed,
                          vin_projection_report *report) {
  VINI_TRY(vini_projector_state(self, t, p, v, fixed, report));
  bool factored = self->mass_known && self->factored == VINI_FACTORED_MASS;
  double residual = 0;
  VINI_TRY(vini_projector_acceleration(self, t, p, v, factored, vdot, lambda, &residual));
  report->force_residual = vini_max_abs(self->vn[0], self->n); /* the residual was left there */
  return VIN_OK;
}

vin_status vini_initial_in_place(vin_projector *self, double t, double *p, double *v,
                                 double *lambda, vin_projection_report *report) {
  vin_projection_report own = vini_report_empty();
  *report = own;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  vin_status status = initial(self, t, p, v, vini_projector_spare(self).n, lambda, NULL, &own);
  *report = own;
  return status;
}

/* A state under construction: p, v, v', lambda, in memory of its own, because the projector's
 * scratch is in use meanwhile. */
typedef struct draft {
  double *memory, *p, *v, *vdot, *lambda;
} draft;

static vin_status make_draft(vin_projector *self, draft *d, const double *p, const double *v) {
  size_t n = (size_t)self->n, m = (size_t)self->m;
  d->memory = vini_alloc(&self->object.context, 3 * n + m, sizeof *d->memory);
  if (d->memory == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for initial values");
  }
  d->p = d->memory;
  d->v = d->p + n;
  d->vdot = d->v + n;
  d->lambda = d->vdot + n;
  memcpy(d->p, p, n * sizeof *p);
  memcpy(d->v, v, n * sizeof *v);
  return VIN_OK;
}

static void publish(const vin_projector *self, const draft *d, double *p, double *v, double *vdot,
                    double *lambda) {
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memcpy(p, d->p, n * sizeof *p);
  memcpy(v, d->v, n * sizeof *v);
  if (vdot != NULL) memcpy(vdot, d->vdot, n * sizeof *vdot);
  if (lambda != NULL) memcpy(lambda, d->lambda, m * sizeof *lambda);
}

vin_status vin_initial_values(vin_projector *self, double t, double *p, double *v, double *vdot,
                              double *lambda, vin_projection_report *report) {
  vin_projection_report own = vini_report_empty();
  if (report != NULL) *report = own;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  draft d;
  VINI_TRY(make_draft(self, &d, p, v));
  vin_status status = initial(self, t, d.p, d.v, d.vdot, d.lambda, NULL, &own);
  if (status == VIN_OK) publish(self, &d, p, v, vdot, lambda);
  if (report != NULL) *report = own;
  vini_free(&self->object.context, d.memory);
  return status;
}

vin_status vin_initial_solve(vin_system *system, const vin_projection_options *options, double t,
                             double *p, double *v, double *vdot, double *lambda,
                             vin_projection_report *report, char *text, size_t text_size) {
  vin_projector *projector = NULL;
  if (report != NULL) *report = vini_report_empty();
  const vin_context *context = system == NULL ? NULL : &system->object.context;
  vin_status status = vin_projector_create(&projector, context, system, options);
  if (status == VIN_OK) status = vin_initial_values(projector, t, p, v, vdot, lambda, report);
  if (status != VIN_OK)
    vini_fail_text(text, text_size, status, "%s", vin_projector_error(projector));
  vin_projector_destroy(projector);
  return status;
}

/* ---- with fixed data, verified ------------------------------------------------------------ */

vin_initial_options vin_initial_options_default(void) {
  vin_initial_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.trial = 1;
  return options;
}

vin_status vini_initial_options(vin_projector *self, vin_initial_options *own,
                                const vin_initial_options *given) {
  *own = vin_initial_options_default();
  if (given != NULL && !vini_options_copy(own, sizeof *own, given)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                     "struct_size is wrong: start from vin_initial_options_default()");
  }
  if (own->trial_step >= 0 && isfinite(own->trial_step)) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "trial_step is %g, must be >= 0",
                   own->trial_step);
}

/* The 2 n flags of both levels, or NULL: nothing is fixed. */
static vin_status join_fixed(vin_projector *self, const vin_initial_options *options,
                             unsigned char **fixed, vin_initial_report *report) {
  size_t n = (size_t)self->n;
  const unsigned char *levels[2] = {options->fixed_positions, options->fixed_velocities};
  *fixed = NULL;
  report->free_positions = report->free_velocities = self->n;
  if (levels[0] == NULL && levels[1] == NULL) return VIN_OK;
  *fixed = vini_alloc(&self->object.context, 2 * n, 1);
  if (*fixed == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for initial values");
  }
  for (int level = 0; level < 2; level++) {
    vin_int *free = level == 0 ? &report->free_positions : &report->free_velocities;
    for (size_t i = 0; levels[level] != NULL && i < n; i++) {
      (*fixed)[(size_t)level * n + i] = levels[level][i] != 0;
      *free -= levels[level][i] != 0;
    }
  }
  return VIN_OK;
}

/* Square root of |p - p~|_W^2 + |v - v~|_W^2. */
static double weighted_correction(vin_projector *self, const draft *d, const double *p,
                                  const double *v) {
  double *x = self->vn[0], *wx = self->vn[1], sum = 0;
  for (int level = 0; level < 2; level++) {
    const double *from = level == 0 ? p : v, *to = level == 0 ? d->p : d->v;
    for (vin_int i = 0; i < self->n; i++) x[i] = to[i] - from[i];
    vini_projector_weigh(self, (vini_level)level, x, wx);
    for (vin_int i = 0; i < self->n; i++) sum += x[i] * wx[i];
  }
  return sqrt(vini_max(sum, 0));
}

vin_status vin_initial_state(vin_projector *self, const vin_initial_options *options, double t,
                             double *p, double *v, double *vdot, double *lambda,
                             vin_initial_report *report) {
  vin_initial_report own;
  memset(&own, 0, sizeof own);
  own.projection = vini_report_empty();
  if (report != NULL) *report = own;
  vin_initial_options o;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  VINI_TRY(vini_initial_options(self, &o, options));
  const vin_context *context = &self->object.context;
  unsigned char *fixed;
  VINI_TRY(join_fixed(self, &o, &fixed, &own));
  draft d = {.memory = NULL};
  vin_status status = make_draft(self, &d, p, v);
  if (status == VIN_OK) {
    status = initial(self, t, d.p, d.v, d.vdot, d.lambda, fixed, &own.projection);
  }
  if (status == VIN_OK) {
    own.weighted_correction = weighted_correction(self, &d, p, v);
    status = vini_initial_verify(self, &o, t, d.p, d.v, d.vdot, d.lambda, &own);
  }
  if (status == VIN_OK) publish(self, &d, p, v, vdot, lambda);
  if (report != NULL) *report = own;
  vini_free(context, d.memory);
  vini_free(context, fixed);
  return status;
}

vin_status vin_initial_verify(vin_projector *self, const vin_initial_options *options, double t,
                              const double *p, const double *v, const double *vdot,
                              const double *lambda, vin_initial_report *report) {
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  if (report == NULL) return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "report is NULL");
  memset(report, 0, sizeof *report);
  report->projection = vini_report_empty();
  report->free_positions = report->free_velocities = self->n;
  vin_initial_options own;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  VINI_TRY(vini_projector_check(self, "acceleration", vdot));
  if (self->m > 0 && lambda == NULL) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "lambda is NULL");
  }
  int64_t bad = vini_first_nonfinite(lambda, self->m);
  if (bad >= 0) {
    char name[96];
    vin_system_constraint_name(self->system, (vin_int)bad, name, sizeof name);
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "lambda is %g for %s", lambda[bad], name);
  }
  VINI_TRY(vini_initial_options(self, &own, options));
  return vini_initial_verify(self, &own, t, p, v, vdot, lambda, report);
}
