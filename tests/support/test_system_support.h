/* test_system_support - a driven, tethered pair of points with every callback a system can have,
 * and mistakes on request. */
#ifndef TEST_SYSTEM_SUPPORT_H
#define TEST_SYSTEM_SUPPORT_H

#include "test_support.h"
#include "vincula/system.h"

typedef enum fault {
  NO_FAULT,
  JACOBIAN_SIGN,       /* d(rod)/d(y of the second point) has the wrong sign */
  JACOBIAN_MISSING,    /* that entry is not in the pattern */
  CURVATURE_FACTOR,    /* the curvature of the drive lacks the 2 of 2 n'v */
  RATE_OMITTED,        /* Phi_t of the drive is zero */
  FORCE_P_ENTRY,       /* one entry of df/dp is 1 percent off */
  FORCE_V_SIGN,        /* df/dv = +c */
  POTENTIAL_FACTOR,    /* half the potential */
  MASS_NOT_CONSTANT,   /* M depends on p */
  MASS_NOT_CONSTANT_T, /* M depends on t */
  FORCE_NOT_VELOCITY_FREE,
  NOT_QUADRATIC /* the rod's constraint is |d| - L */
} fault;

/* Two points of masses 2 and 3, attracted by the origin, with drag, a rod between them, and the
 * first one kept in the plane n(t) r = 0, n = (cos wt, sin wt, 0). Lengths are multiples of
 * `scale`. */
typedef struct pair {
  double scale;
  fault fault;
  /* for the tests of failing callbacks: this one returns `code`, or gives NaN when that is 0 */
  const char *failing;
  int code;
  int released; /* calls of release */
} pair;

enum { PAIR_N = 6, PAIR_M = 2 };
#define PAIR_TIME 0.3

vin_system_desc pair_desc(pair *data);
/* Positions and velocities of size scale; on the constraints when on_manifold is not 0. */
void pair_state(const pair *data, int on_manifold, double p[PAIR_N], double v[PAIR_N]);

#endif
