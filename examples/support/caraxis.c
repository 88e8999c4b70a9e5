/* caraxis.c - equations of the car axis.
 *
 * Two loads of mass k at p = (xl, yl, xr, yr) stand on springs and are kept 1 apart. The foot of
 * the right spring, (xb, yb), follows a bumpy road, yb = bump sin(frequency t), xb^2 + yb^2 = 1;
 * the left load stays on a line that turns with it:
 *     Phi_1 = xb xl + yb yl = 0,
 *     Phi_2 = (xl - xr)^2 + (yl - yr)^2 - 1 = 0.
 * Derivatives, with u the left velocity minus the right one:
 *     Phi_1t = xb' xl + yb' yl,    Phi_2t = 0,
 *     a_1 = 2 (xb' xl' + yb' yl') + xb'' xl + yb'' yl,    a_2 = 2 |u|^2. */
#include "caraxis.h"

#include <math.h>

/* The road: position, velocity and acceleration of the foot of the right spring. */
typedef struct road {
  double x, y, dx, dy, ddx, ddy;
} road;

static road road_at(const caraxis *c, double t) {
  double w = c->frequency, s = c->bump * sin(w * t);
  road r = {.y = s, .dy = w * c->bump * cos(w * t), .ddy = -w * w * s};
  r.x = sqrt(1.0 - r.y * r.y);
  r.dx = -r.y * r.dy / r.x; /* from x^2 + y^2 = 1, differentiated once and twice */
  r.ddx = -(r.dx * r.dx + r.dy * r.dy + r.y * r.ddy) / r.x;
  return r;
}

static int mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)t, (void)p, (void)v;
  for (int i = 0; i < 4; i++) values[i] = ((const caraxis *)user)->mass;
  return 0;
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  const caraxis *c = user;
  road r = road_at(c, t);
  (void)v;
  double left = hypot(p[0], p[1]), right = hypot(p[2] - r.x, p[3] - r.y);
  f[0] = (c->rest - left) * p[0] / left;
  f[1] = (c->rest - left) * p[1] / left - c->mass;
  f[2] = (c->rest - right) * (p[2] - r.x) / right;
  f[3] = (c->rest - right) * (p[3] - r.y) / right - c->mass;
  return 0;
}

static int potential(void *user, double t, const double *p, double *energy) {
  const caraxis *c = user;
  road r = road_at(c, t);
  double left = hypot(p[0], p[1]) - c->rest, right = hypot(p[2] - r.x, p[3] - r.y) - c->rest;
  *energy = 0.5 * (left * left + right * right) + c->mass * (p[1] + p[3]);
  return 0;
}

static int constraint(void *user, double t, const double *p, double *phi) {
  road r = road_at(user, t);
  double dx = p[0] - p[2], dy = p[1] - p[3];
  phi[0] = r.x * p[0] + r.y * p[1];
  phi[1] = dx * dx + dy * dy - 1.0;
  return 0;
}

/* Where the entries of Phi_p stand, and their values in the same order. */
static const vin_int jacobian_row[] = {0, 0, 1, 1, 1, 1}, jacobian_col[] = {0, 1, 0, 1, 2, 3};
static int jacobian(void *user, double t, const double *p, double *values) {
  road r = road_at(user, t);
  double dx = p[0] - p[2], dy = p[1] - p[3];
  values[0] = r.x, values[1] = r.y;
  values[2] = 2.0 * dx, values[3] = 2.0 * dy, values[4] = -2.0 * dx, values[5] = -2.0 * dy;
  return 0;
}

static int constraint_rate(void *user, double t, const double *p, double *phi_t) {
  road r = road_at(user, t);
  phi_t[0] = r.dx * p[0] + r.dy * p[1];
  phi_t[1] = 0.0;
  return 0;
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  road r = road_at(user, t);
  double ux = v[0] - v[2], uy = v[1] - v[3];
  a[0] = 2.0 * (r.dx * v[0] + r.dy * v[1]) + r.ddx * p[0] + r.ddy * p[1];
  a[1] = 2.0 * (ux * ux + uy * uy);
  return 0;
}

vin_system_desc caraxis_describe(caraxis *data) {
  static const vin_int diagonal[] = {0, 1, 2, 3};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 4, desc.constraints = 2;
  desc.flags =
      VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_FORCE_VELOCITY_FREE | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){.count = 4, .row = diagonal, .col = diagonal};
  desc.jacobian_pattern = (vin_triplets){.count = 6, .row = jacobian_row, .col = jacobian_col};
  desc.mass = mass, desc.force = force, desc.potential = potential;
  desc.constraint = constraint, desc.jacobian = jacobian;
  desc.constraint_rate = constraint_rate, desc.curvature = curvature;
  desc.user = data;
  return desc;
}
