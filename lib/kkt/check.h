/* check - r = b - K z and s = |K| |z| + |b| of a solution in one pass, judged row by row on the way.
 *
 * Blocks. Coordinates of a body or a point are consecutive columns of K. Blocks of the same kind have the
 * same pattern in local numbers (own columns, then the other rows that they reach, ascending), and as the
 * values of a block stand side by side in K, the place of the first one and the list of rows say
 * everything. Four blocks of a kind form a group and are worked on at once, one in each lane of a vector;
 * lanes left over repeat the first block.
 *
 * Rows. Where H couples no two blocks, a force row is complete as soon as its block is, and is judged
 * right there without being stored. The other rows are added up in pairs (r, s) and judged in the end.
 *
 * The pass reads K itself, and nothing that the factorisation made. */
#ifndef VINI_KKT_CHECK_H
#define VINI_KKT_CHECK_H

#include <math.h>

#include "base/base.h"
#include "sparse/sparse.h"

enum { VINI_CHECK_LANES = 4, VINI_CHECK_WIDTH = 12, VINI_CHECK_ROWS = 48, VINI_CHECK_KINDS = 64 };
enum { VINI_CHECK_CELL = 128 }; /* bytes that an unknown takes in the work of a group */

/* code: for each column the number of its entries below the diagonal, then their local rows times
 * VINI_CHECK_CELL. */
typedef struct vini_check_kind {
  bool point;                  /* three columns that H does not couple, and each reaches all rows */
  vin_int width, rows, length; /* length of the code */
  vin_int code;
  vin_int members, open, open_place; /* while groups are made: blocks so far, the last group */
} vini_check_kind;

typedef struct vini_check_group {
  vin_int kind; /* -1: columns column[0] .. column[1] - 1 one by one */
  bool
      chain; /* four points in a row: rows i, i + 1 of the first one, i + 1, i + 2 of the next, ... */
  vin_int count; /* lanes in use */
  vin_int column[VINI_CHECK_LANES],
      entry[VINI_CHECK_LANES]; /* first column, its place in K's values */
  vin_int place;               /* into place: the other rows, lanes together */
} vini_check_group;

typedef struct vini_check {
  vin_int n, m;
  bool apart; /* H couples no two blocks */
  vin_int kind_count, group_count, place_count, code_count;
  vini_check_kind *kind;
  vini_check_group *group;
  uint32_t *place; /* twice the row: of its pair */
  uint16_t *code;
  double *memory, *work; /* of one group, at a multiple of 64 bytes */
  /* Force rows, judged where they are complete; *worst: largest |r| / s so far. */
  void (*groups)(const struct vini_check *check, const vin_sparse *k, const double *f,
                 const double *z, double *pair, double *worst);
} vini_check;

/* K symmetric lower, n + m, every diagonal entry declared. compliance: C has entries. *check is NULL after
 * a failure, which is one of memory. */
vin_status vini_check_create(vini_check **check, vini_object *object, const vin_sparse *k,
                             vin_int n, vin_int m, bool compliance);
void vini_check_destroy(vini_check *check, const vin_context *context);
int64_t vini_check_bytes(const vini_check *check);

/* Takes the plain kernel, or the one for this processor. */
void vini_check_choose_kernel(vini_check *check, bool plain);

/* (r, s) of constraint i at pair[2 (n + i)]; returns the largest |r| / s of the force rows, HUGE_VAL where
 * one is not a number or has no terms. pair: 2 (n + m) numbers. f, g: the right-hand side; z: (x, lambda). */
double vini_check_run(const vini_check *check, const vin_sparse *k, const double *f,
                      const double *g, const double *z, double *pair);

/* The larger of worst and the largest |r| / s of `count` pairs. */
double vini_check_pairs(const double *pair, vin_int count, double worst);

/* Brings *worst up to |r| / s and returns whether that is worse: HUGE_VAL where r is not finite (infinite
 * as s may be) or where there is nothing to compare with. */
static inline bool vini_check_row(double r, double s, double *worst) {
  const double error = fabs(r);
  if (error <= *worst * s && error < HUGE_VAL) return false;
  *worst = error < HUGE_VAL && s > 0 ? error / s : HUGE_VAL;
  return true;
}

#endif
