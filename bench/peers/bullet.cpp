// bullet.cpp - Bullet's btMultiBody: Featherstone's articulated body algorithm on a tree of
// spherical joints. First order in h (semi-implicit Euler); joints are exact; Debian's build
// computes in single precision.
#include "peer.h"

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <btBulletDynamicsCommon.h>
#include <cstdio>
#include <memory>

const char *const peer_name = "bullet";
const char *const peer_variants[] = {"multibody", nullptr};

namespace {

struct Simulation {
  const peer_problem *problem;
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  btDbvtBroadphase broadphase;
  btMultiBodyConstraintSolver solver;
  btMultiBodyDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};
  std::unique_ptr<btMultiBody> chain;
};

void build(Simulation &s) {
  const peer_problem &problem = *s.problem;
  const peer_body body = peer_rod_body(&problem);
  const bool fixed_base = true, can_sleep = false;
  s.chain.reset(new btMultiBody(problem.bodies, 0, btVector3(0, 0, 0), fixed_base, can_sleep));

  const btVector3 inertia(body.axial, body.transverse, body.transverse);
  const btVector3 centre(body.centre, 0, 0), to_far_end(btVector3(1, 0, 0) - centre);
  for (int i = 0; i < problem.bodies; i++)
    s.chain->setupSpherical(i, body.mass, inertia, i - 1, btQuaternion::getIdentity(),
                            i > 0 ? to_far_end : btVector3(0, 0, 0), centre, true);
  s.chain->setHasSelfCollision(false);
  s.chain->setLinearDamping(0); // the defaults damp, and limit velocities to 100
  s.chain->setAngularDamping(0);
  s.chain->setMaxCoordinateVelocity(1e6);
  s.chain->setUseGyroTerm(true);
  s.chain->finalizeMultiDof();

  s.world.setGravity(btVector3(problem.gravity[0], problem.gravity[1], problem.gravity[2]));
  s.world.addMultiBody(s.chain.get());
}

void to_array(const btVector3 &v, double *a) {
  for (int d = 0; d < 3; d++) a[d] = v[d];
}

} // namespace

const char *peer_version() {
  static char version[32];
  std::snprintf(version, sizeof version, "%d.%d (%s)", btGetVersion() / 100, btGetVersion() % 100,
                sizeof(btScalar) == 4 ? "single" : "double");
  return version;
}

void *peer_create(const peer_problem *problem) {
  if (problem->kind == PEER_NET) return peer_fail("btMultiBody has no distance constraint");
  auto *s = new Simulation;
  s->problem = problem;
  build(*s);
  return s;
}

int64_t peer_advance(void *self, int steps) {
  auto *s = static_cast<Simulation *>(self);
  const int no_substeps = 0;
  for (int i = 0; i < steps; i++) s->world.stepSimulation(s->problem->h, no_substeps);
  return steps;
}

void peer_state(void *self, peer_rod_state *states) {
  auto *s = static_cast<Simulation *>(self);
  const int links = s->problem->bodies;
  const btScalar centre = peer_rod_body(s->problem).centre;
  btAlignedObjectArray<btQuaternion> rotations;
  btAlignedObjectArray<btVector3> origins, omega, velocity; // omega, velocity: in link axes
  omega.resize(links + 1);
  velocity.resize(links + 1);
  s->chain->forwardKinematics(rotations, origins);
  s->chain->compTreeLinkVelocities(&omega[0], &velocity[0]);
  for (int i = 0; i < links; i++) {
    const btTransform &pose = s->chain->getLink(i).m_cachedWorldTransform;
    const btMatrix3x3 &axes = pose.getBasis();
    const btVector3 arm(-centre, 0, 0);
    double near[3], near_velocity[3], w[3], axis[3];
    to_array(pose * arm, near);
    to_array(axes * (velocity[i + 1] + omega[i + 1].cross(arm)), near_velocity);
    to_array(axes * omega[i + 1], w);
    to_array(axes.getColumn(0), axis);
    peer_rod_from_body(near, near_velocity, w, axis, &states[i]);
  }
}

void peer_destroy(void *self) {
  auto *s = static_cast<Simulation *>(self);
  if (!s) return;
  s->world.removeMultiBody(s->chain.get());
  delete s;
}
