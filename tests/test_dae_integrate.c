/* test_dae_integrate - variable-step integration of DAEs: orders, dense output, exact ends, counters,
 * linear work, what is refused and what fails. Accuracy on the public test set:
 * test_long_dae_testset.c. */
#include "dae/dae_integrator.h"
#include "dae_pendulum.h"
#include "ivp_run.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- coefficients and orders ------------------------------------------------------------------ */

/* Order conditions of the Radau IIA tableau, found without the formulas of the library: A = T
 * Lambda^-1 T^-1 must integrate polynomials up to degree 2 exactly to each node, and its last row,
 * the weights, up to degree 4 over the step. */
Test(dae_integrate, radau_coefficients) {
  vini_radau_tableau a;
  vini_radau_tableau_make(&a);
  double size = a.alpha * a.alpha + a.beta * a.beta, matrix[3][3];
  const double inverse[3][3] = {
      {1 / a.gamma, 0, 0}, {0, a.alpha / size, a.beta / size}, {0, -a.beta / size, a.alpha / size}};
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      matrix[i][j] = 0;
      for (int k = 0; k < 9; k++) {
        matrix[i][j] += a.t[i][k / 3] * inverse[k / 3][k % 3] * a.ti[k % 3][j];
      }
    }
  }
  for (int power = 0; power < 5; power++) {
    for (int i = power < 3 ? 0 : 2; i < 3; i++) {
      double sum = 0;
      for (int j = 0; j < 3; j++) sum += matrix[i][j] * pow(a.c[j], power);
      cr_expect_float_eq(sum, pow(a.c[i], power + 1) / (power + 1), 1e-14, "row %d, degree %d", i,
                         power);
    }
  }
}

enum { KIND_P, KIND_V, KIND_LAMBDA, KINDS };

/* Errors of positions, velocities and multipliers of a form of the car axis at t = 3, relative to the
 * largest value of each kind, with `steps` equal steps. */
static void caraxis_errors(const char *name, vin_dae_integrator_method method, int max_order,
                           int steps, double *error) {
  ivp_problem *p = ivp_create(name, VINCULA_TEST_DATA);
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  cr_assert_not_null(p);
  cr_assert_eq(ivp_dae(&dae, p), VIN_OK, "%s", vin_dae_error(dae));
  vin_dae_integrator_options options = test_dae_options(method, 1e-9);
  options.fixed_step = 3.0 / steps;
  options.max_order = max_order;
  options.max_newton = 20;
  options.newton_tolerance = 1e-3; /* below the errors of all runs */
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &options), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  cr_assert_eq(vin_dae_integrator_start(integrator, 0, p->y0), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  cr_assert_eq(vin_dae_integrator_run(integrator, 3), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  cr_assert_eq(vin_dae_integrator_get_stats(integrator).steps, steps);
  const double *y = vin_dae_integrator_state(integrator).y;
  const vin_int first[KINDS] = {0, 4, p->n - 2}, count[KINDS] = {4, 4, 2};
  for (int kind = 0; kind < KINDS; kind++) {
    const double *reference = p->reference + first[kind];
    error[kind] = test_max_difference(count[kind], y + first[kind], reference) /
                  test_max_abs(count[kind], reference);
  }
  vin_dae_integrator_destroy(integrator);
  vin_dae_destroy(dae);
  ivp_destroy(p);
}

typedef struct order_case {
  const char *problem;
  vin_dae_integrator_method method;
  int max_order, steps;
  double order[KINDS]; /* of p, v, lambda */
} order_case;

/* Radau IIA with s = 3: order 2s - 1 = 5 in all unknowns of index 1; 5 and s = 3 in the differential
 * and algebraic ones of index 2; for index 3 at least s + 1 = 4, 3, 2 (Hairer, Lubich, Roche: The
 * Numerical Solution of Differential-Algebraic Systems by Runge-Kutta Methods, 1989, table 2.3). BDF
 * has its order in all unknowns of index 1 and 2. Half a unit below: the steps are not small yet. */
static const order_case order_cases[] = {
    {"caraxis-1", VIN_DAE_RADAU, 5, 300, {5, 5, 5}},
    {"caraxis-2", VIN_DAE_RADAU, 5, 300, {5, 5, 3}},
    {"caraxis", VIN_DAE_RADAU, 5, 300, {4, 3, 2}},
    {"caraxis-1", VIN_DAE_BDF, 2, 4000, {2, 2, 2}},
    {"caraxis-2", VIN_DAE_BDF, 2, 4000, {2, 2, 2}},
};

Test(dae_integrate, orders) {
  NEEDS_UMFPACK;
  for (size_t k = 0; k < sizeof order_cases / sizeof *order_cases; k++) {
    const order_case *c = order_cases + k;
    double coarse[KINDS], fine[KINDS];
    caraxis_errors(c->problem, c->method, c->max_order, c->steps, coarse);
    caraxis_errors(c->problem, c->method, c->max_order, 2 * c->steps, fine);
    for (int kind = 0; kind < KINDS; kind++) {
      double order = log2(coarse[kind] / fine[kind]);
      cr_expect_geq(order, c->order[kind] - 0.5, "%s, %s, kind %d: %g, errors %g and %g",
                    c->problem, vin_dae_integrator_method_name(c->method), kind, order,
                    coarse[kind], fine[kind]);
    }
  }
}

/* ---- tolerances, ends, dense output ----------------------------------------------------------- */

/* A tolerance 10^4 times smaller gains a factor of 20 at least (coarse runs can be lucky), and the error of the end stays below
 * `growth` tolerances: errors of the transistor die out; on the car axis they grow, and the smallest
 * velocity that counts is a hundredth of the largest. The index-3 form is left out: there velocities
 * are judged h times less strictly. */
Test(dae_integrate, error_follows_the_tolerance) {
  NEEDS_UMFPACK;
  static const struct {
    const char *name;
    double growth;
  } cases[] = {{"transistor", 1e2}, {"caraxis-2", 1e5}, {"caraxis-1", 1e5}};
  EACH_METHOD(m) {
    for (size_t k = 0; k < 3; k++) {
      ivp_problem *p = ivp_create(cases[k].name, VINCULA_TEST_DATA);
      double first = 0, last = 0;
      for (double tolerance = 1e-5; tolerance > 1e-10; tolerance /= 100) {
        ivp_result r = ivp_run_dae(p, test_dae_methods[m], tolerance, NULL);
        cr_assert_eq(r.status, VIN_OK, "%s", r.text);
        cr_expect_leq(r.error, cases[k].growth * tolerance, "%s: %g", p->name, r.error);
        last = r.error;
        if (first == 0) first = r.error;
      }
      cr_expect_leq(last, 0.05 * first, "%s: %g then %g", p->name, first, last);
      ivp_destroy(p);
    }
  }
}

/* Ends are hit exactly, also backwards; the same second forth and back returns to the start. */
Test(dae_integrate, runs_end_exactly_and_go_back) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    test_pendulum data = {0};
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
    vin_dae_integrator *integrator = test_pendulum_begin(&data, &options, 0.1);
    for (int k = 1; k <= 7; k++) {
      double t = 0.1 + k / 7.0;
      cr_assert_eq(vin_dae_integrator_run(integrator, t), VIN_OK);
      cr_expect_eq(vin_dae_integrator_state(integrator).t, t);
      cr_expect_eq(vin_dae_integrator_run(integrator, t), VIN_OK); /* nothing to do */
    }
    cr_assert_eq(vin_dae_integrator_run(integrator, 0.1), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    vin_dae_integrator_view end = vin_dae_integrator_state(integrator);
    cr_expect_eq(end.t, 0.1);
    cr_expect_lt(end.step, 0);
    double difference = test_max_difference(4, end.y, test_pendulum_start);
    cr_expect_leq(difference, 1e-4, "%s: %g", vin_dae_integrator_method_name(test_dae_methods[m]),
                  difference);
    vin_dae_integrator_destroy(integrator);
  }
}

/* The equations do not know the time: the same steps, the same values, to the last bit. */
Test(dae_integrate, results_do_not_depend_on_the_origin_of_time) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    double y[2][TEST_PENDULUM];
    int64_t steps[2];
    for (int far = 0; far < 2; far++) {
      test_pendulum data = {0};
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
      double t = far ? 1048576 : 0;
      vin_dae_integrator *integrator = test_pendulum_begin(&data, &options, t);
      cr_assert_eq(vin_dae_integrator_run(integrator, t + 1), VIN_OK);
      memcpy(y[far], vin_dae_integrator_state(integrator).y, sizeof y[far]);
      steps[far] = vin_dae_integrator_get_stats(integrator).steps;
      vin_dae_integrator_destroy(integrator);
    }
    cr_expect_eq(steps[0], steps[1]);
    cr_expect_arr_eq(y[0], y[1], sizeof y[0]);
  }
}

/* Inside each step the constraint stays within the accuracy of the polynomial; its ends are the
 * steps' ends, so that it is continuous. */
Test(dae_integrate, dense_output) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    test_pendulum data = {0};
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
    vin_dae_integrator *integrator = test_pendulum_begin(&data, &options, 0);
    double before[TEST_PENDULUM], y[TEST_PENDULUM];
    cr_expect_eq(vin_dae_integrator_interpolate(integrator, 0, y), VIN_ERR_BAD_STATE);
    while (vin_dae_integrator_state(integrator).t < 1) {
      memcpy(before, vin_dae_integrator_state(integrator).y, sizeof before);
      double t = vin_dae_integrator_state(integrator).t;
      cr_assert_eq(vin_dae_integrator_step(integrator, 1), VIN_OK);
      vin_dae_integrator_view end = vin_dae_integrator_state(integrator);
      cr_assert_eq(vin_dae_integrator_interpolate(integrator, t, y), VIN_OK);
      cr_expect_leq(test_max_difference(TEST_PENDULUM, y, before), 1e-12 * test_max_abs(5, before));
      cr_assert_eq(vin_dae_integrator_interpolate(integrator, end.t, y), VIN_OK);
      cr_expect_arr_eq(y, end.y, sizeof y);
      cr_assert_eq(vin_dae_integrator_interpolate(integrator, (t + end.t) / 2, y), VIN_OK);
      cr_expect_leq(fabs(hypot(y[0], y[1]) - 1), 2e-5, "%g", hypot(y[0], y[1]) - 1);
      cr_expect_eq(vin_dae_integrator_interpolate(integrator, end.t + end.step, y),
                   VIN_ERR_BAD_INPUT);
      cr_expect_eq(vin_dae_integrator_interpolate(integrator, NAN, y), VIN_ERR_BAD_INPUT);
    }
    vin_dae_integrator_destroy(integrator);
  }
}

/* ---- linear work ------------------------------------------------------------------------------ */

/* u_t = u_xx on n + 1 points, the ends given by algebraic equations. sin(pi x + 0.3) exp(-mu t) is
 * exact also for the difference equations, with mu = 4 n^2 sin^2(pi / (2 n)). */
typedef struct heat {
  vin_int n;
  double mu;
} heat;

static int heat_f(void *user, double t, const double *u, double *f) {
  const heat *h = user;
  double n2 = (double)h->n * h->n, decay = exp(-h->mu * t);
  f[0] = u[0] - decay * sin(0.3);
  for (vin_int i = 1; i < h->n; i++) f[i] = n2 * (u[i - 1] - 2 * u[i] + u[i + 1]);
  f[h->n] = u[h->n] + decay * sin(0.3);
  return 0;
}

static vin_dae *heat_dae(heat *h) {
  vin_int n = h->n, count = 0;
  vin_int *row = calloc(3 * (size_t)n, sizeof *row), *col = calloc(3 * (size_t)n, sizeof *col);
  vin_int *inner = calloc((size_t)n, sizeof *inner);
  double *ones = calloc((size_t)n, sizeof *ones);
  for (vin_int i = 1; i < n; i++) {
    inner[i - 1] = i;
    ones[i - 1] = 1;
    for (vin_int j = i - 1; j <= i + 1; j++) row[count] = i, col[count] = j, count++;
  }
  row[count] = col[count] = 0, count++;
  row[count] = col[count] = n, count++;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = n + 1;
  desc.mass_pattern = (vin_triplets){n - 1, inner, inner};
  desc.mass_values = ones;
  desc.function = heat_f;
  desc.jacobian_pattern = (vin_triplets){count, row, col};
  desc.user = h;
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  free(row), free(col), free(inner), free(ones);
  return dae;
}

/* As many steps and factorisations for 10^4 unknowns as for 10^3, one analysis of each matrix, factors
 * with entries in proportion, Jacobians from three groups of columns. */
Test(dae_integrate, work_is_linear) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    vin_dae_integrator_stats stats[2];
    double entries[2];
    for (int k = 0; k < 2; k++) {
      heat h = {.n = k == 0 ? 1000 : 10000};
      double half = sin(acos(-1) / (2.0 * h.n)), pi = acos(-1);
      h.mu = 4 * (double)h.n * h.n * half * half;
      size_t size = (size_t)h.n + 1;
      double *u = calloc(size, sizeof *u);
      for (vin_int i = 0; i <= h.n; i++) u[i] = sin(pi * i / h.n + 0.3);
      vin_dae *dae = heat_dae(&h);
      cr_expect_leq(vin_dae_colours(dae), 3);
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-6);
      vin_dae_integrator *integrator = NULL;
      cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &options), VIN_OK);
      cr_assert_eq(vin_dae_integrator_start(integrator, 0, u), VIN_OK, "%s",
                   vin_dae_integrator_error(integrator));
      cr_assert_eq(vin_dae_integrator_run(integrator, 0.1), VIN_OK, "%s",
                   vin_dae_integrator_error(integrator));
      const double *end = vin_dae_integrator_state(integrator).y;
      double error = 0;
      for (vin_int i = 0; i <= h.n; i++) {
        error = fmax(error, fabs(end[i] - exp(-0.1 * h.mu) * u[i]));
      }
      cr_expect_leq(error, 2e-5, "%g", error); /* 20 tolerances */
      stats[k] = vin_dae_integrator_get_stats(integrator);
      entries[k] = (double)vin_linsys_get_info(integrator->real).nnz_factor;
      cr_expect_eq(stats[k].symbolic, test_dae_methods[m] == VIN_DAE_RADAU ? 2 : 1);
      vin_dae_integrator_destroy(integrator);
      vin_dae_destroy(dae);
      free(u);
    }
    cr_expect_leq(stats[1].numeric, 1.2 * (double)stats[0].numeric + 2);
    cr_expect_leq(stats[1].solves, 1.2 * (double)stats[0].solves + 10);
    cr_expect_leq(entries[1], 11 * entries[0]);
  }
}
