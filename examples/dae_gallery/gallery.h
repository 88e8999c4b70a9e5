/* gallery.h - what the examples of dae_gallery share: values that are compared with what is expected,
 * curves for the picture, and the pendulum that most of them integrate.
 *
 * The examples are those of chapter 8, "Numerical Methods for DAEs", of E. Bertolazzi's lecture notes
 * (University of Trento); "8.15" is a figure there. Where the printed text has an error, the right
 * reading is said in the comment. */
#ifndef VINCULA_DAE_GALLERY_H
#define VINCULA_DAE_GALLERY_H

#include <vincula/vincula.h>

/* ---- values and pictures ----------------------------------------------------------------------- */

enum { GALLERY_PANELS = 4, GALLERY_CURVES = 24, GALLERY_TEXT = 96 };
enum { GALLERY_LOG_Y = 1, GALLERY_LOG_X = 2, GALLERY_PATH = 4 }; /* of a panel */

typedef struct gallery_panel {
  char title[GALLERY_TEXT], x_label[GALLERY_TEXT], y_label[GALLERY_TEXT];
  int flags;
} gallery_panel;

typedef struct gallery_curve {
  char name[GALLERY_TEXT];
  int panel, exact;
  size_t first, count; /* points */
} gallery_curve;

typedef struct gallery {
  const char *example, *purpose; /* the one that runs */
  int json;                      /* print lines of JSON instead of a table */
  const char *plot, *csv;        /* directories or NULL */
  int values, wrong;             /* compared; not as expected */
  int lost;                      /* 1: standard output, a file or memory failed */
  int panels, curves;
  gallery_panel panel[GALLERY_PANELS];
  gallery_curve curve[GALLERY_CURVES];
  double *point; /* pairs */
  size_t points, room;
} gallery;

/* Prints a value and what it should be; |value - expected| <= within, or it counts as wrong. */
void gallery_value(gallery *g, const char *figure, const char *quantity, double value,
                   double expected, double within);
/* A value that should be at most so large. */
void gallery_below(gallery *g, const char *figure, const char *quantity, double value,
                   double bound);
/* Says on standard error why an example ended, returns the status. */
vin_status gallery_fail(gallery *g, vin_status status, const char *text);

/* Opens the next panel; curves go there. A curve without points only takes a colour. */
void gallery_panel_open(gallery *g, const char *title, const char *x_label, const char *y_label,
                        int flags);
__attribute__((format(printf, 2, 3))) void gallery_curve_open(gallery *g, const char *name, ...);
void gallery_point(gallery *g, double x, double y);
/* The curve just opened is what others are compared with: drawn wide and pale, under them. */
void gallery_exact(gallery *g);
/* Draws and writes what is asked for. */
void gallery_finish(gallery *g);
/* Forgets the curves. */
void gallery_forget(gallery *g);
/* 1: a directory in which files can be made. */
int gallery_writable(const char *directory);

/* ---- the pendulum ------------------------------------------------------------------------------- */

/* Equation 8.2: m = 1 kg at (x, y) on a massless rod of 1 m, Phi = x^2 + y^2 - 1, and mu = -2 lambda / m,
 * so that u' = mu x, v' = mu y - g. */
#define PENDULUM_GRAVITY 9.81 /* m/s^2 */

typedef struct pendulum_state {
  double t, x, y, u, v, mu; /* mu: only where it is an unknown */
  double dae_residual;      /* of vin_sim_report(), where a simulation made the state */
} pendulum_state;

typedef struct pendulum_run {
  size_t count, room;
  pendulum_state *state; /* [0]: the start */
} pendulum_run;

double pendulum_phi(const pendulum_state *s);    /* x^2 + y^2 - 1 */
double pendulum_rate(const pendulum_state *s);   /* its derivative in time, 2 (x u + y v) */
double pendulum_energy(const pendulum_state *s); /* J */

/* The system of equation 8.2. */
vin_status pendulum_system(vin_system **system);
/* Adds a state; nonzero: no memory. */
int pendulum_keep(pendulum_run *run, pendulum_state state);
/* Runs vin_sim from the state, taken as it is, to time end; keeps all states. */
vin_status pendulum_simulate(gallery *g, const vin_options *options, pendulum_state start,
                             double end, pendulum_run *run);
/* Another way to the same states, for comparison: a step of the source's own recursion. */
typedef int (*pendulum_recursion)(const void *data, double h, pendulum_state *s);
vin_status pendulum_recur(gallery *g, pendulum_recursion step, const void *data,
                          pendulum_state start, double h, size_t steps, pendulum_run *run);
void pendulum_run_free(pendulum_run *run);

/* The largest value of a function over a run, and the largest difference of two runs. */
typedef double (*pendulum_function)(const pendulum_state *s);
double pendulum_max(const pendulum_run *run, pendulum_function function);
double pendulum_difference(const pendulum_run *a, const pendulum_run *b);
void pendulum_draw(gallery *g, const pendulum_run *run, pendulum_function function);
void pendulum_draw_path(gallery *g, const pendulum_run *run);

/* The motion from rest at (sin a, -cos a), by Jacobi's elliptic functions; lambda may be NULL. */
pendulum_state pendulum_exact(double a, double t, double *lambda);

/* Options of a method with constant steps, no projection, the start as it is. */
vin_options gallery_method(vin_method method, double step);

/* ---- the examples ------------------------------------------------------------------------------- */

vin_status gallery_initialisation(gallery *g); /* 8.1 */
vin_status gallery_linear_euler(gallery *g);   /* 8.2 */
vin_status gallery_linear_cn(gallery *g);      /* 8.2 */
vin_status gallery_linear_baumgarte(gallery *g);
vin_status gallery_drift(gallery *g);   /* 8.3 */
vin_status gallery_shifted(gallery *g); /* 8.4 */
vin_status gallery_decay(gallery *g);
vin_status gallery_baumgarte(gallery *g);
vin_status gallery_unstabilised(gallery *g);
vin_status gallery_implicit_euler(gallery *g);
vin_status gallery_third_order(gallery *g);
vin_status gallery_projection(gallery *g);      /* 8.5 */
vin_status gallery_partitioning(gallery *g);    /* 8.8 */
vin_status gallery_order_reduction(gallery *g); /* 8.9 */
vin_status gallery_van_der_pol(gallery *g);     /* 8.11 */

#endif
