/* system - internal side: checked evaluation. Every function writes the text of a failure into the
 * caller's `object`, so that one const system can serve many threads. */
#ifndef VINI_SYSTEM_H
#define VINI_SYSTEM_H

#include "base/base.h"
#include "vincula/system.h"

#include <stdatomic.h>

struct vin_system {
  vini_object object;
  atomic_int references;
  vin_system_desc desc; /* patterns and blocks point to own copies */
  vin_int n, m;
};

/* Checks a description and copies it into a system that vini_object_begin made; its user is released
 * with the system only. */
vin_status vini_system_build(vin_system *system, const vin_system_desc *desc);

/* vin_system_create() without copies: after success the arrays of patterns and blocks, which come from the
 * context's allocator and are not NULL, are the system's. */
vin_status vini_system_create_adopting(vin_system **system, const vin_context *context,
                                       const vin_system_desc *desc);

/* Each evaluates one callback and checks its return value and output (VIN_RETRY,
 * VIN_ERR_CALLBACK). */
vin_status vini_eval_mass(const vin_system *system, vini_object *object, double t, const double *p,
                          const double *v, double *values);
vin_status vini_eval_force(const vin_system *system, vini_object *object, double t, const double *p,
                           const double *v, double *f);
vin_status vini_eval_constraint(const vin_system *system, vini_object *object, double t,
                                const double *p, double *phi);
vin_status vini_eval_jacobian(const vin_system *system, vini_object *object, double t,
                              const double *p, double *values);
/* The rows first .. end - 1, into their places of the whole phi and values. Without the callback for rows,
 * which is for the caller to know, they must be all. */
vin_status vini_eval_constraint_rows(const vin_system *system, vini_object *object, double t,
                                     const double *p, vin_int first, vin_int end, double *phi);
/* entry: of row `first` and of row `end` in the pattern */
vin_status vini_eval_jacobian_rows(const vin_system *system, vini_object *object, double t,
                                   const double *p, vin_int first, vin_int end,
                                   const vin_int entry[2], double *values);
/* zeros when the system is scleronomic */
vin_status vini_eval_constraint_rate(const vin_system *system, vini_object *object, double t,
                                     const double *p, double *phi_t);
/* work: vini_curvature_work() doubles, used when the callback is missing */
vin_status vini_eval_curvature(const vin_system *system, vini_object *object, double t,
                               const double *p, const double *v, double *a, double *work);
size_t vini_curvature_work(const vin_system *system);
/* NaN when the system has no potential */
vin_status vini_eval_potential(const vin_system *system, vini_object *object, double t,
                               const double *p, double *energy);
/* NaN when the system has no momentum callback */
vin_status vini_eval_momentum(const vin_system *system, vini_object *object, double t,
                              const double *p, const double *v, double *linear, double *angular);
/* only where the system has the callback */
vin_status vini_eval_force_p(const vin_system *system, vini_object *object, double t,
                             const double *p, const double *v, double *values);
vin_status vini_eval_force_v(const vin_system *system, vini_object *object, double t,
                             const double *p, const double *v, double *values);

/* vin_system_check() for constraint_rows and jacobian_rows. */
vin_status vini_system_check_rows(const vin_system *system, vini_object *local, double t,
                                  const double *p, vin_derivative_check *check);

/* Violation of `row` in its natural unit. */
double vini_constraint_gap(const vin_system *system, vin_int row, double phi);

#endif
