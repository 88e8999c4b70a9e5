/* custom_caraxis.c - own equations with moving constraints, and a check against a published result.
 *
 * The car axis of the DAE test sets (support/caraxis.c has its equations, tests/reference/README.md
 * its source): two loads on springs, of which one follows a bumpy road, so that one of the two
 * constraints moves. The end values at t = 3 are known to 20 digits. All numbers are dimensionless.
 * custom_system.c explains the callbacks; this program shows what a user does with them. */
#include "support/caraxis.h"
#include "support/support.h"

int main(int argc, char **argv) {
  ex_options options =
      ex_options_default("custom_caraxis", "a car axis on a bumpy road", 1e-4, 3.0);
  options.sim.method = VIN_METHOD_RK4; /* order 4, both projections: for an exact result */
  ex_parse(&options, NULL, argc, argv);

  caraxis data = {.mass = 5e-4, .rest = 0.5, .bump = 0.1, .frequency = 10.0};
  vin_system_desc desc = caraxis_describe(&data);
  vin_system *system = NULL;
  vin_status status = vin_system_create(&system, NULL, &desc);

  const double p[] = {0.0, 0.5, 1.0, 0.5}, v[] = {-0.5, 0.0, -0.5, 0.0};
  vin_derivative_check check = {0}; /* compares the callbacks with finite differences */
  if (status == VIN_OK) status = vin_system_check(system, 0.1, p, v, 1, &check);
  if (status != VIN_OK) {
    ex_fail(&options, status, *check.text ? check.text : vin_system_error(system));
    vin_system_destroy(system);
    return 1;
  }

  vin_sim *sim = NULL;
  status = vin_sim_create_from_system(&sim, NULL, system, p, v, &options.sim);
  vin_system_destroy(system); /* the sim keeps it */
  ex_monitor monitor = {.options = &options};
  if (status == VIN_OK) status = ex_monitor_start(&monitor, sim, vin_recorder_options_default());
  if (status == VIN_OK) status = vin_sim_run(sim, options.end);
  vin_plot_options plot = vin_plot_options_default();
  plot.title = "Car axis: paths of the two loads";
  plot.dimension = 2, plot.vertical = 1;
  if (status == VIN_OK) status = ex_monitor_finish(&monitor, plot);
  if (status == VIN_OK) {
    vin_state_view end = vin_sim_state(sim);
    monitor.result.error = ex_reference_error("ivp/caraxis.csv", &end, 4, 4);
    monitor.result.dimensionless = 1;
  }
  int failed = ex_monitor_conclude(&monitor, status, sim);
  vin_sim_destroy(sim);
  return failed;
}
