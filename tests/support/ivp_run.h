/* ivp - runs of the problems by the methods of the library. */
#ifndef IVP_RUN_H
#define IVP_RUN_H

#include "ivp.h"
#include "vincula/vincula.h"

typedef struct ivp_result {
  vin_status status;
  char text[512];        /* why it failed */
  double error;          /* ivp_error() at the end */
  double constraint_max; /* largest |Phi|, or residual of an equation without derivative; after each
                            step (dae methods), at the end (systems) */
  int64_t steps, numeric;
  double wall_s, cpu_s; /* from description to end, by the wall clock and of the process */
  vin_dae_integrator_stats stats; /* of dae methods */
} ivp_result;

vin_status ivp_dae(vin_dae **dae, const ivp_problem *problem);
/* Relative tolerance; absolute ones are that times the typical sizes. y (n, or NULL): the end. */
ivp_result ivp_run_dae(const ivp_problem *problem, vin_dae_integrator_method method,
                       double tolerance, double *y);
/* A mechanical problem with a constant step; VIN_ERR_UNSUPPORTED: it is none, or the method does not
 * fit. */
ivp_result ivp_run_system(const ivp_problem *problem, vin_method method, double h);

#endif
