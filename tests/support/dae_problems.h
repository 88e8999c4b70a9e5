/* dae_problems - differential-algebraic equations with known solutions, and faults on request. */
#ifndef DAE_PROBLEMS_H
#define DAE_PROBLEMS_H

#include "vincula/dae.h"

#include <stdbool.h>

/* A row of `pairs` pairs (x_i, z_i), c_i = 1 + i / pairs, s = coupling:
 *
 *   x_i' = -x_i z_i / 2 + s (z_{i+1} - 1 / (c_{i+1} + t))
 *   0    = z_i + z_i^3 - x_i^2 - x_i^6 + s (z_{i+1} - x_{i+1}^2) + s (z_{i-1} - x_{i-1}^2)
 *
 * (terms beyond the ends are left out). Solution: x_i = (c_i + t)^(-1/2), z_i = 1 / (c_i + t), which
 * the equation for z has as its only root when s = 0, since it is monotone. Autonomous for s = 0. */
typedef struct test_pairs {
  vin_int pairs;
  double coupling;
  /* faults: the function and the jacobian, each counted from 1, return `code` (or give NaN for code
   * 99) in this call; 0: never */
  int64_t function_fails, jacobian_fails;
  int code;
  bool singular; /* g does not depend on z */
  double wall;   /* the domain is x_0 > wall; 0: no domain callback */
  double shut;   /* the domain is empty after this time; 0: never */
  int64_t function_calls, jacobian_calls;
  int released;
  vin_int count; /* of the Jacobian's triplets */
  vin_int *row, *col;
} test_pairs;

/* desc refers to p, which must live as long as the problem. */
vin_dae_desc test_pairs_desc(test_pairs *p, bool with_jacobian);
vin_dae *test_pairs_dae(test_pairs *p, bool with_jacobian, const vin_context *context);
void test_pairs_free(test_pairs *p);
void test_pairs_solution(const test_pairs *p, double t, double *y);

/* First line of a test that solves general systems: nothing to test in a build that cannot. */
#define NEEDS_UMFPACK                                                                              \
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return

/* A run from the solution at t = 0, and at h. Tight residuals, so that errors are those of the
 * discretisation. run.y0 is to be freed, run.y1 is part of it. */
vin_grid_run test_pairs_run(const test_pairs *p, vin_dae_method method, double h, vin_int steps);

/* Singular values of a (n x n, column-major, destroyed), in no order: one-sided Jacobi rotations. */
void test_singular_values(vin_int n, double *a, double *sigma);

/* log2 of the ratio of two errors: the observed order when the second has half the step. */
double test_order(double coarse, double fine);

/* Van der Pol's oscillator in the form of index 1 with a stabilised constraint V = x^2 - z^2 + 5
 * (E. Bertolazzi, Numerical Methods for DAEs, 8.11): unknowns x, y, z, and w = z',
 *   x' = y,  y' = mu (1 - x^2) y - x,  z' = w,  0 = x y - z w + V / (2 tau),
 * so that V' = -V / tau. data: {mu, tau}, which must live as long as the problem. */
vin_dae *test_van_der_pol(double data[2]);

#endif
