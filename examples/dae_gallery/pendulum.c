/* pendulum.c - the pendulum of equation 8.2: as a vin_system, by recursions, and exactly. */
#include "gallery.h"

#include <math.h>
#include <stdlib.h>

static const double g_earth = PENDULUM_GRAVITY;

double pendulum_phi(const pendulum_state *s) {
  return s->x * s->x + s->y * s->y - 1.0;
}
double pendulum_rate(const pendulum_state *s) {
  return 2.0 * (s->x * s->u + s->y * s->v);
}
double pendulum_energy(const pendulum_state *s) {
  return 0.5 * (s->u * s->u + s->v * s->v) + g_earth * s->y;
}

/* ---- callbacks ---------------------------------------------------------------------------------- */

static int mass(void *user, double t, const double *p, const double *v, double *values) {
  (void)user, (void)t, (void)p, (void)v;
  values[0] = values[1] = 1.0;
  return 0;
}
static int force(void *user, double t, const double *p, const double *v, double *f) {
  (void)user, (void)t, (void)p, (void)v;
  f[0] = 0.0, f[1] = -g_earth;
  return 0;
}
static int potential(void *user, double t, const double *p, double *energy) {
  (void)user, (void)t;
  *energy = g_earth * p[1];
  return 0;
}
static int constraint(void *user, double t, const double *p, double *phi) {
  (void)user, (void)t;
  phi[0] = p[0] * p[0] + p[1] * p[1] - 1.0;
  return 0;
}
static int jacobian(void *user, double t, const double *p, double *values) {
  (void)user, (void)t;
  values[0] = 2.0 * p[0], values[1] = 2.0 * p[1];
  return 0;
}
static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  (void)user, (void)t, (void)p;
  a[0] = 2.0 * (v[0] * v[0] + v[1] * v[1]);
  return 0;
}

vin_status pendulum_system(vin_system **system) {
  const vin_int both[] = {0, 1}, zero[] = {0, 0};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = 2, desc.constraints = 1;
  desc.flags =
      VIN_MASS_CONSTANT | VIN_MASS_DIAGONAL | VIN_FORCE_VELOCITY_FREE | VIN_CONSTRAINT_QUADRATIC;
  desc.mass_pattern = (vin_triplets){.count = 2, .row = both, .col = both};
  desc.jacobian_pattern = (vin_triplets){.count = 2, .row = zero, .col = both};
  desc.mass = mass, desc.force = force, desc.potential = potential;
  desc.constraint = constraint, desc.jacobian = jacobian, desc.curvature = curvature;
  return vin_system_create(system, NULL, &desc);
}

/* ---- runs --------------------------------------------------------------------------------------- */

vin_options gallery_method(vin_method method, double step) {
  vin_options options = vin_options_default();
  options.method = method;
  options.step = step;
  options.projection = VIN_PROJECTION_NONE;
  options.fix_start = 0;
  return options;
}

int pendulum_keep(pendulum_run *run, pendulum_state state) {
  if (run->count == run->room) {
    size_t room = run->room > 0 ? 2 * run->room : 1024;
    pendulum_state *larger = realloc(run->state, room * sizeof *larger);
    if (!larger) return 1;
    run->state = larger, run->room = room;
  }
  run->state[run->count++] = state;
  return 0;
}

void pendulum_run_free(pendulum_run *run) {
  free(run->state);
  *run = (pendulum_run){0};
}

vin_status pendulum_simulate(gallery *g, const vin_options *options, pendulum_state start,
                             double end, pendulum_run *run) {
  *run = (pendulum_run){0};
  vin_system *system = NULL;
  vin_sim *sim = NULL;
  vin_status status = pendulum_system(&system);
  if (status != VIN_OK) return gallery_fail(g, status, vin_system_error(system));
  const double p[] = {start.x, start.y}, v[] = {start.u, start.v};
  status = vin_sim_create_from_system(&sim, NULL, system, p, v, options);
  vin_system_destroy(system); /* the sim keeps it */
  while (status == VIN_OK) {
    vin_state_view now = vin_sim_state(sim);
    vin_report report = vin_sim_report(sim);
    pendulum_state state = {.t = now.t,
                            .x = now.p[0],
                            .y = now.p[1],
                            .u = now.v[0],
                            .v = now.v[1],
                            .dae_residual = report.dae_residual};
    if (pendulum_keep(run, state)) status = VIN_ERR_NO_MEMORY;
    if (now.t > end - 0.5 * options->step) break;
    if (status == VIN_OK) status = vin_sim_step(sim);
  }
  if (status != VIN_OK) gallery_fail(g, status, vin_sim_error(sim));
  vin_sim_destroy(sim);
  return status;
}

vin_status pendulum_recur(gallery *g, pendulum_recursion step, const void *data,
                          pendulum_state start, double h, size_t steps, pendulum_run *run) {
  *run = (pendulum_run){0};
  int failed = pendulum_keep(run, start);
  for (size_t k = 1; k <= steps && !failed; k++) {
    if (step(data, h, &start)) break; /* the recursion ends here */
    start.t = h * (double)k;
    failed = pendulum_keep(run, start);
  }
  return failed ? gallery_fail(g, VIN_ERR_NO_MEMORY, NULL) : VIN_OK;
}

double pendulum_max(const pendulum_run *run, pendulum_function function) {
  double largest = 0.0;
  for (size_t k = 0; k < run->count; k++) largest = fmax(largest, fabs(function(&run->state[k])));
  return largest;
}

double pendulum_difference(const pendulum_run *a, const pendulum_run *b) {
  if (a->count != b->count) return INFINITY;
  double largest = 0.0;
  for (size_t k = 0; k < a->count; k++) {
    const pendulum_state *s = &a->state[k], *w = &b->state[k];
    largest = fmax(largest, fmax(hypot(s->x - w->x, s->y - w->y), hypot(s->u - w->u, s->v - w->v)));
  }
  return largest;
}

void pendulum_draw(gallery *g, const pendulum_run *run, pendulum_function function) {
  for (size_t k = 0; k < run->count; k++)
    gallery_point(g, run->state[k].t, function(&run->state[k]));
}

void pendulum_draw_path(gallery *g, const pendulum_run *run) {
  for (size_t k = 0; k < run->count; k++) gallery_point(g, run->state[k].x, run->state[k].y);
}

/* ---- the exact motion --------------------------------------------------------------------------- */

/* sn, cn, dn of (K - w, k) by the arithmetic-geometric mean (Abramowitz and Stegun, 16.4); K is the
 * quarter period. */
static void jacobi(double k, double w, double *sn, double *cn, double *dn) {
  enum { MOST = 16 };
  double a[MOST], c[MOST], b = sqrt(1.0 - k * k);
  int n = 0;
  a[0] = 1.0, c[0] = k;
  while (n + 1 < MOST && fabs(c[n]) > 1e-17) {
    a[n + 1] = 0.5 * (a[n] + b), c[n + 1] = 0.5 * (a[n] - b);
    b = sqrt(a[n] * b);
    n++;
  }
  double u = acos(-1.0) / (2.0 * a[n]) - w;
  double phi = ldexp(a[n] * u, n);
  for (int i = n; i > 0; i--) phi = 0.5 * (phi + asin(c[i] / a[i] * sin(phi)));
  *sn = sin(phi), *cn = cos(phi), *dn = sqrt(1.0 - k * k * *sn * *sn);
}

/* sin(angle/2) = k sn(K - w t), k = sin(a/2), w = sqrt(g / 1 m). */
pendulum_state pendulum_exact(double a, double t, double *lambda) {
  double k = sin(0.5 * a), w = sqrt(g_earth), sn, cn, dn;
  jacobi(k, w * t, &sn, &cn, &dn);
  double rate = -2.0 * k * cn * w;                                       /* of the angle */
  double sine = 2.0 * k * sn * dn, cosine = 1.0 - 2.0 * k * k * sn * sn; /* of the angle */
  pendulum_state s = {.t = t, .x = sine, .y = -cosine, .u = rate * cosine, .v = rate * sine};
  if (lambda) *lambda = 0.5 * (rate * rate - g_earth * s.y);
  return s;
}
