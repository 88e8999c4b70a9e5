/* Gauss-Legendre quadrature by Newton's method on the Legendre polynomials. In long double, where that is wider
 * than double: the line-integral methods feel the rounding of their coefficients, theory (L10). */
#include "integrate/gauss.h"

#include <math.h>

enum { NEWTON_STEPS = 100 };

/* P_k(x) on [-1, 1], not normalised, and its derivative. */
static long double legendre(int k, long double x, long double *derivative) {
  long double before = 1, now = x;
  for (int j = 2; j <= k; j++) {
    long double next = ((2 * j - 1) * x * now - (j - 1) * before) / j;
    before = now;
    now = next;
  }
  *derivative = k * (x * now - before) / (x * x - 1);
  return now;
}

/* Root number i (from the right end) by Newton from Tricomi's estimate, which lies in its basin. */
static long double root(int k, int i, long double *derivative) {
  long double x = cosl(acosl(-1.0L) * (i + 0.75L) / (k + 0.5L)), last = HUGE_VALL;
  for (int step = 0; step < NEWTON_STEPS; step++) {
    long double value = legendre(k, x, derivative), change = value / *derivative;
    if (!(fabsl(change) < last)) break; /* rounding */
    last = fabsl(change);
    x -= change;
  }
  legendre(k, x, derivative);
  return x;
}

void vini_gauss(int k, long double *c, long double *b) {
  for (int i = 0; 2 * i < k; i++) {
    long double derivative = 1, x = 0;
    if (2 * i + 1 == k) { /* the middle one */
      legendre(k, 0, &derivative);
      if (k == 1) derivative = 1;
    } else {
      x = root(k, i, &derivative);
    }
    long double weight = 1 / ((1 - x * x) * derivative * derivative);
    c[i] = (1 - x) / 2;
    c[k - 1 - i] = (1 + x) / 2;
    b[i] = b[k - 1 - i] = weight;
  }
}

/* xi_j = 1 / (2 sqrt(4 j^2 - 1)), the entries of X */
static long double xi(int j) {
  return 0.5L / sqrtl(4.0L * j * j - 1);
}

void vini_legendre(int count, long double c, long double *value, long double *integral) {
  long double x = 2 * c - 1, p[VINI_GAUSS_MOST + 1];
  long double before = 1, now = x;
  p[0] = 1;
  for (int j = 1; j <= count; j++) { /* one more than asked for: the integrals need it */
    p[j] = sqrtl(2.0L * j + 1) * now;
    long double next = ((2 * j + 1) * x * now - j * before) / (j + 1);
    before = now;
    now = next;
  }
  for (int j = 0; j < count; j++) {
    if (value != NULL) value[j] = p[j];
    if (integral == NULL) continue;
    integral[j] = j == 0 ? c : xi(j + 1) * p[j + 1] - xi(j) * p[j - 1];
  }
}

void vini_legendre_integrals(int size, double x[][VINI_GAUSS_MOST]) {
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      x[i][j] = i == j + 1 ? (double)xi(i) : j == i + 1 ? -(double)xi(j) : i + j == 0 ? 0.5 : 0;
    }
  }
}

/* Gauss-Jordan with partial pivoting on the rows [a | 1]. */
void vini_small_inverse(int size, double a[][VINI_GAUSS_MOST], double inverse[][VINI_GAUSS_MOST]) {
  long double w[VINI_GAUSS_MOST][2 * VINI_GAUSS_MOST];
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      w[i][j] = a[i][j];
      w[i][size + j] = i == j;
    }
  }
  for (int column = 0; column < size; column++) {
    int pivot = column;
    for (int i = column + 1; i < size; i++) {
      if (fabsl(w[i][column]) > fabsl(w[pivot][column])) pivot = i;
    }
    for (int j = 0; j < 2 * size; j++) {
      long double kept = w[column][j];
      w[column][j] = w[pivot][j];
      w[pivot][j] = kept;
    }
    for (int j = 2 * size - 1; j >= column; j--) w[column][j] /= w[column][column];
    for (int i = 0; i < size; i++) {
      if (i == column) continue;
      for (int j = 2 * size - 1; j >= column; j--) w[i][j] -= w[i][column] * w[column][j];
    }
  }
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) inverse[i][j] = (double)w[i][size + j];
  }
}
