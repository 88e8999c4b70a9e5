/* ldlt_wide - the arithmetic of wide panels of L, compiled for the plain instruction set and, on x86-64, for
 * AVX2 with fused multiply-add. Own code and not a BLAS, whose sums may depend on the number of its threads and
 * whose speed depends on which one is installed. */
#include "linsys/ldlt_wide.h"
#include "base/kernel.h"
#include "linsys/ldlt_plan.h"

#define VINI_UNROLL VINI_UNROLL_UP_TO(12)

#define TILE_VECTORS 3
#define TILE_ROWS 12

#define VINI_KERNEL_BODY "linsys/ldlt_wide_body.h"
#include "base/kernel.h"

vini_wide_kernel *vini_choose_wide_kernel(bool plain) {
  return VINI_KERNEL(vini_kernel_fast(plain), update);
}
