/* test_linsys - every solver of the build against a dense long double reference and published
 * values; the reports of users (numbers in the names). */
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                     VIN_SOLVER_UMFPACK};
#define EACH_SOLVER(s)                                                                             \
  for (size_t s##_k = 0; s##_k < sizeof solvers / sizeof *solvers; s##_k++)                        \
    for (vin_solver s = solvers[s##_k], *s##_once = &s; s##_once && vin_solver_available(s);       \
         s##_once = NULL)

static vin_linsys *create(vin_solver solver, vin_storage storage, vin_int n, vin_triplets pattern,
                          const vin_int *order) {
  vin_linsys_options options = vin_linsys_options_default();
  options.solver = solver;
  options.storage = storage;
  options.order = order;
  vin_linsys *s = NULL;
  cr_assert_eq(vin_linsys_create(&s, NULL, n, pattern, &options), VIN_OK, "%s: %s",
               vin_solver_name(solver), vin_linsys_error(s));
  return s;
}

/* A random saddle-point system: diagonal masses between 1 and ratio, J of full row rank because its
 * row r has an entry near 1 at column r and small ones elsewhere. Multipliers come last, so that
 * LDL' in natural order exists. */
enum { MAX_N = 24, MAX_M = 10, MAX_SIZE = MAX_N + MAX_M, MAX_COUNT = MAX_N + MAX_N * MAX_M };
typedef struct saddle {
  vin_int n, m, size;
  vin_int row[MAX_COUNT], col[MAX_COUNT], order[MAX_SIZE];
  double value[MAX_COUNT], dense[MAX_SIZE * MAX_SIZE], b[MAX_SIZE];
  vin_triplets pattern;
} saddle;

static void saddle_values(saddle *s, test_random *random, double ratio) {
  for (vin_int k = 0; k < s->pattern.count; k++)
    s->value[k] =
        k < s->n ? pow(ratio, test_random_between(random, 0, 1))
                 : (s->row[k] - s->n == s->col[k] ? 1 : 0) + test_random_between(random, -0.2, 0.2);
  test_random_fill(random, s->size, s->b);
  test_dense_from_triplets(s->size, s->size, s->pattern, VIN_STORAGE_SYMMETRIC_LOWER, s->value,
                           s->dense);
}

static void saddle_make(saddle *s, test_random *random, double ratio) {
  s->n = 1 + test_random_below(random, MAX_N);
  s->m = test_random_below(random, vini_min_int(s->n, MAX_M) + 1);
  s->size = s->n + s->m;
  vin_int count = 0;
  for (vin_int i = 0; i < s->n; i++) s->row[count] = i, s->col[count++] = i;
  for (vin_int r = 0; r < s->m; r++)
    for (vin_int j = 0; j < s->n; j++)
      if (j == r || test_random_below(random, 4) == 0)
        s->row[count] = s->n + r, s->col[count++] = j;
  for (vin_int k = 0; k < s->size; k++) s->order[k] = k;
  s->pattern = (vin_triplets){count, s->row, s->col};
  saddle_values(s, random, ratio);
}

/* tests/reference/matrices/kkt_small.json, from the tests of osqp/qdldl: upper triangles by
 * columns; solutions printed with six digits. */
typedef struct published {
  const char *name;
  vin_int n, start[11], row[17];
  double value[17], b[10], x[10];
} published;
static const published cases[] = {
    {"osqp_kkt",
     7,
     {0, 1, 2, 5, 6, 7, 8, 12},
     {0, 1, 2, 1, 0, 3, 4, 5, 5, 6, 4, 3},
     {-0.25, -0.25, 1.0, 0.513578, 0.529142, -0.25, -0.25, 1.10274, 0.15538, 1.25883, 0.13458,
      0.621134},
     {-0.595598, -0.0193715, -0.576156, -0.168746, 0.61543, 0.419073, 1.31087},
     {1.13141, -1.1367, -0.591044, 1.68867, -2.24209, 0.32254, 0.407998}},
    {"basic",
     10,
     {0, 1, 2, 4, 5, 6, 8, 10, 12, 14, 17},
     {0, 1, 1, 2, 3, 4, 1, 5, 0, 6, 3, 7, 6, 8, 1, 2, 9},
     {1.0, 0.460641, -0.121189, 0.417928, 0.177828, 0.1, -0.0290058, -1.0, 0.350321, -0.441092,
      -0.0845395, -0.316228, 0.178663, -0.299077, 0.182452, -1.56506, -0.1},
     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
     {10.2171, 3.9416, -5.69096, 9.28661, 50.0, -6.11433, -26.3104, -27.7809, -45.8099, -3.74178}},
    {"two_by_two", 2, {0, 1, 3}, {0, 0, 1}, {1, 1, -1}, {2, 4}, {3, -1}},
    {"zero_on_diag", 3, {0, 1, 2, 5}, {0, 0, 0, 1, 2}, {4, 1, 2, 1, -3}, {6, 9, 12}, {17, -46, -8}},
};

Test(linsys, published_systems) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const published *p = &cases[c];
    vin_int row[17], col[17];
    for (vin_int j = 0; j < p->n; j++)
      for (vin_int k = p->start[j]; k < p->start[j + 1]; k++) row[k] = j, col[k] = p->row[k];
    vin_triplets pattern = {p->start[p->n], row, col};
    double dense[100], exact[10], x[10];
    test_dense_from_triplets(p->n, p->n, pattern, VIN_STORAGE_SYMMETRIC_LOWER, p->value, dense);
    cr_assert(test_dense_solve(p->n, dense, p->b, exact));
    cr_assert_lt(test_max_difference(p->n, exact, p->x), 1e-3); /* six digits of values up to 50 */
    EACH_SOLVER(solver) {
      vin_linsys *s = create(solver, VIN_STORAGE_SYMMETRIC_LOWER, p->n, pattern, NULL);
      vin_status status = vin_linsys_factor(s, p->value);
      if (status == VIN_OK) status = vin_linsys_solve(s, 1, p->b, x);
      /* a zero on the diagonal is outside LDL' without pivoting: it may say so, not be wrong */
      bool may_refuse = p->value[1] == 1 && p->n == 3 &&
                        (solver == VIN_SOLVER_LDLT || solver == VIN_SOLVER_CHOLMOD);
      cr_assert(status == VIN_OK || (may_refuse && status == VIN_SINGULAR), "%s %s: %s", p->name,
                vin_solver_name(solver), vin_linsys_error(s));
      if (status == VIN_OK) /* condition numbers below 1e3 */
        cr_assert_lt(test_max_difference(p->n, x, exact), 1e-11, "%s", p->name);
      vin_linsys_destroy(s);
    }
  }
}

Test(linsys, random_saddle_points_agree_with_dense_elimination) {
  test_random random = {41};
  for (int round = 0; round < 150; round++) {
    saddle k;
    saddle_make(&k, &random, round % 3 == 0 ? 1e6 : 10);
    double exact[MAX_SIZE], x[3 * MAX_SIZE], b[3 * MAX_SIZE];
    cr_assert(test_dense_solve(k.size, k.dense, k.b, exact));
    EACH_SOLVER(solver) {
      vin_linsys *s = create(solver, VIN_STORAGE_SYMMETRIC_LOWER, k.size, k.pattern, k.order);
      vin_linsys_info before = vin_linsys_get_info(s);
      cr_assert_eq(vin_linsys_factor(s, k.value), VIN_OK, "%s", vin_linsys_error(s));
      for (vin_int i = 0; i < 3 * k.size; i++) b[i] = (1 + i / k.size) * k.b[i % k.size];
      cr_assert_eq(vin_linsys_solve(s, 3, b, x), VIN_OK, "%s", vin_linsys_error(s));
      double scale = 1 + test_max_abs(k.size, exact);
      for (vin_int c = 0; c < 3; c++)
        for (vin_int i = 0; i < k.size; i++)
          /* normwise backward error 1e-15 times a condition number up to 1e6 */
          cr_assert_float_eq(x[i + c * k.size], (1 + c) * exact[i], 1e-8 * scale);
      cr_assert_eq(vin_linsys_solve(s, 3, b, b), VIN_OK);
      cr_assert_eq(memcmp(b, x, (size_t)k.size * 3 * sizeof *x), 0, "x may be b, same bits");
      vin_linsys_info info = vin_linsys_get_info(s);
      cr_assert_eq(info.solve_count, 6);
      if (info.solver != VIN_SOLVER_UMFPACK) {
        cr_assert_eq(info.negative, k.m, "inertia of a saddle point: n positive, m negative");
        cr_assert_eq(info.zero, 0);
        cr_assert_eq(info.nnz_factor, before.nnz_factor, "the prediction is exact");
      }
      vin_linsys_destroy(s);
    }
  }
}

Test(linsys, random_general_matrices_agree_with_dense_elimination) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  test_random random = {42};
  enum { N = 20, COUNT = 120 };
  for (int round = 0; round < 100; round++) {
    vin_int n = 1 + test_random_below(&random, N), row[COUNT], col[COUNT];
    double value[COUNT], dense[N * N], b[N], x[N], exact[N];
    test_random_fill(&random, COUNT, value);
    for (vin_int k = 0; k < COUNT; k++) {
      row[k] = k < n ? k : test_random_below(&random, n);
      col[k] = k < n ? (k * 7 + 3) % n : test_random_below(&random, n);
      if (k < n) value[k] += 3; /* no permutation when 7 divides n: then it may be singular */
    }
    vin_triplets pattern = {COUNT, row, col};
    test_dense_from_triplets(n, n, pattern, VIN_STORAGE_GENERAL, value, dense);
    if (test_dense_rank(n, n, dense, 1e-3) < n) continue;
    test_random_fill(&random, n, b);
    cr_assert(test_dense_solve(n, dense, b, exact));
    vin_linsys *s = create(VIN_SOLVER_AUTO, VIN_STORAGE_GENERAL, n, pattern, NULL);
    cr_assert_eq(vin_linsys_factor(s, value), VIN_OK, "%s", vin_linsys_error(s));
    cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_OK, "%s", vin_linsys_error(s));
    cr_assert_lt(test_max_difference(n, x, exact), 1e-9 * (1 + test_max_abs(n, exact)));
    cr_assert_eq(vin_linsys_get_info(s).solver, VIN_SOLVER_UMFPACK);
    vin_linsys_destroy(s);
  }
}

static const vin_int row22[] = {0, 1, 1}, col22[] = {0, 0, 1};
static const vin_triplets full22 = {3, row22, col22}; /* lower triangle of a 2 x 2 matrix */

Test(linsys, report_46_solve_after_a_failed_factor) {
  const double singular[] = {1, 1, 1}; /* kkt_small.json, rank_deficient */
  EACH_SOLVER(solver) {
    vin_linsys *s = create(solver, VIN_STORAGE_SYMMETRIC_LOWER, 2, full22, NULL);
    double x[] = {7, 8}, b[] = {1, 1};
    cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_ERR_BAD_STATE, "not factored yet");
    cr_assert_eq(vin_linsys_factor(s, singular), VIN_SINGULAR, "%s", vin_solver_name(solver));
    cr_assert_gt(strlen(vin_linsys_error(s)), 0);
    cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_ERR_BAD_STATE);
    cr_assert(x[0] == 7 && x[1] == 8);
    const double regular[] = {2, 1, 3};
    cr_assert_eq(vin_linsys_factor(s, regular), VIN_OK, "a failure does not stick");
    cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_OK);
    vin_linsys_destroy(s);
  }
  vin_linsys_destroy(NULL);
}

static void count_warnings(void *user, vin_log_level level, const char *text) {
  if (level == VIN_LOG_WARNING && strstr(text, "umfpack")) ++*(int *)user;
}

Test(linsys, report_47_zero_diagonal_falls_back_to_umfpack) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  int warnings = 0;
  vin_context context = vin_context_default();
  context.log = count_warnings;
  context.log_user = &warnings;
  vin_linsys_options options = vin_linsys_options_default();
  options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
  vin_linsys *s;
  cr_assert_eq(vin_linsys_create(&s, &context, 2, full22, &options), VIN_OK);
  const double swap[] = {0, 1, 0}, b[] = {3, 4}, regular[] = {2, 1, 3};
  double x[2];
  cr_assert_eq(vin_linsys_factor(s, swap), VIN_OK, "%s", vin_linsys_error(s));
  cr_assert_eq(warnings, 1);
  cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_OK);
  cr_assert(x[0] == 4 && x[1] == 3);
  vin_linsys_info info = vin_linsys_get_info(s);
  cr_assert_eq(info.solver, VIN_SOLVER_UMFPACK);
  cr_assert(info.symbolic_count == 2 && info.numeric_count == 2 && info.negative == -1);
  cr_assert_eq(vin_linsys_factor(s, regular), VIN_OK);
  cr_assert_eq(vin_linsys_get_info(s).solver, VIN_SOLVER_LDLT, "the next values start with LDL'");
  vin_linsys_destroy(s);
}

/* Largest single allocation asked for. */
static void *measure(void *user, size_t bytes) {
  size_t *most = user;
  if (bytes > *most) *most = bytes;
  return malloc(bytes);
}
static void measured_free(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

Test(linsys, report_48_fill_beyond_32_bits_is_refused_before_it_is_allocated) {
  enum { N = 65537 };
  vin_int *row = malloc(2 * N * sizeof *row), *col = malloc(2 * N * sizeof *col);
  vin_int *order = malloc(N * sizeof *order), count = 0;
  for (vin_int k = 0; k < N; k++) {
    order[k] = k;
    row[count] = col[count] = k, count++;
    if (k > 0) row[count] = k, col[count++] = 0;
  }
  size_t most = 0;
  vin_context context = vin_context_default();
  context.allocate = measure, context.release = measured_free, context.allocator_user = &most;
  vin_linsys_options options = vin_linsys_options_default();
  options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
  /* UMFPACK has an order of its own */
  static const vin_solver ldlt[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD};
  for (size_t k = 0; k < 3; k++) {
    if (!vin_solver_available(ldlt[k])) continue;
    options.solver = ldlt[k];
    options.order = order;
    vin_triplets pattern = {count, row, col};
    vin_linsys *s;
    /* nnz(L) = n (n + 1) / 2 = 2147581953 > INT32_MAX */
    cr_assert_eq(vin_linsys_create(&s, &context, N, pattern, &options), VIN_ERR_TOO_LARGE);
    cr_assert_lt(most, (size_t)16 << 20);
    cr_assert_eq(vin_linsys_solve(s, 0, NULL, NULL), VIN_ERR_BAD_STATE, "a handle for its text");
    cr_assert_gt(strlen(vin_linsys_error(s)), 0);
    vin_linsys_destroy(s);
    options.order = NULL; /* the centre last: no fill */
    cr_assert_eq(vin_linsys_create(&s, &context, N, pattern, &options), VIN_OK);
    cr_assert_eq(vin_linsys_get_info(s).nnz_factor, N - 1);
    vin_linsys_destroy(s);
  }
  free(row), free(col), free(order);
}

Test(linsys, report_50_one_analysis_for_all_factorisations) {
  enum { N = 40 };
  vin_int row[2 * N], col[2 * N], count = 0;
  for (vin_int k = 0; k < N; k++) {
    row[count] = col[count] = k, count++;
    if (k > 0) row[count] = k, col[count++] = k - 1;
  }
  double value[2 * N], b[N], x[N];
  test_random random = {43};
  EACH_SOLVER(solver) {
    vin_linsys *s =
        create(solver, VIN_STORAGE_SYMMETRIC_LOWER, N, (vin_triplets){count, row, col}, NULL);
    for (int step = 0; step < 10000; step++) {
      for (vin_int k = 0; k < count; k++)
        value[k] = (row[k] == col[k] ? 3 : 0) + test_random_between(&random, 0, 1);
      cr_assert_eq(vin_linsys_factor(s, value), VIN_OK);
    }
    test_random_fill(&random, N, b);
    cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_OK);
    vin_linsys_info info = vin_linsys_get_info(s);
    cr_assert(info.symbolic_count == 1 && info.numeric_count == 10000 && info.solve_count == 1);
    vin_linsys_destroy(s);
  }
}

Test(linsys, report_51_pivots_of_earlier_values_are_not_reused) {
  const double first[] = {1, 1, 2}, then[] = {1e-20, 1, 1}, b[] = {1, 2};
  EACH_SOLVER(solver) {
    vin_linsys *s = create(solver, VIN_STORAGE_SYMMETRIC_LOWER, 2, full22, NULL);
    double x[] = {7, 8};
    cr_assert_eq(vin_linsys_factor(s, first), VIN_OK);
    vin_status status = vin_linsys_factor(s, then);
    if (status == VIN_OK) status = vin_linsys_solve(s, 1, b, x);
    if (solver == VIN_SOLVER_LDLT || solver == VIN_SOLVER_CHOLMOD) {
      /* without pivoting the first unknown is lost: right after refinement, or refused */
      cr_assert(status == VIN_OK || status == VIN_SINGULAR);
      if (status != VIN_OK) cr_assert(x[0] == 7 && x[1] == 8);
    } else {
      cr_assert_eq(status, VIN_OK, "%s", vin_linsys_error(s));
    }
    if (status == VIN_OK) {
      cr_assert(fabs(x[0] - 1) < 1e-12 && fabs(x[1] - 1) < 1e-12);
      cr_assert_leq(vin_linsys_get_info(s).residual, 1e-12);
    }
    vin_linsys_destroy(s);
  }
}

Test(linsys, report_52_a_value_that_becomes_zero_stays_in_the_pattern) {
  test_random random = {44};
  saddle k;
  saddle_make(&k, &random, 10);
  while (k.m < 3) saddle_make(&k, &random, 10);
  EACH_SOLVER(solver) {
    vin_linsys *s = create(solver, VIN_STORAGE_SYMMETRIC_LOWER, k.size, k.pattern, k.order);
    for (int step = 0; step < 8; step++) {
      double x[MAX_SIZE], exact[MAX_SIZE];
      saddle_values(&k, &random, 10);
      for (vin_int q = k.n; q < k.pattern.count; q++) /* sin(theta) at theta = 0 */
        if (k.row[q] - k.n != k.col[q] && (q + step) % 2 == 0) k.value[q] = 0;
      test_dense_from_triplets(k.size, k.size, k.pattern, VIN_STORAGE_SYMMETRIC_LOWER, k.value,
                               k.dense);
      cr_assert(test_dense_solve(k.size, k.dense, k.b, exact));
      cr_assert_eq(vin_linsys_factor(s, k.value), VIN_OK, "%s", vin_linsys_error(s));
      cr_assert_eq(vin_linsys_solve(s, 1, k.b, x), VIN_OK, "%s", vin_linsys_error(s));
      cr_assert_lt(test_max_difference(k.size, x, exact),
                   1e-11 * (1 + test_max_abs(k.size, exact)));
    }
    cr_assert_eq(vin_linsys_get_info(s).symbolic_count, 1);
    vin_linsys_destroy(s);
  }
}

Test(linsys, report_54_values_that_are_not_finite) {
  const double bad[] = {NAN, INFINITY, -INFINITY}, regular[] = {4, 1, 5}, b[] = {1, 2};
  EACH_SOLVER(solver) {
    vin_linsys *s = create(solver, VIN_STORAGE_SYMMETRIC_LOWER, 2, full22, NULL);
    double before[2], x[2];
    cr_assert_eq(vin_linsys_factor(s, regular), VIN_OK);
    cr_assert_eq(vin_linsys_solve(s, 1, b, before), VIN_OK);
    for (size_t k = 0; k < 3; k++) {
      const double value[] = {4, bad[k], 5}, rhs[] = {1, bad[k]};
      cr_assert_eq(vin_linsys_factor(s, value), VIN_ERR_BAD_INPUT);
      memcpy(x, b, sizeof x);
      cr_assert_eq(vin_linsys_solve(s, 1, rhs, x), VIN_ERR_BAD_INPUT);
      cr_assert_not_null(strstr(vin_linsys_error(s), "row 1 of right-hand side 0"));
      cr_assert(x[0] == 1 && x[1] == 2);
      cr_assert_eq(vin_linsys_solve(s, 1, b, x), VIN_OK, "the old factorisation is still there");
      cr_assert_eq(memcmp(x, before, sizeof x), 0);
    }
    const double huge[] = {DBL_MAX, DBL_MAX, 1}; /* finite, but sums of it are not */
    vin_status status = vin_linsys_factor(s, huge);
    cr_assert(status == VIN_ERR_BAD_INPUT || status == VIN_SINGULAR);
    vin_linsys_destroy(s);
  }
}

static vin_status try_create(vin_int n, vin_triplets pattern, vin_linsys_options options,
                             const char *expected) {
  vin_linsys *s = NULL;
  vin_status status = vin_linsys_create(&s, NULL, n, pattern, &options);
  cr_assert_not_null(s);
  cr_assert_not_null(strstr(vin_linsys_error(s), expected), "text: %s", vin_linsys_error(s));
  cr_assert_eq(vin_linsys_factor(s, NULL), VIN_ERR_BAD_STATE);
  cr_assert_not_null(strstr(vin_linsys_error(s), expected), "the text is kept");
  vin_linsys_destroy(s);
  return status;
}

Test(linsys, wrong_arguments_are_named) {
  vin_linsys_options options = vin_linsys_options_default(), o;
  options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
  const vin_int twice[] = {1, 1}, outside[] = {0, 2}, upper[] = {1};
  const vin_int zero[] = {0};
  cr_assert_eq(vin_linsys_create(NULL, NULL, 2, full22, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(try_create(0, (vin_triplets){0}, options, "n = 0"), VIN_ERR_BAD_INPUT);
  o = options, o.order = twice;
  cr_assert_eq(try_create(2, full22, o, "occurs twice"), VIN_ERR_BAD_INPUT);
  o = options, o.order = outside;
  cr_assert_eq(try_create(2, full22, o, "out of range"), VIN_ERR_BAD_INPUT);
  o = options, o.struct_size = 0;
  cr_assert_eq(try_create(2, full22, o, "struct_size"), VIN_ERR_BAD_INPUT);
  o = options, o.residual_tolerance = NAN;
  cr_assert_eq(try_create(2, full22, o, "residual_tolerance"), VIN_ERR_BAD_INPUT);
  o = options, o.max_refinements = -1;
  cr_assert_eq(try_create(2, full22, o, "max_refinements"), VIN_ERR_BAD_INPUT);
  o = options, o.solver = (vin_solver)99;
  cr_assert_eq(try_create(2, full22, o, "solver"), VIN_ERR_BAD_INPUT);
  o = options, o.storage = (vin_storage)7;
  cr_assert_eq(try_create(2, full22, o, "storage"), VIN_ERR_BAD_INPUT);
  o = options, o.storage = VIN_STORAGE_GENERAL, o.solver = VIN_SOLVER_LDLT;
  cr_assert_eq(try_create(2, full22, o, "symmetric"), VIN_ERR_BAD_INPUT);
  cr_assert_eq(try_create(2, (vin_triplets){1, zero, upper}, options, ""), VIN_ERR_BAD_INPUT);
  for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
    o = options, o.solver = solvers[k];
    if (!vin_solver_available(solvers[k]))
      cr_assert_eq(try_create(2, full22, o, "not part of this build"), VIN_ERR_UNSUPPORTED);
  }
  vin_linsys *s = create(VIN_SOLVER_AUTO, VIN_STORAGE_SYMMETRIC_LOWER, 2, full22, NULL);
  const double value[] = {2, 1, 3};
  double x[] = {1, 2};
  cr_assert_eq(vin_linsys_factor(s, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_linsys_factor(s, value), VIN_OK);
  cr_assert_eq(vin_linsys_solve(s, -1, x, x), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_linsys_solve(s, 1, NULL, x), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_linsys_solve(s, 1, x, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_linsys_solve(s, 0, NULL, NULL), VIN_OK);
  cr_assert_eq(vin_linsys_factor(NULL, value), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_linsys_solve(NULL, 1, x, x), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_linsys_get_info(NULL).symbolic_count, 0);
  cr_assert_not_null(vin_linsys_error(NULL));
  vin_linsys_destroy(s);
}

Test(linsys, solver_names) {
  vin_solver solver;
  for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
    cr_assert_eq(vin_solver_from_name(&solver, vin_solver_name(solvers[k])), VIN_OK);
    cr_assert_eq(solver, solvers[k]);
  }
  solver = VIN_SOLVER_UMFPACK;
  cr_assert_eq(vin_solver_from_name(&solver, "pardiso"), VIN_ERR_BAD_INPUT);
  cr_assert_eq(solver, VIN_SOLVER_AUTO);
  cr_assert_eq(vin_solver_from_name(&solver, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_solver_from_name(NULL, "auto"), VIN_ERR_BAD_INPUT);
  cr_assert(vin_solver_available(VIN_SOLVER_AUTO) && vin_solver_available(VIN_SOLVER_LDLT));
  cr_assert_not(vin_solver_available((vin_solver)99));
  cr_assert_str_eq(vin_solver_name((vin_solver)99), "unknown");
}
