/* Constrained systems with known solutions, see problems.h. */
#include "problems.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *demand(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  cr_assert_not_null(memory);
  return memory;
}

/* Ends of rod r: d = p_a - p_b (or - the fixed end at time t) and its rate. */
static void difference(const test_mechanism *x, int r, double t, const double *p, const double *v,
                       double *d, double *rate) {
  const test_rod *rod = &x->rod[r];
  for (int i = 0; i < x->dim; i++) {
    d[i] = p[rod->a * x->dim + i];
    rate[i] = v == NULL ? 0 : v[rod->a * x->dim + i];
    d[i] -= rod->b >= 0 ? p[rod->b * x->dim + i] : rod->anchor[i];
    if (v != NULL && rod->b >= 0) rate[i] -= v[rod->b * x->dim + i];
  }
  if (rod->b >= 0) return;
  d[0] -= x->amplitude * sin(x->frequency * t);
  rate[0] -= x->amplitude * x->frequency * cos(x->frequency * t);
}

static double dot(int dim, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < dim; i++) sum += a[i] * b[i];
  return sum;
}

/* dPhi/dd = factor * d */
static double rod_factor(const test_mechanism *x, int r, const double *d) {
  switch (x->form) {
  case TEST_HALVED:
    return 1 / x->rod[r].length;
  case TEST_SQUARE:
    return 2;
  default:
    return 1 / sqrt(dot(x->dim, d, d));
  }
}

static int rods_constraint(void *user, double t, const double *p, double *phi) {
  const test_mechanism *x = user;
  for (int r = 0; r < x->rods; r++) {
    double d[3], rate[3], length = x->rod[r].length;
    difference(x, r, t, p, NULL, d, rate);
    double square = dot(x->dim, d, d);
    phi[r] = x->form == TEST_LENGTH ? sqrt(square) - length : square - length * length;
    if (x->form == TEST_HALVED) phi[r] /= 2 * length;
  }
  return 0;
}

static int rods_jacobian(void *user, double t, const double *p, double *values) {
  const test_mechanism *x = user;
  for (int r = 0; r < x->rods; r++) {
    double d[3], rate[3];
    difference(x, r, t, p, NULL, d, rate);
    double factor = rod_factor(x, r, d);
    for (int i = 0; i < x->dim; i++) *values++ = factor * d[i];
    for (int i = 0; i < x->dim && x->rod[r].b >= 0; i++) *values++ = -factor * d[i];
  }
  return 0;
}

static int rods_rate(void *user, double t, const double *p, double *phi_t) {
  const test_mechanism *x = user;
  for (int r = 0; r < x->rods; r++) {
    double d[3], rate[3];
    difference(x, r, t, p, NULL, d, rate);
    phi_t[r] = x->rod[r].b >= 0 ? 0 : rod_factor(x, r, d) * d[0] * rate[0];
  }
  return 0;
}

static int rods_curvature(void *user, double t, const double *p, const double *v, double *a) {
  const test_mechanism *x = user;
  for (int r = 0; r < x->rods; r++) {
    double d[3], rate[3];
    difference(x, r, t, p, v, d, rate);
    double along = dot(x->dim, d, rate), w = x->frequency;
    double sum = dot(x->dim, rate, rate);
    if (x->rod[r].b < 0) sum += d[0] * x->amplitude * w * w * sin(w * t); /* -d . s'' */
    if (x->form == TEST_LENGTH) sum -= along * along / dot(x->dim, d, d);
    a[r] = rod_factor(x, r, d) * sum + x->curvature_error;
  }
  return 0;
}

static int points_force(void *user, double t, const double *p, const double *v, double *f) {
  test_mechanism *x = user;
  (void)t;
  for (int k = 0; k < x->points; k++) {
    const double *r = p + k * x->dim, *u = v + k * x->dim;
    double distance = sqrt(dot(x->dim, r, r)), speed = sqrt(dot(x->dim, u, u));
    for (int i = 0; i < x->dim; i++) {
      double *at = &f[k * x->dim + i];
      *at = x->mass[k] * x->gravity[i] - x->damping * speed * u[i];
      if (x->mu > 0) *at -= x->mu * x->mass[k] * r[i] / (distance * distance * distance);
    }
  }
  return 0;
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  test_mechanism *x = user;
  int code = x->force(user, t, p, v, f);
  if (++x->calls != x->fail_call) return code;
  if (x->fail_code == 0) f[x->n - 1] = NAN;
  return x->fail_code;
}

static int mass(void *user, double t, const double *p, const double *v, double *values) {
  const test_mechanism *x = user;
  (void)t, (void)p, (void)v;
  for (vin_int i = 0; i < x->n; i++) values[i] = x->mass[i / x->dim];
  return 0;
}

static void position_name(void *user, vin_int index, char *text, size_t size) {
  const test_mechanism *x = user;
  snprintf(text, size, "%c of point %d", "xyz"[index % x->dim], (int)index / x->dim);
}

static void constraint_name(void *user, vin_int row, char *text, size_t size) {
  (void)user;
  snprintf(text, size, "rod %d", (int)row);
}

/* Elongation in m. */
static double rod_gap(void *user, vin_int row, double phi) {
  const test_mechanism *x = user;
  if (x->rods == 0 || x->form == TEST_LENGTH) return phi;
  double length = x->rod[row].length;
  if (x->form == TEST_HALVED) phi *= 2 * length;
  return sqrt(fmax(0, phi + length * length)) - length;
}

test_mechanism *test_mechanism_blank(int dim, int points, int constraints) {
  test_mechanism *x = demand(1, sizeof *x);
  x->dim = dim;
  x->points = points;
  x->n = dim * points;
  x->m = constraints;
  x->p = demand((size_t)x->n, sizeof *x->p);
  x->v = demand((size_t)x->n, sizeof *x->v);
  x->mass = demand((size_t)points, sizeof *x->mass);
  for (int k = 0; k < points; k++) x->mass[k] = 1;
  x->force = points_force;
  return x;
}

test_mechanism *test_points(int dim, int points, int rods) {
  test_mechanism *x = test_mechanism_blank(dim, points, rods);
  x->rods = rods;
  x->rod = demand((size_t)rods, sizeof *x->rod);
  for (int r = 0; r < rods; r++) x->rod[r] = (test_rod){.b = -1, .length = 1};
  x->constraint = rods_constraint;
  x->jacobian = rods_jacobian;
  x->curvature = rods_curvature;
  return x;
}

/* Jacobian pattern: rod by rod, or full rows for a system without rods. */
static vin_int pattern(const test_mechanism *x, vin_int *row, vin_int *col) {
  vin_int count = 0;
  for (vin_int c = 0; c < x->m; c++) {
    for (vin_int i = 0; i < (x->rods > 0 ? x->dim : x->n); i++, count++) {
      row[count] = c;
      col[count] = x->rods > 0 ? x->rod[c].a * x->dim + i : i;
    }
    for (vin_int i = 0; x->rods > 0 && x->rod[c].b >= 0 && i < x->dim; i++, count++) {
      row[count] = c;
      col[count] = x->rod[c].b * x->dim + i;
    }
  }
  return count;
}

void test_mechanism_build(test_mechanism *x, const vin_context *context) {
  vin_system_desc desc = vin_system_desc_default();
  vin_int width = x->rods > 0 ? 2 * x->dim : x->n;
  vin_int *row = demand((size_t)(x->m * width), sizeof *row);
  vin_int *col = demand((size_t)(x->m * width), sizeof *col);
  vin_int *diagonal = demand((size_t)x->n, sizeof *diagonal);
  for (vin_int i = 0; i < x->n; i++) diagonal[i] = i;
  desc.positions = x->n;
  desc.constraints = x->m;
  desc.flags = VIN_MASS_DIAGONAL;
  if (!x->mass_varies) desc.flags |= VIN_MASS_CONSTANT;
  if (x->damping == 0) desc.flags |= VIN_FORCE_VELOCITY_FREE;
  desc.mass_pattern = (vin_triplets){x->n, diagonal, diagonal};
  desc.jacobian_pattern = (vin_triplets){pattern(x, row, col), row, col};
  desc.mass = mass;
  desc.force = force;
  desc.constraint = x->constraint;
  desc.jacobian = x->jacobian;
  desc.constraint_rate = x->amplitude != 0 ? rods_rate : x->constraint_rate;
  desc.curvature = x->curvature;
  desc.position_name = position_name;
  desc.constraint_name = constraint_name;
  desc.constraint_gap = rod_gap;
  desc.user = x;
  vin_status status = vin_system_create(&x->system, context, &desc);
  free(row);
  free(col);
  free(diagonal);
  cr_assert_eq(status, VIN_OK, "%s", vin_system_error(x->system));
}

void test_mechanism_free(test_mechanism *x) {
  if (x == NULL) return;
  vin_system_destroy(x->system);
  free(x->p);
  free(x->v);
  free(x->mass);
  free(x->rod);
  free(x);
}

test_mechanism *test_planar_pendulum(void) {
  test_mechanism *x = test_points(2, 1, 1);
  x->gravity[1] = -1;
  x->p[1] = -1;
  x->v[0] = 1;
  return x;
}

test_mechanism *test_spherical_pendulum(void) {
  static const double p[3] = {0.6, 0, -0.8}, v[3] = {0.4, 0.9, 0.3};
  test_mechanism *x = test_points(3, 1, 1);
  x->gravity[2] = -1;
  memcpy(x->p, p, sizeof p);
  memcpy(x->v, v, sizeof v);
  return x;
}

/* x^6 + y^4 + z^2 = 0.625, U = z^4 */
static int modified_constraint(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  phi[0] = pow(p[0], 6) + pow(p[1], 4) + p[2] * p[2] - 0.625;
  return 0;
}

static int modified_jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t;
  values[0] = 6 * pow(p[0], 5);
  values[1] = 4 * pow(p[1], 3);
  values[2] = 2 * p[2];
  return 0;
}

static int modified_curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)t;
  a[0] = 30 * pow(p[0], 4) * v[0] * v[0] + 12 * p[1] * p[1] * v[1] * v[1] + 2 * v[2] * v[2];
  return 0;
}

static int modified_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)v;
  f[0] = f[1] = 0;
  f[2] = -4 * pow(p[2], 3);
  return 0;
}

test_mechanism *test_modified_pendulum(void) {
  test_mechanism *x = test_mechanism_blank(3, 1, 1);
  x->constraint = modified_constraint;
  x->jacobian = modified_jacobian;
  x->curvature = modified_curvature;
  x->force = modified_force;
  x->p[0] = sqrt(0.5);
  x->p[2] = -sqrt(0.5);
  x->v[1] = pow(2, -0.25);
  return x;
}

test_mechanism *test_triangle(void) {
  static const int ends[3][2] = {{0, 1}, {1, 2}, {2, 0}};
  test_mechanism *x = test_points(3, 3, 3);
  double low = 20 - sqrt(3) / 2;
  double p[9] = {0, 0.5, 20, 0, -0.5, 20, 0, 0, low};
  memcpy(x->p, p, sizeof p);
  x->v[6] = sqrt(2 * (2 / sqrt(400.25) + 1 / low)); /* total energy 0 */
  x->mu = 1;
  for (int r = 0; r < 3; r++) x->rod[r] = (test_rod){ends[r][0], ends[r][1], {0}, 1};
  return x;
}

test_mechanism *test_chain(int links, double length, double mass_of_each) {
  test_mechanism *x = test_points(2, links, links);
  x->gravity[1] = -9.81;
  for (int k = 0; k < links; k++) {
    x->p[2 * k] = (k + 1) * length;
    x->mass[k] = mass_of_each;
    x->rod[k] = (test_rod){.a = k, .b = k - 1, .length = length};
  }
  return x;
}

test_mechanism *test_two_rods(double distance) {
  test_mechanism *x = test_points(2, 1, 2);
  x->rod[1].anchor[0] = distance;
  x->p[0] = distance / 2;
  x->p[1] = -sqrt(fmax(0, 1 - distance * distance / 4));
  return x;
}

test_mechanism *test_four_bar(double crank, double coupler, double rocker, double ground,
                              double angle) {
  test_mechanism *x = test_points(2, 2, 3);
  x->gravity[1] = -9.81;
  x->rod[0] = (test_rod){.a = 0, .b = -1, .length = crank};
  x->rod[1] = (test_rod){.a = 1, .b = 0, .length = coupler};
  x->rod[2] = (test_rod){.a = 1, .b = -1, .anchor = {ground}, .length = rocker};
  double *q = x->p;
  q[0] = crank * cos(angle), q[1] = crank * sin(angle);
  /* intersection of the circles about the crank's end and the rocker's pivot */
  double e[2] = {ground - q[0], -q[1]}, d = hypot(e[0], e[1]);
  double along = (coupler * coupler - rocker * rocker + d * d) / (2 * d);
  double across = sqrt(coupler * coupler - along * along);
  q[2] = q[0] + (along * e[0] - across * e[1]) / d;
  q[3] = q[1] + (along * e[1] + across * e[0]) / d;
  return x;
}

test_mechanism *test_pendulum(double angle, double angular_velocity) {
  test_mechanism *x = test_points(2, 1, 1);
  x->gravity[1] = -9.81;
  x->p[0] = sin(angle), x->p[1] = -cos(angle);
  x->v[0] = angular_velocity * cos(angle), x->v[1] = angular_velocity * sin(angle);
  return x;
}

double test_energy(const test_mechanism *x, const double *p, const double *v) {
  double energy = 0;
  for (int k = 0; k < x->points; k++) {
    const double *r = p + k * x->dim, *u = v + k * x->dim;
    energy += x->mass[k] * (dot(x->dim, u, u) / 2 - dot(x->dim, x->gravity, r));
    if (x->mu > 0) energy -= x->mu * x->mass[k] / sqrt(dot(x->dim, r, r));
  }
  return energy;
}

double test_angular_momentum(const test_mechanism *x, const double *p, const double *v) {
  double sum = 0;
  for (int k = 0; k < x->points; k++) {
    const double *r = p + k * x->dim, *u = v + k * x->dim;
    sum += x->mass[k] * (r[0] * u[1] - r[1] * u[0]);
  }
  return sum;
}

/* NaN counts as infinite. */
static double largest(vin_int count, const double *x) {
  double max = 0;
  for (vin_int i = 0; i < count; i++)
    if (!(fabs(x[i]) <= max)) max = isnan(x[i]) ? INFINITY : fabs(x[i]);
  return max;
}

double test_constraint_max(const test_mechanism *x, double t, const double *p) {
  double *phi = demand((size_t)x->m, sizeof *phi);
  x->constraint((void *)x, t, p, phi);
  double max = largest(x->m, phi);
  free(phi);
  return max;
}

double test_hidden_max(const test_mechanism *x, double t, const double *p, const double *v) {
  vin_int width = x->rods > 0 ? 2 * x->dim : x->n;
  vin_int *row = demand((size_t)(x->m * width), sizeof *row);
  vin_int *col = demand((size_t)(x->m * width), sizeof *col);
  double *values = demand((size_t)(x->m * width), sizeof *values);
  double *h = demand((size_t)x->m, sizeof *h);
  vin_int count = pattern(x, row, col);
  x->jacobian((void *)x, t, p, values);
  if (x->amplitude != 0) rods_rate((void *)x, t, p, h);
  if (x->constraint_rate != NULL) x->constraint_rate((void *)x, t, p, h);
  for (vin_int k = 0; k < count; k++) h[row[k]] += values[k] * v[col[k]];
  double max = largest(x->m, h);
  free(row);
  free(col);
  free(values);
  free(h);
  return max;
}
