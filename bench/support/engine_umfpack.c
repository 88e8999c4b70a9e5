/* engine_umfpack.c - UMFPACK by itself: vin_kkt chooses between its strategies by the operations they
 * predict, and the benchmark shows what each really takes. */
#include "engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef VINI_HAVE_UMFPACK
#include <umfpack.h>

typedef struct umfpack {
  bench_ordered *k; /* both triangles; the order does not matter here */
  void *symbolic, *numeric;
  int *iwork;
  double *work, *z;
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
} umfpack;

static int umfpack_factor(bench_engine *engine, const bench_problem *p) {
  umfpack *u = engine->state;
  bench_ordered_values(u->k, p);
  if (u->numeric) umfpack_di_free_numeric(&u->numeric);
  int code = umfpack_di_numeric(u->k->start, u->k->row, u->k->value, u->symbolic, &u->numeric,
                                u->control, u->info);
  return code == UMFPACK_OK || bench_engine_failed(engine, "singular");
}

static int umfpack_solve(bench_engine *engine, const bench_problem *p, double *x, double *lambda) {
  umfpack *u = engine->state;
  double info[UMFPACK_INFO];
  bench_ordered_load(u->k, p);
  int code = umfpack_di_wsolve(UMFPACK_A, NULL, NULL, NULL, u->z, u->k->work, u->numeric,
                               u->control, info, u->iwork, u->work);
  memcpy(u->k->work, u->z, (size_t)u->k->size * sizeof *u->z);
  bench_ordered_store(u->k, x, lambda);
  return code == UMFPACK_OK || bench_engine_failed(engine, "solve failed");
}

static bench_facts umfpack_facts(const bench_engine *engine) {
  const umfpack *u = engine->state;
  bench_facts facts = {.nnz = -1, .flops = NAN, .bytes = -1, .negative = -1};
  if (!u->numeric) return facts;
  facts.nnz = (int64_t)(u->info[UMFPACK_LNZ] + u->info[UMFPACK_UNZ]);
  facts.flops = u->info[UMFPACK_FLOPS];
  double units = u->info[UMFPACK_NUMERIC_SIZE] + u->info[UMFPACK_SYMBOLIC_SIZE];
  facts.bytes = (int64_t)(units * u->info[UMFPACK_SIZE_OF_UNIT]) + u->k->start[u->k->size] * 12;
  return facts;
}

static void umfpack_destroy(bench_engine *engine) {
  umfpack *u = engine->state;
  if (u->numeric) umfpack_di_free_numeric(&u->numeric);
  if (u->symbolic) umfpack_di_free_symbolic(&u->symbolic);
  bench_ordered_destroy(u->k);
  free(u->iwork), free(u->work), free(u->z);
  free(u);
}

static void analyse(bench_engine *engine, const bench_problem *p, int symmetric) {
  umfpack *u = engine->state = bench_alloc(1, sizeof *u);
  umfpack_di_defaults(u->control);
  u->control[UMFPACK_STRATEGY] =
      symmetric ? UMFPACK_STRATEGY_SYMMETRIC : UMFPACK_STRATEGY_UNSYMMETRIC;
  u->control[UMFPACK_IRSTEP] = 0; /* a plain solve */
  u->k = bench_ordered_create(p, 1);
  int code = UMFPACK_ERROR_internal_error;
  if (u->k) {
    const bench_ordered *k = u->k;
    u->iwork = bench_alloc((size_t)k->size, sizeof *u->iwork);
    u->work = bench_alloc((size_t)k->size, sizeof *u->work);
    u->z = bench_alloc((size_t)k->size, sizeof *u->z);
    double begin = bench_cpu_clock();
    code = umfpack_di_symbolic(k->size, k->size, k->start, k->row, NULL, &u->symbolic, u->control,
                               u->info);
    engine->analyse_s = bench_cpu_clock() - begin;
  }
  if (code == UMFPACK_OK) return;
  bench_engine_failed(engine, "analysis failed");
  bench_engine_destroy(engine);
}
#endif

void bench_engine_umfpack(bench_engine *engine, const bench_problem *p, int symmetric) {
  *engine = (bench_engine){.name = symmetric ? "UMFPACK sym." : "UMFPACK uns.", .verdict = "ok"};
#ifdef VINI_HAVE_UMFPACK
  engine->factor = umfpack_factor;
  engine->solve = engine->solve_plain = umfpack_solve;
  engine->facts = umfpack_facts;
  engine->destroy = umfpack_destroy;
  if (symmetric && p->bodies > BENCH_MOST_SYMMETRIC)
    bench_engine_failed(engine, "left out");
  else
    analyse(engine, p, symmetric);
#else
  (void)p;
  bench_engine_failed(engine, "not in this build");
#endif
}
