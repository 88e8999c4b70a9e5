/* Is a verified solution determined? A small residual says nothing about that: where the matrix is singular
 * to rounding, any multiple of a null vector may be added. So the answer to a rounding in each row is
 * asked of the factorisation, where that gives reason to doubt. */
#include "kkt/kkt.h"

#include <float.h>
#include <math.h>

/* Estimate of the reciprocal condition (UMFPACK), and pivot ratio (LDL'), below which a factorisation is
 * doubtful: a singular system leaves 1e-16 times the ratio of its scales. Mass ratios come here, too. */
#define DOUBTFUL_RCOND 1e-8
#define DOUBTFUL_PIVOT 1e-5
/* Part of the largest acceleration, or of the largest force, that a rounding may move. */
#define UNDETERMINED 1e-5
#define FEW_ROUNDINGS (64 * DBL_EPSILON)
/* Forces of constraints are at most this times all that is applied and accelerated; more than that, among nearly dependent
 * constraints, is no excuse for what its rounding does. */
#define LARGEST_LEVER 1e3

double vini_kkt_credible_force(const vin_kkt *kkt, const double *z) {
  const vin_sparse *k = kkt->k;
  double sum = 0;
  for (vin_int j = 0; j < kkt->n; j++) { /* each column starts with its diagonal */
    sum += fabs(kkt->b[j]) + fabs(k->value[k->start[j]] * z[j]);
  }
  return sum > 0 ? LARGEST_LEVER * sum : HUGE_VAL;
}

bool vini_kkt_doubtful(const vin_kkt *kkt) {
  if (kkt->active->table->solver == VIN_SOLVER_UMFPACK) {
    vini_factor_info info;
    kkt->active->table->info(kkt->active, &info);
    return !(info.rcond > DOUBTFUL_RCOND);
  }
  return kkt->min_pivot_ratio >= 0 && kkt->min_pivot_ratio < DOUBTFUL_PIVOT;
}

/* r := an error in each row, relative to its terms, with signs of no pattern (a linear congruential
 * sequence). */
static void disturb(const vin_kkt *kkt, double error, double *r, const double *s) {
  uint32_t state = 1;
  for (vin_int i = 0; i < kkt->n + kkt->m; i++) {
    state = state * 1664525u + 1013904223u;
    r[i] = (state & 0x80000000u) != 0 ? error * s[i] : -error * s[i];
  }
}

/* s := |K| 1 */
static void measure_rows(const vin_kkt *kkt, double *s) {
  const vin_sparse *k = kkt->k;
  for (vin_int j = 0; j < kkt->n + kkt->m; j++) {
    for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
      s[j] += fabs(k->value[at]);
      if (k->row[at] != j) s[k->row[at]] += fabs(k->value[at]);
    }
  }
}

/* The coordinate that is moved most, or -1, relative to the largest acceleration. That may itself be a
 * rounding of what the forces could do (a chain that hangs at rest): then what moves it is no more. */
static vin_int moved_coordinate(const vin_kkt *kkt, const double *z, double *most) {
  const vin_sparse *k = kkt->k;
  const double credible = vini_kkt_credible_force(kkt, z);
  double largest = 0;
  for (vin_int j = 0; j < kkt->n; j++) { /* each column starts with its diagonal */
    const double inertia = fabs(k->value[k->start[j]]);
    if (inertia > 0) largest = vini_max(largest, vini_min(kkt->s[j], credible) / inertia);
  }
  const double size = vini_max_abs(z, kkt->n), noise = FEW_ROUNDINGS * largest;
  const double scale = size > noise ? size : largest;
  vin_int worst = -1;
  for (vin_int j = 0; j < kkt->n; j++) {
    const double error = fabs(kkt->r[j]);
    if (error <= *most * scale) continue;
    *most = error / scale;
    worst = j;
  }
  return worst;
}

/* The multiplier that is moved most, by its forces relative to the largest ones, or -1. */
static vin_int moved_multiplier(const vin_kkt *kkt, double *most) {
  const vin_sparse *k = kkt->k;
  const double size = vini_max_abs(kkt->s, kkt->n);
  vin_int worst = -1;
  for (vin_int j = 0; j < kkt->n; j++) {
    for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
      if (k->row[at] < kkt->n) continue;
      const double error = fabs(k->value[at] * kkt->r[k->row[at]]);
      if (error <= *most * size) continue;
      *most = error / size;
      worst = k->row[at] - kkt->n;
    }
  }
  return worst;
}

vin_status vini_kkt_check_determined(vin_kkt *kkt, const double *z, double error) {
  double most = UNDETERMINED;
  if (vini_max_abs(kkt->s, kkt->n + kkt->m) == 0) measure_rows(kkt, kkt->s); /* 0 for 0 */
  disturb(kkt, vini_max(error, DBL_EPSILON), kkt->r, kkt->s);
  VINI_TRY(vini_kkt_apply_inverse(kkt, 1, kkt->r));
  const vin_int j = moved_coordinate(kkt, z, &most);
  if (j >= 0) {
    return vini_fail(&kkt->object, VIN_SINGULAR,
                     "a rounding of the forces moves coordinate %d by %.2g of the solution: H is "
                     "singular, or nearly so, where the constraints leave freedom (a mass is "
                     "missing), or constraints are nearly dependent",
                     (int)j, most);
  }
  const vin_int i = moved_multiplier(kkt, &most);
  if (i < 0) return VIN_OK;
  char name[96];
  vini_kkt_constraint_name(kkt, i, name, sizeof name);
  return vini_fail(&kkt->object, VIN_SINGULAR,
                   "a rounding moves the force of %s by %.2g of the largest: it depends on the "
                   "other constraints",
                   name, most);
}
