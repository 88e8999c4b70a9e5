/* branch - internal side: the algebraic equations of a semi-explicit index-1 problem. */
#ifndef VINI_BRANCH_H
#define VINI_BRANCH_H

#include "dae/dae.h"
#include "dae/newton.h"
#include "vincula/linsys.h"

struct vin_branch {
  vini_object object;
  vin_dae *dae;
  vin_int n, d, m;
  vini_dae_work work;
  vin_linsys_options linsys_options;
  vin_linsys *linsys; /* g_z */
  vin_int count;      /* entries of g_z */
  vin_int *row, *col; /* count: in g_z */
  vin_int *place;     /* count: in the Jacobian's triplets */
  double *values;     /* the Jacobian in declared order */
  double *block;      /* count: values of g_z */
  bool linearised;    /* values, block and the factorisation belong to (t, y) */
  double t;
  double *y;              /* n: x and the iterate, or the point of linearisation */
  double *f;              /* n: f at the point evaluated last */
  double *r, *dx, *trial; /* m each */
  double *scratch;        /* n */
};

/* Fails unless dae is created, semi-explicit and declared to be of index 1. `what` needs it. */
vin_status vini_dae_index1(const vin_dae *dae, vini_object *object, const char *what);
/* linsys options of a solver and tolerance, with checks left to vin_linsys_create(). */
vin_linsys_options vini_dae_linsys_options(vin_solver solver, double residual_tolerance);
/* Values of g_z := those of the branch's Jacobian values, factorised. VIN_SINGULAR says where. */
vin_status vini_branch_factor(vin_branch *branch, double t);
/* vin_branch_linearise() with f = f(t, y) known and y checked. */
vin_status vini_branch_linearise(vin_branch *branch, double t, const double *y, const double *f);

#endif
