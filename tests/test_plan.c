/* test_plan - the elimination order of saddle-point systems (kkt/plan.h), read off vin_kkt
 * objects. */
#include "kkt/kkt.h"
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check_permutation(const vin_kkt *kkt) {
  vin_int size = kkt->n + kkt->m;
  unsigned char *seen = calloc((size_t)size, 1);
  for (vin_int k = 0; k < size; k++) {
    vin_int unknown = kkt->plan.order[k];
    cr_assert(unknown >= 0 && unknown < size && !seen[unknown], "order[%d] = %d", (int)k,
              (int)unknown);
    seen[unknown] = 1;
  }
  free(seen);
}

/* Multipliers that stand before one of their coordinates. */
static vin_int early_multipliers(const vin_kkt *kkt, const problem *p) {
  vin_int size = kkt->n + kkt->m, early = 0;
  vin_int *place = malloc((size_t)size * sizeof *place);
  unsigned char *counted = calloc((size_t)size, 1);
  for (vin_int k = 0; k < size; k++) place[kkt->plan.order[k]] = k;
  for (vin_int e = 0; e < p->j.count; e++) {
    vin_int multiplier = kkt->n + p->j.row[e];
    if (place[multiplier] > place[p->j.col[e]] || counted[multiplier]) continue;
    counted[multiplier] = 1;
    early++;
  }
  free(place), free(counted);
  return early;
}

/* Each unknown once; without hubs each multiplier after ALL its coordinates, which is what makes
 * the LDL' exist: for all shapes and for every kind of blocks, sensible or not. */
Test(plan, schur_property) {
  test_random random = {1};
  for (int k = 0; k < 12 * SHAPE_COUNT; k++) {
    mechanism what = {
        .shape = (shape)(k % SHAPE_COUNT), .nodes = 49, .massive = k & 4, .compliance = k & 8};
    problem p = problem_of(what, &random);
    vin_int node[147], rod[200];
    int kind = k / 16;
    for (vin_int i = 0; i < p.n; i++) node[i] = kind == 1 ? i / 3 : test_random_below(&random, 40);
    for (vin_int i = 0; i < p.m; i++) rod[i] = kind == 1 ? i : test_random_below(&random, 40);
    vin_kkt_options options = options_of(&p, VIN_SOLVER_LDLT);
    options.coordinate_block = kind ? node : NULL;
    options.constraint_block = kind ? rod : NULL;
    vin_kkt *kkt = kkt_factored(&p, &options);
    check_permutation(kkt);
    cr_expect_eq(kkt->plan.hubs, 0);
    cr_expect_eq(early_multipliers(kkt, &p), 0, "case %d", k);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* Coordinates without constraints, constraints without coordinates, and a system of nothing
 * else. */
Test(plan, isolated_unknowns) {
  problem p = problem_make(7, 3);
  for (vin_int i = 0; i < 7; i++) entries_add(&p.h, i, i, 1);
  entries_add(&p.h, 6, 0, 0.5); /* a free coordinate coupled with a constrained one */
  entries_add(&p.j, 1, 0, 1);
  vin_kkt *kkt = kkt_factored(&p, NULL);
  check_permutation(kkt);
  cr_expect_eq(early_multipliers(kkt, &p), 0);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* One body of `coordinates` with `tethers` rods, each to a node of its own, and `inner` constraints
 * between its own coordinates (a rigid body's). */
static problem star(vin_int coordinates, vin_int tethers, vin_int inner, test_random *random) {
  problem p = problem_make(coordinates + 3 * tethers, tethers + inner);
  for (vin_int i = 0; i < p.n; i++) entries_add(&p.h, i, i, i < coordinates ? 1000 : 1);
  for (vin_int k = 0; k < tethers; k++) {
    for (vin_int i = 0; i < coordinates; i++)
      entries_add(&p.j, k, i, test_random_between(random, 0.1, 1));
    for (vin_int i = 0; i < 3; i++)
      entries_add(&p.j, k, coordinates + 3 * k + i, test_random_between(random, -1, -0.1));
  }
  for (vin_int k = 0; k < inner; k++)
    for (vin_int i = 0; i < coordinates; i++)
      entries_add(&p.j, tethers + k, i, test_random_between(random, -1, 1));
  test_random_fill(random, p.n, p.f);
  test_random_fill(random, p.m, p.g);
  return p;
}

/* solver_notes, trap 6: 2000 tethers on one body make the multipliers' part dense (2.0 M entries)
 * unless the body comes last (26 k entries in K). Also when it is rigid, with inner constraints. */
Test(plan, hub_with_2000_tethers) {
  test_random random = {2};
  for (int rigid = 0; rigid < 2; rigid++) {
    problem p = rigid ? star(12, 2000, 6, &random) : star(3, 2000, 0, &random);
    vin_kkt_options options = options_of(&p, VIN_SOLVER_LDLT);
    vin_kkt *kkt = kkt_factored(&p, &options);
    check_permutation(kkt);
    cr_expect_eq(kkt->plan.hubs, 1);
    /* a tether: 3 + its hub's coordinates in K, as many again at most as fill */
    int64_t limit = rigid ? 80000 : 40000;
    cr_expect(kkt->plan.nnz >= 12000 && kkt->plan.nnz <= limit, "%lld entries",
              (long long)kkt->plan.nnz);
    double *z = malloc((size_t)(p.n + p.m) * sizeof *z);
    double *other = malloc((size_t)(p.n + p.m) * sizeof *z);
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_eq(vin_kkt_get_info(kkt).negative_pivots, p.m);
    vin_kkt_destroy(kkt);
    options.solver = VIN_SOLVER_UMFPACK;
    if (vin_solver_available(options.solver)) {
      kkt = kkt_factored(&p, &options);
      cr_assert_eq(kkt_solve(kkt, &p, other), VIN_OK, "%s", vin_kkt_error(kkt));
      /* condition below 1e5 */
      cr_expect_leq(relative_difference(p.n + p.m, z, other), 1e-11);
      vin_kkt_destroy(kkt);
    }
    free(z), free(other);
    problem_free(&p);
  }
}

/* x, y, z of a body and its rotation, which H couples, are one block where all of its constraints are on both: then the
 * body on tethers is a tree, and a tether costs the same whatever their number. As two blocks they close a cycle with
 * each pair of tethers: 57 entries and 3955 operations a node with 100 of them. */
Test(plan, body_on_tethers_is_one_block) {
  test_random random = {11};
  for (vin_int tethers = 10; tethers <= 100; tethers += 45) {
    problem p = star(6, tethers, 0, &random);
    entries_add(&p.h, 4, 3, 10), entries_add(&p.h, 5, 3, 20), entries_add(&p.h, 5, 4, 30);
    vin_kkt_options options = options_of(&p, VIN_SOLVER_LDLT);
    vin_kkt *kkt = kkt_factored(&p, &options);
    cr_expect_eq(kkt->plan.coordinate_blocks, tethers + 1);
    cr_expect_eq(kkt->plan.hubs, 0);
    vin_kkt_info info = vin_kkt_get_info(kkt);
    /* 3 of the node in the tether, 6 of the body in the tether, and the body's own 15 */
    cr_expect_eq(info.nnz_factor, 9 * tethers + 15, "%lld entries", (long long)info.nnz_factor);
    cr_expect_leq(info.flops, 80.0 * tethers);
    double *z = malloc((size_t)(p.n + p.m) * sizeof *z), *expected = dense_solution(&p);
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_leq(relative_difference(p.n + p.m, z, expected), 1e-11);
    cr_expect_eq(vin_kkt_get_info(kkt).negative_pivots, p.m);
    cr_expect_eq(kkt->stats.fallbacks, 0);
    free(z), free(expected);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* A tether to a node that other constraints hold is independent through the hub alone. Before the
 * hub it has no pivot, which must not be taken for a redundant constraint. */
Test(plan, hub_that_a_constraint_needs) {
  test_random random = {3};
  problem p = star(6, 120, 0, &random);
  for (vin_int i = 0; i < 3; i++) { /* node 7 is held */
    problem_duplicate(&p, 0, 0);
    p.j.count -= 9; /* the copied entries */
    entries_add(&p.j, p.m - 1, 6 + 3 * 7 + i, 1);
  }
  double *expected = dense_solution(&p);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    double *z = malloc((size_t)(p.n + p.m) * sizeof *z);
    vin_status status = kkt_factor(kkt, &p);
    cr_expect_eq(kkt->plan.hubs, 1);
    cr_expect_eq(kkt->dropped_count, 0, "%s", vin_solver_name(solver));
    if (status == VIN_OK) status = kkt_solve(kkt, &p, z);
    cr_expect_eq(status, VIN_OK, "%s: %s", vin_solver_name(solver), vin_kkt_error(kkt));
    cr_expect_eq(kkt->stats.fallbacks, 0);
    if (status == VIN_OK)
      cr_expect_leq(relative_difference(p.n + p.m, z, expected), 1e-11, "%s",
                    vin_solver_name(solver));
    free(z);
    vin_kkt_destroy(kkt);
  }
  free(expected);
  problem_free(&p);
}

/* Every allocation on the way to an order with hubs. */
Test(plan, hub_without_memory) {
  test_random random = {6};
  problem p = star(6, 120, 2, &random);
  vin_kkt_options options = options_of(&p, VIN_SOLVER_LDLT);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_kkt *kkt = NULL;
    vin_status status = vin_kkt_create(&kkt, &context, p.n, p.m, entries_pattern(&p.h),
                                       entries_pattern(&p.j), &options);
    bool asked = allocator.calls >= k;
    cr_expect_eq(status, asked ? VIN_ERR_NO_MEMORY : VIN_OK, "%s", vin_kkt_error(kkt));
    if (asked && kkt) cr_expect(strstr(vin_kkt_error(kkt), "memory"), "%s", vin_kkt_error(kkt));
    vin_kkt_destroy(kkt);
    cr_expect_eq(allocator.live, 0);
    if (!asked) break;
  }
  problem_free(&p);
}

static double seconds_to_analyse(mechanism what, vin_solver solver, vini_plan *plan) {
  test_random random = {4};
  problem p = problem_of(what, &random);
  vin_kkt_options options = options_of(&p, solver);
  clock_t begin = clock();
  vin_kkt *kkt = kkt_created(&p, &options);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  *plan = kkt->plan;
  vin_kkt_destroy(kkt);
  problem_free(&p);
  return seconds;
}

/* Ten times the links, about ten times the time (30 allows for caches and a busy machine; a
 * quadratic step would give 100), and L keeps its few entries per link. */
Test(plan, long_chains_take_linear_time) {
  vini_plan small, large;
  double ten = seconds_to_analyse((mechanism){.nodes = 10000}, VIN_SOLVER_LDLT, &small);
  double hundred = seconds_to_analyse((mechanism){.nodes = 100000}, VIN_SOLVER_LDLT, &large);
  cr_expect_lt(hundred, 30 * ten + 0.05, "%g s, %g s", ten, hundred);
  cr_expect_lt((double)large.nnz, 7.01 * 100000, "6 for J, 1 to the next rod: %lld",
               (long long)large.nnz);
  cr_expect_lt(large.flops, 10.5 * small.flops);
  cr_expect_lt(large.flops, 150 * 100000, "%g", large.flops);
}

/* A net of 100 x 100 fills in: METIS and AMD give 5.2e5 to 5.6e5 entries and 2.3e7
 * flops here; the limit leaves room for other versions of them. */
Test(plan, large_net) {
  vini_plan plan;
  seconds_to_analyse((mechanism){.shape = NET, .nodes = 10000}, VIN_SOLVER_LDLT, &plan);
  cr_expect_lt((double)plan.nnz, 8e5, "%s: %lld", plan.method, (long long)plan.nnz);
  cr_expect_lt(plan.flops, 5e7, "%s: %g", plan.method, plan.flops);
}

/* Same input, same order, whatever was analysed in between. */
Test(plan, deterministic) {
  test_random random = {5};
  problem p = problem_of((mechanism){.shape = NET, .nodes = 2500}, &random);
  problem q = problem_of((mechanism){.shape = NET, .nodes = 900}, &random);
  vin_kkt *first = kkt_created(&p, NULL), *between = kkt_created(&q, NULL);
  srand(77); /* METIS draws from rand() */
  vin_kkt *second = kkt_created(&p, NULL);
  cr_expect_eq(memcmp(first->plan.order, second->plan.order,
                      (size_t)(p.n + p.m) * sizeof *first->plan.order),
               0);
  cr_expect_str_eq(first->plan.method, second->plan.method);
  vin_kkt_destroy(first);
  vin_kkt_destroy(between);
  vin_kkt_destroy(second);
  problem_free(&p);
  problem_free(&q);
}
