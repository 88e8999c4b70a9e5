/* vincula/kkt.h - saddle-point (KKT) systems with a fixed pattern:
 *
 *     [ H   J' ] [ x      ]   [ f ]      H  n x n symmetric (mass, weight, iteration matrix)
 *     [ J  -C  ] [ lambda ] = [ g ]      J  m x n (constraint Jacobian),  C  m x m symmetric
 *
 * Works alone, for a code that owns M and J:
 *     vin_kkt_create(&kkt, NULL, n, m, mass_triplets, jacobian_triplets, NULL);   once
 *     vin_kkt_factor(kkt, mass_values, jacobian_values, NULL);                    each step
 *     vin_kkt_solve(kkt, 1, force, minus_a, acceleration, lambda);                each step
 */
#ifndef VINCULA_KKT_H
#define VINCULA_KKT_H

#include "vincula/linsys.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_kkt vin_kkt;

/** What to do with a constraint row that depends on the others. */
typedef enum vin_redundancy {
  /* when the row is consistent, its multiplier becomes zero (x is unaffected), and it is named and
   * counted; contradictory rows are VIN_SINGULAR */
  VIN_REDUNDANCY_DROP,
  /* VIN_SINGULAR, naming the rows */
  VIN_REDUNDANCY_REFUSE
} vin_redundancy;

/** Whether vin_kkt_update() may keep a factorisation of older values as the matrix of an iteration. */
typedef enum vin_reuse {
  VIN_REUSE_AUTO,   /* while it pays by the predicted cost of a factorisation and the measured
                      contraction; on chains and small nets it never does */
  VIN_REUSE_ALWAYS, /* while it contracts */
  VIN_REUSE_NEVER
} vin_reuse;

/** Order in which a tree of bodies is eliminated by VIN_SOLVER_AUTO and VIN_SOLVER_LDLT. */
typedef enum vin_order {
  VIN_ORDER_AUTO, /* the one of which the analysis predicts less work */
  /* every multiplier after all coordinates it touches: the order in which rank is told, legal for every
   * graph */
  VIN_ORDER_SCHUR,
  /* a body, its joint, the body that it hangs on, as in articulated-body methods, where the graph is a tree
   * in which every joint has a body below it that can bear its rows; else as AUTO. When a pivot is
   * weak or a solution is refused, that factorisation is repeated in the Schur-type order. */
  VIN_ORDER_RECURSIVE
} vin_order;

typedef struct vin_kkt_options {
  size_t struct_size;        /* sizeof(vin_kkt_options) */
  vin_solver solver;         /* default VIN_SOLVER_AUTO */
  vin_redundancy redundancy; /* default VIN_REDUNDANCY_DROP */
  vin_triplets compliance;   /* pattern of C, lower triangle; default empty: C = 0 */
  /* n: block number of each coordinate (a node, a body), any numbers; NULL: found */
  const vin_int *coordinate_block;
  /* m: block number of each constraint (a joint); NULL: found from the pattern */
  const vin_int *constraint_block;
  /* |d| / S_kk below it marks a dependent row, default 1e-11: dependent rows reach <= 1e-13 on the
   * manifold, independent ones stay above 5e-4. With mass ratios of 1e5 and more between coordinates
   * that share constraints dependent rows reach the ratio times 1e-16; where their signs show it, ldlt
   * factorises once more with a threshold above that. Where a dropped row turns out to contradict
   * the others, AUTO lets UMFPACK decide. Where two ratios are so small that one may be noise of the other,
   * a rank-revealing QR decides (in builds with SuiteSparseQR). */
  double pivot_threshold;
  /* largest residual of a force row relative to the sum of the magnitudes of its terms, default
   * 1e-10; the same for constraint rows */
  double force_tolerance;
  double constraint_tolerance;
  /* the same for dropped rows, default 1e-8: with a larger residual the rows contradict each
   * other */
  double contradiction_tolerance;
  vin_reuse reuse;     /* default VIN_REUSE_AUTO */
  int max_refinements; /* default 3, 0..20 */
  /* for messages; NULL: "constraint 7" */
  void (*constraint_name)(void *user, vin_int row, char *text, size_t size);
  void *name_user;
  vin_order order; /* default VIN_ORDER_AUTO */
} vin_kkt_options;
VIN_API vin_kkt_options vin_kkt_options_default(void);

/** What is known of the present factorisation and the last solve. */
typedef struct vin_kkt_info {
  vin_solver solver;       /* that made the present factorisation */
  int64_t nnz_factor;      /* entries of the factor */
  double flops;            /* of one factorisation, predicted (0: unknown) */
  int64_t bytes;           /* held by the whole object */
  vin_int negative_pivots; /* m - dropped for a regular system; -1: unknown (UMFPACK) */
  vin_int dropped;         /* dependent constraint rows */
  double min_pivot_ratio;  /* smallest |d|/S_kk among rows kept; -1: unknown */
  double rcond;            /* UMFPACK's estimate, -1: unknown */
  double force_residual, constraint_residual; /* of the last solve, scaled as the tolerances */
  int refinements;                            /* in the last solve */
} vin_kkt_info;

/** Counters since creation: the three levels of reuse, and what went wrong. */
typedef struct vin_solver_stats {
  int64_t symbolic;       /* analyses (1 per pattern and solver) */
  int64_t numeric;        /* factorisations */
  int64_t solves;         /* right-hand sides solved */
  int64_t refinements;    /* refinement sweeps */
  int64_t fallbacks;      /* factorisations handed to the next solver after a failed verdict */
  int64_t dropped;        /* factorisations in which a dependent row was dropped */
  int64_t rank_revealing; /* rank-revealing QRs of J, the slow way to find dependent rows */
  int64_t kept;           /* updates that kept a factorisation of older values */
  int64_t reordered; /* factorisations in the recursive order repeated in the Schur-type order */
} vin_solver_stats;

/** Analyses the pattern: h is the lower triangle of H, j is J. A diagonal entry that h does not
 *  declare is added (as zero). n >= 1, m >= 0. See vin_linsys_create() for the errors. */
VIN_API vin_status vin_kkt_create(vin_kkt **kkt, const vin_context *context, vin_int n, vin_int m,
                                  vin_triplets h, vin_triplets j, const vin_kkt_options *options);
VIN_API void vin_kkt_destroy(vin_kkt *kkt);
VIN_API const char *vin_kkt_error(const vin_kkt *kkt);

/** Factorises. VIN_SOLVER_LDLT and VIN_SOLVER_CHOLMOD do not pivot and need H positive definite: with a
 *  coordinate without mass they answer VIN_SINGULAR even where constraints hold it; AUTO goes on with
 *  UMFPACK, which takes it. Values in declared order; NULL keeps the ones of the last call (a constant mass
 *  matrix is handed over once; c is NULL when no compliance was declared).
 *  VIN_ERR_BAD_INPUT: NaN or infinite, says where. VIN_SINGULAR: see vin_redundancy; the text names
 *  the rows, also in vin_kkt_dropped(). After a failure solve() returns VIN_ERR_BAD_STATE. */
VIN_API vin_status vin_kkt_factor(vin_kkt *kkt, const double *h, const double *j, const double *c);

/** The same, but may keep the present factorisation (see vin_reuse): solves then iterate with it against
 * the new values until the residual is at rounding, and renew it by themselves where that does not
 * contract. Errors as vin_kkt_factor(). Counted in vin_solver_stats.kept. */
VIN_API vin_status vin_kkt_update(vin_kkt *kkt, const double *h, const double *j, const double *c);

/** Solves for count right-hand sides: f is n x count, g is m x count, column by column; results go
 *  to x (n x count) and lambda (m x count), which may be f and g. Each is refined against the true
 *  matrix and verified; force rows and constraint rows are judged by their own scale.
 *  VIN_SINGULAR: the residual stays too large, a dropped row is contradicted, or an error of the residual's
 *  size moves the solution by more than 1e-5 (H is singular where the constraints leave freedom, or rows
 *  are nearly dependent); x, lambda unchanged. */
VIN_API vin_status vin_kkt_solve(vin_kkt *kkt, vin_int count, const double *f, const double *g,
                                 double *x, double *lambda);

VIN_API vin_kkt_info vin_kkt_get_info(const vin_kkt *kkt);
VIN_API vin_solver_stats vin_kkt_get_stats(const vin_kkt *kkt);

/** Constraint rows dropped (or refused) as dependent in the last factorisation, ascending. */
VIN_API vin_int vin_kkt_dropped(const vin_kkt *kkt, const vin_int **rows);

/** Replaces the multipliers of count solutions (m x count) by those of least Euclidean norm that give
 * the same forces J' lambda: where rows depend on each other, a solution leaves the dropped ones
 * at 0, which is as right, but not symmetric. Nothing to do when no row was dropped. Needs the
 * factorisation that solved. One solve and m numbers of memory per dropped row.
 * VIN_ERR_TOO_LARGE: more than 2^26 numbers. For reports; integrators iterate without it. */
VIN_API vin_status vin_kkt_minimum_norm(vin_kkt *kkt, vin_int count, double *lambda);

/** One paragraph: sizes, blocks, solver, ordering and why, predicted flops and bytes. */
VIN_API const char *vin_kkt_describe(const vin_kkt *kkt);

/** Writes the assembled system (lower triangle of [H J'; J -C], last values) as Matrix Market. */
VIN_API vin_status vin_kkt_write(vin_kkt *kkt, const char *path);

#ifdef __cplusplus
}
#endif
#endif
