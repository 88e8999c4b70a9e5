/* engine_vincula.c - vin_kkt, and the matrix in its elimination order for the other libraries. The
 * only file of the benchmarks that looks inside the library. */
#include "engine.h"

#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bench_engine_failed(bench_engine *engine, const char *why) {
  snprintf(engine->verdict, sizeof engine->verdict, "%s", why);
  return 0;
}

void bench_engine_destroy(bench_engine *engine) {
  if (engine->state) engine->destroy(engine);
  engine->state = NULL;
}

typedef struct vincula {
  vin_kkt *kkt;
  double *z; /* n + m */
  int begun; /* H has been handed over */
} vincula;

static int vincula_factor(bench_engine *engine, const bench_problem *p) {
  vincula *v = engine->state;
  const double *h = v->begun && p->constant_mass ? NULL : p->h.value;
  vin_status status = vin_kkt_factor(v->kkt, h, p->j.value, NULL);
  v->begun = 1;
  return status == VIN_OK || bench_engine_failed(engine, vin_status_name(status));
}

static int vincula_solve(bench_engine *engine, const bench_problem *p, double *x, double *lambda) {
  vincula *v = engine->state;
  vin_status status = vin_kkt_solve(v->kkt, 1, p->f, p->g, x, lambda);
  return status == VIN_OK || bench_engine_failed(engine, vin_status_name(status));
}

static int vincula_solve_plain(bench_engine *engine, const bench_problem *p, double *x,
                               double *lambda) {
  vincula *v = engine->state;
  size_t n = (size_t)p->n * sizeof *x, m = (size_t)p->m * sizeof *x;
  memcpy(v->z, p->f, n);
  memcpy(v->z + p->n, p->g, m);
  vin_status status = vini_kkt_solve_plain(v->kkt, 1, v->z);
  memcpy(x, v->z, n);
  memcpy(lambda, v->z + p->n, m);
  return status == VIN_OK || bench_engine_failed(engine, vin_status_name(status));
}

static bench_facts vincula_facts(const bench_engine *engine) {
  const vincula *v = engine->state;
  vin_kkt_info info = vin_kkt_get_info(v->kkt);
  return (bench_facts){.nnz = info.nnz_factor,
                       .flops = info.flops > 0 ? info.flops : NAN,
                       .bytes = info.bytes,
                       .negative = info.negative_pivots};
}

vin_solver_stats bench_engine_stats(const bench_engine *engine) {
  const vincula *v = engine->state;
  return v ? vin_kkt_get_stats(v->kkt) : (vin_solver_stats){0};
}

static void vincula_destroy(bench_engine *engine) {
  vincula *v = engine->state;
  vin_kkt_destroy(v->kkt);
  free(v->z);
  free(v);
}

void bench_engine_vincula(bench_engine *engine, const bench_problem *p, vin_solver solver) {
  *engine = (bench_engine){.name = vin_solver_name(solver),
                           .verdict = "ok",
                           .factor = vincula_factor,
                           .solve = vincula_solve,
                           .solve_plain = vincula_solve_plain,
                           .facts = vincula_facts,
                           .destroy = vincula_destroy};
  if (!vin_solver_available(solver)) {
    bench_engine_failed(engine, "not in this build");
    return;
  }
  vincula *v = engine->state = bench_alloc(1, sizeof *v);
  v->z = bench_alloc((size_t)p->n + (size_t)p->m, sizeof *v->z);
  vin_kkt_options options = vin_kkt_options_default();
  options.solver = solver;
  double begin = bench_cpu_clock();
  vin_status status = vin_kkt_create(&v->kkt, NULL, p->n, p->m, bench_pattern(&p->h),
                                     bench_pattern(&p->j), &options);
  engine->analyse_s = bench_cpu_clock() - begin;
  if (status == VIN_OK) return;
  bench_engine_failed(engine, vin_status_name(status));
  bench_engine_destroy(engine);
}

/* ---- K in the elimination order ----------------------------------------------------------- */

/* Counts (start) or places (start, row, slot, other) the entries of K. */
static void place(bench_ordered *o, const bench_entries *e, vin_int row_offset,
                  const vin_int *inverse, vin_int *next, vin_int *slot, vin_int *other) {
  for (vin_int k = 0; k < e->count; k++) {
    vin_int a = inverse[e->row[k] + row_offset], b = inverse[e->col[k]];
    vin_int low = a < b ? a : b, high = a < b ? b : a;
    if (slot) o->row[next[high]] = low, slot[k] = next[high];
    next[high]++;
    if (!other || low == high) {
      if (other && slot) other[k] = slot[k];
      continue;
    }
    if (slot) o->row[next[low]] = high, other[k] = next[low];
    next[low]++;
  }
}

/* Multipliers have a zero on the diagonal, which KLU needs to see as a possible pivot. */
static void place_diagonal(bench_ordered *o, vin_int *next, const vin_int *inverse) {
  for (vin_int i = o->n; i < o->size; i++) {
    vin_int k = inverse[i];
    if (o->row) o->row[next[k]] = k;
    next[k]++;
  }
}

/* Rows ascending in each column, as UMFPACK wants them: a pass through the columns meets the entries
 * of each row in the order of their columns, so that the transposed matrix is built sorted, and the
 * pattern is its own transposed. */
static void sort_columns(bench_ordered *o, const bench_problem *p, vin_int *next) {
  vin_int entries = o->start[o->size];
  vin_int *row = bench_alloc((size_t)entries, sizeof *row);
  vin_int *moved = bench_alloc((size_t)entries, sizeof *moved);
  memcpy(next, o->start, (size_t)o->size * sizeof *next);
  for (vin_int c = 0; c < o->size; c++) {
    for (vin_int at = o->start[c]; at < o->start[c + 1]; at++) {
      moved[at] = next[o->row[at]]++;
      row[moved[at]] = c;
    }
  }
  for (vin_int k = 0; k < p->h.count; k++)
    o->slot_h[k] = moved[o->slot_h[k]], o->other_h[k] = moved[o->other_h[k]];
  for (vin_int k = 0; k < p->j.count; k++)
    o->slot_j[k] = moved[o->slot_j[k]], o->other_j[k] = moved[o->other_j[k]];
  free(o->row);
  free(moved);
  o->row = row;
}

static void compress(bench_ordered *o, const bench_problem *p, int both) {
  size_t size = (size_t)o->size;
  vin_int *inverse = bench_alloc(size, sizeof *inverse), *next = bench_alloc(size, sizeof *next);
  vin_int mark; /* any address: says that both triangles are counted */
  for (vin_int k = 0; k < o->size; k++) inverse[o->order[k]] = k;
  place(o, &p->h, 0, inverse, next, NULL, both ? &mark : NULL);
  place(o, &p->j, o->n, inverse, next, NULL, both ? &mark : NULL);
  place_diagonal(o, next, inverse);
  o->start = bench_alloc(size + 1, sizeof *o->start);
  for (size_t k = 0; k < size; k++) o->start[k + 1] = o->start[k] + next[k];
  memcpy(next, o->start, size * sizeof *next);
  size_t entries = (size_t)o->start[size];
  o->row = bench_alloc(entries, sizeof *o->row);
  o->value = bench_alloc(entries, sizeof *o->value);
  o->slot_h = bench_alloc((size_t)p->h.count, sizeof(vin_int));
  o->slot_j = bench_alloc((size_t)p->j.count, sizeof(vin_int));
  if (both) {
    o->other_h = bench_alloc((size_t)p->h.count, sizeof(vin_int));
    o->other_j = bench_alloc((size_t)p->j.count, sizeof(vin_int));
  }
  place(o, &p->h, 0, inverse, next, o->slot_h, o->other_h);
  place(o, &p->j, o->n, inverse, next, o->slot_j, o->other_j);
  place_diagonal(o, next, inverse);
  if (both) sort_columns(o, p, next);
  free(inverse);
  free(next);
}

static void fill(bench_ordered *o, const bench_entries *e, const vin_int *slot,
                 const vin_int *other) {
  for (vin_int k = 0; k < e->count; k++) o->value[slot[k]] = e->value[k];
  if (!other) return;
  for (vin_int k = 0; k < e->count; k++) o->value[other[k]] = e->value[k];
}

void bench_ordered_values(bench_ordered *o, const bench_problem *p) {
  fill(o, &p->j, o->slot_j, o->other_j);
  if (!p->constant_mass) fill(o, &p->h, o->slot_h, o->other_h);
}

bench_ordered *bench_ordered_create(const bench_problem *p, int both) {
  vin_kkt *kkt = NULL;
  if (vin_kkt_create(&kkt, NULL, p->n, p->m, bench_pattern(&p->h), bench_pattern(&p->j), NULL) !=
      VIN_OK) {
    vin_kkt_destroy(kkt);
    return NULL;
  }
  bench_ordered *o = bench_alloc(1, sizeof *o);
  o->n = p->n;
  o->size = p->n + p->m;
  o->order = bench_alloc((size_t)o->size, sizeof *o->order);
  memcpy(o->order, kkt->plan.order, (size_t)o->size * sizeof *o->order);
  vin_kkt_destroy(kkt);
  compress(o, p, both);
  o->work = bench_alloc((size_t)o->size, sizeof *o->work);
  fill(o, &p->h, o->slot_h, o->other_h);
  return o;
}

void bench_ordered_destroy(bench_ordered *o) {
  if (!o) return;
  free(o->order), free(o->start), free(o->row), free(o->value), free(o->work);
  free(o->slot_h), free(o->slot_j), free(o->other_h), free(o->other_j);
  free(o);
}

void bench_ordered_load(bench_ordered *o, const bench_problem *p) {
  for (vin_int k = 0; k < o->size; k++) {
    vin_int i = o->order[k];
    o->work[k] = i < p->n ? p->f[i] : p->g[i - p->n];
  }
}

void bench_ordered_store(const bench_ordered *o, double *x, double *lambda) {
  for (vin_int k = 0; k < o->size; k++) {
    vin_int i = o->order[k];
    if (i < o->n)
      x[i] = o->work[k];
    else
      lambda[i - o->n] = o->work[k];
  }
}
