/* test_kkt_noise - dependent rows whose pivots do not cancel to rounding because the masses differ by
 * 1e6, and entries whose squares leave the range of doubles. All numbers are exact in binary, so that
 * dependence and consistency are exact, too. */
#include "test_kkt_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>
#include <vincula/vincula.h>

/* n diagonal masses, m rows of J; g = J x. */
static problem dense_problem(vin_int n, vin_int m, const double *mass, const double *j,
                             const double *x) {
  problem p = problem_make(n, m);
  for (vin_int i = 0; i < n; i++) entries_add(&p.h, i, i, mass[i]);
  for (vin_int i = 0; i < m; i++) {
    for (vin_int k = 0; k < n; k++) {
      if (j[i * n + k] != 0) entries_add(&p.j, i, k, j[i * n + k]);
      p.g[i] += j[i * n + k] * x[k];
    }
  }
  return p;
}

/* Factorises and solves; x must be right to `tolerance` of its largest component, and `dropped` rows
 * named. */
static void check_solved(const problem *p, vin_solver solver, vin_int dropped, const double *x,
                         double tolerance) {
  vin_kkt_options options = options_of(p, solver);
  vin_kkt *kkt = kkt_created(p, &options);
  double z[16];
  vin_status status = kkt_factor(kkt, p);
  if (status == VIN_OK) status = kkt_solve(kkt, p, z);
  cr_assert_eq(status, VIN_OK, "%s: %s", vin_solver_name(solver), vin_kkt_error(kkt));
  cr_expect_eq(vin_kkt_dropped(kkt, NULL), dropped, "%s: %d dropped", vin_solver_name(solver),
               (int)vin_kkt_dropped(kkt, NULL));
  cr_expect_leq(relative_difference(p->n, z, x), tolerance, "%s", vin_solver_name(solver));
  vin_kkt_destroy(kkt);
}

/* Four rows on two coordinates with masses 1 : 5e5. A dependent row keeps a pivot of 1e-16 times the
 * ratio of masses, above the threshold, and here of the wrong sign. */
Test(kkt_noise, dependent_rows_above_the_threshold) {
  const double mass[] = {3 * 0x1p-10, 1536}, x[] = {0.875, -0.5};
  const double j[] = {-2, 2, -2, 3, -2, -1, 0, 2};
  problem p = dense_problem(2, 4, mass, j, x);
  p.f[0] = -5, p.f[1] = -4.5;
  /* rounding times the ratio of masses */
  EACH_SOLVER(solver) check_solved(&p, solver, 2, x, 1e-9);
  problem_free(&p);
}

/* Rows that are nearly parallel, at 1/100, are independent at the same ratio of masses. */
Test(kkt_noise, independent_rows_stay) {
  const double mass[] = {3 * 0x1p-10, 1536}, x[] = {0.875, -0.5};
  const double j[] = {2, 2, 2, 2 + 0x1p-6};
  problem p = dense_problem(2, 2, mass, j, x);
  EACH_SOLVER(solver) check_solved(&p, solver, 0, x, 1e-7); /* 1e-16 x 5e5 x 64^2 / 4 */
  problem_free(&p);
}

/* Rows of size 1 and 8192: the estimated condition of the redundant matrix is 1e-12 only. A refusal is
 * a promise to notice. */
Test(kkt_noise, refused_though_the_condition_looks_good) {
  const double mass[] = {1, 4, 6}, x[] = {0.25, -0.875, 1};
  const double j[] = {2048, 0, 2048, 4096, -8192, 8192, 1.5, -2, 0, 0.375, -0.375, 0.375};
  problem p = dense_problem(3, 4, mass, j, x);
  EACH_SOLVER(solver) {
    vin_kkt_options options = options_of(&p, solver);
    options.redundancy = VIN_REDUNDANCY_REFUSE;
    vin_kkt *kkt = kkt_created(&p, &options);
    cr_expect_eq(kkt_factor(kkt, &p), VIN_SINGULAR, "%s", vin_solver_name(solver));
    cr_expect_eq(vin_kkt_dropped(kkt, NULL), 1, "%s", vin_solver_name(solver));
    vin_kkt_destroy(kkt);
  }
  problem_free(&p);
}

/* J^2 / H is 1e-365, zero in doubles. The solvers that pivot bring the rows to the size of the masses;
 * the others say what is wrong, and call no row dependent that is not. */
Test(kkt_noise, products_that_underflow) {
  const double mass[] = {0x1p240, 0x1p241}, x[] = {-0.5, 0.25};
  const double j[] = {0x1p-490, 0, 0x1p-490, 3 * 0x1p-490};
  for (vin_int m = 1; m <= 2; m++) {
    problem p = dense_problem(2, m, mass, j, x);
    p.f[0] = 0x1p239, p.f[1] = 0.25 * mass[1]; /* so that x is the solution for either m */
    EACH_SOLVER(solver) {
      if (solver == VIN_SOLVER_AUTO && !vin_solver_available(VIN_SOLVER_UMFPACK)) continue;
      if (solver == VIN_SOLVER_AUTO || solver == VIN_SOLVER_UMFPACK) {
        check_solved(&p, solver, 0, x, 1e-14);
        continue;
      }
      vin_kkt_options options = options_of(&p, solver);
      vin_kkt *kkt = kkt_created(&p, &options);
      cr_expect_eq(kkt_factor(kkt, &p), VIN_SINGULAR, "%s", vin_solver_name(solver));
      cr_expect(strstr(vin_kkt_error(kkt), "underflows") != NULL, "%s: %s", vin_solver_name(solver),
                vin_kkt_error(kkt));
      cr_expect_eq(vin_kkt_dropped(kkt, NULL), 0, "%s", vin_solver_name(solver));
      vin_kkt_destroy(kkt);
    }
    problem_free(&p);
  }
}

/* A chain of slender rods that begins to fall from the horizontal: most of its rows have no term but rounding of the
 * others', which no sweep takes away, and its least pivot ratio is 1 / (3 links) by its length. Neither is a
 * reason to refine each solution or to ask again whether it is determined. */
Test(kkt_noise, falling_chains_are_not_refined) {
  static const int links[] = {1000, 40000};
  for (int k = 0; k < 2; k++) {
    vin_model *model = vin_model_create(NULL);
    vin_node before = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
    for (int i = 1; i <= links[k]; i++) {
      vin_node node = vin_model_add_node(model, &(vin_node_desc){.position = {i, 0, 0}});
      vin_model_add_rod(model, &(vin_rod_desc){.a = before, .b = node, .mass = 1});
      before = node;
    }
    vin_model_set_gravity(model, (double[]){0, 0, -9.81});
    vin_options options = vin_options_default();
    options.method = VIN_METHOD_RK4;
    vin_sim *sim = NULL;
    cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
    cr_assert_eq(vin_sim_run(sim, 0.005), VIN_OK, "%s", vin_sim_error(sim));
    const vin_solver_stats stats = vin_sim_get_stats(sim).solver;
    cr_expect_geq(stats.solves, 20);
    cr_expect_leq(stats.refinements, 3, "%d links: %lld of %lld", links[k],
                  (long long)stats.refinements, (long long)stats.solves);
    vin_sim_destroy(sim);
    vin_model_destroy(model);
  }
}
