/* integrate - internal side. */
#ifndef VINI_INTEGRATE_H
#define VINI_INTEGRATE_H

#include "base/base.h"
#include "project/project.h"
#include "vincula/integrate.h"

struct vin_integrator {
  vini_object object;
  vin_system *system;
  vin_options options;
  vin_projector *projector;
  vin_int n, m;
  bool valid;        /* what is kept of the last step's end fits the state that it returned */
  int64_t stamp;     /* the projector's, when its factorisation was that of the last end */
  bool factor_fits;  /* ... and it is that of M, Phi_p there */
  uint64_t end_hash; /* of the last result, for callers that don't say whether they go on from it */
  bool hash_known;
  vin_stats stats;
  double *f;     /* n: force at the last end */
  double *vdot;  /* n: acceleration at the last end (explicit methods) */
  double *wn[4]; /* n */
  double *wm[2]; /* m */
  /* rattle: multiplier-free increments, see rattle.c */
  double *z;         /* 2 (n + m): velocity stage and next position stage, solved together */
  double *next;      /* n: increment of the next position stage, predicted: the second half of z */
  double *s;         /* m: right-hand side of the position stage */
  double *floor;     /* m: rounding floors of Phi, renewed every FLOOR_STEPS steps */
  int floor_age;     /* steps since then; -1: not known */
  double *s_past[3]; /* m each: converged s of the last steps, newest first */
  int s_count;
  double last_h;
};

/* Methods. `continues`: from is the end of the last step and self->valid holds. */
vin_status vini_rattle_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                            bool continues);
vin_status vini_explicit_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                              bool continues);
/* Turns any recoverable failure of the projector into VIN_STEP_FAILED with its text; VIN_RETRY and
 * fatal statuses stay. */
vin_status vini_step_failure(vin_integrator *self, vin_status status, double t, double h);

/* As vin_integrator_step(), where the caller knows whether `from` is the `to` of the last step that
 * succeeded (then work and predictor are reused without comparing arrays). */
vin_status vini_integrator_step(vin_integrator *integrator, const vin_state *from, double h,
                                vin_state *to, bool continues);
/* The projector's present factorisation is that of M, Phi_p at the end of the last successful
 * step, so that diagnostics there (vini_projector_acceleration with factored = true) need no new
 * one. */
bool vini_integrator_factor_fits(const vin_integrator *integrator);
/* Forgets predictor and factorisation, e.g. after the projector was used at another state. */
void vini_integrator_forget(vin_integrator *integrator);

#endif
