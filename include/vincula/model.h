/* vincula/model.h - nodes, rods, springs and gravity; compiled to a vin_system.
 *
 * Units are the user's, consistently (SI in the texts: m, kg, s, N). Every free node has 3
 * positions (x, y, z), in the order in which the nodes were added. Every rod is one constraint,
 * (|d|^2 - L^2) / (2 L) = 0 in m; its multiplier is the tension in N (> 0: the rod pulls). */
#ifndef VINCULA_MODEL_H
#define VINCULA_MODEL_H

#include "vincula/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_model vin_model;

/* Typed ids: index < 0 stands for "none", which is what a failed add returns. */
typedef struct vin_node {
  vin_int index;
} vin_node;
typedef struct vin_rod {
  vin_int index;
} vin_rod;
typedef struct vin_spring {
  vin_int index;
} vin_spring;

typedef struct vin_node_desc {
  double position[3]; /* m */
  double velocity[3]; /* m/s; must be zero for a fixed node */
  double mass;        /* kg; >= 0; 0 is right where slender rods bring mass; unused when fixed */
  int fixed;          /* 1: bound to its position */
  const char *name;   /* for messages and columns; copied; NULL or "": messages say "node 7" */
} vin_node_desc;

typedef struct vin_rod_desc {
  vin_node a, b;    /* at least one of them free, and not at the same place */
  double length;    /* m; 0: the distance of a and b when the rod is added */
  double mass;      /* kg; 0: massless; > 0: uniform slender rod, consistent mass m/6 [2 1; 1 2] */
  const char *name; /* NULL: "rod 7" */
} vin_rod_desc;

/** At length 0 a spring has no direction: its force is zero there, whatever its tension. */
typedef struct vin_spring_desc {
  vin_node a, b;
  double stiffness; /* N/m, >= 0 */
  double length;    /* m, rest length, >= 0 */
  int at_rest;      /* 1: ignore length, take the distance of a and b when the spring is added */
  double damping;   /* N s/m along the axis, >= 0 */
  const char *name; /* NULL: "spring 7" */
} vin_spring_desc;

/** Never NULL unless memory is out (a bad context is the model's first error); all functions accept
 *  NULL. The context's allocator serves the model and the systems compiled from it. */
VIN_API vin_model *vin_model_create(const vin_context *context);
VIN_API void vin_model_destroy(vin_model *model);

/** The first error of building sticks: later calls do nothing and compile (or vin_sim_create)
 * reports it. An error that compile itself finds leaves a text, but does not stick: add what is
 * missing and compile again. */
VIN_API vin_status vin_model_status(const vin_model *model);
VIN_API const char *vin_model_error(const vin_model *model);

/** Each copies its description and returns an id, -1 after a failure: NaN or infinite numbers,
 * negative masses, lengths, stiffnesses or damping, ends that do not exist or are the same node, a
 * rod between fixed nodes or nodes at the same place (VIN_ERR_BAD_INPUT); more than INT32_MAX / 3
 * nodes (VIN_ERR_TOO_LARGE); VIN_ERR_NO_MEMORY. O(1) on average. */
VIN_API vin_node vin_model_add_node(vin_model *model, const vin_node_desc *desc);
VIN_API vin_rod vin_model_add_rod(vin_model *model, const vin_rod_desc *desc);
VIN_API vin_spring vin_model_add_spring(vin_model *model, const vin_spring_desc *desc);

/** Uniform gravity in m/s^2, on every mass; the last call counts. */
VIN_API void vin_model_set_gravity(vin_model *model, const double acceleration[3]);
/** Newtonian attraction to a fixed centre: V = -mu m / |r - centre|, mu = G M in m^3/s^2, >= 0; a
 *  slender rod is integrated with 3 Gauss points. centre NULL: the origin; mu = 0: none. A mass at
 * the centre when it starts is an error of compile, later it makes the force callback ask for a
 * smaller step. Costs 36 tangent entries (288 bytes) per slender rod. */
VIN_API void vin_model_set_central_gravity(vin_model *model, double mu, const double centre[3]);

/** How many were added, fixed nodes included. */
VIN_API vin_int vin_model_nodes(const vin_model *model);
VIN_API vin_int vin_model_rods(const vin_model *model);
/** First of the node's three positions in p, or -1 for a fixed or unknown node. */
VIN_API vin_int vin_model_node_position(const vin_model *model, vin_node node);
/** Row of the rod's constraint, or -1. */
VIN_API vin_int vin_model_rod_constraint(const vin_model *model, vin_rod rod);
/** First node with that name (names may repeat); index -1 when there is none. O(nodes). */
VIN_API vin_node vin_model_find_node(const vin_model *model, const char *name);

/** Checks the whole model and builds the system, which may serve many sims in many threads and is
 *  the caller's to destroy. The model may be changed or destroyed afterwards. O(nodes + rods + springs).
 *  Errors (text in the model, *system is NULL): a free node without mass, no free node at all, a
 * mass at the centre of gravity; VIN_ERR_TOO_LARGE; VIN_ERR_NO_MEMORY. */
VIN_API vin_status vin_model_compile(vin_model *model, vin_system **system);

/** Start values as declared: p, v (3 per free node). Fails like the first error, without a text. */
VIN_API vin_status vin_model_start(const vin_model *model, double *p, double *v);

#ifdef __cplusplus
}
#endif
#endif
