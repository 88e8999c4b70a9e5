/* test_sparse - compression of triplets, values through the slot map, products. */
#include "sparse/sparse.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 12, COUNT = 90 }; /* small enough for dense references, with many duplicates */

typedef struct sample {
  vin_int rows, cols;
  vin_storage storage;
  vin_int row[COUNT], col[COUNT];
  double value[COUNT];
  vin_triplets pattern;
} sample;

static void make_sample(sample *s, test_random *random, vin_storage storage) {
  bool lower = storage == VIN_STORAGE_SYMMETRIC_LOWER;
  s->storage = storage;
  s->rows = 1 + test_random_below(random, SIZE);
  s->cols = lower ? s->rows : 1 + test_random_below(random, SIZE);
  vin_int count = test_random_below(random, COUNT + 1);
  for (vin_int k = 0; k < count; k++) {
    vin_int i = test_random_below(random, s->rows), j = test_random_below(random, s->cols);
    s->row[k] = lower ? vini_max_int(i, j) : i;
    s->col[k] = lower ? vini_min_int(i, j) : j;
  }
  test_random_fill(random, COUNT, s->value);
  s->pattern = (vin_triplets){count, s->row, s->col};
}

static vin_sparse *create(const sample *s) {
  vin_sparse *matrix = NULL;
  vin_status status = vin_sparse_create(&matrix, NULL, s->rows, s->cols, s->pattern, s->storage);
  cr_assert_eq(status, VIN_OK, "%s", vin_sparse_error(matrix));
  cr_assert_eq(vin_sparse_set_values(matrix, s->value), VIN_OK);
  return matrix;
}

static void check_compressed(const vin_sparse *matrix, const sample *s) {
  vin_csc view = vin_sparse_view(matrix);
  cr_assert(view.rows == s->rows && view.cols == s->cols && view.storage == s->storage);
  cr_assert_eq(view.start[0], 0);
  for (vin_int j = 0; j < view.cols; j++) {
    cr_assert_leq(view.start[j], view.start[j + 1]);
    for (vin_int p = view.start[j]; p + 1 < view.start[j + 1]; p++)
      cr_assert_lt(view.row[p], view.row[p + 1], "rows ascend, no duplicates");
  }
  bool used[COUNT] = {false};
  for (vin_int k = 0; k < s->pattern.count; k++) {
    vin_int slot = matrix->slot[k];
    cr_assert(slot >= view.start[s->col[k]] && slot < view.start[s->col[k] + 1]);
    cr_assert_eq(view.row[slot], s->row[k]);
    used[slot] = true;
  }
  for (vin_int p = 0; p < view.start[view.cols]; p++)
    cr_assert(used[p], "no slot without a triplet");
}

Test(create, any_order_with_duplicates_compresses_to_the_same_matrix) {
  test_random random = {1};
  for (int trial = 0; trial < 400; trial++) {
    sample s;
    make_sample(&s, &random, trial % 2 ? VIN_STORAGE_SYMMETRIC_LOWER : VIN_STORAGE_GENERAL);
    vin_sparse *matrix = create(&s);
    check_compressed(matrix, &s);
    double expected[SIZE * SIZE], found[SIZE * SIZE];
    test_dense_from_triplets(s.rows, s.cols, s.pattern, s.storage, s.value, expected);
    test_dense_from_csc(vin_sparse_view(matrix), found);
    /* Both add duplicates in declared order, so the sums agree in every bit. */
    cr_assert_eq(test_max_difference(s.rows * s.cols, expected, found), 0.0);
    vin_sparse_destroy(matrix);
  }
}

Test(create, values_are_zero_before_they_are_set) {
  const vin_int row[2] = {1, 0}, col[2] = {0, 1};
  vin_sparse *matrix = NULL;
  cr_assert_eq(
      vin_sparse_create(&matrix, NULL, 2, 2, (vin_triplets){2, row, col}, VIN_STORAGE_GENERAL),
      VIN_OK);
  vin_csc view = vin_sparse_view(matrix);
  cr_expect_eq(view.start[2], 2);
  cr_expect_eq(test_max_abs(2, view.value), 0.0);
  vin_sparse_destroy(matrix);
}

Test(create, empty_matrices_work) {
  const vin_int sizes[][2] = {{0, 0}, {0, 3}, {3, 0}, {3, 3}};
  for (int k = 0; k < 4; k++) {
    vin_sparse *matrix = NULL;
    cr_assert_eq(vin_sparse_create(&matrix, NULL, sizes[k][0], sizes[k][1], (vin_triplets){0},
                                   VIN_STORAGE_GENERAL),
                 VIN_OK);
    cr_expect_eq(vin_sparse_set_values(matrix, NULL), VIN_OK);
    double x[3] = {1, 2, 3}, y[3] = {4, 5, 6};
    vin_sparse_multiply(matrix, 1.0, x, 0.0, y);
    for (vin_int i = 0; i < sizes[k][0]; i++) cr_expect_eq(y[i], 0.0);
    vin_csc view = vin_sparse_view(matrix);
    cr_expect_eq(view.start[view.cols], 0);
    vin_sparse_destroy(matrix);
  }
}

static void expect_refused(vin_int rows, vin_int cols, vin_triplets pattern, vin_storage storage,
                           const char *text) {
  vin_sparse *matrix = NULL;
  cr_expect_eq(vin_sparse_create(&matrix, NULL, rows, cols, pattern, storage), VIN_ERR_BAD_INPUT);
  cr_assert_not_null(matrix, "a handle carries the text");
  cr_expect_not_null(strstr(vin_sparse_error(matrix), text), "'%s' is not in '%s'", text,
                     vin_sparse_error(matrix));
  double x = 3.0;
  cr_expect_eq(vin_sparse_set_values(matrix, &x), VIN_ERR_BAD_STATE);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), text), "the text is kept");
  cr_expect_eq(vin_matrix_market_write(matrix, "/dev/null", NULL), VIN_ERR_BAD_STATE);
  cr_expect_eq(vin_sparse_view(matrix).cols, 0);
  vin_sparse_multiply(matrix, 1.0, &x, 0.0, &x);
  cr_expect_eq(x, 3.0, "a failed handle computes nothing");
  vin_sparse_destroy(matrix);
}

Test(create, each_wrong_argument_is_named) {
  const vin_int row[3] = {0, 12, 1}, col[3] = {0, 1, -2};
  vin_triplets pattern = {3, row, col}, none = {0};
  const vin_storage general = VIN_STORAGE_GENERAL, lower = VIN_STORAGE_SYMMETRIC_LOWER;
  expect_refused(10, 10, pattern, general, "entry 1 of the pattern: row 12 is outside 0..9");
  expect_refused(13, 10, pattern, general, "entry 2 of the pattern: column -2 is outside 0..9");
  expect_refused(13, 0, pattern, general,
                 "entry 0 of the pattern: column 0, but there are 0 columns");
  expect_refused(0, 5, pattern, general, "entry 0 of the pattern: row 0, but there are 0 rows");
  expect_refused(INT_MAX, 1, (vin_triplets){1, &(vin_int){INT_MAX}, row}, general,
                 "row 2147483647 is outside 0..2147483646");
  expect_refused(5, 5, (vin_triplets){1, &(vin_int){INT_MIN}, row}, general, "row -2147483648");
  expect_refused(-1, 5, none, general, "-1 x 5 is not a size");
  expect_refused(5, -7, none, general, "5 x -7 is not a size");
  expect_refused(5, 5, (vin_triplets){-4, row, col}, general, "the count is -4");
  expect_refused(5, 5, (vin_triplets){2, NULL, col}, general, "row is NULL");
  expect_refused(5, 5, (vin_triplets){2, row, NULL}, general, "col is NULL");
  expect_refused(5, 5, none, (vin_storage)7, "7 is not a storage");
  expect_refused(5, 4, none, lower, "square matrix, not 5 x 4");
  expect_refused(20, 20, (vin_triplets){2, &row[1], &(const vin_int[2]){3, 4}[0]}, lower,
                 "entry 1 of the pattern: (1, 4) is above the diagonal");
}

Test(create, a_bad_context_and_null_are_refused) {
  vin_sparse *matrix = NULL;
  vin_context context = vin_context_default();
  context.struct_size = 0;
  cr_expect_eq(vin_sparse_create(&matrix, &context, 1, 1, (vin_triplets){0}, VIN_STORAGE_GENERAL),
               VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), "context"));
  cr_expect_eq(vin_sparse_set_values(matrix, NULL), VIN_ERR_BAD_STATE);
  vin_sparse_destroy(matrix);
  cr_expect_eq(vin_sparse_create(NULL, NULL, 1, 1, (vin_triplets){0}, VIN_STORAGE_GENERAL),
               VIN_ERR_BAD_INPUT);
}

Test(create, null_handles_are_answered) {
  cr_expect_neq(strlen(vin_sparse_error(NULL)), 0);
  cr_expect_eq(vin_sparse_set_values(NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_matrix_market_write(NULL, "x", NULL), VIN_ERR_BAD_INPUT);
  vin_csc view = vin_sparse_view(NULL);
  cr_expect(view.rows == 0 && view.cols == 0 && view.start[0] == 0);
  double y = 2.0;
  vin_sparse_multiply(NULL, 1.0, &y, 0.0, &y);
  vin_sparse_multiply_transposed(NULL, 1.0, &y, 0.0, &y);
  cr_expect_eq(y, 2.0);
  vin_sparse_destroy(NULL);
}

Test(create, fails_cleanly_at_every_allocation) {
  test_random random = {3};
  sample s;
  do make_sample(&s, &random, VIN_STORAGE_GENERAL);
  while (s.pattern.count < COUNT / 2);
  vin_status status = VIN_ERR_NO_MEMORY;
  for (int64_t k = 1; status != VIN_OK; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_sparse *matrix = NULL;
    status = vin_sparse_create(&matrix, &context, s.rows, s.cols, s.pattern, s.storage);
    if (allocator.calls >= k) {
      cr_assert_eq(status, VIN_ERR_NO_MEMORY, "allocation %lld", (long long)k);
      cr_assert_eq(matrix == NULL, k == 1, "only the handle itself may be missing");
      cr_assert_not_null(strstr(vin_sparse_error(matrix), "memory"));
      cr_assert_lt(vin_sparse_set_values(matrix, s.value), 0);
    }
    vin_sparse_destroy(matrix);
    cr_assert_eq(allocator.live, 0, "leak when allocation %lld fails", (long long)k);
  }
}

/* Refuses what is above a mebibyte, and counts the requests of exactly 2^33 bytes. */
static void *allocate_little(void *user, size_t bytes) {
  int *requests = user;
  if (bytes == (size_t)1 << 33) (*requests)++;
  return bytes > 1048576 ? NULL : malloc(bytes);
}

static void release_little(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

/* Field report 48, the part of this layer: INT_MAX columns need 2^31 starts of 4 bytes. In 32 bits
 * the count or the bytes would wrap, the allocation succeed, and the write go out of bounds. */
Test(create, sizes_at_the_index_limit_do_not_wrap) {
  int requests = 0;
  vin_context context = vin_context_default();
  context.allocate = allocate_little;
  context.release = release_little;
  context.allocator_user = &requests;
  vin_sparse *matrix = NULL;
  cr_expect_eq(
      vin_sparse_create(&matrix, &context, 1, INT_MAX, (vin_triplets){0}, VIN_STORAGE_GENERAL),
      VIN_ERR_NO_MEMORY);
  cr_expect_eq(requests, 2, "the starts, and the counters of the sort");
  vin_sparse_destroy(matrix);
  const vin_int last[1] = {INT_MAX - 1};
  cr_expect_eq(vini_triplets_check(NULL, "pattern", INT_MAX, INT_MAX, (vin_triplets){1, last, last},
                                   VIN_STORAGE_GENERAL),
               VIN_OK);
}

Test(values, set_again_replaces_and_does_not_accumulate) {
  test_random random = {4};
  sample s;
  make_sample(&s, &random, VIN_STORAGE_GENERAL);
  vin_sparse *matrix = create(&s);
  double first[COUNT], other[COUNT];
  vin_int slots = vin_sparse_view(matrix).start[s.cols];
  memcpy(first, vin_sparse_view(matrix).value, (size_t)slots * sizeof *first);
  test_random_fill(&random, COUNT, other);
  cr_assert_eq(vin_sparse_set_values(matrix, other), VIN_OK);
  cr_assert_eq(vin_sparse_set_values(matrix, s.value), VIN_OK);
  cr_expect_eq(test_max_difference(slots, first, vin_sparse_view(matrix).value), 0.0);
  vin_sparse_destroy(matrix);
}

/* Field report 52: a value that becomes zero stays in the pattern. */
Test(values, a_zero_stays_in_the_pattern) {
  const vin_int row[2] = {0, 1}, col[2] = {0, 1};
  vin_sparse *matrix = NULL;
  vin_triplets pattern = {2, row, col};
  cr_assert_eq(vin_sparse_create(&matrix, NULL, 2, 2, pattern, VIN_STORAGE_GENERAL), VIN_OK);
  cr_assert_eq(vin_sparse_set_values(matrix, (const double[2]){0.0, 1.0}), VIN_OK);
  cr_expect_eq(vin_sparse_view(matrix).start[2], 2);
  vin_sparse_destroy(matrix);
}

/* Field report 54: [[4,x],[x,5]] with x = NaN or Inf is refused, named, and changes nothing. */
Test(values, nonfinite_ones_are_refused_and_change_nothing) {
  const vin_int row[3] = {0, 1, 1}, col[3] = {0, 0, 1};
  vin_sparse *matrix = NULL;
  cr_assert_eq(vin_sparse_create(&matrix, NULL, 2, 2, (vin_triplets){3, row, col},
                                 VIN_STORAGE_SYMMETRIC_LOWER),
               VIN_OK);
  const double good[3] = {4.0, 2.0, 5.0};
  cr_assert_eq(vin_sparse_set_values(matrix, good), VIN_OK);
  const double bad[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  for (int k = 0; k < 3; k++) {
    const double values[3] = {40.0, bad[k], 50.0};
    cr_expect_eq(vin_sparse_set_values(matrix, values), VIN_ERR_BAD_INPUT);
    cr_expect_not_null(strstr(vin_sparse_error(matrix), "entry 1"), "%s", vin_sparse_error(matrix));
    cr_expect_eq(memcmp(vin_sparse_view(matrix).value, good, sizeof good), 0);
  }
  cr_expect_eq(vin_sparse_set_values(matrix, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_sparse_set_values(matrix, good), VIN_OK, "the handle stays usable");
  vin_sparse_destroy(matrix);
}

/* A dot product of k terms, each at most |alpha| 1 * 1 times its duplicates, errs by at most about
 * k eps times the sum of magnitudes: SIZE terms + COUNT duplicates + scaling, all below 2 COUNT. */
static const double product_tolerance = 2.0 * COUNT * COUNT * DBL_EPSILON;

static void check_product(const double *product, const double *y, double alpha, double beta,
                          const double *found, vin_int count) {
  for (vin_int i = 0; i < count; i++) {
    double expected = alpha * product[i] + (beta == 0.0 ? 0.0 : beta * y[i]);
    cr_assert_float_eq(found[i], expected, product_tolerance);
  }
}

Test(product, agrees_with_the_dense_one) {
  test_random random = {5};
  const double factors[][2] = {{1, 0}, {-2, 0}, {1, 1}, {0.5, -3}, {0, 2}, {0, 0}};
  for (int trial = 0; trial < 300; trial++) {
    sample s;
    make_sample(&s, &random, trial % 2 ? VIN_STORAGE_SYMMETRIC_LOWER : VIN_STORAGE_GENERAL);
    vin_sparse *matrix = create(&s);
    double a[SIZE * SIZE], x[SIZE], y[SIZE], found[SIZE], product[SIZE];
    double alpha = factors[trial % 6][0], beta = factors[trial % 6][1];
    test_dense_from_triplets(s.rows, s.cols, s.pattern, s.storage, s.value, a);
    test_random_fill(&random, SIZE, x);
    test_random_fill(&random, SIZE, y);
    if (beta == 0.0) y[0] = (double)NAN; /* must be overwritten, not multiplied */

    memcpy(found, y, sizeof y);
    vin_sparse_multiply(matrix, alpha, x, beta, found);
    test_dense_multiply(s.rows, s.cols, a, x, product);
    check_product(product, y, alpha, beta, found, s.rows);

    memcpy(found, y, sizeof y);
    vin_sparse_multiply_transposed(matrix, alpha, x, beta, found);
    test_dense_multiply_transposed(s.rows, s.cols, a, x, product);
    check_product(product, y, alpha, beta, found, s.cols);
    vin_sparse_destroy(matrix);
  }
}

Test(product, of_magnitudes_agrees_with_the_dense_one) {
  test_random random = {6};
  for (int trial = 0; trial < 200; trial++) {
    sample s;
    make_sample(&s, &random, trial % 2 ? VIN_STORAGE_SYMMETRIC_LOWER : VIN_STORAGE_GENERAL);
    vin_sparse *matrix = create(&s);
    double a[SIZE * SIZE], x[SIZE], magnitude[SIZE], y[SIZE], found[SIZE], product[SIZE];
    test_dense_from_triplets(s.rows, s.cols, s.pattern, s.storage, s.value, a);
    for (vin_int k = 0; k < s.rows * s.cols; k++) a[k] = fabs(a[k]);
    test_random_fill(&random, SIZE, x);
    test_random_fill(&random, SIZE, y);
    for (int k = 0; k < SIZE; k++) magnitude[k] = fabs(x[k]);

    memcpy(found, y, sizeof y);
    vini_sparse_abs_multiply(matrix, x, found);
    test_dense_multiply(s.rows, s.cols, a, magnitude, product);
    check_product(product, y, 1.0, 1.0, found, s.rows);

    memcpy(found, y, sizeof y);
    vini_sparse_abs_multiply_transposed(matrix, x, found);
    test_dense_multiply_transposed(s.rows, s.cols, a, magnitude, product);
    check_product(product, y, 1.0, 1.0, found, s.cols);
    vin_sparse_destroy(matrix);
  }
}

/* Field report 55: a thousand lives, re-set in between, and not a block left. */
Test(create, a_thousand_lives_leave_nothing) {
  test_random random = {7};
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  sample s;
  make_sample(&s, &random, VIN_STORAGE_GENERAL);
  for (int k = 0; k < 1000; k++) {
    vin_sparse *matrix = NULL;
    cr_assert_eq(vin_sparse_create(&matrix, &context, s.rows, s.cols, s.pattern, s.storage),
                 VIN_OK);
    int64_t calls = allocator.calls;
    cr_assert_eq(vin_sparse_set_values(matrix, s.value), VIN_OK);
    cr_assert_eq(allocator.calls, calls, "no allocation after create");
    vin_sparse_destroy(matrix);
  }
  cr_expect_eq(allocator.live, 0);
}

/* Linear cost: 2 million triplets in the worst order, all duplicated, take far below a second. A
 * quadratic sort would need hours, so the test program's time limit is the assertion. */
Test(create, large_patterns_in_reverse_order_are_fast) {
  const vin_int n = 1000000;
  vin_int *row = malloc(2 * (size_t)n * sizeof *row), *col = malloc(2 * (size_t)n * sizeof *col);
  cr_assert(row && col);
  for (vin_int k = 0; k < 2 * n; k++) {
    row[k] = k < n ? n - 1 - k : 2 * n - 1 - k;
    col[k] = row[k] % 7;
  }
  vin_sparse *matrix = NULL;
  vin_triplets pattern = {2 * n, row, col};
  cr_assert_eq(vin_sparse_create(&matrix, NULL, n, n, pattern, VIN_STORAGE_GENERAL), VIN_OK);
  cr_expect_eq(vin_sparse_view(matrix).start[n], n);
  vin_sparse_destroy(matrix);
  free(row);
  free(col);
}

Test(reference, dense_solve_and_rank_are_right_themselves) {
  /* Hilbert matrix of order 6, b = A 1: condition 1.5e7, long double leaves 1e-12 even so. */
  double a[36], ones[6] = {1, 1, 1, 1, 1, 1}, b[6], x[6];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) a[i + 6 * j] = 1.0 / (i + j + 1);
  test_dense_multiply(6, 6, a, ones, b);
  cr_assert(test_dense_solve(6, a, b, x));
  cr_expect_lt(test_max_difference(6, x, ones), 1e-8); /* b is rounded: 1.5e7 * eps */
  cr_expect_eq(test_dense_rank(6, 6, a, 1e-12), 6);
  const double swap[4] = {0, 1, 1, 0}, two[2] = {3, 4}, singular[4] = {1, 2, 2, 4};
  cr_assert(test_dense_solve(2, swap, two, x));
  cr_expect(x[0] == 4.0 && x[1] == 3.0);
  cr_expect_not(test_dense_solve(2, singular, two, x));
  cr_expect_eq(test_dense_rank(2, 2, singular, 1e-12), 1);
}
