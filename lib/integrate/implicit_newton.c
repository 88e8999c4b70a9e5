/* Newton's iteration on the augmented system of one stage, theory (101) and (102). The matrix is kept
 * from iteration to iteration and from step to step while it contracts. */
#include "integrate/implicit.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A slower contraction is worth a new matrix, and so are so many more iterations with the kept one. */
#define SLOW 0.2
#define MOST_LEFT 10
/* An increment that is not below this part of the last one does not come from the iteration: it is
 * rounding, or the iteration fails. */
#define STAGNANT 0.5
/* Increments of the velocity are differences of positions over h: rounding of p is seen there
 * divided by h. This many units in the last place may be left. */
#define FLOOR_ULPS 128
/* The same of the forces of constraints; asked after so many iterations, which most don't need. */
#define NOISE_ULPS 16
#define NOISE_ASKED 2
/* Changes of this part of the last place of the largest component are none. */
#define NOTHING 0.25
/* What is predicted to be left may be this part of the limit: predictions are rough. */
#define SAFE 0.5
/* Increments of a position-level iteration are asked to be this part of the tolerance: what they leave
 * is Phi. */
#define POSITION_SHARE 0.01
/* Iterations with the matrix of their own point that grow, before the attempt is given up. */
#define MOST_GROWING 3
/* What the rows left out as dependent may be violated by, relative to their terms: the value of
 * vin_kkt_options.contradiction_tolerance. */
#define CONTRADICTION 1e-8

static double positive(double x) {
  return x > 0 ? x : 1;
}

/* Errors of the steps add up: what one may leave is relative to what it changes, so that the sum is
 * relative to the way that p and v go, however many steps there are; or it is less than rounding. */
void vini_newton_begin(vini_newton *self, const vin_integrator *integrator, const double *p,
                       const double *v, const double *a, double h, bool position_level,
                       double contraction) {
  vin_int n = integrator->n;
  double length = fabs(h), tolerance = integrator->options.newton_tolerance;
  double share = position_level ? POSITION_SHARE * tolerance : tolerance;
  double v_change = length * vini_max_abs(a, n), speed = vini_max(vini_max_abs(v, n), v_change);
  double p_change = length * speed, size = vini_max(vini_max_abs(p, n), p_change);
  double rounding = NOTHING * DBL_EPSILON;
  *self = (vini_newton){.contraction = contraction};
  /* a state at rest may be moved by subnormal numbers, whose roundings are 0 */
  self->p_limit = vini_max(vini_max(share * p_change, rounding * positive(size)), DBL_MIN);
  self->v_limit = vini_max(vini_max(share * v_change, rounding * positive(speed)), DBL_MIN);
  /* v is tied to p by Phi = 0 */
  if (position_level) self->v_limit = vini_max(self->v_limit, rounding * size / length);
  double noise = vini_max(FLOOR_ULPS * DBL_EPSILON, share);
  self->p_floor = noise * positive(size);
  self->v_floor = noise * positive(speed) + FLOOR_ULPS * DBL_EPSILON * size / length;
}

/* Forces of constraints T on a mass M are rounded, and the increments are the accelerations of that: with
 * 1e5 N on 1e-5 kg 1e-6 m/s^2, above all that p and v themselves leave. */
void vini_newton_allow_noise(vini_newton *newton, const vin_integrator *self, const double *lambda,
                             double beta, double gamma) {
  const vin_projector *projector = self->projector;
  const vin_triplets *j = &projector->jacobian, *m = &projector->mass;
  double *force = self->wn[0], *mass = self->wn[1], most = 0;
  if (newton->iterations != NOISE_ASKED) return;
  memset(force, 0, (size_t)self->n * sizeof *force);
  memset(mass, 0, (size_t)self->n * sizeof *mass);
  for (vin_int k = 0; k < j->count; k++) {
    force[j->col[k]] += fabs(projector->jacobian_values[k] * lambda[j->row[k]]);
  }
  for (vin_int k = 0; k < m->count; k++) {
    if (m->row[k] == m->col[k]) mass[m->row[k]] += projector->mass_values[k];
  }
  for (vin_int i = 0; i < self->n; i++) {
    if (mass[i] > 0) most = vini_max(most, force[i] / mass[i]);
  }
  if (!(most < HUGE_VAL)) return; /* the iteration fails by itself */
  newton->p_floor += NOISE_ULPS * DBL_EPSILON * fabs(beta) * most;
  newton->v_floor += NOISE_ULPS * DBL_EPSILON * fabs(gamma) * most;
}

/* Is what is left after this increment of no account? */
static bool negligible(const vini_newton *self, double rate) {
  return rate < STAGNANT && rate * self->increment <= (1 - rate) * SAFE;
}

/* Iterations until it is, with the contraction seen. */
static double iterations_left(const vini_newton *self, double rate) {
  return rate < 1 ? log(self->increment) / -log(rate) : HUGE_VAL;
}

vini_verdict vini_newton_judge(vini_newton *self, const vin_options *options, double p_increment,
                               double v_increment, bool fresh) {
  bool first = self->iterations == 0;
  self->before = self->increment;
  self->increment = vini_max(p_increment / self->p_limit, v_increment / self->v_limit);
  self->iterations++;
  if (!(self->increment <= DBL_MAX)) return VINI_NEWTON_DIVERGED;
  if (self->increment <= 1) return VINI_NEWTON_CONVERGED;
  if (first) {
    bool known = self->contraction > 0 && !fresh;
    if (known && negligible(self, self->contraction)) return VINI_NEWTON_CONVERGED;
    return options->max_newton > 1 ? VINI_NEWTON_GO_ON : VINI_NEWTON_DIVERGED;
  }
  double rate = self->increment / self->before;
  bool rounding = self->rounding = p_increment <= self->p_floor && v_increment <= self->v_floor;
  if (rate > STAGNANT && rounding && (fresh || self->contracts)) return VINI_NEWTON_CONVERGED;
  self->contraction = rate;
  if (negligible(self, rate)) return VINI_NEWTON_CONVERGED;
  self->contracts = self->contracts || rate <= STAGNANT;
  if (rate > 1 && fresh && ++self->slow >= MOST_GROWING) return VINI_NEWTON_DIVERGED;
  if (self->iterations >= options->max_newton) {
    return rounding && rate <= STAGNANT ? VINI_NEWTON_CONVERGED : VINI_NEWTON_DIVERGED;
  }
  if (rate > SLOW) return VINI_NEWTON_RENEW;
  return !fresh && iterations_left(self, rate) > MOST_LEFT ? VINI_NEWTON_RENEW : VINI_NEWTON_GO_ON;
}

vin_status vini_newton_failure(vin_integrator *self, const vini_newton *newton) {
  return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                   "Newton's method did not converge in %d iterations: the last increment is %.3g "
                   "times what newton_tolerance allows, contraction %.3g, residual of the forces "
                   "%.3g",
                   newton->iterations, newton->increment, newton->contraction, newton->residual);
}

/* x_g := -Phi / beta or -(Phi_p a + curvature + stabilisation) */
static vin_status constraint_rows(vin_integrator *self, const vini_stage *stage, const double *p,
                                  const double *v, const double *a, double *x) {
  vin_projector *projector = self->projector;
  if (stage->position_level) {
    self->stats.constraint_evaluations++;
    VINI_TRY(vini_eval_constraint(self->system, &projector->object, stage->t, p, x));
    for (vin_int i = 0; i < self->m; i++) x[i] = -x[i] / stage->beta;
    return VIN_OK;
  }
  const vini_implicit *data = self->data;
  double *wdot = self->w == NULL ? NULL : data->wdot + (size_t)stage->index * (size_t)self->m;
  VINI_TRY(vini_implicit_rows(self, stage->t, p, v, data->w_base, stage->gamma, wdot, x));
  vini_projector_add_jacobian(projector, -1, a, x);
  return VIN_OK;
}

vin_status vini_stage_residual(vin_integrator *self, const vini_stage *stage, const double *p,
                               const double *v, const double *a, const double *lambda, double *x) {
  vin_projector *projector = self->projector;
  const vini_implicit *data = self->data;
  double *g = x + self->n;
  VINI_TRY(vini_projector_mass(projector, stage->t, p, v));
  VINI_TRY(vini_projector_jacobian(projector, stage->t, p));
  self->stats.force_evaluations++;
  VINI_TRY(vini_eval_force(self->system, &projector->object, stage->t, p, v, x));
  vini_projector_add_mass(projector, -1, a, x);
  vini_projector_add_transposed(projector, -1, lambda, x);
  VINI_TRY(constraint_rows(self, stage, p, v, a, g));
  for (vin_int i = 0; i < self->m; i++) {
    if (data->dropped[i]) g[i] = -lambda[i];
  }
  return VIN_OK;
}

vin_status vini_stage_rates(vin_integrator *self, const vini_stage *stage, const double *p,
                            const double *v) {
  const vini_implicit *data = self->data;
  if (self->w == NULL) return VIN_OK;
  double *wdot = data->wdot + (size_t)stage->index * (size_t)self->m;
  VINI_TRY(vini_projector_jacobian(self->projector, stage->t, p));
  return vini_implicit_rows(self, stage->t, p, v, data->w_base, stage->gamma, wdot, self->wm[0]);
}

/* Sizes of the terms of constraint row i against what is left of it. */
vin_status vini_stage_check_dropped(vin_integrator *self, const vini_stage *stage, const double *p,
                                    const double *v, const double *a) {
  const vini_implicit *data = self->data;
  const vin_projector *projector = self->projector;
  vin_triplets j = projector->jacobian;
  double *x = data->x, *terms = self->wm[0];
  bool any = false;
  for (vin_int i = 0; i < self->m && !any; i++) any = data->dropped[i] != 0;
  if (!any) return VIN_OK;
  VINI_TRY(vini_projector_jacobian(self->projector, stage->t, p));
  VINI_TRY(constraint_rows(self, stage, p, v, a, x));
  memset(terms, 0, (size_t)self->m * sizeof *terms);
  for (vin_int k = 0; k < j.count; k++) {
    double factor = stage->position_level ? p[j.col[k]] / stage->beta : a[j.col[k]];
    terms[j.row[k]] += fabs(projector->jacobian_values[k] * factor);
  }
  double speed = vini_max_abs(v, self->n), size = vini_max_abs(p, self->n);
  for (vin_int i = 0; i < self->m; i++) {
    double scale = terms[i];
    if (!stage->position_level) scale += speed * speed / positive(size);
    if (!data->dropped[i] || fabs(x[i]) <= CONTRADICTION * scale) continue;
    char name[96];
    vin_system_constraint_name(self->system, i, name, sizeof name);
    return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                     "%s depends on other constraints and contradicts them: residual %.3g of %.3g",
                     name, fabs(x[i]), scale);
  }
  return VIN_OK;
}

/* Matrix at the present point, whose M and Phi_p the projector holds. */
static vin_status factor(vin_integrator *self, const vini_stage *stage, const double *p,
                         const double *v) {
  vini_implicit *data = self->data;
  vin_projector *projector = self->projector;
  unsigned wanted = stage->position_level ? 0 : VINI_TANGENT_G;
  VINI_TRY(
      vini_tangent_evaluate(&data->tangent, stage->t, p, v, data->a, data->l, stage->h, wanted));
  vini_block block = {.mass = 1, .jacobian = 1, .rows = 1, .f_p = stage->beta, .f_v = stage->gamma};
  if (!stage->position_level) {
    block.g_p = stage->beta;
    block.g_v = stage->gamma;
    double share[2];
    vini_stabilised(self, (const double[2]){stage->gamma, 0}, share);
    block.rows += share[0];
  }
  data->gamma = stage->gamma;
  data->beta = stage->beta;
  return vini_augmented_factor(&data->matrix, &block, projector->mass_values,
                               projector->jacobian_values);
}

static void place(vin_integrator *self, const vini_stage *stage, double *p, double *v) {
  const double *a = ((vini_implicit *)self->data)->a;
  for (vin_int i = 0; i < self->n; i++) {
    p[i] = stage->p_base[i] + stage->beta * a[i];
    v[i] = stage->v_base[i] + stage->gamma * a[i];
  }
}

/* The right-hand side, and the matrix where it is due; where that is singular, once more without
 * the rows that depend on the others here. */
static vin_status prepare(vin_integrator *self, const vini_stage *stage, double *p, double *v,
                          bool due) {
  vini_implicit *data = self->data;
  place(self, stage, p, v);
  VINI_TRY(vini_stage_residual(self, stage, p, v, data->a, data->l, data->x));
  if (!due) return VIN_OK;
  vin_status status = factor(self, stage, p, v);
  if (status != VIN_SINGULAR) return status;
  bool changed = false;
  VINI_TRY(vini_implicit_find_dropped(self, stage->t, p, v, &changed));
  if (!changed) return factor(self, stage, p, v); /* sets the text */
  VINI_TRY(vini_stage_residual(self, stage, p, v, data->a, data->l, data->x));
  return factor(self, stage, p, v);
}

static vin_status iterate(vin_integrator *self, const vini_stage *stage, double *p, double *v,
                          bool due, vini_newton *newton) {
  vini_implicit *data = self->data;
  double *x = data->x;
  for (;;) {
    VINI_TRY(prepare(self, stage, p, v, due));
    if (newton->iterations == 0) {
      vini_newton_begin(newton, self, p, v, data->a, stage->h, stage->position_level,
                        due ? 0 : data->contraction);
    }
    newton->residual = vini_max_abs(x, self->n);
    VINI_TRY(vini_augmented_solve(&data->matrix, x));
    for (vin_int i = 0; i < self->n; i++) data->a[i] += x[i];
    for (vin_int i = 0; i < self->m; i++) data->l[i] += x[self->n + i];
    self->stats.sweeps++;
    double largest = vini_max_abs(x, self->n);
    vini_newton_allow_noise(newton, self, data->l, stage->beta, stage->gamma);
    vini_verdict verdict = vini_newton_judge(newton, &self->options, fabs(stage->beta) * largest,
                                             fabs(stage->gamma) * largest, due);
    data->contraction = newton->contraction;
    if (verdict == VINI_NEWTON_CONVERGED) break;
    if (verdict == VINI_NEWTON_DIVERGED) return vini_newton_failure(self, newton);
    if (verdict == VINI_NEWTON_RENEW && due && newton->iterations > 2 && !newton->rounding) {
      vini_augmented_give_up(&data->matrix); /* slow with its own point's values */
    }
    if (verdict == VINI_NEWTON_RENEW && !due && newton->contraction > 1) { /* led astray */
      memcpy(data->a, data->guess_a, (size_t)self->n * sizeof *x);
      memcpy(data->l, data->guess_l, (size_t)self->m * sizeof *x);
    }
    due = verdict == VINI_NEWTON_RENEW;
  }
  place(self, stage, p, v);
  return VIN_OK;
}

/* From the guess, with the kept matrix if it may serve. */
static vin_status solve(vin_integrator *self, const vini_stage *stage, double *p, double *v) {
  vini_implicit *data = self->data;
  vini_newton newton = {0};
  size_t n = (size_t)self->n, m = (size_t)self->m;
  /* a step length that differs in its last digits is the same to Newton's method */
  bool kept = data->matrix.factored && fabs(data->beta - stage->beta) <= 1e-6 * fabs(stage->beta) &&
              fabs(data->gamma - stage->gamma) <= 1e-6 * fabs(stage->gamma);
  vin_status status = iterate(self, stage, p, v, !kept, &newton);
  /* an old matrix is no verdict, nor is one that leaves out what is not symmetric */
  bool again = status == VIN_SINGULAR && kept;
  if (status == VIN_STEP_FAILED) again = vini_augmented_give_up(&data->matrix);
  if (again) {
    memcpy(data->a, data->guess_a, n * sizeof(double));
    memcpy(data->l, data->guess_l, m * sizeof(double));
    newton = (vini_newton){0};
    status = iterate(self, stage, p, v, true, &newton);
  }
  if (status != VIN_OK) {
    data->matrix.factored = false;
    return status;
  }
  return vini_stage_check_dropped(self, stage, p, v, data->a);
}

vin_status vini_stage_solve(vin_integrator *self, const vini_stage *stage, double *p, double *v) {
  vini_implicit *data = self->data;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memcpy(data->guess_a, data->a, n * sizeof(double));
  memcpy(data->guess_l, data->l, m * sizeof(double));
  vin_status status = solve(self, stage, p, v);
  if (status <= 0 || status == VIN_RETRY || !vini_implicit_drop_nothing(self)) return status;
  memcpy(data->a, data->guess_a, n * sizeof(double));
  memcpy(data->l, data->guess_l, m * sizeof(double));
  return solve(self, stage, p, v);
}
