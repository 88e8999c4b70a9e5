/* test_kkt_errors - bad input, wrong order of calls, failing memory. Numbers in names: reports of
 * users. */
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const vin_int zero_one[2] = {0, 1};

static void refused(vin_status expected, const char *words, vin_int n, vin_int m, vin_triplets h,
                    vin_triplets j, const vin_kkt_options *options) {
  vin_kkt *kkt = NULL;
  vin_status status = vin_kkt_create(&kkt, NULL, n, m, h, j, options);
  cr_expect_eq(status, expected, "%s, not %s", vin_status_name(status), vin_status_name(expected));
  cr_assert(kkt, "a handle comes back also from a failure");
  cr_expect(strstr(vin_kkt_error(kkt), words), "'%s' is not in '%s'", words, vin_kkt_error(kkt));
  /* such a handle refuses everything, keeps its text, and is harmless */
  char text[600];
  strcpy(text, vin_kkt_error(kkt));
  double x[4] = {0};
  cr_expect_eq(vin_kkt_factor(kkt, x, x, NULL), VIN_ERR_BAD_STATE);
  cr_expect_eq(vin_kkt_solve(kkt, 1, x, x, x, x), VIN_ERR_BAD_STATE);
  cr_expect_eq(vin_kkt_write(kkt, "/tmp/never"), VIN_ERR_BAD_STATE);
  cr_expect_eq(vin_kkt_get_info(kkt).negative_pivots, -1);
  cr_expect_eq(vin_kkt_get_stats(kkt).numeric, 0);
  cr_expect_eq(vin_kkt_dropped(kkt, NULL), 0);
  cr_expect_str_eq(vin_kkt_describe(kkt), "");
  cr_expect_str_eq(vin_kkt_error(kkt), text);
  vin_kkt_destroy(kkt);
}

Test(kkt_errors, wrong_patterns_and_sizes) {
  const vin_int two[2] = {0, 2}, minus[2] = {-1, 0}, one_zero[2] = {1, 0};
  vin_triplets diagonal = {2, zero_one, zero_one}, row = {2, minus + 1, zero_one};
  row.row = (const vin_int[2]){0, 0};
  refused(VIN_ERR_BAD_INPUT, "n is 0", 0, 1, diagonal, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "n is -3", -3, 1, diagonal, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "m is -1", 2, -1, diagonal, row, NULL);
  refused(VIN_ERR_TOO_LARGE, "n + m", INT32_MAX, 2, diagonal, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "H", 2, 1, (vin_triplets){2, two, two}, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "H", 2, 1, (vin_triplets){2, minus, minus}, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "H", 2, 1, (vin_triplets){2, zero_one, one_zero}, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "H", 2, 1, (vin_triplets){2, NULL, zero_one}, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "H", 2, 1, (vin_triplets){-1, zero_one, zero_one}, row, NULL);
  refused(VIN_ERR_BAD_INPUT, "J", 2, 1, diagonal, (vin_triplets){2, zero_one, zero_one}, NULL);
  refused(VIN_ERR_BAD_INPUT, "J", 2, 1, diagonal, (vin_triplets){2, zero_one, two}, NULL);
  refused(VIN_ERR_BAD_INPUT, "J", 2, 0, diagonal, row, NULL);
  vin_kkt_options options = vin_kkt_options_default();
  options.compliance = (vin_triplets){1, zero_one + 1, zero_one + 1};
  refused(VIN_ERR_BAD_INPUT, "C", 2, 1, diagonal, row, &options);
  cr_expect_eq(vin_kkt_create(NULL, NULL, 2, 1, diagonal, row, NULL), VIN_ERR_BAD_INPUT);
}

Test(kkt_errors, options_out_of_range) {
  vin_triplets diagonal = {2, zero_one, zero_one}, none = {0, NULL, NULL};
#define REFUSED(field, wrong, words)                                                               \
  do {                                                                                             \
    vin_kkt_options options = vin_kkt_options_default();                                           \
    options.field = wrong;                                                                         \
    refused(VIN_ERR_BAD_INPUT, words, 2, 0, diagonal, none, &options);                             \
  } while (0)
  REFUSED(struct_size, 0, "struct_size");
  REFUSED(struct_size, sizeof(vin_kkt_options) + 8, "struct_size");
  REFUSED(solver, (vin_solver)17, "solver is 17");
  REFUSED(solver, VIN_SOLVER_KLU, "klu");
  REFUSED(redundancy, (vin_redundancy)5, "redundancy is 5");
  REFUSED(pivot_threshold, -1e-9, "pivot_threshold");
  REFUSED(pivot_threshold, 2, "pivot_threshold");
  REFUSED(pivot_threshold, NAN, "pivot_threshold");
  REFUSED(force_tolerance, -1, "force_tolerance");
  REFUSED(constraint_tolerance, NAN, "constraint_tolerance");
  REFUSED(contradiction_tolerance, -1, "contradiction_tolerance");
  REFUSED(max_refinements, -1, "max_refinements is -1");
  REFUSED(max_refinements, 21, "max_refinements is 21");
#undef REFUSED
  for (size_t k = 0; k < sizeof test_solvers / sizeof *test_solvers; k++) {
    vin_kkt_options options = vin_kkt_options_default();
    options.solver = test_solvers[k];
    if (vin_solver_available(test_solvers[k])) continue;
    refused(VIN_ERR_UNSUPPORTED, vin_solver_name(test_solvers[k]), 2, 0, diagonal, none, &options);
  }
}

Test(kkt_errors, wrong_context) {
  vin_context context = vin_context_default();
  context.struct_size = 3;
  vin_kkt *kkt = NULL;
  vin_triplets diagonal = {2, zero_one, zero_one}, none = {0, NULL, NULL};
  cr_expect_eq(vin_kkt_create(&kkt, &context, 2, 0, diagonal, none, NULL), VIN_ERR_BAD_INPUT);
  cr_assert(kkt);
  cr_expect(vin_kkt_error(kkt)[0]);
  double x[2] = {1, 1};
  cr_expect_lt(vin_kkt_factor(kkt, x, x, x), 0);
  cr_expect_eq(vin_kkt_dropped(kkt, NULL), 0);
  vin_kkt_destroy(kkt);
}

Test(kkt_errors, null_handle) {
  double x = 1;
  cr_expect_eq(vin_kkt_factor(NULL, &x, &x, NULL), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_kkt_solve(NULL, 1, &x, &x, &x, &x), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_kkt_write(NULL, "/tmp/never"), VIN_ERR_BAD_INPUT);
  cr_expect(vin_kkt_error(NULL));
  cr_expect_str_eq(vin_kkt_describe(NULL), "");
  const vin_int *rows = zero_one;
  cr_expect_eq(vin_kkt_dropped(NULL, &rows), 0);
  cr_expect_null(rows);
  cr_expect_eq(vin_kkt_get_stats(NULL).numeric, 0);
  cr_expect_eq(vin_kkt_get_info(NULL).negative_pivots, -1);
  vin_kkt_destroy(NULL);
}

/* 46: each call in the wrong order says so, and the right order still works afterwards. */
Test(kkt_errors, order_of_calls) {
  test_random random = {1};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 4, .compliance = true}, &random);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_created(&p, &options);
    double z[16];
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
    cr_expect(strstr(vin_kkt_error(kkt), "factor"), "%s", vin_kkt_error(kkt));
    cr_expect_eq(vin_kkt_factor(kkt, NULL, p.j.value, p.c.value), VIN_ERR_BAD_STATE);
    cr_expect(strstr(vin_kkt_error(kkt), "H"), "%s", vin_kkt_error(kkt));
    cr_expect_eq(vin_kkt_factor(kkt, p.h.value, NULL, p.c.value), VIN_ERR_BAD_STATE);
    cr_expect_eq(vin_kkt_factor(kkt, p.h.value, p.j.value, NULL), VIN_ERR_BAD_STATE);
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
    cr_assert_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
    cr_expect_eq(vin_kkt_solve(kkt, -1, p.f, p.g, z, z + p.n), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_kkt_solve(kkt, 1, NULL, p.g, z, z + p.n), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_kkt_solve(kkt, 1, p.f, NULL, z, z + p.n), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_kkt_solve(kkt, 1, p.f, p.g, NULL, z + p.n), VIN_ERR_BAD_INPUT);
    cr_expect_eq(vin_kkt_solve(kkt, 1, p.f, p.g, z, NULL), VIN_ERR_BAD_INPUT);
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* 54: NaN and infinity are refused, with their place, in every array; the object works on after the
 * next good values. */
Test(kkt_errors, values_not_finite_54) {
  test_random random = {2};
  problem p = problem_of((mechanism){.shape = LOOP, .nodes = 4, .compliance = true}, &random);
  const double bad[] = {NAN, INFINITY, -INFINITY};
  double *array[] = {p.h.value, p.j.value, p.c.value, p.f, p.g};
  const char *words[] = {"value 2 of H", "value 2 of J", "value 2 of C", "force entry 2",
                         "constraint entry 2"};
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = kkt_factored(&p, &options);
    for (size_t k = 0; k < 15; k++) {
      double z[16], before[16], *place = array[k / 3] + 2, kept = *place;
      for (int i = 0; i < 16; i++) z[i] = before[i] = i;
      *place = bad[k % 3];
      vin_status status = k < 9 ? kkt_factor(kkt, &p) : kkt_solve(kkt, &p, z);
      cr_expect_eq(status, VIN_ERR_BAD_INPUT, "%s", words[k / 3]);
      cr_expect(strstr(vin_kkt_error(kkt), words[k / 3]), "%s", vin_kkt_error(kkt));
      *place = kept;
      if (k < 9) cr_expect_eq(kkt_solve(kkt, &p, z), VIN_ERR_BAD_STATE);
      cr_expect_eq(memcmp(z, before, sizeof z), 0);
      /* the refused values have not got in: NULL stands for the good ones */
      if (k < 9) cr_assert_eq(vin_kkt_factor(kkt, NULL, NULL, NULL), VIN_OK);
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK, "%s", vin_kkt_error(kkt));
    }
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* Finite numbers whose sums or products are not: a status, never NaN with VIN_OK. */
Test(kkt_errors, overflow) {
  EACH_SOLVER(solver) {
    for (int kind = 0; kind < 5; kind++) {
      problem p = problem_make(2, 1);
      for (vin_int i = 0; i < 2; i++) {
        entries_add(&p.h, i, i, kind == 0 ? 1e308 : kind == 2 ? 1e-300 : 1);
        entries_add(&p.h, i, i, kind == 0 ? 1e308 : 0); /* twice 1e308 at one place */
        entries_add(&p.j, 0, i, kind == 1 || kind == 4 ? 1e200 : 1);
        p.f[i] = kind == 3 || kind == 4 ? 1e308 : 1;
      }
      p.g[0] = kind == 3 ? -1e308 : 1;
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_created(&p, &options);
      vin_status status = kkt_factor(kkt, &p);
      double z[3] = {0, 0, 0};
      if (status == VIN_OK) status = kkt_solve(kkt, &p, z);
      cr_expect(status == VIN_OK || status == VIN_SINGULAR || status == VIN_ERR_BAD_INPUT, "%s: %s",
                vin_solver_name(solver), vin_status_name(status));
      if (kind == 0) cr_expect_eq(status, VIN_ERR_BAD_INPUT, "%s", vin_kkt_error(kkt));
      for (int i = 0; i < 3; i++) cr_expect(isfinite(z[i]), "%s %d", vin_solver_name(solver), kind);
      double sum = kind == 1 || kind == 4 ? 1e-200 : 1;
      double scale = kind == 2 ? 1e300 : 1; /* of accelerations: f / H */
      if (status == VIN_OK && kind != 3)
        cr_expect_float_eq((z[0] + z[1]) / scale, sum / scale, 1e-12, "%s %d: %g",
                           vin_solver_name(solver), kind, z[0] + z[1]);
      vin_kkt_destroy(kkt);
      problem_free(&p);
    }
  }
}

/* 55: creating and destroying a thousand times, also factorising twice, leaves nothing behind (the
 * address sanitizer's run of this test checks SuiteSparse's memory too). */
Test(kkt_errors, no_leaks_55) {
  test_random random = {3};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 3}, &random);
  test_allocator allocator = {0};
  vin_context context = test_context(&allocator);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    for (int k = 0; k < 1000; k++) {
      vin_kkt *kkt = NULL;
      cr_assert_eq(vin_kkt_create(&kkt, &context, p.n, p.m, entries_pattern(&p.h),
                                  entries_pattern(&p.j), &options),
                   VIN_OK);
      for (int twice = 0; twice < k % 3; twice++) cr_assert_eq(kkt_factor(kkt, &p), VIN_OK);
      vin_kkt_destroy(kkt);
    }
  }
  cr_expect_eq(allocator.live, 0);
  problem_free(&p);
}

/* No allocation after create in our own code: steps with a known pattern ask for nothing. */
Test(kkt_errors, steps_do_not_allocate) {
  test_random random = {4};
  problem p = problem_of((mechanism){.shape = LOOP, .nodes = 8}, &random);
  EACH_SOLVER(solver) {
    test_allocator allocator = {0};
    vin_context context = test_context(&allocator);
    vin_kkt_options options = options_of(&p, solver);
    vin_kkt *kkt = NULL;
    cr_assert_eq(vin_kkt_create(&kkt, &context, p.n, p.m, entries_pattern(&p.h),
                                entries_pattern(&p.j), &options),
                 VIN_OK);
    int64_t calls = allocator.calls;
    double z[32];
    for (int k = 0; k < 3; k++) {
      cr_assert_eq(kkt_factor(kkt, &p), VIN_OK);
      cr_assert_eq(kkt_solve(kkt, &p, z), VIN_OK);
    }
    cr_expect_eq(allocator.calls, calls, "%s", vin_solver_name(solver));
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* One failing allocation: the status says so, the call can be repeated with success, and nothing
 * leaks. Returns false when allocation number `at` was never asked for. */
static bool survives_failure(const problem *p, const vin_kkt_options *options, int64_t at) {
  test_allocator allocator = {.fail_at = at};
  vin_context context = test_context(&allocator);
  vin_kkt *kkt = NULL;
  vin_status status = vin_kkt_create(&kkt, &context, p->n, p->m, entries_pattern(&p->h),
                                     entries_pattern(&p->j), options);
  if (status != VIN_OK) {
    cr_expect_eq(status, VIN_ERR_NO_MEMORY, "create: %s", vin_kkt_error(kkt));
    cr_expect(strstr(vin_kkt_error(kkt), "memory"), "%s", vin_kkt_error(kkt));
  } else {
    status = kkt_factor(kkt, p);
    if (status == VIN_ERR_NO_MEMORY) {
      cr_expect(strstr(vin_kkt_error(kkt), "memory"), "%s", vin_kkt_error(kkt));
      double z = 0;
      cr_expect_eq(vin_kkt_solve(kkt, 1, p->f, p->g, &z, &z), VIN_ERR_BAD_STATE);
      status = kkt_factor(kkt, p);
    }
    cr_expect_eq(status, VIN_OK, "factor: %s", vin_kkt_error(kkt));
    enum { COUNT = 5 }; /* more than are provided for */
    size_t n = (size_t)p->n, m = (size_t)p->m;
    double *f = calloc(COUNT * n, sizeof *f), *g = calloc(COUNT * m, sizeof *g);
    memcpy(f, p->f, n * sizeof *f), memcpy(g, p->g, m * sizeof *g);
    status = vin_kkt_solve(kkt, COUNT, f, g, f, g);
    if (status == VIN_ERR_NO_MEMORY) {
      cr_expect_eq(memcmp(f, p->f, n * sizeof *f), 0, "unchanged");
      cr_expect(strstr(vin_kkt_error(kkt), "memory"), "%s", vin_kkt_error(kkt));
      status = kkt_factor(kkt, p);
      if (status == VIN_OK) status = vin_kkt_solve(kkt, COUNT, f, g, f, g);
    }
    cr_expect_eq(status, VIN_OK, "solve: %s", vin_kkt_error(kkt));
    double *expected =
        dense_solution_without(p, vin_kkt_dropped(kkt, NULL), (const vin_int[]){p->m - 1});
    if (vin_kkt_dropped(kkt, NULL) <= 1) /* whichever of the twins was dropped, x is the same */
      cr_expect_leq(relative_difference(p->n, f, expected), 1e-11);
    free(expected), free(f), free(g);
  }
  vin_kkt_destroy(kkt);
  cr_expect_eq(allocator.live, 0, "allocation %lld: %lld blocks leak", (long long)at,
               (long long)allocator.live);
  return allocator.calls >= at;
}

Test(kkt_errors, every_allocation_may_fail) {
  test_random random = {5};
  for (int kind = 0; kind < 3; kind++) {
    mechanism what = {.shape = kind == 2 ? TREE : NET, .nodes = 9, .massive = true};
    problem p = problem_of(what, &random);
    if (kind == 1) problem_duplicate(&p, 3, 1); /* the search for dependent rows */
    vin_int node[27];
    for (vin_int i = 0; i < 27; i++) node[i] = i / 3;
    EACH_SOLVER(solver) {
      vin_kkt_options options = options_of(&p, solver);
      if (kind == 2) options.coordinate_block = node;
      int64_t at = 1;
      while (survives_failure(&p, &options, at)) at++;
      cr_expect_gt(at, 30, "the loop has seen them all");
    }
    problem_free(&p);
  }
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) return;
  problem p = problem_make(1, 1); /* UMFPACK taking over */
  entries_add(&p.h, 0, 0, 0);
  entries_add(&p.j, 0, 0, 1);
  p.f[0] = 3, p.g[0] = 7;
  vin_kkt_options options = options_of(&p, VIN_SOLVER_AUTO);
  for (int64_t at = 1; survives_failure(&p, &options, at);) at++;
  problem_free(&p);
}
