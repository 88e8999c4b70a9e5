/* families.c - saddle-point systems of typical mechanisms. */
#include "families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEED = 20240607;

/* ---- entries ------------------------------------------------------------------------------ */

static void *grown(void *memory, vin_int capacity, size_t size) {
  memory = realloc(memory, (size_t)capacity * size);
  if (!memory) bench_fail("memory", "there is not enough");
  return memory;
}

static void add(bench_entries *e, vin_int row, vin_int col, double value) {
  if (e->count == e->capacity) {
    if (e->capacity > INT32_MAX / 2) bench_fail("bodies", "too many entries for 32-bit indices");
    e->capacity = e->capacity > 0 ? 2 * e->capacity : 64;
    e->row = grown(e->row, e->capacity, sizeof *e->row);
    e->col = grown(e->col, e->capacity, sizeof *e->col);
    e->value = grown(e->value, e->capacity, sizeof *e->value);
  }
  e->row[e->count] = row;
  e->col[e->count] = col;
  e->value[e->count++] = value;
}

vin_triplets bench_pattern(const bench_entries *e) {
  return (vin_triplets){.count = e->count, .row = e->row, .col = e->col};
}

/* ---- points ------------------------------------------------------------------------------- */

static void add_points(bench_problem *p, vin_int count) {
  for (vin_int i = 0; i < count; i++) {
    double mass = bench_random(&p->random, 0.5, 1.5); /* kg */
    for (int d = 0; d < 3; d++, p->n++) add(&p->h, p->n, p->n, mass);
  }
}

/* factor * d at a point whose coordinates begin at column, -1: a fixed point. */
static void add_direction(bench_problem *p, vin_int column, double factor, const double d[3]) {
  if (column < 0) return;
  for (int k = 0; k < 3; k++) add(&p->j, p->m, column + k, factor * d[k]);
}

static void add_rod(bench_problem *p, vin_int a, vin_int b, const double d[3]) {
  add_direction(p, a, -1.0, d);
  add_direction(p, b, 1.0, d);
  p->m++;
}

static void make_point_chain(bench_problem *p) {
  add_points(p, p->bodies);
  for (vin_int i = 0; i < p->bodies; i++) {
    double d[3];
    bench_random_unit(&p->random, d);
    add_rod(p, 3 * (i - 1) < 0 ? -1 : 3 * (i - 1), 3 * i, d);
  }
}

/* Grid of points 1 m apart, dented by 0.3 m; two opposite corners are fixed (as in
 * examples/net.c). */
static void make_grid(bench_problem *p, int dimension) {
  vin_int grid = (vin_int)lround(pow((double)p->bodies, 1.0 / dimension)), count, step[3];
  if (grid < 2) grid = 2;
  step[0] = 1, step[1] = grid, step[2] = grid * grid;
  count = p->bodies = dimension == 2 ? grid * grid : grid * grid * grid;
  double(*at)[3] = bench_alloc((size_t)count, sizeof *at);
  for (vin_int i = 0; i < count; i++) {
    for (int d = 0; d < dimension; d++) at[i][d] = (double)(i / step[d] % grid);
    for (int d = 0; d < 3; d++) at[i][d] += bench_random(&p->random, -0.3, 0.3);
  }
  add_points(p, count - 2);
  for (vin_int i = 0; i < count; i++) {
    for (int side = 0; side < dimension; side++) {
      if (i / step[side] % grid == 0) continue;
      vin_int from = i - step[side];
      double d[3];
      for (int k = 0; k < 3; k++) d[k] = at[i][k] - at[from][k];
      add_rod(p, from == 0 ? -1 : 3 * (from - 1), i == count - 1 ? -1 : 3 * (i - 1), d);
    }
  }
  free(at);
}

/* ---- rigid bodies: velocity, then angular velocity ------------------------------------------ */

/* Mass, and inertia about axes that do not turn with the body: dense, and new in each step. */
static void add_body(bench_problem *p) {
  double mass = bench_random(&p->random, 0.5, 1.5);
  for (int d = 0; d < 3; d++) add(&p->h, p->n + d, p->n + d, mass);
  for (int i = 3; i < 6; i++) {
    for (int j = 3; j <= i; j++) {
      double inertia = i == j ? bench_random(&p->random, 0.1, 0.2) /* kg m^2 */
                              : bench_random(&p->random, -0.03, 0.03);
      add(&p->h, p->n + i, p->n + j, inertia);
    }
  }
  p->n += 6;
}

/* Row k of sign (v + omega x r) of the body whose coordinates begin at column; -1: the ground. */
static void add_point_row(bench_problem *p, vin_int column, int k, double sign, const double r[3]) {
  if (column < 0) return;
  int next = (k + 1) % 3, last = (k + 2) % 3;
  add(&p->j, p->m, column + k, sign);
  add(&p->j, p->m, column + 3 + next, sign * r[last]);
  add(&p->j, p->m, column + 3 + last, -sign * r[next]);
}

/* A joint half a link behind body a and before body b. Three rows; with hinge two more, which keep
 * the relative rotation on one axis. */
static void add_joint(bench_problem *p, vin_int a, vin_int b, int hinge) {
  double from[3], to[3], axis[3], across[2][3];
  bench_random_unit(&p->random, from);
  bench_random_unit(&p->random, to);
  for (int k = 0; k < 3; k++) from[k] *= 0.5, to[k] *= -0.5; /* m */
  for (int k = 0; k < 3; k++, p->m++) {
    add_point_row(p, a, k, 1.0, from);
    add_point_row(p, b, k, -1.0, to);
  }
  if (!hinge) return;
  bench_random_unit(&p->random, axis);
  int thin = fabs(axis[0]) < 0.6 ? 0 : 1; /* an axis that is far from this one */
  double length = sqrt(1.0 - axis[thin] * axis[thin]);
  for (int k = 0; k < 3; k++) across[0][k] = ((k == thin) - axis[thin] * axis[k]) / length;
  for (int k = 0; k < 3; k++) {
    int next = (k + 1) % 3, last = (k + 2) % 3;
    across[1][k] = axis[next] * across[0][last] - axis[last] * across[0][next];
  }
  for (int k = 0; k < 2; k++, p->m++) {
    add_direction(p, a < 0 ? -1 : a + 3, 1.0, across[k]);
    add_direction(p, b + 3, -1.0, across[k]);
  }
}

static void make_body_chain(bench_problem *p, int hinge) {
  for (vin_int i = 0; i < p->bodies; i++) add_body(p);
  for (vin_int i = 0; i < p->bodies; i++) add_joint(p, i == 0 ? -1 : 6 * (i - 1), 6 * i, hinge);
}

/* Every body hangs on one of those before it, any with the same probability. */
static void make_tree(bench_problem *p) {
  for (vin_int i = 0; i < p->bodies; i++) add_body(p);
  for (vin_int i = 0; i < p->bodies; i++) {
    vin_int parent = i == 0 ? -1 : (vin_int)bench_random(&p->random, 0.0, (double)i);
    add_joint(p, parent < 0 ? -1 : 6 * parent, 6 * i, 1);
  }
}

/* Points on straight tethers around one body. */
static void make_hub(bench_problem *p) {
  p->bodies = p->bodies < 2 ? 2 : p->bodies;
  add_body(p);
  add_points(p, p->bodies - 1);
  for (vin_int i = 0; i + 1 < p->bodies; i++) {
    double d[3], r[3], moment[3];
    bench_random_unit(&p->random, d);
    bench_random_unit(&p->random, r);
    for (int k = 0; k < 3; k++) {
      int next = (k + 1) % 3, last = (k + 2) % 3;
      moment[k] = r[next] * d[last] - r[last] * d[next];
    }
    add_direction(p, 0, -1.0, d);
    add_direction(p, 3, -1.0, moment);
    add_direction(p, 6 + 3 * i, 1.0, d);
    p->m++;
  }
}

/* ---- the ladder: planar bodies with x, y, angle ---------------------------------------------- */

/* Two rows: the point r of body a moves as the point s of body b does; b < 0: it rests. */
static void add_pin(bench_problem *p, vin_int a, const double r[2], vin_int b, const double s[2]) {
  for (int k = 0; k < 2; k++, p->m++) {
    add(&p->j, p->m, 3 * a + k, 1.0);
    add(&p->j, p->m, 3 * a + 2, k == 0 ? -r[1] : r[0]);
    if (b < 0) continue;
    add(&p->j, p->m, 3 * b + k, -1.0);
    add(&p->j, p->m, 3 * b + 2, k == 0 ? s[1] : -s[0]);
  }
}

/* N parallelograms side by side: N + 1 cranks on the ground, N couplers between their tops; one
 * degree of freedom. The cranks come first. */
static void make_ladder(bench_problem *p) {
  vin_int loops = p->bodies < 3 ? 1 : (p->bodies - 1) / 2;
  p->bodies = 2 * loops + 1;
  for (vin_int i = 0; i < p->bodies; i++) {
    double mass = bench_random(&p->random, 0.5, 1.5);
    for (int d = 0; d < 3; d++, p->n++) add(&p->h, p->n, p->n, d < 2 ? mass : mass / 12.0);
  }
  const double angle = 1.1; /* of all cranks against the ground */
  double foot[2] = {-0.5 * cos(angle), -0.5 * sin(angle)}, top[2] = {-foot[0], -foot[1]};
  double left[2] = {-0.5, 0.0}, right[2] = {0.5, 0.0};
  for (vin_int i = 0; i <= loops; i++) {
    add_pin(p, i, foot, -1, NULL);
    if (i == loops) continue;
    add_pin(p, i, top, loops + 1 + i, left);
    add_pin(p, i + 1, top, loops + 1 + i, right);
  }
}

/* ---- all ---------------------------------------------------------------------------------- */

const char *const bench_families[] = {"point-chain", "ball-chain", "hinge-chain", "ladder", "tree",
                                      "net",         "lattice",    "hub",         NULL};

/* The right-hand side of a random solution, so that accelerations and multipliers are of the size of
 * the entries, as in mechanisms: a random right-hand side makes them 1e5 times as large on a ladder
 * of 10^4 bodies. */
static void make_right_hand_side(bench_problem *p) {
  p->f = bench_alloc((size_t)p->n, sizeof *p->f);
  p->g = bench_alloc((size_t)p->m, sizeof *p->g);
  double *x = bench_alloc((size_t)p->n, sizeof *x), *lambda = bench_alloc((size_t)p->m, sizeof *x);
  for (vin_int i = 0; i < p->n; i++) x[i] = bench_random(&p->random, -10.0, 10.0);
  for (vin_int i = 0; i < p->m; i++) lambda[i] = bench_random(&p->random, -10.0, 10.0);
  for (vin_int e = 0; e < p->h.count; e++) {
    vin_int i = p->h.row[e], j = p->h.col[e];
    p->f[i] += p->h.value[e] * x[j];
    if (i != j) p->f[j] += p->h.value[e] * x[i];
  }
  for (vin_int e = 0; e < p->j.count; e++) {
    p->g[p->j.row[e]] += p->j.value[e] * x[p->j.col[e]];
    p->f[p->j.col[e]] += p->j.value[e] * lambda[p->j.row[e]];
  }
  free(x);
  free(lambda);
}

bench_problem *bench_problem_create(const char *family, vin_int bodies) {
  bench_problem *p = bench_alloc(1, sizeof *p);
  p->family = family;
  p->bodies = bodies;
  p->random = SEED;
  p->constant_mass = 1;
  if (strcmp(family, "point-chain") == 0) {
    make_point_chain(p);
  } else if (strcmp(family, "ladder") == 0) {
    make_ladder(p);
  } else if (strcmp(family, "net") == 0) {
    make_grid(p, 2);
  } else if (strcmp(family, "lattice") == 0) {
    make_grid(p, 3);
  } else if (strcmp(family, "hub") == 0) {
    make_hub(p);
  } else {
    p->constant_mass = 0;
    if (strcmp(family, "tree") == 0)
      make_tree(p);
    else
      make_body_chain(p, strcmp(family, "hinge-chain") == 0);
  }
  make_right_hand_side(p);
  return p;
}

void bench_problem_destroy(bench_problem *p) {
  if (!p) return;
  free(p->h.row), free(p->h.col), free(p->h.value);
  free(p->j.row), free(p->j.col), free(p->j.value);
  free(p->f), free(p->g);
  free(p);
}

static double largest_ratio(const double *r, const double *s, vin_int count) {
  double largest = 0.0;
  for (vin_int i = 0; i < count; i++) {
    double ratio = fabs(r[i]) / s[i];
    if (!(ratio <= largest)) largest = ratio; /* NaN stays */
  }
  return largest;
}

void bench_residuals(const bench_problem *p, const double *x, const double *lambda, double *force,
                     double *constraint) {
  size_t n = (size_t)p->n, size = n + (size_t)p->m;
  double *r = bench_alloc(2 * size, sizeof *r), *s = r + size;
  for (size_t i = 0; i < size; i++) {
    r[i] = i < n ? p->f[i] : p->g[i - n];
    s[i] = fabs(r[i]);
  }
  for (vin_int e = 0; e < p->h.count; e++) {
    vin_int i = p->h.row[e], j = p->h.col[e];
    double here = p->h.value[e] * x[j], there = p->h.value[e] * x[i];
    r[i] -= here, s[i] += fabs(here);
    if (i != j) r[j] -= there, s[j] += fabs(there);
  }
  for (vin_int e = 0; e < p->j.count; e++) {
    vin_int i = p->n + p->j.row[e], j = p->j.col[e];
    double here = p->j.value[e] * x[j], there = p->j.value[e] * lambda[i - p->n];
    r[i] -= here, s[i] += fabs(here);
    r[j] -= there, s[j] += fabs(there);
  }
  *force = largest_ratio(r, s, p->n);
  *constraint = largest_ratio(r + n, s + n, p->m);
  free(r);
}
