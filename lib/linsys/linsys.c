/* linsys - the public linear system: chooses the solver, refines, verifies, falls back. */
#include "linsys/linsys.h"

#include <math.h>
#include <string.h>

/* One refinement sweep more is worth its cost while the residual is above this; a backward stable
 * solve reaches 1e-16 times a small factor. */
static const double refine_target = 1e-15;
/* A sweep that does not shrink the residual this much has met rounding or a bad factor. */
static const double refine_progress = 0.5;

struct vin_linsys {
  vini_object object;
  vin_int n;
  vin_solver wanted;
  double residual_tolerance;
  int max_refinements;
  vin_sparse *matrix;
  vini_backend *first;    /* chosen at creation */
  vini_backend *fallback; /* UMFPACK after an LDL' that failed, created when first needed */
  vini_backend *active;   /* the one with a valid factorisation; NULL: none */
  double matrix_norm;     /* |A|_inf of the present values */
  double transposed_norm; /* |A'|_inf, -1: not known */
  bool transposed;        /* the system of the present solve is A' x = b */
  vin_int columns;        /* right-hand sides that `solution` holds */
  double *solution;       /* n x columns */
  double *residual;       /* n */
  double *trial;          /* n: the iterate before a sweep, kept in case the sweep makes it worse */
  double last_residual;
  int last_refinements;
  int64_t symbolic_count, numeric_count, solve_count, refinement_count;
};

static const struct {
  vin_solver solver;
  const char *name;
} solver_names[] = {
    {VIN_SOLVER_AUTO, "auto"},
    {VIN_SOLVER_LDLT, "ldlt"},
    {VIN_SOLVER_CHOLMOD, "cholmod-ldlt"},
    {VIN_SOLVER_UMFPACK, "umfpack"},
    {VIN_SOLVER_KLU, "klu"},
};
enum { SOLVER_COUNT = sizeof solver_names / sizeof *solver_names };

const char *vin_solver_name(vin_solver solver) {
  for (size_t k = 0; k < SOLVER_COUNT; k++)
    if (solver_names[k].solver == solver) return solver_names[k].name;
  return "unknown";
}

vin_status vin_solver_from_name(vin_solver *solver, const char *name) {
  if (!solver) return VIN_ERR_BAD_INPUT;
  *solver = VIN_SOLVER_AUTO;
  if (!name) return VIN_ERR_BAD_INPUT;
  for (size_t k = 0; k < SOLVER_COUNT; k++)
    if (strcmp(solver_names[k].name, name) == 0) {
      *solver = solver_names[k].solver;
      return VIN_OK;
    }
  return VIN_ERR_BAD_INPUT;
}

int vin_solver_available(vin_solver solver) {
  switch (solver) {
  case VIN_SOLVER_AUTO:
  case VIN_SOLVER_LDLT:
    return 1;
  case VIN_SOLVER_CHOLMOD:
#if defined(VINI_HAVE_CHOLMOD) && VINI_HAVE_CHOLMOD
    return 1;
#else
    return 0;
#endif
  case VIN_SOLVER_UMFPACK:
#if defined(VINI_HAVE_UMFPACK) && VINI_HAVE_UMFPACK
    return 1;
#else
    return 0;
#endif
  case VIN_SOLVER_KLU:
#if defined(VINI_HAVE_KLU) && VINI_HAVE_KLU
    return 1;
#else
    return 0;
#endif
  }
  return 0;
}

vin_solver vini_general_solver(void) {
  if (vin_solver_available(VIN_SOLVER_UMFPACK)) return VIN_SOLVER_UMFPACK;
  return vin_solver_available(VIN_SOLVER_KLU) ? VIN_SOLVER_KLU : VIN_SOLVER_AUTO;
}

vin_status vini_backend_create(vini_backend **backend, vini_object *object, vin_solver solver,
                               const vin_sparse *matrix, const vin_int *order) {
  *backend = NULL;
  switch (solver) {
  case VIN_SOLVER_LDLT:
    return vini_ldlt_create(backend, object, matrix, order);
  case VIN_SOLVER_CHOLMOD:
    return vini_cholmod_create(backend, object, matrix, order);
  case VIN_SOLVER_UMFPACK:
    return vini_umfpack_create(backend, object, matrix, order);
  case VIN_SOLVER_KLU:
    return vini_klu_create(backend, object, matrix, order);
  case VIN_SOLVER_AUTO:
    break;
  }
  return vini_fail(object, VIN_ERR_BAD_INPUT, "solver %d does not exist", (int)solver);
}

vin_linsys_options vin_linsys_options_default(void) {
  return (vin_linsys_options){
      .struct_size = sizeof(vin_linsys_options),
      .solver = VIN_SOLVER_AUTO,
      .storage = VIN_STORAGE_GENERAL,
      .residual_tolerance = 1e-12,
      .max_refinements = 3,
  };
}

static vin_status linsys_check_order(vin_linsys *s, const vin_int *order) {
  if (!order) return VIN_OK;
  unsigned char *seen = vini_alloc(&s->object.context, (size_t)s->n, 1);
  if (!seen) return vini_fail(&s->object, VIN_ERR_NO_MEMORY, "linsys: no memory");
  vin_status status = VIN_OK;
  for (vin_int k = 0; k < s->n && status == VIN_OK; k++) {
    vin_int v = order[k];
    if (v < 0 || v >= s->n || seen[v])
      status = vini_fail(&s->object, VIN_ERR_BAD_INPUT,
                         "order is not a permutation of 0..%d: order[%d] = %d %s", (int)s->n - 1,
                         (int)k, (int)v, v < 0 || v >= s->n ? "is out of range" : "occurs twice");
    else
      seen[v] = 1;
  }
  vini_free(&s->object.context, seen);
  return status;
}

static vin_status linsys_check_options(vin_linsys *s, vin_linsys_options *options,
                                       const vin_linsys_options *given) {
  vini_object *object = &s->object;
  *options = vin_linsys_options_default();
  if (!vini_options_copy(options, sizeof *options, given))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "options: struct_size is not sizeof(vin_linsys_options); start from "
                     "vin_linsys_options_default()");
  if (s->n < 1) return vini_fail(object, VIN_ERR_BAD_INPUT, "n = %d, must be 1 or more", (int)s->n);
  bool symmetric = options->storage == VIN_STORAGE_SYMMETRIC_LOWER;
  if (!symmetric && options->storage != VIN_STORAGE_GENERAL)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "options.storage = %d does not exist",
                     (int)options->storage);
  if (!(options->residual_tolerance > 0))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "options.residual_tolerance = %g, must be > 0",
                     options->residual_tolerance);
  if (options->max_refinements < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "options.max_refinements = %d, must be >= 0",
                     options->max_refinements);
  if (strcmp(vin_solver_name(options->solver), "unknown") == 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "options.solver = %d does not exist",
                     (int)options->solver);
  if (!symmetric && (options->solver == VIN_SOLVER_LDLT || options->solver == VIN_SOLVER_CHOLMOD))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "solver %s needs a symmetric matrix: storage is general",
                     vin_solver_name(options->solver));
  if (symmetric && options->solver == VIN_SOLVER_KLU)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "solver klu is for general storage");
  return linsys_check_order(s, options->order);
}

static vin_status linsys_grow(vin_linsys *s, vin_int count) {
  if (count <= s->columns) return VIN_OK;
  const vin_context *context = &s->object.context;
  double *solution = NULL;
  if ((size_t)count <= SIZE_MAX / (size_t)s->n)
    solution = vini_alloc(context, (size_t)s->n * (size_t)count, sizeof *solution);
  if (!solution)
    return vini_fail(&s->object, VIN_ERR_NO_MEMORY, "no memory for %d right-hand sides of %d",
                     (int)count, (int)s->n);
  vini_free(context, s->solution);
  s->solution = solution;
  s->columns = count;
  return VIN_OK;
}

static vin_status linsys_build(vin_linsys *s, vin_triplets pattern,
                               const vin_linsys_options *given) {
  vin_linsys_options options;
  VINI_TRY(linsys_check_options(s, &options, given));
  vini_object *object = &s->object;
  s->wanted = options.solver;
  s->residual_tolerance = options.residual_tolerance;
  s->max_refinements = options.max_refinements;
  vin_status status =
      vin_sparse_create(&s->matrix, &object->context, s->n, s->n, pattern, options.storage);
  if (status != VIN_OK)
    return vini_fail(object, status, "%s", s->matrix ? vin_sparse_error(s->matrix) : "no memory");
  s->residual = vini_alloc(&object->context, (size_t)s->n, sizeof *s->residual);
  s->trial = vini_alloc(&object->context, (size_t)s->n, sizeof *s->trial);
  if (!s->residual || !s->trial)
    return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for %d unknowns", (int)s->n);
  VINI_TRY(linsys_grow(s, 1));
  vin_solver solver = s->wanted;
  if (solver == VIN_SOLVER_AUTO)
    solver = options.storage == VIN_STORAGE_GENERAL ? vini_general_solver() : VIN_SOLVER_LDLT;
  if (solver == VIN_SOLVER_AUTO)
    return vini_fail(object, VIN_ERR_UNSUPPORTED,
                     "this build has no solver for general matrices: configure it with "
                     "VINCULA_UMFPACK=ON or VINCULA_KLU=ON");
  VINI_TRY(vini_backend_create(&s->first, object, solver, s->matrix, options.order));
  s->symbolic_count++;
  return VIN_OK;
}

vin_status vin_linsys_create(vin_linsys **linsys, const vin_context *context, vin_int n,
                             vin_triplets pattern, const vin_linsys_options *options) {
  VINI_TRY(vini_object_begin((void **)linsys, context, sizeof **linsys));
  (*linsys)->n = n;
  (*linsys)->object.created = VIN_ERR_BAD_STATE;
  vin_status status = linsys_build(*linsys, pattern, options);
  if (status == VIN_OK) (*linsys)->object.created = VIN_OK;
  return status;
}

void vin_linsys_destroy(vin_linsys *linsys) {
  if (!linsys) return;
  const vin_context *context = &linsys->object.context;
  if (linsys->first) linsys->first->table->destroy(linsys->first);
  if (linsys->fallback) linsys->fallback->table->destroy(linsys->fallback);
  vin_sparse_destroy(linsys->matrix);
  vini_free(context, linsys->solution);
  vini_free(context, linsys->residual);
  vini_free(context, linsys->trial);
  vini_object_destroy(&linsys->object);
}

const char *vin_linsys_error(const vin_linsys *linsys) {
  return vini_text(linsys ? &linsys->object : NULL);
}

/* Factorises the present values with one backend and makes it the active one. */
static vin_status linsys_factor_with(vin_linsys *s, vini_backend *backend) {
  s->numeric_count++;
  VINI_TRY(backend->table->factor(backend, s->matrix));
  s->active = backend;
  return VIN_OK;
}

/* AUTO on a symmetric matrix has a second solver, when UMFPACK is in the build. */
static bool linsys_may_fall_back(const vin_linsys *s) {
  bool already = s->active && s->active == s->fallback;
  return s->wanted == VIN_SOLVER_AUTO && s->matrix->storage != VIN_STORAGE_GENERAL && !already &&
         vin_solver_available(VIN_SOLVER_UMFPACK);
}

/* Hands the present values to UMFPACK. The text in the object says what went wrong before. */
static vin_status linsys_fall_back(vin_linsys *s) {
  vini_log(&s->object, VIN_LOG_WARNING, "%s; trying umfpack", vini_text(&s->object));
  s->active = NULL;
  if (!s->fallback) {
    VINI_TRY(vini_backend_create(&s->fallback, &s->object, VIN_SOLVER_UMFPACK, s->matrix, NULL));
    s->symbolic_count++;
  }
  return linsys_factor_with(s, s->fallback);
}

static double linsys_norm(vin_linsys *s, bool transposed) {
  for (vin_int i = 0; i < s->n; i++) s->trial[i] = 1, s->residual[i] = 0;
  if (transposed)
    vini_sparse_abs_multiply_transposed(s->matrix, s->trial, s->residual);
  else
    vini_sparse_abs_multiply(s->matrix, s->trial, s->residual);
  return vini_max_abs(s->residual, s->n);
}

vin_status vin_linsys_factor(vin_linsys *linsys, const double *values) {
  VINI_TRY(vini_ready(linsys ? &linsys->object : NULL));
  vin_linsys *s = linsys;
  if (!values && s->matrix->count > 0)
    return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "factor: values is NULL");
  vin_status status = vin_sparse_set_values(s->matrix, values);
  if (status != VIN_OK) return vini_fail(&s->object, status, "%s", vin_sparse_error(s->matrix));
  s->active = NULL;
  s->matrix_norm = linsys_norm(s, false);
  s->transposed_norm = -1;
  if (!isfinite(s->matrix_norm))
    return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "factor: a row of the matrix overflows");
  status = linsys_factor_with(s, s->first);
  if (status == VIN_SINGULAR && linsys_may_fall_back(s)) status = linsys_fall_back(s);
  return status;
}

/* |b - A x| / (|A| |x| + |b|) in the maximum norm; leaves b - A x in s->residual. */
static double linsys_residual(vin_linsys *s, const double *b, const double *x) {
  memcpy(s->residual, b, (size_t)s->n * sizeof *b);
  if (s->transposed)
    vin_sparse_multiply_transposed(s->matrix, -1, x, 1, s->residual);
  else
    vin_sparse_multiply(s->matrix, -1, x, 1, s->residual);
  double norm = s->transposed ? s->transposed_norm : s->matrix_norm;
  double scale = norm * vini_max_abs(x, s->n) + vini_max_abs(b, s->n);
  double size = vini_max_abs(s->residual, s->n);
  return size == 0 ? 0 : size / scale; /* NaN when x is not finite: no comparison accepts it */
}

static vin_status linsys_plain_solve(vin_linsys *s, vin_int count, double *x) {
  const vini_backend_vtable *table = s->active->table;
  if (s->transposed && table->solve_transposed) return table->solve_transposed(s->active, count, x);
  return table->solve(s->active, count, x);
}

/* Refines one column against the true matrix as long as that helps. */
static vin_status linsys_refine(vin_linsys *s, const double *b, double *x) {
  double residual = linsys_residual(s, b, x);
  s->last_refinements = 0;
  while (!(residual <= refine_target) && s->last_refinements < s->max_refinements) {
    size_t bytes = (size_t)s->n * sizeof *x;
    memcpy(s->trial, x, bytes);
    VINI_TRY(linsys_plain_solve(s, 1, s->residual));
    for (vin_int i = 0; i < s->n; i++) x[i] += s->residual[i];
    s->last_refinements++;
    s->refinement_count++;
    double before = residual;
    residual = linsys_residual(s, b, x);
    if (!(residual < before)) memcpy(x, s->trial, bytes), residual = before;
    if (!(residual <= refine_progress * before)) break;
  }
  s->last_residual = residual;
  if (residual <= s->residual_tolerance) return VIN_OK;
  return vini_fail(&s->object, VIN_SINGULAR,
                   "%s: the residual is %.1e after %d refinements, tolerance %.1e: the matrix is "
                   "singular or nearly so",
                   vin_solver_name(s->active->table->solver), residual, s->last_refinements,
                   s->residual_tolerance);
}

/* Solves all columns into s->solution with the active factorisation. */
static vin_status linsys_solve_all(vin_linsys *s, vin_int count, const double *b) {
  size_t n = (size_t)s->n;
  memcpy(s->solution, b, n * (size_t)count * sizeof *b);
  VINI_TRY(linsys_plain_solve(s, count, s->solution));
  for (size_t c = 0; c < (size_t)count; c++)
    VINI_TRY(linsys_refine(s, b + c * n, s->solution + c * n));
  return VIN_OK;
}

static vin_status linsys_solve(vin_linsys *s, vin_int count, const double *b, double *x) {
  if (count < 0) return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "solve: count = %d", (int)count);
  if (!s->active)
    return vini_fail(&s->object, VIN_ERR_BAD_STATE,
                     "solve: there is no factorisation; vin_linsys_factor() must succeed first");
  if (count == 0) return VIN_OK;
  if (!b || !x) return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "solve: %s is NULL", b ? "x" : "b");
  int64_t wrong = vini_first_nonfinite(b, (int64_t)s->n * count);
  if (wrong >= 0)
    return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "solve: row %lld of right-hand side %lld is %g",
                     (long long)(wrong % s->n), (long long)(wrong / s->n), b[wrong]);
  VINI_TRY(linsys_grow(s, count));
  vin_status status = linsys_solve_all(s, count, b);
  if (status == VIN_SINGULAR && linsys_may_fall_back(s)) {
    status = linsys_fall_back(s);
    if (status == VIN_OK) status = linsys_solve_all(s, count, b);
  }
  if (status != VIN_OK) return status;
  s->solve_count += count;
  memcpy(x, s->solution, (size_t)s->n * (size_t)count * sizeof *x);
  return VIN_OK;
}

vin_status vin_linsys_solve(vin_linsys *linsys, vin_int count, const double *b, double *x) {
  VINI_TRY(vini_ready(linsys ? &linsys->object : NULL));
  linsys->transposed = false;
  return linsys_solve(linsys, count, b, x);
}

vin_status vin_linsys_solve_transposed(vin_linsys *linsys, vin_int count, const double *b,
                                       double *x) {
  VINI_TRY(vini_ready(linsys ? &linsys->object : NULL));
  vin_linsys *s = linsys;
  s->transposed = s->matrix->storage == VIN_STORAGE_GENERAL;
  if (s->transposed && s->active && s->transposed_norm < 0)
    s->transposed_norm = linsys_norm(s, true);
  if (s->transposed && s->active && !isfinite(s->transposed_norm))
    return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "solve: a column of the matrix overflows");
  return linsys_solve(s, count, b, x);
}

vin_linsys_info vin_linsys_get_info(const vin_linsys *linsys) {
  vin_linsys_info info = {.negative = -1, .zero = -1, .rcond = -1};
  if (!linsys || !linsys->first) return info;
  const vini_backend *backend = linsys->active ? linsys->active : linsys->first;
  vini_factor_info factor;
  backend->table->info(backend, &factor);
  info.solver = backend->table->solver;
  info.nnz_factor = factor.nnz_factor;
  info.flops = factor.flops;
  info.bytes = factor.bytes;
  info.negative = factor.negative;
  info.zero = factor.zero;
  info.rcond = factor.rcond;
  info.residual = linsys->last_residual;
  info.refinements = linsys->last_refinements;
  info.symbolic_count = linsys->symbolic_count;
  info.numeric_count = linsys->numeric_count;
  info.solve_count = linsys->solve_count;
  info.refinement_count = linsys->refinement_count;
  return info;
}
