/* Baumgarte's stabilisation: the right-hand side of the acceleration-level constraint, which every
 * method of that level shares. With gains of zero it is -a, to the last bit. */
#include "integrate/integrate.h"

#include <math.h>

static bool gain(double x) {
  return x >= 0 && x < HUGE_VAL;
}

vin_status vini_stabilise_check(vin_integrator *self) {
  const vin_baumgarte *b = &self->options.baumgarte;
  vini_object *object = &self->object;
  if (b->order == 0) return VIN_OK;
  if (b->order < 0 || b->order > 3) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "baumgarte.order is %d, must be in 0..3", b->order);
  }
  if (!(self->method->flags & VINI_METHOD_BAUMGARTE)) {
    return vini_fail(
        object, VIN_ERR_UNSUPPORTED,
        "%s has no acceleration-level constraint to stabilise: set baumgarte.order to 0",
        self->method->name);
  }
  if (b->order == 1 && !(b->tau > 0 && b->tau < HUGE_VAL)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "baumgarte.tau is %g s, must be finite and > 0 (order 1)", b->tau);
  }
  if (b->order == 2 && !(gain(b->zeta) && gain(b->omega))) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "baumgarte.zeta is %g and omega %g 1/s, must be finite and >= 0 (order 2)",
                     b->zeta, b->omega);
  }
  /* Routh and Hurwitz: with a b < c a pair of roots has a positive real part */
  if (b->order == 3 && !(gain(b->a) && gain(b->b) && gain(b->c) && b->a * b->b >= b->c)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "baumgarte.a, b, c are %g, %g, %g, must be finite, >= 0 and a b >= c, or the "
                     "residual would grow (order 3)",
                     b->a, b->b, b->c);
  }
  return VIN_OK;
}

/* phi := Phi(p, t), h := Phi_p v + Phi_t with the projector's Phi_p */
static vin_status residuals(vin_integrator *self, double t, const double *p, const double *v,
                            double *phi, double *h) {
  vin_projector *projector = self->projector;
  projector->constraint_evaluations++;
  VINI_TRY(vini_eval_constraint(self->system, &projector->object, t, p, phi));
  VINI_TRY(vini_eval_constraint_rate(self->system, &projector->object, t, p, h));
  vini_projector_add_jacobian(projector, 1, v, h);
  return VIN_OK;
}

vin_status vini_acceleration_rows(vin_integrator *self, double t, const double *p, const double *v,
                                  const double *w, double *wdot, double *g) {
  vin_projector *projector = self->projector;
  const vin_baumgarte *b = &self->options.baumgarte;
  double *phi = projector->vm[3], *h = projector->vm[4];
  vin_int m = self->m;
  VINI_TRY(
      vini_eval_curvature(self->system, &projector->object, t, p, v, g, projector->curvature_work));
  if (b->order > 0) VINI_TRY(residuals(self, t, p, v, phi, h));
  for (vin_int c = 0; c < m; c++) g[c] = -g[c];
  switch (b->order) {
  case 1: /* theory (29a) */
    for (vin_int c = 0; c < m; c++) g[c] -= h[c] / b->tau;
    break;
  case 2: /* theory (29b) */
    for (vin_int c = 0; c < m; c++)
      g[c] -= 2 * b->zeta * b->omega * h[c] + b->omega * b->omega * phi[c];
    break;
  case 3: /* theory (29c) */
    for (vin_int c = 0; c < m; c++) {
      wdot[c] = -(b->a * w[c] + b->b * h[c] + b->c * phi[c]);
      g[c] += w[c];
    }
    break;
  default:
    break;
  }
  return VIN_OK;
}

vin_status vini_implicit_rows(vin_integrator *self, double t, const double *p, const double *v,
                              const double *w_base, double gamma, double *wdot, double *g) {
  VINI_TRY(vini_acceleration_rows(self, t, p, v, w_base, wdot, g));
  if (self->options.baumgarte.order != 3) return VIN_OK;
  double damping = 1 + gamma * self->options.baumgarte.a;
  for (vin_int c = 0; c < self->m; c++) { /* theory (103a) */
    wdot[c] /= damping;
    g[c] += gamma * wdot[c];
  }
  return VIN_OK;
}

void vini_stabilised(const vin_integrator *self, const double gamma[2], double share[2]) {
  const vin_baumgarte *b = &self->options.baumgarte;
  double re = gamma[0], im = gamma[1], square_re = re * re - im * im, square_im = 2 * re * im;
  double first = 0, second = 0; /* share = first gamma + second gamma^2 */
  if (b->order == 1) first = 1 / b->tau;
  if (b->order == 2) first = 2 * b->zeta * b->omega, second = b->omega * b->omega;
  if (b->order == 3) first = b->b, second = b->c;
  double x = first * re + second * square_re, y = first * im + second * square_im;
  share[0] = x, share[1] = y;
  if (b->order != 3) return;
  /* gamma (b gamma + c gamma^2) / (1 + a gamma) */
  double u = 1 + b->a * re, w = b->a * im, size = u * u + w * w;
  double product_re = re * x - im * y, product_im = re * y + im * x;
  share[0] = (product_re * u + product_im * w) / size;
  share[1] = (product_im * u - product_re * w) / size;
}

vin_status vini_accelerate(vin_integrator *self, double t, const double *p, const double *v,
                           const double *w, bool factored, double *vdot, double *lambda,
                           double *wdot) {
  vin_projector *projector = self->projector;
  if (self->options.baumgarte.order == 0) {
    return vini_projector_acceleration(projector, t, p, v, factored, vdot, lambda, NULL);
  }
  double *f = projector->vn[5], *g = projector->vm[5];
  if (!factored || projector->factored != VINI_FACTORED_MASS) {
    VINI_TRY(vini_projector_factor(projector, t, p, v));
  }
  projector->force_evaluations++;
  VINI_TRY(vini_eval_force(self->system, &projector->object, t, p, v, f));
  VINI_TRY(vini_acceleration_rows(self, t, p, v, w, wdot, g));
  return vini_projector_solve(projector, 1, f, g, vdot, lambda);
}
