/* ldlt_levels - the LDL' of a tree of bodies in the recursive order: a body, its joint, the body that it
 * hangs on. Bodies of the same height and shape are eliminated four at a time, one in each lane of a vector.
 *
 * Members. A member is what the caller says belongs together, a body and the joint to its parent: some
 * consecutive columns (pivots), and the rows below them. In local numbers (pivots first, then rows,
 * ascending) column k of L is stored from row begin[k] to row end[k] - 1, with the zeros between. The first
 * `thin` columns may begin anywhere and act on later ones one by one; the others begin at k + 1, and
 * their ends do not descend, so that dot products over them need no list.
 *
 * Batches. Four members of a kind and of equal height; numbers of lane l stand at 4 e + l. Lanes left over
 * repeat the first member, with 1/d := 0 in what is told of the pivots.
 *
 * Updates. What a batch leaves for its parents is packed by columns of the lower triangle, lanes together,
 * and behind it the magnitudes that were added up to the diagonals. A parent takes its children in rounds, one child
 * in each lane; a lane that has none left takes a block of zeros.
 *
 * No pivot is dropped: a weak one makes the factorisation fail, and the caller takes an order in which rank
 * can be told. */
#ifndef VINI_LDLT_LEVELS_H
#define VINI_LDLT_LEVELS_H

#include "linsys/ldlt_tree.h"

enum {
  VINI_LEVEL_LANES = 4,
  VINI_LEVEL_PIVOTS = 16,
  VINI_LEVEL_SIZE = 32,
  VINI_LEVEL_ENTRIES = 160
};

typedef struct vini_level_kind {
  vin_int pivots, rows, thin, numbers, entries;
  uint8_t begin[VINI_LEVEL_PIVOTS], end[VINI_LEVEL_PIVOTS];
  uint16_t number[VINI_LEVEL_PIVOTS]; /* where column k starts in the panel */
  uint16_t place[VINI_LEVEL_ENTRIES]; /* of the entries of the matrix: row + size * column */
} vini_level_kind;

/* Rows of a child in local numbers of its parent. */
typedef struct vini_level_relation {
  vin_int rows;
  uint8_t rel[VINI_LEVEL_SIZE];
} vini_level_relation;

/* One child in each lane. */
typedef struct vini_level_round {
  vin_int relation;
  vin_int update[VINI_LEVEL_LANES]; /* into the buffer */
} vini_level_round;

typedef struct vini_level_batch {
  vin_int kind, count;      /* members */
  vin_int position;         /* of its first pivot, a multiple of 4 */
  vin_int index;            /* into plan->index: unknowns of pivots and rows, lanes together */
  vin_int source;           /* into plan->source: entries of the matrix, lanes together */
  vin_int round, round_end; /* into plan->round */
  int64_t value, update;    /* into the values of L, into the buffer */
} vini_level_batch;

typedef struct vini_level_plan {
  vin_int n, positions; /* positions >= n: with the lanes left over */
  vin_int kind_count, relation_count, batch_count;
  vini_level_kind *kind;
  vini_level_relation *relation;
  vini_level_batch *batch;
  vini_level_round *round;
  vin_int *index, *source;
  int64_t round_count, index_count, source_count, value_count, buffer_count;
  int64_t nnz;       /* entries of L below the diagonal, with the zeros that are stored */
  double flops;      /* of the members */
  double lane_flops; /* the same, lanes left over included */
} vini_level_plan;

/* order: n; member: n, by unknowns: those of equal number are eliminated one after the other and together.
 * *fits: members are small and of few kinds; otherwise the plan is left empty. */
vin_status vini_level_plan_build(vini_object *object, vini_level_plan *plan,
                                 const vin_sparse *matrix, const vin_int *order,
                                 const vin_int *member, bool *fits);
void vini_level_plan_clear(const vin_context *context, vini_level_plan *plan);

static inline vin_int vini_level_update_size(vin_int rows) {
  return VINI_LEVEL_LANES * (rows * (rows + 1) / 2 + rows);
}

#endif
