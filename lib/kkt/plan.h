/* kkt - the elimination order of a saddle-point matrix (private to the layer). */
#ifndef VINI_KKT_PLAN_H
#define VINI_KKT_PLAN_H

#include "linsys/linsys.h"
#include "sparse/sparse.h"
#include "vincula/kkt.h"

typedef struct vini_plan {
  const vin_int *order; /* n + m: k-th unknown eliminated; unknown n + i is multiplier i */
  bool shared;          /* the order is the solver's own copy */
  vin_int coordinate_blocks, constraint_blocks, hubs;
  const char *method; /* "AMD", "METIS" */
  int64_t nnz;  /* predicted entries of L below the diagonal; -1: left to the solver's analysis */
  double flops; /* predicted, one factorisation */
  /* the recursive order and, by unknowns, what stands together in it: a body and the joint to its parent;
   * NULL: not legal, or dearer than the other */
  vin_int *recursive, *member;
  int64_t recursive_nnz;
  double recursive_flops;
} vini_plan;

/* Schur-type order of K = [H J'; J -C] (symmetric lower, n + m): the graph of constraint blocks
 * is ordered, and each coordinate block is inserted just before the first constraint that
 * touches it. Every leading block is then [M_D J'; J 0] with J of full row rank, so that the
 * LDL' without pivoting exists and has exactly m negative pivots, for any symmetric positive
 * definite M. Coordinate blocks with very many constraints (hubs) come last instead, because
 * they would make the multipliers' part dense, and after them the constraints whose pattern is
 * dependent without the hubs. The others may still be dependent there by their values; the
 * verdict guards that case.
 * Trees get the recursive order besides, where that is legal and `wanted` or predicted to be cheaper.
 * coordinate_block, constraint_block: as in vin_kkt_options. Near linear in the entries. */
vin_status vini_plan_create(vini_plan *plan, vini_object *object, const vin_sparse *k, vin_int n,
                            vin_int m, const vin_int *coordinate_block,
                            const vin_int *constraint_block, vin_order wanted);
/* After the analysis of an LDL' in this order: takes its prediction where there was none, and the
 * equivalent order that it keeps in place of an own one. */
void vini_plan_share(vini_plan *plan, const vin_context *context, const vini_backend *ldlt);
void vini_plan_forget_recursive(vini_plan *plan, const vin_context *context);
void vini_plan_destroy(vini_plan *plan, const vin_context *context);

/* Private to plan.c, hubs.c and blocks.c: which unknowns belong together. */
typedef struct vini_blocks {
  vin_int n, m;
  vin_int nb, mb;                              /* coordinate and constraint blocks */
  vin_int *of_coordinate;                      /* n */
  vin_int *of_constraint;                      /* m */
  vin_int *coordinate_start, *coordinate_list; /* nb + 1, n: coordinates of a block */
  vin_int *constraint_start, *constraint_list; /* mb + 1, m: constraints of a block */
  vin_int *touch_start, *touch; /* nb + 1: constraint blocks on a coordinate block, distinct */
  vin_int *lean_start, *lean;   /* mb + 1: coordinate blocks that a constraint block touches */
} vini_blocks;

vin_status vini_blocks_create(vini_blocks *blocks, vini_object *object, const vin_sparse *k,
                              vin_int n, vin_int m, const vin_int *coordinate_block,
                              const vin_int *constraint_block);
/* coordinates.c: of_coordinate and nb from the patterns of H and J. */
vin_status vini_find_coordinate_blocks(vini_blocks *blocks, vini_object *object,
                                       const vin_sparse *k);
/* First entry of column j of K that belongs to J. */
static inline vin_int vini_jacobian_begin(const vin_sparse *k, vin_int n, vin_int j) {
  vin_int at = k->start[j];
  while (at < k->start[j + 1] && k->row[at] < n) at++;
  return at;
}
/* hubs.c. hub (nb): blocks that come last; late (mb): constraint blocks that come after them. */
vin_status vini_find_hubs(vini_object *object, const vini_blocks *blocks, const vin_sparse *k,
                          bool *hub, bool *late, vin_int *hubs);

/* Chains and trees of blocks: *is_tree, and the constraint blocks (mb) from the leaves to a root,
 * which fills in nothing but what a massive rod brings. Linear time. */
vin_status vini_tree_order(vini_object *object, const vini_blocks *blocks, const vin_sparse *k,
                           vin_int *constraint_order, bool *is_tree);
/* The recursive order of a tree: each coordinate block, the constraint above it, the block above that, so that a
 * block with d constraints costs d, not d^2, and no hub makes anything dense. A multiplier may
 * follow one block alone only where its rows have full rank in the blocks below it; what can be
 * told from the pattern is asked here: each constraint has no more rows than the coordinates below it,
 * and no more than one in each component, its root, has none above it but the ground. *legal. */
vin_status vini_recursive_order(vini_object *object, const vini_blocks *blocks, const vin_sparse *k,
                                vin_int *order, vin_int *member, bool *legal);
void vini_blocks_destroy(vini_blocks *blocks, const vin_context *context);

#endif
