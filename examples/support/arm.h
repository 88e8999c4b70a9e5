/* arm.h - a planar arm of three uniform links whose tip is pinned to the ground at (2, 0), under
 * gravity: stands for a user's own code in joint_space_kkt.c. Coordinates are the angles q of the
 * links against the x axis, w = q'. SI units. */
#ifndef VINCULA_EXAMPLES_ARM_H
#define VINCULA_EXAMPLES_ARM_H

#include <vincula/vincula.h>

enum { ARM_LINKS = 3, ARM_MASS_ENTRIES = 6, ARM_LOOP_ENTRIES = 6, ARM_REFERENCE = 19 };

/* Where the entries of M (lower triangle) and of J stand; the values below come in this order. */
extern const vin_triplets arm_mass_pattern, arm_loop_pattern;

void arm_mass(const double *q, double *values);
void arm_loop_jacobian(const double *q, double *values);
/* The right-hand side f(q, w): gravity and centrifugal terms. */
void arm_force(const double *q, const double *w, double *f);
/* Phi(q), the distance of the tip from its pin (2 numbers), and its rate J w. */
void arm_loop(const double *q, const double *w, double *phi, double *rate);
/* a = (dJ/dt) w. */
void arm_loop_curvature(const double *q, const double *w, double *a);
double arm_energy(const double *q, const double *w);

/* At rest, the elbow at (0.6, 0.8). */
void arm_start(double *q, double *w);
/* Max-norm of the error in angles and rates against a row of tests/reference/mechanisms/four_bar.
 */
double arm_error(const double *q, const double *w, const double *row);

#endif
