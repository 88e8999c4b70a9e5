/* sparse - from triplets to compressed columns and a slot map, once; then values through the map.
 *
 * Compression is a radix sort with two digits, row then column, each a stable counting sort: linear
 * in the number of triplets, and the rows of each column come out ascending. */
#include "sparse/sparse.h"

#include <string.h>

static vin_status check_arguments(vini_object *object, const char *what, vin_int rows, vin_int cols,
                                  vin_triplets pattern, vin_storage storage) {
  if (rows < 0 || cols < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "%s: %d x %d is not a size", what, rows, cols);
  if (storage != VIN_STORAGE_GENERAL && storage != VIN_STORAGE_SYMMETRIC_LOWER)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "%s: %d is not a storage", what, (int)storage);
  if (storage == VIN_STORAGE_SYMMETRIC_LOWER && rows != cols)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "%s: symmetric storage needs a square matrix, not %d x %d", what, rows, cols);
  if (pattern.count < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "%s: the count is %d", what, pattern.count);
  if (pattern.count > 0 && (!pattern.row || !pattern.col))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "%s: count is %d, but %s is NULL", what,
                     pattern.count, pattern.row ? "col" : "row");
  return VIN_OK;
}

static vin_status fail_range(vini_object *object, const char *what, vin_int entry, const char *axis,
                             vin_int index, vin_int size) {
  if (size == 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "entry %d of the %s: %s %d, but there are 0 %ss",
                     entry, what, axis, index, axis);
  return vini_fail(object, VIN_ERR_BAD_INPUT, "entry %d of the %s: %s %d is outside 0..%d", entry,
                   what, axis, index, size - 1);
}

vin_status vini_triplets_check(vini_object *object, const char *what, vin_int rows, vin_int cols,
                               vin_triplets pattern, vin_storage storage) {
  VINI_TRY(check_arguments(object, what, rows, cols, pattern, storage));
  bool lower = storage == VIN_STORAGE_SYMMETRIC_LOWER;
  for (vin_int k = 0; k < pattern.count; k++) {
    vin_int i = pattern.row[k], j = pattern.col[k];
    if (i < 0 || i >= rows) return fail_range(object, what, k, "row", i, rows);
    if (j < 0 || j >= cols) return fail_range(object, what, k, "column", j, cols);
    if (lower && i < j)
      return vini_fail(
          object, VIN_ERR_BAD_INPUT,
          "entry %d of the %s: (%d, %d) is above the diagonal, symmetric storage takes "
          "row >= column only",
          k, what, i, j);
  }
  return VIN_OK;
}

/* Stable counting sort: out := in (0, 1, 2, ... where in is NULL) ordered by key. next: buckets
 * + 1. */
static void sort_by_key(vin_int count, const vin_int *key, const vin_int *in, vin_int buckets,
                        vin_int *next, vin_int *out) {
  memset(next, 0, ((size_t)buckets + 1) * sizeof *next);
  for (vin_int k = 0; k < count; k++) next[key[k] + 1]++;
  for (vin_int b = 0; b < buckets; b++) next[b + 1] += next[b];
  for (vin_int k = 0; k < count; k++) {
    vin_int entry = in ? in[k] : k;
    out[next[key[entry]]++] = entry;
  }
}

/* Walks the sorted triplets: each new place is a slot. Fills slot and start, returns the slots. */
static vin_int assign_slots(vin_triplets pattern, const vin_int *order, vin_int cols, vin_int *slot,
                            vin_int *start) {
  vin_int slots = 0;
  for (vin_int k = 0; k < pattern.count; k++) {
    vin_int entry = order[k];
    bool repeated = k > 0 && pattern.row[entry] == pattern.row[order[k - 1]] &&
                    pattern.col[entry] == pattern.col[order[k - 1]];
    if (!repeated) {
      start[pattern.col[entry] + 1]++;
      slots++;
    }
    slot[entry] = slots - 1;
  }
  for (vin_int j = 0; j < cols; j++) start[j + 1] += start[j];
  return slots;
}

static vin_status compress(vin_sparse *matrix, vin_triplets pattern) {
  const vin_context *context = &matrix->object.context;
  size_t count = (size_t)pattern.count;
  size_t buckets = (size_t)vini_max_int(matrix->rows, matrix->cols);
  vin_int *by_row = vini_alloc(context, count, sizeof *by_row);
  vin_int *order = vini_alloc(context, count, sizeof *order);
  vin_int *next = vini_alloc(context, buckets + 1, sizeof *next);
  matrix->slot = vini_alloc(context, count, sizeof *matrix->slot);
  matrix->start = vini_alloc(context, (size_t)matrix->cols + 1, sizeof *matrix->start);

  vin_status status = VIN_ERR_NO_MEMORY;
  if (!by_row || !order || !next || !matrix->slot || !matrix->start) goto done;
  sort_by_key(pattern.count, pattern.row, NULL, matrix->rows, next, by_row);
  sort_by_key(pattern.count, pattern.col, by_row, matrix->cols, next, order);
  vin_int slots = assign_slots(pattern, order, matrix->cols, matrix->slot, matrix->start);
  matrix->row = vini_alloc(context, (size_t)slots, sizeof *matrix->row);
  matrix->value = vini_alloc(context, (size_t)slots, sizeof *matrix->value);
  if (!matrix->row || !matrix->value) goto done;
  for (vin_int k = 0; k < pattern.count; k++) matrix->row[matrix->slot[k]] = pattern.row[k];
  status = VIN_OK;

done:
  vini_free(context, by_row);
  vini_free(context, order);
  vini_free(context, next);
  return status;
}

static vin_status build_known(vin_sparse *matrix, vin_int rows, vin_int cols, vin_triplets pattern,
                              vin_storage storage) {
  vini_object *object = &matrix->object;
  matrix->rows = rows;
  matrix->cols = cols;
  matrix->storage = storage;
  matrix->count = pattern.count;
  object->created = compress(matrix, pattern);
  if (object->created != VIN_OK)
    vini_fail(object, object->created, "out of memory for a %d x %d matrix with %d triplets", rows,
              cols, pattern.count);
  return object->created;
}

vin_status vini_sparse_build(vin_sparse *matrix, vin_int rows, vin_int cols, vin_triplets pattern,
                             vin_storage storage) {
  vini_object *object = &matrix->object;
  object->created = vini_triplets_check(object, "pattern", rows, cols, pattern, storage);
  if (object->created != VIN_OK) return object->created;
  return build_known(matrix, rows, cols, pattern, storage);
}

vin_status vini_sparse_create_known(vin_sparse **matrix, const vin_context *context, vin_int rows,
                                    vin_int cols, vin_triplets pattern, vin_storage storage) {
  VINI_TRY(vini_object_begin((void **)matrix, context, sizeof **matrix));
  return build_known(*matrix, rows, cols, pattern, storage);
}

vin_status vin_sparse_create(vin_sparse **matrix, const vin_context *context, vin_int rows,
                             vin_int cols, vin_triplets pattern, vin_storage storage) {
  VINI_TRY(vini_object_begin((void **)matrix, context, sizeof **matrix));
  return vini_sparse_build(*matrix, rows, cols, pattern, storage);
}

void vin_sparse_destroy(vin_sparse *matrix) {
  if (!matrix) return;
  const vin_context *context = &matrix->object.context;
  vini_free(context, matrix->start);
  vini_free(context, matrix->row);
  vini_free(context, matrix->value);
  vini_free(context, matrix->slot);
  vini_object_destroy(&matrix->object);
}

const char *vin_sparse_error(const vin_sparse *matrix) {
  return vini_text(matrix ? &matrix->object : NULL);
}

void vini_sparse_scatter(vin_sparse *matrix, const double *values) {
  memset(matrix->value, 0, (size_t)matrix->start[matrix->cols] * sizeof *matrix->value);
  for (vin_int k = 0; k < matrix->count; k++) matrix->value[matrix->slot[k]] += values[k];
}

vin_status vin_sparse_set_values(vin_sparse *matrix, const double *values) {
  vini_object *object = matrix ? &matrix->object : NULL;
  VINI_TRY(vini_ready(object));
  if (!values && matrix->count > 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "values is NULL, %d are needed", matrix->count);
  int64_t bad = vini_first_nonfinite(values, matrix->count);
  if (bad >= 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "value of entry %lld is %g", (long long)bad,
                     values[bad]);
  vini_sparse_scatter(matrix, values);
  return VIN_OK;
}

vin_csc vin_sparse_view(const vin_sparse *matrix) {
  static const vin_int no_columns[1] = {0};
  if (vini_ready(matrix ? &matrix->object : NULL) != VIN_OK) return (vin_csc){.start = no_columns};
  return (vin_csc){.rows = matrix->rows,
                   .cols = matrix->cols,
                   .storage = matrix->storage,
                   .start = matrix->start,
                   .row = matrix->row,
                   .value = matrix->value};
}
