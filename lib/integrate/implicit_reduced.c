/* Implicit methods on the reduced system, theory (103): backward Euler, midpoint, Crank-Nicolson, BDF2;
 * then the projections, as for the explicit methods. Every stage is
 *     v = v_base + gamma a,  p = base + gamma v,  F(p, v, a, lambda) = 0,  G(p, v, a) = 0,
 * and with third-order stabilisation Phi'' = w_base + gamma wdot. */
#include "integrate/implicit.h"

#include <math.h>
#include <string.h>

/* Variable-step BDF2 is zero-stable up to a ratio of 1 + sqrt 2; beyond these it starts anew. */
#define LEAST_RATIO 0.5
#define MOST_RATIO 2.0

vin_status vini_reduced_create(vin_integrator *self) {
  VINI_TRY(vini_implicit_begin(self, 1));
  vini_implicit *data = self->data;
  const vini_block shape = {.mass = 1, .jacobian = 1, .f_p = 1, .f_v = 1, .g_p = 1, .g_v = 1};
  vini_object *object = &self->projector->object;
  vin_status status = vini_augmented_create(&data->matrix, object, &data->tangent, &self->stats,
                                            VIN_SOLVER_AUTO, 1, &shape, data->dropped);
  return status == VIN_OK ? VIN_OK : vini_fail(&self->object, status, "%s", object->text);
}

/* w_base := one self->w + past past_w + rate wdot, of the last end, the one before, and the last stage (or
 * end: `at`). Only with third-order stabilisation. */
static void base_w(vin_integrator *self, double one, double past, double rate, const double *at) {
  vini_implicit *data = self->data;
  for (vin_int c = 0; self->w != NULL && c < self->m; c++) {
    data->w_base[c] = one * self->w[c] + (past == 0 ? 0 : past * data->past_w[c]) +
                      (rate == 0 ? 0 : rate * at[c]);
  }
}

/* Solves the stage at t with v_base and the base of p in the data; to p, v. */
static vin_status solve(vin_integrator *self, double t, double h, double gamma, double *p,
                        double *v) {
  vini_implicit *data = self->data;
  for (vin_int i = 0; i < self->n; i++) data->p_base[i] += gamma * data->v_base[i];
  vini_stage stage = {.t = t,
                      .h = h,
                      .p_base = data->p_base,
                      .v_base = data->v_base,
                      .gamma = gamma,
                      .beta = gamma * gamma};
  VINI_TRY(vini_stage_solve(self, &stage, p, v));
  for (vin_int c = 0; self->w != NULL && c < self->m; c++) data->w_base[c] += gamma * data->wdot[c];
  return VIN_OK;
}

static vin_status one_stage(vin_integrator *self, const vin_state *from, double h, double gamma,
                            double t, vin_state *to) {
  vini_implicit *data = self->data;
  memcpy(data->p_base, from->p, (size_t)self->n * sizeof(double));
  memcpy(data->v_base, from->v, (size_t)self->n * sizeof(double));
  base_w(self, 1, 0, 0, NULL);
  return solve(self, t, h, gamma, to->p, to->v);
}

static vin_status midpoint(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  VINI_TRY(one_stage(self, from, h, 0.5 * h, from->t + 0.5 * h, to));
  for (vin_int i = 0; i < self->n; i++) {
    to->p[i] += to->p[i] - from->p[i];
    to->v[i] += to->v[i] - from->v[i];
  }
  return VIN_OK;
}

static vin_status trapezoidal(vin_integrator *self, const vin_state *from, double h,
                              vin_state *to) {
  vini_implicit *data = self->data;
  for (vin_int i = 0; i < self->n; i++) {
    data->v_base[i] = from->v[i] + 0.5 * h * self->vdot[i];
    data->p_base[i] = from->p[i] + 0.5 * h * from->v[i];
  }
  base_w(self, 1, 0, 0.5 * h, self->wdot);
  return solve(self, from->t + h, h, 0.5 * h, to->p, to->v);
}

/* The first step of BDF2: the L-stable two-stage SDIRK method of order 2, theory (104). */
static vin_status start_bdf2(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  const double g = 1 - sqrt(0.5);
  VINI_TRY(one_stage(self, from, h, g * h, from->t + g * h, to));
  for (vin_int i = 0; i < self->n; i++) {
    data->p_base[i] = from->p[i] + (1 - g) * h * to->v[i];
    data->v_base[i] = from->v[i] + (1 - g) * h * data->a[i];
  }
  base_w(self, 1, 0, (1 - g) * h, data->wdot);
  return solve(self, from->t + h, h, g * h, to->p, to->v);
}

/* theory (105), with steps past_h and h = ratio past_h */
static vin_status bdf2(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  double ratio = data->past_h == 0 ? 0 : h / data->past_h;
  if (!(ratio >= LEAST_RATIO && ratio <= MOST_RATIO)) {
    VINI_TRY(start_bdf2(self, from, h, to));
  } else {
    double last = (1 + ratio) * (1 + ratio) / (1 + 2 * ratio),
           past = -ratio * ratio / (1 + 2 * ratio);
    for (vin_int i = 0; i < self->n; i++) {
      data->p_base[i] = last * from->p[i] + past * data->past_p[i];
      data->v_base[i] = last * from->v[i] + past * data->past_v[i];
    }
    base_w(self, last, past, 0, NULL);
    VINI_TRY(solve(self, from->t + h, h, h * (1 + ratio) / (1 + 2 * ratio), to->p, to->v));
  }
  memcpy(data->past_p, from->p, (size_t)self->n * sizeof(double));
  memcpy(data->past_v, from->v, (size_t)self->n * sizeof(double));
  if (self->w != NULL) memcpy(data->past_w, self->w, (size_t)self->m * sizeof(double));
  return VIN_OK;
}

static vin_status advance(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  switch (self->options.method) {
  case VIN_METHOD_MIDPOINT:
    return midpoint(self, from, h, to);
  case VIN_METHOD_TRAPEZOIDAL:
    return trapezoidal(self, from, h, to);
  case VIN_METHOD_BDF2:
    return bdf2(self, from, h, to);
  default:
    return one_stage(self, from, h, h, from->t + h, to);
  }
}

static vin_status step(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memcpy(data->a, self->vdot, n * sizeof(double));
  memcpy(data->l, data->lambda, m * sizeof(double));
  VINI_TRY(advance(self, from, h, to));
  /* Phi'' of the stage is that of the end; the midpoint rule goes as far again */
  double beyond = self->options.method == VIN_METHOD_MIDPOINT ? 2 : 1;
  for (vin_int c = 0; self->w != NULL && c < self->m; c++) {
    self->w[c] += beyond * (data->w_base[c] - self->w[c]);
  }
  bool factored = false;
  VINI_TRY(vini_project_step(self, from, from->t + h, to, &factored));
  vin_method method = self->options.method;
  if (method == VIN_METHOD_MIDPOINT || method == VIN_METHOD_TRAPEZOIDAL) {
    /* the stage is not the end, or the next step needs v' of the projected end */
    VINI_TRY(vini_implicit_accelerate(self, from->t + h, to->p, to->v, factored));
    factored = true;
  } else {
    memcpy(self->vdot, data->a, n * sizeof(double));
    memcpy(data->lambda, data->l, m * sizeof(double));
  }
  memcpy(to->lambda, data->lambda, m * sizeof(double));
  self->factor_fits = factored;
  data->past_h = h;
  return VIN_OK;
}

vin_status vini_reduced_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                             bool continues) {
  vin_status status = continues ? VIN_OK : vini_implicit_restart(self, from);
  if (status == VIN_OK) status = step(self, from, h, to);
  return vini_step_failure(self, status, from->t, h);
}
