/* test_system_support - see test_system_support.h. */
#include "test_system_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double masses[2] = {2, 3}, drag = 0.4, speed = 5; /* speed: of the drive, rad/s */

/* Every callback ends here: 0, or the failure asked for. */
static int end(const pair *data, const char *name, double *output) {
  if (!data->failing || strcmp(name, data->failing) != 0) return 0;
  if (data->code == 0) *output = NAN;
  return data->code;
}

static int mass(void *user, double t, const double *p, const double *v, double *values) {
  const pair *data = user;
  (void)v;
  for (int i = 0; i < PAIR_N; i++) values[i] = masses[i / 3];
  if (data->fault == MASS_NOT_CONSTANT) values[4] += 0.01 * p[1] / data->scale;
  if (data->fault == MASS_NOT_CONSTANT_T) values[4] += 0.01 * t;
  return end(data, "mass", values + 3);
}

static double radius(const double *r) {
  return sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
}

/* mu = scale^3: accelerations of size scale */
static double strength(const pair *data, int point) {
  return masses[point] * data->scale * data->scale * data->scale;
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  const pair *data = user;
  (void)t;
  for (int i = 0; i < PAIR_N; i++) {
    double r = radius(p + i / 3 * 3);
    f[i] = -strength(data, i / 3) * p[i] / (r * r * r) - drag * v[i];
  }
  return end(data, "force", f + 3);
}

static int force_p(void *user, double t, const double *p, const double *v, double *values) {
  const pair *data = user;
  (void)t, (void)v;
  for (int point = 0; point < 2; point++) {
    const double *x = p + 3 * point;
    double r = radius(x), k = strength(data, point) / (r * r * r);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        values[9 * point + 3 * i + j] = k * (3 * x[i] * x[j] / (r * r) - (i == j));
  }
  if (data->fault == FORCE_P_ENTRY) values[10] *= 1.01;
  return end(data, "force_p", values);
}

static int force_v(void *user, double t, const double *p, const double *v, double *values) {
  const pair *data = user;
  (void)t, (void)p, (void)v;
  for (int i = 0; i < PAIR_N; i++) values[i] = data->fault == FORCE_V_SIGN ? drag : -drag;
  return end(data, "force_v", values);
}

static int potential(void *user, double t, const double *p, double *energy) {
  const pair *data = user;
  (void)t;
  *energy = -strength(data, 0) / radius(p) - strength(data, 1) / radius(p + 3);
  if (data->fault == POTENTIAL_FACTOR) *energy /= 2;
  return end(data, "potential", energy);
}

static int momentum(void *user, double t, const double *p, const double *v, double *linear,
                    double *angular) {
  const pair *data = user;
  (void)t, (void)p;
  for (int i = 0; i < 3; i++) linear[i] = masses[0] * v[i] + masses[1] * v[3 + i];
  for (int i = 0; i < 3; i++) angular[i] = 0;
  return end(data, "momentum", angular + 1);
}

static int constraint(void *user, double t, const double *p, double *phi) {
  const pair *data = user;
  const double d[3] = {p[0] - p[3], p[1] - p[4], p[2] - p[5]}, length = 0.3 * data->scale;
  double r = radius(d);
  phi[0] = data->fault == NOT_QUADRATIC ? r - length : (r * r - length * length) / 2;
  phi[1] = cos(speed * t) * p[0] + sin(speed * t) * p[1];
  return end(data, "constraint", phi + 1);
}

static int jacobian(void *user, double t, const double *p, double *values) {
  const pair *data = user;
  const double d[3] = {p[0] - p[3], p[1] - p[4], p[2] - p[5]};
  double by = data->fault == NOT_QUADRATIC ? radius(d) : 1;
  values[0] = cos(speed * t);
  values[1] = sin(speed * t);
  for (int i = 0; i < 3; i++) values[2 + i] = d[i] / by;
  values[5] = -d[0] / by;
  values[6] = -d[2] / by;
  if (data->fault == JACOBIAN_SIGN)
    values[7] = d[1] / by;
  else if (data->fault != JACOBIAN_MISSING)
    values[7] = -d[1] / by;
  return end(data, "jacobian", values + 2);
}

static int constraint_rate(void *user, double t, const double *p, double *phi_t) {
  const pair *data = user;
  phi_t[0] = 0;
  phi_t[1] = speed * (-sin(speed * t) * p[0] + cos(speed * t) * p[1]);
  if (data->fault == RATE_OMITTED) phi_t[1] = 0;
  return end(data, "constraint_rate", phi_t + 1);
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  const pair *data = user;
  const double d[3] = {p[0] - p[3], p[1] - p[4], p[2] - p[5]};
  const double w[3] = {v[0] - v[3], v[1] - v[4], v[2] - v[5]};
  double dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  double ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  double dw = d[0] * w[0] + d[1] * w[1] + d[2] * w[2];
  a[0] = data->fault == NOT_QUADRATIC ? (ww - dw * dw / dd) / sqrt(dd) : ww;
  double c = cos(speed * t), s = sin(speed * t);
  double factor = data->fault == CURVATURE_FACTOR ? 1 : 2;
  a[1] = factor * speed * (-s * v[0] + c * v[1]) - speed * speed * (c * p[0] + s * p[1]);
  return end(data, "curvature", a + 1);
}

static void position_name(void *user, vin_int index, char *text, size_t size) {
  (void)user;
  snprintf(text, size, "%c of point '%s'", "xyz"[index % 3], index < 3 ? "first" : "second");
}

static void constraint_name(void *user, vin_int row, char *text, size_t size) {
  (void)user;
  snprintf(text, size, "%s", row == 0 ? "rod 'tether'" : "drive 'plane'");
}

static void release(void *user) {
  ((pair *)user)->released++;
}

vin_system_desc pair_desc(pair *data) {
  static const vin_int diagonal[6] = {0, 1, 2, 3, 4, 5};
  static const vin_int row[8] = {1, 1, 0, 0, 0, 0, 0, 0}, column[8] = {0, 1, 0, 1, 2, 3, 5, 4};
  static const vin_int tangent_row[18] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5};
  static const vin_int tangent_column[18] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = PAIR_N;
  desc.constraints = PAIR_M;
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_CONSTRAINT_QUADRATIC;
  if (data->fault == FORCE_NOT_VELOCITY_FREE) desc.flags |= VIN_FORCE_VELOCITY_FREE;
  desc.mass_pattern = (vin_triplets){6, diagonal, diagonal};
  desc.jacobian_pattern = (vin_triplets){data->fault == JACOBIAN_MISSING ? 7 : 8, row, column};
  desc.force_p_pattern = (vin_triplets){18, tangent_row, tangent_column};
  desc.force_v_pattern = (vin_triplets){6, diagonal, diagonal};
  desc.mass = mass;
  desc.force = force;
  desc.constraint = constraint;
  desc.jacobian = jacobian;
  desc.constraint_rate = constraint_rate;
  desc.curvature = curvature;
  desc.potential = potential;
  desc.momentum = momentum;
  desc.force_p = force_p;
  desc.force_v = force_v;
  desc.position_name = position_name;
  desc.constraint_name = constraint_name;
  desc.user = data;
  desc.release = release;
  return desc;
}

void pair_state(const pair *data, int on_manifold, double p[PAIR_N], double v[PAIR_N]) {
  double c = cos(speed * PAIR_TIME), s = sin(speed * PAIR_TIME), unit = data->scale;
  const double off[PAIR_N] = {0.9, 0.35, 0.2, 0.7, 0.1, 0.5};
  const double velocity[PAIR_N] = {0.3, -0.6, 0.2, 0.9, 0.4, -0.7};
  for (int i = 0; i < PAIR_N; i++) v[i] = velocity[i] * unit;
  for (int i = 0; i < PAIR_N; i++) p[i] = off[i] * unit;
  if (!on_manifold) return;
  p[0] = -0.8 * s * unit; /* n r = 0 */
  p[1] = 0.8 * c * unit;
  for (int i = 0; i < 3; i++) p[3 + i] = p[i] + 0.3 * unit * (i == 0 ? 0.6 : i == 1 ? 0 : 0.8);
}
