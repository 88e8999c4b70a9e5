/* test_dae_implicit - the general form 0 = F(t, y, y'): published values, the same problems in other
 * forms. */
#include "dae_pendulum.h"
#include "implicit_small.h"
#include "ivp_run.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_implicit);

/* ---- Robertson's reaction ------------------------------------------------------------------------ */

/* End values at t = 40 and 4e10; the latter of the IVP test set ("rober", t = 1e11) are
 * 0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050 (its file, 16 digits). */
Test(dae_implicit, robertson_reaches_the_published_values) {
  NEEDS_UMFPACK;
  static const double published[3] = {0.2083340149701255e-07, 0.8333360770334713e-13,
                                      0.9999999791665050};
  EACH_METHOD(m) {
    for (int differences = 0; differences < 2; differences++) {
      test_implicit_small s = {.n = 3,
                               .residual = test_robertson,
                               .jacobians = test_robertson_jacobians,
                               .differences = differences};
      const double absolute[3] = {1e-15, 1e-20, 1e-12};
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
      options.absolute_tolerances = absolute;
      double y[3] = {1, 0, 0}, yp[3] = {-0.04, 0.04, 0};
      char text[512];
      cr_assert_eq(test_implicit_small_integrate(&s, options, 1e11, y, yp, NULL, text), VIN_OK,
                   "%s", text);
      for (int i = 0; i < 3; i++) /* 1e-8 a step; errors die out */
        cr_expect_float_eq(y[i] / published[i], 1, 1e-5, "method %d, component %d: %.16g", m, i,
                           y[i]);
    }
  }
}

/* ---- the pendulum, index 1, 2, 3, with F nonlinear in y' ------------------------------------------ */

/* Angle of the pendulum from rest at 90 degrees after 1 s, by an explicit method of order 4 with 1e5
 * steps in long double: an independent formulation. */
static void swing(double t, double *x, double *y) {
  enum { STEPS = 100000 };
  long double a = acosl(0.0L), w = 0, h = (long double)t / STEPS;
  for (int k = 0; k < STEPS; k++) {
    long double k1 = w, l1 = -9.81L * sinl(a);
    long double k2 = w + h / 2 * l1, l2 = -9.81L * sinl(a + h / 2 * k1);
    long double k3 = w + h / 2 * l2, l3 = -9.81L * sinl(a + h / 2 * k2);
    long double k4 = w + h * l3, l4 = -9.81L * sinl(a + h * k3);
    a += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    w += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
  }
  *x = (double)sinl(a), *y = (double)-cosl(a);
}

Test(dae_implicit, pendulum_of_each_index) {
  NEEDS_UMFPACK;
  double x, z;
  swing(1, &x, &z);
  EACH_METHOD(m) {
    for (test_implicit_level = 1; test_implicit_level <= (m == 0 ? 3 : 2); test_implicit_level++) {
      test_implicit_small s = {.n = 5,
                               .residual = test_implicit_pendulum,
                               .differences = true,
                               .rates = 4,
                               .index = {1, 1, test_implicit_level == 3 ? 2 : 1,
                                         test_implicit_level == 3 ? 2 : 1, test_implicit_level}};
      double y[5] = {1, 0, 0, 0, 0}, yp[5] = {0, 0, 0, -9.81, 0};
      char text[512];
      vin_dae_integrator_stats stats;
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
      cr_assert_eq(test_implicit_small_integrate(&s, options, 1, y, yp, &stats, text), VIN_OK,
                   "index %d: %s", test_implicit_level, text);
      /* errors of single steps grow with the swing; index 3 is judged h times less strictly */
      double tolerance = test_implicit_level == 3 ? 1e-4 : 1e-5;
      cr_expect_float_eq(y[0], x, tolerance, "method %d, index %d: %g", m, test_implicit_level,
                         y[0] - x);
      cr_expect_float_eq(y[1], z, tolerance, "method %d, index %d: %g", m, test_implicit_level,
                         y[1] - z);
      cr_expect_eq(stats.symbolic, m == 0 ? 2 : 1);
      /* y' that the method has: q' = v, v' = -q l - g */
      cr_expect_float_eq(yp[0], y[2], 1e-5);
      cr_expect_float_eq(yp[3], -9.81 - y[1] * y[4], test_implicit_level == 3 ? 1e-2 : 1e-4);
    }
  }
}

/* ---- the same steps as B y' = f ------------------------------------------------------------------ */

static const ivp_problem *wrapped;
static int wrapped_residual(void *user, double t, const double *y, const double *yp, double *r) {
  (void)user;
  int code = wrapped->f((void *)(uintptr_t)wrapped, t, y, r);
  for (vin_int i = 0; i < wrapped->n; i++) r[i] = -r[i];
  for (vin_int e = 0; e < wrapped->mass_count; e++)
    r[wrapped->mass_row[e]] += wrapped->mass_value[e] * yp[wrapped->mass_col[e]];
  return code;
}
static int wrapped_y(void *user, double t, const double *y, const double *yp, double *values) {
  (void)user, (void)yp;
  int code = wrapped->jacobian((void *)(uintptr_t)wrapped, t, y, values);
  for (vin_int e = 0; e < wrapped->jacobian_count; e++) values[e] = -values[e];
  return code;
}
static int wrapped_yp(void *user, double t, const double *y, const double *yp, double *values) {
  (void)user, (void)t, (void)y, (void)yp;
  memcpy(values, wrapped->mass_value, (size_t)wrapped->mass_count * sizeof *values);
  return 0;
}

/* F = B y' - f takes the steps that B y' = f takes, and ends at the published values of the test set:
 * transistor amplifier (index 1), car axis (index 3), slider crank (index 2). */
Test(dae_implicit, test_set_in_both_forms) {
  NEEDS_UMFPACK;
  static const char *const names[] = {"transistor", "caraxis", "caraxis-2"};
  EACH_METHOD(m) {
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      if (m == 1 && k == 1) continue;
      ivp_problem *p = ivp_create(names[k], VINCULA_TEST_DATA);
      cr_assert_not_null(p);
      wrapped = p;
      ivp_result explicit_form = ivp_run_dae(p, test_dae_methods[m], 1e-7, NULL);
      cr_assert_eq(explicit_form.status, VIN_OK, "%s", explicit_form.text);
      vin_dae_desc desc = vin_dae_desc_default();
      desc.unknowns = p->n;
      desc.mass_pattern = (vin_triplets){p->mass_count, p->mass_row, p->mass_col};
      desc.jacobian_pattern = (vin_triplets){p->jacobian_count, p->jacobian_row, p->jacobian_col};
      desc.residual = wrapped_residual, desc.residual_yp = wrapped_yp;
      desc.residual_y = p->jacobian ? wrapped_y : NULL;
      desc.index = p->variable_index, desc.typical = p->typical;
      vin_dae *dae = NULL;
      cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
      double *yp = calloc((size_t)p->n, sizeof *yp), absolute[64];
      unsigned char *fixed = malloc((size_t)p->n);
      memset(fixed, 1, (size_t)p->n);
      vin_dae_initial_options initial = vin_dae_initial_options_default();
      initial.fixed_y = fixed; /* y is consistent: y' follows */
      initial.tolerance = 1e-9;
      vin_dae_initial_report report;
      cr_assert_eq(vin_dae_initialise(dae, &initial, p->t0, p->y0, yp, &report), VIN_OK, "%s: %s",
                   p->name, report.text);
      cr_expect_eq(report.correction_y, 0);
      for (int i = 0; i < p->n; i++) absolute[i] = 1e-7 * p->typical[i];
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-7);
      options.absolute_tolerances = absolute, options.time_scale = p->time_scale;
      vin_dae_integrator *integrator = NULL;
      cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &options), VIN_OK);
      cr_assert_eq(vin_dae_integrator_start_implicit(integrator, p->t0, p->y0, yp), VIN_OK, "%s",
                   vin_dae_integrator_error(integrator));
      cr_assert_eq(vin_dae_integrator_run(integrator, p->t_end), VIN_OK, "%s",
                   vin_dae_integrator_error(integrator));
      double error = ivp_error(p, vin_dae_integrator_state(integrator).y, p->n);
      double steps = (double)vin_dae_integrator_get_stats(integrator).steps;
      cr_expect_leq(error, fmax(10 * explicit_form.error, 1e-6), "%s: %g, not %g", p->name, error,
                    explicit_form.error);
      cr_expect_float_eq(steps / (double)explicit_form.steps, 1, 0.1, "%s: %g steps, not %g",
                         p->name, steps, (double)explicit_form.steps);
      vin_dae_integrator_destroy(integrator);
      vin_dae_destroy(dae);
      free(yp), free(fixed);
      ivp_destroy(p);
    }
  }
}
