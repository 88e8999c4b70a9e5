/* hbvm and lim: the sums over a step keep digits that the state itself cannot hold. */
#include "integrate/line_integral.h"
#include "line_integral_support.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(line_rounding);

enum { LINKS = 8, STEPS = 200 };

/* A stretched chain that turns, its links stretched and compressed in turn: with r = 1 the normal velocity
 * changes its sign in each step. */
static test_mechanism *alternating_chain(double normal) {
  test_mechanism *x = test_chain(LINKS, 1, 1);
  x->gravity[1] = 0;
  for (int k = 0; k < LINKS; k++) {
    x->v[2 * k] = k % 2 == 0 ? normal : -normal;
    x->v[2 * k + 1] = k + 1;
  }
  return test_line_built(x);
}

/* Largest error of v1 = v0 + sum_j y_j d_j in a step, in parts of |v|: the sum of all parts, what was
 * carried included, done in long double. *flips: components that came out with the other sign. */
static long double sum_error(const vini_line *line, int s, vin_int n, long *flips) {
  const vini_line_state *from = line->begin, *to = line->last;
  long double largest = 0, size = 0;
  for (vin_int i = 0; i < n; i++) {
    long double off = ((long double)to->raw[i] - from->raw[i]) + to->v_low[i] - from->v_low[i];
    for (int j = 0; j < s; j++) {
      long double y = (long double)line->table.y[j].high + line->table.y[j].low;
      off -= y * line->d[(size_t)j * (size_t)n + (size_t)i];
    }
    largest = fmaxl(largest, fabsl(off));
    size = fmaxl(size, fabsl((long double)from->raw[i]));
    *flips += from->raw[i] * to->raw[i] < 0;
  }
  return largest / size;
}

/* Long double rounds the check itself, each of its operations on numbers of up to 4 |v| by half an
 * LDBL_EPSILON of them: 16 LDBL_EPSILON is 2e-18 where long double has 64 bits. A carried digit that is
 * swallowed is off by up to DBL_EPSILON / 2 = 1e-16. */
static void check_sum(int k, int s, int r) {
  test_mechanism *x = alternating_chain(r < s ? 0.5 : 0);
  vin_options options = test_line_options(k, s, r);
  vin_integrator *integrator = test_integrator(x, &options);
  const vini_line *line = integrator->data;
  vin_state state = test_state(x);
  long double worst = 0;
  long flips = 0;
  for (int step = 0; step < STEPS; step++) {
    cr_assert_eq(test_advance(integrator, x, &state, 5e-3, 1), VIN_OK, "%s",
                 vin_integrator_error(integrator));
    worst = fmaxl(worst, sum_error(line, s, x->n, &flips));
  }
  cr_expect(worst <= 16 * LDBL_EPSILON, "(%d,%d,%d): %Lg", k, s, r, worst);
  if (r == 0) cr_expect_geq(flips, STEPS, "%ld", flips);
  vin_integrator_destroy(integrator);
  test_state_free(&state);
  test_mechanism_free(x);
}

Test(line_rounding, velocity_is_summed_exactly) {
  check_sum(2, 2, 0);
  check_sum(6, 2, 0);
  check_sum(3, 3, 1);
  check_sum(3, 3, 3);
  check_sum(6, 5, 5);
}
