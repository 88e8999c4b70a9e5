/* test_kkt - solutions against dense long double references, reuse and its counters. Redundant
 * constraints: test_kkt_redundancy.c; bad input and failing memory: test_kkt_errors.c. */
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random rods give condition numbers up to 1e5, and masses up to 10: 1e5 times rounding. */
#define SOLUTION_TOLERANCE 1e-11

/* Every solver, all shapes, with and without coupling masses and compliance: the solution is that
 * of the dense matrix, and exactly m pivots are negative (H positive definite, J of full rank). */
Test(kkt, solves_random_mechanisms) {
  test_random random = {1};
  EACH_SOLVER(solver) {
    for (int k = 0; k < 4 * SHAPE_COUNT; k++) {
      mechanism what = {.shape = (shape)(k % SHAPE_COUNT),
                        .nodes = 16,
                        .massive = k & 4,
                        .compliance = k & 8,
                        .mass_ratio = 10};
      problem p = problem_of(what, &random);
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_factored(&p, &options);
      double *z = malloc((size_t)(p.n + p.m) * sizeof *z), *expected = dense_solution(&p);
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
      double error = relative_difference(p.n + p.m, z, expected);
      cr_expect_leq(error, SOLUTION_TOLERANCE, "%s, case %d: %g", vin_solver_name(solver), k,
                    error);
      vin_kkt_info info = vin_kkt_get_info(kkt);
      cr_expect_eq(info.negative_pivots, info.solver == VIN_SOLVER_UMFPACK ? -1 : p.m);
      cr_expect_eq(info.dropped, 0);
      cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, 0, "%s, case %d", vin_solver_name(solver), k);
      free(z);
      free(expected);
      vin_kkt_destroy(kkt);
      problem_free(&p);
    }
  }
}

/* From one coordinate without constraints to as many constraints as coordinates (then J alone fixes
 * x, whatever H is). */
Test(kkt, smallest_systems) {
  EACH_SOLVER(solver) {
    problem p = problem_make(1, 0);
    entries_add(&p.h, 0, 0, 4);
    p.f[0] = 2;
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    double x = 0, z[2];
    cr_assert_eq(vin_kkt_solve(kkt, 1, p.f, NULL, &x, NULL), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_eq(x, 0.5);
    vin_kkt_destroy(kkt);
    problem_free(&p);

    p = problem_make(1, 1);
    entries_add(&p.h, 0, 0, 4);
    entries_add(&p.j, 0, 0, 2);
    p.f[0] = 2;
    p.g[0] = 6;
    kkt = kkt_factored(&p, &options);
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_float_eq(z[0], 3, 1e-15); /* UMFPACK scales its rows, which rounds */
    cr_expect_float_eq(z[1], -5, 1e-14);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* Without constraints it is an ordinary linear system with the coupled mass matrix. */
Test(kkt, without_constraints) {
  test_random random = {3};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 9, .massive = true}, &random);
  p.j.count = p.m = 0;
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    double z[27], *expected = dense_solution(&p);
    cr_assert_eq(vin_kkt_solve(kkt, 1, p.f, NULL, z, NULL), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_leq(relative_difference(p.n, z, expected), 1e-14); /* condition 3 */
    free(expected);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* Field report 50: one symbolic analysis however often the values change; one numeric
 * factorisation per call; right-hand sides are counted, refinement sweeps apart. */
Test(kkt, counts_reuse) {
  test_random random = {5};
  problem p = problem_of((mechanism){.shape = LOOP, .nodes = 12}, &random);
  double f[72], g[24], x[72], lambda[24];
  test_random_fill(&random, 72, f);
  test_random_fill(&random, 24, g);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    for (int k = 0; k < 1000; k++) {
      for (vin_int e = 0; e < p.h.count; e++) p.h.value[e] = 1 + 0.5 * sin(k + e);
      cr_assert_eq(vin_kkt_factor(kkt, p.h.value, k ? NULL : p.j.value, NULL), VIN_OK, "%s",
                   vin_kkt_error(kkt));
    }
    cr_assert_eq(vin_kkt_solve(kkt, 1, f, g, x, lambda), VIN_OK);
    cr_assert_eq(vin_kkt_solve(kkt, 2, f, g, x, lambda), VIN_OK);
    vin_solver_stats stats = vin_kkt_get_stats(kkt);
    cr_expect_eq(stats.symbolic, 1, "%s", vin_solver_name(solver));
    cr_expect_eq(stats.numeric, 1000, "%s", vin_solver_name(solver));
    cr_expect_eq(stats.solves, 3, "%s: %lld", vin_solver_name(solver), (long long)stats.solves);
    cr_expect_eq(stats.fallbacks, 0);
    cr_expect_eq(stats.dropped, 0);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* A tolerance that no solution meets makes the solver use all sweeps, then refuse: the residual is
 * that of the true matrix, and x is left alone. */
Test(kkt, refines_up_to_its_limit) {
  test_random random = {7};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 12, .mass_ratio = 1e4}, &random);
  EACH_SOLVER(solver) {
    if (solver == VIN_SOLVER_AUTO) continue; /* would ask UMFPACK next */
    vin_kkt_options options = options_of(&p, solver);
    options.force_tolerance = options.constraint_tolerance = 0;
    options.max_refinements = 4;
    vin_kkt *kkt = kkt_factored(&p, &options);
    double z[48], before[48];
    for (int i = 0; i < 48; i++) z[i] = before[i] = i;
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_SINGULAR, "%s", vin_solver_name(solver));
    cr_expect_eq(memcmp(z, before, sizeof z), 0);
    cr_expect(strstr(vin_kkt_error(kkt), "after 4 refinements"), "%s", vin_kkt_error(kkt));
    vin_solver_stats stats = vin_kkt_get_stats(kkt);
    cr_expect_eq(stats.refinements, 4);
    cr_expect_eq(stats.solves, 0, "a refused right-hand side was not solved");
    vin_kkt_info info = vin_kkt_get_info(kkt);
    cr_expect_leq(info.force_residual, 1e-14); /* refined to rounding, which is not zero */
    cr_expect_leq(info.constraint_residual, 1e-14);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* x = f and lambda = g are allowed, and several right-hand sides give what each gives alone, but
 * for sums that a compiler may order differently: 1e-13 of the largest entry. */
Test(kkt, in_place_and_many_at_once) {
  enum { COUNT = 7 };
  test_random random = {11};
  problem p = problem_of((mechanism){.shape = NET, .nodes = 16, .massive = true}, &random);
  size_t n = (size_t)p.n, m = (size_t)p.m;
  double *f = malloc(COUNT * n * sizeof *f), *g = malloc(COUNT * m * sizeof *g);
  double *x = malloc(COUNT * n * sizeof *x), *lambda = malloc(COUNT * m * sizeof *lambda);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    test_random_fill(&random, COUNT * p.n, f);
    test_random_fill(&random, COUNT * p.m, g);
    for (size_t k = 0; k < COUNT; k++)
      cr_assert_eq(vin_kkt_solve(kkt, 1, f + k * n, g + k * m, x + k * n, lambda + k * m), VIN_OK);
    cr_assert_eq(vin_kkt_solve(kkt, COUNT, f, g, f, g), VIN_OK);
    cr_expect_leq(relative_difference(COUNT * p.n, f, x), 1e-13);
    cr_expect_leq(relative_difference(COUNT * p.m, g, lambda), 1e-13);
    cr_expect_eq(vin_kkt_solve(kkt, 0, NULL, NULL, NULL, NULL), VIN_OK, "nothing to do");
    vin_kkt_destroy(kkt);
  }
  free(f), free(g), free(x), free(lambda);
  problem_free(&p);
}

/* NULL keeps the values of the last call, part by part: the result is bit for bit that of handing
 * all over again. */
Test(kkt, null_keeps_values) {
  test_random random = {13};
  problem p = problem_of((mechanism){.shape = TREE, .nodes = 10, .compliance = true}, &random);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kept = kkt_factored(&p, &options), *given = kkt_created(&p, &options);
    for (int part = 0; part < 4; part++) {
      double *values = part == 0 ? p.h.value : part == 1 ? p.j.value : part == 2 ? p.c.value : NULL;
      if (values) values[0] *= 1.25;
      double a[40], b[40];
      cr_assert_eq(vin_kkt_factor(kept, part == 0 ? values : NULL, part == 1 ? values : NULL,
                                  part == 2 ? values : NULL),
                   VIN_OK, "%s", vin_kkt_error(kept));
      cr_assert_eq(kkt_factor(given, &p), VIN_OK);
      cr_assert_eq(kkt_solve(kept, &p, a), VIN_OK);
      cr_assert_eq(kkt_solve(given, &p, b), VIN_OK);
      cr_expect_eq(memcmp(a, b, sizeof a), 0, "%s, part %d", vin_solver_name(solver), part);
    }
    vin_kkt_destroy(kept);
    vin_kkt_destroy(given);
  }
  problem_free(&p);
}

/* Entries at the same place add, in H, J and C, also after a second set of values. */
Test(kkt, duplicates_add) {
  EACH_SOLVER(solver) {
    problem p = problem_make(2, 1);
    for (vin_int k = 0; k < 2; k++) {
      entries_add(&p.h, 0, 0, 1);
      entries_add(&p.h, 1, 1, 2);
      entries_add(&p.j, 0, 1, 0.5);
      entries_add(&p.c, 0, 0, 1);
    }
    p.f[0] = 2, p.f[1] = 4, p.g[0] = 3; /* 2a = 2; 4b + l = 4; b - 2l = 3  ->  b = 11/9 */
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    double z[3];
    for (int round = 0; round < 2; round++) {
      cr_assert_eq(kkt_factor(kkt, &p), VIN_OK);
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
      cr_expect_float_eq(z[0], 1, 1e-15);
      cr_expect_float_eq(z[1], 11.0 / 9, 1e-15);
      cr_expect_float_eq(z[2], -8.0 / 9, 1e-15);
    }
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* The order of the triplets is the user's business: shuffled and with a declared diagonal left out
 * (massless node 0 that compliance-free rods hold would be singular, so it gets its mass as an
 * off-diagonal pair here), the solution stays. */
Test(kkt, any_triplet_order) {
  test_random random = {17};
  problem p = problem_of((mechanism){.shape = LOOP, .nodes = 8, .massive = true}, &random);
  double *expected = dense_solution(&p), z[32];
  for (vin_int k = p.j.count - 1; k > 0; k--) {
    vin_int other = test_random_below(&random, k + 1), row = p.j.row[k], col = p.j.col[k];
    double value = p.j.value[k];
    p.j.row[k] = p.j.row[other], p.j.col[k] = p.j.col[other], p.j.value[k] = p.j.value[other];
    p.j.row[other] = row, p.j.col[other] = col, p.j.value[other] = value;
  }
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK);
    cr_expect_leq(relative_difference(32, z, expected), SOLUTION_TOLERANCE);
    vin_kkt_destroy(kkt);
  }
  free(expected);
  problem_free(&p);
}

/* Blocks are hints: given as nodes and rods, as one block of everything, or found, they change the
 * order and nothing else. */
Test(kkt, blocks_do_not_change_the_solution) {
  test_random random = {19};
  problem p = problem_of((mechanism){.shape = NET, .nodes = 25, .massive = true}, &random);
  double *expected = dense_solution(&p), *z = malloc((size_t)(p.n + p.m) * sizeof *z);
  vin_int *node = malloc((size_t)p.n * sizeof *node), *rod = malloc((size_t)p.m * sizeof *rod);
  for (int kind = 0; kind < 4; kind++) {
    /* numbers need not be small, dense or ascending */
    for (vin_int i = 0; i < p.n; i++) node[i] = kind == 1 ? 7 - 1000 * (i / 3) : kind == 2 ? 5 : i;
    for (vin_int i = 0; i < p.m; i++) rod[i] = kind == 1 ? i * 31 % 1009 : kind == 2 ? -5 : i;
    EACH_SOLVER(solver) {
      vin_kkt_options options = options_of(&p, solver);
      options.coordinate_block = kind ? node : NULL;
      options.constraint_block = kind ? rod : NULL;
      vin_kkt *kkt = kkt_factored(&p, &options);
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
      cr_expect_leq(relative_difference(p.n + p.m, z, expected), SOLUTION_TOLERANCE);
      cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, 0);
      vin_kkt_destroy(kkt);
    }
  }
  free(node), free(rod), free(z), free(expected);
  problem_free(&p);
}

/* A user exports the system of a failing step and reads it elsewhere: the file holds the assembled
 * lower triangle, digit for digit. */
Test(kkt, write_round_trip) {
  test_random random = {23};
  problem p = problem_of(
      (mechanism){.shape = LOOP, .nodes = 5, .massive = true, .compliance = true}, &random);
  vin_kkt *kkt = kkt_factored(&p, NULL);
  char path[256];
  test_scratch_path(path, sizeof path, "kkt.mtx");
  cr_assert_eq(vin_kkt_write(kkt, path), VIN_OK, "%s", vin_kkt_error(kkt));
  vin_sparse *read = NULL;
  cr_assert_eq(vin_matrix_market_read(&read, NULL, path), VIN_OK, "%s", vin_sparse_error(read));
  remove(path);
  vin_csc view = vin_sparse_view(read);
  cr_assert_eq(view.rows, p.n + p.m);
  cr_assert_eq(view.storage, VIN_STORAGE_SYMMETRIC_LOWER);
  size_t size = (size_t)(p.n + p.m) * (size_t)(p.n + p.m);
  double *expected = dense_matrix(&p), *a = malloc(size * sizeof *a);
  test_dense_from_csc(view, a);
  cr_expect_eq(memcmp(a, expected, size * sizeof *a), 0);
  cr_expect_eq(vin_kkt_write(kkt, "/nowhere/kkt.mtx"), VIN_ERR_IO);
  cr_expect(strstr(vin_kkt_error(kkt), "/nowhere/kkt.mtx"), "%s", vin_kkt_error(kkt));
  free(a), free(expected);
  vin_sparse_destroy(read);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* Numbers that a person and the benchmarks read. */
Test(kkt, describes_itself) {
  test_random random = {29};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 100}, &random);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    const char *text = vin_kkt_describe(kkt);
    cr_expect(strstr(text, "300 coordinates (100 blocks) and 100 constraints (100 blocks)"), "%s",
              text);
    vin_solver used = solver == VIN_SOLVER_AUTO ? VIN_SOLVER_LDLT : solver;
    cr_expect(strstr(text, vin_solver_name(used)), "%s", text);
    vin_kkt_info before = vin_kkt_get_info(kkt);
    cr_expect_eq(before.solver, used);
    cr_expect_gt(before.nnz_factor, 0, "predicted");
    cr_expect_eq(before.negative_pivots, -1, "nothing is known before factor()");
    cr_assert_eq(kkt_factor(kkt, &p), VIN_OK);
    vin_kkt_info after = vin_kkt_get_info(kkt);
    /* a rod has six entries, its multiplier one to the next rod; UMFPACK counts L and U and has its
     * own order */
    vin_int limit = (used == VIN_SOLVER_UMFPACK ? 40 : 7) * p.m;
    cr_expect_leq(after.nnz_factor, limit, "%s: %lld", vin_solver_name(solver),
                  (long long)after.nnz_factor);
    cr_expect_gt(after.bytes, 0);
    cr_expect_eq(after.rcond > 0, used == VIN_SOLVER_UMFPACK);
    cr_expect_eq(after.min_pivot_ratio > 0, used != VIN_SOLVER_UMFPACK);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}
