/* ode.c - Open Dynamics Engine: rods are rigid bodies joined by ball joints, points are bodies
 * joined by double-ball (distance) joints. First order in h; joints may drift. */
#include "peer.h"

#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>

const char *const peer_name = "ode";
const char *const peer_variants[] = {"quick20", "step", NULL};

enum {
  QUICK_ITERATIONS = 20, /* ODE's default too */
  STEP_LIMIT = 200       /* bodies: dWorldStep factors a dense matrix of all constraint rows */
};

typedef struct simulation {
  const peer_problem *problem;
  dWorldID world;
  dBodyID *bodies; /* one per rod of a chain, one per free node of a net or point chain (else 0) */
  int rigid;       /* bodies are rods */
  int quick;
} simulation;

const char *peer_version(void) {
  static char version[32];
  const char *text = strstr(dGetConfiguration(), "ODE_double_precision") ? "double" : "single";
  snprintf(version, sizeof version, "%s (%s)", PEER_ODE_VERSION, text);
  return version;
}

static void add_rods(simulation *s) {
  peer_body body = peer_rod_body(s->problem);
  for (int r = 0; r < s->problem->rods; r++) {
    dMass mass;
    dMassSetParameters(&mass, body.mass, 0, 0, 0, body.axial, body.transverse, body.transverse, 0,
                       0, 0);
    s->bodies[r] = dBodyCreate(s->world);
    dBodySetPosition(s->bodies[r], r + body.centre, 0, 0);
    dBodySetMass(s->bodies[r], &mass);
    dJointID joint = dJointCreateBall(s->world, NULL);
    dJointAttach(joint, s->bodies[r], r > 0 ? s->bodies[r - 1] : NULL);
    dJointSetBallAnchor(joint, r, 0, 0);
  }
}

static void add_points(simulation *s) {
  const peer_problem *problem = s->problem;
  dMass mass; /* the joints act on the centre, so that the inertia does not enter */
  dMassSetSphereTotal(&mass, problem->node_mass, 0.1);
  for (int i = 0; i < problem->nodes; i++) {
    const double *x = problem->position + 3 * i, *v = problem->velocity + 3 * i;
    if (problem->fixed[i]) continue;
    s->bodies[i] = dBodyCreate(s->world);
    dBodySetPosition(s->bodies[i], x[0], x[1], x[2]);
    dBodySetLinearVel(s->bodies[i], v[0], v[1], v[2]);
    dBodySetMass(s->bodies[i], &mass);
  }
  for (int r = 0; r < problem->rods; r++) {
    int near = problem->rod[r][0], far = problem->rod[r][1];
    if (!s->bodies[far]) { /* the first body of a joint must be one */
      int swap = near;
      near = far;
      far = swap;
    }
    const double *a = problem->position + 3 * far, *b = problem->position + 3 * near;
    dJointID joint = dJointCreateDBall(s->world, NULL);
    dJointAttach(joint, s->bodies[far], s->bodies[near]);
    dJointSetDBallAnchor1(joint, a[0], a[1], a[2]);
    dJointSetDBallAnchor2(joint, b[0], b[1], b[2]);
  }
}

void *peer_create(const peer_problem *problem) {
  int quick = !strcmp(problem->variant, "quick20");
  if (!quick && problem->bodies > STEP_LIMIT)
    return peer_fail("too large: the matrix is dense (limit here: %d bodies)", STEP_LIMIT);
  simulation *s = calloc(1, sizeof *s);
  dInitODE2(0);
  s->problem = problem;
  s->quick = quick;
  s->rigid = problem->kind == PEER_CHAIN;
  s->bodies = calloc((size_t)problem->nodes, sizeof *s->bodies);
  s->world = dWorldCreate();
  dWorldSetGravity(s->world, problem->gravity[0], problem->gravity[1], problem->gravity[2]);
  dWorldSetQuickStepNumIterations(s->world, QUICK_ITERATIONS);
  if (s->rigid)
    add_rods(s);
  else
    add_points(s);
  return s;
}

int64_t peer_advance(void *self, int steps) {
  simulation *s = self;
  for (int i = 0; i < steps; i++) {
    int done =
        s->quick ? dWorldQuickStep(s->world, s->problem->h) : dWorldStep(s->world, s->problem->h);
    if (!done) {
      peer_fail("out of memory");
      return -1;
    }
  }
  return steps;
}

static void rods_state(const simulation *s, peer_rod_state *states) {
  double centre = peer_rod_body(s->problem).centre;
  for (int r = 0; r < s->problem->rods; r++) {
    const dReal *rotation = dBodyGetRotation(s->bodies[r]), *w = dBodyGetAngularVel(s->bodies[r]);
    double axis[3] = {rotation[0], rotation[4], rotation[8]}, omega[3] = {w[0], w[1], w[2]};
    dVector3 near, velocity;
    dBodyGetRelPointPos(s->bodies[r], -centre, 0, 0, near);
    dBodyGetRelPointVel(s->bodies[r], -centre, 0, 0, velocity);
    peer_rod_from_body(near, velocity, omega, axis, &states[r]);
  }
}

static void points_state(const simulation *s, peer_rod_state *states) {
  const peer_problem *problem = s->problem;
  size_t bytes = 3 * (size_t)problem->nodes * sizeof(double);
  double *x = malloc(bytes), *v = malloc(bytes);
  memcpy(x, problem->position, bytes);
  memcpy(v, problem->velocity, bytes);
  for (int i = 0; i < problem->nodes; i++) {
    if (!s->bodies[i]) continue;
    for (int d = 0; d < 3; d++) {
      x[3 * i + d] = dBodyGetPosition(s->bodies[i])[d];
      v[3 * i + d] = dBodyGetLinearVel(s->bodies[i])[d];
    }
  }
  peer_rods_from_nodes(problem, x, v, states);
  free(x);
  free(v);
}

void peer_state(void *self, peer_rod_state *states) {
  const simulation *s = self;
  if (s->rigid)
    rods_state(s, states);
  else
    points_state(s, states);
}

void peer_destroy(void *self) {
  simulation *s = self;
  if (!s) return;
  dWorldDestroy(s->world);
  dCloseODE();
  free(s->bodies);
  free(s);
}
