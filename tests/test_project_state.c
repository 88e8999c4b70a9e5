/* The coupled projection of positions and velocities: against dense solutions of its optimality
 * conditions, the sequential projection, and on a long chain; second derivatives by differences. */
#include "problems.h"
#include "project/project.h"
#include "project/second.h"
#include "test_newton.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(project_state);

static vin_projection_options coupled(vin_metric metric, vin_metric velocity_metric) {
  vin_projection_options options = vin_projection_options_default();
  options.coupling = VIN_COUPLING_COUPLED;
  options.metric = metric;
  options.velocity_metric = velocity_metric;
  return options;
}

static vin_projector *projector_of(const test_mechanism *x, const vin_projection_options *options) {
  vin_projector *projector = NULL;
  vin_status status = vin_projector_create(&projector, NULL, x->system, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
  return projector;
}

/* Rods of the other forms are quadratic; the support code does not say so. */
static void claim_quadratic(test_mechanism *x) {
  if (x->form != TEST_LENGTH) x->system->desc.flags |= VIN_CONSTRAINT_QUADRATIC;
}

/* ---- second derivatives ------------------------------------------------------------------- */

/* (Phi_p v)_p v is the curvature that the problem states in closed form, for random states. Quadratic
 * forms: 1e-12, rounding of a of order 10. Lengths: 1e-10 of a, what
 * extrapolated differences promise (1e-12) times the condition of d / |d|^3 near d = 0.3. */
Test(project_state, second_derivatives_against_closed_forms) {
  test_random random = {21};
  for (int form = TEST_HALVED; form <= TEST_LENGTH; form++) {
    test_mechanism *x = test_four_bar(1, 3, 2.5, 3, 1);
    x->form = (test_form)form;
    test_mechanism_build(x, NULL);
    claim_quadratic(x);
    vini_object object = {.context = vin_context_default()};
    vini_second second;
    cr_assert_eq(vini_second_create(&second, &object, x->system), VIN_OK, "%s", object.text);
    /* both ends of the coupler meet in its row: four columns, four colours */
    cr_expect_eq(second.colouring.groups, 4);
    for (int trial = 0; trial < 20; trial++) {
      double p[4], v[4], a[3], values[8], h[3] = {0};
      vin_int row[8], col[8];
      for (int i = 0; i < 4; i++) p[i] = x->p[i] + test_random_between(&random, -0.2, 0.2);
      test_random_fill(&random, 4, v);
      cr_assert_eq(vini_second_evaluate(&second, &object, 0, p), VIN_OK);
      cr_assert_eq(vini_second_entries(&second), 8);
      vini_second_rate_pattern(&second, row, col);
      vini_second_rate(&second, v, values);
      for (int k = 0; k < 8; k++) h[row[k]] += values[k] * v[col[k]];
      x->curvature(x, 0, p, v, a);
      cr_expect_leq(test_max_difference(3, h, a), form == TEST_LENGTH ? 1e-10 : 1e-12);
    }
    /* one Jacobian a colour and one more, once, where Phi is quadratic */
    if (form != TEST_LENGTH) cr_expect_eq(second.evaluations, 5);
    vini_second_destroy(&second, &object.context);
    test_mechanism_free(x);
  }
}

/* ---- optimality --------------------------------------------------------------------------- */

typedef struct conditions {
  const test_mechanism *x;
  double t;
  const double *p, *v;   /* start */
  const double *wp, *wv; /* diagonal metrics */
} conditions;

static void dense_jacobian(const test_mechanism *x, double t, const double *p, double *j) {
  vin_triplets pattern = x->system->desc.jacobian_pattern;
  double *values = calloc((size_t)pattern.count, sizeof *values);
  x->jacobian((void *)x, t, p, values);
  test_dense_from_triplets(x->m, x->n, pattern, VIN_STORAGE_GENERAL, values, j);
  free(values);
}

/* Phi_p v + Phi_t */
static void rates(const test_mechanism *x, double t, const double *p, const double *v, double *h) {
  double *j = calloc((size_t)(x->m * x->n), sizeof *j), phi_t[16] = {0};
  dense_jacobian(x, t, p, j);
  test_dense_multiply(x->m, x->n, j, v, h);
  if (x->system->desc.constraint_rate != NULL) {
    x->system->desc.constraint_rate((void *)x, t, p, phi_t);
  }
  for (vin_int c = 0; c < x->m; c++) h[c] += phi_t[c];
  free(j);
}

/* d/dp (mu' h) by extrapolated differences */
static void add_coupling(const conditions *k, const double *p, const double *v, const double *mu,
                         double *r) {
  vin_int n = k->x->n, m = k->x->m;
  double q[16], h[16];
  memcpy(q, p, (size_t)n * sizeof *q);
  for (vin_int i = 0; i < n; i++) {
    static const double step[4] = {5e-4, -5e-4, 1e-3, -1e-3};
    static const double weight[4] = {4 / 3e-3, -4 / 3e-3, -1 / 6e-3, 1 / 6e-3};
    for (int s = 0; s < 4; s++) {
      q[i] = p[i] + step[s];
      rates(k->x, k->t, q, v, h);
      r[i] += weight[s] * test_dot(m, mu, h);
    }
    q[i] = p[i];
  }
}

/* z = (p, v, lambda, mu):
 *   Wp (p - p~) + Phi_p' lambda + h_p' mu,  Wv (v - v~) + Phi_p' mu,  Phi,  h */
static void optimality(void *user, const double *z, double *r) {
  const conditions *k = user;
  const test_mechanism *x = k->x;
  vin_int n = x->n, m = x->m;
  const double *p = z, *v = z + n, *lambda = z + 2 * n, *mu = lambda + m;
  double j[16 * 16], force[16];
  dense_jacobian(x, k->t, p, j);
  test_dense_multiply_transposed(m, n, j, lambda, force);
  for (vin_int i = 0; i < n; i++) r[i] = k->wp[i] * (p[i] - k->p[i]) + force[i];
  add_coupling(k, p, v, mu, r);
  test_dense_multiply_transposed(m, n, j, mu, force);
  for (vin_int i = 0; i < n; i++) r[n + i] = k->wv[i] * (v[i] - k->v[i]) + force[i];
  x->constraint((void *)x, k->t, p, r + 2 * n);
  rates(x, k->t, p, v, r + 2 * n + m);
}

static test_mechanism *example(int which) {
  test_mechanism *x = which == 0   ? test_four_bar(1, 3, 2.5, 3, 1)
                      : which == 1 ? test_chain(4, 0.5, 1)
                      : which == 2 ? test_triangle()
                                   : test_chain(3, 1, 2);
  if (which == 2) x->mass[1] = 3;
  if (which == 3) x->form = TEST_LENGTH, x->amplitude = 0.1, x->frequency = 3; /* moving end */
  test_mechanism_build(x, NULL);
  claim_quadratic(x);
  return x;
}

/* Each of the metrics on both levels against an independent dense Newton iteration on the conditions.
 * 1e-10: the differences of the check are good for about 1e-12, and the corrections are 0.05. */
Test(project_state, coupled_projection_satisfies_its_conditions) {
  static const double own[16] = {1, 4, 2, 0.5, 3, 1, 2, 5, 1, 1, 2, 3, 4, 1, 2, 1};
  double ones[16], mass[16];
  test_random random = {22};
  for (int which = 0; which < 4; which++) {
    test_mechanism *x = example(which);
    vin_int n = x->n, m = x->m;
    for (vin_int i = 0; i < n; i++) ones[i] = 1, mass[i] = x->mass[i / x->dim];
    const double *weights[3] = {mass, ones, own};
    for (int kind = 0; kind < 9; kind++) {
      vin_projection_options options = coupled((vin_metric)(kind % 3), (vin_metric)(kind / 3));
      options.weights = options.velocity_weights = own;
      vin_projector *projector = projector_of(x, &options);
      double p[16], v[16], p0[16], v0[16], z[64] = {0}, t = 0.3;
      test_random_fill(&random, n, v0);
      for (vin_int i = 0; i < n; i++) p0[i] = x->p[i] + test_random_between(&random, -0.05, 0.05);
      vin_projector *plain = projector_of(x, NULL); /* a velocity of order 1 nearly on the level */
      cr_assert_eq(vin_project_velocity(plain, t, p0, v0, NULL), VIN_OK);
      vin_projector_destroy(plain);
      for (vin_int i = 0; i < n; i++) v0[i] += test_random_between(&random, -0.05, 0.05);
      memcpy(p, p0, sizeof p);
      memcpy(v, v0, sizeof v);
      vin_projection_report report;
      vin_status status = vin_project_state(projector, t, p, v, &report);
      cr_assert_eq(status, VIN_OK, "%d, %d: %s", which, kind, vin_projector_error(projector));
      memcpy(z, p0, (size_t)n * sizeof *z);
      memcpy(z + n, v0, (size_t)n * sizeof *z);
      conditions k = {x, t, p0, v0, weights[kind % 3], weights[kind / 3]};
      cr_assert(test_newton(2 * n + 2 * m, optimality, &k, z), "%d, %d", which, kind);
      cr_expect_leq(test_max_difference(n, p, z), 1e-10, "%d, %d: %g", which, kind,
                    test_max_difference(n, p, z));
      cr_expect_leq(test_max_difference(n, v, z + n), 1e-10, "%d, %d", which, kind);
      cr_expect_leq(report.position_after, 1e-13);
      cr_expect_leq(report.velocity_after, 2e-13);
      cr_expect_gt(report.velocity_before, 1e-3);
      cr_expect_leq(report.iterations, 15, "%d iterations", report.iterations);
      vin_projector_destroy(projector);
    }
    test_mechanism_free(x);
  }
}

static double distance(const test_mechanism *x, const double *p, const double *v, const double *p0,
                       const double *v0) {
  double sum = 0;
  for (vin_int i = 0; i < x->n; i++) {
    double w = x->mass[i / x->dim], dp = p[i] - p0[i], dv = v[i] - v0[i];
    sum += w * (dp * dp + dv * dv);
  }
  return sqrt(sum);
}

/* Sequential and coupled states are both consistent. The coupled one is never further from the start,
 * and they differ by the first order in the correction where v is of order 1 (h_p' mu has the size of
 * |v| |mu|), by the second where v itself is of the size of the correction. */
Test(project_state, coupled_against_sequential) {
  test_mechanism *x = example(0);
  vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_SAME);
  vin_projector *both = projector_of(x, &options), *one = projector_of(x, NULL);
  static const double dp[4] = {0.3, -0.5, 0.7, 0.4}, dv[4] = {-0.6, 0.2, 0.5, 0.8};
  for (int slow = 0; slow < 2; slow++) {
    double last = 0;
    for (int k = 0; k < 4; k++) {
      double size = 0.02 * pow(0.5, k), v1[4], p1[4], v2[4], p2[4], v0[4], p0[4];
      double turn[4] = {1, 2, 3, 4};
      cr_assert_eq(vin_project_velocity(one, 0, x->p, turn, NULL), VIN_OK);
      for (int i = 0; i < 4; i++) {
        p1[i] = p2[i] = p0[i] = x->p[i] + size * dp[i];
        v1[i] = v2[i] = v0[i] = (slow ? size : 1) * turn[i] + size * dv[i];
      }
      cr_assert_eq(vin_project_state(both, 0, p1, v1, NULL), VIN_OK);
      cr_assert_eq(vin_project_state(one, 0, p2, v2, NULL), VIN_OK);
      cr_expect_leq(test_constraint_max(x, 0, p2), 1e-13);
      cr_expect_leq(test_hidden_max(x, 0, p2, v2), 1e-13);
      double near = distance(x, p1, v1, p0, v0), far = distance(x, p2, v2, p0, v0);
      cr_expect_lt(near, far, "%g %g", near, far);
      double apart = distance(x, p1, v1, p2, v2);
      double order = log2(last / apart);
      if (k > 1) cr_expect_float_eq(order, slow ? 2 : 1, 0.15, "slow %d: order %g", slow, order);
      last = apart;
    }
  }
  vin_projector_destroy(both);
  vin_projector_destroy(one);
  test_mechanism_free(x);
}

/* Field report 33: (1.1, 0) with (0.5, 0) goes to (1, 0) at rest, by symmetry in both ways. */
Test(project_state, pendulum_numbers) {
  test_mechanism *x = test_points(2, 1, 1);
  test_mechanism_build(x, NULL);
  for (int coupling = 0; coupling < 2; coupling++) {
    vin_projection_options options = vin_projection_options_default();
    options.coupling = (vin_coupling)coupling;
    vin_projector *projector = projector_of(x, &options);
    double p[2] = {1.1, 0}, v[2] = {0.5, 0};
    cr_assert_eq(vin_project_state(projector, 0, p, v, NULL), VIN_OK);
    cr_expect_float_eq(p[0], 1, 1e-13);
    cr_expect_float_eq(v[0], 0, 1e-13);
    cr_expect(p[1] == 0 && v[1] == 0);
    vin_projector_destroy(projector);
  }
  test_mechanism_free(x);
}

/* A rod given twice is one row less on each level, with each solver; contradictory ones are refused. */
Test(project_state, redundant_and_contradictory) {
  static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_UMFPACK};
  for (int k = 0; k < 3; k++) {
    if (!vin_solver_available(solvers[k])) continue;
    test_mechanism *x = test_points(2, 1, 2);
    test_mechanism_build(x, NULL);
    vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_SAME);
    options.kkt.solver = solvers[k];
    vin_projector *projector = projector_of(x, &options);
    double p[2] = {0.9, -1.2}, v[2] = {0.6, -0.8};
    vin_projection_report report;
    vin_status status = vin_project_state(projector, 0, p, v, &report);
    cr_assert_eq(status, VIN_OK, "%s: %s", vin_solver_name(solvers[k]),
                 vin_projector_error(projector));
    cr_expect_float_eq(p[0], 0.6, 1e-10);
    cr_expect_float_eq(test_max_abs(2, v), 0, 1e-10);
    cr_expect_eq(report.dropped, 1);
    x->rod[1].length = 1.2;
    double q[2] = {0.9, -1.2}, u[2] = {1, 0};
    status = vin_project_state(projector, 0, q, u, &report);
    cr_expect_eq(status, VIN_INFEASIBLE, "%s: %s", vin_status_name(status),
                 vin_projector_error(projector));
    cr_expect_not_null(strstr(vin_projector_error(projector), "rod "));
    cr_expect(q[0] == 0.9 && q[1] == -1.2 && u[0] == 1 && u[1] == 0);
    vin_projector_destroy(projector);
    test_mechanism_free(x);
  }
}

/* ---- size --------------------------------------------------------------------------------- */

/* The same iterations for 10^4 links as for 10^3, give or take two,
 * as many Jacobians: linear work, since a link brings a constant number of entries. */
Test(project_state, long_chain_stays_linear) {
  int iterations[2] = {0};
  int64_t evaluations[2] = {0};
  for (int k = 0; k < 2; k++) {
    test_mechanism *x = test_chain(k == 0 ? 1000 : 10000, 0.1, 1);
    test_mechanism_build(x, NULL);
    claim_quadratic(x);
    vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_SAME);
    vin_projector *projector = projector_of(x, &options);
    test_random random = {23};
    for (vin_int i = 0; i < x->n; i++) {
      x->p[i] += test_random_between(&random, -1e-5, 1e-5);
      x->v[i] += test_random_between(&random, -1e-5, 1e-5);
    }
    vin_projection_report report;
    vin_status status = vin_project_state(projector, 0, x->p, x->v, &report);
    cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
    cr_expect_leq(test_constraint_max(x, 0, x->p), 1e-11); /* rounding of positions of 10^3 m */
    cr_expect_leq(test_hidden_max(x, 0, x->p, x->v), 1e-12);
    iterations[k] = report.iterations;
    evaluations[k] = projector->jacobian_evaluations;
    vin_projector_destroy(projector);
    test_mechanism_free(x);
  }
  cr_expect_leq(abs(iterations[1] - iterations[0]), 2, "%d and %d", iterations[0], iterations[1]);
  cr_expect_leq(iterations[1], 10);
  cr_expect_leq(evaluations[1], evaluations[0] + 10);
}

/* ---- in an integrator --------------------------------------------------------------------- */

/* rk4 with the coupled projection after each step: order 4 in p and v, like the sequential one (a
 * projection moves a result by its local error), constraints to the tolerance, no allocation in the
 * steps. The reference is the same method with the shortest step. */
Test(project_state, rk4_keeps_its_order) {
  double p[4][4], v[4][4];
  for (int k = 0; k < 4; k++) {
    test_mechanism *x = example(0);
    x->gravity[1] = -9.81;
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_options options = vin_options_default();
    options.method = VIN_METHOD_RK4;
    options.projector.coupling = VIN_COUPLING_COUPLED;
    options.step = k == 3 ? 1e-3 : 0.02 * pow(0.5, k);
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create_from_system(&sim, &context, x->system, x->p, x->v, &options),
                 VIN_OK, "%s", vin_sim_error(sim));
    int64_t before = allocator.calls;
    cr_assert_eq(vin_sim_run(sim, 0.4), VIN_OK, "%s", vin_sim_error(sim));
    cr_expect_eq(allocator.calls, before);
    vin_state_view state = vin_sim_state(sim);
    memcpy(p[k], state.p, sizeof p[k]);
    memcpy(v[k], state.v, sizeof v[k]);
    vin_report report = vin_sim_report(sim);
    cr_expect_leq(report.position_residual, 1e-13);
    cr_expect_leq(report.velocity_residual, 1e-12);
    vin_sim_destroy(sim);
    test_mechanism_free(x);
  }
  for (int k = 0; k < 2; k++) {
    double order =
        log2(test_max_difference(4, p[k], p[3]) / test_max_difference(4, p[k + 1], p[3]));
    cr_expect_float_eq(order, 4, 0.3, "p: order %g", order);
    order = log2(test_max_difference(4, v[k], v[3]) / test_max_difference(4, v[k + 1], v[3]));
    cr_expect_float_eq(order, 4, 0.3, "v: order %g", order);
  }
}

/* ---- failures ----------------------------------------------------------------------------- */

Test(project_state, bad_input) {
  test_mechanism *x = example(0);
  vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_SAME);
  vin_projector *projector = projector_of(x, &options);
  double p[4], v[4];
  memcpy(p, x->p, sizeof p);
  memcpy(v, x->v, sizeof v);
  v[2] = NAN;
  cr_expect_eq(vin_project_state(projector, 0, p, v, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_projector_error(projector), "x of point 1"));
  v[2] = 0;
  cr_expect_eq(vin_project_state(projector, NAN, p, v, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_state(projector, 0, NULL, v, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_state(NULL, 0, p, v, NULL), VIN_ERR_BAD_INPUT);
  vin_projector_destroy(projector);
  options.coupling = (vin_coupling)7;
  cr_expect_eq(vin_projector_create(&projector, NULL, x->system, &options), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_projector_error(projector), "coupling is 7"));
  vin_projector_destroy(projector);
  options = coupled(VIN_METRIC_MASS, VIN_METRIC_DIAGONAL);
  cr_expect_eq(vin_projector_create(&projector, NULL, x->system, &options), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_projector_error(projector), "weights are missing"));
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

static int (*rods)(void *, double, const double *, double *);
static int calls_left;

static int constraint_until(void *user, double t, const double *p, double *phi) {
  return calls_left-- > 0 ? rods(user, t, p, phi) : -3;
}

/* The text of a failing callback survives; nothing changes. */
Test(project_state, failing_callback) {
  test_mechanism *x = test_four_bar(1, 3, 2.5, 3, 1);
  x->constraint = constraint_until, calls_left = 0;
  test_mechanism_build(x, NULL);
  vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_SAME);
  vin_projector *projector = projector_of(x, &options);
  double p[4] = {1, 2, 3, 4}, v[4] = {1, 1, 1, 1};
  cr_expect_eq(vin_project_state(projector, 0, p, v, NULL), VIN_ERR_CALLBACK);
  cr_expect_not_null(strstr(vin_projector_error(projector), "constraint callback failed (-3)"));
  cr_expect(p[0] == 1 && v[3] == 1);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* Also in the last call, which only fills the report. */
Test(project_state, failing_at_each_call) {
  test_mechanism *x = test_four_bar(1, 3, 2.5, 3, 1);
  rods = x->constraint, x->constraint = constraint_until, calls_left = 1000;
  test_mechanism_build(x, NULL);
  vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_SAME);
  vin_projector *projector = projector_of(x, &options);
  for (int k = 0;; k++) {
    double p[4] = {0.4, 0.8, 3.2, 2.4}, v[4] = {1, 0, 0, 1};
    calls_left = k;
    vin_status status = vin_project_state(projector, 0, p, v, NULL);
    if (calls_left >= 0) break;
    cr_assert_eq(status, VIN_ERR_CALLBACK, "call %d: %s", k, vin_status_name(status));
    cr_expect(p[0] == 0.4 && v[3] == 1);
  }
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

Test(project_state, allocation_failures) {
  test_mechanism *x = example(0);
  vin_projection_options options = coupled(VIN_METRIC_MASS, VIN_METRIC_IDENTITY);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_projector *projector = NULL;
    double p[4] = {0.4, 0.8, 3.2, 2.4}, v[4] = {1, 0, 0, 1};
    vin_status status = vin_projector_create(&projector, &context, x->system, &options);
    if (status == VIN_OK) status = vin_project_state(projector, 0, p, v, NULL);
    if (allocator.calls >= k) cr_assert_eq(status, VIN_ERR_NO_MEMORY, "allocation %d", (int)k);
    if (status != VIN_OK) cr_expect(p[0] == 0.4 && v[3] == 1);
    vin_projector_destroy(projector);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) {
      cr_assert_eq(status, VIN_OK);
      break;
    }
  }
  test_mechanism_free(x);
}
