/* peer.h - what the programs in bench/peers share: command line, problems, diagnostics, output.
 *
 * Each peer is one program: a file that defines the peer_ functions below, and peer.c, which holds
 * main(). A problem is a graph of nodes and rods; a peer tells of its state where the two ends of
 * every rod are and how fast they move, so that energy, gaps and errors are computed in one way for
 * all of them, whatever coordinates a peer uses. */
#ifndef VINCULA_PEERS_PEER_H
#define VINCULA_PEERS_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum peer_case {
  PEER_CHAIN,       /* slender uniform rods of 1 m and 1 kg, joined end to end, node 0 fixed */
  PEER_CHAIN_POINT, /* the same with massless rods and 1 kg at the far end of each */
  PEER_NET,         /* grid of 1 kg points and massless rods of 1 m, two opposite corners fixed */
  PEER_PENDULUM     /* PEER_CHAIN_POINT with one link */
} peer_case;

/* Positions in m, velocities in m/s, 3 numbers per node. Rod i of a chain joins nodes i and i + 1,
 * and lies along x at the start. Every rod is 1 m long. */
typedef struct peer_problem {
  peer_case kind;
  const char *variant; /* one of peer_variants */
  int bodies;          /* links of a chain, nodes of a net */
  double h, t_end;     /* s */
  double gravity[3];   /* m/s^2 */
  int nodes, rods;
  double *position, *velocity; /* 3 * nodes, at the start */
  unsigned char *fixed;        /* nodes */
  int (*rod)[2];               /* rods: nodes at the near and far end */
  double rod_mass, node_mass;  /* kg */
} peer_problem;

/* A rod as one rigid body, for peers that have bodies: centre of mass at `centre` m from the near
 * end, principal moments of inertia about it. A slender rod has no moment about its own axis and a
 * point mass has none at all, which peers refuse; the substitutes do not enter the motion in a
 * plane (rod), or change it by 1e-6 (point). */
typedef struct peer_body {
  double mass, centre, axial, transverse;
} peer_body;
peer_body peer_rod_body(const peer_problem *problem);

/* State of a rod: position and velocity of both ends. */
typedef struct peer_rod_state {
  double near[3], far[3], near_velocity[3], far_velocity[3];
} peer_rod_state;

/* Fills states from positions and velocities of the nodes, 3 numbers per node. */
void peer_rods_from_nodes(const peer_problem *problem, const double *x, const double *v,
                          peer_rod_state *states);

/* Fills one state from the pose of a rigid body: position of the near end, velocity there, angular
 * velocity, unit vector to the far end; all in world axes. */
void peer_rod_from_body(const double *near, const double *near_velocity, const double *omega,
                        const double *axis, peer_rod_state *state);

/* Records why something failed, printf style; returns NULL. The first reason stays. */
void *peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- defined by each peer ----------------------------------------------------------------- */

extern const char *const peer_name;
extern const char *const peer_variants[]; /* names, the default first, ends with NULL */
/* Version of the library that is linked, or of its headers where it does not tell. */
const char *peer_version(void);
/* NULL after peer_fail(). The problem outlives the simulation. */
void *peer_create(const peer_problem *problem);
/* Goes on by `steps` steps of problem->h. Returns the number of steps that it took of its own
 * accord, -1 after peer_fail(). */
int64_t peer_advance(void *simulation, int steps);
/* The present state of all rods. Not timed. */
void peer_state(void *simulation, peer_rod_state *states);
void peer_destroy(void *simulation); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
