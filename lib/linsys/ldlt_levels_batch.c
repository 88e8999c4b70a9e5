/* ldlt_levels_batch - batches of a plan of ldlt_levels.h: who is eliminated together, and the lists. */
#include "linsys/ldlt_levels_builder.h"

#include <stdlib.h>

/* Members by height, kind and number of children, so that neighbours make full batches with full rounds. */
typedef struct key {
  vin_int height, kind, children, member;
} key;

static int compare_keys(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (x->height != y->height) return x->height < y->height ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->children != y->children) return x->children < y->children ? -1 : 1;
  return x->member < y->member ? -1 : x->member > y->member;
}

static vin_int parent_of(const vini_level_builder *b, const vini_level_member *m) {
  return m->rows > 0 ? b->member_of[b->row[m->row]] : -1;
}

static vin_status sort_members(vini_level_builder *b) {
  const vin_context *context = &b->object->context;
  const size_t count = (size_t)b->member_count;
  b->sorted = vini_alloc(context, count, sizeof *b->sorted);
  key *keys = vini_alloc(context, count, sizeof *keys);
  if (b->sorted == NULL || keys == NULL) {
    vini_free(context, keys);
    return vini_level_no_memory(b);
  }
  for (vin_int i = 0; i < b->member_count; i++) {
    const vini_level_member *m = &b->member[i];
    keys[i] = (key){m->height, m->kind, m->children, i};
  }
  qsort(keys, count, sizeof *keys, compare_keys);
  for (vin_int i = 0; i < b->member_count; i++) b->sorted[i] = keys[i].member;
  vini_free(context, keys);
  return VIN_OK;
}

/* Cuts the sorted members into batches; batch = NULL only counts. */
static vin_int cut(vini_level_builder *b, vini_level_batch *batch) {
  vin_int batches = 0, count = VINI_LEVEL_LANES;
  for (vin_int i = 0; i < b->member_count; i++) {
    vini_level_member *m = &b->member[b->sorted[i]];
    const vini_level_member *last = i > 0 ? &b->member[b->sorted[i - 1]] : NULL;
    if (last == NULL || count == VINI_LEVEL_LANES || m->height != last->height ||
        m->kind != last->kind) {
      if (batch != NULL) batch[batches] = (vini_level_batch){.kind = m->kind};
      batches++;
      count = 0;
    }
    m->batch = batches - 1;
    m->lane = count++;
    if (batch != NULL) batch[batches - 1].count = count;
  }
  return batches;
}

/* Work of one member: multiplications by columns, as vini_predict_ldlt() counts. */
static double work(const vini_level_kind *kind) {
  double flops = 0;
  for (vin_int k = 0; k < kind->pivots; k++) {
    const double c = kind->end[k] - kind->begin[k];
    flops += c * (c + 3);
  }
  return flops;
}

static vin_status place_batches(vini_level_builder *b) {
  vini_level_plan *plan = b->plan;
  int64_t positions = 0;
  for (vin_int k = 0; k < plan->kind_count; k++) { /* zeros for lanes without a child */
    const int64_t size = vini_level_update_size(plan->kind[k].rows);
    plan->buffer_count = size > plan->buffer_count ? size : plan->buffer_count;
  }
  for (vin_int k = 0; k < plan->batch_count; k++) {
    vini_level_batch *batch = &plan->batch[k];
    const vini_level_kind *kind = &plan->kind[batch->kind];
    batch->position = (vin_int)positions;
    batch->index = (vin_int)plan->index_count;
    batch->source = (vin_int)plan->source_count;
    batch->value = plan->value_count;
    batch->update = plan->buffer_count;
    positions += VINI_LEVEL_LANES * (int64_t)kind->pivots;
    plan->index_count += VINI_LEVEL_LANES * (int64_t)(kind->pivots + kind->rows);
    plan->source_count += VINI_LEVEL_LANES * (int64_t)kind->entries;
    plan->value_count += VINI_LEVEL_LANES * (int64_t)kind->numbers;
    plan->buffer_count += vini_level_update_size(kind->rows);
    plan->nnz += batch->count * (int64_t)kind->numbers;
    plan->flops += batch->count * work(kind);
    plan->lane_flops += VINI_LEVEL_LANES * work(kind);
    if (positions > INT32_MAX || plan->index_count > INT32_MAX || plan->source_count > INT32_MAX ||
        plan->buffer_count > INT32_MAX) {
      return vini_fail(b->object, VIN_ERR_TOO_LARGE, "ldlt: the lists of %d unknowns are too long",
                       (int)plan->n);
    }
  }
  plan->positions = (vin_int)positions;
  return VIN_OK;
}

/* Lists of a lane; lanes left over repeat the first member. */
static void fill_lane(vini_level_builder *b, const vini_level_batch *batch, vin_int lane,
                      const vini_level_member *m) {
  vini_level_plan *plan = b->plan;
  vin_int *index = plan->index + batch->index + lane, *source = plan->source + batch->source + lane;
  const vin_int first = b->entry_start[m->first];
  for (vin_int k = 0; k < m->pivots; k++) index[VINI_LEVEL_LANES * k] = b->order[m->first + k];
  for (vin_int i = 0; i < m->rows; i++)
    index[VINI_LEVEL_LANES * (m->pivots + i)] = b->order[b->row[m->row + i]];
  for (vin_int e = 0; e < plan->kind[batch->kind].entries; e++)
    source[VINI_LEVEL_LANES * e] = b->entry_at[first + e];
}

/* Children again, those of the smallest relation first. */
static void relink_children(vini_level_builder *b) {
  for (vin_int i = 0; i < b->member_count; i++) b->member[i].child = -1;
  for (vin_int r = b->plan->relation_count - 1; r >= 0; r--) {
    for (vin_int i = b->member_count - 1; i >= 0; i--) {
      vini_level_member *m = &b->member[i];
      if (m->rows == 0 || m->relation != r) continue;
      vini_level_member *parent = &b->member[parent_of(b, m)];
      m->sibling = parent->child;
      parent->child = i;
    }
  }
}

/* Rounds of a batch whose lanes' first children are in next; round = NULL only counts. */
static vin_int fill_rounds(vini_level_builder *b, vin_int *next, vini_level_round *round) {
  const vin_int none = b->plan->relation_count;
  for (vin_int count = 0;; count++) {
    vin_int relation = none;
    for (int lane = 0; lane < VINI_LEVEL_LANES; lane++)
      if (next[lane] >= 0) relation = vini_min_int(relation, b->member[next[lane]].relation);
    if (relation == none) return count;
    if (round != NULL) round[count] = (vini_level_round){.relation = relation};
    for (int lane = 0; lane < VINI_LEVEL_LANES; lane++) {
      if (next[lane] < 0 || b->member[next[lane]].relation != relation) continue;
      const vini_level_member *child = &b->member[next[lane]];
      if (round != NULL)
        round[count].update[lane] = (vin_int)(b->plan->batch[child->batch].update + child->lane);
      next[lane] = child->sibling;
    }
  }
}

static void fill(vini_level_builder *b, bool lists) {
  vini_level_plan *plan = b->plan;
  vin_int at = 0;
  plan->round_count = 0;
  for (vin_int k = 0; k < plan->batch_count; k++) {
    vini_level_batch *batch = &plan->batch[k];
    vin_int next[VINI_LEVEL_LANES];
    for (vin_int lane = 0; lane < VINI_LEVEL_LANES; lane++) {
      const vini_level_member *m = &b->member[b->sorted[lane < batch->count ? at + lane : at]];
      if (lists) fill_lane(b, batch, lane, m);
      next[lane] = m->child;
    }
    at += batch->count;
    batch->round = (vin_int)plan->round_count;
    plan->round_count += fill_rounds(b, next, lists ? plan->round + batch->round : NULL);
    batch->round_end = (vin_int)plan->round_count;
  }
}

vin_status vini_level_fill(vini_level_builder *b) {
  vini_level_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  VINI_TRY(sort_members(b));
  plan->batch_count = cut(b, NULL);
  plan->batch = vini_alloc(context, (size_t)plan->batch_count, sizeof *plan->batch);
  if (plan->batch == NULL) return vini_level_no_memory(b);
  cut(b, plan->batch);
  VINI_TRY(place_batches(b));
  relink_children(b);
  fill(b, false);
  plan->index = vini_alloc(context, (size_t)plan->index_count, sizeof(vin_int));
  plan->source = vini_alloc(context, (size_t)plan->source_count, sizeof(vin_int));
  plan->round = vini_alloc(context, (size_t)plan->round_count, sizeof *plan->round);
  if (plan->index == NULL || plan->source == NULL || plan->round == NULL)
    return vini_level_no_memory(b);
  fill(b, true);
  return VIN_OK;
}
