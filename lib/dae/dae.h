/* dae - internal side: checked evaluation of a vin_dae, for this layer and for integrators. */
#ifndef VINI_DAE_H
#define VINI_DAE_H

#include "base/base.h"
#include "sparse/difference.h"
#include "sparse/sparse.h"
#include "vincula/dae.h"

#include <stdatomic.h>

struct vin_dae {
  vini_object object;
  atomic_int references;
  vin_dae_desc desc; /* patterns and arrays point to own copies; B is always given as triplets */
  vin_int n;
  vin_int d;                /* differential unknowns, -1: B was given */
  vin_int index;            /* the largest declared */
  vin_sparse *mass;         /* B, with its values */
  vin_sparse *pattern;      /* of f_y; its values are not used */
  vini_colouring colouring; /* empty with a jacobian callback */
  bool implicit;            /* 0 = F(t, y, y'): mass has the pattern of F_y', its values are zero */
  vini_colouring rate_colouring; /* of F_y', empty with a callback */
};

/* Evaluation with the scratch of one thread, and its counts. Texts go to `object`. */
typedef struct vini_dae_work {
  const vin_dae *dae;
  vini_object *object;
  vini_differences differences;
  double *f0;     /* n: f at the point of differences */
  double *column; /* compressed values of a difference Jacobian */
  double t;       /* at which the differences move y */
  /* 0 = F(t, y, y'): differences by y', what stays while y or y' moves */
  vini_differences rate_differences;
  double *rate_column;
  const double *y, *yp;
  int64_t function_count;   /* evaluations of f other than those inside a Jacobian */
  int64_t difference_count; /* evaluations of f inside difference Jacobians */
  int64_t jacobian_count;
  vin_difference_report report; /* of the last Jacobian */
  bool warned;                  /* that differences dominate */
} vini_dae_work;

/* Allocates in the context of `object`, which must live as long; dae is borrowed. The work can be
 * destroyed also when this fails, or when it is zeroed. */
vin_status vini_dae_work_create(vini_dae_work *work, const vin_dae *dae, vini_object *object);
void vini_dae_work_destroy(vini_dae_work *work);

/* f (n). VIN_RETRY, VIN_ERR_CALLBACK. */
vin_status vini_dae_function(vini_dae_work *work, double t, const double *y, double *f);
/* values in declared order; f0 = f(t, y) where it is known, else NULL (one evaluation more for
 * differences). Logs once when the differences dominate. */
vin_status vini_dae_jacobian(vini_dae_work *work, double t, const double *y, const double *f0,
                             double *values);
/* f_t (n) by the callback, or by a central difference over a part of step > 0; of differences that
 * time can resolve. scratch: n. */
vin_status vini_dae_time_derivative(vini_dae_work *work, double t, const double *y, double step,
                                    double *f_t, double *scratch);
/* F (n); F_y and F_y' in declared order, by_y or by_yp may be NULL. */
vin_status vini_dae_residual(vini_dae_work *work, double t, const double *y, const double *yp,
                             double *r);
vin_status vini_dae_residual_jacobians(vini_dae_work *work, double t, const double *y,
                                       const double *yp, double *by_y, double *by_yp);
/* Differences of the general form, where callbacks are missing. */
vin_status vini_dae_implicit_work(vini_dae_work *work);
/* VIN_ERR_BAD_INPUT unless the description of the general form is complete. */
vin_status vini_dae_implicit_check(vini_object *object, const vin_dae_desc *desc);
bool vini_dae_inside(const vin_dae *dae, double t, const double *y);

/* VIN_ERR_BAD_INPUT with the name of the first NaN or infinite unknown. */
vin_status vini_dae_finite(const vin_dae *dae, vini_object *object, const char *what,
                           const double *y);

/* VIN_ERR_BAD_INPUT unless h > 0, steps >= least, and times near the grid t0 + k h can resolve h. */
vin_status vini_dae_grid(vini_object *object, double t0, double h, vin_int steps, vin_int least);

#endif
