/* ldlt_lanes_fill - fills the lists of a plan of ldlt_lanes.h: unknowns, entries of the matrix, children of
 * fronts, the order of work and the places of what is left for parents. */
#include "linsys/ldlt_lanes_builder.h"
#include "linsys/ldlt_pool.h"

static int64_t update_size(vin_int rows) {
  return VINI_LANES * ((int64_t)rows * (rows + 1) / 2 + rows);
}

/* Lists of the batches: lanes left over repeat the first leaf. */
static void fill_batches(vini_lane_builder *b) {
  vini_lane_plan *plan = b->plan;
  const vin_int *order = b->tree.order;
  for (vin_int l = 0; l < b->leaf_count; l++) {
    const vini_leaf *leaf = &b->leaf[l];
    const vini_batch *batch = &plan->batch[leaf->batch];
    const vini_leaf_kind *kind = &plan->kind[leaf->kind];
    for (vin_int lane = leaf->lane; lane < VINI_LANES; lane++) {
      const bool own = lane == leaf->lane;
      if (!own && (leaf->lane > 0 || lane < batch->count)) continue;
      const vin_int *pivot = b->leaf_pivot + leaf->pivot;
      vin_int *index = plan->index + batch->index + lane;
      for (vin_int k = 0; k < leaf->pivots; k++) {
        index[VINI_LANES * k] = order[pivot[k]];
        plan->unknown[batch->position + VINI_LANES * k + lane] = own ? order[pivot[k]] : -1;
      }
      index += VINI_LANES * leaf->pivots;
      for (vin_int i = 0; i < leaf->rows; i++) {
        index[VINI_LANES * i] = order[b->leaf_row[leaf->row + i]];
      }
      for (vin_int e = 0; e < kind->entries && !kind->body; e++) {
        plan->source[batch->source + VINI_LANES * e + lane] = b->leaf_source[leaf->source + e];
      }
    }
  }
}

/* Notes the rows that a child has in front `number`; mark: `stamp` for those seen. */
static vin_int collect(const vini_lane_builder *b, const vin_int *rows, vin_int count,
                       vin_int stamp, vin_int *list, vin_int listed, vin_int room) {
  for (vin_int i = 0; i < count; i++) {
    if (b->mark[rows[i]] == stamp) continue;
    b->mark[rows[i]] = stamp;
    if (listed < room) list[listed] = rows[i];
    listed++;
  }
  return listed;
}

/* The children of a front are leaves first_leaf.., linked by next_leaf, then fronts, linked the same way:
 * -1 ends a list. */
typedef struct family {
  vin_int *first_leaf, *first_front; /* front_count */
  vin_int *next_leaf, *next_front;   /* leaf_count, front_count */
} family;

/* Columns of a front: pivots, then rows below, ascending; mark[column] becomes the place in the front. */
static vin_status find_columns(vini_lane_builder *b, const family *children, vin_int number,
                               const vin_int *pivot) {
  vini_lane_plan *plan = b->plan;
  const vini_lane_front *front = &plan->front[number];
  const vin_int stamp = -2 - b->leaf_count - number, size = front->pivots + front->rows;
  vin_int *list = plan->index + front->index;
  vin_int count = collect(b, pivot, front->pivots, stamp, list, 0, size);
  for (vin_int k = 0; k < front->pivots; k++) {
    const vin_int first = b->entry_start[pivot[k]];
    count = collect(b, b->entry_row + first, b->entry_start[pivot[k] + 1] - first, stamp, list,
                    count, size);
  }
  for (vin_int l = children->first_leaf[number]; l >= 0; l = children->next_leaf[l]) {
    count = collect(b, b->leaf_row + b->leaf[l].row, b->leaf[l].rows, stamp, list, count, size);
  }
  for (vin_int c = children->first_front[number]; c >= 0; c = children->next_front[c]) {
    const vini_lane_front *child = &plan->front[c];
    count = collect(b, plan->index + child->index + child->pivots, child->rows, stamp, list, count,
                    size);
  }
  if (count != size) {
    return vini_fail(b->object, VIN_ERR_INTERNAL, "ldlt: front %d has %d columns instead of %d",
                     (int)number, (int)count, (int)size);
  }
  vini_lane_sort(list + front->pivots, front->rows);
  for (vin_int i = 0; i < size; i++) {
    b->mark[list[i]] = i < front->pivots ? i : front->below + i - front->pivots;
  }
  return VIN_OK;
}

/* Places of a child's rows in the front whose places are marked. */
static void relate(const vini_lane_builder *b, const vin_int *rows, vini_lane_child *child,
                   vin_int *rel_count) {
  vin_int *rel = b->plan->rel + *rel_count;
  child->rel = *rel_count;
  child->run = child->rows > 0 ? b->mark[rows[0]] : 0;
  for (vin_int i = 0; i < child->rows; i++) {
    rel[i] = b->mark[rows[i]];
    if (rel[i] != child->run + i) child->run = -1;
  }
  *rel_count += child->rows;
}

/* Counters of the lists that fronts fill one after the other. */
typedef struct counters {
  vin_int children, rel, entries, steps;
} counters;

static bool is_chain(const vini_lane_plan *plan, const vini_lane_front *front) {
  const vini_lane_child *child = plan->child + front->child;
  const vin_int children = front->child_end - front->child;
  if (children < 1 || children > 2 || child->stride != VINI_LANES) return false;
  if (child->rows != front->pivots + front->rows) return false;
  if (children == 2 && (child[1].stride != 1 || child[1].rows != front->rows || child[1].run != 0 ||
                        child[1].rows > front->pivots)) {
    return false;
  }
  if (front->entry_end - front->entry != front->pivots) return false;
  for (vin_int k = 0; k < front->pivots; k++) {
    if (plan->front_place[front->entry + k] != k * (front->ld + 1)) return false;
  }
  return true;
}

/* Children (their updates have places already) and entries of the matrix of a front. */
static void fill_front(vini_lane_builder *b, const family *children, vin_int number,
                       const vin_int *pivot, counters *f) {
  vini_lane_plan *plan = b->plan;
  vini_lane_front *front = &plan->front[number];
  front->child = f->children;
  for (vin_int l = children->first_leaf[number]; l >= 0; l = children->next_leaf[l]) {
    const vini_leaf *leaf = &b->leaf[l];
    vini_lane_child *child = &plan->child[f->children++];
    *child = (vini_lane_child){.rows = leaf->rows, .stride = VINI_LANES};
    child->update = plan->batch[leaf->batch].update + leaf->lane;
    child->scale = child->update + VINI_LANES * ((int64_t)leaf->rows * (leaf->rows + 1) / 2);
    relate(b, b->leaf_row + leaf->row, child, &f->rel);
  }
  for (vin_int c = children->first_front[number]; c >= 0; c = children->next_front[c]) {
    const vini_lane_front *from = &plan->front[c];
    vini_lane_child *child = &plan->child[f->children++];
    *child = (vini_lane_child){.rows = from->rows, .stride = 1, .ld = from->ld};
    child->update = from->square + (int64_t)from->below * (from->ld + 1);
    child->scale = from->square + (int64_t)from->ld * from->ld + from->below;
    relate(b, plan->index + from->index + from->pivots, child, &f->rel);
  }
  front->child_end = f->children;
  front->entry = f->entries;
  for (vin_int k = 0; k < front->pivots; k++) {
    for (vin_int e = b->entry_start[pivot[k]]; e < b->entry_start[pivot[k] + 1]; e++) {
      plan->front_source[f->entries] = b->entry_at[e];
      plan->front_place[f->entries++] = b->mark[b->entry_row[e]] + k * front->ld;
    }
    plan->unknown[front->position + k] = b->tree.order[pivot[k]];
  }
  front->entry_end = f->entries;
  front->chain = is_chain(plan, front);
}

/* Batches that front `number` needs come before it; places in the buffer are given back as soon as the
 * front has taken what stands there. */
static bool schedule(vini_lane_builder *b, const family *children, vin_int number, vini_pool *pool,
                     counters *at) {
  vini_lane_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  vini_lane_front *front = &plan->front[number];
  for (vin_int l = children->first_leaf[number]; l >= 0; l = children->next_leaf[l]) {
    vini_batch *batch = &plan->batch[b->leaf[l].batch];
    if (batch->update >= 0) continue;
    batch->update = vini_pool_take(pool, update_size(b->leaf[l].rows));
    plan->step[at->steps++] = -1 - b->leaf[l].batch;
  }
  front->square = vini_pool_take(pool, (int64_t)front->ld * (front->ld + 1));
  plan->step[at->steps++] = number;
  bool complete = true;
  for (vin_int l = children->first_leaf[number]; l >= 0; l = children->next_leaf[l]) {
    const vin_int batch = b->leaf[l].batch;
    if (--b->pending[batch] > 0) continue;
    complete = complete && vini_pool_give(pool, context, plan->batch[batch].update,
                                          update_size(b->leaf[l].rows));
  }
  for (vin_int c = children->first_front[number]; c >= 0; c = children->next_front[c]) {
    const vini_lane_front *child = &plan->front[c];
    complete = complete &&
               vini_pool_give(pool, context, child->square, (int64_t)child->ld * (child->ld + 1));
  }
  if (b->front_parent[number] < 0) {
    complete = complete &&
               vini_pool_give(pool, context, front->square, (int64_t)front->ld * (front->ld + 1));
  }
  return complete;
}

/* Links children to parents; batches get no place yet. */
static void link_children(vini_lane_builder *b, family *children) {
  vini_lane_plan *plan = b->plan;
  for (vin_int k = 0; k < plan->batch_count; k++) plan->batch[k].update = -1;
  for (vin_int k = 0; k < plan->front_count; k++) {
    children->first_leaf[k] = children->first_front[k] = -1;
  }
  for (vin_int l = b->leaf_count - 1; l >= 0; l--) {
    const vini_leaf *leaf = &b->leaf[l];
    const vin_int up = vini_front_above(b, b->leaf_pivot[leaf->pivot + leaf->pivots - 1]);
    children->next_leaf[l] = -1;
    if (up < 0) continue;
    b->pending[leaf->batch]++;
    children->next_leaf[l] = children->first_leaf[up];
    children->first_leaf[up] = l;
  }
  for (vin_int k = plan->front_count - 1; k >= 0; k--) {
    const vin_int up = b->front_parent[k];
    children->next_front[k] = -1;
    if (up < 0) continue;
    children->next_front[k] = children->first_front[up];
    children->first_front[up] = k;
  }
}

/* Leaves that nothing comes after: free bodies. */
static bool schedule_free(vini_lane_builder *b, vini_pool *pool, counters *at) {
  vini_lane_plan *plan = b->plan;
  bool complete = true;
  for (vin_int k = 0; k < plan->batch_count; k++) {
    vini_batch *batch = &plan->batch[k];
    if (batch->update >= 0) continue;
    const int64_t size = update_size(plan->kind[batch->kind].rows);
    batch->update = vini_pool_take(pool, size);
    complete = complete && vini_pool_give(pool, &b->object->context, batch->update, size);
    plan->step[at->steps++] = -1 - k;
  }
  return complete;
}

/* All fronts in the order of elimination. `pivots`: columns that are in no leaf, front by front. */
static vin_status fill_fronts(vini_lane_builder *b, const family *children, const vin_int *pivots) {
  vini_lane_plan *plan = b->plan;
  vini_pool pool = {0};
  counters at = {0};
  bool complete = true;
  vin_status status = VIN_OK;
  for (vin_int k = 0; k < b->tree.n; k++) b->mark[k] = -1;
  for (vin_int k = 0; k < plan->front_count && status == VIN_OK; k++) {
    status = find_columns(b, children, k, pivots);
    if (status != VIN_OK) break;
    complete = complete && schedule(b, children, k, &pool, &at);
    fill_front(b, children, k, pivots, &at);
    pivots += plan->front[k].pivots;
  }
  complete = complete && schedule_free(b, &pool, &at);
  plan->buffer_count = pool.top;
  vini_pool_clear(&pool, &b->object->context);
  if (status == VIN_OK && !complete) status = vini_lane_no_memory(b);
  for (vin_int k = 0; k < plan->front_count && status == VIN_OK; k++) { /* columns -> unknowns */
    vin_int *index = plan->index + plan->front[k].index;
    const vin_int size = plan->front[k].pivots + plan->front[k].rows;
    for (vin_int i = 0; i < size; i++) index[i] = b->tree.order[index[i]];
  }
  return status;
}

vin_status vini_lane_fill(vini_lane_builder *b) {
  const vini_lane_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  const size_t count = (size_t)plan->front_count, leaves = (size_t)b->leaf_count;
  family children = {.first_leaf = vini_alloc(context, count, sizeof(vin_int)),
                     .first_front = vini_alloc(context, count, sizeof(vin_int)),
                     .next_leaf = vini_alloc(context, leaves, sizeof(vin_int)),
                     .next_front = vini_alloc(context, count, sizeof(vin_int))};
  vin_int *pivots = vini_alloc(context, (size_t)plan->n, sizeof *pivots);
  vin_int *next = vini_alloc(context, count, sizeof *next);
  vin_status status;
  if (children.first_leaf && children.first_front && children.next_leaf && children.next_front &&
      pivots && next) {
    for (vin_int k = 1; k < plan->front_count; k++) {
      next[k] = next[k - 1] + plan->front[k - 1].pivots;
    }
    for (vin_int k = 0; k < plan->n; k++) {
      if (b->leaf_of[k] < 0) pivots[next[b->front_of[k]]++] = k;
    }
    fill_batches(b);
    vini_fill_leaf_runs(b);
    link_children(b, &children);
    status = fill_fronts(b, &children, pivots);
  } else {
    status = vini_lane_no_memory(b);
  }
  vini_free(context, children.first_leaf);
  vini_free(context, children.first_front);
  vini_free(context, children.next_leaf);
  vini_free(context, children.next_front);
  vini_free(context, pivots);
  vini_free(context, next);
  return status;
}
