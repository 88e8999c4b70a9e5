/* test_ivp - the problems of the public test set are transcribed rightly: patterns and derivatives
 * against differences, published start and end values against the algebraic equations. */
#include "ivp.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static ivp_problem *load(const char *name) {
  ivp_problem *p = ivp_create(name, VINCULA_TEST_DATA);
  cr_assert_not_null(p, "%s", name);
  return p;
}

/* Away from the start, where more entries are different from zero. */
static void general_point(const ivp_problem *p, double *y) {
  for (vin_int i = 0; i < p->n; i++) {
    y[i] = p->y0[i] + 0.01 * p->typical[i] * (1 + 0.3 * sin(1 + 3 * i));
  }
}

/* Column j of df/dy by central differences with one extrapolation: error h^4 and rounding / h. */
static void difference(const ivp_problem *p, double t, double *y, vin_int j, double *column) {
  double *f[4];
  double h = 1e-3 * p->typical[j], keep = y[j];
  for (int k = 0; k < 4; k++) {
    static const double shift[4] = {-1, 1, -0.5, 0.5};
    f[k] = calloc((size_t)p->n, sizeof **f);
    y[j] = keep + shift[k] * h;
    cr_assert_eq(p->f((void *)(uintptr_t)p, t, y, f[k]), 0);
  }
  y[j] = keep;
  for (vin_int i = 0; i < p->n; i++) {
    double wide = (f[1][i] - f[0][i]) / (2 * h), narrow = (f[3][i] - f[2][i]) / h;
    column[i] = (4 * narrow - wide) / 3;
  }
  for (int k = 0; k < 4; k++) free(f[k]);
}

/* A row's entries, each times the size of its unknown, to 1e-5 of the largest of them: rounding
 * 1e-16 / 1e-3 and the fourth derivatives of exp(x / 0.026 V) over 1e-3 V stay below that. */
Test(ivp, patterns_and_derivatives) {
  for (int k = 0; ivp_names[k] != NULL; k++) {
    ivp_problem *p = load(ivp_names[k]);
    size_t n = (size_t)p->n;
    double *y = calloc(n, sizeof *y), *found = calloc(n * n, sizeof *found);
    double *given = calloc(n * n, sizeof *given), *largest = calloc(n, sizeof *largest);
    double *values = calloc((size_t)p->jacobian_count, sizeof *values);
    bool *declared = calloc(n * n, sizeof *declared);
    general_point(p, y);
    double t = 0.3 * p->t_end;
    for (size_t j = 0; j < n; j++) difference(p, t, y, (vin_int)j, found + j * n);
    if (p->jacobian) cr_assert_eq(p->jacobian(p, t, y, values), 0);
    for (vin_int e = 0; e < p->jacobian_count; e++) {
      size_t at = (size_t)p->jacobian_row[e] + (size_t)p->jacobian_col[e] * n;
      given[at] += values[e];
      declared[at] = true;
    }
    for (size_t at = 0; at < n * n; at++) {
      largest[at % n] = fmax(largest[at % n], fabs(found[at]) * p->typical[at / n]);
    }
    for (size_t at = 0; at < n * n; at++) {
      size_t i = at % n, j = at / n;
      double scale = 1e-5 * largest[i] / p->typical[j];
      if (!declared[at]) cr_expect_leq(fabs(found[at]), scale, "%s (%zu, %zu)", p->name, i, j);
      if (p->jacobian == NULL) continue;
      cr_expect_leq(fabs(found[at] - given[at]), scale, "%s (%zu, %zu): %g, difference %g", p->name,
                    i, j, given[at], found[at]);
    }
    free(y), free(found), free(given), free(largest), free(values), free(declared);
    ivp_destroy(p);
  }
}

/* Rows of f without derivative vanish at the published start and end, as far as these are known
 * there: relative to the same row at a point 1 % away. Start values of the crank have 9 digits. */
Test(ivp, start_and_end_satisfy_the_algebraic_equations) {
  for (int k = 0; ivp_names[k] != NULL; k++) {
    ivp_problem *p = load(ivp_names[k]);
    size_t n = (size_t)p->n;
    double *y = calloc(n, sizeof *y), *f = calloc(n, sizeof *f), *away = calloc(n, sizeof *away);
    bool *algebraic = malloc(n * sizeof *algebraic), end_known = true;
    for (size_t i = 0; i < n; i++) algebraic[i] = true;
    for (vin_int e = 0; e < p->mass_count; e++) algebraic[p->mass_row[e]] = false;
    for (vin_int i = 0; i < p->n; i++) end_known = end_known && !isnan(p->reference[i]);
    for (int end = 0; end < (end_known ? 2 : 1); end++) {
      double t = end ? p->t_end : p->t0;
      const double *at = end ? p->reference : p->y0;
      for (size_t i = 0; i < n; i++) y[i] = at[i] + 0.01 * fmax(fabs(at[i]), p->typical[i]);
      cr_assert_eq(p->f(p, t, y, away), 0);
      cr_assert_eq(p->f(p, t, at, f), 0);
      for (size_t i = 0; i < n; i++) {
        if (algebraic[i]) {
          cr_expect_leq(fabs(f[i]), 1e-5 * fmax(fabs(away[i]), 1e-3), "%s, row %zu at t = %g: %g",
                        p->name, i, t, f[i]);
        }
      }
    }
    free(y), free(f), free(away), free(algebraic);
    ivp_destroy(p);
  }
}

/* The capacitors' charges cannot change where the equations of both ends are added. */
Test(ivp, transistor_start_is_consistent) {
  ivp_problem *p = load("transistor");
  double f[8];
  cr_assert_eq(p->f(p, 0, p->y0, f), 0);
  for (int k = 0; k < 8; k += 3) cr_expect_leq(fabs(f[k] + f[k + 1]), 1e-18);
  ivp_destroy(p);
}

Test(ivp, systems_have_right_derivatives) {
  for (int k = 0; ivp_names[k] != NULL; k++) {
    ivp_problem *p = load(ivp_names[k]);
    if (p->system.positions > 0) {
      vin_system *system = NULL;
      cr_assert_eq(vin_system_create(&system, NULL, &p->system), VIN_OK, "%s",
                   vin_system_error(system));
      double *y = calloc((size_t)p->n, sizeof *y);
      general_point(p, y);
      vin_derivative_check check;
      cr_expect_eq(vin_system_check(system, 0.1, y, y + p->system.positions, 0, &check), VIN_OK,
                   "%s: %s", p->name, check.text);
      free(y);
      vin_system_destroy(system);
    }
    ivp_destroy(p);
  }
}

Test(ivp, unknown_names_and_missing_files) {
  cr_expect_null(ivp_create("no such problem", VINCULA_TEST_DATA));
  cr_expect_null(ivp_create("andrews", "/nonexistent"));
}
