/* ldlt_kernel_solve - substitution, the second half of ldlt_kernel_body.h. No include guard on purpose. */

#include "linsys/ldlt_points_solve.h"

/* ---- substitution: V is double (one right-hand side) or v2 (two at once) ------------------------ */

/* Links of a run whose panels are fetched ahead on the way back, where the hardware, which sees four streams
 * in two directions, comes late: 4 % of a step of 10^6 rods, nothing in the cache. */
#define AHEAD 16

#define LOAD_one(u) b[u]
#define STORE_one(u, v) b[u] = (v)
#define NONE_one(x) (x[3] == 0 && x[0] == 0 && x[1] == 0 && x[2] == 0)
#define NONE_two(x) false /* seldom: not worth asking */
#define LOAD_two(u)                                                                                \
  (v2) {                                                                                           \
    b[u], b2[u]                                                                                    \
  }
#define STORE_two(u, v)                                                                            \
  do {                                                                                             \
    const v2 pair = (v);                                                                           \
    b[u] = pair[0];                                                                                \
    b2[u] = pair[1];                                                                               \
  } while (0)

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
    KERNEL(up_##one_or_two)(x->value + f->panel, x->inverse + f->first, own, nc, nr, z);           \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nc; i++) STORE_##one_or_two(unknown[i], own[i]);                           \
  }                                                                                                \
  /* rows 4: all unknowns of the next link; 1: its multiplier */                                   \
  KERNEL_INLINE void KERNEL(run_down_##one_or_two)(                                                \
      const vini_fronts *x, const vini_front_run *run, vin_int link, const vin_int end,            \
      double *restrict b, double *restrict b2, const int rows) {                                   \
    const double *l = x->value + run->panel + link * run->panel_step;                              \
    int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;       \
    V own[4], z[4] = {(V){0}, (V){0}, (V){0}, (V){0}};                                             \
    (void)b2;                                                                                      \
    for (; link < end; link++) {                                                                   \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 3; i++) {                                                                \
        own[i] = LOAD_##one_or_two(node + i);                                                      \
        if (rows == 4) own[i] -= z[i];                                                             \
      }                                                                                            \
      own[3] = LOAD_##one_or_two(rod) - z[rows - 1];                                               \
      if (NONE_##one_or_two(own)) { /* nothing yet: L need not be read */                          \
        VINI_UNROLL                                                                                \
        for (int i = 0; i < rows; i++) z[i] = (V){0};                                              \
      } else {                                                                                     \
        KERNEL(down_##one_or_two)(l, own, 4, rows, z);                                             \
      }                                                                                            \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 3; i++) STORE_##one_or_two(node + i, own[i]);                            \
      STORE_##one_or_two(rod, own[3]);                                                             \
      l += run->panel_step;                                                                        \
      node += run->node_step;                                                                      \
      rod += run->rod_step;                                                                        \
    }                                                                                              \
    VINI_UNROLL                                                                                    \
    for (int i = 0; rows == 4 && i < 3; i++) {                                                     \
      STORE_##one_or_two(node + i, LOAD_##one_or_two(node + i) - z[i]);                            \
    }                                                                                              \
    STORE_##one_or_two(rod, LOAD_##one_or_two(rod) - z[rows - 1]);                                 \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(run_up_##one_or_two)(                                                  \
      const vini_fronts *x, const vini_front_run *run, const vin_int begin, vin_int link,          \
      double *restrict b, double *restrict b2, const int rows) {                                   \
    const double *l = x->value + run->panel + link * run->panel_step;                              \
    const double *inverse = x->inverse + run->first + 4 * (int64_t)link;                           \
    int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;       \
    V own[4], z[4];                                                                                \
    (void)b2;                                                                                      \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) own[i] = LOAD_##one_or_two(node + i);                              \
    own[3] = LOAD_##one_or_two(rod);                                                               \
    while (link > begin) {                                                                         \
      link--;                                                                                      \
      l -= run->panel_step;                                                                        \
      inverse -= 4;                                                                                \
      node -= run->node_step;                                                                      \
      rod -= run->rod_step;                                                                        \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < rows; i++) z[i] = own[4 - rows + i];                                     \
      __builtin_prefetch(l - AHEAD * run->panel_step);                                             \
      __builtin_prefetch(l - AHEAD * run->panel_step + 8);                                         \
      __builtin_prefetch(l - AHEAD * run->panel_step + 16);                                        \
      __builtin_prefetch(inverse - 4 * AHEAD);                                                     \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 3; i++) own[i] = LOAD_##one_or_two(node + i);                            \
      own[3] = LOAD_##one_or_two(rod);                                                             \
      KERNEL(up_##one_or_two)(l, inverse, own, 4, rows, z);                                        \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 3; i++) STORE_##one_or_two(node + i, own[i]);                            \
      STORE_##one_or_two(rod, own[3]);                                                             \
    }                                                                                              \
  }                                                                                                \
  KERNEL_TARGET static void KERNEL(forward_##one_or_two)(                                          \
      vini_fronts * x, const vini_front_block *block, double *b, double *b2) {                     \
    V *work = (V *)(void *)x->work, own[4], z[4];                                                  \
    if (block->run >= 0) {                                                                         \
      const vini_front_run *run = x->plan.run + block->run;                                        \
      if (run->kind == VINI_FRONT_ROD) {                                                           \
        KERNEL(run_down_##one_or_two)(x, run, block->link, block->link_end, b, b2, 4);             \
      } else {                                                                                     \
        KERNEL(point_run_down)(x, run, block->link, block->link_end, b, b2);                       \
      }                                                                                            \
    }                                                                                              \
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
      KERNEL(run_up_##one_or_two)(x, run, block->link, block->link_end, b, b2, 4);                 \
    } else {                                                                                       \
      KERNEL(point_run_up)(x, run, block->link, block->link_end, b, b2);                           \
    }                                                                                              \
  }

SUBSTITUTION(double, one)
SUBSTITUTION(v2, two)
#undef SUBSTITUTION
#undef AHEAD
#undef NONE_one
#undef NONE_two
#undef LOAD_one
#undef STORE_one
#undef LOAD_two
#undef STORE_two

KERNEL_TARGET static void KERNEL(forward)(vini_fronts *x, const vini_front_block *block, double *b,
                                          double *b2) {
  if (b2 == NULL) {
    KERNEL(forward_one)(x, block, b, NULL);
  } else {
    KERNEL(forward_two)(x, block, b, b2);
  }
}

KERNEL_TARGET static void KERNEL(backward)(vini_fronts *x, const vini_front_block *block, double *b,
                                           double *b2) {
  if (b2 == NULL) {
    KERNEL(backward_one)(x, block, b, NULL);
  } else {
    KERNEL(backward_two)(x, block, b, b2);
  }
}
