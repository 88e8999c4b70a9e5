/* The panels of histories: energy drift on a linear axis, residuals on a logarithmic one. */
#include "sim/plot_script.h"

#include <float.h>
#include <math.h>

enum { ENERGY_BUCKETS = 1000, RESIDUAL_BUCKETS = 250, RESIDUALS = 3 };

typedef struct residual {
  vin_int column;
  const char *block, *title, *unit;
} residual;

static const residual residuals[RESIDUALS] = {
    {VINI_RECORD_POSITION_RESIDUAL, "$phi", "max |Phi|", " [m]"},
    {VINI_RECORD_VELOCITY_RESIDUAL, "$h", "max |h|", " [m/s]"},
    {VINI_RECORD_DAE_RESIDUAL, "$dae", "dynamics", " [1]"}};

bool vini_history_exists(const vini_script *script, vin_int column) {
  for (int64_t row = 0; row < script->recorder->row_count; row++)
    if (isfinite(vini_record(script->recorder, row, column))) return true;
  return false;
}

/* Without constraints the constraint residuals say nothing. */
static bool residual_exists(const vini_script *script, const residual *r) {
  bool constraints = vin_system_constraints(script->recorder->system) > 0;
  return (constraints || r->column == VINI_RECORD_DAE_RESIDUAL) &&
         vini_history_exists(script, r->column);
}

bool vini_residuals_exist(const vini_script *script) {
  for (int k = 0; k < RESIDUALS; k++)
    if (residual_exists(script, &residuals[k])) return true;
  return false;
}

static void put_row(const vini_script *script, int64_t row, vin_int column, double scale) {
  vini_put_point(script->stream,
                 vini_record(script->recorder, row, VINI_RECORD_TIME) - script->t_offset,
                 vini_record(script->recorder, row, column) / scale);
}

/* Rows that one bucket of a long history holds. */
static int64_t bucket_size(const vini_script *script, int64_t buckets) {
  return (script->recorder->row_count + buckets - 1) / buckets;
}

/* Of each bucket its smallest and largest value, in order of time: no peak is lost. */
static void put_range_history(const vini_script *script, const char *block, vin_int column,
                              double scale) {
  int64_t rows = script->recorder->row_count, size = bucket_size(script, ENERGY_BUCKETS);
  vini_put(script->stream, "%s << END\n", block);
  for (int64_t begin = 0; begin < rows; begin += size) {
    int64_t end = rows - begin < size ? rows : begin + size, low = begin, high = begin;
    for (int64_t row = begin + 1; row < end; row++) {
      double value = vini_record(script->recorder, row, column);
      if (value < vini_record(script->recorder, low, column)) low = row;
      if (value > vini_record(script->recorder, high, column)) high = row;
    }
    put_row(script, low < high ? low : high, column, scale);
    if (low != high) put_row(script, low < high ? high : low, column, scale);
  }
  fputs("END\n", script->stream);
}

/* Of each bucket its largest value: residuals of rounding jump over decades from step to step, and
 * what matters of them is the envelope. */
static void put_largest_history(const vini_script *script, const char *block, vin_int column) {
  int64_t rows = script->recorder->row_count, size = bucket_size(script, RESIDUAL_BUCKETS);
  vini_put(script->stream, "%s << END\n", block);
  for (int64_t begin = 0; begin < rows; begin += size) {
    int64_t end = rows - begin < size ? rows : begin + size, high = begin;
    for (int64_t row = begin + 1; row < end; row++) {
      double value = vini_record(script->recorder, row, column);
      double highest = vini_record(script->recorder, high, column);
      if (value > highest || isnan(highest)) high = row;
    }
    put_row(script, high, column, 1);
  }
  fputs("END\n", script->stream);
}

/* ---- energy ------------------------------------------------------------------------------ */

static double energy_scale(const vini_script *script) {
  return script->recorder->energy_scale > 0 ? script->recorder->energy_scale : 1;
}

void vini_energy_data(const vini_script *script) {
  if (vini_history_exists(script, VINI_RECORD_ENERGY_DRIFT))
    put_range_history(script, "$energy", VINI_RECORD_ENERGY_DRIFT, energy_scale(script));
}

void vini_energy_panel(const vini_script *script, vini_rectangle r) {
  FILE *stream = script->stream;
  double scale = energy_scale(script);
  vini_range range = {0, 0};
  for (int64_t row = 0; row < script->recorder->row_count; row++)
    vini_range_add(&range, vini_record(script->recorder, row, VINI_RECORD_ENERGY_DRIFT) / scale);
  /* a drift of nothing but rounding would fill the panel; exactly none would break the axis */
  double border = vini_max(0.08 * (range.high - range.low), DBL_EPSILON);
  vini_put_rectangle(stream, r);
  vini_put(stream, "unset key\nset title 'Relative energy drift' font ',12'\n");
  vini_put(stream, "set ylabel '(E - E0) / %s%s'\nset format y '%%.1e'\n",
           vini_format_number((char[VINI_NUMBER_SIZE]){0}, VINI_NUMBER_SIZE, scale, 4),
           vini_plot_unit(script, " J"));
  vini_put(stream, "set yrange [%s:%s]\n", VINI_PLOT_NUMBER(range.low - border),
           VINI_PLOT_NUMBER(range.high + border));
  vini_put_time_axis(script);
  fputs("set xzeroaxis lt 1 lc rgb '#888888' lw 0.8\n"
        "plot $energy with lines lw 1.4 lc rgb '#1f5fa8'\n"
        "unset xzeroaxis\nset format y '% h'\n",
        stream);
}

/* ---- residuals --------------------------------------------------------------------------- */

void vini_residual_data(const vini_script *script) {
  for (int k = 0; k < RESIDUALS; k++)
    if (residual_exists(script, &residuals[k]))
      put_largest_history(script, residuals[k].block, residuals[k].column);
}

/* Decades that hold all residuals that can be shown; *zero: some are zero, which no logarithm
 * shows. */
static vini_range decades(const vini_script *script, bool *zero) {
  const double smallest = 1e-20, largest = 1e30; /* below it all is rounding */
  vini_range range = {INFINITY, 0};
  *zero = false; /* or too small */
  for (int k = 0; k < RESIDUALS; k++) {
    if (!residual_exists(script, &residuals[k])) continue;
    for (int64_t row = 0; row < script->recorder->row_count; row++) {
      double value = vini_record(script->recorder, row, residuals[k].column);
      if (value >= smallest) vini_range_add(&range, vini_min(value, largest));
      if (value < smallest) *zero = true;
    }
  }
  if (!(range.high > 0)) range = (vini_range){1e-17, 1e-16}; /* all are zero */
  range.low = pow(10, floor(log10(range.low) - 1e-9));
  range.high = pow(10, ceil(log10(range.high) + 1e-9));
  if (*zero) range.low *= 0.1; /* zeros lie on the bottom line, a decade below the rest */
  return range;
}

void vini_residual_panel(const vini_script *script, vini_rectangle r) {
  static const char *const colours[RESIDUALS] = {"#c2410c", "#15803d", "#7e22ce"};
  FILE *stream = script->stream;
  bool zero, first = true;
  vini_range range = decades(script, &zero);
  vini_put_rectangle(stream, r);
  /* the title above its usual place, to leave a line for the key */
  vini_put(stream, "set title 'Constraint residuals%s' font ',12' offset 0,1.1\n",
           zero ? " (0 is drawn at the bottom)" : "");
  vini_put(stream, "set ylabel 'magnitude'\nset logscale y\nset format y '%%.0e'\n"
                   "unset mytics\n");
  vini_put(stream, "set yrange [%s:%s]\n", VINI_PLOT_NUMBER(range.low),
           VINI_PLOT_NUMBER(range.high));
  vini_put(stream,
           "set key at screen %s, screen %s center bottom Left reverse horizontal maxrows 1 "
           "maxcols auto samplen 1.5 width -1\n",
           VINI_PLOT_NUMBER(0.5 * (r.left + r.right)), VINI_PLOT_NUMBER(r.top + 0.005));
  vini_put_time_axis(script);
  for (int k = 0; k < RESIDUALS; k++) {
    if (!residual_exists(script, &residuals[k])) continue;
    fputs(first ? "plot " : ", \\\n     ", stream);
    first = false;
    vini_put(stream, "%s using 1:($2 > %s ? $2 : %s) with lines lw 1.4 lc rgb '%s' title '%s%s'",
             residuals[k].block, VINI_PLOT_NUMBER(range.low), VINI_PLOT_NUMBER(range.low),
             colours[k], residuals[k].title, vini_plot_unit(script, residuals[k].unit));
  }
  fputs("\nunset logscale y\n", stream);
}
