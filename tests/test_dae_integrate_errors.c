/* test_dae_integrate_errors - what the variable-step integrator refuses, how it fails, and what is left
 * after that. */
#include "dae_pendulum.h"
#include "ivp_run.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Everything refused as input names what is wrong. */
static void expect_refused(vin_dae *dae, const vin_dae_integrator_options *options,
                           const char *word) {
  vin_dae_integrator *integrator = NULL;
  cr_expect_eq(vin_dae_integrator_create(&integrator, NULL, dae, options), VIN_ERR_BAD_INPUT, "%s",
               word);
  cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), word), "'%s' does not name '%s'",
                     vin_dae_integrator_error(integrator), word);
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, test_pendulum_start), VIN_ERR_BAD_STATE);
  cr_expect_eq(vin_dae_integrator_run(integrator, 1), VIN_ERR_BAD_STATE);
  vin_dae_integrator_destroy(integrator);
}

Test(dae_integrate_errors, options) {
  test_pendulum data = {0};
  vin_dae *dae = NULL;
  cr_assert_eq(test_pendulum_dae(&dae, NULL, &data), VIN_OK);
  const double bad[] = {0, -1, NAN, INFINITY, 1e300};
  vin_dae_integrator_options options;
  for (int k = 0; k < 5; k++) {
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.relative_tolerance = bad[k];
    expect_refused(dae, &options, "relative");
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.absolute_tolerance = bad[k];
    if (k != 4) expect_refused(dae, &options, "absolute");
    double each[TEST_PENDULUM] = {1e-6, 1e-6, bad[k], 1e-6, 1e-6};
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.relative_tolerances = each;
    expect_refused(dae, &options, "tolerances of u");
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.time_scale = bad[k];
    if (k != 4) expect_refused(dae, &options, "time_scale");
    if (k == 0 || k == 4) continue; /* 0: chosen, no limit, off */
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.initial_step = bad[k];
    expect_refused(dae, &options, "initial_step");
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.max_step = bad[k];
    expect_refused(dae, &options, "max_step");
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.fixed_step = bad[k];
    expect_refused(dae, &options, "fixed_step");
    options = test_dae_options(VIN_DAE_RADAU, 1e-6);
    options.newton_tolerance = bad[k];
    expect_refused(dae, &options, "newton_tolerance");
  }
  vin_dae_destroy(dae);
}

Test(dae_integrate_errors, counts_and_handles) {
  test_pendulum data = {0};
  vin_dae *dae = NULL;
  cr_assert_eq(test_pendulum_dae(&dae, NULL, &data), VIN_OK);
  vin_dae_integrator_options options = test_dae_options((vin_dae_integrator_method)77, 1e-6);
  expect_refused(dae, &options, "method");
  options = test_dae_options(VIN_DAE_BDF, 1e-6);
  options.max_order = 6;
  expect_refused(dae, &options, "max_order");
  options = test_dae_options(VIN_DAE_BDF, 1e-6);
  options.max_newton = 1;
  expect_refused(dae, &options, "max_newton");
  options = test_dae_options(VIN_DAE_BDF, 1e-6);
  options.max_steps = 0;
  expect_refused(dae, &options, "max_steps");
  options = test_dae_options(VIN_DAE_BDF, 1e-6);
  options.struct_size = 0;
  expect_refused(dae, &options, "struct_size");
  vin_dae_destroy(dae);
  expect_refused(NULL, NULL, "dae is NULL");
  cr_expect_eq(vin_dae_integrator_create(NULL, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_start(NULL, 0, test_pendulum_start), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_step(NULL, 1), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_run(NULL, 1), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_interpolate(NULL, 1, NULL), VIN_ERR_BAD_INPUT);
  cr_expect(isnan(vin_dae_integrator_state(NULL).t));
  cr_expect_eq(vin_dae_integrator_get_stats(NULL).steps, 0);
  vin_dae_integrator_destroy(NULL);
}

Test(dae_integrate_errors, names) {
  vin_dae_integrator_method method;
  EACH_METHOD(m) {
    const char *name = vin_dae_integrator_method_name(test_dae_methods[m]);
    cr_expect_eq(vin_dae_integrator_method_from_name(&method, name), VIN_OK);
    cr_expect_eq(method, test_dae_methods[m]);
  }
  cr_expect_eq(vin_dae_integrator_method_from_name(&method, "euler"), VIN_ERR_BAD_INPUT);
  cr_expect_eq(method, VIN_DAE_RADAU);
  cr_expect_eq(vin_dae_integrator_method_from_name(&method, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_method_from_name(NULL, "bdf"), VIN_ERR_BAD_INPUT);
  cr_expect_str_eq(vin_dae_integrator_method_name((vin_dae_integrator_method)77), "unknown");
}

static void expect_start(vin_dae_integrator *integrator, const double *y, vin_status status,
                         const char *word) {
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, y), status, "%s", word);
  if (status == VIN_OK) return;
  cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), word), "'%s' does not name '%s'",
                     vin_dae_integrator_error(integrator), word);
  cr_expect_eq(vin_dae_integrator_run(integrator, 1), VIN_ERR_BAD_STATE);
}

/* A position off the circle, a velocity across it, not a multiplier: that is not needed. */
Test(dae_integrate_errors, start) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    test_pendulum data = {.limit = -0.5};
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
    vin_dae_integrator *integrator = test_pendulum_begin(&data, &options, 0);
    const double nan[] = {1, 0, NAN, 0, 0}, outside[] = {-0.6, -0.8, 0, 0, 0};
    const double longer[] = {1.001, 0, 0, 0, 0}, across[] = {1, 0, 1e-3, 0, 0};
    const double multiplier[] = {1, 0, 0, 0, 7}, low[] = {0.6, -0.8, 0.8, 0.6, 0};
    expect_start(integrator, nan, VIN_ERR_BAD_INPUT, "u is nan");
    expect_start(integrator, outside, VIN_ERR_BAD_INPUT, "domain");
    expect_start(integrator, longer, VIN_ERR_BAD_INPUT, "x is 1.001");
    expect_start(integrator, across, VIN_ERR_BAD_INPUT, "u is 0.001");
    expect_start(integrator, multiplier, VIN_OK, "");
    expect_start(integrator, low, VIN_OK, "");
    cr_expect_eq(vin_dae_integrator_start(integrator, NAN, low), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_dae_integrator_start(integrator, 0, NULL), VIN_ERR_BAD_INPUT);
    cr_assert_eq(vin_dae_integrator_start(integrator, 0, low), VIN_OK);
    cr_expect_eq(vin_dae_integrator_run(integrator, NAN), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_dae_integrator_run(integrator, INFINITY), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_dae_integrator_step(integrator, 0), VIN_ERR_BAD_INPUT);
    vin_dae_integrator_destroy(integrator);
  }
}

/* The amplifier's B has no zero row: its three algebraic equations are sums of rows. A start that
 * breaks one of them is found all the same. */
Test(dae_integrate_errors, start_with_general_mass) {
  NEEDS_UMFPACK;
  ivp_problem *p = ivp_create("transistor", VINCULA_TEST_DATA);
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  cr_assert_eq(ivp_dae(&dae, p), VIN_OK);
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_OK);
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, p->y0), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  p->y0[6] += 0.01;
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, p->y0), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), "do not satisfy"));
  vin_dae_integrator_destroy(integrator);
  vin_dae_destroy(dae);
  ivp_destroy(p);
}

/* State and time are those of the last accepted step; a failed call changes neither. */
static vin_status run_until_failure(test_pendulum *data, vin_dae_integrator_method method,
                                    double t_before, const char *word) {
  vin_dae_integrator_options options = test_dae_options(method, 1e-6);
  vin_dae_integrator *integrator = test_pendulum_begin(data, &options, 0);
  vin_status status = vin_dae_integrator_run(integrator, 1);
  vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
  double y[TEST_PENDULUM], t = at.t;
  memcpy(y, at.y, sizeof y);
  cr_expect_leq(at.t, t_before);
  cr_expect(isfinite(test_max_abs(TEST_PENDULUM, y)));
  cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), word), "'%s' does not name '%s'",
                     vin_dae_integrator_error(integrator), word);
  cr_expect_eq(vin_dae_integrator_step(integrator, 1), status);
  at = vin_dae_integrator_state(integrator);
  cr_expect_eq(at.t, t);
  cr_expect_arr_eq(at.y, y, sizeof y);
  vin_dae_integrator_destroy(integrator);
  return status;
}

Test(dae_integrate_errors, callbacks_that_fail) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    vin_dae_integrator_method method = test_dae_methods[m];
    for (int differences = 0; differences < 2; differences++) {
      test_pendulum refuse = {.refuse_after = 0.5}, fatal = {.fail_after = 0.5};
      test_pendulum nan = {.nan_after = 0.5};
      refuse.without_jacobian = fatal.without_jacobian = nan.without_jacobian = differences;
      cr_expect_eq(run_until_failure(&refuse, method, 0.5, "refused down to steps"), VIN_RETRY);
      cr_expect_eq(run_until_failure(&fatal, method, 0.5, "failed (-1)"), VIN_ERR_CALLBACK);
      cr_expect_eq(run_until_failure(&nan, method, 0.5, "nan"), VIN_RETRY);
    }
  }
}

/* The pendulum leaves x > -0.5 on its way; the last step stays inside. */
Test(dae_integrate_errors, domain) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    test_pendulum data = {.limit = -0.5};
    cr_expect_eq(run_until_failure(&data, test_dae_methods[m], 1, "domain"), VIN_RETRY);
  }
}

/* Declared as index 1, the multiplier's error grows as the step shrinks. */
Test(dae_integrate_errors, index_declared_too_low) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    test_pendulum data = {.wrong_index = true};
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-9);
    options.check_start = 0;
    vin_dae_integrator *integrator = test_pendulum_begin(&data, &options, 0);
    vin_status status = vin_dae_integrator_run(integrator, 1);
    cr_expect_eq(status, VIN_STEP_FAILED, "%s at t = %g", vin_status_name(status),
                 vin_dae_integrator_state(integrator).t);
    cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), "index"), "%s",
                       vin_dae_integrator_error(integrator));
    vin_dae_integrator_destroy(integrator);
  }
}

Test(dae_integrate_errors, attempts_run_out_and_the_run_goes_on) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    test_pendulum data = {0};
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-6);
    options.max_steps = 5;
    vin_dae_integrator *integrator = test_pendulum_begin(&data, &options, 0);
    vin_status status = VIN_NOT_CONVERGED;
    double t = 0;
    for (int k = 0; k < 1000 && status == VIN_NOT_CONVERGED; k++) {
      status = vin_dae_integrator_run(integrator, 1);
      if (k == 0) cr_expect_eq(status, VIN_NOT_CONVERGED);
      cr_expect_geq(vin_dae_integrator_state(integrator).t, t);
      t = vin_dae_integrator_state(integrator).t;
    }
    cr_expect_eq(status, VIN_OK, "%s", vin_dae_integrator_error(integrator));
    cr_expect_eq(t, 1);
    vin_dae_integrator_destroy(integrator);
  }
}

/* y0' = 1, 0 = y0 - t; y1 is in no equation. */
static int incomplete_f(void *user, double t, const double *y, double *f) {
  (void)user;
  f[0] = 1;
  f[1] = y[0] - t;
  return 0;
}

Test(dae_integrate_errors, singular_matrix) {
  NEEDS_UMFPACK;
  static const vin_int zero[] = {0}, one[] = {1};
  EACH_METHOD(m) {
    vin_dae_desc desc = vin_dae_desc_default();
    desc.unknowns = 2;
    desc.mass_pattern = (vin_triplets){1, zero, zero};
    desc.mass_values = (const double[]){1};
    desc.function = incomplete_f;
    desc.jacobian_pattern = (vin_triplets){1, one, zero};
    vin_dae *dae = NULL;
    vin_dae_integrator *integrator = NULL;
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-6);
    cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
    vin_status status = vin_dae_integrator_create(&integrator, NULL, dae, &options);
    if (status == VIN_OK) {
      status = vin_dae_integrator_start(integrator, 0, (const double[]){0, 0});
    }
    if (status == VIN_OK) status = vin_dae_integrator_run(integrator, 1);
    cr_expect_eq(status, VIN_SINGULAR, "%s: %s", vin_status_name(status),
                 vin_dae_integrator_error(integrator));
    cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), "singular"));
    vin_dae_integrator_destroy(integrator);
    vin_dae_destroy(dae);
  }
}

/* Each allocation of the way fails once: a clear status, nothing lost; no step allocates. */
Test(dae_integrate_errors, allocations) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    for (int64_t k = 1;; k++) {
      test_allocator allocator = {.fail_at = k};
      vin_context context = test_context(&allocator);
      test_pendulum data = {.without_jacobian = true};
      vin_dae *dae = NULL;
      vin_dae_integrator *integrator = NULL;
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-6);
      vin_status status = test_pendulum_dae(&dae, &context, &data);
      if (status == VIN_OK) {
        status = vin_dae_integrator_create(&integrator, &context, dae, &options);
      }
      if (status == VIN_OK) status = vin_dae_integrator_start(integrator, 0, test_pendulum_start);
      int64_t before = allocator.calls;
      if (status == VIN_OK) status = vin_dae_integrator_run(integrator, 0.1);
      cr_expect_eq(allocator.calls, before);
      cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "allocation %d: %s",
                   (int)k, vin_dae_integrator_error(integrator));
      vin_dae_integrator_destroy(integrator);
      vin_dae_destroy(dae);
      cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
      if (allocator.calls < k) break;
    }
  }
}

/* Without a solver for general matrices creation says so. */
Test(dae_integrate_errors, build_without_a_general_solver) {
  if (vin_solver_available(VIN_SOLVER_UMFPACK) || vin_solver_available(VIN_SOLVER_KLU)) return;
  test_pendulum data = {0};
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  cr_assert_eq(test_pendulum_dae(&dae, NULL, &data), VIN_OK);
  cr_expect_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_ERR_UNSUPPORTED);
  cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), "UMFPACK"), "%s",
                     vin_dae_integrator_error(integrator));
  vin_dae_integrator_destroy(integrator);
  vin_dae_destroy(dae);
}
