/* Step control: a PI controller whose acceptance covers the error estimate and the constraint residuals,
 * theory (28c) and (28d). A rejected or failed step leaves the accepted state as it is. */
#include "sim/sim.h"

#include <float.h>
#include <math.h>

/* The step aims at SAFETY^k of the tolerance, changes by at most these factors, and does not grow
 * right after a rejection. Exponents of the PI controller over the order k: Gustafsson's 0.7 and 0.4
 * (K. Gustafsson, ACM Trans. Math. Softw. 17 (1991) 533-554), smooth where stability limits the step. */
#define SAFETY 0.9
#define LEAST_FACTOR 0.2
#define MOST_FACTOR 5.0
#define INTEGRAL 0.7
#define PROPORTIONAL 0.4
/* After a step that failed outright, where no estimate tells how much is too much. */
#define FAILURE_FACTOR 0.25
/* An error below this counts as this, so that its powers stay finite. */
#define LEAST_ERROR 1e-10
/* Shortest step, in roundings of t, as for steps of constant length. */
#define STEP_ROUNDINGS 16

static double clamp(double factor) {
  return vini_min(MOST_FACTOR, vini_max(LEAST_FACTOR, factor));
}

static double after_acceptance(const vin_sim *sim, double error) {
  double k = sim->integrator->estimate_order;
  double now = vini_max(error, LEAST_ERROR), before = vini_max(sim->control.error, LEAST_ERROR);
  return clamp(SAFETY * pow(now, -INTEGRAL / k) * pow(before, PROPORTIONAL / k));
}

static double after_rejection(const vin_sim *sim, double error) {
  double k = sim->integrator->estimate_order;
  return vini_min(SAFETY, clamp(SAFETY * pow(error, -1 / k)));
}

/* The next trial, fitted to t_end: it is met exactly, and not by a last step that is a splinter. */
static double fitted(const vin_sim *sim, double t_end, bool *last) {
  double h = sim->control.h, remaining = t_end - sim->accepted->t;
  *last = h >= remaining;
  if (*last) return remaining;
  return 2 * h > remaining ? 0.5 * remaining : h;
}

/* Roundings of t, and near t = 0 those of the way that is left: 3e14 steps are never done. */
static double smallest(const vin_sim *sim, double t_end) {
  double t = vini_max(fabs(sim->accepted->t), VINI_SIM_TINY_TIME);
  if (t_end < HUGE_VAL) t = vini_max(t, t_end - sim->accepted->t);
  return vini_max(sim->options.min_step, STEP_ROUNDINGS * DBL_EPSILON * t);
}

static vin_status too_small(vin_sim *sim, double h, double least, const char *reason) {
  sim->run_text = true;
  return vini_fail(&sim->object, VIN_STEP_FAILED,
                   "step %lld from t = %s s: the tolerances ask for h = %s s, below %s, %s s: %s",
                   (long long)sim->steps + 1, VINI_SIM_NUMBER(sim->accepted->t), VINI_SIM_NUMBER(h),
                   least > sim->options.min_step
                       ? "what the rounding of t or of the way to the end allows"
                       : "min_step",
                   VINI_SIM_NUMBER(least), reason);
}

/* One trial. *error: infinite when it failed outright (the reason is in the text). */
static vin_status attempt(vin_sim *sim, double h, vin_state **end, double *error) {
  *error = HUGE_VAL;
  vin_status status = vini_sim_try(sim, h, 1, end);
  if (status != VIN_OK) return status;
  const vin_integrator *integrator = sim->integrator;
  *error = vini_max(integrator->estimate, integrator->residual_estimate);
  if (*error <= 1) return VIN_OK;
  vini_integrator_reject(sim->integrator);
  return vini_fail(&sim->object, VIN_STEP_FAILED,
                   "with h = %s s the estimated error is %.3g and the growth of the constraint "
                   "residuals %.3g times the tolerances",
                   VINI_SIM_NUMBER(h), integrator->estimate, integrator->residual_estimate);
}

/* shortened: to fit the end, so that the error says little about a step of the usual length. */
static void plan_next(vin_sim *sim, double h, double error, bool shortened, bool retried) {
  vini_control *control = &sim->control;
  double next = h * after_acceptance(sim, error);
  if (retried) next = vini_min(next, h);
  control->h = shortened && !retried ? vini_max(control->h, next) : next;
  if (!shortened) control->error = error;
}

static vin_status trials(vin_sim *sim, double t_end) {
  vini_control *control = &sim->control;
  vini_integrator_mark(sim->integrator, sim->accepted == sim->last_end);
  sim->rewound = false;
  double now = sim->accepted->t, limit = sim->options.max_step;
  if (limit > 0) control->h = vini_min(control->h, limit);
  control->h = vini_max(control->h, sim->options.min_step);
  const double least = smallest(sim, t_end);
  if (control->h < least && control->h < t_end - now) {
    return too_small(sim, control->h, least, "the first trial step");
  }
  for (bool retried = false;; retried = true) {
    bool last = false;
    double h = fitted(sim, t_end, &last), end_time = last ? t_end : now + h, error;
    bool shortened = h < control->h;
    h = end_time - now; /* what is left of it in t */
    vin_state *end = NULL;
    if (retried) sim->rewound = vini_integrator_rewind(sim->integrator);
    vin_status status = attempt(sim, h, &end, &error);
    if (status == VIN_OK) {
      vini_sim_accept(sim, end, end_time);
      plan_next(sim, h, error, shortened, retried);
      return VIN_OK;
    }
    if (status < VIN_OK || status == VIN_INTERRUPTED) return status;
    control->h = h * (error < HUGE_VAL ? after_rejection(sim, error) : FAILURE_FACTOR);
    if (control->h < least) return too_small(sim, control->h, least, sim->object.text);
  }
}

vin_status vini_sim_controlled_step(vin_sim *sim, double t_end) {
  double h = sim->control.h;
  vin_status status = trials(sim, t_end);
  sim->rewound = false;
  if (status == VIN_OK) return VIN_OK;
  sim->control.h = h; /* the state is as before: so is the next trial */
  if (status > 0) return status;
  sim->run_text = true;
  return vini_fail(&sim->object, status, "step %lld from t = %s s failed: %s",
                   (long long)sim->steps + 1, VINI_SIM_NUMBER(sim->accepted->t), sim->object.text);
}
