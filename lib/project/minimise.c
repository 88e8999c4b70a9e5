/* min F(y) subject to c(y) = 0: Newton's method on F' + A' lambda = 0, c = 0. Each step solves
 *     [ H + shift  A' ] [ d       ]   [ -F' ]      H = F'' + sum lambda_i c_i''
 *     [ A          0  ] [ lambda+ ] = [ -c  ]
 * in two parts, tangent (right-hand side -F') and normal (-c), so that H can be judged along the
 * constraints. The step is shortened until F + sum nu_i |c_i| falls (Nocedal, Wright, Numerical
 * Optimization, 2006, chapters 15 and 18); where that is stuck off the constraints,
 * Levenberg-Marquardt steps reduce |c| first. */
#include "project/minimise.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* nu_i stays above this many times |lambda_i|, so that d descends. */
#define PENALTY 1.5
/* Decrease asked for, relative to what the slope promises, and shortenings of one step. */
#define ARMIJO 1e-4
#define CUTS 30
/* First shift of H relative to its largest entry, its growth, and its limit. */
#define FIRST_SHIFT 1e-3
#define SHIFT_GROWTH 10
#define STUCK_GROWTH 1e3
#define LARGEST_SHIFT 1e10
/* t' H t above -this times its terms counts as convex along t: rounding. */
#define CONVEX 1e-10
/* As in the position projection: A' c relative to its terms at a stationary point, at the last
 * iteration; gain of a restoring step, first damping and limits. */
#define STATIONARY 1e-9
#define NEARLY_STATIONARY 1e-3
#define LEAST_GAIN 1e-4
#define LOW_GAIN 0.25
#define HIGH_GAIN 0.75
#define FIRST_DAMPING 1e-4
#define LEAST_DAMPING 1e-14
#define LARGEST_DAMPING 1e8
/* After this many steps in turn that leave more than this fraction of |c|, only |c| counts. */
#define PATIENCE 5
#define POOR_PROGRESS 0.9
/* Where no step gains any more, |c| may be this many times the estimate of its rounding, and the
 * gradient this many times its tolerance. */
#define FLOOR_SLACK 16
#define GRADIENT_SLACK 1e3

/* max |F' + A' lambda| relative to the largest sum of terms; 0 where all terms are. */
static double stationarity(vin_minimiser *s) {
  double *r = s->rest, largest = 0, size = 0;
  vini_minimiser_transposed(s, s->lambda, r, s->scale);
  for (vin_int i = 0; i < s->n; i++) {
    if (s->fixed[i]) continue;
    largest = vini_max(largest, fabs(r[i] + s->gradient[i]));
    size = vini_max(size, s->scale[i] + fabs(s->gradient[i]));
  }
  return size > 0 ? largest / size : 0;
}

static double dot(const double *x, const double *y, vin_int count) {
  double sum = 0;
  for (vin_int i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

static double norm2(const double *x, vin_int count) {
  double scale = vini_max_abs(x, count), sum = 0;
  if (scale == 0) return 0;
  for (vin_int i = 0; i < count; i++) sum += (x[i] / scale) * (x[i] / scale);
  return scale * sqrt(sum);
}

static vin_status solve(vin_minimiser *s, double *d, double *mu) {
  vin_status status = vin_kkt_solve(s->kkt, 1, d, mu, d, mu);
  if (status != VIN_OK) return vini_fail(&s->object, status, "%s", vin_kkt_error(s->kkt));
  return VIN_OK;
}

/* d := tangent + normal, lambda := lambda+. *convex: H is positive along the tangent part. */
static vin_status solve_parts(vin_minimiser *s, bool *convex) {
  double *t = s->tangent, size;
  for (vin_int i = 0; i < s->n; i++) t[i] = -s->gradient[i];
  memset(s->mu, 0, (size_t)s->m * sizeof *s->mu);
  VINI_TRY(solve(s, t, s->mu));
  double along = vini_minimiser_curvature(s, t, &size);
  *convex = along >= -CONVEX * size;
  memset(s->d, 0, (size_t)s->n * sizeof *s->d);
  for (vin_int i = 0; i < s->m; i++) s->right[i] = -s->c[i];
  if (s->m > 0) VINI_TRY(solve(s, s->d, s->right));
  for (vin_int i = 0; i < s->n; i++) s->d[i] += t[i];
  for (vin_int i = 0; i < s->m; i++) s->lambda[i] = s->mu[i] + s->right[i];
  return VIN_OK;
}

/* d and lambda, with the least shift of H that makes d a descent. */
static vin_status direction(vin_minimiser *s) {
  double shift = s->shift;
  for (;;) {
    VINI_TRY(vini_minimiser_hessian(s));
    double size = s->h_size > 0 ? s->h_size : 1;
    if (!(size < sqrt(DBL_MAX))) { /* with multipliers that grew from step to step */
      return vini_fail(&s->object, VIN_NOT_CONVERGED,
                       "the iteration runs away: the second derivatives have come to %.3g", size);
    }
    if (shift < DBL_EPSILON * size) shift = 0;
    bool convex = false;
    vin_status status = vini_minimiser_factor(s, shift);
    if (status == VIN_OK) status = solve_parts(s, &convex);
    if (status < 0) return status;
    if (status == VIN_OK && convex) break;
    if (status != VIN_OK && s->options.kkt.redundancy == VIN_REDUNDANCY_REFUSE &&
        vin_kkt_dropped(s->kkt, NULL) > 0) {
      return status;
    }
    s->report.shifts++;
    shift = shift > 0 ? SHIFT_GROWTH * shift : FIRST_SHIFT * size;
    if (shift > LARGEST_SHIFT * size) {
      if (status != VIN_OK) return status;
      return vini_fail(&s->object, VIN_SINGULAR, "F has no minimum along the constraints");
    }
  }
  s->shift = shift / SHIFT_GROWTH;
  return VIN_OK;
}

static double merit(const vin_minimiser *s, double value, const double *c) {
  double sum = value;
  for (vin_int i = 0; i < s->m; i++) sum += s->nu[i] * fabs(c[i]);
  return sum;
}

/* Slope of the merit along d; *slack: rounding of the merit. */
static double slope(vin_minimiser *s, double *slack) {
  double *linear = s->right, sum = dot(s->gradient, s->d, s->n);
  memcpy(linear, s->c, (size_t)s->m * sizeof *linear);
  vini_minimiser_multiply(s, s->d, linear);
  *slack = 16 * DBL_EPSILON * fabs(s->value);
  for (vin_int i = 0; i < s->m; i++) {
    sum += s->nu[i] * (fabs(linear[i]) - fabs(s->c[i]));
    *slack += s->nu[i] * s->floor[i];
  }
  return sum;
}

/* Values at trial; a status > 0 is no error there. */
static vin_status evaluate_trial(vin_minimiser *s) {
  VINI_TRY(vini_minimiser_value(s, s->trial, &s->value_trial));
  return vini_minimiser_constraint(s, s->trial, s->c_trial);
}

static void accept(vin_minimiser *s) {
  memcpy(s->y, s->trial, (size_t)s->n * sizeof *s->y);
  memcpy(s->c, s->c_trial, (size_t)s->m * sizeof *s->c);
  s->value = s->value_trial;
}

/* The whole step bends off the constraints by c_trial: adds the normal part that takes it back. */
static vin_status correct_trial(vin_minimiser *s) {
  double *back = s->rest;
  memset(back, 0, (size_t)s->n * sizeof *back);
  for (vin_int i = 0; i < s->m; i++) s->right[i] = -s->c_trial[i];
  VINI_TRY(solve(s, back, s->right));
  for (vin_int i = 0; i < s->n; i++) s->trial[i] += back[i];
  return evaluate_trial(s);
}

/* Shortens d until the merit falls. stuck: it does not, or could not visibly. */
static vin_status line_search(vin_minimiser *s, bool *stuck) {
  double slack, length = 1;
  for (vin_int i = 0; i < s->m; i++) {
    s->nu[i] = vini_max(s->nu[i], PENALTY * fabs(s->lambda[i]));
  }
  double along = slope(s, &slack), before = merit(s, s->value, s->c);
  *stuck = false;
  for (int cut = 0; cut < CUTS; cut++, length /= 2) {
    double limit = before + ARMIJO * length * along + slack;
    for (vin_int i = 0; i < s->n; i++) s->trial[i] = s->y[i] + length * s->d[i];
    vin_status status = evaluate_trial(s);
    bool lower = status == VIN_OK && merit(s, s->value_trial, s->c_trial) <= limit;
    if (status == VIN_OK && !lower && cut == 0 && s->m > 0) {
      status = correct_trial(s);
      lower = status == VIN_OK && merit(s, s->value_trial, s->c_trial) <= limit;
    }
    if (status < 0) return status;
    if (!lower) continue;
    accept(s);
    return VIN_OK;
  }
  *stuck = true;
  return VIN_OK;
}

/* ---- towards the constraints -------------------------------------------------------------- */

/* |A' c| relative to its terms. */
static double slope_of_squares(vin_minimiser *s) {
  vini_minimiser_transposed(s, s->c, s->rest, s->scale);
  double size = vini_max_abs(s->scale, s->n);
  return size > 0 ? vini_max_abs(s->rest, s->n) / size : 0;
}

static double damping_size(const vin_minimiser *s) {
  const vin_triplets *pattern = &s->desc.jacobian_pattern;
  double largest = 0;
  for (vin_int k = 0; k < pattern->count; k++) {
    largest = vini_max(largest, s->a_free[k] * s->a_free[k] / s->weight[pattern->col[k]]);
  }
  return largest > 0 ? largest : 1;
}

/* d of [W A'; A -damping], and the values at y + d; *ratio: decrease of |c|^2 over what the
 * linearised constraints promise. */
static vin_status restoring_trial(vin_minimiser *s, double *ratio) {
  *ratio = 0;
  memset(s->d, 0, (size_t)s->n * sizeof *s->d);
  for (vin_int i = 0; i < s->m; i++) s->right[i] = -s->c[i];
  VINI_TRY(vini_minimiser_factor_restoring(s, s->damping));
  VINI_TRY(solve(s, s->d, s->right));
  for (vin_int i = 0; i < s->n; i++) s->trial[i] = s->y[i] + s->d[i];
  VINI_TRY(evaluate_trial(s));
  memcpy(s->right, s->c, (size_t)s->m * sizeof *s->right);
  vini_minimiser_multiply(s, s->d, s->right);
  double before = norm2(s->c, s->m);
  double a = norm2(s->c_trial, s->m) / before, b = norm2(s->right, s->m) / before;
  *ratio = (1 - a) * (1 + a) / vini_max((1 - b) * (1 + b), DBL_MIN);
  return VIN_OK;
}

static vin_status restoring_step(vin_minimiser *s) {
  while (s->report.iterations < s->options.max_iterations) {
    double ratio;
    s->report.iterations++;
    s->report.restorations++;
    vin_status status = restoring_trial(s, &ratio);
    if (status < 0) return status;
    bool gained = status == VIN_OK && ratio >= LEAST_GAIN;
    if (gained && ratio > HIGH_GAIN) s->damping /= 10;
    if (s->damping < LEAST_DAMPING * s->damping_size) s->damping = 0;
    if (gained) {
      if (ratio < LOW_GAIN) s->damping *= 4;
      accept(s);
      return VIN_OK;
    }
    s->damping = s->damping > 0 ? 10 * s->damping : FIRST_DAMPING * s->damping_size;
    s->stationary = s->damping > LARGEST_DAMPING * s->damping_size;
    if (s->stationary) return VIN_OK;
  }
  return VIN_OK;
}

/* Reaches the constraints, a stationary point of |c|, or the limit of iterations. */
static vin_status restore(vin_minimiser *s) {
  s->damping = 0;
  s->damping_size = damping_size(s);
  for (;;) {
    bool limit = s->report.iterations >= s->options.max_iterations;
    if (vini_minimiser_feasible(s, 1)) break;
    s->stationary = slope_of_squares(s) <= (limit ? NEARLY_STATIONARY : STATIONARY);
    if (s->stationary || limit) break;
    double before = norm2(s->c, s->m);
    VINI_TRY(restoring_step(s));
    VINI_TRY(vini_minimiser_derivatives(s));
    if (s->stationary) break;
    if (norm2(s->c, s->m) == before) { /* rounding */
      s->stationary =
          !vini_minimiser_feasible(s, FLOOR_SLACK) && slope_of_squares(s) <= NEARLY_STATIONARY;
      break;
    }
  }
  memset(s->nu, 0, (size_t)s->m * sizeof *s->nu);
  memset(s->lambda, 0, (size_t)s->m * sizeof *s->lambda);
  return VIN_OK;
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* H may be so nearly singular along the constraints that d is too long: raises the shift. */
static bool lift(vin_minimiser *s) {
  double size = s->h_size > 0 ? s->h_size : 1;
  s->shift = vini_max(STUCK_GROWTH * s->shift, FIRST_SHIFT * size);
  return s->shift <= LARGEST_SHIFT * size;
}

/* Iterates until the conditions hold or nothing more can be gained; *done: the former. */
static vin_status iterate(vin_minimiser *s, bool *done) {
  int poor = 0;
  *done = false;
  for (;;) {
    VINI_TRY(vini_minimiser_derivatives(s));
    s->report.stationarity = stationarity(s);
    *done = vini_minimiser_settled(s) && s->report.stationarity <= s->options.gradient_tolerance;
    if (*done) return VIN_OK;
    if (s->report.iterations >= s->options.max_iterations) {
      s->stationary =
          !vini_minimiser_feasible(s, FLOOR_SLACK) && slope_of_squares(s) <= NEARLY_STATIONARY;
      return VIN_OK;
    }
    s->report.iterations++;
    VINI_TRY(direction(s));
    double reach = vini_max_abs(s->d, s->n), size = vini_max_abs(s->y, s->n);
    if (reach <= 4 * DBL_EPSILON * size && vini_minimiser_feasible(s, FLOOR_SLACK)) {
      *done = true;
      s->report.stationarity = stationarity(s);
      return VIN_OK;
    }
    bool stuck;
    double before = norm2(s->c, s->m);
    VINI_TRY(line_search(s, &stuck));
    poor =
        vini_minimiser_feasible(s, 1) || norm2(s->c, s->m) < POOR_PROGRESS * before ? 0 : poor + 1;
    if (!stuck && poor < PATIENCE) continue;
    if (vini_minimiser_feasible(s, 1)) {
      if (!lift(s)) return VIN_OK;
      continue;
    }
    poor = 0;
    VINI_TRY(restore(s));
    if (s->stationary) return VIN_OK;
    if (!vini_minimiser_feasible(s, 1)) s->report.iterations = s->options.max_iterations;
  }
}

static void fill_report(vin_minimiser *s, vin_minimise_report *r) {
  r->objective = s->value;
  r->worst = -1;
  for (vin_int i = 0; i < s->m; i++) {
    if (r->worst >= 0 && !(fabs(s->c[i]) > r->constraint_after)) continue;
    r->constraint_after = fabs(s->c[i]);
    r->worst = i;
  }
  if (r->worst >= 0) {
    vini_minimiser_constraint_name(s, r->worst, r->worst_name, sizeof r->worst_name);
  }
  for (vin_int i = 0; i < s->n; i++) {
    r->correction = vini_max(r->correction, fabs(s->y[i] - s->start[i]));
  }
  r->dropped = vin_kkt_dropped(s->kkt, NULL);
}

/* A constraint that is off and has no free unknown in it, else -1. */
static vin_int without_freedom(const vin_minimiser *s) {
  const vin_triplets *pattern = &s->desc.jacobian_pattern;
  double *entry = s->right;
  memset(entry, 0, (size_t)s->m * sizeof *entry);
  for (vin_int k = 0; k < pattern->count; k++) {
    entry[pattern->row[k]] = vini_max(entry[pattern->row[k]], fabs(s->a_free[k]));
  }
  for (vin_int i = 0; i < s->m; i++) {
    bool off = fabs(s->c[i]) > vini_max(s->options.constraint_tolerance, FLOOR_SLACK * s->floor[i]);
    if (off && entry[i] == 0) return i;
  }
  return -1;
}

static vin_status conclude(vin_minimiser *s, bool done) {
  const vin_minimise_report *r = &s->report;
  if (done) return VIN_OK;
  if (vini_minimiser_feasible(s, FLOOR_SLACK) && !s->stationary &&
      r->stationarity <= GRADIENT_SLACK * s->options.gradient_tolerance) {
    return VIN_OK;
  }
  if (s->stationary) {
    char name[96];
    vin_int row = without_freedom(s);
    if (row >= 0) {
      vini_minimiser_constraint_name(s, row, name, sizeof name);
      return vini_fail(&s->object, VIN_INFEASIBLE,
                       "%s cannot be met by the free unknowns: it is off by %.6g, and all unknowns "
                       "in it are fixed or without effect",
                       name, s->c[row]);
    }
    return vini_fail(&s->object, VIN_INFEASIBLE,
                     "the constraints can't be satisfied near the start by the %d free of %d "
                     "unknowns: %s is off by %.6g after %d iterations",
                     (int)s->free, (int)s->n, r->worst_name, r->constraint_after, r->iterations);
  }
  return vini_fail(&s->object, VIN_NOT_CONVERGED,
                   "the minimisation stopped after %d iterations with max |c| = %.3g (%s) and a "
                   "relative gradient of %.3g",
                   r->iterations, r->constraint_after, r->worst >= 0 ? r->worst_name : "none",
                   r->stationarity);
}

static vin_status run(vin_minimiser *s) {
  bool done = false;
  VINI_TRY(vini_minimiser_value(s, s->y, &s->value));
  VINI_TRY(vini_minimiser_constraint(s, s->y, s->c));
  s->report.constraint_before = vini_max_abs(s->c, s->m);
  vin_status status = iterate(s, &done);
  fill_report(s, &s->report);
  return status == VIN_OK ? conclude(s, done) : status;
}

vin_status vin_minimiser_solve(vin_minimiser *self, double *y, double *lambda,
                               vin_minimise_report *report) {
  if (report != NULL) memset(report, 0, sizeof *report);
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  if (y == NULL) return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "y is NULL");
  int64_t bad = vini_first_nonfinite(y, self->n);
  if (bad >= 0) {
    char name[96];
    vini_minimiser_unknown_name(self, (vin_int)bad, name, sizeof name);
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the start is %g for %s", y[bad], name);
  }
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memset(&self->report, 0, sizeof self->report);
  self->report.free = self->free;
  self->report.worst = -1;
  self->stationary = false;
  self->polished = 0;
  self->shift = 0;
  memcpy(self->start, y, n * sizeof *y);
  memcpy(self->y, y, n * sizeof *y);
  memset(self->lambda, 0, m * sizeof *self->lambda);
  memset(self->nu, 0, m * sizeof *self->nu);
  vin_status status = run(self);
  if (report != NULL) *report = self->report;
  if (status != VIN_OK) return status;
  memcpy(y, self->y, n * sizeof *y);
  if (lambda != NULL) memcpy(lambda, self->lambda, m * sizeof *lambda);
  return VIN_OK;
}

vin_status vin_minimise(const vin_minimise_desc *desc, const vin_minimise_options *options,
                        double *y, double *lambda, vin_minimise_report *report, char *text,
                        size_t text_size) {
  vin_minimiser *minimiser = NULL;
  if (report != NULL) memset(report, 0, sizeof *report);
  if (text != NULL && text_size > 0) text[0] = '\0';
  vin_status status = vin_minimiser_create(&minimiser, NULL, desc, options);
  if (status == VIN_OK) status = vin_minimiser_solve(minimiser, y, lambda, report);
  if (status != VIN_OK)
    vini_fail_text(text, text_size, status, "%s", vin_minimiser_error(minimiser));
  vin_minimiser_destroy(minimiser);
  return status;
}
