/* ivp - transistor amplifier: index 1, 8 unknowns, B of rank 5 (cran/deTestSet
 * src/Ex_transistor.f). */
#include "ivp.h"

#include <math.h>

enum { N = 8 };
static const double Ub = 6, UF = 0.026, ALPHA = 0.99, BETA = 1e-6, R0 = 1000, R = 9000;

static double g(double x) {
  return BETA * (exp(x / UF) - 1);
}

static double dg(double x) {
  return BETA / UF * exp(x / UF);
}

static int f(void *user, double t, const double *y, double *r) {
  (void)user;
  double ue = 0.1 * sin(200 * acos(-1) * t), g1 = g(y[1] - y[2]), g2 = g(y[4] - y[5]);
  r[0] = (y[0] - ue) / R0;
  r[1] = y[1] / R + (y[1] - Ub) / R + (1 - ALPHA) * g1;
  r[2] = y[2] / R - g1;
  r[3] = (y[3] - Ub) / R + ALPHA * g1;
  r[4] = y[4] / R + (y[4] - Ub) / R + (1 - ALPHA) * g2;
  r[5] = y[5] / R - g2;
  r[6] = (y[6] - Ub) / R + ALPHA * g2;
  r[7] = y[7] / R;
  return 0;
}

static const vin_int rows[] = {0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7};
static const vin_int cols[] = {0, 1, 2, 1, 2, 1, 2, 3, 4, 5, 4, 5, 4, 5, 6, 7};

static int jacobian(void *user, double t, const double *y, double *values) {
  (void)user, (void)t;
  double g1 = dg(y[1] - y[2]), g2 = dg(y[4] - y[5]), *v = values;
  *v++ = 1 / R0;
  for (int half = 0; half < 2; half++) {
    double d = half == 0 ? g1 : g2;
    *v++ = 2 / R + (1 - ALPHA) * d, *v++ = -(1 - ALPHA) * d;
    *v++ = -d, *v++ = 1 / R + d;
    *v++ = ALPHA * d, *v++ = -ALPHA * d, *v++ = 1 / R;
  }
  *v = 1 / R;
  return 0;
}

bool ivp_transistor(ivp_problem *p, const char *directory) {
  static const double start[N] = {0, 3, 3, 6, 3, 3, 6, 0};
  if (!ivp_size(p, N)) return false;
  p->index = 1;
  p->t_end = 0.2;
  p->time_scale = 1e-2;
  p->f = f;
  p->jacobian = jacobian;
  p->accuracy = 1e-9;
  for (int k = 0; k < (int)(sizeof rows / sizeof *rows); k++) ivp_depends(p, rows[k], cols[k]);
  for (int i = 0; i < N; i++) p->y0[i] = start[i], p->scored[i] = true;
  for (int pair = 0; pair < 3; pair++) { /* C1, C3, C5 between two nodes */
    int a = 3 * pair, b = a + 1;
    double c = (2 * pair + 1) * 1e-6;
    ivp_mass(p, a, a, -c), ivp_mass(p, a, b, c), ivp_mass(p, b, a, c), ivp_mass(p, b, b, -c);
  }
  ivp_mass(p, 2, 2, -2e-6), ivp_mass(p, 5, 5, -4e-6);
  return ivp_read_components(p, directory, "ivp/transistor_end_values.csv");
}
