/* custom_system.c - own equations through callbacks: a pendulum whose support is shaken.
 *
 * The bob p = (x, y) of mass m hangs on a rod of length L from a support at s(t) = (A sin(w t), 0):
 *     m v' + Phi_p' lambda = (0, -m g),    Phi(p,t) = (|d|^2 - L^2) / (2 L) = 0,    d = p - s(t).
 * Phi depends on time, so two more callbacks are needed: its partial derivative in time, and the
 * part of its second derivative in time without v'. With u = v - s'(t):
 *     Phi_p = d / L,    Phi_t = -d.s' / L,    d2Phi/dt2 = d.v' / L + (|u|^2 - d.s'') / L.
 * lambda is the tension of the rod. The shaken support does work on the pendulum: its energy
 * changes, and should. */
#include <math.h>

#include "support/support.h"

typedef struct pendulum {
  double mass, length, gravity; /* kg, m, m/s^2 */
  double amplitude, frequency;  /* of the support: m, rad/s */
} pendulum;

/* Order 0, 1, 2: position, velocity, acceleration of the support along x. */
static double support(const pendulum *data, double t, int order) {
  double A = data->amplitude, w = data->frequency;
  return order == 0 ? A * sin(w * t) : order == 1 ? A * w * cos(w * t) : -A * w * w * sin(w * t);
}

/* The callbacks: `user` is the pendulum; matrices are handed over as values in declared order. */
static int mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)t, (void)p, (void)v;
  values[0] = values[1] = ((const pendulum *)user)->mass;
  return 0; /* done; > 0 would ask for a smaller step, < 0 stop the run */
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  const pendulum *data = user;
  (void)t, (void)p, (void)v;
  f[0] = 0.0;
  f[1] = -data->mass * data->gravity;
  return 0;
}

static int potential(void *user, double t, const double *p, double *energy) {
  const pendulum *data = user;
  (void)t;
  *energy = data->mass * data->gravity * p[1];
  return 0;
}

static int constraint(void *user, double t, const double *p, double *phi) {
  const pendulum *data = user;
  double dx = p[0] - support(data, t, 0), dy = p[1], L = data->length;
  phi[0] = (dx * dx + dy * dy - L * L) / (2.0 * L);
  return 0;
}

static int jacobian(void *user, double t, const double *p, double *values) {
  const pendulum *data = user;
  values[0] = (p[0] - support(data, t, 0)) / data->length;
  values[1] = p[1] / data->length;
  return 0;
}

static int constraint_rate(void *user, double t, const double *p, double *phi_t) {
  const pendulum *data = user;
  phi_t[0] = -(p[0] - support(data, t, 0)) * support(data, t, 1) / data->length;
  return 0;
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  const pendulum *data = user;
  double dx = p[0] - support(data, t, 0), ux = v[0] - support(data, t, 1), uy = v[1];
  a[0] = (ux * ux + uy * uy - dx * support(data, t, 2)) / data->length;
  return 0;
}

int main(int argc, char **argv) {
  ex_options options =
      ex_options_default("custom_system", "a pendulum with a shaken support", 1e-3, 10.0);
  ex_parse(&options, NULL, argc, argv);

  pendulum data = {1.0, 1.0, 9.81, 0.2, 2.0};
  /* Patterns: M is diagonal, the one row of Phi_p has two entries. They are copied. */
  const vin_int both[] = {0, 1}, row_zero[] = {0, 0};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 2, desc.constraints = 1;
  desc.flags = VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_FORCE_VELOCITY_FREE |
               VIN_CONSTRAINT_QUADRATIC; /* rattle needs the first, the others save work */
  desc.mass_pattern = (vin_triplets){.count = 2, .row = both, .col = both};
  desc.jacobian_pattern = (vin_triplets){.count = 2, .row = row_zero, .col = both};
  desc.mass = mass, desc.force = force, desc.potential = potential;
  desc.constraint = constraint, desc.jacobian = jacobian;
  desc.constraint_rate = constraint_rate, desc.curvature = curvature;
  desc.user = &data;
  vin_system *system = NULL;
  vin_status status = vin_system_create(&system, NULL, &desc);
  /* Derivatives by hand are often wrong: compare them with finite differences at a general point,
   * on no constraint. The text of the check names the worst entry. */
  vin_derivative_check check = {0};
  if (status == VIN_OK)
    status = vin_system_check(system, 0.3, (double[]){0.4, -0.7}, (double[]){0.5, 0.2}, 1, &check);
  if (status != VIN_OK) {
    ex_fail(&options, status, *check.text ? check.text : vin_system_error(system));
    vin_system_destroy(system);
    return 1;
  }

  /* The bob starts below the support, at rest relative to it. */
  vin_sim *sim = NULL;
  status = vin_sim_create_from_system(&sim, NULL, system, (double[]){0.0, -data.length},
                                      (double[]){support(&data, 0.0, 1), 0.0}, &options.sim);
  vin_system_destroy(system); /* the sim keeps it */
  ex_monitor monitor = {.options = &options};
  if (status == VIN_OK) status = ex_monitor_start(&monitor, sim, vin_recorder_options_default());
  if (status == VIN_OK) status = vin_sim_run(sim, options.end);
  vin_plot_options plot = vin_plot_options_default();
  plot.title = options.purpose, plot.dimension = 2, plot.vertical = 1;
  if (status == VIN_OK) status = ex_monitor_finish(&monitor, plot);
  int failed = ex_monitor_conclude(&monitor, status, sim);
  vin_sim_destroy(sim);
  return failed;
}
