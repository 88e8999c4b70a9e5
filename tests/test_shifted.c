/* Systems with shifted constraints: an inconsistent start becomes consistent without moving. */
#include "problems.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

TestSuite(shifted);

static vin_system *shifted_of(vin_system *base, double t, const double *p, const double *v) {
  vin_system *system = NULL;
  vin_status status = vin_system_shifted(&system, NULL, base, t, p, v);
  cr_assert_eq(status, VIN_OK, "%s", vin_system_error(system));
  return system;
}

/* Both levels vanish at the start and every derivative fits, for systems with and without a curvature
 * callback, at rest and moving, near and far from t = 0. */
Test(shifted, start_is_consistent) {
  for (int which = 0; which < 8; which++) {
    test_mechanism *x = test_four_bar(1, 3, 2.5, 3, 1);
    if (which % 2 == 1) x->amplitude = 0.2, x->frequency = 2;
    if (which / 4 == 1) x->form = TEST_LENGTH;
    test_mechanism_build(x, NULL);
    bool differences = which % 2 == 0 && which / 2 % 2 == 1;
    if (differences) x->system->desc.curvature = NULL;
    double t = which == 2 ? 1e3 : 0.4, p[4], v[4] = {1, -0.5, 0.3, 0.2}, phi[3], rate[3];
    for (int i = 0; i < 4; i++) p[i] = x->p[i] + 0.1 * (i - 1.5);
    vin_system *system = shifted_of(x->system, t, p, v);
    vini_object object = {.created = VIN_OK};
    cr_assert_eq(vin_system_constraint(system, t, p, phi, NULL, 0), VIN_OK);
    cr_expect(phi[0] == 0 && phi[1] == 0 && phi[2] == 0);
    double values[16];
    cr_assert_eq(vini_eval_jacobian(system, &object, t, p, values), VIN_OK);
    cr_assert_eq(vini_eval_constraint_rate(system, &object, t, p, rate), VIN_OK);
    vin_triplets pattern = system->desc.jacobian_pattern;
    for (vin_int k = 0; k < pattern.count; k++)
      rate[pattern.row[k]] += values[k] * v[pattern.col[k]];
    cr_expect_leq(test_max_abs(3, rate), 1e-15);
    cr_expect_eq(vin_system_flags(system), vin_system_flags(x->system));
    vin_derivative_check check;
    double later[4] = {p[0] + 0.1, p[1] - 0.2, p[2], p[3] + 0.1};
    vin_status status = vin_system_check(system, t + 0.2, later, v, 0, &check);
    cr_expect_eq(status, VIN_OK, "%d: %s", which, check.text);
    vin_system_destroy(system);
    test_mechanism_free(x);
  }
}

/* A pendulum of 1 m released at 1.05 m is one of 1.05 m: same motion (same equations but for rounding,
 * so 1e-12), the base notwithstanding, which may be given up at once; the energy is kept. */
Test(shifted, longer_pendulum) {
  test_mechanism *x = test_pendulum(0.5, 0), *longer = test_pendulum(0.5, 0);
  x->form = longer->form = TEST_SQUARE;
  longer->rod[0].length = 1.05;
  test_mechanism_build(x, NULL);
  test_mechanism_build(longer, NULL);
  for (int i = 0; i < 2; i++) longer->p[i] *= 1.05;
  vin_options options = vin_options_default();
  options.method = VIN_METHOD_RK4;
  options.step = 1e-2;
  vin_sim *sim[2] = {NULL, NULL};
  vin_system *system = shifted_of(x->system, 0, longer->p, longer->v);
  cr_assert_eq(vin_sim_create_from_system(&sim[0], NULL, system, longer->p, longer->v, &options),
               VIN_OK, "%s", vin_sim_error(sim[0]));
  vin_system_destroy(system);
  cr_assert_eq(
      vin_sim_create_from_system(&sim[1], NULL, longer->system, longer->p, longer->v, &options),
      VIN_OK);
  for (int k = 0; k < 2; k++)
    cr_assert_eq(vin_sim_run(sim[k], 3), VIN_OK, "%s", vin_sim_error(sim[k]));
  vin_state_view a = vin_sim_state(sim[0]), b = vin_sim_state(sim[1]);
  cr_expect_leq(test_max_difference(2, a.p, b.p), 1e-12);
  cr_expect_leq(test_max_difference(2, a.v, b.v), 1e-12);
  cr_expect_leq(fabs(a.lambda[0] - b.lambda[0]), 1e-11);
  for (int k = 0; k < 2; k++) vin_sim_destroy(sim[k]);
  test_mechanism_free(x);
  test_mechanism_free(longer);
}

/* By option of a sim: fix_start = 0 with a start 0.1 m out and 0.2 m/s outward. With |p| - 1 as the
 * constraint, the length becomes 1.1 + 0.2 t exactly (1e-12: the projection's tolerance); without the
 * option the start is 0.1 m off. With fix_start the option does nothing. */
Test(shifted, by_option) {
  test_mechanism *x = test_pendulum(0, 0);
  x->form = TEST_LENGTH;
  test_mechanism_build(x, NULL);
  double p[2] = {0, -1.1}, v[2] = {1, -0.2};
  for (int which = 0; which < 3; which++) {
    vin_options options = vin_options_default();
    options.method = VIN_METHOD_RK4;
    options.step = 1e-2;
    options.start_time = 5;
    options.fix_start = which == 2;
    options.shift_constraints = which != 1;
    options.projection = which == 1 ? VIN_PROJECTION_NONE : VIN_PROJECTION_BOTH;
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create_from_system(&sim, NULL, x->system, p, v, &options), VIN_OK, "%s",
                 vin_sim_error(sim));
    vin_report report = vin_sim_report(sim);
    vin_state_view state = vin_sim_state(sim);
    double expected = which == 1 ? 0.1 : 0, radius = which == 2 ? 1 : 1.1;
    cr_expect_float_eq(report.position_residual, expected, 1e-13);
    cr_expect_float_eq(report.velocity_residual, which == 1 ? 0.2 : 0, 1e-13);
    cr_expect_float_eq(sqrt(test_dot(2, state.p, state.p)), radius, 1e-12);
    if (which == 0) {
      cr_assert_eq(vin_sim_run(sim, 7), VIN_OK, "%s", vin_sim_error(sim));
      state = vin_sim_state(sim);
      cr_expect_float_eq(sqrt(test_dot(2, state.p, state.p)), 1.5, 1e-12);
    }
    char name[64];
    vin_system_constraint_name(vin_sim_system(sim), 0, name, sizeof name);
    cr_expect_str_eq(name, "rod 0");
    vin_system_position_name(vin_sim_system(sim), 1, name, sizeof name);
    cr_expect_str_eq(name, "y of point 0");
    vin_sim_destroy(sim);
  }
  test_mechanism_free(x);
}

/* The same for bodies: two nodes 1.2 m apart, a rod that is 1 m long by its description. */
Test(shifted, bodies) {
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node fixed = vin_model_add_node(model, &(vin_node_desc){.fixed = true});
  vin_node end = vin_model_add_node(model, &(vin_node_desc){.position = {1.2, 0, 0}});
  vin_model_add_rod(model, &(vin_rod_desc){.a = fixed, .b = end, .length = 1, .mass = 1});
  vin_options options = vin_options_default();
  options.fix_start = 0;
  options.shift_constraints = 1;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  cr_assert_eq(vin_sim_run(sim, 0.5), VIN_OK, "%s", vin_sim_error(sim));
  vin_state_view state = vin_sim_state(sim);
  cr_expect_float_eq(sqrt(test_dot(3, state.p, state.p)), 1.2, 1e-12);
  vin_sim_destroy(sim);
  vin_model_destroy(model);
}

static int failing(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t, (void)p, (void)phi;
  return -4;
}

Test(shifted, failures) {
  test_mechanism *x = test_pendulum(0.5, 0);
  test_mechanism_build(x, NULL);
  vin_system *system = NULL;
  double p[2] = {1, 0}, v[2] = {0, NAN};
  cr_expect_eq(vin_system_shifted(NULL, NULL, x->system, 0, p, v), VIN_ERR_BAD_INPUT);
#define REFUSED(base, t, p, v, expected)                                                           \
  do {                                                                                             \
    cr_expect_eq(vin_system_shifted(&system, NULL, base, t, p, v), VIN_ERR_BAD_INPUT);             \
    cr_expect_not_null(strstr(vin_system_error(system), expected), "%s",                           \
                       vin_system_error(system));                                                  \
    vin_system_destroy(system);                                                                    \
  } while (0)
  REFUSED(x->system, 0, p, v, "not finite");
  v[1] = 0;
  REFUSED(x->system, NAN, p, v, "not finite");
  REFUSED(x->system, 0, NULL, v, "p0 or v0 is NULL");
  REFUSED(NULL, 0, p, v, "base system is NULL");
  vin_context wrong = {.struct_size = 1};
  cr_expect_eq(vin_system_shifted(&system, &wrong, x->system, 0, p, v), VIN_ERR_BAD_INPUT);
  vin_system_destroy(system);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_status status = vin_system_shifted(&system, &context, x->system, 0, p, v);
    if (allocator.calls >= k) cr_assert_eq(status, VIN_ERR_NO_MEMORY);
    vin_system_destroy(system);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    system = NULL;
    if (allocator.calls < k) {
      cr_assert_eq(status, VIN_OK);
      break;
    }
  }
  test_mechanism_free(x);
  x = test_pendulum(0.5, 0);
  x->constraint = failing;
  test_mechanism_build(x, NULL);
  cr_expect_eq(vin_system_shifted(&system, NULL, x->system, 0, p, v), VIN_ERR_CALLBACK);
  cr_expect_not_null(strstr(vin_system_error(system), "constraint callback failed (-4)"));
  vin_system_destroy(system);
  test_mechanism_free(x);
}
