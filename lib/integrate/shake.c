/* SHAKE: Stoermer-Verlet positions on the constraints, Phi = 0 at every step, order 2. Theory (25a):
 *
 *     p2 = 2 p1 - p0 + h^2 M^-1 (f1 - J1' lambda1),   Phi(p2) = 0,      v1 = (p2 - p0) / (2 h)
 *
 * in increments: with w = (p1 - p0) / h and K(p) = [M J'; J 0],
 *
 *     K(p1) [Z; k] = [h f1; S],   w' = w + Z,   p2 = p1 + h w',   v1 = w + Z / 2,   lambda1 = k / h,
 *
 * where S is iterated with the frozen K(p1), S <- S - Phi(p2) / h. The positions are those of rattle; v
 * is a central difference and leaves the tangent space by O(h^2), lambda has order 2. A step looks one
 * step ahead: p2 gives v1, and a next step of the same length starts from it. A first step, or one of
 * another length, starts with half a kick: K(p0) [z; k] = [h/2 f0; s], w = v0 + z. */
#include "integrate/integrate.h"

#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* As in rattle.c: a sweep that gains less has arrived at the rounding floor, or fails above it. */
#define LEAST_GAIN 2.0
#define FLOOR_FACTOR 16.0
/* Sweeps over a force that depends on v, and the change of Z at which they end. */
#define FORCE_SWEEPS 50
#define FORCE_TOLERANCE (4 * DBL_EPSILON)
#define FORCE_STAGNATION 1e-12

typedef struct shake {
  double h;      /* of the step that looked ahead */
  double *w;     /* n: (p1 - p0) / h */
  double *ahead; /* n: p2 */
  double *s;     /* m: right-hand side of the constraint rows, kept as predictor */
  bool s_known;
} shake;

vin_status vini_shake_create(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  shake *x = vini_alloc(context, 1, sizeof *x);
  self->data = x;
  if (x != NULL) {
    x->w = vini_alloc(context, (size_t)self->n, sizeof(double));
    x->ahead = vini_alloc(context, (size_t)self->n, sizeof(double));
    x->s = vini_alloc(context, (size_t)self->m, sizeof(double));
  }
  if (x != NULL && x->w != NULL && x->ahead != NULL && x->s != NULL) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY, "no memory for the vectors of shake");
}

void vini_shake_destroy(vin_integrator *self) {
  shake *x = self->data;
  if (x == NULL) return;
  vini_free(&self->object.context, x->w);
  vini_free(&self->object.context, x->ahead);
  vini_free(&self->object.context, x->s);
  vini_free(&self->object.context, x);
}

/* One kick: from p with w0 to p_end = p + h (w0 + z), where K(p) [z; k] = [kick f; s] and
 * Phi(p_end, t_end) = 0. The projector holds the factorisation at p. z and k stay in self->z. */
typedef struct kick {
  double h, size; /* size: h, or h/2 for the first */
  double t, t_end;
  const double *p, *w0;
  double *p_end;
} kick;

static vin_status solve(vin_integrator *self, double *z) {
  vin_kkt *kkt = self->projector->kkt;
  vin_status status = vini_kkt_solve_plain(kkt, 1, z);
  return status == VIN_OK ? VIN_OK
                          : vini_fail(&self->projector->object, status, "%s", vin_kkt_error(kkt));
}

/* max over rows of |Phi_c| / max(tolerance, rounding floor) */
static double excess(const vin_integrator *self, const double *phi) {
  double worst = 0;
  for (vin_int c = 0; c < self->m; c++) {
    double e = fabs(phi[c]) / vini_max(self->options.position_tolerance, self->floor[c]);
    if (phi[c] != 0 && !(e <= worst)) worst = e;
  }
  return worst;
}

/* Frozen Newton on s until Phi(p_end) is at rounding; self->z holds a solution for the present s. */
static vin_status onto_constraints(vin_integrator *self, const kick *k) {
  shake *x = self->data;
  vin_int n = self->n, m = self->m;
  double *phi = self->wm[0], *correction = self->z + n + m, last = HUGE_VAL;
  for (int sweeps = 0, slow = 0;; sweeps++) {
    for (vin_int i = 0; i < n; i++) k->p_end[i] = k->p[i] + k->h * (k->w0[i] + self->z[i]);
    if (m == 0) return VIN_OK;
    self->stats.constraint_evaluations++;
    VINI_TRY(vini_eval_constraint(self->system, &self->projector->object, k->t_end, k->p_end, phi));
    double e = excess(self, phi);
    bool gains = e * LEAST_GAIN <= last;
    if (e <= 1 || (!gains && e <= FLOOR_FACTOR)) return VIN_OK;
    slow = gains ? 0 : slow + 1;
    if (!(e < HUGE_VAL) || slow >= 2 || sweeps >= self->options.max_sweeps) {
      return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                       "shake's positions do not converge (%d sweeps, last residual ratio %.2g): "
                       "take a smaller step " VINI_FAST_HINT,
                       sweeps, e / last);
    }
    last = e;
    memset(correction, 0, (size_t)n * sizeof(double));
    for (vin_int c = 0; c < m; c++) {
      correction[n + c] = -phi[c] / k->h;
      x->s[c] += correction[n + c];
    }
    VINI_TRY(solve(self, correction));
    for (vin_int i = 0; i < n + m; i++) self->z[i] += correction[i];
    self->stats.sweeps++;
  }
}

static vin_status eval_force(vin_integrator *self, double t, const double *p, const double *v) {
  self->stats.force_evaluations++;
  return vini_eval_force(self->system, &self->projector->object, t, p, v, self->f);
}

/* The kick with the force at (t, p, v), where v = w0 + share z of this very kick: iterated where the
 * force depends on it. */
static vin_status kicked(vin_integrator *self, const kick *k, double share) {
  vin_int n = self->n, m = self->m;
  const shake *x = self->data;
  double *v = self->wn[0], *z_last = self->wn[1], last = HUGE_VAL;
  bool once = share == 0 || (self->system->desc.flags & VIN_FORCE_VELOCITY_FREE) != 0;
  memset(z_last, 0, (size_t)n * sizeof(double));
  for (int sweep = 0; sweep < FORCE_SWEEPS; sweep++) {
    for (vin_int i = 0; i < n; i++) v[i] = k->w0[i] + share * z_last[i];
    VINI_TRY(eval_force(self, k->t, k->p, v));
    for (vin_int i = 0; i < n; i++) self->z[i] = k->size * self->f[i];
    if (m > 0) memcpy(self->z + n, x->s, (size_t)m * sizeof(double));
    VINI_TRY(solve(self, self->z));
    VINI_TRY(onto_constraints(self, k));
    if (once) return VIN_OK;
    double change = 0, size = vini_max_abs(v, n);
    for (vin_int i = 0; i < n; i++) {
      change = vini_max(change, fabs(self->z[i] - z_last[i]));
      z_last[i] = self->z[i];
    }
    if (change <= FORCE_TOLERANCE * size) return VIN_OK;
    if (sweep > 1 && !(change < last)) {
      /* near rest: what is left of p's rounding over the step */
      double floor = 4 * DBL_EPSILON * vini_max_abs(k->p, n) / fabs(k->h);
      if (last <= vini_max(FORCE_STAGNATION * size, floor)) return VIN_OK;
      break;
    }
    last = change;
  }
  return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                   "the velocity dependent force does not settle within the step (last change "
                   "%.2g): take a smaller step " VINI_FAST_HINT,
                   last);
}

/* s of Phi(p + h (w0 + z)) = 0 to second order, where there is no earlier one: -h/2 a for half a kick
 * from v; a whole kick from w, half a step earlier, needs twice as much. */
static vin_status first_guess(vin_integrator *self, const kick *k, const double *v) {
  shake *x = self->data;
  VINI_TRY(vini_eval_curvature(self->system, &self->projector->object, k->t, k->p, v, x->s,
                               self->projector->curvature_work));
  for (vin_int c = 0; c < self->m; c++) x->s[c] *= -k->size;
  return VIN_OK;
}

/* Half a kick from (p0, v0): x->ahead := p1, x->w := (p1 - p0) / h. */
static vin_status begin(vin_integrator *self, const vin_state *from, double h) {
  shake *x = self->data;
  kick k = {h, 0.5 * h, from->t, from->t + h, from->p, from->v, x->ahead};
  VINI_TRY(vini_projector_factor(self->projector, from->t, from->p, from->v));
  vini_projector_floor(self->projector, from->p, self->floor);
  VINI_TRY(first_guess(self, &k, from->v));
  VINI_TRY(kicked(self, &k, 0));
  for (vin_int i = 0; i < self->n; i++) x->w[i] = from->v[i] + self->z[i];
  x->s_known = false;
  return VIN_OK;
}

/* From p1 = to->p with w the whole kick ahead: v1, lambda1, p2, w'. */
static vin_status look_ahead(vin_integrator *self, double t1, double h, vin_state *to) {
  shake *x = self->data;
  vin_int n = self->n, m = self->m;
  kick k = {h, h, t1, t1 + h, to->p, x->w, x->ahead};
  VINI_TRY(vini_projector_factor(self->projector, t1, to->p, x->w));
  vini_projector_floor(self->projector, to->p, self->floor);
  if (!x->s_known) VINI_TRY(first_guess(self, &k, x->w));
  VINI_TRY(kicked(self, &k, 0.5));
  for (vin_int i = 0; i < n; i++) {
    to->v[i] = x->w[i] + 0.5 * self->z[i];
    x->w[i] += self->z[i];
  }
  for (vin_int c = 0; c < m; c++) to->lambda[c] = self->z[n + c] / h;
  x->s_known = true;
  return VIN_OK;
}

vin_status vini_shake_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                           bool continues) {
  shake *x = self->data;
  vin_status status = VIN_OK;
  if (!continues || h != x->h) status = begin(self, from, h);
  if (status == VIN_OK) {
    x->h = h;
    memcpy(to->p, x->ahead, (size_t)self->n * sizeof(double));
    status = look_ahead(self, from->t + h, h, to);
  }
  if (status != VIN_OK) return vini_step_failure(self, status, from->t, h);
  self->factor_fits = true;
  return VIN_OK;
}
