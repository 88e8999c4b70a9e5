/* test_problem - symmetric saddle-point systems under construction, for tests of the LDL' backends.
 */
#ifndef TEST_PROBLEM_H
#define TEST_PROBLEM_H

#include "linsys/linsys.h"

enum { TEST_PROBLEM_TRIPLETS = 60000 };

/* Lower triplets, values, an elimination order; matrix and backend are made on demand. Failures of
 * the construction are assertions of the running test. */
typedef struct test_problem {
  vin_int n, m, count; /* n coordinates, then m multipliers */
  vin_int row[TEST_PROBLEM_TRIPLETS], col[TEST_PROBLEM_TRIPLETS];
  double value[TEST_PROBLEM_TRIPLETS];
  vin_int *order; /* n + m */
  vini_object *object;
  vin_sparse *matrix;
  vini_backend *backend;
} test_problem;

test_problem *test_problem_new(vin_int n, vin_int m);
void test_problem_free(test_problem *p);
void test_problem_put(test_problem *p, vin_int a, vin_int b, double value);

/* Schur-type order from a sequence of the constraints; natural: 0, 1, ... */
void test_problem_order(test_problem *p, const vin_int *sequence);
void test_problem_order_natural(test_problem *p);

void test_problem_compress(test_problem *p);
/* Creates matrix and ldlt backend where missing, and factorises. */
vin_status test_problem_factor(test_problem *p);
vini_factor_info test_problem_info(const test_problem *p);

/* The full matrix, column-major; free it. */
double *test_problem_dense(const test_problem *p);
/* max_i |b - A x|_i / (|A| |x| + |b|)_i: each row judged by its own scale. */
double test_problem_residual(const test_problem *p, const double *x, const double *b);
/* size numbers in [-1, 1); free them. */
double *test_random_vector(vin_int size, uint64_t seed);

/* Full-rank random J; M diagonal or coupled; (2,2) block zero or -C. */
test_problem *test_problem_random(uint64_t seed, bool coupled, bool compliance);
/* Points with 3 coordinates and one rod each to parent[k] (k itself: to the ground); mass may be
 * NULL. */
test_problem *test_problem_rods(vin_int points, const vin_int *parent, const double *mass);
test_problem *test_problem_chain(vin_int points, const double *mass);
/* side x side points, rods along both directions. */
test_problem *test_problem_net(vin_int side);

#endif
