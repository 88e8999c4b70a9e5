/* Going back to a marked state: what a rejected or failed step must not cost. */
#include "integrate/integrate.h"

#include <math.h>
#include <string.h>

bool vini_mark_allocate(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  vini_mark *mark = &self->mark;
  bool all = (self->method->flags & VINI_METHOD_ACCELERATION) != 0;
  if (all) mark->vdot = vini_alloc(context, (size_t)self->n, sizeof(double));
  if (all && mark->vdot == NULL) return false;
  if (self->w == NULL) return true;
  mark->w = vini_alloc(context, (size_t)self->m, sizeof(double));
  mark->wdot = vini_alloc(context, (size_t)self->m, sizeof(double));
  return mark->w != NULL && mark->wdot != NULL;
}

void vini_mark_free(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  vini_free(context, self->mark.vdot);
  vini_free(context, self->mark.w);
  vini_free(context, self->mark.wdot);
  self->mark = (vini_mark){0};
}

/* Copies both ways, integrator to mark or back. */
static void copy(const vin_integrator *self, double *const to[3], double *const from[3]) {
  memcpy(to[0], from[0], (size_t)self->n * sizeof(double));
  if (self->w == NULL) return;
  memcpy(to[1], from[1], (size_t)self->m * sizeof(double));
  memcpy(to[2], from[2], (size_t)self->m * sizeof(double));
}

void vini_integrator_mark(vin_integrator *self, bool continues) {
  vini_mark *mark = &self->mark;
  mark->since_projection = self->since_projection;
  bool usable = continues && self->valid;
  mark->known = mark->vdot != NULL && usable;
  mark->w_known = mark->vdot == NULL && mark->w != NULL && usable;
  if (mark->w_known) memcpy(mark->w, self->w, (size_t)self->m * sizeof(double));
  if (!mark->known) return;
  copy(self, (double *[3]){mark->vdot, mark->w, mark->wdot},
       (double *[3]){self->vdot, self->w, self->wdot});
}

bool vini_integrator_rewind(vin_integrator *self) {
  const vini_mark *mark = &self->mark;
  vini_integrator_forget(self);
  self->since_projection = mark->since_projection;
  if (mark->w_known) memcpy(self->w, mark->w, (size_t)self->m * sizeof(double));
  self->w_rewound = mark->w_known;
  if (!mark->known) return false;
  copy(self, (double *[3]){self->vdot, self->w, self->wdot},
       (double *[3]){mark->vdot, mark->w, mark->wdot});
  self->valid = true;
  return true;
}

void vini_integrator_reject(vin_integrator *self) {
  self->stats.steps--;
  self->stats.rejected++;
  if (self->dense != NULL) self->dense->valid = false;
}
