/* test_base - status table, contexts and objects, allocation, texts, option structs. */
#include "base/base.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct thing {
  vini_object object;
  double payload[4];
} thing;

Test(status, every_status_has_its_name_and_a_text) {
#define CHECK_STATUS(name, value, text)                                                            \
  cr_expect_str_eq(vin_status_name(name), #name);                                                  \
  cr_expect_str_eq(vin_status_text(name), text);                                                   \
  cr_expect_eq((int)name, value);
  VIN_STATUS_TABLE(CHECK_STATUS)
#undef CHECK_STATUS
}

Test(status, any_other_number_is_unknown_not_a_crash) {
  const int numbers[] = {-1000, -9, 8, 1000, INT_MAX, INT_MIN};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    cr_expect_str_eq(vin_status_name((vin_status)numbers[k]), "VIN_STATUS_UNKNOWN");
    cr_expect_neq(strlen(vin_status_text((vin_status)numbers[k])), 0);
  }
}

Test(build, version_matches_the_header) {
  int major = -1, minor = -1, patch = -1;
  cr_assert_eq(sscanf(vin_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  cr_expect_eq(major, VIN_VERSION_MAJOR);
  cr_expect_eq(minor, VIN_VERSION_MINOR);
  cr_expect_eq(patch, VIN_VERSION_PATCH);
}

Test(build, licence_names_gpl_exactly_when_a_gpl_backend_is_in) {
  const char *licence = vin_build_licence();
  cr_expect_eq(strncmp(licence, "BSD-3-Clause", 12), 0);
  bool backend =
      strstr(licence, "UMFPACK") || strstr(licence, "CHOLMOD") || strstr(licence, "SuiteSparseQR");
  cr_expect_eq(backend, strstr(licence, "as a whole: GPL") != NULL, "%s", licence);
}

Test(context, default_and_null_are_the_same) {
  vin_context context = vin_context_default();
  thing *a = NULL, *b = NULL;
  cr_expect_eq(context.struct_size, sizeof context);
  cr_assert_eq(vini_object_begin((void **)&a, &context, sizeof *a), VIN_OK);
  cr_assert_eq(vini_object_begin((void **)&b, NULL, sizeof *b), VIN_OK);
  cr_expect_eq(memcmp(&a->object.context, &b->object.context, sizeof context), 0);
  vini_object_destroy(&a->object);
  vini_object_destroy(&b->object);
}

static void expect_refused(vin_context context, const char *word) {
  thing *object = NULL;
  cr_expect_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_ERR_BAD_INPUT);
  cr_assert_not_null(object, "a handle carries the text");
  cr_expect_eq(object->object.created, VIN_ERR_BAD_INPUT);
  cr_expect_not_null(strstr(vini_text(&object->object), word), "%s", object->object.text);
  cr_expect_eq(vini_ready(&object->object), VIN_ERR_BAD_STATE);
  vini_object_destroy(&object->object); /* with free, not with the context's half allocator */
}

Test(context, unusable_ones_are_refused_with_a_text) {
  test_allocator allocator = {0};
  vin_context good = test_context(&allocator), bad;
  bad = good, bad.struct_size = 0;
  expect_refused(bad, "struct_size");
  bad = good, bad.struct_size = sizeof bad + 1;
  expect_refused(bad, "struct_size");
  bad = good, bad.allocate = NULL;
  expect_refused(bad, "together");
  bad = good, bad.release = NULL;
  expect_refused(bad, "together");
  cr_expect_eq(allocator.calls, 0);
  cr_expect_eq(allocator.live, 0);
}

Test(context, of_an_older_shorter_layout_works) {
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  context.struct_size = offsetof(vin_context, log);
  thing *object = NULL;
  cr_assert_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_OK);
  cr_expect_eq(allocator.live, 1);
  cr_expect_null(object->object.context.log);
  vini_object_destroy(&object->object);
  cr_expect_eq(allocator.live, 0);
}

Test(object, starts_zeroed_and_not_ready) {
  test_allocator allocator = {0}; /* fills new memory with 0xA5 */
  vin_context context = test_context(&allocator);
  thing *object = NULL;
  cr_assert_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_OK);
  for (int k = 0; k < 4; k++) cr_expect_eq(object->payload[k], 0.0);
  cr_expect_eq(vini_ready(&object->object), VIN_ERR_BAD_STATE);
  object->object.created = VIN_OK;
  cr_expect_eq(vini_ready(&object->object), VIN_OK);
  cr_expect_str_eq(vini_text(&object->object), "");
  vini_object_destroy(&object->object);
  cr_expect_eq(allocator.live, 0);
}

Test(object, null_is_answered) {
  thing *object = NULL;
  cr_expect_eq(vini_object_begin(NULL, NULL, sizeof *object), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vini_ready(NULL), VIN_ERR_BAD_INPUT);
  cr_expect_neq(strlen(vini_text(NULL)), 0);
  cr_expect_eq(vini_fail(NULL, VIN_SINGULAR, "%d", 1), VIN_SINGULAR);
  vini_log(NULL, VIN_LOG_INFO, "nobody listens");
  vini_object_destroy(NULL);
}

Test(object, out_of_memory_leaves_null) {
  test_allocator allocator = {.fail_at = 1};
  vin_context context = test_context(&allocator);
  thing *object = (thing *)&allocator; /* must be overwritten */
  cr_expect_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_ERR_NO_MEMORY);
  cr_expect_null(object);
}

Test(alloc, overflow_is_out_of_memory_and_never_reaches_the_allocator) {
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator), plain = vin_context_default();
  cr_expect_null(vini_alloc(&context, SIZE_MAX / 8 + 2, 8)); /* the product wraps to 8 */
  cr_expect_null(vini_alloc(&context, SIZE_MAX, 1));         /* above PTRDIFF_MAX */
  cr_expect_null(vini_alloc(&plain, SIZE_MAX / 2, 4));
  cr_expect_null(vini_copy(&context, "x", SIZE_MAX, 2));
  cr_expect_eq(allocator.calls, 0);
}

Test(alloc, count_zero_gives_a_pointer_and_memory_is_zeroed) {
  test_allocator allocator = {0};
  vin_context contexts[2] = {test_context(&allocator), vin_context_default()};
  for (int c = 0; c < 2; c++) {
    void *empty = vini_alloc(&contexts[c], 0, sizeof(double));
    double *x = vini_alloc(&contexts[c], 100, sizeof *x);
    cr_assert(empty && x);
    cr_expect_eq(test_max_abs(100, x), 0.0);
    cr_expect_eq((uintptr_t)x % _Alignof(max_align_t), 0);
    vini_free(&contexts[c], empty);
    vini_free(&contexts[c], x);
    vini_free(&contexts[c], NULL);
  }
  cr_expect_eq(allocator.live, 0);
}

Test(alloc, copy_copies) {
  vin_context context = vin_context_default();
  const vin_int source[3] = {1, -2, 3};
  vin_int *copy = vini_copy(&context, source, 3, sizeof *source);
  void *nothing = vini_copy(&context, NULL, 0, sizeof *source);
  cr_assert(copy && nothing);
  cr_expect_eq(memcmp(copy, source, sizeof source), 0);
  vini_free(&context, copy);
  vini_free(&context, nothing);
}

Test(text, fail_returns_its_status_and_may_quote_the_old_text) {
  vini_object object = {.context = vin_context_default()};
  cr_expect_eq(vini_fail(&object, VIN_SINGULAR, "pivot %d is %g", 7, 0.0), VIN_SINGULAR);
  vini_fail(&object, VIN_STEP_FAILED, "step 3: %s", object.text);
  cr_expect_str_eq(object.text, "step 3: pivot 7 is 0");
}

Test(text, nonfinite_numbers_print) {
  vini_object object = {.context = vin_context_default()};
  vini_fail(&object, VIN_ERR_BAD_INPUT, "%g %g", (double)INFINITY, -(double)INFINITY);
  cr_expect_str_eq(object.text, "inf -inf");
}

Test(text, long_ones_are_cut_visibly) {
  vini_object object = {.context = vin_context_default()};
  char name[4 * VINI_TEXT_SIZE];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  vini_fail(&object, VIN_ERR_BAD_INPUT, "%s", name);
  cr_expect_eq(strlen(object.text), VINI_TEXT_SIZE - 1);
  cr_expect_str_eq(object.text + VINI_TEXT_SIZE - 4, "...");
  name[VINI_TEXT_SIZE - 1] = '\0'; /* fits exactly: not cut */
  vini_fail(&object, VIN_ERR_BAD_INPUT, "%s", name);
  cr_expect_str_eq(object.text, name);
}

/* Whatever the size of the buffer, what remains of a text of 1 to 4 byte characters is whole. */
Test(text, utf8_is_never_cut_inside_a_character) {
  const char *text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\x97 a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\x97";
  for (size_t size = 1; size <= strlen(text) + 1; size++) {
    char buffer[64];
    memset(buffer, 0x7F, sizeof buffer);
    cr_expect_eq(vini_fail_text(buffer, size, VIN_ERR_IO, "%s", text), VIN_ERR_IO);
    size_t length = strlen(buffer);
    cr_assert_lt(length, size);
    if (size == strlen(text) + 1) cr_expect_str_eq(buffer, text);
    size_t kept = length >= 3 && strcmp(buffer + length - 3, "...") == 0 ? length - 3 : length;
    cr_expect_eq(strncmp(buffer, text, kept), 0);
    cr_expect_neq((unsigned char)text[kept] & 0xC0, 0x80, "cut at %zu of size %zu", kept, size);
  }
  cr_expect_eq(vini_fail_text(NULL, 10, VIN_ERR_IO, "x"), VIN_ERR_IO);
  char untouched = 'u';
  vini_fail_text(&untouched, 0, VIN_ERR_IO, "x");
  cr_expect_eq(untouched, 'u');
}

typedef struct heard {
  vin_log_level level;
  char text[VINI_TEXT_SIZE];
} heard;

static void hear(void *user, vin_log_level level, const char *text) {
  heard *h = user;
  h->level = level;
  snprintf(h->text, sizeof h->text, "%s", text);
}

Test(text, log_reaches_the_context_and_is_silent_without) {
  heard h = {0};
  vini_object object = {.context = vin_context_default()};
  vini_log(&object, VIN_LOG_WARNING, "lost");
  object.context.log = hear;
  object.context.log_user = &h;
  vini_log(&object, VIN_LOG_WARNING, "switched to %s", "UMFPACK");
  cr_expect_eq(h.level, VIN_LOG_WARNING);
  cr_expect_str_eq(h.text, "switched to UMFPACK");
}

typedef struct options {
  size_t struct_size;
  double tolerance;
  int limit;
} options;

Test(options, copy_accepts_older_structs_and_refuses_what_it_cannot_know) {
  const options defaults = {sizeof(options), 1e-9, 20};
  options o = defaults, given = {offsetof(options, limit), 1e-3, 5};
  cr_expect(vini_options_copy(&o, sizeof o, &given));
  cr_expect_eq(o.struct_size, sizeof o);
  cr_expect_eq(o.tolerance, 1e-3);
  cr_expect_eq(o.limit, 20, "not part of the older struct: the default stays");

  const size_t refused[] = {0, 1, sizeof(size_t) - 1, sizeof(options) + 1, SIZE_MAX};
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
    o = defaults;
    given.struct_size = refused[k];
    cr_expect_not(vini_options_copy(&o, sizeof o, &given));
    cr_expect_eq(o.tolerance, defaults.tolerance);
  }
  cr_expect(vini_options_copy(&o, sizeof o, NULL));
  cr_expect_eq(o.limit, 20);
}

/* Field report 55: create and destroy many times; the sanitizer run adds that nothing leaks. */
Test(object, a_thousand_lives_leave_nothing) {
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  for (int k = 0; k < 1000; k++) {
    thing *object = NULL;
    cr_assert_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_OK);
    vini_object_destroy(&object->object);
  }
  cr_expect_eq(allocator.calls, 1000);
  cr_expect_eq(allocator.live, 0);
}
