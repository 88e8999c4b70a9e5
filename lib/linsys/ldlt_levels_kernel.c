/* ldlt_levels_kernel - factorisation and substitution, compiled for the plain instruction set and, on
 * x86-64, for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_levels_kernel.h"

#include <float.h>
#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#define VINI_UNROLL _Pragma("GCC unroll 8")
#else
#define VINI_UNROLL
#endif

/* four lanes */
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t v4i __attribute__((vector_size(32)));

#define MAGNITUDE(v) ((v4)((v4i)(v)&magnitude_bits))
static const v4i magnitude_bits = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

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

#define KERNEL(name) plain_##name
#define KERNEL_TARGET
#define KERNEL_INLINE static inline __attribute__((always_inline))
#include "linsys/ldlt_levels_body.h"
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_INLINE

#if defined(__x86_64__) && defined(__GNUC__)
#define VINI_HAVE_AVX2 1
#define KERNEL(name) avx2_##name
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_INLINE static inline __attribute__((always_inline, target("avx2,fma")))
#include "linsys/ldlt_levels_body.h"
#endif

void vini_levels_choose_kernel(vini_levels *x, bool plain) {
  x->eliminate = plain_eliminate;
  x->survey = plain_survey;
  x->forward = plain_forward;
  x->backward = plain_backward;
#ifdef VINI_HAVE_AVX2
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    x->eliminate = avx2_eliminate;
    x->survey = avx2_survey;
    x->forward = avx2_forward;
    x->backward = avx2_backward;
  }
#else
  (void)plain;
#endif
}
