/* Which factorisation: the recursive order, the Schur-type order, UMFPACK, the rank-revealing QR; each
 * where the one before was refused. */
#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names up to three of the dropped rows. */
static void dropped_names(const vin_kkt *kkt, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (vin_int i = 0; i < kkt->dropped_count && i < 3 && used < size; i++) {
    char name[80];
    vini_kkt_constraint_name(kkt, kkt->dropped_rows[i], name, sizeof name);
    int wrote = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", name);
    used += wrote > 0 ? (size_t)wrote : 0;
  }
  if (kkt->dropped_count > 3 && used < size) {
    snprintf(text + used, size - used, " and %d more", (int)kkt->dropped_count - 3);
  }
}

/* Dependent rows: refused or reported, as the user wants. */
static vin_status accept(vin_kkt *kkt, vini_backend *backend) {
  if (kkt->dropped_count > 0) {
    char names[300];
    dropped_names(kkt, names, sizeof names);
    if (kkt->options.redundancy == VIN_REDUNDANCY_REFUSE) {
      return vini_fail(&kkt->object, VIN_SINGULAR,
                       "%d of %d constraint rows depend on the others: %s", (int)kkt->dropped_count,
                       (int)kkt->m, names);
    }
    if (kkt->stats.dropped++ == 0) {
      vini_log(&kkt->object, VIN_LOG_WARNING,
               "%d of %d constraint rows depend on the others and are left out: %s",
               (int)kkt->dropped_count, (int)kkt->m, names);
    }
  }
  kkt->active = backend;
  kkt->reuse.age = 0;
  return VIN_OK;
}

static bool may_fall_back(const vin_kkt *kkt) {
  return kkt->options.solver == VIN_SOLVER_AUTO && vin_solver_available(VIN_SOLVER_UMFPACK);
}

static vin_status factor_fallback(vin_kkt *kkt, double suspicious) {
  kkt->active = NULL; /* what was dropped belongs to the next factorisation from here on */
  if (kkt->fallback == NULL) {
    VINI_TRY(vini_umfpack_create(&kkt->fallback, &kkt->object, kkt->k, kkt->plan.order));
    kkt->stats.symbolic++;
  }
  return vini_kkt_factor_umfpack(kkt, kkt->fallback, suspicious);
}

static void count_fallback(vin_kkt *kkt, const char *reason) {
  if (kkt->stats.fallbacks++ > 0) return;
  vini_log(&kkt->object, VIN_LOG_WARNING, "UMFPACK takes over from ldlt: %s", reason);
}

static vin_status fall_back(vin_kkt *kkt, const char *reason) {
  if (!may_fall_back(kkt)) return VIN_ERR_UNSUPPORTED;
  count_fallback(kkt, reason);
  VINI_TRY(factor_fallback(kkt, VINI_SUSPICIOUS_RCOND));
  return accept(kkt, kkt->fallback);
}

/* Rows that ldlt dropped for a reason that trusts_ldlt() mistrusts. The same rows as the last time
 * need no second look. */
static bool doubtful(const vin_kkt *kkt) {
  if (kkt->dropped_count == 0 || !may_fall_back(kkt) || !vini_rank_available()) return false;
  if (kkt->options.redundancy == VIN_REDUNDANCY_REFUSE) return true;
  if (kkt->plan.hubs == 0) return false;
  return kkt->agreed == NULL || memcmp(kkt->agreed, kkt->dropped, (size_t)kkt->m) != 0;
}

vin_status vini_kkt_remember_dropped(vin_kkt *kkt) {
  const size_t m = (size_t)kkt->m;
  if (kkt->agreed == NULL) kkt->agreed = vini_alloc(&kkt->object.context, m, 1);
  if (kkt->agreed == NULL) {
    return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory to compare %d rows", (int)kkt->m);
  }
  memcpy(kkt->agreed, kkt->dropped, m);
  return VIN_OK;
}

double vini_kkt_rank_tolerance(const vin_kkt *kkt) {
  return vini_max(sqrt(kkt->options.pivot_threshold), VINI_LEAST_DISTANCE);
}

/* Compares ldlt's factorisation, which dropped rows, with UMFPACK's (and the QR's, where UMFPACK
 * finds the system singular), and goes on with UMFPACK's where that needs fewer or more rows. */
static vin_status accept_compared(vin_kkt *kkt) {
  size_t m = (size_t)kkt->m;
  vin_int count = kkt->dropped_count;
  double ratio = kkt->min_pivot_ratio;
  VINI_TRY(vini_kkt_remember_dropped(kkt));
  vin_status status = factor_fallback(kkt, VINI_REGULAR_RCOND); /* ldlt has found a reason */
  if (status == VIN_OK && kkt->dropped_count != count) {
    memset(kkt->agreed, 0, m);
    count_fallback(kkt, "the order mistook independent constraint rows for dependent ones");
    return accept(kkt, kkt->fallback);
  }
  if (status != VIN_OK && status != VIN_SINGULAR) return status;
  memcpy(kkt->dropped, kkt->agreed, m);
  vini_kkt_collect_dropped(kkt);
  kkt->scaled = false;
  kkt->min_pivot_ratio = ratio;
  return accept(kkt, kkt->primary);
}

/* Failures after which the recursive order is not tried any more. */
#define SWIFT_FAILURES 3

/* The recursive order did not do: the factorisation is repeated in the Schur-type order. */
static vin_status give_up_swift(vin_kkt *kkt, const char *reason) {
  kkt->active = NULL;
  kkt->swift_failures++;
  if (kkt->stats.reordered++ == 0) {
    vini_log(&kkt->object, VIN_LOG_INFO, "the Schur-type order takes over from the recursive: %s",
             reason);
  }
  return vini_kkt_need_primary(kkt);
}

/* Factorises in the recursive order; VIN_SINGULAR: what rank the rows have is for the other order. */
static vin_status factor_swift(vin_kkt *kkt) {
  VINI_TRY(vini_kkt_factor_with(kkt, kkt->swift));
  vini_factor_info info;
  kkt->swift->table->info(kkt->swift, &info);
  if (info.negative != kkt->m || (info.rcond >= 0 && info.rcond < VINI_NEGLIGIBLE_PIVOT)) {
    return vini_fail(&kkt->object, VIN_SINGULAR,
                     "%d negative pivots where %d are expected, the smallest %.1g of the largest",
                     (int)info.negative, (int)kkt->m, info.rcond);
  }
  if (kkt->any_dropped) {
    vini_kkt_forget_dropped(kkt);
    kkt->any_dropped = false;
  }
  kkt->min_pivot_ratio = info.min_pivot_ratio;
  return VIN_OK;
}

/* Factorises in the Schur-type order. */
static vin_status factor_carefully(vin_kkt *kkt) {
  vin_status status = vini_kkt_factor_by(kkt, kkt->primary);
  if (status == VIN_OK) {
    return doubtful(kkt) ? accept_compared(kkt) : accept(kkt, kkt->primary);
  }
  if (status != VIN_SINGULAR) return status;
  char reason[VINI_TEXT_SIZE];
  memcpy(reason, kkt->object.text, sizeof reason);
  status = fall_back(kkt, reason);
  if (status == VIN_ERR_UNSUPPORTED) return vini_fail(&kkt->object, VIN_SINGULAR, "%s", reason);
  return status;
}

/* Once more with the rows that look like rounding beside the others. */
static vin_status factor_with_small(vin_kkt *kkt) {
  kkt->small_kept = true;
  kkt->active = NULL;
  return factor_carefully(kkt);
}

vin_status vini_kkt_factor_next(vin_kkt *kkt, const char *reason) {
  vini_backend *active = kkt->active;
  if (active == kkt->swift) {
    VINI_TRY(give_up_swift(kkt, reason));
    return factor_carefully(kkt);
  }
  if (!kkt->small_kept && vini_kkt_needs_small_rows(kkt)) return factor_with_small(kkt);
  const bool last = kkt->revealed && kkt->rank_tolerance <= VINI_LEAST_DISTANCE;
  /* rows were dropped, and one of them is needed after all: from now on only clear cases */
  if (kkt->dropped_count > 0 || kkt->revealed) kkt->rank_tolerance = VINI_LEAST_DISTANCE;
  if (active->table->solver == VIN_SOLVER_LDLT) return fall_back(kkt, reason);
  if (active->table->solver != VIN_SOLVER_UMFPACK || last || !vini_rank_available()) {
    return VIN_ERR_UNSUPPORTED;
  }
  vini_factor_info info;
  active->table->info(active, &info);
  if (kkt->dropped_count == 0 && info.rcond > VINI_REGULAR_RCOND) return VIN_ERR_UNSUPPORTED;
  kkt->active = NULL;
  VINI_TRY(vini_kkt_factor_revealed(kkt, active, false));
  return accept(kkt, active);
}

vin_status vini_kkt_factor_values(vin_kkt *kkt) {
  kkt->scaled = kkt->revealed = kkt->small_kept = false;
  kkt->rank_tolerance = vini_kkt_rank_tolerance(kkt);
  if (kkt->swift != NULL && kkt->swift_failures < SWIFT_FAILURES) {
    const vin_status status = factor_swift(kkt);
    if (status == VIN_OK) return accept(kkt, kkt->swift);
    if (status != VIN_SINGULAR) return status;
    char reason[VINI_TEXT_SIZE];
    memcpy(reason, kkt->object.text, sizeof reason);
    VINI_TRY(give_up_swift(kkt, reason));
  }
  const vin_status status = factor_carefully(kkt);
  /* what is singular without them may be regular with them, in other units than the other rows */
  return status == VIN_SINGULAR && vini_kkt_dropped_small(kkt) ? factor_with_small(kkt) : status;
}
