/* recorder - rows of numbers in memory; csv.c and plot*.c write them. */
#ifndef VINI_RECORDER_H
#define VINI_RECORDER_H

#include "sim/sim.h"

#include <stdio.h>

/* Columns before the positions. */
enum {
  VINI_RECORD_TIME,
  VINI_RECORD_ENERGY,
  VINI_RECORD_ENERGY_DRIFT,
  VINI_RECORD_POSITION_RESIDUAL,
  VINI_RECORD_VELOCITY_RESIDUAL,
  VINI_RECORD_DAE_RESIDUAL,
  VINI_RECORD_HISTORIES
};

struct vin_recorder {
  vini_object object;
  vin_sim *sim;       /* NULL once the sim is gone */
  vin_system *system; /* kept for its names */
  vin_recorder_options options;
  vin_int count;  /* recorded positions */
  vin_int *index; /* count: their indices in p */
  vin_int columns;

  vin_state between; /* p, v (n each): an interpolated state; NULL without */

  double *rows; /* row_count x columns, row by row */
  int64_t row_count, row_capacity;
  double
      energy_scale; /* J, max(|E_0|, largest kinetic energy): what the plot divides the drift by */

  /* record k is due at grid_start + k * interval */
  double grid_start;
  int64_t grid_count;
};

static inline double vini_record(const vin_recorder *recorder, int64_t row, vin_int column) {
  return recorder->rows[row * recorder->columns + column];
}

/* Longest name of a column, with its final zero. */
enum { VINI_COLUMN_NAME_SIZE = 128 };

/* Name of a column in files: "energy", "x[node 7]", "vx[node 7]". Free of control characters. */
void vini_recorder_column_name(const vin_recorder *recorder, vin_int column,
                               char name[VINI_COLUMN_NAME_SIZE]);
/* Name of what recorded position k belongs to: "node 7" out of "x of node 7". */
void vini_recorder_owner_name(const vin_recorder *recorder, vin_int k,
                              char name[VINI_COLUMN_NAME_SIZE]);

/* An output file. `created`: it did not exist before, so a failure may remove it again. */
typedef struct vini_file {
  FILE *stream;
  const char *path;
  bool created;
} vini_file;

/* Opens for writing; VIN_ERR_IO names path and reason in `object`. */
vin_status vini_file_open(vini_file *file, vini_object *object, const char *path);
/* Closes. When `status` or any write was a failure, a regular file that we created is removed (one
 * that was there before is left empty, anything else untouched); status, or VIN_ERR_IO. */
vin_status vini_file_close(vini_file *file, vini_object *object, vin_status status);
/* Writes a number, 17 digits (or fewer), '.' whatever the locale; "nan" without a sign. */
void vini_file_number(FILE *stream, double value, int digits);

/* The script that draws to `path`. Write errors stay in the stream. */
void vini_plot_script(const vin_recorder *recorder, FILE *stream, const char *path,
                      const vin_plot_options *options);

#endif
