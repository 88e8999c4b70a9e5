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
#include "integrate/integrate.h"

#include "kkt/kkt.h"
#include "project/minimise.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A sweep that gains less than this ends the iteration: at the rounding floor it has arrived, above
 * FLOOR_FACTOR times the floor it failed. */
#define LEAST_GAIN 2.0
#define FLOOR_FACTOR 16.0
/* The floor is eight times what rounding of the positions to the nearest number makes of Phi. */
#define FLOOR_ROUNDING (1.0 / 8)
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
/* The rounding floors of Phi change as slowly as the positions' size; they are renewed this often. */
#define FLOOR_STEPS 32

static vin_status plain_solve(vin_integrator *self, vin_int count) {
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
  VINI_TRY(plain_solve(self, 1));
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

/* max over rows of |Phi_c| / limit_c, where limit_c = max(tolerance, rounding floor). */
static double excess(const vin_integrator *self, double tolerance, const double *phi) {
  const double *floor = self->floor;
  vin_int inside = 0;
  for (vin_int c = 0; c < self->m; c++) inside += fabs(phi[c]) <= vini_max(tolerance, floor[c]);
  if (inside == self->m) return 1; /* or less: arrived */
  double worst = 0;
  for (vin_int c = 0; c < self->m; c++) {
    double e = fabs(phi[c]) / vini_max(tolerance, floor[c]);
    if (phi[c] != 0 && !(e <= worst)) worst = e; /* both limits may be 0 */
  }
  return worst;
}

static vin_status diverges(vin_integrator *self, int sweeps, double gain) {
  return vini_fail(
      &self->projector->object, VIN_STEP_FAILED,
      "rattle's position stage does not converge (%d sweeps, last residual ratio %.2g): "
      "take a smaller step",
      sweeps, gain);
}

/* p1 := p0 + h w, with what rounding has kept back of the steps before. */
static void positions(const vin_integrator *self, const vin_state *from, double h, double *p1) {
  const double *rest = self->rest;
  for (vin_int i = 0; i < self->n; i++) {
    p1[i] = from->p[i] + (h * (from->v[i] + self->next[i]) + rest[i]);
  }
}

/* w := v0 + z, and what p1 = p0 + h w loses to rounding (Knuth's two-sum), for the next step: without it
 * the far end of a long chain takes random steps of 1e-10 m, whose correction shakes the whole chain. */
static void half_step(vin_integrator *self, const vin_state *from, double h, const double *p1,
                      double *w) {
  for (vin_int i = 0; i < self->n; i++) {
    w[i] = from->v[i] + self->next[i];
    const double move = h * w[i] + self->rest[i], start = p1[i] - move;
    self->rest[i] = (from->p[i] - start) + (move - (p1[i] - start));
  }
}

/* One frozen Newton correction: K(p0) [dz; dk] = [0; -Phi/h]. Rows whose residual is only the rounding
 * of p1 are left alone, since the next step takes that back (self->rest): at the far end of a chain of
 * 10^6 m it is 1e-10 m, and to move half a million rods by that shakes those at the fixed end. */
static vin_status sweep(vin_integrator *self, const double *phi, double h) {
  vin_int n = self->n;
  memset(self->z, 0, (size_t)n * sizeof(double));
  for (vin_int c = 0; c < self->m; c++) {
    double ds = fabs(phi[c]) <= FLOOR_ROUNDING * self->floor[c] ? 0 : -phi[c] / h;
    self->z[n + c] = ds;
    self->s[c] += ds;
  }
  VINI_TRY(plain_solve(self, 1));
  for (vin_int i = 0; i < n; i++) self->next[i] += self->z[i];
  self->stats.sweeps++;
  return VIN_OK;
}

/* Floors of Phi at p, and the tolerance: relative to the positions where all of them are small (P9). */
static void renew_floor(vin_integrator *self, const double *p) {
  if (self->floor_age < 0 || self->floor_age >= FLOOR_STEPS) {
    vini_projector_floor(self->projector, p, self->floor);
    const double size = VINI_SHARPNESS * vini_max_abs(self->floor, self->m);
    self->sharp = self->options.position_tolerance * vini_min(1, size);
    self->floor_age = 0;
  }
  self->floor_age++;
}

static vin_status position_stage(vin_integrator *self, const vin_state *from, double h,
                                 double *p1) {
  double *phi = self->wm[0], last = HUGE_VAL;
  int slow = 0, polished = 0;
  renew_floor(self, from->p);
  const double tolerance = self->options.position_tolerance, sharp = self->sharp;
  for (int sweeps = 0;; sweeps++) {
    positions(self, from, h, p1);
    self->stats.constraint_evaluations++;
    VINI_TRY(vini_eval_constraint(self->system, &self->projector->object, from->t + h, p1, phi));
    double e = excess(self, sharp, phi);
    if (e <= 1) return VIN_OK;
    if (!(e < HUGE_VAL)) return diverges(self, sweeps, e / last);
    bool gains = e * LEAST_GAIN <= last;
    if (!gains && e <= FLOOR_FACTOR) return VIN_OK;
    if (sharp < tolerance && excess(self, tolerance, phi) <= 1) {
      if (!gains || polished++ == VINI_POLISHES) return VIN_OK;
    }
    slow = gains ? 0 : slow + 1;
    if (slow >= 2 || sweeps >= self->options.max_sweeps) return diverges(self, sweeps, e / last);
    last = e;
    VINI_TRY(sweep(self, phi, h));
  }
}

/* Keeps the converged s and makes the prediction for the next step, in self->s and in the second
 * right-hand side: the quadratic through the last three, constant before that. */
static void predict(vin_integrator *self, double *right) {
  double *oldest = self->s_past[2];
  self->s_past[2] = self->s_past[1];
  self->s_past[1] = self->s_past[0];
  self->s_past[0] = self->s;
  self->s = oldest;
  if (self->s_count < 3) self->s_count++;
  const bool known = self->s_count == 3;
  const double *s0 = self->s_past[0], *s1 = self->s_past[1], *s2 = self->s_past[2];
  for (vin_int c = 0; c < self->m; c++) {
    right[c] = self->s[c] = known ? 3 * (s0[c] - s1[c]) + s2[c] : s0[c];
  }
}

/* The velocity stage at t1: to->p is p1, to->v is w. */
typedef struct velocity {
  vin_integrator *self;
  vin_state *to;
  double t1, h;
  bool known; /* force and prediction are there */
} velocity;

/* h/2 f1 on top of both right-hand sides; below, -(J1 w + Phi_t) and the predicted s. */
static vin_status load_both(void *user) {
  velocity *stage = user;
  vin_integrator *self = stage->self;
  const vin_int n = self->n, m = self->m;
  const double *p1 = stage->to->p, *w = stage->to->v, t1 = stage->t1, h = stage->h;
  double *first = self->z, *second = self->z + n + m;
  if (!stage->known) VINI_TRY(eval_force(self, t1, p1, w, self->f));
  for (vin_int i = 0; i < n; i++) first[i] = second[i] = 0.5 * h * self->f[i];
  VINI_TRY(vini_eval_constraint_rate(self->system, &self->projector->object, t1, p1, first + n));
  if (self->system->desc.constraint_rate != NULL) {
    for (vin_int c = 0; c < m; c++) first[n + c] = -first[n + c];
  }
  vini_projector_add_jacobian(self->projector, -1, w, first + n);
  if (!stage->known) {
    predict(self, second + n);
  } else if (m > 0) {
    memcpy(second + n, self->s, (size_t)m * sizeof *second);
  }
  stage->known = true;
  return VIN_OK;
}

/* Is |J1 v1 + Phi_t| below velocity_tolerance in every row? It mostly is, and needs no scales then. */
static vin_status hidden_is_small(vin_integrator *self, double t1, const double *p1,
                                  const double *v1, double *h, bool *small) {
  const double tolerance = self->options.velocity_tolerance;
  if (self->system->desc.constraint_rate == NULL && self->projector->rows_ascend) {
    *small = vini_projector_rate_within(self->projector, v1, tolerance);
    return VIN_OK;
  }
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
    VINI_TRY(plain_solve(self, 1));
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
    VINI_TRY(plain_solve(self, 1));
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
  double t1 = from->t + h, *w = to->v; /* v1 = w + d takes its place */
  bool velocity_free = (self->system->desc.flags & VIN_FORCE_VELOCITY_FREE) != 0;
  half_step(self, from, h, to->p, w);
  velocity stage = {.self = self, .to = to, .t1 = t1, .h = h};
  VINI_TRY(vini_projector_factor_solve(self->projector, t1, to->p, w, load_both, &stage, self->z));
  const double *d = self->z; /* behind it stands self->next */
  for (vin_int i = 0; i < n; i++) to->v[i] += d[i];
  for (vin_int c = 0; c < m; c++) to->lambda[c] = 2 / h * d[n + c];
  if (!velocity_free) VINI_TRY(iterate_force(self, t1, h, to));
  return m > 0 ? verify_velocity(self, t1, to->p, to->v) : VIN_OK;
}

vin_status vini_rattle_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                            bool continues) {
  vin_status status = begin(self, from, h, continues);
  if (status == VIN_OK) status = position_stage(self, from, h, to->p);
  if (status == VIN_OK) status = velocity_stage(self, from, h, to);
  if (status != VIN_OK) return vini_step_failure(self, status, from->t, h);
  self->last_h = h;
  self->factor_fits = true;
  return VIN_OK;
}
