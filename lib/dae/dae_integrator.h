/* dae - internal side of the variable-step integrator: state, iteration matrices, methods. */
#ifndef VINI_DAE_INTEGRATOR_H
#define VINI_DAE_INTEGRATOR_H

#include "dae/dae.h"
#include "vincula/dae_integrate.h"

enum { VINI_BDF_ORDERS = 5 };

/* How an attempt ended. */
typedef enum vini_outcome {
  VINI_OUTCOME_DONE,     /* y_new and error are there */
  VINI_OUTCOME_NEWTON,   /* Newton's iteration did not converge */
  VINI_OUTCOME_SINGULAR, /* no factorisation of the iteration matrix */
  VINI_OUTCOME_RETRY,    /* a callback or the domain refused a point */
  VINI_OUTCOME_FATAL     /* status and text say why */
} vini_outcome;

/* A method makes attempts and keeps what they leave.
 *  attempt: y_new, error (scaled norm) and order of a step h; on failure shrink, the factor for the
 *           next one.
 *  accept:  takes y_new over (history, dense output) and returns the factor for the next step.
 *  reject:  the factor after an error above 1. */
typedef struct vini_dae_method {
  const char *name;
  int newton_limit; /* default of max_newton */
  vini_outcome (*attempt)(vin_dae_integrator *self, double h);
  double (*accept)(vin_dae_integrator *self, double h);
  double (*reject)(vin_dae_integrator *self, double h);
  void (*restart)(vin_dae_integrator *self);
  /* y_new was moved by `change` (n), which it takes over into what it keeps */
  void (*shift)(vin_dae_integrator *self, const double *change);
  void (*interpolate)(const vin_dae_integrator *self, double s, double *y); /* s in -1..0 */
} vini_dae_method;

extern const vini_dae_method vini_radau_method, vini_bdf_method;

/* Moves the state that a step reaches, before it is accepted. A status > 0 fails the step; *text is set
 * in any case. */
typedef vin_status (*vini_dae_correction)(void *user, double t, double *y, const char **text);

/* Radau IIA, 3 stages: A^-1 = T Lambda T^-1, theory (R3). */
typedef struct vini_radau_tableau {
  double c[3];
  double gamma, alpha, beta; /* eigenvalues of A^-1: gamma, alpha +- i beta */
  double t[3][3], ti[3][3];  /* T, T^-1 */
  double e[3];               /* of the error estimate, theory (R6) */
} vini_radau_tableau;
void vini_radau_tableau_make(vini_radau_tableau *tableau);

struct vin_dae_integrator {
  vini_object object;
  vin_dae *dae;
  vini_dae_work work;
  vin_dae_integrator_options options;
  const vini_dae_method *method;
  vin_int n;
  vin_int *index;              /* n */
  double *relative, *absolute; /* n: tolerances as the method uses them */
  double *weight;              /* n: 1 / (absolute + relative |y|) at the present state */
  double newton_tolerance;

  /* state; times are kept relative to the start, so that they do not lose digits far from zero */
  bool started;
  double t_start, tau, t; /* t = t_start + tau, exact where a limit was reached */
  double *y, *f0;         /* n: state and f there */
  bool f0_known;
  double h_last, h_next; /* 0: none yet, to be chosen */
  int order;

  /* the attempt */
  double *y_new; /* n */
  double error, shrink;
  vin_status status; /* of what made the last attempt fail */
  double *estimate;  /* n: error estimate of the last attempt; after start(): y' */
  int newton_count;
  double contraction;         /* estimated rate of the last Newton iteration */
  double contraction_reserve; /* what that says about the error left after a correction */
  int rejections;             /* in a row */
  bool first, after_rejection;
  bool jacobian_current; /* of the present state */
  bool jacobian_known;

  /* iteration matrices: (a/h) B - J, and for radau ((a + i b)/h) B - J as a real one */
  vin_int mass_count, jacobian_count;
  double *jacobian; /* values in declared order */
  double *values;   /* of either matrix, in the order of its triplets */
  vin_linsys *real, *pair;
  double *scales; /* 4 n, the memory of the next four: scales of rows and columns */
  double *real_row, *real_col, *pair_row, *pair_col;
  double real_factor; /* a/h of the present factorisation; 0: none */
  double pair_factor; /* alpha/h; 0: none */

  /* radau */
  vini_radau_tableau tableau;
  double *z, *w, *rhs; /* 3 n each */
  double *fs;          /* 3 n: f of the stages */
  double *work1;       /* n */
  double *dense;       /* (VINI_BDF_ORDERS + 1) n: polynomial of the last step */
  int dense_order;
  double h_accepted, error_accepted;

  /* bdf: d is (VINI_BDF_ORDERS + 3) n backward differences for step h_history */
  double *d, *psi, *delta;
  double h_history;
  int k; /* order */
  int equal_steps;
  vin_dae_integrator_stats stats;

  vini_dae_correction correction; /* NULL: none */
  void *correction_user;
  bool shifted; /* bdf: psi is what the correction changed */
};

/* f at t_start + tau; outside of the domain: VIN_RETRY. */
vin_status vini_dae_integrator_f(vin_dae_integrator *self, double tau, const double *y, double *f);
/* weights at y; the scaled norm of count blocks of n, with the factors of the indices for step h */
void vini_dae_integrator_weigh(vin_dae_integrator *self, const double *y);
double vini_dae_integrator_norm(const vin_dae_integrator *self, double h, int blocks,
                                const double *x);

/* Iteration matrices. */
vin_status vini_iteration_create(vin_dae_integrator *self);
void vini_iteration_destroy(vin_dae_integrator *self);
/* J at the present state, if it is not there; forgets the factorisations. */
vin_status vini_iteration_jacobian(vin_dae_integrator *self);
/* J at another point, for the attempts of the present step. */
vin_status vini_iteration_jacobian_at(vin_dae_integrator *self, double tau, const double *y);
/* (a/h) B - J and ((a + i b)/h) B - J; nothing to do where that is the present one. */
vin_status vini_iteration_real(vin_dae_integrator *self, double h, double a);
vin_status vini_iteration_pair(vin_dae_integrator *self, double h, double a, double b);
/* in place; x: n, or real and imaginary part, 2 n */
vin_status vini_iteration_solve_real(vin_dae_integrator *self, double *x);
vin_status vini_iteration_solve_pair(vin_dae_integrator *self, double *x);
/* y += scale B x */
void vini_iteration_mass(const vin_dae_integrator *self, double scale, const double *x, double *y);
/* What a status of the functions above means for an attempt; kept for a fatal one. */
vini_outcome vini_iteration_outcome(vin_dae_integrator *self, vin_status status);

/* From now on, until it is replaced; NULL: none. */
void vini_dae_integrator_correct(vin_dae_integrator *self, vini_dae_correction correction,
                                 void *user);

/* Initial step and consistency of the start; factorises twice. */
vin_status vini_dae_integrator_trial(vin_dae_integrator *self);

#endif
