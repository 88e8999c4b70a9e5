/* augmented - the sparse Newton matrices of the implicit methods, theory (102): blocks
 *
 *     [ c_M M + c_fp F_p + c_fv F_v            c_J Phi_p' ]
 *     [ c_R Phi_p + c_gp G_p + c_gv G_v             0     ]       n + m
 *
 * one of them, or four as [ 0 1; 2 3 ]: a complex matrix in real numbers, or two coupled stages.
 * Dependent constraint rows are replaced by lambda_c = 0. A single block that is symmetric but for small parts
 * goes to LDL' without them; UMFPACK's analysis is then made when first needed. */
#ifndef VINI_AUGMENTED_H
#define VINI_AUGMENTED_H

#include "integrate/symmetric.h"
#include "integrate/tangent.h"
#include "vincula/linsys.h"

struct vini_block {
  double mass, jacobian, rows; /* rows: c_R. 0 at creation (the first two): never there */
  double f_p, f_v, g_p, g_v;
};

typedef struct vini_augmented {
  vini_object *object;
  const vini_tangent *tangent;
  vin_stats *stats;
  vin_linsys *linsys; /* NULL: not needed yet */
  vini_symmetric symmetric;
  bool is_symmetric; /* the present factorisation */
  int general;       /* so many factorisations are for UMFPACK, after LDL' was of no use */
  int stages;        /* 1 or 2; stages^2 blocks */
  vini_block shape[4];
  const unsigned char *dropped; /* m: rows replaced by lambda = 0 */
  double *values;               /* declared order */
  bool factored;
  vin_linsys_info seen; /* counters that are in stats already */
} vini_augmented;

/* Pattern and analysis; once. options: of the saddle point, solver UMFPACK: for every factorisation. shape: which parts each block may have (non-zero: it may). */
vin_status vini_augmented_create(vini_augmented *matrix, vini_object *object,
                                 const vini_tangent *tangent, vin_stats *stats,
                                 const vin_kkt_options *options, int stages,
                                 const vini_block *shape, const unsigned char *dropped);
void vini_augmented_destroy(vini_augmented *matrix, const vin_context *context);
/* mass, jacobian: values in declared order; the tangents are those last evaluated. VIN_SINGULAR. */
vin_status vini_augmented_factor(vini_augmented *matrix, const vini_block *blocks,
                                 const double *mass, const double *jacobian);
/* The present factorisation leads nowhere; true: another kind will be made in its place. */
bool vini_augmented_give_up(vini_augmented *matrix);
/* In place on stages * (n + m). VIN_SINGULAR, VIN_STEP_FAILED (not finite). */
vin_status vini_augmented_solve(vini_augmented *matrix, double *x);

#endif
