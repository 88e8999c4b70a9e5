/* The integrals of a step by Gauss quadrature, and its end; theory (L1) to (L4). Work: k evaluations of
 * force and Jacobian, and k s vector updates. */
#include "integrate/line_integral.h"

#include <math.h>
#include <string.h>

/* Rows whose Phi is only rounding are left alone; this part of eps |Phi_p p| is. */
#define ROUNDING_MET 0.25

/* y += a x */
static void add(vin_int count, double a, const double *restrict x, double *restrict y) {
  for (vin_int i = 0; i < count; i++) y[i] += a * x[i];
}

/* The same with a coefficient of more digits than a double has: theory (L10). */
static void add_exact(vin_int count, vini_coefficient a, const double *restrict x,
                      double *restrict y) {
  const double high = a.high, low = a.low;
  for (vin_int i = 0; i < count; i++) y[i] += high * x[i] + low * x[i];
}

void vini_line_node(const vin_integrator *self, const vini_line_state *start, double h, int l) {
  const vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  const double *value = t->value[l];
  const vini_coefficient *integral = t->integral[l];
  const double c = integral[0].high, c_low = integral[0].low;
  vin_int n = self->n;
  /* small terms first: what is left of p and v, then the increments, p and v last */
  double *restrict u = line->u, *restrict rate = line->rate;
  const double *p = start->p, *p_low = start->p_low, *v = start->raw;
  for (vin_int i = 0; i < n; i++) {
    rate[i] = start->v_low[i] + line->d_next[i]; /* P_0 = 1 */
    u[i] = c * rate[i] + c_low * (rate[i] + v[i]);
  }
  for (int j = 1; j < t->s; j++) {
    add_exact(n, integral[j], line->d_next + (size_t)j * (size_t)n, u);
    add(n, value[j], line->d_next + (size_t)j * (size_t)n, rate);
  }
  for (vin_int i = 0; i < n; i++) {
    u[i] = p[i] + (p_low[i] + h * (u[i] + c * v[i]));
    rate[i] += v[i];
  }
}

/* hi + low := x + low + change, where low is what the rounding of the last sums left over (Neumaier). */
static inline double compensated(double x, double change, double low, double *left) {
  double y = change + low, sum = x + y, back = sum - x;
  *left = (x - (sum - back)) + (y - back);
  return sum;
}

void vini_line_end(const vin_integrator *self, const vini_line_state *start, double h, double *p,
                   double *p_low, double *v, double *v_low) {
  const vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  const double *d = line->d_next;
  size_t n = (size_t)self->n;
  for (size_t i = 0; i < n; i++) {
    double left, change = 0;
    if (p != NULL) {
      change = h * (start->raw[i] + (start->v_low[i] + d[i]));
      p[i] = compensated(start->p[i], change, start->p_low[i], &left);
      if (p_low != NULL) p_low[i] = left;
    }
    if (v == NULL) continue;
    change = 0;
    for (int j = t->s - 1; j >= 0; j--) {
      const double dj = d[(size_t)j * n + i];
      change += t->y[j].high * dj + t->y[j].low * dj;
    }
    v[i] = compensated(start->raw[i], change, start->v_low[i], &left);
    if (v_low != NULL) v_low[i] = left;
  }
}

/* force -= J' lambda and, when gap is not NULL, gap += J rate, in one pass over the Jacobian. */
static void apply_jacobian(const vin_integrator *self, const vini_line *line, double *gap) {
  const vin_triplets *pattern = &self->projector->jacobian;
  const vin_int *row = pattern->row, *col = pattern->col;
  const double *value = line->node_values, *lambda = line->lambda, *rate = line->rate;
  double *force = line->force;
  if (gap == NULL) {
    for (vin_int k = 0; k < pattern->count; k++) force[col[k]] -= value[k] * lambda[row[k]];
    return;
  }
  for (vin_int k = 0; k < pattern->count; k++) {
    force[col[k]] -= value[k] * lambda[row[k]];
    gap[row[k]] += value[k] * rate[col[k]];
  }
}

/* f - G' lambda into line->force and, for r > 1, G u' + Phi_t into line->gap, at node l. */
static vin_status evaluate_node(vin_integrator *self, const vini_line_state *start, double h,
                                int l) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  vini_object *object = &self->projector->object;
  double time = start->t + t->c[l] * h;
  vini_line_node(self, start, h, l);
  self->stats.force_evaluations++;
  VINI_TRY(vini_eval_force(self->system, object, time, line->u, line->rate, line->force));
  if (self->m == 0) return VIN_OK;
  self->stats.jacobian_evaluations++;
  VINI_TRY(vini_eval_jacobian(self->system, object, time, line->u, line->node_values));
  memcpy(line->lambda, line->l_next, (size_t)self->m * sizeof(double));
  for (int j = 1; j < t->r; j++) {
    add(self->m, t->value[l][j], line->l_next + (size_t)j * (size_t)self->m, line->lambda);
  }
  if (t->r > 1) {
    VINI_TRY(vini_eval_constraint_rate(self->system, object, time, line->u, line->gap));
  }
  apply_jacobian(self, line, t->r > 1 ? line->gap : NULL);
  return VIN_OK;
}

/* C_0 = Phi(p1, t1) / h instead of the quadrature: the same where that is exact, and nothing adds up.
 * Phi at p1 includes what the rounding of p1 left over, to first order. */
static vin_status evaluate_end(vin_integrator *self, const vini_line_state *start, double h) {
  vini_line *line = self->data;
  if (self->m == 0) return VIN_OK;
  vini_line_end(self, start, h, line->u, line->rate, NULL, NULL);
  self->stats.constraint_evaluations++;
  VINI_TRY(vini_eval_constraint(self->system, &self->projector->object, start->t + h, line->u,
                                line->gap));
  vini_projector_add_jacobian(self->projector, 1, line->rate, line->gap);
  for (vin_int c = 0; c < self->m; c++) {
    line->c[c] = fabs(line->gap[c]) <= ROUNDING_MET * line->rounding[c] ? 0 : line->gap[c] / h;
  }
  return VIN_OK;
}

vin_status vini_line_evaluate(vin_integrator *self, const vini_line_state *start, double h) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  memset(line->theta, 0, (size_t)t->s * n * sizeof(double));
  memset(line->c, 0, (size_t)t->r * m * sizeof(double));
  for (int l = 0; l < t->k; l++) {
    VINI_TRY(evaluate_node(self, start, h, l));
    for (int j = 0; j < t->s; j++) {
      add_exact(self->n, t->weight[l][j], line->force, line->theta + (size_t)j * n);
    }
    for (int j = 1; j < t->r; j++) {
      add_exact(self->m, t->weight[l][j], line->gap, line->c + (size_t)j * m);
    }
  }
  return evaluate_end(self, start, h);
}
