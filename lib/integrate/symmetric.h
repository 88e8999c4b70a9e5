/* symmetric - the Newton matrix of one stage as a symmetric saddle point, for the library's LDL':
 *
 *     [ (A + A')/2   Phi_p' ]
 *     [ Phi_p          0    ],   A = c_M M + c_fp F_p + c_fv F_v
 *
 * It leaves out what is not symmetric: the skew part of A and the derivatives of Phi_p in the constraint rows.
 * Where these are small, Newton's method contracts by about their share. */
#ifndef VINI_SYMMETRIC_H
#define VINI_SYMMETRIC_H

#include "integrate/tangent.h"
#include "vincula/kkt.h"

typedef struct vini_block vini_block;

typedef struct vini_symmetric {
  const vini_tangent *tangent;
  const unsigned char *dropped; /* m: rows that are left out */
  vin_kkt *kkt;                 /* NULL: there is none */
  vin_int *twin;                /* entry (j, i) of entry (i, j) of the force tangents, or -1 */
  double *h, *j;                /* values in declared order */
  double *diagonal, *row;       /* n, m */
  double rows;                  /* c_R of the present factorisation */
  bool tangents;                /* F_p or F_v may be there */
  vin_solver_stats seen;        /* counters that are in the integrator's already */
} vini_symmetric;

/* solver: AUTO or one of the LDL'. Sets the text of `object` where it fails. */
vin_status vini_symmetric_create(vini_symmetric *matrix, vini_object *object,
                                 const vini_tangent *tangent, const vin_kkt_options *options,
                                 const vini_block *shape, const unsigned char *dropped);
void vini_symmetric_destroy(vini_symmetric *matrix, const vin_context *context);
/* Is what it leaves out small enough? */
bool vini_symmetric_fits(vini_symmetric *matrix, const vini_block *block, const double *mass,
                         const double *jacobian);
/* VIN_SINGULAR: also where a row depends on others that is not left out, and for a bad verdict. */
vin_status vini_symmetric_factor(vini_symmetric *matrix, vini_object *object,
                                 const vini_block *block, const double *mass,
                                 const double *jacobian);
/* In place on n + m, as the augmented matrix does it; unverified. */
vin_status vini_symmetric_solve(vini_symmetric *matrix, vini_object *object, double *x);
/* Adds what was done since the last call. */
void vini_symmetric_count(vini_symmetric *matrix, vin_solver_stats *stats);

#endif
