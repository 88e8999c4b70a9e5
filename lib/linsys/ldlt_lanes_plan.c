/* ldlt_lanes_plan - builds the plan of ldlt_lanes.h: whether it pays, batches and fronts, where they begin. */
#include "linsys/ldlt_lanes_builder.h"

#include <stdlib.h>
#include <string.h>

/* Where leaves fill fewer of their lanes than this part, or hold less of the columns, or the columns of
 * fronts have more entries on average, the panels of ldlt.c are the faster way. */
#define LEAST_FILLED 0.6
#define LEAST_LEAVES 0.3
#define MOST_ENTRIES 40.0

vin_status vini_lane_no_memory(const vini_lane_builder *b) {
  return vini_fail(b->object, VIN_ERR_NO_MEMORY,
                   "ldlt: no memory for the plan of %d unknowns, %lld entries of L",
                   (int)b->plan->n, (long long)b->plan->nnz);
}

static int compare_columns(const void *a, const void *b) {
  vin_int x = *(const vin_int *)a, y = *(const vin_int *)b;
  return x < y ? -1 : x > y;
}

void vini_lane_sort(vin_int *x, vin_int count) {
  if (count > 24) {
    qsort(x, (size_t)count, sizeof *x, compare_columns);
    return;
  }
  for (vin_int i = 1; i < count; i++) {
    vin_int v = x[i], k = i;
    for (; k > 0 && x[k - 1] > v; k--) x[k] = x[k - 1];
    x[k] = v;
  }
}

void vini_lane_plan_clear(const vin_context *context, vini_lane_plan *plan) {
  void *owned[] = {plan->kind, plan->batch,        plan->front,       plan->child,
                   plan->step, plan->unknown,      plan->index,       plan->source,
                   plan->rel,  plan->front_source, plan->front_place, plan->code};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  memset(plan, 0, sizeof *plan);
}

/* ---- batches -------------------------------------------------------------------------------------- */

/* Leaves of a kind, in the order of elimination, four by four; *filled: part of the lanes in use. */
static vin_status make_batches(vini_lane_builder *b, double *filled) {
  vini_lane_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  vin_int *count = vini_alloc(context, (size_t)plan->kind_count, sizeof *count);
  vin_int *open = vini_alloc(context, (size_t)plan->kind_count, sizeof *open);
  vin_status status = VIN_OK;
  if (count != NULL && open != NULL) {
    for (vin_int l = 0; l < b->leaf_count; l++) {
      plan->batch_count += count[b->leaf[l].kind]++ % VINI_LANES == 0;
    }
    plan->batch = vini_alloc(context, (size_t)plan->batch_count, sizeof *plan->batch);
  }
  if (plan->batch == NULL) {
    status = vini_lane_no_memory(b);
    goto done;
  }
  memset(count, 0, (size_t)plan->kind_count * sizeof *count);
  vin_int batches = 0;
  double used = 0, lanes = 0; /* weighed by their work */
  for (vin_int l = 0; l < b->leaf_count; l++) {
    vini_leaf *leaf = &b->leaf[l];
    const double work = (double)leaf->pivots * (leaf->pivots + leaf->rows);
    leaf->lane = count[leaf->kind]++ % VINI_LANES;
    if (leaf->lane == 0) {
      open[leaf->kind] = batches++;
      plan->batch[open[leaf->kind]].kind = leaf->kind;
      lanes += VINI_LANES * work;
    }
    used += work;
    leaf->batch = open[leaf->kind];
    plan->batch[leaf->batch].count++;
  }
  *filled = used / lanes;
done:
  vini_free(context, count);
  vini_free(context, open);
  return status;
}

/* ---- fronts --------------------------------------------------------------------------------------- */

static vin_status list_fronts(vini_lane_builder *b) {
  vini_lane_plan *plan = b->plan;
  const vini_ldlt_tree *tree = &b->tree;
  const vin_context *context = &b->object->context;
  const size_t count = (size_t)plan->front_count;
  plan->front = vini_alloc(context, count, sizeof *plan->front);
  b->front_parent = vini_alloc(context, count, sizeof *b->front_parent);
  if (plan->front == NULL || b->front_parent == NULL) return vini_lane_no_memory(b);
  for (vin_int k = 0; k < tree->n; k++) {
    if (b->leaf_of[k] >= 0) continue;
    vini_lane_front *front = &plan->front[b->front_of[k]];
    front->pivots++;
    front->rows = tree->count[k] - 1; /* of the last column in the end */
    b->front_parent[b->front_of[k]] = vini_front_above(b, k);
  }
  return VIN_OK;
}

/* Where the lists, pivots and numbers of batches and fronts begin. */
static vin_status place_parts(vini_lane_builder *b) {
  vini_lane_plan *plan = b->plan;
  int64_t positions = 0;
  for (vin_int k = 0; k < plan->batch_count; k++) {
    vini_batch *batch = &plan->batch[k];
    const vini_leaf_kind *kind = &plan->kind[batch->kind];
    const int64_t size = (int64_t)kind->pivots + kind->rows;
    batch->position = (vin_int)positions;
    batch->index = (vin_int)plan->index_count;
    batch->source = plan->source_count;
    batch->value = plan->value_count;
    positions += VINI_LANES * (int64_t)kind->pivots;
    plan->index_count += VINI_LANES * size;
    plan->source_count +=
        VINI_LANES * (int64_t)(kind->body ? plan->code[batch->run] : kind->entries);
    plan->value_count += VINI_LANES * (int64_t)kind->numbers;
    plan->max_size = vini_max_int(plan->max_size, (vin_int)size);
    if (positions > INT32_MAX || plan->index_count > INT32_MAX) break;
  }
  for (vin_int k = 0; k < plan->front_count; k++) {
    vini_lane_front *front = &plan->front[k];
    const int64_t size = (int64_t)front->pivots + front->rows;
    front->position = (vin_int)positions;
    front->index = (vin_int)plan->index_count;
    front->below = (front->pivots + 3) / 4 * 4;
    front->ld = front->below + (front->rows + 3) / 4 * 4;
    front->value = plan->value_count;
    positions += front->pivots;
    plan->index_count += size;
    plan->rel_count += front->rows;
    plan->value_count += vini_lane_rectangle(front) + (int64_t)front->pivots * front->rows + 4;
    plan->max_size = vini_max_int(plan->max_size, front->ld);
    if (positions > INT32_MAX || plan->index_count > INT32_MAX ||
        (size + 8) * (size + 8) > INT32_MAX) {
      break;
    }
  }
  for (vin_int l = 0; l < b->leaf_count; l++) plan->rel_count += b->leaf[l].rows;
  plan->max_size = (plan->max_size + 3) / 4 * 4;
  if (positions > INT32_MAX || plan->index_count > INT32_MAX || plan->rel_count > INT32_MAX) {
    return vini_fail(b->object, VIN_ERR_TOO_LARGE, "ldlt: the lists of %d unknowns are too long",
                     (int)plan->n);
  }
  plan->positions = (vin_int)positions;
  return VIN_OK;
}

static vin_status allocate(vini_lane_builder *b) {
  vini_lane_plan *plan = b->plan;
  const vin_context *context = &b->object->context;
  const size_t entries = (size_t)b->matrix->start[plan->n];
  const size_t steps = (size_t)plan->batch_count + (size_t)plan->front_count;
  plan->child_count = (int64_t)b->leaf_count + plan->front_count;
  plan->front_entry_count = (int64_t)entries;
  plan->unknown = vini_alloc(context, (size_t)plan->positions, sizeof(vin_int));
  plan->index = vini_alloc(context, (size_t)plan->index_count, sizeof(vin_int));
  plan->source = vini_alloc(context, (size_t)plan->source_count, sizeof(vin_int));
  plan->rel = vini_alloc(context, (size_t)plan->rel_count, sizeof(vin_int));
  for (vin_int l = 0; l < b->leaf_count; l++) {
    plan->front_entry_count -= plan->kind[b->leaf[l].kind].entries;
  }
  plan->front_source = vini_alloc(context, (size_t)plan->front_entry_count, sizeof(vin_int));
  plan->front_place = vini_alloc(context, (size_t)plan->front_entry_count, sizeof(vin_int));
  plan->child = vini_alloc(context, (size_t)plan->child_count, sizeof *plan->child);
  plan->step = vini_alloc(context, steps, sizeof(vin_int));
  b->pending = vini_alloc(context, (size_t)plan->batch_count, sizeof(vin_int));
  return plan->unknown && plan->index && plan->source && plan->rel && plan->front_source &&
                 plan->front_place && plan->child && plan->step && b->pending
             ? VIN_OK
             : vini_lane_no_memory(b);
}

/* ---- all ------------------------------------------------------------------------------------------ */

/* Is this the faster way? */
static bool pays(const vini_lane_builder *b, double filled) {
  const vini_ldlt_tree *tree = &b->tree;
  double leaf_columns = 0, entries = 0;
  for (vin_int k = 0; k < tree->n; k++) {
    leaf_columns += b->leaf_of[k] >= 0;
    entries += b->leaf_of[k] >= 0 ? 0 : (double)tree->count[k];
  }
  return filled >= LEAST_FILLED && leaf_columns >= LEAST_LEAVES * tree->n &&
         entries <= MOST_ENTRIES * (tree->n - leaf_columns);
}

static vin_status build(vini_lane_builder *b, bool *fits) {
  const vin_context *context = &b->object->context;
  const size_t n = (size_t)b->plan->n;
  b->plan->nnz = b->tree.nnz;
  b->plan->flops = b->tree.flops;
  b->leaf_of = vini_alloc(context, n, sizeof *b->leaf_of);
  b->mark = vini_alloc(context, n, sizeof *b->mark);
  b->front_of = vini_alloc(context, n, sizeof *b->front_of);
  if (b->leaf_of == NULL || b->mark == NULL || b->front_of == NULL) return vini_lane_no_memory(b);
  VINI_TRY(vini_find_leaves(b));
  VINI_TRY(vini_find_kinds(b, fits));
  if (!*fits) return VIN_OK;
  double filled = 0;
  VINI_TRY(make_batches(b, &filled));
  *fits = pays(b, filled);
  if (!*fits) return VIN_OK;
  VINI_TRY(list_fronts(b));
  VINI_TRY(vini_find_leaf_runs(b));
  VINI_TRY(place_parts(b));
  VINI_TRY(allocate(b));
  return vini_lane_fill(b);
}

vin_status vini_lane_plan_build(vini_object *object, vini_lane_plan *plan, const vin_sparse *matrix,
                                const vin_int *order, bool *fits) {
  const vin_context *context = &object->context;
  memset(plan, 0, sizeof *plan);
  plan->n = matrix->cols;
  *fits = false;
  vini_lane_builder b = {.object = object, .matrix = matrix, .plan = plan};
  vin_status status = vini_ldlt_tree_build(object, &b.tree, matrix, order);
  if (status == VIN_OK) status = build(&b, fits);
  vini_ldlt_tree_clear(context, &b.tree);
  void *owned[] = {b.lane,       b.entry_start,  b.entry_at,    b.entry_row, b.leaf_of,
                   b.leaf,       b.leaf_row,     b.leaf_source, b.mark,      b.front_of,
                   b.leaf_pivot, b.front_parent, b.pending};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  if (status != VIN_OK || !*fits) vini_lane_plan_clear(context, plan);
  return status;
}
