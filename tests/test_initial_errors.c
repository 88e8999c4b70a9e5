/* Consistent initial values: bad input, failing callbacks and allocations. */
#include "problems.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(initial_errors);

static vin_projector *projector_of(vin_system *system, const vin_projection_options *options) {
  vin_projector *projector = NULL;
  vin_status status = vin_projector_create(&projector, NULL, system, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
  return projector;
}

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

Test(initial_errors, bad_input) {
  test_mechanism *x = built(test_pendulum(0.5, 1));
  vin_projector *projector = projector_of(x->system, NULL);
  double p[2], v[2], vdot[2] = {0}, lambda[1] = {0};
  memcpy(p, x->p, sizeof p);
  memcpy(v, x->v, sizeof v);
  vin_initial_report report;
  vin_initial_options options = vin_initial_options_default();
#define REFUSED(call, expected)                                                                    \
  do {                                                                                             \
    cr_expect_eq(call, VIN_ERR_BAD_INPUT, #call);                                                  \
    cr_expect_not_null(strstr(vin_projector_error(projector), expected), "%s",                     \
                       vin_projector_error(projector));                                            \
  } while (0)
  options.trial_step = -1;
  REFUSED(vin_initial_state(projector, &options, 0, p, v, NULL, NULL, NULL), "trial_step is -1");
  options.struct_size = 3;
  REFUSED(vin_initial_state(projector, &options, 0, p, v, NULL, NULL, NULL), "struct_size");
  REFUSED(vin_initial_state(projector, NULL, INFINITY, p, v, NULL, NULL, NULL), "the time is inf");
  REFUSED(vin_initial_state(projector, NULL, 0, NULL, v, NULL, NULL, NULL), "position is NULL");
  REFUSED(vin_initial_verify(projector, NULL, 0, p, v, vdot, lambda, NULL), "report is NULL");
  REFUSED(vin_initial_verify(projector, NULL, 0, p, v, NULL, lambda, &report),
          "acceleration is NULL");
  REFUSED(vin_initial_verify(projector, NULL, 0, p, v, vdot, NULL, &report), "lambda is NULL");
  lambda[0] = NAN;
  REFUSED(vin_initial_verify(projector, NULL, 0, p, v, vdot, lambda, &report),
          "lambda is nan for rod 0");
  p[1] = NAN;
  REFUSED(vin_initial_state(projector, NULL, 0, p, v, NULL, NULL, NULL), "nan for y of point 0");
  cr_expect_eq(vin_initial_state(NULL, NULL, 0, p, v, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_initial_verify(NULL, NULL, 0, p, v, vdot, lambda, &report), VIN_ERR_BAD_INPUT);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* A force that fails in the trial step only: the values are there, the verdict says what is missing. A
 * force that fails before is an error. */
Test(initial_errors, failing_force) {
  test_mechanism *x = built(test_pendulum(0.5, 1));
  vin_projector *projector = projector_of(x->system, NULL);
  double p[2], v[2];
  memcpy(p, x->p, sizeof p);
  memcpy(v, x->v, sizeof v);
  x->fail_call = 1;
  x->fail_code = -2;
  cr_expect_eq(vin_initial_state(projector, NULL, 0, p, v, NULL, NULL, NULL), VIN_ERR_CALLBACK);
  cr_expect_not_null(strstr(vin_projector_error(projector), "force callback failed (-2)"));
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

Test(initial_errors, allocation_failures) {
  test_mechanism *x = built(test_four_bar(1, 3, 2.5, 3, 1));
  static const unsigned char fixed[4] = {1, 1, 0, 0};
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_projector *projector = NULL;
    vin_initial_options initial = vin_initial_options_default();
    initial.fixed_positions = initial.fixed_velocities = fixed;
    double p[4], v[4] = {0}, before[4];
    memcpy(p, x->p, sizeof p);
    p[3] += 0.1;
    memcpy(before, p, sizeof p);
    vin_status status = vin_projector_create(&projector, &context, x->system, NULL);
    if (status == VIN_OK) {
      status = vin_initial_state(projector, &initial, 0, p, v, NULL, NULL, NULL);
    }
    if (allocator.calls >= k) cr_assert_eq(status, VIN_ERR_NO_MEMORY, "allocation %d", (int)k);
    if (status != VIN_OK) cr_expect(memcmp(p, before, sizeof p) == 0);
    vin_projector_destroy(projector);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) {
      cr_assert_eq(status, VIN_OK, "%s", vin_status_name(status));
      break;
    }
  }
  test_mechanism_free(x);
}
