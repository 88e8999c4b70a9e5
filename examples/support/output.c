/* output.c - the result as a table for people or as one line of JSON. */
#define _XOPEN_SOURCE 700
#include "support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

int ex_fail(const ex_options *options, vin_status status, const char *text) {
  fprintf(stderr, "%s: %s: %s\n", options->program, vin_status_name(status),
          text && *text ? text : vin_status_text(status));
  return 1;
}

/* Largest memory of this process so far; Linux counts it in KiB. */
static double peak_mb(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024.0 : NAN;
}

static double ns_per_step_per_link(const ex_result *result) {
  if (!result->count_name || result->steps < 1) return NAN;
  return 1e9 * result->wall_s / ((double)result->steps * (double)result->count);
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* JSON has no NaN: a number that is not known is left out. */
static void put_real(json_t *object, const char *key, double value) {
  if (isfinite(value)) json_object_set_new(object, key, json_real(value));
}

static void put_word(json_t *object, const char *key, const char *value) {
  if (value) json_object_set_new(object, key, json_string(value));
}

static int print_json(const ex_options *options, const ex_result *result) {
  json_t *line =
      json_pack("{s:s, s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "example", options->program,
                "n", result->n, "m", result->m, "method", result->method, "solver", result->solver,
                "steps", (json_int_t)result->steps, "failures", (json_int_t)result->failures,
                "symbolic", (json_int_t)result->symbolic, "numeric", (json_int_t)result->numeric,
                "solves", (json_int_t)result->solves);
  if (!line) return 1;
  put_word(line, "projection", result->projection);
  put_word(line, "kind", result->kind);
  if (result->size_name) json_object_set_new(line, result->size_name, json_integer(result->size));
  if (result->count_name)
    json_object_set_new(line, result->count_name, json_integer(result->count));
  put_real(line, "h", result->h);
  put_real(line, "t", result->t);
  put_real(line, "energy_start", result->energy_start);
  put_real(line, "energy_drift", result->energy_drift);
  put_real(line, "constraint_max", result->constraint_max);
  put_real(line, "hidden_max", result->hidden_max);
  put_real(line, "error", result->error);
  put_real(line, "setup_s", result->setup_s);
  put_real(line, "wall_s", result->wall_s);
  put_real(line, "ns_per_step_per_link", ns_per_step_per_link(result));
  put_real(line, "peak_mb", peak_mb());
  int failed = json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0;
  json_decref(line);
  return failed || putchar('\n') == EOF;
}

/* ---- table -------------------------------------------------------------------------------- */

static void row(const char *label, double value, const char *unit, const char *remark) {
  if (isfinite(value)) printf("  %-26s %.4g%s%s\n", label, value, unit, remark);
}

static void print_table(const ex_options *options, const ex_result *result) {
  int bare = result->dimensionless;
  double per_link = ns_per_step_per_link(result);

  printf("%s: %s\n", options->program, options->purpose);
  printf("  %-26s %d positions, %d constraints\n", "equations", result->n, result->m);
  printf("  %-26s %s%s%s, linear solver %s\n", "method", result->method,
         result->projection ? ", projection " : "", result->projection ? result->projection : "",
         result->solver);
  printf("  %-26s %g%s in %lld steps of %g%s\n", "simulated time", result->t, bare ? "" : " s",
         (long long)result->steps, result->h, bare ? "" : " s");
  if (result->failures > 0)
    printf("  %-26s %lld\n", "steps that were repeated", (long long)result->failures);
  row("energy at the start", result->energy_start, bare ? "" : " J", "");
  row("largest change of energy", result->energy_drift, bare ? "" : " J", "");
  row("largest constraint error", result->constraint_max, bare ? "" : " m", "");
  row("  and of its rate", result->hidden_max, bare ? "" : " m/s", "");
  row("error at the end", result->error, "", ", against a reference solution");
  printf("  %-26s %lld analysis, %lld factorisations, %lld solves\n", "matrix work",
         (long long)result->symbolic, (long long)result->numeric, (long long)result->solves);
  printf("  %-26s %.3g s, then %.3g s for the steps\n", "computing time: setup", result->setup_s,
         result->wall_s);
  row("  per step and link", per_link, " ns", "");
  row("memory, at most", peak_mb(), " MB", "");
  if (options->csv) printf("  %-26s %s\n", "table written to", options->csv);
  if (options->plot) printf("  %-26s %s\n", "plot written to", options->plot);
}

int ex_print(const ex_options *options, const ex_result *result) {
  int failed = 0;
  if (options->json)
    failed = print_json(options, result);
  else
    print_table(options, result);
  if (fflush(stdout) != 0) failed = 1;
  if (failed) fprintf(stderr, "%s: cannot write the result to standard output\n", options->program);
  return failed;
}
