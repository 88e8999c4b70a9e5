/* second - second derivatives of the constraints, D[i][j][k] = d Phi_p[i][j] / d p_k, by coloured
 * differences of the Jacobian: columns that share no constraint are displaced together, because a
 * row's change then has one cause. */
#ifndef VINI_SECOND_H
#define VINI_SECOND_H

#include "sparse/colour.h"
#include "sparse/sparse.h"
#include "system/system.h"

typedef struct vini_second {
  const vin_system *system;
  vin_sparse *pattern; /* Phi_p, compressed: entry (i, k) is a slot */
  vini_colouring colouring;
  vin_int *row_start; /* m + 1: row i has the columns col[row_start[i] .. row_start[i+1]-1] */
  vin_int *col;       /* entries */
  vin_int *slot;      /* entries: slots, row by row */
  vin_int *place;     /* entries: place in the row of each slot */
  int64_t *first;     /* m + 1: block of row i, D[first[i] + j length + k], places j and k */
  double *d;          /* first[m] */
  double *rate;       /* entries, by row: d Phi_t[i] / d p_k */
  double *moved, *values, *base, *high, *rate_base, *rate_high; /* scratch */
  bool known; /* d holds for every p at the time t */
  double t;
  int64_t evaluations; /* of the Jacobian */
} vini_second;

/* VIN_ERR_TOO_LARGE: more than INT32_MAX second derivatives. On failure it can be destroyed. */
vin_status vini_second_create(vini_second *second, vini_object *object, const vin_system *system);
void vini_second_destroy(vini_second *second, const vin_context *context);
/* D and the derivatives of Phi_t at (t, p). One Jacobian a colour where Phi is quadratic, exact but for
 * rounding and kept; else four, about twelve digits. */
vin_status vini_second_evaluate(vini_second *second, vini_object *object, double t,
                                const double *p);
/* Entries of all rows, and of the places of a lower triangle and of a full square of each row. */
vin_int vini_second_entries(const vini_second *second);
int64_t vini_second_lower_count(const vini_second *second);
int64_t vini_second_full_count(const vini_second *second);
/* Patterns and values of sum_i weight_i D_i: lower triangles, full squares, row by row. */
void vini_second_lower_pattern(const vini_second *second, vin_int *row, vin_int *col);
void vini_second_full_pattern(const vini_second *second, vin_int *row, vin_int *col);
void vini_second_lower(const vini_second *second, const double *weight, double *values);
void vini_second_full(const vini_second *second, const double *weight, double *values);
/* (Phi_p v + Phi_t)_p: pattern and values, row by row. */
void vini_second_rate_pattern(const vini_second *second, vin_int *row, vin_int *col);
void vini_second_rate(const vini_second *second, const double *v, double *values);

#endif
