/* ivp - from a constrained system to B y' = f(t, y): y = (q, v, w, lambda), or (q, v, lambda) where
 * M is constant. */
#include "ivp.h"

#include <string.h>

enum { MAX_N = 64, MAX_PATTERN = 400 };

static bool has_w(const ivp_problem *p) {
  return p->level == 2 || !(p->system.flags & VIN_MASS_CONSTANT);
}

/* r := f - G' lambda - M w, with M w only where w is among the unknowns */
static int dynamics(const ivp_problem *p, double t, const double *q, const double *v,
                    const double *w, const double *lambda, const double *jacobian, double *r) {
  const vin_system_desc *s = &p->system;
  double mass[MAX_PATTERN];
  int status = s->force(s->user, t, q, v, r);
  if (status == 0 && w != NULL) status = s->mass(s->user, t, q, v, mass);
  if (status != 0) return status;
  for (vin_int k = 0; w != NULL && k < s->mass_pattern.count; k++) {
    vin_int i = s->mass_pattern.row[k], j = s->mass_pattern.col[k];
    r[i] -= mass[k] * w[j];
    if (i != j) r[j] -= mass[k] * w[i];
  }
  for (vin_int k = 0; k < s->jacobian_pattern.count; k++) {
    r[s->jacobian_pattern.col[k]] -= jacobian[k] * lambda[s->jacobian_pattern.row[k]];
  }
  return 0;
}

static int f(void *user, double t, const double *y, double *r) {
  const ivp_problem *p = user;
  const vin_system_desc *s = &p->system;
  vin_int n = s->positions, m = s->constraints;
  const double *q = y, *v = y + n, *w = has_w(p) ? y + 2 * n : NULL;
  const double *lambda = y + (w != NULL ? 3 : 2) * n;
  double jacobian[MAX_PATTERN], *constraint = r + (lambda - y);
  memcpy(r, v, (size_t)n * sizeof *r);
  if (w != NULL) memcpy(r + n, w, (size_t)n * sizeof *r);
  int status = s->jacobian(s->user, t, q, jacobian);
  if (status == 0) status = dynamics(p, t, q, v, w, lambda, jacobian, constraint - n);
  if (status != 0) return status;
  if (p->level == 0) return s->constraint(s->user, t, q, constraint);
  memset(constraint, 0, (size_t)m * sizeof *constraint);
  const double *moved = p->level == 1 ? v : w; /* G v + Phi_t, or G w + a */
  if (p->level == 2) status = s->curvature(s->user, t, q, v, constraint);
  if (p->level == 1 && s->constraint_rate) status = s->constraint_rate(s->user, t, q, constraint);
  for (vin_int k = 0; k < s->jacobian_pattern.count; k++) {
    constraint[s->jacobian_pattern.row[k]] += jacobian[k] * moved[s->jacobian_pattern.col[k]];
  }
  return status;
}

static void patterns(ivp_problem *p) {
  const vin_system_desc *s = &p->system;
  vin_int n = s->positions, blocks = has_w(p) ? 3 : 2, dynamic = (blocks - 1) * n;
  for (vin_int i = 0; i < n; i++) {
    ivp_mass(p, i, i, 1);
    ivp_depends(p, i, n + i);
    if (blocks == 3) ivp_mass(p, n + i, n + i, 1), ivp_depends(p, n + i, 2 * n + i);
    for (vin_int j = 0; j < 2 * n; j++) ivp_depends(p, dynamic + i, j); /* forces: no pattern */
  }
  for (vin_int k = 0; k < s->mass_pattern.count; k++) {
    vin_int i = s->mass_pattern.row[k], j = s->mass_pattern.col[k];
    if (blocks == 2) continue;
    ivp_depends(p, dynamic + i, 2 * n + j);
    if (i != j) ivp_depends(p, dynamic + j, 2 * n + i);
  }
  for (vin_int k = 0; k < s->jacobian_pattern.count; k++) {
    vin_int c = blocks * n + s->jacobian_pattern.row[k], j = s->jacobian_pattern.col[k];
    ivp_depends(p, dynamic + j, c);
    ivp_depends(p, c, j);
    if (p->level > 0) ivp_depends(p, c, n + j);
    if (p->level == 2) ivp_depends(p, c, 2 * n + j);
  }
}

static void constant_mass(ivp_problem *p) {
  const vin_system_desc *s = &p->system;
  vin_int n = s->positions;
  double mass[MAX_PATTERN], zero[MAX_N] = {0};
  s->mass(s->user, 0, zero, zero, mass);
  for (vin_int k = 0; k < s->mass_pattern.count; k++) {
    vin_int i = s->mass_pattern.row[k], j = s->mass_pattern.col[k];
    ivp_mass(p, n + i, n + j, mass[k]);
    if (i != j) ivp_mass(p, n + j, n + i, mass[k]);
  }
}

bool ivp_mechanical(ivp_problem *p, const vin_system_desc *system, int level) {
  vin_int n = system->positions, m = system->constraints;
  p->system = *system;
  p->level = level;
  vin_int blocks = has_w(p) ? 3 : 2, size = blocks * n + m;
  if (n > MAX_N || system->mass_pattern.count > MAX_PATTERN ||
      system->jacobian_pattern.count > MAX_PATTERN || !ivp_size(p, size)) {
    return false;
  }
  p->index = 3 - level;
  p->f = f;
  if (blocks == 2) constant_mass(p);
  patterns(p);
  for (vin_int i = n; i < size; i++) {
    vin_int index = (i < 2 * n ? 2 : 3) - level;
    p->variable_index[i] = index > 1 ? index : 1;
  }
  return true;
}
