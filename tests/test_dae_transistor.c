/* The transistor amplifier of the Test Set for IVP Solvers (F. Mazzia, C. Magherini), index 1: eight
 * node voltages, five capacitors. Its mass matrix has rank 5 and no zero row. With the capacitors'
 * voltages as x it is semi-explicit. End values: tests/reference/ivp/transistor_end_values.csv. */
#include "dae_problems.h"
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(dae_transistor);

static const double supply = 6, thermal = 0.026, alpha = 0.99, beta = 1e-6, r0 = 1000, r = 9000;

static double diode(double voltage) {
  return beta * (exp(voltage / thermal) - 1);
}

/* The currents into the nodes, the right-hand side of the original form: B y' = f. */
static int original(void *user, double t, const double *y, double *f) {
  (void)user;
  double source = 0.1 * sin(200 * acos(-1.0) * t), g23 = diode(y[1] - y[2]),
         g56 = diode(y[4] - y[5]);
  f[0] = (y[0] - source) / r0;
  f[1] = y[1] / r + (y[1] - supply) / r + (1 - alpha) * g23;
  f[2] = y[2] / r - g23;
  f[3] = (y[3] - supply) / r + alpha * g23;
  f[4] = y[4] / r + (y[4] - supply) / r + (1 - alpha) * g56;
  f[5] = y[5] / r - g56;
  f[6] = (y[6] - supply) / r + alpha * g56;
  f[7] = y[7] / r;
  return 0;
}

/* y_0 - y_1, y_2, y_3 - y_4, y_5, y_6 - y_7 are x; y_1, y_4, y_7 are z. */
static void nodes(const double *u, double *y) {
  y[0] = u[0] + u[5], y[1] = u[5], y[2] = u[1];
  y[3] = u[2] + u[6], y[4] = u[6], y[5] = u[3];
  y[6] = u[4] + u[7], y[7] = u[7];
}

/* The two rows of a capacitor between nodes: one is its current, their sum is free of it. */
static int capacitors(void *user, double t, const double *u, double *f) {
  double y[8], c[8];
  nodes(u, y);
  original(user, t, y, c);
  f[0] = -c[0] / 1e-6, f[1] = -c[2] / 2e-6, f[2] = -c[3] / 3e-6, f[3] = -c[5] / 4e-6;
  f[4] = -c[6] / 5e-6;
  f[5] = c[0] + c[1], f[6] = c[3] + c[4], f[7] = c[6] + c[7];
  for (int i = 5; i < 8; i++) f[i] *= r; /* volts */
  return 0;
}

static vin_dae *amplifier(void) {
  static const vin_int row[] = {0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4,
                                4, 5, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7};
  static const vin_int col[] = {0, 5, 1, 5, 1, 2, 5, 6, 3, 6, 3, 4, 6,
                                7, 0, 1, 5, 1, 2, 3, 5, 6, 3, 4, 6, 7};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 8, desc.differential = 5, desc.function = capacitors;
  desc.jacobian_pattern = (vin_triplets){sizeof row / sizeof *row, row, col};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  return dae;
}

static void end_values(double *y) {
  FILE *file = fopen(VINCULA_TEST_DATA "/ivp/transistor_end_values.csv", "r");
  cr_assert(file != NULL);
  char line[256];
  int count = 0;
  while (fgets(line, sizeof line, file)) {
    const char *comma = strchr(line, ',');
    if (line[0] != '#' && comma != NULL && count < 8) y[count++] = strtod(comma + 1, NULL);
  }
  fclose(file);
  cr_assert_eq(count, 8);
}

/* Node voltages at t = 0.2 with BDF2; the second start from 64 small steps of backward Euler. */
static void run(vin_stepper *stepper, const double *u0, vin_int steps, double *y) {
  double u1[8], end[8];
  vin_grid_run run = vin_grid_run_default();
  vin_grid_report report;
  run.h = 0.2 / steps / 64, run.steps = 64, run.y0 = u0;
  run.derivative_tolerance = 1e-6; /* V/s; x' is 1e2, and rounding of X / h 1e-8 */
  run.algebraic_tolerance = 1e-10; /* V */
  run.start_tolerance[0] = run.start_tolerance[1] = 1e-9;
  cr_assert_eq(vin_stepper_run(stepper, &run, u1, &report), VIN_OK, "%s",
               vin_stepper_error(stepper));
  run.method = VIN_DAE_BDF2, run.h = 0.2 / steps, run.steps = steps, run.y1 = u1;
  cr_assert_eq(vin_stepper_run(stepper, &run, end, &report), VIN_OK, "%s",
               vin_stepper_error(stepper));
  nodes(end, y);
}

/* The published end values, to the error of the method and with its order. The Jacobian is by
 * differences: exponentials of 1/26 mV, and they do not dominate. */
Test(dae_transistor, published_end_values) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  vin_dae *dae = amplifier();
  double u[8] = {-3, 3, 3, 3, 6, 3, 3, 0}, published[8], y[2][8], error[2], values[26];
  end_values(published);
  vin_difference_report differences;
  cr_assert_eq(vin_dae_jacobian(dae, 0, u, values, &differences, NULL, 0), VIN_OK);
  cr_expect(!differences.dominates && differences.relative_error < 1e-4, "%g",
            differences.relative_error);
  vin_branch *branch = NULL;
  vin_stepper *stepper = NULL;
  cr_assert_eq(vin_branch_create(&branch, NULL, dae, NULL), VIN_OK);
  cr_assert_eq(vin_stepper_create(&stepper, NULL, dae, NULL), VIN_OK);
  vin_newton_report report; /* the start of the test set is consistent to rounding */
  cr_assert_eq(vin_branch_initialise(branch, 0, u, 1e-12, 10, &report), VIN_OK);
  cr_expect_lt(report.residual_start, 1e-12);
  for (int k = 0; k < 2; k++) {
    run(stepper, u, 8000 << k, y[k]);
    error[k] = test_max_difference(8, y[k], published);
  }
  cr_expect_lt(error[1], 1e-5); /* h = 1.25e-5: (2 pi 100 h)^2 = 6e-5 of the signal of 0.3 V */
  cr_expect_float_eq(test_order(error[0], error[1]), 2, 0.1, "%g %g", error[0], error[1]);
  vin_stepper_destroy(stepper);
  vin_branch_destroy(branch);
  vin_dae_destroy(dae);
}

/* The original form: B has rank 5 and the index is 1, so [B 0; f_y B] has rank 8 + 5. */
Test(dae_transistor, the_original_form_has_index_one) {
  if (!vini_rank_available()) return;
  static const vin_int b_row[] = {0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 7, 7};
  static const vin_int b_col[] = {0, 1, 0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 6, 7};
  static const double b[] = {-1e-6, 1e-6,  1e-6,  -1e-6, -2e-6, -3e-6, 3e-6,
                             3e-6,  -3e-6, -4e-6, -5e-6, 5e-6,  5e-6,  -5e-6};
  static const vin_int row[] = {0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7};
  static const vin_int col[] = {0, 1, 2, 1, 2, 1, 2, 3, 4, 5, 4, 5, 4, 5, 6, 7};
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 8, desc.function = original;
  desc.mass_pattern = (vin_triplets){14, b_row, b_col}, desc.mass_values = b;
  desc.jacobian_pattern = (vin_triplets){16, row, col};
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  static const double y[8] = {0, 3, 3, 6, 3, 3, 6, 0};
  vin_dae_index_report report;
  vin_derivative_check check;
  cr_expect_eq(vin_dae_index_check(dae, 0, y, 0, &report), VIN_OK, "%s", report.text);
  cr_expect(report.rank == 13 && report.full == 13, "%s", report.text);
  cr_expect_eq(vin_dae_check(dae, 0.01, y, &check), VIN_OK, "%s", check.text);
  vin_dae_destroy(dae);
}
