/* The energy balance of a step; theory (L6). */
#include "integrate/line_integral.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A force is affine in p when its second difference is below this fraction of its size. */
#define AFFINE 1e-13
/* Distance of the points of that difference, in sizes of the position. */
#define PROBE 0.25

/* h sum_l b_l ( u'(f(u,u') - f(u,0)) + lambda . Phi_t ) */
static vin_status work_done(vin_integrator *self, const vini_line_state *start, double h,
                            double *work) {
  vini_line *line = self->data;
  const vini_line_table *t = &line->table;
  vini_object *object = &self->projector->object;
  bool drag = !(self->system->desc.flags & VIN_FORCE_VELOCITY_FREE);
  bool moving = self->system->desc.constraint_rate != NULL && self->m > 0;
  double *rest = line->z; /* s (n + m) numbers that no solve needs now */
  *work = 0;
  for (int l = 0; l < t->k && (drag || moving); l++) {
    double time = start->t + t->c[l] * h, power = 0;
    vini_line_node(self, start, h, l);
    if (drag) {
      VINI_TRY(vini_eval_force(self->system, object, time, line->u, line->rate, line->force));
      for (vin_int i = 0; i < self->n; i++) power += line->rate[i] * line->force[i];
      memset(line->force, 0, (size_t)self->n * sizeof(double)); /* the velocity 0 */
      VINI_TRY(vini_eval_force(self->system, object, time, line->u, line->force, rest));
      for (vin_int i = 0; i < self->n; i++) power -= line->rate[i] * rest[i];
      self->stats.force_evaluations += 2;
    }
    if (moving) {
      VINI_TRY(vini_eval_constraint_rate(self->system, object, time, line->u, line->gap));
      for (int j = 0; j < t->r; j++) {
        const double *lambda = line->l_next + (size_t)j * (size_t)self->m;
        for (vin_int c = 0; c < self->m; c++)
          power += t->value[l][j].high * lambda[c] * line->gap[c];
      }
    }
    *work += h * t->b[l] * power;
  }
  return VIN_OK;
}

/* T1 - T0 = 1/2 (v1 - v0)'M(v1 + v0), which loses no digits, and the larger of T0 and T1. */
static void kinetic(vin_integrator *self, const vini_line_state *start, const vini_line_state *end,
                    double *change, double *size) {
  vini_line *line = self->data;
  double *sum = line->u, *product = line->force, before = 0, after = 0;
  vin_int n = self->n;
  for (vin_int i = 0; i < n; i++) {
    sum[i] = end->raw[i] + start->raw[i] + (end->v_low[i] + start->v_low[i]);
  }
  memset(product, 0, (size_t)n * sizeof(double));
  vini_projector_add_mass(self->projector, 0.5, sum, product);
  *change = 0;
  for (vin_int i = 0; i < n; i++) {
    double dv = (end->raw[i] - start->raw[i]) + (end->v_low[i] - start->v_low[i]);
    *change += dv * product[i];
    before += start->raw[i] * product[i];
    after += end->raw[i] * product[i];
  }
  *size = vini_max(fabs(before), fabs(after));
}

vin_status vini_line_energy(vin_integrator *self, const vini_line_state *start, double h,
                            const vini_line_state *end, double *error, double *scale) {
  vini_object *object = &self->projector->object;
  double before, after, change, size, work;
  VINI_TRY(vini_eval_potential(self->system, object, start->t, start->p, &before));
  VINI_TRY(vini_eval_potential(self->system, object, end->t, end->p, &after));
  VINI_TRY(work_done(self, start, h, &work));
  kinetic(self, start, end, &change, &size);
  *error = change + (after - before) - work;
  *scale = vini_max(size, vini_max(fabs(before), fabs(after)));
  return VIN_OK;
}

vin_status vin_integrator_energy_error(vin_integrator *self, double *error) {
  if (error != NULL) *error = NAN;
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  vini_object *object = &self->object;
  if (error == NULL) return vini_fail(object, VIN_ERR_BAD_INPUT, "error is NULL");
  if (self->method->step != vini_line_step || self->system->desc.potential == NULL) {
    return vini_fail(object, VIN_ERR_UNSUPPORTED,
                     "the energy error of a step is known for hbvm and lim, on systems with a "
                     "potential; this is %s%s",
                     self->method->name,
                     self->system->desc.potential == NULL ? ", without one" : "");
  }
  vini_line *line = self->data;
  if (line->begin == NULL || line->last == NULL) {
    return vini_fail(object, VIN_ERR_BAD_STATE, "there is no last step whose energy is known");
  }
  double scale, *d = line->d_next, *l = line->l_next;
  line->d_next = line->d;
  line->l_next = line->l;
  vin_status status = vini_line_energy(self, line->begin, line->last_h, line->last, error, &scale);
  line->d_next = d;
  line->l_next = l;
  if (status != VIN_OK) return vini_fail(object, status, "%s", self->projector->object.text);
  return VIN_OK;
}

/* f(p + d) + f(p - d) - 2 f(p) = 0 for some d that is not small? */
static vin_status force_is_affine(vin_integrator *self, const vini_line_state *start,
                                  bool *affine) {
  vini_line *line = self->data;
  vini_object *object = &self->projector->object;
  double *sum = line->theta, size = vini_max_abs(start->p, self->n), largest = 0;
  memset(sum, 0, (size_t)self->n * sizeof(double));
  for (int side = -1; side <= 1; side++) {
    uint64_t random = 12345;
    for (vin_int i = 0; i < self->n; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      double part = (double)(random >> 40) / 16777216 - 0.5; /* -1/2 .. 1/2 */
      line->u[i] = start->p[i] + side * PROBE * (size > 0 ? size : 1) * part;
    }
    self->stats.force_evaluations++;
    VINI_TRY(vini_eval_force(self->system, object, start->t, line->u, start->raw, line->force));
    for (vin_int i = 0; i < self->n; i++) sum[i] += (side == 0 ? -2 : 1) * line->force[i];
    largest = vini_max(largest, vini_max_abs(line->force, self->n));
  }
  *affine = vini_max_abs(sum, self->n) <= AFFINE * largest;
  return VIN_OK;
}

bool vini_line_is_quadratic(vin_integrator *self, const vini_line_state *start) {
  const vin_system_desc *desc = &self->system->desc;
  bool affine = false, quadratic = self->m == 0 || (desc->flags & VIN_CONSTRAINT_QUADRATIC) != 0;
  if (!quadratic || !(desc->flags & VIN_FORCE_VELOCITY_FREE)) return false;
  return force_is_affine(self, start, &affine) == VIN_OK && affine;
}
