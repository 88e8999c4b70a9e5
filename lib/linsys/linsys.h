/* linsys - internal side: the backend interface. Only files of this layer see SuiteSparse and
 * METIS. */
#ifndef VINI_LINSYS_H
#define VINI_LINSYS_H

#include "base/base.h"
#include "sparse/sparse.h"
#include "vincula/linsys.h"

/* What a factorisation tells. Unknown: -1. */
typedef struct vini_factor_info {
  int64_t nnz_factor;
  double flops;
  int64_t bytes;
  vin_int negative, zero;
  double rcond;
  double min_pivot_ratio; /* ldlt, cholmod: smallest |d_k| / S_kk, S_kk as in vini_pivots */
} vini_factor_info;

typedef struct vini_backend vini_backend;

/* A factorisation object of one backend. Its first member is the table of its functions.
 *  create:  pattern of `matrix` (storage symmetric-lower or general; values are ignored) is
 * analysed; order (n, or NULL) is the elimination order, honoured by the LDL' backends. factor:
 * values of `matrix` (same object, new values). VIN_SINGULAR: breakdown. solve:   one plain solve,
 * no refinement, in place on x (count columns of n). Only writes to scratch of the backend object.
 *  pivots:  LDL' backends: d[k] and scale[k] of unknown k (original numbering), where scale[k] is
 * the sum of the magnitudes that were added up to d[k] (|A_kk| + sum L_kj^2 |d_j|): |d|/scale near
 *           rounding marks cancellation, i.e. dependence. Returns false when not available. */
typedef struct vini_backend_vtable {
  vin_solver solver;
  vin_status (*factor)(vini_backend *backend, const vin_sparse *matrix);
  vin_status (*solve)(vini_backend *backend, vin_int count, double *x);
  /* with A'; NULL: A is symmetric, always */
  vin_status (*solve_transposed)(vini_backend *backend, vin_int count, double *x);
  /* factor(), then solve() for b and, where it is not NULL, b2, in one pass over the factor; NULL:
   * there is nothing to gain. After a failure b and b2 are spoiled. load (or NULL) is called before each
   * block of the elimination and may bring what that needs; its failure is returned as it is. */
  vin_status (*factor_solve)(vini_backend *backend, const vin_sparse *matrix, double *b, double *b2,
                             vin_status (*load)(void *user, vin_int block), void *user);
  /* The unknowns whose entries and right-hand sides block `block` needs: range[0] .. range[1] - 1 of those
   * below `split`, range[2] .. range[3] - 1 of the others. NULL: factor_solve takes no load. */
  void (*reach)(const vini_backend *backend, vin_int block, vin_int split, vin_int range[4]);
  bool (*pivots)(const vini_backend *backend, double *d, double *scale);
  /* The elimination order (n), equivalent to the caller's. NULL: it is not kept. */
  const vin_int *(*order)(const vini_backend *backend);
  void (*info)(const vini_backend *backend, vini_factor_info *info);
  const char *(*describe)(const vini_backend *backend); /* e.g. "umfpack, symmetric strategy" */
  void (*destroy)(vini_backend *backend);
} vini_backend_vtable;

struct vini_backend {
  const vini_backend_vtable *table;
};

/* Each sets *backend (NULL on failure) and the text in `object` (whose context allocates). */
vin_status vini_umfpack_create(vini_backend **backend, vini_object *object,
                               const vin_sparse *matrix, const vin_int *order);
vin_status vini_klu_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                           const vin_int *order);
vin_status vini_cholmod_create(vini_backend **backend, vini_object *object,
                               const vin_sparse *matrix, const vin_int *order);
vin_status vini_ldlt_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                            const vin_int *order);
/* UMFPACK, or where it is not in the build KLU, or VIN_SOLVER_AUTO: no solver for general matrices */
vin_solver vini_general_solver(void);
/* by solver; VIN_ERR_UNSUPPORTED when not in this build. solver must not be VIN_SOLVER_AUTO */
vin_status vini_backend_create(vini_backend **backend, vini_object *object, vin_solver solver,
                               const vin_sparse *matrix, const vin_int *order);

/* The LDL' of a tree of bodies in the recursive order (a body, its joint, the body that it hangs on), four like
 * bodies of equal height at once: *backend stays NULL where the members (n, by unknowns: those of equal number
 * stand together in the order) are not of few small kinds. A pivot below `threshold` of the terms it
 * comes from makes factor() fail with VIN_SINGULAR; none is dropped. *cost: flops of one factorisation,
 * with those of lanes that have no body. */
vin_status vini_levels_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                              const vin_int *order, const vin_int *member, double threshold,
                              double *cost);
bool vini_is_levels(const vini_backend *backend);

/* ldlt only: pivots of unknown k with droppable[k] != 0 whose |d|/scale is below threshold are
 * dropped in the next factorisations (1/d := 0; the unknown becomes 0 and its row is left out).
 * droppable (n) is borrowed while the backend lives. dropped() gives flags (n) of the present
 * factorisation. */
void vini_ldlt_set_drop(vini_backend *backend, const unsigned char *droppable, double threshold);
const unsigned char *vini_ldlt_dropped(const vini_backend *backend);

/* Columns of a sparse matrix that depend on the others, by a rank-revealing QR (SuiteSparseQR) of its
 * columns, each scaled to length 1: dependent[j] (a.cols) is 1 where column j is within `tolerance` of
 * the span of the columns that are kept, else 0; *rank counts those kept. Rows within a column may
 * come in any order. Deterministic. Slow: fill and operations are those of a Cholesky factorisation
 * of A'A, and SuiteSparseQR allocates through its own hooks. VIN_ERR_UNSUPPORTED: not in this
 * build. */
vin_status vini_dependent_columns(vini_object *object, vin_csc a, double tolerance,
                                  unsigned char *dependent, vin_int *rank);
/* The same QR without the scaling: basis[j] (a.cols) is 1 for *rank columns of which each is further than
 * `distance` from the span of those before it. Fewer than the rank of A when distance is too much to
 * ask for. Rows of about length 1 make the distance a number that means something. */
vin_status vini_basis_columns(vini_object *object, vin_csc a, double distance, unsigned char *basis,
                              vin_int *rank);
bool vini_rank_available(void); /* this build has it */

/* Orderings of an undirected graph (n vertices, neighbours adjacency[start[v] .. start[v+1]-1], no
 * loops, both directions stored). order[k] = k-th vertex. Deterministic. AMD also takes one
 * direction and loops, e.g. the columns of a symmetric-lower matrix as they are. METIS draws from
 * the process's rand(): calls are serialised and leave the caller's sequence alone, but a thread
 * that calls rand() or srand() at the same time can change the order. VIN_ERR_UNSUPPORTED: METIS is
 * not in this build. */
vin_status vini_order_amd(vini_object *object, vin_int n, const vin_int *start,
                          const vin_int *adjacency, vin_int *order);
vin_status vini_order_metis(vini_object *object, vin_int n, const vin_int *start,
                            const vin_int *adjacency, vin_int *order);

/* Fill of LDL' of a symmetric-lower pattern in a given order: entries of L below the diagonal and
 * flops (sum over columns c of c(c+3)); near linear in the entries of A, L is not formed. 64-bit
 * counts. */
vin_status vini_predict_ldlt(vini_object *object, const vin_sparse *matrix, const vin_int *order,
                             int64_t *nnz, double *flops);

#endif
