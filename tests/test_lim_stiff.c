/* Stiff potentials: the blended iteration where the system gives df/dp. */
#include "system/system.h"
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(lim_stiff);

/* A pendulum (rod of 1 m, 1 kg) with a second point that a linear spring of stiffness k holds at an offset:
 * V = g (y0 + y1) + k/2 |p1 - p0 - c|^2. The rod may be left out (m = 0) and replaced by a spring too. */
typedef struct sprung {
  double k;
  bool rod;
} sprung;

static const double offset[2] = {0.5, -0.5};

static int mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)user, (void)t, (void)p, (void)v;
  for (int i = 0; i < 4; i++) values[i] = 1;
  return 0;
}
static int force(void *user, double t, const double *p, const double *v, double *f) {
  const sprung *x = user;
  (void)t, (void)v;
  for (int i = 0; i < 2; i++) {
    double pull = x->k * (p[2 + i] - p[i] - offset[i]);
    f[i] = pull - (x->rod ? 0 : x->k * p[i]);
    f[2 + i] = -pull;
  }
  f[1] -= 9.81, f[3] -= 9.81;
  return 0;
}
static int potential(void *user, double t, const double *p, double *energy) {
  const sprung *x = user;
  (void)t;
  *energy = 9.81 * (p[1] + p[3]);
  for (int i = 0; i < 2; i++) {
    double d = p[2 + i] - p[i] - offset[i];
    *energy += x->k / 2 * (d * d + (x->rod ? 0 : p[i] * p[i]));
  }
  return 0;
}
static int tangent(void *user, double t, const double *p, const double *v, double *values) {
  const sprung *x = user;
  (void)t, (void)p, (void)v;
  for (int i = 0; i < 2; i++) {
    values[4 * i] = x->rod ? -x->k : -2 * x->k;
    values[4 * i + 1] = values[4 * i + 2] = x->k;
    values[4 * i + 3] = -x->k;
  }
  return 0;
}
static int constraint(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  phi[0] = p[0] * p[0] + p[1] * p[1] - 1;
  return 0;
}
static int jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t;
  values[0] = 2 * p[0], values[1] = 2 * p[1];
  return 0;
}

static vin_system *build(sprung *x, bool with_tangent, const vin_context *context) {
  static const vin_int diagonal[4] = {0, 1, 2, 3}, row[2] = {0, 0}, col[2] = {0, 1};
  static const vin_int k_row[8] = {0, 0, 2, 2, 1, 1, 3, 3}, k_col[8] = {0, 2, 0, 2, 1, 3, 1, 3};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 4, desc.constraints = x->rod;
  desc.flags =
      VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_FORCE_VELOCITY_FREE | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){4, diagonal, diagonal};
  if (x->rod) desc.jacobian_pattern = (vin_triplets){2, row, col};
  desc.mass = mass, desc.force = force, desc.potential = potential;
  desc.constraint = constraint, desc.jacobian = jacobian;
  if (with_tangent) {
    desc.force_p = tangent;
    desc.force_p_pattern = (vin_triplets){8, k_row, k_col};
  }
  desc.user = x;
  vin_system *system = NULL;
  vin_status status = vin_system_create(&system, context, &desc);
  cr_assert_eq(status, VIN_OK, "%s", vin_system_error(system));
  return system;
}

typedef struct outcome {
  vin_status status;
  double p[4], v[4], sweeps, energy;
  char text[512];
} outcome;

static double energy(sprung *x, const double *p, const double *v) {
  double e;
  potential(x, 0, p, &e);
  for (int i = 0; i < 4; i++) e += v[i] * v[i] / 2;
  return e;
}

static outcome run(sprung *x, bool with_tangent, vin_method method, int s, double h, int steps) {
  vin_system *system = build(x, with_tangent, NULL);
  vin_options options = vin_options_default();
  options.method = method;
  options.stages = s;
  vin_integrator *integrator = NULL;
  cr_assert_eq(vin_integrator_create(&integrator, NULL, system, &options), VIN_OK);
  /* the second point where the spring balances gravity, so that little is left to oscillate */
  double p[2][4] = {{0.6, -0.8, 1.1, -1.3 - 9.81 / x->k}}, v[2][4] = {{0}}, lambda[2][1];
  if (!x->rod) p[0][0] = 0, p[0][1] = -2 * 9.81 / x->k, p[0][2] = 0.5, p[0][3] = -0.49;
  vin_state a = {0, p[0], v[0], lambda[0]}, b = {0, p[1], v[1], lambda[1]};
  outcome out = {.status = VIN_OK};
  double start = energy(x, a.p, a.v);
  for (int k = 0; k < steps && out.status == VIN_OK; k++) {
    out.status = vin_integrator_step(integrator, &a, h, &b);
    if (out.status != VIN_OK) break;
    vin_state kept = a;
    a = b, b = kept;
    out.energy = fmax(out.energy, fabs(energy(x, a.p, a.v) - start));
  }
  snprintf(out.text, sizeof out.text, "%s", vin_integrator_error(integrator));
  memcpy(out.p, a.p, sizeof out.p);
  memcpy(out.v, a.v, sizeof out.v);
  out.sweeps = (double)vin_integrator_get_stats(integrator).sweeps / steps;
  vin_integrator_destroy(integrator);
  vin_system_destroy(system);
  return out;
}

/* Stiff enough for the blended iteration (h^2 rho^2 K / M > 0.5), but not too stiff for the plain one: the
 * same result (rounding of the spring force: k eps h^2 = 1e-15 a step). */
Test(lim_stiff, same_as_the_plain_iteration) {
  static const double stiffness[] = {0, 1.02e4, 3.1e4, 6.55e4};
  for (int rod = 0; rod < 2; rod++) {
    for (int s = 1; s <= (rod ? 3 : 2); s++) {
      sprung x = {.k = stiffness[s], .rod = rod};
      vin_method method = rod || s == 1 ? VIN_METHOD_LIM : VIN_METHOD_HBVM; /* r = s in both */
      if (rod && s == 2) continue;                                          /* r = 1 */
      outcome plain = run(&x, false, method, s, 0.01, 50);
      outcome blended = run(&x, true, method, s, 0.01, 50);
      cr_assert_eq(plain.status, VIN_OK, "rod %d, s %d: %s", rod, s, plain.text);
      cr_assert_eq(blended.status, VIN_OK, "rod %d, s %d: %s", rod, s, blended.text);
      cr_expect_leq(test_max_difference(4, plain.p, blended.p), 1e-12, "rod %d, s %d: %g", rod, s,
                    test_max_difference(4, plain.p, blended.p));
      cr_expect_lt(blended.sweeps, plain.sweeps, "rod %d, s %d: %g, %g", rod, s, blended.sweeps,
                   plain.sweeps);
    }
  }
}

/* h omega = 14 to 1400: the plain iteration cannot converge; the blended one does, at a rate that is
 * bounded for any k (0, 0.48, 0.70), and energy is kept to the rounding of the spring force, k eps |p| v h a step,
 * v = 4 m/s, times the square root of 200 steps. */
Test(lim_stiff, converges_however_stiff) {
  static const double most[] = {0, 12, 0, 60, 0, 110};
  for (int rod = 0; rod < 2; rod++) {
    for (double k = 1e6; k <= 1e10; k *= 100) {
      for (int s = 1; s <= 5; s += 2) {
        sprung x = {.k = k, .rod = rod};
        cr_expect_eq(run(&x, false, VIN_METHOD_LIM, s, 0.01, 5).status, VIN_STEP_FAILED);
        outcome end = run(&x, true, VIN_METHOD_LIM, s, 0.01, 200);
        cr_assert_eq(end.status, VIN_OK, "rod %d, k %g, s %d: %s", rod, k, s, end.text);
        cr_expect_leq(end.sweeps, most[s], "rod %d, k %g, s %d: %g", rod, k, s, end.sweeps);
        cr_expect_leq(end.energy, 1e-12 + 1.2e-16 * k, "rod %d, k %g, s %d: %g", rod, k, s,
                      end.energy);
      }
    }
  }
}
