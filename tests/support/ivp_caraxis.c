/* ivp - car axis: index 3, moving constraint (cran/deTestSet src/Ex_car.f). The system is that of
 * examples/support/caraxis.c; its multipliers have the opposite sign of the test set's. */
#include "../../examples/support/caraxis.h"
#include "ivp.h"

enum { N = 4, M = 2 };

static bool make(ivp_problem *p, const char *directory, int level) {
  static caraxis data = {.mass = 5e-4, .rest = 0.5, .bump = 0.1, .frequency = 10};
  static const double start[2 * N] = {0, 0.5, 1, 0.5, -0.5, 0, -0.5, 0};
  double end[2 * N + M];
  vin_system_desc system = caraxis_describe(&data);
  if (!ivp_mechanical(p, &system, level)) return false;
  if (!ivp_read_row(directory, "ivp/caraxis.csv", 3, 0, 2 * N + M, end)) return false;
  p->t_end = 3;
  p->step = 1e-3;
  p->accuracy = 1e-9;
  for (int i = 0; i < 2 * N; i++) {
    p->y0[i] = start[i];
    p->reference[i] = end[i];
    p->scored[i] = true;
  }
  /* weight on both sides at the start: v' = (0, -1) without multipliers, of both loads */
  for (int i = 2 * N; i < p->n - M; i++) p->y0[i] = i % 2 == 0 ? 0 : -1;
  for (int i = p->n - M; i < p->n; i++) {
    p->reference[i] = -end[2 * N + i - (p->n - M)];
    p->typical[i] = 1e-3;
  }
  return true;
}

bool ivp_caraxis(ivp_problem *p, const char *directory) {
  return make(p, directory, 0);
}

bool ivp_caraxis_2(ivp_problem *p, const char *directory) {
  return make(p, directory, 1);
}

bool ivp_caraxis_1(ivp_problem *p, const char *directory) {
  return make(p, directory, 2);
}
