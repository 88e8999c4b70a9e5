/* engine_library.c - the LDL package and KLU, in the elimination order of vin_kkt: what the best
 * general libraries make of the same order. */
#include "engine.h"

#include <math.h>
#include <stdlib.h>

/* ---- LDL: T. A. Davis, "Algorithm 849", ACM TOMS 31 (2005) ----------------------------------- */

#ifdef BENCH_HAVE_LDL
#include <ldl.h>

typedef struct ldl {
  bench_ordered *k; /* upper triangle */
  int *lp, *li, *parent, *count, *pattern, *flag;
  double *lx, *d, *y;
} ldl;

static int ldl_factor(bench_engine *engine, const bench_problem *p) {
  ldl *s = engine->state;
  bench_ordered *k = s->k;
  bench_ordered_values(k, p);
  int done = ldl_numeric(k->size, k->start, k->row, k->value, s->lp, s->parent, s->count, s->li,
                         s->lx, s->d, s->y, s->pattern, s->flag, NULL, NULL);
  return done == k->size || bench_engine_failed(engine, "zero pivot");
}

static int ldl_solve(bench_engine *engine, const bench_problem *p, double *x, double *lambda) {
  ldl *s = engine->state;
  bench_ordered *k = s->k;
  bench_ordered_load(k, p);
  ldl_lsolve(k->size, k->work, s->lp, s->li, s->lx);
  ldl_dsolve(k->size, k->work, s->d);
  ldl_ltsolve(k->size, k->work, s->lp, s->li, s->lx);
  bench_ordered_store(k, x, lambda);
  return 1;
}

static bench_facts ldl_facts(const bench_engine *engine) {
  const ldl *s = engine->state;
  const bench_ordered *k = s->k;
  bench_facts facts = {.nnz = s->lp[k->size]};
  for (int c = 0; c < k->size; c++) {
    double below = s->lp[c + 1] - s->lp[c];
    facts.flops += below * (below + 3.0);
    facts.negative += s->d[c] < 0.0;
  }
  facts.bytes = facts.nnz * 12 + (int64_t)k->size * 48 + k->start[k->size] * 12;
  return facts;
}

static void ldl_destroy(bench_engine *engine) {
  ldl *s = engine->state;
  bench_ordered_destroy(s->k);
  free(s->lp), free(s->li), free(s->parent), free(s->count), free(s->pattern), free(s->flag);
  free(s->lx), free(s->d), free(s->y);
  free(s);
}

static void ldl_analyse(bench_engine *engine, const bench_problem *p) {
  ldl *s = engine->state = bench_alloc(1, sizeof *s);
  bench_ordered *k = s->k = bench_ordered_create(p, 0);
  if (!k) {
    bench_engine_failed(engine, "no order");
    bench_engine_destroy(engine);
    return;
  }
  size_t size = (size_t)k->size;
  s->lp = bench_alloc(size + 1, sizeof *s->lp);
  s->parent = bench_alloc(size, sizeof *s->parent);
  s->count = bench_alloc(size, sizeof *s->count);
  s->pattern = bench_alloc(size, sizeof *s->pattern);
  s->flag = bench_alloc(size, sizeof *s->flag);
  s->d = bench_alloc(size, sizeof *s->d);
  s->y = bench_alloc(size, sizeof *s->y);
  double begin = bench_cpu_clock();
  ldl_symbolic(k->size, k->start, k->row, s->lp, s->parent, s->count, s->flag, NULL, NULL);
  engine->analyse_s = bench_cpu_clock() - begin;
  s->li = bench_alloc((size_t)s->lp[size], sizeof *s->li);
  s->lx = bench_alloc((size_t)s->lp[size], sizeof *s->lx);
}
#endif

void bench_engine_ldl(bench_engine *engine, const bench_problem *p) {
  *engine = (bench_engine){.name = "LDL", .verdict = "ok"};
#ifdef BENCH_HAVE_LDL
  engine->factor = ldl_factor;
  engine->solve = engine->solve_plain = ldl_solve;
  engine->facts = ldl_facts;
  engine->destroy = ldl_destroy;
  ldl_analyse(engine, p);
#else
  (void)p;
  bench_engine_failed(engine, "not in this build");
#endif
}

/* ---- KLU: T. A. Davis, E. Palamadai Natarajan, "Algorithm 907", ACM TOMS 37 (2010) ------------- */

#ifdef BENCH_HAVE_KLU
#include <klu.h>

typedef struct klu {
  bench_ordered *k; /* both triangles */
  klu_common common;
  klu_symbolic *symbolic;
  klu_numeric *numeric; /* NULL before the first factorisation */
} klu;

static int klu_engine_factor(bench_engine *engine, const bench_problem *p) {
  klu *s = engine->state;
  bench_ordered *k = s->k;
  bench_ordered_values(k, p);
  int good;
  if (s->numeric) {
    good = klu_refactor(k->start, k->row, k->value, s->symbolic, s->numeric, &s->common);
  } else {
    s->numeric = klu_factor(k->start, k->row, k->value, s->symbolic, &s->common);
    good = s->numeric && klu_sort(s->symbolic, s->numeric, &s->common);
  }
  return (good && s->common.status == KLU_OK) || bench_engine_failed(engine, "zero pivot");
}

static int klu_engine_solve(bench_engine *engine, const bench_problem *p, double *x,
                            double *lambda) {
  klu *s = engine->state;
  bench_ordered *k = s->k;
  bench_ordered_load(k, p);
  if (!klu_solve(s->symbolic, s->numeric, k->size, 1, k->work, &s->common))
    return bench_engine_failed(engine, "solve failed");
  bench_ordered_store(k, x, lambda);
  return 1;
}

static bench_facts klu_engine_facts(const bench_engine *engine) {
  klu *s = engine->state;
  bench_facts facts = {.nnz = -1, .flops = NAN, .bytes = -1, .negative = -1};
  if (!s->numeric) return facts;
  klu_flops(s->symbolic, s->numeric, &s->common);
  facts.nnz = (int64_t)s->numeric->lnz + s->numeric->unz;
  facts.flops = s->common.flops;
  facts.bytes = (int64_t)s->common.memusage + s->k->start[s->k->size] * 12;
  facts.negative = 0;
  const double *diagonal = s->numeric->Udiag;
  for (int c = 0; c < s->k->size; c++) facts.negative += diagonal[c] < 0.0;
  return facts;
}

static void klu_engine_destroy(bench_engine *engine) {
  klu *s = engine->state;
  bench_ordered_destroy(s->k);
  if (s->numeric) klu_free_numeric(&s->numeric, &s->common);
  if (s->symbolic) klu_free_symbolic(&s->symbolic, &s->common);
  free(s);
}

static void klu_engine_analyse(bench_engine *engine, const bench_problem *p) {
  klu *s = engine->state = bench_alloc(1, sizeof *s);
  s->k = bench_ordered_create(p, 1);
  klu_defaults(&s->common);
  s->common.btf = 0;   /* K has one block */
  s->common.tol = 0.0; /* the diagonal, whatever its size: the order makes that right */
  s->common.scale = 0;
  if (s->k) {
    double begin = bench_cpu_clock();
    s->symbolic = klu_analyze_given(s->k->size, s->k->start, s->k->row, NULL, NULL, &s->common);
    engine->analyse_s = bench_cpu_clock() - begin;
  }
  if (s->symbolic) return;
  bench_engine_failed(engine, "analysis failed");
  bench_engine_destroy(engine);
}
#endif

void bench_engine_klu(bench_engine *engine, const bench_problem *p) {
  *engine = (bench_engine){.name = "KLU refactor", .verdict = "ok"};
#ifdef BENCH_HAVE_KLU
  engine->factor = klu_engine_factor;
  engine->solve = engine->solve_plain = klu_engine_solve;
  engine->facts = klu_engine_facts;
  engine->destroy = klu_engine_destroy;
  klu_engine_analyse(engine, p);
#else
  (void)p;
  bench_engine_failed(engine, "not in this build");
#endif
}
