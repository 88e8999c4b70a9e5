/* The branch z = psi(t, x) of the algebraic equations: theory (D3), (D4). */
#include "dae/branch.h"

#include <math.h>
#include <string.h>

vin_branch_options vin_branch_options_default(void) {
  return (vin_branch_options){.struct_size = sizeof(vin_branch_options),
                              .linear_residual_tolerance = 1e-12};
}

vin_status vini_dae_index1(const vin_dae *dae, vini_object *object, const char *what) {
  if (dae == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "the problem is NULL");
  if (vini_ready(&dae->object) != VIN_OK)
    return vini_fail(object, VIN_ERR_BAD_STATE, "the problem was not created: %s",
                     dae->object.text);
  if (dae->d < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "%s needs the semi-explicit form, without mass_pattern", what);
  if (dae->index > 1)
    return vini_fail(object, VIN_ERR_UNSUPPORTED, "%s is for index 1, index %d is declared", what,
                     (int)dae->index);
  return VIN_OK;
}

vin_linsys_options vini_dae_linsys_options(vin_solver solver, double residual_tolerance) {
  vin_linsys_options options = vin_linsys_options_default();
  options.solver = solver;
  options.residual_tolerance = residual_tolerance;
  return options;
}

/* row, col, place := the entries of g_z among the triplets of the Jacobian */
static vin_status find_block(vin_branch *b) {
  const vin_context *context = &b->object.context;
  vin_triplets p = b->dae->desc.jacobian_pattern;
  for (vin_int k = 0; k < p.count; k++) b->count += p.row[k] >= b->d && p.col[k] >= b->d;
  size_t count = (size_t)b->count;
  b->row = vini_alloc(context, count, sizeof *b->row);
  b->col = vini_alloc(context, count, sizeof *b->col);
  b->place = vini_alloc(context, count, sizeof *b->place);
  b->block = vini_alloc(context, count, sizeof *b->block);
  if (!b->row || !b->col || !b->place || !b->block)
    return vini_fail(&b->object, VIN_ERR_NO_MEMORY, "no memory for g_z");
  vin_int next = 0;
  for (vin_int k = 0; k < p.count; k++) {
    if (p.row[k] < b->d || p.col[k] < b->d) continue;
    b->row[next] = p.row[k] - b->d;
    b->col[next] = p.col[k] - b->d;
    b->place[next++] = k;
  }
  return VIN_OK;
}

static vin_status branch_memory(vin_branch *b) {
  const vin_context *context = &b->object.context;
  size_t n = (size_t)b->n, m = (size_t)b->m;
  b->values = vini_alloc(context, (size_t)b->dae->desc.jacobian_pattern.count, sizeof *b->values);
  b->y = vini_alloc(context, n, sizeof *b->y);
  b->f = vini_alloc(context, n, sizeof *b->f);
  b->scratch = vini_alloc(context, n, sizeof *b->scratch);
  b->r = vini_alloc(context, m, sizeof *b->r);
  b->dx = vini_alloc(context, m, sizeof *b->dx);
  b->trial = vini_alloc(context, m, sizeof *b->trial);
  if (b->values && b->y && b->f && b->scratch && b->r && b->dx && b->trial) return VIN_OK;
  return vini_fail(&b->object, VIN_ERR_NO_MEMORY, "no memory for %d unknowns", (int)b->n);
}

static vin_status branch_build(vin_branch *b, vin_dae *dae, const vin_branch_options *given) {
  vini_object *object = &b->object;
  vin_branch_options options = vin_branch_options_default();
  if (!vini_options_copy(&options, sizeof options, given))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "options: struct_size is not sizeof(vin_branch_options); start from "
                     "vin_branch_options_default()");
  VINI_TRY(vini_dae_index1(dae, object, "a branch"));
  if (dae->d == dae->n)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the problem has no algebraic unknowns");
  b->dae = vin_dae_retain(dae);
  b->n = dae->n, b->d = dae->d, b->m = dae->n - dae->d;
  VINI_TRY(find_block(b));
  VINI_TRY(branch_memory(b));
  VINI_TRY(vini_dae_work_create(&b->work, dae, object));
  b->linsys_options = vini_dae_linsys_options(options.solver, options.linear_residual_tolerance);
  vin_triplets pattern = {.count = b->count, .row = b->row, .col = b->col};
  vin_status status =
      vin_linsys_create(&b->linsys, &object->context, b->m, pattern, &b->linsys_options);
  if (status != VIN_OK) return vini_fail(object, status, "g_z: %s", vin_linsys_error(b->linsys));
  return VIN_OK;
}

vin_status vin_branch_create(vin_branch **branch, const vin_context *context, vin_dae *dae,
                             const vin_branch_options *options) {
  VINI_TRY(vini_object_begin((void **)branch, context, sizeof **branch));
  vin_status status = branch_build(*branch, dae, options);
  (*branch)->object.created = status;
  return status;
}

void vin_branch_destroy(vin_branch *branch) {
  if (branch == NULL) return;
  const vin_context *context = &branch->object.context;
  vini_dae_work_destroy(&branch->work);
  vin_linsys_destroy(branch->linsys);
  vini_free(context, branch->row);
  vini_free(context, branch->col);
  vini_free(context, branch->place);
  vini_free(context, branch->block);
  vini_free(context, branch->values);
  vini_free(context, branch->y);
  vini_free(context, branch->f);
  vini_free(context, branch->scratch);
  vini_free(context, branch->r);
  vini_free(context, branch->dx);
  vini_free(context, branch->trial);
  vin_dae_destroy(branch->dae);
  vini_object_destroy(&branch->object);
}

const char *vin_branch_error(const vin_branch *branch) {
  return vini_text(branch == NULL ? NULL : &branch->object);
}

vin_linsys_info vin_branch_solver_info(const vin_branch *branch) {
  return vin_linsys_get_info(branch == NULL ? NULL : branch->linsys);
}

/* ---- Newton's method on G(z) = g(t, x, z) ------------------------------------------------------ */

/* b->y := (x, z) */
static const double *point(vin_branch *b, const double *z) {
  memcpy(b->y + b->d, z, (size_t)b->m * sizeof *z);
  return b->y;
}

static bool inside(void *self, const double *z) {
  vin_branch *b = self;
  return vini_dae_inside(b->dae, b->t, point(b, z));
}

static vin_status residual(void *self, const double *z, double *r) {
  vin_branch *b = self;
  VINI_TRY(vini_dae_function(&b->work, b->t, point(b, z), b->f));
  memcpy(r, b->f + b->d, (size_t)b->m * sizeof *r);
  return VIN_OK;
}

vin_status vini_branch_factor(vin_branch *b, double t) {
  for (vin_int k = 0; k < b->count; k++) b->block[k] = b->values[b->place[k]];
  vin_status status = vin_linsys_factor(b->linsys, b->block);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&b->object, status, "g_z at t = %.17g: %s", t, vin_linsys_error(b->linsys));
}

static vin_status correct(void *self, const double *z, double *dz, vin_dae_counts *counts) {
  vin_branch *b = self;
  counts->jacobian_assemblies++;
  VINI_TRY(vini_dae_jacobian(&b->work, b->t, point(b, z), b->f, b->values));
  VINI_TRY(vini_branch_factor(b, b->t));
  for (vin_int i = 0; i < b->m; i++) dz[i] = -b->r[i];
  vin_status status = vin_linsys_solve(b->linsys, 1, dz, dz);
  if (status != VIN_OK)
    return vini_fail(&b->object, status, "g_z at t = %.17g: %s", b->t, vin_linsys_error(b->linsys));
  counts->correction_solves++;
  return VIN_OK;
}

static vin_status check_input(vin_branch *b, double t, const double *y, double tolerance,
                              int budget) {
  vini_object *object = &b->object;
  if (y == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "y is NULL");
  if (!isfinite(t)) return vini_fail(object, VIN_ERR_BAD_INPUT, "t is %g", t);
  if (!(tolerance >= 0) || budget < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "tolerance is %g and budget %d, must be >= 0",
                     tolerance, budget);
  VINI_TRY(vini_dae_finite(b->dae, object, "seed", y));
  if (vini_dae_inside(b->dae, t, y)) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "the seed is outside of the domain at t = %.17g", t);
}

static vin_status newton(vin_branch *b, double t, double *y, double tolerance, int budget,
                         vin_newton_report *report) {
  vin_status status = check_input(b, t, y, tolerance, budget);
  if (status != VIN_OK) {
    report->outcome = VIN_OUTCOME_INVALID_INPUT;
    return status;
  }
  b->linearised = false;
  b->t = t;
  memcpy(b->y, y, (size_t)b->n * sizeof *y);
  vini_newton core = {.self = b, .object = &b->object, .n = b->m, .inside = inside};
  core.residual = residual, core.correct = correct;
  core.r = b->r, core.dx = b->dx, core.trial = b->trial;
  vini_newton_result result;
  int64_t before = b->work.difference_count;
  status = vini_newton_run(&core, tolerance, budget, y + b->d, &result, &report->counts);
  report->counts.difference_evaluations = b->work.difference_count - before;
  report->outcome = result.outcome;
  report->residual_start = result.first;
  report->residual = result.last;
  report->corrections = result.corrections;
  if (result.seed_failed && result.outcome != VIN_OUTCOME_FAILED) {
    report->outcome = VIN_OUTCOME_INVALID_INPUT;
    status = VIN_ERR_BAD_INPUT; /* the text is the callback's */
  }
  return status;
}

/* Opens each public call: *report := nothing yet. */
static vin_status begin(vin_branch *branch, vin_newton_report *report) {
  *report = (vin_newton_report){.residual_start = -1, .residual = -1};
  return vini_ready(branch == NULL ? NULL : &branch->object);
}

vin_status vin_branch_newton(vin_branch *branch, double t, double *y, double tolerance, int budget,
                             vin_newton_report *report) {
  vin_newton_report own;
  if (report == NULL) report = &own;
  VINI_TRY(begin(branch, report));
  return newton(branch, t, y, tolerance, budget, report);
}

vin_status vin_branch_initialise(vin_branch *branch, double t, double *y, double tolerance,
                                 int budget, vin_newton_report *report) {
  vin_newton_report own;
  if (report == NULL) report = &own;
  VINI_TRY(begin(branch, report));
  VINI_TRY(newton(branch, t, y, tolerance, budget, report));
  vin_branch *b = branch;
  report->counts.residual_queries++;
  vin_status status = residual(b, y + b->d, b->r);
  if (status != VIN_OK) {
    report->outcome = VIN_OUTCOME_FAILED;
    return status;
  }
  report->residual = vini_norm2(b->r, b->m);
  report->outcome = report->residual == 0 ? VIN_OUTCOME_EXACT : VIN_OUTCOME_APPROXIMATE;
  return VIN_OK;
}

vin_status vin_branch_field(vin_branch *branch, double t, double *y, double tolerance, int budget,
                            double *field, vin_newton_report *report) {
  vin_newton_report own;
  if (report == NULL) report = &own;
  VINI_TRY(begin(branch, report));
  if (field == NULL) return vini_fail(&branch->object, VIN_ERR_BAD_INPUT, "field is NULL");
  VINI_TRY(newton(branch, t, y, tolerance, budget, report));
  memcpy(field, branch->f, (size_t)branch->d * sizeof *field); /* evaluated at the root */
  return VIN_OK;
}

/* ---- derivatives of psi ------------------------------------------------------------------------ */

vin_status vin_branch_linearise(vin_branch *branch, double t, const double *y) {
  VINI_TRY(vini_ready(branch == NULL ? NULL : &branch->object));
  vin_branch *b = branch;
  b->linearised = false;
  VINI_TRY(check_input(b, t, y, 0, 0));
  VINI_TRY(vini_dae_function(&b->work, t, y, b->f));
  return vini_branch_linearise(b, t, y, b->f);
}

vin_status vini_branch_linearise(vin_branch *b, double t, const double *y, const double *f) {
  b->linearised = false;
  VINI_TRY(vini_dae_jacobian(&b->work, t, y, f, b->values));
  VINI_TRY(vini_branch_factor(b, t));
  b->t = t;
  memcpy(b->y, y, (size_t)b->n * sizeof *y);
  b->linearised = true;
  return VIN_OK;
}

static vin_status require(vin_branch *branch, bool complete) {
  VINI_TRY(vini_ready(branch == NULL ? NULL : &branch->object));
  if (!complete) return vini_fail(&branch->object, VIN_ERR_BAD_INPUT, "an argument is NULL");
  if (branch->linearised) return VIN_OK;
  return vini_fail(&branch->object, VIN_ERR_BAD_STATE, "vin_branch_linearise() must succeed first");
}

/* w := -g_z^-1 b->r */
static vin_status solve_minus(vin_branch *b, double *w) {
  for (vin_int i = 0; i < b->m; i++) b->r[i] = -b->r[i];
  vin_status status = vin_linsys_solve(b->linsys, 1, b->r, w);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&b->object, status, "g_z at t = %.17g: %s", b->t, vin_linsys_error(b->linsys));
}

vin_status vin_branch_psi_x(vin_branch *branch, vin_int count, const double *v, double *w) {
  VINI_TRY(require(branch, count == 0 || w != NULL));
  vin_branch *b = branch;
  if (v == NULL && b->d > 0 && count > 0)
    return vini_fail(&b->object, VIN_ERR_BAD_INPUT, "v is NULL");
  vin_triplets p = b->dae->desc.jacobian_pattern;
  if (count < 0) return vini_fail(&b->object, VIN_ERR_BAD_INPUT, "count is %d", (int)count);
  for (vin_int c = 0; c < count; c++) {
    const double *column = v + (size_t)c * (size_t)b->d;
    memset(b->r, 0, (size_t)b->m * sizeof *b->r);
    for (vin_int k = 0; k < p.count; k++)
      if (p.row[k] >= b->d && p.col[k] < b->d)
        b->r[p.row[k] - b->d] += b->values[k] * column[p.col[k]];
    VINI_TRY(solve_minus(b, w + (size_t)c * (size_t)b->m));
  }
  return VIN_OK;
}

vin_status vin_branch_psi_x_matrix(vin_branch *branch, double *matrix) {
  VINI_TRY(require(branch, matrix != NULL));
  vin_branch *b = branch;
  memset(b->scratch, 0, (size_t)b->n * sizeof *b->scratch);
  vin_status status = VIN_OK;
  for (vin_int j = 0; j < b->d && status == VIN_OK; j++) {
    b->scratch[j] = 1;
    status = vin_branch_psi_x(b, 1, b->scratch, matrix + (size_t)j * (size_t)b->m);
    b->scratch[j] = 0;
  }
  return status;
}

vin_status vin_branch_psi_t(vin_branch *branch, double step, double *w) {
  VINI_TRY(require(branch, w != NULL));
  vin_branch *b = branch;
  if (!(step > 0) || !isfinite(step))
    return vini_fail(&b->object, VIN_ERR_BAD_INPUT, "step is %g, must be > 0", step);
  VINI_TRY(vini_dae_time_derivative(&b->work, b->t, b->y, step, b->f, b->scratch));
  memcpy(b->r, b->f + b->d, (size_t)b->m * sizeof *b->r);
  return solve_minus(b, w);
}
