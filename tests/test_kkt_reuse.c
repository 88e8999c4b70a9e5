/* Numeric reuse: vin_kkt_update and the policy that keeps a factorisation. */
#include "kkt/kkt.h"
#include "test_kkt_support.h"

#include "vincula/sim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values times 1 + size * u, u random in [-1, 1). */
static void perturb(entries *e, test_random *random, double size) {
  for (vin_int k = 0; k < e->count; k++) {
    e->value[k] *= 1 + size * test_random_between(random, -1, 1);
  }
}

/* One solve with the updated values, compared with a dense reference in long double: 1e-10 of the
 * largest number is what conditions of 1e5 leave. */
static void check_solution(vin_kkt *kkt, const problem *p) {
  vin_int size = p->n + p->m;
  double *x = calloc((size_t)p->n, sizeof *x), *lambda = calloc((size_t)p->m, sizeof *lambda);
  double *a = dense_matrix(p), *b = calloc((size_t)size, sizeof *b);
  memcpy(b, p->f, (size_t)p->n * sizeof *b);
  memcpy(b + p->n, p->g, (size_t)p->m * sizeof *b);
  cr_assert(test_dense_solve(size, a, b, b));
  cr_assert_eq(vin_kkt_solve(kkt, 1, p->f, p->g, x, lambda), VIN_OK, "%s", vin_kkt_error(kkt));
  double scale = test_max_abs(size, b);
  cr_assert_leq(test_max_difference(p->n, x, b), 1e-10 * scale);
  cr_assert_leq(test_max_difference(p->m, lambda, b + p->n), 1e-10 * scale);
  free(x), free(lambda), free(a), free(b);
}

/* Any number of columns at once gives what one at a time gives (to the residual that is asked for), and touches no column behind them. */
static void check_columns(vin_kkt *kkt, const problem *p) {
  enum { MOST = 5 };
  size_t n = (size_t)p->n, m = (size_t)p->m;
  double *f = calloc(MOST * n, sizeof *f), *g = calloc(MOST * m, sizeof *g);
  double *x = calloc(MOST * n, sizeof *x), *l = calloc(MOST * m, sizeof *l);
  double *one_x = calloc(n, sizeof *x), *one_l = calloc(m, sizeof *l);
  for (size_t c = 0; c < MOST; c++) {
    for (size_t i = 0; i < n; i++) f[c * n + i] = p->f[(i + c) % n];
    for (size_t i = 0; i < m; i++) g[c * m + i] = p->g[(i + c) % m];
  }
  for (vin_int count = 1; count <= MOST; count++) {
    size_t done = (size_t)count;
    for (size_t i = 0; i < MOST * n; i++) x[i] = -7;
    cr_assert_eq(vin_kkt_solve(kkt, count, f, g, x, l), VIN_OK, "%s", vin_kkt_error(kkt));
    for (size_t c = 0; c < done; c++) {
      cr_assert_eq(vin_kkt_solve(kkt, 1, f + c * n, g + c * m, one_x, one_l), VIN_OK);
      cr_assert_leq(test_max_difference(p->n, x + c * n, one_x), 1e-10 * test_max_abs(p->n, one_x),
                    "column %zu of %d", c, count);
    }
    for (size_t i = done * n; i < MOST * n; i++) cr_assert_eq(x[i], -7);
  }
  free(f), free(g), free(x), free(l), free(one_x), free(one_l);
}

static problem net(test_random *random) {
  return problem_of((mechanism){.shape = NET, .nodes = 36}, random);
}

/* Small changes: one factorisation serves 20 updates, and every solution is right. */
Test(kkt_reuse, one_factorisation_serves_small_changes) {
  EACH_SOLVER(solver) {
    test_random random = {3};
    problem p = net(&random);
    vin_kkt_options options = options_of(&p, solver);
    options.reuse = VIN_REUSE_ALWAYS;
    vin_kkt *kkt = kkt_factored(&p, &options);
    for (int step = 0; step < 20; step++) {
      perturb(&p.j, &random, 1e-4);
      perturb(&p.h, &random, 1e-4);
      cr_assert_eq(vin_kkt_update(kkt, p.h.value, p.j.value, NULL), VIN_OK);
      check_solution(kkt, &p);
    }
    check_columns(kkt, &p);
    vin_solver_stats stats = vin_kkt_get_stats(kkt);
    cr_assert_eq(stats.numeric, 1);
    cr_assert_eq(stats.kept, 20);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* Values that make the old factorisation useless: it is renewed, never a wrong answer. */
Test(kkt_reuse, useless_factorisation_is_renewed) {
  EACH_SOLVER(solver) {
    test_random random = {4};
    problem p = net(&random);
    vin_kkt_options options = options_of(&p, solver);
    options.reuse = VIN_REUSE_ALWAYS;
    vin_kkt *kkt = kkt_factored(&p, &options);
    for (int step = 0; step < 5; step++) {
      for (vin_int k = 0; k < p.j.count; k++) p.j.value[k] = test_random_between(&random, -1, 1);
      for (vin_int k = 0; k < p.h.count; k++) p.h.value[k] *= 10;
      cr_assert_eq(vin_kkt_update(kkt, p.h.value, p.j.value, NULL), VIN_OK);
      check_solution(kkt, &p);
    }
    cr_assert_gt(vin_kkt_get_stats(kkt).numeric, 1);
    vin_kkt_destroy(kkt);
    problem_free(&p);
  }
}

/* On a chain a factorisation costs less than two sweeps: the policy always renews it. */
Test(kkt_reuse, chains_are_always_factorised) {
  test_random random = {5};
  problem p = problem_of((mechanism){.shape = CHAIN, .nodes = 200}, &random);
  vin_kkt *kkt = kkt_factored(&p, NULL);
  for (int step = 0; step < 10; step++) {
    cr_assert_eq(vin_kkt_update(kkt, p.h.value, p.j.value, NULL), VIN_OK);
  }
  cr_assert_eq(vin_kkt_get_stats(kkt).kept, 0);
  cr_assert_eq(vin_kkt_get_stats(kkt).numeric, 11);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* A full J: a factorisation costs some 9 sweeps, changes of 1e-9 need two, and the policy keeps it by
 * itself; after a jump of the values it renews it by itself, too. */
Test(kkt_reuse, dear_factorisations_are_kept_by_themselves) {
  enum { N = 320, M = 280 };
  test_random random = {8};
  problem p = problem_make(N, M);
  for (vin_int i = 0; i < N; i++) entries_add(&p.h, i, i, test_random_between(&random, 1, 2));
  for (vin_int r = 0; r < M; r++) {
    for (vin_int c = 0; c < N; c++) {
      entries_add(&p.j, r, c, test_random_between(&random, -1, 1) + (r == c ? 40 : 0));
    }
  }
  test_random_fill(&random, N, p.f);
  test_random_fill(&random, M, p.g);
  vin_kkt *kkt = kkt_factored(&p, NULL);
  for (int step = 0; step < 6; step++) {
    perturb(&p.j, &random, 1e-9);
    cr_assert_eq(vin_kkt_update(kkt, NULL, p.j.value, NULL), VIN_OK);
    check_solution(kkt, &p);
  }
  cr_assert_eq(vin_kkt_get_stats(kkt).kept, 6);
  cr_assert_eq(vin_kkt_get_stats(kkt).numeric, 1);
  perturb(&p.j, &random, 0.9);
  cr_assert_eq(vin_kkt_update(kkt, NULL, p.j.value, NULL), VIN_OK);
  check_solution(kkt, &p);
  cr_assert_eq(vin_kkt_get_stats(kkt).numeric, 2);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

Test(kkt_reuse, bad_calls) {
  test_random random = {6};
  problem p = net(&random);
  vin_kkt_options options = options_of(&p, VIN_SOLVER_AUTO);
  options.reuse = (vin_reuse)9;
  vin_kkt *kkt = NULL;
  cr_assert_eq(
      vin_kkt_create(&kkt, NULL, p.n, p.m, entries_pattern(&p.h), entries_pattern(&p.j), &options),
      VIN_ERR_BAD_INPUT);
  vin_kkt_destroy(kkt);
  options.reuse = VIN_REUSE_ALWAYS;
  kkt = kkt_factored(&p, &options);
  double kept = p.j.value[3];
  p.j.value[3] = NAN;
  cr_assert_eq(vin_kkt_update(kkt, p.h.value, p.j.value, NULL), VIN_ERR_BAD_INPUT);
  p.j.value[3] = kept;
  cr_assert_eq(vin_kkt_update(kkt, NULL, p.j.value, NULL), VIN_OK);
  check_solution(kkt, &p);
  cr_assert_neq(vin_kkt_update(NULL, NULL, NULL, NULL), VIN_OK);
  vin_kkt_destroy(kkt);
  problem_free(&p);
}

/* A net of points hung from opposite corners. */
static vin_sim *hanging_net(vin_reuse reuse) {
  enum { GRID = 8 };
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node node[GRID][GRID];
  for (int i = 0; i < GRID; i++) {
    for (int j = 0; j < GRID; j++) {
      int corner = i == j && (i == 0 || i == GRID - 1);
      node[i][j] = vin_model_add_node(
          model, &(vin_node_desc){.position = {i, j, 0}, .mass = 1, .fixed = corner});
      if (i > 0) vin_model_add_rod(model, &(vin_rod_desc){.a = node[i - 1][j], .b = node[i][j]});
      if (j > 0) vin_model_add_rod(model, &(vin_rod_desc){.a = node[i][j - 1], .b = node[i][j]});
    }
  }
  vin_options options = vin_options_default();
  options.step = 1e-3;
  options.projector.kkt.reuse = reuse;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  return sim;
}

/* rattle with kept factorisations makes the same steps: each solve is iterated to rounding. */
Test(kkt_reuse, rattle_makes_the_same_steps) {
  vin_sim *kept = hanging_net(VIN_REUSE_ALWAYS), *fresh = hanging_net(VIN_REUSE_NEVER);
  cr_assert_eq(vin_sim_run(kept, 0.2), VIN_OK, "%s", vin_sim_error(kept));
  cr_assert_eq(vin_sim_run(fresh, 0.2), VIN_OK, "%s", vin_sim_error(fresh));
  vin_state_view a = vin_sim_state(kept), b = vin_sim_state(fresh);
  cr_assert_leq(test_max_difference(a.n, a.p, b.p), 1e-11);
  cr_assert_leq(test_max_difference(a.n, a.v, b.v), 1e-10);
  vin_report report = vin_sim_report(kept);
  cr_assert_leq(report.position_residual, 1e-13);
  cr_assert_leq(report.velocity_residual, 1e-13);
  vin_solver_stats stats = vin_sim_get_stats(kept).solver;
  cr_assert_gt(stats.kept, 100, "of 200 steps");
  cr_assert_lt(stats.numeric, 100);
  cr_assert_eq(vin_sim_get_stats(fresh).solver.kept, 0);
  vin_sim_destroy(kept);
  vin_sim_destroy(fresh);
}

/* vini_kkt_update_solve() against update and solve one after the other: the same bits where it has
 * solved, and where it has not, the factorisation is there all the same. Chains of rods are solved on
 * the way; nets, other solvers and a kept factorisation are not. */
static void check_update_solve(problem *p, vin_solver solver, vin_reuse reuse, vini_right right) {
  const size_t size = (size_t)p->n + (size_t)p->m;
  vin_kkt_options options = options_of(p, solver);
  options.reuse = reuse;
  vin_kkt *one = kkt_factored(p, &options), *two = kkt_factored(p, &options);
  double *b = calloc(2 * size, sizeof *b), *z = calloc(2 * size, sizeof *z);
  double *expected = calloc(2 * size, sizeof *expected);
  test_random filling = {7};
  for (size_t i = 0; i < 2 * size; i++) b[i] = test_random_between(&filling, -1, 1);
  memcpy(expected, b, 2 * size * sizeof *z);
  cr_assert_eq(vini_kkt_update_finite(two, p->h.value, p->j.value, NULL), VIN_OK);
  cr_assert_eq(vini_kkt_solve_plain(two, 2, expected), VIN_OK);
  memcpy(z, b, 2 * size * sizeof *z);
  vini_right came = VINI_RIGHT_SPOILED;
  vin_status status = vini_kkt_update_solve(one, p->h.value, p->j.value, NULL, 2, z, &came);
  cr_assert_eq(status, VIN_OK, "%s", vin_kkt_error(one));
  cr_assert_eq(came, right, "%s", vin_kkt_describe(one));
  if (came == VINI_RIGHT_INTACT) cr_assert_arr_eq(z, b, 2 * size * sizeof *z);
  if (came != VINI_RIGHT_SOLVED) {
    memcpy(z, b, 2 * size * sizeof *z);
    cr_assert_eq(vini_kkt_solve_plain(one, 2, z), VIN_OK);
  }
  cr_assert_arr_eq(z, expected, 2 * size * sizeof *z);
  vin_solver_stats first = vin_kkt_get_stats(one), second = vin_kkt_get_stats(two);
  cr_assert_eq(memcmp(&first, &second, sizeof first), 0, "every counter, too");
  vin_kkt_destroy(one);
  vin_kkt_destroy(two);
  free(b), free(z), free(expected);
}

Test(kkt_reuse, update_and_solve_in_one) {
  test_random random = {12};
  problem chain = problem_of((mechanism){.shape = CHAIN, .nodes = 600, .massive = true}, &random);
  problem square = net(&random);
  check_update_solve(&chain, VIN_SOLVER_AUTO, VIN_REUSE_AUTO, VINI_RIGHT_SOLVED);
  check_update_solve(&chain, VIN_SOLVER_AUTO, VIN_REUSE_ALWAYS, VINI_RIGHT_INTACT);
  check_update_solve(&square, VIN_SOLVER_AUTO, VIN_REUSE_NEVER, VINI_RIGHT_INTACT);
  if (vin_solver_available(VIN_SOLVER_UMFPACK)) {
    check_update_solve(&chain, VIN_SOLVER_UMFPACK, VIN_REUSE_NEVER, VINI_RIGHT_INTACT);
  }
  for (vin_int k = 0; k < chain.j.count; k++) { /* a row of zeros is dropped on the way */
    if (chain.j.row[k] == 300) chain.j.value[k] = 0;
  }
  check_update_solve(&chain, VIN_SOLVER_AUTO, VIN_REUSE_NEVER, VINI_RIGHT_SOLVED);
  problem_free(&chain);
  problem_free(&square);
}
