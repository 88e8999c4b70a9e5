/* Multipliers of minimum norm: vin_kkt_minimum_norm. */
#include "test_support.h"

#include "vincula/kkt.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Dense problem: M = diag(mass), J dense (m x n). */
typedef struct dense {
  vin_int n, m;
  double *mass, *j;
  vin_kkt *kkt;
} dense;

static dense dense_create(vin_int n, vin_int m, const double *mass, const double *j,
                          vin_solver solver) {
  dense d = {.n = n, .m = m};
  vin_int count = n * m;
  vin_int *row = malloc((size_t)count * sizeof *row), *col = malloc((size_t)count * sizeof *col);
  vin_int *diagonal = malloc((size_t)n * sizeof *diagonal);
  for (vin_int k = 0; k < count; k++) row[k] = k / n, col[k] = k % n;
  for (vin_int i = 0; i < n; i++) diagonal[i] = i;
  vin_kkt_options options = vin_kkt_options_default();
  options.solver = solver;
  vin_triplets h = {n, diagonal, diagonal}, jacobian = {count, row, col};
  cr_assert_eq(vin_kkt_create(&d.kkt, NULL, n, m, h, jacobian, &options), VIN_OK, "%s",
               vin_kkt_error(d.kkt));
  cr_assert_eq(vin_kkt_factor(d.kkt, mass, j, NULL), VIN_OK, "%s", vin_kkt_error(d.kkt));
  free(row);
  free(col);
  free(diagonal);
  return d;
}

/* A point held twice by the same constraint (contact duplicated, a constraint entered twice): the two
 * multipliers of least norm are equal halves of the force, 9.81 N at a resting pendulum. */
Test(kkt_minimum_norm, duplicated_rows_share_the_force_equally) {
  static const vin_solver solvers[] = {VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD, VIN_SOLVER_UMFPACK};
  for (int s = 0; s < 3; s++) {
    if (!vin_solver_available(solvers[s])) continue;
    const double mass[2] = {1, 1}, j[4] = {0, -2, 0, -2}, f[2] = {0, -9.81}, g[2] = {0, 0};
    double a[2], lambda[2];
    dense d = dense_create(2, 2, mass, j, solvers[s]);
    cr_assert_eq(vin_kkt_solve(d.kkt, 1, f, g, a, lambda), VIN_OK);
    cr_assert_eq(vin_kkt_minimum_norm(d.kkt, 1, lambda), VIN_OK);
    cr_assert_float_eq(lambda[0], 9.81 / 4, 1e-14);
    cr_assert_float_eq(lambda[1], 9.81 / 4, 1e-14);
    cr_assert_float_eq(a[1], 0, 1e-14);
    vin_kkt_destroy(d.kkt);
  }
}

/* J = B A with A of full row rank r: rank r exactly but for rounding. */
static void random_dependent(test_random *random, vin_int n, vin_int m, vin_int r, double *j) {
  double *a = malloc((size_t)(r * n) * sizeof *a), *b = malloc((size_t)(m * r) * sizeof *b);
  for (vin_int k = 0; k < r * n; k++) a[k] = test_random_between(random, -1, 1);
  for (vin_int k = 0; k < m * r; k++) b[k] = test_random_between(random, -1, 1);
  for (vin_int i = 0; i < m; i++) {
    for (vin_int c = 0; c < n; c++) {
      long double sum = 0;
      for (vin_int k = 0; k < r; k++) sum += (long double)b[i * r + k] * a[k * n + c];
      j[i * n + c] = (double)sum;
    }
  }
  free(a);
  free(b);
}

/* Two properties characterise the result: the forces J' lambda are unchanged, and lambda is orthogonal
 * to the null space of J', i.e. in the range of J: lambda = J w for the least squares w, found here
 * by an independent dense solve of the normal equations restricted to r random combinations. */
Test(kkt_minimum_norm, forces_stay_and_the_norm_is_least) {
  enum { N = 9, M = 7, R = 4 };
  test_random random = {11};
  double j[M * N], mass[N], f[N], g[M] = {0}, a[N], lambda[M], before[N], after[N];
  random_dependent(&random, N, M, R, j);
  for (int i = 0; i < N; i++) {
    mass[i] = test_random_between(&random, 0.5, 2);
    f[i] = test_random_between(&random, -1, 1);
  }
  dense d = dense_create(N, M, mass, j, VIN_SOLVER_AUTO);
  cr_assert_eq(vin_kkt_dropped(d.kkt, NULL), M - R);
  cr_assert_eq(vin_kkt_solve(d.kkt, 1, f, g, a, lambda), VIN_OK);
  double basic[M];
  memcpy(basic, lambda, sizeof basic);
  cr_assert_eq(vin_kkt_minimum_norm(d.kkt, 1, lambda), VIN_OK);
  for (int c = 0; c < N; c++) {
    before[c] = after[c] = 0;
    for (int i = 0; i < M; i++) {
      before[c] += j[i * N + c] * basic[i];
      after[c] += j[i * N + c] * lambda[i];
    }
    cr_assert_float_eq(before[c], after[c], 1e-12, "force %d changed by %g", c,
                       before[c] - after[c]);
  }
  /* lambda = J w with w among the combinations of r rows: (J Q)(J Q)' ... as normal equations */
  double q[N * R], jq[M * R], normal[R * R], right[R];
  for (int k = 0; k < N * R; k++) q[k] = test_random_between(&random, -1, 1);
  for (int i = 0; i < M; i++) {
    for (int k = 0; k < R; k++) {
      jq[i * R + k] = 0;
      for (int c = 0; c < N; c++) jq[i * R + k] += j[i * N + c] * q[c * R + k];
    }
  }
  for (int k = 0; k < R; k++) {
    right[k] = 0;
    for (int i = 0; i < M; i++) right[k] += jq[i * R + k] * lambda[i];
    for (int l = 0; l < R; l++) {
      normal[k + l * R] = 0;
      for (int i = 0; i < M; i++) normal[k + l * R] += jq[i * R + k] * jq[i * R + l];
    }
  }
  double w[R];
  cr_assert(test_dense_solve(R, normal, right, w));
  for (int i = 0; i < M; i++) {
    double in_range = 0;
    for (int k = 0; k < R; k++) in_range += jq[i * R + k] * w[k];
    cr_assert_float_eq(lambda[i], in_range, 1e-10, "row %d is off the range of J by %g", i,
                       lambda[i] - in_range);
  }
  vin_kkt_destroy(d.kkt);
}

Test(kkt_minimum_norm, nothing_to_do_and_bad_calls) {
  const double mass[2] = {1, 1}, j[2] = {3, 4}, f[2] = {1, 1}, g[1] = {0};
  double a[2], lambda[1], kept;
  dense d = dense_create(2, 1, mass, j, VIN_SOLVER_AUTO);
  cr_assert_eq(vin_kkt_solve(d.kkt, 1, f, g, a, lambda), VIN_OK);
  kept = lambda[0];
  cr_assert_eq(vin_kkt_minimum_norm(d.kkt, 1, lambda), VIN_OK);
  cr_assert_eq(lambda[0], kept, "independent rows: bit for bit the same");
  cr_assert_eq(vin_kkt_minimum_norm(d.kkt, 0, NULL), VIN_OK);
  cr_assert_eq(vin_kkt_minimum_norm(d.kkt, 1, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_kkt_minimum_norm(d.kkt, -1, lambda), VIN_ERR_BAD_INPUT);
  lambda[0] = NAN;
  cr_assert_eq(vin_kkt_minimum_norm(d.kkt, 1, lambda), VIN_ERR_BAD_INPUT);
  cr_assert_neq(vin_kkt_minimum_norm(NULL, 1, lambda), VIN_OK);
  vin_kkt_destroy(d.kkt);
}
