/* Coordinate partitioning: orders, the example of the source, changes of coordinates, redundant rows,
 * long chains, failures. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(partition);

static const vin_method methods[] = {VIN_METHOD_PARTITION_COLLATZ, VIN_METHOD_PARTITION_RK4};

/* Builds without SuiteSparseQR or UMFPACK refuse the methods, and say what is missing. */
static bool available(void) {
  test_mechanism *x = test_pendulum(0.3, 0);
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = NULL;
  vin_status status = vin_integrator_create(&integrator, NULL, x->system, &options);
  cr_assert(status == VIN_OK || status == VIN_ERR_UNSUPPORTED);
  if (status != VIN_OK)
    cr_assert_not_null(strstr(vin_integrator_error(integrator), "this build lacks"));
  vin_integrator_destroy(integrator);
  test_mechanism_free(x);
  if (status != VIN_OK) cr_skip("not in this build");
  return status == VIN_OK;
}

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

/* The pendulum of the source: x(0) = x0 at rest on the lower branch, y = -sqrt(1 - x0^2). */
static test_mechanism *pendulum(double x0) {
  return built(test_pendulum(asin(x0), 0));
}

/* theta'' = -g sin theta by the classical method with steps so small that the error, about 1e-14, is
 * below all that is compared with it: an independent formulation without constraints. */
static void angle(double theta0, double t, long double *x, long double *y) {
  enum { STEPS = 200000 };
  long double g = 9.81L, h = (long double)t / STEPS, q = theta0, w = 0;
  for (int k = 0; k < STEPS; k++) {
    long double q1 = w, w1 = -g * sinl(q);
    long double q2 = w + h / 2 * w1, w2 = -g * sinl(q + h / 2 * q1);
    long double q3 = w + h / 2 * w2, w3 = -g * sinl(q + h / 2 * q2);
    long double q4 = w + h * w3, w4 = -g * sinl(q + h * q3);
    q += h / 6 * (q1 + 2 * q2 + 2 * q3 + q4);
    w += h / 6 * (w1 + 2 * w2 + 2 * w3 + w4);
  }
  *x = sinl(q);
  *y = -cosl(q);
}

/* Section 8.8 of the source: x(0) = 0.9, u(0) = 0, to t = 10; orders 2 and 4. Halved three times from
 * where the error has its asymptotic form, which leaves the order within 0.2. */
Test(partition, example_of_the_source_has_orders_2_and_4) {
  if (!available()) return;
  long double x1, y1;
  angle(asin(0.9), 10, &x1, &y1);
  for (int k = 0; k < 2; k++) {
    double order = k == 0 ? 2 : 4, last = 0;
    long steps = k == 0 ? 4000 : 2000;
    for (int run = 0; run < 3; run++, steps *= 2) {
      test_mechanism *x = pendulum(0.9);
      vin_options options = test_method(methods[k], VIN_PROJECTION_BOTH);
      vin_state end = test_run(x, &options, 10, steps);
      double error = hypot((double)(end.p[0] - x1), (double)(end.p[1] - y1));
      double observed = log2(last / error);
      if (run > 0)
        cr_expect_float_eq(observed, order, 0.2, "%s, %ld steps: %.3f (%g)",
                           vin_method_name(methods[k]), steps, observed, error);
      cr_expect_leq(test_constraint_max(x, 10, end.p), 1e-13);
      cr_expect_leq(test_hidden_max(x, 10, end.p, end.v), 1e-13);
      last = error;
      test_state_free(&end);
      test_mechanism_free(x);
    }
  }
}

/* mu and its motion as the source writes them, with y and v as functions of x and u. */
static double source_rate(double x, double u) {
  double y = -sqrt(1 - x * x), v = -x * u / y;
  return (9.81 * y - (u * u + v * v)) * x;
}

static void source_collatz(double h, double *x, double *u) {
  double x_half = *x + h / 2 * *u, u_half = *u + h / 2 * source_rate(*x, *u);
  *u += h * source_rate(x_half, u_half);
  *x += h * u_half;
}

static void source_rk4(double h, double *x, double *u) {
  double k1 = h * *u, l1 = h * source_rate(*x, *u);
  double k2 = h * (*u + l1 / 2), l2 = h * source_rate(*x + k1 / 2, *u + l1 / 2);
  double k3 = h * (*u + l2 / 2), l3 = h * source_rate(*x + k2 / 2, *u + l2 / 2);
  double k4 = h * (*u + l3), l4 = h * source_rate(*x + k3, *u + l3);
  *x += (k1 + 2 * k2 + 2 * k3 + k4) / 6;
  *u += (l1 + 2 * l2 + 2 * l3 + l4) / 6;
}

/* A swing with |x| <= 0.4 keeps x independent: then the methods are the source's formulas, and 1000
 * steps differ by accumulated rounding only. */
Test(partition, is_the_method_of_the_source) {
  if (!available()) return;
  for (int k = 0; k < 2; k++) {
    test_mechanism *problem = pendulum(0.4);
    vin_options options = test_method(methods[k], VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(problem, &options);
    vin_state state = test_state(problem);
    double x = 0.4, u = 0;
    for (int step = 0; step < 1000; step++) {
      (k == 0 ? source_collatz : source_rk4)(0.01, &x, &u);
      cr_assert_eq(test_advance(integrator, problem, &state, 0.01, 1), VIN_OK, "%s",
                   vin_integrator_error(integrator));
      cr_assert_float_eq(state.p[0], x, 1e-11, "%s, step %d", vin_method_name(methods[k]), step);
      cr_assert_float_eq(state.v[0], u, 1e-11, "%s, step %d", vin_method_name(methods[k]), step);
    }
    const vin_int *independent = NULL;
    cr_expect_eq(vin_integrator_independent(integrator, &independent), 1);
    cr_expect_eq(independent[0], 0);
    cr_expect_eq(vin_integrator_get_stats(integrator).partitions, 1);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(problem);
  }
}

/* `steps` steps of a pendulum that goes round and round for 10 s; returns the energy it gained. Neither
 * coordinate serves all the way. Both constraints hold after every step, and the analyses counted are
 * the saddle point's and one for each choice. */
static double go_round(int steps) {
  test_mechanism *x = built(test_pendulum(0.1, 8));
  vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double energy = test_energy(x, state.p, state.v);
  int seen[2] = {0, 0};
  for (int step = 0; step < steps; step++) {
    cr_assert_eq(test_advance(integrator, x, &state, 10.0 / steps, 1), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    cr_assert_leq(test_constraint_max(x, state.t, state.p), 1e-13);
    cr_assert_leq(test_hidden_max(x, state.t, state.p, state.v), 1e-13);
    const vin_int *independent = NULL;
    cr_assert_eq(vin_integrator_independent(integrator, &independent), 1);
    seen[independent[0]]++;
  }
  cr_expect_gt(seen[0], steps / 5);
  cr_expect_gt(seen[1], steps / 5);
  vin_stats stats = vin_integrator_get_stats(integrator);
  /* two to four changes a turn, and about one turn a second */
  cr_expect(stats.partitions >= 10 && stats.partitions <= 60, "%lld partitions",
            (long long)stats.partitions);
  cr_expect_eq(stats.solver.symbolic, 1 + stats.partitions);
  double gain = test_energy(x, state.p, state.v) - energy;
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
  return gain;
}

/* A change of coordinates costs no accuracy: the energy error shrinks with the order of the method (4, or
 * 5 where it is a pure drift). */
Test(partition, coordinates_change_along_the_motion) {
  if (!available()) return;
  double coarse = go_round(4000), fine = go_round(8000), observed = log2(fabs(coarse / fine));
  cr_expect(observed >= 3.5 && observed <= 5.5, "%g, %g: %.3f", coarse, fine, observed);
}

/* rk4 with both projections and partition-rk4 are different methods of the same order: their difference
 * shrinks by 16 when the step is halved. Constraints that move in time included. */
Test(partition, agrees_with_projected_rk4) {
  if (!available()) return;
  for (int moving = 0; moving < 2; moving++) {
    double difference[2];
    for (int run = 0; run < 2; run++) {
      test_mechanism *x = test_chain(10, 1, 1);
      if (moving) x->amplitude = 0.1, x->frequency = 3, x->v[0] = 0;
      test_mechanism_build(x, NULL);
      if (moving) /* the anchor starts with 0.3 m/s */
        cr_assert_eq(vin_initial_solve(x->system, NULL, 0, x->p, x->v, NULL, NULL, NULL, NULL, 0),
                     VIN_OK);
      long steps = run == 0 ? 200 : 400;
      vin_options a = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
      vin_options b = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
      vin_state one = test_run(x, &a, 1, steps), two = test_run(x, &b, 1, steps);
      difference[run] = test_max_difference(x->n, one.p, two.p);
      cr_expect_leq(test_constraint_max(x, 1, two.p), 1e-13);
      test_state_free(&one), test_state_free(&two);
      test_mechanism_free(x);
    }
    double observed = log2(difference[0] / difference[1]);
    cr_expect(observed >= 3.5 && observed <= 5.5, "moving %d: %.3f (%g, %g)", moving, observed,
              difference[0], difference[1]);
  }
}

/* A chain falls for 3 s, whip and all, and no coordinates serve throughout. Judged by the energy that
 * projected rk4 keeps to 3e-7 J with these steps: partitioning is less accurate where dependent coordinates
 * move more than independent ones, but not by more than the limit of that (2, to the power of the order
 * and more) explains. With a limit of 4 and no care for local changes it was 3e-3, without any limit 12. */
Test(partition, a_falling_chain_keeps_its_energy) {
  if (!available()) return;
  test_mechanism *x = built(test_chain(10, 1, 1));
  vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double energy = test_energy(x, state.p, state.v);
  cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 3000), VIN_OK, "%s",
               vin_integrator_error(integrator));
  cr_expect_float_eq(test_energy(x, state.p, state.v), energy, 1e-3);
  vin_stats stats = vin_integrator_get_stats(integrator);
  cr_expect(stats.partitions >= 3 && stats.partitions <= 100, "%lld", (long long)stats.partitions);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* The same rod twice: one of its rows is left out, and the motion is that of one rod. */
Test(partition, redundant_rows_are_left_out) {
  if (!available()) return;
  test_mechanism *one = built(test_pendulum(0.5, 1)), *two = test_points(2, 1, 2);
  for (int k = 0; k < 2; k++) two->rod[k] = (test_rod){.a = 0, .b = -1, .length = 1};
  two->gravity[1] = -9.81;
  memcpy(two->p, one->p, 2 * sizeof(double));
  memcpy(two->v, one->v, 2 * sizeof(double));
  test_mechanism_build(two, NULL);
  vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = test_integrator(two, &options);
  vin_state a = test_run(one, &options, 1, 200), b = test_state(two);
  cr_assert_eq(test_advance(integrator, two, &b, 1.0 / 200, 200), VIN_OK, "%s",
               vin_integrator_error(integrator));
  cr_expect_leq(test_max_difference(2, a.p, b.p), 1e-12);
  cr_expect_eq(vin_integrator_independent(integrator, NULL), 1);
  const vin_int *rows = NULL;
  vin_kkt *kkt = vin_projector_kkt(vin_integrator_projector(integrator));
  cr_expect_eq(vin_kkt_dropped(kkt, &rows), 1);
  vin_integrator_destroy(integrator);
  test_state_free(&a), test_state_free(&b);
  test_mechanism_free(one), test_mechanism_free(two);
}

/* No constraints: all coordinates are independent, and the method is the plain one. */
Test(partition, without_constraints) {
  if (!available()) return;
  test_mechanism *x = test_points(3, 1, 0);
  x->gravity[2] = -9.81;
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
  vin_state end = test_run(x, &options, 1, 100);
  cr_expect_float_eq(end.p[2], -9.81 / 2, 1e-12);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* Work for one step of a chain, in entries of the factors: linear in its length (ratio 10 within 20 %). */
Test(partition, chain_of_ten_thousand_links) {
  if (!available()) return;
  double sweeps[2];
  for (int run = 0; run < 2; run++) {
    int links = run == 0 ? 1000 : 10000;
    test_mechanism *x = built(test_chain(links, 1, 1));
    vin_options options = test_method(VIN_METHOD_PARTITION_COLLATZ, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 5), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    cr_expect_eq(vin_integrator_independent(integrator, NULL), links);
    vin_stats stats = vin_integrator_get_stats(integrator);
    cr_expect_eq(stats.solver.symbolic, 1 + stats.partitions);
    cr_expect_leq(stats.partitions, 2);
    sweeps[run] = (double)stats.sweeps;
    /* rounding of positions of `links` metres */
    cr_expect_leq(test_constraint_max(x, state.t, state.p), 16 * DBL_EPSILON * links);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
  cr_expect_leq(sweeps[1], 2 * sweeps[0] + 10);
}

/* Field report 38 for these methods: they say that they failed, and the start stays as it is. */
Test(partition, a_hopeless_step_fails) {
  if (!available()) return;
  for (int k = 0; k < 2; k++) {
    test_mechanism *x = built(test_pendulum(0.3, 1e6));
    vin_options options = test_method(methods[k], VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
    vin_status status = vin_integrator_step(integrator, &from, 10, &to);
    cr_expect_eq(status, VIN_STEP_FAILED, "%s: %s", vin_status_name(status),
                 vin_integrator_error(integrator));
    cr_expect(test_state_same(x, &from, &kept));
    cr_expect_eq(vin_integrator_step(integrator, &from, 1e-9, &to), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to);
    test_mechanism_free(x);
  }
}

/* Any allocation that fails, on creation or while coordinates are chosen, is reported, nothing is lost,
 * and the integrator goes on where it exists. */
Test(partition, failing_allocations) {
  if (!available()) return;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    test_mechanism *x = built(test_chain(3, 1, 1));
    vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = NULL;
    vin_status status = vin_integrator_create(&integrator, &context, x->system, &options);
    cr_expect(status == VIN_OK || status == VIN_ERR_NO_MEMORY, "%lld: %s", (long long)k,
              vin_status_name(status));
    if (status == VIN_OK) {
      vin_state from = test_state(x), to = test_state(x);
      status = vin_integrator_step(integrator, &from, 1e-3, &to);
      cr_expect(status == VIN_OK || status == VIN_ERR_NO_MEMORY, "%lld: %s, %s", (long long)k,
                vin_status_name(status), vin_integrator_error(integrator));
      cr_expect_eq(vin_integrator_step(integrator, &from, 1e-3, &to), VIN_OK, "%lld: %s",
                   (long long)k, vin_integrator_error(integrator));
      test_state_free(&from), test_state_free(&to);
    }
    vin_integrator_destroy(integrator);
    test_mechanism_free(x);
    cr_assert_eq(allocator.live, 0, "%lld", (long long)k);
    if (allocator.calls < k) break;
  }
}

/* Every solver of the saddle point gives the same motion. */
Test(partition, under_every_solver) {
  if (!available()) return;
  static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  test_mechanism *x = built(test_chain(10, 1, 1));
  vin_options options = test_method(VIN_METHOD_PARTITION_RK4, VIN_PROJECTION_BOTH);
  vin_state wanted = test_run(x, &options, 0.5, 200);
  for (int k = 0; k < 3; k++) {
    if (!vin_solver_available(solvers[k])) continue;
    options.solver = solvers[k];
    vin_state end = test_run(x, &options, 0.5, 200);
    cr_expect_leq(test_max_difference(x->n, end.p, wanted.p), 1e-10, "%s",
                  vin_solver_name(solvers[k]));
    test_state_free(&end);
  }
  test_state_free(&wanted);
  test_mechanism_free(x);
}
