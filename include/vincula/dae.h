/* vincula/dae.h - sparse differential-algebraic equations
 *
 *     B y' = f(t, y)          n unknowns y, B constant and possibly singular
 *
 * and, as the case that index-1 methods take, the semi-explicit form with y = (x, z):
 *
 *     x' = f(t, x, z)         d differential unknowns x
 *     0  = g(t, x, z)         m = n - d algebraic unknowns z, index 1 where g_z is regular
 *
 * A vin_dae is constant after creation and may serve any number of solvers and threads, provided
 * that the callbacks may be called concurrently. It is reference counted: whoever is created from it
 * keeps it, so it may be destroyed at once. */
#ifndef VINCULA_DAE_H
#define VINCULA_DAE_H

#include "vincula/linsys.h"
#include "vincula/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_dae vin_dae;

/** Callbacks: user first, then inputs, outputs last. Return 0: done; > 0: not possible here, a
 *  smaller step may help (VIN_RETRY); < 0: fatal (VIN_ERR_CALLBACK). Outputs are complete: all
 *  entries are written. A NaN or infinite output is reported like a positive return. Shapes: y, f,
 *  f_t: n; values: the count of the declared pattern, in its order. */
typedef struct vin_dae_desc {
  size_t struct_size; /* sizeof(vin_dae_desc) */
  vin_int unknowns;   /* n >= 1 */
  /* d in 0..n: the first d rows read y_i' = f_i, the others 0 = f_i. Only without mass_pattern. */
  vin_int differential;
  /* B, n x n, general; entries at the same place add. Count 0: the semi-explicit form above. */
  vin_triplets mass_pattern;
  const double *mass_values; /* mass_pattern.count; copied */

  int (*function)(void *user, double t, const double *y, double *f);
  /* f_y, n x n, general: every entry that can be other than zero */
  vin_triplets jacobian_pattern;
  /* NULL: differences of second order on the declared pattern, all columns of a colour at once */
  int (*jacobian)(void *user, double t, const double *y, double *values);
  /* the partial derivative f_t; NULL: a difference where a method needs it */
  int (*time_derivative)(void *user, double t, const double *y, double *f_t);
  /* nonzero: (t, y) lies in the domain (tube) within which f may be evaluated and solutions are
   * accepted; NULL: everywhere */
  int (*in_domain)(void *user, double t, const double *y);

  /* Steps of differences: cbrt(noise) * max(|y_j|, typical[j]). noise is the relative error of f
   * (default 0: rounding); typical[j] > 0 the least size at which y_j matters (NULL: 1 for all).
   * Give it when units differ widely. Copied. */
  double noise;
  const double *typical;
  /* Index of each unknown, 1, 2 or 3, in the sense that its error is O(h^(index-1)) larger; methods
   * for higher index scale with it. Differential unknowns have 1. NULL: 1 for all. Copied. */
  const vin_int *index;

  /* names for messages; write at most size bytes including the final zero. NULL: "unknown 7",
   * "equation 7" */
  void (*unknown_name)(void *user, vin_int index, char *text, size_t size);
  void (*equation_name)(void *user, vin_int row, char *text, size_t size);

  void *user;
  void (*release)(void *user); /* called once, when the last reference is gone or creation failed */
} vin_dae_desc;
VIN_API vin_dae_desc vin_dae_desc_default(void);

/** Copies patterns, arrays and callbacks and checks them (VIN_ERR_BAD_INPUT names what is wrong);
 *  colours the columns when there is no jacobian callback. */
VIN_API vin_status vin_dae_create(vin_dae **dae, const vin_context *context,
                                  const vin_dae_desc *desc);
/** Gives up one reference. */
VIN_API void vin_dae_destroy(vin_dae *dae);
/** Takes one more reference (thread safe) and returns its argument. */
VIN_API vin_dae *vin_dae_retain(vin_dae *dae);
VIN_API const char *vin_dae_error(const vin_dae *dae);

VIN_API vin_int vin_dae_unknowns(const vin_dae *dae);
/** d of the semi-explicit form; -1 when B was given. */
VIN_API vin_int vin_dae_differential(const vin_dae *dae);
/** The largest index declared. */
VIN_API vin_int vin_dae_index(const vin_dae *dae);
/** Groups of columns that a difference Jacobian takes, two evaluations of f each; 0: a callback. */
VIN_API vin_int vin_dae_colours(const vin_dae *dae);

/** Writes the name of an unknown or of an equation into text (always terminated). */
VIN_API void vin_dae_unknown_name(const vin_dae *dae, vin_int index, char *text, size_t size);
VIN_API void vin_dae_equation_name(const vin_dae *dae, vin_int row, char *text, size_t size);

/** How far a Jacobian by differences can be trusted. */
typedef struct vin_difference_report {
  vin_int colours;       /* 0: the callback was used, everything else is zero */
  int64_t evaluations;   /* of f */
  double relative_error; /* largest estimated error of an entry / largest entry of its row */
  vin_int row, col;      /* of that entry; -1: none */
  int dominates;         /* 1: relative_error > 1e-3, so that differences limit Newton's method */
} vin_difference_report;

/** Evaluations at one point, for tests and own methods. Outputs as in the callbacks; the text of a
 *  failure goes to text (text_size bytes, may be NULL). VIN_RETRY, VIN_ERR_CALLBACK: see above. The
 *  Jacobian (report may be NULL) and the time derivative allocate scratch. `step` is a time within
 *  which f is smooth, such as the step of a method; the difference of f_t takes a part of it. */
VIN_API vin_status vin_dae_function(const vin_dae *dae, double t, const double *y, double *f,
                                    char *text, size_t text_size);
VIN_API vin_status vin_dae_jacobian(const vin_dae *dae, double t, const double *y, double *values,
                                    vin_difference_report *report, char *text, size_t text_size);
VIN_API vin_status vin_dae_time_derivative(const vin_dae *dae, double t, const double *y,
                                           double step, double *f_t, char *text, size_t text_size);
/** 1: inside of the domain, or there is no in_domain callback. */
VIN_API int vin_dae_in_domain(const vin_dae *dae, double t, const double *y);

/** Compares the derivatives that the callbacks give ("jacobian", "time_derivative") with
 *  extrapolated central differences at (t, y), also entries that the declared pattern leaves out;
 *  without a jacobian callback the pattern is checked alone. O(n) evaluations of f. VIN_OK: all agree
 *  (to 1e-6 of each entry, or 1e-8 of the largest in its row); VIN_CHECK_FAILED: see *check. */
VIN_API vin_status vin_dae_check(const vin_dae *dae, double t, const double *y,
                                 vin_derivative_check *check);

/** Result of vin_dae_index_check(). */
typedef struct vin_dae_index_report {
  vin_int rank, full; /* numerical rank of the tested matrix, and the rank of index 1 */
  vin_int dependent;  /* first column of the matrix that depends on others; -1: none */
  char text[256];     /* the verdict in words, with the name of that unknown */
} vin_dae_index_report;

/** Whether the equations have index 1 (or 0) at (t, y): g_z is regular in the semi-explicit form; in
 *  general rank [B 0; f_y B] = n + rank B (theory (D2)). By a rank-revealing QR: a column within
 *  `tolerance` (of its length; 0: 1e-10) of the span of others counts as dependent. VIN_OK;
 *  VIN_SINGULAR: the index is higher, see report; VIN_ERR_UNSUPPORTED: the build has no
 *  SuiteSparseQR. Allocates. */
VIN_API vin_status vin_dae_index_check(const vin_dae *dae, double t, const double *y,
                                       double tolerance, vin_dae_index_report *report);

#ifdef __cplusplus
}
#endif
#endif
