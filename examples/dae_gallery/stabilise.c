/* stabilise.c - sections 8.3 and 8.4: drift, shifted constraints, Baumgarte's method. */
#include <math.h>
#include <stdio.h>

#include "gallery.h"

static const pendulum_state moving_off = {.x = 1.0, .u = 0.1};

/* The source's scheme p += h v + h^2/2 v', v += h v', which the library calls taylor2, with the 3 x 3
 * system solved by hand. Its right-hand side needs a minus sign before the stabilisation terms. */
static int by_hand(const void *data, double h, pendulum_state *s) {
  const vin_baumgarte *b = data;
  double damping = b->order ? 4.0 * b->zeta * b->omega : 0.0;
  double spring = b->order ? b->omega * b->omega : 0.0;
  double rho = s->x * s->x + s->y * s->y;
  double r = -2.0 * (s->u * s->u + s->v * s->v) - damping * (s->x * s->u + s->y * s->v) -
             spring * (rho - 1.0);
  double mu = 0.5 * (r + 2.0 * PENDULUM_GRAVITY * s->y) / rho;
  double du = mu * s->x, dv = mu * s->y - PENDULUM_GRAVITY;
  s->x += h * s->u + 0.5 * h * h * du, s->y += h * s->v + 0.5 * h * h * dv;
  s->u += h * du, s->v += h * dv;
  return 0;
}

typedef struct experiment {
  const char *figure, *what;
  vin_baumgarte baumgarte;
  pendulum_state start;
} experiment;

enum { STEPS = 1000 }; /* to t = 10 s */
static const double step = 0.01;

/* Runs taylor2 and compares it with the recursion; *run is to be freed. */
static vin_status compare(gallery *g, const experiment *e, pendulum_run *run) {
  vin_options options = gallery_method(VIN_METHOD_TAYLOR2, step);
  options.baumgarte = e->baumgarte;
  pendulum_run expected = {0};
  vin_status status = pendulum_simulate(g, &options, e->start, step * STEPS, run);
  if (status == VIN_OK)
    status = pendulum_recur(g, by_hand, &e->baumgarte, e->start, step, STEPS, &expected);
  if (status == VIN_OK) {
    char text[GALLERY_TEXT];
    snprintf(text, sizeof text, "%s: max|Phi|", e->what);
    gallery_value(g, e->figure, text, pendulum_max(run, pendulum_phi),
                  pendulum_max(&expected, pendulum_phi), 1e-9);
    gallery_below(g, e->figure, "  distance from the recursion by hand",
                  pendulum_difference(run, &expected), 1e-9);
  }
  pendulum_run_free(&expected);
  return status;
}

static double dae_residual(const pendulum_state *s) {
  return s->dae_residual;
}

/* The four histories of section 8.3, one panel each. */
static const struct {
  const char *title, *label;
  pendulum_function function;
  int flags;
} histories[] = {{"constraint", "x^2 + y^2 - 1", pendulum_phi, 0},
                 {"its rate", "2 (x u + y v)", pendulum_rate, 0},
                 {"residual of the equations", "relative", dae_residual, GALLERY_LOG_Y},
                 {"energy", "[J]", pendulum_energy, 0}};

vin_status gallery_drift(gallery *g) {
  static const experiment experiments[] = {{"8.8", "consistent start", {0}, {.x = 1.0}},
                                           {"8.9", "u(0) = 0.1", {0}, {.x = 1.0, .u = 0.1}}};
  pendulum_run runs[3] = {{0}};
  vin_status status = VIN_OK;
  for (int k = 0; k < 2 && status == VIN_OK; k++) status = compare(g, &experiments[k], &runs[k]);
  vin_options rk4 = gallery_method(VIN_METHOD_RK4, step);
  if (status == VIN_OK) status = pendulum_simulate(g, &rk4, moving_off, step * STEPS, &runs[2]);
  if (status == VIN_OK) {
    /* Phi'' = 0 is all that is solved, so Phi' keeps the 2 x u of the start and Phi grows as 0.2 t */
    const pendulum_state *last = &runs[2].state[runs[2].count - 1];
    gallery_value(g, "8.9", "u(0) = 0.1 with rk4: Phi at 10 s, 0.2 t", pendulum_phi(last), 2.0,
                  1e-4);
    gallery_value(g, "8.9", "  and Phi'", pendulum_rate(last), 0.2, 1e-5);
    static const char *const names[] = {"taylor2, consistent", "taylor2, u(0) = 0.1",
                                        "rk4, u(0) = 0.1"};
    for (size_t p = 0; p < sizeof histories / sizeof *histories; p++) {
      gallery_panel_open(g, histories[p].title, "t [s]", histories[p].label, histories[p].flags);
      for (int k = 0; k < 3; k++) {
        gallery_curve_open(g, "%s", names[k]);
        pendulum_draw(g, &runs[k], histories[p].function);
      }
    }
  }
  for (int k = 0; k < 3; k++) pendulum_run_free(&runs[k]);
  return status;
}

static double shifted_phi(const pendulum_state *s) { /* Phi + a0 + a1 t with a0 = 0, a1 = -0.2 */
  return pendulum_phi(s) - 0.2 * s->t;
}

/* Section 8.4: Phi + a0 + a1 t = 0 fits the inconsistent start, and projections hold it there. */
vin_status gallery_shifted(gallery *g) {
  vin_options options = gallery_method(VIN_METHOD_RK4, step);
  options.projection = VIN_PROJECTION_BOTH;
  options.shift_constraints = 1;
  pendulum_run run = {0};
  vin_status status = pendulum_simulate(g, &options, moving_off, step * STEPS, &run);
  if (status == VIN_OK) {
    gallery_below(g, "8.4", "u(0) = 0.1: max|Phi - 0.2 t|", pendulum_max(&run, shifted_phi), 1e-12);
    gallery_value(g, "8.4", "Phi at 10 s, 0.2 t", pendulum_phi(&run.state[run.count - 1]), 2.0,
                  1e-12);
    gallery_panel_open(g, "constraint and its shift", "t [s]", "x^2 + y^2 - 1", 0);
    gallery_curve_open(g, "Phi, grows as 0.2 t");
    pendulum_draw(g, &run, pendulum_phi);
    gallery_curve_open(g, "Phi - 0.2 t");
    pendulum_draw(g, &run, shifted_phi);
    gallery_panel_open(g, "path: a pendulum that gets longer", "x [m]", "y [m]", GALLERY_PATH);
    gallery_curve_open(g, "bob");
    pendulum_draw_path(g, &run);
  }
  pendulum_run_free(&run);
  return status;
}

/* z'' + 2 zeta omega z' + omega^2 z = 0 from z = 0, z' = rate (8.4 to 8.6 of the source). */
static double decay(double zeta, double omega, double rate, double t) {
  double s = (zeta * zeta - 1.0) * omega * omega, w = sqrt(fabs(s));
  double shape = s < 0.0 ? sin(w * t) / w : s > 0.0 ? sinh(w * t) / w : t;
  return rate * exp(-zeta * omega * t) * shape;
}

static int sign_changes(const pendulum_run *run) {
  int count = 0;
  for (size_t k = 2; k < run->count; k++)
    count += pendulum_phi(&run->state[k - 1]) * pendulum_phi(&run->state[k]) < 0.0;
  return count;
}

/* Figures 8.11, 8.12: Phi of a stabilised pendulum obeys the equation above, so dopri5 with small
 * steps meets its closed form. Below zeta = 1 it oscillates with the angular frequency
 * omega sqrt(1 - zeta^2), which the source denies. */
vin_status gallery_decay(gallery *g) {
  static const double zetas[] = {0.5, 1.0, 1.5}, omegas[] = {1.0, 4.0};
  for (int j = 0; j < 2; j++) {
    char title[GALLERY_TEXT];
    snprintf(title, sizeof title, "omega = %g 1/s", omegas[j]);
    gallery_panel_open(g, title, "t [s]", "x^2 + y^2 - 1", 0);
    for (int i = 0; i < 3; i++) {
      vin_options options = gallery_method(VIN_METHOD_DOPRI5, step);
      options.baumgarte = (vin_baumgarte){.order = 2, .zeta = zetas[i], .omega = omegas[j]};
      pendulum_run run = {0};
      vin_status status = pendulum_simulate(g, &options, moving_off, step * STEPS, &run);
      if (status != VIN_OK) {
        pendulum_run_free(&run);
        return status;
      }
      double error = 0.0, w = omegas[j] * sqrt(fmax(0.0, 1.0 - zetas[i] * zetas[i]));
      for (size_t k = 0; k < run.count; k++)
        error = fmax(error, fabs(pendulum_phi(&run.state[k]) -
                                 decay(zetas[i], omegas[j], 0.2, run.state[k].t)));
      char text[GALLERY_TEXT];
      snprintf(text, sizeof text, "zeta %g, omega %g: |Phi - closed form|", zetas[i], omegas[j]);
      gallery_below(g, j == 0 ? "8.11" : "8.12", text, error, 1e-9);
      gallery_value(g, j == 0 ? "8.11" : "8.12", "  changes of sign in 10 s", sign_changes(&run),
                    floor(w * step * STEPS / acos(-1.0)), 0.0);
      gallery_curve_open(g, "zeta = %g", zetas[i]);
      pendulum_draw(g, &run, pendulum_phi);
      pendulum_run_free(&run);
    }
  }
  return VIN_OK;
}

/* Figures 8.10, 8.13, 8.14: taylor2 with h = 0.01 s. */
vin_status gallery_baumgarte(gallery *g) {
  static const experiment experiments[] = {
      {"8.10", "zeta 0.8, omega 2", {.order = 2, .zeta = 0.8, .omega = 2.0}, {.x = 1.0}},
      {"8.13", "zeta 0.5, omega 1", {.order = 2, .zeta = 0.5, .omega = 1.0}, {.x = 1.0}},
      {"8.13", "zeta 0.5, omega 0.1", {.order = 2, .zeta = 0.5, .omega = 0.1}, {.x = 1.0}},
      {"8.14",
       "zeta 0.5, omega 1, u(0) = 0.1",
       {.order = 2, .zeta = 0.5, .omega = 1.0},
       {.x = 1.0, .u = 0.1}},
      {"8.14",
       "zeta 0.5, omega 0.1, u(0) = 0.1",
       {.order = 2, .zeta = 0.5, .omega = 0.1},
       {.x = 1.0, .u = 0.1}}};
  enum { COUNT = sizeof experiments / sizeof *experiments };
  pendulum_run runs[COUNT] = {{0}};
  vin_status status = VIN_OK;
  for (int k = 0; k < COUNT && status == VIN_OK; k++)
    status = compare(g, &experiments[k], &runs[k]);
  static const struct {
    const char *title, *label;
    pendulum_function function;
    int first, last;
  } panels[] = {{"8.10, 8.13: constraint", "x^2 + y^2 - 1", pendulum_phi, 0, 2},
                {"8.14: constraint", "x^2 + y^2 - 1", pendulum_phi, 3, 4},
                {"8.10, 8.13: energy, not conserved", "[J]", pendulum_energy, 0, 2},
                {"8.14: energy", "[J]", pendulum_energy, 3, 4}};
  for (size_t p = 0; p < sizeof panels / sizeof *panels && status == VIN_OK; p++) {
    gallery_panel_open(g, panels[p].title, "t [s]", panels[p].label, 0);
    for (int k = panels[p].first; k <= panels[p].last; k++) {
      gallery_curve_open(g, "%s", experiments[k].what);
      pendulum_draw(g, &runs[k], panels[p].function);
    }
  }
  for (int k = 0; k < COUNT; k++) pendulum_run_free(&runs[k]);
  return status;
}
