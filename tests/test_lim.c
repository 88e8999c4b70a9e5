/* Line-integral methods with polynomial multipliers: orders, output, what is kept between steps, light
 * directions, bad input, failures. */
#include "line_integral_support.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lim);

/* ---- orders ------------------------------------------------------------------------------------
 */

typedef struct errors {
  double q, v, lambda, raw_v, raw_lambda, hidden;
} errors;

/* At t, against the reference's multipliers for |d|^2 - L^2. */
static errors measure(test_mechanism *(*make)(void), const char *file, int s, int r, double t,
                      long steps) {
  errors e = {0};
  test_mechanism *x = make();
  x->form = TEST_SQUARE;
  test_line_built(x);
  double row[16];
  test_reference(file, t, 2 * x->n + x->m, row);
  for (int projected = 0; projected < 2; projected++) {
    vin_options options = test_line_options(2 * s, s, r);
    options.project_output = projected;
    vin_state end = test_run(x, &options, t, steps);
    double lambda = test_max_difference(x->m, end.lambda, row + 2 * x->n);
    *(projected ? &e.q : &e.hidden) = test_max_difference(x->n, end.p, row);
    *(projected ? &e.v : &e.raw_v) = test_max_difference(x->n, end.v, row + x->n);
    *(projected ? &e.lambda : &e.raw_lambda) = lambda;
    if (!projected) e.hidden = test_hidden_max(x, end.t, end.p, end.v);
    if (projected) cr_expect_leq(test_hidden_max(x, end.t, end.p, end.v), 1e-14);
    test_state_free(&end);
  }
  test_mechanism_free(x);
  return e;
}

/* q, projected v, lambda: min(2 s, 4 ceil(r/2)); raw v and hidden constraint r + 1, the multiplier polynomial's
 * end r. Fine steps reach 1e-11 to 1e-13; orders to 0.35, as the coarse ones are not asymptotic. */
Test(lim, orders_on_the_spherical_pendulum) {
  static const struct {
    int s, r, order;
    long steps;
  } cases[] = {{1, 1, 2, 400}, {2, 1, 4, 200}, {3, 1, 4, 200},
               {3, 3, 6, 20},  {4, 3, 8, 8},   {5, 5, 10, 2}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int s = cases[k].s, r = cases[k].r;
    errors a = measure(test_spherical_pendulum, "hamiltonian/spherical_pendulum.csv", s, r, 1,
                       cases[k].steps);
    errors b = measure(test_spherical_pendulum, "hamiltonian/spherical_pendulum.csv", s, r, 1,
                       2 * cases[k].steps);
    double low = cases[k].order - 0.35;
    cr_expect_geq(log2(a.q / b.q), low, "(%d,%d): q %g, %g", s, r, a.q, b.q);
    cr_expect_geq(log2(a.v / b.v), low, "(%d,%d): v %g, %g", s, r, a.v, b.v);
    cr_expect_geq(log2(a.lambda / b.lambda), low, "(%d,%d): %g, %g", s, r, a.lambda, b.lambda);
    cr_expect_geq(log2(a.raw_v / b.raw_v), r + 1 - 0.35, "(%d,%d): %g, %g", s, r, a.raw_v, b.raw_v);
    cr_expect_geq(log2(a.hidden / b.hidden), r + 1 - 0.35, "(%d,%d)", s, r);
    cr_expect_geq(log2(a.raw_lambda / b.raw_lambda), r - 0.35, "(%d,%d)", s, r);
  }
}

/* Against all references in tests/reference/hamiltonian, to 1e-12. */
Test(lim, reaches_the_references) {
  errors e = measure(test_planar_pendulum, "hamiltonian/planar_pendulum.csv", 4, 3, 10, 400);
  cr_expect_leq(fmax(e.q, fmax(e.v, e.lambda)), 1e-12, "%g %g %g", e.q, e.v, e.lambda);
  e = measure(test_spherical_pendulum, "hamiltonian/spherical_pendulum.csv", 5, 5, 10, 200);
  cr_expect_leq(fmax(e.q, fmax(e.v, e.lambda)), 1e-12, "%g %g %g", e.q, e.v, e.lambda);
  double row[64];
  test_mechanism *modified = test_modified_pendulum(), *chain = test_chain(10, 0.1, 0.1);
  test_mechanism_build(modified, NULL);
  test_reference("hamiltonian/modified_pendulum.csv", 10, 7, row);
  vin_options options = test_line_options(12, 5, 5);
  options.project_output = 1;
  vin_state end = test_run(modified, &options, 10, 1000);
  cr_expect_leq(test_max_difference(3, end.p, row), 1e-12, "%g",
                test_max_difference(3, end.p, row));
  cr_expect_leq(test_max_difference(3, end.v, row + 3), 1e-12);
  cr_expect_leq(fabs(end.lambda[0] - row[6]), 1e-11);
  test_state_free(&end);
  chain->form = TEST_SQUARE;
  test_line_built(chain);
  test_reference("hamiltonian/chain_N10_unitlength.csv", 1, 50, row);
  options.nodes = 5;
  end = test_run(chain, &options, 1, 2000); /* chaotic: rounding grows by e^(10 t) or so */
  cr_expect_leq(test_max_difference(20, end.p, row), 1e-11, "%g",
                test_max_difference(20, end.p, row));
  cr_expect_leq(test_max_difference(20, end.v, row + 20), 1e-9);
  test_state_free(&end);
  test_mechanism_free(modified), test_mechanism_free(chain);
}

/* r = 1 is hbvm, bit for bit. */
Test(lim, one_term_is_hbvm) {
  test_mechanism *x = test_line_built(test_triangle());
  vin_options options = test_line_options(6, 2, 1), hbvm = test_line_options(6, 2, 0);
  vin_state a = test_run(x, &options, 10, 100), b = test_run(x, &hbvm, 10, 100);
  cr_expect(test_state_same(x, &a, &b));
  test_state_free(&a), test_state_free(&b);
  test_mechanism_free(x);
}

/* ---- what is kept between steps ----------------------------------------------------------------
 */

/* A projected output is not fed back: the positions are those of the raw run, but for the rounding of a
 * factorisation that is made with another velocity at hand. */
Test(lim, projected_output_is_not_fed_back) {
  test_mechanism *x = test_line_built(test_spherical_pendulum());
  vin_options options = test_line_options(0, 2, 1);
  vin_state raw = test_run(x, &options, 10, 100);
  options.project_output = 1;
  vin_state projected = test_run(x, &options, 10, 100);
  cr_expect_leq(test_max_difference(3, raw.p, projected.p), 1e-14);
  cr_expect_gt(test_max_difference(3, raw.v, projected.v), 1e-5);
  cr_expect_leq(test_hidden_max(x, 10, projected.p, projected.v), 1e-15);
  test_state_free(&raw), test_state_free(&projected);
  test_mechanism_free(x);
}

/* A step that fails leaves everything as it was: a run with failures in between ends with the same bits.
 * Too long a step, a NaN of the force, a callback's refusal. */
Test(lim, failed_steps_leave_no_trace) {
  test_mechanism *x = test_line_built(test_chain(5, 1, 1));
  for (int projected = 0; projected < 2; projected++) {
    vin_options options = test_line_options(0, 3, 3);
    options.project_output = projected;
    vin_integrator *disturbed = test_integrator(x, &options);
    vin_state a = test_state(x), kept = test_state(x), to = test_state(x);
    for (int k = 0; k < 100; k++) {
      if (k % 10 == 3) {
        test_state_copy(x, &kept, &a);
        cr_assert_eq(vin_integrator_step(disturbed, &a, 10, &to), VIN_STEP_FAILED);
        x->fail_call = x->calls + 4, x->fail_code = k % 20 == 3 ? 0 : 1;
        cr_assert_eq(vin_integrator_step(disturbed, &a, 0.01, &to), VIN_RETRY);
        x->fail_call = 0;
        cr_assert(test_state_same(x, &a, &kept));
      }
      cr_assert_eq(test_advance(disturbed, x, &a, 0.01, 1), VIN_OK);
    }
    vin_state b = test_run(x, &options, 1, 100);
    cr_expect_eq(memcmp(a.p, b.p, (size_t)x->n * sizeof(double)), 0);
    cr_expect_eq(memcmp(a.v, b.v, (size_t)x->n * sizeof(double)), 0);
    vin_integrator_destroy(disturbed);
    test_state_free(&a), test_state_free(&b), test_state_free(&kept), test_state_free(&to);
  }
  test_mechanism_free(x);
}

/* The caller that halves: from A the step fails, A -> B succeeds, B -> C fails, back to A. The raw velocity
 * at A is still known: the run goes on as one that took the short steps at once (the first guesses differ,
 * hence rounding). Lost, it would differ by the projection, 1e-5. */
Test(lim, retries_come_back_to_an_earlier_state) {
  test_mechanism *x = test_line_built(test_spherical_pendulum());
  vin_options options = test_line_options(0, 2, 1);
  options.project_output = 1;
  vin_state end[2], b = test_state(x), to = test_state(x);
  for (int k = 0; k < 2; k++) {
    vin_integrator *integrator = test_integrator(x, &options);
    end[k] = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &end[k], 0.1, 7), VIN_OK);
    if (k == 1) {
      x->fail_call = x->calls + 3, x->fail_code = 1;
      cr_assert_eq(vin_integrator_step(integrator, &end[k], 0.1, &to), VIN_RETRY);
      cr_assert_eq(vin_integrator_step(integrator, &end[k], 0.05, &b), VIN_OK);
      x->fail_call = x->calls + 3;
      cr_assert_eq(vin_integrator_step(integrator, &b, 0.05, &to), VIN_RETRY);
      x->fail_call = 0;
    }
    cr_assert_eq(test_advance(integrator, x, &end[k], 0.025, 4), VIN_OK);
    vin_integrator_destroy(integrator);
  }
  cr_expect_leq(test_max_difference(3, end[0].p, end[1].p), 1e-15);
  cr_expect_leq(test_max_difference(3, end[0].v, end[1].v), 1e-14);
  test_state_free(&end[0]), test_state_free(&end[1]), test_state_free(&b), test_state_free(&to);
  test_mechanism_free(x);
}

/* Steps of any length and sign in turn: as with a new object for each, to rounding of g over h. */
Test(lim, step_length_may_change) {
  static const double steps[] = {1e-2, 1e-2, 2e-3, 2e-3, 3e-2, 1e-4, -1e-2, 1e-2, 5e-3};
  test_mechanism *x = test_line_built(test_chain(10, 1, 1));
  vin_options options = test_line_options(0, 3, 3);
  vin_integrator *going = test_integrator(x, &options);
  vin_state from = test_state(x), to = test_state(x), fresh = test_state(x);
  for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
    vin_integrator *anew = test_integrator(x, &options);
    cr_assert_eq(vin_integrator_step(going, &from, steps[k], &to), VIN_OK, "step %zu: %s", k,
                 vin_integrator_error(going));
    cr_assert_eq(vin_integrator_step(anew, &from, steps[k], &fresh), VIN_OK);
    cr_expect_leq(test_max_difference(x->n, to.p, fresh.p), 1e-13, "step %zu", k);
    cr_expect_leq(test_max_difference(x->n, to.v, fresh.v), 1e-10, "step %zu", k);
    vin_integrator_destroy(anew);
    test_state_copy(x, &from, &to);
  }
  vin_integrator_destroy(going);
  test_state_free(&from), test_state_free(&to), test_state_free(&fresh);
  test_mechanism_free(x);
}

/* A factorisation that is kept: the same results as with one a step, and far fewer of them. */
Test(lim, keeps_factorisations_on_request) {
  test_mechanism *x = test_line_built(test_triangle());
  vin_state end[2];
  for (int k = 0; k < 2; k++) {
    vin_options options = test_line_options(0, 3, 3);
    options.projector.kkt.reuse = k == 0 ? VIN_REUSE_NEVER : VIN_REUSE_ALWAYS;
    vin_integrator *integrator = test_integrator(x, &options);
    end[k] = test_state(x);
    cr_assert_eq(test_advance(integrator, x, &end[k], 0.01, 1000), VIN_OK);
    vin_stats stats = vin_integrator_get_stats(integrator);
    if (k == 0) cr_expect_eq(stats.solver.numeric, 1000);
    if (k == 1) cr_expect_leq(stats.solver.numeric, 100, "%d", (int)stats.solver.numeric);
    vin_integrator_destroy(integrator);
  }
  cr_expect_leq(test_max_difference(x->n, end[0].p, end[1].p), 1e-12);
  test_state_free(&end[0]), test_state_free(&end[1]);
  test_mechanism_free(x);
}

/* ---- a direction without mass ------------------------------------------------------------------
 */

/* A pendulum in (x, y) and a coordinate z without mass, on which a force -1 acts, tied to z = x^2: the same as
 * a pendulum with the potential y + x^2. */
static int tied_mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)t, (void)p, (void)v;
  values[0] = values[1] = 1, values[2] = *(double *)user;
  return 0;
}
static int tied_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)p, (void)v;
  f[0] = 0, f[1] = f[2] = -1;
  return 0;
}
static int tied_constraint(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  phi[0] = p[0] * p[0] + p[1] * p[1] - 1;
  phi[1] = p[2] - p[0] * p[0];
  return 0;
}
static int tied_jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t;
  values[0] = 2 * p[0], values[1] = 2 * p[1], values[2] = 1, values[3] = -2 * p[0];
  return 0;
}
/* z without mass and without constraint: the saddle point is singular. */
static int loose_jacobian(void *user, double t, const double *p, double *values) {
  tied_jacobian(user, t, p, values);
  values[2] = 0;
  return 0;
}
static int sloped_force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)v;
  f[0] = -2 * p[0], f[1] = -1;
  return 0;
}

static vin_system *tied_system(double *mass, bool loose) {
  static const vin_int diagonal[3] = {0, 1, 2}, row[4] = {0, 0, 1, 1}, col[4] = {0, 1, 2, 0};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 3, desc.constraints = 2;
  desc.flags =
      VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_FORCE_VELOCITY_FREE | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){3, diagonal, diagonal};
  desc.jacobian_pattern = (vin_triplets){4, row, col};
  desc.mass = tied_mass, desc.force = tied_force;
  desc.constraint = tied_constraint, desc.jacobian = loose ? loose_jacobian : tied_jacobian;
  desc.user = mass;
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
  return system;
}

Test(lim, direction_without_mass) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) cr_skip_test("a singular M needs pivoting");
  test_mechanism *plain = test_planar_pendulum();
  plain->form = TEST_SQUARE, plain->force = sloped_force;
  test_line_built(plain);
  vin_options options = test_line_options(0, 3, 3);
  options.project_output = 1;
  vin_state reference = test_run(plain, &options, 5, 200);
  double mass = 0, p[2][3] = {{0, -1, 0}}, v[2][3] = {{1, 0, 0}}, lambda[2][2];
  vin_system *system = tied_system(&mass, false);
  for (int r = 3; r >= 1; r -= 2) {
    options.multiplier_terms = r;
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, NULL, system, &options), VIN_OK);
    vin_state a = {0, p[0], v[0], lambda[0]}, b = {0, p[1], v[1], lambda[1]};
    vin_status status = VIN_OK;
    for (int k = 0; k < 200 && status == VIN_OK; k++) {
      status = vin_integrator_step(integrator, &a, 5.0 / 200, &b);
      vin_state kept = a;
      a = b, b = kept;
    }
    if (r == 3) {
      cr_assert_eq(status, VIN_OK, "%s", vin_integrator_error(integrator));
      /* the same order 6, not the same error: its constraint z = x^2 holds at the ends only */
      cr_expect_leq(test_max_difference(2, a.p, reference.p), 1e-9);
      cr_expect_float_eq(a.p[2], a.p[0] * a.p[0], 1e-15);
      cr_expect_float_eq(a.lambda[1], -1, 1e-11);
    } else { /* the refusal says what to do */
      cr_expect_eq(status, VIN_ERR_UNSUPPORTED);
      cr_expect_not_null(strstr(vin_integrator_error(integrator), "multiplier_terms"), "%s",
                         vin_integrator_error(integrator));
    }
    vin_integrator_destroy(integrator);
  }
  vin_system_destroy(system);
  test_state_free(&reference);
  test_mechanism_free(plain);
}

Test(lim, singular_matrix) {
  double mass = 0, p[2][3] = {{0, -1, 0}}, v[2][3] = {{1, 0, 0}}, lambda[2][2];
  vin_system *system = tied_system(&mass, true);
  for (int project = 0; project < 2; project++) {
    vin_options options = test_line_options(0, 3, 3);
    options.project_output = project;
    vin_integrator *integrator = NULL;
    cr_assert_eq(vin_integrator_create(&integrator, NULL, system, &options), VIN_OK);
    vin_state from = {0, p[0], v[0], lambda[0]}, to = {0, p[1], v[1], lambda[1]};
    vin_status status = vin_integrator_step(integrator, &from, 0.01, &to);
    cr_expect_eq(status, VIN_STEP_FAILED, "%s", vin_status_name(status));
    /* without UMFPACK it is ldlt that explains */
    const char *word = vin_solver_available(VIN_SOLVER_UMFPACK) ? "singular" : "pivot";
    cr_expect_not_null(strstr(vin_integrator_error(integrator), word), "%s",
                       vin_integrator_error(integrator));
    cr_expect(p[0][1] == -1 && v[0][0] == 1);
    vin_integrator_destroy(integrator);
  }
  vin_system_destroy(system);
}
