/* van_der_pol.c - section 8.11: x' = y, y' = mu (1 - x^2) y - x, 0 = x^2 - z^2 + 5. */
#include <math.h>
#include <stdio.h>

#include "gallery.h"

/* As written the algebraic unknown is z, and the index 1. With z' = w and w as the algebraic unknown it
 * is 2; differentiated once and with Baumgarte's term, 0 = x y - z w + (x^2 - z^2 + 5) / (2 tau), it is 1
 * again, and the violation of the constraint is V_0 exp(-t / tau) exactly. */
enum { X, Y, Z, W };
typedef enum form { AS_WRITTEN, WITH_RATE, STABILISED } form;
typedef struct oscillator {
  double mu, tau;
  form form;
} oscillator;

static double violation(const double *y) {
  return y[X] * y[X] - y[Z] * y[Z] + 5.0;
}

static int function(void *user, double t, const double *y, double *f) {
  const oscillator *o = user;
  (void)t;
  f[0] = y[Y];
  f[1] = o->mu * (1.0 - y[X] * y[X]) * y[Y] - y[X];
  if (o->form == AS_WRITTEN) {
    f[2] = violation(y);
    return 0;
  }
  f[2] = y[W];
  f[3] =
      o->form == WITH_RATE ? violation(y) : y[X] * y[Y] - y[Z] * y[W] + 0.5 * violation(y) / o->tau;
  return 0;
}

static vin_status create(vin_dae **dae, oscillator *o) {
  vin_int row[16], col[16], n = o->form == AS_WRITTEN ? 3 : 4;
  for (int k = 0; k < n * n; k++) row[k] = k / n, col[k] = k % n;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = n, desc.differential = n - 1;
  desc.jacobian_pattern = (vin_triplets){.count = n * n, .row = row, .col = col};
  desc.function = function, desc.user = o;
  return vin_dae_create(dae, NULL, &desc);
}

static vin_status index_of(gallery *g, form which, const char *quantity, double expected) {
  oscillator o = {.mu = 1.0, .tau = 1.0, .form = which};
  vin_dae *dae = NULL;
  vin_dae_index_report report = {0};
  vin_status status = create(&dae, &o);
  if (status == VIN_OK)
    status = vin_dae_index_check(dae, 0.0, (double[]){2.0, 0.5, 3.0, 1.0 / 3.0}, 0.0, &report);
  if (status == VIN_OK || status == VIN_SINGULAR) { /* singular: the index is above 1 */
    gallery_value(g, "8.11", quantity, status == VIN_OK, expected, 0.0);
    status = VIN_OK;
  } else {
    gallery_fail(g, status, vin_dae_error(dae));
  }
  vin_dae_destroy(dae);
  return status;
}

/* From (2, 0, 3.1), where the constraint is violated by V_0 = -0.61, to t = 20. */
static vin_status decay(gallery *g, double tau, int with_state) {
  const double end = 20.0, start[] = {2.0, 0.0, 3.1, -0.61 / (6.2 * tau)};
  oscillator o = {.mu = 1.0, .tau = tau, .form = STABILISED};
  vin_dae_integrator_options options = vin_dae_integrator_options_default();
  options.relative_tolerance = options.absolute_tolerance = 1e-10;
  options.max_step = 0.05; /* points for the picture */
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  vin_status status = create(&dae, &o);
  if (status == VIN_OK) status = vin_dae_integrator_create(&integrator, NULL, dae, &options);
  vin_dae_destroy(dae);
  if (status == VIN_OK) status = vin_dae_integrator_start(integrator, 0.0, start);
  double error = 0.0;
  while (status == VIN_OK) {
    vin_dae_integrator_view now = vin_dae_integrator_state(integrator);
    error = fmax(error, fabs(violation(now.y) - violation(start) * exp(-now.t / tau)));
    gallery_point(g, now.t, with_state >= 0 ? now.y[with_state] : violation(now.y));
    if (now.t >= end) break;
    status = vin_dae_integrator_step(integrator, end);
  }
  if (status != VIN_OK) {
    gallery_fail(g, status, vin_dae_integrator_error(integrator));
  } else if (with_state < 0) {
    char text[GALLERY_TEXT];
    snprintf(text, sizeof text, "tau = %g: V(t) - V_0 exp(-t / tau)", tau);
    gallery_below(g, "8.21", text, error, 1e-8);
  }
  vin_dae_integrator_destroy(integrator);
  return status;
}

vin_status gallery_van_der_pol(gallery *g) {
  static const double taus[] = {0.01, 0.1, 1.0, 5.0};
  vin_status status = index_of(g, AS_WRITTEN, "as written, z algebraic: is the index 1?", 1.0);
  if (status == VIN_OK) status = index_of(g, WITH_RATE, "z' = w, w algebraic: is it?", 0.0);
  if (status == VIN_OK) status = index_of(g, STABILISED, "differentiated, with 1/tau: is it?", 1.0);
  gallery_panel_open(g, "8.21: constraint", "t", "|x^2 - z^2 + 5|", GALLERY_LOG_Y);
  for (int k = 0; k < 4 && status == VIN_OK; k++) {
    gallery_curve_open(g, "tau = %g", taus[k]);
    status = decay(g, taus[k], -1);
  }
  gallery_panel_open(g, "8.22: solution, tau = 1", "t", "", 0);
  static const char *const names[] = {"x", "y", "z"};
  for (int which = 0; which < 3 && status == VIN_OK; which++) {
    gallery_curve_open(g, "%s", names[which]);
    status = decay(g, 1.0, which);
  }
  return status;
}
