/* Coordinate blocks with very many constraints, and the constraints that must come after them. */
#include "kkt/plan.h"

#include <math.h>
#include <string.h>

/* A coordinate block with more constraints than max(HUB_LEAST, HUB_ROOT sqrt(constraint blocks)) is
 * a hub: eliminating it early makes a dense block of that size (2000 tethers on one body: 2.0 M
 * entries against 26 k). The root rule is AMD's for dense rows. */
#define HUB_LEAST 64
#define HUB_ROOT 10.0

/* Bipartite matching of the rows of J with coordinates outside the hubs. */
typedef struct matching {
  vin_int *start, *column; /* m + 1: the columns of each row, without hubs */
  vin_int *row_of;         /* n: the row matched with a column, or -1 */
  vin_int *next;           /* m: where the search goes on in a row */
  vin_int *mark;           /* m: the last search that came by, or -1 */
  vin_int *stack;          /* m */
  bool *failed;            /* m: rows whose search found no column */
} matching;

static void matching_free(matching *x, const vin_context *context) {
  vini_free(context, x->start);
  vini_free(context, x->column);
  vini_free(context, x->row_of);
  vini_free(context, x->next);
  vini_free(context, x->mark);
  vini_free(context, x->stack);
  vini_free(context, x->failed);
}

static bool matching_allocate(matching *x, const vin_context *context, const vini_blocks *b,
                              const vin_sparse *k) {
  size_t n = (size_t)b->n, m = (size_t)b->m;
  x->start = vini_alloc(context, m + 1, sizeof(vin_int));
  x->column = vini_alloc(context, (size_t)k->start[b->n], sizeof(vin_int));
  x->row_of = vini_alloc(context, n, sizeof(vin_int));
  x->next = vini_alloc(context, m, sizeof(vin_int));
  x->mark = vini_alloc(context, m, sizeof(vin_int));
  x->stack = vini_alloc(context, m, sizeof(vin_int));
  x->failed = vini_alloc(context, m, sizeof(bool));
  return x->start && x->column && x->row_of && x->next && x->mark && x->stack && x->failed;
}

/* Rows of J outside the hubs. */
static void list_rows(matching *x, const vini_blocks *b, const vin_sparse *k, const bool *hub) {
  for (int fill = 0; fill < 2; fill++) {
    for (vin_int j = 0; j < b->n; j++) {
      if (hub[b->of_coordinate[j]]) continue;
      for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
        vin_int i = k->row[at] - b->n;
        if (i < 0) continue;
        if (fill) {
          x->column[x->start[i]++] = j;
        } else {
          x->start[i + 1]++;
        }
      }
    }
    for (vin_int i = 0; i < b->m && !fill; i++) x->start[i + 1] += x->start[i];
  }
  for (vin_int i = b->m; i > 0; i--) x->start[i] = x->start[i - 1];
  x->start[0] = 0;
}

/* Gives the row on top of the stack a free column; everyone below takes the column of the one
 * above. false: it has no free column. */
static bool take_free_column(matching *x, vin_int depth) {
  vin_int i = x->stack[depth];
  for (vin_int l = x->start[i]; l < x->start[i + 1]; l++) {
    if (x->row_of[x->column[l]] >= 0) continue;
    x->row_of[x->column[l]] = i;
    while (depth-- > 0) x->row_of[x->column[x->next[x->stack[depth]] - 1]] = x->stack[depth];
    return true;
  }
  return false;
}

/* Depth-first search for an augmenting path. Rows met by a search that failed can't lead to a free
 * column later either, so that all failing searches together are linear. */
static bool match_row(matching *x, vin_int root) {
  vin_int depth = 0;
  x->stack[0] = root;
  x->mark[root] = root;
  x->next[root] = x->start[root];
  while (depth >= 0) {
    vin_int i = x->stack[depth];
    if (x->next[i] == x->start[i] && take_free_column(x, depth)) return true;
    vin_int follow = -1;
    while (follow < 0 && x->next[i] < x->start[i + 1]) {
      vin_int r = x->row_of[x->column[x->next[i]++]];
      bool seen = x->mark[r] == root || (x->mark[r] >= 0 && x->failed[x->mark[r]]);
      if (!seen) follow = r;
    }
    if (follow < 0) {
      depth--;
      continue;
    }
    x->mark[follow] = root;
    x->next[follow] = x->start[follow];
    x->stack[++depth] = follow;
  }
  return false;
}

/* late: constraint blocks that are, by their pattern, dependent on the others without the hubs: the
 * inner constraints of a rigid hub, a tether to a point that is held. */
static vin_status find_late(vini_object *object, const vini_blocks *b, const vin_sparse *k,
                            const bool *hub, bool *late) {
  matching x = {0};
  vin_status status = VIN_OK;
  if (matching_allocate(&x, &object->context, b, k)) {
    list_rows(&x, b, k, hub);
    for (vin_int j = 0; j < b->n; j++) x.row_of[j] = -1;
    for (vin_int i = 0; i < b->m; i++) x.mark[i] = -1;
    for (vin_int i = 0; i < b->m; i++) {
      if (match_row(&x, i)) continue;
      x.failed[i] = true;
      late[b->of_constraint[i]] = true;
    }
  } else {
    status = vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for the ordering of %d constraints",
                       (int)b->m);
  }
  matching_free(&x, &object->context);
  return status;
}

vin_status vini_find_hubs(vini_object *object, const vini_blocks *b, const vin_sparse *k, bool *hub,
                          bool *late, vin_int *hubs) {
  double limit = vini_max(HUB_LEAST, HUB_ROOT * sqrt((double)b->mb));
  *hubs = 0;
  memset(late, 0, (size_t)b->mb * sizeof *late);
  for (vin_int block = 0; block < b->nb; block++) {
    hub[block] = (double)(b->touch_start[block + 1] - b->touch_start[block]) > limit;
    *hubs += hub[block];
  }
  return *hubs > 0 ? find_late(object, b, k, hub, late) : VIN_OK;
}
