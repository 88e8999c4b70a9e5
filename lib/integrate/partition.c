/* Coordinate partitioning: the independent coordinates are integrated, the dependent ones follow from
 * Phi = 0 and its derivative, theory (29e) and (29f), so that no constraint can drift. */
#include "integrate/partition.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A correction that leaves more than this of the residual asks for a new factorisation of B. */
#define SLOW 0.1
/* Rounding floors are bounds: a residual that no longer shrinks has arrived below this many of them. */
#define FLOOR_FACTOR 16.0
/* A left-out row that is open by more than this fraction of its terms contradicts the others. */
#define CONTRADICTION 1e-8

vini_partition *vini_partition_of(const vin_integrator *self) {
  bool uses = self->method->step == vini_partition_step && self->data != NULL;
  return uses ? ((vini_explicit *)self->data)->partition : NULL;
}

/* ---- dependent coordinates -------------------------------------------------------------------- */

/* x_dependent -= B^-1 r on the kept rows of r (m) */
static vin_status correct(vin_integrator *self, vini_partition *part, const double *r, double *x) {
  for (vin_int c = 0; c < self->m; c++)
    if (part->row_place[c] >= 0) part->right[part->row_place[c]] = r[c];
  vin_status status = vin_linsys_solve(part->b, 1, part->right, part->solution);
  if (status != VIN_OK) {
    part->trouble = true;
    return vini_fail(&self->projector->object, status, "dependent coordinates: %s",
                     vin_linsys_error(part->b));
  }
  for (vin_int k = 0; k < part->rank; k++) x[part->dependent[k]] -= part->solution[k];
  return VIN_OK;
}

static vin_status renew(vin_integrator *self, double t, const double *p) {
  VINI_TRY(vini_projector_jacobian(self->projector, t, p));
  vini_projector_floor(self->projector, p, vini_partition_of(self)->floor);
  return vini_partition_factor(self);
}

/* Largest |Phi_c| of the kept rows in units of max(tolerance, rounding floor). */
static double excess(const vin_integrator *self, const vini_partition *part) {
  double worst = 0;
  for (vin_int c = 0; c < self->m; c++) {
    if (part->row_place[c] < 0 || part->phi[c] == 0) continue;
    double e = fabs(part->phi[c]) / vini_max(self->options.position_tolerance, part->floor[c]);
    if (!(e <= worst)) worst = e;
  }
  return worst;
}

static vin_status no_position(vin_integrator *self, int corrections, double left) {
  vini_partition_of(self)->trouble = true;
  return vini_fail(
      &self->projector->object, VIN_STEP_FAILED,
      "Newton's method for the dependent coordinates does not converge (%d corrections, "
      "%.2g times the tolerance left): take a smaller step",
      corrections, left);
}

static vin_status solve_positions(vin_integrator *self, vini_partition *part, double t, double *p) {
  double last = HUGE_VAL;
  for (int k = 0;; k++) {
    self->stats.constraint_evaluations++;
    VINI_TRY(vini_eval_constraint(self->system, &self->projector->object, t, p, part->phi));
    double e = excess(self, part);
    if (e <= 1) return VIN_OK;
    if (!(e < HUGE_VAL)) return no_position(self, k, e);
    if (e >= 0.5 * last && e <= FLOOR_FACTOR) return VIN_OK;
    if (k >= self->options.max_sweeps) return no_position(self, k, e);
    if (!part->factored || e > SLOW * last) VINI_TRY(renew(self, t, p));
    last = e;
    VINI_TRY(correct(self, part, part->phi, p));
    self->stats.sweeps++;
  }
}

/* The rows that were left out must hold with the others. floor: of Phi_p at p. */
static vin_status check_left_out(vin_integrator *self, const vini_partition *part) {
  for (vin_int c = 0; c < self->m && part->rank < self->m; c++) {
    double limit = vini_max(self->options.position_tolerance,
                            CONTRADICTION / (4 * DBL_EPSILON) * part->floor[c]);
    if (part->row_place[c] >= 0 || fabs(part->phi[c]) <= limit) continue;
    char name[96];
    vin_system_constraint_name(self->system, c, name, sizeof name);
    return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                     "%s was left out as dependent on other rows, and is violated by %.3g", name,
                     part->phi[c]);
  }
  return VIN_OK;
}

vin_status vini_partition_complete(vin_integrator *self, double t, double *p, double *v) {
  vini_partition *part = vini_partition_of(self);
  if (part->rank == 0) return VIN_OK;
  VINI_TRY(solve_positions(self, part, t, p));
  VINI_TRY(renew(self, t, p));
  VINI_TRY(check_left_out(self, part));
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->projector->object, t, p, part->rate));
  vini_projector_add_jacobian(self->projector, 1, v, part->rate);
  return correct(self, part, part->rate, v); /* theory (29f) */
}

/* ---- the step ---------------------------------------------------------------------------------- */

/* A choice that is fit for a step from here; *fresh: it was made just now. */
static vin_status prepare(vin_integrator *self, const vin_state *from, bool continues,
                          bool *fresh) {
  vini_partition *part = vini_partition_of(self);
  bool same = part->known && !part->trouble; /* place and choice that were measured */
  if (same && !continues) {
    same = renew(self, from->t, from->p) == VIN_OK && vini_partition_measure(self) == VIN_OK;
  }
  *fresh = !(same && vini_partition_fit(part));
  if (!*fresh) return VIN_OK;
  VINI_TRY(vini_partition_choose(self, from->t, from->p, from->v));
  vini_projector_floor(self->projector, from->p, part->floor);
  return VIN_OK;
}

/* Measured where Phi_p is that of the step's end; the projector may serve others until the next step. */
static vin_status conclude(vin_integrator *self, const vin_state *from, double h) {
  return vini_step_failure(self, vini_partition_measure(self), from->t, h);
}

vin_status vini_partition_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                               bool continues) {
  vini_partition *part = vini_partition_of(self);
  bool fresh = false;
  vin_status status = prepare(self, from, continues, &fresh);
  if (status != VIN_OK) return vini_step_failure(self, status, from->t, h);
  status = vini_explicit_step(self, from, h, to, continues);
  if (status == VIN_OK) return conclude(self, from, h);
  if (status != VIN_STEP_FAILED || !part->trouble || fresh) return status;
  /* the coordinates may be to blame, not the step */
  status = prepare(self, from, false, &fresh);
  if (status != VIN_OK) return vini_step_failure(self, status, from->t, h);
  status = vini_explicit_step(self, from, h, to, false);
  return status == VIN_OK ? conclude(self, from, h) : status;
}

vin_int vin_integrator_independent(const vin_integrator *self, const vin_int **positions) {
  if (positions != NULL) *positions = NULL;
  if (self == NULL || self->object.created != VIN_OK) return 0;
  const vini_partition *part = vini_partition_of(self);
  if (part == NULL || !part->known) return 0;
  if (positions != NULL) *positions = part->independent;
  return part->count;
}

/* ---- creation ---------------------------------------------------------------------------------- */

static bool allocate(vin_integrator *self, vini_partition *part) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, m = (size_t)self->m,
         entries = (size_t)self->projector->jacobian.count;
  struct {
    void **array;
    size_t count, size;
  } wanted[] = {{(void **)&part->independent, n, sizeof(vin_int)},
                {(void **)&part->dependent, n, sizeof(vin_int)},
                {(void **)&part->is_dependent, n, 1},
                {(void **)&part->row_place, m, sizeof(vin_int)},
                {(void **)&part->col_place, n, sizeof(vin_int)},
                {(void **)&part->entry, entries, sizeof(vin_int)},
                {(void **)&part->b_row, entries, sizeof(vin_int)},
                {(void **)&part->b_col, entries, sizeof(vin_int)},
                {(void **)&part->b_value, entries, sizeof(double)},
                {(void **)&part->scaled, entries, sizeof(double)},
                {(void **)&part->right, m, sizeof(double)},
                {(void **)&part->solution, m, sizeof(double)},
                {(void **)&part->phi, m, sizeof(double)},
                {(void **)&part->rate, m, sizeof(double)},
                {(void **)&part->floor, m, sizeof(double)},
                {(void **)&part->share, m, sizeof(double)},
                {(void **)&part->probe, n, sizeof(double)}};
  bool complete = true;
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
    *wanted[k].array = vini_alloc(context, wanted[k].count, wanted[k].size);
    complete = complete && *wanted[k].array != NULL;
  }
  return complete;
}

vin_status vini_partition_create(vin_integrator *self) {
  if (!vini_rank_available() || !vin_solver_available(VIN_SOLVER_UMFPACK)) {
    return vini_fail(&self->object, VIN_ERR_UNSUPPORTED,
                     "%s chooses coordinates with SuiteSparseQR and solves for the others with "
                     "UMFPACK, and this build lacks %s",
                     self->method->name, vini_rank_available() ? "UMFPACK" : "SuiteSparseQR");
  }
  VINI_TRY(vini_explicit_create(self));
  const vin_context *context = &self->object.context;
  vini_explicit *data = self->data;
  vini_partition *part = data->partition = vini_alloc(context, 1, sizeof *part);
  if (part == NULL || !allocate(self, part)) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for %s on %d positions",
                     self->method->name, (int)self->n);
  }
  vin_status status = vin_sparse_create(&part->jacobian, context, vini_max_int(self->m, 1), self->n,
                                        self->projector->jacobian, VIN_STORAGE_GENERAL);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->object, status, "%s: %s", self->method->name,
                   vin_sparse_error(part->jacobian));
}

void vini_partition_destroy(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  vini_explicit *data = self->data;
  vini_partition *part = data == NULL ? NULL : data->partition;
  if (part != NULL) {
    vin_linsys_destroy(part->b);
    vin_sparse_destroy(part->jacobian);
    void *owned[] = {part->independent, part->dependent, part->is_dependent, part->row_place,
                     part->col_place,   part->entry,     part->b_row,        part->b_col,
                     part->b_value,     part->scaled,    part->right,        part->solution,
                     part->phi,         part->rate,      part->floor,        part->probe,
                     part->share};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) vini_free(context, owned[k]);
    vini_free(context, part);
  }
  vini_explicit_destroy(self);
}
