/* peer.c - main() of every peer: builds the problem, runs it, measures, prints one line of JSON. */
#include "peer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SAMPLES = 20 }; /* times at which drift and gaps are looked at, evenly over the run */

static const char *const case_names[] = {"chain", "chain-point", "net", "pendulum", NULL};

typedef struct settings {
  const char *reference, *write; /* files, or NULL */
  double seconds;                /* CPU time after which a run ends early */
} settings;

typedef struct outcome {
  int64_t own_steps; /* steps that the peer took */
  int64_t steps;     /* steps of h that were asked for */
  double cpu;        /* s, stepping only */
  double energy_start, kinetic_max, energy_change;
  double gap;
  double error; /* NaN: no reference */
} outcome;

static char reason[256];

void *peer_fail(const char *format, ...) {
  if (reason[0]) return NULL;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  for (char *c = reason; *c; c++) { /* it goes into a JSON string and into one cell of a table */
    if (*c == '"' || *c == '\\' || *c == '|') *c = '\'';
    if ((unsigned char)*c < ' ') *c = ' ';
  }
  return NULL;
}

static void *allocate(size_t count, size_t size) {
  void *block = calloc(count, size);
  if (!block) {
    fprintf(stderr, "%s: out of memory\n", peer_name);
    exit(1);
  }
  return block;
}

/* CPU time of this process, s: the machine may be busy with other things. The kernel knows the sum
 * exactly, but splits it into user and system time by ticks of some ms, so both are taken. */
static double cpu_time(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- problems ----------------------------------------------------------------------------- */

static void add_rod(peer_problem *problem, int near, int far) {
  problem->rod[problem->rods][0] = near;
  problem->rod[problem->rods][1] = far;
  problem->rods++;
}

static void build_chain(peer_problem *problem) {
  problem->gravity[1] = -9.81;
  problem->fixed[0] = 1;
  for (int i = 0; i < problem->nodes; i++) problem->position[3 * i] = i;
  for (int i = 0; i < problem->bodies; i++) add_rod(problem, i, i + 1);
}

/* As examples/net.c, which also says why there is some wind at the start. */
static void build_net(peer_problem *problem, int grid) {
  problem->gravity[2] = -9.81;
  for (int j = 0; j < grid; j++) {
    for (int i = 0; i < grid; i++) {
      int node = j * grid + i;
      problem->fixed[node] = node == 0 || node == problem->nodes - 1;
      problem->position[3 * node] = i;
      problem->position[3 * node + 1] = j;
      if (!problem->fixed[node]) problem->velocity[3 * node + 2] = 0.01 * sin(i + 2.0 * j);
      if (i > 0) add_rod(problem, node - 1, node);
      if (j > 0) add_rod(problem, node - grid, node);
    }
  }
}

/* Completes a problem of which kind and bodies are known. Returns 0 when the number is wrong. */
static int build(peer_problem *problem) {
  int net = problem->kind == PEER_NET, grid = (int)lround(sqrt(problem->bodies));
  if (problem->bodies < 1 || (net && (grid < 3 || grid * grid != problem->bodies))) return 0;
  if (problem->kind == PEER_PENDULUM && problem->bodies != 1) return 0;

  size_t nodes = (size_t)problem->bodies + (net ? 0 : 1);
  problem->nodes = (int)nodes;
  problem->position = allocate(3 * nodes, sizeof *problem->position);
  problem->velocity = allocate(3 * nodes, sizeof *problem->velocity);
  problem->fixed = allocate(nodes, sizeof *problem->fixed);
  problem->rod = allocate(2 * nodes, sizeof *problem->rod);
  problem->rod_mass = problem->kind == PEER_CHAIN ? 1.0 : 0.0;
  problem->node_mass = problem->kind == PEER_CHAIN ? 0.0 : 1.0;
  if (net)
    build_net(problem, grid);
  else
    build_chain(problem);
  return 1;
}

static void release(peer_problem *problem) {
  free(problem->position);
  free(problem->velocity);
  free(problem->fixed);
  free(problem->rod);
}

peer_body peer_rod_body(const peer_problem *problem) {
  if (problem->kind == PEER_CHAIN) return (peer_body){1.0, 0.5, 1e-3, 1.0 / 12.0};
  return (peer_body){1.0, 1.0, 1e-6, 1e-6};
}

void peer_rods_from_nodes(const peer_problem *problem, const double *x, const double *v,
                          peer_rod_state *states) {
  for (int r = 0; r < problem->rods; r++) {
    int near = problem->rod[r][0], far = problem->rod[r][1];
    memcpy(states[r].near, x + 3 * near, sizeof states[r].near);
    memcpy(states[r].far, x + 3 * far, sizeof states[r].far);
    memcpy(states[r].near_velocity, v + 3 * near, sizeof states[r].near_velocity);
    memcpy(states[r].far_velocity, v + 3 * far, sizeof states[r].far_velocity);
  }
}

void peer_rod_from_body(const double *near, const double *near_velocity, const double *omega,
                        const double *axis, peer_rod_state *state) {
  for (int d = 0; d < 3; d++) {
    int e = (d + 1) % 3, f = (d + 2) % 3;
    state->near[d] = near[d];
    state->far[d] = near[d] + axis[d];
    state->near_velocity[d] = near_velocity[d];
    state->far_velocity[d] = near_velocity[d] + omega[e] * axis[f] - omega[f] * axis[e];
  }
}

/* ---- diagnostics -------------------------------------------------------------------------- */

static double dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance(const double *a, const double *b) {
  double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
  return sqrt(dot(d, d));
}

/* Where the nodes are and how fast: as the first rod that ends there says. Returns the largest
 * disagreement between rods, or with a fixed node, or of a rod with its length; NaN stays NaN. */
static double gather_nodes(const peer_problem *problem, const peer_rod_state *states, double *x,
                           double *v) {
  double gap = 0.0;
  for (int i = 0; i < problem->nodes; i++) x[3 * i] = NAN;
  for (int i = 0; i < problem->nodes; i++)
    if (problem->fixed[i]) memcpy(x + 3 * i, problem->position + 3 * i, 3 * sizeof *x);
  for (int r = 0; r < problem->rods; r++) {
    double change = fabs(distance(states[r].near, states[r].far) - 1.0);
    if (!(change <= gap)) gap = change;
    for (int end = 0; end < 2; end++) {
      int node = problem->rod[r][end];
      const double *place = end ? states[r].far : states[r].near;
      if (isnan(x[3 * node])) {
        memcpy(x + 3 * node, place, 3 * sizeof *x);
        memcpy(v + 3 * node, end ? states[r].far_velocity : states[r].near_velocity, 3 * sizeof *v);
      }
      change = distance(x + 3 * node, place);
      if (!(change <= gap)) gap = change;
    }
  }
  return gap;
}

/* Kinetic energy of points and of slender rods, m/6 (va.va + va.vb + vb.vb), and the potential. */
static void energies(const peer_problem *problem, const peer_rod_state *states, const double *x,
                     const double *v, double *kinetic, double *potential) {
  const double *g = problem->gravity;
  *kinetic = *potential = 0.0;
  for (int i = 0; i < problem->nodes; i++) {
    if (problem->fixed[i]) continue;
    *kinetic += 0.5 * problem->node_mass * dot(v + 3 * i, v + 3 * i);
    *potential -= problem->node_mass * dot(g, x + 3 * i);
  }
  for (int r = 0; r < problem->rods; r++) {
    const double *va = states[r].near_velocity, *vb = states[r].far_velocity;
    *kinetic += problem->rod_mass / 6.0 * (dot(va, va) + dot(va, vb) + dot(vb, vb));
    *potential -= 0.5 * problem->rod_mass * (dot(g, states[r].near) + dot(g, states[r].far));
  }
}

/* The pendulum in closed form: sin(theta/2) = k cd(omega t, k), theta measured from below, k =
 * sin(theta_0 / 2), theta_0 = 90 degrees; cd = cn/dn by descending Landen transformation
 * (Abramowitz and Stegun 16.4). */
static void pendulum_position(double t, double *x) {
  enum { LANDEN = 6 }; /* quadratic convergence: enough for double */
  const double k = sqrt(0.5);
  double a[LANDEN + 1] = {1.0}, b = sqrt(1.0 - k * k), c[LANDEN + 1] = {k};
  for (int i = 1; i <= LANDEN; i++) {
    a[i] = 0.5 * (a[i - 1] + b);
    c[i] = 0.5 * (a[i - 1] - b);
    b = sqrt(a[i - 1] * b);
  }
  double phi = ldexp(a[LANDEN] * sqrt(9.81) * t, LANDEN);
  for (int i = LANDEN; i > 0; i--) phi = 0.5 * (phi + asin(c[i] / a[i] * sin(phi)));
  double dn = sqrt(1.0 - k * k * sin(phi) * sin(phi));
  double theta = 2.0 * asin(k * cos(phi) / dn);
  x[0] = sin(theta);
  x[1] = -cos(theta);
  x[2] = 0.0;
}

/* Reads the next block of the reference, "t" and 3 numbers per node, into x. */
static int read_reference(FILE *file, const peer_problem *problem, double t, double *x) {
  double time;
  if (fscanf(file, "%lf", &time) != 1 || fabs(time - t) > 1e-9) return 0;
  for (int i = 0; i < 3 * problem->nodes; i++)
    if (fscanf(file, "%lf", x + i) != 1) return 0;
  return 1;
}

static void write_reference(FILE *file, const peer_problem *problem, double t, const double *x) {
  fprintf(file, "%.17g", t);
  for (int i = 0; i < 3 * problem->nodes; i++) fprintf(file, " %.17g", x[i]);
  fputc('\n', file);
}

static double largest_distance(int nodes, const double *a, const double *b) {
  double largest = 0.0;
  for (int i = 0; i < nodes; i++) {
    double d = distance(a + 3 * i, b + 3 * i);
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

/* ---- the run ------------------------------------------------------------------------------ */

typedef struct sampler {
  const peer_problem *problem;
  peer_rod_state *states;
  double *x, *v, *expected;
  FILE *reference, *write;
} sampler;

static void sample(sampler *s, void *simulation, outcome *out) {
  const peer_problem *problem = s->problem;
  double t = (double)out->steps * problem->h, kinetic, potential;
  peer_state(simulation, s->states);
  double gap = gather_nodes(problem, s->states, s->x, s->v);
  energies(problem, s->states, s->x, s->v, &kinetic, &potential);
  if (out->steps == 0) out->energy_start = kinetic + potential;
  double change = fabs(kinetic + potential - out->energy_start);
  if (!(change <= out->energy_change)) out->energy_change = change;
  if (!(gap <= out->gap)) out->gap = gap;
  out->kinetic_max = fmax(out->kinetic_max, kinetic);

  if (s->write) write_reference(s->write, problem, t, s->x);
  out->error = NAN;
  int known = s->reference && read_reference(s->reference, problem, t, s->expected);
  if (problem->kind == PEER_PENDULUM) {
    pendulum_position(t, s->expected + 3);
    known = 1;
  }
  if (known) out->error = largest_distance(problem->nodes, s->x, s->expected);
}

/* Runs to the end, or to the first sample after the CPU time is used up. */
static void run(sampler *s, void *simulation, const settings *set, outcome *out) {
  const peer_problem *problem = s->problem;
  int steps = (int)lround(problem->t_end / problem->h / SAMPLES); /* between two samples */
  sample(s, simulation, out);
  for (int k = 0; k < SAMPLES && out->cpu <= set->seconds; k++) {
    double start = cpu_time();
    int64_t own = peer_advance(simulation, steps);
    out->cpu += cpu_time() - start;
    if (own < 0) return;
    out->own_steps += own;
    out->steps += steps;
    sample(s, simulation, out);
    if (isfinite(out->energy_change)) continue;
    peer_fail("blew up before t = %g s", (double)out->steps * problem->h);
    return;
  }
}

/* JSON has no NaN. */
static void print_number(const char *key, double value) {
  if (isfinite(value))
    printf(", \"%s\": %.6g", key, value);
  else
    printf(", \"%s\": null", key);
}

static void print(const peer_problem *problem, const outcome *out) {
  double body_steps = (double)problem->bodies * (double)out->steps;
  printf("{\"peer\": \"%s\", \"variant\": \"%s\", \"version\": \"%s\", \"case\": \"%s\"", peer_name,
         problem->variant, peer_version(), case_names[problem->kind]);
  printf(", \"bodies\": %d, \"h\": %g", problem->bodies, problem->h);
  printf(", \"t\": %g", (double)out->steps * problem->h);
  printf(", \"steps\": %lld", (long long)out->own_steps);
  print_number("ns_per_body_step", 1e9 * out->cpu / body_steps);
  print_number("energy_drift", out->energy_change / out->kinetic_max);
  print_number("constraint_max", out->gap);
  print_number("error", out->error);
  printf(", \"status\": \"%s\"}\n", reason[0] ? reason : "ok");
}

/* ---- command line ------------------------------------------------------------------------- */

static void usage(const char *wrong) {
  if (wrong) fprintf(stderr, "%s: not understood: %s\n", peer_name, wrong);
  FILE *stream = wrong ? stderr : stdout;
  fprintf(stream,
          "usage: %s --case chain|chain-point|net|pendulum --bodies N [--h S] [--t S]\n"
          "  [--variant V] [--reference FILE] [--write FILE] [--seconds S]\n"
          "  --bodies     links of a chain, nodes of a net (a square), 1 for the pendulum\n"
          "  --h, --t     step and end, s; default 1e-3 and 1; t is a multiple of 20 h\n"
          "  --reference  file of positions to compare with, made with --write at the same --t\n"
          "  --seconds    CPU time after which the run ends early; default 2\n"
          "  --variant   ",
          peer_name);
  for (int i = 0; peer_variants[i]; i++) fprintf(stream, " %s", peer_variants[i]);
  fprintf(stream, "; default the first\n");
  exit(wrong ? 2 : 0);
}

/* Index of a word in a list that ends with NULL, -1 when it is not there. */
static int find_word(const char *const *words, const char *word) {
  for (int i = 0; words[i]; i++)
    if (!strcmp(words[i], word)) return i;
  return -1;
}

static double parse_number(const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value > 0.0) || value > 1e9) usage(text);
  return value;
}

/* 1e6 is easier to count than 1000000, so whole numbers are read like real ones. */
static int parse_whole(const char *text) {
  double value = parse_number(text);
  if (value > 1e7 || value != floor(value)) usage(text);
  return (int)value;
}

static void parse(peer_problem *problem, settings *set, int argc, char **argv) {
  for (int i = 1; i < argc; i += 2) {
    if (!strcmp(argv[i], "--help")) usage(NULL);
    if (i + 1 == argc) usage(argv[i]);
    const char *value = argv[i + 1];
    if (!strcmp(argv[i], "--case")) {
      int kind = find_word(case_names, value);
      if (kind < 0) usage(value);
      problem->kind = (peer_case)kind;
    } else if (!strcmp(argv[i], "--variant")) {
      int variant = find_word(peer_variants, value);
      if (variant < 0) usage(value);
      problem->variant = peer_variants[variant];
    } else if (!strcmp(argv[i], "--bodies")) {
      problem->bodies = parse_whole(value);
    } else if (!strcmp(argv[i], "--h")) {
      problem->h = parse_number(value);
    } else if (!strcmp(argv[i], "--t")) {
      problem->t_end = parse_number(value);
    } else if (!strcmp(argv[i], "--seconds")) {
      set->seconds = parse_number(value);
    } else if (!strcmp(argv[i], "--reference")) {
      set->reference = value;
    } else if (!strcmp(argv[i], "--write")) {
      set->write = value;
    } else {
      usage(argv[i]);
    }
  }
}

static FILE *open_file(const char *path, const char *mode) {
  FILE *file = path ? fopen(path, mode) : NULL;
  if (path && !file) {
    perror(path);
    exit(1);
  }
  return file;
}

int main(int argc, char **argv) {
  peer_problem problem = {.variant = peer_variants[0], .bodies = 1, .h = 1e-3, .t_end = 1.0};
  settings set = {.seconds = 2.0};
  parse(&problem, &set, argc, argv);
  double samples = problem.t_end / problem.h / SAMPLES; /* a reference has the same times */
  if (samples < 0.5 || fabs(samples - round(samples)) > 1e-6 * samples)
    usage("--t: not a multiple of 20 h");
  if (!build(&problem)) usage("--bodies: not a number that fits the case");

  size_t coordinates = 3 * (size_t)problem.nodes;
  sampler s = {.problem = &problem,
               .states = allocate((size_t)problem.rods, sizeof *s.states),
               .x = allocate(coordinates, sizeof *s.x),
               .v = allocate(coordinates, sizeof *s.v),
               .expected = allocate(coordinates, sizeof *s.expected),
               .reference = open_file(set.reference, "r"),
               .write = open_file(set.write, "w")};
  outcome out = {.error = NAN};
  void *simulation = peer_create(&problem);
  if (simulation) run(&s, simulation, &set, &out);
  print(&problem, &out);
  peer_destroy(simulation);

  if (s.reference) fclose(s.reference);
  if (s.write && fclose(s.write)) peer_fail("cannot write %s", set.write);
  free(s.states);
  free(s.x);
  free(s.v);
  free(s.expected);
  release(&problem);
  return reason[0] ? 1 : 0;
}
