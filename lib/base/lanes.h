/* lanes - four like things side by side: vectors of four numbers, and two neighbouring numbers of each of the
 * four from and to memory. Functions come for the plain instruction set and, on x86-64, for AVX2. */
#ifndef VINI_LANES_H
#define VINI_LANES_H

#include <stdint.h>

/* aligned as their numbers are */
typedef double vini_v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double vini_v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t vini_v4i __attribute__((vector_size(32)));

/* *first := {a[0], b[0], c[0], d[0]}, *second := {a[1], b[1], c[1], d[1]} */
static inline void vini_plain_pairs(const double *a, const double *b, const double *c,
                                    const double *d, vini_v4 *first, vini_v4 *second) {
  *first = (vini_v4){a[0], b[0], c[0], d[0]};
  *second = (vini_v4){a[1], b[1], c[1], d[1]};
}

/* and back */
static inline void vini_plain_store_pairs(double *a, double *b, double *c, double *d,
                                          const vini_v4 *first, const vini_v4 *second) {
  a[0] = (*first)[0], a[1] = (*second)[0];
  b[0] = (*first)[1], b[1] = (*second)[1];
  c[0] = (*first)[2], c[1] = (*second)[2];
  d[0] = (*first)[3], d[1] = (*second)[3];
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define VINI_HAVE_AVX2 1
#define VINI_AVX2_INLINE static inline __attribute__((always_inline, target("avx2,fma")))

VINI_AVX2_INLINE __m256d vini_avx2_two_pairs(const double *low, const double *high) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}

VINI_AVX2_INLINE void vini_avx2_pairs(const double *a, const double *b, const double *c,
                                      const double *d, vini_v4 *first, vini_v4 *second) {
  const __m256d even = vini_avx2_two_pairs(a, c), odd = vini_avx2_two_pairs(b, d);
  *first = (vini_v4)_mm256_unpacklo_pd(even, odd);
  *second = (vini_v4)_mm256_unpackhi_pd(even, odd);
}

VINI_AVX2_INLINE void vini_avx2_store_pairs(double *a, double *b, double *c, double *d,
                                            const vini_v4 *first, const vini_v4 *second) {
  const __m256d even = _mm256_unpacklo_pd((__m256d)*first, (__m256d)*second);
  const __m256d odd = _mm256_unpackhi_pd((__m256d)*first, (__m256d)*second);
  _mm_storeu_pd(a, _mm256_castpd256_pd128(even));
  _mm_storeu_pd(b, _mm256_castpd256_pd128(odd));
  _mm_storeu_pd(c, _mm256_extractf128_pd(even, 1));
  _mm_storeu_pd(d, _mm256_extractf128_pd(odd, 1));
}
#endif

#endif
