/* ivp - water tube system: index 2, 49 unknowns (cran/deTestSet src/Ex_tube.f). 18 flows, 18
 * resistances, 13 pressures: p5, p8 (with storage, index 1), then the others (index 2). */
#include "ivp.h"

#include <math.h>

enum { EDGES = 18, NODES = 13, N = 2 * EDGES + NODES };
static const int from[EDGES] = {1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 8, 9, 11, 11, 12, 12, 13};
static const int to[EDGES] = {2, 3, 6, 4, 5, 5, 10, 5, 4, 8, 5, 10, 8, 9, 12, 7, 8, 11};
/* place of the pressure of node 1..13 in y */
static const int place[NODES + 1] = {-1, 38, 39, 40, 41, 36, 42, 43, 37, 44, 45, 46, 47, 48};
static const double nu = 1.31e-6, gravity = 9.8, rho = 1000, critical = 2300, length = 1000,
                    rough = 2e-4, d = 1, area = 200;

static double section(void) {
  return acos(-1) * d * d / 4;
}

static int f(void *user, double t, const double *y, double *r) {
  (void)user;
  double a = section(), mu = nu * rho, net[NODES + 1] = {0}, hours = t / 3600;
  double rise = 1 - cos(exp(-hours) - 1);
  net[1] = rise / 200;
  net[13] = rise / 80;
  net[10] = -hours * hours * (3 * hours * hours - 92 * hours + 720) / 1e6;
  for (int e = 0; e < EDGES; e++) {
    double flow = y[e], lambda = y[EDGES + e], reynolds = fabs(flow * d / (nu * a));
    if (!(lambda > 0)) return 1;
    double drop = reynolds > critical ? lambda * rho * length * flow * flow / (a * a * d)
                                      : 32 * mu * length * flow / (a * d * d);
    double turbulent = fmax(reynolds, critical);
    r[e] = y[place[from[e]]] - y[place[to[e]]] - drop;
    r[EDGES + e] =
        1 / sqrt(lambda) - 1.74 + 2 * log10(2 * rough / d + 18.7 / (turbulent * sqrt(lambda)));
    net[from[e]] -= flow;
    net[to[e]] += flow;
  }
  for (int k = 1; k <= NODES; k++) r[place[k]] = net[k];
  return 0;
}

bool ivp_water_tube(ivp_problem *p, const char *directory) {
  if (!ivp_size(p, N)) return false;
  p->index = 2;
  p->t_end = 61200;
  p->time_scale = 3600;
  p->f = f;
  p->accuracy = 1e-6;
  for (int e = 0; e < EDGES; e++) {
    ivp_mass(p, e, e, rho * length / section());
    p->y0[EDGES + e] = 0.47519404529185289807e-1;
    ivp_depends(p, e, e), ivp_depends(p, e, EDGES + e);
    ivp_depends(p, e, place[from[e]]), ivp_depends(p, e, place[to[e]]);
    ivp_depends(p, EDGES + e, e), ivp_depends(p, EDGES + e, EDGES + e);
    ivp_depends(p, place[from[e]], e), ivp_depends(p, place[to[e]], e);
    p->typical[e] = 1e-3, p->typical[EDGES + e] = 1e-2;
  }
  ivp_mass(p, place[5], place[5], area / (rho * gravity));
  ivp_mass(p, place[8], place[8], area / (rho * gravity));
  for (int k = 1; k <= NODES; k++) {
    p->y0[place[k]] = 109800;
    p->typical[place[k]] = 1e5;
    if (k != 5 && k != 8) p->variable_index[place[k]] = 2;
  }
  for (int i = 0; i < N; i++) p->scored[i] = true;
  return ivp_read_components(p, directory, "ivp/water_tube_end_values.csv");
}
