/* kkt_cases - see kkt_cases.h. */
#include "kkt_cases.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const answer_names[ANSWER_COUNT] = {"right",      "refused near", "refused",
                                                "arbitrary",  "unnamed",      "contradiction",
                                                "inaccurate", "near"};

/* ---- drawing --------------------------------------------------------------------------------- */

typedef struct drawing {
  test_random random;
  kkt_case *c;
  vin_int nodes, dimension;
  bool exact; /* entries are multiples of 1/8, so that combinations of rows do not round */
} drawing;

static bool one_in(drawing *d, vin_int n) {
  return test_random_below(&d->random, n) == 0;
}

static void tell(drawing *d, const char *text) {
  const size_t used = strlen(d->c->kind);
  snprintf(d->c->kind + used, sizeof d->c->kind - used, "%s%s", used ? ", " : "", text);
}

static double entry(drawing *d) {
  if (!d->exact) return test_random_between(&d->random, -2, 2);
  double x = (double)(test_random_below(&d->random, 32) - 16) / 8;
  return x == 0 ? 1 : x;
}

static void rod(drawing *d, vin_int a, vin_int b, bool straight) {
  problem *p = &d->c->p;
  const vin_int row = p->m;
  problem_duplicate(p, -1, 0);
  for (vin_int i = 0; i < d->dimension; i++) {
    const double x = straight ? (i == 0) : entry(d);
    if (a >= 0 && x != 0) entries_add(&p->j, row, d->dimension * a + i, -x);
    if (b >= 0 && x != 0) entries_add(&p->j, row, d->dimension * b + i, x);
  }
}

static void draw_rows(drawing *d) {
  static const char *const names[] = {"chain", "tree", "net", "hub", "random"};
  const vin_int figure = test_random_below(&d->random, 5);
  const bool straight = one_in(d, 5);
  tell(d, names[figure]);
  if (straight) tell(d, "straight");
  for (vin_int b = 0; b < d->nodes; b++) {
    vin_int a = b - 1;
    if (figure == 1 && b > 0) a = test_random_below(&d->random, b);
    if (figure == 3 && b > 0) a = 0;
    if (figure == 4) {
      problem_duplicate(&d->c->p, -1, 0);
      for (vin_int k = 0; k < d->c->p.n; k++) {
        if (k == 0 || one_in(d, 3)) {
          entries_add(&d->c->p.j, b, (k + b) % d->c->p.n, entry(d));
        }
      }
    } else if (a >= 0 || !one_in(d, 3)) {
      rod(d, a, b, straight);
    }
  }
  for (vin_int k = 0; figure == 2 && k < d->nodes / 2; k++) {
    const vin_int a = test_random_below(&d->random, d->nodes);
    if (a != k) rod(d, a, k, straight);
  }
}

static void draw_masses(drawing *d) {
  problem *p = &d->c->p;
  const vin_int kind = test_random_below(&d->random, 4), odd = test_random_below(&d->random, 12);
  const double ratio = pow(10, (double)test_random_below(&d->random, 13));
  for (vin_int node = 0; node < d->nodes; node++) {
    double mass = 1 + (double)test_random_below(&d->random, 8);
    if (kind == 1) mass *= pow(ratio, test_random_between(&d->random, -0.5, 0.5));
    if (kind == 2 && node % 2) mass *= ratio;
    if (odd <= 1 && one_in(d, 3)) mass = 0, d->c->definite = false;
    if (odd == 2 && one_in(d, 3)) mass = -mass, d->c->definite = false;
    for (vin_int i = 0; i < d->dimension; i++) {
      const vin_int at = d->dimension * node + i;
      entries_add(&p->h, at, at, mass);
    }
  }
  if (kind == 1 || kind == 2) tell(d, ratio > 1e6 ? "mass ratio > 1e6" : "mass ratio");
  if (odd == 2) tell(d, "negative masses");
  if (odd <= 1) tell(d, "missing masses");
}

/* H + w w' couples; with all masses 0 that is what H is. */
static void couple_masses(drawing *d) {
  problem *p = &d->c->p;
  if (!one_in(d, 4)) return;
  const bool alone = one_in(d, 4);
  const vin_int rank = 1 + test_random_below(&d->random, p->n);
  tell(d, alone ? "semidefinite" : "coupled");
  if (alone) p->h.count = 0, d->c->definite = false;
  for (vin_int r = 0; r < rank; r++) {
    double w[TRUTH_MOST];
    for (vin_int i = 0; i < p->n; i++) w[i] = one_in(d, 2) ? entry(d) : 0;
    for (vin_int i = 0; i < p->n; i++) {
      for (vin_int j = 0; j <= i; j++) {
        if (w[i] * w[j] != 0) entries_add(&p->h, i, j, w[i] * w[j]);
      }
    }
  }
}

static void scale_row(problem *p, vin_int row, double factor) {
  for (vin_int e = 0; e < p->j.count; e++) {
    if (p->j.row[e] == row) p->j.value[e] *= factor;
  }
  for (vin_int e = 0; e < p->c.count; e++) {
    if (p->c.row[e] == row) p->c.value[e] *= factor;
    if (p->c.col[e] == row) p->c.value[e] *= factor;
  }
  p->g[row] *= factor;
}

/* g = J x - C lambda, f = H x + J' lambda for small numbers, or whatever comes. */
static void draw_right(drawing *d) {
  problem *p = &d->c->p;
  double z[TRUTH_MOST];
  const vin_int kind = test_random_below(&d->random, 5);
  for (vin_int i = 0; i < p->n + p->m; i++) z[i] = kind == 4 && one_in(d, 2) ? 0 : entry(d);
  for (vin_int e = 0; e < p->j.count; e++) {
    p->g[p->j.row[e]] += kind == 3 ? 0 : p->j.value[e] * z[p->j.col[e]];
    if (kind == 2) p->f[p->j.col[e]] += p->j.value[e] * z[p->n + p->j.row[e]];
  }
  for (vin_int i = 0; i < p->n; i++) {
    if (kind != 3 || one_in(d, 3)) p->f[i] += entry(d);
  }
  if (kind == 0) {
    for (vin_int e = 0; e < p->h.count; e++) {
      if (p->h.row[e] == p->h.col[e]) p->f[p->h.row[e]] += p->h.value[e];
    }
  }
  if (kind == 3) tell(d, "g = 0");
}

/* Row + factor times another one */
static void combine(problem *p, vin_int row, vin_int other, double factor) {
  const vin_int count = p->j.count;
  for (vin_int e = 0; e < count; e++) {
    if (p->j.row[e] == other) entries_add(&p->j, row, p->j.col[e], factor * p->j.value[e]);
  }
  p->g[row] += factor * p->g[other];
}

static void add_dependent(drawing *d) {
  problem *p = &d->c->p;
  const vin_int count = one_in(d, 2) ? 0 : 1 + test_random_below(&d->random, 3), first = p->m;
  for (vin_int k = 0; k < count && first > 0; k++) {
    const vin_int of = test_random_below(&d->random, first), row = p->m;
    const double factor = (double)(1 + test_random_below(&d->random, 3)) * (one_in(d, 2) ? -1 : 1);
    const vin_int begin = p->j.count;
    problem_duplicate(p, of, factor);
    tell(d, "dependent");
    if (one_in(d, 2)) combine(p, row, test_random_below(&d->random, first), one_in(d, 2) ? -2 : 1);
    if (one_in(d, 6)) {
      const double near = pow(10, -3 * (double)(1 + test_random_below(&d->random, 3)));
      tell(d, near > 1e-7 ? "nearly" : "very nearly");
      for (vin_int e = begin; e < p->j.count; e++) p->j.value[e] += near * entry(d);
    } else if (one_in(d, 5)) {
      tell(d, "contradicting");
      p->g[row] += pow(10, -3 * (double)test_random_below(&d->random, 3));
    }
  }
}

static void draw_scales(drawing *d) {
  problem *p = &d->c->p;
  if (!one_in(d, 4)) return;
  tell(d, "scaled rows");
  const bool all = one_in(d, 2);
  const vin_int range = one_in(d, 2) ? 40 : 465;
  const int same = (int)test_random_below(&d->random, 2 * range) - (int)range;
  for (vin_int i = 0; i < p->m; i++) {
    const int e = (int)test_random_below(&d->random, 2 * range) - (int)range;
    if (all || one_in(d, 3)) scale_row(p, i, ldexp(1, one_in(d, 2) ? same : e));
  }
}

static void draw_compliance(drawing *d) {
  problem *p = &d->c->p;
  if (!one_in(d, 8)) return;
  tell(d, "compliant");
  for (vin_int i = 0; i < p->m; i++) {
    if (one_in(d, 2))
      entries_add(&p->c, i, i, pow(10, (double)test_random_below(&d->random, 8) - 7));
  }
}

kkt_case kkt_case_make(uint64_t seed) {
  kkt_case c = {.definite = true};
  drawing d = {.random = {seed}, .c = &c};
  test_random_bits(&d.random);
  d.exact = !one_in(&d, 3);
  d.nodes = 1 + test_random_below(&d.random, 7);
  d.dimension = 1 + test_random_below(&d.random, 3);
  c.p = problem_make(d.nodes * d.dimension, 0);
  tell(&d, d.exact ? "exact" : "real");
  draw_rows(&d);
  draw_masses(&d);
  couple_masses(&d);
  draw_right(&d);
  add_dependent(&d);
  draw_compliance(&d);
  draw_scales(&d);
  return c;
}

void kkt_case_free(kkt_case *c) {
  problem_free(&c->p);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Relative error in the rows that an answer may have: ten times the tolerances of vin_kkt. */
#define ROW_ERROR 1e-9
/* Contradiction of dropped rows, likewise. */
#define CONTRADICTION 1e-7
/* What an unknown may be off where all terms of its rows vanish, of the largest one, scaled. */
#define NORM_ERROR 1e-10
/* With x so uncertain by rounding alone nothing is asked. */
#define HOPELESS 1e-6

static double largest_part(const double *z, vin_int from, vin_int to) {
  double most = 0;
  for (vin_int i = from; i < to; i++) most = fmax(most, fabs(z[i]));
  return most;
}

/* Largest x of the scaled system, or what the right-hand side alone would make it; and its largest lambda, or what
 * they would make that. */
static void scaled_sizes(const problem *p, const kkt_truth *truth, double size[2]) {
  size[0] = size[1] = 0;
  for (vin_int i = 0; i < truth->size; i++) {
    double *most = &size[i >= p->n];
    *most = fmax(*most, fabs(ldexp(truth->z[i], -truth->exponent[i])));
    const double right = i < p->n ? p->f[i] : p->g[i - p->n];
    size[0] = fmax(size[0], fabs(ldexp(right, truth->exponent[i])));
  }
  size[1] = fmax(size[0], size[1]);
}

/* Uncertainty of x from one rounding in each row. */
static double uncertainty(const problem *p, const kkt_truth *truth) {
  const double size = largest_part(truth->z, 0, p->n), error = largest_part(truth->bound, 0, p->n);
  return error == 0 ? 0 : DBL_EPSILON * error / size;
}

static answer judge_accepted(const problem *p, vin_kkt *kkt, const double *z, char *text) {
  unsigned char skip[TRUTH_MOST] = {0};
  const vin_int *dropped, count = vin_kkt_dropped(kkt, &dropped);
  kkt_truth truth;
  for (vin_int k = 0; k < count; k++) skip[dropped[k]] = 1;
  kkt_truth_of(&truth, p, skip);
  snprintf(text, 256, "%d dropped, uncertainty %.2g, pivot %.2g", (int)count,
           uncertainty(p, &truth), truth.smallest);
  if (!truth.unique) return ANSWER_ARBITRARY;
  if (!truth.consistent) {
    snprintf(text, 256, "inconsistent by %.2g, rank %d of %d", truth.inconsistency, (int)truth.rank,
             (int)truth.size);
    return ANSWER_CONTRADICTION;
  }
  if (truth.rank < truth.size) return ANSWER_UNNAMED;
  double worst = 0, size[2];
  scaled_sizes(p, &truth, size);
  for (vin_int k = 0; k < count; k++) {
    const double missed = kkt_truth_missed(p, &truth, size[0], dropped[k]);
    if (missed <= CONTRADICTION) continue;
    snprintf(text, 256, "row %d of %d dropped missed by %.2g, uncertainty %.2g", (int)dropped[k],
             (int)count, missed, uncertainty(p, &truth));
    return ANSWER_CONTRADICTION;
  }
  for (vin_int i = 0; i < p->n + p->m; i++) {
    const double error = fabs(z[i] - truth.z[i]);
    if (error <= ROW_ERROR * truth.bound[i]) continue;
    if (ldexp(error, -truth.exponent[i]) <= NORM_ERROR * size[i >= p->n]) continue;
    snprintf(text, 256,
             "unknown %d: %.17g for %.17g, bound %.2g, uncertainty %.2g, pivot %.2g, %d dropped",
             (int)i, z[i], truth.z[i], ROW_ERROR * truth.bound[i], uncertainty(p, &truth),
             truth.smallest, (int)count);
    return ANSWER_INACCURATE;
  }
  for (vin_int i = 0; i < p->n; i++) {
    worst = fmax(worst, ldexp(fabs(z[i] - truth.z[i]), -truth.exponent[i]));
  }
  if (worst > 1e-3 * size[0]) {
    snprintf(text, 256, "error %.2g of %.2g, uncertainty %.2g, pivot %.2g, %d dropped", worst,
             size[0], uncertainty(p, &truth), truth.smallest, (int)count);
    return ANSWER_NEAR;
  }
  return ANSWER_RIGHT;
}

/* Do the rows differ so much that small ones may be rounding of zeros? */
static bool rows_differ(const problem *p) {
  double size[TRUTH_MOST] = {0}, least = HUGE_VAL, most = 0;
  for (vin_int e = 0; e < p->j.count; e++) {
    size[p->j.row[e]] = fmax(size[p->j.row[e]], fabs(p->j.value[e]));
  }
  for (vin_int i = 0; i < p->m; i++) {
    least = fmin(least, size[i]);
    most = fmax(most, size[i]);
  }
  return least < 1e-12 * most;
}

static answer judge_refused(const kkt_case *c, vin_solver solver, char *text) {
  const problem *p = &c->p;
  kkt_truth truth;
  kkt_truth_of(&truth, p, NULL);
  if (!truth.unique || truth.inconsistency > ROW_ERROR) return ANSWER_RIGHT;
  const bool pivots = solver == VIN_SOLVER_AUTO || solver == VIN_SOLVER_UMFPACK;
  if (!pivots && !c->definite) return ANSWER_RIGHT; /* as their description says */
  const double uncertain = uncertainty(p, &truth);
  const size_t used = strlen(text);
  snprintf(text + used, 256 - used, " [uncertainty %.2g, pivot %.2g, rank %d of %d]", uncertain,
           truth.smallest, (int)truth.rank, (int)truth.size);
  return uncertain > HOPELESS || !truth.consistent || rows_differ(p) ? ANSWER_REFUSED_NEAR
                                                                     : ANSWER_REFUSED;
}

answer kkt_case_judge(const kkt_case *c, vin_solver solver, vin_order order, char *text) {
  const problem *p = &c->p;
  vin_kkt_options options = options_of(p, solver);
  options.order = order;
  vin_kkt *kkt = kkt_created(p, &options);
  double z[TRUTH_MOST];
  vin_status status = kkt_factor(kkt, p);
  if (status == VIN_OK) status = kkt_solve(kkt, p, z);
  cr_assert(status == VIN_OK || status == VIN_SINGULAR, "%s", vin_kkt_error(kkt));
  snprintf(text, 256, "%.170s", status == VIN_OK ? "" : vin_kkt_error(kkt));
  const answer result =
      status == VIN_OK ? judge_accepted(p, kkt, z, text) : judge_refused(c, solver, text);
  vin_kkt_destroy(kkt);
  return result;
}
