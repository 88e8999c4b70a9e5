/* Consistent initial values with fixed data, and their verification. */
#include "problems.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(initial);

static vin_projector *projector_of(vin_system *system, const vin_projection_options *options) {
  vin_projector *projector = NULL;
  vin_status status = vin_projector_create(&projector, NULL, system, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
  return projector;
}

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

/* ---- fixed data --------------------------------------------------------------------------- */

/* A double pendulum whose first point is given: it stays bit for bit, the second moves to the nearest
 * point of its circle, which is along the line; both ways to satisfy two levels, each metric. */
Test(initial, fixed_positions) {
  for (int kind = 0; kind < 6; kind++) {
    test_mechanism *x = built(test_chain(2, 1, 1));
    vin_projection_options options = vin_projection_options_default();
    static const double weights[4] = {1, 2, 3, 3};
    options.metric = (vin_metric)(kind % 3);
    options.weights = weights;
    options.coupling = (vin_coupling)(kind / 3);
    vin_projector *projector = projector_of(x->system, &options);
    static const unsigned char fixed[4] = {1, 1, 0, 0};
    vin_initial_options initial = vin_initial_options_default();
    initial.fixed_positions = fixed;
    double p[4] = {0.6, -0.8, 0.6 + 1.1 * 0.8, -0.8 - 1.1 * 0.6}, v[4] = {0}, vdot[4], lambda[2];
    vin_initial_report report;
    vin_status status = vin_initial_state(projector, &initial, 0, p, v, vdot, lambda, &report);
    cr_assert_eq(status, VIN_OK, "%d: %s", kind, vin_projector_error(projector));
    cr_expect(p[0] == 0.6 && p[1] == -0.8);
    cr_expect_float_eq(p[2], 1.4, 1e-12, "%d: %.15g", kind, p[2]);
    cr_expect_float_eq(p[3], -1.4, 1e-12);
    cr_expect_eq(report.free_positions, 2);
    cr_expect_eq(report.free_velocities, 4);
    cr_expect_float_eq(report.projection.position_correction, 0.08, 1e-12);
    /* 0.1 m with the weight 3 or 1 */
    cr_expect_float_eq(report.weighted_correction, 0.1 * (kind % 3 == 2 ? sqrt(3) : 1), 1e-10);
    cr_expect(report.accepted, "%d: %s", kind, report.reason);
    vin_projector_destroy(projector);
    test_mechanism_free(x);
  }
}

/* The speed of the second point is given: the first takes all of the correction, on the line of the
 * rods that is the closing speed. */
Test(initial, fixed_velocities) {
  for (int coupling = 0; coupling < 2; coupling++) {
    test_mechanism *x = test_points(2, 2, 1);
    x->rod[0] = (test_rod){.a = 0, .b = 1, .length = 1};
    x->mass[1] = 3;
    test_mechanism_build(x, NULL);
    vin_projection_options options = vin_projection_options_default();
    options.coupling = (vin_coupling)coupling;
    vin_projector *projector = projector_of(x->system, &options);
    static const unsigned char fixed[4] = {0, 0, 1, 1};
    vin_initial_options initial = vin_initial_options_default();
    initial.fixed_velocities = fixed;
    double p[4] = {0, 0, 1, 0}, v[4] = {0.25, 2, 1, 5};
    vin_initial_report report;
    cr_assert_eq(vin_initial_state(projector, &initial, 0, p, v, NULL, NULL, &report), VIN_OK, "%s",
                 vin_projector_error(projector));
    cr_expect(v[2] == 1 && v[3] == 5);
    if (coupling == 0) {
      cr_expect_float_eq(v[0], 1, 1e-13);
      cr_expect_eq(v[1], 2);
    }
    cr_expect_leq(test_hidden_max(x, 0, p, v), 1e-13);
    cr_expect(report.accepted, "%s", report.reason);
    vin_projector_destroy(projector);
    test_mechanism_free(x);
  }
}

/* Both ends of a rod of 1 m are given 1.5 m apart: refused, naming the rod and the 0.5 m; the same for
 * velocities. Nothing changes. */
Test(initial, fixed_data_that_cannot_be_met) {
  for (int coupling = 0; coupling < 2; coupling++) {
    test_mechanism *x = built(test_chain(3, 1, 1));
    vin_projection_options options = vin_projection_options_default();
    options.coupling = (vin_coupling)coupling;
    vin_projector *projector = projector_of(x->system, &options);
    static const unsigned char fixed[6] = {1, 1, 1, 1, 0, 0};
    vin_initial_options initial = vin_initial_options_default();
    initial.fixed_positions = fixed;
    double p[6] = {1, 0, 2.5, 0, 3.1, 0}, v[6] = {0}, kept[6];
    memcpy(kept, p, sizeof p);
    vin_initial_report report;
    vin_status status = vin_initial_state(projector, &initial, 0, p, v, NULL, NULL, &report);
    const char *text = vin_projector_error(projector);
    cr_assert_eq(status, VIN_INFEASIBLE, "%s: %s", vin_status_name(status), text);
    cr_expect_not_null(strstr(text, "rod 1 cannot be met by the free"), "%s", text);
    cr_expect(memcmp(p, kept, sizeof p) == 0);
    initial.fixed_positions = NULL;
    initial.fixed_velocities = fixed;
    double q[6] = {1, 0, 2, 0, 3, 0}, u[6] = {0, 0, 0.7, 0, 0, 0};
    status = vin_initial_state(projector, &initial, 0, q, u, NULL, NULL, &report);
    if (coupling ==
        0) { /* coupled, the positions could turn: the velocities alone may not be at fault */
      cr_assert_eq(status, VIN_INFEASIBLE, "%s", vin_status_name(status));
      cr_expect_not_null(strstr(vin_projector_error(projector), "rod 1"));
      cr_expect_not_null(strstr(vin_projector_error(projector), "free velocities"));
    }
    cr_expect(q[0] == 1 || status == VIN_OK);
    vin_projector_destroy(projector);
    test_mechanism_free(x);
  }
}

/* ---- verification ------------------------------------------------------------------------- */

/* Field report 27, reconstructed: a pivot of mass m1 slides along x, a bob of mass m2 hangs on it by a
 * rod of length 1 at the angle theta, at rest. Rows: y1 = 0 and (|d|^2 - 1) / 2, so that the second
 * multiplier is the tension m1 m2 g cos(theta) / (m1 + m2 sin(theta)^2) (cart and pendulum). */
typedef struct slider {
  double m1, m2;
} slider;

static int slider_mass(void *user, double t, const double *p, const double *v, double *values) {
  const slider *s = user;
  (void)t, (void)p, (void)v;
  values[0] = values[1] = s->m1, values[2] = values[3] = s->m2;
  return 0;
}

static int slider_force(void *user, double t, const double *p, const double *v, double *f) {
  const slider *s = user;
  (void)t, (void)p, (void)v;
  f[0] = f[2] = 0, f[1] = -9.81 * s->m1, f[3] = -9.81 * s->m2;
  return 0;
}

static int slider_constraint(void *user, double t, const double *p, double *phi) {
  double dx = p[2] - p[0], dy = p[3] - p[1];
  (void)user, (void)t;
  phi[0] = p[1], phi[1] = (dx * dx + dy * dy - 1) / 2;
  return 0;
}

static int slider_jacobian(void *user, double t, const double *p, double *values) {
  double dx = p[2] - p[0], dy = p[3] - p[1];
  (void)user, (void)t;
  values[0] = 1, values[1] = -dx, values[2] = -dy, values[3] = dx, values[4] = dy;
  return 0;
}

static vin_system *slider_system(slider *s) {
  static const vin_int diagonal[4] = {0, 1, 2, 3}, row[5] = {0, 1, 1, 1, 1},
                       col[5] = {1, 0, 1, 2, 3};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 4, desc.constraints = 2;
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){.count = 4, .row = diagonal, .col = diagonal};
  desc.jacobian_pattern = (vin_triplets){.count = 5, .row = row, .col = col};
  desc.mass = slider_mass, desc.force = slider_force;
  desc.constraint = slider_constraint, desc.jacobian = slider_jacobian;
  desc.user = s;
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, &desc), VIN_OK, "%s", vin_system_error(system));
  return system;
}

/* lambda(0) is the tension, not the 0 that was given, and the verification tells the two apart: with 0
 * the equations are off, and the forces jump in a step however short. Accelerations and multipliers
 * that satisfy the equations of motion but leave the circle are found by the level that they miss. */
Test(initial, sliding_pivot) {
  slider s = {.m1 = 1, .m2 = 1};
  vin_system *system = slider_system(&s);
  vin_projector *projector = projector_of(system, NULL);
  double angle = 0.7, p[4] = {0, 0, sin(angle), -cos(angle)}, v[4] = {0}, vdot[4], lambda[2];
  vin_initial_report report;
  cr_assert_eq(vin_initial_state(projector, NULL, 0, p, v, vdot, lambda, &report), VIN_OK);
  double tension = 9.81 * cos(angle) / (1 + sin(angle) * sin(angle));
  cr_expect_float_eq(lambda[1], tension, 1e-12);
  cr_expect_float_eq(vdot[0], tension * sin(angle), 1e-12);
  cr_expect(report.accepted, "%s", report.reason);
  cr_expect_eq(report.trial, VIN_OK);
  cr_expect_eq(report.trial_halvings, 0);
  /* O(h), with a step of 1e-4 of 0.3 s: the forces turn with the angle, and half as far in half the
   * time */
  cr_expect_lt(report.trial_change[0], 1e-3);
  cr_expect_float_eq(report.trial_change[1] / report.trial_change[0], 0.5, 0.3);

  double zero[2] = {0}, free_fall[4] = {0, -9.81, 0, -9.81};
  cr_assert_eq(vin_initial_verify(projector, NULL, 0, p, v, vdot, zero, &report), VIN_OK);
  cr_expect_not(report.accepted);
  cr_expect_gt(report.dae_relative, 0.1);
  cr_expect_gt(report.trial_change[1], 0.9 * report.trial_change[0]); /* however short */
  cr_expect_gt(report.trial_change[1], 0.1);
  cr_expect_not_null(strstr(report.reason, "do not fit"), "%s", report.reason);
  cr_assert_eq(vin_initial_verify(projector, NULL, 0, p, v, free_fall, zero, &report), VIN_OK);
  cr_expect_not(report.accepted);
  cr_expect_leq(report.dae_residual, 1e-15);
  cr_expect_float_eq(report.acceleration_residual, 9.81, 1e-12); /* of the pivot */
  cr_expect_not_null(strstr(report.reason, "accelerations leave"), "%s", report.reason);
  vin_projector_destroy(projector);
  vin_system_destroy(system);
}

/* Off each level by a known amount. */
Test(initial, residuals_of_each_level) {
  test_mechanism *x = built(test_pendulum(0.5, 1));
  vin_projector *projector = projector_of(x->system, NULL);
  double vdot[2], lambda[1], p[2], v[2], length = sqrt(test_dot(2, x->p, x->p));
  cr_assert_float_eq(length, 1, 1e-15);
  cr_assert_eq(vin_project_acceleration(projector, 0, x->p, x->v, vdot, lambda), VIN_OK);
  vin_initial_report report;
  cr_assert_eq(vin_initial_verify(projector, NULL, 0, x->p, x->v, vdot, lambda, &report), VIN_OK);
  cr_expect(report.accepted, "%s", report.reason);
  for (int i = 0; i < 2; i++) p[i] = 1.001 * x->p[i], v[i] = x->v[i] + 0.002 * x->p[i];
  cr_assert_eq(vin_initial_verify(projector, NULL, 0, p, x->v, vdot, lambda, &report), VIN_OK);
  cr_expect_not(report.accepted);
  cr_expect_not_null(strstr(report.reason, "positions"), "%s", report.reason);
  cr_expect_float_eq(report.position_residual, test_constraint_max(x, 0, p), 1e-15);
  cr_assert_eq(vin_initial_verify(projector, NULL, 0, x->p, v, vdot, lambda, &report), VIN_OK);
  cr_expect_not(report.accepted);
  cr_expect_not_null(strstr(report.reason, "velocities"), "%s", report.reason);
  cr_expect_float_eq(report.velocity_residual, test_hidden_max(x, 0, x->p, v), 1e-15);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* A rod given twice: rank by QR and by the factorisation agree, and the row is named. */
Test(initial, rank) {
  test_mechanism *x = built(test_points(2, 1, 2));
  vin_projector *projector = projector_of(x->system, NULL);
  double p[2] = {0.9, -1.2}, v[2] = {1, 2};
  vin_initial_report report;
  cr_assert_eq(vin_initial_state(projector, NULL, 0, p, v, NULL, NULL, &report), VIN_OK);
  cr_expect_eq(report.expected_rank, 1);
  cr_expect(report.rank == 1 || report.rank == -1);
  cr_expect_not_null(strstr(report.dependent_name, "rod "), "%s", report.dependent_name);
  cr_expect(report.accepted, "%s", report.reason);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* Field report 28: anchors 3 m apart, rods of 1 m: infeasible, 1 m short in all: the sum of the gaps where
 * the sum of their squares is stationary; the coupled search is content with nearly so. */
Test(initial, rods_too_short) {
  test_mechanism *x = built(test_two_rods(3));
  for (int coupling = 0; coupling < 2; coupling++) {
    vin_projection_options options = vin_projection_options_default();
    options.coupling = (vin_coupling)coupling;
    options.max_iterations = 100;
    vin_projector *projector = projector_of(x->system, &options);
    double p[2] = {1.2, 0.4}, v[2] = {0};
    vin_initial_report report;
    vin_status status = vin_initial_state(projector, NULL, 0, p, v, NULL, NULL, &report);
    cr_expect_eq(status, VIN_INFEASIBLE, "%s: %s", vin_status_name(status),
                 vin_projector_error(projector));
    double gap = report.projection.gap_sum;
    if (coupling == 0) cr_expect_float_eq(gap, 1, 1e-6, "%g", gap);
    if (coupling == 1) cr_expect(gap > 1 - 1e-6 && gap < 1.2, "%g", gap);
    cr_expect(p[0] == 1.2 && p[1] == 0.4);
    vin_projector_destroy(projector);
  }
  test_mechanism_free(x);
}

/* Field report 16: 1000 random starts of a crank rocker, positions and velocities, both ways, and with
 * the crank's end given for a third of them: consistent and accepted on all levels, or a failure that
 * leaves everything. The share of failures is bounded, so that giving up cannot pass. */
Test(initial, random_four_bars) {
  test_random random = {31};
  test_mechanism *x = built(test_four_bar(1, 3, 2.5, 3, 1));
  for (int coupling = 0; coupling < 2; coupling++) {
    vin_projection_options options = vin_projection_options_default();
    options.coupling = (vin_coupling)coupling;
    options.max_iterations = 100;
    vin_projector *projector = projector_of(x->system, &options);
    int assembled = 0;
    for (int trial = 0; trial < 1000; trial++) {
      static const unsigned char fixed[4] = {1, 1, 0, 0};
      double p[4], v[4], vdot[4], lambda[3], kept[8];
      bool given = trial % 3 == 0;
      double angle = test_random_between(&random, -3, 3);
      for (int i = 0; i < 4; i++) {
        p[i] = test_random_between(&random, -5, 5);
        v[i] = test_random_between(&random, -1, 1);
      }
      if (given) p[0] = cos(angle), p[1] = sin(angle);
      memcpy(kept, p, sizeof p);
      memcpy(kept + 4, v, sizeof v);
      vin_initial_options initial = vin_initial_options_default();
      initial.fixed_positions = given ? fixed : NULL;
      vin_initial_report report;
      vin_status status = vin_initial_state(projector, &initial, 0, p, v, vdot, lambda, &report);
      if (status == VIN_OK) {
        assembled++;
        cr_assert_leq(test_constraint_max(x, 0, p), 2e-13);
        cr_assert_leq(test_hidden_max(x, 0, p, v), 1e-12);
        if (given) cr_assert(p[0] == kept[0] && p[1] == kept[1]);
        cr_assert(report.accepted, "coupling %d, trial %d: %s", coupling, trial, report.reason);
      } else {
        cr_assert(status == VIN_INFEASIBLE || status == VIN_NOT_CONVERGED || status == VIN_SINGULAR,
                  "%s: %s", vin_status_name(status), vin_projector_error(projector));
        cr_assert(memcmp(p, kept, sizeof p) == 0 && memcmp(v, kept + 4, sizeof v) == 0);
      }
    }
    cr_expect_geq(assembled, 950, "coupling %d: %d of 1000", coupling, assembled);
    vin_projector_destroy(projector);
  }
  test_mechanism_free(x);
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* A chain of links from 1 nm to 1000 km with default tolerances: every link is met to 1e-9 of its length
 * or better, from starts a percent off. An absolute 1e-13 m would be 1e-4 of a nanometre. */
Test(initial, any_length) {
  static const double lengths[] = {1e-9, 1e-6, 1e-3, 1, 1e3, 1e6};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    for (int coupling = 0; coupling < 2; coupling++) {
      double length = lengths[k];
      test_mechanism *x = built(test_chain(5, length, 1));
      x->system->desc.flags |= VIN_CONSTRAINT_QUADRATIC;
      vin_projection_options options = vin_projection_options_default();
      options.coupling = (vin_coupling)coupling;
      vin_projector *projector = projector_of(x->system, &options);
      test_random random = {41};
      for (vin_int i = 0; i < x->n; i++) {
        x->p[i] += 0.01 * length * test_random_between(&random, -1, 1);
        x->v[i] += 0.01 * length * test_random_between(&random, -1, 1);
      }
      vin_projection_report report;
      vin_status status = vin_project_state(projector, 0, x->p, x->v, &report);
      cr_assert_eq(status, VIN_OK, "%g m: %s", length, vin_projector_error(projector));
      cr_expect_leq(test_constraint_max(x, 0, x->p), 1e-9 * length, "%g m, coupling %d: %g", length,
                    coupling, test_constraint_max(x, 0, x->p));
      vin_projector_destroy(projector);
      test_mechanism_free(x);
    }
  }
}

/* A point near the origin on a rod whose anchor is 1 m away: the positions do not know of the metre that
 * Phi is made of. Converges, without wasting iterations. */
Test(initial, hidden_lengths) {
  test_mechanism *x = test_points(2, 1, 1);
  x->rod[0].anchor[1] = 1;
  test_mechanism_build(x, NULL);
  vin_projector *projector = projector_of(x->system, NULL);
  double p[2] = {1e-6, 1e-9};
  vin_projection_report report;
  cr_assert_eq(vin_project_position(projector, 0, p, &report), VIN_OK);
  cr_expect_leq(test_constraint_max(x, 0, p), 2e-16);
  cr_expect_leq(report.iterations, 10, "%d", report.iterations);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* 10^4 links with a verification: one analysis of the projector's saddle point, and a QR of a banded
 * matrix. */
Test(initial, long_chain) {
  test_mechanism *x = built(test_chain(10000, 0.1, 1));
  vin_projector *projector = projector_of(x->system, NULL);
  vin_initial_report report;
  cr_assert_eq(vin_initial_state(projector, NULL, 0, x->p, x->v, NULL, NULL, &report), VIN_OK, "%s",
               vin_projector_error(projector));
  cr_expect(report.accepted, "%s", report.reason);
  cr_expect_eq(report.expected_rank, 10000);
  cr_expect(report.rank == 10000 || report.rank == -1);
  cr_expect_eq(vin_projector_get_stats(projector).symbolic, 1);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}
