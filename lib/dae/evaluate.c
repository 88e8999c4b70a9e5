/* Checked evaluation of the callbacks: return values become statuses, NaN never leaves this file.
 */
#include "dae/dae.h"

#include <float.h>
#include <math.h>
#include <string.h>

static vin_status check_return(vini_object *object, const char *what, double t, int code) {
  if (code == 0) return VIN_OK;
  if (code > 0)
    return vini_fail(object, VIN_RETRY,
                     "the %s callback asked for a smaller step (%d) at t = %.17g", what, code, t);
  return vini_fail(object, VIN_ERR_CALLBACK, "the %s callback failed (%d) at t = %.17g", what, code,
                   t);
}

/* A vector with one entry for each equation. */
static vin_status check_vector(const vin_dae *dae, vini_object *object, const char *what, double t,
                               const double *f) {
  int64_t bad = vini_first_nonfinite(f, dae->n);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_dae_equation_name(dae, (vin_int)bad, name, sizeof name);
  return vini_fail(object, VIN_RETRY, "the %s callback gave %g for %s at t = %.17g", what, f[bad],
                   name, t);
}

static vin_status check_values(const vin_dae *dae, vini_object *object, double t,
                               const double *values) {
  vin_triplets p = dae->desc.jacobian_pattern;
  int64_t bad = vini_first_nonfinite(values, p.count);
  if (bad < 0) return VIN_OK;
  char row[96], col[96];
  vin_dae_equation_name(dae, p.row[bad], row, sizeof row);
  vin_dae_unknown_name(dae, p.col[bad], col, sizeof col);
  return vini_fail(object, VIN_RETRY,
                   "the jacobian callback gave %g for entry %lld (%s by %s) at t = %.17g",
                   values[bad], (long long)bad, row, col, t);
}

vin_status vini_dae_finite(const vin_dae *dae, vini_object *object, const char *what,
                           const double *y) {
  int64_t bad = vini_first_nonfinite(y, dae->n);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_dae_unknown_name(dae, (vin_int)bad, name, sizeof name);
  return vini_fail(object, VIN_ERR_BAD_INPUT, "%s: %s is %g", what, name, y[bad]);
}

vin_status vini_dae_grid(vini_object *object, double t0, double h, vin_int steps, vin_int least) {
  const double least_roundings = 16; /* of the time in a step: its length is right to 6 % */
  double end = t0 + steps * h;
  if (!(h > 0) || steps < least || !isfinite(t0) || !isfinite(end))
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "%d steps of %g from t = %g: h must be > 0, and steps at least %d", (int)steps,
                     h, t0, (int)least);
  double rounding = DBL_EPSILON * vini_max(fabs(t0), fabs(end));
  if (h >= least_roundings * rounding) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT,
                   "h = %g is too small: times near %g are rounded to %.1e", h, end, rounding);
}

vin_status vini_dae_work_create(vini_dae_work *work, const vin_dae *dae, vini_object *object) {
  *work = (vini_dae_work){.dae = dae, .object = object};
  if (dae->implicit) return vini_dae_implicit_work(work);
  if (dae->desc.jacobian != NULL) return VIN_OK;
  vin_csc pattern = vin_sparse_view(dae->pattern);
  VINI_TRY(vini_differences_create(&work->differences, object, pattern, &dae->colouring,
                                   dae->desc.noise, dae->desc.typical));
  size_t n = (size_t)dae->n;
  work->f0 = vini_alloc(&object->context, n, sizeof *work->f0);
  work->column =
      vini_alloc(&object->context, (size_t)pattern.start[pattern.cols], sizeof *work->column);
  if (work->f0 != NULL && work->column != NULL) return VIN_OK;
  return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for differences");
}

void vini_dae_work_destroy(vini_dae_work *work) {
  if (work->object == NULL) return;
  const vin_context *context = &work->object->context;
  vini_differences_destroy(&work->differences, context);
  vini_differences_destroy(&work->rate_differences, context);
  vini_free(context, work->rate_column);
  vini_free(context, work->f0);
  vini_free(context, work->column);
  *work = (vini_dae_work){0};
}

static vin_status evaluate(const vini_dae_work *work, double t, const double *y, double *f) {
  const vin_dae_desc *desc = &work->dae->desc;
  VINI_TRY(check_return(work->object, "function", t, desc->function(desc->user, t, y, f)));
  return check_vector(work->dae, work->object, "function", t, f);
}

vin_status vini_dae_function(vini_dae_work *work, double t, const double *y, double *f) {
  work->function_count++;
  return evaluate(work, t, y, f);
}

bool vini_dae_inside(const vin_dae *dae, double t, const double *y) {
  const vin_dae_desc *desc = &dae->desc;
  return desc->in_domain == NULL || desc->in_domain(desc->user, t, y) != 0;
}

/* f for the differences, which may leave the domain. */
static vin_status displaced(void *self, const double *y, double *f) {
  const vini_dae_work *work = self;
  if (!vini_dae_inside(work->dae, work->t, y))
    return vini_fail(work->object, VIN_RETRY,
                     "a difference of the function leaves the domain at t = %.17g", work->t);
  return evaluate(work, work->t, y, f);
}

static void warn(vini_dae_work *work) {
  vin_difference_report *r = &work->report;
  r->dominates = r->relative_error > VINI_DIFFERENCE_LIMIT;
  if (!r->dominates || work->warned) return;
  work->warned = true;
  char row[96], col[96];
  vin_dae_equation_name(work->dae, r->row, row, sizeof row);
  vin_dae_unknown_name(work->dae, r->col, col, sizeof col);
  vini_log(work->object, VIN_LOG_WARNING,
           "the error of differences dominates at t = %.17g: that of %s by %s is %.1e of the row; "
           "give a jacobian callback, noise, or typical sizes",
           work->t, row, col, r->relative_error);
}

/* Compressed values to declared order: the first triplet of a place has it all. */
static void declare(const vin_sparse *matrix, double *column, double *values) {
  for (vin_int k = 0; k < matrix->count; k++) {
    values[k] = column[matrix->slot[k]];
    column[matrix->slot[k]] = 0;
  }
}

static vin_status difference(vini_dae_work *work, double t, const double *y, const double *f0,
                             double *values) {
  const vin_dae *dae = work->dae;
  int64_t before = work->difference_count;
  work->t = t;
  if (f0 == NULL) {
    work->difference_count++;
    VINI_TRY(evaluate(work, t, y, work->f0));
    f0 = work->f0;
  }
  vini_difference_report r;
  VINI_TRY(vini_differences_jacobian(&work->differences, displaced, work, y, f0, work->column, &r,
                                     &work->difference_count));
  work->report = (vin_difference_report){.colours = dae->colouring.groups,
                                         .evaluations = work->difference_count - before,
                                         .relative_error = r.relative_error,
                                         .row = r.row,
                                         .col = r.col};
  warn(work);
  declare(dae->pattern, work->column, values);
  return VIN_OK;
}

vin_status vini_dae_jacobian(vini_dae_work *work, double t, const double *y, const double *f0,
                             double *values) {
  const vin_dae_desc *desc = &work->dae->desc;
  work->jacobian_count++;
  if (desc->jacobian == NULL) return difference(work, t, y, f0, values);
  VINI_TRY(check_return(work->object, "jacobian", t, desc->jacobian(desc->user, t, y, values)));
  return check_values(work->dae, work->object, t, values);
}

/* The part of the step has the cube root of f's error, as for central differences of y; but it is
 * long enough that t + part differs from t by seven digits of it. Where f does not exist on one side
 * of t, as at a start, the difference is that of the other side, of first order. */
vin_status vini_dae_time_derivative(vini_dae_work *work, double t, const double *y, double step,
                                    double *f_t, double *scratch) {
  const vin_dae_desc *desc = &work->dae->desc;
  if (desc->time_derivative != NULL) {
    int code = desc->time_derivative(desc->user, t, y, f_t);
    VINI_TRY(check_return(work->object, "time_derivative", t, code));
    return check_vector(work->dae, work->object, "time_derivative", t, f_t);
  }
  const double digits = 1e7;
  double part = cbrt(vini_max(desc->noise, DBL_EPSILON)) * step;
  part = vini_max(part, digits * DBL_EPSILON * fabs(t));
  volatile double before = t - part, after = t + part; /* as they are stored */
  double from = before, to = after;
  vin_status low = vini_dae_function(work, from, y, scratch);
  if (low < 0) return low;
  vin_status high = vini_dae_function(work, to, y, f_t);
  if (high < 0 || (low != VIN_OK && high != VIN_OK)) return high;
  if (low != VIN_OK) VINI_TRY(vini_dae_function(work, from = t, y, scratch));
  if (high != VIN_OK) VINI_TRY(vini_dae_function(work, to = t, y, f_t));
  for (vin_int i = 0; i < work->dae->n; i++) f_t[i] = (f_t[i] - scratch[i]) / (to - from);
  return VIN_OK;
}

/* ---- public: the text goes to the caller's buffer through an object of its own ---------------- */

static vin_status begin(const vin_dae *dae, bool complete, vini_object *local, char *text,
                        size_t size) {
  if (dae == NULL || !complete)
    return vini_fail_text(text, size, VIN_ERR_BAD_INPUT, "an argument is NULL");
  if (vini_ready(&dae->object) != VIN_OK)
    return vini_fail_text(text, size, VIN_ERR_BAD_STATE, "the problem was not created: %s",
                          dae->object.text);
  if (dae->implicit)
    return vini_fail_text(text, size, VIN_ERR_UNSUPPORTED,
                          "the problem has the form 0 = F(t, y, y') and no f: take "
                          "vin_dae_residual()");
  *local = (vini_object){.context = dae->object.context, .created = VIN_OK};
  return VIN_OK;
}

static vin_status end(const vini_object *local, vin_status status, char *text, size_t size) {
  if (status != VIN_OK) return vini_fail_text(text, size, status, "%s", local->text);
  return VIN_OK;
}

vin_status vin_dae_function(const vin_dae *dae, double t, const double *y, double *f, char *text,
                            size_t text_size) {
  vini_object local;
  VINI_TRY(begin(dae, y != NULL && f != NULL, &local, text, text_size));
  vini_dae_work work = {.dae = dae, .object = &local};
  return end(&local, vini_dae_function(&work, t, y, f), text, text_size);
}

vin_status vin_dae_jacobian(const vin_dae *dae, double t, const double *y, double *values,
                            vin_difference_report *report, char *text, size_t text_size) {
  vini_object local;
  vini_dae_work work;
  if (report != NULL) *report = (vin_difference_report){.row = -1, .col = -1};
  VINI_TRY(begin(dae, y != NULL && values != NULL, &local, text, text_size));
  vin_status status = vini_dae_work_create(&work, dae, &local);
  if (status == VIN_OK) status = vini_dae_jacobian(&work, t, y, NULL, values);
  if (status == VIN_OK && report != NULL && dae->desc.jacobian == NULL) *report = work.report;
  vini_dae_work_destroy(&work);
  return end(&local, status, text, text_size);
}

vin_status vin_dae_time_derivative(const vin_dae *dae, double t, const double *y, double step,
                                   double *f_t, char *text, size_t text_size) {
  vini_object local;
  VINI_TRY(begin(dae, y != NULL && f_t != NULL, &local, text, text_size));
  if (!(step > 0) || !isfinite(step) || !isfinite(t))
    return vini_fail_text(text, text_size, VIN_ERR_BAD_INPUT, "t is %g, step is %g, must be > 0", t,
                          step);
  double *scratch = vini_alloc(&local.context, (size_t)dae->n, sizeof *scratch);
  if (scratch == NULL)
    return vini_fail_text(text, text_size, VIN_ERR_NO_MEMORY, "no memory for a difference");
  vini_dae_work work = {.dae = dae, .object = &local};
  vin_status status = vini_dae_time_derivative(&work, t, y, step, f_t, scratch);
  vini_free(&local.context, scratch);
  return end(&local, status, text, text_size);
}

int vin_dae_in_domain(const vin_dae *dae, double t, const double *y) {
  return dae != NULL && dae->object.created == VIN_OK && y != NULL && vini_dae_inside(dae, t, y);
}
