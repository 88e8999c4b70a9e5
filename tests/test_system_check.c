/* test_system_check - the derivative checker finds every kind of mistake and no others. */
#include "test_system_support.h"
#include "vincula/system.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

/* ---- mistakes -------------------------------------------------------------------------------- */

static vin_derivative_check checked(pair *data, int on_manifold, vin_status *status) {
  vin_system_desc desc = pair_desc(data);
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
  double p[PAIR_N], v[PAIR_N];
  pair_state(data, on_manifold, p, v);
  vin_derivative_check check;
  *status = vin_system_check(system, PAIR_TIME, p, v, 1, &check);
  vin_system_destroy(system);
  return check;
}

static const double scales[] = {1e-6, 1, 1e7};
#define EACH_PLACE(scale, on)                                                                      \
  for (int scale = 0; scale < 3; scale++)                                                          \
    for (int on = 0; on < 2; on++)

Test(system_check, accepts_correct_derivatives) {
  EACH_PLACE(scale, on) {
    pair data = {.scale = scales[scale]};
    vin_status status;
    vin_derivative_check check = checked(&data, on, &status);
    cr_expect_eq(status, VIN_OK, "scale %g: %s", scales[scale], check.text);
    cr_expect_eq(check.wrong, 0);
    cr_expect_null(check.function);
    cr_expect_str_eq(check.text, "");
  }
}

/* Each mistake: found at all scales, on the constraints and off, alone (no other entry is blamed),
 * and by its name. wrong: entries, 0: depends on the place. */
typedef struct expectation {
  fault fault;
  const char *function, *words;
  vin_int row, col;
  int wrong;
} expectation;

static const expectation expectations[] = {
    {JACOBIAN_SIGN, "jacobian", "rod 'tether'", 0, 4, 2}, /* and the curvature no longer fits it */
    {JACOBIAN_MISSING, "jacobian", "y of point 'second'", 0, 4, 2},
    {CURVATURE_FACTOR, "curvature", "drive 'plane'", 1, -1, 1},
    {RATE_OMITTED, "constraint_rate", "drive 'plane'", 1, -1, 0},
    {FORCE_P_ENTRY, "force_p", "y of point 'second'", 3, 4, 1},
    {FORCE_V_SIGN, "force_v", "column", -2, -2, 6},
    {POTENTIAL_FACTOR, "potential", "of point", -2, -1, 0},
    {MASS_NOT_CONSTANT, "flags", "VIN_MASS_CONSTANT", -1, -1, 1},
    {MASS_NOT_CONSTANT_T, "flags", "VIN_MASS_CONSTANT", -1, -1, 1},
    {FORCE_NOT_VELOCITY_FREE, "flags", "VIN_FORCE_VELOCITY_FREE", -1, -1, 1},
    {NOT_QUADRATIC, "flags", "VIN_CONSTRAINT_QUADRATIC", -1, -1, 1},
};

Test(system_check, finds_every_mistake) {
  for (size_t k = 0; k < sizeof expectations / sizeof *expectations; k++) {
    const expectation *e = &expectations[k];
    EACH_PLACE(scale, on) {
      pair data = {.scale = scales[scale], .fault = e->fault};
      if (e->fault == JACOBIAN_SIGN && on) continue; /* there the entry is zero */
      if (e->fault == JACOBIAN_MISSING && on) continue;
      vin_status status;
      vin_derivative_check check = checked(&data, on, &status);
      cr_expect_eq(status, VIN_CHECK_FAILED, "fault %d, scale %g, on %d", (int)e->fault,
                   scales[scale], on);
      if (status != VIN_CHECK_FAILED) continue;
      cr_expect_str_eq(check.function, e->function, "fault %d: %s", (int)e->fault, check.text);
      cr_expect(strstr(check.text, e->words), "fault %d: %s", (int)e->fault, check.text);
      if (e->row > -2) cr_expect_eq(check.row, e->row, "%s", check.text);
      if (e->col > -2) cr_expect_eq(check.col, e->col, "%s", check.text);
      if (e->wrong)
        cr_expect_eq(check.wrong, e->wrong, "fault %d: %d wrong, scale %g: %s", (int)e->fault,
                     check.wrong, scales[scale], check.text);
    }
  }
}

/* The numbers of the worst entry are those of the callback and of the truth. */
Test(system_check, numbers_of_the_worst_entry) {
  pair data = {.scale = 1, .fault = FORCE_V_SIGN};
  vin_status status;
  vin_derivative_check check = checked(&data, 0, &status);
  cr_expect_eq(check.given, 0.4);
  cr_expect_float_eq(check.expected, -0.4, 1e-9);
  cr_expect_float_eq(check.error, 2, 1e-8);
}

/* ---- correct systems of other kinds ---------------------------------------------------------- */

static int unit_mass(void *user, double t, const double *p, const double *v, double *m) {
  (void)user, (void)t, (void)p, (void)v;
  for (int i = 0; i < 4; i++) m[i] = 5e-4;
  return 0;
}

/* The car axis of the IVP test set, L = 1, r = 0.1, w = 10, every length times *user. */
typedef struct axis {
  double x, y, dx, dy, ddx, ddy; /* the moving end: position, velocity, acceleration */
} axis;

static axis axis_at(double scale, double t) {
  double r = 0.1 * scale, w = 10;
  axis a = {.y = r * sin(w * t), .dy = r * w * cos(w * t)};
  a.ddy = -w * w * a.y;
  a.x = sqrt(scale * scale - a.y * a.y);
  a.dx = -a.y * a.dy / a.x;
  a.ddx = -(a.dy * a.dy + a.y * a.ddy) / a.x + a.y * a.dy * a.dx / (a.x * a.x);
  return a;
}

static int axis_force(void *user, double t, const double *p, const double *v, double *f) {
  double scale = *(const double *)user;
  axis a = axis_at(scale, t);
  double left = hypot(p[0], p[1]), x = p[2] - a.x, y = p[3] - a.y, right = hypot(x, y);
  (void)v;
  f[0] = (0.5 * scale - left) * p[0] / left;
  f[1] = (0.5 * scale - left) * p[1] / left - 5e-4 * scale;
  f[2] = (0.5 * scale - right) * x / right;
  f[3] = (0.5 * scale - right) * y / right - 5e-4 * scale;
  return 0;
}

static int axis_constraint(void *user, double t, const double *p, double *phi) {
  double scale = *(const double *)user, x = p[0] - p[2], y = p[1] - p[3];
  axis a = axis_at(scale, t);
  phi[0] = a.x * p[0] + a.y * p[1];
  phi[1] = x * x + y * y - scale * scale;
  return 0;
}

static int axis_jacobian(void *user, double t, const double *p, double *j) {
  axis a = axis_at(*(const double *)user, t);
  j[0] = a.x, j[1] = a.y;
  j[2] = 2 * (p[0] - p[2]), j[3] = 2 * (p[1] - p[3]), j[4] = -j[2], j[5] = -j[3];
  return 0;
}

static int axis_rate(void *user, double t, const double *p, double *phi_t) {
  axis a = axis_at(*(const double *)user, t);
  phi_t[0] = a.dx * p[0] + a.dy * p[1];
  phi_t[1] = 0;
  return 0;
}

static int axis_curvature(void *user, double t, const double *p, const double *v, double *out) {
  axis a = axis_at(*(const double *)user, t);
  double x = v[0] - v[2], y = v[1] - v[3];
  out[0] = 2 * (a.dx * v[0] + a.dy * v[1]) + a.ddx * p[0] + a.ddy * p[1];
  out[1] = 2 * (x * x + y * y);
  return 0;
}

/* At its published start, where several entries are exactly zero, at a general time, and with the
 * velocity zero. */
Test(system_check, accepts_the_car_axis) {
  static const vin_int diagonal[4] = {0, 1, 2, 3}, row[6] = {0, 0, 1, 1, 1, 1};
  static const vin_int col[6] = {0, 1, 0, 1, 2, 3};
  for (int k = 0; k < 9; k++) {
    double scale = scales[k % 3];
    vin_system_desc desc = vin_system_desc_default();
    desc.positions = 4;
    desc.constraints = 2;
    desc.flags =
        VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_CONSTRAINT_QUADRATIC | VIN_FORCE_VELOCITY_FREE;
    desc.mass_pattern = (vin_triplets){4, diagonal, diagonal};
    desc.jacobian_pattern = (vin_triplets){6, row, col};
    desc.mass = unit_mass;
    desc.force = axis_force;
    desc.constraint = axis_constraint;
    desc.jacobian = axis_jacobian;
    desc.constraint_rate = axis_rate;
    desc.curvature = axis_curvature;
    desc.user = &scale;
    vin_system *system = NULL;
    cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
    double p[4] = {0, 0.5 * scale, scale, 0.5 * scale}, v[4] = {-0.5 * scale, 0, -0.5 * scale, 0};
    for (int i = 0; i < 4 && k >= 6; i++) v[i] = 0;
    vin_derivative_check check;
    vin_status status = vin_system_check(system, k < 3 ? 0 : 0.77, p, v, 1, &check);
    cr_expect_eq(status, VIN_OK, "scale %g: %s", scale, check.text);
    vin_system_destroy(system);
  }
}

/* A bead on a wheel: an angle beside coordinates of size *user, entries of one row from 1 to
 * 1e7. */
static int bead_mass(void *user, double t, const double *p, const double *v, double *m) {
  (void)user, (void)t, (void)p, (void)v;
  m[0] = m[1] = m[2] = 1;
  return 0;
}

static int bead_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)p, (void)v;
  f[0] = 0, f[1] = -9.81, f[2] = 0;
  return 0;
}

static int bead_constraint(void *user, double t, const double *p, double *phi) {
  double radius = *(const double *)user;
  (void)t;
  phi[0] = p[0] - radius * cos(p[2]);
  phi[1] = p[1] - radius * sin(p[2]);
  return 0;
}

static int bead_jacobian(void *user, double t, const double *p, double *j) {
  double radius = *(const double *)user;
  (void)t;
  j[0] = 1, j[1] = radius * sin(p[2]), j[2] = 1, j[3] = -radius * cos(p[2]);
  return 0;
}

static int bead_wrong_jacobian(void *user, double t, const double *p, double *j) {
  bead_jacobian(user, t, p, j);
  j[2] = 0.99; /* small beside the 1e7 in the same row */
  return 0;
}

static int bead_potential(void *user, double t, const double *p, double *energy) {
  (void)user, (void)t;
  *energy = 9.81 * p[1];
  return 0;
}

Test(system_check, mixed_units) {
  static const vin_int diagonal[3] = {0, 1, 2}, row[4] = {0, 0, 1, 1}, col[4] = {0, 2, 1, 2};
  for (int k = 0; k < 10; k++) {
    double radius = scales[k % 3];
    vin_system_desc desc = vin_system_desc_default();
    desc.positions = 3;
    desc.constraints = 2;
    desc.mass_pattern = (vin_triplets){3, diagonal, diagonal};
    desc.jacobian_pattern = (vin_triplets){4, row, col};
    desc.mass = bead_mass;
    desc.force = bead_force;
    desc.constraint = bead_constraint;
    desc.jacobian = k < 9 ? bead_jacobian : bead_wrong_jacobian;
    desc.potential = bead_potential;
    if (k == 9) radius = 1e5;
    desc.user = &radius;
    vin_system *system = NULL;
    cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
    double angle = k < 3 ? 0.7 : k < 6 ? 0 : 3; /* 0: entries that vanish */
    double p[3] = {radius * cos(angle), radius * sin(angle), angle}, v[3] = {1, 2, 3};
    vin_derivative_check check;
    vin_status status = vin_system_check(system, 0, p, v, 1, &check);
    cr_expect_eq(status, k < 9 ? VIN_OK : VIN_CHECK_FAILED, "radius %g: %s", radius, check.text);
    if (k == 9) cr_expect(check.row == 1 && check.col == 1, "%s", check.text);
    vin_system_destroy(system);
  }
}

/* ---- what can go wrong with the check itself ------------------------------------------------- */

Test(system_check, bad_arguments_and_failing_callbacks) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK);
  double p[PAIR_N], v[PAIR_N];
  pair_state(&data, 1, p, v);
  vin_derivative_check check;
  cr_expect_eq(vin_system_check(system, 0, NULL, v, 1, &check), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_system_check(system, 0, p, v, 1, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_system_check(system, NAN, p, v, 1, &check), VIN_ERR_BAD_INPUT);
  p[2] = INFINITY;
  cr_expect_eq(vin_system_check(system, 0, p, v, 1, &check), VIN_ERR_BAD_INPUT);
  cr_expect(strstr(check.text, "NaN or infinite"), "%s", check.text);
  pair_state(&data, 1, p, v);
  static const char *const names[] = {"mass",      "force",           "constraint",
                                      "jacobian",  "constraint_rate", "curvature",
                                      "potential", "force_p",         "force_v"};
  for (int k = 0; k < 9; k++) {
    for (int code = -1; code <= 1; code += 2) {
      data.failing = names[k];
      data.code = code;
      vin_status status = vin_system_check(system, PAIR_TIME, p, v, 1, &check);
      cr_expect_eq(status, code < 0 ? VIN_ERR_CALLBACK : VIN_RETRY, "%s: %s", names[k],
                   vin_status_name(status));
      cr_expect(strstr(check.text, names[k]), "%s", check.text);
    }
    data.code = 0; /* NaN */
    vin_status status = vin_system_check(system, PAIR_TIME, p, v, 1, &check);
    cr_expect_neq(status, VIN_OK, "%s", names[k]);
    cr_expect(strstr(check.text, names[k]), "%s", check.text);
  }
  data.failing = NULL;
  data.fault = POTENTIAL_FACTOR; /* skipped on request */
  cr_expect_eq(vin_system_check(system, PAIR_TIME, p, v, 0, &check), VIN_OK, "%s", check.text);
  vin_system_destroy(system);
}
