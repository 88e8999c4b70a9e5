/* check - the pass of check.h, compiled for the plain instruction set and, on x86-64, for AVX2 with fused
 * multiply-add. */
#include <float.h>
#include <math.h>

#include "base/lanes.h"
#include "kkt/check.h"

#define VINI_UNROLL_FEW VINI_UNROLL_UP_TO(4)
#define VINI_UNROLL_POINT VINI_UNROLL_UP_TO(9)

/* a[0], b[0], a[2], b[2], or with odd = 1 a[1], b[1], a[3], b[3]. */
#if defined(__clang__)
#define INTERLEAVE(a, b, odd) __builtin_shufflevector(a, b, odd, 4 + odd, 2 + odd, 6 + odd)
#else
#define INTERLEAVE(a, b, odd) __builtin_shuffle(a, b, (v4i){odd, 4 + odd, 2 + odd, 6 + odd})
#endif
/* a[0], b[0], a[1], b[1], or with high = 2 a[2], b[2], a[3], b[3]. */
#if defined(__clang__)
#define ZIP(a, b, high) __builtin_shufflevector(a, b, high, 4 + high, 1 + high, 5 + high)
#else
#define ZIP(a, b, high) __builtin_shuffle(a, b, (v4i){high, 4 + high, 1 + high, 5 + high})
#endif
#define LOWER(v) ((v2){(v)[0], (v)[1]})
#define UPPER(v) ((v2){(v)[2], (v)[3]})

/* An unknown z, its magnitude, and (r, s) of its row, of all lanes. */
typedef struct cell {
  v4 z, size, r, s;
} cell;

_Static_assert(sizeof(cell) == VINI_CHECK_CELL, "the code holds distances in bytes");

/* (b, |b|) of `count` rows. */
static void begin_pairs(const double *b, vin_int count, double *pair) {
  for (vin_int i = 0; i < count; i++) {
    pair[2 * i] = b[i];
    pair[2 * i + 1] = fabs(b[i]);
  }
}

double vini_check_pairs(const double *pair, vin_int count, double worst) {
  for (vin_int i = 0; i < count; i++) vini_check_row(pair[2 * i], pair[2 * i + 1], &worst);
  return worst;
}

/* Columns of no kind, one by one; returns the worst force row, where these are complete. */
static double loose_columns(const vini_check *check, const vini_check_group *group,
                            const vin_sparse *k, const double *f, const double *z, double *pair,
                            double worst) {
  const vin_int begin = group->column[0], end = group->column[1];
  const bool complete = check->apart && begin < check->n; /* no range has both kinds of unknowns */
  if (complete) begin_pairs(f + begin, end - begin, pair + 2 * (int64_t)begin);
  for (vin_int j = begin; j < end; j++) {
    const double zj = z[j];
    const double diagonal = k->value[k->start[j]] * zj;
    double r = -diagonal, s = fabs(diagonal);
    for (vin_int at = k->start[j] + 1; at < k->start[j + 1]; at++) {
      const vin_int i = k->row[at];
      const double right = k->value[at] * zj, left = k->value[at] * z[i];
      pair[2 * (int64_t)i] -= right;
      pair[2 * (int64_t)i + 1] += fabs(right);
      r -= left;
      s += fabs(left);
    }
    pair[2 * (int64_t)j] += r;
    pair[2 * (int64_t)j + 1] += s;
  }
  return complete ? vini_check_pairs(pair + 2 * (int64_t)begin, end - begin, worst) : worst;
}

#define VINI_KERNEL_BODY "kkt/check_body.h"
#include "base/kernel.h"

void vini_check_choose_kernel(vini_check *check, bool plain) {
  check->groups = VINI_KERNEL(vini_kernel_fast(plain), groups);
}

double vini_check_run(const vini_check *check, const vin_sparse *k, const double *f,
                      const double *g, const double *z, double *pair) {
  double worst = 0;
  if (!check->apart) begin_pairs(f, check->n, pair);
  begin_pairs(g, check->m, pair + 2 * (int64_t)check->n);
  check->groups(check, k, f, z, pair, &worst);
  return check->apart ? worst : vini_check_pairs(pair, check->n, worst);
}
