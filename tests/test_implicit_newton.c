/* The end of Newton's iteration in the implicit methods: what it leaves does not add up to more than the
 * tolerance, and never passes for the error of the discretisation. */
#include "implicit_problems.h"
#include "ivp.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(implicit_newton, .init = test_need_umfpack);

#define EACH_METHOD(method)                                                                        \
  for (vin_method method = VIN_METHOD_BACKWARD_EULER; method <= VIN_METHOD_GENERALIZED_ALPHA;      \
       method++)

/* ---- many steps of a sensitive motion ----------------------------------------------------------- */

enum { N = 7, M = 6 };

/* Largest relative error of a position or velocity of Andrews' mechanism at t = 0.03 by radau5. */
static double andrews_error(double tolerance, long steps) {
  double row[2 * N], start[N] = {0};
  test_reference("ivp/andrews.csv", 0, N, start);
  test_reference("ivp/andrews.csv", 0.03, 2 * N, row);
  vin_system_desc desc = ivp_andrews_system();
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK);
  vin_options options = test_method(VIN_METHOD_RADAU5, VIN_PROJECTION_BOTH);
  options.newton_tolerance = tolerance;
  vin_integrator *integrator = NULL;
  cr_assert_eq(vin_integrator_create(&integrator, NULL, system, &options), VIN_OK);
  vin_system_destroy(system);
  double p[2][N], v[2][N] = {{0}}, lambda[2][M] = {{0}}, h = 0.03 / (double)steps;
  memcpy(p[0], start, sizeof p[0]);
  vin_state state[2];
  for (int i = 0; i < 2; i++) state[i] = (vin_state){.p = p[i], .v = v[i], .lambda = lambda[i]};
  for (long k = 0; k < steps; k++) { /* steps of one length, so that matrices are kept */
    state[k % 2].t = h * (double)k;
    cr_assert_eq(vin_integrator_step(integrator, &state[k % 2], h, &state[(k + 1) % 2]), VIN_OK);
  }
  double error = 0;
  for (int i = 0; i < N; i++) {
    error = fmax(error, fabs(p[steps % 2][i] / row[i] - 1));
    error = fmax(error, fabs(v[steps % 2][i] / row[N + i] - 1));
  }
  vin_integrator_destroy(integrator);
  return error;
}

/* The motion enlarges a relative difference by some 1e2 to 1e3, and radau5's own error is below 1e-12
 * here: what shows is the default tolerance of 1e-12, at any number of steps, and a hundred times that
 * with 1e-10. (Judged by the size of the state, not the change, it was 3e-9 to 3e-8, growing.) */
Test(implicit_newton, what_is_left_does_not_add_up_over_the_steps) {
  for (long steps = 3000; steps <= 24000; steps *= 2) {
    double error = andrews_error(1e-12, steps);
    cr_expect_leq(error, 5e-10, "%ld steps: %g", steps, error);
  }
  double loose = andrews_error(1e-10, 6000), tight = andrews_error(1e-15, 6000);
  cr_expect(loose <= 5e-8 && loose >= 1e-10, "%g", loose); /* the tolerance is what decides */
  cr_expect_leq(tight, 5e-11, "%g", tight);
}

/* ---- tolerances at rounding --------------------------------------------------------------------- */

/* Asking for more than rounding allows is no failure: iterations end where they stagnate. */
Test(implicit_newton, tolerances_beyond_rounding) {
  static const double tolerances[] = {1e-14, 1e-16, 1e-18};
  test_bodies *stiff = test_stiff_pendulum(1e4, 50, true);
  test_mechanism *chain = test_chain(10, 1, 1);
  test_mechanism_build(chain, NULL);
  EACH_METHOD(method) {
    for (int k = 0; k < 3; k++) {
      double p[4], v[4], lambda[2];
      vin_options options = test_method(method, VIN_PROJECTION_BOTH);
      options.newton_tolerance = tolerances[k];
      cr_expect_eq(test_bodies_run(stiff, &options, 1, 100, p, v, lambda), VIN_OK, "%s, %g",
                   vin_method_name(method), tolerances[k]);
      vin_state end = test_run(chain, &options, 0.1, 20); /* asserts that all steps succeed */
      test_state_free(&end);
    }
  }
  test_bodies_free(stiff);
  test_mechanism_free(chain);
}

/* Short steps, down to where h v is a few roundings of p: they succeed, and 100 of them stay within the
 * roundings that they may leave. */
Test(implicit_newton, short_steps) {
  EACH_METHOD(method) {
    for (double h = 1e-6; h >= 1e-14; h *= 1e-4) {
      test_mechanism *x = test_pendulum(0.5, 1);
      test_mechanism_build(x, NULL);
      vin_options options = test_method(method, VIN_PROJECTION_BOTH);
      vin_integrator *integrator = test_integrator(x, &options);
      vin_state state = test_state(x);
      cr_assert_eq(test_advance(integrator, x, &state, h, 100), VIN_OK, "%s, h = %g: %s",
                   vin_method_name(method), h, vin_integrator_error(integrator));
      for (int i = 0; i < 2; i++) { /* p0 + t v0 to 4 ulp a step; index3-euler: v of differences */
        cr_expect_float_eq(state.p[i], x->p[i] + 100 * h * x->v[i], 1e-13 + 1e5 * h * h,
                           "%s, h = %g: %g", vin_method_name(method), h,
                           state.p[i] - x->p[i] - 100 * h * x->v[i]);
      }
      vin_integrator_destroy(integrator);
      test_state_free(&state);
      test_mechanism_free(x);
    }
  }
}

/* ---- budgets ------------------------------------------------------------------------------------- */

/* A budget of k iterations: a step that succeeds agrees with one that has all it wants, and otherwise it
 * fails and says so. With one iteration nothing tells how far it is from the end. */
Test(implicit_newton, small_budgets) {
  EACH_METHOD(method) {
    test_mechanism *x = test_pendulum(0.5, 1);
    test_mechanism_build(x, NULL);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state wanted = test_run(x, &options, 0.05, 1);
    for (int budget = 1; budget <= 6; budget++) {
      options.max_newton = budget;
      vin_integrator *integrator = test_integrator(x, &options);
      vin_state from = test_state(x), to = test_state(x);
      vin_status status = vin_integrator_step(integrator, &from, 0.05, &to);
      if (status == VIN_OK) {
        cr_expect_leq(test_max_difference(2, to.p, wanted.p), 1e-13, "%s", vin_method_name(method));
        cr_expect_leq(test_max_difference(2, to.v, wanted.v), 1e-12, "%s", vin_method_name(method));
      } else {
        cr_expect_eq(status, VIN_STEP_FAILED);
        cr_expect_not_null(strstr(vin_integrator_error(integrator), "did not converge"), "%s",
                           vin_integrator_error(integrator));
      }
      cr_expect(budget > 1 || status != VIN_OK, "%s", vin_method_name(method));
      vin_integrator_destroy(integrator);
      test_state_free(&from), test_state_free(&to);
    }
    test_state_free(&wanted);
    test_mechanism_free(x);
  }
}

/* ---- order studies -------------------------------------------------------------------------------- */

/* With the default tolerance an order study of each method never shows Newton's error in positions; with a
 * tolerance of 1e-4 it does, and says so instead of giving an order. */
Test(implicit_newton, studies_tell_newtons_error) {
  EACH_METHOD(method) {
    test_mechanism *x = test_pendulum(0.5, 1);
    test_mechanism_build(x, NULL);
    for (int loose = 0; loose < 2; loose++) {
      vin_options options = test_method(method, VIN_PROJECTION_BOTH);
      if (loose) options.newton_tolerance = 1e-4;
      vin_study_options study_options = vin_study_options_default();
      study_options.step = method == VIN_METHOD_RADAU5 ? 0.05 : 0.01;
      study_options.levels = 5;
      vin_study *study = NULL;
      cr_assert_eq(
          vin_study_system(&study, NULL, x->system, x->p, x->v, 0.5, &options, &study_options),
          VIN_OK, "%s", vin_study_error(study));
      int solver = 0;
      for (int level = 0; level < 5; level++) {
        solver += vin_study_get(study, level, 0).verdict == VIN_STUDY_SOLVER;
      }
      if (!loose)
        cr_expect_eq(solver, 0, "%s:\n%s", vin_method_name(method), vin_study_table(study));
      if (loose && method == VIN_METHOD_RADAU5)
        cr_expect_gt(solver, 0, "%s", vin_study_table(study));
      vin_study_destroy(study);
    }
    test_mechanism_free(x);
  }
}
