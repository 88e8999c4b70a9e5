/* The residual lemma as a diagnostic, theory (D5): what |g| says about the error of z.
 *
 * The smallest singular value of g_z is found by inverse iteration on g_z' g_z: one solve with g_z
 * and one with g_z' an iteration. The value converges with the fourth power of the ratio of the two
 * smallest singular values and is always an upper bound. */
#include "dae/branch.h"

#include <math.h>
#include <string.h>

static const double value_tolerance =
    1e-8; /* relative change of sigma^2: about 1e-4 to 1e-8 left */
static const int most_iterations = 200;

static vin_status fail_linsys(vin_branch *b, vin_status status, const char *what) {
  return vini_fail(&b->object, status, "%s at t = %.17g: %s", what, b->t,
                   vin_linsys_error(b->linsys));
}

/* A start without a pattern that a singular vector could be orthogonal to. */
static void start_vector(double *v, vin_int m) {
  for (vin_int i = 0; i < m; i++) v[i] = 0.5 + fmod(0.6180339887498949 * (i + 1), 1.0);
}

static void normalise(double *v, vin_int m, double norm) {
  for (vin_int i = 0; i < m; i++) v[i] /= norm;
}

/* v -> (g_z' g_z)^-1 v: with |v| = 1, 1 / sigma^2 >= v' (g_z' g_z)^-1 v = |g_z'^-1 v|^2. */
static vin_status smallest_singular_value(vin_branch *b, double *sigma, int *iterations) {
  double *v = b->dx, last = 0;
  start_vector(v, b->m);
  normalise(v, b->m, vini_norm2(v, b->m));
  for (*iterations = 1;; ++*iterations) {
    vin_status status = vin_linsys_solve_transposed(b->linsys, 1, v, b->trial);
    if (status != VIN_OK) return fail_linsys(b, status, "g_z'");
    double inverse = vini_norm2(b->trial, b->m);
    *sigma = 1 / inverse;
    if (fabs(inverse - last) <= value_tolerance * inverse || *iterations == most_iterations) break;
    last = inverse;
    normalise(b->trial, b->m, inverse);
    status = vin_linsys_solve(b->linsys, 1, b->trial, v);
    if (status != VIN_OK) return fail_linsys(b, status, "g_z");
    normalise(v, b->m, vini_norm2(v, b->m));
  }
  return VIN_OK;
}

/* Two Newton corrections, the second with the kept g_z: how much smaller is it? */
static vin_status contraction(vin_branch *b, vin_residual_estimate *e) {
  memcpy(b->r, b->f + b->d, (size_t)b->m * sizeof *b->r);
  e->residual = vini_norm2(b->r, b->m);
  if (e->residual == 0) return VIN_OK; /* nothing to correct */
  vin_status status = vin_linsys_solve(b->linsys, 1, b->r, b->dx);
  if (status != VIN_OK) return fail_linsys(b, status, "g_z");
  e->error = vini_norm2(b->dx, b->m);
  memcpy(b->scratch, b->y, (size_t)b->n * sizeof *b->y);
  for (vin_int i = 0; i < b->m; i++) b->scratch[b->d + i] -= b->dx[i];
  e->contraction = -1;
  if (!vini_dae_inside(b->dae, b->t, b->scratch)) return VIN_OK;
  status = vini_dae_function(&b->work, b->t, b->scratch, b->f);
  if (status > 0) return VIN_OK;
  VINI_TRY(status);
  status = vin_linsys_solve(b->linsys, 1, b->f + b->d, b->trial);
  if (status != VIN_OK) return fail_linsys(b, status, "g_z");
  e->contraction = vini_norm2(b->trial, b->m) / e->error;
  return VIN_OK;
}

vin_status vin_branch_residual_estimate(vin_branch *branch, double t, const double *y,
                                        vin_residual_estimate *estimate) {
  VINI_TRY(vini_ready(branch == NULL ? NULL : &branch->object));
  vin_branch *b = branch;
  if (estimate == NULL) return vini_fail(&b->object, VIN_ERR_BAD_INPUT, "estimate is NULL");
  *estimate = (vin_residual_estimate){0};
  VINI_TRY(vin_branch_linearise(b, t, y));
  VINI_TRY(contraction(b, estimate));
  VINI_TRY(smallest_singular_value(b, &estimate->sigma_min, &estimate->iterations));
  estimate->estimate = estimate->residual / estimate->sigma_min;
  estimate->bound = 2 * estimate->estimate;
  return VIN_OK;
}
