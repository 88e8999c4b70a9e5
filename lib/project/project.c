/* Public projections and the velocity projection. */
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

vin_status vini_projector_check(vin_projector *self, const char *what, const double *x) {
  if (x == NULL) return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "%s is NULL", what);
  int64_t bad = vini_first_nonfinite(x, self->n);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_system_position_name(self->system, (vin_int)bad, name, sizeof name);
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "%s is %g for %s", what, x[bad], name);
}

vin_status vini_projector_begin(vin_projector *self, double t) {
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  if (isfinite(t)) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the time is %g", t);
}

vin_projection_report vini_report_empty(void) {
  vin_projection_report report;
  memset(&report, 0, sizeof report);
  report.most_moved = report.worst = -1;
  return report;
}

vin_status vin_project_position(vin_projector *self, double t, double *p,
                                vin_projection_report *report) {
  vin_projection_report own = vini_report_empty();
  if (report != NULL) *report = own;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
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
        "no velocity satisfies all constraints%s: %s depends on the others and is left with "
        "the rate %.6g (t = %g)",
        self->fixed != NULL ? ", with the free velocities" : "", name, h[c], t);
  }
  return VIN_OK;
}

vin_status vini_projector_velocity(vin_projector *self, double t, const double *p, double *v,
                                   bool factored, vin_projection_report *report) {
  if (self->m == 0) return VIN_OK;
  vini_factored wanted = self->metric_values[VINI_LEVEL_VELOCITY] == NULL ? VINI_FACTORED_MASS
                         : self->one_metric                               ? VINI_FACTORED_METRIC
                                                                          : VINI_FACTORED_VELOCITY;
  if (!factored || self->factored != wanted || self->fixed != NULL) {
    VINI_TRY(vini_projector_mass(self, t, p, v));
    VINI_TRY(vini_projector_jacobian(self, t, p));
    VINI_TRY(vini_projector_factor_metric(self, VINI_LEVEL_VELOCITY, 0));
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
  vin_projection_report own = vini_report_empty();
  if (report != NULL) *report = own;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  vin_status status = vini_projector_velocity(self, t, p, v, false, &own);
  if (report != NULL) *report = own;
  return status;
}

vin_status vini_projector_state(vin_projector *self, double t, double *p, double *v,
                                const unsigned char *fixed, vin_projection_report *report) {
  if (self->options.coupling == VIN_COUPLING_COUPLED) {
    return vini_projector_coupled(self, t, p, v, fixed, report);
  }
  vin_status status = VIN_OK;
  if (fixed != NULL) status = vini_projector_fix(self, fixed);
  if (status == VIN_OK) status = vini_projector_position(self, t, p, true, report);
  if (status == VIN_OK && fixed != NULL) status = vini_projector_fix(self, fixed + self->n);
  if (status == VIN_OK) status = vini_projector_velocity(self, t, p, v, false, report);
  if (fixed != NULL) vini_projector_unfix(self);
  return status;
}

vin_status vin_project_state(vin_projector *self, double t, double *p, double *v,
                             vin_projection_report *report) {
  vin_projection_report own = vini_report_empty();
  if (report != NULL) *report = own;
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  double *p1 = self->vn[6];
  memcpy(p1, p, (size_t)self->n * sizeof *p);
  vin_status status = vini_projector_state(self, t, p1, v, NULL, &own);
  if (report != NULL) *report = own;
  if (status == VIN_OK) memcpy(p, p1, (size_t)self->n * sizeof *p);
  return status;
}

vin_status vin_project_acceleration(vin_projector *self, double t, const double *p, const double *v,
                                    double *vdot, double *lambda) {
  VINI_TRY(vini_projector_begin(self, t));
  VINI_TRY(vini_projector_check(self, "position", p));
  VINI_TRY(vini_projector_check(self, "velocity", v));
  if (vdot == NULL || (lambda == NULL && self->m > 0)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "vdot or lambda is NULL");
  }
  return vini_projector_acceleration(self, t, p, v, false, vdot, lambda, NULL);
}
