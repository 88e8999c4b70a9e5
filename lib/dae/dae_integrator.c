/* dae - the variable-step integrator: names, options, creation, state. */
#include "dae/dae_integrator.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const vini_dae_method *const methods[] = {&vini_radau_method, &vini_bdf_method};
enum { METHODS = sizeof methods / sizeof *methods };

const char *vin_dae_integrator_method_name(vin_dae_integrator_method method) {
  return (unsigned)method < METHODS ? methods[method]->name : "unknown";
}

vin_status vin_dae_integrator_method_from_name(vin_dae_integrator_method *method,
                                               const char *name) {
  if (method == NULL) return VIN_ERR_BAD_INPUT;
  *method = VIN_DAE_RADAU;
  for (int k = 0; name != NULL && k < METHODS; k++) {
    if (strcmp(methods[k]->name, name) != 0) continue;
    *method = (vin_dae_integrator_method)k;
    return VIN_OK;
  }
  return VIN_ERR_BAD_INPUT;
}

vin_dae_integrator_options vin_dae_integrator_options_default(void) {
  return (vin_dae_integrator_options){.struct_size = sizeof(vin_dae_integrator_options),
                                      .method = VIN_DAE_RADAU,
                                      .relative_tolerance = 1e-6,
                                      .absolute_tolerance = 1e-6,
                                      .time_scale = 1,
                                      .max_steps = 1000000,
                                      .max_order = VINI_BDF_ORDERS,
                                      .check_start = 1};
}

static vin_status check_lengths(vin_dae_integrator *self) {
  const vin_dae_integrator_options *o = &self->options;
  const struct {
    const char *name;
    double value;
  } lengths[] = {
      {"initial_step", o->initial_step}, {"max_step", o->max_step}, {"fixed_step", o->fixed_step}};
  for (int k = 0; k < 3; k++) {
    if (lengths[k].value >= 0 && isfinite(lengths[k].value)) continue;
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "%s is %g s, must be >= 0 and finite",
                     lengths[k].name, lengths[k].value);
  }
  if (o->time_scale > 0 && isfinite(o->time_scale)) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "time_scale is %g s, must be > 0 and finite",
                   o->time_scale);
}

static vin_status check_options(vin_dae_integrator *self) {
  vin_dae_integrator_options *o = &self->options;
  vini_object *object = &self->object;
  if ((unsigned)o->method >= METHODS) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "method is %d, no vin_dae_integrator_method",
                     (int)o->method);
  }
  self->method = methods[o->method];
  VINI_TRY(check_lengths(self));
  if (o->max_steps < 1) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_steps is %lld, must be >= 1",
                     (long long)o->max_steps);
  }
  if (o->max_newton == 0) o->max_newton = self->method->newton_limit;
  if (o->max_newton < 2 || o->max_newton > 50) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_newton is %d, must be in 2..50, or 0",
                     o->max_newton);
  }
  if (!(o->newton_tolerance >= 0 && o->newton_tolerance < 1)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "newton_tolerance is %g, must be in 0..1",
                     o->newton_tolerance);
  }
  if (o->max_order < 1 || o->max_order > VINI_BDF_ORDERS) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_order is %d, must be in 1..%d", o->max_order,
                     (int)VINI_BDF_ORDERS);
  }
  return VIN_OK;
}

/* Radau's estimate is that of an embedded formula of order 3 for a result of order 5: with 0.1
 * tolerance^(2/3) instead, the error of the result follows the tolerance (theory (R7)). */
static double tolerance_used(const vin_dae_integrator *self, double relative) {
  return self->options.method == VIN_DAE_RADAU ? 0.1 * pow(relative, 2.0 / 3) : relative;
}

static vin_status set_tolerances(vin_dae_integrator *self) {
  const vin_dae_integrator_options *o = &self->options;
  double strictest = 1;
  for (vin_int i = 0; i < self->n; i++) {
    double relative = o->relative_tolerances ? o->relative_tolerances[i] : o->relative_tolerance;
    double absolute = o->absolute_tolerances ? o->absolute_tolerances[i] : o->absolute_tolerance;
    if (!(relative >= 1e-14 && relative < 1) || !(absolute > 0) || !isfinite(absolute)) {
      char name[96];
      vin_dae_unknown_name(self->dae, i, name, sizeof name);
      return vini_fail(
          &self->object, VIN_ERR_BAD_INPUT,
          "tolerances of %s: relative %g (must be 1e-14 or more and below 1), absolute "
          "%g (must be > 0)",
          name, relative, absolute);
    }
    double used = tolerance_used(self, relative);
    self->relative[i] = used;
    self->absolute[i] = absolute * (used / relative);
    strictest = vini_min(strictest, used);
  }
  self->newton_tolerance = o->newton_tolerance;
  if (self->newton_tolerance > 0) return VIN_OK;
  self->newton_tolerance = 0.03;
  if (o->method == VIN_DAE_RADAU) self->newton_tolerance = vini_min(0.03, sqrt(strictest));
  self->newton_tolerance = vini_max(self->newton_tolerance, 10 * DBL_EPSILON / strictest);
  return VIN_OK;
}

static vin_status allocate(vin_dae_integrator *self) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n;
  bool radau = self->options.method == VIN_DAE_RADAU, complete = true;
  struct {
    double **vector;
    size_t size;
  } wanted[] = {{&self->relative, n},
                {&self->absolute, n},
                {&self->weight, n},
                {&self->y, n},
                {&self->f0, n},
                {&self->y_new, n},
                {&self->estimate, n},
                {&self->work1, n},
                {&self->rhs, radau ? 3 * n : n},
                {&self->dense, (radau ? 4 : VINI_BDF_ORDERS + 1) * n},
                {&self->z, radau ? 3 * n : 1},
                {&self->w, radau ? 3 * n : 1},
                {&self->fs, radau ? 3 * n : 1},
                {&self->d, radau ? 1 : (VINI_BDF_ORDERS + 3) * n},
                {&self->psi, radau ? 1 : n},
                {&self->delta, radau ? 1 : n},
                {&self->yp, self->dae->implicit ? n : 1},
                {&self->yp_new, !self->dae->implicit ? 1
                                : radau              ? 3 * n
                                                     : n}};
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
    *wanted[k].vector = vini_alloc(context, wanted[k].size, sizeof(double));
    complete = complete && *wanted[k].vector != NULL;
  }
  self->index = vini_alloc(context, n, sizeof *self->index);
  self->has_rate = vini_alloc(context, n, sizeof *self->has_rate);
  if (complete && self->index != NULL && self->has_rate != NULL) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for %s on %d unknowns",
                   self->method->name, (int)self->n);
}

static void free_content(vin_dae_integrator *self) {
  const vin_context *context = &self->object.context;
  double *owned[] = {self->relative, self->absolute, self->weight,   self->y,     self->f0,
                     self->y_new,    self->rhs,      self->estimate, self->work1, self->dense,
                     self->z,        self->w,        self->fs,       self->d,     self->psi,
                     self->delta,    self->yp,       self->yp_new};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) vini_free(context, owned[k]);
  vini_free(context, self->index);
  vini_free(context, self->breaks);
  vini_free(context, self->has_rate);
  vini_iteration_destroy(self);
  vini_dae_work_destroy(&self->work);
  vin_dae_destroy(self->dae);
}

static vin_status build(vin_dae_integrator *self) {
  VINI_TRY(check_options(self));
  self->n = self->dae->n;
  VINI_TRY(allocate(self));
  for (vin_int i = 0; i < self->n; i++) {
    self->index[i] = self->dae->desc.index ? self->dae->desc.index[i] : 1;
  }
  vin_triplets mass = self->dae->desc.mass_pattern;
  for (vin_int k = 0; k < mass.count; k++) self->has_rate[mass.col[k]] = true;
  VINI_TRY(set_tolerances(self));
  VINI_TRY(vini_dae_integrator_breaks(self));
  self->options.relative_tolerances = self->options.absolute_tolerances = NULL;
  VINI_TRY(vini_dae_work_create(&self->work, self->dae, &self->object));
  vini_radau_tableau_make(&self->tableau);
  return vini_iteration_create(self);
}

vin_status vin_dae_integrator_create(vin_dae_integrator **integrator, const vin_context *context,
                                     vin_dae *dae, const vin_dae_integrator_options *options) {
  VINI_TRY(vini_object_begin((void **)integrator, context, sizeof **integrator));
  vin_dae_integrator *self = *integrator;
  vin_status status;
  self->options = vin_dae_integrator_options_default();
  if (dae == NULL || dae->object.created != VIN_OK) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the dae is NULL or was not created");
  } else if (options != NULL && !vini_options_copy(&self->options, sizeof self->options, options)) {
    status = vini_fail(
        &self->object, VIN_ERR_BAD_INPUT,
        "struct_size of the options is wrong: start from vin_dae_integrator_options_default()");
  } else {
    self->dae = vin_dae_retain(dae);
    status = build(self);
  }
  self->object.created = status;
  if (status != VIN_OK) {
    free_content(self);
    memset((char *)self + sizeof self->object, 0, sizeof *self - sizeof self->object);
  }
  return status;
}

void vin_dae_integrator_destroy(vin_dae_integrator *integrator) {
  if (integrator == NULL) return;
  free_content(integrator);
  vini_object_destroy(&integrator->object);
}

const char *vin_dae_integrator_error(const vin_dae_integrator *integrator) {
  return vini_text(integrator == NULL ? NULL : &integrator->object);
}

static void reset(vin_dae_integrator *self, double t, const double *y) {
  memmove(self->y, y, (size_t)self->n * sizeof *y);
  self->t_start = self->t = t;
  self->tau = 0;
  self->h_last = self->h_next = 0;
  self->order = 0;
  self->at_break = self->capped = false;
  self->first = true;
  self->after_rejection = false;
  self->rejections = 0;
  self->jacobian_known = self->jacobian_current = false;
  self->f0_known = false;
}

/* yp: of the general form, else NULL */
static vin_status start(vin_dae_integrator *self, double t, const double *y, const double *yp) {
  self->started = false;
  if (y == NULL || !isfinite(t)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "start: %s",
                     y == NULL ? "y is NULL" : "the time is not finite");
  }
  VINI_TRY(vini_dae_finite(self->dae, &self->object, "start", y));
  if (yp != NULL) VINI_TRY(vini_dae_finite(self->dae, &self->object, "start, derivative", yp));
  if (!vini_dae_inside(self->dae, t, y)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "start: the point is outside of the domain");
  }
  reset(self, t, y);
  vini_dae_integrator_weigh(self, self->y);
  if (yp != NULL) {
    memmove(self->yp, yp, (size_t)self->n * sizeof *yp);
    VINI_TRY(vini_dae_integrator_residual(self, 0, self->y, self->yp, self->f0));
  } else {
    VINI_TRY(vini_dae_integrator_f(self, 0, self->y, self->f0));
  }
  self->f0_known = true;
  VINI_TRY(vini_dae_integrator_trial(self, 1, self->options.check_start));
  self->method->restart(self);
  self->started = true;
  return VIN_OK;
}

vin_status vin_dae_integrator_start(vin_dae_integrator *integrator, double t, const double *y) {
  VINI_TRY(vini_ready(integrator == NULL ? NULL : &integrator->object));
  if (!integrator->implicit) return start(integrator, t, y, NULL);
  return vini_fail(&integrator->object, VIN_ERR_UNSUPPORTED,
                   "start: the problem has the form 0 = F(t, y, y') and needs y', too: "
                   "vin_dae_integrator_start_implicit()");
}

vin_status vin_dae_integrator_start_implicit(vin_dae_integrator *integrator, double t,
                                             const double *y, const double *yp) {
  VINI_TRY(vini_ready(integrator == NULL ? NULL : &integrator->object));
  vini_object *object = &integrator->object;
  if (yp == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "start: y' is NULL");
  if (integrator->implicit) return start(integrator, t, y, yp);
  return vini_fail(object, VIN_ERR_UNSUPPORTED,
                   "start: the problem has the form B y' = f(t, y), which needs no y': "
                   "vin_dae_integrator_start()");
}

vin_dae_integrator_view vin_dae_integrator_state(const vin_dae_integrator *integrator) {
  if (integrator == NULL || !integrator->started) return (vin_dae_integrator_view){.t = NAN};
  return (vin_dae_integrator_view){.t = integrator->t,
                                   .n = integrator->n,
                                   .y = integrator->y,
                                   .step = integrator->h_last,
                                   .next_step = integrator->h_next,
                                   .order = integrator->order,
                                   .yp = integrator->implicit ? integrator->yp : NULL};
}

vin_status vin_dae_integrator_interpolate(vin_dae_integrator *integrator, double t, double *y) {
  VINI_TRY(vini_ready(integrator == NULL ? NULL : &integrator->object));
  vin_dae_integrator *self = integrator;
  if (y == NULL) return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "interpolate: y is NULL");
  if (!self->started || self->h_last == 0) {
    return vini_fail(&self->object, VIN_ERR_BAD_STATE, "interpolate: there was no step yet");
  }
  double s = t == self->t ? 0 : ((t - self->t_start) - self->tau) / self->h_last;
  double slack = 4 * DBL_EPSILON * fabs(self->t / self->h_last); /* rounding of both times */
  if (!(s >= -1 - slack && s <= slack)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                     "interpolate: t = %.17g is not within the last step, %.17g to %.17g", t,
                     self->t - self->h_last, self->t);
  }
  self->method->interpolate(self, s, y);
  return VIN_OK;
}

vin_dae_integrator_stats vin_dae_integrator_get_stats(const vin_dae_integrator *self) {
  if (self == NULL || self->object.created != VIN_OK) return (vin_dae_integrator_stats){0};
  vin_dae_integrator_stats stats = self->stats;
  const vin_linsys *linsys[2] = {self->real, self->pair};
  stats.residuals = self->work.function_count;
  stats.differences = self->work.difference_count;
  stats.jacobians = self->work.jacobian_count;
  for (int k = 0; k < 2; k++) {
    vin_linsys_info info = vin_linsys_get_info(linsys[k]);
    stats.symbolic += info.symbolic_count;
    stats.numeric += info.numeric_count;
    stats.solves += info.solve_count;
  }
  return stats;
}
