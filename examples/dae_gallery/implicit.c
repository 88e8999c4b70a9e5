/* implicit.c - the implicit methods of section 8.4: implicit Euler on the differentiated and on the
 * original equations, Crank-Nicolson with third-order stabilisation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gallery.h"

static const pendulum_state at_rest = {.x = 1.0};

/* ---- implicit Euler on the index-3 equations: figures 8.15, 8.16 -------------------------------- */

/* The source's closed form of a step, as it must read: its A holds y + h v (not y - h v). */
static int euler_by_hand(const void *data, double h, pendulum_state *s) {
  (void)data;
  const double gravity = PENDULUM_GRAVITY;
  double A = gravity * gravity * h * h * h * h + 2.0 * h * (s->x * s->u + s->y * s->v) -
             2.0 * gravity * h * h * (s->y + h * s->v) + h * h * (s->u * s->u + s->v * s->v);
  double mu = -A / (h * h * (1.0 + sqrt(1.0 + A))), c = 1.0 - h * h * mu;
  s->x = (s->x + h * s->u) / c;
  s->y = (s->y + h * s->v - gravity * h * h) / c;
  s->u += h * mu * s->x;
  s->v += h * (mu * s->y - gravity);
  return 0;
}

vin_status gallery_implicit_euler(gallery *g) {
  enum { STEPS = 800 };
  const double h = 0.025;
  vin_options options = gallery_method(VIN_METHOD_EULER3, h);
  pendulum_run run = {0}, expected = {0};
  vin_status status = pendulum_simulate(g, &options, at_rest, h * STEPS, &run);
  if (status == VIN_OK)
    status = pendulum_recur(g, euler_by_hand, NULL, at_rest, h, STEPS, &expected);
  if (status == VIN_OK) {
    gallery_value(g, "8.15", "h = 0.025 s: energy at 20 s, J; 0 at the start",
                  pendulum_energy(&run.state[run.count - 1]), -9.775, 5e-4);
    gallery_below(g, "8.15", "  max|Phi|", pendulum_max(&run, pendulum_phi), 1e-12);
    gallery_below(g, "8.16", "  distance from the closed form of a step",
                  pendulum_difference(&run, &expected), 1e-9);
    gallery_panel_open(g, "8.15: path of the bob, swings die out", "x [m]", "y [m]", GALLERY_PATH);
    gallery_curve_open(g, "bob");
    pendulum_draw_path(g, &run);
    gallery_panel_open(g, "8.16: energy", "t [s]", "[J]", 0);
    gallery_curve_open(g, "implicit Euler");
    pendulum_draw(g, &run, pendulum_energy);
    gallery_panel_open(g, "8.16: constraint", "t [s]", "|x^2 + y^2 - 1|", GALLERY_LOG_Y);
    gallery_curve_open(g, "implicit Euler");
    pendulum_draw(g, &run, pendulum_phi);
  }
  pendulum_run_free(&run), pendulum_run_free(&expected);
  return status;
}

/* ---- the same on u' = mu x, v' = mu y - g, x' = u, y' = v, mu' = ... ----------------------------- */

enum { U, V, X, Y, MU, UNKNOWNS };

/* V''' + a V'' + b V' + c V = 0 for V = x^2 + y^2 - 1, solved for mu'. Without the gains, and on the
 * constraints, this is mu' = 3 g v. */
typedef struct gains {
  double a, b, c;
} gains;

static int field(void *user, double t, const double *w, double *f) {
  const gains *k = user;
  const double gravity = PENDULUM_GRAVITY;
  double rho = w[X] * w[X] + w[Y] * w[Y], s = w[X] * w[U] + w[Y] * w[V];
  double second = 2.0 * (w[MU] * rho - gravity * w[Y] + w[U] * w[U] + w[V] * w[V]);
  double terms = k->a * second + k->b * 2.0 * s + k->c * (rho - 1.0);
  (void)t;
  f[U] = w[MU] * w[X], f[V] = w[MU] * w[Y] - gravity;
  f[X] = w[U], f[Y] = w[V];
  f[MU] = (3.0 * gravity * w[V] - 4.0 * w[MU] * s - 0.5 * terms) / rho;
  return 0;
}

static int simple_field(void *user, double t, const double *w, double *f) {
  const gains none = {0};
  (void)user;
  field((void *)&none, t, w, f);
  f[MU] = 3.0 * PENDULUM_GRAVITY * w[V];
  return 0;
}

/* All unknowns in all equations; the Jacobian is left to differences. */
static vin_dae_desc describe(void) {
  static vin_int row[UNKNOWNS * UNKNOWNS], col[UNKNOWNS * UNKNOWNS];
  for (int k = 0; k < UNKNOWNS * UNKNOWNS; k++) row[k] = k / UNKNOWNS, col[k] = k % UNKNOWNS;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = UNKNOWNS;
  desc.jacobian_pattern = (vin_triplets){.count = UNKNOWNS * UNKNOWNS, .row = row, .col = col};
  return desc;
}

/* The source's quadratic for delta = mu_1 - mu_0, the root next to the explicit step. */
static int ode_by_hand(const void *data, double h, pendulum_state *s) {
  (void)data;
  const double gravity = PENDULUM_GRAVITY;
  double a = h * h, b = 3.0 * gravity * h * h * s->y + h * h * s->mu - 1.0;
  double c = 3.0 * gravity * h * (s->v + s->y * s->mu * h - gravity * h);
  double root = b * b - 4.0 * a * c;
  if (root < 0.0 || b >= 0.0) return 1; /* no such root: the recursion ends */
  s->mu += 2.0 * c / (-b + sqrt(root));
  double d = 1.0 - h * h * s->mu, x = s->x, y = s->y;
  s->x = (x + h * s->u) / d, s->y = (y + h * s->v - gravity * h * h) / d;
  s->u = (s->u + h * s->mu * x) / d, s->v = (s->v + h * s->mu * y - gravity * h) / d;
  return 0;
}

static pendulum_state state_of(const double *w, double t) {
  return (pendulum_state){.t = t, .x = w[X], .y = w[Y], .u = w[U], .v = w[V], .mu = w[MU]};
}

static int keep_step(void *user, vin_int step, double t, const double *w, const double *residual) {
  (void)step, (void)residual;
  return pendulum_keep(user, state_of(w, t));
}

/* Implicit Euler by vin_stepper. */
static vin_status backward_euler(gallery *g, double h, int steps, pendulum_run *run) {
  vin_dae_desc desc = describe();
  desc.differential = UNKNOWNS;
  desc.function = simple_field;
  vin_dae *dae = NULL;
  vin_stepper *stepper = NULL;
  vin_status status = vin_dae_create(&dae, NULL, &desc);
  if (status != VIN_OK) {
    gallery_fail(g, status, vin_dae_error(dae));
    vin_dae_destroy(dae);
    return status;
  }
  status = vin_stepper_create(&stepper, NULL, dae, NULL);
  vin_dae_destroy(dae); /* the stepper keeps it */
  const double start[UNKNOWNS] = {[X] = 1.0};
  vin_grid_run grid = vin_grid_run_default();
  grid.h = h, grid.steps = steps, grid.y0 = start;
  grid.derivative_tolerance = 1e-10, grid.algebraic_tolerance = 1e-10;
  grid.accepted = keep_step, grid.user = run;
  vin_grid_report report;
  if (pendulum_keep(run, at_rest)) status = VIN_ERR_NO_MEMORY;
  if (status == VIN_OK) status = vin_stepper_run(stepper, &grid, NULL, &report);
  if (status != VIN_OK) gallery_fail(g, status, vin_stepper_error(stepper));
  vin_stepper_destroy(stepper);
  return status;
}

static double radius(const pendulum_state *s) {
  return hypot(s->x, s->y);
}

/* "Implicit Euler without stabilisation does not work": the constraint is left within a few steps. */
vin_status gallery_unstabilised(gallery *g) {
  enum { STEPS = 200 };
  const double h = 0.025;
  pendulum_run run = {0}, expected = {0};
  vin_status status = backward_euler(g, h, STEPS, &run);
  if (status == VIN_OK) status = pendulum_recur(g, ode_by_hand, NULL, at_rest, h, STEPS, &expected);
  if (status == VIN_OK) {
    gallery_below(g, "8.4", "mu' = 3 g v: distance from the quadratic in delta",
                  pendulum_difference(&run, &expected), 1e-8);
    gallery_value(g, "8.4", "  Phi after 20 steps of 0.025 s", pendulum_phi(&run.state[20]),
                  pendulum_phi(&expected.state[20]), 1e-9);
    gallery_panel_open(g, "length of the rod", "t [s]", "[m]", 0);
    gallery_curve_open(g, "mu' = 3 g v by implicit Euler");
    pendulum_draw(g, &run, radius);
    gallery_panel_open(g, "path of the bob", "x [m]", "y [m]", GALLERY_PATH);
    gallery_curve_open(g, "bob");
    pendulum_draw_path(g, &run);
  }
  pendulum_run_free(&run), pendulum_run_free(&expected);
  return status;
}

/* ---- Crank-Nicolson with third-order stabilisation: figure 8.17 --------------------------------- */

/* A step w0 -> w as the root of w - w0 - h/2 (f(w0) + f(w)). */
typedef struct trapezium {
  gains gains;
  double h, w0[UNKNOWNS], f0[UNKNOWNS];
} trapezium;

static int trapezium_residual(void *user, double t, const double *w, double *r) {
  trapezium *step = user;
  field(&step->gains, t, w, r);
  for (int k = 0; k < UNKNOWNS; k++)
    r[k] = w[k] - step->w0[k] - 0.5 * step->h * (step->f0[k] + r[k]);
  return 0;
}

static vin_status crank_nicolson(gallery *g, gains k, double h, int steps, pendulum_run *run) {
  enum { BUDGET = 20 };
  const double tolerance = 1e-12;
  *run = (pendulum_run){0};
  trapezium step = {.gains = k, .h = h};
  vin_dae_desc desc = describe();
  desc.function = trapezium_residual, desc.user = &step;
  vin_dae *dae = NULL;
  vin_branch *branch = NULL;
  vin_status status = vin_dae_create(&dae, NULL, &desc);
  if (status == VIN_OK) status = vin_branch_create(&branch, NULL, dae, NULL);
  vin_dae_destroy(dae);
  double w[UNKNOWNS] = {[X] = 1.0};
  if (status == VIN_OK && pendulum_keep(run, at_rest)) status = VIN_ERR_NO_MEMORY;
  for (int i = 1; i <= steps && status == VIN_OK; i++) {
    for (int j = 0; j < UNKNOWNS; j++) step.w0[j] = w[j];
    field(&step.gains, 0.0, w, step.f0);
    status = vin_branch_newton(branch, 0.0, w, tolerance, BUDGET, NULL);
    if (status == VIN_OK && pendulum_keep(run, state_of(w, h * i))) status = VIN_ERR_NO_MEMORY;
  }
  if (status != VIN_OK) gallery_fail(g, status, vin_branch_error(branch));
  vin_branch_destroy(branch);
  return status;
}

/* The method crank-nicolson carries Phi'' where the source carries mu, and needs no derivative of f:
 * max|V| is the same to its three published digits, not to the last one. */
static vin_status by_method(gallery *g, gains k, double h, double end) {
  vin_options options = gallery_method(VIN_METHOD_TRAPEZOIDAL, h);
  options.projection = VIN_PROJECTION_NONE;
  options.baumgarte = (vin_baumgarte){.order = 3, .a = k.a, .b = k.b, .c = k.c};
  pendulum_run run = {0};
  vin_status status = pendulum_simulate(g, &options, at_rest, end, &run);
  if (status == VIN_OK)
    gallery_value(g, "8.17", "  the same by crank-nicolson", pendulum_max(&run, pendulum_phi),
                  2.30e-3, 5e-6);
  pendulum_run_free(&run);
  return status;
}

/* a, b, c = 30, 300, 1000: (s + 10)^3. h = 0.025 s to 20 s, then h/2. */
vin_status gallery_third_order(gallery *g) {
  enum { RUNS = 3 };
  static const struct {
    const char *name;
    gains gains;
    int steps;
  } cases[RUNS] = {{"a, b, c = 30, 300, 1000", {30.0, 300.0, 1000.0}, 800},
                   {"the same, h/2", {30.0, 300.0, 1000.0}, 1600},
                   {"a = b = c = 0", {0.0, 0.0, 0.0}, 800}};
  const double end = 20.0;
  pendulum_run runs[RUNS] = {{0}};
  vin_status status = VIN_OK;
  for (int k = 0; k < RUNS && status == VIN_OK; k++)
    status = crank_nicolson(g, cases[k].gains, end / cases[k].steps, cases[k].steps, &runs[k]);
  /* the same by the method of the library, where Phi'' is integrated in place of mu */
  vin_options options = gallery_method(VIN_METHOD_TRAPEZOIDAL, end / cases[0].steps);
  options.baumgarte = (vin_baumgarte){.order = 3, .a = 30.0, .b = 300.0, .c = 1000.0};
  pendulum_run method = {0};
  if (status == VIN_OK) status = pendulum_simulate(g, &options, at_rest, end, &method);
  if (status == VIN_OK) {
    gallery_value(g, "8.17", "`crank-nicolson`, third order: max|V|",
                  pendulum_max(&method, pendulum_phi), 2.30e-3, 5e-6);
    double coarse = pendulum_max(&runs[0], pendulum_phi),
           fine = pendulum_max(&runs[1], pendulum_phi);
    gallery_value(g, "8.17", "a, b, c = 30, 300, 1000: max|V|", coarse, 2.30e-3, 5e-6);
    status = by_method(g, cases[0].gains, end / cases[0].steps, end);
    gallery_value(g, "8.17", "  order of max|V| in h", log2(coarse / fine), 2.0, 0.1);
    double first = 0.0; /* half of the run without gains */
    for (size_t k = 0; k <= 400; k++) first = fmax(first, fabs(pendulum_phi(&runs[2].state[k])));
    double largest = pendulum_max(&runs[2], pendulum_phi);
    gallery_value(g, "8.17", "without: max|V|", largest, 0.132, 5e-4);
    gallery_value(g, "8.17", "  largest at the end: it grows", largest > first, 1.0, 0.0);
    gallery_panel_open(g, "8.17: constraint", "t [s]", "|x^2 + y^2 - 1|", GALLERY_LOG_Y);
    for (int k = 0; k < RUNS; k++) {
      gallery_curve_open(g, "%s", cases[k].name);
      pendulum_draw(g, &runs[k], pendulum_phi);
    }
    gallery_panel_open(g, "energy", "t [s]", "[J]", 0);
    for (int k = 0; k < RUNS; k++) {
      gallery_curve_open(g, "%s", cases[k].name);
      pendulum_draw(g, &runs[k], pendulum_energy);
    }
  }
  for (int k = 0; k < RUNS; k++) pendulum_run_free(&runs[k]);
  pendulum_run_free(&method);
  return status;
}
