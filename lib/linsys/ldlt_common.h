/* ldlt_common - what every form of L (panels, fronts, lanes, levels) says and does alike. */
#ifndef VINI_LDLT_COMMON_H
#define VINI_LDLT_COMMON_H

#include "linsys/linsys.h"

/* What is known of the pivots of the present factorisation. */
typedef struct vini_ldlt_verdict {
  bool factored;
  vin_int negative, dropped;
  double smallest, largest; /* |d| of those that were kept, or all |1/d|: only their ratio counts */
  double ratio;             /* smallest |d| / scale; not finite: unknown */
} vini_ldlt_verdict;

/* The part of info() that follows from the pivots; nnz_factor, flops and bytes become 0. */
void vini_ldlt_tell(const vini_ldlt_verdict *verdict, vini_factor_info *info);

/* pivots() from count inverses (0: dropped) and scales, those of unknown[k] (< 0: of none). */
void vini_ldlt_spread_pivots(vin_int count, const vin_int *unknown, const double *inverse,
                             const double *from, double *d, double *scale);

/* VIN_SINGULAR, VIN_ERR_BAD_STATE, VIN_ERR_NO_MEMORY, with their texts. */
vin_status vini_ldlt_breakdown(vini_object *object, vin_int unknown, double d, double scale);
vin_status vini_ldlt_unfactored(vini_object *object);
vin_status vini_ldlt_no_memory(vini_object *object, int64_t numbers);

/* Arrays that begin at lines of the cache stand one after the other in memory that has a line to spare. */
enum { VINI_LINE = 8 }; /* numbers in a line */

static inline int64_t vini_whole_lines(int64_t numbers) {
  return (numbers + VINI_LINE - 1) / VINI_LINE * VINI_LINE;
}

static inline double *vini_first_line(double *memory) {
  while ((uintptr_t)memory % (VINI_LINE * sizeof *memory) != 0) memory++;
  return memory;
}

#endif
