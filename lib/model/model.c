/* model - creation, growth, gravity and queries. add.c adds the elements, compile.c compiles. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

vin_model *vin_model_create(const vin_context *context) {
  vin_model *model = vini_object_create(context, sizeof *model);
  if (model == NULL) return NULL;
  /* a bad context has been refused with a text already: as any other first failure it sticks */
  if (model->object.created == VIN_ERR_BAD_INPUT) {
    model->status = VIN_ERR_BAD_INPUT;
  } else {
    model->object.created = VIN_OK;
  }
  return model;
}

void vin_model_destroy(vin_model *model) {
  if (model == NULL) return;
  const vin_context *context = &model->object.context;
  vini_free(context, model->node);
  vini_free(context, model->rod);
  vini_free(context, model->spring);
  vini_free(context, model->names);
  vini_object_destroy(&model->object);
}

vin_status vin_model_status(const vin_model *model) {
  return model == NULL ? VIN_ERR_BAD_INPUT : model->status;
}

const char *vin_model_error(const vin_model *model) {
  return vini_text(model == NULL ? NULL : &model->object);
}

/* ---- shared by all ----------------------------------------------------------------------------
 */

const char *vini_label(char *text, size_t size, vini_owner owner) {
  /* vini_fail_text rather than snprintf: it cuts between characters */
  if (owner.name != NULL && owner.name[0] != 0) {
    (void)vini_fail_text(text, size, VIN_OK, "%s '%s'", owner.kind, owner.name);
  } else if (owner.index >= 0) {
    (void)vini_fail_text(text, size, VIN_OK, "%s %d", owner.kind, (int)owner.index);
  } else {
    (void)vini_fail_text(text, size, VIN_OK, "%s", owner.kind);
  }
  return text;
}

const char *vini_node_label(char *text, size_t size, const vin_model *model, vin_int node) {
  const char *name = vini_model_name(model, model->node[node].name);
  return vini_label(text, size, (vini_owner){"node", node, name});
}

void vini_model_refuse(vin_model *model, vini_owner owner, const char *format, ...) {
  char label[VINI_LABEL_SIZE], message[VINI_TEXT_SIZE - VINI_LABEL_SIZE - 4];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  model->status = vini_fail(&model->object, VIN_ERR_BAD_INPUT, "%s: %s",
                            vini_label(label, sizeof label, owner), message);
}

const char *vini_model_name(const vin_model *model, vin_int name) {
  return name < 0 ? NULL : model->names + name;
}

bool vini_model_reserve(vin_model *model, void **array, vin_int count, vin_int more,
                        vin_int *capacity, size_t element_size, const char *what) {
  const int64_t needed = (int64_t)count + more;
  if (needed <= *capacity) return true;
  if (needed > INT32_MAX) {
    model->status = vini_fail(&model->object, VIN_ERR_TOO_LARGE, "%lld %s are more than %d",
                              (long long)needed, what, INT32_MAX);
    return false;
  }
  /* doubling: n additions copy less than 2 n elements in all */
  int64_t wanted = 2 * (int64_t)*capacity;
  if (wanted < needed) wanted = needed;
  if (wanted < 16) wanted = 16;
  if (wanted > INT32_MAX) wanted = INT32_MAX;
  void *larger = vini_alloc(&model->object.context, (size_t)wanted, element_size);
  if (larger == NULL) {
    model->status =
        vini_fail(&model->object, VIN_ERR_NO_MEMORY, "no memory for %lld %s of %zu bytes",
                  (long long)wanted, what, element_size);
    return false;
  }
  if (count > 0) memcpy(larger, *array, (size_t)count * element_size);
  vini_free(&model->object.context, *array);
  *array = larger;
  *capacity = (vin_int)wanted;
  return true;
}

bool vini_model_check_vector(vin_model *model, vini_owner owner, const char *what,
                             const double x[3], const char *unit) {
  for (int i = 0; i < 3; i++) {
    if (isfinite(x[i])) continue;
    char value[32];
    vini_model_refuse(model, owner, "%c of the %s is %s %s; it must be finite", "xyz"[i], what,
                      vini_format_number(value, sizeof value, x[i], 6), unit);
    return false;
  }
  return true;
}

bool vini_model_check_amount(vin_model *model, vini_owner owner, const char *what, double x,
                             const char *unit) {
  if (isfinite(x) && x >= 0.0) return true;
  char value[32];
  vini_model_refuse(model, owner, "the %s is %s %s; it must be finite and not negative", what,
                    vini_format_number(value, sizeof value, x, 6), unit);
  return false;
}

/* ---- gravity -----------------------------------------------------------------------------------
 */

void vin_model_set_gravity(vin_model *model, const double acceleration[3]) {
  const vini_owner owner = {"gravity", -1, NULL};
  if (model == NULL || model->status != VIN_OK) return;
  if (acceleration == NULL) {
    vini_model_refuse(model, owner, "the acceleration is NULL");
  } else if (vini_model_check_vector(model, owner, "acceleration", acceleration, "m/s^2")) {
    memcpy(model->gravity, acceleration, sizeof model->gravity);
  }
}

void vin_model_set_central_gravity(vin_model *model, double mu, const double centre[3]) {
  const vini_owner owner = {"central gravity", -1, NULL};
  const double origin[3] = {0.0, 0.0, 0.0};
  if (model == NULL || model->status != VIN_OK) return;
  if (centre == NULL) centre = origin;
  if (!vini_model_check_amount(model, owner, "parameter mu = G M", mu, "m^3/s^2") ||
      !vini_model_check_vector(model, owner, "centre", centre, "m"))
    return;
  model->mu = mu;
  memcpy(model->centre, centre, sizeof model->centre);
}

/* ---- queries -----------------------------------------------------------------------------------
 */

vin_int vin_model_nodes(const vin_model *model) {
  return model == NULL ? 0 : model->nodes;
}

vin_int vin_model_rods(const vin_model *model) {
  return model == NULL ? 0 : model->rods;
}

vin_int vin_model_node_position(const vin_model *model, vin_node node) {
  if (model == NULL || node.index < 0 || node.index >= model->nodes) return -1;
  return vini_max_int(model->node[node.index].place, -1);
}

vin_int vin_model_rod_constraint(const vin_model *model, vin_rod rod) {
  if (model == NULL || rod.index < 0 || rod.index >= model->rods) return -1;
  return rod.index;
}

vin_node vin_model_find_node(const vin_model *model, const char *name) {
  if (model != NULL && name != NULL) {
    for (vin_int i = 0; i < model->nodes; i++) {
      const char *given = vini_model_name(model, model->node[i].name);
      if (given != NULL && strcmp(given, name) == 0) return (vin_node){i};
    }
  }
  return (vin_node){-1};
}

vin_status vin_model_start(const vin_model *model, double *p, double *v) {
  if (model == NULL || p == NULL || v == NULL) return VIN_ERR_BAD_INPUT;
  if (model->status != VIN_OK) return model->status;
  for (vin_int i = 0; i < model->nodes; i++) {
    const vini_node *node = &model->node[i];
    if (node->place < 0) continue;
    memcpy(p + node->place, node->position, sizeof node->position);
    memcpy(v + node->place, node->velocity, sizeof node->velocity);
  }
  return VIN_OK;
}
