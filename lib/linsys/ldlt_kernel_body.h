/* ldlt_kernel_body - the arithmetic of ldlt_kernel.c, included once for every instruction set.
 * KERNEL(name) gives the version's names, KERNEL_TARGET its function attribute. No include guard on
 * purpose. */

/* 1/d, or 0 for a pivot that is dropped or broke down (tally.failed). */
KERNEL_INLINE double KERNEL(invert)(vini_fronts *x, vini_tally *t, vin_int column, double d,
                                    double scale) {
  const double size = fabs(d), least = x->threshold * scale;
  if (__builtin_expect(!(size > (least > DBL_MIN ? least : DBL_MIN) && size <= DBL_MAX), 0)) {
    return weak_pivot(x, t, column, d, scale);
  }
  return 1 / d;
}

KERNEL_INLINE double KERNEL(take_pivot)(vini_fronts *x, vini_tally *t, vin_int column, double d,
                                        double scale) {
  const double inverse = KERNEL(invert)(x, t, column, d, scale);
  survey(t, inverse, scale);
  return inverse;
}

/* f += u for rows that stand side by side in the parent's front. */
KERNEL_INLINE void KERNEL(add_run)(double *restrict f, const int ld, double *restrict s,
                                   const double *restrict u, const int64_t child_ld,
                                   const double *restrict cs, const int rows) {
  VINI_UNROLL
  for (int j = 0; j < rows; j++) {
    VINI_UNROLL
    for (int i = j; i < rows; i++) f[(int64_t)j * ld + i] += u[j * child_ld + i];
    s[j] += cs[j];
  }
}

static void KERNEL(add_scattered)(double *restrict f, const int ld, double *restrict s,
                                  const double *restrict u, const int64_t child_ld,
                                  const double *restrict cs, const vin_int *restrict rel,
                                  const int rows) {
  for (int j = 0; j < rows; j++) {
    double *column = f + (int64_t)rel[j] * ld;
    for (int i = j; i < rows; i++) column[rel[i]] += u[i];
    s[rel[j]] += cs[j];
    u += child_ld;
  }
}

/* F and the magnitudes s behind it := the matrix's entries plus what the children leave. */
KERNEL_INLINE void KERNEL(assemble)(vini_fronts *x, const vini_front *front, const double *a,
                                    const int pivots, const int size, const int ld,
                                    double *restrict f) {
  const vini_front_plan *plan = &x->plan;
  double *restrict s = f + (int64_t)ld * ld;
  VINI_UNROLL
  for (int j = 0; j < size; j++) {
    VINI_UNROLL
    for (int i = j; i < size; i++) f[(int64_t)j * ld + i] = 0;
  }
  VINI_UNROLL
  for (int i = pivots; i < size; i++) s[i] = 0;
  for (vin_int e = front->entry; e < front->entry_end; e++) f[plan->place[e]] = a[plan->source[e]];
  VINI_UNROLL
  for (int k = 0; k < pivots; k++) s[k] = fabs(f[k + (int64_t)k * ld]);
  for (vin_int c = front->child; c >= 0; c = plan->front[c].sibling) {
    const vini_front *child = &plan->front[c];
    const int64_t child_ld = child->ld;
    const double *cs = x->buffer + child->square + child_ld * child_ld + child->pivots;
    const double *u = x->buffer + child->square + (child_ld + 1) * child->pivots;
    if (child->run >= 0 && child->rows == 4) {
      KERNEL(add_run)(f + (int64_t)child->run * (ld + 1), ld, s + child->run, u, child_ld, cs, 4);
    } else if (child->rows == 1) {
      KERNEL(add_run)(f + (int64_t)child->run * (ld + 1), ld, s + child->run, u, child_ld, cs, 1);
    } else {
      KERNEL(add_scattered)(f, ld, s, u, child_ld, cs, plan->rel + child->row, child->rows);
    }
  }
}

/* Eliminates the pivots of a front of any size: L to its panel, the rest of F updated in place. */
KERNEL_INLINE void KERNEL(any_front)(vini_fronts *x, vini_tally *t, const vini_front *front,
                                     const double *a) {
  const int pivots = front->pivots, size = pivots + front->rows, ld = front->ld;
  double *restrict f = x->buffer + front->square, *restrict l = x->value + front->panel;
  double *restrict s = f + (int64_t)ld * ld, *inverses = x->value + vini_front_inverse(front);
  KERNEL(assemble)(x, front, a, pivots, size, ld, f);
  for (int k = 0; k < pivots; k++) {
    const double *fk = f + (int64_t)k * ld;
    double *lk = l + vini_front_column(k, size); /* row i > k at i - k - 1 */
    const double inverse = KERNEL(take_pivot)(x, t, front->first + k, fk[k], s[k]);
    inverses[k] = inverse;
    for (int i = k + 1; i < size; i++) {
      lk[i - k - 1] = fk[i] * inverse;
      s[i] += fabs(fk[i] * lk[i - k - 1]);
    }
    for (int j = k + 1; j < size; j++) {
      for (int i = j; i < size; i++) f[(int64_t)j * ld + i] -= fk[j] * lk[i - k - 1];
    }
  }
}

/* The same for a known size, in local variables: what waits for memory here waits in every link of a
 * chain. Plain numbers and no vectors: a child's numbers are read right after they were written one
 * by one, and a vector load would have to wait for them (measured: 1.7 times slower). */
KERNEL_INLINE void KERNEL(known_front)(vini_fronts *x, vini_tally *t, const vini_front *front,
                                       const double *a, const int pivots, const int size,
                                       const int ld) {
  double *restrict f = x->buffer + front->square, *restrict l = x->value + front->panel;
  double *restrict s = f + ld * ld;
  double c[8][8], m[8]; /* F by columns and its magnitudes */
  KERNEL(assemble)(x, front, a, pivots, size, ld, f);
  VINI_UNROLL
  for (int j = 0; j < size; j++) {
    m[j] = s[j];
    VINI_UNROLL
    for (int i = j; i < size; i++) c[j][i] = f[j * ld + i];
  }
  VINI_UNROLL
  for (int k = 0; k < pivots; k++) {
    const double inverse = KERNEL(take_pivot)(x, t, front->first + k, c[k][k], m[k]);
    double lk[8];
    l[vini_front_column(pivots, size) + k] = inverse;
    VINI_UNROLL
    for (int i = k + 1; i < size; i++) {
      lk[i] = c[k][i] * inverse;
      l[vini_front_column(k, size) + i - k - 1] = lk[i];
      m[i] += fabs(c[k][i] * lk[i]);
    }
    VINI_UNROLL
    for (int j = k + 1; j < size; j++) {
      VINI_UNROLL
      for (int i = j; i < size; i++) c[j][i] -= c[k][j] * lk[i];
    }
  }
  VINI_UNROLL
  for (int j = pivots; j < size; j++) {
    s[j] = m[j];
    VINI_UNROLL
    for (int i = j; i < size; i++) f[j * ld + i] = c[j][i];
  }
}

/* What a link of massive rods leaves to the next: the update by columns and its magnitudes. What stands
 * above the diagonal is garbage that nobody reads. */
typedef struct KERNEL(carry) {
  v4 u[4], m;
} KERNEL(carry);

/* Extremes of four pivots at a time, merged into the tally at the end of a run. */
typedef struct KERNEL(extremes) {
  v4 least, most, cancellation;
  v4i negative;
} KERNEL(extremes);

/* a := where take is set, b, else a */
KERNEL_INLINE void KERNEL(choose)(v4 *a, const v4 *b, const v4i *take) {
  *a = (v4)((*take & (v4i)*b) | (~*take & (v4i)*a));
}

KERNEL_INLINE void KERNEL(survey_four)(KERNEL(extremes) * e, const v4 *inverse, const v4 *scale,
                                       bool weak) {
  const v4i magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  const v4 size = (v4)((v4i)*inverse & magnitude), ratio = *scale * size, none = {0};
  v4 kept = size;
  for (int i = 0; weak && i < 4; i++) {
    if (size[i] == 0) kept[i] = DBL_MAX;
  }
  const v4i less = kept<e->least, more = size> e->most, worse = ratio > e->cancellation;
  KERNEL(choose)(&e->least, &kept, &less);
  KERNEL(choose)(&e->most, &size, &more);
  KERNEL(choose)(&e->cancellation, &ratio, &worse);
  e->negative -= *inverse < none;
}

static void KERNEL(merge)(vini_tally *t, const KERNEL(extremes) * e) {
  for (int i = 0; i < 4; i++) {
    t->least = fmin(t->least, e->least[i]);
    t->most = fmax(t->most, e->most[i]);
    t->cancellation = fmax(t->cancellation, e->cancellation[i]);
    t->negative += (vin_int)e->negative[i];
  }
}

/* The panel of a front with 4 pivots and 4 rows below. */
KERNEL_INLINE void KERNEL(store_front)(double *restrict l, const v4 top[4], const v4 below[4],
                                       const v4 *inverses) {
  VINI_UNROLL
  for (int k = 3; k >= 0; k--) {
    /* a vector's rows up to k fall on the column before, stored next */
    double *to = l + vini_front_column(k, 8) - k - 1;
    if (k < 3) *(v4 *)to = top[k];
    *(v4 *)(to + 4) = below[k];
  }
  *(v4 *)(l + vini_front_column(4, 8)) = *inverses;
}

/* The panel of a link in a run. */
KERNEL_INLINE void KERNEL(store_link)(double *restrict l, const v4 top[4], const v4 *inverses,
                                      const double *a, const vin_int *e) {
  const double l10 = top[0][1], l20 = top[0][2], l30 = top[0][3], l21 = top[1][2], l31 = top[1][3];
  const double l32 = top[2][3], w20 = l21 * l10 - l20;
  double *w = l + VINI_ROD_W;
  *(v4 *)(l + VINI_ROD_INVERSE) = *inverses;
  w[0] = -l10;
  w[1] = w20;
  w[2] = l31 * l10 - l30 - l32 * w20;
  w[3] = -l21;
  w[4] = l32 * l21 - l31;
  w[5] = -l32;
  VINI_UNROLL
  for (int i = 0; i < 3; i++) {
    l[VINI_ROD_NODE + i] = a[e[4 * i + 2]];
    l[VINI_ROD_NEXT + i] = a[e[4 * i + 3]];
  }
}

/* Link of a chain of massive rods, four rows at a time: a[e[0..11]] and `last` are its entries, L goes
 * to l, in the form of a run where `in_run`. Entries are gathered straight into vectors and the child's part stays in vectors, so that
 * nothing waits for the memory. */
KERNEL_INLINE void KERNEL(rod_link)(vini_fronts *x, vini_tally *t, KERNEL(extremes) * extremes,
                                    const vin_int column, double *restrict l, const double *a,
                                    const vin_int *e, const double last, KERNEL(carry) * carry,
                                    const bool in_run) {
  const v4i magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  const vin_int dropped = t->dropped;
  v4 top[4] = {{a[e[0]], 0, 0, a[e[1]]}, /* rows 0..3: the pivots */
               {0, a[e[4]], 0, a[e[5]]},
               {0, 0, a[e[8]], a[e[9]]},
               {0, 0, 0, last}};
  v4 below[4] = {{a[e[2]], 0, 0, a[e[3]]}, {0, a[e[6]], 0, a[e[7]]}, {0, 0, a[e[10]], a[e[11]]}};
  v4 update[4] = {{0}}, l_top[4], l_below[4], inverses = {0}, scales = {0};
  v4 m_top = (v4)((v4i)(v4){top[0][0], top[1][1], top[2][2], top[3][3]} & magnitude);
  v4 m_below = {0};
  m_top += carry->m;
  VINI_UNROLL
  for (int j = 0; j < 4; j++) top[j] += carry->u[j];
  VINI_UNROLL
  for (int k = 0; k < 4; k++) {
    const double inverse = KERNEL(invert)(x, t, column + k, top[k][k], m_top[k]);
    inverses[k] = inverse;
    scales[k] = m_top[k];
    l_top[k] = top[k] * inverse;
    l_below[k] = below[k] * inverse;
    m_top += (v4)((v4i)(top[k] * l_top[k]) & magnitude);
    m_below += (v4)((v4i)(below[k] * l_below[k]) & magnitude);
    VINI_UNROLL
    for (int j = k + 1; j < 4; j++) {
      top[j] -= top[k][j] * l_top[k];
      below[j] -= top[k][j] * l_below[k];
    }
    VINI_UNROLL
    for (int j = 0; j < 4; j++) update[j] -= below[k][j] * l_below[k];
  }
  KERNEL(survey_four)(extremes, &inverses, &scales, t->dropped > dropped);
  if (in_run) {
    KERNEL(store_link)(l, l_top, &inverses, a, e);
  } else {
    KERNEL(store_front)(l, l_top, l_below, &inverses);
  }
  VINI_UNROLL
  for (int j = 0; j < 4; j++) carry->u[j] = update[j];
  carry->m = m_below;
}

/* The rows' part of a front's square, where the next front finds it. */
KERNEL_INLINE void KERNEL(load_carry)(const vini_fronts *x, const vini_front *child,
                                      KERNEL(carry) * carry) {
  const int64_t ld = child->ld;
  const double *u = x->buffer + child->square + (ld + 1) * child->pivots;
  VINI_UNROLL
  for (int j = 0; j < 4; j++) carry->u[j] = *(const v4 *)(u + j * ld);
  carry->m = *(const v4 *)(x->buffer + child->square + ld * ld + child->pivots);
}

KERNEL_INLINE void KERNEL(store_carry)(vini_fronts *x, const vini_front *child,
                                       const KERNEL(carry) * carry) {
  const int64_t ld = child->ld;
  double *u = x->buffer + child->square + (ld + 1) * child->pivots;
  VINI_UNROLL
  for (int j = 0; j < 4; j++) *(v4 *)(u + j * ld) = carry->u[j];
  *(v4 *)(x->buffer + child->square + ld * ld + child->pivots) = carry->m;
}

static const KERNEL(extremes) KERNEL(no_extremes) = {.least = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX}};

KERNEL_INLINE void KERNEL(rod_front)(vini_fronts *x, vini_tally *t, const vini_front *front,
                                     const double *a) {
  const vin_int *e = x->plan.source + front->entry;
  KERNEL(extremes) extremes = KERNEL(no_extremes);
  KERNEL(carry) carry;
  KERNEL(load_carry)(x, &x->plan.front[front->child], &carry);
  KERNEL(rod_link)
  (x, t, &extremes, front->first, x->value + front->panel, a, e, a[e[12]], &carry, false);
  KERNEL(store_carry)(x, front, &carry);
  KERNEL(merge)(t, &extremes);
}

/* The forward substitution of a link waits for nothing that its elimination waits for: both at once take
 * hardly longer than the elimination alone. */
#define ROD_RUN(V, none_one_or_two)                                                                \
  KERNEL_TARGET static void KERNEL(rod_run_##none_one_or_two)(                                     \
      vini_fronts * x, vini_tally * t, const vini_front_run *run, vin_int link, const vin_int end, \
      const double *a, double *b, double *b2) {                                                    \
    const vini_front *child = &x->plan.front[run->child];                                          \
    double *l = x->value + run->panel + link * run->panel_step;                                    \
    int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;       \
    V z[4] = {(V){0}, (V){0}, (V){0}, (V){0}};                                                     \
    KERNEL(extremes) extremes = KERNEL(no_extremes);                                               \
    KERNEL(carry) carry;                                                                           \
    KERNEL(load_carry)(x, child, &carry);                                                          \
    for (; link < end && t->failed < 0; link++) {                                                  \
      KERNEL(rod_link)                                                                             \
      (x, t, &extremes, run->first + 4 * link, l, a + link * run->entry_step, run->entry,          \
       a[run->entry[12] + link * run->last_step], &carry, true);                                   \
      KERNEL(step_##none_one_or_two)(l, node, rod, b, b2, z);                                      \
      l += VINI_ROD_SIZE;                                                                          \
      node += run->node_step;                                                                      \
      rod += run->rod_step;                                                                        \
    }                                                                                              \
    KERNEL(rest_##none_one_or_two)(node, rod, b, b2, z);                                           \
    KERNEL(store_carry)(x, child, &carry);                                                         \
    KERNEL(merge)(t, &extremes);                                                                   \
  }

ROD_RUN(double, none)
ROD_RUN(double, one)
ROD_RUN(v2, two)
#undef ROD_RUN

/* What a link of a chain of point masses leaves: L of the node's columns in this rod's row and the next one's, of the
 * rod's column in the next; inverses of the pivots x, y, z, rod. */
typedef struct KERNEL(point) {
  double here[3], next[3], rod, inverse[4];
} KERNEL(point);

/* x, y, z do not know of each other, so that their eliminations overlap, and only the multiplier waits
 * for the link before. carry: update and magnitude. */
KERNEL_INLINE void KERNEL(point_link)(vini_fronts *x, vini_tally *t, const vin_int column,
                                      const double *a, const vin_int *e, const double last,
                                      double carry[2], KERNEL(point) * p) {
  double d = last, m_rod = fabs(d), cross = 0, update = 0, m_next = 0;
  VINI_UNROLL
  for (int k = 0; k < 3; k++) {
    const double mass = a[e[3 * k]], here = a[e[3 * k + 1]], next = a[e[3 * k + 2]];
    p->inverse[k] = KERNEL(take_pivot)(x, t, column + k, mass, fabs(mass));
    p->here[k] = here * p->inverse[k];
    p->next[k] = next * p->inverse[k];
    d -= here * p->here[k];
    m_rod += fabs(here * p->here[k]);
    cross -= next * p->here[k];
    update -= next * p->next[k];
    m_next += fabs(next * p->next[k]);
  }
  d += carry[0];
  p->inverse[3] = KERNEL(take_pivot)(x, t, column + 3, d, m_rod + carry[1]);
  p->rod = cross * p->inverse[3];
  carry[0] = update - cross * p->rod;
  carry[1] = m_next + fabs(cross * p->rod);
}

/* Where a front with a single row leaves its update and the magnitude. */
KERNEL_INLINE double *KERNEL(single_update)(const vini_fronts *x, const vini_front *front) {
  return x->buffer + front->square + (int64_t)(front->ld + 1) * front->pivots;
}

KERNEL_INLINE double *KERNEL(single_magnitude)(const vini_fronts *x, const vini_front *front) {
  return x->buffer + front->square + (int64_t)front->ld * front->ld + front->pivots;
}

KERNEL_INLINE void KERNEL(point_front)(vini_fronts *x, vini_tally *t, const vini_front *front,
                                       const double *a) {
  const vin_int *e = x->plan.source + front->entry;
  double carry[2] = {0, 0};
  if (front->child >= 0) {
    const vini_front *child = &x->plan.front[front->child];
    carry[0] = *KERNEL(single_update)(x, child);
    carry[1] = *KERNEL(single_magnitude)(x, child);
  }
  double *l = x->value + front->panel, *inverses = l + vini_front_column(4, 5);
  KERNEL(point) p;
  KERNEL(point_link)(x, t, front->first, a, e, a[e[9]], carry, &p);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 2 - k; i++) *l++ = 0; /* to the node's other coordinates */
    *l++ = p.here[k];
    *l++ = p.next[k];
  }
  *l = p.rod;
  for (int k = 0; k < 4; k++) inverses[k] = p.inverse[k];
  *KERNEL(single_update)(x, front) = carry[0];
  *KERNEL(single_magnitude)(x, front) = carry[1];
}

#include "linsys/ldlt_points_body.h"
