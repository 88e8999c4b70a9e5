/* vincula/linsys.h - one sparse linear system: analyse once, factor for each set of values, solve.
 */
#ifndef VINCULA_LINSYS_H
#define VINCULA_LINSYS_H

#include "vincula/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which factorisation. vin_solver_name() and vin_solver_from_name() use the words in brackets. */
typedef enum vin_solver {
  VIN_SOLVER_AUTO, /* [auto] ldlt for symmetric systems, umfpack for general ones and as fallback; klu
                      in a build without it */
  VIN_SOLVER_LDLT,    /* [ldlt] the library's own static-order LDL' without pivoting */
  VIN_SOLVER_CHOLMOD, /* [cholmod-ldlt] CHOLMOD's simplicial LDL' in the same order (LGPL) */
  VIN_SOLVER_UMFPACK, /* [umfpack] unsymmetric multifrontal LU with pivoting (GPL); the reference */
  VIN_SOLVER_KLU /* [klu] left-looking LU of block triangular form with pivoting (LGPL): general ones
                    where UMFPACK is not in the build */
} vin_solver;

VIN_API const char *vin_solver_name(vin_solver solver);
/** VIN_ERR_BAD_INPUT for an unknown word; *solver is then VIN_SOLVER_AUTO. */
VIN_API vin_status vin_solver_from_name(vin_solver *solver, const char *name);
/** 1 when this build has the solver, else 0. */
VIN_API int vin_solver_available(vin_solver solver);

typedef struct vin_linsys vin_linsys;

typedef struct vin_linsys_options {
  size_t struct_size;   /* sizeof(vin_linsys_options) */
  vin_solver solver;    /* default VIN_SOLVER_AUTO */
  vin_storage storage;  /* default VIN_STORAGE_GENERAL */
  const vin_int *order; /* n: order[k] is the k-th unknown eliminated; NULL: chosen (LDL' only);
                           copied */
  double residual_tolerance; /* default 1e-12: solve() refuses a larger |b-Ax| / (|A||x|+|b|),
                                inf-norm */
  int max_refinements;       /* default 3 */
} vin_linsys_options;
VIN_API vin_linsys_options vin_linsys_options_default(void);

typedef struct vin_linsys_info {
  vin_solver solver; /* the one that made the present factorisation */
  int64_t
      nnz_factor; /* entries of L below the diagonal (LDL') or L + U; before factor() predicted */
  double flops;   /* of one factorisation, predicted by the analysis (0: unknown) */
  int64_t bytes;  /* held by the factorisation */
  vin_int negative, zero; /* pivots of the LDL' (inertia); -1: unknown (UMFPACK) */
  double rcond;    /* UMFPACK's and KLU's estimate min|U_ii|/max|U_ii|; LDL': min|d_i|/max|d_i| */
  double residual; /* of the last solve, scaled as residual_tolerance */
  int refinements; /* in the last solve */
  int64_t symbolic_count, numeric_count, solve_count, refinement_count; /* since creation */
} vin_linsys_info;

/** Analyses an n x n pattern. The solver is chosen here; the time is spent here.
 *  Errors: VIN_ERR_BAD_INPUT (bad triplet, order is no permutation, LDL' of general storage),
 *  VIN_ERR_UNSUPPORTED (solver not in this build), VIN_ERR_TOO_LARGE (entries of the factor exceed
 *  32-bit indices; found before they are allocated), VIN_ERR_NO_MEMORY. */
VIN_API vin_status vin_linsys_create(vin_linsys **linsys, const vin_context *context, vin_int n,
                                     vin_triplets pattern, const vin_linsys_options *options);
VIN_API void vin_linsys_destroy(vin_linsys *linsys);
VIN_API const char *vin_linsys_error(const vin_linsys *linsys);

/** Factorises values given in declared order. VIN_ERR_BAD_INPUT: a value is NaN or infinite; the
 *  factorisation before stays in force. After any other failure solve() returns VIN_ERR_BAD_STATE.
 *  VIN_SINGULAR: no factorisation exists. With VIN_SOLVER_AUTO an LDL' that breaks down is followed
 * by UMFPACK (logged), whose analysis, the first time, allocates. */
VIN_API vin_status vin_linsys_factor(vin_linsys *linsys, const double *values);

/** Solves A x = b for count right-hand sides (columns of length n, x may be b), refined against A.
 *  x is unchanged after a failure. VIN_SINGULAR: the residual stays above the tolerance, also with
 *  UMFPACK when the solver is AUTO. VIN_ERR_BAD_INPUT: b is NaN or infinite. Allocates only when
 * count is larger than ever before (1 is provided for). */
VIN_API vin_status vin_linsys_solve(vin_linsys *linsys, vin_int count, const double *b, double *x);

/** Solves A' x = b with the same factorisation; as vin_linsys_solve() in all else. Symmetric storage: the
 *  same. Example, the 1-norm of A^-1 from below: solve A x = b, xi = sign(x), solve A' z = xi. */
VIN_API vin_status vin_linsys_solve_transposed(vin_linsys *linsys, vin_int count, const double *b,
                                               double *x);

/** Before factor(): what the analysis predicts. Of NULL or a failed handle: zeros, and -1 where
 *  unknown. */
VIN_API vin_linsys_info vin_linsys_get_info(const vin_linsys *linsys);

#ifdef __cplusplus
}
#endif
#endif
