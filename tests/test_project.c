/* Projections: nearest points, infeasible and redundant constraints, reports. */
#include "problems.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(project);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

static vin_projector *projector_of(const test_mechanism *x, const vin_projection_options *options) {
  vin_projector *projector = NULL;
  vin_status status = vin_projector_create(&projector, NULL, x->system, options);
  cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
  return projector;
}

static vin_projection_options metric(vin_metric kind, const double *weights) {
  vin_projection_options options = vin_projection_options_default();
  options.metric = kind;
  options.weights = weights;
  return options;
}

/* On circle and sphere the nearest point is p / |p|, in the mass metric too (one mass). 1e-12: the
 * tolerance 1e-13 on Phi is a distance here, and the slide ends at 1e-14. */
Test(project, circle_and_sphere) {
  test_random random = {1};
  for (int dim = 2; dim <= 3; dim++) {
    for (int kind = VIN_METRIC_MASS; kind <= VIN_METRIC_IDENTITY; kind++) {
      test_mechanism *x = test_points(dim, 1, 1);
      x->mass[0] = 7;
      test_mechanism_build(x, NULL);
      vin_projection_options options = metric((vin_metric)kind, NULL);
      vin_projector *projector = projector_of(x, &options);
      for (int trial = 0; trial < 100; trial++) {
        double p[3] = {0}, away = pow(10, test_random_between(&random, -3, 3));
        test_random_fill(&random, dim, p);
        double size = sqrt(test_dot(3, p, p)), nearest[3];
        for (int i = 0; i < 3; i++) nearest[i] = p[i] / size, p[i] *= away / size;
        vin_status status = vin_project_position(projector, 0, p, NULL);
        cr_assert_eq(status, VIN_OK, "from %g: %s", away, vin_projector_error(projector));
        cr_assert_leq(test_max_difference(dim, p, nearest), 1e-12, "from %g", away);
      }
      vin_projector_destroy(projector);
      test_mechanism_free(x);
    }
  }
}

/* Squared weighted distance of (x, y) to the unit circle at an angle. */
static double circle_distance(const double *w, const double *p, double angle) {
  double dx = cos(angle) - p[0], dy = sin(angle) - p[1];
  return w[0] * dx * dx + w[1] * dy * dy;
}

/* The unit circle in a weighted metric (an ellipse's problem) against a search over the angle. The
 * distance agrees to 1e-10; the place to 1e-6 only, because the search sees a flat minimum. */
Test(project, circle_in_a_weighted_metric) {
  test_random random = {2};
  static const double weights[2] = {1, 9};
  test_mechanism *x = built(test_points(2, 1, 1));
  vin_projection_options options = metric(VIN_METRIC_DIAGONAL, weights);
  vin_projector *projector = projector_of(x, &options);
  for (int trial = 0; trial < 200; trial++) {
    double angle = test_random_between(&random, -3, 3), r = test_random_between(&random, 0.95, 1.5);
    double start[2] = {r * cos(angle), r * sin(angle)}, p[2] = {start[0], start[1]};
    double best = angle, step = 0.5; /* from the radial point downhill to the local minimum */
    while (step > 1e-12) {
      if (circle_distance(weights, start, best + step) < circle_distance(weights, start, best)) {
        best += step;
      } else if (circle_distance(weights, start, best - step) <
                 circle_distance(weights, start, best)) {
        best -= step;
      } else {
        step /= 2;
      }
    }
    vin_status status = vin_project_position(projector, 0, p, NULL);
    cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
    double found = circle_distance(weights, start, atan2(p[1], p[0]));
    cr_expect_leq(found, circle_distance(weights, start, best) * (1 + 1e-10) + 1e-15,
                  "from (%g, %g) to (%g, %g)", start[0], start[1], p[0], p[1]);
    /* W (p - start) is parallel to the gradient */
    double cross = weights[0] * (p[0] - start[0]) * p[1] - weights[1] * (p[1] - start[1]) * p[0];
    cr_expect_leq(fabs(cross), 1e-10);
  }
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* Masses 1 and 3 on a rod of 1 m, 1.4 m apart: in the mass metric the lighter one moves 3/4 of the
 * 0.4 m, in the Euclidean one each moves half, with weights 1 and 4 the first moves 4/5. */
Test(project, dumbbell_in_each_metric) {
  static const double weights[4] = {1, 1, 4, 4}, share[3] = {0.75, 0.5, 0.8};
  test_mechanism *x = test_points(2, 2, 1);
  x->rod[0] = (test_rod){.a = 0, .b = 1, .length = 1};
  x->mass[1] = 3;
  test_mechanism_build(x, NULL);
  for (int kind = 0; kind < 3; kind++) {
    vin_projection_options options = metric((vin_metric)kind, weights);
    vin_projector *projector = projector_of(x, &options);
    double p[4] = {0, 0, 1.4, 0}, v[4] = {0, 0, 1, 5};
    cr_assert_eq(vin_project_position(projector, 0, p, NULL), VIN_OK);
    cr_expect_float_eq(p[0], 0.4 * share[kind], 1e-12);
    cr_expect_float_eq(p[2], 1.4 - 0.4 * (1 - share[kind]), 1e-12);
    /* the same shares of the closing speed 1; across the rod nothing changes */
    cr_assert_eq(vin_project_velocity(projector, 0, p, v, NULL), VIN_OK);
    cr_expect_float_eq(v[0], share[kind], 1e-12);
    cr_expect_float_eq(v[2], share[kind], 1e-12);
    cr_expect_float_eq(v[1], 0, 1e-15);
    cr_expect_float_eq(v[3], 5, 1e-15);
    vin_projector_destroy(projector);
  }
  test_mechanism_free(x);
}

/* Field report 33. */
Test(project, pendulum_numbers) {
  test_mechanism *x = built(test_pendulum(0, 0));
  vin_projector *projector = projector_of(x, NULL);
  double p[2] = {1, 0}, v[2] = {0.5, 0}, far[2] = {1.1, 0};
  cr_assert_eq(vin_project_velocity(projector, 0, p, v, NULL), VIN_OK);
  cr_expect_float_eq(v[0], 0, 1e-16);
  cr_expect_float_eq(v[1], 0, 1e-16);
  cr_assert_eq(vin_project_position(projector, 0, far, NULL), VIN_OK);
  cr_expect_float_eq(far[0], 1, 1e-13);
  cr_expect_float_eq(far[1], 0, 1e-16);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* A mass matrix with off-diagonal entries: velocity projection and acceleration of a chain of
 * slender rods against a dense solution of [M J'; J 0] in long double. */
Test(project, slender_rods_against_a_dense_solution) {
  enum { RODS = 4, N = 3 * RODS, M = RODS, SIZE = N + M };
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node end = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int k = 1; k <= RODS; k++) {
    vin_node next = vin_model_add_node(
        model, &(vin_node_desc){.position = {0.8 * k, 0.1 * k * k, -0.6 * k}, .mass = 0.1 * k});
    vin_model_add_rod(model, &(vin_rod_desc){.a = end, .b = next, .mass = k});
    end = next;
  }
  vin_system *system = NULL;
  cr_assert_eq(vin_model_compile(model, &system), VIN_OK, "%s", vin_model_error(model));
  vini_object object = {.created = VIN_OK};
  double p[N], v[N], f[N], a[M], mass[N * N], jacobian[M * N], values[1000], vdot[N], lambda[M];
  cr_assert_eq(vin_model_start(model, p, v), VIN_OK);
  for (int i = 0; i < N; i++) v[i] = sin(i + 1.0);
  vini_eval_mass(system, &object, 0, p, v, values);
  test_dense_from_triplets(N, N, system->desc.mass_pattern, VIN_STORAGE_SYMMETRIC_LOWER, values,
                           mass);
  vini_eval_jacobian(system, &object, 0, p, values);
  test_dense_from_triplets(M, N, system->desc.jacobian_pattern, VIN_STORAGE_GENERAL, values,
                           jacobian);
  vini_eval_force(system, &object, 0, p, v, f);
  vini_eval_curvature(system, &object, 0, p, v, a, values);
  double k[SIZE * SIZE] = {0}, b[SIZE], h[M];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) k[i + j * SIZE] = mass[i + j * N];
  for (int c = 0; c < M; c++)
    for (int j = 0; j < N; j++) k[N + c + j * SIZE] = k[j + (N + c) * SIZE] = jacobian[c + j * M];
  memcpy(b, f, sizeof f);
  for (int c = 0; c < M; c++) b[N + c] = -a[c];
  cr_assert(test_dense_solve(SIZE, k, b, b));
  vin_projector *projector = NULL;
  cr_assert_eq(vin_projector_create(&projector, NULL, system, NULL), VIN_OK);
  cr_assert_eq(vin_project_acceleration(projector, 0, p, v, vdot, lambda), VIN_OK);
  cr_expect_leq(test_max_difference(N, vdot, b), 1e-12 * test_max_abs(N, b));
  cr_expect_leq(test_max_difference(M, lambda, b + N), 1e-12 * test_max_abs(M, b + N));
  test_dense_multiply(M, N, jacobian, v, h);
  memset(b, 0, sizeof b);
  for (int c = 0; c < M; c++) b[N + c] = -h[c];
  cr_assert(test_dense_solve(SIZE, k, b, b));
  for (int i = 0; i < N; i++) b[i] += v[i];
  cr_assert_eq(vin_project_velocity(projector, 0, p, v, NULL), VIN_OK);
  cr_expect_leq(test_max_difference(N, v, b), 1e-13);
  vin_projector_destroy(projector);
  vin_system_destroy(system);
  vin_model_destroy(model);
}

/* Moving support: v' = v - d (d . (v - s'(t))) / |d|^2 in closed form. */
Test(project, velocity_under_a_moving_constraint) {
  test_mechanism *x = test_pendulum(0, 0);
  x->amplitude = 0.3, x->frequency = 5;
  test_mechanism_build(x, NULL);
  vin_projector *projector = projector_of(x, NULL);
  double t = 0.37, s = 0.3 * sin(5 * t), rate = 1.5 * cos(5 * t);
  double p[2] = {s + 0.6, -0.8}, v[2] = {0.2, 0.7};
  double along = 0.6 * (v[0] - rate) - 0.8 * v[1];
  double wanted[2] = {v[0] - 0.6 * along, v[1] + 0.8 * along};
  vin_projection_report report;
  cr_assert_eq(vin_project_velocity(projector, t, p, v, &report), VIN_OK);
  cr_expect_leq(test_max_difference(2, v, wanted), 1e-15);
  cr_expect_float_eq(report.velocity_before, fabs(along), 1e-14);
  cr_expect_leq(report.velocity_after, 1e-15);
  cr_expect_float_eq(report.velocity_correction, fabs(along) * 0.8, 1e-14);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* Starts far away: a chain whose points are thrown within 3 m of where they belong, near the origin
 * and 1e5 m away, where |Phi| can't be below eps |p|. */
Test(project, scattered_chain) {
  test_random random = {3};
  for (int trial = 0; trial < 200; trial++) {
    double offset = trial < 100 ? 0 : 1e5;
    test_mechanism *x = test_chain(10, 1, 1);
    x->rod[0].anchor[0] = offset;
    for (int k = 0; k < 10; k++) x->p[2 * k] += offset;
    test_mechanism_build(x, NULL);
    vin_projector *projector = projector_of(x, NULL);
    vin_state state = test_state(x);
    for (vin_int i = 0; i < x->n; i++) state.p[i] += test_random_between(&random, -3, 3);
    vin_status status = vin_project_position(projector, 0, state.p, NULL);
    cr_assert_eq(status, VIN_OK, "trial %d: %s", trial, vin_projector_error(projector));
    cr_assert_leq(test_constraint_max(x, 0, state.p), fmax(1e-13, 16 * 2.3e-16 * offset));
    vin_projector_destroy(projector);
    test_state_free(&state);
    test_mechanism_free(x);
  }
}

/* Field report 16: a crank-rocker from 1000 random starts. Assembled or a failure that says so,
 * never a NaN; a failure leaves the start. Most starts must assemble. */
Test(project, crank_rocker_from_random_starts) {
  test_random random = {4};
  test_mechanism *x = built(test_four_bar(1, 3, 2.5, 3, 1));
  vin_projector *projector = projector_of(x, NULL);
  int assembled = 0;
  cr_assert_leq(test_constraint_max(x, 0, x->p), 1e-15);
  for (int trial = 0; trial < 1000; trial++) {
    double p[4], kept[4];
    for (int i = 0; i < 4; i++) p[i] = test_random_between(&random, -5, 5);
    memcpy(kept, p, sizeof p);
    vin_projection_report report;
    vin_status status = vin_project_position(projector, 0, p, &report);
    if (status == VIN_OK) {
      assembled++;
      cr_assert_leq(test_constraint_max(x, 0, p), 1e-13);
      double
          pull[4]; /* what is left of the way to the start along the mechanism: none, the nearest */
      for (int i = 0; i < 4; i++) pull[i] = kept[i] - p[i];
      cr_assert_eq(vin_project_velocity(projector, 0, p, pull, NULL), VIN_OK);
      cr_assert_leq(test_max_abs(4, pull), 1e-10, "trial %d", trial);
      cr_assert_leq(report.iterations, 100);
    } else {
      cr_assert(status == VIN_INFEASIBLE || status == VIN_NOT_CONVERGED, "%s: %s",
                vin_status_name(status), vin_projector_error(projector));
      cr_assert(memcmp(p, kept, sizeof p) == 0);
      cr_assert(isfinite(report.gap_sum) && report.gap_sum > 0);
    }
  }
  cr_expect_geq(assembled, 990, "%d of 1000", assembled);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* Field report 28: rods of 1 m and 1 m, anchors 3 m apart. Infeasible within the limit, and 1 m
 * short in all, from a start on the line, off it, and at random. */
Test(project, two_rods_too_short) {
  test_random random = {5};
  test_mechanism *x = built(test_two_rods(3));
  vin_projection_options options = vin_projection_options_default();
  for (int trial = 0; trial < 100; trial++) {
    vin_projector *projector = projector_of(x, &options);
    double p[2] = {1.2, 0.4};
    if (trial == 1) p[1] = 0;
    if (trial > 1)
      p[0] = test_random_between(&random, 0, 3), p[1] = test_random_between(&random, -2, 2);
    double kept[2] = {p[0], p[1]};
    vin_projection_report report;
    vin_status status = vin_project_position(projector, 0, p, &report);
    cr_assert_eq(status, VIN_INFEASIBLE, "trial %d: %s, %s", trial, vin_status_name(status),
                 vin_projector_error(projector));
    cr_assert_float_eq(report.gap_sum, 1, 1e-6, "trial %d: %.12g", trial, report.gap_sum);
    cr_assert_float_eq(report.gap_max, 0.5, 1e-6);
    cr_assert_leq(report.iterations, options.max_iterations);
    cr_assert(p[0] == kept[0] && p[1] == kept[1]);
    cr_assert_not_null(strstr(vin_projector_error(projector), "rod"));
    vin_projector_destroy(projector);
  }
  test_mechanism_free(x);
}

/* The boundary case, anchors 2 m apart: one solution, at which the Jacobian loses rank. Either
 * it is found, or what is left is small; never a crash or a NaN. */
Test(project, two_rods_just_long_enough) {
  test_mechanism *x = built(test_two_rods(2));
  vin_projector *projector = projector_of(x, NULL);
  double p[2] = {1.1, 0.3};
  vin_projection_report report;
  vin_status status = vin_project_position(projector, 0, p, &report);
  cr_expect(status >= 0, "%s", vin_projector_error(projector));
  cr_expect_leq(report.gap_sum, 1e-6, "%s, gap %g", vin_status_name(status), report.gap_sum);
  vin_projector_destroy(projector);
  test_mechanism_free(x);
}

/* A rod given twice is projected like one, with each solver; twice with different lengths it is
 * refused, with the numbers: the nearest compromise of 1 and 1.2 m is 0.2 m off in all. */
Test(project, duplicated_rods) {
  static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  for (int k = 0; k < 3; k++) {
    if (!vin_solver_available(solvers[k])) continue;
    vin_projection_options options = vin_projection_options_default();
    options.kkt.solver = solvers[k];
    test_mechanism *x = built(test_points(2, 1, 2));
    vin_projector *projector = projector_of(x, &options);
    double p[2] = {0.9, -1.2}, v[2] = {1, 2}, vdot[2], lambda[2];
    vin_projection_report report;
    vin_status status = vin_initial_values(projector, 0, p, v, vdot, lambda, &report);
    cr_assert_eq(status, VIN_OK, "%s: %s", vin_solver_name(solvers[k]),
                 vin_projector_error(projector));
    cr_expect_float_eq(p[0], 0.6, 1e-12);
    cr_expect_float_eq(p[1], -0.8, 1e-12);
    cr_expect_float_eq(0.6 * v[0] - 0.8 * v[1], 0, 1e-14);
    cr_expect_float_eq(lambda[0] + lambda[1], test_dot(2, v, v), 1e-12); /* m v^2 / L, no weight */
    cr_expect_eq(report.dropped, 1);
    x->rod[1].length = 1.2; /* read by the callbacks: now they contradict each other */
    double q[2] = {0.9, -1.2}, kept[2] = {0.9, -1.2};
    status = vin_project_position(projector, 0, q, &report);
    cr_expect(status == VIN_INFEASIBLE || status == VIN_SINGULAR, "%s: %s, %s",
              vin_solver_name(solvers[k]), vin_status_name(status), vin_projector_error(projector));
    cr_expect(memcmp(q, kept, sizeof q) == 0);
    cr_expect_float_eq(report.gap_sum, 0.2, 1e-6, "%g", report.gap_sum);
    cr_expect_not_null(strstr(vin_projector_error(projector), "rod"));
    vin_projector_destroy(projector);
    test_mechanism_free(x);
  }
}

/* Which constraint was worst, before and after, how far things moved. */
Test(project, report) {
  test_mechanism *x = built(test_chain(5, 1, 1));
  vin_projector *projector = projector_of(x, NULL);
  vin_state state = test_state(x);
  state.p[9] = 0.2; /* the last point across the chain: the last rod is 0.0198 m too long */
  vin_projection_report report;
  cr_assert_eq(vin_project_position(projector, 0, state.p, &report), VIN_OK);
  cr_expect_eq(report.most_moved, 4);
  cr_expect_str_eq(report.most_moved_name, "rod 4");
  cr_expect_float_eq(report.position_before, 0.02, 1e-15);
  cr_expect_leq(report.position_after, 1e-13);
  cr_expect_leq(report.gap_sum, 5e-13);
  double moved = 0;
  for (vin_int i = 0; i < x->n; i++) {
    moved = fmax(moved, fabs(state.p[i] - x->p[i] - (i == 9 ? 0.2 : 0)));
  }
  cr_expect_float_eq(report.position_correction, moved, 1e-15);
  cr_expect(report.iterations > 0 && report.iterations <= 50);
  cr_expect_eq(report.dropped, 0);
  /* on the constraints already: nothing moves, not a bit */
  double *kept = calloc((size_t)x->n, sizeof *kept);
  memcpy(kept, state.p, (size_t)x->n * sizeof *kept);
  cr_assert_eq(vin_project_position(projector, 0, state.p, &report), VIN_OK);
  cr_expect(memcmp(kept, state.p, (size_t)x->n * sizeof *kept) == 0);
  cr_expect_eq(report.iterations, 0);
  cr_expect_eq(report.position_correction, 0);
  free(kept);
  vin_projector_destroy(projector);
  test_state_free(&state);
  test_mechanism_free(x);
}

/* One Newton step is not enough from far away; the report says how far it came, p stays. */
Test(project, iteration_limit) {
  test_mechanism *x = built(test_chain(10, 1, 1));
  vin_projection_options options = vin_projection_options_default();
  options.max_iterations = 1;
  vin_projector *projector = projector_of(x, &options);
  vin_state state = test_state(x), kept = test_state(x);
  for (vin_int i = 0; i < x->n; i++) state.p[i] += sin(i);
  test_state_copy(x, &kept, &state);
  vin_projection_report report;
  cr_assert_eq(vin_project_position(projector, 0, state.p, &report), VIN_NOT_CONVERGED);
  cr_expect(test_state_same(x, &state, &kept));
  cr_expect_eq(report.iterations, 1);
  cr_expect_not_null(strstr(vin_projector_error(projector), "1 iteration"));
  vin_projector_destroy(projector);
  test_state_free(&state), test_state_free(&kept);
  test_mechanism_free(x);
}
