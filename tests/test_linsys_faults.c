/* test_linsys_faults - memory: every allocation of ours and of SuiteSparse fails once; nothing
 * leaks. */
#include "linsys/linsys.h"
#include "test_hooks.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

/* A chain of points hanging from the ground: 3 coordinates and 1 rod each. */
enum { LINKS = 12, SIZE = 4 * LINKS, COUNT = 9 * LINKS };
typedef struct chain {
  vin_int row[COUNT], col[COUNT];
  double value[COUNT], b[2 * SIZE];
  vin_triplets pattern;
} chain;

static void chain_make(chain *c) {
  test_random random = {5};
  vin_int count = 0;
  for (vin_int i = 0; i < 3 * LINKS; i++) {
    c->row[count] = c->col[count] = i;
    c->value[count++] = 1;
  }
  for (vin_int r = 0; r < LINKS; r++)
    for (vin_int d = r > 0 ? -3 : 0; d < 3; d++) {
      c->row[count] = 3 * LINKS + r;
      c->col[count] = 3 * r + d;
      c->value[count++] = test_random_between(&random, -1, 1);
    }
  test_random_fill(&random, 2 * SIZE, c->b);
  c->pattern = (vin_triplets){count, c->row, c->col};
}

/* create, factor, solve for two columns, destroy; the first failure. Its text must say something.
 */
static vin_status whole_life(const chain *c, vin_solver solver, const vin_context *context,
                             double *x) {
  vin_linsys_options options = vin_linsys_options_default();
  options.solver = solver;
  options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
  vin_linsys *s = NULL;
  memset(x, 0, 2 * SIZE * sizeof *x);
  vin_status status = vin_linsys_create(&s, context, SIZE, c->pattern, &options);
  if (status == VIN_OK) status = vin_linsys_factor(s, c->value);
  if (status == VIN_OK) status = vin_linsys_solve(s, 2, c->b, x);
  if (status != VIN_OK) {
    cr_assert(s == NULL || strlen(vin_linsys_error(s)) > 0);
    for (vin_int i = 0; i < 2 * SIZE; i++) cr_assert_eq(x[i], 0);
  }
  vin_linsys_destroy(s);
  return status;
}

static const vin_solver solvers[] = {VIN_SOLVER_AUTO, VIN_SOLVER_LDLT, VIN_SOLVER_CHOLMOD,
                                     VIN_SOLVER_UMFPACK};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

Test(linsys_faults, our_allocator_fails_at_every_point) {
  chain c;
  chain_make(&c);
  test_hooks_install();
  double x[2 * SIZE];
  for (size_t v = 0; v < SOLVERS; v++) {
    if (!vin_solver_available(solvers[v])) continue;
    for (int64_t k = 1;; k++) {
      test_allocator allocator = {.fail_at = k};
      vin_context context = test_context(&allocator);
      vin_status status = whole_life(&c, solvers[v], &context, x);
      cr_assert_eq(allocator.live, 0, "%s, allocation %d", vin_solver_name(solvers[v]), (int)k);
      cr_assert_eq(test_hooks.live, 0);
      if (allocator.calls < k) {
        cr_assert_eq(status, VIN_OK);
        break;
      }
      cr_assert_eq(status, VIN_ERR_NO_MEMORY, "%s, allocation %d: %s", vin_solver_name(solvers[v]),
                   (int)k, vin_status_name(status));
    }
  }
}

Test(linsys_faults, suitesparse_allocator_fails_at_every_point) {
  chain c;
  chain_make(&c);
  test_hooks_install();
  double x[2 * SIZE];
  for (size_t v = 0; v < SOLVERS; v++) {
    if (!vin_solver_available(solvers[v])) continue;
    for (int64_t k = 1;; k++) {
      memset(&test_hooks, 0, sizeof test_hooks);
      test_hooks.fail_at = k;
      test_allocator allocator = {0};
      vin_context context = test_context(&allocator);
      vin_status status = whole_life(&c, solvers[v], &context, x);
      cr_assert_eq(test_hooks.live, 0, "%s, SuiteSparse allocation %d leaks",
                   vin_solver_name(solvers[v]), (int)k);
      cr_assert_eq(allocator.live, 0);
      if (test_hooks.calls < k) {
        cr_assert_eq(status, VIN_OK);
        break;
      }
      /* UMFPACK retries a failed numeric allocation with less: then all is well */
      cr_assert(status == VIN_ERR_NO_MEMORY || status == VIN_OK, "%s, allocation %d: %s",
                vin_solver_name(solvers[v]), (int)k, vin_status_name(status));
    }
  }
}

Test(linsys_faults, report_55_a_thousand_lives_leave_nothing) {
  chain c;
  chain_make(&c);
  test_hooks_install();
  double x[2 * SIZE];
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  for (int round = 0; round < 1000; round++)
    for (size_t v = 0; v < SOLVERS; v++)
      if (vin_solver_available(solvers[v]))
        cr_assert_eq(whole_life(&c, solvers[v], &context, x), VIN_OK);
  cr_assert_eq(allocator.live, 0);
  cr_assert_eq(test_hooks.live, 0);
}

Test(linsys_faults, refactoring_allocates_nothing) {
  chain c;
  chain_make(&c);
  test_hooks_install();
  double x[2 * SIZE];
  for (size_t v = 0; v < SOLVERS; v++) {
    if (!vin_solver_available(solvers[v])) continue;
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_linsys_options options = vin_linsys_options_default();
    options.solver = solvers[v];
    options.storage = VIN_STORAGE_SYMMETRIC_LOWER;
    vin_linsys *s = NULL;
    cr_assert_eq(vin_linsys_create(&s, &context, SIZE, c.pattern, &options), VIN_OK);
    int64_t created = allocator.calls, suitesparse = 0;
    for (int round = 0; round < 5; round++) {
      if (round == 1) suitesparse = test_hooks.calls; /* the first one sizes CHOLMOD's factor */
      cr_assert_eq(vin_linsys_factor(s, c.value), VIN_OK);
      cr_assert_eq(vin_linsys_solve(s, 1, c.b, x), VIN_OK);
    }
    cr_assert_eq(allocator.calls, created, "%s", vin_solver_name(solvers[v]));
    if (solvers[v] != VIN_SOLVER_UMFPACK) /* which allocates its factors anew each time */
      cr_assert_eq(test_hooks.calls, suitesparse, "%s", vin_solver_name(solvers[v]));
    cr_assert_eq(vin_linsys_solve(s, 2, c.b, x), VIN_OK);
    cr_assert_eq(allocator.calls, created + 1, "grown once for the second column");
    cr_assert_eq(vin_linsys_solve(s, 2, c.b, x), VIN_OK);
    cr_assert_eq(allocator.calls, created + 1);
    vin_linsys_destroy(s);
  }
}
