/* HBVM(k,s): Gauss collocation without constraints, orders, energy, momenta, symmetry, published
 * figures, damping and moving constraints, dependent rows, work. */
#include "line_integral_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(hbvm);

/* Three bodies round a centre. Without constraints HBVM(s,s) is s-stage Gauss collocation ([8]); the
 * independent one iterates to rounding, so 20 steps differ by 20 roundings, stretched by the orbits. */
Test(hbvm, is_gauss_collocation_without_constraints) {
  for (int s = 1; s <= 6; s++) {
    test_mechanism *x = test_points(3, 3, 0);
    x->mu = 1;
    for (int k = 0; k < 3; k++) {
      x->p[3 * k] = 1 + k, x->p[3 * k + 2] = 0.3 * k;
      x->v[3 * k + 1] = 1 / sqrt(1.0 + k), x->v[3 * k] = 0.1;
    }
    test_line_build(x, 0, NULL);
    vin_options options = test_line_options(s, s, 0);
    vin_state end = test_run(x, &options, 2, 20);
    test_gauss_collocation(x, s, 0.1, 20, x->p, x->v);
    cr_expect_leq(test_max_difference(x->n, end.p, x->p), 2e-14, "s = %d: %g", s,
                  test_max_difference(x->n, end.p, x->p));
    cr_expect_leq(test_max_difference(x->n, end.v, x->v), 2e-14);
    test_state_free(&end);
    test_mechanism_free(x);
  }
}

/* The multiplier of the paper's table 1 belongs to a step's start, and q^T q - 1 is its constraint. */
static void planar_pendulum_errors(int s, long steps, double *e) {
  test_mechanism *x = test_planar_pendulum();
  x->form = TEST_SQUARE;
  test_line_built(x);
  double row[5];
  for (int projected = 0; projected < 2; projected++) {
    vin_options options = test_line_options(s, s, 0);
    options.project_output = projected;
    vin_state end = test_run(x, &options, 10, steps);
    test_reference("hamiltonian/planar_pendulum.csv", 10, 5, row);
    double *out = e + 3 * projected;
    out[0] = test_max_difference(2, end.p, row);
    out[1] = test_max_difference(2, end.v, row + 2);
    out[2] = fabs(end.lambda[0] - row[4]);
    if (!projected) e[6] = test_hidden_max(x, end.t, end.p, end.v);
    test_state_free(&end);
  }
  test_mechanism_free(x);
}

/* Orders as stated: q 2 for s = 1, 4 beyond; raw v and the hidden constraint 2, the step's multiplier 1;
 * v and lambda of the projected output as q. */
Test(hbvm, orders_on_the_planar_pendulum) {
  static const double order[3][7] = {
      {2, 2, 1, 2, 2, 2, 2}, {4, 2, 1, 4, 4, 4, 2}, {4, 2, 1, 4, 4, 4, 2}};
  for (int s = 1; s <= 3; s++) {
    double coarse[7], fine[7];
    planar_pendulum_errors(s, 400, coarse);
    planar_pendulum_errors(s, 800, fine);
    for (int k = 0; k < 7; k++) {
      double seen = log2(coarse[k] / fine[k]);
      cr_expect_float_eq(seen, order[s - 1][k], 0.1, "s = %d, error %d: order %g (%g, %g)", s, k,
                         seen, coarse[k], fine[k]);
    }
  }
}

/* Down to rounding: constant multipliers leave order 2 s (the conical pendulum). */
Test(hbvm, order_2s_where_the_multiplier_is_constant) {
  static const int coarse[] = {20, 20, 15, 10};
  for (int s = 1; s <= 4; s++) {
    double e[2], period = pow(2, 0.75) * acos(-1.0);
    for (int k = 0; k < 2; k++) {
      test_mechanism *x = test_points(3, 1, 1);
      x->gravity[2] = -1;
      x->p[0] = sqrt(0.5), x->p[2] = -sqrt(0.5), x->v[1] = pow(2, -0.25);
      test_line_built(x);
      vin_options options = test_line_options(s, s, 0);
      vin_state end = test_run(x, &options, period, (long)coarse[s - 1] << k);
      e[k] = test_max_difference(3, end.p, x->p);
      /* the multiplier sees rounding / h^2 */
      cr_expect_float_eq(end.lambda[0], sqrt(0.5) * 2, 1e-12);
      cr_expect_leq(test_hidden_max(x, end.t, end.p, end.v), 1e-13);
      test_state_free(&end);
      test_mechanism_free(x);
    }
    cr_expect_float_eq(log2(e[0] / e[1]), 2 * s, 0.15, "s = %d: %g then %g", s, e[0], e[1]);
  }
}

/* [7], table 1: e_hc of s = 1, 2, 3 at h = 0.1, 0.05, 0.025, all five digits (half a unit and our
 * reading of "max over the grid"). */
Test(hbvm, hidden_constraint_of_table_1) {
  static const double printed[3][3] = {{2.3487e-3, 5.8639e-4, 1.4654e-4},
                                       {2.3539e-3, 5.8670e-4, 1.4656e-4},
                                       {2.3539e-3, 5.8670e-4, 1.4656e-4}};
  for (int s = 1; s <= 3; s++) {
    for (int n = 0; n < 3; n++) {
      test_mechanism *x = test_planar_pendulum();
      x->form = TEST_SQUARE;
      test_line_built(x);
      vin_options options = test_line_options(s, s, 0);
      vin_integrator *integrator = test_integrator(x, &options);
      vin_state state = test_state(x);
      double worst = 0;
      for (int k = 0; k < 100 << n; k++) {
        cr_assert_eq(test_advance(integrator, x, &state, 0.1 / (1 << n), 1), VIN_OK);
        worst = fmax(worst, test_hidden_max(x, state.t, state.p, state.v));
      }
      cr_expect_float_eq(worst / printed[s - 1][n], 1, 6e-5, "s = %d, n = %d: %g", s, n, worst);
      vin_integrator_destroy(integrator);
      test_state_free(&state);
      test_mechanism_free(x);
    }
  }
}

/* [7], figure 1: the conical pendulum's error grows linearly over 100 periods, to 1.14e-5 with HBVM(2,2)
 * and 100 steps a period. */
Test(hbvm, conical_pendulum_over_100_periods) {
  test_mechanism *x = test_points(3, 1, 1);
  x->gravity[2] = -1;
  x->p[0] = sqrt(0.5), x->p[2] = -sqrt(0.5), x->v[1] = pow(2, -0.25);
  test_line_built(x);
  vin_options options = test_line_options(2, 2, 0);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double first = 0, error = 0, h = pow(2, 0.75) * acos(-1.0) / 100;
  for (int period = 1; period <= 100; period++) {
    cr_assert_eq(test_advance(integrator, x, &state, h, 100), VIN_OK);
    error = fmax(test_max_difference(3, state.p, x->p), test_max_difference(3, state.v, x->v));
    if (period == 1) first = error;
    cr_expect_float_eq(error / (first * period), 1, 1e-4, "period %d: %g", period, error);
    /* figure 2: multiplier, hidden constraint, constraint at rounding; 1e4 steps of rounding / h^2 */
    cr_expect_float_eq(state.lambda[0], 2 * sqrt(0.5), 3e-11);
    cr_expect_leq(test_hidden_max(x, state.t, state.p, state.v), 3e-12);
    cr_expect_leq(test_constraint_max(x, state.t, state.p), 4e-16);
  }
  cr_expect_float_eq(error, 1.14e-5, 0.006e-5, "%g", error);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* [7], figure 3: HBVM(6,2), h = 0.1, 1e4 steps: the hidden constraint stays below 1.09e-5 in the
 * 1-norm; energy and constraints at rounding. */
Test(hbvm, tethered_satellites_of_figure_3) {
  test_mechanism *x = test_triangle();
  x->form = TEST_SQUARE;
  test_line_built(x);
  vin_options options = test_line_options(6, 2, 0);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double worst = 0, energy = 0;
  for (int k = 0; k < 10000; k++) {
    cr_assert_eq(test_advance(integrator, x, &state, 0.1, 1), VIN_OK);
    double sum = 0;
    for (int r = 0; r < 3; r++) {
      double d = 0;
      for (int i = 0; i < 3; i++) {
        int a = 3 * x->rod[r].a + i, b = 3 * x->rod[r].b + i;
        d += 2 * (state.p[a] - state.p[b]) * (state.v[a] - state.v[b]);
      }
      sum += fabs(d);
    }
    worst = fmax(worst, sum);
    energy = fmax(energy, fabs(test_energy(x, state.p, state.v)));
  }
  cr_expect_float_eq(worst, 1.09e-5, 0.006e-5, "%g", worst);
  cr_expect_leq(energy, 1e-14, "%g", energy);                     /* of terms of size 0.15 */
  cr_expect_leq(test_constraint_max(x, state.t, state.p), 2e-14); /* rounding of positions of 20 */
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* N steps, v negated, N steps: the method is symmetric, so rounding is left, stretched by the motion. */
Test(hbvm, is_reversible) {
  test_mechanism *all[] = {test_spherical_pendulum(), test_triangle(), test_chain(10, 1, 1)};
  static const double limit[] = {1e-13, 1e-11, 1e-11}; /* chain: e^(3 t) over 2 s */
  for (int k = 0; k < 3; k++) {
    test_mechanism *x = test_line_built(all[k]);
    vin_options options = test_line_options(0, 2, 0);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 1000), VIN_OK);
    cr_assert_gt(test_max_difference(x->n, state.p, x->p), 0.1);
    for (vin_int i = 0; i < x->n; i++) state.v[i] = -state.v[i];
    cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 1000), VIN_OK);
    cr_expect_leq(test_max_difference(x->n, state.p, x->p), limit[k], "problem %d: %g", k,
                  test_max_difference(x->n, state.p, x->p));
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

/* A dumbbell round a centre. With k = s the angular momentum, quadratic, is exact; a free dumbbell
 * keeps its linear momentum with any k. 1e4 compensated steps: a few roundings. */
Test(hbvm, keeps_momenta) {
  for (int free_flight = 0; free_flight < 2; free_flight++) {
    test_mechanism *x = test_points(2, 2, 1);
    x->rod[0] = (test_rod){.a = 0, .b = 1, .length = 1};
    x->mu = free_flight ? 0 : 20;
    x->mass[1] = 3;
    x->p[0] = 3, x->p[2] = 4;
    x->v[1] = 2, x->v[3] = 2.5;
    test_line_built(x);
    vin_options options = test_line_options(free_flight ? 5 : 2, 2, 0);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    double start = test_angular_momentum(x, x->p, x->v), angular = 0, linear = 0;
    for (int k = 0; k < 100; k++) {
      cr_assert_eq(test_advance(integrator, x, &state, 1e-2, 100), VIN_OK);
      angular = fmax(angular, fabs(test_angular_momentum(x, state.p, state.v) / start - 1));
      double px = state.v[0] + 3 * state.v[2], py = state.v[1] + 3 * state.v[3];
      linear = fmax(linear, fmax(fabs(px), fabs(py - 9.5)));
    }
    if (!free_flight) cr_expect_leq(angular, 1e-13, "%g", angular);
    if (free_flight) cr_expect_leq(linear, 1e-13, "%g", linear);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

/* Energy where the quadrature is exact, 1e4 steps; trends over 1e6 steps are in test_long_hbvm. */
Test(hbvm, energy_is_at_rounding) {
  test_mechanism *chain = test_line_built(test_chain(10, 1, 1));
  vin_options options = test_line_options(0, 2, 0); /* chooses k = 2 */
  test_line_run run = test_line_energy(chain, &options, 1e-3, 10000, 10);
  cr_expect_leq(run.energy, 1e-12 * 10 * 9.81 * 5, "%g", run.energy); /* of m g times the fall */
  cr_expect_leq(run.constraint, 1e-14, "%g", run.constraint);
  test_mechanism_free(chain);
  test_mechanism *modified = test_modified_pendulum(); /* degree 6: k = 3 s is exact */
  test_mechanism_build(modified, NULL);
  options = test_line_options(0, 2, 0);
  vin_integrator *integrator = test_integrator(modified, &options);
  vin_state state = test_state(modified);
  cr_assert_eq(test_advance(integrator, modified, &state, 0.05, 10000), VIN_OK);
  double energy = 0;
  for (int i = 0; i < 3; i++) energy += state.v[i] * state.v[i] / 2;
  energy += pow(state.p[2], 4);
  cr_expect_float_eq(energy, sqrt(0.5) / 2 + 0.25, 1e-14, "%.17g", energy);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(modified);
}

/* The chosen k: s where constraints and force allow it, 3 s (at least 6) elsewhere, more where the first
 * steps show that this is not enough. Counted by the force evaluations of a step. */
static double nodes_used(test_mechanism *x, int s, double h) {
  vin_options options = test_line_options(0, s, 0);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  cr_assert_eq(test_advance(integrator, x, &state, h, 20), VIN_OK);
  vin_stats before = vin_integrator_get_stats(integrator);
  cr_assert_eq(test_advance(integrator, x, &state, h, 10), VIN_OK);
  vin_stats after = vin_integrator_get_stats(integrator);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  return (double)(after.force_evaluations - before.force_evaluations) /
         (double)(after.sweeps - before.sweeps);
}

Test(hbvm, chooses_nodes) {
  test_mechanism *pendulum = test_line_built(test_planar_pendulum());
  cr_expect_eq(nodes_used(pendulum, 2, 0.05), 2);
  test_mechanism *satellites = test_line_built(test_triangle()); /* not affine */
  cr_expect_eq(nodes_used(satellites, 2, 0.1), 6);
  cr_expect_eq(nodes_used(satellites, 3, 0.1), 9);
  test_mechanism *undeclared = test_planar_pendulum();
  test_line_build(undeclared, 0, NULL); /* quadratic, but does not say so */
  cr_expect_eq(nodes_used(undeclared, 2, 0.05), 6);
  test_mechanism *eccentric = test_points(2, 1, 0); /* a close orbit, a long step */
  eccentric->mu = 1;
  eccentric->p[0] = 1, eccentric->v[1] = 0.9;
  test_line_build(eccentric, 0, NULL);
  cr_expect_gt(nodes_used(eccentric, 2, 0.4), 6);
  test_mechanism_free(pendulum), test_mechanism_free(satellites);
  test_mechanism_free(undeclared), test_mechanism_free(eccentric);
}

/* Order of q under damping and a moving anchor, against another method with a far smaller step, and the
 * energy balance by the potential. */
Test(hbvm, damping_and_moving_constraints) {
  for (int what = 1; what <= 3; what++) {
    test_mechanism *x = test_chain(3, 1, 1);
    if (what & 1) x->damping = 0.5;
    if (what & 2) x->amplitude = 0.2, x->frequency = 4;
    test_line_built(x);
    cr_assert_eq(vin_initial_solve(x->system, NULL, 0, x->p, x->v, NULL, NULL, NULL, NULL, 0),
                 VIN_OK);
    vin_options exact = test_line_options(8, 5, 5), options = test_line_options(6, 2, 0);
    vin_state reference = test_run(x, &exact, 1, 400);
    double e[2];
    for (int k = 0; k < 2; k++) {
      vin_state end = test_run(x, &options, 1, 100 << k);
      e[k] = test_max_difference(x->n, end.p, reference.p);
      cr_expect_leq(test_constraint_max(x, end.t, end.p), 1e-14);
      test_state_free(&end);
    }
    cr_expect_float_eq(log2(e[0] / e[1]), 4, 0.25, "case %d: %g then %g", what, e[0], e[1]);
    test_state_free(&reference);
    test_mechanism_free(x);
  }
}

/* The error of a step's energy balance is rounding of energies of size 100, although damping and the
 * moving anchor change the energy by 1e-3 and more. */
Test(hbvm, energy_balance) {
  test_mechanism *x = test_chain(3, 1, 1);
  x->damping = 0.5, x->amplitude = 0.2, x->frequency = 4;
  test_line_built(x);
  cr_assert_eq(vin_initial_solve(x->system, NULL, 0, x->p, x->v, NULL, NULL, NULL, NULL, 0),
               VIN_OK);
  vin_options options = test_line_options(8, 2, 0);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double error, largest = 0;
  cr_expect_eq(vin_integrator_energy_error(integrator, &error), VIN_ERR_BAD_STATE);
  for (int k = 0; k < 100; k++) {
    double before = test_energy(x, state.p, state.v);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-2, 1), VIN_OK);
    cr_assert_eq(vin_integrator_energy_error(integrator, &error), VIN_OK);
    cr_expect_leq(fabs(error), 1e-13, "step %d: %g", k, error);
    largest = fmax(largest, fabs(test_energy(x, state.p, state.v) - before));
  }
  cr_expect_gt(largest, 1e-3);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* Too few nodes: the energy error of a step is that of the quadrature, it fails by energy_tolerance,
 * nothing has changed, and a shorter one passes. */
Test(hbvm, energy_tolerance) {
  test_mechanism *x = test_points(2, 1, 0);
  x->mu = 1, x->p[0] = 1, x->v[1] = 0.9;
  test_line_build(x, 0, NULL);
  vin_options options = test_line_options(2, 2, 0);
  options.energy_tolerance = 1e-8;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x), to = test_state(x);
  cr_expect_eq(vin_integrator_step(integrator, &state, 0.4, &to), VIN_STEP_FAILED);
  cr_expect_not_null(strstr(vin_integrator_error(integrator), "energy"), "%s",
                     vin_integrator_error(integrator));
  cr_expect_eq(vin_integrator_step(integrator, &state, 0.01, &to), VIN_OK);
  double error;
  cr_expect_eq(vin_integrator_energy_error(integrator, &error), VIN_OK);
  double change = test_energy(x, to.p, to.v) - test_energy(x, x->p, x->v);
  cr_expect_float_eq(error, change, 1e-15);
  vin_integrator_destroy(integrator);
  test_state_free(&state), test_state_free(&to);
  test_mechanism_free(x);
}

/* Two equal rods: one row is dropped in every step, and the motion is that with one rod. */
Test(hbvm, dependent_rows) {
  test_mechanism *twice = test_points(2, 1, 2), *once = test_points(2, 1, 1);
  test_mechanism *all[] = {twice, once};
  vin_state end[2];
  for (int k = 0; k < 2; k++) {
    test_mechanism *x = all[k];
    x->gravity[1] = -9.81;
    x->p[0] = 0.6, x->p[1] = -0.8;
    test_line_built(x);
    vin_options options = test_line_options(0, 2, 0);
    end[k] = test_run(x, &options, 2, 200);
  }
  cr_expect_leq(test_max_difference(2, end[0].p, end[1].p), 1e-14);
  cr_expect_leq(test_max_difference(2, end[0].v, end[1].v), 1e-13);
  /* the force is what counts */
  cr_expect_float_eq(end[0].lambda[0] + end[0].lambda[1], end[1].lambda[0], 1e-11);
  for (int k = 0; k < 2; k++) test_state_free(&end[k]), test_mechanism_free(all[k]);
}

/* One analysis, a factorisation a step, s + 1 solves... linear work is in test_long_hbvm. Sweeps: about
 * 5 at h x turning rate = 3e-3. */
Test(hbvm, work_per_step) {
  test_mechanism *x = test_line_built(test_chain(50, 1, 1));
  vin_options options = test_line_options(0, 2, 0);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 500), VIN_OK);
  vin_stats stats = vin_integrator_get_stats(integrator);
  cr_expect_eq(stats.steps, 500);
  cr_expect_eq(stats.solver.symbolic, 1);
  cr_expect_eq(stats.solver.numeric, 500);
  cr_expect_eq(stats.solver.solves, stats.sweeps); /* r = 1 */
  cr_expect_leq(stats.sweeps, 500 * 7, "%d", (int)stats.sweeps);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}
