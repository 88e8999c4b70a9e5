/* The car axis of the IVP test set, see problems.h. */
#include "problems.h"

#include <math.h>
#include <string.h>

#define CAR_MASS 5e-4 /* M eps^2 / 2 */

/* The road's end: b, b', b''. */
static void car_road(double t, double b[2], double b1[2], double b2[2]) {
  const double r = 0.1, w = 10;
  b[1] = r * sin(w * t), b1[1] = r * w * cos(w * t), b2[1] = -r * w * w * sin(w * t);
  b[0] = sqrt(1 - b[1] * b[1]);
  b1[0] = -b[1] * b1[1] / b[0];
  b2[0] = -(b1[1] * b1[1] + b[1] * b2[1] + b1[0] * b1[0]) / b[0];
}

static int car_force(void *user, double t, const double *p, const double *v, double *f) {
  double b[2], b1[2], b2[2];
  (void)user, (void)v;
  car_road(t, b, b1, b2);
  double left = hypot(p[0], p[1]), right = hypot(p[2] - b[0], p[3] - b[1]);
  f[0] = (0.5 - left) * p[0] / left;
  f[1] = (0.5 - left) * p[1] / left - CAR_MASS;
  f[2] = (0.5 - right) * (p[2] - b[0]) / right;
  f[3] = (0.5 - right) * (p[3] - b[1]) / right - CAR_MASS;
  return 0;
}

static int car_constraint(void *user, double t, const double *p, double *phi) {
  double b[2], b1[2], b2[2], d[2] = {p[0] - p[2], p[1] - p[3]};
  (void)user;
  car_road(t, b, b1, b2);
  phi[0] = b[0] * p[0] + b[1] * p[1];
  phi[1] = d[0] * d[0] + d[1] * d[1] - 1;
  return 0;
}

static int car_jacobian(void *user, double t, const double *p, double *values) {
  double b[2], b1[2], b2[2], d[2] = {p[0] - p[2], p[1] - p[3]};
  (void)user;
  car_road(t, b, b1, b2);
  double all[8] = {b[0], b[1], 0, 0, 2 * d[0], 2 * d[1], -2 * d[0], -2 * d[1]};
  memcpy(values, all, sizeof all);
  return 0;
}

static int car_rate(void *user, double t, const double *p, double *phi_t) {
  double b[2], b1[2], b2[2];
  (void)user;
  car_road(t, b, b1, b2);
  phi_t[0] = b1[0] * p[0] + b1[1] * p[1];
  phi_t[1] = 0;
  return 0;
}

static int car_curvature(void *user, double t, const double *p, const double *v, double *a) {
  double b[2], b1[2], b2[2], d[2] = {v[0] - v[2], v[1] - v[3]};
  (void)user;
  car_road(t, b, b1, b2);
  a[0] = 2 * (b1[0] * v[0] + b1[1] * v[1]) + b2[0] * p[0] + b2[1] * p[1];
  a[1] = 2 * (d[0] * d[0] + d[1] * d[1]);
  return 0;
}

test_mechanism *test_car_axis(void) {
  static const double p[4] = {0, 0.5, 1, 0.5}, v[4] = {-0.5, 0, -0.5, 0};
  test_mechanism *x = test_mechanism_blank(2, 2, 2);
  x->mass[0] = x->mass[1] = CAR_MASS;
  x->force = car_force;
  x->constraint = car_constraint;
  x->jacobian = car_jacobian;
  x->constraint_rate = car_rate;
  x->curvature = car_curvature;
  memcpy(x->p, p, sizeof p);
  memcpy(x->v, v, sizeof v);
  return x;
}
