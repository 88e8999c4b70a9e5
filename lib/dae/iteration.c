/* dae - the iteration matrices of implicit methods, (a/h) B - J, real or as the real form of a
 * complex one: analysed once, factorised when step or Jacobian changed. */
#include "dae/dae_integrator.h"

#include <math.h>

/* Newton's iteration judges itself by its contraction: a solve need only be far better than that,
 * and one sweep of refinement is worth its cost only where the factorisation was poor. */
static const double solve_tolerance = 1e-7;

static vin_status create(vin_dae_integrator *self, vin_linsys **linsys, vin_int n,
                         vin_triplets pattern) {
  vin_linsys_options options = vin_linsys_options_default();
  options.residual_tolerance = solve_tolerance;
  options.max_refinements = 1;
  vin_status status = vin_linsys_create(linsys, &self->object.context, n, pattern, &options);
  if (status == VIN_OK) return VIN_OK;
  return vini_fail(&self->object, status, "iteration matrix: %s",
                   *linsys ? vin_linsys_error(*linsys) : "no memory");
}

/* B, then J, each entry shifted by (row, col) of its block. */
static void place(vin_triplets from, vin_int row, vin_int col, vin_int *rows, vin_int *cols) {
  for (vin_int k = 0; k < from.count; k++) {
    rows[k] = from.row[k] + row;
    cols[k] = from.col[k] + col;
  }
}

/* [a B - J, -b B; b B, a B - J] in the order B B B B J J; the real matrix is the order B J. */
static vin_status create_all(vin_dae_integrator *self, bool pair, vin_int *rows, vin_int *cols) {
  const vin_dae_desc *desc = &self->dae->desc;
  vin_triplets mass = desc->mass_pattern, jacobian = desc->jacobian_pattern;
  vin_int n = self->n, nb = mass.count, nj = jacobian.count;
  place(mass, 0, 0, rows, cols);
  place(jacobian, 0, 0, rows + nb, cols + nb);
  VINI_TRY(create(self, &self->real, n, (vin_triplets){nb + nj, rows, cols}));
  if (!pair) return VIN_OK;
  for (vin_int block = 0; block < 4; block++) {
    place(mass, block / 2 * n, block % 2 * n, rows + block * nb, cols + block * nb);
  }
  for (vin_int block = 0; block < 2; block++) {
    vin_int at = 4 * nb + block * nj;
    place(jacobian, block * n, block * n, rows + at, cols + at);
  }
  return create(self, &self->pair, 2 * n, (vin_triplets){4 * nb + 2 * nj, rows, cols});
}

vin_status vini_iteration_create(vin_dae_integrator *self) {
  const vin_context *context = &self->object.context;
  const vin_dae_desc *desc = &self->dae->desc;
  self->implicit = self->dae->implicit;
  bool pair = self->options.method == VIN_DAE_RADAU;
  self->mass_count = desc->mass_pattern.count;
  self->jacobian_count = desc->jacobian_pattern.count;
  int64_t entries = pair ? 4 * (int64_t)self->mass_count + 2 * (int64_t)self->jacobian_count
                         : (int64_t)self->mass_count + self->jacobian_count;
  if (entries > INT32_MAX || 2 * (int64_t)self->n > INT32_MAX) {
    return vini_fail(&self->object, VIN_ERR_TOO_LARGE,
                     "the iteration matrix has %lld entries, more than an index can count",
                     (long long)entries);
  }
  vin_int *rows = vini_alloc(context, (size_t)entries, sizeof *rows);
  vin_int *cols = vini_alloc(context, (size_t)entries, sizeof *cols);
  self->jacobian = vini_alloc(context, (size_t)self->jacobian_count, sizeof *self->jacobian);
  self->values = vini_alloc(context, (size_t)entries, sizeof *self->values);
  self->scales = vini_alloc(context, 4 * (size_t)self->n, sizeof *self->scales);
  vin_status status = VIN_ERR_NO_MEMORY;
  self->mass = self->implicit ? vini_alloc(context, (size_t)self->mass_count, sizeof *self->mass)
                              : (double *)(uintptr_t)desc->mass_values;
  if (rows && cols && self->mass && self->jacobian && self->values && self->scales) {
    self->real_row = self->scales, self->real_col = self->scales + self->n;
    self->pair_row = self->real_col + self->n, self->pair_col = self->pair_row + self->n;
    status = create_all(self, pair, rows, cols);
  } else {
    vini_fail(&self->object, status, "no memory for an iteration matrix of %lld entries",
              (long long)entries);
  }
  vini_free(context, rows);
  vini_free(context, cols);
  return status;
}

void vini_iteration_destroy(vin_dae_integrator *self) {
  const vin_context *context = &self->object.context;
  vin_linsys_destroy(self->real);
  vin_linsys_destroy(self->pair);
  vini_free(context, self->jacobian);
  vini_free(context, self->values);
  vini_free(context, self->scales);
  if (self->implicit) vini_free(context, self->mass);
}

static vin_status jacobian(vin_dae_integrator *self, double tau, const double *y, const double *yp,
                           const double *f) {
  self->jacobian_known = self->jacobian_current = false;
  self->real_factor = self->pair_factor = 0;
  if (self->implicit) {
    VINI_TRY(vini_dae_residual_jacobians(&self->work, vini_dae_integrator_time(self, tau), y, yp,
                                         self->jacobian, self->mass));
    for (vin_int k = 0; k < self->jacobian_count; k++) self->jacobian[k] = -self->jacobian[k];
  } else {
    VINI_TRY(
        vini_dae_jacobian(&self->work, vini_dae_integrator_time(self, tau), y, f, self->jacobian));
  }
  self->jacobian_known = true;
  return VIN_OK;
}

vin_status vini_iteration_jacobian(vin_dae_integrator *self) {
  if (self->jacobian_current) return VIN_OK;
  VINI_TRY(jacobian(self, self->tau, self->y, self->yp, self->f0));
  self->jacobian_current = true;
  return VIN_OK;
}

vin_status vini_iteration_jacobian_at(vin_dae_integrator *self, double tau, const double *y) {
  return jacobian(self, tau, y, self->implicit ? vini_dae_integrator_rate(self) : NULL, NULL);
}

/* Unknowns are counted in tolerances, those of index k in tolerances times (time scale / h)^(k-1),
 * and rows in their largest entries: without that the entries of an index-3 matrix spread over 1/h^3,
 * and neither a residual nor a pivot would tell anything (theory (R14)). */
static void column_scales(const vin_dae_integrator *self, double h, double *scale) {
  double growth = self->options.time_scale / fabs(h);
  const double power[4] = {1, 1, growth, growth * growth};
  for (vin_int i = 0; i < self->n; i++) scale[i] = power[self->index[i]] / self->weight[i];
}

/* values, in the order of `pattern` within rows and columns of n: entry k times its column's scale;
 * largest[row] takes the magnitudes. */
static void scale_columns(vin_triplets pattern, const double *scale, double *values,
                          double *largest) {
  for (vin_int k = 0; k < pattern.count; k++) {
    values[k] *= scale[pattern.col[k]];
    double size = fabs(values[k]);
    if (size > largest[pattern.row[k]]) largest[pattern.row[k]] = size;
  }
}

static void scale_rows(vin_triplets pattern, const double *scale, double *values) {
  for (vin_int k = 0; k < pattern.count; k++) values[k] *= scale[pattern.row[k]];
}

/* Scales `masses` blocks of B and `jacobians` blocks of J in `values`, and factorises. */
static vin_status factor(vin_dae_integrator *self, vin_linsys *linsys, double h, int masses,
                         int jacobians, double *row, double *col) {
  vin_triplets mass = self->dae->desc.mass_pattern, jacobian = self->dae->desc.jacobian_pattern;
  double *v = self->values;
  column_scales(self, h, col);
  for (vin_int i = 0; i < self->n; i++) row[i] = 0;
  for (int b = 0; b < masses; b++, v += mass.count) scale_columns(mass, col, v, row);
  for (int b = 0; b < jacobians; b++, v += jacobian.count) scale_columns(jacobian, col, v, row);
  for (vin_int i = 0; i < self->n; i++) row[i] = row[i] > 0 ? 1 / row[i] : 1;
  v = self->values;
  for (int b = 0; b < masses; b++, v += mass.count) scale_rows(mass, row, v);
  for (int b = 0; b < jacobians; b++, v += jacobian.count) scale_rows(jacobian, row, v);
  vin_status status = vin_linsys_factor(linsys, self->values);
  if (status == VIN_OK) return VIN_OK;
  /* J and B are finite, so what linsys refuses is an overflow: too short a step */
  if (status == VIN_ERR_BAD_INPUT) status = VIN_SINGULAR;
  return vini_fail(&self->object, status, "iteration matrix for a step of %g s at t = %.15g: %s", h,
                   self->t, vin_linsys_error(linsys));
}

vin_status vini_iteration_real(vin_dae_integrator *self, double h, double a) {
  double scale = a / h;
  if (self->real_factor == scale) return VIN_OK;
  const double *mass = self->mass;
  double *v = self->values;
  self->real_factor = 0;
  for (vin_int k = 0; k < self->mass_count; k++) *v++ = scale * mass[k];
  for (vin_int k = 0; k < self->jacobian_count; k++) *v++ = -self->jacobian[k];
  VINI_TRY(factor(self, self->real, h, 1, 1, self->real_row, self->real_col));
  self->real_factor = scale;
  return VIN_OK;
}

vin_status vini_iteration_pair(vin_dae_integrator *self, double h, double a, double b) {
  double real = a / h, imaginary = b / h;
  if (self->pair_factor == real) return VIN_OK;
  const double *mass = self->mass;
  const double block[4] = {real, -imaginary, imaginary, real};
  double *v = self->values;
  self->pair_factor = 0;
  for (int k = 0; k < 4; k++) {
    for (vin_int e = 0; e < self->mass_count; e++) *v++ = block[k] * mass[e];
  }
  for (int k = 0; k < 2; k++) {
    for (vin_int e = 0; e < self->jacobian_count; e++) *v++ = -self->jacobian[e];
  }
  VINI_TRY(factor(self, self->pair, h, 4, 2, self->pair_row, self->pair_col));
  self->pair_factor = real;
  return VIN_OK;
}

/* One or two blocks of n, each scaled the same way. */
static vin_status solve(vin_dae_integrator *self, vin_linsys *linsys, int blocks, const double *row,
                        const double *col, double *x) {
  vin_int n = self->n;
  for (vin_int i = 0; i < blocks * n; i++) x[i] *= row[i % n];
  vin_status status = vin_linsys_solve(linsys, 1, x, x);
  for (vin_int i = 0; i < blocks * n; i++) x[i] *= col[i % n];
  if (status == VIN_OK) return VIN_OK;
  if (status == VIN_ERR_BAD_INPUT) status = VIN_RETRY; /* an iterate overflowed */
  return vini_fail(&self->object, status, "iteration matrix at t = %.15g: %s", self->t,
                   vin_linsys_error(linsys));
}

vin_status vini_iteration_solve_real(vin_dae_integrator *self, double *x) {
  return solve(self, self->real, 1, self->real_row, self->real_col, x);
}

vin_status vini_iteration_solve_pair(vin_dae_integrator *self, double *x) {
  return solve(self, self->pair, 2, self->pair_row, self->pair_col, x);
}

void vini_iteration_mass(const vin_dae_integrator *self, double scale, const double *x, double *y) {
  vin_sparse_multiply(self->dae->mass, scale, x, 1, y);
}

vini_outcome vini_iteration_outcome(vin_dae_integrator *self, vin_status status) {
  self->status = status;
  if (status == VIN_OK) return VINI_OUTCOME_DONE;
  if (status == VIN_SINGULAR) return VINI_OUTCOME_SINGULAR;
  return status > 0 ? VINI_OUTCOME_RETRY : VINI_OUTCOME_FATAL;
}
