/* Line-integral methods: bad options, steps that are too long, failed allocations. */
#include "line_integral_support.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lim_errors);

/* ---- bad input and failures --------------------------------------------------------------------
 */

static void refused(const test_mechanism *x, const vin_options *options, vin_status expected,
                    const char *word) {
  vin_integrator *integrator = NULL;
  vin_state from = test_state(x), to = test_state(x);
  vin_status status = vin_integrator_create(&integrator, NULL, x->system, options);
  cr_expect_eq(status, expected, "%s for %s", vin_status_name(status), word);
  cr_expect_not_null(strstr(vin_integrator_error(integrator), word), "'%s' in '%s'", word,
                     vin_integrator_error(integrator));
  cr_expect_eq(vin_integrator_step(integrator, &from, 0.1, &to), VIN_ERR_BAD_STATE);
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&to);
}

Test(lim_errors, bad_options) {
  static const struct {
    int k, s, r;
    const char *word;
  } bad[] = {{2, 3, 3, "nodes"},
             {33, 3, 3, "nodes"},
             {-1, 3, 3, "nodes"},
             {0, -1, 1, "stages"},
             {0, 33, 1, "stages"},
             {0, 3, 2, "multiplier_terms"},
             {0, 3, 5, "multiplier_terms"},
             {0, 3, -1, "multiplier_terms"}};
  test_mechanism *x = test_line_built(test_triangle());
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    vin_options options = test_line_options(bad[k].k, bad[k].s, bad[k].r);
    options.method = VIN_METHOD_LIM;
    refused(x, &options, VIN_ERR_BAD_INPUT, bad[k].word);
  }
  vin_options options = test_line_options(0, 3, 3);
  options.energy_tolerance = -1;
  refused(x, &options, VIN_ERR_BAD_INPUT, "energy_tolerance");
  options.energy_tolerance = NAN;
  refused(x, &options, VIN_ERR_BAD_INPUT, "energy_tolerance");
  test_mechanism_free(x);
  x = test_triangle();
  test_mechanism_build(x, NULL); /* without a potential */
  options.energy_tolerance = 1e-10;
  refused(x, &options, VIN_ERR_UNSUPPORTED, "potential");
  options = test_line_options(0, 3, 3);
  vin_integrator *integrator = test_integrator(x, &options);
  double error = 0;
  cr_expect_eq(vin_integrator_energy_error(integrator, &error), VIN_ERR_UNSUPPORTED);
  cr_expect(isnan(error));
  cr_expect_eq(vin_integrator_energy_error(integrator, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_integrator_energy_error(NULL, &error), VIN_ERR_BAD_INPUT);
  vin_integrator_destroy(integrator);
  test_mechanism_free(x);
  x = test_triangle();
  x->mass_varies = true;
  test_mechanism_build(x, NULL);
  refused(x, &options, VIN_ERR_UNSUPPORTED, "VIN_MASS_CONSTANT");
  test_mechanism_free(x);
}

/* A step that cannot converge says how far it came and what to do; start untouched; the object goes on. */
Test(lim_errors, too_long_a_step) {
  test_mechanism *x = test_line_built(test_chain(5, 1, 1));
  for (int r = 0; r <= 3; r += 3) {
    vin_options options = test_line_options(0, 3, r);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
    cr_expect_eq(vin_integrator_step(integrator, &from, 10, &to), VIN_STEP_FAILED);
    const char *text = vin_integrator_error(integrator);
    cr_expect_not_null(strstr(text, "contraction"), "%s", text);
    cr_expect_not_null(strstr(text, "smaller step"), "%s", text);
    cr_expect(test_state_same(x, &from, &kept));
    cr_expect_eq(vin_integrator_step(integrator, &from, 0.01, &to), VIN_OK);
    from.v[0] = 1e200;
    cr_expect_gt(vin_integrator_step(integrator, &from, 1e150, &to), 0);
    vin_integrator_destroy(integrator);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to);
  }
  test_mechanism_free(x);
}

/* vin_sim halves a step that fails. */
Test(lim_errors, sim_halves_steps) {
  test_mechanism *x = test_line_built(test_pendulum(3, 0));
  vin_options options = test_line_options(0, 3, 3);
  options.step = 2, options.max_halvings = 8;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create_from_system(&sim, NULL, x->system, x->p, x->v, &options), VIN_OK,
               "%s", vin_sim_error(sim));
  cr_expect_eq(vin_sim_run(sim, 20), VIN_OK, "%s", vin_sim_error(sim));
  vin_state_view view = vin_sim_state(sim);
  double start = test_energy(x, x->p, x->v);
  cr_expect_float_eq(test_energy(x, view.p, view.v), start, 1e-13 * fabs(start));
  vin_sim_destroy(sim);
  test_mechanism_free(x);
}

/* Every allocation of creation and of the first steps fails once: a clear status, nothing leaks. */
Test(lim_errors, failed_allocations) {
  test_mechanism *x = test_line_built(test_triangle());
  for (int r = 1; r <= 3; r += 2) {
    for (int64_t k = 1;; k++) {
      test_allocator allocator = {.fail_at = k};
      vin_context context = test_context(&allocator);
      vin_options options = test_line_options(0, 3, r);
      options.project_output = 1;
      vin_integrator *integrator = NULL;
      vin_state from = test_state(x), to = test_state(x);
      vin_status status = vin_integrator_create(&integrator, &context, x->system, &options);
      if (status == VIN_OK) {
        int64_t created = allocator.calls;
        status = vin_integrator_step(integrator, &from, 0.1, &to);
        if (status == VIN_OK) status = vin_integrator_step(integrator, &to, 0.1, &from);
        cr_assert_eq(allocator.calls, created, "a step allocates");
      }
      cr_assert(status == VIN_OK || status == VIN_ERR_NO_MEMORY, "%s", vin_status_name(status));
      vin_integrator_destroy(integrator);
      test_state_free(&from), test_state_free(&to);
      cr_assert_eq(allocator.live, 0);
      if (allocator.calls < k) break;
    }
  }
  test_mechanism_free(x);
}
