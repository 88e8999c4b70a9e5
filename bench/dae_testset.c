/* dae_testset.c - the public test set of differential-algebraic equations: accuracy beside work, for
 * every method that fits a problem. */
#include "bench.h"
#include "ivp_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_METHODS = 64, STEPS = 4 };

static const double tolerances[STEPS] = {1e-4, 1e-6, 1e-8, 1e-10};

static const char notes[] =
    "Problems: transistor (index 1), charge-pump, water-tube, crank, fekete (index 2), andrews "
    "and\n"
    "caraxis (index 3; -2 and -1: the same with constraints of velocities and accelerations).\n"
    "Methods: those of vin_dae_integrator, by tolerance; on mechanical problems also those of\n"
    "vin_sim that accept the system, by step (h, h/2, h/4, h/8 of a step that suits the problem).\n"
    "  error           largest relative error of the end values that count in the test set\n"
    "  constraint_max  largest residual of an equation without derivative, |Phi| for mechanical\n"
    "                  problems; after each step (dae) or at the end (sim)\n"
    "  numeric         factorisations\n"
    "  wall_s, cpu_s   of the fastest repetition, from description to end; processor time is what "
    "to\n"
    "                  compare when the machine is not quiet\n"
    "A run that fails has no numbers, and standard error says why.\n";

typedef struct method {
  const char *name;
  bool dae;
  vin_dae_integrator_method dae_method;
  vin_method method;
} method;

typedef struct settings {
  const char *problem, *method;
  double tolerance, h;
  int repetitions, json;
} settings;

/* All methods that the library has a name for. */
static int find_methods(method *methods) {
  int count = 0;
  for (int k = 0; count < MAX_METHODS; k++) {
    const char *name = vin_dae_integrator_method_name((vin_dae_integrator_method)k);
    if (strcmp(name, "unknown") == 0) break;
    methods[count] =
        (method){.name = name, .dae = true, .dae_method = (vin_dae_integrator_method)k};
    count++;
  }
  for (int k = 0; count < MAX_METHODS; k++) {
    const char *name = vin_method_name((vin_method)k);
    if (strcmp(name, "unknown") == 0) break;
    methods[count++] = (method){.name = name, .method = (vin_method)k};
  }
  return count;
}

static ivp_result run(const ivp_problem *p, const method *m, double value, int repetitions) {
  ivp_result best = {.cpu_s = HUGE_VAL};
  for (int k = 0; k < repetitions; k++) {
    ivp_result r =
        m->dae ? ivp_run_dae(p, m->dae_method, value, NULL) : ivp_run_system(p, m->method, value);
    if (r.status != VIN_OK || r.cpu_s < best.cpu_s) best = r;
    if (r.status != VIN_OK) break;
  }
  return best;
}

/* Returns 1 after a failure. */
static int row(const ivp_problem *p, const method *m, double value, const settings *s) {
  ivp_result r = run(p, m, value, s->repetitions);
  if (r.status == VIN_ERR_UNSUPPORTED) return 0;
  bool ok = r.status == VIN_OK;
  const bench_field fields[] = {
      {"problem", "problem", BENCH_WORD, -11, .word = p->name},
      {"method", "method", BENCH_WORD, -9, .word = m->name},
      {"h_or_tol", "h or tol", BENCH_REAL, 9, .real = value},
      {"error", "error", BENCH_REAL, 9, .real = ok ? r.error : NAN},
      {"constraint_max", "constraint", BENCH_REAL, 10, .real = ok ? r.constraint_max : NAN},
      {"steps", "steps", BENCH_WHOLE, 7, .whole = ok ? r.steps : -1},
      {"numeric", "numeric", BENCH_WHOLE, 7, .whole = ok ? r.numeric : -1},
      {"wall_s", "wall s", BENCH_REAL, 9, .real = ok ? r.wall_s : NAN},
      {"cpu_s", "cpu s", BENCH_REAL, 9, .real = ok ? r.cpu_s : NAN},
  };
  bench_print(s->json, fields, sizeof fields / sizeof *fields);
  if (ok) return 0;
  fprintf(stderr, "dae_testset: %s, %s, %g: %s: %s\n", p->name, m->name, value,
          vin_status_name(r.status), r.text);
  return 1;
}

static int series(const ivp_problem *p, const method *m, const settings *s) {
  int failed = 0;
  for (int k = 0; k < STEPS; k++) {
    double value = m->dae ? tolerances[k] : p->step / (1 << k);
    double given = m->dae ? s->tolerance : s->h;
    if (given > 0) return row(p, m, given, s);
    if (m->dae && value < p->least_tolerance) continue;
    failed += row(p, m, value, s);
  }
  return failed;
}

/* Without a name explicit methods of order 1 are left out: they would need days for the errors of the
 * others. A form of lower index is the same system again. */
static bool wanted(const ivp_problem *p, const method *m, const settings *s) {
  bool named = strcmp(s->method, "all") != 0;
  if (named && strcmp(s->method, m->name) != 0) return false;
  if (m->dae) return true;
  if (p->step == 0 || strchr(p->name, '-') != NULL) return false;
  return named || (m->method != VIN_METHOD_EULER && m->method != VIN_METHOD_TAYLOR2);
}

static const char *problem_words[32] = {"all"}, *method_words[MAX_METHODS + 2] = {"all"};

int main(int argc, char **argv) {
  settings s = {.problem = "all", .method = "all", .repetitions = 1};
  method methods[MAX_METHODS];
  int count = find_methods(methods), failed = 0;
  for (int k = 0; ivp_names[k]; k++) problem_words[k + 1] = ivp_names[k];
  for (int k = 0; k < count; k++) method_words[k + 1] = methods[k].name;
  const bench_option options[] = {
      {"--problem", "which problem", .word = &s.problem, .words = problem_words},
      {"--method", "which method", .word = &s.method, .words = method_words},
      {"--tol", "one tolerance for the methods with step control", .real = &s.tolerance},
      {"--h", "one step for the methods with constant steps, s", .real = &s.h},
      {"--repetitions", "runs of each, the fastest counts", .whole = &s.repetitions, .least = 1,
       .most = 1000},
      {"--json", "one JSON object per line", .flag = &s.json},
      {0}};
  bench_parse("dae_testset", "accuracy and work on the public DAE test set", notes, options, argc,
              argv);
  bench_one_thread(argv);
  bench_keep_memory();
  for (int k = 0; ivp_names[k]; k++) {
    if (strcmp(s.problem, "all") != 0 && strcmp(s.problem, ivp_names[k]) != 0) continue;
    ivp_problem *p = ivp_create(ivp_names[k], BENCH_REFERENCE);
    if (p == NULL) bench_fail(ivp_names[k], "reference values missing in " BENCH_REFERENCE);
    for (int i = 0; i < count; i++) {
      if (wanted(p, methods + i, &s)) failed += series(p, methods + i, &s);
    }
    ivp_destroy(p);
  }
  return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
