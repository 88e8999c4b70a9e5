/* robertson - Robertson's reaction as 0 = F(t, y, y') by IDA of SUNDIALS and by vin_dae_integrator, with the same
 * callbacks and tolerances; work beside the error of the published end values. */
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_version.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <vincula/vincula.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, MOST_STEPS = 1000000 };
static const double END = 1e11; /* s */
static const double START[N] = {1, 0, 0}, START_RATE[N] = {-0.04, 0.04, 0};
/* Test set for IVP solvers, "rober" */
static const double PUBLISHED[N] = {0.2083340149701255e-07, 0.8333360770334713e-13,
                                    0.9999999791665050};
/* absolute tolerances, in units of the relative one */
static const double SIZE[N] = {1e-7, 1e-12, 1e-4};

/* y1' = -0.04 y1 + 1e4 y2 y3, y2' = 0.04 y1 - 1e4 y2 y3 - 3e7 y2^2, 1 = y1 + y2 + y3; user counts. */
static int residual(void *user, double t, const double *y, const double *yp, double *r) {
  (void)t;
  ++*(long *)user;
  r[0] = yp[0] + 0.04 * y[0] - 1e4 * y[1] * y[2];
  r[1] = yp[1] - 0.04 * y[0] + 1e4 * y[1] * y[2] + 3e7 * y[1] * y[1];
  r[2] = y[0] + y[1] + y[2] - 1;
  return 0;
}

/* By rows. */
static int by_y(void *user, double t, const double *y, const double *yp, double *values) {
  (void)user, (void)t, (void)yp;
  const double all[N * N] = {0.04,       -1e4 * y[2], -1e4 * y[1], -0.04, 1e4 * y[2] + 6e7 * y[1],
                             1e4 * y[1], 1,           1,           1};
  memcpy(values, all, sizeof all);
  return 0;
}

static int by_rate(void *user, double t, const double *y, const double *yp, double *values) {
  (void)user, (void)t, (void)y, (void)yp;
  values[0] = values[1] = 1;
  return 0;
}

static void print(const char *who, double tolerance, const double *y, long steps, long residuals,
                  long jacobians) {
  double error = 0;
  for (int i = 0; i < N; i++) error = fmax(error, fabs(y[i] / PUBLISHED[i] - 1));
  printf("%-6s  %9g  %9.1e  %7ld  %11ld  %9ld\n", who, tolerance, error, steps, residuals,
         jacobians);
}

static void fail(const char *who, const char *why) {
  fprintf(stderr, "robertson: %s: %s\n", who, why);
  exit(EXIT_FAILURE);
}

/* ---- IDA ------------------------------------------------------------------------------------------- */

static int ida_residual(double t, N_Vector y, N_Vector yp, N_Vector r, void *user) {
  return residual(user, t, N_VGetArrayPointer(y), N_VGetArrayPointer(yp), N_VGetArrayPointer(r));
}

static int ida_jacobian(double t, double rate, N_Vector y, N_Vector yp, N_Vector r, SUNMatrix a,
                        void *user, N_Vector work1, N_Vector work2, N_Vector work3) {
  double values[N * N];
  (void)r, (void)work1, (void)work2, (void)work3;
  by_y(user, t, N_VGetArrayPointer(y), N_VGetArrayPointer(yp), values);
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) SM_ELEMENT_D(a, i, j) = values[i * N + j];
    if (i < 2) SM_ELEMENT_D(a, i, i) += rate;
  }
  return 0;
}

static void run_ida(double tolerance) {
  SUNContext context = NULL;
  if (SUNContext_Create(NULL, &context) != 0) fail("ida", "no context");
  N_Vector y = N_VNew_Serial(N, context), yp = N_VNew_Serial(N, context);
  N_Vector absolute = N_VNew_Serial(N, context);
  void *ida = IDACreate(context);
  SUNMatrix a = SUNDenseMatrix(N, N, context);
  SUNLinearSolver solver = SUNLinSol_Dense(y, a, context);
  if (!y || !yp || !absolute || !ida || !a || !solver) fail("ida", "no memory");
  for (int i = 0; i < N; i++) {
    NV_Ith_S(y, i) = START[i];
    NV_Ith_S(yp, i) = START_RATE[i];
    NV_Ith_S(absolute, i) = tolerance * SIZE[i];
  }
  long residuals = 0, steps = 0, jacobians = 0;
  double t = 0;
  int bad = IDAInit(ida, ida_residual, 0, y, yp) | IDASVtolerances(ida, tolerance, absolute) |
            IDASetLinearSolver(ida, solver, a) | IDASetJacFn(ida, ida_jacobian) |
            IDASetUserData(ida, &residuals) | IDASetMaxNumSteps(ida, MOST_STEPS);
  if (bad || IDASolve(ida, END, &t, y, yp, IDA_NORMAL) < 0) fail("ida", "does not reach the end");
  IDAGetNumSteps(ida, &steps);
  IDAGetNumJacEvals(ida, &jacobians);
  print("ida", tolerance, N_VGetArrayPointer(y), steps, residuals, jacobians);
  IDAFree(&ida);
  SUNLinSolFree(solver);
  SUNMatDestroy(a);
  N_VDestroy(y), N_VDestroy(yp), N_VDestroy(absolute);
  SUNContext_Free(&context);
}

/* ---- vincula --------------------------------------------------------------------------------------- */

static void run_vincula(vin_dae_integrator_method method, double tolerance) {
  static const vin_int row[] = {0, 0, 0, 1, 1, 1, 2, 2, 2}, col[] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  static const vin_int diagonal[] = {0, 1};
  long residuals = 0;
  double absolute[N];
  for (int i = 0; i < N; i++) absolute[i] = tolerance * SIZE[i];
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = N;
  desc.residual = residual, desc.residual_y = by_y, desc.residual_yp = by_rate;
  desc.jacobian_pattern = (vin_triplets){N * N, row, col};
  desc.mass_pattern = (vin_triplets){2, diagonal, diagonal};
  desc.user = &residuals;
  vin_dae *dae = NULL;
  if (vin_dae_create(&dae, NULL, &desc) != VIN_OK) fail("vincula", vin_dae_error(dae));
  vin_dae_integrator_options options = vin_dae_integrator_options_default();
  options.method = method;
  options.relative_tolerance = tolerance, options.absolute_tolerances = absolute;
  vin_dae_integrator *integrator = NULL;
  vin_status status = vin_dae_integrator_create(&integrator, NULL, dae, &options);
  vin_dae_destroy(dae);
  if (status == VIN_OK)
    status = vin_dae_integrator_start_implicit(integrator, 0, START, START_RATE);
  residuals = 0; /* without those of the check of the start, which IDA does not do */
  if (status == VIN_OK) status = vin_dae_integrator_run(integrator, END);
  if (status != VIN_OK) fail("vincula", vin_dae_integrator_error(integrator));
  vin_dae_integrator_stats stats = vin_dae_integrator_get_stats(integrator);
  print(vin_dae_integrator_method_name(method), tolerance, vin_dae_integrator_state(integrator).y,
        (long)stats.steps, residuals, (long)stats.jacobians);
  vin_dae_integrator_destroy(integrator);
}

int main(void) {
  printf("IDA of SUNDIALS %s, vincula %s\n", SUNDIALS_VERSION, vin_version());
  printf("%-6s  %9s  %9s  %7s  %11s  %9s\n", "", "tolerance", "error", "steps", "evaluations",
         "Jacobians");
  for (double tolerance = 1e-4; tolerance > 1e-9; tolerance /= 100) {
    run_ida(tolerance);
    run_vincula(VIN_DAE_RADAU, tolerance);
    run_vincula(VIN_DAE_BDF, tolerance);
  }
  return EXIT_SUCCESS;
}
