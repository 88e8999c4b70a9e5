/* Creation of the implicit methods, and their starts. */
#include "integrate/implicit.h"

#include "kkt/kkt.h"

#include <math.h>
#include <string.h>

/* A pivot of a constraint row below this part of its terms: the row's distance from the others' span is
 * a tenth of its length. */
#define NEARLY_DEPENDENT 0.01

static vin_status check_options(vin_integrator *self) {
  const vin_options *o = &self->options;
  vini_object *object = &self->object;
  if (!(o->newton_tolerance > 0 && o->newton_tolerance < 1)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "newton_tolerance is %g, must be in 0..1",
                     o->newton_tolerance);
  }
  if (o->max_newton < 1 || o->max_newton > 1000) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_newton is %d, must be in 1..1000",
                     o->max_newton);
  }
  if (!(o->spectral_radius >= 0 && o->spectral_radius <= 1)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "spectral_radius is %g, must be in 0..1",
                     o->spectral_radius);
  }
  return VIN_OK;
}

static bool allocate(vin_integrator *self, vini_implicit *data, size_t stages) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  vin_method method = self->options.method;
  size_t third = self->options.baumgarte.order == 3 ? m : 0;
  size_t past = method == VIN_METHOD_BDF2 ? n : 0, past_w = past > 0 ? third : 0,
         algorithmic = method == VIN_METHOD_GENERALIZED_ALPHA ? n : 0,
         combined = stages > 1 ? stages * (n + m) : 0;
  struct {
    double **vector;
    size_t size;
  } wanted[] = {{&data->lambda, m},
                {&data->p, n},
                {&data->v, n},
                {&data->p_base, n},
                {&data->v_base, n},
                {&data->x, stages * (n + m)},
                {&data->y, combined},
                {&data->a, stages * n},
                {&data->l, stages * m},
                {&data->guess_a, stages * n},
                {&data->guess_l, stages * m},
                {&data->past_p, past},
                {&data->past_v, past},
                {&data->w_base, third},
                {&data->wdot, stages * third},
                {&data->past_w, past_w},
                {&data->algorithmic, algorithmic}};
  enum { COUNT = sizeof wanted / sizeof *wanted };
  size_t total = 0;
  for (int k = 0; k < COUNT; k++) total += wanted[k].size;
  data->memory = vini_alloc(context, total, sizeof(double));
  data->dropped = vini_alloc(context, m, sizeof *data->dropped);
  double *next = data->memory;
  for (int k = 0; k < COUNT && next != NULL; k++) {
    *wanted[k].vector = next;
    next += wanted[k].size;
  }
  return data->memory != NULL && data->dropped != NULL;
}

vin_status vini_implicit_begin(vin_integrator *self, int stages) {
  VINI_TRY(check_options(self));
  vini_implicit *data = vini_alloc(&self->object.context, 1, sizeof *data);
  self->data = data;
  if (data == NULL || !allocate(self, data, (size_t)stages)) {
    return vini_fail(&self->object, VIN_ERR_NO_MEMORY,
                     "no memory for %s on %d positions and %d constraints", self->method->name,
                     (int)self->n, (int)self->m);
  }
  /* texts of the steps are the projector's: vini_step_failure() takes them from there */
  vini_object *object = &self->projector->object;
  vin_status status = vini_tangent_create(&data->tangent, object, self->system, &self->stats);
  return status == VIN_OK ? VIN_OK : vini_fail(&self->object, status, "%s", object->text);
}

void vini_implicit_destroy(vin_integrator *self) {
  vini_implicit *data = self->data;
  const vin_context *context = &self->object.context;
  if (data == NULL) return;
  vini_augmented_destroy(&data->matrix, context);
  vini_augmented_destroy(&data->pair, context);
  vini_tangent_destroy(&data->tangent, context);
  vini_free(context, data->dropped);
  vini_free(context, data->memory);
  vini_free(context, data);
}

/* Rows that the projector's factorisation dropped. */
static bool take_dropped(vin_integrator *self) {
  vini_implicit *data = self->data;
  const vin_int *rows = NULL;
  vin_int count = vin_kkt_dropped(self->projector->kkt, &rows), same = 0, before = 0;
  for (vin_int i = 0; i < self->m; i++) before += data->dropped[i];
  for (vin_int k = 0; k < count; k++) same += data->dropped[rows[k]];
  if (same == count && before == count) return false;
  memset(data->dropped, 0, (size_t)self->m);
  for (vin_int k = 0; k < count; k++) data->dropped[rows[k]] = 1;
  data->matrix.factored = data->pair.factored = false;
  return true;
}

vin_status vini_implicit_find_dropped(vin_integrator *self, double t, const double *p,
                                      const double *v, bool *changed) {
  *changed = false;
  VINI_TRY(vini_projector_factor(self->projector, t, p, v));
  *changed = take_dropped(self);
  return VIN_OK;
}

vin_status vini_implicit_accelerate(vin_integrator *self, double t, const double *p,
                                    const double *v, bool factored) {
  vini_implicit *data = self->data;
  VINI_TRY(vini_accelerate(self, t, p, v, self->w, factored, self->vdot, data->lambda, self->wdot));
  take_dropped(self);
  return VIN_OK;
}

bool vini_implicit_drop_nothing(vin_integrator *self) {
  vini_implicit *data = self->data;
  bool any = false;
  for (vin_int i = 0; i < self->m && !any; i++) any = data->dropped[i] != 0;
  memset(data->dropped, 0, (size_t)self->m);
  data->matrix.factored = data->pair.factored = false;
  return any;
}

/* The constraint whose row keeps the least of itself after elimination of the others; -1: none keeps less
 * than NEARLY_DEPENDENT. */
static vin_int weakest(vin_integrator *self, double *share) {
  vin_kkt *kkt = self->projector->kkt;
  vin_int found = -1;
  *share = NEARLY_DEPENDENT;
  if (kkt->active == NULL) return -1;
  if (!kkt->active->table->pivots(kkt->active, kkt->pivot, kkt->pivot_scale)) return -1;
  for (vin_int i = 0; i < self->m; i++) {
    double ratio = fabs(kkt->pivot[self->n + i]) / kkt->pivot_scale[self->n + i];
    if (kkt->dropped[i] || !(ratio < *share)) continue;
    *share = ratio;
    found = i;
  }
  return found;
}

vin_status vini_implicit_failure(vin_integrator *self, vin_status status, const vin_state *from,
                                 double h) {
  vini_object *object = &self->projector->object;
  if (status == VIN_OK || status < 0 || status == VIN_RETRY || self->m == 0) {
    return vini_step_failure(self, status, from->t, h);
  }
  char text[VINI_TEXT_SIZE], name[96];
  double share;
  vini_fail_text(text, sizeof text, status, "%s", object->text);
  vin_int row = -1;
  if (vini_projector_factor(self->projector, from->t, from->p, from->v) == VIN_OK) {
    row = weakest(self, &share);
  }
  vini_fail(object, status, "%s", text);
  if (row >= 0) {
    vin_system_constraint_name(self->system, row, name, sizeof name);
    vini_fail(object, status,
              "%s; at its start %s nearly depends on other constraints (%.1g left), or joins light "
              "bodies between heavy ones",
              text, name, share);
  }
  return vini_step_failure(self, status, from->t, h);
}

vin_status vini_implicit_restart(vin_integrator *self, const vin_state *from) {
  vini_implicit *data = self->data;
  data->matrix.factored = data->pair.factored = false;
  data->past_h = 0;
  if (self->w != NULL && !self->w_rewound) memset(self->w, 0, (size_t)self->m * sizeof(double));
  self->w_rewound = false;
  return vini_implicit_accelerate(self, from->t, from->p, from->v, false);
}
