/* test_newton - Newton's method on a small dense system, as an independent solution. */
#ifndef TEST_NEWTON_H
#define TEST_NEWTON_H

#include "test_support.h"

/* r := R(z), both of length count */
typedef void (*test_residual)(void *user, const double *z, double *r);

/* Solves R(z) = 0 from z with a Jacobian by central differences, until a step is below 1e-14 of z or
 * stops falling. false: singular or no convergence in 50 steps. */
bool test_newton(vin_int count, test_residual residual, void *user, double *z);

#endif
