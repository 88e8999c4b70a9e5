/* test_threads_linsys - report 57: eight threads, each with its own systems, give the bits of one.
 */
#include "linsys/linsys.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS = 60, SIZE = 4 * LINKS, COUNT = 9 * LINKS, THREADS = 8, ROUNDS = 6, SOLVERS = 4 };
static const vin_solver solvers[SOLVERS] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                            VIN_SOLVER_UMFPACK};

typedef struct job {
  double x[SOLVERS][SIZE];
  int failures;
} job;

/* A chain of points with new values each round; every solver of the build, created and destroyed.
 */
static void *solve_all(void *argument) {
  job *j = argument;
  for (int v = 0; v < SOLVERS; v++) {
    if (!vin_solver_available(solvers[v])) continue;
    vin_int row[COUNT], col[COUNT], count = 0;
    double value[COUNT], b[SIZE];
    for (vin_int i = 0; i < 3 * LINKS; i++) row[count] = col[count] = i, value[count++] = 1;
    for (vin_int r = 0; r < LINKS; r++)
      for (vin_int d = r > 0 ? -3 : 0; d < 3; d++)
        row[count] = 3 * LINKS + r, col[count++] = 3 * r + d;
    vin_linsys_options options = vin_linsys_options_default();
    options.solver = solvers[v];
    options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
    vin_linsys *s = NULL;
    test_random random = {77};
    vin_triplets pattern = {count, row, col};
    j->failures += vin_linsys_create(&s, NULL, SIZE, pattern, &options) != VIN_OK;
    for (int round = 0; round < ROUNDS; round++) {
      test_random_fill(&random, count - 3 * LINKS, value + 3 * LINKS);
      test_random_fill(&random, SIZE, b);
      j->failures += vin_linsys_factor(s, value) != VIN_OK;
      j->failures += vin_linsys_solve(s, 1, b, j->x[v]) != VIN_OK;
    }
    vin_linsys_destroy(s);
  }
  return NULL;
}

Test(threads_linsys, own_systems_give_the_same_bits_as_one_thread) {
  job *alone = calloc(1, sizeof *alone), *jobs = calloc(THREADS, sizeof *jobs);
  pthread_t thread[THREADS];
  solve_all(alone);
  cr_assert_eq(alone->failures, 0);
  for (int t = 0; t < THREADS; t++)
    cr_assert_eq(pthread_create(&thread[t], NULL, solve_all, &jobs[t]), 0);
  for (int t = 0; t < THREADS; t++) {
    pthread_join(thread[t], NULL);
    cr_assert_eq(memcmp(alone, &jobs[t], sizeof *alone), 0, "thread %d", t);
  }
  free(alone), free(jobs);
}
