/* Long runs of hbvm and lim: energy without a trend, linear work. */
#include "line_integral_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

TestSuite(long_hbvm);

/* (k, s, r); r = 0: hbvm */
static const int methods[3][3] = {{2, 2, 0}, {6, 2, 0}, {6, 3, 3}};

/* Over 1e6 steps |H - H0| <= 1e-12 of the energies that occur, hence a rise of at most 1e-13 in a tenth of
 * that; a step rounds by 1e-16, so that a bias of 1 % of it would be seen. |g| <= 1e-13 of its terms. */
static void check(test_mechanism *x, int method, double h, long steps, double energy, double size) {
  const int *m = methods[method];
  test_line_built(x);
  vin_options options = test_line_options(m[0], m[1], m[2]);
  test_line_run run = test_line_energy(x, &options, h, steps, 10);
  double part = (double)steps / 1e6;
  cr_expect_leq(run.energy, fmax(1e-12 * part, 1e-14) * energy, "method %d: %g", method,
                run.energy);
  cr_expect_leq(fabs(run.trend), fmax(1e-12 * part, 1e-14) * energy, "method %d: trend %g", method,
                run.trend);
  cr_expect_leq(run.constraint, 1e-13 * size, "method %d: %g", method, run.constraint);
  test_mechanism_free(x);
}

Test(long_hbvm, planar_pendulum) {
  for (int k = 0; k < 3; k++) check(test_planar_pendulum(), k, 0.05, 50000, 0.5, 1);
}

/* (2,2) has a quadrature error here, 2e-11, which oscillates; the others are exact to rounding. Energies
 * are 0.15, kinetic and potential. */
Test(long_hbvm, tethered_triangle) {
  for (int k = 1; k < 3; k++) check(test_triangle(), k, 0.1, 30000, 0.15, 1);
}

/* Energies are those of 100 kg that fall by 50 m; positions of 100 m round by 1e-14. */
Test(long_hbvm, chain_of_100_links) {
  for (int k = 0; k < 3; k++) check(test_chain(100, 1, 1), k, 1e-3, 5000, 100 * 9.81 * 50, 1);
}

/* With r = 1 the normal velocity of a whipping chain grows, here to 20 m/s, and changes its sign in each step: it is
 * added to by twice itself, theory (L11). Summed without the digits that this swallows, the energy falls by
 * 1e-14 J a step, 2e-9 in all. What is left is Phi's rounding times lambda, 1e-13 J a step at random, hence
 * 1e-10 J. Energies that occur: kinetic and potential, 290 J; 1e-12 of them allowed. */
Test(long_hbvm, chain_with_a_large_normal_velocity) {
  test_mechanism *x = test_line_built(test_chain(5, 1, 1));
  vin_options options = test_line_options(2, 2, 0);
  test_line_run run = test_line_energy(x, &options, 1e-2, 200000, 100);
  cr_expect_leq(run.energy, 1e-12 * 290, "%g", run.energy);
  cr_expect_leq(fabs(run.trend), 1e-12 * 290, "trend %g", run.trend);
  cr_expect_leq(run.constraint, 1e-13, "%g", run.constraint);
  test_mechanism_free(x);
}

/* Chains of 1e3, 1e4 and 1e5 links: no more than 10 sweeps a step (4 to 9; positions of 1e5 m round by 1e-11,
 * and more sweeps are spent on telling that from convergence), one factorisation a step, a factor that
 * grows like n. With a fixed number of vectors per sweep that is work of O(n). */
Test(long_hbvm, work_is_linear_on_chains) {
  enum { STEPS = 3 };
  double sweeps[3], entries[3];
  for (int k = 0, links = 1000; k < 3; k++, links *= 10) {
    test_mechanism *x = test_line_built(test_chain(links, 1, 1));
    vin_options options = test_line_options(0, 3, 3);
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 1e-3, STEPS), VIN_OK, "%d links: %s", links,
                 vin_integrator_error(integrator));
    vin_stats stats = vin_integrator_get_stats(integrator);
    cr_expect_eq(stats.solver.symbolic, 1);
    cr_expect_eq(stats.solver.numeric, STEPS);
    cr_expect_eq(stats.solver.solves, 3 * stats.sweeps);
    sweeps[k] = (double)stats.sweeps / STEPS;
    entries[k] = (double)vin_kkt_get_info(vin_projector_kkt(vin_integrator_projector(integrator)))
                     .nnz_factor /
                 links;
    cr_expect_leq(test_constraint_max(x, state.t, state.p), 16 * DBL_EPSILON * links);
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
  for (int k = 1; k < 3; k++) {
    cr_expect_leq(sweeps[k], 10, "%g, %g", sweeps[0], sweeps[k]);
    cr_expect_float_eq(entries[k] / entries[0], 1, 0.01);
  }
}
