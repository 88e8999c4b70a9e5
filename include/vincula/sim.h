/* vincula/sim.h - a simulation owns state, integrator, statistics, observers and records. */
#ifndef VINCULA_SIM_H
#define VINCULA_SIM_H

#include "vincula/integrate.h"
#include "vincula/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vin_sim vin_sim;

/** From bodies: compiles the model, makes the start consistent, allocates everything. The model may
 *  be destroyed afterwards. Errors of the model are reported here with its text. */
VIN_API vin_status vin_sim_create(vin_sim **sim, vin_model *model, const vin_options *options);
/** From own equations: start values p, v (n each), copied. Keeps the system. With options.fix_start
 *  the start is made consistent (see vin_initial_values() for the errors), otherwise taken as it
 * is; its multipliers are those of the acceleration level, or 0 where these cannot be solved for.
 *  VIN_ERR_CALLBACK, VIN_RETRY: a callback failed at the start; the text names it. */
VIN_API vin_status vin_sim_create_from_system(vin_sim **sim, const vin_context *context,
                                              vin_system *system, const double *p, const double *v,
                                              const vin_options *options);
VIN_API void vin_sim_destroy(vin_sim *sim);
VIN_API const char *vin_sim_error(const vin_sim *sim);

/** One step: of options.step, or, with tolerances in the options, of the step control. On failure the state is the one before, bit for bit. The end is
 *  t0 + k step with a whole k, so that rounding does not accumulate in t.
 *  With options.max_halvings = k a step that fails (status > 0) is tried again as 2, 4, ... 2^k
 * equal pieces; only the whole counts and is seen by observers. Not to be called, nor
 * vin_sim_run(), _set_state(), _set_step(), from inside an observer or the progress callback:
 * VIN_ERR_BAD_STATE. */
VIN_API vin_status vin_sim_step(vin_sim *sim);
/** Steps to time t, and ends exactly on it: whole steps of options.step and, if the rest is not rounding (more than 1e-9 of
 * a step or of t, whichever is less, and 4 roundings of t), one shorter last step. On failure
 * the state is the last accepted one. NaN, infinity or t before the present is VIN_ERR_BAD_INPUT.
 *  With tolerances in the options the step control chooses the lengths: options.step is the first trial,
 * rejected steps are counted in vin_stats.rejected, failed ones (status > 0) are tried again with
 * shorter steps too (max_halvings is not used). When the length falls below min_step or 16 roundings of
 * t, or of the way that is left: VIN_STEP_FAILED, which says why the last trial was refused. */
VIN_API vin_status vin_sim_run(vin_sim *sim, double t);

/** p and v (n each) at time t within the last step, with the order that vin_integrator_interpolate()
 *  has (options.dense_output = 1), else by the cubic through p and v at both ends, whose derivative
 *  is v. May be called from an observer. VIN_ERR_BAD_INPUT: t outside the last step;
 *  VIN_ERR_BAD_STATE: there is none (yet, or since a failure or vin_sim_set_state()). */
VIN_API vin_status vin_sim_interpolate(vin_sim *sim, double t, double *p, double *v);

/** The present state; valid until the next step. Arrays are the sim's: read only. */
typedef struct vin_state_view {
  double t;
  vin_int n, m;
  const double *p, *v, *lambda;
} vin_state_view;
VIN_API vin_state_view vin_sim_state(const vin_sim *sim);
/** Replaces the state (p, v: n; checked for NaN; not moved onto the constraints) by a new start:
 *  energy_start is taken from it, multipliers as for a start. On failure (a potential that cannot be
 *  evaluated there is one) the state is the one before. */
VIN_API vin_status vin_sim_set_state(vin_sim *sim, double t, const double *p, const double *v);
/** Changes the step, s; finite, > 0, at least 16 roundings of t. */
VIN_API vin_status vin_sim_set_step(vin_sim *sim, double step);

/** Called after every `every`-th accepted step; a return != 0 stops the run with VIN_INTERRUPTED
 * (the step stays accepted, and all observers that are due are called). At most 8 observers. */
typedef int (*vin_observer)(void *user, const vin_state_view *state);
VIN_API vin_status vin_sim_add_observer(vin_sim *sim, int64_t every, vin_observer observer,
                                        void *user);
/** Called during vin_sim_run() about once per 1/100 of it with done in 0..1; != 0 stops the run. */
typedef int (*vin_progress)(void *user, double done);
VIN_API void vin_sim_set_progress(vin_sim *sim, vin_progress progress, void *user);

/** Diagnostics of the present state. One force evaluation, one factorisation and solve; the
 *  state is not changed, nor is the text of a step or run that failed before. Entries that are not
 *  defined (no potential, no momentum; a callback of theirs that fails here, then named by
 *  vin_sim_error()) are NaN. */
typedef struct vin_report {
  double time;
  int64_t steps; /* accepted whole steps; vin_stats.steps counts the pieces of halved ones too */
  double kinetic, potential, energy, energy_start; /* energy: kinetic + potential */
  double position_residual;                        /* max |Phi_c| */
  double velocity_residual;                        /* max |h_c|, h = Phi_p v + Phi_t */
  double dae_residual; /* max |M v' + Phi_p' lambda - f| with v', lambda of the acceleration level,
                          relative to max |f|, after the solve */
  double linear_momentum[3], angular_momentum[3];
  double max_multiplier; /* max |lambda_c| of the acceleration level */
  vin_status status;     /* VIN_OK, or why accelerations are missing (then NaN) */
} vin_report;
VIN_API vin_report vin_sim_report(vin_sim *sim);

/** Accelerations (n, m/s^2) and multipliers (m) at the present state, from M v' + Phi_p' lambda = f,
 *  Phi_p v' = -a (theory (5)). Either may be NULL. At most one factorisation, one solve. Errors as
 *  vin_project_acceleration(). */
VIN_API vin_status vin_sim_accelerations(vin_sim *sim, double *vdot, double *lambda);

/** Counters since creation; what reports and accelerations cost is in solver. */
VIN_API vin_stats vin_sim_get_stats(const vin_sim *sim);
/** How the start was made consistent; also of a sim whose creation failed there. */
VIN_API vin_projection_report vin_sim_start_report(const vin_sim *sim);
/** Names in column order, and the saddle-point object for vin_kkt_describe(), vin_kkt_write() and
 *  vin_kkt_dropped(), also after a failed step or start. Both belong to the sim; NULL when creation
 *  failed before they existed. */
VIN_API vin_system *vin_sim_system(vin_sim *sim);
VIN_API vin_kkt *vin_sim_kkt(vin_sim *sim);

/* ---- recorder: trajectory and the four drift histories as CSV and as a plot -------------- */

typedef struct vin_recorder vin_recorder;

typedef struct vin_recorder_options {
  size_t struct_size;       /* sizeof(vin_recorder_options) */
  double interval;          /* s between records; default 0: every accepted step */
  const vin_int *positions; /* indices of p to record; NULL: all */
  vin_int position_count;   /* how many; with positions NULL ignored */
  int velocities;           /* default 1: record the velocities of the same indices */
  int interpolate; /* default 0: with an interval, the first accepted step at or after each of
                               its times is recorded; 1: the times themselves, from vin_sim_interpolate()
                               with dense output, whose error the four histories then show, too */
} vin_recorder_options;
VIN_API vin_recorder_options vin_recorder_options_default(void);

/** Attaches to a sim as an observer and records its present state at once. Records are kept in
 *  memory, which grows by doubling; when there is no more, the run ends with VIN_INTERRUPTED and
 * the texts of sim and recorder say so. Destroy recorder and sim in any order. */
VIN_API vin_status vin_recorder_create(vin_recorder **recorder, vin_sim *sim,
                                       const vin_recorder_options *options);
VIN_API void vin_recorder_destroy(vin_recorder *recorder);
VIN_API const char *vin_recorder_error(const vin_recorder *recorder);
/** Rows recorded, and the columns: t, energy, energy_drift (energy - energy_start),
 * position_residual, velocity_residual, dae_residual, then positions and velocities. value(row,
 * column); NaN outside. */
VIN_API int64_t vin_recorder_rows(const vin_recorder *recorder);
VIN_API vin_int vin_recorder_columns(const vin_recorder *recorder);
VIN_API double vin_recorder_value(const vin_recorder *recorder, int64_t row, vin_int column);
/** Writes a header line of names ("t", "energy", "x[node 7]", "vx[node 7]", quoted where they
 * contain a comma or a quote) and one line per record, 17 digits, '.' whatever the locale.
 * VIN_ERR_IO names the file; a file that was created is removed again, an existing regular file is
 * left empty. */
VIN_API vin_status vin_recorder_write_csv(vin_recorder *recorder, const char *path);

typedef enum vin_plot_kind {
  VIN_PLOT_PATHS, /* the path of each recorded node */
  VIN_PLOT_SHAPES /* the recorded nodes joined by a line, at about eight times */
} vin_plot_kind;

typedef struct vin_plot_options {
  size_t struct_size;       /* sizeof(vin_plot_options) */
  vin_plot_kind kind;       /* default VIN_PLOT_PATHS */
  const char *title;        /* default NULL: none */
  int dimension;            /* default 3: numbers per node in the recorded positions (2 or 3) */
  int horizontal, vertical; /* which of them are drawn; default 0 and 2 (x and z) */
  int dimensionless;        /* default 0: axes in m, s and J; 1: without units */
} vin_plot_options;
VIN_API vin_plot_options vin_plot_options_default(void);

/** Draws motion and drift histories to a PNG with the program gnuplot, which is run as a child
 *  process without a shell. VIN_ERR_IO: gnuplot is missing or failed; the script is kept as
 *  "<path>.gp" then (which is overwritten in any case). The energy drift is drawn relative to
 *  max(|energy_start|, largest kinetic energy). Long records are thinned out, peaks are kept. */
VIN_API vin_status vin_recorder_plot(vin_recorder *recorder, const char *path,
                                     const vin_plot_options *options);

#ifdef __cplusplus
}
#endif
#endif
