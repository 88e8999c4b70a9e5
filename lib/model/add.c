/* model - adding nodes, rods and springs: everything is checked where it is given. */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Lengths of rods, m: their squares neither underflow nor overflow, with a wide margin. */
#define MIN_ROD_LENGTH 1e-150
#define MAX_ROD_LENGTH 1e150

static double distance(const vini_node *a, const vini_node *b) {
  /* hypot: no overflow or underflow on the way */
  return hypot(hypot(b->position[0] - a->position[0], b->position[1] - a->position[1]),
               b->position[2] - a->position[2]);
}

/* Copies a name into the store. *place is -1 for no name (NULL or empty). */
static bool store_name(vin_model *model, const char *name, vin_int *place) {
  *place = -1;
  if (name == NULL || name[0] == 0) return true;
  const size_t size = strlen(name) + 1;
  if (size > INT32_MAX) {
    model->status =
        vini_fail(&model->object, VIN_ERR_TOO_LARGE, "a name of %zu bytes is too long", size);
    return false;
  }
  if (!vini_model_reserve(model, (void **)&model->names, model->names_size, (vin_int)size,
                          &model->names_capacity, 1, "bytes of names"))
    return false;
  memcpy(model->names + model->names_size, name, size);
  *place = model->names_size;
  model->names_size += (vin_int)size;
  return true;
}

/* Whether an element may be added: no earlier failure, and there is a description. */
static bool may_add(vin_model *model, const void *desc, vini_owner owner) {
  if (model == NULL || model->status != VIN_OK) return false;
  if (desc == NULL) vini_model_refuse(model, owner, "its description is NULL");
  return desc != NULL;
}

vin_node vin_model_add_node(vin_model *model, const vin_node_desc *desc) {
  const vin_node none = {-1};
  const vini_owner owner = {"node", vin_model_nodes(model), desc == NULL ? NULL : desc->name};
  if (!may_add(model, desc, owner) ||
      !vini_model_check_vector(model, owner, "position", desc->position, "m") ||
      !vini_model_check_vector(model, owner, "velocity", desc->velocity, "m/s") ||
      !vini_model_check_amount(model, owner, "mass", desc->mass, "kg"))
    return none;
  for (int i = 0; desc->fixed && i < 3; i++) {
    if (desc->velocity[i] == 0.0) continue;
    char value[32];
    vini_model_refuse(model, owner, "it is fixed, but %c of its velocity is %s m/s", "xyz"[i],
                      vini_format_number(value, sizeof value, desc->velocity[i], 6));
    return none;
  }
  if (model->nodes >= VINI_MODEL_MAX_NODES) {
    model->status =
        vini_fail(&model->object, VIN_ERR_TOO_LARGE,
                  "a model has at most %d nodes of 3 coordinates", VINI_MODEL_MAX_NODES);
    return none;
  }
  vini_node node = {.mass = desc->mass};
  memcpy(node.position, desc->position, sizeof node.position);
  memcpy(node.velocity, desc->velocity, sizeof node.velocity);
  if (!store_name(model, desc->name, &node.name) ||
      !vini_model_reserve(model, (void **)&model->node, model->nodes, 1, &model->node_capacity,
                          sizeof *model->node, "nodes"))
    return none;
  node.place = desc->fixed ? ~(3 * model->fixed_nodes++) : 3 * model->free_nodes++;
  model->node[model->nodes] = node;
  return (vin_node){model->nodes++};
}

/* Both ends are nodes of the model and differ. */
static bool check_ends(vin_model *model, vini_owner owner, vin_node a, vin_node b) {
  const vin_int index[2] = {a.index, b.index};
  for (int i = 0; i < 2; i++) {
    if (index[i] >= 0 && index[i] < model->nodes) continue;
    vini_model_refuse(model, owner, "end %c is node %d, but the model has %d nodes", "ab"[i],
                      (int)index[i], (int)model -> nodes);
    return false;
  }
  if (a.index != b.index) return true;
  char node[VINI_LABEL_SIZE];
  vini_model_refuse(model, owner, "it joins %s to itself",
                    vini_node_label(node, sizeof node, model, a.index));
  return false;
}

/* Refuses a rod because of its two ends; problem completes "its ends, node 1 and node 2, ...". */
static void refuse_ends(vin_model *model, vini_owner owner, const vin_rod_desc *desc,
                        const char *problem) {
  char a[VINI_LABEL_SIZE], b[VINI_LABEL_SIZE];
  vini_model_refuse(model, owner, "its ends, %s and %s, are %s",
                    vini_node_label(a, sizeof a, model, desc->a.index),
                    vini_node_label(b, sizeof b, model, desc->b.index), problem);
}

/* *length: the given one, or the distance of the nodes. */
static bool rod_length(vin_model *model, vini_owner owner, const vin_rod_desc *desc,
                       double *length) {
  const vini_node *a = &model->node[desc->a.index], *b = &model->node[desc->b.index];
  if (a->place < 0 && b->place < 0) {
    refuse_ends(model, owner, desc, "both fixed");
    return false;
  }
  if (!vini_model_check_amount(model, owner, "length", desc->length, "m")) return false;
  const double apart = distance(a, b);
  if (apart < MIN_ROD_LENGTH) {
    /* also with a length given: the gradient of the constraint vanishes there */
    refuse_ends(model, owner, desc, "at the same place (less than 1e-150 m apart)");
    return false;
  }
  *length = desc->length > 0.0 ? desc->length : apart;
  if (*length >= MIN_ROD_LENGTH && *length <= MAX_ROD_LENGTH) return true;
  char value[32];
  vini_model_refuse(model, owner, "the length is %s m; it must be between 1e-150 m and 1e150 m",
                    vini_format_number(value, sizeof value, *length, 6));
  return false;
}

vin_rod vin_model_add_rod(vin_model *model, const vin_rod_desc *desc) {
  const vin_rod none = {-1};
  const vini_owner owner = {"rod", vin_model_rods(model), desc == NULL ? NULL : desc->name};
  if (!may_add(model, desc, owner) || !check_ends(model, owner, desc->a, desc->b)) return none;
  vini_rod rod = {.mass = desc->mass, .a = desc->a.index, .b = desc->b.index};
  if (!vini_model_check_amount(model, owner, "mass", desc->mass, "kg") ||
      !rod_length(model, owner, desc, &rod.length) || !store_name(model, desc->name, &rod.name) ||
      !vini_model_reserve(model, (void **)&model->rod, model->rods, 1, &model->rod_capacity,
                          sizeof *model->rod, "rods"))
    return none;
  model->rod[model->rods] = rod;
  return (vin_rod){model->rods++};
}

vin_spring vin_model_add_spring(vin_model *model, const vin_spring_desc *desc) {
  const vin_spring none = {-1};
  const vini_owner owner = {"spring", model == NULL ? 0 : model->springs,
                            desc == NULL ? NULL : desc->name};
  if (!may_add(model, desc, owner) || !check_ends(model, owner, desc->a, desc->b) ||
      !vini_model_check_amount(model, owner, "stiffness", desc->stiffness, "N/m") ||
      !vini_model_check_amount(model, owner, "damping", desc->damping, "N s/m"))
    return none;
  vini_spring spring = {.stiffness = desc->stiffness,
                        .length = desc->length,
                        .damping = desc->damping,
                        .a = desc->a.index,
                        .b = desc->b.index};
  if (desc->at_rest) spring.length = distance(&model->node[spring.a], &model->node[spring.b]);
  if (!vini_model_check_amount(model, owner, "length at rest", spring.length, "m") ||
      !store_name(model, desc->name, &spring.name) ||
      !vini_model_reserve(model, (void **)&model->spring, model->springs, 1,
                          &model->spring_capacity, sizeof *model->spring, "springs"))
    return none;
  model->spring[model->springs] = spring;
  return (vin_spring){model->springs++};
}
