/* The check of solutions: its figures against rows summed in long double from the triplets, and that nothing
 * wrong passes, whatever row, entry or unknown it is in. */
#include "kkt/kkt.h"
#include "test_kkt_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of at most 70 terms, each rounded a few times, and the quotient. */
#define FIGURE_ROUNDING (100 * 2.3e-16)

/* ---- a solver that errs on purpose ---------------------------------------------------------------- */

/* Stands in for the active solver: adds `before` to the right-hand side's and `after` to the solution's
 * number `at`. */
typedef struct liar {
  vini_backend backend; /* first: it is cast */
  vini_backend_vtable table;
  vini_backend *honest;
  vin_int at;
  double before, after;
} liar;

static vin_status liar_solve(vini_backend *backend, vin_int count, double *x) {
  liar *self = (liar *)backend;
  cr_assert_eq(count, 1);
  x[self->at] += self->before;
  vin_status status = self->honest->table->solve(self->honest, count, x);
  x[self->at] += self->after;
  return status;
}

static void liar_info(const vini_backend *backend, vini_factor_info *info) {
  const liar *self = (const liar *)backend;
  self->honest->table->info(self->honest, info);
}

static void put_in(liar *self, vin_kkt *kkt) {
  *self = (liar){.table = *kkt->active->table, .honest = kkt->active};
  self->table.solve = liar_solve;
  self->table.info = liar_info;
  self->backend.table = &self->table;
  kkt->active = &self->backend;
}

static void take_out(liar *self, vin_kkt *kkt) {
  kkt->active = self->honest;
}

/* ---- problems: every kind of block that the check knows ------------------------------------------- */

/* Bodies of six coordinates in a chain, `rows` rows a joint; every third body has a diagonal H. */
static problem bodies(vin_int count, vin_int rows, test_random *random) {
  problem p = problem_make(6 * count, rows * count);
  for (vin_int i = 0; i < 6 * count; i++) {
    for (vin_int j = i / 6 * 6; j <= i; j++) {
      if (i == j) entries_add(&p.h, i, j, test_random_between(random, 3, 9));
      if (i != j && i / 6 % 3 != 0) entries_add(&p.h, i, j, test_random_between(random, -0.5, 0.5));
    }
  }
  for (vin_int i = 0; i < rows * count; i++) {
    for (vin_int j = 6 * (i / rows) - 6; j < 6 * (i / rows) + 6; j++) {
      if (j >= 0) entries_add(&p.j, i, j, test_random_between(random, -1, 1));
    }
  }
  return p;
}

/* One body in 60 rows, more than a kind may have, and points at their ends. */
static problem hub(test_random *random) {
  problem p = problem_make(6 + 180, 60);
  for (vin_int i = 0; i < p.n; i++) entries_add(&p.h, i, i, test_random_between(random, 1, 2));
  for (vin_int i = 0; i < p.m; i++) {
    for (vin_int k = 0; k < 6; k++) entries_add(&p.j, i, k, test_random_between(random, -1, 1));
    for (vin_int k = 0; k < 3; k++) {
      entries_add(&p.j, i, 6 + 3 * i + k, test_random_between(random, -1, 1));
    }
  }
  return p;
}

/* Hardly two blocks alike: more shapes than kinds are kept. */
static problem disorder(test_random *random) {
  problem p = problem_make(80 * 3, 30);
  for (vin_int i = 0; i < p.n; i++) {
    entries_add(&p.h, i, i, test_random_between(random, 2, 3));
    for (vin_int j = i / 3 * 3; j < i; j++) entries_add(&p.h, i, j, 0.25);
  }
  for (vin_int i = 0; i < p.m; i++) {
    for (vin_int j = 0; j < p.n; j++) {
      if (test_random_below(random, 6) > 0) continue;
      entries_add(&p.j, i, j, test_random_between(random, -1, 1));
    }
  }
  return p;
}

/* Two chains of nine points, one numbered behind the other: eight of each have two rods and make groups of four whose
 * rows follow each other. */
static problem chains(test_random *random) {
  problem p = problem_make(3 * 18, 18);
  for (vin_int i = 0; i < p.n; i++) entries_add(&p.h, i, i, test_random_between(random, 1, 2));
  for (vin_int i = 0; i < p.m; i++) {
    for (vin_int j = i % 9 > 0 ? 3 * i - 3 : 3 * i; j < 3 * i + 3; j++) {
      entries_add(&p.j, i, j, test_random_between(random, -1, 1));
    }
  }
  return p;
}

enum { CHAINS = 4 * SHAPE_COUNT + 5, PROBLEMS = CHAINS + 2 };

static problem problem_number(int number) {
  test_random random = {(uint64_t)(77 + number)};
  if (number < 4 * SHAPE_COUNT) {
    return problem_of((mechanism){.shape = (shape)(number % SHAPE_COUNT),
                                  .nodes = 9,
                                  .massive = number & 4,
                                  .compliance = number & 8,
                                  .mass_ratio = 10},
                      &random);
  }
  problem p;
  switch (number - 4 * SHAPE_COUNT) {
  case 0:
    p = bodies(9, 3, &random);
    break;
  case 1:
    p = bodies(7, 5, &random);
    break;
  case 2:
    p = bodies(1, 2, &random);
    break;
  case 3:
    p = hub(&random);
    break;
  case 4:
    p = disorder(&random);
    break;
  case 5:
    p = chains(&random);
    break;
  default: /* no constraint at all */
    p = problem_make(5, 0);
    for (vin_int i = 0; i < 5; i++) entries_add(&p.h, i, i, 2);
  }
  test_random_fill(&random, p.n, p.f);
  test_random_fill(&random, p.m, p.g);
  return p;
}

/* ---- the reference -------------------------------------------------------------------------------- */

typedef struct rows {
  long double *r, *s;
} rows;

static void add_entry(rows a, vin_int i, vin_int j, double value, const double *z) {
  const long double right = (long double)value * z[j], left = (long double)value * z[i];
  a.r[i] -= right;
  a.s[i] += fabsl(right);
  if (i == j) return;
  a.r[j] -= left;
  a.s[j] += fabsl(left);
}

/* Largest |b - K z| / (|K| |z| + |b|) of the force rows and of the constraint rows. */
static void reference(const problem *p, const double *z, double *force, double *constraint) {
  rows a = {calloc((size_t)(p->n + p->m), sizeof *a.r), calloc((size_t)(p->n + p->m), sizeof *a.s)};
  for (vin_int i = 0; i < p->n + p->m; i++) {
    a.r[i] = i < p->n ? p->f[i] : p->g[i - p->n];
    a.s[i] = fabsl(a.r[i]);
  }
  for (vin_int k = 0; k < p->h.count; k++) {
    add_entry(a, p->h.row[k], p->h.col[k], p->h.value[k], z);
  }
  for (vin_int k = 0; k < p->j.count; k++) {
    add_entry(a, p->n + p->j.row[k], p->j.col[k], p->j.value[k], z);
  }
  for (vin_int k = 0; k < p->c.count; k++) {
    add_entry(a, p->n + p->c.row[k], p->n + p->c.col[k], -p->c.value[k], z);
  }
  *force = *constraint = 0;
  for (vin_int i = 0; i < p->n + p->m; i++) {
    const double ratio = a.r[i] != 0 ? (double)(fabsl(a.r[i]) / a.s[i]) : 0;
    double *worst = i < p->n ? force : constraint;
    if (ratio > *worst) *worst = ratio;
  }
  free(a.r);
  free(a.s);
}

/* ---- tests ---------------------------------------------------------------------------------------- */

/* A problem, factorised: by ldlt alone, so that a refusal is final, and without refinement. */
typedef struct bench {
  problem p;
  vin_kkt *kkt;
  liar liar;
  double *z;
} bench;

static bench bench_make(int number, bool plain, double tolerance) {
  bench b = {.p = problem_number(number)};
  vin_kkt_options options = options_of(&b.p, VIN_SOLVER_LDLT);
  options.max_refinements = 0;
  options.force_tolerance = options.constraint_tolerance = tolerance;
  b.kkt = kkt_factored(&b.p, &options);
  vini_check_choose_kernel(b.kkt->check, plain);
  b.z = calloc((size_t)(b.p.n + b.p.m), sizeof *b.z);
  return b;
}

static void bench_free(bench *b) {
  free(b->z);
  vin_kkt_destroy(b->kkt);
  problem_free(&b->p);
}

static void expect_figures(bench *b, const char *what, int number, vin_int at) {
  double force, constraint;
  cr_assert_eq(kkt_solve(b->kkt, &b->p, b->z), VIN_OK, "%s", vin_kkt_error(b->kkt));
  reference(&b->p, b->z, &force, &constraint);
  const vin_kkt_info info = vin_kkt_get_info(b->kkt);
  cr_expect_leq(fabs(info.force_residual - force), FIGURE_ROUNDING, "%s, problem %d, %d: %g not %g",
                what, number, (int)at, info.force_residual, force);
  cr_expect_leq(fabs(info.constraint_residual - constraint), FIGURE_ROUNDING,
                "%s, problem %d, %d: %g not %g", what, number, (int)at, info.constraint_residual,
                constraint);
}

#define EACH_CASE(number, plain)                                                                   \
  for (int number = 0; number < PROBLEMS; number++)                                                \
    for (int plain = 0; plain < 2; plain++)

/* With a tolerance that lets all pass, the figures are those of the reference: of a good solution, and with
 * an error in each single row, which is the worst row then, and in each single unknown. */
Test(kkt_check, figures_are_those_of_every_row) {
  EACH_CASE(number, plain) {
    bench b = bench_make(number, plain, 2);
    expect_figures(&b, "good", number, -1);
    put_in(&b.liar, b.kkt);
    for (vin_int i = 0; i < b.p.n + b.p.m; i++) {
      b.liar.at = i;
      b.liar.before = 1e-3;
      b.liar.after = 0;
      expect_figures(&b, "row", number, i);
      b.liar.before = 0;
      b.liar.after = 1e-3;
      expect_figures(&b, "unknown", number, i);
    }
    take_out(&b.liar, b.kkt);
    bench_free(&b);
  }
}

/* The same where one entry of the matrix is other than the factorisation knew it: all entries are read. */
Test(kkt_check, figures_see_every_entry) {
  EACH_CASE(number, plain) {
    bench b = bench_make(number, plain, 2);
    entries *part[] = {&b.p.h, &b.p.j, &b.p.c};
    const vin_int first[] = {b.kkt->h.first, b.kkt->j.first, b.kkt->c.first};
    for (int k = 0; k < 3; k++) {
      for (vin_int e = 0; e < part[k]->count; e++) {
        double *value = &part[k]->value[e], *stored = b.kkt->k->value;
        stored += b.kkt->k->slot[first[k] + e]; /* where several may add up */
        const double right = *value, right_stored = *stored;
        *value *= 1.5;
        *stored += (k == 2 ? -0.5 : 0.5) * right;
        expect_figures(&b, "entry", number, e);
        *value = right;
        *stored = right_stored;
      }
    }
    bench_free(&b);
  }
}

/* An error 1e4 times the tolerance in any row, and a number that is none in any unknown, are refused. What
 * was given stays as it was. */
Test(kkt_check, nothing_wrong_passes) {
  static const double errors[] = {1e-6, NAN, INFINITY, -INFINITY};
  EACH_CASE(number, plain) {
    bench b = bench_make(number, plain, 1e-10);
    put_in(&b.liar, b.kkt);
    for (vin_int i = 0; i < b.p.n + b.p.m; i++) {
      for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
        b.liar.at = i;
        b.liar.before = k == 0 ? errors[k] : 0;
        b.liar.after = k == 0 ? 0 : errors[k];
        for (vin_int l = 0; l < b.p.n + b.p.m; l++) b.z[l] = 7;
        cr_expect_eq(kkt_solve(b.kkt, &b.p, b.z), VIN_SINGULAR, "problem %d, unknown %d, %g",
                     number, (int)i, errors[k]);
        for (vin_int l = 0; l < b.p.n + b.p.m; l++) cr_assert_eq(b.z[l], 7);
      }
    }
    b.liar.before = b.liar.after = 0;
    cr_expect_eq(kkt_solve(b.kkt, &b.p, b.z), VIN_OK, "%s", vin_kkt_error(b.kkt));
    take_out(&b.liar, b.kkt);
    bench_free(&b);
  }
}

/* The blocks are found: points, bodies, a hub too large for a kind, more shapes than kinds. */
Test(kkt_check, blocks_are_grouped) {
  static const struct {
    int number;
    bool apart, loose;
    int chains; /* groups of four that follow each other */
  } expected[] = {{CHAIN, true, false, 2},
                  {CHAIN + 4, false, false, 0}, /* massive rods couple points */
                  {4 * SHAPE_COUNT, true, false, 0},
                  {4 * SHAPE_COUNT + 3, true, true, 0},
                  {4 * SHAPE_COUNT + 4, true, true, 0},
                  {CHAINS, true, false, 4}};
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
    bench b = bench_make(expected[k].number, false, 1);
    const vini_check *check = b.kkt->check;
    bool loose = false;
    int chains = 0;
    for (vin_int g = 0; g < check->group_count; g++) {
      loose |= check->group[g].kind < 0;
      chains += check->group[g].chain;
    }
    cr_expect_eq(chains, expected[k].chains, "problem %d: %d chains", expected[k].number, chains);
    cr_expect_eq(check->apart, expected[k].apart, "problem %d", expected[k].number);
    cr_expect_eq(loose, expected[k].loose, "problem %d: %d groups", expected[k].number,
                 (int)check->group_count);
    bench_free(&b);
  }
}
