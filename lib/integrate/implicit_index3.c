/* Implicit methods directly on the constrained equations: implicit Euler, theory (107), and the
 * generalised-alpha method, theory (109). The constraint row is Phi(p1) / beta, so that the matrix and
 * its condition do not depend on h as h -> 0. */
#include "integrate/implicit.h"

#include <math.h>
#include <string.h>

vin_status vini_index3_create(vin_integrator *self) {
  VINI_TRY(vini_implicit_begin(self, 1));
  vini_implicit *data = self->data;
  const vini_block shape = {.mass = 1, .jacobian = 1, .f_p = 1, .f_v = 1};
  vini_object *object = &self->projector->object;
  vin_status status =
      vini_augmented_create(&data->matrix, object, &data->tangent, &self->stats,
                            &self->projector->options.kkt, 1, &shape, data->dropped);
  return status == VIN_OK ? VIN_OK : vini_fail(&self->object, status, "%s", object->text);
}

static vin_status euler(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  for (vin_int i = 0; i < self->n; i++) {
    data->v_base[i] = from->v[i];
    data->p_base[i] = from->p[i] + h * from->v[i];
  }
  vini_stage stage = {.t = from->t + h,
                      .h = h,
                      .p_base = data->p_base,
                      .v_base = data->v_base,
                      .gamma = h,
                      .beta = h * h,
                      .position_level = true};
  return vini_stage_solve(self, &stage, to->p, to->v);
}

typedef struct coefficients {
  double alpha_m, alpha_f, beta, gamma;
} coefficients;

static coefficients chosen(const vin_integrator *self) {
  double rho = self->options.spectral_radius;
  coefficients c = {.alpha_m = (2 * rho - 1) / (rho + 1), .alpha_f = rho / (rho + 1)};
  c.gamma = 0.5 + c.alpha_f - c.alpha_m;
  c.beta = 0.25 * (c.gamma + 0.5) * (c.gamma + 0.5);
  return c;
}

/* The algorithmic acceleration belongs to t + (alpha_m - alpha_f) h, a time before t; it is found
 * from v' at t and at the mirrored time, to O(h^2). Where v' changes by more than its own size on
 * that way, h does not resolve the motion (it is stiff), and v' itself is the safe start. */
static vin_status start_alpha(vin_integrator *self, const vin_state *from, double h) {
  vini_implicit *data = self->data;
  coefficients c = chosen(self);
  double ahead = (c.alpha_f - c.alpha_m) * h, *past = data->algorithmic;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  if (ahead == 0) { /* rho = 1 */
    memcpy(past, self->vdot, n * sizeof(double));
    return VIN_OK;
  }
  for (vin_int i = 0; i < self->n; i++) {
    data->p[i] = from->p[i] + ahead * (from->v[i] + 0.5 * ahead * self->vdot[i]);
    data->v[i] = from->v[i] + ahead * self->vdot[i];
  }
  memcpy(data->guess_a, self->vdot, n * sizeof(double));
  memcpy(data->guess_l, data->lambda, m * sizeof(double));
  VINI_TRY(vini_implicit_accelerate(self, from->t + ahead, data->p, data->v, false));
  for (vin_int i = 0; i < self->n; i++) past[i] = data->guess_a[i] - self->vdot[i];
  bool resolved = vini_max_abs(past, self->n) <= vini_max_abs(data->guess_a, self->n);
  for (vin_int i = 0; i < self->n; i++) past[i] = data->guess_a[i] + (resolved ? past[i] : 0);
  memcpy(self->vdot, data->guess_a, n * sizeof(double));
  memcpy(data->lambda, data->guess_l, m * sizeof(double));
  return VIN_OK;
}

/* It belongs to a time that depends on h: moved there when h changes. */
static void rescale(vin_integrator *self, double h) {
  vini_implicit *data = self->data;
  double ratio = data->past_h == 0 ? 1 : h / data->past_h;
  if (ratio == 1) return;
  for (vin_int i = 0; i < self->n; i++) {
    data->algorithmic[i] = self->vdot[i] + ratio * (data->algorithmic[i] - self->vdot[i]);
  }
}

static vin_status alpha(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  coefficients c = chosen(self);
  double *b = data->algorithmic, share = (1 - c.alpha_f) / (1 - c.alpha_m);
  if (data->past_h == 0) VINI_TRY(start_alpha(self, from, h));
  rescale(self, h);
  for (vin_int i = 0; i < self->n; i++) {
    double old = b[i];
    b[i] = (c.alpha_f * self->vdot[i] - c.alpha_m * old) / (1 - c.alpha_m);
    data->v_base[i] = from->v[i] + h * ((1 - c.gamma) * old + c.gamma * b[i]);
    data->p_base[i] = from->p[i] + h * from->v[i] + h * h * ((0.5 - c.beta) * old + c.beta * b[i]);
  }
  vini_stage stage = {.t = from->t + h,
                      .h = h,
                      .p_base = data->p_base,
                      .v_base = data->v_base,
                      .gamma = h * c.gamma * share,
                      .beta = h * h * c.beta * share,
                      .position_level = true};
  VINI_TRY(vini_stage_solve(self, &stage, to->p, to->v));
  for (vin_int i = 0; i < self->n; i++) b[i] += share * data->a[i];
  return VIN_OK;
}

static vin_status step(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  bool is_alpha = self->options.method == VIN_METHOD_GENERALIZED_ALPHA;
  memcpy(data->a, self->vdot, n * sizeof(double));
  memcpy(data->l, data->lambda, m * sizeof(double));
  VINI_TRY(is_alpha ? alpha(self, from, h, to) : euler(self, from, h, to));
  memcpy(self->vdot, data->a, n * sizeof(double));
  memcpy(data->lambda, data->l, m * sizeof(double));
  memcpy(to->lambda, data->l, m * sizeof(double));
  self->factor_fits = false;
  data->past_h = h;
  return VIN_OK;
}

vin_status vini_index3_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                            bool continues) {
  vin_status status = continues ? VIN_OK : vini_implicit_restart(self, from);
  if (status == VIN_OK) status = step(self, from, h, to);
  return vini_implicit_failure(self, status, from, h);
}
