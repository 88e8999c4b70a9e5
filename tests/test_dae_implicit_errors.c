/* test_dae_implicit_errors - the general form 0 = F(t, y, y'): derivatives, bad input, failures. */
#include "dae_pendulum.h"
#include "implicit_small.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

TestSuite(dae_implicit_errors);

Test(dae_implicit_errors, derivative_check) {
  const double y[3] = {0.5, 2e-5, 0.4}, yp[3] = {1, 2, 3};
  vin_derivative_check check;
  test_implicit_small s = {
      .n = 3, .residual = test_robertson, .jacobians = test_robertson_jacobians};
  vin_dae *dae = test_implicit_small_create(&s);
  cr_expect_eq(vin_dae_check_implicit(dae, 0, y, yp, &check), VIN_OK, "%s", check.text);
  s.wrong = true;
  cr_expect_eq(vin_dae_check_implicit(dae, 0, y, yp, &check), VIN_CHECK_FAILED);
  cr_expect_str_eq(check.function, "residual_yp");
  cr_expect_eq(check.row, 0);
  cr_expect_eq(check.col, 0);
  cr_expect_float_eq(check.given, 1.5, 1e-12);
  double f[3], values[9], given[9];
  char text[128];
  cr_expect_eq(vin_dae_function(dae, 0, y, f, text, sizeof text), VIN_ERR_UNSUPPORTED);
  cr_expect_eq(vin_dae_check(dae, 0, y, &check), VIN_ERR_UNSUPPORTED);
  vin_dae_index_report index;
  cr_expect_eq(vin_dae_index_check(dae, 0, y, 0, &index), VIN_ERR_UNSUPPORTED);
  vin_branch *branch = NULL;
  cr_expect_neq(vin_branch_create(&branch, NULL, dae, NULL), VIN_OK);
  vin_branch_destroy(branch);
  cr_expect_eq(vin_dae_residual(dae, 0, y, yp, f, text, sizeof text), VIN_OK);
  cr_expect_float_eq(f[2], 0.5 + 2e-5 + 0.4 - 1, 1e-15);
  s.wrong = false;
  cr_expect_eq(vin_dae_residual_jacobians(dae, 0, y, yp, given, NULL, text, sizeof text), VIN_OK);
  vin_dae_destroy(dae);
  s.differences = true;
  dae = test_implicit_small_create(&s);
  cr_expect_eq(vin_dae_residual_jacobians(dae, 0, y, yp, values, NULL, text, sizeof text), VIN_OK);
  for (int k = 0; k < 9; k++) cr_expect_float_eq(values[k], given[k], 1e-6 * (1 + fabs(given[k])));
  vin_dae_destroy(dae);
}

static void expect_refused(vin_dae_desc desc, const char *word) {
  vin_dae *dae = NULL;
  cr_expect_eq(vin_dae_create(&dae, NULL, &desc), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_dae_error(dae), word), "%s, not %s", vin_dae_error(dae), word);
  vin_dae_destroy(dae);
}

static int some_function(void *user, double t, const double *y, double *f) {
  (void)user, (void)t, (void)y, (void)f;
  return 0;
}

Test(dae_implicit_errors, descriptions_of_two_forms_are_refused) {
  test_implicit_small s = {
      .n = 3, .residual = test_robertson, .jacobians = test_robertson_jacobians};
  const double values[9] = {0}, rates[3] = {1, 0, 1};
  vin_dae_desc desc = test_implicit_small_describe(&s);
  desc.function = some_function, expect_refused(desc, "function");
  desc = test_implicit_small_describe(&s), desc.jacobian = some_function,
  expect_refused(desc, "jacobian");
  desc = test_implicit_small_describe(&s), desc.mass_values = values,
  expect_refused(desc, "mass_values");
  desc = test_implicit_small_describe(&s), desc.differential = 1,
  expect_refused(desc, "differential");
  desc = test_implicit_small_describe(&s), desc.typical_rate = rates,
  expect_refused(desc, "typical_rate[1]");
}

Test(dae_implicit_errors, failing_residuals) {
  NEEDS_UMFPACK;
  static const int codes[3] = {1, -1, 0};
  for (int m = 0; m < 2; m++) {
    for (int k = 0; k < 3; k++) {
      for (int call = 1; call < 60; call++) {
        test_implicit_small s = {.n = 3,
                                 .residual = test_robertson,
                                 .jacobians = test_robertson_jacobians,
                                 .differences = true,
                                 .fail_call = call,
                                 .fail_code = codes[k]};
        double y[3] = {1, 0, 0}, yp[3] = {-0.04, 0.04, 0};
        char text[512];
        vin_status status = test_implicit_small_integrate(
            &s, test_dae_options(test_dae_methods[m], 1e-4), 0.1, y, yp, NULL, text);
        if (codes[k] < 0 && s.calls >= call)
          cr_expect_eq(status, VIN_ERR_CALLBACK, "call %d: %s", call, text);
        else if (status != VIN_OK)
          cr_expect_not_null(strstr(text, "residual"), "%s", text);
      }
    }
  }
}

Test(dae_implicit_errors, every_allocation_may_fail) {
  NEEDS_UMFPACK;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    test_implicit_small s = {.n = 3, .residual = test_robertson, .differences = true};
    vin_dae_desc desc = test_implicit_small_describe(&s);
    const double rates[3] = {1, 1, 1};
    desc.typical_rate = rates;
    vin_dae *dae = NULL;
    vin_dae_integrator *integrator = NULL;
    double y[3] = {1, 0, 0}, yp[3] = {-0.04, 0.04, 0};
    vin_dae_initial_report report;
    vin_status status = vin_dae_create(&dae, &context, &desc);
    if (status == VIN_OK) status = vin_dae_initialise(dae, NULL, 0, y, yp, &report);
    if (status == VIN_OK) status = vin_dae_integrator_create(&integrator, &context, dae, NULL);
    if (status == VIN_OK) status = vin_dae_integrator_start_implicit(integrator, 0, y, yp);
    if (status == VIN_OK) status = vin_dae_integrator_run(integrator, 0.1);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "%lld: %s", (long long)k,
                 vin_status_name(status));
    vin_dae_integrator_destroy(integrator);
    vin_dae_destroy(dae);
    cr_assert_eq(allocator.live, 0);
    if (allocator.calls < k) break;
  }
}
