/* test_support - see test_support.h. */
#include "test_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *allocate_counted(void *user, size_t bytes) {
  test_allocator *allocator = user;
  allocator->calls++;
  if (allocator->calls == allocator->fail_at) return NULL;
  void *pointer = malloc(bytes);
  if (!pointer) return NULL;
  memset(pointer, 0xA5, bytes); /* the library must not count on zeroed memory */
  allocator->live++;
  return pointer;
}

static void release_counted(void *user, void *pointer) {
  test_allocator *allocator = user;
  allocator->live--;
  free(pointer);
}

vin_context test_context(test_allocator *allocator) {
  vin_context context = vin_context_default();
  context.allocate = allocate_counted;
  context.release = release_counted;
  context.allocator_user = allocator;
  return context;
}

uint64_t test_random_bits(test_random *random) {
  uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

double test_random_between(test_random *random, double low, double high) {
  return low + (high - low) * ((double)(test_random_bits(random) >> 11) * 0x1p-53);
}

vin_int test_random_below(test_random *random, vin_int bound) {
  return (vin_int)(test_random_bits(random) % (uint64_t)bound);
}

void test_random_fill(test_random *random, vin_int count, double *x) {
  for (vin_int i = 0; i < count; i++) x[i] = test_random_between(random, -1.0, 1.0);
}

static size_t place(vin_int i, vin_int j, vin_int rows) {
  return (size_t)i + (size_t)j * (size_t)rows;
}

/* A test without memory cannot go on; the tests of memory failures use the context instead. */
static void *demand(size_t count, size_t element_size) {
  void *pointer = calloc(count + 1, element_size);
  if (!pointer) abort();
  return pointer;
}

static long double *to_long_double(vin_int rows, vin_int cols, const double *a) {
  size_t count = (size_t)rows * (size_t)cols;
  long double *copy = demand(count, sizeof *copy);
  for (size_t k = 0; k < count; k++) copy[k] = a[k];
  return copy;
}

static void swap(long double *a, long double *b) {
  long double kept = *a;
  *a = *b;
  *b = kept;
}

static vin_int pivot_row(vin_int n, const long double *a, vin_int k) {
  vin_int best = k;
  for (vin_int i = k + 1; i < n; i++)
    if (fabsl(a[place(i, k, n)]) > fabsl(a[place(best, k, n)])) best = i;
  return best;
}

bool test_dense_solve(vin_int n, const double *a, const double *b, double *x) {
  long double *lu = to_long_double(n, n, a);
  long double *y = to_long_double(n, 1, b);
  bool regular = true;
  for (vin_int k = 0; k < n && regular; k++) {
    vin_int p = pivot_row(n, lu, k);
    for (vin_int j = k; j < n && p != k; j++) swap(&lu[place(k, j, n)], &lu[place(p, j, n)]);
    if (p != k) swap(&y[k], &y[p]);
    regular = lu[place(k, k, n)] != 0.0L;
    for (vin_int i = k + 1; i < n && regular; i++) {
      long double factor = lu[place(i, k, n)] / lu[place(k, k, n)];
      for (vin_int j = k + 1; j < n; j++) lu[place(i, j, n)] -= factor * lu[place(k, j, n)];
      y[i] -= factor * y[k];
    }
  }
  for (vin_int k = n - 1; k >= 0 && regular; k--) {
    for (vin_int j = k + 1; j < n; j++) y[k] -= lu[place(k, j, n)] * y[j];
    y[k] /= lu[place(k, k, n)];
  }
  for (vin_int i = 0; i < n && regular; i++) x[i] = (double)y[i];
  free(lu);
  free(y);
  return regular;
}

/* Brings the largest entry of the trailing block to (k, k); returns its magnitude. */
static long double bring_pivot(vin_int rows, vin_int cols, long double *a, vin_int k) {
  vin_int row = k, col = k;
  for (vin_int j = k; j < cols; j++)
    for (vin_int i = k; i < rows; i++)
      if (fabsl(a[place(i, j, rows)]) > fabsl(a[place(row, col, rows)])) {
        row = i;
        col = j;
      }
  for (vin_int j = 0; j < cols; j++) swap(&a[place(k, j, rows)], &a[place(row, j, rows)]);
  for (vin_int i = 0; i < rows; i++) swap(&a[place(i, k, rows)], &a[place(i, col, rows)]);
  return fabsl(a[place(k, k, rows)]);
}

vin_int test_dense_rank(vin_int rows, vin_int cols, const double *a, double tolerance) {
  long double *w = to_long_double(rows, cols, a);
  long double largest = 0.0L;
  vin_int rank = 0;
  while (rank < rows && rank < cols) {
    vin_int k = rank;
    long double pivot = bring_pivot(rows, cols, w, k);
    if (k == 0) largest = pivot;
    if (pivot == 0.0L || pivot <= tolerance * largest) break;
    for (vin_int i = k + 1; i < rows; i++) {
      long double factor = w[place(i, k, rows)] / w[place(k, k, rows)];
      for (vin_int j = k + 1; j < cols; j++) w[place(i, j, rows)] -= factor * w[place(k, j, rows)];
    }
    rank++;
  }
  free(w);
  return rank;
}

void test_dense_multiply(vin_int rows, vin_int cols, const double *a, const double *x, double *y) {
  for (vin_int i = 0; i < rows; i++) {
    long double sum = 0.0L;
    for (vin_int j = 0; j < cols; j++) sum += (long double)a[place(i, j, rows)] * x[j];
    y[i] = (double)sum;
  }
}

void test_dense_multiply_transposed(vin_int rows, vin_int cols, const double *a, const double *x,
                                    double *y) {
  for (vin_int j = 0; j < cols; j++) {
    long double sum = 0.0L;
    for (vin_int i = 0; i < rows; i++) sum += (long double)a[place(i, j, rows)] * x[i];
    y[j] = (double)sum;
  }
}

static void clear(vin_int rows, vin_int cols, double *a) {
  for (size_t k = 0; k < (size_t)rows * (size_t)cols; k++) a[k] = 0.0;
}

void test_dense_from_triplets(vin_int rows, vin_int cols, vin_triplets pattern, vin_storage storage,
                              const double *values, double *a) {
  clear(rows, cols, a);
  for (vin_int k = 0; k < pattern.count; k++) {
    vin_int i = pattern.row[k], j = pattern.col[k];
    a[place(i, j, rows)] += values[k];
    if (storage == VIN_STORAGE_SYMMETRIC_LOWER && i != j) a[place(j, i, rows)] += values[k];
  }
}

void test_dense_from_csc(vin_csc matrix, double *a) {
  clear(matrix.rows, matrix.cols, a);
  for (vin_int j = 0; j < matrix.cols; j++)
    for (vin_int p = matrix.start[j]; p < matrix.start[j + 1]; p++) {
      a[place(matrix.row[p], j, matrix.rows)] = matrix.value[p];
      if (matrix.storage == VIN_STORAGE_SYMMETRIC_LOWER)
        a[place(j, matrix.row[p], matrix.rows)] = matrix.value[p];
    }
}

static double worse(double largest, double magnitude) {
  if (isnan(magnitude)) return INFINITY;
  return magnitude > largest ? magnitude : largest;
}

double test_max_abs(vin_int count, const double *x) {
  double largest = 0.0;
  for (vin_int i = 0; i < count; i++) largest = worse(largest, fabs(x[i]));
  return largest;
}

double test_max_difference(vin_int count, const double *x, const double *y) {
  double largest = 0.0;
  for (vin_int i = 0; i < count; i++) largest = worse(largest, fabs(x[i] - y[i]));
  return largest;
}

double test_dot(vin_int count, const double *x, const double *y) {
  long double sum = 0.0L;
  for (vin_int i = 0; i < count; i++) sum += (long double)x[i] * y[i];
  return (double)sum;
}

const char *test_scratch_path(char *path, size_t size, const char *name) {
  const char *directory = getenv("TMPDIR");
  snprintf(path, size, "%s/vincula-%ld-%s", directory ? directory : "/tmp", (long)getpid(), name);
  return path;
}
