/* How runs of backward Euler and BDF2 end: every outcome, the accepted prefix, failures. */
#include "dae_problems.h"
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_outcomes);

static vin_stepper *stepper_of(vin_dae *dae) {
  vin_stepper *stepper = NULL;
  vin_status status = vin_stepper_create(&stepper, NULL, dae, NULL);
  cr_assert_eq(status, VIN_OK, "%s", vin_stepper_error(stepper));
  return stepper;
}

typedef struct scene {
  test_pairs p;
  vin_dae *dae;
  vin_stepper *stepper;
  vin_grid_run run;
  vin_grid_report report;
  double states[2 * 21], y[2];
} scene;

/* One pair, 20 steps of 0.05. */
static scene *scene_of(test_pairs p, vin_dae_method method) {
  scene *s = calloc(1, sizeof *s);
  s->p = p;
  s->dae = test_pairs_dae(&s->p, true, NULL);
  s->stepper = stepper_of(s->dae);
  s->run = test_pairs_run(&s->p, method, 0.05, 20);
  s->run.states = s->states;
  return s;
}

static void expect(scene *s, vin_outcome outcome, vin_status status, const char *words) {
  vin_status got = vin_stepper_run(s->stepper, &s->run, s->y, &s->report);
  const char *text = vin_stepper_error(s->stepper);
  cr_expect_eq(got, status, "%s: %s: %s", words, vin_status_name(got), text);
  cr_expect_eq(s->report.outcome, outcome, "%s: %s: %s", words, vin_outcome_name(s->report.outcome),
               text);
  cr_expect(strstr(text, words) != NULL, "\"%s\" lacks \"%s\"", text, words);
}

static void scene_free(scene *s) {
  free((void *)s->run.y0);
  vin_stepper_destroy(s->stepper);
  vin_dae_destroy(s->dae);
  test_pairs_free(&s->p);
  free(s);
}

Test(dae_outcomes, grids_are_refused) {
  NEEDS_UMFPACK;
  scene *s = scene_of((test_pairs){.pairs = 1}, VIN_DAE_BDF2);
  vin_grid_run good = s->run;
  static const double bad_steps[] = {0, -0.1, NAN, INFINITY};
  for (int k = 0; k < 4; k++) {
    s->run.h = bad_steps[k];
    expect(s, VIN_OUTCOME_INVALID_GRID, VIN_ERR_BAD_INPUT, "h must be > 0");
    cr_expect_eq(s->report.accepted, -1);
  }
  s->run = good, s->run.steps = 1;
  expect(s, VIN_OUTCOME_INVALID_GRID, VIN_ERR_BAD_INPUT, "at least 2");
  s->run.method = VIN_DAE_BACKWARD_EULER, s->run.steps = 0;
  expect(s, VIN_OUTCOME_INVALID_GRID, VIN_ERR_BAD_INPUT, "at least 1");
  s->run = good, s->run.t0 = 1e15; /* times are 0.125 apart there */
  expect(s, VIN_OUTCOME_INVALID_GRID, VIN_ERR_BAD_INPUT, "too small");
  s->run.t0 = NAN;
  expect(s, VIN_OUTCOME_INVALID_GRID, VIN_ERR_BAD_INPUT, "nan");
  cr_expect_eq(s->p.function_calls, 0); /* nothing was evaluated */
  scene_free(s);
}

Test(dae_outcomes, inputs_are_refused) {
  NEEDS_UMFPACK;
  scene *s = scene_of((test_pairs){.pairs = 1, .wall = 0.1}, VIN_DAE_BDF2);
  vin_grid_run good = s->run;
  const double outside[2] = {0.05, 1}, bad[2] = {1, NAN};
#define REFUSED(change, words)                                                                     \
  s->run = good, change, expect(s, VIN_OUTCOME_INVALID_INPUT, VIN_ERR_BAD_INPUT, words)
  REFUSED(s->run.y0 = NULL, "y0 is NULL");
  REFUSED(s->run.y1 = NULL, "y1 is NULL");
  REFUSED(s->run.y0 = bad, "unknown 1 is nan");
  REFUSED(s->run.y0 = outside, "y0 is outside");
  REFUSED(s->run.y1 = outside, "y1 is outside");
  REFUSED(s->run.derivative_tolerance = 0, "derivative_tolerance is 0");
  REFUSED(s->run.algebraic_tolerance = -1, "algebraic_tolerance -1");
  REFUSED(s->run.budget = -1, "budget is -1");
  REFUSED(s->run.start_tolerance[1] = NAN, "start_tolerance[1]");
  REFUSED(s->run.method = (vin_dae_method)7, "method 7");
  REFUSED(s->run.struct_size = 4, "struct_size");
#undef REFUSED
  cr_expect_eq(s->p.function_calls, 0);
  cr_expect_eq(vin_stepper_run(s->stepper, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_stepper_run(NULL, &good, NULL, NULL), VIN_ERR_BAD_INPUT);
  scene_free(s);
}

Test(dae_outcomes, inconsistent_starts_are_reported_not_used) {
  NEEDS_UMFPACK;
  for (int k = 0; k < 2; k++) {
    scene *s = scene_of((test_pairs){.pairs = 1}, VIN_DAE_BDF2);
    double wrong[2];
    memcpy(wrong, k ? s->run.y1 : s->run.y0, sizeof wrong);
    wrong[1] += 1e-3; /* g grows by 4e-3: g_z = 1 + 3 z^2 = 4 */
    if (k) s->run.y1 = wrong;
    if (!k) s->run.y0 = wrong, s->p.code = 0;
    double *starts = (double *)(k ? s->run.y0 : s->run.y1 - 2);
    expect(s, VIN_OUTCOME_INCONSISTENT, VIN_ERR_BAD_INPUT, k ? "y1 is not" : "y0 is not");
    cr_expect_float_eq(s->report.start_residual[k], 4e-3, 1e-3);
    cr_expect_eq(s->report.accepted, -1);
    s->run.start_tolerance[k] = 1e-2;
    expect(s, VIN_OUTCOME_COMPLETED, VIN_OK, "");
    s->run.y0 = starts;
    scene_free(s);
  }
}

/* g_z = 0, declared as index 1 by default; the coupled matrix would be regular. */
Test(dae_outcomes, a_higher_index_is_refused) {
  NEEDS_UMFPACK;
  scene *s = scene_of((test_pairs){.pairs = 1, .singular = true}, VIN_DAE_BACKWARD_EULER);
  s->run.start_tolerance[0] = 10;
  expect(s, VIN_OUTCOME_INVALID_INPUT, VIN_ERR_BAD_INPUT, "g_z");
  if (vini_rank_available())
    cr_expect(
        strstr(vin_stepper_error(s->stepper), "index 1, but the index is not 1: g_z has rank 0"),
        "%s", vin_stepper_error(s->stepper));
  cr_expect_eq(s->report.accepted, -1);
  scene_free(s);
}

Test(dae_outcomes, problems_that_do_not_fit_are_refused) {
  NEEDS_UMFPACK;
  test_pairs p = {.pairs = 1};
  vin_dae_desc desc = test_pairs_desc(&p, true);
  static const vin_int index[2] = {1, 2};
  vin_dae *dae = NULL;
  vin_stepper *stepper = NULL;
  vin_branch *branch = NULL;
  desc.index = index;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  cr_expect_eq(vin_dae_index(dae), 2);
  cr_expect_eq(vin_stepper_create(&stepper, NULL, dae, NULL), VIN_ERR_UNSUPPORTED);
  cr_expect(strstr(vin_stepper_error(stepper), "index 2 is declared") != NULL);
  vin_stepper_destroy(stepper);
  cr_expect_eq(vin_branch_create(&branch, NULL, dae, NULL), VIN_ERR_UNSUPPORTED);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
  desc.index = NULL, desc.differential = 0;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  cr_expect_eq(vin_stepper_create(&stepper, NULL, dae, NULL), VIN_ERR_BAD_INPUT);
  cr_expect(strstr(vin_stepper_error(stepper), "no differential") != NULL);
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
  desc.differential = 2;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  cr_expect_eq(vin_branch_create(&branch, NULL, dae, NULL), VIN_ERR_BAD_INPUT);
  cr_expect(strstr(vin_branch_error(branch), "no algebraic") != NULL);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
  desc.differential = 0;
  desc.mass_pattern = (vin_triplets){1, index, index};
  desc.mass_values = (const double[]){1};
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  cr_expect_eq(vin_stepper_create(&stepper, NULL, dae, NULL), VIN_ERR_BAD_INPUT);
  cr_expect(strstr(vin_stepper_error(stepper), "semi-explicit") != NULL);
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
  cr_expect_eq(vin_stepper_create(&stepper, NULL, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_stepper_destroy(stepper);
  vin_stepper_destroy(NULL);
  test_pairs_free(&p);
}

/* x = (1 + t)^-1/2 falls below the wall 0.8 at t = 0.5625: the run ends there with the prefix, which
 * is that of a run without a wall. */
Test(dae_outcomes, the_accepted_prefix_survives_the_domain) {
  NEEDS_UMFPACK;
  for (int m = 0; m < 2; m++) {
    scene *s = scene_of((test_pairs){.pairs = 1, .wall = 0.8}, (vin_dae_method)m);
    scene *free_run = scene_of((test_pairs){.pairs = 1}, (vin_dae_method)m);
    expect(s, VIN_OUTCOME_INVALID_TRIAL, VIN_STEP_FAILED, "the domain");
    expect(free_run, VIN_OUTCOME_COMPLETED, VIN_OK, "");
    int k = s->report.accepted;
    cr_expect(k >= 10 && k <= 12, "%d", k);
    cr_expect_eq(memcmp(s->states, free_run->states, (size_t)(k + 1) * 2 * sizeof(double)), 0);
    cr_expect_eq(memcmp(s->y, s->states + 2 * k, sizeof s->y), 0);
    cr_expect(s->y[0] > 0.8 && free_run->states[2 * (k + 1)] <= 0.8);
    cr_expect_eq(s->report.attempted, k + 1 - m);
    scene_free(s);
    scene_free(free_run);
  }
}

/* The tube ends at t = 0.52: the seed of the step to 0.55 is outside before Newton is called. */
Test(dae_outcomes, a_seed_outside_of_the_tube_is_not_evaluated) {
  NEEDS_UMFPACK;
  for (int m = 0; m < 2; m++) {
    scene *s = scene_of((test_pairs){.pairs = 1, .shut = 0.52}, (vin_dae_method)m);
    expect(s, VIN_OUTCOME_INVALID_TRIAL, VIN_STEP_FAILED, "the seed of step 11");
    cr_expect_eq(s->report.accepted, 10);
    int64_t calls = s->p.function_calls;
    s->run.steps = 10; /* all of it is inside: the same evaluations */
    expect(s, VIN_OUTCOME_COMPLETED, VIN_OK, "");
    cr_expect_eq(s->p.function_calls, 2 * calls);
    scene_free(s);
  }
}

/* x' = -1, 0 = (x - 1/2) z + x - 1/4: g_z = x - 1/2 vanishes at t = 1/2, where g has no root, and
 * since f_z = 0 the coupled matrix is singular there as well. */
static int crossing(void *user, double t, const double *y, double *f) {
  (void)user, (void)t;
  f[0] = -1;
  f[1] = (y[0] - 0.5) * y[1] + y[0] - 0.25;
  return 0;
}
static int crossing_jacobian(void *user, double t, const double *y, double *values) {
  (void)user, (void)t;
  values[0] = y[1] + 1, values[1] = y[0] - 0.5;
  return 0;
}

Test(dae_outcomes, a_singular_jacobian_ends_the_run) {
  NEEDS_UMFPACK;
  static const vin_int row[2] = {1, 1}, col[2] = {0, 1};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2, desc.differential = 1;
  desc.function = crossing, desc.jacobian = crossing_jacobian;
  desc.jacobian_pattern = (vin_triplets){2, row, col};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK);
  vin_stepper *stepper = stepper_of(dae);
  vin_grid_run run = vin_grid_run_default();
  const double y0[2] = {1, -1.5};
  double y[2];
  run.h = 0.125, run.steps = 8, run.y0 = y0; /* every x is exact: the fourth step lands on 1/2 */
  run.derivative_tolerance = run.algebraic_tolerance = 1e-12;
  vin_grid_report report;
  cr_expect_eq(vin_stepper_run(stepper, &run, y, &report), VIN_SINGULAR);
  cr_expect_eq(report.outcome, VIN_OUTCOME_SINGULAR_JACOBIAN, "%s",
               vin_outcome_name(report.outcome));
  cr_expect_eq(report.accepted, 3);
  cr_expect_eq(y[0], 0.625);
  cr_expect(strstr(vin_stepper_error(stepper), "coupled matrix at t = 0.5") != NULL, "%s",
            vin_stepper_error(stepper));
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
}

/* Every call of the function fails once: a start is invalid input, a step an invalid trial, and a
 * fatal code ends with its own status; the prefix stays. */
Test(dae_outcomes, failing_callbacks) {
  NEEDS_UMFPACK;
  static const int codes[3] = {1, 99, -1};
  for (int c = 0; c < 3; c++) {
    for (int64_t call = 1; call <= 9; call++) {
      scene *s = scene_of((test_pairs){.pairs = 1, .code = codes[c]}, VIN_DAE_BACKWARD_EULER);
      s->p.function_fails = call;
      vin_status status = vin_stepper_run(s->stepper, &s->run, s->y, &s->report);
      vin_outcome expected = codes[c] < 0 ? VIN_OUTCOME_FAILED
                             : call == 1  ? VIN_OUTCOME_INVALID_INPUT
                                          : VIN_OUTCOME_INVALID_TRIAL;
      vin_status expected_status = codes[c] < 0 ? VIN_ERR_CALLBACK
                                   : call == 1  ? VIN_ERR_BAD_INPUT
                                                : VIN_STEP_FAILED;
      cr_expect_eq(s->report.outcome, expected, "%d %d", codes[c], (int)call);
      cr_expect_eq(status, expected_status, "%d %d: %s", codes[c], (int)call,
                   vin_stepper_error(s->stepper));
      cr_expect(strstr(vin_stepper_error(s->stepper), "function callback") != NULL);
      cr_expect_eq(s->p.function_calls, call);
      cr_expect_eq(s->report.accepted, call == 1 ? -1 : s->report.attempted - 1);
      s->p.function_fails = 0; /* the stepper is as good as before */
      expect(s, VIN_OUTCOME_COMPLETED, VIN_OK, "");
      scene_free(s);
    }
    scene *s = scene_of((test_pairs){.pairs = 1, .code = codes[c]}, VIN_DAE_BACKWARD_EULER);
    s->p.jacobian_fails = 3;
    expect(s, VIN_OUTCOME_FAILED, codes[c] < 0 ? VIN_ERR_CALLBACK : VIN_RETRY, "jacobian callback");
    cr_expect_geq(s->report.accepted, 0);
    scene_free(s);
  }
}

static int stop_at_three(void *user, vin_int step, double t, const double *y,
                         const double *residual) {
  vin_int *seen = user;
  (void)residual;
  cr_expect_eq(step, *seen + 1);
  cr_expect_float_eq(t, 0.05 * step, 1e-15);
  cr_expect_gt(y[0], 0);
  return ++*seen == 3;
}

Test(dae_outcomes, an_observer_may_stop) {
  NEEDS_UMFPACK;
  scene *s = scene_of((test_pairs){.pairs = 1}, VIN_DAE_BACKWARD_EULER);
  vin_int seen = 0;
  s->run.accepted = stop_at_three, s->run.user = &seen;
  expect(s, VIN_OUTCOME_INTERRUPTED, VIN_INTERRUPTED, "stopped");
  cr_expect_eq(s->report.accepted, 3);
  scene_free(s);
}

Test(dae_outcomes, every_failed_allocation_is_handled) {
  NEEDS_UMFPACK;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    test_pairs p = {.pairs = 3, .coupling = 0.1};
    vin_dae *dae = test_pairs_dae(&p, false, NULL);
    vin_stepper *stepper = NULL;
    vin_grid_run run = test_pairs_run(&p, VIN_DAE_BDF2, 0.1, 4);
    vin_status status = vin_stepper_create(&stepper, &context, dae, NULL);
    int64_t created = allocator.calls;
    if (status == VIN_OK) {
      cr_expect_eq(vin_stepper_run(stepper, &run, NULL, NULL), VIN_OK);
      cr_expect_eq(allocator.calls, created); /* nothing is allocated by a run */
    } else {
      cr_expect_eq(status, VIN_ERR_NO_MEMORY, "%d: %s", (int)k, vin_stepper_error(stepper));
      if (stepper != NULL)
        cr_expect_eq(vin_stepper_run(stepper, &run, NULL, NULL), VIN_ERR_BAD_STATE);
    }
    vin_stepper_destroy(stepper);
    vin_dae_destroy(dae);
    free((void *)run.y0);
    test_pairs_free(&p);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) break;
  }
}

/* Without a solver for general matrices the refusal says so. */
Test(dae_outcomes, a_build_without_umfpack_says_so) {
  if (vin_solver_available(VIN_SOLVER_UMFPACK) || vin_solver_available(VIN_SOLVER_KLU)) return;
  test_pairs p = {.pairs = 1};
  vin_dae *dae = test_pairs_dae(&p, true, NULL);
  vin_stepper *stepper = NULL;
  vin_branch *branch = NULL;
  cr_expect_eq(vin_stepper_create(&stepper, NULL, dae, NULL), VIN_ERR_UNSUPPORTED);
  cr_expect_eq(vin_branch_create(&branch, NULL, dae, NULL), VIN_ERR_UNSUPPORTED);
  cr_expect_gt(strlen(vin_stepper_error(stepper)), 10);
  cr_expect_gt(strlen(vin_branch_error(branch)), 10);
  vin_stepper_destroy(stepper);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
  test_pairs_free(&p);
}
