/* dae_initialise - consistent (y, y') of a DAE in any form: a minimisation over 2n unknowns. */
#include "dae/dae.h"
#include "vincula/project_dae.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct initialiser {
  vini_object local;
  const vin_dae *dae;
  const vin_dae_initial_options *options;
  vini_dae_work work;
  vin_int n, entries;
  double t;
  double *product;     /* n: B y' */
  double *x, *weights; /* 2n: y, y' */
  unsigned char *fixed;
  vin_int *row, *col;
  vin_status failed; /* of a callback, with the text in local */
} initialiser;

vin_dae_initial_options vin_dae_initial_options_default(void) {
  vin_dae_initial_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.tolerance = 1e-12;
  options.max_iterations = 100;
  options.kkt = vin_kkt_options_default();
  return options;
}

static int code_of(initialiser *s, vin_status status) {
  s->failed = status;
  return status == VIN_OK ? 0 : status > 0 ? 1 : -1;
}

static vin_status equations(initialiser *s, const double *y, const double *yp, double *r) {
  if (!vini_dae_inside(s->dae, s->t, y))
    return vini_fail(&s->local, VIN_RETRY, "a point outside of the domain at t = %.15g", s->t);
  if (s->dae->implicit) return vini_dae_residual(&s->work, s->t, y, yp, r);
  VINI_TRY(vini_dae_function(&s->work, s->t, y, r));
  memset(s->product, 0, (size_t)s->n * sizeof *s->product);
  vin_sparse_multiply(s->dae->mass, 1, yp, 0, s->product);
  for (vin_int i = 0; i < s->n; i++) r[i] = s->product[i] - r[i];
  return VIN_OK;
}

static vin_status check_hidden(initialiser *s, const char *what, int code) {
  if (code == 0) return VIN_OK;
  return vini_fail(&s->local, code > 0 ? VIN_RETRY : VIN_ERR_CALLBACK,
                   "the %s callback %s (%d) at t = %.17g", what, code > 0 ? "gave up" : "failed",
                   code, s->t);
}

static int constraint(void *user, const double *x, double *c) {
  initialiser *s = user;
  const vin_dae_initial_options *o = s->options;
  vin_status status = equations(s, x, x + s->n, c);
  if (status == VIN_OK && o->hidden > 0)
    status = check_hidden(s, "hidden_constraint",
                          o->hidden_constraint(o->user, s->t, x, x + s->n, c + s->n));
  return code_of(s, status);
}

/* F_y (or -f_y), F_y' (or B), then the hidden rows. */
static vin_status derivatives(initialiser *s, const double *y, const double *yp, double *values) {
  const vin_dae_desc *desc = &s->dae->desc;
  vin_int nj = desc->jacobian_pattern.count, nb = desc->mass_pattern.count;
  if (s->dae->implicit) {
    VINI_TRY(vini_dae_residual_jacobians(&s->work, s->t, y, yp, values, values + nj));
  } else {
    VINI_TRY(vini_dae_jacobian(&s->work, s->t, y, NULL, values));
    for (vin_int k = 0; k < nj; k++) values[k] = -values[k];
    memcpy(values + nj, desc->mass_values, (size_t)nb * sizeof *values);
  }
  const vin_dae_initial_options *o = s->options;
  if (o->hidden == 0) return VIN_OK;
  return check_hidden(s, "hidden_jacobian",
                      o->hidden_jacobian(o->user, s->t, y, yp, values + nj + nb));
}

static int jacobian(void *user, const double *x, double *values) {
  initialiser *s = user;
  return code_of(s, derivatives(s, x, x + s->n, values));
}

static void unknown_name(void *user, vin_int index, char *text, size_t size) {
  const initialiser *s = user;
  char name[96];
  vin_dae_unknown_name(s->dae, index % s->n, name, sizeof name);
  snprintf(text, size, "%s%s", index < s->n ? "" : "d/dt of ", name);
}

static void constraint_name(void *user, vin_int row, char *text, size_t size) {
  const initialiser *s = user;
  if (row < s->n)
    vin_dae_equation_name(s->dae, row, text, size);
  else
    snprintf(text, size, "hidden constraint %d", (int)(row - s->n));
}

static void place(const initialiser *s, vin_int *at, vin_triplets from, vin_int row, vin_int col) {
  for (vin_int k = 0; k < from.count; k++, ++*at) {
    s->row[*at] = from.row[k] + row;
    s->col[*at] = from.col[k] + col;
  }
}

static vin_status check(initialiser *s) {
  const vin_dae_initial_options *o = s->options;
  vini_object *object = &s->local;
  vin_int n = s->n;
  if (2 * (int64_t)n > INT32_MAX)
    return vini_fail(object, VIN_ERR_TOO_LARGE, "%d unknowns are too many", (int)n);
  if (o->hidden < 0 || (o->hidden > 0 && (!o->hidden_constraint || !o->hidden_jacobian)))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "hidden is %d%s", (int)o->hidden,
                     o->hidden < 0 ? ", must be >= 0" : ", but a callback is missing");
  VINI_TRY(vini_triplets_check(object, "hidden pattern", o->hidden, 2 * n, o->hidden_pattern,
                               VIN_STORAGE_GENERAL));
  const double *weights[2] = {o->weights_y, o->weights_yp};
  for (int part = 0; part < 2; part++) {
    for (vin_int i = 0; weights[part] != NULL && i < n; i++) {
      if (weights[part][i] > 0) continue;
      return vini_fail(object, VIN_ERR_BAD_INPUT, "weights_y%s[%d] is %g, must be > 0",
                       part ? "p" : "", (int)i, weights[part][i]);
    }
  }
  return VIN_OK;
}

static vin_status prepare(initialiser *s, const double *y, const double *yp,
                          vin_dae_initial_report *report) {
  const vin_dae_initial_options *o = s->options;
  const vin_dae_desc *desc = &s->dae->desc;
  const vin_context *context = &s->local.context;
  vin_int n = s->n;
  int64_t entries =
      (int64_t)desc->jacobian_pattern.count + desc->mass_pattern.count + o->hidden_pattern.count;
  if (entries > INT32_MAX)
    return vini_fail(&s->local, VIN_ERR_TOO_LARGE, "%lld entries are too many", (long long)entries);
  s->entries = (vin_int)entries;
  s->x = vini_alloc(context, 2 * (size_t)n, sizeof *s->x);
  s->weights = vini_alloc(context, 2 * (size_t)n, sizeof *s->weights);
  s->product = vini_alloc(context, (size_t)n, sizeof *s->product);
  s->fixed = vini_alloc(context, 2 * (size_t)n, 1);
  s->row = vini_alloc(context, (size_t)entries, sizeof *s->row);
  s->col = vini_alloc(context, (size_t)entries, sizeof *s->col);
  if (!s->x || !s->weights || !s->product || !s->fixed || !s->row || !s->col)
    return vini_fail(&s->local, VIN_ERR_NO_MEMORY, "no memory for initial values");
  for (vin_int i = 0; i < n; i++) {
    s->x[i] = y[i], s->x[n + i] = yp[i];
    s->weights[i] = o->weights_y ? o->weights_y[i] : 1;
    s->weights[n + i] = o->weights_yp ? o->weights_yp[i] : 1;
    s->fixed[i] = o->fixed_y && o->fixed_y[i];
    s->fixed[n + i] = o->fixed_yp && o->fixed_yp[i];
    report->free_y += !s->fixed[i] && s->weights[i] <= DBL_MAX;
    report->free_yp += !s->fixed[n + i] && s->weights[n + i] <= DBL_MAX;
  }
  vin_int at = 0;
  place(s, &at, desc->jacobian_pattern, 0, 0);
  place(s, &at, desc->mass_pattern, 0, n);
  place(s, &at, o->hidden_pattern, n, 0);
  return vini_dae_work_create(&s->work, s->dae, &s->local);
}

static vin_status solve(initialiser *s, vin_dae_initial_report *report) {
  const vin_dae_initial_options *o = s->options;
  vin_minimise_desc desc = vin_minimise_desc_default();
  desc.unknowns = 2 * s->n;
  desc.constraints = s->n + o->hidden;
  desc.jacobian_pattern = (vin_triplets){s->entries, s->row, s->col};
  desc.constraint = constraint, desc.jacobian = jacobian;
  desc.unknown_name = unknown_name, desc.constraint_name = constraint_name;
  desc.user = s;
  vin_minimise_options options = vin_minimise_options_default();
  options.constraint_tolerance = o->tolerance;
  options.max_iterations = o->max_iterations;
  options.weights = s->weights;
  options.fixed = s->fixed;
  options.kkt = o->kkt;
  vin_minimiser *minimiser = NULL;
  vin_minimise_report r = {0};
  vin_status status = vin_minimiser_create(&minimiser, &s->local.context, &desc, &options);
  if (status == VIN_OK) status = vin_minimiser_solve(minimiser, s->x, NULL, &r);
  bool callback = (status == VIN_RETRY || status == VIN_ERR_CALLBACK) && s->failed != VIN_OK;
  if (status != VIN_OK && !callback)
    vini_fail(&s->local, status, "%s", minimiser ? vin_minimiser_error(minimiser) : "no memory");
  vin_minimiser_destroy(minimiser);
  report->residual_before = r.constraint_before;
  report->residual_after = r.constraint_after;
  report->iterations = r.iterations;
  report->dropped = r.dropped;
  return status;
}

static vin_status run(initialiser *s, double *y, double *yp, vin_dae_initial_report *report) {
  vin_int n = s->n;
  if (!isfinite(s->t)) return vini_fail(&s->local, VIN_ERR_BAD_INPUT, "t is %g", s->t);
  VINI_TRY(vini_dae_finite(s->dae, &s->local, "y", y));
  VINI_TRY(vini_dae_finite(s->dae, &s->local, "y'", yp));
  VINI_TRY(check(s));
  VINI_TRY(prepare(s, y, yp, report));
  VINI_TRY(solve(s, report));
  for (vin_int i = 0; i < n; i++) {
    report->correction_y = vini_max(report->correction_y, fabs(s->x[i] - y[i]));
    report->correction_yp = vini_max(report->correction_yp, fabs(s->x[n + i] - yp[i]));
  }
  memcpy(y, s->x, (size_t)n * sizeof *y);
  memcpy(yp, s->x + n, (size_t)n * sizeof *yp);
  return VIN_OK;
}

vin_status vin_dae_initialise(vin_dae *dae, const vin_dae_initial_options *options, double t,
                              double *y, double *yp, vin_dae_initial_report *report) {
  vin_dae_initial_report scratch;
  if (report == NULL) report = &scratch;
  *report = (vin_dae_initial_report){0};
  char *text = report->text;
  size_t size = sizeof report->text;
  vin_dae_initial_options own = vin_dae_initial_options_default();
  if (dae == NULL || y == NULL || yp == NULL)
    return vini_fail_text(text, size, VIN_ERR_BAD_INPUT, "an argument is NULL");
  if (vini_ready(&dae->object) != VIN_OK)
    return vini_fail_text(text, size, VIN_ERR_BAD_STATE, "the problem was not created");
  if (!vini_options_copy(&own, sizeof own, options))
    return vini_fail_text(text, size, VIN_ERR_BAD_INPUT,
                          "struct_size is wrong: start from vin_dae_initial_options_default()");
  initialiser s = {.dae = dae, .options = &own, .n = dae->n, .t = t};
  s.local = (vini_object){.context = dae->object.context, .created = VIN_OK};
  vin_status status = run(&s, y, yp, report);
  const vin_context *context = &s.local.context;
  vini_dae_work_destroy(&s.work);
  void *owned[] = {s.x, s.weights, s.product, s.fixed, s.row, s.col};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) vini_free(context, owned[k]);
  if (status != VIN_OK) return vini_fail_text(text, size, status, "%s", s.local.text);
  return VIN_OK;
}
