/* test_dae_implicit - the general form 0 = F(t, y, y'): published values, the same problems in other
 * forms, consistent starts, an index above the declared one, failures. */
#include "dae_pendulum.h"
#include "ivp_run.h"
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_implicit);

enum { MOST = 8, PAIRS = MOST * MOST };

/* A small problem with full patterns. */
typedef struct small {
  vin_int n;
  void (*residual)(double t, const double *y, const double *yp, double *r);
  void (*jacobians)(double t, const double *y, const double *yp, double by_y[MOST][MOST],
                    double by_yp[MOST][MOST]);
  bool differences;
  vin_int index[MOST];
  vin_int rates;                   /* derivatives of the first so many are in F; 0: all */
  int calls, fail_call, fail_code; /* code 0: NaN */
  bool wrong;                      /* one entry of F_y' */
} small;

static int residual(void *user, double t, const double *y, const double *yp, double *r) {
  small *s = user;
  s->residual(t, y, yp, r);
  if (++s->calls != s->fail_call) return 0;
  if (s->fail_code == 0) r[0] = NAN;
  return s->fail_code;
}

static int by_y(void *user, double t, const double *y, const double *yp, double *values) {
  const small *s = user;
  double a[MOST][MOST] = {{0}}, b[MOST][MOST] = {{0}};
  s->jacobians(t, y, yp, a, b);
  for (vin_int i = 0, k = 0; i < s->n; i++)
    for (vin_int j = 0; j < s->n; j++) values[k++] = a[i][j];
  return 0;
}

static int by_yp(void *user, double t, const double *y, const double *yp, double *values) {
  const small *s = user;
  double a[MOST][MOST] = {{0}}, b[MOST][MOST] = {{0}};
  s->jacobians(t, y, yp, a, b);
  vin_int rates = s->rates ? s->rates : s->n;
  for (vin_int i = 0, k = 0; i < s->n; i++)
    for (vin_int j = 0; j < rates; j++) values[k++] = b[i][j];
  if (s->wrong) values[0] += 0.5;
  return 0;
}

static vin_int row[PAIRS], col[PAIRS], rate_row[PAIRS], rate_col[PAIRS];

static vin_dae_desc describe(small *s) {
  vin_dae_desc desc = vin_dae_desc_default();
  vin_int count = 0, rates = 0;
  for (vin_int i = 0; i < s->n; i++)
    for (vin_int j = 0; j < s->n; j++) {
      row[count] = i, col[count++] = j;
      if (s->rates == 0 || j < s->rates) rate_row[rates] = i, rate_col[rates++] = j;
    }
  desc.unknowns = s->n;
  desc.jacobian_pattern = (vin_triplets){count, row, col};
  desc.mass_pattern = (vin_triplets){rates, rate_row, rate_col};
  desc.residual = residual;
  desc.residual_y = s->differences ? NULL : by_y;
  desc.residual_yp = s->differences ? NULL : by_yp;
  desc.index = s->index[0] ? s->index : NULL;
  desc.user = s;
  return desc;
}

static vin_dae *small_dae(small *s) {
  vin_dae_desc desc = describe(s);
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  return dae;
}

static vin_status integrate(small *s, vin_dae_integrator_options options, double t_end, double *y,
                            double *yp, vin_dae_integrator_stats *stats, char *text) {
  vin_dae *dae = small_dae(s);
  vin_dae_integrator *integrator = NULL;
  vin_status status = vin_dae_integrator_create(&integrator, NULL, dae, &options);
  vin_dae_destroy(dae);
  if (status == VIN_OK) status = vin_dae_integrator_start_implicit(integrator, 0, y, yp);
  if (status == VIN_OK) status = vin_dae_integrator_run(integrator, t_end);
  if (status == VIN_OK) {
    vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
    memcpy(y, at.y, (size_t)s->n * sizeof *y);
    memcpy(yp, at.yp, (size_t)s->n * sizeof *yp);
  }
  if (stats != NULL) *stats = vin_dae_integrator_get_stats(integrator);
  if (text != NULL) snprintf(text, 512, "%s", vin_dae_integrator_error(integrator));
  vin_dae_integrator_destroy(integrator);
  return status;
}

/* ---- Robertson's reaction ------------------------------------------------------------------------ */

/* y1' = -0.04 y1 + 1e4 y2 y3, y2' = 0.04 y1 - 1e4 y2 y3 - 3e7 y2^2, 1 = y1 + y2 + y3. */
static void robertson(double t, const double *y, const double *yp, double *r) {
  (void)t;
  r[0] = yp[0] + 0.04 * y[0] - 1e4 * y[1] * y[2];
  r[1] = yp[1] - 0.04 * y[0] + 1e4 * y[1] * y[2] + 3e7 * y[1] * y[1];
  r[2] = y[0] + y[1] + y[2] - 1;
}
static void robertson_jacobians(double t, const double *y, const double *yp, double a[MOST][MOST],
                                double b[MOST][MOST]) {
  (void)t, (void)yp;
  a[0][0] = 0.04, a[0][1] = -1e4 * y[2], a[0][2] = -1e4 * y[1];
  a[1][0] = -0.04, a[1][1] = 1e4 * y[2] + 6e7 * y[1], a[1][2] = 1e4 * y[1];
  a[2][0] = a[2][1] = a[2][2] = 1;
  b[0][0] = b[1][1] = 1;
}

/* End values at t = 40 and 4e10; the latter of the IVP test set ("rober", t = 1e11) are
 * 0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050 (its file, 16 digits). */
Test(dae_implicit, robertson_reaches_the_published_values) {
  NEEDS_UMFPACK;
  static const double published[3] = {0.2083340149701255e-07, 0.8333360770334713e-13,
                                      0.9999999791665050};
  EACH_METHOD(m) {
    for (int differences = 0; differences < 2; differences++) {
      small s = {.n = 3,
                 .residual = robertson,
                 .jacobians = robertson_jacobians,
                 .differences = differences};
      const double absolute[3] = {1e-15, 1e-20, 1e-12};
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
      options.absolute_tolerances = absolute;
      double y[3] = {1, 0, 0}, yp[3] = {-0.04, 0.04, 0};
      char text[512];
      cr_assert_eq(integrate(&s, options, 1e11, y, yp, NULL, text), VIN_OK, "%s", text);
      for (int i = 0; i < 3; i++) /* 1e-8 a step; errors die out */
        cr_expect_float_eq(y[i] / published[i], 1, 1e-5, "method %d, component %d: %.16g", m, i,
                           y[i]);
    }
  }
}

/* ---- the pendulum, index 1, 2, 3, with F nonlinear in y' ------------------------------------------ */

/* F of B y' = f multiplied by a regular matrix and bent: rows r + r^3 / 1000 have the same solutions, and
 * y' enters as a polynomial. */
static int level; /* 1: accelerations, 2: velocities, 3: positions */
static void pendulum(double t, const double *y, const double *yp, double *r) {
  (void)t;
  r[0] = yp[0] - y[2], r[1] = yp[1] - y[3];
  r[2] = yp[2] + y[0] * y[4], r[3] = yp[3] + 9.81 + y[1] * y[4];
  r[4] = level == 3 ? (y[0] * y[0] + y[1] * y[1] - 1) / 2
         : level == 2
             ? y[0] * y[2] + y[1] * y[3]
             : y[2] * y[2] + y[3] * y[3] - 9.81 * y[1] - y[4] * (y[0] * y[0] + y[1] * y[1]);
  for (int i = 0; i < 4; i++) r[i] += r[i] * r[i] * r[i] / 1000;
}

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
    for (level = 1; level <= (m == 0 ? 3 : 2); level++) {
      small s = {.n = 5,
                 .residual = pendulum,
                 .differences = true,
                 .rates = 4,
                 .index = {1, 1, level == 3 ? 2 : 1, level == 3 ? 2 : 1, level}};
      double y[5] = {1, 0, 0, 0, 0}, yp[5] = {0, 0, 0, -9.81, 0};
      char text[512];
      vin_dae_integrator_stats stats;
      vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-8);
      cr_assert_eq(integrate(&s, options, 1, y, yp, &stats, text), VIN_OK, "index %d: %s", level,
                   text);
      /* errors of single steps grow with the swing; index 3 is judged h times less strictly */
      double tolerance = level == 3 ? 1e-4 : 1e-5;
      cr_expect_float_eq(y[0], x, tolerance, "method %d, index %d: %g", m, level, y[0] - x);
      cr_expect_float_eq(y[1], z, tolerance, "method %d, index %d: %g", m, level, y[1] - z);
      cr_expect_eq(stats.symbolic, m == 0 ? 2 : 1);
      /* y' that the method has: q' = v, v' = -q l - g */
      cr_expect_float_eq(yp[0], y[2], 1e-5);
      cr_expect_float_eq(yp[3], -9.81 - y[1] * y[4], level == 3 ? 1e-2 : 1e-4);
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

/* ---- consistent starts --------------------------------------------------------------------------- */

Test(dae_implicit, initialise_with_fixed_y_or_fixed_yp) {
  small s = {.n = 3, .residual = robertson, .jacobians = robertson_jacobians};
  vin_dae *dae = small_dae(&s);
  const unsigned char fixed[3] = {1, 1, 0}, all[3] = {1, 1, 1};
  vin_dae_initial_options options = vin_dae_initial_options_default();
  options.fixed_y = fixed;
  double y[3] = {0.9, 1e-5, 7}, yp[3] = {5, 5, 5};
  vin_dae_initial_report r;
  cr_assert_eq(vin_dae_initialise(dae, &options, 0, y, yp, &r), VIN_OK, "%s", r.text);
  cr_expect_eq(y[0], 0.9);
  cr_expect_eq(y[1], 1e-5);
  cr_expect_float_eq(y[2], 0.09999, 1e-12);
  cr_expect_float_eq(yp[0], -0.04 * 0.9 + 0.1 * 0.09999, 1e-9);
  cr_expect_float_eq(yp[1], 0.04 * 0.9 - 0.1 * 0.09999 - 3e-3, 1e-9);
  cr_expect_eq(yp[2], 5); /* not in F: it stays */
  cr_expect_eq(r.free_y, 1);
  cr_expect_eq(r.free_yp, 3);
  /* everything fixed: the equation that cannot be met is named */
  options.fixed_y = all;
  options.fixed_yp = all;
  double w[3] = {0.1, 0.1, 0.7}, before[3] = {0.1, 0.1, 0.7}, zero[3] = {0};
  cr_expect_eq(vin_dae_initialise(dae, &options, 0, w, zero, &r), VIN_INFEASIBLE);
  cr_expect_not_null(strstr(r.text, "equation"), "%s", r.text);
  cr_expect_arr_eq(w, before, sizeof w);
  vin_dae_destroy(dae);
  /* y' = 0 given: the pendulum at rest hangs, with l = g */
  level = 3;
  small hanging = {.n = 5, .residual = pendulum, .differences = true, .rates = 4};
  const unsigned char rates[5] = {1, 1, 1, 1, 1};
  options = vin_dae_initial_options_default();
  options.fixed_yp = rates;
  double z[5] = {0.1, -0.9, 0.1, 0.2, 8}, rest[5] = {0};
  dae = small_dae(&hanging);
  cr_assert_eq(vin_dae_initialise(dae, &options, 0, z, rest, &r), VIN_OK, "%s", r.text);
  const double exact[5] = {0, -1, 0, 0, 9.81};
  cr_expect_leq(test_max_difference(5, z, exact), 1e-9);
  vin_dae_destroy(dae);
}

/* Index 2: without its hidden constraint y is not consistent, and the start says so; with it it is. */
static int hidden(void *user, double t, const double *y, const double *yp, double *c) {
  (void)user, (void)t, (void)yp;
  c[0] = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1] - y[4] * (y[0] * y[0] + y[1] * y[1]);
  return 0;
}
static int hidden_jacobian(void *user, double t, const double *y, const double *yp, double *v) {
  (void)user, (void)t, (void)yp;
  v[0] = -2 * y[4] * y[0], v[1] = -9.81 - 2 * y[4] * y[1], v[2] = 2 * y[2], v[3] = 2 * y[3];
  v[4] = -y[0] * y[0] - y[1] * y[1];
  return 0;
}

Test(dae_implicit, initialise_with_hidden_constraints) {
  level = 2;
  static const vin_int hidden_row[] = {0, 0, 0, 0, 0}, hidden_col[] = {0, 1, 2, 3, 4};
  static const unsigned char fixed[5] = {1, 1, 0, 0, 0};
  small s = {
      .n = 5, .residual = pendulum, .differences = true, .rates = 4, .index = {1, 1, 1, 1, 2}};
  vin_dae *dae = small_dae(&s);
  vin_dae_initial_options options = vin_dae_initial_options_default();
  options.fixed_y = fixed;
  options.hidden = 1, options.hidden_pattern = (vin_triplets){5, hidden_row, hidden_col};
  options.hidden_constraint = hidden, options.hidden_jacobian = hidden_jacobian;
  double y[5] = {0.6, -0.8, 1, 0.5, 0}, yp[5] = {1, 0.5, 0, 0, 0};
  vin_dae_initial_report r;
  cr_assert_eq(vin_dae_initialise(dae, &options, 0, y, yp, &r), VIN_OK, "%s", r.text);
  cr_expect_float_eq(0.6 * y[2] - 0.8 * y[3], 0, 1e-10);
  cr_expect_float_eq(y[4], y[2] * y[2] + y[3] * y[3] + 9.81 * 0.8, 1e-9);
  cr_expect_float_eq(yp[2], -0.6 * y[4], 1e-9);
  cr_expect_eq(r.dropped, 0);
  vin_dae_destroy(dae);
}

Test(dae_implicit, inconsistent_starts_are_refused) {
  NEEDS_UMFPACK;
  small s = {.n = 3, .residual = robertson, .jacobians = robertson_jacobians, .rates = 2};
  vin_dae *dae = small_dae(&s);
  vin_dae_integrator *integrator = NULL;
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, NULL), VIN_OK);
  const double y[3] = {1, 0, 0}, wrong[3] = {1, 0, 0.3}, yp[3] = {-0.04, 0.04, 0}, zero[3] = {0},
               bad[3] = {NAN, 0, 0};
  const char *text;
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, wrong, yp), VIN_ERR_BAD_INPUT);
  text = vin_dae_integrator_error(integrator);
  cr_expect_not_null(strstr(text, "unknown 2"), "%s", text);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, zero), VIN_ERR_BAD_INPUT);
  text = vin_dae_integrator_error(integrator);
  cr_expect_not_null(strstr(text, "derivatives"), "%s", text);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, bad), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_dae_integrator_start(integrator, 0, y), VIN_ERR_UNSUPPORTED);
  cr_expect_eq(vin_dae_integrator_start_implicit(integrator, 0, y, yp), VIN_OK);
  vin_dae_integrator_destroy(integrator);
  vin_dae_destroy(dae);
}

/* ---- index --------------------------------------------------------------------------------------- */

Test(dae_implicit, index_above_the_declared_is_found) {
  NEEDS_UMFPACK;
  double y[5] = {0.6, -0.8, 0, 0, 9.81 * 0.8}, yp[5] = {0, 0, -0.6 * y[4], -9.81 + 0.8 * y[4], 0};
  vin_dae_index_report report;
  for (level = 1; level <= 3; level++) {
    small s = {.n = 5, .residual = pendulum, .differences = true, .rates = 4};
    vin_dae *dae = small_dae(&s);
    vin_status status = vin_dae_index_check_implicit(dae, 0, y, yp, 1e-6, &report);
    if (status != VIN_ERR_UNSUPPORTED)
      cr_expect_eq(status, level == 1 ? VIN_OK : VIN_SINGULAR, "%s", report.text);
    vin_dae_destroy(dae);
  }
  level = 3; /* and an integrator that was told 1 stops, with the reason */
  small s = {.n = 5, .residual = pendulum, .differences = true, .rates = 4};
  char text[512];
  vin_dae_integrator_options options = test_dae_options(VIN_DAE_RADAU, 1e-8);
  vin_status status = integrate(&s, options, 1, y, yp, NULL, text);
  cr_expect_neq(status, VIN_OK);
  cr_expect_not_null(strstr(text, "index"), "%s", text);
}

/* ---- derivatives, bad input, failures ------------------------------------------------------------ */

Test(dae_implicit, derivative_check) {
  const double y[3] = {0.5, 2e-5, 0.4}, yp[3] = {1, 2, 3};
  vin_derivative_check check;
  small s = {.n = 3, .residual = robertson, .jacobians = robertson_jacobians};
  vin_dae *dae = small_dae(&s);
  cr_expect_eq(vin_dae_check_implicit(dae, 0, y, yp, &check), VIN_OK, "%s", check.text);
  s.wrong = true;
  cr_expect_eq(vin_dae_check_implicit(dae, 0, y, yp, &check), VIN_CHECK_FAILED);
  cr_expect_str_eq(check.function, "residual_yp");
  cr_expect_eq(check.row, 0);
  cr_expect_eq(check.col, 0);
  cr_expect_float_eq(check.given, 1.5, 1e-12);
  double f[3], values[9], given[9];
  char text[128];
  cr_expect_eq(vin_dae_function(dae, 0, y, f, text, sizeof text), VIN_ERR_UNSUPPORTED);
  cr_expect_eq(vin_dae_check(dae, 0, y, &check), VIN_ERR_UNSUPPORTED);
  vin_dae_index_report index;
  cr_expect_eq(vin_dae_index_check(dae, 0, y, 0, &index), VIN_ERR_UNSUPPORTED);
  vin_branch *branch = NULL;
  cr_expect_neq(vin_branch_create(&branch, NULL, dae, NULL), VIN_OK);
  vin_branch_destroy(branch);
  cr_expect_eq(vin_dae_residual(dae, 0, y, yp, f, text, sizeof text), VIN_OK);
  cr_expect_float_eq(f[2], 0.5 + 2e-5 + 0.4 - 1, 1e-15);
  s.wrong = false;
  cr_expect_eq(vin_dae_residual_jacobians(dae, 0, y, yp, given, NULL, text, sizeof text), VIN_OK);
  vin_dae_destroy(dae);
  s.differences = true;
  dae = small_dae(&s);
  cr_expect_eq(vin_dae_residual_jacobians(dae, 0, y, yp, values, NULL, text, sizeof text), VIN_OK);
  for (int k = 0; k < 9; k++) cr_expect_float_eq(values[k], given[k], 1e-6 * (1 + fabs(given[k])));
  vin_dae_destroy(dae);
}

static void expect_refused(vin_dae_desc desc, const char *word) {
  vin_dae *dae = NULL;
  cr_expect_eq(vin_dae_create(&dae, NULL, &desc), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_dae_error(dae), word), "%s, not %s", vin_dae_error(dae), word);
  vin_dae_destroy(dae);
}

static int some_function(void *user, double t, const double *y, double *f) {
  (void)user, (void)t, (void)y, (void)f;
  return 0;
}

Test(dae_implicit, descriptions_of_two_forms_are_refused) {
  small s = {.n = 3, .residual = robertson, .jacobians = robertson_jacobians};
  const double values[9] = {0}, rates[3] = {1, 0, 1};
  vin_dae_desc desc = describe(&s);
  desc.function = some_function, expect_refused(desc, "function");
  desc = describe(&s), desc.jacobian = some_function, expect_refused(desc, "jacobian");
  desc = describe(&s), desc.mass_values = values, expect_refused(desc, "mass_values");
  desc = describe(&s), desc.differential = 1, expect_refused(desc, "differential");
  desc = describe(&s), desc.typical_rate = rates, expect_refused(desc, "typical_rate[1]");
}

Test(dae_implicit, failing_residuals) {
  NEEDS_UMFPACK;
  static const int codes[3] = {1, -1, 0};
  for (int m = 0; m < 2; m++) {
    for (int k = 0; k < 3; k++) {
      for (int call = 1; call < 60; call++) {
        small s = {.n = 3,
                   .residual = robertson,
                   .jacobians = robertson_jacobians,
                   .differences = true,
                   .fail_call = call,
                   .fail_code = codes[k]};
        double y[3] = {1, 0, 0}, yp[3] = {-0.04, 0.04, 0};
        char text[512];
        vin_status status =
            integrate(&s, test_dae_options(test_dae_methods[m], 1e-4), 0.1, y, yp, NULL, text);
        if (codes[k] < 0 && s.calls >= call)
          cr_expect_eq(status, VIN_ERR_CALLBACK, "call %d: %s", call, text);
        else if (status != VIN_OK)
          cr_expect_not_null(strstr(text, "residual"), "%s", text);
      }
    }
  }
}

Test(dae_implicit, every_allocation_may_fail) {
  NEEDS_UMFPACK;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    small s = {.n = 3, .residual = robertson, .differences = true};
    vin_dae_desc desc = describe(&s);
    const double rates[3] = {1, 1, 1};
    desc.typical_rate = rates;
    vin_dae *dae = NULL;
    vin_dae_integrator *integrator = NULL;
    double y[3] = {1, 0, 0}, yp[3] = {-0.04, 0.04, 0};
    vin_dae_initial_report report;
    vin_status status = vin_dae_create(&dae, &context, &desc);
    if (status == VIN_OK) status = vin_dae_initialise(dae, NULL, 0, y, yp, &report);
    if (status == VIN_OK) status = vin_dae_integrator_create(&integrator, &context, dae, NULL);
    if (status == VIN_OK) status = vin_dae_integrator_start_implicit(integrator, 0, y, yp);
    if (status == VIN_OK) status = vin_dae_integrator_run(integrator, 0.1);
    cr_expect_eq(status, allocator.calls < k ? VIN_OK : VIN_ERR_NO_MEMORY, "%lld: %s", (long long)k,
                 vin_status_name(status));
    vin_dae_integrator_destroy(integrator);
    vin_dae_destroy(dae);
    cr_assert_eq(allocator.live, 0);
    if (allocator.calls < k) break;
  }
}
