/* model - the builder: what add_node() and its siblings record. compiled.h holds what evaluates. */
#ifndef VINI_MODEL_H
#define VINI_MODEL_H

#include "base/base.h"
#include "vincula/model.h"

/* Where the three coordinates of a node are: a place k >= 0 is an index into p and v, a place k < 0
 * stands for index ~k into the array of fixed coordinates. */
typedef struct vini_node {
  double position[3], velocity[3];
  double mass;   /* kg, the point mass */
  vin_int place; /* see above */
  vin_int name;  /* start in vin_model.names, or -1 */
} vini_node;

typedef struct vini_rod {
  double length, mass;
  vin_int a, b; /* node numbers */
  vin_int name;
} vini_rod;

typedef struct vini_spring {
  double stiffness, length, damping;
  vin_int a, b;
  vin_int name;
} vini_spring;

struct vin_model {
  vini_object object;
  vin_status status; /* first failure while building; it sticks, and so does the text */
  vini_node *node;
  vini_rod *rod;
  vini_spring *spring;
  char *names; /* all names, each with its final zero */
  vin_int nodes, rods, springs, names_size;
  vin_int node_capacity, rod_capacity, spring_capacity, names_capacity;
  vin_int free_nodes, fixed_nodes; /* nodes = free_nodes + fixed_nodes */
  double gravity[3];               /* m/s^2 */
  double mu, centre[3];            /* m^3/s^2; 0: no central gravity */
};

/* Most nodes of a model: their coordinates are numbered with vin_int. */
#define VINI_MODEL_MAX_NODES (INT32_MAX / 3)

/* Longest label that goes into a message, "rod 'left'"; longer names are cut. */
#define VINI_LABEL_SIZE 96

/* Who a message is about. A label is made of it only when something fails: formatting a million
 * labels would take longer than building the model. */
typedef struct vini_owner {
  const char *kind; /* "rod" */
  vin_int index;    /* 7; -1: none */
  const char *name; /* "left", or NULL */
} vini_owner;

/* Writes "rod 'left'", "rod 7" or "gravity"; returns text. */
const char *vini_label(char *text, size_t size, vini_owner owner);
/* The same for a node of the model. */
const char *vini_node_label(char *text, size_t size, const vin_model *model, vin_int node);
/* Name at a place of the name store; NULL for -1. */
const char *vini_model_name(const vin_model *model, vin_int name);

/* Refuses the input: "<owner>: <message>" becomes the text of the model, and its status sticks. */
__attribute__((format(printf, 3, 4))) void vini_model_refuse(vin_model *model, vini_owner owner,
                                                             const char *format, ...);

/* false, with the failure recorded in the model: no memory or too many. */
bool vini_model_reserve(vin_model *model, void **array, vin_int count, vin_int more,
                        vin_int *capacity, size_t element_size, const char *what);

/* true when the values are finite; otherwise they are refused, naming quantity and unit. */
bool vini_model_check_vector(vin_model *model, vini_owner owner, const char *what,
                             const double x[3], const char *unit);
/* the same for one finite value >= 0 */
bool vini_model_check_amount(vin_model *model, vini_owner owner, const char *what, double x,
                             const char *unit);

#endif
