/* test_order - AMD and METIS: permutations, the same ones every time, in every thread. */
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 40, N = SIDE * SIDE, EDGES = 4 * N, THREADS = 8, ROUNDS = 5 };

typedef struct graph {
  vin_int start[N + 1], adjacency[EDGES];
} graph;

static graph *grid(void) {
  graph *g = calloc(1, sizeof *g);
  for (vin_int v = 0, count = 0; v < N; v++) {
    vin_int x = v % SIDE, y = v / SIDE;
    if (y > 0) g->adjacency[count++] = v - SIDE;
    if (x > 0) g->adjacency[count++] = v - 1;
    if (x + 1 < SIDE) g->adjacency[count++] = v + 1;
    if (y + 1 < SIDE) g->adjacency[count++] = v + SIDE;
    g->start[v + 1] = count;
  }
  return g;
}

typedef vin_status order_function(vini_object *, vin_int, const vin_int *, const vin_int *,
                                  vin_int *);
static order_function *const functions[] = {vini_order_amd, vini_order_metis};

static bool is_permutation(vin_int n, const vin_int *order) {
  bool *seen = calloc((size_t)n + 1, sizeof *seen), ok = true;
  for (vin_int k = 0; k < n && ok; k++) {
    ok = order[k] >= 0 && order[k] < n && !seen[order[k]];
    if (ok) seen[order[k]] = true;
  }
  free(seen);
  return ok;
}

/* Entries of L for the grid's Laplacian in an order. */
static int64_t fill(vini_object *object, const graph *g, const vin_int *order) {
  vin_int *row = malloc((EDGES + N) * sizeof *row), *col = malloc((EDGES + N) * sizeof *col);
  vin_int count = 0;
  for (vin_int v = 0; v < N; v++)
    for (vin_int p = g->start[v]; p < g->start[v + 1]; p++)
      if (g->adjacency[p] > v) row[count] = g->adjacency[p], col[count++] = v;
  vin_sparse *matrix;
  cr_assert_eq(vin_sparse_create(&matrix, NULL, N, N, (vin_triplets){count, row, col},
                                 VIN_STORAGE_SYMMETRIC_LOWER),
               VIN_OK);
  int64_t nnz = 0;
  double flops;
  cr_assert_eq(vini_predict_ldlt(object, matrix, order, &nnz, &flops), VIN_OK);
  vin_sparse_destroy(matrix);
  free(row), free(col);
  return nnz;
}

Test(order, reduces_fill_and_repeats) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  graph *g = grid();
  vin_int natural[N], order[N], again[N];
  for (vin_int k = 0; k < N; k++) natural[k] = k;
  for (size_t f = 0; f < 2; f++) {
    vin_status status = functions[f](object, N, g->start, g->adjacency, order);
    if (status == VIN_ERR_UNSUPPORTED) continue; /* no METIS in this build */
    cr_assert_eq(status, VIN_OK, "%s", vini_text(object));
    cr_assert(is_permutation(N, order));
    /* banded 40 x 1600 entries in natural order; a good order has 31 log2(n) n / 8 of them */
    cr_assert_lt(2 * fill(object, g, order), fill(object, g, natural));
    srand(99); /* what the caller does with rand() does not matter */
    cr_assert_eq(functions[f](object, N, g->start, g->adjacency, again), VIN_OK);
    cr_assert_eq(memcmp(order, again, sizeof order), 0);
  }
  free(g);
  vini_object_destroy(object);
}

Test(order, leaves_the_callers_random_numbers_alone) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  graph *g = grid();
  vin_int order[N];
  srand(5);
  int expected[4];
  for (int k = 0; k < 4; k++) expected[k] = rand();
  srand(5);
  for (int k = 0; k < 4; k++) {
    cr_assert_eq(rand(), expected[k]);
    for (size_t f = 0; f < 2; f++) functions[f](object, N, g->start, g->adjacency, order);
  }
  free(g);
  vini_object_destroy(object);
}

typedef struct job {
  const graph *g;
  const vin_int *expected; /* per function */
  int wrong;
} job;

static void *order_many_times(void *argument) {
  job *j = argument;
  vini_object *object = vini_object_create(NULL, sizeof *object);
  vin_int *order = malloc(N * sizeof *order);
  for (int round = 0; round < ROUNDS; round++)
    for (size_t f = 0; f < 2; f++) {
      vin_status status = functions[f](object, N, j->g->start, j->g->adjacency, order);
      if (status == VIN_ERR_UNSUPPORTED) continue;
      j->wrong += status != VIN_OK || memcmp(order, j->expected + f * N, N * sizeof *order) != 0;
    }
  free(order);
  vini_object_destroy(object);
  return NULL;
}

Test(order, report_58_same_order_in_eight_threads) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  graph *g = grid();
  vin_int *expected = calloc(2 * N, sizeof *expected);
  for (size_t f = 0; f < 2; f++) functions[f](object, N, g->start, g->adjacency, expected + f * N);
  pthread_t thread[THREADS];
  job jobs[THREADS];
  for (int t = 0; t < THREADS; t++) {
    jobs[t] = (job){.g = g, .expected = expected};
    cr_assert_eq(pthread_create(&thread[t], NULL, order_many_times, &jobs[t]), 0);
  }
  for (int t = 0; t < THREADS; t++) {
    pthread_join(thread[t], NULL);
    cr_assert_eq(jobs[t].wrong, 0);
  }
  free(expected);
  free(g);
  vini_object_destroy(object);
}

Test(order, small_and_edgeless_graphs) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  static const vin_int none[6] = {0}, pair_start[] = {0, 1, 2}, pair[] = {1, 0};
  /* two separate edges and a lone vertex */
  static const vin_int parts_start[] = {0, 1, 2, 2, 3, 4}, parts[] = {1, 0, 4, 3};
  vin_int order[5];
  for (size_t f = 0; f < 2; f++) {
    if (functions[f](object, 0, none, none, order) == VIN_ERR_UNSUPPORTED) continue;
    cr_assert_eq(functions[f](object, 0, none, none, order), VIN_OK);
    cr_assert(functions[f](object, 1, none, none, order) == VIN_OK && is_permutation(1, order));
    cr_assert(functions[f](object, 5, none, none, order) == VIN_OK && is_permutation(5, order));
    cr_assert(functions[f](object, 2, pair_start, pair, order) == VIN_OK);
    cr_assert(is_permutation(2, order));
    cr_assert(functions[f](object, 5, parts_start, parts, order) == VIN_OK);
    cr_assert(is_permutation(5, order));
  }
  vini_object_destroy(object);
}

Test(order, amd_takes_one_triangle_with_diagonal) {
  vini_object *object = vini_object_create(NULL, sizeof *object);
  /* an arrow whose point comes first: the lower triangle by columns */
  static const vin_int start[] = {0, 4, 5, 6, 7}, row[] = {0, 1, 2, 3, 1, 2, 3};
  vin_int order[4];
  cr_assert_eq(vini_order_amd(object, 4, start, row, order), VIN_OK);
  cr_assert(is_permutation(4, order));
  cr_assert_neq(order[0], 0, "the point does not go first");
  vini_object_destroy(object);
}

Test(order, memory) {
  graph *g = grid();
  vin_int order[N];
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vini_object *object = vini_object_create(&context, sizeof *object);
    vin_status status = VIN_ERR_NO_MEMORY;
    if (object) status = vini_order_metis(object, N, g->start, g->adjacency, order);
    vini_object_destroy(object);
    cr_assert_eq(allocator.live, 0);
    if (allocator.calls < k) break;
    cr_assert_eq(status, VIN_ERR_NO_MEMORY);
  }
  free(g);
}
