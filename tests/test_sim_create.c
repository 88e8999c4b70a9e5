/* vin_sim: creation, observers, reports. */
#include "test_sim_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- creation ---------------------------------------------------------------------------- */

static void expect_refused(vin_options options, const char *word) {
  pendulum data = sound();
  vin_system *system = pendulum_system(NULL, &data);
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create_from_system(&sim, NULL, system, level, rest, &options);
  cr_assert_eq(status, VIN_ERR_BAD_INPUT, "%s: %s", word, vin_status_name(status));
  cr_assert(strstr(vin_sim_error(sim), word), "'%s' lacks '%s'", vin_sim_error(sim), word);
  cr_assert_eq(vin_sim_step(sim), VIN_ERR_BAD_STATE);
  cr_assert_eq(vin_sim_report(sim).status, VIN_ERR_BAD_STATE);
  vin_sim_destroy(sim);
  vin_system_destroy(system);
}

Test(sim_create, options_are_checked) {
  vin_options o = vin_options_default();
  const double wrong_steps[] = {0, -1e-3, NAN, INFINITY};
  for (int k = 0; k < 4; k++) {
    o.step = wrong_steps[k];
    expect_refused(o, "step is");
  }
  o = vin_options_default();
  o.start_time = 1e6;
  o.step = 1e-12; /* 1e6 + 1e-12 == 1e6 */
  expect_refused(o, "too small");
  o = vin_options_default(), o.start_time = NAN;
  expect_refused(o, "start_time");
  o = vin_options_default(), o.max_halvings = -1;
  expect_refused(o, "max_halvings");
  o = vin_options_default(), o.max_halvings = 31;
  expect_refused(o, "max_halvings");
  o = vin_options_default(), o.max_sweeps = 0;
  expect_refused(o, "max_sweeps");
  o = vin_options_default(), o.position_tolerance = NAN;
  expect_refused(o, "position_tolerance");
  o = vin_options_default(), o.velocity_tolerance = -1;
  expect_refused(o, "velocity_tolerance");
  o = vin_options_default(), o.method = (vin_method)77;
  expect_refused(o, "method");
  o = vin_options_default(), o.projection = (vin_projection)9;
  expect_refused(o, "projection");
  o = vin_options_default(), o.struct_size = 3;
  expect_refused(o, "struct_size");
}

Test(sim_create, start_values_are_checked) {
  pendulum data = sound();
  vin_system *system = pendulum_system(NULL, &data);
  const double bad[2] = {1, NAN};
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, bad, rest, NULL), VIN_ERR_BAD_INPUT);
  cr_assert(strstr(vin_sim_error(sim), "position 'position 1'"), "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, level, bad, NULL), VIN_ERR_BAD_INPUT);
  cr_assert(strstr(vin_sim_error(sim), "velocity of 'position 1'"), "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, NULL, rest, NULL), VIN_ERR_BAD_INPUT);
  vin_sim_destroy(sim);
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, NULL, level, rest, NULL), VIN_ERR_BAD_INPUT);
  vin_sim_destroy(sim);
  vin_system_destroy(system);
}

Test(sim_create, null_is_accepted_or_refused_but_never_used) {
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_create(&sim, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_neq(vin_sim_error(sim)[0], '\0');
  vin_sim_destroy(sim);
  vin_sim_destroy(NULL);
  cr_assert_eq(vin_sim_step(NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_run(NULL, 1), VIN_ERR_BAD_INPUT);
  cr_assert_not_null(vin_sim_error(NULL));
  cr_assert_null(vin_sim_state(NULL).p);
  cr_assert_eq(vin_sim_report(NULL).status, VIN_ERR_BAD_INPUT);
  cr_assert_null(vin_sim_system(NULL));
  cr_assert_null(vin_sim_kkt(NULL));
  vin_sim_set_progress(NULL, NULL, NULL);
}

Test(sim_create, error_of_the_model_is_carried_over) {
  vin_model *model = vin_model_create(NULL);
  vin_model_add_node(model, &(vin_node_desc){.position = {1, 0, 0}, .name = "weightless"});
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_str_eq(vin_sim_error(sim), vin_model_error(model));
  cr_assert(strstr(vin_sim_error(sim), "weightless"), "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
  vin_model_destroy(model);
}

/* The start 10 % off the circle: moved onto it, or left alone when asked to. */
Test(sim_create, start_is_made_consistent_on_request) {
  pendulum data = sound();
  vin_system *system = pendulum_system(NULL, &data);
  const double off[2] = {1.1, 0}, outwards[2] = {0.5, 2};
  vin_options options = vin_options_default();
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, off, outwards, &options), VIN_OK);
  vin_report report = vin_sim_report(sim);
  cr_assert_leq(report.position_residual, 1e-13);
  cr_assert_leq(report.velocity_residual, 1e-13);
  cr_assert_float_eq(vin_sim_start_report(sim).position_before, 0.105, 1e-12);
  cr_assert_float_eq(report.energy_start, 2, 1e-12); /* v = (0, 2) at height 0 */
  vin_sim_destroy(sim);

  options.fix_start = 0;
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, off, outwards, &options), VIN_OK);
  cr_assert_eq(vin_sim_state(sim).p[0], 1.1);
  cr_assert_eq(vin_sim_state(sim).v[0], 0.5);
  cr_assert_float_eq(vin_sim_report(sim).position_residual, 0.105, 1e-12);
  vin_sim_destroy(sim);
  vin_system_destroy(system);
}

/* An energy that cannot be told at the start is an error of the start, with the callback's name; one that
 * cannot be told later costs the report its energy and the text says why. */
Test(sim_create, potential_that_fails_is_named) {
  const int codes[] = {-7, 1}, expected[] = {VIN_ERR_CALLBACK, VIN_RETRY};
  for (int k = 0; k < 2; k++) {
    pendulum data = sound();
    data.potential_code = codes[k], data.potential_time = -1;
    vin_system *system = pendulum_system(NULL, &data);
    vin_sim *sim = NULL;
    vin_status status = vin_sim_create_from_system(&sim, NULL, system, level, rest, NULL);
    cr_expect_eq((int)status, expected[k], "%s", vin_status_name(status));
    cr_expect(strstr(vin_sim_error(sim), "potential callback"), "%s", vin_sim_error(sim));
    vin_sim_destroy(sim);

    data.potential_time = 0.0095;
    cr_assert_eq(vin_sim_create_from_system(&sim, NULL, system, level, rest, NULL), VIN_OK);
    cr_expect_eq(vin_sim_run(sim, 0.01), VIN_OK);
    vin_report report = vin_sim_report(sim);
    cr_expect(isnan(report.energy) && report.status == VIN_OK);
    cr_expect_float_eq(report.energy_start, 0, 1e-15);
    cr_expect(strstr(vin_sim_error(sim), "potential callback"), "%s", vin_sim_error(sim));
    snapshot before = take(sim);
    status = vin_sim_set_state(sim, 1, level, rest);
    cr_expect_eq((int)status, expected[k], "%s", vin_status_name(status));
    cr_expect(same(before, take(sim)));
    cr_expect_eq(vin_sim_set_state(sim, 0, level, rest), VIN_OK);
    cr_expect_float_eq(vin_sim_report(sim).energy, 0, 1e-15);
    vin_sim_destroy(sim);
    vin_system_destroy(system);
  }
}

/* Forgotten positions: at the origin the rod's gradient is zero. */
Test(sim_create, start_without_a_gradient_says_so) {
  pendulum data = sound();
  vin_system *system = pendulum_system(NULL, &data);
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create_from_system(&sim, NULL, system, rest, rest, NULL);
  cr_expect_eq(status, VIN_INFEASIBLE, "%s", vin_status_name(status));
  cr_expect(strstr(vin_sim_error(sim), "row of the Jacobian is zero"), "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
  vin_system_destroy(system);
}

/* Two rods of 1 m between points 3 m apart. */
Test(sim_create, impossible_start_is_a_status_with_text) {
  vin_model *model = vin_model_create(NULL);
  vin_node a = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  vin_node b = vin_model_add_node(model, &(vin_node_desc){.position = {1.4, 0.3, 0}, .mass = 1});
  vin_node c = vin_model_add_node(model, &(vin_node_desc){.position = {3, 0, 0}, .fixed = 1});
  vin_model_add_rod(model, &(vin_rod_desc){.a = a, .b = b, .length = 1});
  vin_model_add_rod(model, &(vin_rod_desc){.a = b, .b = c, .length = 1});
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create(&sim, model, NULL);
  cr_assert_gt(status, VIN_OK, "%s", vin_status_name(status));
  cr_assert(strstr(vin_sim_error(sim), "consistent"), "%s", vin_sim_error(sim));
  cr_assert_eq(vin_sim_step(sim), VIN_ERR_BAD_STATE);
  vin_sim_destroy(sim);
  vin_model_destroy(model);
}

/* Field report: repeated creation leaks, or the second one fails. */
Test(sim_create, thousand_sims_leave_nothing_behind) {
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  for (int k = 0; k < 1000; k++) {
    vin_model *model = chain_model(&context, 2);
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create(&sim, model, NULL), VIN_OK, "%s", vin_sim_error(sim));
    vin_model_destroy(model);
    cr_assert_eq(vin_sim_step(sim), VIN_OK, "%s", vin_sim_error(sim));
    vin_sim_destroy(sim);
    cr_assert_eq(allocator.live, 0);
  }
}

Test(sim_create, every_allocation_may_fail) {
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_model *model = chain_model(&context, 3);
    allocator.fail_at = allocator.calls + k;
    vin_sim *sim = NULL;
    vin_status status = vin_sim_create(&sim, model, NULL);
    bool failed = allocator.calls >= allocator.fail_at;
    if (failed) cr_assert_eq(status, VIN_ERR_NO_MEMORY, "%s", vin_status_name(status));
    if (!failed) cr_assert_eq(status, VIN_OK, "%s", vin_sim_error(sim));
    cr_assert(sim == NULL || (vin_sim_error(sim)[0] == '\0') == !failed);
    vin_sim_destroy(sim);
    vin_model_destroy(model);
    cr_assert_eq(allocator.live, 0, "failing allocation %lld", (long long)k);
    if (!failed) break;
  }
}

Test(sim_create, nothing_is_allocated_after_create) {
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  vin_model *model = chain_model(&context, 5);
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, NULL), VIN_OK);
  vin_model_destroy(model);
  int64_t calls = allocator.calls;
  cr_assert_eq(vin_sim_run(sim, 0.02), VIN_OK);
  vin_sim_report(sim);
  cr_assert_eq(allocator.calls, calls);
  vin_sim_destroy(sim);
}

/* ---- observers and progress -------------------------------------------------------------- */

typedef struct watcher {
  vin_sim *sim;
  int calls;
  double last;
  double stop_at;
  vin_status inside; /* what a step from inside returned */
} watcher;

static int watch(void *user, const vin_state_view *state) {
  watcher *w = user;
  w->calls++;
  w->last = state->t;
  w->inside = vin_sim_step(w->sim);
  return state->t >= w->stop_at;
}

Test(sim_create, observers_see_accepted_steps_and_may_stop) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  watcher each = {.sim = sim, .stop_at = INFINITY}, third = {.sim = sim, .stop_at = 0.25};
  cr_assert_eq(vin_sim_add_observer(sim, 1, watch, &each), VIN_OK);
  cr_assert_eq(vin_sim_add_observer(sim, 3, watch, &third), VIN_OK);
  cr_assert_eq(vin_sim_run(sim, 0.1), VIN_OK);
  cr_assert_eq(each.calls, 10);
  cr_assert_eq(each.last, 0.1);
  cr_assert_eq(third.calls, 3);
  cr_assert_eq(each.inside, VIN_ERR_BAD_STATE);
  cr_assert_eq(vin_sim_run(sim, 1), VIN_INTERRUPTED);
  cr_assert_eq(vin_sim_state(sim).t, 27 * 0.01); /* the 27th step is the first after 0.25 s */
  cr_assert_eq(each.last, 27 * 0.01);
  cr_assert(strstr(vin_sim_error(sim), "observer 1"), "%s", vin_sim_error(sim));
  cr_assert_eq(vin_sim_add_observer(sim, 0, watch, &each), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_sim_add_observer(sim, 1, NULL, &each), VIN_ERR_BAD_INPUT);
  for (int k = 2; k < 8; k++) cr_assert_eq(vin_sim_add_observer(sim, 1, watch, &each), VIN_OK);
  cr_assert_eq(vin_sim_add_observer(sim, 1, watch, &each), VIN_ERR_BAD_INPUT);
  vin_sim_destroy(sim);
}

typedef struct progress {
  int calls;
  double last, stop_at;
} progress;

static int follow(void *user, double done) {
  progress *p = user;
  cr_assert_gt(done, p->last);
  p->calls++;
  p->last = done;
  return done >= p->stop_at;
}

Test(sim_create, progress_is_told_about_a_hundred_times) {
  pendulum data = sound();
  vin_options options = step_options(1e-3);
  vin_sim *sim = pendulum_sim(&data, &options);
  progress p = {.stop_at = 2};
  vin_sim_set_progress(sim, follow, &p);
  cr_assert_eq(vin_sim_run(sim, 2), VIN_OK);
  cr_assert(p.calls >= 90 && p.calls <= 101, "%d", p.calls);
  cr_assert_eq(p.last, 1.0);
  p = (progress){.stop_at = 0.5};
  cr_assert_eq(vin_sim_run(sim, 4), VIN_INTERRUPTED);
  cr_assert_float_eq(vin_sim_state(sim).t, 3, 0.03);
  vin_sim_destroy(sim);
}

/* ---- reports ----------------------------------------------------------------------------- */

Test(sim_create, report_of_a_pendulum) {
  pendulum data = sound();
  vin_options options = step_options(1e-3);
  vin_sim *sim = pendulum_sim(&data, &options);
  double vdot[2], lambda[1];
  /* level and at rest: free fall, no force in the rod */
  cr_assert_eq(vin_sim_accelerations(sim, vdot, lambda), VIN_OK);
  cr_assert_float_eq(vdot[1], -9.81, 1e-13);
  cr_assert_float_eq(lambda[0], 0, 1e-13);
  cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK);
  snapshot before = take(sim);
  vin_report report = vin_sim_report(sim);
  cr_assert(same(before, take(sim)));
  cr_assert_eq(report.status, VIN_OK);
  cr_assert_eq(report.time, 0.5);
  double kinetic = 0.5 * (before.v[0] * before.v[0] + before.v[1] * before.v[1]);
  cr_assert_float_eq(report.kinetic, kinetic, 1e-14 * kinetic);
  cr_assert_float_eq(report.potential, 9.81 * before.p[1], 1e-13);
  cr_assert_leq(report.position_residual, 1e-13);
  cr_assert_leq(report.dae_residual, 1e-13);
  /* centripetal force and weight along the rod */
  cr_assert_float_eq(report.max_multiplier, 2 * kinetic - 9.81 * before.p[1], 1e-10);
  cr_assert(isnan(report.linear_momentum[0]) && isnan(report.angular_momentum[2]));
  vin_sim_destroy(sim);
}

/* rattle is of order 2, and so is its energy error: half the step, a quarter of it (within 10 %).
 */
Test(sim_create, energy_error_is_of_order_two) {
  double error[2];
  for (int k = 0; k < 2; k++) {
    pendulum data = sound();
    vin_options options = step_options(k == 0 ? 2e-3 : 1e-3);
    vin_sim *sim = pendulum_sim(&data, &options);
    cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK);
    vin_report report = vin_sim_report(sim);
    error[k] = report.energy - report.energy_start;
    cr_assert_eq(report.energy_start, 0);
    vin_sim_destroy(sim);
  }
  cr_assert_float_eq(error[0] / error[1], 4, 0.4, "%g %g", error[0], error[1]);
}

/* A caller who first looks at the report and then prints the text sees why the run failed. */
Test(sim_create, report_keeps_the_text_of_a_failed_run) {
  pendulum data = sound();
  vin_options options = step_options(0.01);
  vin_sim *sim = pendulum_sim(&data, &options);
  data.fail_time = -1;
  data.code = 1;
  cr_assert_gt(vin_sim_run(sim, 1), VIN_OK);
  vin_report report = vin_sim_report(sim); /* needs the force too, so it fails as well */
  cr_assert_gt(report.status, VIN_OK);
  cr_assert(isnan(report.dae_residual));
  cr_assert_eq(report.kinetic, 0); /* what does not need the force is there */
  cr_assert(strstr(vin_sim_error(sim), "step 1 from t = 0 s"), "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
}

Test(sim_create, model_with_many_rods_runs) {
  vin_model *model = chain_model(NULL, 20);
  vin_options options = step_options(1e-3);
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK, "%s", vin_sim_error(sim));
  vin_report report = vin_sim_report(sim);
  cr_assert_leq(report.position_residual, 1e-12);
  cr_assert_leq(report.velocity_residual, 1e-12);
  cr_assert_lt(fabs(report.energy - report.energy_start), 1e-3 * report.kinetic);
  cr_assert_not_null(vin_sim_kkt(sim));
  cr_assert_eq(vin_system_positions(vin_sim_system(sim)), 60);
  cr_assert_eq(vin_sim_get_stats(sim).solver.symbolic, 1);
  vin_sim_destroy(sim);
}
