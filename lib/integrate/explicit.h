/* explicit Runge-Kutta methods on p' = v, v' = v'(p, v, t): what explicit.c and partition.c share. */
#ifndef VINI_EXPLICIT_H
#define VINI_EXPLICIT_H

#include "integrate/integrate.h"

enum { VINI_STAGES = 7 };

typedef struct vini_partition vini_partition;

/* self->data of the explicit methods. */
typedef struct vini_explicit {
  int stages;    /* that cost an acceleration, the start's included */
  double *start; /* n: acceleration at the start of the last step; takes turns with self->vdot */
  double *v_own[VINI_STAGES], *a_own[VINI_STAGES]; /* n: stages 1, 2, ... */
  double *wdot_own[VINI_STAGES];                   /* m, third-order stabilisation only */
  const double *v[VINI_STAGES], *a[VINI_STAGES], *wdot[VINI_STAGES]; /* slopes of all stages */
  vini_partition *partition; /* NULL: all coordinates are integrated */
} vini_explicit;

vin_status vini_explicit_create(vin_integrator *self);
void vini_explicit_destroy(vin_integrator *self);

/* partition.c: dependent p (n) and v (n) from Phi = 0 and h = 0 at t; the independent ones are kept. */
vin_status vini_partition_complete(vin_integrator *self, double t, double *p, double *v);
vin_status vini_partition_create(vin_integrator *self);
void vini_partition_destroy(vin_integrator *self);
vin_status vini_partition_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                               bool continues);

#endif
