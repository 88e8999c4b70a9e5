/* gauss - Gauss-Legendre quadrature and shifted orthonormal Legendre polynomials on [0, 1], computed. */
#ifndef VINI_GAUSS_H
#define VINI_GAUSS_H

#include "base/base.h"

/* Most nodes, and most polynomials. */
#define VINI_GAUSS_MOST 32

/* Nodes c (ascending) and weights b of the k-point rule on [0, 1]. 1 <= k <= VINI_GAUSS_MOST. */
void vini_gauss(int k, long double *c, long double *b);
/* value[j] = P_j(c) and integral[j] = int_0^c P_j, j < count, for any c; either may be NULL.
 * int_0^1 P_i P_j = delta_ij, P_j(1) = sqrt(2 j + 1). */
void vini_legendre(int count, long double c, long double *value, long double *integral);
/* x (size x size, rows of VINI_GAUSS_MOST): x_ij = int_0^1 P_i(c) int_0^c P_j, theory (L5). */
void vini_legendre_integrals(int size, double x[][VINI_GAUSS_MOST]);
/* inverse := a^-1, size x size; a must be regular. */
void vini_small_inverse(int size, double a[][VINI_GAUSS_MOST], double inverse[][VINI_GAUSS_MOST]);

#endif
