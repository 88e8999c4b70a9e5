/* dae_index1.c - a large differential-algebraic problem of index 1, solved three times.
 *
 * A line of n cells: capacitors to the ground with voltages x_i, joined by varistors with currents
 * z_i. The first varistor hangs on a source u(t). With x_{-1} = u and z_n = 0:
 *
 *   capacity x_i' = z_i - z_{i+1} - x_i / load
 *   0 = x_{i-1} - x_i - resistance z_i - knee asinh(z_i / leak)
 *
 * The Jacobian is not programmed: its pattern is declared, and coloured differences need a handful
 * of evaluations whatever n is. BDF2 runs with h, h/2 and h/4: the differences of the results fall
 * by 4, which is how its order is seen without a known solution. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vincula/vincula.h>

static const double capacity = 1e-6, load = 1e5, resistance = 10.0, knee = 0.05, leak = 2e-3;

static int function(void *user, double t, const double *y, double *f) {
  int n = *(const int *)user;
  const double *x = y, *z = y + n;
  for (int i = 0; i < n; i++) {
    double before = i > 0 ? x[i - 1] : 5.0 * (1.0 - cos(400.0 * t)),
           out = i + 1 < n ? z[i + 1] : 0.0;
    f[i] = (z[i] - out - x[i] / load) / capacity;
    f[n + i] = before - x[i] - resistance * z[i] - knee * asinh(z[i] / leak);
  }
  return 0;
}

/* row[], col[] (6 n) := where f_y can be other than zero; returns how many. */
static int declare(int n, vin_int *row, vin_int *col) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    const vin_int place[6][2] = {{i, i},         {i, n + i},     {n + i, i},
                                 {n + i, n + i}, {i, n + i + 1}, {n + i, i - 1}};
    for (int k = 0; k < 6; k++) {
      if ((k == 4 && i + 1 == n) || (k == 5 && i == 0)) continue; /* the ends of the line */
      row[count] = place[k][0], col[count++] = place[k][1];
    }
  }
  return count;
}

/* BDF2 from y (consistent, at t = 0) to t = 0.01 s in y; its second start is a step of backward
 * Euler. */
static vin_status solve(vin_stepper *stepper, int n, int steps, double *y,
                        vin_grid_report *report) {
  double *y1 = malloc(2 * (size_t)n * sizeof *y1);
  if (y1 == NULL) return VIN_ERR_NO_MEMORY;
  vin_grid_run run = vin_grid_run_default();
  run.h = 0.01 / steps, run.steps = 1, run.y0 = y;
  run.derivative_tolerance = 1e-3, run.algebraic_tolerance = 1e-9; /* V/s, V */
  run.start_tolerance[0] = run.start_tolerance[1] = 1e-9;
  vin_status status = vin_stepper_run(stepper, &run, y1, report);
  run.method = VIN_DAE_BDF2, run.steps = steps, run.y1 = y1;
  if (status == VIN_OK) status = vin_stepper_run(stepper, &run, y, report);
  free(y1);
  return status;
}

int main(int argc, char **argv) {
  int json = argc == 2 && strcmp(argv[1], "--json") == 0;
  if (argc != 1 + json) {
    fprintf(stderr, "usage: %s [--json]\n", argv[0]);
    return 2;
  }
  enum { CELLS = 1000, RUNS = 3 };
  static vin_int row[6 * CELLS], col[6 * CELLS];
  static double y[RUNS][2 * CELLS]; /* all zero: nothing is charged, and u(0) = 0 */
  int n = CELLS;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = 2 * n, desc.differential = n;
  desc.function = function, desc.user = &n;
  desc.jacobian_pattern = (vin_triplets){.count = declare(n, row, col), .row = row, .col = col};

  vin_dae *dae = NULL;
  vin_stepper *stepper = NULL;
  vin_grid_report report = {0};
  vin_status status = vin_dae_create(&dae, NULL, &desc);
  const char *text = vin_dae_error(dae);
  if (status == VIN_OK) {
    status = vin_stepper_create(&stepper, NULL, dae, NULL);
    text = vin_stepper_error(stepper);
  }
  double change[RUNS] = {0};
  for (int k = 0; k < RUNS && status == VIN_OK; k++) {
    status = solve(stepper, n, 100 << k, y[k], &report);
    for (int i = 0; k > 0 && i < n; i++) change[k] = fmax(change[k], fabs(y[k][i] - y[k - 1][i]));
    if (!json && status == VIN_OK)
      printf("%3d steps: %8.5f V in the first cell, changed by %.1e V, %lld solves\n", 100 << k,
             y[k][0], change[k], (long long)report.counts.correction_solves);
  }
  if (status != VIN_OK) {
    fprintf(stderr, "dae_index1: %s: %s\n", vin_status_name(status), text);
  } else {
    double order = log2(change[1] / change[2]);
    int64_t analyses = vin_stepper_solver_info(stepper).symbolic_count;
    printf(
        json ? "{\"n\":%d,\"m\":%d,\"colours\":%d,\"symbolic\":%d,\"order\":%.3f,\"first\":%.9g}\n"
             : "%d + %d unknowns, %d colours, %d analysis, order %.2f, last value %.5f V\n",
        n, n, (int)vin_dae_colours(dae), (int)analyses, order, y[RUNS - 1][0]);
  }
  vin_stepper_destroy(stepper);
  vin_dae_destroy(dae);
  return status == VIN_OK ? 0 : 1;
}
