/* test_dae_project_errors - projection of general DAEs: what is refused, what fails. */
#include "dae_small.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

TestSuite(dae_project_errors);

static void expect_refused(test_dae_small *s, const vin_dae_projection_options *options,
                           vin_status status, const char *word) {
  vin_dae *dae = test_dae_small_create(s);
  vin_dae_projector *p = NULL;
  cr_expect_eq(vin_dae_projector_create(&p, NULL, dae, options), status);
  cr_expect_not_null(strstr(vin_dae_projector_error(p), word), "%s, not %s",
                     vin_dae_projector_error(p), word);
  double y[TEST_DAE_SMALL] = {0};
  cr_expect_eq(vin_dae_project(p, 0, y, NULL), VIN_ERR_BAD_STATE);
  vin_dae_projector_destroy(p);
  vin_dae_destroy(dae);
}

Test(dae_project_errors, bad_options_are_named) {
  test_dae_small s = test_dae_small_pendulum();
  const double negative[TEST_PENDULUM] = {1, 1, -1, 1, 1}, ones[TEST_PENDULUM] = {1, 1, 1, 1, 1},
               bad[1] = {NAN};
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
  test_add_circle(&base);
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

Test(dae_project_errors, bad_points_leave_y_alone) {
  test_dae_small s = {.n = 4, .d = 2, .index = 1, .f = test_f42, .jacobian = test_j42, .limit = 10};
  vin_dae_projection_options options = test_coupled();
  vin_dae_projector *p = test_dae_small_projector(&s, &options);
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
static void impossible_jacobian(double t, const double *y,
                                double j[TEST_DAE_SMALL][TEST_DAE_SMALL]) {
  (void)t, j[0][0] = -1, j[1][1] = 2 * y[1];
}
/* g_z = 0: the index is higher than the declared 1 */
static void higher(double t, const double *y, double *f) {
  (void)t, f[0] = y[1], f[1] = y[0] - 1;
}
static void higher_jacobian(double t, const double *y, double j[TEST_DAE_SMALL][TEST_DAE_SMALL]) {
  (void)t, (void)y, j[0][1] = 1, j[1][0] = 1;
}

Test(dae_project_errors, what_cannot_be_met_is_said) {
  test_dae_small s = {.n = 2, .d = 1, .index = 1, .f = impossible, .jacobian = impossible_jacobian};
  vin_dae_projector *p = test_dae_small_projector(&s, NULL);
  double y[2] = {1, 3};
  vin_dae_projection_report r;
  vin_status status = vin_dae_project(p, 0, y, &r);
  cr_expect(status == VIN_INFEASIBLE || status == VIN_SINGULAR || status == VIN_NOT_CONVERGED, "%s",
            vin_status_name(status));
  cr_expect_eq(y[1], 3);
  cr_expect_eq(vin_dae_projector_get_stats(p).failures, 1);
  cr_expect_float_eq(vin_dae_projector_last(p).constraint_before, 10, 1e-15);
  vin_dae_projector_destroy(p);
  test_dae_small h = {.n = 2, .d = 1, .index = 1, .f = higher, .jacobian = higher_jacobian};
  p = test_dae_small_projector(&h, NULL);
  double z[2] = {3, 3};
  status = vin_dae_project(p, 0, z, NULL);
  cr_expect(status == VIN_SINGULAR || status == VIN_INFEASIBLE, "%s: %s", vin_status_name(status),
            vin_dae_projector_error(p));
  cr_expect_eq(z[1], 3);
  vin_dae_projector_destroy(p);
}

Test(dae_project_errors, failing_callbacks) {
  static const int codes[3] = {1, -1, 0};
  for (int k = 0; k < 3; k++) {
    for (int call = 1;; call++) {
      test_dae_small s = test_dae_small_pendulum();
      s.fail_call = call, s.fail_code = codes[k];
      vin_dae_projection_options options = test_coupled();
      test_add_circle(&options);
      vin_dae_projector *p = test_dae_small_projector(&s, &options);
      double y[TEST_PENDULUM];
      memcpy(y, test_pendulum_off, sizeof y);
      vin_status status = vin_dae_project(p, 0, y, NULL);
      if (status != VIN_OK) {
        cr_expect_arr_eq(y, test_pendulum_off, sizeof y);
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

Test(dae_project_errors, every_allocation_may_fail) {
  test_dae_small s = test_dae_small_pendulum();
  s.differences = true;
  vin_dae *dae = test_dae_small_create(&s);
  static const vin_int diagonal[] = {0, 1, 2, 3, 4};
  static const double ones[] = {1, 1, 1, 1, 1};
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_dae_projection_options options = vin_dae_projection_options_default();
    options.metric_pattern = (vin_triplets){5, diagonal, diagonal};
    options.metric_values = ones;
    test_add_circle(&options);
    vin_dae_projector *p = NULL;
    vin_status status = vin_dae_projector_create(&p, &context, dae, &options);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "%s",
                 vin_dae_projector_error(p));
    if (status == VIN_OK) {
      double y[TEST_PENDULUM];
      memcpy(y, test_pendulum_off, sizeof y);
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
