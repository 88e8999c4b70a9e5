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

/* Charge of gate or source and its derivatives by the voltages u1, u2, u3. */
typedef struct charge {
  double value, d[3];
} charge;

/* Below the threshold: the gate alone, by the voltage gate-bulk. */
static void depleted(double ugb, double vfb, charge *gate) {
  double root = sqrt(GAMMA * GAMMA / 4 + ugb - vfb);
  gate->value = COX * GAMMA * (root - GAMMA / 2);
  gate->d[0] = COX * GAMMA / (2 * root);
}

/* Charges of gate and source (that of the drain equals the latter). The side of the higher voltage to
 * the gate, s, acts as the source, the other, d, as the drain. */
static void charges(const double *u, charge *gate, charge *source) {
  int s = u[0] - u[1] <= u[0] - u[2] ? 2 : 1, drain = 3 - s;
  double ugb = u[0], ugs = u[0] - u[s], ugd = u[0] - u[drain];
  double vfb = VT0 - GAMMA * sqrt(PHI) - PHI, x = sqrt(PHI - ugs + ugb);
  double vte = VT0 + GAMMA * (x - sqrt(PHI));
  *gate = *source = (charge){0};
  if (ugb <= vfb) {
    gate->value = COX * (ugb - vfb);
    gate->d[0] = COX;
  } else if (ugs <= vte) {
    depleted(ugb, vfb, gate);
  } else {
    double a = ugs - vte, c = fmax(ugd - vte, 0), sum = a + c, mean = sum - a * c / sum;
    double by_a = 1 - c * c / (sum * sum), by_c = c > 0 ? 1 - a * a / (sum * sum) : 0;
    double bend = GAMMA / (2 * x); /* x' is that of u_s: d x / d u_s = 1 / (2 x) */
    double by_u[3];
    by_u[0] = by_a + by_c;
    by_u[s] = -(1 + bend) * by_a - bend * by_c;
    by_u[drain] = -by_c;
    gate->value = COX * (2.0 / 3 * mean + GAMMA * x);
    source->value = -COX / 3 * mean;
    for (int k = 0; k < 3; k++) {
      gate->d[k] = COX * 2.0 / 3 * by_u[k];
      source->d[k] = -COX / 3 * by_u[k];
    }
    gate->d[s] += COX * bend;
  }
}

static int f(void *user, double t, const double *y, double *r) {
  (void)user;
  charge gate, source;
  charges(y + 5, &gate, &source);
  if (!isfinite(gate.value)) return 1; /* outside the model: a shorter step */
  r[0] = -y[8];
  r[1] = 0;
  r[2] = 0;
  r[3] = -y[5] + input(t);
  r[4] = y[0] - gate.value;
  r[5] = y[1] - CS * y[6];
  r[6] = y[2] - source.value;
  r[7] = y[3] - CD * y[7];
  r[8] = y[4] - source.value;
  return 0;
}

static const vin_int rows[] = {0, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 8, 8, 8, 8};
static const vin_int cols[] = {8, 5, 0, 5, 6, 7, 1, 6, 2, 5, 6, 7, 3, 7, 4, 5, 6, 7};

static int jacobian(void *user, double t, const double *y, double *v) {
  (void)user, (void)t;
  charge gate, source;
  charges(y + 5, &gate, &source);
  if (!isfinite(gate.value)) return 1;
  const double *g = gate.d, *s = source.d;
  const double values[] = {-1,    -1,    1,     -g[0], -g[1], -g[2], 1,     -CS,   1,
                           -s[0], -s[1], -s[2], 1,     -CD,   1,     -s[0], -s[1], -s[2]};
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
  p->accuracy = 1e-4;
  p->least_tolerance = 1e-10;
  for (int k = 0; k < 18; k++) ivp_depends(p, rows[k], cols[k]);
  ivp_mass(p, 0, 0, 1);
  ivp_mass(p, 1, 1, 1), ivp_mass(p, 1, 2, 1);
  ivp_mass(p, 2, 3, 1), ivp_mass(p, 2, 4, 1);
  charge gate, source;
  charges((const double[3]){0, 0, 0}, &gate, &source);
  p->y0[0] = gate.value;
  p->y0[2] = p->y0[4] = source.value;
  p->variable_index[8] = 2;
  for (int i = 0; i < 5; i++) p->typical[i] = 1e-12;
  p->typical[8] = 1e-3;
  for (int period = 0; period < 10; period++) {
    /* of the input, and where it passes the threshold VT0, since U2 = U3 = 0 then */
    static const double kinks[6] = {50e-9, 50.1e-9, 60e-9, 110e-9, 119.9e-9, 120e-9};
    for (int k = 0; k < 6; k++) p->breaks[p->break_count++] = period * 120e-9 + kinks[k];
  }
  p->break_count--; /* the last one is the end */
  p->scored[0] = p->scored[8] = true;
  return ivp_read_components(p, directory, "ivp/charge_pump_end_values.csv");
}
