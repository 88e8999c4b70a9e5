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

/* ---- recursive order ------------------------------------------------------------------------------ */

/* The root of the component queue[first ..]: the constraint to the ground, else the block with most
 * constraints, so that the tree is low; -1: two are on the ground, or one constrains nothing. */
static vin_int choose_root(const walk *w, vin_int first) {
  const vini_blocks *b = w->b;
  vin_int ground = -1, block = -1, most = -1;
  for (vin_int at = first; at < w->count; at++) {
    const vin_int vertex = w->queue[at];
    vin_int count;
    neighbours(b, vertex, &count);
    if (vertex >= b->mb) {
      if (count > most) most = count, block = vertex;
    } else if (count < 2) {
      if (ground >= 0 || count == 0) return -1;
      ground = vertex;
    }
  }
  return ground >= 0 ? ground : block;
}

static vin_int block_size(const vini_blocks *b, vin_int block) {
  return b->coordinate_start[block + 1] - b->coordinate_start[block];
}

/* Can the blocks below a constraint bear its rows, as far as their numbers tell? */
static bool borne(const walk *w, vin_int constraint) {
  const vini_blocks *b = w->b;
  vin_int coordinates = 0;
  for (vin_int l = b->lean_start[constraint]; l < b->lean_start[constraint + 1]; l++) {
    if (b->lean[l] + b->mb != w->parent[constraint]) coordinates += block_size(b, b->lean[l]);
  }
  return coordinates >= b->constraint_start[constraint + 1] - b->constraint_start[constraint];
}

/* What is written of the order. */
typedef struct output {
  vin_int *order, *member;
  vin_int count, members;
} output;

static void put_block(output *o, const vini_blocks *b, vin_int block) {
  for (vin_int l = b->coordinate_start[block]; l < b->coordinate_start[block + 1]; l++) {
    o->member[b->coordinate_list[l]] = o->members;
    o->order[o->count++] = b->coordinate_list[l];
  }
}

/* A constraint behind the blocks below it; a single one and the constraint stand together. */
static void put_constraint(output *o, const walk *w, vin_int constraint) {
  const vini_blocks *b = w->b;
  const vin_int up = w->parent[constraint];
  const vin_int below = b->lean_start[constraint + 1] - b->lean_start[constraint] - (up >= 0);
  for (vin_int l = b->lean_start[constraint]; l < b->lean_start[constraint + 1]; l++) {
    if (b->lean[l] + b->mb == up) continue;
    put_block(o, b, b->lean[l]);
    if (below > 1) o->members++;
  }
  for (vin_int l = b->constraint_start[constraint]; l < b->constraint_start[constraint + 1]; l++) {
    o->member[b->n + b->constraint_list[l]] = o->members;
    o->order[o->count++] = b->n + b->constraint_list[l];
  }
  o->members++;
}

/* Children before parents: backwards through the visit. */
static void put_all(output *o, const walk *w) {
  for (vin_int at = w->count - 1; at >= 0; at--) {
    const vin_int vertex = w->queue[at];
    if (vertex < w->b->mb) {
      put_constraint(o, w, vertex);
    } else if (w->parent[vertex] < 0) { /* the others come with the constraint above them */
      put_block(o, w->b, vertex - w->b->mb);
      o->members++;
    }
  }
}

/* Visits every component from its root; false: there is a cycle, or the order is not legal. */
static bool visit_all(walk *w) {
  const vin_int vertices = w->b->mb + w->b->nb;
  for (vin_int v = 0; v < vertices; v++) w->parent[v] = -2;
  for (vin_int start = 0; start < vertices; start++) {
    if (w->parent[start] != -2) continue;
    const vin_int first = w->count;
    if (!visit(w, start)) return false;
    const vin_int root = choose_root(w, first);
    if (root < 0) return false;
    visit_again(w, first, root);
  }
  for (vin_int c = 0; c < w->b->mb; c++) {
    if (!borne(w, c)) return false;
  }
  return true;
}

vin_status vini_recursive_order(vini_object *object, const vini_blocks *b, const vin_sparse *k,
                                vin_int *order, vin_int *member, bool *legal) {
  const vin_context *context = &object->context;
  const size_t vertices = (size_t)b->mb + (size_t)b->nb;
  walk w = {.b = b};
  w.queue = vini_alloc(context, vertices, sizeof *w.queue);
  w.parent = vini_alloc(context, vertices, sizeof *w.parent);
  vin_status status = VIN_OK;
  *legal = false;
  if (w.queue == NULL || w.parent == NULL) {
    status = vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for the ordering of a tree");
  } else if (visit_all(&w) && couplings_follow_constraints(&w, k)) {
    output o = {.order = order, .member = member};
    put_all(&o, &w);
    *legal = true;
  }
  vini_free(context, w.queue);
  vini_free(context, w.parent);
  return status;
}
