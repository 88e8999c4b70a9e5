/* Constrained minimisation: nearest points, fixed unknowns, redundant and
 * contradictory constraints, failures. */
#include "small_problem.h"
#include "test_newton.h"
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(minimise);
/* ---- nearest points ----------------------------------------------------------------------- */

/* The ellipse x^2 + 4 y^2 = 4, and its tangent line at (0, 1) for contradictions. */
static void ellipse(const double *x, double *c) {
  c[0] = x[0] * x[0] + 4 * x[1] * x[1] - 4, c[1] = 2 * c[0];
}
static void ellipse_jacobian(const double *x, double a[MOST][MOST]) {
  a[0][0] = 2 * x[0], a[0][1] = 8 * x[1], a[1][0] = 4 * x[0], a[1][1] = 16 * x[1];
}
static void ellipse_second(const double *x, const double *l, double h[MOST][MOST]) {
  (void)x, h[0][0] = 2 * l[0] + 4 * l[1], h[1][1] = 8 * l[0] + 16 * l[1];
}

/* The same with the second row counting too (m = 2) or not (m = 1). */
static small ellipse_problem(vin_int m) {
  return (small){.n = 2,
                 .m = m,
                 .constraint = ellipse,
                 .jacobian = ellipse_jacobian,
                 .second = ellipse_second};
}
static void second_row_ignored(const double *x, const double *l, double h[MOST][MOST]) {
  double one[2] = {l[0], 0};
  ellipse_second(x, one, h);
}

/* Outside the ellipse the nearest point is w_i y_i / (w_i + 2 l k_i) with the l > 0 at which it lies on
 * the ellipse, k = (1, 4): found by bisection. */
static void ellipse_nearest(const double *w, const double *from, double *to) {
  double low = 0, high = 1e6;
  for (int k = 0; k < 200; k++) {
    double l = (low + high) / 2;
    to[0] = w[0] * from[0] / (w[0] + 2 * l), to[1] = w[1] * from[1] / (w[1] + 8 * l);
    if (to[0] * to[0] + 4 * to[1] * to[1] > 4)
      low = l;
    else
      high = l;
  }
}

/* 1e-10: the relative gradient tolerance, times the distances of order 1. Gauss-Newton reaches the same
 * points where it converges: curvature times distance below 1. */
Test(minimise, ellipse_in_weighted_metrics) {
  test_random random = {7};
  for (int trial = 0; trial < 200; trial++) {
    double w[2] = {test_random_between(&random, 0.2, 5), test_random_between(&random, 0.2, 5)};
    double angle = test_random_between(&random, -3.1, 3.1);
    bool exact = trial % 2 == 0;
    double r = test_random_between(&random, 1.01, exact ? 3 : 1.1);
    double from[2] = {2 * r * cos(angle), r * sin(angle)}, y[2] = {from[0], from[1]}, nearest[2];
    small s = ellipse_problem(1);
    s.second = second_row_ignored;
    vin_minimise_desc desc = small_describe(&s, exact);
    vin_minimise_options options = vin_minimise_options_default();
    options.weights = w;
    char text[512];
    vin_minimise_report report;
    vin_status status = vin_minimise(&desc, &options, y, NULL, &report, text, sizeof text);
    cr_assert_eq(status, VIN_OK, "from (%g, %g): %s", from[0], from[1], text);
    ellipse_nearest(w, from, nearest);
    cr_expect_leq(test_max_difference(2, y, nearest), 1e-9, "from (%g, %g), w %g %g, exact %d",
                  from[0], from[1], w[0], w[1], exact);
    if (exact) cr_expect_leq(report.iterations, 12);
  }
}

/* A fixed coordinate stays bit for bit, by flag or by an infinite weight; the other one does it all. */
Test(minimise, fixed_unknowns) {
  small s = ellipse_problem(1);
  s.second = second_row_ignored;
  vin_minimise_desc desc = small_describe(&s, true);
  double w[2] = {HUGE_VAL, 1};
  unsigned char fixed[2] = {1, 0};
  for (int how = 0; how < 2; how++) {
    vin_minimise_options options = vin_minimise_options_default();
    options.weights = how == 0 ? w : NULL;
    options.fixed = how == 0 ? NULL : fixed;
    double y[2] = {1.2, 1.5};
    vin_minimise_report report;
    cr_assert_eq(vin_minimise(&desc, &options, y, NULL, &report, NULL, 0), VIN_OK);
    cr_expect_eq(y[0], 1.2);
    cr_expect_float_eq(y[1], sqrt((4 - 1.44) / 4), 1e-12);
    cr_expect_eq(report.free, 1);
  }
}

static void name_curve(void *user, vin_int row, char *text, size_t size) {
  (void)user;
  snprintf(text, size, row == 0 ? "curve 'ellipse'" : "curve 'twin'");
}

/* x = 3 is outside the ellipse: no y helps. With both fixed, nothing is left to move. The text names
 * the row; y stays. */
Test(minimise, fixed_data_that_cannot_be_met) {
  small s = ellipse_problem(1);
  s.second = second_row_ignored;
  vin_minimise_desc desc = small_describe(&s, true);
  desc.constraint_name = name_curve;
  for (int both = 0; both < 2; both++) {
    unsigned char fixed[2] = {1, (unsigned char)both};
    vin_minimise_options options = vin_minimise_options_default();
    options.fixed = fixed;
    double y[2] = {3, 0.5};
    char text[512];
    vin_minimise_report report;
    vin_status status = vin_minimise(&desc, &options, y, NULL, &report, text, sizeof text);
    cr_assert_eq(status, VIN_INFEASIBLE, "%s", text);
    cr_expect(strstr(text, "curve 'ellipse'") != NULL, "%s", text);
    if (both) cr_expect(strstr(text, "cannot be met by the free unknowns") != NULL, "%s", text);
    cr_expect(y[0] == 3 && y[1] == 0.5);
    cr_expect_float_eq(report.constraint_after, both ? 6 : 5, 1e-6); /* 9 + 4 y^2 - 4 */
  }
}

/* The ellipse given twice: one row is dropped, and the point is the same. Refused: named. */
Test(minimise, redundant_rows) {
  small s = ellipse_problem(2);
  vin_minimise_desc desc = small_describe(&s, true);
  desc.constraint_name = name_curve;
  double from[2] = {2, 1.5}, y[2] = {2, 1.5}, nearest[2], w[2] = {1, 1};
  vin_minimise_report report;
  char text[512];
  vin_status status = vin_minimise(&desc, NULL, y, NULL, &report, text, sizeof text);
  cr_assert_eq(status, VIN_OK, "%s", text);
  ellipse_nearest(w, from, nearest);
  cr_expect_leq(test_max_difference(2, y, nearest), 1e-9);
  cr_expect_eq(report.dropped, 1);
  vin_minimise_options options = vin_minimise_options_default();
  options.kkt.redundancy = VIN_REDUNDANCY_REFUSE;
  memcpy(y, from, sizeof y);
  status = vin_minimise(&desc, &options, y, NULL, NULL, text, sizeof text);
  cr_assert_eq(status, VIN_SINGULAR, "%s", text);
  cr_expect(strstr(text, "curve '") != NULL, "%s", text);
}

/* Two circles 3 m apart with radius 1: no common point; ends at a stationary point of |c|^2, which is
 * between them on their axis, by symmetry at x = 1.5 for every start near the axis. */
static void circles(const double *x, double *c) {
  c[0] = x[0] * x[0] + x[1] * x[1] - 1, c[1] = (x[0] - 3) * (x[0] - 3) + x[1] * x[1] - 1;
}
static void circles_jacobian(const double *x, double a[MOST][MOST]) {
  a[0][0] = 2 * x[0], a[0][1] = 2 * x[1], a[1][0] = 2 * (x[0] - 3), a[1][1] = 2 * x[1];
}
static void circles_second(const double *x, const double *l, double h[MOST][MOST]) {
  (void)x, h[0][0] = h[1][1] = 2 * (l[0] + l[1]);
}

Test(minimise, contradictory_constraints) {
  small s = {.n = 2,
             .m = 2,
             .constraint = circles,
             .jacobian = circles_jacobian,
             .second = circles_second};
  vin_minimise_desc desc = small_describe(&s, true);
  test_random random = {11};
  for (int trial = 0; trial < 50; trial++) {
    double y[2] = {test_random_between(&random, 0.5, 2.5), test_random_between(&random, -1, 1)};
    double kept[2] = {y[0], y[1]};
    vin_minimise_report report;
    char text[512];
    vin_status status = vin_minimise(&desc, NULL, y, NULL, &report, text, sizeof text);
    cr_assert_eq(status, VIN_INFEASIBLE, "%s", text);
    cr_expect_float_eq(report.constraint_after, 1.25, 1e-3, "%g", report.constraint_after);
    cr_expect_leq(report.iterations, 100);
    cr_expect(memcmp(y, kept, sizeof y) == 0);
  }
}

/* ---- projections of index 1 and 2 ([6], 8.6) ---------------------------------------------- */

/* x' = (y, x1), |x|^2 = 1 (index 2): h = 2 (x1 y + x2 x1). Unknowns (x1, x2, y). */
static void index2(const double *x, double *c) {
  c[0] = x[0] * x[0] + x[1] * x[1] - 1, c[1] = 2 * (x[0] * x[2] + x[1] * x[0]);
}
static void index2_jacobian(const double *x, double a[MOST][MOST]) {
  a[0][0] = 2 * x[0], a[0][1] = 2 * x[1];
  a[1][0] = 2 * (x[2] + x[1]), a[1][1] = 2 * x[0], a[1][2] = 2 * x[0];
}
static void index2_second(const double *x, const double *l, double h[MOST][MOST]) {
  (void)x, h[0][0] = h[1][1] = 2 * l[0], h[1][0] = h[2][0] = 2 * l[1];
}

typedef struct conditions {
  const small *s;
  const double *start;
  double sign;
} conditions;

/* y - start + A' lambda and c, for z = (y, lambda) */
static void nearest_conditions(void *user, const double *z, double *r) {
  const conditions *k = user;
  double a[MOST][MOST] = {{0}};
  vin_int n = k->s->n, m = k->s->m;
  k->s->jacobian(z, a);
  for (vin_int j = 0; j < n; j++) {
    r[j] = z[j] - k->start[j];
    for (vin_int i = 0; i < m; i++) r[j] += a[i][j] * z[n + i];
  }
  double all[MOST];
  k->s->constraint(z, all);
  memcpy(r + n, all, (size_t)m * sizeof *r);
}

/* x' = -x, 0 = z^3 + z - x (index 1, one real branch). Unknowns (x, z). */
static void index1(const double *x, double *c) {
  c[0] = x[1] * x[1] * x[1] + x[1] - x[0];
}
static void index1_jacobian(const double *x, double a[MOST][MOST]) {
  a[0][0] = -1, a[0][1] = 3 * x[1] * x[1] + 1;
}
static void index1_second(const double *x, const double *l, double h[MOST][MOST]) {
  h[1][1] = 6 * x[1] * l[0];
}

/* After a step that left g = 0: the projection of (x, z) agrees with a dense Newton iteration on its
 * conditions; without projection, x is kept and z = psi(x), here by Cardano's formula. */
Test(minimise, index_1_with_and_without_projection) {
  small s = {
      .n = 2, .m = 1, .constraint = index1, .jacobian = index1_jacobian, .second = index1_second};
  vin_minimise_desc desc = small_describe(&s, true);
  test_random random = {17};
  for (int trial = 0; trial < 50; trial++) {
    double x = test_random_between(&random, -3, 3), root = sqrt(x * x / 4 + 1.0 / 27);
    double branch = cbrt(x / 2 + root) + cbrt(x / 2 - root);
    const double start[2] = {x, branch + test_random_between(&random, -0.1, 0.1)};
    double y[2] = {start[0], start[1]}, z[3] = {start[0], start[1], 0};
    cr_assert_eq(vin_minimise(&desc, NULL, y, NULL, NULL, NULL, 0), VIN_OK);
    conditions k = {.s = &s, .start = start};
    cr_assert(test_newton(3, nearest_conditions, &k, z));
    cr_expect_leq(test_max_difference(2, y, z), 1e-10);
    vin_minimise_options options = vin_minimise_options_default();
    options.fixed = (const unsigned char[2]){1, 0};
    memcpy(y, start, sizeof y);
    cr_assert_eq(vin_minimise(&desc, &options, y, NULL, NULL, NULL, 0), VIN_OK);
    cr_expect_eq(y[0], x);
    cr_expect_float_eq(y[1], branch, 2e-12); /* |g| <= 1e-12, g_z >= 1 */
  }
}

/* The coupled projection agrees with a dense Newton iteration on its optimality conditions (1e-10: the
 * gradient tolerance); the sequential one, which fixes y and satisfies g alone, then fixes x, differs
 * from it by the first order in the correction (x does not see h), and both satisfy both levels. */
Test(minimise, index_2_coupled_and_sequential) {
  small both = {
      .n = 3, .m = 2, .constraint = index2, .jacobian = index2_jacobian, .second = index2_second};
  vin_minimise_desc desc = small_describe(&both, true);
  for (double away = 0.1; away > 1e-4; away /= 4) {
    const double start[3] = {0.6 + away, 0.8, -0.8 + 0.5 * away};
    double y[3], z[5] = {start[0], start[1], start[2]};
    memcpy(y, start, sizeof y);
    cr_assert_eq(vin_minimise(&desc, NULL, y, NULL, NULL, NULL, 0), VIN_OK);
    conditions k = {.s = &both, .start = start};
    cr_assert(test_newton(5, nearest_conditions, &k, z));
    cr_expect_leq(test_max_difference(3, y, z), 1e-10 * away + 1e-13, "away %g", away);

    double w[3];
    memcpy(w, start, sizeof w);
    small first = both, second = both;
    first.m = 1;
    vin_minimise_desc first_desc = small_describe(&first, false);
    vin_minimise_options options = vin_minimise_options_default();
    options.fixed = (const unsigned char[3]){0, 0, 1};
    cr_assert_eq(vin_minimise(&first_desc, &options, w, NULL, NULL, NULL, 0), VIN_OK);
    vin_minimise_desc second_desc = small_describe(&second, false);
    options.fixed = (const unsigned char[3]){1, 1, 0};
    cr_assert_eq(vin_minimise(&second_desc, &options, w, NULL, NULL, NULL, 0), VIN_OK);
    cr_expect_eq(w[2] == start[2], false);
    double c[2];
    index2(w, c);
    cr_expect_leq(test_max_abs(2, c), 1e-12);
    cr_expect_leq(test_max_difference(3, y, w), 2 * away);
  }
}

/* ---- failures ----------------------------------------------------------------------------- */

Test(minimise, bad_descriptions) {
  small s = ellipse_problem(1);
  vin_minimise_desc good = small_describe(&s, true), desc;
  vin_minimise_options options = vin_minimise_options_default();
  double y[2] = {2, 1}, w[2] = {1, 0};
  char text[512];
#define REFUSED(change, expected)                                                                  \
  do {                                                                                             \
    desc = good;                                                                                   \
    options = vin_minimise_options_default();                                                      \
    change;                                                                                        \
    cr_expect_eq(vin_minimise(&desc, &options, y, NULL, NULL, text, sizeof text),                  \
                 VIN_ERR_BAD_INPUT, #change);                                                      \
    cr_expect(strstr(text, expected) != NULL, "%s: %s", #change, text);                            \
  } while (0)
  REFUSED(desc.unknowns = 0, "unknowns is 0");
  REFUSED(desc.constraints = -1, "constraints is -1");
  REFUSED(desc.constraint = NULL, "the constraint callback is missing");
  REFUSED(desc.jacobian = NULL, "the jacobian callback is missing");
  REFUSED(desc.second = NULL, "the second callback is missing");
  REFUSED(desc.gradient = small_gradient, "without the objective");
  REFUSED(desc.objective = small_value, "the gradient callback is missing");
  REFUSED(desc.unknowns = 1, "jacobian pattern");
  REFUSED(desc.struct_size = 0, "struct_size");
  REFUSED(options.struct_size = 1, "struct_size");
  REFUSED(options.max_iterations = 0, "max_iterations is 0");
  REFUSED(options.constraint_tolerance = NAN, "tolerances");
  REFUSED(options.weights = w, "weight 1 is 0");
  y[1] = NAN;
  REFUSED((void)0, "the start is nan for unknown 1");
  cr_expect_eq(vin_minimise(NULL, NULL, y, NULL, NULL, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_minimiser_solve(NULL, y, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_minimiser_destroy(NULL);
}

/* The first evaluation fails: nothing can be done. A later one: the step is shortened instead, unless
 * the callback says that it is fatal. */
Test(minimise, failing_callbacks) {
  const struct {
    int call, code;
    vin_status expected;
  } cases[] = {{1, 0, VIN_RETRY}, {1, 5, VIN_RETRY}, {1, -5, VIN_ERR_CALLBACK},
               {2, 0, VIN_OK},    {2, 5, VIN_OK},    {2, -5, VIN_ERR_CALLBACK},
               {3, 0, VIN_OK}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    small s = ellipse_problem(1);
    s.second = second_row_ignored;
    s.fail_call = cases[k].call;
    s.fail_code = cases[k].code;
    vin_minimise_desc desc = small_describe(&s, true);
    double y[2] = {2, 1.5}, nearest[2], w[2] = {1, 1};
    char text[512];
    vin_status status = vin_minimise(&desc, NULL, y, NULL, NULL, text, sizeof text);
    cr_expect_eq(status, cases[k].expected, "case %zu: %s: %s", k, vin_status_name(status), text);
    ellipse_nearest(w, (const double[2]){2, 1.5}, nearest);
    if (status == VIN_OK)
      cr_expect_leq(test_max_difference(2, y, nearest), 1e-9, "case %zu", k);
    else
      cr_expect(y[0] == 2 && y[1] == 1.5);
  }
}

/* A saddle, min -x^2 - y^2 on a line x = y, has no minimum: said so, not looped. */
static double hill(const double *x) {
  return -x[0] * x[0] - x[1] * x[1];
}
static void hill_gradient(const double *x, double *g) {
  g[0] = -2 * x[0], g[1] = -2 * x[1];
}
static void hill_hessian(const double *x, double h[MOST][MOST]) {
  (void)x, h[0][0] = h[1][1] = -2;
}
static void line(const double *x, double *c) {
  c[0] = x[0] - x[1];
}
static void line_jacobian(const double *x, double a[MOST][MOST]) {
  (void)x, a[0][0] = 1, a[0][1] = -1;
}

Test(minimise, no_minimum) {
  small s = {.n = 2,
             .m = 1,
             .value = hill,
             .gradient = hill_gradient,
             .hessian = hill_hessian,
             .constraint = line,
             .jacobian = line_jacobian};
  vin_minimise_desc desc = small_describe(&s, false);
  double y[2] = {1, 0};
  char text[512];
  vin_status status = vin_minimise(&desc, NULL, y, NULL, NULL, text, sizeof text);
  cr_expect(status == VIN_NOT_CONVERGED || status == VIN_SINGULAR, "%s", vin_status_name(status));
  cr_expect(y[0] == 1 && y[1] == 0 && text[0] != '\0');
}

/* Every allocation fails once: an error, nothing lost, no leak. */
Test(minimise, allocation_failures) {
  small s = ellipse_problem(2);
  vin_minimise_desc desc = small_describe(&s, true);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_minimiser *minimiser = NULL;
    double y[2] = {2, 1.5};
    vin_status status = vin_minimiser_create(&minimiser, &context, &desc, NULL);
    if (status == VIN_OK) status = vin_minimiser_solve(minimiser, y, NULL, NULL);
    if (allocator.calls >= k) cr_assert_eq(status, VIN_ERR_NO_MEMORY, "allocation %d", (int)k);
    if (status != VIN_OK) cr_expect(y[0] == 2 && y[1] == 1.5);
    vin_minimiser_destroy(minimiser);
    cr_assert_eq(allocator.live, 0);
    if (allocator.calls < k) {
      cr_assert_eq(status, VIN_OK);
      break;
    }
  }
}
