/* test_matrix_market - files written and read back. */
#include "base/base.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 256, TEXT_SIZE = 512 };

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file);
  char *content = calloc(1, 65536);
  cr_assert_not_null(content);
  size_t length = fread(content, 1, 65535, file);
  content[length] = '\0';
  fclose(file);
  return content;
}

static vin_sparse *small_matrix(vin_storage storage) {
  const vin_int row[4] = {2, 0, 1, 2}, col[4] = {0, 0, 1, 2};
  const double value[4] = {1.0 / 3.0, -DBL_MAX, DBL_TRUE_MIN, 0.0};
  vin_sparse *matrix = NULL;
  cr_assert_eq(vin_sparse_create(&matrix, NULL, 3, 3, (vin_triplets){4, row, col}, storage),
               VIN_OK);
  cr_assert_eq(vin_sparse_set_values(matrix, value), VIN_OK);
  return matrix;
}

static void expect_same(const vin_sparse *a, const vin_sparse *b) {
  vin_csc x = vin_sparse_view(a), y = vin_sparse_view(b);
  cr_assert(x.rows == y.rows && x.cols == y.cols && x.storage == y.storage);
  cr_assert_eq(memcmp(x.start, y.start, ((size_t)x.cols + 1) * sizeof *x.start), 0);
  cr_assert_eq(memcmp(x.row, y.row, (size_t)x.start[x.cols] * sizeof *x.row), 0);
  cr_assert_eq(memcmp(x.value, y.value, (size_t)x.start[x.cols] * sizeof *x.value), 0);
}

static void check_round_trip(void) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "round_trip.mtx");
  for (int symmetric = 0; symmetric < 2; symmetric++) {
    vin_sparse *matrix =
        small_matrix(symmetric ? VIN_STORAGE_SYMMETRIC_LOWER : VIN_STORAGE_GENERAL);
    vin_sparse *back = NULL;
    cr_assert_eq(vin_matrix_market_write(matrix, path, NULL), VIN_OK);
    cr_assert_eq(vin_matrix_market_read(&back, NULL, path), VIN_OK, "%s", vin_sparse_error(back));
    expect_same(matrix, back);
    vin_sparse_destroy(matrix);
    vin_sparse_destroy(back);
  }
  vin_int count;
  double *back, x[3] = {1.0 / 3.0, -DBL_MAX, DBL_TRUE_MIN};
  cr_assert_eq(vin_matrix_market_write_vector(path, 3, x, NULL, 0), VIN_OK);
  cr_assert_eq(vin_matrix_market_read_vector(path, &count, &back, NULL, 0), VIN_OK);
  cr_assert_eq(count, 3);
  cr_expect_eq(memcmp(back, x, sizeof x), 0);
  free(back);
  remove(path);
}

/* 17 digits identify a double, so what is read back is equal in every bit. */
Test(round_trip, keeps_every_bit) {
  check_round_trip();
}

Test(round_trip, keeps_every_bit_where_the_decimal_point_is_a_comma) {
  const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "ps_AF.UTF-8"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (setlocale(LC_ALL, names[k])) check_round_trip();
}

Test(round_trip, empty_matrix_and_vector) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "empty.mtx");
  vin_sparse *matrix = NULL, *back = NULL;
  cr_assert_eq(vin_sparse_create(&matrix, NULL, 0, 4, (vin_triplets){0}, VIN_STORAGE_GENERAL),
               VIN_OK);
  cr_assert_eq(vin_matrix_market_write(matrix, path, ""), VIN_OK);
  cr_assert_eq(vin_matrix_market_read(&back, NULL, path), VIN_OK, "%s", vin_sparse_error(back));
  expect_same(matrix, back);
  vin_sparse_destroy(matrix);
  vin_sparse_destroy(back);
  vin_int count = 9;
  double *x = NULL;
  cr_assert_eq(vin_matrix_market_write_vector(path, 0, NULL, NULL, 0), VIN_OK);
  cr_assert_eq(vin_matrix_market_read_vector(path, &count, &x, NULL, 0), VIN_OK);
  cr_expect_eq(count, 0);
  cr_expect_not_null(x, "something to free");
  free(x);
  remove(path);
}

Test(write, the_file_is_what_the_format_asks_for) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "exact.mtx");
  const vin_int row[3] = {1, 0, 1}, col[3] = {0, 0, 0};
  vin_sparse *matrix = NULL;
  cr_assert_eq(vin_sparse_create(&matrix, NULL, 2, 2, (vin_triplets){3, row, col},
                                 VIN_STORAGE_SYMMETRIC_LOWER),
               VIN_OK);
  cr_assert_eq(vin_sparse_set_values(matrix, (const double[3]){0.25, 0.1, 0.5}), VIN_OK);
  cr_assert_eq(vin_matrix_market_write(matrix, path, "chain\r\n\nstep 3\n"), VIN_OK);
  char *content = read_text(path);
  cr_expect_str_eq(content,
                   "%%MatrixMarket matrix coordinate real symmetric\n% chain\n% \n% step 3\n"
                   "2 2 2\n1 1 0.10000000000000001\n2 1 0.75\n");
  free(content);
  vin_sparse_destroy(matrix);
  remove(path);
}

Test(write, long_comments_are_broken_into_lines_that_readers_take) {
  char path[PATH_SIZE], comment[5001];
  test_scratch_path(path, sizeof path, "comment.mtx");
  memset(comment, 'c', 5000);
  comment[5000] = '\0';
  vin_sparse *matrix = small_matrix(VIN_STORAGE_GENERAL), *back = NULL;
  cr_assert_eq(vin_matrix_market_write(matrix, path, comment), VIN_OK);
  char *content = read_text(path);
  for (char *line = strtok(content, "\n"); line; line = strtok(NULL, "\n"))
    cr_expect_leq(strlen(line), 1024);
  free(content);
  cr_assert_eq(vin_matrix_market_read(&back, NULL, path), VIN_OK);
  expect_same(matrix, back);
  vin_sparse_destroy(matrix);
  vin_sparse_destroy(back);
  remove(path);
}

Test(write, failures_name_the_file) {
  vin_sparse *matrix = small_matrix(VIN_STORAGE_GENERAL);
  cr_expect_eq(vin_matrix_market_write(matrix, "/nonexistent/a.mtx", NULL), VIN_ERR_IO);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), "/nonexistent/a.mtx"));
  cr_expect_eq(vin_matrix_market_write(matrix, NULL, NULL), VIN_ERR_BAD_INPUT);
  vin_sparse_destroy(matrix);

  char text[TEXT_SIZE];
  double x = 1.0, bad[2] = {1.0, (double)NAN};
  cr_expect_eq(vin_matrix_market_write_vector("/nonexistent/v", 1, &x, text, sizeof text),
               VIN_ERR_IO);
  cr_expect_not_null(strstr(text, "/nonexistent/v"));
  cr_expect_eq(vin_matrix_market_write_vector(NULL, 1, &x, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_matrix_market_write_vector("v", -1, &x, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_matrix_market_write_vector("v", 1, NULL, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_matrix_market_write_vector("v", 2, bad, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(text, "value 1"));
}

/* A full disk, small enough to be noticed at the end only, and large enough to be noticed midway. A
 * device is not removed, even by root. */
Test(write, a_full_disk_is_an_error_and_a_device_stays) {
  struct stat before, after;
  if (stat("/dev/full", &before) != 0) cr_skip_test("this system has no /dev/full");
  vin_sparse *matrix = small_matrix(VIN_STORAGE_GENERAL);
  cr_expect_eq(vin_matrix_market_write(matrix, "/dev/full", NULL), VIN_ERR_IO);
  cr_expect_not_null(strstr(vin_sparse_error(matrix), "/dev/full: No space left"), "%s",
                     vin_sparse_error(matrix));
  vin_sparse_destroy(matrix);
  double *x = calloc(100000, sizeof *x);
  cr_assert_not_null(x);
  char text[TEXT_SIZE];
  cr_expect_eq(vin_matrix_market_write_vector("/dev/full", 100000, x, text, sizeof text),
               VIN_ERR_IO);
  cr_expect_not_null(strstr(text, "/dev/full"));
  free(x);
  cr_assert_eq(stat("/dev/full", &after), 0);
  cr_expect_eq(before.st_ino, after.st_ino);
}

/* A limit on the file size makes an ordinary file half-written; it must be gone afterwards. */
Test(write, a_half_written_file_is_removed) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "half.mtx");
  double *x = calloc(100000, sizeof *x);
  cr_assert_not_null(x);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit old, limit;
  cr_assert_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = old;
  limit.rlim_cur = 50000;
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  vin_status status = vin_matrix_market_write_vector(path, 100000, x, NULL, 0);
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
  cr_expect_eq(status, VIN_ERR_IO);
  cr_expect_neq(access(path, F_OK), 0, "the file is gone");
  free(x);
}

Test(write, a_sum_that_overflowed_is_refused_before_the_file_is_touched) {
  char path[PATH_SIZE];
  test_scratch_path(path, sizeof path, "overflow.mtx");
  const vin_int zero[2] = {0, 0};
  vin_sparse *matrix = NULL;
  vin_triplets pattern = {2, zero, zero};
  cr_assert_eq(vin_sparse_create(&matrix, NULL, 1, 1, pattern, VIN_STORAGE_GENERAL), VIN_OK);
  cr_assert_eq(vin_sparse_set_values(matrix, (const double[2]){DBL_MAX, DBL_MAX}), VIN_OK);
  cr_expect_eq(vin_matrix_market_write(matrix, path, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_neq(access(path, F_OK), 0);
  vin_sparse_destroy(matrix);
}
