/* When a step is followed by a projection, and whether its result still means something. */
#include "integrate/integrate.h"

#include <math.h>
#include <string.h>

/* A step that the projection shortens to less than this fraction has left the range in which it
 * means anything (on a circle: 5 rad). Corrections that are small against the positions, or
 * converge at once, are never judged: at a turning point the step itself vanishes. */
#define LEAST_LEFT 0.25
#define LARGE_CORRECTION 0.1

static double distance(vin_int n, const double *x, const double *y) {
  double largest = 0;
  for (vin_int i = 0; i < n; i++) largest = vini_max(largest, fabs(x[i] - y[i]));
  return largest;
}

static vin_status project_position(vin_integrator *self, const vin_state *from, double t,
                                   double *p) {
  vin_projection_report report;
  memset(&report, 0, sizeof report);
  double step = distance(self->n, from->p, p), size = vini_max_abs(p, self->n);
  VINI_TRY(vini_projector_position(self->projector, t, p, false, &report));
  if (report.iterations < 2 || report.position_correction <= LARGE_CORRECTION * size) return VIN_OK;
  double left = distance(self->n, from->p, p);
  if (left >= LEAST_LEFT * step) return VIN_OK;
  return vini_fail(&self->projector->object, VIN_STEP_FAILED,
                   "the projection leaves %.3g of %.3g that the step went: take a smaller step",
                   left, step);
}

/* Is it this step's turn? */
static vin_status is_due(vin_integrator *self, double t, const vin_state *to, bool *due) {
  const vin_options *o = &self->options;
  bool counted = o->projection_every > 1 || o->projection_drift == 0;
  *due = counted && self->since_projection + 1 >= o->projection_every;
  if (*due || o->projection_drift == 0) return VIN_OK;
  double phi = 0, h = 0;
  VINI_TRY(vini_projector_residuals(self->projector, t, to->p, to->v, &phi, &h, NULL, NULL));
  *due = !(phi <= o->projection_drift && h <= o->projection_drift);
  return VIN_OK;
}

vin_status vini_project_step(vin_integrator *self, const vin_state *from, double t, vin_state *to,
                             bool *factored) {
  *factored = false;
  bool due = false;
  if (self->options.projection != VIN_PROJECTION_NONE) VINI_TRY(is_due(self, t, to, &due));
  self->since_projection = due ? 0 : self->since_projection + 1;
  if (!due) return VIN_OK;
  if (self->options.projection & VIN_PROJECTION_POSITION) {
    VINI_TRY(project_position(self, from, t, to->p));
  }
  if (self->options.projection & VIN_PROJECTION_VELOCITY) {
    vin_projection_report report;
    VINI_TRY(vini_projector_velocity(self->projector, t, to->p, to->v, false, &report));
    *factored = self->m > 0 && (self->system->desc.flags & VIN_MASS_CONSTANT) != 0;
  }
  return VIN_OK;
}
