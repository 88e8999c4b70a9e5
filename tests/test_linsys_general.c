/* test_linsys_general - the solvers for general matrices, with A and with A': against dense elimination, bad
 * input, singular matrices, counters, failed allocations. */
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(linsys_general);

static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_UMFPACK, VIN_SOLVER_KLU};
enum { SOLVERS = sizeof solvers / sizeof *solvers, N = 60, COUNT = 5 * N };

static bool usable(vin_solver solver) {
  bool any = vin_solver_available(VIN_SOLVER_UMFPACK) || vin_solver_available(VIN_SOLVER_KLU);
  return solver == VIN_SOLVER_AUTO ? any : vin_solver_available(solver);
}

/* A cyclic band that is not symmetric in pattern or values, and a few entries far off. */
typedef struct problem {
  vin_int row[COUNT], col[COUNT];
  double value[COUNT], dense[N * N];
} problem;

static void make(problem *p, uint64_t seed) {
  test_random random = {seed};
  vin_int at = 0;
  for (vin_int i = 0; i < N; i++) {
    const vin_int col[5] = {i, (i + 1) % N, (i + 3) % N, test_random_below(&random, N), i};
    for (int k = 0; k < 5; k++, at++) {
      p->row[at] = i, p->col[at] = col[k];
      p->value[at] = test_random_between(&random, -1, 1) * (k == 1 ? 1e3 : 1);
    }
  }
  test_dense_from_triplets(N, N, (vin_triplets){COUNT, p->row, p->col}, VIN_STORAGE_GENERAL,
                           p->value, p->dense);
}

static vin_linsys *create(const problem *p, vin_solver solver) {
  vin_linsys *s = NULL;
  vin_linsys_options options = vin_linsys_options_default();
  options.solver = solver;
  cr_assert_eq(vin_linsys_create(&s, NULL, N, (vin_triplets){COUNT, p->row, p->col}, &options),
               VIN_OK, "%s", vin_linsys_error(s));
  return s;
}

/* Backward error of a verified solve, 1e-12 of |A||x|: the solution is multiplied back in long double. */
Test(linsys_general, both_systems_of_one_factorisation) {
  for (int k = 0; k < SOLVERS; k++) {
    if (!usable(solvers[k])) continue;
    problem p;
    make(&p, 3);
    vin_linsys *s = create(&p, solvers[k]);
    for (uint64_t seed = 3; seed < 6; seed++) { /* new values on the same pattern */
      problem next;
      make(&next, seed);
      memcpy(next.row, p.row, sizeof p.row), memcpy(next.col, p.col, sizeof p.col);
      test_dense_from_triplets(N, N, (vin_triplets){COUNT, p.row, p.col}, VIN_STORAGE_GENERAL,
                               next.value, next.dense);
      cr_assert_eq(vin_linsys_factor(s, next.value), VIN_OK, "%s", vin_linsys_error(s));
      double b[2 * N], x[2 * N], back[N];
      test_random random = {seed + 10};
      test_random_fill(&random, 2 * N, b);
      for (int transposed = 0; transposed < 2; transposed++) {
        vin_status status =
            transposed ? vin_linsys_solve_transposed(s, 2, b, x) : vin_linsys_solve(s, 2, b, x);
        cr_assert_eq(status, VIN_OK, "%s", vin_linsys_error(s));
        for (int c = 0; c < 2; c++) {
          if (transposed)
            test_dense_multiply_transposed(N, N, next.dense, x + c * N, back);
          else
            test_dense_multiply(N, N, next.dense, x + c * N, back);
          double scale = 3e3 * test_max_abs(N, x + c * N) + 1;
          cr_expect_leq(test_max_difference(N, back, b + c * N), 1e-12 * scale, "%s, transposed %d",
                        vin_solver_name(solvers[k]), transposed);
        }
      }
    }
    vin_linsys_info info = vin_linsys_get_info(s);
    cr_expect_eq(info.symbolic_count, 1);
    cr_expect_eq(info.numeric_count, 3);
    cr_expect_eq(info.solve_count, 12);
    cr_expect_gt(info.nnz_factor, N);
    cr_expect_gt(info.rcond, 0);
    vin_linsys_destroy(s);
  }
}

/* Symmetric storage: A' = A, with every solver that takes it. */
Test(linsys_general, symmetric_storage_is_its_own_transpose) {
  static const vin_int row[] = {0, 1, 1, 2, 2}, col[] = {0, 0, 1, 1, 2};
  const double value[] = {4, 1, 3, -1, 5}, b[3] = {1, 2, 3};
  static const vin_solver all[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                   VIN_SOLVER_UMFPACK};
  for (int k = 0; k < 4; k++) {
    if (!vin_solver_available(all[k])) continue;
    vin_linsys *s = NULL;
    vin_linsys_options options = vin_linsys_options_default();
    options.solver = all[k], options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
    cr_assert_eq(vin_linsys_create(&s, NULL, 3, (vin_triplets){5, row, col}, &options), VIN_OK);
    cr_assert_eq(vin_linsys_factor(s, value), VIN_OK);
    double x[3], y[3];
    cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_OK);
    cr_assert_eq(vin_linsys_solve_transposed(s, 1, b, y), VIN_OK);
    cr_expect_arr_eq(x, y, sizeof x);
    vin_linsys_destroy(s);
  }
}

Test(linsys_general, bad_input_and_singular_matrices) {
  problem p;
  make(&p, 4);
  double b[N] = {0}, x[N] = {0};
  for (int k = 0; k < SOLVERS; k++) {
    if (!usable(solvers[k])) continue;
    vin_linsys *s = create(&p, solvers[k]);
    cr_expect_eq(vin_linsys_solve_transposed(s, 1, b, x), VIN_ERR_BAD_STATE);
    cr_assert_eq(vin_linsys_factor(s, p.value), VIN_OK);
    b[7] = NAN;
    cr_expect_eq(vin_linsys_solve_transposed(s, 1, b, x), VIN_ERR_BAD_INPUT);
    cr_expect_not_null(strstr(vin_linsys_error(s), "row 7"));
    b[7] = 1;
    cr_expect_eq(vin_linsys_solve_transposed(s, 1, b, NULL), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_linsys_solve_transposed(s, -1, b, x), VIN_ERR_BAD_INPUT);
    double singular[COUNT];
    memcpy(singular, p.value, sizeof singular);
    for (int e = 0; e < COUNT; e++)
      if (p.row[e] == 5) singular[e] = 0; /* an empty row, whose pattern stays */
    cr_expect_eq(vin_linsys_factor(s, singular), VIN_SINGULAR, "%s", vin_solver_name(solvers[k]));
    cr_expect_eq(vin_linsys_solve_transposed(s, 1, b, x), VIN_ERR_BAD_STATE);
    singular[0] = NAN;
    cr_expect_eq(vin_linsys_factor(s, singular), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_linsys_factor(s, p.value), VIN_OK); /* usable again */
    cr_expect_eq(vin_linsys_solve_transposed(s, 1, b, x), VIN_OK);
    vin_linsys_destroy(s);
  }
  cr_expect_eq(vin_linsys_solve_transposed(NULL, 1, b, x), VIN_ERR_BAD_INPUT);
}

/* What a build lacks is said, and what to do about it. */
Test(linsys_general, missing_solvers_are_named) {
  problem p;
  make(&p, 5);
  for (int k = 0; k < SOLVERS; k++) {
    if (usable(solvers[k])) continue;
    vin_linsys *s = NULL;
    vin_linsys_options options = vin_linsys_options_default();
    options.solver = solvers[k];
    cr_expect_eq(vin_linsys_create(&s, NULL, N, (vin_triplets){COUNT, p.row, p.col}, &options),
                 VIN_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(vin_linsys_error(s), "this build"), "%s", vin_linsys_error(s));
    if (solvers[k] == VIN_SOLVER_AUTO)
      cr_expect_not_null(strstr(vin_linsys_error(s), "VINCULA_KLU=ON"), "%s", vin_linsys_error(s));
    vin_linsys_destroy(s);
  }
  vin_solver solver;
  cr_expect_eq(vin_solver_from_name(&solver, "klu"), VIN_OK);
  cr_expect_eq(solver, VIN_SOLVER_KLU);
  if (!vin_solver_available(VIN_SOLVER_KLU)) return;
  vin_linsys *s = NULL;
  vin_linsys_options options = vin_linsys_options_default();
  options.solver = VIN_SOLVER_KLU, options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
  static const vin_int zero[] = {0};
  cr_expect_eq(vin_linsys_create(&s, NULL, 1, (vin_triplets){1, zero, zero}, &options),
               VIN_ERR_BAD_INPUT);
  vin_linsys_destroy(s);
}

Test(linsys_general, every_allocation_may_fail) {
  problem p;
  make(&p, 6);
  for (int k = 0; k < SOLVERS; k++) {
    if (!usable(solvers[k])) continue;
    for (int64_t at = 1;; at++) {
      test_allocator allocator = {.fail_at = at};
      vin_context context = test_context(&allocator);
      vin_linsys *s = NULL;
      vin_linsys_options options = vin_linsys_options_default();
      options.solver = solvers[k];
      double b[3 * N] = {1, 2, 3}, x[3 * N];
      vin_status status =
          vin_linsys_create(&s, &context, N, (vin_triplets){COUNT, p.row, p.col}, &options);
      if (status == VIN_OK) status = vin_linsys_factor(s, p.value);
      if (status == VIN_OK) status = vin_linsys_solve_transposed(s, 3, b, x);
      cr_expect_eq(status, allocator.calls < at ? VIN_OK : VIN_ERR_NO_MEMORY);
      vin_linsys_destroy(s);
      cr_assert_eq(allocator.live, 0);
      if (allocator.calls < at) break;
    }
  }
}
