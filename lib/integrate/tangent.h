/* tangent - the sparse derivatives that Newton's method needs, theory (60):
 *
 *     F = M(p,v,t) a + Phi_p' lambda - f(p,v,t)  by p and v      (n x n, one pattern for both)
 *     G = Phi_p a + curvature(p,v,t)             by p and v      (m x n, the pattern of Phi_p)
 */
#ifndef VINI_TANGENT_H
#define VINI_TANGENT_H

#include "sparse/colour.h"
#include "sparse/sparse.h"
#include "system/system.h"
#include "vincula/integrate.h"

/* Systems up to this size are taken as dense where they declare no pattern of their own. */
#define VINI_TANGENT_DENSE 32

/* What is wanted of vini_tangent_evaluate. */
enum {
  VINI_TANGENT_G = 1 << 0,      /* G_p and G_v too */
  VINI_TANGENT_CENTRAL = 1 << 1 /* differences of second order, at twice the price */
};

typedef struct vini_tangent {
  vini_object *object; /* texts */
  const vin_system *system;
  vin_stats *stats; /* evaluations are counted there */
  vin_int n, m;
  vin_sparse *f; /* pattern of F_p and F_v (its values are not used) */
  vin_sparse *g; /* of G_p and G_v */
  vini_colouring colouring;
  double *f_p, *f_v;              /* one for each entry of f */
  double *g_p, *g_v;              /* of g */
  vin_int force_p_at, force_v_at; /* first triplets of the force callbacks among those of f */
  bool mass_varies, force_differs_p, force_differs_v; /* what differences must cover */
  double *memory;
  double *x, *step;                  /* n: displaced point, displacements */
  double *base_f, *base_g, *fd, *gd; /* n, m: functions at the point and beside it */
  double *mass, *jacobian, *tangent; /* declared order */
  double *curvature_work;
} vini_tangent;

/* Patterns, colours and memory; once. Texts go to object. */
vin_status vini_tangent_create(vini_tangent *tangent, vini_object *object, const vin_system *system,
                               vin_stats *stats);
void vini_tangent_destroy(vini_tangent *tangent, const vin_context *context);

/* f_p, f_v, and g_p, g_v if wanted, at a point. h: length of a step, which tells how far velocities
 * may be displaced. VIN_RETRY, VIN_ERR_CALLBACK as the callbacks say. */
vin_status vini_tangent_evaluate(vini_tangent *tangent, double t, const double *p, const double *v,
                                 const double *a, const double *lambda, double h, unsigned wanted);

/* y -= factor A x for one of the tangents; rows marked in skip (may be NULL) are left alone. */
void vini_tangent_subtract(const vin_sparse *pattern, const double *value, double factor,
                           const double *x, const unsigned char *skip, double *y);

#endif
