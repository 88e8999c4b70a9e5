#include "test_sim_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static int pendulum_mass(void *user, double t, const double *p, const double *v, double *m) {
  (void)user, (void)t, (void)p, (void)v;
  m[0] = m[1] = 1;
  return 0;
}

static int pendulum_force(void *user, double t, const double *p, const double *v, double *f) {
  pendulum *data = user;
  (void)p, (void)v;
  f[0] = 0;
  f[1] = -9.81;
  if (data->counting) data->calls++;
  bool once = data->counting && data->calls == data->fail_call;
  if (!once && !(t > data->fail_time)) return 0;
  if (data->code == 0) f[1] = NAN;
  return data->code;
}

static int pendulum_constraint(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  phi[0] = (p[0] * p[0] + p[1] * p[1] - 1) / 2;
  return 0;
}

static int pendulum_jacobian(void *user, double t, const double *p, double *j) {
  (void)user, (void)t;
  j[0] = p[0];
  j[1] = p[1];
  return 0;
}

static int pendulum_curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)t, (void)p;
  a[0] = v[0] * v[0] + v[1] * v[1];
  return 0;
}

static int pendulum_potential(void *user, double t, const double *p, double *energy) {
  const pendulum *data = user;
  *energy = 9.81 * p[1];
  return t > data->potential_time ? data->potential_code : 0;
}

vin_system *pendulum_system(const vin_context *context, pendulum *data) {
  static const vin_int diagonal[2] = {0, 1}, zero[2] = {0, 0};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 2;
  desc.constraints = 1;
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){2, diagonal, diagonal};
  desc.jacobian_pattern = (vin_triplets){2, zero, diagonal};
  desc.mass = pendulum_mass;
  desc.force = pendulum_force;
  desc.constraint = pendulum_constraint;
  desc.jacobian = pendulum_jacobian;
  desc.curvature = pendulum_curvature;
  desc.potential = data->no_potential ? NULL : pendulum_potential;
  desc.user = data;
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, context, &desc), VIN_OK, "%s", vin_system_error(system));
  return system;
}

pendulum sound(void) {
  return (pendulum){.fail_time = INFINITY, .counting = 1};
}

const double level[2] = {1, 0}, rest[2] = {0, 0};

vin_sim *pendulum_sim(pendulum *data, const vin_options *options) {
  vin_system *system = pendulum_system(NULL, data);
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create_from_system(&sim, NULL, system, level, rest, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_sim_error(sim));
  vin_system_destroy(system);
  return sim;
}

vin_options step_options(double step) {
  vin_options options = vin_options_default();
  options.step = step;
  return options;
}

vin_model *chain_model(const vin_context *context, int rods) {
  vin_model *model = vin_model_create(context);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node end = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int k = 1; k <= rods; k++) {
    vin_node next = vin_model_add_node(model, &(vin_node_desc){.position = {0.6 * k, 0, -0.8 * k}});
    vin_model_add_rod(model, &(vin_rod_desc){.a = end, .b = next, .mass = 1});
    end = next;
  }
  return model;
}

snapshot take(const vin_sim *sim) {
  vin_state_view view = vin_sim_state(sim);
  return (snapshot){view.t, {view.p[0], view.p[1]}, {view.v[0], view.v[1]}, {view.lambda[0]}};
}

bool same(snapshot a, snapshot b) {
  return memcmp(&a, &b, sizeof a) == 0; /* doubles only: no padding */
}
