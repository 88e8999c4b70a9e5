/* Callbacks for rows: the same bits as without them, failures in every block, the checker. */
#include "system/system.h"
#include "test_support.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(rows);

/* A compiled model whose callbacks can fail: the n-th call of those for rows (from 1) returns `code`,
 * or gives NaN in its last number where that is 0. */
typedef struct wrapped {
  vin_system *base, *system;
  int64_t calls, fail_call;
  int code;
  vin_int wrong_row; /* whose Phi is off by 1e-9; -1: none */
} wrapped;

static const vin_system_desc *desc_of(const void *user) {
  return &((const wrapped *)user)->base->desc;
}

static int mass(void *user, double t, const double *p, const double *v, double *values) {
  return desc_of(user)->mass(desc_of(user)->user, t, p, v, values);
}

static int force(void *user, double t, const double *p, const double *v, double *f) {
  return desc_of(user)->force(desc_of(user)->user, t, p, v, f);
}

static int constraint(void *user, double t, const double *p, double *phi) {
  return desc_of(user)->constraint(desc_of(user)->user, t, p, phi);
}

static int jacobian(void *user, double t, const double *p, double *values) {
  return desc_of(user)->jacobian(desc_of(user)->user, t, p, values);
}

static int curvature(void *user, double t, const double *p, const double *v, double *a) {
  return desc_of(user)->curvature(desc_of(user)->user, t, p, v, a);
}

static int injected(wrapped *w, double *last) {
  if (++w->calls != w->fail_call) return 0;
  if (w->code == 0) *last = NAN;
  return w->code;
}

static int constraint_rows(void *user, double t, const double *p, vin_int first, vin_int end,
                           double *phi) {
  wrapped *w = user;
  desc_of(user)->constraint_rows(desc_of(user)->user, t, p, first, end, phi);
  if (w->wrong_row >= first && w->wrong_row < end) phi[w->wrong_row - first] += 1e-9;
  return injected(w, &phi[end - first - 1]);
}

static int jacobian_rows(void *user, double t, const double *p, vin_int first, vin_int end,
                         double *values) {
  desc_of(user)->jacobian_rows(desc_of(user)->user, t, p, first, end, values);
  return injected(user, values);
}

static wrapped *wrap(vin_model *model, bool rows) {
  wrapped *w = calloc(1, sizeof *w);
  w->wrong_row = -1;
  cr_assert_eq(vin_model_compile(model, &w->base), VIN_OK, "%s", vin_model_error(model));
  vin_system_desc desc = w->base->desc;
  desc.mass = mass, desc.force = force, desc.curvature = curvature;
  desc.constraint = constraint, desc.jacobian = jacobian;
  desc.constraint_rows = rows ? constraint_rows : NULL;
  desc.jacobian_rows = rows ? jacobian_rows : NULL;
  desc.potential = NULL, desc.momentum = NULL, desc.force_p = NULL, desc.force_v = NULL;
  desc.force_p_pattern = desc.force_v_pattern = (vin_triplets){0};
  desc.position_name = NULL, desc.constraint_name = NULL, desc.constraint_gap = NULL;
  desc.user = w, desc.release = NULL;
  cr_assert_eq(vin_system_create(&w->system, NULL, &desc), VIN_OK);
  return w;
}

static void unwrap(wrapped *w) {
  vin_system_destroy(w->system);
  vin_system_destroy(w->base);
  free(w);
}

/* Longer than some blocks of the elimination (256 links) and of the positions (1024 numbers). */
enum { LINKS = 1100 };

typedef enum kind { POINTS, RODS, REDUNDANT, SCATTERED, GRID, KINDS } kind;

/* Chains along x, released horizontal; REDUNDANT: rod 700 twice; SCATTERED: nodes in another order than
 * rods, so that most rows wait for the last positions; GRID: a net, which another kernel takes. */
static vin_model *model_of(kind what) {
  vin_model *model = vin_model_create(NULL);
  vin_model_set_gravity(model, (const double[3]){0, -9.81, 0});
  vin_node node[LINKS + 1];
  const bool massive = what == RODS || what == REDUNDANT;
  const int wide = 34;
  for (int k = 0; k <= LINKS; k++) {
    int at = what == SCATTERED && k > 0 ? 1 + (k - 1) * 7 % LINKS : k; /* 7 and 1100 are coprime */
    double x = what == GRID ? at % wide : at, y = what == GRID ? at / wide : 0;
    node[at] = vin_model_add_node(model, &(vin_node_desc){.position = {x, y, 0},
                                                          .fixed = at == 0,
                                                          .velocity = {0, 0, 0.01 * sin(at)},
                                                          .mass = massive ? 0 : 1});
  }
  for (int k = 0; k < LINKS; k++) {
    bool grid = what == GRID;
    if (!grid || (k + 1) % wide != 0) {
      vin_model_add_rod(model, &(vin_rod_desc){.a = node[k], .b = node[k + 1], .mass = massive});
    }
    if (grid && k + wide <= LINKS) {
      vin_model_add_rod(model, &(vin_rod_desc){.a = node[k], .b = node[k + wide]});
    }
    if (what == REDUNDANT && k == 700) {
      vin_model_add_rod(model, &(vin_rod_desc){.a = node[k], .b = node[k + 1], .mass = massive});
    }
  }
  return model;
}

typedef struct run {
  vin_integrator *integrator;
  vin_state from, to;
  vin_int n, m;
} run;

static vin_state state_of(vin_int n, vin_int m) {
  return (vin_state){.p = calloc((size_t)n, sizeof(double)),
                     .v = calloc((size_t)n, sizeof(double)),
                     .lambda = calloc((size_t)m, sizeof(double))};
}

static run run_of(const wrapped *w, const vin_model *model) {
  run r = {.n = vin_system_positions(w->system), .m = vin_system_constraints(w->system)};
  vin_options options = vin_options_default();
  cr_assert_eq(vin_integrator_create(&r.integrator, NULL, w->system, &options), VIN_OK, "%s",
               vin_integrator_error(r.integrator));
  r.from = state_of(r.n, r.m), r.to = state_of(r.n, r.m);
  cr_assert_eq(vin_model_start(model, r.from.p, r.from.v), VIN_OK);
  return r;
}

static void run_free(run *r) {
  vin_integrator_destroy(r->integrator);
  free(r->from.p), free(r->from.v), free(r->from.lambda);
  free(r->to.p), free(r->to.v), free(r->to.lambda);
}

static vin_status step(run *r, double h) {
  vin_status status = vin_integrator_step(r->integrator, &r->from, h, &r->to);
  if (status != VIN_OK) return status;
  vin_state old = r->from;
  r->from = r->to;
  r->to = old;
  return VIN_OK;
}

static void expect_same(const run *a, const run *b, const char *where) {
  cr_expect_arr_eq(a->from.p, b->from.p, (size_t)a->n * sizeof(double), "p, %s", where);
  cr_expect_arr_eq(a->from.v, b->from.v, (size_t)a->n * sizeof(double), "v, %s", where);
  cr_expect_arr_eq(a->from.lambda, b->from.lambda, (size_t)a->m * sizeof(double), "lambda, %s",
                   where);
}

/* In which blocks rows are evaluated changes no bit and no count. */
Test(rows, same_bits) {
  static const char *const names[KINDS] = {"points", "rods", "redundant", "scattered", "net"};
  for (kind what = 0; what < KINDS; what++) {
    vin_model *model = model_of(what);
    wrapped *whole = wrap(model, false), *blocks = wrap(model, true);
    run a = run_of(whole, model), b = run_of(blocks, model);
    for (int k = 0; k < 12; k++) {
      double h = k < 8 ? 1e-3 : 7e-4;
      cr_assert_eq(step(&a, h), VIN_OK, "%s: %s", names[what], vin_integrator_error(a.integrator));
      cr_assert_eq(step(&b, h), VIN_OK, "%s: %s", names[what], vin_integrator_error(b.integrator));
    }
    expect_same(&a, &b, names[what]);
    vin_stats one = vin_integrator_get_stats(a.integrator);
    vin_stats two = vin_integrator_get_stats(b.integrator);
    cr_expect_arr_eq(&one, &two, sizeof one, "%s", names[what]);
    cr_expect_gt(blocks->calls, 12, "%s", names[what]);
    run_free(&a), run_free(&b);
    unwrap(whole), unwrap(blocks);
    vin_model_destroy(model);
  }
}

/* A failure in any block, of either callback, is one of the step: the status of the callback, the start
 * untouched, and the next try as if nothing had been. */
Test(rows, failures) {
  vin_model *model = model_of(RODS);
  wrapped *good = wrap(model, true), *bad = wrap(model, true);
  static const int codes[] = {0, 3, -2};
  run probe = run_of(good, model);
  for (int k = 0; k < 4; k++) cr_assert_eq(step(&probe, 1e-3), VIN_OK);
  int64_t before = good->calls;
  cr_assert_eq(step(&probe, 1e-3), VIN_OK);
  const int64_t calls = good->calls - before; /* of the fifth step */
  cr_assert_geq(calls, 12, "both callbacks come in several blocks");
  for (int code = 0; code < 3; code++) {
    for (int64_t call = 1; call <= calls; call++) {
      run a = run_of(bad, model), b = run_of(good, model);
      for (int k = 0; k < 4; k++) cr_assert_eq(step(&a, 1e-3), VIN_OK);
      for (int k = 0; k < 4; k++) cr_assert_eq(step(&b, 1e-3), VIN_OK);
      bad->code = codes[code];
      bad->fail_call = bad->calls + call;
      vin_status status = step(&a, 1e-3);
      const char *text = vin_integrator_error(a.integrator);
      cr_assert_eq(status, codes[code] < 0 ? VIN_ERR_CALLBACK : VIN_RETRY, "call %d: %s", (int)call,
                   text);
      cr_expect_not_null(strstr(text, "_rows callback"), "%s", text);
      bad->fail_call = 0;
      expect_same(&a, &b, "after a failure");
      /* a fresh object starts from this state with the same bits */
      vin_integrator_destroy(b.integrator);
      vin_options options = vin_options_default();
      cr_assert_eq(vin_integrator_create(&b.integrator, NULL, good->system, &options), VIN_OK);
      cr_assert_eq(step(&a, 1e-3), VIN_OK, "%s", vin_integrator_error(a.integrator));
      cr_assert_eq(step(&b, 1e-3), VIN_OK);
      expect_same(&a, &b, "after the next step");
      run_free(&a), run_free(&b);
    }
  }
  run_free(&probe);
  unwrap(good), unwrap(bad);
  vin_model_destroy(model);
}

/* vin_system_check() takes each row alone, and finds one that differs by 1e-9. */
Test(rows, checker) {
  vin_model *model = vin_model_create(NULL);
  vin_node last = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int k = 1; k <= 5; k++) {
    vin_node next = vin_model_add_node(model, &(vin_node_desc){.position = {k, 0, 0}, .mass = 1});
    vin_model_add_rod(model, &(vin_rod_desc){.a = last, .b = next});
    last = next;
  }
  wrapped *w = wrap(model, true);
  double p[15], v[15];
  vin_derivative_check check;
  cr_assert_eq(vin_model_start(model, p, v), VIN_OK);
  cr_expect_eq(vin_system_check(w->system, 0, p, v, 0, &check), VIN_OK, "%s", check.text);
  w->wrong_row = 3;
  cr_expect_eq(vin_system_check(w->system, 0, p, v, 0, &check), VIN_CHECK_FAILED);
  cr_expect_str_eq(check.function, "constraint_rows");
  cr_expect_eq(check.row, 3);
  unwrap(w);
  vin_model_destroy(model);
}

/* Blocks of rows must be blocks of entries. */
Test(rows, order_of_entries) {
  static const vin_int row[] = {1, 0}, col[] = {0, 1};
  vin_system_desc desc = vin_system_desc_default();
  desc.positions = desc.constraints = 2;
  desc.mass_pattern = (vin_triplets){2, col, col};
  desc.jacobian_pattern = (vin_triplets){2, row, col};
  desc.mass = mass, desc.force = force, desc.constraint = constraint, desc.jacobian = jacobian;
  for (int k = 0; k < 2; k++) {
    desc.constraint_rows = k == 0 ? constraint_rows : NULL;
    desc.jacobian_rows = k == 0 ? NULL : jacobian_rows;
    vin_system *system = NULL;
    cr_expect_eq(vin_system_create(&system, NULL, &desc), VIN_ERR_BAD_INPUT);
    cr_expect_not_null(strstr(vin_system_error(system), "row 0, after row 1"), "%s",
                       vin_system_error(system));
    vin_system_destroy(system);
  }
}
