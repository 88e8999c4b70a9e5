#include "test_problem.h"

#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

test_problem *test_problem_new(vin_int n, vin_int m) {
  test_problem *p = calloc(1, sizeof *p);
  p->n = n;
  p->m = m;
  p->order = calloc((size_t)(n + m), sizeof *p->order);
  cr_assert_eq(vini_object_begin((void **)&p->object, NULL, sizeof *p->object), VIN_OK);
  return p;
}

void test_problem_free(test_problem *p) {
  if (p->backend) p->backend->table->destroy(p->backend);
  vin_sparse_destroy(p->matrix);
  vini_object_destroy(p->object);
  free(p->order);
  free(p);
}

void test_problem_put(test_problem *p, vin_int a, vin_int b, double value) {
  cr_assert_lt(p->count, TEST_PROBLEM_TRIPLETS);
  p->row[p->count] = a > b ? a : b;
  p->col[p->count] = a > b ? b : a;
  p->value[p->count++] = value;
}

/* Schur-type order: constraints in the given sequence, each coordinate just before the first one
 * that touches it; coordinates coupled by M need not stay together. */
void test_problem_order(test_problem *p, const vin_int *sequence) {
  const vin_int size = p->n + p->m;
  bool *placed = calloc((size_t)size, sizeof *placed);
  vin_int done = 0;
  for (vin_int q = 0; q < p->m; q++) {
    for (vin_int k = 0; k < p->count; k++)
      if (p->row[k] == p->n + sequence[q] && p->col[k] < p->n && !placed[p->col[k]]) {
        placed[p->col[k]] = true;
        p->order[done++] = p->col[k];
      }
    p->order[done++] = p->n + sequence[q];
  }
  for (vin_int k = 0; k < p->n; k++)
    if (!placed[k]) p->order[done++] = k;
  cr_assert_eq(done, size);
  free(placed);
}

void test_problem_order_natural(test_problem *p) {
  vin_int *sequence = calloc((size_t)p->m + 1, sizeof *sequence);
  for (vin_int k = 0; k < p->m; k++) sequence[k] = k;
  test_problem_order(p, sequence);
  free(sequence);
}

void test_problem_compress(test_problem *p) {
  const vin_triplets pattern = {.count = p->count, .row = p->row, .col = p->col};
  const vin_int size = p->n + p->m;
  cr_assert_eq(
      vin_sparse_create(&p->matrix, NULL, size, size, pattern, VIN_STORAGE_SYMMETRIC_LOWER),
      VIN_OK);
  cr_assert_eq(vin_sparse_set_values(p->matrix, p->value), VIN_OK);
}

vin_status test_problem_factor(test_problem *p) {
  if (!p->matrix) test_problem_compress(p);
  if (!p->backend)
    cr_assert_eq(vini_ldlt_create(&p->backend, p->object, p->matrix, p->order), VIN_OK, "%s",
                 vini_text(p->object));
  return p->backend->table->factor(p->backend, p->matrix);
}

vini_factor_info test_problem_info(const test_problem *p) {
  vini_factor_info result;
  p->backend->table->info(p->backend, &result);
  return result;
}

/* Dense right-hand sides, deterministic. */
double *test_random_vector(vin_int size, uint64_t seed) {
  test_random random = {seed};
  double *x = calloc((size_t)size, sizeof *x);
  test_random_fill(&random, size, x);
  return x;
}

double *test_problem_dense(const test_problem *p) {
  const size_t size = (size_t)(p->n + p->m);
  double *a = calloc(size * size, sizeof *a);
  test_dense_from_csc(vin_sparse_view(p->matrix), a);
  return a;
}

/* max_i |b - A x|_i / (|A| |x| + |b|)_i: each row judged by its own scale. */
double test_problem_residual(const test_problem *p, const double *x, const double *b) {
  const vin_csc a = vin_sparse_view(p->matrix);
  const size_t size = (size_t)a.cols;
  long double *r = calloc(size, sizeof *r), *scale = calloc(size, sizeof *scale);
  for (vin_int j = 0; j < a.cols; j++)
    for (vin_int k = a.start[j]; k < a.start[j + 1]; k++) {
      const vin_int i = a.row[k];
      r[i] += (long double)a.value[k] * x[j];
      scale[i] += fabsl((long double)a.value[k] * x[j]);
      if (i == j) continue;
      r[j] += (long double)a.value[k] * x[i];
      scale[j] += fabsl((long double)a.value[k] * x[i]);
    }
  double worst = 0.0;
  for (size_t i = 0; i < size; i++) {
    const double ratio = (double)(fabsl(b[i] - r[i]) / (scale[i] + fabsl(b[i]) + 1e-300L));
    if (!(ratio <= worst)) worst = ratio;
  }
  free(r);
  free(scale);
  return worst;
}

/* Mass block: diagonal, or diagonally dominant with random couplings. */
static void put_mass(test_problem *p, test_random *random, bool coupled) {
  for (vin_int k = 0; k < p->n; k++)
    test_problem_put(p, k, k, test_random_between(random, 4.0, 9.0));
  for (vin_int k = 0; coupled && k < p->n; k++) {
    const vin_int other = test_random_below(random, p->n);
    if (other != k) test_problem_put(p, k, other, test_random_between(random, -1.0, 1.0));
  }
}

static void shuffle(test_random *random, vin_int count, vin_int *sequence) {
  for (vin_int k = 0; k < count; k++) sequence[k] = k;
  for (vin_int k = count - 1; k > 0; k--) {
    const vin_int other = test_random_below(random, k + 1), kept = sequence[k];
    sequence[k] = sequence[other];
    sequence[other] = kept;
  }
}

/* Constraint q holds coordinate q strongly, so J has full row rank, and `extra` others weakly. */
test_problem *test_problem_random(uint64_t seed, bool coupled, bool compliance) {
  test_random random = {seed};
  const vin_int m = 1 + test_random_below(&random, 40);
  const vin_int n = m + test_random_below(&random, 60);
  test_problem *p = test_problem_new(n, m);
  put_mass(p, &random, coupled);
  for (vin_int q = 0; q < m; q++) {
    test_problem_put(p, n + q, q, test_random_between(&random, 2.0, 3.0));
    for (vin_int extra = test_random_below(&random, 5); extra > 0; extra--)
      test_problem_put(p, n + q, test_random_below(&random, n),
                       test_random_between(&random, -0.4, 0.4));
    if (!compliance) continue;
    test_problem_put(p, n + q, n + q, -0.5);
    const vin_int other = test_random_below(&random, m);
    if (other != q)
      test_problem_put(p, n + q, n + other, test_random_between(&random, -0.05, 0.05));
  }
  vin_int *sequence = calloc((size_t)m + 1, sizeof *sequence);
  shuffle(&random, m, sequence);
  test_problem_order(p, sequence);
  free(sequence);
  return p;
}

/* Points with 3 coordinates and one rod to the point parent[k] (k: to the ground). */
test_problem *test_problem_rods(vin_int points, const vin_int *parent, const double *mass) {
  test_random random = {11};
  test_problem *p = test_problem_new(3 * points, points);
  for (vin_int k = 0; k < points; k++)
    for (vin_int i = 0; i < 3; i++)
      test_problem_put(p, 3 * k + i, 3 * k + i, mass ? mass[k] : 1.0 + (double)(k % 7));
  for (vin_int k = 0; k < points; k++)
    for (vin_int i = 0; i < 3; i++) {
      const double direction = test_random_between(&random, 0.2, 1.0);
      test_problem_put(p, p->n + k, 3 * k + i, direction);
      if (parent[k] != k) test_problem_put(p, p->n + k, 3 * parent[k] + i, -direction);
    }
  test_problem_order_natural(p);
  return p;
}

test_problem *test_problem_chain(vin_int points, const double *mass) {
  vin_int *parent = calloc((size_t)points, sizeof *parent);
  for (vin_int k = 1; k < points; k++) parent[k] = k - 1;
  test_problem *p = test_problem_rods(points, parent, mass);
  free(parent);
  return p;
}

/* A net of side x side points, rods along both directions. */
test_problem *test_problem_net(vin_int side) {
  test_random random = {23};
  test_problem *p = test_problem_new(3 * side * side, 2 * side * (side - 1));
  vin_int rod = 0;
  for (vin_int k = 0; k < 3 * side * side; k++)
    test_problem_put(p, k, k, test_random_between(&random, 1.0, 2.0));
  for (vin_int a = 0; a < side * side; a++)
    for (int direction = 0; direction < 2; direction++) {
      if (direction ? a / side == side - 1 : a % side == side - 1) continue;
      const vin_int b = a + (direction ? side : 1);
      for (vin_int i = 0; i < 3; i++) {
        const double entry = (i == direction ? 1.0 : 0.0) + test_random_between(&random, -0.3, 0.3);
        test_problem_put(p, p->n + rod, 3 * a + i, entry);
        test_problem_put(p, p->n + rod, 3 * b + i, -entry);
      }
      rod++;
    }
  test_problem_order_natural(p);
  return p;
}
