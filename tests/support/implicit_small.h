/* implicit_small - small DAEs 0 = F(t, y, y') with callbacks that fail on request. */
#ifndef TEST_IMPLICIT_SMALL_H
#define TEST_IMPLICIT_SMALL_H

#include "vincula/vincula.h"

#include <stdbool.h>

enum { TEST_IMPLICIT_SMALL = 8 };

/* A small problem with full patterns. */
typedef struct test_implicit_small {
  vin_int n;
  void (*residual)(double t, const double *y, const double *yp, double *r);
  void (*jacobians)(double t, const double *y, const double *yp,
                    double by_y[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL],
                    double by_yp[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL]);
  bool differences;
  vin_int index[TEST_IMPLICIT_SMALL];
  vin_int rates;                   /* derivatives of the first so many are in F; 0: all */
  int calls, fail_call, fail_code; /* code 0: NaN */
  bool wrong;                      /* one entry of F_y' */
} test_implicit_small;

vin_dae_desc test_implicit_small_describe(test_implicit_small *s);
vin_dae *test_implicit_small_create(test_implicit_small *s);
/* From (y, yp) at 0 to t_end; stats and text (512) may be NULL. */
vin_status test_implicit_small_integrate(test_implicit_small *s, vin_dae_integrator_options options,
                                         double t_end, double *y, double *yp,
                                         vin_dae_integrator_stats *stats, char *text);

/* Robertson's reaction: y1' = -0.04 y1 + 1e4 y2 y3, y2' = 0.04 y1 - 1e4 y2 y3 - 3e7 y2^2, 1 = y1 + y2 + y3. */
void test_robertson(double t, const double *y, const double *yp, double *r);
void test_robertson_jacobians(double t, const double *y, const double *yp,
                              double a[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL],
                              double b[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL]);

/* The pendulum with an F that is not linear in y'. F of B y' = f multiplied by a regular matrix and bent: rows r + r^3 / 1000 have the same solutions, and
 * y' enters as a polynomial. */
extern int test_implicit_level; /* 1: accelerations, 2: velocities, 3: positions */
void test_implicit_pendulum(double t, const double *y, const double *yp, double *r);

#endif
