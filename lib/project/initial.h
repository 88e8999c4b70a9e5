/* initial - internal side: the verification of initial values. */
#ifndef VINI_INITIAL_H
#define VINI_INITIAL_H

#include "project/project.h"

/* Copies and checks options. */
vin_status vini_initial_options(vin_projector *projector, vin_initial_options *own,
                                const vin_initial_options *given);
/* Fills in residuals, ranks, trial step and verdict; the state is finite. */
vin_status vini_initial_verify(vin_projector *projector, const vin_initial_options *options,
                               double t, const double *p, const double *v, const double *vdot,
                               const double *lambda, vin_initial_report *report);

#endif
