/* Order studies: known orders, solver error that is not taken for discretisation error, bad input. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(study);

enum { POSITION, VELOCITY, MULTIPLIER, CONSTRAINT, HIDDEN };

/* ---- an artificial computation: exact errors of known size --------------------------------------- */

typedef struct artificial {
  double order, amount; /* error of the first number: amount h^order */
  double solver;        /* what the tolerances leave, for a factor of 1 */
  double fails_above;   /* runs with a longer step fail */
  vin_status failure;
  int calls;
} artificial;

static vin_status pretend(void *user, double step, double tolerance_factor, double *y, char *text,
                          size_t text_size) {
  artificial *x = user;
  x->calls++;
  if (step > x->fails_above) {
    strncpy(text, "too long", text_size - 1);
    return x->failure;
  }
  double error = x->amount * pow(step, x->order) + x->solver * tolerance_factor;
  y[0] = 1 + error;
  y[1] = 5;
  y[2] = x->amount * step; /* a residual of order 1 */
  return VIN_OK;
}

static const vin_study_quantity two[] = {{"value", 2, VIN_STUDY_SOLUTION},
                                         {"residual", 1, VIN_STUDY_RESIDUAL}};

static vin_status pretended(vin_study **study, artificial *x, const double *reference) {
  vin_study_options options = vin_study_options_default();
  options.step = 0.1, options.levels = 6, options.reference = reference;
  return vin_study_create(study, NULL, 2, two, pretend, x, &options);
}

/* Errors amount h^3 give exactly 3, from the reference and from differences of successive runs (which
 * are 7/8 of the error). */
Test(study, known_order) {
  static const double exact[2] = {1, 5};
  for (int with = 0; with < 2; with++) {
    artificial x = {.order = 3, .amount = 0.5, .fails_above = 1};
    vin_study *study = NULL;
    cr_assert_eq(pretended(&study, &x, with ? exact : NULL), VIN_OK);
    cr_expect_eq(x.calls, 18);
    cr_expect_float_eq(vin_study_order(study, 0), 3, 1e-6);
    cr_expect_float_eq(vin_study_order(study, 1), 1, 1e-12);
    vin_study_entry first = vin_study_get(study, 0, 0), last = vin_study_get(study, 5, 0);
    cr_expect_float_eq(first.error, (with ? 1.0 : 7.0 / 8) * 0.5 * 1e-3, 1e-15);
    cr_expect(isnan(first.order));
    cr_expect_eq(last.verdict, with ? VIN_STUDY_OK : VIN_STUDY_MISSING);
    cr_expect_float_eq(vin_study_step(study, 5), 0.1 / 32, 1e-17);
    cr_expect_not_null(strstr(vin_study_table(study), "value"), "%s", vin_study_table(study));
    vin_study_destroy(study);
  }
}

/* An iteration that leaves 1e-6 hides the errors below it: the numbers would show order 0. They are
 * marked, and the order is that of the levels above. */
Test(study, solver_error_is_not_discretisation_error) {
  static const double exact[2] = {1, 5};
  artificial x = {.order = 4, .amount = 1, .solver = 1e-6, .fails_above = 1};
  vin_study *study = NULL;
  cr_assert_eq(pretended(&study, &x, exact), VIN_OK);
  cr_expect_eq(vin_study_get(study, 0, 0).verdict, VIN_STUDY_OK);     /* 1e-4 */
  cr_expect_eq(vin_study_get(study, 2, 0).verdict, VIN_STUDY_SOLVER); /* 3.9e-7 */
  cr_expect_eq(vin_study_get(study, 5, 0).verdict, VIN_STUDY_SOLVER);
  cr_expect(isnan(vin_study_get(study, 5, 0).order));
  cr_expect_float_eq(vin_study_get(study, 5, 0).solver_error, 1e-6, 2e-8);
  cr_expect_not_null(strstr(vin_study_table(study), "iterations"));
  vin_study_destroy(study);
}

Test(study, rounding_has_no_order) {
  static const double exact[2] = {1, 5};
  artificial x = {.order = 8, .amount = 1, .fails_above = 1};
  vin_study *study = NULL;
  cr_assert_eq(pretended(&study, &x, exact), VIN_OK);
  cr_expect_eq(vin_study_get(study, 5, 0).verdict, VIN_STUDY_ROUNDING); /* 1e-20 */
  cr_expect_float_eq(vin_study_order(study, 0), 8, 0.1);
  vin_study_destroy(study);
}

/* Steps that are too long are left out, and say why. */
Test(study, failed_levels) {
  artificial x = {.order = 2, .amount = 1, .fails_above = 0.06, .failure = VIN_STEP_FAILED};
  vin_study *study = NULL;
  cr_assert_eq(pretended(&study, &x, NULL), VIN_OK);
  cr_expect_str_eq(vin_study_failure(study, 0), "too long");
  cr_expect_eq(vin_study_get(study, 0, 0).verdict, VIN_STUDY_MISSING);
  cr_expect_float_eq(vin_study_order(study, 0), 2, 1e-9);
  cr_expect_not_null(strstr(vin_study_table(study), "too long"));
  vin_study_destroy(study);
  x.fails_above = 0.004;
  cr_assert_eq(pretended(&study, &x, NULL), VIN_NOT_CONVERGED);
  cr_expect_not_null(strstr(vin_study_error(study), "too long"), "%s", vin_study_error(study));
  cr_expect_str_eq(vin_study_failure(study, 1), "too long"); /* still readable */
  vin_study_destroy(study);
  x.failure = VIN_ERR_CALLBACK; /* the caller must act: ends the study */
  x.calls = 0;
  cr_assert_eq(pretended(&study, &x, NULL), VIN_ERR_CALLBACK);
  cr_expect_eq(x.calls, 1);
  vin_study_destroy(study);
}

Test(study, bad_input) {
  artificial x = {.order = 2, .amount = 1, .fails_above = 1};
  vin_study_options good = vin_study_options_default();
  good.step = 0.1;
  struct {
    double step, looseness, dominated;
    int levels, quantities;
    const char *word;
  } bad[] = {{0, 100, 0.1, 4, 2, "step"},        {NAN, 100, 0.1, 4, 2, "step"},
             {0.1, 1, 0.1, 4, 2, "looseness"},   {0.1, 100, 0, 4, 2, "dominated"},
             {0.1, 100, 0.1, 2, 2, "levels"},    {0.1, 100, 0.1, 25, 2, "levels"},
             {0.1, 100, 0.1, 4, 0, "quantities"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    vin_study_options o = good;
    o.step = bad[k].step, o.looseness = bad[k].looseness, o.dominated = bad[k].dominated;
    o.levels = bad[k].levels;
    vin_study *study = NULL;
    cr_expect_eq(vin_study_create(&study, NULL, bad[k].quantities, two, pretend, &x, &o),
                 VIN_ERR_BAD_INPUT);
    cr_expect_not_null(strstr(vin_study_error(study), bad[k].word), "%s", vin_study_error(study));
    cr_expect_str_eq(vin_study_table(study), "");
    vin_study_destroy(study);
  }
  vin_study *study = NULL;
  cr_expect_eq(vin_study_create(NULL, NULL, 2, two, pretend, &x, &good), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_study_create(&study, NULL, 2, two, NULL, &x, &good), VIN_ERR_BAD_INPUT);
  vin_study_destroy(study);
  cr_expect(isnan(vin_study_order(NULL, 0)));
  cr_expect_str_eq(vin_study_table(NULL), "");
  vin_study_destroy(NULL);
}

/* ---- constrained systems -------------------------------------------------------------------------- */

static vin_study *of_system(const test_mechanism *x, vin_method method, vin_projection projection,
                            double end, double step, const double *reference) {
  vin_options options = test_method(method, projection);
  vin_study_options study_options = vin_study_options_default();
  study_options.step = step, study_options.reference = reference;
  vin_study *study = NULL;
  vin_status status =
      vin_study_system(&study, NULL, x->system, x->p, x->v, end, &options, &study_options);
  cr_assert_eq(status, VIN_OK, "%s", vin_study_error(study));
  return study;
}

/* Rattle: 2 in p and v, 1 in its own multiplier, both residuals at rounding; against 15 digits. */
Test(study, rattle) {
  test_mechanism *x = test_planar_pendulum();
  test_mechanism_build(x, NULL);
  double row[5];
  test_reference("hamiltonian/planar_pendulum.csv", 1, 5, row);
  row[4] *= 2; /* the file's constraint is not halved */
  vin_study *study = of_system(x, VIN_METHOD_RATTLE, VIN_PROJECTION_NONE, 1, 0.02, row);
  cr_expect_float_eq(vin_study_order(study, POSITION), 2, 0.02);
  cr_expect_float_eq(vin_study_order(study, VELOCITY), 2, 0.02);
  cr_expect_float_eq(vin_study_order(study, MULTIPLIER), 1, 0.1);
  cr_expect_leq(vin_study_get(study, 3, CONSTRAINT).error, 1e-12);
  cr_expect_leq(vin_study_get(study, 3, HIDDEN).error, 1e-12);
  vin_study_destroy(study);
  test_mechanism_free(x);
}

/* Without projection each quantity of rk4 has order 4, the constraints' drift too. */
Test(study, drift_has_an_order) {
  test_mechanism *x = test_planar_pendulum();
  test_mechanism_build(x, NULL);
  vin_study *study = of_system(x, VIN_METHOD_RK4, VIN_PROJECTION_NONE, 2, 0.025, NULL);
  for (int q = POSITION; q <= HIDDEN; q++) {
    cr_expect(vin_study_order(study, q) > 3.8 && vin_study_order(study, q) < 5.3, "%d: %g\n%s", q,
              vin_study_order(study, q), vin_study_table(study));
  }
  vin_study_destroy(study);
  test_mechanism_free(x);
}

Test(study, of_a_system_bad_input) {
  test_mechanism *x = test_planar_pendulum();
  test_mechanism_build(x, NULL);
  vin_study_options o = vin_study_options_default();
  vin_study *study = NULL;
  o.step = 0.3; /* 1 is no whole number of steps */
  cr_expect_eq(vin_study_system(&study, NULL, x->system, x->p, x->v, 1, NULL, &o),
               VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_study_error(study), "whole"), "%s", vin_study_error(study));
  vin_study_destroy(study);
  o.step = 0.1;
  cr_expect_eq(vin_study_system(&study, NULL, NULL, x->p, x->v, 1, NULL, &o), VIN_ERR_BAD_INPUT);
  vin_study_destroy(study);
  cr_expect_eq(vin_study_system(&study, NULL, x->system, x->p, x->v, -1, NULL, &o),
               VIN_ERR_BAD_INPUT);
  vin_study_destroy(study);
  cr_expect_eq(vin_study_system(&study, NULL, x->system, x->p, x->v, 1, NULL, NULL),
               VIN_ERR_BAD_INPUT);
  vin_study_destroy(study);
  test_mechanism_free(x);
}

/* Each allocation fails in turn: a status, a text or no handle, and nothing leaks. */
Test(study, allocation_failures) {
  test_mechanism *x = test_planar_pendulum();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
  vin_study_options o = vin_study_options_default();
  o.step = 0.5, o.levels = 3, o.looseness = 0;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_study *study = NULL;
    vin_status status = vin_study_system(&study, &context, x->system, x->p, x->v, 1, &options, &o);
    cr_assert_eq(status, allocator.calls >= k ? VIN_ERR_NO_MEMORY : VIN_OK, "allocation %d: %s",
                 (int)k, vin_study_error(study));
    vin_study_destroy(study);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) break;
  }
  test_mechanism_free(x);
}
