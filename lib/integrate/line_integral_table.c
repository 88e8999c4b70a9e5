/* Coefficients of the line-integral methods. */
#include "integrate/line_integral.h"

static vini_coefficient split(long double x) {
  const double high = (double)x;
  return (vini_coefficient){.high = high, .low = (double)(x - high)};
}

void vini_line_table_fill(vini_line_table *t, int k, int s, int r) {
  t->k = k;
  t->s = s;
  t->r = r;
  t->ratio = t->h = 0;
  long double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST], p[VINI_GAUSS_MOST], integral[VINI_GAUSS_MOST];
  vini_gauss(k, c, b);
  for (int l = 0; l < k; l++) {
    t->c[l] = (double)c[l];
    t->b[l] = (double)b[l];
    vini_legendre(s, c[l], p, integral);
    for (int j = 0; j < s; j++) {
      t->value[l][j] = (double)p[j];
      t->weight[l][j] = split(b[l] * p[j]);
      t->integral[l][j] = split(integral[j]);
    }
  }
  vini_legendre(s, 1, p, NULL);
  for (int j = 0; j < s; j++) t->end[j] = (double)p[j];
  vini_legendre_integrals(s, t->x);
  vini_small_inverse(s, t->x, t->x_inverse);
  vini_small_inverse(r, t->x, t->xr_inverse);
}

/* y' (h X) = h e_0': row i says y_(i+1) hx_(i+1,i) = y_(i-1) (-hx_(i-1,i)), but for row 0; so every other y is 0. */
void vini_line_table_step(vini_line_table *t, double h) {
  if (h == t->h) return;
  const int s = t->s;
  t->h = h;
  for (int i = 0; i < s; i++) {
    for (int j = 0; j < s; j++) t->hx[i][j] = h * t->x[i][j];
    t->y[i] = (vini_coefficient){0};
  }
  int i = s % 2 == 0;
  long double y = i == 0 ? 2.0L : (long double)h / t->hx[1][0];
  for (t->y[i] = split(y); i + 2 < s; t->y[i] = split(y)) {
    y *= (long double)t->hx[i + 1][i] / t->hx[i + 2][i + 1];
    i += 2;
  }
}

/* Theory (L9). The last step's v(c) = v0 + sum_j h w_j I_j(c), h w = X^-1 d, is extended to c = 1 + ratio x
 * and expanded again, about its end: new d_i = int P_i(x) (v(1 + ratio x) - v(1)) dx. The integrands
 * have degree <= 2 s - 1, which s nodes integrate exactly. */
void vini_line_table_predict(vini_line_table *t, double ratio) {
  if (ratio == t->ratio) return;
  int s = t->s;
  long double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST];
  double moved[VINI_GAUSS_MOST][VINI_GAUSS_MOST] = {{0}};
  vini_gauss(s, c, b);
  for (int i = 0; i < s; i++) {
    for (int j = 0; j < s; j++) t->extend[i][j] = t->shift[i][j] = 0;
  }
  for (int l = 0; l < s; l++) {
    long double here[VINI_GAUSS_MOST], there[VINI_GAUSS_MOST], integral[VINI_GAUSS_MOST];
    vini_legendre(s, c[l], here, NULL);
    vini_legendre(s, 1 + ratio * c[l], there, integral);
    for (int i = 0; i < s; i++) {
      for (int j = 0; j < s; j++) {
        moved[i][j] += (double)(b[l] * here[i] * (integral[j] - (j == 0))); /* I_j(1) = delta_j0 */
        t->shift[i][j] += (double)(b[l] * here[i] * there[j]);
      }
    }
  }
  for (int i = 0; i < s; i++) {
    for (int j = 0; j < s; j++) {
      for (int q = 0; q < s; q++) t->extend[i][j] += moved[i][q] * t->x_inverse[q][j];
    }
  }
  t->ratio = ratio;
}
