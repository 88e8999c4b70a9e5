/* The minimiser's object: problem, copies, checked evaluations, saddle point. */
#include "project/minimise.h"

#include "kkt/kkt.h"
#include "sparse/sparse.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

vin_minimise_desc vin_minimise_desc_default(void) {
  vin_minimise_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_size = sizeof desc;
  return desc;
}

vin_minimise_options vin_minimise_options_default(void) {
  vin_minimise_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.constraint_tolerance = 1e-12;
  options.gradient_tolerance = 1e-10;
  options.max_iterations = 100;
  options.kkt = vin_kkt_options_default();
  return options;
}

static void name_of(const char *kind, void (*callback)(void *, vin_int, char *, size_t), void *user,
                    vin_int index, char *text, size_t size) {
  text[0] = '\0';
  if (callback != NULL) callback(user, index, text, size);
  text[size - 1] = '\0';
  if (text[0] == '\0') snprintf(text, size, "%s %d", kind, (int)index);
}

void vini_minimiser_constraint_name(const vin_minimiser *self, vin_int row, char *text,
                                    size_t size) {
  name_of("constraint", self->desc.constraint_name, self->desc.user, row, text, size);
}

void vini_minimiser_unknown_name(const vin_minimiser *self, vin_int index, char *text,
                                 size_t size) {
  name_of("unknown", self->desc.unknown_name, self->desc.user, index, text, size);
}

static void name_row(void *user, vin_int row, char *text, size_t size) {
  if (size > 0) vini_minimiser_constraint_name(user, row, text, size);
}

/* ---- checks ------------------------------------------------------------------------------- */

static vin_status check_callbacks(vin_minimiser *self, const vin_minimise_desc *d) {
  vini_object *object = &self->object;
  const char *missing = d->constraints > 0 && d->constraint == NULL        ? "constraint"
                        : d->constraints > 0 && d->jacobian == NULL        ? "jacobian"
                        : d->objective != NULL && d->gradient == NULL      ? "gradient"
                        : d->objective != NULL && d->hessian == NULL       ? "hessian"
                        : d->second_pattern.count > 0 && d->second == NULL ? "second"
                                                                           : NULL;
  if (missing != NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the %s callback is missing", missing);
  }
  if (d->objective == NULL && (d->hessian_pattern.count > 0 || d->gradient != NULL)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "gradient or hessian without the objective callback");
  }
  return VIN_OK;
}

static vin_status check_desc(vin_minimiser *self, const vin_minimise_desc *d) {
  vini_object *object = &self->object;
  vin_int n = d->unknowns, m = d->constraints;
  if (n < 1) return vini_fail(object, VIN_ERR_BAD_INPUT, "unknowns is %d, must be >= 1", (int)n);
  if (m < 0) return vini_fail(object, VIN_ERR_BAD_INPUT, "constraints is %d, must be >= 0", (int)m);
  VINI_TRY(check_callbacks(self, d));
  VINI_TRY(vini_triplets_check(object, "jacobian pattern", m, n, d->jacobian_pattern,
                               VIN_STORAGE_GENERAL));
  VINI_TRY(vini_triplets_check(object, "hessian pattern", n, n, d->hessian_pattern,
                               VIN_STORAGE_SYMMETRIC_LOWER));
  VINI_TRY(vini_triplets_check(object, "second pattern", n, n, d->second_pattern,
                               VIN_STORAGE_SYMMETRIC_LOWER));
  int64_t count = (int64_t)d->hessian_pattern.count + d->second_pattern.count + n;
  if (count <= INT32_MAX) return VIN_OK;
  return vini_fail(object, VIN_ERR_TOO_LARGE, "the second derivatives have %lld entries",
                   (long long)count);
}

static vin_status check_options(vin_minimiser *self) {
  const vin_minimise_options *o = &self->options;
  vini_object *object = &self->object;
  if (!(o->constraint_tolerance >= 0) || !(o->gradient_tolerance >= 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the tolerances are %g and %g, must be >= 0",
                     o->constraint_tolerance, o->gradient_tolerance);
  }
  if (o->max_iterations < 1) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_iterations is %d, must be >= 1",
                     o->max_iterations);
  }
  if (o->weights != NULL && self->desc.objective != NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "weights are given together with an objective");
  }
  for (vin_int i = 0; o->weights != NULL && i < self->n; i++) {
    if (o->weights[i] > 0) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "weight %d is %g, must be > 0", (int)i,
                     o->weights[i]);
  }
  return VIN_OK;
}

/* ---- creation ----------------------------------------------------------------------------- */

static bool own_triplets(const vin_context *context, vin_triplets *pattern) {
  pattern->row = vini_copy(context, pattern->row, (size_t)pattern->count, sizeof *pattern->row);
  pattern->col = vini_copy(context, pattern->col, (size_t)pattern->count, sizeof *pattern->col);
  return pattern->row != NULL && pattern->col != NULL;
}

static vin_status no_memory(vin_minimiser *self) {
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY,
                   "no memory for a minimiser of %d unknowns and %d constraints", (int)self->n,
                   (int)self->m);
}

static vin_status allocate(vin_minimiser *self) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, m = (size_t)self->m, j = (size_t)self->desc.jacobian_pattern.count;
  self->h_count = self->desc.hessian_pattern.count + self->desc.second_pattern.count + self->n;
  double **vectors[] = {&self->weight,  &self->start, &self->y,    &self->gradient, &self->d,
                        &self->tangent, &self->trial, &self->rest, &self->scale};
  double **rows[] = {&self->c,     &self->c_trial, &self->lambda,     &self->mu,  &self->nu,
                     &self->floor, &self->right,   &self->compliance, &self->size};
  bool complete = true;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    *vectors[k] = vini_alloc(context, n, sizeof(double));
    complete = complete && *vectors[k] != NULL;
  }
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    *rows[k] = vini_alloc(context, m, sizeof(double));
    complete = complete && *rows[k] != NULL;
  }
  self->fixed = vini_alloc(context, n, 1);
  self->always = vini_alloc(context, n, 1);
  self->a = vini_alloc(context, j, sizeof(double));
  self->a_free = vini_alloc(context, j, sizeof(double));
  self->h = vini_alloc(context, (size_t)self->h_count, sizeof(double));
  self->h_row = vini_alloc(context, (size_t)self->h_count, sizeof(vin_int));
  self->h_col = vini_alloc(context, (size_t)self->h_count, sizeof(vin_int));
  complete = complete && self->fixed != NULL && self->always != NULL && self->a != NULL &&
             self->a_free != NULL && self->h != NULL && self->h_row != NULL && self->h_col != NULL;
  return complete ? VIN_OK : no_memory(self);
}

static void fill_pattern(vin_minimiser *self) {
  const vin_triplets parts[2] = {self->desc.hessian_pattern, self->desc.second_pattern};
  vin_int at = 0;
  for (int part = 0; part < 2; part++) {
    for (vin_int k = 0; k < parts[part].count; k++, at++) {
      self->h_row[at] = parts[part].row[k];
      self->h_col[at] = parts[part].col[k];
    }
  }
  for (vin_int i = 0; i < self->n; i++) self->h_row[at + i] = self->h_col[at + i] = i;
}

static vin_status build_kkt(vin_minimiser *self) {
  const vin_context *context = &self->object.context;
  vin_int *at = vini_alloc(context, (size_t)self->m, sizeof *at);
  if (at == NULL) return no_memory(self);
  for (vin_int i = 0; i < self->m; i++) at[i] = i;
  vin_kkt_options options = self->options.kkt;
  options.compliance = (vin_triplets){.count = self->m, .row = at, .col = at};
  if (options.constraint_name == NULL) {
    options.constraint_name = name_row;
    options.name_user = self;
  }
  vin_triplets h = {.count = self->h_count, .row = self->h_row, .col = self->h_col};
  vin_status status = vin_kkt_create(&self->kkt, context, self->n, self->m, h,
                                     self->desc.jacobian_pattern, &options);
  vini_free(context, at);
  if (status != VIN_OK) return vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
  /* far from the constraints dependent rows do not agree: the end decides, not each step */
  self->kkt->options.contradiction_tolerance = HUGE_VAL;
  return VIN_OK;
}

static void set_fixed(vin_minimiser *self, const unsigned char *fixed) {
  self->free = 0;
  for (vin_int i = 0; i < self->n; i++) {
    self->fixed[i] = self->always[i] || (fixed != NULL && fixed[i]);
    self->free += !self->fixed[i];
  }
}

static vin_status build(vin_minimiser *self, const vin_minimise_desc *desc) {
  const vin_context *context = &self->object.context;
  VINI_TRY(check_desc(self, desc));
  self->n = desc->unknowns;
  self->m = desc->constraints;
  self->desc = *desc;
  /* every pattern is replaced before a failure, so that none is freed that is not ours */
  bool complete = own_triplets(context, &self->desc.jacobian_pattern);
  complete = own_triplets(context, &self->desc.hessian_pattern) && complete;
  complete = own_triplets(context, &self->desc.second_pattern) && complete;
  if (!complete) return no_memory(self);
  VINI_TRY(check_options(self));
  VINI_TRY(allocate(self));
  fill_pattern(self);
  for (vin_int i = 0; i < self->n; i++) {
    double weight = self->options.weights == NULL ? 1 : self->options.weights[i];
    self->always[i] = weight > DBL_MAX;
    self->weight[i] = self->always[i] ? 1 : weight;
  }
  set_fixed(self, self->options.fixed);
  self->options.weights = NULL; /* the caller's */
  self->options.fixed = NULL;
  return build_kkt(self);
}

static void free_content(vin_minimiser *self) {
  const vin_context *context = &self->object.context;
  vin_kkt_destroy(self->kkt);
  vin_triplets *patterns[] = {&self->desc.jacobian_pattern, &self->desc.hessian_pattern,
                              &self->desc.second_pattern};
  for (size_t k = 0; self->n > 0 && k < sizeof patterns / sizeof *patterns; k++) {
    vini_free(context, (void *)patterns[k]->row);
    vini_free(context, (void *)patterns[k]->col);
  }
  void *owned[] = {self->weight, self->fixed,   self->always,   self->h,          self->h_row,
                   self->h_col,  self->a,       self->a_free,   self->start,      self->y,
                   self->d,      self->tangent, self->gradient, self->trial,      self->rest,
                   self->scale,  self->c,       self->c_trial,  self->lambda,     self->mu,
                   self->nu,     self->floor,   self->right,    self->compliance, self->size};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) vini_free(context, owned[k]);
}

vin_status vin_minimiser_create(vin_minimiser **minimiser, const vin_context *context,
                                const vin_minimise_desc *desc,
                                const vin_minimise_options *options) {
  VINI_TRY(vini_object_begin((void **)minimiser, context, sizeof **minimiser));
  vin_minimiser *self = *minimiser;
  vin_minimise_desc own = vin_minimise_desc_default();
  self->options = vin_minimise_options_default();
  vin_status status;
  if (desc == NULL || !vini_options_copy(&own, sizeof own, desc)) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                       "the description is NULL or its struct_size is wrong: start from "
                       "vin_minimise_desc_default()");
  } else if (!vini_options_copy(&self->options, sizeof self->options, options)) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                       "struct_size is wrong: start from vin_minimise_options_default()");
  } else {
    status = build(self, &own);
  }
  self->object.created = status;
  if (status != VIN_OK) {
    free_content(self);
    memset((char *)self + sizeof self->object, 0, sizeof *self - sizeof self->object);
  }
  return status;
}

void vin_minimiser_destroy(vin_minimiser *minimiser) {
  if (minimiser == NULL) return;
  free_content(minimiser);
  vini_object_destroy(&minimiser->object);
}

const char *vin_minimiser_error(const vin_minimiser *minimiser) {
  return vini_text(minimiser == NULL ? NULL : &minimiser->object);
}

vin_kkt *vin_minimiser_kkt(vin_minimiser *minimiser) {
  return minimiser == NULL ? NULL : minimiser->kkt;
}

vin_status vin_minimiser_fix(vin_minimiser *self, const unsigned char *fixed) {
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  set_fixed(self, fixed);
  return VIN_OK;
}
