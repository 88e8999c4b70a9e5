/* families.h - saddle-point systems of typical mechanisms, with random values from a fixed seed. */
#ifndef VINCULA_BENCH_FAMILIES_H
#define VINCULA_BENCH_FAMILIES_H

#include "bench.h"

#include <vincula/vincula.h>

/* A growing list of entries in declared order. */
typedef struct bench_entries {
  vin_int count, capacity;
  vin_int *row, *col;
  double *value;
} bench_entries;

/* [H J'; J 0] (x, lambda) = (f, g). */
typedef struct bench_problem {
  const char *family;
  vin_int bodies, n, m;
  bench_entries h, j;
  double *f, *g;     /* n, m */
  int constant_mass; /* 1: H is handed over once, as users do with points; 0: each time */
  uint64_t random;
} bench_problem;

/* Names, ends with NULL: "point-chain", "ball-chain", "hinge-chain", "ladder", "tree", "net",
 * "lattice", "hub". */
extern const char *const bench_families[];

/* The problem of a family with about that many bodies; bodies says how many it became (a square for
 * nets, a cube for lattices, an odd number for ladders, at least 2). */
bench_problem *bench_problem_create(const char *family, vin_int bodies);
void bench_problem_destroy(bench_problem *problem);

vin_triplets bench_pattern(const bench_entries *entries);

/* Largest residual of force rows and of constraint rows, each relative to the sum of the magnitudes
 * of its terms (as in vin_kkt_options), computed from the entries themselves. */
void bench_residuals(const bench_problem *problem, const double *x, const double *lambda,
                     double *force, double *constraint);

#endif
