/* predict - elimination tree, postorder and column counts of LDL', without computing the pattern of
 * L.
 *
 * Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal. Appl. 11 (1990);
 * Gilbert, Ng, Peyton, An efficient algorithm to compute row and column counts, same journal 15
 * (1994); in the form of Davis, Direct Methods for Sparse Linear Systems (2006), chapter 4. Near
 * linear in the entries of A. */
#include "linsys/ldlt_tree.h"

#include <string.h>

void vini_ldlt_tree_clear(const vin_context *context, vini_ldlt_tree *tree) {
  vini_free(context, tree->order);
  vini_free(context, tree->inverse);
  vini_free(context, tree->parent);
  vini_free(context, tree->count);
  vini_free(context, tree->start);
  vini_free(context, tree->row);
  memset(tree, 0, sizeof *tree);
}

/* tree->order, tree->inverse from the caller's order (NULL: natural). */
static vin_status set_order(vini_object *object, vini_ldlt_tree *tree, const vin_int *order) {
  for (vin_int k = 0; k < tree->n; k++) tree->inverse[k] = -1;
  for (vin_int k = 0; k < tree->n; k++) {
    const vin_int unknown = order ? order[k] : k;
    if (unknown < 0 || unknown >= tree->n || tree->inverse[unknown] >= 0)
      return vini_fail(object, VIN_ERR_BAD_INPUT,
                       "elimination order: entry %d, unknown %d, is out of range or repeated",
                       (int)k, (int)unknown);
    tree->order[k] = unknown;
    tree->inverse[unknown] = k;
  }
  return VIN_OK;
}

/* Turns counts per bucket (in start[b + 1]) into starts. */
static void accumulate(vin_int *start, vin_int n) {
  for (vin_int k = 0; k < n; k++) start[k + 1] += start[k];
}

/* The permuted pattern twice: by rows (row k lists its j < k; upper_start, upper) and, by
 * transposing that, by columns with ascending rows (tree->start, tree->row). next (n) is scratch.
 */
static void permute_pattern(vini_ldlt_tree *tree, const vin_sparse *matrix, vin_int *upper_start,
                            vin_int *upper, vin_int *next) {
  const vin_int n = tree->n;
  memset(upper_start, 0, ((size_t)n + 1) * sizeof *upper_start);
  memset(tree->start, 0, ((size_t)n + 1) * sizeof *tree->start);
  for (vin_int j = 0; j < n; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++) {
      const vin_int a = tree->inverse[j], b = tree->inverse[matrix->row[p]];
      if (a == b) continue;
      upper_start[vini_max_int(a, b) + 1]++;
      tree->start[vini_min_int(a, b) + 1]++;
    }
  accumulate(upper_start, n);
  accumulate(tree->start, n);
  memcpy(next, upper_start, (size_t)n * sizeof *next);
  for (vin_int j = 0; j < n; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++) {
      const vin_int a = tree->inverse[j], b = tree->inverse[matrix->row[p]];
      if (a != b) upper[next[vini_max_int(a, b)]++] = vini_min_int(a, b);
    }
  memcpy(next, tree->start, (size_t)n * sizeof *next);
  for (vin_int k = 0; k < n; k++)
    for (vin_int p = upper_start[k]; p < upper_start[k + 1]; p++) tree->row[next[upper[p]]++] = k;
}

/* parent(j) = min { i > j : L_ij != 0 }: row k makes k the parent of every root reached from its
 * entries; `ancestor` compresses the paths (Liu 1990, algorithm 4.2). */
static void elimination_tree(vini_ldlt_tree *tree, const vin_int *upper_start, const vin_int *upper,
                             vin_int *ancestor) {
  for (vin_int k = 0; k < tree->n; k++) {
    tree->parent[k] = -1;
    ancestor[k] = -1;
    for (vin_int p = upper_start[k]; p < upper_start[k + 1]; p++) {
      vin_int next = -1;
      for (vin_int j = upper[p]; j != -1 && j < k; j = next) {
        next = ancestor[j];
        ancestor[j] = k;
        if (next == -1) tree->parent[j] = k;
      }
    }
  }
}

/* Depth-first postorder, children ascending, so that a postordered tree is left as it is and the
 * leaves of one node (x, y, z of a point) stay together. Returns true when post is the identity. */
static bool postorder(const vini_ldlt_tree *tree, vin_int *post, vin_int *head, vin_int *sibling) {
  const vin_int n = tree->n;
  vin_int roots = -1, done = 0;
  bool identity = true;
  for (vin_int k = 0; k < n; k++) head[k] = -1;
  for (vin_int k = n - 1; k >= 0; k--) {
    vin_int *list = tree->parent[k] < 0 ? &roots : &head[tree->parent[k]];
    sibling[k] = *list;
    *list = k;
  }
  for (vin_int k = roots; k >= 0;) {
    if (head[k] >= 0) { /* go down; the list of k is used up, so that coming back finishes k */
      const vin_int child = head[k];
      head[k] = -1;
      k = child;
      continue;
    }
    identity = identity && k == done;
    post[done++] = k;
    k = sibling[k] >= 0 ? sibling[k] : tree->parent[k];
  }
  return identity;
}

/* Column post[k] becomes column k: order, inverse and parent follow. scratch: 2 n. */
static void relabel(vini_ldlt_tree *tree, const vin_int *post, vin_int *scratch) {
  const vin_int n = tree->n;
  vin_int *rank = scratch, *moved = scratch + n;
  for (vin_int k = 0; k < n; k++) rank[post[k]] = k;
  for (vin_int k = 0; k < n; k++) moved[k] = tree->order[post[k]];
  memcpy(tree->order, moved, (size_t)n * sizeof *moved);
  for (vin_int k = 0; k < n; k++) tree->inverse[tree->order[k]] = k;
  for (vin_int k = 0; k < n; k++) {
    const vin_int up = tree->parent[post[k]];
    moved[k] = up < 0 ? -1 : rank[up];
  }
  memcpy(tree->parent, moved, (size_t)n * sizeof *moved);
}

/* In the row subtree of i, is j a leaf? NOT_A_LEAF; FIRST_LEAF; otherwise the least common ancestor
 * of j and the leaf before it. first, maxfirst, prevleaf, ancestor: Davis (2006), figure 4.9. */
enum { NOT_A_LEAF = -1, FIRST_LEAF = -2 };
static vin_int row_leaf(vin_int i, vin_int j, const vin_int *first, vin_int *maxfirst,
                        vin_int *prevleaf, vin_int *ancestor) {
  if (first[j] <= maxfirst[i]) return NOT_A_LEAF;
  const vin_int before = prevleaf[i];
  maxfirst[i] = first[j];
  prevleaf[i] = j;
  if (before == -1) return FIRST_LEAF;
  vin_int q = before;
  while (q != ancestor[q]) q = ancestor[q];
  for (vin_int s = before, up; s != q; s = up) {
    up = ancestor[s];
    ancestor[s] = q;
  }
  return q;
}

/* Column counts of a postordered tree. count holds the differences delta first: a column gains one
 * for each row subtree it is a leaf of, an overlap is taken off at the common ancestor; summing up
 * the tree gives the counts. scratch: 4 n. */
static void column_counts(vini_ldlt_tree *tree, vin_int *scratch) {
  const vin_int n = tree->n;
  vin_int *first = scratch, *maxfirst = first + n, *prevleaf = maxfirst + n,
          *ancestor = prevleaf + n;
  vin_int *count = tree->count;
  for (vin_int k = 0; k < n; k++) {
    first[k] = maxfirst[k] = prevleaf[k] = -1;
    ancestor[k] = k;
  }
  for (vin_int k = 0; k < n; k++) {
    count[k] = first[k] < 0; /* a leaf of the tree counts its own diagonal */
    for (vin_int j = k; j >= 0 && first[j] < 0; j = tree->parent[j]) first[j] = k;
  }
  for (vin_int j = 0; j < n; j++) {
    const vin_int up = tree->parent[j];
    if (up >= 0) count[up]--;
    for (vin_int p = tree->start[j]; p < tree->start[j + 1]; p++) {
      const vin_int q = row_leaf(tree->row[p], j, first, maxfirst, prevleaf, ancestor);
      if (q == NOT_A_LEAF) continue;
      count[j]++;
      if (q != FIRST_LEAF) count[q]--;
    }
    if (up >= 0) ancestor[j] = up;
  }
  for (vin_int j = 0; j < n; j++) {
    if (tree->parent[j] >= 0) count[tree->parent[j]] += count[j];
    const double c = (double)(count[j] - 1);
    tree->nnz += count[j] - 1;
    tree->flops += c * (c + 3.0);
  }
}

/* Everything after the arrays are there. upper: entries of the strict triangle; work: 5 n + 1. */
static vin_status analyse(vini_object *object, vini_ldlt_tree *tree, const vin_sparse *matrix,
                          const vin_int *order, vin_int *upper, vin_int *work) {
  const vin_int n = tree->n;
  vin_int *upper_start = work, *a = work + n + 1, *b = a + n, *post = b + n;
  VINI_TRY(set_order(object, tree, order));
  permute_pattern(tree, matrix, upper_start, upper, a);
  elimination_tree(tree, upper_start, upper, a);
  if (!postorder(tree, post, a, b)) {
    relabel(tree, post, a);
    permute_pattern(tree, matrix, upper_start, upper, a);
  }
  column_counts(tree, a);
  return VIN_OK;
}

vin_status vini_ldlt_tree_build(vini_object *object, vini_ldlt_tree *tree, const vin_sparse *matrix,
                                const vin_int *order) {
  const vin_context *context = &object->context;
  memset(tree, 0, sizeof *tree);
  if (matrix->storage != VIN_STORAGE_SYMMETRIC_LOWER)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "ldlt: the matrix must be in symmetric storage");
  const size_t n = (size_t)matrix->rows, entries = (size_t)matrix->start[matrix->cols];
  tree->n = matrix->rows;
  tree->order = vini_alloc(context, n, sizeof *tree->order);
  tree->inverse = vini_alloc(context, n, sizeof *tree->inverse);
  tree->parent = vini_alloc(context, n, sizeof *tree->parent);
  tree->count = vini_alloc(context, n, sizeof *tree->count);
  tree->start = vini_alloc(context, n + 1, sizeof *tree->start);
  tree->row = vini_alloc(context, entries, sizeof *tree->row);
  vin_int *upper = vini_alloc(context, entries, sizeof *upper);
  vin_int *work = vini_alloc(context, 5 * n + 1, sizeof *work);
  vin_status status;
  if (tree->order && tree->inverse && tree->parent && tree->count && tree->start && tree->row &&
      upper && work)
    status = analyse(object, tree, matrix, order, upper, work);
  else
    status = vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory to analyse %d unknowns", (int)n);
  vini_free(context, upper);
  vini_free(context, work);
  if (status != VIN_OK) vini_ldlt_tree_clear(context, tree);
  return status;
}

vin_status vini_predict_ldlt(vini_object *object, const vin_sparse *matrix, const vin_int *order,
                             int64_t *nnz, double *flops) {
  vini_ldlt_tree tree;
  *nnz = 0;
  *flops = 0.0;
  VINI_TRY(vini_ldlt_tree_build(object, &tree, matrix, order));
  *nnz = tree.nnz;
  *flops = tree.flops;
  vini_ldlt_tree_clear(&object->context, &tree);
  return VIN_OK;
}
