/* test_long_dae_testset - the public DAE test set within the accuracy of its references, by two methods
 * each; and a chain of 10^4 links as a DAE of index 3. */
#include "dae_pendulum.h"
#include "ivp_run.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* value: tolerance, or step of a method of vin_sim. accuracy: the reference's own where a method
 * reaches it (see tests/reference/README.md; 3e-10 and 5e-8 of positions and velocities were
 * published for Andrews' mechanism, the values used here are better); otherwise what a method of its
 * order leaves at this tolerance. The start of the crank has nine digits, which rk4, unlike codes for
 * index 2, moves onto the position constraints. */
typedef struct testset_case {
  const char *problem, *method;
  double value, accuracy;
} testset_case;

static const testset_case cases[] = {
    {"transistor", "radau", 1e-11, 1e-9}, {"transistor", "bdf", 1e-10, 5e-9},
    {"water-tube", "radau", 1e-11, 1e-6}, {"water-tube", "bdf", 1e-11, 1e-6},
    {"crank", "radau", 1e-10, 1e-6},      {"crank", "bdf", 1e-11, 1e-6},
    {"crank", "rk4", 5e-6, 1e-5},         {"fekete", "radau", 1e-9, 5e-8},
    {"fekete", "bdf", 1e-11, 1e-9},       {"fekete", "rk4", 0.025, 5e-8},
    {"andrews-1", "radau", 1e-12, 5e-9},  {"andrews-1", "bdf", 1e-12, 1e-7},
    {"andrews-2", "radau", 1e-12, 1e-8},  {"andrews-2", "bdf", 1e-12, 1e-7},
    {"andrews", "radau", 1e-12, 1e-4},    {"andrews", "bdf", 1e-12, 1e-5},
    {"andrews", "rk4", 5e-6, 1e-9},       {"caraxis-1", "radau", 1e-12, 2e-9},
    {"caraxis-1", "bdf", 1e-12, 2e-8},    {"caraxis-2", "radau", 1e-12, 1e-8},
    {"caraxis-2", "bdf", 1e-12, 2e-7},    {"caraxis", "radau", 1e-12, 1e-5},
    {"caraxis", "bdf", 1e-12, 5e-6},      {"caraxis", "rk4", 1.25e-4, 1e-8},
    {"charge-pump", "radau", 1e-4, 2e-4},
};

Test(long_dae_testset, accuracy) {
  NEEDS_UMFPACK;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const testset_case *c = cases + k;
    ivp_problem *p = ivp_create(c->problem, VINCULA_TEST_DATA);
    cr_assert_not_null(p, "%s", c->problem);
    vin_dae_integrator_method dae;
    vin_method method;
    ivp_result r;
    if (vin_dae_integrator_method_from_name(&dae, c->method) == VIN_OK) {
      r = ivp_run_dae(p, dae, c->value, NULL);
    } else {
      cr_assert_eq(vin_method_from_name(&method, c->method), VIN_OK, "%s", c->method);
      r = ivp_run_system(p, method, c->value);
    }
    cr_expect_eq(r.status, VIN_OK, "%s, %s: %s", c->problem, c->method, r.text);
    cr_expect_leq(r.error, c->accuracy, "%s, %s, %g: %g", c->problem, c->method, c->value, r.error);
    ivp_destroy(p);
  }
}

/* Fekete points at rest: lambda = -(N - 1) / 4 exactly, mu = 0, velocities 0; to 100 tolerances. */
Test(long_dae_testset, fekete_multipliers) {
  NEEDS_UMFPACK;
  ivp_problem *p = ivp_create("fekete", VINCULA_TEST_DATA);
  double y[160];
  ivp_result r = ivp_run_dae(p, VIN_DAE_BDF, 1e-9, y);
  cr_assert_eq(r.status, VIN_OK, "%s", r.text);
  for (int i = 0; i < 160; i++) {
    double expected = i < 60 ? y[i] : i >= 120 && i < 140 ? -4.75 : 0;
    cr_expect_leq(fabs(y[i] - expected), 1e-7, "unknown %d: %g", i, y[i]);
  }
  ivp_destroy(p);
}

/* ---- a chain of points and massless links in a plane, one end fixed, index 3 ------------------- */

/* y = (x, z, u, w) of each point, then the tensions over the lengths: x' = u, z' = w,
 * u' = sum of l (x_other - x), w' = -9.81 + ..., 0 = (d^2 - 1) / 2 for each link of length 1. */
typedef struct chain {
  vin_int links;
} chain;

static int chain_f(void *user, double t, const double *y, double *f) {
  vin_int links = ((const chain *)user)->links;
  const double *lambda = y + 4 * links;
  (void)t;
  for (vin_int i = 0; i < links; i++) {
    const double *at = y + 4 * i, *before = at - 4;
    double dx = at[0] - (i > 0 ? before[0] : 0), dz = at[1] - (i > 0 ? before[1] : 0);
    double *force = f + 4 * i;
    force[0] = at[2], force[1] = at[3];
    force[2] = -lambda[i] * dx;
    force[3] = -9.81 - lambda[i] * dz;
    if (i > 0) force[-2] += lambda[i] * dx, force[-1] += lambda[i] * dz;
    f[4 * links + i] = (dx * dx + dz * dz - 1) / 2;
  }
  return 0;
}

typedef struct pattern {
  vin_int count, *row, *col;
} pattern;

static void put(pattern *p, vin_int row, vin_int col) {
  p->row[p->count] = row, p->col[p->count] = col, p->count++;
}

static vin_dae *chain_dae(chain *c) {
  vin_int links = c->links, n = 5 * links;
  pattern p = {0, calloc(20 * (size_t)n, sizeof(vin_int)), calloc(20 * (size_t)n, sizeof(vin_int))};
  vin_int *diagonal = calloc((size_t)n, sizeof *diagonal),
          *index = calloc((size_t)n, sizeof *index);
  double *ones = calloc((size_t)n, sizeof *ones);
  for (vin_int i = 0; i < links; i++) {
    vin_int at = 4 * i, tension = 4 * links + i;
    for (vin_int k = 0; k < 2; k++) {
      put(&p, at + k, at + 2 + k);
      for (vin_int j = i - 1; j <= i + 1; j++) {
        if (j >= 0 && j < links) put(&p, at + 2 + k, 4 * j + k);
      }
      put(&p, at + 2 + k, tension);
      if (i + 1 < links) put(&p, at + 2 + k, tension + 1);
      put(&p, tension, at + k);
      if (i > 0) put(&p, tension, at - 4 + k);
      index[at + k] = 1, index[at + 2 + k] = 2;
    }
    index[tension] = 3;
  }
  for (vin_int i = 0; i < 4 * links; i++) diagonal[i] = i, ones[i] = 1;
  vin_dae_desc desc = vin_dae_desc_default();
  desc.unknowns = n;
  desc.mass_pattern = (vin_triplets){4 * links, diagonal, diagonal};
  desc.mass_values = ones;
  desc.function = chain_f;
  desc.jacobian_pattern = (vin_triplets){p.count, p.row, p.col};
  desc.index = index;
  desc.user = c;
  vin_dae *dae = NULL;
  cr_assert_eq(vin_dae_create(&dae, NULL, &desc), VIN_OK, "%s", vin_dae_error(dae));
  free(p.row), free(p.col), free(diagonal), free(index), free(ones);
  return dae;
}

/* The same fall by rk4 on the library's own model, step so short that its error is below 1e-9. */
static vin_sim *model_chain(vin_int links) {
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, 0, -9.81});
  vin_node end = vin_model_add_node(model, &(vin_node_desc){.fixed = true});
  for (vin_int i = 1; i <= links; i++) {
    vin_node next =
        vin_model_add_node(model, &(vin_node_desc){.position = {(double)i, 0, 0}, .mass = 1});
    vin_model_add_rod(model, &(vin_rod_desc){.a = end, .b = next});
    end = next;
  }
  vin_options options = vin_options_default();
  options.method = VIN_METHOD_RK4;
  options.step = 1e-2;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  return sim;
}

/* 5 * 10^4 unknowns: one analysis of each matrix, differences from a handful of groups, and the motion
 * of the model to 2e-4 m after 0.2 s, in which it falls by 0.2 m: the relative tolerance, 1e-7, grants
 * 1e-3 m at a distance of 10^4 m. */
Test(long_dae_testset, chain_of_ten_thousand_links) {
  NEEDS_UMFPACK;
  chain data = {.links = 10000};
  vin_sim *sim = model_chain(data.links);
  cr_assert_eq(vin_sim_run(sim, 0.2), VIN_OK, "%s", vin_sim_error(sim));
  vin_dae *dae = chain_dae(&data);
  cr_expect_leq(vin_dae_colours(dae), 24);
  double *y = calloc(5 * (size_t)data.links, sizeof *y);
  for (vin_int i = 0; i < data.links; i++) y[4 * i] = i + 1;
  EACH_METHOD(m) {
    vin_dae_integrator_options options = test_dae_options(test_dae_methods[m], 1e-7);
    vin_dae_integrator *integrator = NULL;
    cr_assert_eq(vin_dae_integrator_create(&integrator, NULL, dae, &options), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    cr_assert_eq(vin_dae_integrator_start(integrator, 0, y), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    cr_assert_eq(vin_dae_integrator_run(integrator, 0.2), VIN_OK, "%s",
                 vin_dae_integrator_error(integrator));
    const double *end = vin_dae_integrator_state(integrator).y, *p = vin_sim_state(sim).p;
    double error = 0;
    for (vin_int i = 0; i < data.links; i++) {
      error = fmax(error, fabs(end[4 * i] - p[3 * i]));
      error = fmax(error, fabs(end[4 * i + 1] - p[3 * i + 2]));
    }
    cr_expect_leq(error, 2e-4, "%g", error);
    vin_dae_integrator_stats stats = vin_dae_integrator_get_stats(integrator);
    cr_expect_eq(stats.symbolic, test_dae_methods[m] == VIN_DAE_RADAU ? 2 : 1);
    cr_expect_leq(stats.steps, 100);
    vin_dae_integrator_destroy(integrator);
  }
  free(y);
  vin_dae_destroy(dae);
  vin_sim_destroy(sim);
}
