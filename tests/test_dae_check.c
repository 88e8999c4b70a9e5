/* The checks of a problem: its derivatives against differences, its index by ranks. */
#include "dae_problems.h"
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(dae_check);

static int wrong_jacobian(void *user, double t, const double *y, double *values) {
  (void)user, (void)t;
  values[0] = cos(y[0]), values[1] = 1.0001;
  return 0;
}
static int two(void *user, double t, const double *y, double *f) {
  (void)user;
  f[0] = sin(y[0]) + t * t, f[1] = y[1] + y[0] * (t > 5);
  return 0;
}
static int wrong_time(void *user, double t, const double *y, double *f_t) {
  (void)user, (void)y;
  f_t[0] = 2 * t + 1e-3, f_t[1] = 0;
  return 0;
}

Test(dae_check, the_derivative_check_finds_what_is_wrong) {
  static const vin_int diagonal[2] = {0, 1};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2, desc.differential = 2, desc.function = two;
  desc.jacobian_pattern = (vin_triplets){.count = 2, .row = diagonal, .col = diagonal};
  vin_derivative_check check;
  double y[2] = {0.4, 0.6};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  cr_expect_eq(vin_dae_check(dae, 1, y, &check), VIN_OK, "%s", check.text);
  cr_expect_eq(vin_dae_check(dae, 6, y, &check), VIN_CHECK_FAILED); /* f_1 now depends on y_0 */
  cr_expect_str_eq(check.function, "jacobian pattern");
  cr_expect(check.row == 1 && check.col == 0, "%s", check.text);
  vin_dae_destroy(dae);
  desc.jacobian = wrong_jacobian;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  cr_expect_eq(vin_dae_check(dae, 1, y, &check), VIN_CHECK_FAILED);
  cr_expect(check.wrong == 1 && check.row == 1 && check.col == 1, "%s", check.text);
  cr_expect_float_eq(check.expected, 1, 1e-7);
  vin_dae_destroy(dae);
  desc.jacobian = NULL, desc.time_derivative = wrong_time;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  cr_expect_eq(vin_dae_check(dae, 1, y, &check), VIN_CHECK_FAILED);
  cr_expect_str_eq(check.function, "time_derivative");
  cr_expect(check.row == 0 && check.col == -1, "%s", check.text);
  vin_dae_destroy(dae);
}

Test(dae_check, the_test_problem_passes_its_check) {
  test_pairs p = {.pairs = 6, .coupling = 0.3};
  vin_dae *dae = test_pairs_dae(&p, true, NULL);
  vin_derivative_check check;
  double y[12];
  test_pairs_solution(&p, 0.2, y);
  cr_expect_eq(vin_dae_check(dae, 0.2, y, &check), VIN_OK, "%s", check.text);
  vin_dae_destroy(dae);
  test_pairs_free(&p);
}

Test(dae_check, index_of_semi_explicit_problems) {
  if (!vini_rank_available()) return;
  for (int singular = 0; singular < 2; singular++) {
    test_pairs p = {.pairs = 4, .coupling = singular ? 0 : 0.2, .singular = singular};
    vin_dae *dae = test_pairs_dae(&p, true, NULL);
    double y[8];
    test_pairs_solution(&p, 0, y);
    vin_dae_index_report report;
    cr_expect_eq(vin_dae_index_check(dae, 0, y, 0, &report), singular ? VIN_SINGULAR : VIN_OK);
    cr_expect(report.full == 4 && report.rank == (singular ? 0 : 4), "%s", report.text);
    cr_expect(!singular || strstr(report.text, "unknown 4"), "%s", report.text);
    vin_dae_destroy(dae);
    test_pairs_free(&p);
  }
}

/* Index of B y' = A y for the three canonical pencils of size 2 (Weierstrass), turned by regular
 * matrices so that no row or column is zero: nilpotent blocks of size 1 (index 1) and 2 (index 2),
 * and none (index 0). */
static int linear(void *user, double t, const double *y, double *f) {
  const double *a = user;
  (void)t;
  for (int i = 0; i < 2; i++) f[i] = a[2 * i] * y[0] + a[2 * i + 1] * y[1];
  return 0;
}

Test(dae_check, index_of_general_problems) {
  if (!vini_rank_available()) return;
  static const struct {
    double b[4], a[4];
    vin_status status;
    vin_int rank;
  } cases[] = {
      /* P = [1 2; 3 4], Q = [2 1; 1 1]; P diag(1, 0) Q and P diag(-1, 1) Q */
      {{2, 1, 6, 3}, {0, 1, -2, 1}, VIN_OK, 3},
      /* P [0 1; 0 0] Q and P Q */
      {{1, 1, 3, 3}, {4, 3, 10, 7}, VIN_SINGULAR, 2},
      /* B regular */
      {{1, 2, 3, 4}, {0, 0, 0, 0}, VIN_OK, 4},
  };
  static const vin_int row[4] = {0, 0, 1, 1}, col[4] = {0, 1, 0, 1};
  for (int k = 0; k < 3; k++) {
    double a[4], y[2] = {1, 1};
    memcpy(a, cases[k].a, sizeof a);
    vin_dae_desc desc = vin_dae_desc_default();
    desc.unknowns = 2, desc.function = linear, desc.user = a;
    desc.mass_pattern = desc.jacobian_pattern = (vin_triplets){4, row, col};
    desc.mass_values = cases[k].b;
    vin_dae *dae = NULL;
    vin_dae_index_report report;
    cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
    cr_expect_eq(vin_dae_differential(dae), -1);
    cr_expect_eq(vin_dae_index_check(dae, 0, y, 0, &report), cases[k].status, "%d: %s", k,
                 report.text);
    cr_expect_eq(report.rank, cases[k].rank, "%d: %s", k, report.text);
    cr_expect(report.dependent < (cases[k].status == VIN_OK ? 0 : 2), "%d", (int)report.dependent);
    vin_dae_destroy(dae);
  }
}
