/* One system serves many threads: each thread has its own sim, and gets the bits of a serial run.
 * Also run under the thread sanitizer. */
#include "test_sim_support.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, RODS = 12, VALUES = 2 * 3 * RODS + RODS };

typedef struct worker {
  vin_system *system;
  const double *p, *v;
  vin_status status;
  double end[VALUES]; /* p, v, lambda */
} worker;

/* Creates, runs, reports and destroys: all that a thread may do at the same time as others. */
static void *work(void *user) {
  worker *w = user;
  vin_options options = step_options(2e-3);
  vin_sim *sim = NULL;
  w->status = vin_sim_create_from_system(&sim, NULL, w->system, w->p, w->v, &options);
  if (w->status == VIN_OK) w->status = vin_sim_run(sim, 0.1);
  if (w->status == VIN_OK) {
    w->status = vin_sim_report(sim).status;
    vin_state_view view = vin_sim_state(sim);
    memcpy(w->end, view.p, (size_t)view.n * sizeof(double));
    memcpy(w->end + view.n, view.v, (size_t)view.n * sizeof(double));
    memcpy(w->end + 2 * view.n, view.lambda, (size_t)view.m * sizeof(double));
  }
  vin_sim_destroy(sim);
  return NULL;
}

Test(threads, sims_of_one_system_run_side_by_side) {
  static worker workers[THREADS + 1]; /* the last one is serial */
  double p[3 * RODS], v[3 * RODS];
  vin_model *model = chain_model(NULL, RODS);
  vin_system *system = NULL;
  cr_assert_eq(vin_model_compile(model, &system), VIN_OK);
  cr_assert_eq(vin_model_start(model, p, v), VIN_OK);
  vin_model_destroy(model);
  for (int k = 0; k <= THREADS; k++) workers[k] = (worker){.system = system, .p = p, .v = v};
  work(&workers[THREADS]);
  cr_assert_eq(workers[THREADS].status, VIN_OK, "%s", vin_status_name(workers[THREADS].status));

  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++)
    cr_assert_eq(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < THREADS; k++) {
    cr_assert_eq(workers[k].status, VIN_OK, "%s", vin_status_name(workers[k].status));
    cr_assert_arr_eq(workers[k].end, workers[THREADS].end, sizeof workers[k].end);
  }
  vin_system_destroy(system);
}

/* The last reference may be given up by any thread. */
static void *create_and_destroy(void *user) {
  worker *w = user;
  for (int k = 0; k < 5; k++) {
    vin_sim *sim = NULL;
    w->status = vin_sim_create_from_system(&sim, NULL, w->system, w->p, w->v, NULL);
    vin_sim_destroy(sim);
  }
  vin_system_destroy(w->system);
  return NULL;
}

Test(threads, references_are_counted_across_threads) {
  static worker workers[THREADS];
  pendulum data = sound();
  data.counting = 0;
  vin_system *system = pendulum_system(NULL, &data);
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++) {
    workers[k] = (worker){.system = vin_system_retain(system), .p = level, .v = rest};
    cr_assert_eq(pthread_create(&threads[k], NULL, create_and_destroy, &workers[k]), 0);
  }
  vin_system_destroy(system);
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < THREADS; k++) cr_assert_eq(workers[k].status, VIN_OK);
}
