/* dae_project - values of the constraints and their derivatives: theory (Q1)-(Q4). */
#include "project/dae_project.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The change of g_x is a difference over this part of the time in which the solution changes. */
static const double part_of_time = 1e-5;

static vin_status keep(vin_dae_projector *self, vin_status status) {
  self->callback_status = status;
  if (status != VIN_OK)
    snprintf(self->callback_text, sizeof self->callback_text, "%s", self->object.text);
  return status;
}

/* f, and for index 2 also f_y and f_t, at y. */
static vin_status evaluate(vin_dae_projector *self, const double *y, bool jacobian) {
  size_t bytes = (size_t)self->n * sizeof *y;
  if (!self->f_known || memcmp(y, self->at, bytes) != 0) {
    self->f_known = self->jacobian_known = false;
    if (!vini_dae_inside(self->dae, self->t, y))
      return vini_fail(&self->object, VIN_RETRY, "the projection leaves the domain at t = %.15g",
                       self->t);
    memcpy(self->at, y, bytes);
    VINI_TRY(vini_dae_function(&self->work, self->t, y, self->f));
    self->f_known = true;
  }
  if (!jacobian || self->jacobian_known) return VIN_OK;
  VINI_TRY(vini_dae_jacobian(&self->work, self->t, self->at, self->f, self->jacobian));
  if (self->hidden)
    VINI_TRY(vini_dae_time_derivative(&self->work, self->t, self->at, self->options.time_scale,
                                      self->f_t, self->scratch));
  self->jacobian_known = true;
  return VIN_OK;
}

static vin_status invariants(vin_dae_projector *self, const double *y) {
  if (self->k == 0) return VIN_OK;
  int code = self->options.invariant(self->options.user, self->t, y, self->c);
  if (code != 0)
    return vini_fail(&self->object, code > 0 ? VIN_RETRY : VIN_ERR_CALLBACK,
                     "the invariant callback %s (%d) at t = %.17g",
                     code > 0 ? "asked for a smaller step" : "failed", code, self->t);
  int64_t bad = vini_first_nonfinite(self->c, self->k);
  if (bad < 0) return VIN_OK;
  return vini_fail(&self->object, VIN_RETRY, "the invariant callback gave %g for entry %lld",
                   self->c[bad], (long long)bad);
}

/* theory (Q1): h = g_x f + g_t */
static void hidden(const vin_dae_projector *self, double *h) {
  vin_triplets p = self->dae->desc.jacobian_pattern;
  for (vin_int i = 0; i < self->m; i++) h[i] = self->f_t[self->d + i];
  for (vin_int e = 0; e < p.count; e++) {
    if (p.row[e] >= self->d) h[p.row[e] - self->d] += self->jacobian[e] * self->f[p.col[e]];
  }
}

static vin_status residual(vin_dae_projector *self, const double *y) {
  vin_int m = self->m;
  double *r = self->residual;
  if (m > 0) {
    VINI_TRY(evaluate(self, y, self->hidden));
    memcpy(r, self->f + self->d, (size_t)m * sizeof *r);
    memset(r + m, 0, (size_t)m * sizeof *r);
    if (self->hidden) hidden(self, r + m);
  }
  VINI_TRY(invariants(self, y));
  memcpy(r + 2 * m, self->c, (size_t)self->k * sizeof *r);
  return VIN_OK;
}

vin_status vini_dae_project_residual(vin_dae_projector *self, const double *y) {
  return keep(self, residual(self, y));
}

vin_status vini_dae_stage_constraint(vini_dae_stage *stage, const double *x, double *c) {
  vin_dae_projector *self = stage->owner;
  vin_int m = self->m;
  memcpy(self->y + stage->first, x, (size_t)stage->count * sizeof *x);
  if ((stage->parts & (VINI_PART_G | VINI_PART_H)) != 0)
    VINI_TRY(keep(self, evaluate(self, self->y, (stage->parts & VINI_PART_H) != 0)));
  if (stage->parts & VINI_PART_G) {
    memcpy(c, self->f + self->d, (size_t)m * sizeof *c);
    c += m;
  }
  if (stage->parts & VINI_PART_H) {
    hidden(self, c);
    c += m;
  }
  if (!(stage->parts & VINI_PART_C)) return VIN_OK;
  VINI_TRY(keep(self, invariants(self, self->y)));
  memcpy(c, self->c, (size_t)self->k * sizeof *c);
  return VIN_OK;
}

/* Time in which x moves by a small part of its size, as it is known at t. */
static double short_time(const vin_dae_projector *self) {
  const double *typical = self->dae->desc.typical;
  double rate = 1 / self->options.time_scale;
  for (vin_int i = 0; i < self->d; i++) {
    double size = vini_max(fabs(self->at[i]), typical ? typical[i] : 1);
    rate = vini_max(rate, fabs(self->f[i]) / size);
  }
  return vini_max(part_of_time / rate, DBL_EPSILON / part_of_time * fabs(self->t));
}

/* f_y at (t + s, x + s f, z); a point that f refuses is left out (*known). */
static vin_status jacobian_after(vin_dae_projector *self, double s, double *values, bool *known) {
  memcpy(self->moved, self->at, (size_t)self->n * sizeof *self->moved);
  for (vin_int i = 0; i < self->d; i++) self->moved[i] += s * self->f[i];
  *known = false;
  if (!vini_dae_inside(self->dae, self->t + s, self->moved)) return VIN_OK;
  vin_status status = vini_dae_jacobian(&self->work, self->t + s, self->moved, NULL, values);
  *known = status == VIN_OK;
  return status < 0 ? status : VIN_OK;
}

/* jacobian_up := d/dt g_x along the solution, theory (Q4); zero where it cannot be had. */
static vin_status change(vin_dae_projector *self) {
  double s = short_time(self), *up = self->jacobian_up, *down = self->jacobian_down;
  bool after, before;
  VINI_TRY(jacobian_after(self, s, up, &after));
  VINI_TRY(jacobian_after(self, -s, down, &before));
  const double *high = after ? up : self->jacobian, *low = before ? down : self->jacobian;
  double length = (after ? s : 0) + (before ? s : 0);
  for (vin_int e = 0; e < self->dae->desc.jacobian_pattern.count; e++) {
    up[e] = length > 0 ? (high[e] - low[e]) / length : 0;
  }
  return VIN_OK;
}

static vin_status invariant_jacobian(vin_dae_projector *self) {
  const vin_dae_projection_options *o = &self->options;
  int code = o->invariant_jacobian(o->user, self->t, self->y, self->c_values);
  if (code != 0)
    return vini_fail(&self->object, code > 0 ? VIN_RETRY : VIN_ERR_CALLBACK,
                     "the invariant_jacobian callback %s (%d) at t = %.17g",
                     code > 0 ? "asked for a smaller step" : "failed", code, self->t);
  return VIN_OK; /* its values are looked at by the minimiser */
}

static vin_status derivatives(vini_dae_stage *stage) {
  vin_dae_projector *self = stage->owner;
  if ((stage->parts & (VINI_PART_G | VINI_PART_H)) != 0) VINI_TRY(evaluate(self, self->y, true));
  if (stage->change_count > 0) VINI_TRY(change(self));
  return stage->c_count > 0 ? invariant_jacobian(self) : VIN_OK;
}

vin_status vini_dae_stage_jacobian(vini_dae_stage *stage, const double *x, double *values) {
  vin_dae_projector *self = stage->owner;
  const double *j = self->jacobian;
  memcpy(self->y + stage->first, x, (size_t)stage->count * sizeof *x);
  VINI_TRY(keep(self, derivatives(stage)));
  for (vin_int e = 0; e < stage->g_count; e++) *values++ = j[stage->g_entry[e]];
  for (vin_int e = 0; e < stage->product_count; e++) {
    vin_int p = stage->h_product[e];
    *values++ = j[self->left[p]] * j[self->right[p]];
  }
  for (vin_int e = 0; e < stage->change_count; e++)
    *values++ = self->jacobian_up[stage->h_change[e]];
  for (vin_int e = 0; e < stage->c_count; e++) *values++ = self->c_values[stage->c_entry[e]];
  return VIN_OK;
}

void vini_dae_project_name(const vin_dae_projector *self, vin_int row, char *text, size_t size) {
  char name[96];
  if (row >= 2 * self->m) {
    snprintf(text, size, "invariant %d", (int)(row - 2 * self->m));
    return;
  }
  bool first = row < self->m;
  vin_dae_equation_name(self->dae, self->d + row - (first ? 0 : self->m), name, sizeof name);
  snprintf(text, size, "%s%s", first ? "" : "d/dt of ", name);
}
