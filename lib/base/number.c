/* number - numbers to and from text whatever the locale; scans of arrays. */
#include "base/base.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* In the output of %g whatever is neither digit, sign nor letter is the decimal point of the
 * locale, a comma or several bytes. Asking the locale itself (localeconv) would not be safe between
 * threads. */
void vini_use_point(char *number) {
  char *to = number;
  bool in_point = false;
  for (const char *from = number; *from; from++) {
    bool part = is_digit(*from) || is_letter(*from) || *from == '-' || *from == '+';
    if (part)
      *to++ = *from;
    else if (!in_point)
      *to++ = '.';
    in_point = !part;
  }
  *to = '\0';
}

const char *vini_format_number(char *text, size_t size, double value, int digits) {
  char own[2 * VINI_NUMBER_SIZE]; /* room for a decimal point of several bytes */
  if (size == 0) return text;
  digits = vini_max_int(1, vini_min_int(digits, DBL_DECIMAL_DIG));
  snprintf(own, sizeof own, "%.*g", digits, value);
  vini_use_point(own);
  snprintf(text, size, "%s", own);
  return text;
}

/* A decimal number as digits x 10^exponent, which needs no decimal point. 767 digits decide how any
 * decimal number rounds to a double; one more digit stands for all that follow. */
enum { DIGITS_MAX = 768, EXPONENT_MAX = 100000000 };

typedef struct decimal {
  char digits[DIGITS_MAX + 32]; /* the exponent is appended */
  int count;
  int64_t exponent;
} decimal;

static void add_digit(decimal *d, char c, bool fraction) {
  if (fraction) d->exponent--;
  if (d->count == 0 && c == '0') return;
  if (d->count < DIGITS_MAX) {
    d->digits[d->count++] = c;
    return;
  }
  d->exponent++;
  if (c != '0') d->digits[DIGITS_MAX - 1] = '1'; /* not exactly half way between two doubles */
}

/* Reads "e+12" if it is complete; otherwise s is left where it is. */
static const char *read_exponent(const char *s, int64_t *exponent) {
  if (*s != 'e' && *s != 'E') return s;
  const char *from = s + 1;
  bool negative = *from == '-';
  if (*from == '-' || *from == '+') from++;
  if (!is_digit(*from)) return s;
  int64_t e = 0;
  for (; is_digit(*from); from++)
    if (e < EXPONENT_MAX) e = 10 * e + (*from - '0');
  *exponent += negative ? -e : e;
  return from;
}

double vini_parse_number(const char *text, char **end) {
  const char *s = text;
  while (*s == ' ' || (*s >= '\t' && *s <= '\r')) s++;
  bool negative = *s == '-';
  if (*s == '-' || *s == '+') s++;
  if (*s == 'i' || *s == 'I' || *s == 'n' || *s == 'N') return strtod(text, end);

  decimal d;
  d.count = 0;
  d.exponent = 0;
  bool any = false;
  for (; is_digit(*s); s++, any = true) add_digit(&d, *s, false);
  if (*s == '.' && (any || is_digit(s[1])))
    for (s++; is_digit(*s); s++, any = true) add_digit(&d, *s, true);
  if (any) s = read_exponent(s, &d.exponent);
  if (end) *end = (char *)(uintptr_t)(any ? s : text);
  if (d.count == 0) return negative && any ? -0.0 : 0.0;

  snprintf(d.digits + d.count, sizeof d.digits - (size_t)d.count, "e%lld", (long long)d.exponent);
  double value = strtod(d.digits, NULL);
  return negative ? -value : value;
}

/* The bits of |x|. As integers they are ordered as the magnitudes are, NaN above infinity.
 * Comparing bits stays right under -ffast-math, which lets compilers assume that NaN does not
 * occur. */
static int64_t magnitude_bits(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & INT64_MAX;
}

static const int64_t infinity_bits = INT64_C(0x7FF0000000000000);

/* Two numbers at a time, aligned as numbers are. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* x * 0 is 0 for finite x and NaN otherwise, and NaN survives a sum. */
static bool all_finite(const double *x, int64_t count) {
  pair a = {0, 0}, b = {0, 0}, c = {0, 0},
       d = {0, 0}; /* four sums: none waits for its own last term */
  double rest = 0;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    a += *(const pair *)(x + i) * 0.0;
    b += *(const pair *)(x + i + 2) * 0.0;
    c += *(const pair *)(x + i + 4) * 0.0;
    d += *(const pair *)(x + i + 6) * 0.0;
  }
  for (; i < count; i++) rest += x[i] * 0.0;
  a += b + (c + d);
  return a[0] + a[1] + rest == 0;
}

int64_t vini_first_nonfinite(const double *x, int64_t count) {
  enum { BLOCK = 1024 }; /* no exit inside a block */
  for (int64_t begin = 0; begin < count; begin += BLOCK) {
    int64_t end = count - begin < BLOCK ? count : begin + BLOCK;
    if (all_finite(x + begin, end - begin)) continue;
    for (int64_t i = begin; i < end; i++)
      if (magnitude_bits(x[i]) >= infinity_bits) return i;
  }
  return -1;
}

double vini_max_abs(const double *x, int64_t count) {
  int64_t largest = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t bits = magnitude_bits(x[i]);
    if (bits > largest) largest = bits;
  }
  double value;
  memcpy(&value, &largest, sizeof value);
  return value;
}
