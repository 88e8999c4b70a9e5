/* engine.h - what bench/kkt compares: anything that factorises and solves a bench_problem. */
#ifndef VINCULA_BENCH_ENGINE_H
#define VINCULA_BENCH_ENGINE_H

#include "families.h"

/* What an engine knows of its factorisation; -1, NaN: unknown. */
typedef struct bench_facts {
  int64_t nnz; /* entries of L below the diagonal (L + U for LU) */
  double flops;
  int64_t bytes;
  int64_t negative; /* pivots */
} bench_facts;

typedef struct bench_engine bench_engine;
struct bench_engine {
  const char *name;
  void *state; /* NULL: could not be made; verdict says why */
  double
      analyse_s; /* of the pattern; for the libraries without the ordering, which they are given */
  char verdict[64]; /* "ok", or what went wrong */
  /* Each returns 1, or 0 with a verdict. factor takes the problem's values anew (H only where it is
   * not constant); solve works as a user gets it, solve_plain without check and refinement. */
  int (*factor)(bench_engine *engine, const bench_problem *problem);
  int (*solve)(bench_engine *engine, const bench_problem *problem, double *x, double *lambda);
  int (*solve_plain)(bench_engine *engine, const bench_problem *problem, double *x, double *lambda);
  bench_facts (*facts)(const bench_engine *engine);
  void (*destroy)(bench_engine *engine);
};

/* vin_kkt with one of its solvers. */
void bench_engine_vincula(bench_engine *engine, const bench_problem *problem, vin_solver solver);
vin_solver_stats bench_engine_stats(const bench_engine *engine); /* of such a one */
/* The LDL package and KLU's refactorisation, in the order that vin_kkt has chosen. Without these
 * libraries in the build the verdict says so. */
void bench_engine_ldl(bench_engine *engine, const bench_problem *problem);
void bench_engine_klu(bench_engine *engine, const bench_problem *problem);
/* UMFPACK by itself, with its symmetric or its unsymmetric strategy. The analysis of the former is
 * quadratic in the length of a chain: it is left out above BENCH_MOST_SYMMETRIC bodies. */
enum { BENCH_MOST_SYMMETRIC = 20000 };
void bench_engine_umfpack(bench_engine *engine, const bench_problem *problem, int symmetric);
/* Code written by hand for point chains; verdict "n/a" for other families. */
void bench_engine_chain(bench_engine *engine, const bench_problem *problem);

void bench_engine_destroy(bench_engine *engine);
/* Sets the verdict; returns 0. */
int bench_engine_failed(bench_engine *engine, const char *why);

/* ---- K in vin_kkt's elimination order, for the libraries ------------------------------------ */

/* P K P' in compressed columns, and where the entries of H and J stand in it. */
typedef struct bench_ordered {
  vin_int size, n;
  vin_int *order;             /* size: unknown eliminated k-th */
  vin_int *start, *row;       /* size + 1, start[size] */
  double *value;              /* start[size] */
  vin_int *slot_h, *slot_j;   /* place of each entry in one triangle */
  vin_int *other_h, *other_j; /* in the other (of a diagonal entry: the same); NULL: upper only */
  double *work;               /* size */
} bench_ordered;

/* both: both triangles, else the upper one. Values of H are filled in. Returns NULL where vin_kkt
 * can't be made. */
bench_ordered *bench_ordered_create(const bench_problem *problem, int both);
void bench_ordered_destroy(bench_ordered *ordered);
/* Fills in the values of J, and of H where it is not constant. */
void bench_ordered_values(bench_ordered *ordered, const bench_problem *problem);
/* work := the right-hand side in elimination order;  (x, lambda) := work. */
void bench_ordered_load(bench_ordered *ordered, const bench_problem *problem);
void bench_ordered_store(const bench_ordered *ordered, double *x, double *lambda);

#endif
