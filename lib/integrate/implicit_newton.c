/* Newton's iteration on the augmented system of one stage, theory (101) and (102). The matrix is kept
 * from iteration to iteration and from step to step while it contracts. */
#include "integrate/implicit.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A slower contraction is worth a new matrix. */
#define SLOW 0.2
/* An increment that is not below this part of the last one does not come from the iteration: it is
 * rounding, or the iteration fails. */
#define STAGNANT 0.5
/* Increments of the velocity are differences of positions over h: rounding of p is seen there
 * divided by h. This many units in the last place may be left. */
#define FLOOR_ULPS 128
/* Increments of a position-level iteration are asked to be this part of the tolerance: where they
 * contract by 0.1, Phi is at rounding. */
#define POSITION_SHARE 0.01
/* Iterations with the matrix of their own point that grow, before the attempt is given up. */
#define MOST_GROWING 3
/* What the rows left out as dependent may be violated by, relative to their terms: the value of
 * vin_kkt_options.contradiction_tolerance. */
#define CONTRADICTION 1e-8

static double positive(double x) {
  return x > 0 ? x : 1;
}

void vini_newton_begin(vini_newton *self, const vin_integrator *integrator, const double *p,
                       const double *v, const double *a, double h, bool position_level) {
  vin_int n = integrator->n;
  *self = (vini_newton){.tolerance = integrator->options.newton_tolerance};
  if (position_level) self->tolerance *= POSITION_SHARE;
  self->v_size = vini_max(vini_max_abs(v, n), fabs(h) * vini_max_abs(a, n));
  self->p_size = positive(vini_max(vini_max_abs(p, n), fabs(h) * self->v_size));
  self->v_size = positive(self->v_size);
  self->floor = FLOOR_ULPS * DBL_EPSILON * (1 + self->p_size / (fabs(h) * self->v_size));
}

vini_verdict vini_newton_judge(vini_newton *self, const vin_options *options, double p_increment,
                               double v_increment, bool fresh) {
  self->before = self->increment;
  self->increment = vini_max(p_increment / self->p_size, v_increment / self->v_size);
  self->iterations++;
  if (!(self->increment <= DBL_MAX)) return VINI_NEWTON_DIVERGED;
  if (self->increment <= self->tolerance) return VINI_NEWTON_CONVERGED;
  bool first = self->iterations == 1;
  double rate = first ? 0 : self->increment / self->before;
  self->contraction = rate;
  if (!first && rate < SLOW && rate * self->increment <= (1 - rate) * 0.1 * self->tolerance) {
    return VINI_NEWTON_CONVERGED;
  }
  if (rate > STAGNANT && self->increment <= self->floor) return VINI_NEWTON_CONVERGED;
  if (rate > 1 && fresh && ++self->slow >= MOST_GROWING) return VINI_NEWTON_DIVERGED;
  if (self->iterations >= options->max_newton) return VINI_NEWTON_DIVERGED;
  return rate > SLOW ? VINI_NEWTON_RENEW : VINI_NEWTON_GO_ON;
}

vin_status vini_newton_failure(vin_integrator *self, const vini_newton *newton) {
  return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                   "Newton's method did not converge in %d iterations: increment %.3g of the "
                   "state, tolerance %.3g, contraction %.3g, residual of the forces %.3g",
                   newton->iterations, newton->increment, newton->tolerance, newton->contraction,
                   newton->residual);
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
      vini_newton_begin(newton, self, p, v, data->a, stage->h, stage->position_level);
    }
    newton->residual = vini_max_abs(x, self->n);
    VINI_TRY(vini_augmented_solve(&data->matrix, x));
    for (vin_int i = 0; i < self->n; i++) data->a[i] += x[i];
    for (vin_int i = 0; i < self->m; i++) data->l[i] += x[self->n + i];
    self->stats.sweeps++;
    double largest = vini_max_abs(x, self->n);
    vini_verdict verdict = vini_newton_judge(newton, &self->options, fabs(stage->beta) * largest,
                                             fabs(stage->gamma) * largest, due);
    if (verdict == VINI_NEWTON_CONVERGED) break;
    if (verdict == VINI_NEWTON_DIVERGED) return vini_newton_failure(self, newton);
    if (verdict == VINI_NEWTON_RENEW && !due && newton->contraction > 1) { /* led astray */
      memcpy(data->a, data->guess_a, (size_t)self->n * sizeof *x);
      memcpy(data->l, data->guess_l, (size_t)self->m * sizeof *x);
    }
    due = verdict == VINI_NEWTON_RENEW;
  }
  place(self, stage, p, v);
  return VIN_OK;
}

vin_status vini_stage_solve(vin_integrator *self, const vini_stage *stage, double *p, double *v) {
  vini_implicit *data = self->data;
  vini_newton newton = {0};
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memcpy(data->guess_a, data->a, n * sizeof(double));
  memcpy(data->guess_l, data->l, m * sizeof(double));
  /* a step length that differs in its last digits is the same to Newton's method */
  bool kept = data->matrix.factored && fabs(data->beta - stage->beta) <= 1e-6 * fabs(stage->beta) &&
              fabs(data->gamma - stage->gamma) <= 1e-6 * fabs(stage->gamma);
  vin_status status = iterate(self, stage, p, v, !kept, &newton);
  if (status == VIN_SINGULAR && kept) { /* an old matrix is no verdict */
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
