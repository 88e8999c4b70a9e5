/* test_ldlt_lanes - the kernel for many like bodies, in the version for this processor's vector units and in
 * the plain one, against a dense solve in long double and against each other. */
#include "linsys/ldlt_lanes_kernel.h"
#include "test_problem.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 27, COORDINATES = 6 }; /* not a multiple of four: some lanes are left over */

/* Mass, and a dense inertia. */
static void put_body(test_problem *p, test_random *random, vin_int body) {
  const vin_int first = COORDINATES * body;
  const double mass = test_random_between(random, 0.5, 1.5);
  for (vin_int d = 0; d < 3; d++) test_problem_put(p, first + d, first + d, mass);
  for (vin_int i = 3; i < 6; i++) {
    for (vin_int j = 3; j <= i; j++) {
      const double inertia =
          i == j ? test_random_between(random, 0.1, 0.2) : test_random_between(random, -0.03, 0.03);
      test_problem_put(p, first + i, first + j, inertia);
    }
  }
}

/* `rows` rows on the body: three of the point r of it, the others on its rotation alone. */
static void put_joint(test_problem *p, test_random *random, vin_int row, vin_int rows, vin_int body,
                      double sign) {
  if (body < 0) return;
  const vin_int first = COORDINATES * body;
  for (vin_int k = 0; k < rows; k++) {
    if (k < 3) test_problem_put(p, row + k, first + k, sign);
    for (vin_int d = 0; d < 3; d++) {
      if (k < 3 && d == k) continue; /* omega x r */
      test_problem_put(p, row + k, first + 3 + d, test_random_between(random, -0.5, 0.5));
    }
  }
}

/* Body k hangs on parent[k] < k by a joint of `rows` rows, -1: on the ground. The order is that of a walk from
 * the leaves: a body just before the first joint on it. */
static test_problem *tree(const vin_int *parent, vin_int rows) {
  test_random random = {11};
  test_problem *p = test_problem_new(COORDINATES * BODIES, rows * BODIES);
  bool placed[BODIES] = {false};
  vin_int count = 0;
  for (vin_int k = 0; k < BODIES; k++) put_body(p, &random, k);
  for (vin_int k = 0; k < BODIES; k++) {
    put_joint(p, &random, p->n + rows * k, rows, k, 1);
    put_joint(p, &random, p->n + rows * k, rows, parent[k], -1);
  }
  for (vin_int k = BODIES - 1; k >= 0; k--) {
    const vin_int both[2] = {k, parent[k]};
    for (int side = 0; side < 2; side++) {
      if (both[side] < 0 || placed[both[side]]) continue;
      placed[both[side]] = true;
      for (vin_int d = 0; d < COORDINATES; d++) p->order[count++] = COORDINATES * both[side] + d;
    }
    for (vin_int i = 0; i < rows; i++) p->order[count++] = p->n + rows * k + i;
  }
  return p;
}

static test_problem *chain(vin_int rows) {
  vin_int parent[BODIES];
  for (vin_int k = 0; k < BODIES; k++) parent[k] = k - 1;
  test_problem *p = tree(parent, rows);
  for (vin_int i = 0; i < p->m; i++)
    test_problem_put(p, p->n + i, p->n + i, 0); /* as vin_kkt does */
  return p;
}

/* Fours of bodies on the same one: fronts of up to 20 pivots and 25 columns. */
static test_problem *bush(vin_int rows) {
  vin_int parent[BODIES];
  for (vin_int k = 0; k < BODIES; k++) parent[k] = k == 0 ? -1 : (k - 1) / 4;
  return tree(parent, rows);
}

/* Planar bodies x, y, angle: parallelograms side by side, two rows a pin, which gives a little: rigid ones
 * would leave one degree of freedom and a large condition. */
static test_problem *ladder(void) {
  enum { LOOPS = 24, CRANKS = LOOPS + 1 };
  test_random random = {3};
  test_problem *p = test_problem_new(3 * (CRANKS + LOOPS), 2 * (CRANKS + 2 * LOOPS));
  vin_int pin[LOOPS + CRANKS + LOOPS][2], pins = 0, count = 0;
  bool placed[CRANKS + LOOPS] = {false};
  for (vin_int k = 0; k < p->n; k++)
    test_problem_put(p, k, k, test_random_between(&random, 0.5, 1));
  for (vin_int i = 0; i < CRANKS; i++) {
    pin[pins][0] = i, pin[pins++][1] = -1;
    if (i > 0) pin[pins][0] = i, pin[pins++][1] = CRANKS + i - 1;
    if (i < LOOPS) pin[pins][0] = i, pin[pins++][1] = CRANKS + i;
  }
  for (vin_int q = 0; q < pins; q++) {
    for (int side = 0; side < 2; side++) {
      const vin_int body = pin[q][side];
      if (body < 0) continue;
      for (vin_int k = 0; k < 2; k++) {
        test_problem_put(p, p->n + 2 * q + k, 3 * body + k, side == 0 ? 1 : -1);
        test_problem_put(p, p->n + 2 * q + k, 3 * body + 2, test_random_between(&random, -1, 1));
      }
      for (vin_int d = 0; d < 3 && !placed[body]; d++) p->order[count++] = 3 * body + d;
      placed[body] = true;
    }
    for (vin_int k = 0; k < 2; k++) {
      test_problem_put(p, p->n + 2 * q + k, p->n + 2 * q + k, -0.05);
      p->order[count++] = p->n + 2 * q + k;
    }
  }
  return p;
}

/* A chain whose joints have `rows` rows on all coordinates and give a little; whole: the mass of a body is a full
 * matrix, as where the reference point is not the centre of mass, else diagonal. */
static test_problem *compliant_chain(vin_int rows, bool whole) {
  test_random random = {5};
  test_problem *p = test_problem_new(COORDINATES * BODIES, rows * BODIES);
  vin_int count = 0;
  for (vin_int i = 0; i < p->n; i++) {
    test_problem_put(p, i, i, test_random_between(&random, 1, 2));
    for (vin_int j = i / COORDINATES * COORDINATES; whole && j < i; j++)
      test_problem_put(p, i, j, test_random_between(&random, -0.1, 0.1));
  }
  for (vin_int i = 0; i < p->m; i++) {
    const vin_int body = i / rows;
    for (vin_int j = COORDINATES * vini_max_int(body - 1, 0); j < COORDINATES * (body + 1); j++)
      test_problem_put(p, p->n + i, j, test_random_between(&random, -1, 1));
    test_problem_put(p, p->n + i, p->n + i, -1);
  }
  for (vin_int body = BODIES - 1; body >= 0; body--) {
    for (vin_int d = 0; body == BODIES - 1 && d < COORDINATES; d++)
      p->order[count++] = COORDINATES * body + d;
    for (vin_int d = 0; body > 0 && d < COORDINATES; d++)
      p->order[count++] = COORDINATES * (body - 1) + d;
    for (vin_int i = 0; i < rows; i++) p->order[count++] = p->n + rows * body + i;
  }
  return p;
}

enum { CASES = 8 };

static test_problem *make(int which) {
  switch (which) {
  case 0:
    return chain(3);
  case 1:
    return chain(5);
  case 2:
    return bush(3);
  case 3:
    return bush(5);
  case 4:
    return ladder();
  case 5:
    return compliant_chain(4, true);
  case 6:
    return compliant_chain(7, false);
  default: /* compliance: -C in the (2,2) block */
    break;
  }
  test_problem *p = chain(5);
  for (vin_int i = 0; i < p->m; i++) test_problem_put(p, p->n + i, p->n + i, -0.01);
  return p;
}

static vini_lanes *lanes_of(test_problem *p, bool plain) {
  cr_assert_eq(test_problem_factor(p), VIN_OK, "%s", vini_text(p->object));
  cr_assert(vini_is_lanes(p->backend), "the kernel must be taken, or this tests nothing");
  vini_lanes_choose_kernel((vini_lanes *)p->backend, plain);
  cr_assert_eq(test_problem_factor(p), VIN_OK);
  return (vini_lanes *)p->backend;
}

/* Solutions agree with the dense one to rounding (condition below 1e5), inertia is right, five right-hand
 * sides give the bits of single ones. */
static void check(test_problem *p, bool plain) {
  enum { COLUMNS = 5 };
  lanes_of(p, plain);
  const vin_int size = p->n + p->m;
  cr_assert_eq(test_problem_info(p).negative, p->m);
  cr_assert_eq(test_problem_info(p).zero, 0);
  double *dense = test_problem_dense(p), *b = test_random_vector(COLUMNS * size, 3);
  double *expected = calloc((size_t)size, sizeof(double)), *one = calloc((size_t)size, sizeof *one);
  double *all = calloc(COLUMNS * (size_t)size, sizeof *all);
  memcpy(all, b, COLUMNS * (size_t)size * sizeof *b);
  cr_assert_eq(p->backend->table->solve(p->backend, COLUMNS, all), VIN_OK);
  for (vin_int c = 0; c < COLUMNS; c++) {
    memcpy(one, b + c * size, (size_t)size * sizeof *b);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, one), VIN_OK);
    if (c == 0) {
      cr_assert(test_dense_solve(size, dense, b, expected));
      cr_assert_leq(test_max_difference(size, one, expected), 1e-11 * test_max_abs(size, expected));
    }
    cr_assert_arr_eq(all + c * size, one, (size_t)size * sizeof *one);
  }
  free(dense);
  free(b);
  free(expected);
  free(one);
  free(all);
}

Test(ldlt_lanes, against_dense_solution) {
  for (int which = 0; which < CASES; which++) {
    for (int plain = 0; plain < 2; plain++) {
      test_problem *p = make(which);
      check(p, plain);
      test_problem_free(p);
    }
  }
}

/* Fused multiply-add rounds once where plain code rounds twice: same pivots to a few roundings. */
Test(ldlt_lanes, versions_agree) {
  for (int which = 0; which < CASES; which++) {
    test_problem *p = make(which);
    const vin_int size = p->n + p->m;
    double *d[2], *scale[2];
    for (int plain = 0; plain < 2; plain++) {
      lanes_of(p, plain);
      d[plain] = calloc((size_t)size, sizeof(double));
      scale[plain] = calloc((size_t)size, sizeof(double));
      cr_assert(p->backend->table->pivots(p->backend, d[plain], scale[plain]));
    }
    for (vin_int k = 0; k < size; k++) {
      cr_assert_float_eq(d[0][k], d[1][k], 1e-12 * scale[0][k]);
      cr_assert_float_eq(scale[0][k], scale[1][k], 1e-12 * scale[0][k]);
      cr_assert_geq(scale[0][k], fabs(d[0][k]) * (1 - 1e-12));
    }
    for (int plain = 0; plain < 2; plain++) free(d[plain]), free(scale[plain]);
    test_problem_free(p);
  }
}

/* What info tells of the pivots is what pivots() lists. */
Test(ldlt_lanes, info_is_of_the_pivots) {
  for (int plain = 0; plain < 2; plain++) {
    test_problem *p = chain(5);
    const vin_int size = p->n + p->m;
    lanes_of(p, plain);
    double *d = calloc((size_t)size, sizeof *d), *scale = calloc((size_t)size, sizeof *scale);
    double least = HUGE_VAL, most = 0, ratio = HUGE_VAL;
    cr_assert(p->backend->table->pivots(p->backend, d, scale));
    for (vin_int k = 0; k < size; k++) {
      least = fmin(least, fabs(d[k]));
      most = fmax(most, fabs(d[k]));
      ratio = fmin(ratio, fabs(d[k]) / scale[k]);
    }
    const vini_factor_info info = test_problem_info(p);
    cr_assert_float_eq(info.rcond, least / most, 1e-14 * least / most);
    cr_assert_float_eq(info.min_pivot_ratio, ratio, 1e-14 * ratio);
    free(d);
    free(scale);
    test_problem_free(p);
  }
}

static void clear_row(vin_sparse *matrix, vin_int row) {
  for (vin_int j = 0; j < matrix->cols; j++) {
    for (vin_int at = matrix->start[j]; at < matrix->start[j + 1]; at++) {
      if (matrix->row[at] == row || j == row) matrix->value[at] = 0;
    }
  }
}

/* A row of zeros, of a joint in a front: dropped where that is allowed, with a multiplier of exactly 0; where
 * it is not, it breaks the factorisation down, naming the unknown. */
Test(ldlt_lanes, dropped_row) {
  for (int which = 0; which < 4; which++) {
    for (int plain = 0; plain < 2; plain++) {
      test_problem *p = make(which);
      const vin_int size = p->n + p->m, zero_row = p->n + p->m / 2;
      lanes_of(p, plain);
      clear_row(p->matrix, zero_row);
      cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_SINGULAR);
      char name[32];
      snprintf(name, sizeof name, "unknown %d ", (int)zero_row);
      cr_assert(strstr(vini_text(p->object), name), "%s", vini_text(p->object));
      unsigned char *droppable = calloc((size_t)size, 1);
      memset(droppable + p->n, 1, (size_t)p->m);
      vini_ldlt_set_drop(p->backend, droppable, 1e-11);
      cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_OK);
      const unsigned char *dropped = vini_ldlt_dropped(p->backend);
      for (vin_int k = 0; k < size; k++) cr_assert_eq(dropped[k], k == zero_row);
      cr_assert_eq(test_problem_info(p).negative, p->m - 1);
      cr_assert_eq(test_problem_info(p).zero, 1);
      double *b = test_random_vector(size, 9);
      cr_assert_eq(p->backend->table->solve(p->backend, 1, b), VIN_OK);
      cr_assert_eq(b[zero_row], 0);
      free(b);
      free(droppable);
      test_problem_free(p);
    }
  }
}

/* A pivot that breaks down in one lane of a batch is named, in whatever lane it is, and the next regular values
 * are factorised as if nothing had been. */
Test(ldlt_lanes, breakdown_in_a_lane) {
  for (int plain = 0; plain < 2; plain++) {
    test_problem *p = chain(5);
    const vin_int size = p->n + p->m;
    lanes_of(p, plain);
    const size_t entries = (size_t)p->matrix->start[size];
    double *values = malloc(entries * sizeof *values), *before = test_random_vector(size, 4);
    double *after = test_random_vector(size, 4);
    memcpy(values, p->matrix->value, entries * sizeof *values);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, before), VIN_OK);
    for (vin_int body = 0; body < BODIES; body++) {
      const vin_int massless = COORDINATES * body;
      p->matrix->value[p->matrix->start[massless]] = 0; /* x is the first to be eliminated */
      cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_SINGULAR);
      char name[32];
      snprintf(name, sizeof name, "unknown %d ", (int)massless);
      cr_assert(strstr(vini_text(p->object), name), "%s", vini_text(p->object));
      cr_assert_eq(p->backend->table->solve(p->backend, 1, after), VIN_ERR_BAD_STATE);
      memcpy(p->matrix->value, values, entries * sizeof *values);
    }
    cr_assert_eq(p->backend->table->factor(p->backend, p->matrix), VIN_OK);
    cr_assert_eq(p->backend->table->solve(p->backend, 1, after), VIN_OK);
    cr_assert_arr_eq(after, before, (size_t)size * sizeof *after);
    free(values);
    free(before);
    free(after);
    test_problem_free(p);
  }
}

/* Bits depend neither on earlier factorisations nor on the object. */
Test(ldlt_lanes, same_bits_in_another_object) {
  test_problem *p = bush(5), *q = bush(5);
  const vin_int size = p->n + p->m;
  lanes_of(p, false);
  lanes_of(q, false);
  double *x = test_random_vector(size, 8), *y = test_random_vector(size, 8);
  cr_assert_eq(p->backend->table->solve(p->backend, 1, x), VIN_OK);
  cr_assert_eq(q->backend->table->solve(q->backend, 1, y), VIN_OK);
  cr_assert_arr_eq(x, y, (size_t)size * sizeof *x);
  free(x);
  free(y);
  test_problem_free(p);
  test_problem_free(q);
}

static vin_int chain_fronts(const test_problem *p, vin_int pivots, vin_int rows) {
  const vini_lane_plan *plan = &((const vini_lanes *)p->backend)->plan;
  vin_int count = 0;
  for (vin_int f = 0; f < plan->front_count; f++) {
    const vini_lane_front *front = &plan->front[f];
    count += front->chain && front->pivots == pivots && front->rows == rows;
  }
  return count;
}

/* The tests above meet the unrolled fronts, general ones, and lanes left over. */
Test(ldlt_lanes, what_is_tested) {
  static const vin_int known[][3] = {{0, 3, 3}, {1, 5, 5}, {4, 4, 2}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    test_problem *p = make((int)known[k][0]);
    lanes_of(p, false);
    cr_assert_geq(chain_fronts(p, known[k][1], known[k][2]), 10, "case %d", (int)known[k][0]);
    test_problem_free(p);
  }
  test_problem *p = bush(5);
  const vini_lane_plan *plan = &lanes_of(p, false)->plan;
  vin_int widest = 0, partial = 0;
  for (vin_int f = 0; f < plan->front_count; f++) {
    if (plan->front[f].pivots > widest) widest = plan->front[f].pivots;
  }
  for (vin_int k = 0; k < plan->batch_count; k++) partial += plan->batch[k].count < VINI_LANES;
  cr_assert_geq(widest, 15);
  cr_assert_geq(partial, 1);
  test_problem_free(p);
}

/* What kinds of leaves all cases have: programs, bodies by the number of coupled columns, and batches by whether
 * their entries are one run in the matrix or several. */
Test(ldlt_lanes, kinds_of_leaves_tested) {
  enum { PROGRAM = 7 };
  vin_int kinds[PROGRAM + 1] = {0}, runs[2] = {0}, side_by_side = 0;
  for (int which = 0; which < CASES; which++) {
    test_problem *p = make(which);
    const vini_lane_plan *plan = &lanes_of(p, false)->plan;
    for (vin_int k = 0; k < plan->kind_count; k++) {
      const vini_leaf_kind *kind = &plan->kind[k];
      kinds[kind->body ? kind->coupled : PROGRAM]++;
    }
    for (vin_int k = 0; k < plan->batch_count; k++) {
      const vini_batch *batch = &plan->batch[k];
      if (plan->kind[batch->kind].body) runs[plan->code[batch->run] > 1]++;
      side_by_side += batch->pivot_run;
    }
    test_problem_free(p);
  }
  cr_expect_geq(kinds[0], 1);
  cr_expect_geq(kinds[2], 1);
  cr_expect_geq(kinds[3], 1);
  cr_expect_geq(kinds[6], 1);
  cr_expect_geq(kinds[PROGRAM], 1);
  cr_expect_geq(runs[0], 10);
  cr_expect_geq(runs[1], 1);
  cr_expect_geq(side_by_side, 10);
}

/* Every allocation of create fails once, in turn: nothing leaks and the text says so. Factor and solve do not
 * allocate. */
Test(ldlt_lanes, allocation_failures_are_survived) {
  test_problem *p = bush(5);
  test_problem_compress(p);
  bool reached = true;
  for (int64_t k = 1; reached; k++) {
    cr_assert_lt(k, 1000);
    test_allocator allocator = {.fail_at = 0};
    const vin_context context = test_context(&allocator);
    vini_object *object = NULL;
    cr_assert_eq(vini_object_begin((void **)&object, &context, sizeof *object), VIN_OK);
    allocator.fail_at = allocator.calls + k;
    vini_backend *backend = NULL;
    const vin_status status = vini_ldlt_create(&backend, object, p->matrix, p->order);
    reached = allocator.calls >= allocator.fail_at;
    if (reached) {
      cr_assert_eq(status, VIN_ERR_NO_MEMORY, "allocation %d", (int)k);
      cr_assert_null(backend);
      cr_assert(strstr(vini_text(object), "no memory"), "%s", vini_text(object));
    } else {
      cr_assert_eq(status, VIN_OK);
      cr_assert(vini_is_lanes(backend));
      const int64_t calls = allocator.calls;
      double *b = test_random_vector(p->n + p->m, 1);
      cr_assert_eq(backend->table->factor(backend, p->matrix), VIN_OK);
      cr_assert_eq(backend->table->solve(backend, 1, b), VIN_OK);
      cr_assert_eq(allocator.calls, calls);
      backend->table->destroy(backend);
      free(b);
    }
    vini_object_destroy(object);
    cr_assert_eq(allocator.live, 0);
  }
  test_problem_free(p);
}
