/* test_ldlt_wide - wide panels of the LDL': both versions of their arithmetic against plain sums, and lattices,
 * whose panels are wide and whose rows have gaps. */
#include "linsys/ldlt_kernel.h"
#include "linsys/ldlt_lanes_kernel.h"
#include "linsys/ldlt_plan.h"
#include "test_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One update with random numbers, rows of the target with or without gaps. Every number that must change is
 * compared with a sum in long double (48 products of numbers below 1: 1e-14 is 45 roundings), every other one
 * must keep its bits. */
static void check_update(vin_int rows, vin_int width, vin_int length, bool gaps, bool plain) {
  const vin_int ld = rows + 3, strips = (length + VINI_WIDE_COLUMNS - 1) / VINI_WIDE_COLUMNS;
  const vin_int packed = strips * VINI_WIDE_COLUMNS * width, ld_y = 2 * rows + 1;
  double *u = test_random_vector(ld * width, 1), *l = test_random_vector(packed, 2);
  double *y = test_random_vector(length * 2 * ld_y, 3),
         *before = test_random_vector(length * 2 * ld_y, 3);
  vin_int *storage = calloc((size_t)rows, sizeof *storage);
  for (vin_int i = 0; i < rows; i++) storage[i] = gaps ? i + i / 3 : i;
  vini_choose_wide_kernel(plain)(&(vini_wide_update){.u = u,
                                                     .l = l,
                                                     .ld = ld,
                                                     .rows = rows,
                                                     .width = width,
                                                     .length = length,
                                                     .y = y,
                                                     .ld_y = ld_y,
                                                     .storage = gaps ? storage : NULL});
  for (vin_int j = 0; j < length; j++)
    for (vin_int i = j + 1; i < rows; i++) {
      long double sum = 0;
      for (vin_int k = 0; k < width; k++)
        sum += (long double)u[i + k * ld] *
               l[(j / VINI_WIDE_COLUMNS * width + k) * VINI_WIDE_COLUMNS + j % VINI_WIDE_COLUMNS];
      const vin_int at = storage[j] * ld_y + storage[i];
      cr_assert_lt(fabs(y[at] - (double)(before[at] - sum)), 1e-14, "(%d, %d) of %d x %d, width %d",
                   i, j, rows, length, width);
      y[at] = before[at];
    }
  cr_assert_eq(memcmp(y, before, (size_t)(length * 2 * ld_y) * sizeof *y), 0);
  free(u);
  free(l);
  free(y);
  free(before);
  free(storage);
}

Test(ldlt_wide, updates_are_right_and_touch_nothing_else) {
  const vin_int widths[] = {1, 8, 47, VINI_LDLT_MAX_WIDTH};
  for (int version = 0; version < 4; version++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
      for (vin_int rows = 1; rows <= 50; rows += rows < 28 ? 1 : 11)
        for (vin_int length = 1; length <= rows && length <= VINI_LDLT_MAX_WIDTH;
             length += length < 10 ? 1 : 13)
          check_update(rows, widths[w], length, version & 1, version & 2);
}

/* side x side x side points with diagonal masses, a rod along each edge, directions at random. */
static test_problem *lattice(vin_int side) {
  const vin_int step[] = {1, side, side * side}, points = side * side * side;
  test_problem *p = test_problem_new(3 * points, 3 * (points - side * side));
  test_random random = {11};
  for (vin_int k = 0; k < p->n; k++) test_problem_put(p, k, k, test_random_between(&random, 1, 2));
  vin_int rod = p->n;
  for (vin_int q = 0; q < points; q++)
    for (int d = 0; d < 3; d++) {
      if (q / step[d] % side == 0) continue;
      for (vin_int k = 0; k < 3; k++) {
        const double part = test_random_between(&random, -1, 1);
        test_problem_put(p, rod, 3 * (q - step[d]) + k, part);
        test_problem_put(p, rod, 3 * q + k, -part);
      }
      rod++;
    }
  test_problem_order_natural(p);
  return p;
}

/* Both versions give the inertia and solve to rounding; their bits may differ. */
Test(ldlt_wide, lattices_solve_to_rounding) {
  for (vin_int side = 8; side <= 10; side++) {
    test_problem *p = lattice(side);
    const vin_int size = p->n + p->m;
    cr_assert_eq(test_problem_factor(p), VIN_OK, "%s", vini_text(p->object));
    cr_assert(!vini_is_fronts(p->backend) && !vini_is_lanes(p->backend), "side %d: %s", side,
              p->backend->table->describe(p->backend));
    for (int plain = 0; plain < 2; plain++) {
      ((vini_ldlt *)p->backend)->wide = vini_choose_wide_kernel(plain);
      cr_assert_eq(test_problem_factor(p), VIN_OK, "%s", vini_text(p->object));
      cr_expect_eq(test_problem_info(p).negative, p->m);
      double *b = test_random_vector(size, 9), *x = test_random_vector(size, 9);
      cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
      cr_expect_lt(test_problem_residual(p, x, b), 1e-10, "side %d: %g", side,
                   test_problem_residual(p, x, b));
      free(b);
      free(x);
    }
    test_problem_free(p);
  }
}
