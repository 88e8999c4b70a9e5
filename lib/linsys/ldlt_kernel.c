/* ldlt_kernel - factorisation and substitution, compiled for the plain instruction set and, on x86-64,
 * for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_kernel.h"

#include <float.h>
#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#define VINI_UNROLL _Pragma("GCC unroll 12")
#else
#define VINI_UNROLL
#endif

/* two right-hand sides, aligned as their numbers are */
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
/* four rows of a front */
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t v4i __attribute__((vector_size(32)));

/* The seldom way of a pivot: dropped where that is allowed, broken down where it is not. */
static double weak_pivot(vini_fronts *x, vini_tally *t, vin_int column, double d, double scale) {
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
      t->failed_scale = scale;
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

#define KERNEL(name) plain_##name
#define KERNEL_TARGET
#define KERNEL_INLINE static inline __attribute__((always_inline))
#include "linsys/ldlt_kernel_link.h"
/* behind it: */
#include "linsys/ldlt_kernel_body.h"
#include "linsys/ldlt_kernel_solve.h"
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_INLINE

#if defined(__x86_64__) && defined(__GNUC__)
#define VINI_HAVE_AVX2 1
#define KERNEL(name) avx2_##name
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_INLINE static inline __attribute__((always_inline, target("avx2,fma")))
#include "linsys/ldlt_kernel_link.h"
/* behind it: */
#include "linsys/ldlt_kernel_body.h"
#include "linsys/ldlt_kernel_solve.h"
#endif

void vini_fronts_choose_kernel(vini_fronts *fronts, bool plain) {
  fronts->eliminate = plain_eliminate;
  fronts->forward = plain_forward;
  fronts->backward = plain_backward;
#ifdef VINI_HAVE_AVX2
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    fronts->eliminate = avx2_eliminate;
    fronts->forward = avx2_forward;
    fronts->backward = avx2_backward;
  }
#else
  (void)plain;
#endif
}
