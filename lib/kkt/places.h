/* places - where in K's values the entries of a part go, in their declared order.
 *
 * In a chain entry follows entry with everything moved on by a constant after some of them. A list is
 * therefore kept as runs, which cost neither memory nor, in each pass, the reading of an index for each
 * number; one without such runs stays a list. */
#ifndef VINI_KKT_PLACES_H
#define VINI_KKT_PLACES_H

#include "base/base.h"

enum { VINI_PLACE_PERIOD = 24 };

/* Entry begin + i, up to the next run, goes to first[i % period] + i / period * step. */
typedef struct vini_place_run {
  vin_int begin, period, step;
  vin_int first[VINI_PLACE_PERIOD];
} vini_place_run;

typedef struct vini_places {
  vin_int count, run_count;
  vini_place_run *run; /* run_count + 1: the last one begins at count; NULL: there is a list */
  vin_int *list;       /* count, or NULL */
} vini_places;

/* place: count. false: no memory. */
bool vini_places_create(vini_places *places, const vin_context *context, const vin_int *place,
                        vin_int count);
void vini_places_clear(vini_places *places, const vin_context *context);
int64_t vini_places_bytes(const vini_places *places);

/* to[place of entry e] := sign from[e] for begin <= e < end. */
void vini_places_store(const vini_places *places, vin_int begin, vin_int end, double sign,
                       const double *from, double *to);
/* Place of entry e, for what is not done often. */
vin_int vini_place_of(const vini_places *places, vin_int e);

#endif
