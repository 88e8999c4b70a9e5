/* One interface for all one-step methods: names, options, creation, the step around the method. */
#include "integrate/rattle.h"
#include "kkt/kkt.h"

#include <math.h>
#include <string.h>

static const char *const projections[] = {"none", "position", "velocity", "both"};

const char *vin_method_name(vin_method method) {
  unsigned index = (unsigned)method;
  return index < (unsigned)vini_method_count ? vini_methods[index].name : "unknown";
}

vin_status vin_method_from_name(vin_method *method, const char *name) {
  if (method == NULL) return VIN_ERR_BAD_INPUT;
  *method = VIN_METHOD_RATTLE;
  for (int i = 0; name != NULL && i < vini_method_count; i++) {
    if (strcmp(vini_methods[i].name, name) != 0) continue;
    *method = vini_methods[i].method;
    return VIN_OK;
  }
  return VIN_ERR_BAD_INPUT;
}

const char *vin_projection_name(vin_projection projection) {
  unsigned index = (unsigned)projection;
  return index < 4 ? projections[index] : "unknown";
}

vin_status vin_projection_from_name(vin_projection *projection, const char *name) {
  if (projection == NULL) return VIN_ERR_BAD_INPUT;
  *projection = VIN_PROJECTION_NONE;
  for (unsigned i = 0; name != NULL && i < 4; i++) {
    if (strcmp(projections[i], name) != 0) continue;
    *projection = (vin_projection)i;
    return VIN_OK;
  }
  return VIN_ERR_BAD_INPUT;
}

vin_options vin_options_default(void) {
  vin_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.method = VIN_METHOD_RATTLE;
  options.projection = VIN_PROJECTION_BOTH;
  options.step = 1e-3;
  options.position_tolerance = 1e-13;
  options.velocity_tolerance = 1e-13;
  options.max_sweeps = 10;
  options.fix_start = 1;
  options.projector = vin_projection_options_default();
  options.spectral_radius = 0.8;
  options.projection_every = 1;
  options.newton_tolerance = 1e-12;
  options.max_newton = 20;
  return options;
}

static vin_status check_options(vin_integrator *self) {
  const vin_options *o = &self->options;
  vini_object *object = &self->object;
  if ((unsigned)o->method >= (unsigned)vini_method_count) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "method is %d, no vin_method", (int)o->method);
  }
  self->method = &vini_methods[o->method];
  if ((unsigned)o->projection > VIN_PROJECTION_BOTH) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "projection is %d, no vin_projection",
                     (int)o->projection);
  }
  if (!(o->position_tolerance >= 0 && o->velocity_tolerance >= 0)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT,
                     "position_tolerance is %g and velocity_tolerance %g, must be >= 0",
                     o->position_tolerance, o->velocity_tolerance);
  }
  if (o->max_sweeps < 1 || o->max_sweeps > 1000) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "max_sweeps is %d, must be in 1..1000",
                     o->max_sweeps);
  }
  if ((self->method->flags & VINI_METHOD_CONSTANT_MASS) &&
      !(self->system->desc.flags & VIN_MASS_CONSTANT)) {
    return vini_fail(object, VIN_ERR_UNSUPPORTED,
                     "%s needs a constant mass matrix, and the system does not declare "
                     "VIN_MASS_CONSTANT: use rk4, or declare it if M does not depend on p, v, t",
                     self->method->name);
  }
  VINI_TRY(vini_control_check(self));
  return vini_stabilise_check(self);
}

static vin_status no_memory(vin_integrator *self) {
  return vini_fail(&self->object, VIN_ERR_NO_MEMORY,
                   "no memory for %s on %d positions and %d constraints",
                   vin_method_name(self->options.method), (int)self->n, (int)self->m);
}

static bool allocate(vin_integrator *self) {
  const vin_context *context = &self->object.context;
  size_t n = (size_t)self->n, m = (size_t)self->m;
  bool increments = (self->method->flags & VINI_METHOD_INCREMENTS) != 0, complete = true;
  bool rattle = self->options.method == VIN_METHOD_RATTLE; /* needs no other vectors */
  struct {
    double **vector;
    size_t size;
  } wanted[] = {{&self->f, n},
                {&self->vdot, n},
                {&self->wn[0], rattle ? 1 : n},
                {&self->wn[1], rattle ? 1 : n},
                {&self->wn[2], increments ? 1 : n},
                {&self->wn[3], increments ? 1 : n},
                {&self->wm[0], m},
                {&self->wm[1], m},
                {&self->z, increments ? 2 * (n + m) : 1},
                {&self->s, increments ? m : 1},
                {&self->floor, increments ? m : 1},
                {&self->rest, increments ? n : 1},
                {&self->s_past[0], increments ? m : 1},
                {&self->s_past[1], increments ? m : 1},
                {&self->s_past[2], increments ? m : 1}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    *wanted[i].vector = vini_alloc(context, wanted[i].size, sizeof(double));
    complete = complete && *wanted[i].vector != NULL;
  }
  if (increments && complete) self->next = self->z + n + m;
  /* between the solves of a step nobody asks for the first half */
  if (increments && complete) vini_kkt_lend(self->projector->kkt, self->z);
  if (increments && complete) complete = vini_rattle_blocks(self);
  return complete && vini_control_allocate(self);
}

static void free_content(vin_integrator *self) {
  if (self->method != NULL && self->method->destroy != NULL) self->method->destroy(self);
  self->data = NULL;
  const vin_context *context = &self->object.context;
  double *owned[] = {self->f,         self->vdot,      self->wn[0],     self->wn[1], self->wn[2],
                     self->wn[3],     self->wm[0],     self->wm[1],     self->z,     self->s,
                     self->s_past[0], self->s_past[1], self->s_past[2], self->floor, self->rest};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(context, owned[i]);
  vini_free(context, self->rows_done);
  vini_control_free(self);
  vin_projector_destroy(self->projector);
  vin_system_destroy(self->system);
  self->projector = NULL;
  self->system = NULL;
}

static vin_status build(vin_integrator *self) {
  VINI_TRY(check_options(self));
  self->n = self->system->n;
  self->m = self->system->m;
  vin_projection_options projector = self->options.projector;
  if (projector.struct_size == 0) projector = vin_projection_options_default();
  projector.position_tolerance = self->options.position_tolerance;
  projector.velocity_tolerance = self->options.velocity_tolerance;
  if (self->options.solver != VIN_SOLVER_AUTO) projector.kkt.solver = self->options.solver;
  vin_status status =
      vin_projector_create(&self->projector, &self->object.context, self->system, &projector);
  if (status != VIN_OK) {
    return vini_fail(&self->object, status, "%s", vin_projector_error(self->projector));
  }
  self->options.projector.weights = self->options.projector.velocity_weights = NULL;
  if (!allocate(self)) return no_memory(self);
  if (self->options.dense_output) VINI_TRY(vini_integrator_keep_dense(self));
  return self->method->create == NULL ? VIN_OK : self->method->create(self);
}

vin_status vin_integrator_create(vin_integrator **integrator, const vin_context *context,
                                 vin_system *system, const vin_options *options) {
  VINI_TRY(vini_object_begin((void **)integrator, context, sizeof **integrator));
  vin_integrator *self = *integrator;
  self->options = vin_options_default();
  vin_status status;
  if (system == NULL || system->object.created != VIN_OK) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT, "the system is NULL or was not created");
  } else if (options != NULL && !vini_options_copy(&self->options, sizeof self->options, options)) {
    status = vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                       "struct_size of the options is wrong: start from vin_options_default()");
  } else {
    self->system = vin_system_retain(system);
    status = build(self);
  }
  self->object.created = status;
  if (status != VIN_OK) {
    free_content(self);
    memset((char *)self + sizeof self->object, 0, sizeof *self - sizeof self->object);
  }
  return status;
}

void vin_integrator_destroy(vin_integrator *integrator) {
  if (integrator == NULL) return;
  free_content(integrator);
  vini_object_destroy(&integrator->object);
}

const char *vin_integrator_error(const vin_integrator *integrator) {
  return vini_text(integrator == NULL ? NULL : &integrator->object);
}

vin_projector *vin_integrator_projector(vin_integrator *integrator) {
  return integrator == NULL ? NULL : integrator->projector;
}

vin_stats vin_integrator_get_stats(const vin_integrator *self) {
  vin_stats stats = {0};
  if (self == NULL || self->object.created != VIN_OK) return stats;
  stats = self->stats;
  stats.sweeps += self->projector->newton_steps;
  stats.force_evaluations += self->projector->force_evaluations;
  stats.jacobian_evaluations += self->projector->jacobian_evaluations;
  stats.constraint_evaluations += self->projector->constraint_evaluations;
  stats.solver = vin_projector_get_stats(self->projector); /* and the Newton matrices' */
  stats.solver.symbolic += self->stats.solver.symbolic;
  stats.solver.numeric += self->stats.solver.numeric;
  stats.solver.solves += self->stats.solver.solves;
  stats.solver.refinements += self->stats.solver.refinements;
  stats.solver.fallbacks += self->stats.solver.fallbacks;
  vini_partition_add_stats(self, &stats);
  return stats;
}

void vini_integrator_forget(vin_integrator *self) {
  self->valid = false;
  self->factor_fits = false;
  self->hash_known = false;
  self->residual_known = false;
}

bool vini_integrator_factor_fits(const vin_integrator *self) {
  return self->valid && self->factor_fits && self->stamp == self->projector->factor_stamp &&
         self->projector->factored == VINI_FACTORED_MASS;
}

vin_status vini_step_failure(vin_integrator *self, vin_status status, double t, double h) {
  if (status == VIN_OK) return VIN_OK;
  vin_status reported = status > 0 && status != VIN_RETRY ? VIN_STEP_FAILED : status;
  const vin_int *rows = NULL;
  vin_int dropped = vin_kkt_dropped(self->projector->kkt, &rows);
  char locked[192] = "";
  if (reported == VIN_STEP_FAILED && dropped > 0) { /* no step is short enough for a locked shape */
    char name[80];
    vin_system_constraint_name(self->system, rows[0], name, sizeof name);
    vini_fail_text(locked, sizeof locked, reported,
                   " (%d constraint rows depend on the others here, %s among them: they may lock)",
                   (int)dropped, name);
  }
  return vini_fail(&self->object, reported, "step of %g s at t = %.15g s: %s%s", h, t,
                   vin_projector_error(self->projector), locked);
}

vin_status vini_integrator_step(vin_integrator *self, const vin_state *from, double h,
                                vin_state *to, bool continues) {
  bool usable = continues && self->valid;
  int64_t since_projection = self->since_projection;
  vini_control_begin(self);
  self->known_finite = false;
  vin_status status = self->method->step(self, from, h, to, usable);
  self->hash_known = false;
  if (status == VIN_OK && !self->known_finite &&
      (vini_first_nonfinite(to->p, self->n) >= 0 || vini_first_nonfinite(to->v, self->n) >= 0)) {
    status = vini_fail(&self->object, VIN_STEP_FAILED,
                       "step of %g s at t = %.15g s: the result is not finite", h, from->t);
  }
  to->t = from->t + h;
  if (status == VIN_OK) status = vini_control_end(self, from, to, h, usable);
  if (status != VIN_OK) {
    self->stats.failures++;
    self->since_projection = since_projection;
    vini_integrator_forget(self);
    return status;
  }
  self->valid = true;
  self->stamp = self->projector->factor_stamp;
  self->stats.steps++;
  return VIN_OK;
}

/* FNV-1a over 64-bit words: tells whether a state is the last result, without a copy of it. */
static uint64_t hash(const vin_integrator *self, const vin_state *state) {
  uint64_t h = 14695981039346656037u, word;
  const double *vectors[2] = {state->p, state->v};
  memcpy(&word, &state->t, sizeof word);
  h = (h ^ word) * 1099511628211u;
  for (int k = 0; k < 2; k++) {
    for (vin_int i = 0; i < self->n; i++) {
      memcpy(&word, &vectors[k][i], sizeof word);
      h = (h ^ word) * 1099511628211u;
      h ^= h >> 32;
    }
  }
  return h;
}

static bool complete(const vin_state *state, vin_int m) {
  return state != NULL && state->p != NULL && state->v != NULL && (m == 0 || state->lambda != NULL);
}

/* `from` must not be written, so none of its arrays may be among those of `to`. */
static bool share_array(const vin_state *from, const vin_state *to) {
  const double *written[3] = {to->p, to->v, to->lambda},
               *read[3] = {from->p, from->v, from->lambda};
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      if (written[i] != NULL && (written[i] == read[j] || (i < j && written[i] == written[j]))) {
        return true;
      }
    }
  }
  return false;
}

static vin_status check_start(vin_integrator *self, const char *what, const double *x) {
  int64_t bad = vini_first_nonfinite(x, self->n);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_system_position_name(self->system, (vin_int)bad, name, sizeof name);
  return vini_fail(&self->object, VIN_ERR_BAD_INPUT,
                   "the start state is not finite: %s is %g for %s", what, x[bad], name);
}

vin_status vin_integrator_step(vin_integrator *self, const vin_state *from, double h,
                               vin_state *to) {
  VINI_TRY(vini_ready(self == NULL ? NULL : &self->object));
  vini_object *object = &self->object;
  if (!complete(from, 0) || !complete(to, self->m)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "a state or one of its arrays is NULL");
  }
  if (share_array(from, to)) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "two of the arrays of from and to are the same");
  }
  if (!isfinite(h) || h == 0 || !isfinite(from->t) || from->t + h == from->t) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the step is %g s at t = %.17g s", h, from->t);
  }
  VINI_TRY(check_start(self, "position", from->p));
  VINI_TRY(check_start(self, "velocity", from->v));
  bool continues = self->hash_known && self->end_hash == hash(self, from);
  VINI_TRY(vini_integrator_step(self, from, h, to, continues));
  self->end_hash = hash(self, to);
  self->hash_known = true;
  return VIN_OK;
}
