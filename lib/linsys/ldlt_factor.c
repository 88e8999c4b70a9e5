/* ldlt_factor - the numeric LDL': right-looking by panels on the static plan.
 *
 * While a panel is worked on, its columns hold u_ik = L_ik d_k. Row j of the panel takes its turn
 * when nothing above it is left to do: it is scaled, l_jk = u_jk / d_k, its diagonal receives d_j
 * -= sum_k u_jk l_jk,        scale_j += sum_k |u_jk l_jk|, and every row i > j, still unscaled,
 * contributes A_ij -= sum_k u_ik l_jk, which is L D L' once. A dropped column has 1/d := 0, hence l
 * = 0, and contributes nothing. The order of all operations is fixed by the plan. */
#include "base/kernel.h"
#include "linsys/ldlt_plan.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define VINI_UNROLL VINI_UNROLL_UP_TO(8)

/* The wide kernel takes panels and runs from these sizes on, and the columns inside a panel in steps. */
enum { WIDE_WIDTH = 8, WIDE_LENGTH = 4, WIDE_STEP = 8 };

/* Two neighbouring doubles; GCC and clang make SSE2, NEON, ... of it. No alignment is assumed. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* The rare cases of a pivot: dropped, unusable, or only small. */
static __attribute__((noinline)) double odd_pivot(vini_ldlt *ldlt, vin_int k) {
  const double size = fabs(ldlt->pivot[k].d), scale = ldlt->pivot[k].scale;
  const bool droppable = ldlt->droppable && ldlt->droppable[k];
  if (droppable && (scale == 0.0 || size < ldlt->threshold * scale)) {
    ldlt->dropped[k] = 1;
    ldlt->dropped_count++;
    return ldlt->inverse[k] = 0.0;
  }
  if (!(size >= DBL_MIN && size <= DBL_MAX)) { /* zero, subnormal (1/d overflows), NaN, infinite */
    if (ldlt->failed < 0) ldlt->failed = k;
    return ldlt->inverse[k] = 0.0;
  }
  return ldlt->inverse[k] = 1.0 / ldlt->pivot[k].d;
}

/* Accepts the finished d_k and returns 1/d_k. Kept inverses are never 0, so 0 tells of odd cases.
 */
VINI_INLINE double take_pivot(vini_ldlt *ldlt, vin_int k) {
  const double d = ldlt->pivot[k].d, scale = ldlt->pivot[k].scale, size = fabs(d);
  double inverse;
  if (size > ldlt->threshold * scale && size >= DBL_MIN && size <= DBL_MAX) {
    inverse = 1.0 / d;
    ldlt->inverse[k] = inverse;
  } else {
    inverse = odd_pivot(ldlt, k);
    if (inverse == 0.0) return inverse;
  }
  /* branches, not minima: they are almost never taken and keep the additions off the critical path
   */
  if (size < ldlt->min_ratio * scale) ldlt->min_ratio = size / scale;
  if (size < ldlt->min_pivot) ldlt->min_pivot = size;
  if (size > ldlt->max_pivot) ldlt->max_pivot = size;
  ldlt->negative += d < 0.0;
  return inverse;
}

/* Turn of row j against `width` columns (u: its entry in column 0): scales, returns the row of L in
 * l, updates the pivot of unknown k. */
VINI_INLINE void take_row(vini_ldlt_pivot *pivot, double *u, vin_int ld, const double *inverse,
                          vin_int width, double *l) {
  double sum = 0.0, scale = 0.0;
  VINI_UNROLL
  for (vin_int k = 0; k < width; k++) {
    const double entry = u[k * ld];
    l[k] = entry * inverse[k];
    u[k * ld] = l[k];
    const double product = entry * l[k];
    sum += product;
    scale += fabs(product);
  }
  pivot->d -= sum;
  pivot->scale += scale;
}

/* A panel with few rows below and pairwise targets. Called with constant width and coupled for the
 * common shapes, so that the short loops unroll. */
VINI_INLINE bool eliminate_small(vini_ldlt *ldlt, const vini_ldlt_panel *panel, vin_int width,
                                 bool coupled) {
  const vin_int below = panel->below, inside = coupled ? width - 1 : 0, ld = inside + below;
  const vin_int *index = ldlt->plan.index + panel->index;
  const vin_int *target = ldlt->plan.target + panel->target;
  double *restrict value = ldlt->value;
  double *u = value + panel->value;
  double inverse[VINI_LDLT_PAIRWISE_WIDTH] = {0.0}, l[VINI_LDLT_PAIRWISE_WIDTH] = {0.0};
  VINI_UNROLL
  for (vin_int c = 0; c < width; c++) {
    if (coupled && c > 0) {
      take_row(&ldlt->pivot[index[c]], u + c - 1, ld, inverse, c, l);
      for (vin_int i = c; i < ld; i++) {
        double sum = 0.0;
        VINI_UNROLL
        for (vin_int k = 0; k < c; k++) sum += u[k * ld + i] * l[k];
        u[c * ld + i] -= sum;
      }
    }
    inverse[c] = take_pivot(ldlt, index[c]);
  }
  u += inside;
  for (vin_int j = 0; j < below; j++) {
    take_row(&ldlt->pivot[index[width + j]], u + j, ld, inverse, width, l);
    for (vin_int i = j + 1; i < below; i++) {
      double sum = 0.0;
      VINI_UNROLL
      for (vin_int k = 0; k < width; k++) sum += u[k * ld + i] * l[k];
      value[*target++] -= sum;
    }
  }
  return ldlt->failed < 0;
}

static bool eliminate_any_small(vini_ldlt *ldlt, const vini_ldlt_panel *panel, vin_int width,
                                bool coupled) {
  return eliminate_small(ldlt, panel, width, coupled);
}

/* y_i -= sum_k u_ik l_k for i < rows, four columns at a time, added in the order of k. */
static void column_update(double *restrict y, const double *restrict u, vin_int ld, vin_int rows,
                          const double *l, vin_int width) {
  vin_int k = 0;
  for (; k + 4 <= width; k += 4, u += 4 * ld) {
    const double *u1 = u + ld, *u2 = u1 + ld, *u3 = u2 + ld;
    const double l0 = l[k], l1 = l[k + 1], l2 = l[k + 2], l3 = l[k + 3];
    vin_int i = 0;
    for (; i + 2 <= rows; i += 2)
      *(pair *)(y + i) -= *(const pair *)(u + i) * l0 + *(const pair *)(u1 + i) * l1 +
                          *(const pair *)(u2 + i) * l2 + *(const pair *)(u3 + i) * l3;
    if (i < rows) y[i] -= u[i] * l0 + u1[i] * l1 + u2[i] * l2 + u3[i] * l3;
  }
  for (; k < width; k++, u += ld)
    for (vin_int i = 0; i < rows; i++) y[i] -= u[i] * l[k];
}

/* The same for two columns of results: half the reads of u. */
static void two_column_update(double *restrict y, double *restrict z, const double *restrict u,
                              vin_int ld, vin_int rows, const double *l, const double *m,
                              vin_int width) {
  vin_int k = 0;
  for (; k + 4 <= width; k += 4, u += 4 * ld) {
    const double *u1 = u + ld, *u2 = u1 + ld, *u3 = u2 + ld;
    const double l0 = l[k], l1 = l[k + 1], l2 = l[k + 2], l3 = l[k + 3];
    const double m0 = m[k], m1 = m[k + 1], m2 = m[k + 2], m3 = m[k + 3];
    vin_int i = 0;
    for (; i + 2 <= rows; i += 2) {
      const pair a = *(const pair *)(u + i), b = *(const pair *)(u1 + i),
                 c = *(const pair *)(u2 + i), d = *(const pair *)(u3 + i);
      *(pair *)(y + i) -= a * l0 + b * l1 + c * l2 + d * l3;
      *(pair *)(z + i) -= a * m0 + b * m1 + c * m2 + d * m3;
    }
    if (i < rows) {
      y[i] -= u[i] * l0 + u1[i] * l1 + u2[i] * l2 + u3[i] * l3;
      z[i] -= u[i] * m0 + u1[i] * m1 + u2[i] * m2 + u3[i] * m3;
    }
  }
  for (; k < width; k++, u += ld)
    for (vin_int i = 0; i < rows; i++) {
      y[i] -= u[i] * l[k];
      z[i] -= u[i] * m[k];
    }
}

/* column[row[i]] += y[i]; a run without gaps (frequent near the root) needs no indices. */
static void scatter(double *restrict column, const vin_int *row, vin_int count,
                    const double *restrict y) {
  if (count == 0) return;
  if (row[count - 1] - row[0] == count - 1) {
    column += row[0];
    vin_int i = 0;
    for (; i + 2 <= count; i += 2) *(pair *)(column + i) += *(const pair *)(y + i);
    if (i < count) column[i] += y[i];
    return;
  }
  for (vin_int i = 0; i < count; i++) column[row[i]] += y[i];
}

/* Contributions of a wide or long panel to one run of `length` rows that belong to the same later
 * panel. u: row j of column 0, rows: rows of this panel from j on; storage: their places. */
static void eliminate_run(vini_ldlt *ldlt, double *u, vin_int ld, vin_int rows,
                          const vin_int *unknown, const double *inverse, vin_int width,
                          const vin_int *group) {
  const vin_int length = group[0], ld_t = group[2];
  const vin_int *storage = group + 3;
  double *base = ldlt->value + group[1] + ld_t;
  double *y = ldlt->buffer, *z = y + ldlt->plan.max_below;
  double l[VINI_LDLT_MAX_WIDTH], m[VINI_LDLT_MAX_WIDTH];
  vin_int j = 0;
  for (; j + 2 <= length; j += 2) {
    double *column = base + (ptrdiff_t)storage[j] * ld_t;
    double *next = base + (ptrdiff_t)storage[j + 1] * ld_t;
    const vin_int rest = rows - j - 2;
    take_row(&ldlt->pivot[unknown[j]], u + j, ld, inverse, width, l);
    double corner = 0.0; /* (j + 1, j), before row j + 1 is scaled */
    for (vin_int k = 0; k < width; k++) corner += u[k * ld + j + 1] * l[k];
    column[storage[j + 1]] -= corner;
    take_row(&ldlt->pivot[unknown[j + 1]], u + j + 1, ld, inverse, width, m);
    memset(y, 0, (size_t)rest * sizeof *y);
    memset(z, 0, (size_t)rest * sizeof *z);
    two_column_update(y, z, u + j + 2, ld, rest, l, m, width);
    scatter(column, storage + j + 2, rest, y);
    scatter(next, storage + j + 2, rest, z);
  }
  if (j < length) {
    const vin_int rest = rows - j - 1;
    take_row(&ldlt->pivot[unknown[j]], u + j, ld, inverse, width, l);
    memset(y, 0, (size_t)rest * sizeof *y);
    column_update(y, u + j + 1, ld, rest, l, width);
    scatter(base + (ptrdiff_t)storage[j] * ld_t, storage + j + 1, rest, y);
  }
}

/* Turns of `count` rows at once, against `width` columns: l gets their rows of L in the order that the wide kernel
 * wants; u stays as it is until store_rows. */
static void take_rows(vini_ldlt_pivot *pivot, const vin_int *unknown, const double *u, vin_int ld,
                      const double *inverse, vin_int width, vin_int count, double *l) {
  for (vin_int j = 0; j < count; j += VINI_WIDE_COLUMNS, l += VINI_WIDE_COLUMNS * width) {
    for (vin_int c = 0; c < VINI_WIDE_COLUMNS; c++) {
      const bool used = j + c < count;
      double sum = 0.0, scale = 0.0;
      for (vin_int k = 0; k < width; k++) {
        const double entry = used ? u[(ptrdiff_t)k * ld + j + c] : 0.0, scaled = entry * inverse[k];
        l[VINI_WIDE_COLUMNS * k + c] = scaled;
        sum += entry * scaled;
        scale += fabs(entry * scaled);
      }
      if (!used) continue;
      pivot[unknown[j + c]].d -= sum;
      pivot[unknown[j + c]].scale += scale;
    }
  }
}

static void store_rows(double *u, vin_int ld, vin_int width, vin_int count, const double *l) {
  for (vin_int k = 0; k < width; k++, u += ld)
    for (vin_int j = 0; j < count; j++)
      u[j] = l[(ptrdiff_t)(j / VINI_WIDE_COLUMNS) * VINI_WIDE_COLUMNS * width +
               VINI_WIDE_COLUMNS * k + j % VINI_WIDE_COLUMNS];
}

/* eliminate_run for a wide panel and a long run. */
static void eliminate_wide_run(vini_ldlt *ldlt, double *u, vin_int ld, vin_int rows,
                               const vin_int *unknown, const double *inverse, vin_int width,
                               const vin_int *group) {
  double l[VINI_LDLT_MAX_WIDTH * VINI_LDLT_MAX_WIDTH];
  const vin_int length = group[0];
  take_rows(ldlt->pivot, unknown, u, ld, inverse, width, length, l);
  ldlt->wide(&(vini_wide_update){.u = u,
                                 .l = l,
                                 .ld = ld,
                                 .rows = rows,
                                 .width = width,
                                 .length = length,
                                 .y = ldlt->value + group[1] + group[2],
                                 .ld_y = group[2],
                                 .storage = group + 3});
  store_rows(u, ld, width, length, l);
}

/* The columns before c act on the next `count` columns of their panel, whose values start at u. */
static void take_columns(vini_ldlt *ldlt, double *u, vin_int ld, const vin_int *unknown,
                         const double *inverse, vin_int c, vin_int count) {
  double l[VINI_LDLT_MAX_WIDTH * WIDE_STEP];
  double *row = u + c - 1; /* the diagonal of the first column is not stored */
  take_rows(ldlt->pivot, unknown + c, row, ld, inverse, c, count, l);
  ldlt->wide(&(vini_wide_update){.u = row,
                                 .l = l,
                                 .ld = ld,
                                 .rows = ld - c + 1,
                                 .width = c,
                                 .length = count,
                                 .y = row + (ptrdiff_t)c * ld,
                                 .ld_y = ld});
  store_rows(row, ld, c, count, l);
}

/* A panel with grouped targets. */
static bool eliminate_large(vini_ldlt *ldlt, const vini_ldlt_panel *panel) {
  const vin_int width = panel->width, below = panel->below, ld = panel->inside + below;
  const vin_int *index = ldlt->plan.index + panel->index;
  const vin_int *group = ldlt->plan.target + panel->target;
  double *u = ldlt->value + panel->value;
  double inverse[VINI_LDLT_MAX_WIDTH], l[VINI_LDLT_MAX_WIDTH];
  for (vin_int c = 0, first = 0; c < width; c++) {
    if (panel->inside && c > 0 && c % WIDE_STEP == 0) {
      take_columns(ldlt, u, ld, index, inverse, c, vini_min_int(WIDE_STEP, width - c));
      first = c;
    }
    if (panel->inside && c > first) {
      double *own = u + (ptrdiff_t)first * ld;
      take_row(&ldlt->pivot[index[c]], own + c - 1, ld, inverse + first, c - first, l);
      column_update(u + (ptrdiff_t)c * ld + c, own + c, ld, ld - c, l, c - first);
    }
    inverse[c] = take_pivot(ldlt, index[c]);
  }
  if (ldlt->failed >= 0) return false;
  u += panel->inside;
  index += width;
  for (vin_int j = 0; j < below;) {
    if (width >= WIDE_WIDTH && group[0] >= WIDE_LENGTH) {
      eliminate_wide_run(ldlt, u + j, ld, below - j, index + j, inverse, width, group);
    } else {
      eliminate_run(ldlt, u + j, ld, below - j, index + j, inverse, width, group);
    }
    j += group[0];
    group += 3 + below - (j - group[0]);
  }
  return true;
}

static bool eliminate_panel(vini_ldlt *ldlt, const vini_ldlt_panel *panel) {
  if (panel->grouped) return eliminate_large(ldlt, panel);
  const bool coupled = panel->inside > 0;
  switch (panel->width) {
  case 1:
    return eliminate_small(ldlt, panel, 1, false);
  case 2:
    return coupled ? eliminate_small(ldlt, panel, 2, true) : eliminate_small(ldlt, panel, 2, false);
  case 3:
    return coupled ? eliminate_small(ldlt, panel, 3, true) : eliminate_small(ldlt, panel, 3, false);
  case 4:
    return coupled ? eliminate_small(ldlt, panel, 4, true) : eliminate_small(ldlt, panel, 4, false);
  case 5:
    return coupled ? eliminate_small(ldlt, panel, 5, true) : eliminate_small(ldlt, panel, 5, false);
  case 6:
    return coupled ? eliminate_small(ldlt, panel, 6, true) : eliminate_small(ldlt, panel, 6, false);
  default:
    return eliminate_any_small(ldlt, panel, panel->width, coupled);
  }
}

bool vini_ldlt_eliminate(vini_ldlt *ldlt) {
  for (vin_int s = 0; s < ldlt->plan.panel_count; s++)
    if (!eliminate_panel(ldlt, &ldlt->plan.panel[s])) return false;
  return true;
}
