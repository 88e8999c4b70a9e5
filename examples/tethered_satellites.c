/* tethered_satellites.c - three satellites, tied to each other by three rods, fall round a planet.
 *
 * All numbers are dimensionless: unit masses, unit rods, gravity V = -1/r. The two upper satellites
 * start at rest, the lower one with a speed that makes the total energy zero. The problem is from
 * the fourth table of the HBVM benchmarks (docs/theory.md). */
#include <math.h>
#include <stdio.h>

#include "support/support.h"

static void build(vin_model *model) {
  double depth = sqrt(3.0) / 2.0; /* height of a triangle with unit sides */
  double speed = sqrt(2.0 * (2.0 / sqrt(400.25) + 1.0 / (20.0 - depth)));

  vin_node left = vin_model_add_node(
      model, &(vin_node_desc){.position = {0.0, 0.5, 20.0}, .mass = 1.0, .name = "left"});
  vin_node right = vin_model_add_node(
      model, &(vin_node_desc){.position = {0.0, -0.5, 20.0}, .mass = 1.0, .name = "right"});
  vin_node lower = vin_model_add_node(model, &(vin_node_desc){.position = {0.0, 0.0, 20.0 - depth},
                                                              .velocity = {speed, 0.0, 0.0},
                                                              .mass = 1.0,
                                                              .name = "lower"});
  vin_model_add_rod(model, &(vin_rod_desc){.a = left, .b = right, .length = 1.0});
  vin_model_add_rod(model, &(vin_rod_desc){.a = right, .b = lower, .length = 1.0});
  vin_model_add_rod(model, &(vin_rod_desc){.a = lower, .b = left, .length = 1.0});

  /* The planet: mu = 1 at the origin. */
  vin_model_set_central_gravity(model, 1.0, NULL);
}

int main(int argc, char **argv) {
  ex_options options = ex_options_default(
      "tethered_satellites", "three satellites joined by rods fall round a planet", 0.05, 100.0);
  ex_parse(&options, NULL, argc, argv);

  /* The first error in building sticks to the model, and vin_sim_create() reports it. */
  vin_model *model = vin_model_create(NULL);
  build(model);

  /* Checks, ordering and all allocation happen here; the sim keeps what it needs of the model. */
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create(&sim, model, &options.sim);
  vin_model_destroy(model);

  ex_monitor monitor = {.options = &options};
  if (status == VIN_OK) status = ex_monitor_start(&monitor, sim, vin_recorder_options_default());
  if (status == VIN_OK) status = vin_sim_run(sim, options.end);

  vin_plot_options plot = vin_plot_options_default(); /* the paths, x to the right and z upwards */
  plot.title = "Three tethered satellites";
  plot.dimensionless = 1;
  if (status == VIN_OK) status = ex_monitor_finish(&monitor, plot);

  if (status == VIN_OK) {
    vin_state_view end = vin_sim_state(sim);
    monitor.result.error = ex_reference_error("hamiltonian/tethered_triangle.csv", &end, 3, 3);
    monitor.result.dimensionless = 1;
  }
  int failed = ex_monitor_conclude(&monitor, status, sim);
  vin_sim_destroy(sim);
  return failed;
}
