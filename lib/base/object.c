/* object - contexts, allocation, creation and readiness of objects. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

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

/* Asks for pages of 2 MB where an array spans many of them: a step of a large model streams through
 * its arrays, and with pages of 4 kB a fifth of its time goes into the translation of addresses. Only
 * a hint: nothing depends on whether it is followed. */
enum { HUGE_PAGE = 1 << 21, HUGE_LEAST = 4 * HUGE_PAGE };
static void *prefer_huge_pages(void *array, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  if (array != NULL && bytes >= HUGE_LEAST) {
    const uintptr_t begin = ((uintptr_t)array + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)array + bytes) / HUGE_PAGE * HUGE_PAGE;
    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
  }
#else
  (void)bytes;
#endif
  return array;
}

void *vini_alloc(const vin_context *context, size_t count, size_t element_size) {
  /* PTRDIFF_MAX, not SIZE_MAX: differences of pointers into the array must be representable. */
  if (element_size != 0 && count > (size_t)PTRDIFF_MAX / element_size) return NULL;
  size_t bytes = count * element_size;
  if (bytes == 0) bytes = 1;
  /* calloc: pages of a big array stay untouched until they are used. */
  if (!context->allocate) return prefer_huge_pages(calloc(bytes, 1), bytes);
  void *pointer = context->allocate(context->allocator_user, bytes);
  if (pointer) memset(pointer, 0, bytes);
  return pointer;
}

void vini_free(const vin_context *context, void *pointer) {
  if (!pointer) return;
  if (context->release)
    context->release(context->allocator_user, pointer);
  else
    free(pointer);
}

void *vini_copy(const vin_context *context, const void *source, size_t count, size_t element_size) {
  void *copy = vini_alloc(context, count, element_size);
  /* The product cannot overflow: the allocation has checked it. */
  if (copy && source && count * element_size > 0) memcpy(copy, source, count * element_size);
  return copy;
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
