/* Coupled backward Euler and BDF2 with a finite Newton budget: theory (D6), (D7).
 *
 * The residual is R = (r^d, r^a) with r^d = (a X - past) / h - f(t, X, Z) and r^a = g(t, X, Z); Newton's
 * method sees (r^d / eta_d, r^a / eta_a) with tolerance 1, so that a root satisfies both bounds. Its
 * matrix is scaled by rows, which changes no correction: h r^d gives
 *
 *     [ a I - h f_x   -h f_z ]
 *     [     g_x         g_z  ]
 *
 * Only h enters here, never a difference of times, so that an autonomous problem gives the same
 * bits wherever its time begins. */
#include "dae/branch.h"

#include <math.h>
#include <string.h>

struct vin_stepper {
  vini_object object;
  vin_dae *dae;
  vin_int n, d;
  bool check_index;
  vin_branch *branch; /* g_z of the start, when it is checked */
  vini_dae_work work;
  vin_linsys *linsys;
  double *jacobian, *values; /* f_y in declared order; the coupled matrix: f_y, then d diagonals */
  double *y, *next, *before; /* n: last state, the one sought; d: X before the last state */
  double *f, *unscaled;      /* n: f and R at the point evaluated last */
  double *past;              /* d: what a X is compared with */
  double *r, *dx, *trial;    /* n each, of Newton's method */
  /* the step under way */
  const vin_grid_run *run;
  double t, a;
};

vin_stepper_options vin_stepper_options_default(void) {
  return (vin_stepper_options){.struct_size = sizeof(vin_stepper_options),
                               .linear_residual_tolerance = 1e-12,
                               .check_index = 1};
}

vin_grid_run vin_grid_run_default(void) {
  return (vin_grid_run){.struct_size = sizeof(vin_grid_run), .budget = 10};
}

/* ---- creation ---------------------------------------------------------------------------------- */

static vin_status stepper_memory(vin_stepper *s) {
  const vin_context *context = &s->object.context;
  size_t n = (size_t)s->n, d = (size_t)s->d;
  size_t count = (size_t)s->dae->desc.jacobian_pattern.count;
  s->jacobian = vini_alloc(context, count, sizeof *s->jacobian);
  s->values = vini_alloc(context, count + d, sizeof *s->values);
  s->before = vini_alloc(context, d, sizeof *s->before);
  s->past = vini_alloc(context, d, sizeof *s->past);
  double **vectors[] = {&s->y, &s->next, &s->f, &s->unscaled, &s->r, &s->dx, &s->trial};
  bool done = s->jacobian && s->values && s->before && s->past;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    *vectors[k] = vini_alloc(context, n, sizeof **vectors[k]);
    done = done && *vectors[k] != NULL;
  }
  if (done) return VIN_OK;
  return vini_fail(&s->object, VIN_ERR_NO_MEMORY, "no memory for %d unknowns", (int)s->n);
}

/* The pattern of f_y and the d diagonal entries behind it. */
static vin_status analyse(vin_stepper *s, const vin_stepper_options *options) {
  const vin_context *context = &s->object.context;
  vin_triplets p = s->dae->desc.jacobian_pattern;
  if (p.count > INT32_MAX - s->d)
    return vini_fail(&s->object, VIN_ERR_TOO_LARGE, "%d entries and %d diagonals are too many",
                     (int)p.count, (int)s->d);
  size_t count = (size_t)p.count + (size_t)s->d;
  vin_int *row = vini_alloc(context, count, sizeof *row);
  vin_int *col = vini_alloc(context, count, sizeof *col);
  vin_status status = VIN_ERR_NO_MEMORY;
  if (row != NULL && col != NULL) {
    for (vin_int k = 0; k < p.count; k++) row[k] = p.row[k], col[k] = p.col[k];
    for (vin_int i = 0; i < s->d; i++) row[p.count + i] = col[p.count + i] = i;
    vin_linsys_options linsys =
        vini_dae_linsys_options(options->solver, options->linear_residual_tolerance);
    vin_triplets pattern = {.count = (vin_int)count, .row = row, .col = col};
    status = vin_linsys_create(&s->linsys, context, s->n, pattern, &linsys);
  }
  vini_free(context, row);
  vini_free(context, col);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&s->object, status, "the coupled matrix: %s",
                   s->linsys ? vin_linsys_error(s->linsys) : "no memory");
}

static vin_status create_branch(vin_stepper *s, const vin_stepper_options *options) {
  vin_branch_options branch = vin_branch_options_default();
  branch.solver = options->solver;
  branch.linear_residual_tolerance = options->linear_residual_tolerance;
  vin_status status = vin_branch_create(&s->branch, &s->object.context, s->dae, &branch);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&s->object, status, "%s", s->branch ? vin_branch_error(s->branch) : "no memory");
}

static vin_status stepper_build(vin_stepper *s, vin_dae *dae, const vin_stepper_options *given) {
  vini_object *object = &s->object;
  vin_stepper_options options = vin_stepper_options_default();
  if (!vini_options_copy(&options, sizeof options, given))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "options: struct_size is not sizeof(vin_stepper_options); start from "
                     "vin_stepper_options_default()");
  VINI_TRY(vini_dae_index1(dae, object, "a stepper"));
  if (dae->d == 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the problem has no differential unknowns");
  s->dae = vin_dae_retain(dae);
  s->n = dae->n, s->d = dae->d;
  s->check_index = options.check_index != 0 && s->d < s->n;
  VINI_TRY(stepper_memory(s));
  VINI_TRY(vini_dae_work_create(&s->work, dae, object));
  VINI_TRY(analyse(s, &options));
  return s->check_index ? create_branch(s, &options) : VIN_OK;
}

vin_status vin_stepper_create(vin_stepper **stepper, const vin_context *context, vin_dae *dae,
                              const vin_stepper_options *options) {
  VINI_TRY(vini_object_begin((void **)stepper, context, sizeof **stepper));
  vin_status status = stepper_build(*stepper, dae, options);
  (*stepper)->object.created = status;
  return status;
}

void vin_stepper_destroy(vin_stepper *stepper) {
  if (stepper == NULL) return;
  vin_stepper *s = stepper;
  const vin_context *context = &s->object.context;
  vini_dae_work_destroy(&s->work);
  vin_linsys_destroy(s->linsys);
  vin_branch_destroy(s->branch);
  double *arrays[] = {s->jacobian, s->values,   s->before, s->past, s->y,    s->next,
                      s->f,        s->unscaled, s->r,      s->dx,   s->trial};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) vini_free(context, arrays[k]);
  vin_dae_destroy(s->dae);
  vini_object_destroy(&s->object);
}

const char *vin_stepper_error(const vin_stepper *stepper) {
  return vini_text(stepper == NULL ? NULL : &stepper->object);
}

vin_linsys_info vin_stepper_solver_info(const vin_stepper *stepper) {
  return vin_linsys_get_info(stepper == NULL ? NULL : stepper->linsys);
}

/* ---- the coupled residual ---------------------------------------------------------------------- */

static bool inside(void *self, const double *y) {
  const vin_stepper *s = self;
  return vini_dae_inside(s->dae, s->t, y);
}

/* unscaled := R at y */
static vin_status unscaled_residual(vin_stepper *s, const double *y) {
  VINI_TRY(vini_dae_function(&s->work, s->t, y, s->f));
  for (vin_int i = 0; i < s->d; i++)
    s->unscaled[i] = (s->a * y[i] - s->past[i]) / s->run->h - s->f[i];
  memcpy(s->unscaled + s->d, s->f + s->d, (size_t)(s->n - s->d) * sizeof *s->f);
  int64_t bad = vini_first_nonfinite(s->unscaled, s->n);
  if (bad < 0) return VIN_OK;
  return vini_fail(&s->object, VIN_RETRY, "the residual overflows at t = %.17g", s->t);
}

static vin_status residual(void *self, const double *y, double *r) {
  vin_stepper *s = self;
  VINI_TRY(unscaled_residual(s, y));
  for (vin_int i = 0; i < s->n; i++) {
    double eta = i < s->d ? s->run->derivative_tolerance : s->run->algebraic_tolerance;
    r[i] = s->unscaled[i] / eta;
  }
  return VIN_OK;
}

static vin_status correct(void *self, const double *y, double *dy, vin_dae_counts *counts) {
  vin_stepper *s = self;
  vin_triplets p = s->dae->desc.jacobian_pattern;
  counts->jacobian_assemblies++;
  VINI_TRY(vini_dae_jacobian(&s->work, s->t, y, s->f, s->jacobian));
  double h = s->run->h;
  for (vin_int k = 0; k < p.count; k++)
    s->values[k] = p.row[k] < s->d ? -h * s->jacobian[k] : s->jacobian[k];
  for (vin_int i = 0; i < s->d; i++) s->values[p.count + i] = s->a;
  for (vin_int i = 0; i < s->n; i++) dy[i] = i < s->d ? -h * s->unscaled[i] : -s->unscaled[i];
  vin_status status = vin_linsys_factor(s->linsys, s->values);
  if (status == VIN_OK) status = vin_linsys_solve(s->linsys, 1, dy, dy);
  if (status != VIN_OK)
    return vini_fail(&s->object, status, "the coupled matrix at t = %.17g: %s", s->t,
                     vin_linsys_error(s->linsys));
  counts->correction_solves++;
  return VIN_OK;
}

/* ---- one run ----------------------------------------------------------------------------------- */

static bool positive(double x) {
  return x > 0 && isfinite(x);
}

static vin_status check_input(vin_stepper *s, const vin_grid_run *run) {
  vini_object *object = &s->object;
  int starts = run->method == VIN_DAE_BDF2 ? 2 : 1;
  if (run->y0 == NULL || (starts == 2 && run->y1 == NULL))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "%s is NULL", run->y0 == NULL ? "y0" : "y1");
  if (!positive(run->derivative_tolerance) || !positive(run->algebraic_tolerance))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "derivative_tolerance is %g, algebraic_tolerance %g, both must be > 0",
                     run->derivative_tolerance, run->algebraic_tolerance);
  if (run->budget < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "budget is %d, must be >= 0", run->budget);
  for (int k = 0; k < starts; k++) {
    const double *y = k == 0 ? run->y0 : run->y1;
    double t = run->t0 + k * run->h;
    if (!(run->start_tolerance[k] >= 0))
      return vini_fail(object, VIN_ERR_BAD_INPUT, "start_tolerance[%d] is %g, must be >= 0", k,
                       run->start_tolerance[k]);
    VINI_TRY(vini_dae_finite(s->dae, object, k == 0 ? "y0" : "y1", y));
    if (!vini_dae_inside(s->dae, t, y))
      return vini_fail(object, VIN_ERR_BAD_INPUT, "y%d is outside of the domain at t = %.17g", k,
                       t);
  }
  return VIN_OK;
}

/* g_z must be regular at the (last) start, where begin() left f. Where it is not, its rank is found
 * for the text. */
static vin_status check_index(vin_stepper *s, double t) {
  if (!s->check_index) return VIN_OK;
  vin_status status = vini_branch_linearise(s->branch, t, s->y, s->f);
  if (status == VIN_OK) return VIN_OK;
  vini_fail(&s->object, status, "%s", vin_branch_error(s->branch));
  if (status != VIN_SINGULAR) return status;
  vin_dae_index_report report;
  if (vin_dae_index_check(s->dae, t, s->y, 0, &report) == VIN_SINGULAR)
    vini_fail(&s->object, status, "declared as index 1, but %s", report.text);
  return status;
}

/* Keeps an accepted state and its residual. */
static void store(const vin_stepper *s, vin_int k, const double *y, const double *residual) {
  size_t n = (size_t)s->n;
  if (s->run->states != NULL) memcpy(s->run->states + n * (size_t)k, y, n * sizeof *y);
  if (s->run->residuals != NULL)
    memcpy(s->run->residuals + n * (size_t)k, residual, n * sizeof *residual);
}

static vin_status fail(vin_grid_report *report, vin_outcome outcome) {
  report->outcome = outcome;
  return vini_outcome_status(outcome);
}

/* The starting pairs: their algebraic residuals, one query each. */
static vin_status begin(vin_stepper *s, vin_grid_report *report) {
  const vin_grid_run *run = s->run;
  vin_int starts = run->method == VIN_DAE_BDF2 ? 2 : 1, m = s->n - s->d;
  for (vin_int k = 0; k < starts; k++) {
    const double *y = k == 0 ? run->y0 : run->y1;
    report->counts.residual_queries++;
    vin_status status = vini_dae_function(&s->work, run->t0 + k * run->h, y, s->f);
    if (status < 0) {
      report->outcome = VIN_OUTCOME_FAILED;
      return status;
    }
    if (status > 0) return fail(report, VIN_OUTCOME_INVALID_INPUT);
    report->start_residual[k] = vini_norm2(s->f + s->d, m);
    if (!(report->start_residual[k] <= run->start_tolerance[k])) {
      vini_fail(&s->object, VIN_ERR_BAD_INPUT,
                "y%d is not consistent: |g| = %.3g at t = %.17g, start_tolerance is %.3g", (int)k,
                report->start_residual[k], run->t0 + k * run->h, run->start_tolerance[k]);
      return fail(report, VIN_OUTCOME_INCONSISTENT);
    }
    memset(s->unscaled, 0, (size_t)s->d * sizeof *s->unscaled);
    memcpy(s->unscaled + s->d, s->f + s->d, (size_t)m * sizeof *s->f);
    store(s, k, y, s->unscaled);
    if (k + 1 < starts) memcpy(s->before, y, (size_t)s->d * sizeof *y);
    memcpy(s->y, y, (size_t)s->n * sizeof *y);
    report->accepted = k;
    report->t = run->t0 + k * run->h;
  }
  return VIN_OK;
}

/* past and seed of the next step; s->y is the last state, s->before the X before it. */
static void predict(vin_stepper *s, double *seed) {
  memcpy(seed, s->y, (size_t)s->n * sizeof *seed);
  if (s->run->method == VIN_DAE_BACKWARD_EULER) {
    s->a = 1;
    memcpy(s->past, s->y, (size_t)s->d * sizeof *s->past);
    return;
  }
  s->a = 1.5;
  for (vin_int i = 0; i < s->d; i++) {
    s->past[i] = 2 * s->y[i] - 0.5 * s->before[i];
    seed[i] = 2 * s->y[i] - s->before[i];
    s->before[i] = s->y[i];
  }
}

/* After a root: R once more, unscaled, to keep it. */
static vin_status accept(vin_stepper *s, vin_int k, const double *y, vin_grid_report *report) {
  report->counts.residual_queries++;
  vin_status status = unscaled_residual(s, y);
  if (status < 0) {
    report->outcome = VIN_OUTCOME_FAILED;
    return status;
  }
  if (status > 0 || !inside(s, y)) return fail(report, VIN_OUTCOME_INVALID_TRIAL);
  memcpy(s->y, y, (size_t)s->n * sizeof *y);
  store(s, k, s->y, s->unscaled);
  report->accepted = k;
  report->t = s->t;
  double derivative = vini_norm2(s->unscaled, s->d);
  double algebraic = vini_norm2(s->unscaled + s->d, s->n - s->d);
  report->derivative_max = vini_max(report->derivative_max, derivative);
  report->algebraic_max = vini_max(report->algebraic_max, algebraic);
  const vin_grid_run *run = s->run;
  if (run->accepted == NULL || run->accepted(run->user, k, s->t, s->y, s->unscaled) == 0)
    return VIN_OK;
  vini_fail(&s->object, VIN_INTERRUPTED, "stopped at t = %.17g", s->t);
  return fail(report, VIN_OUTCOME_INTERRUPTED);
}

static vin_status step(vin_stepper *s, vin_int k, vin_grid_report *report) {
  double *next = s->next;
  s->t = s->run->t0 + k * s->run->h;
  report->attempted++;
  predict(s, next);
  if (vini_first_nonfinite(next, s->n) >= 0 || !inside(s, next)) {
    vini_fail(&s->object, VIN_STEP_FAILED,
              "the seed of step %d is outside of the domain at t = "
              "%.17g",
              (int)k, s->t);
    return fail(report, VIN_OUTCOME_INVALID_TRIAL);
  }
  vini_newton newton = {.self = s, .object = &s->object, .n = s->n, .inside = inside};
  newton.residual = residual, newton.correct = correct;
  newton.r = s->r, newton.dx = s->dx, newton.trial = s->trial;
  vini_newton_result result;
  vin_status status = vini_newton_run(&newton, 1, s->run->budget, next, &result, &report->counts);
  report->last_residual = result.last;
  if (status == VIN_OK) return accept(s, k, next, report);
  report->outcome = result.outcome;
  return vini_fail(&s->object, status, "step %d, t = %.17g: %s", (int)k, s->t, s->object.text);
}

static vin_status open_run(vin_stepper *s, const vin_grid_run *run, vin_grid_report *report) {
  if (run->method != VIN_DAE_BACKWARD_EULER && run->method != VIN_DAE_BDF2) {
    report->outcome = VIN_OUTCOME_INVALID_INPUT;
    return vini_fail(&s->object, VIN_ERR_BAD_INPUT, "method %d does not exist", (int)run->method);
  }
  vin_int least = run->method == VIN_DAE_BDF2 ? 2 : 1;
  vin_status status = vini_dae_grid(&s->object, run->t0, run->h, run->steps, least);
  if (status != VIN_OK) return fail(report, VIN_OUTCOME_INVALID_GRID);
  status = check_input(s, run);
  if (status != VIN_OK) return fail(report, VIN_OUTCOME_INVALID_INPUT);
  s->run = run;
  status = begin(s, report);
  if (status != VIN_OK) {
    report->accepted = -1;
    return status;
  }
  status = check_index(s, report->t);
  if (status == VIN_OK) return VIN_OK;
  report->accepted = -1; /* not in the chart of a branch */
  if (status > 0) return fail(report, VIN_OUTCOME_INVALID_INPUT);
  report->outcome = VIN_OUTCOME_FAILED;
  return status;
}

vin_status vin_stepper_run(vin_stepper *stepper, const vin_grid_run *run, double *y,
                           vin_grid_report *report) {
  vin_grid_report own;
  if (report == NULL) report = &own;
  *report = (vin_grid_report){.accepted = -1, .last_residual = -1};
  report->start_residual[0] = report->start_residual[1] = -1;
  VINI_TRY(vini_ready(stepper == NULL ? NULL : &stepper->object));
  vin_stepper *s = stepper;
  vin_grid_run options = vin_grid_run_default();
  if (run == NULL || !vini_options_copy(&options, sizeof options, run)) {
    report->outcome = VIN_OUTCOME_INVALID_INPUT;
    return vini_fail(&s->object, VIN_ERR_BAD_INPUT,
                     "run is NULL or its struct_size is wrong: start from vin_grid_run_default()");
  }
  int64_t before = s->work.difference_count;
  vin_status status = open_run(s, &options, report);
  for (vin_int k = report->accepted + 1; status == VIN_OK && k <= options.steps; k++)
    status = step(s, k, report);
  report->counts.difference_evaluations = s->work.difference_count - before;
  if (status == VIN_OK) report->outcome = VIN_OUTCOME_COMPLETED;
  if (y != NULL && report->accepted >= 0) memcpy(y, s->y, (size_t)s->n * sizeof *y);
  s->run = NULL;
  return status;
}
