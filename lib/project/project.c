/* Public projections, velocity projection and consistent initial values. */
#include "project/project.h"

#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A dependent row, which the solve left out, contradicts the others when the velocity projection
 * leaves it open by more than this fraction of its terms, and by more than rounding of the
 * largest velocity. */
#define CONTRADICTION 1e-8
#define ROUNDING 1e-11

static vin_status check_vector(vin_projector *self, const char *what, const double *x) {
  if (x == NULL) return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "%s is NULL", what);
  int64_t bad = vini_first_nonfinite(x, self->n);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_system_position_name(self->system, (vin_int)bad, name, sizeof name);
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "%s is %g for %s", what, x[bad], name);
}

static vin_status begin(vin_projector *self, double t) {
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  if (isfinite(t)) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the time is %g", t);
}

static vin_projection_report empty_report(void) {
  vin_projection_report report;
  memset(&report, 0, sizeof report);
  report.most_moved = report.worst = -1;
  return report;
}

vin_status vin_project_position(vin_projector *self, double t, double *p,
                                vin_projection_report *report) {
  vin_projection_report own = empty_report();
  if (report != NULL) *report = own;
  VINI_TRY(begin(self, t));
  VINI_TRY(check_vector(self, "position", p));
  vin_status status = vini_projector_position(self, t, p, true, &own);
  if (report != NULL) *report = own;
  return status;
}

/* h := Phi_p v + Phi_t, scale := the sum of the magnitudes of its terms. */
static vin_status rates(vin_projector *self, double t, const double *p, const double *v, double *h,
                        double *scale) {
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->object, t, p, h));
  for (vin_int c = 0; c < self->m; c++) scale[c] = fabs(h[c]);
  for (vin_int k = 0; k < self->jacobian.count; k++) {
    double term = self->jacobian_values[k] * v[self->jacobian.col[k]];
    h[self->jacobian.row[k]] += term;
    scale[self->jacobian.row[k]] += fabs(term);
  }
  return VIN_OK;
}

/* Rows that were kept have been verified by the solve. */
static vin_status check_dropped(vin_projector *self, const double *v, const double *h,
                                const double *scale, double t) {
  const vin_int *rows = NULL;
  vin_int count = vin_kkt_dropped(self->kkt, &rows);
  double speed = count > 0 ? vini_max_abs(v, self->n) : 0;
  double entry = count > 0 ? vini_max_abs(self->jacobian_values, self->jacobian.count) : 0;
  for (vin_int k = 0; k < count; k++) {
    vin_int c = rows[k];
    double limit = vini_max(self->options.velocity_tolerance, CONTRADICTION * scale[c]);
    if (fabs(h[c]) <= vini_max(limit, ROUNDING * entry * speed)) continue;
    char name[96];
    vin_system_constraint_name(self->system, c, name, sizeof name);
    return vini_fail(
        &self->object, VIN_INFEASIBLE,
        "no velocity satisfies all constraints: %s depends on the others and is left with "
        "the rate %.6g (t = %g)",
        name, h[c], t);
  }
  return VIN_OK;
}

vin_status vini_projector_velocity(vin_projector *self, double t, const double *p, double *v,
                                   bool factored, vin_projection_report *report) {
  if (self->m == 0) return VIN_OK;
  vini_factored wanted = self->metric_values == NULL ? VINI_FACTORED_MASS : VINI_FACTORED_METRIC;
  if (!factored || self->factored != wanted) {
    VINI_TRY(vini_projector_mass(self, t, p, v));
    VINI_TRY(vini_projector_jacobian(self, t, p));
    VINI_TRY(vini_projector_factor_metric(self, 0));
  }
  double *d = self->vn[0], *zero = self->vn[1], *after = self->vn[2];
  double *h = self->vm[0], *right = self->vm[1], *mu = self->vm[2], *scale = self->vm[3];
  VINI_TRY(rates(self, t, p, v, h, scale));
  report->velocity_before = vini_max_abs(h, self->m);
  memset(zero, 0, (size_t)self->n * sizeof *zero);
  for (vin_int c = 0; c < self->m; c++) right[c] = -h[c];
  double tolerance = self->kkt->options.contradiction_tolerance;
  self->kkt->options.contradiction_tolerance = HUGE_VAL; /* judged below, by the velocity's scale */
  vin_status status = vini_projector_solve(self, 1, zero, right, d, mu);
  self->kkt->options.contradiction_tolerance = tolerance;
  VINI_TRY(status);
  for (vin_int i = 0; i < self->n; i++) after[i] = v[i] + d[i];
  VINI_TRY(rates(self, t, p, after, h, scale));
  report->velocity_after = vini_max_abs(h, self->m);
  report->velocity_correction = vini_max_abs(d, self->n);
  report->dropped = vin_kkt_dropped(self->kkt, NULL);
  VINI_TRY(check_dropped(self, after, h, scale, t));
  memcpy(v, after, (size_t)self->n * sizeof *v);
  return VIN_OK;
}

vin_status vin_project_velocity(vin_projector *self, double t, const double *p, double *v,
                                vin_projection_report *report) {
  vin_projection_report own = empty_report();
  if (report != NULL) *report = own;
  VINI_TRY(begin(self, t));
  VINI_TRY(check_vector(self, "position", p));
  VINI_TRY(check_vector(self, "velocity", v));
  vin_status status = vini_projector_velocity(self, t, p, v, false, &own);
  if (report != NULL) *report = own;
  return status;
}

vin_status vin_project_acceleration(vin_projector *self, double t, const double *p, const double *v,
                                    double *vdot, double *lambda) {
  VINI_TRY(begin(self, t));
  VINI_TRY(check_vector(self, "position", p));
  VINI_TRY(check_vector(self, "velocity", v));
  if (vdot == NULL || (lambda == NULL && self->m > 0)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "vdot or lambda is NULL");
  }
  return vini_projector_acceleration(self, t, p, v, false, vdot, lambda, NULL);
}

/* p and v (copies) onto the constraints, then v' and lambda. */
static vin_status initial(vin_projector *self, double t, double *p, double *v, double *vdot,
                          double *lambda, vin_projection_report *report) {
  VINI_TRY(vini_projector_position(self, t, p, true, report));
  VINI_TRY(vini_projector_velocity(self, t, p, v, false, report));
  bool factored = self->metric_values == NULL && self->mass_known;
  double residual = 0;
  VINI_TRY(vini_projector_acceleration(self, t, p, v, factored, vdot, lambda, &residual));
  report->force_residual = vini_max_abs(self->vn[5], self->n); /* the residual was left there */
  return VIN_OK;
}

vin_status vin_initial_values(vin_projector *self, double t, double *p, double *v, double *vdot,
                              double *lambda, vin_projection_report *report) {
  vin_projection_report own = empty_report();
  if (report != NULL) *report = own;
  VINI_TRY(begin(self, t));
  VINI_TRY(check_vector(self, "position", p));
  VINI_TRY(check_vector(self, "velocity", v));
  /* own memory: the projector's scratch is in use below */
  size_t n = (size_t)self->n, m = (size_t)self->m;
  double *memory = vini_alloc(&self->object.context, 3 * n + m, sizeof *memory);
  if (memory == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for initial values");
  }
  double *p1 = memory, *v1 = p1 + n, *vdot1 = v1 + n, *lambda1 = vdot1 + n;
  memcpy(p1, p, n * sizeof *p);
  memcpy(v1, v, n * sizeof *v);
  vin_status status = initial(self, t, p1, v1, vdot1, lambda1, &own);
  if (status == VIN_OK) {
    memcpy(p, p1, n * sizeof *p);
    memcpy(v, v1, n * sizeof *v);
    if (vdot != NULL) memcpy(vdot, vdot1, n * sizeof *vdot);
    if (lambda != NULL) memcpy(lambda, lambda1, m * sizeof *lambda);
  }
  if (report != NULL) *report = own;
  vini_free(&self->object.context, memory);
  return status;
}

vin_status vin_initial_solve(vin_system *system, const vin_projection_options *options, double t,
                             double *p, double *v, double *vdot, double *lambda,
                             vin_projection_report *report, char *text, size_t text_size) {
  vin_projector *projector = NULL;
  if (report != NULL) *report = empty_report();
  const vin_context *context = system == NULL ? NULL : &system->object.context;
  vin_status status = vin_projector_create(&projector, context, system, options);
  if (status == VIN_OK) status = vin_initial_values(projector, t, p, v, vdot, lambda, report);
  if (status != VIN_OK)
    vini_fail_text(text, text_size, status, "%s", vin_projector_error(projector));
  vin_projector_destroy(projector);
  return status;
}
