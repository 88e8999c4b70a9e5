/* partition - independent and dependent coordinates, theory (29e) to (29g). */
#ifndef VINI_PARTITION_H
#define VINI_PARTITION_H

#include "integrate/explicit.h"
#include "linsys/linsys.h"
#include "sparse/sparse.h"

/* With B the rank x rank matrix of Phi_p's kept rows and dependent columns. */
struct vini_partition {
  bool known;    /* there is a choice */
  bool trouble;  /* B was singular or Newton's method failed: another choice may help */
  vin_int rank;  /* dependent coordinates */
  vin_int count; /* independent ones */
  vin_int *independent, *dependent; /* n: count, rank of them, ascending */
  unsigned char *is_dependent;      /* n */
  vin_int *row_place, *col_place;   /* m, n: place in B, or -1 */
  vin_int entries;                  /* of B */
  vin_int *entry;                   /* Phi_p's entry for each of B's */
  vin_int *b_row, *b_col;           /* pattern of B */
  double *b_value;
  vin_linsys *b;              /* analysed once for each choice */
  bool factored;              /* of some recent Phi_p */
  double *right, *solution;   /* m */
  double *phi, *rate, *floor; /* m */
  double *probe;              /* n */
  /* how good the choice is: see choose.c */
  double growth, growth_limit; /* |B^-1 N s| for signs s: now, and what calls for a new choice */
  double *share, weakest; /* m: rows' parts in B when chosen; the least of now, in units of it */
  vin_sparse *jacobian;   /* Phi_p with rows of length 1, for the choice */
  double *scaled;         /* its values */
  vin_solver_stats stats; /* of the B before the present one */
};

/* choose.c: a choice at (t, p, v), B factorised there. */
vin_status vini_partition_choose(vin_integrator *self, double t, const double *p, const double *v);
/* Factorises B with the projector's Phi_p; then measures how good the choice is there. */
vin_status vini_partition_factor(vin_integrator *self);
vin_status vini_partition_measure(vin_integrator *self);
/* The choice serves, as last measured. */
bool vini_partition_fit(const vini_partition *part);

vini_partition *vini_partition_of(const vin_integrator *self); /* NULL with other methods */

#endif
