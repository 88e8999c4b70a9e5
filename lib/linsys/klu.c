/* klu - KLU: LU of the block triangular form, left-looking, with partial pivoting; general storage. */
#include "linsys/linsys.h"

#if defined(VINI_HAVE_KLU) && VINI_HAVE_KLU

#include <klu.h>

/* As in the UMFPACK backend: ratio of U's diagonal below which the matrix counts as singular. */
static const double singular_rcond = 1e-15;

typedef struct lu {
  vini_backend base;
  vini_object *object;
  vin_int n;
  klu_common common;
  klu_symbolic *symbolic;
  klu_numeric *numeric;
  double rcond;
} lu;

static vin_status lu_fail(const lu *u, const char *phase) {
  switch (u->common.status) {
  case KLU_SINGULAR:
    return vini_fail(u->object, VIN_SINGULAR, "klu: %s: the matrix is singular (a zero pivot)",
                     phase);
  case KLU_OUT_OF_MEMORY:
    return vini_fail(u->object, VIN_ERR_NO_MEMORY, "klu: %s: out of memory (%d unknowns)", phase,
                     (int)u->n);
  case KLU_TOO_LARGE:
    return vini_fail(u->object, VIN_ERR_TOO_LARGE,
                     "klu: %s: the factors of %d unknowns exceed 32-bit indices", phase, (int)u->n);
  default:
    return vini_fail(u->object, VIN_ERR_INTERNAL, "klu: %s failed with code %d", phase,
                     u->common.status);
  }
}

static void lu_destroy(vini_backend *backend) {
  lu *u = (lu *)backend;
  if (!u) return;
  if (u->numeric) klu_free_numeric(&u->numeric, &u->common);
  if (u->symbolic) klu_free_symbolic(&u->symbolic, &u->common);
  vini_free(&u->object->context, u);
}

static vin_status lu_factor(vini_backend *backend, const vin_sparse *matrix) {
  lu *u = (lu *)backend;
  if (u->numeric) klu_free_numeric(&u->numeric, &u->common);
  u->rcond = -1;
  u->numeric = klu_factor(matrix->start, matrix->row, matrix->value, u->symbolic, &u->common);
  if (!u->numeric) return lu_fail(u, "factorisation");
  if (!klu_rcond(u->symbolic, u->numeric, &u->common)) return lu_fail(u, "verdict");
  u->rcond = u->common.rcond;
  if (u->rcond >= singular_rcond) return VIN_OK;
  klu_free_numeric(&u->numeric, &u->common);
  return vini_fail(u->object, VIN_SINGULAR,
                   "klu: the matrix is singular to rounding: pivot ratio %.1e < %.0e", u->rcond,
                   singular_rcond);
}

static vin_status lu_solve(vini_backend *backend, vin_int count, double *x) {
  lu *u = (lu *)backend;
  if (!u->numeric) return vini_fail(u->object, VIN_ERR_BAD_STATE, "klu: no factorisation");
  if (klu_solve(u->symbolic, u->numeric, u->n, count, x, &u->common)) return VIN_OK;
  return lu_fail(u, "solve");
}

static vin_status lu_solve_transposed(vini_backend *backend, vin_int count, double *x) {
  lu *u = (lu *)backend;
  if (!u->numeric) return vini_fail(u->object, VIN_ERR_BAD_STATE, "klu: no factorisation");
  if (klu_tsolve(u->symbolic, u->numeric, u->n, count, x, &u->common)) return VIN_OK;
  return lu_fail(u, "transposed solve");
}

static bool lu_pivots(const vini_backend *backend, double *d, double *scale) {
  (void)backend, (void)d, (void)scale;
  return false; /* as UMFPACK: row exchanges */
}

static void lu_info(const vini_backend *backend, vini_factor_info *info) {
  const lu *u = (const lu *)backend;
  double entries = u->symbolic->lnz + u->symbolic->unz; /* -1 each where not known */
  if (u->numeric) entries = (double)u->numeric->lnz + u->numeric->unz + u->numeric->nzoff;
  *info = (vini_factor_info){
      .nnz_factor = (int64_t)vini_max(entries, 0),
      .bytes = (int64_t)u->common.memusage + (int64_t)sizeof *u,
      .negative = -1,
      .zero = -1,
      .rcond = u->rcond,
      .min_pivot_ratio = -1,
  };
}

static const char *lu_describe(const vini_backend *backend) {
  (void)backend;
  return "klu";
}

static const vini_backend_vtable lu_table = {
    .solver = VIN_SOLVER_KLU,
    .factor = lu_factor,
    .solve = lu_solve,
    .solve_transposed = lu_solve_transposed,
    .pivots = lu_pivots,
    .info = lu_info,
    .describe = lu_describe,
    .destroy = lu_destroy,
};

vin_status vini_klu_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                           const vin_int *order) {
  (void)order; /* KLU orders the blocks that it finds */
  *backend = NULL;
  lu *u = vini_alloc(&object->context, 1, sizeof *u);
  if (!u) return vini_fail(object, VIN_ERR_NO_MEMORY, "klu: no memory");
  *u = (lu){.base.table = &lu_table, .object = object, .n = matrix->cols, .rcond = -1};
  vin_status status = VIN_OK;
  if (!klu_defaults(&u->common)) status = vini_fail(object, VIN_ERR_INTERNAL, "klu: no defaults");
  if (status == VIN_OK) {
    u->symbolic = klu_analyze(u->n, matrix->start, matrix->row, &u->common);
    if (!u->symbolic) status = lu_fail(u, "analysis");
  }
  if (status == VIN_OK)
    *backend = &u->base;
  else
    lu_destroy(&u->base);
  return status;
}

#else

vin_status vini_klu_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                           const vin_int *order) {
  (void)matrix, (void)order;
  *backend = NULL;
  return vini_fail(object, VIN_ERR_UNSUPPORTED, "KLU is not part of this build");
}

#endif
