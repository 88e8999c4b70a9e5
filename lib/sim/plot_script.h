/* plot_script - the pieces of a gnuplot script. plot_script.c arranges them, plot_motion.c and
 * plot_history.c write data and commands of their panels. */
#ifndef VINI_PLOT_SCRIPT_H
#define VINI_PLOT_SCRIPT_H

#include "sim/recorder.h"

/* A rectangle on the canvas in fractions of it: the area inside the axes. */
typedef struct vini_rectangle {
  double left, right, bottom, top;
} vini_rectangle;

typedef struct vini_script {
  const vin_recorder *recorder;
  FILE *stream;
  const vin_plot_options *options;
  vin_int nodes;
  double t_first, t_last; /* of the records */
  double t_offset;        /* subtracted from times on axes that are far from zero */
} vini_script;

enum { VINI_PLOT_WIDTH = 1200, VINI_PLOT_HEIGHT = 800 }; /* pixels */

/* The text of a unit with what stands around it, or nothing where the problem has no units. */
static inline const char *vini_plot_unit(const vini_script *script, const char *text) {
  return script->options->dimensionless ? "" : text;
}

/* Formats and writes; the result may be up to 400 bytes long. */
__attribute__((format(printf, 2, 3))) void vini_put(FILE *stream, const char *format, ...);
/* A number for vini_put() with %s; lives as long as the enclosing block. */
#define VINI_PLOT_NUMBER(value)                                                                    \
  vini_format_number((char[VINI_NUMBER_SIZE]){0}, VINI_NUMBER_SIZE, (value), 9)
/* A string literal of gnuplot. Only single quotes: nothing in them is substituted. */
void vini_put_quoted(FILE *stream, const char *text);
/* "x y" or "x y colour" and a line end. */
void vini_put_point(FILE *stream, double x, double y);
/* Margins at the rectangle's edges, and `set xrange` for times. */
void vini_put_rectangle(FILE *stream, vini_rectangle rectangle);
void vini_put_time_axis(const vini_script *script);

/* Smallest and largest of the finite values among count; false: there are none. */
typedef struct vini_range {
  double low, high;
} vini_range;
static inline void vini_range_add(vini_range *range, double x) {
  if (x < range->low) range->low = x;
  if (x > range->high) range->high = x;
}

/* Ranges of the drawn coordinates over all records: horizontal and vertical. */
void vini_motion_ranges(const vini_script *script, vini_range *horizontal, vini_range *vertical);
/* Data blocks come first in the script, the panels (inside multiplot) after them. */
void vini_motion_data(const vini_script *script);
void vini_motion_panel(const vini_script *script, vini_rectangle rectangle, vini_range horizontal,
                       vini_range vertical, bool wide);

/* Does a history hold any finite number? */
bool vini_history_exists(const vini_script *script, vin_int column);
void vini_energy_data(const vini_script *script);
void vini_energy_panel(const vini_script *script, vini_rectangle rectangle);
void vini_residual_data(const vini_script *script);
void vini_residual_panel(const vini_script *script, vini_rectangle rectangle);
bool vini_residuals_exist(const vini_script *script);

#endif
