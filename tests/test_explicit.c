/* collatz and dopri5: orders, work, dense output, projection policy. */
#include "problems.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(explicit);

static test_mechanism *built(test_mechanism *x) {
  test_mechanism_build(x, NULL);
  return x;
}

typedef struct study {
  const char *name;
  test_mechanism *(*problem)(void);
  const char *file;
  double scale, t_end; /* scale: lambda of vincula / lambda of the file */
  long collatz, dopri5;
} study;

static test_mechanism *chain10(void) {
  return test_chain(10, 1, 1);
}

/* Coarsest of three runs each. */
static const study studies[] = {
    {"planar", test_planar_pendulum, "hamiltonian/planar_pendulum.csv", 2, 1, 50, 10},
    {"planar", test_planar_pendulum, "hamiltonian/planar_pendulum.csv", 2, 10, 1000, 200},
    {"spherical", test_spherical_pendulum, "hamiltonian/spherical_pendulum.csv", 2, 10, 1000, 100},
    {"modified", test_modified_pendulum, "hamiltonian/modified_pendulum.csv", 1, 1, 200, 30},
    {"triangle", test_triangle, "hamiltonian/tethered_triangle.csv", 2, 10, 400, 100},
    {"chain of 10", chain10, "hamiltonian/chain_N10_unitlinks.csv", 2, 1, 400, 100},
};
enum { STUDIES = sizeof studies / sizeof *studies };

/* Largest errors of p and v, and of lambda. */
static void errors(const study *s, vin_method method, long steps, double *state, double *lambda) {
  test_mechanism *x = built(s->problem());
  int n = (int)x->n, m = (int)x->m;
  double *row = calloc((size_t)(2 * n + m), sizeof *row);
  test_reference(s->file, s->t_end, 2 * n + m, row);
  vin_options options = test_method(method, VIN_PROJECTION_BOTH);
  vin_state end = test_run(x, &options, s->t_end, steps);
  *state = fmax(test_max_difference(x->n, end.p, row), test_max_difference(x->n, end.v, row + n));
  *lambda = 0;
  for (int c = 0; c < m; c++)
    *lambda = fmax(*lambda, fabs(end.lambda[c] - s->scale * row[2 * n + c]));
  free(row);
  test_state_free(&end);
  test_mechanism_free(x);
}

/* Against references of 15 and more digits. The next term of the error is a fraction h of the first,
 * hence the margin. The multiplier may do better: collatz has 3 on the triangle. */
static void check_orders(vin_method method, double order, double margin) {
  for (int k = 0; k < STUDIES; k++) {
    long steps = method == VIN_METHOD_COLLATZ ? studies[k].collatz : studies[k].dopri5;
    double last[2] = {0, 0}, error[2];
    for (int run = 0; run < 3; run++, steps *= 2) {
      errors(&studies[k], method, steps, &error[0], &error[1]);
      for (int kind = 0; kind < 2 && run > 0; kind++) {
        double observed = log2(last[kind] / error[kind]);
        double above = kind == 0 ? margin : 1.3;
        cr_expect(observed >= order - margin && observed <= order + above,
                  "%s to t = %g, %s, %ld steps, %s: %.3f (%g)", studies[k].name, studies[k].t_end,
                  vin_method_name(method), steps, kind == 0 ? "p, v" : "lambda", observed,
                  error[kind]);
      }
      memcpy(last, error, sizeof last);
    }
  }
}

Test(explicit, collatz_has_order_2) {
  check_orders(VIN_METHOD_COLLATZ, 2, 0.3);
}

Test(explicit, dopri5_has_order_5) {
  check_orders(VIN_METHOD_DOPRI5, 5, 0.5);
}

/* The references have 15 digits; dopri5 reaches 1e-12 of them where its rounding allows. */
Test(explicit, dopri5_reaches_the_references) {
  static const long steps[STUDIES] = {1000, 10000, 5000, 4000, 6000, 6000};
  for (int k = 0; k < STUDIES; k++) {
    double state, lambda;
    errors(&studies[k], VIN_METHOD_DOPRI5, steps[k], &state, &lambda);
    cr_expect_leq(state, 1e-12, "%s to t = %g: %g", studies[k].name, studies[k].t_end, state);
  }
}
