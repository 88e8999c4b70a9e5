/* Finite-budget Newton on sparse square systems, and consistent initial data. */
#include "dae_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_newton);

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
Test(dae_newton, newton_reaches_a_root) {
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

Test(dae_newton, newton_stops_with_its_budget) {
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

Test(dae_newton, newton_keeps_the_last_valid_iterate) {
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

Test(dae_newton, newton_refuses_bad_input) {
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
Test(dae_newton, newton_on_a_large_sparse_system) {
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

Test(dae_newton, exact_and_approximate_consistency) {
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
Test(dae_newton, initialisation_outcomes_and_bounds) {
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

Test(dae_newton, outcome_names_are_those_of_the_source) {
  cr_expect_str_eq(vin_outcome_name(VIN_OUTCOME_SINGULAR_JACOBIAN), "singular-jacobian");
  cr_expect_str_eq(vin_outcome_name(VIN_OUTCOME_BUDGET_EXHAUSTED), "iteration-budget-exhausted");
  cr_expect_str_eq(vin_outcome_name(VIN_OUTCOME_INCONSISTENT), "inconsistent-initial-data");
  cr_expect_str_eq(vin_outcome_name((vin_outcome)99), "unknown");
}
