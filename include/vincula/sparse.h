/* vincula/sparse.h - a sparse matrix whose pattern is declared once as triplets; Matrix Market. */
#ifndef VINCULA_SPARSE_H
#define VINCULA_SPARSE_H

#include "vincula/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A triplet pattern: entry k stands at (row[k], col[k]), 0-based, in any order. Entries at the
 * same place add. Values are later handed over in this ("declared") order. The arrays are borrowed
 * for the call only. */
typedef struct vin_triplets {
  vin_int count;
  const vin_int *row;
  const vin_int *col;
} vin_triplets;

typedef enum vin_storage {
  VIN_STORAGE_GENERAL,        /* every entry is given */
  VIN_STORAGE_SYMMETRIC_LOWER /* square, entries with row >= col only; (i,j) stands for (j,i) too */
} vin_storage;

typedef struct vin_sparse vin_sparse;

/** Compressed columns: column j holds row[start[j] .. start[j+1]-1], ascending, without duplicates.
 */
typedef struct vin_csc {
  vin_int rows, cols;
  vin_storage storage;
  const vin_int *start; /* cols + 1 */
  const vin_int *row;   /* start[cols] */
  const double *value;  /* start[cols] */
} vin_csc;

/** Compresses a pattern (rows x cols) and builds the slot map; values are zero afterwards.
 *  O(count + rows + cols). Errors: VIN_ERR_BAD_INPUT names the first bad triplet;
 * VIN_ERR_NO_MEMORY. */
VIN_API vin_status vin_sparse_create(vin_sparse **matrix, const vin_context *context, vin_int rows,
                                     vin_int cols, vin_triplets pattern, vin_storage storage);
VIN_API void vin_sparse_destroy(vin_sparse *matrix);
VIN_API const char *vin_sparse_error(const vin_sparse *matrix);

/** Sets all values, in declared order (pattern.count of them); duplicates add. O(count).
 *  A NaN or infinite value is VIN_ERR_BAD_INPUT, names its entry, and leaves the matrix unchanged.
 */
VIN_API vin_status vin_sparse_set_values(vin_sparse *matrix, const double *values);

/** The compressed matrix; valid until the matrix is destroyed, values change with set_values. A
 * NULL or failed handle gives an empty 0 x 0 matrix. */
VIN_API vin_csc vin_sparse_view(const vin_sparse *matrix);

/** y := alpha A x + beta y  (x: cols, y: rows; no overlap). Symmetric storage is honoured. As in
 * BLAS, beta = 0 overwrites y, even a NaN in it. O(non-zeros); a NULL or failed handle does
 * nothing. */
VIN_API void vin_sparse_multiply(const vin_sparse *matrix, double alpha, const double *x,
                                 double beta, double *y);
/** y := alpha A' x + beta y  (x: rows, y: cols; no overlap). */
VIN_API void vin_sparse_multiply_transposed(const vin_sparse *matrix, double alpha, const double *x,
                                            double beta, double *y);

/** Writes "coordinate real general|symmetric" with 17 digits, whatever the locale. comment may be
 *  NULL or several lines. VIN_ERR_IO names the file; a half-written file is removed. Duplicates
 * whose sum overflowed are VIN_ERR_BAD_INPUT, because no reader would take the file. */
VIN_API vin_status vin_matrix_market_write(vin_sparse *matrix, const char *path,
                                           const char *comment);

/** Reads "matrix coordinate real|integer|pattern general|symmetric" (pattern entries become 1; a
 *  symmetric file must store its lower triangle; entries at the same place add; the order of the
 *  file is the declared order). Errors name the line: VIN_ERR_IO when the file
 *  can't be read, VIN_ERR_BAD_INPUT when it is not such a file or holds a value that is not finite,
 *  VIN_ERR_TOO_LARGE when a count does not fit vin_int. */
VIN_API vin_status vin_matrix_market_read(vin_sparse **matrix, const vin_context *context,
                                          const char *path);

/** Dense vectors, "array real general", one column. read: *count values are allocated with malloc
 *  and belong to the caller (free), also for a count of 0; on failure *count is 0 and *x NULL.
 *  text (may be NULL, text_size bytes) receives the explanation, or "" on success. Errors as above.
 */
VIN_API vin_status vin_matrix_market_write_vector(const char *path, vin_int count, const double *x,
                                                  char *text, size_t text_size);
VIN_API vin_status vin_matrix_market_read_vector(const char *path, vin_int *count, double **x,
                                                 char *text, size_t text_size);

#ifdef __cplusplus
}
#endif
#endif
