/* kernel - inner loops that are compiled twice: for the plain instruction set and, on x86-64, for AVX2 with
 * fused multiply-add. The processor is asked once, when an object is created.
 *
 *     #define VINI_KERNEL_BODY "linsys/ldlt_wide_body.h"
 *     #include "base/kernel.h"
 *
 * includes the body once for each instruction set; more bodies of one file likewise, one after the other. A body
 * writes
 *     KERNEL_TARGET static void KERNEL(update)(...)   for what the file calls, by VINI_KERNEL
 *     KERNEL_APART void KERNEL(rare)(...)             for what shall stand by itself
 *     KERNEL_INLINE double KERNEL(part)(...)          for what shall be part of its callers
 * and takes back the macros that it defines. Without a body the header gives only what follows. */
#ifndef VINI_KERNEL_H
#define VINI_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* two and four numbers, aligned as single numbers are */
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t v4i __attribute__((vector_size(32)));

#define MAGNITUDE(v) ((v4)((v4i)(v)&magnitude_bits))
static const v4i magnitude_bits = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

/* Before a loop of up to `count` rounds, a number: gcc -O2 leaves short constant loops rolled otherwise; -O0 unrolls
 * none and says so. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define VINI_UNROLL_UP_TO(count) VINI_KERNEL_PRAGMA(GCC unroll count)
#define VINI_KERNEL_PRAGMA(text) _Pragma(#text)
#else
#define VINI_UNROLL_UP_TO(count)
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define VINI_KERNEL_AVX2 1
#endif

/* The version of `name` for this processor, where `fast` is what vini_kernel_fast() said. */
#ifdef VINI_KERNEL_AVX2
#define VINI_KERNEL(fast, name) ((fast) ? avx2_##name : plain_##name)
#else
#define VINI_KERNEL(fast, name) ((void)(fast), plain_##name)
#endif

/* plain: the plain instruction set in any case (tests compare the two). */
static inline bool vini_kernel_fast(bool plain) {
#ifdef VINI_KERNEL_AVX2
  return !plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  (void)plain;
  return false;
#endif
}

#endif

#ifdef VINI_KERNEL_BODY

#define KERNEL(name) plain_##name
#define KERNEL_TARGET
#define KERNEL_APART static __attribute__((noinline))
#define KERNEL_INLINE static inline __attribute__((always_inline))
#include VINI_KERNEL_BODY
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_APART
#undef KERNEL_INLINE

#ifdef VINI_KERNEL_AVX2
#define KERNEL(name) avx2_##name
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_APART KERNEL_TARGET static __attribute__((noinline))
#define KERNEL_INLINE static inline __attribute__((always_inline, target("avx2,fma")))
#include VINI_KERNEL_BODY
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_APART
#undef KERNEL_INLINE
#endif

#undef VINI_KERNEL_BODY
#endif
