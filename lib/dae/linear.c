/* Linear problems F x' + G x = h(t) by the theta method with Baumgarte rows: theory (D8), (D9).
 *
 * A zero row of F is a constraint c = G x - h = 0, or tau c' + c = 0 when it is stabilised. The
 * theta method multiplies c by one factor in each step, with c' as the difference of c, and that is
 * how the row is written: G x1 = factor c0 + h1. It has no h in it and stays well scaled. */
#include "dae/dae.h"
#include "vincula/linsys.h"

#include <math.h>
#include <string.h>

struct vin_linear_dae {
  vini_object object;
  vin_int n;
  double tau;
  int (*h)(void *user, double t, double *h);
  void *user;
  vin_sparse *f, *g;
  vin_int f_count, g_count;
  double *f_values, *g_values; /* in declared order */
  vin_int *row, *col;          /* of F, then G: the pattern of the matrix */
  unsigned char *algebraic;    /* n: the row of F is zero */
  vin_linsys *linsys;
  double *values;                       /* f_count + g_count */
  double factored_step, factored_theta; /* of the present factorisation; 0: none */
  double *h0, *h1, *fx, *gx, *next;     /* n each */
};

vin_linear_dae_desc vin_linear_dae_desc_default(void) {
  vin_linear_dae_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  desc.linear_residual_tolerance = 1e-12;
  return desc;
}

static vin_status check_matrix(vini_object *object, const char *what, vin_int n,
                               vin_triplets pattern, const double *values) {
  VINI_TRY(vini_triplets_check(object, what, n, n, pattern, VIN_STORAGE_GENERAL));
  if (pattern.count > 0 && values == NULL)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "values of the %s are NULL", what);
  int64_t bad = vini_first_nonfinite(values, pattern.count);
  if (bad < 0) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "value %lld of the %s is %g", (long long)bad, what,
                   values[bad]);
}

static vin_status check_desc(vin_linear_dae *l, const vin_linear_dae_desc *desc) {
  vini_object *object = &l->object;
  if (desc->unknowns < 1)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "unknowns is %d, must be >= 1",
                     (int)desc->unknowns);
  VINI_TRY(check_matrix(object, "F pattern", desc->unknowns, desc->f_pattern, desc->f_values));
  VINI_TRY(check_matrix(object, "G pattern", desc->unknowns, desc->g_pattern, desc->g_values));
  if (desc->f_pattern.count > INT32_MAX - desc->g_pattern.count)
    return vini_fail(object, VIN_ERR_TOO_LARGE, "F and G have too many entries together");
  if (desc->tau >= 0 && isfinite(desc->tau)) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "tau is %g, must be >= 0", desc->tau);
}

static vin_status linear_memory(vin_linear_dae *l, const vin_linear_dae_desc *desc) {
  const vin_context *context = &l->object.context;
  size_t n = (size_t)l->n, f = (size_t)l->f_count, g = (size_t)l->g_count;
  l->f_values = vini_copy(context, desc->f_values, f, sizeof *l->f_values);
  l->g_values = vini_copy(context, desc->g_values, g, sizeof *l->g_values);
  l->row = vini_alloc(context, f + g, sizeof *l->row);
  l->col = vini_alloc(context, f + g, sizeof *l->col);
  l->values = vini_alloc(context, f + g, sizeof *l->values);
  l->algebraic = vini_alloc(context, n, 1);
  bool done = l->f_values && l->g_values && l->row && l->col && l->values && l->algebraic;
  double **vectors[] = {&l->h0, &l->h1, &l->fx, &l->gx, &l->next};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    *vectors[k] = vini_alloc(context, n, sizeof **vectors[k]);
    done = done && *vectors[k] != NULL;
  }
  if (done) return VIN_OK;
  return vini_fail(&l->object, VIN_ERR_NO_MEMORY, "no memory for %d unknowns", (int)l->n);
}

static vin_status build_matrix(vin_linear_dae *l, vin_sparse **matrix, vin_triplets pattern,
                               const double *values) {
  vin_status status =
      vin_sparse_create(matrix, &l->object.context, l->n, l->n, pattern, VIN_STORAGE_GENERAL);
  if (status == VIN_OK) status = vin_sparse_set_values(*matrix, values);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&l->object, status, "%s", *matrix ? vin_sparse_error(*matrix) : "no memory");
}

/* Which rows of F are zero; a stabilisation needs one. */
static vin_status find_constraints(vin_linear_dae *l) {
  vin_csc f = vin_sparse_view(l->f);
  memset(l->algebraic, 1, (size_t)l->n);
  for (vin_int k = 0; k < f.start[f.cols]; k++)
    if (f.value[k] != 0) l->algebraic[f.row[k]] = 0;
  if (l->tau == 0 || memchr(l->algebraic, 1, (size_t)l->n) != NULL) return VIN_OK;
  return vini_fail(&l->object, VIN_ERR_BAD_INPUT,
                   "tau is %g, but F has no zero row: there is no constraint to stabilise", l->tau);
}

static vin_status linear_build(vin_linear_dae *l, const vin_linear_dae_desc *desc) {
  VINI_TRY(check_desc(l, desc));
  l->n = desc->unknowns, l->tau = desc->tau;
  l->h = desc->h, l->user = desc->user;
  vin_triplets f = desc->f_pattern, g = desc->g_pattern;
  l->f_count = f.count, l->g_count = g.count;
  VINI_TRY(linear_memory(l, desc));
  VINI_TRY(build_matrix(l, &l->f, f, desc->f_values));
  VINI_TRY(build_matrix(l, &l->g, g, desc->g_values));
  VINI_TRY(find_constraints(l));
  for (vin_int k = 0; k < f.count; k++) l->row[k] = f.row[k], l->col[k] = f.col[k];
  for (vin_int k = 0; k < g.count; k++)
    l->row[f.count + k] = g.row[k], l->col[f.count + k] = g.col[k];
  vin_linsys_options options = vin_linsys_options_default();
  options.solver = desc->solver;
  options.residual_tolerance = desc->linear_residual_tolerance;
  vin_triplets pattern = {.count = f.count + g.count, .row = l->row, .col = l->col};
  vin_status status = vin_linsys_create(&l->linsys, &l->object.context, l->n, pattern, &options);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&l->object, status, "F + theta h G: %s",
                   l->linsys ? vin_linsys_error(l->linsys) : "no memory");
}

vin_status vin_linear_dae_create(vin_linear_dae **dae, const vin_context *context,
                                 const vin_linear_dae_desc *desc) {
  VINI_TRY(vini_object_begin((void **)dae, context, sizeof **dae));
  vin_linear_dae *l = *dae;
  vin_linear_dae_desc own = vin_linear_dae_desc_default();
  if (desc == NULL || !vini_options_copy(&own, sizeof own, desc)) {
    l->object.created = vini_fail(&l->object, VIN_ERR_BAD_INPUT,
                                  "the description is NULL or its struct_size is wrong: start from "
                                  "vin_linear_dae_desc_default()");
  } else {
    l->object.created = linear_build(l, &own);
  }
  return l->object.created;
}

void vin_linear_dae_destroy(vin_linear_dae *dae) {
  if (dae == NULL) return;
  vin_linear_dae *l = dae;
  const vin_context *context = &l->object.context;
  vin_sparse_destroy(l->f);
  vin_sparse_destroy(l->g);
  vin_linsys_destroy(l->linsys);
  void *arrays[] = {l->f_values, l->g_values, l->row, l->col, l->values, l->algebraic,
                    l->h0,       l->h1,       l->fx,  l->gx,  l->next};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) vini_free(context, arrays[k]);
  vini_object_destroy(&l->object);
}

const char *vin_linear_dae_error(const vin_linear_dae *dae) {
  return vini_text(dae == NULL ? NULL : &dae->object);
}

vin_linsys_info vin_linear_dae_solver_info(const vin_linear_dae *dae) {
  return vin_linsys_get_info(dae == NULL ? NULL : dae->linsys);
}

static vin_status evaluate_h(vin_linear_dae *l, double t, double *h) {
  if (l->h == NULL) {
    memset(h, 0, (size_t)l->n * sizeof *h);
    return VIN_OK;
  }
  int code = l->h(l->user, t, h);
  if (code != 0)
    return vini_fail(&l->object, code > 0 ? VIN_RETRY : VIN_ERR_CALLBACK,
                     "the h callback failed (%d) at t = %.17g", code, t);
  int64_t bad = vini_first_nonfinite(h, l->n);
  if (bad < 0) return VIN_OK;
  return vini_fail(&l->object, VIN_RETRY, "the h callback gave %g for row %lld at t = %.17g",
                   h[bad], (long long)bad, t);
}

/* The rows F + theta h G, and G where F is zero. */
static vin_status factor(vin_linear_dae *l, double theta, double step) {
  if (l->factored_step == step && l->factored_theta == theta) return VIN_OK;
  for (vin_int k = 0; k < l->f_count; k++)
    l->values[k] = l->algebraic[l->row[k]] ? 0 : l->f_values[k];
  for (vin_int k = 0; k < l->g_count; k++) {
    bool constraint = l->algebraic[l->row[l->f_count + k]];
    l->values[l->f_count + k] = (constraint ? 1 : theta * step) * l->g_values[k];
  }
  l->factored_step = 0;
  vin_status status = vin_linsys_factor(l->linsys, l->values);
  if (status != VIN_OK)
    return vini_fail(&l->object, status, "F + %g h G at h = %g: %s", theta, step,
                     vin_linsys_error(l->linsys));
  l->factored_step = step, l->factored_theta = theta;
  return VIN_OK;
}

/* One step from x with h0 to x with h1. */
static vin_status step_once(vin_linear_dae *l, double theta, double step, double t, double *x) {
  VINI_TRY(evaluate_h(l, t, l->h1));
  vin_sparse_multiply(l->f, 1, x, 0, l->fx);
  vin_sparse_multiply(l->g, 1, x, 0, l->gx);
  double before = (1 - theta) * step, after = theta * step;
  double factor = (l->tau - before) / (l->tau + after);
  for (vin_int i = 0; i < l->n; i++) {
    double c0 = l->gx[i] - l->h0[i];
    l->next[i] =
        l->algebraic[i] ? factor * c0 + l->h1[i] : l->fx[i] - before * c0 + after * l->h1[i];
  }
  if (vini_first_nonfinite(l->next, l->n) >= 0)
    return vini_fail(&l->object, VIN_STEP_FAILED, "the state overflows at t = %.17g", t);
  vin_status status = vin_linsys_solve(l->linsys, 1, l->next, l->next);
  if (status != VIN_OK)
    return vini_fail(&l->object, status, "t = %.17g: %s", t, vin_linsys_error(l->linsys));
  memcpy(x, l->next, (size_t)l->n * sizeof *x);
  double *kept = l->h0;
  l->h0 = l->h1;
  l->h1 = kept;
  return VIN_OK;
}

static vin_status check_run(vin_linear_dae *l, vin_linear_method method, double t0, double h,
                            vin_int steps, const double *x) {
  vini_object *object = &l->object;
  if (method != VIN_LINEAR_IMPLICIT_EULER && method != VIN_LINEAR_CRANK_NICOLSON)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "method %d does not exist", (int)method);
  if (x == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "x is NULL");
  VINI_TRY(vini_dae_grid(object, t0, h, steps, 1));
  int64_t bad = vini_first_nonfinite(x, l->n);
  if (bad < 0) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "x[%lld] is %g", (long long)bad, x[bad]);
}

vin_status vin_linear_dae_run(vin_linear_dae *dae, vin_linear_method method, double t0, double h,
                              vin_int steps, double *x, double *states, vin_int *done) {
  vin_int own;
  if (done == NULL) done = &own;
  *done = 0;
  VINI_TRY(vini_ready(dae == NULL ? NULL : &dae->object));
  vin_linear_dae *l = dae;
  VINI_TRY(check_run(l, method, t0, h, steps, x));
  double theta = method == VIN_LINEAR_IMPLICIT_EULER ? 1 : 0.5;
  size_t n = (size_t)l->n;
  VINI_TRY(factor(l, theta, h));
  VINI_TRY(evaluate_h(l, t0, l->h0));
  if (states != NULL) memcpy(states, x, n * sizeof *x);
  for (vin_int k = 1; k <= steps; k++) {
    VINI_TRY(step_once(l, theta, h, t0 + k * h, x));
    if (states != NULL) memcpy(states + n * (size_t)k, x, n * sizeof *x);
    *done = k;
  }
  return VIN_OK;
}
