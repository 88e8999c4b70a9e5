/* dv'/d(p, v) and dlambda/d(p, v) of the reduced system by solves with many right-hand sides, as the
 * source has it, theory (70): dense, for small systems and as a check of the sparse Newton matrix. */
#include "integrate/tangent.h"
#include "project/project.h"

#include <string.h>

/* x (n x n) := - F_., y (m x n) := - G_. as dense matrices, then both := K^-1 of them. */
static vin_status solve(vin_projector *projector, const vini_tangent *tangent, const double *f,
                        const double *g, double *x, double *y) {
  size_t n = (size_t)projector->n, m = (size_t)projector->m;
  memset(x, 0, n * n * sizeof *x);
  memset(y, 0, m * n * sizeof *y);
  for (vin_int j = 0; j < projector->n; j++) {
    const vin_int *start = tangent->f->start;
    for (vin_int k = start[j]; k < start[j + 1]; k++) {
      x[(size_t)tangent->f->row[k] + (size_t)j * n] = -f[k];
    }
    start = tangent->g->start;
    for (vin_int k = start[j]; k < start[j + 1]; k++) {
      y[(size_t)tangent->g->row[k] + (size_t)j * m] = -g[k];
    }
  }
  return vini_projector_solve(projector, projector->n, x, y, x, y);
}

typedef struct result {
  double *vdot_p, *vdot_v, *lambda_p, *lambda_v;
} result;

static vin_status evaluate(vin_projector *projector, double t, const double *p, const double *v,
                           vini_tangent *tangent, double *vdot, double *lambda, const result *to) {
  vin_stats stats = {0};
  VINI_TRY(vini_tangent_create(tangent, &projector->object, projector->system, &stats));
  VINI_TRY(vini_projector_acceleration(projector, t, p, v, false, vdot, lambda, NULL));
  VINI_TRY(vini_tangent_evaluate(tangent, t, p, v, vdot, lambda, 0,
                                 VINI_TANGENT_G | VINI_TANGENT_CENTRAL));
  VINI_TRY(solve(projector, tangent, tangent->f_p, tangent->g_p, to->vdot_p, to->lambda_p));
  return solve(projector, tangent, tangent->f_v, tangent->g_v, to->vdot_v, to->lambda_v);
}

static vin_status check(vin_projector *self, const double *p, const double *v, const result *to) {
  vini_object *object = &self->object;
  bool complete = p != NULL && v != NULL && to->vdot_p != NULL && to->vdot_v != NULL &&
                  (self->m == 0 || (to->lambda_p != NULL && to->lambda_v != NULL));
  if (!complete) return vini_fail(object, VIN_ERR_BAD_INPUT, "an argument is NULL");
  if (self->n > VIN_REDUCED_JACOBIAN_LIMIT) {
    return vini_fail(object, VIN_ERR_TOO_LARGE,
                     "the reduced Jacobian of %d positions is dense, the limit is %d: the implicit "
                     "methods do without it",
                     (int)self->n, VIN_REDUCED_JACOBIAN_LIMIT);
  }
  if (vini_first_nonfinite(p, self->n) >= 0 || vini_first_nonfinite(v, self->n) >= 0) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the state is not finite");
  }
  return VIN_OK;
}

vin_status vin_reduced_jacobian(vin_projector *projector, double t, const double *p,
                                const double *v, double *vdot_p, double *vdot_v, double *lambda_p,
                                double *lambda_v) {
  VINI_TRY(vini_ready(projector == NULL ? NULL : &projector->object));
  const result to = {vdot_p, vdot_v, lambda_p, lambda_v};
  VINI_TRY(check(projector, p, v, &to));
  const vin_context *context = &projector->object.context;
  double *vdot = vini_alloc(context, (size_t)projector->n, sizeof *vdot),
         *lambda = vini_alloc(context, (size_t)projector->m, sizeof *lambda);
  vini_tangent tangent = {0};
  vin_status status =
      vdot == NULL || lambda == NULL
          ? vini_fail(&projector->object, VIN_ERR_NO_MEMORY, "no memory for the reduced Jacobian")
          : evaluate(projector, t, p, v, &tangent, vdot, lambda, &to);
  vini_tangent_destroy(&tangent, context);
  vini_free(context, vdot);
  vini_free(context, lambda);
  return status;
}
