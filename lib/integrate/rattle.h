/* rattle - what the stages of rattle share. */
#ifndef VINI_RATTLE_H
#define VINI_RATTLE_H

#include "integrate/integrate.h"

/* Coordinates are taken block by block, so that what a pass has made of them is still in the cache for
 * the rows that they complete: 8 kB for each vector. */
enum { VINI_RATTLE_BLOCK = 1024 };

/* self->rows_done: false when there is no memory. */
bool vini_rattle_blocks(vin_integrator *self);

/* K z = z in place, self->z, without verification. */
vin_status vini_rattle_solve(vin_integrator *self, vin_int count);

/* From self->next, the predicted increment: to->p with Phi(to->p, from->t + h) = 0, to->v the velocity w
 * at half step. */
vin_status vini_rattle_positions(vin_integrator *self, const vin_state *from, double h,
                                 vin_state *to);

/* to->v += d, the solution of the velocity stage; what p1 = p0 + h w lost to rounding is kept for the next
 * step. *small: |J1 v1| <= velocity_tolerance in all rows, where that may be asked (constant
 * constraints, rows ascend); false otherwise. VIN_STEP_FAILED: p or v is not finite. */
vin_status vini_rattle_finish(vin_integrator *self, const vin_state *from, double h,
                              const double *d, vin_state *to, bool *small);

#endif
