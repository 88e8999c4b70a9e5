/* The general form 0 = F(t, y, y'): checked evaluation of F, F_y and F_y', by callbacks or coloured
 * differences. */
#include "dae/dae.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

vin_status vini_dae_implicit_check(vini_object *object, const vin_dae_desc *desc) {
  const char *extra = desc->function != NULL          ? "function"
                      : desc->jacobian != NULL        ? "jacobian"
                      : desc->time_derivative != NULL ? "time_derivative"
                      : desc->mass_values != NULL     ? "mass_values"
                                                      : NULL;
  if (extra != NULL)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "residual and %s are given, but they belong to different forms", extra);
  if (desc->differential != 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "differential is %d, must be 0 where residual is given",
                     (int)desc->differential);
  for (vin_int j = 0; desc->typical_rate != NULL && j < desc->unknowns; j++) {
    if (desc->typical_rate[j] > 0 && isfinite(desc->typical_rate[j])) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "typical_rate[%d] is %g, must be > 0", (int)j,
                     desc->typical_rate[j]);
  }
  return VIN_OK;
}

static vin_status check_return(vini_object *object, const char *what, double t, int code) {
  if (code == 0) return VIN_OK;
  return vini_fail(object, code > 0 ? VIN_RETRY : VIN_ERR_CALLBACK,
                   "the %s callback %s (%d) at t = %.17g", what,
                   code > 0 ? "asked for a smaller step" : "failed", code, t);
}

static vin_status evaluate(const vini_dae_work *work, double t, const double *y, const double *yp,
                           double *r) {
  const vin_dae_desc *desc = &work->dae->desc;
  VINI_TRY(check_return(work->object, "residual", t, desc->residual(desc->user, t, y, yp, r)));
  int64_t bad = vini_first_nonfinite(r, work->dae->n);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_dae_equation_name(work->dae, (vin_int)bad, name, sizeof name);
  return vini_fail(work->object, VIN_RETRY, "the residual callback gave %g for %s at t = %.17g",
                   r[bad], name, t);
}

vin_status vini_dae_residual(vini_dae_work *work, double t, const double *y, const double *yp,
                             double *r) {
  work->function_count++;
  return evaluate(work, t, y, yp, r);
}

static vin_status create_differences(vini_dae_work *work, vini_differences *differences,
                                     const vin_sparse *matrix, const vini_colouring *colouring,
                                     const double *typical, double **column) {
  vin_csc pattern = vin_sparse_view(matrix);
  VINI_TRY(vini_differences_create(differences, work->object, pattern, colouring,
                                   work->dae->desc.noise, typical));
  size_t entries = (size_t)pattern.start[pattern.cols];
  *column = vini_alloc(&work->object->context, entries, sizeof **column);
  if (*column != NULL) return VIN_OK;
  return vini_fail(work->object, VIN_ERR_NO_MEMORY, "no memory for differences");
}

vin_status vini_dae_implicit_work(vini_dae_work *work) {
  const vin_dae *dae = work->dae;
  const vin_dae_desc *desc = &dae->desc;
  if (desc->residual_y == NULL)
    VINI_TRY(create_differences(work, &work->differences, dae->pattern, &dae->colouring,
                                desc->typical, &work->column));
  if (desc->residual_yp == NULL)
    VINI_TRY(create_differences(work, &work->rate_differences, dae->mass, &dae->rate_colouring,
                                desc->typical_rate, &work->rate_column));
  work->f0 = vini_alloc(&work->object->context, (size_t)dae->n, sizeof *work->f0);
  if (work->f0 != NULL) return VIN_OK;
  return vini_fail(work->object, VIN_ERR_NO_MEMORY, "no memory for differences");
}

/* F with y moved, which may leave the domain, and with y' moved. */
static vin_status moved_y(void *self, const double *y, double *r) {
  const vini_dae_work *work = self;
  if (!vini_dae_inside(work->dae, work->t, y))
    return vini_fail(work->object, VIN_RETRY,
                     "a difference of the residual leaves the domain at t = %.17g", work->t);
  return evaluate(work, work->t, y, work->yp, r);
}

static vin_status moved_yp(void *self, const double *yp, double *r) {
  const vini_dae_work *work = self;
  return evaluate(work, work->t, work->y, yp, r);
}

/* Compressed values to declared order: the first triplet of a place has it all. */
static void declare(const vin_sparse *matrix, double *column, double *values) {
  for (vin_int k = 0; k < matrix->count; k++) {
    values[k] = column[matrix->slot[k]];
    column[matrix->slot[k]] = 0;
  }
}

static vin_status check_values(const vini_dae_work *work, const char *what, double t,
                               vin_triplets p, const double *values) {
  int64_t bad = vini_first_nonfinite(values, p.count);
  if (bad < 0) return VIN_OK;
  char row[96], col[96];
  vin_dae_equation_name(work->dae, p.row[bad], row, sizeof row);
  vin_dae_unknown_name(work->dae, p.col[bad], col, sizeof col);
  return vini_fail(work->object, VIN_RETRY,
                   "the %s callback gave %g for entry %lld (%s by %s) at t = %.17g", what,
                   values[bad], (long long)bad, row, col, t);
}

vin_status vini_dae_residual_jacobians(vini_dae_work *work, double t, const double *y,
                                       const double *yp, double *by_y, double *by_yp) {
  const vin_dae *dae = work->dae;
  const vin_dae_desc *desc = &dae->desc;
  vini_difference_report report;
  work->jacobian_count++;
  work->t = t, work->y = y, work->yp = yp;
  bool differences = (by_y && !desc->residual_y) || (by_yp && !desc->residual_yp);
  if (differences) {
    work->difference_count++;
    VINI_TRY(evaluate(work, t, y, yp, work->f0));
  }
  if (by_y && desc->residual_y) {
    VINI_TRY(
        check_return(work->object, "residual_y", t, desc->residual_y(desc->user, t, y, yp, by_y)));
    VINI_TRY(check_values(work, "residual_y", t, desc->jacobian_pattern, by_y));
  } else if (by_y) {
    VINI_TRY(vini_differences_jacobian(&work->differences, moved_y, work, y, work->f0, work->column,
                                       &report, &work->difference_count));
    declare(dae->pattern, work->column, by_y);
  }
  if (by_yp && desc->residual_yp) {
    VINI_TRY(check_return(work->object, "residual_yp", t,
                          desc->residual_yp(desc->user, t, y, yp, by_yp)));
    VINI_TRY(check_values(work, "residual_yp", t, desc->mass_pattern, by_yp));
  } else if (by_yp) {
    VINI_TRY(vini_differences_jacobian(&work->rate_differences, moved_yp, work, yp, work->f0,
                                       work->rate_column, &report, &work->difference_count));
    declare(dae->mass, work->rate_column, by_yp);
  }
  return VIN_OK;
}

/* ---- public ------------------------------------------------------------------------------------- */

static vin_status begin(const vin_dae *dae, bool complete, vini_object *local, char *text,
                        size_t size) {
  if (dae == NULL || !complete)
    return vini_fail_text(text, size, VIN_ERR_BAD_INPUT, "an argument is NULL");
  if (vini_ready(&dae->object) != VIN_OK)
    return vini_fail_text(text, size, VIN_ERR_BAD_STATE, "the problem was not created: %s",
                          dae->object.text);
  if (!dae->implicit)
    return vini_fail_text(text, size, VIN_ERR_UNSUPPORTED,
                          "the problem has the form B y' = f(t, y), not 0 = F(t, y, y')");
  *local = (vini_object){.context = dae->object.context, .created = VIN_OK};
  return VIN_OK;
}

vin_status vin_dae_residual(const vin_dae *dae, double t, const double *y, const double *yp,
                            double *r, char *text, size_t text_size) {
  vini_object local;
  VINI_TRY(begin(dae, y && yp && r, &local, text, text_size));
  vini_dae_work work = {.dae = dae, .object = &local};
  vin_status status = vini_dae_residual(&work, t, y, yp, r);
  return status == VIN_OK ? VIN_OK : vini_fail_text(text, text_size, status, "%s", local.text);
}

vin_status vin_dae_residual_jacobians(const vin_dae *dae, double t, const double *y,
                                      const double *yp, double *by_y, double *by_yp, char *text,
                                      size_t text_size) {
  vini_object local;
  vini_dae_work work;
  VINI_TRY(begin(dae, y && yp && (by_y || by_yp), &local, text, text_size));
  vin_status status = vini_dae_work_create(&work, dae, &local);
  if (status == VIN_OK) status = vini_dae_residual_jacobians(&work, t, y, yp, by_y, by_yp);
  vini_dae_work_destroy(&work);
  return status == VIN_OK ? VIN_OK : vini_fail_text(text, text_size, status, "%s", local.text);
}

/* ---- the derivative check: F as a function of y alone, then of y' alone ------------------------- */

typedef struct part {
  const vin_dae *dae;
  const double *y, *yp;
  bool rate; /* y' is what moves */
} part;

static int part_function(void *user, double t, const double *x, double *r) {
  const part *p = user;
  const vin_dae_desc *desc = &p->dae->desc;
  return desc->residual(desc->user, t, p->rate ? p->y : x, p->rate ? x : p->yp, r);
}

static int part_jacobian(void *user, double t, const double *x, double *values) {
  const part *p = user;
  const vin_dae_desc *desc = &p->dae->desc;
  return p->rate ? desc->residual_yp(desc->user, t, p->y, x, values)
                 : desc->residual_y(desc->user, t, x, p->yp, values);
}

static int part_inside(void *user, double t, const double *x) {
  const part *p = user;
  return vini_dae_inside(p->dae, t, p->rate ? p->y : x);
}

static void part_unknown(void *user, vin_int index, char *text, size_t size) {
  const part *p = user;
  char name[96];
  vin_dae_unknown_name(p->dae, index, name, sizeof name);
  snprintf(text, size, "%s%s", p->rate ? "d/dt of " : "", name);
}

static void part_equation(void *user, vin_int row, char *text, size_t size) {
  vin_dae_equation_name(((const part *)user)->dae, row, text, size);
}

static vin_status check_part(part *p, double t, vin_derivative_check *check) {
  const vin_dae_desc *given = &p->dae->desc;
  vin_dae_desc desc = vin_dae_desc_default();
  bool callback = p->rate ? given->residual_yp != NULL : given->residual_y != NULL;
  desc.unknowns = p->dae->n;
  desc.jacobian_pattern = p->rate ? given->mass_pattern : given->jacobian_pattern;
  desc.function = part_function;
  desc.jacobian = callback ? part_jacobian : NULL;
  desc.in_domain = part_inside;
  desc.noise = given->noise;
  desc.typical = p->rate ? given->typical_rate : given->typical;
  desc.unknown_name = part_unknown, desc.equation_name = part_equation;
  desc.user = p;
  vin_dae *dae = NULL;
  vin_status status = vin_dae_create(&dae, &p->dae->object.context, &desc);
  if (status == VIN_OK)
    status = vin_dae_check(dae, t, p->rate ? p->yp : p->y, check);
  else
    vini_fail_text(check->text, sizeof check->text, status, "%s",
                   dae ? vin_dae_error(dae) : "no memory");
  vin_dae_destroy(dae);
  if (check->function != NULL) check->function = p->rate ? "residual_yp" : "residual_y";
  if (status != VIN_CHECK_FAILED) return status;
  char text[sizeof check->text];
  snprintf(text, sizeof text, "%s", check->text);
  return vini_fail_text(check->text, sizeof check->text, status, "%s: %s", check->function, text);
}

vin_status vin_dae_check_implicit(const vin_dae *dae, double t, const double *y, const double *yp,
                                  vin_derivative_check *check) {
  if (dae == NULL || y == NULL || yp == NULL || check == NULL) return VIN_ERR_BAD_INPUT;
  vini_object local;
  memset(check, 0, sizeof *check);
  check->row = check->col = -1;
  VINI_TRY(begin(dae, true, &local, check->text, sizeof check->text));
  part p = {.dae = dae, .y = y, .yp = yp};
  VINI_TRY(check_part(&p, t, check));
  p.rate = true;
  return check_part(&p, t, check);
}
