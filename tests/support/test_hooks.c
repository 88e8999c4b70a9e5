/* SuiteSparse's allocation through functions that count. */
#include "test_hooks.h"

#include <SuiteSparse_config.h>

#include <stdbool.h>
#include <stdlib.h>

struct test_hooks test_hooks;

static bool hook_refuses(void) {
  return ++test_hooks.calls == test_hooks.fail_at;
}
static void *hook_malloc(size_t bytes) {
  void *p = hook_refuses() ? NULL : malloc(bytes);
  test_hooks.live += p != NULL;
  return p;
}
static void *hook_calloc(size_t count, size_t bytes) {
  void *p = hook_refuses() ? NULL : calloc(count, bytes);
  test_hooks.live += p != NULL;
  return p;
}
static void *hook_realloc(void *old, size_t bytes) {
  void *p = hook_refuses() ? NULL : realloc(old, bytes);
  test_hooks.live += p != NULL && old == NULL;
  return p;
}
static void hook_free(void *p) {
  test_hooks.live -= p != NULL;
  free(p);
}

void test_hooks_install(void) {
#if SUITESPARSE_VERSION >= SUITESPARSE_VER_CODE(6, 0)
  SuiteSparse_config_malloc_func_set(hook_malloc);
  SuiteSparse_config_calloc_func_set(hook_calloc);
  SuiteSparse_config_realloc_func_set(hook_realloc);
  SuiteSparse_config_free_func_set(hook_free);
#else
  SuiteSparse_config.malloc_func = hook_malloc;
  SuiteSparse_config.calloc_func = hook_calloc;
  SuiteSparse_config.realloc_func = hook_realloc;
  SuiteSparse_config.free_func = hook_free;
#endif
}
