/* Factorisation and its verdict: inertia, pivot ratios, dependent rows, the next solver. */
#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this estimate of UMFPACK's reciprocal condition the rows are searched for dependence:
 * duplicated rows give 1e-17, regular systems with mass ratios of 1e10 stay above or are
 * cleared. */
#define SUSPICIOUS_RCOND 1e-13
/* Rounding gives dependent rows pivots of either sign and of about the same size; those with the
 * wrong sign show it. */
#define NOISE_MARGIN 64
/* A threshold this high would drop rows that are merely close to each other, |d|/S = angle^2. */
#define LARGEST_NOISE 1e-5
/* Above this estimate no row is dependent: one that is leaves LEAST_DISTANCE at most. */
#define REGULAR_RCOND 1e-8
/* A multiplier's pivot so much smaller than the largest one belongs to a row that is zero to
 * rounding (its entries are 1e-13 of the others'); mass ratios up to 1e16 stay above. */
#define NEGLIGIBLE_PIVOT 1e-26
/* Distance of a constraint row of length 1 from the span of the others, below which a QR calls it
 * dependent when the wider tolerance, that of ldlt's pivots (which are quadratic in it), leads to
 * contradictions. Rounding of the QR reaches 1e-13 with 1e5 rows; from a row that is 1e-10 away the
 * solution still has six digits. */
#define LEAST_DISTANCE 1e-10
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

static vin_status factor_with(vin_kkt *kkt, vini_backend *backend) {
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

static void forget_dropped(vin_kkt *kkt) {
  memset(kkt->dropped, 0, (size_t)kkt->m);
  kkt->dropped_count = 0;
}

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

/* Factorises with the dropped rows left out of the matrix itself. */
static vin_status factor_without_dropped(vin_kkt *kkt, vini_backend *backend, double diagonal) {
  VINI_TRY(vini_kkt_stash_values(kkt));
  vini_kkt_blank_rows(kkt, diagonal);
  vin_status status = factor_with(kkt, backend);
  vini_kkt_restore_values(kkt);
  return status;
}

/* The same with every constraint row scaled to size 1. */
static vin_status factor_scaled(vin_kkt *kkt, vini_backend *backend) {
  VINI_TRY(vini_kkt_stash_values(kkt));
  vini_kkt_scale_constraints(kkt);
  vini_kkt_blank_rows(kkt, 1);
  vin_status status = factor_with(kkt, backend);
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
  for (vin_int i = 0; i < kkt->m; i++) found += size[i] <= NEGLIGIBLE_PIVOT * largest;
  if (found == 0) return 0;
  for (vin_int i = 0; i < kkt->m; i++) kkt->dropped[i] = size[i] <= NEGLIGIBLE_PIVOT * largest;
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
    forget_dropped(kkt);
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
  vin_status status = factor_with(kkt, ldlt);
  vini_ldlt_set_drop(ldlt, kkt->droppable, kkt->options.pivot_threshold);
  VINI_TRY(status);
  ldlt->table->info(ldlt, info);
  take_dropped(kkt, ldlt);
  return VIN_OK;
}

/* The library's LDL', which drops dependent rows as it goes. */
static vin_status factor_ldlt(vin_kkt *kkt, vini_backend *ldlt) {
  VINI_TRY(factor_with(kkt, ldlt));
  vini_factor_info info;
  ldlt->table->info(ldlt, &info);
  if (info.zero > 0 || kkt->any_dropped) take_dropped(kkt, ldlt);
  if (info.negative < kkt->m - kkt->dropped_count) {
    VINI_TRY(factor_above_noise(kkt, ldlt, &info));
  }
  if (kkt->dropped_count > 0) VINI_TRY(vini_kkt_check_range(kkt, ldlt));
  if (info.rcond >= 0 && info.rcond < NEGLIGIBLE_PIVOT && find_negligible(kkt, ldlt) > 0) {
    VINI_TRY(factor_without_dropped(kkt, ldlt, 0)); /* a row of zeros is dropped by itself */
    take_dropped(kkt, ldlt);
    ldlt->table->info(ldlt, &info);
  }
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
  if (status != VIN_OK) forget_dropped(kkt);
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
      "is missing",
      solver);
}

/* The last way: dependent rows by a rank-revealing QR, the others by UMFPACK with every row scaled.
 * VIN_ERR_UNSUPPORTED: there is no QR. kept: UMFPACK holds a factorisation with all rows, which
 * serves when none is dependent. */
static vin_status factor_revealed(vin_kkt *kkt, vini_backend *umfpack, bool kept) {
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
static vin_status factor_umfpack(vin_kkt *kkt, vini_backend *umfpack, double suspicious) {
  forget_dropped(kkt);
  kkt->scaled = false;
  kkt->min_pivot_ratio = -1;
  vin_status status = factor_with(kkt, umfpack);
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
  status = factor_revealed(kkt, umfpack, kept);
  if (status != VIN_ERR_UNSUPPORTED) return status;
  return kept ? VIN_OK : singular(kkt, "UMFPACK");
}

static bool cholmod_suspicious(vin_kkt *kkt, const vini_backend *cholmod) {
  vini_factor_info info;
  cholmod->table->info(cholmod, &info);
  if (info.negative != kkt->m) return true;
  if (!cholmod->table->pivots(cholmod, kkt->pivot, kkt->pivot_scale)) return false;
  double smallest = HUGE_VAL, largest = 0, ratio = HUGE_VAL;
  for (vin_int i = kkt->n; i < kkt->n + kkt->m; i++) {
    double d = fabs(kkt->pivot[i]);
    smallest = vini_min(smallest, d);
    largest = vini_max(largest, d);
    if (!(d >= kkt->options.pivot_threshold * kkt->pivot_scale[i])) return true;
    ratio = vini_min(ratio, d / kkt->pivot_scale[i]);
  }
  kkt->min_pivot_ratio = kkt->m > 0 ? ratio : -1;
  return smallest < NEGLIGIBLE_PIVOT * largest;
}

static vin_status factor_cholmod(vin_kkt *kkt, vini_backend *cholmod) {
  forget_dropped(kkt);
  vin_status status = factor_with(kkt, cholmod);
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

static vin_status factor_by(vin_kkt *kkt, vini_backend *backend) {
  switch (backend->table->solver) {
  case VIN_SOLVER_UMFPACK:
    return factor_umfpack(kkt, backend,
                          kkt->options.redundancy == VIN_REDUNDANCY_REFUSE ? REGULAR_RCOND
                                                                           : SUSPICIOUS_RCOND);
  case VIN_SOLVER_CHOLMOD:
    return factor_cholmod(kkt, backend);
  default:
    return factor_ldlt(kkt, backend);
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
  return factor_umfpack(kkt, kkt->fallback, suspicious);
}

static void count_fallback(vin_kkt *kkt, const char *reason) {
  if (kkt->stats.fallbacks++ > 0) return;
  vini_log(&kkt->object, VIN_LOG_WARNING, "UMFPACK takes over from ldlt: %s", reason);
}

static vin_status fall_back(vin_kkt *kkt, const char *reason) {
  if (!may_fall_back(kkt)) return VIN_ERR_UNSUPPORTED;
  count_fallback(kkt, reason);
  VINI_TRY(factor_fallback(kkt, SUSPICIOUS_RCOND));
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

/* Compares ldlt's factorisation, which dropped rows, with UMFPACK's (and the QR's, where UMFPACK
 * finds the system singular), and goes on with UMFPACK's where that needs fewer or more rows. */
static vin_status accept_compared(vin_kkt *kkt) {
  size_t m = (size_t)kkt->m;
  vin_int count = kkt->dropped_count;
  double ratio = kkt->min_pivot_ratio;
  if (kkt->agreed == NULL) kkt->agreed = vini_alloc(&kkt->object.context, m, 1);
  if (kkt->agreed == NULL) {
    return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory to compare %d rows", (int)kkt->m);
  }
  memcpy(kkt->agreed, kkt->dropped, m);
  vin_status status = factor_fallback(kkt, REGULAR_RCOND); /* ldlt has found a reason */
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
  VINI_TRY(factor_with(kkt, kkt->swift));
  vini_factor_info info;
  kkt->swift->table->info(kkt->swift, &info);
  if (info.negative != kkt->m || (info.rcond >= 0 && info.rcond < NEGLIGIBLE_PIVOT)) {
    return vini_fail(&kkt->object, VIN_SINGULAR,
                     "%d negative pivots where %d are expected, the smallest %.1g of the largest",
                     (int)info.negative, (int)kkt->m, info.rcond);
  }
  if (kkt->any_dropped) {
    forget_dropped(kkt);
    kkt->any_dropped = false;
  }
  kkt->min_pivot_ratio = info.min_pivot_ratio;
  return VIN_OK;
}

/* Factorises in the Schur-type order. */
static vin_status factor_carefully(vin_kkt *kkt) {
  vin_status status = factor_by(kkt, kkt->primary);
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

vin_status vini_kkt_factor_next(vin_kkt *kkt, const char *reason) {
  vini_backend *active = kkt->active;
  if (active == kkt->swift) {
    VINI_TRY(give_up_swift(kkt, reason));
    return factor_carefully(kkt);
  }
  const bool last = kkt->revealed && kkt->rank_tolerance <= LEAST_DISTANCE;
  /* rows were dropped, and one of them is needed after all: from now on only clear cases */
  if (kkt->dropped_count > 0 || kkt->revealed) kkt->rank_tolerance = LEAST_DISTANCE;
  if (active->table->solver == VIN_SOLVER_LDLT) return fall_back(kkt, reason);
  if (active->table->solver != VIN_SOLVER_UMFPACK || last || !vini_rank_available()) {
    return VIN_ERR_UNSUPPORTED;
  }
  vini_factor_info info;
  active->table->info(active, &info);
  if (kkt->dropped_count == 0 && info.rcond > REGULAR_RCOND) return VIN_ERR_UNSUPPORTED;
  kkt->active = NULL;
  VINI_TRY(factor_revealed(kkt, active, false));
  return accept(kkt, active);
}

vin_status vini_kkt_factor_values(vin_kkt *kkt) {
  kkt->scaled = kkt->revealed = false;
  kkt->rank_tolerance = vini_max(sqrt(kkt->options.pivot_threshold), LEAST_DISTANCE);
  if (kkt->swift != NULL && kkt->swift_failures < SWIFT_FAILURES) {
    const vin_status status = factor_swift(kkt);
    if (status == VIN_OK) return accept(kkt, kkt->swift);
    if (status != VIN_SINGULAR) return status;
    char reason[VINI_TEXT_SIZE];
    memcpy(reason, kkt->object.text, sizeof reason);
    VINI_TRY(give_up_swift(kkt, reason));
  }
  return factor_carefully(kkt);
}
