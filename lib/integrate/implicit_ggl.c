/* Implicit Euler on the stabilised index-2 form of Gear, Gupta and Leimkuhler, theory (108). With
 * a = (v1 - v0) / h and the slip w = (p1 - p0) / h - v1,
 *     M w + Phi_p' mu = 0,              Phi(p1, t1) / h = 0,
 *     M a + Phi_p' lambda - f = 0,      (Phi_p v1 + Phi_t) / h = 0.
 * w and mu vanish where the constraints allow v1 as the mean velocity; they are O(h). Newton's matrix
 * without terms of O(h) in the slip is block triangular: the second row minus h times the fourth
 * leaves [M Phi_p'; Phi_p 0] for (dw, dmu); what follows for (da, dlambda) is the augmented matrix
 * with half of G_v, because d(Phi_p v + Phi_t)/dp = G_v / 2. */
#include "integrate/implicit.h"

#include <math.h>
#include <string.h>

vin_status vini_ggl_create(vin_integrator *self) {
  VINI_TRY(vini_implicit_begin(self, 2));
  vini_implicit *data = self->data;
  vini_object *object = &self->projector->object;
  const vini_block slip = {.mass = 1, .jacobian = 1, .rows = 1},
                   dynamic = {.mass = 1, .jacobian = 1, .rows = 1, .f_p = 1, .f_v = 1, .g_v = 1};
  vin_status status =
      vini_augmented_create(&data->matrix, object, &data->tangent, &self->stats,
                            &self->projector->options.kkt, 1, &dynamic, data->dropped);
  if (status == VIN_OK) {
    status = vini_augmented_create(&data->pair, object, &data->tangent, &self->stats,
                                   &self->projector->options.kkt, 1, &slip, data->dropped);
  }
  return status == VIN_OK ? VIN_OK : vini_fail(&self->object, status, "%s", object->text);
}

/* The unknowns lie as w, a in data->a and mu, lambda in data->l. */
typedef struct unknowns {
  double *w, *a, *mu, *lambda;
} unknowns;

static unknowns of(const vin_integrator *self) {
  const vini_implicit *data = self->data;
  return (unknowns){
      .w = data->a, .a = data->a + self->n, .mu = data->l, .lambda = data->l + self->m};
}

static void place(const vin_integrator *self, const vin_state *from, double h, double *p,
                  double *v) {
  unknowns x = of(self);
  for (vin_int i = 0; i < self->n; i++) {
    v[i] = from->v[i] + h * x.a[i];
    p[i] = from->p[i] + h * (v[i] + x.w[i]);
  }
}

/* data->x := minus the four rows, in the order kinematic, position, dynamic, velocity. */
static vin_status residual(vin_integrator *self, const vin_state *from, double h, const double *p,
                           const double *v) {
  vini_implicit *data = self->data;
  vin_projector *projector = self->projector;
  unknowns x = of(self);
  vin_int n = self->n, m = self->m;
  double *kinematic = data->x, *position = kinematic + n, *dynamic = position + m,
         *velocity = dynamic + n;
  vini_stage stage = {.t = from->t + h, .h = h, .beta = h, .position_level = true};
  VINI_TRY(vini_stage_residual(self, &stage, p, v, x.a, x.lambda, dynamic));
  memcpy(position, velocity, (size_t)m * sizeof *position);
  memset(kinematic, 0, (size_t)n * sizeof *kinematic);
  vini_projector_add_mass(projector, -1, x.w, kinematic);
  vini_projector_add_transposed(projector, -1, x.mu, kinematic);
  VINI_TRY(vini_eval_constraint_rate(self->system, &projector->object, stage.t, p, velocity));
  vini_projector_add_jacobian(projector, 1, v, velocity);
  for (vin_int i = 0; i < m; i++) {
    velocity[i] = data->dropped[i] ? -x.lambda[i] : -velocity[i] / h;
    if (data->dropped[i]) position[i] = -x.mu[i];
  }
  return VIN_OK;
}

static vin_status factor(vin_integrator *self, double t, double h, const double *p,
                         const double *v) {
  vini_implicit *data = self->data;
  const double *mass = self->projector->mass_values, *jacobian = self->projector->jacobian_values;
  unknowns x = of(self);
  VINI_TRY(vini_tangent_evaluate(&data->tangent, t, p, v, x.a, x.lambda, h, VINI_TANGENT_G));
  const vini_block slip = {.mass = 1, .jacobian = 1, .rows = 1},
                   dynamic = {
                       .mass = 1, .jacobian = 1, .rows = 1, .f_p = h * h, .f_v = h, .g_v = 0.5 * h};
  data->gamma = h;
  VINI_TRY(vini_augmented_factor(&data->matrix, &dynamic, mass, jacobian));
  return vini_augmented_factor(&data->pair, &slip, mass, jacobian);
}

/* data->x := the increments, as w, mu, a, lambda. */
static vin_status solve(vin_integrator *self, double h) {
  vini_implicit *data = self->data;
  const vini_tangent *tangent = &data->tangent;
  vin_int n = self->n, m = self->m;
  double *slip = data->x, *position = slip + n, *dynamic = position + m, *velocity = dynamic + n;
  for (vin_int i = 0; i < m; i++) {
    if (!data->dropped[i]) position[i] -= h * velocity[i];
  }
  VINI_TRY(vini_augmented_solve(&data->pair, slip));
  vini_tangent_subtract(tangent->f, tangent->f_p, h, slip, NULL, dynamic);
  vini_tangent_subtract(tangent->g, tangent->g_v, 0.5, slip, data->dropped, velocity);
  return vini_augmented_solve(&data->matrix, dynamic);
}

static void add(vin_integrator *self) {
  const vini_implicit *data = self->data;
  unknowns w = of(self);
  vin_int n = self->n, m = self->m;
  const double *x = data->x;
  for (vin_int i = 0; i < n; i++) {
    w.w[i] += x[i];
    w.a[i] += x[n + m + i];
  }
  for (vin_int i = 0; i < m; i++) {
    w.mu[i] += x[n + i];
    w.lambda[i] += x[n + m + n + i];
  }
}

static vin_status iterate(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                          bool due) {
  vini_implicit *data = self->data;
  vini_newton newton = {0};
  unknowns w = of(self);
  double t = from->t + h;
  vini_newton_begin(&newton, self, from->p, from->v, w.a, h, true, due ? 0 : data->contraction);
  for (;;) {
    place(self, from, h, to->p, to->v);
    VINI_TRY(residual(self, from, h, to->p, to->v));
    if (due) VINI_TRY(factor(self, t, h, to->p, to->v));
    newton.residual = vini_max_abs(data->x, self->n + self->m + self->n);
    VINI_TRY(solve(self, h));
    add(self);
    self->stats.sweeps++;
    double dv = fabs(h) * vini_max_abs(data->x + self->n + self->m, self->n),
           dp = fabs(h) * (vini_max_abs(data->x, self->n) + dv);
    vini_newton_allow_noise(&newton, self, w.lambda, h * h, h);
    vini_verdict verdict = vini_newton_judge(&newton, &self->options, dp, dv, due);
    data->contraction = newton.contraction;
    if (verdict == VINI_NEWTON_CONVERGED) break;
    if (verdict == VINI_NEWTON_DIVERGED) return vini_newton_failure(self, &newton);
    due = verdict == VINI_NEWTON_RENEW;
  }
  place(self, from, h, to->p, to->v);
  return VIN_OK;
}

static void guess(vin_integrator *self) {
  const vini_implicit *data = self->data;
  unknowns w = of(self);
  memset(w.w, 0, (size_t)self->n * sizeof *w.w);
  memcpy(w.a, self->vdot, (size_t)self->n * sizeof *w.a);
  memset(w.mu, 0, (size_t)self->m * sizeof *w.mu);
  memcpy(w.lambda, data->lambda, (size_t)self->m * sizeof *w.lambda);
}

static vin_status solve_and_check(vin_integrator *self, const vin_state *from, double h,
                                  vin_state *to) {
  vini_implicit *data = self->data;
  guess(self);
  bool kept = data->pair.factored && fabs(data->gamma - h) <= 1e-6 * fabs(h), changed = false;
  vin_status status = iterate(self, from, h, to, !kept);
  bool again = kept && (status == VIN_STEP_FAILED || status == VIN_SINGULAR);
  if (status == VIN_STEP_FAILED && vini_augmented_give_up(&data->matrix)) again = true;
  if (again) {
    guess(self);
    status = iterate(self, from, h, to, true);
  }
  if (status == VIN_SINGULAR) {
    VINI_TRY(vini_implicit_find_dropped(self, from->t, from->p, from->v, &changed));
    guess(self);
    status = iterate(self, from, h, to, true);
  }
  VINI_TRY(status);
  vini_stage end = {.t = from->t + h, .h = h, .beta = h * h, .position_level = true};
  return vini_stage_check_dropped(self, &end, to->p, to->v, of(self).a);
}

static vin_status step(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_implicit *data = self->data;
  unknowns w = of(self);
  vin_status status = solve_and_check(self, from, h, to);
  if (status > 0 && status != VIN_RETRY && vini_implicit_drop_nothing(self)) {
    status = solve_and_check(self, from, h, to);
  }
  VINI_TRY(status);
  memcpy(self->vdot, w.a, (size_t)self->n * sizeof(double));
  memcpy(data->lambda, w.lambda, (size_t)self->m * sizeof(double));
  memcpy(to->lambda, w.lambda, (size_t)self->m * sizeof(double));
  self->factor_fits = false;
  data->past_h = h;
  return VIN_OK;
}

vin_status vini_ggl_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                         bool continues) {
  vin_status status = continues ? VIN_OK : vini_implicit_restart(self, from);
  if (status == VIN_OK) status = step(self, from, h, to);
  return vini_implicit_failure(self, status, from, h);
}
