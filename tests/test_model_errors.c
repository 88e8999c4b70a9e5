/* Models: bad input with its text, names and numbering, failing memory, size. */
#include "model/model.h"
#include "system/system.h"
#include "test_support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- bad input ----------------------------------------------------------------------------------
 */

/* A model with fixed nodes 0 'wall', 1 at (5, 0, 0); free nodes 2 'end' at (1, 0, 0), 3 at (2, 0,
 * 0), 4 at the place of 3. */
static vin_model *base_model(void) {
  vin_model *m = vin_model_create(NULL);
  vin_model_add_node(m, &(vin_node_desc){.fixed = 1, .name = "wall"});
  vin_model_add_node(m, &(vin_node_desc){.fixed = 1, .position = {5}});
  vin_model_add_node(m, &(vin_node_desc){.position = {1}, .mass = 1, .name = "end"});
  vin_model_add_node(m, &(vin_node_desc){.position = {2}, .mass = 1});
  vin_model_add_node(m, &(vin_node_desc){.position = {2}, .mass = 1});
  cr_assert_eq(vin_model_status(m), VIN_OK);
  return m;
}

typedef enum kind { NODE, ROD, SPRING, GRAVITY, CENTRAL } kind;

typedef struct bad {
  kind kind;
  const char *text; /* what the message says */
  vin_node_desc node;
  vin_rod_desc rod;
  vin_spring_desc spring;
  double gravity[3], mu;
} bad;

static const bad bad_input[] = {
    {NODE, "node 'a': y of the position is nan m", .node = {.position = {0, NAN}, .name = "a"}},
    {NODE, "node 5: z of the velocity is -inf m/s", .node = {.velocity = {0, 0, -INFINITY}}},
    {NODE, "node 5: the mass is -2 kg", .node = {.mass = -2}},
    {NODE, "node 5: the mass is nan kg", .node = {.mass = NAN}},
    {NODE, "node 5: it is fixed, but x of its velocity is 0.5 m/s",
     .node = {.fixed = 1, .velocity = {0.5}}},
    {ROD, "rod 'r': end b is node 5, but the model has 5 nodes",
     .rod = {.a = {2}, .b = {5}, .name = "r"}},
    {ROD, "rod 0: end a is node -1", .rod = {.a = {-1}, .b = {2}}},
    {ROD, "rod 0: it joins node 'end' to itself", .rod = {.a = {2}, .b = {2}}},
    {ROD, "rod 0: its ends, node 'wall' and node 1, are both fixed", .rod = {.a = {0}, .b = {1}}},
    {ROD, "rod 0: its ends, node 3 and node 4, are at the same place", .rod = {.a = {3}, .b = {4}}},
    {ROD, "rod 0: its ends, node 3 and node 4, are at the same place",
     .rod = {.a = {3}, .b = {4}, .length = 1.0}},
    {ROD, "rod 0: the length is -1 m", .rod = {.a = {2}, .b = {3}, .length = -1.0}},
    {ROD, "rod 0: the length is nan m", .rod = {.a = {2}, .b = {3}, .length = NAN}},
    {ROD, "rod 0: the length is 1e-200 m", .rod = {.a = {2}, .b = {3}, .length = 1e-200}},
    {ROD, "rod 0: the length is 1e+200 m", .rod = {.a = {2}, .b = {3}, .length = 1e200}},
    {ROD, "rod 0: the mass is -1 kg", .rod = {.a = {2}, .b = {3}, .mass = -1.0}},
    {ROD, "rod 0: the mass is inf kg", .rod = {.a = {2}, .b = {3}, .mass = INFINITY}},
    {SPRING, "spring 's': end b is node 9", .spring = {.a = {2}, .b = {9}, .name = "s"}},
    {SPRING, "spring 0: it joins node 3 to itself", .spring = {.a = {3}, .b = {3}}},
    {SPRING, "spring 0: the stiffness is -1 N/m", .spring = {.a = {2}, .b = {3}, .stiffness = -1}},
    {SPRING, "spring 0: the stiffness is nan N/m",
     .spring = {.a = {2}, .b = {3}, .stiffness = NAN}},
    {SPRING, "spring 0: the length at rest is -1 m",
     .spring = {.a = {2}, .b = {3}, .stiffness = 1, .length = -1}},
    {SPRING, "spring 0: the damping is -3 N s/m", .spring = {.a = {2}, .b = {3}, .damping = -3}},
    {GRAVITY, "gravity: y of the acceleration is inf m/s^2", .gravity = {0, INFINITY}},
    {CENTRAL, "central gravity: the parameter mu = G M is -1 m^3/s^2", .mu = -1},
    {CENTRAL, "central gravity: x of the centre is nan m", .mu = 1, .gravity = {NAN}},
};

Test(model_errors, each_bad_input_is_named_and_sticks) {
  for (size_t k = 0; k < sizeof bad_input / sizeof *bad_input; k++) {
    const bad *b = &bad_input[k];
    vin_model *m = base_model();
    vin_int index = -1;
    if (b->kind == NODE) index = vin_model_add_node(m, &b->node).index;
    if (b->kind == ROD) index = vin_model_add_rod(m, &b->rod).index;
    if (b->kind == SPRING) index = vin_model_add_spring(m, &b->spring).index;
    if (b->kind == GRAVITY) vin_model_set_gravity(m, b->gravity);
    if (b->kind == CENTRAL) vin_model_set_central_gravity(m, b->mu, b->gravity);
    cr_assert_eq(index, -1);
    cr_assert_eq(vin_model_status(m), VIN_ERR_BAD_INPUT, "%s: not refused", b->text);
    cr_assert_not_null(strstr(vin_model_error(m), b->text), "expected '%s', text '%s'", b->text,
                       vin_model_error(m));
    char first[VINI_TEXT_SIZE];
    snprintf(first, sizeof first, "%s", vin_model_error(m));
    /* later calls, right or wrong, do nothing */
    cr_assert_eq(vin_model_add_node(m, &(vin_node_desc){.mass = 1}).index, -1);
    cr_assert_eq(vin_model_add_rod(m, NULL).index, -1);
    vin_model_set_gravity(m, (const double[3]){NAN});
    vin_system *system = (vin_system *)m;
    double p[9], v[9];
    cr_assert_eq(vin_model_compile(m, &system), VIN_ERR_BAD_INPUT);
    cr_assert_null(system);
    cr_assert_eq(vin_model_start(m, p, v), VIN_ERR_BAD_INPUT);
    cr_assert_str_eq(vin_model_error(m), first);
    cr_assert_eq(vin_model_nodes(m), 5);
    vin_model_destroy(m);
  }
}

Test(model_errors, missing_descriptions) {
  vin_model *m = base_model();
  cr_assert_eq(vin_model_add_spring(m, NULL).index, -1);
  cr_assert_str_eq(vin_model_error(m), "spring 0: its description is NULL");
  vin_model_destroy(m);
  m = base_model();
  vin_model_set_gravity(m, NULL);
  cr_assert_eq(vin_model_status(m), VIN_ERR_BAD_INPUT);
  vin_model_destroy(m);
}

Test(model_errors, everything_accepts_null) {
  vin_system *system;
  double x[3];
  vin_model_destroy(NULL);
  vin_model_set_gravity(NULL, x);
  vin_model_set_central_gravity(NULL, 1, NULL);
  cr_assert_eq(vin_model_status(NULL), VIN_ERR_BAD_INPUT);
  cr_assert_not_null(vin_model_error(NULL));
  cr_assert_eq(vin_model_add_node(NULL, &(vin_node_desc){.mass = 1}).index, -1);
  cr_assert_eq(vin_model_add_rod(NULL, &(vin_rod_desc){.a = {0}, .b = {1}}).index, -1);
  cr_assert_eq(vin_model_add_spring(NULL, &(vin_spring_desc){.a = {0}, .b = {1}}).index, -1);
  cr_assert_eq(vin_model_nodes(NULL) + vin_model_rods(NULL), 0);
  cr_assert_eq(vin_model_node_position(NULL, (vin_node){0}), -1);
  cr_assert_eq(vin_model_rod_constraint(NULL, (vin_rod){0}), -1);
  cr_assert_eq(vin_model_find_node(NULL, "a").index, -1);
  cr_assert_eq(vin_model_compile(NULL, &system), VIN_ERR_BAD_INPUT);
  cr_assert_null(system);
  cr_assert_eq(vin_model_start(NULL, x, x), VIN_ERR_BAD_INPUT);
  vin_model *m = base_model();
  cr_assert_eq(vin_model_compile(m, NULL), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_model_start(m, NULL, x), VIN_ERR_BAD_INPUT);
  cr_assert_eq(vin_model_find_node(m, NULL).index, -1);
  vin_model_destroy(m);
}

static void assert_compile_fails(vin_model *m, vin_status status, const char *text) {
  vin_system *system;
  cr_assert_eq(vin_model_compile(m, &system), status);
  cr_assert_null(system);
  cr_assert_not_null(strstr(vin_model_error(m), text), "expected '%s', text '%s'", text,
                     vin_model_error(m));
}

/* What compile finds does not stick: the model can be completed. */
Test(model_errors, compile_errors_can_be_mended) {
  vin_system *system;
  vin_model *m = vin_model_create(NULL);
  assert_compile_fails(m, VIN_ERR_BAD_INPUT, "none of the model's 0 nodes is free");
  const vin_node wall = vin_model_add_node(m, &(vin_node_desc){.fixed = 1});
  assert_compile_fails(m, VIN_ERR_BAD_INPUT, "none of the model's 1 nodes is free");
  const vin_node end = vin_model_add_node(m, &(vin_node_desc){.position = {1}, .name = "end"});
  vin_model_add_rod(m, &(vin_rod_desc){.a = wall, .b = end});
  assert_compile_fails(m, VIN_ERR_BAD_INPUT, "node 'end': it is free and has no mass");
  vin_model_add_rod(m, &(vin_rod_desc){.a = wall, .b = end, .mass = 1, .name = "slender"});
  vin_model_set_central_gravity(m, 1, (const double[3]){0.5});
  assert_compile_fails(m, VIN_ERR_BAD_INPUT, "rod 'slender': it starts at the centre");
  vin_model_add_node(m, &(vin_node_desc){.position = {7}, .mass = 1});
  vin_model_set_central_gravity(m, 1, (const double[3]){7});
  assert_compile_fails(m, VIN_ERR_BAD_INPUT, "node 2: it starts at the centre");
  vin_model_set_central_gravity(m, 0, NULL);
  cr_assert_eq(vin_model_compile(m, &system), VIN_OK, "%s", vin_model_error(m));
  vin_system_destroy(system);
  for (int i = 0; i < 6; i++)
    vin_model_add_rod(m, &(vin_rod_desc){.a = wall, .b = end, .mass = 1e308});
  assert_compile_fails(m, VIN_ERR_BAD_INPUT, "node 'end': the sum of its masses overflows");
  vin_model_destroy(m);
}

Test(model_errors, a_mass_that_reaches_the_centre_asks_for_a_smaller_step) {
  vin_model *m = vin_model_create(NULL);
  vin_model_add_node(m, &(vin_node_desc){.position = {1, 1, 1}, .mass = 1});
  vin_model_set_central_gravity(m, 1.0, (const double[3]){2, 2, 2});
  vin_system *system;
  cr_assert_eq(vin_model_compile(m, &system), VIN_OK);
  const double centre[3] = {2, 2, 2}, v[3] = {0};
  double f[3], energy;
  const vin_system_desc *desc = &system->desc;
  cr_assert_gt(desc->force(desc->user, 0, centre, v, f), 0);
  cr_assert_gt(desc->potential(desc->user, 0, centre, &energy), 0);
  cr_assert_eq(vin_system_force(system, 0, centre, v, f, NULL, 0), VIN_RETRY);
  vin_system_destroy(system);
  vin_model_destroy(m);
}

Test(model_errors, too_many_nodes_are_refused_before_anything_is_allocated) {
  vin_model *m = base_model();
  const vin_int nodes = m->nodes;
  m->nodes = VINI_MODEL_MAX_NODES; /* as if they were there */
  cr_assert_eq(vin_model_add_node(m, &(vin_node_desc){.mass = 1}).index, -1);
  cr_assert_eq(vin_model_status(m), VIN_ERR_TOO_LARGE);
  m->nodes = nodes;
  vin_model_destroy(m);
}

Test(model_errors, a_bad_context_is_the_first_error) {
  vin_context context = {.struct_size = 3};
  vin_model *m = vin_model_create(&context);
  cr_assert_not_null(m);
  cr_assert_eq(vin_model_status(m), VIN_ERR_BAD_INPUT);
  cr_assert_not_null(strstr(vin_model_error(m), "context"));
  cr_assert_eq(vin_model_add_node(m, &(vin_node_desc){.mass = 1}).index, -1);
  vin_model_destroy(m);
}

/* ---- names and numbers --------------------------------------------------------------------------
 */

Test(model_names, positions_follow_the_order_of_free_nodes) {
  vin_model *m = base_model();
  const vin_int expected[5] = {-1, -1, 0, 3, 6};
  for (vin_int i = 0; i < 5; i++) {
    cr_assert_eq(vin_model_node_position(m, (vin_node){i}), expected[i]);
  }
  cr_assert_eq(vin_model_node_position(m, (vin_node){5}), -1);
  cr_assert_eq(vin_model_node_position(m, (vin_node){-1}), -1);
  const vin_rod first = vin_model_add_rod(m, &(vin_rod_desc){.a = {2}, .b = {3}, .name = "left"});
  const vin_rod second = vin_model_add_rod(m, &(vin_rod_desc){.a = {1}, .b = {4}});
  cr_assert_eq(vin_model_rod_constraint(m, first), 0);
  cr_assert_eq(vin_model_rod_constraint(m, second), 1);
  cr_assert_eq(vin_model_rod_constraint(m, (vin_rod){2}), -1);
  cr_assert_eq(vin_model_rods(m), 2);
  double p[9], v[9];
  cr_assert_eq(vin_model_start(m, p, v), VIN_OK);
  cr_assert_eq(test_max_difference(9, p, (const double[]){1, 0, 0, 2, 0, 0, 2, 0, 0}), 0.0);
  vin_system *system;
  cr_assert_eq(vin_model_compile(m, &system), VIN_OK);
  vin_model_destroy(m); /* the system keeps its own names */
  char text[64];
  vin_system_position_name(system, 2, text, sizeof text);
  cr_assert_str_eq(text, "z of node 'end'");
  vin_system_position_name(system, 3, text, sizeof text);
  cr_assert_str_eq(text, "x of node 3");
  vin_system_constraint_name(system, 0, text, sizeof text);
  cr_assert_str_eq(text, "rod 'left'");
  vin_system_constraint_name(system, 1, text, sizeof text);
  cr_assert_str_eq(text, "rod 1");
  vin_system_position_name(system, 2, text, 4);
  cr_assert_lt(strlen(text), 4);
  vin_system_destroy(system);
}

Test(model_names, find_returns_the_first_of_equal_names) {
  vin_model *m = base_model();
  vin_model_add_node(m, &(vin_node_desc){.mass = 1, .name = "end"});
  vin_model_add_node(m, &(vin_node_desc){.mass = 1, .name = ""}); /* no name */
  cr_assert_eq(vin_model_find_node(m, "end").index, 2);
  cr_assert_eq(vin_model_find_node(m, "wall").index, 0);
  cr_assert_eq(vin_model_find_node(m, "nowhere").index, -1);
  cr_assert_eq(vin_model_find_node(m, "").index, -1);
  vin_model_destroy(m);
}

Test(model_names, long_names_are_cut_in_messages_only) {
  char name[2000];
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = 0;
  vin_model *m = base_model();
  const vin_node node = vin_model_add_node(m, &(vin_node_desc){.mass = 1, .name = name});
  cr_assert_eq(vin_model_find_node(m, name).index, node.index);
  vin_model_add_rod(m, &(vin_rod_desc){.a = node, .b = node, .name = name});
  cr_assert_not_null(strstr(vin_model_error(m), "nnn...: it joins node 'nnn"), "%s",
                     vin_model_error(m));
  vin_model_destroy(m);
}

/* ---- memory -------------------------------------------------------------------------------------
 */

/* Everything that allocates: growth of each array, names, both gravities, compile. */
static vin_status build_all(const vin_context *context) {
  vin_model *m = vin_model_create(context);
  if (m == NULL) return VIN_ERR_NO_MEMORY;
  vin_node last = vin_model_add_node(m, &(vin_node_desc){.fixed = 1, .name = "wall"});
  for (int k = 1; k <= 40; k++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", k);
    const vin_node next = vin_model_add_node(m, &(vin_node_desc){.position = {k}, .name = name});
    vin_model_add_rod(m, &(vin_rod_desc){.a = last, .b = next, .mass = 1, .name = name});
    vin_model_add_spring(
        m, &(vin_spring_desc){
               .a = last, .b = next, .stiffness = 1, .length = 1, .damping = 1, .name = name});
    last = next;
  }
  vin_model_set_central_gravity(m, 1, (const double[3]){0, 9, 0});
  const vin_status built = vin_model_status(m);
  vin_system *system;
  vin_status status = vin_model_compile(m, &system);
  cr_assert_eq(system != NULL, status == VIN_OK);
  if (built != VIN_OK) cr_assert_eq(status, built); /* it sticks */
  if (status != VIN_OK) cr_assert_gt(strlen(vin_model_error(m)), 0);
  vin_model_destroy(m);
  vin_system_destroy(system); /* last: it must not need the model */
  return status;
}

Test(model_memory, each_allocation_may_fail) {
  int64_t failures = 0;
  for (int64_t k = 1;; k++) {
    test_allocator allocator = {.fail_at = k};
    const vin_context context = test_context(&allocator);
    const vin_status status = build_all(&context);
    cr_assert_eq(allocator.live, 0, "allocation %d: %d blocks leaked", (int)k, (int)allocator.live);
    if (allocator.calls < k) {
      cr_assert_eq(status, VIN_OK);
      break;
    }
    cr_assert_eq(status, VIN_ERR_NO_MEMORY);
    failures++;
  }
  cr_assert_gt(failures, 40);
}

/* A million links are built in well under a second here; ten allow for a busy machine and
 * sanitizers. */
Test(model_memory, a_million_links) {
  const clock_t begin = clock();
  vin_model *m = vin_model_create(NULL);
  vin_node last = vin_model_add_node(m, &(vin_node_desc){.fixed = 1});
  for (int k = 1; k <= 1000000; k++) {
    const vin_node next = vin_model_add_node(m, &(vin_node_desc){.position = {k}, .mass = 1});
    vin_model_add_rod(m, &(vin_rod_desc){.a = last, .b = next});
    last = next;
  }
  cr_assert_eq(vin_model_status(m), VIN_OK);
  cr_assert_eq(vin_model_node_position(m, last), 2999997);
  cr_assert_lt((double)(clock() - begin) / CLOCKS_PER_SEC, 10.0);
  vin_model_destroy(m);
}
