/* golden.c - small cases whose instructions bench/golden.sh counts under callgrind. Each does its
 * work inside bench_measured(), which is where callgrind collects, and then prints the solver's
 * own counters. */
#include "support/engine.h"
#include "support/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 5 }; /* rattle's predictor needs three steps before it extrapolates */

typedef enum kind { FACTOR_SOLVE, ANALYSE, STEP } kind;

typedef struct golden_case {
  const char *name;
  kind kind;
  const char *what; /* family or scene */
  int bodies, repetitions;
  vin_method method;
} golden_case;

static const golden_case cases[] = {
    {"kkt-point-chain", FACTOR_SOLVE, "point-chain", 1000, 4, 0},
    {"kkt-ball-chain", FACTOR_SOLVE, "ball-chain", 500, 4, 0},
    {"kkt-hinge-chain", FACTOR_SOLVE, "hinge-chain", 500, 4, 0},
    {"kkt-ladder", FACTOR_SOLVE, "ladder", 1001, 4, 0},
    {"kkt-tree", FACTOR_SOLVE, "tree", 500, 4, 0},
    {"kkt-net", FACTOR_SOLVE, "net", 900, 2, 0},
    {"kkt-lattice", FACTOR_SOLVE, "lattice", 1000, 1, 0},
    {"kkt-hub", FACTOR_SOLVE, "hub", 1001, 4, 0},
    {"analyse-hinge-chain", ANALYSE, "hinge-chain", 1000, 1, 0},
    {"analyse-net", ANALYSE, "net", 400, 1, 0},
    {"step-chain-point", STEP, "chain-point", 500, 20, VIN_METHOD_RATTLE},
    {"step-chain-rod", STEP, "chain-rod", 500, 20, VIN_METHOD_RATTLE},
    {"step-net-point", STEP, "net-point", 400, 10, VIN_METHOD_RATTLE},
    {"step-net-rod", STEP, "net-rod", 100, 10, VIN_METHOD_RATTLE},
    {"step-chain-rk4", STEP, "chain-point", 200, 10, VIN_METHOD_RK4},
};

/* What is measured, and what it works on. */
typedef struct work {
  const golden_case *what;
  bench_engine engine;
  bench_problem *problem;
  double *x, *lambda;
  vin_sim *sim;
} work;

void bench_measured(work *w); /* the name that callgrind looks for */

static void factor_solve(work *w) {
  bench_engine *engine = &w->engine;
  if (!engine->factor(engine, w->problem) || !engine->solve(engine, w->problem, w->x, w->lambda))
    bench_fail(w->what->name, engine->verdict);
}

static void step(work *w) {
  if (vin_sim_step(w->sim) != VIN_OK) bench_fail(w->what->name, vin_sim_error(w->sim));
}

static void analyse(work *w) {
  bench_engine_vincula(&w->engine, w->problem, VIN_SOLVER_LDLT);
}

__attribute__((noinline)) void bench_measured(work *w) {
  for (int k = 0; k < w->what->repetitions; k++) {
    if (w->what->kind == FACTOR_SOLVE)
      factor_solve(w);
    else if (w->what->kind == ANALYSE)
      analyse(w);
    else
      step(w);
  }
}

static vin_stats run_kkt(work *w) {
  w->problem = bench_problem_create(w->what->what, w->what->bodies);
  w->x = bench_alloc((size_t)w->problem->n, sizeof *w->x);
  w->lambda = bench_alloc((size_t)w->problem->m, sizeof *w->lambda);
  if (w->what->kind == FACTOR_SOLVE) {
    analyse(w);
    factor_solve(w); /* the first factorisation takes H too */
  }
  bench_measured(w);
  vin_stats stats = {.solver = bench_engine_stats(&w->engine)};
  bench_engine_destroy(&w->engine);
  free(w->x);
  free(w->lambda);
  bench_problem_destroy(w->problem);
  return stats;
}

static vin_stats run_step(work *w) {
  vin_options options = vin_options_default();
  options.method = w->what->method;
  options.projector.kkt.solver = VIN_SOLVER_LDLT;
  int bodies = w->what->bodies;
  vin_model *model = bench_scene_create(w->what->what, &bodies);
  if (vin_sim_create(&w->sim, model, &options) != VIN_OK)
    bench_fail(w->what->name, vin_sim_error(w->sim));
  vin_model_destroy(model);
  for (int k = 0; k < WARM_UP; k++) step(w);
  bench_measured(w);
  vin_stats stats = vin_sim_get_stats(w->sim);
  vin_sim_destroy(w->sim);
  return stats;
}

/* The library's kernels are chosen at run time, and valgrind shows a processor of its own. */
static const char *instruction_set(void) {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "avx2" : "x86-64";
#else
  return "other";
#endif
}

#if defined(__clang__)
#define COMPILER "clang"
#define COMPILER_MAJOR __clang_major__
#elif defined(__GNUC__)
#define COMPILER "gcc"
#define COMPILER_MAJOR __GNUC__
#else
#define COMPILER "other"
#define COMPILER_MAJOR 0
#endif

static int run(const golden_case *what) {
  work w = {.what = what};
  vin_stats stats = what->kind == STEP ? run_step(&w) : run_kkt(&w);
  printf("%s,%s,%s%d-%s,%d,%lld,%lld,%lld,%lld,%lld,%lld\n", what->name, instruction_set(),
         COMPILER, COMPILER_MAJOR, BENCH_BUILD_TYPE, what->repetitions,
         (long long)stats.solver.symbolic, (long long)stats.solver.numeric,
         (long long)stats.solver.solves, (long long)stats.solver.refinements,
         (long long)stats.solver.fallbacks, (long long)stats.sweeps);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  size_t count = sizeof cases / sizeof *cases;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    for (size_t k = 0; k < count; k++) puts(cases[k].name);
    return EXIT_SUCCESS;
  }
  for (size_t k = 0; k < count && argc == 2; k++) {
    if (strcmp(argv[1], cases[k].name) == 0) return run(cases + k);
  }
  fprintf(stderr, "usage: golden --list, or golden CASE; see bench/golden.sh\n");
  return BENCH_BAD_ARGUMENT;
}
