/* kkt.c - factorisation and solution of saddle-point systems with a fixed pattern: the library's
 * solvers, other libraries in the same elimination order, and code written by hand for a chain. */
#include "support/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A turn of one engine lasts at least so long and so many passes: its data are then in the cache, as far as
 * they fit, as in a simulation that does nothing else, and the clock's own time does not count. */
static const double TURN_S = 2e-3;
static const int TURN_PASSES = 4;
/* A residual above this is a wrong result; vin_kkt refuses its own at the same limit. */
static const double RESIDUAL_LIMIT = 1e-10;

/* From so many bodies on a pass is long enough to be interrupted, and processor time is measured. */
static const vin_int LONG_BODIES = 5000;

enum { MOST_ENGINES = 8 };

static const char *const backends[] = {"all", "ldlt", "cholmod-ldlt", "umfpack", "none", NULL};
static const char *family_words[16] = {"all"};

static const char notes[] =
    "One row for each family and engine; all times are the smallest of all repetitions, in which\n"
    "the engines take turns (from 5000 bodies on: of processor time).\n"
    "  ns_per_body         factor and solve, one after the other\n"
    "  ns_per_body_factor  vin_kkt_factor: new values of J (of H too, where inertias turn),\n"
    "                      assembly, factorisation, verdict; the libraries: without verdict\n"
    "  ns_per_body_solve   vin_kkt_solve, one right-hand side, with check and refinement as a "
    "user\n"
    "                      gets it; the libraries and the hand-written code check nothing\n"
    "  ns_per_body_solve_plain  without check and refinement: compare this with the libraries\n"
    "  analyse_ms          vin_kkt_create, measured once; LDL, KLU: without the ordering\n"
    "  residuals           of a row, relative to the sum of the magnitudes of its terms\n"
    "  bytes               held by the whole object; LDL, KLU, by hand: matrix and factor\n"
    "LDL holds one triangle, KLU both, of the same matrix in vin_kkt's order. UMFPACK orders by\n"
    "itself, and is shown with each of its strategies (uns., sym.). A verdict that is not \"ok\" "
    "but a\n"
    "failure makes the exit status 1.\n";

typedef struct settings {
  const char *family, *backend;
  int bodies, repetitions, library, json, plain_malloc;
} settings;

/* An engine in the run, with its best times in seconds. */
typedef struct runner {
  bench_engine engine;
  double both, factor, solve, plain;
} runner;

static double now(const bench_problem *p) {
  return p->bodies < LONG_BODIES ? bench_clock() : bench_cpu_clock();
}

static void keep_smallest(double *best, double value) {
  if (value < *best) *best = value;
}

/* One pass: factor, solve, solve again without check. Returns 0 when it failed. */
static int pass(runner *r, const bench_problem *p, double *x, double *lambda) {
  bench_engine *engine = &r->engine;
  double begin = now(p);
  if (!engine->factor(engine, p)) return 0;
  double factored = now(p);
  if (!engine->solve(engine, p, x, lambda)) return 0;
  double solved = now(p), plain = solved;
  if (engine->solve_plain != engine->solve) {
    if (!engine->solve_plain(engine, p, x, lambda)) return 0;
    plain = now(p);
    keep_smallest(&r->plain, plain - solved);
  } else {
    keep_smallest(&r->plain, solved - factored);
  }
  keep_smallest(&r->factor, factored - begin);
  keep_smallest(&r->solve, solved - factored);
  keep_smallest(&r->both, solved - begin);
  return 1;
}

static void turn(runner *r, const bench_problem *p, double *x, double *lambda) {
  double end = bench_clock() + TURN_S;
  int passes = 1;
  while (pass(r, p, x, lambda) && (bench_clock() < end || passes < TURN_PASSES)) passes++;
  if (strcmp(r->engine.verdict, "ok") != 0) bench_engine_destroy(&r->engine);
}

/* The result of the last solve as a user gets it, judged; the verdict is changed when it is wrong. */
static void judge(runner *r, const bench_problem *p, double *x, double *lambda, double *force,
                  double *constraint) {
  bench_engine *engine = &r->engine;
  if (!engine->solve(engine, p, x, lambda)) return;
  bench_residuals(p, x, lambda, force, constraint);
  if (!(*force <= RESIDUAL_LIMIT && *constraint <= RESIDUAL_LIMIT))
    bench_engine_failed(engine, "inaccurate");
  int64_t negative = engine->facts(engine).negative;
  if (negative >= 0 && negative != p->m) bench_engine_failed(engine, "wrong inertia");
}

/* Returns 0 when what is in the build and fits the problem has failed. */
static int report(runner *r, const bench_problem *p, int json, double *x, double *lambda) {
  static const char *const fine[] = {"ok", "not in this build", "left out", "n/a"};
  bench_engine *engine = &r->engine;
  bench_facts facts = {.nnz = -1, .flops = NAN, .bytes = -1, .negative = -1};
  double force = NAN, constraint = NAN, scale = NAN;
  if (engine->state) {
    judge(r, p, x, lambda, &force, &constraint);
    facts = engine->facts(engine);
    scale = 1e9 / p->bodies;
  }
  const bench_field fields[] = {
      {"family", "family", BENCH_WORD, -11, .word = p->family},
      {"bodies", "bodies", BENCH_WHOLE, 7, .whole = p->bodies},
      {"backend", "backend", BENCH_WORD, -12, .word = engine->name},
      {"ns_per_body", "ns/body", BENCH_REAL, 8, .real = scale * r->both},
      {"ns_per_body_factor", "factor", BENCH_REAL, 7, .real = scale * r->factor},
      {"ns_per_body_solve", "solve", BENCH_REAL, 7, .real = scale * r->solve},
      {"ns_per_body_solve_plain", "plain", BENCH_REAL, 7, .real = scale * r->plain},
      {"analyse_ms", "analyse ms", BENCH_REAL, 10,
       .real = engine->state ? 1e3 * engine->analyse_s : NAN},
      {"nnz_l", "nnz(L)", BENCH_WHOLE, 9, .whole = facts.nnz},
      {"flops", "flops", BENCH_REAL, 9, .real = facts.flops},
      {"bytes", "bytes", BENCH_WHOLE, 10, .whole = facts.bytes},
      {"force_residual", "force", BENCH_REAL, 9, .real = force},
      {"constraint_residual", "constr.", BENCH_REAL, 9, .real = constraint},
      {"negative_pivots", "neg.", BENCH_WHOLE, 7, .whole = facts.negative},
      {"verdict", "verdict", BENCH_WORD, -7, .word = engine->verdict},
  };
  bench_print(json, fields, sizeof fields / sizeof *fields);
  for (size_t k = 0; k < sizeof fine / sizeof *fine; k++) {
    if (strcmp(engine->verdict, fine[k]) == 0) return 1;
  }
  return 0;
}

/* Engines in the order of the table. Returns how many. */
static int make_engines(runner *runners, const bench_problem *p, const settings *s) {
  static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  int count = 0;
  for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
    if (strcmp(s->backend, "all") == 0 || strcmp(s->backend, vin_solver_name(solvers[k])) == 0)
      bench_engine_vincula(&runners[count++].engine, p, solvers[k]);
  }
  if (s->library) {
    bench_engine_ldl(&runners[count++].engine, p);
    bench_engine_klu(&runners[count++].engine, p);
    bench_engine_umfpack(&runners[count++].engine, p, 0);
    bench_engine_umfpack(&runners[count++].engine, p, 1);
    if (strcmp(p->family, "point-chain") == 0) bench_engine_chain(&runners[count++].engine, p);
  }
  for (int k = 0; k < count; k++)
    runners[k].both = runners[k].factor = runners[k].solve = runners[k].plain = HUGE_VAL;
  return count;
}

/* Returns the number of engines that failed. */
static int run_family(const char *family, const settings *s) {
  bench_problem *p = bench_problem_create(family, s->bodies);
  double *x = bench_alloc((size_t)p->n, sizeof *x), *lambda = bench_alloc((size_t)p->m, sizeof *x);
  runner runners[MOST_ENGINES];
  int count = make_engines(runners, p, s), failed = 0;
  for (int repetition = 0; repetition < s->repetitions; repetition++) {
    for (int k = 0; k < count; k++) {
      if (runners[k].engine.state) turn(runners + k, p, x, lambda);
    }
  }
  for (int k = 0; k < count; k++) {
    failed += !report(runners + k, p, s->json, x, lambda);
    bench_engine_destroy(&runners[k].engine);
  }
  free(x);
  free(lambda);
  bench_problem_destroy(p);
  return failed;
}

int main(int argc, char **argv) {
  settings s = {.family = "all", .backend = "all", .bodies = 1000, .repetitions = 20};
  for (size_t k = 0; bench_families[k]; k++) family_words[k + 1] = bench_families[k];
  const bench_option options[] = {
      {"--family", "which mechanism; all: without lattice", .also = "--case", .word = &s.family,
       .words = family_words},
      {"--bodies",
       "how many, about; a hub has one less tethers, a net is g x g points, a lattice g x g x g",
       .whole = &s.bodies, .least = 1, .most = 100000000},
      {"--backend", "which of the library's solvers; none: only what --library adds",
       .also = "--solver", .word = &s.backend, .words = backends},
      {"--library",
       "compare with LDL, KLU, UMFPACK as they are, and code written by hand for point chains",
       .flag = &s.library},
      {"--repetitions", "turns of each engine", .whole = &s.repetitions, .least = 1,
       .most = 100000},
      {"--plain-malloc", "leave glibc's allocator alone: UMFPACK then gets fresh pages each time",
       .flag = &s.plain_malloc},
      {"--json", "one JSON object per line", .flag = &s.json},
      {0}};
  bench_parse("kkt", "factors and solves saddle-point systems of typical mechanisms", notes,
              options, argc, argv);
  if (strcmp(s.backend, "none") == 0 && !s.library)
    bench_fail("kkt", "--backend none leaves nothing to measure without --library");
  bench_one_thread(argv);
  bench_limit_memory();
  if (!s.plain_malloc) bench_keep_memory();
  int failed = 0;
  for (const char *const *family = bench_families; *family; family++) {
    /* lattices by name only: they fill UMFPACK's factor for minutes */
    const int all = strcmp(s.family, "all") == 0 && strcmp(*family, "lattice") != 0;
    if (all || strcmp(s.family, *family) == 0) failed += run_family(*family, &s);
  }
  return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
