/* implicit - what the implicit methods share: tangents, Newton matrices, Newton's iteration on one
 * stage. */
#ifndef VINI_IMPLICIT_H
#define VINI_IMPLICIT_H

#include "integrate/augmented.h"
#include "integrate/integrate.h"

/* A stage, theory (101): p = p_base + beta a, v = v_base + gamma a, and F = 0, G = 0 at t; with
 * position_level Phi / beta = 0 in place of G = 0. */
typedef struct vini_stage {
  double t, h;
  const double *p_base, *v_base; /* n */
  double gamma, beta;            /* beta = gamma^2 where G = 0 */
  bool position_level;
  int index; /* of radau5's stages: where wdot goes */
} vini_stage;

/* How an iteration goes. */
typedef struct vini_newton {
  double p_limit, v_limit; /* what may be left of p and v */
  double p_floor,
      v_floor; /* increments that rounding may leave, or that the user's tolerance allows */
  double increment, before; /* in units of the limits: the larger one of p's and v's */
  double
      contraction; /* last seen; at the start that of the last iteration with this matrix, or 0 */
  double residual;
  int iterations, slow;
  bool rounding;  /* the last increment may be that of rounding */
  bool contracts; /* it did, before increments came near rounding */
} vini_newton;

typedef enum vini_verdict {
  VINI_NEWTON_GO_ON,
  VINI_NEWTON_RENEW, /* slow: evaluate and factorise the matrix here */
  VINI_NEWTON_CONVERGED,
  VINI_NEWTON_DIVERGED
} vini_verdict;

typedef struct vini_implicit {
  vini_tangent tangent;
  vini_augmented matrix;  /* one block */
  vini_augmented pair;    /* four blocks: the complex system of radau5, the two levels of ggl */
  double gamma, beta;     /* of the present factorisation */
  double contraction;     /* last seen with it; 0: not known */
  unsigned char *dropped; /* m: rows that depend on the others */
  double *memory;
  double *lambda;          /* m: multipliers at the last end */
  double *p, *v;           /* n: point of an iteration */
  double *p_base, *v_base; /* n */
  double *x;               /* n + m: right-hand side, increment; radau5: three, ggl: two of them */
  double *y;               /* the same, radau5: combined */
  double *a, *l;           /* n, m: unknowns; radau5: three, ggl: two of each */
  double *guess_a, *guess_l; /* the same: where the iteration began */
  double *past_p, *past_v;   /* n: bdf2: the end before the last */
  double *algorithmic;       /* n: generalized-alpha: its own acceleration at the last end */
  /* third-order stabilisation: Phi'' = w_base + gamma wdot in the present stage (m; radau5: w_base is
   * that of the start, gamma 0, and wdot has three), past_w that of the end before the last (m, bdf2) */
  double *w_base, *wdot, *past_w;
  double past_h; /* of the last step; 0: none */
} vini_implicit;

/* Common part of the create hooks: options, tangents, memory for `stages` stages. The Newton
 * matrices are left to the method. */
vin_status vini_implicit_begin(vin_integrator *self, int stages);
void vini_implicit_destroy(vin_integrator *self);

/* Acceleration, multipliers, dependent rows at a state, and the rate of Phi'' there: self->vdot, lambda
 * of the data, self->wdot. */
vin_status vini_implicit_accelerate(vin_integrator *self, double t, const double *p,
                                    const double *v, bool factored);
/* At a start that is not the end of the last step: the same, and what was kept is forgotten. */
vin_status vini_implicit_restart(vin_integrator *self, const vin_state *from);

/* Solves a stage; data->a and data->l hold the guess and then the result, p and v the state. */
vin_status vini_stage_solve(vin_integrator *self, const vini_stage *stage, double *p, double *v);
/* x := - (F, G) at a point, for the given kind of constraint row; M and Phi_p there stay in the
 * projector. */
vin_status vini_stage_residual(vin_integrator *self, const vini_stage *stage, const double *p,
                               const double *v, const double *a, const double *lambda, double *x);
/* Third-order stabilisation: wdot of the data at the result, which the last increment has moved. */
vin_status vini_stage_rates(vin_integrator *self, const vini_stage *stage, const double *p,
                            const double *v);
/* Verifies that the rows left out hold at the result. */
vin_status vini_stage_check_dropped(vin_integrator *self, const vini_stage *stage, const double *p,
                                    const double *v, const double *a);

/* Marks the rows that depend on the others at a point; *changed: they are not the ones before. */
vin_status vini_implicit_find_dropped(vin_integrator *self, double t, const double *p,
                                      const double *v, bool *changed);

/* After a row left out turned out to be needed: it depended on the others somewhere else. None is left
 * out from now on; false: none was. */
bool vini_implicit_drop_nothing(vin_integrator *self);
/* Text and status of a failed step; a constraint that nearly depends on others at its start is named. */
vin_status vini_implicit_failure(vin_integrator *self, vin_status status, const vin_state *from,
                                 double h);

/* position_level: the iteration goes on to a hundredth of the user's tolerance, because what it leaves
 * is the residual of the constraints. contraction: as in vini_newton. */
void vini_newton_begin(vini_newton *newton, const vin_integrator *self, const double *p,
                       const double *v, const double *a, double h, bool position_level,
                       double contraction);
/* After two iterations: what rounding of the forces J' lambda may leave in increments beta, gamma times an
 * acceleration counts as rounding. */
void vini_newton_allow_noise(vini_newton *newton, const vin_integrator *self, const double *lambda,
                             double beta, double gamma);
/* Takes the size of one more increment, in p and in v. fresh: the matrix is that of this point. */
vini_verdict vini_newton_judge(vini_newton *newton, const vin_options *options, double p_increment,
                               double v_increment, bool fresh);
vin_status vini_newton_failure(vin_integrator *self, const vini_newton *newton);

vin_status vini_reduced_create(vin_integrator *self);
vin_status vini_reduced_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                             bool continues);
vin_status vini_radau_create(vin_integrator *self);
vin_status vini_radau_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                           bool continues);
vin_status vini_index3_create(vin_integrator *self);
vin_status vini_index3_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                            bool continues);
vin_status vini_ggl_create(vin_integrator *self);
vin_status vini_ggl_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                         bool continues);

#endif
