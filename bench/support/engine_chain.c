/* engine_chain.c - a chain of points, written by hand: what a person would program for this one
 * topology, as the practical limit of any general solver.
 *
 * With w the inverse masses and d_k the direction of link k (from point k-1 to point k), the
 * multipliers solve S lambda = J W f - g with the tridiagonal S = J W J',
 *     S_kk = |d_k|^2 (w_{k-1} + w_k),   S_{k,k+1} = -w_k d_k . d_{k+1},
 * and x = W (f - J' lambda). The elimination runs from both ends to the middle at once: two chains of
 * divisions, each waiting for its own result only, take half the time of one. */
#include "engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct chain {
  vin_int links;
  double *w;          /* links + 1: w[k] of point k-1; w[0] = 0 stands for the fixed point */
  double *off;        /* links: S_{k,k+1} */
  double *inverse;    /* links: 1 / pivot */
  double *multiplier; /* links: row k of L, towards the middle */
  double *y;          /* links */
} chain;

/* J's entries of link k: +d; in front of it those of its first point, -d. */
static const double *direction(const double *j, vin_int k) {
  return j + 6 * (size_t)k;
}

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double diagonal(const chain *c, const double *d, vin_int k) {
  return dot(d, d) * (c->w[k] + c->w[k + 1]);
}

/* Pivot of row k, whose neighbour `from` has been eliminated; off: the entry between them. */
static inline void eliminate(chain *c, const double *j, vin_int k, vin_int from, double off) {
  double l = off * c->inverse[from];
  c->multiplier[from] = l;
  c->inverse[k] = 1.0 / (diagonal(c, direction(j, k), k) - l * off);
}

/* Rows eliminated from each end before the last one or two: the middle. */
static vin_int half(const chain *c) {
  return (c->links - 1) / 2;
}

static int chain_factor(bench_engine *engine, const bench_problem *p) {
  chain *c = engine->state;
  const double *j = p->j.value;
  vin_int last = c->links - 1, pairs = half(c);
  for (vin_int k = 0; k < last; k++)
    c->off[k] = -c->w[k + 1] * dot(direction(j, k), direction(j, k + 1));
  c->inverse[0] = 1.0 / diagonal(c, direction(j, 0), 0);
  if (last > 0) c->inverse[last] = 1.0 / diagonal(c, direction(j, last), last);
  for (vin_int k = 1; k < pairs; k++) {
    eliminate(c, j, k, k - 1, c->off[k - 1]);
    eliminate(c, j, last - k, last - k + 1, c->off[last - k]);
  }
  vin_int middle = last - pairs; /* the row that both ends meet in */
  for (vin_int k = pairs > 0 ? pairs : 1; k < middle; k++) eliminate(c, j, k, k - 1, c->off[k - 1]);
  if (last < 1) return 1;
  double d = diagonal(c, direction(j, middle), middle);
  for (int side = 0; side < 2; side++) {
    vin_int from = side == 0 ? middle - 1 : middle + 1;
    if (from > last) continue;
    double off = c->off[side == 0 ? middle - 1 : middle];
    c->multiplier[from] = off * c->inverse[from];
    d -= c->multiplier[from] * off;
  }
  c->inverse[middle] = 1.0 / d;
  return 1;
}

/* y := J W f - g */
static void load(chain *c, const bench_problem *p) {
  const double *j = p->j.value, *d = j;
  c->y[0] = c->w[1] * dot(d, p->f) - p->g[0];
  for (vin_int k = 1; k < c->links; k++) {
    const double *here = p->f + 3 * (size_t)k, *before = here - 3;
    double a = c->w[k], b = c->w[k + 1];
    d = direction(j, k);
    c->y[k] = d[0] * (b * here[0] - a * before[0]) + d[1] * (b * here[1] - a * before[1]) +
              d[2] * (b * here[2] - a * before[2]) - p->g[k];
  }
}

/* lambda := S^-1 y */
static void substitute(chain *c, double *lambda) {
  const double *l = c->multiplier, *inverse = c->inverse;
  double *y = c->y;
  vin_int last = c->links - 1, pairs = half(c), middle = last - pairs;
  for (vin_int k = 1; k < pairs; k++) {
    y[k] -= l[k - 1] * y[k - 1];
    y[last - k] -= l[last - k + 1] * y[last - k + 1];
  }
  for (vin_int k = pairs > 0 ? pairs : 1; k <= middle; k++) y[k] -= l[k - 1] * y[k - 1];
  if (middle < last) y[middle] -= l[middle + 1] * y[middle + 1];
  lambda[middle] = y[middle] * inverse[middle];
  vin_int k = middle - 1, back = middle + 1;
  for (; back <= last; k--, back++) { /* the front half is never the shorter one */
    lambda[k] = y[k] * inverse[k] - l[k] * lambda[k + 1];
    lambda[back] = y[back] * inverse[back] - l[back] * lambda[back - 1];
  }
  for (; k >= 0; k--) lambda[k] = y[k] * inverse[k] - l[k] * lambda[k + 1];
}

static int chain_solve(bench_engine *engine, const bench_problem *p, double *x, double *lambda) {
  chain *c = engine->state;
  const double *j = p->j.value;
  vin_int last = c->links - 1;
  load(c, p);
  substitute(c, lambda);
  for (vin_int k = 0; k < last; k++) {
    const double *d = direction(j, k), *next = direction(j, k + 1), *f = p->f + 3 * (size_t)k;
    double w = c->w[k + 1], here = lambda[k], after = lambda[k + 1];
    for (int i = 0; i < 3; i++)
      x[3 * (size_t)k + (size_t)i] = w * (f[i] - d[i] * here + next[i] * after);
  }
  for (int i = 0; i < 3; i++) {
    size_t at = 3 * (size_t)last + (size_t)i;
    x[at] = c->w[last + 1] * (p->f[at] - direction(j, last)[i] * lambda[last]);
  }
  return 1;
}

static bench_facts chain_facts(const bench_engine *engine) {
  const chain *c = engine->state;
  bench_facts facts = {.nnz = c->links - 1, .flops = 17.0 * c->links};
  facts.bytes = (int64_t)sizeof(double) * 5 * c->links;
  for (vin_int k = 0; k < c->links; k++) facts.negative += c->inverse[k] > 0.0; /* K has -S */
  return facts;
}

static void chain_destroy(bench_engine *engine) {
  chain *c = engine->state;
  free(c->w), free(c->off), free(c->inverse), free(c->multiplier), free(c->y);
  free(c);
}

void bench_engine_chain(bench_engine *engine, const bench_problem *p) {
  *engine = (bench_engine){.name = "hand-written",
                           .verdict = "ok",
                           .factor = chain_factor,
                           .solve = chain_solve,
                           .solve_plain = chain_solve,
                           .facts = chain_facts,
                           .destroy = chain_destroy};
  if (strcmp(p->family, "point-chain") != 0) {
    bench_engine_failed(engine, "n/a");
    return;
  }
  chain *c = engine->state = bench_alloc(1, sizeof *c);
  size_t links = (size_t)p->m;
  c->links = p->m;
  c->w = bench_alloc(links + 1, sizeof *c->w);
  c->off = bench_alloc(links, sizeof *c->off);
  c->inverse = bench_alloc(links, sizeof *c->inverse);
  c->multiplier = bench_alloc(links, sizeof *c->multiplier);
  c->y = bench_alloc(links, sizeof *c->y);
  for (size_t k = 0; k < links; k++) c->w[k + 1] = 1.0 / p->h.value[3 * k];
}
