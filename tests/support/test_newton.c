#include "test_newton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void differences(vin_int count, test_residual residual, void *user, double *z, double *a,
                        double *low, double *high) {
  for (vin_int j = 0; j < count; j++) {
    double at = z[j], step = 1e-5 * fmax(1, fabs(at));
    z[j] = at + step;
    residual(user, z, high);
    z[j] = at - step;
    residual(user, z, low);
    z[j] = at;
    for (vin_int i = 0; i < count; i++) a[i + j * count] = (high[i] - low[i]) / (2 * step);
  }
}

bool test_newton(vin_int count, test_residual residual, void *user, double *z) {
  size_t n = (size_t)count;
  double *a = malloc((n * n + 3 * n) * sizeof *a), *r = a + n * n, *low = r + n, *high = low + n;
  double last = HUGE_VAL;
  bool done = false, regular = true;
  for (int k = 0; k < 50 && !done && regular; k++) {
    differences(count, residual, user, z, a, low, high);
    residual(user, z, r);
    regular = test_dense_solve(count, a, r, r);
    for (vin_int i = 0; regular && i < count; i++) z[i] -= r[i];
    double step = test_max_abs(count, r), size = fmax(1, test_max_abs(count, z));
    done = step <= 1e-14 * size || (step <= 1e-11 * size && step >= last);
    last = step;
  }
  free(a);
  return regular && done;
}
