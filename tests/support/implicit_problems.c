#include "implicit_problems.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAVITY 9.81
#define REST 0.5

static int unit_mass(void *user, double t, const double *p, const double *v, double *values) {
  const test_bodies *b = user;
  (void)t, (void)p, (void)v;
  for (vin_int i = 0; i < b->n; i++) values[i] = 1;
  return 0;
}

/* Force on the second point, less its weight; d from first to second, u its rate. */
static void spring(const test_bodies *b, const double *p, const double *v, double *f) {
  double d[2] = {p[2] - p[0], p[3] - p[1]}, u[2] = {v[2] - v[0], v[3] - v[1]};
  double length = hypot(d[0], d[1]), rate = (d[0] * u[0] + d[1] * u[1]) / length;
  double pull = -(b->stiffness * (length - REST) + b->damping * rate) / length;
  f[0] = pull * d[0];
  f[1] = pull * d[1];
}

static int stiff_force(void *user, double t, const double *p, const double *v, double *f) {
  double s[2];
  (void)t;
  spring(user, p, v, s);
  f[0] = -s[0], f[1] = -s[1] - GRAVITY;
  f[2] = s[0], f[3] = s[1] - GRAVITY;
  return 0;
}

/* 2 x 2 blocks of the tangent by d (position) and u (velocity), theory of a spring: with e = d / L,
 * -[k e e' + (k (L - l0) + c rate) / L (1 - e e')] - c/L [e u' + ...] and -c e e'. */
static void spring_tangent(const test_bodies *b, const double *p, const double *v, bool velocity,
                           double *k) {
  double d[2] = {p[2] - p[0], p[3] - p[1]}, u[2] = {v[2] - v[0], v[3] - v[1]};
  double length = hypot(d[0], d[1]), e[2] = {d[0] / length, d[1] / length};
  double rate = e[0] * u[0] + e[1] * u[1];
  double tension = b->stiffness * (length - REST) + b->damping * rate;
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 2; j++) {
      double across = (i == j ? 1 : 0) - e[i] * e[j];
      if (velocity) {
        k[i * 2 + j] = -b->damping * e[i] * e[j];
        continue;
      }
      double rate_j = (u[j] - rate * e[j]) / length;
      k[i * 2 + j] =
          -e[i] * (b->stiffness * e[j] + b->damping * rate_j) - tension / length * across;
    }
  }
}

static void tangent_values(const test_bodies *b, const double *p, const double *v, bool velocity,
                           double *values) {
  double k[4];
  spring_tangent(b, p, v, velocity, k);
  for (int row = 0; row < 4; row++) {
    for (int col = 0; col < 4; col++) {
      double sign = row / 2 == col / 2 ? 1 : -1;
      values[row * 4 + col] = sign * k[row % 2 * 2 + col % 2];
    }
  }
}

static int stiff_force_p(void *user, double t, const double *p, const double *v, double *values) {
  (void)t;
  tangent_values(user, p, v, false, values);
  return 0;
}

static int stiff_force_v(void *user, double t, const double *p, const double *v, double *values) {
  (void)t;
  tangent_values(user, p, v, true, values);
  return 0;
}

static int rod(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  phi[0] = (p[0] * p[0] + p[1] * p[1] - 1) / 2;
  return 0;
}

static int rod_jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t;
  values[0] = p[0];
  values[1] = p[1];
  return 0;
}

static int rod_curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)t, (void)p;
  a[0] = v[0] * v[0] + v[1] * v[1];
  return 0;
}

static test_bodies *create(test_bodies *bodies, vin_system_desc *desc) {
  desc->user = bodies;
  desc->positions = bodies->n;
  desc->constraints = bodies->m;
  cr_assert_eq(vin_system_create(&bodies->system, NULL, desc), VIN_OK, "%s",
               vin_system_error(bodies->system));
  return bodies;
}

test_bodies *test_stiff_pendulum(double stiffness, double damping, bool tangents) {
  static const vin_int diagonal[4] = {0, 1, 2, 3}, row[2] = {0, 0}, col[2] = {0, 1};
  static const vin_int full_row[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  static const vin_int full_col[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  test_bodies *b = calloc(1, sizeof *b);
  cr_assert_not_null(b);
  *b = (test_bodies){.n = 4, .m = 1, .p = {1, 0, 1 + REST, 0}};
  b->stiffness = stiffness;
  b->damping = damping;
  vin_system_desc desc = vin_system_desc_default();
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){4, diagonal, diagonal};
  desc.jacobian_pattern = (vin_triplets){2, row, col};
  desc.mass = unit_mass;
  desc.force = stiff_force;
  desc.constraint = rod;
  desc.jacobian = rod_jacobian;
  desc.curvature = rod_curvature;
  if (tangents) {
    desc.force_p_pattern = desc.force_v_pattern = (vin_triplets){16, full_row, full_col};
    desc.force_p = stiff_force_p;
    desc.force_v = stiff_force_v;
  }
  return create(b, &desc);
}

static int reel_mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)user, (void)t, (void)v;
  values[0] = 1;
  values[1] = p[0] * p[0];
  return 0;
}

static int reel_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t;
  f[0] = p[0] * v[1] * v[1] + GRAVITY * cos(p[1]);
  f[1] = -2 * p[0] * v[0] * v[1] - GRAVITY * p[0] * sin(p[1]);
  return 0;
}

static int reel_constraint(void *user, double t, const double *p, double *phi) {
  (void)user;
  phi[0] = p[0] - 1 - 0.3 * sin(t);
  return 0;
}

static int reel_jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t, (void)p;
  values[0] = 1;
  return 0;
}

static int reel_rate(void *user, double t, const double *p, double *phi_t) {
  (void)user, (void)p;
  phi_t[0] = -0.3 * cos(t);
  return 0;
}

static int reel_curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)p, (void)v;
  a[0] = 0.3 * sin(t);
  return 0;
}

test_bodies *test_reel(void) {
  static const vin_int diagonal[2] = {0, 1}, zero[1] = {0};
  test_bodies *b = calloc(1, sizeof *b);
  cr_assert_not_null(b);
  *b = (test_bodies){.n = 2, .m = 1, .p = {1, 1}, .v = {0.3, 0}};
  vin_system_desc desc = vin_system_desc_default();
  desc.flags = VIN_MASS_DIAGONAL;
  desc.mass_pattern = (vin_triplets){2, diagonal, diagonal};
  desc.jacobian_pattern = (vin_triplets){1, zero, zero};
  desc.mass = reel_mass;
  desc.force = reel_force;
  desc.constraint = reel_constraint;
  desc.jacobian = reel_jacobian;
  desc.constraint_rate = reel_rate;
  desc.curvature = reel_curvature;
  return create(b, &desc);
}

void test_bodies_free(test_bodies *bodies) {
  vin_system_destroy(bodies->system);
  free(bodies);
}

/* ---- minimal coordinates ----------------------------------------------------------------------- */

typedef void rate(const test_bodies *b, double t, const double *y, double *dy);

static void runge_kutta(rate *f, const test_bodies *b, int n, double h, long steps, double *y) {
  double k[4][8], z[8];
  for (long step = 0; step < steps; step++) {
    double t = h * (double)step;
    f(b, t, y, k[0]);
    for (int i = 0; i < n; i++) z[i] = y[i] + h / 2 * k[0][i];
    f(b, t + h / 2, z, k[1]);
    for (int i = 0; i < n; i++) z[i] = y[i] + h / 2 * k[1][i];
    f(b, t + h / 2, z, k[2]);
    for (int i = 0; i < n; i++) z[i] = y[i] + h * k[2][i];
    f(b, t + h, z, k[3]);
    for (int i = 0; i < n; i++) {
      y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
  }
}

/* y = angle from the x axis, x and y of the second point, and their rates. */
static void cartesian(const double *y, double *p, double *v) {
  double c = cos(y[0]), s = sin(y[0]);
  p[0] = c, p[1] = s, p[2] = y[1], p[3] = y[2];
  v[0] = -s * y[3], v[1] = c * y[3], v[2] = y[4], v[3] = y[5];
}

static void stiff_rate(const test_bodies *b, double t, const double *y, double *dy) {
  double p[4], v[4], f[2];
  (void)t;
  cartesian(y, p, v);
  spring(b, p, v, f);
  dy[0] = y[3], dy[1] = y[4], dy[2] = y[5];
  dy[3] = sin(y[0]) * f[0] - cos(y[0]) * (f[1] + GRAVITY);
  dy[4] = f[0];
  dy[5] = f[1] - GRAVITY;
}

/* The rod's multiplier balances the radial force: lambda = f . e + theta'^2 (Phi_p = e, length 1). */
void test_stiff_pendulum_at(const test_bodies *b, double t, long steps, double *p, double *v,
                            double *lambda) {
  double y[6] = {0, 1 + REST, 0, 0, 0, 0}, f[4];
  runge_kutta(stiff_rate, b, 6, t / (double)steps, steps, y);
  cartesian(y, p, v);
  stiff_force((void *)b, t, p, v, f);
  lambda[0] = f[0] * p[0] + f[1] * p[1] + y[3] * y[3];
}

static void reel_angle(const test_bodies *b, double t, const double *y, double *dy) {
  double r = 1 + 0.3 * sin(t);
  (void)b;
  dy[0] = y[1];
  dy[1] = -(2 * 0.3 * cos(t) * y[1] + GRAVITY * sin(y[0])) / r;
}

/* lambda = f_r - r'' */
void test_reel_at(double t, long steps, double *p, double *v, double *lambda) {
  double y[2] = {1, 0};
  runge_kutta(reel_angle, NULL, 2, t / (double)steps, steps, y);
  p[0] = 1 + 0.3 * sin(t), p[1] = y[0];
  v[0] = 0.3 * cos(t), v[1] = y[1];
  lambda[0] = p[0] * y[1] * y[1] + GRAVITY * cos(y[0]) + 0.3 * sin(t);
}

vin_status test_bodies_run(const test_bodies *b, const vin_options *options, double t, long steps,
                           double *p, double *v, double *lambda) {
  vin_integrator *integrator = NULL;
  cr_assert_eq(vin_integrator_create(&integrator, NULL, b->system, options), VIN_OK, "%s",
               vin_integrator_error(integrator));
  double q[4], w[4], mu[2];
  vin_state from = {.p = p, .v = v, .lambda = lambda}, to = {.p = q, .v = w, .lambda = mu};
  memcpy(p, b->p, sizeof b->p);
  memcpy(v, b->v, sizeof b->v);
  vin_status status = VIN_OK;
  for (long k = 0; k < steps && status == VIN_OK; k++) {
    status = vin_integrator_step(integrator, &from, t / (double)steps, &to);
    if (status != VIN_OK) break;
    memcpy(p, q, (size_t)b->n * sizeof *p);
    memcpy(v, w, (size_t)b->n * sizeof *v);
    memcpy(lambda, mu, (size_t)b->m * sizeof *mu);
    from.t = to.t;
  }
  vin_integrator_destroy(integrator);
  return status;
}
