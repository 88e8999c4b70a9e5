/* dae_problems - see dae_problems.h. */
#include "dae_problems.h"

#include <math.h>
#include <stdlib.h>

static double shift_of(const test_pairs *p, vin_int i) {
  return 1 + (double)i / (double)p->pairs;
}

static int fault(test_pairs *p, int64_t call, int64_t fails, double *out) {
  if (call != fails) return 0;
  if (p->code != 99) return p->code;
  out[0] = NAN;
  return 0;
}

static int function(void *user, double t, const double *y, double *f) {
  test_pairs *p = user;
  vin_int n = p->pairs;
  const double *x = y, *z = y + n;
  double s = p->coupling;
  for (vin_int i = 0; i < n; i++) {
    f[i] = -0.5 * x[i] * z[i];
    f[n + i] = -x[i] * x[i] - pow(x[i], 6);
    if (!p->singular) f[n + i] += z[i] + z[i] * z[i] * z[i];
    if (i + 1 < n) {
      f[i] += s * (z[i + 1] - 1 / (shift_of(p, i + 1) + t));
      f[n + i] += s * (z[i + 1] - x[i + 1] * x[i + 1]);
    }
    if (i > 0) f[n + i] += s * (z[i - 1] - x[i - 1] * x[i - 1]);
  }
  return fault(p, ++p->function_calls, p->function_fails, f);
}

/* Emits the triplets; values NULL: places only. */
static vin_int walk(test_pairs *p, const double *y, double *values) {
  vin_int n = p->pairs, k = 0;
#define PUT(i, j, value)                                                                           \
  do {                                                                                             \
    if (values == NULL)                                                                            \
      p->row[k] = (i), p->col[k] = (j);                                                            \
    else                                                                                           \
      values[k] = (value);                                                                         \
    k++;                                                                                           \
  } while (0)
  for (vin_int i = 0; i < n; i++) {
    double s = p->coupling, x = y ? y[i] : 0, z = y ? y[n + i] : 0;
    double right = y && i + 1 < n ? y[i + 1] : 0, left = y && i > 0 ? y[i - 1] : 0;
    PUT(i, i, -0.5 * z);
    PUT(i, n + i, -0.5 * x);
    PUT(n + i, i, -2 * x - 6 * pow(x, 5));
    PUT(n + i, n + i, p->singular ? 0 : 1);
    PUT(n + i, n + i, p->singular ? 0 : 3 * z * z); /* a second entry at the same place */
    if (i + 1 < n) {
      PUT(i, n + i + 1, s);
      PUT(n + i, n + i + 1, s);
      PUT(n + i, i + 1, -2 * s * right);
    }
    if (i > 0) {
      PUT(n + i, n + i - 1, s);
      PUT(n + i, i - 1, -2 * s * left);
    }
  }
#undef PUT
  return k;
}

static int jacobian(void *user, double t, const double *y, double *values) {
  test_pairs *p = user;
  (void)t;
  walk(p, y, values);
  return fault(p, ++p->jacobian_calls, p->jacobian_fails, values);
}

static int time_derivative(void *user, double t, const double *y, double *f_t) {
  test_pairs *p = user;
  (void)y;
  for (vin_int i = 0; i < 2 * p->pairs; i++) f_t[i] = 0;
  for (vin_int i = 0; i + 1 < p->pairs; i++) f_t[i] = p->coupling / pow(shift_of(p, i + 1) + t, 2);
  return 0;
}

static int in_domain(void *user, double t, const double *y) {
  const test_pairs *p = user;
  return y[0] > p->wall && (p->shut == 0 || t <= p->shut);
}

static void release(void *user) {
  ((test_pairs *)user)->released++;
}

vin_dae_desc test_pairs_desc(test_pairs *p, bool with_jacobian) {
  size_t most = 10 * (size_t)p->pairs;
  free(p->row);
  free(p->col);
  p->row = calloc(most, sizeof *p->row);
  p->col = calloc(most, sizeof *p->col);
  if (!p->row || !p->col) abort();
  p->count = walk(p, NULL, NULL);
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2 * p->pairs, desc.differential = p->pairs;
  desc.function = function;
  desc.jacobian_pattern = (vin_triplets){.count = p->count, .row = p->row, .col = p->col};
  if (with_jacobian) desc.jacobian = jacobian, desc.time_derivative = time_derivative;
  if (p->wall != 0 || p->shut != 0) desc.in_domain = in_domain;
  desc.user = p, desc.release = release;
  return desc;
}

vin_dae *test_pairs_dae(test_pairs *p, bool with_jacobian, const vin_context *context) {
  vin_dae *dae = NULL;
  vin_dae_desc desc = test_pairs_desc(p, with_jacobian);
  (void)vin_dae_create(&dae, context, &desc);
  return dae;
}

void test_pairs_free(test_pairs *p) {
  free(p->row);
  free(p->col);
  p->row = p->col = NULL;
}

void test_pairs_solution(const test_pairs *p, double t, double *y) {
  for (vin_int i = 0; i < p->pairs; i++) {
    y[i] = 1 / sqrt(shift_of(p, i) + t);
    y[p->pairs + i] = 1 / (shift_of(p, i) + t);
  }
}

vin_grid_run test_pairs_run(const test_pairs *p, vin_dae_method method, double h, vin_int steps) {
  vin_grid_run run = vin_grid_run_default();
  run.method = method, run.h = h, run.steps = steps;
  double *starts = calloc(4 * (size_t)p->pairs, sizeof *starts);
  if (!starts) abort();
  test_pairs_solution(p, 0, starts);
  test_pairs_solution(p, h, starts + 2 * p->pairs);
  run.y0 = starts, run.y1 = starts + 2 * p->pairs;
  double scale = sqrt((double)p->pairs); /* 2-norms grow with the root of the size */
  run.derivative_tolerance = 1e-10 * scale;
  run.algebraic_tolerance = 1e-11 * scale;
  run.start_tolerance[0] = run.start_tolerance[1] = 1e-14 * scale;
  return run;
}

static double column_dot(vin_int n, const double *a, vin_int p, vin_int q) {
  double sum = 0;
  for (vin_int i = 0; i < n; i++) sum += a[i + p * n] * a[i + q * n];
  return sum;
}

/* Turns columns p and q until they are orthogonal; false: they were. */
static bool rotate(vin_int n, double *a, vin_int p, vin_int q) {
  double pp = column_dot(n, a, p, p), qq = column_dot(n, a, q, q), pq = column_dot(n, a, p, q);
  if (fabs(pq) <= 1e-15 * sqrt(pp * qq)) return false;
  double zeta = (qq - pp) / (2 * pq);
  double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  double c = 1 / sqrt(1 + t * t), s = c * t;
  for (vin_int i = 0; i < n; i++) {
    double x = a[i + p * n], y = a[i + q * n];
    a[i + p * n] = c * x - s * y;
    a[i + q * n] = s * x + c * y;
  }
  return true;
}

void test_singular_values(vin_int n, double *a, double *sigma) {
  bool moved = true;
  for (int sweep = 0; sweep < 60 && moved; sweep++) {
    moved = false;
    for (vin_int p = 0; p < n; p++)
      for (vin_int q = p + 1; q < n; q++) moved = rotate(n, a, p, q) || moved;
  }
  for (vin_int j = 0; j < n; j++) sigma[j] = sqrt(column_dot(n, a, j, j));
}

double test_order(double coarse, double fine) {
  return log2(coarse / fine);
}

static int pol_function(void *user, double t, const double *y, double *f) {
  const double *data = user, x = y[0], v = y[1], z = y[2], w = y[3];
  (void)t;
  f[0] = v;
  f[1] = data[0] * (1 - x * x) * v - x;
  f[2] = w;
  f[3] = x * v - z * w + (x * x - z * z + 5) / (2 * data[1]);
  return 0;
}

static int pol_jacobian(void *user, double t, const double *y, double *values) {
  const double *data = user, x = y[0], v = y[1], z = y[2], w = y[3];
  (void)t;
  values[0] = 1;
  values[1] = -2 * data[0] * x * v - 1;
  values[2] = data[0] * (1 - x * x);
  values[3] = 1;
  values[4] = v + x / data[1];
  values[5] = x;
  values[6] = -w - z / data[1];
  values[7] = -z;
  return 0;
}

vin_dae *test_van_der_pol(double data[2]) {
  static const vin_int row[] = {0, 1, 1, 2, 3, 3, 3, 3}, col[] = {1, 0, 1, 3, 0, 1, 2, 3};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 4, desc.differential = 3;
  desc.function = pol_function, desc.jacobian = pol_jacobian, desc.user = data;
  desc.jacobian_pattern = (vin_triplets){.count = 8, .row = row, .col = col};
  vin_dae *dae = NULL;
  (void)vin_dae_create(&dae, NULL, &desc);
  return dae;
}
