/* ldlt_lanes_kernel - factorisation and substitution, compiled for the plain instruction set and, on
 * x86-64, for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_lanes_kernel.h"

#include <float.h>
#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#define VINI_UNROLL _Pragma("GCC unroll 12")
#else
#define VINI_UNROLL
#endif

/* four lanes, or four rows of a front */
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t v4i __attribute__((vector_size(32)));

#define MAGNITUDE(v) ((v4)((v4i)(v)&magnitude_bits))
static const v4i magnitude_bits = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

/* Pivots of a front that multiplies its column by itself before it divides: more work, less to wait for. With five there
 * are too few registers. */
#define EARLY_PIVOTS 4

/* Fronts up to this size are substituted number by number: vectors would have to go through memory. */
#define FEW_COLUMNS 10

/* a[0], b[0], a[2], b[2]; a[1], b[1], a[3], b[3] */
#if defined(__clang__)
#define LOWERS(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define UPPERS(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#else
#define LOWERS(a, b) __builtin_shuffle(a, b, (v4i){0, 4, 2, 6})
#define UPPERS(a, b) __builtin_shuffle(a, b, (v4i){1, 5, 3, 7})
#endif

/* Two halves together. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define JOINED(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)
#endif
#endif
#if !defined(JOINED)
#define JOINED(a, b) ((v4){(a)[0], (a)[1], (b)[0], (b)[1]})
#endif

/* Lanes that hold a leaf, by their number. */
static const v4i in_use[VINI_LANES + 1] = {
    {0}, {-1, 0, 0, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}, {-1, -1, -1, -1}};

int64_t vini_lanes_work(const vini_lane_plan *plan) {
  const int64_t numbers = VINI_LANES * (int64_t)plan->max_numbers;
  const int64_t most = vini_max_int(plan->max_size, VINI_LEAF_PIVOTS + VINI_BODY_ROWS);
  const int64_t columns = 2 * VINI_LANES * (most + VINI_LANES);
  return numbers > columns ? numbers : columns;
}

/* The seldom way of a pivot: dropped where that is allowed, broken down where it is not. */
static double weak_pivot(vini_lanes *x, vini_lanes_tally *t, vin_int position, double d) {
  const double size = fabs(d);
  if (x->droppable[position] && size <= DBL_MAX) {
    x->dropped[x->plan.unknown[position]] = 1;
    t->dropped++;
    return 0;
  }
  if (!(size >= DBL_MIN && size <= DBL_MAX)) { /* 1/d of a subnormal number overflows */
    if (t->failed < 0) {
      t->failed = position;
      t->failed_pivot = d;
    }
    return 0;
  }
  return 1 / d;
}

#define KERNEL(name) plain_##name
#define KERNEL_TARGET
#define KERNEL_APART static __attribute__((noinline))
#define KERNEL_INLINE static inline __attribute__((always_inline))
#include "linsys/ldlt_bodies_body.h"
#include "linsys/ldlt_bodies_solve_body.h"
#include "linsys/ldlt_lanes_body.h"
#include "linsys/ldlt_lanes_solve_body.h"
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_APART
#undef KERNEL_INLINE

#if defined(__x86_64__) && defined(__GNUC__)
#define VINI_HAVE_AVX2 1
#define KERNEL(name) avx2_##name
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_APART KERNEL_TARGET static __attribute__((noinline))
#define KERNEL_INLINE static inline __attribute__((always_inline, target("avx2,fma")))
#include "linsys/ldlt_bodies_body.h"
#include "linsys/ldlt_bodies_solve_body.h"
#include "linsys/ldlt_lanes_body.h"
#include "linsys/ldlt_lanes_solve_body.h"
#endif

void vini_lanes_choose_kernel(vini_lanes *lanes, bool plain) {
  lanes->eliminate = plain_eliminate;
  lanes->substitute_one = plain_substitute_one;
  lanes->substitute_two = plain_substitute_two;
#ifdef VINI_HAVE_AVX2
  if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    lanes->eliminate = avx2_eliminate;
    lanes->substitute_one = avx2_substitute_one;
    lanes->substitute_two = avx2_substitute_two;
  }
#else
  (void)plain;
#endif
}
