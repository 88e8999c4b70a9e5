/* model - forces, potential energy and momentum; central gravity is in central.c. */
#include "model/compiled.h"

#include <math.h>

/* ---- springs ------------------------------------------------------------------------------------
 */

/* The force on end a along the unit vector u from a to b: k (r - L) + c u.w. */
static void add_spring_forces(const vini_compiled *c, const double *p, const double *v, double *f) {
  for (vin_int k = 0; k < c->springs; k++) {
    const vin_int a = c->spring_a[k], b = c->spring_b[k];
    double d[3], w[3];
    vini_difference(vini_at(c, p, a), vini_at(c, p, b), d);
    const double r = sqrt(vini_dot(d, d));
    if (r == 0.0) continue; /* no direction, no force */
    for (int i = 0; i < 3; i++) d[i] /= r;
    double tension = c->stiffness[k] * (r - c->spring_length[k]);
    if (c->damping[k] > 0.0) {
      vini_difference(vini_velocity_at(v, a), vini_velocity_at(v, b), w);
      tension += c->damping[k] * vini_dot(d, w);
    }
    vini_add_scaled(f, a, tension, d);
    vini_add_scaled(f, b, -tension, d);
  }
}

int vini_model_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)t;
  const vini_compiled *c = user;
  const double gx = c->gravity[0], gy = c->gravity[1], gz = c->gravity[2];
  for (vin_int k = 0; k < c->free_nodes; k++) {
    f[3 * k] = c->weight[k] * gx;
    f[3 * k + 1] = c->weight[k] * gy;
    f[3 * k + 2] = c->weight[k] * gz;
  }
  add_spring_forces(c, p, v, f);
  return c->mu == 0.0 || vini_central_force(c, p, f) ? 0 : 1;
}

/* V = - sum w g.x + sum k/2 (r - L)^2 + central gravity */
int vini_model_potential(void *user, double t, const double *p, double *energy) {
  (void)t;
  const vini_compiled *c = user;
  vini_sum sum = {.value = c->fixed_potential};
  for (vin_int k = 0; k < c->free_nodes; k++) {
    vini_sum_add(&sum, -c->weight[k] * vini_dot(c->gravity, p + 3 * (size_t)k));
  }
  for (vin_int k = 0; k < c->springs; k++) {
    double d[3];
    vini_difference(vini_at(c, p, c->spring_a[k]), vini_at(c, p, c->spring_b[k]), d);
    const double stretch = sqrt(vini_dot(d, d)) - c->spring_length[k];
    vini_sum_add(&sum, 0.5 * c->stiffness[k] * stretch * stretch);
  }
  double central = 0.0;
  if (c->mu != 0.0 && !vini_central_potential(c, p, &central)) return 1;
  vini_sum_add(&sum, central);
  *energy = sum.value + sum.rest;
  return 0;
}

/* ---- momentum -----------------------------------------------------------------------------------
 */

static void cross(const double *x, const double *y, double z[3]) {
  z[0] = x[1] * y[2] - x[2] * y[1];
  z[1] = x[2] * y[0] - x[0] * y[2];
  z[2] = x[0] * y[1] - x[1] * y[0];
}

/* With the consistent mass of a slender rod, P = m/2 (va + vb) and
 * L = m/6 (2 xa x va + xa x vb + xb x va + 2 xb x vb); the terms with m/3 are in the diagonal. */
int vini_model_momentum(void *user, double t, const double *p, const double *v, double *linear,
                        double *angular) {
  (void)t;
  const vini_compiled *c = user;
  vini_sum moving[3] = {{0.0, 0.0}}, turning[3] = {{0.0, 0.0}};
  double one[3], other[3];
  for (vin_int k = 0; k < c->free_nodes; k++) {
    const double *x = p + 3 * (size_t)k, *u = v + 3 * (size_t)k;
    cross(x, u, one);
    for (int i = 0; i < 3; i++) {
      vini_sum_add(&moving[i], c->diagonal[k] * u[i]);
      vini_sum_add(&turning[i], c->diagonal[k] * one[i]);
    }
  }
  for (vin_int k = 0; c->rod_mass != NULL && k < c->rods; k++) {
    const vin_int a = c->rod_a[k], b = c->rod_b[k];
    const double *va = vini_velocity_at(v, a), *vb = vini_velocity_at(v, b);
    const double coupling = c->rod_mass[k] / 6.0;
    cross(vini_at(c, p, a), vb, one);
    cross(vini_at(c, p, b), va, other);
    for (int i = 0; i < 3; i++) {
      vini_sum_add(&moving[i], coupling * (va[i] + vb[i]));
      vini_sum_add(&turning[i], coupling * (one[i] + other[i]));
    }
  }
  for (int i = 0; i < 3; i++) {
    linear[i] = moving[i].value + moving[i].rest;
    angular[i] = turning[i].value + turning[i].rest;
  }
  return 0;
}

/* ---- tangents df/dp and df/dv -------------------------------------------------------------------
 */

/* The block G of a matrix that is [-G G; G -G] on the coordinates of a and b. */
VINI_INLINE void emit_pair(vini_mode mode, vini_sink *sink, vin_int a, vin_int b,
                           const double G[9]) {
  vini_emit_block(mode, sink, a, a, -1.0, G);
  vini_emit_block(mode, sink, a, b, 1.0, G);
  vini_emit_block(mode, sink, b, a, 1.0, G);
  vini_emit_block(mode, sink, b, b, -1.0, G);
}

/* G = d(T u)/dd with T = k (r - L) + c u.w and P = I - u u':
 * G = k u u' + c u (P w)'/r + T/r P. Without direction (r = 0): k I, right for a spring with L = 0.
 */
static void spring_tangent(const vini_compiled *c, vin_int k, const double *p, const double *v,
                           double G[9]) {
  const vin_int a = c->spring_a[k], b = c->spring_b[k];
  double u[3], w[3];
  vini_difference(vini_at(c, p, a), vini_at(c, p, b), u);
  vini_difference(vini_velocity_at(v, a), vini_velocity_at(v, b), w);
  const double r = sqrt(vini_dot(u, u)), stiffness = c->stiffness[k], damping = c->damping[k];
  for (int i = 0; i < 3; i++) u[i] = r > 0.0 ? u[i] / r : 0.0;
  const double axial = vini_dot(u, w);
  const double tension = stiffness * (r - c->spring_length[k]) + damping * axial;
  const double across = r > 0.0 ? tension / r : stiffness;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      const double turn = r > 0.0 ? damping * u[i] * (w[j] - axial * u[j]) / r : 0.0;
      G[3 * i + j] = (stiffness - across) * u[i] * u[j] + turn + (i == j ? across : 0.0);
    }
  }
}

VINI_INLINE void walk_spring_p(vini_mode mode, const vini_compiled *c, const double *p,
                               const double *v, vini_sink *sink) {
  for (vin_int k = 0; k < c->springs; k++) {
    double G[9] = {0.0};
    if (mode == VINI_VALUES) spring_tangent(c, k, p, v, G);
    emit_pair(mode, sink, c->spring_a[k], c->spring_b[k], G);
  }
}

/* damped springs only: df_a/dv_b = c u u' */
VINI_INLINE void walk_spring_v(vini_mode mode, const vini_compiled *c, const double *p,
                               vini_sink *sink) {
  for (vin_int k = 0; k < c->springs; k++) {
    if (c->damping[k] == 0.0) continue;
    double G[9] = {0.0};
    if (mode == VINI_VALUES) {
      double d[3];
      vini_difference(vini_at(c, p, c->spring_a[k]), vini_at(c, p, c->spring_b[k]), d);
      const double r = sqrt(vini_dot(d, d));
      for (int i = 0; i < 3; i++) d[i] = r > 0.0 ? d[i] / r : 0.0;
      for (int i = 0; i < 9; i++) G[i] = c->damping[k] * d[i / 3] * d[i % 3];
    }
    emit_pair(mode, sink, c->spring_a[k], c->spring_b[k], G);
  }
}

int64_t vini_force_p_pattern(const vini_compiled *c, vin_int *row, vin_int *col) {
  vini_sink sink = {.row = row, .col = col};
  if (row == NULL) {
    walk_spring_p(VINI_COUNT, c, NULL, NULL, &sink);
    return sink.count + vini_central_tangent(c, NULL, NULL, NULL, NULL);
  }
  walk_spring_p(VINI_PATTERN, c, NULL, NULL, &sink);
  return sink.count + vini_central_tangent(c, NULL, row + sink.count, col + sink.count, NULL);
}

int vini_model_force_p(void *user, double t, const double *p, const double *v, double *values) {
  (void)t;
  vini_sink sink = {.value = values};
  walk_spring_p(VINI_VALUES, user, p, v, &sink);
  vini_central_tangent(user, p, NULL, NULL, values + sink.count);
  return 0; /* a mass at the centre gives NaN, which the system reports */
}

int64_t vini_force_v_pattern(const vini_compiled *c, vin_int *row, vin_int *col) {
  vini_sink sink = {.row = row, .col = col};
  if (row == NULL) {
    walk_spring_v(VINI_COUNT, c, NULL, &sink);
  } else {
    walk_spring_v(VINI_PATTERN, c, NULL, &sink);
  }
  return sink.count;
}

int vini_model_force_v(void *user, double t, const double *p, const double *v, double *values) {
  (void)t, (void)v;
  vini_sink sink = {.value = values};
  walk_spring_v(VINI_VALUES, user, p, &sink);
  return 0;
}
