/* ivp - Fekete points: 20 points on a sphere that repel each other; stabilised index 2, 160
 * unknowns (cran/deTestSet src/Ex_fekete.f). y = (p, q, lambda, mu). The constrained system, index
 * 3, has Phi = |p|^2 - 1, whose multiplier is -lambda. */
#include "ivp.h"

#include <math.h>
#include <string.h>

enum { POINTS = 20, N = 3 * POINTS, SIZE = 2 * N + 2 * POINTS };
static const double ALPHA = 0.5;

/* force[i] += sum over j of (p_i - p_j) / |p_i - p_j|^2 */
static void repel(const double *p, double *force) {
  for (int i = 0; i < POINTS; i++) {
    for (int j = 0; j < i; j++) {
      double d[3], square = 0;
      for (int k = 0; k < 3; k++) {
        d[k] = p[3 * i + k] - p[3 * j + k];
        square += d[k] * d[k];
      }
      for (int k = 0; k < 3; k++) {
        force[3 * i + k] += d[k] / square;
        force[3 * j + k] -= d[k] / square;
      }
    }
  }
}

static int f(void *user, double t, const double *y, double *r) {
  (void)user, (void)t;
  const double *p = y, *q = y + N, *lambda = y + 2 * N, *mu = lambda + POINTS;
  for (int i = 0; i < N; i++) {
    r[i] = q[i] + 2 * mu[i / 3] * p[i];
    r[N + i] = -ALPHA * q[i] + 2 * lambda[i / 3] * p[i];
  }
  repel(p, r + N);
  for (int i = 0; i < POINTS; i++) {
    const double *a = p + 3 * i, *b = q + 3 * i;
    r[2 * N + i] = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] - 1;
    r[2 * N + POINTS + i] = 2 * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
  }
  return 0;
}

/* Block (i, j) of the derivative of the repulsion, column-major: d = p_i - p_j,
 * sign (I / |d|^2 - 2 d d' / |d|^4). */
static void repulsion(const double *p, int i, int j, double sign, double *block) {
  double d[3], square = 0;
  for (int k = 0; k < 3; k++) {
    d[k] = p[3 * i + k] - p[3 * j + k];
    square += d[k] * d[k];
  }
  for (int c = 0; c < 3; c++) {
    for (int r = 0; r < 3; r++) {
      double value = (r == c ? 1 / square : 0) - 2 * d[r] * d[c] / (square * square);
      block[r + 3 * c] += sign * value;
    }
  }
}

/* In the order of pattern(). */
static int jacobian(void *user, double t, const double *y, double *v) {
  (void)user, (void)t;
  const double *p = y, *q = y + N, *lambda = y + 2 * N, *mu = lambda + POINTS;
  for (int i = 0; i < N; i++) {
    *v++ = 1, *v++ = 2 * mu[i / 3], *v++ = 2 * p[i];
    *v++ = -ALPHA, *v++ = 2 * p[i];
    *v++ = 2 * p[i];
    *v++ = 2 * q[i], *v++ = 2 * p[i];
  }
  for (int i = 0; i < POINTS; i++) {
    double own[9] = {0};
    for (int j = 0; j < POINTS; j++) {
      if (j == i) continue;
      double block[9] = {0};
      repulsion(p, i, j, -1, block);
      repulsion(p, i, j, 1, own);
      memcpy(v, block, sizeof block);
      v += 9;
    }
    for (int k = 0; k < 3; k++) own[4 * k] += 2 * lambda[i];
    memcpy(v, own, sizeof own);
    v += 9;
  }
  return 0;
}

static void block_pattern(ivp_problem *problem, int i, int j) {
  for (int c = 0; c < 3; c++) {
    for (int r = 0; r < 3; r++) ivp_depends(problem, N + 3 * i + r, 3 * j + c);
  }
}

static void pattern(ivp_problem *problem) {
  for (int i = 0; i < N; i++) {
    vin_int point = 2 * N + i / 3, hidden = point + POINTS;
    ivp_depends(problem, i, N + i), ivp_depends(problem, i, i), ivp_depends(problem, i, hidden);
    ivp_depends(problem, N + i, N + i), ivp_depends(problem, N + i, point);
    ivp_depends(problem, point, i);
    ivp_depends(problem, hidden, i), ivp_depends(problem, hidden, N + i);
  }
  for (int i = 0; i < POINTS; i++) {
    for (int j = 0; j < POINTS; j++) {
      if (j != i) block_pattern(problem, i, j);
    }
    block_pattern(problem, i, i);
  }
}

static int mass(void *user, double t, const double *p, const double *v, double *m) {
  (void)user, (void)t, (void)p, (void)v;
  for (int i = 0; i < N; i++) m[i] = 1;
  return 0;
}

static int force(void *user, double t, const double *p, const double *v, double *r) {
  (void)user, (void)t;
  for (int i = 0; i < N; i++) r[i] = -ALPHA * v[i];
  repel(p, r);
  return 0;
}

static int constraint(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  for (int i = 0; i < POINTS; i++, p += 3) phi[i] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - 1;
  return 0;
}

static int constraint_jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t;
  for (int i = 0; i < N; i++) values[i] = 2 * p[i];
  return 0;
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)t, (void)p;
  for (int i = 0; i < POINTS; i++, v += 3) a[i] = 2 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  return 0;
}

vin_system_desc ivp_fekete_system(void) {
  static vin_int index[N], point[N];
  for (int i = 0; i < N; i++) index[i] = i, point[i] = i / 3;
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = N, desc.constraints = POINTS;
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){N, index, index};
  desc.jacobian_pattern = (vin_triplets){N, point, index};
  desc.mass = mass, desc.force = force, desc.constraint = constraint;
  desc.jacobian = constraint_jacobian, desc.curvature = curvature;
  return desc;
}

static void start(double *p) {
  static const struct {
    int first, last, count;
    double shift, latitude; /* fractions of pi */
  } ring[4] = {{1, 3, 3, 1.0 / 13, 3.0 / 8},
               {4, 10, 7, 1.0 / 29, 1.0 / 8},
               {11, 16, 6, 1.0 / 7, -2.0 / 15},
               {17, 20, 4, 1.0 / 17, -3.0 / 10}};
  static const int offset[4] = {0, 3, 10, 17};
  double pi = acos(-1);
  for (int k = 0; k < 4; k++) {
    for (int i = ring[k].first; i <= ring[k].last; i++, p += 3) {
      double a = 2 * pi * (i - offset[k]) / ring[k].count + pi * ring[k].shift;
      double b = pi * ring[k].latitude;
      p[0] = cos(a) * cos(b), p[1] = sin(a) * cos(b), p[2] = sin(b);
    }
  }
}

bool ivp_fekete(ivp_problem *p, const char *directory) {
  if (!ivp_size(p, SIZE)) return false;
  p->index = 2;
  p->t_end = 1000;
  p->step = 0.1;
  p->f = f;
  p->jacobian = jacobian;
  p->accuracy = 1e-9;
  p->system = ivp_fekete_system();
  pattern(p);
  for (int i = 0; i < 2 * N; i++) ivp_mass(p, i, i, 1);
  start(p->y0);
  for (int i = 0; i < SIZE; i++) {
    p->scored[i] = i < N;
    if (i >= 2 * N) p->variable_index[i] = 2;
    if (i >= 2 * N && i < 2 * N + POINTS) p->y0[i] = -4.75;
  }
  return ivp_read_components(p, directory, "ivp/fekete_end_values.csv");
}
