/* ldlt_levels_body - the arithmetic of ldlt_levels_kernel.c, included once for every instruction set.
 * KERNEL(name) gives the version's names, KERNEL_TARGET its function attribute. No include guard on
 * purpose.
 *
 * F holds the columns of a batch, unscaled (u = l d), row i of column j at f[i + j size], lanes together;
 * s the magnitudes that were added up to its diagonal. */

/* ---- assembly ------------------------------------------------------------------------------------- */

/* F and s += one child in each lane. */
KERNEL_INLINE void KERNEL(add_round)(const vini_levels *x, const vini_level_round *round,
                                     const int size, v4 *restrict f, v4 *restrict s) {
  const vini_level_relation *relation = &x->plan.relation[round->relation];
  const uint8_t *rel = relation->rel;
  const int rows = relation->rows;
  const double *u0 = x->buffer + round->update[0], *u1 = x->buffer + round->update[1];
  const double *u2 = x->buffer + round->update[2], *u3 = x->buffer + round->update[3];
  int e = 0;
  for (int j = 0; j < rows; j++) {
    v4 *column = f + rel[j] * size;
    for (int i = j; i < rows; i++, e += VINI_LEVEL_LANES)
      column[rel[i]] += (v4){u0[e], u1[e], u2[e], u3[e]};
  }
  for (int i = 0; i < rows; i++, e += VINI_LEVEL_LANES)
    s[rel[i]] += (v4){u0[e], u1[e], u2[e], u3[e]};
}

KERNEL_INLINE void KERNEL(assemble)(const vini_levels *x, const vini_level_batch *batch,
                                    const double *a, v4 *restrict f, v4 *restrict s) {
  const vini_level_kind *kind = &x->plan.kind[batch->kind];
  const int pivots = kind->pivots, size = pivots + kind->rows;
  const vin_int *source = x->plan.source + batch->source;
  for (int j = 0; j < size; j++)
    for (int i = j; i < size; i++) f[i + j * size] = (v4){0};
  for (int e = 0; e < kind->entries; e++, source += VINI_LEVEL_LANES)
    f[kind->place[e]] = (v4){a[source[0]], a[source[1]], a[source[2]], a[source[3]]};
  for (int k = 0; k < pivots; k++) s[k] = MAGNITUDE(f[k + k * size]);
  for (int k = pivots; k < size; k++) s[k] = (v4){0};
  for (vin_int r = batch->round; r < batch->round_end; r++)
    KERNEL(add_round)(x, x->plan.round + r, size, f, s);
}

/* ---- elimination ---------------------------------------------------------------------------------- */

/* *inverse := 1/d of pivot k in all lanes; good: lanes where none was weak. */
KERNEL_INLINE void KERNEL(take_pivot)(vini_levels *x, const vini_level_batch *batch, int k,
                                      const v4 *pivot, const v4 *magnitude, v4i *good, v4 *result) {
  const v4 d = *pivot, scale = *magnitude;
  const v4 size = MAGNITUDE(d), least = x->threshold * scale, inverse = 1 / d;
  const v4 tiny = (v4){0} + DBL_MIN, huge = (v4){0} + DBL_MAX;
  const vin_int position = batch->position + VINI_LEVEL_LANES * k;
  *good &= (size > least) & (size > tiny) & (size <= huge);
  *(v4 *)(x->inverse + position) = (v4)((v4i)inverse & in_use[batch->count]);
  *(v4 *)(x->scale + position) = scale;
  *result = inverse;
}

/* A thin column acts on what it touches at once. */
KERNEL_INLINE void KERNEL(eliminate_thin)(const vini_level_kind *kind, int k, const v4 *pivot,
                                          v4 *restrict f, v4 *restrict s, v4 *restrict l) {
  const int size = kind->pivots + kind->rows, begin = kind->begin[k], end = kind->end[k];
  const v4 *u = f + k * size, inverse = *pivot;
  for (int j = begin; j < end; j++) {
    const v4 lj = u[j] * inverse;
    l[j - begin] = lj;
    s[j] += MAGNITUDE(u[j] * lj);
    for (int i = j; i < end; i++) f[i + j * size] -= u[i] * lj;
  }
}

/* c[0 .. count - 1] -= sum over columns k .. end - 1 of u l_j, rows i .. i + count - 1 of them. */
KERNEL_INLINE void KERNEL(dots)(const v4 *restrict u, const v4 *restrict lj, int size, int k,
                                int end, v4 *restrict c, const int count) {
  v4 sum[6];
  VINI_UNROLL
  for (int t = 0; t < count; t++) sum[t] = c[t];
  for (u += k * size; k < end; k++, u += size) {
    const v4 l = lj[k];
    VINI_UNROLL
    for (int t = 0; t < count; t++) sum[t] -= u[t] * l;
  }
  VINI_UNROLL
  for (int t = 0; t < count; t++) c[t] = sum[t];
}

/* Column j takes what columns thin .. last - 1 have for it: lj (by columns) row j of L, c column j of F. */
KERNEL_INLINE void KERNEL(take_column)(const vini_level_kind *kind, int j, int last,
                                       const v4 *restrict lj, v4 *restrict f, v4 *restrict s) {
  const int size = kind->pivots + kind->rows;
  v4 *c = f + j * size;
  int k = kind->thin;
  while (k < last && kind->end[k] <= j) k++;
  v4 scale = s[j], d = c[j];
  for (int m = k; m < last; m++) {
    const v4 product = f[j + m * size] * lj[m];
    d -= product;
    scale += MAGNITUDE(product);
  }
  c[j] = d;
  s[j] = scale;
  int i = j + 1;
  while (i < size && k < last) { /* rows that the same columns reach */
    const int end = kind->end[k];
    for (; i + 6 <= end; i += 6) KERNEL(dots)(f + i, lj, size, k, last, c + i, 6);
    switch (end - i) {
    case 5:
      KERNEL(dots)(f + i, lj, size, k, last, c + i, 5);
      break;
    case 4:
      KERNEL(dots)(f + i, lj, size, k, last, c + i, 4);
      break;
    case 3:
      KERNEL(dots)(f + i, lj, size, k, last, c + i, 3);
      break;
    case 2:
      KERNEL(dots)(f + i, lj, size, k, last, c + i, 2);
      break;
    case 1:
      KERNEL(dots)(f + i, lj, size, k, last, c + i, 1);
      break;
    default:
      break;
    }
    i = end;
    while (k < last && kind->end[k] <= i) k++;
  }
}

/* Row j of L, by columns. */
KERNEL_INLINE void KERNEL(load_row)(const vini_level_kind *kind, int j, int last,
                                    const v4 *restrict l, v4 *restrict lj) {
  for (int k = kind->thin; k < last; k++)
    if (kind->end[k] > j) lj[k] = l[kind->number[k] + j - k - 1];
}

/* Members of a batch; false: a pivot is weak. */
KERNEL_TARGET static bool KERNEL(eliminate)(vini_levels *x, const vini_level_batch *batch,
                                            const double *a) {
  v4 f[VINI_LEVEL_SIZE * VINI_LEVEL_SIZE], s[VINI_LEVEL_SIZE], lj[VINI_LEVEL_PIVOTS], inverse;
  const vini_level_kind *kind = &x->plan.kind[batch->kind];
  const int pivots = kind->pivots, size = pivots + kind->rows;
  v4 *l = (v4 *)(void *)(x->value + batch->value);
  v4 *update = (v4 *)(void *)(x->buffer + batch->update);
  v4i good = {-1, -1, -1, -1};
  KERNEL(assemble)(x, batch, a, f, s);
  for (int k = 0; k < kind->thin; k++) {
    KERNEL(take_pivot)(x, batch, k, f + k + k * size, s + k, &good, &inverse);
    KERNEL(eliminate_thin)(kind, k, &inverse, f, s, l + kind->number[k]);
  }
  for (int j = kind->thin; j < pivots; j++) {
    KERNEL(load_row)(kind, j, j, l, lj);
    KERNEL(take_column)(kind, j, j, lj, f, s);
    KERNEL(take_pivot)(x, batch, j, f + j + j * size, s + j, &good, &inverse);
    v4 *column = l + kind->number[j] - j - 1;
    for (int i = j + 1; i < kind->end[j]; i++) column[i] = f[i + j * size] * inverse;
  }
  for (int j = pivots; j < size; j++) {
    KERNEL(load_row)(kind, j, pivots, l, lj);
    KERNEL(take_column)(kind, j, pivots, lj, f, s);
    for (int i = j; i < size; i++) *update++ = f[i + j * size];
  }
  for (int j = pivots; j < size; j++) *update++ = s[j];
  if (good[0] & good[1] & good[2] & good[3]) return true;
  for (int k = 0; k < pivots; k++) f[k] = f[k + k * size]; /* k + k size >= k: nothing is lost */
  note_failure(x, batch, f);
  return false;
}

/* ---- verdict -------------------------------------------------------------------------------------- */

/* |d|, cancellation and inertia of all pivots. */
KERNEL_TARGET static void KERNEL(survey)(vini_levels *x) {
  v4 least = (v4){0} + DBL_MAX, most = {0}, lost = {0};
  const v4 none = least;
  v4i negative = {0};
  for (vin_int k = 0; k < x->plan.positions; k += VINI_LEVEL_LANES) {
    const v4 inverse = *(const v4 *)(x->inverse + k), size = MAGNITUDE(inverse);
    const v4 ratio = *(const v4 *)(x->scale + k) * size;
    const v4i used = size > (v4){0};
    const v4 kept = (v4)(((v4i)size & used) | ((v4i)none & ~used));
    const v4i less = kept<least, more = size> most, worse = ratio > lost;
    least = (v4)(((v4i)kept & less) | ((v4i)least & ~less));
    most = (v4)(((v4i)size & more) | ((v4i)most & ~more));
    lost = (v4)(((v4i)ratio & worse) | ((v4i)lost & ~worse));
    negative += inverse < (v4){0};
  }
  double small = DBL_MAX, large = 0;
  x->cancellation = 0;
  x->negative = 0;
  for (int lane = 0; lane < VINI_LEVEL_LANES; lane++) {
    small = fmin(small, least[lane]);
    large = fmax(large, most[lane]);
    x->cancellation = fmax(x->cancellation, lost[lane]);
    x->negative -= (vin_int)negative[lane];
  }
  x->smallest = large > 0 ? 1 / large : 0;
  x->largest = large > 0 ? 1 / small : 0;
}

/* ---- substitution --------------------------------------------------------------------------------- */

KERNEL_INLINE void KERNEL(gather)(const double *b, const vin_int *index, v4 *v) {
  *v = (v4){b[index[0]], b[index[1]], b[index[2]], b[index[3]]};
}

KERNEL_INLINE void KERNEL(forward_for)(const vini_levels *x, const vini_level_batch *batch,
                                       double *const *b, const int rhs) {
  v4 y[2][VINI_LEVEL_SIZE];
  const vini_level_kind *kind = &x->plan.kind[batch->kind];
  const int pivots = kind->pivots, size = pivots + kind->rows, count = batch->count;
  const vin_int *index = x->plan.index + batch->index;
  const v4 *l = (const v4 *)(const void *)(x->value + batch->value);
  for (int r = 0; r < rhs; r++) {
    for (int k = 0; k < pivots; k++) KERNEL(gather)(b[r], index + VINI_LEVEL_LANES * k, &y[r][k]);
    for (int k = pivots; k < size; k++) y[r][k] = (v4){0};
  }
  for (int k = 0; k < pivots; k++) {
    for (int i = kind->begin[k]; i < kind->end[k]; i++, l++) {
      for (int r = 0; r < rhs; r++) y[r][i] -= *l * y[r][k];
    }
  }
  for (int r = 0; r < rhs; r++) {
    for (int k = 0; k < pivots; k++)
      vini_put_lanes(b[r], index + VINI_LEVEL_LANES * k, &y[r][k], count);
    for (int k = pivots; k < size; k++)
      vini_add_lanes(b[r], index + VINI_LEVEL_LANES * k, &y[r][k], count);
  }
}

KERNEL_INLINE void KERNEL(backward_for)(const vini_levels *x, const vini_level_batch *batch,
                                        double *const *b, const int rhs) {
  v4 y[2][VINI_LEVEL_SIZE];
  const vini_level_kind *kind = &x->plan.kind[batch->kind];
  const int pivots = kind->pivots, size = pivots + kind->rows, count = batch->count;
  const vin_int *index = x->plan.index + batch->index;
  const v4 *inverse = (const v4 *)(const void *)(x->inverse + batch->position);
  for (int r = 0; r < rhs; r++) {
    for (int k = 0; k < size; k++) KERNEL(gather)(b[r], index + VINI_LEVEL_LANES * k, &y[r][k]);
    for (int k = 0; k < pivots; k++) y[r][k] *= inverse[k];
  }
  for (int k = pivots - 1; k >= 0; k--) {
    const int begin = kind->begin[k], end = kind->end[k];
    const v4 *l = (const v4 *)(const void *)(x->value + batch->value) + kind->number[k];
    v4 sum[2] = {y[0][k], rhs > 1 ? y[1][k] : (v4){0}}, other[2] = {{0}};
    int i = begin;
    for (; i + 2 <= end; i += 2, l += 2) {
      for (int r = 0; r < rhs; r++) {
        sum[r] -= l[0] * y[r][i];
        other[r] -= l[1] * y[r][i + 1];
      }
    }
    for (int r = 0; r < rhs; r++) {
      if (i < end) sum[r] -= l[0] * y[r][i];
      y[r][k] = sum[r] + other[r];
    }
  }
  for (int r = 0; r < rhs; r++) {
    for (int k = 0; k < pivots; k++)
      vini_put_lanes(b[r], index + VINI_LEVEL_LANES * k, &y[r][k], count);
  }
}

KERNEL_TARGET static void KERNEL(forward)(const vini_levels *x, const vini_level_batch *batch,
                                          double *b, double *b2) {
  if (b2 != NULL) {
    KERNEL(forward_for)(x, batch, (double *const[]){b, b2}, 2);
  } else {
    KERNEL(forward_for)(x, batch, (double *const[]){b}, 1);
  }
}

KERNEL_TARGET static void KERNEL(backward)(const vini_levels *x, const vini_level_batch *batch,
                                           double *b, double *b2) {
  if (b2 != NULL) {
    KERNEL(backward_for)(x, batch, (double *const[]){b, b2}, 2);
  } else {
    KERNEL(backward_for)(x, batch, (double *const[]){b}, 1);
  }
}
