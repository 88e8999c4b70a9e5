/* test_kkt_support - saddle-point systems of random mechanisms, and what vin_kkt makes of them. */
#ifndef TEST_KKT_SUPPORT_H
#define TEST_KKT_SUPPORT_H

#include "test_support.h"
#include "vincula/kkt.h"

static const vin_solver test_solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                          VIN_SOLVER_UMFPACK};
/* for each solver of this build */
#define EACH_SOLVER(s)                                                                             \
  for (size_t s##_k = 0; s##_k < sizeof test_solvers / sizeof *test_solvers; s##_k++)              \
    for (vin_solver s = test_solvers[s##_k], *s##_once = &s; s##_once && vin_solver_available(s);  \
         s##_once = NULL)

/* A growing list of entries. */
typedef struct entries {
  vin_int count, capacity;
  vin_int *row, *col;
  double *value;
} entries;

/* [H J'; J -C] and a right-hand side. */
typedef struct problem {
  vin_int n, m;
  entries h, j, c;
  double *f, *g; /* n, m */
} problem;

void entries_add(entries *e, vin_int row, vin_int col, double value);
vin_triplets entries_pattern(const entries *e);

problem problem_make(vin_int n, vin_int m); /* f, g zero, no entries */
void problem_free(problem *p);
/* One more constraint row: a copy of `row` times `factor`, g too. */
void problem_duplicate(problem *p, vin_int row, double factor);

/* Points in space joined by rods in random directions. A rod's row is -d at one end, d at the
 * other; end -1 is fixed. The right-hand side is random. */
typedef enum shape { CHAIN, TREE, NET, LOOP, SHAPE_COUNT } shape;
typedef struct mechanism {
  shape shape;
  vin_int nodes;     /* NET: a square number */
  bool massive;      /* rods with a consistent mass matrix, which couples their ends in H */
  bool compliance;   /* C diagonally dominant, coupling neighbouring rows */
  double mass_ratio; /* masses between 1 and this; 0 stands for 1 */
} mechanism;
problem problem_of(mechanism what, test_random *random);

/* Options of `what`'s problem: solver, compliance pattern. */
vin_kkt_options options_of(const problem *p, vin_solver solver);
/* Created and factorised; the test fails where that fails. NULL: options_of(p, AUTO) */
vin_kkt *kkt_created(const problem *p, const vin_kkt_options *options);
vin_kkt *kkt_factored(const problem *p, const vin_kkt_options *options);
vin_status kkt_factor(vin_kkt *kkt, const problem *p);

/* The whole matrix, (n + m)^2, column-major; free() it. */
double *dense_matrix(const problem *p);
/* Reference z = (x, lambda), n + m numbers; free() it. The test fails when the matrix is
 * singular. */
double *dense_solution(const problem *p);
/* Reference with the given rows (ascending) left out; their multipliers are 0. */
double *dense_solution_without(const problem *p, vin_int count, const vin_int *rows);

/* Solves for p's right-hand side into z (n + m). */
vin_status kkt_solve(vin_kkt *kkt, const problem *p, double *z);
/* max|a - b| / max|b| */
double relative_difference(vin_int count, const double *a, const double *b);

#endif
