/* ldlt_kernel_solve - substitution in fronts, and the passes over a block; comes behind ldlt_kernel_body.h. No
 * include guard on purpose. */

#include "linsys/ldlt_points_solve.h"

/* ---- substitution: V is double (one right-hand side) or v2 (two at once) ------------------------ */

/* own := L11^-1 own, z := L21 own; and back: own := L11^-T (D^-1 own - L21' z). */
#define SUBSTITUTION(V, one_or_two)                                                                \
  KERNEL_INLINE void KERNEL(down_##one_or_two)(const double *restrict l, V *restrict own,          \
                                               const int nc, const int nr, V *restrict z) {        \
    const int ld = nc + nr;                                                                        \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nr; i++) z[i] = (V){0};                                                    \
    VINI_UNROLL                                                                                    \
    for (int k = 0; k < nc; k++) {                                                                 \
      const V yk = own[k];                                                                         \
      const double *lk = l + vini_front_column(k, ld); /* row i > k at i - k - 1 */                \
      VINI_UNROLL                                                                                  \
      for (int i = k + 1; i < nc; i++) own[i] -= lk[i - k - 1] * yk;                               \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < nr; i++) z[i] += lk[nc + i - k - 1] * yk;                                \
    }                                                                                              \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(up_##one_or_two)(const double *restrict l,                             \
                                             const double *restrict inverse, V *restrict own,      \
                                             const int nc, const int nr, const V *restrict z) {    \
    const int ld = nc + nr;                                                                        \
    VINI_UNROLL                                                                                    \
    for (int k = nc - 1; k >= 0; k--) {                                                            \
      const double *lk = l + vini_front_column(k, ld); /* row i > k at i - k - 1 */                \
      V even = own[k] * inverse[k], odd = (V){0};                                                  \
      int i = 0;                                                                                   \
      VINI_UNROLL                                                                                  \
      for (; i + 1 < nr; i += 2) {                                                                 \
        even -= lk[nc + i - k - 1] * z[i];                                                         \
        odd -= lk[nc + i - k] * z[i + 1];                                                          \
      }                                                                                            \
      if (i < nr) even -= lk[nc + i - k - 1] * z[i];                                               \
      even += odd;                                                                                 \
      VINI_UNROLL                                                                                  \
      for (int j = nc - 1; j > k; j--) even -= lk[j - k - 1] * own[j];                             \
      own[k] = even;                                                                               \
    }                                                                                              \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(front_down_##one_or_two)(const vini_fronts *x, const vini_front *f,    \
                                                     double *restrict b, double *restrict b2,      \
                                                     const int nc, const int nr, V *own, V *z) {   \
    const vin_int *unknown = x->plan.order + f->first, *row = x->plan.row + f->row;                \
    (void)b2;                                                                                      \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nc; i++) own[i] = LOAD_##one_or_two(unknown[i]);                           \
    KERNEL(down_##one_or_two)(x->value + f->panel, own, nc, nr, z);                                \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nc; i++) STORE_##one_or_two(unknown[i], own[i]);                           \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nr; i++) STORE_##one_or_two(row[i], LOAD_##one_or_two(row[i]) - z[i]);     \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(front_up_##one_or_two)(const vini_fronts *x, const vini_front *f,      \
                                                   double *restrict b, double *restrict b2,        \
                                                   const int nc, const int nr, V *own, V *z) {     \
    const vin_int *unknown = x->plan.order + f->first, *row = x->plan.row + f->row;                \
    (void)b2;                                                                                      \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nc; i++) own[i] = LOAD_##one_or_two(unknown[i]);                           \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nr; i++) z[i] = LOAD_##one_or_two(row[i]);                                 \
    KERNEL(up_##one_or_two)                                                                        \
    (x->value + f->panel, x->value + vini_front_inverse(f), own, nc, nr, z);                       \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nc; i++) STORE_##one_or_two(unknown[i], own[i]);                           \
  }                                                                                                \
  KERNEL_TARGET static void KERNEL(fronts_down_##one_or_two)(                                      \
      const vini_fronts *x, const vini_front_block *block, double *b, double *b2) {                \
    V *work = (V *)(void *)x->work, own[4], z[4];                                                  \
    for (vin_int k = block->front; k < block->front_end; k++) {                                    \
      const vini_front *f = &x->plan.front[k];                                                     \
      if (f->pivots == 4 && f->rows == 4) {                                                        \
        KERNEL(front_down_##one_or_two)(x, f, b, b2, 4, 4, own, z);                                \
      } else if (f->pivots == 4 && f->rows == 1) {                                                 \
        KERNEL(front_down_##one_or_two)(x, f, b, b2, 4, 1, own, z);                                \
      } else {                                                                                     \
        KERNEL(front_down_##one_or_two)(x, f, b, b2, f->pivots, f->rows, work, work + f->pivots);  \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  KERNEL_TARGET static void KERNEL(backward_##one_or_two)(                                         \
      vini_fronts * x, const vini_front_block *block, double *b, double *b2) {                     \
    V *work = (V *)(void *)x->work, own[4], z[4];                                                  \
    for (vin_int k = block->front_end - 1; k >= block->front; k--) {                               \
      const vini_front *f = &x->plan.front[k];                                                     \
      if (f->pivots == 4 && f->rows == 4) {                                                        \
        KERNEL(front_up_##one_or_two)(x, f, b, b2, 4, 4, own, z);                                  \
      } else if (f->pivots == 4 && f->rows == 1) {                                                 \
        KERNEL(front_up_##one_or_two)(x, f, b, b2, 4, 1, own, z);                                  \
      } else {                                                                                     \
        KERNEL(front_up_##one_or_two)(x, f, b, b2, f->pivots, f->rows, work, work + f->pivots);    \
      }                                                                                            \
    }                                                                                              \
    if (block->run < 0) return;                                                                    \
    const vini_front_run *run = x->plan.run + block->run;                                          \
    if (run->kind == VINI_FRONT_ROD) {                                                             \
      KERNEL(run_up_##one_or_two)(x, run, block->link, block->link_end, b, b2);                    \
    } else {                                                                                       \
      KERNEL(point_run_up)(x, run, block->link, block->link_end, b, b2);                           \
    }                                                                                              \
  }

SUBSTITUTION(double, one)
SUBSTITUTION(v2, two)
#undef SUBSTITUTION

KERNEL_TARGET static void KERNEL(links_down)(const vini_fronts *x, const vini_front_block *block,
                                             double *b, double *b2) {
  const vini_front_run *run = x->plan.run + block->run;
  if (run->kind == VINI_FRONT_POINT) {
    KERNEL(point_run_down)(x, run, block->link, block->link_end, b, b2);
  } else if (b2 == NULL) {
    KERNEL(run_down_one)(x, run, block->link, block->link_end, b, NULL);
  } else {
    KERNEL(run_down_two)(x, run, block->link, block->link_end, b, b2);
  }
}

KERNEL_TARGET static void KERNEL(fronts_down)(const vini_fronts *x, const vini_front_block *block,
                                              double *b, double *b2) {
  if (b2 == NULL) {
    KERNEL(fronts_down_one)(x, block, b, NULL);
  } else {
    KERNEL(fronts_down_two)(x, block, b, b2);
  }
}

KERNEL_TARGET static void KERNEL(forward)(vini_fronts *x, const vini_front_block *block, double *b,
                                          double *b2) {
  if (block->run >= 0) KERNEL(links_down)(x, block, b, b2);
  KERNEL(fronts_down)(x, block, b, b2);
}

/* Elimination of a block's links, and their forward substitution where there is something to
 * substitute. */
KERNEL_TARGET static void KERNEL(links)(vini_fronts *x, vini_tally *t,
                                        const vini_front_block *block, const double *a, double *b,
                                        double *b2) {
  const vini_front_run *run = x->plan.run + block->run;
  const vin_int link = block->link, end = block->link_end;
  if (run->kind == VINI_FRONT_POINT) {
    KERNEL(point_run)(x, t, run, link, end, a);
    if (b != NULL && t->failed < 0) KERNEL(links_down)(x, block, b, b2);
  } else if (b == NULL) {
    KERNEL(rod_run_none)(x, t, run, link, end, a, NULL, NULL);
  } else if (b2 == NULL) {
    KERNEL(rod_run_one)(x, t, run, link, end, a, b, NULL);
  } else {
    KERNEL(rod_run_two)(x, t, run, link, end, a, b, b2);
  }
}

KERNEL_TARGET static bool KERNEL(eliminate)(vini_fronts *x, const vini_front_block *block,
                                            const double *a, double *b, double *b2) {
  const vini_front_plan *plan = &x->plan;
  vini_tally t = x->tally;
  if (block->run >= 0) KERNEL(links)(x, &t, block, a, b, b2);
  for (vin_int k = block->front; k < block->front_end && t.failed < 0; k++) {
    const vini_front *f = &plan->front[k];
    const int pivots = f->pivots, size = pivots + f->rows;
    if (f->kind == VINI_FRONT_ROD) {
      KERNEL(rod_front)(x, &t, f, a);
    } else if (f->kind == VINI_FRONT_POINT) {
      KERNEL(point_front)(x, &t, f, a);
    } else if (pivots == 4 && size == 8) {
      KERNEL(known_front)(x, &t, f, a, 4, 8, 8);
    } else if (pivots == 4 && size == 5) { /* a chain of point masses */
      KERNEL(known_front)(x, &t, f, a, 4, 5, 8);
    } else {
      KERNEL(any_front)(x, &t, f, a);
    }
  }
  x->tally = t;
  if (t.failed >= 0) return false;
  if (b != NULL) KERNEL(fronts_down)(x, block, b, b2);
  return true;
}

KERNEL_TARGET static void KERNEL(backward)(vini_fronts *x, const vini_front_block *block, double *b,
                                           double *b2) {
  if (b2 == NULL) {
    KERNEL(backward_one)(x, block, b, NULL);
  } else {
    KERNEL(backward_two)(x, block, b, b2);
  }
}
