/* test_dae_project - projection of general DAEs of index 1 and 2: published and independently solved
 * nearest points, size. */
#include "dae_small.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_project);

/* ---- index 1 ------------------------------------------------------------------------------------- */

Test(dae_project, hock_schittkowski_42) {
  for (int differences = 0; differences < 2; differences++) {
    test_dae_small s = {.n = 4,
                        .d = 2,
                        .index = 1,
                        .f = test_f42,
                        .jacobian = test_j42,
                        .differences = differences};
    vin_dae_projection_options options = test_coupled();
    vin_dae_projector *p = test_dae_small_projector(&s, &options);
    double y[4] = {2, 1.2, 1, 1.6};
    vin_dae_projection_report r;
    cr_assert_eq(vin_dae_project(p, 0, y, &r), VIN_OK, "%s", vin_dae_projector_error(p));
    const double best[4] = {2, 0.6 * sqrt(2), 2, 0.8 * sqrt(2)};
    /* the gradient's tolerance, 1e-10, times the size */
    cr_expect_leq(test_max_difference(4, y, best), 1e-9);
    cr_expect_leq(r.constraint_after, 1e-12);
    cr_expect_float_eq(r.constraint_before, 2, 1e-14);
    cr_expect_eq(r.worst, 1);
    cr_expect_str_eq(r.worst_name, "equation 3");
    cr_expect_float_eq(r.differential_correction, 1.2 - 0.6 * sqrt(2), 1e-9);
    vin_dae_projector_destroy(p);
  }
}

/* Sequential: x stays bit for bit, z solves g; the same z as vin_branch finds. */
Test(dae_project, index_1_leaves_x_alone) {
  NEEDS_UMFPACK;
  test_dae_small s = {.n = 4, .d = 2, .index = 1, .f = test_f42, .jacobian = test_j42};
  vin_dae *dae = test_dae_small_create(&s);
  vin_branch *branch = NULL;
  cr_assert_eq(vin_branch_create(&branch, NULL, dae, NULL), VIN_OK);
  vin_dae_projector *p = test_dae_small_projector(&s, NULL);
  double y[4] = {0.3, 1.1, 1, 4}, z[4] = {0.3, 1.1, 1, 4};
  cr_assert_eq(vin_dae_project(p, 0, y, NULL), VIN_OK, "%s", vin_dae_projector_error(p));
  cr_assert_eq(vin_branch_initialise(branch, 0, z, 1e-14, 30, NULL), VIN_OK);
  cr_expect_eq(y[0], 0.3);
  cr_expect_eq(y[1], 1.1);
  cr_expect_leq(test_max_difference(4, y, z), 1e-12);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
  vin_dae_projector_destroy(p);
}

/* ---- index 2 ------------------------------------------------------------------------------------- */

/* sum lambda_i c_i'', by hand too */
static void curvature(const double *y, const double *m, double h[TEST_PENDULUM][TEST_PENDULUM]) {
  memset(h, 0, TEST_PENDULUM * sizeof *h);
  h[0][2] = h[2][0] = h[1][3] = h[3][1] = m[0];
  h[0][0] = h[1][1] = -2 * y[4] * m[1] + m[2];
  h[2][2] = h[3][3] = 2 * m[1];
  h[0][4] = h[4][0] = -2 * y[0] * m[1];
  h[1][4] = h[4][1] = -2 * y[1] * m[1];
}

/* Newton's method on W (y - start) + A' m = 0, c = 0 with exact second derivatives and dense
 * elimination: theory (Q2) without a line of the library. */
static void nearest(const double w[TEST_PENDULUM][TEST_PENDULUM], const double *start, double *y) {
  enum { ALL = TEST_PENDULUM + TEST_CONDITIONS };
  double m[TEST_CONDITIONS] = {0};
  memcpy(y, start, TEST_PENDULUM * sizeof *y);
  for (int iteration = 0; iteration < 30; iteration++) {
    double c[TEST_CONDITIONS], a[TEST_CONDITIONS][TEST_PENDULUM], h[TEST_PENDULUM][TEST_PENDULUM],
        k[ALL * ALL] = {0}, b[ALL];
    test_pendulum_conditions(y, c, a);
    curvature(y, m, h);
    for (int i = 0; i < TEST_PENDULUM; i++) {
      b[i] = 0;
      for (int j = 0; j < TEST_PENDULUM; j++) {
        k[i + j * ALL] = w[i][j] + h[i][j];
        b[i] -= w[i][j] * (y[j] - start[j]);
      }
      for (int r = 0; r < TEST_CONDITIONS; r++) {
        k[i + (TEST_PENDULUM + r) * ALL] = k[TEST_PENDULUM + r + i * ALL] = a[r][i];
        b[i] -= a[r][i] * m[r];
      }
    }
    for (int r = 0; r < TEST_CONDITIONS; r++) b[TEST_PENDULUM + r] = -c[r];
    cr_assert(test_dense_solve(ALL, k, b, b));
    for (int i = 0; i < TEST_PENDULUM; i++) y[i] += b[i];
    for (int r = 0; r < TEST_CONDITIONS; r++) m[r] += b[TEST_PENDULUM + r];
  }
}

/* Three metrics: identity, diagonal, full; all levels at once. */
Test(dae_project, coupled_index_2_is_the_nearest_point) {
  static const double weights[TEST_PENDULUM] = {1, 4, 0.5, 0.25, 0.01};
  static const vin_int row[] = {0, 1, 1, 2, 3, 4, 4}, col[] = {0, 0, 1, 2, 3, 0, 4};
  static const double value[] = {2, 0.5, 1, 0.7, 0.3, 0.05, 0.02};
  for (int metric = 0; metric < 3; metric++) {
    double w[TEST_PENDULUM][TEST_PENDULUM] = {{0}};
    vin_dae_projection_options options = test_coupled();
    test_add_circle(&options);
    if (metric == 1) options.weights = weights;
    if (metric == 2) {
      options.metric_pattern = (vin_triplets){7, row, col};
      options.metric_values = value;
    }
    for (int i = 0; i < TEST_PENDULUM; i++)
      w[i][i] = metric == 1 ? weights[i] : metric == 0 ? 1 : 0;
    for (int e = 0; metric == 2 && e < 7; e++) w[row[e]][col[e]] = w[col[e]][row[e]] = value[e];
    test_dae_small s = test_dae_small_pendulum();
    vin_dae_projector *p = test_dae_small_projector(&s, &options);
    double y[TEST_PENDULUM], best[TEST_PENDULUM];
    memcpy(y, test_pendulum_off, sizeof y);
    vin_dae_projection_report r;
    cr_assert_eq(vin_dae_project(p, 0, y, &r), VIN_OK, "%s", vin_dae_projector_error(p));
    nearest(w, test_pendulum_off, best);
    /* linear convergence to a relative gradient of 1e-10 */
    cr_expect_leq(test_max_difference(TEST_PENDULUM, y, best), 1e-8, "metric %d", metric);
    cr_expect_leq(r.constraint_after, 1e-12);
    cr_expect_leq(r.hidden_after, 1e-11); /* rounding of terms of size 20 */
    cr_expect_leq(r.invariant_after, 1e-12);
    vin_dae_projector_destroy(p);
  }
}

/* Sequential: x = nearest on the circle and q v = 0 (without l), then l = (v v - g y) / q q. */
Test(dae_project, sequential_index_2_takes_x_then_z) {
  for (int differences = 0; differences < 2; differences++) {
    test_dae_small s = test_dae_small_pendulum();
    s.differences = differences;
    vin_dae_projection_options options = vin_dae_projection_options_default();
    test_add_circle(&options);
    vin_dae_projector *p = test_dae_small_projector(&s, &options);
    double y[TEST_PENDULUM];
    memcpy(y, test_pendulum_off, sizeof y);
    vin_dae_projection_report r;
    cr_assert_eq(vin_dae_project(p, 0, y, &r), VIN_OK, "%s", vin_dae_projector_error(p));
    double l = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1];
    /* differences know h to 1e-9 */
    cr_expect_float_eq(y[4], l, differences ? 1e-8 : 1e-11);
    cr_expect_leq(r.invariant_after, 1e-12);
    /* x is stationary: W = I, the residual x - x~ is in the span of the gradients */
    double c[TEST_CONDITIONS], a[TEST_CONDITIONS][TEST_PENDULUM], e[4];
    test_pendulum_conditions(y, c, a);
    for (int i = 0; i < 4; i++) e[i] = y[i] - test_pendulum_off[i];
    double g00 = test_dot(4, a[0], a[0]), g01 = test_dot(4, a[0], a[2]),
           g11 = test_dot(4, a[2], a[2]), b0 = test_dot(4, a[0], e), b1 = test_dot(4, a[2], e);
    double det = g00 * g11 - g01 * g01, m0 = (b0 * g11 - b1 * g01) / det,
           m1 = (b1 * g00 - b0 * g01) / det;
    for (int i = 0; i < 4; i++)
      cr_expect_float_eq(e[i], m0 * a[0][i] + m1 * a[2][i], 1e-9, "component %d", i);
    vin_dae_projector_destroy(p);
  }
}

/* A constraint that moves with the time: 0 = x - sin t, x' = z: z = cos t. */
static void moving(double t, const double *y, double *f) {
  f[0] = y[1], f[1] = y[0] - sin(t);
}
static void moving_jacobian(double t, const double *y, double j[TEST_DAE_SMALL][TEST_DAE_SMALL]) {
  (void)t, (void)y;
  j[0][1] = 1, j[1][0] = 1;
}

Test(dae_project, hidden_constraint_has_the_time_derivative) {
  for (int coupling = 0; coupling < 2; coupling++) {
    test_dae_small s = {.n = 2, .d = 1, .index = 2, .f = moving, .jacobian = moving_jacobian};
    vin_dae_projection_options options = vin_dae_projection_options_default();
    options.coupling = coupling ? VIN_COUPLING_COUPLED : VIN_COUPLING_SEQUENTIAL;
    options.time_scale = 1;
    vin_dae_projector *p = test_dae_small_projector(&s, &options);
    double y[2] = {1, 0};
    cr_assert_eq(vin_dae_project(p, 0.7, y, NULL), VIN_OK, "%s", vin_dae_projector_error(p));
    cr_expect_float_eq(y[0], sin(0.7), 1e-12);
    cr_expect_float_eq(y[1], cos(0.7), 1e-9); /* g_t is a central difference */
    vin_dae_projector_destroy(p);
  }
}

/* Fixed unknowns: with the position kept, velocity and multiplier take all of the correction. */
Test(dae_project, infinite_weights_keep_values) {
  test_dae_small s = test_dae_small_pendulum();
  const double weights[TEST_PENDULUM] = {HUGE_VAL, HUGE_VAL, 1, 1, 1};
  vin_dae_projection_options options = test_coupled();
  options.weights = weights;
  vin_dae_projector *p = test_dae_small_projector(&s, &options);
  double y[TEST_PENDULUM] = {0.6, -0.8, 1, 0.7, 9};
  cr_assert_eq(vin_dae_project(p, 0, y, NULL), VIN_OK, "%s", vin_dae_projector_error(p));
  cr_expect_eq(y[0], 0.6);
  cr_expect_eq(y[1], -0.8);
  cr_expect_float_eq(0.6 * y[2] - 0.8 * y[3], 0, 1e-12);
  vin_dae_projector_destroy(p);
}

/* ---- size ---------------------------------------------------------------------------------------- */

/* A string of n cells, x_i' = z_i - z_{i-1}, 0 = z_i + z_i^3 / 10 - x_i: one analysis, and a work in
 * proportion to the size. */
typedef struct string_data {
  vin_int n, *row, *col;
} string_data;

static int string_f(void *user, double t, const double *y, double *f) {
  const string_data *s = user;
  (void)t;
  const double *z = y + s->n;
  for (vin_int i = 0; i < s->n; i++) {
    f[i] = z[i] - (i > 0 ? z[i - 1] : 0);
    f[s->n + i] = z[i] + z[i] * z[i] * z[i] / 10 - y[i];
  }
  return 0;
}

Test(dae_project, large_problems_take_one_analysis) {
  enum { CELLS = 10000 };
  string_data s = {CELLS, malloc(4 * CELLS * sizeof(vin_int)), malloc(4 * CELLS * sizeof(vin_int))};
  double *y = malloc(2 * CELLS * sizeof *y);
  cr_assert(s.row && s.col && y);
  vin_int count = 0;
  for (vin_int i = 0; i < CELLS; i++) {
    s.row[count] = i, s.col[count++] = CELLS + i;
    if (i > 0) s.row[count] = i, s.col[count++] = CELLS + i - 1;
    s.row[count] = CELLS + i, s.col[count++] = CELLS + i;
    s.row[count] = CELLS + i, s.col[count++] = i;
    y[i] = sin(0.01 * i), y[CELLS + i] = 0.1;
  }
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2 * CELLS, desc.differential = CELLS;
  desc.function = string_f, desc.user = &s;
  desc.jacobian_pattern = (vin_triplets){count, s.row, s.col};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  vin_dae_projection_options options = test_coupled();
  vin_dae_projector *p = NULL;
  cr_assert_eq(vin_dae_projector_create(&p, NULL, dae, &options), VIN_OK, "%s",
               vin_dae_projector_error(p));
  vin_dae_projection_report r;
  cr_assert_eq(vin_dae_project(p, 0, y, &r), VIN_OK, "%s", vin_dae_projector_error(p));
  cr_expect_leq(r.constraint_after, 1e-12);
  /* each cell is a nearest point of its own: (x, z) - start is along (-1, 1 + 0.3 z^2) */
  for (vin_int i = 0; i < CELLS; i++) {
    double z = y[CELLS + i], dx = y[i] - sin(0.01 * i), dz = z - 0.1;
    cr_assert_float_eq(dx * (1 + 0.3 * z * z), -dz, 1e-9);
  }
  cr_expect_eq(vin_dae_projector_get_stats(p).symbolic, 1);
  vin_dae_projector_destroy(p);
  vin_dae_destroy(dae);
  free(s.row), free(s.col), free(y);
}
