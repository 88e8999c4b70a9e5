/* dae_gallery.c - the numbered examples of a chapter on numerical methods for DAEs, through the library's
 * own interface: each prints what is known about its result beside what came out, and draws it. The
 * examples are in dae_gallery/, one function each; gallery.h there names the source. */
#include "dae_gallery/gallery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *purpose;
  vin_status (*run)(gallery *g);
} examples[] = {
    {"initialisation", "8.1 Consistent initial values of a pendulum", gallery_initialisation},
    {"linear-euler", "8.2 A linear DAE of index 2 by implicit Euler", gallery_linear_euler},
    {"linear-crank-nicolson", "8.2 A linear DAE of index 2 by Crank-Nicolson", gallery_linear_cn},
    {"linear-baumgarte", "8.2 A linear DAE of index 2, stabilised, Crank-Nicolson",
     gallery_linear_baumgarte},
    {"drift", "8.3, 8.4 Drift of a pendulum, not stabilised, h = 0.01 s", gallery_drift},
    {"shifted", "8.4 Constraints shifted to an inconsistent start", gallery_shifted},
    {"decay-laws", "8.4 Baumgarte's decay laws", gallery_decay},
    {"baumgarte", "8.4 Stabilised pendulum, taylor2, h = 0.01 s", gallery_baumgarte},
    {"unstabilised", "8.4 Implicit Euler on the differentiated equations", gallery_unstabilised},
    {"implicit-euler", "8.4 Implicit Euler on the index-3 equations", gallery_implicit_euler},
    {"third-order", "8.4 Crank-Nicolson, third-order stabilisation", gallery_third_order},
    {"projection", "8.5 Projected Euler and Runge-Kutta", gallery_projection},
    {"partitioning", "8.8 Independent coordinates, Collatz and Runge-Kutta", gallery_partitioning},
    {"order-reduction", "8.9 Radau IIA on a pendulum as index 1, 2, 3", gallery_order_reduction},
    {"van-der-pol", "8.11 Van der Pol with an algebraic equation", gallery_van_der_pol},
};
enum { EXAMPLES = sizeof examples / sizeof *examples, BAD_ARGUMENT = 2 };

static _Noreturn void refuse(const char *option, const char *why) {
  fprintf(stderr, "dae_gallery: %s: %s (--help lists the options)\n", option, why);
  exit(BAD_ARGUMENT);
}

static _Noreturn void help(void) {
  printf("dae_gallery: the numbered examples of a chapter on DAEs, computed and compared\n\n"
         "  --example NAME|all (all)\n"
         "  --list  print the names\n"
         "  --plot DIRECTORY  draw each example to DIRECTORY/<name>.png (needs gnuplot)\n"
         "  --csv DIRECTORY  write its curves to DIRECTORY/<name>.csv\n"
         "  --json  one line of JSON for each value\n"
         "  --help  print this\n\n"
         "Exit status 1: a value is not as expected, or a computation failed.\n");
  exit(EXIT_SUCCESS);
}

static void list(void) {
  for (int k = 0; k < EXAMPLES; k++) printf("%-22s %s\n", examples[k].name, examples[k].purpose);
}

/* The example of that name, or -1: all. */
static int find(const char *name) {
  for (int k = 0; k < EXAMPLES; k++)
    if (strcmp(name, examples[k].name) == 0) return k;
  if (strcmp(name, "all") != 0) refuse("--example", "no example has this name, see --list");
  return -1;
}

int main(int argc, char **argv) {
  gallery g = {0};
  int chosen = -1, failed = 0, missing = 0;
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(option, "--help") == 0) help();
    if (strcmp(option, "--list") == 0) return list(), EXIT_SUCCESS;
    if (strcmp(option, "--json") == 0) {
      g.json = 1;
      continue;
    }
    int example = strcmp(option, "--example") == 0, plot = strcmp(option, "--plot") == 0;
    if (!example && !plot && strcmp(option, "--csv") != 0) refuse(option, "unknown option");
    if (!value) refuse(option, "a value must follow");
    if (example)
      chosen = find(value);
    else if (!gallery_writable(value))
      refuse(option, "not a directory that can be written");
    else
      *(plot ? &g.plot : &g.csv) = value;
    i++;
  }

  if (!g.json) printf("%-66s %12s %12s\n", "", "expected", "obtained");
  for (int k = 0; k < EXAMPLES; k++) {
    if (chosen >= 0 && k != chosen) continue;
    g.example = examples[k].name, g.purpose = examples[k].purpose;
    if (!g.json) printf("%s\n", g.purpose);
    vin_status status = examples[k].run(&g);
    if (status == VIN_OK) gallery_finish(&g);
    gallery_forget(&g);
    missing += status == VIN_ERR_UNSUPPORTED; /* in this build of the library */
    failed += status != VIN_OK && status != VIN_ERR_UNSUPPORTED;
  }
  if (!g.json)
    printf("%d values, %d not as expected; %d examples failed, %d need more than this build has\n",
           g.values, g.wrong, failed, missing);
  if (fflush(stdout) != 0) {
    fprintf(stderr, "dae_gallery: cannot write to standard output\n");
    failed++;
  }
  return failed > 0 || g.wrong > 0 || g.lost ? EXIT_FAILURE : EXIT_SUCCESS;
}
