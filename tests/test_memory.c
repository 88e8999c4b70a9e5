/* What a long chain needs of memory, so that it does not creep up again; the default allocator. */
#include "base/base.h"
#include "vincula/vincula.h"

#include <criterion/criterion.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes per link -------------------------------------------------------------------------------- */

typedef struct tally {
  int64_t live, peak;
} tally;

typedef struct counted {
  _Alignas(max_align_t) size_t bytes;
} counted;

static void *allocate(void *user, size_t bytes) {
  tally *t = user;
  counted *b = malloc(sizeof *b + bytes);
  if (b == NULL) return NULL;
  b->bytes = bytes;
  t->live += (int64_t)bytes;
  if (t->live > t->peak) t->peak = t->live;
  return b + 1;
}

static void release(void *user, void *pointer) {
  counted *b = (counted *)pointer - 1;
  ((tally *)user)->live -= (int64_t)b->bytes;
  free(b);
}

static void build(vin_model *model, int links, bool massive) {
  vin_model_set_gravity(model, (const double[3]){0, -9.81, 0});
  vin_node last = vin_model_add_node(model, &(vin_node_desc){.fixed = 1});
  for (int i = 1; i <= links; i++) {
    vin_node next =
        vin_model_add_node(model, &(vin_node_desc){.position = {i}, .mass = massive ? 0 : 1});
    vin_model_add_rod(model, &(vin_rod_desc){.a = last, .b = next, .mass = massive ? 1 : 0});
    last = next;
  }
}

/* Bytes per link that are held after the set-up, with the model gone, and at most until the end of a
 * report. They are asked for, not touched: about 270 of them stay untouched in a run without projections or
 * retries. The bounds are what was measured and 1 %; growth of the model's arrays by doubling
 * is in the second (20 000 links are close to its worst case). */
static void expect_bytes(bool massive, double held, double peak) {
  enum { LINKS = 20000 };
  tally t = {0};
  vin_context context = vin_context_default();
  context.allocate = allocate;
  context.release = release;
  context.allocator_user = &t;
  vin_model *model = vin_model_create(&context);
  build(model, LINKS, massive);
  vin_options options = vin_options_default();
  options.step = 1e-3;
  vin_sim *sim = NULL;
  cr_assert_eq(vin_sim_create(&sim, model, &options), VIN_OK, "%s", vin_sim_error(sim));
  vin_model_destroy(model);
  const double after = (double)t.live / LINKS;
  cr_assert_eq(vin_sim_step(sim), VIN_OK);
  cr_expect_eq(vin_sim_report(sim).status, VIN_OK);
  cr_expect_leq(after, held, "%g bytes per link are held", after);
  cr_expect_leq((double)t.peak / LINKS, peak, "%g bytes per link at most", (double)t.peak / LINKS);
  cr_expect_eq((double)t.live / LINKS, after, "a step and a report allocate nothing");
  vin_sim_destroy(sim);
  cr_expect_eq(t.live, 0);
}

Test(memory, of_a_chain_of_points) {
  expect_bytes(false, 1284, 1443);
}

Test(memory, of_a_chain_of_rods) {
  expect_bytes(true, 1482, 1640);
}

/* ---- the default allocator ------------------------------------------------------------------------- */

/* Around the size from which on blocks are mapped: zeroed, aligned, writable to the last byte, and not in
 * each other's way. */
Test(memory, of_the_default_allocator) {
  static const size_t sizes[] = {1, 4095, (1 << 21) - 1, 1 << 21, (1 << 21) + 1, 5000000, 9000001};
  enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 3 };
  const vin_context context = vin_context_default();
  for (int round = 0; round < ROUNDS; round++) {
    unsigned char *block[SIZES];
    for (int k = 0; k < SIZES; k++) {
      block[k] = vini_alloc(&context, sizes[k], 1);
      cr_assert_not_null(block[k]);
      cr_expect_eq((uintptr_t)block[k] % _Alignof(max_align_t), 0);
      size_t wrong = 0;
      for (size_t i = 0; i < sizes[k]; i++) wrong += block[k][i] != 0;
      cr_expect_eq(wrong, 0, "%zu of %zu bytes are not 0", wrong, sizes[k]);
      memset(block[k], k + 1, sizes[k]);
    }
    for (int k = 0; k < SIZES; k++) {
      size_t wrong = 0;
      for (size_t i = 0; i < sizes[k]; i++) wrong += block[k][i] != k + 1;
      cr_expect_eq(wrong, 0, "%zu of %zu bytes have changed", wrong, sizes[k]);
      vini_free(&context, block[k]);
    }
  }
}

/* A sanitizer's malloc ends the process instead. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MALLOC_ENDS 1
#else
#define MALLOC_ENDS 0
#endif

Test(memory, too_much_is_refused, .disabled = MALLOC_ENDS) {
  const vin_context context = vin_context_default();
  cr_expect_null(vini_alloc(&context, (size_t)PTRDIFF_MAX, 1));
  cr_expect_null(vini_alloc(&context, (size_t)PTRDIFF_MAX - (1 << 20), 1));
  cr_expect_null(vini_alloc(&context, (size_t)PTRDIFF_MAX / 4, 4));
}
