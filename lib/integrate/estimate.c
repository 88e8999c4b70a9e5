/* Step control, the integrator's side: what a step is judged by, which is the scaled error estimate and
 * the growth of the constraint residuals, theory (28c) and (28d); and its options. */
#include "integrate/integrate.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Growth that is rounding of the row's terms. */
#define ROUNDINGS 16

bool vini_integrator_controlled(const vin_integrator *self) {
  return self->options.relative_tolerance > 0 || self->options.absolute_tolerance > 0;
}

static double scale(const vin_options *o, double x, double y) {
  return o->absolute_tolerance + o->relative_tolerance * vini_max(fabs(x), fabs(y));
}

/* theory (28c) for one of p and v; NaN is passed on */
static double largest(const vin_integrator *self, const double *e, const double *x,
                      const double *y) {
  const vin_options *o = &self->options;
  if (!vini_integrator_controlled(self)) return vini_max_abs(e, self->n);
  double most = 0;
  for (vin_int i = 0; i < self->n; i++) {
    double ratio = e[i] == 0 ? 0 : fabs(e[i]) / scale(o, x[i], y[i]);
    if (!(ratio <= most)) most = ratio;
    if (isnan(most)) break;
  }
  return most;
}

void vini_set_estimate(vin_integrator *self, const vin_state *from, const vin_state *to,
                       const double *e_p, const double *e_v) {
  double p = largest(self, e_p, from->p, to->p), v = largest(self, e_v, from->v, to->v);
  self->estimate = isnan(p) || isnan(v) ? HUGE_VAL : vini_max(p, v);
}

/* limit := per row, the residual that errors of the tolerance's size in x explain; rounding := that of
 * the row's terms. */
static void row_limits(const vin_integrator *self, const double *x, const double *y, double *limit,
                       double *rounding) {
  const vin_projector *projector = self->projector;
  const vin_int *row = projector->jacobian.row, *col = projector->jacobian.col;
  size_t bytes = (size_t)self->m * sizeof(double);
  memset(limit, 0, bytes);
  memset(rounding, 0, bytes);
  for (vin_int k = 0; k < projector->jacobian.count; k++) {
    double value = fabs(projector->jacobian_values[k]);
    limit[row[k]] += value * scale(&self->options, x[col[k]], y[col[k]]);
    rounding[row[k]] += ROUNDINGS * DBL_EPSILON * value * fabs(y[col[k]]);
  }
}

/* theory (28d) for one of Phi and Phi': allowed is what their own rates explain. */
static void raise_growth(double *most, double before, double after, double allowed, double limit,
                         double rounding) {
  const double grown = fabs(after) - fabs(before) - allowed;
  if (grown <= rounding) return;
  const double ratio = grown / limit;
  if (!(ratio <= *most)) *most = isnan(ratio) ? HUGE_VAL : ratio;
}

/* |Phi''| by the law of the stabilisation, the largest within a step of length h that ends with phi and rate; 0
 * without one. */
static double law_of_row(const vin_integrator *self, vin_int c, double phi, double rate, double h) {
  const vin_baumgarte *b = &self->options.baumgarte;
  if (b->order == 1) return fabs(rate) / b->tau;
  if (b->order == 2) return fabs(2 * b->zeta * b->omega * rate + b->omega * b->omega * phi);
  if (b->order < 3) return 0;
  const double w = self->w[c];
  return fabs(w) + h * fabs(b->a * w + b->b * rate + b->c * phi);
}

static vin_status set_residual_estimate(vin_integrator *self, const vin_state *from,
                                        const vin_state *to, bool continues) {
  vin_projector *projector = self->projector;
  double **before = self->residual, *phi = projector->vm[3], *rate = projector->vm[4];
  double *limit = projector->vm[5], *rounding = projector->vm[6], worst = 0;
  const double h = fabs(to->t - from->t);
  if (!continues || !self->residual_known) {
    VINI_TRY(vini_projector_residuals(projector, from->t, from->p, from->v, NULL, NULL, before[0],
                                      before[1]));
  }
  VINI_TRY(vini_projector_residuals(projector, to->t, to->p, to->v, NULL, NULL, phi, rate));
  row_limits(self, from->p, to->p, limit, rounding);
  for (vin_int c = 0; c < self->m; c++) {
    const double allowed = h * vini_max(fabs(before[1][c]), fabs(rate[c]));
    raise_growth(&worst, before[0][c], phi[c], allowed, limit[c], rounding[c]);
  }
  row_limits(self, from->v, to->v, limit, rounding);
  for (vin_int c = 0; c < self->m; c++) {
    const double allowed = h * vini_max(law_of_row(self, c, before[0][c], before[1][c], h),
                                        law_of_row(self, c, phi[c], rate[c], h));
    raise_growth(&worst, before[1][c], rate[c], allowed, limit[c], rounding[c]);
  }
  self->residual_estimate = worst;
  memcpy(before[0], phi, (size_t)self->m * sizeof(double));
  memcpy(before[1], rate, (size_t)self->m * sizeof(double));
  self->residual_known = true;
  return VIN_OK;
}

void vini_control_begin(vin_integrator *self) {
  self->estimate = self->residual_estimate = NAN;
  if (self->dense == NULL) return;
  self->dense->valid = self->dense->has_bow = false;
}

vin_status vini_control_end(vin_integrator *self, const vin_state *from, const vin_state *to,
                            double h, bool continues) {
  self->residual_estimate = 0;
  if (self->residual[0] != NULL) {
    vin_status status = set_residual_estimate(self, from, to, continues);
    VINI_TRY(vini_step_failure(self, status, from->t, h));
  }
  if (self->dense != NULL && !self->dense->valid) vini_dense_keep(self, from, to, h, NULL, NULL);
  return VIN_OK;
}

/* ---- options ------------------------------------------------------------------------------------ */

static bool size(double x) {
  return x >= 0 && x < HUGE_VAL;
}

static vin_status check_tolerances(vin_integrator *self) {
  const vin_options *o = &self->options;
  vini_object *object = &self->object;
  double relative = o->relative_tolerance, absolute = o->absolute_tolerance;
  if (!size(relative) || !size(absolute)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "relative_tolerance is %g and absolute_tolerance %g, must be finite and >= 0",
                     relative, absolute);
  }
  if (relative > 0 && absolute == 0) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "absolute_tolerance is 0 and relative_tolerance %g: what passes through zero "
                     "needs an absolute one",
                     relative);
  }
  if (absolute > 0 && !(self->method->flags & VINI_METHOD_ESTIMATE)) {
    return vini_fail(object, VIN_ERR_UNSUPPORTED,
                     "%s has no error estimate to hold the tolerances with: use dopri5, or set "
                     "both tolerances to 0 for steps of constant length",
                     self->method->name);
  }
  return VIN_OK;
}

vin_status vini_control_check(vin_integrator *self) {
  const vin_options *o = &self->options;
  vini_object *object = &self->object;
  VINI_TRY(check_tolerances(self));
  if (!size(o->min_step) || !size(o->max_step) || (o->max_step > 0 && o->max_step < o->min_step)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "min_step is %g s and max_step %g s, must be finite, >= 0 and in order",
                     o->min_step, o->max_step);
  }
  if (o->projection_every < 1) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "projection_every is %d, must be >= 1",
                     o->projection_every);
  }
  if (!size(o->projection_drift)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "projection_drift is %g, must be finite and >= 0",
                     o->projection_drift);
  }
  return VIN_OK;
}

bool vini_control_allocate(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  size_t m = (size_t)self->m;
  double **wanted[] = {&self->w, &self->wdot, &self->residual[0], &self->residual[1]};
  bool third = self->options.baumgarte.order == 3, controlled = vini_integrator_controlled(self);
  self->estimate = self->residual_estimate = NAN;
  for (int k = 0; k < 4; k++) {
    if (!(k < 2 ? third : controlled && m > 0)) continue;
    *wanted[k] = vini_alloc(context, m, sizeof(double));
    if (*wanted[k] == NULL) return false;
  }
  bool returns = controlled || self->options.max_halvings > 0;
  if (!returns || !(third || (self->method->flags & VINI_METHOD_ACCELERATION))) return true;
  return vini_mark_allocate(self);
}

void vini_control_free(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  double *owned[] = {self->w, self->wdot, self->residual[0], self->residual[1]};
  for (int k = 0; k < 4; k++) vini_free(context, owned[k]);
  vini_mark_free(self);
  vini_dense_free(self);
}

double vin_integrator_error_estimate(const vin_integrator *self) {
  return self == NULL || self->object.created != VIN_OK ? NAN : self->estimate;
}

double vin_integrator_residual_estimate(const vin_integrator *self) {
  return self == NULL || self->object.created != VIN_OK ? NAN : self->residual_estimate;
}
