/* vincula.c - rattle, on nodes joined by rods. */
#include "peer.h"

#include <stdlib.h>
#include <vincula/vincula.h>

const char *const peer_name = "vincula";
const char *const peer_variants[] = {"rattle", NULL};

typedef struct simulation {
  const peer_problem *problem;
  vin_sim *sim;
  double *x, *v; /* of all nodes, the fixed ones too */
} simulation;

const char *peer_version(void) {
  return vin_version();
}

static void build(vin_model *model, const peer_problem *problem, vin_node *nodes) {
  vin_model_set_gravity(model, problem->gravity);
  for (int i = 0; i < problem->nodes; i++) {
    vin_node_desc node = {.fixed = problem->fixed[i], .mass = problem->node_mass};
    for (int d = 0; d < 3; d++) {
      node.position[d] = problem->position[3 * i + d];
      node.velocity[d] = problem->velocity[3 * i + d];
    }
    nodes[i] = vin_model_add_node(model, &node);
  }
  for (int r = 0; r < problem->rods; r++) {
    const int *ends = problem->rod[r];
    vin_rod_desc rod = {
        .a = nodes[ends[0]], .b = nodes[ends[1]], .length = 1.0, .mass = problem->rod_mass};
    vin_model_add_rod(model, &rod);
  }
}

void peer_destroy(void *self) {
  simulation *s = self;
  if (!s) return;
  vin_sim_destroy(s->sim);
  free(s->x);
  free(s->v);
  free(s);
}

void *peer_create(const peer_problem *problem) {
  size_t coordinates = 3 * (size_t)problem->nodes;
  simulation *s = calloc(1, sizeof *s);
  if (!s) return peer_fail("out of memory");
  s->problem = problem;
  s->x = calloc(coordinates, sizeof *s->x);
  s->v = calloc(coordinates, sizeof *s->v);
  vin_node *nodes = calloc((size_t)problem->nodes, sizeof *nodes);
  vin_model *model = vin_model_create(NULL);
  vin_options options = vin_options_default();
  options.step = problem->h;
  options.max_halvings = 5; /* when a net whips, a step may need to be shorter */
  if (s->x && s->v && nodes) {
    build(model, problem, nodes);
    if (vin_sim_create(&s->sim, model, &options)) peer_fail("%s", vin_sim_error(s->sim));
  } else {
    peer_fail("out of memory");
  }
  vin_model_destroy(model);
  free(nodes);
  if (s->sim && vin_sim_state(s->sim).n > 0) return s;
  peer_destroy(s);
  return peer_fail("could not create the simulation");
}

int64_t peer_advance(void *self, int steps) {
  simulation *s = self;
  int64_t before = vin_sim_get_stats(s->sim).steps;
  for (int i = 0; i < steps; i++) {
    if (vin_sim_step(s->sim)) {
      peer_fail("%s", vin_sim_error(s->sim));
      return -1;
    }
  }
  return vin_sim_get_stats(s->sim).steps - before;
}

void peer_state(void *self, peer_rod_state *states) {
  simulation *s = self;
  vin_state_view view = vin_sim_state(s->sim);
  for (int i = 0, k = 0; i < s->problem->nodes; i++) {
    for (int d = 0; d < 3; d++) {
      int fixed = s->problem->fixed[i];
      s->x[3 * i + d] = fixed ? s->problem->position[3 * i + d] : view.p[k];
      s->v[3 * i + d] = fixed ? 0.0 : view.v[k];
      if (!fixed) k++;
    }
  }
  peer_rods_from_nodes(s->problem, s->x, s->v, states);
}
