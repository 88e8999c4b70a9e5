/* Backward Euler and BDF2 with a finite Newton budget: orders, outcomes, bounds, prefixes. */
#include "dae_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_stepper);

static vin_stepper *stepper_of(vin_dae *dae) {
  vin_stepper *stepper = NULL;
  vin_status status = vin_stepper_create(&stepper, NULL, dae, NULL);
  cr_assert_eq(status, VIN_OK, "%s", vin_stepper_error(stepper));
  return stepper;
}

/* Largest errors of x and z at t = 1. */
static void errors_at_one(vin_stepper *stepper, const test_pairs *p, vin_dae_method method,
                          vin_int steps, double error[2]) {
  size_t n = 2 * (size_t)p->pairs;
  double *y = calloc(2 * n, sizeof *y), *exact = y + n;
  vin_grid_run run = test_pairs_run(p, method, 1.0 / steps, steps);
  vin_grid_report report;
  vin_status status = vin_stepper_run(stepper, &run, y, &report);
  cr_assert_eq(status, VIN_OK, "%s", vin_stepper_error(stepper));
  cr_expect_eq(report.outcome, VIN_OUTCOME_COMPLETED);
  cr_expect_leq(report.derivative_max, run.derivative_tolerance);
  cr_expect_leq(report.algebraic_max, run.algebraic_tolerance);
  test_pairs_solution(p, 1, exact);
  error[0] = test_max_difference(p->pairs, y, exact);
  error[1] = test_max_difference(p->pairs, y + p->pairs, exact + p->pairs);
  free(y);
  free((void *)run.y0);
}

/* Orders 1 and 2 in x and in z, from the theorems on accepted residuals. At 40 and 80 steps the
 * next term of the error is some 5 % of the first: 0.1 covers it. */
Test(dae_stepper, orders_one_and_two) {
  NEEDS_UMFPACK;
  static const test_pairs problems[] = {{.pairs = 1}, {.pairs = 7, .coupling = 0.3}};
  for (int k = 0; k < 2; k++) {
    test_pairs p = problems[k];
    vin_dae *dae = test_pairs_dae(&p, true, NULL);
    vin_stepper *stepper = stepper_of(dae);
    for (int m = 0; m < 2; m++) {
      double coarse[2], fine[2];
      errors_at_one(stepper, &p, (vin_dae_method)m, 40, coarse);
      errors_at_one(stepper, &p, (vin_dae_method)m, 80, fine);
      for (int i = 0; i < 2; i++) {
        double order = test_order(coarse[i], fine[i]);
        cr_expect_float_eq(order, m + 1, 0.1, "problem %d method %d: %g -> %g, order %g", k, m,
                           coarse[i], fine[i], order);
      }
    }
    vin_stepper_destroy(stepper);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
}

/* 10^4 unknowns: the same orders, one analysis, and work in proportion: entries of the factors per
 * unknown are those of a hundredth of the size (within 10 %: the ends of the row). */
Test(dae_stepper, ten_thousand_unknowns) {
  NEEDS_UMFPACK;
  double filled[2];
  for (int k = 0; k < 2; k++) {
    test_pairs p = {.pairs = k ? 5000 : 50, .coupling = 0.3};
    vin_dae *dae = test_pairs_dae(&p, k == 0, NULL);
    vin_stepper *stepper = stepper_of(dae);
    for (int m = 0; m < 2; m++) {
      double coarse[2], fine[2];
      errors_at_one(stepper, &p, (vin_dae_method)m, 10, coarse);
      errors_at_one(stepper, &p, (vin_dae_method)m, 20, fine);
      for (int i = 0; i < 2; i++)
        cr_expect_float_eq(test_order(coarse[i], fine[i]), m + 1, 0.25, "%d %d %d: %g", k, m, i,
                           test_order(coarse[i], fine[i]));
    }
    vin_linsys_info info = vin_stepper_solver_info(stepper);
    cr_expect_eq(info.symbolic_count, 1);
    cr_expect_gt(info.numeric_count, 60); /* at least one a step, 60 steps */
    filled[k] = (double)info.nnz_factor / (2 * p.pairs);
    vin_stepper_destroy(stepper);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
  cr_expect_lt(filled[1], 1.1 * filled[0], "%g and %g", filled[0], filled[1]);
}

/* What is stored: column k holds the accepted state and R there, computed here once more. */
Test(dae_stepper, states_and_unscaled_residuals_are_kept) {
  NEEDS_UMFPACK;
  for (int m = 0; m < 2; m++) {
    test_pairs p = {.pairs = 2, .coupling = 0.2};
    vin_dae *dae = test_pairs_dae(&p, true, NULL);
    vin_stepper *stepper = stepper_of(dae);
    double states[4 * 13], residuals[4 * 13], h = 1.0 / 12, y[4];
    vin_grid_run run = test_pairs_run(&p, (vin_dae_method)m, h, 12);
    run.derivative_tolerance = 1e-4, run.algebraic_tolerance = 1e-5; /* so that R is not tiny */
    run.states = states, run.residuals = residuals;
    vin_grid_report report;
    cr_assert_eq(vin_stepper_run(stepper, &run, y, &report), VIN_OK);
    cr_expect_eq(report.accepted, 12);
    cr_expect_eq(report.attempted, m ? 11 : 12);
    cr_expect_float_eq(report.t, 1, 1e-15);
    cr_expect_eq(memcmp(y, states + 48, sizeof y), 0);
    double largest[2] = {0, 0};
    for (int k = m + 1; k <= 12; k++) {
      const double *now = states + 4 * k, *r = residuals + 4 * k;
      double f[4], expected[4];
      cr_assert_eq(vin_dae_function(dae, k * h, now, f, NULL, 0), VIN_OK);
      for (int i = 0; i < 2; i++) {
        double rate =
            m ? (1.5 * now[i] - 2 * now[i - 4] + 0.5 * now[i - 8]) / h : (now[i] - now[i - 4]) / h;
        expected[i] = rate - f[i];
        expected[2 + i] = f[2 + i];
      }
      /* rounding of X/h: 12 * 2e-16 with a few terms */
      cr_expect_lt(test_max_difference(4, r, expected), 1e-13);
      cr_expect_leq(hypot(r[0], r[1]), 1e-4);
      cr_expect_leq(hypot(r[2], r[3]), 1e-5);
      largest[0] = fmax(largest[0], hypot(r[0], r[1]));
      largest[1] = fmax(largest[1], hypot(r[2], r[3]));
    }
    cr_expect_float_eq(report.derivative_max, largest[0], 1e-18);
    cr_expect_float_eq(report.algebraic_max, largest[1], 1e-18);
    cr_expect_gt(largest[0] + largest[1], 1e-14);
    free((void *)run.y0);
    vin_stepper_destroy(stepper);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
}

/* The bounds of the source for every budget from 0 on, whatever the outcome; and the counts are
 * what the callbacks saw. */
Test(dae_stepper, budgets_bound_the_queries) {
  NEEDS_UMFPACK;
  for (int m = 0; m < 2; m++) {
    int completed = 0, exhausted = 0;
    for (int budget = 0; budget <= 6; budget++) {
      test_pairs p = {.pairs = 3, .coupling = 0.2};
      vin_dae *dae = test_pairs_dae(&p, true, NULL);
      vin_stepper *stepper = stepper_of(dae);
      vin_grid_run run = test_pairs_run(&p, (vin_dae_method)m, 0.1, 10);
      run.budget = budget;
      vin_grid_report r;
      vin_status status = vin_stepper_run(stepper, &run, NULL, &r);
      completed += r.outcome == VIN_OUTCOME_COMPLETED;
      exhausted += r.outcome == VIN_OUTCOME_BUDGET_EXHAUSTED;
      cr_expect_eq(status, r.outcome == VIN_OUTCOME_COMPLETED ? VIN_OK : VIN_NOT_CONVERGED);
      int64_t steps = r.attempted;
      cr_expect_leq(r.counts.residual_queries, 1 + m + steps * (budget + 2));
      cr_expect_leq(r.counts.correction_solves, steps * budget);
      cr_expect_eq(r.counts.correction_solves, r.counts.jacobian_assemblies);
      cr_expect_eq(r.counts.residual_queries, p.function_calls);
      cr_expect_eq(r.counts.jacobian_assemblies + 1, p.jacobian_calls); /* and the index check */
      cr_expect_eq(r.counts.difference_evaluations, 0);
      if (budget == 0) cr_expect(r.attempted == 1 && r.accepted == m);
      free((void *)run.y0);
      vin_stepper_destroy(stepper);
      vin_dae_destroy(dae);
      test_pairs_free(&p);
    }
    cr_expect(completed > 0 && exhausted > 0, "%d %d", completed, exhausted);
  }
}

/* With a loose tolerance the seed itself is a root: budget 0 completes, 2 queries a step. */
Test(dae_stepper, budget_zero_can_complete) {
  NEEDS_UMFPACK;
  test_pairs p = {.pairs = 1};
  vin_dae *dae = test_pairs_dae(&p, true, NULL);
  vin_stepper *stepper = stepper_of(dae);
  vin_grid_run run = test_pairs_run(&p, VIN_DAE_BACKWARD_EULER, 0.1, 5);
  run.budget = 0, run.derivative_tolerance = run.algebraic_tolerance = 10;
  vin_grid_report r;
  cr_expect_eq(vin_stepper_run(stepper, &run, NULL, &r), VIN_OK);
  cr_expect_eq(r.outcome, VIN_OUTCOME_COMPLETED);
  cr_expect_eq(r.counts.residual_queries, 1 + 5 * 2);
  cr_expect_eq(r.counts.jacobian_assemblies, 0);
  free((void *)run.y0);
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
  test_pairs_free(&p);
}

/* A linear problem, x' = z - 3 x, 0 = 2 z + x - 1, that remembers where it was evaluated last. The
 * exact Newton matrix needs one correction a step; the seed is seen where the budget ends it at once. */
static int linear(void *user, double t, const double *y, double *f) {
  (void)t;
  f[0] = y[1] - 3 * y[0];
  f[1] = 2 * y[1] + y[0] - 1;
  memcpy(user, y, 2 * sizeof *y);
  return 0;
}
static int linear_jacobian(void *user, double t, const double *y, double *values) {
  (void)user, (void)t, (void)y;
  values[0] = -3, values[1] = 1, values[2] = 1, values[3] = 2;
  return 0;
}

Test(dae_stepper, seeds_and_the_newton_matrix_are_those_of_the_source) {
  NEEDS_UMFPACK;
  static const vin_int row[4] = {0, 0, 1, 1}, col[4] = {0, 1, 0, 1};
  static const double y0[2] = {0.25, 0.375}, y1[2] = {0.1875, 0.40625}; /* 2 z + x = 1 */
  double last[2];
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2, desc.differential = 1, desc.user = last;
  desc.function = linear, desc.jacobian = linear_jacobian;
  desc.jacobian_pattern = (vin_triplets){4, row, col};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  vin_stepper *stepper = stepper_of(dae);
  for (int m = 0; m < 2; m++) {
    vin_grid_run run = vin_grid_run_default();
    vin_grid_report report;
    run.method = (vin_dae_method)m, run.h = 0.125, run.steps = 5, run.y0 = y0, run.y1 = y1;
    run.derivative_tolerance = run.algebraic_tolerance = 1e-13;
    run.budget = 0;
    cr_expect_eq(vin_stepper_run(stepper, &run, NULL, &report), VIN_NOT_CONVERGED);
    cr_expect_eq(last[0], m ? 0.125 : 0.25);
    cr_expect_eq(last[1], m ? 0.40625 : 0.375);
    run.budget = 1;
    cr_expect_eq(vin_stepper_run(stepper, &run, NULL, &report), VIN_OK, "%s",
                 vin_stepper_error(stepper));
    cr_expect_eq(report.counts.correction_solves, 5 - m);
  }
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
}

static int decay(void *user, double t, const double *y, double *f) {
  (void)user, (void)t;
  f[0] = -y[0];
  return 0;
}

/* An ordinary equation, without algebraic unknowns: X_n = X_0 / (1 + h)^n. */
Test(dae_stepper, ordinary_equations_are_accepted) {
  NEEDS_UMFPACK;
  static const vin_int zero[1] = {0};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = desc.differential = 1, desc.function = decay;
  desc.jacobian_pattern = (vin_triplets){1, zero, zero};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  vin_stepper *stepper = stepper_of(dae);
  vin_grid_run run = vin_grid_run_default();
  double y0 = 1, y;
  run.h = 0.25, run.steps = 4, run.y0 = &y0;
  run.derivative_tolerance = run.algebraic_tolerance = 1e-13;
  cr_assert_eq(vin_stepper_run(stepper, &run, &y, NULL), VIN_OK, "%s", vin_stepper_error(stepper));
  cr_expect_float_eq(y, pow(1.25, -4), 1e-13);
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
}

/* An autonomous problem: the same bits wherever time begins, with differences too. */
Test(dae_stepper, a_shift_of_time_changes_nothing) {
  NEEDS_UMFPACK;
  for (int m = 0; m < 4; m++) {
    double states[3][6 * 11];
    static const double begins[3] = {0, 1234.5678, -1e9};
    for (int k = 0; k < 3; k++) {
      test_pairs p = {.pairs = 3};
      vin_dae *dae = test_pairs_dae(&p, m < 2, NULL);
      vin_stepper *stepper = stepper_of(dae);
      vin_grid_run run = test_pairs_run(&p, (vin_dae_method)(m % 2), 0.1, 10);
      run.t0 = begins[k], run.states = states[k];
      cr_assert_eq(vin_stepper_run(stepper, &run, NULL, NULL), VIN_OK);
      free((void *)run.y0);
      vin_stepper_destroy(stepper);
      vin_dae_destroy(dae);
      test_pairs_free(&p);
    }
    cr_expect_eq(memcmp(states[0], states[1], sizeof states[0]), 0);
    cr_expect_eq(memcmp(states[0], states[2], sizeof states[0]), 0);
  }
}

/* Van der Pol (mu = 2) with a start off the constraint by V_0: V = V_0 e^(-t/tau). Backward Euler
 * follows with order 1, BDF2 with order 2. */
Test(dae_stepper, van_der_pol_constraint_decays) {
  NEEDS_UMFPACK;
  double data[2] = {2, 0.5}, y0[4] = {1, 1, 2.5, 0}, y1[4], end[4], fine_start[4];
  vin_dae *dae = test_van_der_pol(data);
  vin_stepper *stepper = stepper_of(dae);
  y0[3] = (y0[0] * y0[1] + (y0[0] * y0[0] - y0[2] * y0[2] + 5) / (2 * data[1])) / y0[2];
  double exact = (1 - 6.25 + 5) * exp(-1 / data[1]);
  for (int m = 0; m < 2; m++) {
    double error[2];
    for (int k = 0; k < 2; k++) {
      vin_grid_run run = vin_grid_run_default();
      vin_grid_report report;
      run.derivative_tolerance = 1e-9; /* rounding of X / h is 2.5 * 2e-16 / 1e-5 */
      run.algebraic_tolerance = 1e-11;
      run.start_tolerance[0] = run.start_tolerance[1] = 1e-10;
      /* the second start: 256 steps of backward Euler, so that its error is O(h^2) / 256 */
      run.steps = 256, run.h = 1.0 / (200 << k) / 256, run.y0 = y0;
      cr_assert_eq(vin_stepper_run(stepper, &run, y1, &report), VIN_OK);
      memcpy(fine_start, y1, sizeof y1);
      run.method = (vin_dae_method)m, run.steps = 200 << k, run.h = 1.0 / (200 << k);
      run.y1 = fine_start;
      cr_assert_eq(vin_stepper_run(stepper, &run, end, &report), VIN_OK);
      error[k] = fabs(end[0] * end[0] - end[2] * end[2] + 5 - exact);
    }
    cr_expect_float_eq(test_order(error[0], error[1]), m + 1, 0.15, "%g %g", error[0], error[1]);
  }
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
}
