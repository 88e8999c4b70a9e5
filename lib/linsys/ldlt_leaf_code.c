/* ldlt_leaf_code - the program that eliminates the leaves of one kind; see ldlt_lanes.h. */
#include "linsys/ldlt_lanes_builder.h"

#include <string.h>

static vin_status reserve(vini_lane_builder *b, int64_t more) {
  vini_lane_plan *plan = b->plan;
  if (plan->code_count + more <= b->code_room) return VIN_OK;
  const int64_t room = 2 * (plan->code_count + more);
  uint16_t *larger = vini_alloc(&b->object->context, (size_t)room, sizeof *larger);
  if (larger == NULL) return vini_lane_no_memory(b);
  if (plan->code_count > 0) memcpy(larger, plan->code, (size_t)plan->code_count * sizeof *larger);
  vini_free(&b->object->context, plan->code);
  plan->code = larger;
  b->code_room = room;
  return VIN_OK;
}

vin_status vini_lane_append(vini_lane_builder *b, const uint16_t *code, int64_t count) {
  VINI_TRY(reserve(b, count));
  memcpy(b->plan->code + b->plan->code_count, code, (size_t)count * sizeof *code);
  b->plan->code_count += count;
  return VIN_OK;
}

/* What column k contributes to entries (i, j) of L with j a pivot: place of the entry, then the numbers of
 * rows i and j in the column. Places differ, so that no term waits for another. */
static vin_status append_column(vini_lane_builder *b, const vini_leaf_shape *s, vin_int k) {
  const int64_t head = b->plan->code_count;
  const uint16_t none = 0;
  VINI_TRY(vini_lane_append(b, &none, 1));
  for (vin_int f = s->column[k]; f < s->column[k + 1] && s->row[f] < s->pivots; f++) {
    for (vin_int e = f + 1; e < s->column[k + 1]; e++) {
      const uint16_t term[3] = {(uint16_t)s->number[s->row[f]][s->row[e]], (uint16_t)e,
                                (uint16_t)f};
      VINI_TRY(vini_lane_append(b, term, 3));
      b->plan->code[head]++;
    }
  }
  return VIN_OK;
}

/* Columns that hold both rows: their numbers, in pairs; returns how many. */
static int common(const vini_leaf_shape *s, vin_int i, vin_int j, uint16_t *pairs) {
  int terms = 0;
  for (vin_int k = 0; k < s->pivots; k++) {
    if (s->number[k][i] < 0 || s->number[k][j] < 0) continue;
    pairs[2 * terms] = (uint16_t)s->number[k][i];
    pairs[2 * terms + 1] = (uint16_t)s->number[k][j];
    terms++;
  }
  return terms;
}

/* The update beside its diagonal: targets with the same number of terms form a group. */
static vin_status append_update(vini_lane_builder *b, const vini_leaf_shape *s) {
  const vin_int p = s->pivots, r = s->rows;
  uint16_t target[1 + 2 * VINI_LEAF_PIVOTS];
  for (int terms = 0; terms <= p; terms++) {
    const uint16_t begin[2] = {(uint16_t)terms, 0};
    const int64_t head = b->plan->code_count;
    for (vin_int j = 0; j < r; j++) {
      for (vin_int i = j + 1; i < r; i++) {
        if (common(s, p + i, p + j, target + 1) != terms) continue;
        if (b->plan->code_count == head) VINI_TRY(vini_lane_append(b, begin, 2));
        target[0] = (uint16_t)(j * r - j * (j - 1) / 2 + i - j);
        VINI_TRY(vini_lane_append(b, target, 1 + 2 * terms));
        b->plan->code[head + 1]++;
      }
    }
  }
  const uint16_t close = VINI_GROUPS_END;
  return vini_lane_append(b, &close, 1);
}

/* Columns of the numbers of the panel, for the way forward; for the way back number, column and row, from
 * the last row to the first, so that neighbours in the list do not wait for each other. */
static vin_status append_substitution(vini_lane_builder *b, const vini_leaf_shape *s,
                                      vini_leaf_kind *kind) {
  kind->forward = b->plan->code_count;
  for (vin_int k = 0; k < s->pivots; k++) {
    const uint16_t column = (uint16_t)k;
    for (vin_int e = s->column[k]; e < s->column[k + 1]; e++)
      VINI_TRY(vini_lane_append(b, &column, 1));
  }
  kind->backward = b->plan->code_count;
  for (vin_int i = s->pivots + s->rows - 1; i > 0; i--) {
    for (vin_int k = vini_min_int(i, s->pivots) - 1; k >= 0; k--) {
      const uint16_t term[3] = {(uint16_t)s->number[k][i], (uint16_t)k, (uint16_t)i};
      if (s->number[k][i] >= 0) VINI_TRY(vini_lane_append(b, term, 3));
    }
  }
  return VIN_OK;
}

/* Places in the work of a body: of entry (i, j) of the panel, of the update, or on the diagonal. */
static uint16_t body_place(const vini_leaf_shape *s, vin_int i, vin_int j) {
  const vin_int p = s->pivots, x = j - p;
  vin_int place = i;
  if (j >= p) {
    place = p + s->numbers + x * s->rows - x * (x - 1) / 2 + i - j;
  } else if (i > j) {
    place = p + s->number[j][i];
  }
  return (uint16_t)(place * VINI_LANE_BYTES);
}

/* Where the rows of columns that are not coupled meet, and places that stay zero. */
static vin_status append_body(vini_lane_builder *b, const vini_leaf_shape *s,
                              vini_leaf_kind *kind) {
  kind->factor = b->plan->code_count;
  for (vin_int k = 0; k < s->pivots - s->coupled; k++) {
    for (vin_int f = s->column[k]; f < s->column[k + 1]; f++) {
      for (vin_int e = f; e < s->column[k + 1]; e++) {
        const uint16_t place =
            body_place(s, s->row[e] / VINI_LANE_BYTES, s->row[f] / VINI_LANE_BYTES);
        VINI_TRY(vini_lane_append(b, &place, 1));
      }
    }
  }
  kind->zero = b->plan->code_count;
  vin_int e = 0; /* the entries ascend */
  for (vin_int place = 0; place < s->pivots + s->numbers; place++) {
    const uint16_t bytes = (uint16_t)(place * VINI_LANE_BYTES);
    if (e < s->entries && s->entry[e] == bytes) {
      e++;
      continue;
    }
    VINI_TRY(vini_lane_append(b, &bytes, 1));
    kind->zeros++;
  }
  return VIN_OK;
}

vin_status vini_leaf_kind_add(vini_lane_builder *b, const vini_leaf_shape *s) {
  vini_lane_plan *plan = b->plan;
  vini_leaf_kind *kind = &plan->kind[plan->kind_count];
  *kind = (vini_leaf_kind){.pivots = s->pivots,
                           .rows = s->rows,
                           .numbers = s->numbers,
                           .entries = s->entries,
                           .body = s->body,
                           .coupled = s->coupled};
  kind->entry = plan->code_count;
  VINI_TRY(vini_lane_append(b, s->entry, s->entries));
  kind->row = plan->code_count;
  VINI_TRY(vini_lane_append(b, s->row, s->numbers));
  kind->column = plan->code_count;
  VINI_TRY(vini_lane_append(b, s->column, s->pivots + 1));
  plan->kind_count++;
  vin_int numbers = 2 * (s->pivots + s->rows) + s->numbers;
  if (s->body) numbers += s->rows * (s->rows + 1) / 2;
  plan->max_numbers = vini_max_int(plan->max_numbers, numbers);
  if (s->body) return append_body(b, s, kind);
  kind->factor = plan->code_count;
  for (vin_int k = 0; k < s->pivots; k++) VINI_TRY(append_column(b, s, k));
  VINI_TRY(append_update(b, s));
  return append_substitution(b, s, kind);
}
