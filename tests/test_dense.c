/* Dense output: order of the interpolation, records at exact times, a simulation's last step; the residual
 * estimate of a step. */
#include "problems.h"
#include "test_sim_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dense);

static vin_options controlled(double tolerance) {
  vin_options options = vin_options_default();
  options.method = VIN_METHOD_DOPRI5;
  options.relative_tolerance = options.absolute_tolerance = tolerance;
  return options;
}

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static void run(vin_sim *sim, double t) {
  cr_assert_eq(vin_sim_run(sim, t), VIN_OK, "%s", vin_sim_error(sim));
}

/* Largest error of p and v within one step from the start of the spherical pendulum, against much shorter
 * steps of the same method. Both ends are met bit for bit. */
static void within(vin_method method, double h, double *error_p, double *error_v) {
  test_mechanism *x = built(test_spherical_pendulum());
  vin_options options = test_method(method, VIN_PROJECTION_BOTH);
  options.dense_output = 1;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state from = test_state(x), to = test_state(x), between = test_state(x);
  cr_expect_eq(vin_integrator_interpolate(integrator, 0.5, between.p, between.v),
               VIN_ERR_BAD_STATE);
  cr_assert_eq(vin_integrator_step(integrator, &from, h, &to), VIN_OK);
  *error_p = *error_v = 0;
  for (int k = 0; k <= 8; k++) {
    cr_assert_eq(vin_integrator_interpolate(integrator, k / 8.0, between.p, between.v), VIN_OK);
    const vin_state *end = k == 0 ? &from : &to;
    if (k == 0 || k == 8) {
      cr_expect_arr_eq(between.p, end->p, (size_t)x->n * sizeof(double));
      cr_expect_arr_eq(between.v, end->v, (size_t)x->n * sizeof(double));
      continue;
    }
    vin_options fine = test_method(VIN_METHOD_DOPRI5, VIN_PROJECTION_BOTH);
    vin_state exact = test_run(x, &fine, h * k / 8, 20);
    *error_p = fmax(*error_p, test_max_difference(x->n, exact.p, between.p));
    *error_v = fmax(*error_v, test_max_difference(x->n, exact.v, between.v));
    test_state_free(&exact);
  }
  cr_expect_eq(vin_integrator_interpolate(integrator, 1.5, between.p, between.v),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_interpolate(integrator, NAN, between.p, between.v),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_interpolate(integrator, 0.5, NULL, between.v), VIN_ERR_BAD_INPUT);
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to), test_state_free(&between);
  test_mechanism_free(x);
}

/* Local errors: h^5 with dopri5's extension (order 4), h^4 with the cubics, whose ends are themselves as
 * exact as the method. rattle: its own h^3 at the end decides, in v by way of the derivative, h^3/h. */
Test(dense, order_of_the_interpolation) {
  static const struct {
    vin_method method;
    double p, v;
  } cases[] = {{VIN_METHOD_DOPRI5, 5, 5}, {VIN_METHOD_RK4, 4, 4}, {VIN_METHOD_RATTLE, 3, 2}};
  for (int k = 0; k < 3; k++) {
    double p[2], v[2];
    within(cases[k].method, 0.02, &p[0], &v[0]);
    within(cases[k].method, 0.01, &p[1], &v[1]);
    cr_expect_float_eq(log2(p[0] / p[1]), cases[k].p, 0.4, "%s: p %.3f (%g)",
                       vin_method_name(cases[k].method), log2(p[0] / p[1]), p[1]);
    cr_expect_float_eq(log2(v[0] / v[1]), cases[k].v, 0.4, "%s: v %.3f (%g)",
                       vin_method_name(cases[k].method), log2(v[0] / v[1]), v[1]);
  }
}

/* Records at the exact times of the grid, with both methods of the step: those between steps agree with a
 * run that ends on each of them, to the error of the interpolation. */
Test(dense, records_at_exact_times) {
  for (int constant = 0; constant < 2; constant++) {
    pendulum data = sound();
    vin_options options = controlled(constant ? 0 : 1e-8);
    options.step = 0.007;
    vin_sim *sim = pendulum_sim(&data, &options), *exact = pendulum_sim(&data, &options);
    vin_recorder_options wanted = vin_recorder_options_default();
    wanted.interval = 0.05;
    wanted.interpolate = 1;
    vin_recorder *recorder = NULL;
    cr_assert_eq(vin_recorder_create(&recorder, sim, &wanted), VIN_OK, "%s",
                 vin_recorder_error(recorder));
    run(sim, 1);
    cr_assert_eq(vin_recorder_rows(recorder), 21);
    for (int row = 0; row <= 20; row++) {
      double t = 0.05 * row;
      run(exact, t);
      cr_expect_float_eq(vin_recorder_value(recorder, row, 0), t, 1e-15);
      for (int i = 0; i < 2; i++) {
        cr_expect_float_eq(vin_recorder_value(recorder, row, 6 + i), vin_sim_state(exact).p[i],
                           1e-6);
        cr_expect_float_eq(vin_recorder_value(recorder, row, 8 + i), vin_sim_state(exact).v[i],
                           1e-5);
      }
      cr_expect_float_eq(vin_recorder_value(recorder, row, 2), 0, 1e-4, "energy");
    }
    vin_recorder_destroy(recorder);
    vin_sim_destroy(sim), vin_sim_destroy(exact);
  }
}

/* vin_sim_interpolate(): also without dense output and across halved steps; outside the step it refuses. */
Test(dense, interpolation_of_a_sim) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  options.max_halvings = 3;
  vin_sim *sim = pendulum_sim(&data, &options);
  double p[2], v[2];
  cr_expect_eq(vin_sim_interpolate(sim, 0, p, v), VIN_ERR_BAD_STATE);
  data.fail_call = data.calls + 1;
  run(sim, 0.01);
  cr_assert_eq(vin_sim_get_stats(sim).failures, 1);
  cr_assert_eq(vin_sim_interpolate(sim, 0.005, p, v), VIN_OK, "%s", vin_sim_error(sim));
  /* level and at rest: y = -g t^2 / 2 to t^4, the cubic is exact to that order */
  cr_expect_float_eq(p[1], -9.81 * 0.005 * 0.005 / 2, 1e-6);
  cr_expect_float_eq(v[1], -9.81 * 0.005, 1e-4);
  cr_expect_eq(vin_sim_interpolate(sim, 0.02, p, v), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_sim_interpolate(sim, NAN, p, v), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_sim_interpolate(sim, 0.005, NULL, v), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_sim_interpolate(NULL, 0.005, p, v), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_set_state(sim, 0, level, rest), VIN_OK);
  cr_expect_eq(vin_sim_interpolate(sim, 0, p, v), VIN_ERR_BAD_STATE);
  vin_sim_destroy(sim);
}

/* What a step is judged by depends on the step alone: the same one again, after many others, has the same
 * residual estimate, bit for bit. Without projection the constraints drift, by less with shorter steps until
 * that is a few roundings. */
Test(dense, residual_estimate_is_the_steps_own) {
  test_mechanism *x = built(test_planar_pendulum());
  vin_options options = controlled(1e-6);
  options.projection = VIN_PROJECTION_NONE;
  double p[2][2], v[2][2], lambda[2][1];
  vin_state from = {.p = p[0], .v = v[0], .lambda = lambda[0]};
  vin_state to = {.p = p[1], .v = v[1], .lambda = lambda[1]};
  memcpy(p[0], x->p, sizeof p[0]);
  memcpy(v[0], x->v, sizeof v[0]);
  for (double h = 0.05; h > 0.001; h /= 2) {
    double first = 0;
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, NULL, x->system, &options), VIN_OK);
    for (int k = 0; k < 200; k++) {
      cr_assert_eq(vin_integrator_step(integrator, &from, h, &to), VIN_OK);
      const double estimate = vin_integrator_residual_estimate(integrator);
      if (k == 0) first = estimate;
      cr_assert_eq(estimate, first, "h = %g, step %d: %g, at first %g", h, k, estimate, first);
    }
    if (h == 0.05) cr_expect_gt(first, 0);
    vin_integrator_destroy(integrator);
  }
  test_mechanism_free(x);
}
