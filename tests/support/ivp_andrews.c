/* ivp - Andrews' squeezing mechanism: index 3, 27 unknowns (q, v, w, lambda); 7 bodies, 6 loop
 * constraints (cran/deTestSet src/Ex_andrews.f). */
#include "ivp.h"

#include <math.h>
#include <string.h>

static const double m1 = .04325, m2 = .00365, m3 = .02373, m4 = .00706, m5 = .07050, m6 = .00706,
                    m7 = .05498;
static const double i1 = 2.194e-6, i2 = 4.410e-7, i3 = 5.255e-6, i4 = 5.667e-7, i5 = 1.169e-5,
                    i6 = 5.667e-7, i7 = 1.912e-5;
static const double xa = -.06934, ya = -.00227, xb = -.03635, yb = .03273, xc = .014, yc = .072;
static const double c0 = 4530, l0 = .07785, mom = .033;
static const double d = .028, da = .0115, e = .02, ea = .01421, rr = .007, ra = .00092, ss = .035,
                    sa = .01874, sb = .01043, sc = .018, sd = .02, ta = .02308, tb = .00916,
                    u = .04, ua = .01228, ub = .00449, zf = .02, zt = .04, fa = .01421;

enum { N = 7, M = 6, MASS_COUNT = 10, JACOBIAN_COUNT = 22 };
enum { BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPSILON };
static const vin_int mass_row[MASS_COUNT] = {0, 1, 1, 2, 3, 4, 4, 5, 6, 6};
static const vin_int mass_col[MASS_COUNT] = {0, 0, 1, 2, 3, 3, 4, 5, 5, 6};
static const vin_int jacobian_row[JACOBIAN_COUNT] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3,
                                                     3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5};
static const vin_int jacobian_col[JACOBIAN_COUNT] = {0, 1, 2, 0, 1, 2, 0, 1, 3, 4, 0,
                                                     1, 3, 4, 0, 1, 5, 6, 0, 1, 5, 6};
static const vin_triplets mass_pattern = {MASS_COUNT, mass_row, mass_col};
static const vin_triplets jacobian_pattern = {JACOBIAN_COUNT, jacobian_row, jacobian_col};
static int mass(void *user, double t, const double *q, const double *v, double *m) {
  (void)user, (void)t, (void)v;
  double w = e - ea, z = zf - fa, ct = cos(q[THETA]), sp = sin(q[PHI]), so = sin(q[OMEGA]);
  m[0] = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * ct + da * da) + i1 + i2;
  m[1] = m2 * (da * da - da * rr * ct) + i2;
  m[2] = m2 * da * da + i2;
  m[3] = m3 * (sa * sa + sb * sb) + i3;
  m[4] = m4 * w * w + i4;
  m[5] = m4 * (w * w + zt * w * sp) + i4;
  m[6] = m4 * (zt * zt + 2 * zt * w * sp + w * w) + m5 * (ta * ta + tb * tb) + i4 + i5;
  m[7] = m6 * z * z + i6;
  m[8] = m6 * (z * z - u * z * so) + i6;
  m[9] = m6 * (z * z - 2 * u * z * so + u * u) + m7 * (ua * ua + ub * ub) + i6 + i7;
  return 0;
}

/* The spring's elongation and end. */
static double spring(const double *q, double *dx, double *dy) {
  double g = q[GAMMA];
  *dx = sd * cos(g) + sc * sin(g) + xb - xc;
  *dy = sd * sin(g) - sc * cos(g) + yb - yc;
  return hypot(*dx, *dy);
}

static int force(void *user, double t, const double *q, const double *v, double *f) {
  (void)user, (void)t;
  double w = e - ea, z = zf - fa, g = q[GAMMA], dx, dy, length = spring(q, &dx, &dy);
  double pull = -c0 * (length - l0) / length, st = sin(q[THETA]);
  double cp = cos(q[PHI]), co = cos(q[OMEGA]);
  f[0] = mom - m2 * da * rr * v[THETA] * (v[THETA] + 2 * v[BETA]) * st;
  f[1] = m2 * da * rr * v[BETA] * v[BETA] * st;
  f[2] = pull * (dx * (sc * cos(g) - sd * sin(g)) + dy * (sd * cos(g) + sc * sin(g)));
  f[3] = m4 * zt * w * v[DELTA] * v[DELTA] * cp;
  f[4] = -m4 * zt * w * v[PHI] * (v[PHI] + 2 * v[DELTA]) * cp;
  f[5] = -m6 * u * z * v[EPSILON] * v[EPSILON] * co;
  f[6] = m6 * u * z * v[OMEGA] * (v[OMEGA] + 2 * v[EPSILON]) * co;
  return 0;
}

static int potential(void *user, double t, const double *q, double *energy) {
  (void)user, (void)t;
  double dx, dy, stretch = spring(q, &dx, &dy) - l0;
  *energy = c0 * stretch * stretch / 2 - mom * q[BETA];
  return 0;
}

static int constraint(void *user, double t, const double *q, double *g) {
  (void)user, (void)t;
  double p = rr * cos(q[BETA]) - d * cos(q[BETA] + q[THETA]);
  double r = rr * sin(q[BETA]) - d * sin(q[BETA] + q[THETA]);
  double pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  g[0] = p - ss * sin(q[GAMMA]) - xb;
  g[1] = r + ss * cos(q[GAMMA]) - yb;
  g[2] = p - e * sin(pd) - zt * cos(q[DELTA]) - xa;
  g[3] = r + e * cos(pd) - zt * sin(q[DELTA]) - ya;
  g[4] = p - zf * cos(oe) - u * sin(q[EPSILON]) - xa;
  g[5] = r - zf * sin(oe) + u * cos(q[EPSILON]) - ya;
  return 0;
}

static int jacobian(void *user, double t, const double *q, double *j) {
  (void)user, (void)t;
  double bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  double px = d * sin(bt), pb = px - rr * sin(q[BETA]);
  double rx = -d * cos(bt), rb = rx + rr * cos(q[BETA]);
  const double values[] = {pb,
                           px,
                           -ss * cos(q[GAMMA]),
                           rb,
                           rx,
                           -ss * sin(q[GAMMA]),
                           pb,
                           px,
                           -e * cos(pd),
                           -e * cos(pd) + zt * sin(q[DELTA]),
                           rb,
                           rx,
                           -e * sin(pd),
                           -e * sin(pd) - zt * cos(q[DELTA]),
                           pb,
                           px,
                           zf * sin(oe),
                           zf * sin(oe) - u * cos(q[EPSILON]),
                           rb,
                           rx,
                           -zf * cos(oe),
                           -zf * cos(oe) - u * sin(q[EPSILON])};
  memcpy(j, values, sizeof values);
  return 0;
}

static int curvature(void *user, double t, const double *q, const double *v, double *a) {
  (void)user, (void)t;
  double bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  double vb = v[BETA] * v[BETA], vbt = (v[BETA] + v[THETA]) * (v[BETA] + v[THETA]);
  double vpd = (v[PHI] + v[DELTA]) * (v[PHI] + v[DELTA]), vg = v[GAMMA] * v[GAMMA];
  double voe = (v[OMEGA] + v[EPSILON]) * (v[OMEGA] + v[EPSILON]);
  double vd = v[DELTA] * v[DELTA], ve = v[EPSILON] * v[EPSILON];
  double p = -rr * cos(q[BETA]) * vb + d * cos(bt) * vbt;
  double r = -rr * sin(q[BETA]) * vb + d * sin(bt) * vbt;
  a[0] = p + ss * sin(q[GAMMA]) * vg;
  a[1] = r - ss * cos(q[GAMMA]) * vg;
  a[2] = p + e * sin(pd) * vpd + zt * cos(q[DELTA]) * vd;
  a[3] = r - e * cos(pd) * vpd + zt * sin(q[DELTA]) * vd;
  a[4] = p + zf * cos(oe) * voe + u * sin(q[EPSILON]) * ve;
  a[5] = r + zf * sin(oe) * voe - u * cos(q[EPSILON]) * ve;
  return 0;
}

vin_system_desc ivp_andrews_system(void) {
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = N;
  desc.constraints = M;
  desc.mass_pattern = mass_pattern;
  desc.jacobian_pattern = jacobian_pattern;
  desc.mass = mass;
  desc.force = force;
  desc.constraint = constraint;
  desc.jacobian = jacobian;
  desc.curvature = curvature;
  desc.potential = potential;
  return desc;
}

static bool make(ivp_problem *p, const char *directory, int level) {
  static const char file[] = "ivp/andrews.csv";
  vin_system_desc system = ivp_andrews_system();
  if (!ivp_mechanical(p, &system, level)) return false;
  if (!ivp_read_row(directory, file, 0, 0, p->n, p->y0)) return false;
  if (!ivp_read_row(directory, file, 0.03, 0, p->n, p->reference)) return false;
  p->t_end = 0.03;
  p->step = 1e-5;
  p->time_scale = 1e-2;
  p->accuracy = 1e-9;
  for (int i = 0; i < p->n; i++) {
    p->scored[i] = i < 2 * N;
    p->typical[i] = i < N ? 1 : i < 2 * N ? 1e2 : i < 3 * N ? 1e5 : 1e2;
  }
  return true;
}

bool ivp_andrews(ivp_problem *p, const char *directory) {
  return make(p, directory, 0);
}

bool ivp_andrews_2(ivp_problem *p, const char *directory) {
  return make(p, directory, 1);
}

bool ivp_andrews_1(ivp_problem *p, const char *directory) {
  return make(p, directory, 2);
}
