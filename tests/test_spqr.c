/* test_spqr - the rank-revealing QR by itself: dependent columns of sparse matrices with and without
 * dense rows. What it does for saddle-point systems: test_kkt_rank.c. */
#include "linsys/linsys.h"
#include "test_hooks.h"
#include "test_rank_support.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* Dependent columns of a matrix given by rows (its transpose), against the dense reference. */
static void check_columns(const problem *p) {
  vini_object object = {.context = vin_context_default()};
  vin_sparse *a = NULL;
  vin_triplets turned = {p->j.count, p->j.col, p->j.row};
  cr_assert_eq(vin_sparse_create(&a, NULL, p->n, p->m, turned, VIN_STORAGE_GENERAL), VIN_OK);
  cr_assert_eq(vin_sparse_set_values(a, p->j.value), VIN_OK);
  unsigned char *dependent = malloc((size_t)p->m + 1);
  memset(dependent, 7, (size_t)p->m + 1); /* whatever was there */
  vin_int *rows = malloc(((size_t)p->m + 1) * sizeof *rows), rank = -1;
  vin_status status = vini_dependent_columns(&object, vin_sparse_view(a), 1e-10, dependent, &rank);
  if (vini_rank_available()) {
    cr_assert_eq(status, VIN_OK, "%s", object.text);
    vin_int expected = p->m - dependent_rows(p, NULL, rows), kept = 0;
    cr_expect_eq(rank, expected, "rank %d, not %d", (int)rank, (int)expected);
    for (vin_int i = 0; i < p->m; i++) {
      cr_expect_leq(dependent[i], 1);
      kept += !dependent[i];
    }
    cr_expect_eq(kept, rank);
    cr_expect_eq(dependent_rows(p, dependent, rows), 0, "what is kept is independent");
  } else {
    cr_expect_eq(status, VIN_ERR_UNSUPPORTED);
    cr_expect(strstr(object.text, "not part of this build"), "%s", object.text);
  }
  free(dependent), free(rows);
  vin_sparse_destroy(a);
}

Test(spqr, columns_with_and_without_dense_rows) {
  test_random random = {15};
  for (int k = 0; k < 30; k++) {
    vin_int rank = 3 + test_random_below(&random, 20);
    problem p = product_problem(rank + 10, rank + test_random_below(&random, 12), rank, &random);
    check_columns(&p);
    problem_free(&p);
  }
  for (vin_int dense = 1; dense <= 40;
       dense += 13) { /* rank 20 in sparse rows, then more by these */
    problem p = product_problem(40 + dense, 90, 20, &random);
    for (vin_int e = 0; e < p.j.count; e++)
      if (p.j.col[e] >= 40) p.j.value[e] = 0;
    for (vin_int i = 0; i < 90; i++)
      for (vin_int c = 0; c < dense; c++)
        entries_add(&p.j, i, 40 + c, test_random_between(&random, -1, 1));
    for (vin_int i = 0; i < 5; i++) problem_duplicate(&p, 7 * i, -3);
    check_columns(&p);
    problem_free(&p);
  }
}

/* Without columns, without entries, a column of zeros or of huge and tiny numbers. */
Test(spqr, columns_at_the_edge) {
  problem p = problem_make(3, 0);
  check_columns(&p);
  problem_free(&p);
  p = problem_make(3, 2);
  check_columns(&p);
  for (vin_int j = 0; j < 3; j++) {
    entries_add(&p.j, 0, j, 1e200 * (1 + j));
    entries_add(&p.j, 1, j, 1e-200 * (2 + j));
  }
  check_columns(&p);
  for (vin_int k = 0; k < p.j.count; k++)
    if (p.j.row[k] == 1) p.j.value[k] = 0;
  check_columns(&p);
  problem_free(&p);
}

/* Each allocation of SuiteSparseQR fails once: told (or, for a realloc that only gives back, not
 * needed), nothing leaks, no wrong rank. */
Test(spqr, suitesparse_without_memory) {
  if (!vini_rank_available()) return;
  test_hooks_install();
  test_random random = {16};
  problem p = product_problem(40, 20, 15, &random);
  vin_sparse *a = NULL;
  vin_triplets turned = {p.j.count, p.j.col, p.j.row};
  cr_assert_eq(vin_sparse_create(&a, NULL, p.n, p.m, turned, VIN_STORAGE_GENERAL), VIN_OK);
  cr_assert_eq(vin_sparse_set_values(a, p.j.value), VIN_OK);
  vin_int rows[20], expected = p.m - dependent_rows(&p, NULL, rows);
  for (int64_t k = 1;; k++) {
    vini_object object = {.context = vin_context_default()};
    unsigned char dependent[20];
    vin_int rank;
    memset(&test_hooks, 0, sizeof test_hooks);
    test_hooks.fail_at = k;
    vin_status status =
        vini_dependent_columns(&object, vin_sparse_view(a), 1e-10, dependent, &rank);
    cr_expect_eq(test_hooks.live, 0, "allocation %d: %d blocks left", (int)k, (int)test_hooks.live);
    cr_expect(status == VIN_OK || status == VIN_ERR_NO_MEMORY || status == VIN_ERR_INTERNAL,
              "%d: %s", (int)k, object.text);
    cr_expect_eq(rank, status == VIN_OK ? expected : 0);
    if (test_hooks.calls < k) break;
  }
  cr_expect_gt(test_hooks.calls, 10);
  vin_sparse_destroy(a);
  problem_free(&p);
}

/* A basis of columns that are not scaled: rows (0.9, 0.436, 0, 0) and (0, 0, 0.6, 0.8), asked to be further than
 * a distance from each other, those that are long enough in their row; none where too much is asked for. */
Test(spqr, basis_of_columns) {
  static const vin_int row[] = {0, 0, 1, 1}, col[] = {0, 1, 2, 3};
  static const double value[] = {0.9, 0.436, 0.6, 0.8};
  vini_object object = {.context = vin_context_default()};
  vin_sparse *a = NULL;
  cr_assert_eq(vin_sparse_create(&a, NULL, 2, 4, (vin_triplets){4, row, col}, VIN_STORAGE_GENERAL),
               VIN_OK);
  cr_assert_eq(vin_sparse_set_values(a, value), VIN_OK);
  unsigned char basis[4];
  vin_int rank = -1;
  vin_status status = vini_basis_columns(&object, vin_sparse_view(a), 0.7, basis, &rank);
  if (vini_rank_available()) {
    cr_assert_eq(status, VIN_OK, "%s", object.text);
    cr_expect_eq(rank, 2);
    cr_expect(basis[0] && !basis[1] && !basis[2] && basis[3]);
    cr_assert_eq(vini_basis_columns(&object, vin_sparse_view(a), 0.85, basis, &rank), VIN_OK);
    cr_expect_eq(rank, 1);
    cr_expect(basis[0] && !basis[1] && !basis[2] && !basis[3]);
    cr_assert_eq(vini_basis_columns(&object, vin_sparse_view(a), 0.1, basis, &rank), VIN_OK);
    cr_expect_eq(rank, 2);
    cr_expect_eq(basis[0] + basis[1], 1);
    cr_expect_eq(basis[2] + basis[3], 1);
  } else {
    cr_expect_eq(status, VIN_ERR_UNSUPPORTED);
  }
  vin_sparse_destroy(a);
}
