/* consumer.c - a pendulum of one rod through the installed library: status 0 after ten steps. */
#include <vincula/vincula.h>

#include <stdio.h>

int main(void) {
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node pivot = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  vin_node bob = vin_model_add_node(model, &(vin_node_desc){.position = {1, 0, 0}});
  vin_model_add_rod(model, &(vin_rod_desc){.a = pivot, .b = bob, .mass = 1.0});
  vin_options options = vin_options_default();
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create(&sim, model, &options);
  for (int k = 0; status == VIN_OK && k < 10; k++) status = vin_sim_step(sim);
  if (status != VIN_OK) fprintf(stderr, "%s: %s\n", vin_status_name(status), vin_sim_error(sim));
  vin_sim_destroy(sim);
  vin_model_destroy(model);
  return status == VIN_OK ? 0 : 1;
}
