/* ldlt_leaves - what kinds of leaves there are in a plan of ldlt_lanes.h. */
#include "linsys/ldlt_lanes_builder.h"

#include <string.h>

/* More kinds than this are no kinds. */
#define MOST_KINDS 256

/* Pattern of L of a leaf; number[][] >= 0 where L is not zero. */
static void find_pattern(const vini_lane_builder *b, const vini_leaf *leaf, vini_leaf_shape *s) {
  const vin_int *pivot = b->leaf_pivot + leaf->pivot, size = leaf->pivots + leaf->rows;
  memset(s->number, 0xff, sizeof s->number);
  for (vin_int k = 0; k < leaf->pivots; k++) {
    int16_t *column = s->number[k];
    for (vin_int e = b->entry_start[pivot[k]]; e < b->entry_start[pivot[k] + 1]; e++) {
      const vin_int i = b->mark[b->entry_row[e]];
      if (i != k) column[i] = 0;
    }
    const vin_int up = b->tree.parent[pivot[k]];
    if (up < 0 || b->leaf_of[up] != b->leaf_of[pivot[k]]) continue;
    for (vin_int i = b->mark[up] + 1; i < size; i++) {
      if (column[i] >= 0) s->number[b->mark[up]][i] = 0;
    }
  }
}

/* Part of the coupled columns of a body that is zero, at most. */
#define BODY_ZEROS 0.3

/* Are the last columns nearly full? */
static bool are_coupled(const vini_leaf_shape *s, vin_int coupled, vin_int size) {
  const vin_int rows = size - s->pivots, all = coupled * (coupled - 1) / 2 + coupled * rows;
  vin_int used = 0;
  if (coupled > s->pivots) return false;
  for (vin_int k = s->pivots - coupled; k < s->pivots; k++) {
    for (vin_int i = k + 1; i < size; i++) used += s->number[k][i] >= 0;
  }
  return used >= (1 - BODY_ZEROS) * all;
}

/* Is the leaf a body (ldlt_lanes.h)? Its coupled columns become full then. */
static void find_body(const vini_leaf *leaf, vini_leaf_shape *s) {
  const vin_int size = leaf->pivots + leaf->rows;
  s->pivots = leaf->pivots;
  s->body = leaf->rows <= VINI_BODY_ROWS;
  s->coupled = are_coupled(s, 6, size)   ? 6
               : are_coupled(s, 3, size) ? 3
               : are_coupled(s, 2, size) ? 2
                                         : 0;
  for (vin_int k = 0; k < s->pivots - s->coupled; k++) {
    vin_int count = 0;
    for (vin_int i = k + 1; i < size; i++) count += s->number[k][i] >= 0;
    s->body = s->body && count <= VINI_BODY_COLUMN;
  }
  for (vin_int k = s->pivots - s->coupled; s->body && k < s->pivots; k++) {
    for (vin_int i = k + 1; i < size; i++) s->number[k][i] = 0;
  }
}

/* Numbers of the panel, and the entries of the matrix sorted by their places (few: insertion). */
static void number_places(const vini_lane_builder *b, const vini_leaf *leaf, vini_leaf_shape *s) {
  const vin_int *pivot = b->leaf_pivot + leaf->pivot;
  vin_int *source = b->leaf_source + leaf->source;
  s->pivots = leaf->pivots;
  s->rows = leaf->rows;
  s->numbers = s->entries = 0;
  for (vin_int k = 0; k < s->pivots; k++) {
    s->column[k] = (uint16_t)s->numbers;
    for (vin_int i = k + 1; i < s->pivots + s->rows; i++) {
      if (s->number[k][i] < 0) continue;
      s->row[s->numbers] = (uint16_t)(s->body ? i * VINI_LANE_BYTES : i);
      s->number[k][i] = (int16_t)s->numbers++;
    }
  }
  s->column[s->pivots] = (uint16_t)s->numbers;
  for (vin_int k = 0; k < leaf->pivots; k++) {
    for (vin_int e = b->entry_start[pivot[k]]; e < b->entry_start[pivot[k] + 1]; e++) {
      const vin_int i = b->mark[b->entry_row[e]];
      const vin_int before = s->body ? s->pivots : 2 * (s->pivots + s->rows);
      const vin_int number = i == k ? k : before + s->number[k][i];
      const uint16_t place = (uint16_t)(s->body ? number * VINI_LANE_BYTES : number);
      vin_int at = s->entries++;
      for (; at > 0 && s->entry[at - 1] > place; at--) {
        s->entry[at] = s->entry[at - 1];
        source[at] = source[at - 1];
      }
      s->entry[at] = place;
      source[at] = b->entry_at[e];
    }
  }
}

static bool same(const vini_lane_plan *plan, const vini_leaf_kind *kind, const vini_leaf_shape *s) {
  return kind->pivots == s->pivots && kind->rows == s->rows && kind->numbers == s->numbers &&
         kind->body == s->body && kind->coupled == s->coupled &&
         memcmp(plan->code + kind->column, s->column,
                ((size_t)s->pivots + 1) * sizeof *s->column) == 0 &&
         kind->entries == s->entries &&
         memcmp(plan->code + kind->entry, s->entry, (size_t)s->entries * sizeof *s->entry) == 0 &&
         memcmp(plan->code + kind->row, s->row, (size_t)s->numbers * sizeof *s->row) == 0;
}

/* The kind of a shape, new or known; -1: no room for a new one. The last kinds are tried first: like
 * bodies come together. */
static vin_status find_kind(vini_lane_builder *b, const vini_leaf_shape *s, vin_int *kind) {
  vini_lane_plan *plan = b->plan;
  for (vin_int k = plan->kind_count - 1; k >= 0; k--) {
    *kind = k;
    if (same(plan, &plan->kind[k], s)) return VIN_OK;
  }
  *kind = plan->kind_count < MOST_KINDS ? plan->kind_count : -1;
  return *kind < 0 ? VIN_OK : vini_leaf_kind_add(b, s);
}

/* Local numbers of a leaf's columns and rows. */
static void mark_places(const vini_lane_builder *b, const vini_leaf *leaf) {
  for (vin_int k = 0; k < leaf->pivots; k++) b->mark[b->leaf_pivot[leaf->pivot + k]] = k;
  for (vin_int i = 0; i < leaf->rows; i++) b->mark[b->leaf_row[leaf->row + i]] = leaf->pivots + i;
}

static vin_status find_kinds(vini_lane_builder *b, vini_leaf_shape *shape, bool *fits) {
  for (vin_int l = 0; l < b->leaf_count; l++) {
    vini_leaf *leaf = &b->leaf[l];
    mark_places(b, leaf);
    find_pattern(b, leaf, shape);
    find_body(leaf, shape);
    number_places(b, leaf, shape);
    VINI_TRY(find_kind(b, shape, &leaf->kind));
    if (leaf->kind < 0) return VIN_OK;
  }
  *fits = true;
  return VIN_OK;
}

vin_status vini_find_kinds(vini_lane_builder *b, bool *fits) {
  const vin_context *context = &b->object->context;
  *fits = false;
  if (b->leaf_count == 0) return VIN_OK;
  b->plan->kind = vini_alloc(context, MOST_KINDS, sizeof *b->plan->kind);
  vini_leaf_shape *shape = vini_alloc(context, 1, sizeof *shape);
  vin_status status = VIN_OK;
  if (b->plan->kind == NULL || shape == NULL) {
    status = vini_lane_no_memory(b);
  } else {
    status = find_kinds(b, shape, fits);
  }
  vini_free(context, shape);
  return status;
}
