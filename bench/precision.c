/* precision.c - work against precision of the one-step methods on a chain, a net and tethered satellites. */
#include "scenes.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char notes[] =
    "Cases: chain of point masses (bodies: links) and square net (bodies: nodes) that fall from "
    "the\n"
    "horizontal, and the three tethered satellites of the examples. Each method runs with steps h, "
    "h/2, ...\n"
    "until its error is at rounding or a run takes half a second. One row for each run, repeated; "
    "the fastest counts.\n"
    "  error         largest error of a position or velocity at the end, relative to the largest "
    "of its\n"
    "                kind, against lim(6,6,5) with a step far smaller; hbvm and lim project their "
    "output\n"
    "  reference     what rk4 and that reference differ by: errors near it mean nothing\n"
    "  energy_drift  max |E - E(0)| / largest kinetic energy, of 20 looks at a run of its own,\n"
    "                raw output\n"
    "--plot FILE.png draws error against time with gnuplot; one case then.\n";

/* Steps that halve until this error, or a run takes so many seconds. */
static const double enough = 2e-12, longest = 0.5;
enum { LOOKS = 20, LEVELS = 14, NAME = 32, POINTS = 400 };

typedef struct method {
  const char *label;
  vin_method method;
  vin_projection projection;
  int s, k, r;
  double longest; /* first step, in units of the case's */
} method;

static const method methods[] = {
    {"euler", VIN_METHOD_EULER, VIN_PROJECTION_BOTH, 0, 0, 0, 1},
    {"rk4", VIN_METHOD_RK4, VIN_PROJECTION_BOTH, 0, 0, 0, 4},
    {"dopri5", VIN_METHOD_DOPRI5, VIN_PROJECTION_BOTH, 0, 0, 0, 4},
    {"rattle", VIN_METHOD_RATTLE, VIN_PROJECTION_NONE, 0, 0, 0, 4},
    {"rattle4", VIN_METHOD_RATTLE4, VIN_PROJECTION_NONE, 0, 0, 0, 8},
    {"rattle6", VIN_METHOD_RATTLE6, VIN_PROJECTION_NONE, 0, 0, 0, 16},
    {"hbvm(2,2)", VIN_METHOD_HBVM, VIN_PROJECTION_NONE, 2, 2, 0, 8},
    {"lim(3,3,3)", VIN_METHOD_LIM, VIN_PROJECTION_NONE, 3, 3, 3, 16},
    {"lim(4,4,3)", VIN_METHOD_LIM, VIN_PROJECTION_NONE, 4, 4, 3, 16},
    {"lim(5,5,5)", VIN_METHOD_LIM, VIN_PROJECTION_NONE, 5, 5, 5, 16},
    {"radau5", VIN_METHOD_RADAU5, VIN_PROJECTION_BOTH, 0, 0, 0, 16},
    {"generalized-alpha", VIN_METHOD_GENERALIZED_ALPHA, VIN_PROJECTION_NONE, 0, 0, 0, 4},
};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct scene {
  const char *name, *model;
  int bodies;
  double end, step;     /* s; step: of a method with longest = 1 */
  double fine, control; /* steps of the reference and of what it is compared with */
} scene;

static const scene scenes[] = {
    {"chain", "chain-point", 100, 1.0, 5e-3, 5e-3, 2e-4},
    {"net", "net-point", 100, 1.0, 1e-2, 5e-3, 1e-4},
    {"triangle", "triangle", 3, 100.0, 0.05, 0.1, 0.001},
};

static const char *const case_words[] = {"all", "chain", "net", "triangle", NULL};
static const char *method_words[METHODS + 2] = {"all"};

typedef struct settings {
  const char *scene, *method, *plot;
  int bodies, repetitions, json;
} settings;

typedef struct run {
  vin_status status;
  char text[256];
  double seconds, error, energy_drift;
  vin_stats stats;
} run;

typedef struct point { /* of the plot */
  char label[NAME];
  double seconds, error;
} point;
static point points[POINTS];
static int point_count;

static vin_sim *create(const scene *x, int bodies, const method *m, double h, int project_output,
                       run *r) {
  vin_options options = vin_options_default();
  options.method = m->method;
  options.projection = m->projection;
  options.stages = m->s, options.nodes = m->k, options.multiplier_terms = m->r;
  options.project_output = project_output;
  options.step = h;
  options.max_sweeps = 30;
  vin_model *model = bench_scene_create(x->model, &bodies);
  vin_sim *sim = NULL;
  r->status = vin_sim_create(&sim, model, &options);
  vin_model_destroy(model);
  if (r->status == VIN_OK) return sim;
  snprintf(r->text, sizeof r->text, "%s", vin_sim_error(sim));
  vin_sim_destroy(sim);
  return NULL;
}

static double difference(vin_int n, const double *x, const double *reference) {
  double worst = 0, size = 0;
  for (vin_int i = 0; i < n; i++) {
    double d = fabs(x[i] - reference[i]);
    if (!(d <= worst)) worst = d;
    size = fmax(size, fabs(reference[i]));
  }
  return worst / size;
}

/* Runs to the end; y (2 n) receives p and v there, reference (2 n, may be NULL) is compared with. */
static void execute(const scene *x, int bodies, const method *m, double h, double *y,
                    const double *reference, run *r) {
  vin_sim *sim = create(x, bodies, m, h, m->s > 0, r);
  if (!sim) return;
  double begin = bench_cpu_clock();
  r->status = vin_sim_run(sim, x->end);
  r->seconds = fmin(r->seconds, bench_cpu_clock() - begin);
  if (r->status != VIN_OK) snprintf(r->text, sizeof r->text, "%s", vin_sim_error(sim));
  vin_state_view end = vin_sim_state(sim);
  if (y) {
    memcpy(y, end.p, (size_t)end.n * sizeof *y);
    memcpy(y + end.n, end.v, (size_t)end.n * sizeof *y);
  }
  if (reference) {
    r->error =
        fmax(difference(end.n, end.p, reference), difference(end.n, end.v, reference + end.n));
  }
  r->stats = vin_sim_get_stats(sim);
  vin_sim_destroy(sim);
}

static void look_at_energy(const scene *x, int bodies, const method *m, double h, run *r) {
  vin_sim *sim = create(x, bodies, m, h, 0, r);
  double drift = 0, kinetic = 0;
  for (int k = 1; sim && k <= LOOKS && r->status == VIN_OK; k++) {
    r->status = vin_sim_run(sim, x->end * k / LOOKS);
    vin_report report = vin_sim_report(sim);
    drift = fmax(drift, fabs(report.energy - report.energy_start));
    kinetic = fmax(kinetic, report.kinetic);
  }
  r->energy_drift = drift / kinetic;
  vin_sim_destroy(sim);
}

static void report(const settings *s, const scene *x, int bodies, const method *m, double h,
                   double reference, const run *r) {
  const bench_field fields[] = {
      {"case", "case", BENCH_WORD, -8, .word = x->name},
      {"bodies", "bodies", BENCH_WHOLE, 6, .whole = bodies},
      {"method", "method", BENCH_WORD, -17, .word = m->label},
      {"h", "h", BENCH_REAL, 9, .real = h},
      {"error", "error", BENCH_REAL, 9, .real = r->error},
      {"reference", "reference", BENCH_REAL, 9, .real = reference},
      {"energy_drift", "energy drift", BENCH_REAL, 12, .real = r->energy_drift},
      {"wall_s", "time, s", BENCH_REAL, 9, .real = r->seconds},
      {"steps", "steps", BENCH_WHOLE, 7, .whole = r->stats.steps},
      {"numeric", "numeric", BENCH_WHOLE, 7, .whole = r->stats.solver.numeric},
      {"solves", "solves", BENCH_WHOLE, 8, .whole = r->stats.solver.solves},
  };
  bench_print(s->json, fields, sizeof fields / sizeof *fields);
  if (point_count == POINTS) return;
  point *p = &points[point_count++];
  snprintf(p->label, sizeof p->label, "%s", m->label);
  p->seconds = r->seconds;
  p->error = r->error;
}

static void run_method(const settings *s, const scene *x, int bodies, const method *m,
                       const double *reference, double uncertainty) {
  double h = x->step * m->longest;
  for (int level = 0; level < LEVELS; level++, h /= 2) {
    run r = {.seconds = HUGE_VAL};
    for (int k = 0; k < s->repetitions && r.status == VIN_OK; k++) {
      execute(x, bodies, m, h, NULL, reference, &r);
    }
    if (r.status == VIN_ERR_UNSUPPORTED) return;
    if (r.status != VIN_OK) { /* too long a step */
      fprintf(stderr, "precision: %s, h = %g: %s\n", m->label, h, r.text);
      continue;
    }
    look_at_energy(x, bodies, m, h, &r);
    report(s, x, bodies, m, h, uncertainty, &r);
    if (r.error <= fmax(enough, 2 * uncertainty) || r.seconds > longest) return;
  }
}

/* Two formulations that share no code above the linear solver: lim(6,6,5) and rk4 with projection. */
static double *make_reference(const scene *x, int *bodies, double *uncertainty) {
  static const method exact = {.method = VIN_METHOD_LIM, .s = 6, .k = 6, .r = 5},
                      control = {.method = VIN_METHOD_RK4, .projection = VIN_PROJECTION_BOTH};
  vin_model *model = bench_scene_create(x->model, bodies);
  size_t n = 3 * (size_t)vin_model_nodes(model);
  vin_model_destroy(model);
  double *reference = bench_alloc(2 * n, sizeof *reference);
  run r = {.seconds = HUGE_VAL};
  execute(x, *bodies, &exact, x->fine, reference, NULL, &r);
  if (r.status == VIN_OK) execute(x, *bodies, &control, x->control, NULL, reference, &r);
  if (r.status != VIN_OK) bench_fail("the reference", r.text);
  *uncertainty = r.error;
  return reference;
}

static void draw(const settings *s, const scene *x, int bodies) {
  if (point_count == 0) bench_fail("--plot", "there is nothing to draw");
  FILE *gnuplot = popen("gnuplot", "w");
  if (!gnuplot) bench_fail("gnuplot", "cannot be run");
  int curves = 0;
  for (int k = 0; k < point_count; k++) { /* one block of data for each method */
    bool first = k == 0 || strcmp(points[k].label, points[k - 1].label) != 0;
    if (first && curves > 0) fprintf(gnuplot, "EOD\n");
    if (first) fprintf(gnuplot, "$curve%d << EOD\n", curves++);
    fprintf(gnuplot, "%.6g %.6g\n", points[k].seconds, points[k].error);
  }
  fprintf(gnuplot,
          "EOD\nset terminal pngcairo size 900,600 font 'sans,11'\nset output '%s'\n"
          "set logscale xy\nset format '10^{%%L}'\nset grid\nset key outside right\n"
          "set xlabel 'processor time, s'\nset ylabel 'largest relative error of p, v at the end'\n"
          "set title '%s, %d bodies, %g s'\nplot ",
          s->plot, x->name, bodies, x->end);
  for (int k = 0, curve = 0; k < point_count; k++) {
    if (k > 0 && strcmp(points[k].label, points[k - 1].label) == 0) continue;
    fprintf(gnuplot, "%s$curve%d with linespoints lw 2 title '%s'", curve > 0 ? ", " : "", curve,
            points[k].label);
    curve++;
  }
  fprintf(gnuplot, "\n");
  if (pclose(gnuplot) != 0) bench_fail(s->plot, "gnuplot failed");
}

static void run_scene(const settings *s, const scene *x) {
  int bodies = s->bodies > 0 && strcmp(x->name, "triangle") != 0 ? s->bodies : x->bodies;
  double uncertainty;
  double *reference = make_reference(x, &bodies, &uncertainty);
  point_count = 0;
  for (int k = 0; k < METHODS; k++) {
    if (strcmp(s->method, "all") == 0 || strcmp(s->method, methods[k].label) == 0) {
      run_method(s, x, bodies, methods + k, reference, uncertainty);
    }
  }
  free(reference);
  if (s->plot) draw(s, x, bodies);
}

int main(int argc, char **argv) {
  settings s = {.scene = "all", .method = "all", .repetitions = 3};
  for (int k = 0; k < METHODS; k++) method_words[k + 1] = methods[k].label;
  const bench_option options[] = {
      {"--case", "which model", .word = &s.scene, .words = case_words},
      {"--method", "which method", .word = &s.method, .words = method_words},
      {"--bodies", "links of the chain, nodes of the net; 0: 100", .whole = &s.bodies, .least = 0,
       .most = 10000000},
      {"--repetitions", "timed runs of each", .whole = &s.repetitions, .least = 1, .most = 1000},
      {"--plot", "FILE.png", .word = &s.plot},
      {"--json", "one JSON object per line", .flag = &s.json},
      {0}};
  bench_parse("precision", "work against precision of the one-step methods", notes, options, argc,
              argv);
  bench_one_thread(argv);
  bench_limit_memory();
  bench_keep_memory();
  if (s.plot && strcmp(s.scene, "all") == 0) bench_fail("--plot", "needs one --case");
  if (s.plot && strchr(s.plot, '\'')) bench_fail(s.plot, "gnuplot takes no name with a quote");
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    if (strcmp(s.scene, "all") == 0 || strcmp(s.scene, scenes[k].name) == 0) {
      run_scene(&s, scenes + k);
    }
  }
  return EXIT_SUCCESS;
}
