/* ldlt_lanes_builder - what the two files that build a plan of ldlt_lanes.h share. */
#ifndef VINI_LDLT_LANES_BUILDER_H
#define VINI_LDLT_LANES_BUILDER_H

#include "linsys/ldlt_lanes.h"

/* One or more whole subtrees under the same front, whose rows are all among those of one of them. */
typedef struct vini_leaf {
  vin_int pivots, rows;
  vin_int pivot;  /* into leaf_pivot: its columns, subtree by subtree */
  vin_int row;    /* into leaf_row: columns of the rows, ascending */
  vin_int source; /* into leaf_source: entries of the matrix in the order of kind->entry */
  vin_int kind, batch, lane;
} vini_leaf;

typedef struct vini_lane_builder {
  vini_object *object;
  const vin_sparse *matrix;
  vini_lane_plan *plan;
  vini_ldlt_tree tree;
  vin_int *entry_start; /* n + 1: entries of the matrix by the column they belong to ... */
  vin_int *entry_at,
      *entry_row;   /* ... where they are in the matrix, and their row (a column number) */
  vin_int *leaf_of; /* n: -1 when not in a leaf */
  vin_int leaf_count;
  vini_leaf *leaf;
  vin_int *leaf_pivot, *leaf_row, *leaf_source;
  vin_int *front_of;     /* n: front of a column that is in no leaf */
  vin_int *front_parent; /* plan->front_count */
  const vini_leaf *
      *lane; /* VINI_LANES * plan->batch_count: leaves by batches, the first in lanes left over */
  vin_int *pending; /* plan->batch_count: leaves whose update has not been taken */
  vin_int *mark;    /* n */
  int64_t code_room;
} vini_lane_builder;

/* Places of the numbers of a leaf's panel, while its kind is made. */
typedef struct vini_leaf_shape {
  vin_int pivots, rows, numbers, entries;
  bool body;
  vin_int coupled;
  int16_t number[VINI_LEAF_PIVOTS][VINI_LEAF_PIVOTS + VINI_LEAF_ROWS]; /* -1: zero */
  uint16_t column[VINI_LEAF_PIVOTS + 1];
  uint16_t row[VINI_LEAF_PIVOTS * (VINI_LEAF_PIVOTS + VINI_LEAF_ROWS)];
  uint16_t entry[VINI_LEAF_PIVOTS * (1 + VINI_LEAF_PIVOTS + VINI_LEAF_ROWS)];
} vini_leaf_shape;

/* Front above a column's leaf or front, -1: none. */
static inline vin_int vini_front_above(const vini_lane_builder *b, vin_int column) {
  const vin_int up = b->tree.parent[column];
  return up < 0 ? -1 : b->front_of[up];
}

vin_status vini_lane_no_memory(const vini_lane_builder *b);
void vini_lane_sort(vin_int *x, vin_int count);

/* ldlt_subtrees.c: entry_*, leaf_of, front_of, plan->front_count, leaf with columns and rows. */
vin_status vini_find_leaves(vini_lane_builder *b);
/* ldlt_leaves.c: sources and kinds of the leaves, plan->kind, plan->code. *fits is left false when there
 * are too many kinds. */
vin_status vini_find_kinds(vini_lane_builder *b, bool *fits);
/* ldlt_lanes_fill.c: all lists, for which there is memory already. */
vin_status vini_lane_fill(vini_lane_builder *b);
/* ldlt_leaf_code.c: the program of a new kind, appended to plan->code; any code. */
vin_status vini_leaf_kind_add(vini_lane_builder *b, const vini_leaf_shape *shape);
vin_status vini_lane_append(vini_lane_builder *b, const uint16_t *code, int64_t count);
/* ldlt_leaf_runs.c: runs of the entries of bodies, appended to plan->code; plan->source of bodies. */
vin_status vini_find_leaf_runs(vini_lane_builder *b);
void vini_fill_leaf_runs(vini_lane_builder *b);

#endif
