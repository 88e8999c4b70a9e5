/* ldlt_leaf_runs - where the entries of the bodies of ldlt_lanes.h stand in the matrix. Those of a column stand side
 * by side, and columns of a body do: instead of a list for each leaf there is one for all that are alike, and
 * the places where the runs begin. */
#include "linsys/ldlt_lanes_builder.h"

#include <string.h>

/* Runs of a batch: as in plan->code, and by runs the first entry in it. */
typedef struct runs {
  uint16_t *code; /* 1 + 2 x entries */
  vin_int count;  /* of code */
  vin_int *order; /* entries in the order of the first lane */
} runs;

static const vini_leaf *const *lanes_of(const vini_lane_builder *b, vin_int batch) {
  return b->lane + VINI_LANES * (int64_t)batch;
}

/* Entries of the first lane in the order of the matrix (few: insertion). */
static void sort_entries(const vini_lane_builder *b, const vini_leaf *leaf, vin_int *order) {
  const vin_int *source = b->leaf_source + leaf->source;
  for (vin_int e = 0; e < b->plan->kind[leaf->kind].entries; e++) {
    vin_int at = e;
    for (; at > 0 && source[order[at - 1]] > source[e]; at--) order[at] = order[at - 1];
    order[at] = e;
  }
}

/* Does entry `next` stand behind `last` in all lanes? */
static bool side_by_side(const vini_lane_builder *b, const vini_leaf *const *lane, vin_int last,
                         vin_int next) {
  for (int l = 0; l < VINI_LANES; l++) {
    const vin_int *source = b->leaf_source + lane[l]->source;
    if (source[next] != source[last] + 1) return false;
  }
  return true;
}

static void find_runs(const vini_lane_builder *b, vin_int batch, runs *r) {
  const vini_leaf *const *lane = lanes_of(b, batch);
  const vini_leaf_kind *kind = &b->plan->kind[lane[0]->kind];
  const uint16_t *place = b->plan->code + kind->entry;
  vin_int head = 0; /* the length of the run, in code */
  sort_entries(b, lane[0], r->order);
  r->code[0] = 0;
  r->count = 1;
  for (vin_int e = 0; e < kind->entries; e++) {
    if (e == 0 || !side_by_side(b, lane, r->order[e - 1], r->order[e])) {
      r->code[0]++;
      head = r->count++;
      r->code[head] = 0;
    }
    r->code[head]++;
    r->code[r->count++] = place[r->order[e]];
  }
}

/* The unknowns of the pivots are side by side. */
static bool are_pivots_a_run(const vini_lane_builder *b, const vini_leaf *leaf) {
  const vin_int *pivot = b->leaf_pivot + leaf->pivot, *order = b->tree.order;
  for (vin_int k = 1; k < leaf->pivots; k++) {
    if (order[pivot[k]] != order[pivot[0]] + k) return false;
  }
  return true;
}

static void list_lanes(vini_lane_builder *b) {
  for (vin_int l = 0; l < b->leaf_count; l++) {
    const vini_leaf *leaf = &b->leaf[l], **lane = b->lane + VINI_LANES * (int64_t)leaf->batch;
    for (int at = leaf->lane; at < (leaf->lane == 0 ? VINI_LANES : leaf->lane + 1); at++)
      lane[at] = leaf;
  }
}

/* last: by kinds, the runs that came last. */
static vin_status place_runs(vini_lane_builder *b, runs *r, int64_t *last) {
  vini_lane_plan *plan = b->plan;
  for (vin_int k = 0; k < plan->kind_count; k++) last[k] = -1;
  for (vin_int k = 0; k < plan->batch_count; k++) {
    vini_batch *batch = &plan->batch[k];
    const vini_leaf *const *lane = lanes_of(b, k);
    int64_t *known = &last[batch->kind];
    if (!plan->kind[batch->kind].body) continue;
    batch->pivot_run = batch->count == VINI_LANES;
    for (int l = 0; l < VINI_LANES; l++)
      batch->pivot_run = batch->pivot_run && are_pivots_a_run(b, lane[l]);
    find_runs(b, k, r);
    const size_t bytes = (size_t)r->count * sizeof *r->code;
    if (*known < 0 || plan->code_count - *known < r->count ||
        memcmp(plan->code + *known, r->code, bytes) != 0) {
      *known = plan->code_count;
      VINI_TRY(vini_lane_append(b, r->code, r->count));
    }
    batch->run = *known;
  }
  return VIN_OK;
}

vin_status vini_find_leaf_runs(vini_lane_builder *b) {
  const vini_lane_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  vin_int entries = 0;
  for (vin_int k = 0; k < plan->kind_count; k++)
    entries = vini_max_int(entries, plan->kind[k].entries);
  b->lane = vini_alloc(context, VINI_LANES * (size_t)plan->batch_count, sizeof(vini_leaf *));
  runs r = {.code = vini_alloc(context, 1 + 2 * (size_t)entries, sizeof *r.code),
            .order = vini_alloc(context, (size_t)entries, sizeof *r.order)};
  int64_t *last = vini_alloc(context, (size_t)plan->kind_count, sizeof *last);
  vin_status status;
  if (b->lane != NULL && r.code != NULL && r.order != NULL && last != NULL) {
    list_lanes(b);
    status = place_runs(b, &r, last);
  } else {
    status = vini_lane_no_memory(b);
  }
  vini_free(context, r.code);
  vini_free(context, r.order);
  vini_free(context, last);
  return status;
}

void vini_fill_leaf_runs(vini_lane_builder *b) {
  vini_lane_plan *plan = b->plan;
  for (vin_int k = 0; k < plan->batch_count; k++) {
    const vini_batch *batch = &plan->batch[k];
    const vini_leaf_kind *kind = &plan->kind[batch->kind];
    const vini_leaf *const *lane = lanes_of(b, k);
    if (!kind->body) continue;
    const uint16_t *run = plan->code + batch->run, *entry = plan->code + kind->entry;
    vin_int *source = plan->source + batch->source, count = *run++;
    for (; count > 0; count--, run += 1 + run[0], source += VINI_LANES) {
      vin_int e = 0; /* of the run's first place */
      while (entry[e] != run[1]) e++;
      for (int l = 0; l < VINI_LANES; l++) source[l] = b->leaf_source[lane[l]->source + e];
    }
  }
}
