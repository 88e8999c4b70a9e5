/* ldlt_levels_kernel - factorisation and substitution, compiled for the plain instruction set and, on
 * x86-64, for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_levels_kernel.h"
#include "base/lanes.h"

#include <float.h>
#include <math.h>

#define VINI_UNROLL VINI_UNROLL_UP_TO(8)

/* Lanes that hold a member, by their number. */
static const v4i in_use[VINI_LEVEL_LANES + 1] = {
    {0}, {-1, 0, 0, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}, {-1, -1, -1, -1}};

/* Notes which pivot of a batch is weak. */
static void note_failure(vini_levels *x, const vini_level_batch *batch, const v4 *d) {
  const vin_int pivots = x->plan.kind[batch->kind].pivots;
  for (vin_int k = 0; k < VINI_LEVEL_LANES * pivots; k++) {
    const double pivot = d[k / VINI_LEVEL_LANES][k % VINI_LEVEL_LANES], size = fabs(pivot);
    const double scale = x->scale[batch->position + k];
    if (size > x->threshold * scale && size > DBL_MIN && size <= DBL_MAX) continue;
    x->failed = batch->position + k;
    x->failed_pivot = pivot;
    return;
  }
}

#define VINI_KERNEL_BODY "linsys/ldlt_levels_body.h"
#include "base/kernel.h"

void vini_levels_choose_kernel(vini_levels *x, bool plain) {
  const bool fast = vini_kernel_fast(plain);
  x->eliminate = VINI_KERNEL(fast, eliminate);
  x->survey = VINI_KERNEL(fast, survey);
  x->forward = VINI_KERNEL(fast, forward);
  x->backward = VINI_KERNEL(fast, backward);
}
