/* base - what every file of the library may use: object header, messages, checked allocation. */
#ifndef VINI_BASE_H
#define VINI_BASE_H

#include "vincula/base.h"

#include <stdarg.h>
#include <stdbool.h>

/* Longest error text, including the final zero. */
#define VINI_TEXT_SIZE 512

/* First member of every object: its context, the status of its creation, the text of its last
 * failure. */
typedef struct vini_object {
  vin_context context;
  vin_status created; /* VIN_OK once creation succeeded; otherwise every call is refused */
  char text[VINI_TEXT_SIZE];
} vini_object;

/* Allocates the object (size bytes, zeroed) with its header filled in. NULL: no memory.
 * `created` starts as VIN_ERR_BAD_STATE: the create function sets VIN_OK when it is done. A context
 * that cannot be used (wrong struct_size, only one of allocate and release) still gives an object,
 * made with malloc, whose `created` is VIN_ERR_BAD_INPUT and whose text says what is wrong with the
 * context. */
void *vini_object_create(const vin_context *context, size_t size);
/* The opening of every public create function: *out := the new object, which may be unusable.
 *   VIN_ERR_BAD_INPUT  out is NULL, or the context is wrong (then *out is a handle with the text)
 *   VIN_ERR_NO_MEMORY  *out is NULL
 * Use:  VINI_TRY(vini_object_begin((void **)matrix, context, sizeof **matrix)); */
vin_status vini_object_begin(void **out, const vin_context *context, size_t size);
/* Releases the object itself; NULL is fine. */
void vini_object_destroy(vini_object *object);

/* Sets the text and returns status, so that a failure is one line. object may be NULL; the
 * arguments may include the old text ("while factoring: %s"). A text that is too long ends in
 * "...", and never in half a UTF-8 character. Numbers in texts are for people: %g follows the
 * locale of the process. */
__attribute__((format(printf, 3, 4))) vin_status vini_fail(vini_object *object, vin_status status,
                                                           const char *format, ...);
/* The same into a caller's buffer (NULL is fine). */
__attribute__((format(printf, 4, 5))) vin_status vini_fail_text(char *text, size_t size,
                                                                vin_status status,
                                                                const char *format, ...);
__attribute__((format(printf, 3, 4))) void vini_log(const vini_object *object, vin_log_level level,
                                                    const char *format, ...);

/* VIN_OK, or VIN_ERR_BAD_INPUT (NULL) / VIN_ERR_BAD_STATE (creation failed; the text is kept). */
vin_status vini_ready(const vini_object *object);
/* Text of an object for the public _error functions; never NULL. */
const char *vini_text(const vini_object *object);

/* Zeroed array of count elements; NULL on overflow or when memory is out. count = 0 gives a valid
 * pointer. Aligned for any type. */
void *vini_alloc(const vin_context *context, size_t count, size_t element_size);
void vini_free(const vin_context *context, void *pointer);
/* a copy of count elements, or NULL */
void *vini_copy(const vin_context *context, const void *source, size_t count, size_t element_size);

/* Propagates a failure. */
#define VINI_TRY(expression)                                                                       \
  do {                                                                                             \
    vin_status vini_status_ = (expression);                                                        \
    if (vini_status_ != VIN_OK) return vini_status_;                                               \
  } while (0)

/* Index of the first NaN or infinite entry, or -1. Holds under -ffast-math too. */
int64_t vini_first_nonfinite(const double *x, int64_t count);
/* Largest |x[i]|, 0 for count = 0; NaN when one of them is NaN, so that a NaN cannot hide. */
double vini_max_abs(const double *x, int64_t count);

/* snprintf("%.*g") with '.' as decimal point whatever the locale; returns text. digits is clamped
 * to 1..17; 17 digits read back as the same double. VINI_NUMBER_SIZE holds any of them. */
#define VINI_NUMBER_SIZE 32
const char *vini_format_number(char *text, size_t size, double value, int digits);
/* The step inside vini_format_number that makes it so, apart because a test can't count on finding
 * a locale with a comma: turns the decimal point of any locale (several bytes, too) in a number
 * into '.'. */
void vini_use_point(char *number);
/* strtod with '.' as decimal point whatever the locale; *end (end may be NULL) as in strtod.
 * Decimal numbers, inf and nan; no hexadecimal numbers. Too large gives an infinity. */
double vini_parse_number(const char *text, char **end);

/* Copies an options struct given by a caller over the defaults: min(struct_size, size) bytes, so
 * that callers built against an older, shorter struct keep working; options' own struct_size
 * becomes size. given may be NULL: the defaults stay. false: struct_size is 0 (or cannot hold
 * itself) or too large; options is unchanged. */
bool vini_options_copy(void *options, size_t size, const void *given);

static inline vin_int vini_max_int(vin_int a, vin_int b) {
  return a > b ? a : b;
}
static inline vin_int vini_min_int(vin_int a, vin_int b) {
  return a < b ? a : b;
}
static inline double vini_max(double a, double b) {
  return a > b ? a : b;
}
static inline double vini_min(double a, double b) {
  return a < b ? a : b;
}

#endif
