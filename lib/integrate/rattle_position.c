/* The passes of rattle over the positions: its position stage, and the end of its velocity stage. Both go
 * through the coordinates block by block and take the rows that a block completes with it. */
#include "integrate/rattle.h"

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
/* The rounding floors of Phi change as slowly as the positions' size; they are renewed this often. */
#define FLOOR_STEPS 32

bool vini_rattle_blocks(vin_integrator *self) {
  const vin_triplets *j = &self->projector->jacobian;
  const vin_int blocks = (self->n - 1) / VINI_RATTLE_BLOCK + 1;
  self->rows_done = vini_alloc(&self->object.context, (size_t)blocks, sizeof *self->rows_done);
  if (self->rows_done == NULL) return false;
  vin_int block = 0, at = 0;
  for (vin_int c = 0; c < self->m && self->projector->rows_ascend; c++) {
    vin_int last = 0;
    for (; at < j->count && j->row[at] == c; at++) last = vini_max_int(last, j->col[at]);
    /* this row is complete with that block, and none behind it before */
    for (; block < last / VINI_RATTLE_BLOCK; block++) self->rows_done[block] = c;
  }
  for (; block < blocks; block++) self->rows_done[block] = self->m;
  if (!self->projector->rows_ascend) {
    for (block = 0; block < blocks - 1; block++) self->rows_done[block] = 0;
  }
  return true;
}

/* max over the rows first .. end - 1 of |Phi_c| / limit_c, where limit_c = max(tolerance, rounding
 * floor). */
static double excess(const vin_integrator *self, double tolerance, const double *phi, vin_int first,
                     vin_int end) {
  const double *floor = self->floor;
  vin_int inside = 0;
  for (vin_int c = first; c < end; c++) inside += fabs(phi[c]) <= vini_max(tolerance, floor[c]);
  if (inside == end - first) return 1; /* or less: arrived */
  double worst = 0;
  for (vin_int c = first; c < end; c++) {
    double e = fabs(phi[c]) / vini_max(tolerance, floor[c]);
    if (phi[c] != 0 && !(e <= worst)) worst = e; /* both limits may be 0 */
  }
  return worst;
}

static vin_status diverges(vin_integrator *self, int sweeps, double gain) {
  return vini_fail(
      &self->projector->object, VIN_STEP_FAILED,
      "rattle's position stage does not converge (%d sweeps, last residual ratio %.2g): "
      "take a smaller step " VINI_FAST_HINT,
      sweeps, gain);
}

/* Coordinates begin .. end - 1: w := base + z, p1 := p0 + h w with what rounding has kept back of the
 * steps before. */
static void move(const vin_integrator *self, const double *p0, const double *base, const double *z,
                 double h, vin_int begin, vin_int end, double *restrict w, double *restrict p1) {
  const double *rest = self->rest;
  for (vin_int i = begin; i < end; i++) {
    const double speed = base[i] + z[i];
    w[i] = speed;
    p1[i] = p0[i] + (h * speed + rest[i]);
  }
}

/* w, p1, Phi(p1) and its excess, with w = base + z. */
static vin_status evaluate(vin_integrator *self, const vin_state *from, double h,
                           const double *base, const double *z, vin_state *to, double *worst) {
  const bool by_rows = self->system->desc.constraint_rows != NULL;
  double *phi = self->wm[0];
  vin_int row = 0;
  *worst = 1;
  self->stats.constraint_evaluations++;
  for (vin_int begin = 0, k = 0; begin < self->n; begin += VINI_RATTLE_BLOCK, k++) {
    const vin_int end = vini_min_int(begin + VINI_RATTLE_BLOCK, self->n);
    move(self, from->p, base, z, h, begin, end, to->v, to->p);
    const vin_int done = by_rows || end == self->n ? self->rows_done[k] : row;
    if (done == row) continue;
    VINI_TRY(vini_eval_constraint_rows(self->system, &self->projector->object, from->t + h, to->p,
                                       row, done, phi));
    double e = excess(self, self->sharp, phi, row, done);
    if (!(e <= *worst)) *worst = e;
    row = done;
  }
  return VIN_OK;
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
  VINI_TRY(vini_rattle_solve(self, 1));
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

vin_status vini_rattle_positions(vin_integrator *self, const vin_state *from, double h,
                                 vin_state *to) {
  double *phi = self->wm[0], last = HUGE_VAL, e;
  int slow = 0, polished = 0;
  renew_floor(self, from->p);
  const double tolerance = self->options.position_tolerance, sharp = self->sharp;
  VINI_TRY(evaluate(self, from, h, from->v, self->next, to, &e));
  for (int sweeps = 0;; sweeps++) {
    if (e <= 1) return VIN_OK;
    if (!(e < HUGE_VAL)) return diverges(self, sweeps, e / last);
    bool gains = e * LEAST_GAIN <= last;
    if (!gains && e <= FLOOR_FACTOR) return VIN_OK;
    if (sharp < tolerance && excess(self, tolerance, phi, 0, self->m) <= 1) {
      if (!gains || polished++ == VINI_POLISHES) return VIN_OK;
    }
    slow = gains ? 0 : slow + 1;
    if (slow >= 2 || sweeps >= self->options.max_sweeps) return diverges(self, sweeps, e / last);
    last = e;
    VINI_TRY(sweep(self, phi, h));
    VINI_TRY(evaluate(self, from, h, to->v, self->z, to, &e));
  }
}

static vin_status not_finite(vin_integrator *self) {
  return vini_fail(&self->projector->object, VIN_STEP_FAILED, "the result is not finite");
}

/* Coordinates begin .. end - 1: what p1 = p0 + h w lost to rounding, by Knuth's two-sum, goes to rest:
 * without it the far end of a long chain takes random steps of 1e-10 m, whose correction shakes the whole
 * chain. Then v := w + d. */
static void finish(vin_integrator *self, const double *p0, const double *p1, const double *d,
                   double h, vin_int begin, vin_int end, double *restrict v) {
  double *restrict rest = self->rest;
  for (vin_int i = begin; i < end; i++) {
    const double step = h * v[i] + rest[i], start = p1[i] - step;
    rest[i] = (p0[i] - start) + (step - (p1[i] - start));
    v[i] += d[i];
  }
}

vin_status vini_rattle_finish(vin_integrator *self, const vin_state *from, double h,
                              const double *d, vin_state *to, bool *small) {
  const vin_projector *projector = self->projector;
  const bool ask = self->system->desc.constraint_rate == NULL && projector->rows_ascend;
  const double limit = self->options.velocity_tolerance;
  vin_int entry = 0;
  *small = ask;
  for (vin_int begin = 0, k = 0; begin < self->n; begin += VINI_RATTLE_BLOCK, k++) {
    const vin_int end = vini_min_int(begin + VINI_RATTLE_BLOCK, self->n);
    finish(self, from->p, to->p, d, h, begin, end, to->v);
    if (vini_first_nonfinite(to->p + begin, end - begin) >= 0) return not_finite(self);
    if (vini_first_nonfinite(to->v + begin, end - begin) >= 0) return not_finite(self);
    if (!ask) continue;
    *small &= vini_projector_rate_within(projector, to->v, limit, &entry, self->rows_done[k]);
  }
  return VIN_OK;
}
