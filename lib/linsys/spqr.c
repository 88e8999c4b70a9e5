/* spqr - dependent columns of a sparse matrix by SuiteSparseQR's rank-revealing QR.
 *
 * A few dense rows (the coordinates of a hub with thousands of constraints) would make R dense: 8 s
 * instead of 10 ms for 2000 tethers. They are taken out first. With A = [S; T], T the dense rows and
 *     S E = Q [R1 R2; 0 0],     Y = R1^-1 R2
 * column i of the second group equals the combination y_i of the first group in S, so that only the
 * difference F = T2 - T1 Y, as many rows as T, decides which of them are independent after all. */
#include "linsys/linsys.h"

#if defined(VINI_HAVE_SPQR) && VINI_HAVE_SPQR

#include <SuiteSparseQR_C.h>
#include <math.h>
#include <string.h>

/* A row with more entries than max(DENSE_LEAST, DENSE_ROOT sqrt(columns)) is dense (AMD's rule). */
#define DENSE_LEAST 64
#define DENSE_ROOT 10.0

/* SuiteSparse's wide integer: long up to 5.x, int64_t later. */
#ifdef SuiteSparse_long
typedef SuiteSparse_long wide;
#else
typedef int64_t wide;
#endif

bool vini_rank_available(void) {
  return true;
}

/* A with columns of length 1, split into its sparse and its dense rows. */
typedef struct split {
  vin_int rows, cols, dense;
  vin_int *place;    /* rows: number among the dense rows, or -1 */
  wide *start, *row; /* cols + 1, start[cols]: the sparse rows */
  double *value;
  double *t;     /* dense x cols, row by row */
  double *f;     /* dense x cols: columns of F, one after the other */
  double *scale; /* cols: what the columns of F are measured by */
  double *z;     /* cols */
} split;

static void split_free(split *s, const vin_context *context) {
  void *owned[] = {s->place, s->start, s->row, s->value, s->t, s->f, s->scale, s->z};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
}

static bool find_dense(split *s, const vin_context *context, vin_csc a) {
  s->place = vini_alloc(context, (size_t)a.rows, sizeof *s->place);
  if (!s->place) return false;
  for (vin_int p = 0; p < a.start[a.cols]; p++) s->place[a.row[p]]++;
  double limit = vini_max(DENSE_LEAST, DENSE_ROOT * sqrt((double)a.cols));
  for (vin_int i = 0; i < a.rows; i++) s->place[i] = s->place[i] > limit ? s->dense++ : -1;
  return true;
}

static bool split_allocate(split *s, const vin_context *context, vin_csc a) {
  if (!find_dense(s, context, a)) return false;
  size_t cols = (size_t)a.cols, entries = (size_t)a.start[a.cols], dense = (size_t)s->dense;
  if (dense > 0 && cols > SIZE_MAX / sizeof(double) / dense) return false;
  s->start = vini_alloc(context, cols + 1, sizeof *s->start);
  s->row = vini_alloc(context, entries, sizeof *s->row);
  s->value = vini_alloc(context, entries, sizeof *s->value);
  s->t = vini_alloc(context, dense * cols, sizeof *s->t);
  s->f = vini_alloc(context, dense * cols, sizeof *s->f);
  s->scale = vini_alloc(context, cols, sizeof *s->scale);
  s->z = vini_alloc(context, cols, sizeof *s->z);
  return s->start && s->row && s->value && s->t && s->f && s->scale && s->z;
}

static double column_length(const double *value, vin_int count, double *largest) {
  double sum = 0;
  *largest = vini_max_abs(value, count);
  for (vin_int p = 0; p<count && * largest> 0; p++) { /* squares of 1e-200 would vanish */
    double x = value[p] / *largest;
    sum += x * x;
  }
  return sqrt(sum);
}

static void fill(split *s, vin_csc a, bool scaled) {
  wide count = 0;
  for (vin_int j = 0; j < a.cols; j++) {
    double largest = 1, length = 1;
    if (scaled) length = column_length(a.value + a.start[j], a.start[j + 1] - a.start[j], &largest);
    for (vin_int p = a.start[j]; p < a.start[j + 1]; p++) {
      double value = length > 0 ? a.value[p] / largest / length : 0;
      vin_int place = s->place[a.row[p]];
      if (place >= 0) {
        s->t[(size_t)place * (size_t)a.cols + (size_t)j] += value;
      } else {
        s->row[count] = a.row[p];
        s->value[count++] = value;
      }
    }
    s->start[j + 1] = count;
  }
}

/* ---- the sparse rows -------------------------------------------------------------------------- */

typedef struct qr {
  cholmod_common common;
  cholmod_sparse *r; /* rank x cols, upper trapezoidal; NULL: not asked for */
  wide *e;           /* cols: the column that stands at each place; NULL: its own */
  wide rank;
} qr;

static wide column_at(const qr *q, wide k) {
  return q->e ? q->e[k] : k;
}

static vin_status spqr_fail(vini_object *object, const qr *q, const split *s) {
  switch (q->common.status) {
  case CHOLMOD_OUT_OF_MEMORY:
    return vini_fail(object, VIN_ERR_NO_MEMORY, "spqr: no memory for the QR of %d columns",
                     (int)s->cols);
  case CHOLMOD_TOO_LARGE:
    return vini_fail(object, VIN_ERR_TOO_LARGE, "spqr: the QR of %d columns is too large",
                     (int)s->cols);
  default:
    return vini_fail(object, VIN_ERR_INTERNAL, "spqr: the QR failed with status %d",
                     q->common.status);
  }
}

static vin_status factor(qr *q, vini_object *object, const split *s, double tolerance) {
  q->common.print = 0;
  q->common.error_handler = NULL;
  cholmod_sparse matrix = {
      .nrow = (size_t)s->rows,
      .ncol = (size_t)s->cols,
      .nzmax = (size_t)s->start[s->cols],
      .p = s->start,
      .i = s->row,
      .x = s->value,
      .itype = CHOLMOD_LONG,
      .xtype = CHOLMOD_REAL,
      .dtype = CHOLMOD_DOUBLE,
      .packed = 1,
  };
  /* COLAMD: no METIS, whose random numbers are the process's. R is asked for in any case: it is
   * what puts the dependent columns last in e. */
  q->rank = SuiteSparseQR_C(SPQR_ORDERING_COLAMD, tolerance, 0, 0, &matrix, NULL, NULL, NULL, NULL,
                            &q->r, &q->e, NULL, NULL, NULL, &q->common);
  bool good = q->rank >= 0 && q->rank <= s->cols && q->common.status >= CHOLMOD_OK && q->r;
  return good ? VIN_OK : spqr_fail(object, q, s);
}

/* ---- the dense rows --------------------------------------------------------------------------- */

/* z := R1'^-1 t, t a dense row in the order of E. */
static bool solve_transposed(const qr *q, const double *t, double *z) {
  const wide *start = q->r->p, *row = q->r->i;
  const double *value = q->r->x;
  for (wide k = 0; k < q->rank; k++) {
    double sum = t[column_at(q, k)], diagonal = 0;
    for (wide p = start[k]; p < start[k + 1]; p++) {
      if (row[p] == k) diagonal = value[p];
      if (row[p] < k) sum -= value[p] * z[row[p]];
    }
    if (diagonal == 0) return false;
    z[k] = sum / diagonal;
  }
  return true;
}

/* F = T2 - T1 R1^-1 R2, and the scale of its columns: their length in A, which is 1, or the terms
 * that cancel in F where they are larger. */
static bool form_difference(const qr *q, split *s) {
  const wide *start = q->r->p, *row = q->r->i;
  const double *value = q->r->x;
  for (wide k = q->rank; k < s->cols; k++) s->scale[k - q->rank] = 1;
  for (vin_int c = 0; c < s->dense; c++) {
    const double *t = s->t + (size_t)c * (size_t)s->cols;
    if (!solve_transposed(q, t, s->z)) return false;
    for (wide k = q->rank; k < s->cols; k++) {
      double sum = t[column_at(q, k)], size = 0;
      for (wide p = start[k]; p < start[k + 1]; p++) {
        double term = value[p] * s->z[row[p]];
        sum -= term;
        size += fabs(term);
      }
      s->f[(k - q->rank) * s->dense + c] = sum;
      s->scale[k - q->rank] = vini_max(s->scale[k - q->rank], size);
    }
  }
  return true;
}

static double dot(vin_int count, const double *x, const double *y) {
  double sum = 0;
  for (vin_int i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

/* Independent columns of F by Gram-Schmidt with pivoting: *taken of them; they lose their mark. */
static void keep_independent(const qr *q, split *s, double tolerance, unsigned char *dependent,
                             vin_int *taken) {
  wide count = s->cols - q->rank;
  vin_int h = s->dense;
  *taken = 0;
  while (*taken < h) {
    wide best = -1;
    double most = tolerance;
    for (wide k = 0; k < count; k++) {
      double size = sqrt(dot(h, s->f + k * h, s->f + k * h)) / s->scale[k];
      if (dependent[column_at(q, q->rank + k)] && size > most) most = size, best = k;
    }
    if (best < 0) return;
    double *u = s->f + best * h, length = sqrt(dot(h, u, u));
    dependent[column_at(q, q->rank + best)] = 0;
    (*taken)++;
    for (vin_int c = 0; c < h; c++) u[c] /= length;
    for (wide k = 0; k < count; k++) {
      if (!dependent[column_at(q, q->rank + k)]) continue;
      for (int twice = 0; twice < 2; twice++) {
        double part = dot(h, u, s->f + k * h);
        for (vin_int c = 0; c < h; c++) s->f[k * h + c] -= part * u[c];
      }
    }
  }
}

static vin_status find_dependent(vini_object *object, split *s, double tolerance,
                                 unsigned char *dependent, vin_int *rank) {
  qr q = {.rank = -1};
  if (!cholmod_l_start(&q.common))
    return vini_fail(object, VIN_ERR_INTERNAL, "spqr: CHOLMOD does not start");
  vin_int taken = 0;
  vin_status status = factor(&q, object, s, tolerance);
  if (status == VIN_OK) {
    for (wide k = q.rank; k < s->cols; k++) dependent[column_at(&q, k)] = 1;
    if (s->dense > 0 && q.rank < s->cols) {
      if (form_difference(&q, s))
        keep_independent(&q, s, tolerance, dependent, &taken);
      else
        status = vini_fail(object, VIN_ERR_INTERNAL, "spqr: R is not of rank %d", (int)q.rank);
    }
    *rank = (vin_int)q.rank + taken;
  }
  cholmod_l_free_sparse(&q.r, &q.common);
  if (q.e) cholmod_l_free((size_t)s->cols, sizeof *q.e, q.e, &q.common);
  cholmod_l_finish(&q.common);
  return status;
}

static vin_status mark_dependent(vini_object *object, vin_csc a, double tolerance, bool scaled,
                                 unsigned char *dependent, vin_int *rank) {
  memset(dependent, 0, (size_t)a.cols);
  *rank = 0;
  if (a.cols == 0) return VIN_OK;
  split s = {.rows = a.rows, .cols = a.cols};
  vin_status status;
  if (split_allocate(&s, &object->context, a)) {
    fill(&s, a, scaled);
    status = find_dependent(object, &s, tolerance, dependent, rank);
  } else {
    status = vini_fail(object, VIN_ERR_NO_MEMORY, "spqr: no memory for %d entries",
                       (int)a.start[a.cols]);
  }
  split_free(&s, &object->context);
  return status;
}

vin_status vini_dependent_columns(vini_object *object, vin_csc a, double tolerance,
                                  unsigned char *dependent, vin_int *rank) {
  return mark_dependent(object, a, tolerance, true, dependent, rank);
}

vin_status vini_basis_columns(vini_object *object, vin_csc a, double distance, unsigned char *basis,
                              vin_int *rank) {
  VINI_TRY(mark_dependent(object, a, distance, false, basis, rank));
  for (vin_int j = 0; j < a.cols; j++) basis[j] = !basis[j];
  return VIN_OK;
}

#else

bool vini_rank_available(void) {
  return false;
}

vin_status vini_dependent_columns(vini_object *object, vin_csc a, double tolerance,
                                  unsigned char *dependent, vin_int *rank) {
  (void)a, (void)tolerance, (void)dependent;
  *rank = 0;
  return vini_fail(object, VIN_ERR_UNSUPPORTED, "SuiteSparseQR is not part of this build");
}

vin_status vini_basis_columns(vini_object *object, vin_csc a, double distance, unsigned char *basis,
                              vin_int *rank) {
  return vini_dependent_columns(object, a, distance, basis, rank);
}

#endif
