// consumer.cpp - the same pendulum in C++17: exit status 0 after ten steps.
#include <vincula/vincula.h>

#include <cstdio>

int main() {
  vin_model *model = vin_model_create(nullptr);
  const double gravity[3] = {0, 0, -9.81};
  vin_model_set_gravity(model, gravity);
  vin_node_desc pivot{}, bob{};
  pivot.fixed = 1;
  bob.position[0] = 1;
  vin_rod_desc rod{};
  rod.a = vin_model_add_node(model, &pivot);
  rod.b = vin_model_add_node(model, &bob);
  rod.mass = 1;
  vin_model_add_rod(model, &rod);
  vin_options options = vin_options_default();
  vin_sim *sim = nullptr;
  vin_status status = vin_sim_create(&sim, model, &options);
  for (int k = 0; status == VIN_OK && k < 10; k++) status = vin_sim_step(sim);
  if (status != VIN_OK)
    std::fprintf(stderr, "%s: %s\n", vin_status_name(status), vin_sim_error(sim));
  vin_sim_destroy(sim);
  vin_model_destroy(model);
  return status == VIN_OK ? 0 : 1;
}
