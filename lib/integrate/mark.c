/* Going back to a marked state: what a rejected or failed step must not cost. */
#include "integrate/integrate.h"

#include <math.h>
#include <string.h>

bool vini_mark_allocate(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  vini_mark *mark = &self->mark;
  if (self->method->flags & VINI_METHOD_ACCELERATION) {
    mark->vdot = vini_alloc(context, (size_t)self->n, sizeof(double));
    if (mark->vdot == NULL) return false;
  }
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

/* What is known, both ways: integrator to mark or back. */
static void copy(const vin_integrator *self, double *const to[3], double *const from[3]) {
  const vini_mark *mark = &self->mark;
  if (mark->known) memcpy(to[0], from[0], (size_t)self->n * sizeof(double));
  if (!mark->known_w) return;
  memcpy(to[1], from[1], (size_t)self->m * sizeof(double));
  memcpy(to[2], from[2], (size_t)self->m * sizeof(double));
}

void vini_integrator_mark(vin_integrator *self, bool continues) {
  vini_mark *mark = &self->mark;
  mark->since_projection = self->since_projection;
  mark->known = mark->vdot != NULL && continues && self->valid;
  mark->known_w = mark->w != NULL && continues && self->valid;
  copy(self, (double *[3]){mark->vdot, mark->w, mark->wdot},
       (double *[3]){self->vdot, self->w, self->wdot});
}

bool vini_integrator_rewind(vin_integrator *self) {
  const vini_mark *mark = &self->mark;
  vini_integrator_forget(self);
  self->since_projection = mark->since_projection;
  copy(self, (double *[3]){self->vdot, self->w, self->wdot},
       (double *[3]){mark->vdot, mark->w, mark->wdot});
  self->rewound = mark->known_w;
  if (!mark->known) return false;
  self->valid = true;
  return true;
}

void vini_begin_w(vin_integrator *self) {
  if (self->w != NULL && !self->rewound) memset(self->w, 0, (size_t)self->m * sizeof(double));
  self->rewound = false;
}

void vini_integrator_reject(vin_integrator *self) {
  self->stats.steps--;
  self->stats.rejected++;
  if (self->dense != NULL) self->dense->valid = false;
}
