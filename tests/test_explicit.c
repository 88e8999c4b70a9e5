/* collatz and dopri5: orders, work, dense output, projection policy. */
#include "linsys/linsys.h"
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(explicit);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

typedef struct study {
  const char *name;
  test_mechanism *(*problem)(void);
  const char *file;
  double scale, t_end; /* scale: lambda of vincula / lambda of the file */
  long collatz, dopri5;
} study;

static test_mechanism *chain10(void) {
  return test_chain(10, 1, 1);
}

/* Coarsest of three runs each. */
static const study studies[] = {
    {"planar", test_planar_pendulum, "hamiltonian/planar_pendulum.csv", 2, 1, 50, 10},
    {"planar", test_planar_pendulum, "hamiltonian/planar_pendulum.csv", 2, 10, 1000, 200},
    {"spherical", test_spherical_pendulum, "hamiltonian/spherical_pendulum.csv", 2, 10, 1000, 100},
    {"modified", test_modified_pendulum, "hamiltonian/modified_pendulum.csv", 1, 1, 200, 30},
    {"triangle", test_triangle, "hamiltonian/tethered_triangle.csv", 2, 10, 400, 100},
    {"chain of 10", chain10, "hamiltonian/chain_N10_unitlinks.csv", 2, 1, 400, 100},
};
enum { STUDIES = sizeof studies / sizeof *studies };

/* Largest errors of p and v, and of lambda. */
static void errors(const study *s, vin_method method, long steps, double *state, double *lambda) {
  test_mechanism *x = built(s->problem());
  int n = (int)x->n, m = (int)x->m;
  double *row = calloc((size_t)(2 * n + m), sizeof *row);
  test_reference(s->file, s->t_end, 2 * n + m, row);
  vin_options options = test_method(method, VIN_PROJECTION_BOTH);
  vin_state end = test_run(x, &options, s->t_end, steps);
  *state = fmax(test_max_difference(x->n, end.p, row), test_max_difference(x->n, end.v, row + n));
  *lambda = 0;
  for (int c = 0; c < m; c++)
    *lambda = fmax(*lambda, fabs(end.lambda[c] - s->scale * row[2 * n + c]));
  free(row);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* Against references of 15 and more digits. The next term of the error is a fraction h of the first,
 * hence the margin. The multiplier may do better: collatz has 3 on the triangle. */
static void check_orders(vin_method method, double order, double margin) {
  for (int k = 0; k < STUDIES; k++) {
    long steps = method == VIN_METHOD_COLLATZ ? studies[k].collatz : studies[k].dopri5;
    double last[2] = {0, 0}, error[2];
    for (int run = 0; run < 3; run++, steps *= 2) {
      errors(&studies[k], method, steps, &error[0], &error[1]);
      for (int kind = 0; kind < 2 && run > 0; kind++) {
        double observed = log2(last[kind] / error[kind]);
        double above = kind == 0 ? margin : 1.3;
        cr_expect(observed >= order - margin && observed <= order + above,
                  "%s to t = %g, %s, %ld steps, %s: %.3f (%g)", studies[k].name, studies[k].t_end,
                  vin_method_name(method), steps, kind == 0 ? "p, v" : "lambda", observed,
                  error[kind]);
      }
      memcpy(last, error, sizeof last);
    }
  }
}

Test(explicit, collatz_has_order_2) {
  check_orders(VIN_METHOD_COLLATZ, 2, 0.3);
}

Test(explicit, dopri5_has_order_5) {
  check_orders(VIN_METHOD_DOPRI5, 5, 0.5);
}

/* The references have 15 digits; dopri5 reaches 1e-12 of them where its rounding allows. */
Test(explicit, dopri5_reaches_the_references) {
  static const long steps[STUDIES] = {1000, 10000, 5000, 4000, 6000, 6000};
  for (int k = 0; k < STUDIES; k++) {
    double state, lambda;
    errors(&studies[k], VIN_METHOD_DOPRI5, steps[k], &state, &lambda);
    cr_expect_leq(state, 1e-12, "%s to t = %g: %g", studies[k].name, studies[k].t_end, state);
  }
}

/* ---- drift ----------------------------------------------------------------------------------------- */

/* Section 8.3 of the source: a defect e of the acceleration gives r_v = r_v(0) - e t and r_p = r_p(0) +
 * r_v(0) t - e t^2/2: linear in the velocity-level, quadratic in the position-level invariant. The methods'
 * own drift, C h^q t^2, is below the tolerances with these steps. */
Test(explicit, drift_of_a_defect) {
  static const struct {
    vin_method method;
    long steps; /* per second */
    double tolerance;
  } cases[] = {{VIN_METHOD_COLLATZ, 20000, 1e-7}, {VIN_METHOD_DOPRI5, 500, 1e-10}};
  double rate = 1e-5, e = 1e-4;
  test_mechanism *x = built(test_pendulum(0.5, 0));
  for (int i = 0; i < 2; i++) x->v[i] += rate * x->p[i];
  x->curvature_error = e;
  for (int k = 0; k < 2; k++) {
    for (int t = 1; t <= 4; t++) {
      vin_options options = test_method(cases[k].method, VIN_PROJECTION_NONE);
      vin_state end = test_run(x, &options, t, cases[k].steps * t);
      cr_expect_float_eq(test_hidden_max(x, t, end.p, end.v), fabs(rate - e * t),
                         cases[k].tolerance, "%s", vin_method_name(cases[k].method));
      cr_expect_float_eq(test_constraint_max(x, t, end.p), fabs(rate * t - e * t * t / 2),
                         cases[k].tolerance, "%s", vin_method_name(cases[k].method));
      test_state_free(&end);
    }
  }
  test_mechanism_free(x);
}

/* Local errors of steady motion act like such a defect: from t = 20 to 40 on the spherical pendulum, whose
 * motion is steady, h doubles and Phi grows fourfold; with the positions projected h doubles still. */
Test(explicit, drift_of_local_errors) {
  for (int projection = 0; projection < 2; projection++) {
    test_mechanism *x = built(test_spherical_pendulum());
    vin_options options = test_method(VIN_METHOD_RK4, (vin_projection)projection);
    double phi[2], h[2];
    for (int run = 0; run < 2; run++) {
      double t = 20 * (run + 1);
      vin_state end = test_run(x, &options, t, lround(t / 0.01));
      phi[run] = test_constraint_max(x, t, end.p);
      h[run] = test_hidden_max(x, t, end.p, end.v);
      test_state_free(&end);
    }
    if (projection == VIN_PROJECTION_NONE)
      cr_expect_float_eq(phi[1] / phi[0], 4, 0.4, "Phi %g, %g", phi[0], phi[1]);
    cr_expect_float_eq(h[1] / h[0], 2, 0.2, "%s: h %g, %g",
                       vin_projection_name((vin_projection)projection), h[0], h[1]);
    test_mechanism_free(x);
  }
}

/* ---- what every method owes its caller ---------------------------------------------------------- */

static const vin_method owed[] = {VIN_METHOD_COLLATZ, VIN_METHOD_DOPRI5,
                                  VIN_METHOD_PARTITION_COLLATZ, VIN_METHOD_PARTITION_RK4};
enum { OWED = sizeof owed / sizeof *owed };

static bool in_this_build(vin_method method) {
  bool partition = method == VIN_METHOD_PARTITION_COLLATZ || method == VIN_METHOD_PARTITION_RK4;
  return !partition || (vini_rank_available() && vin_solver_available(VIN_SOLVER_UMFPACK));
}

/* Whatever the caller had in lambda, the first step ends with the multiplier of its end (field report
 * 27): the tension m (v^2/L + g cos(angle)) of Newton's law. */
Test(explicit, multipliers_are_consistent_from_the_start) {
  double angle = 0.7, rate = 2, tension = rate * rate + 9.81 * cos(angle);
  test_mechanism *x = built(test_pendulum(angle, rate));
  for (int k = 0; k < OWED; k++) {
    if (!in_this_build(owed[k])) continue;
    vin_options options = test_method(owed[k], VIN_PROJECTION_BOTH);
    vin_state end = test_run(x, &options, 1e-5, 1); /* lambda' h = 2e-4 at most */
    cr_expect_float_eq(end.lambda[0], tension, 5e-4, "%s", vin_method_name(owed[k]));
    test_state_free(&end);
  }
  test_mechanism_free(x);
}

/* A step reads its start only, gives the same bits in another object, and the same as a fresh start but for
 * the rounding of a factorisation that was or was not made anew. */
Test(explicit, steps_are_pure_and_reproducible) {
  for (int k = 0; k < OWED; k++) {
    if (!in_this_build(owed[k])) continue;
    test_mechanism *x = built(test_chain(10, 1, 1));
    vin_options options = test_method(owed[k], VIN_PROJECTION_BOTH);
    vin_integrator *a = test_integrator(x, &options), *b = test_integrator(x, &options);
    vin_state from = test_state(x), kept = test_state(x), to = test_state(x), other = test_state(x);
    for (int step = 0; step < 20; step++) {
      vin_integrator *anew = test_integrator(x, &options);
      test_state_copy(x, &kept, &from);
      cr_assert_eq(vin_integrator_step(a, &from, 1e-2, &to), VIN_OK);
      cr_assert(test_state_same(x, &from, &kept), "%s writes its start", vin_method_name(owed[k]));
      cr_assert_eq(vin_integrator_step(b, &from, 1e-2, &other), VIN_OK);
      cr_assert(test_state_same(x, &to, &other), "%s, step %d", vin_method_name(owed[k]), step);
      cr_assert_eq(vin_integrator_step(anew, &from, 1e-2, &other), VIN_OK);
      bool partition = owed[k] >= VIN_METHOD_PARTITION_COLLATZ;
      /* with other independent coordinates a step differs by its local error, (0.01)^3 times a rate */
      cr_assert_leq(test_max_difference(x->n, to.p, other.p), partition ? 1e-4 : 1e-12);
      vin_integrator_destroy(anew);
      test_state_copy(x, &from, &to);
    }
    vin_integrator_destroy(a), vin_integrator_destroy(b);
    test_state_free(&from), test_state_free(&kept), test_state_free(&to), test_state_free(&other);
    test_mechanism_free(x);
  }
}

/* Field report 39: at each force evaluation of four steps in turn a callback that fails, asks for a smaller
 * step or returns NaN: the status says which, the start (lambda too) is untouched to the last bit, and the
 * run goes on to the result of an undisturbed one. */
static void disturb(test_mechanism *x, const vin_options *options, long k, int code,
                    vin_status wanted, const vin_state *undisturbed, int *failures) {
  vin_integrator *integrator = test_integrator(x, options);
  vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
  *failures = 0;
  x->calls = 0, x->fail_call = k, x->fail_code = code;
  for (int step = 0; step < 4; step++) {
    test_state_copy(x, &kept, &from);
    vin_status status = vin_integrator_step(integrator, &from, 0.05, &to);
    if (status != VIN_OK) {
      ++*failures;
      cr_assert_eq(status, wanted, "%s", vin_integrator_error(integrator));
      cr_assert_not_null(strstr(vin_integrator_error(integrator), "force"));
      cr_assert(test_state_same(x, &from, &kept));
      cr_assert_eq(vin_integrator_step(integrator, &from, 0.05, &to), VIN_OK);
    }
    test_state_copy(x, &from, &to);
  }
  cr_assert_leq(test_max_difference(x->n, from.p, undisturbed->p), 1e-11);
  vin_integrator_destroy(integrator);
  test_state_free(&from), test_state_free(&kept), test_state_free(&to);
}

Test(explicit, failing_force_at_every_call) {
  static const struct {
    int code;
    vin_status status;
  } kinds[] = {{-7, VIN_ERR_CALLBACK}, {3, VIN_RETRY}, {0, VIN_RETRY}};
  for (int i = 0; i < OWED; i++) {
    if (!in_this_build(owed[i])) continue;
    test_mechanism *x = built(test_triangle());
    vin_options options = test_method(owed[i], VIN_PROJECTION_BOTH);
    vin_state undisturbed = test_run(x, &options, 0.2, 4);
    for (int kind = 0; kind < 3; kind++) {
      for (long k = 1;; k++) {
        int failures = 0;
        disturb(x, &options, k, kinds[kind].code, kinds[kind].status, &undisturbed, &failures);
        if (x->calls < k) break; /* the k-th call was never made */
        cr_assert_eq(failures, 1, "call %ld of %s", k, vin_method_name(owed[i]));
      }
    }
    x->fail_call = 0;
    test_state_free(&undisturbed);
    test_mechanism_free(x);
  }
}

/* Field report 38 for these methods, and 41: with a budget of few Newton steps a step that is too long must
 * fail; none is called done with open constraints. */
Test(explicit, no_step_is_done_with_open_constraints) {
  for (int k = 0; k < OWED; k++) {
    if (!in_this_build(owed[k])) continue;
    int done = 0, failed = 0;
    for (int sweeps = 1; sweeps <= 8; sweeps++) {
      for (double h = 1e-3; h < 30; h *= 1.7) {
        test_mechanism *x = built(test_pendulum(0.3, 8));
        vin_options options = test_method(owed[k], VIN_PROJECTION_BOTH);
        options.max_sweeps = sweeps;
        vin_integrator *integrator = test_integrator(x, &options);
        vin_state from = test_state(x), kept = test_state(x), to = test_state(x);
        vin_status status = vin_integrator_step(integrator, &from, h, &to);
        cr_assert(status == VIN_OK || status == VIN_STEP_FAILED, "%s: %s", vin_method_name(owed[k]),
                  vin_integrator_error(integrator));
        done += status == VIN_OK, failed += status != VIN_OK;
        if (status == VIN_OK) {
          cr_expect_leq(test_constraint_max(x, h, to.p), 1e-12);
          cr_expect_leq(test_hidden_max(x, h, to.p, to.v),
                        1e-12 * fmax(1, test_max_abs(x->n, to.v)));
        }
        cr_expect(test_state_same(x, &from, &kept));
        vin_integrator_destroy(integrator);
        test_state_free(&from), test_state_free(&kept), test_state_free(&to);
        test_mechanism_free(x);
      }
    }
    cr_expect(done > 0 && failed > 0, "%s: %d done, %d failed", vin_method_name(owed[k]), done,
              failed);
  }
}

/* Where one uses another's step in a time far from zero, an autonomous system gives the same bits. */
Test(explicit, a_shift_of_time_changes_no_bit) {
  test_mechanism *x = built(test_chain(5, 1, 1));
  for (int k = 0; k < OWED; k++) {
    if (!in_this_build(owed[k])) continue;
    vin_options options = test_method(owed[k], VIN_PROJECTION_BOTH);
    vin_integrator *now = test_integrator(x, &options), *then = test_integrator(x, &options);
    vin_state a = test_state(x), b = test_state(x);
    b.t = 1e7;
    for (int step = 0; step < 20; step++) {
      cr_assert_eq(test_advance(now, x, &a, 0.01, 1), VIN_OK);
      cr_assert_eq(test_advance(then, x, &b, 0.01, 1), VIN_OK);
      cr_assert_eq(memcmp(a.p, b.p, (size_t)x->n * sizeof(double)), 0, "%s",
                   vin_method_name(owed[k]));
      cr_assert_eq(memcmp(a.v, b.v, (size_t)x->n * sizeof(double)), 0, "%s",
                   vin_method_name(owed[k]));
    }
    vin_integrator_destroy(now), vin_integrator_destroy(then);
    test_state_free(&a), test_state_free(&b);
  }
  test_mechanism_free(x);
}

/* Every solver leads to the same motion: their rounding grows by the chain's sensitivity only. */
Test(explicit, under_every_solver) {
  static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  test_mechanism *x = built(test_chain(10, 1, 1));
  for (int k = 0; k < 2; k++) {
    vin_options options = test_method(owed[k], VIN_PROJECTION_BOTH);
    vin_state wanted = test_run(x, &options, 0.5, 100);
    for (int i = 0; i < 3; i++) {
      if (!vin_solver_available(solvers[i])) continue;
      options.solver = solvers[i];
      vin_state end = test_run(x, &options, 0.5, 100);
      cr_expect_leq(test_max_difference(x->n, end.p, wanted.p), 1e-11, "%s, %s",
                    vin_method_name(owed[k]), vin_solver_name(solvers[i]));
      test_state_free(&end);
    }
    test_state_free(&wanted);
  }
  test_mechanism_free(x);
}

/* A mass matrix that is not declared constant gives the same motion. */
Test(explicit, varying_mass) {
  test_mechanism *constant = built(test_pendulum(0.5, 0)), *varying = test_pendulum(0.5, 0);
  varying->mass_varies = true;
  test_mechanism_build(varying, NULL);
  for (int k = 0; k < OWED; k++) {
    if (!in_this_build(owed[k])) continue;
    vin_options options = test_method(owed[k], VIN_PROJECTION_BOTH);
    vin_state one = test_run(constant, &options, 1, 100), two = test_run(varying, &options, 1, 100);
    cr_expect_leq(test_max_difference(constant->n, one.p, two.p), 1e-13, "%s",
                  vin_method_name(owed[k]));
    test_state_free(&one), test_state_free(&two);
  }
  test_mechanism_free(constant), test_mechanism_free(varying);
}
