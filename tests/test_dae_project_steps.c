/* test_dae_project_steps - projection of general DAEs behind the steps of the integrator. */
#include "dae_small.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(dae_project_steps);

typedef struct drifts {
  double phi, rate, energy; /* largest over the steps */
  vin_dae_projection_stats stats;
  vin_dae_integrator_stats steps;
} drifts;

static drifts swing(vin_dae_integrator_method method, vin_coupling coupling,
                    const vin_dae_projection_policy *policy) {
  test_dae_small one = test_dae_small_pendulum_1(), two = test_dae_small_pendulum();
  vin_dae *dae = test_dae_small_create(&one);
  vin_dae_integrator *integrator = NULL;
  vin_dae_integrator_options settings = test_dae_options(method, 1e-6);
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &settings), VIN_OK);
  vin_dae_destroy(dae);
  vin_dae_projection_options options = vin_dae_projection_options_default();
  options.coupling = coupling;
  test_add_circle(&options);
  vin_dae_projector *p = test_dae_small_projector(&two, &options);
  if (policy != NULL)
    cr_assert_eq(vin_dae_projector_attach(p, integrator, policy), VIN_OK, "%s",
                 vin_dae_projector_error(p));
  const double start[TEST_PENDULUM] = {1, 0, 0, 0, 0};
  cr_assert_eq(vin_dae_integrator_start(integrator, 0, start), VIN_OK);
  drifts d = {0};
  while (vin_dae_integrator_state(integrator).t < 20) {
    cr_assert_eq(vin_dae_integrator_step(integrator, 20), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
    const double *y = at.y;
    d.phi = fmax(d.phi, fabs(y[0] * y[0] + y[1] * y[1] - 1) / 2);
    d.rate = fmax(d.rate, fabs(y[0] * y[2] + y[1] * y[3]));
    d.energy = fmax(d.energy, fabs((y[2] * y[2] + y[3] * y[3]) / 2 + 9.81 * y[1]));
    double end[TEST_PENDULUM]; /* dense output goes through the projected state */
    cr_assert_eq(vin_dae_integrator_interpolate(integrator, at.t, end), VIN_OK);
    cr_expect_leq(test_max_difference(TEST_PENDULUM, end, y), 1e-14);
  }
  d.stats = vin_dae_projector_get_stats(p);
  d.steps = vin_dae_integrator_get_stats(integrator);
  vin_dae_integrator_destroy(integrator);
  vin_dae_projector_destroy(p);
  return d;
}

Test(dae_project_steps, steps_end_on_the_constraints) {
  NEEDS_UMFPACK;
  EACH_METHOD(m) {
    drifts free = swing(test_dae_methods[m], VIN_COUPLING_COUPLED, NULL);
    cr_assert_geq(free.phi, 1e-7); /* so there is something to do */
    for (int coupling = 0; coupling < 2; coupling++) {
      vin_dae_projection_policy policy = vin_dae_projection_policy_default();
      drifts all = swing(test_dae_methods[m], (vin_coupling)coupling, &policy);
      cr_expect_leq(all.phi, 1e-12);
      cr_expect_leq(all.rate, 1e-11); /* 4 eps times |q| |v|, and its tolerance */
      /* a state moved by less than the error estimate costs no steps to speak of */
      cr_expect_leq(all.steps.steps, free.steps.steps + free.steps.steps / 4);
      cr_expect_eq(all.stats.projections, all.stats.steps);
      cr_expect_geq(all.stats.steps, all.steps.steps);
      cr_expect_eq(all.stats.failures, 0);
      cr_expect_eq(all.stats.symbolic, coupling ? 1 : 2);
      cr_expect_leq(all.energy, fmax(free.energy, 1e-3));
    }
  }
}

/* Every 10th step, or beyond a drift: fewer projections, and the drift stays below what was asked. */
Test(dae_project_steps, policies_project_when_they_say) {
  NEEDS_UMFPACK;
  vin_dae_projection_policy policy = vin_dae_projection_policy_default();
  policy.every = 10;
  drifts tenth = swing(VIN_DAE_BDF, VIN_COUPLING_SEQUENTIAL, &policy);
  cr_expect_eq(tenth.stats.projections, tenth.stats.steps / 10);
  policy.every = 0, policy.drift = 1e-6;
  drifts rare = swing(VIN_DAE_BDF, VIN_COUPLING_SEQUENTIAL, &policy);
  cr_expect_gt(rare.stats.projections, 0);
  cr_expect_lt(rare.stats.projections, rare.stats.steps);
  cr_expect_leq(rare.phi, 1e-6);
  cr_expect_leq(rare.rate, 1e-6);
  cr_expect_gt(rare.stats.drift_max, 1e-6);
}

/* A projection that fails is a failed step; the text says what failed, and the state stays. */
static int refuse(void *user, double t, const double *y, double *c) {
  test_circle(user, t, y, c);
  return t > 0.5 ? *(const int *)user : 0;
}

Test(dae_project_steps, failed_projection_fails_the_step) {
  NEEDS_UMFPACK;
  static int codes[2] = {1, -1};
  for (int k = 0; k < 2; k++) {
    test_dae_small one = test_dae_small_pendulum_1(), two = test_dae_small_pendulum();
    vin_dae *dae = test_dae_small_create(&one);
    vin_dae_integrator *integrator = NULL;
    cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_OK);
    vin_dae_destroy(dae);
    vin_dae_projection_options options = vin_dae_projection_options_default();
    test_add_circle(&options);
    options.invariant = refuse, options.user = &codes[k];
    vin_dae_projector *p = test_dae_small_projector(&two, &options);
    vin_dae_projection_policy policy = vin_dae_projection_policy_default();
    cr_assert_eq(vin_dae_projector_attach(p, integrator, &policy), VIN_OK);
    const double start[TEST_PENDULUM] = {1, 0, 0, 0, 0};
    cr_assert_eq(vin_dae_integrator_start(integrator, 0, start), VIN_OK);
    cr_expect_eq(vin_dae_integrator_run(integrator, 1), k ? VIN_ERR_CALLBACK : VIN_RETRY, "%s",
                 vin_dae_integrator_error(integrator));
    cr_expect_leq(vin_dae_integrator_state(integrator).t, 0.5);
    cr_expect_not_null(strstr(vin_dae_integrator_error(integrator), "invariant"), "%s",
                       vin_dae_integrator_error(integrator));
    /* detached, the run goes on from there */
    cr_assert_eq(vin_dae_projector_attach(p, integrator, NULL), VIN_OK);
    cr_expect_eq(vin_dae_integrator_run(integrator, 1), VIN_OK);
    vin_dae_integrator_destroy(integrator);
    vin_dae_projector_destroy(p);
  }
}

/* The start l = 0 of a pendulum that pulls with l = v v - g y: a form of index 1 names the multiplier and how
 * much it is test_pendulum_off before the first step, the projection finds it, and then the run starts; in the form
 * of index 3 no step needs it, and the first one gives it. (A code without these stops at the first step with
 * errors that no step length reduces.) */
Test(dae_project_steps, wrong_multiplier_is_named_before_the_first_step) {
  NEEDS_UMFPACK;
  const double a = 0.7, force = 1.3 * 1.3 + 9.81 * cos(a);
  double y[TEST_PENDULUM] = {sin(a), -cos(a), 1.3 * cos(a), 1.3 * sin(a), 0};
  test_dae_small one = test_dae_small_pendulum_1(), two = test_dae_small_pendulum();
  vin_dae *dae = test_dae_small_create(&one);
  vin_dae_integrator *integrator = NULL;
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_OK);
  vin_dae_destroy(dae);
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, y), VIN_ERR_BAD_INPUT);
  char amount[32];
  snprintf(amount, sizeof amount, "change by %.2e", force);
  const char *text = vin_dae_integrator_error(integrator);
  cr_expect(strstr(text, "unknown 4 is 0") && strstr(text, amount), "%s, not %s", text, amount);
  vin_dae_projector *p = test_dae_small_projector(&two, NULL);
  cr_assert_eq(vin_dae_project(p, 0, y, NULL), VIN_OK, "%s", vin_dae_projector_error(p));
  cr_expect_float_eq(y[4], force, 1e-11);
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, y), VIN_OK);
  cr_expect_eq(vin_dae_integrator_run(integrator, 0.1), VIN_OK);
  vin_dae_integrator_destroy(integrator);
  vin_dae_projector_destroy(p);
  test_pendulum data = {0};
  vin_dae_integrator_options options = test_dae_options(VIN_DAE_RADAU, 1e-8);
  integrator = test_pendulum_begin(&data, &options, 0); /* index 3, l(0) = 0 */
  y[4] = 0;
  cr_assert_eq(vin_dae_integrator_start(integrator, 0, y), VIN_OK);
  cr_assert_eq(vin_dae_integrator_step(integrator, 1), VIN_OK);
  vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
  double now = at.y[2] * at.y[2] + at.y[3] * at.y[3] - 9.81 * at.y[1];
  cr_expect_float_eq(at.y[4], now, 1e-2); /* two orders below the positions */
  vin_dae_integrator_destroy(integrator);
}
