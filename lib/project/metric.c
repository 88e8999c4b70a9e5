/* The projector's saddle points [W J'; J -c]: metrics by level, fixed coordinates. */
#include "project/project.h"

#include "kkt/kkt.h"

#include <math.h>
#include <string.h>

/* Factorises the saddle point of the given H (NULL: the one it holds) and of C = damping * I; z: two
 * right-hand sides to be solved on the way, or NULL. */
static vin_status factor(vin_projector *self, const double *h, double damping, vini_factored kind,
                         double *z, vini_right *right) {
  const double *c = NULL;
  bool first = self->factor_stamp == 0;
  self->factor_stamp++;
  self->factored = VINI_FACTORED_NOTHING;
  if (first || self->compliant || damping > 0) {
    for (vin_int i = 0; i < self->m; i++) self->compliance[i] = damping;
    c = self->compliance;
    self->compliant = damping > 0;
  }
  const double *j =
      kind == VINI_FACTORED_MASS ? self->jacobian_values : vini_projector_free_jacobian(self);
  vin_status status = c != NULL   ? vini_kkt_factor_finite(self->kkt, h, j, c)
                      : z == NULL ? vini_kkt_update_finite(self->kkt, h, j, NULL)
                                  : vini_kkt_update_solve(self->kkt, h, j, NULL, 2, z, right);
  if (status != VIN_OK) return vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
  self->factored = kind;
  return VIN_OK;
}

/* [M J'; J -damping] with the present values. */
static vin_status factor_mass(vin_projector *self, double damping, double *z, vini_right *right) {
  const double *h = self->mass_in_kkt ? NULL : self->mass_values;
  self->mass_in_kkt = true;
  const vini_factored kind = damping > 0 ? VINI_FACTORED_METRIC : VINI_FACTORED_MASS;
  return factor(self, h, damping, kind, z, right);
}

/* H of a level without its couplings to fixed coordinates. */
static const double *masked_metric(vin_projector *self, const double *h) {
  vin_triplets mass = self->mass;
  for (vin_int k = 0; k < self->mass_count; k++) self->free_metric[k] = h[k];
  for (vin_int k = 0; k < mass.count; k++) {
    if (self->fixed[mass.row[k]] || self->fixed[mass.col[k]]) self->free_metric[k] = 0;
  }
  for (vin_int i = 0; i < self->n; i++) {
    if (self->fixed[i]) self->free_metric[self->diagonal[i]] = 1;
  }
  return self->free_metric;
}

vin_status vini_projector_factor_metric(vin_projector *self, vini_level level, double damping) {
  const double *values = self->metric_values[level];
  if (values == NULL && self->fixed == NULL) return factor_mass(self, damping, NULL, NULL);
  bool own = level == VINI_LEVEL_VELOCITY && !self->one_metric;
  self->mass_in_kkt = false;
  if (values == NULL) values = self->mass_values;
  if (self->fixed != NULL) {
    vin_status status =
        factor(self, masked_metric(self, values), damping, VINI_FACTORED_METRIC, NULL, NULL);
    self->factored = VINI_FACTORED_NOTHING; /* of no use to others */
    return status;
  }
  return factor(self, values, damping, own ? VINI_FACTORED_VELOCITY : VINI_FACTORED_METRIC, NULL,
                NULL);
}

void vini_projector_weigh(const vin_projector *self, vini_level level, const double *x, double *y) {
  const double *values = self->metric_values[level];
  memset(y, 0, (size_t)self->n * sizeof *y);
  if (values == NULL) {
    vini_projector_add_mass(self, 1, x, y);
  } else {
    for (vin_int i = 0; i < self->n; i++) y[i] = values[self->diagonal[i]] * x[i];
  }
  for (vin_int i = 0; self->fixed != NULL && i < self->n; i++) {
    if (self->fixed[i]) y[i] = 0;
  }
}

void vini_projector_unfix(vin_projector *self) {
  self->fixed = NULL;
  self->factored = VINI_FACTORED_NOTHING;
}

vin_status vini_projector_fix(vin_projector *self, const unsigned char *fixed) {
  const vin_context *context = &self->object.context;
  vini_projector_unfix(self);
  if (self->free_jacobian == NULL) {
    self->free_jacobian = vini_alloc(context, (size_t)self->jacobian.count, sizeof(double));
  }
  if (self->free_metric == NULL) {
    self->free_metric = vini_alloc(context, (size_t)self->mass_count, sizeof(double));
  }
  if (self->free_jacobian == NULL || self->free_metric == NULL) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory to fix %d coordinates",
                     (int)self->n);
  }
  self->fixed = fixed;
  return VIN_OK;
}

const double *vini_projector_free_jacobian(const vin_projector *self) {
  if (self->fixed == NULL) return self->jacobian_values;
  for (vin_int k = 0; k < self->jacobian.count; k++) {
    self->free_jacobian[k] = self->fixed[self->jacobian.col[k]] ? 0 : self->jacobian_values[k];
  }
  return self->free_jacobian;
}

vin_int vini_projector_without_freedom(const vin_projector *self, const double *residual,
                                       const double *limit, double tolerance) {
  const double *value = vini_projector_free_jacobian(self);
  double *entry = self->vm[6];
  memset(entry, 0, (size_t)self->m * sizeof *entry);
  for (vin_int k = 0; k < self->jacobian.count; k++) {
    vin_int c = self->jacobian.row[k];
    entry[c] = vini_max(entry[c], fabs(value[k]));
  }
  for (vin_int c = 0; c < self->m; c++) {
    if (entry[c] == 0 && fabs(residual[c]) > vini_max(limit[c], tolerance)) return c;
  }
  return -1;
}

vin_status vini_projector_factor(vin_projector *self, double t, const double *p, const double *v) {
  VINI_TRY(vini_projector_mass(self, t, p, v));
  VINI_TRY(vini_projector_jacobian(self, t, p));
  return factor_mass(self, 0, NULL, NULL);
}

/* What vini_projector_factor_solve() hands to the kkt. */
typedef struct feeding {
  vin_projector *self;
  double t;
  const double *p;
  vin_status (*fill)(void *user, const vini_span *span);
  void *user;
} feeding;

/* The first entry of row `row` or of a later one; rows ascend. */
static vin_int entry_of(const vin_triplets *j, vin_int row) {
  vin_int low = 0, high = j->count;
  while (low < high) {
    vin_int middle = low + (high - low) / 2;
    if (j->row[middle] < row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static vin_status load(void *user, vini_span *span) {
  const feeding *feed = user;
  vin_projector *self = feed->self;
  span->entry = entry_of(&self->jacobian, span->row);
  span->entry_end = entry_of(&self->jacobian, span->row_end);
  if (span->row < span->row_end) {
    VINI_TRY(vini_eval_jacobian_rows(self->system, &self->object, feed->t, feed->p, span->row,
                                     span->row_end, (vin_int[2]){span->entry, span->entry_end},
                                     self->jacobian_values));
  }
  return feed->fill(feed->user, span);
}

/* Block by block. */
static vin_status factor_fed(vin_projector *self, feeding *own, double *z, vini_right *right) {
  const double *h = self->mass_in_kkt ? NULL : self->mass_values;
  self->mass_in_kkt = true;
  self->factor_stamp++;
  self->factored = VINI_FACTORED_NOTHING;
  self->jacobian_evaluations++;
  vini_feed feed = {.load = load, .user = own, .j = self->jacobian_values};
  vin_status status = vini_kkt_update_solve_fed(self->kkt, h, &feed, 2, z, right);
  if (status == VIN_OK) self->factored = VINI_FACTORED_MASS;
  if (status == VIN_OK || feed.failed) return status; /* a callback's text is in place */
  return vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
}

vin_status vini_projector_factor_solve(vin_projector *self, double t, const double *p,
                                       const double *v,
                                       vin_status (*fill)(void *user, const vini_span *span),
                                       void *user, double *z) {
  const vini_span all = {0, self->n, 0, self->m, 0, self->jacobian.count};
  vini_right right = VINI_RIGHT_INTACT;
  VINI_TRY(vini_projector_mass(self, t, p, v));
  /* C = 0 must be in place for parts to be enough */
  if (self->system->desc.jacobian_rows != NULL && self->rows_ascend && self->factor_stamp > 0 &&
      !self->compliant && vini_kkt_takes_feed(self->kkt)) {
    feeding own = {self, t, p, fill, user};
    VINI_TRY(factor_fed(self, &own, z, &right));
  } else {
    VINI_TRY(vini_projector_jacobian(self, t, p));
    VINI_TRY(fill(user, &all));
    VINI_TRY(factor_mass(self, 0, z, &right));
  }
  if (right == VINI_RIGHT_SOLVED) return VIN_OK;
  if (right == VINI_RIGHT_SPOILED) VINI_TRY(fill(user, &all));
  vin_status status = vini_kkt_solve_plain(self->kkt, 2, z);
  if (status != VIN_OK) vini_fail(&self->object, status, "%s", vin_kkt_error(self->kkt));
  return status;
}
