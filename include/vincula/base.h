/* vincula/base.h - status values, context (allocator and log), error text.
 *
 * Conventions of the whole library:
 *  - every fallible function returns a vin_status; the text that explains a failure (names, values,
 *    units) sits in the object that was passed and is read with vin_<noun>_error();
 *  - every vin_<noun>_create() hands back a handle ALSO WHEN IT FAILS (NULL only when not even the
 *    handle could be allocated), so that the text can be read. Such a handle refuses everything but
 *    vin_<noun>_error() and vin_<noun>_destroy(), with VIN_ERR_BAD_STATE;
 *  - vin_<noun>_destroy() and vin_<noun>_error() accept NULL;
 *  - the library never prints, exits, or keeps global state; objects are independent of each other.
 */
#ifndef VINCULA_BASE_H
#define VINCULA_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VIN_API __attribute__((visibility("default")))
#else
#define VIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VIN_VERSION_MAJOR 0
#define VIN_VERSION_MINOR 1
#define VIN_VERSION_PATCH 0

/** Index type of rows, columns, nodes, ... Counts of non-zeros are computed in 64 bits first. */
typedef int32_t vin_int;

/* One line per status: name, value, meaning.
 *  0: done.  > 0: this attempt failed, the state is unchanged, a smaller step, another solver or
 *  another start may help.  < 0: the caller must act. */
#define VIN_STATUS_TABLE(X)                                                                        \
  X(VIN_OK, 0, "done")                                                                             \
  X(VIN_STEP_FAILED, 1, "the step did not converge; a smaller step may")                           \
  X(VIN_NOT_CONVERGED, 2, "the iteration reached its limit without converging")                    \
  X(VIN_SINGULAR, 3, "the matrix is singular: redundant constraints or a missing mass")            \
  X(VIN_INFEASIBLE, 4, "no position near the start satisfies the constraints")                     \
  X(VIN_RETRY, 5, "a callback asked for a smaller step")                                           \
  X(VIN_INTERRUPTED, 6, "an observer or the progress callback asked to stop")                      \
  X(VIN_CHECK_FAILED, 7, "a derivative disagrees with its finite difference")                      \
  X(VIN_ERR_BAD_INPUT, -1, "an argument is wrong")                                                 \
  X(VIN_ERR_NO_MEMORY, -2, "out of memory")                                                        \
  X(VIN_ERR_TOO_LARGE, -3, "a count does not fit the index type or the address space")             \
  X(VIN_ERR_BAD_STATE, -4, "the object is not ready for this call")                                \
  X(VIN_ERR_CALLBACK, -5, "a callback failed")                                                     \
  X(VIN_ERR_UNSUPPORTED, -6, "this combination or backend is not available")                       \
  X(VIN_ERR_IO, -7, "a file could not be read or written")                                         \
  X(VIN_ERR_INTERNAL, -8, "a library underneath failed in an unexpected way")

typedef enum vin_status {
#define VIN_STATUS_ENUM(name, value, text) name = value,
  VIN_STATUS_TABLE(VIN_STATUS_ENUM)
#undef VIN_STATUS_ENUM
} vin_status;

/** Name of a status, "VIN_OK"; "VIN_STATUS_UNKNOWN" for any other number. Never NULL. */
VIN_API const char *vin_status_name(vin_status status);

/** One sentence about a status. Never NULL. */
VIN_API const char *vin_status_text(vin_status status);

/** Version of the linked library as "major.minor.patch". */
VIN_API const char *vin_version(void);

/** Licence of the library as built, with the backends in it, e.g. "BSD-3-Clause; with UMFPACK ...".
 */
VIN_API const char *vin_build_licence(void);

typedef enum vin_log_level { VIN_LOG_DEBUG, VIN_LOG_INFO, VIN_LOG_WARNING } vin_log_level;

/** Allocator and log of an object. Copied at creation; the pointers must outlive the object. Where
 * a create function takes a context, NULL stands for vin_context_default(): malloc, free, no log.
 *  They are called from whichever thread uses the object. Give allocate and release together, or
 *  neither. Without them blocks from 2 MB on are mapped by themselves on Linux, in pages of 2 MB where the
 *  system has them; all others are malloc's. SuiteSparse allocates through its own process-wide hooks (SuiteSparse_config), not
 *  through these. */
typedef struct vin_context {
  size_t struct_size;                          /* sizeof(vin_context) */
  void *(*allocate)(void *user, size_t bytes); /* like malloc; NULL: as above */
  void (*release)(void *user, void *pointer);  /* like free, never called with NULL */
  void *allocator_user;
  void (*log)(void *user, vin_log_level level, const char *text); /* NULL: silent */
  void *log_user;
} vin_context;

/** A context with the defaults; change fields before passing it on. */
VIN_API vin_context vin_context_default(void);

#ifdef __cplusplus
}
#endif
#endif
