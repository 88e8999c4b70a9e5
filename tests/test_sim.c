/* vin_sim: failures that leave no trace, the time grid. */
#include "test_sim_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- failed steps ------------------------------------------------------------------------ */

/* Field report: multipliers were not restored after a rejected step. The force fails in the 2nd
 * evaluation of a step or later, after much has been computed, in each way a callback can fail. */
Test(sim, failed_step_leaves_the_state_bit_for_bit) {
  const vin_method methods[] = {VIN_METHOD_RATTLE, VIN_METHOD_TAYLOR2, VIN_METHOD_EULER,
                                VIN_METHOD_RK4};
  const int codes[] = {0, 1, -1};
  for (int k = 0; k < 12; k++) {
    vin_options options = step_options(1e-2);
    options.method = methods[k / 3];
    pendulum data = sound();
    data.code = codes[k % 3];
    vin_sim *sim = pendulum_sim(&data, &options);
    cr_assert_eq(vin_sim_run(sim, 0.1), VIN_OK, "%s", vin_sim_error(sim));
    snapshot before = take(sim);
    data.fail_time = before.t - 1;
    for (int attempt = 0; attempt < 3; attempt++) {
      vin_status status = vin_sim_step(sim);
      cr_assert(data.code < 0 ? status == VIN_ERR_CALLBACK : status > 0, "method %d code %d: %s",
                k / 3, data.code, vin_status_name(status));
      cr_assert(same(before, take(sim)), "method %d code %d", k / 3, data.code);
      cr_assert(strstr(vin_sim_error(sim), "t = 0.1 s"), "%s", vin_sim_error(sim));
      cr_assert(strstr(vin_sim_error(sim), "force"), "%s", vin_sim_error(sim));
    }
    data.fail_time = INFINITY;
    cr_assert_eq(vin_sim_step(sim), VIN_OK, "%s", vin_sim_error(sim));
    cr_assert_float_eq(vin_sim_state(sim).t, 0.11, 1e-15);
    vin_sim_destroy(sim);
  }
}

/* After a failure the motion goes on as if it had not happened. 1e-12: the factorisation that
 * Newton's method is kept with may differ, which changes the last bits. */
Test(sim, motion_after_a_failure_is_the_same) {
  pendulum data = sound(), other = sound();
  vin_options options = step_options(1e-2);
  vin_sim *sim = pendulum_sim(&data, &options), *reference = pendulum_sim(&other, &options);
  cr_assert_eq(vin_sim_run(sim, 0.3), VIN_OK);
  data.fail_call = data.calls + 1;
  data.code = 1;
  cr_assert_gt(vin_sim_step(sim), VIN_OK);
  cr_assert_eq(vin_sim_run(sim, 1), VIN_OK);
  cr_assert_eq(vin_sim_run(reference, 1), VIN_OK);
  cr_assert_leq(test_max_difference(2, vin_sim_state(sim).p, vin_sim_state(reference).p), 1e-12);
  vin_sim_destroy(sim);
  vin_sim_destroy(reference);
}

/* Field report: 1 m pendulum, 1e6 rad/s, step 10 s. */
Test(sim, hopeless_step_is_a_failure_not_a_number) {
  vin_options options = step_options(10);
  pendulum data = sound();
  vin_sim *sim = pendulum_sim(&data, &options);
  const double fast[2] = {0, 1e6};
  cr_assert_eq(vin_sim_set_state(sim, 0, level, fast), VIN_OK);
  snapshot before = take(sim);
  vin_status status = vin_sim_step(sim);
  cr_assert_eq(status, VIN_STEP_FAILED, "%s: %s", vin_status_name(status), vin_sim_error(sim));
  cr_assert(same(before, take(sim)));
  cr_assert(strstr(vin_sim_error(sim), "h = 10 s"), "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
}

Test(sim, halvings_rescue_a_step_and_count_as_one) {
  pendulum data = sound();
  vin_options options = step_options(1e-2);
  options.max_halvings = 3;
  vin_sim *sim = pendulum_sim(&data, &options);
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  data.fail_call = data.calls + 1;
  data.code = 1;
  cr_assert_eq(vin_sim_step(sim), VIN_OK, "%s", vin_sim_error(sim));
  cr_assert_eq(vin_sim_state(sim).t, 2e-2);
  cr_assert_eq(vin_sim_report(sim).steps, 2);
  cr_assert_eq(vin_sim_get_stats(sim).failures, 1);
  cr_assert_eq(vin_sim_get_stats(sim).steps, 3); /* one whole, two halves */
  vin_sim_destroy(sim);
}

/* The force fails from t = 0.055 on: pieces up to there succeed, the whole step does not. */
Test(sim, failed_halvings_leave_the_last_whole_step) {
  pendulum data = sound();
  vin_options options = step_options(1e-2);
  options.max_halvings = 3;
  vin_sim *sim = pendulum_sim(&data, &options);
  cr_assert_eq(vin_sim_run(sim, 0.05), VIN_OK);
  snapshot before = take(sim);
  data.fail_time = 0.055;
  data.code = 1;
  cr_assert_gt(vin_sim_run(sim, 0.1), VIN_OK);
  cr_assert(same(before, take(sim)));
  cr_assert_eq(vin_sim_report(sim).steps, 5);
  const char *text = vin_sim_error(sim);
  cr_assert(strstr(text, "step 6") && strstr(text, "0.00125 s"), "%s", text);
  vin_sim_destroy(sim);
}

Test(sim, fatal_failure_is_not_retried) {
  pendulum data = sound();
  vin_options options = step_options(1e-2);
  options.max_halvings = 5;
  vin_sim *sim = pendulum_sim(&data, &options);
  data.fail_time = 0;
  data.code = -1;
  cr_assert_eq(vin_sim_step(sim), VIN_ERR_CALLBACK);
  cr_assert_eq(vin_sim_get_stats(sim).failures, 1);
  vin_sim_destroy(sim);
}

/* ---- time -------------------------------------------------------------------------------- */

Test(sim, run_lands_exactly) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  cr_assert_eq(vin_sim_run(sim, 1), VIN_OK);
  cr_assert_eq(vin_sim_state(sim).t, 1.0);
  cr_assert_eq(vin_sim_report(sim).steps, 100);
  cr_assert_eq(vin_sim_run(sim, 1.025), VIN_OK); /* 2 whole and a half one */
  cr_assert_eq(vin_sim_state(sim).t, 1.025);
  cr_assert_eq(vin_sim_report(sim).steps, 103);
  cr_assert_eq(vin_sim_step(sim), VIN_OK); /* a new grid starts there */
  cr_assert_eq(vin_sim_state(sim).t, 1.025 + 0.01);
  cr_assert_eq(vin_sim_run(sim, vin_sim_state(sim).t), VIN_OK); /* nothing to do */
  cr_assert_eq(vin_sim_report(sim).steps, 104);
  cr_assert_eq(vin_sim_run(sim, 1.0351), VIN_OK); /* less than a step */
  cr_assert_eq(vin_sim_report(sim).steps, 105);
  vin_sim_destroy(sim);
}

/* A run of 50 ms is a run, however long the step that was asked for: once, less than 1e-9 of a step
 * counted as rounding, and time went on without the motion. */
Test(sim, run_may_be_far_shorter_than_the_step) {
  pendulum data = sound();
  vin_options options = step_options(1e9), same_options = step_options(0.05);
  vin_sim *sim = pendulum_sim(&data, &options), *other = pendulum_sim(&data, &same_options);
  cr_assert_eq(vin_sim_run(sim, 0.05), VIN_OK, "%s", vin_sim_error(sim));
  cr_assert_eq(vin_sim_run(other, 0.05), VIN_OK);
  cr_assert_eq(vin_sim_report(sim).steps, 1);
  cr_assert(same(take(sim), take(other)));
  vin_sim_destroy(sim);
  vin_sim_destroy(other);
}

/* 0.1 k in binary is not k times the step: neither steps nor bits may depend on how a run is cut.
 */
Test(sim, many_runs_are_one_run) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *pieces = pendulum_sim(&data, &options), *whole = pendulum_sim(&data, &options);
  for (int k = 1; k <= 30; k++) {
    cr_assert_eq(vin_sim_run(pieces, 0.1 * k), VIN_OK);
    cr_assert_eq(vin_sim_state(pieces).t, 0.1 * k);
  }
  cr_assert_eq(vin_sim_run(whole, 0.1 * 30), VIN_OK);
  cr_assert_eq(vin_sim_report(pieces).steps, 300);
  snapshot a = take(pieces), b = take(whole);
  cr_assert_arr_eq(a.p, b.p, sizeof a.p);
  cr_assert_arr_eq(a.v, b.v, sizeof a.v);
  vin_sim_destroy(pieces);
  vin_sim_destroy(whole);
}

Test(sim, time_does_not_accumulate_rounding) {
  pendulum data = sound();
  vin_options options = step_options(1e-3);
  vin_sim *sim = pendulum_sim(&data, &options);
  for (int k = 1; k <= 5000; k++) {
    cr_assert_eq(vin_sim_step(sim), VIN_OK);
    cr_assert_eq(vin_sim_state(sim).t, k * 1e-3);
  }
  vin_sim_destroy(sim);
}

Test(sim, impossible_times_are_refused) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK);
  snapshot before = take(sim);
  const double wrong[] = {NAN, INFINITY, 0.4, -1, 1e300};
  for (int k = 0; k < 5; k++) cr_assert_eq(vin_sim_run(sim, wrong[k]), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_run(sim, 0.4), VIN_ERR_BAD_INPUT);
  cr_assert(strstr(vin_sim_error(sim), "past"), "%s", vin_sim_error(sim));
  const double steps[] = {NAN, INFINITY, 0, -0.1, 1e-18};
  for (int k = 0; k < 5; k++) cr_assert_eq(vin_sim_set_step(sim, steps[k]), VIN_ERR_BAD_INPUT);
  const double bad[2] = {NAN, 0};
  cr_assert_eq(vin_sim_set_state(sim, NAN, level, rest), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_set_state(sim, 0, bad, rest), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_set_state(sim, 0, level, bad), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_set_state(sim, 0, NULL, rest), VIN_ERR_BAD_INPUT);
  cr_assert(same(before, take(sim)));
  vin_sim_destroy(sim);
}

/* 1 / step would overflow, and the multipliers of rattle become NaN. */
Test(sim, steps_near_the_smallest_number_are_refused) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  cr_assert_eq(vin_sim_set_step(sim, 1e-308), VIN_ERR_BAD_INPUT);
  cr_assert(strstr(vin_sim_error(sim), "too small"), "%s", vin_sim_error(sim));
  cr_assert_eq(vin_sim_set_step(sim, 1e-280), VIN_OK);
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  cr_assert(isfinite(vin_sim_state(sim).lambda[0]));
  vin_sim_destroy(sim);
}

/* Nothing depends on t: the motion far from t = 0 is the same. 1e-12: what the last bits of an end
 * time may change. */
Test(sim, far_from_time_zero_the_motion_is_the_same) {
  pendulum data = sound();
  vin_options near = step_options(1e-3), far = near;
  far.start_time = 1e6;
  vin_sim *a = pendulum_sim(&data, &near), *b = pendulum_sim(&data, &far);
  cr_assert_eq(vin_sim_run(a, 1.5), VIN_OK);
  cr_assert_eq(vin_sim_run(b, 1e6 + 1.5), VIN_OK, "%s", vin_sim_error(b));
  cr_assert_eq(vin_sim_state(b).t, 1e6 + 1.5);
  cr_assert_eq(vin_sim_report(b).steps, 1500);
  cr_assert_leq(test_max_difference(2, vin_sim_state(a).p, vin_sim_state(b).p), 1e-12);
  cr_assert_leq(test_max_difference(2, vin_sim_state(a).v, vin_sim_state(b).v), 1e-12);
  vin_sim_destroy(a);
  vin_sim_destroy(b);
}

Test(sim, step_and_state_may_be_changed) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  cr_assert_eq(vin_sim_run(sim, 0.05), VIN_OK);
  cr_assert_eq(vin_sim_set_step(sim, 0.002), VIN_OK);
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  cr_assert_eq(vin_sim_state(sim).t, 0.05 + 0.002);
  /* a new start: hanging, moving with 2 m/s, so E = 2 - 9.81 J and the rod carries 9.81 + 4 N */
  const double hanging[2] = {0, -1}, sideways[2] = {2, 0};
  cr_assert_eq(vin_sim_set_state(sim, 7, hanging, sideways), VIN_OK);
  vin_report report = vin_sim_report(sim);
  cr_assert_eq(report.time, 7);
  cr_assert_float_eq(report.energy_start, 2 - 9.81, 1e-12);
  cr_assert_float_eq(vin_sim_state(sim).lambda[0], 13.81, 1e-10);
  vin_state_view view = vin_sim_state(sim);
  cr_assert_eq(vin_sim_set_state(sim, 8, view.p, view.v), VIN_OK); /* its own arrays */
  cr_assert_eq(vin_sim_state(sim).v[0], 2);
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  cr_assert_eq(vin_sim_state(sim).t, 8.002);
  vin_sim_destroy(sim);
}

/* ---- what others see ----------------------------------------------------------------------- */

typedef struct seen {
  int calls;
  double last;
} seen;

static int look(void *user, const vin_state_view *state) {
  seen *s = user;
  s->calls++;
  s->last = state->t;
  return 0;
}

static int stop(void *user, const vin_state_view *state) {
  (void)user, (void)state;
  return 1;
}

/* 10 * 0.1 is not the sum of ten steps of 0.1: an observer sees the time that was asked for. */
Test(sim, observers_see_the_exact_end_time) {
  pendulum data = sound();
  vin_options options = step_options(0.1 / 3);
  vin_sim *sim = pendulum_sim(&data, &options);
  seen s = {0};
  cr_assert_eq(vin_sim_add_observer(sim, 1, look, &s), VIN_OK);
  for (int k = 1; k <= 20; k++) {
    cr_assert_eq(vin_sim_run(sim, 0.1 * k), VIN_OK);
    cr_assert_eq(s.last, 0.1 * k, "run %d ends at %.17g", k, s.last);
  }
  cr_assert_eq(s.calls, 60);
  vin_sim_destroy(sim);
}

Test(sim, all_observers_see_the_step_that_one_of_them_stops) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  seen s = {0};
  cr_assert_eq(vin_sim_add_observer(sim, 1, stop, NULL), VIN_OK);
  cr_assert_eq(vin_sim_add_observer(sim, 1, look, &s), VIN_OK);
  cr_assert_eq(vin_sim_run(sim, 1), VIN_INTERRUPTED);
  cr_assert_eq(s.calls, 1);
  cr_assert_eq(s.last, 0.01);
  vin_sim_destroy(sim);
}

/* A dumbbell of 1 kg and 2 kg that flies and turns: P = sum m v, L = sum m x cross v. */
Test(sim, report_holds_the_momenta) {
  vin_model *model = vin_model_create(NULL);
  vin_node a = vin_model_add_node(
      model, &(vin_node_desc){.position = {1, 0, 0}, .velocity = {3, 1, 0}, .mass = 1});
  vin_node b = vin_model_add_node(
      model, &(vin_node_desc){.position = {2, 0, 0}, .velocity = {3, 2, 0.5}, .mass = 2});
  vin_model_add_rod(model, &(vin_rod_desc){.a = a, .b = b});
  vin_options options = step_options(1e-3);
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  const double linear[3] = {9, 5, 1}, angular[3] = {0, -2, 9};
  for (int k = 0; k < 2; k++) { /* nothing acts from outside: 1e-12 for a thousand roundings */
    vin_report report = vin_sim_report(sim);
    cr_assert_leq(test_max_difference(3, report.linear_momentum, linear), 1e-12);
    cr_assert_leq(test_max_difference(3, report.angular_momentum, angular), 1e-12);
    cr_assert_eq(vin_sim_run(sim, 1), VIN_OK);
  }
  vin_sim_destroy(sim);
}

/* ---- overflow ------------------------------------------------------------------------------ */

static int unit_mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)user, (void)t, (void)p, (void)v;
  values[0] = 1;
  return 0;
}

static int huge_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)p, (void)v;
  f[0] = 1e300;
  return 0;
}

/* A force that knows nothing of p and v can't complain about them: infinite ones are found, and not
 * accepted, all the same. */
Test(sim, an_overflow_is_not_accepted) {
  const vin_int zero[] = {0};
  const double still[] = {0};
  const vin_method methods[] = {VIN_METHOD_RATTLE, VIN_METHOD_TAYLOR2, VIN_METHOD_EULER,
                                VIN_METHOD_RK4};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 1;
  desc.flags = VIN_MASS_CONSTANT;
  desc.mass_pattern = (vin_triplets){1, zero, zero};
  desc.mass = unit_mass, desc.force = huge_force;
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK);
  for (int k = 0; k < 4; k++) {
    vin_options options = step_options(1e10);
    options.method = methods[k];
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, still, still, &options), VIN_OK);
    cr_assert_eq(vin_sim_step(sim), VIN_STEP_FAILED, "%s", vin_method_name(methods[k]));
    cr_assert_eq(vin_sim_state(sim).t, 0);
    cr_assert_eq(vin_sim_state(sim).p[0], 0);
    cr_assert_eq(vin_sim_state(sim).v[0], 0);
    vin_sim_destroy(sim);
  }
  vin_system_destroy(system);
}
