/* gallery.c - values, curves, pictures. */
#define _XOPEN_SOURCE 700
#include "gallery.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "figure.h"

static void compare(gallery *g, const char *figure, const char *quantity, double value,
                    double expected, int good) {
  g->values++;
  if (!good) g->wrong++;
  if (g->json) {
    char number[32] = "null"; /* JSON has no NaN */
    if (isfinite(value)) snprintf(number, sizeof number, "%.17g", value);
    printf("{\"example\":\"%s\",\"figure\":\"%s\",\"quantity\":\"%s\",\"value\":%s,"
           "\"expected\":%.17g,\"as_expected\":%s}\n",
           g->example, figure, quantity, number, expected, good ? "true" : "false");
  }
}

void gallery_value(gallery *g, const char *figure, const char *quantity, double value,
                   double expected, double within) {
  int good = fabs(value - expected) <= within;
  compare(g, figure, quantity, value, expected, good);
  if (!g->json)
    printf("  %-5s %-58s %12.6g %12.6g%s\n", figure, quantity, expected, value,
           good ? "" : "  WRONG");
}

void gallery_below(gallery *g, const char *figure, const char *quantity, double value,
                   double bound) {
  int good = value <= bound;
  compare(g, figure, quantity, value, bound, good);
  if (!g->json)
    printf("  %-5s %-58s   < %8.2g %12.3g%s\n", figure, quantity, bound, value,
           good ? "" : "  WRONG");
}

vin_status gallery_fail(gallery *g, vin_status status, const char *text) {
  fprintf(stderr, "dae_gallery: %s: %s: %s\n", g->example, vin_status_name(status),
          text && *text ? text : vin_status_text(status));
  return status;
}

void gallery_panel_open(gallery *g, const char *title, const char *x_label, const char *y_label,
                        int flags) {
  if (g->panels == GALLERY_PANELS) {
    g->lost = 1;
    return;
  }
  gallery_panel *panel = &g->panel[g->panels++];
  snprintf(panel->title, sizeof panel->title, "%s", title);
  snprintf(panel->x_label, sizeof panel->x_label, "%s", x_label);
  snprintf(panel->y_label, sizeof panel->y_label, "%s", y_label);
  panel->flags = flags;
}

void gallery_curve_open(gallery *g, const char *name, ...) {
  if (g->curves == GALLERY_CURVES || g->panels == 0) {
    g->lost = 1;
    return;
  }
  gallery_curve *curve = &g->curve[g->curves++];
  *curve = (gallery_curve){.panel = g->panels - 1, .first = g->points};
  va_list arguments;
  va_start(arguments, name);
  vsnprintf(curve->name, sizeof curve->name, name, arguments);
  va_end(arguments);
}

void gallery_exact(gallery *g) {
  if (g->curves > 0) g->curve[g->curves - 1].exact = 1;
}

void gallery_point(gallery *g, double x, double y) {
  if ((!g->plot && !g->csv) || g->curves == 0) return;
  if (g->points == g->room) {
    size_t room = g->room > 0 ? 2 * g->room : 4096;
    double *larger = realloc(g->point, 2 * room * sizeof *larger);
    if (!larger) {
      g->lost = 1;
      return;
    }
    g->point = larger, g->room = room;
  }
  g->point[2 * g->points] = x, g->point[2 * g->points + 1] = y;
  g->points++;
  g->curve[g->curves - 1].count++;
}

void gallery_finish(gallery *g) {
  if (g->csv && g->curves > 0 && figure_csv(g)) {
    gallery_fail(g, VIN_ERR_IO, "the table cannot be written");
    g->lost = 1;
  }
  if (g->plot && g->curves > 0 && figure_draw(g)) {
    gallery_fail(g, VIN_ERR_IO, "gnuplot is missing or cannot write the picture");
    g->lost = 1;
  }
}

void gallery_forget(gallery *g) {
  free(g->point);
  g->point = NULL;
  g->points = g->room = 0;
  g->panels = g->curves = 0;
}

int gallery_writable(const char *directory) {
  struct stat there;
  return stat(directory, &there) == 0 && S_ISDIR(there.st_mode) && access(directory, W_OK) == 0;
}
