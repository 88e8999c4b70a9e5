/* Newton matrices by the library's LDL': the same steps as with UMFPACK, and UMFPACK where the matrix is not
 * nearly symmetric or not definite enough. Runs in a build without UMFPACK, too. */
#include "implicit_problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(implicit_symmetric);

static const vin_method methods[] = {
    VIN_METHOD_BACKWARD_EULER, VIN_METHOD_MIDPOINT, VIN_METHOD_TRAPEZOIDAL,      VIN_METHOD_BDF2,
    VIN_METHOD_EULER3,         VIN_METHOD_GGL,      VIN_METHOD_GENERALIZED_ALPHA};
enum { METHODS = sizeof methods / sizeof *methods };

/* A chain falls 1/2 m: the same motion to what two iterations of tolerance 1e-12 may leave, the default
 * without a single fallback, and against the reference where the method is of order 2. */
Test(implicit_symmetric, chains_without_umfpack) {
  double row[50];
  test_reference("hamiltonian/chain_N10_unitlinks.csv", 0.5, 50, row);
  for (int k = 0; k < METHODS; k++) {
    test_mechanism *x = test_chain(10, 1, 1);
    test_mechanism_build(x, NULL);
    vin_options options = test_method(methods[k], VIN_PROJECTION_BOTH);
    options.solver = VIN_SOLVER_AUTO;
    vin_integrator *integrator = test_integrator(x, &options);
    vin_state state = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &state, 0.0025, 200), VIN_OK, "%s: %s",
                 vin_method_name(methods[k]), vin_integrator_error(integrator));
    vin_stats stats = vin_integrator_get_stats(integrator);
    cr_expect_eq(stats.solver.fallbacks, 0, "%s", vin_method_name(methods[k]));
    cr_expect_eq(stats.solver.symbolic, methods[k] == VIN_METHOD_GGL ? 3 : 2, "%s: %d",
                 vin_method_name(methods[k]), (int)stats.solver.symbolic);
    bool first = methods[k] == VIN_METHOD_BACKWARD_EULER || methods[k] == VIN_METHOD_EULER3 ||
                 methods[k] == VIN_METHOD_GGL;
    double error = test_max_difference(20, state.p, row);
    cr_expect_leq(error, first ? 0.05 : 2e-4, "%s: %g", vin_method_name(methods[k]), error);
    if (vin_solver_available(VIN_SOLVER_UMFPACK)) {
      options.solver = VIN_SOLVER_UMFPACK;
      vin_state other = test_run(x, &options, 0.5, 200);
      cr_expect_leq(test_max_difference(20, state.p, other.p), 1e-10, "%s: %g",
                    vin_method_name(methods[k]), test_max_difference(20, state.p, other.p));
      test_state_free(&other);
    }
    vin_integrator_destroy(integrator);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

/* ---- matrices that are not for LDL' ------------------------------------------------------------ */

/* A free point in a plane with M = 1 and f = gyroscopic (v_y, -v_x) + push p. */
typedef struct point {
  double gyroscopic, push;
} point;

static int mass(void *u, double t, const double *p, const double *v, double *m) {
  (void)u, (void)t, (void)p, (void)v;
  m[0] = m[1] = 1;
  return 0;
}
static int force(void *user, double t, const double *p, const double *v, double *f) {
  const point *x = user;
  (void)t;
  f[0] = x->gyroscopic * v[1] + x->push * p[0];
  f[1] = -x->gyroscopic * v[0] + x->push * p[1];
  return 0;
}

/* 20 steps of 0.01 from (1, 0) with v = (0, 1); *stats. */
static vin_status run(point *x, vin_method method, vin_solver solver, double *p, double *v,
                      vin_stats *stats) {
  static const vin_int diagonal[] = {0, 1};
  vin_system_desc desc = {.struct_size = sizeof desc,
                          .positions = 2,
                          .flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL,
                          .mass_pattern = {2, diagonal, diagonal},
                          .mass = mass,
                          .force = force,
                          .user = x};
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK);
  vin_options options = test_method(method, VIN_PROJECTION_BOTH);
  options.solver = solver;
  vin_integrator *integrator = NULL;
  cr_assert_eq(vin_integrator_create(&integrator, NULL, system, &options), VIN_OK);
  vin_system_destroy(system);
  double space[2][4] = {{1, 0, 0, 1}}, none[2];
  vin_state s[2];
  for (int i = 0; i < 2; i++) {
    s[i] = (vin_state){.p = space[i], .v = space[i] + 2, .lambda = &none[i]};
  }
  vin_status status = VIN_OK;
  for (int i = 0; i < 20 && status == VIN_OK; i++) {
    s[i % 2].t = 0.01 * i;
    status = vin_integrator_step(integrator, &s[i % 2], 0.01, &s[(i + 1) % 2]);
  }
  memcpy(p, s[0].p, 2 * sizeof *p), memcpy(v, s[0].v, 2 * sizeof *v);
  *stats = vin_integrator_get_stats(integrator);
  vin_integrator_destroy(integrator);
  return status;
}

/* A gyroscopic force with h times it = 1 is as large as M in the matrix and skew; a push with h^2 times it =
 * -0.9 to -100 leaves a matrix that is nearly singular or negative. By default the same end as with
 * UMFPACK; without it, a failed step or that end. */
Test(implicit_symmetric, what_is_not_symmetric_or_not_definite) {
  const struct {
    point point;
    bool falls_back;
  } cases[] = {{{100, 0}, false}, {{1, 100}, false}, {{0, 5e4}, true}, {{20, 1e6}, true}};
  bool available = vin_solver_available(VIN_SOLVER_UMFPACK) != 0;
  for (int k = 0; k < METHODS; k++) {
    for (int c = 0; c < 4; c++) {
      point x = cases[c].point;
      double p[2], v[2], q[2], w[2];
      vin_stats stats, other;
      vin_status status = run(&x, methods[k], VIN_SOLVER_AUTO, p, v, &stats);
      if (!available) continue;
      cr_assert_eq(status, VIN_OK, "%s, case %d", vin_method_name(methods[k]), c);
      cr_assert_eq(run(&x, methods[k], VIN_SOLVER_UMFPACK, q, w, &other), VIN_OK);
      double size = fmax(1, test_max_abs(2, q)), speed = fmax(1, test_max_abs(2, w));
      cr_expect_leq(test_max_difference(2, p, q), 1e-10 * size, "%s, case %d: %g",
                    vin_method_name(methods[k]), c, test_max_difference(2, p, q));
      cr_expect_leq(test_max_difference(2, v, w), 1e-10 * speed, "%s, case %d",
                    vin_method_name(methods[k]), c);
      bool implicit_euler = methods[k] == VIN_METHOD_BACKWARD_EULER; /* h^2 push is the matrix's */
      if (cases[c].falls_back && implicit_euler) cr_expect_gt(stats.solver.fallbacks, 0);
    }
  }
}
