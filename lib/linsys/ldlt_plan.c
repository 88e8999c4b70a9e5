/* ldlt_plan - panels of L and the rows below them. The places of the numbers: ldlt_targets.c. */
#include "linsys/ldlt_plan.h"

#include <assert.h>
#include <string.h>

/* Scratch of the construction. */
typedef struct build {
  vini_ldlt_tree tree;
  vin_int *column_panel; /* n: panel of each column */
  vin_int *first;        /* n: first column of each panel */
  vin_int *mark;         /* n */
  vin_int *child;        /* n: first child panel */
  vin_int *sibling;      /* n */
  vin_int *start;        /* n + 1: panels that contain a row, by rows */
  vin_int *panel_of_row; /* entries of the rows below, all panels together */
} build;

void vini_ldlt_plan_clear(const vin_context *context, vini_ldlt_plan *plan) {
  vini_free(context, plan->panel);
  vini_free(context, plan->index);
  vini_free(context, plan->target);
  vini_free(context, plan->map);
  memset(plan, 0, sizeof *plan);
}

static void build_clear(const vin_context *context, build *b) {
  vini_ldlt_tree_clear(context, &b->tree);
  vini_free(context, b->column_panel);
  vini_free(context, b->first);
  vini_free(context, b->mark);
  vini_free(context, b->child);
  vini_free(context, b->sibling);
  vini_free(context, b->start);
  vini_free(context, b->panel_of_row);
}

static vin_status no_memory(vini_object *object, const vini_ldlt_plan *plan) {
  return vini_fail(object, VIN_ERR_NO_MEMORY,
                   "ldlt: no memory for the plan of %d unknowns, %lld entries of L", (int)plan->n,
                   (long long)plan->nnz);
}

/* May column k join the coupled panel that ends in k - 1? Column k - 1 of L without its diagonal is
 * contained in column k when k is its parent; equal counts make them equal. */
static bool joins_coupled(const vini_ldlt_tree *tree, vin_int k) {
  return tree->parent[k - 1] == k && tree->count[k - 1] == tree->count[k] + 1;
}

/* May column k join the uncoupled panel that ends in k - 1? Only leaves of the tree are considered:
 * their column of L has the pattern of A. */
static bool joins_uncoupled(const vini_ldlt_tree *tree, vin_int k, const vin_int *has_child) {
  const vin_int size = tree->start[k + 1] - tree->start[k];
  return !has_child[k - 1] && !has_child[k] && size == tree->start[k] - tree->start[k - 1] &&
         memcmp(tree->row + tree->start[k - 1], tree->row + tree->start[k],
                (size_t)size * sizeof *tree->row) == 0;
}

/* Cuts the columns into panels: plan->panel[].width, below, inside; b->first, b->column_panel. */
static void find_panels(vini_ldlt_plan *plan, build *b) {
  const vini_ldlt_tree *tree = &b->tree;
  enum { OPEN, COUPLED, UNCOUPLED } shape = OPEN; /* OPEN: one column so far */
  vin_int last = -1;
  memset(b->mark, 0, (size_t)plan->n * sizeof *b->mark);
  for (vin_int k = 0; k < plan->n; k++)
    if (tree->parent[k] >= 0) b->mark[tree->parent[k]] = 1;
  for (vin_int k = 0; k < plan->n; k++) {
    vini_ldlt_panel *panel = last < 0 ? NULL : &plan->panel[last];
    if (panel && panel->width < VINI_LDLT_MAX_WIDTH && shape != UNCOUPLED &&
        joins_coupled(tree, k)) {
      shape = COUPLED;
      panel->inside++;
    } else if (panel && panel->width < VINI_LDLT_MAX_WIDTH && shape != COUPLED &&
               joins_uncoupled(tree, k, b->mark)) {
      shape = UNCOUPLED;
    } else {
      panel = &plan->panel[++last];
      *panel = (vini_ldlt_panel){0};
      b->first[last] = k;
      shape = OPEN;
    }
    panel->width++;
    panel->below = tree->count[k] - 1; /* of the last column of the panel */
    b->column_panel[k] = last;
  }
  plan->panel_count = last + 1;
}

/* Sizes and starts; refuses what 32-bit places cannot hold before it is allocated. */
static vin_status set_sizes(vini_object *object, vini_ldlt_plan *plan) {
  int64_t index = 0, value = 1; /* place 0 is the waste bin of plan->map */
  for (vin_int s = 0; s < plan->panel_count; s++) {
    vini_ldlt_panel *panel = &plan->panel[s];
    const int64_t size = (int64_t)panel->width * (panel->inside + panel->below);
    if (index + panel->width + panel->below > INT32_MAX || value + size > INT32_MAX)
      return vini_fail(
          object, VIN_ERR_TOO_LARGE,
          "ldlt: L has %lld entries below the diagonal; with its panels that is beyond "
          "32-bit indices (2147483647)",
          (long long)plan->nnz);
    panel->index = (vin_int)index;
    panel->value = (vin_int)value;
    panel->grouped =
        panel->below > VINI_LDLT_PAIRWISE_ROWS || panel->width > VINI_LDLT_PAIRWISE_WIDTH;
    plan->max_below = vini_max_int(plan->max_below, panel->below);
    index += panel->width + panel->below;
    value += size;
  }
  plan->index_count = index;
  plan->value_count = value;
  return VIN_OK;
}

/* Adds `row` to the rows below panel s unless it is there or inside the panel. */
static void add_row(vin_int *below, vin_int *count, vin_int *mark, vin_int s, vin_int row) {
  if (mark[row] == s) return;
  mark[row] = s;
  below[(*count)++] = row;
}

/* Rows below each panel, unsorted: those of A's columns and of the child panels (the pattern of a
 * column of L is the union of A's column and of its children's columns, without themselves). */
static void collect_rows(vini_ldlt_plan *plan, build *b) {
  const vini_ldlt_tree *tree = &b->tree;
  for (vin_int k = 0; k < plan->n; k++) b->mark[k] = b->child[k] = -1;
  for (vin_int s = 0; s < plan->panel_count; s++) {
    const vini_ldlt_panel *panel = &plan->panel[s];
    const vin_int first = b->first[s], end = first + panel->width;
    vin_int *own = plan->index + panel->index, *below = own + panel->width, count = 0;
    for (vin_int k = first; k < end; k++) {
      own[k - first] = k;
      b->mark[k] = s;
    }
    for (vin_int p = tree->start[first]; p < tree->start[end]; p++)
      add_row(below, &count, b->mark, s, tree->row[p]);
    for (vin_int c = b->child[s]; c >= 0; c = b->sibling[c]) {
      const vini_ldlt_panel *child = &plan->panel[c];
      const vin_int *row = plan->index + child->index + child->width;
      for (vin_int i = 0; i < child->below; i++) add_row(below, &count, b->mark, s, row[i]);
    }
    assert(count == panel->below);
    const vin_int up = tree->parent[end - 1];
    if (up < 0) continue;
    b->sibling[s] = b->child[b->column_panel[up]];
    b->child[b->column_panel[up]] = s;
  }
}

/* Sorts all lists of rows at once: by rows, then back by panels (two transpositions, linear). */
static void sort_rows(vini_ldlt_plan *plan, build *b) {
  vin_int *start = b->start, *fill = b->mark;
  memset(start, 0, ((size_t)plan->n + 1) * sizeof *start);
  for (vin_int s = 0; s < plan->panel_count; s++) {
    const vin_int *row = plan->index + plan->panel[s].index + plan->panel[s].width;
    for (vin_int i = 0; i < plan->panel[s].below; i++) start[row[i] + 1]++;
  }
  for (vin_int k = 0; k < plan->n; k++) start[k + 1] += start[k];
  memcpy(fill, start, (size_t)plan->n * sizeof *fill);
  for (vin_int s = 0; s < plan->panel_count; s++) {
    const vin_int *row = plan->index + plan->panel[s].index + plan->panel[s].width;
    for (vin_int i = 0; i < plan->panel[s].below; i++) b->panel_of_row[fill[row[i]]++] = s;
  }
  for (vin_int s = 0; s < plan->panel_count; s++)
    fill[s] = plan->panel[s].index + plan->panel[s].width;
  for (vin_int k = 0; k < plan->n; k++)
    for (vin_int p = start[k]; p < start[k + 1]; p++) plan->index[fill[b->panel_of_row[p]]++] = k;
}

/* Everything that depends on the number of panels and of their rows. */
static vin_status build_panels(vini_object *object, vini_ldlt_plan *plan, build *b,
                               const vin_sparse *matrix) {
  const vin_context *context = &object->context;
  const size_t n = (size_t)plan->n;
  vini_ldlt_panel *panel =
      vini_copy(context, plan->panel, (size_t)plan->panel_count, sizeof *panel);
  if (!panel) return no_memory(object, plan);
  vini_free(context, plan->panel); /* it had room for n panels */
  plan->panel = panel;
  VINI_TRY(set_sizes(object, plan));
  plan->index = vini_alloc(context, (size_t)plan->index_count, sizeof *plan->index);
  plan->map = vini_alloc(context, (size_t)plan->a_count, sizeof *plan->map);
  b->panel_of_row =
      vini_alloc(context, (size_t)(plan->index_count - plan->n), sizeof *b->panel_of_row);
  b->child = vini_alloc(context, n, sizeof *b->child);
  b->sibling = vini_alloc(context, n, sizeof *b->sibling);
  b->start = vini_alloc(context, n + 1, sizeof *b->start);
  if (!plan->index || !plan->map || !b->panel_of_row || !b->child || !b->sibling || !b->start)
    return no_memory(object, plan);
  collect_rows(plan, b);
  sort_rows(plan, b);
  vini_ldlt_place_matrix(plan, matrix, b->tree.inverse, b->column_panel);
  VINI_TRY(vini_ldlt_place_targets(object, plan, b->column_panel));
  for (int64_t i = 0; i < plan->index_count; i++) plan->index[i] = b->tree.order[plan->index[i]];
  return VIN_OK;
}

static vin_status build_all(vini_object *object, vini_ldlt_plan *plan, build *b,
                            const vin_sparse *matrix, const vin_int *order) {
  const vin_context *context = &object->context;
  const size_t n = (size_t)matrix->rows;
  VINI_TRY(vini_ldlt_tree_build(object, &b->tree, matrix, order));
  plan->n = matrix->rows;
  plan->a_count = matrix->start[matrix->cols];
  plan->nnz = b->tree.nnz;
  plan->flops = b->tree.flops;
  if (plan->nnz > INT32_MAX)
    return vini_fail(object, VIN_ERR_TOO_LARGE,
                     "ldlt: L would have %lld entries below the diagonal, more than 32-bit indices "
                     "hold (2147483647)",
                     (long long)plan->nnz);
  b->column_panel = vini_alloc(context, n, sizeof *b->column_panel);
  b->first = vini_alloc(context, n, sizeof *b->first);
  b->mark = vini_alloc(context, n, sizeof *b->mark);
  plan->panel = vini_alloc(context, n, sizeof *plan->panel);
  if (!b->column_panel || !b->first || !b->mark || !plan->panel) return no_memory(object, plan);
  find_panels(plan, b);
  return build_panels(object, plan, b, matrix);
}

vin_status vini_ldlt_plan_build(vini_object *object, vini_ldlt_plan *plan, const vin_sparse *matrix,
                                const vin_int *order) {
  build b;
  memset(&b, 0, sizeof b);
  memset(plan, 0, sizeof *plan);
  const vin_status status = build_all(object, plan, &b, matrix, order);
  build_clear(&object->context, &b);
  if (status != VIN_OK) vini_ldlt_plan_clear(&object->context, plan);
  return status;
}
