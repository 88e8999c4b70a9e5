/* multiply - products with a compressed matrix, its transpose and its magnitudes.
 *
 * These run in every step and in every refinement, so the loops hold nothing but the arithmetic:
 * columns spread (y += a_j x_j), transposed columns gather (y_j = a_j' x), and a symmetric column
 * does both with each stored entry, the diagonal once. */
#include "sparse/sparse.h"

#include <math.h>
#include <string.h>

/* y := beta y; 0 overwrites, so that y need not be initialised. */
static void scale(vin_int count, double beta, double *y) {
  if (count == 0) return; /* y may be NULL */
  if (beta == 0.0)
    memset(y, 0, (size_t)count * sizeof *y);
  else if (beta != 1.0)
    for (vin_int i = 0; i < count; i++) y[i] *= beta;
}

static void add_columns(const vin_sparse *a, double alpha, const double *restrict x,
                        double *restrict y) {
  const vin_int *restrict start = a->start, *restrict row = a->row;
  const double *restrict value = a->value;
  for (vin_int j = 0; j < a->cols; j++) {
    double xj = alpha * x[j];
    for (vin_int p = start[j]; p < start[j + 1]; p++) y[row[p]] += value[p] * xj;
  }
}

static void add_transposed(const vin_sparse *a, double alpha, const double *restrict x,
                           double *restrict y) {
  const vin_int *restrict start = a->start, *restrict row = a->row;
  const double *restrict value = a->value;
  for (vin_int j = 0; j < a->cols; j++) {
    double sum = 0.0;
    for (vin_int p = start[j]; p < start[j + 1]; p++) sum += value[p] * x[row[p]];
    y[j] += alpha * sum;
  }
}

static void add_symmetric(const vin_sparse *a, double alpha, const double *restrict x,
                          double *restrict y) {
  const vin_int *restrict start = a->start, *restrict row = a->row;
  const double *restrict value = a->value;
  for (vin_int j = 0; j < a->cols; j++) {
    double xj = alpha * x[j], sum = 0.0;
    vin_int p = start[j], end = start[j + 1];
    if (p < end && row[p] == j) sum = value[p++] * x[j]; /* rows ascend: the diagonal is first */
    for (; p < end; p++) {
      y[row[p]] += value[p] * xj;
      sum += value[p] * x[row[p]];
    }
    y[j] += alpha * sum;
  }
}

void vin_sparse_multiply(const vin_sparse *matrix, double alpha, const double *x, double beta,
                         double *y) {
  if (vini_ready(matrix ? &matrix->object : NULL) != VIN_OK) return;
  scale(matrix->rows, beta, y);
  if (alpha == 0.0) return;
  if (matrix->storage == VIN_STORAGE_SYMMETRIC_LOWER)
    add_symmetric(matrix, alpha, x, y);
  else
    add_columns(matrix, alpha, x, y);
}

void vin_sparse_multiply_transposed(const vin_sparse *matrix, double alpha, const double *x,
                                    double beta, double *y) {
  if (vini_ready(matrix ? &matrix->object : NULL) != VIN_OK) return;
  scale(matrix->cols, beta, y);
  if (alpha == 0.0) return;
  if (matrix->storage == VIN_STORAGE_SYMMETRIC_LOWER)
    add_symmetric(matrix, alpha, x, y);
  else
    add_transposed(matrix, alpha, x, y);
}

static void add_abs_columns(const vin_sparse *a, const double *restrict x, double *restrict y) {
  for (vin_int j = 0; j < a->cols; j++) {
    double xj = fabs(x[j]);
    for (vin_int p = a->start[j]; p < a->start[j + 1]; p++) y[a->row[p]] += fabs(a->value[p]) * xj;
  }
}

static void add_abs_transposed(const vin_sparse *a, const double *restrict x, double *restrict y) {
  for (vin_int j = 0; j < a->cols; j++) {
    double sum = 0.0;
    for (vin_int p = a->start[j]; p < a->start[j + 1]; p++)
      sum += fabs(a->value[p]) * fabs(x[a->row[p]]);
    y[j] += sum;
  }
}

static void add_abs_symmetric(const vin_sparse *a, const double *restrict x, double *restrict y) {
  for (vin_int j = 0; j < a->cols; j++) {
    double xj = fabs(x[j]), sum = 0.0;
    vin_int p = a->start[j], end = a->start[j + 1];
    if (p < end && a->row[p] == j) sum = fabs(a->value[p++]) * xj;
    for (; p < end; p++) {
      double magnitude = fabs(a->value[p]);
      y[a->row[p]] += magnitude * xj;
      sum += magnitude * fabs(x[a->row[p]]);
    }
    y[j] += sum;
  }
}

void vini_sparse_abs_multiply(const vin_sparse *matrix, const double *x, double *y) {
  if (matrix->storage == VIN_STORAGE_SYMMETRIC_LOWER)
    add_abs_symmetric(matrix, x, y);
  else
    add_abs_columns(matrix, x, y);
}

void vini_sparse_abs_multiply_transposed(const vin_sparse *matrix, const double *x, double *y) {
  if (matrix->storage == VIN_STORAGE_SYMMETRIC_LOWER)
    add_abs_symmetric(matrix, x, y);
  else
    add_abs_transposed(matrix, x, y);
}
