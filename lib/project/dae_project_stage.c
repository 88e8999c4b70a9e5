/* dae_project - the minimisations that a projection consists of: patterns, metric, callbacks. */
#include "project/dae_project.h"

#include <math.h>
#include <string.h>

/* h from a difference Jacobian of g is not known better than this; where x moves, it scatters so. */
static const double difference_floor = 1e-9;

static int code_of(vin_status status) {
  return status == VIN_OK ? 0 : status > 0 ? 1 : -1;
}

static int constraint(void *user, const double *x, double *c) {
  return code_of(vini_dae_stage_constraint(user, x, c));
}

static int jacobian(void *user, const double *x, double *values) {
  return code_of(vini_dae_stage_jacobian(user, x, values));
}

/* w := W (x - x~), the metric given by entries */
static int gradient(void *user, const double *x, double *w) {
  const vini_dae_stage *stage = user;
  const vin_triplets *p = &stage->owner->options.metric_pattern;
  const double *start = stage->owner->start + stage->first;
  memset(w, 0, (size_t)stage->count * sizeof *w);
  for (vin_int k = 0; k < stage->metric_count; k++) {
    vin_int e = stage->metric_entry[k], i = p->row[e] - stage->first, j = p->col[e] - stage->first;
    w[i] += stage->metric_value[k] * (x[j] - start[j]);
    if (i != j) w[j] += stage->metric_value[k] * (x[i] - start[i]);
  }
  return 0;
}

static int objective(void *user, const double *x, double *value) {
  const vini_dae_stage *stage = user;
  const vin_triplets *p = &stage->owner->options.metric_pattern;
  const double *start = stage->owner->start + stage->first;
  *value = 0;
  for (vin_int k = 0; k < stage->metric_count; k++) {
    vin_int e = stage->metric_entry[k], i = p->row[e] - stage->first, j = p->col[e] - stage->first;
    double term = stage->metric_value[k] * (x[i] - start[i]) * (x[j] - start[j]);
    *value += i == j ? 0.5 * term : term;
  }
  return 0;
}

static int hessian(void *user, const double *x, double *values) {
  const vini_dae_stage *stage = user;
  (void)x;
  memcpy(values, stage->metric_value, (size_t)stage->metric_count * sizeof *values);
  return 0;
}

static void unknown_name(void *user, vin_int index, char *text, size_t size) {
  const vini_dae_stage *stage = user;
  vin_dae_unknown_name(stage->owner->dae, stage->first + index, text, size);
}

static void constraint_name(void *user, vin_int row, char *text, size_t size) {
  const vini_dae_stage *stage = user;
  vin_int m = stage->owner->m;
  if (!(stage->parts & VINI_PART_G)) row += m;
  if (!(stage->parts & VINI_PART_H) && row >= m && (stage->parts & VINI_PART_G)) row += m;
  if (!(stage->parts & (VINI_PART_G | VINI_PART_H))) row += m;
  vini_dae_project_name(stage->owner, row, text, size);
}

/* ---- patterns ----------------------------------------------------------------------------------- */

/* Appends to a list, or counts when there is none yet. */
static void add(vin_int *list, vin_int *count, vin_int value) {
  if (list != NULL) list[*count] = value;
  ++*count;
}

static bool within(const vini_dae_stage *stage, vin_int col) {
  return col >= stage->first && col < stage->first + stage->count;
}

/* The lists of a stage; those that are NULL are only counted. */
static void fill(vini_dae_stage *s) {
  const vin_dae_projector *self = s->owner;
  vin_triplets j = self->dae->desc.jacobian_pattern, c = self->options.invariant_pattern;
  s->g_count = s->product_count = s->change_count = s->c_count = s->metric_count = 0;
  for (vin_int e = 0; e < j.count; e++) {
    if (j.row[e] < self->d || !within(s, j.col[e])) continue;
    if (s->parts & VINI_PART_G) add(s->g_entry, &s->g_count, e);
    if (s->parts & VINI_PART_H) add(s->h_change, &s->change_count, e);
  }
  for (vin_int p = 0; (s->parts & VINI_PART_H) && p < self->products; p++) {
    if (within(s, j.col[self->right[p]])) add(s->h_product, &s->product_count, p);
  }
  for (vin_int e = 0; (s->parts & VINI_PART_C) && e < c.count; e++) {
    if (within(s, c.col[e])) add(s->c_entry, &s->c_count, e);
  }
  vin_triplets w = self->options.metric_pattern;
  for (vin_int e = 0; e < w.count; e++) {
    if (!within(s, w.row[e]) || !within(s, w.col[e])) continue;
    if (s->metric_value != NULL) s->metric_value[s->metric_count] = self->options.metric_values[e];
    add(s->metric_entry, &s->metric_count, e);
  }
}

static bool allocate(vini_dae_stage *s) {
  const vin_context *context = &s->owner->object.context;
  fill(s); /* counts */
  s->g_entry = vini_alloc(context, (size_t)s->g_count, sizeof *s->g_entry);
  s->h_product = vini_alloc(context, (size_t)s->product_count, sizeof *s->h_product);
  s->h_change = vini_alloc(context, (size_t)s->change_count, sizeof *s->h_change);
  s->c_entry = vini_alloc(context, (size_t)s->c_count, sizeof *s->c_entry);
  s->metric_entry = vini_alloc(context, (size_t)s->metric_count, sizeof *s->metric_entry);
  s->metric_value = vini_alloc(context, (size_t)s->metric_count, sizeof *s->metric_value);
  if (!s->g_entry || !s->h_product || !s->h_change || !s->c_entry || !s->metric_entry ||
      !s->metric_value)
    return false;
  fill(s);
  return true;
}

/* Places of the entries of a stage's Jacobian. */
static void places(const vini_dae_stage *s, vin_int *row, vin_int *col) {
  const vin_dae_projector *self = s->owner;
  vin_triplets j = self->dae->desc.jacobian_pattern, c = self->options.invariant_pattern;
  vin_int d = self->d, first = s->first, h = (s->parts & VINI_PART_G) ? self->m : 0;
  vin_int k = h + ((s->parts & VINI_PART_H) ? self->m : 0);
  for (vin_int e = 0; e < s->g_count; e++) {
    *row++ = j.row[s->g_entry[e]] - d;
    *col++ = j.col[s->g_entry[e]] - first;
  }
  for (vin_int e = 0; e < s->product_count; e++) {
    *row++ = h + j.row[self->left[s->h_product[e]]] - d;
    *col++ = j.col[self->right[s->h_product[e]]] - first;
  }
  for (vin_int e = 0; e < s->change_count; e++) {
    *row++ = h + j.row[s->h_change[e]] - d;
    *col++ = j.col[s->h_change[e]] - first;
  }
  for (vin_int e = 0; e < s->c_count; e++) {
    *row++ = k + c.row[s->c_entry[e]];
    *col++ = c.col[s->c_entry[e]] - first;
  }
}

static void metric_places(const vini_dae_stage *s, vin_int *row, vin_int *col) {
  vin_triplets w = s->owner->options.metric_pattern;
  for (vin_int k = 0; k < s->metric_count; k++) {
    row[k] = w.row[s->metric_entry[k]] - s->first;
    col[k] = w.col[s->metric_entry[k]] - s->first;
  }
}

static vin_status create_minimiser(vini_dae_stage *s, vin_int *row, vin_int *col) {
  vin_dae_projector *self = s->owner;
  const vin_dae_projection_options *o = &self->options;
  vin_minimise_desc desc = vin_minimise_desc_default();
  desc.unknowns = s->count;
  desc.constraints = s->rows;
  desc.jacobian_pattern = (vin_triplets){s->entries, row, col};
  desc.constraint = constraint, desc.jacobian = jacobian;
  desc.unknown_name = unknown_name, desc.constraint_name = constraint_name;
  desc.user = s;
  places(s, row, col);
  if (s->metric_count > 0) {
    metric_places(s, row + s->entries, col + s->entries);
    desc.hessian_pattern = (vin_triplets){s->metric_count, row + s->entries, col + s->entries};
    desc.objective = objective, desc.gradient = gradient, desc.hessian = hessian;
  }
  vin_minimise_options options = vin_minimise_options_default();
  options.constraint_tolerance = o->tolerance;
  if (self->dae->desc.jacobian == NULL && (s->parts & VINI_PART_H))
    options.constraint_tolerance = vini_max(o->tolerance, difference_floor);
  options.max_iterations = o->max_iterations;
  options.weights = o->weights != NULL ? o->weights + s->first : NULL;
  options.kkt = o->kkt;
  /* z must follow from its equations: rows that depend on each other are an index above the declared */
  if (s->first > 0) options.kkt.redundancy = VIN_REDUNDANCY_REFUSE;
  vin_status status = vin_minimiser_create(&s->minimiser, &self->object.context, &desc, &options);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->object, status, "projection: %s",
                   s->minimiser ? vin_minimiser_error(s->minimiser) : "no memory");
}

static vin_status build(vin_dae_projector *self, int parts, vin_int first, vin_int count) {
  vini_dae_stage *s = &self->stage[self->stages];
  *s = (vini_dae_stage){.owner = self, .parts = parts, .first = first, .count = count};
  if (parts & VINI_PART_G) s->rows += self->m;
  if (parts & VINI_PART_H) s->rows += self->m;
  if (parts & VINI_PART_C) s->rows += self->k;
  if (s->rows == 0 || count == 0) return VIN_OK;
  self->stages++;
  const vin_context *context = &self->object.context;
  if (!allocate(s))
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for a projection");
  int64_t entries = (int64_t)s->g_count + s->product_count + s->change_count + s->c_count;
  if (entries + s->metric_count > INT32_MAX)
    return vini_fail(&self->object, VIN_ERR_TOO_LARGE,
                     "the constraints' derivatives have %lld entries, more than an index can count",
                     (long long)entries);
  s->entries = (vin_int)entries;
  vin_int *row = vini_alloc(context, (size_t)(entries + s->metric_count), sizeof *row);
  vin_int *col = vini_alloc(context, (size_t)(entries + s->metric_count), sizeof *col);
  vin_status status =
      row && col ? create_minimiser(s, row, col)
                 : vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for a projection");
  vini_free(context, row);
  vini_free(context, col);
  return status;
}

/* theory (Q2) or (Q3) */
vin_status vini_dae_project_stages(vin_dae_projector *self) {
  vin_int n = self->n, d = self->d;
  bool coupled = self->options.coupling == VIN_COUPLING_COUPLED;
  int h = self->hidden ? VINI_PART_H : 0;
  if (coupled || self->m == 0) return build(self, VINI_PART_G | VINI_PART_C | h, 0, n);
  VINI_TRY(build(self, self->hidden ? VINI_PART_G | VINI_PART_C : VINI_PART_C, 0, d));
  return build(self, self->hidden ? VINI_PART_H : VINI_PART_G, d, n - d);
}

void vini_dae_project_free_stages(vin_dae_projector *self) {
  const vin_context *context = &self->object.context;
  for (int k = 0; k < 2; k++) {
    vini_dae_stage *s = &self->stage[k];
    vin_minimiser_destroy(s->minimiser);
    vini_free(context, s->g_entry);
    vini_free(context, s->h_product);
    vini_free(context, s->h_change);
    vini_free(context, s->c_entry);
    vini_free(context, s->metric_entry);
    vini_free(context, s->metric_value);
    *s = (vini_dae_stage){0};
  }
}
