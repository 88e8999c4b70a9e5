/* test_kkt_recursive - trees of bodies in the recursive order, against a dense solution, against the
 * Schur-type order, and in both versions of the kernel. */
#include "kkt/kkt.h"
#include "linsys/ldlt_levels_kernel.h"
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 29, COORDINATES = 6 }; /* not a multiple of four: some lanes are left over */

typedef enum form { RANDOM, STAR, CATERPILLAR, BUSH, CHAIN_OF_BODIES, FOREST, FORM_COUNT } form;

static vin_int parent_of(form f, vin_int body, test_random *random) {
  const double u = test_random_between(random, 0, 1);
  if (body == 0) return -1;
  switch (f) {
  case STAR:
    return 0;
  case CATERPILLAR: /* a spine of every third body, two legs on each */
    return body % 3 == 0 ? body - 3 : body - body % 3;
  case BUSH:
    return (body - 1) / 4;
  case CHAIN_OF_BODIES:
    return body - 1;
  case FOREST: /* the roots hang on the ground, each by its own joint */
    return body % 7 == 0 ? -1 : body - 1 - body % 2 * (body % 7 > 1);
  default:
    return (vin_int)(u * (double)body);
  }
}

typedef struct recipe {
  form form;
  double mass_ratio;      /* masses between 1 and this */
  bool compliance, loose; /* loose: body 0 is not on the ground */
} recipe;

static void put_body(problem *p, vin_int first, double mass, test_random *random) {
  for (vin_int i = 0; i < COORDINATES; i++) {
    for (vin_int j = 0; j <= i; j++) {
      const bool turns = i >= 3 && j >= 3;
      if (i == j) entries_add(&p->h, first + i, first + i, mass * (i < 3 ? 1 : 0.15));
      if (i != j && turns)
        entries_add(&p->h, first + i, first + j, mass * test_random_between(random, -0.03, 0.03));
    }
  }
}

/* Rows of a point (three) and, with five rows, of the rotation alone. */
static void put_joint(problem *p, vin_int row, vin_int rows, vin_int body, double sign,
                      test_random *random) {
  for (vin_int k = 0; k < rows && body >= 0; k++) {
    if (k < 3) entries_add(&p->j, row + k, COORDINATES * body + k, sign);
    for (vin_int d = 0; d < 3; d++) {
      if (k < 3 && d == k) continue; /* omega x r */
      entries_add(&p->j, row + k, COORDINATES * body + 3 + d,
                  test_random_between(random, -0.5, 0.5) + (k >= 3 && d == k - 3));
    }
  }
}

/* Joints of three and five rows by turns, so that bodies are of several kinds. */
static problem make(recipe what, test_random *random) {
  vin_int m = 0;
  for (vin_int k = what.loose; k < BODIES; k++) m += k % 2 ? 3 : 5;
  problem p = problem_make(COORDINATES * BODIES, m);
  vin_int row = 0;
  for (vin_int k = 0; k < BODIES; k++) {
    const double u = test_random_between(random, 0, 1);
    put_body(&p, COORDINATES * k, pow(what.mass_ratio > 0 ? what.mass_ratio : 1, u), random);
    const vin_int parent = parent_of(what.form, k, random), rows = k % 2 ? 3 : 5;
    if (what.loose && parent < 0 && k == 0) continue;
    put_joint(&p, row, rows, k, 1, random);
    put_joint(&p, row, rows, parent, -1, random);
    row += rows;
  }
  for (vin_int i = 0; i < m && what.compliance; i++) entries_add(&p.c, i, i, 0.02);
  for (vin_int i = 0; i < p.n; i++) p.f[i] = test_random_between(random, -1, 1);
  for (vin_int i = 0; i < m; i++) p.g[i] = test_random_between(random, -1, 1);
  return p;
}

/* Joint of each row; rows behind those of the joints belong to joints 2 and 10, each of which has five. */
static const vin_int *joints(const problem *p) {
  static vin_int joint[8 * BODIES];
  vin_int row = 0;
  for (vin_int k = 0; k < BODIES && row < p->m; k++) {
    for (vin_int i = 0; i < (k % 2 ? 3 : 5) && row < p->m; i++) joint[row++] = k;
  }
  for (vin_int extra = 0; row < p->m; extra++) joint[row++] = extra == 0 ? 2 : 10;
  return joint;
}

static vin_kkt_options options_for(const problem *p, vin_order order) {
  vin_kkt_options options = options_of(p, VIN_SOLVER_LDLT);
  options.order = order;
  options.constraint_block = p->m > 4 * BODIES ? joints(p) : NULL; /* not where one is missing */
  return options;
}

static vin_kkt *factored(const problem *p, vin_order order) {
  const vin_kkt_options options = options_for(p, order);
  return kkt_factored(p, &options);
}

static double *solved(vin_kkt *kkt, const problem *p) {
  double *z = malloc((size_t)(p->n + p->m) * sizeof *z);
  cr_assert_eq(kkt_solve(kkt, p, z), VIN_OK, "%s", vin_kkt_error(kkt));
  return z;
}

/* All forms, with and without compliance, with the ground and without. The tolerance is that of test_kkt.c. */
Test(kkt_recursive, against_dense_solution) {
  test_random random = {5};
  for (int which = 0; which < 4 * FORM_COUNT; which++) {
    const recipe what = {.form = (form)(which / 4), .compliance = which & 1, .loose = which & 2};
    problem p = make(what, &random);
    double *expected = dense_solution(&p);
    for (int plain = 0; plain < 2; plain++) {
      vin_kkt *kkt = factored(&p, VIN_ORDER_RECURSIVE);
      cr_assert_not_null(kkt->swift, "the order must be taken, or this tests nothing");
      cr_assert_eq(kkt->active, kkt->swift);
      vini_levels_choose_kernel((vini_levels *)kkt->swift, plain);
      cr_assert_eq(kkt_factor(kkt, &p), VIN_OK);
      double *z = solved(kkt, &p);
      cr_expect_leq(relative_difference(p.n + p.m, z, expected), 1e-11, "case %d", which);
      const vin_kkt_info info = vin_kkt_get_info(kkt);
      cr_expect_eq(info.negative_pivots, p.m);
      cr_expect_eq(vin_kkt_get_stats(kkt).reordered, 0);
      free(z);
      vin_kkt_destroy(kkt);
    }
    free(expected);
    problem_free(&p);
  }
}

/* UMFPACK shares nothing with either order. */
Test(kkt_recursive, against_umfpack) {
  if (!vin_solver_available(VIN_SOLVER_UMFPACK)) cr_skip("no UMFPACK");
  test_random random = {6};
  for (int f = 0; f < FORM_COUNT; f++) {
    problem p = make((recipe){.form = (form)f, .mass_ratio = 100}, &random);
    vin_kkt_options options = options_of(&p, VIN_SOLVER_UMFPACK);
    vin_kkt *other = kkt_factored(&p, &options), *kkt = factored(&p, VIN_ORDER_RECURSIVE);
    double *z = solved(kkt, &p), *expected = solved(other, &p);
    cr_expect_leq(relative_difference(p.n + p.m, z, expected), 1e-10, "form %d", f);
    free(z), free(expected);
    vin_kkt_destroy(kkt), vin_kkt_destroy(other);
    problem_free(&p);
  }
}

/* What is predicted to be cheaper is taken, and said; and an order that is asked for. */
Test(kkt_recursive, choice_is_described) {
  test_random random = {7};
  problem star = make((recipe){.form = STAR}, &random);
  problem chain = make((recipe){.form = CHAIN_OF_BODIES}, &random);
  struct {
    const problem *p;
    vin_order order;
    bool recursive;
  } cases[] = {{&star, VIN_ORDER_AUTO, true},
               {&star, VIN_ORDER_SCHUR, false},
               {&chain, VIN_ORDER_AUTO, false},
               {&chain, VIN_ORDER_RECURSIVE, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vin_kkt *kkt = factored(cases[i].p, cases[i].order);
    const bool said = strstr(vin_kkt_describe(kkt), "recursive order") != NULL;
    cr_expect_eq(said, cases[i].recursive, "%s", vin_kkt_describe(kkt));
    cr_expect_eq(vin_kkt_get_stats(kkt).symbolic, 1);
    vin_kkt_destroy(kkt);
  }
  vin_kkt_options options = options_of(&star, VIN_SOLVER_LDLT);
  options.order = (vin_order)17;
  vin_kkt *kkt = NULL;
  cr_expect_eq(vin_kkt_create(&kkt, NULL, star.n, star.m, entries_pattern(&star.h),
                              entries_pattern(&star.j), &options),
               VIN_ERR_BAD_INPUT);
  vin_kkt_destroy(kkt);
  problem_free(&star), problem_free(&chain);
}

/* Dependent rows are dropped and named as the Schur-type order does it, the change of order is counted, and after
 * some of them the recursive order is not tried any more. */
Test(kkt_recursive, dependent_rows_are_named_as_before) {
  test_random random = {8};
  for (int f = 0; f < FORM_COUNT; f++) {
    problem p = make((recipe){.form = (form)f}, &random);
    problem_duplicate(&p, 11, 1), problem_duplicate(&p, 40, -2);
    vin_kkt *kkt = factored(&p, VIN_ORDER_RECURSIVE), *schur = factored(&p, VIN_ORDER_SCHUR);
    const vin_int *rows, *expected;
    const vin_int count = vin_kkt_dropped(schur, &expected);
    cr_assert_not_null(kkt->swift, "the order must be tried, or this tests nothing");
    cr_assert_eq(count, 2);
    cr_assert_eq(vin_kkt_dropped(kkt, &rows), count);
    cr_expect_arr_eq(rows, expected, (size_t)count * sizeof *rows);
    double *z = solved(kkt, &p), *z_schur = solved(schur, &p);
    cr_expect_arr_eq(z, z_schur, (size_t)(p.n + p.m) * sizeof *z, "the same bits");
    for (int k = 0; k < 5; k++) cr_assert_eq(kkt_factor(kkt, &p), VIN_OK);
    cr_expect_eq(vin_kkt_get_stats(kkt).reordered, 3);
    cr_expect_eq(vin_kkt_get_stats(kkt).symbolic, 2);
    cr_expect_eq(vin_kkt_get_stats(kkt).numeric, 3 + 6);
    p.g[p.m - 1] += 1; /* contradicts row 40 */
    cr_expect_eq(kkt_solve(kkt, &p, z), VIN_SINGULAR);
    cr_expect_eq(kkt_solve(schur, &p, z), VIN_SINGULAR);
    cr_expect_str_eq(vin_kkt_error(kkt), vin_kkt_error(schur));
    free(z), free(z_schur);
    vin_kkt_destroy(kkt), vin_kkt_destroy(schur);
    problem_free(&p);
  }
}

/* A joint whose rows the body below it can't bear, by its values: two rows of it are parallel there, and differ on
 * the parent alone. The system is regular, so that the other order must solve it. */
Test(kkt_recursive, rank_in_the_parent_alone) {
  test_random random = {9};
  problem p = make((recipe){.form = BUSH}, &random);
  const vin_int row = p.m - 4, body = BODIES - 1; /* the last joint has five rows */
  for (vin_int e = 0; e < p.j.count; e++) {
    if (p.j.row[e] != row + 2 && p.j.row[e] != row + 3) continue;
    if (p.j.col[e] / COORDINATES == body) p.j.value[e] = p.j.col[e] % COORDINATES == 5 ? 1 : 0;
  }
  double *expected = dense_solution(&p);
  vin_kkt *kkt = factored(&p, VIN_ORDER_RECURSIVE);
  cr_assert_not_null(kkt->swift);
  cr_expect_eq(vin_kkt_get_stats(kkt).reordered, 1);
  cr_expect_eq(kkt->active, kkt->primary);
  double *z = solved(kkt, &p);
  cr_expect_leq(relative_difference(p.n + p.m, z, expected), 1e-11);
  free(z), free(expected);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* Neighbours of very different mass: each solution passes its check, which judges every row by its own
 * scale, in this order or the other. */
Test(kkt_recursive, extreme_masses) {
  const double ratios[] = {1e-6, 1e-3, 1e3, 1e6, 1e10};
  test_random random = {10};
  for (int f = 0; f < FORM_COUNT; f++) {
    for (size_t r = 0; r < sizeof ratios / sizeof *ratios; r++) {
      problem p = make((recipe){.form = (form)f, .mass_ratio = ratios[r]}, &random);
      vin_kkt *kkt = factored(&p, VIN_ORDER_RECURSIVE);
      free(solved(kkt, &p));
      const vin_kkt_info info = vin_kkt_get_info(kkt);
      cr_expect_leq(info.force_residual, 1e-10, "form %d, ratio %g", f, ratios[r]);
      cr_expect_leq(info.constraint_residual, 1e-10, "form %d, ratio %g", f, ratios[r]);
      cr_expect_eq(info.solver, VIN_SOLVER_LDLT);
      vin_kkt_destroy(kkt);
      problem_free(&p);
    }
  }
}

/* Bits of three right-hand sides together, one by one, and of a pass that factorises on the way. */
Test(kkt_recursive, right_hand_sides_together) {
  test_random random = {11};
  problem p = make((recipe){.form = RANDOM}, &random);
  vin_kkt *kkt = factored(&p, VIN_ORDER_RECURSIVE);
  const size_t size = (size_t)(p.n + p.m), bytes = size * sizeof(double);
  double *b = malloc(3 * bytes), *z = malloc(3 * bytes), *single = malloc(bytes);
  for (size_t i = 0; i < 3 * size; i++) b[i] = test_random_between(&random, -1, 1);
  memcpy(z, b, 3 * bytes);
  cr_assert_eq(vini_kkt_solve_plain(kkt, 3, z), VIN_OK);
  for (size_t c = 0; c < 3; c++) {
    memcpy(single, b + c * size, bytes);
    cr_assert_eq(vini_kkt_solve_plain(kkt, 1, single), VIN_OK);
    cr_expect_arr_eq(single, z + c * size, bytes, "column %zu", c);
  }
  for (vin_int count = 1; count <= 2; count++) {
    double fused[2 * (COORDINATES + 5) * BODIES];
    vini_right right;
    memcpy(fused, b, (size_t)count * bytes);
    cr_assert_eq(vini_kkt_update_solve(kkt, p.h.value, p.j.value, NULL, count, fused, &right),
                 VIN_OK);
    cr_assert_eq(right, VINI_RIGHT_SOLVED);
    cr_expect_arr_eq(fused, z, (size_t)count * bytes);
  }
  free(b), free(z), free(single);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* Every allocation fails once: when it is made, and when the other order is needed. */
Test(kkt_recursive, failed_allocations) {
  test_random random = {12};
  problem p = make((recipe){.form = CATERPILLAR}, &random);
  problem_duplicate(&p, 11, 1);
  const vin_kkt_options options = options_for(&p, VIN_ORDER_RECURSIVE);
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_kkt *kkt = NULL;
    vin_status status = vin_kkt_create(&kkt, &context, p.n, p.m, entries_pattern(&p.h),
                                       entries_pattern(&p.j), &options);
    if (status == VIN_OK) status = kkt_factor(kkt, &p);
    if (allocator.calls >= k) cr_expect_eq(status, VIN_ERR_NO_MEMORY, "allocation %d", (int)k);
    if (status == VIN_ERR_NO_MEMORY && kkt != NULL && kkt->k != NULL) { /* the next attempt works */
      cr_expect_eq(kkt_factor(kkt, &p), VIN_OK, "%s", vin_kkt_error(kkt));
    }
    vin_kkt_destroy(kkt);
    cr_assert_eq(allocator.live, 0, "allocation %d", (int)k);
    if (allocator.calls < k) break;
  }
  problem_free(&p);
}
