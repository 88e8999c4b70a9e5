/* Stabilisation of the constraints: decay laws, limits of stability; projection now and then. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(baumgarte);

static const struct {
  vin_method method;
  int order;
  double limit; /* of -z on the negative real axis, where |R(z)| = 1; 0: none */
} methods[] = {{VIN_METHOD_EULER, 1, 2},
               {VIN_METHOD_TAYLOR2, 1, 2},
               {VIN_METHOD_COLLATZ, 2, 2},
               {VIN_METHOD_RK4, 4, 2.78529356},
               {VIN_METHOD_DOPRI5, 5, 3.30656759},
               {VIN_METHOD_BACKWARD_EULER, 1, 0},
               {VIN_METHOD_MIDPOINT, 2, 0},
               {VIN_METHOD_TRAPEZOIDAL, 2, 0},
               {VIN_METHOD_BDF2, 2, 0},
               {VIN_METHOD_RADAU5, 5, 0}};
enum { METHODS = sizeof methods / sizeof *methods };

/* radau5's complex matrix is not symmetric. */
static bool missing(vin_method method) {
  return method == VIN_METHOD_RADAU5 && !vin_solver_available(VIN_SOLVER_UMFPACK) &&
         !vin_solver_available(VIN_SOLVER_KLU);
}

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static const double phi0 = 1e-2, rate0 = -3e-2;

/* A pendulum that starts with Phi = phi0 and Phi' = rate0. */
static test_mechanism *inconsistent(void) {
  test_mechanism *x = test_pendulum(0.7, 1.5);
  double r = sqrt(1 + 2 * phi0), radial = rate0 / r;
  for (int i = 0; i < 2; i++) {
    double along = x->p[i];
    x->v[i] += radial * along;
    x->p[i] = r * along;
  }
  return built(x);
}

/* Phi = (|p|^2 - 1) / 2 and Phi' = p.v of one point */
static double phi_of(const vin_state *s) {
  return (s->p[0] * s->p[0] + s->p[1] * s->p[1] - 1) / 2;
}
static double rate_of(const vin_state *s) {
  return s->p[0] * s->v[0] + s->p[1] * s->v[1];
}

/* Closed forms of Phi and Phi' at t. */
static void law(const vin_baumgarte *b, double t, double *phi, double *rate) {
  if (b->order == 1) {
    double decay = exp(-t / b->tau);
    *rate = rate0 * decay;
    *phi = phi0 + rate0 * b->tau * (1 - decay);
  } else if (b->order == 2) {
    double s = b->zeta * b->omega, square = (b->zeta * b->zeta - 1) * b->omega * b->omega;
    double w = sqrt(fabs(square)), slope = rate0 + s * phi0; /* of exp(s t) Phi at 0 */
    double c = square < 0 ? cos(w * t) : square > 0 ? cosh(w * t) : 1;
    double k = square < 0 ? sin(w * t) / w : square > 0 ? sinh(w * t) / w : t;
    *phi = exp(-s * t) * (phi0 * c + slope * k);
    *rate = -s * *phi + exp(-s * t) * (phi0 * square * k + slope * c);
  } else { /* (s + 10)^3, from Phi'' = 0 */
    double c1 = rate0 + 10 * phi0, c2 = 10 * c1 - 50 * phi0, decay = exp(-10 * t);
    *phi = (phi0 + c1 * t + c2 * t * t) * decay;
    *rate = (c1 + 2 * c2 * t) * decay - 10 * *phi;
  }
}

static const vin_baumgarte laws[] = {
    {.order = 1, .tau = 0.2},
    {.order = 2, .zeta = 0.5, .omega = 6},
    {.order = 2, .zeta = 1, .omega = 6},
    {.order = 2, .zeta = 1.5, .omega = 6},
    {.order = 2, .zeta = 0, .omega = 6},
    {.order = 3, .a = 30, .b = 300, .c = 1000},
};
enum { LAWS = sizeof laws / sizeof *laws };

static double law_error(vin_method method, const vin_baumgarte *b, long steps) {
  test_mechanism *x = inconsistent();
  vin_options options = test_method(method, VIN_PROJECTION_NONE);
  options.baumgarte = *b;
  vin_state end = test_run(x, &options, 0.5, steps);
  double phi, rate;
  law(b, 0.5, &phi, &rate);
  double error = fmax(fabs(phi_of(&end) - phi), fabs(rate_of(&end) - rate));
  test_state_free(&end);
  test_mechanism_free(x);
  return error;
}

/* The stabilised system's own solution has exactly these residuals: a method of high order with small
 * steps (error about 1e-12) meets them. */
Test(baumgarte, residuals_follow_the_closed_forms) {
  for (int k = 0; k < LAWS; k++) {
    double error = law_error(VIN_METHOD_DOPRI5, &laws[k], 1000);
    cr_expect_leq(error, 1e-11, "law %d: %g", k, error);
  }
}

/* ... and each method with its own order. */
Test(baumgarte, every_method_takes_it) {
  for (int i = 0; i < METHODS; i++) {
    if (missing(methods[i].method)) continue;
    for (int k = 0; k < LAWS; k++) {
      long steps = methods[i].order == 1 ? 2000 : methods[i].order == 2 ? 200 : 40;
      double coarse = law_error(methods[i].method, &laws[k], steps);
      double fine = law_error(methods[i].method, &laws[k], 2 * steps);
      double observed = log2(coarse / fine);
      cr_expect(observed >= methods[i].order - 0.4 && observed <= methods[i].order + 1.4,
                "%s, law %d: order %.3f (%g, %g)", vin_method_name(methods[i].method), k, observed,
                coarse, fine);
    }
  }
}

/* Field report 25: gains of zero leave pure index-1 drift, to the last bit; an acceleration error e gives
 * Phi = -e t^2 / 2. */
Test(baumgarte, zero_gains_are_pure_drift) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  x->curvature_error = 1e-4;
  for (int i = 0; i < METHODS; i++) {
    if (missing(methods[i].method)) continue;
    vin_options options = test_method(methods[i].method, VIN_PROJECTION_NONE);
    vin_state plain = test_run(x, &options, 1, 500);
    options.baumgarte.order = 2;
    vin_state zero = test_run(x, &options, 1, 500);
    cr_expect(test_state_same(x, &plain, &zero), "%s", vin_method_name(methods[i].method));
    test_state_free(&plain), test_state_free(&zero);
  }
  vin_options options = test_method(VIN_METHOD_DOPRI5, VIN_PROJECTION_NONE);
  options.baumgarte.order = 3; /* a = b = c = 0 */
  for (int t = 1; t <= 4; t++) {
    vin_state end = test_run(x, &options, t, 500 * t);
    cr_expect_float_eq(fabs(phi_of(&end)), 0.5e-4 * t * t, 1e-10);
    test_state_free(&end);
  }
  test_mechanism_free(x);
}

/* With gains the same disturbance e stays bounded: Phi settles at e / omega^2. */
Test(baumgarte, a_steady_error_stays_bounded) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  x->curvature_error = 1e-4;
  vin_options options = test_method(VIN_METHOD_DOPRI5, VIN_PROJECTION_NONE);
  options.baumgarte = (vin_baumgarte){.order = 2, .zeta = 1, .omega = 10};
  vin_state end = test_run(x, &options, 5, 1000);
  cr_expect_float_eq(fabs(phi_of(&end)), 1e-6, 1e-9);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* A point on a rod without forces, Phi' = 1e-7: the residual alone is in motion, and the method multiplies
 * it by R(-h/tau) in each step. Just inside the limit of stability it decays, just outside it grows. */
static double residual_after(vin_method method, const vin_baumgarte *b, double h, int steps) {
  test_mechanism *x = test_points(2, 1, 1);
  x->rod[0] = (test_rod){.a = 0, .b = -1, .length = 1};
  x->p[0] = 1;
  x->v[0] = 1e-7;
  test_mechanism_build(x, NULL);
  vin_options options = test_method(method, VIN_PROJECTION_NONE);
  options.baumgarte = *b;
  vin_state end = test_run(x, &options, h * steps, steps);
  double rate = fabs(rate_of(&end));
  test_state_free(&end);
  test_mechanism_free(x);
  return rate;
}

/* Methods without a limit are tried with gains of five times the explicit ones'. */
Test(baumgarte, limits_of_stability) {
  for (int i = 0; i < METHODS; i++) {
    double h = 1e-2;
    if (missing(methods[i].method)) continue;
    for (int outside = 0; outside < 2 && methods[i].limit > 0; outside++) {
      vin_baumgarte b = {.order = 1, .tau = h / (methods[i].limit * (outside ? 1.03 : 0.97))};
      double rate = residual_after(methods[i].method, &b, h, 100);
      cr_expect(outside ? rate > 2e-7 : rate < 0.5e-7, "%s: %g at h / tau = %g",
                vin_method_name(methods[i].method), rate, h / b.tau);
    }
    if (methods[i].method == VIN_METHOD_TAYLOR2) continue; /* no Runge-Kutta method in p */
    for (int order = 2; order <= 3;
         order++) { /* double and triple roots at -w, which take longer */
      double w = (methods[i].limit > 0 ? methods[i].limit * 0.9 : 15) / h;
      vin_baumgarte b = {
          .order = order, .zeta = 1, .omega = w, .a = 3 * w, .b = 3 * w * w, .c = w * w * w};
      double inside = residual_after(methods[i].method, &b, h, 400);
      cr_expect_leq(inside, 1e-10, "%s, order %d: %g", vin_method_name(methods[i].method), order,
                    inside);
    }
  }
}

/* ---- projection now and then ------------------------------------------------------------------- */

Test(baumgarte, projection_every_k_steps) {
  test_mechanism *x = built(test_chain(5, 1, 1));
  vin_options options = test_method(VIN_METHOD_COLLATZ, VIN_PROJECTION_BOTH);
  options.projection_every = 10;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  for (int step = 1; step <= 100; step++) {
    cr_assert_eq(test_advance(integrator, x, &state, 0.002, 1), VIN_OK);
    double phi = test_constraint_max(x, state.t, state.p);
    double h = test_hidden_max(x, state.t, state.p, state.v);
    if (step % 10 == 0) {
      cr_expect(phi <= 1e-13 && h <= 1e-12, "step %d: %g %g", step, phi, h);
    } else if (step > 10) {
      cr_expect(phi > 1e-12, "step %d: %g", step, phi);
    }
  }
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* The residual after each step never passes the threshold, and most steps go without a projection. */
Test(baumgarte, projection_when_the_drift_asks_for_it) {
  test_mechanism *x = built(test_chain(5, 1, 1));
  vin_options options = test_method(VIN_METHOD_COLLATZ, VIN_PROJECTION_BOTH);
  options.projection_drift = 1e-7;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  int projected = 0;
  for (int step = 1; step <= 500; step++) {
    cr_assert_eq(test_advance(integrator, x, &state, 0.001, 1), VIN_OK);
    double phi = test_constraint_max(x, state.t, state.p);
    double h = test_hidden_max(x, state.t, state.p, state.v);
    cr_expect(phi <= 1e-7 && h <= 1e-7, "step %d: %g %g", step, phi, h);
    projected += phi <= 1e-13;
  }
  cr_expect(projected >= 5 && projected <= 250, "%d projections", projected);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* A failed step does not count towards the next projection: after it, the run is the undisturbed one. */
Test(baumgarte, failed_steps_keep_the_rhythm_of_projections) {
  test_mechanism *x = test_triangle();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
  options.projection_every = 3;
  vin_state undisturbed = test_run(x, &options, 0.7, 7);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state from = test_state(x), to = test_state(x);
  for (int step = 0; step < 7; step++) {
    if (step == 4) {
      x->calls = 0, x->fail_call = 3, x->fail_code = 1;
      cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_RETRY);
      x->fail_call = 0;
    }
    cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_OK);
    test_state_copy(x, &from, &to);
  }
  cr_expect_leq(test_max_difference(x->n, from.p, undisturbed.p), 1e-13);
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to), test_state_free(&undisturbed);
  test_mechanism_free(x);
}

/* ---- what a run needs to go on ------------------------------------------------------------------- */

static void third_order_under_step_control(vin_method method) {
  test_mechanism *x = inconsistent();
  vin_options options = test_method(method, VIN_PROJECTION_NONE);
  options.baumgarte = laws[LAWS - 1];
  options.relative_tolerance = options.absolute_tolerance = 1e-9;
  options.step = 0.1; /* rejected at first */
  options.fix_start = 0;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, x->system, x->p, x->v, &options), VIN_OK);
  cr_assert_eq(vin_sim_run(sim, 0.2), VIN_OK, "%s", vin_sim_error(sim));
  x->calls = 0, x->fail_call = 4, x->fail_code = 1;
  cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK, "%s", vin_sim_error(sim));
  vin_stats stats = vin_sim_get_stats(sim);
  cr_expect_geq(stats.rejected, 1);
  cr_expect_eq(stats.failures, 1);
  cr_expect_leq(stats.steps, 500, "%lld: what the law does is no error of the steps",
                (long long)stats.steps);
  vin_state_view view = vin_sim_state(sim);
  vin_state end = {.p = (double *)view.p, .v = (double *)view.v};
  double phi, rate;
  law(&options.baumgarte, 0.5, &phi, &rate);
  cr_expect_float_eq(phi_of(&end), phi, 1e-7);
  cr_expect_float_eq(rate_of(&end), rate, 1e-7);
  vin_sim_destroy(sim);
  test_mechanism_free(x);
}

/* Third order has a state of its own, Phi''. Steps that fail and are halved or rejected by the step control
 * go back to it: the decay law holds to the end, to the tolerance. */
Test(baumgarte, third_order_under_step_control) {
  third_order_under_step_control(VIN_METHOD_DOPRI5);
  if (!missing(VIN_METHOD_RADAU5)) third_order_under_step_control(VIN_METHOD_RADAU5);
}

/* The step control lets residuals go as the laws say, also those that grow: steps are as long as without
 * constraint errors. The first law is none, a drift of Phi by its rate. */
Test(baumgarte, laws_do_not_shorten_steps) {
  for (int law_number = -1; law_number < (int)LAWS; law_number++) {
    test_mechanism *x = inconsistent();
    vin_options options = test_method(VIN_METHOD_DOPRI5, VIN_PROJECTION_NONE);
    if (law_number >= 0) options.baumgarte = laws[law_number];
    options.relative_tolerance = options.absolute_tolerance = 1e-9;
    options.fix_start = 0;
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create_from_system(&sim, NULL, x->system, x->p, x->v, &options), VIN_OK);
    cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK, "%s", vin_sim_error(sim));
    cr_expect_leq(vin_sim_get_stats(sim).steps, 100, "law %d: %lld", law_number,
                  (long long)vin_sim_get_stats(sim).steps);
    vin_sim_destroy(sim);
    test_mechanism_free(x);
  }
}

/* [6], figure 8.17 as its errors are corrected: pendulum from the horizontal, Crank-Nicolson with h = 0.025 s and
 * (s + 10)^3 leaves max |x^2 + y^2 - 1| = 2.30e-3 in 20 s, of second order in h. The source integrates mu
 * instead of Phi'', which is the same to the order of the method. */
Test(baumgarte, crank_nicolson_of_third_order) {
  double worst[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    test_mechanism *x = built(test_pendulum(acos(0), 0));
    vin_options options = test_method(VIN_METHOD_TRAPEZOIDAL, VIN_PROJECTION_NONE);
    options.baumgarte = laws[LAWS - 1];
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    for (int i = 0; i < 800 << k; i++) {
      cr_assert_eq(test_advance(integrator, x, &state, 0.025 / (1 << k), 1), VIN_OK);
      worst[k] = fmax(worst[k], fabs(2 * phi_of(&state)));
    }
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
  cr_expect_float_eq(worst[0], 2.30e-3, 5e-6, "%g", worst[0]);
  cr_expect_float_eq(log2(worst[0] / worst[1]), 2, 0.1, "%g", worst[1]);
}

static void refused(vin_method method, vin_baumgarte b, vin_status wanted, const char *word) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  vin_options options = test_method(method, VIN_PROJECTION_NONE);
  options.baumgarte = b;
  vin_integrator *integrator = NULL;
  vin_status status = vin_integrator_create(&integrator, NULL, x->system, &options);
  cr_expect_eq(status, wanted, "%s: %s", word, vin_status_name(status));
  cr_expect_not_null(strstr(vin_integrator_error(integrator), word), "%s",
                     vin_integrator_error(integrator));
  vin_integrator_destroy(integrator);
  test_mechanism_free(x);
}

Test(baumgarte, bad_gains) {
  vin_method rk4 = VIN_METHOD_RK4;
  refused(rk4, (vin_baumgarte){.order = 4}, VIN_ERR_BAD_INPUT, "order");
  refused(rk4, (vin_baumgarte){.order = -1}, VIN_ERR_BAD_INPUT, "order");
  refused(rk4, (vin_baumgarte){.order = 1}, VIN_ERR_BAD_INPUT, "tau");
  refused(rk4, (vin_baumgarte){.order = 1, .tau = NAN}, VIN_ERR_BAD_INPUT, "tau");
  refused(rk4, (vin_baumgarte){.order = 2, .omega = -1}, VIN_ERR_BAD_INPUT, "omega");
  refused(rk4, (vin_baumgarte){.order = 2, .zeta = INFINITY}, VIN_ERR_BAD_INPUT, "zeta");
  refused(rk4, (vin_baumgarte){.order = 3, .a = 1, .b = 1, .c = 2}, VIN_ERR_BAD_INPUT, "grow");
  refused(VIN_METHOD_RATTLE, (vin_baumgarte){.order = 1, .tau = 1}, VIN_ERR_UNSUPPORTED, "rattle");
}

/* Every allocation of an integrator with all options set that fails is reported, and nothing is lost. */
Test(baumgarte, failing_allocations) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_options options = test_method(VIN_METHOD_DOPRI5, VIN_PROJECTION_BOTH);
    options.baumgarte = laws[LAWS - 1];
    options.absolute_tolerance = 1e-6;
    options.dense_output = 1;
    vin_integrator *integrator = NULL;
    vin_status status = vin_integrator_create(&integrator, &context, x->system, &options);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "%lld", (long long)k);
    vin_integrator_destroy(integrator);
    cr_assert_eq(allocator.live, 0, "%lld", (long long)k);
    if (allocator.calls < k) break;
  }
  test_mechanism_free(x);
}
