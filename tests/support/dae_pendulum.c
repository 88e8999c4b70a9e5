/* dae_pendulum - a pendulum of length 1 as a DAE of index 3. */
#include "dae_pendulum.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

const vin_dae_integrator_method test_dae_methods[2] = {VIN_DAE_RADAU, VIN_DAE_BDF};

static int pendulum_f(void *user, double t, const double *y, double *f) {
  const test_pendulum *p = user;
  f[0] = y[2];
  f[1] = y[3];
  f[2] = -y[0] * y[4];
  f[3] = -9.81 - y[1] * y[4];
  f[4] = (y[0] * y[0] + y[1] * y[1] - 1) / 2;
  if (p->nan_after > 0 && t > p->nan_after) f[1] = NAN;
  if (p->refuse_after > 0 && t > p->refuse_after) return 1;
  return p->fail_after > 0 && t > p->fail_after ? -1 : 0;
}

static const vin_int pendulum_row[] = {0, 1, 2, 2, 3, 3, 4, 4},
                     pendulum_col[] = {2, 3, 0, 4, 1, 4, 0, 1};

static int pendulum_jacobian(void *user, double t, const double *y, double *v) {
  (void)user, (void)t;
  v[0] = v[1] = 1;
  v[2] = -y[4], v[3] = -y[0], v[4] = -y[4], v[5] = -y[1];
  v[6] = y[0], v[7] = y[1];
  return 0;
}

static int pendulum_inside(void *user, double t, const double *y) {
  (void)t;
  return y[0] > ((const test_pendulum *)user)->limit;
}

static void unknown_name(void *user, vin_int i, char *text, size_t size) {
  static const char *const names[TEST_PENDULUM] = {"x", "y", "u", "v", "lambda"};
  (void)user;
  snprintf(text, size, "%s", names[i]);
}

const double test_pendulum_start[TEST_PENDULUM] = {1, 0, 0, 0, 0};

vin_status test_pendulum_dae(vin_dae **dae, const vin_context *context, test_pendulum *data) {
  static const vin_int diagonal[] = {0, 1, 2, 3}, index[] = {1, 1, 2, 2, 3};
  static const double ones[] = {1, 1, 1, 1};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = TEST_PENDULUM;
  desc.mass_pattern = (vin_triplets){4, diagonal, diagonal};
  desc.mass_values = ones;
  desc.function = pendulum_f;
  desc.jacobian_pattern = (vin_triplets){8, pendulum_row, pendulum_col};
  desc.jacobian = data->without_jacobian ? NULL : pendulum_jacobian;
  desc.index = data->wrong_index ? NULL : index;
  desc.in_domain = data->limit != 0 ? pendulum_inside : NULL;
  desc.unknown_name = unknown_name;
  desc.user = data;
  return vin_dae_create(dae, context, &desc);
}

/* An integrator with a state, both of which must succeed. */
vin_dae_integrator *test_pendulum_begin(test_pendulum *data,
                                        const vin_dae_integrator_options *options, double t) {
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  cr_assert_eq(test_pendulum_dae(&dae, NULL, data), VIN_OK, "%s", vin_dae_error(dae));
  cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, options), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  vin_dae_destroy(dae);
  cr_assert_eq(vin_dae_integrator_start(integrator, t, test_pendulum_start), VIN_OK, "%s",
               vin_dae_integrator_error(integrator));
  return integrator;
}

vin_dae_integrator_options test_dae_options(vin_dae_integrator_method method, double tolerance) {
  vin_dae_integrator_options options = vin_dae_integrator_options_default();
  options.method = method;
  options.relative_tolerance = options.absolute_tolerance = tolerance;
  return options;
}
