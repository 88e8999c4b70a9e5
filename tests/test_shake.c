/* SHAKE: rattle's positions, central-difference velocities, multipliers of order 2. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(shake);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static vin_options shake(void) {
  return test_method(VIN_METHOD_SHAKE, VIN_PROJECTION_NONE);
}

/* The position stages of both see the same total multiplier, so the positions agree but for the
 * rounding that the motion amplifies (e^3 over 1 s). */
Test(shake, has_rattles_positions) {
  test_mechanism *all[] = {test_planar_pendulum(), test_triangle(), test_chain(10, 1, 1)};
  for (int k = 0; k < 3; k++) {
    test_mechanism *x = built(all[k]);
    vin_options options = shake(), rattle = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
    options.position_tolerance = rattle.position_tolerance = 0; /* both to the rounding floor */
    vin_state a = test_run(x, &options, 1, 1000), b = test_run(x, &rattle, 1, 1000);
    cr_expect_leq(test_max_difference(x->n, a.p, b.p), 1e-11, "problem %d: %g", k,
                  test_max_difference(x->n, a.p, b.p));
    test_state_free(&a), test_state_free(&b);
    test_mechanism_free(x);
  }
}

/* v_n = (p_{n+1} - p_{n-1}) / 2h, the definition. Differences of positions of size 1 over 2e-3 lose
 * three digits. */
Test(shake, velocities_are_central_differences) {
  test_mechanism *x = built(test_chain(5, 1, 1));
  vin_options options = shake();
  const double h = 1e-3;
  vin_state at[3];
  for (int k = 0; k < 3; k++) at[k] = test_run(x, &options, (99 + k) * h, 99 + k);
  for (vin_int i = 0; i < x->n; i++) {
    cr_expect_float_eq(at[1].v[i], (at[2].p[i] - at[0].p[i]) / (2 * h), 1e-11);
  }
  for (int k = 0; k < 3; k++) test_state_free(&at[k]);
  test_mechanism_free(x);
}

/* Order 2 in p, v, lambda and in the hidden constraint; the references have 15 digits. */
static void check_orders(test_mechanism *x, const char *file, double scale, double t_end,
                         long steps) {
  vin_options options = shake();
  double row[64], error[2][4];
  int n = (int)x->n, m = (int)x->m;
  test_reference(file, t_end, 2 * n + m, row);
  for (int run = 0; run < 2; run++) {
    vin_state end = test_run(x, &options, t_end, steps << run);
    error[run][0] = test_max_difference(n, end.p, row);
    error[run][1] = test_max_difference(n, end.v, row + n);
    error[run][2] = 0;
    for (int c = 0; c < m; c++) {
      error[run][2] = fmax(error[run][2], fabs(end.lambda[c] - scale * row[2 * n + c]));
    }
    error[run][3] = test_hidden_max(x, end.t, end.p, end.v);
    cr_expect_leq(test_constraint_max(x, end.t, end.p), 1e-12);
    test_state_free(&end);
  }
  for (int k = 0; k < 4; k++) {
    double observed = log2(error[0][k] / error[1][k]);
    cr_expect(fabs(observed - 2) < 0.15, "%s, kind %d: %.3f (%g, %g)", file, k, observed,
              error[0][k], error[1][k]);
  }
  test_mechanism_free(x);
}

Test(shake, order_2) {
  check_orders(built(test_planar_pendulum()), "hamiltonian/planar_pendulum.csv", 2, 1, 100);
  check_orders(built(test_chain(10, 1, 1)), "hamiltonian/chain_N10_unitlinks.csv", 2, 1, 400);
}

Test(shake, order_2_under_damping_and_a_moving_constraint) {
  test_mechanism *x = test_chain(3, 1, 1);
  x->amplitude = 0.2, x->frequency = 4, x->damping = 0.5;
  test_mechanism_build(x, NULL);
  cr_assert_eq(vin_initial_solve(x->system, NULL, 0, x->p, x->v, NULL, NULL, NULL, NULL, 0),
               VIN_OK);
  vin_options exact = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH), options = shake();
  vin_state reference = test_run(x, &exact, 1, 4000);
  double error[2];
  for (int run = 0; run < 2; run++) {
    vin_state end = test_run(x, &options, 1, 500 << run);
    error[run] = fmax(test_max_difference(x->n, end.p, reference.p),
                      test_max_difference(x->n, end.v, reference.v));
    test_state_free(&end);
  }
  double observed = log2(error[0] / error[1]);
  cr_expect(fabs(observed - 2) < 0.1, "%g then %g", error[0], error[1]);
  test_state_free(&reference);
  test_mechanism_free(x);
}

/* The last half kick, turned round, is the first one of the way back. */
Test(shake, is_reversible) {
  test_mechanism *x = built(test_chain(10, 1, 1));
  vin_options options = shake();
  options.position_tolerance = 0;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 1000), VIN_OK);
  cr_assert_gt(test_max_difference(x->n, state.p, x->p), 0.1);
  for (vin_int i = 0; i < x->n; i++) state.v[i] = -state.v[i];
  cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 1000), VIN_OK);
  double left = test_max_difference(x->n, state.p, x->p);
  cr_expect_leq(left, 1e-10, "%g", left);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* Steps of other lengths in between start anew from the state: the order stays. */
Test(shake, step_length_may_change) {
  test_mechanism *x = built(test_planar_pendulum());
  vin_options options = shake();
  double row[5], error[2];
  test_reference("hamiltonian/planar_pendulum.csv", 1, 5, row);
  for (int run = 0; run < 2; run++) {
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    double h = 1e-2 / (1 << run);
    for (int k = 0; k < 50 << run; k++) {
      cr_assert_eq(test_advance(integrator, x, &state, k % 2 ? 1.5 * h : 0.5 * h, 2), VIN_OK);
    }
    error[run] = test_max_difference(2, state.p, row);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
  }
  double observed = log2(error[0] / error[1]);
  cr_expect(fabs(observed - 2) < 0.3, "%g then %g", error[0], error[1]);
  test_mechanism_free(x);
}

/* One analysis, one factorisation and one force evaluation a step, and one at the start. */
Test(shake, work_per_step) {
  test_mechanism *x = built(test_chain(50, 1, 1));
  vin_options options = shake();
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 1000), VIN_OK);
  vin_stats stats = vin_integrator_get_stats(integrator);
  cr_expect_eq(stats.solver.symbolic, 1);
  cr_expect_eq(stats.solver.numeric, 1001);
  cr_expect_eq(stats.force_evaluations, 1001);
  cr_expect_leq(stats.sweeps, 2 * 1000, "%lld", (long long)stats.sweeps);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* Without constraints it is the Stoermer-Verlet method: free fall is exact. */
Test(shake, without_constraints) {
  test_mechanism *x = test_points(2, 1, 0);
  x->gravity[1] = -9.81, x->v[0] = 3;
  test_mechanism_build(x, NULL);
  vin_options options = shake();
  vin_state end = test_run(x, &options, 1, 100);
  cr_expect_float_eq(end.p[0], 3, 1e-12);
  cr_expect_float_eq(end.p[1], -9.81 / 2, 1e-12);
  cr_expect_float_eq(end.v[1], -9.81, 1e-12);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* Too fast for the step: the state is as before, and a shorter step from it succeeds. */
Test(shake, a_step_that_does_not_converge_fails) {
  test_mechanism *x = built(test_pendulum(0, 1e6));
  vin_options options = shake();
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
  cr_assert_eq(vin_integrator_step(integrator, &from, 1e-3, &to), VIN_STEP_FAILED);
  cr_assert_not_null(strstr(vin_integrator_error(integrator), "smaller step"), "%s",
                     vin_integrator_error(integrator));
  cr_assert(test_state_same(x, &from, &kept));
  cr_assert_eq(vin_integrator_step(integrator, &from, 1e-9, &to), VIN_OK, "%s",
               vin_integrator_error(integrator));
  x->calls = 0, x->fail_call = 1; /* NaN force */
  cr_assert_eq(vin_integrator_step(integrator, &from, 1e-9, &to), VIN_RETRY);
  cr_assert(test_state_same(x, &from, &kept));
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&kept), test_state_free(&to);
  test_mechanism_free(x);
}
