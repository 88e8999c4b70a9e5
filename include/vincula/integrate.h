/* vincula/integrate.h - one-step methods behind one interface. */
#ifndef VINCULA_INTEGRATE_H
#define VINCULA_INTEGRATE_H

#include "vincula/project.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Methods, by name with vin_method_name() / vin_method_from_name() (the words in brackets). Orders as
 *  measured against tests/reference, in p and v, with both projections where the method takes one;
 *  lambda at the end of the step has the same order, except in rattle: 1, because its multiplier is
 *  that of an impulse over the last half step (vin_project_acceleration() at the result gives it with
 *  order 2). */
typedef enum vin_method {
  VIN_METHOD_RATTLE,  /* [rattle] order 2, symplectic, both constraint levels; M constant */
  VIN_METHOD_TAYLOR2, /* [taylor2] p += h v + h^2/2 v', v += h v'; order 1, in p too, because v is
                         (theory (27)); gains energy */
  VIN_METHOD_EULER,   /* [euler] explicit Euler on (p, v), order 1; gains energy */
  VIN_METHOD_RK4,     /* [rk4] classical Runge-Kutta on the acceleration-level system, order 4 */
  /* geometric; M constant */
  VIN_METHOD_SHAKE,   /* [shake] order 2, lambda too; the positions of rattle, v off the tangent
                         space by O(h^2); evaluates one step ahead of its result */
  VIN_METHOD_RATTLE4, /* [rattle4] symmetric composition of 5 rattle steps, order 4, lambda too */
  VIN_METHOD_RATTLE6, /* [rattle6] the same with 9, order 6 */
  VIN_METHOD_HBVM, /* [hbvm] HBVM(k,s): energy and constraints at rounding; order 4 in p (s = 1: 2), 2
                         in v (with project_output: as p); lambda: the step's constant, order 1 */
  VIN_METHOD_LIM, /* [lim] the same with multipliers of degree r - 1: order min(2 s, 4 ceil(r/2)) in p, and
                         with project_output in v and lambda */
  /* explicit, on the acceleration-level system */
  VIN_METHOD_COLLATZ, /* [collatz] explicit midpoint rule, order 2 */
  VIN_METHOD_DOPRI5,  /* [dopri5] Dormand-Prince 5(4), order 5, with an error estimate */
  /* implicit, on the reduced (acceleration-level) system, with projection; M may vary */
  VIN_METHOD_BACKWARD_EULER, /* [backward-euler] order 1, L-stable */
  VIN_METHOD_MIDPOINT,       /* [midpoint] implicit midpoint rule, order 2 */
  VIN_METHOD_TRAPEZOIDAL,    /* [crank-nicolson] order 2 */
  VIN_METHOD_BDF2,   /* [bdf2] order 2, L-stable; step ratios in 1/2..2, else it starts anew */
  VIN_METHOD_RADAU5, /* [radau5] Radau IIA, 3 stages, order 5, L-stable; an error estimate */
  /* implicit, directly on the constrained equations; projection is ignored, M may vary. Phi = 0 at
   * each end; h = Phi_p v + Phi_t is of the method's order (ggl: 0 too) */
  VIN_METHOD_EULER3,            /* [index3-euler] implicit Euler on the index-3 equations */
  VIN_METHOD_GGL,               /* [ggl] the same on the stabilised index-2 form */
  VIN_METHOD_GENERALIZED_ALPHA, /* [generalized-alpha] order 2, damping chosen by spectral_radius */
  /* explicit, on independent coordinates */
  VIN_METHOD_PARTITION_COLLATZ, /* [partition-collatz] order 2 */
  VIN_METHOD_PARTITION_RK4      /* [partition-rk4] order 4 */
} vin_method;

VIN_API const char *vin_method_name(vin_method method);
VIN_API vin_status vin_method_from_name(vin_method *method, const char *name);

/** Projection after the steps of the acceleration-level methods, explicit and implicit (see
 *  projection_every and projection_drift); the others hold the constraints by themselves and ignore
 *  it. Both levels are projected at once when projector.coupling says so. Names: none, position,
 *  velocity, both. */
typedef enum vin_projection {
  VIN_PROJECTION_NONE = 0,
  VIN_PROJECTION_POSITION = 1,
  VIN_PROJECTION_VELOCITY = 2,
  VIN_PROJECTION_BOTH = 3
} vin_projection;

VIN_API const char *vin_projection_name(vin_projection projection);
VIN_API vin_status vin_projection_from_name(vin_projection *projection, const char *name);

/** Stabilisation of the acceleration-level constraint, theory (29a) to (29c): what Phi and h = Phi' decay
 *  by where nothing projects. For taylor2, euler, rk4, collatz, dopri5 and the implicit methods on the
 *  reduced system; other methods refuse an order > 0 with VIN_ERR_UNSUPPORTED. Explicit steps are stable only while the gains are below about 1/h (limits:
 *  theory (29d)). */
typedef struct vin_baumgarte {
  int order;          /* 0..3; default 0: none */
  double tau;         /* order 1, s, > 0:   h' = -h / tau */
  double zeta, omega; /* order 2, -, 1/s, >= 0:   Phi'' + 2 zeta omega Phi' + omega^2 Phi = 0 */
  double a, b, c;     /* order 3, 1/s, 1/s^2, 1/s^3, >= 0, a b >= c:
                         Phi''' + a Phi'' + b Phi' + c Phi = 0, from Phi'' = 0 */
} vin_baumgarte;

typedef struct vin_options {
  size_t struct_size;        /* sizeof(vin_options) */
  vin_method method;         /* default VIN_METHOD_RATTLE */
  vin_projection projection; /* default VIN_PROJECTION_BOTH */
  /* default VIN_SOLVER_AUTO: as projector.kkt.solver says. Newton matrices of the implicit methods that
   * are nearly symmetric go to LDL' unless it is VIN_SOLVER_UMFPACK, others to UMFPACK always (radau5:
   * all; VIN_ERR_UNSUPPORTED in a build without it) */
  vin_solver solver;
  double step;       /* s; default 1e-3 (used by vin_sim) */
  double start_time; /* s; default 0 (used by vin_sim) */
  int max_halvings;  /* default 0: a step that fails is retried as 2, 4, ... 2^k shorter ones
                                (used by vin_sim) */
  double position_tolerance; /* default 1e-13: |Phi_c| <= max(this, rounding floor of row c);
                                less where all positions are below 1 mm */
  double velocity_tolerance; /* default 1e-13 */
  int max_sweeps;            /* default 10, 1..1000: corrections of one position stage of rattle */
  int fix_start;             /* default 1: vin_sim moves an inconsistent start onto the constraints;
                                0: takes it as it is (drift studies) */
  vin_projection_options projector; /* metric, redundancy, solver tolerances; its own position and
                                       velocity tolerance are replaced by the two above */
  /* hbvm (k,s) and lim (k,s,r); 0: chosen, see the guide */
  int stages; /* s, 1..32: degree of the polynomials of a step; default 0: 2 (hbvm), 3 (lim) */
  int nodes;  /* k: Gauss nodes of the quadrature, s..32; default 0: s where that is exact
                           (quadratic constraints, force affine in p and free of v), else 3 s, at
                           least 6, and more while the first steps show an energy error */
  int multiplier_terms; /* r of lim, odd, <= s; default 0: the largest */
  int project_output;   /* default 0; 1: v of the result is projected and lambda recomputed, but the
                           next step goes on from the unprojected v */
  double spectral_radius;  /* of generalized-alpha at infinite frequency, 0..1; default 0.8 */
  double energy_tolerance; /* hbvm, lim: a step fails when vin_integrator_energy_error() exceeds
                              this fraction of the largest energy in it; default 0: not judged */
  /* Step control of vin_sim, for methods with an error estimate (dopri5, radau5); both 0 (default):
   * steps of constant length. A step is accepted when the estimated error of each component is at most
   * absolute_tolerance + relative_tolerance |component| (m and m/s alike) and the constraint
   * residuals grew by no more than such errors explain. `step` is then the first trial step. */
  double relative_tolerance; /* default 0; > 0 needs absolute_tolerance > 0 as well */
  double absolute_tolerance; /* default 0 */
  double min_step; /* s; default 0: 16 roundings of t, in vin_sim_run() of the way left, too */
  double max_step; /* s; default 0: no limit */
  vin_baumgarte baumgarte; /* default: none */
  int projection_every; /* default 1: the projection follows every step; k: every k-th one (and those
                           that projection_drift asks for) */
  double projection_drift; /* default 0: not used; > 0: the projection follows a step that leaves
                              max |Phi_c| or max |h_c| above it (and every k-th if k > 1) */
  int dense_output; /* default 0; 1: vin_integrator_interpolate() works (8 n numbers, copies) */
  int shift_constraints; /* default 0; 1, with fix_start = 0: vin_sim shifts the constraints so that an
                            inconsistent start fits, see vin_system_shifted() */
  /* implicit methods: */
  /* 0..1, of a step: what Newton's method may leave of p and v (predicted by its contraction),
   * relative to what the step changes of them, or else a quarter of a rounding of the largest. So the
   * sum over all steps is relative to the way that p and v go, whatever h. Where rounding stops it
   * before: at most this relative to max |p| and max |v|, or 128 roundings of p, divided by h in v */
  double newton_tolerance; /* default 1e-12 */
  int max_newton; /* default 20, 1..1000: iterations of a stage, after which the step fails */
} vin_options;
VIN_API vin_options vin_options_default(void);

/** A state; arrays belong to the caller. lambda: multipliers at the end of the last step, as accurate
 *  as vin_method says; vin_project_acceleration() gives those of the state itself. */
typedef struct vin_state {
  double t;
  double *p, *v;  /* n */
  double *lambda; /* m */
} vin_state;

typedef struct vin_stats {
  int64_t steps;    /* steps that succeeded */
  int64_t failures; /* steps that failed */
  int64_t sweeps; /* corrections in rattle's position stage, Newton steps of implicit stages and of
                       projections */
  int64_t force_evaluations, jacobian_evaluations, constraint_evaluations;
  int64_t rejected;        /* steps that succeeded but were refused by the step control */
  int64_t partitions;      /* choices of independent coordinates (partition methods) */
  vin_solver_stats solver; /* symbolic, numeric, solves, ... of the saddle point and of the implicit
                              methods' Newton matrices (one analysis each; radau5 and ggl have 2) */
} vin_stats;

typedef struct vin_integrator vin_integrator;

/** Everything is allocated here. Keeps the system. VIN_ERR_UNSUPPORTED: the method does not fit the
 *  system (rattle with a mass matrix that is not declared constant). */
VIN_API vin_status vin_integrator_create(vin_integrator **integrator, const vin_context *context,
                                         vin_system *system, const vin_options *options);
VIN_API void vin_integrator_destroy(vin_integrator *integrator);
VIN_API const char *vin_integrator_error(const vin_integrator *integrator);

/** One step of length h (any sign, not 0) from `from` to `to` (no array may serve twice). `from`
 *  is never written, and its lambda not read; on failure `to` is undefined. When `from` equals
 *  the last result bit for bit, work and predictor of the last step are reused.
 *  VIN_STEP_FAILED: no convergence, a singular matrix, or a projection that takes most of the
 *  step back: try a smaller h; VIN_RETRY: a callback asks for that; VIN_ERR_*. */
VIN_API vin_status vin_integrator_step(vin_integrator *integrator, const vin_state *from, double h,
                                       vin_state *to);

/** Change of kinetic and potential energy over the last step of hbvm or lim, minus the work of moving
 *  constraints and of the part of the force that depends on v, f(p,v,t) - f(p,0,t), by the method's
 *  own quadrature; J. Rounding where the quadrature is exact; otherwise its error. A potential that
 *  depends on t is not accounted for. Costs nodes evaluations of the force.
 *  VIN_ERR_UNSUPPORTED: another method, or no potential; VIN_ERR_BAD_STATE: no step yet. */
VIN_API vin_status vin_integrator_energy_error(vin_integrator *integrator, double *error);

VIN_API vin_stats vin_integrator_get_stats(const vin_integrator *integrator);

/** Error estimate of the last step that succeeded: the largest |e_i| / s_i over p and v, with e the
 *  difference to the embedded method and s_i = absolute_tolerance + relative_tolerance max(|y0_i|,
 *  |y1_i|) (1 where both tolerances are 0). NaN: there was no step, or the method has no estimate. */
VIN_API double vin_integrator_error_estimate(const vin_integrator *integrator);
/** By how much the last step enlarged the constraint residuals, scaled alike, theory (28d); 0 without
 *  tolerances or constraints, NaN before the first step. */
VIN_API double vin_integrator_residual_estimate(const vin_integrator *integrator);
/** p and v (n each) within the last step that succeeded, at its start (theta = 0), its end (1) or
 *  between: order 4 with dopri5 (theory (28f)), else the cubic through p and v at both ends and,
 *  where the method knows the accelerations there, the same for v (otherwise its derivative). Not
 *  moved onto the constraints, which hold to the error of the interpolation.
 *  VIN_ERR_BAD_STATE: options.dense_output was 0, or no step has succeeded since the last failure.
 *  VIN_ERR_BAD_INPUT: theta outside 0..1. */
VIN_API vin_status vin_integrator_interpolate(vin_integrator *integrator, double theta, double *p,
                                              double *v);
/** The independent coordinates of a partition method, ascending indices of p, valid until the next
 *  step; how many. 0 before the first step and with other methods. Names:
 *  vin_system_position_name(). */
VIN_API vin_int vin_integrator_independent(const vin_integrator *integrator,
                                           const vin_int **positions);

/** Projection and acceleration solves that share the integrator's analysis. */
VIN_API vin_projector *vin_integrator_projector(vin_integrator *integrator);

/** Dense derivatives of the acceleration and the multipliers at a state, from K X = -[F_p F_v; G_p G_v]
 *  with many right-hand sides (lecture notes of theory [6], 8.7 and chapter 21): vdot_p, vdot_v
 *  n x n, lambda_p, lambda_v m x n, column by column. For small systems, and as a check: the
 *  implicit methods take the same Newton steps without it. The tangents are those of the
 *  integrators (force_p, force_v, coloured differences, here of second order: about ten digits).
 *  VIN_ERR_TOO_LARGE: n above the limit; otherwise as vin_project_acceleration(). O(n) solves;
 *  allocates. On failure the results are undefined. */
#define VIN_REDUCED_JACOBIAN_LIMIT 4096
VIN_API vin_status vin_reduced_jacobian(vin_projector *projector, double t, const double *p,
                                        const double *v, double *vdot_p, double *vdot_v,
                                        double *lambda_p, double *lambda_v);

#ifdef __cplusplus
}
#endif
#endif
