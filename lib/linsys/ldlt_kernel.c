/* ldlt_kernel - factorisation and substitution, compiled for the plain instruction set and, on x86-64,
 * for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_kernel.h"

#include <float.h>
#include <math.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

/* Of |1/d| and of scale |1/d| over the columns that were kept. */
typedef struct extremes {
  double least, most, cancellation;
  vin_int negative;
} extremes;

static void survey_one(const vini_fronts *x, vin_int k, extremes *e) {
  const double size = fabs(x->inverse[k]), ratio = x->scale[k] * size;
  const double kept = size > 0 ? size : DBL_MAX; /* 0: dropped */
  e->least = kept < e->least ? kept : e->least;
  e->most = size > e->most ? size : e->most;
  e->cancellation = ratio > e->cancellation ? ratio : e->cancellation;
  e->negative += x->inverse[k] < 0;
}

/* Pairs of columns, where no column was dropped; returns how many columns were looked at. */
static vin_int survey_pairs(const vini_fronts *x, extremes *e) {
#if defined(__SSE2__)
  const __m128d sign = _mm_set1_pd(-0.0);
  __m128d least = _mm_set1_pd(DBL_MAX), most = _mm_setzero_pd(), ratio = most;
  vin_int k = 0;
  for (; k + 1 < x->plan.n; k += 2) {
    const __m128d inverse = _mm_loadu_pd(x->inverse + k), size = _mm_andnot_pd(sign, inverse);
    const int signs = _mm_movemask_pd(inverse);
    least = _mm_min_pd(least, size);
    most = _mm_max_pd(most, size);
    ratio = _mm_max_pd(ratio, _mm_mul_pd(_mm_loadu_pd(x->scale + k), size));
    e->negative += (signs & 1) + (signs >> 1);
  }
  double l[2], m[2], r[2];
  _mm_storeu_pd(l, least);
  _mm_storeu_pd(m, most);
  _mm_storeu_pd(r, ratio);
  e->least = fmin(l[0], l[1]);
  e->most = fmax(m[0], m[1]);
  e->cancellation = fmax(r[0], r[1]);
  return k;
#else
  (void)x, (void)e;
  return 0;
#endif
}

static void survey(const vini_fronts *x, vini_tally *t) {
  extremes e = {.least = DBL_MAX};
  vin_int k = t->dropped == 0 ? survey_pairs(x, &e) : 0;
  for (; k < x->plan.n; k++) survey_one(x, k, &e);
  t->smallest = e.most > 0 ? 1 / e.most : 0;
  t->largest = e.most > 0 ? 1 / e.least : 0;
  t->cancellation = e.cancellation;
  t->negative = e.negative;
}

#define KERNEL(name) plain_##name
#define KERNEL_TARGET
#define KERNEL_INLINE static inline __attribute__((always_inline))
#include "linsys/ldlt_kernel_body.h"
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_INLINE

#if defined(__x86_64__) && defined(__GNUC__)
#define VINI_HAVE_AVX2 1
#define KERNEL(name) avx2_##name
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_INLINE static inline __attribute__((always_inline, target("avx2,fma")))
#include "linsys/ldlt_kernel_body.h"
#endif

void vini_fronts_choose_kernel(vini_fronts *fronts, bool plain) {
  fronts->eliminate = plain_eliminate;
  fronts->substitute_one = plain_substitute_one;
  fronts->substitute_two = plain_substitute_two;
#ifdef VINI_HAVE_AVX2
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    fronts->eliminate = avx2_eliminate;
    fronts->substitute_one = avx2_substitute_one;
    fronts->substitute_two = avx2_substitute_two;
  }
#else
  (void)plain;
#endif
}
