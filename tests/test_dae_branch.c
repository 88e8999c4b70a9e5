/* The branch z = psi(t, x), its derivatives, and what a residual says about an error. */
#include "dae_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_branch);

static vin_branch *branch_of(vin_dae *dae) {
  vin_branch *branch = NULL;
  vin_status status = vin_branch_create(&branch, NULL, dae, NULL);
  cr_assert_eq(status, VIN_OK, "%s", vin_branch_error(branch));
  return branch;
}

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
