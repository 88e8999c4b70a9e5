/* test_kkt_rank - dependent constraints where the static order cannot tell, and the rank-revealing QR
 * must: hubs by value, a mass matrix that is only semidefinite, rows of very different size, loops of
 * mechanisms. Numbers in names: reports of users. */
#include "kkt/kkt.h"
#include "test_rank_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This solver goes that way. */
static bool thorough(vin_solver solver) {
  return qr_in_build() && (solver == VIN_SOLVER_AUTO || solver == VIN_SOLVER_UMFPACK);
}

static void rod_name(void *user, vin_int row, char *text, size_t size) {
  (void)user;
  snprintf(text, size, "rod '%d'", (int)row);
}

/* The rows reported are as many as depend on others, and the rest is independent. */
static void check_rows(const vin_kkt *kkt, const problem *p, vin_int expected, const char *who) {
  const vin_int *rows;
  vin_int count = vin_kkt_dropped(kkt, &rows);
  cr_expect_eq(count, expected, "%s: %d rows dropped, not %d", who, (int)count, (int)expected);
  unsigned char *skip = calloc((size_t)p->m + 1, 1);
  vin_int *left = malloc(((size_t)p->m + 1) * sizeof *left);
  for (vin_int k = 0; k < count; k++) skip[rows[k]] = 1;
  for (vin_int k = 1; k < count; k++) cr_expect_lt(rows[k - 1], rows[k]);
  cr_expect_eq(dependent_rows(p, skip, left), 0, "%s: the rows kept are dependent", who);
  free(skip), free(left);
}

/* Factorises and solves, x to `tolerance`. Only the thorough solvers must succeed where `hard`;
 * nobody may be wrong in silence. Returns the counters. */
static vin_solver_stats check(const problem *p, vin_solver solver, bool hard, double tolerance) {
  const char *who = vin_solver_name(solver);
  vin_int expected;
  double *unique = independent_solution(p, &expected),
         *z = malloc((size_t)(p->n + p->m) * sizeof *z);
  vin_kkt_options options = options_of(p, solver);
  vin_kkt *kkt = kkt_created(p, &options);
  vin_status status = kkt_factor(kkt, p);
  if (status == VIN_OK) status = kkt_solve(kkt, p, z);
  if (!hard || thorough(solver))
    cr_expect_eq(status, VIN_OK, "%s: %s", who, vin_kkt_error(kkt));
  else
    cr_expect(status == VIN_OK || status == VIN_SINGULAR, "%s: %s", who, vin_kkt_error(kkt));
  if (status == VIN_OK) {
    check_rows(kkt, p, expected, who);
    double error = relative_difference(p->n, z, unique);
    cr_expect_leq(error, tolerance, "%s: %g", who, error);
  }
  vin_solver_stats stats = vin_kkt_get_stats(kkt);
  vin_kkt_destroy(kkt);
  free(unique), free(z);
  return stats;
}

/* A tether that only the hub makes independent is not mistaken for a dependent one, beside true
 * duplicates and without them, by those who pivot; the others refuse. */
Test(kkt_rank, hub_by_value) {
  if (!qr_in_build()) return;
  for (vin_int duplicates = 0; duplicates < 4; duplicates += 3) {
    test_random random = {1};
    problem p = hub_by_value(duplicates, &random);
    EACH_SOLVER(solver) {
      vin_solver_stats stats = check(&p, solver, true, 1e-11); /* condition below 1e4 */
      if (!thorough(solver)) continue;
      cr_expect_eq(stats.rank_revealing, duplicates > 0, "%s: %d QRs", vin_solver_name(solver),
                   (int)stats.rank_revealing);
      cr_expect_eq(stats.fallbacks, solver == VIN_SOLVER_AUTO);
    }
    problem_free(&p);
  }
}

/* The rows are right after factor() already, for callers that solve without verification; and where
 * ldlt is right the comparison is made once, not at each factorisation. */
Test(kkt_rank, hub_is_compared_once) {
  if (!qr_in_build()) return;
  test_random random = {2};
  problem p = hub_by_value(2, &random);
  for (vin_int k = 0; k < p.j.count; k++) /* turns the tether out of the rods' plane */
    if (p.j.row[k] == 7 && p.j.col[k] == 6 + 21) p.j.value[k] += 1;
  vin_kkt *kkt = kkt_created(&p, NULL);
  for (int round = 0; round < 3; round++) {
    cr_assert_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
    check_rows(kkt, &p, 2, "regular hub");
    cr_expect_eq(vin_kkt_get_info(kkt).solver, VIN_SOLVER_LDLT);
    cr_expect_geq(vin_kkt_get_info(kkt).min_pivot_ratio, 1e-6);
    vin_solver_stats stats = vin_kkt_get_stats(kkt);
    cr_expect_eq(stats.rank_revealing, 1);
    cr_expect_eq(stats.fallbacks, 0);
    cr_expect_eq(stats.dropped, round + 1);
  }
  for (vin_int k = 0; k < p.j.count; k++)
    if (p.j.row[k] == 7 && p.j.col[k] == 6 + 21) p.j.value[k] -= 1;
  cr_assert_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
  check_rows(kkt, &p, 2, "hub by value");
  cr_expect_eq(vin_kkt_get_info(kkt).solver, VIN_SOLVER_UMFPACK);
  cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, 1);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* H is positive definite only where the constraints leave freedom. AUTO ends with the right solution
 * at a single fallback; the QR is asked only when rows are dependent as well. */
Test(kkt_rank, semidefinite_mass) {
  if (!qr_in_build()) return;
  test_random random = {3};
  for (int kind = 0; kind < 8; kind++) {
    problem p = product_problem(24, 10, 10, &random);
    if (kind % 4 == 0) p.h.value[5] = 0;            /* a massless coordinate, held by a row */
    if (kind % 4 == 1) p.h.row[5] = p.h.col[5] = 4; /* its mass is not even declared */
    if (kind % 4 < 2) entries_add(&p.j, 0, 5, 1);
    if (kind % 4 == 2) share_a_mass(&p);
    if (kind % 4 == 3) make_semidefinite(&p, 15, &random);
    if (kind >= 4) problem_duplicate(&p, 2, 3), problem_duplicate(&p, 6, 1);
    EACH_SOLVER(solver) {
      vin_solver_stats stats = check(&p, solver, true, 1e-9); /* condition up to 1e5 */
      if (!thorough(solver) || kind % 4 >= 2) continue;       /* ldlt may get through */
      cr_expect_eq(stats.rank_revealing, kind >= 4, "%s, %d: %d QRs", vin_solver_name(solver), kind,
                   (int)stats.rank_revealing);
      cr_expect_eq(stats.fallbacks, solver == VIN_SOLVER_AUTO, "%s, %d", vin_solver_name(solver),
                   kind);
    }
    problem_free(&p);
  }
}

/* Rows 0 and 2 are the same: half of the load each has the minimum norm. */
static void check_halves(const problem *p, vin_solver solver) {
  vin_kkt_options options = options_of(p, solver);
  vin_kkt *kkt = kkt_factored(p, &options);
  double z[6];
  cr_assert_eq(kkt_solve(kkt, p, z), VIN_OK, "%s", vin_kkt_error(kkt));
  double whole = z[3] + z[5];
  cr_expect(z[3] == 0 || z[5] == 0, "the one dropped carries nothing");
  cr_assert_eq(vin_kkt_minimum_norm(kkt, 1, z + 3), VIN_OK, "%s", vin_kkt_error(kkt));
  cr_expect_float_eq(z[3], whole / 2, 1e-12 * fabs(whole));
  cr_expect_float_eq(z[5], whole / 2, 1e-12 * fabs(whole));
  vin_kkt_destroy(kkt);
}

/* Pivots that are rounding instead of zero are seen before anything is built on them: none of the
 * dependent rows that they seem to make is reported. */
Test(kkt_rank, mass_lost_in_rounding) {
  const double w[3] = {0.1, 0.7, 0.3};
  for (int rows = 2; rows <= 3; rows++) {
    problem p = problem_make(3, rows);
    for (vin_int j = 0; j < 3; j++)
      for (vin_int i = j; i < 3; i++) entries_add(&p.h, i, j, w[i] * w[j]);
    const double j[3][3] = {{1, -2, 0.5}, {0.3, 0.4, -1}, {1, -2, 0.5}};
    for (vin_int row = 0; row < rows; row++)
      for (vin_int i = 0; i < 3; i++) entries_add(&p.j, row, i, j[row][i]);
    p.f[0] = 1, p.f[2] = -2, p.g[0] = 0.7, p.g[1] = -0.3;
    if (rows == 3) p.g[2] = p.g[0];
    EACH_SOLVER(solver) {
      vin_solver_stats stats = check(&p, solver, true, 1e-13); /* condition about 100 */
      if (thorough(solver)) cr_expect_eq(stats.rank_revealing, rows == 3);
      if (thorough(solver) && rows == 3) check_halves(&p, solver);
      if (solver != VIN_SOLVER_LDLT) continue;
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_created(&p, &options);
      cr_expect_eq(kkt_factor(kkt, &p), VIN_SINGULAR);
      cr_expect(strstr(vin_kkt_error(kkt), "pivot"), "%s", vin_kkt_error(kkt));
      cr_expect_eq(vin_kkt_dropped(kkt, NULL), 0);
      vin_kkt_destroy(kkt);
    }
    problem_free(&p);
  }
}

/* Where freedom has no mass nothing helps, and the constraints are not blamed: with dependent rows
 * too the text says so. */
Test(kkt_rank, missing_mass_beside_dependent_rows) {
  if (!qr_in_build()) return;
  test_random random = {4};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 7}, &random);
  for (vin_int i = 0; i < 3; i++) p.h.value[9 + i] = 0;
  problem_duplicate(&p, 1, 1);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    cr_expect_eq(kkt_factor(kkt, &p), VIN_SINGULAR, "%s", vin_solver_name(solver));
    if (thorough(solver)) cr_expect(strstr(vin_kkt_error(kkt), "mass"), "%s", vin_kkt_error(kkt));
    double z[29];
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* Rows from 1e-6 to 1e6 and exact dependence among them, with and without a definite H: units of a
 * constraint are its user's affair. */
Test(kkt_rank, rows_of_very_different_scale) {
  if (!qr_in_build()) return;
  test_random random = {5};
  for (int kind = 0; kind < 8; kind++) {
    problem p = product_problem(30, 24, 16, &random);
    if (kind % 2) make_semidefinite(&p, 20, &random);
    double scale[24];
    for (vin_int i = 0; i < 24; i++) scale[i] = pow(10, test_random_between(&random, -6, 6));
    for (vin_int k = 0; k < p.j.count; k++) p.j.value[k] *= scale[p.j.row[k]];
    for (vin_int i = 0; i < 24; i++) p.g[i] *= scale[i];
    /* condition of the scaled rows up to 1e4, squared in K */
    EACH_SOLVER(solver) check(&p, solver, kind % 2, 1e-7);
    problem_free(&p);
  }
}

/* Random sparse J of rank r < m: all solvers, where its condition is not too bad for ldlt's pivots. */
Test(kkt_rank, products) {
  test_random random = {6};
  for (int k = 0; k < 40; k++) {
    vin_int rank = 5 + test_random_below(&random, 20),
            m = rank + 1 + test_random_below(&random, 10);
    problem p = product_problem(rank + 5 + test_random_below(&random, 30), m, rank, &random);
    EACH_SOLVER(solver) check(&p, solver, true, 1e-8);
    problem_free(&p);
  }
}

/* 1: planar loops of spatial revolutes, turned in space so that no number is nice: 3 of 5 k rows
 * depend on the others. */
Test(kkt_rank, planar_loops_1) {
  test_random random = {7};
  for (vin_int joints = 4; joints <= 8; joints++) {
    double line[48], axis[3] = {0.48, -0.6, 0.64}, e[2][3], any[3] = {1, 0, 0};
    cross(axis, any, e[0]);
    cross(axis, e[0], e[1]);
    for (vin_int k = 0; k < joints; k++) {
      double angle = 6.283185307179586 * (double)k / (double)joints;
      double size = test_random_between(&random, 0.7, 1.5);
      for (int i = 0; i < 3; i++) {
        line[6 * k + i] = size * (cos(angle) * e[0][i] + sin(angle) * e[1][i]) + 0.2 * axis[i];
        line[6 * k + 3 + i] = axis[i];
      }
    }
    problem p = revolute_loop(joints, line, &random);
    vin_int rows[40];
    cr_assert_eq(dependent_rows(&p, NULL, rows), 3, "the test's own rank of %d bars", (int)joints);
    EACH_SOLVER(solver) check(&p, solver, false, 1e-10); /* condition below 1e4 */
    if (qr_in_build()) {
      for (vin_int k = 0; k < p.h.count; k++) /* a link of no mass moves along all the same */
        if (p.h.row[k] >= 6 && p.h.row[k] < 12) p.h.value[k] = 0;
      EACH_SOLVER(solver) check(&p, solver, true, 1e-9);
    }
    problem_free(&p);
  }
}

/* Bricard's line-symmetric loop: three lines at random and their images under a half turn about z are
 * the axes of a loop that moves: rank 29 of 30 by geometry, not by any pattern. */
Test(kkt_rank, bricard_line_symmetric) {
  test_random random = {8};
  for (int k = 0; k < 20; k++) {
    double line[36];
    for (int i = 0; i < 3; i++) {
      double *a = line + 6 * i, *b = line + 6 * (i + 3), length = 0;
      for (int c = 0; c < 6; c++) a[c] = test_random_between(&random, -1, 1);
      for (int c = 3; c < 6; c++) length += a[c] * a[c];
      for (int c = 3; c < 6; c++) a[c] /= sqrt(length);
      for (int c = 0; c < 6; c++) b[c] = c % 3 == 2 ? a[c] : -a[c];
    }
    problem p = revolute_loop(6, line, &random);
    vin_int rows[30];
    cr_assert_eq(dependent_rows(&p, NULL, rows), 1, "the test's own rank, case %d", k);
    EACH_SOLVER(solver) check(&p, solver, false, 1e-9); /* condition up to 1e5 */
    if (qr_in_build()) {
      for (vin_int e = 0; e < p.h.count; e++)
        if (p.h.row[e] >= 12 && p.h.row[e] < 24) p.h.value[e] = 0;
      EACH_SOLVER(solver) check(&p, solver, true, 1e-8);
    }
    problem_free(&p);
  }
}

/* A row that is nearly but not quite dependent beside one that is: only the latter may go when the
 * former is needed. x of size 1 by a right-hand side that agrees to first order. */
Test(kkt_rank, nearly_dependent_beside_dependent) {
  if (!qr_in_build()) return;
  test_random random = {9};
  const double angle[] = {1e-2, 1e-4, 1e-6, 3e-7};
  for (size_t a = 0; a < sizeof angle / sizeof *angle; a++) {
    problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 6}, &random);
    vin_int first = p.j.count, row = p.m;
    problem_duplicate(&p, 3, 1);
    for (vin_int k = first; k < p.j.count; k++)
      p.j.value[k] += angle[a] * test_random_between(&random, -1, 1);
    p.g[row] += angle[a] * 0.7;
    problem_duplicate(&p, 1, 1);
    EACH_SOLVER(solver) {
      /* rounding over the angle, squared where H of condition 1 enters */
      check(&p, solver, true, 1e-13 / (angle[a] * angle[a]));
    }
    problem_free(&p);
  }
}

/* Contradictions are found behind the QR too, at the next right-hand side forgotten. */
Test(kkt_rank, contradictory_rows) {
  if (!qr_in_build()) return;
  test_random random = {10};
  for (int kind = 0; kind < 2; kind++) {
    problem p = kind ? hub_by_value(1, &random) : product_problem(24, 10, 10, &random);
    if (!kind) share_a_mass(&p), problem_duplicate(&p, 4, 1);
    vin_int unused, last = p.m - 1, size = p.n + p.m;
    double *unique = independent_solution(&p, &unused), *z = calloc((size_t)size, sizeof *z),
           g = p.g[last];
    EACH_SOLVER(solver) {
      if (!thorough(solver)) continue;
      vin_kkt_options options = options_of(&p, solver);
      options.constraint_name = rod_name;
      vin_kkt *kkt = kkt_factored(&p, &options);
      for (int k = 0; k < 2; k++) {
        p.g[last] = g + (k ? 1e-5 : 1); /* 1e-5 is found too: the limit is 1e-8 */
        cr_expect_eq(kkt_solve(kkt, &p, z), VIN_SINGULAR, "%s", vin_solver_name(solver));
        cr_expect(strstr(vin_kkt_error(kkt), "contradicts"), "%s", vin_kkt_error(kkt));
        cr_expect(strstr(vin_kkt_error(kkt), "rod '"), "%s", vin_kkt_error(kkt));
        p.g[last] = g;
        cr_expect_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
        cr_expect_leq(relative_difference(p.n, z, unique), 1e-8);
      }
      cr_expect_leq(vin_kkt_get_stats(kkt).rank_revealing, 2, "not at every right-hand side");
      vin_kkt_destroy(kkt);
    }
    free(unique), free(z);
    problem_free(&p);
  }
}

/* REFUSE refuses for dependent rows only, and names these. */
Test(kkt_rank, refused_on_request) {
  if (!qr_in_build()) return;
  test_random random = {11};
  for (vin_int duplicates = 0; duplicates <= 2; duplicates++) {
    problem p = hub_by_value(duplicates, &random);
    double *z = malloc((size_t)(p.n + p.m) * sizeof *z);
    EACH_SOLVER(solver) {
      if (!thorough(solver)) continue;
      vin_kkt_options options = options_of(&p, solver);
      options.redundancy = VIN_REDUNDANCY_REFUSE;
      options.constraint_name = rod_name;
      vin_kkt *kkt = kkt_created(&p, &options);
      vin_status status = kkt_factor(kkt, &p);
      cr_expect_eq(status, duplicates ? VIN_SINGULAR : VIN_OK, "%s: %s", vin_solver_name(solver),
                   vin_kkt_error(kkt));
      check_rows(kkt, &p, duplicates, vin_solver_name(solver));
      char text[64];
      snprintf(text, sizeof text, "%d of %d", (int)duplicates, (int)p.m);
      if (duplicates) {
        const vin_int *rows;
        cr_assert_eq(vin_kkt_dropped(kkt, &rows), duplicates);
        cr_expect(strstr(vin_kkt_error(kkt), text), "%s", vin_kkt_error(kkt));
        rod_name(NULL, rows[0], text, sizeof text);
        cr_expect(strstr(vin_kkt_error(kkt), text), "%s", vin_kkt_error(kkt));
        cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
      } else {
        cr_expect_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
      }
      vin_kkt_destroy(kkt);
    }
    free(z);
    problem_free(&p);
  }
}

/* Compliance makes rows of J independent that are dependent without it. */
Test(kkt_rank, compliance_counts) {
  if (!qr_in_build()) return;
  test_random random = {12};
  for (int rigid = 0; rigid < 2; rigid++) {
    problem p = product_problem(20, 8, 8, &random);
    share_a_mass(&p);
    problem_duplicate(&p, 3, 1), problem_duplicate(&p, 5, 1), problem_duplicate(&p, 1, 1);
    entries_add(&p.c, 8, 8, 0.5), entries_add(&p.c, 9, 9, 0.7);
    entries_add(&p.c, 9, 8, 0.1), entries_add(&p.c, 10, 10, rigid ? 0 : 0.2);
    EACH_SOLVER(solver) {
      if (!thorough(solver)) continue;
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_factored(&p, &options);
      const vin_int *rows;
      vin_int count = vin_kkt_dropped(kkt, &rows);
      cr_assert_eq(count, rigid, "%s: %d", vin_solver_name(solver), (int)count);
      if (rigid) cr_expect(rows[0] == 1 || rows[0] == 10, "row %d", (int)rows[0]);
      double z[31], *expected = dense_solution_without(&p, count, rows);
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
      cr_expect_leq(relative_difference(31, z, expected), 1e-9); /* condition up to 1e5 */
      free(expected);
      vin_kkt_destroy(kkt);
    }
    problem_free(&p);
  }
}

/* The same bits every time. */
Test(kkt_rank, deterministic) {
  if (!qr_in_build()) return;
  test_random random = {14};
  problem p = hub_by_value(3, &random);
  double *z[2];
  for (int k = 0; k < 2; k++) {
    z[k] = malloc((size_t)(p.n + p.m) * sizeof **z);
    vin_kkt *kkt = kkt_factored(&p, NULL);
    cr_assert_eq(kkt_solve(kkt, &p, z[k]), VIN_OK, "%s", vin_kkt_error(kkt));
    vin_kkt_destroy(kkt);
  }
  cr_expect_eq(memcmp(z[0], z[1], (size_t)(p.n + p.m) * sizeof **z), 0);
  free(z[0]), free(z[1]);
  problem_free(&p);
}
