/* dae - the step around the method: attempts until one is accepted, limits, reasons of failure. */
#include "dae/dae_integrator.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The shortest step, in roundings of t. */
static const double least_roundings = 16, least_part = 1e-8;
/* A step that ends this close to the limit, in steps, ends on it. */
static const double near_limit = 1.1, near_limit_fixed = 1 + 1e-9;

/* Failures of Newton's iteration in a row before a Jacobian is taken ahead, and how often it is
 * for one step. */
static const int patience = 3, most_ahead = 4;

vin_status vini_dae_integrator_f(vin_dae_integrator *self, double tau, const double *y, double *f) {
  double t = self->t_start + tau;
  if (!vini_dae_inside(self->dae, t, y)) {
    return vini_fail(&self->object, VIN_RETRY, "a trial point leaves the domain at t = %.15g", t);
  }
  return vini_dae_function(&self->work, t, y, f);
}

void vini_dae_integrator_weigh(vin_dae_integrator *self, const double *y) {
  for (vin_int i = 0; i < self->n; i++) {
    self->weight[i] = 1 / (self->absolute[i] + self->relative[i] * fabs(y[i]));
  }
}

/* theory (R5) */
double vini_dae_integrator_norm(const vin_dae_integrator *self, double h, int blocks,
                                const double *x) {
  double share = vini_min(1, fabs(h) / self->options.time_scale), sum = 0;
  const double factor[4] = {1, 1, share, share * share};
  for (int block = 0; block < blocks; block++, x += self->n) {
    for (vin_int i = 0; i < self->n; i++) {
      double e = x[i] * self->weight[i] * factor[self->index[i]];
      sum += e * e;
    }
  }
  return sqrt(sum / ((double)blocks * self->n));
}

/* What made a series of attempts fail, for the text of the last one. */
typedef struct trouble {
  vini_outcome last;
  int attempts, estimates; /* in this call; those whose error was too large */
  int regular;             /* those with a regular matrix */
  int newton;              /* failures of Newton's iteration in a row */
  int ahead;               /* how often the Jacobian was taken ahead for this step */
  vin_int worst;           /* unknown of the largest share in the last error; -1: none */
  double h_first, h_last, share_first, share_last; /* that unknown's error in tolerances */
} trouble;

static void note_error(vin_dae_integrator *self, trouble *now, double h) {
  vin_int worst = 0;
  double largest = -1;
  for (vin_int i = 0; i < self->n; i++) {
    double share = fabs(self->estimate[i]) * self->weight[i];
    if (share > largest) largest = share, worst = i;
  }
  if (worst != now->worst) {
    now->worst = worst;
    now->h_first = h;
    now->share_first = largest;
  }
  now->h_last = h;
  now->share_last = largest;
  now->estimates++;
}

/* The step has become too short for the time: says why, as far as that can be known. */
static vin_status give_up(vin_dae_integrator *self, const trouble *now, double h) {
  vini_object *object = &self->object;
  char cause[VINI_TEXT_SIZE], name[96] = "";
  snprintf(cause, sizeof cause, "%s", vini_text(object));
  if (now->last == VINI_OUTCOME_SINGULAR && now->regular == 0) {
    return vini_fail(object, VIN_SINGULAR,
                     "t = %.15g: no step down to %.1e s has a regular iteration matrix: equations "
                     "that depend on each other, or an unknown that is in none (%s)",
                     self->t, h, cause);
  }
  if (now->last == VINI_OUTCOME_RETRY) {
    return vini_fail(object, VIN_RETRY, "t = %.15g: refused down to steps of %.1e s: %s", self->t,
                     h, cause);
  }
  bool no_help = now->estimates > 1 && fabs(now->h_last) < 0.5 * fabs(now->h_first) &&
                 now->share_last > 0.5 * now->share_first;
  if (now->worst >= 0) vin_dae_unknown_name(self->dae, now->worst, name, sizeof name);
  if (!no_help && (now->last == VINI_OUTCOME_NEWTON || now->last == VINI_OUTCOME_SINGULAR)) {
    return vini_fail(object, VIN_STEP_FAILED,
                     "t = %.15g: Newton's iteration does not converge down to steps of %.1e s: a "
                     "wrong Jacobian, a jump of f, an inconsistent start, or an index higher than "
                     "declared (%d)",
                     self->t, h, (int)self->dae->index);
  }
  if (no_help) {
    return vini_fail(
        object, VIN_STEP_FAILED,
        "t = %.15g: the error of %s, declared with index %d, is %.1e tolerances with "
        "a step of %.1e s and %.1e with %.1e s, so that shorter steps do not help: its "
        "index is higher, the start is inconsistent, or f jumps",
        self->t, name, (int)self->index[now->worst], now->share_first, now->h_first,
        now->share_last, now->h_last);
  }
  return vini_fail(
      object, VIN_STEP_FAILED,
      "t = %.15g: a step of %.1e s would be too short for the precision of the time; "
      "the largest error is that of %s: the tolerances are too strict, or the solution "
      "ends here",
      self->t, h, now->worst >= 0 ? name : "none");
}

/* At t = 0 a small part of the time scale stands for the size of t. */
static double shortest(const vin_dae_integrator *self) {
  double size = vini_max(fabs(self->t), fabs(self->t_start));
  size = vini_max(size, least_part * self->options.time_scale);
  return least_roundings * DBL_EPSILON * size;
}

/* Length of the next attempt; *lands: it ends on the limit. */
static double length(const vin_dae_integrator *self, double remaining, bool *lands) {
  double h = fabs(self->h_next), most = self->options.max_step, rest = fabs(remaining);
  bool fixed = self->options.fixed_step > 0;
  if (most > 0) h = vini_min(h, most);
  *lands = rest <= h * (fixed ? near_limit_fixed : near_limit);
  if (*lands && (fixed || !(most > 0) || rest <= most)) return remaining;
  *lands = false;
  if (!fixed && rest < 2 * h) h = rest / 2; /* two equal steps instead of a long and a tiny one */
  return remaining < 0 ? -h : h;
}

static vin_status accept(vin_dae_integrator *self, double h, bool lands, double t_limit) {
  double tau = lands ? t_limit - self->t_start : self->tau + h;
  double factor = self->method->accept(self, h);
  double wanted = fabs(self->h_next);
  memcpy(self->y, self->y_new, (size_t)self->n * sizeof *self->y);
  self->tau = tau;
  self->t = lands ? t_limit : self->t_start + tau;
  self->h_last = h;
  /* a step cut short by the limit says little about the next one: not below what was planned */
  self->h_next = fabs(h) * factor;
  if (self->options.fixed_step > 0)
    self->h_next = self->options.fixed_step;
  else if (lands && factor >= 1)
    self->h_next = vini_max(self->h_next, wanted);
  self->first = false;
  self->after_rejection = false;
  self->rejections = 0;
  self->f0_known = false;
  vini_dae_integrator_weigh(self, self->y);
  self->stats.steps++;
  return VIN_OK;
}

void vini_dae_integrator_correct(vin_dae_integrator *self, vini_dae_correction correction,
                                 void *user) {
  self->correction = correction;
  self->correction_user = user;
}

/* y_new := the corrected state; on failure the attempt has failed. */
static vini_outcome correct(vin_dae_integrator *self, double t) {
  if (self->correction == NULL) return VINI_OUTCOME_DONE;
  const char *text = "";
  double *change = self->rhs; /* no longer needed */
  memcpy(change, self->y_new, (size_t)self->n * sizeof *change);
  self->status = self->correction(self->correction_user, t, self->y_new, &text);
  if (self->status != VIN_OK) {
    vini_fail(&self->object, self->status, "%s", text);
    return self->status > 0 ? VINI_OUTCOME_RETRY : VINI_OUTCOME_FATAL;
  }
  for (vin_int i = 0; i < self->n; i++) change[i] = self->y_new[i] - change[i];
  self->method->shift(self, change);
  return VINI_OUTCOME_DONE;
}

/* Across a kink of f no step is short enough for the Jacobian of this side. After a few shorter ones,
 * that of the point where Newton's iteration stopped is tried, for the same step. */
static bool look_ahead(vin_dae_integrator *self, trouble *now, vini_outcome outcome, double h) {
  now->newton = outcome == VINI_OUTCOME_NEWTON ? now->newton + 1 : 0;
  bool wanted = now->ahead < most_ahead && now->newton >= patience;
  if (now->ahead > 0) self->jacobian_known = false; /* back to that of the state */
  if (!wanted || vini_first_nonfinite(self->y_new, self->n) >= 0 ||
      !vini_dae_inside(self->dae, self->t + h, self->y_new) ||
      vini_iteration_jacobian_at(self, self->tau + h, self->y_new) != VIN_OK) {
    now->ahead = 0;
    return false;
  }
  now->ahead++;
  return true;
}

/* Reacts to an attempt that failed; returns the status to stop with, or VIN_OK to go on. */
static vin_status failed(vin_dae_integrator *self, trouble *now, vini_outcome outcome, double h) {
  self->stats.failures++;
  if (outcome == VINI_OUTCOME_NEWTON && !self->jacobian_current && now->ahead == 0) {
    self->jacobian_known = false; /* the same step again, with a new Jacobian */
    return VIN_OK;
  }
  if (look_ahead(self, now, outcome, h)) return VIN_OK;
  if (self->options.fixed_step > 0) {
    vin_status status = outcome == VINI_OUTCOME_SINGULAR ? VIN_SINGULAR
                        : outcome == VINI_OUTCOME_RETRY  ? VIN_RETRY
                                                         : VIN_STEP_FAILED;
    if (outcome != VINI_OUTCOME_NEWTON) return status; /* the text is there */
    return vini_fail(&self->object, status,
                     "step of %g s at t = %.15g: Newton's iteration does not converge", h, self->t);
  }
  self->h_next = fabs(h) * vini_min(0.8, self->shrink);
  self->after_rejection = true;
  return VIN_OK;
}

/* One attempt and what follows from it; *accepted tells. */
static vin_status try_step(vin_dae_integrator *self, double t_limit, trouble *now, bool *accepted) {
  bool lands;
  double h = length(self, (t_limit - self->t_start) - self->tau, &lands);
  if (fabs(h) < shortest(self) && !lands) return give_up(self, now, h);
  if (fabs(h) < shortest(self) && now->attempts > 0) return give_up(self, now, h);
  now->attempts++;
  vini_outcome outcome = self->method->attempt(self, h);
  if (outcome == VINI_OUTCOME_DONE && !vini_dae_inside(self->dae, self->t + h, self->y_new)) {
    vini_fail(&self->object, VIN_RETRY, "the step leaves the domain");
    outcome = VINI_OUTCOME_RETRY;
  }
  now->last = outcome;
  if (outcome == VINI_OUTCOME_DONE || outcome == VINI_OUTCOME_NEWTON) now->regular++;
  if (outcome == VINI_OUTCOME_FATAL) return self->status;
  if (outcome != VINI_OUTCOME_DONE) return failed(self, now, outcome, h);
  if (self->error < 1 || self->options.fixed_step > 0) {
    outcome = correct(self, lands ? t_limit : self->t_start + (self->tau + h));
    if (outcome == VINI_OUTCOME_FATAL) return self->status;
    *accepted = outcome == VINI_OUTCOME_DONE;
    if (*accepted) return accept(self, h, lands, t_limit);
    now->last = outcome;
    return failed(self, now, outcome, h);
  }
  note_error(self, now, h);
  self->stats.rejected++;
  self->rejections++;
  self->h_next = fabs(h) * self->method->reject(self, h);
  self->after_rejection = true;
  if (!self->jacobian_current) self->jacobian_known = false;
  now->ahead = 0;
  return VIN_OK;
}

static vin_status check_limit(vin_dae_integrator *self, double t_limit) {
  if (!self->started) {
    return vini_fail(&self->object, VIN_ERR_BAD_STATE,
                     "there is no state: vin_dae_integrator_start() must succeed first");
  }
  if (isfinite(t_limit)) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the time to go to is %g", t_limit);
}

/* attempts: left, counted down. */
static vin_status step(vin_dae_integrator *self, double t_limit, int64_t *attempts) {
  bool accepted = false;
  double planned = self->h_next;
  trouble now = {.last = VINI_OUTCOME_DONE, .worst = -1};
  vin_status status = VIN_OK;
  if (!self->f0_known) {
    status = vini_dae_integrator_f(self, self->tau, self->y, self->f0);
    self->f0_known = status == VIN_OK;
  }
  while (status == VIN_OK && !accepted) {
    if ((*attempts)-- <= 0) {
      status = vini_fail(&self->object, VIN_NOT_CONVERGED,
                         "t = %.15g: %lld attempts were not enough to reach %.15g", self->t,
                         (long long)self->options.max_steps, t_limit);
    } else {
      status = try_step(self, t_limit, &now, &accepted);
    }
  }
  if (status != VIN_OK) self->h_next = planned;
  return status;
}

vin_status vin_dae_integrator_step(vin_dae_integrator *integrator, double t_limit) {
  VINI_TRY(vini_ready(integrator == NULL ? NULL : &integrator->object));
  VINI_TRY(check_limit(integrator, t_limit));
  int64_t attempts = integrator->options.max_steps;
  if (t_limit == integrator->t) {
    return vini_fail(&integrator->object, VIN_ERR_BAD_INPUT,
                     "the time to go to, %.17g, is the present one", t_limit);
  }
  return step(integrator, t_limit, &attempts);
}

vin_status vin_dae_integrator_run(vin_dae_integrator *integrator, double t_end) {
  VINI_TRY(vini_ready(integrator == NULL ? NULL : &integrator->object));
  VINI_TRY(check_limit(integrator, t_end));
  int64_t attempts = integrator->options.max_steps;
  while (integrator->t != t_end) VINI_TRY(step(integrator, t_end, &attempts));
  return VIN_OK;
}
