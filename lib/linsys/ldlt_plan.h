/* ldlt_plan - what the LDL' factorisation knows before it sees a value: elimination tree, panels,
 * and for every number that will be computed the place where it goes.
 *
 * Numbering. "Column k" is a position in the elimination order, "unknown" an original index.
 *
 * Panels. Consecutive columns whose entries below the panel stand in the same rows form a panel, in
 * one of two shapes:
 *   coupled    the columns are also full among themselves (the rows of a joint, the last columns of
 * a net): a dense trapezoid; uncoupled  the columns have no entry among themselves (x, y, z of a
 * point with a diagonal mass): only the rectangle below is stored. A panel is stored by columns
 * with leading dimension `inside + below`, where inside = width - 1 for a coupled panel (the
 * diagonal is kept elsewhere) and 0 for an uncoupled one. The strict upper triangle of a coupled
 * panel is never touched and stays zero.
 *
 * Targets. The factorisation is right-looking: panel s subtracts sum_k L_ik d_k L_jk from entry
 * (i,j) for all pairs i > j of its rows below; (j,j) goes to the pivot of row j. The places are
 * listed once: pairwise   (few rows) one index into the value array per pair, column by column;
 *   grouped    for each run of rows j that belong to the same later panel t: the number of such
 * rows, where t's values start, t's leading dimension, then for every row from the run's first to
 * the last of s its storage row in t. Entry (i,j) is at start_t + (row_t(j) + 1) ld_t + row_t(i),
 * as storage row q holds panel row q + 1. */
#ifndef VINI_LDLT_PLAN_H
#define VINI_LDLT_PLAN_H

#include "linsys/ldlt_tree.h"
#include "linsys/ldlt_wide.h"

/* Widest panel: bounds the coefficient arrays on the stack and keeps a panel in the caches. */
#define VINI_LDLT_MAX_WIDTH 48
/* Pairwise targets up to this many rows below and this width. Measured on hinge chains, hinge trees
 * and nets: 12 rows cost trees 12 %, more than 24 gain 3 % for 2 % of memory; width 4 costs chains
 * 25 %. */
#define VINI_LDLT_PAIRWISE_ROWS 24
#define VINI_LDLT_PAIRWISE_WIDTH 8

typedef struct vini_ldlt_panel {
  vin_int width, below; /* columns; rows below them */
  vin_int inside;       /* width - 1 (coupled) or 0 (uncoupled, or one column) */
  vin_int grouped;      /* kind of the targets */
  vin_int index;  /* into plan->index: width own unknowns, then the unknowns of the rows below */
  vin_int value;  /* where the panel starts in the value array */
  int64_t target; /* into plan->target */
} vini_ldlt_panel;

typedef struct vini_ldlt_plan {
  vin_int n, panel_count;
  vini_ldlt_panel *panel;
  vin_int *index;  /* index_count */
  vin_int *target; /* target_count */
  vin_int *map;    /* a_count: entry of the matrix -> value array; the diagonal goes to place 0 */
  int64_t a_count, index_count, target_count;
  int64_t value_count; /* length of the value array; place 0 is a waste bin */
  vin_int max_below;   /* most rows below a panel */
  int64_t nnz;
  double flops;
} vini_ldlt_plan;

vin_status vini_ldlt_plan_build(vini_object *object, vini_ldlt_plan *plan, const vin_sparse *matrix,
                                const vin_int *order);
void vini_ldlt_plan_clear(const vin_context *context, vini_ldlt_plan *plan);

/* Steps of plan_build that live in ldlt_targets.c; `column_panel` is the panel of each column, and
 * plan->index still holds columns, not unknowns. */
vin_status vini_ldlt_place_targets(vini_object *object, vini_ldlt_plan *plan,
                                   const vin_int *column_panel);
void vini_ldlt_place_matrix(vini_ldlt_plan *plan, const vin_sparse *matrix, const vin_int *inverse,
                            const vin_int *column_panel);

/* Pivot d_k and the sum of the magnitudes that were added up to it. */
typedef struct vini_ldlt_pivot {
  double d, scale;
} vini_ldlt_pivot;

/* The factorisation. Arrays of length n are in the original numbering. */
typedef struct vini_ldlt {
  vini_backend backend;
  vini_object *object;
  vini_ldlt_plan plan;
  double *value; /* L; value_count */
  vini_ldlt_pivot *pivot;
  double *inverse; /* 1/d, 0 for a dropped unknown */
  double *buffer;  /* 2 max_below */
  unsigned char *dropped;
  const unsigned char *droppable; /* borrowed, NULL: none */
  double threshold;
  bool factored;
  vin_int negative, dropped_count, failed; /* failed: unknown whose pivot broke down, -1 */
  double min_ratio, min_pivot, max_pivot;
  vini_wide_kernel *wide;
} vini_ldlt;

/* L, D of the values set by the caller in value, pivot; false: ldlt->failed has no usable pivot. */
bool vini_ldlt_eliminate(vini_ldlt *ldlt);
void vini_ldlt_substitute(const vini_ldlt *ldlt, vin_int count, double *x);

#define VINI_INLINE static inline __attribute__((always_inline))

#endif
