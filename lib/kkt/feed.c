/* Values that come block by block while they are factorised: a large model's Jacobian and right-hand sides
 * are then used while they are in the cache. Each part is fetched once, before the first block of the
 * elimination that needs it; what comes when changes no number. */
#include "kkt/kkt.h"

static vin_status fetch(vin_kkt *kkt, vini_span span) {
  if (span.coordinate >= span.coordinate_end && span.row >= span.row_end) return VIN_OK;
  vini_feed *feed = kkt->feed;
  vin_status status = feed->load(feed->user, &span);
  if (status != VIN_OK) {
    feed->failed = true;
    return vini_fail(&kkt->object, status, "values are missing"); /* the caller knows more */
  }
  const vin_int *slot = kkt->k->slot + kkt->j.first;
  vini_kkt_place(kkt->k->value, slot + span.entry, span.entry_end - span.entry,
                 feed->j + span.entry);
  return VIN_OK;
}

/* Fetches what `wanted` has and was not there: below and above what has come, which stays one piece. */
static vin_status extend(vin_kkt *kkt, vini_span wanted) {
  vini_span *have = &kkt->feed->loaded;
  if (kkt->feed->empty) {
    kkt->feed->empty = false;
    *have = wanted;
    return fetch(kkt, wanted);
  }
  vini_span below = {vini_min_int(wanted.coordinate, have->coordinate),
                     have->coordinate,
                     vini_min_int(wanted.row, have->row),
                     have->row,
                     0,
                     0};
  vini_span above = {have->coordinate_end,
                     vini_max_int(wanted.coordinate_end, have->coordinate_end),
                     have->row_end,
                     vini_max_int(wanted.row_end, have->row_end),
                     0,
                     0};
  have->coordinate = below.coordinate, have->coordinate_end = above.coordinate_end;
  have->row = below.row, have->row_end = above.row_end;
  VINI_TRY(fetch(kkt, below));
  return fetch(kkt, above);
}

vin_status vini_kkt_feed_block(void *user, vin_int block) {
  vin_kkt *kkt = user;
  vin_int range[4];
  kkt->primary->table->reach(kkt->primary, block, kkt->n, range);
  return extend(kkt, (vini_span){range[0], range[1], range[2] - kkt->n, range[3] - kkt->n, 0, 0});
}

vin_status vini_kkt_feed_rest(vin_kkt *kkt) {
  if (kkt->feed == NULL) return VIN_OK;
  vin_status status = extend(kkt, (vini_span){0, kkt->n, 0, kkt->m, 0, 0});
  if (status == VIN_OK) kkt->j.known = true;
  if (status == VIN_OK) kkt->feed = NULL;
  return status;
}

bool vini_kkt_takes_feed(const vin_kkt *kkt) {
  return kkt->primary->table->reach != NULL && kkt->j.distinct;
}
