/* test_support - what several test programs share. Nothing here uses the library's own arithmetic,
 * so that a result can be compared with one that was found another way. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include "vincula/base.h"
#include "vincula/sparse.h"

#include <stdbool.h>

/* An allocator that counts, and fails once on request. Start from {0}; the object must outlive the
 * contexts made from it. The usual loop, which visits every allocation of a call:
 *
 *   for (int64_t k = 1;; k++) {
 *     test_allocator allocator = {.fail_at = k};
 *     vin_context context = test_context(&allocator);
 *     ... call, destroy ...
 *     cr_assert_eq(allocator.live, 0);
 *     if (allocator.calls < k) break;      (the k-th allocation was never asked for)
 *   } */
typedef struct test_allocator {
  int64_t fail_at; /* this allocation fails, counted from 1; 0: none */
  int64_t calls;   /* allocations asked for */
  int64_t live;    /* blocks not yet released */
} test_allocator;

vin_context test_context(test_allocator *allocator);

/* Deterministic random numbers (splitmix64; Steele, Lea, Flood 2014). Start from {seed}. */
typedef struct test_random {
  uint64_t state;
} test_random;

uint64_t test_random_bits(test_random *random);
double test_random_between(test_random *random, double low, double high); /* [low, high) */
vin_int test_random_below(test_random *random, vin_int bound);            /* 0..bound-1 */
void test_random_fill(test_random *random, vin_int count, double *x);     /* [-1, 1) each */

/* Dense matrices are column-major: entry (i, j) of an m x n matrix is a[i + j * m]. */

/* Solves A x = b (n x n) in long double, with partial pivoting; x may be b. false: a pivot is zero.
 */
bool test_dense_solve(vin_int n, const double *a, const double *b, double *x);
/* Rank: pivots above tolerance times the largest entry, with complete pivoting in long double. */
vin_int test_dense_rank(vin_int rows, vin_int cols, const double *a, double tolerance);
/* y := A x and y := A' x, summed in long double. */
void test_dense_multiply(vin_int rows, vin_int cols, const double *a, const double *x, double *y);
void test_dense_multiply_transposed(vin_int rows, vin_int cols, const double *a, const double *x,
                                    double *y);
/* The full matrix that triplets stand for: duplicates add, symmetric storage is mirrored. a is set.
 */
void test_dense_from_triplets(vin_int rows, vin_int cols, vin_triplets pattern, vin_storage storage,
                              const double *values, double *a);
/* The same of a compressed matrix. */
void test_dense_from_csc(vin_csc matrix, double *a);

double test_max_abs(vin_int count, const double *x);                         /* NaN counts as inf */
double test_max_difference(vin_int count, const double *x, const double *y); /* NaN counts as inf */
double test_dot(vin_int count, const double *x, const double *y);

/* A path for a scratch file of this process: <TMPDIR or /tmp>/vincula-<pid>-<name>. size as
 * snprintf. */
const char *test_scratch_path(char *path, size_t size, const char *name);

#endif
