/* The last step as a function of time. Cubics from values and slopes at both ends, and for dopri5 the
 * term that makes it of order 4, theory (28e) and (28f). Both ends are met exactly, so that the curve
 * goes through projected states. */
#include "integrate/integrate.h"

#include <math.h>
#include <string.h>

static double **vectors(vini_dense *dense, int k) {
  double **all[] = {&dense->p[0], &dense->p[1], &dense->v[0],  &dense->v[1],
                    &dense->a[0], &dense->a[1], &dense->p_bow, &dense->v_bow};
  return all[k];
}
enum { VECTORS = 8 };

vin_status vini_integrator_keep_dense(vin_integrator *self) {
  if (self->dense != NULL) return VIN_OK;
  const vin_context *context = &self->object.context;
  vini_dense *dense = self->dense = vini_alloc(context, 1, sizeof *dense);
  bool complete = dense != NULL;
  for (int k = 0; complete && k < VECTORS; k++) {
    *vectors(dense, k) = vini_alloc(context, (size_t)self->n, sizeof(double));
    complete = *vectors(dense, k) != NULL;
  }
  if (complete) return VIN_OK;
  vini_dense_free(self);
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory to interpolate %d positions",
                   (int)self->n);
}

void vini_dense_free(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  for (int k = 0; self->dense != NULL && k < VECTORS; k++) {
    vini_free(context, *vectors(self->dense, k));
  }
  vini_free(context, self->dense);
  self->dense = NULL;
}

void vini_dense_keep(vin_integrator *self, const vin_state *from, const vin_state *to, double h,
                     const double *a0, const double *a1) {
  vini_dense *dense = self->dense;
  size_t bytes = (size_t)self->n * sizeof(double);
  const vin_state *end[2] = {from, to};
  const double *a[2] = {a0, a1};
  dense->has_acceleration = a0 != NULL && a1 != NULL;
  for (int k = 0; k < 2; k++) {
    memcpy(dense->p[k], end[k]->p, bytes);
    memcpy(dense->v[k], end[k]->v, bytes);
    if (dense->has_acceleration) memcpy(dense->a[k], a[k], bytes);
  }
  dense->h = h;
  dense->valid = true;
}

/* theory (28e), (28f): y0 + s (d + r (b0 + s (b1 + r bow))), r = 1 - s; bow may be NULL */
static void curve(vin_int n, double s, double h, double *const y[2], double *const slope[2],
                  const double *bow, double *out) {
  double r = 1 - s;
  for (vin_int i = 0; i < n; i++) {
    double d = y[1][i] - y[0][i], b0 = h * slope[0][i] - d, b1 = d - h * slope[1][i] - b0;
    double inner = bow == NULL ? b1 : b1 + r * bow[i];
    out[i] = y[0][i] + s * (d + r * (b0 + s * inner));
  }
}

/* The derivative of (28e) with respect to time: v where no accelerations are known. */
static void slope_of_curve(vin_int n, double s, double h, double *const y[2],
                           double *const slope[2], double *out) {
  for (vin_int i = 0; i < n; i++) {
    double chord = (y[1][i] - y[0][i]) / h;
    out[i] = (1 - s) * (1 - 3 * s) * slope[0][i] + s * (3 * s - 2) * slope[1][i] +
             6 * s * (1 - s) * chord;
  }
}

void vini_interpolate_cubic(vin_int n, double theta, double h, const vin_state *from,
                            const vin_state *to, double *p, double *v) {
  double *ends[2] = {from->p, to->p}, *slopes[2] = {from->v, to->v};
  curve(n, theta, h, ends, slopes, NULL, p);
  slope_of_curve(n, theta, h, ends, slopes, v);
}

vin_status vin_integrator_interpolate(vin_integrator *self, double theta, double *p, double *v) {
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  const vini_dense *dense = self->dense;
  vini_object *object = &self->object;
  if (p == NULL || v == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "p or v is NULL");
  if (!(theta >= 0 && theta <= 1)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "theta is %g, must be in 0..1", theta);
  }
  if (dense == NULL || !dense->valid) {
    return vini_fail(object, VIN_ERR_BAD_STATE, "there is no step to interpolate%s",
                     dense == NULL ? ": options.dense_output was 0" : "");
  }
  size_t bytes = (size_t)self->n * sizeof(double);
  if (theta == 0 || theta == 1) { /* to the last bit */
    memcpy(p, dense->p[theta == 1], bytes);
    memcpy(v, dense->v[theta == 1], bytes);
    return VIN_OK;
  }
  double h = dense->h;
  curve(self->n, theta, h, dense->p, dense->v, dense->has_bow ? dense->p_bow : NULL, p);
  if (dense->has_acceleration) {
    curve(self->n, theta, h, dense->v, dense->a, dense->has_bow ? dense->v_bow : NULL, v);
  } else {
    slope_of_curve(self->n, theta, h, dense->p, dense->v, v);
  }
  return VIN_OK;
}
