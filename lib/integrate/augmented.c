#include "integrate/augmented.h"

#include <string.h>

/* Newton's method forgives an inexact solution, not a meaningless one. */
#define RESIDUAL_TOLERANCE 1e-8
/* Right-hand sides below it have no digits left to solve for: a motion that has died out. */
#define LEAST_RESIDUAL 1e-250

/* Factorisations by UMFPACK after an LDL' that Newton's method made nothing of. */
#define GENERAL 16

/* Writes the triplets (row != NULL) or the values of a block, in one fixed order. */
typedef struct filler {
  const vini_augmented *matrix;
  const double *mass, *jacobian;
  vin_int *row, *col;
  double *value;
  int64_t count;
  vin_int row_at, col_at; /* place of the block */
} filler;

static void put(filler *w, vin_int row, vin_int col, double value) {
  if (w->row != NULL) {
    w->row[w->count] = w->row_at + row;
    w->col[w->count] = w->col_at + col;
  }
  if (w->value != NULL) w->value[w->count] = value;
  w->count++;
}

static void put_mass(filler *w, double factor) {
  vin_triplets mass = w->matrix->tangent->system->desc.mass_pattern;
  for (vin_int k = 0; k < mass.count; k++) {
    double value = w->value == NULL ? 0 : factor * w->mass[k];
    put(w, mass.row[k], mass.col[k], value);
    if (mass.row[k] != mass.col[k]) put(w, mass.col[k], mass.row[k], value);
  }
}

/* Phi_p and Phi_p', and the places of the ones that stand for dropped rows. */
static void put_constraints(filler *w, const vini_block *block, bool diagonal) {
  const vini_tangent *t = w->matrix->tangent;
  vin_triplets j = t->system->desc.jacobian_pattern;
  const unsigned char *dropped = w->matrix->dropped;
  for (vin_int k = 0; k < j.count; k++) {
    double value = w->value == NULL || dropped[j.row[k]] ? 0 : w->jacobian[k];
    put(w, t->n + j.row[k], j.col[k], block->rows * value);
    put(w, j.col[k], t->n + j.row[k], block->jacobian * value);
  }
  for (vin_int i = 0; i < t->m && diagonal; i++) {
    put(w, t->n + i, t->n + i, dropped[i] ? 1 : 0);
  }
}

static void put_force_tangents(filler *w, const vini_block *block) {
  const vini_tangent *t = w->matrix->tangent;
  for (vin_int j = 0; j < t->n; j++) {
    for (vin_int k = t->f->start[j]; k < t->f->start[j + 1]; k++) {
      put(w, t->f->row[k], j, block->f_p * t->f_p[k] + block->f_v * t->f_v[k]);
    }
  }
}

static void put_constraint_tangents(filler *w, const vini_block *block) {
  const vini_tangent *t = w->matrix->tangent;
  const unsigned char *dropped = w->matrix->dropped;
  for (vin_int j = 0; j < t->n; j++) {
    for (vin_int k = t->g->start[j]; k < t->g->start[j + 1]; k++) {
      vin_int i = t->g->row[k];
      double value = dropped[i] ? 0 : block->g_p * t->g_p[k] + block->g_v * t->g_v[k];
      put(w, t->n + i, j, value);
    }
  }
}

/* All blocks; `shape` says which parts are there, `block` what they are multiplied by. */
static void fill(filler *w, const vini_block *block) {
  const vini_augmented *matrix = w->matrix;
  vin_int size = matrix->tangent->n + matrix->tangent->m;
  for (int k = 0; k < matrix->stages * matrix->stages; k++) {
    const vini_block *shape = &matrix->shape[k];
    w->row_at = (vin_int)(k / matrix->stages) * size;
    w->col_at = (vin_int)(k % matrix->stages) * size;
    if (shape->mass != 0) put_mass(w, block[k].mass);
    if (shape->jacobian != 0) put_constraints(w, &block[k], w->row_at == w->col_at);
    if (shape->f_p != 0 || shape->f_v != 0) put_force_tangents(w, &block[k]);
    if (shape->g_p != 0 || shape->g_v != 0) put_constraint_tangents(w, &block[k]);
  }
}

static vin_status no_memory(vini_augmented *self) {
  return vini_fail(self->object, VIN_ERR_NO_MEMORY,
                   "no memory for the Newton matrix of %d positions and %d constraints",
                   (int)self->tangent->n, (int)self->tangent->m);
}

static vin_status analyse(vini_augmented *self, filler *w) {
  int64_t size = (int64_t)self->stages * (self->tangent->n + (int64_t)self->tangent->m);
  vin_linsys_options options = vin_linsys_options_default();
  options.storage = VIN_STORAGE_GENERAL;
  options.residual_tolerance = RESIDUAL_TOLERANCE;
  options.max_refinements = 1;
  vin_triplets pattern = {.count = (vin_int)w->count, .row = w->row, .col = w->col};
  vin_status status =
      vin_linsys_create(&self->linsys, &self->object->context, (vin_int)size, pattern, &options);
  if (status != VIN_OK) {
    vini_fail(self->object, status, "Newton matrix: %s", vin_linsys_error(self->linsys));
    vin_linsys_destroy(self->linsys);
    self->linsys = NULL;
    return status;
  }
  self->seen = vin_linsys_get_info(self->linsys);
  self->stats->solver.symbolic += self->seen.symbolic_count;
  return VIN_OK;
}

/* The general matrix, for UMFPACK. */
static vin_status create_general(vini_augmented *self) {
  const vin_context *context = &self->object->context;
  const vini_tangent *tangent = self->tangent;
  filler w = {.matrix = self};
  fill(&w, self->shape);
  int64_t size = (int64_t)self->stages * (tangent->n + (int64_t)tangent->m);
  if (w.count > INT32_MAX || size > INT32_MAX) {
    return vini_fail(self->object, VIN_ERR_TOO_LARGE,
                     "the Newton matrix takes %lld entries, more than the index type counts",
                     (long long)w.count);
  }
  size_t count = (size_t)w.count;
  if (self->values == NULL) self->values = vini_alloc(context, count, sizeof(double));
  w = (filler){.matrix = self,
               .row = vini_alloc(context, count, sizeof(vin_int)),
               .col = vini_alloc(context, count, sizeof(vin_int))};
  vin_status status = VIN_ERR_NO_MEMORY;
  if (self->values == NULL || w.row == NULL || w.col == NULL) {
    no_memory(self);
  } else {
    fill(&w, self->shape);
    status = analyse(self, &w);
  }
  vini_free(context, w.row);
  vini_free(context, w.col);
  return status;
}

vin_status vini_augmented_create(vini_augmented *self, vini_object *object,
                                 const vini_tangent *tangent, vin_stats *stats,
                                 const vin_kkt_options *options, int stages,
                                 const vini_block *shape, const unsigned char *dropped) {
  *self = (vini_augmented){.object = object, .tangent = tangent, .stats = stats};
  self->stages = stages;
  self->dropped = dropped;
  memcpy(self->shape, shape, (size_t)(stages * stages) * sizeof *shape);
  if (stages > 1 || options->solver == VIN_SOLVER_UMFPACK) return create_general(self);
  VINI_TRY(vini_symmetric_create(&self->symmetric, object, tangent, options, shape, dropped));
  vini_symmetric_count(&self->symmetric, &stats->solver);
  return VIN_OK;
}

void vini_augmented_destroy(vini_augmented *self, const vin_context *context) {
  vin_linsys_destroy(self->linsys);
  vini_symmetric_destroy(&self->symmetric, context);
  vini_free(context, self->values);
  *self = (vini_augmented){0};
}

/* What the solver did since the last call goes to the integrator's counters. */
static void count(vini_augmented *self) {
  vin_linsys_info now = vin_linsys_get_info(self->linsys);
  vin_solver_stats *stats = &self->stats->solver;
  stats->symbolic += now.symbolic_count - self->seen.symbolic_count;
  stats->numeric += now.numeric_count - self->seen.numeric_count;
  stats->solves += now.solve_count - self->seen.solve_count;
  stats->refinements += now.refinement_count - self->seen.refinement_count;
  self->seen = now;
}

/* Overflow is this attempt's failure, not the caller's bad input. */
static vin_status failure(vini_augmented *self, vin_status status) {
  if (status == VIN_ERR_BAD_INPUT || status == VIN_ERR_BAD_STATE) status = VIN_STEP_FAILED;
  return vini_fail(self->object, status, "Newton matrix: %s", vin_linsys_error(self->linsys));
}

static vin_status factor_general(vini_augmented *self, const vini_block *blocks, const double *mass,
                                 const double *jacobian) {
  if (self->linsys == NULL) VINI_TRY(create_general(self));
  filler w = {.matrix = self, .mass = mass, .jacobian = jacobian, .value = self->values};
  fill(&w, blocks);
  vin_status status = vin_linsys_factor(self->linsys, self->values);
  count(self);
  if (status != VIN_OK) return failure(self, status);
  self->is_symmetric = false;
  self->factored = true;
  return VIN_OK;
}

/* There is another way than LDL'. */
static bool has_general(void) {
  return vin_solver_available(VIN_SOLVER_UMFPACK) != 0;
}

vin_status vini_augmented_factor(vini_augmented *self, const vini_block *blocks, const double *mass,
                                 const double *jacobian) {
  vini_symmetric *symmetric = &self->symmetric;
  self->factored = false;
  bool due = symmetric->kkt != NULL && self->general == 0;
  if (self->general > 0) self->general--;
  if (symmetric->kkt != NULL && !has_general()) {
    due = true;
  } else if (due) {
    due = vini_symmetric_fits(symmetric, blocks, mass, jacobian);
  }
  if (!due) return factor_general(self, blocks, mass, jacobian);
  vin_status status = vini_symmetric_factor(symmetric, self->object, blocks, mass, jacobian);
  vini_symmetric_count(symmetric, &self->stats->solver);
  self->is_symmetric = true;
  self->factored = status == VIN_OK;
  if (status != VIN_SINGULAR || !has_general()) return status;
  self->stats->solver.fallbacks++; /* UMFPACK finds out whether it is singular */
  return factor_general(self, blocks, mass, jacobian);
}

bool vini_augmented_give_up(vini_augmented *self) {
  if (!self->is_symmetric || !has_general()) return false;
  self->general = GENERAL;
  self->factored = self->is_symmetric = false;
  self->stats->solver.fallbacks++;
  return true;
}

vin_status vini_augmented_solve(vini_augmented *self, double *x) {
  int64_t size = (int64_t)self->stages * (self->tangent->n + (int64_t)self->tangent->m);
  if (vini_max_abs(x, size) < LEAST_RESIDUAL) {
    memset(x, 0, (size_t)size * sizeof *x);
    return VIN_OK;
  }
  if (self->is_symmetric) {
    vin_status solved = vini_symmetric_solve(&self->symmetric, self->object, x);
    vini_symmetric_count(&self->symmetric, &self->stats->solver);
    return solved;
  }
  vin_status status = vin_linsys_solve(self->linsys, 1, x, x);
  count(self);
  return status == VIN_OK ? VIN_OK : failure(self, status);
}
