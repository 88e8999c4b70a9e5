/* chain.c - a chain that hangs from one end is released from the horizontal.
 *
 * Each link is 1 m long and has 1 kg: either a point mass at the end of a rod without mass (--kind
 * point), or a slender uniform rod (--kind rod). The first link is fixed at the origin, the chain
 * lies along x, gravity acts along -y. A chain of N links has 3 N positions and N constraints, and
 * one step costs a time proportional to N. */
#include <math.h>
#include <stdio.h>

#include "support/support.h"

enum { POINT, ROD };
static const char *const kinds[] = {"point", "rod", NULL};

static void build(vin_model *model, int links, int kind) {
  vin_model_set_gravity(model, (const double[3]){0.0, -9.81, 0.0});
  vin_node last = vin_model_add_node(model, &(vin_node_desc){.fixed = 1, .name = "anchor"});
  for (int i = 1; i <= links; i++) {
    vin_node next = vin_model_add_node(
        model, &(vin_node_desc){.position = {i, 0.0, 0.0}, .mass = kind == POINT ? 1.0 : 0.0});
    vin_model_add_rod(
        model,
        &(vin_rod_desc){.a = last, .b = next, .length = 1.0, .mass = kind == ROD ? 1.0 : 0.0});
    last = next;
  }
}

/* Records and plots need not hold every node. Far from the fixed end the chain falls straight; the
 * bent part grows like links^(1/3) t^(4/3), as runs with 50 to 100 000 links show. It is recorded
 * with some more, at most RECORDED nodes of it. Free nodes have 3 positions each in p, in order. */
enum { RECORDED = 200 };
static vin_int choose_recorded(int links, double t, vin_int *positions) {
  int shown = (int)fmin(links, 10.0 + 4.0 * cbrt(links * pow(t, 4.0)));
  int count = shown < RECORDED ? shown : RECORDED;
  for (int k = 0; k < count; k++) {
    int node = (int)((int64_t)(k + 1) * shown / count) - 1;
    for (int d = 0; d < 3; d++) positions[3 * k + d] = 3 * node + d;
  }
  return 3 * count;
}

int main(int argc, char **argv) {
  int links = 1000, kind = POINT;
  const ex_extra extra[] = {{"--links", "number of links", &links, 1, 10000000, NULL},
                            {"--kind", "point masses or slender rods", &kind, 0, 0, kinds},
                            {0}};
  ex_options options = ex_options_default(
      "chain", "a chain, fixed at one end, falls from the horizontal", 1e-3, 1.0);
  ex_parse(&options, extra, argc, argv);

  /* The first error in building sticks to the model, and vin_sim_create() reports it. */
  vin_model *model = vin_model_create(NULL);
  build(model, links, kind);
  vin_sim *sim = NULL;
  vin_status status = vin_sim_create(&sim, model, &options.sim);
  vin_model_destroy(model);

  vin_int positions[3 * RECORDED];
  vin_recorder_options record = vin_recorder_options_default();
  record.positions = positions;
  record.position_count = choose_recorded(links, options.end, positions);

  ex_monitor monitor = {.options = &options};
  if (status == VIN_OK) status = ex_monitor_start(&monitor, sim, record);
  if (status == VIN_OK) status = vin_sim_run(sim, options.end);

  vin_plot_options plot = vin_plot_options_default();
  plot.kind = VIN_PLOT_SHAPES; /* the part near the fixed end, at a few times */
  plot.title = "A falling chain, near its fixed end";
  plot.vertical = 1; /* y upwards */
  if (status == VIN_OK) status = ex_monitor_finish(&monitor, plot);

  if (status == VIN_OK) {
    ex_result *result = &monitor.result;
    result->count_name = "links";
    result->count = links;
    result->kind = kinds[kind];
    if (kind == POINT) { /* known to 15 digits for 10 and 50 links at some times */
      char file[64];
      vin_state_view end = vin_sim_state(sim);
      snprintf(file, sizeof file, "hamiltonian/chain_N%d_unitlinks.csv", links);
      result->error = ex_reference_error(file, &end, 3, 2);
    }
  }
  int failed = ex_monitor_conclude(&monitor, status, sim);
  vin_sim_destroy(sim);
  return failed;
}
