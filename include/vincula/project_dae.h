/* vincula/project_dae.h - projection of a general DAE onto its constraints, the hidden ones included,
 * alone or behind the steps of vin_dae_integrator.
 *
 * A pendulum of 1 m, integrated with the acceleration constraint (index 1), drifts; its form with the
 * velocity constraint (index 2) and the circle as an invariant bring it back after each step:
 *
 *   vin_dae_projection_options options = vin_dae_projection_options_default();
 *   options.coupling = VIN_COUPLING_COUPLED;          // all levels at once
 *   options.invariants = 1;                           // 0 = (x^2 + y^2 - 1) / 2
 *   options.invariant_pattern = (vin_triplets){2, row, col};
 *   options.invariant = circle, options.invariant_jacobian = circle_jacobian;
 *   vin_dae_projector *projector = NULL;
 *   vin_status status = vin_dae_projector_create(&projector, NULL, index2, &options);
 *   vin_dae_projection_report report;
 *   if (status == VIN_OK) status = vin_dae_project(projector, 0.0, y, &report);   // the start
 *   if (status == VIN_OK) printf("g was %.1e, moved by %.1e\n", report.constraint_before,
 *                                report.differential_correction);
 *   vin_dae_projection_policy policy = vin_dae_projection_policy_default();
 *   policy.drift = 1e-9;                              // only when a constraint is off by more
 *   status = vin_dae_integrator_create(&integrator, NULL, index1, NULL);
 *   if (status == VIN_OK) status = vin_dae_projector_attach(projector, integrator, &policy);
 *   if (status == VIN_OK) status = vin_dae_integrator_start(integrator, 0.0, y);
 *   if (status == VIN_OK) status = vin_dae_integrator_run(integrator, 10.0);
 *   vin_dae_projection_stats stats = vin_dae_projector_get_stats(projector);
 *   printf("%lld of %lld steps projected, largest drift %.1e\n", (long long)stats.projections,
 *          (long long)stats.steps, stats.drift_max);
 *   vin_dae_integrator_destroy(integrator);           // before the projector
 *   vin_dae_projector_destroy(projector);
 */
#ifndef VINCULA_PROJECT_DAE_H
#define VINCULA_PROJECT_DAE_H

#include "vincula/dae_integrate.h"
#include "vincula/project.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a projection satisfies follows from the index that the problem declares (semi-explicit form):
 *
 *  index 1:  0 = g(t, x, z)
 *            sequential: z solves g for the given x (no projection of x: what [6], 8.6, advises)
 *            coupled: the nearest (x, z)
 *  index 2:  0 = g(t, x)  and the hidden constraint  0 = h(t, x, z) = g_x f + g_t
 *            sequential: x to the nearest point of g = 0, then z from h = 0 at that x
 *            coupled: the nearest (x, z) on both (four-block KKT system, theory (Q2))
 *
 *  and invariants c(t, y) = 0 of the solution on top, where given; in the sequential form these
 *  must not depend on z. A d = n problem (no algebraic unknowns) has its invariants alone. */
typedef struct vin_dae_projection_options {
  size_t struct_size;    /* sizeof(vin_dae_projection_options) */
  vin_coupling coupling; /* default VIN_COUPLING_SEQUENTIAL */
  /* The metric: 1/2 sum w_j (y_j - y~_j)^2, w_j > 0, HUGE_VAL: y_j is kept; n; copied. NULL: 1 */
  const double *weights;
  /* ... or 1/2 (y - y~)' W (y - y~), W symmetric positive definite, n x n, lower triangle, without
   * weights; copied. Count 0: not used. In the sequential form the block of x counts alone. */
  vin_triplets metric_pattern;
  const double *metric_values;

  vin_int invariants;             /* k >= 0 */
  vin_triplets invariant_pattern; /* dc/dy, k x n */
  int (*invariant)(void *user, double t, const double *y,
                   double *c); /* as the callbacks of vin_dae */
  int (*invariant_jacobian)(void *user, double t, const double *y, double *values);
  void *user; /* of these two; borrowed */

  double tolerance; /* default 1e-12: |g_i|, |h_i|, |c_i| <= max(this, rounding floor of the row);
                         with a difference Jacobian h is known to 1e-9 or so of its terms only */
  /* default 100, >= 1, of each stage. The nearest point is approached linearly, with a factor of about
   * the curvature of the constraints times the correction (Gauss-Newton, as in the source) */
  int max_iterations;
  /* A time within which f and g_x are smooth; second derivatives are differences over a part of it.
   * s; default 1e-3 */
  double time_scale;
  vin_kkt_options kkt; /* solver, redundancy */
} vin_dae_projection_options;
VIN_API vin_dae_projection_options vin_dae_projection_options_default(void);

typedef struct vin_dae_projection_report {
  double constraint_before, constraint_after;           /* max |g_i| */
  double hidden_before, hidden_after;                   /* max |h_i|; 0 for index 1 */
  double invariant_before, invariant_after;             /* max |c_i| */
  double differential_correction, algebraic_correction; /* max-norm of the change of x and of z */
  int iterations;                                       /* Newton steps, all stages */
  vin_int dropped;                                      /* dependent rows found */
  vin_int worst; /* row with the largest residual before: 0.. g, then h, then c; -1: none */
  char worst_name[128];
} vin_dae_projection_report;

typedef struct vin_dae_projector vin_dae_projector;

/** Analyses the saddle-point patterns once; keeps the problem. VIN_ERR_BAD_INPUT: not semi-explicit, a
 *  constraint of an index-2 problem declares an algebraic unknown, a metric that is not positive on
 *  its diagonal, ...; VIN_ERR_UNSUPPORTED: index 3 (lower it, or use vin_projector);
 *  VIN_ERR_TOO_LARGE. */
VIN_API vin_status vin_dae_projector_create(vin_dae_projector **projector,
                                            const vin_context *context, vin_dae *dae,
                                            const vin_dae_projection_options *options);
VIN_API void vin_dae_projector_destroy(vin_dae_projector *projector);
VIN_API const char *vin_dae_projector_error(const vin_dae_projector *projector);

/** Moves y (n) onto the constraints at time t. On failure y is unchanged and the report (may be NULL)
 *  says how far off it was: VIN_INFEASIBLE, VIN_NOT_CONVERGED, VIN_SINGULAR (g_z, or g_x f_z, or
 *  refused redundant rows: the index is higher than declared), VIN_RETRY (a callback or the domain
 *  refused a point), VIN_ERR_CALLBACK, VIN_ERR_BAD_INPUT (NaN). A Newton step of index 2 takes one f and
 *  one Jacobian for h, and three Jacobians for its derivatives. Nothing is allocated. */
VIN_API vin_status vin_dae_project(vin_dae_projector *projector, double t, double *y,
                                   vin_dae_projection_report *report);
/** The residuals alone, in the fields *_before, worst and worst_name. */
VIN_API vin_status vin_dae_projector_drift(vin_dae_projector *projector, double t, const double *y,
                                           vin_dae_projection_report *report);

/** When a step of an integrator is followed by a projection. */
typedef struct vin_dae_projection_policy {
  size_t struct_size; /* sizeof(vin_dae_projection_policy) */
  int every;          /* default 1: each step, k: each k-th, 0: only where the drift asks for it */
  double drift; /* default 0: not judged; > 0: also when |g_i|, |h_i| or |c_i| is above this; with
                   every = 1 (the default) the drift alone decides */
} vin_dae_projection_policy;
VIN_API vin_dae_projection_policy vin_dae_projection_policy_default(void);

/** Projects what the steps of the integrator reach, before they are accepted: a projection that fails
 *  is a failed step, repeated with half the length. The integrator may integrate another form of the
 *  problem (lower index) in the same unknowns. One projector serves one integrator and must outlive
 *  it, or be detached with policy = NULL. VIN_ERR_BAD_INPUT: other unknowns, a bad policy. */
VIN_API vin_status vin_dae_projector_attach(vin_dae_projector *projector,
                                            vin_dae_integrator *integrator,
                                            const vin_dae_projection_policy *policy);

typedef struct vin_dae_projection_stats {
  int64_t steps; /* seen by vin_dae_projector_attach(); accepted ones and a few that are not */
  int64_t projections;          /* done, vin_dae_project() included */
  int64_t failures;             /* of projections */
  int64_t iterations;           /* Newton steps */
  int64_t functions, jacobians; /* evaluations of f (without differences), of f_y */
  int64_t symbolic, numeric, solves;
  double drift_max;      /* the largest residual behind a step, before projection; 0: none seen */
  double correction_max; /* the largest change of an unknown */
} vin_dae_projection_stats;
VIN_API vin_dae_projection_stats vin_dae_projector_get_stats(const vin_dae_projector *projector);
/** The report of the last projection, also of a failed one. */
VIN_API vin_dae_projection_report vin_dae_projector_last(const vin_dae_projector *projector);

#ifdef __cplusplus
}
#endif
#endif
