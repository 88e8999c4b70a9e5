/* Step control: tolerances, rejected and failed steps, the end of a run. */
#include "problems.h"
#include "sim/sim.h"
#include "test_sim_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(control);

static vin_options controlled(double tolerance) {
  vin_options options = vin_options_default();
  options.method = VIN_METHOD_DOPRI5;
  options.relative_tolerance = options.absolute_tolerance = tolerance;
  return options;
}

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static vin_sim *sim_of(const test_mechanism *x, const vin_options *options) {
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create_from_system(&sim, NULL, x->system, x->p, x->v, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_sim_error(sim));
  return sim;
}

static void run(vin_sim *sim, double t) {
  cr_assert_eq(vin_sim_run(sim, t), VIN_OK, "%s", vin_sim_error(sim));
}

/* ---- what a tolerance buys ---------------------------------------------------------------------- */

/* The global error of a pendulum follows the tolerance: local errors of at most tol a step over some
 * hundred steps stay below 1e3 tol, and the work grows like tol^-1/5. */
Test(control, error_follows_the_tolerance) {
  test_mechanism *x = built(test_planar_pendulum());
  double row[5], last_steps = 0;
  test_reference("hamiltonian/planar_pendulum.csv", 10, 5, row);
  for (int k = 0; k < 4; k++) {
    double tolerance = pow(10, -6 - 2 * k);
    vin_options options = controlled(tolerance);
    vin_sim *sim = sim_of(x, &options);
    run(sim, 10);
    vin_state_view end = vin_sim_state(sim);
    double error = fmax(test_max_difference(2, end.p, row), test_max_difference(2, end.v, row + 2));
    cr_expect_leq(error, 1e3 * tolerance, "%g: %g", tolerance, error);
    double steps = (double)vin_sim_report(sim).steps;
    if (k > 1) /* 100^(1/5) = 2.51; the first runs mostly grow from the first trial step */
      cr_expect_float_eq(steps / last_steps, 2.51, 0.4, "%g: %g steps after %g", tolerance, steps,
                         last_steps);
    last_steps = steps;
    vin_sim_destroy(sim);
  }
  test_mechanism_free(x);
}

/* The estimate of a small step is its local error to first order: the embedded method of order 4 differs
 * from the solution by c h^5, the result itself by less. */
Test(control, estimate_is_of_order_5) {
  test_mechanism *x = built(test_spherical_pendulum());
  vin_options options = test_method(VIN_METHOD_DOPRI5, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = test_integrator(x, &options);
  cr_expect(isnan(vin_integrator_error_estimate(integrator)));
  vin_state from = test_state(x), to = test_state(x);
  double last = 0;
  for (int k = 0; k < 4; k++) {
    cr_assert_eq(vin_integrator_step(integrator, &from, 0.1 * pow(0.5, k), &to), VIN_OK);
    double estimate = vin_integrator_error_estimate(integrator);
    if (k > 0)
      cr_expect_float_eq(log2(last / estimate), 5, 0.5, "%.3f (%g)", log2(last / estimate),
                         estimate);
    last = estimate;
  }
  vin_integrator_destroy(integrator);
  options.method = VIN_METHOD_RK4;
  integrator = test_integrator(x, &options);
  cr_assert_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_OK);
  cr_expect(isnan(vin_integrator_error_estimate(integrator)), "rk4 has no estimate");
  cr_expect(isnan(vin_integrator_error_estimate(NULL)));
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to);
  test_mechanism_free(x);
}

/* A constraint error that the embedded pair does not see (an error in the curvature callback, so that
 * Phi'' = -1 exactly) is refused by the residual part: without projection, steps stay below what
 * Phi = t^2/2, h = t allow for, |h| <= (tol + tol |v|) |row|, although the estimate is content. */
Test(control, acceptance_covers_the_constraints) {
  test_mechanism *x = built(test_pendulum(0.5, 0));
  x->curvature_error = 1;
  vin_options options = controlled(1e-3);
  options.projection = VIN_PROJECTION_NONE;
  options.step = 0.05;
  vin_sim *sim = sim_of(x, &options);
  cr_assert_eq(vin_sim_step(sim), VIN_OK, "%s", vin_sim_error(sim));
  double h = vin_sim_state(sim).t,
         speed = fabs(vin_sim_state(sim).v[0]) + fabs(vin_sim_state(sim).v[1]);
  cr_expect_gt(vin_sim_get_stats(sim).rejected, 0);
  cr_expect_leq(h, 1.5 * 1e-3 * (2 + speed), "accepted h = %g", h);
  cr_expect_leq(sim->integrator->estimate, 1e-3);
  cr_expect_leq(vin_integrator_residual_estimate(sim->integrator), 1);
  vin_sim_destroy(sim);
  test_mechanism_free(x);
}

/* ---- rejected and failed steps ------------------------------------------------------------------ */

/* Field report 39: while steps are refused, for their error or by a failing force, the state that
 * observers and callers see does not change by a bit. */
typedef struct watch {
  vin_sim *sim;
  snapshot last;
  long rejected;
} watch;

static double spike_at;
static watch watched;

static int spiky_force(void *user, double t, const double *p, const double *v, double *f) {
  const pendulum *data = user;
  (void)v, (void)p, (void)data;
  if (watched.sim) {
    cr_expect(same(take(watched.sim), watched.last), "the state changed within a step");
    cr_expect_eq(vin_sim_state(watched.sim).t, watched.last.t);
  }
  f[0] = t > spike_at ? 200 * sin(400 * (t - spike_at)) : 0;
  f[1] = -9.81;
  return 0;
}

static int remember(void *user, const vin_state_view *state) {
  (void)user, (void)state;
  watched.last = take(watched.sim);
  return 0;
}

static test_mechanism *spiky(void) {
  test_mechanism *x = test_pendulum(0.5, 0);
  x->force = spiky_force;
  return built(x);
}

Test(control, rejected_steps_change_nothing) {
  test_mechanism *x = spiky();
  spike_at = 0.5;
  vin_options options = controlled(1e-6);
  watched.sim = NULL;
  vin_sim *sim = sim_of(x, &options);
  cr_assert_eq(vin_sim_add_observer(sim, 1, remember, NULL), VIN_OK);
  watched.sim = sim;
  watched.last = take(sim);
  run(sim, 1);
  vin_stats stats = vin_sim_get_stats(sim);
  cr_expect_gt(stats.rejected, 0);
  cr_expect_eq(stats.steps, vin_sim_report(sim).steps, "rejected steps are not counted as steps");
  cr_expect_eq(vin_sim_state(sim).t, 1);
  watched.sim = NULL;
  vin_sim_destroy(sim);
  test_mechanism_free(x);
}

/* A rejected step costs its stages (six accelerations), never the start's again. */
Test(control, work_of_a_rejected_step) {
  test_mechanism *x = spiky();
  spike_at = 0.5;
  watched.sim = NULL;
  vin_options options = controlled(1e-6);
  vin_sim *sim = sim_of(x, &options);
  vin_sim_step(sim);
  vin_stats before = vin_sim_get_stats(sim);
  run(sim, 1);
  vin_stats after = vin_sim_get_stats(sim);
  int64_t tries = after.steps - before.steps + after.rejected - before.rejected;
  cr_expect_gt(after.rejected - before.rejected, 0);
  cr_expect_eq(after.force_evaluations - before.force_evaluations, 6 * tries);
  vin_sim_destroy(sim);
  test_mechanism_free(x);
}

/* A force that refuses to be evaluated past some point of each long step shortens the step, and the
 * run goes on to its end; one that always fails ends it with the reason. */
Test(control, failing_steps_are_shortened) {
  pendulum data = sound();
  vin_options options = controlled(1e-8);
  vin_sim *sim = pendulum_sim(&data, &options);
  run(sim, 0.5);
  vin_stats before = vin_sim_get_stats(sim);
  data.code = 1;
  data.fail_call = data.calls + 3;
  run(sim, 1);
  vin_stats after = vin_sim_get_stats(sim);
  cr_expect_eq(after.failures - before.failures, 1);
  cr_expect_eq(vin_sim_state(sim).t, 1);
  data.fail_time = 1.2;
  cr_expect_eq(vin_sim_run(sim, 2), VIN_STEP_FAILED);
  cr_expect_not_null(strstr(vin_sim_error(sim), "rounding of t"), "%s", vin_sim_error(sim));
  cr_expect_not_null(strstr(vin_sim_error(sim), "force"), "%s", vin_sim_error(sim));
  double t = vin_sim_state(sim).t;
  cr_expect(t <= 1.2 && t > 1.19, "%.17g", t);
  snapshot kept = take(sim);
  cr_expect_eq(vin_sim_step(sim), VIN_STEP_FAILED);
  cr_expect(same(take(sim), kept));
  vin_sim_destroy(sim);
}

/* From t = 0, whose own rounding is none, the way that is left tells when to give up. */
Test(control, failure_at_time_zero_is_told_soon) {
  pendulum data = sound();
  vin_options options = controlled(1e-8);
  vin_sim *sim = pendulum_sim(&data, &options);
  data.fail_time = 1e-30;
  cr_expect_eq(vin_sim_run(sim, 2), VIN_STEP_FAILED);
  cr_expect_not_null(strstr(vin_sim_error(sim), "force"), "%s", vin_sim_error(sim));
  cr_expect_eq(vin_sim_state(sim).t, 0);
  cr_expect_leq(vin_sim_get_stats(sim).failures, 60);
  data.fail_time = HUGE_VAL;
  run(sim, 2);
  vin_sim_destroy(sim);
}

/* A fatal status is not answered with shorter steps. */
Test(control, fatal_failures_end_the_run) {
  pendulum data = sound();
  vin_options options = controlled(1e-8);
  vin_sim *sim = pendulum_sim(&data, &options);
  run(sim, 0.1);
  data.code = -1;
  data.fail_call = data.calls + 3;
  snapshot kept = take(sim);
  cr_expect_eq(vin_sim_run(sim, 1), VIN_ERR_CALLBACK);
  cr_expect(same(take(sim), kept));
  run(sim, 1);
  vin_sim_destroy(sim);
}

/* min_step: where the tolerance asks for less, the run says so; max_step bounds every step. */
static int longest(void *user, const vin_state_view *state) {
  double *last_and_most = user;
  double h = state->t - last_and_most[0];
  if (h > last_and_most[1]) last_and_most[1] = h;
  last_and_most[0] = state->t;
  return 0;
}

Test(control, smallest_and_largest_step) {
  pendulum data = sound();
  vin_options options = controlled(1e-10);
  options.min_step = 0.1;
  vin_sim *sim = pendulum_sim(&data, &options);
  snapshot kept = take(sim);
  cr_expect_eq(vin_sim_run(sim, 1), VIN_STEP_FAILED);
  cr_expect_not_null(strstr(vin_sim_error(sim), "min_step"), "%s", vin_sim_error(sim));
  cr_expect(same(take(sim), kept));
  vin_sim_destroy(sim);
  options = controlled(1e-3);
  options.max_step = 0.01;
  sim = pendulum_sim(&data, &options);
  double last_and_most[2] = {0, 0};
  cr_assert_eq(vin_sim_add_observer(sim, 1, longest, last_and_most), VIN_OK);
  run(sim, 1);
  cr_expect_leq(last_and_most[1], 0.01 * (1 + 1e-12));
  cr_expect_geq(last_and_most[1], 0.009, "the tolerance alone would allow more");
  vin_sim_destroy(sim);
}

/* Field report 38: 1e6 rad/s and a first step of 10 s: the control finds a step that fits, and the
 * angular velocity is kept; a min_step of 1 s makes it say that there is none. */
Test(control, a_hopeless_first_step) {
  test_mechanism *x = built(test_pendulum(0.3, 1e6));
  vin_options options = controlled(1e-8);
  options.step = 10;
  vin_sim *sim = sim_of(x, &options);
  run(sim, 1e-5); /* ten rad */
  vin_state_view end = vin_sim_state(sim);
  cr_expect_float_eq(atan2(end.p[0], -end.p[1]), remainder(0.3 + 10, 2 * acos(-1)), 1e-5);
  vin_sim_destroy(sim);
  options.min_step = 1;
  sim = sim_of(x, &options);
  double t = vin_sim_state(sim).t;
  cr_expect_eq(vin_sim_run(sim, 10), VIN_STEP_FAILED);
  cr_expect_eq(vin_sim_state(sim).t, t);
  vin_sim_destroy(sim);
  test_mechanism_free(x);
}

/* ---- time ---------------------------------------------------------------------------------------- */

/* Runs end on their t, whatever t is, also when it is much less than a step away. */
Test(control, runs_end_exactly) {
  pendulum data = sound();
  vin_options options = controlled(1e-6);
  vin_sim *sim = pendulum_sim(&data, &options);
  static const double ends[] = {0.1, 0.1 + 1e-7, 1.0 / 3, 0.7, 0.70001, 2.0 / 3 * 2};
  for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
    run(sim, ends[k]);
    cr_expect_eq(vin_sim_state(sim).t, ends[k]);
  }
  vin_sim_destroy(sim);
}

/* Many short runs cost little more than one long one: the step is not forgotten at the end of each. */
Test(control, the_step_survives_the_end_of_a_run) {
  pendulum data = sound();
  vin_options options = controlled(1e-9);
  vin_sim *one = pendulum_sim(&data, &options), *many = pendulum_sim(&data, &options);
  run(one, 10);
  for (int k = 1; k <= 20; k++) run(many, 0.5 * k);
  double ratio = (double)vin_sim_get_stats(many).steps / (double)vin_sim_get_stats(one).steps;
  cr_expect_leq(ratio, 1.2, "%g", ratio);
  vin_sim_destroy(one), vin_sim_destroy(many);
}

/* The pendulum does not know what time it is. Shifted by 1e6 s, where a rounding of t is 1.2e-10 s, the
 * steps are the same but for that rounding, which changes the error by a fraction of the tolerance. */
Test(control, a_shift_of_time_changes_nothing) {
  pendulum data = sound();
  vin_options options = controlled(1e-8);
  vin_sim *now = pendulum_sim(&data, &options);
  options.start_time = 1e6;
  vin_sim *then = pendulum_sim(&data, &options);
  run(now, 5);
  run(then, 1e6 + 5);
  cr_expect_eq(vin_sim_state(then).t, 1e6 + 5);
  cr_expect_float_eq(vin_sim_state(now).p[0], vin_sim_state(then).p[0], 1e-9);
  cr_expect_float_eq(vin_sim_state(now).p[1], vin_sim_state(then).p[1], 1e-9);
  int64_t difference = vin_sim_get_stats(now).steps - vin_sim_get_stats(then).steps;
  cr_expect_leq(llabs(difference), 2, "%lld, %lld", (long long)vin_sim_get_stats(now).steps,
                (long long)vin_sim_get_stats(then).steps);
  vin_sim_destroy(now), vin_sim_destroy(then);
}

/* Field report 18: level and at rest, 100 s; the circle holds to 1e-9 (1e-13 in fact). Reference: the energy,
 * which is that of the start, and the mirror image, which must be the mirrored motion bit for bit. */
Test(control, a_long_swing_stays_on_its_circle) {
  pendulum data = sound();
  vin_options options = controlled(1e-10);
  vin_sim *sim = pendulum_sim(&data, &options);
  run(sim, 100);
  vin_report report = vin_sim_report(sim);
  cr_expect_leq(report.position_residual, 1e-13);
  cr_expect_leq(report.velocity_residual, 1e-12);
  cr_expect_float_eq(report.energy, report.energy_start, 1e-6);
  vin_system *system = pendulum_system(NULL, &data);
  vin_sim *mirror = NULL;
  cr_assert_eq(vin_sim_create_from_system(&mirror, NULL, system, (double[]){-level[0], level[1]},
                                          rest, &options),
               VIN_OK);
  run(mirror, 100);
  cr_expect_eq(vin_sim_state(mirror).p[0], -vin_sim_state(sim).p[0]);
  cr_expect_eq(vin_sim_state(mirror).p[1], vin_sim_state(sim).p[1]);
  vin_sim_destroy(mirror);
  vin_system_destroy(system);
  vin_sim_destroy(sim);
}

/* ---- options -------------------------------------------------------------------------------------- */

static void refused(const vin_options *options, vin_status wanted, const char *word) {
  pendulum data = sound();
  vin_system *system = pendulum_system(NULL, &data);
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create_from_system(&sim, NULL, system, level, rest, options);
  cr_expect_eq(status, wanted, "%s: %s", word, vin_status_name(status));
  cr_expect_not_null(strstr(vin_sim_error(sim), word), "%s: %s", word, vin_sim_error(sim));
  vin_sim_destroy(sim);
  vin_system_destroy(system);
}

#define REFUSED(field, value, status, word)                                                        \
  do {                                                                                             \
    vin_options o = controlled(1e-6);                                                              \
    o.field = value;                                                                               \
    refused(&o, status, word);                                                                     \
  } while (0)

Test(control, bad_options) {
  REFUSED(relative_tolerance, NAN, VIN_ERR_BAD_INPUT, "relative_tolerance");
  REFUSED(absolute_tolerance, -1, VIN_ERR_BAD_INPUT, "absolute_tolerance");
  REFUSED(absolute_tolerance, 0, VIN_ERR_BAD_INPUT, "absolute_tolerance");
  REFUSED(method, VIN_METHOD_RATTLE, VIN_ERR_UNSUPPORTED, "error estimate");
  REFUSED(min_step, -1, VIN_ERR_BAD_INPUT, "min_step");
  REFUSED(max_step, INFINITY, VIN_ERR_BAD_INPUT, "max_step");
  REFUSED(projection_every, 0, VIN_ERR_BAD_INPUT, "projection_every");
  REFUSED(projection_drift, NAN, VIN_ERR_BAD_INPUT, "projection_drift");
  vin_options o = controlled(1e-6);
  o.min_step = 1, o.max_step = 0.5;
  refused(&o, VIN_ERR_BAD_INPUT, "in order");
}

/* Any allocation that fails is reported, and nothing is lost. */
Test(control, failing_allocations) {
  pendulum data = sound();
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_options options = controlled(1e-6);
    options.dense_output = 1;
    vin_system *system = pendulum_system(NULL, &data);
    vin_sim *sim = NULL;
    vin_status status = vin_sim_create_from_system(&sim, &context, system, level, rest, &options);
    cr_expect(status == VIN_OK || status == VIN_ERR_NO_MEMORY, "%s", vin_status_name(status));
    vin_recorder *recorder = NULL;
    vin_recorder_options wanted = vin_recorder_options_default();
    wanted.interval = 0.1;
    wanted.interpolate = 1;
    if (status == VIN_OK) {
      status = vin_recorder_create(&recorder, sim, &wanted);
      cr_expect(status == VIN_OK || status == VIN_ERR_NO_MEMORY);
      status = vin_sim_run(sim, 0.3);
      cr_expect(status == VIN_OK, "%s", vin_sim_error(sim));
    }
    vin_recorder_destroy(recorder);
    vin_sim_destroy(sim);
    vin_system_destroy(system);
    cr_assert_eq(allocator.live, 0, "%lld", (long long)k);
    if (allocator.calls < k) break;
  }
}

/* Every solver gives the same run, a constraint that moves included. */
Test(control, under_every_solver) {
  static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  test_mechanism *x = built(test_chain(10, 1, 1));
  vin_options options = controlled(1e-8);
  vin_sim *wanted = sim_of(x, &options);
  run(wanted, 1);
  for (int k = 0; k < 3; k++) {
    if (!vin_solver_available(solvers[k])) continue;
    options.solver = solvers[k];
    vin_sim *sim = sim_of(x, &options);
    run(sim, 1);
    cr_expect_leq(test_max_difference(x->n, vin_sim_state(sim).p, vin_sim_state(wanted).p), 1e-8);
    vin_sim_destroy(sim);
  }
  vin_sim_destroy(wanted);
  test_mechanism_free(x);
}
