/* test_number - numbers to and from text in any locale, scans of arrays. */
#include "base/base.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(number, use_point_replaces_any_decimal_point) {
  const char *pairs[][2] = {{"1,5", "1.5"},
                            {"-1\xD9\xAB"
                             "5e-07",
                             "-1.5e-07"},
                            {"1.5", "1.5"},
                            {"12", "12"},
                            {"1e+300", "1e+300"},
                            {"-inf", "-inf"},
                            {"nan", "nan"},
                            {"", ""}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    char text[32];
    snprintf(text, sizeof text, "%s", pairs[k][0]);
    vini_use_point(text);
    cr_expect_str_eq(text, pairs[k][1]);
  }
}

/* Any double written with 17 digits is read back with the same bits, in the locale that is set. */
static void check_round_trips(void) {
  test_random random = {2024};
  for (int k = 0; k < 20000; k++) {
    uint64_t bits = test_random_bits(&random);
    double value, back;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    char text[VINI_NUMBER_SIZE], *end;
    vini_format_number(text, sizeof text, value, 17);
    cr_assert_null(strchr(text, ','), "%s", text);
    back = vini_parse_number(text, &end);
    cr_assert_eq(memcmp(&back, &value, sizeof value), 0, "%s", text);
    cr_assert_eq(*end, '\0');
  }
}

static void check_fixed_numbers(void) {
  char text[VINI_NUMBER_SIZE], *end;
  cr_expect_str_eq(vini_format_number(text, sizeof text, 0.5, 17), "0.5");
  cr_expect_str_eq(vini_format_number(text, sizeof text, -1.25e-300, 3), "-1.25e-300");
  cr_expect_eq(vini_parse_number("1.5", &end), 1.5);
  cr_expect_str_eq(end, "");
  const char *comma = "1,5";
  cr_expect_eq(vini_parse_number(comma, &end), 1.0, "a comma ends a number in every locale");
  cr_expect_eq(end, comma + 1);
}

Test(number, round_trips_in_the_c_locale) {
  check_round_trips();
  check_fixed_numbers();
}

/* Criterion runs every test in a process of its own, so the locale does not spread. */
Test(number, round_trips_in_locales_with_another_decimal_point) {
  const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "ps_AF.UTF-8"};
  bool found = false;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if (!setlocale(LC_ALL, names[k])) continue;
    found = true;
    check_round_trips();
    check_fixed_numbers();
  }
  if (!found) cr_log_info("no such locale is installed");
}

/* Decimal numbers against strtod of the C locale: value and end. */
Test(number, parse_agrees_with_strtod) {
  const char *texts[] = {"0",
                         "-0",
                         "+0.0e5",
                         " \t\n12",
                         "12abc",
                         ".5",
                         "5.",
                         "5.e3",
                         ".",
                         "-.",
                         "+",
                         "",
                         "e5",
                         "1e",
                         "1e+",
                         "1e-x",
                         "1e5",
                         "1E-5",
                         "--1",
                         "1..2",
                         "1e400",
                         "-1e400",
                         "1e-400",
                         "4.9e-324",
                         "2.2250738585072011e-308",
                         "1.7976931348623157e308",
                         "1e99999999999999999999",
                         "1e-99999999999999999999",
                         "0e99999999999999999999",
                         "0.000000000000000000000000000001e30",
                         "inf",
                         "-Infinity",
                         "nan",
                         "NaN(12)",
                         "infinit",
                         "n",
                         "9007199254740993",
                         "9007199254740992.99999999999999999999999",
                         "1.00000000000000011102230246251565404236316680908203125"};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    char *end, *expected_end;
    double value = vini_parse_number(texts[k], &end);
    double expected = strtod(texts[k], &expected_end);
    cr_expect_eq(end, expected_end, "'%s'", texts[k]);
    cr_expect_eq(memcmp(&value, &expected, sizeof value), 0, "'%s': %g", texts[k], value);
    cr_expect(vini_parse_number(texts[k], NULL) == value || isnan(value));
  }
}

/* The hardest case of decimal to double: half way between two doubles, decided by a digit far
 * behind. */
Test(number, digits_beyond_the_buffer_still_round_correctly) {
  char text[3000];
  strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
  size_t length = strlen(text);
  memset(text + length, '0', 2000);
  strcpy(text + length + 2000, "1");
  cr_expect_eq(vini_parse_number(text, NULL), 1.0 + DBL_EPSILON);
  text[length + 2000] = '0';
  cr_expect_eq(vini_parse_number(text, NULL), 1.0, "a tie goes to the even neighbour");

  memset(text, '1', 2500); /* 1111...: overflows, and is not cut to a finite number */
  text[2500] = '\0';
  cr_expect_eq(vini_parse_number(text, NULL), INFINITY);
  strcpy(text + 2500, "e-2499");
  cr_expect_eq(vini_parse_number(text, NULL), 10.0 / 9.0);
  memset(text, '0', 2500); /* leading zeros use no room */
  text[1] = '.';
  strcpy(text + 2500, "25e2499");
  cr_expect_eq(vini_parse_number(text, NULL), 2.5);
}

Test(number, format_clamps_digits_and_respects_the_buffer) {
  char text[VINI_NUMBER_SIZE], small[4] = "zzz";
  cr_expect_str_eq(vini_format_number(text, sizeof text, 1.0 / 3.0, 1000), "0.33333333333333331");
  cr_expect_str_eq(vini_format_number(text, sizeof text, 1.0 / 3.0, -3), "0.3");
  cr_expect_str_eq(vini_format_number(text, sizeof text, (double)NAN, 17) + (text[0] == '-'),
                   "nan");
  cr_expect_str_eq(vini_format_number(text, sizeof text, -(double)INFINITY, 17), "-inf");
  cr_expect_str_eq(vini_format_number(small, sizeof small, 0.125, 17), "0.1");
  cr_expect_eq(vini_format_number(small, 0, 0.125, 17), small);
  cr_expect_lt(strlen(vini_format_number(text, sizeof text, -DBL_MIN, 17)), sizeof text - 1);
}

/* Field report 54: a NaN anywhere is found, the first one is named, whatever its sign or payload.
 */
Test(scan, first_nonfinite_finds_it_at_every_place) {
  enum { COUNT = 600 }; /* more than two blocks of the scan */
  double x[COUNT];
  const double bad[] = {(double)NAN, -(double)NAN, (double)INFINITY, -(double)INFINITY};
  for (int k = 0; k < COUNT; k++) x[k] = k % 2 ? -DBL_MAX : DBL_TRUE_MIN;
  cr_expect_eq(vini_first_nonfinite(x, COUNT), -1);
  cr_expect_eq(vini_first_nonfinite(NULL, 0), -1);
  for (int k = 0; k < COUNT; k++) {
    double kept = x[k];
    x[k] = bad[k % 4];
    cr_assert_eq(vini_first_nonfinite(x, COUNT), k);
    cr_assert_eq(vini_first_nonfinite(x, k), -1);
    x[k] = kept;
  }
  x[300] = x[100] = (double)NAN;
  cr_expect_eq(vini_first_nonfinite(x, COUNT), 100);
}

Test(scan, max_abs_is_exact_and_nan_cannot_hide) {
  double x[5] = {1.0, -7.5, 3.0, -0.0, 2.0};
  cr_expect_eq(vini_max_abs(x, 5), 7.5);
  cr_expect_eq(vini_max_abs(NULL, 0), 0.0);
  x[2] = -(double)INFINITY;
  cr_expect_eq(vini_max_abs(x, 5), INFINITY);
  x[0] = (double)NAN;
  cr_expect(isnan(vini_max_abs(x, 5)));
}
