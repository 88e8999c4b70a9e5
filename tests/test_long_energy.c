/* Long runs: energy without a trend, constraints at rounding. Release
 * builds only: the label "long" keeps them out of the sanitizer runs. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

TestSuite(long_energy);

/* Linear regression of samples over their index, and their range. */
typedef struct trend {
  double n, sx, sy, sxx, sxy, low, high;
} trend;

static void add(trend *r, double y) {
  double x = r->n;
  r->low = r->n == 0 ? y : fmin(r->low, y);
  r->high = r->n == 0 ? y : fmax(r->high, y);
  r->n += 1, r->sx += x, r->sy += y, r->sxx += x * x, r->sxy += x * y;
}

/* What the fitted line rises by over the whole run. */
static double rise(const trend *r) {
  double slope = (r->n * r->sxy - r->sx * r->sy) / (r->n * r->sxx - r->sx * r->sx);
  return slope * r->n;
}

/* The triangle as bodies instead of callbacks. */
static vin_system *modelled_triangle(const test_mechanism *x) {
  vin_model *model = vin_model_create(NULL);
  vin_node node[3];
  for (int k = 0; k < 3; k++) {
    vin_node_desc desc = {.mass = 1};
    for (int i = 0; i < 3; i++) {
      desc.position[i] = x->p[3 * k + i];
      desc.velocity[i] = x->v[3 * k + i];
    }
    node[k] = vin_model_add_node(model, &desc);
  }
  for (int r = 0; r < 3; r++) {
    vin_rod_desc rod = {.a = node[x->rod[r].a], .b = node[x->rod[r].b], .length = 1};
    vin_model_add_rod(model, &rod);
  }
  vin_model_set_central_gravity(model, 1, NULL);
  vin_system *system = NULL;
  cr_assert_eq(vin_model_compile(model, &system), VIN_OK, "%s", vin_model_error(model));
  vin_model_destroy(model);
  return system;
}

/* 1e5 steps over 14 orbits. |Phi| <= 1e-12 at every sample. The energy error is periodic with
 * the orbit: the line fitted to 13.7 sinusoidal periods of it can rise by 12 / (2 pi 13.7) =
 * 0.14 amplitudes, 0.07 of the range; 0.15 of the range would be a trend. */
static void triangle_energy(test_mechanism *x, double *last) {
  enum { SAMPLES = 2000, STEPS = 50 };
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  trend energy = {0};
  double phi = 0, hidden = 0;
  for (int k = 0; k < SAMPLES; k++) {
    vin_status status = test_advance(integrator, x, &state, 0.05, STEPS);
    cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
    add(&energy, test_energy(x, state.p, state.v));
    phi = fmax(phi, test_constraint_max(x, state.t, state.p));
    hidden = fmax(hidden, test_hidden_max(x, state.t, state.p, state.v));
  }
  double range = energy.high - energy.low;
  cr_expect_leq(phi, 1e-12, "|Phi| %g", phi);
  cr_expect_leq(hidden, 1e-12, "|h| %g", hidden);
  cr_expect_leq(range, 1e-4, "range %g", range);
  cr_expect_leq(fabs(rise(&energy)), 0.15 * range, "rises by %g within %g", rise(&energy), range);
  vin_stats stats = vin_integrator_get_stats(integrator);
  cr_expect_eq(stats.solver.symbolic, 1);
  cr_expect_eq(stats.solver.numeric, stats.steps + 1);
  for (vin_int i = 0; i < x->n; i++) last[i] = state.p[i];
  vin_integrator_destroy(integrator);
  test_state_free(&state);
}

Test(long_energy, tethered_triangle) {
  test_mechanism *x = test_triangle(), *modelled = test_triangle();
  double a[9], b[9];
  test_mechanism_build(x, NULL);
  triangle_energy(x, a);
  modelled->system = modelled_triangle(modelled);
  triangle_energy(modelled, b);
  /* the same motion but for rounding, 1e5 times 1e-15, which an orbit stretches like t */
  cr_expect_leq(test_max_difference(9, a, b), 1e-7, "%g", test_max_difference(9, a, b));
  test_mechanism_free(x), test_mechanism_free(modelled);
}

/* rattle_notes: the pendulum's energy error is flat from 10 to 1000 s. The largest one of each
 * hundredth is the same to 2 % (sampling of the peaks). */
Test(long_energy, pendulum_over_1000_s) {
  test_mechanism *x = test_pendulum(acos(-1.0) / 2, 0);
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  double first = 0, start = test_energy(x, x->p, x->v);
  trend largest = {0};
  for (int tenth = 0; tenth < 100; tenth++) {
    double worst = 0;
    for (int k = 0; k < 10000; k++) {
      cr_assert_eq(test_advance(integrator, x, &state, 1e-3, 1), VIN_OK);
      worst = fmax(worst, fabs(test_energy(x, state.p, state.v) - start));
    }
    if (tenth == 0) first = worst;
    add(&largest, worst);
    cr_assert_float_eq(worst / first, 1, 0.02, "%g s: %g after %g", state.t, worst, first);
  }
  cr_expect_leq(fabs(rise(&largest)), 0.01 * first);
  cr_expect_leq(test_constraint_max(x, state.t, state.p), 1e-12);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* A chain of 1e5 unit rods: |Phi| ends at its rounding floor, 4 eps |d| |p| = 9e-11, at most 16 of
 * which are left; no step fails over it, and one analysis serves all. The step is short because the
 * first rod, pulled by the weight of 1e5, turns at 1e3 rad/s. */
Test(long_energy, chain_of_1e5_links_reaches_its_floor) {
  enum { LINKS = 100000 };
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node end = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int k = 1; k <= LINKS; k++) {
    vin_node next = vin_model_add_node(model, &(vin_node_desc){.position = {0.8 * k, 0, 0.6 * k}});
    vin_model_add_rod(model, &(vin_rod_desc){.a = end, .b = next, .length = 1, .mass = 1});
    end = next;
  }
  test_mechanism *x = test_points(3, LINKS, LINKS);
  cr_assert_eq(vin_model_compile(model, &x->system), VIN_OK, "%s", vin_model_error(model));
  cr_assert_eq(vin_model_start(model, x->p, x->v), VIN_OK);
  vin_model_destroy(model);
  for (int r = 0; r < LINKS; r++) x->rod[r] = (test_rod){.a = r, .b = r - 1, .length = 1};
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  vin_status status = test_advance(integrator, x, &state, 1e-5, 20);
  cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
  double floor = 4 * DBL_EPSILON * 1e5;
  cr_expect_leq(test_constraint_max(x, state.t, state.p), 16 * floor);
  vin_stats stats = vin_integrator_get_stats(integrator);
  cr_expect_eq(stats.solver.symbolic, 1);
  cr_expect_eq(stats.solver.numeric, 21);
  cr_expect_leq(stats.sweeps, 20 * 3, "%d sweeps", (int)stats.sweeps);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}
