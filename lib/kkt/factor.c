/* Factorisation and its verdict: inertia, pivot ratios, dependent rows, the next solver. */
#include "kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this estimate of UMFPACK's reciprocal condition the rows are searched for dependence:
 * duplicated rows give 1e-17, regular systems with mass ratios of 1e10 stay above or are
 * cleared. */
#define SUSPICIOUS_RCOND 1e-13
/* A multiplier's pivot so much smaller than the largest one belongs to a row that is zero to
 * rounding (its entries are 1e-13 of the others'); mass ratios up to 1e16 stay above. */
#define NEGLIGIBLE_PIVOT 1e-26

static vin_status factor_with(vin_kkt *kkt, vini_backend *backend) {
  kkt->stats.numeric++;
  return backend->table->factor(backend, kkt->k);
}

static void collect_dropped(vin_kkt *kkt) {
  kkt->dropped_count = 0;
  for (vin_int i = 0; i < kkt->m; i++) {
    if (kkt->dropped[i]) kkt->dropped_rows[kkt->dropped_count++] = i;
  }
  kkt->any_dropped = kkt->dropped_count > 0;
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

/* Replaces the dropped rows of K by zero and their diagonal by `diagonal`; the old values go to the
 * stash, in the order in which restore_rows() meets them. */
static vin_status blank_rows(vin_kkt *kkt, double diagonal) {
  vin_sparse *k = kkt->k;
  if (kkt->stash == NULL) {
    kkt->stash =
        vini_alloc(&kkt->object.context, (size_t)k->start[kkt->n + kkt->m], sizeof(double));
    if (kkt->stash == NULL) {
      return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory to factorise without %d rows",
                       (int)kkt->dropped_count);
    }
  }
  memcpy(kkt->stash, k->value, (size_t)k->start[kkt->n + kkt->m] * sizeof(double));
  for (vin_int j = 0; j < kkt->n + kkt->m; j++) {
    bool column = j >= kkt->n && kkt->dropped[j - kkt->n];
    for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
      vin_int i = k->row[at];
      bool row = i >= kkt->n && kkt->dropped[i - kkt->n];
      if (row || column) k->value[at] = i == j ? diagonal : 0;
    }
  }
  return VIN_OK;
}

static void restore_rows(vin_kkt *kkt) {
  memcpy(kkt->k->value, kkt->stash, (size_t)kkt->k->start[kkt->n + kkt->m] * sizeof(double));
}

/* Factorises with the dropped rows left out of the matrix itself. */
static vin_status factor_without_dropped(vin_kkt *kkt, vini_backend *backend, double diagonal) {
  VINI_TRY(blank_rows(kkt, diagonal));
  vin_status status = factor_with(kkt, backend);
  restore_rows(kkt);
  return status;
}

static void take_dropped(vin_kkt *kkt, const vini_backend *ldlt) {
  const unsigned char *dropped = vini_ldlt_dropped(ldlt);
  for (vin_int i = 0; i < kkt->m; i++) kkt->dropped[i] = dropped[kkt->n + i];
  collect_dropped(kkt);
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
  collect_dropped(kkt);
  return found;
}

/* The library's LDL', which drops dependent rows as it goes. */
static vin_status factor_ldlt(vin_kkt *kkt, vini_backend *ldlt) {
  VINI_TRY(factor_with(kkt, ldlt));
  vini_factor_info info;
  ldlt->table->info(ldlt, &info);
  if (info.zero > 0 || kkt->any_dropped) take_dropped(kkt, ldlt);
  if (info.rcond >= 0 && info.rcond < NEGLIGIBLE_PIVOT && find_negligible(kkt, ldlt) > 0) {
    VINI_TRY(factor_without_dropped(kkt, ldlt, 0)); /* a row of zeros is dropped by itself */
    take_dropped(kkt, ldlt);
    ldlt->table->info(ldlt, &info);
  }
  kkt->min_pivot_ratio = info.min_pivot_ratio;
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
  if (status != VIN_OK) {
    memset(kkt->dropped, 0, (size_t)kkt->m);
    kkt->dropped_count = 0;
  }
  return status;
}

static vin_status singular(vin_kkt *kkt, const char *solver) {
  return vini_fail(
      &kkt->object, VIN_SINGULAR,
      "%s finds the system singular, and no constraint row depends on the others: a mass "
      "is missing",
      solver);
}

static vin_status factor_umfpack(vin_kkt *kkt, vini_backend *umfpack) {
  memset(kkt->dropped, 0, (size_t)kkt->m);
  kkt->dropped_count = 0;
  kkt->min_pivot_ratio = -1;
  vin_status status = factor_with(kkt, umfpack);
  if (status != VIN_OK && status != VIN_SINGULAR) return status;
  vini_factor_info info;
  umfpack->table->info(umfpack, &info);
  if (status == VIN_OK && info.rcond > SUSPICIOUS_RCOND) return VIN_OK;
  vin_status search = find_dependent(kkt);
  if (search == VIN_ERR_NO_MEMORY) return search;
  if (kkt->dropped_count == 0) return status == VIN_OK ? VIN_OK : singular(kkt, "UMFPACK");
  status = factor_without_dropped(kkt, umfpack, 1);
  return status == VIN_SINGULAR ? singular(kkt, "UMFPACK") : status;
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
  memset(kkt->dropped, 0, (size_t)kkt->m);
  kkt->dropped_count = 0;
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
    return factor_umfpack(kkt, backend);
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
  return VIN_OK;
}

vin_status vini_kkt_fall_back(vin_kkt *kkt, const char *reason) {
  if (kkt->options.solver != VIN_SOLVER_AUTO || !vin_solver_available(VIN_SOLVER_UMFPACK)) {
    return VIN_ERR_UNSUPPORTED;
  }
  kkt->active = NULL; /* what was dropped belongs to the next factorisation from here on */
  if (kkt->stats.fallbacks++ == 0) {
    vini_log(&kkt->object, VIN_LOG_WARNING, "UMFPACK takes over from ldlt: %s", reason);
  }
  if (kkt->fallback == NULL) {
    VINI_TRY(vini_umfpack_create(&kkt->fallback, &kkt->object, kkt->k, kkt->plan.order));
    kkt->stats.symbolic++;
  }
  VINI_TRY(factor_umfpack(kkt, kkt->fallback));
  return accept(kkt, kkt->fallback);
}

vin_status vini_kkt_factor_values(vin_kkt *kkt) {
  vin_status status = factor_by(kkt, kkt->primary);
  if (status == VIN_OK) return accept(kkt, kkt->primary);
  if (status != VIN_SINGULAR) return status;
  char reason[VINI_TEXT_SIZE];
  memcpy(reason, kkt->object.text, sizeof reason);
  status = vini_kkt_fall_back(kkt, reason);
  if (status == VIN_ERR_UNSUPPORTED) return vini_fail(&kkt->object, VIN_SINGULAR, "%s", reason);
  return status;
}
