/* caraxis.h - the callbacks of the car axis, for custom_caraxis.c: stands for a user's own
 * equations. */
#ifndef VINCULA_EXAMPLES_CARAXIS_H
#define VINCULA_EXAMPLES_CARAXIS_H

#include <vincula/vincula.h>

/* What the callbacks get as `user`: load on each wheel, rest length of the springs, height and
 * frequency of the bumps. */
typedef struct caraxis {
  double mass, rest, bump, frequency;
} caraxis;

/* Patterns, callbacks and flags. data must live as long as the system that is created from it. */
vin_system_desc caraxis_describe(caraxis *data);

#endif
