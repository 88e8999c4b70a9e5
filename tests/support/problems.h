/* problems - constrained systems with known solutions, given by callbacks, and runs over them. */
#ifndef TEST_PROBLEMS_H
#define TEST_PROBLEMS_H

#include "vincula/vincula.h"

#include <stdbool.h>

/* How a rod's constraint is written; the motion is the same, the multiplier is not. */
typedef enum test_form {
  TEST_HALVED, /* (|d|^2 - L^2) / (2 L): the multiplier is the tension */
  TEST_SQUARE, /* |d|^2 - L^2 */
  TEST_LENGTH  /* |d| - L: not quadratic */
} test_form;

typedef struct test_rod {
  int a, b; /* points; b = -1: a fixed end, at `anchor` */
  double anchor[3];
  double length;
} test_rod;

/* Points in dim dimensions joined by rods, or another system with `points` masses. Created
 * without a system, so that a test can change it; test_mechanism_build() makes the system, whose
 * user is the problem: fields that the callbacks read may be changed later on, too. */
typedef struct test_mechanism {
  vin_system *system;
  vin_int n, m;
  double *p, *v; /* start at t = 0, consistent */
  int dim, points, rods;
  double *mass; /* points */
  test_rod *rod;
  test_form form;
  double gravity[3]; /* acceleration */
  double mu;         /* attraction -mu m / |r| to the origin */
  double damping;    /* force -damping |v| v on each point; set before build */
  /* every fixed end moves along x by amplitude sin(frequency t); set before build */
  double amplitude, frequency;
  double curvature_error; /* added to every row of a: an acceleration-level inconsistency */
  bool mass_varies;       /* do not claim that M is constant; set before build */
  /* the force evaluation number fail_call (from 1) returns fail_code, or NaN when that is 0 */
  long calls, fail_call;
  int fail_code;
  int (*force)(void *, double, const double *, const double *, double *);
  int (*constraint)(void *, double, const double *, double *);
  int (*jacobian)(void *, double, const double *, double *);
  int (*constraint_rate)(void *, double, const double *, double *);
  int (*curvature)(void *, double, const double *, const double *, double *);
} test_mechanism;

/* Unit masses, everything else 0: for systems with callbacks of their own. */
test_mechanism *test_mechanism_blank(int dim, int points, int constraints);
/* Unit masses, unit rods without ends, no gravity. */
test_mechanism *test_points(int dim, int points, int rods);
void test_mechanism_build(test_mechanism *problem, const vin_context *context);
void test_mechanism_free(test_mechanism *problem);

/* The problems of tests/reference/hamiltonian. */
test_mechanism *test_planar_pendulum(void);
test_mechanism *test_spherical_pendulum(void);
test_mechanism *test_modified_pendulum(void);
test_mechanism *test_triangle(void);
/* N links of length l between masses m in a plane, released horizontal under 9.81. */
test_mechanism *test_chain(int links, double length, double mass);
/* The car axis of the IVP test set: a moving constraint. */
test_mechanism *test_car_axis(void);
/* One point and two rods of 1 m whose anchors are `distance` apart on the x axis. */
test_mechanism *test_two_rods(double distance);
/* Crank, coupler, rocker as three rods over two points; pivots at 0 and (ground, 0). The start is
 * assembled with the crank at `angle`. */
test_mechanism *test_four_bar(double crank, double coupler, double rocker, double ground,
                              double angle);
/* A pendulum of 1 m under 9.81 whose start is (sin angle, -cos angle) with the angular velocity. */
test_mechanism *test_pendulum(double angle, double angular_velocity);

/* Energy of points and rods, from the fields. */
double test_energy(const test_mechanism *problem, const double *p, const double *v);
/* Angular momentum about the origin, z component. */
double test_angular_momentum(const test_mechanism *problem, const double *p, const double *v);
/* max |Phi_c| and max |Phi_p v + Phi_t| through the callbacks. */
double test_constraint_max(const test_mechanism *problem, double t, const double *p);
double test_hidden_max(const test_mechanism *problem, double t, const double *p, const double *v);

/* States. */
vin_state test_state(const test_mechanism *problem); /* at the problem's start, lambda = 0 */
void test_state_free(vin_state *state);
void test_state_copy(const test_mechanism *problem, vin_state *to, const vin_state *from);
bool test_state_same(const test_mechanism *problem, const vin_state *a, const vin_state *b);

vin_options test_method(vin_method method, vin_projection projection);
vin_integrator *test_integrator(const test_mechanism *problem, const vin_options *options);
/* Steps until a failure; the state is the last accepted one. */
vin_status test_advance(vin_integrator *integrator, const test_mechanism *problem, vin_state *state,
                        double h, long steps);
/* From the start to t_end in `steps` steps, each of which must succeed. */
vin_state test_run(const test_mechanism *problem, const vin_options *options, double t_end,
                   long steps);

/* The row of a file below tests/reference that starts with t: `count` numbers after t. */
void test_reference(const char *file, double t, int count, double *row);

#endif
