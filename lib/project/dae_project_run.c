/* dae_project - projections, their reports, and those behind the steps of an integrator. */
#include "dae/dae_integrator.h"
#include "project/dae_project.h"

#include <math.h>
#include <string.h>

/* ---- one projection ----------------------------------------------------------------------------- */

static vin_status check(vin_dae_projector *self, double t, const double *y) {
  if (y == NULL || !isfinite(t))
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "projection: %s",
                     y == NULL ? "y is NULL" : "the time is not finite");
  return vini_dae_finite(self->dae, &self->object, "projection", y);
}

static void begin(vin_dae_projector *self, double t) {
  self->t = t;
  self->f_known = self->jacobian_known = false;
}

static void fill_before(vin_dae_projector *self, vin_dae_projection_report *r) {
  vin_int m = self->m, all = 2 * m + self->k;
  const double *x = self->residual;
  r->constraint_before = vini_max_abs(x, m);
  r->hidden_before = vini_max_abs(x + m, m);
  r->invariant_before = vini_max_abs(x + 2 * m, self->k);
  r->worst = -1;
  double largest = 0;
  for (vin_int i = 0; i < all; i++) {
    if (fabs(x[i]) > largest) largest = fabs(x[i]), r->worst = i;
  }
  if (r->worst >= 0) vini_dae_project_name(self, r->worst, r->worst_name, sizeof r->worst_name);
}

static double largest_before(const vin_dae_projection_report *r) {
  return vini_max(r->constraint_before, vini_max(r->hidden_before, r->invariant_before));
}

static vin_status run_stage(vin_dae_projector *self, vini_dae_stage *s) {
  vin_minimise_report report;
  self->callback_status = VIN_OK;
  vin_status status = vin_minimiser_solve(s->minimiser, self->result, NULL, &report);
  self->stats.iterations += report.iterations;
  self->last.iterations += report.iterations;
  self->last.dropped += report.dropped;
  if (status == VIN_OK) return VIN_OK;
  bool callback =
      self->callback_status != VIN_OK && (status == VIN_RETRY || status == VIN_ERR_CALLBACK);
  if (callback && self->callback_status < 0) status = self->callback_status;
  return vini_fail(&self->object, status, "projection at t = %.15g: %s", self->t,
                   callback ? self->callback_text : vin_minimiser_error(s->minimiser));
}

static double change(const double *a, const double *b, vin_int from, vin_int to) {
  double largest = 0;
  for (vin_int i = from; i < to; i++) largest = vini_max(largest, fabs(a[i] - b[i]));
  return largest;
}

/* self->y := the projected point; self->start is the given one. */
static vin_status run(vin_dae_projector *self) {
  vin_dae_projection_report *r = &self->last;
  memcpy(self->y, self->start, (size_t)self->n * sizeof *self->y);
  VINI_TRY(vini_dae_project_residual(self, self->y));
  fill_before(self, r);
  for (int k = 0; k < self->stages; k++) {
    vini_dae_stage *s = &self->stage[k];
    double *x = self->result;
    memcpy(x, self->start + s->first, (size_t)s->count * sizeof *x);
    VINI_TRY(run_stage(self, s));
    memcpy(self->y + s->first, x, (size_t)s->count * sizeof *x);
  }
  VINI_TRY(vini_dae_project_residual(self, self->y));
  vin_int m = self->m;
  r->constraint_after = vini_max_abs(self->residual, m);
  r->hidden_after = vini_max_abs(self->residual + m, m);
  r->invariant_after = vini_max_abs(self->residual + 2 * m, self->k);
  r->differential_correction = change(self->y, self->start, 0, self->d);
  r->algebraic_correction = change(self->y, self->start, self->d, self->n);
  self->stats.correction_max = vini_max(
      self->stats.correction_max, vini_max(r->differential_correction, r->algebraic_correction));
  return VIN_OK;
}

vin_status vin_dae_project(vin_dae_projector *projector, double t, double *y,
                           vin_dae_projection_report *report) {
  if (report != NULL) *report = (vin_dae_projection_report){.worst = -1};
  VINI_TRY(vini_ready(projector == NULL ? NULL : &projector->object));
  vin_dae_projector *self = projector;
  VINI_TRY(check(self, t, y));
  begin(self, t);
  self->last = (vin_dae_projection_report){.worst = -1};
  memcpy(self->start, y, (size_t)self->n * sizeof *y);
  vin_status status = run(self);
  if (report != NULL) *report = self->last;
  if (status != VIN_OK) {
    self->stats.failures++;
    return status;
  }
  self->stats.projections++;
  memcpy(y, self->y, (size_t)self->n * sizeof *y);
  return VIN_OK;
}

vin_status vin_dae_projector_drift(vin_dae_projector *projector, double t, const double *y,
                                   vin_dae_projection_report *report) {
  if (report != NULL) *report = (vin_dae_projection_report){.worst = -1};
  VINI_TRY(vini_ready(projector == NULL ? NULL : &projector->object));
  vin_dae_projector *self = projector;
  if (report == NULL) return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "report is NULL");
  VINI_TRY(check(self, t, y));
  begin(self, t);
  VINI_TRY(vini_dae_project_residual(self, y));
  fill_before(self, report);
  return VIN_OK;
}

/* ---- behind the steps of an integrator ---------------------------------------------------------- */

vin_dae_projection_policy vin_dae_projection_policy_default(void) {
  return (vin_dae_projection_policy){.struct_size = sizeof(vin_dae_projection_policy), .every = 1};
}

static vin_status after_step(void *user, double t, double *y, const char **text) {
  vin_dae_projector *self = user;
  const vin_dae_projection_policy *p = &self->policy;
  *text = self->object.text;
  self->stats.steps++;
  bool counted = p->every > 1 || (p->every == 1 && p->drift == 0);
  bool due = counted && self->since + 1 >= p->every;
  if (!due && p->drift > 0) {
    vin_dae_projection_report report;
    VINI_TRY(vin_dae_projector_drift(self, t, y, &report));
    double drift = largest_before(&report);
    due = !(drift <= p->drift);
    self->stats.drift_max = vini_max(self->stats.drift_max, drift);
  }
  if (!due) {
    self->since++;
    return VIN_OK;
  }
  VINI_TRY(vin_dae_project(self, t, y, NULL));
  self->stats.drift_max = vini_max(self->stats.drift_max, largest_before(&self->last));
  self->since = 0;
  return VIN_OK;
}

vin_status vin_dae_projector_attach(vin_dae_projector *projector, vin_dae_integrator *integrator,
                                    const vin_dae_projection_policy *policy) {
  VINI_TRY(vini_ready(projector == NULL ? NULL : &projector->object));
  vin_dae_projector *self = projector;
  vini_object *object = &self->object;
  if (integrator == NULL || integrator->object.created != VIN_OK)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the integrator is NULL or was not created");
  if (policy == NULL) {
    vini_dae_integrator_correct(integrator, NULL, NULL);
    return VIN_OK;
  }
  vin_dae_projection_policy own = vin_dae_projection_policy_default();
  if (!vini_options_copy(&own, sizeof own, policy))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "struct_size is wrong: start from vin_dae_projection_policy_default()");
  if (integrator->n != self->n)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the integrator has %d unknowns, the projection %d",
                     (int)integrator->n, (int)self->n);
  if (own.every < 0 || !(own.drift >= 0) || (own.every == 0 && own.drift == 0))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "every is %d and drift %g: both must be >= 0, and one of them above 0",
                     own.every, own.drift);
  self->policy = own;
  self->since = 0;
  vini_dae_integrator_correct(integrator, after_step, self);
  return VIN_OK;
}

vin_dae_projection_stats vin_dae_projector_get_stats(const vin_dae_projector *self) {
  if (self == NULL || self->object.created != VIN_OK) return (vin_dae_projection_stats){0};
  vin_dae_projection_stats stats = self->stats;
  stats.functions = self->work.function_count;
  stats.jacobians = self->work.jacobian_count;
  for (int k = 0; k < self->stages; k++) {
    vin_solver_stats s = vin_kkt_get_stats(vin_minimiser_kkt(self->stage[k].minimiser));
    stats.symbolic += s.symbolic;
    stats.numeric += s.numeric;
    stats.solves += s.solves;
  }
  return stats;
}

vin_dae_projection_report vin_dae_projector_last(const vin_dae_projector *self) {
  if (self == NULL || self->object.created != VIN_OK)
    return (vin_dae_projection_report){.worst = -1};
  return self->last;
}
