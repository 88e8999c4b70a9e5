/* test_matrix_market_read - what the format allows, and every way a file can be wrong. */
#include "base/base.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 256, TEXT_SIZE = 512 };

static void write_bytes(const char *path, const char *content, size_t length) {
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  cr_assert_eq(fwrite(content, 1, length, file), length);
  cr_assert_eq(fclose(file), 0);
}

static void write_text(const char *path, const char *content) {
  write_bytes(path, content, strlen(content));
}

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"

static vin_sparse *read_matrix(const char *content) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "read.mtx");
  write_text(path, content);
  vin_sparse *matrix = NULL;
  vin_status status = vin_matrix_market_read(&matrix, NULL, path);
  cr_assert_eq(status, VIN_OK, "%s", vin_sparse_error(matrix));
  remove(path);
  return matrix;
}

/* All spellings of the symmetric matrix [4 0; 2 5] in its lower triangle. */
Test(read, what_the_format_allows_is_accepted) {
  const char *contents[] = {
      SYMMETRIC "2 2 3\n1 1 4\n2 1 2\n2 2 5\n",
      SYMMETRIC "2 2 3\n2 2 5\n2 1 2\n1 1 4", /* order, no last newline */
      "%%matrixmarket MATRIX Coordinate REAL Symmetric\n2 2 3\n1 1 4\n2 1 2\n2 2 5\n", /* any case
                                                                                        */
      SYMMETRIC
      "% comment\n%\n\n2 2 3\n\n1 1 4\n% late\n2 1 2\n2 2 5\n\n\n", /* comments, blank lines */
      "%%MatrixMarket matrix coordinate real symmetric\r\n%c\r\n2 2 3\r\n1 1 4\r\n2 1 2\r\n2 2 "
      "5\r\n",
      SYMMETRIC "  2\t2  3 \n 1 1\t+4.0e0\n2  1 .2E1 \n2 2 50e-1\n", /* spaces, signs */
      SYMMETRIC "2 2 5\n1 1 4\n2 1 1\n2 2 2\n2 1 1\n2 2 3\n",        /* duplicates add */
      "%%MatrixMarket matrix coordinate integer symmetric\n2 2 3\n1 1 4\n2 1 2\n2 2 5\n"};
  const double expected[4] = {4, 2, 2, 5};
  for (size_t k = 0; k < sizeof contents / sizeof *contents; k++) {
    vin_sparse *matrix = read_matrix(contents[k]);
    double found[4];
    vin_csc view = vin_sparse_view(matrix);
    cr_assert(view.rows == 2 && view.cols == 2 && view.storage == VIN_STORAGE_SYMMETRIC_LOWER);
    test_dense_from_csc(view, found);
    cr_expect_eq(test_max_difference(4, found, expected), 0.0, "%s", contents[k]);
    vin_sparse_destroy(matrix);
  }
}

Test(read, pattern_entries_are_one_and_the_file_order_is_the_declared_order) {
  vin_sparse *matrix =
      read_matrix("%%MatrixMarket matrix coordinate pattern general\n3 2 3\n3 2\n1 1\n3 1\n");
  double found[6];
  const double ones[6] = {1, 0, 1, 0, 0, 1}, mine[6] = {20, 0, 30, 0, 0, 10};
  test_dense_from_csc(vin_sparse_view(matrix), found);
  cr_expect_eq(test_max_difference(6, found, ones), 0.0);
  cr_assert_eq(vin_sparse_set_values(matrix, (const double[3]){10, 20, 30}), VIN_OK);
  test_dense_from_csc(vin_sparse_view(matrix), found);
  cr_expect_eq(test_max_difference(6, found, mine), 0.0);
  vin_sparse_destroy(matrix);
}

Test(read, a_comment_of_any_length_is_skipped) {
  char *content = calloc(1, 40000);
  cr_assert_not_null(content);
  strcpy(content, GENERAL "%");
  memset(content + strlen(content), 'x', 30000);
  strcat(content, "\n1 1 1\n1 1 7\n");
  vin_sparse *matrix = read_matrix(content);
  cr_expect_eq(vin_sparse_view(matrix).value[0], 7.0);
  vin_sparse_destroy(matrix);
  free(content);
}

typedef struct wrong {
  const char *content, *text; /* text must appear in the explanation */
  vin_status status;
} wrong;

static const wrong wrong_matrices[] = {
    {"", "line 1: the file is empty", VIN_ERR_BAD_INPUT},
    {"\n", "line 1: no %%MatrixMarket", VIN_ERR_BAD_INPUT},
    {"hello\n", "line 1: no %%MatrixMarket", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarketing matrix coordinate real general\n", "line 1: no %", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket vector coordinate real general\n", "not a matrix", VIN_ERR_BAD_INPUT},
    {ARRAY "1 1\n1\n", "not in coordinate format", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "field",
     VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", "symmetric", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n", "symmetric",
     VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate real\n1 1 0\n", "line 1", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate real general x\n1 1 0\n", "line 1", VIN_ERR_BAD_INPUT},
    {GENERAL, "before its size line", VIN_ERR_BAD_INPUT},
    {GENERAL "% only a comment", "before its size line", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2\n", "line 2: the number of entries", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2.5 1\n", "line 2: the number of columns", VIN_ERR_BAD_INPUT},
    {GENERAL "-2 2 1\n", "line 2: the number of rows", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1 1\n", "line 2: more than", VIN_ERR_BAD_INPUT},
    {GENERAL "2147483648 1 1\n", "rows does not fit", VIN_ERR_TOO_LARGE},
    {GENERAL "1 99999999999999999999999999 1\n", "columns does not fit", VIN_ERR_TOO_LARGE},
    {GENERAL "1 1 4294967297\n1 1 1\n", "entries does not fit", VIN_ERR_TOO_LARGE},
    {SYMMETRIC "2 3 0\n", "must be square", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 3\n1 1 1\n2 2 1\n", "ends after 2 of 3 entries", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 2147483647\n1 1 1\n", "ends after 1 of 2147483647", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 1\n2 2 1\n", "line 4: more entries", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 0\n1 1 1\n", "line 3: more entries", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n3 1 1\n", "line 3: row 3 is outside 1..2", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n0 1 1\n", "line 3: row 0 is outside 1..2", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 -1 1\n", "line 3: column -1 is outside 1..2", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n4294967297 1 1\n", "row 4294967297 is outside", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1\n", "a row and a column", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1x 1 1\n", "a row and a column", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1\n", "value is missing", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 x\n", "not a number", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 1,5\n", "not a number", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 0x10\n", "not a number", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 1 2\n", "more than belongs", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 nan\n", "line 3: the value is NaN", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 -inf\n", "line 3: the value is NaN, inf", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 1\n1 1 1e999\n", "too large for a double", VIN_ERR_BAD_INPUT},
    {GENERAL "2 2 2\n2 1 1e308\n2 1 1e308\n", "row 2 add up to inf", VIN_ERR_BAD_INPUT},
    {SYMMETRIC "2 2 1\n1 2 1\n", "line 3: above the diagonal", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", "integer",
     VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n", "more than",
     VIN_ERR_BAD_INPUT}};

Test(read, every_wrong_file_is_refused_with_its_line) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "wrong.mtx");
  for (size_t k = 0; k < sizeof wrong_matrices / sizeof *wrong_matrices; k++) {
    const wrong *w = &wrong_matrices[k];
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_sparse *matrix = NULL;
    write_text(path, w->content);
    cr_expect_eq(vin_matrix_market_read(&matrix, &context, path), w->status, "%s", w->content);
    cr_expect_not_null(strstr(vin_sparse_error(matrix), w->text), "'%s' is not in '%s'", w->text,
                       vin_sparse_error(matrix));
    cr_expect_not_null(strstr(vin_sparse_error(matrix), path));
    cr_expect_eq(vin_sparse_set_values(matrix, NULL), VIN_ERR_BAD_STATE);
    vin_sparse_destroy(matrix);
    cr_expect_eq(allocator.live, 0);
  }
  remove(path);
}

Test(read, zero_bytes_and_endless_lines_are_refused) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "bytes.mtx");
  static const char zero[] = GENERAL "1 1 1\n1 1 1\0 2\n";
  vin_sparse *matrix = NULL;
  write_bytes(path, zero, sizeof zero - 1);
  cr_expect_eq(vin_matrix_market_read(&matrix, NULL, path), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), "line 3: a zero byte"));
  vin_sparse_destroy(matrix);

  char *content = calloc(1, 40000);
  cr_assert_not_null(content);
  strcpy(content, GENERAL);
  memset(content + strlen(content), ' ', 30000);
  strcat(content, "1 1 1\n1 1 1\n");
  write_text(path, content);
  cr_expect_eq(vin_matrix_market_read(&matrix, NULL, path), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), "line 2: longer than"));
  vin_sparse_destroy(matrix);
  free(content);
  remove(path);
}

Test(read, a_file_that_is_not_there_or_a_directory_is_an_io_error) {
  vin_sparse *matrix = NULL;
  const char *paths[2] = {"/nonexistent.mtx", "/tmp"};
  for (int k = 0; k < 2; k++) {
    cr_expect_eq(vin_matrix_market_read(&matrix, NULL, paths[k]), VIN_ERR_IO);
    cr_expect_not_null(strstr(vin_sparse_error(matrix), paths[k]));
    vin_sparse_destroy(matrix);
    vin_int count = 5;
    double *x = &(double){1.0};
    char text[TEXT_SIZE];
    cr_expect_eq(vin_matrix_market_read_vector(paths[k], &count, &x, text, sizeof text),
                 VIN_ERR_IO);
    cr_expect_not_null(strstr(text, paths[k]));
    cr_expect(count == 0 && x == NULL);
  }
  cr_expect_eq(vin_matrix_market_read(&matrix, NULL, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), "path"));
  vin_sparse_destroy(matrix);
  cr_expect_eq(vin_matrix_market_read(NULL, NULL, "x"), VIN_ERR_BAD_INPUT);
}

/* Every prefix of a valid file is a truncated file: refused, or complete but for the last newline
 * (or the last digits, which nobody can miss), never a crash. */
Test(read, every_prefix_is_handled) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "prefix.mtx");
  const char *content = SYMMETRIC "% c\n3 3 3\n1 1 4\n2 1 2.5e1\n3 3 5\n";
  for (size_t length = 0; length <= strlen(content); length++) {
    vin_sparse *matrix = NULL;
    write_bytes(path, content, length);
    vin_status status = vin_matrix_market_read(&matrix, NULL, path);
    cr_expect_eq(status, length + 1 >= strlen(content) ? VIN_OK : VIN_ERR_BAD_INPUT, "%zu", length);
    vin_sparse_destroy(matrix);
  }
  remove(path);
}

/* Bytes of a valid file changed at random: any answer but a crash, a leak or an unexplained
 * failure. */
Test(read, damaged_files_never_crash) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "damaged.mtx");
  const char *content = GENERAL "30 30 4\n1 1 4\n2 1 2.5e1\n3 30 -5\n1 1 1e-3\n";
  test_random random = {11};
  for (int trial = 0; trial < 2000; trial++) {
    char damaged[256];
    size_t length = strlen(content);
    memcpy(damaged, content, length);
    for (int k = 0; k < 1 + trial % 3; k++) {
      size_t at = (size_t)test_random_below(&random, (vin_int)length);
      /* Digits never replace spaces: 30 columns must not become billions, a valid but slow request.
       */
      const char bytes[] = " \n\r%-+.eE\0x\xFF";
      damaged[at] = bytes[test_random_below(&random, sizeof bytes)];
    }
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_sparse *matrix = NULL;
    write_bytes(path, damaged, length);
    vin_status status = vin_matrix_market_read(&matrix, &context, path);
    cr_expect(status == VIN_OK || strlen(vin_sparse_error(matrix)) > 0);
    vin_sparse_destroy(matrix);
    cr_assert_eq(allocator.live, 0);
  }
  remove(path);
}

/* 3000 entries make the arrays grow more than once. */
Test(read, fails_cleanly_at_every_allocation) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "memory.mtx");
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file);
  fprintf(file, "%s50 60 3000\n", GENERAL);
  for (int k = 0; k < 3000; k++) fprintf(file, "%d %d %d\n", 1 + k % 50, 1 + k / 50, k);
  fclose(file);
  vin_status status = VIN_ERR_NO_MEMORY;
  for (int64_t k = 1; status != VIN_OK; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_sparse *matrix = NULL;
    status = vin_matrix_market_read(&matrix, &context, path);
    if (allocator.calls >= k) {
      cr_assert_eq(status, VIN_ERR_NO_MEMORY, "allocation %lld", (long long)k);
      cr_assert_eq(matrix == NULL, k == 1);
      cr_assert_not_null(strstr(vin_sparse_error(matrix), "memory"));
    } else {
      cr_assert_eq(status, VIN_OK);
      for (int e = 0; e < 3000; e++) cr_assert_eq(vin_sparse_view(matrix).value[e], e);
    }
    vin_sparse_destroy(matrix);
    cr_assert_eq(allocator.live, 0, "leak when allocation %lld fails", (long long)k);
  }
  remove(path);
}

static const wrong wrong_vectors[] = {
    {"", "empty", VIN_ERR_BAD_INPUT},
    {GENERAL "1 1 1\n1 1 1\n", "not in array format", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix array complex general\n1 1\n1 0\n", "field", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix array pattern general\n1 1\n1\n", "field", VIN_ERR_BAD_INPUT},
    {"%%MatrixMarket matrix array real symmetric\n1 1\n1\n", "general", VIN_ERR_BAD_INPUT},
    {ARRAY, "before its size line", VIN_ERR_BAD_INPUT},
    {ARRAY "2 2\n1\n2\n3\n4\n", "one column", VIN_ERR_BAD_INPUT},
    {ARRAY "2\n1\n2\n", "columns is missing", VIN_ERR_BAD_INPUT},
    {ARRAY "2 1 1\n1\n2\n", "more than", VIN_ERR_BAD_INPUT},
    {ARRAY "-2 1\n1\n2\n", "rows", VIN_ERR_BAD_INPUT},
    {ARRAY "3000000000 1\n1\n2\n", "does not fit", VIN_ERR_TOO_LARGE},
    {ARRAY "2147483647 1\n1\n2\n", "ends after 2 of 2147483647", VIN_ERR_BAD_INPUT},
    {ARRAY "2 1\n1\n", "ends after 1 of 2", VIN_ERR_BAD_INPUT},
    {ARRAY "2 1\n1\n2\n3\n", "line 5: more entries", VIN_ERR_BAD_INPUT},
    {ARRAY "2 1\n1\n2 3\n", "line 4: more than", VIN_ERR_BAD_INPUT},
    {ARRAY "2 1\n1\nNaN\n", "line 4: the value is NaN", VIN_ERR_BAD_INPUT},
    {ARRAY "2 1\n1\nx\n", "line 4: the value is missing", VIN_ERR_BAD_INPUT}};

Test(read_vector, every_wrong_file_is_refused_with_its_line) {
  char path[PATH_SIZE], text[TEXT_SIZE];
  test_scratch_path(path, sizeof path, "wrong_vector.mtx");
  for (size_t k = 0; k < sizeof wrong_vectors / sizeof *wrong_vectors; k++) {
    const wrong *w = &wrong_vectors[k];
    vin_int count = 7;
    double *x = &(double){1.0};
    write_text(path, w->content);
    vin_status status = vin_matrix_market_read_vector(path, &count, &x, text, sizeof text);
    cr_expect_eq(status, w->status, "%s", w->content);
    cr_expect_not_null(strstr(text, w->text), "'%s' is not in '%s'", w->text, text);
    cr_expect(count == 0 && x == NULL);
  }
  remove(path);
}

Test(read_vector, grows_beyond_its_first_capacity_and_clears_the_text) {
  enum { COUNT = 5000 };
  static double x[COUNT];
  char path[PATH_SIZE], text[TEXT_SIZE] = "old";
  test_scratch_path(path, sizeof path, "vector.mtx");
  test_random random = {12};
  test_random_fill(&random, COUNT, x);
  cr_assert_eq(vin_matrix_market_write_vector(path, COUNT, x, text, sizeof text), VIN_OK);
  cr_expect_str_eq(text, "");
  vin_int count = 0;
  double *back = NULL;
  cr_assert_eq(vin_matrix_market_read_vector(path, &count, &back, text, sizeof text), VIN_OK, "%s",
               text);
  cr_assert_eq(count, COUNT);
  cr_expect_eq(memcmp(back, x, sizeof x), 0);
  free(back);
  remove(path);
}

Test(read_vector, null_outputs_are_refused) {
  vin_int count = 3;
  double *x = NULL;
  char text[TEXT_SIZE];
  cr_expect_eq(vin_matrix_market_read_vector("v", NULL, &x, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_matrix_market_read_vector("v", &count, NULL, text, sizeof text),
               VIN_ERR_BAD_INPUT);
  cr_expect_eq(count, 0);
  cr_expect_eq(vin_matrix_market_read_vector(NULL, &count, &x, NULL, 0), VIN_ERR_BAD_INPUT);
}
