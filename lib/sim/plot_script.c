/* The gnuplot script as a whole: canvas, arrangement of the panels. */
#include "sim/plot_script.h"

#include <math.h>

void vini_put(FILE *stream, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fputs(text, stream);
}

void vini_put_quoted(FILE *stream, const char *text) {
  fputc('\'', stream);
  for (; *text; text++) {
    if (*text == '\'') fputc('\'', stream); /* '' stands for ' */
    fputc((unsigned char)*text < ' ' ? ' ' : *text, stream);
  }
  fputc('\'', stream);
}

void vini_put_point(FILE *stream, double x, double y) {
  enum { DIGITS = 9 }; /* a picture shows four */
  vini_file_number(stream, x, DIGITS);
  fputc(' ', stream);
  vini_file_number(stream, y, DIGITS);
  fputc('\n', stream);
}

void vini_put_rectangle(FILE *stream, vini_rectangle r) {
  vini_put(stream, "set lmargin at screen %s\nset rmargin at screen %s\n", VINI_PLOT_NUMBER(r.left),
           VINI_PLOT_NUMBER(r.right));
  vini_put(stream, "set bmargin at screen %s\nset tmargin at screen %s\n",
           VINI_PLOT_NUMBER(r.bottom), VINI_PLOT_NUMBER(r.top));
}

void vini_put_time_axis(const vini_script *script) {
  double first = script->t_first - script->t_offset, last = script->t_last - script->t_offset;
  if (!(last > first)) last = first + 1; /* a single record */
  vini_put(script->stream, "set xrange [%s:%s]\n", VINI_PLOT_NUMBER(first), VINI_PLOT_NUMBER(last));
  if (script->t_offset == 0)
    vini_put(script->stream, "set xlabel 'time t%s'\n", vini_plot_unit(script, " [s]"));
  else
    vini_put(script->stream, "set xlabel 'time t - t0%s, t0 = %s%s'\n",
             vini_plot_unit(script, " [s]"), VINI_PLOT_NUMBER(script->t_offset),
             vini_plot_unit(script, " s"));
}

static void put_canvas(const vini_script *script, const char *path) {
  FILE *stream = script->stream;
  vini_put(stream, "# Written by vincula %s. Draws with: gnuplot <this file>\n", vin_version());
  vini_put(stream, "set encoding utf8\n"
                   "if (strstrt(GPVAL_TERMINALS, ' pngcairo ') > 0) {\n");
  vini_put(stream, "  set terminal pngcairo size %d,%d noenhanced font 'Sans,11' linewidth 1.2\n",
           VINI_PLOT_WIDTH, VINI_PLOT_HEIGHT);
  vini_put(stream, "} else {\n  set terminal png size %d,%d noenhanced\n}\n", VINI_PLOT_WIDTH,
           VINI_PLOT_HEIGHT);
  fputs("set output ", stream);
  vini_put_quoted(stream, path);
  fputs("\nset datafile missing 'nan'\n"
        "set tics nomirror\n"
        "set border 3\n"
        "set grid lc rgb '#d8d8d8' lt 1 lw 0.6\n",
        stream);
}

/* Which panels there are besides the motion, and where: beside a tall motion, below a wide one. */
static void put_panels(const vini_script *script, bool wide, vini_range horizontal,
                       vini_range vertical) {
  vini_rectangle motion = wide ? (vini_rectangle){0.075, 0.86, 0.555, 0.87}
                               : (vini_rectangle){0.07, 0.465, 0.215, 0.87};
  vini_rectangle first =
      wide ? (vini_rectangle){0.095, 0.48, 0.09, 0.38} : (vini_rectangle){0.60, 0.97, 0.59, 0.87};
  vini_rectangle second =
      wide ? (vini_rectangle){0.60, 0.97, 0.09, 0.38} : (vini_rectangle){0.60, 0.97, 0.09, 0.42};
  bool energy = vini_history_exists(script, VINI_RECORD_ENERGY_DRIFT);
  bool residuals = vini_residuals_exist(script);
  if (!energy || !residuals) { /* a panel alone gets the room of both */
    first.bottom = second.bottom;
    first.right = second.right;
    second = first;
    if (!wide) second.top = first.top = 0.87;
  }
  vini_motion_panel(script, motion, horizontal, vertical, wide);
  if (energy) vini_energy_panel(script, first);
  if (residuals) vini_residual_panel(script, energy ? second : first);
}

void vini_plot_script(const vin_recorder *recorder, FILE *stream, const char *path,
                      const vin_plot_options *options) {
  /* width / height of the motion, from where on it is drawn larger on top than at the side */
  const double wide_from = 1.9;
  const double far_from = 1e3; /* |t| in durations, from where on time axes get an offset */
  vini_script script = {.recorder = recorder,
                        .stream = stream,
                        .options = options,
                        .nodes = recorder->count / options->dimension,
                        .t_first = vini_record(recorder, 0, VINI_RECORD_TIME),
                        .t_last = vini_record(recorder, recorder->row_count - 1, VINI_RECORD_TIME)};
  if (fabs(script.t_first) > far_from * fabs(script.t_last - script.t_first))
    script.t_offset = script.t_first;
  vini_range horizontal, vertical;
  vini_motion_ranges(&script, &horizontal, &vertical);
  bool wide = horizontal.high - horizontal.low > wide_from * (vertical.high - vertical.low);

  put_canvas(&script, path);
  vini_motion_data(&script);
  vini_energy_data(&script);
  vini_residual_data(&script);
  fputs("set multiplot", stream);
  if (options->title) {
    fputs(" title ", stream);
    vini_put_quoted(stream, options->title);
    fputs(" noenhanced font ',15'", stream);
  }
  fputs("\n", stream);
  put_panels(&script, wide, horizontal, vertical);
  fputs("unset multiplot\nunset output\n", stream);
}
