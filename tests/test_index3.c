/* Implicit Euler on the index-3 equations and on the stabilised index-2 form. */
#include "implicit_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(index3);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

/* ---- the source's pendulum ---------------------------------------------------------------------- */

/* From (1, 0) at rest, g = 9.81, h = 0.025: all of the energy but 0.035 J is gone at t = 20 (E = -9.81
 * hangs still), while Phi is at rounding. E(20) = -9.775 is the value of the closed form of the step:
 * p1 lies on (p_k + h v_k + h^2 g) / c. */
Test(index3, pendulum_of_the_source) {
  test_mechanism *x = built(test_pendulum(acos(0), 0));
  vin_options options = test_method(VIN_METHOD_EULER3, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double p[2] = {x->p[0], x->p[1]}, v[2] = {0, 0};
  const double h = 0.025;
  for (int k = 0; k < 800; k++) {
    cr_assert_eq(test_advance(integrator, x, &state, h, 1), VIN_OK);
    cr_expect_leq(test_constraint_max(x, state.t, state.p), 1e-15);
    double q[2] = {p[0] + h * v[0], p[1] + h * v[1] - 9.81 * h * h}, c = hypot(q[0], q[1]);
    for (int i = 0; i < 2; i++) {
      v[i] = (q[i] / c - p[i]) / h;
      p[i] = q[i] / c;
    }
  }
  cr_expect_leq(test_max_difference(2, state.p, p), 1e-11);
  cr_expect_leq(test_max_difference(2, state.v, v), 1e-9);
  cr_expect_float_eq(test_energy(x, state.p, state.v), -9.775, 5e-4, "%.6f",
                     test_energy(x, state.p, state.v));
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* Energy falls in every step, with all methods of the kind of implicit Euler. */
Test(index3, implicit_euler_dissipates) {
  static const vin_method methods[] = {VIN_METHOD_EULER3, VIN_METHOD_GGL,
                                       VIN_METHOD_BACKWARD_EULER};
  for (int k = 0; k < 3; k++) {
    test_mechanism *x = built(test_pendulum(1, 0));
    vin_options options = test_method(methods[k], VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    double last = test_energy(x, state.p, state.v);
    for (int step = 0; step < 200; step++) {
      cr_assert_eq(test_advance(integrator, x, &state, 0.01, 1), VIN_OK);
      double energy = test_energy(x, state.p, state.v);
      cr_expect_lt(energy, last, "%s, step %d", vin_method_name(methods[k]), step);
      last = energy;
    }
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

/* ---- orders ------------------------------------------------------------------------------------- */

static const vin_method both[] = {VIN_METHOD_EULER3, VIN_METHOD_GGL};

typedef struct study {
  const char *name;
  test_mechanism *(*problem)(void);
  const char *file;
  long steps;
} study;

/* Order 1 in p, v and lambda; Phi at rounding, h at rounding with ggl and O(h) without. */
Test(index3, orders) {
  static const study studies[] = {
      {"planar", test_planar_pendulum, "hamiltonian/planar_pendulum.csv", 400},
      {"triangle", test_triangle, "hamiltonian/tethered_triangle.csv", 200}};
  for (int s = 0; s < 2; s++) {
    test_mechanism *x = built(studies[s].problem());
    int n = (int)x->n, m = (int)x->m;
    double row[32];
    test_reference(studies[s].file, 1, 2 * n + m, row);
    for (int i = 0; i < m; i++) row[2 * n + i] *= 2; /* of the file's constraint |d|^2 - 1 */
    for (int k = 0; k < 2; k++) {
      double error[2][4];
      for (int run = 0; run < 2; run++) {
        vin_options options = test_method(both[k], VIN_PROJECTION_NONE);
        vin_state end = test_run(x, &options, 1, studies[s].steps << run);
        error[run][0] = test_max_difference(n, end.p, row);
        error[run][1] = test_max_difference(n, end.v, row + n);
        error[run][2] = test_max_difference(m, end.lambda, row + 2 * n);
        error[run][3] = test_hidden_max(x, end.t, end.p, end.v);
        cr_expect_leq(test_constraint_max(x, end.t, end.p), 1e-13);
        test_state_free(&end);
      }
      for (int q = 0; q < 4 - k; q++) {
        double order = log2(error[0][q] / error[1][q]);
        cr_expect_float_eq(order, 1, 0.1, "%s, %s, %c: %.3f (%g)", studies[s].name,
                           vin_method_name(both[k]), "pvlh"[q], order, error[1][q]);
      }
      if (k == 1) cr_expect_leq(error[1][3], 1e-12);
    }
    test_mechanism_free(x);
  }
}

/* The same where M, f and Phi vary, against the minimal formulation. */
Test(index3, orders_where_everything_varies) {
  test_bodies *b = test_reel();
  double p[4], v[4], lambda[2], q[4], w[4], mu[2], error[2][3];
  test_reel_at(2, 20000, q, w, mu);
  for (int k = 0; k < 2; k++) {
    vin_options options = test_method(both[k], VIN_PROJECTION_NONE);
    for (int run = 0; run < 2; run++) {
      cr_assert_eq(test_bodies_run(b, &options, 2, 800 << run, p, v, lambda), VIN_OK);
      error[run][0] = test_max_difference(2, p, q);
      error[run][1] = test_max_difference(2, v, w);
      error[run][2] = test_max_difference(1, lambda, mu);
    }
    for (int i = 0; i < 3; i++) {
      double order = log2(error[0][i] / error[1][i]);
      cr_expect_float_eq(order, 1, 0.15, "%s, %c: %.3f (%g)", vin_method_name(both[k]), "pvl"[i],
                         order, error[1][i]);
    }
  }
  test_bodies_free(b);
}

/* Order reduction: the multiplier of the first step from a consistent start is wrong by O(1). The
 * step forces v1 = (p1 - p0) / h, off the tangent by h/2 of the curvature, and takes an impulse
 * for that; from the second step on lambda is O(h). Observed orders of lambda: 0, then 1. */
Test(index3, multiplier_of_the_first_step) {
  test_mechanism *x = built(test_pendulum(0.5, 1));
  double error[3][2];
  for (int run = 0; run < 3; run++) {
    vin_options options = test_method(VIN_METHOD_EULER3, VIN_PROJECTION_NONE);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    double h = 1e-3 / (1 << run), vdot[2], lambda[1];
    for (int step = 0; step < 2; step++) {
      cr_assert_eq(test_advance(integrator, x, &state, h, 1), VIN_OK);
      double kept = state.lambda[0];
      cr_assert_eq(vin_project_acceleration(vin_integrator_projector(integrator), state.t, state.p,
                                            state.v, vdot, lambda),
                   VIN_OK);
      error[run][step] = fabs(kept - lambda[0]);
    }
    vin_integrator_destroy(integrator);
    test_state_free(&state);
  }
  for (int run = 1; run < 3; run++) {
    cr_expect_float_eq(log2(error[run - 1][0] / error[run][0]), 0, 0.05, "%g", error[run][0]);
    cr_expect_float_eq(log2(error[run - 1][1] / error[run][1]), 1, 0.1, "%g", error[run][1]);
  }
  cr_expect_geq(error[2][0], 0.4); /* half of v^2 = 1 */
  test_mechanism_free(x);
}

/* Twice the same rod: one row is dropped, the motion is that of one rod, and the multipliers add up to
 * its multiplier. */
Test(index3, redundant_rows) {
  for (vin_method method = VIN_METHOD_BACKWARD_EULER; method <= VIN_METHOD_GENERALIZED_ALPHA;
       method++) {
    test_mechanism *one = test_points(2, 1, 1), *two = test_two_rods(0);
    one->gravity[1] = two->gravity[1] = -9.81;
    one->p[0] = two->p[0] = 0;
    one->p[1] = two->p[1] = -1;
    one->v[0] = two->v[0] = 2;
    built(one), built(two);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state a = test_run(one, &options, 1, 100), b = test_run(two, &options, 1, 100);
    cr_expect_leq(test_max_difference(2, a.p, b.p), 1e-10, "%s", vin_method_name(method));
    cr_expect_float_eq(b.lambda[0] + b.lambda[1], a.lambda[0], 1e-8, "%s", vin_method_name(method));
    test_state_free(&a), test_state_free(&b);
    test_mechanism_free(one), test_mechanism_free(two);
  }
}

/* Without constraints the methods are the plain ones: a free fall is linear in v, to rounding. */
Test(index3, no_constraints) {
  for (vin_method method = VIN_METHOD_BACKWARD_EULER; method <= VIN_METHOD_GENERALIZED_ALPHA;
       method++) {
    test_mechanism *x = test_points(3, 2, 0);
    x->gravity[2] = -2;
    x->v[0] = 1;
    built(x);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state end = test_run(x, &options, 1, 10);
    cr_expect_float_eq(end.v[2], -2, 1e-13, "%s", vin_method_name(method));
    cr_expect_float_eq(end.v[0], 1, 1e-13, "%s", vin_method_name(method));
    cr_expect_float_eq(end.p[0] - x->p[0], 1, 1e-13, "%s", vin_method_name(method));
    test_state_free(&end);
    test_mechanism_free(x);
  }
}
