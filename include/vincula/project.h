/* vincula/project.h - projection onto the constraints and consistent initial values. */
#ifndef VINCULA_PROJECT_H
#define VINCULA_PROJECT_H

#include "vincula/kkt.h"
#include "vincula/system.h"

#ifdef __cplusplus
extern "C" {
#endif

/** W of the nearest-point problem min 1/2 |y - y~|_W^2. */
typedef enum vin_metric {
  VIN_METRIC_MASS,     /* M at the start: the correction a constraint impulse would make */
  VIN_METRIC_IDENTITY, /* Euclidean */
  VIN_METRIC_DIAGONAL  /* the user's positive weights */
} vin_metric;

typedef struct vin_projection_options {
  size_t struct_size;        /* sizeof(vin_projection_options) */
  vin_metric metric;         /* default VIN_METRIC_MASS */
  const double *weights;     /* n positive numbers for VIN_METRIC_DIAGONAL; copied */
  double position_tolerance; /* default 1e-13: |Phi_c| <= max(this, rounding floor of row c) */
  double velocity_tolerance; /* default 1e-13: the same for h = Phi_p v + Phi_t */
  int max_iterations;  /* default 50, Newton steps of the position projection on its way to the
                                constraints */
  vin_kkt_options kkt; /* solver, redundancy, tolerances; patterns and blocks are filled in */
} vin_projection_options;
VIN_API vin_projection_options vin_projection_options_default(void);

typedef struct vin_projection_report {
  double position_before, position_after;          /* max |Phi_c| */
  double velocity_before, velocity_after;          /* max |h_c| */
  double position_correction, velocity_correction; /* max-norm of the change of p and of v */
  double gap_max,
      gap_sum; /* violation that is left, in natural units (vin_system_desc.constraint_gap) */
  double force_residual; /* max |M v' + Phi_p' lambda - f| (vin_initial_solve only) */
  int iterations;        /* Newton steps, on the way to the constraints and along them */
  vin_int most_moved;    /* constraint with the largest |Phi_c| before; -1: none */
  char most_moved_name[96];
  vin_int worst; /* constraint with the largest gap after; -1: none */
  char worst_name[96];
  vin_int dropped; /* dependent rows found */
} vin_projection_report;

typedef struct vin_projector vin_projector;

/** Analyses the system's saddle-point pattern once. Keeps the system. */
VIN_API vin_status vin_projector_create(vin_projector **projector, const vin_context *context,
                                        vin_system *system, const vin_projection_options *options);
VIN_API void vin_projector_destroy(vin_projector *projector);
VIN_API const char *vin_projector_error(const vin_projector *projector);
VIN_API vin_solver_stats vin_projector_get_stats(const vin_projector *projector);
/** The saddle-point object underneath, for vin_kkt_describe(), vin_kkt_write() and the like. */
VIN_API vin_kkt *vin_projector_kkt(vin_projector *projector);

/** Moves p (n) to the nearest point with Phi(p,t) = 0: a local minimum of the distance (to the
 *  square root of rounding), from the feasible point that Newton's method finds first. On
 *  failure p is unchanged and the report says how far it came: VIN_INFEASIBLE (a stationary
 *  point with Phi != 0; the text gives the gap), VIN_NOT_CONVERGED, VIN_SINGULAR,
 *  VIN_ERR_BAD_INPUT (NaN). report may be NULL. */
VIN_API vin_status vin_project_position(vin_projector *projector, double t, double *p,
                                        vin_projection_report *report);

/** Moves v (n) to the nearest velocity with Phi_p v + Phi_t = 0 at (p, t). One linear solve. */
VIN_API vin_status vin_project_velocity(vin_projector *projector, double t, const double *p,
                                        double *v, vin_projection_report *report);

/** Solves M v' + Phi_p' lambda = f, Phi_p v' = -a at (t, p, v). */
VIN_API vin_status vin_project_acceleration(vin_projector *projector, double t, const double *p,
                                            const double *v, double *vdot, double *lambda);

/** Consistent initial values: p and v onto the constraints, then v' and lambda. All or nothing: on
 *  failure p, v, vdot and lambda are unchanged. vdot, lambda, report may be NULL. */
VIN_API vin_status vin_initial_values(vin_projector *projector, double t, double *p, double *v,
                                      double *vdot, double *lambda, vin_projection_report *report);

/** The same in one call, without keeping the analysis. text (or NULL) gets the explanation. */
VIN_API vin_status vin_initial_solve(vin_system *system, const vin_projection_options *options,
                                     double t, double *p, double *v, double *vdot, double *lambda,
                                     vin_projection_report *report, char *text, size_t text_size);

#ifdef __cplusplus
}
#endif
#endif
