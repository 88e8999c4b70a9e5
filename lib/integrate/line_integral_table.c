/* Coefficients of the line-integral methods. */
#include "integrate/line_integral.h"

void vini_line_table_fill(vini_line_table *t, int k, int s, int r) {
  t->k = k;
  t->s = s;
  t->r = r;
  t->ratio = 0;
  vini_gauss(k, t->c, t->b);
  for (int l = 0; l < k; l++) vini_legendre(s, t->c[l], t->value[l], t->integral[l]);
  vini_legendre(s, 1, t->end, NULL);
  vini_legendre_integrals(s, t->x);
  vini_small_inverse(s, t->x, t->x_inverse);
  vini_small_inverse(r, t->x, t->xr_inverse);
}

/* Theory (L9). The last step's v(c) = v0 + sum_j h w_j I_j(c), h w = X^-1 d, is extended to c = 1 + ratio x
 * and expanded again, about its end: new d_i = int P_i(x) (v(1 + ratio x) - v(1)) dx. The integrands
 * have degree <= 2 s - 1, which s nodes integrate exactly. */
void vini_line_table_predict(vini_line_table *t, double ratio) {
  if (ratio == t->ratio) return;
  int s = t->s;
  double c[VINI_GAUSS_MOST], b[VINI_GAUSS_MOST], moved[VINI_GAUSS_MOST][VINI_GAUSS_MOST] = {{0}};
  vini_gauss(s, c, b);
  for (int i = 0; i < s; i++) {
    for (int j = 0; j < s; j++) t->extend[i][j] = t->shift[i][j] = 0;
  }
  for (int l = 0; l < s; l++) {
    double here[VINI_GAUSS_MOST], there[VINI_GAUSS_MOST], integral[VINI_GAUSS_MOST];
    vini_legendre(s, c[l], here, NULL);
    vini_legendre(s, 1 + ratio * c[l], there, integral);
    for (int i = 0; i < s; i++) {
      for (int j = 0; j < s; j++) {
        moved[i][j] += b[l] * here[i] * (integral[j] - (j == 0)); /* I_j(1) = delta_j0 */
        t->shift[i][j] += b[l] * here[i] * there[j];
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
