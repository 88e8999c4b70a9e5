/* The projector: one analysed saddle point per system, and what is evaluated through it. */
#include "project/project.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

vin_projection_options vin_projection_options_default(void) {
  vin_projection_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.metric = VIN_METRIC_MASS;
  options.position_tolerance = 1e-13;
  options.velocity_tolerance = 1e-13;
  options.max_iterations = 50;
  options.kkt = vin_kkt_options_default();
  options.velocity_metric = VIN_METRIC_SAME;
  return options;
}

static vin_status no_memory(vin_projector *self) {
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY,
                   "no memory for a projector of %d positions and %d constraints", (int)self->n,
                   (int)self->m);
}

static vin_status check_metric(vin_projector *self, vin_metric metric, const double *weights) {
  vini_object *object = &self->object;
  if (metric != VIN_METRIC_MASS && metric != VIN_METRIC_IDENTITY && metric != VIN_METRIC_DIAGONAL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "metric is %d, no vin_metric", (int)metric);
  }
  if (metric != VIN_METRIC_DIAGONAL) return VIN_OK;
  if (weights == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "the weights are missing");
  for (vin_int i = 0; i < self->n; i++) {
    if (weights[i] > 0 && weights[i] < HUGE_VAL) continue;
    return vini_fail(object, VIN_ERR_BAD_INPUT, "weight %d of the metric is %g, must be > 0",
                     (int)i, weights[i]);
  }
  return VIN_OK;
}

static vin_status check_options(vin_projector *self) {
  const vin_projection_options *o = &self->options;
  vini_object *object = &self->object;
  VINI_TRY(check_metric(self, o->metric, o->weights));
  if (o->velocity_metric != VIN_METRIC_SAME) {
    VINI_TRY(check_metric(self, o->velocity_metric, o->velocity_weights));
  }
  if (o->coupling != VIN_COUPLING_SEQUENTIAL && o->coupling != VIN_COUPLING_COUPLED) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "coupling is %d, no vin_coupling",
                     (int)o->coupling);
  }
  if (!(o->position_tolerance >= 0) || !(o->velocity_tolerance >= 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the tolerances are %g and %g, must be >= 0",
                     o->position_tolerance, o->velocity_tolerance);
  }
  if (o->max_iterations < 1) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_iterations is %d, must be >= 1",
                     o->max_iterations);
  }
  return VIN_OK;
}

static void name_constraint(void *user, vin_int row, char *text, size_t size) {
  vin_system_constraint_name(user, row, text, size);
}

/* Where the diagonal entries of H are; those that the mass pattern leaves out come behind it. */
static void find_diagonal(vin_projector *self) {
  const vin_triplets mass = self->mass;
  vin_int *diagonal = self->diagonal;
  for (vin_int i = 0; i < self->n; i++) diagonal[i] = -1;
  for (vin_int k = 0; k < mass.count; k++) {
    if (mass.row[k] == mass.col[k] && diagonal[mass.row[k]] < 0) diagonal[mass.row[k]] = k;
  }
  self->mass_count = mass.count;
  for (vin_int i = 0; i < self->n; i++) {
    if (diagonal[i] < 0) diagonal[i] = self->mass_count++;
  }
}

static vin_status create_kkt(vin_projector *self, vin_triplets h) {
  const vin_context *context = &self->object.context;
  const vin_system_desc *desc = &self->system->desc;
  vin_kkt_options options = self->options.kkt;
  options.coordinate_block = desc->position_block;
  options.constraint_block = desc->constraint_block;
  if (options.constraint_name == NULL) {
    options.constraint_name = name_constraint;
    options.name_user = self->system;
  }
  vin_int *at = vini_alloc(context, (size_t)self->m, sizeof *at);
  if (at == NULL) return no_memory(self);
  for (vin_int i = 0; i < self->m; i++) at[i] = i;
  options.compliance = (vin_triplets){.count = self->m, .row = at, .col = at};
  vin_status status =
      vin_kkt_create(&self->kkt, context, self->n, self->m, h, desc->jacobian_pattern, &options);
  if (status != VIN_OK) vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
  vini_free(context, at);
  return status;
}

/* The mass pattern, completed by the diagonal entries it leaves out (a metric may need them). */
static vin_status build_kkt(vin_projector *self) {
  const vin_context *context = &self->object.context;
  const vin_triplets mass = self->mass;
  if ((int64_t)mass.count + self->n > INT32_MAX) {
    return vini_fail(&self->object, VIN_ERR_TOO_LARGE, "mass pattern too large");
  }
  find_diagonal(self);
  if (self->mass_count == mass.count) return create_kkt(self, mass);
  const size_t count = (size_t)self->mass_count;
  vin_int *row = vini_alloc(context, count, sizeof *row),
          *col = vini_alloc(context, count, sizeof *col);
  vin_status status = row == NULL || col == NULL ? no_memory(self) : VIN_OK;
  if (status == VIN_OK) {
    memcpy(row, mass.row, (size_t)mass.count * sizeof *row);
    memcpy(col, mass.col, (size_t)mass.count * sizeof *col);
    for (vin_int i = 0; i < self->n; i++) row[self->diagonal[i]] = col[self->diagonal[i]] = i;
    status = create_kkt(self, (vin_triplets){self->mass_count, row, col});
  }
  vini_free(context, row);
  vini_free(context, col);
  return status;
}

static vin_status allocate(vin_projector *self) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  bool complete = true;
  self->mass_values = vini_alloc(context, (size_t)self->mass_count, sizeof(double));
  self->jacobian_values = vini_alloc(context, (size_t)self->jacobian.count, sizeof(double));
  self->curvature_work = vini_alloc(context, vini_curvature_work(self->system), sizeof(double));
  const vin_metric metric[2] = {self->options.metric, self->options.velocity_metric};
  self->one_metric =
      metric[1] == VIN_METRIC_SAME || (metric[0] == metric[1] && metric[0] != VIN_METRIC_DIAGONAL);
  for (int level = 0; level < (self->one_metric ? 1 : 2); level++) {
    if (metric[level] == VIN_METRIC_MASS) continue;
    self->metric_values[level] = vini_alloc(context, (size_t)self->mass_count, sizeof(double));
    complete = complete && self->metric_values[level] != NULL;
  }
  if (self->one_metric) self->metric_values[1] = self->metric_values[0];
  for (size_t k = 0; k < sizeof self->vn / sizeof *self->vn; k++) {
    self->vn[k] = vini_alloc(context, n, sizeof(double));
    complete = complete && self->vn[k] != NULL;
  }
  for (size_t k = 0; k < sizeof self->vm / sizeof *self->vm; k++) {
    self->vm[k] = vini_alloc(context, m, sizeof(double));
    complete = complete && self->vm[k] != NULL;
  }
  complete = complete && self->mass_values != NULL && self->jacobian_values != NULL &&
             self->curvature_work != NULL;
  return complete ? VIN_OK : no_memory(self);
}

static vin_status build(vin_projector *self) {
  const vin_system *system = self->system;
  self->n = system->n;
  self->m = system->m;
  self->mass = system->desc.mass_pattern;
  self->jacobian = system->desc.jacobian_pattern;
  self->rows_ascend = true;
  for (vin_int k = 1; k < self->jacobian.count; k++) {
    self->rows_ascend &= self->jacobian.row[k - 1] <= self->jacobian.row[k];
  }
  VINI_TRY(check_options(self));
  self->diagonal = vini_alloc(&self->object.context, (size_t)self->n, sizeof *self->diagonal);
  if (self->diagonal == NULL) return no_memory(self);
  VINI_TRY(build_kkt(self));
  VINI_TRY(allocate(self)); /* not before: the analysis needs much memory for a while */
  const double *weights[2] = {self->options.weights, self->options.velocity_weights};
  const vin_metric metric[2] = {self->options.metric, self->options.velocity_metric};
  for (int level = 0; level < (self->one_metric ? 1 : 2); level++) {
    if (self->metric_values[level] == NULL) continue;
    for (vin_int i = 0; i < self->n; i++) {
      bool weighted = metric[level] == VIN_METRIC_DIAGONAL;
      self->metric_values[level][self->diagonal[i]] = weighted ? weights[level][i] : 1;
    }
  }
  self->options.weights = self->options.velocity_weights = NULL; /* the caller's */
  return self->options.coupling == VIN_COUPLING_COUPLED ? vini_coupled_create(self) : VIN_OK;
}

static void free_content(vin_projector *self) {
  const vin_context *context = &self->object.context;
  vini_coupled_destroy(self->coupled, context);
  vin_kkt_destroy(self->kkt);
  vin_system_destroy(self->system);
  self->kkt = NULL;
  self->system = NULL;
  if (self->one_metric) self->metric_values[1] = NULL;
  void *owned[] = {self->diagonal,         self->mass_values,      self->jacobian_values,
                   self->metric_values[0], self->metric_values[1], self->curvature_work,
                   self->free_jacobian,    self->free_metric};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) vini_free(context, owned[k]);
  for (size_t k = 0; k < sizeof self->vn / sizeof *self->vn; k++) vini_free(context, self->vn[k]);
  for (size_t k = 0; k < sizeof self->vm / sizeof *self->vm; k++) vini_free(context, self->vm[k]);
}

vin_status vin_projector_create(vin_projector **projector, const vin_context *context,
                                vin_system *system, const vin_projection_options *options) {
  VINI_TRY(vini_object_begin((void **)projector, context, sizeof **projector));
  vin_projector *self = *projector;
  self->options = vin_projection_options_default();
  vin_status status;
  if (system == NULL || system->object.created != VIN_OK) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the system is NULL or was not created");
  } else if (options != NULL && !vini_options_copy(&self->options, sizeof self->options, options)) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                       "struct_size is wrong: start from vin_projection_options_default()");
  } else {
    self->system = vin_system_retain(system);
    status = build(self);
  }
  self->object.created = status;
  if (status != VIN_OK) {
    free_content(self);
    memset((char *)self + sizeof self->object, 0, sizeof *self - sizeof self->object);
  }
  return status;
}

void vin_projector_destroy(vin_projector *projector) {
  if (projector == NULL) return;
  free_content(projector);
  vini_object_destroy(&projector->object);
}

const char *vin_projector_error(const vin_projector *projector) {
  return vini_text(projector == NULL ? NULL : &projector->object);
}

vin_solver_stats vin_projector_get_stats(const vin_projector *projector) {
  return vin_kkt_get_stats(projector == NULL ? NULL : projector->kkt);
}

vin_kkt *vin_projector_kkt(vin_projector *projector) {
  return projector == NULL ? NULL : projector->kkt;
}

void vini_projector_add_mass(const vin_projector *self, double alpha, const double *x, double *y) {
  const vin_int *row = self->mass.row, *col = self->mass.col;
  const double *value = self->mass_values;
  vin_int count = self->mass.count;
  if (self->system->desc.flags & VIN_MASS_DIAGONAL) {
    for (vin_int k = 0; k < count; k++) y[row[k]] += alpha * value[k] * x[row[k]];
    return;
  }
  for (vin_int k = 0; k < count; k++) {
    y[row[k]] += alpha * value[k] * x[col[k]];
    if (row[k] != col[k]) y[col[k]] += alpha * value[k] * x[row[k]];
  }
}

/* Rows mostly come in runs (a rod's six entries): each run is summed up before it is stored. */
void vini_projector_add_entries(const vin_projector *self, double alpha, const double *x,
                                vin_int begin, vin_int end, double *y) {
  const vin_int *row = self->jacobian.row, *col = self->jacobian.col;
  const double *value = self->jacobian_values;
  for (vin_int k = begin; k < end;) {
    vin_int r = row[k];
    double sum = 0;
    do {
      sum += value[k] * x[col[k]];
      k++;
    } while (k < end && row[k] == r);
    y[r] += alpha * sum;
  }
}

void vini_projector_add_jacobian(const vin_projector *self, double alpha, const double *x,
                                 double *y) {
  vini_projector_add_entries(self, alpha, x, 0, self->jacobian.count, y);
}

bool vini_projector_rate_within(const vin_projector *self, const double *x, double limit,
                                vin_int *at, vin_int end) {
  const vin_int *row = self->jacobian.row, *col = self->jacobian.col, count = self->jacobian.count;
  const double *value = self->jacobian_values;
  vin_int outside = 0, k = *at;
  while (k < count && row[k] < end) {
    vin_int r = row[k];
    double sum = 0;
    do {
      sum += value[k] * x[col[k]];
      k++;
    } while (k < count && row[k] == r);
    outside += !(fabs(sum) <= limit); /* NaN is outside */
  }
  *at = k;
  return outside == 0;
}

void vini_projector_add_transposed(const vin_projector *self, double alpha, const double *x,
                                   double *y) {
  const vin_int *row = self->jacobian.row, *col = self->jacobian.col;
  const double *value = self->jacobian_values;
  for (vin_int k = 0; k < self->jacobian.count; k++) y[col[k]] += alpha * value[k] * x[row[k]];
}

void vini_projector_floor(const vin_projector *self, const double *p, double *floor) {
  const vin_int *row = self->jacobian.row, *col = self->jacobian.col;
  memset(floor, 0, (size_t)self->m * sizeof *floor);
  for (vin_int k = 0; k < self->jacobian.count; k++) {
    floor[row[k]] += 4 * DBL_EPSILON * fabs(self->jacobian_values[k] * p[col[k]]);
  }
}

vin_status vini_projector_mass(vin_projector *self, double t, const double *p, const double *v) {
  if (self->mass_known) return VIN_OK;
  VINI_TRY(vini_eval_mass(self->system, &self->object, t, p, v, self->mass_values));
  self->mass_known = (self->system->desc.flags & VIN_MASS_CONSTANT) != 0;
  self->mass_in_kkt = false;
  return VIN_OK;
}

vin_status vini_projector_jacobian(vin_projector *self, double t, const double *p) {
  self->jacobian_evaluations++;
  return vini_eval_jacobian(self->system, &self->object, t, p, self->jacobian_values);
}

vin_status vini_projector_solve(vin_projector *self, vin_int count, const double *f,
                                const double *g, double *x, double *lambda) {
  vin_status status = vin_kkt_solve(self->kkt, count, f, g, x, lambda);
  if (status != VIN_OK) return vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
  return VIN_OK;
}

vin_status vini_projector_residuals(vin_projector *self, double t, const double *p, const double *v,
                                    double *phi_max, double *h_max, double *phi, double *h) {
  if (phi == NULL) phi = self->vm[0];
  if (h == NULL) h = self->vm[1];
  self->constraint_evaluations++;
  VINI_TRY(vini_eval_constraint(self->system, &self->object, t, p, phi));
  VINI_TRY(vini_projector_jacobian(self, t, p));
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->object, t, p, h));
  vini_projector_add_jacobian(self, 1, v, h);
  if (phi_max != NULL) *phi_max = vini_max_abs(phi, self->m);
  if (h_max != NULL) *h_max = vini_max_abs(h, self->m);
  return VIN_OK;
}

vin_status vini_projector_energy(vin_projector *self, double t, const double *p, const double *v,
                                 double *kinetic, double *potential) {
  VINI_TRY(vini_projector_mass(self, t, p, v));
  double *mv = self->vn[0], sum = 0;
  memset(mv, 0, (size_t)self->n * sizeof *mv);
  vini_projector_add_mass(self, 1, v, mv);
  for (vin_int i = 0; i < self->n; i++) sum += v[i] * mv[i];
  *kinetic = 0.5 * sum;
  return vini_eval_potential(self->system, &self->object, t, p, potential);
}

/* theory (5): [M J'; J 0] [v'; lambda] = [f; -a] */
vin_status vini_projector_acceleration(vin_projector *self, double t, const double *p,
                                       const double *v, bool factored, double *vdot, double *lambda,
                                       double *residual) {
  double *f = self->vn[0], *a = self->vm[0];
  if (!factored || self->factored != VINI_FACTORED_MASS) {
    VINI_TRY(vini_projector_factor(self, t, p, v));
  }
  self->force_evaluations++;
  VINI_TRY(vini_eval_force(self->system, &self->object, t, p, v, f));
  VINI_TRY(vini_eval_curvature(self->system, &self->object, t, p, v, a, self->curvature_work));
  for (vin_int i = 0; i < self->m; i++) a[i] = -a[i];
  VINI_TRY(vini_projector_solve(self, 1, f, a, vdot, lambda));
  if (residual == NULL) return VIN_OK;
  double scale = vini_max_abs(f, self->n);
  for (vin_int i = 0; i < self->n; i++) f[i] = -f[i];
  vini_projector_add_mass(self, 1, vdot, f);
  vini_projector_add_transposed(self, 1, lambda, f);
  *residual = vini_max_abs(f, self->n) / (scale > 0 ? scale : 1);
  return VIN_OK;
}
