/* test_andrews - Andrews' squeezing mechanism: 7 coordinates, 6 loop constraints; as own M and J
 * through vin_kkt, and as a vin_system, integrated by the implicit methods. Data: Test Set for IVP Solvers, andrews.f (facts restated
 * in shared/reference/ivp/andrews.md), where accelerations and multipliers at t = 0 are given to
 * 30 digits. */
#include "implicit_problems.h"
#include "system/system.h"
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

static const double m1 = .04325, m2 = .00365, m3 = .02373, m4 = .00706, m5 = .07050, m6 = .00706,
                    m7 = .05498;
static const double i1 = 2.194e-6, i2 = 4.410e-7, i3 = 5.255e-6, i4 = 5.667e-7, i5 = 1.169e-5,
                    i6 = 5.667e-7, i7 = 1.912e-5;
static const double xa = -.06934, ya = -.00227, xb = -.03635, yb = .03273, xc = .014, yc = .072;
static const double c0 = 4530, l0 = .07785, mom = .033;
static const double d = .028, da = .0115, e = .02, ea = .01421, rr = .007, ra = .00092, ss = .035,
                    sa = .01874, sb = .01043, sc = .018, sd = .02, ta = .02308, tb = .00916,
                    u = .04, ua = .01228, ub = .00449, zf = .02, zt = .04, fa = .01421;

enum { N = 7, M = 6, MASS_COUNT = 10, JACOBIAN_COUNT = 22 };
enum { BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPSILON };
static const vin_int mass_row[MASS_COUNT] = {0, 1, 1, 2, 3, 4, 4, 5, 6, 6};
static const vin_int mass_col[MASS_COUNT] = {0, 0, 1, 2, 3, 3, 4, 5, 5, 6};
static const vin_int jacobian_row[JACOBIAN_COUNT] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3,
                                                     3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5};
static const vin_int jacobian_col[JACOBIAN_COUNT] = {0, 1, 2, 0, 1, 2, 0, 1, 3, 4, 0,
                                                     1, 3, 4, 0, 1, 5, 6, 0, 1, 5, 6};
static const vin_triplets mass_pattern = {MASS_COUNT, mass_row, mass_col};
static const vin_triplets jacobian_pattern = {JACOBIAN_COUNT, jacobian_row, jacobian_col};
static const double q0[N] = {-0.0617138900142764496358948458001, 0,
                             0.455279819163070380255912382449,   0.222668390165885884674473185609,
                             0.487364979543842550225598953530,   -0.222668390165885884674473185609,
                             1.23054744454982119249735015568};
static const double zeros[N];
static const double acceleration0[N] = {14222.4439199541138705911625887,
                                        -10666.8329399655854029433719415};
static const double lambda0[M] = {98.5668703962410896057654982170,
                                  -6.12268834425566265503114393122};

static int mass(void *user, double t, const double *q, const double *v, double *m) {
  (void)user, (void)t, (void)v;
  double w = e - ea, z = zf - fa, ct = cos(q[THETA]), sp = sin(q[PHI]), so = sin(q[OMEGA]);
  m[0] = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * ct + da * da) + i1 + i2;
  m[1] = m2 * (da * da - da * rr * ct) + i2;
  m[2] = m2 * da * da + i2;
  m[3] = m3 * (sa * sa + sb * sb) + i3;
  m[4] = m4 * w * w + i4;
  m[5] = m4 * (w * w + zt * w * sp) + i4;
  m[6] = m4 * (zt * zt + 2 * zt * w * sp + w * w) + m5 * (ta * ta + tb * tb) + i4 + i5;
  m[7] = m6 * z * z + i6;
  m[8] = m6 * (z * z - u * z * so) + i6;
  m[9] = m6 * (z * z - 2 * u * z * so + u * u) + m7 * (ua * ua + ub * ub) + i6 + i7;
  return 0;
}

/* The spring's elongation and end. */
static double spring(const double *q, double *dx, double *dy) {
  double g = q[GAMMA];
  *dx = sd * cos(g) + sc * sin(g) + xb - xc;
  *dy = sd * sin(g) - sc * cos(g) + yb - yc;
  return hypot(*dx, *dy);
}

static int force(void *user, double t, const double *q, const double *v, double *f) {
  (void)user, (void)t;
  double w = e - ea, z = zf - fa, g = q[GAMMA], dx, dy, length = spring(q, &dx, &dy);
  double pull = -c0 * (length - l0) / length, st = sin(q[THETA]);
  double cp = cos(q[PHI]), co = cos(q[OMEGA]);
  f[0] = mom - m2 * da * rr * v[THETA] * (v[THETA] + 2 * v[BETA]) * st;
  f[1] = m2 * da * rr * v[BETA] * v[BETA] * st;
  f[2] = pull * (dx * (sc * cos(g) - sd * sin(g)) + dy * (sd * cos(g) + sc * sin(g)));
  f[3] = m4 * zt * w * v[DELTA] * v[DELTA] * cp;
  f[4] = -m4 * zt * w * v[PHI] * (v[PHI] + 2 * v[DELTA]) * cp;
  f[5] = -m6 * u * z * v[EPSILON] * v[EPSILON] * co;
  f[6] = m6 * u * z * v[OMEGA] * (v[OMEGA] + 2 * v[EPSILON]) * co;
  return 0;
}

static int potential(void *user, double t, const double *q, double *energy) {
  (void)user, (void)t;
  double dx, dy, stretch = spring(q, &dx, &dy) - l0;
  *energy = c0 * stretch * stretch / 2 - mom * q[BETA];
  return 0;
}

static int constraint(void *user, double t, const double *q, double *g) {
  (void)user, (void)t;
  double p = rr * cos(q[BETA]) - d * cos(q[BETA] + q[THETA]);
  double r = rr * sin(q[BETA]) - d * sin(q[BETA] + q[THETA]);
  double pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  g[0] = p - ss * sin(q[GAMMA]) - xb;
  g[1] = r + ss * cos(q[GAMMA]) - yb;
  g[2] = p - e * sin(pd) - zt * cos(q[DELTA]) - xa;
  g[3] = r + e * cos(pd) - zt * sin(q[DELTA]) - ya;
  g[4] = p - zf * cos(oe) - u * sin(q[EPSILON]) - xa;
  g[5] = r - zf * sin(oe) + u * cos(q[EPSILON]) - ya;
  return 0;
}

static int jacobian(void *user, double t, const double *q, double *j) {
  (void)user, (void)t;
  double bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  double px = d * sin(bt), pb = px - rr * sin(q[BETA]);
  double rx = -d * cos(bt), rb = rx + rr * cos(q[BETA]);
  const double values[] = {pb,
                           px,
                           -ss * cos(q[GAMMA]),
                           rb,
                           rx,
                           -ss * sin(q[GAMMA]),
                           pb,
                           px,
                           -e * cos(pd),
                           -e * cos(pd) + zt * sin(q[DELTA]),
                           rb,
                           rx,
                           -e * sin(pd),
                           -e * sin(pd) - zt * cos(q[DELTA]),
                           pb,
                           px,
                           zf * sin(oe),
                           zf * sin(oe) - u * cos(q[EPSILON]),
                           rb,
                           rx,
                           -zf * cos(oe),
                           -zf * cos(oe) - u * sin(q[EPSILON])};
  memcpy(j, values, sizeof values);
  return 0;
}

static int curvature(void *user, double t, const double *q, const double *v, double *a) {
  (void)user, (void)t;
  double bt = q[BETA] + q[THETA], pd = q[PHI] + q[DELTA], oe = q[OMEGA] + q[EPSILON];
  double vb = v[BETA] * v[BETA], vbt = (v[BETA] + v[THETA]) * (v[BETA] + v[THETA]);
  double vpd = (v[PHI] + v[DELTA]) * (v[PHI] + v[DELTA]), vg = v[GAMMA] * v[GAMMA];
  double voe = (v[OMEGA] + v[EPSILON]) * (v[OMEGA] + v[EPSILON]);
  double vd = v[DELTA] * v[DELTA], ve = v[EPSILON] * v[EPSILON];
  double p = -rr * cos(q[BETA]) * vb + d * cos(bt) * vbt;
  double r = -rr * sin(q[BETA]) * vb + d * sin(bt) * vbt;
  a[0] = p + ss * sin(q[GAMMA]) * vg;
  a[1] = r - ss * cos(q[GAMMA]) * vg;
  a[2] = p + e * sin(pd) * vpd + zt * cos(q[DELTA]) * vd;
  a[3] = r - e * cos(pd) * vpd + zt * sin(q[DELTA]) * vd;
  a[4] = p + zf * cos(oe) * voe + u * sin(q[EPSILON]) * ve;
  a[5] = r + zf * sin(oe) * voe - u * cos(q[EPSILON]) * ve;
  return 0;
}

static vin_system_desc desc_with(bool exact_curvature) {
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = N;
  desc.constraints = M;
  desc.mass_pattern = mass_pattern;
  desc.jacobian_pattern = jacobian_pattern;
  desc.mass = mass;
  desc.force = force;
  desc.constraint = constraint;
  desc.jacobian = jacobian;
  desc.curvature = exact_curvature ? curvature : NULL;
  desc.potential = potential;
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
  mass(NULL, 0, q0, zeros, m);
  jacobian(NULL, 0, q0, j);
  force(NULL, 0, q0, zeros, f);
  EACH_SOLVER(solver) {
    vin_kkt_options options = vin_kkt_options_default();
    options.solver = solver;
    vin_kkt *kkt = NULL;
    cr_assert_eq(vin_kkt_create(&kkt, NULL, N, M, mass_pattern, jacobian_pattern, &options), VIN_OK,
                 "%s", vin_kkt_error(kkt));
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
  constraint(NULL, 0, q0, g);
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
  curvature(NULL, 0, q, v, exact);
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
Test(andrews, implicit_methods_converge, .init = test_need_umfpack) {
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
