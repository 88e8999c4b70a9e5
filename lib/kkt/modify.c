/* The matrix with constraint rows left out or scaled, for one factorisation; then its values again. */
#include "kkt/kkt.h"

#include <string.h>

vin_status vini_kkt_stash_values(vin_kkt *kkt) {
  const vin_sparse *k = kkt->k;
  size_t entries = (size_t)k->start[kkt->n + kkt->m];
  if (kkt->stash == NULL) {
    kkt->stash = vini_alloc(&kkt->object.context, entries, sizeof(double));
    if (kkt->stash == NULL) {
      return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory to factorise without %d rows",
                       (int)kkt->dropped_count);
    }
  }
  memcpy(kkt->stash, k->value, entries * sizeof(double));
  return VIN_OK;
}

void vini_kkt_restore_values(vin_kkt *kkt) {
  memcpy(kkt->k->value, kkt->stash, (size_t)kkt->k->start[kkt->n + kkt->m] * sizeof(double));
}

/* Replaces the dropped rows of K by zero and their diagonal by `diagonal`. */
void vini_kkt_blank_rows(vin_kkt *kkt, double diagonal) {
  vin_sparse *k = kkt->k;
  for (vin_int j = 0; j < kkt->n + kkt->m; j++) {
    bool column = j >= kkt->n && kkt->dropped[j - kkt->n];
    for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
      vin_int i = k->row[at];
      bool row = i >= kkt->n && kkt->dropped[i - kkt->n];
      if (row || column) k->value[at] = i == j ? diagonal : 0;
    }
  }
}

/* K := S K S, S = diag(1, row_scale). */
void vini_kkt_scale_constraints(vin_kkt *kkt) {
  vin_sparse *k = kkt->k;
  for (vin_int j = 0; j < kkt->n + kkt->m; j++) {
    for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
      vin_int i = k->row[at];
      if (i >= kkt->n) k->value[at] *= kkt->row_scale[i - kkt->n];
      if (j >= kkt->n) k->value[at] *= kkt->row_scale[j - kkt->n];
    }
  }
}
