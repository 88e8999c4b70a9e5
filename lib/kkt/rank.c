/* Dependent constraint rows by a rank-revealing QR: the slow way, for values where the static order
 * cannot tell (a row that is independent through a hub alone, H that is only semidefinite, rows of
 * very different size). */
#include "kkt/kkt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below it the terms of a multiplier's pivot, J^2 / H, have lost digits to underflow. */
#define UNDERFLOW 1e-290
/* Part of the largest entries that rounding of them, or of squares of that, may leave; entries below it are
 * in other units. */
#define SMALLEST_ROUNDING 1e-40
/* Times the largest acceleration that forces or other rows ask for, a row may ask for more. */
#define PLAUSIBLE 1e6
/* Binary exponent of H up to which its rows and those of size 1 make one scale for UMFPACK, whose
 * smallest accepted ratio of pivots is 1e-15. */
#define LARGEST_EXPONENT 40

/* Columns of [J -C]'. A multiplier that acts on nothing, J' l = 0 and C l = 0, is what makes the
 * system singular on the side of the constraints. */
typedef struct columns {
  vin_int *start, *row; /* m + 1, entries */
  double *value;
} columns;

static void columns_free(columns *a, const vin_context *context) {
  vini_free(context, a->start);
  vini_free(context, a->row);
  vini_free(context, a->value);
}

/* Each stored entry of K: at column j, place `at`. */
#define EACH_ENTRY(kkt, j, at)                                                                     \
  for (vin_int j = 0; j < (kkt)->n + (kkt)->m; j++)                                                \
    for (vin_int at = (kkt)->k->start[j]; at < (kkt)->k->start[j + 1]; at++)

/* Sizes of the rows of J and C: the largest entry of each. */
static void measure_rows(const vin_kkt *kkt, double *size) {
  memset(size, 0, (size_t)kkt->m * sizeof *size);
  EACH_ENTRY(kkt, j, at) {
    vin_int i = kkt->k->row[at] - kkt->n;
    double value = fabs(kkt->k->value[at]);
    if (i < 0) continue;
    size[i] = vini_max(size[i], value);
    if (j >= kkt->n) size[j - kkt->n] = vini_max(size[j - kkt->n], value);
  }
}

static void put(columns *a, vin_int column, vin_int row, double value) {
  vin_int at = a->start[column]++;
  a->row[at] = row;
  a->value[at] = value;
}

/* Rows of J and C as columns; entries that are zero, and rows that are zero to rounding, are left
 * out. */
static void transpose(const vin_kkt *kkt, const double *size, double least, columns *a) {
  const vin_int n = kkt->n, m = kkt->m;
  for (int fill = 0; fill < 2; fill++) {
    EACH_ENTRY(kkt, j, at) {
      vin_int i = kkt->k->row[at] - n, mirrored = j - n;
      double value = kkt->k->value[at];
      if (i < 0 || value == 0) continue;
      if (!fill) {
        a->start[i + 1] += size[i] > least;
        if (mirrored >= 0 && mirrored != i) a->start[mirrored + 1] += size[mirrored] > least;
        continue;
      }
      if (size[i] > least) put(a, i, j, value);
      if (mirrored >= 0 && mirrored != i && size[mirrored] > least) put(a, mirrored, n + i, value);
    }
    for (vin_int i = 0; i < m && !fill; i++) a->start[i + 1] += a->start[i];
  }
  for (vin_int i = m; i > 0; i--) a->start[i] = a->start[i - 1];
  a->start[0] = 0;
}

/* 0, or, where the entries of H are far from 1, the binary exponent of the largest one. */
static int inertia_exponent(const vin_kkt *kkt) {
  double largest = 0;
  int exponent = 0;
  for (vin_int j = 0; j < kkt->n; j++) { /* each column starts with its diagonal */
    largest = vini_max(largest, fabs(kkt->k->value[kkt->k->start[j]]));
  }
  frexp(largest, &exponent);
  return abs(exponent) > LARGEST_EXPONENT ? exponent : 0;
}

/* Powers of two, so that scaling does not round: rows of J come to entries between 1/2 and 1, or of
 * the size of H where that is extreme. */
static void choose_scale(vin_kkt *kkt, const double *size, double least) {
  const int target = inertia_exponent(kkt);
  for (vin_int i = 0; i < kkt->m; i++) {
    int exponent = target;
    if (size[i] > least) frexp(size[i], &exponent);
    kkt->row_scale[i] = ldexp(1, target - exponent);
  }
}

static vin_status find(vin_kkt *kkt, double *size, columns *a, vin_int *rank) {
  measure_rows(kkt, size);
  const double least = kkt->small_kept ? 0 : VINI_NEGLIGIBLE_ROW * vini_max_abs(size, kkt->m);
  transpose(kkt, size, least, a);
  choose_scale(kkt, size, least);
  vin_csc matrix = {.rows = kkt->n + kkt->m,
                    .cols = kkt->m,
                    .storage = VIN_STORAGE_GENERAL,
                    .start = a->start,
                    .row = a->row,
                    .value = a->value};
  return vini_dependent_columns(&kkt->object, matrix, kkt->rank_tolerance, kkt->dropped, rank);
}

vin_status vini_kkt_reveal_rank(vin_kkt *kkt) {
  const vin_context *context = &kkt->object.context;
  /* at most: C twice, and nothing of H */
  size_t m = (size_t)kkt->m, entries = 2 * (size_t)kkt->k->start[kkt->n + kkt->m];
  if (!vini_rank_available()) return VIN_ERR_UNSUPPORTED;
  if (entries > INT32_MAX) return VIN_ERR_TOO_LARGE;
  if (kkt->row_scale == NULL) kkt->row_scale = vini_alloc(context, m, sizeof(double));
  double *size = vini_alloc(context, m, sizeof *size);
  columns a = {.start = vini_alloc(context, m + 1, sizeof *a.start),
               .row = vini_alloc(context, entries, sizeof *a.row),
               .value = vini_alloc(context, entries, sizeof *a.value)};
  vin_status status = VIN_ERR_NO_MEMORY;
  vin_int rank = 0;
  if (kkt->row_scale && size && a.start && a.row && a.value) {
    status = find(kkt, size, &a, &rank);
  } else {
    vini_fail(&kkt->object, status, "no memory to find the rank of %d constraint rows",
              (int)kkt->m);
  }
  vini_free(context, size);
  columns_free(&a, context);
  if (status != VIN_OK) memset(kkt->dropped, 0, m);
  vini_kkt_collect_dropped(kkt);
  VINI_TRY(status);
  kkt->revealed = true;
  if (kkt->stats.rank_revealing++ == 0) {
    vini_log(&kkt->object, VIN_LOG_INFO,
             "rank-revealing QR of %d constraint rows: rank %d to a tolerance of %.1g", (int)kkt->m,
             (int)rank, kkt->rank_tolerance);
  }
  return VIN_OK;
}

/* Was a row left out that is so small beside the others that this must be a matter of units, and none that
 * may be rounding? size: m, of each row; *least: what is small. */
static bool small_dropped(const vin_kkt *kkt, double *size, double *least) {
  bool any = false;
  if (kkt->dropped_count == 0) return false;
  measure_rows(kkt, size);
  const double largest = vini_max_abs(size, kkt->m);
  *least = VINI_NEGLIGIBLE_ROW * largest;
  for (vin_int d = 0; d < kkt->dropped_count; d++) {
    const double here = size[kkt->dropped_rows[d]];
    if (here == 0 || here > *least) continue;
    if (here > SMALLEST_ROUNDING * largest) return false;
    any = true;
  }
  return any;
}

bool vini_kkt_dropped_small(const vin_kkt *kkt) {
  double least;
  return small_dropped(kkt, kkt->pivot, &least); /* free between factorisations */
}

bool vini_kkt_needs_small_rows(const vin_kkt *kkt) {
  double *size = kkt->pivot, *g = kkt->b + kkt->n, asked = 0, least;
  if (!small_dropped(kkt, size, &least)) return false;
  for (vin_int j = 0; j < kkt->n; j++) { /* each column starts with its diagonal */
    const double inertia = fabs(kkt->k->value[kkt->k->start[j]]);
    if (inertia > 0) asked = vini_max(asked, fabs(kkt->b[j]) / inertia);
  }
  for (vin_int i = 0; i < kkt->m; i++) {
    if (size[i] > least) asked = vini_max(asked, fabs(g[i]) / size[i]);
  }
  for (vin_int d = 0; d < kkt->dropped_count; d++) {
    const vin_int i = kkt->dropped_rows[d];
    if (size[i] > least || size[i] == 0) continue;
    if (fabs(g[i]) / size[i] > PLAUSIBLE * asked) return false;
  }
  return true;
}

static vin_status too_small(vin_kkt *kkt, vin_int i, double value) {
  char name[96];
  vini_kkt_constraint_name(kkt, i, name, sizeof name);
  return vini_fail(&kkt->object, VIN_SINGULAR,
                   "the entries of %s are so small (%.1g) that J H^-1 J' underflows: choose other "
                   "units",
                   name, value);
}

vin_status vini_kkt_check_sizes(vin_kkt *kkt) {
  double *size = kkt->pivot;
  measure_rows(kkt, size);
  for (vin_int i = 0; i < kkt->m; i++) {
    if (size[i] > 0 && size[i] < UNDERFLOW) return too_small(kkt, i, size[i]);
  }
  return VIN_OK;
}

double vini_kkt_row_size(const vin_kkt *kkt, vin_int i) {
  double *size = kkt->pivot;
  measure_rows(kkt, size);
  const double largest = vini_max_abs(size, kkt->m);
  return largest > 0 ? size[i] / largest : 1;
}

double vini_kkt_noise(vin_kkt *kkt, const vini_backend *ldlt) {
  double noise = 0;
  if (!ldlt->table->pivots(ldlt, kkt->pivot, kkt->pivot_scale)) return 0;
  for (vin_int i = 0; i < kkt->n; i++) {
    if (!(kkt->pivot[i] > 0)) return 0; /* H itself is not positive definite */
  }
  for (vin_int i = kkt->n; i < kkt->n + kkt->m; i++) {
    if (kkt->pivot[i] <= 0 || kkt->dropped[i - kkt->n]) continue;
    noise = vini_max(noise, kkt->pivot[i] / kkt->pivot_scale[i]);
  }
  return noise;
}

vin_status vini_kkt_check_range(vin_kkt *kkt, const vini_backend *ldlt) {
  const vin_int n = kkt->n;
  double largest = 0;
  bool lost = false;
  if (!ldlt->table->pivots(ldlt, kkt->pivot, kkt->pivot_scale)) return VIN_OK;
  for (vin_int d = 0; d < kkt->dropped_count; d++) {
    lost = lost || kkt->pivot_scale[n + kkt->dropped_rows[d]] < UNDERFLOW;
  }
  if (!lost) return VIN_OK;
  EACH_ENTRY(kkt, j, at) {
    if (kkt->k->row[at] >= n) largest = vini_max(largest, fabs(kkt->k->value[at]));
  }
  EACH_ENTRY(kkt, j, at) {
    const vin_int i = kkt->k->row[at] - n;
    const double value = fabs(kkt->k->value[at]);
    if (i < 0 || !kkt->dropped[i]) continue;
    if (value <= (kkt->small_kept ? 0 : VINI_NEGLIGIBLE_ROW * largest)) continue;
    if (kkt->pivot_scale[n + i] >= UNDERFLOW) continue;
    memset(kkt->dropped, 0, (size_t)kkt->m);
    kkt->dropped_count = 0;
    return too_small(kkt, i, value);
  }
  return VIN_OK;
}
