/* test_ldlt_verdict - what the LDL' says of singular, dropped, too large and refused systems. */
#include "test_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `plain` with its first `rows` constraints repeated `copies` times, behind all others. */
static test_problem *with_duplicates(const test_problem *plain, vin_int rows, vin_int copies) {
  test_problem *p = test_problem_new(plain->n, plain->m + rows * copies);
  for (vin_int k = 0; k < plain->count; k++) {
    test_problem_put(p, plain->row[k], plain->col[k], plain->value[k]);
    const vin_int q = plain->row[k] - plain->n;
    for (vin_int c = 0; q >= 0 && q < rows && c < copies; c++)
      test_problem_put(p, p->n + plain->m + c * rows + q, plain->col[k], plain->value[k]);
  }
  test_problem_order_natural(p);
  return p;
}

/* Consistent duplicates change nothing: x is the solution without them, their multipliers are 0.
 * Takes over `plain`. */
static void check_dropping(test_problem *plain, vin_int rows, vin_int copies) {
  const vin_int extra = rows * copies;
  test_problem *p = with_duplicates(plain, rows, copies);
  const vin_int size = p->n + p->m;
  unsigned char *droppable = calloc((size_t)size, 1);
  memset(droppable + p->n, 1, (size_t)p->m);
  test_problem_compress(p);
  cr_assert_eq(vini_ldlt_create(&p->backend, p->object, p->matrix, p->order), VIN_OK);
  vini_ldlt_set_drop(p->backend, droppable, 1e-11);
  cr_assert_eq(test_problem_factor(plain), VIN_OK);
  cr_assert_eq(test_problem_factor(p), VIN_OK, "%s", vini_text(p->object));
  cr_expect_eq(test_problem_info(p).zero, extra);
  cr_expect_eq(test_problem_info(p).negative, plain->m);
  cr_expect_gt(test_problem_info(p).min_pivot_ratio, 1e-6); /* of the rows kept */

  double *reference = test_random_vector(plain->n + plain->m, 4);
  double *x = calloc((size_t)size, sizeof *x);
  memcpy(x, reference, (size_t)(plain->n + plain->m) * sizeof *x);
  for (vin_int c = 0; c < copies;
       c++) /* consistent: a copy has the right-hand side of its original */
    memcpy(x + plain->n + plain->m + c * rows, reference + plain->n, (size_t)rows * sizeof *x);
  cr_assert_eq(plain->backend->table->solve(plain->backend, 1, reference), VIN_OK);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_expect_lt(test_max_difference(p->n, x, reference), 1e-9 * test_max_abs(p->n, reference));
  const unsigned char *dropped = vini_ldlt_dropped(p->backend);
  for (vin_int k = 0; k < size; k++) {
    const bool copy = k >= plain->n + plain->m;
    cr_expect_eq(dropped[k], copy, "unknown %d", (int)k);
    if (copy) cr_expect_eq(x[k], 0.0);
  }
  free(droppable);
  free(reference);
  free(x);
  test_problem_free(plain);
  test_problem_free(p);
}

Test(ldlt_verdict, duplicated_and_triplicated_rows_are_dropped) {
  check_dropping(test_problem_chain(20, NULL), 1, 1);
  check_dropping(test_problem_chain(20, NULL), 5, 1);
  check_dropping(test_problem_chain(20, NULL), 20, 1);
  check_dropping(test_problem_chain(20, NULL), 7, 2);
  check_dropping(test_problem_chain(20, NULL), 20, 2);
  check_dropping(test_problem_net(9), 144, 1); /* wide panels */
  check_dropping(test_problem_net(7), 50, 2);
}

/* A constraint that touches nothing has scale 0: dropped when droppable, else refused. */
Test(ldlt_verdict, empty_row_is_dropped_or_refused_by_name) {
  test_problem *p = test_problem_new(1, 1);
  test_problem_put(p, 0, 0, 2.0);
  test_problem_put(p, 1, 0, 0.0);
  test_problem_order_natural(p);
  cr_expect_eq(test_problem_factor(p), VIN_SINGULAR);
  cr_expect(strstr(vini_text(p->object), "unknown 1"), "%s", vini_text(p->object));
  const unsigned char droppable[] = {0, 1};
  vini_ldlt_set_drop(p->backend, droppable, 1e-11);
  cr_expect_eq(test_problem_factor(p), VIN_OK);
  double x[] = {6.0, 5.0};
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_expect_eq(x[0], 3.0);
  cr_expect_eq(x[1], 0.0);
  const unsigned char none[] = {0, 0};
  vini_ldlt_set_drop(p->backend, none, 1e-11);
  cr_expect_eq(test_problem_factor(p), VIN_SINGULAR);
  vini_ldlt_set_drop(p->backend, NULL, 1e-11);
  cr_expect_eq(test_problem_factor(p), VIN_SINGULAR);
  test_problem_free(p);
}

/* The wrong order: a multiplier first has a zero pivot. And no solve afterwards. */
Test(ldlt_verdict, zero_pivot_names_the_unknown_and_blocks_solve) {
  test_problem *p = test_problem_chain(5, NULL);
  for (vin_int k = 0; k < p->n + p->m; k++) p->order[k] = p->n + p->m - 1 - k;
  cr_expect_eq(test_problem_factor(p), VIN_SINGULAR);
  cr_expect(strstr(vini_text(p->object), "unknown "), "%s", vini_text(p->object));
  double x[20] = {1.0};
  cr_expect_eq(p->backend->table->solve(p->backend, 1, x), VIN_ERR_BAD_STATE);
  cr_expect_eq(x[0], 1.0);
  cr_expect_eq(test_problem_info(p).negative, -1);
  test_problem_free(p);
}

/* The state after a breakdown leaves no trace in the next factorisation. */
Test(ldlt_verdict, breakdown_then_recovery_with_other_values) {
  test_problem *p = test_problem_net(8), *fresh = test_problem_net(8);
  const vin_int size = p->n + p->m;
  double *x = test_random_vector(size, 2), *y = test_random_vector(size, 2);
  double *broken = calloc((size_t)p->count, sizeof *broken);
  memcpy(broken, p->value, (size_t)p->count * sizeof *broken);
  for (vin_int k = 0; k < p->count; k++)
    if (p->row[k] == p->n + 40) broken[k] = 0.0;
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  cr_assert_eq(vin_sparse_set_values(p->matrix, broken), VIN_OK);
  cr_expect_eq(test_problem_factor(p), VIN_SINGULAR);
  cr_assert_eq(vin_sparse_set_values(p->matrix, p->value), VIN_OK);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  cr_assert_eq(test_problem_factor(fresh), VIN_OK);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_assert_eq(fresh->backend->table->solve(fresh->backend, 1, y), VIN_OK);
  cr_expect_eq(memcmp(x, y, (size_t)size * sizeof *x), 0);
  free(broken);
  free(x);
  free(y);
  test_problem_free(p);
  test_problem_free(fresh);
}

/* Overflow inside the elimination must not pass as a factorisation. */
Test(ldlt_verdict, infinite_pivot_is_singular) {
  test_problem *p = test_problem_new(1, 1);
  test_problem_put(p, 0, 0, 1e-200);
  test_problem_put(p, 1, 0, 1e200);
  test_problem_order_natural(p);
  cr_expect_eq(test_problem_factor(p), VIN_SINGULAR);
  test_problem_free(p);
}

Test(ldlt_verdict, bad_orders_and_general_storage_are_refused) {
  test_problem *p = test_problem_chain(3, NULL);
  vini_backend *backend = NULL;
  test_problem_compress(p);
  const vin_int kept = p->order[4];
  const vin_int bad[] = {-1, p->n + p->m, p->order[3]};
  for (size_t k = 0; k < 3; k++) {
    p->order[4] = bad[k];
    cr_expect_eq(vini_ldlt_create(&backend, p->object, p->matrix, p->order), VIN_ERR_BAD_INPUT);
    cr_expect_null(backend);
    cr_expect(strstr(vini_text(p->object), "entry 4"), "%s", vini_text(p->object));
  }
  p->order[4] = kept;
  vin_sparse *general = NULL;
  const vin_int zero = 0;
  const vin_triplets pattern = {.count = 1, .row = &zero, .col = &zero};
  cr_assert_eq(vin_sparse_create(&general, NULL, 1, 1, pattern, VIN_STORAGE_GENERAL), VIN_OK);
  cr_expect_eq(vini_ldlt_create(&backend, p->object, general, &zero), VIN_ERR_BAD_INPUT);
  vin_sparse_destroy(general);
  test_problem_free(p);
}

/* Every allocation of create fails once, in turn; nothing leaks and the text says so. */
Test(ldlt_verdict, allocation_failures_are_survived) {
  test_problem *p = test_problem_net(6);
  test_problem_compress(p);
  for (int own_order = 0; own_order < 2; own_order++)
    for (int64_t k = 1;; k++) {
      test_allocator allocator = {.fail_at = 0};
      const vin_context context = test_context(&allocator);
      vini_object *object = NULL;
      cr_assert_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_OK);
      allocator.fail_at = allocator.calls + k;
      vini_backend *backend = NULL;
      const vin_status status =
          vini_ldlt_create(&backend, object, p->matrix, own_order ? NULL : p->order);
      const bool reached = allocator.calls >= allocator.fail_at;
      cr_expect_eq(status, reached ? VIN_ERR_NO_MEMORY : VIN_OK);
      cr_expect_eq(backend == NULL, reached);
      if (reached) cr_expect_neq(strlen(vini_text(object)), 0);
      if (backend) backend->table->destroy(backend);
      vini_object_destroy(object);
      cr_assert_eq(allocator.live, 0);
      if (!reached) break;
    }
  test_problem_free(p);
}

Test(ldlt_verdict, factor_and_solve_do_not_allocate) {
  test_problem *p = test_problem_net(6);
  test_problem_compress(p);
  test_allocator allocator = {.fail_at = 0};
  const vin_context context = test_context(&allocator);
  vini_object *object = NULL;
  cr_assert_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_OK);
  vini_backend *backend = NULL;
  cr_assert_eq(vini_ldlt_create(&backend, object, p->matrix, p->order), VIN_OK);
  const int64_t calls = allocator.calls;
  double *x = test_random_vector(3 * (p->n + p->m), 1);
  cr_expect_eq(backend->table->factor(backend, p->matrix), VIN_OK);
  cr_expect_eq(backend->table->solve(backend, 3, x), VIN_OK);
  cr_expect_eq(allocator.calls, calls);
  free(x);
  backend->table->destroy(backend);
  vini_object_destroy(object);
  test_problem_free(p);
}

/* A full row eliminated first fills everything: n (n + 1) / 2 - n entries, counted without storing
 * them, and refused before memory is asked for. */
Test(ldlt_verdict, too_many_entries_are_refused_before_allocation) {
  const vin_int n = 65537;
  vin_int *row = calloc(2 * (size_t)n, sizeof *row), *col = calloc(2 * (size_t)n, sizeof *col);
  vin_triplets pattern = {.count = 0, .row = row, .col = col};
  for (vin_int k = 0; k < n; k++) {
    row[pattern.count] = col[pattern.count] = k;
    pattern.count++;
    if (k == 0) continue;
    row[pattern.count++] = k;
  }
  vin_sparse *matrix = NULL;
  cr_assert_eq(vin_sparse_create(&matrix, NULL, n, n, pattern, VIN_STORAGE_SYMMETRIC_LOWER),
               VIN_OK);
  vin_int *natural = calloc((size_t)n, sizeof *natural);
  for (vin_int k = 0; k < n; k++) natural[k] = k;
  vini_object *object = NULL;
  cr_assert_eq(vini_object_begin((void **)&object, NULL, sizeof *object), VIN_OK);
  int64_t nnz;
  double flops;
  cr_assert_eq(vini_predict_ldlt(object, matrix, natural, &nnz, &flops), VIN_OK);
  cr_expect_eq(nnz, (int64_t)n * (n + 1) / 2 - n);
  vini_backend *backend = NULL;
  cr_expect_eq(vini_ldlt_create(&backend, object, matrix, natural), VIN_ERR_TOO_LARGE);
  cr_expect_null(backend);
  cr_expect(strstr(vini_text(object), "2147516416"), "%s", vini_text(object));
  vini_object_destroy(object);
  vin_sparse_destroy(matrix);
  free(natural);
  free(row);
  free(col);
}
