/* scenes.c - the chain and the net of the examples. */
#include "scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_scenes[] = {"chain-point", "chain-rod", "net-point", "net-rod", NULL};

static void build_chain(vin_model *model, int links, int massive) {
  vin_node last = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int i = 1; i <= links; i++) {
    vin_node next = vin_model_add_node(
        model, &(vin_node_desc){.position = {i, 0.0, 0.0}, .mass = massive ? 0.0 : 1.0});
    vin_model_add_rod(
        model, &(vin_rod_desc){.a = last, .b = next, .length = 1.0, .mass = massive ? 1.0 : 0.0});
    last = next;
  }
}

static void add_rod(vin_model *model, vin_node a, vin_node b, int massive) {
  vin_model_add_rod(model, &(vin_rod_desc){.a = a, .b = b, .mass = massive ? 1.0 : 0.0});
}

static void build_net(vin_model *model, int grid, int massive) {
  vin_node *nodes = bench_alloc((size_t)grid * (size_t)grid, sizeof *nodes);
  int last = grid - 1;
  for (int j = 0; j < grid; j++) {
    for (int i = 0; i < grid; i++) {
      int fixed = (i == 0 && j == 0) || (i == last && j == last);
      vin_node_desc node = {.position = {i, j, 0.0}, .fixed = fixed};
      if (!fixed) node.velocity[2] = 0.01 * sin(i + 2.0 * j); /* m/s */
      if (!massive) node.mass = 1.0;
      vin_node here = nodes[j * grid + i] = vin_model_add_node(model, &node);
      if (i > 0) add_rod(model, nodes[j * grid + i - 1], here, massive);
      if (j > 0) add_rod(model, nodes[(j - 1) * grid + i], here, massive);
    }
  }
  free(nodes);
}

/* Three unit masses on unit tethers, 20 from a centre of attraction, the third swings (energy 0). */
static void build_triangle(vin_model *model) {
  static const double p[3][3] = {{0, 0.5, 20}, {0, -0.5, 20}, {0, 0, 20 - 0.8660254037844386}};
  double energy = 0;
  vin_node node[3];
  for (int i = 0; i < 3; i++) energy -= 1 / sqrt(p[i][1] * p[i][1] + p[i][2] * p[i][2]);
  for (int i = 0; i < 3; i++) {
    vin_node_desc desc = {.mass = 1, .position = {p[i][0], p[i][1], p[i][2]}};
    if (i == 2) desc.velocity[0] = sqrt(-2 * energy);
    node[i] = vin_model_add_node(model, &desc);
  }
  for (int i = 0; i < 3; i++) {
    vin_model_add_rod(model, &(vin_rod_desc){.a = node[i], .b = node[(i + 1) % 3], .length = 1});
  }
  vin_model_set_central_gravity(model, 1, NULL);
}

vin_model *bench_scene_create(const char *scene, int *bodies) {
  vin_model *model = vin_model_create(NULL);
  if (strcmp(scene, "triangle") == 0) {
    *bodies = 3;
    build_triangle(model);
    return model;
  }
  int massive = strstr(scene, "rod") != NULL, net = strncmp(scene, "net", 3) == 0;
  vin_model_set_gravity(model, (const double[3]){0.0, net ? 0.0 : -9.81, net ? -9.81 : 0.0});
  if (net) {
    int grid = (int)lround(sqrt((double)*bodies));
    if (grid < 3) grid = 3;
    *bodies = grid * grid;
    build_net(model, grid, massive);
  } else {
    build_chain(model, *bodies, massive);
  }
  return model;
}
