/* Which coordinates are independent: a rank-revealing QR of Phi_p with rows of length 1 picks the
 * dependent ones, each as far from the span of the others as can be had. */
#include "integrate/partition.h"

#include <math.h>
#include <string.h>

/* Least distances to try, from what gives a B that is nearly orthogonal down to what is hardly regular. */
static const double distances[] = {0.65, 0.55, 0.5,  0.45, 0.4,  0.35, 0.3,  0.25, 0.2,
                                   0.15, 0.1,  0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6, 1e-8};
enum { DISTANCES = sizeof distances / sizeof *distances };

/* What calls for another choice: dependent coordinates that move by GROWTH_LIMIT times what they moved by
 * when they were chosen (or than the independent ones), in any of PROBES directions; or a row whose part
 * in the dependent columns has shrunk to WEAKEST of what it was. On a falling chain of 100 links the
 * first is what matters: the energy error is 3500 times larger with 4 and one probe, and no smaller with
 * 1.5. */
#define GROWTH_LIMIT 2.0
#define PROBES 4
#define WEAKEST 0.6

static vin_status failed(vin_integrator *self, vin_status status, const char *reason) {
  return vini_fail(&self->projector->object, status, "coordinate partitioning: %s", reason);
}

/* Phi_p with rows of length 1; rows that depend on the others are left out. */
static void scale_rows(vin_integrator *self, vini_partition *part) {
  const vin_projector *projector = self->projector;
  const vin_int *row = projector->jacobian.row;
  vin_int count = projector->jacobian.count;
  const double *value = projector->jacobian_values;
  double *length = part->right;
  memset(length, 0, (size_t)self->m * sizeof *length);
  for (vin_int k = 0; k < count; k++) length[row[k]] = hypot(length[row[k]], value[k]);
  for (vin_int k = 0; k < count; k++) {
    bool kept = part->row_place[row[k]] >= 0 && length[row[k]] > 0;
    part->scaled[k] = kept ? value[k] / length[row[k]] : 0;
  }
  vini_sparse_scatter(part->jacobian, part->scaled);
}

/* The rows that the saddle point's factorisation found to be independent. */
static vin_int keep_rows(vin_integrator *self, vini_partition *part) {
  const vin_int *dropped = NULL;
  vin_int count = vin_kkt_dropped(self->projector->kkt, &dropped), rows = 0;
  memset(part->row_place, 0, (size_t)self->m * sizeof *part->row_place);
  for (vin_int k = 0; k < count; k++) part->row_place[dropped[k]] = -1;
  for (vin_int c = 0; c < self->m; c++)
    if (part->row_place[c] == 0) part->row_place[c] = rows++;
  return rows;
}

static vin_status find_basis(vin_integrator *self, vini_partition *part) {
  vin_csc matrix = vin_sparse_view(part->jacobian);
  vin_int rank = -1;
  for (int k = 0; k < DISTANCES && rank != part->rank; k++)
    VINI_TRY(vini_basis_columns(&self->projector->object, matrix, distances[k], part->is_dependent,
                                &rank));
  if (rank == part->rank) return VIN_OK;
  return failed(self, VIN_SINGULAR, "no set of coordinates determines the others here");
}

/* theory (29g): length of each row's part in B, relative to the whole row; *weakest is the least in units
 * of what it was when the coordinates were chosen. */
static void measure_rows(vin_integrator *self, vini_partition *part) {
  const vin_projector *projector = self->projector;
  const vin_int *row = projector->jacobian.row, *col = projector->jacobian.col;
  double *whole = part->right, *inside = part->solution;
  memset(whole, 0, (size_t)self->m * sizeof *whole);
  memset(inside, 0, (size_t)self->m * sizeof *inside);
  for (vin_int k = 0; k < projector->jacobian.count; k++) {
    double square = projector->jacobian_values[k] * projector->jacobian_values[k];
    whole[row[k]] += square;
    if (part->is_dependent[col[k]]) inside[row[k]] += square;
  }
  part->weakest = 1;
  for (vin_int c = 0; c < self->m; c++) {
    if (part->row_place[c] < 0) continue;
    double share = whole[c] > 0 ? sqrt(inside[c] / whole[c]) : 0;
    if (!part->known) part->share[c] = share;
    if (!(share >= part->weakest * part->share[c])) part->weakest = share / part->share[c];
  }
}

static void list_coordinates(vin_integrator *self, vini_partition *part) {
  vin_int dependent = 0;
  part->count = 0;
  for (vin_int i = 0; i < self->n; i++) {
    part->col_place[i] = part->is_dependent[i] ? dependent : -1;
    if (part->is_dependent[i]) {
      part->dependent[dependent++] = i;
    } else {
      part->independent[part->count++] = i;
    }
  }
}

static void list_entries(vin_integrator *self, vini_partition *part) {
  const vin_triplets *j = &self->projector->jacobian;
  part->entries = 0;
  for (vin_int k = 0; k < j->count; k++) {
    vin_int row = part->row_place[j->row[k]], col = part->col_place[j->col[k]];
    if (row < 0 || col < 0) continue;
    part->entry[part->entries] = k;
    part->b_row[part->entries] = row;
    part->b_col[part->entries++] = col;
  }
}

static void add_stats(vin_solver_stats *sum, const vin_linsys *b) {
  vin_linsys_info info = vin_linsys_get_info(b);
  sum->symbolic += info.symbolic_count;
  sum->numeric += info.numeric_count;
  sum->solves += info.solve_count;
  sum->refinements += info.refinement_count;
}

void vini_partition_add_stats(const vin_integrator *self, vin_stats *stats) {
  const vini_partition *part = vini_partition_of(self);
  if (part == NULL) return;
  stats->solver.symbolic += part->stats.symbolic;
  stats->solver.numeric += part->stats.numeric;
  stats->solver.solves += part->stats.solves;
  stats->solver.refinements += part->stats.refinements;
  if (part->b != NULL) add_stats(&stats->solver, part->b);
}

static vin_status analyse(vin_integrator *self, vini_partition *part) {
  if (part->b != NULL) add_stats(&part->stats, part->b);
  vin_linsys_destroy(part->b);
  part->b = NULL;
  if (part->rank == 0) return VIN_OK;
  vin_triplets pattern = {.count = part->entries, .row = part->b_row, .col = part->b_col};
  vin_status status = vin_linsys_create(&part->b, &self->object.context, part->rank, pattern, NULL);
  return status == VIN_OK ? VIN_OK : failed(self, status, vin_linsys_error(part->b));
}

/* Signs that do not follow any pattern of the coordinates: bits of splitmix64. */
static double sign_of(vin_int i, int probe) {
  uint64_t z = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  return (z >> (40 + probe)) & 1 ? 1 : -1;
}

/* theory (29h): by how much dependent coordinates move when the independent ones move by 1 */
static vin_status measure_growth(vin_integrator *self, vini_partition *part) {
  part->growth = 0;
  for (int probe = 0; probe < PROBES; probe++) {
    for (vin_int i = 0; i < self->n; i++)
      part->probe[i] = part->is_dependent[i] ? 0 : sign_of(i, probe);
    memset(part->rate, 0, (size_t)self->m * sizeof(double));
    vini_projector_add_jacobian(self->projector, 1, part->probe, part->rate);
    for (vin_int c = 0; c < self->m; c++)
      if (part->row_place[c] >= 0) part->right[part->row_place[c]] = part->rate[c];
    vin_status status = vin_linsys_solve(part->b, 1, part->right, part->solution);
    if (status != VIN_OK) return failed(self, status, vin_linsys_error(part->b));
    part->growth = vini_max(part->growth, vini_max_abs(part->solution, part->rank));
  }
  return VIN_OK;
}

vin_status vini_partition_factor(vin_integrator *self) {
  vini_partition *part = vini_partition_of(self);
  const double *value = self->projector->jacobian_values;
  if (part->rank == 0) return VIN_OK;
  for (vin_int k = 0; k < part->entries; k++) part->b_value[k] = value[part->entry[k]];
  vin_status status = vin_linsys_factor(part->b, part->b_value);
  part->factored = status == VIN_OK;
  if (status != VIN_OK) {
    part->trouble = true;
    return failed(self, status, vin_linsys_error(part->b));
  }
  return VIN_OK;
}

vin_status vini_partition_measure(vin_integrator *self) {
  vini_partition *part = vini_partition_of(self);
  if (part->rank == 0) return VIN_OK;
  measure_rows(self, part);
  return measure_growth(self, part);
}

bool vini_partition_fit(const vini_partition *part) {
  return part->known && !part->trouble && part->growth <= part->growth_limit &&
         part->weakest >= WEAKEST;
}

static void report(const vin_integrator *self, const vini_partition *part, double t) {
  char name[96] = "none";
  if (part->count > 0)
    vin_system_position_name(self->system, part->independent[0], name, sizeof name);
  vini_log(
      &self->object, VIN_LOG_INFO,
      "partition %lld at t = %.15g s: %d of %d coordinates are independent, the first is %s; %d "
      "constraint rows left out; growth %.3g",
      (long long)self->stats.partitions, t, (int)part->count, (int)self->n, name,
      (int)(self->m - part->rank), part->growth);
}

vin_status vini_partition_choose(vin_integrator *self, double t, const double *p, const double *v) {
  vini_partition *part = vini_partition_of(self);
  part->known = part->trouble = part->factored = false;
  part->growth = 0;
  part->weakest = 1;
  VINI_TRY(vini_projector_factor(self->projector, t, p, v));
  part->rank = keep_rows(self, part);
  scale_rows(self, part);
  if (part->rank > 0) {
    VINI_TRY(find_basis(self, part));
  } else {
    memset(part->is_dependent, 0, (size_t)self->n);
  }
  list_coordinates(self, part);
  list_entries(self, part);
  VINI_TRY(analyse(self, part));
  VINI_TRY(vini_partition_factor(self));
  VINI_TRY(vini_partition_measure(self));
  part->growth_limit = GROWTH_LIMIT * vini_max(1, part->growth);
  part->known = true;
  self->stats.partitions++;
  report(self, part, t);
  return VIN_OK;
}
