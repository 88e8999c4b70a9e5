/* ldlt_lanes - the LDL' of mechanisms of many like bodies: what is eliminated first, a body or a point
 * with its mass, has few shapes, and four of a shape are eliminated at once, one in each lane of a
 * vector.
 *
 * Leaves. A leaf is a whole subtree of the elimination tree with few columns, so that nothing has to be
 * done before it. Leaves of the same kind have the same pattern of L in local numbers (columns
 * 0 .. pivots - 1, then the rows below, ascending) and share one program: lists of places, as long as L
 * of one leaf, not of all. A batch is four leaves of a kind; number e of lane l stands at 4 e + l. Lanes
 * left over in the last batch of a kind repeat its first leaf with pivots 1/d := 0.
 *
 * Fronts. The columns between the leaves and the root (of joints, mostly) form dense fronts: consecutive
 * such columns with the same rows below. A front is worked on as a square F, lower triangle by columns:
 * pivots at places 0 .. pivots - 1, rows at below .. below + rows - 1, where below and the leading dimension
 * ld are multiples of 4, so that vectors of four fit. Behind F stand the magnitudes that were added up to
 * the pivots. L is kept packed: the triangle by columns, below the diagonal only; four numbers that vectors
 * may write over; the rectangle by columns; four numbers more.
 *
 * Updates. What a leaf leaves for its parent is packed by columns of the lower triangle, lanes together,
 * and behind it the magnitudes; what a front leaves stays in its square. Both are added to the parent by
 * one list of places for each row, not for each entry.
 *
 * Bodies. A leaf with few rows needs no program but places: its columns act one by one on what they meet, but for
 * the last ones (`coupled`: 2, 3 or 6 of them, or none), which are full or nearly so, as in the rotation of a
 * rigid body, and are worked on as a dense trapezoid with a few zeros.
 *
 * "Position" numbers the pivots as they are stored: batch by batch, pivot by pivot, lane by lane, then
 * front by front. */
#ifndef VINI_LDLT_LANES_H
#define VINI_LDLT_LANES_H

#include "linsys/ldlt_tree.h"

enum { VINI_LANES = 4, VINI_LEAF_PIVOTS = 12, VINI_LEAF_ROWS = 64, VINI_BODY_ROWS = 32 };
enum { VINI_BODY_COLUMN = 12 };            /* numbers of a column that acts by itself */
enum { VINI_LANE_BYTES = 8 * VINI_LANES }; /* of one number in all lanes */

/* Places in plan->code, all in local numbers. Work of a leaf: diagonals of pivots and rows, the magnitudes that
 * were added up to them, the numbers of the panel times d. Loops over these lists are flat: what a processor
 * must guess is their ends, and guesses cost more here than arithmetic.
 *  entry      place of each entry of the matrix in the work
 *  column     pivots + 1 starts of the panel's columns
 *  row        row of each number of the panel
 *  factor     for each pivot what its column contributes to later columns: count, then (number, two numbers
 *             of the column); then groups for what is left of the update beside its diagonal: terms, count,
 *             then for each of `count` targets its place and `terms` pairs of numbers; VINI_GROUPS_END
 *  forward    column of each number of the panel
 *  backward   number, column, row: the panel's numbers from the last row to the first
 * Of a body, with all places in bytes: the work holds the diagonal of the pivots, the panel times d, the
 * update, and the magnitudes of pivots and rows.
 *  entry, column   as above
 *  zero       places in the panel that no entry of the matrix fills, `zeros` of them
 *  row        row of each number of the panel
 *  factor     for each column that is not coupled where its rows meet: all pairs of them, by columns */
typedef struct vini_leaf_kind {
  vin_int pivots, rows, numbers, entries;
  bool body;
  vin_int coupled, zeros;
  int64_t entry, column, row, factor, forward, backward, zero;
} vini_leaf_kind;

#define VINI_GROUPS_END 0xffffu

typedef struct vini_batch {
  vin_int kind, count; /* leaves */
  vin_int position;    /* of its first pivot, a multiple of 4 */
  vin_int index; /* into plan->index: unknowns of the pivots, then of the rows, lanes together */
  int64_t
      source; /* into plan->source: entries of the matrix, lanes together; of a body: the first ones of runs */
  int64_t value;  /* into the values of L */
  int64_t update; /* into the buffer */
  /* of a body: */
  int64_t
      run; /* into plan->code: the number of runs, entries that stand side by side in the matrix in each lane;
                     for each of them its length, then the places */
  bool
      pivot_run; /* all lanes are in use, and the unknowns of the pivots stand side by side in each */
} vini_batch;

/* A part of a front that was left by a child. */
typedef struct vini_lane_child {
  vin_int rows, rel;     /* rel: into plan->rel */
  vin_int run;           /* rel[i] = run + i for all rows; -1: not so */
  vin_int stride;        /* VINI_LANES: of a leaf, packed; 1: of a front */
  vin_int ld;            /* of the child's square */
  int64_t update, scale; /* into the buffer */
} vini_lane_child;

typedef struct vini_lane_front {
  vin_int pivots, rows, below, ld;
  vin_int position;
  vin_int index;            /* into plan->index: unknowns of the pivots, then of the rows */
  vin_int entry, entry_end; /* into plan->front_source, plan->front_place */
  vin_int child, child_end; /* into plan->child */
  int64_t value;            /* into the values of L */
  int64_t square;           /* into the buffer */
  bool
      chain; /* entries of the matrix: the pivots' diagonal; first child: a leaf that has all columns as
               * rows; second, if any: a front with as many rows, the first pivots */
} vini_lane_front;

/* Where column k of the triangle starts in the values of a front, and where the rectangle does. */
static inline int64_t vini_lane_column(vin_int k, vin_int pivots) {
  return (int64_t)k * (pivots - 1) - (int64_t)k * (k - 1) / 2;
}
static inline int64_t vini_lane_rectangle(const vini_lane_front *front) {
  return vini_lane_column(front->pivots, front->pivots) + 4;
}

typedef struct vini_lane_plan {
  vin_int n;
  vin_int positions; /* >= n: with the lanes left over */
  vin_int kind_count, batch_count, front_count;
  vini_leaf_kind *kind;
  vini_batch *batch;
  vini_lane_front *front;
  vini_lane_child *child;
  vin_int *step;    /* batch_count + front_count: f >= 0 is front f, -1 - b is batch b */
  vin_int *unknown; /* positions: -1 for a lane left over */
  vin_int *index, *source, *rel, *front_source, *front_place;
  uint16_t *code;
  int64_t child_count, index_count, source_count, rel_count, front_entry_count, code_count;
  int64_t value_count, buffer_count;
  vin_int max_numbers; /* of the work of a leaf */
  vin_int max_size;    /* of a leaf or front: pivots and rows, rounded up to 4 */
  int64_t nnz;
  double flops;
} vini_lane_plan;

/* *fits: leaves fill the lanes and fronts are small, so that this is the faster way; otherwise the plan is
 * left empty. */
vin_status vini_lane_plan_build(vini_object *object, vini_lane_plan *plan, const vin_sparse *matrix,
                                const vin_int *order, bool *fits);
void vini_lane_plan_clear(const vin_context *context, vini_lane_plan *plan);

#endif
