/* tangent_pattern - which entries F_p and F_v may have. */
#ifndef VINI_TANGENT_PATTERN_H
#define VINI_TANGENT_PATTERN_H

#include "integrate/tangent.h"

typedef struct vini_pattern_parts {
  const vin_system *system;
  bool guess_mass, guess_force; /* not declared: dense when small, else from the structure */
  vin_sparse *rows;             /* n x m: coordinates of each constraint */
  vin_sparse *neighbours;       /* n x n: both directions of the mass pattern, and the diagonal */
  vin_sparse *blocks;           /* n x n: coordinates of each block, or NULL */
} vini_pattern_parts;

/* *f (NULL on failure) := the pattern, whose first triplets are force_p_pattern and then
 * force_v_pattern. Besides those: all pairs of coordinates of a constraint row (Phi_p' lambda);
 * where M varies, all pairs that a mass couples through one coordinate; where the force's patterns
 * are not declared, the mass pattern and all pairs within a block. */
vin_status vini_tangent_pattern(vin_sparse **f, vini_object *object, const vin_system *system);

#endif
