/* dae - the start of an integration: is it consistent, how long is the first step? */
#include "dae/dae_integrator.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Length of the trial steps in time scales; the second is this much shorter. */
static const double trial_step = 1e-7, shorter = 0.1;
/* Corrections within this many tolerances are left to the first step. */
static const double allowed = 10;
/* Derivatives are not asked for more digits than this, whatever the tolerance. */
static const double rate_rounding = 1e-6;
/* First step: it moves y by this part of its size. */
static const double first_move = 0.01;
/* Either is at least so many roundings of t. */
static const double least_roundings = 16;

/* x := (B/h - J)^-1 f(t + h, y), the first Newton correction of an implicit Euler step: theory (R13) */
static vin_status trial(vin_dae_integrator *self, double h, double *x) {
  VINI_TRY(vini_iteration_real(self, h, 1));
  if (self->implicit) { /* (F_y'/h + F_y) x = -F(t + h, y + h y', y'): what is left of h y' */
    for (vin_int i = 0; i < self->n; i++) self->work1[i] = self->y[i] + h * self->yp[i];
    VINI_TRY(vini_dae_integrator_residual(self, h, self->work1, self->yp, x));
    return vini_iteration_solve_real(self, x);
  }
  VINI_TRY(vini_dae_integrator_f(self, h, self->y, x));
  return vini_iteration_solve_real(self, x);
}

/* The part of a correction that does not vanish with the step is the distance from the solutions;
 * the other is h y'. Noise (growing as h falls) is neither. */
static bool stays(double before, double after) {
  return fabs(after) > 0.5 * fabs(before) && fabs(after) < 2 * fabs(before);
}

static vin_status judge(vin_dae_integrator *self, const double *before, const double *after) {
  vin_int worst = -1;
  double largest = allowed;
  for (vin_int i = 0; i < self->n; i++) {
    bool judged = self->index[i] == 1 || self->index[i] < self->dae->index;
    double size = fabs(after[i]) * self->weight[i];
    if (!judged || !(size > largest) || !stays(before[i], after[i])) continue;
    largest = size;
    worst = i;
  }
  if (worst < 0) return VIN_OK;
  char name[96];
  vin_dae_unknown_name(self->dae, worst, name, sizeof name);
  return vini_fail(
      &self->object, VIN_ERR_BAD_INPUT,
      "start at t = %.15g: the values do not satisfy the equations without derivatives "
      "or the constraints hidden in them: %s is %g and would have to change by %.2e "
      "(%.1e tolerances); make the start consistent, or set check_start = 0",
      self->t, name, self->y[worst], after[worst], largest);
}

/* Derivatives of the general form with F(t, y, y') != 0: x / h with (F_y'/h + F_y) x = -F is what they
 * are off by. Those that F leaves open, as y' does where F_y' is singular, are not judged by it. */
static vin_status judge_rates(vin_dae_integrator *self, double h) {
  double *x = self->work1;
  memcpy(x, self->f0, (size_t)self->n * sizeof *x);
  VINI_TRY(vini_iteration_solve_real(self, x));
  vin_int worst = -1;
  double largest = allowed;
  for (vin_int i = 0; i < self->n; i++) {
    if (self->index[i] > 1 || !self->has_rate[i]) continue;
    double size = fabs(x[i] / h) * self->weight[i] * self->options.time_scale;
    if (!(size > largest) || fabs(x[i] / h) < rate_rounding * fabs(self->yp[i])) continue;
    largest = size;
    worst = i;
  }
  if (worst < 0) return VIN_OK;
  char name[96];
  vin_dae_unknown_name(self->dae, worst, name, sizeof name);
  return vini_fail(
      &self->object, VIN_ERR_BAD_INPUT,
      "start at t = %.15g: the derivatives do not satisfy the equations: that of %s is "
      "%g and would have to change by %.2e; vin_dae_initialise() finds some that do, or "
      "set check_start = 0",
      self->t, name, self->yp[worst], x[worst] / h);
}

/* estimate := y' as far as it is known, 0 elsewhere. */
static void rates(vin_dae_integrator *self, double h, const double *before, const double *after) {
  for (vin_int i = 0; i < self->n; i++) {
    bool known =
        self->index[i] == 1 && !stays(before[i], after[i]) && fabs(after[i]) <= 2 * fabs(before[i]);
    self->estimate[i] = known ? after[i] / h : 0;
    if (known && self->implicit) self->estimate[i] += self->yp[i];
  }
}

static double first_step(vin_dae_integrator *self) {
  if (self->options.fixed_step > 0) return self->options.fixed_step;
  if (self->options.initial_step > 0) return self->options.initial_step;
  double scale = self->options.time_scale, size = 0, rate = 0;
  for (vin_int i = 0; i < self->n; i++) {
    if (self->index[i] > 1) continue;
    size += pow(self->y[i] * self->weight[i], 2);
    rate += pow(self->estimate[i] * self->weight[i], 2);
  }
  double h = size > 0 && rate > 0 ? first_move * sqrt(size / rate) : scale;
  h = vini_min(h, 1e-3 * scale); /* y' may vanish at the start by chance */
  h = vini_max(h, least_roundings * DBL_EPSILON * fabs(self->t));
  return self->options.max_step > 0 ? vini_min(h, self->options.max_step) : h;
}

vin_status vini_dae_integrator_trial(vin_dae_integrator *self, double direction, bool judged) {
  double h = trial_step * self->options.time_scale;
  h = direction * vini_max(h, least_roundings * DBL_EPSILON * fabs(self->t));
  double *before = self->y_new, *after = self->rhs;
  VINI_TRY(vini_iteration_jacobian(self));
  vin_status status = trial(self, h, before);
  if (status == VIN_OK) status = trial(self, shorter * h, after);
  if (status < 0) return status;
  self->tried = status == VIN_OK;
  if (status > 0) { /* the steps themselves will find out; they may be luckier with their lengths */
    memset(self->estimate, 0, (size_t)self->n * sizeof *self->estimate);
  } else {
    rates(self, shorter * h, before, after);
    if (judged) VINI_TRY(judge(self, before, after));
    if (judged && self->implicit) VINI_TRY(judge_rates(self, shorter * h));
  }
  self->h_next = first_step(self);
  return VIN_OK;
}

double vini_dae_integrator_land(vin_dae_integrator *self) {
  const double *before = self->y_new, *after = self->rhs;
  double largest = 0;
  for (vin_int i = 0; self->tried && i < self->n; i++) {
    if (self->index[i] > 1 || !stays(before[i], after[i])) continue;
    if (!(fabs(after[i]) * self->weight[i] > allowed)) continue; /* left to the first step */
    self->y[i] += after[i];
    largest = vini_max(largest, fabs(after[i]) * self->weight[i]);
  }
  return largest;
}
