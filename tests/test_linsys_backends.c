/* test_linsys_backends - what only the backend interface shows: UMFPACK's strategy and verdict on
 * singularity, pivots and their scale. */
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
  vin_int size, count, capacity;
  vin_int *row, *col;
  double *value;
} builder;

static void add(builder *b, vin_int row, vin_int col, double value) {
  if (b->count == b->capacity) {
    b->capacity = 2 * b->capacity + 64;
    b->row = realloc(b->row, (size_t)b->capacity * sizeof *b->row);
    b->col = realloc(b->col, (size_t)b->capacity * sizeof *b->col);
    b->value = realloc(b->value, (size_t)b->capacity * sizeof *b->value);
  }
  b->row[b->count] = row, b->col[b->count] = col, b->value[b->count++] = value;
}

static void builder_free(builder *b) {
  free(b->row), free(b->col), free(b->value);
}

static vin_sparse *compress(builder *b) {
  vin_sparse *matrix = NULL;
  vin_triplets pattern = {b->count, b->row, b->col};
  cr_assert_eq(
      vin_sparse_create(&matrix, NULL, b->size, b->size, pattern, VIN_STORAGE_SYMMETRIC_LOWER),
      VIN_OK);
  cr_assert_eq(vin_sparse_set_values(matrix, b->value), VIN_OK);
  return matrix;
}

/* A rod between points a and b (a = -1: the ground). */
static void add_rod(builder *k, test_random *random, vin_int row, vin_int a, vin_int b,
                    double length) {
  for (vin_int d = 0; d < 3; d++) {
    double g = length * test_random_between(random, -1, 1);
    if (a >= 0) add(k, row, 3 * a + d, -g);
    add(k, row, 3 * b + d, g);
  }
}

/* N points on N rods; the first `twice` rods are entered a second time, divided by 3 (which
 * rounds). */
static builder point_chain(vin_int n, vin_int twice, double ratio, bool one_heavy, double length) {
  builder k = {.size = 4 * n + twice};
  test_random random = {7};
  for (vin_int i = 0; i < n; i++) {
    double mass =
        one_heavy ? (i == n / 2 ? ratio : 1) : pow(ratio, test_random_between(&random, -1, 1));
    for (vin_int d = 0; d < 3; d++) add(&k, 3 * i + d, 3 * i + d, mass);
  }
  for (vin_int r = 0; r < n; r++) {
    vin_int from = k.count;
    add_rod(&k, &random, 3 * n + r, r - 1, r, length);
    vin_int to = k.count;
    for (vin_int q = from; q < to && r < twice; q++) add(&k, 4 * n + r, k.col[q], k.value[q] / 3);
  }
  return k;
}

static builder net(vin_int side) {
  vin_int points = side * side, rods = 0;
  builder k = {.size = 0};
  test_random random = {8};
  for (vin_int i = 0; i < 3 * points; i++) add(&k, i, i, 1);
  for (vin_int i = 0; i < side; i++)
    for (vin_int j = 0; j < side; j++) {
      vin_int p = i * side + j;
      if (j + 1 < side) add_rod(&k, &random, 3 * points + rods++, p, p + 1, 1);
      if (i + 1 < side) add_rod(&k, &random, 3 * points + rods++, p, p + side, 1);
    }
  k.size = 3 * points + rods;
  return k;
}

/* Bodies of six unknowns with full 3 x 3 inertia, joined by hinges (five rows). */
static builder hinge_chain(vin_int n) {
  builder k = {.size = 11 * n};
  test_random random = {9};
  for (vin_int i = 0; i < n; i++) {
    for (vin_int d = 0; d < 3; d++) add(&k, 6 * i + d, 6 * i + d, 1);
    for (vin_int d = 3; d < 6; d++)
      for (vin_int e = 3; e <= d; e++) add(&k, 6 * i + d, 6 * i + e, d == e ? 1.1 : 0.1);
    for (vin_int r = 0; r < 5; r++)
      for (vin_int d = r < 3 ? 0 : 3; d < 6; d++) {
        if (d < 3 && d != r) continue;
        add(&k, 6 * n + 5 * i + r, 6 * i + d, test_random_between(&random, -1, 1));
        if (i > 0) add(&k, 6 * n + 5 * i + r, 6 * i - 6 + d, test_random_between(&random, -1, 1));
      }
  }
  return k;
}

/* Creates the backend, factorises, describes; returns factor's status. */
static vin_status run(vin_solver solver, builder *k, char *description, vini_factor_info *info) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  vin_sparse *matrix = compress(k);
  vini_backend *backend = NULL;
  cr_assert_eq(vini_backend_create(&backend, object, solver, matrix, NULL), VIN_OK, "%s",
               vini_text(object));
  strcpy(description, backend->table->describe(backend));
  vin_status status = backend->table->factor(backend, matrix);
  backend->table->info(backend, info);
  backend->table->destroy(backend);
  vin_sparse_destroy(matrix);
  vini_object_destroy(object);
  return status;
}

Test(umfpack, strategy_follows_the_cheaper_prediction) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  char text[100], again[100];
  vini_factor_info info;
  builder k = net(40);
  cr_assert_eq(run(VIN_SOLVER_UMFPACK, &k, text, &info), VIN_OK);
  cr_assert_str_eq(text, "umfpack, symmetric strategy");
  cr_assert_gt(info.rcond, 1e-10);
  cr_assert_eq(run(VIN_SOLVER_UMFPACK, &k, again, &info), VIN_OK);
  cr_assert_str_eq(text, again, "same input, same choice");
  builder_free(&k);
}

Test(umfpack, analysis_of_long_hinge_chains_is_capped, .timeout = 60) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  /* the symmetric analysis of 1e5 hinged bodies takes minutes: the timeout is the test */
  char text[100];
  vini_factor_info info;
  builder k = hinge_chain(30000);
  cr_assert_eq(run(VIN_SOLVER_UMFPACK, &k, text, &info), VIN_OK);
  cr_assert_str_eq(text, "umfpack, unsymmetric strategy");
  builder_free(&k);
  k = point_chain(30000, 0, 10, false, 1); /* no cap needed: few entries in R */
  cr_assert_eq(run(VIN_SOLVER_UMFPACK, &k, text, &info), VIN_OK);
  cr_assert_str_eq(text, "umfpack, symmetric strategy");
  builder_free(&k);
}

Test(umfpack, dependent_rows_are_singular_and_bad_scaling_is_not) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  static const struct {
    vin_int twice;
    double ratio;
    bool one_heavy;
    double length;
  } sample[] = {
      {0, 1, true, 1},     {0, 1e10, true, 1}, {0, 1e-10, true, 1}, {0, 1e5, false, 1},
      {0, 1e10, false, 1}, {0, 1, true, 1e-8}, {1, 1, true, 1},     {2, 1, true, 1},
      {5, 1, true, 1},     {2, 1e10, true, 1}, {2, 1e-10, true, 1}, {2, 1e5, false, 1},
      {2, 1, true, 1e-8},
  };
  for (size_t c = 0; c < sizeof sample / sizeof *sample; c++) {
    char text[100];
    vini_factor_info info;
    builder k =
        point_chain(100, sample[c].twice, sample[c].ratio, sample[c].one_heavy, sample[c].length);
    vin_status status = run(VIN_SOLVER_UMFPACK, &k, text, &info);
    cr_assert_eq(status, sample[c].twice ? VIN_SINGULAR : VIN_OK, "case %zu: rcond %g", c,
                 info.rcond);
    builder_free(&k);
  }
}

/* Pivots and scales in the definition of linsys.h, by dense elimination in the given order. */
static void dense_pivots(vin_int n, double *a, double *d, double *scale) {
  for (vin_int k = 0; k < n; k++) scale[k] = fabs(a[k + k * n]);
  for (vin_int k = 0; k < n; k++) {
    d[k] = a[k + k * n];
    for (vin_int i = k + 1; i < n; i++) {
      double l = a[i + k * n] / d[k];
      scale[i] += l * l * fabs(d[k]);
      for (vin_int j = k + 1; j < n; j++) a[i + j * n] -= l * a[j + k * n];
    }
  }
}

Test(ldlt_backends, pivots_and_scales_follow_their_definition) {
  enum { LINKS = 6, N = 4 * LINKS };
  builder k = point_chain(LINKS, 0, 10, false, 1);
  vin_sparse *matrix = compress(&k);
  double dense[N * N], permuted[N * N], d[N], scale[N], d_dense[N], scale_dense[N];
  test_dense_from_csc(vin_sparse_view(matrix), dense);
  vin_int order[N], count = 0;
  for (vin_int i = LINKS - 1; i >= 0; i--) { /* from the free end to the ground */
    for (vin_int c = 0; c < 3; c++) order[count++] = 3 * i + c;
    if (i < LINKS - 1) order[count++] = 3 * LINKS + i + 1;
  }
  order[count++] = 3 * LINKS;
  for (vin_int i = 0; i < N; i++)
    for (vin_int j = 0; j < N; j++) permuted[i + j * N] = dense[order[i] + order[j] * N];
  dense_pivots(N, permuted, d_dense, scale_dense);
  static const vin_solver tried[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD};
  for (size_t c = 0; c < 2; c++) {
    if (!vin_solver_available(tried[c])) continue;
    vini_object *object = vini_object_create(NULL, sizeof *object);
    vini_backend *backend = NULL;
    cr_assert_eq(vini_backend_create(&backend, object, tried[c], matrix, order), VIN_OK);
    cr_assert_eq(backend->table->factor(backend, matrix), VIN_OK);
    cr_assert(backend->table->pivots(backend, d, scale));
    double ratio = INFINITY;
    for (vin_int q = 0; q < N; q++) {
      /* 24 unknowns, values near 1: some 1e-15 of rounding in each way of summing */
      cr_assert_float_eq(d[order[q]], d_dense[q], 1e-12 * scale_dense[q], "%s", "pivot");
      cr_assert_float_eq(scale[order[q]], scale_dense[q], 1e-12 * scale_dense[q], "scale");
      ratio = fmin(ratio, fabs(d_dense[q]) / scale_dense[q]);
    }
    vini_factor_info info;
    backend->table->info(backend, &info);
    cr_assert_eq(info.negative, LINKS);
    cr_assert_float_eq(info.min_pivot_ratio, ratio, 1e-10 * ratio);
    backend->table->destroy(backend);
    vini_object_destroy(object);
  }
  vin_sparse_destroy(matrix);
  builder_free(&k);
}

Test(backends, auto_is_not_a_backend) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  builder k = point_chain(2, 0, 1, true, 1);
  vin_sparse *matrix = compress(&k);
  vini_backend *backend = NULL;
  cr_assert_eq(vini_backend_create(&backend, object, VIN_SOLVER_AUTO, matrix, NULL),
               VIN_ERR_BAD_INPUT);
  cr_assert_null(backend);
  vin_sparse_destroy(matrix);
  builder_free(&k);
  vini_object_destroy(object);
}
