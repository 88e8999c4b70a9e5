/* test_ldlt_points - runs of point masses, which are eliminated in groups of four links, against a dense
 * elimination in long double in the same order, and against the way of single links. */
#include "linsys/ldlt_kernel.h"
#include "test_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 57, SIZE = 4 * POINTS, MULTIPLIERS = 3 * POINTS };

/* Pivots and what was added up to them, by unknowns. */
typedef struct pivots {
  double d[SIZE], scale[SIZE];
} pivots;

/* A chain hung from the ground, of mass[3 c + i] at coordinate i of point c, numbered from the ground on or
 * from the free end on. */
static test_problem *chain(const double *mass, bool from_the_end) {
  test_random random = {11};
  test_problem *p = test_problem_new(3 * POINTS, POINTS);
  vin_int sequence[POINTS];
  for (vin_int c = 0; c < POINTS; c++) {
    const vin_int here = from_the_end ? POINTS - 1 - c : c, up = from_the_end ? here + 1 : c - 1;
    for (vin_int i = 0; i < 3; i++) {
      const double entry = (i == c / 8 % 3) + test_random_between(&random, -0.4, 0.4);
      test_problem_put(p, 3 * here + i, 3 * here + i, mass[3 * c + i]);
      test_problem_put(p, p->n + here, 3 * here + i, entry);
      if (c > 0) test_problem_put(p, p->n + here, 3 * up + i, -entry);
    }
    test_problem_put(p, p->n + here, p->n + here, 0);
    sequence[POINTS - 1 - c] = here;
  }
  test_problem_order(p, sequence);
  test_problem_factor(p);
  cr_assert(vini_is_fronts(p->backend), "the kernel must be taken, or this tests nothing");
  const vini_front_plan *plan = &((vini_fronts *)p->backend)->plan;
  cr_assert_eq(plan->run_count, 1);
  cr_assert_eq(plan->run[0].kind, VINI_FRONT_POINT);
  cr_assert_geq(plan->run[0].count, POINTS - 8, "%d links in the run", (int)plan->run[0].count);
  return p;
}

static void random_masses(double *mass, double low, double high, bool alike) {
  test_random random = {29};
  for (int k = 0; k < 3 * POINTS; k++) {
    const double decade = test_random_between(&random, low, high);
    mass[k] = alike && k % 3 > 0 ? mass[k - 1] : pow(10, decade);
  }
}

/* The entry at (a, b) in the values of the matrix. */
static double *entry_at(test_problem *p, vin_int a, vin_int b) {
  const vin_int row = a > b ? a : b, column = a > b ? b : a;
  for (vin_int at = p->matrix->start[column]; at < p->matrix->start[column + 1]; at++) {
    if (p->matrix->row[at] == row) return &p->matrix->value[at];
  }
  cr_assert_fail("there is no entry (%d, %d)", (int)a, (int)b);
  return NULL;
}

/* Elimination of the dense matrix in the problem's order. A multiplier whose pivot is below `threshold` of
 * its scale, or 0, is left out: d is 0 then. */
static void eliminate_densely(const test_problem *p, double threshold, pivots *result) {
  double *dense = test_problem_dense(p);
  long double *f = calloc((size_t)SIZE * SIZE, sizeof *f), scale[SIZE];
  for (int j = 0; j < SIZE; j++) {
    for (int i = 0; i < SIZE; i++) {
      f[j * SIZE + i] = (long double)dense[(ptrdiff_t)p->order[j] * SIZE + p->order[i]];
    }
    scale[j] = fabsl(f[j * SIZE + j]);
  }
  for (int k = 0; k < SIZE; k++) {
    const bool weak = p->order[k] >= p->n && fabsl(f[k * SIZE + k]) < threshold * scale[k];
    const long double d = weak ? 0 : f[k * SIZE + k];
    result->d[p->order[k]] = (double)d;
    result->scale[p->order[k]] = (double)scale[k];
    if (d == 0) continue;
    for (int i = k + 1; i < SIZE; i++) {
      const long double l = f[k * SIZE + i] / d;
      scale[i] += fabsl(l * f[k * SIZE + i]);
      for (int j = k + 1; l != 0 && j <= i; j++) f[j * SIZE + i] -= l * f[k * SIZE + j];
    }
  }
  free(dense);
  free(f);
}

static void expect_pivots(const test_problem *p, const pivots *expected, double tolerance,
                          const char *what) {
  pivots found;
  cr_assert(p->backend->table->pivots(p->backend, found.d, found.scale));
  for (vin_int k = 0; k < SIZE; k++) {
    cr_expect_leq(fabs(found.d[k] - expected->d[k]), tolerance * expected->scale[k],
                  "%s: pivot %d is %.17g instead of %.17g", what, (int)k, found.d[k],
                  expected->d[k]);
    cr_expect_leq(fabs(found.scale[k] - expected->scale[k]), tolerance * expected->scale[k],
                  "%s: scale %d is %.17g instead of %.17g", what, (int)k, found.scale[k],
                  expected->scale[k]);
  }
}

/* What is told of all pivots together. */
static void expect_info(const test_problem *p, const pivots *expected, double tolerance,
                        const char *what) {
  double least = HUGE_VAL, most = 0, ratio = HUGE_VAL;
  vin_int negative = 0, zero = 0;
  for (int k = 0; k < SIZE; k++) {
    const double size = fabs(expected->d[k]);
    negative += expected->d[k] < 0;
    zero += size == 0;
    if (size == 0) continue;
    least = fmin(least, size);
    most = fmax(most, size);
    ratio = fmin(ratio, size / expected->scale[k]);
  }
  const vini_factor_info info = test_problem_info(p);
  cr_expect_eq(info.negative, negative, "%s: %d", what, (int)info.negative);
  cr_expect_eq(info.zero, zero, "%s: %d", what, (int)info.zero);
  cr_expect_float_eq(info.rcond / (least / most), 1, tolerance / ratio, "%s", what);
  cr_expect_float_eq(info.min_pivot_ratio / ratio, 1, tolerance / ratio, "%s", what);
}

/* Solutions leave rounding in each row; of two right-hand sides each has the bits of a single one. */
static void expect_solution(const test_problem *p, vin_int left_out, double tolerance,
                            const char *what) {
  double *b = test_random_vector(2 * SIZE, 3), *x = calloc(2 * SIZE, sizeof *x), one[SIZE];
  if (left_out >= 0) b[left_out] = b[SIZE + left_out] = 0;
  memcpy(x, b, 2 * SIZE * sizeof *x);
  cr_assert_eq(p->backend->table->solve(p->backend, 2, x), VIN_OK);
  for (int k = 0; k < 2; k++) {
    memcpy(one, b + k * SIZE, sizeof one);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, one), VIN_OK);
    cr_assert_arr_eq(one, x + k * SIZE, sizeof one);
    if (left_out >= 0) cr_expect_eq(one[left_out], 0, "%s", what);
    const double residual = test_problem_residual(p, one, b + k * SIZE);
    cr_expect_leq(residual, tolerance, "%s: a row's residual is %g", what, residual);
  }
  free(b);
  free(x);
}

/* Factorises the present values in groups and link by link (a threshold that near lets no group pass; no
 * unknown may be dropped for it unless it is told to) and compares both with the dense elimination. */
static void check(test_problem *p, vin_int left_out, double tolerance, const char *what) {
  unsigned char droppable[SIZE] = {0};
  if (left_out >= 0) droppable[left_out] = 1;
  pivots expected;
  eliminate_densely(p, 0, &expected);
  for (int way = 0; way < 4; way++) {
    vini_fronts_choose_kernel((vini_fronts *)p->backend, way % 2 > 0);
    vini_ldlt_set_drop(p->backend, droppable, way < 2 ? 1e-12 : 0.9);
    cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_OK, "%s: %s", what,
                 vini_text(p->object));
    expect_pivots(p, &expected, tolerance, what);
    expect_info(p, &expected, tolerance, what);
    expect_solution(p, left_out, tolerance, what);
  }
}

/* Entries of size 1 and masses of a decade: pivots lose at most a digit, rows hold 7 terms. */
static const double rounding = 1e-14;

Test(ldlt_points, masses_alike_and_not) {
  double mass[3 * POINTS];
  for (int variant = 0; variant < 4; variant++) {
    random_masses(mass, -0.5, 0.5, variant % 2 == 0);
    test_problem *p = chain(mass, variant / 2 > 0);
    check(p, -1, rounding, "masses of a decade");
    test_problem_free(p);
  }
}

/* S then has entries of very different size. Pivots are as good as their terms; the rows of a light point next to
 * a heavy one have terms that nearly cancel, which costs digits of their residual, not of the pivots. */
Test(ldlt_points, mass_ratios) {
  double mass[3 * POINTS];
  random_masses(mass, -6, 10, true);
  test_problem *p = chain(mass, false);
  check(p, -1, 1e-12, "masses from 1e-6 to 1e10");
  test_problem_free(p);
}

/* Four of these at a time come near the ends of the range of numbers, or leave it. */
Test(ldlt_points, masses_far_from_one) {
  double mass[3 * POINTS];
  for (int decade = -100; decade <= 100; decade += 40) {
    char what[32];
    snprintf(what, sizeof what, "masses of 1e%d", decade);
    random_masses(mass, decade - 0.5, decade + 0.5, false);
    test_problem *p = chain(mass, false);
    check(p, -1, rounding, what);
    test_problem_free(p);
  }
}

/* In every lane of a group, and its neighbours are not disturbed. */
Test(ldlt_points, odd_masses_of_one_point) {
  const double odd[] = {-1.5, 1e-140, 1e140};
  double mass[3 * POINTS];
  random_masses(mass, -0.5, 0.5, true);
  test_problem *p = chain(mass, false);
  for (vin_int point = 20; point < 24; point++) {
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
      char what[64];
      snprintf(what, sizeof what, "mass %g of point %d", odd[k], (int)point);
      for (vin_int i = 0; i < 3; i++) *entry_at(p, 3 * point + i, 3 * point + i) = odd[k];
      check(p, -1, 1e-13, what);
    }
    for (vin_int i = 0; i < 3; i++) *entry_at(p, 3 * point + i, 3 * point + i) = 1;
  }
  test_problem_free(p);
}

Test(ldlt_points, dropped_row) {
  double mass[3 * POINTS];
  random_masses(mass, -0.5, 0.5, true);
  for (vin_int point = 20; point < 24; point++) {
    test_problem *p = chain(mass, false);
    for (vin_int i = 0; i < 6; i++) *entry_at(p, MULTIPLIERS + point, 3 * (point - 1) + i) = 0;
    check(p, MULTIPLIERS + point, rounding, "a row of zeros");
    const unsigned char *dropped = vini_ldlt_dropped(p->backend);
    for (vin_int k = 0; k < SIZE; k++) cr_assert_eq(dropped[k], k == MULTIPLIERS + point);
    test_problem_free(p);
  }
}

/* A threshold as high as this drops rows that are only close to others: some groups have one, some pass near it, and
 * most go at once. */
Test(ldlt_points, threshold) {
  double mass[3 * POINTS];
  unsigned char droppable[SIZE] = {0};
  random_masses(mass, -1, 1, true);
  test_problem *p = chain(mass, false);
  memset(droppable + p->n, 1, (size_t)p->m);
  for (int way = 0; way < 8; way++) {
    const double threshold = 0.05 * (1 << way / 2);
    pivots expected;
    vin_int zero = 0;
    eliminate_densely(p, threshold, &expected);
    vini_fronts_choose_kernel((vini_fronts *)p->backend, way % 2 > 0);
    vini_ldlt_set_drop(p->backend, droppable, threshold);
    cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_OK);
    const unsigned char *dropped = vini_ldlt_dropped(p->backend);
    for (vin_int k = 0; k < SIZE; k++) {
      cr_expect_eq(dropped[k], expected.d[k] == 0, "%d at %g", (int)k, threshold);
      zero += expected.d[k] == 0;
    }
    if (way == 7) cr_assert(zero > 3 && zero < POINTS / 2, "%d are dropped", (int)zero);
    expect_pivots(p, &expected, rounding, "rows dropped");
    expect_info(p, &expected, rounding, "rows dropped");
  }
  test_problem_free(p);
}

/* What cannot be inverted is named, and the next values find everything in order. */
Test(ldlt_points, breakdown) {
  const double odd[] = {0, 1e-310, NAN, HUGE_VAL};
  double mass[3 * POINTS];
  random_masses(mass, -0.5, 0.5, true);
  test_problem *p = chain(mass, false);
  for (vin_int point = 20; point < 24; point++) {
    for (size_t k = 0; k < 5 * sizeof odd / sizeof *odd; k++) {
      const vin_int i = (vin_int)(k % 5), fits = i < 3 ? 3 * point + i : MULTIPLIERS + point;
      double *entry = i < 4 ? entry_at(p, fits, fits) : entry_at(p, fits, 3 * point);
      const double before = *entry, bad = odd[k / 5];
      if (i > 2 && !isnan(bad)) continue; /* a zero there is in order; infinite are others, too */
      *entry = bad;
      for (int plain = 0; plain < 2; plain++) {
        vini_fronts_choose_kernel((vini_fronts *)p->backend, plain);
        char name[32];
        snprintf(name, sizeof name, "unknown %d ", (int)fits);
        cr_expect_eq(p->backend->table->factor(p->backend, p->matrix), VIN_SINGULAR, "%g", bad);
        cr_expect(strstr(vini_text(p->object), name), "%g: %s", bad, vini_text(p->object));
      }
      *entry = before;
    }
  }
  check(p, -1, rounding, "after breakdowns");
  test_problem_free(p);
}

/* Links before the first one with a right-hand side are passed over. */
Test(ldlt_points, right_hand_sides_of_one_entry) {
  double mass[3 * POINTS], x[SIZE], expected[SIZE];
  random_masses(mass, -0.5, 0.5, true);
  test_problem *p = chain(mass, false);
  double *dense = test_problem_dense(p);
  for (int k = 0; k < 2 * 4 * 4; k++) {
    const vin_int point = 20 + k / 2 % 4, i = k / 8;
    double b[SIZE] = {0};
    b[i < 3 ? 3 * point + i : MULTIPLIERS + point] = 1;
    vini_fronts_choose_kernel((vini_fronts *)p->backend, k % 2 > 0);
    memcpy(x, b, sizeof x);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
    cr_assert(test_dense_solve(SIZE, dense, b, expected));
    cr_expect_leq(test_max_difference(SIZE, x, expected), 1e-12 * test_max_abs(SIZE, expected));
  }
  free(dense);
  test_problem_free(p);
}
