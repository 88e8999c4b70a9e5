/* cholmod - CHOLMOD's simplicial LDL' without pivoting, in the order it is given. */
#include "linsys/linsys.h"

#if defined(VINI_HAVE_CHOLMOD) && VINI_HAVE_CHOLMOD

#include <cholmod.h>
#include <math.h>

typedef struct chol {
  vini_backend base;
  vini_object *object;
  vin_int n;
  vin_int *order; /* n: order[k] is the unknown eliminated k-th */
  /* The matrix in elimination numbering, upper triangle: what cholmod_factorize reads without a
   * copy. From here on CHOLMOD sees natural order only. */
  vin_int *start;       /* n + 1 */
  vin_int *row;         /* start[n] */
  vin_int *slot;        /* entries of the matrix: value[slot[p]] = matrix->value[p] */
  double *value;        /* start[n] */
  double *d, *scale;    /* n: pivots and what was added up to them, elimination numbering */
  double *work;         /* n: a right-hand side in elimination numbering */
  cholmod_sparse upper; /* the arrays above */
  cholmod_factor *factor;
  cholmod_common common;
  bool started, factored;
  int64_t predicted_nnz; /* below the diagonal */
  vini_factor_info info;
} chol;

static void chol_destroy(vini_backend *backend) {
  chol *c = (chol *)backend;
  if (!c) return;
  const vin_context *context = &c->object->context;
  if (c->started) {
    if (c->factor) cholmod_free_factor(&c->factor, &c->common);
    cholmod_finish(&c->common);
  }
  vini_free(context, c->order);
  vini_free(context, c->start);
  vini_free(context, c->row);
  vini_free(context, c->slot);
  vini_free(context, c->value);
  vini_free(context, c->d);
  vini_free(context, c->scale);
  vini_free(context, c->work);
  vini_free(context, c);
}

static vin_status chol_fail(const chol *c, const char *phase) {
  switch (c->common.status) {
  case CHOLMOD_OUT_OF_MEMORY:
    return vini_fail(c->object, VIN_ERR_NO_MEMORY, "cholmod-ldlt: %s: out of memory (%d unknowns)",
                     phase, (int)c->n);
  case CHOLMOD_TOO_LARGE:
    return vini_fail(c->object, VIN_ERR_TOO_LARGE,
                     "cholmod-ldlt: %s: the factor of %d unknowns exceeds 32-bit indices", phase,
                     (int)c->n);
  default:
    return vini_fail(c->object, VIN_ERR_INTERNAL, "cholmod-ldlt: %s failed with status %d", phase,
                     c->common.status);
  }
}

static void chol_options(cholmod_common *common) {
  common->print = 0;
  common->error_handler = NULL;
  common->nmethods = 1; /* the order is ours: no search, no postorder, nothing moved afterwards */
  common->method[0].ordering = CHOLMOD_NATURAL;
  common->postorder = 0;
  common->supernodal = CHOLMOD_SIMPLICIAL; /* the supernodal code has no LDL' */
  common->final_ll = 0;
  common->final_asis = 1;
  common->dbound = 0; /* a small pivot must show, not be replaced */
}

static bool chol_allocate(chol *c, size_t entries) {
  const vin_context *context = &c->object->context;
  size_t n = (size_t)c->n;
  c->start = vini_alloc(context, n + 1, sizeof *c->start);
  c->row = vini_alloc(context, entries, sizeof *c->row);
  c->slot = vini_alloc(context, entries, sizeof *c->slot);
  c->value = vini_alloc(context, entries, sizeof *c->value);
  c->d = vini_alloc(context, n, sizeof *c->d);
  c->scale = vini_alloc(context, n, sizeof *c->scale);
  c->work = vini_alloc(context, n, sizeof *c->work);
  return c->start && c->row && c->slot && c->value && c->d && c->scale && c->work;
}

/* Sorts the pattern into the upper triangle of the renumbered matrix, rows ascending, by two
 * counting passes: by row first, then by column. Work space: place n, head n + 1, entry start[n].
 */
static void chol_permute(chol *c, const vin_sparse *matrix, vin_int *place, vin_int *head,
                         vin_int *entry) {
  vin_int n = c->n, entries = matrix->start[n];
  for (vin_int k = 0; k < n; k++) place[c->order[k]] = k;
  for (vin_int k = 0; k <= n; k++) head[k] = 0;
  for (vin_int j = 0; j < n; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++) {
      vin_int a = place[matrix->row[p]], b = place[j];
      head[vini_min_int(a, b) + 1]++;
      c->start[vini_max_int(a, b) + 1]++;
      c->slot[p] = vini_max_int(a, b); /* its column, until it is placed */
    }
  for (vin_int k = 0; k < n; k++) head[k + 1] += head[k], c->start[k + 1] += c->start[k];
  for (vin_int j = 0; j < n; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++)
      entry[head[vini_min_int(place[matrix->row[p]], place[j])]++] = p;
  /* head[i] is now the end of row i in `entry`; columns are filled in the order of rows */
  vin_int *next = place;
  for (vin_int k = 0; k < n; k++) next[k] = c->start[k];
  for (vin_int q = 0, i = 0; q < entries; q++) {
    while (q == head[i]) i++;
    vin_int p = entry[q], at = next[c->slot[p]]++;
    c->row[at] = i;
    c->slot[p] = at;
  }
}

static vin_status chol_order(chol *c, const vin_sparse *matrix, const vin_int *order) {
  const vin_context *context = &c->object->context;
  size_t n = (size_t)c->n;
  c->order = order ? vini_copy(context, order, n, sizeof *order)
                   : vini_alloc(context, n, sizeof *c->order);
  if (!c->order)
    return vini_fail(c->object, VIN_ERR_NO_MEMORY, "cholmod-ldlt: no memory for %d unknowns",
                     (int)c->n);
  if (!order) VINI_TRY(vini_order_amd(c->object, c->n, matrix->start, matrix->row, c->order));

  VINI_TRY(vini_predict_ldlt(c->object, matrix, c->order, &c->predicted_nnz, &c->info.flops));
  if (c->predicted_nnz + c->n > INT32_MAX)
    return vini_fail(c->object, VIN_ERR_TOO_LARGE,
                     "cholmod-ldlt: L of %d unknowns would have %lld entries in this order, more "
                     "than 32-bit indices reach",
                     (int)c->n, (long long)c->predicted_nnz + c->n);
  return VIN_OK;
}

static vin_status chol_analysis(chol *c, const vin_sparse *matrix, const vin_int *order) {
  VINI_TRY(chol_order(c, matrix, order));
  const vin_context *context = &c->object->context;
  size_t n = (size_t)c->n, entries = (size_t)matrix->start[c->n];
  vin_int *work = vini_alloc(context, 2 * n + 1 + entries, sizeof *work);
  if (!chol_allocate(c, entries) || !work) {
    vini_free(context, work);
    return vini_fail(c->object, VIN_ERR_NO_MEMORY, "cholmod-ldlt: no memory for %d unknowns",
                     (int)c->n);
  }
  chol_permute(c, matrix, work, work + n, work + 2 * n + 1);
  vini_free(context, work);
  if (!cholmod_start(&c->common)) return chol_fail(c, "start");
  c->started = true;
  chol_options(&c->common);
  c->upper = (cholmod_sparse){
      .nrow = n,
      .ncol = n,
      .nzmax = entries,
      .p = c->start,
      .i = c->row,
      .x = c->value,
      .stype = 1,
      .itype = CHOLMOD_INT,
      .xtype = CHOLMOD_REAL,
      .dtype = CHOLMOD_DOUBLE,
      .sorted = 1,
      .packed = 1,
  };
  c->factor = cholmod_analyze(&c->upper, &c->common);
  return c->factor ? VIN_OK : chol_fail(c, "analysis");
}

/* Reads pivots, their scale and the inertia off L. */
static void chol_inspect(chol *c) {
  const vin_int *p = c->factor->p, *row = c->factor->i, *nz = c->factor->nz;
  const double *x = c->factor->x;
  vin_int n = c->n, negative = 0, zero = 0;
  int64_t entries = 0;
  for (vin_int k = 0; k < n; k++) {
    vin_int last = c->start[k + 1] - 1; /* an upper triangle ends each column with its diagonal */
    bool declared = last >= c->start[k] && c->row[last] == k;
    c->scale[k] = declared ? fabs(c->value[last]) : 0;
  }
  double least = INFINITY, most = 0, ratio = INFINITY;
  for (vin_int k = 0; k < n; k++) {
    double d = x[p[k]], size = fabs(d);
    for (vin_int q = p[k] + 1; q < p[k] + nz[k]; q++) c->scale[row[q]] += x[q] * x[q] * size;
    c->d[k] = d;
    negative += d < 0;
    zero += d == 0;
    entries += nz[k] - 1;
    least = vini_min(least, size);
    most = vini_max(most, size);
    /* all contributions come from earlier columns: scale[k] is complete */
    ratio = vini_min(ratio, c->scale[k] > 0 ? size / c->scale[k] : 0);
  }
  c->info.negative = negative;
  c->info.zero = zero;
  c->info.nnz_factor = entries;
  c->info.rcond = most > 0 ? least / most : 0;
  c->info.min_pivot_ratio = ratio;
}

static vin_status chol_factor(vini_backend *backend, const vin_sparse *matrix) {
  chol *c = (chol *)backend;
  c->factored = false;
  vin_int entries = matrix->start[c->n];
  for (vin_int p = 0; p < entries; p++) c->value[c->slot[p]] = matrix->value[p];
  int done = cholmod_factorize(&c->upper, c->factor, &c->common);
  if (!done || c->common.status < CHOLMOD_OK) return chol_fail(c, "factorisation");
  /* A zero pivot is a warning (status 1) with the column in `minor`; columns after it are
   * undefined. */
  if (c->common.status != CHOLMOD_OK || c->factor->minor < c->factor->n)
    return vini_fail(c->object, VIN_SINGULAR,
                     "cholmod-ldlt: zero pivot at unknown %d (step %zu of %d): LDL' without "
                     "pivoting does not exist in this order",
                     (int)c->order[vini_min_int((vin_int)c->factor->minor, c->n - 1)],
                     c->factor->minor, (int)c->n);
  chol_inspect(c);
  int64_t wrong = vini_first_nonfinite(c->d, c->n);
  if (wrong >= 0)
    return vini_fail(c->object, VIN_SINGULAR, "cholmod-ldlt: the pivot of unknown %d overflowed",
                     (int)c->order[wrong]);
  c->factored = true;
  return VIN_OK;
}

/* On CHOLMOD's arrays directly: cholmod_solve() allocates its result each time. */
static vin_status chol_solve(vini_backend *backend, vin_int count, double *x) {
  chol *c = (chol *)backend;
  if (!c->factored)
    return vini_fail(c->object, VIN_ERR_BAD_STATE, "cholmod-ldlt: no factorisation");
  const vin_int *p = c->factor->p, *row = c->factor->i, *nz = c->factor->nz;
  const double *l = c->factor->x;
  double *w = c->work;
  vin_int n = c->n;
  for (vin_int column = 0; column < count; column++, x += n) {
    for (vin_int k = 0; k < n; k++) w[k] = x[c->order[k]];
    for (vin_int k = 0; k < n; k++)
      for (vin_int q = p[k] + 1; q < p[k] + nz[k]; q++) w[row[q]] -= l[q] * w[k];
    for (vin_int k = n - 1; k >= 0; k--) {
      double sum = w[k] / l[p[k]]; /* D stands where L has its unit diagonal */
      for (vin_int q = p[k] + 1; q < p[k] + nz[k]; q++) sum -= l[q] * w[row[q]];
      w[k] = sum;
    }
    for (vin_int k = 0; k < n; k++) x[c->order[k]] = w[k];
  }
  return VIN_OK;
}

static bool chol_pivots(const vini_backend *backend, double *d, double *scale) {
  const chol *c = (const chol *)backend;
  if (!c->factored) return false;
  for (vin_int k = 0; k < c->n; k++) {
    d[c->order[k]] = c->d[k];
    scale[c->order[k]] = c->scale[k];
  }
  return true;
}

static void chol_info(const vini_backend *backend, vini_factor_info *info) {
  const chol *c = (const chol *)backend;
  int64_t n = c->n, entries = c->start[c->n], index = sizeof(vin_int), real = sizeof(double);
  *info = c->info;
  if (!c->factored) {
    info->nnz_factor = c->predicted_nnz;
    info->negative = info->zero = -1;
    info->rcond = info->min_pivot_ratio = -1;
  }
  info->bytes =
      n * (2 * index + 3 * real) + entries * (2 * index + real) + (int64_t)c->common.memory_inuse;
}

static const char *chol_describe(const vini_backend *backend) {
  (void)backend;
  return "cholmod-ldlt, simplicial";
}

static const vini_backend_vtable chol_table = {
    .solver = VIN_SOLVER_CHOLMOD,
    .factor = chol_factor,
    .solve = chol_solve,
    .pivots = chol_pivots,
    .info = chol_info,
    .describe = chol_describe,
    .destroy = chol_destroy,
};

vin_status vini_cholmod_create(vini_backend **backend, vini_object *object,
                               const vin_sparse *matrix, const vin_int *order) {
  *backend = NULL;
  if (matrix->storage != VIN_STORAGE_SYMMETRIC_LOWER)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "cholmod-ldlt: the matrix must be symmetric");
  chol *c = vini_alloc(&object->context, 1, sizeof *c);
  if (!c) return vini_fail(object, VIN_ERR_NO_MEMORY, "cholmod-ldlt: no memory");
  c->base.table = &chol_table;
  c->object = object;
  c->n = matrix->cols;
  vin_status status = chol_analysis(c, matrix, order);
  if (status == VIN_OK)
    *backend = &c->base;
  else
    chol_destroy(&c->base);
  return status;
}

#else

vin_status vini_cholmod_create(vini_backend **backend, vini_object *object,
                               const vin_sparse *matrix, const vin_int *order) {
  (void)matrix, (void)order;
  *backend = NULL;
  return vini_fail(object, VIN_ERR_UNSUPPORTED, "CHOLMOD is not part of this build");
}

#endif
