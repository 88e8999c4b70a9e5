/* ldlt_wide - the arithmetic of wide panels of L, compiled for several instruction sets. */
#ifndef VINI_LDLT_WIDE_H
#define VINI_LDLT_WIDE_H

#include "base/base.h"

enum { VINI_WIDE_COLUMNS = 4 }; /* columns of the target that are worked on together */

/* y_ij -= sum_k u_ik l_jk over `width` columns k, for the pairs of `rows` rows i and `length` columns j, i > j.
 *  u        rows x width, by columns, leading dimension ld
 *  l        four values of j after each other for each k, then the next four; filled up to four with zeros
 *  storage  y_ij stands at y[storage[j] * ld_y + storage[i]]; NULL: i itself instead of storage[i] */
typedef struct vini_wide_update {
  const double *u, *l;
  vin_int ld, rows, width, length;
  double *y;
  vin_int ld_y;
  const vin_int *storage;
} vini_wide_update;

typedef void vini_wide_kernel(const vini_wide_update *update);

/* The version for this processor's vector units, or the plain one. */
vini_wide_kernel *vini_choose_wide_kernel(bool plain);

#endif
