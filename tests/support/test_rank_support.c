/* test_rank_support - see test_rank_support.h. */
#include "test_rank_support.h"
#include "linsys/linsys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

vin_int dependent_rows(const problem *p, const unsigned char *skip, vin_int *rows) {
  vin_int n = p->n, m = p->m, kept = 0, count = 0;
  double *dense = malloc((size_t)n * (size_t)m * sizeof *dense);
  long double *q = malloc((size_t)n * (size_t)(m + 1) * sizeof *q);
  test_dense_from_triplets(m, n, entries_pattern(&p->j), VIN_STORAGE_GENERAL, p->j.value, dense);
  for (vin_int i = 0; i < m; i++) {
    if (skip && skip[i]) continue;
    long double *u = q + (size_t)kept * (size_t)n, before = 0, after = 0;
    for (vin_int j = 0; j < n; j++) u[j] = dense[i + j * m], before += u[j] * u[j];
    for (vin_int k = 0; k < 2 * kept; k++) { /* twice is enough */
      const long double *w = q + (size_t)(k % kept) * (size_t)n;
      long double part = 0;
      for (vin_int j = 0; j < n; j++) part += w[j] * u[j];
      for (vin_int j = 0; j < n; j++) u[j] -= part * w[j];
    }
    for (vin_int j = 0; j < n; j++) after += u[j] * u[j];
    if (after <= 1e-18L * before) {
      rows[count++] = i;
      continue;
    }
    for (vin_int j = 0; j < n; j++) u[j] /= sqrtl(after);
    kept++;
  }
  free(dense), free(q);
  return count;
}

double *independent_solution(const problem *p, vin_int *count) {
  vin_int *rows = malloc(((size_t)p->m + 1) * sizeof *rows);
  *count = dependent_rows(p, NULL, rows);
  double *z = dense_solution_without(p, *count, rows);
  free(rows);
  return z;
}

problem hub_by_value(vin_int duplicates, test_random *random) {
  enum { TETHERS = 112, BODY = 6 };
  problem p = problem_make(BODY + 3 * TETHERS, TETHERS);
  for (vin_int i = 0; i < p.n; i++) entries_add(&p.h, i, i, i < BODY ? 50 : 1);
  for (vin_int k = 0; k < TETHERS; k++) {
    for (vin_int i = 0; i < BODY; i++) entries_add(&p.j, k, i, test_random_between(random, 0.1, 1));
    for (vin_int i = 0; i < 3; i++)
      entries_add(&p.j, k, BODY + 3 * k + i,
                  k == 7 ? (i == 2 ? 0.5 : 1) : test_random_between(random, -1, -0.1));
    p.g[k] = test_random_between(random, -1, 1);
  }
  const double held[2][3] = {{1, 1, 0.25}, {1, 1, -0.75}}; /* (1, 1, 0.5) is between them */
  for (vin_int rod = 0; rod < 2; rod++) {
    problem_duplicate(&p, 0, 0);
    p.j.count -= BODY + 3; /* the copied entries */
    for (vin_int i = 0; i < 3; i++) entries_add(&p.j, p.m - 1, BODY + 21 + i, held[rod][i]);
    p.g[p.m - 1] = test_random_between(random, -1, 1);
  }
  test_random_fill(random, p.n, p.f);
  for (vin_int k = 0; k < duplicates; k++) problem_duplicate(&p, 3 * k, k % 2 ? 1 : -2);
  return p;
}

void share_a_mass(problem *p) {
  p->h.value[5] = 0.1 * 0.1;
  p->h.value[6] = 0.7 * 0.7;
  entries_add(&p->h, 6, 5, 0.1 * 0.7);
  entries_add(&p->j, 0, 5, 0.8);
  entries_add(&p->j, 0, 6, -0.3);
}

void make_semidefinite(problem *p, vin_int rank, test_random *random) {
  double *b = malloc((size_t)p->n * (size_t)rank * sizeof *b);
  test_random_fill(random, p->n * rank, b);
  p->h.count = 0;
  for (vin_int j = 0; j < p->n; j++)
    for (vin_int i = j; i < p->n; i++) {
      double sum = 0;
      for (vin_int k = 0; k < rank; k++) sum += b[i + k * p->n] * b[j + k * p->n];
      entries_add(&p->h, i, j, sum);
    }
  free(b);
}

problem product_problem(vin_int n, vin_int m, vin_int rank, test_random *random) {
  problem p = problem_make(n, m);
  double *a = calloc((size_t)(rank * n), sizeof *a), *x = malloc((size_t)n * sizeof *x);
  for (vin_int i = 0; i < rank; i++) {
    a[i * n + i * n / rank] = 1;
    for (int k = 0; k < 2; k++)
      a[i * n + test_random_below(random, n)] += test_random_between(random, -1, 1);
  }
  test_random_fill(random, n, x);
  for (vin_int row = 0; row < m; row++) {
    double *sum = calloc((size_t)n, sizeof *sum);
    for (int k = 0; k < 2; k++) {
      vin_int i = k || row >= rank ? test_random_below(random, rank) : row;
      double factor = test_random_between(random, 0.5, 1);
      for (vin_int j = 0; j < n; j++) sum[j] += factor * a[i * n + j];
    }
    for (vin_int j = 0; j < n; j++) {
      if (sum[j] != 0) entries_add(&p.j, row, j, sum[j]);
      p.g[row] += sum[j] * x[j];
    }
    free(sum);
  }
  for (vin_int i = 0; i < n; i++) entries_add(&p.h, i, i, test_random_between(random, 1, 5));
  test_random_fill(random, n, p.f);
  free(a), free(x);
  return p;
}

void cross(const double *a, const double *b, double *c) {
  for (int i = 0; i < 3; i++)
    c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* Row of the velocity of `body` along d at r, or of its angular rate along d where r is NULL.
 * Coordinates of a body: the velocity of the point at the origin, the angular velocity. */
static void add_twist(problem *p, vin_int row, vin_int body, double sign, const double *r,
                      const double *d) {
  if (body < 0) return;
  double turn[3];
  if (r) cross(r, d, turn);
  for (vin_int i = 0; i < 3; i++) {
    if (r) entries_add(&p->j, row, 6 * body + i, sign * d[i]);
    entries_add(&p->j, row, 6 * body + 3 + i, sign * (r ? turn[i] : d[i]));
  }
}

problem revolute_loop(vin_int joints, const double *line, test_random *random) {
  vin_int n = 6 * (joints - 1), m = 5 * joints;
  problem p = problem_make(n, m);
  for (vin_int k = 0; k < joints; k++) {
    const double *r = line + 6 * k, *axis = r + 3;
    double t[3][3], any[3] = {0.3, -0.5, 0.81};
    cross(axis, any, t[0]);
    cross(axis, t[0], t[1]);
    memcpy(t[2], axis, sizeof t[2]);
    for (vin_int i = 0; i < 5; i++)
      for (int end = 0; end < 2; end++)
        add_twist(&p, 5 * k + i, end ? (k + 1 < joints ? k : -1) : k - 1, end ? 1 : -1,
                  i < 3 ? r : NULL, i < 3 ? t[i] : t[i - 3]);
  }
  for (vin_int i = 0; i < n; i++) {
    entries_add(&p.h, i, i, test_random_between(random, 2, 4));
    if (i % 6 > 0) entries_add(&p.h, i, i - 1, 0.5);
  }
  test_random_fill(random, n, p.f); /* g = 0: from rest */
  return p;
}

bool qr_in_build(void) {
  return vini_rank_available() && vin_solver_available(VIN_SOLVER_UMFPACK);
}
