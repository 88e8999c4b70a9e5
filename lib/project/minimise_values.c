/* The minimiser's evaluations and its saddle point [F'' + sum lambda_i c_i''  A'; A  0]. Fixed
 * unknowns keep their place with an own row [1] and no coupling, so that the pattern stays. */
#include "project/minimise.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

static vin_status check(vin_minimiser *self, const char *what, int code, const double *x,
                        int64_t count) {
  vini_object *object = &self->object;
  if (code > 0) return vini_fail(object, VIN_RETRY, "the %s callback gave up (%d)", what, code);
  if (code < 0)
    return vini_fail(object, VIN_ERR_CALLBACK, "the %s callback failed (%d)", what, code);
  int64_t bad = vini_first_nonfinite(x, count);
  if (bad < 0) return VIN_OK;
  return vini_fail(object, VIN_RETRY, "the %s callback gave %g for entry %lld", what, x[bad],
                   (long long)bad);
}

vin_status vini_minimiser_value(vin_minimiser *self, const double *y, double *value) {
  const vin_minimise_desc *desc = &self->desc;
  if (desc->objective != NULL) {
    return check(self, "objective", desc->objective(desc->user, y, value), value, 1);
  }
  double sum = 0;
  for (vin_int i = 0; i < self->n; i++) {
    double away = y[i] - self->start[i];
    sum += self->weight[i] * away * away;
  }
  *value = 0.5 * sum;
  return VIN_OK;
}

vin_status vini_minimiser_constraint(vin_minimiser *self, const double *y, double *c) {
  const vin_minimise_desc *desc = &self->desc;
  if (self->m == 0) return VIN_OK;
  return check(self, "constraint", desc->constraint(desc->user, y, c), c, self->m);
}

static vin_status gradient(vin_minimiser *self) {
  const vin_minimise_desc *desc = &self->desc;
  double *g = self->gradient;
  if (desc->objective != NULL) {
    VINI_TRY(check(self, "gradient", desc->gradient(desc->user, self->y, g), g, self->n));
  }
  for (vin_int i = 0; i < self->n; i++) {
    if (desc->objective == NULL) g[i] = self->weight[i] * (self->y[i] - self->start[i]);
    if (self->fixed[i]) g[i] = 0;
  }
  return VIN_OK;
}

vin_status vini_minimiser_derivatives(vin_minimiser *self) {
  const vin_minimise_desc *desc = &self->desc;
  const vin_triplets *pattern = &desc->jacobian_pattern;
  VINI_TRY(gradient(self));
  if (self->m == 0) return VIN_OK;
  VINI_TRY(check(self, "jacobian", desc->jacobian(desc->user, self->y, self->a), self->a,
                 pattern->count));
  memset(self->floor, 0, (size_t)self->m * sizeof *self->floor);
  memset(self->size, 0, (size_t)self->m * sizeof *self->size);
  for (vin_int k = 0; k < pattern->count; k++) {
    vin_int j = pattern->col[k];
    self->floor[pattern->row[k]] += 4 * DBL_EPSILON * fabs(self->a[k] * self->y[j]);
    double most = vini_max(fabs(self->y[j]), fabs(self->start[j]));
    self->size[pattern->row[k]] += fabs(self->a[k]) * most;
    self->a_free[k] = self->fixed[j] ? 0 : self->a[k];
  }
  return VIN_OK;
}

bool vini_minimiser_feasible(const vin_minimiser *self, double slack) {
  for (vin_int i = 0; i < self->m; i++) {
    double limit = vini_max(self->options.constraint_tolerance, slack * self->floor[i]);
    if (!(fabs(self->c[i]) <= limit)) return false;
  }
  return true;
}

bool vini_minimiser_settled(vin_minimiser *self) {
  if (!vini_minimiser_feasible(self, 1)) return false;
  if (self->polished >= VINI_POLISHES) return true;
  for (vin_int i = 0; i < self->m; i++) {
    double scale = vini_min(1, VINI_SHARPNESS * self->size[i]);
    double limit = vini_max(self->options.constraint_tolerance * scale, self->floor[i]);
    if (fabs(self->c[i]) <= limit) continue;
    self->polished++;
    return false;
  }
  return true;
}

vin_status vini_minimiser_hessian(vin_minimiser *self) {
  const vin_minimise_desc *desc = &self->desc;
  vin_int first = desc->hessian_pattern.count, second = first + desc->second_pattern.count;
  double *h = self->h;
  if (first > 0) VINI_TRY(check(self, "hessian", desc->hessian(desc->user, self->y, h), h, first));
  if (second > first) {
    int code = desc->second(desc->user, self->y, self->lambda, h + first);
    VINI_TRY(check(self, "second", code, h + first, second - first));
  }
  for (vin_int k = 0; k < second; k++) {
    if (self->fixed[self->h_row[k]] || self->fixed[self->h_col[k]]) h[k] = 0;
  }
  for (vin_int i = 0; i < self->n; i++) {
    h[second + i] = self->fixed[i] ? 1 : desc->objective == NULL ? self->weight[i] : 0;
  }
  self->h_size = vini_max_abs(h, self->h_count);
  return VIN_OK;
}

double vini_minimiser_curvature(const vin_minimiser *self, const double *x, double *size) {
  double sum = 0, all = 0;
  for (vin_int k = 0; k < self->h_count; k++) {
    vin_int i = self->h_row[k], j = self->h_col[k];
    double term = (i == j ? 1 : 2) * self->h[k] * x[i] * x[j];
    sum += term;
    all += fabs(term);
  }
  *size = all;
  return sum;
}

static vin_status factor(vin_minimiser *self, double damping) {
  for (vin_int i = 0; i < self->m; i++) self->compliance[i] = damping;
  vin_status status = vini_kkt_factor_finite(self->kkt, self->h, self->a_free, self->compliance);
  if (status != VIN_OK) return vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
  return VIN_OK;
}

vin_status vini_minimiser_factor(vin_minimiser *self, double shift) {
  double *diagonal = self->h + self->h_count - self->n;
  for (vin_int i = 0; i < self->n; i++) diagonal[i] += self->fixed[i] ? 0 : shift;
  return factor(self, 0);
}

vin_status vini_minimiser_factor_restoring(vin_minimiser *self, double damping) {
  vin_int rest = self->h_count - self->n;
  memset(self->h, 0, (size_t)rest * sizeof *self->h);
  memcpy(self->h + rest, self->weight, (size_t)self->n * sizeof *self->h);
  return factor(self, damping);
}

void vini_minimiser_multiply(const vin_minimiser *self, const double *x, double *y) {
  const vin_triplets *pattern = &self->desc.jacobian_pattern;
  for (vin_int k = 0; k < pattern->count; k++) {
    y[pattern->row[k]] += self->a_free[k] * x[pattern->col[k]];
  }
}

void vini_minimiser_transposed(const vin_minimiser *self, const double *x, double *y,
                               double *size) {
  const vin_triplets *pattern = &self->desc.jacobian_pattern;
  memset(y, 0, (size_t)self->n * sizeof *y);
  memset(size, 0, (size_t)self->n * sizeof *size);
  for (vin_int k = 0; k < pattern->count; k++) {
    double term = self->a_free[k] * x[pattern->row[k]];
    y[pattern->col[k]] += term;
    size[pattern->col[k]] += fabs(term);
  }
}
