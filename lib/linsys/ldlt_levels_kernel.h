/* ldlt_levels_kernel - the arithmetic on the plan of ldlt_levels.h. */
#ifndef VINI_LDLT_LEVELS_KERNEL_H
#define VINI_LDLT_LEVELS_KERNEL_H

#include "linsys/ldlt_levels.h"

/* The factorisation. Arrays of `positions` are by positions of the plan. */
typedef struct vini_levels {
  vini_backend backend;
  vini_object *object;
  vini_level_plan plan;
  double *memory;  /* what the next four stand in, at multiples of 64 bytes */
  double *value;   /* L */
  double *buffer;  /* updates */
  double *inverse; /* positions: 1/d, 0 for a lane left over */
  double *scale;   /* positions: magnitudes that were added up to d */
  double threshold;
  bool factored;
  vin_int failed; /* position of a weak pivot, -1: none */
  double failed_pivot;
  vin_int negative;
  double smallest, largest, cancellation; /* |d|; largest scale / |d| */
  bool (*eliminate)(struct vini_levels *levels, const vini_level_batch *batch, const double *a);
  void (*survey)(struct vini_levels *levels);
  /* one right-hand side, or two (b2 not NULL) */
  void (*forward)(const struct vini_levels *levels, const vini_level_batch *batch, double *b,
                  double *b2);
  void (*backward)(const struct vini_levels *levels, const vini_level_batch *batch, double *b,
                   double *b2);
} vini_levels;

/* Sets the functions: the version for this processor's vector units, or the plain one. */
void vini_levels_choose_kernel(vini_levels *levels, bool plain);

#endif
