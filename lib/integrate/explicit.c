/* Explicit methods on the acceleration-level system (index 1), with projection after the step.
 * The acceleration at the end of a step is that of the next one's start: it is solved once. */
#include "integrate/integrate.h"

#include <math.h>
#include <string.h>

/* A step that the projection shortens to less than this fraction has left the range in which it
 * means anything (on a circle: 5 rad). Corrections that are small against the positions, or
 * converge at once, are never judged: at a turning point the step itself vanishes. */
#define LEAST_LEFT 0.25
#define LARGE_CORRECTION 0.1

/* Acceleration at a stage; f and the factorisation stay in the projector. */
static vin_status accelerate(vin_integrator *self, double t, const double *p, const double *v,
                             bool factored, double *vdot, double *lambda) {
  return vini_projector_acceleration(self->projector, t, p, v, factored, vdot, lambda, NULL);
}

/* y := x + h d */
static void advance(vin_int n, const double *x, double h, const double *d, double *y) {
  for (vin_int i = 0; i < n; i++) y[i] = x[i] + h * d[i];
}

static void euler(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  advance(self->n, from->p, h, from->v, to->p);
  advance(self->n, from->v, h, self->vdot, to->v);
}

/* theory (27): p + h v + h^2/2 v',  v + h v' */
static void taylor2(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  const double *a = self->vdot;
  for (vin_int i = 0; i < self->n; i++) {
    to->p[i] = from->p[i] + h * (from->v[i] + 0.5 * h * a[i]);
    to->v[i] = from->v[i] + h * a[i];
  }
}

/* Stage values (p_i, v_i) = start + c h (v_{i-1}, a_{i-1}); to accumulates the weighted slopes. */
static vin_status rk4(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  static const double c[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  vin_int n = self->n;
  double *p = self->wn[0], *v = self->wn[1], *a = self->wn[2], *v_last = self->wn[3];
  memset(to->p, 0, (size_t)n * sizeof(double));
  memset(to->v, 0, (size_t)n * sizeof(double));
  for (int stage = 0; stage < 4; stage++) {
    if (stage == 0) {
      memcpy(v, from->v, (size_t)n * sizeof(double));
      memcpy(a, self->vdot, (size_t)n * sizeof(double));
    } else {
      memcpy(v_last, v, (size_t)n * sizeof(double));
      advance(n, from->p, c[stage] * h, v_last, p);
      advance(n, from->v, c[stage] * h, a, v);
      VINI_TRY(accelerate(self, from->t + c[stage] * h, p, v, false, a, self->wm[0]));
    }
    for (vin_int i = 0; i < n; i++) {
      to->p[i] += weight[stage] * v[i];
      to->v[i] += weight[stage] * a[i];
    }
  }
  advance(n, from->p, h, to->p, to->p);
  advance(n, from->v, h, to->v, to->v);
  return VIN_OK;
}

static double distance(vin_int n, const double *x, const double *y) {
  double largest = 0;
  for (vin_int i = 0; i < n; i++) largest = vini_max(largest, fabs(x[i] - y[i]));
  return largest;
}

static vin_status project_position(vin_integrator *self, const vin_state *from, double t,
                                   double *p) {
  vin_projection_report report;
  memset(&report, 0, sizeof report);
  double step = distance(self->n, from->p, p), size = vini_max_abs(p, self->n);
  VINI_TRY(vini_projector_position(self->projector, t, p, false, &report));
  if (report.iterations < 2 || report.position_correction <= LARGE_CORRECTION * size) return VIN_OK;
  double left = distance(self->n, from->p, p);
  if (left >= LEAST_LEFT * step) return VIN_OK;
  return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                   "the projection leaves %.3g of %.3g that the step went: take a smaller step",
                   left, step);
}

vin_status vini_project_result(vin_integrator *self, const vin_state *from, double t, vin_state *to,
                               bool *factored) {
  *factored = false;
  if (self->options.projection & VIN_PROJECTION_POSITION) {
    VINI_TRY(project_position(self, from, t, to->p));
  }
  if (self->options.projection & VIN_PROJECTION_VELOCITY) {
    vin_projection_report report;
    VINI_TRY(vini_projector_velocity(self->projector, t, to->p, to->v, false, &report));
    *factored = self->m > 0 && (self->system->desc.flags & VIN_MASS_CONSTANT) != 0;
  }
  return VIN_OK;
}

static vin_status step(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  double t = from->t + h;
  switch (self->options.method) {
  case VIN_METHOD_EULER:
    euler(self, from, h, to);
    break;
  case VIN_METHOD_TAYLOR2:
    taylor2(self, from, h, to);
    break;
  default:
    VINI_TRY(rk4(self, from, h, to));
    break;
  }
  bool factored = false;
  VINI_TRY(vini_project_result(self, from, t, to, &factored));
  VINI_TRY(accelerate(self, t, to->p, to->v, factored, self->vdot, to->lambda));
  self->factor_fits = true;
  return VIN_OK;
}

vin_status vini_explicit_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                              bool continues) {
  vin_status status = VIN_OK;
  if (!continues) {
    status = accelerate(self, from->t, from->p, from->v, false, self->vdot, self->wm[0]);
  }
  if (status == VIN_OK) status = step(self, from, h, to);
  return vini_step_failure(self, status, from->t, h);
}
