/* ldlt_levels_builder - what the two files that build a plan of ldlt_levels.h share. */
#ifndef VINI_LDLT_LEVELS_BUILDER_H
#define VINI_LDLT_LEVELS_BUILDER_H

#include "linsys/ldlt_levels.h"

typedef struct vini_level_member {
  vin_int first, pivots, rows;
  vin_int row; /* into builder->row: columns of the rows, ascending */
  vin_int kind, height, children;
  vin_int child, sibling; /* first child, next child of the same parent; -1: none */
  vin_int relation;       /* to the parent */
  vin_int batch, lane;
} vini_level_member;

typedef struct vini_level_builder {
  vini_object *object;
  const vin_sparse *matrix;
  vini_level_plan *plan;
  const vin_int *order;
  vin_int *inverse, *member_of, *mark; /* n: column of an unknown; member of a column; scratch */
  vini_level_member *member;
  vin_int member_count;
  vin_int *entry_start; /* n + 2: entries of the matrix by the column of L they stand in ... */
  vin_int *entry_at;    /* ... where they are in the matrix, by places within each member ... */
  vin_int *entry_row;   /* ... and, before that, their row */
  vin_int *row;
  int64_t row_room;
  vin_int *sorted; /* members, batch by batch */
} vini_level_builder;

vin_status vini_level_no_memory(const vini_level_builder *b);
/* ldlt_levels_batch.c: batches, rounds and lists. */
vin_status vini_level_fill(vini_level_builder *b);

#endif
