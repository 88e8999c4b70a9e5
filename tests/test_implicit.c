/* Implicit methods on the reduced system: orders, stiffness, what varies, work. Failures:
 * test_implicit_errors.c. */
#include "implicit_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(implicit);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static test_mechanism *chain10(void) {
  return test_chain(10, 1, 1);
}

static const struct {
  vin_method method;
  double order;
} methods[] = {{VIN_METHOD_BACKWARD_EULER, 1},
               {VIN_METHOD_MIDPOINT, 2},
               {VIN_METHOD_TRAPEZOIDAL, 2},
               {VIN_METHOD_BDF2, 2},
               {VIN_METHOD_RADAU5, 5}};
enum { METHODS = sizeof methods / sizeof *methods };

/* ---- orders ------------------------------------------------------------------------------------- */

typedef struct study {
  const char *name;
  test_mechanism *(*problem)(void);
  const char *file;
  double scale, t_end; /* lambda_vincula / lambda_file */
  long steps[METHODS]; /* of the first run; the second has twice as many */
} study;

/* Steps where the first term of the error dominates (backward Euler: 1/h of some hundred) and is still far
 * above rounding (radau5). */
static const study studies[] = {
    {"planar",
     test_planar_pendulum,
     "hamiltonian/planar_pendulum.csv",
     2,
     1,
     {400, 100, 100, 100, 8}},
    {"spherical",
     test_spherical_pendulum,
     "hamiltonian/spherical_pendulum.csv",
     2,
     1,
     {400, 100, 100, 200, 8}},
    {"triangle", test_triangle, "hamiltonian/tethered_triangle.csv", 2, 1, {200, 50, 50, 100, 2}},
    {"chain", chain10, "hamiltonian/chain_N10_unitlinks.csv", 2, 0.5, {800, 100, 100, 200, 10}}};

/* Against references of 15 digits, in p, v and lambda. An observed order within 0.25 of the theory's:
 * the next term of the error is a fraction of h of the first. */
Test(implicit, orders) {
  for (size_t s = 0; s < sizeof studies / sizeof *studies; s++) {
    const study *u = &studies[s];
    test_mechanism *x = built(u->problem());
    int n = (int)x->n, m = (int)x->m;
    double *row = calloc((size_t)(2 * n + m), sizeof *row);
    test_reference(u->file, u->t_end, 2 * n + m, row);
    for (int i = 0; i < m; i++) row[2 * n + i] *= u->scale;
    for (int k = 0; k < METHODS; k++) {
      vin_options options = test_method(methods[k].method, VIN_PROJECTION_BOTH);
      double error[2][3];
      for (int run = 0; run < 2; run++) {
        vin_state end = test_run(x, &options, u->t_end, u->steps[k] << run);
        error[run][0] = test_max_difference(n, end.p, row);
        error[run][1] = test_max_difference(n, end.v, row + n);
        error[run][2] = test_max_difference(m, end.lambda, row + 2 * n);
        cr_expect_leq(test_constraint_max(x, end.t, end.p), 1e-12);
        cr_expect_leq(test_hidden_max(x, end.t, end.p, end.v), 1e-12);
        test_state_free(&end);
      }
      for (int q = 0; q < 3; q++) {
        double order = log2(error[0][q] / error[1][q]);
        cr_expect_float_eq(
            order, methods[k].order, k == METHODS - 1 ? 0.6 : 0.25, "%s, %s, %c: %.3f (%.3g, %.3g)",
            u->name, vin_method_name(methods[k].method), "pvl"[q], order, error[0][q], error[1][q]);
      }
    }
    free(row);
    test_mechanism_free(x);
  }
}

/* M(p), forces of v and a moving constraint, against the minimal formulation (error 1e-13). */
Test(implicit, orders_where_everything_varies) {
  test_bodies *b = test_reel();
  double p[4], v[4], lambda[2], q[4], w[4], mu[2];
  test_reel_at(2, 20000, q, w, mu);
  static const long steps[METHODS] = {800, 100, 100, 200, 20};
  for (int k = 0; k < METHODS; k++) {
    vin_options options = test_method(methods[k].method, VIN_PROJECTION_BOTH);
    double error[2][3];
    for (int run = 0; run < 2; run++) {
      cr_assert_eq(test_bodies_run(b, &options, 2, steps[k] << run, p, v, lambda), VIN_OK);
      error[run][0] = test_max_difference(2, p, q);
      error[run][1] = test_max_difference(2, v, w);
      error[run][2] = test_max_difference(1, lambda, mu);
    }
    for (int i = 0; i < 3; i++) {
      double order = log2(error[0][i] / error[1][i]);
      cr_expect_float_eq(order, methods[k].order, k == METHODS - 1 ? 0.6 : 0.25,
                         "%s, %c: %.3f (%.3g, %.3g)", vin_method_name(methods[k].method), "pvl"[i],
                         order, error[0][i], error[1][i]);
    }
  }
  test_bodies_free(b);
}

/* The published end values of the car axis, a moving constraint and a stiffness of 1e4 relative to the
 * mass: radau5 with 3000 steps to the accuracy of the reference. */
Test(implicit, car_axis) {
  test_mechanism *x = built(test_car_axis());
  double row[10];
  test_reference("ivp/caraxis.csv", 3, 10, row);
  vin_options options = test_method(VIN_METHOD_RADAU5, VIN_PROJECTION_BOTH);
  for (int i = 8; i < 10; i++) row[i] = -row[i]; /* the file has M v' = f + Phi_p' lambda */
  vin_state end = test_run(x, &options, 3, 3000);
  cr_expect_leq(test_max_difference(4, end.p, row), 1e-9, "%g", test_max_difference(4, end.p, row));
  cr_expect_leq(test_max_difference(4, end.v, row + 4), 1e-7, "%g",
                test_max_difference(4, end.v, row + 4));
  cr_expect_leq(test_max_difference(2, end.lambda, row + 8), 1e-9, "%g",
                test_max_difference(2, end.lambda, row + 8));
  test_state_free(&end);
  test_mechanism_free(x);
}

/* ---- stiffness ---------------------------------------------------------------------------------- */

/* k = 1e6, c = 2e3: rates of 1e3 to 3e3 / s. Steps of 1/100 s are far outside the stability of rk4 (it
 * fails or leaves by more than the pendulum's size), and the L-stable methods follow the slow motion
 * with errors of their order: measured 0.12, 4e-3, 1e-8, 0.12, 0.13 and 1e-3, asked for twice
 * that. */
Test(implicit, stiff_spring) {
  test_bodies *b = test_stiff_pendulum(1e6, 2e3, true);
  double p[4], v[4], lambda[2], q[4], w[4], mu[2];
  test_stiff_pendulum_at(b, 1, 400000, q, w, mu);
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
  vin_status status = test_bodies_run(b, &options, 1, 100, p, v, lambda);
  cr_expect(status != VIN_OK || !(test_max_difference(4, p, q) <= 1));
  static const struct {
    vin_method method;
    double error;
  } cases[] = {{VIN_METHOD_BACKWARD_EULER, 0.24}, {VIN_METHOD_BDF2, 8e-3},
               {VIN_METHOD_RADAU5, 2e-8},         {VIN_METHOD_GGL, 0.24},
               {VIN_METHOD_EULER3, 0.25},         {VIN_METHOD_GENERALIZED_ALPHA, 2e-3}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    options = test_method(cases[k].method, VIN_PROJECTION_BOTH);
    cr_assert_eq(test_bodies_run(b, &options, 1, 100, p, v, lambda), VIN_OK, "%s",
                 vin_method_name(cases[k].method));
    double error = test_max_difference(4, p, q);
    cr_expect_leq(error, cases[k].error, "%s: %g", vin_method_name(cases[k].method), error);
  }
  test_bodies_free(b);
}

/* Tangents by callback and by differences: the same solution of the same equations, to the tolerance
 * of Newton's method (1e-12 a step of 100). */
Test(implicit, tangents_given_or_differenced) {
  test_bodies *given = test_stiff_pendulum(1e4, 50, true),
              *differenced = test_stiff_pendulum(1e4, 50, false);
  for (vin_method method = VIN_METHOD_BACKWARD_EULER; method <= VIN_METHOD_GENERALIZED_ALPHA;
       method++) {
    double p[4], v[4], lambda[2], q[4], w[4], mu[2];
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    cr_assert_eq(test_bodies_run(given, &options, 1, 100, p, v, lambda), VIN_OK);
    cr_assert_eq(test_bodies_run(differenced, &options, 1, 100, q, w, mu), VIN_OK);
    cr_expect_leq(test_max_difference(4, p, q), 1e-9, "%s: %g", vin_method_name(method),
                  test_max_difference(4, p, q));
  }
  test_bodies_free(given);
  test_bodies_free(differenced);
}

/* ---- Jacobian ----------------------------------------------------------------------------------- */

/* Columns of the dense reduced Jacobian against central differences of the acceleration solve, whose
 * steps of 1e-5 leave 1e-8 or so; and K dz = - tangents is what makes them so. */
static void compare_jacobian(vin_system *system, double t, const double *p, const double *v) {
  vin_int n = vin_system_positions(system), m = vin_system_constraints(system);
  enum { MOST = 9 };
  double by[2][MOST * MOST], l_by[2][MOST * MOST], x[2][MOST], a[2][MOST], l[2][MOST];
  vin_projector *projector = NULL;
  cr_assert_eq(vin_projector_create(&projector, NULL, system, NULL), VIN_OK);
  cr_assert_eq(vin_reduced_jacobian(projector, t, p, v, by[0], by[1], l_by[0], l_by[1]), VIN_OK,
               "%s", vin_projector_error(projector));
  double scale = fmax(1, fmax(test_max_abs(n * n, by[0]), test_max_abs(m * n, l_by[0])));
  for (int which = 0; which < 2; which++) {
    for (vin_int j = 0; j < n; j++) {
      for (int side = 0; side < 2; side++) {
        memcpy(x[0], p, (size_t)n * sizeof *p);
        memcpy(x[1], v, (size_t)n * sizeof *v);
        x[which][j] += side == 0 ? -1e-5 : 1e-5;
        cr_assert_eq(vin_project_acceleration(projector, t, x[0], x[1], a[side], l[side]), VIN_OK);
      }
      for (vin_int i = 0; i < n; i++) {
        cr_expect_float_eq(by[which][i + j * n], (a[1][i] - a[0][i]) / 2e-5, 1e-7 * scale);
      }
      for (vin_int i = 0; i < m; i++) {
        cr_expect_float_eq(l_by[which][i + j * m], (l[1][i] - l[0][i]) / 2e-5, 1e-7 * scale);
      }
    }
  }
  vin_projector_destroy(projector);
}

Test(implicit, reduced_jacobian) {
  test_mechanism *x = test_triangle();
  x->form = TEST_LENGTH;
  x->damping = 0.3;
  built(x);
  for (int i = 0; i < 9; i++) x->v[i] = cos(3 * i); /* |v| v is smooth away from 0 */
  compare_jacobian(x->system, 0, x->p, x->v);
  test_mechanism_free(x);
  test_bodies *b = test_reel();
  const double p[2] = {1.1, 0.7}, v[2] = {0.4, -0.9};
  compare_jacobian(b->system, 0.5, p, v);
  test_bodies_free(b);
  b = test_stiff_pendulum(100, 3, true);
  const double q[4] = {0.6, -0.8, 0.9, -1.3}, w[4] = {0.8, 0.6, -0.3, 0.2};
  compare_jacobian(b->system, 0, q, w);
  test_bodies_free(b);
}

/* The source's own way: Newton on z - z0 - h (v, v'(z)) with the dense Jacobian (I - h dF/dz). The
 * solution is that of backward-euler, to the tolerance of both iterations. */
Test(implicit, dense_newton_gives_the_same_step) {
  test_mechanism *x = test_triangle();
  x->damping = 0.3;
  built(x);
  enum { N = 9, M = 3, Z = 2 * N };
  vin_options options = test_method(VIN_METHOD_BACKWARD_EULER, VIN_PROJECTION_NONE);
  const double h = 0.2;
  vin_state end = test_run(x, &options, h, 1);
  vin_projector *projector = NULL;
  cr_assert_eq(vin_projector_create(&projector, NULL, x->system, NULL), VIN_OK);
  double z[Z], a[N], l[M], by_p[N * N], by_v[N * N], l_p[M * N], l_v[M * N], jacobian[Z * Z], r[Z];
  memcpy(z, x->p, sizeof a);
  memcpy(z + N, x->v, sizeof a);
  for (int k = 0; k < 10; k++) {
    cr_assert_eq(vin_project_acceleration(projector, h, z, z + N, a, l), VIN_OK);
    cr_assert_eq(vin_reduced_jacobian(projector, h, z, z + N, by_p, by_v, l_p, l_v), VIN_OK);
    memset(jacobian, 0, sizeof jacobian);
    for (int i = 0; i < N; i++) {
      r[i] = -(z[i] - x->p[i] - h * z[N + i]);
      r[N + i] = -(z[N + i] - x->v[i] - h * a[i]);
      jacobian[i + i * Z] = jacobian[N + i + (N + i) * Z] = 1;
      jacobian[i + (N + i) * Z] = -h;
      for (int j = 0; j < N; j++) {
        jacobian[N + i + j * Z] -= h * by_p[i + j * N];
        jacobian[N + i + (N + j) * Z] -= h * by_v[i + j * N];
      }
    }
    cr_assert(test_dense_solve(Z, jacobian, r, r));
    for (int i = 0; i < Z; i++) z[i] += r[i];
  }
  cr_expect_leq(test_max_abs(Z, r), 1e-14);
  cr_expect_leq(test_max_difference(N, z, end.p), 1e-11, "%g", test_max_difference(N, z, end.p));
  cr_expect_leq(test_max_difference(N, z + N, end.v), 1e-11);
  vin_projector_destroy(projector);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* ---- steps of changing length ------------------------------------------------------------------- */

/* Steps that alternate between h and 3h/2, with a jump by 3 where it starts anew: order 2 stays. */
Test(implicit, bdf2_with_changing_steps) {
  test_mechanism *x = built(test_planar_pendulum());
  double row[5], error[2];
  test_reference("hamiltonian/planar_pendulum.csv", 1, 5, row);
  for (int run = 0; run < 2; run++) {
    vin_options options = test_method(VIN_METHOD_BDF2, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    double h = 0.01 / (1 << run);
    for (int k = 0; k < 20 << run; k++) {
      cr_assert_eq(test_advance(integrator, x, &state, h, 1), VIN_OK);
      cr_assert_eq(test_advance(integrator, x, &state, 1.5 * h, 1), VIN_OK);
    }
    cr_assert_eq(test_advance(integrator, x, &state, h / 2, 100 << run), VIN_OK); /* to 1 */
    cr_assert_float_eq(state.t, 1, 1e-12);
    error[run] = test_max_difference(2, state.p, row);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
  }
  cr_expect_float_eq(log2(error[0] / error[1]), 2, 0.3, "%g %g", error[0], error[1]);
  test_mechanism_free(x);
}

/* radau5's estimate shrinks like h^4, and is at rounding where nothing moves. */
Test(implicit, estimate_of_radau5) {
  test_mechanism *x = built(test_spherical_pendulum());
  vin_options options = test_method(VIN_METHOD_RADAU5, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = test_integrator(x, &options);
  cr_expect(isnan(vin_integrator_error_estimate(integrator)));
  vin_state from = test_state(x), to = test_state(x);
  double last = 0;
  for (int k = 0; k < 4; k++) {
    cr_assert_eq(vin_integrator_step(integrator, &from, 0.1 * pow(0.5, k), &to), VIN_OK);
    double estimate = vin_integrator_error_estimate(integrator);
    if (k > 0) cr_expect_float_eq(log2(last / estimate), 4, 0.5, "%g after %g", estimate, last);
    last = estimate;
  }
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to);
  test_mechanism_free(x);
}

/* ---- stabilisation ------------------------------------------------------------------------------ */

/* h' = -h / tau under backward Euler: h_k = h_0 / (1 + h/tau)^k; nothing projects. The curvature that
 * the step sees differs by O(h): 2 % here. */
Test(implicit, first_order_stabilisation) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  x->v[0] = 1e-4 * x->p[0];
  x->v[1] = 1e-4 * x->p[1];
  vin_options options = test_method(VIN_METHOD_BACKWARD_EULER, VIN_PROJECTION_NONE);
  options.baumgarte = (vin_baumgarte){.order = 1, .tau = 0.01};
  vin_state end = test_run(x, &options, 0.001, 10);
  double expected = 1e-4 * pow(1 + 1e-4 / 0.01, -10);
  cr_expect_float_eq(test_hidden_max(x, end.t, end.p, end.v), expected, 0.02 * expected);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* ---- work --------------------------------------------------------------------------------------- */

/* Ten times the links: the same iterations, evaluations and factorisations, within two of each, and
 * one analysis for each matrix. */
Test(implicit, work_on_long_chains) {
  for (vin_method method = VIN_METHOD_BACKWARD_EULER; method <= VIN_METHOD_GENERALIZED_ALPHA;
       method++) {
    int64_t sweeps[2];
    for (int k = 0; k < 2; k++) {
      test_mechanism *x = built(test_chain(k == 0 ? 1000 : 10000, 1, 1));
      vin_options options = test_method(method, VIN_PROJECTION_BOTH);
      vin_integrator *integrator = test_integrator(x, &options);
      vin_state state = test_state(x);
      cr_assert_eq(test_advance(integrator, x, &state, 1e-4, 5), VIN_OK, "%s",
                   vin_integrator_error(integrator));
      vin_stats stats = vin_integrator_get_stats(integrator);
      bool two = method == VIN_METHOD_RADAU5 || method == VIN_METHOD_GGL;
      cr_expect_eq(stats.solver.symbolic, two ? 3 : 2, "%s", vin_method_name(method));
      sweeps[k] = stats.sweeps;
      cr_expect_leq(test_constraint_max(x, state.t, state.p), 1e-11);
      vin_integrator_destroy(integrator);
      test_state_free(&state);
      test_mechanism_free(x);
    }
    cr_expect_leq(sweeps[1], 2 * sweeps[0] + 5, "%s: %d after %d", vin_method_name(method),
                  (int)sweeps[1], (int)sweeps[0]);
  }
}
