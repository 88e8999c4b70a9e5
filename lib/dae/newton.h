/* newton - finite-budget Newton's method, shared by initialisation and steppers. */
#ifndef VINI_NEWTON_H
#define VINI_NEWTON_H

#include "base/base.h"
#include "vincula/dae.h"

/* A square residual. Each function sets the text of its failure. */
typedef struct vini_newton {
  void *self;
  vini_object *object;
  vin_int n;
  bool (*inside)(void *self, const double *x);
  /* what is compared with the tolerance; status > 0: it does not exist at x */
  vin_status (*residual)(void *self, const double *x, double *r);
  /* assembles the Jacobian at x, where the residual was evaluated last, and solves for the
   * correction; counts both. VIN_SINGULAR. */
  vin_status (*correct)(void *self, const double *x, double *dx, vin_dae_counts *counts);
  double *r, *dx, *trial; /* n each */
} vini_newton;

typedef struct vini_newton_result {
  vin_outcome outcome;
  bool seed_failed;   /* the residual does not exist at the seed (outcome invalid-trial) */
  double first, last; /* norms; -1: unknown */
  int corrections;
} vini_newton_result;

/* x: seed, then the last valid iterate. The seed must be inside. Adds to *counts. */
vin_status vini_newton_run(const vini_newton *newton, double tolerance, int budget, double *x,
                           vini_newton_result *result, vin_dae_counts *counts);

/* The status of an outcome. */
vin_status vini_outcome_status(vin_outcome outcome);
/* sqrt(sum x^2) without overflow and underflow. */
double vini_norm2(const double *x, int64_t count);

#endif
