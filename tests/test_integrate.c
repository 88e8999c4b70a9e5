/* The one interface of all methods: drift without projection, projections, failures, bad input. */
#include "integrate/integrate.h"
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(integrate);

#define EACH_METHOD(method)                                                                        \
  for (vin_method method = VIN_METHOD_RATTLE; method <= VIN_METHOD_RK4; method++)

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

/* A pendulum at rest relative to a velocity of `outward` along the rod: Phi'(0) = outward. */
static test_mechanism *inconsistent_pendulum(double outward) {
  test_mechanism *x = test_pendulum(0.5, 0);
  x->v[0] = outward * x->p[0];
  x->v[1] = outward * x->p[1];
  return x;
}

/* Without projection the exact solution of the acceleration-level system has Phi'' = 0, so Phi
 * grows by Phi'(0) t: 1e-4 t here. rk4 follows it to 1e-9 (its own drift, h = 1e-3). */
Test(integrate, drift_of_an_inconsistent_velocity_is_linear) {
  test_mechanism *x = built(inconsistent_pendulum(1e-4));
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_NONE);
  for (int t = 1; t <= 4; t++) {
    vin_state end = test_run(x, &options, t, 1000 * t);
    double phi = test_constraint_max(x, end.t, end.p);
    cr_expect_float_eq(phi, 1e-4 * t, 1e-9, "t = %d: Phi = %.12g", t, phi);
    cr_expect_float_eq(test_hidden_max(x, end.t, end.p, end.v), 1e-4, 1e-9);
    test_state_free(&end);
  }
  test_mechanism_free(x);
}

/* An acceleration-level error e in a (Phi_p v' = -a - e) gives Phi'' = -e and Phi = -e t^2 / 2. */
Test(integrate, drift_of_an_inconsistent_acceleration_is_quadratic) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  x->curvature_error = 1e-4;
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_NONE);
  for (int t = 1; t <= 4; t++) {
    vin_state end = test_run(x, &options, t, 1000 * t);
    double phi = test_constraint_max(x, end.t, end.p);
    cr_expect_float_eq(phi, 0.5e-4 * t * t, 1e-9, "t = %d: Phi = %.12g", t, phi);
    cr_expect_float_eq(test_hidden_max(x, end.t, end.p, end.v), 1e-4 * t, 1e-9);
    test_state_free(&end);
  }
  test_mechanism_free(x);
}

/* The same two disturbances, each level projected as asked: what is projected is at rounding,
 * what is not has drifted by the order of the disturbance. */
Test(integrate, each_projection_removes_its_own_drift) {
  static const vin_method methods[] = {VIN_METHOD_EULER, VIN_METHOD_TAYLOR2, VIN_METHOD_RK4};
  for (int k = 0; k < 3; k++) {
    for (int projection = 0; projection < 4; projection++) {
      test_mechanism *x = built(inconsistent_pendulum(1e-4));
      x->curvature_error = 1e-4;
      vin_options options = test_method(methods[k], (vin_projection)projection);
      vin_state end = test_run(x, &options, 0.5, 500);
      double phi = test_constraint_max(x, end.t, end.p);
      double hidden = test_hidden_max(x, end.t, end.p, end.v);
      bool position = projection & VIN_PROJECTION_POSITION;
      bool velocity = projection & VIN_PROJECTION_VELOCITY;
      cr_expect(position ? phi <= 1e-13 : phi > (velocity ? 1e-15 : 1e-5), "%s %s: Phi %g",
                vin_method_name(methods[k]), vin_projection_name((vin_projection)projection), phi);
      cr_expect(velocity ? hidden <= 1e-13 : hidden > 1e-5, "%s %s: h %g",
                vin_method_name(methods[k]), vin_projection_name((vin_projection)projection),
                hidden);
      test_state_free(&end);
      test_mechanism_free(x);
    }
  }
}

/* Drift of the method itself, without any disturbance: order 4 with rk4, 1 with euler. */
Test(integrate, drift_of_truncation_has_the_order_of_the_method) {
  test_mechanism *x = built(test_chain(10, 1, 1));
  static const struct {
    vin_method method;
    double order;
  } cases[] = {{VIN_METHOD_RK4, 4}, {VIN_METHOD_EULER, 1}, {VIN_METHOD_TAYLOR2, 1}};
  for (int k = 0; k < 3; k++) {
    vin_options options = test_method(cases[k].method, VIN_PROJECTION_NONE);
    double phi[2];
    for (int run = 0; run < 2; run++) {
      vin_state end = test_run(x, &options, 1, run == 0 ? 400 : 800);
      phi[run] = test_constraint_max(x, end.t, end.p);
      test_state_free(&end);
    }
    double observed = log2(phi[0] / phi[1]);
    cr_expect(fabs(observed - cases[k].order) <= 0.6, "%s: %g then %g, order %g",
              vin_method_name(cases[k].method), phi[0], phi[1], observed);
  }
  test_mechanism_free(x);
}

/* A step reads its start only, and gives the same bits when it is run again, in the same object
 * or in another one. */
Test(integrate, steps_are_pure_and_reproducible) {
  EACH_METHOD(method) {
    test_mechanism *x = built(test_chain(10, 1, 1));
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *a = test_integrator(x, &options), *b = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x), again = test_state(x);
    for (int step = 0; step < 20; step++) {
      test_state_copy(x, &kept, &from);
      cr_assert_eq(vin_integrator_step(a, &from, 1e-2, &to), VIN_OK);
      cr_assert(test_state_same(x, &from, &kept), "%s writes its start", vin_method_name(method));
      cr_assert_eq(vin_integrator_step(b, &from, 1e-2, &again), VIN_OK);
      cr_assert(test_state_same(x, &to, &again), "%s, step %d", vin_method_name(method), step);
      test_state_copy(x, &from, &to);
    }
    vin_integrator_destroy(a);
    vin_integrator_destroy(b);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to), test_state_free(&again);
    test_mechanism_free(x);
  }
}

/* Going on and starting anew give the same step but for the stop rule: the constraints hold to
 * 1e-13 either way, so the states agree to about 1e-13 / h. */
Test(integrate, continuing_equals_restarting) {
  EACH_METHOD(method) {
    test_mechanism *x = built(test_chain(10, 1, 1));
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *going = test_integrator(x, &options);
    vin_state from = test_state(x), to = test_state(x), fresh = test_state(x);
    for (int step = 0; step < 50; step++) {
      vin_integrator *anew = test_integrator(x, &options);
      cr_assert_eq(vin_integrator_step(going, &from, 1e-2, &to), VIN_OK);
      cr_assert_eq(vin_integrator_step(anew, &from, 1e-2, &fresh), VIN_OK);
      cr_assert_leq(test_max_difference(x->n, to.p, fresh.p), 1e-12, "%s", vin_method_name(method));
      cr_assert_leq(test_max_difference(x->n, to.v, fresh.v), 1e-10, "%s", vin_method_name(method));
      cr_assert_leq(test_max_difference(x->m, to.lambda, fresh.lambda), 1e-7, "%s",
                    vin_method_name(method));
      vin_integrator_destroy(anew);
      test_state_copy(x, &from, &to);
    }
    vin_integrator_destroy(going);
    test_state_free(&from), test_state_free(&to), test_state_free(&fresh);
    test_mechanism_free(x);
  }
}

/* Any use of the shared projector in between, at any state, leaves the motion as it is. */
Test(integrate, the_projector_may_be_used_between_steps) {
  EACH_METHOD(method) {
    test_mechanism *x = built(test_chain(10, 1, 1));
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *a = test_integrator(x, &options), *b = test_integrator(x, &options);
    vin_projector *shared = vin_integrator_projector(b);
    vin_state one = test_state(x), two = test_state(x), other = test_state(x);
    double *vdot = calloc((size_t)x->n, sizeof *vdot);
    for (int step = 0; step < 10; step++) {
      cr_assert_eq(test_advance(a, x, &one, 1e-2, 1), VIN_OK);
      cr_assert_eq(test_advance(b, x, &two, 1e-2, 1), VIN_OK);
      cr_assert_leq(test_max_difference(x->n, one.p, two.p), 1e-12);
      for (vin_int i = 0; i < x->n; i++) other.p[i] = one.p[i] + 0.01 * cos(i);
      cr_assert_eq(vin_project_position(shared, 0, other.p, NULL), VIN_OK);
      cr_assert_eq(vin_project_velocity(shared, 0, other.p, other.v, NULL), VIN_OK);
      cr_assert_eq(vin_project_acceleration(shared, 0, other.p, other.v, vdot, other.lambda),
                   VIN_OK);
    }
    free(vdot);
    vin_integrator_destroy(a);
    vin_integrator_destroy(b);
    test_state_free(&one), test_state_free(&two), test_state_free(&other);
    test_mechanism_free(x);
  }
}

/* Field report 39: at each force evaluation of four steps in turn, a callback that fails, asks
 * for a smaller step or returns NaN: the status says which, the start (lambda too) is untouched
 * to the last bit, and the next step works and gives the result of an undisturbed run. */
Test(integrate, failing_force_at_every_call) {
  static const struct {
    int code;
    vin_status status;
  } kinds[] = {{-7, VIN_ERR_CALLBACK}, {3, VIN_RETRY}, {0, VIN_RETRY}};
  EACH_METHOD(method) {
    test_mechanism *x = test_triangle();
    x->damping = 0.01; /* rattle then iterates over the force */
    test_mechanism_build(x, NULL);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state undisturbed = test_run(x, &options, 0.4, 4);
    for (int kind = 0; kind < 3; kind++) {
      for (long k = 1;; k++) {
        vin_integrator *integrator = test_integrator(x, &options);
        vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
        int failures = 0;
        x->calls = 0;
        x->fail_call = k;
        x->fail_code = kinds[kind].code;
        for (int step = 0; step < 4; step++) {
          test_state_copy(x, &kept, &from);
          vin_status status = vin_integrator_step(integrator, &from, 0.1, &to);
          if (status != VIN_OK) {
            failures++;
            cr_assert_eq(status, kinds[kind].status, "%s", vin_integrator_error(integrator));
            cr_assert_not_null(strstr(vin_integrator_error(integrator), "force"));
            cr_assert(test_state_same(x, &from, &kept));
            status = vin_integrator_step(integrator, &from, 0.1, &to);
            cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
          }
          test_state_copy(x, &from, &to);
        }
        cr_assert_leq(test_max_difference(x->n, from.p, undisturbed.p), 1e-11);
        cr_assert_eq(vin_integrator_get_stats(integrator).failures, failures);
        cr_assert_eq(vin_integrator_get_stats(integrator).steps, 4);
        vin_integrator_destroy(integrator);
        test_state_free(&from), test_state_free(&kept), test_state_free(&to);
        cr_assert_leq(failures, 1);
        if (x->calls < k) break; /* the k-th call was never made */
        cr_assert_eq(failures, 1, "call %ld of %s", k, vin_method_name(method));
      }
    }
    x->fail_call = 0;
    test_state_free(&undisturbed);
    test_mechanism_free(x);
  }
}

/* Field report 38: 1e6 rad/s and a step of 10 s. No method can take it; none may say it did. */
Test(integrate, a_hopeless_step_fails) {
  EACH_METHOD(method) {
    test_mechanism *x = built(test_pendulum(0.3, 1e6));
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
    vin_status status = vin_integrator_step(integrator, &from, 10, &to);
    cr_expect_eq(status, VIN_STEP_FAILED, "%s: %s, %s", vin_method_name(method),
                 vin_status_name(status), vin_integrator_error(integrator));
    cr_expect(test_state_same(x, &from, &kept));
    cr_expect_not_null(strstr(vin_integrator_error(integrator), "step of 10 s"));
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to);
    test_mechanism_free(x);
  }
}

/* m = 0: free flight, exact for rattle, taylor2 and rk4 under constant gravity. */
Test(integrate, without_constraints) {
  EACH_METHOD(method) {
    test_mechanism *x = test_points(3, 2, 0);
    x->gravity[2] = -9.81;
    x->v[0] = 1, x->v[5] = 3;
    test_mechanism_build(x, NULL);
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state end = test_run(x, &options, 1, 100);
    double tolerance = method == VIN_METHOD_EULER ? 0.05 : 1e-12; /* g h t / 2 */
    /* taylor2 and rattle: p exact, v exact */
    cr_expect_float_eq(end.p[0], 1, 1e-12);
    cr_expect_float_eq(end.p[5], 3 - 9.81 / 2, tolerance, "%s", vin_method_name(method));
    cr_expect_float_eq(end.v[5], 3 - 9.81, 1e-12, "%s", vin_method_name(method));
    test_state_free(&end);
    test_mechanism_free(x);
  }
}

/* Negative steps lead back: rattle to rounding, the others as far as their order goes. */
Test(integrate, negative_steps) {
  EACH_METHOD(method) {
    test_mechanism *x = built(test_triangle());
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-2, 100), VIN_OK);
    cr_assert_eq(test_advance(integrator, x, &state, -1e-2, 100), VIN_OK);
    static const double back[] = {1e-12, 0.1, 0.1, 1e-7};
    cr_expect_leq(test_max_difference(x->n, state.p, x->p), back[method], "%s: %g",
                  vin_method_name(method), test_max_difference(x->n, state.p, x->p));
    cr_expect_float_eq(state.t, 0, 1e-14);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

/* A mass matrix that is not declared constant: rattle refuses, the others work. */
Test(integrate, varying_mass) {
  test_mechanism *x = test_pendulum(0.5, 0);
  x->mass_varies = true;
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = NULL;
  cr_assert_eq(vin_integrator_create(&integrator, NULL, x->system, &options), VIN_ERR_UNSUPPORTED);
  cr_assert_not_null(strstr(vin_integrator_error(integrator), "VIN_MASS_CONSTANT"));
  vin_integrator_destroy(integrator);
  test_mechanism *constant = built(test_pendulum(0.5, 0));
  options.method = VIN_METHOD_RK4;
  vin_state one = test_run(x, &options, 1, 100), two = test_run(constant, &options, 1, 100);
  cr_expect_leq(test_max_difference(x->n, one.p, two.p), 1e-13); /* the same M after all */
  test_state_free(&one), test_state_free(&two);
  test_mechanism_free(x), test_mechanism_free(constant);
}

/* Consistent multipliers before the first step, whatever the caller had there (field report 27),
 * and a first step that ends with the multiplier of its end: both from Newton's law along the
 * rod, tension = m (v^2/L + g cos(angle)). */
Test(integrate, multipliers_are_consistent_from_the_start) {
  double angle = 0.7, rate = 2;
  test_mechanism *x = built(test_pendulum(angle, rate));
  double tension = rate * rate + 9.81 * cos(angle), vdot[2], lambda = 0;
  cr_assert_eq(vin_initial_solve(x->system, NULL, 0, x->p, x->v, vdot, &lambda, NULL, NULL, 0),
               VIN_OK);
  cr_expect_float_eq(lambda, tension, 1e-13 * tension);
  EACH_METHOD(method) {
    vin_options options = test_method(method, VIN_PROJECTION_BOTH);
    vin_state end = test_run(x, &options, 1e-5, 1); /* lambda' h = 2e-4 at most */
    cr_expect_float_eq(end.lambda[0], tension, 5e-4, "%s: %g", vin_method_name(method),
                       end.lambda[0]);
    test_state_free(&end);
  }
  test_mechanism_free(x);
}

/* vin_options.solver is a short way to projector.kkt.solver. */
Test(integrate, solver_of_the_options) {
  test_mechanism *x = built(test_planar_pendulum());
  static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  for (int k = 0; k < 3; k++) {
    if (!vin_solver_available(solvers[k])) continue;
    vin_options options = vin_options_default();
    options.solver = solvers[k];
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, NULL, x->system, &options), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    vin_kkt *kkt = vin_projector_kkt(vin_integrator_projector(integrator));
    cr_expect_eq(vin_kkt_get_info(kkt).solver, solvers[k]);
    vin_integrator_destroy(integrator);
  }
  test_mechanism_free(x);
}
