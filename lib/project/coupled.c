/* The coupled projection: min 1/2 |p - p~|^2 + 1/2 |v - v~|^2 in the metrics of both levels, subject
 * to Phi(p, t) = 0 and h = Phi_p v + Phi_t = 0, theory (P4): the minimiser with the unknowns (p, v)
 * and the multipliers (lambda, mu). Third derivatives of Phi are left out of its matrix. */
#include "project/project.h"

#include "project/minimise.h"
#include "project/second.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Relative gradient: differences of Phi_p have twelve digits where Phi is not quadratic. */
#define GRADIENT_TOLERANCE 1e-11

struct vini_coupled {
  vin_projector *projector;
  vini_second second;
  vin_minimiser *minimiser;
  double t;
  double *start, *y, *x, *wx; /* 2n, 2n, n, n */
  vin_status failed;          /* why a callback gave up */
};

/* A failure of the system's callback: kept, because the minimiser knows only its sign. */
static int gave_up(vini_coupled *c, vin_status status) {
  if (status != VIN_OK) c->failed = status;
  return status == VIN_OK ? 0 : status > 0 ? 1 : -1;
}

/* wx := W (y - start) of one level */
static void weighed(vini_coupled *c, vini_level level, const double *y) {
  vin_int n = c->projector->n, at = level == VINI_LEVEL_VELOCITY ? n : 0;
  for (vin_int i = 0; i < n; i++) c->x[i] = y[at + i] - c->start[at + i];
  vini_projector_weigh(c->projector, level, c->x, c->wx);
}

static int objective(void *user, const double *y, double *value) {
  vini_coupled *c = user;
  *value = 0;
  for (int level = 0; level < 2; level++) {
    weighed(c, (vini_level)level, y);
    for (vin_int i = 0; i < c->projector->n; i++) *value += 0.5 * c->x[i] * c->wx[i];
  }
  return 0;
}

static int gradient(void *user, const double *y, double *g) {
  vini_coupled *c = user;
  size_t n = (size_t)c->projector->n;
  for (int level = 0; level < 2; level++) {
    weighed(c, (vini_level)level, y);
    memcpy(g + (size_t)level * n, c->wx, n * sizeof *g);
  }
  return 0;
}

static int hessian(void *user, const double *y, double *values) {
  vini_coupled *c = user;
  const vin_projector *self = c->projector;
  size_t count = (size_t)self->mass_count;
  (void)y;
  for (int level = 0; level < 2; level++) {
    const double *h = self->metric_values[level];
    memcpy(values + (size_t)level * count, h != NULL ? h : self->mass_values,
           count * sizeof *values);
  }
  return 0;
}

static int constraint(void *user, const double *y, double *both) {
  vini_coupled *c = user;
  vin_projector *self = c->projector;
  return gave_up(
      c, vini_projector_residuals(self, c->t, y, y + self->n, NULL, NULL, both, both + self->m));
}

static int jacobian(void *user, const double *y, double *values) {
  vini_coupled *c = user;
  vin_projector *self = c->projector;
  size_t count = (size_t)self->jacobian.count;
  int code = gave_up(c, vini_projector_jacobian(self, c->t, y));
  if (code == 0) code = gave_up(c, vini_second_evaluate(&c->second, &self->object, c->t, y));
  if (code != 0) return code;
  memcpy(values, self->jacobian_values, count * sizeof *values);
  memcpy(values + count, self->jacobian_values, count * sizeof *values);
  vini_second_rate(&c->second, y + self->n, values + 2 * count);
  return 0;
}

/* [ S(lambda)  S(mu) ; S(mu)  0 ] with D as the last Jacobian left it */
static int second(void *user, const double *y, const double *lambda, double *values) {
  vini_coupled *c = user;
  (void)y;
  vini_second_lower(&c->second, lambda, values);
  vini_second_full(&c->second, lambda + c->projector->m,
                   values + vini_second_lower_count(&c->second));
  return 0;
}

static void unknown_name(void *user, vin_int index, char *text, size_t size) {
  const vin_projector *self = ((vini_coupled *)user)->projector;
  char name[96];
  vin_system_position_name(self->system, index % self->n, name, sizeof name);
  snprintf(text, size, "%s%s", index < self->n ? "" : "velocity of ", name);
}

static void constraint_name(void *user, vin_int row, char *text, size_t size) {
  const vin_projector *self = ((vini_coupled *)user)->projector;
  char name[96];
  vin_system_constraint_name(self->system, row % self->m, name, sizeof name);
  snprintf(text, size, "%s%s", row < self->m ? "" : "the rate of ", name);
}

/* ---- creation ----------------------------------------------------------------------------- */

/* The three patterns, in one block of memory. */
typedef struct patterns {
  vin_triplets jacobian, hessian, second;
  vin_int *memory;
} patterns;

static void copy_pattern(vin_triplets from, vin_int down, vin_int right, vin_int *row,
                         vin_int *col) {
  for (vin_int k = 0; k < from.count; k++) {
    row[k] = from.row[k] + down;
    col[k] = from.col[k] + right;
  }
}

static void fill_jacobian(const vini_coupled *c, vin_int *row, vin_int *col) {
  const vin_projector *self = c->projector;
  vin_int count = self->jacobian.count, at = 2 * count;
  copy_pattern(self->jacobian, 0, 0, row, col);
  copy_pattern(self->jacobian, self->m, self->n, row + count, col + count);
  vini_second_rate_pattern(&c->second, row + at, col + at);
  for (vin_int k = 0; k < vini_second_entries(&c->second); k++) row[at + k] += self->m;
}

/* As the metric's values: M's pattern, then the diagonal entries it leaves out. */
static void fill_hessian(const vini_coupled *c, vin_int *row, vin_int *col) {
  const vin_projector *self = c->projector;
  vin_triplets mass = self->mass;
  copy_pattern(mass, 0, 0, row, col);
  for (vin_int i = 0; i < self->n; i++) {
    if (self->diagonal[i] >= mass.count) row[self->diagonal[i]] = col[self->diagonal[i]] = i;
  }
  vin_triplets whole = {.count = self->mass_count, .row = row, .col = col};
  copy_pattern(whole, self->n, self->n, row + whole.count, col + whole.count);
}

static void fill_second(const vini_coupled *c, vin_int *row, vin_int *col) {
  int64_t lower = vini_second_lower_count(&c->second), full = vini_second_full_count(&c->second);
  vini_second_lower_pattern(&c->second, row, col);
  vini_second_full_pattern(&c->second, row + lower, col + lower);
  for (int64_t k = lower; k < lower + full; k++) row[k] += c->projector->n;
}

static vin_status make_patterns(vini_coupled *c, patterns *out) {
  vin_projector *self = c->projector;
  int64_t jacobian_count = 2 * (int64_t)self->jacobian.count + vini_second_entries(&c->second);
  int64_t hessian_count = 2 * (int64_t)self->mass_count;
  int64_t second_count = vini_second_lower_count(&c->second) + vini_second_full_count(&c->second);
  if (2 * (int64_t)self->n > INT32_MAX || 2 * (int64_t)self->m > INT32_MAX ||
      jacobian_count > INT32_MAX || hessian_count + second_count > INT32_MAX) {
    return vini_fail(&self->object, VIN_ERR_TOO_LARGE,
                     "the coupled projection has %lld second derivatives",
                     (long long)(hessian_count + second_count));
  }
  size_t total = (size_t)(jacobian_count + hessian_count + second_count);
  vin_int *at = vini_alloc(&self->object.context, 2 * total, sizeof *at);
  if (at == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for a coupled projection");
  }
  out->memory = at;
  fill_jacobian(c, at, at + jacobian_count);
  out->jacobian =
      (vin_triplets){.count = (vin_int)jacobian_count, .row = at, .col = at + jacobian_count};
  at += 2 * jacobian_count;
  fill_hessian(c, at, at + hessian_count);
  out->hessian =
      (vin_triplets){.count = (vin_int)hessian_count, .row = at, .col = at + hessian_count};
  at += 2 * hessian_count;
  fill_second(c, at, at + second_count);
  out->second = (vin_triplets){.count = (vin_int)second_count, .row = at, .col = at + second_count};
  return VIN_OK;
}

static vin_status make_minimiser(vini_coupled *c, const patterns *pattern) {
  vin_projector *self = c->projector;
  vin_minimise_desc desc = vin_minimise_desc_default();
  desc.unknowns = 2 * self->n;
  desc.constraints = 2 * self->m;
  desc.jacobian_pattern = pattern->jacobian;
  desc.hessian_pattern = pattern->hessian;
  desc.second_pattern = pattern->second;
  desc.objective = objective;
  desc.gradient = gradient;
  desc.hessian = hessian;
  desc.constraint = constraint;
  desc.jacobian = jacobian;
  desc.second = second;
  desc.unknown_name = unknown_name;
  desc.constraint_name = constraint_name;
  desc.user = c;
  vin_minimise_options options = vin_minimise_options_default();
  options.constraint_tolerance =
      vini_min(self->options.position_tolerance, self->options.velocity_tolerance);
  options.gradient_tolerance = GRADIENT_TOLERANCE;
  options.max_iterations = self->options.max_iterations;
  options.kkt = self->options.kkt;
  options.kkt.coordinate_block = options.kkt.constraint_block = NULL;
  options.kkt.constraint_name = NULL;
  vin_status status = vin_minimiser_create(&c->minimiser, &self->object.context, &desc, &options);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->object, status, "%s", vin_minimiser_error(c->minimiser));
}

vin_status vini_coupled_create(vin_projector *self) {
  const vin_context *context = &self->object.context;
  if (self->m == 0) return VIN_OK;
  vini_coupled *c = vini_alloc(context, 1, sizeof *c);
  self->coupled = c;
  size_t n = (size_t)self->n;
  if (c != NULL) {
    c->projector = self;
    c->start = vini_alloc(context, 2 * n, sizeof *c->start);
    c->y = vini_alloc(context, 2 * n, sizeof *c->y);
    c->x = vini_alloc(context, n, sizeof *c->x);
    c->wx = vini_alloc(context, n, sizeof *c->wx);
  }
  if (c == NULL || c->start == NULL || c->y == NULL || c->x == NULL || c->wx == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for a coupled projection");
  }
  VINI_TRY(vini_second_create(&c->second, &self->object, self->system));
  patterns pattern = {.memory = NULL};
  VINI_TRY(make_patterns(c, &pattern));
  vin_status status = make_minimiser(c, &pattern);
  vini_free(context, pattern.memory);
  return status;
}

void vini_coupled_destroy(vini_coupled *c, const vin_context *context) {
  if (c == NULL) return;
  vin_minimiser_destroy(c->minimiser);
  vini_second_destroy(&c->second, context);
  vini_free(context, c->start);
  vini_free(context, c->y);
  vini_free(context, c->x);
  vini_free(context, c->wx);
  vini_free(context, c);
}

/* ---- the projection ----------------------------------------------------------------------- */

/* Sizes of the corrections, residuals at the end. */
static vin_status finish(vini_coupled *c, const vin_minimise_report *from,
                         vin_projection_report *report) {
  vin_projector *self = c->projector;
  const double *y = c->y;
  double *phi = self->vm[0];
  VINI_TRY(vini_projector_residuals(self, c->t, y, y + self->n, NULL, &report->velocity_after, phi,
                                    NULL));
  vini_report_end(self, phi, report);
  for (vin_int i = 0; i < self->n; i++) {
    double dp = fabs(y[i] - c->start[i]), dv = fabs(y[self->n + i] - c->start[self->n + i]);
    report->position_correction = vini_max(report->position_correction, dp);
    report->velocity_correction = vini_max(report->velocity_correction, dv);
  }
  report->iterations = from->iterations;
  const vin_int *rows = NULL;
  vin_int dropped = vin_kkt_dropped(vin_minimiser_kkt(c->minimiser), &rows);
  report->dropped = 0; /* of one level */
  for (vin_int k = 0; k < dropped; k++) report->dropped += rows[k] < self->m;
  return VIN_OK;
}

vin_status vini_projector_coupled(vin_projector *self, double t, double *p, double *v,
                                  const unsigned char *fixed, vin_projection_report *report) {
  if (self->m == 0) return VIN_OK;
  vini_coupled *c = self->coupled;
  size_t n = (size_t)self->n;
  double *phi = self->vm[0];
  c->t = t;
  c->failed = VIN_OK;
  memcpy(c->start, p, n * sizeof *p);
  memcpy(c->start + n, v, n * sizeof *v);
  memcpy(c->y, c->start, 2 * n * sizeof *c->y);
  VINI_TRY(vini_projector_mass(self, t, p, v));
  VINI_TRY(vini_projector_residuals(self, t, p, v, NULL, &report->velocity_before, phi, NULL));
  vini_report_start(self, phi, report);
  VINI_TRY(vin_minimiser_fix(c->minimiser, fixed));
  vin_minimise_report own;
  vin_status status = vin_minimiser_solve(c->minimiser, c->y, NULL, &own);
  self->factored = VINI_FACTORED_NOTHING; /* Phi_p has changed */
  self->newton_steps += own.iterations;
  bool callback = status == VIN_RETRY || status == VIN_ERR_CALLBACK;
  if (callback && c->failed != VIN_OK) return c->failed; /* its text is here */
  vin_projection_report end = *report;
  vin_status finished = finish(c, &own, &end);
  if (finished == VIN_OK) *report = end;
  if (status != VIN_OK) {
    return vini_fail(&self->object, status, "coupled projection: %s (t = %g)",
                     vin_minimiser_error(c->minimiser), t);
  }
  VINI_TRY(finished);
  memcpy(p, c->y, n * sizeof *p);
  memcpy(v, c->y + n, n * sizeof *v);
  return VIN_OK;
}
