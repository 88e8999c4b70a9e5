/* dae_pendulum - a pendulum of length 1 as a DAE of index 3, with callbacks that fail on request:
 *     x' = u,  y' = v,  u' = -x l,  v' = -9.81 - y l,  0 = (x^2 + y^2 - 1) / 2. */
#ifndef TEST_DAE_PENDULUM_H
#define TEST_DAE_PENDULUM_H

#include "vincula/vincula.h"

#include <stdbool.h>

/* ... or KLU, the other solver for general matrices */
#define NEEDS_UMFPACK                                                                              \
  if (!vin_solver_available(VIN_SOLVER_UMFPACK) && !vin_solver_available(VIN_SOLVER_KLU)) return
#define EACH_METHOD(m) for (int m = 0; m < 2; m++)
extern const vin_dae_integrator_method test_dae_methods[2];

enum { TEST_PENDULUM = 5 };

typedef struct test_pendulum {
  double refuse_after; /* f returns 1 from this time on; 0: never */
  double fail_after;   /* f returns -1 */
  double nan_after;    /* f is NaN */
  double limit;        /* of the domain: x > limit; 0: none */
  bool wrong_index;    /* declare 1 for all */
  bool without_jacobian;
} test_pendulum;

/* Horizontal, at rest. */
extern const double test_pendulum_start[TEST_PENDULUM];

vin_status test_pendulum_dae(vin_dae **dae, const vin_context *context, test_pendulum *data);
/* An integrator at the start; everything must succeed. */
vin_dae_integrator *test_pendulum_begin(test_pendulum *data,
                                        const vin_dae_integrator_options *options, double t);
vin_dae_integrator_options test_dae_options(vin_dae_integrator_method method, double tolerance);

#endif
