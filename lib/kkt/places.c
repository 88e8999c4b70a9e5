/* Runs in a list of places; see places.h. */
#include "kkt/places.h"

#include "base/kernel.h"

#include <string.h>

/* A run is worth so many entries of a list. */
enum { WORTH = 2 * sizeof(vini_place_run) / sizeof(vin_int) };
/* A run of so many entries is taken, whatever its period. */
enum { LONG = 64 * VINI_PLACE_PERIOD };
_Static_assert(VINI_PLACE_PERIOD == 24, "a loop below is unrolled so often");

/* Entries from `begin` on that follow from the first `period` of them. */
static vin_int length(const vin_int *place, vin_int count, vin_int begin, vin_int period) {
  if (count - begin <= period) return count - begin;
  const int64_t step = (int64_t)place[begin + period] - place[begin];
  vin_int end = begin + period;
  while (end < count && (int64_t)place[end] - place[end - period] == step) end++;
  return end - begin;
}

/* The run that begins there, *next where it ends: the longest of all periods, or the first that is long.
 * Several periods are taken for one, since each costs its share of a loop. */
static vini_place_run find_run(const vin_int *place, vin_int count, vin_int begin, vin_int *next) {
  vini_place_run run = {.begin = begin};
  vin_int longest = 0;
  for (vin_int period = 1; period <= VINI_PLACE_PERIOD && longest < LONG; period++) {
    const vin_int found = length(place, count, begin, period);
    if (found <= longest) continue;
    longest = found;
    run.period = period;
  }
  *next = begin + longest;
  if (longest > VINI_PLACE_PERIOD) run.period *= VINI_PLACE_PERIOD / run.period;
  run.period = vini_min_int(run.period, longest);
  memcpy(run.first, place + begin, (size_t)run.period * sizeof *run.first);
  if (longest > run.period) run.step = place[begin + run.period] - place[begin];
  return run;
}

/* Stores the runs, at most `most`, and returns how many there are; -1: they are not worth it. */
static vin_int list_runs(const vin_int *place, vin_int count, vini_place_run *run, vin_int most) {
  vin_int runs = 0;
  for (vin_int begin = 0; begin < count; runs++) {
    /* also on the way: the search for short runs takes long */
    if (runs == most || (int64_t)runs * WORTH > (int64_t)begin + WORTH) return -1;
    run[runs] = find_run(place, count, begin, &begin);
  }
  return runs;
}

bool vini_places_create(vini_places *places, const vin_context *context, const vin_int *place,
                        vin_int count) {
  const vin_int most = count / WORTH - 1; /* one more marks the end */
  *places = (vini_places){.count = count};
  vini_place_run *run = vini_alloc(context, (size_t)vini_max_int(most, 0), sizeof *run);
  if (run == NULL) return false;
  const vin_int runs = most > 0 ? list_runs(place, count, run, most) : -1;
  if (runs < 0) {
    places->list = vini_copy(context, place, (size_t)count, sizeof *place);
  } else {
    places->run = vini_alloc(context, (size_t)runs + 1, sizeof *places->run);
    places->run_count = runs;
  }
  if (places->run != NULL) {
    memcpy(places->run, run, (size_t)runs * sizeof *run);
    places->run[runs].begin = count;
  }
  vini_free(context, run);
  return places->run != NULL || places->list != NULL;
}

void vini_places_clear(vini_places *places, const vin_context *context) {
  vini_free(context, places->run);
  vini_free(context, places->list);
  *places = (vini_places){0};
}

int64_t vini_places_bytes(const vini_places *places) {
  return places->list != NULL ? (int64_t)sizeof *places->list * places->count
                              : (int64_t)sizeof *places->run * ((int64_t)places->run_count + 1);
}

/* The run that entry e belongs to. */
static vin_int run_of(const vini_places *places, vin_int e) {
  vin_int low = 0, high = places->run_count - 1;
  while (low < high) {
    const vin_int middle = low + (high - low + 1) / 2;
    if (places->run[middle].begin <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

vin_int vini_place_of(const vini_places *places, vin_int e) {
  if (places->list != NULL) return places->list[e];
  const vini_place_run *run = &places->run[run_of(places, e)];
  const vin_int i = e - run->begin;
  return run->first[i % run->period] + i / run->period * run->step;
}

/* Whole periods from `from` on. */
static inline __attribute__((always_inline)) void store_periods(const vini_place_run *run,
                                                                vin_int periods, vin_int period,
                                                                double sign,
                                                                const double *restrict from,
                                                                double *restrict to) {
  for (; periods > 0; periods--, from += period, to += run->step) {
    VINI_UNROLL_UP_TO(24)
    for (vin_int i = 0; i < period; i++) to[run->first[i]] = sign * from[i];
  }
}

/* Entries begin .. end - 1, all of this run. */
static void store_run(const vini_place_run *run, vin_int begin, vin_int end, double sign,
                      const double *from, double *to) {
  const vin_int period = run->period, *first = run->first;
  vin_int at = (begin - run->begin) % period, e = begin;
  to += (int64_t)((begin - run->begin) / period) * run->step;
  if (at > 0) {
    for (; at < period && e < end; at++, e++) to[first[at]] = sign * from[e];
    to += run->step;
  }
  const vin_int periods = (end - e) / period;
  if (period != VINI_PLACE_PERIOD) {
    store_periods(run, periods, period, sign, from + e, to);
  } else if (sign == 1) {
    store_periods(run, periods, VINI_PLACE_PERIOD, 1, from + e, to);
  } else {
    store_periods(run, periods, VINI_PLACE_PERIOD, sign, from + e, to);
  }
  e += periods * period;
  to += (int64_t)periods * run->step;
  for (at = 0; e < end; at++, e++) to[first[at]] = sign * from[e];
}

static void store_list(const vin_int *restrict list, vin_int count, double sign,
                       const double *restrict from, double *restrict to) {
  vin_int i = 0;
  for (; sign == 1 && i + 4 <= count; i += 4) {
    const double a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
    to[list[i]] = a;
    to[list[i + 1]] = b;
    to[list[i + 2]] = c;
    to[list[i + 3]] = d;
  }
  for (; i < count; i++) to[list[i]] = sign * from[i];
}

void vini_places_store(const vini_places *places, vin_int begin, vin_int end, double sign,
                       const double *from, double *to) {
  const vin_int *list = places->list;
  if (list != NULL) {
    store_list(list + begin, end - begin, sign, from + begin, to);
    return;
  }
  vin_int r = begin < end ? run_of(places, begin) : 0;
  for (vin_int e = begin; e < end; r++) {
    const vin_int stop = vini_min_int(end, places->run[r + 1].begin);
    store_run(places->run + r, e, stop, sign, from, to);
    e = stop;
  }
}
