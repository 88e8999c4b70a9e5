/* test_light_bodies - chains of point masses with light ones between heavy ones, mass ratios to 1e10, that
 * fall from the horizontal. Tight rods make a light mass swing with sqrt(2 T / (m L)), here 1e5 rad/s and
 * more, without amplitude. The reference is another formulation: angles of the links as coordinates, the
 * classical Runge-Kutta method in long double, with steps that resolve the swinging. */
#include "vincula/vincula.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST = 4 };
static const double gravity = 9.81;

typedef struct chain {
  int links;
  double mass[MOST];
} chain;

/* ---- reference: theta_i from the x axis, M_ij = (masses below both) cos(theta_i - theta_j) ---------- */

typedef long double angles[2 * MOST]; /* theta, theta' */

static void rate(const chain *c, const angles y, angles dy) {
  const int n = c->links;
  long double below[MOST], a[MOST][MOST], b[MOST], sum = 0;
  for (int i = n - 1; i >= 0; i--) below[i] = sum += (long double)c->mass[i];
  for (int i = 0; i < n; i++) {
    b[i] = -below[i] * (long double)gravity * cosl(y[i]);
    for (int j = 0; j < n; j++) {
      const long double m = below[i > j ? i : j], w = y[n + j];
      a[i][j] = m * cosl(y[i] - y[j]);
      b[i] -= m * sinl(y[i] - y[j]) * w * w;
    }
  }
  for (int k = 0; k < n; k++) { /* definite: no pivoting */
    for (int i = k + 1; i < n; i++) {
      const long double factor = a[i][k] / a[k][k];
      for (int j = k; j < n; j++) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) b[k] -= a[k][j] * b[j];
    dy[n + k] = b[k] /= a[k][k];
    dy[k] = y[n + k];
  }
}

static void integrate(const chain *c, double t, double *theta) {
  const int steps = (int)lround(t * 1e6), size = 2 * c->links; /* of 1e-6 s: 0.2 of the swinging */
  const long double h = (long double)t / steps;
  angles y = {0}, at, k[4];
  for (int step = 0; step < steps; step++) {
    rate(c, y, k[0]);
    for (int s = 1; s < 4; s++) {
      for (int i = 0; i < size; i++) at[i] = y[i] + (s < 3 ? h / 2 : h) * k[s - 1][i];
      rate(c, at, k[s]);
    }
    for (int i = 0; i < size; i++) y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
  for (int i = 0; i < c->links; i++) theta[i] = (double)y[i];
}

/* ---- the library ------------------------------------------------------------------------------------ */

static vin_sim *simulation(const chain *c, const vin_options *options) {
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, -gravity, 0});
  vin_node last = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int i = 0; i < c->links; i++) {
    vin_node next =
        vin_model_add_node(model, &(vin_node_desc){.position = {i + 1}, .mass = c->mass[i]});
    vin_model_add_rod(model, &(vin_rod_desc){.a = last, .b = next, .length = 1});
    last = next;
  }
  vin_sim *sim = NULL;
  const vin_status status = vin_sim_create(&sim, model, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  return sim;
}

static vin_options method(vin_method name, double step) {
  vin_options options = vin_options_default();
  options.method = name;
  options.step = step;
  return options;
}

static void check(const chain *c, vin_options options, double t, double tolerance) {
  double theta[MOST], x = 0, y = 0, worst = 0;
  vin_sim *sim = simulation(c, &options);
  const char *name = vin_method_name(options.method);
  cr_assert_eq(vin_sim_run(sim, t), VIN_OK, "%s: %s", name, vin_sim_error(sim));
  const vin_state_view end = vin_sim_state(sim);
  integrate(c, t, theta);
  for (int i = 0; i < c->links; i++) {
    const double *p = end.p + 3 * (size_t)i;
    worst = fmax(worst, fabs(atan2(p[1] - y, p[0] - x) - theta[i]));
    x = p[0], y = p[1];
  }
  cr_expect_leq(worst, tolerance, "%s, masses %g, %g, ..: %g", name, c->mass[0], c->mass[1], worst);
  vin_sim_destroy(sim);
}

static const chain one = {4, {1e5, 1e-5, 1, 1e5}};

/* A stiffly accurate method takes steps of the slow motion: 1e-3 s, a hundred of the swinging's radians.
 * Order 5, so that its own error is 1e-9. */
Test(light_bodies, implicit_steps_of_the_slow_motion) {
  const chain chains[] = {one,
                          {3, {1e5, 1e-5, 1e5}},
                          {3, {1e10, 1, 1e10}},
                          {3, {1, 1e-6, 1e4}},
                          {4, {1e4, 1e-6, 1e-6, 1e4}},
                          {4, {1e10, 1, 1, 1e10}}};
  for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
    check(&chains[i], method(VIN_METHOD_RADAU5, 1e-3), 0.05, 1e-8);
  }
}

/* Order 1, and 18 digits of forces where an acceleration of 1e-6 m/s^2 is a rounding of the tension over the
 * lightest mass: Newton's method must stop there and not ask for less. */
Test(light_bodies, newton_stops_at_the_rounding_of_the_forces) {
  check(&one, method(VIN_METHOD_GGL, 1e-3), 0.2, 1e-3);
  check(&one, method(VIN_METHOD_EULER3, 1e-3), 0.2, 1e-3);
}

/* Methods that follow the swinging need h sqrt(2 T / (m L)) < 2, with T = 1.2e4 N at 0.03 s 4e-5 s. */
Test(light_bodies, explicit_steps_resolve_the_swinging) {
  check(&one, method(VIN_METHOD_RATTLE, 5e-6), 0.03, 1e-9);
  check(&one, method(VIN_METHOD_LIM, 1e-5), 0.03, 1e-9);
  vin_options options = method(VIN_METHOD_DOPRI5, 1e-5);
  options.relative_tolerance = options.absolute_tolerance = 1e-9;
  check(&one, options, 0.03, 1e-8);
  /* next to the fixed end the light mass does swing, by 1e-6 rad, of which 2% are lost to the phase */
  const chain swinging = {2, {1e-5, 1e5}};
  check(&swinging, options, 0.02, 1e-8);
  check(&swinging, method(VIN_METHOD_RATTLE, 1e-6), 0.02, 1e-7);
}

/* At a ratio of 1e12 a rod is dropped as dependent on the others (their pivots differ as the masses do), so
 * that the velocity stage leaves what that rod asks for. The hidden constraint of each step that counts is at
 * 16 velocity_tolerance or below, the limit after one refinement, and the step that cannot says so. */
Test(light_bodies, hidden_constraint_is_verified) {
  const chain c = {3, {1e6, 1e-6, 1e6}};
  const vin_options options = method(VIN_METHOD_RATTLE, 1e-5);
  vin_sim *sim = simulation(&c, &options);
  vin_status status = VIN_OK;
  for (int step = 0; step < 100 && status == VIN_OK; step++) {
    cr_expect_leq(vin_sim_report(sim).velocity_residual, 16 * options.velocity_tolerance);
    status = vin_sim_step(sim);
  }
  cr_expect_eq(status, VIN_STEP_FAILED);
  cr_expect(strstr(vin_sim_error(sim), "hidden constraint") != NULL, "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
}

/* With larger ones they fail, and say what to do. */
Test(light_bodies, failures_say_what_to_do) {
  const vin_method methods[] = {VIN_METHOD_RATTLE, VIN_METHOD_LIM, VIN_METHOD_HBVM};
  for (int i = 0; i < 3; i++) {
    const vin_options options = method(methods[i], 1e-3);
    vin_sim *sim = simulation(&one, &options);
    cr_expect_eq(vin_sim_run(sim, 0.2), VIN_STEP_FAILED);
    cr_expect(strstr(vin_sim_error(sim), "take a smaller step") != NULL, "%s", vin_sim_error(sim));
    cr_expect(strstr(vin_sim_error(sim), "radau5") != NULL, "%s", vin_sim_error(sim));
    vin_sim_destroy(sim);
  }
}
