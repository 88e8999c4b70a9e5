/* ldlt_tree - elimination tree and column counts of a symmetric pattern in a given order. */
#ifndef VINI_LDLT_TREE_H
#define VINI_LDLT_TREE_H

#include "linsys/linsys.h"

/* Pattern of A in a postordered elimination order, its elimination tree and column counts. */
typedef struct vini_ldlt_tree {
  vin_int n;
  vin_int *order;   /* n: unknown of column k */
  vin_int *inverse; /* n: column of an unknown */
  vin_int *parent;  /* n: of a column in the elimination tree, -1 for a root */
  vin_int *count;   /* n: entries of column k of L, with the diagonal */
  vin_int *start;   /* n + 1: strict lower triangle of the permuted A by columns */
  vin_int *row;     /* start[n], ascending in each column */
  int64_t nnz;      /* entries of L below the diagonal */
  double flops;     /* sum over columns of c (c + 3), c entries below the diagonal */
} vini_ldlt_tree;

/* order: NULL stands for the natural one. Postordering the given order changes neither the entries
 * of L nor the pivots (equivalent reordering), only when they are computed. */
vin_status vini_ldlt_tree_build(vini_object *object, vini_ldlt_tree *tree, const vin_sparse *matrix,
                                const vin_int *order);
void vini_ldlt_tree_clear(const vin_context *context, vini_ldlt_tree *tree);

#endif
