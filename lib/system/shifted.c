/* A system whose constraints are shifted so that an inconsistent start fits: Phi + a0 + a1 (t - t0). */
#include "system/system.h"

#include <math.h>
#include <string.h>

typedef struct shifted {
  vin_context context;
  vin_system *base;
  const vin_system_desc *desc; /* the base's */
  double t0;
  double *a0, *a1; /* m */
} shifted;

/* Callbacks that only change the user. */
static int mass(void *user, double t, const double *p, const double *v, double *values) {
  const shifted *s = user;
  return s->desc->mass(s->desc->user, t, p, v, values);
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  const shifted *s = user;
  return s->desc->force(s->desc->user, t, p, v, f);
}

static int jacobian(void *user, double t, const double *p, double *values) {
  const shifted *s = user;
  return s->desc->jacobian(s->desc->user, t, p, values);
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  const shifted *s = user;
  return s->desc->curvature(s->desc->user, t, p, v, a);
}

static int potential(void *user, double t, const double *p, double *energy) {
  const shifted *s = user;
  return s->desc->potential(s->desc->user, t, p, energy);
}

static int momentum(void *user, double t, const double *p, const double *v, double *linear,
                    double *angular) {
  const shifted *s = user;
  return s->desc->momentum(s->desc->user, t, p, v, linear, angular);
}

static int force_p(void *user, double t, const double *p, const double *v, double *values) {
  const shifted *s = user;
  return s->desc->force_p(s->desc->user, t, p, v, values);
}

static int force_v(void *user, double t, const double *p, const double *v, double *values) {
  const shifted *s = user;
  return s->desc->force_v(s->desc->user, t, p, v, values);
}

static void position_name(void *user, vin_int index, char *text, size_t size) {
  vin_system_position_name(((const shifted *)user)->base, index, text, size);
}

static void constraint_name(void *user, vin_int row, char *text, size_t size) {
  vin_system_constraint_name(((const shifted *)user)->base, row, text, size);
}

static double constraint_gap(void *user, vin_int row, double phi) {
  return vini_constraint_gap(((const shifted *)user)->base, row, phi);
}

/* The two that are shifted. */
static int constraint(void *user, double t, const double *p, double *phi) {
  const shifted *s = user;
  int code = s->desc->constraint(s->desc->user, t, p, phi);
  if (code != 0) return code;
  for (vin_int c = 0; c < s->base->m; c++) phi[c] += s->a0[c] + s->a1[c] * (t - s->t0);
  return 0;
}

static int constraint_rate(void *user, double t, const double *p, double *phi_t) {
  const shifted *s = user;
  int code = 0;
  if (s->desc->constraint_rate != NULL) {
    code = s->desc->constraint_rate(s->desc->user, t, p, phi_t);
  } else {
    memset(phi_t, 0, (size_t)s->base->m * sizeof *phi_t);
  }
  if (code != 0) return code;
  for (vin_int c = 0; c < s->base->m; c++) phi_t[c] += s->a1[c];
  return 0;
}

static void release(void *user) {
  shifted *s = user;
  vin_context context = s->context;
  vin_system_destroy(s->base);
  vini_free(&context, s->a0);
  vini_free(&context, s->a1);
  vini_free(&context, s);
}

/* a0 = -Phi, a1 = -(Phi_p v + Phi_t) */
static vin_status measure(shifted *s, vini_object *object, const double *p, const double *v) {
  const vin_system *base = s->base;
  const vin_triplets *pattern = &s->desc->jacobian_pattern;
  VINI_TRY(vini_eval_constraint(base, object, s->t0, p, s->a0));
  VINI_TRY(vini_eval_constraint_rate(base, object, s->t0, p, s->a1));
  double *values = vini_alloc(&s->context, (size_t)pattern->count, sizeof *values);
  if (values == NULL) {
    return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for %d Jacobian entries",
                     (int)pattern->count);
  }
  vin_status status = vini_eval_jacobian(base, object, s->t0, p, values);
  for (vin_int k = 0; status == VIN_OK && k < pattern->count; k++) {
    s->a1[pattern->row[k]] += values[k] * v[pattern->col[k]];
  }
  vini_free(&s->context, values);
  for (vin_int c = 0; c < base->m; c++) {
    s->a0[c] = -s->a0[c];
    s->a1[c] = -s->a1[c];
  }
  return status;
}

/* The base's description with the callbacks above where the base has one. */
static vin_system_desc describe(shifted *s) {
  vin_system_desc desc = *s->desc;
  desc.mass = mass;
  desc.force = force;
  desc.constraint = desc.constraint == NULL ? NULL : constraint;
  desc.jacobian = desc.jacobian == NULL ? NULL : jacobian;
  desc.constraint_rows = NULL;
  desc.jacobian_rows = NULL;
  /* added after the checks, which ask for a curvature callback then: a1 does not enter the curvature */
  desc.constraint_rate = NULL;
  desc.curvature = desc.curvature == NULL ? NULL : curvature;
  desc.potential = desc.potential == NULL ? NULL : potential;
  desc.momentum = desc.momentum == NULL ? NULL : momentum;
  desc.force_p = desc.force_p == NULL ? NULL : force_p;
  desc.force_v = desc.force_v == NULL ? NULL : force_v;
  desc.position_name = position_name;
  desc.constraint_name = constraint_name;
  desc.constraint_gap = constraint_gap;
  desc.user = s;
  desc.release = release;
  return desc;
}

static vin_status check_start(vini_object *object, vin_system *base, double t0, const double *p0,
                              const double *v0) {
  if (base == NULL || base->object.created != VIN_OK) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "the base system is NULL or was not created");
  }
  if (p0 == NULL || v0 == NULL) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "p0 or v0 is NULL");
  }
  if (!isfinite(t0) || vini_first_nonfinite(p0, base->n) >= 0 ||
      vini_first_nonfinite(v0, base->n) >= 0) {
    return vini_fail(object, VIN_ERR_BAD_INPUT, "t0, p0 or v0 is not finite");
  }
  return VIN_OK;
}

/* *out := the callbacks' user, complete. */
static vin_status prepare(shifted **out, vini_object *object, vin_system *base, double t0,
                          const double *p0, const double *v0) {
  const vin_context *context = &object->context;
  VINI_TRY(check_start(object, base, t0, p0, v0));
  shifted *s = vini_alloc(context, 1, sizeof *s);
  if (s == NULL) return vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for a shifted system");
  s->context = *context;
  s->base = vin_system_retain(base);
  s->desc = &base->desc;
  s->t0 = t0;
  s->a0 = vini_alloc(context, (size_t)base->m, sizeof *s->a0);
  s->a1 = vini_alloc(context, (size_t)base->m, sizeof *s->a1);
  vin_status status = s->a0 == NULL || s->a1 == NULL
                          ? vini_fail(object, VIN_ERR_NO_MEMORY, "no memory for a shifted system")
                          : measure(s, object, p0, v0);
  if (status != VIN_OK) {
    release(s);
    return status;
  }
  *out = s;
  return VIN_OK;
}

vin_status vin_system_shifted(vin_system **system, const vin_context *context, vin_system *base,
                              double t0, const double *p0, const double *v0) {
  vin_status status = vini_object_begin((void **)system, context, sizeof **system);
  if (system == NULL || *system == NULL) return status;
  vin_system *self = *system;
  shifted *s = NULL;
  atomic_init(&self->references, 1);
  if (status != VIN_OK) return status;
  status = prepare(&s, &self->object, base, t0, p0, v0);
  if (status == VIN_OK) {
    vin_system_desc desc = describe(s);
    status = vini_system_build(self, &desc);
    if (status != VIN_OK) release(s);
  }
  if (status == VIN_OK && base->m > 0) self->desc.constraint_rate = constraint_rate;
  self->object.created = status;
  return status;
}
