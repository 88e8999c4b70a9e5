/* ldlt_subtrees - cuts the elimination tree into leaves and fronts for a plan of ldlt_lanes.h. */
#include "linsys/ldlt_lanes_builder.h"

#include <string.h>

/* Columns of a subtree that is a leaf: less than two rotations and what follows them, lest a joint is cut in
 * two; enough for two points and their rod. */
#define SUBTREE 8
/* Columns with different rows below share a front up to this size, while so small a part of it is zeros:
 * the two ends of a bar in a ladder. */
#define MERGED_SIZE 8
#define MERGED_ZEROS 0.25
/* Entries of the matrix by the column of L they stand in. */
static vin_status sort_matrix(vini_lane_builder *b) {
  const vin_context *context = &b->object->context;
  const vin_sparse *a = b->matrix;
  const vin_int n = a->cols, *inverse = b->tree.inverse;
  const size_t entries = (size_t)a->start[n];
  b->entry_start = vini_alloc(context, (size_t)n + 2, sizeof *b->entry_start);
  b->entry_at = vini_alloc(context, entries, sizeof *b->entry_at);
  b->entry_row = vini_alloc(context, entries, sizeof *b->entry_row);
  if (!b->entry_start || !b->entry_at || !b->entry_row) return vini_lane_no_memory(b);
  vin_int *next = b->entry_start + 1; /* one ahead: after filling the starts are left behind */
  for (vin_int j = 0; j < n; j++) {
    for (vin_int at = a->start[j]; at < a->start[j + 1]; at++) {
      next[vini_min_int(inverse[j], inverse[a->row[at]]) + 1]++;
    }
  }
  for (vin_int k = 0; k < n; k++) next[k + 1] += next[k];
  for (vin_int j = 0; j < n; j++) {
    for (vin_int at = a->start[j]; at < a->start[j + 1]; at++) {
      const vin_int x = inverse[j], y = inverse[a->row[at]], to = next[vini_min_int(x, y)]++;
      b->entry_at[to] = at;
      b->entry_row[to] = vini_max_int(x, y);
    }
  }
  return VIN_OK;
}

/* Largest subtrees that are small enough. `size` (n) is scratch: columns of the subtrees. */
static void find_subtrees(vini_lane_builder *b, vin_int *size) {
  const vini_ldlt_tree *tree = &b->tree;
  for (vin_int k = 0; k < tree->n; k++) size[k] = 1, b->leaf_of[k] = -1;
  for (vin_int k = 0; k < tree->n; k++) {
    if (tree->parent[k] >= 0) size[tree->parent[k]] += size[k];
  }
  for (vin_int k = 0; k < tree->n; k++) {
    const vin_int up = tree->parent[k];
    const bool small = size[k] <= SUBTREE && tree->count[k] - 1 <= VINI_LEAF_ROWS;
    const bool up_small = up >= 0 && size[up] <= SUBTREE && tree->count[up] - 1 <= VINI_LEAF_ROWS;
    if (!small || up_small) continue;
    for (vin_int j = k - size[k] + 1; j <= k; j++) b->leaf_of[j] = b->leaf_count;
    b->leaf_count++;
  }
}

/* Columns of a front; those in no leaf that are below it in the tree are visited downwards. */
typedef struct run {
  vin_int lowest, highest, width;
  double used; /* entries of L, with diagonals */
} run;

static vin_int column_before(const vini_lane_builder *b, vin_int k) {
  for (k--; k >= 0 && b->leaf_of[k] >= 0; k--) {
  }
  return k;
}

/* The columns from `highest` down that have the same rows below. */
static run run_from(const vini_lane_builder *b, vin_int highest) {
  const vini_ldlt_tree *tree = &b->tree;
  run r = {highest, highest, 1, (double)tree->count[highest]};
  for (;;) {
    const vin_int k = column_before(b, r.lowest);
    if (k < 0 || tree->parent[k] != r.lowest || tree->count[k] != tree->count[r.lowest] + 1) {
      return r;
    }
    r.lowest = k;
    r.width++;
    r.used += (double)tree->count[k];
  }
}

/* Is a front worth having of both, `under` being below `r` in the tree? */
static bool joins(const vini_ldlt_tree *tree, run under, run r) {
  const vin_int rows = tree->count[r.highest] - 1, c = under.width + r.width;
  if (tree->parent[under.highest] != r.lowest || c + rows > MERGED_SIZE) return false;
  const double all = 0.5 * (double)c * (double)(c + 1) + (double)c * (double)rows;
  return under.used + r.used >= (1 - MERGED_ZEROS) * all;
}

/* Cuts the columns that are in no leaf; fills front_of[] with numbers that ascend. */
static void cut(const vini_lane_builder *b) {
  const vini_ldlt_tree *tree = &b->tree;
  vin_int count = 0;
  for (vin_int k = column_before(b, tree->n); k >= 0;) {
    run r = run_from(b, k);
    for (k = column_before(b, r.lowest); k >= 0; k = column_before(b, r.lowest)) {
      const run under = run_from(b, k);
      if (!joins(tree, under, r)) break;
      r.lowest = under.lowest;
      r.width += under.width;
      r.used += under.used;
    }
    for (vin_int j = r.highest; j >= r.lowest; j--) b->front_of[j] = count;
    count++;
  }
  for (vin_int k = 0; k < tree->n; k++) b->front_of[k] = count - 1 - b->front_of[k];
  b->plan->front_count = count;
}

/* A leaf while it grows: one subtree and those that joined it, side by side in the unknowns. */
typedef struct group {
  vin_int front;     /* above it, -1: none */
  vin_int low, high; /* its unknowns are all within */
  vin_int pivots, rows, row;
  vin_int first, last; /* its subtrees, linked by next; -1: it has joined another */
} group;

typedef struct forest {
  vin_int *begin; /* subtrees + 1: columns of a subtree are begin .. begin + group's first pivots */
  vin_int *size;  /* columns of a subtree */
  vin_int *next;
  group *group;
  vin_int *sorted; /* groups by front and unknowns */
} forest;

/* Rows below each subtree, ascending. */
static vin_status find_rows(vini_lane_builder *b, forest *f) {
  for (vin_int k = 0; k < b->tree.n; k++) b->mark[k] = -1;
  for (vin_int l = 0; l < b->leaf_count; l++) {
    const vin_int end = f->begin[l] + f->size[l];
    vin_int *row = b->leaf_row + f->group[l].row, count = 0;
    for (vin_int e = b->entry_start[f->begin[l]]; e < b->entry_start[end]; e++) {
      const vin_int i = b->entry_row[e];
      if (i < end || b->mark[i] == l) continue;
      b->mark[i] = l;
      if (count < f->group[l].rows) row[count] = i;
      count++;
    }
    if (count != f->group[l].rows) {
      return vini_fail(b->object, VIN_ERR_INTERNAL, "ldlt: a leaf has %d rows instead of %d",
                       (int)count, (int)f->group[l].rows);
    }
    vini_lane_sort(row, count);
  }
  return VIN_OK;
}

/* One group for each subtree. */
static void begin_groups(const vini_lane_builder *b, forest *f) {
  const vini_ldlt_tree *tree = &b->tree;
  vin_int rows = 0;
  for (vin_int k = 0; k < tree->n; k++) {
    const vin_int l = b->leaf_of[k];
    if (l < 0) continue;
    const vin_int unknown = tree->order[k];
    group *g = &f->group[l];
    if (f->size[l]++ == 0) {
      f->begin[l] = k;
      *g = (group){.low = unknown, .high = unknown, .first = l, .last = l};
      f->next[l] = -1;
    }
    g->pivots++;
    g->low = vini_min_int(g->low, unknown);
    g->high = vini_max_int(g->high, unknown);
    g->rows = tree->count[k] - 1; /* of the last column in the end */
    g->front = tree->parent[k] < 0 ? -1 : b->front_of[tree->parent[k]];
  }
  for (vin_int l = 0; l < b->leaf_count; l++) {
    f->group[l].row = rows;
    rows += f->group[l].rows;
  }
}

/* Groups by front, and by their first unknown within a front: two bucket passes. `head`: n + 1. */
static void sort_groups(const vini_lane_builder *b, forest *f, vin_int *by_unknown, vin_int *head) {
  const vin_int n = b->tree.n;
  vin_int count = 0;
  for (vin_int k = 0; k < n; k++) head[k] = -1;
  for (vin_int l = 0; l < b->leaf_count; l++) head[f->group[l].low] = l;
  for (vin_int k = 0; k < n; k++) {
    if (head[k] >= 0) by_unknown[count++] = head[k];
  }
  memset(head, 0, ((size_t)n + 1) * sizeof *head);
  for (vin_int l = 0; l < b->leaf_count; l++) head[f->group[l].front + 1]++;
  for (vin_int k = 0, sum = 0; k <= b->plan->front_count; k++) {
    const vin_int here = head[k];
    head[k] = sum;
    sum += here;
  }
  for (vin_int i = 0; i < count; i++) {
    f->sorted[head[f->group[by_unknown[i]].front + 1]++] = by_unknown[i];
  }
}

/* Are the rows of g among those of h? Both ascend. */
static bool within(const vini_lane_builder *b, const group *g, const group *h) {
  const vin_int *x = b->leaf_row + g->row, *y = b->leaf_row + h->row;
  vin_int j = 0;
  for (vin_int i = 0; i < g->rows; i++, j++) {
    while (j < h->rows && y[j] < x[i]) j++;
    if (j == h->rows || y[j] != x[i]) return false;
  }
  return true;
}

/* Rows of what two groups become together, -1: they stay apart. */
static vin_int together(const vini_lane_builder *b, const group *g, const group *h) {
  if (g->front != h->front || g->high + 1 != h->low) return -1;
  if (g->pivots > 1 && h->pivots > 1) return -1; /* two bodies would make one more kind */
  if (g->pivots + h->pivots > VINI_LEAF_PIVOTS) return -1;
  if (g->rows >= h->rows) return within(b, h, g) ? g->rows : -1;
  return within(b, g, h) ? h->rows : -1;
}

/* h joins g; the rows of both are those of g from now on. */
static void absorb(forest *f, group *g, group *h) {
  f->next[g->last] = h->first;
  g->last = h->last;
  g->high = h->high;
  g->pivots += h->pivots;
  h->first = -1;
}

/* Neighbours come together, those with the fewest rows first: the coordinates of one body before those of
 * two. Returns how many pairs have; `sorted` is closed up. */
static vin_int join_neighbours(const vini_lane_builder *b, forest *f, vin_int *count) {
  vin_int kept = 0, joined = 0, here = -1;
  for (vin_int i = 0; i < *count; i++) {
    group *g = &f->group[f->sorted[i]];
    vin_int before = here, after = -1;
    here = i + 1 < *count ? together(b, g, &f->group[f->sorted[i + 1]]) : -1;
    if (here >= 0 && i + 2 < *count) {
      after = together(b, &f->group[f->sorted[i + 1]], &f->group[f->sorted[i + 2]]);
    }
    f->sorted[kept++] = f->sorted[i];
    if (here < 0 || (before >= 0 && before <= here) || (after >= 0 && after < here)) continue;
    group *h = &f->group[f->sorted[++i]];
    if (h->rows > g->rows) g->rows = h->rows, g->row = h->row;
    absorb(f, g, h);
    here = -1;
    joined++;
  }
  *count = kept;
  return joined;
}

/* All that is under a small front comes together, whatever the unknowns: its update is then taken at once.
 * The groups are sorted[begin .. end - 1]; room: where the next list of rows goes. */
static void join_front(vini_lane_builder *b, forest *f, vin_int begin, vin_int end, vin_int *room) {
  vin_int pivots = 0, rows = 0, *row = b->leaf_row + *room;
  for (vin_int i = begin; i < end; i++) {
    const group *g = &f->group[f->sorted[i]];
    pivots += g->pivots;
    if (pivots > VINI_LEAF_PIVOTS || rows + g->rows > VINI_LANES * MERGED_SIZE) return;
    memcpy(row + rows, b->leaf_row + g->row, (size_t)g->rows * sizeof *row);
    rows += g->rows;
  }
  vini_lane_sort(row, rows);
  vin_int kept = 0;
  for (vin_int i = 0; i < rows; i++) {
    if (kept == 0 || row[kept - 1] != row[i]) row[kept++] = row[i];
  }
  if (kept > MERGED_SIZE) return;
  group *g = &f->group[f->sorted[begin]];
  for (vin_int i = begin + 1; i < end; i++) absorb(f, g, &f->group[f->sorted[i]]);
  g->row = *room;
  g->rows = kept;
  *room += kept;
}

static void join_fronts(vini_lane_builder *b, forest *f, vin_int count) {
  vin_int room = 0;
  for (vin_int l = 0; l < b->leaf_count; l++) {
    room = vini_max_int(room, f->group[l].row + f->group[l].rows);
  }
  for (vin_int begin = 0, end; begin < count; begin = end) {
    const vin_int front = f->group[f->sorted[begin]].front;
    for (end = begin + 1; end < count && f->group[f->sorted[end]].front == front; end++) {
    }
    if (front >= 0 && end - begin > 1) join_front(b, f, begin, end, &room);
  }
}

/* Leaves from groups, in the order of their first subtree; within a leaf, columns that stand alone first. */
static vin_status make_leaves(vini_lane_builder *b, const forest *f) {
  const vin_int subtrees = b->leaf_count;
  vin_int columns = 0, entries = 0;
  b->leaf_count = 0;
  for (vin_int l = 0; l < subtrees; l++) {
    const group *g = &f->group[l];
    if (g->first < 0) continue;
    b->leaf[b->leaf_count] = (vini_leaf){
        .pivots = g->pivots, .rows = g->rows, .pivot = columns, .row = g->row, .source = entries};
    for (int pass = 0; pass < 2; pass++) {
      for (vin_int s = g->first; s >= 0; s = f->next[s]) {
        if ((f->size[s] > 1) != (pass == 1)) continue;
        for (vin_int k = f->begin[s]; k < f->begin[s] + f->size[s]; k++) {
          b->leaf_pivot[columns++] = k;
          b->leaf_of[k] = b->leaf_count;
          entries += b->entry_start[k + 1] - b->entry_start[k];
        }
      }
    }
    b->leaf_count++;
  }
  return VIN_OK;
}

static vin_status join(vini_lane_builder *b, forest *f, vin_int *scratch) {
  begin_groups(b, f);
  VINI_TRY(find_rows(b, f));
  sort_groups(b, f, scratch, scratch + b->leaf_count);
  vin_int count = b->leaf_count;
  while (join_neighbours(b, f, &count) > 0) {
  }
  join_fronts(b, f, count);
  return make_leaves(b, f);
}

vin_status vini_find_leaves(vini_lane_builder *b) {
  const vin_context *context = &b->object->context;
  const size_t n = (size_t)b->tree.n;
  VINI_TRY(sort_matrix(b));
  find_subtrees(b, b->mark);
  cut(b);
  const size_t subtrees = (size_t)b->leaf_count, entries = (size_t)b->entry_start[n];
  b->leaf = vini_alloc(context, subtrees, sizeof *b->leaf);
  b->leaf_pivot = vini_alloc(context, n, sizeof *b->leaf_pivot);
  b->leaf_row = vini_alloc(context, 2 * entries + VINI_LANES * MERGED_SIZE, sizeof *b->leaf_row);
  b->leaf_source = vini_alloc(context, entries, sizeof *b->leaf_source);
  forest f = {.begin = vini_alloc(context, subtrees, sizeof(vin_int)),
              .size = vini_alloc(context, subtrees, sizeof(vin_int)),
              .next = vini_alloc(context, subtrees, sizeof(vin_int)),
              .group = vini_alloc(context, subtrees, sizeof(group)),
              .sorted = vini_alloc(context, subtrees, sizeof(vin_int))};
  vin_int *scratch = vini_alloc(context, subtrees + n + 1, sizeof *scratch);
  vin_status status;
  if (b->leaf && b->leaf_pivot && b->leaf_row && b->leaf_source && f.begin && f.size && f.next &&
      f.group && f.sorted && scratch) {
    status = join(b, &f, scratch);
  } else {
    status = vini_lane_no_memory(b);
  }
  void *owned[] = {f.begin, f.size, f.next, f.group, f.sorted, scratch};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  return status;
}
