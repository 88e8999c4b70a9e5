/* ldlt_kernel - the LDL' of chains: fronts of a few known sizes, eliminated by unrolled code. */
#ifndef VINI_LDLT_KERNEL_H
#define VINI_LDLT_KERNEL_H

#include "linsys/ldlt_front.h"

/* What is told of the pivots of one factorisation; the extremes are of those that were kept. */
typedef struct vini_tally {
  vin_int negative, dropped, failed; /* failed: column whose pivot broke down, -1 */
  double failed_pivot, failed_scale;
  double least, most;  /* |1/d| */
  double cancellation; /* scale / |d| */
} vini_tally;

/* The factorisation. Arrays of n are by columns (elimination order). */
typedef struct vini_fronts {
  vini_backend backend;
  vini_object *object;
  vini_front_plan plan;
  double *memory;           /* what `value` is part of */
  double *value;            /* panels; begins with a cache line */
  double *buffer;           /* squares */
  double *work;             /* 2 max_front: rows of right-hand sides */
  double *lost;             /* n: what was added up to a pivot that was dropped; else unused */
  unsigned char *droppable; /* n, by columns */
  unsigned char *dropped;   /* n, by unknowns */
  double threshold; /* |d| < threshold * what was added up to d is dropped where droppable */
  bool factored;
  vini_tally tally;
  /* One block: false when tally.failed is set; one or two (b2 not NULL) right-hand sides in place, in
   * the numbering of the matrix. Elimination and forward substitution take the blocks upwards, the
   * backward substitution downwards. eliminate: with the forward substitution of b, b2 where b is not
   * NULL. */
  bool (*eliminate)(struct vini_fronts *fronts, const vini_front_block *block, const double *a,
                    double *b, double *b2);
  void (*forward)(struct vini_fronts *fronts, const vini_front_block *block, double *b, double *b2);
  void (*backward)(struct vini_fronts *fronts, const vini_front_block *block, double *b,
                   double *b2);
} vini_fronts;

/* A run of point masses is eliminated in groups of four links, one in each lane. Numbers of a group, four of
 * each kind: L of the node's columns in this rod's row and in the next one's, L of the rod's column, inverses
 * of the pivots x, y, z and the rod's. */
enum {
  POINT_LANES = 4,
  POINT_HERE = 0,
  POINT_NEXT = 12,
  POINT_ROD = 24,
  POINT_INVERSE = 28,
  POINT_GROUP = POINT_LANES * VINI_POINT_NUMBERS
};

/* The group of four links that begins with `link`. */
static inline double *vini_point_group(const vini_fronts *x, const vini_front_run *run,
                                       vin_int link) {
  return x->value + run->panel + link * (int64_t)VINI_POINT_NUMBERS;
}

/* ldlt_pivots.c: d and scale of vini_backend_vtable.pivots, from the panels. */
void vini_fronts_pivots(const vini_fronts *fronts, double *d, double *scale);

/* Sets the three functions: the version for this processor's vector units, or the plain one. */
void vini_fronts_choose_kernel(vini_fronts *fronts, bool plain);

/* The backend: *backend stays NULL when the fronts of this matrix are not mostly of a size that the
 * kernel is made for; the panels of ldlt.c are the faster way then. */
vin_status vini_fronts_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                              const vin_int *order);
bool vini_is_fronts(const vini_backend *backend);
void vini_fronts_set_drop(vini_backend *backend, const unsigned char *droppable, double threshold);
const unsigned char *vini_fronts_dropped(const vini_backend *backend);

#endif
