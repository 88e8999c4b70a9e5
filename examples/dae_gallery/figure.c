/* figure.c - the curves of an example as a table and as a picture. */
#define _XOPEN_SOURCE 700
#include "figure.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

enum { PATH = 1024, WIDTH = 560, HEIGHT = 420 }; /* of a name; pixels of a panel */

static int file_name(const gallery *g, const char *directory, const char *ending, char *path) {
  int length = snprintf(path, PATH, "%s/%s.%s", directory, g->example, ending);
  return length < 0 || length >= PATH;
}

int figure_csv(const gallery *g) {
  char path[PATH];
  if (file_name(g, g->csv, "csv", path)) return 1;
  FILE *file = fopen(path, "w");
  if (!file) return 1;
  fprintf(file, "panel,curve,x,y\n");
  for (int c = 0; c < g->curves; c++) {
    const gallery_curve *curve = &g->curve[c];
    for (size_t k = curve->first; k < curve->first + curve->count; k++)
      fprintf(file, "\"%s\",\"%s\",%.17g,%.17g\n", g->panel[curve->panel].title, curve->name,
              g->point[2 * k], g->point[2 * k + 1]);
  }
  int failed = ferror(file);
  return fclose(file) != 0 || failed;
}

static void put_data(const gallery *g, FILE *gnuplot) {
  for (int c = 0; c < g->curves; c++) {
    const gallery_curve *curve = &g->curve[c];
    int flags = g->panel[curve->panel].flags;
    fprintf(gnuplot, "$curve%d << END_OF_CURVE\n", c);
    for (size_t k = curve->first; k < curve->first + curve->count; k++) {
      double y = g->point[2 * k + 1];
      if ((flags & GALLERY_LOG_Y) && y == 0.0) continue; /* has no place on a logarithmic axis */
      fprintf(gnuplot, "%.9g %.9g\n", g->point[2 * k], flags & GALLERY_LOG_Y ? fabs(y) : y);
    }
    fprintf(gnuplot, "END_OF_CURVE\n");
  }
}

/* A string literal of gnuplot; '' stands for '. */
static void put_quoted(FILE *gnuplot, const char *text) {
  fputc('\'', gnuplot);
  for (; *text; text++) {
    if (*text == '\'') fputc('\'', gnuplot);
    fputc(*text, gnuplot);
  }
  fputc('\'', gnuplot);
}

static void put_axes(const gallery_panel *panel, FILE *gnuplot) {
  fputs("unset logscale\nset format\nset yrange [*:*]\nset size noratio\nset title ", gnuplot);
  put_quoted(gnuplot, panel->title);
  fputs("\nset xlabel ", gnuplot);
  put_quoted(gnuplot, panel->x_label);
  fputs("\nset ylabel ", gnuplot);
  put_quoted(gnuplot, panel->y_label);
  fputs("\n", gnuplot);
  if (panel->flags & GALLERY_LOG_Y) fputs("set logscale y\nset format y '%.0e'\n", gnuplot);
  if (panel->flags & GALLERY_LOG_X)
    fputs("set logscale x\n", gnuplot);
  else if (panel->flags & GALLERY_LOG_Y) /* rounding does not fill the panel */
    fputs("set yrange [1e-18<*:1e-12<*]\n", gnuplot);
  if (panel->flags & GALLERY_PATH) fputs("set size ratio -1\n", gnuplot);
}

/* Errors against steps: a few points, joined. Residuals against time: dots, since those at rounding would
 * fill an area as lines. */
static const char *style(const gallery_panel *panel) {
  if (panel->flags & GALLERY_LOG_X) return "linespoints pt 7 lw 1.6";
  return panel->flags & GALLERY_LOG_Y ? "points pt 7 ps 0.3" : "lines lw 1.6";
}

static void put_panel(const gallery *g, FILE *gnuplot, int p) {
  static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                        "#cc79a7", "#56b4e9", "#000000"};
  enum { COLOURS = sizeof colours / sizeof *colours };
  put_axes(&g->panel[p], gnuplot);
  const char *separator = "plot ";
  int coloured = 0, curves = 0;
  for (int c = 0; c < g->curves; c++) curves += g->curve[c].panel == p;
  int single = curves == 1;
  for (int c = 0; c < g->curves; c++) {
    const gallery_curve *curve = &g->curve[c];
    if (curve->panel != p) continue;
    const char *colour = curve->exact ? "#c0c0c0" : colours[coloured++ % COLOURS];
    if (curve->count == 0) continue;
    fprintf(gnuplot, "%s$curve%d using 1:2 with %s lc rgb '%s' notitle", separator, c,
            curve->exact ? "lines lw 6" : style(&g->panel[p]), colour);
    separator = ", ";
    if (single) continue; /* the title says it */
    /* what the key shows: a line, also for dots */
    fprintf(gnuplot, ", keyentry with lines lw %d lc rgb '%s' title ", curve->exact ? 6 : 2,
            colour);
    put_quoted(gnuplot, curve->name);
  }
  fputs("\n", gnuplot);
}

int figure_draw(const gallery *g) {
  char path[PATH];
  if (file_name(g, g->plot, "png", path)) return 1;
  signal(SIGPIPE, SIG_IGN); /* without gnuplot, writing fails instead of ending the program */
  FILE *gnuplot = popen("gnuplot 2>/dev/null", "w");
  if (!gnuplot) return 1;
  int columns = g->panels < 4 ? g->panels : 2, rows = g->panels < 4 ? 1 : 2;
  put_data(g, gnuplot);
  fprintf(gnuplot,
          "set encoding utf8\nset terminal pngcairo size %d,%d noenhanced font 'Sans,10'\n"
          "set output ",
          WIDTH * columns, HEIGHT * rows + 40);
  put_quoted(gnuplot, path);
  fprintf(gnuplot, "\nset multiplot layout %d,%d title ", rows, columns);
  put_quoted(gnuplot, g->purpose);
  fputs(" noenhanced font ',13'\nset tics nomirror\nset border 3\n"
        "set grid lc rgb '#d8d8d8' lt 1 lw 0.6\n"
        "set bmargin 6\nset key at graph 0.5,-0.19 center top horizontal\n",
        gnuplot);
  for (int p = 0; p < g->panels; p++) put_panel(g, gnuplot, p);
  fputs("unset multiplot\n", gnuplot);
  int failed = ferror(gnuplot);
  return pclose(gnuplot) != 0 || failed;
}
