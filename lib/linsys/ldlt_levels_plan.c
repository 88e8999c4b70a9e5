/* ldlt_levels_plan - builds the plan of ldlt_levels.h: members and their kinds. The batches: ldlt_levels_batch.c. */
#include "linsys/ldlt_levels_builder.h"

#include <string.h>

/* More kinds of members, or of ways in which a child stands in its parent, than this are no kinds. */
#define MOST_KINDS 128
#define MOST_RELATIONS 64

vin_status vini_level_no_memory(const vini_level_builder *b) {
  return vini_fail(b->object, VIN_ERR_NO_MEMORY, "ldlt: no memory for the plan of %d unknowns",
                   (int)b->plan->n);
}

void vini_level_plan_clear(const vin_context *context, vini_level_plan *plan) {
  void *owned[] = {plan->kind, plan->relation, plan->batch, plan->round, plan->index, plan->source};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  memset(plan, 0, sizeof *plan);
}

/* Members in the order of elimination; false: one is in two pieces or has too many columns. */
static bool number_members(vini_level_builder *b, const vin_int *member) {
  const vin_int n = b->plan->n;
  vin_int last = -1;
  for (vin_int k = 0; k < n; k++) b->mark[k] = -1;
  for (vin_int k = 0; k < n; k++) {
    b->inverse[b->order[k]] = k;
    const vin_int given = member[b->order[k]];
    if (given != last || k == 0) {
      if (given < 0 || given >= n || b->mark[given] >= 0) return false;
      b->mark[given] = b->member_count;
      b->member[b->member_count++] = (vini_level_member){.first = k, .child = -1, .sibling = -1};
      last = given;
    }
    vini_level_member *m = &b->member[b->member_count - 1];
    if (++m->pivots > VINI_LEVEL_PIVOTS) return false;
    b->member_of[k] = b->member_count - 1;
  }
  return true;
}

/* Entries of the matrix by the column of L they stand in. */
static void sort_matrix(vini_level_builder *b) {
  const vin_sparse *a = b->matrix;
  vin_int *next = b->entry_start + 1; /* one ahead: after filling the starts are left behind */
  for (vin_int j = 0; j < a->cols; j++) {
    for (vin_int at = a->start[j]; at < a->start[j + 1]; at++)
      next[vini_min_int(b->inverse[j], b->inverse[a->row[at]]) + 1]++;
  }
  for (vin_int k = 0; k < a->cols; k++) next[k + 1] += next[k];
  for (vin_int j = 0; j < a->cols; j++) {
    for (vin_int at = a->start[j]; at < a->start[j + 1]; at++) {
      const vin_int x = b->inverse[j], y = b->inverse[a->row[at]];
      const vin_int to = next[vini_min_int(x, y)]++;
      b->entry_at[to] = at;
      b->entry_row[to] = vini_max_int(x, y);
    }
  }
}

/* Adds a column behind the member to its rows, kept ascending; false: too many. */
static bool add_row(vini_level_builder *b, vini_level_member *m, vin_int row) {
  vin_int *list = b->row + m->row, k = m->rows;
  while (k > 0 && list[k - 1] > row) k--;
  if (k > 0 && list[k - 1] == row) return true;
  if (m->pivots + m->rows >= VINI_LEVEL_SIZE) return false;
  memmove(list + k + 1, list + k, (size_t)(m->rows - k) * sizeof *list);
  list[k] = row;
  m->rows++;
  return true;
}

/* Rows of a member: those of its entries and its children's. */
static bool find_rows(vini_level_builder *b, vini_level_member *m) {
  const vin_int end = m->first + m->pivots;
  bool fits = true;
  for (vin_int e = b->entry_start[m->first]; e < b->entry_start[end]; e++) {
    if (b->entry_row[e] >= end) fits = fits && add_row(b, m, b->entry_row[e]);
  }
  for (vin_int c = m->child; c >= 0; c = b->member[c].sibling) {
    const vini_level_member *child = &b->member[c];
    for (vin_int i = 0; i < child->rows; i++) {
      const vin_int row = b->row[child->row + i];
      if (row >= end) fits = fits && add_row(b, m, row);
    }
    m->height = vini_max_int(m->height, child->height + 1);
    m->children++;
  }
  return fits;
}

/* Column k reaches row i. */
static void reach(vini_level_kind *kind, vin_int k, vin_int i) {
  if (k >= kind->pivots || i <= k) return;
  if (kind->end[k] == 0 || i < kind->begin[k]) kind->begin[k] = (uint8_t)i;
  kind->end[k] = (uint8_t)vini_max_int(kind->end[k], i + 1);
}

/* The relation of a child whose columns are marked with their local numbers; -1: no room for a new one. */
static vin_int find_relation(const vini_level_builder *b, const vini_level_member *child) {
  vini_level_plan *plan = b->plan;
  vini_level_relation r = {.rows = child->rows};
  for (vin_int i = 0; i < child->rows; i++) r.rel[i] = (uint8_t)b->mark[b->row[child->row + i]];
  for (vin_int k = 0; k < plan->relation_count; k++)
    if (memcmp(&plan->relation[k], &r, sizeof r) == 0) return k;
  if (plan->relation_count == MOST_RELATIONS) return -1;
  plan->relation[plan->relation_count] = r;
  return plan->relation_count++;
}

/* Fill inside the member: what a column reaches becomes full, and thick columns are full from their diagonal on
 * and reach no less far than those before. */
static void close_columns(vini_level_kind *kind) {
  bool thin = true;
  for (vin_int k = 0; k < kind->pivots; k++) {
    if (kind->end[k] == 0) kind->begin[k] = kind->end[k] = (uint8_t)(k + 1); /* empty */
    thin = thin && kind->end[k] - kind->begin[k] <= 2;
    if (thin) kind->thin = k + 1;
    if (!thin) kind->begin[k] = (uint8_t)(k + 1);
    if (!thin && k > kind->thin)
      kind->end[k] = (uint8_t)vini_max_int(kind->end[k], kind->end[k - 1]);
    for (vin_int i = kind->begin[k]; i + 1 < kind->end[k]; i++) {
      reach(kind, i, i + 1);
      reach(kind, i, kind->end[k] - 1);
    }
  }
  for (vin_int k = 0; k < kind->pivots; k++) {
    kind->number[k] = (uint16_t)kind->numbers;
    kind->numbers += kind->end[k] - kind->begin[k];
  }
}

/* Places of the entries, ascending; the entries of a member are sorted with them (few: insertion). */
static bool place_entries(vini_level_builder *b, const vini_level_member *m,
                          vini_level_kind *kind) {
  const vin_int first = b->entry_start[m->first], size = kind->pivots + kind->rows;
  const vin_int count = b->entry_start[m->first + m->pivots] - first;
  if (count > VINI_LEVEL_ENTRIES) return false;
  vin_int k = 0;
  for (vin_int e = 0; e < count; e++) {
    while (first + e >= b->entry_start[m->first + k + 1]) k++;
    const vin_int place = b->mark[b->entry_row[first + e]] + k * size,
                  source = b->entry_at[first + e];
    vin_int at = e;
    for (; at > 0 && kind->place[at - 1] > place; at--) {
      kind->place[at] = kind->place[at - 1];
      b->entry_at[first + at] = b->entry_at[first + at - 1];
    }
    kind->place[at] = (uint16_t)place;
    b->entry_at[first + at] = source;
  }
  kind->entries = count;
  return true;
}

/* The kind of a member; false: it fits nowhere. entry_row of the member is used up. */
static bool find_kind(vini_level_builder *b, vini_level_member *m) {
  vini_level_plan *plan = b->plan;
  vini_level_kind kind;
  memset(&kind, 0, sizeof kind); /* compared as a whole */
  kind.pivots = m->pivots;
  kind.rows = m->rows;
  for (vin_int k = 0; k < m->pivots; k++) b->mark[m->first + k] = k;
  for (vin_int i = 0; i < m->rows; i++) b->mark[b->row[m->row + i]] = m->pivots + i;
  for (vin_int k = 0; k < m->pivots; k++) {
    for (vin_int e = b->entry_start[m->first + k]; e < b->entry_start[m->first + k + 1]; e++)
      reach(&kind, k, b->mark[b->entry_row[e]]);
  }
  for (vin_int c = m->child; c >= 0; c = b->member[c].sibling) {
    vini_level_member *child = &b->member[c];
    child->relation = find_relation(b, child);
    if (child->relation < 0) return false;
    const uint8_t *rel = plan->relation[child->relation].rel;
    for (vin_int i = 0; i + 1 < child->rows; i++) {
      reach(&kind, rel[i], rel[i + 1]);
      reach(&kind, rel[i], rel[child->rows - 1]);
    }
  }
  close_columns(&kind);
  if (!place_entries(b, m, &kind)) return false;
  for (m->kind = plan->kind_count - 1; m->kind >= 0; m->kind--)
    if (memcmp(&plan->kind[m->kind], &kind, sizeof kind) == 0) return true;
  if (plan->kind_count == MOST_KINDS) return false;
  m->kind = plan->kind_count++;
  plan->kind[m->kind] = kind;
  return true;
}

/* Rows, kinds and family of all members; false: they are not of the sort that this is made for. */
static bool find_members(vini_level_builder *b) {
  vin_int rows = 0;
  for (vin_int k = 0; k < b->plan->n; k++) b->mark[k] = -1;
  for (vin_int i = 0; i < b->member_count; i++) {
    vini_level_member *m = &b->member[i];
    if (rows + VINI_LEVEL_SIZE > b->row_room) return false;
    m->row = rows;
    if (!find_rows(b, m) || !find_kind(b, m)) return false;
    rows += m->rows;
    if (m->rows == 0) continue;
    vini_level_member *parent = &b->member[b->member_of[b->row[m->row]]];
    m->sibling = parent->child;
    parent->child = i;
  }
  return true;
}

static vin_status build(vini_level_builder *b, const vin_int *member, bool *fits) {
  const vin_context *context = &b->object->context;
  vini_level_plan *plan = b->plan;
  const size_t n = (size_t)plan->n, entries = (size_t)b->matrix->start[plan->n];
  b->inverse = vini_alloc(context, n, sizeof(vin_int));
  b->member_of = vini_alloc(context, n, sizeof(vin_int));
  b->mark = vini_alloc(context, n, sizeof(vin_int));
  b->member = vini_alloc(context, n, sizeof *b->member);
  b->entry_start = vini_alloc(context, n + 2, sizeof(vin_int));
  b->entry_at = vini_alloc(context, entries, sizeof(vin_int));
  b->entry_row = vini_alloc(context, entries, sizeof(vin_int));
  b->row_room = 2 * (int64_t)n + VINI_LEVEL_SIZE;
  b->row = vini_alloc(context, (size_t)b->row_room, sizeof(vin_int));
  plan->kind = vini_alloc(context, MOST_KINDS, sizeof *plan->kind);
  plan->relation = vini_alloc(context, MOST_RELATIONS, sizeof *plan->relation);
  if (!b->inverse || !b->member_of || !b->mark || !b->member || !b->entry_start || !b->entry_at ||
      !b->entry_row || !b->row || !plan->kind || !plan->relation) {
    return vini_level_no_memory(b);
  }
  if (!number_members(b, member)) return VIN_OK;
  sort_matrix(b);
  if (!find_members(b)) return VIN_OK;
  *fits = true;
  return vini_level_fill(b);
}

vin_status vini_level_plan_build(vini_object *object, vini_level_plan *plan,
                                 const vin_sparse *matrix, const vin_int *order,
                                 const vin_int *member, bool *fits) {
  const vin_context *context = &object->context;
  memset(plan, 0, sizeof *plan);
  plan->n = matrix->cols;
  *fits = false;
  vini_level_builder b = {.object = object, .matrix = matrix, .plan = plan, .order = order};
  const vin_status status = build(&b, member, fits);
  void *owned[] = {b.inverse,  b.member_of, b.mark, b.member, b.entry_start,
                   b.entry_at, b.entry_row, b.row,  b.sorted};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  if (status != VIN_OK || !*fits) vini_level_plan_clear(context, plan);
  return status;
}
