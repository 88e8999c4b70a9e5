/* Failures of the implicit methods: an iteration that does not converge, callbacks, memory, options. */
#include "implicit_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(implicit_errors, .init = test_need_umfpack);

#define EACH_METHOD(method)                                                                        \
  for (vin_method method = VIN_METHOD_BACKWARD_EULER; method <= VIN_METHOD_GENERALIZED_ALPHA;      \
       method++)

static test_mechanism *triangle(void) {
  test_mechanism *x = test_triangle();
  test_mechanism_build(x, NULL);
  return x;
}

/* One iteration on a stiff problem is not a solution, and is never called one; the text tells the
 * increment and the tolerance. With as many as it takes, the same object goes on. */
Test(implicit_errors, one_iteration_is_not_ok) {
  EACH_METHOD(method) {
    test_bodies *b = test_stiff_pendulum(1e6, 10, true);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    options.max_newton = 1;
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, NULL, b->system, &options), VIN_OK);
    double q[4], w[4], mu[1], lambda[1] = {0};
    vin_state from = {.p = b->p, .v = b->v, .lambda = lambda}, to = {.p = q, .v = w, .lambda = mu};
    for (int k = 0; k < 3; k++) {
      vin_status status = vin_integrator_step(integrator, &from, 0.1, &to);
      cr_expect_eq(status, VIN_STEP_FAILED, "%s: %s", vin_method_name(method),
                   vin_status_name(status));
    }
    const char *text = vin_integrator_error(integrator);
    cr_expect(strstr(text, "Newton") && strstr(text, "increment") && strstr(text, "contraction"),
              "%s", text);
    cr_expect_eq(vin_integrator_get_stats(integrator).failures, 3);
    cr_expect_eq(vin_integrator_get_stats(integrator).steps, 0);
    vin_integrator_destroy(integrator);
    test_bodies_free(b);
  }
}

/* Whatever step is called OK solves its equations: a long step of a violent problem either fails or
 * leaves a state on the constraints whose equations hold. */
Test(implicit_errors, what_is_ok_solves_the_equations) {
  EACH_METHOD(method) {
    test_mechanism *x = test_chain(5, 1, 1);
    test_mechanism_build(x, NULL);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), to = test_state(x);
    for (int k = 0; k < 60; k++) {
      double h = 1e-3 * pow(1.2, k);
      vin_status status = vin_integrator_step(integrator, &from, h, &to);
      cr_assert_geq(status, 0, "%s", vin_integrator_error(integrator));
      if (status != VIN_OK) continue;
      cr_expect_leq(test_constraint_max(x, to.t, to.p), 1e-10, "%s, h = %g",
                    vin_method_name(method), h);
      cr_expect_lt(test_max_abs(x->n, to.v), 1e6);
    }
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&to);
    test_mechanism_free(x);
  }
}

/* A spring between the ends of a chain of 20 points (n = 40) that no pattern declares. */
static int far_spring(void *user, double t, const double *p, const double *v, double *f) {
  const test_mechanism *x = user;
  vin_int last = x->n - 2;
  double d[2] = {p[last] - p[0], p[last + 1] - p[1]}, length = hypot(d[0], d[1]);
  (void)t, (void)v;
  for (vin_int i = 0; i < x->n; i++) f[i] = 0;
  for (int i = 0; i < 2; i++) {
    f[last + i] = -100 * (length - 10) * d[i] / length;
    f[i] = -f[last + i];
  }
  return 0;
}

/* The matrix is wrong then: the iteration converges slowly or the step fails, but whatever is OK solves
 * v1 = v0 + h v'(p1, v1), p1 = p0 + h v1. Short steps converge. */
Test(implicit_errors, undeclared_forces_give_no_wrong_result) {
  test_mechanism *x = test_chain(20, 1, 1);
  x->force = far_spring;
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_BACKWARD_EULER, VIN_PROJECTION_NONE);
  options.max_newton = 100;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state from = test_state(x), to = test_state(x);
  double a[40], lambda[20];
  int good = 0;
  for (int k = 0; k < 10; k++) {
    double h = 1e-3 * pow(2, k);
    vin_status status = vin_integrator_step(integrator, &from, h, &to);
    cr_assert(status == VIN_OK || status == VIN_STEP_FAILED, "%s",
              vin_integrator_error(integrator));
    if (status != VIN_OK) continue;
    good++;
    vin_projector *projector = vin_integrator_projector(integrator);
    cr_assert_eq(vin_project_acceleration(projector, to.t, to.p, to.v, a, lambda), VIN_OK);
    for (vin_int i = 0; i < x->n; i++) {
      cr_expect_float_eq(to.v[i], from.v[i] + h * a[i], 1e-9, "h = %g", h);
      cr_expect_float_eq(to.p[i], from.p[i] + h * to.v[i], 1e-9, "h = %g", h);
    }
  }
  cr_expect_geq(good, 4);
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to);
  test_mechanism_free(x);
}

/* NaN in the start, steps that don't move t, overflow; the object goes on working. */
Test(implicit_errors, values_that_are_no_numbers) {
  EACH_METHOD(method) {
    test_mechanism *x = triangle();
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
    for (vin_int i = 0; i < 2 * x->n; i++) {
      double *at = i < x->n ? &from.p[i] : &from.v[i - x->n], good = *at;
      *at = i % 2 == 0 ? NAN : INFINITY;
      test_state_copy(x, &kept, &from);
      cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_ERR_BAD_INPUT);
      cr_assert(test_state_same(x, &from, &kept));
      *at = good;
    }
    double good = from.v[0];
    from.v[0] = 1e200;
    vin_status status = vin_integrator_step(integrator, &from, 1e150, &to);
    cr_expect_gt(status, 0, "%s: %s", vin_method_name(method), vin_status_name(status));
    from.v[0] = good;
    cr_expect_eq(vin_integrator_step(integrator, &from, 0.01, &to), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to);
    test_mechanism_free(x);
  }
}

/* Each evaluation of the force fails in turn, in each of the three ways: the status is the callback's,
 * the start is untouched, and the step succeeds afterwards with the bits of a fresh object. */
Test(implicit_errors, failing_callbacks) {
  static const struct {
    int code;
    vin_status status;
  } ways[] = {{1, VIN_RETRY}, {0, VIN_RETRY}, {-1, VIN_ERR_CALLBACK}};
  EACH_METHOD(method) {
    test_mechanism *x = triangle();
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x), fresh = test_state(x);
    vin_integrator *other = test_integrator(x, &options);
    cr_assert_eq(vin_integrator_step(other, &from, 0.01, &fresh), VIN_OK);
    long calls = x->calls;
    vin_integrator_destroy(other);
    for (int way = 0; way < 3; way++) {
      for (long k = 1; k <= calls; k++) {
        vin_integrator *integrator = test_integrator(x, &options);
        x->calls = 0;
        x->fail_call = k;
        x->fail_code = ways[way].code;
        vin_status status = vin_integrator_step(integrator, &from, 0.01, &to);
        cr_assert_eq(status, ways[way].status, "%s, call %ld: %s, %s", vin_method_name(method), k,
                     vin_status_name(status), vin_integrator_error(integrator));
        cr_assert(test_state_same(x, &from, &kept));
        x->fail_call = 0;
        cr_assert_eq(vin_integrator_step(integrator, &from, 0.01, &to), VIN_OK);
        cr_assert(test_state_same(x, &to, &fresh), "%s, call %ld", vin_method_name(method), k);
        vin_integrator_destroy(integrator);
      }
    }
    test_state_free(&from), test_state_free(&kept), test_state_free(&to), test_state_free(&fresh);
    test_mechanism_free(x);
  }
}

/* Each allocation of each create fails in turn. */
Test(implicit_errors, allocation_failures) {
  test_bodies *b = test_stiff_pendulum(100, 1, true);
  EACH_METHOD(method) {
    for (int64_t k = 1;; k++) {
      test_allocator allocator = {.fail_at = k};
      vin_context context = test_context(&allocator);
      vin_options options = test_method(method, VIN_PROJECTION_BOTH);
      vin_integrator *integrator = NULL;
      vin_status status = vin_integrator_create(&integrator, &context, b->system, &options);
      cr_assert_eq(status, allocator.calls >= k ? VIN_ERR_NO_MEMORY : VIN_OK, "%s, %d: %s",
                   vin_method_name(method), (int)k, vin_integrator_error(integrator));
      vin_integrator_destroy(integrator);
      cr_assert_eq(allocator.live, 0, "%s, allocation %d", vin_method_name(method), (int)k);
      if (allocator.calls < k) break;
    }
  }
  test_bodies_free(b);
}

Test(implicit_errors, allocation_failures_of_the_jacobian) {
  test_mechanism *x = triangle();
  double by[4][81];
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_projector *projector = NULL;
    cr_assert_eq(vin_projector_create(&projector, &context, x->system, NULL), VIN_OK);
    allocator.fail_at = allocator.calls + k;
    vin_status status = vin_reduced_jacobian(projector, 0, x->p, x->v, by[0], by[1], by[2], by[3]);
    bool asked = allocator.calls >= allocator.fail_at;
    cr_assert_eq(status, asked ? VIN_ERR_NO_MEMORY : VIN_OK, "allocation %d: %s, %s", (int)k,
                 vin_status_name(status), vin_projector_error(projector));
    vin_projector_destroy(projector);
    cr_assert_eq(allocator.live, 0);
    if (!asked) break;
  }
  test_mechanism_free(x);
}

Test(implicit_errors, arguments_of_the_jacobian) {
  test_mechanism *x = triangle();
  double by[4][81], p[9];
  vin_projector *projector = NULL;
  cr_assert_eq(vin_projector_create(&projector, NULL, x->system, NULL), VIN_OK);
  cr_expect_eq(vin_reduced_jacobian(NULL, 0, x->p, x->v, by[0], by[1], by[2], by[3]),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_reduced_jacobian(projector, 0, x->p, x->v, by[0], by[1], NULL, by[3]),
               VIN_ERR_BAD_INPUT);
  memcpy(p, x->p, sizeof p);
  p[4] = NAN;
  cr_expect_eq(vin_reduced_jacobian(projector, 0, p, x->v, by[0], by[1], by[2], by[3]),
               VIN_ERR_BAD_INPUT);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
  x = test_chain(VIN_REDUCED_JACOBIAN_LIMIT / 2 + 1, 1, 1);
  test_mechanism_build(x, NULL);
  cr_assert_eq(vin_projector_create(&projector, NULL, x->system, NULL), VIN_OK);
  cr_expect_eq(vin_reduced_jacobian(projector, 0, x->p, x->v, by[0], by[1], by[2], by[3]),
               VIN_ERR_TOO_LARGE);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* No step allocates through the context, whatever the method. */
Test(implicit_errors, steps_do_not_allocate) {
  EACH_METHOD(method) {
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    test_mechanism *x = triangle();
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, &context, x->system, &options), VIN_OK);
    int64_t created = allocator.calls;
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-2, 50), VIN_OK);
    cr_expect_eq(allocator.calls, created, "%s: %d", vin_method_name(method),
                 (int)(allocator.calls - created));
    vin_integrator_destroy(integrator);
    cr_expect_eq(allocator.live, 0);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

static void refused(vin_options options, vin_status expected, const char *word) {
  test_mechanism *x = triangle();
  vin_integrator *integrator = NULL;
  vin_status status = vin_integrator_create(&integrator, NULL, x->system, &options);
  cr_expect_eq(status, expected, "%s for %s", vin_status_name(status), word);
  cr_expect_not_null(strstr(vin_integrator_error(integrator), word), "%s",
                     vin_integrator_error(integrator));
  vin_integrator_destroy(integrator);
  test_mechanism_free(x);
}

Test(implicit_errors, options_out_of_range) {
  EACH_METHOD(method) {
    vin_options good = test_method(method, VIN_PROJECTION_BOTH), o;
#define REFUSED(change, status, word) o = good, change, refused(o, status, word)
    REFUSED(o.newton_tolerance = 0, VIN_ERR_BAD_INPUT, "newton_tolerance");
    REFUSED(o.newton_tolerance = NAN, VIN_ERR_BAD_INPUT, "newton_tolerance");
    REFUSED(o.newton_tolerance = 1, VIN_ERR_BAD_INPUT, "newton_tolerance");
    REFUSED(o.max_newton = 0, VIN_ERR_BAD_INPUT, "max_newton");
    REFUSED(o.max_newton = 1001, VIN_ERR_BAD_INPUT, "max_newton");
    REFUSED(o.spectral_radius = -0.1, VIN_ERR_BAD_INPUT, "spectral_radius");
    REFUSED(o.spectral_radius = 1.1, VIN_ERR_BAD_INPUT, "spectral_radius");
    REFUSED(o.spectral_radius = NAN, VIN_ERR_BAD_INPUT, "spectral_radius");
    o = good;
    o.baumgarte = (vin_baumgarte){.order = 3, .a = 30, .b = 300, .c = 1000};
    if (method >= VIN_METHOD_EULER3) refused(o, VIN_ERR_UNSUPPORTED, "aumgarte");
#undef REFUSED
  }
}

/* Autonomous problems know no time: from t = 1e6 with a step that t holds exactly, the same bits. */
Test(implicit_errors, time_far_from_zero) {
  EACH_METHOD(method) {
    test_mechanism *x = triangle();
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *a = test_integrator(x, &options), *b = test_integrator(x, &options);
    vin_state near = test_state(x), far = test_state(x);
    far.t = 1e6;
    cr_assert_eq(test_advance(a, x, &near, 1.0 / 64, 50), VIN_OK);
    cr_assert_eq(test_advance(b, x, &far, 1.0 / 64, 50), VIN_OK);
    cr_expect_float_eq(far.t - near.t, 1e6, 0);
    far.t = near.t;
    cr_expect(test_state_same(x, &near, &far), "%s", vin_method_name(method));
    vin_integrator_destroy(a), vin_integrator_destroy(b);
    test_state_free(&near), test_state_free(&far);
    test_mechanism_free(x);
  }
}

/* Rows that contradict each other: no step, and the text names one. */
Test(implicit_errors, contradictory_rows) {
  EACH_METHOD(method) {
    test_mechanism *x = test_two_rods(0);
    x->rod[1].length = 1.5;
    x->gravity[1] = -9.81;
    test_mechanism_build(x, NULL);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), to = test_state(x);
    vin_status status = vin_integrator_step(integrator, &from, 0.01, &to);
    cr_expect_gt(status, 0, "%s", vin_method_name(method));
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&to);
    test_mechanism_free(x);
  }
}
