/* Orders of the methods against references of 15 and more digits (tests/reference/README.md).
 *
 * Each run halves the step; log2 of the ratio of errors is the observed order. Where the errors
 * have reached their asymptotic form it lies within 0.1 of 2 for rattle and 0.25 of 4 for rk4:
 * the next term of the error is a fraction h or h^2 of the first. */
#include "problems.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

TestSuite(reference);

enum { POSITION, VELOCITY, MULTIPLIER, KINDS };

/* Errors (max-norm) in p, v, lambda at t_end. scale: lambda_vincula / lambda_file. */
static void errors(const test_mechanism *x, const vin_options *options, const char *file,
                   double scale, double t_end, long steps, double *error) {
  int n = (int)x->n, m = (int)x->m;
  double *row = calloc((size_t)(2 * n + m), sizeof *row);
  test_reference(file, t_end, 2 * n + m, row);
  vin_state end = test_run(x, options, t_end, steps);
  error[POSITION] = error[VELOCITY] = error[MULTIPLIER] = 0;
  for (int i = 0; i < n; i++) {
    error[POSITION] = fmax(error[POSITION], fabs(end.p[i] - row[i]));
    error[VELOCITY] = fmax(error[VELOCITY], fabs(end.v[i] - row[n + i]));
  }
  for (int c = 0; c < m; c++) {
    error[MULTIPLIER] = fmax(error[MULTIPLIER], fabs(end.lambda[c] - scale * row[2 * n + c]));
  }
  free(row);
  test_state_free(&end);
}

typedef struct study {
  const char *name;
  test_mechanism *(*problem)(void);
  const char *file;
  double scale, t_end;
  long steps[4]; /* coarsest of three runs: rattle, taylor2, euler, rk4; 0: none */
} study;

static test_mechanism *chain10(void) {
  return test_chain(10, 1, 1);
}

static test_mechanism *short_chain10(void) {
  return test_chain(10, 0.1, 0.1);
}

static test_mechanism *chain50(void) {
  return test_chain(50, 1, 1);
}

#define HAMILTONIAN "hamiltonian/"
/* Steps so large that three halvings stay above rounding, and so small that the order shows; the
 * whip of the short chain at t = 1 needs 1.25e-3. taylor2 and euler feed energy into the triangle,
 * which they tear up before t = 100. */
static const study studies[] = {
    {"planar", test_planar_pendulum, HAMILTONIAN "planar_pendulum.csv", 2, 1, {50, 100, 100, 50}},
    {"planar",
     test_planar_pendulum,
     HAMILTONIAN "planar_pendulum.csv",
     2,
     10,
     {500, 4000, 4000, 500}},
    {"spherical",
     test_spherical_pendulum,
     HAMILTONIAN "spherical_pendulum.csv",
     2,
     1,
     {50, 100, 100, 50}},
    {"spherical",
     test_spherical_pendulum,
     HAMILTONIAN "spherical_pendulum.csv",
     2,
     10,
     {500, 4000, 4000, 500}},
    {"modified",
     test_modified_pendulum,
     HAMILTONIAN "modified_pendulum.csv",
     1,
     1,
     {100, 400, 800, 100}},
    {"modified",
     test_modified_pendulum,
     HAMILTONIAN "modified_pendulum.csv",
     1,
     10,
     {1000, 0, 0, 1000}},
    {"triangle", test_triangle, HAMILTONIAN "tethered_triangle.csv", 2, 10, {100, 1600, 1600, 200}},
    {"triangle", test_triangle, HAMILTONIAN "tethered_triangle.csv", 2, 100, {1000, 0, 0, 4000}},
    {"chain of 10", chain10, HAMILTONIAN "chain_N10_unitlinks.csv", 2, 1, {200, 800, 800, 200}},
    {"short chain of 10",
     short_chain10,
     HAMILTONIAN "chain_N10_unitlength.csv",
     0.2,
     0.5,
     {400, 1600, 1600, 800}},
    {"short chain of 10",
     short_chain10,
     HAMILTONIAN "chain_N10_unitlength.csv",
     0.2,
     1,
     {800, 1600, 1600, 1600}},
    {"chain of 50", chain50, HAMILTONIAN "chain_N50_unitlinks.csv", 2, 1, {200, 800, 800, 200}},
};

static void check_order(const study *s, vin_method method, double order, double tolerance,
                        double multiplier_low, double multiplier_high) {
  long steps = s->steps[method];
  if (steps == 0) return;
  test_mechanism *x = s->problem();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(method, VIN_PROJECTION_BOTH);
  double last[KINDS] = {0}, error[KINDS];
  for (int run = 0; run < 3; run++, steps *= 2) {
    errors(x, &options, s->file, s->scale, s->t_end, steps, error);
    for (int kind = 0; kind < KINDS && run > 0; kind++) {
      double observed = log2(last[kind] / error[kind]);
      bool multiplier = kind == MULTIPLIER;
      double low = multiplier ? multiplier_low : order - tolerance;
      double high = multiplier ? multiplier_high : order + tolerance;
      cr_expect(observed >= low && observed <= high,
                "%s to t = %g, %s, %ld steps, %s: order %.3f (%g)", s->name, s->t_end,
                vin_method_name(method), steps,
                multiplier         ? "lambda"
                : kind == VELOCITY ? "v"
                                   : "p",
                observed, error[kind]);
    }
    for (int kind = 0; kind < KINDS; kind++) last[kind] = error[kind];
  }
  test_mechanism_free(x);
}

#define STUDIES (sizeof studies / sizeof *studies)

/* 2 in p and v. The multiplier of the velocity stage is that of a force h/2 long: order 1, except
 * where the curvature of the constraints does not change in time (triangle: 2). */
Test(reference, rattle_has_order_2) {
  for (size_t k = 0; k < STUDIES; k++) {
    check_order(&studies[k], VIN_METHOD_RATTLE, 2, 0.1, 0.8, 2.3);
  }
}

/* The multiplier of rattle with the order of the method, as integrate.h says: from the state. */
Test(reference, multiplier_at_rattles_state_has_order_2) {
  test_mechanism *x = chain10();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
  double row[50], error[2] = {0};
  test_reference(HAMILTONIAN "chain_N10_unitlinks.csv", 1, 50, row);
  for (int run = 0; run < 2; run++) {
    double vdot[20], lambda[10];
    vin_state end = test_run(x, &options, 1, run == 0 ? 400 : 800);
    cr_assert_eq(vin_initial_solve(x->system, NULL, 0, end.p, end.v, vdot, lambda, NULL, NULL, 0),
                 VIN_OK);
    for (int c = 0; c < 10; c++) error[run] = fmax(error[run], fabs(lambda[c] - 2 * row[40 + c]));
    test_state_free(&end);
  }
  double observed = log2(error[0] / error[1]);
  cr_expect(fabs(observed - 2) <= 0.1, "%g then %g, order %g", error[0], error[1], observed);
  test_mechanism_free(x);
}

/* 4 in p, v and lambda; the triangle's lambda gains one more from its symmetry. */
Test(reference, rk4_with_both_projections_has_order_4) {
  for (size_t k = 0; k < STUDIES; k++) {
    check_order(&studies[k], VIN_METHOD_RK4, 4, 0.4, 3.6, 5.2);
  }
}

/* 1 in p, v and lambda: v += h v' is first order, and p integrates v. */
Test(reference, taylor2_has_order_1) {
  for (size_t k = 0; k < STUDIES; k++) {
    check_order(&studies[k], VIN_METHOD_TAYLOR2, 1, 0.25, 0.75, 1.3);
  }
}

Test(reference, euler_has_order_1) {
  for (size_t k = 0; k < STUDIES; k++) {
    check_order(&studies[k], VIN_METHOD_EULER, 1, 0.25, 0.75, 1.4);
  }
}

/* Down to 1e-11. At 2.5e-3 the method error is 3e-12 and rounding over 4e4
 * steps about 1e-12. */
Test(reference, rk4_reaches_1e_11_on_the_triangle) {
  test_mechanism *x = test_triangle();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
  static const double t_end[2] = {10, 100};
  for (int k = 0; k < 2; k++) {
    double error[KINDS];
    long steps = k == 0 ? 2000 : 40000;
    errors(x, &options, HAMILTONIAN "tethered_triangle.csv", 2, t_end[k], steps, error);
    cr_expect_leq(error[POSITION], 1e-11, "t = %g: %g", t_end[k], error[POSITION]);
    cr_expect_leq(error[VELOCITY], 1e-11, "t = %g: %g", t_end[k], error[VELOCITY]);
    cr_expect_leq(error[MULTIPLIER], 1e-11, "t = %g: %g", t_end[k], error[MULTIPLIER]);
  }
  test_mechanism_free(x);
}

/* The moving constraint: 1e-8 in p, v and lambda of size 1, 1 and 5e-3. The file's multipliers have
 * the opposite sign. */
Test(reference, car_axis_to_1e_8_with_rk4) {
  test_mechanism *x = test_car_axis();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
  double error[KINDS], coarse[KINDS];
  errors(x, &options, "ivp/caraxis.csv", -1, 3, 12000, coarse);
  errors(x, &options, "ivp/caraxis.csv", -1, 3, 24000, error);
  for (int kind = 0; kind < KINDS; kind++) {
    cr_expect_leq(error[kind], 1e-8, "kind %d: %g", kind, error[kind]);
    double observed = log2(coarse[kind] / error[kind]);
    cr_expect(fabs(observed - 4) <= 0.4, "kind %d: order %g", kind, observed);
  }
  test_mechanism_free(x);
}

/* Order 2 of rattle under a moving constraint. Not lambda: its error passes through zero here. */
Test(reference, rattle_has_order_2_on_the_car_axis) {
  test_mechanism *x = test_car_axis();
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RATTLE, VIN_PROJECTION_NONE);
  double fine[KINDS], coarse[KINDS];
  errors(x, &options, "ivp/caraxis.csv", -1, 3, 3000, coarse);
  errors(x, &options, "ivp/caraxis.csv", -1, 3, 6000, fine);
  for (int kind = POSITION; kind <= VELOCITY; kind++) {
    double observed = log2(coarse[kind] / fine[kind]);
    cr_expect(fabs(observed - 2) <= 0.1, "kind %d: order %g", kind, observed);
  }
  test_mechanism_free(x);
}

/* Every solver gives the same motion: within rounding (1e-10 after 400 steps of a chain whose
 * errors grow like e^(3 t)). */
Test(reference, every_solver_gives_the_same_motion) {
  static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                       VIN_SOLVER_UMFPACK};
  static const vin_method all[] = {VIN_METHOD_RATTLE, VIN_METHOD_RK4};
  for (int problem = 0; problem < 2; problem++) {
    test_mechanism *x = problem == 0 ? test_triangle() : test_chain(10, 1, 1);
    test_mechanism_build(x, NULL);
    for (int method = 0; method < 2; method++) {
      vin_options options = test_method(all[method], VIN_PROJECTION_BOTH);
      vin_state first = test_run(x, &options, 1, 400);
      for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
        if (!vin_solver_available(solvers[k])) continue;
        options.projector.kkt.solver = solvers[k];
        vin_state end = test_run(x, &options, 1, 400);
        for (vin_int i = 0; i < x->n; i++) {
          cr_assert_float_eq(end.p[i], first.p[i], 1e-10, "%s", vin_solver_name(solvers[k]));
          cr_assert_float_eq(end.v[i], first.v[i], 1e-9, "%s", vin_solver_name(solvers[k]));
        }
        test_state_free(&end);
      }
      test_state_free(&first);
    }
    test_mechanism_free(x);
  }
}

/* Field report 18: the pendulum from (1,0) at rest stays on the circle to t = 100 with rk4 (1e-9);
 * the motion is the mirror image of IFToMM A01 at t = 1..10 to 1e-8 (h^4 error of 1e-3 steps). */
Test(reference, iftomm_pendulum) {
  test_mechanism *x = test_pendulum(acos(-1.0) / 2, 0);
  test_mechanism_build(x, NULL);
  vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
  vin_integrator *integrator = test_integrator(x, &options);
  vin_state state = test_state(x);
  for (int second = 1; second <= 100; second++) {
    vin_status status = test_advance(integrator, x, &state, 1e-3, 1000);
    cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
    cr_assert_leq(fabs(state.p[0] * state.p[0] + state.p[1] * state.p[1] - 1), 1e-9);
    if (second > 10) continue;
    double row[2];
    test_reference("iftomm/A01_simple_pendulum.csv", second, 2, row);
    cr_expect_float_eq(state.p[0], -row[0], 1e-8, "t = %d", second);
    cr_expect_float_eq(state.p[1], row[1], 1e-8, "t = %d", second);
  }
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* Field report 20: |d|^2 = L^2 and |d| = L give the same motion (1e-9: rk4 at 1e-3), and
 * multipliers that differ by the factor of the gradients: lambda_square = lambda_length / (2 L). */
Test(reference, forms_of_a_rod_agree) {
  vin_state end[3];
  for (int form = 0; form < 3; form++) {
    test_mechanism *x = test_spherical_pendulum();
    x->form = (test_form)form;
    x->gravity[2] = -9.81;
    x->p[0] = 1, x->p[2] = 0;
    x->v[0] = x->v[2] = 0, x->v[1] = 1;
    test_mechanism_build(x, NULL);
    vin_options options = test_method(VIN_METHOD_RK4, VIN_PROJECTION_BOTH);
    end[form] = test_run(x, &options, 2, 2000);
    test_mechanism_free(x);
  }
  for (int i = 0; i < 3; i++) {
    cr_expect_float_eq(end[TEST_SQUARE].p[i], end[TEST_LENGTH].p[i], 1e-9);
    cr_expect_float_eq(end[TEST_HALVED].p[i], end[TEST_LENGTH].p[i], 1e-9);
  }
  cr_expect_float_eq(end[TEST_SQUARE].lambda[0], end[TEST_LENGTH].lambda[0] / 2, 1e-8);
  cr_expect_float_eq(end[TEST_HALVED].lambda[0], end[TEST_LENGTH].lambda[0], 1e-8);
  for (int form = 0; form < 3; form++) test_state_free(&end[form]);
}

/* The problems themselves: every derivative agrees with finite differences. */
Test(reference, derivatives_of_the_problems) {
  test_mechanism *all[] = {test_planar_pendulum(),   test_spherical_pendulum(),
                           test_modified_pendulum(), test_triangle(),
                           test_chain(10, 1, 1),     test_car_axis(),
                           test_two_rods(1),         test_pendulum(1, 1)};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    test_mechanism *x = all[k];
    if (k == sizeof all / sizeof *all - 1)
      x->amplitude = 0.3, x->frequency = 5, x->damping = 0.1, x->form = TEST_LENGTH;
    test_mechanism_build(x, NULL);
    vin_state state = test_state(x);
    for (vin_int i = 0; i < x->n; i++) {
      state.p[i] += 0.1 * cos(i * i);
      state.v[i] = sin(i + 1.0);
    }
    vin_derivative_check check;
    vin_status status = vin_system_check(x->system, 0.3, state.p, state.v, 0, &check);
    cr_expect_eq(status, VIN_OK, "problem %zu: %s", k, check.text);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}
