/* test_system - creation, ownership, names and evaluation of a system given by callbacks. The
 * derivative checker: test_system_check.c. */
#include "system/system.h"
#include "test_system_support.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static vin_system *created(const vin_system_desc *desc) {
  vin_system *system = NULL;
  cr_assert_eq(vin_system_create(&system, NULL, desc), VIN_OK, "%s", vin_system_error(system));
  return system;
}

/* ---- creation -------------------------------------------------------------------------------- */

static void refused(vin_system_desc desc, const char *words) {
  pair *data = desc.user;
  data->released = 0;
  vin_system *system = NULL;
  cr_expect_eq(vin_system_create(&system, NULL, &desc), VIN_ERR_BAD_INPUT, "%s", words);
  cr_assert(system);
  cr_expect(strstr(vin_system_error(system), words), "'%s' is not in '%s'", words,
            vin_system_error(system));
  cr_expect_eq(data->released, 1, "creation failed: the data are given back at once");
  cr_expect_eq(vin_system_positions(system), 0);
  double x[6] = {0};
  char text[200];
  cr_expect_eq(vin_system_force(system, 0, x, x, x, text, sizeof text), VIN_ERR_BAD_STATE);
  cr_expect(strstr(text, words), "the reason of the failure is repeated: %s", text);
  vin_derivative_check check;
  cr_expect_eq(vin_system_check(system, 0, x, x, 1, &check), VIN_ERR_BAD_STATE);
  vin_system_constraint_name(system, 0, text, sizeof text);
  cr_expect_str_eq(text, "constraint 0");
  vin_system_destroy(system);
  cr_expect_eq(data->released, 1, "and not once more");
}

Test(system, wrong_descriptions) {
  static const vin_int far[6] = {0, 1, 2, 3, 4, 6}, up[6] = {1, 2, 3, 4, 5, 5};
  static const vin_int below[6] = {0, 0, 1, 2, 3, 4}, at[6] = {0, 1, 2, 3, 4, 5};
  pair data = {.scale = 1};
  const vin_system_desc good = pair_desc(&data);
#define REFUSED(change, words)                                                                     \
  do {                                                                                             \
    vin_system_desc desc = good;                                                                   \
    desc.change;                                                                                   \
    refused(desc, words);                                                                          \
  } while (0)
  REFUSED(positions = 0, "positions is 0");
  REFUSED(positions = -6, "positions is -6");
  REFUSED(constraints = -1, "constraints is -1");
  REFUSED(mass = NULL, "mass callback");
  REFUSED(force = NULL, "force callback");
  REFUSED(constraint = NULL, "constraint callback");
  REFUSED(jacobian = NULL, "jacobian callback");
  REFUSED(curvature = NULL, "curvature callback");
  REFUSED(force_p_pattern.count = 0, "force_p");
  REFUSED(force_v_pattern.count = 0, "force_v");
  REFUSED(mass_pattern.row = far, "mass pattern");
  REFUSED(mass_pattern.col = NULL, "mass pattern");
  REFUSED(mass_pattern.col = up, "mass pattern");
  REFUSED(mass_pattern.count = -1, "mass pattern");
  REFUSED(mass_pattern.col = below, "VIN_MASS_DIAGONAL");
  REFUSED(jacobian_pattern.row = at, "jacobian pattern");
  REFUSED(jacobian_pattern.col = far, "jacobian pattern");
  REFUSED(constraints = 1, "jacobian pattern");
  REFUSED(positions = 5, "mass pattern");
  REFUSED(force_p_pattern.row = NULL, "force_p pattern");
  REFUSED(force_v_pattern.col = far, "force_v pattern");
#undef REFUSED
}

/* A description whose size can't be right has no fields to be trusted, release among them. */
Test(system, unreadable_description) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  size_t wrong[] = {0, 4, sizeof desc + 8};
  for (int k = 0; k < 4; k++) {
    if (k < 3) desc.struct_size = wrong[k];
    vin_system *system = NULL;
    cr_expect_eq(vin_system_create(&system, NULL, k < 3 ? &desc : NULL), VIN_ERR_BAD_INPUT);
    cr_expect(strstr(vin_system_error(system), "struct_size"), "%s", vin_system_error(system));
    cr_expect_eq(data.released, 0);
    vin_system_destroy(system);
  }
  desc = pair_desc(&data);
  cr_expect_eq(vin_system_create(NULL, NULL, &desc), VIN_ERR_BAD_INPUT);
  cr_expect_eq(data.released, 1, "a readable one is released also when there is no handle");
  vin_context context = vin_context_default();
  context.struct_size = 1;
  vin_system *system = NULL;
  cr_expect_eq(vin_system_create(&system, &context, &desc), VIN_ERR_BAD_INPUT);
  cr_expect_eq(data.released, 2);
  vin_system_destroy(system);
  cr_expect_eq(data.released, 2);
}

/* The smallest system has no constraints and no callbacks for them. */
Test(system, without_constraints) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  desc.constraints = 0;
  desc.jacobian_pattern = (vin_triplets){0, NULL, NULL};
  desc.constraint = NULL;
  desc.jacobian = NULL;
  desc.constraint_rate = NULL;
  desc.curvature = NULL;
  vin_system *system = created(&desc);
  cr_expect_eq(vin_system_positions(system), 6);
  cr_expect_eq(vin_system_constraints(system), 0);
  double p[6], v[6], none = 7;
  pair_state(&data, 0, p, v);
  cr_expect_eq(vin_system_constraint(system, 0, p, &none, NULL, 0), VIN_OK);
  cr_expect_eq(none, 7, "nothing to write");
  vin_derivative_check check;
  cr_expect_eq(vin_system_check(system, 0, p, v, 1, &check), VIN_OK, "%s", check.text);
  vin_system_destroy(system);
}

/* ---- ownership ------------------------------------------------------------------------------- */

/* Patterns and blocks are copied: the caller's arrays may go at once. */
Test(system, copies_what_it_is_given) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  vin_int block[6] = {0, 0, 0, 1, 1, 1}, one[2] = {0, 1}, *row = malloc(8 * sizeof *row);
  memcpy(row, desc.jacobian_pattern.row, 8 * sizeof *row);
  desc.jacobian_pattern.row = row;
  desc.position_block = block;
  desc.constraint_block = one;
  vin_system *system = created(&desc);
  memset(row, 0x7f, 8 * sizeof *row);
  free(row);
  block[2] = one[1] = 99;
  double p[6], v[6];
  pair_state(&data, 1, p, v);
  vin_derivative_check check;
  cr_expect_eq(vin_system_check(system, PAIR_TIME, p, v, 1, &check), VIN_OK, "%s", check.text);
  cr_expect_eq(system->desc.position_block[2], 0);
  cr_expect_eq(system->desc.constraint_block[1], 1);
  vin_system_destroy(system);
}

Test(system, released_with_the_last_reference) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  vin_system *system = created(&desc);
  cr_expect_eq(vin_system_retain(system), system);
  cr_expect_eq(vin_system_retain(system), system);
  vin_system_destroy(system);
  vin_system_destroy(system);
  cr_expect_eq(data.released, 0);
  cr_expect_eq(vin_system_positions(system), 6, "still there");
  vin_system_destroy(system);
  cr_expect_eq(data.released, 1);

  desc.release = NULL; /* optional */
  vin_system_destroy(created(&desc));
  cr_expect_eq(data.released, 1);
}

Test(system, null_handle) {
  double x[6] = {0};
  char text[64];
  vin_derivative_check check;
  cr_expect_null(vin_system_retain(NULL));
  vin_system_destroy(NULL);
  cr_expect(vin_system_error(NULL));
  cr_expect_eq(vin_system_positions(NULL), 0);
  cr_expect_eq(vin_system_constraints(NULL), 0);
  cr_expect_eq(vin_system_flags(NULL), 0);
  cr_expect_eq(vin_system_force(NULL, 0, x, x, x, text, sizeof text), VIN_ERR_BAD_INPUT);
  cr_expect(strstr(text, "NULL"), "%s", text);
  cr_expect_eq(vin_system_constraint(NULL, 0, x, x, NULL, 0), VIN_ERR_BAD_INPUT);
  cr_expect_eq(vin_system_check(NULL, 0, x, x, 1, &check), VIN_ERR_BAD_INPUT);
  vin_system_constraint_name(NULL, 3, text, sizeof text);
  cr_expect_str_eq(text, "constraint 3");
  vin_system_position_name(NULL, 4, text, sizeof text);
  cr_expect_str_eq(text, "position 4");
}

Test(system, every_allocation_may_fail) {
  vin_int block[6] = {0, 0, 0, 1, 1, 1};
  for (int64_t k = 1;; k++) {
    pair data = {.scale = 1};
    vin_system_desc desc = pair_desc(&data);
    desc.position_block = block;
    desc.constraint_block = block;
    test_allocator allocator = {.fail_at = k};
    vin_context context = test_context(&allocator);
    vin_system *system = NULL;
    vin_status status = vin_system_create(&system, &context, &desc);
    bool asked = allocator.calls >= k;
    if (status == VIN_OK) {
      cr_expect_not(asked);
      double p[6], v[6];
      pair_state(&data, 1, p, v);
      for (int64_t extra = 1;; extra++) { /* the checker allocates and gives back */
        vin_derivative_check check;
        allocator.fail_at = allocator.calls + extra;
        status = vin_system_check(system, PAIR_TIME, p, v, 1, &check);
        if (allocator.calls < allocator.fail_at) break;
        cr_expect_eq(status, VIN_ERR_NO_MEMORY);
        cr_expect(strstr(check.text, "memory"), "'%s'", check.text);
      }
      cr_expect_eq(status, VIN_OK);
    } else {
      cr_expect_eq(status, VIN_ERR_NO_MEMORY);
      cr_expect_eq(data.released, 1, "allocation %lld", (long long)k);
      cr_expect(strstr(vin_system_error(system), "memory"), "%s", vin_system_error(system));
    }
    vin_system_destroy(system);
    cr_expect_eq(data.released, 1);
    cr_expect_eq(allocator.live, 0);
    if (!asked) break;
  }
}

/* ---- evaluation ------------------------------------------------------------------------------ */

Test(system, names) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  vin_system *system = created(&desc);
  char text[64];
  vin_system_constraint_name(system, 1, text, sizeof text);
  cr_expect_str_eq(text, "drive 'plane'");
  vin_system_position_name(system, 4, text, sizeof text);
  cr_expect_str_eq(text, "y of point 'second'");
  vin_system_constraint_name(system, 0, text, 6);
  cr_expect_str_eq(text, "rod '", "cut, but terminated");
  vin_system_constraint_name(system, 2, text, sizeof text);
  cr_expect_str_eq(text, "constraint 2", "the callback never sees a wrong index");
  vin_system_position_name(system, -1, text, sizeof text);
  cr_expect_str_eq(text, "position -1");
  vin_system_constraint_name(system, 0, NULL, 10);
  vin_system_constraint_name(system, 0, text, 0);
  vin_system_destroy(system);
}

/* Each callback: a positive return and NaN ask for a smaller step, a negative one is fatal; the
 * text has the callback, the time, and the name of the entry. */
Test(system, failing_callbacks) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  vin_system *system = created(&desc);
  double p[6], v[6], out[20], more[3];
  pair_state(&data, 1, p, v);
  static const char *const cases[][2] = {{"mass", "entry 3"},
                                         {"force", "x of point 'second'"},
                                         {"constraint", "drive 'plane'"},
                                         {"jacobian", "entry 2"},
                                         {"constraint_rate", "drive 'plane'"},
                                         {"curvature", "drive 'plane'"},
                                         {"potential", "entry 0"},
                                         {"momentum", "entry 1"}};
  for (int k = 0; k < 8; k++) {
    for (int code = -7; code <= 7; code += 7) {
      data.failing = cases[k][0];
      data.code = code;
      vini_object o = {.created = VIN_OK};
      vin_status status = k == 0   ? vini_eval_mass(system, &o, 2.5, p, v, out)
                          : k == 1 ? vini_eval_force(system, &o, 2.5, p, v, out)
                          : k == 2 ? vini_eval_constraint(system, &o, 2.5, p, out)
                          : k == 3 ? vini_eval_jacobian(system, &o, 2.5, p, out)
                          : k == 4 ? vini_eval_constraint_rate(system, &o, 2.5, p, out)
                          : k == 5 ? vini_eval_curvature(system, &o, 2.5, p, v, out, NULL)
                          : k == 6 ? vini_eval_potential(system, &o, 2.5, p, out)
                                   : vini_eval_momentum(system, &o, 2.5, p, v, out, more);
      cr_expect_eq(status, code < 0 ? VIN_ERR_CALLBACK : VIN_RETRY, "%s, %d", cases[k][0], code);
      cr_expect(strstr(o.text, cases[k][0]), "%s", o.text);
      cr_expect(strstr(o.text, "t = 2.5"), "%s", o.text);
      if (code == 0) cr_expect(strstr(o.text, cases[k][1]), "%s", o.text);
      if (code != 0) cr_expect(strstr(o.text, code < 0 ? "(-7)" : "(7)"), "%s", o.text);
    }
  }
  data.failing = "force", data.code = 0; /* the public evaluation tells the same */
  char text[200], little[8];
  cr_expect_eq(vin_system_force(system, 2.5, p, v, out, text, sizeof text), VIN_RETRY);
  cr_expect(strstr(text, "x of point 'second'"), "%s", text);
  cr_expect_eq(vin_system_force(system, 2.5, p, v, out, little, sizeof little), VIN_RETRY);
  cr_expect_eq(strlen(little), 7);
  cr_expect_eq(vin_system_force(system, 2.5, p, v, out, NULL, 0), VIN_RETRY);
  vin_system_destroy(system);
}

/* What is left out: energy and momentum are NaN, Phi_t is zero, the gap is Phi. */
Test(system, absent_callbacks) {
  pair data = {.scale = 1};
  vin_system_desc desc = pair_desc(&data);
  desc.potential = NULL;
  desc.momentum = NULL;
  desc.constraint_rate = NULL;
  vin_system *system = created(&desc);
  double p[6], v[6], rate[2] = {7, 7}, energy = 0, linear[3], angular[3];
  pair_state(&data, 1, p, v);
  vini_object o = {.created = VIN_OK};
  cr_expect_eq(vini_eval_potential(system, &o, 0, p, &energy), VIN_OK);
  cr_expect(isnan(energy));
  cr_expect_eq(vini_eval_momentum(system, &o, 0, p, v, linear, angular), VIN_OK);
  cr_expect(isnan(linear[0]) && isnan(angular[2]));
  cr_expect_eq(vini_eval_constraint_rate(system, &o, 0, p, rate), VIN_OK);
  cr_expect(rate[0] == 0 && rate[1] == 0);
  cr_expect_eq(vini_constraint_gap(system, 0, 0.25), 0.25);
  vin_system_destroy(system);
}

/* Without a curvature callback it is differenced. Quadratic constraints: exact but for rounding,
 * about 1e-16 / 1e-3 of the terms; a rod in length form: ten digits, as the header says. */
Test(system, curvature_by_differences) {
  for (int kind = 0; kind < 6; kind++) {
    double scale = kind % 3 == 0 ? 1e-6 : kind % 3 == 1 ? 1 : 1e7;
    pair data = {.scale = scale, .fault = kind < 3 ? NO_FAULT : NOT_QUADRATIC};
    vin_system_desc desc = pair_desc(&data);
    desc.constraint_rate = NULL;
    vin_system *exact = created(&desc);
    desc.curvature = NULL;
    vin_system *differenced = created(&desc);
    double p[6], v[6], a[2], b[2];
    double *work = malloc(vini_curvature_work(differenced) * sizeof *work);
    vini_object o = {.created = VIN_OK};
    for (int slow = 0; slow < 3; slow++) {
      pair_state(&data, 1, p, v);
      for (int i = 0; i < 6; i++) v[i] *= slow == 0 ? 1 : slow == 1 ? 1e-8 : 0;
      cr_assert_eq(vini_eval_curvature(exact, &o, 0, p, v, a, NULL), VIN_OK);
      cr_assert_eq(vini_eval_curvature(differenced, &o, 0, p, v, b, work), VIN_OK);
      double limit = kind < 3 ? 1e-12 : 1e-9;
      cr_expect_leq(fabs(a[0] - b[0]), limit * fabs(a[0]), "%d: %.17g %.17g", kind, a[0], b[0]);
      cr_expect_float_eq(b[1], 0, 1e-12 * fabs(v[0]) * 1e3, "linear in p at fixed t");
    }
    free(work);
    vin_system_destroy(exact);
    vin_system_destroy(differenced);
  }
}
