/* options.c - the command line of the benchmarks. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void refuse(const char *program, const char *option, const char *why) {
  fprintf(stderr, "%s: %s: %s (--help lists the options)\n", program, option, why);
  exit(BENCH_BAD_ARGUMENT);
}

static void print_help(const char *program, const char *purpose, const char *notes,
                       const bench_option *options) {
  printf("%s: %s\n\noptions, with their defaults:\n", program, purpose);
  for (const bench_option *o = options; o->name; o++) {
    printf("  %s%s%s", o->name, o->also ? ", " : "", o->also ? o->also : "");
    if (o->whole) {
      printf(" N (%d)", *o->whole);
    } else if (o->real) {
      printf(" X (%g)", *o->real);
    } else if (o->word && !o->words) {
      printf(" TEXT");
    } else if (o->word) {
      putchar(' ');
      for (const char *const *w = o->words; *w; w++) printf("%s%s", w == o->words ? "" : "|", *w);
      printf(" (%s)", *o->word);
    }
    printf("  %s\n", o->meaning);
  }
  printf("  -h, --help  print this\n\n%s", notes);
}

static int is_named(const bench_option *o, const char *text) {
  return strcmp(o->name, text) == 0 || (o->also && strcmp(o->also, text) == 0);
}

static void parse_number(const char *program, const bench_option *o, const char *text) {
  char *rest = NULL, why[160];
  errno = 0;
  double value = strtod(text, &rest);
  int good = rest != text && *rest == '\0' && errno == 0 && isfinite(value);
  if (o->real) {
    if (good && value > 0.0) {
      *o->real = value;
      return;
    }
    snprintf(why, sizeof why, "'%s' is not a positive, finite number", text);
    refuse(program, o->name, why);
  }
  /* 1e6 is easier to count than 1000000, so whole numbers are read like real ones */
  if (!good || value < o->least || value > o->most || value != floor(value)) {
    snprintf(why, sizeof why, "'%s' is not a whole number from %d to %d", text, o->least, o->most);
    refuse(program, o->name, why);
  }
  *o->whole = (int)value;
}

static void parse_word(const char *program, const bench_option *o, const char *text) {
  if (!o->words) {
    *o->word = text;
    return;
  }
  for (const char *const *w = o->words; *w; w++) {
    if (strcmp(*w, text) == 0) {
      *o->word = *w;
      return;
    }
  }
  char why[400];
  size_t length = (size_t)snprintf(why, sizeof why, "'%.60s' is none of", text);
  for (const char *const *w = o->words; *w && length < sizeof why; w++)
    length += (size_t)snprintf(why + length, sizeof why - length, " %s", *w);
  refuse(program, o->name, why);
}

void bench_parse(const char *program, const char *purpose, const char *notes,
                 const bench_option *options, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      print_help(program, purpose, notes, options);
      exit(EXIT_SUCCESS);
    }
    const bench_option *o = options;
    while (o->name && !is_named(o, argv[i])) o++;
    if (!o->name) refuse(program, argv[i], "unknown option");
    if (o->flag) {
      *o->flag = 1;
      continue;
    }
    if (i + 1 == argc) refuse(program, o->name, "a value must follow");
    i++;
    if (o->word)
      parse_word(program, o, argv[i]);
    else
      parse_number(program, o, argv[i]);
  }
}
