/* vincula/dae.h - sparse differential-algebraic equations
 *
 *     B y' = f(t, y)          n unknowns y, B constant and possibly singular
 *     0 = F(t, y, y')         the general form, F_y' possibly singular
 *
 * and, as the case that index-1 methods take, the semi-explicit form with y = (x, z):
 *
 *     x' = f(t, x, z)         d differential unknowns x
 *     0  = g(t, x, z)         m = n - d algebraic unknowns z, index 1 where g_z is regular
 *
 * A vin_dae is constant after creation and may serve any number of solvers and threads, provided
 * that the callbacks may be called concurrently. It is reference counted: whoever is created from it
 * keeps it, so it may be destroyed at once. */
#ifndef VINCULA_DAE_H
#define VINCULA_DAE_H

#include "vincula/linsys.h"
#include "vincula/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_dae vin_dae;

/** Callbacks: user first, then inputs, outputs last. Return 0: done; > 0: not possible here, a
 *  smaller step may help (VIN_RETRY); < 0: fatal (VIN_ERR_CALLBACK). Outputs are complete: all
 *  entries are written. A NaN or infinite output is reported like a positive return. Shapes: y, f,
 *  f_t: n; values: the count of the declared pattern, in its order. */
typedef struct vin_dae_desc {
  size_t struct_size; /* sizeof(vin_dae_desc) */
  vin_int unknowns;   /* n >= 1 */
  /* d in 0..n: the first d rows read y_i' = f_i, the others 0 = f_i. Only without mass_pattern. */
  vin_int differential;
  /* B, n x n, general; entries at the same place add. Count 0: the semi-explicit form above. */
  vin_triplets mass_pattern;
  const double *mass_values; /* mass_pattern.count; copied */

  int (*function)(void *user, double t, const double *y, double *f);
  /* f_y, n x n, general: every entry that can be other than zero */
  vin_triplets jacobian_pattern;
  /* NULL: differences of second order on the declared pattern, all columns of a colour at once */
  int (*jacobian)(void *user, double t, const double *y, double *values);
  /* the partial derivative f_t; NULL: a difference where a method needs it */
  int (*time_derivative)(void *user, double t, const double *y, double *f_t);
  /* nonzero: (t, y) lies in the domain (tube) within which f may be evaluated and solutions are
   * accepted; NULL: everywhere */
  int (*in_domain)(void *user, double t, const double *y);

  /* Steps of differences: cbrt(noise) * max(|y_j|, typical[j]). noise is the relative error of f
   * (default 0: rounding); typical[j] > 0 the least size at which y_j matters (NULL: 1 for all).
   * Give it when units differ widely. Copied. */
  double noise;
  const double *typical;
  /* Index of each unknown, 1, 2 or 3, in the sense that its error is O(h^(index-1)) larger; methods
   * for higher index scale with it. Differential unknowns have 1. NULL: 1 for all. Copied. */
  const vin_int *index;

  /* names for messages; write at most size bytes including the final zero. NULL: "unknown 7",
   * "equation 7" */
  void (*unknown_name)(void *user, vin_int index, char *text, size_t size);
  void (*equation_name)(void *user, vin_int row, char *text, size_t size);

  void *user;
  void (*release)(void *user); /* called once, when the last reference is gone or creation failed */

  /* The general form 0 = F(t, y, y'), in place of function, jacobian, time_derivative and mass_values:
   * jacobian_pattern is that of F_y, mass_pattern that of F_y'. NULL: one of the forms above */
  int (*residual)(void *user, double t, const double *y, const double *yp, double *r);
  int (*residual_y)(void *user, double t, const double *y, const double *yp, double *values);
  int (*residual_yp)(void *user, double t, const double *y, const double *yp, double *values);
  /* n, as typical, of y': for differences where residual_yp is NULL */
  const double *typical_rate;
} vin_dae_desc;
VIN_API vin_dae_desc vin_dae_desc_default(void);

/** Copies patterns, arrays and callbacks and checks them (VIN_ERR_BAD_INPUT names what is wrong);
 *  colours the columns when there is no jacobian callback. */
VIN_API vin_status vin_dae_create(vin_dae **dae, const vin_context *context,
                                  const vin_dae_desc *desc);
/** Gives up one reference. */
VIN_API void vin_dae_destroy(vin_dae *dae);
/** Takes one more reference (thread safe) and returns its argument. */
VIN_API vin_dae *vin_dae_retain(vin_dae *dae);
VIN_API const char *vin_dae_error(const vin_dae *dae);

VIN_API vin_int vin_dae_unknowns(const vin_dae *dae);
/** d of the semi-explicit form; -1 in the other forms. */
VIN_API vin_int vin_dae_differential(const vin_dae *dae);
/** 1: the problem has the general form 0 = F(t, y, y'). Such a problem is for vin_dae_integrator and
 *  vin_dae_initialise(); whatever needs f answers VIN_ERR_UNSUPPORTED. */
VIN_API int vin_dae_implicit(const vin_dae *dae);
/** The largest index declared. */
VIN_API vin_int vin_dae_index(const vin_dae *dae);
/** Groups of columns that a difference Jacobian takes, two evaluations of f each; 0: a callback. */
VIN_API vin_int vin_dae_colours(const vin_dae *dae);

/** Writes the name of an unknown or of an equation into text (always terminated). */
VIN_API void vin_dae_unknown_name(const vin_dae *dae, vin_int index, char *text, size_t size);
VIN_API void vin_dae_equation_name(const vin_dae *dae, vin_int row, char *text, size_t size);

/** How far a Jacobian by differences can be trusted. */
typedef struct vin_difference_report {
  vin_int colours;       /* 0: the callback was used, everything else is zero */
  int64_t evaluations;   /* of f */
  double relative_error; /* largest estimated error of an entry / largest entry of its row */
  vin_int row, col;      /* of that entry; -1: none */
  int dominates;         /* 1: relative_error > 1e-3, so that differences limit Newton's method */
} vin_difference_report;

/** Evaluations at one point, for tests and own methods. Outputs as in the callbacks; the text of a
 *  failure goes to text (text_size bytes, may be NULL). VIN_RETRY, VIN_ERR_CALLBACK: see above. The
 *  Jacobian (report may be NULL) and the time derivative allocate scratch. `step` is a time within
 *  which f is smooth, such as the step of a method; the difference of f_t takes a part of it. */
VIN_API vin_status vin_dae_function(const vin_dae *dae, double t, const double *y, double *f,
                                    char *text, size_t text_size);
VIN_API vin_status vin_dae_jacobian(const vin_dae *dae, double t, const double *y, double *values,
                                    vin_difference_report *report, char *text, size_t text_size);
VIN_API vin_status vin_dae_time_derivative(const vin_dae *dae, double t, const double *y,
                                           double step, double *f_t, char *text, size_t text_size);
/** F (n), and the values of F_y and of F_y' (either may be NULL) of the general form, as the three above. */
VIN_API vin_status vin_dae_residual(const vin_dae *dae, double t, const double *y, const double *yp,
                                    double *r, char *text, size_t text_size);
VIN_API vin_status vin_dae_residual_jacobians(const vin_dae *dae, double t, const double *y,
                                              const double *yp, double *by_y, double *by_yp,
                                              char *text, size_t text_size);
/** 1: inside of the domain, or there is no in_domain callback. */
VIN_API int vin_dae_in_domain(const vin_dae *dae, double t, const double *y);

/** Compares the derivatives that the callbacks give ("jacobian", "time_derivative") with
 *  extrapolated central differences at (t, y), also entries that the declared pattern leaves out;
 *  without a jacobian callback the pattern is checked alone. O(n) evaluations of f. VIN_OK: all agree
 *  (to 1e-6 of each entry, or 1e-8 of the largest in its row); VIN_CHECK_FAILED: see *check. */
VIN_API vin_status vin_dae_check(const vin_dae *dae, double t, const double *y,
                                 vin_derivative_check *check);

/** The same of the general form: "residual_y" and "residual_yp". */
VIN_API vin_status vin_dae_check_implicit(const vin_dae *dae, double t, const double *y,
                                          const double *yp, vin_derivative_check *check);

/** Result of vin_dae_index_check(). */
typedef struct vin_dae_index_report {
  vin_int rank, full; /* numerical rank of the tested matrix, and the rank of index 1 */
  vin_int dependent;  /* an unknown whose column of g_z or f_y depends on others; -1: none known */
  char text[256];     /* the verdict in words, with the name of that unknown */
} vin_dae_index_report;

/** Whether the equations have index 1 (or 0) at (t, y): g_z is regular in the semi-explicit form; in
 *  general rank [B 0; f_y B] = n + rank B (theory (D2)). By a rank-revealing QR: a column within
 *  `tolerance` (of its length; 0: 1e-10) of the span of others counts as dependent. VIN_OK;
 *  VIN_SINGULAR: the index is higher (or there is none), see report; VIN_ERR_UNSUPPORTED: the build has no
 *  SuiteSparseQR. Allocates. */
VIN_API vin_status vin_dae_index_check(const vin_dae *dae, double t, const double *y,
                                       double tolerance, vin_dae_index_report *report);
/** The same of the general form, linearised at (t, y, y'): B = F_y', f_y = -F_y. */
VIN_API vin_status vin_dae_index_check_implicit(const vin_dae *dae, double t, const double *y,
                                                const double *yp, double tolerance,
                                                vin_dae_index_report *report);

/* ---- outcomes and counts of finite-budget methods -----------------------------------------------
 * One line per outcome: name, word, the status that goes with it. */
#define VIN_OUTCOME_TABLE(X)                                                                       \
  X(VIN_OUTCOME_NONE, "none", VIN_ERR_BAD_STATE)                                                   \
  X(VIN_OUTCOME_ROOT, "root", VIN_OK)                                                              \
  X(VIN_OUTCOME_EXACT, "exact-consistent", VIN_OK)                                                 \
  X(VIN_OUTCOME_APPROXIMATE, "approximate-consistent", VIN_OK)                                     \
  X(VIN_OUTCOME_COMPLETED, "completed", VIN_OK)                                                    \
  X(VIN_OUTCOME_SINGULAR_JACOBIAN, "singular-jacobian", VIN_SINGULAR)                              \
  X(VIN_OUTCOME_INVALID_TRIAL, "invalid-trial", VIN_STEP_FAILED)                                   \
  X(VIN_OUTCOME_BUDGET_EXHAUSTED, "iteration-budget-exhausted", VIN_NOT_CONVERGED)                 \
  X(VIN_OUTCOME_INVALID_GRID, "invalid-grid", VIN_ERR_BAD_INPUT)                                   \
  X(VIN_OUTCOME_INVALID_INPUT, "invalid-input", VIN_ERR_BAD_INPUT)                                 \
  X(VIN_OUTCOME_INCONSISTENT, "inconsistent-initial-data", VIN_ERR_BAD_INPUT)                      \
  X(VIN_OUTCOME_INTERRUPTED, "interrupted", VIN_INTERRUPTED)                                       \
  X(VIN_OUTCOME_FAILED, "evaluation-failed", VIN_ERR_CALLBACK)

/** How a finite-budget method ended. The last one stands for whatever the contracts of the methods
 *  leave out (fatal callbacks, no memory); the status tells which. */
typedef enum vin_outcome {
#define VIN_OUTCOME_ENUM(name, word, status) name,
  VIN_OUTCOME_TABLE(VIN_OUTCOME_ENUM)
#undef VIN_OUTCOME_ENUM
} vin_outcome;

/** "singular-jacobian" and the like; "unknown" for any other number. */
VIN_API const char *vin_outcome_name(vin_outcome outcome);

/** What a finite-budget method asked for. Evaluations inside difference Jacobians are counted
 *  apart. */
typedef struct vin_dae_counts {
  int64_t residual_queries;
  int64_t jacobian_assemblies;
  int64_t correction_solves; /* successful ones */
  int64_t difference_evaluations;
} vin_dae_counts;

/* ---- the algebraic side of a semi-explicit index-1 problem --------------------------------------
 * z = psi(t, x), the branch of solutions of g(t, x, z) = 0 next to a given z. */

typedef struct vin_branch vin_branch;

typedef struct vin_branch_options {
  size_t struct_size;               /* sizeof(vin_branch_options) */
  vin_solver solver;                /* of g_z; default VIN_SOLVER_AUTO (umfpack) */
  double linear_residual_tolerance; /* default 1e-12, see vin_linsys_options */
} vin_branch_options;
VIN_API vin_branch_options vin_branch_options_default(void);

/** Analyses the pattern of g_z once; keeps the problem. VIN_ERR_BAD_INPUT: not semi-explicit, or no
 *  algebraic unknowns; VIN_ERR_UNSUPPORTED: a higher index is declared, or the build has no solver
 *  for general matrices. */
VIN_API vin_status vin_branch_create(vin_branch **branch, const vin_context *context, vin_dae *dae,
                                     const vin_branch_options *options);
VIN_API void vin_branch_destroy(vin_branch *branch);
VIN_API const char *vin_branch_error(const vin_branch *branch);
VIN_API vin_linsys_info vin_branch_solver_info(const vin_branch *branch);

typedef struct vin_newton_report {
  vin_outcome outcome;
  double residual_start, residual; /* |g|_2 at the seed and at the iterate returned; -1: unknown */
  int corrections;                 /* accepted */
  vin_dae_counts counts;
} vin_newton_report;

/** Newton's method with a finite budget on g(t, x, .) = 0: y (n) holds x and the seed z, and
 *  receives the last valid iterate. At most `budget` >= 0 undamped corrections and budget + 1
 *  residual queries. root: |g|_2 <= tolerance, nothing more. singular-jacobian; invalid-trial: the
 *  next iterate leaves the domain, is not finite, or g does not exist there; iteration-budget-
 *  exhausted; invalid-input: y outside of the domain, g undefined at the seed, tolerance or budget
 *  negative. With differential = 0 this solves any sparse square system f(t, y) = 0. report may be
 *  NULL. */
VIN_API vin_status vin_branch_newton(vin_branch *branch, double t, double *y, double tolerance,
                                     int budget, vin_newton_report *report);

/** Consistent initial data: as above, then g is evaluated once more. exact-consistent: g is zero;
 *  approximate-consistent: |g|_2 is in the report; else the outcomes above. At most budget + 2
 *  residual queries. */
VIN_API vin_status vin_branch_initialise(vin_branch *branch, double t, double *y, double tolerance,
                                         int budget, vin_newton_report *report);

/** The reduced vector field F(t, x) = f(t, x, psi(t, x)): solves for z as vin_branch_newton() does
 *  (y: x and a seed, z on return) and writes F (d). For codes that integrate x' = F themselves. */
VIN_API vin_status vin_branch_field(vin_branch *branch, double t, double *y, double tolerance,
                                    int budget, double *field, vin_newton_report *report);

/** Evaluates f_y at (t, y) and factorises g_z for the three functions below. VIN_SINGULAR: g_z is
 *  singular: the index is higher than declared, or the branch ends here. */
VIN_API vin_status vin_branch_linearise(vin_branch *branch, double t, const double *y);
/** w (m x count) := psi_x v = -g_z^-1 g_x v for v (d x count), columns one after the other. */
VIN_API vin_status vin_branch_psi_x(vin_branch *branch, vin_int count, const double *v, double *w);
/** psi_x (m x d, dense, column-major): d solves; for small d. */
VIN_API vin_status vin_branch_psi_x_matrix(vin_branch *branch, double *matrix);
/** psi_t = -g_z^-1 g_t (m). step: as in vin_dae_time_derivative(). */
VIN_API vin_status vin_branch_psi_t(vin_branch *branch, double step, double *w);

/** What |g| says about the error of z (theory (D5), the residual lemma). */
typedef struct vin_residual_estimate {
  double residual;  /* |g|_2 */
  double sigma_min; /* smallest singular value of g_z, from above (a Rayleigh quotient) */
  double error;     /* |g_z^-1 g|_2, the first-order error of z, the sharpest of the three */
  double estimate;  /* |g| / sigma_min */
  double bound;     /* 2 |g| / sigma_min: holds inside the ball of the lemma */
  double
      contraction; /* |g_z^-1 g(z - g_z^-1 g)| / error: the lemma's ball needs it small; above 1/2
                         the three say little; -1: g does not exist there */
  int iterations;  /* of the inverse iteration */
} vin_residual_estimate;

/** Linearises at (t, y) and fills *estimate: one factorisation, and two solves for each iteration. */
VIN_API vin_status vin_branch_residual_estimate(vin_branch *branch, double t, const double *y,
                                                vin_residual_estimate *estimate);

/* ---- coupled one- and two-step methods on a constant grid, semi-explicit index 1 ----------------
 * t_k = t0 + k h. Each step solves for x and z together; see theory (D6), (D7). */

typedef enum vin_dae_method {
  VIN_DAE_BACKWARD_EULER, /* order 1, one starting pair */
  VIN_DAE_BDF2            /* order 2, two starting pairs */
} vin_dae_method;

typedef struct vin_stepper vin_stepper;

typedef struct vin_stepper_options {
  size_t struct_size;               /* sizeof(vin_stepper_options) */
  vin_solver solver;                /* of the coupled matrix; default VIN_SOLVER_AUTO (umfpack) */
  double linear_residual_tolerance; /* default 1e-12, see vin_linsys_options */
  int check_index; /* default 1: refuse a start where g_z is singular; costs its analysis at creation
                      and one Jacobian and factorisation a run */
} vin_stepper_options;
VIN_API vin_stepper_options vin_stepper_options_default(void);

/** Analyses the coupled pattern once; keeps the problem. Errors as vin_branch_create(), but an
 *  ordinary equation (m = 0) is accepted, d = 0 is not. */
VIN_API vin_status vin_stepper_create(vin_stepper **stepper, const vin_context *context,
                                      vin_dae *dae, const vin_stepper_options *options);
VIN_API void vin_stepper_destroy(vin_stepper *stepper);
VIN_API const char *vin_stepper_error(const vin_stepper *stepper);
VIN_API vin_linsys_info vin_stepper_solver_info(const vin_stepper *stepper);

typedef struct vin_grid_run {
  size_t struct_size; /* sizeof(vin_grid_run) */
  vin_dae_method method;
  double t0, h;     /* h > 0, and at least 16 roundings of the largest |t| */
  vin_int steps;    /* N >= 1; BDF2: >= 2 */
  const double *y0; /* n: starting pair at t0 */
  const double *y1; /* n: at t0 + h, for BDF2 only; one step of backward Euler is good enough */
  double derivative_tolerance; /* eta_d > 0: |(X_n - X_{n-1}) / h - f|_2, in units of x' */
  double algebraic_tolerance;  /* eta_a > 0: |g|_2 */
  double start_tolerance[2];   /* |g|_2 allowed at the starting pairs; default 0: exact */
  int budget;                  /* Newton corrections a step; default 10 */
  /* All states that were accepted, starts included, and their residuals, column k for t_k: n x
   * (steps + 1) each, or NULL. Residuals: r^d (d) then r^a (m), not scaled; r^d of a start is 0. */
  double *states, *residuals;
  /* NULL, or called after each accepted step; nonzero stops the run (interrupted) */
  int (*accepted)(void *user, vin_int step, double t, const double *y, const double *residual);
  void *user;
} vin_grid_run;
VIN_API vin_grid_run vin_grid_run_default(void);

typedef struct vin_grid_report {
  vin_outcome outcome;
  vin_int accepted;  /* k of the last accepted state; -1: the start was refused */
  vin_int attempted; /* steps begun */
  double t;          /* of the last accepted state */
  double derivative_max, algebraic_max; /* largest residuals of accepted steps, 2-norm */
  double start_residual[2];             /* |g|_2 of the starting pairs; -1: not evaluated */
  double last_residual; /* of the last Newton run, scaled: root means <= 1; -1: none */
  vin_dae_counts counts;
} vin_grid_report;

/** Runs the grid. y (n, may be NULL) receives the last accepted state; after a failure the accepted
 *  prefix is in run->states, y and the report. completed; invalid-grid; invalid-input (also a start
 *  where g_z is singular); inconsistent-initial-data; singular-jacobian, invalid-trial (a seed or an
 *  iterate leaves the domain), iteration-budget-exhausted; interrupted. With S steps attempted at
 *  most 1 + S (budget + 2) residual queries (BDF2: 2 + ...); the check of the index adds one Jacobian,
 *  which is not counted. Every accepted step has |r^d|_2 <=
 *  eta_d, |r^a|_2 <= eta_a; an error bound is not claimed. Nothing is allocated,
 *  but for finding the rank of a singular g_z. */
VIN_API vin_status vin_stepper_run(vin_stepper *stepper, const vin_grid_run *run, double *y,
                                   vin_grid_report *report);

/* ---- linear problems F x' + G x = h(t) ---------------------------------------------------------- */

typedef struct vin_linear_dae vin_linear_dae;

typedef struct vin_linear_dae_desc {
  size_t struct_size;                /* sizeof(vin_linear_dae_desc) */
  vin_int unknowns;                  /* n */
  vin_triplets f_pattern, g_pattern; /* n x n, general */
  const double *f_values, *g_values;
  int (*h)(void *user, double t, double *h); /* n; NULL: zero */
  void *user;
  /* Baumgarte: rows of F that are zero, c = G x - h = 0, become tau c' + c = 0. 0: none (default) */
  double tau;
  vin_solver solver;                /* default VIN_SOLVER_AUTO (umfpack) */
  double linear_residual_tolerance; /* default 1e-12 */
} vin_linear_dae_desc;
VIN_API vin_linear_dae_desc vin_linear_dae_desc_default(void);

typedef enum vin_linear_method {
  VIN_LINEAR_IMPLICIT_EULER, /* theta = 1 */
  VIN_LINEAR_CRANK_NICOLSON  /* theta = 1/2 */
} vin_linear_method;

/** Copies and checks; analyses the pattern of F + theta h G once. */
VIN_API vin_status vin_linear_dae_create(vin_linear_dae **dae, const vin_context *context,
                                         const vin_linear_dae_desc *desc);
VIN_API void vin_linear_dae_destroy(vin_linear_dae *dae);
VIN_API const char *vin_linear_dae_error(const vin_linear_dae *dae);
VIN_API vin_linsys_info vin_linear_dae_solver_info(const vin_linear_dae *dae);

/** `steps` steps from x (n) at t0, t_k = t0 + k h. One factorisation for each new (method, h).
 *  states (n x (steps + 1)) may be NULL. On failure x is the last state reached, *done (may be NULL)
 *  says which. VIN_SINGULAR: the pencil is singular at this h. */
VIN_API vin_status vin_linear_dae_run(vin_linear_dae *dae, vin_linear_method method, double t0,
                                      double h, vin_int steps, double *x, double *states,
                                      vin_int *done);

#ifdef __cplusplus
}
#endif
#endif
