/* line_integral_support - what the tests of hbvm and lim share. */
#ifndef TEST_LINE_INTEGRAL_SUPPORT_H
#define TEST_LINE_INTEGRAL_SUPPORT_H

#include "problems.h"

/* Options of hbvm (r = 0) or lim. */
vin_options test_line_options(int k, int s, int r);
/* test_mechanism_build() with more flags and the potential of gravity and attraction. */
void test_line_build(test_mechanism *problem, unsigned flags, const vin_context *context);
/* The same, with VIN_CONSTRAINT_QUADRATIC. */
test_mechanism *test_line_built(test_mechanism *problem);

/* Largest deviations over a run. */
typedef struct test_line_run {
  double energy;     /* |H - H0| */
  double trend;      /* what a straight line through H - H0 rises by over the run */
  double constraint; /* |Phi_c| */
  double sweeps;     /* per step */
} test_line_run;
/* `steps` steps from the problem's start, sampled every `every` steps. */
test_line_run test_line_energy(const test_mechanism *problem, const vin_options *options, double h,
                               long steps, long every);

/* s-stage Gauss collocation of p'' = force(p) / mass by fixed-point iteration on the stage positions, with
 * coefficients from Lagrange polynomials: nothing of the library's. p and v are advanced. */
void test_gauss_collocation(test_mechanism *problem, int s, double h, long steps, double *p,
                            double *v);

#endif
