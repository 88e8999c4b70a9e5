/* Numeric reuse: a factorisation of older values kept as the matrix of an iteration; theory 2.4.
 *
 * With K the present matrix and K0 the factorised one, z <- z + K0^-1 (b - K z) converges with the
 * contraction q ~ |K - K0| / |K|, about the step times the largest relative rate. That pays where a
 * factorisation costs many such sweeps (large nets), and never on chains. The policy knows the costs
 * from the analysis and the contraction from the last solves, so that it is the same in every run. */
#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Cost in multiply-adds of a substitution's pace: a factorisation of large fronts runs 3 times as many
 * per second as a substitution, which waits for memory (net 100 x 100: 2.33e7 flops in 3.4 ms, 4 nnz
 * = 2.2e6 in 0.7 ms). */
#define FACTOR_PACE 3.0
/* Fewer sweeps than this for the price of a factorisation: not worth the trouble. */
#define LEAST_RATIO 4.0
/* Right-hand sides that a step solves one after the other with the same matrix: the velocity stage
 * and a correction of the position stage. */
#define SOLVES_PER_FACTOR 2.0
/* Worst contraction that is accepted. */
#define WORST_CONTRACTION 0.3
/* Sweeps of one solve; above it the matrix is renewed. */
#define MOST_SWEEPS 16
/* Updates that factorise at once after a kept factorisation had to be given up. */
#define PAUSE 16
/* Updates after which a contraction that did not pay is measured anew, by keeping once. */
#define RETRY 128
/* Residual, relative to the largest terms of its kind of row: arrived; may stagnate here. */
#define ARRIVED (8 * DBL_EPSILON)
#define STAGNANT 1e-13

void vini_kkt_set_costs(vin_kkt *kkt) {
  double nnz = (double)kkt->plan.nnz, entries = (double)kkt->k->start[kkt->n + kkt->m];
  double sweep = 4 * nnz + 8 * entries;
  kkt->reuse.ratio = (kkt->plan.flops / FACTOR_PACE + 4 * nnz) / (sweep > 0 ? sweep : 1);
}

/* Would solving with the factorisation as it is cost less than a new one? */
static bool pays(vin_kkt *kkt) {
  vini_reuse *reuse = &kkt->reuse;
  if (kkt->options.reuse == VIN_REUSE_NEVER || kkt->active == NULL || kkt->dropped_count > 0) {
    return false;
  }
  if (reuse->pause > 0) {
    reuse->pause--;
    return false;
  }
  bool always = kkt->options.reuse == VIN_REUSE_ALWAYS;
  if (!always && reuse->ratio < LEAST_RATIO) return false;
  if (reuse->contraction == 0) return true; /* not measured yet: that takes one try */
  double q = reuse->contraction * (double)(reuse->age + 1);
  double sweeps = q < 1 ? ceil(log(DBL_EPSILON) / log(q)) : HUGE_VAL;
  if (q <= WORST_CONTRACTION && (always || SOLVES_PER_FACTOR * sweeps < reuse->ratio)) return true;
  reuse->contraction = 0;
  reuse->pause = always ? 0 : RETRY;
  return false;
}

vin_status vini_kkt_update_finite(vin_kkt *kkt, const double *h, const double *j, const double *c) {
  if (!pays(kkt)) return vini_kkt_factor_finite(kkt, h, j, c);
  vini_backend *kept = kkt->active;
  kkt->active = NULL; /* until the values are complete */
  VINI_TRY(vini_kkt_feed_rest(kkt));
  VINI_TRY(vini_kkt_set_values(kkt, h, j, c));
  kkt->active = kept;
  kkt->reuse.age++;
  kkt->stats.kept++;
  return VIN_OK;
}

vin_status vini_kkt_update_solve(vin_kkt *kkt, const double *h, const double *j, const double *c,
                                 vin_int count, double *z, vini_right *right) {
  kkt->right = VINI_RIGHT_INTACT;
  kkt->first = z;
  kkt->second = count == 2 ? z + kkt->n + kkt->m : NULL;
  vin_status status = vini_kkt_update_finite(kkt, h, j, c);
  kkt->first = NULL;
  *right = kkt->right; /* solved: by the last factorisation, which is the one that was accepted */
  if (status == VIN_OK && *right == VINI_RIGHT_SOLVED) kkt->stats.solves += count;
  return status;
}

vin_status vini_kkt_update_solve_fed(vin_kkt *kkt, const double *h, vini_feed *feed, vin_int count,
                                     double *z, vini_right *right) {
  feed->empty = true;
  feed->failed = false;
  feed->loaded = (vini_span){0};
  kkt->feed = feed;
  kkt->j.known = false;
  vin_status status = vini_kkt_update_solve(kkt, h, NULL, NULL, count, z, right);
  kkt->feed = NULL;
  return status;
}

vin_status vin_kkt_update(vin_kkt *kkt, const double *h, const double *j, const double *c) {
  VINI_TRY(vini_ready(kkt == NULL ? NULL : &kkt->object));
  vini_backend *kept = kkt->active;
  kkt->active = NULL;
  VINI_TRY(vini_kkt_check_values(kkt, h, j, c));
  kkt->active = kept;
  return vini_kkt_update_finite(kkt, h, j, c);
}

/* Largest residual of the force rows and of the constraint rows, each relative to the largest sum of
 * magnitudes among its kind. r is left for the next sweep. */
static double relative_residual(vin_kkt *kkt, const double *b, const double *z, double *r) {
  vini_kkt_residual(kkt, b, z, r, kkt->s);
  double scale_f = vini_max_abs(kkt->s, kkt->n), scale_c = vini_max_abs(kkt->s + kkt->n, kkt->m);
  double f = vini_max_abs(r, kkt->n), c = vini_max_abs(r + kkt->n, kkt->m);
  double e = 0;
  if (f > 0) e = f / scale_f;
  if (c > 0) e = vini_max(e, c / scale_c);
  return e < HUGE_VAL ? e : HUGE_VAL; /* NaN too */
}

/* Iterates count (1 or 2) columns of z towards K^-1 b; false: it does not contract. */
static vin_status iterate(vin_kkt *kkt, vin_int count, const double *b, double *z, bool *arrived) {
  size_t size = (size_t)kkt->n + (size_t)kkt->m;
  double last = HUGE_VAL, first = 0;
  double *r = kkt->reuse.correction;
  *arrived = false;
  VINI_TRY(vini_kkt_apply_inverse(kkt, count, z));
  for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
    double e = 0;
    for (vin_int column = 0; column < count; column++) {
      size_t at = (size_t)column * size;
      e = vini_max(e, relative_residual(kkt, b + at, z + at, r + at));
    }
    if (sweep == 0) first = e;
    bool gains = e <= 0.5 * last;
    *arrived = e <= ARRIVED || (!gains && e <= STAGNANT);
    if (*arrived || !gains) break;
    last = e;
    VINI_TRY(vini_kkt_apply_inverse(kkt, count, r));
    kkt->stats.refinements += count;
    for (size_t i = 0; i < (size_t)count * size; i++) z[i] += r[i];
  }
  /* the difference of the matrices grows with their distance in time: kept per update */
  kkt->reuse.contraction = vini_max(first, DBL_EPSILON) / (double)kkt->reuse.age;
  return VIN_OK;
}

/* Solves with a kept factorisation, or renews it where the iteration does not contract. */
static vin_status solve_pair(vin_kkt *kkt, vin_int count, double *z, double *b) {
  size_t size = (size_t)kkt->n + (size_t)kkt->m;
  bool arrived = false;
  memcpy(b, z, (size_t)count * size * sizeof *b);
  if (kkt->reuse.age > 0) VINI_TRY(iterate(kkt, count, b, z, &arrived));
  if (arrived) return VIN_OK;
  if (kkt->reuse.age > 0) {
    kkt->reuse.pause = PAUSE;
    kkt->active = NULL;
    VINI_TRY(vini_kkt_factor_values(kkt));
    memcpy(z, b, (size_t)count * size * sizeof *z);
  }
  return vini_kkt_apply_inverse(kkt, count, z);
}

vin_status vini_kkt_solve_kept(vin_kkt *kkt, vin_int count, double *z) {
  size_t size = (size_t)kkt->n + (size_t)kkt->m;
  if (kkt->reuse.correction == NULL) { /* once, when a factorisation is kept for the first time */
    kkt->reuse.correction = vini_alloc(&kkt->object.context, 4 * size, sizeof(double));
    if (kkt->reuse.correction == NULL) {
      return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory to keep a factorisation");
    }
  }
  double *b = kkt->reuse.correction + 2 * size;
  for (vin_int column = 0; column < count; column += 2) {
    vin_int pair = vini_min_int(2, count - column);
    VINI_TRY(solve_pair(kkt, pair, z + (size_t)column * size, b));
  }
  return VIN_OK;
}
