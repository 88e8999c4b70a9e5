/* linear.c - section 8.2: x = sin t, x' + y = 0, a linear problem of index 2 with the solution y =
 * -cos t. In the printed captions x(0) and y(0) are exchanged: the consistent start is (0, -1). */
#include <math.h>
#include <stdio.h>

#include "gallery.h"

enum { STEPS = 200 };
static const double step = 0.05; /* s */

static int right_side(void *user, double t, double *h) {
  (void)user;
  h[0] = sin(t), h[1] = 0.0;
  return 0;
}

/* (x, y) at t_k in states[2 k], states[2 k + 1]; tau = 0: no Baumgarte term. */
static vin_status run(gallery *g, vin_linear_method method, double tau, double h, int steps,
                      const double *start, double *states) {
  const vin_int f_row[] = {1}, f_col[] = {0}, g_row[] = {0, 1}, g_col[] = {0, 1};
  const double ones[] = {1.0, 1.0};
  vin_linear_dae_desc desc = vin_linear_dae_desc_default();
  desc.unknowns = 2;
  desc.f_pattern = (vin_triplets){.count = 1, .row = f_row, .col = f_col};
  desc.g_pattern = (vin_triplets){.count = 2, .row = g_row, .col = g_col};
  desc.f_values = desc.g_values = ones;
  desc.h = right_side;
  desc.tau = tau;
  vin_linear_dae *dae = NULL;
  vin_status status = vin_linear_dae_create(&dae, NULL, &desc);
  double x[] = {start[0], start[1]};
  if (status == VIN_OK) status = vin_linear_dae_run(dae, method, 0.0, h, steps, x, states, NULL);
  if (status != VIN_OK) gallery_fail(g, status, vin_linear_dae_error(dae));
  vin_linear_dae_destroy(dae);
  return status;
}

/* Largest error of x (which = 0) or y (1) from step `from` on. */
static double error_from(const double *states, int from, int which) {
  double largest = 0.0;
  for (int k = from; k <= STEPS; k++) {
    double exact = which == 0 ? sin(step * k) : -cos(step * k);
    largest = fmax(largest, fabs(states[2 * k + which] - exact));
  }
  return largest;
}

static void draw(gallery *g, const char *figure, const char *start, const double *states) {
  static const char *const names[] = {"x", "y"}, *const exact[] = {"sin t", "-cos t"};
  for (int which = 0; which < 2; which++) {
    char title[GALLERY_TEXT];
    snprintf(title, sizeof title, "%s: start %s", figure, start);
    gallery_panel_open(g, title, "t", names[which], 0);
    gallery_curve_open(g, "%s", exact[which]);
    gallery_exact(g);
    for (int k = 0; k <= STEPS; k++)
      gallery_point(g, step * k, which == 0 ? sin(step * k) : -cos(step * k));
    gallery_curve_open(g, "%s", names[which]);
    for (int k = 0; k <= STEPS; k++) gallery_point(g, step * k, states[2 * k + which]);
  }
}

/* x_k = sin t_k, y_k = (x_{k-1} - sin t_k) / h: the error of y is h/2 max|sin|, and an inconsistent
 * start is seen in y_1 only. */
vin_status gallery_linear_euler(gallery *g) {
  double states[2 * (STEPS + 1)];
  const double consistent[] = {0.0, -1.0}, inconsistent[] = {0.01, -1.0};
  vin_status status = run(g, VIN_LINEAR_IMPLICIT_EULER, 0.0, step, STEPS, consistent, states);
  if (status != VIN_OK) return status;
  gallery_below(g, "8.1", "consistent: error of x", error_from(states, 0, 0), 1e-15);
  gallery_value(g, "8.1", "  error of y, h/2 max|sin|", error_from(states, 0, 1), step / 2,
                step * step);
  draw(g, "8.1", "(0, -1), consistent", states);

  status = run(g, VIN_LINEAR_IMPLICIT_EULER, 0.0, step, STEPS, inconsistent, states);
  if (status != VIN_OK) return status;
  gallery_below(g, "8.2", "x(0) = 0.01: error of x from step 1", error_from(states, 1, 0), 1e-15);
  gallery_value(g, "8.2", "  y_1 = (x_0 - sin h) / h", states[3], (0.01 - sin(step)) / step, 1e-12);
  gallery_value(g, "8.2", "  error of y from step 2", error_from(states, 2, 1), step / 2,
                step * step);
  draw(g, "8.2", "(0.01, -1)", states);
  return VIN_OK;
}

/* x_k = sin t_k + (-1)^k x_0, and the error of y grows as 4 k x_0 / h. Consistent: the error of y is
 * -h^2/12 (cos t_k - (-1)^k) to leading order. */
vin_status gallery_linear_cn(gallery *g) {
  double states[2 * (STEPS + 1)];
  const double consistent[] = {0.0, -1.0}, inconsistent[] = {0.01, -1.0};
  vin_status status = run(g, VIN_LINEAR_CRANK_NICOLSON, 0.0, step, STEPS, consistent, states);
  if (status != VIN_OK) return status;
  gallery_below(g, "8.3", "consistent: error of x", error_from(states, 0, 0), 1e-14);
  gallery_value(g, "8.3", "  error of y, h^2/6", error_from(states, 0, 1), step * step / 6,
                0.01 * step * step / 6);
  draw(g, "8.3", "(0, -1), consistent", states);

  status = run(g, VIN_LINEAR_CRANK_NICOLSON, 0.0, step, STEPS, inconsistent, states);
  if (status != VIN_OK) return status;
  double deviation = 0.0;
  for (int k = 0; k <= STEPS; k++)
    deviation = fmax(deviation, fabs(states[2 * k] - sin(step * k) - (k % 2 ? -0.01 : 0.01)));
  gallery_below(g, "8.4", "x(0) = 0.01: x_k - sin t_k - (-1)^k x_0", deviation, 1e-13);
  gallery_value(g, "8.4", "  error of y at step 200, 4 k x_0 / h",
                fabs(states[2 * STEPS + 1] + cos(step * STEPS)), 4.0 * STEPS * 0.01 / step,
                step * step);
  draw(g, "8.4", "(0.01, -1)", states);
  return VIN_OK;
}

/* tau c' + c = 0 for c = x - sin t: the error of x falls by rho = (2 tau - h) / (2 tau + h) a step. That
 * of y falls with it only from y_0 = -1 + x_0 / tau; from elsewhere the difference to this alternates for
 * ever. */
vin_status gallery_linear_baumgarte(gallery *g) {
  const double tau = 5.0, x0 = 0.1, rho = (2.0 * tau - step) / (2.0 * tau + step);
  double states[2 * (STEPS + 1)];
  const double start[] = {x0, -1.0}, fitting[] = {x0, -1.0 + x0 / tau};
  vin_status status = run(g, VIN_LINEAR_CRANK_NICOLSON, tau, step, STEPS, start, states);
  if (status != VIN_OK) return status;
  double deviation = 0.0, last = 0.0;
  for (int k = 0; k <= STEPS; k++)
    deviation = fmax(deviation, fabs(states[2 * k] - sin(step * k) - x0 * pow(rho, k)));
  gallery_below(g, "8.5", "start (0.1, -1), tau = 5: x_k - sin t_k - rho^k x_0", deviation, 1e-13);
  for (int k = STEPS - 1; k <= STEPS; k++) /* y = -cos t + x_0/tau rho^k -+ x_0/tau */
    last = fmax(last, fabs(states[2 * k + 1] + cos(step * k) - x0 / tau * pow(rho, k)));
  gallery_value(g, "8.5", "  y alternates about its decay by x_0 / tau", last, x0 / tau, 1e-3);
  draw(g, "8.5", "(0.1, -1)", states);

  status = run(g, VIN_LINEAR_CRANK_NICOLSON, tau, step, STEPS, fitting, states);
  if (status != VIN_OK) return status;
  deviation = 0.0;
  for (int k = 0; k <= STEPS; k++)
    deviation = fmax(deviation, fabs(states[2 * k + 1] + cos(step * k) - x0 / tau * pow(rho, k)));
  gallery_below(g, "8.6", "start (0.1, -1 + x_0/tau): y_k + cos t_k - rho^k x_0/tau", deviation,
                step * step / 6 + 1e-4);
  draw(g, "8.6", "(0.1, -0.98)", states);
  return VIN_OK;
}
