/* Andrews' squeezing mechanism: 7 coordinates, 6 loop constraints; as own M and J through vin_kkt, and
 * as a vin_system, integrated by the implicit methods. Data: Test Set for IVP Solvers, andrews.f (facts
 * in tests/reference/ivp), where accelerations and multipliers at t = 0 are given to 30 digits. */
#include "ivp.h"
#include "problems.h"
#include "system/system.h"
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

enum { N = 7, M = 6, MASS_COUNT = 10, JACOBIAN_COUNT = 22 };
static const double q0[N] = {-0.0617138900142764496358948458001, 0,
                             0.455279819163070380255912382449,   0.222668390165885884674473185609,
                             0.487364979543842550225598953530,   -0.222668390165885884674473185609,
                             1.23054744454982119249735015568};
static const double zeros[N];
static const double acceleration0[N] = {14222.4439199541138705911625887,
                                        -10666.8329399655854029433719415};
static const double lambda0[M] = {98.5668703962410896057654982170,
                                  -6.12268834425566265503114393122};

static vin_system_desc desc_with(bool exact_curvature) {
  vin_system_desc desc = ivp_andrews_system();
  if (!exact_curvature) desc.curvature = NULL;
  return desc;
}

/* A point on no constraint and with a large velocity, where no entry vanishes. */
static void general_point(double *q, double *v) {
  for (int i = 0; i < N; i++) {
    q[i] = q0[i] + 0.2 * sin(1 + i);
    v[i] = 300 * cos(2 * i);
  }
}

/* The published digits to 1e-12 of the largest entry (the KKT matrix, scaled, has a condition of
 * 1e3; entries that are zero because of cancellation have no relative accuracy of their own). */
Test(andrews, accelerations_and_multipliers) {
  double m[MASS_COUNT], j[JACOBIAN_COUNT], f[N], g[M] = {0}, x[N], lambda[M];
  vin_system_desc desc = desc_with(true);
  desc.mass(NULL, 0, q0, zeros, m);
  desc.jacobian(NULL, 0, q0, j);
  desc.force(NULL, 0, q0, zeros, f);
  EACH_SOLVER(solver) {
    vin_kkt_options options = vin_kkt_options_default();
    options.solver = solver;
    vin_kkt *kkt = NULL;
    cr_assert_eq(
        vin_kkt_create(&kkt, NULL, N, M, desc.mass_pattern, desc.jacobian_pattern, &options),
        VIN_OK, "%s", vin_kkt_error(kkt));
    cr_assert_eq(vin_kkt_factor(kkt, m, j, NULL), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_assert_eq(vin_kkt_solve(kkt, 1, f, g, x, lambda), VIN_OK, "%s", vin_kkt_error(kkt));
    double error = relative_difference(N, x, acceleration0);
    cr_expect_leq(error, 1e-12, "%s: %g", vin_solver_name(solver), error);
    error = relative_difference(M, lambda, lambda0);
    cr_expect_leq(error, 1e-12, "%s: %g", vin_solver_name(solver), error);
    for (int i = 0; i < 2; i++) {
      cr_expect_leq(fabs(x[i] / acceleration0[i] - 1), 1e-12, "%s", vin_solver_name(solver));
      cr_expect_leq(fabs(lambda[i] / lambda0[i] - 1), 1e-12, "%s", vin_solver_name(solver));
    }
    vin_kkt_info info = vin_kkt_get_info(kkt);
    cr_expect_eq(info.dropped, 0);
    if (info.solver != VIN_SOLVER_UMFPACK) cr_expect_eq(info.negative_pivots, M);
    cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, 0);
    vin_kkt_destroy(kkt);
  }
}

/* The start is on the constraints to rounding: lengths below 0.1 m, so about 1e-17. */
Test(andrews, start_is_consistent) {
  double g[M];
  desc_with(true).constraint(NULL, 0, q0, g);
  cr_expect_leq(test_max_abs(M, g), 5e-17);
}

Test(andrews, checker_accepts_the_derivatives) {
  vin_system_desc desc = desc_with(true);
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
  double q[N], v[N];
  general_point(q, v);
  vin_derivative_check check;
  cr_expect_eq(vin_system_check(system, 0, q0, zeros, 0, &check), VIN_OK, "%s", check.text);
  cr_expect_eq(vin_system_check(system, 0, q0, v, 0, &check), VIN_OK, "%s", check.text);
  cr_expect_eq(vin_system_check(system, 0, q, v, 1, &check), VIN_OK, "%s", check.text);
  vin_system_destroy(system);

  /* what is not so: M depends on q, Phi is not quadratic, f depends on v */
  const struct {
    unsigned flag;
    const char *name;
  } claims[] = {{VIN_MASS_CONSTANT, "VIN_MASS_CONSTANT"},
                {VIN_CONSTRAINT_QUADRATIC, "VIN_CONSTRAINT_QUADRATIC"},
                {VIN_FORCE_VELOCITY_FREE, "VIN_FORCE_VELOCITY_FREE"}};
  for (int k = 0; k < 3; k++) {
    desc.flags = claims[k].flag;
    cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
    cr_expect_eq(vin_system_check(system, 0, q, v, 1, &check), VIN_CHECK_FAILED);
    cr_expect(strstr(check.text, claims[k].name), "%s", check.text);
    vin_system_destroy(system);
  }
}

/* Differences of the Jacobian give the curvature to the ten digits that the header promises. */
Test(andrews, curvature_by_differences) {
  vin_system_desc desc = desc_with(false);
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
  double q[N], v[N], exact[M], a[M], work[N + JACOBIAN_COUNT + M + 1];
  cr_assert_leq(vini_curvature_work(system), sizeof work / sizeof *work);
  vini_object o = {.created = VIN_OK};
  general_point(q, v);
  desc_with(true).curvature(NULL, 0, q, v, exact);
  cr_assert_eq(vini_eval_curvature(system, &o, 0, q, v, a, work), VIN_OK);
  cr_expect_leq(relative_difference(M, a, exact), 1e-10);
  vin_system_destroy(system);
}

/* Runs to t = 0.03; relative errors of q and q' in the maximum norm. */
static void run(const vin_options *options, long steps, double *error) {
  vin_system_desc desc = desc_with(true);
  vin_system *system = NULL;
  vin_integrator *integrator = NULL;
  double row[3 * N + M], q[2][N] = {{0}}, v[2][N] = {{0}}, lambda[2][M] = {{0}};
  test_reference("ivp/andrews.csv", 0.03, 3 * N + M, row);
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK);
  cr_assert_eq(vin_integrator_create(&integrator, NULL, system, options), VIN_OK, "%s",
               vin_integrator_error(integrator));
  memcpy(q[0], q0, sizeof q0);
  vin_state state[2] = {{.p = q[0], .v = v[0], .lambda = lambda[0]},
                        {.p = q[1], .v = v[1], .lambda = lambda[1]}};
  for (long k = 0; k < steps; k++) {
    cr_assert_eq(
        vin_integrator_step(integrator, &state[k % 2], 0.03 / (double)steps, &state[(k + 1) % 2]),
        VIN_OK, "%s", vin_integrator_error(integrator));
  }
  error[0] = relative_difference(N, q[steps % 2], row);
  error[1] = relative_difference(N, v[steps % 2], row + N);
  vin_integrator_destroy(integrator);
  vin_system_destroy(system);
}

/* M(q), f(q, q') without tangents, constraints that are not quadratic: both methods converge to the
 * reference with their order. */
Test(andrews, implicit_methods_converge) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) cr_skip_test("implicit methods need UMFPACK");
  vin_options options = vin_options_default();
  double error[2][2];
  options.method = VIN_METHOD_RADAU5;
  run(&options, 300, error[0]);
  run(&options, 600, error[1]);
  for (int k = 0; k < 2; k++) {
    cr_expect_float_eq(log2(error[0][k] / error[1][k]), 5, 0.7, "radau5: %g %g", error[0][k],
                       error[1][k]);
    cr_expect_leq(error[1][k], 1e-6, "%g", error[1][k]);
  }
  options.method = VIN_METHOD_GENERALIZED_ALPHA;
  run(&options, 3000, error[0]);
  run(&options, 6000, error[1]);
  for (int k = 0; k < 2; k++) {
    cr_expect_float_eq(log2(error[0][k] / error[1][k]), 2, 0.2, "generalized-alpha: %g %g",
                       error[0][k], error[1][k]);
  }
}
