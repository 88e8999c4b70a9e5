/* RATTLE in increment form, theory (23) to (25): order 2, symplectic, both constraint levels at
 * rounding.
 *
 * With K(p) = [M J'; J 0], w the velocity at half step and f0, f1 the forces at both ends:
 *     position stage   K(p0) [ z; k_p ] = [ h/2 f0;  s ],  w = v0 + z,  p1 = p0 + h w,
 *                      frozen Newton s <- s - Phi(p1, t1) / h  until Phi(p1, t1) = 0
 *     velocity stage   K(p1) [ d; k_v ] = [ h/2 f1; -(J1 w + Phi_t) ],  v1 = w + d,
 *                      lambda = 2/h k_v
 * K(p1) is the matrix of this velocity stage and of the next position stage, and both have the
 * same upper right-hand side: one factorisation a step, and one solve with two right-hand sides,
 * the second with s extrapolated from the last steps. No product with M appears, and the
 * residual that p1 is left with enters the next s, so that nothing accumulates. Forces that
 * depend on v are taken at (p0, v0) in the first kick and, iterated, at (p1, v1) in the second:
 * the two are adjoint, order 2 stays. */
#include "integrate/rattle.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sweeps over a force that depends on v; contraction is h/2 |M^-1 df/dv|. */
#define FORCE_SWEEPS 50
#define FORCE_STAGNATION 1e-12
/* Hidden constraint after the velocity stage, relative to its terms, and relative to what the
 * largest velocity would give (a row whose own terms vanish still sees the rounding of the
 * others): above both, one refinement; above HIDDEN_SLACK times both, or VELOCITY_SLACK times the
 * user's tolerance where that is larger, after that, the stage failed. */
#define HIDDEN_TOLERANCE 1e-12
#define HIDDEN_ROUNDING (16 * DBL_EPSILON)
#define HIDDEN_SLACK 1e4
#define VELOCITY_SLACK 16
vin_status vini_rattle_solve(vin_integrator *self, vin_int count) {
  vin_kkt *kkt = self->projector->kkt;
  vin_status status = vini_kkt_solve_plain(kkt, count, self->z);
  if (status != VIN_OK) vini_fail(&self->projector->object, status, "%s", vin_kkt_error(kkt));
  return status;
}

static vin_status eval_force(vin_integrator *self, double t, const double *p, const double *v,
                             double *f) {
  self->stats.force_evaluations++;
  return vini_eval_force(self->system, &self->projector->object, t, p, v, f);
}

/* Factorisation, force and right-hand side s at a start that is not the end of the last step:
 * Phi(p1) = Phi0 + h (J0 w + Phi_t) + h^2/2 a + ... gives s = -h/2 a to begin with. */
static vin_status prepare(vin_integrator *self, const vin_state *from, double h) {
  vin_projector *projector = self->projector;
  self->s_count = 0;
  VINI_TRY(vini_projector_factor(projector, from->t, from->p, from->v));
  VINI_TRY(eval_force(self, from->t, from->p, from->v, self->f));
  VINI_TRY(vini_eval_curvature(self->system, &projector->object, from->t, from->p, from->v, self->s,
                               projector->curvature_work));
  for (vin_int c = 0; c < self->m; c++) self->s[c] *= -0.5 * h;
  return VIN_OK;
}

/* self->next := z of K(p0) [z; k] = [h/2 f0; s] */
static vin_status solve_increment(vin_integrator *self, double h) {
  vin_int n = self->n, m = self->m;
  for (vin_int i = 0; i < n; i++) self->z[i] = 0.5 * h * self->f[i];
  if (m > 0) memcpy(self->z + n, self->s, (size_t)m * sizeof(double));
  VINI_TRY(vini_rattle_solve(self, 1));
  memcpy(self->next, self->z, (size_t)n * sizeof(double));
  return VIN_OK;
}

/* Brings self->next and the factorisation to (p0, h). */
static vin_status begin(vin_integrator *self, const vin_state *from, double h, bool continues) {
  if (!continues) {
    self->floor_age = -1;
    memset(self->rest, 0, (size_t)self->n * sizeof(double));
    VINI_TRY(prepare(self, from, h));
    return solve_increment(self, h);
  }
  bool kept = vini_integrator_factor_fits(self);
  if (!kept) VINI_TRY(vini_projector_factor(self->projector, from->t, from->p, from->v));
  if (h == self->last_h) return VIN_OK; /* predicted with the last velocity stage */
  /* s grows like h; the extrapolation starts anew */
  for (vin_int c = 0; c < self->m; c++) self->s[c] = self->s_past[0][c] * (h / self->last_h);
  self->s_count = 0;
  return solve_increment(self, h);
}

/* The velocity stage: to->p is p1, to->v is w. */
typedef struct velocity {
  vin_integrator *self;
  vin_state *to;
  double h;
} velocity;

/* Keeps the converged s; self->s is for the prediction. */
static void keep_s(vin_integrator *self) {
  double *oldest = self->s_past[2];
  self->s_past[2] = self->s_past[1];
  self->s_past[1] = self->s_past[0];
  self->s_past[0] = self->s;
  self->s = oldest;
  if (self->s_count < 3) self->s_count++;
}

/* The prediction for the next step in the rows of the span, in self->s and in the second right-hand side:
 * the quadratic through the last three, constant before that. */
static void predict(vin_integrator *self, const vini_span *span, double *right) {
  const bool known = self->s_count == 3;
  const double *s0 = self->s_past[0], *s1 = self->s_past[1], *s2 = self->s_past[2];
  for (vin_int c = span->row; c < span->row_end; c++) {
    right[c] = self->s[c] = known ? 3 * (s0[c] - s1[c]) + s2[c] : s0[c];
  }
}

/* h/2 f1 on top of both right-hand sides; below, -(J1 w + Phi_t) and the predicted s. */
static vin_status load_both(void *user, const vini_span *span) {
  velocity *stage = user;
  vin_integrator *self = stage->self;
  const vin_int n = self->n, m = self->m, row = span->row, end = span->row_end;
  double *restrict first = self->z, *restrict second = self->z + n + m;
  const double *f = self->f, *rate = self->wm[1], h = stage->h;
  const bool moving = self->system->desc.constraint_rate != NULL;
  for (vin_int i = span->coordinate; i < span->coordinate_end; i++) {
    first[i] = second[i] = 0.5 * h * f[i];
  }
  for (vin_int c = row; c < end; c++) first[n + c] = moving ? -rate[c] : 0;
  vini_projector_add_entries(self->projector, -1, stage->to->v, span->entry, span->entry_end,
                             first + n);
  predict(self, span, second + n);
  return VIN_OK;
}

/* d and the next z from K(p1). */
static vin_status solve_both(vin_integrator *self, double t1, double h, vin_state *to) {
  velocity stage = {.self = self, .to = to, .h = h};
  VINI_TRY(eval_force(self, t1, to->p, to->v, self->f));
  if (self->system->desc.constraint_rate != NULL) {
    VINI_TRY(
        vini_eval_constraint_rate(self->system, &self->projector->object, t1, to->p, self->wm[1]));
  }
  keep_s(self);
  return vini_projector_factor_solve(self->projector, t1, to->p, to->v, load_both, &stage, self->z);
}

/* Is |J1 v1 + Phi_t| below velocity_tolerance in every row? It mostly is, and needs no scales then. */
static vin_status hidden_is_small(vin_integrator *self, double t1, const double *p1,
                                  const double *v1, double *h, bool *small) {
  const double tolerance = self->options.velocity_tolerance;
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->projector->object, t1, p1, h));
  vini_projector_add_jacobian(self->projector, 1, v1, h);
  vin_int inside = 0;
  for (vin_int c = 0; c < self->m; c++) inside += fabs(h[c]) <= tolerance;
  *small = inside == self->m;
  return VIN_OK;
}

/* h := J1 v1 + Phi_t; returns the largest |h_c| in units of its limit, which is wider once the
 * velocity has been refined. */
static vin_status hidden_excess(vin_integrator *self, double t1, const double *p1, const double *v1,
                                bool refined, double *h, double *worst) {
  vin_projector *projector = self->projector;
  const vin_triplets *j = &projector->jacobian;
  const double *value = projector->jacobian_values;
  double *scale = self->wm[1], rounding = HIDDEN_ROUNDING * vini_max_abs(v1, self->n);
  VINI_TRY(vini_eval_constraint_rate(self->system, &projector->object, t1, p1, h));
  for (vin_int c = 0; c < self->m; c++) scale[c] = HIDDEN_TOLERANCE * fabs(h[c]);
  for (vin_int k = 0; k < j->count; k++) {
    double term = value[k] * v1[j->col[k]];
    h[j->row[k]] += term;
    scale[j->row[k]] += vini_max(HIDDEN_TOLERANCE * fabs(term), rounding * fabs(value[k]));
  }
  *worst = 0;
  double slack = refined ? HIDDEN_SLACK : 1;
  double tolerance = (refined ? VELOCITY_SLACK : 1) * self->options.velocity_tolerance;
  for (vin_int c = 0; c < self->m; c++) {
    double e = fabs(h[c]) / vini_max(slack * scale[c], tolerance);
    if (h[c] != 0 && !(e <= *worst)) *worst = e; /* both limits may be 0 */
  }
  return VIN_OK;
}

/* J1 v1 + Phi_t = 0 is verified, and refined once where rounding or a weak pivot left something. */
static vin_status verify_velocity(vin_integrator *self, double t1, const double *p1, double *v1) {
  double *h = self->wm[0], worst;
  bool small = false;
  VINI_TRY(hidden_is_small(self, t1, p1, v1, h, &small));
  if (small) return VIN_OK;
  for (int attempt = 0;; attempt++) {
    VINI_TRY(hidden_excess(self, t1, p1, v1, attempt > 0, h, &worst));
    if (worst <= 1) return VIN_OK;
    if (attempt > 0) {
      return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                       "rattle's velocity stage leaves %.2g of the hidden constraint",
                       vini_max_abs(h, self->m));
    }
    memset(self->z, 0, (size_t)self->n * sizeof(double));
    for (vin_int c = 0; c < self->m; c++) self->z[self->n + c] = -h[c];
    VINI_TRY(vini_rattle_solve(self, 1));
    for (vin_int i = 0; i < self->n; i++) v1[i] += self->z[i];
  }
}

/* f(p1, v1): sweeps K(p1) [dv; dk] = [h/2 (f_new - f_old); 0] on both right-hand sides at once. */
static vin_status iterate_force(vin_integrator *self, double t1, double h, vin_state *to) {
  vin_int n = self->n, m = self->m;
  double *f_new = self->vdot, last = HUGE_VAL;
  for (int k = 0; k < FORCE_SWEEPS; k++) {
    VINI_TRY(eval_force(self, t1, to->p, to->v, f_new));
    for (vin_int i = 0; i < n; i++) self->z[i] = 0.5 * h * (f_new[i] - self->f[i]);
    memset(self->z + n, 0, (size_t)m * sizeof(double));
    memcpy(self->f, f_new, (size_t)n * sizeof(double));
    VINI_TRY(vini_rattle_solve(self, 1));
    double change = vini_max_abs(self->z, n);
    for (vin_int i = 0; i < n; i++) {
      to->v[i] += self->z[i];
      self->next[i] += self->z[i];
    }
    for (vin_int c = 0; c < m; c++) to->lambda[c] += 2 / h * self->z[n + c];
    if (change <= 2 * DBL_EPSILON * vini_max_abs(to->v, n)) return VIN_OK;
    if (k > 1 && !(change < last)) break;
    last = change;
  }
  /* stagnates at rounding: that of v, or, near rest, what is left of p's over the step */
  double floor = vini_max(FORCE_STAGNATION * vini_max_abs(to->v, n),
                          4 * DBL_EPSILON * vini_max_abs(to->p, n) / fabs(h));
  if (last <= floor) return VIN_OK;
  return vini_fail(
      &self->projector->object, VIN_STEP_FAILED,
      "the velocity dependent force does not settle within the step (last change %.2g): "
      "take a smaller step",
      last);
}

static vin_status velocity_stage(vin_integrator *self, const vin_state *from, double h,
                                 vin_state *to) {
  vin_int n = self->n, m = self->m;
  const double t1 = from->t + h;
  bool velocity_free = (self->system->desc.flags & VIN_FORCE_VELOCITY_FREE) != 0, small;
  VINI_TRY(solve_both(self, t1, h, to));
  const double *d = self->z; /* behind it stands self->next */
  VINI_TRY(vini_rattle_finish(self, from, h, d, to, &small));
  for (vin_int c = 0; c < m; c++) to->lambda[c] = 2 / h * d[n + c];
  if (!velocity_free) VINI_TRY(iterate_force(self, t1, h, to));
  if (m == 0 || (small && velocity_free)) return VIN_OK;
  return verify_velocity(self, t1, to->p, to->v);
}

vin_status vini_rattle_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                            bool continues) {
  vin_status status = begin(self, from, h, continues);
  if (status == VIN_OK) status = vini_rattle_positions(self, from, h, to);
  if (status == VIN_OK) status = velocity_stage(self, from, h, to);
  if (status != VIN_OK) return vini_step_failure(self, status, from->t, h);
  self->last_h = h;
  self->factor_fits = true;
  self->known_finite = (self->system->desc.flags & VIN_FORCE_VELOCITY_FREE) != 0;
  return VIN_OK;
}
