/* net.c - a square net, hung from two opposite corners, falls from the horizontal.
 *
 * Nodes on a grid of G x G, 1 m apart, are joined to their neighbours by rods of 1 m; each node has
 * 1 kg (--kind point) or each rod has (--kind rod). Every mesh is a closed loop, so the matrix
 * fills in, which makes a net a harder test of a solver than a chain.
 *
 * Why opposite corners? A straight row of rods between two fixed nodes would be one constraint too
 * many: G - 1 rods for the G - 2 free nodes between them. Why a breath of wind at the start? A net
 * that stays exactly symmetric folds into a position in which its rods lock: the constraints become
 * dependent, and no step is short enough. Real nets are not that symmetric. */
#include <math.h>
#include <stdlib.h>

#include "support/support.h"

enum { POINT, ROD };
static const char *const kinds[] = {"point", "rod", NULL};

/* Fills nodes (grid * grid of them, row by row) and returns the number of rods. */
static int build(vin_model *model, int grid, int kind, vin_node *nodes) {
  int rods = 0, last = grid - 1;
  double rod_mass = kind == ROD ? 1.0 : 0.0;

  vin_model_set_gravity(model, (const double[3]){0.0, 0.0, -9.81});
  for (int j = 0; j < grid; j++) {
    for (int i = 0; i < grid; i++) {
      int fixed = (i == 0 && j == 0) || (i == last && j == last);
      vin_node_desc node = {.position = {i, j, 0.0}, .fixed = fixed};
      if (!fixed) node.velocity[2] = 0.01 * sin(i + 2.0 * j); /* m/s: a breath of wind */
      if (kind == POINT) node.mass = 1.0;
      vin_node here = nodes[j * grid + i] = vin_model_add_node(model, &node);
      if (i > 0) {
        vin_node left = nodes[j * grid + i - 1];
        vin_model_add_rod(model, &(vin_rod_desc){.a = left, .b = here, .mass = rod_mass});
        rods++;
      }
      if (j > 0) {
        vin_node below = nodes[(j - 1) * grid + i];
        vin_model_add_rod(model, &(vin_rod_desc){.a = below, .b = here, .mass = rod_mass});
        rods++;
      }
    }
  }
  return rods;
}

/* Records hold nodes of the diagonal from one fixed corner to the other, at most RECORDED. */
enum { RECORDED = 200 };
static vin_int choose_recorded(const vin_model *model, int grid, const vin_node *nodes,
                               vin_int *positions) {
  int inner = grid - 2, count = inner < RECORDED ? inner : RECORDED;
  for (int k = 0; k < count; k++) {
    int i = 1 + (int)((int64_t)k * inner / count);
    vin_int first = vin_model_node_position(model, nodes[i * grid + i]);
    for (int d = 0; d < 3; d++) positions[3 * k + d] = first + d;
  }
  return 3 * count;
}

int main(int argc, char **argv) {
  int grid = 30, kind = POINT;
  const ex_extra extra[] = {{"--grid", "nodes along each side", &grid, 3, 10000, NULL},
                            {"--kind", "point masses or slender rods", &kind, 0, 0, kinds},
                            {0}};
  ex_options options =
      ex_options_default("net", "a net, hung from two opposite corners, falls", 1e-3, 2.0);
  options.sim.max_halvings = 5; /* when the net whips, a step may need to be shorter */
  ex_parse(&options, extra, argc, argv);

  vin_node *nodes = malloc((size_t)grid * (size_t)grid * sizeof *nodes);
  if (!nodes) return ex_fail(&options, VIN_ERR_NO_MEMORY, NULL);
  vin_model *model = vin_model_create(NULL);
  int rods = build(model, grid, kind, nodes);

  vin_int positions[3 * RECORDED];
  vin_recorder_options record = vin_recorder_options_default();
  record.positions = positions;
  record.position_count = choose_recorded(model, grid, nodes, positions);

  vin_sim *sim = NULL;
  vin_status status = vin_sim_create(&sim, model, &options.sim);
  vin_model_destroy(model);
  free(nodes);

  ex_monitor monitor = {.options = &options};
  if (status == VIN_OK) status = ex_monitor_start(&monitor, sim, record);
  if (status == VIN_OK) status = vin_sim_run(sim, options.end);

  vin_plot_options plot = vin_plot_options_default();
  plot.kind = VIN_PLOT_SHAPES; /* the diagonal at a few times, x to the right and z upwards */
  plot.title = "A falling net: the diagonal between the fixed corners";
  if (status == VIN_OK) status = ex_monitor_finish(&monitor, plot);

  if (status == VIN_OK) {
    ex_result *result = &monitor.result;
    result->size_name = "grid";
    result->size = grid;
    result->count_name = "links";
    result->count = rods;
    result->kind = kinds[kind];
  }
  int failed = ex_monitor_conclude(&monitor, status, sim);
  vin_sim_destroy(sim);
  return failed;
}
