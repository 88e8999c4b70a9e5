/* ldlt_common - what every form of L says alike: verdict, pivots, texts of failures. */
#include "linsys/ldlt_common.h"

#include <math.h>

void vini_ldlt_tell(const vini_ldlt_verdict *verdict, vini_factor_info *info) {
  const bool known = verdict->factored, any = known && verdict->largest > 0;
  *info =
      (vini_factor_info){.negative = known ? verdict->negative : -1,
                         .zero = known ? verdict->dropped : -1,
                         .rcond = any ? verdict->smallest / verdict->largest : -1,
                         .min_pivot_ratio = any && isfinite(verdict->ratio) ? verdict->ratio : -1};
}

void vini_ldlt_spread_pivots(vin_int count, const vin_int *unknown, const double *inverse,
                             const double *from, double *d, double *scale) {
  for (vin_int k = 0; k < count; k++) {
    if (unknown[k] < 0) continue;
    d[unknown[k]] = inverse[k] != 0 ? 1 / inverse[k] : 0;
    scale[unknown[k]] = from[k];
  }
}

vin_status vini_ldlt_breakdown(vini_object *object, vin_int unknown, double d, double scale) {
  return vini_fail(object, VIN_SINGULAR,
                   "ldlt: the pivot of unknown %d is %g after cancellation of terms of size %g",
                   (int)unknown, d, scale);
}

vin_status vini_ldlt_unfactored(vini_object *object) {
  return vini_fail(object, VIN_ERR_BAD_STATE, "ldlt: solve without a factorisation");
}

vin_status vini_ldlt_no_memory(vini_object *object, int64_t numbers) {
  return vini_fail(object, VIN_ERR_NO_MEMORY, "ldlt: no memory for L, %lld numbers",
                   (long long)numbers);
}
