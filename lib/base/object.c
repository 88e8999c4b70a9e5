/* object - contexts, creation and readiness of objects. */
#include "base/base.h"

#include <string.h>

vin_context vin_context_default(void) {
  return (vin_context){.struct_size = sizeof(vin_context)};
}

bool vini_options_copy(void *options, size_t size, const void *given) {
  size_t given_size;
  if (!given) return true;
  memcpy(&given_size, given, sizeof given_size);
  if (given_size < sizeof given_size || given_size > size) return false;
  memcpy(options, given, given_size);
  memcpy(options, &size, sizeof size);
  return true;
}

void *vini_object_create(const vin_context *context, size_t size) {
  vin_context own = vin_context_default();
  const char *wrong = NULL;
  if (!vini_options_copy(&own, sizeof own, context))
    wrong = "context: struct_size is not sizeof(vin_context); start from vin_context_default()";
  else if (!own.allocate != !own.release)
    wrong = "context: allocate and release must be given together, or neither";
  if (wrong) own = vin_context_default();

  vini_object *object = vini_alloc(&own, 1, size);
  if (!object) return NULL;
  object->context = own;
  object->created = VIN_ERR_BAD_STATE;
  if (wrong) object->created = vini_fail(object, VIN_ERR_BAD_INPUT, "%s", wrong);
  return object;
}

vin_status vini_object_begin(void **out, const vin_context *context, size_t size) {
  if (!out) return VIN_ERR_BAD_INPUT;
  vini_object *object = vini_object_create(context, size);
  /* Bytes, because *out is a pointer to the object's own type, not a void pointer. */
  memcpy(out, &object, sizeof object);
  if (!object) return VIN_ERR_NO_MEMORY;
  return object->created == VIN_ERR_BAD_INPUT ? VIN_ERR_BAD_INPUT : VIN_OK;
}

void vini_object_destroy(vini_object *object) {
  if (!object) return;
  vin_context context = object->context; /* the object does not outlive its release */
  vini_free(&context, object);
}

vin_status vini_ready(const vini_object *object) {
  if (!object) return VIN_ERR_BAD_INPUT;
  return object->created == VIN_OK ? VIN_OK : VIN_ERR_BAD_STATE;
}
