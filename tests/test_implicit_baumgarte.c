/* Stabilisation under the implicit methods: decay laws, the source's numbers, retried steps. */
#include "implicit_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(implicit_baumgarte, .init = test_need_umfpack);

static const struct {
  vin_method method;
  int order;
  long steps;
} methods[] = {{VIN_METHOD_BACKWARD_EULER, 1, 1000},
               {VIN_METHOD_MIDPOINT, 2, 100},
               {VIN_METHOD_TRAPEZOIDAL, 2, 100},
               {VIN_METHOD_BDF2, 2, 200},
               {VIN_METHOD_RADAU5, 5, 10}};
enum { METHODS = sizeof methods / sizeof *methods };

static const vin_baumgarte laws[] = {{.order = 1, .tau = 0.2},
                                     {.order = 2, .zeta = 0.5, .omega = 6},
                                     {.order = 3, .a = 30, .b = 300, .c = 1000}};
enum { LAWS = sizeof laws / sizeof *laws };

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
  test_mechanism_build(x, NULL);
  return x;
}

/* Closed forms of Phi and Phi' at t; the third from Phi'' = 0. */
static void law(const vin_baumgarte *b, double t, double *phi, double *rate) {
  if (b->order == 1) {
    double decay = exp(-t / b->tau);
    *rate = rate0 * decay;
    *phi = phi0 + rate0 * b->tau * (1 - decay);
  } else if (b->order == 2) {
    double s = b->zeta * b->omega, w = b->omega * sqrt(1 - b->zeta * b->zeta);
    double slope = rate0 + s * phi0;
    *phi = exp(-s * t) * (phi0 * cos(w * t) + slope * sin(w * t) / w);
    *rate = -s * *phi + exp(-s * t) * (slope * cos(w * t) - phi0 * w * sin(w * t));
  } else { /* (s + 10)^3 */
    double c1 = rate0 + 10 * phi0, c2 = 10 * c1 - 50 * phi0, decay = exp(-10 * t);
    *phi = (phi0 + c1 * t + c2 * t * t) * decay;
    *rate = (c1 + 2 * c2 * t) * decay - 10 * *phi;
  }
}

static double distance(const double *p, const double *v, const vin_baumgarte *b, double t) {
  double phi, rate;
  law(b, t, &phi, &rate);
  return fmax(fabs((p[0] * p[0] + p[1] * p[1] - 1) / 2 - phi),
              fabs(p[0] * v[0] + p[1] * v[1] - rate));
}

static double law_error(vin_method method, const vin_baumgarte *b, long steps) {
  test_mechanism *x = inconsistent();
  vin_options options = test_method(method, VIN_PROJECTION_NONE);
  options.baumgarte = *b;
  vin_state end = test_run(x, &options, 0.5, steps);
  double error = distance(end.p, end.v, b, 0.5);
  test_state_free(&end);
  test_mechanism_free(x);
  return error;
}

/* The exact solution of the stabilised equations has the residuals of the closed forms; each method meets
 * them with its own order. The upper bound: terms of the next order may help. */
Test(implicit_baumgarte, laws_with_the_order_of_the_method) {
  for (int i = 0; i < METHODS; i++) {
    for (int k = 0; k < LAWS; k++) {
      double coarse = law_error(methods[i].method, &laws[k], methods[i].steps);
      double fine = law_error(methods[i].method, &laws[k], 2 * methods[i].steps);
      double observed = log2(coarse / fine);
      cr_expect(observed >= methods[i].order - 0.4 && observed <= methods[i].order + 1.4,
                "%s, law %d: order %.3f (%g, %g)", vin_method_name(methods[i].method), k, observed,
                coarse, fine);
    }
  }
}

/* ---- the source's pendulum: from (1, 0) at rest, h = 0.025 s, 20 s ----------------------------- */

enum { STATE = 5 }; /* x, y, their rates, Phi'' */

static void field(const vin_baumgarte *b, const double *z, double *rate) {
  double square = z[0] * z[0] + z[1] * z[1], speed = z[2] * z[2] + z[3] * z[3];
  double lambda = (-9.81 * z[1] + speed - z[4]) / square;
  rate[0] = z[2], rate[1] = z[3];
  rate[2] = -lambda * z[0];
  rate[3] = -9.81 - lambda * z[1];
  rate[4] = -(b->a * z[4] + b->b * (z[0] * z[2] + z[1] * z[3]) + b->c * (square - 1) / 2);
}

/* One step of Crank-Nicolson on these five, by fixed-point iteration: h/2 times the rates of 10 / s of
 * the stabilisation and of 6 / s of the pendulum contracts. */
static void by_hand(const vin_baumgarte *b, double h, double *z) {
  double from[STATE], next[STATE];
  field(b, z, from);
  memcpy(next, z, sizeof next);
  for (int k = 0; k < 200; k++) {
    double to[STATE];
    field(b, next, to);
    for (int i = 0; i < STATE; i++) next[i] = z[i] + 0.5 * h * (from[i] + to[i]);
  }
  memcpy(z, next, sizeof next);
}

/* Largest |x^2 + y^2 - 1|; *apart: largest distance to the steps by hand. */
static double largest(const vin_baumgarte *b, double h, int steps, double *apart) {
  test_mechanism *x = test_pendulum(acos(0), 0);
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_TRAPEZOIDAL, VIN_PROJECTION_NONE);
  options.baumgarte = *b;
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double worst = 0, z[STATE] = {x->p[0], x->p[1], 0, 0, 0};
  *apart = 0;
  for (int k = 0; k < steps; k++) {
    cr_assert_eq(test_advance(integrator, x, &state, h, 1), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    worst = fmax(worst, fabs(state.p[0] * state.p[0] + state.p[1] * state.p[1] - 1));
    by_hand(b, h, z);
    *apart = fmax(*apart,
                  fmax(test_max_difference(2, state.p, z), test_max_difference(2, state.v, z + 2)));
  }
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
  return worst;
}

/* 2.30e-3 as published, of order 2. The steps are those by hand, up to the tolerance of Newton's method
 * in 800 steps of a motion that enlarges a difference by some 100. */
Test(implicit_baumgarte, numbers_of_the_source) {
  double apart, coarse = largest(&laws[2], 0.025, 800, &apart);
  cr_expect_float_eq(coarse, 2.30e-3, 5e-6, "%g", coarse);
  cr_expect_leq(apart, 1e-9, "%g", apart);
  double order = log2(coarse / largest(&laws[2], 0.0125, 1600, &apart));
  cr_expect_float_eq(order, 2, 0.05, "%g", order);
}

/* ---- steps that are taken back ---------------------------------------------------------------- */

/* Phi'' goes on from the accepted state after a rejected or failed step: the law of the third order holds
 * under step control, and where halved steps take the place of a failed one. */
Test(implicit_baumgarte, third_order_survives_retries) {
  for (int halved = 0; halved < 2; halved++) {
    test_mechanism *x = inconsistent();
    vin_options options = test_method(VIN_METHOD_RADAU5, VIN_PROJECTION_NONE);
    options.baumgarte = laws[2];
    options.fix_start = 0;
    options.step = halved ? 0.01 : 0.5;
    options.max_halvings = halved ? 4 : 0;
    if (!halved) options.absolute_tolerance = options.relative_tolerance = 1e-9;
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create_from_system(&sim, NULL, x->system, x->p, x->v, &options), VIN_OK);
    cr_assert_eq(vin_sim_run(sim, 0.2), VIN_OK, "%s", vin_sim_error(sim));
    x->calls = 0, x->fail_call = 4, x->fail_code = 1;
    cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK, "%s", vin_sim_error(sim));
    vin_stats stats = vin_sim_get_stats(sim);
    cr_expect_geq(stats.failures + stats.rejected, halved ? 1 : 2);
    cr_expect_leq(stats.steps, 500, "%lld: what the law does is no error of the steps",
                  (long long)stats.steps);
    vin_state_view view = vin_sim_state(sim);
    double error = distance(view.p, view.v, &laws[2], 0.5);
    cr_expect_leq(error, 1e-7, "%d: %g", halved, error);
    vin_sim_destroy(sim);
    test_mechanism_free(x);
  }
}

/* Each allocation that fails is reported, with the memory of the third order and of the way back. */
Test(implicit_baumgarte, failing_allocations) {
  test_mechanism *x = inconsistent();
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_options options = test_method(VIN_METHOD_RADAU5, VIN_PROJECTION_BOTH);
    options.baumgarte = laws[2];
    options.absolute_tolerance = 1e-6;
    vin_integrator *integrator = NULL;
    vin_status status = vin_integrator_create(&integrator, &context, x->system, &options);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "%lld", (long long)k);
    vin_integrator_destroy(integrator);
    cr_assert_eq(allocator.live, 0, "%lld", (long long)k);
    if (allocator.calls < k) break;
  }
  test_mechanism_free(x);
}
