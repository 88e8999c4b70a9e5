/* test_dae_implicit_start - the general form 0 = F(t, y, y'): consistent starts, an index above the declared
 * one. */
#include "dae_pendulum.h"
#include "implicit_small.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

TestSuite(dae_implicit_start);

/* ---- consistent starts --------------------------------------------------------------------------- */

Test(dae_implicit_start, initialise_with_fixed_y_or_fixed_yp) {
  test_implicit_small s = {
      .n = 3, .residual = test_robertson, .jacobians = test_robertson_jacobians};
  vin_dae *dae = test_implicit_small_create(&s);
  const unsigned char fixed[3] = {1, 1, 0}, all[3] = {1, 1, 1};
  vin_dae_initial_options options = vin_dae_initial_options_default();
  options.fixed_y = fixed;
  double y[3] = {0.9, 1e-5, 7}, yp[3] = {5, 5, 5};
  vin_dae_initial_report r;
  cr_assert_eq(vin_dae_initialise(dae, &options, 0, y, yp, &r), VIN_OK, "%s", r.text);
  cr_expect_eq(y[0], 0.9);
  cr_expect_eq(y[1], 1e-5);
  cr_expect_float_eq(y[2], 0.09999, 1e-12);
  cr_expect_float_eq(yp[0], -0.04 * 0.9 + 0.1 * 0.09999, 1e-9);
  cr_expect_float_eq(yp[1], 0.04 * 0.9 - 0.1 * 0.09999 - 3e-3, 1e-9);
  cr_expect_eq(yp[2], 5); /* not in F: it stays */
  cr_expect_eq(r.free_y, 1);
  cr_expect_eq(r.free_yp, 3);
  /* everything fixed: the equation that cannot be met is named */
  options.fixed_y = all;
  options.fixed_yp = all;
  double w[3] = {0.1, 0.1, 0.7}, before[3] = {0.1, 0.1, 0.7}, zero[3] = {0};
  cr_expect_eq(vin_dae_initialise(dae, &options, 0, w, zero, &r), VIN_INFEASIBLE);
  cr_expect_not_null(strstr(r.text, "equation"), "%s", r.text);
  cr_expect_arr_eq(w, before, sizeof w);
  vin_dae_destroy(dae);
  /* y' = 0 given: the pendulum at rest hangs, with l = g */
  test_implicit_level = 3;
  test_implicit_small hanging = {
      .n = 5, .residual = test_implicit_pendulum, .differences = true, .rates = 4};
  const unsigned char rates[5] = {1, 1, 1, 1, 1};
  options = vin_dae_initial_options_default();
  options.fixed_yp = rates;
  double z[5] = {0.1, -0.9, 0.1, 0.2, 8}, rest[5] = {0};
  dae = test_implicit_small_create(&hanging);
  cr_assert_eq(vin_dae_initialise(dae, &options, 0, z, rest, &r), VIN_OK, "%s", r.text);
  const double exact[5] = {0, -1, 0, 0, 9.81};
  cr_expect_leq(test_max_difference(5, z, exact), 1e-9);
  vin_dae_destroy(dae);
}

/* Index 2: without its hidden constraint y is not consistent, and the start says so; with it it is. */
static int hidden(void *user, double t, const double *y, const double *yp, double *c) {
  (void)user, (void)t, (void)yp;
  c[0] = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1] - y[4] * (y[0] * y[0] + y[1] * y[1]);
  return 0;
}
static int hidden_jacobian(void *user, double t, const double *y, const double *yp, double *v) {
  (void)user, (void)t, (void)yp;
  v[0] = -2 * y[4] * y[0], v[1] = -9.81 - 2 * y[4] * y[1], v[2] = 2 * y[2], v[3] = 2 * y[3];
  v[4] = -y[0] * y[0] - y[1] * y[1];
  return 0;
}

Test(dae_implicit_start, initialise_with_hidden_constraints) {
  test_implicit_level = 2;
  static const vin_int hidden_row[] = {0, 0, 0, 0, 0}, hidden_col[] = {0, 1, 2, 3, 4};
  static const unsigned char fixed[5] = {1, 1, 0, 0, 0};
  test_implicit_small s = {.n = 5,
                           .residual = test_implicit_pendulum,
                           .differences = true,
                           .rates = 4,
                           .index = {1, 1, 1, 1, 2}};
  vin_dae *dae = test_implicit_small_create(&s);
  vin_dae_initial_options options = vin_dae_initial_options_default();
  options.fixed_y = fixed;
  options.hidden = 1, options.hidden_pattern = (vin_triplets){5, hidden_row, hidden_col};
  options.hidden_constraint = hidden, options.hidden_jacobian = hidden_jacobian;
  double y[5] = {0.6, -0.8, 1, 0.5, 0}, yp[5] = {1, 0.5, 0, 0, 0};
  vin_dae_initial_report r;
  cr_assert_eq(vin_dae_initialise(dae, &options, 0, y, yp, &r), VIN_OK, "%s", r.text);
  cr_expect_float_eq(0.6 * y[2] - 0.8 * y[3], 0, 1e-10);
  cr_expect_float_eq(y[4], y[2] * y[2] + y[3] * y[3] + 9.81 * 0.8, 1e-9);
  cr_expect_float_eq(yp[2], -0.6 * y[4], 1e-9);
  cr_expect_eq(r.dropped, 0);
  vin_dae_destroy(dae);
}

Test(dae_implicit_start, inconsistent_starts_are_refused) {
  NEEDS_UMFPACK;
  test_implicit_small s = {
      .n = 3, .residual = test_robertson, .jacobians = test_robertson_jacobians, .rates = 2};
  vin_dae *dae = test_implicit_small_create(&s);
  vin_dae_integrator *integrator = NULL;
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_OK);
  const double y[3] = {1, 0, 0}, wrong[3] = {1, 0, 0.3}, yp[3] = {-0.04, 0.04, 0}, zero[3] = {0},
               bad[3] = {NAN, 0, 0};
  const char *text;
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, wrong, yp), VIN_ERR_BAD_INPUT);
  text = vin_dae_integrator_error(integrator);
  cr_expect_not_null(strstr(text, "unknown 2"), "%s", text);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, zero), VIN_ERR_BAD_INPUT);
  text = vin_dae_integrator_error(integrator);
  cr_expect_not_null(strstr(text, "derivatives"), "%s", text);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, bad), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, y), VIN_ERR_UNSUPPORTED);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, yp), VIN_OK);
  vin_dae_integrator_destroy(integrator);
  vin_dae_destroy(dae);
}

/* ---- index --------------------------------------------------------------------------------------- */

Test(dae_implicit_start, index_above_the_declared_is_found) {
  NEEDS_UMFPACK;
  double y[5] = {0.6, -0.8, 0, 0, 9.81 * 0.8}, yp[5] = {0, 0, -0.6 * y[4], -9.81 + 0.8 * y[4], 0};
  vin_dae_index_report report;
  for (test_implicit_level = 1; test_implicit_level <= 3; test_implicit_level++) {
    test_implicit_small s = {
        .n = 5, .residual = test_implicit_pendulum, .differences = true, .rates = 4};
    vin_dae *dae = test_implicit_small_create(&s);
    vin_status status = vin_dae_index_check_implicit(dae, 0, y, yp, 1e-6, &report);
    if (status != VIN_ERR_UNSUPPORTED)
      cr_expect_eq(status, test_implicit_level == 1 ? VIN_OK : VIN_SINGULAR, "%s", report.text);
    vin_dae_destroy(dae);
  }
  test_implicit_level = 3; /* and an integrator that was told 1 stops, with the reason */
  test_implicit_small s = {
      .n = 5, .residual = test_implicit_pendulum, .differences = true, .rates = 4};
  char text[512];
  vin_dae_integrator_options options = test_dae_options(VIN_DAE_RADAU, 1e-8);
  vin_status status = test_implicit_small_integrate(&s, options, 1, y, yp, NULL, text);
  cr_expect_neq(status, VIN_OK);
  cr_expect_not_null(strstr(text, "index"), "%s", text);
}
