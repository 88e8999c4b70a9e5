/* Gauss-Legendre quadrature and Legendre polynomials against closed forms and exact integrals. */
#include "integrate/line_integral.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

TestSuite(gauss);

/* Closed forms (Abramowitz and Stegun, table 25.4) for up to five nodes, to a rounding of each. */
Test(gauss, nodes_in_closed_form) {
  double root30 = sqrt(30), root70 = sqrt(70);
  long double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST];
  struct {
    int k;
    double x[3], w[3]; /* on [-1, 1], from the middle outwards */
  } known[] = {
      {1, {0}, {2}},
      {2, {sqrt(1.0 / 3)}, {1}},
      {3, {0, sqrt(0.6)}, {8.0 / 9, 5.0 / 9}},
      {4,
       {sqrt(3.0 / 7 - 2.0 / 7 * sqrt(1.2)), sqrt(3.0 / 7 + 2.0 / 7 * sqrt(1.2))},
       {(18 + root30) / 36, (18 - root30) / 36}},
      {5,
       {0, sqrt(5 - 2 * sqrt(10.0 / 7)) / 3, sqrt(5 + 2 * sqrt(10.0 / 7)) / 3},
       {128.0 / 225, (322 + 13 * root70) / 900, (322 - 13 * root70) / 900}},
  };
  for (int q = 0; q < 5; q++) {
    int k = known[q].k;
    vini_gauss(k, c, b);
    for (int i = 0; i < (k + 1) / 2; i++) {
      int right = k / 2 + i, left = k - 1 - right;
      cr_expect_float_eq((double)c[right], (1 + known[q].x[i]) / 2, 2 * DBL_EPSILON);
      cr_expect_float_eq((double)c[left], (1 - known[q].x[i]) / 2, 2 * DBL_EPSILON);
      cr_expect_float_eq((double)b[right], known[q].w[i] / 2, 2 * DBL_EPSILON);
      cr_expect_eq(b[right], b[left]);
    }
  }
}

/* int_0^1 c^d = 1/(d+1) for every degree that the rule must integrate; the sum of k products of size
 * <= 1/(d+1) is rounded to a few units. The next degree must fail, or the test would show nothing. */
Test(gauss, integrates_to_degree_2k_minus_1) {
  long double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST];
  for (int k = 1; k <= VINI_GAUSS_MOST; k++) {
    vini_gauss(k, c, b);
    for (int d = 0; d <= 2 * k; d++) {
      long double sum = 0;
      for (int i = 0; i < k; i++) sum += b[i] * powl(c[i], d);
      double error = (double)fabsl(sum * (d + 1) - 1);
      if (d < 2 * k) cr_expect_leq(error, 4 * (d + 1) * DBL_EPSILON, "k %d, d %d: %g", k, d, error);
      if (d == 2 * k && k < 12) cr_expect_geq(error, 1e-12, "k %d: %g", k, error);
    }
    for (int i = 1; i < k; i++) cr_expect_lt(c[i - 1], c[i]);
  }
}

/* Orthonormal, and X as the integral of products; degrees up to 2 s - 1 < 2 k, so the rule is exact. */
Test(gauss, legendre_polynomials) {
  enum { COUNT = 16, K = 20 };
  long double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST], value[COUNT], integral[COUNT];
  static double x[VINI_GAUSS_MOST][VINI_GAUSS_MOST];
  static long double product[COUNT][COUNT], with_integral[COUNT][COUNT];
  vini_gauss(K, c, b);
  vini_legendre_integrals(COUNT, x);
  for (int l = 0; l < K; l++) {
    vini_legendre(COUNT, c[l], value, integral);
    for (int i = 0; i < COUNT; i++) {
      for (int j = 0; j < COUNT; j++) {
        product[i][j] += b[l] * value[i] * value[j];
        with_integral[i][j] += b[l] * value[i] * integral[j];
      }
    }
  }
  for (int i = 0; i < COUNT; i++) {
    for (int j = 0; j < COUNT; j++) {
      cr_expect_float_eq((double)product[i][j], i == j, 1e-14, "%d %d", i, j);
      cr_expect_float_eq((double)with_integral[i][j], x[i][j], 1e-15, "%d %d", i, j);
    }
  }
}

/* P_2 = sqrt(5) (6 c^2 - 6 c + 1) and its integral, inside and outside of [0, 1]. */
Test(gauss, legendre_values) {
  long double value[3], integral[3];
  for (double c = -1; c <= 3; c += 0.25) {
    vini_legendre(3, c, value, integral);
    cr_expect_float_eq((double)value[2], sqrt(5) * (6 * c * c - 6 * c + 1), 1e-13);
    cr_expect_float_eq((double)integral[2], sqrt(5) * (2 * c * c * c - 3 * c * c + c), 1e-13);
    cr_expect_float_eq((double)value[1], sqrt(3) * (2 * c - 1), 1e-14);
    cr_expect_float_eq((double)integral[0], c, 0);
  }
}

/* X X^-1 = 1; the condition of X grows like s^2, to 1e3 for 32. */
Test(gauss, inverse_of_x) {
  static double x[VINI_GAUSS_MOST][VINI_GAUSS_MOST], inverse[VINI_GAUSS_MOST][VINI_GAUSS_MOST];
  for (int s = 1; s <= VINI_GAUSS_MOST; s++) {
    vini_legendre_integrals(s, x);
    vini_small_inverse(s, x, inverse);
    for (int i = 0; i < s; i++) {
      for (int j = 0; j < s; j++) {
        double sum = 0;
        for (int q = 0; q < s; q++) sum += x[i][q] * inverse[q][j];
        cr_expect_float_eq(sum, i == j, 1e-13, "s %d: %d %d: %g", s, i, j, sum);
      }
    }
  }
}

/* The velocity at the end belongs to the very matrix that the step is solved with: y' X = h e_0' beyond double,
 * for any step length. 1e-17 is a hundred roundings of long double. */
Test(gauss, end_of_a_step) {
  if (LDBL_MANT_DIG <= DBL_MANT_DIG) cr_skip_test("long double is double");
  static vini_line_table t;
  const double steps[] = {1e-3, 5e-4, 0.1, -0.3, 1.0 / 3};
  for (int s = 1; s <= VINI_GAUSS_MOST; s++) {
    vini_line_table_fill(&t, s, s, 1);
    for (int q = 0; q < 5; q++) {
      vini_line_table_step(&t, steps[q]);
      for (int i = 0; i < s; i++) {
        long double sum = i == 0 ? -(long double)steps[q] : 0;
        for (int j = 0; j < s; j++) {
          sum += ((long double)t.y[j].high + t.y[j].low) * t.hx[j][i];
        }
        cr_expect_leq((double)fabsl(sum), 1e-17 * fabs(steps[q]), "s %d, row %d: %Lg", s, i, sum);
        for (int j = 0; j < i; j++) cr_expect_eq(t.hx[i][j], -t.hx[j][i]);
      }
    }
  }
}

/* Weights and integrals as pairs: their moments are exact beyond double. int_0^1 P_i P_j by the weights of P_j and the
 * values of P_i, which are rounded: hence i = 0, P_0 = 1; int_0^1 I_j = X_0j. */
Test(gauss, pairs_of_doubles) {
  if (LDBL_MANT_DIG <= DBL_MANT_DIG) cr_skip_test("long double is double");
  static vini_line_table t;
  for (int s = 1; s <= 8; s++) {
    vini_line_table_fill(&t, 2 * s, s, 1);
    for (int j = 0; j < s; j++) {
      long double moment = 0, mean = 0;
      for (int l = 0; l < t.k; l++) {
        moment += (long double)t.weight[l][j].high + t.weight[l][j].low;
        mean += ((long double)t.weight[l][0].high + t.weight[l][0].low) *
                ((long double)t.integral[l][j].high + t.integral[l][j].low);
      }
      const long double x = j == 0 ? 0.5L : j == 1 ? -0.5L / sqrtl(3.0L) : 0;
      cr_expect_leq((double)fabsl(moment - (j == 0)), 4e-18, "s %d, degree %d", s, j);
      cr_expect_leq((double)fabsl(mean - x), 4e-18, "s %d, degree %d", s, j);
    }
  }
}
