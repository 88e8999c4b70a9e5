/* The generalised-alpha method on the index-3 equations. */
#include "implicit_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(alpha);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static vin_options with_radius(double rho) {
  vin_options options = test_method(VIN_METHOD_GENERALIZED_ALPHA, VIN_PROJECTION_NONE);
  options.spectral_radius = rho;
  return options;
}

/* Order 2 in p, v, lambda and in the hidden constraint, for every damping; Phi at rounding. */
Test(alpha, orders) {
  static const double radius[] = {0, 0.5, 0.8, 0.95};
  test_mechanism *x = built(test_planar_pendulum());
  double row[5];
  test_reference("hamiltonian/planar_pendulum.csv", 1, 5, row);
  row[4] *= 2; /* of the file's constraint |p|^2 - 1 */
  for (int k = 0; k < 4; k++) {
    vin_options options = with_radius(radius[k]);
    double error[2][4];
    for (int run = 0; run < 2; run++) {
      vin_state end = test_run(x, &options, 1, 200 << run);
      error[run][0] = test_max_difference(2, end.p, row);
      error[run][1] = test_max_difference(2, end.v, row + 2);
      error[run][2] = test_max_difference(1, end.lambda, row + 4);
      error[run][3] = test_hidden_max(x, end.t, end.p, end.v);
      cr_expect_leq(test_constraint_max(x, end.t, end.p), 1e-15);
      test_state_free(&end);
    }
    for (int q = 0; q < 4; q++) {
      double order = log2(error[0][q] / error[1][q]);
      cr_expect_float_eq(order, 2, 0.1, "rho %g, %c: %.3f (%g)", radius[k], "pvlh"[q], order,
                         error[1][q]);
    }
  }
  test_mechanism_free(x);
}

/* The same where M, f and Phi vary, against the minimal formulation. */
Test(alpha, orders_where_everything_varies) {
  test_bodies *b = test_reel();
  double p[4], v[4], lambda[2], q[4], w[4], mu[2], error[2][3];
  test_reel_at(2, 20000, q, w, mu);
  vin_options options = with_radius(0.8);
  for (int run = 0; run < 2; run++) {
    cr_assert_eq(test_bodies_run(b, &options, 2, 200 << run, p, v, lambda), VIN_OK);
    error[run][0] = test_max_difference(2, p, q);
    error[run][1] = test_max_difference(2, v, w);
    error[run][2] = test_max_difference(1, lambda, mu);
  }
  for (int i = 0; i < 3; i++) {
    double order = log2(error[0][i] / error[1][i]);
    cr_expect_float_eq(order, 2, 0.15, "%c: %.3f (%g)", "pvl"[i], order, error[1][i]);
  }
  test_bodies_free(b);
}

/* The start is consistent: the multiplier's largest error over the first ten steps is of order 2 too
 * (of order 1 when the algorithmic acceleration began as v' itself). */
Test(alpha, first_steps_have_the_order) {
  test_mechanism *x = built(test_planar_pendulum());
  double error[2] = {0, 0};
  for (int run = 0; run < 2; run++) {
    vin_options options = with_radius(0.8);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    for (int step = 0; step < 10; step++) {
      double vdot[2], lambda[1];
      cr_assert_eq(test_advance(integrator, x, &state, 0.01 / (1 << run), 1), VIN_OK);
      double kept = state.lambda[0];
      vin_projector *projector = vin_integrator_projector(integrator);
      cr_assert_eq(vin_project_acceleration(projector, state.t, state.p, state.v, vdot, lambda),
                   VIN_OK);
      error[run] = fmax(error[run], fabs(kept - lambda[0]));
    }
    vin_integrator_destroy(integrator);
    test_state_free(&state);
  }
  cr_expect_float_eq(log2(error[0] / error[1]), 2, 0.2, "%g %g", error[0], error[1]);
  test_mechanism_free(x);
}

/* A free oscillator of frequency 1e6 / s and h = 1: the motion is multiplied by rho a step (a double
 * eigenvalue, so k rho^k), or for rho = 0 gone at once. */
static int spring_mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)user, (void)t, (void)p, (void)v;
  values[0] = 1;
  return 0;
}

static int spring_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)v;
  f[0] = -1e12 * p[0];
  return 0;
}

Test(alpha, spectral_radius_at_infinity) {
  static const vin_int zero[1] = {0};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 1;
  desc.flags = VIN_MASS_CONSTANT | VIN_FORCE_VELOCITY_FREE;
  desc.mass_pattern = (vin_triplets){1, zero, zero};
  desc.mass = spring_mass;
  desc.force = spring_force;
  test_bodies b = {.n = 1, .p = {1}};
  cr_assert_eq(vin_system_create(&b.system, NULL, &desc), VIN_OK);
  static const double radius[] = {0, 0.5, 0.8, 1};
  for (int k = 0; k < 4; k++) {
    double p[4], v[4], lambda[2], q[4];
    vin_options options = with_radius(radius[k]);
    cr_assert_eq(test_bodies_run(&b, &options, 100, 100, p, v, lambda), VIN_OK, "%g", radius[k]);
    cr_assert_eq(test_bodies_run(&b, &options, 110, 110, q, v, lambda), VIN_OK);
    if (radius[k] == 0) {
      cr_expect_leq(fabs(p[0]), 1e-12, "%g", p[0]);
      continue;
    }
    /* |p| ~ (c1 + c2 k) rho^k: the tenth root of the ratio is rho (110/100)^(1/10) or closer */
    cr_expect_float_eq(pow(fabs(q[0] / p[0]), 0.1), radius[k], 0.02, "rho %g: %g to %g", radius[k],
                       p[0], q[0]);
  }
  vin_system_destroy(b.system);
}

/* The published end values of the car axis; order 2 from 6000 to 12000 steps. */
Test(alpha, car_axis) {
  test_mechanism *x = built(test_car_axis());
  double row[10], error[2];
  test_reference("ivp/caraxis.csv", 3, 10, row);
  for (int run = 0; run < 2; run++) {
    vin_options options = with_radius(0.8);
    vin_state end = test_run(x, &options, 3, 6000 << run);
    error[run] = test_max_difference(4, end.p, row);
    test_state_free(&end);
  }
  cr_expect_float_eq(log2(error[0] / error[1]), 2, 0.2, "%g %g", error[0], error[1]);
  cr_expect_leq(error[1], 4e-5, "%g", error[1]); /* twice what was measured */
  test_mechanism_free(x);
}

/* Steps that change all the time keep order 2 in p and v, because the algorithmic acceleration moves
 * with h; lambda, which sees the change of the velocity's error over h, is of order 1. */
Test(alpha, changing_steps) {
  test_mechanism *x = built(test_planar_pendulum());
  double row[5], error[2][3];
  test_reference("hamiltonian/planar_pendulum.csv", 1, 5, row);
  row[4] *= 2;
  for (int run = 0; run < 2; run++) {
    vin_options options = with_radius(0.8);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    double h = 1.25e-3 / (1 << run);
    for (int k = 0; k < 320 << run; k++) {
      cr_assert_eq(test_advance(integrator, x, &state, h, 1), VIN_OK);
      cr_assert_eq(test_advance(integrator, x, &state, 1.5 * h, 1), VIN_OK);
    }
    cr_assert_float_eq(state.t, 1, 1e-12);
    error[run][0] = test_max_difference(2, state.p, row);
    error[run][1] = test_max_difference(2, state.v, row + 2);
    error[run][2] = test_max_difference(1, state.lambda, row + 4);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
  }
  for (int q = 0; q < 3; q++) {
    cr_expect_float_eq(log2(error[0][q] / error[1][q]), q < 2 ? 2 : 1, 0.1, "%g %g", error[0][q],
                       error[1][q]);
  }
  test_mechanism_free(x);
}
