/* ivp - slider crank with an elastic connecting rod: index 2, 24 unknowns (cran/deTestSet
 * src/Ex_crank.f; Simeon 1996). p = (phi1, phi2, x3, q1..q4): two lateral sine modes, two axial
 * nodes. The literal 3.1415927 is the test set's. */
#include "ivp.h"

#include <math.h>

#define PI 3.1415927
enum { N = 7, M = 3, MASS = 14, JACOBIAN = 8 };
static const double M2 = 0.151104, M3 = 0.075552, L1 = 0.15, L2 = 0.30, J1 = 0.002727,
                    J2 = 0.0045339259, E = 2e11, H = 0.008, RHO = 7870, OMEGA = 150;
#define FM (RHO * H * H * L2)
#define FK (E * H * H / L2)
#define FB (H * H * L2)

static const vin_int mass_row[MASS] = {0, 1, 1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 6, 6},
                     mass_col[MASS] = {0, 0, 1, 2, 0, 0, 0, 0, 1, 1, 1, 1, 5, 6};
/* the diagonal of the lateral modes and of q3 */
enum { EXTRA = 3, PATTERN = MASS + EXTRA };
static const vin_int jacobian_row[JACOBIAN] = {0, 0, 0, 1, 1, 1, 1, 2},
                     jacobian_col[JACOBIAN] = {0, 1, 6, 0, 1, 2, 6, 0};

static const double c1[4] = {0, 0, 2.0 / 3 * FB, FB / 6}, c2[4] = {2 / PI * FB, 0, 0, 0},
                    c12[4] = {0, 0, L2 *FB / 3, L2 *FB / 6},
                    c21[4] = {L2 * FB / PI, -L2 *FB / (2 * PI), 0, 0};

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

static void mass_times(const double *q, double *r) {
  r[0] = 0.5 * FM * q[0];
  r[1] = 0.5 * FM * q[1];
  r[2] = FM * (8 * q[2] + q[3]);
  r[3] = FM * (q[2] + 2 * q[3]);
}

static void stiffness_times(const double *q, double *r) {
  double slender = H / L2 * (H / L2), pi4 = PI * PI * PI * PI;
  r[0] = FK * pi4 / 24 * slender * q[0];
  r[1] = FK * pi4 * 2 / 3 * slender * q[1];
  r[2] = FK * (16.0 / 3 * q[2] - 8.0 / 3 * q[3]);
  r[3] = FK * (-8.0 / 3 * q[2] + 7.0 / 3 * q[3]);
}

/* BQ q; BQ is skew */
static void skew_times(const double *q, double *r) {
  const double b13 = -16 * FB / (PI * PI * PI), b14 = FB * (8 / (PI * PI * PI) - 1 / PI),
               b24 = FB / (2 * PI);
  r[0] = b13 * q[2] + b14 * q[3];
  r[1] = b24 * q[3];
  r[2] = -b13 * q[0];
  r[3] = -b14 * q[0] - b24 * q[1];
}

static int mass(void *user, double t, const double *p, const double *v, double *m) {
  (void)user, (void)t, (void)v;
  double c = cos(p[0] - p[1]), s = sin(p[0] - p[1]), mq[4], bq[4];
  const double *q = p + 3;
  mass_times(q, mq);
  skew_times(q, bq);
  m[0] = J1 + M2 * L1 * L1;
  m[1] = 0.5 * L1 * L2 * M2 * c + RHO * L1 * (s * dot(c2, q) + c * dot(c1, q));
  m[2] = J2 + dot(q, mq) + 2 * RHO * dot(c12, q);
  m[3] = M3;
  for (int i = 0; i < 4; i++) {
    m[4 + i] = RHO * L1 * (-s * c1[i] + c * c2[i]);
    m[8 + i] = RHO * (c21[i] - bq[i]); /* (q' BQ)_i = -(BQ q)_i */
  }
  m[12] = FM, m[13] = 2 * FM;
  m[14] = m[15] = 0.5 * FM, m[16] = 8 * FM;
  return 0;
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t;
  double c = cos(p[0] - p[1]), s = sin(p[0] - p[1]), v1 = v[0], v2 = v[1];
  const double *q = p + 3, *dq = v + 3;
  double mq[4], mdq[4], kq[4], bdq[4];
  mass_times(q, mq), mass_times(dq, mdq), stiffness_times(q, kq), skew_times(dq, bdq);
  f[0] = -0.5 * L1 * L2 * M2 * v2 * v2 * s +
         RHO * L1 * v2 * v2 * (-s * dot(c1, q) + c * dot(c2, q)) -
         2 * RHO * L1 * v2 * (c * dot(c1, dq) + s * dot(c2, dq));
  f[1] = 0.5 * L1 * L2 * M2 * v1 * v1 * s + RHO * L1 * v1 * v1 * (s * dot(c1, q) - c * dot(c2, q)) -
         2 * RHO * v2 * dot(c12, dq) - 2 * v2 * dot(dq, mq); /* and dq' BQ dq = 0 */
  f[2] = 0;
  for (int i = 0; i < 4; i++) {
    f[3 + i] = v2 * v2 * mq[i] +
               RHO * (v2 * v2 * c12[i] + L1 * v1 * v1 * (c * c1[i] + s * c2[i]) + 2 * v2 * bdq[i]) -
               kq[i];
  }
  return 0;
}

static int constraint(void *user, double t, const double *p, double *g) {
  (void)user;
  double rod = L2 + p[6];
  g[0] = L1 * sin(p[0]) + rod * sin(p[1]);
  g[1] = p[2] - L1 * cos(p[0]) - rod * cos(p[1]);
  g[2] = p[0] - OMEGA * t;
  return 0;
}

static int jacobian(void *user, double t, const double *p, double *j) {
  (void)user, (void)t;
  double rod = L2 + p[6];
  j[0] = L1 * cos(p[0]), j[1] = rod * cos(p[1]), j[2] = sin(p[1]);
  j[3] = L1 * sin(p[0]), j[4] = rod * sin(p[1]), j[5] = 1, j[6] = -cos(p[1]);
  j[7] = 1;
  return 0;
}

static int constraint_rate(void *user, double t, const double *p, double *rate) {
  (void)user, (void)t, (void)p;
  rate[0] = rate[1] = 0;
  rate[2] = -OMEGA;
  return 0;
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)t;
  double rod = L2 + p[6], stretch = 2 * v[6] * v[1], turn = v[1] * v[1], drive = v[0] * v[0];
  a[0] = -L1 * sin(p[0]) * drive + stretch * cos(p[1]) - rod * sin(p[1]) * turn;
  a[1] = L1 * cos(p[0]) * drive + stretch * sin(p[1]) + rod * cos(p[1]) * turn;
  a[2] = 0;
  return 0;
}

vin_system_desc ivp_crank_system(void) {
  static vin_int row[PATTERN], col[PATTERN];
  static const vin_int extra[EXTRA] = {3, 4, 5};
  for (int k = 0; k < PATTERN; k++) {
    row[k] = k < MASS ? mass_row[k] : extra[k - MASS];
    col[k] = k < MASS ? mass_col[k] : extra[k - MASS];
  }
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = N, desc.constraints = M;
  desc.mass_pattern = (vin_triplets){PATTERN, row, col};
  desc.jacobian_pattern = (vin_triplets){JACOBIAN, jacobian_row, jacobian_col};
  desc.mass = mass, desc.force = force;
  desc.constraint = constraint, desc.jacobian = jacobian;
  desc.constraint_rate = constraint_rate, desc.curvature = curvature;
  return desc;
}

bool ivp_crank(ivp_problem *p, const char *directory) {
  static const double start[24] = {0,
                                   0,
                                   .450016933,
                                   0,
                                   0,
                                   .103339863e-4,
                                   .169327969e-4,
                                   150,
                                   -74.9957670,
                                   -.268938672e-5,
                                   .444896105,
                                   .463434311e-2,
                                   -.178591076e-5,
                                   -.268938672e-5,
                                   0,
                                   -1.344541576008661e-3,
                                   -5.062194923138079e3,
                                   -6.833142732779555e-5,
                                   1.449382650173157e-8,
                                   -4.268463211410861,
                                   2.098334687947376e-1,
                                   -6.397251492537153e-8,
                                   3.824589508329281e2,
                                   -4.376060460948886e-9};
  vin_system_desc system = ivp_crank_system();
  if (!ivp_mechanical(p, &system, 1)) return false;
  p->t_end = 0.1;
  p->step = 1e-5;
  p->time_scale = 1e-2;
  p->accuracy = 1e-6;
  p->rounded_start = true;
  for (int i = 0; i < 24; i++) {
    p->y0[i] = start[i];
    p->scored[i] = i < N;
  }
  for (int k = 0; k < 4; k++) {
    p->typical[3 + k] = 1e-5;
    p->typical[10 + k] = 1e-1;
  }
  for (int k = 14; k < 21; k++) p->typical[k] = 1e3;
  for (int k = 21; k < 24; k++) p->typical[k] = 1e2;
  p->typical[7] = p->typical[8] = 1e2;
  return ivp_read_components(p, directory, "ivp/crank_end_values.csv");
}
