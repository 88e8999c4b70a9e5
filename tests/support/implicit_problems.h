/* implicit_problems - problems for the implicit methods, whose solutions the tests find in minimal
 * coordinates, by a fine Runge-Kutta integration of their own. */
#ifndef TEST_IMPLICIT_PROBLEMS_H
#define TEST_IMPLICIT_PROBLEMS_H

#include "problems.h"

/* Errors of a run in p, v and lambda, max-norm. */
typedef struct test_errors {
  double p, v, lambda;
} test_errors;

/* Systems that are no mechanisms of rods. */
typedef struct test_bodies {
  vin_system *system;
  vin_int n, m;
  double p[4], v[4], lambda[2];
  double stiffness, damping;
} test_bodies;

/* A point of 1 kg on a rod of 1 m, and another of 1 kg that a spring of length 1/2 with a damper joins
 * to it; under 9.81 in a plane. n = 4, m = 1. tangents: with force_p and force_v. */
test_bodies *test_stiff_pendulum(double stiffness, double damping, bool tangents);
/* A point of 1 kg under 9.81 in polar coordinates (r, theta), theta = 0 below; the rod is reeled as
 * r = 1 + 0.3 sin t. M = diag(1, r^2), f depends on v, Phi on t. */
test_bodies *test_reel(void);
void test_bodies_free(test_bodies *bodies);

/* p, v, lambda at t, by `steps` steps of the minimal formulation. */
void test_stiff_pendulum_at(const test_bodies *bodies, double t, long steps, double *p, double *v,
                            double *lambda);
void test_reel_at(double t, long steps, double *p, double *v, double *lambda);

/* Runs `steps` steps to t; the state is in bodies' copies p, v, lambda. */
vin_status test_bodies_run(const test_bodies *bodies, const vin_options *options, double t,
                           long steps, double *p, double *v, double *lambda);

#endif
