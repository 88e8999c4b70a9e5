/* The places of a part's entries: stored as runs or as a list, they are those that were given. */
#include "kkt/places.h"
#include "test_support.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

enum { MOST = 20000 };

/* Pieces with random periods and steps, apart from each other; length: of a piece, in entries. */
static vin_int make_places(test_random *random, vin_int length, vin_int pieces, vin_int *place) {
  vin_int count = 0, top = 0;
  for (vin_int piece = 0; piece < pieces; piece++) {
    const vin_int period = 1 + test_random_below(random, VINI_PLACE_PERIOD);
    const vin_int step = period + test_random_below(random, 5), begin = top;
    const bool falls = test_random_below(random, 2) == 1;
    const vin_int periods = (length - 1) / period;
    for (vin_int i = 0; i < length; i++) {
      const vin_int turn = falls ? periods - i / period : i / period;
      place[count] = begin + i % period * step * (periods + 1) / period + turn * step;
      top = top > place[count] ? top : place[count] + 1;
      count++;
    }
  }
  return count;
}

static void expect_places(const vini_places *places, const vin_int *place, vin_int count,
                          test_random *random) {
  for (vin_int e = 0; e < count; e++) cr_assert_eq(vini_place_of(places, e), place[e]);
  vin_int top = 0;
  for (vin_int e = 0; e < count; e++) top = top > place[e] ? top : place[e];
  double *from = calloc((size_t)count + 1, sizeof *from), *to, *expected;
  to = calloc((size_t)top + 2, sizeof *to);
  expected = calloc((size_t)top + 2, sizeof *expected);
  test_random_fill(random, count, from);
  for (int turn = 0; turn < 50; turn++) {
    vin_int begin = test_random_below(random, count + 1);
    vin_int end = begin + test_random_below(random, count + 1 - begin);
    if (turn == 0) begin = 0, end = count;
    const double sign = turn % 2 == 0 ? 1 : -1;
    for (vin_int i = 0; i <= top; i++) to[i] = expected[i] = 7;
    vini_places_store(places, begin, end, sign, from, to);
    for (vin_int e = begin; e < end; e++) expected[place[e]] = sign * from[e];
    cr_assert_eq(memcmp(to, expected, (size_t)(top + 1) * sizeof *to), 0, "%d .. %d", (int)begin,
                 (int)end);
  }
  free(from);
  free(to);
  free(expected);
}

static void check(const vin_int *place, vin_int count, bool runs) {
  test_random random = {(uint64_t)count + 3};
  vin_context context = vin_context_default();
  vini_places places;
  cr_assert(vini_places_create(&places, &context, place, count));
  cr_expect_eq(places.list == NULL, runs, "%d entries in %d runs", (int)count,
               (int)places.run_count);
  const int64_t bytes = vini_places_bytes(&places);
  if (runs) cr_expect_lt(2 * bytes, (int64_t)sizeof *place * count);
  expect_places(&places, place, count, &random);
  vini_places_clear(&places, &context);
}

Test(kkt_places, pieces_are_found) {
  vin_int *place = calloc(MOST, sizeof *place);
  test_random random = {11};
  for (int turn = 0; turn < 20; turn++) {
    check(place, make_places(&random, 1000 + turn, 1 + turn % 6, place), true);
  }
  free(place);
}

/* Without a pattern, or with pieces too short to be worth it, the list stays. */
Test(kkt_places, disorder_stays_a_list) {
  vin_int *place = calloc(MOST, sizeof *place);
  test_random random = {12};
  for (vin_int i = 0; i < 5000; i++) place[i] = i;
  for (vin_int i = 4999; i > 0; i--) {
    const vin_int k = test_random_below(&random, i + 1), kept = place[i];
    place[i] = place[k];
    place[k] = kept;
  }
  check(place, 5000, false);
  check(place, make_places(&random, 40, 100, place), false);
  for (vin_int count = 0; count < 5; count++) check(place, count, false);
  free(place);
}

Test(kkt_places, out_of_memory_is_told) {
  vin_int place[400];
  for (vin_int i = 0; i < 400; i++) place[i] = 3 * i;
  for (int k = 0; k < 4; k++) { /* a run; a list */
    test_allocator allocator = {.fail_at = 1 + k / 2};
    vin_context context = test_context(&allocator);
    vini_places places;
    cr_expect_not(vini_places_create(&places, &context, place, k % 2 == 0 ? 400 : 4));
    vini_places_clear(&places, &context);
    cr_expect_eq(allocator.live, 0);
  }
}
