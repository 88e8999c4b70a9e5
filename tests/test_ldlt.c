/* test_ldlt - the library's own LDL' on regular systems, against dense references. */
#include "test_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Textbook LDL' of the permuted dense matrix in long double: d and scale by unknown, and the
 * structural entries of L by symbolic elimination. */
static void dense_ldlt(const test_problem *p, double *d, double *scale, int64_t *nnz,
                       double *flops) {
  const size_t n = (size_t)(p->n + p->m);
  double *a = test_problem_dense(p);
  long double *w = calloc(n * n, sizeof *w), *s = calloc(n, sizeof *s);
  bool *fill = calloc(n * n, sizeof *fill);
  const vin_csc csc = vin_sparse_view(p->matrix);
  bool *pattern = calloc(n * n, sizeof *pattern);
  for (vin_int j = 0; j < csc.cols; j++)
    for (vin_int k = csc.start[j]; k < csc.start[j + 1]; k++)
      pattern[(size_t)csc.row[k] * n + (size_t)j] = pattern[(size_t)j * n + (size_t)csc.row[k]] =
          true;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      w[i * n + j] = a[(size_t)p->order[i] * n + (size_t)p->order[j]];
      fill[i * n + j] = pattern[(size_t)p->order[i] * n + (size_t)p->order[j]];
    }
  for (size_t k = 0; k < n; k++) s[k] = fabsl(w[k * n + k]);
  *nnz = 0;
  *flops = 0.0;
  for (size_t k = 0; k < n; k++) {
    double count = 0;
    for (size_t i = k + 1; i < n; i++) {
      if (!fill[i * n + k]) continue;
      count++;
      const long double l = w[i * n + k] / w[k * n + k];
      s[i] += fabsl(l * w[i * n + k]);
      for (size_t j = k + 1; j < n; j++)
        if (fill[j * n + k]) {
          w[i * n + j] -= l * w[j * n + k];
          fill[i * n + j] = true;
        }
    }
    *nnz += (int64_t)count;
    *flops += count * (count + 3);
    d[p->order[k]] = (double)w[k * n + k];
    scale[p->order[k]] = (double)s[k];
  }
  free(a);
  free(w);
  free(s);
  free(fill);
  free(pattern);
}

/* Everything that must hold of a regular system: pivots, scales, counts, inertia, solution. */
static void check_against_dense(test_problem *p, double tolerance) {
  const vin_int size = p->n + p->m;
  const size_t length = (size_t)size;
  cr_assert_eq(test_problem_factor(p), VIN_OK, "%s", vini_text(p->object));
  double *d = calloc(4 * length, sizeof *d), *scale = d + length, *d_ref = scale + length,
         *scale_ref = d_ref + length, flops, predicted_flops;
  int64_t nnz, predicted;
  dense_ldlt(p, d_ref, scale_ref, &nnz, &flops);
  cr_assert(p->backend->table->pivots(p->backend, d, scale));
  double ratio = INFINITY, smallest = INFINITY, largest = 0;
  for (size_t k = 0; k < length; k++) { /* a pivot carries rounding relative to its scale */
    cr_expect_lt(fabs(d[k] - d_ref[k]), tolerance * scale_ref[k], "pivot %zu", k);
    cr_expect_lt(fabs(scale[k] - scale_ref[k]), tolerance * scale_ref[k], "scale %zu", k);
    ratio = fmin(ratio, fabs(d[k]) / scale[k]);
    smallest = fmin(smallest, fabs(d[k]));
    largest = fmax(largest, fabs(d[k]));
  }
  const vini_factor_info told = test_problem_info(p);
  cr_expect_eq(told.negative, p->m);
  cr_expect_eq(told.zero, 0);
  cr_expect_eq(told.nnz_factor, nnz);
  cr_expect_float_eq(told.flops, flops, 0.5);
  cr_expect_float_eq(told.min_pivot_ratio, ratio, 1e-14 * ratio);
  cr_expect_float_eq(told.rcond, smallest / largest, 1e-14 * told.rcond);
  cr_assert_eq(vini_predict_ldlt(p->object, p->matrix, p->order, &predicted, &predicted_flops),
               VIN_OK);
  cr_expect_eq(predicted, nnz);
  cr_expect_float_eq(predicted_flops, flops, 0.5);

  double *a = test_problem_dense(p), *b = test_random_vector(size, 5),
         *x = calloc(length, sizeof *x), *exact = calloc(length, sizeof *exact);
  memcpy(x, b, length * sizeof *x);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_assert(test_dense_solve(size, a, b, exact));
  cr_expect_lt(test_max_difference(size, x, exact), tolerance * test_max_abs(size, exact));
  free(a);
  free(b);
  free(x);
  free(exact);
  free(d);
}

/* 1e-9: the systems are conditioned to about 1e3, pivots cancel by less than that. */
Test(ldlt, random_kkt_systems_match_the_dense_reference) {
  for (uint64_t seed = 1; seed <= 40; seed++)
    for (int shape = 0; shape < 4; shape++) {
      test_problem *p = test_problem_random(seed, shape & 1, shape & 2);
      check_against_dense(p, 1e-9);
      test_problem_free(p);
    }
}

Test(ldlt, chains_and_trees_match_the_dense_reference) {
  test_problem *p = test_problem_chain(40, NULL);
  check_against_dense(p, 1e-9);
  test_problem_free(p);
  test_random random = {3};
  for (int tree = 0; tree < 5; tree++) {
    vin_int parent[60];
    parent[0] = 0;
    for (vin_int k = 1; k < 60; k++) parent[k] = test_random_below(&random, k);
    p = test_problem_rods(60, parent, NULL);
    check_against_dense(p, 1e-9);
    test_problem_free(p);
  }
}

/* Bodies of 6 coordinates, the last three coupled, on ball joints: panels of three coupled columns.
 */
Test(ldlt, ball_joint_chain_matches_the_dense_reference) {
  test_random random = {17};
  const vin_int bodies = 25;
  test_problem *p = test_problem_new(6 * bodies, 3 * bodies);
  for (vin_int b = 0; b < bodies; b++)
    for (vin_int i = 0; i < 6; i++) {
      test_problem_put(p, 6 * b + i, 6 * b + i, test_random_between(&random, 2.0, 3.0));
      for (vin_int j = 3; j < i; j++) test_problem_put(p, 6 * b + i, 6 * b + j, 0.3);
    }
  for (vin_int b = 0; b < bodies; b++)
    for (vin_int r = 0; r < 3; r++)
      for (vin_int side = b == 0; side < 2; side++) {
        const vin_int body = b - 1 + side;
        test_problem_put(p, p->n + 3 * b + r, 6 * body + r, side ? 1.0 : -1.0);
        for (vin_int i = 1; i < 3; i++)
          test_problem_put(p, p->n + 3 * b + r, 6 * body + 3 + (r + i) % 3,
                           test_random_between(&random, -1, 1));
      }
  test_problem_order_natural(p);
  check_against_dense(p, 1e-9);
  test_problem_free(p);
}

Test(ldlt, nets_match_the_dense_reference) {
  for (vin_int side = 2; side <= 9; side++) {
    test_problem *p = test_problem_net(side);
    check_against_dense(p, 1e-8);
    test_problem_free(p);
  }
}

/* Large enough for panels of full width on top of each other. */
Test(ldlt, large_net_solves_to_rounding) {
  test_problem *p = test_problem_net(40);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  cr_expect_eq(test_problem_info(p).negative, p->m);
  const vin_int size = p->n + p->m;
  double *b = test_random_vector(size, 9), *x = test_random_vector(size, 9);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_expect_lt(test_problem_residual(p, x, b), 1e-9);
  free(b);
  free(x);
  test_problem_free(p);
}

/* Dense and banded positive definite matrices: wide coupled panels, cut at the width limit. */
Test(ldlt, positive_definite_without_constraints) {
  const vin_int sizes[] = {1, 2, 3, 4, 5, 8, 9, 13, 47, 48, 49, 97, 150};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (vin_int band = 1; band <= 200; band = 3 * band + 2) {
      test_random random = {k + 1};
      test_problem *p = test_problem_new(sizes[k], 0);
      for (vin_int i = 0; i < p->n; i++)
        for (vin_int j = 0; j <= i; j++)
          if (i - j <= band)
            test_problem_put(p, i, j,
                             i == j ? 2.0 * (double)p->n : test_random_between(&random, -1, 1));
      test_problem_order_natural(p);
      check_against_dense(p, 1e-12);
      test_problem_free(p);
    }
}

/* Rows judged by their own scale, as the mass ratio is invisible to a norm of everything. */
Test(ldlt, mass_ratios_up_to_1e16) {
  double mass[30];
  for (int pattern = 0; pattern < 3; pattern++) {
    for (int k = 0; k < 30; k++)
      mass[k] = pattern == 0 ? pow(10.0, k % 17 - 6) : (k % 2) == (pattern == 1) ? 1e10 : 1e-6;
    test_problem *p = test_problem_chain(30, mass);
    cr_assert_eq(test_problem_factor(p), VIN_OK);
    cr_expect_eq(test_problem_info(p).negative, p->m);
    const vin_int size = p->n + p->m;
    double *b = test_random_vector(size, 7), *x = test_random_vector(size, 7);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
    cr_expect_lt(test_problem_residual(p, x, b), 1e-10, "pattern %d: %g", pattern,
                 test_problem_residual(p, x, b));
    free(b);
    free(x);
    test_problem_free(p);
  }
}

Test(ldlt, several_right_hand_sides_equal_single_ones_bit_for_bit) {
  test_problem *problems[] = {test_problem_net(9), test_problem_chain(30, NULL),
                              test_problem_random(5, true, true)};
  for (size_t which = 0; which < 3; which++) {
    test_problem *p = problems[which];
    const vin_int size = p->n + p->m;
    const size_t length = (size_t)size;
    cr_assert_eq(test_problem_factor(p), VIN_OK);
    double *single = test_random_vector(11 * size, 8), *many = calloc(11 * length, sizeof *many);
    double *b = test_random_vector(11 * size, 8);
    for (size_t k = 0; k < 11; k++)
      cr_assert_eq(p->backend->table->solve(p->backend, 1, single + k * length), VIN_OK);
    for (vin_int count = 0; count <= 11; count++) {
      memcpy(many, b, 11 * length * sizeof *many);
      cr_assert_eq(p->backend->table->solve(p->backend, count, many), VIN_OK);
      const size_t solved = (size_t)count * length;
      cr_expect_eq(memcmp(many, single, solved * sizeof *many), 0);
      cr_expect_eq(memcmp(many + solved, b + solved, (11 * length - solved) * sizeof *many), 0);
    }
    free(single);
    free(many);
    free(b);
    test_problem_free(p);
  }
}

Test(ldlt, one_unknown) {
  test_problem *p = test_problem_new(1, 0);
  test_problem_put(p, 0, 0, -4.0);
  test_problem_order_natural(p);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  double x = 2.0;
  cr_assert_eq(p->backend->table->solve(p->backend, 1, &x), VIN_OK);
  cr_expect_eq(x, -0.5);
  const vini_factor_info told = test_problem_info(p);
  cr_expect_eq(told.negative, 1);
  cr_expect_eq(told.nnz_factor, 0);
  cr_expect_eq(told.min_pivot_ratio, 1.0);
  cr_expect_eq(told.rcond, 1.0);
  cr_expect_gt(told.bytes, 0);
  cr_expect_eq(p->backend->table->solver, VIN_SOLVER_LDLT);
  cr_expect_eq(strncmp(p->backend->table->describe(p->backend), "ldlt", 4), 0);
  test_problem_free(p);
}

Test(ldlt, order_is_chosen_when_none_is_given) {
  test_problem *p = test_problem_new(50, 0);
  for (vin_int k = 0; k < 50; k++) { /* arrow, hub first: the natural order fills completely */
    test_problem_put(p, k, k, 60.0);
    if (k) test_problem_put(p, k, 0, 1.0);
  }
  test_problem_compress(p);
  cr_assert_eq(vini_ldlt_create(&p->backend, p->object, p->matrix, NULL), VIN_OK);
  cr_expect_eq(test_problem_info(p).nnz_factor, 49);
  double *b = test_random_vector(50, 1), *x = test_random_vector(50, 1);
  cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_OK);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_expect_lt(test_problem_residual(p, x, b), 1e-14);
  free(b);
  free(x);
  test_problem_free(p);
}
