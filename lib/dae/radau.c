/* dae - Radau IIA with three stages, order 5 (Hairer, Wanner: Solving Ordinary Differential Equations
 * II, chapters IV.8 and VII.4). Stage increments Z_i = Y_i - y solve (theory (R1), (R4))
 *
 *     B (A^-1 Z)_i / h = f(t + c_i h, y + Z_i)
 *
 * in the variables W = T^-1 Z, in which Newton's matrix falls into a real and a complex block. */
#include "dae/dae_integrator.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double safety = 0.9;
/* Limits of the change of a step: down to 1/5, up to 8 times. */
static const double least_factor = 0.2, most_factor = 8;
/* A step longer by less than this is not worth two factorisations. */
static const double keep_above = 1.0, keep_below = 1.2;
/* Below this contraction the Jacobian serves another step. */
static const double good_contraction = 1e-3;

/* x := M w for a 3 x 3 matrix on blocks of n. */
static void transform(vin_int n, const double m[3][3], const double *w, double *x) {
  for (vin_int i = 0; i < n; i++) {
    double a = w[i], b = w[n + i], c = w[2 * n + i];
    x[i] = m[0][0] * a + m[0][1] * b + m[0][2] * c;
    x[n + i] = m[1][0] * a + m[1][1] * b + m[1][2] * c;
    x[2 * n + i] = m[2][0] * a + m[2][1] * b + m[2][2] * c;
  }
}

/* The collocation polynomial of the last step, Newton's form on 0, c1 - 1, c2 - 1, -1 (in steps after
 * its end). */
static void polynomial(const vin_dae_integrator *self, double s, double *y) {
  vin_int n = self->n;
  const double *d = self->dense, *c = self->tableau.c;
  for (vin_int i = 0; i < n; i++) {
    double inner = d[2 * n + i] + (s - c[0] + 1) * d[3 * n + i];
    y[i] = d[i] + s * (d[n + i] + (s - c[1] + 1) * inner);
  }
}

/* Stage values of the step from the last polynomial, continued; zero at the beginning. */
static void predict(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  if (self->first || self->h_last == 0) {
    memset(self->z, 0, 3 * (size_t)n * sizeof *self->z);
    memset(self->w, 0, 3 * (size_t)n * sizeof *self->w);
    return;
  }
  for (int stage = 0; stage < 3; stage++) {
    double *z = self->z + stage * n;
    polynomial(self, self->tableau.c[stage] * h / self->h_last, z);
    for (vin_int i = 0; i < n; i++) z[i] -= self->y[i];
  }
  transform(n, self->tableau.ti, self->z, self->w);
}

static vin_status stages(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  for (int stage = 0; stage < 3; stage++) {
    const double *z = self->z + stage * n;
    for (vin_int i = 0; i < n; i++) self->y_new[i] = self->y[i] + z[i];
    VINI_TRY(vini_dae_integrator_f(self, self->tau + self->tableau.c[stage] * h, self->y_new,
                                   self->fs + stage * n));
  }
  return VIN_OK;
}

/* rhs := T^-1 F - (Lambda / h) B W, then the corrections of W in its place; theory (R4). */
static vin_status correct(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  const vini_radau_tableau *a = &self->tableau;
  double *r = self->rhs, *w = self->w, *scaled = self->work1;
  VINI_TRY(stages(self, h));
  transform(n, a->ti, self->fs, r);
  vini_iteration_mass(self, -a->gamma / h, w, r);
  for (vin_int i = 0; i < n; i++) {
    scaled[i] = a->alpha * w[n + i] - a->beta * w[2 * n + i];
  }
  vini_iteration_mass(self, -1 / h, scaled, r + n);
  for (vin_int i = 0; i < n; i++) {
    scaled[i] = a->beta * w[n + i] + a->alpha * w[2 * n + i];
  }
  vini_iteration_mass(self, -1 / h, scaled, r + 2 * n);
  VINI_TRY(vini_iteration_solve_real(self, r));
  return vini_iteration_solve_pair(self, r + n);
}

/* Whether the iteration can still come below the tolerance in what is left of its budget; sets the
 * factor for a shorter step where it cannot. */
static bool may_converge(vin_dae_integrator *self, double contraction, double size, int left) {
  if (!(contraction < 0.99)) {
    self->shrink = 0.5;
    return false;
  }
  double predicted =
      contraction / (1 - contraction) * size * pow(contraction, left) / self->newton_tolerance;
  if (predicted < 1) return true;
  double excess = vini_max(1e-4, vini_min(20, predicted));
  self->shrink = 0.8 * pow(excess, -1.0 / (4 + left));
  return false;
}

static vini_outcome newton(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  int limit = self->options.max_newton;
  double last_size = 0, last_ratio = 0, reserve = self->contraction_reserve;
  reserve = pow(vini_max(reserve, DBL_EPSILON), 0.8);
  self->contraction = good_contraction;
  for (int k = 0; k < limit; k++) {
    self->newton_count = k + 1;
    vin_status status = correct(self, h);
    if (status != VIN_OK) return vini_iteration_outcome(self, status);
    double size = vini_dae_integrator_norm(self, h, 3, self->rhs);
    if (!isfinite(size)) return VINI_OUTCOME_NEWTON;
    if (k > 0) {
      double ratio = size / last_size;
      self->contraction = k == 1 ? ratio : sqrt(ratio * last_ratio);
      last_ratio = ratio;
      if (k < limit - 1 && !may_converge(self, self->contraction, size, limit - 2 - k)) {
        return VINI_OUTCOME_NEWTON;
      }
      reserve = self->contraction / (1 - self->contraction);
    }
    last_size = vini_max(size, DBL_MIN);
    for (vin_int i = 0; i < 3 * n; i++) self->w[i] += self->rhs[i];
    transform(n, self->tableau.t, self->w, self->z);
    if (self->contraction < 0.99 && reserve * size <= self->newton_tolerance) {
      self->contraction_reserve = reserve;
      return VINI_OUTCOME_DONE;
    }
  }
  return VINI_OUTCOME_NEWTON;
}

/* theory (R6): (gamma/h B - J) err = f(t, y) + B (e1 Z1 + e2 Z2 + e3 Z3) / h; a large estimate at the
 * beginning or after a rejection is filtered once more, with f(t, y + err). */
static vin_status estimate(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  const double *e = self->tableau.e, *z = self->z;
  double *known = self->rhs, *sum = self->work1;
  for (vin_int i = 0; i < n; i++) {
    sum[i] = (e[0] * z[i] + e[1] * z[n + i] + e[2] * z[2 * n + i]) / h;
    known[i] = 0;
  }
  vini_iteration_mass(self, 1, sum, known);
  for (vin_int i = 0; i < n; i++) self->estimate[i] = known[i] + self->f0[i];
  VINI_TRY(vini_iteration_solve_real(self, self->estimate));
  self->error = vini_dae_integrator_norm(self, h, 1, self->estimate);
  if (self->error < 1 || !(self->first || self->after_rejection)) return VIN_OK;
  for (vin_int i = 0; i < n; i++) sum[i] = self->y[i] + self->estimate[i];
  double *f = self->fs; /* no longer needed */
  vin_status status = vini_dae_integrator_f(self, self->tau, sum, f);
  if (status != VIN_OK) return status > 0 ? VIN_OK : status; /* then the first estimate stays */
  for (vin_int i = 0; i < n; i++) self->estimate[i] = known[i] + f[i];
  VINI_TRY(vini_iteration_solve_real(self, self->estimate));
  self->error = vini_dae_integrator_norm(self, h, 1, self->estimate);
  return VIN_OK;
}

static vini_outcome attempt(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  const vini_radau_tableau *a = &self->tableau;
  self->shrink = 0.5;
  self->order = 5;
  vin_status status = VIN_OK;
  if (!self->jacobian_known) status = vini_iteration_jacobian(self);
  /* what a rate of the last matrix says about the first correction by a new one is not enough for
     index 3: the residuals of position constraints that it left would swamp the next estimates */
  if (self->real_factor != a->gamma / h) self->contraction_reserve = 1;
  if (status == VIN_OK) status = vini_iteration_real(self, h, a->gamma);
  if (status == VIN_OK) status = vini_iteration_pair(self, h, a->alpha, a->beta);
  if (status != VIN_OK) return vini_iteration_outcome(self, status);
  predict(self, h);
  vini_outcome outcome = newton(self, h);
  if (outcome != VINI_OUTCOME_DONE) return outcome;
  status = estimate(self, h);
  if (status != VIN_OK) return vini_iteration_outcome(self, status);
  self->error = vini_max(self->error, 1e-10);
  for (vin_int i = 0; i < n; i++) self->y_new[i] = self->y[i] + self->z[2 * n + i];
  return VINI_OUTCOME_DONE;
}

/* theory (R7): the more iterations Newton needed, the more careful. */
static double step_factor(const vin_dae_integrator *self) {
  int limit = self->options.max_newton;
  double careful = safety * (1 + 2 * limit) / (self->newton_count + 2 * limit);
  double factor = vini_min(safety, careful) * pow(self->error, -0.25);
  return vini_max(least_factor, vini_min(most_factor, factor));
}

static void keep_polynomial(vin_dae_integrator *self) {
  vin_int n = self->n;
  const double *c = self->tableau.c, *z = self->z;
  double *d = self->dense;
  for (vin_int i = 0; i < n; i++) {
    double z1 = z[i], z2 = z[n + i], z3 = z[2 * n + i];
    double late = (z3 - z2) / (1 - c[1]), middle = (z2 - z1) / (c[1] - c[0]);
    double early = (middle - z1 / c[0]) / c[1]; /* on c2, c1, 0 */
    d[i] = self->y_new[i];
    d[n + i] = late;
    d[2 * n + i] = (late - middle) / (1 - c[0]);
    d[3 * n + i] = d[2 * n + i] - early;
  }
}

static double accept(vin_dae_integrator *self, double h) {
  double factor = step_factor(self);
  if (self->h_accepted != 0) { /* theory (R8), of the last two steps */
    double predicted = fabs(h / self->h_accepted) * safety *
                       pow(self->error_accepted / (self->error * self->error), 0.25);
    factor = vini_min(factor, vini_max(least_factor, vini_min(most_factor, predicted)));
  }
  self->h_accepted = h;
  self->error_accepted = vini_max(1e-2, self->error);
  if (self->after_rejection) factor = vini_min(factor, 1);
  keep_polynomial(self);
  self->jacobian_current = false;
  if (self->contraction > good_contraction) {
    self->jacobian_known = false;
  } else if (factor >= keep_above && factor <= keep_below) {
    factor = 1;
  }
  return factor;
}

static double reject(vin_dae_integrator *self, double h) {
  (void)h;
  return self->first ? 0.1 : vini_min(0.9, step_factor(self));
}

static void restart(vin_dae_integrator *self) {
  self->h_accepted = 0;
  self->contraction_reserve = 1;
}

/* The last stage is y_new. */
static void shift(vin_dae_integrator *self, const double *change) {
  for (vin_int i = 0; i < self->n; i++) self->z[2 * self->n + i] += change[i];
}

const vini_dae_method vini_radau_method = {"radau", 7,       attempt, accept,
                                           reject,  restart, shift,   polynomial};
