/* sparse - internal side: direct access to the compressed matrix and its slot map. */
#ifndef VINI_SPARSE_H
#define VINI_SPARSE_H

#include "base/base.h"
#include "vincula/sparse.h"

struct vin_sparse {
  vini_object object;
  vin_int rows, cols;
  vin_storage storage;
  vin_int count;  /* triplets */
  vin_int *start; /* cols + 1 */
  vin_int *row;   /* start[cols] */
  double *value;  /* start[cols] */
  vin_int *slot;  /* count: triplet -> place in value */
};

/* Checks a pattern: counts, pointers, ranges, triangle. `what` names it in the text ("mass
 * pattern"): "entry 17 of the mass pattern: row 12 is outside 0..9". object may be NULL. */
vin_status vini_triplets_check(vini_object *object, const char *what, vin_int rows, vin_int cols,
                               vin_triplets pattern, vin_storage storage);

/* Checks the pattern and compresses it into a matrix that vini_object_begin made; sets `created`.
 * On failure the matrix holds a text and can be destroyed. */
vin_status vini_sparse_build(vin_sparse *matrix, vin_int rows, vin_int cols, vin_triplets pattern,
                             vin_storage storage);

/* vin_sparse_create() for a pattern that is known to be in order. */
vin_status vini_sparse_create_known(vin_sparse **matrix, const vin_context *context, vin_int rows,
                                    vin_int cols, vin_triplets pattern, vin_storage storage);

/* value := 0, then value[slot[k]] += values[k]; no check of the values. */
void vini_sparse_scatter(vin_sparse *matrix, const double *values);

/* y += |A| |x| and y += |A'| |x|, the scales of residuals; symmetric storage is honoured. */
void vini_sparse_abs_multiply(const vin_sparse *matrix, const double *x, double *y);
void vini_sparse_abs_multiply_transposed(const vin_sparse *matrix, const double *x, double *y);

#endif
