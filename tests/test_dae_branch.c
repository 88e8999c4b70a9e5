/* The algebraic side: finite-budget Newton, consistent initial data, the branch and its derivatives,
 * what a residual says about an error. */
#include "dae_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_branch);

#define NEEDS_UMFPACK                                                                              \
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return

static vin_branch *branch_of(vin_dae *dae) {
  vin_branch *branch = NULL;
  vin_status status = vin_branch_create(&branch, NULL, dae, NULL);
  cr_assert_eq(status, VIN_OK, "%s", vin_branch_error(branch));
  return branch;
}

/* ---- finite-budget Newton on square systems (no differential unknowns) -------------------------- */

enum square_kind {
  SQUARE,   /* z^2 - 2: quadratic convergence to the root of 2 */
  POLE,     /* 1/z - 2 with z > 0 as domain: Newton from z > 1 lands below 0 */
  FLAT,     /* z^2 + 1: singular at 0 */
  LINEAR,   /* z - t: exact after one correction */
  NOWHERE,  /* exists only at z = 1 */
  EXPLODING /* 1e300 with a slope of 1e-8: the second iterate overflows */
};

static int square(void *user, double t, const double *y, double *f) {
  double z = y[0];
  switch (*(enum square_kind *)user) {
  case SQUARE:
    f[0] = z * z - 2;
    return 0;
  case POLE:
    f[0] = 1 / z - 2;
    return 0;
  case FLAT:
    f[0] = z * z + 1;
    return 0;
  case LINEAR:
    f[0] = z - t;
    return 0;
  case NOWHERE:
    f[0] = 1;
    return z != 1;
  case EXPLODING:
    f[0] = 1e300;
    return 0;
  }
  return -1;
}

static int square_jacobian(void *user, double t, const double *y, double *values) {
  double z = y[0];
  (void)t;
  static const double constant[] = {0, 0, 0, 1, 1, 1e-8};
  enum square_kind kind = *(enum square_kind *)user;
  values[0] = kind == POLE ? -1 / (z * z) : kind <= FLAT ? 2 * z : constant[kind];
  return 0;
}

static int positive(void *user, double t, const double *y) {
  (void)user, (void)t;
  return y[0] > 0;
}

typedef struct solved {
  double z;
  vin_status status;
  vin_newton_report report;
  char text[256];
} solved;

static solved solve(enum square_kind kind, bool domain, double seed, double tolerance, int budget) {
  static const vin_int zero[1] = {0};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 1, desc.function = square, desc.jacobian = square_jacobian, desc.user = &kind;
  if (domain) desc.in_domain = positive;
  desc.jacobian_pattern = (vin_triplets){1, zero, zero};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  vin_branch *branch = branch_of(dae);
  vin_dae_destroy(dae); /* the branch keeps it */
  solved s = {.z = seed};
  s.status = vin_branch_newton(branch, 0.75, &s.z, tolerance, budget, &s.report);
  snprintf(s.text, sizeof s.text, "%s", vin_branch_error(branch));
  vin_branch_destroy(branch);
  return s;
}

/* Newton from 1.5: errors 8.6e-2, 2.5e-3, 2.1e-6, 1.6e-12: |g| <= 1e-10 after three corrections. */
Test(dae_branch, newton_reaches_a_root) {
  NEEDS_UMFPACK;
  solved s = solve(SQUARE, false, 1.5, 1e-10, 10);
  cr_expect(s.status == VIN_OK && s.report.outcome == VIN_OUTCOME_ROOT, "%s", s.text);
  cr_expect_float_eq(s.z, sqrt(2.0), 1e-11);
  cr_expect_eq(s.report.corrections, 3);
  cr_expect_eq(s.report.counts.residual_queries, 4);
  cr_expect_eq(s.report.counts.jacobian_assemblies, 3);
  cr_expect_eq(s.report.counts.correction_solves, 3);
  cr_expect_float_eq(s.report.residual_start, 0.25, 1e-15);
  cr_expect_leq(s.report.residual, 1e-10);
  /* the root is there already: one query, no Jacobian, whatever the budget */
  s = solve(SQUARE, false, 1.5, 0.25, 0);
  cr_expect(s.report.outcome == VIN_OUTCOME_ROOT && s.z == 1.5);
  cr_expect(s.report.counts.residual_queries == 1 && s.report.counts.jacobian_assemblies == 0);
}

Test(dae_branch, newton_stops_with_its_budget) {
  NEEDS_UMFPACK;
  double iterate = 1.5;
  for (int budget = 0; budget < 3; budget++) {
    solved s = solve(SQUARE, false, 1.5, 1e-10, budget);
    cr_expect_eq(s.status, VIN_NOT_CONVERGED);
    cr_expect_eq(s.report.outcome, VIN_OUTCOME_BUDGET_EXHAUSTED);
    cr_expect_eq(s.report.counts.residual_queries, budget + 1);
    cr_expect_eq(s.report.counts.correction_solves, budget);
    cr_expect_float_eq(s.z, iterate, 1e-15); /* the last valid iterate, computed here */
    cr_expect_float_eq(s.report.residual, iterate * iterate - 2, 1e-14);
    iterate -= (iterate * iterate - 2) / (2 * iterate);
  }
}

Test(dae_branch, newton_keeps_the_last_valid_iterate) {
  NEEDS_UMFPACK;
  solved s = solve(POLE, true, 1.5, 1e-12, 10); /* 2 z - 2 z^2 = -1.5 */
  cr_expect(s.status == VIN_STEP_FAILED && s.report.outcome == VIN_OUTCOME_INVALID_TRIAL);
  cr_expect(s.z == 1.5 && s.report.counts.residual_queries == 1 && s.report.corrections == 0);
  cr_expect(strstr(s.text, "leaves the domain") != NULL, "%s", s.text);
  s = solve(POLE, true, 0.9, 1e-12, 20); /* stays inside */
  cr_expect(s.report.outcome == VIN_OUTCOME_ROOT, "%s", s.text);
  cr_expect_float_eq(s.z, 0.5, 1e-12);
  s = solve(FLAT, false, 0, 1e-12, 10);
  cr_expect(s.status == VIN_SINGULAR && s.report.outcome == VIN_OUTCOME_SINGULAR_JACOBIAN);
  cr_expect(s.z == 0 && s.report.counts.correction_solves == 0);
  cr_expect(s.report.counts.jacobian_assemblies == 1 && strstr(s.text, "g_z at t = 0.75"), "%s",
            s.text);
  s = solve(NOWHERE, false, 1, 1e-12, 10); /* its only iterate */
  cr_expect(s.report.outcome == VIN_OUTCOME_INVALID_TRIAL && s.z == 1);
  cr_expect_eq(s.report.counts.residual_queries, 2);
  s = solve(EXPLODING, false, 0, 1e-12, 10); /* -1e308, then -2e308 */
  cr_expect(s.report.outcome == VIN_OUTCOME_INVALID_TRIAL && s.report.corrections == 1, "%s: %s",
            vin_outcome_name(s.report.outcome), s.text);
  cr_expect(isfinite(s.z) && strstr(s.text, "overflows"), "%g: %s", s.z, s.text);
}

Test(dae_branch, newton_refuses_bad_input) {
  NEEDS_UMFPACK;
  static const struct {
    enum square_kind kind;
    double seed, tolerance;
    int budget;
    const char *words;
  } cases[] = {{POLE, -1, 1e-9, 5, "outside"},        {SQUARE, NAN, 1e-9, 5, "unknown 0 is nan"},
               {SQUARE, 1, -1, 5, "tolerance is -1"}, {SQUARE, 1, NAN, 5, "tolerance is nan"},
               {SQUARE, 1, 1e-9, -1, "budget -1"},    {NOWHERE, 2, 1e-9, 5, "smaller step (1)"}};
  for (int k = 0; k < 6; k++) {
    solved s = solve(cases[k].kind, true, cases[k].seed, cases[k].tolerance, cases[k].budget);
    cr_expect_eq(s.status, VIN_ERR_BAD_INPUT, "%d: %s", k, s.text);
    cr_expect_eq(s.report.outcome, VIN_OUTCOME_INVALID_INPUT);
    cr_expect(strstr(s.text, cases[k].words) != NULL, "%d: %s", k, s.text);
    cr_expect_eq(s.report.corrections, 0);
  }
  double y = 0;
  cr_expect_eq(vin_branch_newton(NULL, 0, &y, 1, 1, NULL), VIN_ERR_BAD_INPUT);
}

/* 10^4 coupled equations, all random seeds within the basin; x is not touched. One analysis. */
Test(dae_branch, newton_on_a_large_sparse_system) {
  NEEDS_UMFPACK;
  test_pairs p = {.pairs = 10000, .coupling = 0.2};
  vin_dae *dae = test_pairs_dae(&p, false, NULL);
  vin_branch *branch = branch_of(dae);
  double *y = calloc(20000, sizeof *y), *exact = calloc(20000, sizeof *exact);
  test_pairs_solution(&p, 0, y), test_pairs_solution(&p, 0, exact);
  test_random random = {5};
  for (int i = 10000; i < 20000; i++) y[i] += test_random_between(&random, -0.1, 0.1);
  vin_newton_report report;
  cr_assert_eq(vin_branch_newton(branch, 0, y, 1e-12, 12, &report), VIN_OK, "%s",
               vin_branch_error(branch));
  cr_expect_eq(memcmp(y, exact, 10000 * sizeof *y), 0);
  cr_expect_lt(test_max_difference(10000, y + 10000, exact + 10000), 1e-12);
  cr_expect_eq(vin_branch_solver_info(branch).symbolic_count, 1);
  /* differences: two evaluations a colour and Jacobian, apart from the residual queries */
  cr_expect_eq(report.counts.difference_evaluations,
               2 * vin_dae_colours(dae) * report.counts.jacobian_assemblies);
  cr_expect_eq(report.counts.residual_queries + report.counts.difference_evaluations,
               p.function_calls);
  free(y), free(exact);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
  test_pairs_free(&p);
}

/* ---- consistent initial data -------------------------------------------------------------------- */

Test(dae_branch, exact_and_approximate_consistency) {
  NEEDS_UMFPACK;
  for (int kind = 0; kind < 2; kind++) {
    static const vin_int zero[1] = {0};
    enum square_kind which = kind ? SQUARE : LINEAR;
    vin_dae_desc desc = vin_dae_desc_default();
    desc.unknowns = 1, desc.function = square, desc.jacobian = square_jacobian, desc.user = &which;
    desc.jacobian_pattern = (vin_triplets){1, zero, zero};
    vin_dae *dae = NULL;
    cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
    vin_branch *branch = branch_of(dae);
    double z = 1.5;
    vin_newton_report r;
    cr_expect_eq(vin_branch_initialise(branch, 0.75, &z, 1e-8, 5, &r), VIN_OK);
    if (kind == 0) { /* 1.5 - 0.75 is exact */
      cr_expect(r.outcome == VIN_OUTCOME_EXACT && z == 0.75 && r.residual == 0);
      cr_expect_eq(r.counts.residual_queries, 3);
    } else {
      cr_expect(r.outcome == VIN_OUTCOME_APPROXIMATE && r.residual > 0 && r.residual <= 1e-8);
      cr_expect_eq(r.residual, fabs(z * z - 2));
      cr_expect_eq(r.counts.residual_queries, r.corrections + 2);
    }
    vin_branch_destroy(branch);
    vin_dae_destroy(dae);
  }
}

/* Every outcome of the procedure, and at most budget + 2 queries in each case, which are those that
 * the callback saw. */
Test(dae_branch, initialisation_outcomes_and_bounds) {
  NEEDS_UMFPACK;
  static const struct {
    test_pairs p;
    double shift; /* of z in the seed */
    int budget;
    vin_outcome outcome;
    vin_status status;
  } cases[] = {
      {{.pairs = 3}, 0.3, 8, VIN_OUTCOME_APPROXIMATE, VIN_OK},
      {{.pairs = 3}, 0.3, 2, VIN_OUTCOME_BUDGET_EXHAUSTED, VIN_NOT_CONVERGED},
      {{.pairs = 3}, 0.3, 0, VIN_OUTCOME_BUDGET_EXHAUSTED, VIN_NOT_CONVERGED},
      {{.pairs = 3, .singular = true}, 0, 5, VIN_OUTCOME_SINGULAR_JACOBIAN, VIN_SINGULAR},
      {{.pairs = 3, .wall = 2}, 0, 5, VIN_OUTCOME_INVALID_INPUT, VIN_ERR_BAD_INPUT},
      {{.pairs = 3, .function_fails = 1, .code = 99},
       0,
       5,
       VIN_OUTCOME_INVALID_INPUT,
       VIN_ERR_BAD_INPUT},
      {{.pairs = 3, .function_fails = 2, .code = 99},
       0.3,
       5,
       VIN_OUTCOME_INVALID_TRIAL,
       VIN_STEP_FAILED},
      {{.pairs = 3, .function_fails = 2, .code = -2}, 0.3, 5, VIN_OUTCOME_FAILED, VIN_ERR_CALLBACK},
      {{.pairs = 3, .jacobian_fails = 1, .code = 4}, 0.3, 5, VIN_OUTCOME_FAILED, VIN_RETRY},
      {{.pairs = 3, .jacobian_fails = 1, .code = -4}, 0.3, 5, VIN_OUTCOME_FAILED, VIN_ERR_CALLBACK},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    test_pairs p = cases[k].p;
    vin_dae *dae = test_pairs_dae(&p, true, NULL);
    vin_branch *branch = branch_of(dae);
    double y[6];
    test_pairs_solution(&p, 0, y);
    for (int i = 3; i < 6; i++) y[i] += cases[k].shift;
    vin_newton_report r;
    vin_status status = vin_branch_initialise(branch, 0, y, 1e-13, cases[k].budget, &r);
    cr_expect_eq(status, cases[k].status, "%d: %s", (int)k, vin_branch_error(branch));
    cr_expect_eq(r.outcome, cases[k].outcome, "%d: %s", (int)k, vin_outcome_name(r.outcome));
    cr_expect_leq(r.counts.residual_queries, cases[k].budget + 2);
    cr_expect_eq(r.counts.residual_queries, p.function_calls, "%d", (int)k);
    cr_expect_eq(r.counts.jacobian_assemblies, p.jacobian_calls);
    vin_branch_destroy(branch);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
}

/* ---- the branch --------------------------------------------------------------------------------- */

/* psi_x and psi_t against differences of psi itself, which is solved for at displaced (t, x): central,
 * 1e-5, so that truncation is 1e-10 and the residual's 1e-14 adds 1e-9. */
Test(dae_branch, derivatives_of_the_branch) {
  NEEDS_UMFPACK;
  for (int jacobian = 0; jacobian < 2; jacobian++) {
    test_pairs p = {.pairs = 4, .coupling = 0.3};
    vin_dae *dae = test_pairs_dae(&p, jacobian, NULL);
    vin_branch *branch = branch_of(dae);
    double y[8], psi_x[16], psi_t[4], v[8], w[8], side[2][8], step = 1e-5;
    test_random random = {3};
    for (int i = 0; i < 8; i++) y[i] = test_random_between(&random, 0.5, 1);
    cr_expect_eq(vin_branch_psi_t(branch, 0.1, psi_t), VIN_ERR_BAD_STATE);
    cr_assert_eq(vin_branch_newton(branch, 0.2, y, 1e-14, 20, NULL), VIN_OK, "%s",
                 vin_branch_error(branch));
    cr_assert_eq(vin_branch_linearise(branch, 0.2, y), VIN_OK);
    cr_assert_eq(vin_branch_psi_x_matrix(branch, psi_x), VIN_OK);
    cr_assert_eq(vin_branch_psi_t(branch, 0.1, psi_t), VIN_OK);
    test_random_fill(&random, 8, v);
    cr_assert_eq(vin_branch_psi_x(branch, 2, v, w), VIN_OK); /* two columns at once */
    double product[8];
    test_dense_multiply(4, 4, psi_x, v, product);
    test_dense_multiply(4, 4, psi_x, v + 4, product + 4);
    cr_expect_lt(test_max_difference(8, w, product), 1e-13);
    for (int j = 0; j < 4; j++) {
      for (int k = 0; k < 2; k++) {
        memcpy(side[k], y, sizeof y);
        side[k][j] += k ? step : -step;
        cr_assert_eq(vin_branch_newton(branch, 0.2, side[k], 1e-14, 20, NULL), VIN_OK);
      }
      for (int i = 0; i < 4; i++) {
        double difference = (side[1][4 + i] - side[0][4 + i]) / (2 * step);
        cr_expect_float_eq(psi_x[i + 4 * j], difference, 1e-8, "%d %d", i, j);
      }
    }
    cr_expect_lt(test_max_abs(4, psi_t), 1e-12); /* g does not depend on t */
    vin_branch_destroy(branch);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
}

/* 0 = z - x sin t: psi_t = x cos t, by the difference of g in t. */
static int swing(void *user, double t, const double *y, double *f) {
  (void)user;
  f[0] = y[1], f[1] = y[1] - y[0] * sin(t);
  return 0;
}

Test(dae_branch, time_derivative_of_the_branch_and_the_field) {
  NEEDS_UMFPACK;
  static const vin_int row[3] = {0, 1, 1}, col[3] = {1, 0, 1};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2, desc.differential = 1, desc.function = swing;
  desc.jacobian_pattern = (vin_triplets){3, row, col};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  vin_branch *branch = branch_of(dae);
  double y[2] = {2, 0}, field, psi_t;
  vin_newton_report report;
  cr_assert_eq(vin_branch_field(branch, 0.5, y, 1e-14, 5, &field, &report), VIN_OK);
  cr_expect_float_eq(field, 2 * sin(0.5), 1e-14);
  cr_expect_float_eq(y[1], field, 0);
  cr_assert_eq(vin_branch_linearise(branch, 0.5, y), VIN_OK);
  cr_assert_eq(vin_branch_psi_t(branch, 0.1, &psi_t), VIN_OK);
  cr_expect_float_eq(psi_t, 2 * cos(0.5), 1e-9);
  cr_expect_eq(vin_branch_psi_t(branch, 0, &psi_t), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_branch_psi_x(branch, 1, NULL, &psi_t), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_branch_psi_x(branch, -1, y, &psi_t), VIN_ERR_BAD_INPUT);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
}

/* The field for a code of its own: Van der Pol by the classical Runge-Kutta method on x' = F(t, x).
 * The constraint error decays as V_0 e^(-t/tau); error 1e-3^4 times a constant of about 100. */
Test(dae_branch, van_der_pol_through_the_reduced_field) {
  NEEDS_UMFPACK;
  double data[2] = {1, 0.25}, y[4] = {1, 1, 2.5, 0}, k[4][3], stage[4];
  static const double at[4] = {0, 0.5, 0.5, 1};
  vin_dae *dae = test_van_der_pol(data);
  vin_branch *branch = branch_of(dae);
  double first = y[0] * y[0] - y[2] * y[2] + 5, h = 1e-3;
  for (int step = 0; step < 1000; step++) {
    for (int s = 0; s < 4; s++) {
      memcpy(stage, y, sizeof y);
      for (int i = 0; i < 3 && s > 0; i++) stage[i] += at[s] * h * k[s - 1][i];
      cr_assert_eq(vin_branch_field(branch, step * h, stage, 1e-13, 5, k[s], NULL), VIN_OK);
      /* V' = 2 x x' - 2 z z' = -V / tau holds for the field itself, to rounding of terms of size 20 */
      double v = stage[0] * stage[0] - stage[2] * stage[2] + 5;
      double rate = 2 * stage[0] * k[s][0] - 2 * stage[2] * k[s][2];
      cr_assert_float_eq(rate, -v / data[1], 1e-11);
      y[3] = stage[3]; /* the next seed */
    }
    for (int i = 0; i < 3; i++) y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
  double v = y[0] * y[0] - y[2] * y[2] + 5;
  cr_expect_float_eq(v, first * exp(-1 / data[1]), 1e-10, "%.15g", v);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
}

/* ---- what a residual says ----------------------------------------------------------------------- */

/* Against the dense singular values of g_z, and against the true error of a displaced z: inside the
 * ball of the lemma error <= bound, and the first-order value is right to the contraction. */
Test(dae_branch, residual_lemma) {
  NEEDS_UMFPACK;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    test_random random = {seed};
    test_pairs p = {.pairs = 12, .coupling = test_random_between(&random, -0.4, 0.4)};
    vin_dae *dae = test_pairs_dae(&p, seed % 2, NULL);
    vin_branch *branch = branch_of(dae);
    double y[24], exact[24], values[120], full[24 * 24], block[12 * 12], sigma[12];
    test_pairs_solution(&p, 0.3, y);
    memcpy(exact, y, sizeof y);
    for (int i = 12; i < 24; i++) y[i] += test_random_between(&random, -1e-3, 1e-3);
    vin_residual_estimate e;
    cr_assert_eq(vin_branch_residual_estimate(branch, 0.3, y, &e), VIN_OK, "%s",
                 vin_branch_error(branch));
    cr_assert_eq(vin_dae_jacobian(dae, 0.3, y, values, NULL, NULL, 0), VIN_OK);
    vin_triplets pattern = {p.count, p.row, p.col};
    test_dense_from_triplets(24, 24, pattern, VIN_STORAGE_GENERAL, values, full);
    for (int j = 0; j < 12; j++)
      for (int i = 0; i < 12; i++) block[i + 12 * j] = full[12 + i + 24 * (12 + j)];
    test_singular_values(12, block, sigma);
    double smallest = INFINITY, error = 0;
    for (int i = 0; i < 12; i++) smallest = fmin(smallest, sigma[i]);
    for (int i = 12; i < 24; i++) error += (y[i] - exact[i]) * (y[i] - exact[i]);
    error = sqrt(error);
    cr_expect(e.sigma_min >= smallest * (1 - 1e-12) && e.sigma_min <= smallest * 1.001, "%g %g",
              e.sigma_min, smallest);
    cr_expect_lt(e.contraction, 0.05);
    cr_expect_float_eq(e.error / error, 1, 2 * e.contraction, "%g %g", e.error, error);
    cr_expect_leq(error, e.bound);
    cr_expect_leq(e.error, e.estimate * 1.001);
    vin_branch_destroy(branch);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
}

Test(dae_branch, the_estimate_fails_where_g_z_is_singular) {
  NEEDS_UMFPACK;
  test_pairs p = {.pairs = 2, .singular = true};
  vin_dae *dae = test_pairs_dae(&p, true, NULL);
  vin_branch *branch = branch_of(dae);
  double y[4];
  test_pairs_solution(&p, 0, y);
  vin_residual_estimate e;
  cr_expect_eq(vin_branch_residual_estimate(branch, 0, y, &e), VIN_SINGULAR);
  cr_expect(strstr(vin_branch_error(branch), "g_z at t = 0") != NULL);
  cr_expect_eq(vin_branch_linearise(branch, 0, y), VIN_SINGULAR);
  cr_expect_eq(vin_branch_residual_estimate(branch, 0, y, NULL), VIN_ERR_BAD_INPUT);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
  test_pairs_free(&p);
}

Test(dae_branch, every_failed_allocation_is_handled) {
  NEEDS_UMFPACK;
  test_pairs p = {.pairs = 3, .coupling = 0.1};
  vin_dae *dae = test_pairs_dae(&p, false, NULL);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_branch *branch = NULL;
    double y[6];
    test_pairs_solution(&p, 0, y);
    y[4] += 0.1;
    vin_status status = vin_branch_create(&branch, &context, dae, NULL);
    if (status == VIN_OK) {
      vin_residual_estimate e;
      int64_t created = allocator.calls;
      cr_expect_eq(vin_branch_initialise(branch, 0, y, 1e-13, 10, NULL), VIN_OK);
      cr_expect_eq(allocator.calls, created);
      status = vin_branch_residual_estimate(branch, 0, y, &e);
      if (status == VIN_ERR_NO_MEMORY) /* as good as before: the next call tries again */
        status = vin_branch_residual_estimate(branch, 0, y, &e);
      cr_expect_eq(status, VIN_OK, "%s", vin_branch_error(branch));
    } else {
      cr_expect_eq(status, VIN_ERR_NO_MEMORY, "%s", vin_branch_error(branch));
    }
    vin_branch_destroy(branch);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) break;
  }
  vin_dae_destroy(dae);
  test_pairs_free(&p);
}

Test(dae_branch, outcome_names_are_those_of_the_source) {
  cr_expect_str_eq(vin_outcome_name(VIN_OUTCOME_SINGULAR_JACOBIAN), "singular-jacobian");
  cr_expect_str_eq(vin_outcome_name(VIN_OUTCOME_BUDGET_EXHAUSTED), "iteration-budget-exhausted");
  cr_expect_str_eq(vin_outcome_name(VIN_OUTCOME_INCONSISTENT), "inconsistent-initial-data");
  cr_expect_str_eq(vin_outcome_name((vin_outcome)99), "unknown");
}
