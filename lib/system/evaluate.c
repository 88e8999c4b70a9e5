/* Checked evaluation of the callbacks: return values become statuses, NaN never leaves this
 * file. */
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Turns a callback's return value into a status. */
static vin_status check_return(vini_object *object, const char *what, double t, int code) {
  if (code == 0) return VIN_OK;
  if (code > 0) {
    return vini_fail(object, VIN_RETRY,
                     "the %s callback asked for a smaller step (%d) at t = %.17g", what, code, t);
  }
  return vini_fail(object, VIN_ERR_CALLBACK, "the %s callback failed (%d) at t = %.17g", what, code,
                   t);
}

/* Refuses NaN and infinity, naming the entry. `name` may be NULL. */
static vin_status check_output(const vin_system *system, vini_object *object, const char *what,
                               double t, const double *x, int64_t count,
                               void (*name)(const vin_system *, vin_int, char *, size_t)) {
  int64_t bad = vini_first_nonfinite(x, count);
  if (bad < 0) return VIN_OK;
  char text[96];
  if (name != NULL) {
    name(system, (vin_int)bad, text, sizeof text);
  } else {
    snprintf(text, sizeof text, "entry %lld", (long long)bad);
  }
  return vini_fail(object, VIN_RETRY, "the %s callback gave %g for %s at t = %.17g", what, x[bad],
                   text, t);
}

vin_status vini_eval_mass(const vin_system *system, vini_object *object, double t, const double *p,
                          const double *v, double *values) {
  const vin_system_desc *desc = &system->desc;
  VINI_TRY(check_return(object, "mass", t, desc->mass(desc->user, t, p, v, values)));
  return check_output(system, object, "mass", t, values, desc->mass_pattern.count, NULL);
}

vin_status vini_eval_force(const vin_system *system, vini_object *object, double t, const double *p,
                           const double *v, double *f) {
  const vin_system_desc *desc = &system->desc;
  VINI_TRY(check_return(object, "force", t, desc->force(desc->user, t, p, v, f)));
  return check_output(system, object, "force", t, f, system->n, vin_system_position_name);
}

vin_status vini_eval_constraint(const vin_system *system, vini_object *object, double t,
                                const double *p, double *phi) {
  const vin_system_desc *desc = &system->desc;
  if (system->m == 0) return VIN_OK;
  VINI_TRY(check_return(object, "constraint", t, desc->constraint(desc->user, t, p, phi)));
  return check_output(system, object, "constraint", t, phi, system->m, vin_system_constraint_name);
}

vin_status vini_eval_jacobian(const vin_system *system, vini_object *object, double t,
                              const double *p, double *values) {
  const vin_system_desc *desc = &system->desc;
  if (system->m == 0) return VIN_OK;
  VINI_TRY(check_return(object, "jacobian", t, desc->jacobian(desc->user, t, p, values)));
  return check_output(system, object, "jacobian", t, values, desc->jacobian_pattern.count, NULL);
}

vin_status vini_eval_constraint_rows(const vin_system *system, vini_object *object, double t,
                                     const double *p, vin_int first, vin_int end, double *phi) {
  const vin_system_desc *desc = &system->desc;
  if (desc->constraint_rows == NULL) return vini_eval_constraint(system, object, t, p, phi);
  VINI_TRY(check_return(object, "constraint_rows", t,
                        desc->constraint_rows(desc->user, t, p, first, end, phi + first)));
  int64_t bad = vini_first_nonfinite(phi + first, end - first);
  if (bad < 0) return VIN_OK;
  char name[96];
  vin_system_constraint_name(system, first + (vin_int)bad, name, sizeof name);
  return vini_fail(object, VIN_RETRY, "the constraint_rows callback gave %g for %s at t = %.17g",
                   phi[first + bad], name, t);
}

vin_status vini_eval_jacobian_rows(const vin_system *system, vini_object *object, double t,
                                   const double *p, vin_int first, vin_int end,
                                   const vin_int entry[2], double *values) {
  const vin_system_desc *desc = &system->desc;
  if (desc->jacobian_rows == NULL) return vini_eval_jacobian(system, object, t, p, values);
  double *own = values + entry[0];
  VINI_TRY(check_return(object, "jacobian_rows", t,
                        desc->jacobian_rows(desc->user, t, p, first, end, own)));
  int64_t bad = vini_first_nonfinite(own, entry[1] - entry[0]);
  if (bad < 0) return VIN_OK;
  return vini_fail(object, VIN_RETRY,
                   "the jacobian_rows callback gave %g for entry %d at t = %.17g", own[bad],
                   (int)(entry[0] + bad), t);
}

vin_status vini_eval_constraint_rate(const vin_system *system, vini_object *object, double t,
                                     const double *p, double *phi_t) {
  const vin_system_desc *desc = &system->desc;
  if (system->m == 0) return VIN_OK;
  if (desc->constraint_rate == NULL) {
    memset(phi_t, 0, (size_t)system->m * sizeof *phi_t);
    return VIN_OK;
  }
  VINI_TRY(
      check_return(object, "constraint_rate", t, desc->constraint_rate(desc->user, t, p, phi_t)));
  return check_output(system, object, "constraint_rate", t, phi_t, system->m,
                      vin_system_constraint_name);
}

size_t vini_curvature_work(const vin_system *system) {
  if (system->desc.curvature != NULL) return 1;
  return (size_t)system->n + (size_t)system->desc.jacobian_pattern.count + (size_t)system->m + 1;
}

/* a += weight * Phi_p(p + s v) v */
static vin_status add_rate(const vin_system *system, vini_object *object, double t, const double *p,
                           const double *v, double s, double weight, double *a, double *work) {
  const vin_triplets *j = &system->desc.jacobian_pattern;
  double *shifted = work, *values = work + system->n;
  for (vin_int i = 0; i < system->n; i++) shifted[i] = p[i] + s * v[i];
  VINI_TRY(vini_eval_jacobian(system, object, t, shifted, values));
  for (vin_int k = 0; k < j->count; k++) a[j->row[k]] += weight * values[k] * v[j->col[k]];
  return VIN_OK;
}

/* a = d/ds Phi_p(p + s v) v at s = 0 by central differences with steps s and s/2, extrapolated:
 * (4 D(s/2) - D(s)) / 3. Displacements of 1e-3 of the positions' size: truncation ~ 1e-12, rounding
 * ~ 1e-12, and exact but for rounding where Phi is quadratic. */
static vin_status difference_curvature(const vin_system *system, vini_object *object, double t,
                                       const double *p, const double *v, double *a, double *work) {
  memset(a, 0, (size_t)system->m * sizeof *a);
  double speed = vini_max_abs(v, system->n), size = vini_max_abs(p, system->n);
  if (speed == 0) return VIN_OK;
  double s = 1e-3 * (size > 0 ? size : 1) / speed;
  VINI_TRY(add_rate(system, object, t, p, v, 0.5 * s, 4 / (3 * s), a, work));
  VINI_TRY(add_rate(system, object, t, p, v, -0.5 * s, -4 / (3 * s), a, work));
  VINI_TRY(add_rate(system, object, t, p, v, s, -1 / (6 * s), a, work));
  return add_rate(system, object, t, p, v, -s, 1 / (6 * s), a, work);
}

vin_status vini_eval_curvature(const vin_system *system, vini_object *object, double t,
                               const double *p, const double *v, double *a, double *work) {
  const vin_system_desc *desc = &system->desc;
  if (system->m == 0) return VIN_OK;
  if (desc->curvature == NULL) return difference_curvature(system, object, t, p, v, a, work);
  VINI_TRY(check_return(object, "curvature", t, desc->curvature(desc->user, t, p, v, a)));
  return check_output(system, object, "curvature", t, a, system->m, vin_system_constraint_name);
}

vin_status vini_eval_potential(const vin_system *system, vini_object *object, double t,
                               const double *p, double *energy) {
  const vin_system_desc *desc = &system->desc;
  *energy = NAN;
  if (desc->potential == NULL) return VIN_OK;
  VINI_TRY(check_return(object, "potential", t, desc->potential(desc->user, t, p, energy)));
  return check_output(system, object, "potential", t, energy, 1, NULL);
}

vin_status vini_eval_momentum(const vin_system *system, vini_object *object, double t,
                              const double *p, const double *v, double *linear, double *angular) {
  const vin_system_desc *desc = &system->desc;
  for (int i = 0; i < 3; i++) linear[i] = angular[i] = NAN;
  if (desc->momentum == NULL) return VIN_OK;
  VINI_TRY(
      check_return(object, "momentum", t, desc->momentum(desc->user, t, p, v, linear, angular)));
  VINI_TRY(check_output(system, object, "momentum", t, linear, 3, NULL));
  return check_output(system, object, "momentum", t, angular, 3, NULL);
}

vin_status vini_eval_force_p(const vin_system *system, vini_object *object, double t,
                             const double *p, const double *v, double *values) {
  const vin_system_desc *desc = &system->desc;
  VINI_TRY(check_return(object, "force_p", t, desc->force_p(desc->user, t, p, v, values)));
  return check_output(system, object, "force_p", t, values, desc->force_p_pattern.count, NULL);
}

vin_status vini_eval_force_v(const vin_system *system, vini_object *object, double t,
                             const double *p, const double *v, double *values) {
  const vin_system_desc *desc = &system->desc;
  VINI_TRY(check_return(object, "force_v", t, desc->force_v(desc->user, t, p, v, values)));
  return check_output(system, object, "force_v", t, values, desc->force_v_pattern.count, NULL);
}

double vini_constraint_gap(const vin_system *system, vin_int row, double phi) {
  const vin_system_desc *desc = &system->desc;
  return desc->constraint_gap == NULL ? phi : desc->constraint_gap(desc->user, row, phi);
}

/* The two public evaluations write their text into the caller's buffer through a header of their
 * own. */
static vin_status public_result(vini_object *local, vin_status status, char *text,
                                size_t text_size) {
  if (status != VIN_OK) return vini_fail_text(text, text_size, status, "%s", local->text);
  return VIN_OK;
}

static vin_status public_arguments(const vin_system *system, bool complete, char *text,
                                   size_t size) {
  if (system == NULL || !complete) {
    return vini_fail_text(text, size, VIN_ERR_BAD_INPUT, "an argument is NULL");
  }
  if (vini_ready(&system->object) != VIN_OK) {
    return vini_fail_text(text, size, VIN_ERR_BAD_STATE, "the system was not created: %s",
                          system->object.text);
  }
  return VIN_OK;
}

vin_status vin_system_constraint(const vin_system *system, double t, const double *p, double *phi,
                                 char *text, size_t text_size) {
  VINI_TRY(public_arguments(system, p != NULL && phi != NULL, text, text_size));
  vini_object local = {.created = VIN_OK};
  return public_result(&local, vini_eval_constraint(system, &local, t, p, phi), text, text_size);
}

vin_status vin_system_force(const vin_system *system, double t, const double *p, const double *v,
                            double *f, char *text, size_t text_size) {
  VINI_TRY(public_arguments(system, p != NULL && v != NULL && f != NULL, text, text_size));
  vini_object local = {.created = VIN_OK};
  return public_result(&local, vini_eval_force(system, &local, t, p, v, f), text, text_size);
}
