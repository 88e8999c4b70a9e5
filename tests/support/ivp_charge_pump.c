/* ivp - charge pump: index 2, 9 unknowns, f with kinks (SciML/SciMLBenchmarks.jl
 * benchmarks/DAE/charge_pump.jmd, MIT). y = charges YT1, YS, YT2, YD, YT3 in C, voltages U1, U2, U3
 * in V, current I in A. */
#include "ivp.h"

#include <math.h>

enum { N = 9 };
static const double VT0 = 0.20, GAMMA = 0.035, PHI = 1.01, COX = 4e-12, CD = 0.4e-12, CS = 1.6e-12;

static double input(double t) {
  double s = fmod(t, 120e-9) * 1e9;
  if (s < 50) return 0;
  if (s < 60) return 20 * (s - 50) / 10;
  if (s < 110) return 20;
  return 20 * (120 - s) / 10;
}

/* Charges of gate and source (that of the drain equals the latter) from the voltages gate-bulk,
 * gate-source, gate-drain. */
static void charges(double ugb, double ugs, double ugd, double *gate, double *source) {
  if (ugs <= ugd) {
    double swap = ugs;
    ugs = ugd, ugd = swap;
  }
  double vfb = VT0 - GAMMA * sqrt(PHI) - PHI, ubs = ugs - ugb;
  double vte = VT0 + GAMMA * (sqrt(PHI - ubs) - sqrt(PHI));
  *source = 0;
  if (ugb <= vfb) {
    *gate = COX * (ugb - vfb);
  } else if (ugs <= vte) {
    *gate = COX * GAMMA * (sqrt(GAMMA * GAMMA / 4 + ugb - vfb) - GAMMA / 2);
  } else {
    double a = ugs - vte, c = fmax(ugd - vte, 0), mean = c + a - c * a / (c + a);
    *gate = COX * (2.0 / 3 * mean + GAMMA * sqrt(PHI - ubs));
    *source = -COX / 3 * mean;
  }
}

static int f(void *user, double t, const double *y, double *r) {
  (void)user;
  double gate, source, u1 = y[5], u2 = y[6], u3 = y[7];
  charges(u1, u1 - u2, u1 - u3, &gate, &source);
  if (!isfinite(gate) || !isfinite(source)) return 1; /* outside the model: a shorter step */
  r[0] = -y[8];
  r[1] = 0;
  r[2] = 0;
  r[3] = -u1 + input(t);
  r[4] = y[0] - gate;
  r[5] = y[1] - CS * u2;
  r[6] = y[2] - source;
  r[7] = y[3] - CD * u3;
  r[8] = y[4] - source;
  return 0;
}

static const vin_int rows[] = {0, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 8, 8, 8, 8};
static const vin_int cols[] = {8, 5, 0, 5, 6, 7, 1, 6, 2, 5, 6, 7, 3, 7, 4, 5, 6, 7};

/* The derivatives of the charges by differences over 1e-5 V: their curvature is small. */
static int jacobian(void *user, double t, const double *y, double *v) {
  (void)user, (void)t;
  double dgate[3], dsource[3], step = 1e-5;
  for (int k = 0; k < 3; k++) {
    double gate[2], source[2];
    for (int side = 0; side < 2; side++) {
      double u[3] = {y[5], y[6], y[7]};
      u[k] += side == 0 ? -step : step;
      charges(u[0], u[0] - u[1], u[0] - u[2], gate + side, source + side);
    }
    dgate[k] = (gate[1] - gate[0]) / (2 * step);
    dsource[k] = (source[1] - source[0]) / (2 * step);
    if (!isfinite(dgate[k]) || !isfinite(dsource[k])) return 1;
  }
  const double values[] = {-1, -1,  1, -dgate[0],   -dgate[1],   -dgate[2],
                           1,  -CS, 1, -dsource[0], -dsource[1], -dsource[2],
                           1,  -CD, 1, -dsource[0], -dsource[1], -dsource[2]};
  for (int k = 0; k < 18; k++) v[k] = values[k];
  return 0;
}

bool ivp_charge_pump(ivp_problem *p, const char *directory) {
  if (!ivp_size(p, N)) return false;
  p->index = 2;
  p->t_end = 1.2e-6;
  p->time_scale = 1e-8;
  p->f = f;
  p->jacobian = jacobian;
  p->accuracy = 1e-6;
  for (int k = 0; k < 18; k++) ivp_depends(p, rows[k], cols[k]);
  ivp_mass(p, 0, 0, 1);
  ivp_mass(p, 1, 1, 1), ivp_mass(p, 1, 2, 1);
  ivp_mass(p, 2, 3, 1), ivp_mass(p, 2, 4, 1);
  double source;
  charges(0, 0, 0, &p->y0[0], &source);
  p->y0[2] = p->y0[4] = source;
  p->variable_index[8] = 2;
  for (int i = 0; i < 5; i++) p->typical[i] = 1e-12;
  p->typical[8] = 1e-3;
  for (int period = 0; period < 10; period++) {
    static const double kinks[4] = {50e-9, 60e-9, 110e-9, 120e-9};
    for (int k = 0; k < 4; k++) p->breaks[p->break_count++] = period * 120e-9 + kinks[k];
  }
  p->break_count--; /* the last one is the end */
  p->scored[0] = p->scored[8] = true;
  return ivp_read_components(p, directory, "ivp/charge_pump_end_values.csv");
}
