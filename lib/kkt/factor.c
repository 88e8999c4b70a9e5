/* Factorisation and its verdict: inertia, pivot ratios, dependent rows, the next solver. */
#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rounding gives dependent rows pivots of either sign and of about the same size; those with the
 * wrong sign show it. */
#define NOISE_MARGIN 64
/* A threshold this high would drop rows that are merely close to each other, |d|/S = angle^2. */
#define LARGEST_NOISE 1e-5
/* Two ratios of multipliers' pivots whose product is below NOISE_PRODUCT, some 1000 roundings, are asked
 * about. */
#define NOISE_PRODUCT 2e-13
/* A pivot of H below this fraction of the terms it comes from is rounding of some 50 of them, not
 * mass. */
#define LOST_PIVOT 1e-14

/* The values come on the way; another attempt after this one finds all of them. */
static vin_status factor_fed(vin_kkt *kkt, double *first, double *second) {
  vini_backend *primary = kkt->primary;
  kkt->right = VINI_RIGHT_SOLVED;
  vin_status status =
      primary->table->factor_solve(primary, kkt->k, first, second, vini_kkt_feed_block, kkt);
  if (kkt->feed->failed) return status;
  VINI_TRY(vini_kkt_feed_rest(kkt));
  return status;
}

vin_status vini_kkt_factor_with(vin_kkt *kkt, vini_backend *backend) {
  double *first = kkt->first, *second = kkt->second;
  kkt->stats.numeric++;
  /* of what an earlier attempt has solved, another factorisation makes something spoiled */
  if (kkt->right == VINI_RIGHT_SOLVED) kkt->right = VINI_RIGHT_SPOILED;
  kkt->first = NULL; /* for the first attempt only */
  const bool at_once = first != NULL && backend->table->factor_solve != NULL;
  const bool takes = backend == kkt->primary && backend->table->reach != NULL;
  if (kkt->feed != NULL && at_once && takes) return factor_fed(kkt, first, second);
  VINI_TRY(vini_kkt_feed_rest(kkt));
  if (!at_once) return backend->table->factor(backend, kkt->k);
  kkt->right = VINI_RIGHT_SOLVED;
  return backend->table->factor_solve(backend, kkt->k, first, second, NULL, NULL);
}

void vini_kkt_collect_dropped(vin_kkt *kkt) {
  kkt->dropped_count = 0;
  for (vin_int i = 0; i < kkt->m; i++) {
    if (kkt->dropped[i]) kkt->dropped_rows[kkt->dropped_count++] = i;
  }
  kkt->any_dropped = kkt->dropped_count > 0;
}

void vini_kkt_forget_dropped(vin_kkt *kkt) {
  memset(kkt->dropped, 0, (size_t)kkt->m);
  kkt->dropped_count = 0;
}

/* Factorises with the dropped rows left out of the matrix itself. */
static vin_status factor_without_dropped(vin_kkt *kkt, vini_backend *backend, double diagonal) {
  VINI_TRY(vini_kkt_stash_values(kkt));
  vini_kkt_blank_rows(kkt, diagonal);
  vin_status status = vini_kkt_factor_with(kkt, backend);
  vini_kkt_restore_values(kkt);
  return status;
}

/* The same with every constraint row scaled to size 1. */
static vin_status factor_scaled(vin_kkt *kkt, vini_backend *backend) {
  VINI_TRY(vini_kkt_stash_values(kkt));
  vini_kkt_scale_constraints(kkt);
  vini_kkt_blank_rows(kkt, 1);
  vin_status status = vini_kkt_factor_with(kkt, backend);
  vini_kkt_restore_values(kkt);
  kkt->scaled = true;
  return status;
}

static void take_dropped(vin_kkt *kkt, const vini_backend *ldlt) {
  const unsigned char *dropped = vini_ldlt_dropped(ldlt);
  for (vin_int i = 0; i < kkt->m; i++) kkt->dropped[i] = dropped[kkt->n + i];
  vini_kkt_collect_dropped(kkt);
}

/* Rows that are zero to rounding have a tiny pivot without cancellation. Marks them, and only
 * them, as dropped when there are any, and returns how many: a row that was dropped before because
 * it depends on a negligible one is needed after all. */
static vin_int find_negligible(vin_kkt *kkt, const vini_backend *backend) {
  if (!backend->table->pivots(backend, kkt->pivot, kkt->pivot_scale)) return 0;
  double *size = kkt->pivot + kkt->n;
  double largest = 0;
  vin_int found = 0;
  for (vin_int i = 0; i < kkt->m; i++) { /* of a dropped row: what it was before it cancelled */
    size[i] = kkt->dropped[i] ? kkt->pivot_scale[kkt->n + i] : fabs(size[i]);
    largest = vini_max(largest, size[i]);
  }
  for (vin_int i = 0; i < kkt->m; i++) found += size[i] <= VINI_NEGLIGIBLE_PIVOT * largest;
  if (found == 0) return 0;
  for (vin_int i = 0; i < kkt->m; i++) kkt->dropped[i] = size[i] <= VINI_NEGLIGIBLE_PIVOT * largest;
  vini_kkt_collect_dropped(kkt);
  return found;
}

/* A semidefinite H may leave a pivot of rounding size instead of zero. What comes after it is noise:
 * among other things, independent rows look dependent. */
static vin_status check_mass(vin_kkt *kkt, const vini_backend *ldlt) {
  if (!ldlt->table->pivots(ldlt, kkt->pivot, kkt->pivot_scale)) return VIN_OK;
  for (vin_int i = 0; i < kkt->n; i++) {
    double ratio = fabs(kkt->pivot[i]) / kkt->pivot_scale[i];
    if (!(ratio < LOST_PIVOT)) continue;
    vini_kkt_forget_dropped(kkt);
    return vini_fail(
        &kkt->object, VIN_SINGULAR,
        "H is singular to rounding at coordinate %d: the pivot is %.1g of the terms it "
        "comes from",
        (int)i, ratio);
  }
  return VIN_OK;
}

/* Dependent rows whose pivots cancelled only to the noise level, which large mass ratios lift above
 * the threshold: once more, with a threshold above the noise. What independent rows leave stays. */
static vin_status factor_above_noise(vin_kkt *kkt, vini_backend *ldlt, vini_factor_info *info) {
  double threshold = NOISE_MARGIN * vini_kkt_noise(kkt, ldlt);
  if (!(threshold > kkt->options.pivot_threshold && threshold < LARGEST_NOISE)) return VIN_OK;
  vini_ldlt_set_drop(ldlt, kkt->droppable, threshold);
  vin_status status = vini_kkt_factor_with(kkt, ldlt);
  vini_ldlt_set_drop(ldlt, kkt->droppable, kkt->options.pivot_threshold);
  VINI_TRY(status);
  ldlt->table->info(ldlt, info);
  take_dropped(kkt, ldlt);
  return VIN_OK;
}

/* Product of the two smallest ratios among the multipliers' pivots. */
static double smallest_ratios(vin_kkt *kkt, const vini_backend *ldlt) {
  double first = 1, second = 1;
  if (!ldlt->table->pivots(ldlt, kkt->pivot, kkt->pivot_scale)) return 1;
  for (vin_int i = kkt->n; i < kkt->n + kkt->m; i++) {
    if (kkt->dropped[i - kkt->n]) continue;
    const double ratio = fabs(kkt->pivot[i]) / kkt->pivot_scale[i];
    if (ratio >= second) continue;
    second = vini_max(ratio, first);
    first = vini_min(ratio, first);
  }
  return first * second;
}

/* Rounding in a small pivot is magnified in those that come after it by the inverse of its ratio, and may
 * make that of a dependent row pass for one. Where two ratios multiply to rounding, a QR of J, to which
 * masses are nothing, tells; once as long as it agrees to what was dropped. */
static vin_status resolve_noise(vin_kkt *kkt, vini_backend *ldlt, vini_factor_info *info) {
  const vin_int count = kkt->dropped_count;
  const size_t m = (size_t)kkt->m;
  const double least = info->min_pivot_ratio;
  if (!(least * least < NOISE_PRODUCT) || !vini_rank_available()) return VIN_OK;
  if (kkt->agreed != NULL && memcmp(kkt->agreed, kkt->dropped, m) == 0) return VIN_OK;
  /* where not even two of the least ratio are far in the noise */
  const bool mild = 16 * least * least >= NOISE_PRODUCT;
  if (mild && vini_calm_still(&kkt->noise, least)) return VIN_OK;
  if (!(smallest_ratios(kkt, ldlt) < NOISE_PRODUCT)) {
    kkt->noise = (vini_calm){.ratio = least, .left = VINI_CALM};
    return VIN_OK;
  }
  VINI_TRY(vini_kkt_remember_dropped(kkt));
  kkt->rank_tolerance = VINI_LEAST_DISTANCE;
  vin_status status = vini_kkt_reveal_rank(kkt);
  kkt->revealed = false;
  kkt->rank_tolerance = vini_kkt_rank_tolerance(kkt);
  if (status != VIN_OK || kkt->dropped_count <= count) {
    memcpy(kkt->dropped, kkt->agreed, m);
    vini_kkt_collect_dropped(kkt);
    return status == VIN_ERR_NO_MEMORY ? status : VIN_OK;
  }
  memset(kkt->agreed, 1, m);                      /* to nothing */
  VINI_TRY(factor_without_dropped(kkt, ldlt, 0)); /* a row of zeros is dropped by itself */
  take_dropped(kkt, ldlt);
  ldlt->table->info(ldlt, info);
  return VIN_OK;
}

/* The library's LDL', which drops dependent rows as it goes. */
static vin_status factor_ldlt(vin_kkt *kkt, vini_backend *ldlt) {
  VINI_TRY(vini_kkt_factor_with(kkt, ldlt));
  vini_factor_info info;
  ldlt->table->info(ldlt, &info);
  if (info.zero > 0 || kkt->any_dropped) take_dropped(kkt, ldlt);
  if (info.negative < kkt->m - kkt->dropped_count) {
    VINI_TRY(factor_above_noise(kkt, ldlt, &info));
  }
  if (kkt->dropped_count > 0) VINI_TRY(vini_kkt_check_range(kkt, ldlt));
  const bool small = !kkt->small_kept && info.rcond >= 0 && info.rcond < VINI_NEGLIGIBLE_PIVOT;
  if (small && find_negligible(kkt, ldlt) > 0) {
    VINI_TRY(factor_without_dropped(kkt, ldlt, 0)); /* a row of zeros is dropped by itself */
    take_dropped(kkt, ldlt);
    ldlt->table->info(ldlt, &info);
  }
  VINI_TRY(resolve_noise(kkt, ldlt, &info));
  kkt->min_pivot_ratio = info.min_pivot_ratio;
  if (info.min_pivot_ratio < LOST_PIVOT) VINI_TRY(check_mass(kkt, ldlt));
  if (info.negative != kkt->m - kkt->dropped_count) {
    return vini_fail(&kkt->object, VIN_SINGULAR,
                     "the factorisation has %d negative pivots instead of %d: H is not positive "
                     "definite where the constraints leave freedom",
                     (int)info.negative, (int)(kkt->m - kkt->dropped_count));
  }
  return VIN_OK;
}

/* Finds dependent rows with the library's LDL' for a backend that can't name them. */
static vin_status find_dependent(vin_kkt *kkt) {
  if (kkt->rank == NULL) {
    VINI_TRY(vini_ldlt_create(&kkt->rank, &kkt->object, kkt->k, kkt->plan.order));
    vini_ldlt_set_drop(kkt->rank, kkt->droppable, kkt->options.pivot_threshold);
    kkt->stats.symbolic++;
  }
  vin_status status = factor_ldlt(kkt, kkt->rank);
  if (status != VIN_OK) vini_kkt_forget_dropped(kkt);
  return status;
}

static vin_status singular(vin_kkt *kkt, const char *solver) {
  if (kkt->dropped_count > 0) {
    return vini_fail(
        &kkt->object, VIN_SINGULAR,
        "%s finds the system singular, also without the %d constraint rows that depend "
        "on the others: a mass is missing",
        solver, (int)kkt->dropped_count);
  }
  return vini_fail(
      &kkt->object, VIN_SINGULAR,
      "%s finds the system singular, and no constraint row depends on the others: a mass "
      "is missing, or constraints are nearly dependent",
      solver);
}

/* The last way: dependent rows by a rank-revealing QR, the others by UMFPACK with every row scaled.
 * VIN_ERR_UNSUPPORTED: there is no QR. kept: UMFPACK holds a factorisation with all rows, which
 * serves when none is dependent. */
vin_status vini_kkt_factor_revealed(vin_kkt *kkt, vini_backend *umfpack, bool kept) {
  vin_status status = vini_kkt_reveal_rank(kkt);
  if (status != VIN_OK) return status == VIN_ERR_NO_MEMORY ? status : VIN_ERR_UNSUPPORTED;
  if (kept && kkt->dropped_count == 0) return VIN_OK;
  status = factor_scaled(kkt, umfpack);
  return status == VIN_SINGULAR ? singular(kkt, "UMFPACK") : status;
}

/* May ldlt name the dependent rows? Not where it has failed already, where a hub comes last in its
 * order (a row that is independent through the hub alone seems dependent), and for a refusal. */
static bool trusts_ldlt(const vin_kkt *kkt, const vini_backend *umfpack) {
  if (!vini_rank_available()) return true;
  return umfpack == kkt->primary && kkt->plan.hubs == 0 &&
         kkt->options.redundancy != VIN_REDUNDANCY_REFUSE;
}

/* suspicious: at or below this estimate of the reciprocal condition, rows are searched. */
vin_status vini_kkt_factor_umfpack(vin_kkt *kkt, vini_backend *umfpack, double suspicious) {
  vini_kkt_forget_dropped(kkt);
  kkt->scaled = false;
  kkt->min_pivot_ratio = -1;
  VINI_TRY(vini_kkt_check_sizes(kkt));
  vin_status status = vini_kkt_factor_with(kkt, umfpack);
  if (status != VIN_OK && status != VIN_SINGULAR) return status;
  vini_factor_info info;
  umfpack->table->info(umfpack, &info);
  if (status == VIN_OK && info.rcond > suspicious) return VIN_OK;
  bool kept = status == VIN_OK;
  if (trusts_ldlt(kkt, umfpack)) {
    vin_status search = find_dependent(kkt);
    if (search == VIN_ERR_NO_MEMORY) return search;
    if (search == VIN_OK && kkt->dropped_count == 0 && kept) return VIN_OK;
    if (kkt->dropped_count > 0) {
      kept = false;
      status = factor_without_dropped(kkt, umfpack, 1);
      if (status != VIN_SINGULAR) return status;
    }
  }
  status = vini_kkt_factor_revealed(kkt, umfpack, kept);
  if (status != VIN_ERR_UNSUPPORTED) return status;
  return kept ? VIN_OK : singular(kkt, "UMFPACK");
}

static bool cholmod_suspicious(vin_kkt *kkt, const vini_backend *cholmod) {
  vini_factor_info info;
  cholmod->table->info(cholmod, &info);
  if (info.negative != kkt->m) return true;
  if (!cholmod->table->pivots(cholmod, kkt->pivot, kkt->pivot_scale)) return false;
  double smallest = HUGE_VAL, largest = 0, ratio = HUGE_VAL;
  for (vin_int i = 0; i < kkt->n; i++) {
    if (!(fabs(kkt->pivot[i]) >= LOST_PIVOT * kkt->pivot_scale[i])) return true;
    ratio = vini_min(ratio, fabs(kkt->pivot[i]) / kkt->pivot_scale[i]);
  }
  for (vin_int i = kkt->n; i < kkt->n + kkt->m; i++) {
    double d = fabs(kkt->pivot[i]);
    smallest = vini_min(smallest, d);
    largest = vini_max(largest, d);
    if (!(d >= kkt->options.pivot_threshold * kkt->pivot_scale[i])) return true;
    ratio = vini_min(ratio, d / kkt->pivot_scale[i]);
  }
  kkt->min_pivot_ratio = ratio;
  return smallest < VINI_NEGLIGIBLE_PIVOT * largest;
}

static vin_status factor_cholmod(vin_kkt *kkt, vini_backend *cholmod) {
  vini_kkt_forget_dropped(kkt);
  vin_status status = vini_kkt_factor_with(kkt, cholmod);
  if (status != VIN_OK && status != VIN_SINGULAR) return status;
  if (status == VIN_OK && !cholmod_suspicious(kkt, cholmod)) return VIN_OK;
  VINI_TRY(find_dependent(kkt));
  if (kkt->dropped_count == 0) return status == VIN_OK ? VIN_OK : singular(kkt, "CHOLMOD");
  /* a positive diagonal keeps the dropped rows out of the count of negative pivots */
  status = factor_without_dropped(kkt, cholmod, 1);
  vini_factor_info info;
  cholmod->table->info(cholmod, &info);
  bool regular = status == VIN_OK && info.negative == kkt->m - kkt->dropped_count;
  if (status != VIN_OK && status != VIN_SINGULAR) return status;
  return regular ? VIN_OK : singular(kkt, "CHOLMOD");
}

vin_status vini_kkt_factor_by(vin_kkt *kkt, vini_backend *backend) {
  switch (backend->table->solver) {
  case VIN_SOLVER_UMFPACK:
    return vini_kkt_factor_umfpack(kkt, backend,
                                   kkt->options.redundancy == VIN_REDUNDANCY_REFUSE
                                       ? VINI_REGULAR_RCOND
                                       : VINI_SUSPICIOUS_RCOND);
  case VIN_SOLVER_CHOLMOD:
    return factor_cholmod(kkt, backend);
  default:
    return factor_ldlt(kkt, backend);
  }
}
