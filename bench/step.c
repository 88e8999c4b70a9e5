/* step.c - whole steps of chains and nets: time beside drift. */
#include "support/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run is cut into so many stretches, each timed by itself; of each the fastest repetition
 * counts. The sum is free of most interruptions and still holds the dear steps. */
enum { STRETCHES = 20, SOLVERS = 3 };

static const vin_solver solvers[SOLVERS] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                            VIN_SOLVER_UMFPACK};
static const char *const solver_words[] = {"all", "ldlt", "cholmod-ldlt", "umfpack", NULL};
static const char *const method_words[] = {"rattle", "taylor2", "euler", "rk4", NULL};
static const char *const projection_words[] = {"none", "position", "velocity", "both", NULL};
static const char *case_words[16] = {"all"};

static const char notes[] =
    "Cases: chains of point masses or slender rods (bodies: links), fixed at one end, and square\n"
    "nets (bodies: nodes), hung from two opposite corners; both fall from the horizontal.\n"
    "One row for each case and solver. The run is repeated, solvers take turns, and each\n"
    "twentieth of it counts with its fastest repetition.\n"
    "  ns_per_body_step  processor time of stepping alone\n"
    "  energy_drift      max |E - E(0)| / largest kinetic energy\n"
    "  constraint_max    max |Phi|, m\n"
    "  hidden_max        max |Phi_p v + Phi_t|, m/s; drifts are looked at 20 times in a run of\n"
    "                    their own, which is not timed\n"
    "  symbolic, numeric, solves, sweeps  of one run, with its start\n"
    "  failures          steps that were halved\n"
    "  setup_s           from the model to the first step, of the fastest repetition\n"
    "  peak_mb           of the process so far: run one case with one solver to see its own\n";

typedef struct settings {
  const char *name, *solver, *method, *projection;
  int bodies, steps, repetitions, json, plain_malloc;
  double h;
} settings;

typedef struct result {
  int bodies;
  vin_status status;
  char text[512]; /* why it failed; as long as any text of the library */
  double setup_s, stretch_s[STRETCHES];
  double energy_drift, constraint_max, hidden_max;
  vin_stats stats;
  double peak_mb;
} result;

static int stretch_steps(const settings *s, int k) {
  return (int)((int64_t)(k + 1) * s->steps / STRETCHES - (int64_t)k * s->steps / STRETCHES);
}

static void fail(result *r, vin_status status, const char *text) {
  r->status = status;
  snprintf(r->text, sizeof r->text, "%s", text);
}

/* Creates the simulation; NULL after a failure. */
static vin_sim *create(result *r, const settings *s, vin_solver solver) {
  vin_options options = vin_options_default();
  vin_method_from_name(&options.method, s->method);
  vin_projection_from_name(&options.projection, s->projection);
  options.step = s->h;
  options.max_halvings = 5; /* as examples/net.c: a net that whips needs shorter steps */
  options.projector.kkt.solver = solver;
  r->bodies = s->bodies;
  double begin = bench_clock();
  vin_model *model = bench_scene_create(s->name, &r->bodies);
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create(&sim, model, &options);
  vin_model_destroy(model);
  double setup = bench_clock() - begin;
  if (setup < r->setup_s) r->setup_s = setup;
  if (status == VIN_OK) return sim;
  fail(r, status, vin_sim_error(sim));
  vin_sim_destroy(sim);
  return NULL;
}

static int advance(vin_sim *sim, result *r, int steps) {
  for (int k = 0; k < steps; k++) {
    vin_status status = vin_sim_step(sim);
    if (status == VIN_OK) continue;
    fail(r, status, vin_sim_error(sim));
    return 0;
  }
  return 1;
}

static void time_run(result *r, const settings *s, vin_solver solver) {
  vin_sim *sim = r->status == VIN_OK ? create(r, s, solver) : NULL;
  if (!sim) return;
  for (int k = 0; k < STRETCHES; k++) {
    double begin = bench_cpu_clock();
    if (!advance(sim, r, stretch_steps(s, k))) break;
    double seconds = bench_cpu_clock() - begin;
    if (seconds < r->stretch_s[k]) r->stretch_s[k] = seconds;
  }
  r->stats = vin_sim_get_stats(sim);
  r->peak_mb = bench_peak_mb();
  vin_sim_destroy(sim);
}

/* A report factorises, which would spoil times and counters; hence a run of its own. */
static void drift_run(result *r, const settings *s, vin_solver solver) {
  vin_sim *sim = create(r, s, solver);
  if (!sim) return;
  double drift = 0.0, kinetic = 0.0;
  for (int k = 0; k < STRETCHES && advance(sim, r, stretch_steps(s, k)); k++) {
    vin_report now = vin_sim_report(sim);
    drift = fmax(drift, fabs(now.energy - now.energy_start));
    kinetic = fmax(kinetic, now.kinetic);
    r->constraint_max = fmax(r->constraint_max, now.position_residual);
    r->hidden_max = fmax(r->hidden_max, now.velocity_residual);
  }
  r->energy_drift = drift / kinetic;
  vin_sim_destroy(sim);
}

static void report(const result *r, const settings *s, vin_solver solver) {
  double seconds = 0.0;
  for (int k = 0; k < STRETCHES; k++) seconds += r->stretch_s[k];
  const bench_field fields[] = {
      {"case", "case", BENCH_WORD, -11, .word = s->name},
      {"bodies", "bodies", BENCH_WHOLE, 7, .whole = r->bodies},
      {"method", "method", BENCH_WORD, -7, .word = s->method},
      {"solver", "solver", BENCH_WORD, -12, .word = vin_solver_name(solver)},
      {"ns_per_body_step", "ns/body/step", BENCH_REAL, 12,
       .real = 1e9 * seconds / ((double)r->bodies * s->steps)},
      {"energy_drift", "energy drift", BENCH_REAL, 12, .real = r->energy_drift},
      {"constraint_max", "max |Phi|", BENCH_REAL, 9, .real = r->constraint_max},
      {"hidden_max", "max |h|", BENCH_REAL, 9, .real = r->hidden_max},
      {"symbolic", "symbolic", BENCH_WHOLE, 8, .whole = r->stats.solver.symbolic},
      {"numeric", "numeric", BENCH_WHOLE, 7, .whole = r->stats.solver.numeric},
      {"solves", "solves", BENCH_WHOLE, 7, .whole = r->stats.solver.solves},
      {"peak_mb", "peak MB", BENCH_REAL, 7, .real = r->peak_mb},
      {"steps", "steps", BENCH_WHOLE, 6, .whole = s->steps},
      {"sweeps", "sweeps", BENCH_WHOLE, 6, .whole = r->stats.sweeps},
      {"failures", "failures", BENCH_WHOLE, 8, .whole = r->stats.failures},
      {"setup_s", "setup s", BENCH_REAL, 8, .real = r->setup_s},
  };
  bench_print(s->json, fields, sizeof fields / sizeof *fields);
}

/* Returns the number of solvers that failed. */
static int run_case(const settings *s) {
  result results[SOLVERS];
  int wanted[SOLVERS], failed = 0;
  for (int k = 0; k < SOLVERS; k++) {
    int all = strcmp(s->solver, "all") == 0;
    wanted[k] = all ? vin_solver_available(solvers[k])
                    : strcmp(s->solver, vin_solver_name(solvers[k])) == 0;
    results[k] = (result){.setup_s = HUGE_VAL};
    for (int i = 0; i < STRETCHES; i++) results[k].stretch_s[i] = HUGE_VAL;
    if (wanted[k]) drift_run(results + k, s, solvers[k]);
  }
  for (int repetition = 0; repetition < s->repetitions; repetition++) {
    for (int k = 0; k < SOLVERS; k++) {
      if (wanted[k]) time_run(results + k, s, solvers[k]);
    }
  }
  for (int k = 0; k < SOLVERS; k++) {
    if (!wanted[k]) continue;
    if (results[k].status == VIN_OK) {
      report(results + k, s, solvers[k]);
      continue;
    }
    failed++;
    fprintf(stderr, "step: %s, %s: %s: %s\n", s->name, vin_solver_name(solvers[k]),
            vin_status_name(results[k].status), results[k].text);
  }
  return failed;
}

int main(int argc, char **argv) {
  settings s = {.name = "all",
                .solver = "ldlt",
                .method = "rattle",
                .projection = "both",
                .bodies = 1000,
                .steps = 1000,
                .repetitions = 3,
                .h = 1e-3};
  for (size_t k = 0; bench_scenes[k]; k++) case_words[k + 1] = bench_scenes[k];
  const bench_option options[] = {
      {"--case", "which model", .also = "--family", .word = &s.name, .words = case_words},
      {"--bodies", "links of a chain, nodes of a net, which become a square of at least 9",
       .whole = &s.bodies, .least = 1, .most = 100000000},
      {"--method", "one-step method", .word = &s.method, .words = method_words},
      {"--projection", "after each step of the methods other than rattle", .word = &s.projection,
       .words = projection_words},
      {"--solver", "linear solver", .also = "--backend", .word = &s.solver, .words = solver_words},
      {"--steps", "steps of the run", .whole = &s.steps, .least = STRETCHES, .most = 1000000000},
      {"--h", "length of a step, s", .real = &s.h},
      {"--repetitions", "timed runs of each solver", .whole = &s.repetitions, .least = 1,
       .most = 100000},
      {"--plain-malloc", "leave glibc's allocator alone (see kkt --help)", .flag = &s.plain_malloc},
      {"--json", "one JSON object per line", .flag = &s.json},
      {0}};
  bench_parse("step", "whole steps of falling chains and nets", notes, options, argc, argv);
  bench_one_thread(argv);
  bench_limit_memory();
  if (!s.plain_malloc) bench_keep_memory();
  int failed = 0;
  const char *wanted = s.name;
  for (const char *const *name = bench_scenes; *name; name++) {
    if (strcmp(wanted, "all") != 0 && strcmp(wanted, *name) != 0) continue;
    s.name = *name;
    failed += run_case(&s);
  }
  return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
