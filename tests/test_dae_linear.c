/* Linear problems F x' + G x = h(t). The first tests are the example of E. Bertolazzi, Numerical
 * Methods for DAEs, 8.2: x = sin t, x' + y = 0, index 2, solution (sin t, -cos t). Its figures 8.3 to
 * 8.6 have their initial values of x and y exchanged; here they are as they must be. */
#include "dae_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_linear);

static int sine(void *user, double t, double *h) {
  (void)user;
  h[0] = sin(t), h[1] = 0;
  return 0;
}

static vin_linear_dae_desc sine_desc(double tau) {
  static const vin_int one[1] = {1}, zero[1] = {0}, both[2] = {0, 1};
  static const double ones[2] = {1, 1};
  vin_linear_dae_desc desc = vin_linear_dae_desc_default();
  desc.unknowns = 2;
  desc.f_pattern = (vin_triplets){1, one, zero}, desc.f_values = ones;
  desc.g_pattern = (vin_triplets){2, both, both}, desc.g_values = ones;
  desc.h = sine, desc.tau = tau;
  return desc;
}

static vin_linear_dae *created(const vin_linear_dae_desc *desc) {
  vin_linear_dae *dae = NULL;
  cr_assert_eq(vin_linear_dae_create(&dae, NULL, desc), VIN_OK, "%s", vin_linear_dae_error(dae));
  return dae;
}

enum { STEPS = 400 };

/* The states of the example from (x0, y0), h = 0.05, t up to 20. */
static void example(vin_linear_method method, double tau, double x0, double y0, double h,
                    double *states) {
  vin_linear_dae_desc desc = sine_desc(tau);
  vin_linear_dae *dae = created(&desc);
  double x[2] = {x0, y0};
  vin_int done;
  cr_assert_eq(vin_linear_dae_run(dae, method, 0, h, STEPS, x, states, &done), VIN_OK, "%s",
               vin_linear_dae_error(dae));
  cr_expect_eq(done, STEPS);
  cr_expect_eq(memcmp(x, states + 2 * STEPS, sizeof x), 0);
  vin_linsys_info info = vin_linear_dae_solver_info(dae);
  cr_expect(info.symbolic_count == 1 && info.numeric_count == 1);
  vin_linear_dae_destroy(dae);
}

/* Figures 8.1 and 8.2: x is exact, whatever the start; y has the error of a backward difference,
 * h/2 max |sin|, from the second step on also with an inconsistent start. */
Test(dae_linear, implicit_euler) {
  NEEDS_UMFPACK;
  static double s[2 * (STEPS + 1)];
  static const double starts[2][2] = {{0, -1}, {0.01, -0.9}};
  for (int k = 0; k < 2; k++) {
    double h = 0.05, worst = 0;
    example(VIN_LINEAR_IMPLICIT_EULER, 0, starts[k][0], starts[k][1], h, s);
    for (int i = 1; i <= STEPS; i++) cr_assert_float_eq(s[2 * i], sin(i * h), 1e-15);
    for (int i = 2; i <= STEPS; i++) worst = fmax(worst, fabs(s[2 * i + 1] + cos(i * h)));
    cr_expect_float_eq(worst, h / 2, 1e-4); /* next term h^2/6 = 4e-4 times cos where sin is 1 */
    /* the first y carries the start: (x_0 - sin t_1) / h */
    cr_expect_float_eq(s[3], (starts[k][0] - sin(h)) / h, 1e-13);
  }
}

/* Figure 8.3: x_k = sin t_k + (-1)^k x_0, here with x_0 = 0, and y of second order. */
Test(dae_linear, crank_nicolson_from_a_consistent_start) {
  NEEDS_UMFPACK;
  static double s[2 * (STEPS + 1)];
  double error[2];
  for (int k = 0; k < 2; k++) {
    double h = k ? 0.0125 : 0.025;
    example(VIN_LINEAR_CRANK_NICOLSON, 0, 0, -1, h, s);
    error[k] = 0;
    for (int i = 0; i <= STEPS; i++) {
      cr_assert_float_eq(s[2 * i], sin(i * h), 1e-13);
      if (i * h <= 5) error[k] = fmax(error[k], fabs(s[2 * i + 1] + cos(i * h)));
    }
  }
  cr_expect_float_eq(test_order(error[0], error[1]), 2, 0.05, "%g %g", error[0], error[1]);
}

/* Figure 8.4: with x_0 = 0.01 the error of x changes sign for ever and that of y grows as 4 k x_0/h:
 * y_k = -y_{k-1} + 2 (x_{k-1} - x_k) / h, where x_{k-1} - x_k holds 2 (-1)^{k-1} x_0. */
Test(dae_linear, crank_nicolson_from_an_inconsistent_start) {
  NEEDS_UMFPACK;
  static double s[2 * (STEPS + 1)];
  double h = 0.05, x0 = 0.01;
  example(VIN_LINEAR_CRANK_NICOLSON, 0, x0, -1, h, s);
  for (int i = 0; i <= STEPS; i++) {
    double sign = i % 2 ? -1 : 1;
    cr_assert_float_eq(s[2 * i], sin(i * h) + sign * x0, 1e-13);
    /* besides the error of the consistent start, h^2/12 times 2: 5e-4 */
    cr_assert_float_eq(s[2 * i + 1] + cos(i * h), -sign * 4 * i * x0 / h, 1e-3, "step %d: %g", i,
                       s[2 * i + 1]);
  }
}

/* Figures 8.5 and 8.6, tau = 5: the error of x decays by (2 tau - h) / (2 tau + h) a step. That of y
 * decays with it only from y_0 = -1 + x_0 / tau; from another start the difference stays for ever,
 * with alternating sign. */
Test(dae_linear, baumgarte_and_crank_nicolson) {
  NEEDS_UMFPACK;
  static double s[2 * (STEPS + 1)], other[2 * (STEPS + 1)];
  double h = 0.05, tau = 5, x0 = 0.1, factor = (2 * tau - h) / (2 * tau + h);
  example(VIN_LINEAR_CRANK_NICOLSON, tau, x0, -1 + x0 / tau, h, s);
  example(VIN_LINEAR_CRANK_NICOLSON, tau, x0, -1, h, other);
  double decay = 1;
  for (int i = 0; i <= STEPS; i++, decay *= factor) {
    double sign = i % 2 ? -1 : 1;
    cr_assert_float_eq(s[2 * i] - sin(i * h), x0 * decay, 1e-13);
    cr_assert_float_eq(s[2 * i + 1] + cos(i * h), x0 / tau * decay, 5e-4); /* h^2/12 twice */
    cr_assert_float_eq(other[2 * i + 1] - s[2 * i + 1], -sign * x0 / tau, 1e-12);
  }
  cr_expect_float_eq(decay, exp(-(STEPS + 1) * h / tau), 1e-5); /* what the factor stands for */
  /* the same recursion as printed in the source for y */
  for (int i = 0; i < STEPS; i++) {
    double now = sin(i * h), next = sin((i + 1) * h);
    double printed = (now * (4 * tau - 2 * h) - next * (4 * tau + 2 * h) + 4 * h * s[2 * i]) /
                         (h * (2 * tau + h)) -
                     s[2 * i + 1];
    cr_assert_float_eq(s[2 * i + 3], printed, 1e-12);
  }
}

/* Implicit Euler with the term: the error of x decays by tau / (tau + h). */
Test(dae_linear, baumgarte_and_implicit_euler) {
  NEEDS_UMFPACK;
  static double s[2 * (STEPS + 1)];
  double h = 0.05, tau = 0.5, decay = 0.1;
  example(VIN_LINEAR_IMPLICIT_EULER, tau, 0.1, -1, h, s);
  for (int i = 0; i <= STEPS; i++, decay *= tau / (tau + h))
    cr_assert_float_eq(s[2 * i] - sin(i * h), decay, 1e-14);
}

/* ---- a network of any size ---------------------------------------------------------------------- */

/* A row of n cells x_i' = -x_i + z_i, 0 = z_i - (z_{i-1} + z_{i+1}) / 4 - cos(t) + ... : chosen so that
 * x_i = c_i cos t, z_i = c_i (cos t - sin t). The right-hand side of row n + i is
 * (c_i - (c_{i-1} + c_{i+1}) / 4) (cos t - sin t). */
typedef struct cells {
  vin_int n;
  vin_int *f, *row, *col;
  double *f_values, *values;
} cells;

static double amplitude(vin_int i) {
  return 1 + 0.5 * sin(0.1 * i);
}

static int cells_h(void *user, double t, double *h) {
  const cells *c = user;
  for (vin_int i = 0; i < c->n; i++) {
    double sum = (i > 0 ? amplitude(i - 1) : 0) + (i + 1 < c->n ? amplitude(i + 1) : 0);
    h[i] = 0;
    h[c->n + i] = (amplitude(i) - sum / 4) * (cos(t) - sin(t));
  }
  return 0;
}

static vin_linear_dae_desc cells_desc(cells *c, vin_int n) {
  size_t most = 5 * (size_t)n;
  *c = (cells){.n = n};
  c->f = calloc((size_t)n, sizeof *c->f), c->f_values = calloc((size_t)n, sizeof *c->f_values);
  c->row = calloc(most, sizeof *c->row), c->col = calloc(most, sizeof *c->col);
  c->values = calloc(most, sizeof *c->values);
  vin_int k = 0;
#define PUT(i, j, v) c->row[k] = (i), c->col[k] = (j), c->values[k++] = (v)
  for (vin_int i = 0; i < n; i++) {
    c->f[i] = i, c->f_values[i] = 1;
    PUT(i, i, 1);
    PUT(i, n + i, -1);
    PUT(n + i, n + i, 1);
    if (i > 0) PUT(n + i, n + i - 1, -0.25);
    if (i + 1 < n) PUT(n + i, n + i + 1, -0.25);
  }
#undef PUT
  vin_linear_dae_desc desc = vin_linear_dae_desc_default();
  desc.unknowns = 2 * n;
  desc.f_pattern = (vin_triplets){n, c->f, c->f}, desc.f_values = c->f_values;
  desc.g_pattern = (vin_triplets){k, c->row, c->col}, desc.g_values = c->values;
  desc.h = cells_h, desc.user = c;
  return desc;
}

static void cells_free(cells *c) {
  free(c->f), free(c->f_values), free(c->row), free(c->col), free(c->values);
}

/* Orders 1 and 2 in x and z with 10^4 unknowns; one analysis, a factorisation for each step size. */
Test(dae_linear, orders_and_one_factorisation_for_each_step) {
  NEEDS_UMFPACK;
  cells c;
  vin_int n = 5000;
  vin_linear_dae_desc desc = cells_desc(&c, n);
  vin_linear_dae *dae = created(&desc);
  double *x = calloc(2 * (size_t)n, sizeof *x);
  for (int m = 0; m < 2; m++) {
    double error[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
      vin_int steps = k ? 40 : 20;
      for (vin_int i = 0; i < n; i++) x[i] = x[n + i] = amplitude(i);
      /* in two halves: the second needs no new factorisation */
      for (int half = 0; half < 2; half++)
        cr_assert_eq(vin_linear_dae_run(dae, (vin_linear_method)m, 0.5 * half, 1.0 / steps,
                                        steps / 2, x, NULL, NULL),
                     VIN_OK, "%s", vin_linear_dae_error(dae));
      for (vin_int i = 0; i < n; i++) {
        error[k] = fmax(error[k], fabs(x[i] - amplitude(i) * cos(1.0)));
        /* z does not depend on x: the method has it exactly (implicit Euler), or from the
         * consistent start (Crank-Nicolson) */
        cr_assert_float_eq(x[n + i], amplitude(i) * (cos(1.0) - sin(1.0)), 1e-12);
      }
    }
    cr_expect_float_eq(test_order(error[0], error[1]), m + 1, 0.1, "%g %g", error[0], error[1]);
  }
  vin_linsys_info info = vin_linear_dae_solver_info(dae);
  cr_expect_eq(info.symbolic_count, 1);
  cr_expect_eq(info.numeric_count, 4);
  vin_linear_dae_destroy(dae);
  cells_free(&c);
  free(x);
}

/* ---- failures ----------------------------------------------------------------------------------- */

static int failing(void *user, double t, double *h) {
  h[0] = h[1] = 0;
  if (t < 0.25) return 0;
  if (*(int *)user == 99) h[1] = NAN;
  return *(int *)user == 99 ? 0 : *(int *)user;
}

Test(dae_linear, failures_keep_the_last_state) {
  NEEDS_UMFPACK;
  static const int codes[3] = {2, -2, 99};
  for (int k = 0; k < 3; k++) {
    int code = codes[k];
    vin_linear_dae_desc desc = sine_desc(0);
    desc.h = failing, desc.user = &code;
    vin_linear_dae *dae = created(&desc);
    double x[2] = {0, 0};
    vin_int done;
    cr_expect_eq(vin_linear_dae_run(dae, VIN_LINEAR_IMPLICIT_EULER, 0, 0.1, 5, x, NULL, &done),
                 code == -2 ? VIN_ERR_CALLBACK : VIN_RETRY);
    cr_expect_eq(done, 2);
    cr_expect(strstr(vin_linear_dae_error(dae), "t = 0.3") != NULL, "%s",
              vin_linear_dae_error(dae));
    vin_linear_dae_destroy(dae);
  }
}

static void refused(vin_linear_dae_desc desc, const char *words) {
  vin_linear_dae *dae = NULL;
  cr_expect_eq(vin_linear_dae_create(&dae, NULL, &desc), VIN_ERR_BAD_INPUT, "%s", words);
  cr_expect(strstr(vin_linear_dae_error(dae), words) != NULL, "%s", vin_linear_dae_error(dae));
  double x[2] = {0, 0};
  cr_expect_eq(vin_linear_dae_run(dae, VIN_LINEAR_IMPLICIT_EULER, 0, 1, 1, x, NULL, NULL),
               VIN_ERR_BAD_STATE);
  vin_linear_dae_destroy(dae);
}

Test(dae_linear, bad_descriptions_are_refused) {
  static const double bad[2] = {NAN, 1};
  static const vin_int row[2] = {0, 1};
  vin_linear_dae_desc good = sine_desc(0), d = good;
  d.struct_size = 1, refused(d, "struct_size");
  d = good, d.unknowns = 0, refused(d, "unknowns is 0");
  d = good, d.unknowns = 1, refused(d, "F pattern");
  d = good, d.g_values = NULL, refused(d, "G pattern are NULL");
  d = good, d.f_values = bad, refused(d, "F pattern is nan");
  d = good, d.tau = -1, refused(d, "tau is -1");
  d = good, d.tau = 1, d.f_pattern = (vin_triplets){2, row, row}, d.f_values = d.g_values;
  refused(d, "no zero row");
  vin_linear_dae *dae = NULL;
  cr_expect_eq(vin_linear_dae_create(&dae, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_linear_dae_destroy(dae);
  vin_linear_dae_destroy(NULL);
}

Test(dae_linear, bad_runs_are_refused) {
  NEEDS_UMFPACK;
  vin_linear_dae_desc desc = sine_desc(0);
  vin_linear_dae *dae = created(&desc);
  double x[2] = {0, 0}, wrong[2] = {0, INFINITY};
  static const struct {
    double t, h;
    vin_int steps;
  } cases[] = {{0, 0, 1}, {0, -1, 1}, {0, NAN, 1}, {0, 1, 0}, {1e17, 1, 1}, {NAN, 1, 1}};
  for (int k = 0; k < 6; k++)
    cr_expect_eq(vin_linear_dae_run(dae, VIN_LINEAR_IMPLICIT_EULER, cases[k].t, cases[k].h,
                                    cases[k].steps, x, NULL, NULL),
                 VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_linear_dae_run(dae, VIN_LINEAR_IMPLICIT_EULER, 0, 1, 1, wrong, NULL, NULL),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_linear_dae_run(dae, VIN_LINEAR_IMPLICIT_EULER, 0, 1, 1, NULL, NULL, NULL),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_linear_dae_run(dae, (vin_linear_method)5, 0, 1, 1, x, NULL, NULL),
               VIN_ERR_BAD_INPUT);
  vin_linear_dae_destroy(dae);
}

/* x' + y = 0 twice: no pencil. */
Test(dae_linear, a_singular_pencil_is_found) {
  NEEDS_UMFPACK;
  static const vin_int row[4] = {0, 0, 1, 1}, col[4] = {0, 1, 0, 1};
  static const double f[4] = {1, 0, 2, 0}, g[4] = {0, 1, 0, 2};
  vin_linear_dae_desc desc = vin_linear_dae_desc_default();
  desc.unknowns = 2;
  desc.f_pattern = desc.g_pattern = (vin_triplets){4, row, col};
  desc.f_values = f, desc.g_values = g;
  vin_linear_dae *dae = created(&desc);
  double x[2] = {1, 2};
  cr_expect_eq(vin_linear_dae_run(dae, VIN_LINEAR_CRANK_NICOLSON, 0, 0.1, 3, x, NULL, NULL),
               VIN_SINGULAR);
  cr_expect(x[0] == 1 && x[1] == 2);
  vin_linear_dae_destroy(dae);
}

/* x' = x by implicit Euler: 1 - h vanishes at h = 1; afterwards h = 1/2 (x_1 = 2 x_0) works again. */
Test(dae_linear, a_failed_factorisation_is_forgotten) {
  NEEDS_UMFPACK;
  static const vin_int zero[1] = {0};
  static const double one[1] = {1}, minus[1] = {-1};
  vin_linear_dae_desc desc = vin_linear_dae_desc_default();
  desc.unknowns = 1;
  desc.f_pattern = desc.g_pattern = (vin_triplets){1, zero, zero};
  desc.f_values = one, desc.g_values = minus;
  vin_linear_dae *dae = created(&desc);
  double x[1] = {1};
  static const double steps[3] = {0.5, 1, 0.5}, expected[3] = {2, 2, 4};
  for (int k = 0; k < 3; k++) {
    vin_status status =
        vin_linear_dae_run(dae, VIN_LINEAR_IMPLICIT_EULER, 0, steps[k], 1, x, NULL, NULL);
    cr_expect_eq(status, k == 1 ? VIN_SINGULAR : VIN_OK, "%s", vin_linear_dae_error(dae));
    cr_expect_eq(x[0], expected[k]);
  }
  vin_linear_dae_destroy(dae);
}

Test(dae_linear, every_failed_allocation_is_handled) {
  NEEDS_UMFPACK;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_linear_dae_desc desc = sine_desc(1);
    vin_linear_dae *dae = NULL;
    vin_status status = vin_linear_dae_create(&dae, &context, &desc);
    int64_t calls = allocator.calls;
    double x[2] = {0, -1};
    if (status == VIN_OK) {
      status = vin_linear_dae_run(dae, VIN_LINEAR_CRANK_NICOLSON, 0, 0.1, 3, x, NULL, NULL);
      cr_expect(status == VIN_OK && allocator.calls == calls);
    } else {
      cr_expect_eq(status, VIN_ERR_NO_MEMORY, "%s", vin_linear_dae_error(dae));
    }
    vin_linear_dae_destroy(dae);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) break;
  }
}
