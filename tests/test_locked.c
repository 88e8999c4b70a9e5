/* Shapes in which the constraints lock: a straight row of rods between two fixed nodes has one rod
 * too many, and any load across it would need an infinite tension. The equations have no solution
 * that a step could reach, so a step must say so and leave the state alone; what it may not do is
 * to accept a state that is off the constraints. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vincula/vincula.h>

enum { RODS = 6, FREE = RODS - 1 };

static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                     VIN_SOLVER_UMFPACK};
static const vin_method methods[] = {VIN_METHOD_RATTLE, VIN_METHOD_TAYLOR2, VIN_METHOD_EULER,
                                     VIN_METHOD_RK4};

/* A row along direction, rods of `size` m, gravity of 9.81 sizes/s^2 obliquely downwards. */
static vin_sim *row_sim(const double direction[3], double size, vin_solver solver,
                        vin_method method) {
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0.3 * size, 0.1 * size, -9.81 * size});
  vin_node last = {-1};
  for (int i = 0; i <= RODS; i++) {
    vin_node_desc desc = {.mass = 1.0, .fixed = i == 0 || i == RODS};
    for (int d = 0; d < 3; d++) desc.position[d] = size * i * direction[d];
    vin_node node = vin_model_add_node(model, &desc);
    if (i > 0) vin_model_add_rod(model, &(vin_rod_desc){.a = last, .b = node});
    last = node;
  }
  vin_options options = vin_options_default();
  options.method = method;
  options.projector.kkt.solver = solver;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  return sim;
}

/* Positions: 1e-12 of the size, the stop rules allow 1e-13 and a few roundings. Velocities: rattle's
 * last guard lets 16 times its tolerance of 1e-13 m/s (VELOCITY_SLACK) or 1e-8 of a row's terms
 * (HIDDEN_SLACK) pass. */
static void step_or_refuse(vin_sim *sim, double size, const char *what) {
  double p[3 * FREE], v[3 * FREE];
  for (int k = 0; k < 20; k++) {
    vin_state_view before = vin_sim_state(sim);
    double t = before.t;
    memcpy(p, before.p, sizeof p);
    memcpy(v, before.v, sizeof v);
    vin_status status = vin_sim_step(sim);
    vin_state_view after = vin_sim_state(sim);
    if (status != VIN_OK) {
      cr_assert_gt(status, VIN_OK, "%s: %s", what, vin_sim_error(sim));
      cr_assert(strlen(vin_sim_error(sim)) > 0);
      cr_assert(t == after.t && memcmp(p, after.p, sizeof p) == 0 &&
                    memcmp(v, after.v, sizeof v) == 0,
                "%s: the failed step changed the state", what);
      return;
    }
    double speed = 0;
    for (int i = 0; i < 3 * FREE; i++) speed = fmax(speed, fabs(after.v[i]));
    vin_report report = vin_sim_report(sim);
    cr_assert_leq(report.position_residual, 1e-12 * size, "%s, step %d", what, k);
    cr_assert_leq(report.velocity_residual, 2e-12 + 1e-8 * speed, "%s, step %d", what, k);
  }
}

Test(locked, row_between_fixed_nodes_never_steps_silently) {
  static const double direction[][3] = {{1, 0, 0}, {0, 0, -1}, {0.3, 0.4, 0.1}};
  for (size_t d = 0; d < sizeof direction / sizeof *direction; d++) {
    for (double size = 1; size <= 1e9; size *= 1e9) {
      for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++) {
        if (!vin_solver_available(solvers[s])) continue;
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
          char what[96];
          snprintf(what, sizeof what, "direction %d, %g m, %s, %s", (int)d, size,
                   vin_solver_name(solvers[s]), vin_method_name(methods[m]));
          vin_sim *sim = row_sim(direction[d], size, solvers[s], methods[m]);
          step_or_refuse(sim, size, what);
          vin_sim_destroy(sim);
        }
      }
    }
  }
}

/* A row that swings across its line would have to stretch: no accelerations exist, and projections
 * of position and velocity, which look at contradictions in another way, must not hide that. */
Test(locked, projections_do_not_hide_a_contradiction) {
  static const double along_x[3] = {1, 0, 0};
  for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++) {
    if (!vin_solver_available(solvers[s])) continue;
    vin_sim *sim = row_sim(along_x, 1, solvers[s], VIN_METHOD_RATTLE);
    vin_projection_options options = vin_projection_options_default();
    options.kkt.solver = solvers[s];
    vin_projector *projector = NULL;
    cr_assert_eq(vin_projector_create(&projector, NULL, vin_sim_system(sim), &options), VIN_OK);
    double p[3 * FREE], v[3 * FREE] = {0}, vdot[3 * FREE], lambda[RODS];
    memcpy(p, vin_sim_state(sim).p, sizeof p);
    for (int i = 0; i < FREE; i++) v[3 * i + 2] = i % 2 == 0 ? 1 : -0.5;
    for (int k = 0; k < 3; k++) {
      cr_assert_eq(vin_project_acceleration(projector, 0, p, v, vdot, lambda), VIN_SINGULAR,
                   "%s, round %d", vin_solver_name(solvers[s]), k);
      vin_status status = k == 0   ? vin_project_position(projector, 0, p, NULL)
                          : k == 1 ? vin_project_velocity(projector, 0, p, v, NULL)
                                   : VIN_OK;
      cr_assert_eq(status, VIN_OK, "%s", vin_projector_error(projector));
    }
    vin_projector_destroy(projector);
    vin_sim_destroy(sim);
  }
}
