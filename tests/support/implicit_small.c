/* Small DAEs of the general form, see implicit_small.h. */
#include "implicit_small.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PAIRS = TEST_IMPLICIT_SMALL * TEST_IMPLICIT_SMALL };

static int residual(void *user, double t, const double *y, const double *yp, double *r) {
  test_implicit_small *s = user;
  s->residual(t, y, yp, r);
  if (++s->calls != s->fail_call) return 0;
  if (s->fail_code == 0) r[0] = NAN;
  return s->fail_code;
}

static int by_y(void *user, double t, const double *y, const double *yp, double *values) {
  const test_implicit_small *s = user;
  double a[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL] = {{0}},
         b[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL] = {{0}};
  s->jacobians(t, y, yp, a, b);
  for (vin_int i = 0, k = 0; i < s->n; i++)
    for (vin_int j = 0; j < s->n; j++) values[k++] = a[i][j];
  return 0;
}

static int by_yp(void *user, double t, const double *y, const double *yp, double *values) {
  const test_implicit_small *s = user;
  double a[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL] = {{0}},
         b[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL] = {{0}};
  s->jacobians(t, y, yp, a, b);
  vin_int rates = s->rates ? s->rates : s->n;
  for (vin_int i = 0, k = 0; i < s->n; i++)
    for (vin_int j = 0; j < rates; j++) values[k++] = b[i][j];
  if (s->wrong) values[0] += 0.5;
  return 0;
}

static vin_int row[PAIRS], col[PAIRS], rate_row[PAIRS], rate_col[PAIRS];

vin_dae_desc test_implicit_small_describe(test_implicit_small *s) {
  vin_dae_desc desc = vin_dae_desc_default();
  vin_int count = 0, rates = 0;
  for (vin_int i = 0; i < s->n; i++)
    for (vin_int j = 0; j < s->n; j++) {
      row[count] = i, col[count++] = j;
      if (s->rates == 0 || j < s->rates) rate_row[rates] = i, rate_col[rates++] = j;
    }
  desc.unknowns = s->n;
  desc.jacobian_pattern = (vin_triplets){count, row, col};
  desc.mass_pattern = (vin_triplets){rates, rate_row, rate_col};
  desc.residual = residual;
  desc.residual_y = s->differences ? NULL : by_y;
  desc.residual_yp = s->differences ? NULL : by_yp;
  desc.index = s->index[0] ? s->index : NULL;
  desc.user = s;
  return desc;
}

vin_dae *test_implicit_small_create(test_implicit_small *s) {
  vin_dae_desc desc = test_implicit_small_describe(s);
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  return dae;
}

vin_status test_implicit_small_integrate(test_implicit_small *s, vin_dae_integrator_options options,
                                         double t_end, double *y, double *yp,
                                         vin_dae_integrator_stats *stats, char *text) {
  vin_dae *dae = test_implicit_small_create(s);
  vin_dae_integrator *integrator = NULL;
  vin_status status = vin_dae_integrator_create(&integrator, NULL, dae, &options);
  vin_dae_destroy(dae);
  if (status == VIN_OK) status = vin_dae_integrator_start_implicit(integrator, 0, y, yp);
  if (status == VIN_OK) status = vin_dae_integrator_run(integrator, t_end);
  if (status == VIN_OK) {
    vin_dae_integrator_view at = vin_dae_integrator_state(integrator);
    memcpy(y, at.y, (size_t)s->n * sizeof *y);
    memcpy(yp, at.yp, (size_t)s->n * sizeof *yp);
  }
  if (stats != NULL) *stats = vin_dae_integrator_get_stats(integrator);
  if (text != NULL) snprintf(text, 512, "%s", vin_dae_integrator_error(integrator));
  vin_dae_integrator_destroy(integrator);
  return status;
}

void test_robertson(double t, const double *y, const double *yp, double *r) {
  (void)t;
  r[0] = yp[0] + 0.04 * y[0] - 1e4 * y[1] * y[2];
  r[1] = yp[1] - 0.04 * y[0] + 1e4 * y[1] * y[2] + 3e7 * y[1] * y[1];
  r[2] = y[0] + y[1] + y[2] - 1;
}
void test_robertson_jacobians(double t, const double *y, const double *yp,
                              double a[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL],
                              double b[TEST_IMPLICIT_SMALL][TEST_IMPLICIT_SMALL]) {
  (void)t, (void)yp;
  a[0][0] = 0.04, a[0][1] = -1e4 * y[2], a[0][2] = -1e4 * y[1];
  a[1][0] = -0.04, a[1][1] = 1e4 * y[2] + 6e7 * y[1], a[1][2] = 1e4 * y[1];
  a[2][0] = a[2][1] = a[2][2] = 1;
  b[0][0] = b[1][1] = 1;
}

int test_implicit_level;
void test_implicit_pendulum(double t, const double *y, const double *yp, double *r) {
  (void)t;
  r[0] = yp[0] - y[2], r[1] = yp[1] - y[3];
  r[2] = yp[2] + y[0] * y[4], r[3] = yp[3] + 9.81 + y[1] * y[4];
  r[4] = test_implicit_level == 3 ? (y[0] * y[0] + y[1] * y[1] - 1) / 2
         : test_implicit_level == 2
             ? y[0] * y[2] + y[1] * y[3]
             : y[2] * y[2] + y[3] * y[3] - 9.81 * y[1] - y[4] * (y[0] * y[0] + y[1] * y[1]);
  for (int i = 0; i < 4; i++) r[i] += r[i] * r[i] * r[i] / 1000;
}
