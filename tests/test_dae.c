/* The problem object: description, evaluation, differences and their error, checks. */
#include "dae/dae.h"
#include "dae_problems.h"
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae);

/* f_y (n x n, dense) as the problem gives it, or by differences */
static double *dense_jacobian(const vin_dae *dae, const test_pairs *p, double t, const double *y,
                              vin_difference_report *report) {
  vin_int n = 2 * p->pairs;
  double *values = calloc((size_t)p->count, sizeof *values);
  double *a = calloc((size_t)n * (size_t)n, sizeof *a);
  char text[256];
  cr_assert_eq(vin_dae_jacobian(dae, t, y, values, report, text, sizeof text), VIN_OK, "%s", text);
  vin_triplets pattern = {.count = p->count, .row = p->row, .col = p->col};
  test_dense_from_triplets(n, n, pattern, VIN_STORAGE_GENERAL, values, a);
  free(values);
  return a;
}

/* Differences of second order with step 6e-6 have errors of 4e-11 of the third derivatives (120
 * here), and the estimate covers them. */
Test(dae, differences_give_the_jacobian_and_their_error) {
  test_pairs p = {.pairs = 9, .coupling = 0.2}, q = p;
  vin_dae *given = test_pairs_dae(&p, true, NULL), *differences = test_pairs_dae(&q, false, NULL);
  double y[18];
  test_random random = {11};
  for (int i = 0; i < 18; i++) y[i] = test_random_between(&random, 0.4, 1.0);
  vin_difference_report none, report;
  double *a = dense_jacobian(given, &p, 0.3, y, &none);
  double *b = dense_jacobian(differences, &q, 0.3, y, &report);
  double worst = 0;
  for (int i = 0; i < 18; i++) {
    double scale = 0, error = 0;
    for (int j = 0; j < 18; j++) {
      scale = fmax(scale, fabs(a[i + 18 * j]));
      error = fmax(error, fabs(a[i + 18 * j] - b[i + 18 * j]));
    }
    worst = fmax(worst, error / scale);
  }
  cr_expect_lt(worst, 1e-8);
  cr_expect_leq(worst, report.relative_error);
  cr_expect_lt(report.relative_error, 1e-7);
  cr_expect_eq(none.colours, 0);
  cr_expect_eq(report.dominates, 0);
  cr_expect_eq(report.evaluations, 2 * report.colours + 1);
  free(a), free(b);
  vin_dae_destroy(given), vin_dae_destroy(differences);
  test_pairs_free(&p), test_pairs_free(&q);
}

/* A row has at most six entries (three x, three z), and no pattern needs fewer colours than its
 * longest row; the number does not grow with the size. */
Test(dae, colours_do_not_grow_with_the_size) {
  vin_int colours[2];
  for (int k = 0; k < 2; k++) {
    test_pairs p = {.pairs = k ? 10000 : 100, .coupling = 0.1};
    vin_dae *dae = test_pairs_dae(&p, false, NULL);
    cr_assert_eq(vin_dae_unknowns(dae), 2 * p.pairs, "%s", vin_dae_error(dae));
    cr_assert_eq(vin_dae_differential(dae), p.pairs);
    colours[k] = vin_dae_colours(dae);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
  cr_expect_eq(colours[0], colours[1]);
  cr_expect(colours[0] >= 6 && colours[0] <= 8, "%d", (int)colours[0]);
}

/* On random patterns: every column once, and no row twice in a group. */
Test(dae, columns_of_a_colour_share_no_row) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    test_random random = {seed};
    vin_int rows = 1 + test_random_below(&random, 30), cols = 1 + test_random_below(&random, 30);
    vin_int count = test_random_below(&random, 120), row[120], col[120], seen[30], longest = 0;
    for (vin_int k = 0; k < count; k++) {
      row[k] = test_random_below(&random, rows);
      col[k] = test_random_below(&random, cols);
    }
    vin_sparse *a = NULL;
    vin_triplets pattern = {.count = count, .row = row, .col = col};
    cr_assert_eq(vin_sparse_create(&a, NULL, rows, cols, pattern, VIN_STORAGE_GENERAL), VIN_OK);
    vini_object object = {.context = vin_context_default(), .created = VIN_OK};
    vini_colouring c;
    cr_assert_eq(vini_colouring_create(&c, &object, vin_sparse_view(a)), VIN_OK);
    vin_csc m = vin_sparse_view(a);
    vin_int columns = 0, lengths[30] = {0};
    for (vin_int k = 0; k < m.start[cols]; k++)
      longest = vini_max_int(longest, ++lengths[m.row[k]]);
    for (vin_int g = 0; g < c.groups; g++) {
      memset(seen, 0, sizeof seen);
      for (vin_int k = c.start[g]; k < c.start[g + 1]; k++, columns++)
        for (vin_int q = m.start[c.column[k]]; q < m.start[c.column[k] + 1]; q++)
          cr_assert_eq(seen[m.row[q]]++, 0, "seed %d", (int)seed);
    }
    cr_assert_eq(columns, cols);
    cr_assert(c.groups >= longest && c.groups <= cols);
    vini_colouring_destroy(&c, &object.context);
    vin_sparse_destroy(a);
  }
}

/* ---- problems of one or two unknowns, as hostile as needed -------------------------------------- */

static int kink(void *user, double t, const double *y, double *f) {
  (void)user, (void)t;
  f[0] = fabs(y[0]) - 1e-9;
  return 0;
}
static int root(void *user, double t, const double *y, double *f) {
  (void)user, (void)t;
  if (y[0] < 1) return 1;
  f[0] = y[0] * y[0];
  return 0;
}
static int noisy(void *user, double t, const double *y, double *f) {
  (void)user, (void)t;
  f[0] = (double)(float)(sin(y[0]) + 2);
  return 0;
}

static vin_dae *scalar(int (*f)(void *, double, const double *, double *), double noise) {
  static const vin_int zero[1] = {0};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 1, desc.differential = 1, desc.function = f, desc.noise = noise;
  desc.jacobian_pattern = (vin_triplets){.count = 1, .row = zero, .col = zero};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  return dae;
}

Test(dae, differences_that_say_nothing_are_reported) {
  double y = 0, value;
  vin_difference_report report;
  vin_dae *dae = scalar(kink, 0);
  cr_assert_eq(vin_dae_jacobian(dae, 0, &y, &value, &report, NULL, 0), VIN_OK);
  cr_expect_eq(report.dominates, 1, "%g", report.relative_error);
  vin_dae_destroy(dae);
}

static void name(void *user, vin_int index, char *text, size_t size) {
  (void)user;
  if (index == 0) snprintf(text, size, "pressure");
}
static int half_nan(void *user, double t, const double *y, double *f) {
  (void)user, (void)t;
  f[0] = fabs(y[0]) - 1e-9, f[1] = NAN;
  return 0;
}
static void log_text(void *user, vin_log_level level, const char *text) {
  if (level == VIN_LOG_WARNING) strncat(user, text, 300);
}

/* Names come into texts and the warning, which is given once; those without a name get a number. */
Test(dae, names_and_the_warning) {
  static const vin_int zero[1] = {0};
  char logged[1024] = "", text[256];
  vin_context context = vin_context_default();
  context.log = log_text, context.log_user = logged;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 1, desc.function = kink, desc.unknown_name = name;
  desc.jacobian_pattern = (vin_triplets){1, zero, zero};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, &context, &desc), VIN_OK);
  vini_object object = {.context = context, .created = VIN_OK};
  vini_dae_work work;
  double y = 0, value;
  cr_assert_eq(vini_dae_work_create(&work, dae, &object), VIN_OK);
  for (int k = 0; k < 2; k++) cr_assert_eq(vini_dae_jacobian(&work, 0, &y, NULL, &value), VIN_OK);
  const char *first = strstr(logged, "equation 0 by pressure");
  cr_expect(first != NULL && strstr(first + 22, "pressure") == NULL, "%s", logged);
  vini_dae_work_destroy(&work);
  cr_expect(vin_dae_in_domain(dae, 0, &y) == 1 && vin_dae_in_domain(NULL, 0, &y) == 0);
  vin_dae_unknown_name(dae, 0, text, sizeof text);
  cr_expect_str_eq(text, "pressure");
  vin_dae_unknown_name(dae, 5, text, sizeof text);
  cr_expect_str_eq(text, "unknown 5");
  vin_dae_destroy(dae);
  desc.unknowns = 2, desc.function = half_nan, desc.equation_name = name;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  double two_unknowns[2] = {0, 0}, f[2];
  cr_expect_eq(vin_dae_function(dae, 0, two_unknowns, f, text, sizeof text), VIN_RETRY);
  cr_expect(strstr(text, "nan for equation 1") != NULL, "%s", text);
  vin_dae_destroy(dae);
}

/* At the edge of the domain the differences look inwards: f = y^2 at y = 1, f' = 2. */
Test(dae, differences_stay_inside_the_domain) {
  double y = 1, value;
  vin_difference_report report;
  vin_dae *dae = scalar(root, 0);
  cr_assert_eq(vin_dae_jacobian(dae, 0, &y, &value, &report, NULL, 0), VIN_OK);
  cr_expect_float_eq(value, 2, 1e-9, "%.15g", value);
  vin_dae_destroy(dae);
}

/* Single precision: with its noise declared the step grows and the error falls from 1e-2 to 1e-4
 * (cube root of 6e-8 squared: 1.5e-5 of the terms); undeclared it is far off. */
Test(dae, declared_noise_widens_the_steps) {
  double y = 0.7, blind, told, exact = cos(0.7);
  vin_difference_report report;
  vin_dae *a = scalar(noisy, 0), *b = scalar(noisy, 6e-8);
  cr_assert_eq(vin_dae_jacobian(a, 0, &y, &blind, &report, NULL, 0), VIN_OK);
  cr_assert_eq(vin_dae_jacobian(b, 0, &y, &told, &report, NULL, 0), VIN_OK);
  cr_expect_lt(fabs(told - exact), 1e-4);
  cr_expect_gt(fabs(blind - exact), fabs(told - exact));
  cr_expect_leq(fabs(told - exact) / exact, report.relative_error);
  vin_dae_destroy(a), vin_dae_destroy(b);
}

/* The difference of f_t over a part (6e-6) of a step of 0.1: rounding 2e-16 / 6e-7 = 4e-10. The
 * time is no worse where it is large: t = 1e6 resolves 1e-10, the part grows to 2e-3, error 1e-6. */
Test(dae, time_derivative_by_difference) {
  for (int far = 0; far < 2; far++) {
    test_pairs p = {.pairs = 5, .coupling = far ? 1e6 * 1e6 : 1}, q = p;
    vin_dae *given = test_pairs_dae(&p, true, NULL), *differences = test_pairs_dae(&q, false, NULL);
    double y[10] = {0}, a[10], b[10], t = far ? 1e6 : 0.5;
    cr_assert_eq(vin_dae_time_derivative(given, t, y, 0.1, a, NULL, 0), VIN_OK);
    cr_assert_eq(vin_dae_time_derivative(differences, t, y, 0.1, b, NULL, 0), VIN_OK);
    cr_expect_lt(test_max_difference(10, a, b), far ? 1e-6 : 1e-8);
    cr_expect_gt(test_max_abs(10, a), 0.1);
    vin_dae_destroy(given), vin_dae_destroy(differences);
    test_pairs_free(&p), test_pairs_free(&q);
  }
}

static int late(void *user, double t, const double *y, double *f) {
  (void)user, (void)y;
  if (t < 1) return 1;
  f[0] = t * t;
  return 0;
}
static int early(void *user, double t, const double *y, double *f) {
  (void)user, (void)y;
  if (t > 1) return 1;
  f[0] = t * t;
  return 0;
}

/* One-sided, 2 plus or minus 6e-6, where f begins or ends. */
Test(dae, time_derivative_at_the_end_of_time) {
  int (*const functions[2])(void *, double, const double *, double *) = {late, early};
  for (int k = 0; k < 2; k++) {
    vin_dae *dae = scalar(functions[k], 0);
    double y = 0, f_t = 0;
    cr_assert_eq(vin_dae_time_derivative(dae, 1, &y, 1, &f_t, NULL, 0), VIN_OK);
    cr_expect_float_eq(f_t, k ? 2 - 6e-6 : 2 + 6e-6, 1e-7, "%.9g", f_t);
    cr_expect_eq(vin_dae_time_derivative(dae, k ? 3 : -3, &y, 1, &f_t, NULL, 0), VIN_RETRY);
    vin_dae_destroy(dae);
  }
}

/* ---- failures --------------------------------------------------------------------------------- */

Test(dae, callback_failures_and_nan_are_named) {
  static const struct {
    int code;
    vin_status status;
    const char *words;
  } cases[] = {{3, VIN_RETRY, "smaller step (3)"},
               {-4, VIN_ERR_CALLBACK, "failed (-4)"},
               {99, VIN_RETRY, "nan"}};
  for (int k = 0; k < 3; k++) {
    test_pairs p = {.pairs = 2, .function_fails = 1, .jacobian_fails = 1, .code = cases[k].code};
    vin_dae *dae = test_pairs_dae(&p, true, NULL);
    double y[4] = {1, 1, 1, 1}, f[4], values[16];
    char text[256];
    cr_expect_eq(vin_dae_function(dae, 1.5, y, f, text, sizeof text), cases[k].status);
    cr_expect(strstr(text, cases[k].words) && strstr(text, "t = 1.5"), "%s", text);
    cr_expect_eq(vin_dae_jacobian(dae, 1.5, y, values, NULL, text, sizeof text), cases[k].status);
    cr_expect(strstr(text, cases[k].words) && strstr(text, "jacobian"), "%s", text);
    vin_dae_destroy(dae);
    cr_expect_eq(p.released, 1);
    test_pairs_free(&p);
  }
}

static void refused(const vin_dae_desc *desc, const char *words) {
  vin_dae *dae = NULL;
  cr_expect_eq(vin_dae_create(&dae, NULL, desc), VIN_ERR_BAD_INPUT, "%s", words);
  cr_expect(strstr(vin_dae_error(dae), words) != NULL, "%s: %s", words, vin_dae_error(dae));
  double y[4] = {0}, f[4];
  cr_expect_eq(vin_dae_function(dae, 0, y, f, NULL, 0), VIN_ERR_BAD_STATE);
  vin_dae_destroy(dae);
}

Test(dae, bad_descriptions_are_refused) {
  test_pairs p = {.pairs = 2};
  vin_dae_desc good = test_pairs_desc(&p, true), d = good;
  refused(NULL, "vin_dae_desc_default");
  d = good, d.struct_size = 3, d.release = NULL;
  refused(&d, "struct_size");
  int before = p.released;
  d = good, d.unknowns = 0;
  refused(&d, "unknowns is 0");
  cr_expect_eq(p.released, before + 1);
  d = good, d.function = NULL;
  refused(&d, "function callback is missing");
  d = good, d.differential = 5;
  refused(&d, "0..4");
  d = good, d.noise = NAN;
  refused(&d, "noise");
  d = good, d.unknowns = 3, d.differential = 1;
  refused(&d, "jacobian pattern");
  d = good, d.typical = (const double[]){1, 1, 0, 1};
  refused(&d, "typical[2]");
  d = good, d.index = (const vin_int[]){1, 1, 4, 1};
  refused(&d, "index[2]");
  d = good, d.index = (const vin_int[]){2, 1, 1, 1};
  refused(&d, "differential");
  d = good, d.mass_pattern = (vin_triplets){1, (const vin_int[]){0}, (const vin_int[]){0}};
  refused(&d, "differential is 2");
  d.differential = 0;
  refused(&d, "mass_values is NULL");
  d.mass_values = (const double[]){INFINITY};
  refused(&d, "mass_values is inf");
  d.mass_pattern = (vin_triplets){2, (const vin_int[]){0, 0}, (const vin_int[]){0, 0}};
  d.mass_values = (const double[]){1e308, 1e308};
  refused(&d, "overflows");
  cr_expect_eq(vin_dae_create(NULL, NULL, &good), VIN_ERR_BAD_INPUT);
  test_pairs_free(&p);
}

Test(dae, every_failed_allocation_is_handled) {
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    test_pairs p = {.pairs = 3, .coupling = 0.1};
    vin_dae *dae = test_pairs_dae(&p, false, &context);
    double y[6] = {1, 1, 1, 1, 1, 1}, values[30], f[6];
    vin_derivative_check check;
    vin_dae_index_report report;
    if (dae != NULL && vin_dae_unknowns(dae) == 6) {
      vin_status s = vin_dae_jacobian(dae, 0, y, values, NULL, NULL, 0);
      cr_expect(s == VIN_OK || s == VIN_ERR_NO_MEMORY);
      s = vin_dae_time_derivative(dae, 0, y, 1, f, NULL, 0);
      cr_expect(s == VIN_OK || s == VIN_ERR_NO_MEMORY);
      s = vin_dae_check(dae, 0, y, &check);
      cr_expect(s == VIN_OK || s == VIN_ERR_NO_MEMORY, "%s", check.text);
      s = vin_dae_index_check(dae, 0, y, 0, &report);
      cr_expect(s == VIN_OK || s == VIN_ERR_NO_MEMORY || !vini_rank_available(), "%s", report.text);
    } else {
      cr_expect(dae == NULL || strstr(vin_dae_error(dae), "memory"), "%s", vin_dae_error(dae));
    }
    vin_dae_destroy(dae);
    test_pairs_free(&p);
    cr_assert_eq(p.released, 1);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) break;
  }
}

Test(dae, references_keep_the_problem) {
  test_pairs p = {.pairs = 1};
  vin_dae *dae = test_pairs_dae(&p, true, NULL);
  cr_assert_eq(vin_dae_retain(dae), dae);
  vin_dae_destroy(dae);
  cr_expect_eq(p.released, 0);
  cr_expect_eq(vin_dae_unknowns(dae), 2);
  vin_dae_destroy(dae);
  cr_expect_eq(p.released, 1);
  vin_dae_destroy(NULL);
  cr_expect_eq(vin_dae_retain(NULL), NULL);
  cr_expect_str_eq(vin_dae_error(NULL), vin_system_error(NULL));
  test_pairs_free(&p);
}
