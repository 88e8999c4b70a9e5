/* Leaf-to-root order for chains and trees; see plan.h. */
#include "kkt/plan.h"

#include <string.h>

/* The graph of coordinate blocks and constraint blocks, an edge where one touches the other.
 * Vertices: constraint blocks first, then coordinate blocks. */
typedef struct walk {
  const vini_blocks *b;
  vin_int *queue;  /* vertices in the order of their visit */
  vin_int *parent; /* -2: not visited, -1: root */
  vin_int count;
} walk;

static const vin_int *neighbours(const vini_blocks *b, vin_int vertex, vin_int *count) {
  if (vertex < b->mb) {
    *count = b->lean_start[vertex + 1] - b->lean_start[vertex];
    return b->lean + b->lean_start[vertex];
  }
  vin_int block = vertex - b->mb;
  *count = b->touch_start[block + 1] - b->touch_start[block];
  return b->touch + b->touch_start[block];
}

/* Breadth first from root; false: there is a cycle. Leaves the last vertex reached in the queue. */
static bool visit(walk *w, vin_int root) {
  vin_int first = w->count;
  w->queue[w->count++] = root;
  w->parent[root] = -1;
  for (vin_int at = first; at < w->count; at++) {
    vin_int vertex = w->queue[at], count;
    const vin_int *list = neighbours(w->b, vertex, &count);
    for (vin_int l = 0; l < count; l++) {
      vin_int next = vertex < w->b->mb ? list[l] + w->b->mb : list[l];
      if (next == w->parent[vertex]) continue;
      if (w->parent[next] != -2) return false;
      w->parent[next] = vertex;
      w->queue[w->count++] = next;
    }
  }
  return true;
}

static bool visit_again(walk *w, vin_int first, vin_int root) {
  for (vin_int at = first; at < w->count; at++) w->parent[w->queue[at]] = -2;
  w->count = first;
  return visit(w, root);
}

/* Entries of H between different blocks must run along a constraint (a massive rod), or elimination
 * would close a cycle that this graph does not show. */
static bool couplings_follow_constraints(const walk *w, const vin_sparse *k) {
  const vini_blocks *b = w->b;
  for (vin_int j = 0; j < b->n; j++) {
    vin_int block = b->of_coordinate[j];
    for (vin_int at = k->start[j]; at < k->start[j + 1] && k->row[at] < b->n; at++) {
      vin_int other = b->of_coordinate[k->row[at]];
      if (other == block) continue;
      /* two blocks share a constraint when it is the parent of one and parent or child of the
       * other */
      vin_int up = w->parent[block + b->mb], up_other = w->parent[other + b->mb];
      bool shared = up >= 0 && (up == up_other || w->parent[up] == other + b->mb);
      shared = shared || (up_other >= 0 && w->parent[up_other] == block + b->mb);
      if (!shared) return false;
    }
  }
  return true;
}

vin_status vini_tree_order(vini_object *object, const vini_blocks *b, const vin_sparse *k,
                           vin_int *constraint_order, bool *is_tree) {
  const vin_context *context = &object->context;
  size_t vertices = (size_t)b->mb + (size_t)b->nb;
  walk w = {.b = b};
  w.queue = vini_alloc(context, vertices, sizeof *w.queue);
  w.parent = vini_alloc(context, vertices, sizeof *w.parent);
  vin_status status = VIN_OK;
  *is_tree = false;
  if (w.queue == NULL || w.parent == NULL) {
    status = vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for the ordering of a tree");
    goto done;
  }
  for (size_t v = 0; v < vertices; v++) w.parent[v] = -2;
  bool tree = true;
  for (vin_int start = 0; start < (vin_int)vertices && tree; start++) {
    if (w.parent[start] != -2) continue;
    vin_int first = w.count;
    tree = visit(&w, start);
    if (!tree) break;
    /* again from the far end, so that a chain is one run and not two arms */
    visit_again(&w, first, w.queue[w.count - 1]);
    /* of both ends the root is the one that hangs on something: a correction of the rods there, which
     * carry all the others, has zeros in the whole forward substitution before them */
    const vin_int root = w.queue[first], other = w.queue[w.count - 1];
    if (root >= b->mb && other < b->mb) visit_again(&w, first, other);
  }
  if (tree && couplings_follow_constraints(&w, k)) {
    vin_int count = 0;
    for (vin_int at = w.count - 1; at >= 0; at--) {
      if (w.queue[at] < b->mb) constraint_order[count++] = w.queue[at];
    }
    *is_tree = true;
  }
done:
  vini_free(context, w.queue);
  vini_free(context, w.parent);
  return status;
}
