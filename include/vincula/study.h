/* vincula/study.h - observed orders of convergence.
 *
 * A computation is repeated with steps h, h/2, h/4, ...; each of its quantities (positions, velocities,
 * multipliers, residual of each constraint level) gets errors and observed orders of its own, because
 * they differ: a multiplier may lose an order, a projected constraint has none. Every run is also
 * repeated with tighter and with looser tolerances of its iterations: where that changes a result by a
 * sizable part of its error, the numbers show Newton's error and not that of the discretisation, and no order is given. */
#ifndef VINCULA_STUDY_H
#define VINCULA_STUDY_H

#include "vincula/integrate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_study vin_study;

typedef enum vin_study_kind {
  VIN_STUDY_SOLUTION, /* compared with the reference, or else with the run of half the step */
  VIN_STUDY_RESIDUAL  /* should be zero: its size is the error */
} vin_study_kind;

/** A part of the result that is judged by itself. */
typedef struct vin_study_quantity {
  const char *name; /* heading of its columns; copied, at most 23 bytes of it */
  vin_int count;    /* numbers, >= 1 */
  vin_study_kind kind;
} vin_study_quantity;

/** Computes with one step length. tolerance_factor: by what the tolerances of the iterations are to be
 *  multiplied (1, options.looseness or 1 / options.looseness). y receives the quantities one after the other. Returns
 *  VIN_OK or a failure (> 0: this step length is too long, the study goes on with the next; < 0 ends
 *  it), then with a text of at most text_size bytes. */
typedef vin_status (*vin_study_solve)(void *user, double step, double tolerance_factor, double *y,
                                      char *text, size_t text_size);

typedef struct vin_study_options {
  size_t struct_size; /* sizeof(vin_study_options) */
  double step;        /* s; the longest step, > 0; no default */
  int levels;         /* default 4, 3..24: step, step/2, ..., step/2^(levels-1) */
  double
      looseness; /* default 100, > 1: the further runs have this factor and its inverse; 0: none */
  double dominated; /* default 0.1: largest part of an error that may be solver error */
  const double
      *reference; /* exact values of all VIN_STUDY_SOLUTION quantities, one after the other;
                              NULL: none (the finest run then has no error) */
} vin_study_options;
VIN_API vin_study_options vin_study_options_default(void);

typedef enum vin_study_verdict {
  VIN_STUDY_OK,       /* error and order show the discretisation */
  VIN_STUDY_SOLVER,   /* the error of the iterations is a sizable part: no order */
  VIN_STUDY_ROUNDING, /* the error is at rounding: no order */
  VIN_STUDY_MISSING   /* the run failed, or there is nothing to compare with */
} vin_study_verdict;

typedef struct vin_study_entry {
  double error; /* largest error of the quantity; NaN: missing */
  double order; /* log2(error of twice the step / error); NaN: none */
  /* about the error of the iterations: largest change with tighter tolerances, or with looser ones
   * divided by looseness, whichever is more; NaN: not measured */
  double solver_error;
  vin_study_verdict verdict;
} vin_study_entry;

/** Runs a computation of the user's. Costs 3 levels runs (levels with looseness = 0). Errors:
 *  VIN_ERR_BAD_INPUT; VIN_ERR_NO_MEMORY; a status < 0 of solve; VIN_NOT_CONVERGED when fewer than two
 *  step lengths gave a result (the table says why). */
VIN_API vin_status vin_study_create(vin_study **study, const vin_context *context,
                                    int quantity_count, const vin_study_quantity *quantities,
                                    vin_study_solve solve, void *user,
                                    const vin_study_options *options);

/** Runs a constrained system from (start_time, p, v) to t = end, by vin_sim, with `options` but for the
 *  step. Quantities: "position" (n), "velocity" (n), "multiplier" (m, those of the end of the last
 *  step) at the end, and the largest "constraint" |Phi_c| and "hidden" |h_c| over all steps (only with
 *  m > 0). reference: p, v, lambda. end - start_time must be a whole number of steps. Where the options
 *  project, both residuals are at rounding and have no order. Tolerances that are multiplied:
 *  position_tolerance, velocity_tolerance and newton_tolerance. */
VIN_API vin_status vin_study_system(vin_study **study, const vin_context *context,
                                    vin_system *system, const double *p, const double *v,
                                    double end, const vin_options *options,
                                    const vin_study_options *study_options);

VIN_API void vin_study_destroy(vin_study *study);
VIN_API const char *vin_study_error(const vin_study *study);

/** Result of level 0.. and quantity 0..; a missing entry outside. */
VIN_API vin_study_entry vin_study_get(const vin_study *study, int level, int quantity);
/** Step of a level, NaN outside; why its run failed, or "". */
VIN_API double vin_study_step(const vin_study *study, int level);
VIN_API const char *vin_study_failure(const vin_study *study, int level);
/** The order that the finest two levels with verdict VIN_STUDY_OK show; NaN: none. */
VIN_API double vin_study_order(const vin_study *study, int quantity);
/** The whole study as text: a line of headings, one for each level, and remarks. Valid until the study
 *  is destroyed; "" of a failed handle. */
VIN_API const char *vin_study_table(const vin_study *study);

#ifdef __cplusplus
}
#endif
#endif
