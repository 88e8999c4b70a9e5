/* Stiff potentials: the blended iteration of [13], theory (L8). With K = -df/dp at the step's start, the
 * Newton matrix of all degrees, M + h^2 X^2 (x) K, is replaced by one of the size of M for each:
 *     B = [ M + h^2 rho^2 K   G' ]      eta1 = rho^2 X^-2 eta,    B [ a; nu1 ]      = [ eta - eta1; 0 ],
 *         [ G                 0  ]                                B [ dgamma; nu2 ] = [ eta1 + M a; -C ],
 * dmu = nu1 + nu2. Its contraction is q |mu - rho^2|^2 / (|mu| (1 + rho^2 q)^2), q = h^2 K / M, mu an eigenvalue of X^2: at most 0,
 * 0.25, 0.48, 0.61, 0.70, 0.76 for s = 1 .. 6, at q = 1 / rho^2, and less for stiffer K. The plain
 * iteration, which is this one with K = 0, has q rho^2. For r = s. */
#include "integrate/line_integral.h"

#include "kkt/kkt.h"

#include <math.h>
#include <string.h>

/* rho = min |eigenvalue of X_s|, s = 1, 2, ... ([13]) */
static const double rho[] = {0.5, 0.288675, 0.196731, 0.147520, 0.117343, 0.097103};
enum { MOST_STAGES = sizeof rho / sizeof *rho };
/* h^2 rho^2 K / M, the contraction of the plain iteration, above which the blended one is the faster. */
#define STIFF 0.5

bool vini_line_may_be_stiff(const vin_integrator *self) {
  const vini_line *line = self->data;
  return self->system->desc.force_p != NULL && line->table.r == line->table.s &&
         line->table.s <= MOST_STAGES;
}

/* max over rows of sum |K_ij| / M_ii, with line->tangent = df/dp. */
static double largest_ratio(const vin_integrator *self) {
  const vini_line *line = self->data;
  const vin_projector *projector = self->projector;
  const vin_triplets *k = &self->system->desc.force_p_pattern;
  double *sum = line->u, *mass = line->rate, largest = 0;
  memset(sum, 0, (size_t)self->n * sizeof(double));
  memset(mass, 0, (size_t)self->n * sizeof(double));
  for (vin_int q = 0; q < k->count; q++) sum[k->row[q]] += fabs(line->tangent[q]);
  for (vin_int q = 0; q < projector->mass.count; q++) {
    vin_int row = projector->mass.row[q];
    if (row == projector->mass.col[q]) mass[row] += projector->mass_values[q];
  }
  for (vin_int i = 0; i < self->n; i++) {
    if (mass[i] > 0) largest = vini_max(largest, sum[i] / mass[i]);
  }
  return largest;
}

/* Pattern of M + K, lower triangle: M's entries, then K's, the upper ones mirrored. */
static vin_status create(vin_integrator *self) {
  vini_line *line = self->data;
  const vin_system_desc *desc = &self->system->desc;
  const vin_context *context = &self->object.context;
  const vin_triplets *m = &desc->mass_pattern, *k = &desc->force_p_pattern;
  size_t count = (size_t)m->count + (size_t)k->count;
  vin_int *row = vini_alloc(context, count, sizeof *row);
  vin_int *col = vini_alloc(context, count, sizeof *col);
  line->stiff_values = vini_alloc(context, count, sizeof *line->stiff_values);
  size_t size = (size_t)line->table.s * ((size_t)self->n + (size_t)self->m);
  line->blend = vini_alloc(context, size, sizeof *line->blend);
  vin_status status = VIN_ERR_NO_MEMORY;
  if (row != NULL && col != NULL && line->stiff_values != NULL && line->blend != NULL &&
      count <= INT32_MAX) {
    memcpy(row, m->row, (size_t)m->count * sizeof *row);
    memcpy(col, m->col, (size_t)m->count * sizeof *col);
    for (vin_int q = 0; q < k->count; q++) {
      row[m->count + q] = vini_max_int(k->row[q], k->col[q]);
      col[m->count + q] = vini_min_int(k->row[q], k->col[q]);
    }
    vin_kkt_options options = self->projector->options.kkt;
    options.coordinate_block = desc->position_block;
    options.constraint_block = desc->constraint_block;
    options.compliance = (vin_triplets){0};
    options.reuse = VIN_REUSE_NEVER;
    vin_triplets pattern = {.count = (vin_int)count, .row = row, .col = col};
    status = vin_kkt_create(&line->stiff, context, self->n, self->m, pattern,
                            desc->jacobian_pattern, &options);
  }
  vini_free(context, row);
  vini_free(context, col);
  if (status == VIN_OK) return VIN_OK;
  status = vini_fail(&self->projector->object, status, "the matrix of a stiff potential: %s",
                     line->stiff == NULL ? "no memory" : vin_kkt_error(line->stiff));
  vini_line_stiff_destroy(self);
  return status;
}

void vini_line_stiff_destroy(vin_integrator *self) {
  vini_line *line = self->data;
  const vin_context *context = &self->object.context;
  vin_kkt_destroy(line->stiff);
  vini_free(context, line->stiff_values);
  vini_free(context, line->blend);
  line->stiff = NULL;
  line->stiff_values = line->blend = NULL;
}

vin_status vini_line_stiff_begin(vin_integrator *self, const vini_line_state *start, double h) {
  vini_line *line = self->data;
  vin_projector *projector = self->projector;
  const vin_system_desc *desc = &self->system->desc;
  line->blended = false;
  if (line->tangent == NULL) return VIN_OK;
  VINI_TRY(vini_projector_mass(projector, start->t, start->p, start->raw));
  VINI_TRY(vini_eval_force_p(self->system, &projector->object, start->t, start->p, start->raw,
                             line->tangent));
  int s = line->table.s;
  double weight = h * h * rho[s - 1] * rho[s - 1];
  if (!(weight * largest_ratio(self) > STIFF)) return VIN_OK;
  if (line->stiff == NULL) VINI_TRY(create(self));
  VINI_TRY(vini_projector_jacobian(projector, start->t, start->p));
  vin_int count = desc->mass_pattern.count;
  memcpy(line->stiff_values, projector->mass_values, (size_t)count * sizeof(double));
  for (vin_int q = 0; q < desc->force_p_pattern.count; q++) {
    bool diagonal = desc->force_p_pattern.row[q] == desc->force_p_pattern.col[q];
    line->stiff_values[count + q] = -weight * (diagonal ? 1 : 0.5) * line->tangent[q];
  }
  line->blended = vini_kkt_factor_finite(line->stiff, line->stiff_values,
                                         projector->jacobian_values, NULL) == VIN_OK;
  return VIN_OK; /* else, e.g. where K is far from positive, the plain iteration has its try */
}

static vin_status solve(vin_integrator *self, double *z) {
  vini_line *line = self->data;
  vin_status status = vini_kkt_solve_plain(line->stiff, line->table.s, z);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->projector->object, status, "%s", vin_kkt_error(line->stiff));
}

/* eta1 on top of line->blend, eta - eta1 on top of z. */
static void split(vin_integrator *self) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, size = n + (size_t)self->m;
  double weight = rho[t->s - 1] * rho[t->s - 1];
  for (int i = 0; i < t->s; i++) {
    double *eta1 = line->blend + (size_t)i * size;
    memset(eta1, 0, size * sizeof(double));
    for (int j = 0; j < t->s; j++) {
      double entry = 0;
      for (int q = 0; q < t->s; q++) entry += weight * t->x_inverse[i][q] * t->x_inverse[q][j];
      const double *eta = line->z + (size_t)j * size;
      for (size_t q = 0; q < n; q++) eta1[q] += entry * eta[q];
    }
  }
  for (size_t q = 0; q < (size_t)t->s * size; q++) line->z[q] -= line->blend[q];
}

vin_status vini_line_solve_blended(vin_integrator *self, bool constraints) {
  vini_line *line = self->data;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  int s = line->table.s;
  split(self);
  for (int i = 0; i < s; i++) memset(line->z + (size_t)i * (n + m) + n, 0, m * sizeof(double));
  VINI_TRY(solve(self, line->z));
  for (int i = 0; i < s; i++) {
    double *right = line->blend + (size_t)i * (n + m);
    vini_projector_add_mass(self->projector, 1, line->z + (size_t)i * (n + m), right);
    for (size_t c = 0; c < m && constraints; c++) right[n + c] = -line->c[(size_t)i * m + c];
  }
  VINI_TRY(solve(self, line->blend));
  for (int i = 0; i < s; i++) {
    double *z = line->z + (size_t)i * (n + m), *second = line->blend + (size_t)i * (n + m);
    memcpy(z, second, n * sizeof(double));
    for (size_t c = 0; c < m; c++) z[n + c] += second[n + c];
  }
  return VIN_OK;
}
