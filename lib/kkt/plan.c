/* The Schur-type elimination order; see plan.h. */
#include "kkt/plan.h"

#include <string.h>

/* METIS is tried where AMD predicts more work than this per unknown: chains and trees need 20 to
 * 60, a net of 30 x 30 about 900, and METIS is ten times as slow as AMD. */
#define METIS_FLOPS_PER_UNKNOWN 400.0

/* The graph that is ordered: constraint blocks first, then coordinate blocks without
 * constraints. */
typedef struct graph {
  vin_int vertices;
  vin_int *free_vertex; /* nb: vertex of a coordinate block without constraints, or -1 */
  bool *hub;            /* nb */
  bool *late;           /* mb: constraint blocks that come after the hubs */
  int64_t edges;        /* counted, then filled */
  vin_int (*edge)[2];
  vin_int *start, *adjacency;
} graph;

static vin_status no_memory(vini_object *object) {
  return vini_fail(object, VIN_ERR_NO_MEMORY,
                   "no memory for the ordering of the saddle-point system");
}

static void add_edge(graph *g, vin_int u, vin_int v) {
  if (u == v) return;
  if (g->edge != NULL) {
    g->edge[g->edges][0] = u;
    g->edge[g->edges][1] = v;
  }
  g->edges++;
}

/* Vertices that stand for a coordinate block: the constraint blocks that touch it, or itself. */
static vin_int representatives(const graph *g, const vini_blocks *b, vin_int block,
                               const vin_int **list) {
  if (g->free_vertex[block] >= 0) {
    *list = &g->free_vertex[block];
    return 1;
  }
  *list = b->touch + b->touch_start[block];
  return b->touch_start[block + 1] - b->touch_start[block];
}

/* Constraints that share a coordinate block become neighbours when it is eliminated. */
static void add_cliques(graph *g, const vini_blocks *b) {
  for (vin_int block = 0; block < b->nb; block++) {
    if (g->hub[block]) continue;
    for (vin_int x = b->touch_start[block]; x < b->touch_start[block + 1]; x++) {
      for (vin_int y = b->touch_start[block]; y < x; y++) add_edge(g, b->touch[x], b->touch[y]);
    }
  }
}

/* So do those whose coordinate blocks are coupled by H (a massive rod, a spring's stiffness). */
static void add_couplings(graph *g, const vini_blocks *b, const vin_sparse *k) {
  for (vin_int block = 0; block < b->nb; block++) {
    vin_int last = -1;
    for (vin_int l = b->coordinate_start[block]; l < b->coordinate_start[block + 1]; l++) {
      vin_int j = b->coordinate_list[l];
      for (vin_int at = k->start[j]; at < k->start[j + 1] && k->row[at] < b->n; at++) {
        vin_int other = b->of_coordinate[k->row[at]];
        if (other == block || other == last || g->hub[block] || g->hub[other]) continue;
        last = other;
        const vin_int *here, *there;
        vin_int here_count = representatives(g, b, block, &here);
        vin_int there_count = representatives(g, b, other, &there);
        for (vin_int x = 0; x < here_count; x++) {
          for (vin_int y = 0; y < there_count; y++) add_edge(g, here[x], there[y]);
        }
      }
    }
  }
}

/* Edges -> adjacency lists, both directions, ascending and without duplicates: two bucket passes
 * sort by target, then by source, and equal neighbours stand side by side. */
static vin_status compress_edges(graph *g, vini_object *object) {
  const vin_context *context = &object->context;
  size_t twice = 2 * (size_t)g->edges, v = (size_t)g->vertices;
  g->start = vini_alloc(context, v + 1, sizeof(vin_int));
  g->adjacency = vini_alloc(context, twice, sizeof(vin_int));
  vin_int *first = vini_alloc(context, v + 1, sizeof(vin_int));
  vin_int *source = vini_alloc(context, twice, sizeof(vin_int));
  vin_status status = VIN_OK;
  if (g->start == NULL || g->adjacency == NULL || first == NULL || source == NULL) {
    status = no_memory(object);
    goto done;
  }
  for (int64_t e = 0; e < g->edges; e++) {
    first[g->edge[e][0] + 1]++;
    first[g->edge[e][1] + 1]++;
  }
  for (vin_int u = 0; u < g->vertices; u++) first[u + 1] += first[u];
  memcpy(g->start, first, (v + 1) * sizeof *first);
  for (int64_t e = 0; e < g->edges; e++) { /* sorted by target: list of sources of each target */
    source[first[g->edge[e][0]]++] = g->edge[e][1];
    source[first[g->edge[e][1]]++] = g->edge[e][0];
  }
  memcpy(first, g->start, (v + 1) * sizeof *first);
  for (vin_int target = 0; target < g->vertices; target++) {
    for (vin_int l = g->start[target]; l < g->start[target + 1]; l++) {
      vin_int u = source[l], end = first[u];
      if (end > g->start[u] && g->adjacency[end - 1] == target) continue; /* a duplicate */
      g->adjacency[first[u]++] = target;
    }
  }
  vin_int count = 0; /* close the gaps */
  for (vin_int u = 0; u < g->vertices; u++) {
    vin_int begin = g->start[u], end = first[u];
    g->start[u] = count;
    for (vin_int l = begin; l < end; l++) g->adjacency[count++] = g->adjacency[l];
  }
  g->start[g->vertices] = count;
done:
  vini_free(context, first);
  vini_free(context, source);
  return status;
}

static void graph_destroy(graph *g, const vin_context *context) {
  vini_free(context, g->free_vertex);
  vini_free(context, g->hub);
  vini_free(context, g->late);
  vini_free(context, g->edge);
  vini_free(context, g->start);
  vini_free(context, g->adjacency);
}

static vin_status graph_create(graph *g, vini_object *object, const vini_blocks *b,
                               const vin_sparse *k, vin_int *hubs) {
  const vin_context *context = &object->context;
  g->free_vertex = vini_alloc(context, (size_t)b->nb, sizeof *g->free_vertex);
  g->hub = vini_alloc(context, (size_t)b->nb, sizeof *g->hub);
  g->late = vini_alloc(context, (size_t)b->mb, sizeof *g->late);
  if (g->free_vertex == NULL || g->hub == NULL || g->late == NULL) return no_memory(object);
  g->vertices = b->mb;
  for (vin_int block = 0; block < b->nb; block++) {
    bool touched = b->touch_start[block + 1] > b->touch_start[block];
    g->free_vertex[block] = touched ? -1 : g->vertices++;
  }
  VINI_TRY(vini_find_hubs(object, b, k, g->hub, g->late, hubs));
  add_cliques(g, b);
  add_couplings(g, b, k);
  if (g->edges > INT32_MAX / 2) {
    return vini_fail(object, VIN_ERR_TOO_LARGE,
                     "the graph of constraints has %lld edges, at most %d", (long long)g->edges,
                     INT32_MAX / 2);
  }
  g->edge = vini_alloc(context, (size_t)g->edges, sizeof *g->edge);
  if (g->edge == NULL) return no_memory(object);
  g->edges = 0;
  add_cliques(g, b);
  add_couplings(g, b, k);
  return compress_edges(g, object);
}

static void emit_block(const vin_int *start, const vin_int *list, vin_int block, vin_int offset,
                       vin_int *order, vin_int *count) {
  for (vin_int l = start[block]; l < start[block + 1]; l++) order[(*count)++] = offset + list[l];
}

/* Order of vertices -> order of unknowns: coordinates just before the first constraint on them;
 * hubs and what follows them last. free_block[vertex - mb]: the block that a vertex without
 * constraints stands for. */
static void expand(const graph *g, const vini_blocks *b, const vin_int *vertex_order,
                   const vin_int *free_block, bool *emitted, vin_int *order) {
  vin_int count = 0;
  memset(emitted, 0, (size_t)b->nb * sizeof *emitted);
  for (vin_int at = 0; at < g->vertices; at++) {
    vin_int vertex = vertex_order[at];
    if (vertex >= b->mb) {
      vin_int block = free_block[vertex - b->mb];
      emitted[block] = true;
      emit_block(b->coordinate_start, b->coordinate_list, block, 0, order, &count);
      continue;
    }
    if (g->late[vertex]) continue;
    for (vin_int l = b->lean_start[vertex]; l < b->lean_start[vertex + 1]; l++) {
      vin_int block = b->lean[l];
      if (emitted[block] || g->hub[block]) continue;
      emitted[block] = true;
      emit_block(b->coordinate_start, b->coordinate_list, block, 0, order, &count);
    }
    emit_block(b->constraint_start, b->constraint_list, vertex, b->n, order, &count);
  }
  for (vin_int block = 0; block < b->nb; block++) {
    if (!emitted[block])
      emit_block(b->coordinate_start, b->coordinate_list, block, 0, order, &count);
  }
  for (vin_int c = 0; c < b->mb; c++) {
    if (g->late[c]) emit_block(b->constraint_start, b->constraint_list, c, b->n, order, &count);
  }
}

/* Scratch of choose_order. */
typedef struct choice {
  vin_int *vertex_order, *free_block, *order;
  bool *emitted;
  bool needed; /* a prediction, also of the only candidate */
} choice;

/* The order of `choice` becomes that of the plan. */
static void take(vini_plan *plan, choice *c, const char *method) {
  vin_int *before = (vin_int *)plan->order; /* NULL: the first one */
  plan->method = method;
  plan->order = c->order;
  c->order = before;
}

static vin_status predict(vini_plan *plan, vini_object *object, const graph *g,
                          const vini_blocks *b, const vin_sparse *k, choice *c,
                          const char *method) {
  if (c->order == NULL) { /* a second candidate */
    c->order = vini_alloc(&object->context, (size_t)(b->n + b->m), sizeof *c->order);
    if (c->order == NULL) return no_memory(object);
  }
  expand(g, b, c->vertex_order, c->free_block, c->emitted, c->order);
  int64_t nnz = 0;
  double flops = 0;
  VINI_TRY(vini_predict_ldlt(object, k, c->order, &nnz, &flops));
  if (plan->method != NULL && flops >= plan->flops) return VIN_OK;
  plan->nnz = nnz;
  plan->flops = flops;
  take(plan, c, method);
  return VIN_OK;
}

/* AMD, and METIS where AMD predicts much work; the cheaper predicted factorisation wins. */
static vin_status choose_order(vini_plan *plan, vini_object *object, const graph *g,
                               const vini_blocks *b, const vin_sparse *k, choice *c) {
  for (vin_int block = 0; block < b->nb; block++) {
    if (g->free_vertex[block] >= 0) c->free_block[g->free_vertex[block] - b->mb] = block;
  }
  static const char tree_method[] = "tree, leaves to root";
  bool tree = false;
  if (g->vertices == b->mb && plan->hubs == 0) {
    VINI_TRY(vini_tree_order(object, b, k, c->vertex_order, &tree));
    if (tree && !c->needed) {
      expand(g, b, c->vertex_order, c->free_block, c->emitted, c->order);
      plan->nnz = -1;
      take(plan, c, tree_method);
    }
    if (tree) return c->needed ? predict(plan, object, g, b, k, c, tree_method) : VIN_OK;
  }
  VINI_TRY(vini_order_amd(object, g->vertices, g->start, g->adjacency, c->vertex_order));
  VINI_TRY(predict(plan, object, g, b, k, c, "AMD"));
  if (plan->flops < METIS_FLOPS_PER_UNKNOWN * (b->n + b->m)) return VIN_OK;
  vin_status status =
      vini_order_metis(object, g->vertices, g->start, g->adjacency, c->vertex_order);
  if (status == VIN_ERR_UNSUPPORTED) return VIN_OK; /* AMD alone then */
  if (status != VIN_OK) return status;
  return predict(plan, object, g, b, k, c, "METIS");
}

static vin_status order_graph(vini_plan *plan, vini_object *object, const graph *g,
                              const vini_blocks *b, const vin_sparse *k, bool needed) {
  const vin_context *context = &object->context;
  choice c = {
      .vertex_order = vini_alloc(context, (size_t)g->vertices, sizeof(vin_int)),
      .free_block = vini_alloc(context, (size_t)(g->vertices - b->mb), sizeof(vin_int)),
      .order = vini_alloc(context, (size_t)(b->n + b->m), sizeof(vin_int)),
      .emitted = vini_alloc(context, (size_t)b->nb, sizeof(bool)),
      .needed = needed,
  };
  vin_status status;
  if (c.vertex_order == NULL || c.free_block == NULL || c.order == NULL || c.emitted == NULL) {
    status = no_memory(object);
  } else {
    status = choose_order(plan, object, g, b, k, &c);
  }
  vini_free(context, c.vertex_order);
  vini_free(context, c.free_block);
  vini_free(context, c.order);
  vini_free(context, c.emitted);
  return status;
}

/* Does a block have more than two constraints? Without branches the recursive order saves nothing. */
static bool branches(const vini_blocks *b) {
  for (vin_int block = 0; block < b->nb; block++) {
    if (b->touch_start[block + 1] - b->touch_start[block] > 2) return true;
  }
  return false;
}

/* Is there more than one order to choose from? */
static bool compared(const vini_blocks *b, vin_order wanted) {
  return wanted != VIN_ORDER_AUTO || branches(b);
}

void vini_plan_share(vini_plan *plan, const vin_context *context, const vini_backend *ldlt) {
  vini_factor_info info;
  ldlt->table->info(ldlt, &info);
  if (plan->nnz < 0) {
    plan->nnz = info.nnz_factor;
    plan->flops = info.flops;
  }
  if (ldlt->table->order == NULL || plan->shared) return;
  vini_free(context, (void *)plan->order);
  plan->order = ldlt->table->order(ldlt);
  plan->shared = true;
}

void vini_plan_forget_recursive(vini_plan *plan, const vin_context *context) {
  vini_free(context, plan->recursive);
  vini_free(context, plan->member);
  plan->recursive = plan->member = NULL;
}

/* The recursive order, kept where it is legal and cheaper or wanted. */
static vin_status order_recursively(vini_plan *plan, vini_object *object, const vini_blocks *b,
                                    const vin_sparse *k, vin_order wanted) {
  const vin_context *context = &object->context;
  const size_t size = (size_t)(b->n + b->m);
  if (wanted == VIN_ORDER_SCHUR || !compared(b, wanted)) return VIN_OK;
  plan->recursive = vini_alloc(context, size, sizeof *plan->recursive);
  plan->member = vini_alloc(context, size, sizeof *plan->member);
  if (plan->recursive == NULL || plan->member == NULL) return no_memory(object);
  bool legal = false;
  VINI_TRY(vini_recursive_order(object, b, k, plan->recursive, plan->member, &legal));
  if (legal) {
    VINI_TRY(vini_predict_ldlt(object, k, plan->recursive, &plan->recursive_nnz,
                               &plan->recursive_flops));
    legal = wanted == VIN_ORDER_RECURSIVE || plan->recursive_flops < plan->flops;
  }
  if (!legal) vini_plan_forget_recursive(plan, context);
  return VIN_OK;
}

vin_status vini_plan_create(vini_plan *plan, vini_object *object, const vin_sparse *k, vin_int n,
                            vin_int m, const vin_int *coordinate_block,
                            const vin_int *constraint_block, vin_order wanted) {
  memset(plan, 0, sizeof *plan);
  vini_blocks blocks;
  graph g = {0};
  vin_status status =
      vini_blocks_create(&blocks, object, k, n, m, coordinate_block, constraint_block);
  if (status == VIN_OK) status = graph_create(&g, object, &blocks, k, &plan->hubs);
  if (status == VIN_OK) {
    status = order_graph(plan, object, &g, &blocks, k, compared(&blocks, wanted));
  }
  if (status == VIN_OK) status = order_recursively(plan, object, &blocks, k, wanted);
  plan->coordinate_blocks = blocks.nb;
  plan->constraint_blocks = blocks.mb;
  graph_destroy(&g, &object->context);
  vini_blocks_destroy(&blocks, &object->context);
  return status;
}

void vini_plan_destroy(vini_plan *plan, const vin_context *context) {
  if (!plan->shared) vini_free(context, (void *)plan->order);
  plan->order = NULL;
  vini_plan_forget_recursive(plan, context);
}
