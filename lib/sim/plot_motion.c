/* The motion panel: the path of each node, or the shape of all nodes at several times. */
#include "sim/plot_script.h"

#include <math.h>

enum {
  SHAPES = 8,       /* drawn at most */
  NAMED_PATHS = 8,  /* up to here each path has its own colour and name, above it a colour scale */
  PATHS_MAX = 2000, /* nodes drawn at most: evenly chosen */
  SHAPE_NODES = 20000,  /* the same for shapes */
  PATH_POINTS = 200000, /* over all paths */
  PATH_POINTS_EACH = 2000,
  MARKED_NODES = 60 /* shapes of up to so many nodes show them as dots */
};

static const char *const shape_colours[SHAPES] = {"#440154", "#46327e", "#365c8d", "#277f8e",
                                                  "#1fa187", "#4ac16d", "#a0da39", "#f0c419"};

static double coordinate(const vini_script *script, int64_t row, vin_int node, int direction) {
  return vini_record(script->recorder, row,
                     VINI_RECORD_HISTORIES + node * script->options->dimension + direction);
}

static void put_place(const vini_script *script, int64_t row, vin_int node) {
  vini_put_point(script->stream, coordinate(script, row, node, script->options->horizontal),
                 coordinate(script, row, node, script->options->vertical));
}

void vini_motion_ranges(const vini_script *script, vini_range *horizontal, vini_range *vertical) {
  *horizontal = *vertical = (vini_range){INFINITY, -INFINITY};
  for (int64_t row = 0; row < script->recorder->row_count; row++)
    for (vin_int node = 0; node < script->nodes; node++) {
      vini_range_add(horizontal, coordinate(script, row, node, script->options->horizontal));
      vini_range_add(vertical, coordinate(script, row, node, script->options->vertical));
    }
}

/* ---- data -------------------------------------------------------------------------------- */

/* Every how manyth of count is taken, so that at most `limit` are. */
static int64_t stride_of(int64_t count, int64_t limit) {
  return (count + limit - 1) / limit;
}

static vin_int node_stride(const vini_script *script) {
  bool paths = script->options->kind == VIN_PLOT_PATHS;
  return (vin_int)stride_of(script->nodes, paths ? PATHS_MAX : SHAPE_NODES);
}

static void put_paths(const vini_script *script) {
  int64_t last = script->recorder->row_count - 1;
  vin_int step = node_stride(script);
  int64_t drawn = stride_of(script->nodes, step), each = PATH_POINTS / drawn;
  int64_t stride = stride_of(last + 1, each < PATH_POINTS_EACH ? each : PATH_POINTS_EACH);
  fputs("$motion << END\n", script->stream);
  for (vin_int node = 0; node < script->nodes; node += step) {
    for (int64_t row = 0; row < last; row += stride) put_place(script, row, node);
    put_place(script, last, node);
    fputs("\n\n", script->stream);
    if (script->nodes - node <= step) break; /* node + step could overflow */
  }
  fputs("END\n", script->stream);
  for (int end = 0; end < 2; end++) {
    fputs(end == 0 ? "$start << END\n" : "$end << END\n", script->stream);
    for (int64_t node = 0; node < script->nodes; node += step)
      put_place(script, end == 0 ? 0 : last, (vin_int)node);
    fputs("END\n", script->stream);
  }
}

/* Record of shape k of count, evenly spread from the first to the last. */
static int64_t shape_row(const vini_script *script, int k, int count) {
  int64_t last = script->recorder->row_count - 1;
  return count > 1 ? (int64_t)llround((double)last * k / (count - 1)) : 0;
}

static int shape_count(const vini_script *script) {
  return script->recorder->row_count < SHAPES ? (int)script->recorder->row_count : SHAPES;
}

static void put_shapes(const vini_script *script) {
  int count = shape_count(script);
  vin_int step = node_stride(script);
  fputs("$motion << END\n", script->stream);
  for (int k = 0; k < count; k++) {
    for (int64_t node = 0; node < script->nodes; node += step)
      put_place(script, shape_row(script, k, count), (vin_int)node);
    fputs("\n\n", script->stream);
  }
  fputs("END\n", script->stream);
}

void vini_motion_data(const vini_script *script) {
  if (script->options->kind == VIN_PLOT_PATHS)
    put_paths(script);
  else
    put_shapes(script);
}

/* ---- commands ---------------------------------------------------------------------------- */

/* Widens the shorter range, so that both axes have the same scale and fill the rectangle. */
static void put_equal_ranges(const vini_script *script, vini_rectangle r, vini_range x,
                             vini_range y) {
  const double border = 1.08;
  double width = (r.right - r.left) * VINI_PLOT_WIDTH,
         height = (r.top - r.bottom) * VINI_PLOT_HEIGHT;
  double per_pixel = vini_max((x.high - x.low) / width, (y.high - y.low) / height) * border;
  double size = vini_max(vini_max(fabs(x.low), fabs(x.high)), vini_max(fabs(y.low), fabs(y.high)));
  /* no motion at all, or none beyond rounding */
  if (!(per_pixel * width > 1e-9 * size)) per_pixel = (size > 0 ? size : 1) / width;
  double x_middle = 0.5 * (x.low + x.high), y_middle = 0.5 * (y.low + y.high);
  vini_put(script->stream, "set xrange [%s:%s]\n",
           VINI_PLOT_NUMBER(x_middle - 0.5 * width * per_pixel),
           VINI_PLOT_NUMBER(x_middle + 0.5 * width * per_pixel));
  vini_put(script->stream, "set yrange [%s:%s]\n",
           VINI_PLOT_NUMBER(y_middle - 0.5 * height * per_pixel),
           VINI_PLOT_NUMBER(y_middle + 0.5 * height * per_pixel));
}

static void put_motion_title(const vini_script *script) {
  static const char axes[] = "xyz";
  const vin_plot_options *o = script->options;
  vin_int step = node_stride(script);
  char every[48] = "";
  if (step > 1) vini_fail_text(every, sizeof every, VIN_OK, " (every %dth drawn)", (int)step);
  vini_put(script->stream, "set title '%s %d node%s%s, ",
           o->kind == VIN_PLOT_PATHS ? "Paths of" : "Shape of", (int)script->nodes,
           script->nodes == 1 ? "" : "s", every);
  double duration = script->t_last - script->t_first;
  if (script->t_offset == 0)
    vini_put(script->stream, "t = %s to %s%s", VINI_PLOT_NUMBER(script->t_first),
             VINI_PLOT_NUMBER(script->t_last), vini_plot_unit(script, " s"));
  else
    vini_put(script->stream, "t0 = %s%s to t0 + %s%s", VINI_PLOT_NUMBER(script->t_first),
             vini_plot_unit(script, " s"), VINI_PLOT_NUMBER(duration),
             vini_plot_unit(script, " s"));
  fputs("' font ',12'\n", script->stream);
  const char *unit = vini_plot_unit(script, " [m]");
  vini_put(script->stream, "set xlabel '%c%s'\nset ylabel '%c%s'\n", axes[o->horizontal], unit,
           axes[o->vertical], unit);
}

/* The key beside a wide panel, below a tall one. */
static void put_key(const vini_script *script, vini_rectangle r, bool wide) {
  if (wide)
    vini_put(script->stream,
             "set key at screen %s, screen %s left top Left reverse vertical maxcols 1 samplen 2 "
             "spacing 1.2\n",
             VINI_PLOT_NUMBER(r.right + 0.01), VINI_PLOT_NUMBER(r.top));
  else
    vini_put(script->stream,
             "set key at screen %s, screen %s center top Left reverse horizontal maxcols 3 "
             "samplen 2 spacing 1.2\n",
             VINI_PLOT_NUMBER(0.5 * (r.left + r.right)), VINI_PLOT_NUMBER(r.bottom - 0.08));
}

static void put_named_paths(const vini_script *script) {
  char name[VINI_COLUMN_NAME_SIZE];
  for (vin_int node = 0; node < script->nodes; node++) {
    vini_put(script->stream, "$motion index %d with lines lw 1.6 lc %d title ", (int)node,
             (int)node + 1);
    vini_recorder_owner_name(script->recorder, node * script->options->dimension, name);
    vini_put_quoted(script->stream, name);
    fputs(", \\\n     ", script->stream);
  }
}

/* Many paths: colour tells the place in the order of recording. */
static void put_coloured_paths(const vini_script *script, vini_rectangle r, bool wide) {
  vini_put(script->stream, "set palette defined (0 '%s', 1 '%s', 2 '%s', 3 '%s')\n",
           shape_colours[0], shape_colours[2], shape_colours[4], shape_colours[7]);
  vini_put(script->stream, "set cbrange [1:%d]\nset cblabel 'number of the node'\n",
           (int)script->nodes);
  if (wide)
    vini_put(
        script->stream,
        "set colorbox vertical user origin screen %s, screen %s size screen 0.015, screen %s\n",
        VINI_PLOT_NUMBER(r.right + 0.02), VINI_PLOT_NUMBER(r.bottom),
        VINI_PLOT_NUMBER(0.7 * (r.top - r.bottom)));
  else
    vini_put(
        script->stream,
        "set colorbox horizontal user origin screen %s, screen %s size screen %s, screen 0.02\n",
        VINI_PLOT_NUMBER(r.left), VINI_PLOT_NUMBER(r.bottom - 0.13),
        VINI_PLOT_NUMBER(r.right - r.left));
  vini_put(script->stream,
           "plot $motion using 1:2:(column(-2) * %d + 1) with lines lw 1 lc palette notitle, \\\n"
           "     ",
           (int)node_stride(script));
}

static void put_paths_plot(const vini_script *script, vini_rectangle r, bool wide) {
  if (script->nodes <= NAMED_PATHS) {
    fputs("plot ", script->stream);
    put_named_paths(script);
  } else {
    put_coloured_paths(script, r, wide);
  }
  /* open circle at the start, filled one at the end; smaller where there are many */
  const char *size = script->nodes <= NAMED_PATHS ? "1.3" : "0.6";
  vini_put(script->stream,
           "$start with points pt 6 ps %s lc rgb 'black' title 'start', \\\n"
           "     $end with points pt 7 ps %s lc rgb 'black' title 'end'\nunset colorbox\n",
           size, size);
}

static void put_shapes_plot(const vini_script *script) {
  int count = shape_count(script);
  const char *style = script->nodes <= MARKED_NODES ? "linespoints pt 7 ps 0.5" : "lines";
  fputs("plot ", script->stream);
  for (int k = 0; k < count; k++) {
    double t = vini_record(script->recorder, shape_row(script, k, count), VINI_RECORD_TIME);
    char time[VINI_NUMBER_SIZE];
    vini_format_number(time, sizeof time, t - script->t_offset, 4);
    vini_put(script->stream, "$motion index %d with %s lw 1.6 lc rgb '%s' title '%s%s s'%s", k,
             style, shape_colours[count > 1 ? k * (SHAPES - 1) / (count - 1) : 0],
             script->t_offset == 0 ? "t = " : "t0 + ", time, k + 1 < count ? ", \\\n     " : "\n");
  }
}

void vini_motion_panel(const vini_script *script, vini_rectangle r, vini_range horizontal,
                       vini_range vertical, bool wide) {
  vini_put_rectangle(script->stream, r);
  put_motion_title(script);
  put_equal_ranges(script, r, horizontal, vertical);
  put_key(script, r, wide);
  if (script->options->kind == VIN_PLOT_PATHS)
    put_paths_plot(script, r, wide);
  else
    put_shapes_plot(script);
}
