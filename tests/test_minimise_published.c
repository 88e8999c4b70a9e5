/* Constrained minimisation: published problems. */
#include "small_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(minimise_published);

/* ---- problems 6, 7, 39, 40, 78 of W. Hock, K. Schittkowski: Test Examples for Nonlinear Programming
 * Codes, 1981, with the minima printed there ------------------------------------------------ */

static double value6(const double *x) {
  return (1 - x[0]) * (1 - x[0]);
}
static void gradient6(const double *x, double *g) {
  g[0] = 2 * (x[0] - 1), g[1] = 0;
}
static void hessian6(const double *x, double h[MOST][MOST]) {
  (void)x, h[0][0] = 2;
}
static void constraint6(const double *x, double *c) {
  c[0] = 10 * (x[1] - x[0] * x[0]);
}
static void jacobian6(const double *x, double a[MOST][MOST]) {
  a[0][0] = -20 * x[0], a[0][1] = 10;
}
static void second6(const double *x, const double *l, double h[MOST][MOST]) {
  (void)x, h[0][0] = -20 * l[0];
}

static double value7(const double *x) {
  return log(1 + x[0] * x[0]) - x[1];
}
static void gradient7(const double *x, double *g) {
  g[0] = 2 * x[0] / (1 + x[0] * x[0]), g[1] = -1;
}
static void hessian7(const double *x, double h[MOST][MOST]) {
  double q = 1 + x[0] * x[0];
  h[0][0] = 2 / q - 4 * x[0] * x[0] / (q * q);
}
static void constraint7(const double *x, double *c) {
  double q = 1 + x[0] * x[0];
  c[0] = q * q + x[1] * x[1] - 4;
}
static void jacobian7(const double *x, double a[MOST][MOST]) {
  a[0][0] = 4 * x[0] * (1 + x[0] * x[0]), a[0][1] = 2 * x[1];
}
static void second7(const double *x, const double *l, double h[MOST][MOST]) {
  h[0][0] = l[0] * (4 + 12 * x[0] * x[0]), h[1][1] = 2 * l[0];
}

static double value39(const double *x) {
  return -x[0];
}
static void gradient39(const double *x, double *g) {
  (void)x, memset(g, 0, 4 * sizeof *g), g[0] = -1;
}
static void hessian39(const double *x, double h[MOST][MOST]) {
  (void)x, (void)h;
}
static void constraint39(const double *x, double *c) {
  c[0] = x[1] - x[0] * x[0] * x[0] - x[2] * x[2], c[1] = x[0] * x[0] - x[1] - x[3] * x[3];
}
static void jacobian39(const double *x, double a[MOST][MOST]) {
  a[0][0] = -3 * x[0] * x[0], a[0][1] = 1, a[0][2] = -2 * x[2];
  a[1][0] = 2 * x[0], a[1][1] = -1, a[1][3] = -2 * x[3];
}
static void second39(const double *x, const double *l, double h[MOST][MOST]) {
  h[0][0] = -6 * x[0] * l[0] + 2 * l[1], h[2][2] = -2 * l[0], h[3][3] = -2 * l[1];
}

static double product(const double *x, int count, int leave_a, int leave_b) {
  double p = 1;
  for (int i = 0; i < count; i++) p *= i == leave_a || i == leave_b ? 1 : x[i];
  return p;
}
static void product_hessian(const double *x, int count, double sign, double h[MOST][MOST]) {
  for (int i = 0; i < count; i++)
    for (int j = 0; j < i; j++) h[i][j] = sign * product(x, count, i, j);
}

static double value40(const double *x) {
  return -product(x, 4, -1, -1);
}
static void gradient40(const double *x, double *g) {
  for (int i = 0; i < 4; i++) g[i] = -product(x, 4, i, -1);
}
static void hessian40(const double *x, double h[MOST][MOST]) {
  product_hessian(x, 4, -1, h);
}
static void constraint40(const double *x, double *c) {
  c[0] = x[0] * x[0] * x[0] + x[1] * x[1] - 1, c[1] = x[0] * x[0] * x[3] - x[2];
  c[2] = x[3] * x[3] - x[1];
}
static void jacobian40(const double *x, double a[MOST][MOST]) {
  a[0][0] = 3 * x[0] * x[0], a[0][1] = 2 * x[1];
  a[1][0] = 2 * x[0] * x[3], a[1][2] = -1, a[1][3] = x[0] * x[0];
  a[2][1] = -1, a[2][3] = 2 * x[3];
}
static void second40(const double *x, const double *l, double h[MOST][MOST]) {
  h[0][0] = 6 * x[0] * l[0] + 2 * x[3] * l[1], h[1][1] = 2 * l[0];
  h[3][0] = 2 * x[0] * l[1], h[3][3] = 2 * l[2];
}

static double value78(const double *x) {
  return product(x, 5, -1, -1);
}
static void gradient78(const double *x, double *g) {
  for (int i = 0; i < 5; i++) g[i] = product(x, 5, i, -1);
}
static void hessian78(const double *x, double h[MOST][MOST]) {
  product_hessian(x, 5, 1, h);
}
static void constraint78(const double *x, double *c) {
  c[0] = test_dot(5, x, x) - 10, c[1] = x[1] * x[2] - 5 * x[3] * x[4];
  c[2] = x[0] * x[0] * x[0] + x[1] * x[1] * x[1] + 1;
}
static void jacobian78(const double *x, double a[MOST][MOST]) {
  for (int i = 0; i < 5; i++) a[0][i] = 2 * x[i];
  a[1][1] = x[2], a[1][2] = x[1], a[1][3] = -5 * x[4], a[1][4] = -5 * x[3];
  a[2][0] = 3 * x[0] * x[0], a[2][1] = 3 * x[1] * x[1];
}
static void second78(const double *x, const double *l, double h[MOST][MOST]) {
  for (int i = 0; i < 5; i++) h[i][i] = 2 * l[0];
  h[2][1] = l[1], h[4][3] = -5 * l[1];
  h[0][0] += 6 * x[0] * l[2], h[1][1] += 6 * x[1] * l[2];
}

#define PROBLEM(k) value##k, gradient##k, hessian##k, constraint##k, jacobian##k, second##k, 0, 0, 0

/* The book prints nine digits: 1e-8 of F; where x is exact it is asked to 1e-7 (the flat directions
 * of problem 39 see the square root of the tolerance). */
Test(minimise_published, published_problems) {
  small problems[] = {
      {2, 1, {-1.2, 1}, 0, {1, 1}, PROBLEM(6)},
      {2, 1, {2, 2}, -sqrt(3), {0, sqrt(3)}, PROBLEM(7)},
      {4, 2, {2, 2, 2, 2}, -1, {1, 1, 0, 0}, PROBLEM(39)},
      {4, 3, {.8, .8, .8, .8}, -0.25, {NAN}, PROBLEM(40)},
      {5, 3, {-2, 1.5, 2, -1, -1}, -2.91970041, {NAN}, PROBLEM(78)},
  };
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
    small *s = &problems[k];
    vin_minimise_desc desc = small_describe(s, true);
    vin_minimise_report report;
    double y[MOST], lambda[MOST];
    char text[512];
    memcpy(y, s->start, sizeof y);
    vin_status status = vin_minimise(&desc, NULL, y, lambda, &report, text, sizeof text);
    cr_assert_eq(status, VIN_OK, "problem %zu: %s", k, text);
    cr_expect_float_eq(report.objective, s->best, 1e-8, "problem %zu: %.12g", k, report.objective);
    cr_expect_leq(report.constraint_after, 1e-12);
    cr_expect_leq(report.iterations, 30, "problem %zu: %d iterations", k, report.iterations);
    for (int i = 0; !isnan(s->solution[0]) && i < s->n; i++) {
      cr_expect_float_eq(y[i], s->solution[i], 1e-7, "problem %zu: y[%d] = %.12g", k, i, y[i]);
    }
  }
}
