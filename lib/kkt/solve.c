/* Solution, refinement against the true matrix, verification. */
#include "kkt/kkt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A force row's residual below this fraction of its terms is their rounding, not an error of x. */
#define TERM_ROUNDING (8 * DBL_EPSILON)
/* The same of a constraint row whose own terms vanish, with room for many bodies between. */
#define WIDE_ROUNDING 1e-12
/* and of one that is judged by the largest force, or was dropped, which no sweep can improve. */
#define FEW_ROUNDINGS (64 * DBL_EPSILON)
/* Sweeps beyond vin_kkt_options.max_refinements, see sweep_until_passed(). */
#define SHRINKS 100.0
enum { MOST_SWEEPS = 40 };
/* A sweep that leaves more than this of the residual gains nothing. */
#define LEAST_GAIN 0.5

/* Row-wise backward errors of one solution: largest among force and constraint rows. */
typedef struct verdict {
  double force, constraint, contradiction;
  vin_int worst_force, worst_constraint, worst_contradiction;
} verdict;

/* The constraint rows of count stacked vectors times row_scale. */
static void scale_rows(const vin_kkt *kkt, vin_int count, double *z) {
  size_t size = (size_t)kkt->n + (size_t)kkt->m;
  for (vin_int column = 0; column < count; column++) {
    double *row = z + (size_t)column * size + (size_t)kkt->n;
    for (vin_int i = 0; i < kkt->m; i++) row[i] *= kkt->row_scale[i];
  }
}

/* z := K^-1 z with the present factorisation; dropped multipliers become 0. Where that is one of
 * S K S, S = diag(1, row_scale):  K^-1 = S (S K S)^-1 S. */
vin_status vini_kkt_apply_inverse(vin_kkt *kkt, vin_int count, double *z) {
  size_t size = (size_t)kkt->n + (size_t)kkt->m;
  for (vin_int d = 0; d < kkt->dropped_count; d++) {
    for (vin_int column = 0; column < count; column++) {
      z[(size_t)column * size + (size_t)kkt->n + (size_t)kkt->dropped_rows[d]] = 0;
    }
  }
  if (!kkt->scaled) return kkt->active->table->solve(kkt->active, count, z);
  scale_rows(kkt, count, z);
  VINI_TRY(kkt->active->table->solve(kkt->active, count, z));
  scale_rows(kkt, count, z);
  return VIN_OK;
}

vin_status vini_kkt_solve_plain(vin_kkt *kkt, vin_int count, double *z) {
  if (kkt->active == NULL) {
    return vini_fail(&kkt->object, VIN_ERR_BAD_STATE, "there is no factorisation to solve with");
  }
  kkt->stats.solves += count;
  return kkt->reuse.age > 0 ? vini_kkt_solve_kept(kkt, count, z)
                            : vini_kkt_apply_inverse(kkt, count, z);
}

/* r := b - K z,  s := |K| |z| + |b|, in one pass over the lower triangle. Each column starts with its
 * diagonal. */
void vini_kkt_residual(const vin_kkt *kkt, const double *b, const double *z, double *restrict r,
                       double *restrict s) {
  const vin_int *start = kkt->k->start, *row = kkt->k->row, size = kkt->n + kkt->m;
  const double *entry = kkt->k->value;
  for (vin_int i = 0; i < size; i++) {
    r[i] = b[i];
    s[i] = fabs(b[i]);
  }
  for (vin_int j = 0; j < size; j++) {
    const double zj = z[j];
    double dot = entry[start[j]] * zj, scale = fabs(dot);
    for (vin_int at = start[j] + 1; at < start[j + 1]; at++) {
      const vin_int i = row[at];
      const double right = entry[at] * zj, left = entry[at] * z[i];
      r[i] -= right;
      s[i] += fabs(right);
      dot += left;
      scale += fabs(left);
    }
    r[j] -= dot;
    s[j] += scale;
  }
}

/* wide[n + i] := sum_j |J_ij| a_j with a_j what forces[j], at most `force` (or `force` on each, where that
 * is NULL) makes of H_jj, but no more than `most`; that of a coordinate without mass is the largest of the
 * others. */
static void spread_accelerations(const vin_kkt *kkt, const double *forces, double force,
                                 double most, double *wide) {
  const vin_sparse *k = kkt->k;
  double largest = 0;
  for (int massless = 0; massless < 2; massless++) {
    for (vin_int j = 0; j < kkt->n; j++) {
      const double inertia = fabs(k->value[k->start[j]]); /* each column starts with its diagonal */
      if ((inertia == 0) != (massless == 1)) continue;
      const double here = forces != NULL ? vini_min(forces[j], force) : force;
      const double known = vini_min(most, massless ? largest : here / inertia);
      largest = vini_max(largest, known);
      for (vin_int at = k->start[j]; at < k->start[j + 1]; at++) {
        if (k->row[at] >= kkt->n) wide[k->row[at]] += fabs(k->value[at]) * known;
      }
    }
  }
}

/* Scales of rows whose own terms all vanish, or nearly: a chain that hangs at rest has x = 0 whatever its
 * forces. x_j is known to a rounding of what accelerates it, the terms s_j of its force row over
 * H_jj; a constraint row whose terms are no more than |J| times that is judged by it. Not by the largest
 * acceleration: under mass ratios that of the light bodies is no scale for the heavy ones; nor is a row
 * that has terms of its own, or constraints that are nearly dependent pass with an x of the size of their
 * huge multipliers' rounding. No more than `most` either, since forces over tiny masses
 * make a generous scale: the largest acceleration, until all else has been tried.
 * by_all: by a rounding of the largest force instead, force rows too, since rounding of what a chain is
 * pulled by at its ends goes through all of it. */
static const double *widen_scales(const vin_kkt *kkt, const double *z, const double *s, bool by_all,
                                  double most) {
  const vin_kkt_options *o = &kkt->options;
  double *wide = kkt->pivot_scale; /* free between factorisations */
  const double credible = vini_kkt_credible_force(kkt, z);
  const double force = by_all ? vini_min(vini_max_abs(s, kkt->n), credible) : credible;
  for (vin_int i = 0; i < kkt->n; i++) wide[i] = by_all ? force : 0;
  memset(wide + kkt->n, 0, (size_t)kkt->m * sizeof *wide);
  spread_accelerations(kkt, by_all ? NULL : s, force, most, wide);
  for (vin_int i = 0; i < kkt->n + kkt->m; i++) {
    const bool row = i >= kkt->n, dropped = row && kkt->dropped[i - kkt->n];
    const double share = by_all || dropped ? FEW_ROUNDINGS : WIDE_ROUNDING;
    const double tolerance = !row      ? o->force_tolerance
                             : dropped ? o->contradiction_tolerance
                                       : o->constraint_tolerance;
    const bool rounding = s[i] <= share * wide[i];
    wide[i] = rounding ? vini_max(s[i], wide[i] * vini_min(1, share / tolerance)) : s[i];
  }
  return wide;
}

static verdict judge_rows(const vin_kkt *kkt, const double *r, const double *s) {
  verdict v = {.worst_force = -1, .worst_constraint = -1, .worst_contradiction = -1};
  for (vin_int i = 0; i < kkt->n; i++) {
    if (vini_check_row(r[i], s[i], &v.force)) v.worst_force = i;
  }
  for (vin_int i = 0; i < kkt->m; i++) {
    const double error = r[kkt->n + i], scale = s[kkt->n + i];
    if (kkt->dropped_count > 0 && kkt->dropped[i]) {
      if (vini_check_row(error, scale, &v.contradiction)) v.worst_contradiction = i;
    } else if (vini_check_row(error, scale, &v.constraint)) {
      v.worst_constraint = i;
    }
  }
  return v;
}

static bool passes(const vin_kkt *kkt, const verdict *v) {
  return v->force <= kkt->options.force_tolerance &&
         v->constraint <= kkt->options.constraint_tolerance;
}

static bool satisfies(const vin_kkt *kkt, const verdict *v) {
  return passes(kkt, v) && v->contradiction <= kkt->options.contradiction_tolerance;
}

/* The verdict on z with residual r and own scales s; see widen_scales(). */
static verdict judge(const vin_kkt *kkt, const double *z, bool by_all, double most) {
  const verdict v = judge_rows(kkt, kkt->r, kkt->s);
  if (satisfies(kkt, &v)) return v;
  return judge_rows(kkt, kkt->r, widen_scales(kkt, z, kkt->s, by_all, most));
}

static verdict judge_by_own(const vin_kkt *kkt, const double *z) {
  return judge(kkt, z, false, vini_max_abs(z, kkt->n));
}

/* The same when all sweeps are done. */
static verdict judge_finally(const vin_kkt *kkt, const double *z) {
  const verdict v = judge_by_own(kkt, z);
  return passes(kkt, &v) ? v : judge(kkt, z, true, HUGE_VAL);
}

/* z += K^-1 r, with r = b - K z and s; then those of the new z. Residuals of force rows that are only
 * rounding are left alone: multipliers of 1e4 N are rounded to 1e-12 N, and to balance that a mass
 * of 1 g must accelerate by 1e-9, which no number of sweeps removes. */
static vin_status sweep_once(vin_kkt *kkt, const double *b, double *z) {
  for (vin_int i = 0; i < kkt->n; i++) {
    if (fabs(kkt->r[i]) <= TERM_ROUNDING * kkt->s[i]) kkt->r[i] = 0;
  }
  VINI_TRY(vini_kkt_apply_inverse(kkt, 1, kkt->r));
  kkt->stats.refinements++;
  for (vin_int i = 0; i < kkt->n + kkt->m; i++) z[i] += kkt->r[i];
  vini_kkt_residual(kkt, b, z, kkt->r, kkt->s);
  return VIN_OK;
}

static vin_status refuse(vin_kkt *kkt, const verdict *v) {
  char name[96];
  if (v->constraint > kkt->options.constraint_tolerance || !(v->force >= 0)) {
    vini_kkt_constraint_name(kkt, vini_max_int(v->worst_constraint, 0), name, sizeof name);
    return vini_fail(
        &kkt->object, VIN_SINGULAR,
        "the solution misses %s by %.3g of its scale (limit %.1g) after %d refinements", name,
        v->constraint, kkt->options.constraint_tolerance, kkt->refinements);
  }
  return vini_fail(&kkt->object, VIN_SINGULAR,
                   "the solution misses force row %d by %.3g of its scale (limit %.1g) after %d "
                   "refinements",
                   (int)v->worst_force, v->force, kkt->options.force_tolerance, kkt->refinements);
}

static vin_status contradicts(vin_kkt *kkt, const verdict *v) {
  char name[96];
  vini_kkt_constraint_name(kkt, v->worst_contradiction, name, sizeof name);
  const double size = vini_kkt_row_size(kkt, v->worst_contradiction);
  if (size <= VINI_NEGLIGIBLE_ROW) {
    return vini_fail(
        &kkt->object, VIN_SINGULAR,
        "the entries of %s are %.1g of the others', which may be rounding of zeros, and "
        "it is missed by %.3g of its scale: choose other units",
        name, size, v->contradiction);
  }
  return vini_fail(&kkt->object, VIN_SINGULAR,
                   "%s depends on the other constraints and contradicts them by %.3g of its scale",
                   name, v->contradiction);
}

/* The verdict on a solution as the solver leaves it: the same numbers as judge()'s, in one pass over K.
 * Who is worst is not told; where the solution does not pass, judge() finds that out. */
static verdict judge_first(vin_kkt *kkt, const double *f, const double *g, const double *z) {
  verdict v = {0};
  double *pair = kkt->r; /* s stands behind r */
  v.force = vini_check_run(kkt->check, kkt->k, f, g, z, pair);
  pair += 2 * (int64_t)kkt->n;
  if (kkt->dropped_count == 0) {
    v.constraint = vini_check_pairs(pair, kkt->m, 0);
    return v;
  }
  for (vin_int i = 0; i < kkt->m; i++, pair += 2) {
    vini_check_row(pair[0], pair[1], kkt->dropped[i] ? &v.contradiction : &v.constraint);
  }
  return v;
}

/* Largest residual of the constraint rows that miss a right-hand side of their own. */
static double missed(const vin_kkt *kkt, const double *b) {
  double largest = 0;
  for (vin_int i = kkt->n; i < kkt->n + kkt->m; i++) {
    const double error = fabs(kkt->r[i]);
    if (b[i] != 0 && error > kkt->options.constraint_tolerance * fabs(b[i]) && error > largest) {
      largest = error;
    }
  }
  return largest;
}

/* Refines until the solution passes; not at all where what it misses is no more than a rounding of the largest
 * force, as in most of a chain that falls freely. Sweeps beyond the user's number follow while each takes
 * what missed() sees down by SHRINKS: with masses of 1e-60 kg a solve leaves 1e-16 of huge accelerations each
 * time. */
static vin_status sweep_until_passed(vin_kkt *kkt, const double *b, double *z, verdict *v,
                                     int *sweep) {
  const int most = kkt->options.max_refinements;
  double left = HUGE_VAL;
  vini_kkt_residual(kkt, b, z, kkt->r, kkt->s);
  *v = judge(kkt, z, true, vini_max_abs(z, kkt->n));
  if (satisfies(kkt, v)) return VIN_OK;
  for (*v = judge_by_own(kkt, z); !passes(kkt, v); *v = judge_by_own(kkt, z)) {
    const double now = missed(kkt, b);
    const bool shrinks = now > 0 && now * SHRINKS <= left;
    if (*sweep >= most && !(most > 0 && *sweep < MOST_SWEEPS && shrinks)) break;
    left = now;
    VINI_TRY(sweep_once(kkt, b, z));
    ++*sweep;
  }
  *v = judge_finally(kkt, z);
  return VIN_OK;
}

/* A doubtful factorisation: sweeps as long as they gain, since a residual within the tolerance leaves as much
 * more than rounding in x; then, is z determined? */
static vin_status settle(vin_kkt *kkt, const double *b, double *z, verdict *v, int *sweep) {
  double last = HUGE_VAL;
  const int before = *sweep;
  vini_kkt_residual(kkt, b, z, kkt->r, kkt->s);
  for (verdict now = judge_rows(kkt, kkt->r, kkt->s);; now = judge_rows(kkt, kkt->r, kkt->s)) {
    const double worst = vini_max(now.force, now.constraint);
    if (worst <= TERM_ROUNDING || worst > LEAST_GAIN * last || *sweep >= MOST_SWEEPS) break;
    last = worst;
    VINI_TRY(sweep_once(kkt, b, z));
    ++*sweep;
  }
  *v = judge_finally(kkt, z);
  if (!satisfies(kkt, v)) return VIN_OK;
  VINI_TRY(vini_kkt_check_determined(kkt, z, vini_max(v->force, v->constraint)));
  if (*sweep <= before + 1) { /* that one, if any, gained nothing */
    kkt->settled = (vini_calm){.ratio = kkt->min_pivot_ratio, .left = VINI_CALM};
  }
  return VIN_OK;
}

/* Refines one column until it passes. */
static vin_status refine(vin_kkt *kkt, const double *f, const double *g, double *z) {
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  double *b = kkt->b;
  int sweep = 0;
  verdict v = judge_first(kkt, f, g, z);
  const bool fine = satisfies(kkt, &v);
  const bool doubtful =
      vini_kkt_doubtful(kkt) && !vini_calm_still(&kkt->settled, kkt->min_pivot_ratio);
  if (!fine || doubtful) {
    memcpy(b, f, n * sizeof *b);
    if (m > 0) memcpy(b + n, g, m * sizeof *b);
  }
  if (!fine) VINI_TRY(sweep_until_passed(kkt, b, z, &v, &sweep));
  if (doubtful && satisfies(kkt, &v)) VINI_TRY(settle(kkt, b, z, &v, &sweep));
  kkt->refinements = vini_max_int(kkt->refinements, sweep);
  kkt->force_residual = vini_max(kkt->force_residual, v.force);
  kkt->constraint_residual = vini_max(kkt->constraint_residual, v.constraint);
  if (!passes(kkt, &v)) return refuse(kkt, &v);
  return satisfies(kkt, &v) ? VIN_OK : contradicts(kkt, &v);
}

static vin_status grow(vin_kkt *kkt, vin_int count) {
  if (count <= kkt->columns) return VIN_OK;
  const vin_context *context = &kkt->object.context;
  size_t size = (size_t)kkt->n + (size_t)kkt->m;
  double *z = NULL;
  if (size <= SIZE_MAX / sizeof(double) / (size_t)count) {
    z = vini_alloc(context, (size_t)count * size, sizeof *z);
  }
  if (z == NULL) {
    return vini_fail(&kkt->object, VIN_ERR_NO_MEMORY, "no memory for %d right-hand sides",
                     (int)count);
  }
  if (!kkt->lent) vini_free(context, kkt->z);
  kkt->lent = false;
  kkt->z = z;
  kkt->columns = count;
  return VIN_OK;
}

void vini_kkt_lend(vin_kkt *kkt, double *z) {
  if (!kkt->lent) vini_free(&kkt->object.context, kkt->z);
  kkt->lent = true;
  kkt->z = z;
  kkt->columns = 1;
}

static vin_status check_right(vin_kkt *kkt, vin_int count, const double *f, const double *g) {
  int64_t bad = vini_first_nonfinite(f, (int64_t)kkt->n * count);
  if (bad >= 0) {
    return vini_fail(&kkt->object, VIN_ERR_BAD_INPUT,
                     "force entry %lld of the right-hand side is %g", (long long)bad, f[bad]);
  }
  bad = kkt->m > 0 ? vini_first_nonfinite(g, (int64_t)kkt->m * count) : -1;
  if (bad >= 0) {
    return vini_fail(&kkt->object, VIN_ERR_BAD_INPUT,
                     "constraint entry %lld of the right-hand side is %g", (long long)bad, g[bad]);
  }
  return VIN_OK;
}

static vin_status solve_columns(vin_kkt *kkt, vin_int count, const double *f, const double *g) {
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  for (size_t column = 0; column < (size_t)count; column++) {
    double *z = kkt->z + column * (n + m);
    memcpy(z, f + column * n, n * sizeof *z);
    if (m > 0) memcpy(z + n, g + column * m, m * sizeof *z);
  }
  VINI_TRY(kkt->reuse.age > 0 ? vini_kkt_solve_kept(kkt, count, kkt->z)
                              : vini_kkt_apply_inverse(kkt, count, kkt->z));
  kkt->refinements = 0;
  kkt->force_residual = kkt->constraint_residual = 0;
  for (size_t column = 0; column < (size_t)count; column++) {
    const double *right = m > 0 ? g + column * m : NULL;
    VINI_TRY(refine(kkt, f + column * n, right, kkt->z + column * (n + m)));
  }
  return VIN_OK;
}

/* Solves, by the next factorisation as long as the solution is refused. Also with dropped rows: one
 * that is nearly but not quite dependent is for pivoting to decide. */
static vin_status solve_verified(vin_kkt *kkt, vin_int count, const double *f, const double *g) {
  for (;;) {
    vin_status status = solve_columns(kkt, count, f, g);
    if (status != VIN_SINGULAR) return status;
    char reason[VINI_TEXT_SIZE];
    memcpy(reason, kkt->object.text, sizeof reason);
    status = vini_kkt_factor_next(kkt, reason);
    if (status == VIN_ERR_UNSUPPORTED) return vini_fail(&kkt->object, VIN_SINGULAR, "%s", reason);
    VINI_TRY(status);
  }
}

vin_status vin_kkt_solve(vin_kkt *kkt, vin_int count, const double *f, const double *g, double *x,
                         double *lambda) {
  VINI_TRY(vini_ready(kkt == NULL ? NULL : &kkt->object));
  if (kkt->active == NULL) {
    return vini_fail(&kkt->object, VIN_ERR_BAD_STATE, "solve needs a successful factor first");
  }
  if (count < 0 || (count > 0 && (f == NULL || x == NULL))) {
    return vini_fail(&kkt->object, VIN_ERR_BAD_INPUT, "count is %d or a vector is NULL",
                     (int)count);
  }
  if (count > 0 && kkt->m > 0 && (g == NULL || lambda == NULL)) {
    return vini_fail(&kkt->object, VIN_ERR_BAD_INPUT, "g or lambda is NULL, but m is %d",
                     (int)kkt->m);
  }
  if (count == 0) return VIN_OK;
  VINI_TRY(check_right(kkt, count, f, g));
  VINI_TRY(grow(kkt, count));
  VINI_TRY(solve_verified(kkt, count, f, g));
  kkt->stats.solves += count;
  size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  for (size_t column = 0; column < (size_t)count; column++) {
    memcpy(x + column * n, kkt->z + column * (n + m), n * sizeof(double));
    if (m > 0) memcpy(lambda + column * m, kkt->z + column * (n + m) + n, m * sizeof(double));
  }
  return VIN_OK;
}
