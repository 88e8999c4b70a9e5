/* ldlt_kernel - factorisation and substitution, compiled for the plain instruction set and, on x86-64,
 * for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_kernel.h"
#include "base/kernel.h"

#include <float.h>
#include <math.h>

#define VINI_UNROLL VINI_UNROLL_UP_TO(12)

/* The seldom way of a pivot: dropped where that is allowed, broken down where it is not. */
static double weak_pivot(vini_fronts *x, vini_tally *t, vin_int column, double d) {
  const double size = fabs(d);
  if (x->droppable[column] && size <= DBL_MAX) {
    x->dropped[x->plan.order[column]] = 1;
    t->dropped++;
    return 0;
  }
  if (!(size >= DBL_MIN && size <= DBL_MAX)) { /* 1/d of a subnormal number overflows */
    if (t->failed < 0) {
      t->failed = column;
      t->failed_pivot = d;
    }
    return 0;
  }
  return 1 / d;
}

/* Looks at one pivot that was taken. */
static inline void survey(vini_tally *t, double inverse, double scale) {
  const double size = fabs(inverse), ratio = scale * size;
  const double kept = size > 0 ? size : DBL_MAX; /* 0: dropped */
  t->least = kept < t->least ? kept : t->least;
  t->most = size > t->most ? size : t->most;
  t->cancellation = ratio > t->cancellation ? ratio : t->cancellation;
  t->negative += inverse < 0;
}

#define VINI_KERNEL_BODY "linsys/ldlt_kernel_body.h"
#include "base/kernel.h"
#define VINI_KERNEL_BODY "linsys/ldlt_kernel_solve.h"
#include "base/kernel.h"

void vini_fronts_choose_kernel(vini_fronts *fronts, bool plain) {
  const bool fast = vini_kernel_fast(plain);
  fronts->eliminate = VINI_KERNEL(fast, eliminate);
  fronts->forward = VINI_KERNEL(fast, forward);
  fronts->backward = VINI_KERNEL(fast, backward);
}
