/* ldlt_solve - L D L' x = b in place, in the original numbering: the plan lists unknowns, so that
 * no permutation of the right-hand side is needed. Each component sees the same operations in the
 * same order whatever the number of right-hand sides that travel together. */
#include "base/kernel.h"
#include "linsys/ldlt_plan.h"

#define VINI_UNROLL VINI_UNROLL_UP_TO(8)

/* Right-hand sides and columns that travel together. */
#define RHS 4
#define BLOCK 4

/* One block of columns of a panel, c .. c + columns - 1. */
typedef struct block {
  const double *entry;  /* storage row 0 of its first column */
  const vin_int *own;   /* its unknowns */
  const vin_int *below; /* unknowns of the rows that get updates */
  vin_int ld, rows;
  vin_int first; /* storage row of below[0] */
  vin_int inner; /* storage row of the block's second row; only when coupled */
} block;

VINI_INLINE block block_at(const vini_ldlt *ldlt, const vini_ldlt_panel *panel, vin_int c,
                           vin_int columns, bool coupled) {
  const vin_int *index = ldlt->plan.index + panel->index;
  const vin_int skipped = coupled ? c + columns : panel->width;
  block b;
  b.ld = (coupled ? panel->width - 1 : 0) + panel->below;
  b.entry = ldlt->value + panel->value + (ptrdiff_t)c * b.ld;
  b.own = index + c;
  b.below = index + skipped;
  b.rows = panel->width + panel->below - skipped;
  b.first = coupled ? skipped - 1 : 0;
  b.inner = c;
  return b;
}

/* y := L11^-1 x for the block, x_below -= L21 y. x: `rhs` columns of length n. */
VINI_INLINE void forward_block(block b, double *x, size_t n, vin_int columns, bool coupled,
                               int rhs) {
  double y[BLOCK][RHS];
  VINI_UNROLL
  for (vin_int c = 0; c < columns; c++) VINI_UNROLL
  for (int r = 0; r < rhs; r++) {
    double sum = x[(size_t)r * n + (size_t)b.own[c]];
    if (coupled) {
      VINI_UNROLL
      for (vin_int k = 0; k < c; k++) sum -= b.entry[k * b.ld + b.inner + c - 1] * y[k][r];
      x[(size_t)r * n + (size_t)b.own[c]] = sum;
    }
    y[c][r] = sum;
  }
  const double *entry = b.entry + b.first;
  for (vin_int i = 0; i < b.rows; i++) VINI_UNROLL
  for (int r = 0; r < rhs; r++) {
    double *place = x + (size_t)r * n + (size_t)b.below[i];
    double sum = *place;
    VINI_UNROLL
    for (vin_int k = 0; k < columns; k++) sum -= entry[k * b.ld + i] * y[k][r];
    *place = sum;
  }
}

/* x := L11^-T (D^-1 x - L21' x_below) for the block. */
VINI_INLINE void backward_block(block b, const double *inverse, double *x, size_t n,
                                vin_int columns, bool coupled, int rhs) {
  double y[BLOCK][RHS];
  VINI_UNROLL
  for (vin_int c = 0; c < columns; c++) VINI_UNROLL
  for (int r = 0; r < rhs; r++) y[c][r] = inverse[b.own[c]] * x[(size_t)r * n + (size_t)b.own[c]];
  const double *entry = b.entry + b.first;
  for (vin_int i = 0; i < b.rows; i++) VINI_UNROLL
  for (int r = 0; r < rhs; r++) {
    const double below = x[(size_t)r * n + (size_t)b.below[i]];
    VINI_UNROLL
    for (vin_int k = 0; k < columns; k++) y[k][r] -= entry[k * b.ld + i] * below;
  }
  VINI_UNROLL
  for (vin_int c = columns - 1; c >= 0; c--) VINI_UNROLL
  for (int r = 0; r < rhs; r++) {
    double sum = y[c][r];
    if (coupled) {
      VINI_UNROLL
      for (vin_int k = columns - 1; k > c; k--)
        sum -= b.entry[c * b.ld + b.inner + k - 1] * y[k][r];
      y[c][r] = sum;
    }
    x[(size_t)r * n + (size_t)b.own[c]] = sum;
  }
}

/* Calls `call` with constant columns and shape. */
#define DISPATCH(columns, coupled, call)                                                           \
  switch (columns) {                                                                               \
  case 1:                                                                                          \
    if (coupled) /* the last column of a coupled panel */                                          \
      call(1, true);                                                                               \
    else                                                                                           \
      call(1, false);                                                                              \
    break;                                                                                         \
  case 2:                                                                                          \
    if (coupled)                                                                                   \
      call(2, true);                                                                               \
    else                                                                                           \
      call(2, false);                                                                              \
    break;                                                                                         \
  case 3:                                                                                          \
    if (coupled)                                                                                   \
      call(3, true);                                                                               \
    else                                                                                           \
      call(3, false);                                                                              \
    break;                                                                                         \
  default:                                                                                         \
    if (coupled)                                                                                   \
      call(4, true);                                                                               \
    else                                                                                           \
      call(4, false);                                                                              \
  }

/* All panels forward, then backward, for a constant number of right-hand sides. */
VINI_INLINE void substitute(const vini_ldlt *ldlt, double *x, int rhs) {
  const vini_ldlt_plan *plan = &ldlt->plan;
  const size_t n = (size_t)plan->n;
  for (vin_int s = 0; s < plan->panel_count; s++) {
    const vini_ldlt_panel *panel = &plan->panel[s];
    const bool coupled = panel->inside > 0;
    for (vin_int c = 0; c < panel->width; c += BLOCK) {
      const vin_int columns = vini_min_int(BLOCK, panel->width - c);
#define FORWARD(count, shape)                                                                      \
  forward_block(block_at(ldlt, panel, c, count, shape), x, n, count, shape, rhs)
      DISPATCH(columns, coupled, FORWARD)
#undef FORWARD
    }
  }
  for (vin_int s = plan->panel_count - 1; s >= 0; s--) {
    const vini_ldlt_panel *panel = &plan->panel[s];
    const bool coupled = panel->inside > 0;
    for (vin_int c = (panel->width - 1) / BLOCK * BLOCK; c >= 0; c -= BLOCK) {
      const vin_int columns = vini_min_int(BLOCK, panel->width - c);
#define BACKWARD(count, shape)                                                                     \
  backward_block(block_at(ldlt, panel, c, count, shape), ldlt->inverse, x, n, count, shape, rhs)
      DISPATCH(columns, coupled, BACKWARD)
#undef BACKWARD
    }
  }
}

static void substitute_one(const vini_ldlt *ldlt, double *x) {
  substitute(ldlt, x, 1);
}

static void substitute_two(const vini_ldlt *ldlt, double *x) {
  substitute(ldlt, x, 2);
}

static void substitute_four(const vini_ldlt *ldlt, double *x) {
  substitute(ldlt, x, 4);
}

void vini_ldlt_substitute(const vini_ldlt *ldlt, vin_int count, double *x) {
  const size_t n = (size_t)ldlt->plan.n;
  for (; count >= 4; count -= 4, x += 4 * n) substitute_four(ldlt, x);
  for (; count >= 2; count -= 2, x += 2 * n) substitute_two(ldlt, x);
  if (count) substitute_one(ldlt, x);
}
