/* colour - groups of columns that share no row, so that one difference serves a whole group. */
#ifndef VINI_COLOUR_H
#define VINI_COLOUR_H

#include "base/base.h"
#include "vincula/sparse.h"

/* Group g holds the columns column[start[g] .. start[g+1]-1]. */
typedef struct vini_colouring {
  vin_int groups;
  vin_int *start;  /* groups + 1 */
  vin_int *column; /* cols */
} vini_colouring;

/* Colours the columns of a general pattern greedily (A. R. Curtis, M. J. D. Powell, J. K. Reid 1974),
 * once in the given order and once with the longest columns first, and keeps the better. Columns
 * without entries are in the first group. Never fewer groups than entries in the longest row.
 * O(sum over the rows of entries^2). Deterministic. On failure the colouring is empty. */
vin_status vini_colouring_create(vini_colouring *colouring, vini_object *object, vin_csc pattern);
void vini_colouring_destroy(vini_colouring *colouring, const vin_context *context);

#endif
