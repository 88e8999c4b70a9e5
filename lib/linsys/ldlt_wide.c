/* ldlt_wide - the arithmetic of wide panels of L, compiled for the plain instruction set and, on x86-64, for
 * AVX2 with fused multiply-add. Own code and not a BLAS, whose sums may depend on the number of its threads and
 * whose speed depends on which one is installed. */
#include "linsys/ldlt_wide.h"
#include "linsys/ldlt_plan.h"

typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));

#if defined(__GNUC__) && !defined(__clang__)
#undef VINI_UNROLL
#define VINI_UNROLL _Pragma("GCC unroll 12")
#endif

#define TILE_VECTORS 3
#define TILE_ROWS 12

#define KERNEL(name) plain_##name
#define KERNEL_TARGET
#define KERNEL_INLINE static inline __attribute__((always_inline))
#include "linsys/ldlt_wide_body.h"
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_INLINE

#if defined(__x86_64__) && defined(__GNUC__)
#define VINI_HAVE_AVX2 1
#define KERNEL(name) avx2_##name
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_INLINE static inline __attribute__((always_inline, target("avx2,fma")))
#include "linsys/ldlt_wide_body.h"
#endif

vini_wide_kernel *vini_choose_wide_kernel(bool plain) {
#ifdef VINI_HAVE_AVX2
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2_update;
#else
  (void)plain;
#endif
  return plain_update;
}
