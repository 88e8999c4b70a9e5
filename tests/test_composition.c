/* Compositions of rattle: orders 4 and 6, symmetry, invariants, multipliers, failures. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(composition);

enum { POSITION, VELOCITY, MULTIPLIER, KINDS };

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

typedef struct study {
  const char *file;
  test_mechanism *(*problem)(void);
  double scale; /* lambda / lambda of the file */
  double t_end;
  long steps[2]; /* coarsest of two runs, rattle4 and rattle6 */
} study;

static test_mechanism *chain10(void) {
  return test_chain(10, 1, 1);
}

static void errors(const study *s, const test_mechanism *x, const vin_options *options, long steps,
                   double *error) {
  int n = (int)x->n, m = (int)x->m;
  double *row = calloc((size_t)(2 * n + m), sizeof *row);
  test_reference(s->file, s->t_end, 2 * n + m, row);
  vin_state end = test_run(x, options, s->t_end, steps);
  error[POSITION] = test_max_difference(n, end.p, row);
  error[VELOCITY] = test_max_difference(n, end.v, row + n);
  error[MULTIPLIER] = 0;
  for (int c = 0; c < m; c++) {
    error[MULTIPLIER] = fmax(error[MULTIPLIER], fabs(end.lambda[c] - s->scale * row[2 * n + c]));
  }
  cr_expect_leq(test_constraint_max(x, end.t, end.p), 1e-12);
  cr_expect_leq(test_hidden_max(x, end.t, end.p, end.v), 1e-11);
  free(row);
  test_state_free(&end);
}

/* Two runs against references of 15 digits, the second with half the step. log2 of the ratio is the
 * order; the next term of the error is of relative size h^2, hence the tolerance. */
Test(composition, orders_4_and_6) {
  static const study studies[] = {
      {"hamiltonian/planar_pendulum.csv", test_planar_pendulum, 2, 10, {200, 80}},
      {"hamiltonian/spherical_pendulum.csv", test_spherical_pendulum, 2, 10, {200, 80}},
      {"hamiltonian/modified_pendulum.csv", test_modified_pendulum, 1, 10, {800, 400}},
      {"hamiltonian/tethered_triangle.csv", test_triangle, 2, 100, {800, 250}},
      {"hamiltonian/chain_N10_unitlinks.csv", chain10, 2, 1, {100, 60}},
  };
  for (size_t k = 0; k < sizeof studies / sizeof *studies; k++) {
    test_mechanism *x = built(studies[k].problem());
    for (int high = 0; high < 2; high++) {
      vin_options options =
          test_method(high ? VIN_METHOD_RATTLE6 : VIN_METHOD_RATTLE4, VIN_PROJECTION_NONE);
      options.max_sweeps = 30;
      double coarse[KINDS], fine[KINDS], order = high ? 6 : 4;
      errors(&studies[k], x, &options, studies[k].steps[high], coarse);
      errors(&studies[k], x, &options, 2 * studies[k].steps[high], fine);
      for (int kind = 0; kind < KINDS; kind++) {
        double observed = log2(coarse[kind] / fine[kind]);
        cr_expect(observed > order - 0.35 && observed < order + 1.3,
                  "%s, order %g, kind %d: %.3f (%g, %g)", studies[k].file, order, kind, observed,
                  coarse[kind], fine[kind]);
      }
    }
    test_mechanism_free(x);
  }
}

/* Down to 1e-12 on the triangle of satellites, whose coordinates are of size 20 (rounding 4e-15). */
Test(composition, reaches_1e_12) {
  study s = {"hamiltonian/tethered_triangle.csv", test_triangle, 2, 10, {0, 0}};
  test_mechanism *x = built(s.problem());
  vin_options options = test_method(VIN_METHOD_RATTLE6, VIN_PROJECTION_NONE);
  double error[KINDS];
  errors(&s, x, &options, 500, error);
  for (int kind = 0; kind < KINDS; kind++) cr_expect_leq(error[kind], 1e-12, "%g", error[kind]);
  test_mechanism_free(x);
}

/* Forward, velocities turned round, back: what is left is rounding times the motion's sensitivity. */
Test(composition, is_reversible) {
  test_mechanism *x = built(test_chain(10, 1, 1));
  for (int high = 0; high < 2; high++) {
    vin_options options =
        test_method(high ? VIN_METHOD_RATTLE6 : VIN_METHOD_RATTLE4, VIN_PROJECTION_NONE);
    options.position_tolerance = 0; /* to the rounding floor: the stop rule is not symmetric */
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 2e-3, 500), VIN_OK);
    cr_assert_gt(test_max_difference(x->n, state.p, x->p), 0.1);
    for (vin_int i = 0; i < x->n; i++) state.v[i] = -state.v[i];
    cr_assert_eq(test_advance(integrator, x, &state, 2e-3, 500), VIN_OK);
    double left = test_max_difference(x->n, state.p, x->p);
    cr_expect_leq(left, 1e-11, "%g", left);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
  }
  test_mechanism_free(x);
}

/* Symplectic: the energy error oscillates and has no trend. The largest in the first and in the tenth
 * 10 s differ by the sampling of the peaks only. */
Test(composition, energy_is_flat) {
  test_mechanism *x = built(test_pendulum(acos(-1.0) / 2, 0));
  vin_options options = test_method(VIN_METHOD_RATTLE4, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double start = test_energy(x, x->p, x->v), worst[10] = {0};
  for (int k = 0; k < 10000; k++) {
    cr_assert_eq(test_advance(integrator, x, &state, 1e-2, 1), VIN_OK);
    double *w = &worst[k / 1000];
    *w = fmax(*w, fabs(test_energy(x, state.p, state.v) - start));
  }
  cr_expect_float_eq(worst[9] / worst[0], 1, 0.05, "%g then %g", worst[0], worst[9]);
  cr_expect_geq(worst[0], 1e-9); /* not rounding: the statement says something */
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* Damping and a moving anchor: the order stays, as rattle's step stays symmetric. */
Test(composition, order_4_under_damping_and_a_moving_constraint) {
  test_mechanism *x = test_chain(3, 1, 1);
  x->amplitude = 0.2, x->frequency = 4, x->damping = 0.5;
  test_mechanism_build(x, NULL);
  cr_assert_eq(vin_initial_solve(x->system, NULL, 0, x->p, x->v, NULL, NULL, NULL, NULL, 0),
               VIN_OK);
  vin_options exact = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
  vin_options options = test_method(VIN_METHOD_RATTLE4, VIN_PROJECTION_NONE);
  options.max_sweeps = 30;
  vin_state reference = test_run(x, &exact, 1, 4000);
  double error[2];
  for (int run = 0; run < 2; run++) {
    vin_state end = test_run(x, &options, 1, 50 << run);
    error[run] = fmax(test_max_difference(x->n, end.p, reference.p),
                      test_max_difference(x->n, end.v, reference.v));
    test_state_free(&end);
  }
  double observed = log2(error[0] / error[1]);
  cr_expect(fabs(observed - 4) < 0.3, "%g then %g: order %.3f", error[0], error[1], observed);
  test_state_free(&reference);
  test_mechanism_free(x);
}

/* One analysis; one factorisation for each inner step. */
Test(composition, work_per_step) {
  test_mechanism *x = built(test_chain(50, 1, 1));
  vin_options options = test_method(VIN_METHOD_RATTLE4, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 100), VIN_OK);
  vin_stats stats = vin_integrator_get_stats(integrator);
  cr_expect_eq(stats.solver.symbolic, 1);
  cr_expect_eq(stats.solver.numeric, 5 * 100 + 1);
  cr_expect_eq(stats.steps, 100);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* An inner step that fails makes the whole step fail; the start is not written, and the same object
 * goes on from it with the bits of a fresh one. */
Test(composition, a_failed_inner_step) {
  test_mechanism *x = built(test_chain(10, 1, 1));
  vin_options options = test_method(VIN_METHOD_RATTLE6, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state from = test_state(x), kept = test_state(x), to = test_state(x), fresh = test_state(x);
  x->calls = 0, x->fail_call = 5, x->fail_code = 0; /* NaN in the fifth evaluation */
  vin_status status = vin_integrator_step(integrator, &from, 1e-3, &to);
  cr_assert_eq(status, VIN_RETRY, "%s", vin_status_name(status));
  cr_assert(test_state_same(x, &from, &kept));
  x->fail_call = 0;
  cr_assert_eq(vin_integrator_step(integrator, &from, 1e-3, &to), VIN_OK);
  vin_integrator *anew = test_integrator(x, &options);
  cr_assert_eq(vin_integrator_step(anew, &from, 1e-3, &fresh), VIN_OK);
  cr_assert(test_state_same(x, &to, &fresh));
  vin_integrator_destroy(integrator), vin_integrator_destroy(anew);
  test_state_free(&from), test_state_free(&kept), test_state_free(&to), test_state_free(&fresh);
  test_mechanism_free(x);
}
