/* minimise - internal side: the problem's values at a point, and its saddle point. */
#ifndef VINI_MINIMISE_H
#define VINI_MINIMISE_H

#include "base/base.h"
#include "vincula/project.h"

/* Below a size of 1 / VINI_SHARPNESS of its terms the tolerance of a constraint is relative to them,
 * for VINI_POLISHES steps: the size does not know of lengths that the callbacks keep to themselves, whose
 * rounding may be larger. */
#define VINI_SHARPNESS 1e3
#define VINI_POLISHES 2

struct vin_minimiser {
  vini_object object;
  vin_minimise_desc desc; /* patterns point to own copies */
  vin_minimise_options options;
  vin_kkt *kkt;
  vin_int n, m, free;
  double *weight;        /* n: of the distance; 1 with an objective */
  unsigned char *fixed;  /* n: asked for, or the weight is infinite */
  unsigned char *always; /* n: the weight is infinite */
  /* H of the saddle point: values of F'', of the second derivatives of c, then n diagonal entries */
  double *h;
  vin_int *h_row, *h_col;
  vin_int h_count;
  double *a, *a_free; /* A, and A without the columns of fixed unknowns */
  double *compliance; /* m */
  /* at y: */
  double *start, *y, *gradient, *d, *tangent, *trial, *rest, *scale; /* n */
  double *c, *c_trial, *lambda, *mu, *nu, *floor, *right, *size;     /* m */
  double value, value_trial;
  double h_size, shift, damping, damping_size;
  bool stationary;
  int polished;
  vin_minimise_report report;
};

/* F at y; F' at y, zero for fixed unknowns; c at y; A at self->y with its floor. */
vin_status vini_minimiser_value(vin_minimiser *self, const double *y, double *value);
vin_status vini_minimiser_constraint(vin_minimiser *self, const double *y, double *c);
vin_status vini_minimiser_derivatives(vin_minimiser *self);
/* |c_i| <= max(tolerance, slack floor_i) for all i */
bool vini_minimiser_feasible(const vin_minimiser *self, double slack);
/* Feasible, and small compared with the unknowns too, or asked that often in vain. */
bool vini_minimiser_settled(vin_minimiser *self);
/* H at self->y and lambda, without the shift. */
vin_status vini_minimiser_hessian(vin_minimiser *self);
/* Factorises [H + shift A'; A 0], or [W A'; A -damping] when damping >= 0. */
vin_status vini_minimiser_factor(vin_minimiser *self, double shift);
vin_status vini_minimiser_factor_restoring(vin_minimiser *self, double damping);
/* x' H x, *size: the sum of the magnitudes */
double vini_minimiser_curvature(const vin_minimiser *self, const double *x, double *size);
/* y += A x, over the free unknowns */
void vini_minimiser_multiply(const vin_minimiser *self, const double *x, double *y);
/* y := A' x, size := the sum of the magnitudes, over the free unknowns */
void vini_minimiser_transposed(const vin_minimiser *self, const double *x, double *y, double *size);
void vini_minimiser_constraint_name(const vin_minimiser *self, vin_int row, char *text,
                                    size_t size);
void vini_minimiser_unknown_name(const vin_minimiser *self, vin_int index, char *text, size_t size);

#endif
