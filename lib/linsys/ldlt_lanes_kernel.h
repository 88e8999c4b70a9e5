/* ldlt_lanes_kernel - the arithmetic on the plan of ldlt_lanes.h. */
#ifndef VINI_LDLT_LANES_KERNEL_H
#define VINI_LDLT_LANES_KERNEL_H

#include "linsys/ldlt_kernel.h"
#include "linsys/ldlt_lanes.h"

/* What is told of the pivots of one factorisation; the extremes are of those that were kept. */
typedef struct vini_lanes_tally {
  vin_int negative, dropped, failed; /* failed: position whose pivot broke down, -1 */
  double failed_pivot;
  double smallest, largest; /* |d| */
  double cancellation;      /* largest scale / |d| */
} vini_lanes_tally;

/* The factorisation. Arrays of `positions` are by positions of the plan. */
typedef struct vini_lanes {
  vini_backend backend;
  vini_object *object;
  vini_lane_plan plan;
  double *memory;     /* what the next six stand in, at multiples of 64 bytes */
  double *value;      /* L */
  double *buffer;     /* updates and squares */
  double *work;       /* numbers of a batch, columns of a front, right-hand sides */
  double *inverse;    /* positions: 1/d, 0 for a dropped one or a lane left over */
  double *scale;      /* positions: what was added up to d */
  double *forward[2]; /* positions, for two right-hand sides: of bodies after the forward pass */
  unsigned char *droppable; /* positions */
  unsigned char *dropped;   /* n, by unknowns */
  double threshold;         /* |d| < threshold * scale is dropped where droppable */
  bool factored;
  vini_lanes_tally tally; /* columns are positions */
  bool (*eliminate)(struct vini_lanes *lanes, const double *a);
  void (*substitute_one)(struct vini_lanes *lanes, double *x);
  void (*substitute_two)(struct vini_lanes *lanes, double *x, double *x2);
} vini_lanes;

/* Numbers that `work` holds. */
int64_t vini_lanes_work(const vini_lane_plan *plan);

/* Sets the three functions: the version for this processor's vector units, or the plain one. */
void vini_lanes_choose_kernel(vini_lanes *lanes, bool plain);

/* The backend: *backend stays NULL when this is not the faster way for the matrix. */
vin_status vini_lanes_create(vini_backend **backend, vini_object *object, const vin_sparse *matrix,
                             const vin_int *order);
bool vini_is_lanes(const vini_backend *backend);
void vini_lanes_set_drop(vini_backend *backend, const unsigned char *droppable, double threshold);
const unsigned char *vini_lanes_dropped(const vini_backend *backend);

#endif
