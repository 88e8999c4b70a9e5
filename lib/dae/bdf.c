/* dae - backward differentiation of order 1 to 5 in backward differences. Steps stay equal as long as
 * they are good; a change takes the interpolating polynomial to the new grid (Shampine, Reichelt: The
 * MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997), sections 2.1-2.2, with kappa = 0). */
#include "dae/dae_integrator.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TOP = VINI_BDF_ORDERS, ROWS = TOP + 3 };

static const double safety = 0.9;
static const double least_factor = 0.2, most_factor = 10;
/* A step longer by less than this is not worth a factorisation and the loss of equal steps. */
static const double keep_below = 1.2;
/* After so many rejections in a row the past is no guide: order 1. Not earlier: unknowns that amplify
 * others' errors make the first steps of a lower order look worse than they are. */
static const int lost = 8;

/* theory (R9): gamma_k = 1 + 1/2 + ... + 1/k */
static double gamma_of(int k) {
  double sum = 0;
  for (int j = 1; j <= k; j++) sum += 1.0 / j;
  return sum;
}

/* Column j of R: the values at -j r of the polynomials that multiply the differences (theory (R11)).
 */
static void grid(int k, double r, double m[TOP + 1][TOP + 1]) {
  for (int j = 0; j <= k; j++) {
    m[0][j] = 1;
    for (int i = 1; i <= k; i++) m[i][j] = m[i - 1][j] * (i - 1 - r * j) / i;
  }
}

/* Takes the differences from step h_history to h: D := (R(r) R(1))' D. */
static void rescale(vin_dae_integrator *self, double h) {
  int k = self->k;
  vin_int n = self->n;
  double r[TOP + 1][TOP + 1], u[TOP + 1][TOP + 1], change[TOP + 1][TOP + 1];
  if (h == self->h_history) return;
  grid(k, h / self->h_history, r);
  grid(k, 1, u);
  for (int i = 0; i <= k; i++) {
    for (int j = 0; j <= k; j++) {
      change[i][j] = 0;
      for (int l = 0; l <= k; l++) change[i][j] += r[i][l] * u[l][j];
    }
  }
  for (vin_int i = 0; i < n; i++) {
    double old[TOP + 1];
    for (int l = 0; l <= k; l++) old[l] = self->d[l * n + i];
    for (int j = 1; j <= k; j++) { /* row 0 is y itself */
      double sum = 0;
      for (int l = 0; l <= k; l++) sum += change[l][j] * old[l];
      self->d[j * n + i] = sum;
    }
  }
  self->h_history = h;
  self->equal_steps = 0;
}

/* y_new := prediction, psi := sum of gamma_m D_m, delta := 0. */
static void predict(vin_dae_integrator *self) {
  vin_int n = self->n;
  size_t bytes = (size_t)n * sizeof(double);
  memcpy(self->y_new, self->d, bytes);
  memset(self->psi, 0, bytes);
  memset(self->delta, 0, bytes);
  for (int m = 1; m <= self->k; m++) {
    const double *d = self->d + m * n;
    double gamma = gamma_of(m);
    for (vin_int i = 0; i < n; i++) {
      self->y_new[i] += d[i];
      self->psi[i] += gamma * d[i];
    }
  }
}

/* rhs := correction from f(y) - B (gamma delta + psi) / h, theory (R10) */
static vin_status correct(vin_dae_integrator *self, double h, double gamma) {
  double *r = self->rhs, *scaled = self->work1;
  VINI_TRY(vini_dae_integrator_f(self, self->tau + h, self->y_new, r));
  for (vin_int i = 0; i < self->n; i++) scaled[i] = gamma * self->delta[i] + self->psi[i];
  vini_iteration_mass(self, -1 / h, scaled, r);
  return vini_iteration_solve_real(self, r);
}

static vini_outcome newton(vin_dae_integrator *self, double h, double gamma) {
  double last_size = 0;
  int limit = self->options.max_newton;
  self->contraction = 0;
  for (int k = 0; k < limit; k++) {
    self->newton_count = k + 1;
    vin_status status = correct(self, h, gamma);
    if (status != VIN_OK) return vini_iteration_outcome(self, status);
    double size = vini_dae_integrator_norm(self, h, 1, self->rhs), reserve = 1;
    if (!isfinite(size)) return VINI_OUTCOME_NEWTON;
    if (k > 0) {
      double rate = self->contraction = size / last_size;
      if (!(rate < 0.99)) return VINI_OUTCOME_NEWTON;
      reserve = rate / (1 - rate);
      if (reserve * size * pow(rate, limit - 1 - k) > self->newton_tolerance) {
        return VINI_OUTCOME_NEWTON;
      }
    }
    last_size = vini_max(size, DBL_MIN);
    for (vin_int i = 0; i < self->n; i++) {
      self->delta[i] += self->rhs[i];
      self->y_new[i] += self->rhs[i];
    }
    /* the first correction alone says nothing about the rate, unless there was nothing to correct */
    if ((k > 0 || size < 1e-3 * self->newton_tolerance) &&
        reserve * size <= self->newton_tolerance) {
      return VINI_OUTCOME_DONE;
    }
  }
  return VINI_OUTCOME_NEWTON;
}

static vini_outcome attempt(vin_dae_integrator *self, double h) {
  self->shrink = 0.5;
  rescale(self, h);
  self->order = self->k;
  double gamma = gamma_of(self->k);
  vin_status status = VIN_OK;
  if (!self->jacobian_known) status = vini_iteration_jacobian(self);
  if (status == VIN_OK) status = vini_iteration_real(self, h, gamma);
  if (status != VIN_OK) return vini_iteration_outcome(self, status);
  predict(self);
  vini_outcome outcome = newton(self, h, gamma);
  if (outcome == VINI_OUTCOME_NEWTON) {
    /* for a Jacobian taken ahead: at a kink iterates jump from side to side, past the solution */
    for (vin_int i = 0; i < self->n; i++) self->y_new[i] -= 0.5 * self->delta[i];
  }
  if (outcome != VINI_OUTCOME_DONE) return outcome;
  for (vin_int i = 0; i < self->n; i++) self->estimate[i] = self->delta[i] / (self->k + 1);
  self->error = vini_max(1e-10, vini_dae_integrator_norm(self, h, 1, self->estimate));
  return VINI_OUTCOME_DONE;
}

static double careful(const vin_dae_integrator *self) {
  int limit = self->options.max_newton;
  return safety * (2 * limit + 1) / (2 * limit + self->newton_count);
}

/* Error that order q would have had in this step: |D_{q+1}| / (q + 1). */
static double error_of(vin_dae_integrator *self, double h, int q) {
  const double *d = self->d + (q + 1) * self->n;
  return vini_max(1e-10, vini_dae_integrator_norm(self, h, 1, d) / (q + 1));
}

/* After k + 1 equal steps: the order among k - 1, k, k + 1 that allows the longest step. */
static double choose(vin_dae_integrator *self, double h) {
  int k = self->k, best = k;
  double factor = pow(self->error, -1.0 / (k + 1));
  if (k > 1) {
    double lower = pow(error_of(self, h, k - 1), -1.0 / k);
    if (lower > factor) factor = lower, best = k - 1;
  }
  if (k < self->options.max_order) {
    double higher = pow(error_of(self, h, k + 1), -1.0 / (k + 2));
    if (higher > factor) factor = higher, best = k + 1;
  }
  self->k = best;
  self->equal_steps = 0;
  factor = vini_max(least_factor, vini_min(most_factor, careful(self) * factor));
  return factor >= 0.9 && factor <= keep_below ? 1 : factor;
}

static double accept(vin_dae_integrator *self, double h) {
  vin_int n = self->n;
  int k = self->k;
  double *d = self->d;
  for (vin_int i = 0; i < n; i++) {
    d[(k + 2) * n + i] = self->delta[i] - d[(k + 1) * n + i];
    d[(k + 1) * n + i] = self->delta[i];
    for (int m = k; m > 0; m--) d[m * n + i] += d[(m + 1) * n + i];
    d[i] = self->y_new[i];
  }
  memcpy(self->dense, d, (size_t)(k + 1) * (size_t)n * sizeof *d);
  self->dense_order = k;
  /* between the ends the change grows from zero, so that dense output stays continuous */
  for (vin_int i = 0; self->shifted && i < n; i++) self->dense[n + i] += self->psi[i];
  self->shifted = false;
  self->jacobian_current = false;
  if (self->contraction > 0.3) self->jacobian_known = false;
  self->equal_steps++;
  if (self->options.fixed_step > 0) {
    if (self->equal_steps > k && k < self->options.max_order) self->k++, self->equal_steps = 0;
    return 1;
  }
  return self->equal_steps > k ? choose(self, h) : 1;
}

static double reject(vin_dae_integrator *self, double h) {
  (void)h;
  double factor = careful(self) * pow(self->error, -1.0 / (self->k + 1));
  self->equal_steps = 0;
  if (self->rejections >= lost) self->k = 1;
  return vini_max(least_factor, vini_min(self->rejections > 1 ? 0.5 : 0.9, factor));
}

/* estimate holds y' */
static void restart(vin_dae_integrator *self) {
  vin_int n = self->n;
  memset(self->d, 0, ROWS * (size_t)n * sizeof *self->d);
  memcpy(self->d, self->y, (size_t)n * sizeof *self->d);
  for (vin_int i = 0; i < n; i++) self->d[n + i] = self->estimate[i] * self->h_next;
  self->h_history = self->h_next;
  self->k = 1;
  self->equal_steps = 0;
}

static void interpolate(const vin_dae_integrator *self, double s, double *y) {
  vin_int n = self->n;
  for (vin_int i = 0; i < n; i++) {
    double sum = self->dense[i], product = 1;
    for (int m = 1; m <= self->dense_order; m++) {
      product *= (s + m - 1) / m;
      sum += product * self->dense[m * n + i];
    }
    y[i] = sum;
  }
}

/* The whole past moves with y_new: differences stay as they are. A past that keeps its place would make
 * the next step react to a jump, by some times its height, and the next projection to that. */
static void shift(vin_dae_integrator *self, const double *change) {
  memcpy(self->psi, change, (size_t)self->n * sizeof *change);
  self->shifted = true;
}

const vini_dae_method vini_bdf_method = {"bdf",  4,       attempt, accept,
                                         reject, restart, shift,   interpolate};
