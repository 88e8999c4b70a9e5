/* ldlt_kernel_body - the arithmetic of ldlt_kernel.c, included once for every instruction set.
 * KERNEL(name) gives the version's names, KERNEL_TARGET its function attribute. No include guard on
 * purpose. */

/* d_k is inverted, dropped (0 is returned), or broken down (tally.failed). The rest of the verdict is
 * taken from all pivots together, in survey(). */
KERNEL_INLINE double KERNEL(take_pivot)(vini_fronts *x, vini_tally *t, vin_int column, double d,
                                        double scale) {
  const double size = fabs(d), least = x->threshold * scale;
  x->scale[column] = scale;
  if (__builtin_expect(!(size > (least > DBL_MIN ? least : DBL_MIN) && size <= DBL_MAX), 0)) {
    return x->inverse[column] = weak_pivot(x, t, column, d);
  }
  return x->inverse[column] = 1 / d;
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
  double *restrict s = f + (int64_t)ld * ld;
  KERNEL(assemble)(x, front, a, pivots, size, ld, f);
  for (int k = 0; k < pivots; k++) {
    const double *fk = f + (int64_t)k * ld;
    double *lk = l + vini_front_column(k, size); /* row i > k at i - k - 1 */
    const double inverse = KERNEL(take_pivot)(x, t, front->first + k, fk[k], s[k]);
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

/* Link of a chain of massive rods, four rows at a time. Entries are gathered straight into vectors and
 * the child's part was stored as vectors, so that nothing waits for the memory. What stands above the
 * diagonal is garbage that nobody reads. */
KERNEL_INLINE void KERNEL(rod_front)(vini_fronts *x, vini_tally *t, const vini_front *front,
                                     const double *a) {
  enum { LD = 8 };
  const v4i magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  const vin_int *e = x->plan.source + front->entry;
  const vini_front *child = &x->plan.front[front->child];
  const int64_t child_ld = child->ld;
  const double *u = x->buffer + child->square + (child_ld + 1) * child->pivots;
  double *restrict f = x->buffer + front->square, *restrict l = x->value + front->panel;
  v4 top[4] = {{a[e[0]], 0, 0, a[e[1]]}, /* rows 0..3: the pivots */
               {0, a[e[4]], 0, a[e[5]]},
               {0, 0, a[e[8]], a[e[9]]},
               {0, 0, 0, a[e[12]]}};
  v4 below[4] = {{a[e[2]], 0, 0, a[e[3]]}, {0, a[e[6]], 0, a[e[7]]}, {0, 0, a[e[10]], a[e[11]]}};
  v4 update[4] = {{0}}, l_top[4], l_below[4];
  v4 m_top = (v4)((v4i)(v4){top[0][0], top[1][1], top[2][2], top[3][3]} & magnitude);
  v4 m_below = {0};
  m_top += *(const v4 *)(x->buffer + child->square + child_ld * child_ld + child->pivots);
  VINI_UNROLL
  for (int j = 0; j < 4; j++) top[j] += *(const v4 *)(u + j * child_ld);
  VINI_UNROLL
  for (int k = 0; k < 4; k++) {
    const double inverse = KERNEL(take_pivot)(x, t, front->first + k, top[k][k], m_top[k]);
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
  VINI_UNROLL
  for (int k = 3; k >= 0;
       k--) { /* a vector's rows up to k fall on the column before, stored next */
    double *column = l + vini_front_column(k, 8) - k - 1;
    if (k < 3) *(v4 *)column = l_top[k];
    *(v4 *)(column + 4) = l_below[k];
  }
  VINI_UNROLL
  for (int j = 0; j < 4; j++) *(v4 *)(f + (4 + j) * LD + 4) = update[j];
  *(v4 *)(f + LD * LD + 4) = m_below;
}

/* Link of a chain of point masses: x, y, z do not know of each other, so that their eliminations
 * overlap, and only the multiplier waits for the link before. */
KERNEL_INLINE void KERNEL(point_front)(vini_fronts *x, vini_tally *t, const vini_front *front,
                                       const double *a) {
  enum { LD = 8 };
  const vin_int *e = x->plan.source + front->entry;
  double *restrict f = x->buffer + front->square, *restrict l = x->value + front->panel;
  double d = a[e[9]], m_rod = fabs(d), cross = 0, update = 0, m_next = 0;
  VINI_UNROLL
  for (int k = 0; k < 3; k++) {
    const double mass = a[e[3 * k]], here = a[e[3 * k + 1]], next = a[e[3 * k + 2]];
    const double inverse = KERNEL(take_pivot)(x, t, front->first + k, mass, fabs(mass));
    const double l_here = here * inverse, l_next = next * inverse;
    double *column = l + vini_front_column(k, 5);
    VINI_UNROLL
    for (int i = 0; i < 2 - k; i++) column[i] = 0; /* to the node's other coordinates */
    column[2 - k] = l_here;
    column[3 - k] = l_next;
    d -= here * l_here;
    m_rod += fabs(here * l_here);
    cross -= next * l_here;
    update -= next * l_next;
    m_next += fabs(next * l_next);
  }
  if (front->child >= 0) {
    const vini_front *child = &x->plan.front[front->child];
    const double *u = x->buffer + child->square;
    d += u[(int64_t)(child->ld + 1) * child->pivots];
    m_rod += u[(int64_t)child->ld * child->ld + child->pivots];
  }
  const double l_rod = cross * KERNEL(take_pivot)(x, t, front->first + 3, d, m_rod);
  l[9] = l_rod;
  f[4 * LD + 4] = update - cross * l_rod;
  f[LD * LD + 4] = m_next + fabs(cross * l_rod);
}

KERNEL_TARGET static bool KERNEL(eliminate)(vini_fronts *x, const double *a) {
  const vini_front_plan *plan = &x->plan;
  vini_tally t = x->tally;
  for (vin_int k = 0; k < plan->front_count; k++) {
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
    if (t.failed >= 0) break;
  }
  if (t.failed < 0) survey(x, &t);
  x->tally = t;
  return t.failed < 0;
}

/* ---- substitution: V is double (one right-hand side) or v2 (two at once) ------------------------ */

#define SUBSTITUTION(V, one_or_two)                                                                \
  KERNEL_INLINE void KERNEL(forward_##one_or_two)(                                                 \
      const double *restrict l, const vin_int *restrict row, V *restrict y, V *restrict own,       \
      const int nc, const int nr, V *restrict z) {                                                 \
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
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nr; i++) y[row[i]] -= z[i];                                                \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(backward_##one_or_two)(                                                \
      const double *restrict l, const double *restrict inverse, const vin_int *restrict row,       \
      const V *restrict y, V *restrict own, const int nc, const int nr, V *restrict z) {           \
    const int ld = nc + nr;                                                                        \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < nr; i++) z[i] = y[row[i]];                                                 \
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
  KERNEL_TARGET static void KERNEL(sweep_##one_or_two)(vini_fronts * x, V * y) {                   \
    const vini_front_plan *plan = &x->plan;                                                        \
    V *work = (V *)(void *)x->work;                                                                \
    for (vin_int k = 0; k < plan->front_count; k++) {                                              \
      const vini_front *f = &plan->front[k];                                                       \
      const double *l = x->value + f->panel;                                                       \
      const vin_int *row = plan->row + f->row;                                                     \
      V z[4], *own = y + f->first;                                                                 \
      if (f->pivots == 4 && f->rows == 4) {                                                        \
        KERNEL(forward_##one_or_two)(l, row, y, own, 4, 4, z);                                     \
      } else if (f->pivots == 4 && f->rows == 1) {                                                 \
        KERNEL(forward_##one_or_two)(l, row, y, own, 4, 1, z);                                     \
      } else {                                                                                     \
        KERNEL(forward_##one_or_two)(l, row, y, own, f->pivots, f->rows, work);                    \
      }                                                                                            \
    }                                                                                              \
    for (vin_int k = plan->front_count - 1; k >= 0; k--) {                                         \
      const vini_front *f = &plan->front[k];                                                       \
      const double *l = x->value + f->panel, *inverse = x->inverse + f->first;                     \
      const vin_int *row = plan->row + f->row;                                                     \
      V z[4], *own = y + f->first;                                                                 \
      if (f->pivots == 4 && f->rows == 4) {                                                        \
        KERNEL(backward_##one_or_two)(l, inverse, row, y, own, 4, 4, z);                           \
      } else if (f->pivots == 4 && f->rows == 1) {                                                 \
        KERNEL(backward_##one_or_two)(l, inverse, row, y, own, 4, 1, z);                           \
      } else {                                                                                     \
        KERNEL(backward_##one_or_two)(l, inverse, row, y, own, f->pivots, f->rows, work);          \
      }                                                                                            \
    }                                                                                              \
  }

SUBSTITUTION(double, one)
SUBSTITUTION(v2, two)
#undef SUBSTITUTION

KERNEL_TARGET static void KERNEL(substitute_one)(vini_fronts *x, double *b) {
  const vin_int n = x->plan.n, *order = x->plan.order;
  double *y = x->y;
  for (vin_int k = 0; k < n; k++) y[k] = b[order[k]];
  KERNEL(sweep_one)(x, y);
  for (vin_int k = 0; k < n; k++) b[order[k]] = y[k];
}

KERNEL_TARGET static void KERNEL(substitute_two)(vini_fronts *x, double *b, double *b2) {
  const vin_int n = x->plan.n, *order = x->plan.order;
  v2 *y = (v2 *)(void *)x->y;
  for (vin_int k = 0; k < n; k++) y[k] = (v2){b[order[k]], b2[order[k]]};
  KERNEL(sweep_two)(x, y);
  for (vin_int k = 0; k < n; k++) {
    b[order[k]] = y[k][0];
    b2[order[k]] = y[k][1];
  }
}
