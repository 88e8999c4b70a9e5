/* The derivative checker: every derivative a user gives against extrapolated central differences.
 *
 * Along a line s -> F(s) the derivative is taken with steps d and d/2, extrapolated, (4 D(d/2) -
 * D(d)) / 3, for several d, so that no scale has to be known. An entry is right when one d
 * confirms it: to ENTRY_TOLERANCE of itself, plus ROW_TOLERANCE of the largest entry in its row,
 * plus rounding, provided that rounding leaves that d something to say. (The d whose two values
 * agree best would do for smooth functions of positions of one scale. An angle beside kilometres
 * is moved around the circle by the large d, and what they say about it agrees by accident.) */
#include "sparse/sparse.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_TOLERANCE 1e-6 /* differences reach 1e-9; a wrong term is seldom below 1e-4 */
#define ROW_TOLERANCE 1e-8   /* entries of one row may have different units: nearly absolute zero */
#define ROUNDING 4e-15       /* a few units of rounding in F, relative to its terms */
#define MOST_ROUNDING 1e-4   /* a d whose rounding is a larger part of the entry confirms nothing */
/* Relative to the largest position. The first is wide: on the manifold Phi itself is zero, and only
 * away from it shows how large the terms are whose rounding is divided by d. The last is for
 * positions of mixed units, an angle beside kilometres. */
static const double relative_steps[] = {1e-1, 1e-3, 1e-5, 1e-7, 1e-9};
enum { STEP_COUNT = sizeof relative_steps / sizeof *relative_steps };

/* What one d says; each max(n, m). */
typedef struct estimate {
  bool usable;      /* F exists so far away */
  double *value;    /* the derivative */
  double *gap;      /* by which the two values that it was extrapolated from differ */
  double *rounding; /* its error from rounding in F */
} estimate;

typedef struct checker {
  const vin_system *system;
  vini_object local; /* texts of failing evaluations */
  double t;
  const double *p, *v;
  vin_derivative_check *check;
  double worst;
  /* the line that is probed */
  int column; /* coordinate moved, or -1 */
  vin_int out_count;
  double *point; /* n: moved p or v */
  estimate estimates[STEP_COUNT];
  double *terms;         /* max(n, m): largest |F| met on the line */
  double *work[4];       /* max(n, m) each: F at -d, d, -d/2, d/2 */
  double *rate, *values; /* m; pattern counts */
  double *scale;         /* max(n, m): largest entry of each row */
} checker;

typedef vin_status (*probe)(checker *c, double s, double *out);

static vin_status probe_constraint(checker *c, double s, double *out) {
  memcpy(c->point, c->p, (size_t)c->system->n * sizeof *c->p);
  c->point[c->column] += s;
  return vini_eval_constraint(c->system, &c->local, c->t, c->point, out);
}

static vin_status probe_time(checker *c, double s, double *out) {
  return vini_eval_constraint(c->system, &c->local, c->t + s, c->p, out);
}

/* h = Phi_p v + Phi_t along (t + s, p + s v): its derivative is the curvature a */
static vin_status probe_rate(checker *c, double s, double *out) {
  const vin_triplets *j = &c->system->desc.jacobian_pattern;
  for (vin_int i = 0; i < c->system->n; i++) c->point[i] = c->p[i] + s * c->v[i];
  VINI_TRY(vini_eval_constraint_rate(c->system, &c->local, c->t + s, c->point, out));
  VINI_TRY(vini_eval_jacobian(c->system, &c->local, c->t + s, c->point, c->values));
  for (vin_int k = 0; k < j->count; k++) out[j->row[k]] += c->values[k] * c->v[j->col[k]];
  return VIN_OK;
}

static vin_status probe_potential(checker *c, double s, double *out) {
  memcpy(c->point, c->p, (size_t)c->system->n * sizeof *c->p);
  c->point[c->column] += s;
  return vini_eval_potential(c->system, &c->local, c->t, c->point, out);
}

static vin_status probe_force_p(checker *c, double s, double *out) {
  memcpy(c->point, c->p, (size_t)c->system->n * sizeof *c->p);
  c->point[c->column] += s;
  return vini_eval_force(c->system, &c->local, c->t, c->point, c->v, out);
}

static vin_status probe_force_v(checker *c, double s, double *out) {
  memcpy(c->point, c->v, (size_t)c->system->n * sizeof *c->v);
  c->point[c->column] += s;
  return vini_eval_force(c->system, &c->local, c->t, c->p, c->point, out);
}

/* estimates := derivative of the probe at s = 0. size: scale of the variable that s moves. */
static vin_status differentiate(checker *c, probe function, vin_int count, double size) {
  for (vin_int i = 0; i < count; i++) c->terms[i] = 0;
  vin_status status = VIN_OK;
  bool usable = false;
  for (int k = 0; k < STEP_COUNT; k++) {
    estimate *e = &c->estimates[k];
    double d = relative_steps[k] * size, *w[4] = {c->work[0], c->work[1], c->work[2], c->work[3]};
    double shift[4] = {-d, d, -0.5 * d, 0.5 * d};
    vin_status tried = VIN_OK;
    for (int i = 0; i < 4 && tried == VIN_OK; i++) tried = function(c, shift[i], w[i]);
    e->usable = tried == VIN_OK;
    if (!e->usable) { /* a domain may end within d: another d may fit */
      status = tried;
      continue;
    }
    usable = true;
    for (vin_int i = 0; i < count; i++) {
      double full = (w[1][i] - w[0][i]) / (2 * d), half = (w[3][i] - w[2][i]) / d;
      c->terms[i] = vini_max(c->terms[i], vini_max(fabs(w[0][i]), fabs(w[1][i])));
      e->value[i] = (4 * half - full) / 3;
      e->gap[i] = fabs(half - full);
      e->rounding[i] = ROUNDING * c->terms[i] / d;
    }
  }
  return usable ? VIN_OK : status;
}

/* Whether some d confirms `given` as derivative of component i. */
static bool confirmed(const checker *c, vin_int i, double given, double scale) {
  bool first = true; /* the widest d has the least rounding and is always heard */
  for (int k = 0; k < STEP_COUNT; k++) {
    const estimate *e = &c->estimates[k];
    if (!e->usable) continue;
    double size = vini_max(fabs(given), fabs(e->value[i])), row = ROW_TOLERANCE * scale;
    bool heard = first || e->rounding[i] <= MOST_ROUNDING * size + row;
    first = false;
    double tolerance = ENTRY_TOLERANCE * size + row + e->rounding[i];
    if (heard && fabs(given - e->value[i]) <= tolerance) return true;
  }
  return false;
}

/* The estimate to show for component i: the one whose two values agree best, relatively. */
static double best_estimate(const checker *c, vin_int i, double scale) {
  double best = NAN, least = HUGE_VAL;
  for (int k = 0; k < STEP_COUNT; k++) {
    const estimate *e = &c->estimates[k];
    if (!e->usable) continue;
    double spread = e->gap[i] + e->rounding[i], size = fabs(e->value[i]) + ROW_TOLERANCE * scale;
    if (!(spread < least * size)) continue;
    least = spread / size;
    best = e->value[i];
  }
  return isnan(best) ? 0 : best; /* F does not move at all */
}

static void row_name(const checker *c, const char *function, vin_int row, char *text, size_t size) {
  bool force = function[0] == 'f' || function[0] == 'p';
  if (force) {
    vin_system_position_name(c->system, row, text, size);
  } else {
    vin_system_constraint_name(c->system, row, text, size);
  }
}

/* The worst entry in words; names that are too long end early. */
static void describe(checker *c) {
  vin_derivative_check *check = c->check;
  char name[64], column[64], with[112] = "";
  row_name(c, check->function, check->row, name, sizeof name);
  if (check->col >= 0) {
    vin_system_position_name(c->system, check->col, column, sizeof column);
    vini_fail_text(with, sizeof with, VIN_CHECK_FAILED, " with respect to %s (column %d)", column,
                   (int)check->col);
  }
  vini_fail_text(check->text, sizeof check->text, VIN_CHECK_FAILED,
                 "%s of %s (row %d)%s: given %.9g, finite difference %.9g", check->function, name,
                 (int)check->row, with, check->given, check->expected);
}

/* Compares one entry, the derivative of component i times `sign`, and keeps the worst. */
static void compare(checker *c, const char *function, vin_int row, vin_int col, double given,
                    vin_int i, double sign, double scale) {
  if (confirmed(c, i, sign * given, scale)) return;
  double expected = sign * best_estimate(c, i, scale);
  double error = fabs(given - expected) / vini_max(vini_max(fabs(given), fabs(expected)), scale);
  c->check->wrong++;
  if (c->check->function != NULL && !(error > c->worst)) return;
  c->worst = error;
  c->check->function = function;
  c->check->row = row;
  c->check->col = col;
  c->check->given = given;
  c->check->expected = expected;
  c->check->error = error;
  describe(c);
}

/* Compares column c->column of a matrix (compressed) with the estimates. */
static void compare_column(checker *c, const char *function, const vin_sparse *matrix) {
  vin_int j = c->column, k = matrix->start[j], end = matrix->start[j + 1];
  for (vin_int i = 0; i < matrix->rows; i++) {
    double given = 0;
    if (k < end && matrix->row[k] == i) given = matrix->value[k++];
    compare(c, function, i, j, given, i, 1, c->scale[i]);
  }
}

/* A matrix callback against the columns of differences of `function`. */
static vin_status check_matrix(checker *c, const char *name, vin_triplets pattern, vin_int rows,
                               probe function, double size) {
  vin_sparse *matrix = NULL;
  vin_int n = c->system->n;
  vin_status status =
      vin_sparse_create(&matrix, &c->system->object.context, rows, n, pattern, VIN_STORAGE_GENERAL);
  memset(c->scale, 0, (size_t)vini_max_int(n, rows) * sizeof *c->scale);
  if (status == VIN_OK) {
    vini_sparse_scatter(matrix, c->values);
    for (vin_int k = 0; k < matrix->start[n]; k++) {
      double *scale = &c->scale[matrix->row[k]];
      *scale = vini_max(*scale, fabs(matrix->value[k]));
    }
  } else {
    vini_fail(&c->local, status, "no memory for the matrix of %s", name);
  }
  for (c->column = 0; c->column < n && status == VIN_OK; c->column++) {
    status = differentiate(c, function, rows, size);
    if (status == VIN_OK) compare_column(c, name, matrix);
  }
  vin_sparse_destroy(matrix);
  return status;
}

static vin_status check_constraints(checker *c, double size) {
  const vin_system *s = c->system;
  if (s->m == 0) return VIN_OK;
  VINI_TRY(vini_system_check_rows(s, &c->local, c->t, c->p, c->check));
  VINI_TRY(vini_eval_jacobian(s, &c->local, c->t, c->p, c->values));
  VINI_TRY(check_matrix(c, "jacobian", s->desc.jacobian_pattern, s->m, probe_constraint, size));
  VINI_TRY(vini_eval_constraint_rate(s, &c->local, c->t, c->p, c->rate));
  VINI_TRY(differentiate(c, probe_time, s->m, 1));
  for (vin_int i = 0; i < s->m; i++) {
    compare(c, "constraint_rate", i, -1, c->rate[i], i, 1, 0);
  }
  if (s->desc.curvature == NULL) return VIN_OK;
  double speed = vini_max_abs(c->v, s->n);
  VINI_TRY(vini_eval_curvature(s, &c->local, c->t, c->p, c->v, c->rate, NULL));
  VINI_TRY(differentiate(c, probe_rate, s->m, speed > 0 ? vini_min(1, size / speed) : 1));
  double largest = vini_max_abs(c->rate, s->m);
  for (vin_int i = 0; i < s->m; i++) {
    compare(c, "curvature", i, -1, c->rate[i], i, 1, largest);
  }
  return VIN_OK;
}

/* -dV/dp against f at v = 0 */
static vin_status check_potential_force(checker *c, double size) {
  const vin_system *s = c->system;
  memset(c->point, 0, (size_t)s->n * sizeof *c->point);
  VINI_TRY(vini_eval_force(s, &c->local, c->t, c->p, c->point, c->scale));
  double largest = vini_max_abs(c->scale, s->n);
  for (c->column = 0; c->column < s->n; c->column++) {
    VINI_TRY(differentiate(c, probe_potential, 1, size));
    compare(c, "potential", c->column, -1, c->scale[c->column], 0, -1, largest);
  }
  return VIN_OK;
}

static vin_status check_tangents(checker *c, double size) {
  const vin_system *s = c->system;
  const vin_system_desc *d = &s->desc;
  if (d->force_p != NULL) {
    VINI_TRY(vini_eval_force_p(s, &c->local, c->t, c->p, c->v, c->values));
    VINI_TRY(check_matrix(c, "force_p", d->force_p_pattern, s->n, probe_force_p, size));
  }
  if (d->force_v != NULL) {
    VINI_TRY(vini_eval_force_v(s, &c->local, c->t, c->p, c->v, c->values));
    double speed = vini_max_abs(c->v, s->n);
    VINI_TRY(
        check_matrix(c, "force_v", d->force_v_pattern, s->n, probe_force_v, speed > 0 ? speed : 1));
  }
  return VIN_OK;
}

static void wrong_claim(checker *c, const char *text) {
  c->check->wrong++;
  if (c->check->function != NULL) return;
  c->check->function = "flags";
  c->check->row = c->check->col = -1;
  snprintf(c->check->text, sizeof c->check->text, "%s", text);
}

static bool same(const double *a, const double *b, vin_int count) {
  double scale = vini_max(vini_max_abs(a, count), vini_max_abs(b, count));
  for (vin_int i = 0; i < count; i++) {
    if (fabs(a[i] - b[i]) > 1e-12 * scale) return false;
  }
  return true;
}

/* p, v moved along a fixed irregular direction, by d */
static void wiggle(const double *x, vin_int n, double d, double *out) {
  for (vin_int i = 0; i < n; i++)
    out[i] = x[i] + d * (0.5 + fmod(0.6180339887498949 * (i + 1), 1.0));
}

static vin_status check_mass_constant(checker *c, double size, double *moved_v) {
  const vin_system *s = c->system;
  vin_int count = s->desc.mass_pattern.count;
  double *first = vini_alloc(&s->object.context, (size_t)count, sizeof *first);
  if (first == NULL) return vini_fail(&c->local, VIN_ERR_NO_MEMORY, "no memory for a mass matrix");
  wiggle(c->p, s->n, 0.03 * size, c->point);
  wiggle(c->v, s->n, 0.7, moved_v);
  vin_status status = vini_eval_mass(s, &c->local, c->t, c->p, c->v, first);
  if (status == VIN_OK)
    status = vini_eval_mass(s, &c->local, c->t + 0.7, c->point, moved_v, c->values);
  if (status == VIN_OK && !same(first, c->values, count)) {
    wrong_claim(c, "VIN_MASS_CONSTANT is claimed, but M changes with p, v or t");
  }
  vini_free(&s->object.context, first);
  return status;
}

/* Third differences along a line vanish for polynomials of degree 2. */
static vin_status check_quadratic(checker *c, double size) {
  const vin_system *s = c->system;
  for (int k = 0; k < 4; k++) {
    wiggle(c->p, s->n, 0.1 * size * k, c->point);
    VINI_TRY(vini_eval_constraint(s, &c->local, c->t, c->point, c->work[k]));
  }
  double **w = c->work;
  for (vin_int i = 0; i < s->m; i++) {
    double third = w[3][i] - 3 * w[2][i] + 3 * w[1][i] - w[0][i];
    double scale =
        fabs(w[0][i]) + 3 * fabs(w[1][i]) + 3 * fabs(w[2][i]) + fabs(w[3][i]) + size * 1e-6;
    if (fabs(third) <= 1e-6 * scale) continue;
    wrong_claim(c,
                "VIN_CONSTRAINT_QUADRATIC is claimed, but a third difference of Phi is not zero");
    break;
  }
  return VIN_OK;
}

static vin_status check_flags(checker *c, double size) {
  const vin_system *s = c->system;
  if (s->desc.flags & VIN_MASS_CONSTANT) VINI_TRY(check_mass_constant(c, size, c->work[0]));
  if (s->desc.flags & VIN_FORCE_VELOCITY_FREE) {
    wiggle(c->v, s->n, 0.7, c->point);
    VINI_TRY(vini_eval_force(s, &c->local, c->t, c->p, c->v, c->work[0]));
    VINI_TRY(vini_eval_force(s, &c->local, c->t, c->p, c->point, c->work[1]));
    if (!same(c->work[0], c->work[1], s->n)) {
      wrong_claim(c, "VIN_FORCE_VELOCITY_FREE is claimed, but f changes with v");
    }
  }
  if (s->m > 0 && (s->desc.flags & VIN_CONSTRAINT_QUADRATIC)) VINI_TRY(check_quadratic(c, size));
  return VIN_OK;
}

static vin_status run_checks(checker *c, int check_potential) {
  const vin_system *s = c->system;
  double size = vini_max_abs(c->p, s->n);
  if (size == 0) size = 1;
  VINI_TRY(check_constraints(c, size));
  if (check_potential && s->desc.potential != NULL) VINI_TRY(check_potential_force(c, size));
  VINI_TRY(check_tangents(c, size));
  return check_flags(c, size);
}

/* One block of memory for all scratch. */
static double *checker_memory(checker *c) {
  const vin_system_desc *d = &c->system->desc;
  size_t n = (size_t)c->system->n, m = (size_t)c->system->m, larger = n > m ? n : m;
  vin_int values = vini_max_int(vini_max_int(d->mass_pattern.count, d->jacobian_pattern.count),
                                vini_max_int(d->force_p_pattern.count, d->force_v_pattern.count));
  double *memory =
      vini_alloc(&c->system->object.context,
                 n + m + (6 + 3 * STEP_COUNT) * larger + (size_t)values + 1, sizeof *memory);
  if (memory == NULL) return NULL;
  double *next = memory;
  c->point = next, next += n;
  c->rate = next, next += m;
  for (int k = 0; k < STEP_COUNT; k++) {
    c->estimates[k].value = next, next += larger;
    c->estimates[k].gap = next, next += larger;
    c->estimates[k].rounding = next, next += larger;
  }
  c->scale = next, next += larger;
  c->terms = next, next += larger;
  for (int k = 0; k < 4; k++) c->work[k] = next, next += larger;
  c->values = next;
  return memory;
}

vin_status vin_system_check(const vin_system *system, double t, const double *p, const double *v,
                            int check_potential, vin_derivative_check *check) {
  if (system == NULL || p == NULL || v == NULL || check == NULL) return VIN_ERR_BAD_INPUT;
  memset(check, 0, sizeof *check);
  check->row = check->col = -1;
  size_t size = sizeof check->text;
  if (vini_ready(&system->object) != VIN_OK) {
    return vini_fail_text(check->text, size, VIN_ERR_BAD_STATE, "the system was not created");
  }
  if (!isfinite(t) || vini_first_nonfinite(p, system->n) >= 0 ||
      vini_first_nonfinite(v, system->n) >= 0) {
    return vini_fail_text(check->text, size, VIN_ERR_BAD_INPUT, "t, p or v is NaN or infinite");
  }
  checker c = {.system = system, .t = t, .p = p, .v = v, .check = check};
  c.local.created = VIN_OK;
  double *memory = checker_memory(&c);
  if (memory == NULL) {
    return vini_fail_text(check->text, size, VIN_ERR_NO_MEMORY, "no memory for the check");
  }
  vin_status status = run_checks(&c, check_potential);
  vini_free(&system->object.context, memory);
  if (status != VIN_OK) return vini_fail_text(check->text, size, status, "%s", c.local.text);
  return check->wrong > 0 ? VIN_CHECK_FAILED : VIN_OK;
}
