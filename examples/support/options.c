/* options.c - the command line of the examples. */
#define _XOPEN_SOURCE 700
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_BAD_ARGUMENT = 2 };
/* Of the end time: 16 roundings, the limit of vin_sim. */
#define SHORTEST_STEP (16 * DBL_EPSILON)

ex_options ex_options_default(const char *program, const char *purpose, double h, double t) {
  ex_options options = {.program = program, .purpose = purpose, .end = t};
  options.sim = vin_options_default();
  options.sim.step = h;
  return options;
}

_Noreturn void ex_refuse(const ex_options *options, const char *option, const char *why) {
  fprintf(stderr, "%s: %s: %s (--help lists the options)\n", options->program, option, why);
  exit(EXIT_BAD_ARGUMENT);
}

static _Noreturn void refuse_value(const ex_options *options, const char *option, const char *value,
                                   const char *wanted) {
  char why[256];
  snprintf(why, sizeof why, "'%s' is not %s", value, wanted);
  ex_refuse(options, option, why);
}

/* Every method that the library knows, "a, b or c". */
enum { METHOD_NAMES = 512 };
static const char *method_names(char *text) {
  vin_method method;
  size_t used = 0;
  text[0] = 0;
  for (int k = 0;; k++) {
    const char *name = vin_method_name((vin_method)k);
    if (vin_method_from_name(&method, name) != VIN_OK) break;
    bool last = vin_method_from_name(&method, vin_method_name((vin_method)(k + 1))) != VIN_OK;
    int length = snprintf(text + used, METHOD_NAMES - used, "%s%s",
                          k == 0 ? ""
                          : last ? " or "
                                 : ", ",
                          name);
    if (length < 0 || (size_t)length >= METHOD_NAMES - used) break;
    used += (size_t)length;
  }
  return text;
}

static void print_help(const ex_options *options, const ex_extra *extra) {
  printf("%s: %s\n\noptions, with their defaults:\n", options->program, options->purpose);
  for (; extra && extra->name; extra++) {
    printf("  %-10s ", extra->name);
    if (extra->words) {
      for (const char *const *word = extra->words; *word; word++)
        printf("%s%s", word == extra->words ? "" : "|", *word);
      printf(" (%s)  %s\n", extra->words[*extra->value], extra->meaning);
    } else {
      printf("N (%d)  %s\n", *extra->value, extra->meaning);
    }
  }
  char methods[METHOD_NAMES];
  printf("  --method NAME (%s)  %s\n"
         "  --s, --k, --r N (0: chosen)  of hbvm and lim: degree, Gauss nodes, multiplier terms\n"
         "  --projection NAME (%s)  none, position, velocity or both, after each step of methods "
         "that leave the constraints\n"
         "  --h STEP (%g)  length of a step\n"
         "  --t TIME (%g)  end of the simulation\n"
         "  --solver NAME (%s)  auto, ldlt, cholmod-ldlt or umfpack\n"
         "  --csv FILE  write the motion and the drifts as a table\n"
         "  --plot FILE.png  draw them (needs gnuplot)\n"
         "  --json  print the result as one line of JSON\n"
         "  -h, --help  print this\n",
         vin_method_name(options->sim.method), method_names(methods),
         vin_projection_name(options->sim.projection), options->sim.step, options->end,
         vin_solver_name(options->sim.solver));
}

/* A positive finite number and nothing behind it. */
static double positive(const ex_options *options, const char *option, const char *text) {
  char *rest = NULL;
  double value = strtod(text, &rest);
  if (rest == text || *rest || !isfinite(value) || value <= 0.0)
    refuse_value(options, option, text, "a positive number");
  return value;
}

static int integer(const ex_options *options, const char *option, const char *text, int least,
                   int most) {
  char *rest = NULL, wanted[96];
  double value = strtod(text, &rest); /* 1e6 is easier to count than 1000000 */
  if (rest == text || *rest || !(value >= least && value <= most) || value != floor(value)) {
    snprintf(wanted, sizeof wanted, "an integer from %d to %d", least, most);
    refuse_value(options, option, text, wanted);
  }
  return (int)value;
}

static int natural(const ex_options *options, const char *option, const char *text) {
  enum { MOST = 1000 };
  return integer(options, option, text, 0, MOST);
}

static void parse_extra(const ex_options *options, const ex_extra *extra, const char *text) {
  if (extra->words) {
    for (int k = 0; extra->words[k]; k++) {
      if (strcmp(extra->words[k], text) == 0) {
        *extra->value = k;
        return;
      }
    }
    char wanted[128] = "";
    for (int k = 0; extra->words[k]; k++) {
      size_t length = strlen(wanted);
      snprintf(wanted + length, sizeof wanted - length, "%s%s", k > 0 ? " or " : "",
               extra->words[k]);
    }
    refuse_value(options, extra->name, text, wanted);
  }
  *extra->value = integer(options, extra->name, text, extra->least, extra->most);
}

/* Finds out before the computation that its result could not be written. */
static const char *writable(const ex_options *options, const char *option, const char *path) {
  char directory[4096] = ".";
  const char *slash = strrchr(path, '/');
  if (slash) snprintf(directory, sizeof directory, "%.*s/", (int)(slash - path), path);
  if (!*path || access(directory, W_OK) != 0)
    refuse_value(options, option, path, "a file in a directory that can be written");
  struct stat there;
  if (stat(path, &there) == 0 && (S_ISDIR(there.st_mode) || access(path, W_OK) != 0))
    refuse_value(options, option, path, "a file that can be written");
  return path;
}

static void parse_solver(ex_options *options, const char *word) {
  vin_solver *solver = &options->sim.solver;
  if (vin_solver_from_name(solver, word) != VIN_OK)
    refuse_value(options, "--solver", word, "auto, ldlt, cholmod-ldlt or umfpack");
  if (!vin_solver_available(*solver))
    refuse_value(options, "--solver", word, "in this build of the library");
}

/* Options with a value that every example has. Returns 0 for an unknown name. value NULL: missing.
 */
static int parse_common(ex_options *options, const char *name, const char *value) {
  static const char *const names[] = {"--h",   "--t",    "--method", "--projection", "--solver",
                                      "--csv", "--plot", "--s",      "--k",          "--r"};
  size_t known = 0, count = sizeof names / sizeof *names;
  while (known < count && strcmp(name, names[known]) != 0) known++;
  if (known == count) return 0;
  if (!value) ex_refuse(options, name, "a value must follow");
  if (strcmp(name, "--h") == 0) {
    options->sim.step = positive(options, name, value);
  } else if (strcmp(name, "--t") == 0) {
    options->end = positive(options, name, value);
  } else if (strcmp(name, "--method") == 0) {
    char methods[METHOD_NAMES];
    if (vin_method_from_name(&options->sim.method, value) != VIN_OK)
      refuse_value(options, name, value, method_names(methods));
  } else if (strcmp(name, "--projection") == 0) {
    if (vin_projection_from_name(&options->sim.projection, value) != VIN_OK)
      refuse_value(options, name, value, "none, position, velocity or both");
  } else if (strcmp(name, "--solver") == 0) {
    parse_solver(options, value);
  } else if (strcmp(name, "--s") == 0) {
    options->sim.stages = natural(options, name, value);
  } else if (strcmp(name, "--k") == 0) {
    options->sim.nodes = natural(options, name, value);
  } else if (strcmp(name, "--r") == 0) {
    options->sim.multiplier_terms = natural(options, name, value);
  } else if (strcmp(name, "--csv") == 0) {
    options->csv = writable(options, name, value);
  } else if (strcmp(name, "--plot") == 0) {
    options->plot = writable(options, name, value);
  }
  return 1;
}

void ex_parse(ex_options *options, const ex_extra *extra, int argc, char **argv) {
  options->started = ex_clock();
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
      print_help(options, extra);
      exit(EXIT_SUCCESS);
    }
    if (strcmp(name, "--json") == 0) {
      options->json = 1;
      continue;
    }
    const ex_extra *own = extra;
    while (own && own->name && strcmp(own->name, name) != 0) own++;
    if (own && !own->name) own = NULL;
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (own && value)
      parse_extra(options, own, value);
    else if (own || !parse_common(options, name, value))
      ex_refuse(options, name, own ? "a value must follow" : "unknown option");
    i++;
  }
  /* as vin_sim does; it also keeps the number of steps within an integer */
  if (!(options->sim.step > SHORTEST_STEP * options->end))
    ex_refuse(options, "--h", "so short a step is lost in the rounding of --t");
}
