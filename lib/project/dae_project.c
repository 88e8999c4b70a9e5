/* dae_project - the projector of a general DAE: creation, projection, report. */
#include "project/dae_project.h"

#include <math.h>
#include <string.h>

vin_dae_projection_options vin_dae_projection_options_default(void) {
  vin_dae_projection_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.coupling = VIN_COUPLING_SEQUENTIAL;
  options.tolerance = 1e-12;
  options.max_iterations = 100;
  options.time_scale = 1e-3;
  options.kkt = vin_kkt_options_default();
  return options;
}

/* ---- checks ------------------------------------------------------------------------------------- */

static vin_status check_problem(vin_dae_projector *self) {
  const vin_dae *dae = self->dae;
  if (dae->d < 0)
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                     "a projection needs the semi-explicit form x' = f, 0 = g: set differential");
  if (dae->index > 2)
    return vini_fail(&self->object, VIN_ERR_UNSUPPORTED,
                     "index %d is declared, a projection takes 1 and 2: give the constraints of "
                     "velocities in place of positions, which become invariants, or use "
                     "vin_projector for a mechanical system",
                     (int)dae->index);
  if (dae->index < 2) return VIN_OK;
  vin_triplets p = dae->desc.jacobian_pattern;
  for (vin_int e = 0; e < p.count; e++) {
    if (p.row[e] < dae->d || p.col[e] < dae->d) continue;
    char row[96], col[96];
    vin_dae_equation_name(dae, p.row[e], row, sizeof row);
    vin_dae_unknown_name(dae, p.col[e], col, sizeof col);
    return vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                     "%s declares an entry for %s, but a constraint of index 2 is g(t, x): it must "
                     "not have algebraic unknowns",
                     row, col);
  }
  return VIN_OK;
}

static vin_status check_metric(vin_dae_projector *self) {
  const vin_dae_projection_options *o = &self->options;
  vini_object *object = &self->object;
  for (vin_int i = 0; o->weights != NULL && i < self->n; i++) {
    if (o->weights[i] > 0) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "weights[%d] is %g, must be > 0", (int)i,
                     o->weights[i]);
  }
  if (o->metric_pattern.count == 0) return VIN_OK;
  VINI_TRY(vini_triplets_check(object, "metric pattern", self->n, self->n, o->metric_pattern,
                               VIN_STORAGE_SYMMETRIC_LOWER));
  if (o->weights != NULL || o->metric_values == NULL)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "%s",
                     o->weights ? "weights and a metric are given, one of them is too much"
                                : "metric_values is NULL");
  int64_t bad = vini_first_nonfinite(o->metric_values, o->metric_pattern.count);
  if (bad >= 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "metric_values[%lld] is %g", (long long)bad,
                     o->metric_values[bad]);
  for (vin_int e = 0; e < o->metric_pattern.count; e++) {
    if (o->metric_pattern.row[e] == o->metric_pattern.col[e])
      self->scratch[o->metric_pattern.row[e]] += o->metric_values[e];
  }
  for (vin_int i = 0; i < self->n; i++) {
    if (self->scratch[i] > 0) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "the metric's diagonal entry %d is %g, must be > 0 (it must be positive "
                     "definite)",
                     (int)i, self->scratch[i]);
  }
  return VIN_OK;
}

static vin_status check_invariants(vin_dae_projector *self) {
  const vin_dae_projection_options *o = &self->options;
  vini_object *object = &self->object;
  if (o->invariants < 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "invariants is %d, must be >= 0",
                     (int)o->invariants);
  if (o->invariants == 0 && self->m == 0)
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "there is nothing to project onto: no algebraic equations, no invariants");
  if (o->invariants > 0 && (o->invariant == NULL || o->invariant_jacobian == NULL))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the %s callback is missing",
                     o->invariant == NULL ? "invariant" : "invariant_jacobian");
  VINI_TRY(vini_triplets_check(object, "invariant pattern", o->invariants, self->n,
                               o->invariant_pattern, VIN_STORAGE_GENERAL));
  bool coupled = o->coupling == VIN_COUPLING_COUPLED || self->m == 0;
  for (vin_int e = 0; !coupled && e < o->invariant_pattern.count; e++) {
    if (o->invariant_pattern.col[e] < self->d) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "invariant %d has an algebraic unknown, which the sequential projection "
                     "cannot move for it: take VIN_COUPLING_COUPLED",
                     (int)o->invariant_pattern.row[e]);
  }
  return VIN_OK;
}

static vin_status check_numbers(vin_dae_projector *self) {
  const vin_dae_projection_options *o = &self->options;
  vini_object *object = &self->object;
  if (o->coupling != VIN_COUPLING_SEQUENTIAL && o->coupling != VIN_COUPLING_COUPLED)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "coupling is %d, no vin_coupling",
                     (int)o->coupling);
  if (!(o->tolerance >= 0) || !isfinite(o->tolerance))
    return vini_fail(object, VIN_ERR_BAD_INPUT, "tolerance is %g, must be >= 0", o->tolerance);
  if (o->max_iterations < 1)
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_iterations is %d, must be >= 1",
                     o->max_iterations);
  if (o->time_scale > 0 && isfinite(o->time_scale)) return VIN_OK;
  return vini_fail(object, VIN_ERR_BAD_INPUT, "time_scale is %g s, must be > 0 and finite",
                   o->time_scale);
}

/* ---- creation ----------------------------------------------------------------------------------- */

static vin_status no_memory(vin_dae_projector *self) {
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for a projection of %d unknowns",
                   (int)self->n);
}

static vin_status allocate(vin_dae_projector *self) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, entries = (size_t)self->dae->desc.jacobian_pattern.count;
  struct {
    double **vector;
    size_t size;
  } wanted[] = {{&self->y, n},
                {&self->start, n},
                {&self->at, n},
                {&self->result, n},
                {&self->f, n},
                {&self->f_t, n},
                {&self->moved, n},
                {&self->scratch, n},
                {&self->jacobian, entries},
                {&self->jacobian_up, entries},
                {&self->jacobian_down, entries},
                {&self->c, (size_t)self->k},
                {&self->c_values, (size_t)self->options.invariant_pattern.count},
                {&self->residual, 2 * (size_t)self->m + (size_t)self->k}};
  bool complete = true;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    *wanted[i].vector = vini_alloc(context, wanted[i].size, sizeof(double));
    complete = complete && *wanted[i].vector != NULL;
  }
  return complete ? VIN_OK : no_memory(self);
}

/* Every pointer becomes ours, or NULL. */
static vin_status own_patterns(vin_dae_projector *self, vin_triplets invariant,
                               vin_triplets metric) {
  const vin_context *context = &self->object.context;
  vin_triplets *patterns[] = {&self->options.invariant_pattern, &self->options.metric_pattern};
  const vin_triplets given[] = {invariant, metric};
  bool complete = true;
  for (int i = 0; i < 2; i++) {
    size_t count = (size_t)given[i].count;
    patterns[i]->row = vini_copy(context, given[i].row, count, sizeof(vin_int));
    patterns[i]->col = vini_copy(context, given[i].col, count, sizeof(vin_int));
    complete = complete && patterns[i]->row != NULL && patterns[i]->col != NULL;
  }
  return complete ? VIN_OK : no_memory(self);
}

/* Pairs (left, right) of entries of g_x and of the rows of f_y that they multiply. */
static vin_status multiply_pattern(vin_dae_projector *self) {
  vin_triplets p = self->dae->desc.jacobian_pattern;
  const vin_context *context = &self->object.context;
  vin_int *start = vini_alloc(context, (size_t)self->n + 2, sizeof *start);
  vin_int *entry = vini_alloc(context, (size_t)p.count, sizeof *entry);
  int64_t count = 0;
  vin_status status = VIN_OK;
  if (start == NULL || entry == NULL) {
    status = no_memory(self);
  } else {
    for (vin_int e = 0; e < p.count; e++) start[p.row[e] + 2]++;
    for (vin_int i = 2; i <= self->n + 1; i++) start[i] += start[i - 1];
    for (vin_int e = 0; e < p.count; e++) entry[start[p.row[e] + 1]++] = e;
    for (vin_int e = 0; e < p.count; e++)
      if (p.row[e] >= self->d) count += start[p.col[e] + 1] - start[p.col[e]];
    if (count > INT32_MAX)
      status =
          vini_fail(&self->object, VIN_ERR_TOO_LARGE,
                    "g_x f_y has %lld products, more than an index can count", (long long)count);
  }
  if (status == VIN_OK) {
    self->left = vini_alloc(context, (size_t)count, sizeof *self->left);
    self->right = vini_alloc(context, (size_t)count, sizeof *self->right);
    if (self->left == NULL || self->right == NULL) status = no_memory(self);
  }
  for (vin_int e = 0; status == VIN_OK && e < p.count; e++) {
    if (p.row[e] < self->d) continue;
    for (vin_int i = start[p.col[e]]; i < start[p.col[e] + 1]; i++) {
      self->left[self->products] = e;
      self->right[self->products++] = entry[i];
    }
  }
  vini_free(context, start);
  vini_free(context, entry);
  return status;
}

static vin_status build(vin_dae_projector *self, const vin_dae_projection_options *given) {
  VINI_TRY(check_problem(self));
  self->n = self->dae->n, self->d = self->dae->d, self->m = self->n - self->d;
  self->hidden = self->dae->index == 2 && self->m > 0;
  self->options = *given;
  self->k = given->invariants;
  self->options.invariant_pattern.row = self->options.invariant_pattern.col = NULL;
  self->options.metric_pattern.row = self->options.metric_pattern.col = NULL;
  vin_dae_projection_options own = self->options;
  self->options = *given; /* for the checks; the patterns are the caller's until own_patterns() */
  vin_status status = check_numbers(self);
  if (status == VIN_OK) status = check_invariants(self);
  if (status == VIN_OK) status = allocate(self);
  if (status == VIN_OK) status = check_metric(self);
  self->options = own;
  VINI_TRY(status);
  VINI_TRY(own_patterns(self, given->invariant_pattern, given->metric_pattern));
  VINI_TRY(vini_dae_work_create(&self->work, self->dae, &self->object));
  if (self->hidden) VINI_TRY(multiply_pattern(self));
  VINI_TRY(vini_dae_project_stages(self));
  self->options.weights = self->options.metric_values = NULL; /* the caller's */
  return VIN_OK;
}

static void free_content(vin_dae_projector *self) {
  const vin_context *context = &self->object.context;
  vini_dae_project_free_stages(self);
  void *owned[] = {self->left,
                   self->right,
                   self->y,
                   self->start,
                   self->at,
                   self->result,
                   self->f,
                   self->f_t,
                   self->moved,
                   self->scratch,
                   self->jacobian,
                   self->jacobian_up,
                   self->jacobian_down,
                   self->c,
                   self->c_values,
                   self->residual,
                   (void *)self->options.invariant_pattern.row,
                   (void *)self->options.invariant_pattern.col,
                   (void *)self->options.metric_pattern.row,
                   (void *)self->options.metric_pattern.col};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  vini_dae_work_destroy(&self->work);
  vin_dae_destroy(self->dae);
}

vin_status vin_dae_projector_create(vin_dae_projector **projector, const vin_context *context,
                                    vin_dae *dae, const vin_dae_projection_options *options) {
  VINI_TRY(vini_object_begin((void **)projector, context, sizeof **projector));
  vin_dae_projector *self = *projector;
  vin_dae_projection_options own = vin_dae_projection_options_default();
  vin_status status;
  if (dae == NULL || dae->object.created != VIN_OK) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the dae is NULL or was not created");
  } else if (!vini_options_copy(&own, sizeof own, options)) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                       "struct_size of the options is wrong: start from "
                       "vin_dae_projection_options_default()");
  } else {
    self->dae = vin_dae_retain(dae);
    status = build(self, &own);
  }
  self->object.created = status;
  self->last.worst = -1;
  if (status != VIN_OK) {
    free_content(self);
    memset((char *)self + sizeof self->object, 0, sizeof *self - sizeof self->object);
  }
  return status;
}

void vin_dae_projector_destroy(vin_dae_projector *projector) {
  if (projector == NULL) return;
  free_content(projector);
  vini_object_destroy(&projector->object);
}

const char *vin_dae_projector_error(const vin_dae_projector *projector) {
  return vini_text(projector == NULL ? NULL : &projector->object);
}
