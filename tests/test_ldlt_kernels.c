/* test_ldlt_kernels - the unrolled kernel for chains, in the version for this processor's vector units
 * and in the plain one, against a dense solve in long double and against each other. */
#include "linsys/ldlt_kernel.h"
#include "test_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 60 }; /* enough that the ends do not decide */

/* Coordinates of neighbouring points coupled as by massive rods: m/6 [2 1; 1 2]. Point and rod c of the
 * chain are number[c] of the problem. */
static test_problem *numbered_chain(vin_int points, const vin_int *number) {
  test_random random = {5};
  test_problem *p = test_problem_new(3 * points, points);
  for (vin_int c = 0; c < points; c++) {
    const vin_int here = 3 * number[c], before = c > 0 ? 3 * number[c - 1] : 0;
    for (vin_int i = 0; i < 3; i++) {
      const double entry = (i == 0) + test_random_between(&random, -0.4, 0.4);
      test_problem_put(p, here + i, here + i, c < points - 1 ? 4.0 / 6 : 2.0 / 6);
      test_problem_put(p, p->n + number[c], here + i, entry);
      if (c == 0) continue;
      const vin_int row = here > before ? here : before, col = here > before ? before : here;
      test_problem_put(p, row + i, col + i, 1.0 / 6);
      test_problem_put(p, p->n + number[c], before + i, -entry);
    }
  }
  return p;
}

static test_problem *massive_chain(void) {
  vin_int number[POINTS];
  for (vin_int c = 0; c < POINTS; c++) number[c] = c;
  return numbered_chain(POINTS, number);
}

/* Leaf to root: the free end first. */
static void order_from_the_end(test_problem *p) {
  vin_int sequence[POINTS];
  for (vin_int c = 0; c < POINTS; c++) sequence[c] = POINTS - 1 - c;
  test_problem_order(p, sequence);
}

static vini_fronts *fronts_of(test_problem *p) {
  order_from_the_end(p);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  cr_assert(vini_is_fronts(p->backend), "the kernel must be taken, or this tests nothing");
  return (vini_fronts *)p->backend;
}

/* Solutions agree with the dense one to rounding (condition below 1e5), inertia is right, two
 * right-hand sides give the bits of two single ones. */
static void check(test_problem *p, bool plain) {
  const vin_int size = p->n + p->m;
  vini_fronts_choose_kernel(fronts_of(p), plain);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  cr_assert_eq(test_problem_info(p).negative, p->m);
  double *dense = test_problem_dense(p), *b = test_random_vector(size, 3);
  double *expected = calloc((size_t)size, sizeof(double));
  double *both = calloc(2 * (size_t)size, sizeof(double)), *one = calloc((size_t)size, sizeof *one);
  cr_assert(test_dense_solve(size, dense, b, expected));
  for (int copy = 0; copy < 2; copy++) memcpy(both + copy * size, b, (size_t)size * sizeof *b);
  memcpy(one, b, (size_t)size * sizeof *b);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, one), VIN_OK);
  cr_assert_eq(p->backend->table->solve(p->backend, 2, both), VIN_OK);
  cr_assert_leq(test_max_difference(size, one, expected), 1e-12 * test_max_abs(size, expected));
  cr_assert_arr_eq(both, one, (size_t)size * sizeof *one);
  cr_assert_arr_eq(both + size, one, (size_t)size * sizeof *one);
  free(dense);
  free(b);
  free(expected);
  free(both);
  free(one);
}

Test(ldlt_kernels, chain_of_points) {
  for (int plain = 0; plain < 2; plain++) {
    test_problem *p = test_problem_chain(POINTS, NULL);
    check(p, plain);
    test_problem_free(p);
  }
}

Test(ldlt_kernels, chain_of_massive_rods) {
  for (int plain = 0; plain < 2; plain++) {
    test_problem *p = massive_chain();
    check(p, plain);
    test_problem_free(p);
  }
}

/* Factorisation and solve flush subnormal numbers; the caller's arithmetic has them again afterwards,
 * also after a breakdown. */
Test(ldlt_kernels, subnormal_numbers_are_given_back) {
  volatile double tiny = 1e-308;
  test_problem *p = massive_chain();
  fronts_of(p);
  cr_assert_gt(tiny / 16, 0);
  double *b = test_random_vector(p->n + p->m, 2);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, b), VIN_OK);
  cr_assert_gt(tiny / 16, 0);
  memset(p->matrix->value, 0, (size_t)p->matrix->start[p->n + p->m] * sizeof(double));
  cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_SINGULAR);
  cr_assert_gt(tiny / 16, 0);
  free(b);
  test_problem_free(p);
}

/* Fused multiply-add rounds once where plain code rounds twice: same pivots to a few roundings. */
Test(ldlt_kernels, versions_agree) {
  test_problem *p = massive_chain();
  const vin_int size = p->n + p->m;
  double *d[2], *scale[2];
  for (int plain = 0; plain < 2; plain++) {
    vini_fronts_choose_kernel(fronts_of(p), plain);
    cr_assert_eq(test_problem_factor(p), VIN_OK);
    d[plain] = calloc((size_t)size, sizeof(double));
    scale[plain] = calloc((size_t)size, sizeof(double));
    cr_assert(p->backend->table->pivots(p->backend, d[plain], scale[plain]));
  }
  for (vin_int k = 0; k < size; k++) {
    cr_assert_float_eq(d[0][k], d[1][k], 1e-13 * scale[0][k]);
    cr_assert_float_eq(scale[0][k], scale[1][k], 1e-13 * scale[0][k]);
  }
  for (int plain = 0; plain < 2; plain++) free(d[plain]), free(scale[plain]);
  test_problem_free(p);
}

/* Pivots and what was added up to them, which the links of a run do not store, are those of an elimination of
 * the dense matrix. 1e-13: some hundred roundings. */
Test(ldlt_kernels, pivots_of_rods) {
  test_problem *p = massive_chain();
  for (vin_int c = 0; c < POINTS; c++) test_problem_put(p, p->n + c, p->n + c, 0);
  const int size = (int)(p->n + p->m);
  double *f = calloc((size_t)size * (size_t)size, sizeof *f);
  double *d = calloc((size_t)size, sizeof *d), *scale = calloc((size_t)size, sizeof *scale);
  double *told = calloc((size_t)size, sizeof *told);
  const vini_front_plan *plan = &fronts_of(p)->plan;
  cr_assert_eq(plan->run_count, 1, "a run, or this tests nothing");
  cr_assert_eq(plan->run[0].kind, VINI_FRONT_ROD);
  double *dense = test_problem_dense(p);
  cr_assert(p->backend->table->pivots(p->backend, d, told));
  for (int j = 0; j < size; j++) {
    for (int i = 0; i < size; i++) f[j * size + i] = dense[p->order[j] * size + p->order[i]];
    scale[j] = fabs(f[j * size + j]);
  }
  for (int k = 0; k < size; k++) {
    const vin_int unknown = p->order[k];
    cr_assert_float_eq(d[unknown], f[k * size + k], 1e-13 * scale[k], "pivot %d", k);
    cr_assert_float_eq(told[unknown], scale[k], 1e-13 * scale[k], "scale %d", k);
    for (int i = k + 1; i < size; i++) {
      const double l = f[k * size + i] / f[k * size + k];
      scale[i] += fabs(l * f[k * size + i]);
      for (int j = k + 1; l != 0 && j <= i; j++) f[j * size + i] -= l * f[k * size + j];
    }
  }
  free(f), free(dense), free(d), free(scale), free(told);
  test_problem_free(p);
}

/* The last row of the chain entered twice would change its fronts; a row of zeros does not. It is
 * dropped where that is allowed, its multiplier is exactly 0, and it breaks the factorisation down,
 * naming the unknown, where it is not. */
Test(ldlt_kernels, dropped_row) {
  for (int plain = 0; plain < 2; plain++) {
    test_problem *p = massive_chain();
    const vin_int size = p->n + p->m, zero_row = p->n + POINTS / 2;
    vini_fronts *x = fronts_of(p);
    vini_fronts_choose_kernel(x, plain);
    vin_sparse *matrix = p->matrix;
    for (vin_int j = 0; j < size; j++) {
      for (vin_int at = matrix->start[j]; at < matrix->start[j + 1]; at++) {
        if (matrix->row[at] == zero_row) matrix->value[at] = 0;
      }
    }
    cr_assert_eq(p->backend->table->factor(p->backend, matrix), VIN_SINGULAR);
    char name[32];
    snprintf(name, sizeof name, "unknown %d ", (int)zero_row);
    cr_assert(strstr(vini_text(p->object), name), "%s", vini_text(p->object));
    unsigned char *droppable = calloc((size_t)size, 1);
    memset(droppable + p->n, 1, (size_t)p->m);
    vini_ldlt_set_drop(p->backend, droppable, 1e-11);
    cr_assert_eq(p->backend->table->factor(p->backend, matrix), VIN_OK);
    const unsigned char *dropped = vini_ldlt_dropped(p->backend);
    for (vin_int k = 0; k < size; k++) cr_assert_eq(dropped[k], k == zero_row);
    cr_assert_eq(test_problem_info(p).negative, p->m - 1);
    double *b = test_random_vector(size, 9);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, b), VIN_OK);
    cr_assert_eq(b[zero_row], 0);
    free(b);
    free(droppable);
    test_problem_free(p);
  }
}

/* Long enough for several blocks, and numbered so that runs go upwards, downwards and not at all. */
enum { LONG = 1500, THIRD = LONG / 3 };

static test_problem *long_chain(bool massive) {
  vin_int *number = calloc(LONG, sizeof *number), *sequence = calloc(LONG, sizeof *sequence);
  for (vin_int c = 0; c < LONG; c++) {
    number[c] = c < THIRD ? c : c < 2 * THIRD ? 3 * THIRD - 1 - c : 2 * THIRD + 7 * c % THIRD;
  }
  test_problem *p = massive ? numbered_chain(LONG, number) : test_problem_chain(LONG, NULL);
  /* as a saddle point has it: the kinds of links that make runs have this entry */
  for (vin_int c = 0; c < LONG; c++) test_problem_put(p, p->n + c, p->n + c, 0);
  for (vin_int c = 0; c < LONG; c++) sequence[c] = massive ? number[LONG - 1 - c] : LONG - 1 - c;
  test_problem_order(p, sequence);
  free(number);
  free(sequence);
  return p;
}

/* Every column is in a run or a front, and the solution leaves a residual of rounding: rows hold at most
 * 13 terms below 2 |x|, each rounded some times. The residual is formed with the matrix, not the plan.
 */
static void check_long(test_problem *p, bool plain, vin_int least_runs) {
  const vin_int size = p->n + p->m;
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  cr_assert(vini_is_fronts(p->backend), "the kernel must be taken, or this tests nothing");
  vini_fronts *x = (vini_fronts *)p->backend;
  vini_fronts_choose_kernel(x, plain);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  vin_int columns = 0;
  for (vin_int f = 0; f < x->plan.front_count; f++) columns += x->plan.front[f].pivots;
  for (vin_int r = 0; r < x->plan.run_count; r++) columns += 4 * x->plan.run[r].count;
  cr_assert_eq(columns, size);
  cr_assert_geq(x->plan.run_count, least_runs, "%d runs, %d fronts", (int)x->plan.run_count,
                (int)x->plan.front_count);
  cr_assert_gt(x->plan.block_count, x->plan.run_count);
  cr_assert_eq(test_problem_info(p).negative, p->m);
  double *b = test_random_vector(2 * size, 3), *r = calloc(2 * (size_t)size, sizeof *r);
  double *one = calloc((size_t)size, sizeof *one);
  memcpy(r, b, 2 * (size_t)size * sizeof *r);
  memcpy(one, b + size, (size_t)size * sizeof *one);
  cr_assert_eq(p->backend->table->solve(p->backend, 2, b), VIN_OK);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, one), VIN_OK);
  cr_assert_arr_eq(b + size, one, (size_t)size * sizeof *one);
  for (int k = 0; k < 2; k++) {
    vin_sparse_multiply(p->matrix, -1, b + k * size, 1, r + k * size);
    cr_expect_leq(test_max_abs(size, r + k * size), 1e-12 * test_max_abs(size, b + k * size));
  }
  free(b);
  free(r);
  free(one);
  test_problem_free(p);
}

Test(ldlt_kernels, runs_and_blocks) {
  for (int plain = 0; plain < 2; plain++) {
    check_long(long_chain(true), plain, 2);
    check_long(long_chain(false), plain, 1);
  }
}
