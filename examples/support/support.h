/* support.h - what all examples share: the command line, a monitor that watches a simulation, and
 * the printed result. The examples themselves hold everything that concerns the library's use; to
 * start your own program from one of them, drop the calls that begin with ex_. */
#ifndef VINCULA_EXAMPLES_SUPPORT_H
#define VINCULA_EXAMPLES_SUPPORT_H

#include <vincula/vincula.h>

/* ---- command line ------------------------------------------------------------------------- */

typedef struct ex_options {
  const char *program; /* the example's name */
  const char *purpose; /* one line, for --help and the head of the table */
  vin_options sim;     /* --method, --projection, --h, --solver */
  double end;          /* --t */
  int json;            /* --json */
  const char *csv;     /* --csv FILE or NULL */
  const char *plot;    /* --plot FILE.png or NULL */
  double started;      /* s, clock reading when the command line was parsed */
} ex_options;

/* An option of one example: an integer in least..most, or one of the words, whose number is then
 * stored. A list ends with name NULL. */
typedef struct ex_extra {
  const char *name, *meaning;
  int *value;
  int least, most;
  const char *const *words; /* ends with NULL; NULL: an integer */
} ex_extra;

/* Defaults of an example: rattle, step h, end time t. */
ex_options ex_options_default(const char *program, const char *purpose, double h, double t);

/* Reads the command line. Ends the program with status 2 and a message that names the culprit when
 * something is wrong, with status 0 after --help. extra may be NULL. */
void ex_parse(ex_options *options, const ex_extra *extra, int argc, char **argv);

/* Says on standard error that an option does not apply here, ends the program with status 2. */
_Noreturn void ex_refuse(const ex_options *options, const char *option, const char *why);

/* ---- result ------------------------------------------------------------------------------- */

/* One row per line of the table, one key per field in JSON. NaN: not known, and left out. */
typedef struct ex_result {
  vin_int n, m;
  const char *method, *projection, *solver; /* projection NULL: does not apply */
  double h, t;
  int64_t steps, failures;           /* failures: steps repeated as shorter ones */
  double energy_start, energy_drift; /* at the start; max |E - E0| over the run */
  double constraint_max,
      hidden_max; /* max |Phi| and max |Phi_p v + Phi_t| over the sampled times */
  double error;   /* max-norm over p and v against a reference solution */
  int64_t symbolic, numeric, solves; /* of the simulation, without those spent on sampling */
  double setup_s, wall_s;            /* before the first step; stepping, without the sampling */
  const char *size_name,
      *count_name;   /* a JSON key such as "grid" and its value; then the number of */
  int size, count;   /* links, which gives the time per step and link; NULL: none */
  const char *kind;  /* a JSON key too; NULL: none */
  int dimensionless; /* 1: print no units */
} ex_result;

/* Prints a table, or one line of JSON with --json. Returns the exit status: 0, or 1 when standard
 * output cannot be written. */
int ex_print(const ex_options *options, const ex_result *result);

/* Prints "program: STATUS: text" on standard error and returns the exit status 1. */
int ex_fail(const ex_options *options, vin_status status, const char *text);

/* ---- monitor ------------------------------------------------------------------------------ */

/* Watches a simulation: samples the drifts about 200 times, shows the progress when standard error
 * is a terminal, keeps records for --csv and --plot. Begin with all zeros but the options. */
typedef struct ex_monitor {
  const ex_options *options;
  vin_sim *sim;
  vin_recorder *recorder; /* NULL without --csv and --plot */
  ex_result result;
  vin_solver_stats sampling;  /* what the samples cost */
  int completed;              /* 1: the run reached its end and result is filled in */
  double sampling_s, start_s; /* s */
} ex_monitor;

/* Attaches to a sim. record: which positions --csv and --plot shall hold; an interval of 0 becomes
 * 1/400 of the run. */
vin_status ex_monitor_start(ex_monitor *monitor, vin_sim *sim, vin_recorder_options record);

/* Takes the last sample, completes monitor->result, writes the CSV file and the plot. */
vin_status ex_monitor_finish(ex_monitor *monitor, vin_plot_options plot);

/* Prints monitor->result, or why start, finish or the simulation failed when status is not VIN_OK;
 * releases the monitor. Returns the exit status. sim may be NULL. */
int ex_monitor_conclude(ex_monitor *monitor, vin_status status, const vin_sim *sim);

/* ---- records of a program without a vin_sim -------------------------------------------------- */

/* Rows of numbers for --csv and --plot. The columns begin with t, energy, energy_drift,
 * position_residual, velocity_residual; the plot shows the three after these as angles. */
typedef struct ex_table {
  const ex_options *options;
  const char *names; /* the first line of the CSV file */
  int columns;
  double *value; /* kept by the functions below, like what follows */
  size_t rows, room;
  int failed;
} ex_table;

/* Keeps about 400 rows of a run; does nothing without --csv and --plot. */
void ex_table_row(ex_table *table, const double *row);
/* Writes and draws what is asked for, releases the rows. Returns the exit status. */
int ex_table_finish(ex_table *table);

/* ---- reference solutions (tests/reference) and the clock ------------------------------------ */

/* Finds the row of time t in a reference file, "t,positions...,velocities...,more", and reads count
 * numbers after t. Returns 1, or 0 when there is no such file, row or so many numbers. */
int ex_reference_row(const char *file, double t, int count, double *values);

/* Max-norm of the error of a state against such a row, where a node has state_dimension numbers in
 * the state and file_dimension <= state_dimension numbers in the file; those that are not in the
 * file are zero. NaN when there is no reference. */
double ex_reference_error(const char *file, const vin_state_view *state, int state_dimension,
                          int file_dimension);

/* Seconds of a clock that never jumps. */
double ex_clock(void);

#endif
