/* ldlt_lanes_kernel - factorisation and substitution, compiled for the plain instruction set and, on
 * x86-64, for AVX2 with fused multiply-add; the processor is asked once, at creation. */
#include "linsys/ldlt_lanes_kernel.h"
#include "base/lanes.h"

#include <float.h>
#include <math.h>

#define VINI_UNROLL VINI_UNROLL_UP_TO(12)

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

/* The number at a distance in bytes. */
#define AT(v, bytes) (*(v4 *)(void *)((char *)(v) + (bytes)))

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

#define VINI_KERNEL_BODY "linsys/ldlt_bodies_body.h"
#include "base/kernel.h"
#define VINI_KERNEL_BODY "linsys/ldlt_bodies_solve_body.h"
#include "base/kernel.h"
#define VINI_KERNEL_BODY "linsys/ldlt_lanes_body.h"
#include "base/kernel.h"
#define VINI_KERNEL_BODY "linsys/ldlt_lanes_solve_body.h"
#include "base/kernel.h"

void vini_lanes_choose_kernel(vini_lanes *lanes, bool plain) {
  const bool fast = vini_kernel_fast(plain);
  lanes->eliminate = VINI_KERNEL(fast, eliminate);
  lanes->substitute_one = VINI_KERNEL(fast, substitute_one);
  lanes->substitute_two = VINI_KERNEL(fast, substitute_two);
}
