#include "integrate/explicit.h"
vin_status vini_partition_complete(vin_integrator *self, double t, double *p, double *v) {
  (void)self, (void)t, (void)p, (void)v;
  return VIN_ERR_UNSUPPORTED;
}
vin_int vin_integrator_independent(const vin_integrator *self, const vin_int **positions) {
  (void)self;
  if (positions) *positions = NULL;
  return 0;
}
