/* lanes - four like things side by side, for the kernels of kernel.h: two neighbouring numbers of each of the
 * four from and to memory, and what moves between neighbours. */
#ifndef VINI_LANES_H
#define VINI_LANES_H

#include "base/kernel.h"
#include "vincula/base.h"

/* b at four places := or += the first `count` numbers of v. Places may be the same. */
static inline __attribute__((always_inline)) void vini_put_lanes(double *b, const vin_int *index,
                                                                 const v4 *v, const int count) {
  b[index[0]] = (*v)[0];
  if (count > 1) b[index[1]] = (*v)[1];
  if (count > 2) b[index[2]] = (*v)[2];
  if (count > 3) b[index[3]] = (*v)[3];
}

static inline __attribute__((always_inline)) void vini_add_lanes(double *b, const vin_int *index,
                                                                 const v4 *v, const int count) {
  b[index[0]] += (*v)[0];
  if (count > 1) b[index[1]] += (*v)[1];
  if (count > 2) b[index[2]] += (*v)[2];
  if (count > 3) b[index[3]] += (*v)[3];
}

/* {first, v[0], v[1], v[2]} */
#if defined(__clang__)
#define SHIFTED_UP(first, v) __builtin_shufflevector(v, ((v4){first}), 4, 0, 1, 2)
#else
#define SHIFTED_UP(first, v) __builtin_shuffle(v, ((v4){first}), ((v4i){4, 0, 1, 2}))
#endif

/* *first := {a[0], b[0], c[0], d[0]}, *second := {a[1], b[1], c[1], d[1]} */
static inline void plain_pairs(const double *a, const double *b, const double *c, const double *d,
                               v4 *first, v4 *second) {
  *first = (v4){a[0], b[0], c[0], d[0]};
  *second = (v4){a[1], b[1], c[1], d[1]};
}

#ifdef VINI_KERNEL_AVX2
#include <immintrin.h>
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2,fma")))

AVX2_INLINE __m256d avx2_two_pairs(const double *low, const double *high) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}

AVX2_INLINE void avx2_pairs(const double *a, const double *b, const double *c, const double *d,
                            v4 *first, v4 *second) {
  const __m256d even = avx2_two_pairs(a, c), odd = avx2_two_pairs(b, d);
  *first = (v4)_mm256_unpacklo_pd(even, odd);
  *second = (v4)_mm256_unpackhi_pd(even, odd);
}

/* and back */
AVX2_INLINE void avx2_store_pairs(double *a, double *b, double *c, double *d, const v4 *first,
                                  const v4 *second) {
  const __m256d even = _mm256_unpacklo_pd((__m256d)*first, (__m256d)*second);
  const __m256d odd = _mm256_unpackhi_pd((__m256d)*first, (__m256d)*second);
  _mm_storeu_pd(a, _mm256_castpd256_pd128(even));
  _mm_storeu_pd(b, _mm256_castpd256_pd128(odd));
  _mm_storeu_pd(c, _mm256_extractf128_pd(even, 1));
  _mm_storeu_pd(d, _mm256_extractf128_pd(odd, 1));
}
#undef AVX2_INLINE
#endif

#endif
