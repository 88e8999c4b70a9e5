/* The derivative checker: f_y and f_t as given against extrapolated central differences.
 *
 * For each unknown, and for t, the derivative is taken with steps s and s/2 and extrapolated,
 * (4 D(s/2) - D(s)) / 3, for several s. An entry is right when one s confirms it to
 * ENTRY_TOLERANCE of itself, plus ROW_TOLERANCE of the largest entry of its row, plus rounding,
 * provided that rounding leaves that s something to say. */
#include "dae/dae.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_TOLERANCE 1e-6 /* differences reach 1e-9; a wrong term is seldom below 1e-4 */
#define ROW_TOLERANCE 1e-8
#define ROUNDING 4e-15     /* a few units of rounding in f, relative to its terms */
#define MOST_ROUNDING 1e-4 /* an s whose rounding is a larger part of the entry confirms nothing */
static const double relative_steps[] = {1e-1, 1e-3, 1e-5, 1e-7};
enum { STEP_COUNT = sizeof relative_steps / sizeof *relative_steps };

typedef struct checker {
  vini_dae_work work;
  vini_object local;
  const vin_dae *dae;
  double t;
  const double *y;
  vin_derivative_check *check;
  double worst;
  double noise;                 /* rounding, or what the problem declares */
  double *point, *given, *f[4]; /* n each: f at -s, s, -s/2, s/2 */
  double *terms, *scale;        /* n: size of f's terms, largest entry of the row */
  double *value[STEP_COUNT], *error[STEP_COUNT]; /* n: estimates and their rounding */
  bool usable[STEP_COUNT];
  double *values; /* f_y in declared order */
  double *memory;
} checker;

/* f at y with unknown j (or t, for j = -1) moved by s. */
static vin_status moved(checker *c, vin_int j, double s, double *f) {
  if (j < 0) return vini_dae_function(&c->work, c->t + s, c->y, f);
  c->point[j] = c->y[j] + s;
  bool inside = vini_dae_inside(c->dae, c->t, c->point);
  vin_status status = inside ? vini_dae_function(&c->work, c->t, c->point, f) : VIN_RETRY;
  c->point[j] = c->y[j];
  return status;
}

/* Estimates of the derivative by unknown j. An s that leaves the domain of f says nothing. */
static vin_status estimate(checker *c, vin_int j, double size) {
  vin_int n = c->dae->n;
  bool any = false;
  vin_status last = VIN_OK;
  for (int k = 0; k < STEP_COUNT; k++) {
    double s = relative_steps[k] * size, shift[4] = {-s, s, -0.5 * s, 0.5 * s};
    vin_status status = VIN_OK;
    for (int i = 0; i < 4 && status == VIN_OK; i++) status = moved(c, j, shift[i], c->f[i]);
    if (status < 0) return status;
    c->usable[k] = status == VIN_OK;
    if (status != VIN_OK) last = status;
    any = any || c->usable[k];
    for (vin_int i = 0; c->usable[k] && i < n; i++) {
      double full = (c->f[1][i] - c->f[0][i]) / (2 * s), half = (c->f[3][i] - c->f[2][i]) / s;
      double terms = vini_max(c->terms[i], vini_max(fabs(c->f[0][i]), fabs(c->f[1][i])));
      c->value[k][i] = (4 * half - full) / 3;
      c->error[k][i] = c->noise * terms / s;
    }
  }
  return any ? VIN_OK : last;
}

static bool confirmed(const checker *c, vin_int i, double given) {
  for (int k = 0; k < STEP_COUNT; k++) {
    if (!c->usable[k]) continue;
    double size = vini_max(fabs(given), fabs(c->value[k][i])), row = ROW_TOLERANCE * c->scale[i];
    bool heard = c->error[k][i] <= MOST_ROUNDING * size + row || size == 0;
    double tolerance = ENTRY_TOLERANCE * size + row + c->error[k][i];
    if (heard && fabs(given - c->value[k][i]) <= tolerance) return true;
  }
  return false;
}

/* The estimate to show: the one nearest to what was given of those with small rounding. */
static double shown(const checker *c, vin_int i, double given) {
  double best = NAN;
  for (int k = 0; k < STEP_COUNT; k++) {
    if (!c->usable[k]) continue;
    double value = c->value[k][i];
    if (isnan(best) || fabs(value - given) < fabs(best - given)) best = value;
  }
  return best;
}

static void keep_worst(checker *c, const char *function, vin_int row, vin_int col, double given) {
  vin_derivative_check *check = c->check;
  double expected = shown(c, row, given);
  double size = vini_max(vini_max(fabs(given), fabs(expected)), c->scale[row]);
  double error = fabs(given - expected) / size;
  check->wrong++;
  if (check->function != NULL && !(error > c->worst)) return;
  c->worst = error;
  check->function = function;
  check->row = row, check->col = col;
  check->given = given, check->expected = expected, check->error = error;
  char equation[64], unknown[64], with[112] = "";
  vin_dae_equation_name(c->dae, row, equation, sizeof equation);
  if (col >= 0) {
    vin_dae_unknown_name(c->dae, col, unknown, sizeof unknown);
    snprintf(with, sizeof with, " with respect to %s (column %d)", unknown, (int)col);
  }
  vini_fail_text(check->text, sizeof check->text, VIN_CHECK_FAILED,
                 "%s of %s (row %d)%s: given %.9g, finite difference %.9g", function, equation,
                 (int)row, with, given, expected);
}

/* given (n) against the estimates by unknown col, or by t for col = -1. */
static void compare(checker *c, const char *function, vin_int col) {
  for (vin_int i = 0; i < c->dae->n; i++)
    if (!confirmed(c, i, c->given[i])) keep_worst(c, function, i, col, c->given[i]);
}

/* Without a callback the declared places are right by construction; the others must be zero. */
static void take_estimates(checker *c, vin_csc a, vin_int j) {
  for (vin_int k = a.start[j]; k < a.start[j + 1]; k++)
    for (int s = 0; s < STEP_COUNT; s++) c->value[s][a.row[k]] = c->given[a.row[k]];
}

static vin_status check_jacobian(checker *c, vin_sparse *matrix) {
  vini_sparse_scatter(matrix, c->values);
  vin_csc a = vin_sparse_view(matrix);
  vin_int n = c->dae->n;
  for (vin_int j = 0; j < n; j++) {
    for (vin_int k = a.start[j]; k < a.start[j + 1]; k++) {
      c->scale[a.row[k]] = vini_max(c->scale[a.row[k]], fabs(a.value[k]));
      c->terms[a.row[k]] += fabs(a.value[k] * c->y[j]);
    }
  }
  double largest = vini_max_abs(c->y, n);
  if (largest == 0) largest = 1;
  for (vin_int j = 0; j < n; j++) {
    memset(c->given, 0, (size_t)n * sizeof *c->given);
    for (vin_int k = a.start[j]; k < a.start[j + 1]; k++) c->given[a.row[k]] = a.value[k];
    const double *typical = c->dae->desc.typical;
    double size = typical ? vini_max(typical[j], fabs(c->y[j])) : largest;
    VINI_TRY(estimate(c, j, size));
    if (c->dae->desc.jacobian == NULL) take_estimates(c, a, j);
    compare(c, c->dae->desc.jacobian == NULL ? "jacobian pattern" : "jacobian", j);
  }
  return VIN_OK;
}

static vin_status check_time(checker *c) {
  if (c->dae->desc.time_derivative == NULL) return VIN_OK;
  VINI_TRY(vini_dae_time_derivative(&c->work, c->t, c->y, 1, c->given, c->point));
  memset(c->scale, 0, (size_t)c->dae->n * sizeof *c->scale);
  VINI_TRY(estimate(c, -1, 1));
  compare(c, "time_derivative", -1);
  return VIN_OK;
}

static bool checker_allocate(checker *c) {
  size_t n = (size_t)c->dae->n;
  double *next = c->memory =
      vini_alloc(&c->local.context, (8 + 2 * STEP_COUNT) * n + (size_t)c->dae->pattern->count,
                 sizeof *c->memory);
  if (next == NULL) return false;
  c->point = next, next += n;
  c->given = next, next += n;
  c->terms = next, next += n;
  c->scale = next, next += n;
  for (int k = 0; k < 4; k++) c->f[k] = next, next += n;
  for (int k = 0; k < STEP_COUNT; k++) {
    c->value[k] = next, next += n;
    c->error[k] = next, next += n;
  }
  c->values = next;
  return true;
}

static vin_status run(checker *c) {
  const vin_dae *dae = c->dae;
  if (!checker_allocate(c)) return vini_fail(&c->local, VIN_ERR_NO_MEMORY, "no memory to check");
  VINI_TRY(vini_dae_work_create(&c->work, dae, &c->local));
  VINI_TRY(vini_dae_function(&c->work, c->t, c->y, c->terms));
  for (vin_int i = 0; i < dae->n; i++) c->terms[i] = fabs(c->terms[i]);
  VINI_TRY(vini_dae_jacobian(&c->work, c->t, c->y, NULL, c->values));
  memcpy(c->point, c->y, (size_t)dae->n * sizeof *c->y);
  vin_sparse *matrix = NULL;
  vin_status status = vin_sparse_create(&matrix, &c->local.context, dae->n, dae->n,
                                        dae->desc.jacobian_pattern, VIN_STORAGE_GENERAL);
  if (status != VIN_OK) vini_fail(&c->local, status, "no memory for a Jacobian");
  if (status == VIN_OK) status = check_jacobian(c, matrix);
  if (status == VIN_OK) status = check_time(c);
  vin_sparse_destroy(matrix);
  return status;
}

vin_status vin_dae_check(const vin_dae *dae, double t, const double *y,
                         vin_derivative_check *check) {
  if (dae == NULL || y == NULL || check == NULL) return VIN_ERR_BAD_INPUT;
  memset(check, 0, sizeof *check);
  check->row = check->col = -1;
  size_t size = sizeof check->text;
  if (vini_ready(&dae->object) != VIN_OK)
    return vini_fail_text(check->text, size, VIN_ERR_BAD_STATE, "the problem was not created");
  if (dae->implicit)
    return vini_fail_text(check->text, size, VIN_ERR_UNSUPPORTED,
                          "the problem has the form 0 = F(t, y, y'): take "
                          "vin_dae_check_implicit()");
  checker c = {.dae = dae, .t = t, .y = y, .check = check};
  c.local = (vini_object){.context = dae->object.context, .created = VIN_OK};
  c.noise = vini_max(ROUNDING, dae->desc.noise);
  vin_status status = isfinite(t) ? vini_dae_finite(dae, &c.local, "y", y)
                                  : vini_fail(&c.local, VIN_ERR_BAD_INPUT, "t is %g", t);
  if (status == VIN_OK) status = run(&c);
  vini_dae_work_destroy(&c.work);
  vini_free(&c.local.context, c.memory);
  if (status != VIN_OK) return vini_fail_text(check->text, size, status, "%s", c.local.text);
  return check->wrong > 0 ? VIN_CHECK_FAILED : VIN_OK;
}
