/* dae - times at which f jumps: steps end there, and what was before is forgotten. */
#include "dae/dae_integrator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What jumps at a break is found by Newton's iteration: corrections, until one is below this many
 * tolerances. */
enum { most_landings = 10 };
static const double landed = 0.03;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

vin_status vini_dae_integrator_breaks(vin_dae_integrator *self) {
  const vin_dae_integrator_options *o = &self->options;
  const double *given = o->breaks;
  self->options.breaks = NULL;
  if (o->break_count < 0 || (o->break_count > 0 && given == NULL)) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "break_count is %d%s", (int)o->break_count,
                     o->break_count < 0 ? ", must be >= 0" : ", but breaks is NULL");
  }
  int64_t bad = vini_first_nonfinite(given, o->break_count);
  if (bad >= 0) {
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT, "breaks[%lld] is %g", (long long)bad,
                     given[bad]);
  }
  if (o->break_count == 0) return VIN_OK;
  self->breaks =
      vini_copy(&self->object.context, given, (size_t)o->break_count, sizeof *self->breaks);
  if (self->breaks == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for %d breaks",
                     (int)o->break_count);
  }
  self->break_count = o->break_count;
  qsort(self->breaks, (size_t)self->break_count, sizeof *self->breaks, ascending);
  return VIN_OK;
}

static double next_break(const vin_dae_integrator *self, double t_limit) {
  vin_int low = 0, high = self->break_count; /* breaks[low ...] are above t */
  while (low < high) {
    vin_int middle = low + (high - low) / 2;
    if (self->breaks[middle] > self->t)
      high = middle;
    else
      low = middle + 1;
  }
  if (t_limit > self->t)
    return low < self->break_count ? vini_min(t_limit, self->breaks[low]) : t_limit;
  while (low > 0 && self->breaks[low - 1] == self->t) low--;
  return low > 0 ? vini_max(t_limit, self->breaks[low - 1]) : t_limit;
}

static bool is_break(const vin_dae_integrator *self, double t) {
  return self->break_count > 0 &&
         bsearch(&t, self->breaks, (size_t)self->break_count, sizeof t, ascending) != NULL;
}

bool vini_dae_integrator_on_break(const vin_dae_integrator *self) {
  return is_break(self, self->t);
}

double vini_dae_integrator_next_break(vin_dae_integrator *self, double t_limit) {
  if (self->break_count == 0) return t_limit;
  self->t_break = next_break(self, t_limit);
  self->t_inside = nextafter(self->t_break, self->t);
  self->capped = is_break(self, self->t_break);
  return self->t_break;
}

double vini_dae_integrator_time(const vin_dae_integrator *self, double tau) {
  double t = self->t_start + tau;
  if (!self->capped) return t;
  bool forward = self->t_inside < self->t_break;
  return (forward ? t >= self->t_break : t <= self->t_break) ? self->t_inside : t;
}

/* f of the new part: at the break itself it may still be that of the old one. */
static vin_status behind(vin_dae_integrator *self, double direction) {
  double t = nextafter(self->t, direction * HUGE_VAL);
  double tau = t - self->t_start; /* exact: both are neighbours */
  if (!self->implicit) {
    VINI_TRY(vini_dae_integrator_f(self, tau, self->y, self->f0));
    self->f0_known = true;
  }
  VINI_TRY(vini_iteration_jacobian_at(self, tau, self->y));
  self->jacobian_current = true;
  return VIN_OK;
}

vin_status vini_dae_integrator_renew(vin_dae_integrator *self, double direction) {
  self->capped = false;
  self->t_start = self->t;
  self->tau = 0;
  self->first = true;
  self->after_rejection = false;
  self->rejections = 0;
  if (self->implicit)
    memcpy(self->yp_new + (self->options.method == VIN_DAE_RADAU ? 2 * self->n : 0), self->yp,
           (size_t)self->n * sizeof *self->yp);
  for (int k = 0; k < most_landings; k++) {
    VINI_TRY(behind(self, direction));
    VINI_TRY(vini_dae_integrator_trial(self, direction, false));
    if (vini_dae_integrator_land(self) <= landed) break;
    vini_dae_integrator_weigh(self, self->y);
  }
  for (vin_int i = 0; self->implicit && i < self->n; i++) {
    if (self->estimate[i] != 0) self->yp[i] = self->estimate[i];
  }
  self->method->restart(self);
  self->at_break = false;
  self->stats.restarts++;
  return VIN_OK;
}
