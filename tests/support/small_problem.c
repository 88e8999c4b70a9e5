#include "small_problem.h"

#include <math.h>
#include <string.h>

int small_value(void *user, const double *y, double *value) {
  *value = ((const small *)user)->value(y);
  return 0;
}

int small_gradient(void *user, const double *y, double *g) {
  ((const small *)user)->gradient(y, g);
  return 0;
}

static void lower(vin_int n, double h[MOST][MOST], double *values) {
  for (vin_int i = 0, k = 0; i < n; i++)
    for (vin_int j = 0; j <= i; j++) values[k++] = h[i][j];
}

static int small_hessian(void *user, const double *y, double *values) {
  double h[MOST][MOST] = {{0}};
  ((const small *)user)->hessian(y, h);
  lower(((const small *)user)->n, h, values);
  return 0;
}

static int small_constraint(void *user, const double *y, double *c) {
  small *s = user;
  double all[MOST];
  s->constraint(y, all); /* which may have more rows than this problem takes */
  memcpy(c, all, (size_t)s->m * sizeof *c);
  if (++s->calls != s->fail_call) return 0;
  if (s->fail_code == 0) c[0] = NAN;
  return s->fail_code;
}

static int small_jacobian(void *user, const double *y, double *values) {
  const small *s = user;
  double a[MOST][MOST] = {{0}};
  s->jacobian(y, a);
  for (vin_int i = 0, k = 0; i < s->m; i++)
    for (vin_int j = 0; j < s->n; j++) values[k++] = a[i][j];
  return 0;
}

static int small_second(void *user, const double *y, const double *lambda, double *values) {
  double h[MOST][MOST] = {{0}};
  ((const small *)user)->second(y, lambda, h);
  lower(((const small *)user)->n, h, values);
  return 0;
}

static vin_int full_row[MOST * MOST], full_col[MOST * MOST], lower_row[MOST * MOST],
    lower_col[MOST * MOST];

vin_minimise_desc small_describe(small *s, bool exact) {
  vin_minimise_desc desc = vin_minimise_desc_default();
  vin_int full = 0, half = 0;
  for (vin_int i = 0; i < s->m; i++)
    for (vin_int j = 0; j < s->n; j++) full_row[full] = i, full_col[full++] = j;
  for (vin_int i = 0; i < s->n; i++)
    for (vin_int j = 0; j <= i; j++) lower_row[half] = i, lower_col[half++] = j;
  vin_triplets symmetric = {.count = half, .row = lower_row, .col = lower_col};
  desc.unknowns = s->n;
  desc.constraints = s->m;
  desc.jacobian_pattern = (vin_triplets){.count = full, .row = full_row, .col = full_col};
  desc.constraint = small_constraint;
  desc.jacobian = small_jacobian;
  desc.user = s;
  if (s->value != NULL) {
    desc.objective = small_value;
    desc.gradient = small_gradient;
    desc.hessian = small_hessian;
    desc.hessian_pattern = symmetric;
  }
  if (exact) {
    desc.second = small_second;
    desc.second_pattern = symmetric;
  }
  return desc;
}
