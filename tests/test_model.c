/* Models: what the compiled system evaluates. Formulas are derived here by hand or compared with
 * finite differences; test_model_errors.c has bad input, names and failing memory. */
#include "model/compiled.h"
#include "system/system.h"
#include "test_support.h"
#include "vincula/model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_N 64 /* positions of the largest model here */

typedef struct fixture {
  vin_model *model;
  vin_system *system;
  const vin_system_desc *desc; /* the callbacks, as any user of the system has them */
  vin_int n, m;
  double p[MAX_N], v[MAX_N];
} fixture;

static void compile(fixture *x) {
  cr_assert_eq(vin_model_compile(x->model, &x->system), VIN_OK, "%s", vin_model_error(x->model));
  x->desc = &x->system->desc;
  x->n = vin_system_positions(x->system);
  x->m = vin_system_constraints(x->system);
  cr_assert_leq(x->n, MAX_N);
  cr_assert_eq(vin_model_start(x->model, x->p, x->v), VIN_OK);
}

static void release(fixture *x) {
  vin_system_destroy(x->system);
  vin_model_destroy(x->model);
}

enum { SPRINGS = 1, DAMPING = 2, UNIFORM = 4, CENTRAL = 8, FIXED = 16, MASSIVE = 32, POINTS = 64 };

/* A random net of ten nodes with every kind of element that is asked for. */
static void make_net(fixture *x, uint64_t seed, int what) {
  test_random random = {seed};
  vin_node node[10];
  x->model = vin_model_create(NULL);
  for (int k = 0; k < 10; k++) {
    vin_node_desc desc = {.mass = what & POINTS ? test_random_between(&random, 0.5, 2.0) : 0.0,
                          .fixed = what & FIXED && k % 4 == 1};
    for (int i = 0; i < 3; i++) {
      desc.position[i] = test_random_between(&random, -1.0, 1.0);
      desc.velocity[i] = desc.fixed ? 0.0 : test_random_between(&random, -1.0, 1.0);
    }
    node[k] = vin_model_add_node(x->model, &desc);
  }
  for (int k = 0; k < 10; k++) {
    /* both directions, so that each end meets lower and higher numbers and fixed nodes */
    vin_rod_desc rod = {.a = node[k], .b = node[(k + 3) % 10], .length = k % 2 ? 0.0 : 0.9};
    if (what & MASSIVE) rod.mass = what & POINTS && k % 3 == 0 ? 0.0 : 0.3 + k;
    vin_model_add_rod(x->model, &rod);
    if (!(what & SPRINGS)) continue;
    vin_spring_desc spring = {.a = node[k],
                              .b = node[(k + 1) % 10],
                              .stiffness = 10.0 + k,
                              .length = 0.1 * k,
                              .damping = what & DAMPING && k % 2 ? 3.0 : 0.0};
    vin_model_add_spring(x->model, &spring);
  }
  if (what & UNIFORM) vin_model_set_gravity(x->model, (const double[3]){1.0, -2.0, -9.81});
  if (what & CENTRAL)
    vin_model_set_central_gravity(x->model, 7.0, (const double[3]){3.0, 1.0, 2.0});
  compile(x);
}

static const int variants[] = {
    POINTS | SPRINGS | DAMPING | UNIFORM | CENTRAL | FIXED | MASSIVE,
    POINTS | SPRINGS | CENTRAL,
    POINTS | UNIFORM | FIXED,
    MASSIVE | CENTRAL | UNIFORM,
    MASSIVE | FIXED | SPRINGS | DAMPING,
    MASSIVE,
};
#define VARIANTS ((int)(sizeof variants / sizeof *variants))

/* Evaluates a matrix into a dense one, with guards on both sides of the values: the walk fills as
 * many values as the pattern has entries. */
static void dense(const fixture *x, const char *which, const double *p, const double *v,
                  double *a) {
  const vin_system_desc *d = x->desc;
  const bool mass = which[0] == 'M', jacobian = which[0] == 'J', tangent = which[0] == 'K';
  const vin_triplets pattern = mass       ? d->mass_pattern
                               : jacobian ? d->jacobian_pattern
                               : tangent  ? d->force_p_pattern
                                          : d->force_v_pattern;
  double *values = malloc(((size_t)pattern.count + 2) * sizeof *values);
  cr_assert_not_null(values);
  for (vin_int k = 0; k < pattern.count + 2; k++) values[k] = NAN;
  int result = 0;
  if (mass) result = d->mass(d->user, 0.0, p, v, values + 1);
  if (jacobian) result = d->jacobian(d->user, 0.0, p, values + 1);
  if (tangent && d->force_p != NULL) result = d->force_p(d->user, 0.0, p, v, values + 1);
  if (which[0] == 'D' && d->force_v != NULL) result = d->force_v(d->user, 0.0, p, v, values + 1);
  cr_assert_eq(result, 0);
  cr_assert(isnan(values[0]) && isnan(values[pattern.count + 1]), "%s: written outside", which);
  cr_assert_eq(vini_first_nonfinite(values + 1, pattern.count), -1, "%s: an entry not set", which);
  test_dense_from_triplets(jacobian ? x->m : x->n, x->n, pattern,
                           mass ? VIN_STORAGE_SYMMETRIC_LOWER : VIN_STORAGE_GENERAL, values + 1, a);
  free(values);
}

static double energy_at(const fixture *x, const double *p) {
  double energy = NAN;
  cr_assert_eq(x->desc->potential(x->desc->user, 0.0, p, &energy), 0);
  return energy;
}

/* ---- one rod by hand ----------------------------------------------------------------------------
 */

Test(model, one_rod_by_hand) {
  /* a at (1, 2, 3), b at (1, 5, 7): d = (0, 3, 4), |d| = 5; L = 4: Phi = 9/8, J = -+ d/4 */
  fixture x = {.model = vin_model_create(NULL)};
  const vin_node a = vin_model_add_node(
      x.model, &(vin_node_desc){.position = {1, 2, 3}, .velocity = {1, 0, 0}, .mass = 2});
  const vin_node b = vin_model_add_node(
      x.model, &(vin_node_desc){.position = {1, 5, 7}, .velocity = {0, 2, 0}, .mass = 3});
  vin_model_add_rod(x.model, &(vin_rod_desc){.a = a, .b = b, .length = 4, .mass = 6});
  vin_model_set_gravity(x.model, (const double[3]){0, 0, -10});
  compile(&x);
  double phi, curvature, J[6], M[36], f[6], linear[3], angular[3];
  x.desc->constraint(x.desc->user, 0, x.p, &phi);
  x.desc->curvature(x.desc->user, 0, x.p, x.v, &curvature);
  dense(&x, "J", x.p, x.v, J);
  dense(&x, "M", x.p, x.v, M);
  x.desc->force(x.desc->user, 0, x.p, x.v, f);
  x.desc->momentum(x.desc->user, 0, x.p, x.v, linear, angular);
  cr_assert_eq(phi, 9.0 / 8.0);
  cr_assert_eq(curvature, 5.0 / 4.0); /* w = (-1, 2, 0) */
  cr_assert_eq(test_max_difference(6, J, (const double[]){0, -0.75, -1, 0, 0.75, 1}), 0.0);
  cr_assert_float_eq(x.desc->constraint_gap(x.desc->user, 0, phi), 1.0, 1e-15);
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 6; j++) {
      /* 2 + 6/3 and 3 + 6/3 on the diagonal, 6/6 between the nodes */
      const double expected = i == j ? (i < 3 ? 4.0 : 5.0) : i % 3 == j % 3 ? 1.0 : 0.0;
      cr_assert_float_eq(M[i + 6 * j], expected, 1e-15);
    }
  }
  cr_assert_eq(test_max_difference(6, f, (const double[]){0, 0, -50, 0, 0, -60}), 0.0);
  /* V = (2 * 3 + 3 * 7 + 6 * 5) * 10; P = (2 + 3) va + (3 + 3) vb */
  cr_assert_float_eq(energy_at(&x, x.p), 570.0, 1e-12);
  cr_assert_eq(test_max_difference(3, linear, (const double[]){5, 12, 0}), 0.0);
  cr_assert_eq(vin_system_flags(x.system),
               VIN_MASS_CONSTANT | VIN_FORCE_VELOCITY_FREE | VIN_CONSTRAINT_QUADRATIC);
  release(&x);
}

Test(model, gap_is_the_elongation_without_cancellation) {
  fixture x = {.model = vin_model_create(NULL)};
  const vin_node a = vin_model_add_node(x.model, &(vin_node_desc){.fixed = 1});
  const vin_node b = vin_model_add_node(x.model, &(vin_node_desc){.position = {2}, .mass = 1});
  vin_model_add_rod(x.model, &(vin_rod_desc){.a = a, .b = b});
  compile(&x);
  /* |d| - L = s for Phi = s + s^2 / (2 L) */
  for (double s = 1e-18; s < 1e3; s *= 10.0) {
    const double gap = x.desc->constraint_gap(x.desc->user, 0, s + s * s / 4.0);
    cr_assert_float_eq(gap, s, 1e-15 * s, "s = %g: %.17g", s, gap);
  }
  cr_assert_eq(x.desc->constraint_gap(x.desc->user, 0, -1.0), -2.0); /* |d| = 0 */
  cr_assert(isfinite(x.desc->constraint_gap(x.desc->user, 0, -1.1)));
  release(&x);
}

/* ---- patterns -----------------------------------------------------------------------------------
 */

Test(model, patterns_hold_what_the_solvers_need) {
  for (int k = 0; k < VARIANTS; k++) {
    fixture x = {0};
    make_net(&x, 5, variants[k]);
    const vin_triplets mass = x.desc->mass_pattern;
    bool diagonal[MAX_N] = {false}, coupled = false;
    for (vin_int e = 0; e < mass.count; e++) {
      cr_assert_geq(mass.row[e], mass.col[e]);
      if (mass.row[e] == mass.col[e]) diagonal[mass.row[e]] = true;
      coupled |= mass.row[e] != mass.col[e];
    }
    for (vin_int i = 0; i < x.n; i++) {
      cr_assert(diagonal[i]);
      cr_assert_eq(x.desc->position_block[i], i / 3);
    }
    for (vin_int c = 0; c < x.m; c++) cr_assert_eq(x.desc->constraint_block[c], c);
    const unsigned flags = vin_system_flags(x.system);
    cr_assert_eq(coupled, (variants[k] & MASSIVE) != 0);
    cr_assert_eq((flags & VIN_MASS_DIAGONAL) == 0, coupled);
    cr_assert_eq((flags & VIN_FORCE_VELOCITY_FREE) == 0, (variants[k] & DAMPING) != 0);
    cr_assert(flags & VIN_MASS_CONSTANT && flags & VIN_CONSTRAINT_QUADRATIC);
    double M[MAX_N * MAX_N], J[MAX_N * MAX_N], K[MAX_N * MAX_N], D[MAX_N * MAX_N];
    dense(&x, "M", x.p, x.v, M);
    dense(&x, "J", x.p, x.v, J);
    dense(&x, "K", x.p, x.v, K);
    dense(&x, "D", x.p, x.v, D);
    release(&x);
  }
}

/* ---- derivatives --------------------------------------------------------------------------------
 */

Test(model, jacobian_and_curvature_are_differences_of_the_constraint) {
  for (int k = 0; k < VARIANTS; k++) {
    fixture x = {0};
    make_net(&x, 11, variants[k]);
    double J[MAX_N * MAX_N], q[MAX_N], plus[MAX_N], minus[MAX_N], here[MAX_N], a[MAX_N];
    dense(&x, "J", x.p, x.v, J);
    memcpy(q, x.p, sizeof q);
    const double s = 0.5; /* differences of a quadratic are exact for any step: rounding only */
    for (vin_int j = 0; j < x.n; j++) {
      q[j] = x.p[j] + s;
      x.desc->constraint(x.desc->user, 0, q, plus);
      q[j] = x.p[j] - s;
      x.desc->constraint(x.desc->user, 0, q, minus);
      q[j] = x.p[j];
      for (vin_int c = 0; c < x.m; c++) {
        cr_assert_float_eq((plus[c] - minus[c]) / (2 * s), J[c + j * x.m], 1e-13);
      }
    }
    x.desc->constraint(x.desc->user, 0, x.p, here);
    x.desc->curvature(x.desc->user, 0, x.p, x.v, a);
    for (vin_int i = 0; i < x.n; i++) q[i] = x.p[i] + s * x.v[i];
    x.desc->constraint(x.desc->user, 0, q, plus);
    for (vin_int i = 0; i < x.n; i++) q[i] = x.p[i] - s * x.v[i];
    x.desc->constraint(x.desc->user, 0, q, minus);
    for (vin_int c = 0; c < x.m; c++) {
      cr_assert_float_eq((plus[c] - 2 * here[c] + minus[c]) / (s * s), a[c], 1e-12 * (1 + a[c]));
    }
    release(&x);
  }
}

Test(model, forces_and_tangents_are_differences) {
  for (int k = 0; k < VARIANTS; k++) {
    fixture x = {0};
    make_net(&x, 21, variants[k]);
    const double rest[MAX_N] = {0}, s = 1e-5; /* errors: s^2 and 1e-16 / s, both about 1e-10 */
    double f[MAX_N], plus[MAX_N], minus[MAX_N], q[MAX_N], u[MAX_N];
    double K[MAX_N * MAX_N], D[MAX_N * MAX_N];
    x.desc->force(x.desc->user, 0, x.p, rest, f);
    dense(&x, "K", x.p, x.v, K);
    dense(&x, "D", x.p, x.v, D);
    memcpy(q, x.p, sizeof q);
    memcpy(u, x.v, sizeof u);
    for (vin_int j = 0; j < x.n; j++) {
      q[j] = x.p[j] + s;
      const double above = energy_at(&x, q);
      x.desc->force(x.desc->user, 0, q, x.v, plus);
      q[j] = x.p[j] - s;
      cr_assert_float_eq(-(above - energy_at(&x, q)) / (2 * s), f[j], 1e-6, "variant %d, %d", k, j);
      x.desc->force(x.desc->user, 0, q, x.v, minus);
      q[j] = x.p[j];
      for (vin_int i = 0; i < x.n; i++)
        cr_assert_float_eq((plus[i] - minus[i]) / (2 * s), K[i + j * x.n], 1e-6);
      u[j] = x.v[j] + 1.0; /* linear in v */
      x.desc->force(x.desc->user, 0, x.p, u, plus);
      u[j] = x.v[j] - 1.0;
      x.desc->force(x.desc->user, 0, x.p, u, minus);
      u[j] = x.v[j];
      for (vin_int i = 0; i < x.n; i++)
        cr_assert_float_eq((plus[i] - minus[i]) / 2.0, D[i + j * x.n], 1e-12);
    }
    vin_derivative_check check;
    cr_assert_eq(vin_system_check(x.system, 0, x.p, x.v, !(variants[k] & DAMPING), &check), VIN_OK,
                 "%s", check.text);
    release(&x);
  }
}

/* ---- energy and momentum ------------------------------------------------------------------------
 */

static void add_cross(double factor, const double *x, const double *y, double *z) {
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, l = (i + 2) % 3;
    z[i] += factor * (x[j] * y[l] - x[l] * y[j]);
  }
}

/* A slender rod as a continuum: Simpson's rule is exact for its quadratic integrands. */
Test(model, massive_rods_are_continua) {
  test_random random = {3};
  double x[4][3], u[4][3];
  fixture f = {.model = vin_model_create(NULL)};
  vin_node node[4];
  for (int k = 0; k < 4; k++) {
    vin_node_desc desc = {.fixed = k == 0, .mass = k == 0 ? 100.0 : 0.0}; /* not counted: fixed */
    test_random_fill(&random, 3, desc.position);
    if (k > 0) test_random_fill(&random, 3, desc.velocity);
    memcpy(x[k], desc.position, sizeof x[k]);
    memcpy(u[k], desc.velocity, sizeof u[k]);
    node[k] = vin_model_add_node(f.model, &desc);
  }
  double kinetic = 0, linear[3] = {0}, angular[3] = {0};
  for (int k = 0; k < 4; k++) {
    const int a = k, b = (k + 1) % 4;
    const double mass = 1.0 + k;
    vin_model_add_rod(f.model, &(vin_rod_desc){.a = node[a], .b = node[b], .mass = mass});
    for (int g = 0; g < 3; g++) {
      const double s = 0.5 * g, weight = mass * (g == 1 ? 4.0 : 1.0) / 6.0;
      double y[3], w[3];
      for (int i = 0; i < 3; i++) {
        y[i] = (1 - s) * x[a][i] + s * x[b][i];
        w[i] = (1 - s) * u[a][i] + s * u[b][i];
        linear[i] += weight * w[i];
      }
      kinetic += 0.5 * weight * test_dot(3, w, w);
      add_cross(weight, y, w, angular);
    }
  }
  compile(&f);
  double M[81], Mv[9], P[3], L[3];
  dense(&f, "M", f.p, f.v, M);
  test_dense_multiply(9, 9, M, f.v, Mv);
  cr_assert_float_eq(0.5 * test_dot(9, f.v, Mv), kinetic, 1e-14 * kinetic);
  f.desc->momentum(f.desc->user, 0, f.p, f.v, P, L);
  cr_assert_lt(test_max_difference(3, P, linear), 1e-14);
  cr_assert_lt(test_max_difference(3, L, angular), 1e-14);
  release(&f);
}

/* Internal forces and multipliers have neither resultant nor moment, and damping only takes energy.
 */
Test(model, internal_forces_keep_momentum_and_damping_dissipates) {
  fixture x = {0};
  make_net(&x, 8, POINTS | SPRINGS | DAMPING | MASSIVE);
  double f[MAX_N], still[MAX_N], J[MAX_N * MAX_N], lambda[MAX_N], reaction[MAX_N];
  const double zero[MAX_N] = {0};
  x.desc->force(x.desc->user, 0, x.p, x.v, f);
  x.desc->force(x.desc->user, 0, x.p, zero, still);
  dense(&x, "J", x.p, x.v, J);
  for (vin_int c = 0; c < x.m; c++) lambda[c] = 1.0 + c;
  test_dense_multiply_transposed(x.m, x.n, J, lambda, reaction);
  double resultant[3] = {0}, moment[3] = {0}, power = 0;
  for (vin_int i = 0; i < x.n; i++) {
    f[i] -= reaction[i]; /* the constraint acts with -J' lambda */
    resultant[i % 3] += f[i];
    power += (f[i] + reaction[i] - still[i]) * x.v[i];
    if (i % 3 == 2) add_cross(1.0, x.p + i - 2, f + i - 2, moment);
  }
  cr_assert_lt(test_max_abs(3, resultant), 1e-12);
  cr_assert_lt(test_max_abs(3, moment), 1e-12);
  cr_assert_lt(power, -1e-3);
  release(&x);
}

Test(model, positive_multiplier_pulls) {
  fixture x = {.model = vin_model_create(NULL)};
  const vin_node top =
      vin_model_add_node(x.model, &(vin_node_desc){.position = {0, 0, 5}, .fixed = 1});
  const vin_node end =
      vin_model_add_node(x.model, &(vin_node_desc){.position = {0, 0, 3}, .mass = 3});
  vin_model_add_rod(x.model, &(vin_rod_desc){.a = top, .b = end, .mass = 2});
  vin_model_set_gravity(x.model, (const double[3]){0, 0, -10});
  compile(&x);
  double J[3], f[3];
  dense(&x, "J", x.p, x.v, J);
  x.desc->force(x.desc->user, 0, x.p, x.v, f);
  /* hanging at rest: f - J' lambda = 0 with lambda = (3 + 2 / 2) g = 40 N at the lower end */
  for (int i = 0; i < 3; i++) cr_assert_eq(f[i] - J[i] * 40.0, 0.0);
  cr_assert_eq(energy_at(&x, x.p), 3 * 10 * 3.0 + 2 * 10 * 4.0); /* the rod's centre is at 4 m */
  release(&x);
}

/* ---- gravity and springs ------------------------------------------------------------------------
 */

Test(model, central_gravity_of_a_slender_rod) {
  /* Exactly, V = -mu m / L ln((ra + rb + L) / (ra + rb - L)) (MacMillan, Theory of the Potential).
   * Three Gauss points leave an error of order (L / r)^6 / 2800: 1e-9 for L / r = 0.1. */
  fixture x = {.model = vin_model_create(NULL)};
  const vin_node a = vin_model_add_node(x.model, &(vin_node_desc){.position = {10.0, 0.2, -0.3}});
  const vin_node b = vin_model_add_node(x.model, &(vin_node_desc){.position = {10.6, 0.9, 0.1}});
  vin_model_add_rod(x.model, &(vin_rod_desc){.a = a, .b = b, .mass = 3.0});
  vin_model_set_central_gravity(x.model, 5.0, NULL);
  compile(&x);
  const double ra = sqrt(test_dot(3, x.p, x.p)), rb = sqrt(test_dot(3, x.p + 3, x.p + 3));
  const double length = sqrt(0.36 + 0.49 + 0.16);
  const double exact = -15.0 / length * log((ra + rb + length) / (ra + rb - length));
  cr_assert_float_eq(energy_at(&x, x.p), exact, 2e-9 * fabs(exact));
  /* central: no moment about the centre, with the shares of both ends */
  double f[6], moment[3] = {0};
  x.desc->force(x.desc->user, 0, x.p, x.v, f);
  add_cross(1.0, x.p, f, moment);
  add_cross(1.0, x.p + 3, f + 3, moment);
  cr_assert_lt(test_max_abs(3, moment), 1e-15);
  release(&x);
}

Test(model, springs_of_zero_length_have_no_direction) {
  for (int k = 0; k < 4; k++) {
    fixture x = {.model = vin_model_create(NULL)};
    const vin_node a =
        vin_model_add_node(x.model, &(vin_node_desc){.mass = 1, .velocity = {1, 2, 3}});
    const vin_node b = vin_model_add_node(x.model, &(vin_node_desc){.mass = 1});
    vin_model_add_spring(x.model, &(vin_spring_desc){.a = a,
                                                     .b = b,
                                                     .stiffness = 5,
                                                     .length = k & 1 ? 1.0 : 0.0,
                                                     .damping = k & 2 ? 2.0 : 0.0});
    compile(&x);
    double f[6], K[36], D[36];
    x.desc->force(x.desc->user, 0, x.p, x.v, f);
    cr_assert_eq(test_max_abs(6, f), 0.0);
    dense(&x, "K", x.p, x.v, K); /* checks that all are finite */
    dense(&x, "D", x.p, x.v, D);
    cr_assert_eq(K[0], -5.0); /* exact for rest length 0 */
    release(&x);
  }
}

Test(model, a_spring_at_rest_exerts_nothing) {
  fixture x = {.model = vin_model_create(NULL)};
  const vin_node a = vin_model_add_node(x.model, &(vin_node_desc){.fixed = 1});
  const vin_node b = vin_model_add_node(x.model, &(vin_node_desc){.position = {3, 4}, .mass = 1});
  vin_model_add_spring(
      x.model, &(vin_spring_desc){.a = a, .b = b, .stiffness = 8, .length = NAN, .at_rest = 1});
  compile(&x);
  double f[3];
  x.desc->force(x.desc->user, 0, x.p, x.v, f);
  cr_assert_eq(test_max_abs(3, f), 0.0);
  x.p[0] = 6, x.p[1] = 8; /* r = 10: 8 * 5 N towards the origin */
  x.desc->force(x.desc->user, 0, x.p, x.v, f);
  cr_assert_lt(test_max_difference(3, f, (const double[]){-24, -32, 0}), 1e-14);
  cr_assert_float_eq(energy_at(&x, x.p), 100.0, 1e-13);
  release(&x);
}

/* NaN in any coordinate reaches Phi: comparisons there must not swallow it. */
Test(model, nan_reaches_the_constraint) {
  fixture x = {0};
  make_net(&x, 4, POINTS);
  for (vin_int i = 0; i < x.n; i++) {
    const double kept = x.p[i];
    double phi[MAX_N];
    x.p[i] = NAN;
    x.desc->constraint(x.desc->user, 0, x.p, phi);
    x.p[i] = kept;
    int count = 0;
    for (vin_int c = 0; c < x.m; c++) count += isnan(phi[c]) ? 1 : 0;
    cr_assert_eq(count, 2); /* each node carries two rods */
  }
  release(&x);
}
