/* matrix_market_write - sparse matrices and dense vectors to Matrix Market files.
 *
 * Boisvert, Pozo, Remington: The Matrix Market exchange formats, NISTIR 5935, 1996. */
#include "sparse/sparse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
  LINE_MAX_BYTES = 1000, /* the format limits lines to 1024 characters; comments are broken here */
  DIGITS = 17            /* reads back as the same double */
};

static void write_comment(FILE *file, const char *comment) {
  int column = 0;
  for (const char *c = comment; c && *c; c++) {
    if (*c == '\r') continue;
    if (column == 0) fputs("% ", file);
    bool last = *c == '\n' || column == LINE_MAX_BYTES;
    if (*c != '\n') putc(*c, file);
    if (last) putc('\n', file);
    column = last ? 0 : column + 1;
  }
  if (column > 0) putc('\n', file);
}

static void write_entries(FILE *file, const vin_sparse *matrix) {
  char number[VINI_NUMBER_SIZE];
  for (vin_int j = 0; j < matrix->cols; j++)
    for (vin_int p = matrix->start[j]; p < matrix->start[j + 1]; p++)
      fprintf(file, "%d %d %s\n", matrix->row[p] + 1, j + 1,
              vini_format_number(number, sizeof number, matrix->value[p], DIGITS));
}

/* Removes what a failed write left behind, if it is an ordinary file: a device such as /dev/full or
 * a pipe is not ours to remove. */
static void remove_half_written(const char *path) {
  struct stat status;
  if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) remove(path);
}

/* Closes the file. The error that counts is the first one: a later fclose may succeed although data
 * was lost. Returns 0, or errno (never 0) of the failure. */
static int close_written(FILE *file, const char *path) {
  int error = 0;
  errno = 0;
  if (fflush(file) != 0 || ferror(file)) error = errno ? errno : EIO;
  if (fclose(file) != 0 && error == 0) error = errno ? errno : EIO;
  if (error != 0) remove_half_written(path);
  return error;
}

vin_status vin_matrix_market_write(vin_sparse *matrix, const char *path, const char *comment) {
  vini_object *object = matrix ? &matrix->object : NULL;
  VINI_TRY(vini_ready(object));
  if (!path) return vini_fail(object, VIN_ERR_BAD_INPUT, "path is NULL");
  vin_int count = matrix->start[matrix->cols];
  int64_t bad = vini_first_nonfinite(matrix->value, count);
  if (bad >= 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "%s: the sum at row %d is %g, which no reader takes", path, matrix->row[bad],
                     matrix->value[bad]);
  FILE *file = fopen(path, "w");
  if (!file) return vini_fail(object, VIN_ERR_IO, "%s: %s", path, strerror(errno));

  bool lower = matrix->storage == VIN_STORAGE_SYMMETRIC_LOWER;
  fprintf(file, "%%%%MatrixMarket matrix coordinate real %s\n", lower ? "symmetric" : "general");
  write_comment(file, comment);
  fprintf(file, "%d %d %d\n", matrix->rows, matrix->cols, count);
  write_entries(file, matrix);

  int error = close_written(file, path);
  if (error != 0) return vini_fail(object, VIN_ERR_IO, "%s: %s", path, strerror(error));
  return VIN_OK;
}

vin_status vin_matrix_market_write_vector(const char *path, vin_int count, const double *x,
                                          char *text, size_t text_size) {
  if (text && text_size > 0) text[0] = '\0';
  if (!path) return vini_fail_text(text, text_size, VIN_ERR_BAD_INPUT, "path is NULL");
  if (count < 0 || (count > 0 && !x))
    return vini_fail_text(text, text_size, VIN_ERR_BAD_INPUT, "%s: count is %d and x is %s", path,
                          count, x ? "given" : "NULL");
  int64_t bad = vini_first_nonfinite(x, count);
  if (bad >= 0)
    return vini_fail_text(text, text_size, VIN_ERR_BAD_INPUT, "%s: value %lld is %g", path,
                          (long long)bad, x[bad]);
  FILE *file = fopen(path, "w");
  if (!file) return vini_fail_text(text, text_size, VIN_ERR_IO, "%s: %s", path, strerror(errno));

  char number[VINI_NUMBER_SIZE];
  fprintf(file, "%%%%MatrixMarket matrix array real general\n%d 1\n", count);
  for (vin_int k = 0; k < count; k++)
    fprintf(file, "%s\n", vini_format_number(number, sizeof number, x[k], DIGITS));

  int error = close_written(file, path);
  if (error != 0)
    return vini_fail_text(text, text_size, VIN_ERR_IO, "%s: %s", path, strerror(error));
  return VIN_OK;
}
