/* vincula/dae_integrate.h - variable-step implicit integration of sparse differential-algebraic
 * equations B y' = f(t, y) and 0 = F(t, y, y') of index 1, 2 and 3. */
#ifndef VINCULA_DAE_INTEGRATE_H
#define VINCULA_DAE_INTEGRATE_H

#include "vincula/dae.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Methods, by name with vin_dae_integrator_method_name() / vin_dae_integrator_method_from_name(). Both are stiffly
 *  accurate: equations without derivative hold at the end of each step. */
typedef enum vin_dae_integrator_method {
  VIN_DAE_RADAU, /* [radau] Radau IIA with 3 stages: order 5, L-stable; index 1, 2, 3 (Hairer, Wanner:
                    Solving Ordinary Differential Equations II, IV.8, VII.4; theory (R1)-(R8)) */
  VIN_DAE_BDF    /* [bdf] backward differentiation of order 1 to 5 in backward differences, steps
                    kept while they are good; index 1 and 2 (theory (R9)-(R12)) */
} vin_dae_integrator_method;

VIN_API const char *vin_dae_integrator_method_name(vin_dae_integrator_method method);
/** VIN_ERR_BAD_INPUT for an unknown word; *method is then VIN_DAE_RADAU. */
VIN_API vin_status vin_dae_integrator_method_from_name(vin_dae_integrator_method *method,
                                                       const char *name);

typedef struct vin_dae_integrator_options {
  size_t struct_size;               /* sizeof(vin_dae_integrator_options) */
  vin_dae_integrator_method method; /* default VIN_DAE_RADAU */
  /* An error e_i counts as |e_i| / (absolute + relative |y_i|), unknowns of index k times
   * min(1, h / time_scale)^(k-1); a step is accepted when the mean square is at most 1. */
  double relative_tolerance;         /* default 1e-6; 1e-14 or more, below 1 */
  double absolute_tolerance;         /* in the unit of y; default 1e-6; > 0 */
  const double *relative_tolerances; /* n, one for each unknown, instead; copied; NULL */
  const double *absolute_tolerances; /* n, likewise; NULL */
  double time_scale;                 /* s; default 1: how long the solution takes to change */
  double initial_step;               /* s; default 0: chosen from y' */
  double max_step;                   /* s; default 0: no limit */
  double fixed_step; /* s; default 0: steps follow the error; > 0: each step has this length, and
                             the error is not judged (studies of orders) */
  int64_t max_steps; /* default 1000000: attempts in one call of run */
  int max_newton;    /* default 0: 7 for radau, 4 for bdf; 2..50 */
  double newton_tolerance; /* share of the tolerance that Newton's iteration may leave; default 0:
                              chosen; < 1 */
  int max_order;           /* default 5, 1..5; bdf only */
  int check_start; /* default 1: start() refuses values that do not satisfy the equations; 0: takes
                             them as they are */
  /* Times (break_count, finite, any order; copied) at which f, or a derivative of it, jumps: a step ends
   * exactly there, and the next one begins anew, with order 1 and a first step of its own, without
   * predictions from before. f is evaluated one rounding of t before and behind a break, never at it, so
   * its value there does not matter. Unknowns of index 1 that jump with the equations do so when the next
   * step begins. Example, an input that is switched twice:
   *   const double breaks[] = {1.0, 2.5};
   *   options.breaks = breaks, options.break_count = 2; */
  const double *breaks; /* NULL */
  vin_int break_count;  /* default 0 */
} vin_dae_integrator_options;
VIN_API vin_dae_integrator_options vin_dae_integrator_options_default(void);

typedef struct vin_dae_integrator_stats {
  int64_t steps;    /* accepted */
  int64_t rejected; /* attempts whose error estimate was too large */
  int64_t failures; /* attempts in which Newton's iteration, a callback or a factorisation failed */
  int64_t residuals;   /* evaluations of f, without those inside difference Jacobians */
  int64_t differences; /* evaluations of f inside difference Jacobians */
  int64_t jacobians;
  int64_t restarts;                  /* at breaks */
  int64_t symbolic, numeric, solves; /* real systems of n, for radau also of 2 n unknowns */
} vin_dae_integrator_stats;

typedef struct vin_dae_integrator vin_dae_integrator;

/** Keeps the dae; analyses the iteration matrices and allocates all that steps need (radau: one real
 *  n x n and one real 2n x 2n matrix that stands for a complex one). Errors: VIN_ERR_BAD_INPUT names
 *  the option; VIN_ERR_UNSUPPORTED: no solver for general matrices in this build. */
VIN_API vin_status vin_dae_integrator_create(vin_dae_integrator **integrator,
                                             const vin_context *context, vin_dae *dae,
                                             const vin_dae_integrator_options *options);
VIN_API void vin_dae_integrator_destroy(vin_dae_integrator *integrator);
VIN_API const char *vin_dae_integrator_error(const vin_dae_integrator *integrator);

/** Sets the state; also to begin anew after a jump. y (n) is copied. On failure there is no state.
 *  VIN_ERR_BAD_INPUT: a value is
 *  not finite, outside of the domain, or, with check_start, y does not satisfy the equations without
 *  derivatives or the constraints hidden in them: the text names the unknown that would have to move
 *  most (found by two implicit steps of length towards 0; unknowns of the highest index, when that is
 *  above 1, are not judged: no method needs them). */
VIN_API vin_status vin_dae_integrator_start(vin_dae_integrator *integrator, double t,
                                            const double *y);
/** The start of a problem in the general form 0 = F(t, y, y'): y' (n) is copied, too; of unknowns whose
 *  derivative is not in F it may be anything, 0 say. vin_dae_initialise() finds values that fit. With
 *  check_start also derivatives are judged, those in F of index 1: VIN_ERR_BAD_INPUT names one that
 *  would have to change by more than 10 tolerances a time_scale. */
VIN_API vin_status vin_dae_integrator_start_implicit(vin_dae_integrator *integrator, double t,
                                                     const double *y, const double *yp);
/** One accepted step towards t_limit (either direction; finite), never past it and exactly onto it
 *  when it is near. Failed attempts are repeated with shorter steps. On failure time and state are
 *  those before the call. VIN_STEP_FAILED: the step would be shorter than 16 roundings of t; the text
 *  says what failed and what it may mean; VIN_SINGULAR: the iteration matrix is singular for
 *  every step; VIN_RETRY: a callback refuses every step; VIN_ERR_CALLBACK: a callback failed. */
VIN_API vin_status vin_dae_integrator_step(vin_dae_integrator *integrator, double t_limit);
/** Steps to exactly t_end. Errors as step(); then the state is that of the last accepted step.
 *  VIN_NOT_CONVERGED: max_steps attempts were not enough; run() may be called again. */
VIN_API vin_status vin_dae_integrator_run(vin_dae_integrator *integrator, double t_end);

/** The present state; y (n) belongs to the integrator and changes with the next step. */
typedef struct vin_dae_integrator_view {
  double t;
  vin_int n;
  const double *y;
  double step;      /* that the last step had, signed, s; 0: none yet */
  double next_step; /* that the next one will try */
  int order;        /* of the last step */
  const double *yp; /* n: y' of the general form as the method has it; NULL in the others */
} vin_dae_integrator_view;
VIN_API vin_dae_integrator_view vin_dae_integrator_state(const vin_dae_integrator *integrator);

/** y (n) at a time within the last step, by the polynomial of the method: continuous, of order 3
 *  (radau) or that of the step (bdf). VIN_ERR_BAD_INPUT outside, VIN_ERR_BAD_STATE before a step. */
VIN_API vin_status vin_dae_integrator_interpolate(vin_dae_integrator *integrator, double t,
                                                  double *y);

VIN_API vin_dae_integrator_stats vin_dae_integrator_get_stats(const vin_dae_integrator *integrator);

#ifdef __cplusplus
}
#endif
#endif
