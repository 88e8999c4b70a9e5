/* model - from the builder's records to const arrays and a vin_system. */
#include "model/compiled.h"
#include "model/model.h"
#include "system/system.h"

#include <math.h>
#include <string.h>

/* ---- the compiled data --------------------------------------------------------------------------
 */

void vini_model_release(void *user) {
  vini_compiled *c = user;
  if (c == NULL) return;
  const vin_context context = c->context;
  /* weight and point may be the same array as diagonal */
  if (c->weight != c->diagonal) vini_free(&context, c->weight);
  if (c->point != c->diagonal) vini_free(&context, c->point);
  void *owned[] = {c->fixed,    c->diagonal,  c->rod_a,       c->rod_b,     c->rod_length,
                   c->rod_mass, c->spring_a,  c->spring_b,    c->stiffness, c->spring_length,
                   c->damping,  c->node_name, c->node_number, c->rod_name,  c->names};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) vini_free(&context, owned[i]);
  vini_free(&context, c);
}

/* An array of the compiled data; NULL when memory is out. */
static void *array(vini_compiled *c, vin_int count, size_t size) {
  c->bytes += (int64_t)count * (int64_t)size;
  return vini_alloc(&c->context, (size_t)count, size);
}

void vini_model_position_name(void *user, vin_int index, char *text, size_t size) {
  const vini_compiled *c = user;
  const vin_int node = index / 3;
  const vin_int name = c->node_name == NULL ? -1 : c->node_name[node];
  char label[VINI_LABEL_SIZE];
  const vini_owner owner = {"node", c->node_number[node], name < 0 ? NULL : c->names + name};
  (void)vini_fail_text(text, size, VIN_OK, "%c of %s", "xyz"[index % 3],
                       vini_label(label, sizeof label, owner));
}

void vini_model_constraint_name(void *user, vin_int row, char *text, size_t size) {
  const vini_compiled *c = user;
  const vin_int name = c->rod_name == NULL ? -1 : c->rod_name[row];
  vini_label(text, size, (vini_owner){"rod", row, name < 0 ? NULL : c->names + name});
}

/* ---- building it --------------------------------------------------------------------------------
 */

static bool allocate_nodes(const vin_model *model, vini_compiled *c, bool massive) {
  c->fixed = array(c, 3 * model->fixed_nodes, sizeof *c->fixed);
  c->diagonal = array(c, c->free_nodes, sizeof *c->diagonal);
  c->weight = massive ? array(c, c->free_nodes, sizeof *c->weight) : c->diagonal;
  c->point = massive && c->mu > 0.0 ? array(c, c->free_nodes, sizeof *c->point) : c->diagonal;
  c->node_number = array(c, c->free_nodes, sizeof *c->node_number);
  if (model->names_size > 0) {
    c->node_name = array(c, c->free_nodes, sizeof *c->node_name);
    c->rod_name = array(c, c->rods, sizeof *c->rod_name);
    c->names = array(c, model->names_size, 1);
    if (c->node_name == NULL || c->rod_name == NULL || c->names == NULL) return false;
  }
  return c->fixed != NULL && c->diagonal != NULL && c->weight != NULL && c->point != NULL &&
         c->node_number != NULL;
}

static bool allocate_elements(vini_compiled *c, bool massive) {
  c->rod_a = array(c, c->rods, sizeof *c->rod_a);
  c->rod_b = array(c, c->rods, sizeof *c->rod_b);
  c->rod_length = array(c, c->rods, sizeof *c->rod_length);
  if (massive) c->rod_mass = array(c, c->rods, sizeof *c->rod_mass);
  c->spring_a = array(c, c->springs, sizeof *c->spring_a);
  c->spring_b = array(c, c->springs, sizeof *c->spring_b);
  c->stiffness = array(c, c->springs, sizeof *c->stiffness);
  c->spring_length = array(c, c->springs, sizeof *c->spring_length);
  c->damping = array(c, c->springs, sizeof *c->damping);
  return c->rod_a != NULL && c->rod_b != NULL && c->rod_length != NULL &&
         (c->rod_mass != NULL || !massive) && c->spring_a != NULL && c->spring_b != NULL &&
         c->stiffness != NULL && c->spring_length != NULL && c->damping != NULL;
}

static vini_compiled *allocate(const vin_model *model) {
  vini_compiled *c = vini_alloc(&model->object.context, 1, sizeof *c);
  if (c == NULL) return NULL;
  c->context = model->object.context;
  c->bytes = (int64_t)sizeof *c;
  c->free_nodes = model->free_nodes;
  c->rods = model->rods;
  c->springs = model->springs;
  c->mu = model->mu;
  memcpy(c->gravity, model->gravity, sizeof c->gravity);
  memcpy(c->centre, model->centre, sizeof c->centre);
  bool massive = false;
  for (vin_int k = 0; k < model->rods; k++) massive |= model->rod[k].mass > 0.0;
  if (allocate_nodes(model, c, massive) && allocate_elements(c, massive)) return c;
  vini_model_release(c);
  return NULL;
}

static void fill_nodes(const vin_model *model, vini_compiled *c) {
  for (vin_int k = 0; k < model->nodes; k++) {
    const vini_node *node = &model->node[k];
    if (node->place < 0) {
      memcpy(c->fixed + ~node->place, node->position, sizeof node->position);
      continue;
    }
    const vin_int free_node = node->place / 3;
    c->diagonal[free_node] = c->weight[free_node] = c->point[free_node] = node->mass;
    c->node_number[free_node] = k;
    if (c->node_name != NULL) c->node_name[free_node] = node->name;
  }
  if (c->names != NULL) memcpy(c->names, model->names, (size_t)model->names_size);
}

static void fill_rods(const vin_model *model, vini_compiled *c) {
  for (vin_int k = 0; k < model->rods; k++) {
    const vini_rod *rod = &model->rod[k];
    const vin_int end[2] = {rod->a, rod->b};
    c->rod_a[k] = model->node[rod->a].place;
    c->rod_b[k] = model->node[rod->b].place;
    c->rod_length[k] = rod->length;
    if (c->rod_name != NULL) c->rod_name[k] = rod->name;
    if (c->rod_mass == NULL) continue;
    c->rod_mass[k] = rod->mass;
    for (int i = 0; i < 2; i++) {
      const vini_node *node = &model->node[end[i]];
      if (node->place >= 0) {
        c->diagonal[node->place / 3] += rod->mass / 3.0;
        c->weight[node->place / 3] += rod->mass / 2.0;
      } else {
        c->fixed_potential -= rod->mass / 2.0 * vini_dot(c->gravity, node->position);
      }
    }
  }
}

static void fill_springs(const vin_model *model, vini_compiled *c) {
  for (vin_int k = 0; k < model->springs; k++) {
    const vini_spring *spring = &model->spring[k];
    c->spring_a[k] = model->node[spring->a].place;
    c->spring_b[k] = model->node[spring->b].place;
    c->stiffness[k] = spring->stiffness;
    c->spring_length[k] = spring->length;
    c->damping[k] = spring->damping;
  }
}

/* ---- checks of the whole model ------------------------------------------------------------------
 */

static vin_status check_masses(vin_model *model, const vini_compiled *c) {
  for (vin_int k = 0; k < c->free_nodes; k++) {
    if (c->diagonal[k] > 0.0 && isfinite(c->weight[k])) continue;
    char label[VINI_LABEL_SIZE];
    vini_node_label(label, sizeof label, model, c->node_number[k]);
    if (c->diagonal[k] > 0.0)
      return vini_fail(&model->object, VIN_ERR_BAD_INPUT, "%s: the sum of its masses overflows",
                       label);
    return vini_fail(
        &model->object, VIN_ERR_BAD_INPUT,
        "%s: it is free and has no mass (0 kg): give it a mass or join it to a rod with mass",
        label);
  }
  return VIN_OK;
}

/* Central gravity has no value at its centre. */
static vin_status check_centre(vin_model *model, const vini_compiled *c) {
  if (c->mu == 0.0) return VIN_OK;
  double *p = vini_alloc(&c->context, 3 * (size_t)c->free_nodes, sizeof *p);
  if (p == NULL) return vini_fail(&model->object, VIN_ERR_NO_MEMORY, "no memory for the start");
  for (vin_int k = 0; k < c->free_nodes; k++) {
    memcpy(p + 3 * (size_t)k, model->node[c->node_number[k]].position, 3 * sizeof *p);
  }
  vin_int node, rod;
  vini_central_find(c, p, &node, &rod);
  vini_free(&c->context, p);
  if (node < 0 && rod < 0) return VIN_OK;
  char label[VINI_LABEL_SIZE];
  if (node >= 0) {
    vini_node_label(label, sizeof label, model, c->node_number[node]);
  } else {
    vini_model_constraint_name((void *)c, rod, label, sizeof label);
  }
  return vini_fail(
      &model->object, VIN_ERR_BAD_INPUT,
      "%s: it starts at the centre of the central gravity, where the force is infinite", label);
}

/* ---- the system ---------------------------------------------------------------------------------
 */

/* Arrays that the system takes over. */
typedef struct patterns {
  vin_int *row[4], *col[4]; /* mass, jacobian, force_p, force_v */
  vin_int *position_block, *constraint_block;
} patterns;

static void free_patterns(const vin_context *context, patterns *b) {
  for (int i = 0; i < 4; i++) {
    vini_free(context, b->row[i]);
    vini_free(context, b->col[i]);
  }
  vini_free(context, b->position_block);
  vini_free(context, b->constraint_block);
}

static vin_status make_pattern(vin_model *model, const vini_compiled *c, const char *what,
                               vini_pattern pattern, vin_int **row, vin_int **col,
                               vin_triplets *triplets) {
  const vin_context *context = &model->object.context;
  const int64_t count = pattern(c, NULL, NULL);
  if (count > INT32_MAX)
    return vini_fail(&model->object, VIN_ERR_TOO_LARGE, "the %s has %lld entries; at most %d fit",
                     what, (long long)count, INT32_MAX);
  *row = vini_alloc(context, (size_t)count, sizeof **row);
  *col = vini_alloc(context, (size_t)count, sizeof **col);
  if (*row == NULL || *col == NULL)
    return vini_fail(&model->object, VIN_ERR_NO_MEMORY, "no memory for the %lld entries of the %s",
                     (long long)count, what);
  pattern(c, *row, *col);
  *triplets = (vin_triplets){(vin_int)count, *row, *col};
  return VIN_OK;
}

static vin_status make_patterns(vin_model *model, const vini_compiled *c, patterns *b,
                                vin_system_desc *desc) {
  VINI_TRY(make_pattern(model, c, "mass matrix", vini_mass_pattern, &b->row[0], &b->col[0],
                        &desc->mass_pattern));
  VINI_TRY(make_pattern(model, c, "constraint Jacobian", vini_jacobian_pattern, &b->row[1],
                        &b->col[1], &desc->jacobian_pattern));
  VINI_TRY(make_pattern(model, c, "tangent df/dp", vini_force_p_pattern, &b->row[2], &b->col[2],
                        &desc->force_p_pattern));
  return make_pattern(model, c, "tangent df/dv", vini_force_v_pattern, &b->row[3], &b->col[3],
                      &desc->force_v_pattern);
}

/* The three coordinates of a node are a block, and so is the row of each rod. */
static vin_status make_blocks(vin_model *model, const vini_compiled *c, patterns *b,
                              vin_system_desc *desc) {
  const vin_context *context = &model->object.context;
  b->position_block = vini_alloc(context, (size_t)desc->positions, sizeof *b->position_block);
  b->constraint_block = vini_alloc(context, (size_t)c->rods, sizeof *b->constraint_block);
  if (b->position_block == NULL || b->constraint_block == NULL)
    return vini_fail(&model->object, VIN_ERR_NO_MEMORY, "no memory for %d + %d block numbers",
                     (int)desc->positions, (int)c->rods);
  for (vin_int i = 0; i < desc->positions; i++) b->position_block[i] = i / 3;
  for (vin_int i = 0; i < c->rods; i++) b->constraint_block[i] = i;
  desc->position_block = b->position_block;
  desc->constraint_block = b->constraint_block;
  return VIN_OK;
}

static vin_system_desc describe(const vini_compiled *c) {
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 3 * c->free_nodes;
  desc.constraints = c->rods;
  desc.mass = vini_model_mass;
  desc.force = vini_model_force;
  desc.constraint = vini_model_constraint;
  desc.jacobian = vini_model_jacobian;
  desc.constraint_rows = vini_model_constraint_rows;
  desc.jacobian_rows = vini_model_jacobian_rows;
  desc.curvature = vini_model_curvature;
  desc.potential = vini_model_potential;
  desc.momentum = vini_model_momentum;
  desc.position_name = vini_model_position_name;
  desc.constraint_name = vini_model_constraint_name;
  desc.constraint_gap = vini_model_constraint_gap;
  return desc;
}

/* Claims and callbacks that depend on which entries the patterns have. */
static void claim(vin_system_desc *desc) {
  desc->flags = VIN_MASS_CONSTANT | VIN_CONSTRAINT_QUADRATIC;
  if (desc->mass_pattern.count == desc->positions) desc->flags |= VIN_MASS_DIAGONAL;
  if (desc->force_v_pattern.count == 0) desc->flags |= VIN_FORCE_VELOCITY_FREE;
  if (desc->force_p_pattern.count > 0) desc->force_p = vini_model_force_p;
  if (desc->force_v_pattern.count > 0) desc->force_v = vini_model_force_v;
}

/* Hands the compiled data over: from here on the system releases it, also when it fails. */
static vin_status create_system(vin_model *model, vini_compiled *c, vin_system_desc *desc,
                                patterns *b, vin_system **system) {
  desc->user = c;
  desc->release = vini_model_release;
  const vin_status status = vini_system_create_adopting(system, &model->object.context, desc);
  if (status == VIN_OK) {
    *b = (patterns){0};
    return VIN_OK;
  }
  (void)vini_fail(&model->object, status, "%s", vin_system_error(*system));
  vin_system_destroy(*system);
  *system = NULL;
  return status;
}

vin_status vin_model_compile(vin_model *model, vin_system **system) {
  if (system != NULL) *system = NULL;
  if (model == NULL) return VIN_ERR_BAD_INPUT;
  if (model->status != VIN_OK) return model->status; /* its text is in place */
  if (system == NULL)
    return vini_fail(&model->object, VIN_ERR_BAD_INPUT, "compile: system is NULL");
  model->object.text[0] = 0;
  if (model->free_nodes == 0)
    return vini_fail(&model->object, VIN_ERR_BAD_INPUT, "none of the model's %d nodes is free",
                     (int)model->nodes);
  vini_compiled *c = allocate(model);
  if (c == NULL)
    return vini_fail(&model->object, VIN_ERR_NO_MEMORY, "no memory to compile %d nodes and %d rods",
                     (int)model->nodes, (int)model->rods);
  fill_nodes(model, c);
  fill_rods(model, c);
  fill_springs(model, c);
  vin_system_desc desc = describe(c);
  patterns b = {0};
  vin_status status = check_masses(model, c);
  if (status == VIN_OK) status = check_centre(model, c);
  if (status == VIN_OK) status = make_patterns(model, c, &b, &desc);
  if (status == VIN_OK) status = make_blocks(model, c, &b, &desc);
  if (status == VIN_OK) {
    claim(&desc);
    status = create_system(model, c, &desc, &b, system);
  } else {
    vini_model_release(c);
  }
  free_patterns(&model->object.context, &b);
  return status;
}
