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
  VIN_METRIC_DIAGONAL, /* the user's positive weights */
  VIN_METRIC_SAME      /* of velocities: as for positions */
} vin_metric;

/** How vin_project_state() and vin_initial_values() satisfy both levels. */
typedef enum vin_coupling {
  VIN_COUPLING_SEQUENTIAL, /* positions first, then velocities at the new positions: cheap */
  VIN_COUPLING_COUPLED /* both at once, the nearest state (theory (P4)): one factorisation of twice the
                        * size each iteration */
} vin_coupling;

typedef struct vin_projection_options {
  size_t struct_size;    /* sizeof(vin_projection_options) */
  vin_metric metric;     /* default VIN_METRIC_MASS */
  const double *weights; /* n positive numbers for VIN_METRIC_DIAGONAL; copied */
  /* default 1e-13: |Phi_c| <= max(this, rounding floor of row c); where the positions in row c are so
   * small that this is more than 1e-10 of its terms, up to two more Newton steps are taken */
  double position_tolerance;
  double velocity_tolerance; /* default 1e-13: the same for h = Phi_p v + Phi_t */
  int max_iterations;    /* default 50, Newton steps of the position projection on its way to the
                                constraints */
  vin_kkt_options kkt;   /* solver, redundancy, tolerances; patterns and blocks are filled in */
  vin_coupling coupling; /* default VIN_COUPLING_SEQUENTIAL */
  vin_metric velocity_metric;     /* default VIN_METRIC_SAME */
  const double *velocity_weights; /* n positive numbers, for a diagonal velocity_metric; copied */
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

/** Moves p and v (n each) onto both levels, as options.coupling says; both change, or on failure none.
 *  The coupled state is a local minimum of 1/2 |p - p~|_W^2 + 1/2 |v - v~|_W^2; it differs from the
 *  sequential one by the curvature of Phi times the corrections times |v|. Errors as the two
 *  projections; VIN_ERR_TOO_LARGE: the second derivatives of Phi have too many entries. */
VIN_API vin_status vin_project_state(vin_projector *projector, double t, double *p, double *v,
                                     vin_projection_report *report);

/** Solves M v' + Phi_p' lambda = f, Phi_p v' = -a at (t, p, v). */
VIN_API vin_status vin_project_acceleration(vin_projector *projector, double t, const double *p,
                                            const double *v, double *vdot, double *lambda);

/** Consistent initial values: p and v onto the constraints, then v' and lambda. All or nothing: on
 *  failure p, v, vdot and lambda are unchanged. vdot, lambda, report may be NULL. */
VIN_API vin_status vin_initial_values(vin_projector *projector, double t, double *p, double *v,
                                      double *vdot, double *lambda, vin_projection_report *report);

/** Which data are given and which may be corrected; the weights of the corrections are the metrics of
 *  vin_projection_options. */
typedef struct vin_initial_options {
  size_t struct_size; /* sizeof(vin_initial_options) */
  /* n flags each: this component keeps its value, bit for bit; NULL: all may be corrected */
  const unsigned char *fixed_positions, *fixed_velocities;
  int trial;         /* default 1: verify with one implicit trial step, too */
  double trial_step; /* s; default 0: 1e-4 of the time in which p and v change by their own size */
} vin_initial_options;
VIN_API vin_initial_options vin_initial_options_default(void);

/** Verification of initial data. The residuals are recomputed from the callbacks, not taken from the
 *  solves; the rank comes from a rank-revealing QR of Phi_p, which shares nothing with the
 *  factorisation that named the dependent rows. */
typedef struct vin_initial_report {
  vin_projection_report projection; /* how p and v were moved (zeros from vin_initial_verify()) */
  double weighted_correction;       /* square root of |p - p~|_W^2 + |v - v~|_W^2 */
  vin_int free_positions, free_velocities;
  double position_residual;     /* max |Phi_c| */
  double velocity_residual;     /* max |Phi_p v + Phi_t| */
  double acceleration_residual; /* max |Phi_p v' + a| */
  double dae_residual;          /* max |M v' + Phi_p' lambda - f| */
  /* the last three, each row relative to the sum of the magnitudes of its terms */
  double velocity_relative, acceleration_relative, dae_relative;
  vin_int expected_rank;   /* m less the dependent rows that the factorisation named */
  vin_int rank;            /* by QR; -1: not in this build */
  char dependent_name[96]; /* the first dependent row, or "" */
  /* One step of implicit Euler on M v' + Phi_p' lambda = f, h = 0 (theory (P6)), of length h and h/2.
   * From consistent data the constraint forces change by O(h): the second change is half the first. */
  vin_status trial;       /* VIN_OK, or why there was none; VIN_STEP_FAILED: no convergence */
  int trial_halvings;     /* of h until it converged: some where forces are stiff, > 10: failed */
  double trial_step;      /* h, s */
  double trial_change[2]; /* max |Phi_p' lambda - Phi_p' lambda(0)| relative to the largest force */
  double trial_defect[2]; /* max |v(h) - v - h v'| relative to h times the largest |v'| */
  int accepted;           /* 1: all of the above is as it must be */
  char reason[192];       /* why not, or "" */
} vin_initial_report;

/** Consistent initial values with fixed and correctable data, verified: p and v to the nearest
 *  state on both levels in the projector's metrics (sequential or coupled), then v' and lambda from
 *  M v' + Phi_p' lambda = f, Phi_p v' = -a, so that lambda fits before the first step. All or
 *  nothing, as vin_initial_values(); vdot, lambda, report may be NULL. VIN_INFEASIBLE names the
 *  constraint that the free components cannot meet. Data that the verification does not accept
 *  are VIN_OK with report->accepted = 0. Allocates. */
VIN_API vin_status vin_initial_state(vin_projector *projector, const vin_initial_options *options,
                                     double t, double *p, double *v, double *vdot, double *lambda,
                                     vin_initial_report *report);

/** The verification alone, of data from anywhere. Of options only the trial step is used. */
VIN_API vin_status vin_initial_verify(vin_projector *projector, const vin_initial_options *options,
                                      double t, const double *p, const double *v,
                                      const double *vdot, const double *lambda,
                                      vin_initial_report *report);

/** The same as vin_initial_values() in one call, without keeping the analysis. text (or NULL) gets
 *  the explanation. */
VIN_API vin_status vin_initial_solve(vin_system *system, const vin_projection_options *options,
                                     double t, double *p, double *v, double *vdot, double *lambda,
                                     vin_projection_report *report, char *text, size_t text_size);

/* ---- constrained minimisation: min F(y) subject to c(y) = 0 ------------------------------- */

/** The problem, by callbacks: user first, outputs complete, return 0: done, > 0: not possible here (a
 *  shorter step is tried), < 0: fatal (VIN_ERR_CALLBACK). A NaN or infinite output counts as > 0.
 *  values: the count of the declared pattern, in its order. Copied at creation, user is borrowed.
 *
 *  Without an objective F is the weighted distance 1/2 sum w_j (y_j - y~_j)^2 from the start y~
 *  (w_j: the square of the weights W in [6], 8.1). That is the projection onto constraints of any
 *  kind: of an index-1 problem with y = (x, z), c = g; of an index-2 problem with c = (g, g_x f +
 *  g_t), where fixing first z with c = g, then x, is the approximate projection ([6], 8.6). */
typedef struct vin_minimise_desc {
  size_t struct_size;            /* sizeof(vin_minimise_desc) */
  vin_int unknowns;              /* n >= 1 */
  vin_int constraints;           /* m >= 0 */
  vin_triplets jacobian_pattern; /* A = dc/dy, m x n */
  vin_triplets hessian_pattern;  /* lower triangle of F'', n x n; with objective only */
  /* lower triangle of sum lambda_i c_i''; empty: Gauss-Newton, which leaves it out: a cheaper step,
   * and linear convergence with a factor of about curvature of c times |F'| */
  vin_triplets second_pattern;

  int (*objective)(void *user, const double *y, double *value); /* NULL: distance from the start */
  int (*gradient)(void *user, const double *y, double *gradient);
  int (*hessian)(void *user, const double *y, double *values);
  int (*constraint)(void *user, const double *y, double *c);
  int (*jacobian)(void *user, const double *y, double *values);
  int (*second)(void *user, const double *y, const double *lambda, double *values);

  /* names for messages; NULL: "unknown 7", "constraint 7" */
  void (*unknown_name)(void *user, vin_int index, char *text, size_t size);
  void (*constraint_name)(void *user, vin_int row, char *text, size_t size);
  void *user;
} vin_minimise_desc;
VIN_API vin_minimise_desc vin_minimise_desc_default(void);

typedef struct vin_minimise_options {
  size_t struct_size;          /* sizeof(vin_minimise_options) */
  double constraint_tolerance; /* default 1e-12: |c_i| <= max(this, rounding floor of row i) */
  double gradient_tolerance;   /* default 1e-10: |F' + A' lambda|, relative to its largest terms */
  int max_iterations;          /* default 100, >= 1 */
  const double *weights;       /* n numbers > 0, HUGE_VAL: fixed; NULL: 1; without objective only */
  const unsigned char *fixed;  /* n flags: y_j keeps its start value; NULL: none */
  vin_kkt_options kkt;         /* solver, redundancy; compliance and names are filled in */
} vin_minimise_options;
VIN_API vin_minimise_options vin_minimise_options_default(void);

typedef struct vin_minimise_report {
  double objective;                           /* F at the end */
  double constraint_before, constraint_after; /* max |c_i| */
  double
      stationarity;  /* max |F' + A' lambda| over the free unknowns, relative to the largest sum of
                          the magnitudes of its terms */
  double correction; /* max |y - start| */
  int iterations;
  int restorations; /* of them steps towards the constraints alone */
  int shifts;       /* factorisations repeated with a larger F'', where it was not convex */
  vin_int free;     /* unknowns that are not fixed */
  vin_int dropped;  /* dependent rows, named by vin_minimiser_kkt() and vin_kkt_dropped() */
  vin_int worst;    /* constraint with the largest |c_i| at the end; -1: none */
  char worst_name[96];
} vin_minimise_report;

typedef struct vin_minimiser vin_minimiser;

/** Checks and copies the problem and analyses [F'' + sum lambda_i c_i''  A'; A  0] once. */
VIN_API vin_status vin_minimiser_create(vin_minimiser **minimiser, const vin_context *context,
                                        const vin_minimise_desc *desc,
                                        const vin_minimise_options *options);
VIN_API void vin_minimiser_destroy(vin_minimiser *minimiser);
VIN_API const char *vin_minimiser_error(const vin_minimiser *minimiser);
VIN_API vin_kkt *vin_minimiser_kkt(vin_minimiser *minimiser);

/** From the start y (n) to a local minimum: Newton's method on the conditions F' + A' lambda = 0, c =
 *  0 with a line search on F + sum nu_i |c_i|, second-order corrections, and Levenberg-Marquardt
 *  steps towards the constraints where that is stuck. lambda (m, may be NULL): multipliers, a
 *  result. On failure y and lambda are unchanged and the report says how far it came:
 *  VIN_INFEASIBLE (a stationary point of |c|; names the worst constraint, and whether fixed unknowns
 *  leave it no freedom), VIN_NOT_CONVERGED, VIN_SINGULAR (F has no minimum along the constraints, or
 *  refused redundant rows), VIN_RETRY (a callback, at the start), VIN_ERR_BAD_INPUT (NaN). A step
 *  is one factorisation and two solves. */
VIN_API vin_status vin_minimiser_solve(vin_minimiser *minimiser, double *y, double *lambda,
                                       vin_minimise_report *report);
/** Replaces the fixed unknowns (n flags, copied; NULL: none but those of the weights). */
VIN_API vin_status vin_minimiser_fix(vin_minimiser *minimiser, const unsigned char *fixed);

/** The same in one call, without keeping the analysis. text (or NULL) gets the explanation. */
VIN_API vin_status vin_minimise(const vin_minimise_desc *desc, const vin_minimise_options *options,
                                double *y, double *lambda, vin_minimise_report *report, char *text,
                                size_t text_size);

#ifdef __cplusplus
}
#endif
#endif
