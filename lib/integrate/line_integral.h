/* line_integral - hbvm and lim: what their files share; theory (L1) to (L9). */
#ifndef VINI_LINE_INTEGRAL_H
#define VINI_LINE_INTEGRAL_H

#include "integrate/gauss.h"
#include "integrate/integrate.h"

/* A state that a step may start from: as the caller knows it, and what only this integrator knows. */
typedef struct vini_line_state {
  bool set;
  double t;
  double *p, *v;     /* n: as handed out */
  double *raw;       /* n: the velocity to go on from; v itself when the output is not projected */
  double *p_low;     /* n: what the rounding of p and of raw left over (compensated summation) */
  double *v_low;     /* n */
  double failed_end; /* of an anchor: where the step that failed from here would have ended */
} vini_line_state;

/* A coefficient and what its rounding to double left over, theory (L10). */
typedef struct vini_coefficient {
  double high, low;
} vini_coefficient;

/* Coefficients for (k, s, r). */
typedef struct vini_line_table {
  int k, s, r;
  double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST];
  double value[VINI_GAUSS_MOST][VINI_GAUSS_MOST];              /* P_j(c_l): [l][j] */
  vini_coefficient weight[VINI_GAUSS_MOST][VINI_GAUSS_MOST];   /* b_l P_j(c_l): [l][j] */
  vini_coefficient integral[VINI_GAUSS_MOST][VINI_GAUSS_MOST]; /* I_j(c_l): [l][j] */
  double x[VINI_GAUSS_MOST][VINI_GAUSS_MOST];                  /* X_s, theory (L5) */
  double x_inverse[VINI_GAUSS_MOST][VINI_GAUSS_MOST];
  double xr_inverse[VINI_GAUSS_MOST][VINI_GAUSS_MOST]; /* of X_r */
  double end[VINI_GAUSS_MOST];                         /* P_j(1) */
  /* of a step length: h X in the numbers that are used, and y with v1 = v0 + sum_j y_j d_j, which is
   * h theta_0 for just these numbers, theory (L10) */
  double h; /* 0: not computed */
  double hx[VINI_GAUSS_MOST][VINI_GAUSS_MOST];
  vini_coefficient y[VINI_GAUSS_MOST];
  /* predictor, theory (L9): new d = extend d, new lambda = shift lambda, for steps whose lengths
   * have this ratio; 0: not computed */
  double ratio;
  double extend[VINI_GAUSS_MOST][VINI_GAUSS_MOST];
  double shift[VINI_GAUSS_MOST][VINI_GAUSS_MOST];
} vini_line_table;

enum { VINI_LINE_STATES = 4 };

typedef struct vini_line {
  vini_line_table table;
  int judged;    /* steps that have judged the number of nodes that was chosen */
  bool chosen;   /* k is known */
  bool has_mass; /* inverse_mass or mass are those of M */
  vin_reuse reuse;
  /* roles of the states, which may coincide; NULL: none (line_integral.c) */
  vini_line_state state[VINI_LINE_STATES];
  vini_line_state *begin, *last; /* start and end of the last step that succeeded */
  vini_line_state *anchor;       /* where a step failed; retries may come back to it */
  double *memory;
  double last_h;        /* of the polynomials below; 0: there are none */
  double *d, *d_next;   /* s n: d_j = gamma_j - delta_j0 v0, of the last step and of this one */
  double *l, *l_next;   /* r m: lambda_j */
  double *theta;        /* s n: theta_j */
  double *c;            /* r m: C_j */
  double *z;            /* s (n + m): right-hand sides and increments */
  double *u, *rate;     /* n: position and velocity at a node */
  double *force;        /* n */
  double *gap;          /* m: G u' + Phi_t at a node, Phi at the end */
  double *lambda;       /* m: multipliers at a node */
  double *node_values;  /* jacobian at a node */
  double *rounding;     /* m: eps |Phi_p p|, the rounding of Phi where it is made of differences */
  double *inverse_mass; /* n: where M is diagonal and r < s */
  vin_kkt *mass;        /* M alone: where M is not diagonal and r < s */
  /* stiff potentials (line_integral_stiff.c); made when first needed, except tangent */
  bool blended;         /* this step is solved with `stiff` */
  double *tangent;      /* df/dp at the start; NULL: not given, or r < s */
  vin_kkt *stiff;       /* [M + h^2 rho^2 K, G'; G, 0] */
  double *stiff_values; /* of M + h^2 rho^2 K */
  double *blend;        /* s (n + m) */
  int64_t stamp;        /* the projector's, of a factorisation that may be kept */
  bool end_factored;    /* it is that of the last end */
  double contraction;   /* of the last step */
  int sweeps;           /* of the last step */
} vini_line;

vin_status vini_line_create(vin_integrator *self);
void vini_line_destroy(vin_integrator *self);
vin_status vini_line_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                          bool continues);

/* line_integral_table.c */
void vini_line_table_fill(vini_line_table *table, int k, int s, int r);
void vini_line_table_step(vini_line_table *table, double h);
void vini_line_table_predict(vini_line_table *table, double ratio);

/* line_integral_nodes.c: theta and c at the present d_next, l_next; theory (L2), (L3). */
vin_status vini_line_evaluate(vin_integrator *self, const vini_line_state *start, double h);
/* Position and velocity at node l. */
void vini_line_node(const vin_integrator *self, const vini_line_state *start, double h, int l);
/* The end of the step: p1 = p0 + h gamma_0, v1 = v0 + sum y_j d_j, with what their rounding leaves
 * over; any of the four may be NULL. */
void vini_line_end(const vin_integrator *self, const vini_line_state *start, double h, double *p,
                   double *p_low, double *v, double *v_low);

/* line_integral_solve.c: iterates d_next and l_next; the projector's factorisation is that of a start. */
vin_status vini_line_iterate(vin_integrator *self, const vini_line_state *start, double h);
/* What r < s needs of M, once. */
vin_status vini_line_prepare_mass(vin_integrator *self, const vini_line_state *start);

/* line_integral_stiff.c. begin: decides, and factorises where it decides for the blended iteration; solve:
 * increments of all degrees into line->z, whose tops hold -R. */
bool vini_line_may_be_stiff(const vin_integrator *self);
vin_status vini_line_stiff_begin(vin_integrator *self, const vini_line_state *start, double h);
vin_status vini_line_solve_blended(vin_integrator *self, bool constraints);
void vini_line_stiff_destroy(vin_integrator *self);

/* line_integral_energy.c: change of energy over the step from start, which ended at (p, raw), minus the
 * work of what is not conservative; *scale: the largest energy that occurs. NaN: no potential. */
vin_status vini_line_energy(vin_integrator *self, const vini_line_state *start, double h,
                            const vini_line_state *end, double *error, double *scale);
/* Do the equations allow k = s? See vin_options.nodes. */
bool vini_line_is_quadratic(vin_integrator *self, const vini_line_state *start);

#endif
