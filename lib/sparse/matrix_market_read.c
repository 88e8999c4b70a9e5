/* matrix_market_read - sparse matrices and dense vectors from Matrix Market files.
 *
 * The reader trusts nothing: memory grows with the lines that are really there, not with the counts
 * that the file claims, and every number is checked where it stands. */
#include "sparse/sparse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BLOCK_SIZE = 8192,
  LINE_SIZE = 1025,     /* the format limits lines to 1024 characters */
  FIRST_CAPACITY = 1024 /* entries */
};

typedef struct reader {
  FILE *file;
  const char *path;
  char block[BLOCK_SIZE];
  size_t used, filled; /* of the block */
  char line[LINE_SIZE];
  const char *at; /* position in the line */
  int64_t number; /* of the line, from 1 */
  bool end;
  bool integer, pattern, symmetric; /* from the banner */
  char *text;                       /* where explanations go, may be NULL */
  size_t text_size;
} reader;

static vin_status fail_line(const reader *r, vin_status status, const char *what) {
  return vini_fail_text(r->text, r->text_size, status, "%s, line %lld: %s", r->path,
                        (long long)r->number, what);
}

static vin_status open_file(reader *r, const char *path, char *text, size_t text_size) {
  memset(r, 0, sizeof *r);
  r->path = path;
  r->text = text;
  r->text_size = text_size;
  if (!path) return vini_fail_text(text, text_size, VIN_ERR_BAD_INPUT, "path is NULL");
  r->file = fopen(path, "rb");
  if (!r->file) return vini_fail_text(text, text_size, VIN_ERR_IO, "%s: %s", path, strerror(errno));
  return VIN_OK;
}

static void close_file(reader *r) {
  if (r->file) fclose(r->file);
  r->file = NULL;
}

/* Next byte, or EOF. */
static int next_byte(reader *r) {
  if (r->used == r->filled) {
    r->filled = fread(r->block, 1, sizeof r->block, r->file);
    r->used = 0;
    if (r->filled == 0) return EOF;
  }
  return (unsigned char)r->block[r->used++];
}

/* Next line, without its end ("\n" or "\r\n"); sets end where there is none. A comment may be
 * longer than the buffer and is cut, everything else may not. */
static vin_status read_line(reader *r) {
  size_t length = 0;
  bool cut = false, zero = false;
  int c = next_byte(r);
  r->number++;
  r->end = c == EOF;
  for (; c != EOF && c != '\n'; c = next_byte(r)) {
    if (c == '\0') zero = true;
    if (length + 1 < sizeof r->line)
      r->line[length++] = (char)c;
    else if (c != '\r')
      cut = true;
  }
  r->line[length] = '\0';
  r->at = r->line;
  if (ferror(r->file))
    return vini_fail_text(r->text, r->text_size, VIN_ERR_IO, "%s: cannot be read", r->path);
  if (zero) return fail_line(r, VIN_ERR_BAD_INPUT, "a zero byte, this is not a text file");
  if (cut && r->line[0] != '%')
    return fail_line(r, VIN_ERR_BAD_INPUT, "longer than the 1024 characters of the format");
  return VIN_OK;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_space(reader *r) {
  while (is_space(*r->at)) r->at++;
}

/* Next line that is neither blank nor a comment. */
static vin_status read_data_line(reader *r) {
  do {
    VINI_TRY(read_line(r));
    skip_space(r);
  } while (!r->end && (*r->at == '\0' || *r->at == '%'));
  return VIN_OK;
}

static vin_status expect_line_end(reader *r) {
  skip_space(r);
  return *r->at == '\0' ? VIN_OK
                        : fail_line(r, VIN_ERR_BAD_INPUT, "more than belongs on this line");
}

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Skips the word (in lower case) if it comes next, in any case. */
static bool accept_word(reader *r, const char *word) {
  skip_space(r);
  const char *s = r->at;
  while (*word && lower(*s) == *word) s++, word++;
  if (*word || !(*s == '\0' || is_space(*s))) return false;
  r->at = s;
  return true;
}

/* Reads an integer; what does not fit stops at INT64_MAX / 10, far above any vin_int. */
static bool read_integer(reader *r, int64_t *value) {
  skip_space(r);
  bool negative = *r->at == '-';
  if (*r->at == '-' || *r->at == '+') r->at++;
  if (*r->at < '0' || *r->at > '9') return false;
  *value = 0;
  for (; *r->at >= '0' && *r->at <= '9'; r->at++)
    if (*value < INT64_MAX / 100) *value = 10 * *value + (*r->at - '0');
  if (negative) *value = -*value;
  return *r->at == '\0' || is_space(*r->at);
}

static vin_status read_size(reader *r, const char *what, vin_int *size) {
  int64_t value;
  if (!read_integer(r, &value) || value < 0)
    return vini_fail_text(r->text, r->text_size, VIN_ERR_BAD_INPUT,
                          "%s, line %lld: the number of %s is missing or not a count", r->path,
                          (long long)r->number, what);
  if (value > INT32_MAX)
    return vini_fail_text(r->text, r->text_size, VIN_ERR_TOO_LARGE,
                          "%s, line %lld: the number of %s does not fit in 32 bits", r->path,
                          (long long)r->number, what);
  *size = (vin_int)value;
  return VIN_OK;
}

/* A row or column, turned from 1-based to 0-based. */
static vin_status read_index(reader *r, const char *what, vin_int size, vin_int *index) {
  int64_t value;
  if (!read_integer(r, &value))
    return fail_line(r, VIN_ERR_BAD_INPUT, "an entry needs a row and a column, both integers");
  if (value < 1 || value > size)
    return vini_fail_text(r->text, r->text_size, VIN_ERR_BAD_INPUT,
                          "%s, line %lld: %s %lld is outside 1..%d", r->path, (long long)r->number,
                          what, (long long)value, size);
  *index = (vin_int)(value - 1);
  return VIN_OK;
}

static vin_status read_value(reader *r, double *value) {
  char *end;
  skip_space(r);
  *value = vini_parse_number(r->at, &end);
  if (end == r->at || !(*end == '\0' || is_space(*end)))
    return fail_line(r, VIN_ERR_BAD_INPUT, "the value is missing or not a number");
  r->at = end;
  if (vini_first_nonfinite(value, 1) >= 0)
    return fail_line(r, VIN_ERR_BAD_INPUT, "the value is NaN, infinite or too large for a double");
  /* Every double from 2^53 on is an integer, and below it the conversion is exact. */
  if (r->integer && *value < 0x1p53 && *value > -0x1p53 && (double)(int64_t)*value != *value)
    return fail_line(r, VIN_ERR_BAD_INPUT, "the banner says integer, the value is not");
  return VIN_OK;
}

/* The banner: %%MatrixMarket matrix <format> <field> <symmetry>. */
static vin_status read_banner(reader *r, const char *format) {
  bool array = format[0] == 'a';
  VINI_TRY(read_line(r));
  if (r->end) return fail_line(r, VIN_ERR_BAD_INPUT, "the file is empty");
  if (!accept_word(r, "%%matrixmarket"))
    return fail_line(r, VIN_ERR_BAD_INPUT, "no %%MatrixMarket banner, not a Matrix Market file");
  if (!accept_word(r, "matrix")) return fail_line(r, VIN_ERR_BAD_INPUT, "not a matrix");
  if (!accept_word(r, format))
    return fail_line(r, VIN_ERR_BAD_INPUT,
                     array ? "not in array format" : "not in coordinate format");
  r->integer = accept_word(r, "integer");
  r->pattern = !array && accept_word(r, "pattern");
  if (!r->integer && !r->pattern && !accept_word(r, "real"))
    return fail_line(r, VIN_ERR_BAD_INPUT,
                     array ? "the field is not real or integer"
                           : "the field is not real, integer or pattern");
  r->symmetric = !array && accept_word(r, "symmetric");
  if (!r->symmetric && !accept_word(r, "general"))
    return fail_line(r, VIN_ERR_BAD_INPUT,
                     array ? "the vector is not general" : "not general or symmetric");
  return expect_line_end(r);
}

static vin_status expect_entry(reader *r, vin_int done, vin_int count) {
  VINI_TRY(read_data_line(r));
  if (!r->end) return VIN_OK;
  return vini_fail_text(r->text, r->text_size, VIN_ERR_BAD_INPUT,
                        "%s: the file ends after %d of %d entries", r->path, done, count);
}

static vin_status expect_file_end(reader *r) {
  VINI_TRY(read_data_line(r));
  return r->end ? VIN_OK : fail_line(r, VIN_ERR_BAD_INPUT, "more entries than the size line says");
}

/* The triplets of a coordinate file while they are read. */
typedef struct entries {
  const vin_context *context;
  vin_int rows, cols, count, capacity;
  vin_int *row, *col;
  double *value;
} entries;

static bool regrow(const vin_context *context, void **array, vin_int used, vin_int capacity,
                   size_t element_size) {
  void *grown = vini_alloc(context, (size_t)capacity, element_size);
  if (!grown) return false;
  if (*array) memcpy(grown, *array, (size_t)used * element_size);
  vini_free(context, *array);
  *array = grown;
  return true;
}

/* Capacity after the present one: doubled, but never above the number the file claims. */
static vin_int next_capacity(vin_int capacity, vin_int count) {
  if (capacity == 0) return vini_min_int(count, FIRST_CAPACITY);
  return capacity > count / 2 ? count : 2 * capacity;
}

static bool grow_entries(entries *e, vin_int used) {
  vin_int capacity = next_capacity(e->capacity, e->count);
  void *row = e->row, *col = e->col, *value = e->value;
  bool grown = regrow(e->context, &row, used, capacity, sizeof *e->row) &&
               regrow(e->context, &col, used, capacity, sizeof *e->col) &&
               regrow(e->context, &value, used, capacity, sizeof *e->value);
  e->row = row;
  e->col = col;
  e->value = value;
  if (grown) e->capacity = capacity;
  return grown;
}

static void free_entries(entries *e) {
  vini_free(e->context, e->row);
  vini_free(e->context, e->col);
  vini_free(e->context, e->value);
}

static vin_status read_entry(reader *r, entries *e, vin_int k) {
  VINI_TRY(read_index(r, "row", e->rows, &e->row[k]));
  VINI_TRY(read_index(r, "column", e->cols, &e->col[k]));
  if (r->symmetric && e->row[k] < e->col[k])
    return fail_line(r, VIN_ERR_BAD_INPUT, "above the diagonal of a symmetric matrix");
  if (r->pattern)
    e->value[k] = 1.0;
  else
    VINI_TRY(read_value(r, &e->value[k]));
  return expect_line_end(r);
}

static vin_status read_entries(reader *r, entries *e) {
  VINI_TRY(read_banner(r, "coordinate"));
  VINI_TRY(read_data_line(r));
  if (r->end) return fail_line(r, VIN_ERR_BAD_INPUT, "the file ends before its size line");
  VINI_TRY(read_size(r, "rows", &e->rows));
  VINI_TRY(read_size(r, "columns", &e->cols));
  VINI_TRY(read_size(r, "entries", &e->count));
  VINI_TRY(expect_line_end(r));
  if (r->symmetric && e->rows != e->cols)
    return fail_line(r, VIN_ERR_BAD_INPUT, "a symmetric matrix must be square");
  for (vin_int k = 0; k < e->count; k++) {
    VINI_TRY(expect_entry(r, k, e->count));
    if (k == e->capacity && !grow_entries(e, k))
      return fail_line(r, VIN_ERR_NO_MEMORY, "out of memory for the entries");
    VINI_TRY(read_entry(r, e, k));
  }
  return expect_file_end(r);
}

/* Each value is finite by now, but the sum of duplicates may not be. */
static vin_status fill(vin_sparse *matrix, const char *path, const double *values) {
  vini_sparse_scatter(matrix, values);
  int64_t bad = vini_first_nonfinite(matrix->value, matrix->start[matrix->cols]);
  if (bad < 0) return VIN_OK;
  return vini_fail(&matrix->object, VIN_ERR_BAD_INPUT,
                   "%s: the entries of one place in row %d add up to %g", path,
                   matrix->row[bad] + 1, matrix->value[bad]);
}

vin_status vin_matrix_market_read(vin_sparse **matrix, const vin_context *context,
                                  const char *path) {
  VINI_TRY(vini_object_begin((void **)matrix, context, sizeof **matrix));
  vini_object *object = &(*matrix)->object;
  entries e = {.context = &object->context};
  reader r;
  object->created = open_file(&r, path, object->text, sizeof object->text);
  if (object->created == VIN_OK) object->created = read_entries(&r, &e);
  close_file(&r);
  if (object->created == VIN_OK) {
    vin_triplets pattern = {.count = e.count, .row = e.row, .col = e.col};
    vin_storage storage = r.symmetric ? VIN_STORAGE_SYMMETRIC_LOWER : VIN_STORAGE_GENERAL;
    if (vini_sparse_build(*matrix, e.rows, e.cols, pattern, storage) == VIN_OK)
      object->created = fill(*matrix, path, e.value);
  }
  free_entries(&e);
  return object->created;
}

static vin_status read_values(reader *r, vin_int *count, double **x) {
  vin_int cols, capacity = 0;
  VINI_TRY(read_banner(r, "array"));
  VINI_TRY(read_data_line(r));
  if (r->end) return fail_line(r, VIN_ERR_BAD_INPUT, "the file ends before its size line");
  VINI_TRY(read_size(r, "rows", count));
  VINI_TRY(read_size(r, "columns", &cols));
  VINI_TRY(expect_line_end(r));
  if (cols != 1) return fail_line(r, VIN_ERR_BAD_INPUT, "a vector has one column");
  *x = malloc(sizeof **x); /* the caller gets something to free also for no values */
  if (!*x) return fail_line(r, VIN_ERR_NO_MEMORY, "out of memory for the values");
  for (vin_int k = 0; k < *count; k++) {
    VINI_TRY(expect_entry(r, k, *count));
    if (k == capacity) {
      capacity = next_capacity(capacity, *count);
      double *grown = (size_t)capacity > PTRDIFF_MAX / sizeof **x
                          ? NULL
                          : realloc(*x, (size_t)capacity * sizeof **x);
      if (!grown) return fail_line(r, VIN_ERR_NO_MEMORY, "out of memory for the values");
      *x = grown;
    }
    VINI_TRY(read_value(r, &(*x)[k]));
    VINI_TRY(expect_line_end(r));
  }
  return expect_file_end(r);
}

vin_status vin_matrix_market_read_vector(const char *path, vin_int *count, double **x, char *text,
                                         size_t text_size) {
  if (text && text_size > 0) text[0] = '\0';
  if (count) *count = 0;
  if (x) *x = NULL;
  if (!count || !x) return vini_fail_text(text, text_size, VIN_ERR_BAD_INPUT, "count or x is NULL");
  reader r;
  vin_status status = open_file(&r, path, text, text_size);
  if (status == VIN_OK) status = read_values(&r, count, x);
  close_file(&r);
  if (status != VIN_OK) {
    free(*x);
    *x = NULL;
    *count = 0;
  }
  return status;
}
