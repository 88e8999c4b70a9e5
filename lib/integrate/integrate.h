/* integrate - internal side. */
#ifndef VINI_INTEGRATE_H
#define VINI_INTEGRATE_H

#include "base/base.h"
#include "project/project.h"
#include "vincula/integrate.h"

/* A one-step method: one line in methods.c. */
typedef struct vini_method {
  vin_method method;
  const char *name;
  unsigned flags;
  /* Checks its options and allocates what it needs in self->data; NULL: nothing to do. Sets the text of
   * a failure in self->object. */
  vin_status (*create)(vin_integrator *self);
  /* Releases self->data, also a half-made one or NULL. */
  void (*destroy)(vin_integrator *self);
  /* `continues`: from is the end of the last step that succeeded and self->valid holds. */
  vin_status (*step)(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                     bool continues);
} vini_method;

enum {
  VINI_METHOD_CONSTANT_MASS = 1 << 0, /* refuses systems that do not declare VIN_MASS_CONSTANT */
  VINI_METHOD_INCREMENTS = 1 << 1,    /* needs the vectors of rattle's increment form */
  VINI_METHOD_BAUMGARTE = 1 << 2,     /* takes its accelerations from vini_accelerate() */
  VINI_METHOD_ESTIMATE = 1 << 3,      /* sets self->estimate */
  /* self->vdot, and for third-order stabilisation w and wdot, are those of the last end: nothing else
   * is carried from step to step, so that vini_integrator_mark() and _rewind() work */
  VINI_METHOD_ACCELERATION = 1 << 4
};

/* The last step, for interpolation (dense.c). */
typedef struct vini_dense {
  double *p[2], *v[2], *a[2]; /* n each: start, end */
  double *p_bow, *v_bow;      /* n each: h sum d_i k_i of dopri5 */
  double h;
  bool valid, has_bow, has_acceleration;
} vini_dense;

/* What a step from a marked state needs besides the state. */
typedef struct vini_mark {
  double *vdot, *w, *wdot; /* n, m, m; NULL: not made */
  int64_t since_projection;
  bool known;
  bool w_known; /* w alone was copied */
} vini_mark;

/* Every vin_method has its line, in order. */
extern const vini_method vini_methods[];
extern const int vini_method_count;

/* Said where an iteration over positions does not converge, which more often means this than large
 * motions. */
#define VINI_FAST_HINT                                                                             \
  "(where light bodies hang between heavy ones they swing fast; radau5 and bdf2 step over that)"

struct vin_integrator {
  vini_object object;
  const vini_method *method;
  void *data; /* the method's own */
  vin_system *system;
  vin_options options;
  vin_projector *projector;
  vin_int n, m;
  bool valid;        /* what is kept of the last step's end fits the state that it returned */
  int64_t stamp;     /* the projector's, when its factorisation was that of the last end */
  bool factor_fits;  /* ... and it is that of M, Phi_p there */
  bool known_finite; /* the method has looked at every number of its result */
  uint64_t end_hash; /* of the last result, for callers that don't say whether they go on from it */
  bool hash_known;
  vin_stats stats;
  double *f;     /* n: force at the last end */
  double *vdot;  /* n: acceleration at the last end (explicit methods) */
  double *wn[4]; /* n */
  double *wm[2]; /* m */
  /* rattle: multiplier-free increments, see rattle.c */
  double *z;          /* 2 (n + m): velocity stage and next position stage, solved together */
  double *next;       /* n: increment of the next position stage, predicted: the second half of z */
  double *s;          /* m: right-hand side of the position stage */
  vin_int *rows_done; /* by blocks of coordinates: leading rows that need none behind */
  double *rest;       /* n: what the positions have lost to rounding, to be made up for */
  double *floor;      /* m: rounding floors of Phi, renewed every FLOOR_STEPS steps */
  double sharp;       /* tolerance of Phi: less than the user's in small models */
  int floor_age;      /* steps since then; -1: not known */
  double *s_past[3];  /* m each: converged s of the last steps, newest first */
  int s_count;
  double last_h;
  /* step control */
  double estimate, residual_estimate; /* of the last step; NaN: none */
  int estimate_order;       /* the estimate shrinks like h to this power; set on creation */
  double *residual[2];      /* m each: Phi and h at the last end; NULL without tolerances */
  bool residual_known;      /* ... of the state that the next step starts from */
  int64_t since_projection; /* steps without a projection */
  vini_mark mark;
  vini_dense *dense; /* NULL: not asked for */
  /* third-order stabilisation: Phi'' at the last end and its rate (m), else NULL */
  double *w, *wdot;
  bool
      w_rewound; /* w belongs to the state that the next step starts from, though nothing else does */
};

/* Methods. `continues`: from is the end of the last step and self->valid holds. */
vin_status vini_rattle_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                            bool continues);
vin_status vini_explicit_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                              bool continues);
vin_status vini_shake_create(vin_integrator *self);
void vini_shake_destroy(vin_integrator *self);
vin_status vini_shake_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                           bool continues);
vin_status vini_composition_create(vin_integrator *self);
void vini_composition_destroy(vin_integrator *self);
vin_status vini_composition_step(vin_integrator *self, const vin_state *from, double h,
                                 vin_state *to, bool continues);

/* stabilise.c: the acceleration-level right-hand side that all methods of that level share. */
vin_status vini_stabilise_check(vin_integrator *self); /* options.baumgarte */
/* g := -a - stabilisation (m), the right-hand side of Phi_p v' = g, theory (29a) to (29c); the projector
 * holds Phi_p at (t, p). Third order only: w (m) is Phi'', wdot (m) receives its rate. */
vin_status vini_acceleration_rows(vin_integrator *self, double t, const double *p, const double *v,
                                  const double *w, double *wdot, double *g);
/* The same with Phi'' = w_base + gamma wdot, and wdot its rate at that place. */
vin_status vini_implicit_rows(vin_integrator *self, double t, const double *p, const double *v,
                              const double *w_base, double gamma, double *wdot, double *g);
/* By what the derivative of these rows by v' exceeds that without stabilisation, in units of Phi_p, for
 * v = .. + gamma v', p = .. + gamma^2 v', as real and imaginary part of a complex gamma. */
void vini_stabilised(const vin_integrator *self, const double gamma[2], double share[2]);
/* Solves M v' + Phi_p' lambda = f, Phi_p v' = g. factored: as vini_projector_acceleration(). */
vin_status vini_accelerate(vin_integrator *self, double t, const double *p, const double *v,
                           const double *w, bool factored, double *vdot, double *lambda,
                           double *wdot);

/* policy.c: projection after a step as the options ask; *factored: the projector then holds the
 * factorisation of M, Phi_p at the end. */
vin_status vini_project_step(vin_integrator *self, const vin_state *from, double t, vin_state *to,
                             bool *factored);

/* estimate.c. Sets self->estimate from errors e_p, e_v (n). */
void vini_set_estimate(vin_integrator *self, const vin_state *from, const vin_state *to,
                       const double *e_p, const double *e_v);
bool vini_integrator_controlled(const vin_integrator *self); /* tolerances are given */
vin_status vini_control_check(vin_integrator *self);         /* options of control and projection */
bool vini_control_allocate(vin_integrator *self);            /* false: no memory */
void vini_control_free(vin_integrator *self);
/* Around the step of any method: forgets what is known of the last one; after success sets
 * residual_estimate and keeps the step for interpolation where the method has not done so. */
void vini_control_begin(vin_integrator *self);
vin_status vini_control_end(vin_integrator *self, const vin_state *from, const vin_state *to,
                            double h, bool continues);

/* dense.c: allocates what interpolation needs; before a step that is to be interpolated. */
vin_status vini_integrator_keep_dense(vin_integrator *self);
void vini_dense_free(vin_integrator *self);
/* p and v at theta by the cubic through p and v of both states, h apart. */
void vini_interpolate_cubic(vin_int n, double theta, double h, const vin_state *from,
                            const vin_state *to, double *p, double *v);
/* Keeps the step from -> to with accelerations at both ends (NULL: unknown). */
void vini_dense_keep(vin_integrator *self, const vin_state *from, const vin_state *to, double h,
                     const double *a0, const double *a1);

/* mark.c. Marks the state that the next step starts from, which is the last end when `continues`:
 * then it copies what the next steps overwrite. rewind: the next step starts from the marked state
 * again; true when what was copied is in force, so that the step may go on as if it continued.
 * reject: the last step succeeded, but does not count. */
void vini_integrator_mark(vin_integrator *self, bool continues);
bool vini_integrator_rewind(vin_integrator *self);
void vini_integrator_reject(vin_integrator *self);
bool vini_mark_allocate(vin_integrator *self); /* false: no memory */
void vini_mark_free(vin_integrator *self);

/* partition.c: adds the work on the dependent coordinates; nothing with other methods. */
void vini_partition_add_stats(const vin_integrator *self, vin_stats *stats);

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
