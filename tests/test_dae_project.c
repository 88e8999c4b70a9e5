/* test_dae_project - projection of general DAEs of index 1 and 2: published and independently solved
 * nearest points, behind the steps of the integrator, what is refused, what fails. */
#include "dae_pendulum.h"
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_project);

enum { MOST = 8, PAIRS = MOST * MOST };

/* A small problem with full patterns of what each row may depend on. */
typedef struct small {
  vin_int n, d, index;
  void (*f)(double t, const double *y, double *f);
  void (*jacobian)(double t, const double *y, double j[MOST][MOST]);
  bool differences;
  int calls, fail_call, fail_code; /* of f; code 0: NaN */
  double limit;                    /* domain: |y_0| < limit; 0: none */
} small;

static vin_int row_of[PAIRS], col_of[PAIRS];

static int small_f(void *user, double t, const double *y, double *f) {
  small *s = user;
  s->f(t, y, f);
  if (++s->calls != s->fail_call) return 0;
  if (s->fail_code == 0) f[s->n - 1] = NAN;
  return s->fail_code;
}

static vin_triplets small_pattern(const small *s) {
  vin_int count = 0;
  for (vin_int i = 0; i < s->n; i++)
    for (vin_int j = 0; j < s->n; j++) {
      if (s->index == 2 && i >= s->d && j >= s->d) continue;
      row_of[count] = i, col_of[count++] = j;
    }
  return (vin_triplets){count, row_of, col_of};
}

static int small_jacobian(void *user, double t, const double *y, double *values) {
  const small *s = user;
  double j[MOST][MOST] = {{0}};
  s->jacobian(t, y, j);
  vin_triplets p = small_pattern(s);
  for (vin_int e = 0; e < p.count; e++) values[e] = j[p.row[e]][p.col[e]];
  return 0;
}

static int small_inside(void *user, double t, const double *y) {
  (void)t;
  return fabs(y[0]) < ((const small *)user)->limit;
}

static vin_dae *small_dae(small *s) {
  vin_int index[MOST];
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

static vin_dae_projector *projector_of(small *s, const vin_dae_projection_options *options) {
  vin_dae *dae = small_dae(s);
  vin_dae_projector *p = NULL;
  vin_status status = vin_dae_projector_create(&p, NULL, dae, options);
  vin_dae_destroy(dae);
  cr_assert_eq(status, VIN_OK, "%s", vin_dae_projector_error(p));
  return p;
}

static vin_dae_projection_options coupled(void) {
  vin_dae_projection_options options = vin_dae_projection_options_default();
  options.coupling = VIN_COUPLING_COUPLED;
  return options;
}

/* ---- index 1 ------------------------------------------------------------------------------------- */

/* Problem 42 of Hock and Schittkowski is a nearest point: y = (x2, x3 | x1, x4), 0 = x1 - 2, 0 =
 * x3^2 + x4^2 - 2, with the solution (2, 2, 0.6 sqrt 2, 0.8 sqrt 2). Theirs is that of all starts on
 * the ray (3, 4) of x3 and x4; Gauss-Newton needs one within the radius of the circle. */
static void f42(double t, const double *y, double *f) {
  (void)t;
  f[0] = -y[0], f[1] = -y[1];
  f[2] = y[2] - 2, f[3] = y[1] * y[1] + y[3] * y[3] - 2;
}
static void j42(double t, const double *y, double j[MOST][MOST]) {
  (void)t;
  j[0][0] = j[1][1] = -1, j[2][2] = 1;
  j[3][1] = 2 * y[1], j[3][3] = 2 * y[3];
}

Test(dae_project, hock_schittkowski_42) {
  for (int differences = 0; differences < 2; differences++) {
    small s = {.n = 4, .d = 2, .index = 1, .f = f42, .jacobian = j42, .differences = differences};
    vin_dae_projection_options options = coupled();
    vin_dae_projector *p = projector_of(&s, &options);
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
  small s = {.n = 4, .d = 2, .index = 1, .f = f42, .jacobian = j42};
  vin_dae *dae = small_dae(&s);
  vin_branch *branch = NULL;
  cr_assert_eq(vin_branch_create(&branch, NULL, dae, NULL), VIN_OK);
  vin_dae_projector *p = projector_of(&s, NULL);
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

/* The pendulum, x = (q, v), z = l: 0 = q v; the hidden constraint is v v + q v' = 0. */
static void pendulum2(double t, const double *y, double *f) {
  (void)t;
  f[0] = y[2], f[1] = y[3];
  f[2] = -y[0] * y[4], f[3] = -9.81 - y[1] * y[4];
  f[4] = y[0] * y[2] + y[1] * y[3];
}
static void pendulum2_jacobian(double t, const double *y, double j[MOST][MOST]) {
  (void)t;
  j[0][2] = j[1][3] = 1;
  j[2][0] = j[3][1] = -y[4], j[2][4] = -y[0], j[3][4] = -y[1];
  j[4][0] = y[2], j[4][1] = y[3], j[4][2] = y[0], j[4][3] = y[1];
}
static small pendulum_small(void) {
  return (small){.n = 5, .d = 4, .index = 2, .f = pendulum2, .jacobian = pendulum2_jacobian};
}

static int circle(void *user, double t, const double *y, double *c) {
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
static void add_circle(vin_dae_projection_options *options) {
  options->invariants = 1;
  options->invariant_pattern = (vin_triplets){2, circle_row, circle_col};
  options->invariant = circle, options->invariant_jacobian = circle_jacobian;
}

/* Constraints of the pendulum and their gradients, written by hand: velocity, acceleration, circle. */
enum { CONDITIONS = 3, N5 = 5 };
static void conditions(const double *y, double *c, double a[CONDITIONS][N5]) {
  double x = y[0], z = y[1], u = y[2], v = y[3], l = y[4], r = x * x + z * z;
  c[0] = x * u + z * v;
  c[1] = u * u + v * v - 9.81 * z - l * r;
  c[2] = (r - 1) / 2;
  const double rows[CONDITIONS][N5] = {
      {u, v, x, z, 0}, {-2 * l * x, -9.81 - 2 * l * z, 2 * u, 2 * v, -r}, {x, z, 0, 0, 0}};
  memcpy(a, rows, sizeof rows);
}

/* sum lambda_i c_i'', by hand too */
static void curvature(const double *y, const double *m, double h[N5][N5]) {
  memset(h, 0, N5 * sizeof *h);
  h[0][2] = h[2][0] = h[1][3] = h[3][1] = m[0];
  h[0][0] = h[1][1] = -2 * y[4] * m[1] + m[2];
  h[2][2] = h[3][3] = 2 * m[1];
  h[0][4] = h[4][0] = -2 * y[0] * m[1];
  h[1][4] = h[4][1] = -2 * y[1] * m[1];
}

/* Newton's method on W (y - start) + A' m = 0, c = 0 with exact second derivatives and dense
 * elimination: theory (Q2) without a line of the library. */
static void nearest(const double w[N5][N5], const double *start, double *y) {
  enum { ALL = N5 + CONDITIONS };
  double m[CONDITIONS] = {0};
  memcpy(y, start, N5 * sizeof *y);
  for (int iteration = 0; iteration < 30; iteration++) {
    double c[CONDITIONS], a[CONDITIONS][N5], h[N5][N5], k[ALL * ALL] = {0}, b[ALL];
    conditions(y, c, a);
    curvature(y, m, h);
    for (int i = 0; i < N5; i++) {
      b[i] = 0;
      for (int j = 0; j < N5; j++) {
        k[i + j * ALL] = w[i][j] + h[i][j];
        b[i] -= w[i][j] * (y[j] - start[j]);
      }
      for (int r = 0; r < CONDITIONS; r++) {
        k[i + (N5 + r) * ALL] = k[N5 + r + i * ALL] = a[r][i];
        b[i] -= a[r][i] * m[r];
      }
    }
    for (int r = 0; r < CONDITIONS; r++) b[N5 + r] = -c[r];
    cr_assert(test_dense_solve(ALL, k, b, b));
    for (int i = 0; i < N5; i++) y[i] += b[i];
    for (int r = 0; r < CONDITIONS; r++) m[r] += b[N5 + r];
  }
}

static const double off[N5] = {0.62, -0.79, 0.85, 0.6, 9};

/* Three metrics: identity, diagonal, full; all levels at once. */
Test(dae_project, coupled_index_2_is_the_nearest_point) {
  static const double weights[N5] = {1, 4, 0.5, 0.25, 0.01};
  static const vin_int row[] = {0, 1, 1, 2, 3, 4, 4}, col[] = {0, 0, 1, 2, 3, 0, 4};
  static const double value[] = {2, 0.5, 1, 0.7, 0.3, 0.05, 0.02};
  for (int metric = 0; metric < 3; metric++) {
    double w[N5][N5] = {{0}};
    vin_dae_projection_options options = coupled();
    add_circle(&options);
    if (metric == 1) options.weights = weights;
    if (metric == 2) {
      options.metric_pattern = (vin_triplets){7, row, col};
      options.metric_values = value;
    }
    for (int i = 0; i < N5; i++) w[i][i] = metric == 1 ? weights[i] : metric == 0 ? 1 : 0;
    for (int e = 0; metric == 2 && e < 7; e++) w[row[e]][col[e]] = w[col[e]][row[e]] = value[e];
    small s = pendulum_small();
    vin_dae_projector *p = projector_of(&s, &options);
    double y[N5], best[N5];
    memcpy(y, off, sizeof y);
    vin_dae_projection_report r;
    cr_assert_eq(vin_dae_project(p, 0, y, &r), VIN_OK, "%s", vin_dae_projector_error(p));
    nearest(w, off, best);
    /* linear convergence to a relative gradient of 1e-10 */
    cr_expect_leq(test_max_difference(N5, y, best), 1e-8, "metric %d", metric);
    cr_expect_leq(r.constraint_after, 1e-12);
    cr_expect_leq(r.hidden_after, 1e-11); /* rounding of terms of size 20 */
    cr_expect_leq(r.invariant_after, 1e-12);
    vin_dae_projector_destroy(p);
  }
}

/* Sequential: x = nearest on the circle and q v = 0 (without l), then l = (v v - g y) / q q. */
Test(dae_project, sequential_index_2_takes_x_then_z) {
  for (int differences = 0; differences < 2; differences++) {
    small s = pendulum_small();
    s.differences = differences;
    vin_dae_projection_options options = vin_dae_projection_options_default();
    add_circle(&options);
    vin_dae_projector *p = projector_of(&s, &options);
    double y[N5];
    memcpy(y, off, sizeof y);
    vin_dae_projection_report r;
    cr_assert_eq(vin_dae_project(p, 0, y, &r), VIN_OK, "%s", vin_dae_projector_error(p));
    double l = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1];
    /* differences know h to 1e-9 */
    cr_expect_float_eq(y[4], l, differences ? 1e-8 : 1e-11);
    cr_expect_leq(r.invariant_after, 1e-12);
    /* x is stationary: W = I, the residual x - x~ is in the span of the gradients */
    double c[CONDITIONS], a[CONDITIONS][N5], e[4];
    conditions(y, c, a);
    for (int i = 0; i < 4; i++) e[i] = y[i] - off[i];
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
static void moving_jacobian(double t, const double *y, double j[MOST][MOST]) {
  (void)t, (void)y;
  j[0][1] = 1, j[1][0] = 1;
}

Test(dae_project, hidden_constraint_has_the_time_derivative) {
  for (int coupling = 0; coupling < 2; coupling++) {
    small s = {.n = 2, .d = 1, .index = 2, .f = moving, .jacobian = moving_jacobian};
    vin_dae_projection_options options = vin_dae_projection_options_default();
    options.coupling = coupling ? VIN_COUPLING_COUPLED : VIN_COUPLING_SEQUENTIAL;
    options.time_scale = 1;
    vin_dae_projector *p = projector_of(&s, &options);
    double y[2] = {1, 0};
    cr_assert_eq(vin_dae_project(p, 0.7, y, NULL), VIN_OK, "%s", vin_dae_projector_error(p));
    cr_expect_float_eq(y[0], sin(0.7), 1e-12);
    cr_expect_float_eq(y[1], cos(0.7), 1e-9); /* g_t is a central difference */
    vin_dae_projector_destroy(p);
  }
}

/* Fixed unknowns: with the position kept, velocity and multiplier take all of the correction. */
Test(dae_project, infinite_weights_keep_values) {
  small s = pendulum_small();
  const double weights[N5] = {HUGE_VAL, HUGE_VAL, 1, 1, 1};
  vin_dae_projection_options options = coupled();
  options.weights = weights;
  vin_dae_projector *p = projector_of(&s, &options);
  double y[N5] = {0.6, -0.8, 1, 0.7, 9};
  cr_assert_eq(vin_dae_project(p, 0, y, NULL), VIN_OK, "%s", vin_dae_projector_error(p));
  cr_expect_eq(y[0], 0.6);
  cr_expect_eq(y[1], -0.8);
  cr_expect_float_eq(0.6 * y[2] - 0.8 * y[3], 0, 1e-12);
  vin_dae_projector_destroy(p);
}

/* ---- behind the steps of an integrator ----------------------------------------------------------- */

/* The same pendulum with accelerations: index 1, 0 = v v + q v'. */
static void pendulum1(double t, const double *y, double *f) {
  pendulum2(t, y, f);
  f[4] = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1] - y[4] * (y[0] * y[0] + y[1] * y[1]);
}
static void pendulum1_jacobian(double t, const double *y, double j[MOST][MOST]) {
  double c[CONDITIONS], a[CONDITIONS][N5];
  pendulum2_jacobian(t, y, j);
  conditions(y, c, a);
  memcpy(j[4], a[1], N5 * sizeof(double));
}

typedef struct drifts {
  double phi, rate, energy; /* largest over the steps */
  vin_dae_projection_stats stats;
  vin_dae_integrator_stats steps;
} drifts;

static drifts swing(vin_dae_integrator_method method, vin_coupling coupling,
                    const vin_dae_projection_policy *policy) {
  small one = pendulum_small(), two = pendulum_small();
  one.index = 1, one.f = pendulum1, one.jacobian = pendulum1_jacobian;
  vin_dae *dae = small_dae(&one);
  vin_dae_integrator *integrator = NULL;
  vin_dae_integrator_options settings = test_dae_options(method, 1e-6);
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &settings), VIN_OK);
  vin_dae_destroy(dae);
  vin_dae_projection_options options = vin_dae_projection_options_default();
  options.coupling = coupling;
  add_circle(&options);
  vin_dae_projector *p = projector_of(&two, &options);
  if (policy != NULL)
    cr_assert_eq(vin_dae_projector_attach(p, integrator, policy), VIN_OK, "%s",
                 vin_dae_projector_error(p));
  const double start[N5] = {1, 0, 0, 0, 0};
  cr_assert_eq(vin_dae_integrator_start(integrator, 0, start), VIN_OK);
  drifts d = {0};
  while (vin_dae_integrator_state(integrator).t < 20) {
    cr_assert_eq(vin_dae_integrator_step(integrator, 20), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
    const double *y = at.y;
    d.phi = fmax(d.phi, fabs(y[0] * y[0] + y[1] * y[1] - 1) / 2);
    d.rate = fmax(d.rate, fabs(y[0] * y[2] + y[1] * y[3]));
    d.energy = fmax(d.energy, fabs((y[2] * y[2] + y[3] * y[3]) / 2 + 9.81 * y[1]));
    double end[N5]; /* dense output goes through the projected state */
    cr_assert_eq(vin_dae_integrator_interpolate(integrator, at.t, end), VIN_OK);
    cr_expect_leq(test_max_difference(N5, end, y), 1e-14);
  }
  d.stats = vin_dae_projector_get_stats(p);
  d.steps = vin_dae_integrator_get_stats(integrator);
  vin_dae_integrator_destroy(integrator);
  vin_dae_projector_destroy(p);
  return d;
}

Test(dae_project, steps_end_on_the_constraints) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    drifts free = swing(test_dae_methods[m], VIN_COUPLING_COUPLED, NULL);
    cr_assert_geq(free.phi, 1e-7); /* so there is something to do */
    for (int coupling = 0; coupling < 2; coupling++) {
      vin_dae_projection_policy policy = vin_dae_projection_policy_default();
      drifts all = swing(test_dae_methods[m], (vin_coupling)coupling, &policy);
      cr_expect_leq(all.phi, 1e-12);
      cr_expect_leq(all.rate, 1e-11); /* 4 eps times |q| |v|, and its tolerance */
      /* a state moved by less than the error estimate costs no steps to speak of */
      cr_expect_leq(all.steps.steps, free.steps.steps + free.steps.steps / 4);
      cr_expect_eq(all.stats.projections, all.stats.steps);
      cr_expect_geq(all.stats.steps, all.steps.steps);
      cr_expect_eq(all.stats.failures, 0);
      cr_expect_eq(all.stats.symbolic, coupling ? 1 : 2);
      cr_expect_leq(all.energy, fmax(free.energy, 1e-3));
    }
  }
}

/* Every 10th step, or beyond a drift: fewer projections, and the drift stays below what was asked. */
Test(dae_project, policies_project_when_they_say) {
  NEEDS_UMFPACK;
  vin_dae_projection_policy policy = vin_dae_projection_policy_default();
  policy.every = 10;
  drifts tenth = swing(VIN_DAE_BDF, VIN_COUPLING_SEQUENTIAL, &policy);
  cr_expect_eq(tenth.stats.projections, tenth.stats.steps / 10);
  policy.every = 0, policy.drift = 1e-6;
  drifts rare = swing(VIN_DAE_BDF, VIN_COUPLING_SEQUENTIAL, &policy);
  cr_expect_gt(rare.stats.projections, 0);
  cr_expect_lt(rare.stats.projections, rare.stats.steps);
  cr_expect_leq(rare.phi, 1e-6);
  cr_expect_leq(rare.rate, 1e-6);
  cr_expect_gt(rare.stats.drift_max, 1e-6);
}

/* A projection that fails is a failed step; the text says what failed, and the state stays. */
static int refuse(void *user, double t, const double *y, double *c) {
  circle(user, t, y, c);
  return t > 0.5 ? *(const int *)user : 0;
}

Test(dae_project, failed_projection_fails_the_step) {
  NEEDS_UMFPACK;
  static int codes[2] = {1, -1};
  for (int k = 0; k < 2; k++) {
    small one = pendulum_small(), two = pendulum_small();
    one.index = 1, one.f = pendulum1, one.jacobian = pendulum1_jacobian;
    vin_dae *dae = small_dae(&one);
    vin_dae_integrator *integrator = NULL;
    cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_OK);
    vin_dae_destroy(dae);
    vin_dae_projection_options options = vin_dae_projection_options_default();
    add_circle(&options);
    options.invariant = refuse, options.user = &codes[k];
    vin_dae_projector *p = projector_of(&two, &options);
    vin_dae_projection_policy policy = vin_dae_projection_policy_default();
    cr_assert_eq(vin_dae_projector_attach(p, integrator, &policy), VIN_OK);
    const double start[N5] = {1, 0, 0, 0, 0};
    cr_assert_eq(vin_dae_integrator_start(integrator, 0, start), VIN_OK);
    cr_expect_eq(vin_dae_integrator_run(integrator, 1), k ? VIN_ERR_CALLBACK : VIN_RETRY, "%s",
                 vin_dae_integrator_error(integrator));
    cr_expect_leq(vin_dae_integrator_state(integrator).t, 0.5);
    cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), "invariant"), "%s",
                       vin_dae_integrator_error(integrator));
    /* detached, the run goes on from there */
    cr_assert_eq(vin_dae_projector_attach(p, integrator, NULL), VIN_OK);
    cr_expect_eq(vin_dae_integrator_run(integrator, 1), VIN_OK);
    vin_dae_integrator_destroy(integrator);
    vin_dae_projector_destroy(p);
  }
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
  vin_dae_projection_options options = coupled();
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

/* ---- failures ------------------------------------------------------------------------------------ */

static void expect_refused(small *s, const vin_dae_projection_options *options, vin_status status,
                           const char *word) {
  vin_dae *dae = small_dae(s);
  vin_dae_projector *p = NULL;
  cr_expect_eq(vin_dae_projector_create(&p, NULL, dae, options), status);
  cr_expect_not_null(strstr(vin_dae_projector_error(p), word), "%s, not %s",
                     vin_dae_projector_error(p), word);
  double y[MOST] = {0};
  cr_expect_eq(vin_dae_project(p, 0, y, NULL), VIN_ERR_BAD_STATE);
  vin_dae_projector_destroy(p);
  vin_dae_destroy(dae);
}

Test(dae_project, bad_options_are_named) {
  small s = pendulum_small();
  const double negative[N5] = {1, 1, -1, 1, 1}, ones[N5] = {1, 1, 1, 1, 1}, bad[1] = {NAN};
  const vin_int four[] = {4}, zero[] = {0};
  vin_dae_projection_options base = vin_dae_projection_options_default(), o;
  o = base, o.weights = negative, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "weights[2]");
  o = base, o.tolerance = NAN, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "tolerance");
  o = base, o.max_iterations = 0, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "max_iterations");
  o = base, o.time_scale = 0, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "time_scale");
  o = base, o.coupling = (vin_coupling)9, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "coupling");
  o = base, o.invariants = -1, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "invariants");
  o = base, o.invariants = 1, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "invariant callback");
  o = base, o.struct_size = 0, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "struct_size");
  add_circle(&base);
  o = base, o.invariant_pattern = (vin_triplets){1, zero, four};
  expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "VIN_COUPLING_COUPLED");
  o = base, o.metric_pattern = (vin_triplets){1, zero, zero}, o.metric_values = bad;
  expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "metric_values[0]");
  o.metric_values = ones, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "diagonal entry 1");
  o.weights = ones, expect_refused(&s, &o, VIN_ERR_BAD_INPUT, "too much");
  s.index = 3;
  expect_refused(&s, NULL, VIN_ERR_UNSUPPORTED, "index 3");
  cr_expect_eq(vin_dae_projector_create(NULL, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_dae_projector *p = NULL;
  cr_expect_eq(vin_dae_projector_create(&p, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_dae_projector_destroy(p);
  /* not semi-explicit; algebraic unknowns in a constraint of index 2 */
  vin_dae *dae = NULL;
  test_pendulum data = {0};
  cr_assert_eq(test_pendulum_dae(&dae, NULL, &data), VIN_OK);
  cr_expect_eq(vin_dae_projector_create(&p, NULL, dae, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_dae_projector_error(p), "semi-explicit"));
  vin_dae_projector_destroy(p);
  vin_dae_destroy(dae);
}

Test(dae_project, bad_points_leave_y_alone) {
  small s = {.n = 4, .d = 2, .index = 1, .f = f42, .jacobian = j42, .limit = 10};
  vin_dae_projection_options options = coupled();
  vin_dae_projector *p = projector_of(&s, &options);
  double y[4] = {2, NAN, 1, 4};
  cr_expect_eq(vin_dae_project(p, 0, y, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_dae_projector_error(p), "unknown 1"));
  y[1] = 3;
  cr_expect_eq(vin_dae_project(p, INFINITY, y, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_project(p, 0, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_projector_drift(p, 0, y, NULL), VIN_ERR_BAD_INPUT);
  y[0] = 11;
  cr_expect_eq(vin_dae_project(p, 0, y, NULL), VIN_RETRY);
  cr_expect_not_null(strstr(vin_dae_projector_error(p), "domain"));
  cr_expect_eq(y[0], 11);
  cr_expect_eq(vin_dae_projector_attach(p, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_dae_projector_destroy(p);
  cr_expect_eq(vin_dae_project(NULL, 0, y, NULL), VIN_ERR_BAD_INPUT);
}

/* No solution: 0 = z^2 + 1 has none; x1 = 2 twice with other values cannot be met. */
static void impossible(double t, const double *y, double *f) {
  (void)t, f[0] = -y[0], f[1] = y[1] * y[1] + 1;
}
static void impossible_jacobian(double t, const double *y, double j[MOST][MOST]) {
  (void)t, j[0][0] = -1, j[1][1] = 2 * y[1];
}
/* g_z = 0: the index is higher than the declared 1 */
static void higher(double t, const double *y, double *f) {
  (void)t, f[0] = y[1], f[1] = y[0] - 1;
}
static void higher_jacobian(double t, const double *y, double j[MOST][MOST]) {
  (void)t, (void)y, j[0][1] = 1, j[1][0] = 1;
}

Test(dae_project, what_cannot_be_met_is_said) {
  small s = {.n = 2, .d = 1, .index = 1, .f = impossible, .jacobian = impossible_jacobian};
  vin_dae_projector *p = projector_of(&s, NULL);
  double y[2] = {1, 3};
  vin_dae_projection_report r;
  vin_status status = vin_dae_project(p, 0, y, &r);
  cr_expect(status == VIN_INFEASIBLE || status == VIN_SINGULAR || status == VIN_NOT_CONVERGED, "%s",
            vin_status_name(status));
  cr_expect_eq(y[1], 3);
  cr_expect_eq(vin_dae_projector_get_stats(p).failures, 1);
  cr_expect_float_eq(vin_dae_projector_last(p).constraint_before, 10, 1e-15);
  vin_dae_projector_destroy(p);
  small h = {.n = 2, .d = 1, .index = 1, .f = higher, .jacobian = higher_jacobian};
  p = projector_of(&h, NULL);
  double z[2] = {3, 3};
  status = vin_dae_project(p, 0, z, NULL);
  cr_expect(status == VIN_SINGULAR || status == VIN_INFEASIBLE, "%s: %s", vin_status_name(status),
            vin_dae_projector_error(p));
  cr_expect_eq(z[1], 3);
  vin_dae_projector_destroy(p);
}

Test(dae_project, failing_callbacks) {
  static const int codes[3] = {1, -1, 0};
  for (int k = 0; k < 3; k++) {
    for (int call = 1;; call++) {
      small s = pendulum_small();
      s.fail_call = call, s.fail_code = codes[k];
      vin_dae_projection_options options = coupled();
      add_circle(&options);
      vin_dae_projector *p = projector_of(&s, &options);
      double y[N5];
      memcpy(y, off, sizeof y);
      vin_status status = vin_dae_project(p, 0, y, NULL);
      if (status != VIN_OK) {
        cr_expect_arr_eq(y, off, sizeof y);
        if (codes[k] < 0) cr_expect_eq(status, VIN_ERR_CALLBACK, "%s", vin_status_name(status));
        cr_expect_not_null(strstr(vin_dae_projector_error(p), "function"), "%s",
                           vin_dae_projector_error(p));
      } else if (codes[k] < 0) {
        cr_expect_lt(s.calls, call); /* a fatal failure is never swallowed */
      }
      vin_dae_projector_destroy(p);
      if (s.calls < call) break;
    }
  }
}

Test(dae_project, every_allocation_may_fail) {
  small s = pendulum_small();
  s.differences = true;
  vin_dae *dae = small_dae(&s);
  static const vin_int diagonal[] = {0, 1, 2, 3, 4};
  static const double ones[] = {1, 1, 1, 1, 1};
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_dae_projection_options options = vin_dae_projection_options_default();
    options.metric_pattern = (vin_triplets){5, diagonal, diagonal};
    options.metric_values = ones;
    add_circle(&options);
    vin_dae_projector *p = NULL;
    vin_status status = vin_dae_projector_create(&p, &context, dae, &options);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "%s",
                 vin_dae_projector_error(p));
    if (status == VIN_OK) {
      double y[N5];
      memcpy(y, off, sizeof y);
      int64_t before = allocator.calls;
      cr_expect_eq(vin_dae_project(p, 0, y, NULL), VIN_OK);
      cr_expect_eq(allocator.calls, before);
    }
    vin_dae_projector_destroy(p);
    cr_assert_eq(allocator.live, 0);
    if (allocator.calls < k) break;
  }
  vin_dae_destroy(dae);
}
