/* dae_small - small semi-explicit DAEs of index 1 and 2, with callbacks that fail on request, and projectors onto
 * their constraints. */
#ifndef TEST_DAE_SMALL_H
#define TEST_DAE_SMALL_H

#include "dae_pendulum.h"

#include "vincula/vincula.h"

#include <stdbool.h>

enum { TEST_DAE_SMALL = 8, TEST_CONDITIONS = 3 };

/* A small problem with full patterns of what each row may depend on. */
typedef struct test_dae_small {
  vin_int n, d, index;
  void (*f)(double t, const double *y, double *f);
  void (*jacobian)(double t, const double *y, double j[TEST_DAE_SMALL][TEST_DAE_SMALL]);
  bool differences;
  int calls, fail_call, fail_code; /* of f; code 0: NaN */
  double limit;                    /* domain: |y_0| < limit; 0: none */
} test_dae_small;

vin_dae *test_dae_small_create(test_dae_small *s);
vin_dae_projector *test_dae_small_projector(test_dae_small *s,
                                            const vin_dae_projection_options *options);
/* The defaults with coupled levels. */
vin_dae_projection_options test_coupled(void);

/* Problem 42 of Hock and Schittkowski is a nearest point: y = (x2, x3 | x1, x4), 0 = x1 - 2, 0 =
 * x3^2 + x4^2 - 2, with the solution (2, 2, 0.6 sqrt 2, 0.8 sqrt 2). Theirs is that of all starts on
 * the ray (3, 4) of x3 and x4; Gauss-Newton needs one within the radius of the circle. */
void test_f42(double t, const double *y, double *f);
void test_j42(double t, const double *y, double j[TEST_DAE_SMALL][TEST_DAE_SMALL]);

/* The pendulum, x = (q, v), z = l: 0 = q v; the hidden constraint is v v + q v' = 0. */
test_dae_small test_dae_small_pendulum(void);
/* The same with accelerations: index 1, 0 = v v + q v'. */
test_dae_small test_dae_small_pendulum_1(void);
/* A state that is off all of its constraints. */
extern const double test_pendulum_off[TEST_PENDULUM];

/* |q| = 1 as an invariant. */
int test_circle(void *user, double t, const double *y, double *c);
void test_add_circle(vin_dae_projection_options *options);

/* Constraints of the pendulum and their gradients, written by hand: velocity, acceleration, circle. */
void test_pendulum_conditions(const double *y, double *c, double a[TEST_CONDITIONS][TEST_PENDULUM]);

#endif
