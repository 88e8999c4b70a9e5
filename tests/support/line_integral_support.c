/* What the tests of hbvm and lim share, see line_integral_support.h. */
#include "line_integral_support.h"
#include "system/system.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

vin_options test_line_options(int k, int s, int r) {
  vin_options options = vin_options_default();
  options.method = r > 0 ? VIN_METHOD_LIM : VIN_METHOD_HBVM;
  options.nodes = k;
  options.stages = s;
  options.multiplier_terms = r;
  return options;
}

static int potential(void *user, double t, const double *p, double *energy) {
  const test_mechanism *x = user;
  (void)t;
  *energy = 0;
  for (int k = 0; k < x->points; k++) {
    double square = 0;
    for (int i = 0; i < x->dim; i++) {
      double at = p[k * x->dim + i];
      square += at * at;
      *energy -= x->mass[k] * x->gravity[i] * at;
    }
    if (x->mu > 0) *energy -= x->mu * x->mass[k] / sqrt(square);
  }
  return 0;
}

void test_line_build(test_mechanism *x, unsigned flags, const vin_context *context) {
  test_mechanism_build(x, context);
  vin_system *plain = x->system;
  vin_system_desc desc = plain->desc;
  desc.flags |= flags;
  desc.potential = potential;
  vin_status status = vin_system_create(&x->system, context, &desc);
  vin_system_destroy(plain);
  cr_assert_eq(status, VIN_OK, "%s", vin_system_error(x->system));
}

test_mechanism *test_line_built(test_mechanism *x) {
  test_line_build(x, VIN_CONSTRAINT_QUADRATIC, NULL);
  return x;
}

test_line_run test_line_energy(const test_mechanism *x, const vin_options *options, double h,
                               long steps, long every) {
  test_line_run run = {0};
  vin_integrator *integrator = test_integrator(x, options);
  vin_state state = test_state(x);
  double start = test_energy(x, x->p, x->v), along = 0, size = 0;
  for (long k = every; k <= steps; k += every) {
    cr_assert_eq(test_advance(integrator, x, &state, h, every), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    double error = test_energy(x, state.p, state.v) - start;
    double t = (double)k / (double)steps - 0.5;
    run.energy = fmax(run.energy, fabs(error));
    run.constraint = fmax(run.constraint, test_constraint_max(x, state.t, state.p));
    along += t * error, size += t * t;
  }
  run.trend = along / size;
  run.sweeps = (double)vin_integrator_get_stats(integrator).sweeps / (double)steps;
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  return run;
}

/* ---- Gauss collocation, written down from its definition ---------------------------------------
 */

enum { MOST = 8 };

/* Shifted Legendre polynomial of degree s by its explicit sum. */
static double shifted_legendre(int s, double c) {
  double sum = 0;
  for (int k = 0; k <= s; k++) { /* (-1)^(s+k) binom(s,k) binom(s+k,k) c^k */
    sum += ((s + k) % 2 ? -1 : 1) * tgamma(s + k + 1) /
           (pow(tgamma(k + 1), 2) * tgamma(s - k + 1)) * pow(c, k);
  }
  return sum;
}

/* Its zeros by bisection between sign changes. */
static void collocation_points(int s, double *c) {
  int found = 0;
  for (int k = 0; k < 1000 && found < s; k++) {
    double low = k / 1000.0 + 1e-9, high = (k + 1) / 1000.0 + 1e-9;
    if ((shifted_legendre(s, low) > 0) == (shifted_legendre(s, high) > 0)) continue;
    for (int step = 0; step < 60; step++) {
      double middle = (low + high) / 2;
      bool left = (shifted_legendre(s, low) > 0) != (shifted_legendre(s, middle) > 0);
      *(left ? &high : &low) = middle;
    }
    c[found++] = (low + high) / 2;
  }
  cr_assert_eq(found, s);
}

/* a_ij = int_0^{c_i} l_j and b_j = int_0^1 l_j with the Lagrange polynomials l_j, by coefficients. */
static void butcher(int s, const double *c, double a[MOST][MOST], double *b) {
  for (int j = 0; j < s; j++) {
    double poly[MOST + 1] = {1};
    for (int q = 0, degree = 0; q < s; q++) {
      if (q == j) continue;
      degree++;
      for (int e = degree; e >= 0; e--) {
        poly[e] = ((e > 0 ? poly[e - 1] : 0) - c[q] * poly[e]) / (c[j] - c[q]);
      }
    }
    b[j] = 0;
    for (int e = 0; e < s; e++) b[j] += poly[e] / (e + 1);
    for (int i = 0; i < s; i++) {
      a[i][j] = 0;
      for (int e = 0; e < s; e++) a[i][j] += poly[e] * pow(c[i], e + 1) / (e + 1);
    }
  }
}

static void collocation_step(test_mechanism *x, int s, const double a[MOST][MOST], const double *b,
                             double h, double *p, double *v) {
  size_t n = (size_t)x->n;
  double *k = calloc(2 * MOST * n, sizeof *k), *u = calloc(2 * n, sizeof *u); /* p', v' of stages */
  for (int sweep = 0; sweep < 100; sweep++) {
    for (int i = 0; i < s; i++) {
      double *w = u + n;
      for (size_t q = 0; q < n; q++) {
        u[q] = p[q], w[q] = v[q];
        for (int j = 0; j < s; j++) {
          u[q] += h * a[i][j] * k[(size_t)j * n + q];
          w[q] += h * a[i][j] * k[(size_t)(MOST + j) * n + q];
        }
      }
      double *f = k + (size_t)(MOST + i) * n;
      memcpy(k + (size_t)i * n, w, n * sizeof *w);
      x->force(x, 0, u, w, f);
      for (size_t q = 0; q < n; q++) f[q] /= x->mass[q / (size_t)x->dim];
    }
  }
  for (int j = 0; j < s; j++) {
    for (size_t q = 0; q < n; q++) {
      p[q] += h * b[j] * k[(size_t)j * n + q];
      v[q] += h * b[j] * k[(size_t)(MOST + j) * n + q];
    }
  }
  free(k), free(u);
}

void test_gauss_collocation(test_mechanism *x, int s, double h, long steps, double *p, double *v) {
  double c[MOST], b[MOST], a[MOST][MOST];
  collocation_points(s, c);
  butcher(s, c, a, b);
  for (long k = 0; k < steps; k++) collocation_step(x, s, a, b, h, p, v);
}
