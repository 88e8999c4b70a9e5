// simbody.cpp - Simbody: a chain is a tree of ball mobilizers (order-n recursions), a net is points
// joined by rod constraints.
#include "peer.h"

#include <Simbody.h>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

using namespace SimTK;

const char *const peer_name = "simbody";
const char *const peer_variants[] = {"euler", "verlet", "rk-merson", nullptr};

namespace {

const int constraint_limit = 200; // bodies of a net: constraints are solved with a dense matrix

struct Simulation {
  const peer_problem *problem;
  MultibodySystem system;
  SimbodyMatterSubsystem matter{system};
  GeneralForceSubsystem forces{system};
  std::vector<MobilizedBody> bodies; // one per rod of a chain, one per node of a net
  std::unique_ptr<Integrator> integrator;
  bool fixed_step;
};

void add_chain(Simulation &s) {
  const peer_body body = peer_rod_body(s.problem);
  const Vec3 centre(body.centre, 0, 0);
  const Inertia central(body.axial, body.transverse, body.transverse);
  // Mass properties are about the body's origin, which is its near end.
  const Body::Rigid rod(
      MassProperties(body.mass, centre, central.shiftFromMassCenter(-centre, body.mass)));
  for (int i = 0; i < s.problem->bodies; i++) {
    MobilizedBody parent = i > 0 ? s.bodies.back() : MobilizedBody(s.matter.Ground());
    s.bodies.push_back(MobilizedBody::Ball(parent, i > 0 ? Vec3(1, 0, 0) : Vec3(0), rod, Vec3(0)));
  }
}

void add_net(Simulation &s) {
  const peer_problem &problem = *s.problem;
  const Body::Rigid point(MassProperties(problem.node_mass, Vec3(0), Inertia(1e-3)));
  for (int i = 0; i < problem.nodes; i++) {
    const Vec3 place = Vec3::getAs(problem.position + 3 * i);
    if (problem.fixed[i])
      s.bodies.push_back(MobilizedBody::Weld(s.matter.Ground(), place, point, Vec3(0)));
    else
      s.bodies.push_back(MobilizedBody::Translation(s.matter.Ground(), place, point, Vec3(0)));
  }
  for (int r = 0; r < problem.rods; r++)
    Constraint::Rod(s.bodies[problem.rod[r][0]], Vec3(0), s.bodies[problem.rod[r][1]], Vec3(0), 1);
}

void set_velocities(const Simulation &s, State &state) {
  if (s.problem->kind != PEER_NET) return;
  for (int i = 0; i < s.problem->nodes; i++)
    if (!s.problem->fixed[i])
      s.bodies[i].setUFromVector(state, Vector(Vec3::getAs(s.problem->velocity + 3 * i)));
}

Integrator *make_integrator(const Simulation &s) {
  const Real h = s.problem->h;
  if (!std::strcmp(s.problem->variant, "euler"))
    return new SemiExplicitEulerIntegrator(s.system, h);
  Integrator *integrator;
  if (!std::strcmp(s.problem->variant, "verlet")) {
    integrator = new VerletIntegrator(s.system);
    integrator->setFixedStepSize(h);
  } else { // chooses its steps
    integrator = new RungeKuttaMersonIntegrator(s.system);
    integrator->setAccuracy(1e-5);
  }
  return integrator;
}

} // namespace

const char *peer_version() {
  static char version[32];
  int major, minor, build;
  SimTK_version_simbody(&major, &minor, &build);
  std::snprintf(version, sizeof version, "%d.%d.%d", major, minor, build);
  return version;
}

void *peer_create(const peer_problem *problem) {
  const bool net = problem->kind == PEER_NET;
  if (net && problem->bodies > constraint_limit)
    return peer_fail("too large: the matrix is dense (limit here: %d nodes)", constraint_limit);
  auto *s = new Simulation;
  s->problem = problem;
  s->fixed_step = std::strcmp(problem->variant, "rk-merson") != 0;
  try {
    Force::UniformGravity(s->forces, s->matter, Vec3::getAs(problem->gravity));
    if (net)
      add_net(*s);
    else
      add_chain(*s);
    State state = s->system.realizeTopology();
    set_velocities(*s, state);
    s->integrator.reset(make_integrator(*s));
    s->integrator->initialize(state);
    return s;
  } catch (const std::exception &error) {
    delete s;
    return peer_fail("%s", error.what());
  }
}

int64_t peer_advance(void *self, int steps) {
  auto *s = static_cast<Simulation *>(self);
  const int before = s->integrator->getNumStepsTaken();
  // Fixed steps end there, which is faster than to report there; the others shall not be cut.
  const Real end = s->integrator->getTime() + steps * s->problem->h;
  try {
    while (s->integrator->getTime() < end * (1 - 1e-12))
      s->integrator->stepTo(end, s->fixed_step ? end : Infinity);
  } catch (const std::exception &error) {
    peer_fail("%s", error.what());
    return -1;
  }
  return s->integrator->getNumStepsTaken() - before;
}

void peer_state(void *self, peer_rod_state *states) {
  auto *s = static_cast<Simulation *>(self);
  const peer_problem &problem = *s->problem;
  const State &state = s->integrator->getState();
  s->system.realize(state, Stage::Velocity);
  if (problem.kind != PEER_NET) {
    for (int r = 0; r < problem.rods; r++) {
      const MobilizedBody &rod = s->bodies[r];
      const Vec3 &axis = rod.getBodyRotation(state).x().asVec3();
      peer_rod_from_body(&rod.getBodyOriginLocation(state)[0], &rod.getBodyOriginVelocity(state)[0],
                         &rod.getBodyAngularVelocity(state)[0], &axis[0], &states[r]);
    }
    return;
  }
  std::vector<double> x(3 * problem.nodes), v(3 * problem.nodes);
  for (int i = 0; i < problem.nodes; i++) {
    Vec3::updAs(&x[3 * i]) = s->bodies[i].getBodyOriginLocation(state);
    Vec3::updAs(&v[3 * i]) = s->bodies[i].getBodyOriginVelocity(state);
  }
  peer_rods_from_nodes(&problem, x.data(), v.data(), states);
}

void peer_destroy(void *self) {
  delete static_cast<Simulation *>(self);
}
