/* Verification of initial values: residuals of every level, rank, and a trial step (theory (P6)):
 *     M (v1 - v) + Phi_p' (h lambda1) = h f,   Phi_p v1 + Phi_t = 0   at (p + h v1, v1, t + h). */
#include "project/initial.h"

#include "kkt/kkt.h"
#include "linsys/linsys.h"
#include "sparse/sparse.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A residual below this fraction of its terms is rounding and solver tolerance (kkt refuses 1e-10). */
#define RELATIVE_LIMIT 1e-8
/* Rows this near to the span of the others are dependent for the QR. */
#define RANK_TOLERANCE 1e-8
/* The trial step in units of the time in which the state changes by its own size. */
#define TRIAL_STEP 1e-4
#define TRIAL_HALVINGS 10
#define TRIAL_ITERATIONS 20
/* The iteration of a trial step ends where it changes v1 - v by less than this fraction. */
#define TRIAL_TOLERANCE 1e-10
/* O(h): the change in half the step is half as large. A jump leaves it as it is. */
#define LARGEST_RATIO 0.75
/* Changes below this are rounding of the solves. */
#define NO_CHANGE 1e-7

typedef struct trial {
  vin_projector *self;
  double t;
  const double *p, *v, *vdot, *lambda;
  double *memory, *p1, *v1, *dv, *force, *force0, *size; /* n */
  double *g, *hl;                                        /* m */
  double load;                                           /* max |f| */
} trial;

/* ---- residuals ---------------------------------------------------------------------------- */

/* max |r_c| and max |r_c| / size_c */
static void largest(const double *r, const double *size, vin_int count, double *absolute,
                    double *relative) {
  for (vin_int c = 0; c < count; c++) {
    *absolute = vini_max(*absolute, fabs(r[c]));
    if (size[c] > 0) *relative = vini_max(*relative, fabs(r[c]) / size[c]);
  }
}

/* r += Phi_p x, size += the magnitudes */
static void add_rows(const vin_projector *self, const double *x, double *r, double *size) {
  const vin_triplets *j = &self->jacobian;
  for (vin_int k = 0; k < j->count; k++) {
    double term = self->jacobian_values[k] * x[j->col[k]];
    r[j->row[k]] += term;
    size[j->row[k]] += fabs(term);
  }
}

static void absolute_values(const double *x, vin_int count, double *size) {
  for (vin_int i = 0; i < count; i++) size[i] = fabs(x[i]);
}

static vin_status constraint_residuals(trial *s, vin_initial_report *report) {
  vin_projector *self = s->self;
  double *r = s->g, *size = s->hl;
  VINI_TRY(vini_eval_constraint(self->system, &self->object, s->t, s->p, r));
  report->position_residual = vini_max_abs(r, self->m);
  VINI_TRY(vini_projector_jacobian(self, s->t, s->p));
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->object, s->t, s->p, r));
  absolute_values(r, self->m, size);
  add_rows(self, s->v, r, size);
  largest(r, size, self->m, &report->velocity_residual, &report->velocity_relative);
  VINI_TRY(
      vini_eval_curvature(self->system, &self->object, s->t, s->p, s->v, r, self->curvature_work));
  absolute_values(r, self->m, size);
  add_rows(self, s->vdot, r, size);
  largest(r, size, self->m, &report->acceleration_residual, &report->acceleration_relative);
  return VIN_OK;
}

/* M v' + Phi_p' lambda - f with the Jacobian of constraint_residuals(); leaves Phi_p' lambda. */
static vin_status force_residual(trial *s, vin_initial_report *report) {
  vin_projector *self = s->self;
  double *r = s->dv, *size = s->size;
  const vin_triplets *mass = &self->mass, *j = &self->jacobian;
  VINI_TRY(vini_projector_mass(self, s->t, s->p, s->v));
  self->force_evaluations++;
  VINI_TRY(vini_eval_force(self->system, &self->object, s->t, s->p, s->v, r));
  s->load = vini_max_abs(r, self->n);
  for (vin_int i = 0; i < self->n; i++) r[i] = -r[i];
  absolute_values(r, self->n, size);
  for (vin_int k = 0; k < mass->count; k++) {
    vin_int a = mass->row[k], b = mass->col[k];
    double term = self->mass_values[k] * s->vdot[b];
    r[a] += term;
    size[a] += fabs(term);
    if (a == b) continue;
    term = self->mass_values[k] * s->vdot[a];
    r[b] += term;
    size[b] += fabs(term);
  }
  memset(s->force0, 0, (size_t)self->n * sizeof *s->force0);
  for (vin_int k = 0; k < j->count; k++) {
    double term = self->jacobian_values[k] * s->lambda[j->row[k]];
    s->force0[j->col[k]] += term;
    size[j->col[k]] += fabs(term);
  }
  for (vin_int i = 0; i < self->n; i++) r[i] += s->force0[i];
  largest(r, size, self->n, &report->dae_residual, &report->dae_relative);
  return VIN_OK;
}

/* ---- rank --------------------------------------------------------------------------------- */

/* By QR of Phi_p', whose columns are the constraint rows; -1: not in this build. */
static vin_status rank_by_qr(vin_projector *self, vin_int *rank) {
  *rank = -1;
  if (!vini_rank_available()) return VIN_OK;
  const vin_context *context = &self->object.context;
  vin_triplets across = {
      .count = self->jacobian.count, .row = self->jacobian.col, .col = self->jacobian.row};
  vin_sparse *a = NULL;
  unsigned char *dependent = vini_alloc(context, (size_t)self->m, 1);
  vin_status status = dependent == NULL ? VIN_ERR_NO_MEMORY
                                        : vin_sparse_create(&a, context, self->n, self->m, across,
                                                            VIN_STORAGE_GENERAL);
  if (status == VIN_OK) {
    vini_sparse_scatter(a, self->jacobian_values);
    status =
        vini_dependent_columns(&self->object, vin_sparse_view(a), RANK_TOLERANCE, dependent, rank);
  } else {
    status = vini_fail(&self->object, status, "no memory for the rank of the constraints");
  }
  vin_sparse_destroy(a);
  vini_free(context, dependent);
  return status;
}

static vin_status ranks(trial *s, vin_initial_report *report) {
  vin_projector *self = s->self;
  VINI_TRY(rank_by_qr(self, &report->rank));
  /* the factorisation names what it leaves out */
  VINI_TRY(vini_projector_factor(self, s->t, s->p, s->v));
  const vin_int *rows = NULL;
  vin_int dropped = vin_kkt_dropped(self->kkt, &rows);
  report->expected_rank = self->m - dropped;
  if (dropped > 0) {
    vin_system_constraint_name(self->system, rows[0], report->dependent_name,
                               sizeof report->dependent_name);
  }
  return VIN_OK;
}

/* ---- the trial step ----------------------------------------------------------------------- */

/* v1 and h lambda1 at the p1 and v1 of before; *change: max |v1 - before|. */
static vin_status sweep(trial *s, double h, double *change) {
  vin_projector *self = s->self;
  double t1 = s->t + h;
  VINI_TRY(vini_projector_factor(self, t1, s->p1, s->v1));
  self->force_evaluations++;
  VINI_TRY(vini_eval_force(self->system, &self->object, t1, s->p1, s->v1, s->force));
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->object, t1, s->p1, s->g));
  vini_projector_add_jacobian(self, 1, s->v, s->g);
  for (vin_int i = 0; i < self->n; i++) s->force[i] *= h;
  for (vin_int c = 0; c < self->m; c++) s->g[c] = -s->g[c];
  VINI_TRY(vini_projector_solve(self, 1, s->force, s->g, s->dv, s->hl));
  *change = 0;
  for (vin_int i = 0; i < self->n; i++) {
    double v1 = s->v[i] + s->dv[i];
    *change = vini_max(*change, fabs(v1 - s->v1[i]));
    s->v1[i] = v1;
    s->p1[i] = s->p[i] + h * v1;
  }
  return VIN_OK;
}

/* One step; VIN_STEP_FAILED: the iteration does not contract. */
static vin_status step(trial *s, double h) {
  vin_int n = s->self->n;
  double last = HUGE_VAL, change = 0, most = h * vini_max_abs(s->vdot, n);
  for (vin_int i = 0; i < n; i++) {
    s->v1[i] = s->v[i];
    s->p1[i] = s->p[i] + h * s->v[i];
  }
  for (int k = 0; k < TRIAL_ITERATIONS; k++) {
    vin_status status = sweep(s, h, &change);
    if (status == VIN_SINGULAR || status == VIN_RETRY) return VIN_STEP_FAILED;
    VINI_TRY(status);
    double rounding = 8 * DBL_EPSILON * vini_max_abs(s->v1, n);
    if (change <= vini_max(TRIAL_TOLERANCE * vini_max(most, vini_max_abs(s->dv, n)), rounding)) {
      return VIN_OK;
    }
    if (k > 0 && change > 0.5 * last) return VIN_STEP_FAILED;
    last = change;
  }
  return VIN_STEP_FAILED;
}

/* The change of the constraint forces, and the defect of v1 against v + h v'. */
static void compare(trial *s, double h, double *change, double *defect) {
  vin_projector *self = s->self;
  double most = s->load, away = 0, size = 0;
  memset(s->force, 0, (size_t)self->n * sizeof *s->force);
  vini_projector_add_transposed(self, 1 / h, s->hl, s->force);
  for (vin_int i = 0; i < self->n; i++) {
    most = vini_max(most, vini_max(fabs(s->force[i]), fabs(s->force0[i])));
    away = vini_max(away, fabs(s->force[i] - s->force0[i]));
    size = vini_max(size, vini_max(fabs(s->dv[i]), fabs(h * s->vdot[i])));
  }
  *change = most > 0 ? away / most : 0;
  away = 0;
  for (vin_int i = 0; i < self->n; i++) away = vini_max(away, fabs(s->dv[i] - h * s->vdot[i]));
  *defect = size > 0 ? away / size : 0;
}

/* A fraction of the shortest time in which p or v changes by its own size. */
static double chosen_step(const trial *s) {
  double p = vini_max_abs(s->p, s->self->n), v = vini_max_abs(s->v, s->self->n);
  double vdot = vini_max_abs(s->vdot, s->self->n), time = HUGE_VAL;
  if (p == 0) p = 1;
  if (v > 0) time = p / v;
  if (vdot > 0) time = vini_min(time, sqrt(p / vdot));
  double h = TRIAL_STEP * (isfinite(time) ? time : 1);
  return vini_max(h, 1e3 * DBL_EPSILON * fabs(s->t));
}

static vin_status try_steps(trial *s, const vin_initial_options *options,
                            vin_initial_report *report) {
  double h = options->trial_step > 0 ? options->trial_step : chosen_step(s);
  vin_status status = step(s, h);
  while (status == VIN_STEP_FAILED && report->trial_halvings < TRIAL_HALVINGS) {
    report->trial_halvings++;
    h /= 2;
    status = step(s, h);
  }
  report->trial_step = h;
  if (status == VIN_OK) {
    compare(s, h, &report->trial_change[0], &report->trial_defect[0]);
    status = step(s, h / 2);
  }
  if (status == VIN_OK) {
    compare(s, h / 2, &report->trial_change[1], &report->trial_defect[1]);
  }
  report->trial = status;
  return status < 0 ? status : VIN_OK;
}

/* ---- the verdict -------------------------------------------------------------------------- */

static bool jumps(const double *pair) {
  return pair[1] > NO_CHANGE && pair[1] > LARGEST_RATIO * pair[0];
}

static void judge(trial *s, bool tried, vin_initial_report *r) {
  vin_projector *self = s->self;
  double *floor = s->hl;
  char *text = r->reason;
  const size_t size = sizeof r->reason;
  r->accepted = 1;
  vini_projector_floor(self, s->p, floor);
  double slack = vini_max(self->options.position_tolerance, 16 * vini_max_abs(floor, self->m));
  vin_status bad = VIN_OK;
  if (r->position_residual > slack) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED, "the positions are off by %.3g",
                         r->position_residual);
  } else if (r->velocity_relative > RELATIVE_LIMIT &&
             r->velocity_residual > self->options.velocity_tolerance) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED, "the velocities are off by %.3g",
                         r->velocity_residual);
  } else if (r->acceleration_relative > RELATIVE_LIMIT) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED,
                         "the accelerations leave the constraints by %.3g (%.1g of the terms)",
                         r->acceleration_residual, r->acceleration_relative);
  } else if (r->dae_relative > RELATIVE_LIMIT) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED,
                         "M v' + Phi_p' lambda - f is %.3g (%.1g of the terms): accelerations or "
                         "multipliers do not fit",
                         r->dae_residual, r->dae_relative);
  } else if (r->rank >= 0 && r->rank != r->expected_rank) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED,
                         "the constraints have rank %d, the factorisation works with %d of them",
                         (int)r->rank, (int)r->expected_rank);
  } else if (tried && r->trial != VIN_OK) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED,
                         "an implicit step does not converge, even of %.3g s", r->trial_step);
  } else if (tried && (jumps(r->trial_change) || jumps(r->trial_defect))) {
    bad = vini_fail_text(text, size, VIN_CHECK_FAILED,
                         "constraint forces or velocities jump in the first step: by %.3g and %.3g "
                         "of their size, however short it is",
                         r->trial_change[1], r->trial_defect[1]);
  }
  r->accepted = bad == VIN_OK;
}

vin_status vini_initial_verify(vin_projector *self, const vin_initial_options *options, double t,
                               const double *p, const double *v, const double *vdot,
                               const double *lambda, vin_initial_report *report) {
  size_t n = (size_t)self->n, m = (size_t)self->m;
  trial s = {.self = self, .t = t, .p = p, .v = v, .vdot = vdot, .lambda = lambda};
  s.memory = vini_alloc(&self->object.context, 6 * n + 2 * m, sizeof *s.memory);
  if (s.memory == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory to verify initial values");
  }
  s.p1 = s.memory;
  s.v1 = s.p1 + n;
  s.dv = s.v1 + n;
  s.force = s.dv + n;
  s.force0 = s.force + n;
  s.size = s.force0 + n;
  s.g = s.size + n;
  s.hl = s.g + m;
  vin_status status = constraint_residuals(&s, report);
  if (status == VIN_OK) status = force_residual(&s, report);
  if (status == VIN_OK) status = ranks(&s, report);
  if (status == VIN_OK && options->trial) status = try_steps(&s, options, report);
  if (status == VIN_OK) judge(&s, options->trial != 0, report);
  vini_free(&self->object.context, s.memory);
  return status;
}
