#include "integrate/symmetric.h"

#include "integrate/augmented.h"
#include "kkt/kkt.h"

#include <math.h>
#include <string.h>

/* Largest entry left out, relative to the diagonal entries or to the row of Phi_p that it belongs to. Newton's
 * method then contracts by about that much an iteration. */
#define LEAST_SYMMETRIC 0.05

static vin_status no_memory(vini_object *object, const vini_tangent *tangent) {
  return vini_fail(object, VIN_ERR_NO_MEMORY,
                   "no memory for the symmetric Newton matrix of %d positions", (int)tangent->n);
}

/* Entry of f at (row, col), whose rows ascend in each column; -1: none. */
static vin_int find(const vin_sparse *f, vin_int row, vin_int col) {
  vin_int low = f->start[col], high = f->start[col + 1];
  while (low < high) {
    vin_int middle = low + (high - low) / 2;
    if (f->row[middle] < row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < f->start[col + 1] && f->row[low] == row ? low : -1;
}

static void find_twins(vini_symmetric *self) {
  const vin_sparse *f = self->tangent->f;
  for (vin_int j = 0; j < self->tangent->n; j++) {
    for (vin_int k = f->start[j]; k < f->start[j + 1]; k++) self->twin[k] = find(f, j, f->row[k]);
  }
}

static vin_status analyse(vini_symmetric *self, vini_object *object, vin_kkt_options options) {
  const vini_tangent *t = self->tangent;
  const vin_context *context = &object->context;
  const vin_system_desc *desc = &t->system->desc;
  vin_triplets mass = desc->mass_pattern;
  vin_int entries = self->tangents ? t->f->start[t->n] : 0;
  size_t count = (size_t)mass.count + (size_t)entries;
  vin_int *row = vini_alloc(context, count, sizeof *row),
          *col = vini_alloc(context, count, sizeof *col);
  vin_status status = VIN_OK;
  if (row == NULL || col == NULL) {
    status = no_memory(object, t);
  } else {
    memcpy(row, mass.row, (size_t)mass.count * sizeof *row);
    memcpy(col, mass.col, (size_t)mass.count * sizeof *col);
    vin_int next = mass.count;
    for (vin_int j = 0; j < t->n && entries > 0; j++) {
      for (vin_int k = t->f->start[j]; k < t->f->start[j + 1]; k++, next++) {
        vin_int i = t->f->row[k];
        row[next] = i > j ? i : j;
        col[next] = i > j ? j : i;
      }
    }
    if (options.solver == VIN_SOLVER_AUTO) options.solver = VIN_SOLVER_LDLT;
    options.redundancy = VIN_REDUNDANCY_DROP;
    options.coordinate_block = desc->position_block;
    options.constraint_block = desc->constraint_block;
    vin_triplets h = {.count = next, .row = row, .col = col};
    status = vin_kkt_create(&self->kkt, context, t->n, t->m, h, desc->jacobian_pattern, &options);
    if (status != VIN_OK) {
      vini_fail(object, status, "Newton matrix: %s", vin_kkt_error(self->kkt));
    }
  }
  vini_free(context, row);
  vini_free(context, col);
  return status;
}

vin_status vini_symmetric_create(vini_symmetric *self, vini_object *object,
                                 const vini_tangent *tangent, const vin_kkt_options *options,
                                 const vini_block *shape, const unsigned char *dropped) {
  const vin_context *context = &object->context;
  const vin_system_desc *desc = &tangent->system->desc;
  size_t entries = (size_t)tangent->f->start[tangent->n];
  *self = (vini_symmetric){.tangent = tangent, .dropped = dropped};
  self->tangents = shape->f_p != 0 || shape->f_v != 0;
  if ((int64_t)entries + desc->mass_pattern.count > INT32_MAX) {
    return vini_fail(object, VIN_ERR_TOO_LARGE, "the Newton matrix takes too many entries");
  }
  self->twin = vini_alloc(context, entries, sizeof *self->twin);
  self->h = vini_alloc(context, entries + (size_t)desc->mass_pattern.count, sizeof(double));
  self->j = vini_alloc(context, (size_t)desc->jacobian_pattern.count, sizeof(double));
  self->diagonal = vini_alloc(context, (size_t)tangent->n, sizeof(double));
  self->row = vini_alloc(context, (size_t)tangent->m, sizeof(double));
  if (self->twin == NULL || self->h == NULL || self->j == NULL || self->diagonal == NULL ||
      self->row == NULL) {
    return no_memory(object, tangent);
  }
  find_twins(self);
  return analyse(self, object, *options);
}

void vini_symmetric_destroy(vini_symmetric *self, const vin_context *context) {
  vin_kkt_destroy(self->kkt);
  vini_free(context, self->twin);
  vini_free(context, self->h);
  vini_free(context, self->j);
  vini_free(context, self->diagonal);
  vini_free(context, self->row);
  *self = (vini_symmetric){0};
}

static double entry(const vini_tangent *t, const vini_block *block, vin_int k) {
  return block->f_p * t->f_p[k] + block->f_v * t->f_v[k];
}

/* |A_ij - A_ji| / 2 against the diagonal */
static bool force_fits(vini_symmetric *self, const vini_block *block, const double *mass) {
  const vini_tangent *t = self->tangent;
  vin_triplets pattern = t->system->desc.mass_pattern;
  double *d = self->diagonal;
  memset(d, 0, (size_t)t->n * sizeof *d);
  for (vin_int k = 0; k < pattern.count; k++) {
    if (pattern.row[k] == pattern.col[k]) d[pattern.row[k]] += block->mass * mass[k];
  }
  for (vin_int j = 0; j < t->n; j++) {
    for (vin_int k = t->f->start[j]; k < t->f->start[j + 1]; k++) {
      if (t->f->row[k] == j) d[j] += entry(t, block, k);
    }
  }
  for (vin_int j = 0; j < t->n; j++) {
    for (vin_int k = t->f->start[j]; k < t->f->start[j + 1]; k++) {
      vin_int i = t->f->row[k], twin = self->twin[k];
      double skew = entry(t, block, k) - (twin < 0 ? 0 : entry(t, block, twin));
      double limit = 2 * LEAST_SYMMETRIC * vini_min(fabs(d[i]), fabs(d[j]));
      if (!(fabs(skew) <= limit) && skew != 0) return false;
    }
  }
  return true;
}

static bool rows_fit(vini_symmetric *self, const vini_block *block, const double *jacobian) {
  const vini_tangent *t = self->tangent;
  vin_triplets pattern = t->system->desc.jacobian_pattern;
  double *largest = self->row;
  memset(largest, 0, (size_t)t->m * sizeof *largest);
  for (vin_int k = 0; k < pattern.count; k++) {
    vin_int i = pattern.row[k];
    largest[i] = vini_max(largest[i], fabs(block->rows * jacobian[k]));
  }
  for (vin_int k = 0; k < t->g->start[t->n]; k++) {
    double out = fabs(block->g_p * t->g_p[k] + block->g_v * t->g_v[k]);
    if (!(out <= LEAST_SYMMETRIC * largest[t->g->row[k]])) return false;
  }
  return true;
}

bool vini_symmetric_fits(vini_symmetric *self, const vini_block *block, const double *mass,
                         const double *jacobian) {
  if (self->tangents && !force_fits(self, block, mass)) return false;
  return (block->g_p == 0 && block->g_v == 0) || rows_fit(self, block, jacobian);
}

static void fill(vini_symmetric *self, const vini_block *block, const double *mass,
                 const double *jacobian) {
  const vini_tangent *t = self->tangent;
  vin_triplets pattern = t->system->desc.mass_pattern, rows = t->system->desc.jacobian_pattern;
  double *next = self->h;
  for (vin_int k = 0; k < pattern.count; k++) *next++ = block->mass * mass[k];
  for (vin_int j = 0; j < t->n && self->tangents; j++) {
    for (vin_int k = t->f->start[j]; k < t->f->start[j + 1]; k++) {
      *next++ = (t->f->row[k] == j ? 1 : 0.5) * entry(t, block, k);
    }
  }
  for (vin_int k = 0; k < rows.count; k++) {
    self->j[k] = self->dropped[rows.row[k]] ? 0 : jacobian[k];
  }
}

vin_status vini_symmetric_factor(vini_symmetric *self, vini_object *object, const vini_block *block,
                                 const double *mass, const double *jacobian) {
  fill(self, block, mass, jacobian);
  self->rows = block->rows;
  vin_status status = vin_kkt_factor(self->kkt, self->h, self->j, NULL);
  if (status != VIN_OK) {
    if (status == VIN_ERR_BAD_INPUT) status = VIN_STEP_FAILED; /* overflow is the attempt's */
    return vini_fail(object, status, "Newton matrix: %s", vin_kkt_error(self->kkt));
  }
  const vin_int *rows = NULL;
  vin_int count = vin_kkt_dropped(self->kkt, &rows);
  for (vin_int k = 0; k < count; k++) {
    if (self->dropped[rows[k]]) continue;
    return vini_fail(object, VIN_SINGULAR, "Newton matrix: a constraint row depends on others");
  }
  return VIN_OK;
}

vin_status vini_symmetric_solve(vini_symmetric *self, vini_object *object, double *x) {
  vin_int m = self->tangent->m;
  double *g = x + self->tangent->n;
  memcpy(self->row, g, (size_t)m * sizeof *g);
  for (vin_int i = 0; i < m; i++) g[i] = self->dropped[i] ? 0 : g[i] / self->rows;
  vin_status status = vini_kkt_solve_plain(self->kkt, 1, x);
  if (status != VIN_OK) {
    if (status < 0 && status != VIN_ERR_NO_MEMORY) status = VIN_STEP_FAILED;
    return vini_fail(object, status, "Newton matrix: %s", vin_kkt_error(self->kkt));
  }
  for (vin_int i = 0; i < m; i++) {
    if (self->dropped[i]) g[i] = self->row[i]; /* lambda = 0 */
  }
  return VIN_OK;
}

void vini_symmetric_count(vini_symmetric *self, vin_solver_stats *stats) {
  vin_solver_stats now = vin_kkt_get_stats(self->kkt);
  stats->symbolic += now.symbolic - self->seen.symbolic;
  stats->numeric += now.numeric - self->seen.numeric;
  stats->solves += now.solves - self->seen.solves;
  stats->fallbacks += now.fallbacks - self->seen.fallbacks;
  self->seen = now;
}
