/* test_kkt_hard - nearly dependent constraints, extreme, missing and negative masses, values that
 * have no LDL' without pivoting. Numbers in names: reports of users. */
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are nearly parallel, at an angle e. Never a wrong answer with VIN_OK and no row
 * reported dropped: the error may grow as condition 1/e^2 times rounding, nothing more. */
Test(kkt_hard, nearly_parallel_rows) {
  test_random random = {9};
  const double angle[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-12};
  for (size_t a = 0; a < sizeof angle / sizeof *angle; a++) {
    problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 6}, &random);
    vin_int row = p.m, first = p.j.count;
    problem_duplicate(&p, 3, 1);
    for (vin_int k = first; k < p.j.count; k++)
      p.j.value[k] += angle[a] * test_random_between(&random, -1, 1);
    p.g[row] += angle[a] * 0.7; /* consistent to first order: x stays of size 1 */
    double *expected = dense_solution(&p);
    EACH_SOLVER(solver) {
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_factored(&p, &options);
      double z[25];
      vin_status status = kkt_solve(kkt, &p, z);
      bool told = status == VIN_SINGULAR || vin_kkt_dropped(kkt, NULL) > 0;
      double error = relative_difference(p.n, z, expected);
      cr_expect(status == VIN_OK || status == VIN_SINGULAR);
      if (!told)
        cr_expect_leq(error, 1e-13 / (angle[a] * angle[a]), "%s, %g: %g", vin_solver_name(solver),
                      angle[a], error);
      if (angle[a] >= 1e-5) /* far enough from the threshold for everybody to do it */
        cr_expect(!told, "%s, %g: %s", vin_solver_name(solver), angle[a], vin_kkt_error(kkt));
      vin_kkt_destroy(kkt);
    }
    free(expected);
    problem_free(&p);
  }
}

/* 35 and worse: masses from 1e-6 to 1e10 on one chain, light and heavy neighbours. Each block of
 * the solution to 1e-9: that is what 1e16 leaves of 1e-16 where forces cancel, bar refinement. */
Test(kkt_hard, mass_ratios) {
  test_random random = {10};
  for (int k = 0; k < 20; k++) {
    problem p = problem_of((mechanism){.shape = (shape)(k % SHAPE_COUNT), .nodes = 9}, &random);
    for (vin_int node = 0; node < 9; node++) {
      double mass = pow(10, test_random_between(&random, -6, 10));
      for (vin_int i = 0; i < 3; i++) {
        p.h.value[3 * node + i] = mass;
        p.f[3 * node + i] *= mass; /* gravity-like */
      }
    }
    double *expected = dense_solution(&p);
    EACH_SOLVER(solver) {
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_created(&p, &options);
      double *z = malloc((size_t)(p.n + p.m) * sizeof *z);
      vin_status status = kkt_factor(kkt, &p);
      cr_expect_eq(status, VIN_OK, "%s, case %d: %s", vin_solver_name(solver), k,
                   vin_kkt_error(kkt));
      if (status == VIN_OK) status = kkt_solve(kkt, &p, z);
      cr_expect_eq(status, VIN_OK, "%s, case %d: %s", vin_solver_name(solver), k,
                   vin_kkt_error(kkt));
      cr_expect_eq(vin_kkt_dropped(kkt, NULL), 0, "%s, case %d", vin_solver_name(solver), k);
      if (status == VIN_OK) {
        double error = relative_difference(p.n, z, expected);
        cr_expect_leq(error, 1e-9, "%s, case %d: x %g", vin_solver_name(solver), k, error);
        error = relative_difference(p.m, z + p.n, expected + p.n);
        cr_expect_leq(error, 1e-9, "%s, case %d: lambda %g", vin_solver_name(solver), k, error);
      }
      free(z);
      vin_kkt_destroy(kkt);
    }
    free(expected);
    problem_free(&p);
  }
}

/* 35: nine masses of 1 g and one of 1000 kg on ten rods of 1 m. Hanging at rest, every
 * acceleration is zero, and so is every term of the constraint rows: rounding of 9810 N over 1 g,
 * 1e-9, must neither be refused nor stay. Swinging, constraint rows have terms of their own. */
Test(kkt_hard, heavy_end_35) {
  for (int swinging = 0; swinging < 2; swinging++) {
    double angle = 0.2 * swinging, c = cos(angle), s = sin(angle);
    problem p = problem_make(20, 10);
    for (vin_int k = 0; k < 10; k++) {
      double mass = k == 9 ? 1000 : 1e-3;
      for (vin_int i = 0; i < 2; i++) {
        entries_add(&p.h, 2 * k + i, 2 * k + i, mass);
        if (k > 0) entries_add(&p.j, k, 2 * k - 2 + i, i ? c : -s);
        entries_add(&p.j, k, 2 * k + i, i ? -c : s);
      }
      p.f[2 * k + 1] = -9.81 * mass;
    }
    double *expected = dense_solution(&p);
    EACH_SOLVER(solver) {
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_factored(&p, &options);
      double z[30];
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s: %s", vin_solver_name(solver),
                   vin_kkt_error(kkt));
      if (!swinging) cr_expect_float_eq(z[20], 9810.08829, 1e-11);
      cr_expect_leq(relative_difference(10, z + 20, expected + 20), 1e-14);
      /* rounding of the multipliers over 1 g; much less where a sweep was needed */
      cr_expect_leq(test_max_difference(20, z, expected), swinging ? 1e-8 : 1e-12, "%s",
                    vin_solver_name(solver));
      cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, 0);
      vin_kkt_destroy(kkt);
    }
    free(expected);
    problem_free(&p);
  }
}

/* A chain of 20 unit masses, fixed at one end, counted from either; the first and the last mass are drawn
 * together by 900 N: no mass accelerates, the multipliers are 0 for the first rod and -900 N for the
 * others, and of the rows between no term is more than the rounding of that, a few times 1e-13 m/s^2,
 * which must not be taken for an error of 1. */
Test(kkt_hard, forces_far_from_a_row) {
  enum { LINKS = 20, N = 2 * LINKS };
  for (int reversed = 0; reversed < 2; reversed++) {
    problem p = problem_make(N, LINKS);
    for (vin_int k = 0; k < LINKS; k++) {
      const vin_int here = reversed ? LINKS - 1 - k : k, before = reversed ? here + 1 : here - 1;
      for (vin_int i = 0; i < 2; i++) {
        entries_add(&p.h, 2 * here + i, 2 * here + i, 1);
        if (k > 0) entries_add(&p.j, here, 2 * before + i, i ? 0 : -1);
        entries_add(&p.j, here, 2 * here + i, i ? 0 : 1);
      }
    }
    const vin_int first = reversed ? LINKS - 1 : 0, last = LINKS - 1 - first;
    p.f[2 * first] = 900;
    p.f[2 * last] = -900;
    EACH_SOLVER(solver) {
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_factored(&p, &options);
      double z[N + LINKS];
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s: %s", vin_solver_name(solver),
                   vin_kkt_error(kkt));
      cr_expect_leq(test_max_abs(N, z), 1e-12, "%s", vin_solver_name(solver));
      for (vin_int k = 0; k < LINKS; k++) {
        cr_expect_float_eq(z[N + k], k == first ? 0 : -900, 1e-11);
      }
      cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, 0);
      vin_kkt_destroy(kkt);
    }
    problem_free(&p);
  }
}

/* A massless coordinate that no constraint holds has no acceleration: VIN_SINGULAR, and not blamed
 * on the constraints. A negative mass is found by the inertia. */
Test(kkt_hard, missing_or_negative_mass) {
  test_random random = {11};
  for (int kind = 0; kind < 3; kind++) {
    problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 7}, &random);
    for (vin_int i = 0; i < 3; i++) p.h.value[9 + i] = kind == 2 ? -1 : 0;
    if (kind == 1) { /* not even declared */
      for (vin_int k = 9; k < 12; k++) p.h.row[k] = p.h.col[k] = 0;
    }
    EACH_SOLVER(solver) {
      if (kind == 2 && (solver == VIN_SOLVER_UMFPACK || solver == VIN_SOLVER_AUTO)) continue;
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_created(&p, &options);
      cr_expect_eq(kkt_factor(kkt, &p), VIN_SINGULAR, "%s, %d", vin_solver_name(solver), kind);
      cr_expect_eq(vin_kkt_dropped(kkt, NULL), 0);
      double z[28];
      cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE, "46: no use after a failed factor");
      for (vin_int i = 0; i < 12; i++) p.h.value[i] = 1; /* good values afterwards */
      if (kind != 1) cr_expect_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
      for (vin_int i = 0; i < 3; i++) p.h.value[9 + i] = kind == 2 ? -1 : 0;
      vin_kkt_destroy(kkt);
    }
    problem_free(&p);
  }
}

/* 47: [[0,1],[1,0]], a massless coordinate that a constraint holds, is regular, but has no LDL'
 * with 1x1 pivots in the order that other systems need: x = (b2, b1) from whoever pivots, else a
 * clear status. */
Test(kkt_hard, zero_on_the_diagonal_47) {
  problem p = problem_make(1, 1);
  entries_add(&p.h, 0, 0, 0);
  entries_add(&p.j, 0, 0, 1);
  p.f[0] = 3, p.g[0] = 7;
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    vin_status status = kkt_factor(kkt, &p);
    bool pivots = solver == VIN_SOLVER_UMFPACK ||
                  (solver == VIN_SOLVER_AUTO && vin_solver_available(VIN_SOLVER_UMFPACK));
    cr_expect_eq(status, pivots ? VIN_OK : VIN_SINGULAR, "%s: %s", vin_solver_name(solver),
                 vin_kkt_error(kkt));
    double z[2];
    if (status == VIN_OK) {
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK);
      cr_expect_float_eq(z[0], 7, 1e-15);
      cr_expect_float_eq(z[1], 3, 1e-15);
      cr_expect_eq(vin_kkt_get_stats(kkt).fallbacks, solver == VIN_SOLVER_AUTO);
    }
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* 51: the first values have pivots that the second ones have not: whatever was learnt from the
 * first factorisation must not be trusted. [[1e-20, 1], [1, -1]] has x = (3, 1) - rounding. */
Test(kkt_hard, values_change_their_nature_51) {
  problem p = problem_make(1, 1);
  entries_add(&p.h, 0, 0, 1);
  entries_add(&p.j, 0, 0, 1);
  entries_add(&p.c, 0, 0, 1);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    p.h.value[0] = 1;
    vin_kkt *kkt = kkt_factored(&p, &options);
    p.h.value[0] = 1e-20;
    p.f[0] = 1, p.g[0] = 2; /* lambda = 1, x = 3 */
    double z[2] = {0, 0};
    vin_status status = kkt_factor(kkt, &p);
    if (status == VIN_OK) status = kkt_solve(kkt, &p, z);
    bool pivots = solver == VIN_SOLVER_UMFPACK ||
                  (solver == VIN_SOLVER_AUTO && vin_solver_available(VIN_SOLVER_UMFPACK));
    if (pivots) cr_expect_eq(status, VIN_OK, "%s: %s", vin_solver_name(solver), vin_kkt_error(kkt));
    if (status == VIN_OK) {
      cr_expect_float_eq(z[0], 3, 1e-12, "%s: %g", vin_solver_name(solver), z[0]);
      cr_expect_float_eq(z[1], 1, 1e-12);
    }
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* Coordinates that are determined by the constraints alone, whatever the masses and forces: x = J^-1 g. With masses
 * of 1e-60 the first solve is off by 1e-16 of accelerations of 1e60, and so on down; 1e-9 of x is far above the
 * rounding that is left. */
Test(kkt_hard, tiny_masses_that_constraints_hold) {
  enum { N = 3 };
  static const vin_int diagonal[N] = {0, 1, 2};
  static const vin_int row[] = {0, 0, 1, 1, 2, 2, 2}, col[] = {0, 1, 1, 2, 0, 1, 2};
  static const double j[] = {1, -0.5, 0.7, 0.2, -0.3, 0.4, 1.1}, x0[N] = {0.3, -0.8, 0.5};
  const double f[N] = {1, -2, 0.5};
  for (double mass = 1e-3; mass > 1e-100; mass *= 1e-12) {
    const double h[N] = {mass, 2 * mass, 3 * mass};
    double g[N] = {0}, x[N], lambda[N];
    for (int k = 0; k < 7; k++) g[row[k]] += j[k] * x0[col[k]];
    vin_kkt *kkt = NULL;
    cr_assert_eq(vin_kkt_create(&kkt, NULL, N, N,
                                (vin_triplets){.count = N, .row = diagonal, .col = diagonal},
                                (vin_triplets){.count = 7, .row = row, .col = col}, NULL),
                 VIN_OK);
    cr_assert_eq(vin_kkt_factor(kkt, h, j, NULL), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_assert_eq(vin_kkt_solve(kkt, 1, f, g, x, lambda), VIN_OK, "%s", vin_kkt_error(kkt));
    for (int i = 0; i < N; i++) cr_expect_float_eq(x[i], x0[i], 1e-9, "mass %g: %g", mass, x[i]);
    vin_kkt_destroy(kkt);
  }
}
