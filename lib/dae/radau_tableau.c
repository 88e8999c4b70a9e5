/* dae - coefficients of Radau IIA with three stages, computed from the nodes. */
#include "dae/dae_integrator.h"

#include <complex.h>
#include <math.h>

/* A^-1: with u the polynomial of degree 3 through u(0) = 0 and u(c_j) = z_j, collocation says
 * h f_i = h u'(c_i), so A^-1_ij is the derivative at c_i of the Lagrange polynomial of c_j on
 * 0, c_1, c_2, c_3 (theory (R2)). */
static void inverse_matrix(const double *c, double a[3][3]) {
  const double node[4] = {0, c[0], c[1], c[2]};
  for (int j = 1; j < 4; j++) {
    for (int i = 1; i < 4; i++) {
      double sum = 0;
      for (int skip = 0; skip < 4; skip++) {
        if (skip == j) continue;
        double product = 1 / (node[j] - node[skip]);
        for (int m = 0; m < 4; m++) {
          if (m != j && m != skip) product *= (node[i] - node[m]) / (node[j] - node[m]);
        }
        sum += product;
      }
      a[i - 1][j - 1] = sum;
    }
  }
}

/* Vector x with x[2] = 1 and (A^-1 - mu) x = 0, from the first two rows. */
static void eigenvector(double a[3][3], double complex mu, double complex *x) {
  double complex a00 = a[0][0] - mu, a11 = a[1][1] - mu;
  double complex determinant = a00 * a11 - a[0][1] * a[1][0];
  x[0] = (-a[0][2] * a11 + a[0][1] * a[1][2]) / determinant;
  x[1] = (-a00 * a[1][2] + a[1][0] * a[0][2]) / determinant;
  x[2] = 1;
}

static void invert(double a[3][3], double inverse[3][3]) {
  double determinant = 0;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      int r = (j + 1) % 3, s = (j + 2) % 3, p = (i + 1) % 3, q = (i + 2) % 3;
      inverse[i][j] = a[r][p] * a[s][q] - a[r][q] * a[s][p]; /* cofactor, transposed */
    }
    determinant += a[0][i] * inverse[i][0];
  }
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) inverse[i][j] /= determinant;
  }
}

/* The eigenvalues of A^-1 solve x^3 - 9 x^2 + 36 x - 60 = 0 (denominator of the stability function);
 * with x = y + 3: y^3 + 9 y - 6 = 0, y = cbrt(9) - cbrt(3). */
void vini_radau_tableau_make(vini_radau_tableau *tableau) {
  double root3 = cbrt(3), root9 = cbrt(9), root6 = sqrt(6), a[3][3];
  double *c = tableau->c;
  c[0] = (4 - root6) / 10, c[1] = (4 + root6) / 10, c[2] = 1;
  inverse_matrix(c, a);
  tableau->gamma = 3 + root9 - root3;
  tableau->alpha = 3 - (root9 - root3) / 2;
  tableau->beta = sqrt(3.0) / 2 * (root9 + root3);
  double complex real[3], pair[3];
  eigenvector(a, tableau->gamma, real);
  eigenvector(a, tableau->alpha + tableau->beta * I, pair);
  for (int i = 0; i < 3; i++) {
    tableau->t[i][0] = creal(real[i]);
    tableau->t[i][1] = creal(pair[i]);
    tableau->t[i][2] = -cimag(pair[i]);
  }
  invert(tableau->t, tableau->ti);
  /* theory (R6), for the real factor gamma / h in front of B */
  tableau->e[0] = -(13 + 7 * root6) / 3;
  tableau->e[1] = (-13 + 7 * root6) / 3;
  tableau->e[2] = -1.0 / 3;
}
