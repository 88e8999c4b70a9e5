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

/* On a logarithmic axis a residual that is zero lies at the bottom. */
static double drawn(double y, int flags) {
  const double bottom = 1e-17;
  if (!(flags & GALLERY_LOG_Y)) return y;
  return fabs(y) > bottom ? fabs(y) : bottom;
}

static void put_data(const gallery *g, FILE *gnuplot) {
  for (int c = 0; c < g->curves; c++) {
    const gallery_curve *curve = &g->curve[c];
    int flags = g->panel[curve->panel].flags;
    fprintf(gnuplot, "$curve%d << END_OF_CURVE\n", c);
    for (size_t k = curve->first; k < curve->first + curve->count; k++)
      fprintf(gnuplot, "%.9g %.9g\n", g->point[2 * k], drawn(g->point[2 * k + 1], flags));
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

static void put_panel(const gallery *g, FILE *gnuplot, int p) {
  static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                        "#cc79a7", "#56b4e9", "#000000"};
  enum { COLOURS = sizeof colours / sizeof *colours };
  const gallery_panel *panel = &g->panel[p];
  fputs("unset logscale\nset format\nset size noratio\nset title ", gnuplot);
  put_quoted(gnuplot, panel->title);
  fputs("\nset xlabel ", gnuplot);
  put_quoted(gnuplot, panel->x_label);
  fputs("\nset ylabel ", gnuplot);
  put_quoted(gnuplot, panel->y_label);
  fputs("\n", gnuplot);
  if (panel->flags & GALLERY_LOG_Y) fputs("set logscale y\nset format y '%.0e'\n", gnuplot);
  if (panel->flags & GALLERY_LOG_X) fputs("set logscale x\n", gnuplot);
  if (panel->flags & GALLERY_PATH) fputs("set size ratio -1\n", gnuplot);
  int drawn_curves = 0;
  for (int c = 0; c < g->curves; c++) {
    if (g->curve[c].panel != p || g->curve[c].count == 0) continue;
    int points = (panel->flags & GALLERY_LOG_X) != 0; /* errors against steps: a few points */
    fprintf(gnuplot, "%s$curve%d using 1:2 with %s lw 1.6 lc rgb '%s' title ",
            drawn_curves ? ", " : "plot ", c, points ? "linespoints pt 7" : "lines",
            colours[drawn_curves % COLOURS]);
    put_quoted(gnuplot, g->curve[c].name);
    drawn_curves++;
  }
  fputs("\n", gnuplot);
}

int figure_draw(const gallery *g) {
  char path[PATH];
  if (file_name(g, g->plot, "png", path)) return 1;
  signal(SIGPIPE, SIG_IGN); /* without gnuplot, writing fails instead of ending the program */
  FILE *gnuplot = popen("gnuplot 2>/dev/null", "w");
  if (!gnuplot) return 1;
  int columns = g->panels > 1 ? 2 : 1, rows = (g->panels + 1) / 2;
  put_data(g, gnuplot);
  fprintf(gnuplot,
          "set encoding utf8\nset terminal pngcairo size %d,%d noenhanced font 'Sans,10'\n"
          "set output ",
          WIDTH * columns, HEIGHT * rows + 40);
  put_quoted(gnuplot, path);
  fprintf(gnuplot, "\nset multiplot layout %d,%d title ", rows, columns);
  put_quoted(gnuplot, g->purpose);
  fputs(" noenhanced font ',13'\nset tics nomirror\nset border 3\n"
        "set grid lc rgb '#d8d8d8' lt 1 lw 0.6\nset key below\n",
        gnuplot);
  for (int p = 0; p < g->panels; p++) put_panel(g, gnuplot, p);
  fputs("unset multiplot\n", gnuplot);
  int failed = ferror(gnuplot);
  return pclose(gnuplot) != 0 || failed;
}
