/* test_dae_breaks - times at which f jumps: steps end on them and the next ones begin anew; and the
 * tolerances near rounding. */
#include "dae_pendulum.h"
#include "ivp_run.h"
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_breaks);

/* x' = s(t) - x, 0 = z - 2 s(t) + x with a square wave s, +1 in the first half of each second, else -1:
 * z jumps, x bends. */
static double wave(double t) {
  return fmod(t, 1.0) < 0.5 ? 1 : -1;
}
static int circuit(void *user, double t, const double *y, double *f) {
  (void)user;
  f[0] = wave(t) - y[0];
  f[1] = y[1] - 2 * wave(t) + y[0];
  return 0;
}
static int circuit_jacobian(void *user, double t, const double *y, double *v) {
  (void)user, (void)t, (void)y;
  v[0] = -1, v[1] = 1, v[2] = 1;
  return 0;
}

/* x from x(0) = 0 at t, part by part */
static double exact(double t) {
  double x = 0, from = 0;
  for (int part = 0; from < t; part++) {
    double to = fmin(t, 0.5 * (part + 1)), s = part % 2 ? -1 : 1;
    x = s + (x - s) * exp(from - to);
    from = to;
  }
  return x;
}

static vin_dae *circuit_dae(const vin_context *context) {
  static const vin_int row[] = {0, 1, 1}, col[] = {0, 0, 1};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2, desc.differential = 1;
  desc.function = circuit, desc.jacobian = circuit_jacobian;
  desc.jacobian_pattern = (vin_triplets){3, row, col};
  vin_dae *dae = NULL;
  if (vin_dae_create(&dae, context, &desc) == VIN_OK) return dae;
  vin_dae_destroy(dae);
  return NULL;
}

/* in any order, one twice, one at the start, one at the end, one behind it */
static const double breaks[] = {2.5, 0.5, 1.0, 1.5, 2.0, 0.0, 3.0, 0.5, 7.0};
enum { BREAKS = sizeof breaks / sizeof *breaks };

static vin_dae_integrator *begin(int method, double tolerance, bool with_breaks) {
  vin_dae *dae = circuit_dae(NULL);
  vin_dae_integrator *integrator = NULL;
  vin_dae_integrator_options options = test_dae_options(test_dae_methods[method], tolerance);
  if (with_breaks) options.breaks = breaks, options.break_count = BREAKS;
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &options), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  vin_dae_destroy(dae);
  const double y[2] = {0, 2};
  cr_assert_eq(vin_dae_integrator_start(integrator, 0, y), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  return integrator;
}

/* Every break is a step's end, nothing is rejected because of it, and the error is that of a smooth
 * problem; without breaks the same run needs more attempts. */
Test(dae_breaks, steps_end_on_them) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    vin_dae_integrator *integrator = begin(m, 1e-8, true), *plain = begin(m, 1e-8, false);
    int met = 0;
    while (vin_dae_integrator_state(integrator).t < 3) {
      cr_assert_eq(vin_dae_integrator_step(integrator, 3), VIN_OK, "%s",
                   vin_dae_integrator_error(integrator));
      vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
      met += fmod(at.t, 0.5) == 0;
      double before = at.t - at.step, y[2]; /* dense output stays within its part */
      cr_assert_eq(vin_dae_integrator_interpolate(integrator, before + 0.5 * at.step, y), VIN_OK);
      cr_expect_float_eq(y[0], exact(before + 0.5 * at.step), 1e-5);
      cr_expect_float_eq(at.y[0], exact(at.t), 1e-6, "method %d, t = %g", m, at.t);
    }
    cr_expect_eq(met, 6);
    vin_dae_integrator_stats stats = vin_dae_integrator_get_stats(integrator);
    cr_expect_eq(stats.restarts, 5);
    cr_expect_eq(stats.failures, 0);
    vin_status status = vin_dae_integrator_run(plain, 3);
    vin_dae_integrator_stats without = vin_dae_integrator_get_stats(plain);
    cr_expect(status != VIN_OK || stats.steps + stats.rejected <
                                      without.steps + without.rejected + without.failures,
              "%d attempts, without %d", (int)(stats.steps + stats.rejected),
              (int)(without.steps + without.rejected + without.failures));
    vin_dae_integrator_destroy(integrator);
    vin_dae_integrator_destroy(plain);
  }
}

/* Back over the breaks. wave() has the value behind a break at the break itself, so f there is that of
 * the wrong part for a run backwards; only the side behind counts. */
Test(dae_breaks, backwards_too) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    vin_dae_integrator *integrator = begin(m, 1e-9, true);
    const double y[2] = {exact(2.25), 2 - exact(2.25)};
    cr_assert_eq(vin_dae_integrator_start(integrator, 2.25, y), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    cr_assert_eq(vin_dae_integrator_run(integrator, 0.25), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    /* the unstable direction: errors grow by e^2 */
    cr_expect_float_eq(vin_dae_integrator_state(integrator).y[0], exact(0.25), 1e-6);
    cr_expect_eq(vin_dae_integrator_get_stats(integrator).restarts, 4);
    /* and forth again from there, over the same ones */
    cr_assert_eq(vin_dae_integrator_run(integrator, 2.25), VIN_OK);
    cr_expect_float_eq(vin_dae_integrator_state(integrator).y[0], exact(2.25), 1e-6);
    vin_dae_integrator_destroy(integrator);
  }
}

/* The charge pump ends, as it began, with all voltages 0, on the ramp of 2e9 V/s, so that its charge is
 * QG(0, 0, 0) and its current C gamma / (2 root) 2e9 with root^2 = gamma^2/4 + gamma sqrt(phi) + phi - VT0:
 * 1.5225661038485e-4 A. The published current, good to all other digits of its file, is 6.1e-6 off. */
Test(dae_breaks, charge_pump_ends_at_the_exact_current) {
  NEEDS_UMFPACK;
  ivp_problem *p = ivp_create("charge-pump", VINCULA_TEST_DATA);
  cr_assert_not_null(p);
  double root = sqrt(0.035 * 0.035 / 4 + 0.035 * sqrt(1.01) + 1.01 - 0.2);
  double current = 4e-12 * 0.035 / (2 * root) * 2e9, charge = 4e-12 * 0.035 * (root - 0.0175);
  cr_expect_float_eq(p->reference[0] / charge, 1, 1e-14);
  cr_expect_float_eq(p->reference[8] / current, 1, 7e-6);
  static const struct {
    double tolerance, error;
  } cases[2] = {{1e-12, 1e-6}, {1e-10, 1e-7}}; /* radau judges index 2 by h / time_scale */
  EACH_METHOD(m) {
    double y[9];
    ivp_result r = ivp_run_dae(p, test_dae_methods[m], cases[m].tolerance, y);
    cr_assert_eq(r.status, VIN_OK, "%s", r.text);
    cr_expect_float_eq(y[0] / charge, 1, 1e-11);
    cr_expect_float_eq(y[8] / current, 1, cases[m].error, "method %d: %g", m, y[8] / current - 1);
    cr_expect_eq(r.stats.restarts, 59);
  }
  ivp_destroy(p);
}

/* Near rounding corrections of Newton's iteration scatter instead of falling: the transistor amplifier at
 * 1e-12, whose currents exp(u / 0.026) are known to 4e-14. The reference is published with 16 digits. */
Test(dae_breaks, backward_differences_near_rounding) {
  NEEDS_UMFPACK;
  ivp_problem *p = ivp_create("transistor", VINCULA_TEST_DATA);
  cr_assert_not_null(p);
  ivp_result r = ivp_run_dae(p, VIN_DAE_BDF, 1e-12, NULL);
  cr_assert_eq(r.status, VIN_OK, "%s", r.text);
  cr_expect_leq(r.error, 1e-9);
  ivp_destroy(p);
}

static void expect_refused(const double *times, vin_int count, const char *word) {
  vin_dae *dae = circuit_dae(NULL);
  vin_dae_integrator *integrator = NULL;
  vin_dae_integrator_options options = vin_dae_integrator_options_default();
  options.breaks = times, options.break_count = count;
  cr_expect_eq(vin_dae_integrator_create(&integrator, NULL, dae, &options), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), word), "%s",
                     vin_dae_integrator_error(integrator));
  vin_dae_integrator_destroy(integrator);
  vin_dae_destroy(dae);
}

Test(dae_breaks, bad_breaks_are_named) {
  const double bad[2] = {1, NAN}, infinite[1] = {INFINITY};
  expect_refused(bad, 2, "breaks[1] is nan");
  expect_refused(infinite, 1, "breaks[0]");
  expect_refused(NULL, 2, "NULL");
  expect_refused(bad, -1, "-1");
}

Test(dae_breaks, every_allocation_may_fail) {
  NEEDS_UMFPACK;
  vin_dae *dae = circuit_dae(NULL);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_dae_integrator *integrator = NULL;
    vin_dae_integrator_options options = vin_dae_integrator_options_default();
    options.breaks = breaks, options.break_count = BREAKS;
    vin_status status = vin_dae_integrator_create(&integrator, &context, dae, &options);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY);
    if (status == VIN_OK) { /* a restart allocates nothing */
      const double y[2] = {0, 2};
      int64_t before = allocator.calls;
      cr_expect_eq(vin_dae_integrator_start(integrator, 0, y), VIN_OK);
      cr_expect_eq(vin_dae_integrator_run(integrator, 3), VIN_OK);
      cr_expect_eq(allocator.calls, before);
    }
    vin_dae_integrator_destroy(integrator);
    cr_assert_eq(allocator.live, 0);
    if (allocator.calls < k) break;
  }
  vin_dae_destroy(dae);
}
