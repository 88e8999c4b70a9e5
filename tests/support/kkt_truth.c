/* kkt_truth - see kkt_truth.h. */
#include "kkt_truth.h"

#include <criterion/criterion.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#if LDBL_MANT_DIG >= 113
typedef long double wide;
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 wide;
#else /* 64 bits: the tests that need more say so */
typedef long double wide;
#endif

#define NULL_PIVOT 0x1p-98
/* A null vector of which x is less, where its free unknown is 1, is one of multipliers alone. */
#define NULL_PART 0x1p-60
/* Terms of this part of the largest ones of the scaled system are none. */
#define NEGLIGIBLE 0x1p-50
/* 64 roundings, at which kkt_truth_missed() reports 1e-7 */
#define ROUNDINGS (64 * DBL_EPSILON / 1e-7)
#define CONSISTENT 0x1p-50 /* the right-hand side may have been rounded */

static wide size_of(wide x) {
  return x < 0 ? -x : x;
}

/* The matrix, its scale, and the state of the elimination. */
typedef struct work {
  vin_int size, rank;
  wide k[TRUTH_MOST][TRUTH_MOST]; /* K without skipped rows */
  wide a[TRUTH_MOST][TRUTH_MOST]; /* the scaled matrix; after elimination L and U */
  wide b[TRUTH_MOST];
  double scale[TRUTH_MOST];
  vin_int row[TRUTH_MOST], col[TRUTH_MOST];
  bool skipped[TRUTH_MOST];
} work;

static void add(work *w, vin_int i, vin_int j, double value) {
  if (w->skipped[i] || w->skipped[j]) return;
  w->k[i][j] += (wide)value;
  if (i != j) w->k[j][i] += (wide)value;
}

static void load(work *w, const problem *p, const unsigned char *skip) {
  const vin_int n = p->n;
  memset(w, 0, sizeof *w);
  w->size = n + p->m;
  cr_assert(w->size <= TRUTH_MOST);
  for (vin_int i = 0; skip && i < p->m; i++) w->skipped[n + i] = skip[i] != 0;
  for (vin_int e = 0; e < p->h.count; e++) add(w, p->h.row[e], p->h.col[e], p->h.value[e]);
  for (vin_int e = 0; e < p->j.count; e++) add(w, n + p->j.row[e], p->j.col[e], p->j.value[e]);
  for (vin_int e = 0; e < p->c.count; e++) {
    add(w, n + p->c.row[e], n + p->c.col[e], -p->c.value[e]);
  }
  for (vin_int i = 0; i < w->size; i++) {
    w->b[i] = i < n ? (wide)p->f[i] : (wide)p->g[i - n];
    if (!w->skipped[i]) continue;
    w->k[i][i] = 1;
    w->b[i] = 0;
  }
}

/* Exponent of x, which may be beyond the range of doubles. */
static int exponent_of(wide x) {
  int exponent = 0, part;
  for (; x >= 0x1p500; exponent += 500) x *= 0x1p-500;
  for (; x < 0x1p-500; exponent -= 500) x *= 0x1p500;
  frexp((double)x, &part);
  return exponent + part;
}

static wide power(int exponent) {
  wide x = 1;
  for (; exponent > 500; exponent -= 500) x *= 0x1p500;
  for (; exponent < -500; exponent += 500) x *= 0x1p-500;
  return x * (wide)ldexp(1, exponent);
}

/* Coordinates to a diagonal of H near 1, then rows of J to a largest entry near 1, by powers of two. The
 * masses' scale is not the rows' to change: scaling by largest entries alone would leave H at nothing
 * beside rows of 1e140. */
static void equilibrate(work *w, vin_int n, int *e) {
  int most = INT_MIN;
  memset(e, 0, TRUTH_MOST * sizeof *e);
  for (vin_int i = 0; i < n; i++) {
    if (w->k[i][i] == 0) continue;
    e[i] = -exponent_of(size_of(w->k[i][i])) / 2;
    if (e[i] > most) most = e[i];
  }
  for (vin_int i = 0; i < n && most > INT_MIN; i++) {
    if (w->k[i][i] == 0) e[i] = most;
  }
  for (vin_int i = n; i < w->size; i++) {
    wide largest = 0;
    for (vin_int j = 0; j < n; j++) {
      const wide x = size_of(w->k[i][j] * power(e[j]));
      if (x > largest) largest = x;
    }
    const wide own = size_of(w->k[i][i]);
    if (largest > 0) e[i] = -exponent_of(largest);
    if (own > 0 && (largest == 0 || -exponent_of(own) / 2 < e[i])) e[i] = -exponent_of(own) / 2;
  }
  for (vin_int i = 0; i < w->size; i++) {
    for (vin_int j = 0; j < w->size; j++) w->a[i][j] = w->k[i][j] * power(e[i] + e[j]);
  }
}

static void swap(vin_int *x, vin_int i, vin_int j) {
  const vin_int t = x[i];
  x[i] = x[j], x[j] = t;
}

/* P A Q = L U, L with unit diagonal; returns smallest pivot / largest. */
static double eliminate(work *w) {
  const vin_int size = w->size;
  wide first = 0, last = 0;
  for (vin_int i = 0; i < size; i++) w->row[i] = w->col[i] = i;
  for (w->rank = 0; w->rank < size; w->rank++) {
    const vin_int k = w->rank;
    vin_int pi = k, pj = k;
    for (vin_int i = k; i < size; i++) {
      for (vin_int j = k; j < size; j++) {
        wide here = size_of(w->a[w->row[i]][w->col[j]]);
        if (here > size_of(w->a[w->row[pi]][w->col[pj]])) pi = i, pj = j;
      }
    }
    const wide pivot = size_of(w->a[w->row[pi]][w->col[pj]]);
    if (k == 0) first = pivot;
    if (pivot <= NULL_PIVOT * first) break;
    last = pivot;
    swap(w->row, k, pi);
    swap(w->col, k, pj);
    const wide *top = w->a[w->row[k]];
    for (vin_int i = k + 1; i < size; i++) {
      wide *row = w->a[w->row[i]], factor = row[w->col[k]] / top[w->col[k]];
      row[w->col[k]] = factor;
      if (factor == 0) continue;
      for (vin_int j = k + 1; j < size; j++) row[w->col[j]] -= factor * top[w->col[j]];
    }
  }
  return first > 0 ? (double)(last / first) : 0;
}

/* y := U^-1 y of the leading rank, in place */
static void back(const work *w, wide *y) {
  for (vin_int k = w->rank - 1; k >= 0; k--) {
    for (vin_int j = k + 1; j < w->rank; j++) y[k] -= w->a[w->row[k]][w->col[j]] * y[j];
    y[k] /= w->a[w->row[k]][w->col[k]];
  }
}

/* x := A^-1 b with the free unknowns 0; rest: what b leaves in the rows beyond the rank, or NULL */
static void solve(const work *w, const wide *b, wide *x, wide *rest) {
  wide y[TRUTH_MOST];
  for (vin_int k = 0; k < w->size; k++) {
    y[k] = b[w->row[k]];
    for (vin_int j = 0; j < k && j < w->rank; j++) y[k] -= w->a[w->row[k]][w->col[j]] * y[j];
    if (k >= w->rank && rest) rest[k] = y[k];
  }
  back(w, y);
  for (vin_int k = 0; k < w->size; k++) x[w->col[k]] = k < w->rank ? y[k] : 0;
}

/* unique, free: from the null vectors (-U11^-1 U12; 1). */
static void find_free(const work *w, vin_int n, kkt_truth *truth) {
  truth->unique = true;
  for (vin_int f = w->rank; f < w->size; f++) {
    wide y[TRUTH_MOST];
    truth->free[w->col[f]] = true;
    if (w->col[f] < n) truth->unique = false;
    for (vin_int k = 0; k < w->rank; k++) y[k] = w->a[w->row[k]][w->col[f]];
    back(w, y);
    for (vin_int k = 0; k < w->rank; k++) {
      if (w->col[k] < n && size_of(y[k]) > NULL_PART) truth->unique = false;
    }
  }
}

/* Terms of the rows at z, in s; returns the worst |r| / s, with s at least a rounding of the largest of
 * the scaled rows. */
static double residual(const work *w, const int *e, const wide *z, wide *s) {
  wide r[TRUTH_MOST], most = 0;
  for (vin_int i = 0; i < w->size; i++) {
    r[i] = w->b[i];
    s[i] = size_of(r[i]);
    for (vin_int j = 0; j < w->size; j++) {
      r[i] -= w->k[i][j] * z[j];
      s[i] += size_of(w->k[i][j] * z[j]);
    }
    if (s[i] * power(e[i]) > most) most = s[i] * power(e[i]);
  }
  double worst = 0;
  for (vin_int i = 0; i < w->size; i++) {
    const wide least = most * NEGLIGIBLE / power(e[i]), scale = s[i] > least ? s[i] : least;
    if (scale > 0) worst = fmax(worst, (double)(size_of(r[i]) / scale));
  }
  return worst;
}

/* bound := |K^-1| s over the unknowns that are not free. */
static void find_bound(const work *w, const wide *s, const int *e, kkt_truth *truth) {
  wide sum[TRUTH_MOST] = {0};
  for (vin_int i = 0; i < w->size; i++) {
    wide unit[TRUTH_MOST] = {0}, x[TRUTH_MOST];
    if (truth->free[i]) continue; /* by symmetry that row is left out, too */
    unit[i] = power(e[i]);
    solve(w, unit, x, NULL);
    for (vin_int j = 0; j < w->size; j++) sum[j] += size_of(x[j] * power(e[j])) * s[i];
  }
  for (vin_int j = 0; j < w->size; j++) truth->bound[j] = (double)sum[j];
}

void kkt_truth_of(kkt_truth *truth, const problem *p, const unsigned char *skip) {
  static work w;
  int e[TRUTH_MOST];
  wide b[TRUTH_MOST] = {0}, z[TRUTH_MOST], s[TRUTH_MOST];
  memset(truth, 0, sizeof *truth);
  load(&w, p, skip);
  equilibrate(&w, p->n, e);
  truth->smallest = eliminate(&w);
  truth->size = w.size;
  truth->rank = w.rank;
  find_free(&w, p->n, truth);
  for (vin_int i = 0; i < w.size; i++) b[i] = w.b[i] * power(e[i]);
  solve(&w, b, z, NULL);
  for (vin_int i = 0; i < w.size; i++) truth->z[i] = (double)(z[i] *= power(e[i]));
  truth->inconsistency = residual(&w, e, z, s);
  truth->consistent = truth->inconsistency < CONSISTENT;
  memcpy(truth->exponent, e, sizeof truth->exponent);
  find_bound(&w, s, e, truth);
}

double kkt_truth_missed(const problem *p, const kkt_truth *truth, double size, vin_int row) {
  const double *z = truth->z;
  wide r = -(wide)p->g[row], s = size_of(r), most = 0;
  for (vin_int e = 0; e < p->j.count; e++) {
    if (p->j.row[e] != row) continue;
    const wide value = p->j.value[e], term = value * (wide)z[p->j.col[e]];
    const wide here = size_of(value) * power(truth->exponent[p->j.col[e]]);
    if (here > most) most = here;
    r += term, s += size_of(term);
  }
  for (vin_int e = 0; e < p->c.count; e++) {
    if (p->c.row[e] != row && p->c.col[e] != row) continue;
    const vin_int other = p->c.row[e] == row ? p->c.col[e] : p->c.row[e];
    const wide term = -(wide)p->c.value[e] * (wide)z[p->n + other];
    r += term, s += size_of(term);
  }
  most *= (wide)size * ROUNDINGS;
  return s + most > 0 ? (double)(size_of(r) / (s + most)) : 0;
}
