/* Bad input to projectors and integrators: a clear status, nothing changed, nothing leaked. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(integrate_errors);

static test_mechanism *triangle(void) {
  test_mechanism *x = test_triangle();
  test_mechanism_build(x, NULL);
  return x;
}

/* NaN or infinity in each entry of p and v, in t and h; h = 0 and one too small to move t. The
 * start is untouched, and the object goes on working. */
Test(integrate_errors, values_that_are_no_numbers) {
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  for (vin_method method = VIN_METHOD_RATTLE; method <= VIN_METHOD_RK4; method++) {
    test_mechanism *x = triangle();
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
    for (int k = 0; k < 3; k++) {
      for (vin_int i = 0; i < 2 * x->n; i++) {
        double *at = i < x->n ? &from.p[i] : &from.v[i - x->n], good = *at;
        *at = bad[k];
        test_state_copy(x, &kept, &from);
        cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_ERR_BAD_INPUT);
        cr_assert(test_state_same(x, &from, &kept));
        *at = good;
      }
      cr_assert_eq(vin_integrator_step(integrator, &from, bad[k], &to), VIN_ERR_BAD_INPUT);
      from.t = bad[k];
      cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_ERR_BAD_INPUT);
      from.t = 0;
    }
    cr_assert_eq(vin_integrator_step(integrator, &from, 0, &to), VIN_ERR_BAD_INPUT);
    from.t = 1e6; /* 1e6 + 1e-12 == 1e6 */
    cr_assert_eq(vin_integrator_step(integrator, &from, 1e-12, &to), VIN_ERR_BAD_INPUT);
    cr_assert_neq(vin_integrator_error(integrator)[0], '\0');
    from.t = 0;
    cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_OK);
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to);
    test_mechanism_free(x);
  }
}

/* Numbers that overflow within the step: a failure, never a state that is not finite. */
Test(integrate_errors, overflow) {
  for (vin_method method = VIN_METHOD_RATTLE; method <= VIN_METHOD_RK4; method++) {
    test_mechanism *x = triangle();
    for (int projection = 0; projection < 4; projection++) {
      vin_options options = test_method(method, (vin_projection)projection);
      vin_integrator *integrator = test_integrator(x, &options);
      vin_state from = test_state(x), to = test_state(x);
      from.v[0] = 1e200;
      vin_status status = vin_integrator_step(integrator, &from, 1e150, &to);
      cr_assert_gt(status, 0, "%s: %s", vin_method_name(method), vin_status_name(status));
      vin_integrator_destroy(integrator);
      test_state_free(&from), test_state_free(&to);
    }
    test_mechanism_free(x);
  }
}

Test(integrate_errors, null_and_aliases) {
  test_mechanism *x = triangle();
  vin_options options = vin_options_default();
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state from = test_state(x), to = test_state(x), broken;
  cr_expect_eq(vin_integrator_step(NULL, &from, 0.1, &to), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_step(integrator, NULL, 0.1, &to), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &from), VIN_ERR_BAD_INPUT);
  broken = to, broken.p = NULL;
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &broken), VIN_ERR_BAD_INPUT);
  broken = to, broken.lambda = NULL;
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &broken), VIN_ERR_BAD_INPUT);
  broken = to, broken.v = from.v;
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &broken), VIN_ERR_BAD_INPUT);
  broken = to, broken.p = from.v; /* crosswise */
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &broken), VIN_ERR_BAD_INPUT);
  broken = to, broken.lambda = from.lambda;
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &broken), VIN_ERR_BAD_INPUT);
  broken = to, broken.p = to.v;
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &broken), VIN_ERR_BAD_INPUT);
  broken = from, broken.v = NULL;
  cr_expect_eq(vin_integrator_step(integrator, &broken, 0.1, &to), VIN_ERR_BAD_INPUT);
  broken = from, broken.lambda = NULL; /* not read */
  cr_expect_eq(vin_integrator_step(integrator, &broken, 0.1, &to), VIN_OK);
  cr_expect_str_eq(vin_integrator_error(NULL), vin_projector_error(NULL));
  cr_expect_null(vin_integrator_projector(NULL));
  cr_expect_null(vin_projector_kkt(NULL));
  cr_expect_eq(vin_integrator_get_stats(NULL).steps, 0);
  cr_expect_eq(vin_projector_get_stats(NULL).solves, 0);
  vin_integrator_destroy(NULL);
  vin_projector_destroy(NULL);
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to);
  test_mechanism_free(x);
}

/* Creates with these options, which must fail; the handle then refuses everything but its text. */
static void refused(const test_mechanism *x, const vin_options *options, const char *word) {
  vin_integrator *integrator = NULL;
  vin_state from = test_state(x), to = test_state(x);
  vin_status status = vin_integrator_create(&integrator, NULL, x->system, options);
  cr_expect_eq(status, VIN_ERR_BAD_INPUT, "%s for %s", vin_status_name(status), word);
  cr_assert_not_null(integrator);
  cr_expect_not_null(strstr(vin_integrator_error(integrator), word), "'%s' in '%s'", word,
                     vin_integrator_error(integrator));
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_ERR_BAD_STATE);
  cr_expect_eq(vin_integrator_get_stats(integrator).steps, 0);
  cr_expect_null(vin_integrator_projector(integrator));
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to);
}

Test(integrate_errors, options_out_of_range) {
  test_mechanism *x = triangle();
  double weights[9] = {1, 1, 1, 1, 0, 1, 1, 1, 1};
  vin_options good = vin_options_default(), o;
#define REFUSED(change, word) o = good, change, refused(x, &o, word)
  REFUSED(o.struct_size = 0, "struct_size");
  REFUSED(o.struct_size = sizeof o + 1, "struct_size");
  REFUSED(o.method = (vin_method)1000, "method");
  REFUSED(o.method = (vin_method)-1, "method");
  REFUSED(o.projection = (vin_projection)4, "projection");
  REFUSED(o.position_tolerance = -1, "tolerance");
  REFUSED(o.velocity_tolerance = NAN, "tolerance");
  REFUSED(o.max_sweeps = 0, "max_sweeps");
  REFUSED(o.max_sweeps = 1001, "max_sweeps");
  REFUSED(o.projector.struct_size = sizeof o.projector + 1, "struct_size");
  REFUSED(o.projector.metric = (vin_metric)3, "metric");
  REFUSED(o.projector.metric = VIN_METRIC_DIAGONAL, "weights");
  REFUSED((o.projector.metric = VIN_METRIC_DIAGONAL, o.projector.weights = weights), "weight 4");
  REFUSED(o.projector.max_iterations = 0, "max_iterations");
  vin_integrator *integrator = NULL;
  cr_expect_eq(vin_integrator_create(NULL, NULL, x->system, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_create(&integrator, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_integrator_destroy(integrator);
  vin_projector *projector = NULL;
  cr_expect_eq(vin_projector_create(NULL, NULL, x->system, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_projector_create(&projector, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  double p[9] = {0};
  cr_expect_eq(vin_project_position(projector, 0, p, NULL), VIN_ERR_BAD_STATE);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* A system that was not created. */
Test(integrate_errors, failed_system) {
  vin_system *system = NULL;
  vin_system_desc desc = vin_system_desc_default();
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_ERR_BAD_INPUT);
  vin_integrator *integrator = NULL;
  cr_expect_eq(vin_integrator_create(&integrator, NULL, system, NULL), VIN_ERR_BAD_INPUT);
  vin_integrator_destroy(integrator);
  vin_projector *projector = NULL;
  cr_expect_eq(vin_projector_create(&projector, NULL, system, NULL), VIN_ERR_BAD_INPUT);
  vin_projector_destroy(projector);
  char text[128] = "";
  double p[1] = {0}, v[1] = {0};
  cr_expect_eq(vin_initial_solve(NULL, NULL, 0, p, v, NULL, NULL, NULL, text, sizeof text),
               VIN_ERR_BAD_INPUT);
  cr_expect_neq(text[0], '\0');
  vin_system_destroy(system);
}

/* Names go both ways, and unknown ones are refused. */
Test(integrate_errors, names) {
  for (vin_method method = VIN_METHOD_RATTLE; method <= VIN_METHOD_RK4; method++) {
    vin_method back = VIN_METHOD_RATTLE;
    cr_expect_eq(vin_method_from_name(&back, vin_method_name(method)), VIN_OK);
    cr_expect_eq(back, method);
  }
  for (int k = 0; k < 4; k++) {
    vin_projection back = VIN_PROJECTION_NONE;
    cr_expect_eq(vin_projection_from_name(&back, vin_projection_name((vin_projection)k)), VIN_OK);
    cr_expect_eq((int)back, k);
  }
  vin_method method;
  vin_projection projection;
  cr_expect_eq(vin_method_from_name(&method, "leapfrog"), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_method_from_name(&method, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_method_from_name(NULL, "rk4"), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_projection_from_name(&projection, "Both"), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_projection_from_name(NULL, "both"), VIN_ERR_BAD_INPUT);
  cr_expect_str_eq(vin_method_name((vin_method)77), "unknown");
  cr_expect_str_eq(vin_projection_name((vin_projection)-1), "unknown");
}

Test(integrate_errors, projections_of_bad_input) {
  test_mechanism *x = triangle();
  vin_projector *projector = NULL;
  cr_assert_eq(vin_projector_create(&projector, NULL, x->system, NULL), VIN_OK);
  vin_state state = test_state(x), kept = test_state(x);
  double vdot[9], lambda[3];
  vin_projection_report report;
  cr_expect_eq(vin_project_position(NULL, 0, state.p, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_position(projector, NAN, state.p, &report), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_position(projector, 0, NULL, &report), VIN_ERR_BAD_INPUT);
  cr_expect_eq(report.most_moved, -1);
  cr_expect_eq(vin_project_velocity(projector, 0, state.p, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_velocity(projector, INFINITY, state.p, state.v, NULL),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_acceleration(projector, 0, state.p, state.v, NULL, lambda),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_project_acceleration(projector, 0, state.p, state.v, vdot, NULL),
               VIN_ERR_BAD_INPUT);
  state.p[4] = NAN;
  test_state_copy(x, &kept, &state);
  cr_expect_eq(vin_project_position(projector, 0, state.p, &report), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_projector_error(projector), "y of point 1"), "%s",
                     vin_projector_error(projector));
  cr_expect_eq(vin_project_velocity(projector, 0, state.p, state.v, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_initial_values(projector, 0, state.p, state.v, vdot, lambda, &report),
               VIN_ERR_BAD_INPUT);
  cr_expect(test_state_same(x, &state, &kept));
  vin_projector_destroy(projector);
  test_state_free(&state), test_state_free(&kept);
  test_mechanism_free(x);
}

/* Consistent initial values are all or nothing: a force that fails at the very end leaves p and v,
 * which had been projected by then, and v' and lambda. */
Test(integrate_errors, initial_values_are_all_or_nothing) {
  test_mechanism *x = triangle();
  vin_state state = test_state(x), kept = test_state(x);
  double vdot[9] = {1, 2, 3}, kept_vdot[9] = {1, 2, 3};
  state.p[0] = 0.1, state.v[1] = 0.2, state.lambda[2] = 5;
  test_state_copy(x, &kept, &state);
  char text[256];
  x->calls = 0, x->fail_call = 1, x->fail_code = -1;
  vin_status status = vin_initial_solve(x->system, NULL, 0, state.p, state.v, vdot, state.lambda,
                                        NULL, text, sizeof text);
  cr_expect_eq(status, VIN_ERR_CALLBACK);
  cr_expect_not_null(strstr(text, "force"), "%s", text);
  cr_expect(test_state_same(x, &state, &kept));
  cr_expect(memcmp(vdot, kept_vdot, sizeof vdot) == 0);
  vin_projection_report report;
  status = vin_initial_solve(x->system, NULL, 0, state.p, state.v, vdot, state.lambda, &report,
                             text, sizeof text);
  cr_expect_eq(status, VIN_OK, "%s", text);
  cr_expect_leq(test_constraint_max(x, 0, state.p), 1e-13);
  cr_expect_leq(test_hidden_max(x, 0, state.p, state.v), 1e-15);
  cr_expect_leq(report.force_residual, 1e-15);
  test_state_free(&state), test_state_free(&kept);
  test_mechanism_free(x);
}

/* Without constraints every projection is the identity, and v' = f / m. */
Test(integrate_errors, no_constraints) {
  test_mechanism *x = test_points(2, 1, 0);
  x->gravity[1] = -2;
  x->mass[0] = 3;
  test_mechanism_build(x, NULL);
  double p[2] = {1, 2}, v[2] = {3, 4}, vdot[2];
  vin_projection_report report;
  cr_assert_eq(vin_initial_solve(x->system, NULL, 0, p, v, vdot, NULL, &report, NULL, 0), VIN_OK);
  cr_expect(p[0] == 1 && p[1] == 2 && v[0] == 3 && v[1] == 4);
  cr_expect(vdot[0] == 0 && fabs(vdot[1] + 2) <= 4 * DBL_EPSILON);
  cr_expect_eq(report.iterations, 0);
  cr_expect_eq(report.most_moved, -1);
  cr_expect_eq(report.worst, -1);
  test_mechanism_free(x);
}

/* Each allocation of each create fails in turn: VIN_ERR_NO_MEMORY, a handle with a text (or none),
 * nothing leaked, and the system can be used again. */
Test(integrate_errors, allocation_failures) {
  test_mechanism *x = triangle();
  static const double weights[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (int method = 0; method <= VIN_METHOD_RATTLE4; method++) {
    for (int64_t k = 1;; k++) {
      test_allocator allocator = {.fail_at = k};
      vin_context context = test_context(&allocator);
      vin_options options = test_method((vin_method)method, VIN_PROJECTION_BOTH);
      options.projector.metric = VIN_METRIC_DIAGONAL;
      options.projector.weights = weights;
      vin_integrator *integrator = NULL;
      vin_status status = vin_integrator_create(&integrator, &context, x->system, &options);
      cr_assert_eq(status, allocator.calls >= k ? VIN_ERR_NO_MEMORY : VIN_OK, "allocation %d: %s",
                   (int)k, vin_integrator_error(integrator));
      if (status != VIN_OK && integrator != NULL) {
        cr_assert_neq(vin_integrator_error(integrator)[0], '\0');
      }
      vin_integrator_destroy(integrator);
      cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
      if (allocator.calls < k) break;
    }
  }
  test_mechanism_free(x);
}

/* The same for the initial values in one call, which allocate through the system's context. */
Test(integrate_errors, allocation_failures_of_initial_values) {
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = 0};
    vin_context context = test_context(&allocator);
    test_mechanism *x = test_triangle();
    test_mechanism_build(x, &context);
    allocator.fail_at = allocator.calls + k;
    char text[256] = "";
    vin_state state = test_state(x), kept = test_state(x);
    vin_status status = vin_initial_solve(x->system, NULL, 0, state.p, state.v, NULL, state.lambda,
                                          NULL, text, sizeof text);
    bool asked = allocator.calls >= allocator.fail_at;
    cr_assert_eq(status, asked ? VIN_ERR_NO_MEMORY : VIN_OK, "allocation %d: %s", (int)k, text);
    if (asked) cr_assert(test_state_same(x, &state, &kept) && text[0] != '\0');
    test_state_free(&state), test_state_free(&kept);
    test_mechanism_free(x);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (!asked) break;
  }
}

/* No step allocates, whatever the method (field report 55's kind: nothing grows). */
Test(integrate_errors, steps_do_not_allocate) {
  for (vin_method method = VIN_METHOD_RATTLE; method <= VIN_METHOD_RK4; method++) {
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    test_mechanism *x = triangle();
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, &context, x->system, &options), VIN_OK);
    int64_t created = allocator.calls;
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-2, 100), VIN_OK);
    cr_expect_eq(allocator.calls, created, "%s: %d allocations", vin_method_name(method),
                 (int)(allocator.calls - created));
    vin_integrator_destroy(integrator);
    cr_expect_eq(allocator.live, 0);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}
