/* ldlt_kernel - factorisation and substitution, compiled for the plain instruction set and, on x86-64,
 * for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_kernel.h"
#include "base/lanes.h"

#include <float.h>
#include <math.h>

#define VINI_UNROLL VINI_UNROLL_UP_TO(12)

/* The seldom way of a pivot: dropped where that is allowed, broken down where it is not. */
static double weak_pivot(vini_fronts *x, vini_tally *t, vin_int column, double d, double scale) {
  const double size = fabs(d);
  if (x->droppable[column] && size <= DBL_MAX) {
    x->dropped[x->plan.order[column]] = 1;
    x->lost[column] = scale;
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

/* Numbers of four links, the first one's at a, one in each lane, and back. */
#define STRIDED(a, step) ((v4){(a)[0], (a)[step], (a)[2 * (step)], (a)[3 * (step)]})
#define LINKS(a, step) (a), (a) + (step), (a) + 2 * (step), (a) + 3 * (step)
#define SPREAD(a, step, v)                                                                         \
  do {                                                                                             \
    (a)[0] = (v)[0];                                                                               \
    (a)[step] = (v)[1];                                                                            \
    (a)[2 * (step)] = (v)[2];                                                                      \
    (a)[3 * (step)] = (v)[3];                                                                      \
  } while (0)

/* Number u of one (b) or two (b, b2) right-hand sides. */
#define LOAD_one(u) b[u]
#define STORE_one(u, v) b[u] = (v)
#define NONE_one(x) (x[3] == 0 && x[0] == 0 && x[1] == 0 && x[2] == 0)
#define NONE_two(x) false /* seldom: not worth asking */
#define LOAD_two(u)                                                                                \
  (v2) {                                                                                           \
    b[u], b2[u]                                                                                    \
  }
#define STORE_two(u, v)                                                                            \
  do {                                                                                             \
    const v2 pair = (v);                                                                           \
    b[u] = pair[0];                                                                                \
    b2[u] = pair[1];                                                                               \
  } while (0)

/* a b + c, spelled out where several products meet in a sum: which of them is fused is the compiler's choice
 * otherwise, and not the same wherever the function becomes part of another. */
static inline double plain_fma_one(double a, double b, double c) {
  return a * b + c;
}

static inline v2 plain_fma_two(double a, v2 b, v2 c) {
  return a * b + c;
}

#ifdef VINI_KERNEL_AVX2
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,fma")))

/* a := the smaller, the larger of a and b. */
AVX2_INLINE void avx2_lower(v4 *a, const v4 *b) {
  *a = (v4)_mm256_min_pd((__m256d)*a, (__m256d)*b);
}

AVX2_INLINE void avx2_raise(v4 *a, const v4 *b) {
  *a = (v4)_mm256_max_pd((__m256d)*a, (__m256d)*b);
}

/* Is every lane set? */
AVX2_INLINE bool avx2_all(const v4i *set) {
  return _mm256_movemask_pd((__m256d)*set) == 15;
}

AVX2_INLINE double avx2_fma_one(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

AVX2_INLINE v2 avx2_fma_two(double a, v2 b, v2 c) {
  return (v2)_mm_fmadd_pd(_mm_set1_pd(a), (__m128d)b, (__m128d)c);
}
#undef AVX2_INLINE
#endif

#define VINI_KERNEL_BODY "linsys/ldlt_kernel_link.h"
#include "base/kernel.h"
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
