/* order.c - section 8.9: a method of classical order 5 on the pendulum as a DAE of index 1, 2 and 3. */
#include <math.h>
#include <stdio.h>

#include "gallery.h"

/* x' = u, y' = v, u' = mu x, v' = mu y - g and one equation without derivative: the constraint
 * differentiated 3 - index times, over 2. */
enum { X, Y, U, V, MU, UNKNOWNS };

static int function(void *user, double t, const double *w, double *f) {
  const double gravity = PENDULUM_GRAVITY, rho = w[X] * w[X] + w[Y] * w[Y];
  int index = *(const int *)user;
  (void)t;
  f[X] = w[U], f[Y] = w[V];
  f[U] = w[MU] * w[X], f[V] = w[MU] * w[Y] - gravity;
  f[MU] = index == 3   ? 0.5 * (rho - 1.0)
          : index == 2 ? w[X] * w[U] + w[Y] * w[V]
                       : w[MU] * rho - gravity * w[Y] + w[U] * w[U] + w[V] * w[V];
  return 0;
}

static vin_status create(vin_dae **dae, int *index) {
  vin_int row[UNKNOWNS * UNKNOWNS], col[UNKNOWNS * UNKNOWNS];
  for (int k = 0; k < UNKNOWNS * UNKNOWNS; k++) row[k] = k / UNKNOWNS, col[k] = k % UNKNOWNS;
  const vin_int of_index[3][UNKNOWNS] = {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 2}, {1, 1, 2, 2, 3}};
  vin_dae_desc desc = vin_dae_desc_default();
  const vin_int first_four[] = {X, Y, U, V};
  const double ones[] = {1.0, 1.0, 1.0, 1.0};
  desc.unknowns = UNKNOWNS;
  desc.mass_pattern = (vin_triplets){.count = 4, .row = first_four, .col = first_four};
  desc.mass_values = ones; /* B: the last equation has no derivative */
  desc.function = function, desc.user = index;
  desc.jacobian_pattern = (vin_triplets){.count = UNKNOWNS * UNKNOWNS, .row = row, .col = col};
  desc.index = of_index[*index - 1];
  return vin_dae_create(dae, NULL, &desc);
}

static const double end = 1.0; /* s */

/* A vin_study_solve: the pendulum from rest at (1, 0) with steps of this length. */
static vin_status solve(void *user, double step, double factor, double *w, char *text,
                        size_t text_size) {
  vin_dae_integrator_options options = vin_dae_integrator_options_default();
  options.fixed_step = step;
  options.relative_tolerance = options.absolute_tolerance = fmax(1e-12 * factor, 1e-12);
  options.max_newton = 30;
  vin_dae *dae = NULL;
  vin_dae_integrator *integrator = NULL;
  vin_status status = create(&dae, user);
  if (status == VIN_OK) status = vin_dae_integrator_create(&integrator, NULL, dae, &options);
  vin_dae_destroy(dae);
  const double start[UNKNOWNS] = {[X] = 1.0};
  if (status == VIN_OK) status = vin_dae_integrator_start(integrator, 0.0, start);
  if (status == VIN_OK) status = vin_dae_integrator_run(integrator, end);
  if (status == VIN_OK) {
    const double *y = vin_dae_integrator_state(integrator).y;
    for (int k = 0; k < UNKNOWNS; k++) w[k] = y[k];
  } else {
    snprintf(text, text_size, "%s", vin_dae_integrator_error(integrator));
  }
  vin_dae_integrator_destroy(integrator);
  return status;
}

/* Radau IIA with 3 stages: 5, 5, 5 for index 1; 5, 5, 3 for index 2 and 5, 3, 2 for index 3 (E. Hairer,
 * C. Lubich, M. Roche: The Numerical Solution of Differential-Algebraic Systems by Runge-Kutta
 * Methods, Springer 1989). */
vin_status gallery_order_reduction(gallery *g) {
  enum { KINDS = 3, LEVELS = 3 };
  static const double expected[3][KINDS] = {{5, 5, 5}, {5, 5, 3}, {5, 3, 2}};
  static const vin_study_quantity quantities[KINDS] = {{"positions", 2, VIN_STUDY_SOLUTION},
                                                       {"velocities", 2, VIN_STUDY_SOLUTION},
                                                       {"multiplier", 1, VIN_STUDY_SOLUTION}};
  double lambda;
  pendulum_state last = pendulum_exact(acos(0.0), end, &lambda);
  const double reference[UNKNOWNS] = {last.x, last.y, last.u, last.v, -2.0 * lambda};
  for (int index = 1; index <= 3; index++) {
    vin_study_options options = vin_study_options_default();
    options.step = 0.025, options.levels = LEVELS, options.reference = reference;
    vin_study *study = NULL;
    vin_status status = vin_study_create(&study, NULL, KINDS, quantities, solve, &index, &options);
    if (status != VIN_OK) {
      gallery_fail(g, status, vin_study_error(study));
      vin_study_destroy(study);
      return status;
    }
    char text[GALLERY_TEXT];
    snprintf(text, sizeof text, "index %d", index);
    gallery_panel_open(g, text, "h [s]", "error at 1 s", GALLERY_LOG_X | GALLERY_LOG_Y);
    for (int kind = 0; kind < KINDS; kind++) {
      snprintf(text, sizeof text, "radau, index %d: order of %s", index, quantities[kind].name);
      gallery_value(g, "8.9", text, vin_study_order(study, kind), expected[index - 1][kind], 0.3);
      gallery_curve_open(g, "%s", quantities[kind].name);
      for (int level = 0; level < LEVELS; level++)
        gallery_point(g, vin_study_step(study, level), vin_study_get(study, level, kind).error);
    }
    vin_study_destroy(study);
  }
  return VIN_OK;
}
