/* test_sim_support - simulations that several test programs start from. */
#ifndef TEST_SIM_SUPPORT_H
#define TEST_SIM_SUPPORT_H

#include "vincula/vincula.h"

#include <stdbool.h>

/* A planar pendulum of 1 m and 1 kg by callbacks, whose force can fail on request. */
typedef struct pendulum {
  long calls;
  long fail_call;   /* the force evaluation with this number fails once; 0: none */
  double fail_time; /* after this time each one fails */
  int code;         /* return value of the failure; 0: NaN instead */
  int no_potential; /* set before pendulum_system() */
  /* what the potential returns after potential_time */
  int potential_code;
  double potential_time;
  int counting; /* 0: calls are not counted, so that threads may share it; set by sound() */
} pendulum;

/* One that does not fail. */
pendulum sound(void);

extern const double level[2], rest[2]; /* level and at rest */

/* `data` is used by every evaluation and must outlive the system. */
vin_system *pendulum_system(const vin_context *context, pendulum *data);
/* A simulation of it, level and at rest. */
vin_sim *pendulum_sim(pendulum *data, const vin_options *options);
vin_options step_options(double step);
/* A chain of rods of 1 m and 1 kg in space, straight and pulled aside, in the plane y = 0. */
vin_model *chain_model(const vin_context *context, int rods);

/* The pendulum's state, for comparison bit for bit. */
typedef struct snapshot {
  double t, p[2], v[2], lambda[1];
} snapshot;
snapshot take(const vin_sim *sim);
bool same(snapshot a, snapshot b);

#endif
