/* model - Newtonian attraction to a fixed centre: V = -mu m / |r - centre|. A slender rod is
 * replaced by three Gauss points along it, and the force is the exact gradient of that quadrature's
 * potential, so that energy is conserved as well as by a point mass. */
#include "model/compiled.h"

#include <math.h>

/* Gauss-Legendre on [0, 1], exact to degree 5: x(s) = (1 - s) xa + s xb. */
#define GAUSS_POINTS 3
static const double gauss_s[GAUSS_POINTS] = {0.11270166537925831148, 0.5, 0.88729833462074168852};
static const double gauss_weight[GAUSS_POINTS] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};

/* r = x - centre, returns |r|. */
VINI_INLINE double radius(const vini_compiled *c, const double x[3], double r[3]) {
  vini_difference(c->centre, x, r);
  return sqrt(vini_dot(r, r));
}

VINI_INLINE void gauss_point(const double *xa, const double *xb, double s, double x[3]) {
  for (int i = 0; i < 3; i++) x[i] = (1.0 - s) * xa[i] + s * xb[i];
}

/* r = x - centre; returns -mu m / |r|^3, so that the force is this times r. It is infinite at the
 * centre, and the callers look at that once for all masses instead of branching at each. */
VINI_INLINE double attract(const vini_compiled *c, double mass, const double x[3], double r[3]) {
  const double length = radius(c, x, r);
  return -c->mu * mass / (length * length * length);
}

bool vini_central_force(const vini_compiled *c, const double *p, double *f) {
  double total = 0.0; /* not finite when one of the factors is not */
  for (vin_int k = 0; k < c->free_nodes; k++) {
    double r[3];
    if (c->point[k] == 0.0) continue;
    const double factor = attract(c, c->point[k], p + 3 * (size_t)k, r);
    total += factor;
    vini_add_scaled(f, 3 * k, factor, r);
  }
  for (vin_int k = 0; c->rod_mass != NULL && k < c->rods; k++) {
    if (c->rod_mass[k] == 0.0) continue;
    const vin_int a = c->rod_a[k], b = c->rod_b[k];
    const double *xa = vini_at(c, p, a), *xb = vini_at(c, p, b);
    for (int g = 0; g < GAUSS_POINTS; g++) {
      double x[3], r[3];
      gauss_point(xa, xb, gauss_s[g], x);
      const double factor = attract(c, gauss_weight[g] * c->rod_mass[k], x, r);
      total += factor;
      vini_add_scaled(f, a, (1.0 - gauss_s[g]) * factor, r);
      vini_add_scaled(f, b, gauss_s[g] * factor, r);
    }
  }
  return isfinite(total);
}

bool vini_central_potential(const vini_compiled *c, const double *p, double *energy) {
  vini_sum sum = {0.0, 0.0};
  double r[3], x[3];
  for (vin_int k = 0; k < c->free_nodes; k++) {
    if (c->point[k] == 0.0) continue;
    vini_sum_add(&sum, -c->mu * c->point[k] / radius(c, p + 3 * (size_t)k, r));
  }
  for (vin_int k = 0; c->rod_mass != NULL && k < c->rods; k++) {
    if (c->rod_mass[k] == 0.0) continue;
    const double *xa = vini_at(c, p, c->rod_a[k]), *xb = vini_at(c, p, c->rod_b[k]);
    for (int g = 0; g < GAUSS_POINTS; g++) {
      gauss_point(xa, xb, gauss_s[g], x);
      vini_sum_add(&sum, -c->mu * gauss_weight[g] * c->rod_mass[k] / radius(c, x, r));
    }
  }
  *energy += sum.value + sum.rest;
  return isfinite(sum.value);
}

void vini_central_find(const vini_compiled *c, const double *p, vin_int *node, vin_int *rod) {
  double r[3], x[3];
  *node = *rod = -1;
  for (vin_int k = 0; k < c->free_nodes; k++) {
    if (c->point[k] == 0.0 || isfinite(attract(c, c->point[k], p + 3 * (size_t)k, r))) continue;
    *node = k;
    return;
  }
  for (vin_int k = 0; c->rod_mass != NULL && k < c->rods; k++) {
    const double *xa = vini_at(c, p, c->rod_a[k]), *xb = vini_at(c, p, c->rod_b[k]);
    for (int g = 0; c->rod_mass[k] > 0.0 && g < GAUSS_POINTS; g++) {
      gauss_point(xa, xb, gauss_s[g], x);
      if (isfinite(attract(c, c->rod_mass[k], x, r))) continue;
      *rod = k;
      return;
    }
  }
}

/* ---- tangent ------------------------------------------------------------------------------------
 */

/* T = df/dx of a mass point, -mu m / |r|^3 (I - 3 r r' / |r|^2). */
VINI_INLINE void point_tangent(const vini_compiled *c, double mass, const double x[3],
                               double T[9]) {
  double r[3];
  const double factor = attract(c, mass, x, r), across = -3.0 * factor / vini_dot(r, r);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) T[3 * i + j] = across * r[i] * r[j] + (i == j ? factor : 0.0);
  }
}

/* Blocks of one rod: aa with (1-s)^2, ab and ba with s (1-s), bb with s^2. */
static void rod_tangent(const vini_compiled *c, vin_int k, const double *p, double aa[9],
                        double ab[9], double bb[9]) {
  const double *xa = vini_at(c, p, c->rod_a[k]), *xb = vini_at(c, p, c->rod_b[k]);
  for (int g = 0; g < GAUSS_POINTS; g++) {
    const double s = gauss_s[g];
    double x[3], T[9];
    gauss_point(xa, xb, s, x);
    point_tangent(c, gauss_weight[g] * c->rod_mass[k], x, T);
    for (int i = 0; i < 9; i++) {
      aa[i] += (1.0 - s) * (1.0 - s) * T[i];
      ab[i] += s * (1.0 - s) * T[i];
      bb[i] += s * s * T[i];
    }
  }
}

VINI_INLINE void walk_central(vini_mode mode, const vini_compiled *c, const double *p,
                              vini_sink *sink) {
  for (vin_int k = 0; k < c->free_nodes; k++) {
    double H[9] = {0.0};
    if (c->point[k] == 0.0) continue;
    if (mode == VINI_VALUES) point_tangent(c, c->point[k], p + 3 * (size_t)k, H);
    vini_emit_block(mode, sink, 3 * k, 3 * k, 1.0, H);
  }
  for (vin_int k = 0; c->rod_mass != NULL && k < c->rods; k++) {
    double aa[9] = {0.0}, ab[9] = {0.0}, bb[9] = {0.0};
    if (c->rod_mass[k] == 0.0) continue;
    const vin_int a = c->rod_a[k], b = c->rod_b[k];
    if (mode == VINI_VALUES) rod_tangent(c, k, p, aa, ab, bb);
    vini_emit_block(mode, sink, a, a, 1.0, aa);
    vini_emit_block(mode, sink, a, b, 1.0, ab);
    vini_emit_block(mode, sink, b, a, 1.0, ab);
    vini_emit_block(mode, sink, b, b, 1.0, bb);
  }
}

int64_t vini_central_tangent(const vini_compiled *c, const double *p, vin_int *row, vin_int *col,
                             double *values) {
  vini_sink sink = {.row = row, .col = col, .value = values};
  if (c->mu == 0.0) return 0;
  if (values != NULL) {
    walk_central(VINI_VALUES, c, p, &sink);
  } else if (row != NULL) {
    walk_central(VINI_PATTERN, c, p, &sink);
  } else {
    walk_central(VINI_COUNT, c, p, &sink);
  }
  return sink.count;
}
