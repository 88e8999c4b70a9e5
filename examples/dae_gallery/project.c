/* project.c - sections 8.5 and 8.8: projection after each step; independent coordinates. */
#include <math.h>
#include <stdio.h>

#include "gallery.h"

enum { P, V, LAMBDA, KINDS };
static const char *const kinds[KINDS] = {"positions", "velocities", "multiplier"};

/* An order is as expected when it is nearer than this. */
static const double within = 0.25;

/* Between the first and the last level that show the error of the method: partition methods change
 * their coordinates at other times for other steps, so single pairs scatter. */
static double mean_order(const vin_study *study, int levels, int quantity) {
  int first = -1, last = -1;
  for (int k = 0; k < levels; k++) {
    if (vin_study_get(study, k, quantity).verdict != VIN_STUDY_OK) continue;
    if (first < 0) first = k;
    last = k;
  }
  if (last <= first) return NAN;
  double ratio =
      vin_study_get(study, first, quantity).error / vin_study_get(study, last, quantity).error;
  return log2(ratio) / (last - first);
}

/* Observed orders of a method on the pendulum, from rest at the angle a, to 1 s; h, h/2, h/4, h/8. */
static vin_status orders(gallery *g, const char *figure, const char *name, vin_options options,
                         double a, double expected) {
  enum { LEVELS = 4 };
  const double end = 1.0;
  vin_system *system = NULL;
  vin_study *study = NULL;
  vin_status status = pendulum_system(&system);
  if (status != VIN_OK) return gallery_fail(g, status, vin_system_error(system));
  pendulum_state start = pendulum_exact(a, 0.0, NULL);
  double reference[5];
  pendulum_state last = pendulum_exact(a, end, &reference[4]);
  reference[0] = last.x, reference[1] = last.y, reference[2] = last.u, reference[3] = last.v;
  vin_study_options levels = vin_study_options_default();
  levels.step = options.step, levels.levels = LEVELS, levels.reference = reference;
  status = vin_study_system(&study, NULL, system, (double[]){start.x, start.y},
                            (double[]){start.u, start.v}, end, &options, &levels);
  vin_system_destroy(system);
  if (status != VIN_OK) {
    gallery_fail(g, status, vin_study_error(study));
    vin_study_destroy(study);
    return status;
  }
  for (int kind = 0; kind < KINDS; kind++) {
    char text[GALLERY_TEXT];
    snprintf(text, sizeof text, "%s: order of %s", vin_method_name(options.method), kinds[kind]);
    gallery_value(g, figure, text, mean_order(study, LEVELS, kind), expected, within);
    if (kind == LAMBDA) continue;
    gallery_curve_open(g, "%s, %s", name, kinds[kind]);
    for (int level = 0; level < LEVELS; level++)
      gallery_point(g, vin_study_step(study, level), vin_study_get(study, level, kind).error);
  }
  vin_study_destroy(study);
  return VIN_OK;
}

/* Projection onto the position, then the velocity level (example 8.2, figure 8.18). */
vin_status gallery_projection(gallery *g) {
  enum { STEPS = 1000 };
  const double h = 0.01, right_angle = acos(0.0);
  static const vin_method methods[] = {VIN_METHOD_EULER, VIN_METHOD_RK4};
  static const double order[] = {1.0, 4.0}, steps[] = {0.005, 0.02};
  pendulum_run runs[4] = {{0}};
  vin_status status = VIN_OK;
  for (int k = 0; k < 4 && status == VIN_OK; k++) { /* with and without projection */
    vin_options options = gallery_method(methods[k / 2], h);
    options.projection = k % 2 ? VIN_PROJECTION_NONE : VIN_PROJECTION_BOTH;
    status = pendulum_simulate(g, &options, (pendulum_state){.x = 1.0}, h * STEPS, &runs[k]);
    if (status != VIN_OK || k % 2) continue;
    char text[GALLERY_TEXT];
    snprintf(text, sizeof text, "%s, projected: max|Phi|", vin_method_name(methods[k / 2]));
    gallery_below(g, "8.18", text, pendulum_max(&runs[k], pendulum_phi), 1e-12);
    gallery_below(g, "8.18", "  max|Phi'|", pendulum_max(&runs[k], pendulum_rate), 1e-12);
  }
  static const char *const names[] = {"euler, projected", "euler", "rk4, projected", "rk4"};
  static const struct {
    const char *title, *label;
    pendulum_function function;
    int flags;
  } panels[] = {{"8.18: constraint", "|x^2 + y^2 - 1|", pendulum_phi, GALLERY_LOG_Y},
                {"its rate", "|2 (x u + y v)|", pendulum_rate, GALLERY_LOG_Y},
                {"energy: projection does not keep it", "[J]", pendulum_energy, 0}};
  for (size_t p = 0; p < sizeof panels / sizeof *panels && status == VIN_OK; p++) {
    gallery_panel_open(g, panels[p].title, "t [s]", panels[p].label, panels[p].flags);
    for (int k = 0; k < 4; k++) {
      gallery_curve_open(g, "%s", names[k]);
      pendulum_draw(g, &runs[k], panels[p].function);
    }
  }
  gallery_panel_open(g, "errors at 1 s, projected", "h [s]", "m, m/s",
                     GALLERY_LOG_X | GALLERY_LOG_Y);
  for (int k = 0; k < 2 && status == VIN_OK; k++) {
    vin_options options = gallery_method(methods[k], steps[k]);
    options.projection = VIN_PROJECTION_BOTH;
    status = orders(g, "8.18", vin_method_name(methods[k]), options, right_angle, order[k]);
  }
  for (int k = 0; k < 4; k++) pendulum_run_free(&runs[k]);
  return status;
}

/* ---- section 8.8 -------------------------------------------------------------------------------- */

/* The source's own elimination: x alone, x'' = mu(x, u) x with y = -sqrt(1 - x^2), v = -x u / y. */
static int mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)user, (void)t, (void)p, (void)v;
  values[0] = 1.0;
  return 0;
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t;
  if (p[0] <= -1.0 || p[0] >= 1.0) return 1; /* the branch ends: a smaller step may help */
  double y = -sqrt(1.0 - p[0] * p[0]), vertical = -p[0] * v[0] / y;
  f[0] = (PENDULUM_GRAVITY * y - v[0] * v[0] - vertical * vertical) * p[0];
  return 0;
}

/* |x, u - exact| at 10 s with so many steps. */
static vin_status eliminated(gallery *g, vin_method method, int steps, double a, double *error) {
  const vin_int zero[] = {0};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 1;
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL;
  desc.mass_pattern = (vin_triplets){.count = 1, .row = zero, .col = zero};
  desc.mass = mass, desc.force = force;
  vin_system *system = NULL;
  vin_sim *sim = NULL;
  vin_status status = vin_system_create(&system, NULL, &desc);
  if (status != VIN_OK) return gallery_fail(g, status, vin_system_error(system));
  vin_options options = gallery_method(method, 10.0 / steps);
  status =
      vin_sim_create_from_system(&sim, NULL, system, (double[]){sin(a)}, (double[]){0.0}, &options);
  vin_system_destroy(system);
  if (status == VIN_OK) status = vin_sim_run(sim, 10.0);
  if (status == VIN_OK) {
    pendulum_state exact = pendulum_exact(a, 10.0, NULL);
    vin_state_view end = vin_sim_state(sim);
    *error = fmax(fabs(end.p[0] - exact.x), fabs(end.v[0] - exact.u));
  } else {
    gallery_fail(g, status, vin_sim_error(sim));
  }
  vin_sim_destroy(sim);
  return status;
}

static double energy_change(const pendulum_state *s) { /* from rest at y = -sqrt(1 - 0.81) */
  return pendulum_energy(s) + PENDULUM_GRAVITY * sqrt(0.19);
}

/* x(0) = 0.9 on the branch y < 0, so y(0) = -sqrt(1 - 0.81), at rest, to 10 s; figures 8.19, 8.20. */
vin_status gallery_partitioning(gallery *g) {
  enum { STEPS = 1000 };
  const double a = asin(0.9);
  static const vin_method methods[] = {VIN_METHOD_PARTITION_COLLATZ, VIN_METHOD_PARTITION_RK4},
                          plain[] = {VIN_METHOD_COLLATZ, VIN_METHOD_RK4};
  static const char *const figures[] = {"8.19", "8.20"};
  pendulum_run runs[2] = {{0}};
  vin_status status = VIN_OK;
  for (int k = 0; k < 2 && status == VIN_OK; k++) {
    char text[GALLERY_TEXT];
    const double order = k == 0 ? 2.0 : 4.0;
    vin_options options = gallery_method(methods[k], 10.0 / STEPS);
    status = pendulum_simulate(g, &options, pendulum_exact(a, 0.0, NULL), 10.0, &runs[k]);
    if (status != VIN_OK) break;
    snprintf(text, sizeof text, "%s: max|Phi|", vin_method_name(methods[k]));
    gallery_below(g, figures[k], text, pendulum_max(&runs[k], pendulum_phi), 1e-12);
    gallery_below(g, figures[k], "  max|Phi'|", pendulum_max(&runs[k], pendulum_rate), 1e-12);
    double coarse = NAN, fine = NAN;
    status = eliminated(g, plain[k], STEPS, a, &coarse);
    if (status == VIN_OK) status = eliminated(g, plain[k], 2 * STEPS, a, &fine);
    snprintf(text, sizeof text, "%s on the source's x'' = mu(x, u) x: order",
             vin_method_name(plain[k]));
    gallery_value(g, figures[k], text, log2(coarse / fine), order, within);
  }
  if (status == VIN_OK) {
    gallery_panel_open(g, "8.19, 8.20: path of the bob, partition-rk4", "x [m]", "y [m]",
                       GALLERY_PATH);
    gallery_curve_open(g, "%s", vin_method_name(methods[1]));
    pendulum_draw_path(g, &runs[1]);
    gallery_panel_open(g, "constraint", "t [s]", "|x^2 + y^2 - 1|", GALLERY_LOG_Y);
    for (int k = 0; k < 2; k++) {
      gallery_curve_open(g, "%s", vin_method_name(methods[k]));
      pendulum_draw(g, &runs[k], pendulum_phi);
    }
    gallery_panel_open(g, "change of energy", "t [s]", "[J]", 0);
    for (int k = 0; k < 2; k++) {
      gallery_curve_open(g, "%s", vin_method_name(methods[k]));
      pendulum_draw(g, &runs[k], energy_change);
    }
    gallery_panel_open(g, "errors at 1 s", "h [s]", "m, m/s", GALLERY_LOG_X | GALLERY_LOG_Y);
  }
  for (int k = 0; k < 2 && status == VIN_OK; k++)
    status = orders(g, figures[k], vin_method_name(plain[k]), gallery_method(methods[k], 0.01), a,
                    k == 0 ? 2.0 : 4.0);
  for (int k = 0; k < 2; k++) pendulum_run_free(&runs[k]);
  return status;
}
