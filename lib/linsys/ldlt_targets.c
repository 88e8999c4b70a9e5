/* ldlt_targets - where each number of the factorisation goes: the entries of A and the products
 * L_ik d_k L_jk. Here plan->index still holds columns (positions in the elimination order). */
#include "linsys/ldlt_plan.h"

#include <assert.h>
#include <string.h>

/* Where the next group of a panel starts: its first row (counted from the first row below) and the
 * place in plan->target. Panels wait in a list of the later panel that their next group belongs to.
 */
typedef struct cursor {
  int64_t target;
  vin_int row, next;
} cursor;

/* Storage row of panel row `local` (0 = first own column): the diagonal of column 0 is not stored,
 * and nothing above the rows below is stored in an uncoupled panel. */
static vin_int storage_row(const vini_ldlt_panel *panel, vin_int local) {
  return panel->inside + local - panel->width;
}

/* Length of the longest run from row j on that belongs to one panel. */
static vin_int run_length(const vin_int *below, vin_int count, vin_int j,
                          const vin_int *column_panel) {
  vin_int end = j + 1;
  while (end < count && column_panel[below[end]] == column_panel[below[j]]) end++;
  return end - j;
}

/* Length of each panel's target list, and their starts. */
static void count_targets(vini_ldlt_plan *plan, const vin_int *column_panel) {
  int64_t total = 0;
  for (vin_int s = 0; s < plan->panel_count; s++) {
    vini_ldlt_panel *panel = &plan->panel[s];
    const vin_int *below = plan->index + panel->index + panel->width;
    panel->target = total;
    if (!panel->grouped) {
      total += (int64_t)panel->below * (panel->below - 1) / 2;
      continue;
    }
    for (vin_int j = 0; j < panel->below;) {
      total += 3 + panel->below - j;
      j += run_length(below, panel->below, j, column_panel);
    }
  }
  plan->target_count = total;
}

/* Lists the targets of panel s in panel t, which holds the run of `length` rows at at->row.
 * where[row]: panel row of a row of t. */
static void list_run(vini_ldlt_plan *plan, const vini_ldlt_panel *s, const vini_ldlt_panel *t,
                     cursor *at, vin_int length, const vin_int *where) {
  const vin_int *below = plan->index + s->index + s->width;
  const vin_int ld = t->inside + t->below;
  if (s->grouped) {
    vin_int *out = plan->target + at->target;
    *out++ = length;
    *out++ = t->value;
    *out++ = ld;
    for (vin_int i = at->row; i < s->below; i++)
      *out++ = storage_row(t, t->width + where[below[i]]);
    at->target = out - plan->target;
    return;
  }
  for (vin_int j = at->row; j < at->row + length; j++)
    for (vin_int i = j + 1; i < s->below; i++)
      plan->target[at->target++] =
          t->value + (t->width + where[below[j]]) * ld + storage_row(t, t->width + where[below[i]]);
}

/* Panels t in order, and for each the earlier panels that have rows in it (linked through
 * cursor.next): the rows of t are numbered once for all of them. */
static void fill_targets(vini_ldlt_plan *plan, const vin_int *column_panel, cursor *at,
                         vin_int *waiting, vin_int *where) {
  for (vin_int t = 0; t < plan->panel_count; t++) waiting[t] = -1;
  for (vin_int t = 0; t < plan->panel_count; t++) {
    const vini_ldlt_panel *panel = &plan->panel[t];
    const vin_int *rows = plan->index + panel->index, size = panel->width + panel->below;
    /* counted from the first row below, so that own columns are negative */
    for (vin_int i = 0; i < size; i++) where[rows[i]] = i - panel->width;
    for (vin_int s = waiting[t], next; s >= 0; s = next) {
      next = at[s].next;
      const vini_ldlt_panel *from = &plan->panel[s];
      const vin_int *below = rows - panel->index + from->index + from->width;
      const vin_int length = run_length(below, from->below, at[s].row, column_panel);
      list_run(plan, from, panel, &at[s], length, where);
      at[s].row += length;
      if (at[s].row == from->below) continue;
      const vin_int later = column_panel[below[at[s].row]];
      at[s].next = waiting[later];
      waiting[later] = s;
    }
    at[t] = (cursor){.target = panel->target, .row = 0, .next = -1};
    if (panel->below == 0) continue;
    const vin_int later = column_panel[rows[panel->width]];
    at[t].next = waiting[later];
    waiting[later] = t;
  }
}

vin_status vini_ldlt_place_targets(vini_object *object, vini_ldlt_plan *plan,
                                   const vin_int *column_panel) {
  const vin_context *context = &object->context;
  count_targets(plan, column_panel);
  plan->target = vini_alloc(context, (size_t)plan->target_count, sizeof *plan->target);
  cursor *at = vini_alloc(context, (size_t)plan->panel_count, sizeof *at);
  vin_int *waiting = vini_alloc(context, (size_t)plan->panel_count, sizeof *waiting);
  vin_int *where = vini_alloc(context, (size_t)plan->n, sizeof *where);
  const bool enough = plan->target && at && waiting && where;
  if (enough) fill_targets(plan, column_panel, at, waiting, where);
  vini_free(context, at);
  vini_free(context, waiting);
  vini_free(context, where);
  if (enough) return VIN_OK;
  return vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory for %lld places of updates",
                   (long long)plan->target_count);
}

/* Index of `row` among the rows below, which are ascending. */
static vin_int find_row(const vin_int *below, vin_int count, vin_int row) {
  vin_int low = 0, high = count - 1;
  while (low < high) {
    const vin_int middle = low + (high - low) / 2;
    if (below[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  assert(count > 0 && below[low] == row);
  return low;
}

void vini_ldlt_place_matrix(vini_ldlt_plan *plan, const vin_sparse *matrix, const vin_int *inverse,
                            const vin_int *column_panel) {
  for (vin_int j = 0; j < matrix->cols; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++) {
      const vin_int a = inverse[j], b = inverse[matrix->row[p]];
      const vin_int column = vini_min_int(a, b), row = vini_max_int(a, b);
      const vini_ldlt_panel *panel = &plan->panel[column_panel[column]];
      const vin_int *own = plan->index + panel->index, local = column - own[0];
      if (row == column) {
        plan->map[p] = 0;
        continue;
      }
      const vin_int place = row - own[0] < panel->width
                                ? row - own[0]
                                : panel->width + find_row(own + panel->width, panel->below, row);
      plan->map[p] =
          panel->value + local * (panel->inside + panel->below) + storage_row(panel, place);
    }
}
