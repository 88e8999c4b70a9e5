/* Small DAEs for tests of projections, see dae_small.h. */
#include "dae_small.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { PAIRS = TEST_DAE_SMALL * TEST_DAE_SMALL };
static vin_int row_of[PAIRS], col_of[PAIRS];

static int small_f(void *user, double t, const double *y, double *f) {
  test_dae_small *s = user;
  s->f(t, y, f);
  if (++s->calls != s->fail_call) return 0;
  if (s->fail_code == 0) f[s->n - 1] = NAN;
  return s->fail_code;
}

static vin_triplets small_pattern(const test_dae_small *s) {
  vin_int count = 0;
  for (vin_int i = 0; i < s->n; i++)
    for (vin_int j = 0; j < s->n; j++) {
      if (s->index == 2 && i >= s->d && j >= s->d) continue;
      row_of[count] = i, col_of[count++] = j;
    }
  return (vin_triplets){count, row_of, col_of};
}

static int small_jacobian(void *user, double t, const double *y, double *values) {
  const test_dae_small *s = user;
  double j[TEST_DAE_SMALL][TEST_DAE_SMALL] = {{0}};
  s->jacobian(t, y, j);
  vin_triplets p = small_pattern(s);
  for (vin_int e = 0; e < p.count; e++) values[e] = j[p.row[e]][p.col[e]];
  return 0;
}

static int small_inside(void *user, double t, const double *y) {
  (void)t;
  return fabs(y[0]) < ((const test_dae_small *)user)->limit;
}

vin_dae *test_dae_small_create(test_dae_small *s) {
  vin_int index[TEST_DAE_SMALL];
  for (vin_int i = 0; i < s->n; i++) index[i] = i < s->d ? 1 : s->index;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = s->n, desc.differential = s->d;
  desc.function = small_f;
  desc.jacobian = s->differences ? NULL : small_jacobian;
  desc.jacobian_pattern = small_pattern(s);
  desc.in_domain = s->limit > 0 ? small_inside : NULL;
  desc.index = index, desc.user = s;
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  return dae;
}

vin_dae_projector *test_dae_small_projector(test_dae_small *s,
                                            const vin_dae_projection_options *options) {
  vin_dae *dae = test_dae_small_create(s);
  vin_dae_projector *p = NULL;
  vin_status status = vin_dae_projector_create(&p, NULL, dae, options);
  vin_dae_destroy(dae);
  cr_assert_eq(status, VIN_OK, "%s", vin_dae_projector_error(p));
  return p;
}

vin_dae_projection_options test_coupled(void) {
  vin_dae_projection_options options = vin_dae_projection_options_default();
  options.coupling = VIN_COUPLING_COUPLED;
  return options;
}

void test_f42(double t, const double *y, double *f) {
  (void)t;
  f[0] = -y[0], f[1] = -y[1];
  f[2] = y[2] - 2, f[3] = y[1] * y[1] + y[3] * y[3] - 2;
}
void test_j42(double t, const double *y, double j[TEST_DAE_SMALL][TEST_DAE_SMALL]) {
  (void)t;
  j[0][0] = j[1][1] = -1, j[2][2] = 1;
  j[3][1] = 2 * y[1], j[3][3] = 2 * y[3];
}

static void pendulum2(double t, const double *y, double *f) {
  (void)t;
  f[0] = y[2], f[1] = y[3];
  f[2] = -y[0] * y[4], f[3] = -9.81 - y[1] * y[4];
  f[4] = y[0] * y[2] + y[1] * y[3];
}
static void pendulum2_jacobian(double t, const double *y,
                               double j[TEST_DAE_SMALL][TEST_DAE_SMALL]) {
  (void)t;
  j[0][2] = j[1][3] = 1;
  j[2][0] = j[3][1] = -y[4], j[2][4] = -y[0], j[3][4] = -y[1];
  j[4][0] = y[2], j[4][1] = y[3], j[4][2] = y[0], j[4][3] = y[1];
}
test_dae_small test_dae_small_pendulum(void) {
  return (test_dae_small){
      .n = 5, .d = 4, .index = 2, .f = pendulum2, .jacobian = pendulum2_jacobian};
}

int test_circle(void *user, double t, const double *y, double *c) {
  (void)user, (void)t;
  c[0] = (y[0] * y[0] + y[1] * y[1] - 1) / 2;
  return 0;
}
static int circle_jacobian(void *user, double t, const double *y, double *values) {
  (void)user, (void)t;
  values[0] = y[0], values[1] = y[1];
  return 0;
}
static const vin_int circle_row[] = {0, 0}, circle_col[] = {0, 1};
void test_add_circle(vin_dae_projection_options *options) {
  options->invariants = 1;
  options->invariant_pattern = (vin_triplets){2, circle_row, circle_col};
  options->invariant = test_circle, options->invariant_jacobian = circle_jacobian;
}

void test_pendulum_conditions(const double *y, double *c,
                              double a[TEST_CONDITIONS][TEST_PENDULUM]) {
  double x = y[0], z = y[1], u = y[2], v = y[3], l = y[4], r = x * x + z * z;
  c[0] = x * u + z * v;
  c[1] = u * u + v * v - 9.81 * z - l * r;
  c[2] = (r - 1) / 2;
  const double rows[TEST_CONDITIONS][TEST_PENDULUM] = {
      {u, v, x, z, 0}, {-2 * l * x, -9.81 - 2 * l * z, 2 * u, 2 * v, -r}, {x, z, 0, 0, 0}};
  memcpy(a, rows, sizeof rows);
}

static void pendulum1(double t, const double *y, double *f) {
  pendulum2(t, y, f);
  f[4] = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1] - y[4] * (y[0] * y[0] + y[1] * y[1]);
}
static void pendulum1_jacobian(double t, const double *y,
                               double j[TEST_DAE_SMALL][TEST_DAE_SMALL]) {
  double c[TEST_CONDITIONS], a[TEST_CONDITIONS][TEST_PENDULUM];
  pendulum2_jacobian(t, y, j);
  test_pendulum_conditions(y, c, a);
  memcpy(j[4], a[1], TEST_PENDULUM * sizeof(double));
}

test_dae_small test_dae_small_pendulum_1(void) {
  test_dae_small s = test_dae_small_pendulum();
  s.index = 1, s.f = pendulum1, s.jacobian = pendulum1_jacobian;
  return s;
}

const double test_pendulum_off[TEST_PENDULUM] = {0.62, -0.79, 0.85, 0.6, 9};
