/* project - internal side: the projector evaluates a system, shares one analysed saddle point. */
#ifndef VINI_PROJECT_H
#define VINI_PROJECT_H

#include "base/base.h"
#include "system/system.h"
#include "vincula/project.h"

/* What the present factorisation of the projector's kkt was made of. */
typedef enum vini_factored {
  VINI_FACTORED_NOTHING,
  VINI_FACTORED_MASS,    /* H = M, C = 0 */
  VINI_FACTORED_METRIC,  /* H = W of positions, or a damped matrix */
  VINI_FACTORED_VELOCITY /* H = W of velocities, where that is another one */
} vini_factored;

/* Which W. */
typedef enum vini_level { VINI_LEVEL_POSITION, VINI_LEVEL_VELOCITY } vini_level;

typedef struct vini_coupled vini_coupled;

struct vin_projector {
  vini_object object;
  vin_system *system;
  vin_projection_options options;
  vin_kkt *kkt;
  vin_int n, m;
  vin_triplets mass, jacobian; /* the system's patterns */
  double *mass_values,
      *jacobian_values;     /* declared order, last evaluated; the first followed by zeros
                                            for diagonal entries that the mass pattern leaves out */
  vin_int mass_count;       /* entries of H's pattern */
  vin_int *diagonal;        /* n: entry of H's pattern that is the first on this diagonal place */
  double *metric_values[2]; /* by level: H's values when the metric is not the mass; else NULL */
  bool one_metric;          /* both levels have the same */
  /* coordinates that a projection must leave alone, or NULL: then J and H of the saddle point are
   * copies without them */
  const unsigned char *fixed;
  double *free_jacobian, *free_metric;
  vini_coupled *coupled; /* of the coupled projection, or NULL */
  double *compliance;    /* m: C of the damped projection, zero otherwise */
  bool rows_ascend;      /* the Jacobian is declared row by row */
  bool mass_known;       /* a constant M has been evaluated */
  bool mass_in_kkt;      /* K holds the present M in H */
  bool compliant;        /* K holds a non-zero C */
  vini_factored factored;
  int64_t
      factor_stamp; /* counts factorisations: tells whether the present one is still the one seen */
  int64_t force_evaluations, jacobian_evaluations, constraint_evaluations, newton_steps;
  double *vn[8], *vm[7]; /* scratch vectors of n and of m */
  double *curvature_work;
};

/* y += alpha M x,  y += alpha Phi_p x,  y += alpha Phi_p' x with the last evaluated matrices */
void vini_projector_add_mass(const vin_projector *projector, double alpha, const double *x,
                             double *y);
void vini_projector_add_jacobian(const vin_projector *projector, double alpha, const double *x,
                                 double *y);
/* The second for the entries begin .. end - 1 of Phi_p only. */
void vini_projector_add_entries(const vin_projector *projector, double alpha, const double *x,
                                vin_int begin, vin_int end, double *y);
/* |Phi_p x| <= limit in every row from entry *at of the Jacobian on and before `row`? For one whose rows
 * ascend; *at moves on. */
bool vini_projector_rate_within(const vin_projector *projector, const double *x, double limit,
                                vin_int *at, vin_int row);
void vini_projector_add_transposed(const vin_projector *projector, double alpha, const double *x,
                                   double *y);

/* Evaluations into the projector's own matrices (M is skipped when it is constant and known). */
vin_status vini_projector_mass(vin_projector *projector, double t, const double *p,
                               const double *v);
vin_status vini_projector_jacobian(vin_projector *projector, double t, const double *p);
/* Evaluates M and Phi_p at (t, p, v) and factorises [M Phi_p'; Phi_p 0]. */
vin_status vini_projector_factor(vin_projector *projector, double t, const double *p,
                                 const double *v);
/* The same, and solves for two stacked right-hand sides z. fill(user, span) writes their part of a span of
 * coordinates and rows, and may read M and the span's entries of Phi_p. It is called for all parts once, in
 * any order, and for all at once a second time where a first attempt spoiled them. */
struct vini_span;
vin_status vini_projector_factor_solve(vin_projector *projector, double t, const double *p,
                                       const double *v,
                                       vin_status (*fill)(void *user, const struct vini_span *span),
                                       void *user, double *z);
/* Solves with the present factorisation; a failure's text is copied into the projector. */
vin_status vini_projector_solve(vin_projector *projector, vin_int count, const double *f,
                                const double *g, double *x, double *lambda);

/* max |Phi_c| and max |h_c| at (t, p, v); phi, h (m, may be NULL) receive the vectors. */
vin_status vini_projector_residuals(vin_projector *projector, double t, const double *p,
                                    const double *v, double *phi_max, double *h_max, double *phi,
                                    double *h);
/* Kinetic and potential energy (NaN when there is no potential). */
vin_status vini_projector_energy(vin_projector *projector, double t, const double *p,
                                 const double *v, double *kinetic, double *potential);
/* As vin_project_acceleration(); *residual (may be NULL) receives max |M v' + Phi_p' lambda - f|
 * divided by max |f| (by 1 when f = 0). factored: the present factorisation is that of M, Phi_p
 * at (t, p, v). */
vin_status vini_projector_acceleration(vin_projector *projector, double t, const double *p,
                                       const double *v, bool factored, double *vdot, double *lambda,
                                       double *residual);
/* As vin_project_position() without the report; nearest = false stops at the first point on the
 * constraints, which for a correction d is within O(d^2) of the nearest one. */
vin_status vini_projector_position(vin_projector *projector, double t, double *p, bool nearest,
                                   vin_projection_report *report);
/* As vin_project_velocity(); factored: the present factorisation is that of M, Phi_p at (t, p). */
vin_status vini_projector_velocity(vin_projector *projector, double t, const double *p, double *v,
                                   bool factored, vin_projection_report *report);
/* Factorises [W Phi_p'; Phi_p -damping] with the present Phi_p in the metric of a level. */
vin_status vini_projector_factor_metric(vin_projector *projector, vini_level level, double damping);
/* y := W x */
void vini_projector_weigh(const vin_projector *projector, vini_level level, const double *x,
                          double *y);
/* The coordinates (n flags, borrowed) that position and velocity projections leave alone
 * from now on. */
vin_status vini_projector_fix(vin_projector *projector, const unsigned char *fixed);
void vini_projector_unfix(vin_projector *projector);
/* The Jacobian that the projections work with. */
const double *vini_projector_free_jacobian(const vin_projector *projector);
/* A row that has no free coordinate (or, present Jacobian, none that changes it) and |residual| > limit (or
 * tolerance, where larger), else -1. */
vin_int vini_projector_without_freedom(const vin_projector *projector, const double *residual,
                                       const double *limit, double tolerance);
/* Positions and velocities as options.coupling says; fixed: 2 n flags or NULL. On failure p and v may
 * have changed. */
vin_status vini_projector_state(vin_projector *projector, double t, double *p, double *v,
                                const unsigned char *fixed, vin_projection_report *report);
/* Readiness and time; a vector of n (not NULL, finite). */
vin_status vini_projector_begin(vin_projector *projector, double t);
vin_status vini_projector_check(vin_projector *projector, const char *what, const double *x);
vin_projection_report vini_report_empty(void);
/* What a report says of the positions at the start and at the end, from Phi there. */
void vini_report_start(const vin_projector *projector, const double *phi,
                       vin_projection_report *report);
void vini_report_end(const vin_projector *projector, const double *phi,
                     vin_projection_report *report);
/* coupled.c: the coupled projection of p and v; fixed: 2 n flags or NULL. */
vin_status vini_coupled_create(vin_projector *projector);
void vini_coupled_destroy(vini_coupled *coupled, const vin_context *context);
vin_status vini_projector_coupled(vin_projector *projector, double t, double *p, double *v,
                                  const unsigned char *fixed, vin_projection_report *report);
/* Rounding floor of row c of Phi at p, with the last Jacobian: 4 eps sum_j |J_cj| |p_j|. */
void vini_projector_floor(const vin_projector *projector, const double *p, double *floor);

#endif
