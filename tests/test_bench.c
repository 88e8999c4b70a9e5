/* What scripts rely on in the benchmarks: names of options and families, one JSON object per line with these
 * keys, exit statuses, and messages for what a stranger types. Small sizes: no times are judged. */
#include <criterion/criterion.h>

#ifdef VINCULA_BENCH_DIR

#include "vincula/vincula.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

TestSuite(bench);

enum { MOST_TEXT = 1 << 16, MOST_LINES = 64 };

typedef struct outcome {
  int status; /* of exit */
  char text[MOST_TEXT];
} outcome;

/* What a benchmark prints, standard error included, and its exit status; with so many kilobytes of memory. */
static const outcome *run_within(const char *kilobytes, const char *arguments) {
  static outcome o;
  char command[1024];
  snprintf(command, sizeof command, "{ ulimit -v %s && '%s'/%s; } 2>&1", kilobytes,
           VINCULA_BENCH_DIR, arguments);
  FILE *pipe = popen(command, "r");
  cr_assert(pipe != NULL);
  size_t length = fread(o.text, 1, sizeof o.text - 1, pipe);
  o.text[length] = '\0';
  int status = pclose(pipe);
  cr_assert(WIFEXITED(status), "%s", command);
  o.status = WEXITSTATUS(status);
  return &o;
}

static const outcome *run(const char *arguments) {
  return run_within("unlimited", arguments);
}

/* The lines of a run that must succeed, each a JSON object and nothing else. */
static int objects(const char *arguments, json_t *lines[MOST_LINES]) {
  static outcome o;
  o = *run(arguments);
  cr_assert_eq(o.status, 0, "%s: status %d: %s", arguments, o.status, o.text);
  int count = 0;
  for (char *rest = o.text, *line; (line = strsep(&rest, "\n")) != NULL;) {
    if (rest == NULL) break; /* behind the last end of a line */
    json_error_t error;
    cr_assert_lt(count, MOST_LINES);
    lines[count] = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    cr_assert(json_is_object(lines[count]), "%s: %s: %s", arguments, line, error.text);
    count++;
  }
  return count;
}

static const char *word(const json_t *line, const char *key) {
  const char *value = json_string_value(json_object_get(line, key));
  cr_assert(value != NULL, "no word %s", key);
  return value;
}

static double number(const json_t *line, const char *key) {
  const json_t *value = json_object_get(line, key);
  cr_assert(json_is_number(value), "%s is no number", key);
  return json_number_value(value);
}

static void release(json_t **lines, int count) {
  for (int k = 0; k < count; k++) json_decref(lines[k]);
}

static const char *const families[] = {"point-chain", "ball-chain", "hinge-chain", "ladder",
                                       "tree",        "net",        "hub"};
static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
enum { FAMILIES = 7, SOLVERS = 3 };

static int available(void) {
  int count = 0;
  for (int k = 0; k < SOLVERS; k++) count += vin_solver_available(solvers[k]);
  return count;
}

/* A line of kkt whose factorisation and solution are right. A saddle-point matrix has as many negative pivots
 * as constraints, which only LDL' can tell; residuals are of rows, relative to their terms. */
static void check_kkt(const json_t *line, const char *family, const char *backend) {
  static const char *const positive[] = {
      "ns_per_body", "ns_per_body_factor", "ns_per_body_solve", "analyse_ms", "nnz_l", "flops",
      "bytes"};
  cr_expect_str_eq(word(line, "family"), family);
  cr_expect_str_eq(word(line, "backend"), backend);
  cr_expect_str_eq(word(line, "verdict"), "ok", "%s, %s", family, backend);
  double bodies = number(line, "bodies");
  cr_expect(bodies >= 95 && bodies <= 105, "%s: %g bodies", family, bodies);
  for (size_t k = 0; k < sizeof positive / sizeof *positive; k++)
    cr_expect_gt(number(line, positive[k]), 0, "%s, %s: %s", family, backend, positive[k]);
  cr_expect_leq(number(line, "force_residual"), 1e-12);
  cr_expect_leq(number(line, "constraint_residual"), 1e-12);
  const json_t *negative = json_object_get(line, "negative_pivots");
  cr_assert(negative != NULL);
  if (strcmp(backend, "umfpack") == 0)
    cr_expect(json_is_null(negative));
  else
    cr_expect_gt(number(line, "negative_pivots"), 0);
}

Test(bench, kkt_prints_what_scripts_read) {
  json_t *lines[MOST_LINES];
  int count = objects("kkt --bodies 100 --repetitions 1 --json", lines), at = 0;
  cr_assert_eq(count, FAMILIES * SOLVERS); /* those not in the build have a verdict that says so */
  for (int f = 0; f < FAMILIES; f++) {
    for (int k = 0; k < SOLVERS; k++, at++) {
      if (vin_solver_available(solvers[k]))
        check_kkt(lines[at], families[f], vin_solver_name(solvers[k]));
      else
        cr_expect_str_eq(word(lines[at], "verdict"), "not in this build");
    }
  }
  release(lines, count);
}

Test(bench, kkt_takes_one_family_and_backend) {
  for (int f = 0; f < FAMILIES; f++) {
    char arguments[200];
    json_t *lines[MOST_LINES];
    snprintf(arguments, sizeof arguments,
             "kkt --family %s --backend ldlt --bodies 1e2 --repetitions 1 --json", families[f]);
    int count = objects(arguments, lines);
    cr_assert_eq(count, 1);
    check_kkt(lines[0], families[f], "ldlt");
    release(lines, count);
    /* the smallest there is */
    snprintf(arguments, sizeof arguments,
             "kkt --case %s --solver ldlt --bodies 1 --repetitions 1 --json", families[f]);
    count = objects(arguments, lines);
    cr_assert_eq(count, 1);
    cr_expect_str_eq(word(lines[0], "verdict"), "ok", "%s", families[f]);
    cr_expect_leq(number(lines[0], "bodies"), 4);
    release(lines, count);
  }
}

/* A line of step; 40 steps of 1 ms of a fall from rest: constraints at rounding, energy to 1e-5. */
static void check_step(const json_t *line, const char *name, const char *solver) {
  cr_expect_str_eq(word(line, "case"), name);
  cr_expect_str_eq(word(line, "method"), "rattle");
  cr_expect_str_eq(word(line, "solver"), solver);
  cr_expect_eq(number(line, "bodies"), 100);
  cr_expect_gt(number(line, "ns_per_body_step"), 0);
  cr_expect_leq(number(line, "energy_drift"), 1e-5);
  cr_expect_leq(number(line, "constraint_max"), 1e-12);
  cr_expect_leq(number(line, "hidden_max"), 1e-12);
  cr_expect_eq(number(line, "symbolic"), 1);
  cr_expect_geq(number(line, "numeric"), 40);
  cr_expect_geq(number(line, "solves"), 80);
  cr_expect_gt(number(line, "peak_mb"), 0);
}

Test(bench, step_prints_what_scripts_read) {
  static const char *const cases[] = {"chain-point", "chain-rod", "net-point", "net-rod"};
  json_t *lines[MOST_LINES];
  int count = objects("step --bodies 100 --steps 40 --repetitions 1 --solver all --json", lines);
  cr_assert_eq(count, 4 * available());
  for (int c = 0, at = 0; c < 4; c++) {
    for (int k = 0; k < SOLVERS; k++) {
      if (vin_solver_available(solvers[k]))
        check_step(lines[at++], cases[c], vin_solver_name(solvers[k]));
    }
  }
  release(lines, count);
  count = objects(
      "step --family net-rod --backend ldlt --bodies 1e2 --steps 40 --repetitions 1 --json", lines);
  cr_assert_eq(count, 1);
  check_step(lines[0], "net-rod", "ldlt");
  release(lines, count);
}

/* Status 2 and one line that says what was wrong. */
static void expect_refused(const char *arguments, const char *part) {
  const outcome *o = run(arguments);
  cr_expect_eq(o->status, 2, "%s: status %d", arguments, o->status);
  cr_expect(strstr(o->text, part), "%s: '%s' lacks '%s'", arguments, o->text, part);
  const char *end = strchr(o->text, '\n');
  cr_expect(end != NULL && end[1] == '\0', "%s: %s", arguments, o->text);
}

Test(bench, what_is_wrong_is_said) {
  static const char *const numbers[] = {"0",   "-1",  "1.5", "1e12", "99999999999999999999",
                                        "nan", "inf", "ten", "10x",  "\"\""};
  for (int program = 0; program < 2; program++) {
    const char *name = program == 0 ? "kkt" : "step";
    char arguments[200];
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      snprintf(arguments, sizeof arguments, "%s --bodies %s", name, numbers[k]);
      expect_refused(arguments, "--bodies: ");
    }
    snprintf(arguments, sizeof arguments, "%s --bodies", name);
    expect_refused(arguments, "a value must follow");
    snprintf(arguments, sizeof arguments, "%s --colour red", name);
    expect_refused(arguments, "--colour: unknown option");
    snprintf(arguments, sizeof arguments, "%s chain", name);
    expect_refused(arguments, "chain: unknown option");
    snprintf(arguments, sizeof arguments, "%s --backend lapack", name);
    expect_refused(arguments, "'lapack' is none of all ldlt cholmod-ldlt umfpack");
  }
  expect_refused("kkt --family chain", "'chain' is none of all point-chain ball-chain");
  expect_refused("step --case chain", "'chain' is none of all chain-point");
  expect_refused("step --h 0", "not a positive");
  expect_refused("step --h inf", "not a positive");
  expect_refused("step --steps 19", "from 20 to");
}

Test(bench, what_fails_ends_with_status_1) {
  const outcome *o = run("kkt --backend none");
  cr_expect_eq(o->status, 1);
  cr_expect(strstr(o->text, "--library"), "%s", o->text);
  /* 1e6 points are 180 MB of entries and 1200 MB with their factorisation */
  static const char *const points =
      "kkt --case point-chain --backend ldlt --bodies 1e6 --repetitions 1";
  o = run_within("400000", points);
  cr_expect_eq(o->status, 1);
  cr_expect(strstr(o->text, "VIN_ERR_NO_MEMORY"), "%s", o->text);
  o = run_within("200000", points);
  cr_expect_eq(o->status, 1);
  cr_expect(strstr(o->text, "memory: there is not enough"), "%s", o->text);
  o = run("step --case chain-rod --bodies 10 --steps 20 --repetitions 1 --h 1000");
  cr_expect_eq(o->status, 1);
  cr_expect(strstr(o->text, "chain-rod, ldlt: VIN_STEP_FAILED"), "%s", o->text);
}

Test(bench, help_names_everything) {
  static const char *const parts[] = {"--family", "--bodies", "--backend", "--json", "-h, --help"};
  for (int program = 0; program < 4; program++) {
    static const char *const calls[] = {"kkt --help", "kkt -h", "step --help", "step -h"};
    const outcome *o = run(calls[program]);
    cr_expect_eq(o->status, 0);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
      cr_expect(strstr(o->text, parts[k]), "%s: no %s", calls[program], parts[k]);
    for (int f = 0; f < FAMILIES && program < 2; f++)
      cr_expect(strstr(o->text, families[f]), "no %s", families[f]);
  }
}

#else

Test(bench, not_in_this_build) {
  cr_skip_test("the benchmarks are not built");
}

#endif
