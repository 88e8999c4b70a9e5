/* Explicit methods on the acceleration-level system (index 1), with projection after the step.
 * The acceleration at the end of a step is that of the next one's start: it is solved once. */
#include "integrate/explicit.h"

#include <math.h>
#include <string.h>

/* Stage i starts from (p, v) + h sum_j a[i][j] k_j at t + c[i] h; the result is that with b. error and
 * bow are of the 7 slopes that the end's belongs to. */
typedef struct tableau {
  vin_method method;
  int stages;
  double c[VINI_STAGES], a[VINI_STAGES][VINI_STAGES], b[VINI_STAGES];
  const double *error, *bow; /* NULL: none */
} tableau;

/* J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6 (1980) 19-26, table 2: b - b^ ... */
static const double dopri5_error[VINI_STAGES] = {
    71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
/* ... and the continuous extension of E. Hairer, S. P. Norsett, G. Wanner: Solving Ordinary Differential
 * Equations I, section II.6 (L. F. Shampine's fourth-order formula). */
static const double dopri5_bow[VINI_STAGES] = {
    -12715105075.0 / 11282082432,  0,
    87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
    701980252875.0 / 199316789632, -1453857185.0 / 822651844,
    69997945.0 / 29380423};

static const tableau tableaus[] = {
    {.method = VIN_METHOD_EULER, .stages = 1, .b = {1}},
    {.method = VIN_METHOD_COLLATZ, .stages = 2, .c = {0, 0.5}, .a = {{0}, {0.5}}, .b = {0, 1}},
    {.method = VIN_METHOD_RK4,
     .stages = 4,
     .c = {0, 0.5, 0.5, 1},
     .a = {{0}, {0.5}, {0, 0.5}, {0, 0, 1}},
     .b = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}},
    {.method = VIN_METHOD_DOPRI5,
     .stages = 6,
     .c = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1},
     .a = {{0},
           {1.0 / 5},
           {3.0 / 40, 9.0 / 40},
           {44.0 / 45, -56.0 / 15, 32.0 / 9},
           {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
           {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656}},
     .b = {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
     .error = dopri5_error,
     .bow = dopri5_bow},
};

static const tableau *table_of(vin_method method) {
  switch (method) {
  case VIN_METHOD_EULER:
  case VIN_METHOD_TAYLOR2:
    return &tableaus[0];
  case VIN_METHOD_COLLATZ:
  case VIN_METHOD_PARTITION_COLLATZ:
    return &tableaus[1];
  case VIN_METHOD_DOPRI5:
    return &tableaus[3];
  default:
    return &tableaus[2];
  }
}

/* y := x + h sum_j weight_j k_j (x NULL: without it); the increments are summed up before they meet x. One
 * pass over the vectors for each weight that is not 0, and there must be one. */
static void combine(vin_int n, const double *x, double h, int count, const double *weight,
                    const double *const *k, double *y) {
  int last = count - 1, taken = 0;
  while (weight[last] == 0) last--;
  for (int j = 0; j < last; j++) {
    double b = weight[j];
    const double *slope = k[j];
    if (b == 0) continue;
    if (taken++ == 0) {
      for (vin_int i = 0; i < n; i++) y[i] = b * slope[i];
    } else {
      for (vin_int i = 0; i < n; i++) y[i] += b * slope[i];
    }
  }
  double b = weight[last];
  const double *slope = k[last];
  if (x == NULL) {
    for (vin_int i = 0; i < n; i++) y[i] = h * (y[i] + b * slope[i]);
  } else if (taken == 0) {
    for (vin_int i = 0; i < n; i++) y[i] = x[i] + h * (b * slope[i]);
  } else {
    for (vin_int i = 0; i < n; i++) y[i] = x[i] + h * (y[i] + b * slope[i]);
  }
}

/* y := h sum_j weight_j k_j over all 7 slopes; more than one weight is not 0 */
static void difference(vin_int n, double h, const double *weight, const double *const *k,
                       double *y) {
  combine(n, NULL, h, VINI_STAGES, weight, k, y);
}

static vin_status stage(vin_integrator *self, const tableau *table, const vin_state *from, double h,
                        int i) {
  vini_explicit *data = self->data;
  double t = from->t + table->c[i] * h, *p = self->wn[0], *v = data->v_own[i], *w = NULL;
  combine(self->n, from->p, h, i, table->a[i], data->v, p);
  combine(self->n, from->v, h, i, table->a[i], data->a, v);
  if (self->w != NULL) {
    w = self->wm[1];
    combine(self->m, self->w, h, i, table->a[i], data->wdot, w);
  }
  if (data->partition != NULL) VINI_TRY(vini_partition_complete(self, t, p, v));
  VINI_TRY(
      vini_accelerate(self, t, p, v, w, false, data->a_own[i], self->wm[0], data->wdot_own[i]));
  data->v[i] = v;
  data->a[i] = data->a_own[i];
  data->wdot[i] = data->wdot_own[i];
  return VIN_OK;
}

/* The result before any projection. */
static vin_status advance(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  const tableau *table = table_of(self->options.method);
  vini_explicit *data = self->data;
  data->v[0] = from->v;
  data->a[0] = self->vdot;
  data->wdot[0] = self->wdot;
  for (int i = 1; i < table->stages; i++) VINI_TRY(stage(self, table, from, h, i));
  combine(self->n, from->p, h, table->stages, table->b, data->v, to->p);
  combine(self->n, from->v, h, table->stages, table->b, data->a, to->v);
  if (self->options.method == VIN_METHOD_TAYLOR2) /* theory (27) */
    for (vin_int i = 0; i < self->n; i++) to->p[i] += 0.5 * h * h * self->vdot[i];
  if (self->w == NULL) return VIN_OK;
  combine(self->m, self->w, h, table->stages, table->b, data->wdot, self->wm[1]);
  memcpy(self->w, self->wm[1], (size_t)self->m * sizeof(double));
  return VIN_OK;
}

/* Estimate and dense output, from the slopes at both ends and between. */
static void conclude(vin_integrator *self, const vin_state *from, double h, const vin_state *to) {
  const tableau *table = table_of(self->options.method);
  vini_explicit *data = self->data;
  vini_dense *dense = self->dense;
  vin_int n = self->n;
  data->a[0] = data->start;
  data->v[VINI_STAGES - 1] = to->v;
  data->a[VINI_STAGES - 1] = self->vdot;
  if (table->error != NULL) {
    double *e_p = self->wn[1], *e_v = self->wn[2];
    difference(n, h, table->error, data->v, e_p);
    difference(n, h, table->error, data->a, e_v);
    vini_set_estimate(self, from, to, e_p, e_v);
  }
  if (dense == NULL) return;
  vini_dense_keep(self, from, to, h, data->start, self->vdot);
  dense->has_bow = table->bow != NULL;
  if (!dense->has_bow) return;
  difference(n, h, table->bow, data->v, dense->p_bow);
  difference(n, h, table->bow, data->a, dense->v_bow);
}

static vin_status step(vin_integrator *self, const vin_state *from, double h, vin_state *to) {
  vini_explicit *data = self->data;
  double t = from->t + h;
  bool factored = false;
  VINI_TRY(advance(self, from, h, to));
  if (data->partition != NULL) {
    VINI_TRY(vini_partition_complete(self, t, to->p, to->v));
  } else {
    VINI_TRY(vini_project_step(self, from, t, to, &factored));
  }
  double *start = self->vdot;
  self->vdot = data->start;
  data->start = start;
  VINI_TRY(vini_accelerate(self, t, to->p, to->v, self->w, factored, self->vdot, to->lambda,
                           self->wdot));
  conclude(self, from, h, to);
  self->factor_fits = true;
  return VIN_OK;
}

vin_status vini_explicit_step(vin_integrator *self, const vin_state *from, double h, vin_state *to,
                              bool continues) {
  vin_status status = VIN_OK;
  if (!continues) {
    if (self->w != NULL) memset(self->w, 0, (size_t)self->m * sizeof(double));
    status = vini_accelerate(self, from->t, from->p, from->v, self->w, false, self->vdot,
                             self->wm[0], self->wdot);
  }
  if (status == VIN_OK) status = step(self, from, h, to);
  return vini_step_failure(self, status, from->t, h);
}

/* ---- creation ---------------------------------------------------------------------------------- */

vin_status vini_explicit_create(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  vini_explicit *data = self->data = vini_alloc(context, 1, sizeof *data);
  bool complete = data != NULL;
  if (complete) {
    data->stages = table_of(self->options.method)->stages;
    self->estimate_order = 5; /* of dopri5's fourth-order companion; the others have none */
    data->start = vini_alloc(context, n, sizeof(double));
    complete = data->start != NULL;
  }
  for (int i = 1; complete && i < data->stages; i++) {
    data->v_own[i] = vini_alloc(context, n, sizeof(double));
    data->a_own[i] = vini_alloc(context, n, sizeof(double));
    complete = data->v_own[i] != NULL && data->a_own[i] != NULL;
    if (self->w == NULL) continue;
    data->wdot_own[i] = vini_alloc(context, m, sizeof(double));
    complete = complete && data->wdot_own[i] != NULL;
  }
  if (complete) return VIN_OK;
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY,
                   "no memory for the stages of %s on %d positions", self->method->name,
                   (int)self->n);
}

void vini_explicit_destroy(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  vini_explicit *data = self->data;
  if (data == NULL) return;
  for (int i = 1; i < data->stages; i++) {
    vini_free(context, data->v_own[i]);
    vini_free(context, data->a_own[i]);
    vini_free(context, data->wdot_own[i]);
  }
  vini_free(context, data->start);
  vini_free(context, data);
}
