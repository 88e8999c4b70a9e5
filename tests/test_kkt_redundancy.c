/* test_kkt_redundancy - dependent and contradictory constraints; nearly dependent ones and
 * extreme masses: test_kkt_hard.c. Numbers in names: reports of users. */
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void rod_name(void *user, vin_int row, char *text, size_t size) {
  (void)user;
  snprintf(text, size, "rod '%d'", (int)row);
}

static bool contains(vin_int count, const vin_int *rows, vin_int row) {
  for (vin_int k = 0; k < count; k++)
    if (rows[k] == row) return true;
  return false;
}

/* Factorises, expects `dropped` rows fewer, and compares x with the reference that leaves out the
 * same rows; x must equal what the system without duplicates gives. unique: its x. */
static void check_dropped(const problem *p, vin_solver solver, vin_int dropped,
                          const double *unique) {
  vin_kkt_options options = options_of(p, solver);
  vin_kkt *kkt = kkt_factored(p, &options);
  const vin_int *rows;
  vin_int count = vin_kkt_dropped(kkt, &rows);
  cr_assert_eq(count, dropped, "%s: %d dropped, not %d", vin_solver_name(solver), (int)count,
               (int)dropped);
  for (vin_int k = 1; k < count; k++) cr_expect_lt(rows[k - 1], rows[k]);
  vin_kkt_info info = vin_kkt_get_info(kkt);
  cr_expect_eq(info.dropped, dropped);
  if (info.solver != VIN_SOLVER_UMFPACK)
    cr_expect_eq(info.negative_pivots, p->m - dropped, "%s: %d negative pivots",
                 vin_solver_name(solver), (int)info.negative_pivots);
  cr_expect_eq(vin_kkt_get_stats(kkt).dropped, 1);
  vin_int size = p->n + p->m;
  double *z = malloc((size_t)size * sizeof *z);
  double *expected = dense_solution_without(p, count, rows);
  cr_assert_eq(kkt_solve(kkt, p, z), VIN_OK, "%s: %s", vin_solver_name(solver), vin_kkt_error(kkt));
  /* the tolerance of test_kkt.c */
  cr_expect_leq(relative_difference(size, z, expected), 1e-11, "%s", vin_solver_name(solver));
  cr_expect_leq(relative_difference(p->n, z, unique), 1e-11, "%s", vin_solver_name(solver));
  for (vin_int k = 0; k < count; k++) cr_expect_eq(z[p->n + rows[k]], 0);
  free(z), free(expected);
  vin_kkt_destroy(kkt);
}

/* One row twice, three times, and scaled: x is that of the system without the copies, one
 * multiplier of each set carries the load. */
Test(redundancy, duplicated_and_triplicated_rows) {
  test_random random = {1};
  for (int kind = 0; kind < SHAPE_COUNT; kind++) {
    problem p = problem_of(
        (mechanism){.shape = (shape)kind, .nodes = 9, .massive = true, .mass_ratio = 100}, &random);
    double *unique = dense_solution(&p);
    problem_duplicate(&p, 3, 1);
    EACH_SOLVER(solver) check_dropped(&p, solver, 1, unique);
    problem_duplicate(&p, 3, 1);
    problem_duplicate(&p, 5, -40);
    EACH_SOLVER(solver) check_dropped(&p, solver, 3, unique);
    free(unique);
    problem_free(&p);
  }
}

/* A hundred rods of a net entered twice. */
Test(redundancy, hundred_duplicated_rods) {
  test_random random = {2};
  problem p = problem_of((mechanism){.shape = NET, .nodes = 64}, &random);
  double *unique = dense_solution(&p);
  for (vin_int k = 0; k < 100; k++) problem_duplicate(&p, k, 1);
  EACH_SOLVER(solver) check_dropped(&p, solver, 100, unique);
  free(unique);
  problem_free(&p);
}

/* One row that is a combination of many: a closed loop of relative-position constraints. Whichever
 * is dropped, x is the same. */
Test(redundancy, combination_of_all_rows) {
  enum { N = 20 };
  test_random random = {3};
  problem p = problem_make(N, N - 1);
  for (vin_int i = 0; i < N; i++) entries_add(&p.h, i, i, test_random_between(&random, 1, 5));
  for (vin_int i = 0; i + 1 < N; i++) {
    entries_add(&p.j, i, i, -1);
    entries_add(&p.j, i, i + 1, 1);
    p.g[i] = test_random_between(&random, -1, 1);
  }
  test_random_fill(&random, N, p.f);
  double *unique = dense_solution(&p), sum = 0;
  for (vin_int i = 0; i + 1 < N; i++) sum -= p.g[i];
  problem_duplicate(&p, 0, 0); /* makes room; its entries are zero */
  entries_add(&p.j, N - 1, N - 1, -1);
  entries_add(&p.j, N - 1, 0, 1);
  p.g[N - 1] = sum;
  EACH_SOLVER(solver) check_dropped(&p, solver, 1, unique);
  free(unique);
  problem_free(&p);
}

/* 1: a planar four-bar linkage of three bodies and four revolute joints, each of five rows in
 * space. Coordinates of a body: (x, y, z) and three small rotations (a, b, c); rows of a joint at
 * r: the three relative displacements and the two relative rotations out of the plane. 20 rows,
 * rank 17. */
static void add_joint(problem *p, vin_int joint, vin_int a, vin_int b, double ax, double ay,
                      double bx, double by) {
  const vin_int body[2] = {a, b};
  const double sign[2] = {-1, 1}, x[2] = {ax, bx}, y[2] = {ay, by};
  for (int end = 0; end < 2; end++) {
    vin_int base = 6 * body[end], row = 5 * joint;
    double s = sign[end];
    if (base < 0) continue;
    /* displacement of a point (x, y, 0) of the body: u + omega x r */
    entries_add(&p->j, row, base, s), entries_add(&p->j, row, base + 5, -s * y[end]);
    entries_add(&p->j, row + 1, base + 1, s), entries_add(&p->j, row + 1, base + 5, s * x[end]);
    entries_add(&p->j, row + 2, base + 2, s), entries_add(&p->j, row + 2, base + 3, s * y[end]);
    entries_add(&p->j, row + 2, base + 4, -s * x[end]);
    entries_add(&p->j, row + 3, base + 3, s), entries_add(&p->j, row + 4, base + 4, s);
  }
}

Test(redundancy, four_bar_of_spatial_revolutes_1) {
  /* joints at (0,0), (0.3,1), (3,2), (3.2,0); reference points of the bodies half way */
  const double joint[4][2] = {{0, 0}, {0.3, 1}, {3, 2}, {3.2, 0}};
  problem p = problem_make(18, 20);
  for (vin_int body = 0; body < 3; body++)
    for (vin_int i = 0; i < 6; i++) entries_add(&p.h, 6 * body + i, 6 * body + i, i < 3 ? 2 : 0.3);
  for (vin_int k = 0; k < 4; k++) {
    vin_int a = k - 1, b = k < 3 ? k : -1;
    double end[2][2] = {{0, 0}, {0, 0}};
    for (int i = 0; i < 2; i++) {
      if (a >= 0) end[0][i] = joint[k][i] - (joint[k - 1][i] + joint[k][i]) / 2;
      if (b >= 0) end[1][i] = joint[k][i] - (joint[k][i] + joint[k + 1][i]) / 2;
    }
    add_joint(&p, k, a, b, end[0][0], end[0][1], end[1][0], end[1][1]);
  }
  for (vin_int body = 0; body < 3; body++) p.f[6 * body + 1] = -9.81 * 2;
  double dense[20 * 18];
  test_dense_from_triplets(20, 18, entries_pattern(&p.j), VIN_STORAGE_GENERAL, p.j.value, dense);
  cr_assert_eq(test_dense_rank(20, 18, dense, 1e-12), 17);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    options.constraint_name = rod_name;
    vin_kkt *kkt = kkt_factored(&p, &options);
    const vin_int *rows;
    cr_assert_eq(vin_kkt_dropped(kkt, &rows), 3, "%s", vin_solver_name(solver));
    double z[38], *expected = dense_solution_without(&p, 3, rows);
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_leq(relative_difference(38, z, expected), 1e-12); /* condition about 100 */
    for (vin_int body = 0; body < 3; body++)
      for (int i = 2; i < 5; i++) /* motion equal to the planar model: none out of the plane */
        cr_expect_float_eq(z[6 * body + i], 0, 1e-12);
    free(expected);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* 3: a point of 1 kg at (0, -1) on x^2 + y^2 = 1, entered twice: acceleration 0, total tension 9.81
 * (Phi_p = (0, -2): lambda = 9.81 / 2). */
Test(redundancy, contact_entered_twice_3) {
  EACH_SOLVER(solver) {
    problem p = problem_make(2, 2);
    for (vin_int i = 0; i < 2; i++) {
      entries_add(&p.h, i, i, 1);
      entries_add(&p.j, i, 0, 0); /* 52: a zero value is no hole in the pattern */
      entries_add(&p.j, i, 1, -2);
    }
    p.f[1] = -9.81;
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    double z[4];
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_float_eq(z[0], 0, 1e-15);
    cr_expect_float_eq(z[1], 0, 1e-14);
    cr_expect_float_eq(2 * (z[2] + z[3]), 9.81, 1e-14);
    cr_expect_eq(vin_kkt_dropped(kkt, NULL), 1);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* 13: a row of 1e-17 of the others is zero to rounding: left out instead of divided by. */
Test(redundancy, row_of_rounding_size_13) {
  test_random random = {4};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 8}, &random);
  double *unique = dense_solution(&p);
  vin_int row = p.m;
  problem_duplicate(&p, 2, 1e-17);
  EACH_SOLVER(solver) check_dropped(&p, solver, 1, unique);
  problem_duplicate(&p, 2, 3e-17); /* two such rows, dependent on each other */
  EACH_SOLVER(solver) check_dropped(&p, solver, 2, unique);
  p.m--, p.j.count -= 6;
  p.g[row] = 0; /* also an independent one of that size */
  for (vin_int k = 0; k < p.j.count; k++)
    if (p.j.row[k] == row) p.j.value[k] = p.j.col[k] == 6 ? 1e-17 : 0;
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    cr_expect_eq(vin_kkt_dropped(kkt, NULL), 1, "%s", vin_solver_name(solver));
    double z[40];
    vin_status status = kkt_solve(kkt, &p, z);
    cr_expect_eq(status, VIN_SINGULAR, "%s: not satisfied, so not silently",
                 vin_solver_name(solver));
    vin_kkt_destroy(kkt);
  }
  free(unique);
  problem_free(&p);
}

/* The tiny row may be all noise and the only other one: the real one counts. */
Test(redundancy, noise_before_the_only_row_13) {
  EACH_SOLVER(solver) {
    problem p = problem_make(2, 2);
    for (vin_int i = 0; i < 2; i++) entries_add(&p.h, i, i, 1 + i);
    entries_add(&p.j, 0, 0, 1e-17), entries_add(&p.j, 0, 1, 1e-17);
    entries_add(&p.j, 1, 0, 1), entries_add(&p.j, 1, 1, 1);
    p.f[0] = 1, p.g[0] = 3e-17, p.g[1] = 3; /* x1 + x2 = 3, x1 + l = 1, 2 x2 + l = 0 */
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    const vin_int *rows;
    cr_assert_eq(vin_kkt_dropped(kkt, &rows), 1, "%s", vin_solver_name(solver));
    cr_expect_eq(rows[0], 0, "%s", vin_solver_name(solver));
    double z[4];
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_float_eq(z[0], 7.0 / 3, 1e-14);
    cr_expect_float_eq(z[1], 2.0 / 3, 1e-14);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* A row without any entry constrains nothing: dropped when it asks for 0, contradictory
 * otherwise. */
Test(redundancy, empty_row) {
  test_random random = {5};
  problem p = problem_of((mechanism){.shape = LOOP, .nodes = 6}, &random);
  double *unique = dense_solution(&p);
  problem_duplicate(&p, 1, 0);
  EACH_SOLVER(solver) check_dropped(&p, solver, 1, unique);
  p.j.count -= 6; /* the copies: now the pattern itself has an empty row */
  EACH_SOLVER(solver) {
    p.g[p.m - 1] = 0;
    check_dropped(&p, solver, 1, unique);
    p.g[p.m - 1] = 1;
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    double z[32];
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_SINGULAR, "%s", vin_solver_name(solver));
    vin_kkt_destroy(kkt);
  }
  free(unique);
  problem_free(&p);
}

/* Contradictory duplicates are refused with the name of one of them and the size of the gap; the
 * next right-hand side, a consistent one, is solved. */
Test(redundancy, contradictory_rows) {
  test_random random = {6};
  problem p = problem_of((mechanism){.shape = TREE, .nodes = 9}, &random);
  problem_duplicate(&p, 4, 1);
  double consistent = p.g[p.m - 1];
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    options.constraint_name = rod_name;
    vin_kkt *kkt = kkt_factored(&p, &options);
    double z[37], before[37];
    for (int i = 0; i < 37; i++) z[i] = before[i] = i;
    for (int k = 0; k < 2; k++) {
      /* a gap of 1e-5 is found too: the limit is 1e-8 */
      p.g[p.m - 1] = consistent + (k ? 1e-5 : 1);
      cr_expect_eq(kkt_solve(kkt, &p, z), VIN_SINGULAR, "%s", vin_solver_name(solver));
      const char *text = vin_kkt_error(kkt);
      cr_expect(strstr(text, "rod '4'") || strstr(text, "rod '9'"), "%s", text);
      cr_expect(strstr(text, "contradicts"), "%s", text);
      cr_expect_eq(memcmp(z, before, sizeof z), 0, "%s", vin_solver_name(solver));
    }
    p.g[p.m - 1] = consistent;
    cr_expect_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* REFUSE: the status and the names, at factor(); the object serves for the next values. */
Test(redundancy, refused_on_request) {
  test_random random = {7};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 12}, &random);
  for (vin_int k = 0; k < 5; k++) problem_duplicate(&p, k, 1);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    options.redundancy = VIN_REDUNDANCY_REFUSE;
    options.constraint_name = rod_name;
    vin_kkt *kkt = kkt_created(&p, &options);
    cr_assert_eq(kkt_factor(kkt, &p), VIN_SINGULAR, "%s", vin_solver_name(solver));
    const vin_int *rows;
    cr_assert_eq(vin_kkt_dropped(kkt, &rows), 5, "the header promises the rows here too");
    char name[32];
    rod_name(NULL, rows[0], name, sizeof name);
    cr_expect(strstr(vin_kkt_error(kkt), name), "%s", vin_kkt_error(kkt));
    cr_expect(strstr(vin_kkt_error(kkt), "5 of 17"), "%s", vin_kkt_error(kkt));
    for (vin_int k = 0; k < 5; k++)
      cr_expect(rows[k] < 5 || rows[k] >= 12, "row %d has no copy", (int)rows[k]);
    double z[53];
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* More constraints than coordinates: all x is fixed, the rest is dropped when it agrees. */
Test(redundancy, more_constraints_than_coordinates) {
  test_random random = {8};
  problem p = problem_make(3, 6);
  double x[3];
  test_random_fill(&random, 3, x);
  for (vin_int i = 0; i < 3; i++) entries_add(&p.h, i, i, 1 + i);
  for (vin_int row = 0; row < 6; row++)
    for (vin_int i = 0; i < 3; i++) {
      entries_add(&p.j, row, i, test_random_between(&random, -1, 1));
      p.g[row] += p.j.value[p.j.count - 1] * x[i];
    }
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    cr_expect_eq(vin_kkt_dropped(kkt, NULL), 3, "%s", vin_solver_name(solver));
    double z[9];
    cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s: %s", vin_solver_name(solver),
                 vin_kkt_error(kkt));
    cr_expect_leq(relative_difference(3, z, x), 1e-12);      /* condition below 1e3 */
    for (vin_int i = 0; i < 6; i++) p.g[i] += 0.1 * (i + 1); /* now overdetermined */
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_SINGULAR, "%s", vin_solver_name(solver));
    for (vin_int i = 0; i < 6; i++) p.g[i] -= 0.1 * (i + 1);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* Which rows are dropped may change from one set of values to the next; nothing is left of the
 * first. */
Test(redundancy, dropped_rows_change) {
  test_random random = {12};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 10}, &random);
  problem_duplicate(&p, 2, 1);
  problem_duplicate(&p, 7, 1);
  vin_int begin = p.j.count - 12;
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    for (int round = 0; round < 4; round++) {
      for (int copy = 0; copy < 2; copy++) /* makes one copy at a time independent */
        p.j.value[begin + 6 * copy] += round == copy || round == 3 ? 0.5 : 0;
      cr_assert_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
      const vin_int *rows;
      vin_int count = vin_kkt_dropped(kkt, &rows);
      cr_expect_eq(count, round == 3 ? 0 : round == 2 ? 2 : 1);
      if (round == 0) cr_expect(contains(count, rows, 7) || contains(count, rows, 11));
      if (round == 1) cr_expect(contains(count, rows, 2) || contains(count, rows, 10));
      if (count == 0) {
        double z[42], *expected = dense_solution(&p);
        cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
        cr_expect_leq(relative_difference(42, z, expected), 1e-11);
        free(expected);
      }
      for (int copy = 0; copy < 2; copy++)
        p.j.value[begin + 6 * copy] -= round == copy || round == 3 ? 0.5 : 0;
    }
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}
