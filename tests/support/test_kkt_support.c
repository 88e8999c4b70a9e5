/* test_kkt_support - see test_kkt_support.h. */
#include "test_kkt_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *pointer, vin_int count, size_t size) {
  pointer = realloc(pointer, (size_t)count * size);
  if (!pointer) abort();
  return pointer;
}

void entries_add(entries *e, vin_int row, vin_int col, double value) {
  if (e->count == e->capacity) {
    e->capacity = 2 * e->capacity + 16;
    e->row = grown(e->row, e->capacity, sizeof *e->row);
    e->col = grown(e->col, e->capacity, sizeof *e->col);
    e->value = grown(e->value, e->capacity, sizeof *e->value);
  }
  e->row[e->count] = row;
  e->col[e->count] = col;
  e->value[e->count++] = value;
}

vin_triplets entries_pattern(const entries *e) {
  return (vin_triplets){e->count, e->row, e->col};
}

static void entries_free(entries *e) {
  free(e->row);
  free(e->col);
  free(e->value);
}

problem problem_make(vin_int n, vin_int m) {
  problem p = {.n = n, .m = m};
  p.f = grown(NULL, n + 1, sizeof *p.f);
  p.g = grown(NULL, m + 1, sizeof *p.g);
  memset(p.f, 0, ((size_t)n + 1) * sizeof *p.f);
  memset(p.g, 0, ((size_t)m + 1) * sizeof *p.g);
  return p;
}

void problem_free(problem *p) {
  entries_free(&p->h);
  entries_free(&p->j);
  entries_free(&p->c);
  free(p->f);
  free(p->g);
}

void problem_duplicate(problem *p, vin_int row, double factor) {
  vin_int count = p->j.count;
  for (vin_int k = 0; k < count; k++)
    if (p->j.row[k] == row) entries_add(&p->j, p->m, p->j.col[k], factor * p->j.value[k]);
  p->g = grown(p->g, p->m + 2, sizeof *p->g);
  p->g[p->m] = factor * p->g[row];
  p->m++;
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

static void add_rod(problem *p, mechanism what, vin_int row, vin_int a, vin_int b,
                    test_random *random) {
  double rod_mass = test_random_between(random, 0.5, 2);
  for (vin_int i = 0; i < 3; i++) {
    /* not far from (1, 1, 1): rods at one point are never close to parallel by chance alone */
    double d = test_random_between(random, 0.2, 1) * (test_random_below(random, 2) ? 1 : -1);
    if (a >= 0) entries_add(&p->j, row, 3 * a + i, -d);
    if (b >= 0) entries_add(&p->j, row, 3 * b + i, d);
    if (!what.massive) continue;
    if (a >= 0) entries_add(&p->h, 3 * a + i, 3 * a + i, rod_mass / 3);
    if (b >= 0) entries_add(&p->h, 3 * b + i, 3 * b + i, rod_mass / 3);
    vin_int low = a < b ? b : a, high = a < b ? a : b;
    if (high >= 0) entries_add(&p->h, 3 * low + i, 3 * high + i, rod_mass / 6);
  }
}

static vin_int rods_of(mechanism what) {
  vin_int side = (vin_int)lround(sqrt((double)what.nodes));
  return what.shape == NET ? 2 * side * (side - 1) : what.nodes;
}

/* Ends of the rods, in the order in which a user would add them. */
static void ends(mechanism what, vin_int rod, vin_int *a, vin_int *b, test_random *random) {
  vin_int side = (vin_int)lround(sqrt((double)what.nodes)), half = side * (side - 1);
  *b = rod;
  switch (what.shape) {
  case TREE:
    *a = rod == 0 ? -1 : test_random_below(random, rod);
    break;
  case LOOP:
    *a = (rod + what.nodes - 1) % what.nodes;
    break;
  case NET:
    *a = rod < half ? rod / (side - 1) * side + rod % (side - 1) : rod - half;
    *b = rod < half ? *a + 1 : *a + side;
    break;
  default:
    *a = rod - 1;
  }
}

problem problem_of(mechanism what, test_random *random) {
  vin_int n = 3 * what.nodes, m = rods_of(what);
  problem p = problem_make(n, m);
  double ratio = what.mass_ratio > 0 ? what.mass_ratio : 1;
  for (vin_int node = 0; node < what.nodes; node++) {
    double mass = pow(ratio, test_random_between(random, 0, 1));
    for (vin_int i = 0; i < 3; i++) entries_add(&p.h, 3 * node + i, 3 * node + i, mass);
  }
  for (vin_int rod = 0; rod < m; rod++) {
    vin_int a, b;
    ends(what, rod, &a, &b, random);
    add_rod(&p, what, rod, a, b, random);
  }
  for (vin_int i = 0; what.compliance && i < m; i++) {
    entries_add(&p.c, i, i, test_random_between(random, 0.1, 1));
    if (i > 0) entries_add(&p.c, i, i - 1, 0.04);
  }
  test_random_fill(random, n, p.f);
  test_random_fill(random, m, p.g);
  return p;
}

/* ---- vin_kkt --------------------------------------------------------------------------------- */

vin_kkt_options options_of(const problem *p, vin_solver solver) {
  vin_kkt_options options = vin_kkt_options_default();
  options.solver = solver;
  options.compliance = entries_pattern(&p->c);
  return options;
}

vin_kkt *kkt_created(const problem *p, const vin_kkt_options *options) {
  vin_kkt_options plain = options_of(p, VIN_SOLVER_AUTO);
  vin_kkt *kkt = NULL;
  cr_assert_eq(vin_kkt_create(&kkt, NULL, p->n, p->m, entries_pattern(&p->h),
                              entries_pattern(&p->j), options ? options : &plain),
               VIN_OK, "%s", vin_kkt_error(kkt));
  return kkt;
}

vin_status kkt_factor(vin_kkt *kkt, const problem *p) {
  return vin_kkt_factor(kkt, p->h.value, p->j.value, p->c.count ? p->c.value : NULL);
}

vin_kkt *kkt_factored(const problem *p, const vin_kkt_options *options) {
  vin_kkt *kkt = kkt_created(p, options);
  cr_assert_eq(kkt_factor(kkt, p), VIN_OK, "%s", vin_kkt_error(kkt));
  return kkt;
}

vin_status kkt_solve(vin_kkt *kkt, const problem *p, double *z) {
  return vin_kkt_solve(kkt, 1, p->f, p->g, z, z + p->n);
}

/* ---- references ------------------------------------------------------------------------------ */

double *dense_matrix(const problem *p) {
  entries k = {0};
  vin_int n = p->n, size = n + p->m;
  for (vin_int e = 0; e < p->h.count; e++) entries_add(&k, p->h.row[e], p->h.col[e], p->h.value[e]);
  for (vin_int e = 0; e < p->j.count; e++)
    entries_add(&k, n + p->j.row[e], p->j.col[e], p->j.value[e]);
  for (vin_int e = 0; e < p->c.count; e++)
    entries_add(&k, n + p->c.row[e], n + p->c.col[e], -p->c.value[e]);
  double *a = grown(NULL, size * size, sizeof *a);
  test_dense_from_triplets(size, size, entries_pattern(&k), VIN_STORAGE_SYMMETRIC_LOWER, k.value,
                           a);
  entries_free(&k);
  return a;
}

double *dense_solution_without(const problem *p, vin_int count, const vin_int *rows) {
  vin_int size = p->n + p->m;
  double *a = dense_matrix(p), *z = grown(NULL, size, sizeof *z);
  memcpy(z, p->f, (size_t)p->n * sizeof *z);
  memcpy(z + p->n, p->g, (size_t)p->m * sizeof *z);
  for (vin_int k = 0; k < count; k++) {
    vin_int i = p->n + rows[k];
    for (vin_int j = 0; j < size; j++) a[i + j * size] = a[j + i * size] = i == j;
    z[i] = 0;
  }
  cr_assert(test_dense_solve(size, a, z, z), "the reference is singular");
  free(a);
  return z;
}

double *dense_solution(const problem *p) {
  return dense_solution_without(p, 0, NULL);
}

double relative_difference(vin_int count, const double *a, const double *b) {
  double scale = test_max_abs(count, b);
  return scale > 0 ? test_max_difference(count, a, b) / scale : test_max_abs(count, a);
}
