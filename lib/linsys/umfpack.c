/* umfpack - the reference backend: UMFPACK's unsymmetric multifrontal LU with pivoting. */
#include "linsys/linsys.h"

#if defined(VINI_HAVE_UMFPACK) && VINI_HAVE_UMFPACK

#include <string.h>
#include <umfpack.h>

/* Below this ratio of U's diagonal the matrix counts as singular. UMFPACK scales rows first, so
 * mass ratios of 1e10 and rods of 1e-8 m still give 1e-11; dependent constraint rows give 0 to
 * 3e-17 (point chains of 100 and 400 links, both strategies). */
static const double singular_rcond = 1e-15;

/* The symmetric strategy walks through all of R (A Q = QR) during its analysis, 1.6 to 4e9 entries
 * a second, however few of them it keeps: a hinge chain of N bodies has 30 N^2 of them in AMD order
 * (0.17 s at N = 4000, minutes at 1e5). A pattern with more entries than this gets the unsymmetric
 * strategy; nets stay below it up to 400 x 400 points (7e8 at 300 x 300: 0.8 s). A count instead of
 * a clock, so that the choice is the same on every machine. */
static const int64_t symmetric_work_limit = 2000000000;

/* A pattern less symmetric than this is not worth the try (UMFPACK's own limit for it is 0.3 to
 * 0.5). */
static const double least_symmetry = 0.5;

/* The other strategy is not tried when it predicts this many times the operations that the first one
 * took (its prediction may be 400 times too high, but then it seldom wins). */
static const double most_trial_flops = 1000;

typedef struct umf {
  vini_backend base;
  vini_object *object;
  vin_int n;
  bool expanded;      /* symmetric storage: start, row, value are our own, otherwise unused */
  vin_int *start;     /* n + 1 */
  vin_int *row;       /* start[n] */
  vin_int *map;       /* start[n]: value[p] = matrix->value[map[p]] */
  double *value;      /* start[n] */
  vin_int *iwork;     /* n, for wsolve */
  double *work, *rhs; /* n each, for wsolve, which cannot work in place */
  void *symbolic, *numeric;
  void *other; /* the analysis of the other strategy until the first factorisation */
  double other_strategy, other_flops; /* predicted */
  double control[UMFPACK_CONTROL];
  double info[UMFPACK_INFO]; /* the analysis kept, completed by the last factorisation */
  double flops, nnz;         /* predicted for the strategy kept */
} umf;

static void umf_destroy(vini_backend *backend) {
  umf *u = (umf *)backend;
  if (!u) return;
  const vin_context *context = &u->object->context;
  if (u->numeric) umfpack_di_free_numeric(&u->numeric);
  if (u->symbolic) umfpack_di_free_symbolic(&u->symbolic);
  if (u->other) umfpack_di_free_symbolic(&u->other);
  vini_free(context, u->start);
  vini_free(context, u->row);
  vini_free(context, u->map);
  vini_free(context, u->value);
  vini_free(context, u->iwork);
  vini_free(context, u->work);
  vini_free(context, u->rhs);
  vini_free(context, u);
}

/* Every code of UMFPACK that is not success. phase: what was being done. */
static vin_status umf_fail(const umf *u, const char *phase, int code) {
  switch (code) {
  case UMFPACK_WARNING_singular_matrix:
    return vini_fail(u->object, VIN_SINGULAR, "umfpack: %s: the matrix is singular (a zero pivot)",
                     phase);
  case UMFPACK_ERROR_out_of_memory:
    /* UMFPACK says the same when a size overflows its 32-bit integers; the estimate tells. */
    if (u->info[UMFPACK_SIZE_OF_UNIT] > 0 &&
        u->info[UMFPACK_VARIABLE_PEAK_ESTIMATE] > (double)INT32_MAX)
      return vini_fail(u->object, VIN_ERR_TOO_LARGE,
                       "umfpack: %s: the factors of %d unknowns exceed 32-bit indices", phase,
                       (int)u->n);
    return vini_fail(u->object, VIN_ERR_NO_MEMORY, "umfpack: %s: out of memory (%d unknowns)",
                     phase, (int)u->n);
  case UMFPACK_ERROR_ordering_failed:
    return vini_fail(u->object, VIN_ERR_INTERNAL, "umfpack: %s: the ordering failed", phase);
  default:
    return vini_fail(u->object, VIN_ERR_INTERNAL, "umfpack: %s failed with code %d", phase, code);
  }
}

static bool umf_allocate(umf *u, size_t entries) {
  const vin_context *context = &u->object->context;
  size_t n = (size_t)u->n;
  u->iwork = vini_alloc(context, n, sizeof *u->iwork);
  u->work = vini_alloc(context, n, sizeof *u->work);
  u->rhs = vini_alloc(context, n, sizeof *u->rhs);
  if (!u->iwork || !u->work || !u->rhs) return false;
  if (!u->expanded) return true;
  u->start = vini_alloc(context, n + 1, sizeof *u->start);
  u->row = vini_alloc(context, entries, sizeof *u->row);
  u->map = vini_alloc(context, entries, sizeof *u->map);
  u->value = vini_alloc(context, entries, sizeof *u->value);
  return u->start && u->row && u->map && u->value;
}

/* Lower triangle -> both triangles, columns ascending. Column j first takes the mirrored entries of
 * the columns before it, in their order, then its own: both runs ascend and the first ends above
 * the diagonal. */
static void umf_expand(umf *u, const vin_sparse *matrix) {
  vin_int n = u->n, *next = u->iwork;
  for (vin_int j = 0; j < n; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++) {
      u->start[j + 1]++;
      if (matrix->row[p] != j) u->start[matrix->row[p] + 1]++;
    }
  for (vin_int j = 0; j < n; j++) u->start[j + 1] += u->start[j];
  for (vin_int j = 0; j < n; j++) next[j] = u->start[j];
  for (vin_int j = 0; j < n; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++) {
      vin_int i = matrix->row[p];
      u->row[next[j]] = i;
      u->map[next[j]++] = p;
      if (i == j) continue;
      u->row[next[i]] = j;
      u->map[next[i]++] = p;
    }
}

/* The star graph of A: a row couples the column of it that is eliminated first with each of its
 * others. Its Cholesky factor has the pattern of that of A'A, that is of R (Gilbert, Ng, Peyton,
 * SIAM J. Matrix Anal. Appl. 15, 1994, section 3), and it has no more entries than A. index: n + 2
 * start[n], holds the triplets. */
static vin_triplets umf_star(vin_int n, const vin_int *start, const vin_int *row,
                             const vin_int *order, vin_int *index) {
  vin_int *first = index, *low = index + n, *high = low + start[n];
  vin_int count = 0;
  for (vin_int i = 0; i < n; i++) first[i] = -1;
  for (vin_int k = 0; k < n; k++) {
    vin_int j = order[k];
    for (vin_int p = start[j]; p < start[j + 1]; p++) {
      vin_int i = row[p];
      if (first[i] < 0) first[i] = j;
      low[count] = vini_max_int(first[i], j);
      high[count++] = vini_min_int(first[i], j);
    }
  }
  return (vin_triplets){.count = count, .row = low, .col = high};
}

/* Entries of R in A Q = QR with columns in AMD's order, which is what UMFPACK will use. */
static vin_status umf_count_r(umf *u, const vin_int *start, const vin_int *row, int64_t *entries) {
  vini_object *object = u->object;
  const vin_context *context = &object->context;
  size_t n = (size_t)u->n;
  vin_int *order = vini_alloc(context, n, sizeof *order);
  vin_int *index = vini_alloc(context, n + 2 * (size_t)start[n], sizeof *index);
  vin_sparse *star = NULL;
  double flops;
  vin_status status = VIN_ERR_NO_MEMORY;
  if (order && index) {
    status = vini_order_amd(object, u->n, start, row, order);
    if (status != VIN_OK) goto done;
    status = vin_sparse_create(&star, context, u->n, u->n, umf_star(u->n, start, row, order, index),
                               VIN_STORAGE_SYMMETRIC_LOWER);
  }
  if (status != VIN_OK)
    vini_fail(object, status, "umfpack: no memory to analyse %d unknowns", (int)u->n);
  else
    status = vini_predict_ldlt(object, star, order, entries, &flops);
done:
  vin_sparse_destroy(star);
  vini_free(context, index);
  vini_free(context, order);
  return status;
}

/* Analyses with both strategies. The one that predicts fewer operations goes first; the other is tried
 * at the first factorisation, because the predictions can be far off: the symmetric one counts
 * diagonal pivots only (4 times too few operations on a hinge chain), the unsymmetric one is an
 * upper bound. UMFPACK's own choice takes the unsymmetric one for every matrix with zeros on the
 * diagonal; on a net of 100 x 100 points that costs 17 times the operations. */
static vin_status umf_analyse(umf *u, const vin_int *start, const vin_int *row) {
  u->control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_UNSYMMETRIC;
  int code = umfpack_di_symbolic(u->n, u->n, start, row, NULL, &u->symbolic, u->control, u->info);
  if (code != UMFPACK_OK) return umf_fail(u, "analysis", code);
  u->flops = u->info[UMFPACK_FLOPS_ESTIMATE];
  u->nnz = u->info[UMFPACK_LNZ_ESTIMATE] + u->info[UMFPACK_UNZ_ESTIMATE];

  int64_t entries = 0;
  VINI_TRY(umf_count_r(u, start, row, &entries));
  if (entries > symmetric_work_limit) return VIN_OK;
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
  memcpy(control, u->control, sizeof control);
  control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
  code = umfpack_di_symbolic(u->n, u->n, start, row, NULL, &u->other, control, info);
  if (code != UMFPACK_OK) return umf_fail(u, "symmetric analysis", code);
  /* FLOPS_ESTIMATE is an upper bound over all pivot sequences, 400 times too high on the net; the
   * count for diagonal pivots is exact while the diagonal is accepted. */
  double flops = info[UMFPACK_SYMMETRIC_FLOPS];
  if (flops < 0 || info[UMFPACK_PATTERN_SYMMETRY] < least_symmetry) {
    umfpack_di_free_symbolic(&u->other);
    return VIN_OK;
  }
  u->other_strategy = UMFPACK_STRATEGY_SYMMETRIC;
  u->other_flops = flops;
  if (flops >= u->flops) return VIN_OK;
  void *unsymmetric = u->symbolic;
  u->symbolic = u->other;
  u->other = unsymmetric;
  u->other_strategy = UMFPACK_STRATEGY_UNSYMMETRIC;
  u->other_flops = u->flops;
  u->flops = flops;
  u->nnz = info[UMFPACK_SYMMETRIC_LUNZ];
  memcpy(u->control, control, sizeof control);
  memcpy(u->info, info, sizeof info);
  return VIN_OK;
}

/* The first factorisation also with the other strategy, unless that promises to be far dearer; the
 * one that took fewer operations stays. Counts, not a clock, so that the choice is the same in
 * every run. Failures of the trial leave things as they are. */
static void umf_try_other(umf *u, const vin_int *start, const vin_int *row, const double *value) {
  void *numeric = NULL;
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
  u->flops = u->info[UMFPACK_FLOPS];
  if (u->other_flops < most_trial_flops * u->flops) {
    memcpy(control, u->control, sizeof control);
    control[UMFPACK_STRATEGY] = u->other_strategy;
    memcpy(info, u->info, sizeof info);
    int code = umfpack_di_numeric(start, row, value, u->other, &numeric, control, info);
    if (code == UMFPACK_OK && info[UMFPACK_RCOND] >= singular_rcond &&
        info[UMFPACK_FLOPS] < u->flops) {
      void *symbolic = u->symbolic, *worse = u->numeric;
      u->symbolic = u->other;
      u->numeric = numeric;
      u->other = symbolic;
      numeric = worse;
      u->flops = info[UMFPACK_FLOPS];
      memcpy(u->control, control, sizeof control);
      memcpy(u->info, info, sizeof info);
    }
    if (numeric) umfpack_di_free_numeric(&numeric);
  }
  umfpack_di_free_symbolic(&u->other);
}

static vin_status umf_factor(vini_backend *backend, const vin_sparse *matrix) {
  umf *u = (umf *)backend;
  if (u->numeric) umfpack_di_free_numeric(&u->numeric);
  const vin_int *start = matrix->start, *row = matrix->row;
  const double *value = matrix->value;
  if (u->expanded) {
    start = u->start, row = u->row, value = u->value;
    for (vin_int p = 0; p < start[u->n]; p++) u->value[p] = matrix->value[u->map[p]];
  }
  int code = umfpack_di_numeric(start, row, value, u->symbolic, &u->numeric, u->control, u->info);
  if (code == UMFPACK_OK && u->info[UMFPACK_RCOND] >= singular_rcond) {
    if (u->other) umf_try_other(u, start, row, value);
    return VIN_OK;
  }
  if (u->numeric) umfpack_di_free_numeric(&u->numeric);
  if (code != UMFPACK_OK) return umf_fail(u, "factorisation", code);
  return vini_fail(u->object, VIN_SINGULAR,
                   "umfpack: the matrix is singular to rounding: pivot ratio %.1e < %.0e",
                   u->info[UMFPACK_RCOND], singular_rcond);
}

static vin_status umf_solve_with(vini_backend *backend, int system, vin_int count, double *x) {
  umf *u = (umf *)backend;
  if (!u->numeric) return vini_fail(u->object, VIN_ERR_BAD_STATE, "umfpack: no factorisation");
  double info[UMFPACK_INFO];
  for (vin_int c = 0; c < count; c++, x += u->n) {
    memcpy(u->rhs, x, (size_t)u->n * sizeof *x);
    /* without refinement the matrix itself is not looked at */
    int code = umfpack_di_wsolve(system, NULL, NULL, NULL, x, u->rhs, u->numeric, u->control, info,
                                 u->iwork, u->work);
    if (code != UMFPACK_OK) return umf_fail(u, "solve", code);
  }
  return VIN_OK;
}

static vin_status umf_solve(vini_backend *backend, vin_int count, double *x) {
  return umf_solve_with(backend, UMFPACK_A, count, x);
}

static vin_status umf_solve_transposed(vini_backend *backend, vin_int count, double *x) {
  return umf_solve_with(backend, UMFPACK_At, count, x);
}

static bool umf_pivots(const vini_backend *backend, double *d, double *scale) {
  (void)backend, (void)d, (void)scale;
  return false; /* an LU with row exchanges has no pivot per unknown, and no inertia */
}

static void umf_info(const vini_backend *backend, vini_factor_info *info) {
  const umf *u = (const umf *)backend;
  bool factored = u->numeric != NULL;
  double units = u->info[UMFPACK_SYMBOLIC_SIZE];
  if (factored) units += u->info[UMFPACK_NUMERIC_SIZE];
  int64_t n = u->n, own = n * (int64_t)(sizeof(vin_int) + 2 * sizeof(double));
  if (u->expanded)
    own += (n + 1) * (int64_t)sizeof(vin_int) +
           u->start[n] * (int64_t)(2 * sizeof(vin_int) + sizeof(double));
  *info = (vini_factor_info){
      .nnz_factor = (int64_t)(factored ? u->info[UMFPACK_LNZ] + u->info[UMFPACK_UNZ] : u->nnz),
      .flops = u->flops,
      .bytes = (int64_t)(units * u->info[UMFPACK_SIZE_OF_UNIT]) + own,
      .negative = -1,
      .zero = -1,
      .rcond = factored ? u->info[UMFPACK_RCOND] : -1,
      .min_pivot_ratio = -1,
  };
}

static const char *umf_describe(const vini_backend *backend) {
  const umf *u = (const umf *)backend;
  bool symmetric = u->control[UMFPACK_STRATEGY] == UMFPACK_STRATEGY_SYMMETRIC;
  return symmetric ? "umfpack, symmetric strategy" : "umfpack, unsymmetric strategy";
}

static const vini_backend_vtable umf_table = {
    .solver = VIN_SOLVER_UMFPACK,
    .factor = umf_factor,
    .solve = umf_solve,
    .solve_transposed = umf_solve_transposed,
    .pivots = umf_pivots,
    .info = umf_info,
    .describe = umf_describe,
    .destroy = umf_destroy,
};

vin_status vini_umfpack_create(vini_backend **backend, vini_object *object,
                               const vin_sparse *matrix, const vin_int *order) {
  (void)order; /* UMFPACK chooses: its pivoting needs an ordering that leaves room for it */
  *backend = NULL;
  vin_int n = matrix->cols;
  bool expanded = matrix->storage == VIN_STORAGE_SYMMETRIC_LOWER;
  int64_t entries = matrix->start[n];
  if (expanded) /* at most n of them stand on the diagonal and are not mirrored */
    for (vin_int j = 0; j < n; j++)
      for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++)
        entries += matrix->row[p] != j;
  if (entries > INT32_MAX)
    return vini_fail(object, VIN_ERR_TOO_LARGE, "umfpack: %lld entries exceed 32-bit indices",
                     (long long)entries);
  umf *u = vini_alloc(&object->context, 1, sizeof *u);
  if (!u) return vini_fail(object, VIN_ERR_NO_MEMORY, "umfpack: no memory");
  *u = (umf){.base.table = &umf_table, .object = object, .n = n, .expanded = expanded};
  umfpack_di_defaults(u->control);
  u->control[UMFPACK_PRL] = 0; /* a library does not print */
  u->control[UMFPACK_IRSTEP] =
      0; /* refined by the caller: here it makes a solve 3 to 7 times dearer */
  vin_status status;
  if (!umf_allocate(u, (size_t)entries)) {
    status = vini_fail(object, VIN_ERR_NO_MEMORY, "umfpack: no memory for %d unknowns", (int)n);
  } else {
    if (expanded) umf_expand(u, matrix);
    status = umf_analyse(u, expanded ? u->start : matrix->start, expanded ? u->row : matrix->row);
  }
  if (status == VIN_OK)
    *backend = &u->base;
  else
    umf_destroy(&u->base);
  return status;
}

#else

vin_status vini_umfpack_create(vini_backend **backend, vini_object *object,
                               const vin_sparse *matrix, const vin_int *order) {
  (void)matrix, (void)order;
  *backend = NULL;
  return vini_fail(object, VIN_ERR_UNSUPPORTED, "UMFPACK is not part of this build");
}

#endif
