/* difference - a sparse Jacobian by coloured differences of second order, with an estimate of its
 * error. */
#ifndef VINI_DIFFERENCE_H
#define VINI_DIFFERENCE_H

#include "sparse/colour.h"

/* Estimated error of an entry relative to the largest entry of its row: above this the differences,
 * not the problem, set the rate of Newton's method (three digits an iteration). */
#define VINI_DIFFERENCE_LIMIT 1e-3

typedef struct vini_difference_report {
  double relative_error; /* the largest estimate, relative to the largest entry of its row */
  vin_int row, col;      /* where; -1: the Jacobian is zero */
} vini_difference_report;

/* f := F(x). A status > 0 means that F does not exist at x; points on the other side are tried. */
typedef vin_status (*vini_difference_function)(void *self, const double *x, double *f);

/* Scratch for one thread. The pattern (general, as vin_sparse_view gives it) and the colouring are
 * borrowed. */
typedef struct vini_differences {
  vin_csc pattern;
  const vini_colouring *colouring;
  const double *typical;       /* cols: least size of x[j] for the choice of its step; NULL: 1 */
  double noise;                /* relative error of F: the step is its cube root times the size */
  double *x, *step_a, *step_b; /* cols: moved point, the two displacements of each column */
  double *a, *b;               /* rows: F at the displaced points */
  double *error;               /* entries: estimated error of truncation */
  double *terms, *scale;       /* rows: size of the terms of F, largest entry of the row */
  double *memory;
} vini_differences;

/* noise 0: rounding. */
vin_status vini_differences_create(vini_differences *differences, vini_object *object,
                                   vin_csc pattern, const vini_colouring *colouring, double noise,
                                   const double *typical);
void vini_differences_destroy(vini_differences *differences, const vin_context *context);

/* values (one for each entry of the pattern) := dF/dx at x, from f0 = F(x) and 2 evaluations a
 * group: at x +- step, or where that fails at one side at step and 2 step of the other. F keeps its
 * own text. A failure on both sides is returned. Adds the evaluations to *evaluations. */
vin_status vini_differences_jacobian(vini_differences *differences, vini_difference_function f,
                                     void *self, const double *x, const double *f0, double *values,
                                     vini_difference_report *report, int64_t *evaluations);

#endif
