/* ldlt_bodies_body - elimination of the leaves that are bodies (ldlt_lanes.h), included before ldlt_lanes_body.h
 * once for every instruction set. No include guard on purpose. */

/* *result := 1/d of one pivot in all lanes; *good: none was weak. careful: weak ones are handled one by one. */
KERNEL_INLINE void KERNEL(batch_pivot)(vini_lanes *x, vini_lanes_tally *t, const vini_batch *batch,
                                       vin_int position, const v4 *pivot, const v4 *magnitude,
                                       v4i *good, v4 *result, const bool careful) {
  const v4 d = *pivot, scale = *magnitude, size = MAGNITUDE(d), least = x->threshold * scale;
  const v4 tiny = (v4){0} + DBL_MIN, huge = (v4){0} + DBL_MAX;
  v4i fine = (size > least) & (size > tiny) & (size <= huge);
  v4 inverse = 1 / d;
  if (careful) {
    for (vin_int lane = 0; lane < batch->count; lane++) {
      x->scale[position + lane] = scale[lane];
      if (!fine[lane]) inverse[lane] = weak_pivot(x, t, position + lane, d[lane]);
    }
  }
  *good &= fine;
  inverse = (v4)((v4i)inverse & in_use[batch->count]);
  *(v4 *)(x->inverse + position) = inverse;
  *(v4 *)(x->scale + position) = scale;
  *result = inverse;
}

/* Four numbers side by side of each lane, turned: w[i] := number i of all lanes. */
KERNEL_INLINE void KERNEL(turn)(const double *a0, const double *a1, const double *a2,
                                const double *a3, v4 *w) {
  const v2 *b0 = (const v2 *)a0, *b1 = (const v2 *)a1, *b2 = (const v2 *)a2, *b3 = (const v2 *)a3;
  const v4 even = JOINED(b0[0], b2[0]), odd = JOINED(b1[0], b3[0]);
  const v4 even2 = JOINED(b0[1], b2[1]), odd2 = JOINED(b1[1], b3[1]);
  w[0] = LOWERS(even, odd);
  w[1] = UPPERS(even, odd);
  w[2] = LOWERS(even2, odd2);
  w[3] = UPPERS(even2, odd2);
}

/* Diagonal and panel of a batch. */
KERNEL_INLINE void KERNEL(load_body)(const vini_lane_plan *plan, const vini_batch *batch,
                                     const double *a, v4 *w) {
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  const uint16_t *zero = plan->code + kind->zero, *zero_end = zero + kind->zeros;
  for (; zero < zero_end; zero++) AT(w, *zero) = (v4){0};
  const uint16_t *place = plan->code + batch->run;
  const vin_int *source = plan->source + batch->source;
  for (int runs = *place++; runs > 0; runs--, source += VINI_LANES) {
    const double *a0 = a + source[0], *a1 = a + source[1];
    const double *a2 = a + source[2], *a3 = a + source[3];
    const int count = *place++;
    int e = 0;
    for (; e + 4 <= count; e += 4, place += 4) {
      v4 turned[4];
      KERNEL(turn)(a0 + e, a1 + e, a2 + e, a3 + e, turned);
      AT(w, place[0]) = turned[0];
      AT(w, place[1]) = turned[1];
      AT(w, place[2]) = turned[2];
      AT(w, place[3]) = turned[3];
    }
    for (; e < count; e++) AT(w, *place++) = (v4){a0[e], a1[e], a2[e], a3[e]};
  }
}

/* A column with `count` numbers, up to 4, acts on what it meets; returns the end of its list of places. */
KERNEL_INLINE const uint16_t *KERNEL(body_column)(const uint16_t *target, const uint16_t *row,
                                                  v4 *w, v4 *s, const v4 *u, v4 *l, const v4 *pivot,
                                                  const int count) {
  const v4 inverse = *pivot;
  v4 own[4], li[4];
  VINI_UNROLL
  for (int i = 0; i < count; i++) {
    own[i] = u[i];
    l[i] = li[i] = own[i] * inverse;
  }
  VINI_UNROLL
  for (int i = 0; i < count; i++) {
    const v4 product = own[i] * li[i];
    AT(s, row[i]) += MAGNITUDE(product);
    AT(w, *target++) -= product;
    VINI_UNROLL
    for (int j = i + 1; j < count; j++) AT(w, *target++) -= own[j] * li[i];
  }
  return target;
}

/* The same for a column of any length. */
KERNEL_INLINE const uint16_t *KERNEL(long_column)(const uint16_t *target, const uint16_t *row,
                                                  v4 *w, v4 *s, const v4 *u, v4 *restrict l,
                                                  const v4 *pivot, const int count) {
  const v4 inverse = *pivot;
  for (int i = 0; i < count; i++) {
    const v4 li = u[i] * inverse, product = u[i] * li;
    l[i] = li;
    AT(s, row[i]) += MAGNITUDE(product);
    AT(w, *target++) -= product;
    for (int j = i + 1; j < count; j++) AT(w, *target++) -= u[j] * li;
  }
  return target;
}

/* The coupled columns of a body while they are eliminated: 1/d, and L within them by rows. */
typedef struct KERNEL(core) {
  v4 inverse[6], l[6][6];
} KERNEL(core);

/* d, s: their diagonals and magnitudes; u, l: their panel. */
KERNEL_INLINE void KERNEL(eliminate_core)(vini_lanes *x, vini_lanes_tally *t,
                                          const vini_batch *batch, vin_int position, v4 *d, v4 *s,
                                          const v4 *u, v4 *l, v4i *good, const bool careful,
                                          KERNEL(core) * core, const int rows, const int coupled) {
  v4 c[6][6];
  VINI_UNROLL
  for (int q = 0; q < coupled; q++) {
    VINI_UNROLL
    for (int i = q + 1; i < coupled; i++) c[q][i] = u[i - q - 1];
    u += coupled - 1 - q + rows;
  }
  VINI_UNROLL
  for (int q = 0; q < coupled; q++) {
    KERNEL(batch_pivot)
    (x, t, batch, position + VINI_LANES * q, d + q, s + q, good, &core->inverse[q], careful);
    VINI_UNROLL
    for (int j = q + 1; j < coupled; j++) {
      const v4 lj = c[q][j] * core->inverse[q], product = c[q][j] * lj;
      core->l[j][q] = l[j - q - 1] = lj;
      d[j] -= product;
      s[j] += MAGNITUDE(product);
      VINI_UNROLL
      for (int i = j + 1; i < coupled; i++) c[j][i] -= c[q][i] * lj;
    }
    l += coupled - 1 - q + rows;
  }
}

/* Rows of the coupled columns, and what they leave; both panels begin with the first of these columns. w, s: what
 * the columns before have left. */
KERNEL_INLINE void KERNEL(eliminate_rows)(const KERNEL(core) * core, v4 *restrict u, v4 *restrict l,
                                          const v4 *restrict w, const v4 *restrict s, v4 *update,
                                          const int rows, const int coupled) {
  v4 *uq[6], *lq[6], *magnitude = update + rows * (rows + 1) / 2;
  VINI_UNROLL
  for (int q = 0; q < coupled; q++) {
    const int begin = q * (coupled - 1 + rows) - q * (q - 1) / 2 + coupled - 1 - q;
    uq[q] = u + begin;
    lq[q] = l + begin;
  }
  for (int i = 0, to = 0; i < rows; to += rows - i, i++) {
    v4 c[6], left = w[to], sum = s[i];
    VINI_UNROLL
    for (int q = 0; q < coupled; q++) {
      c[q] = uq[q][i];
      VINI_UNROLL
      for (int k = 0; k < q; k++) c[q] -= c[k] * core->l[q][k];
      const v4 li = c[q] * core->inverse[q], product = c[q] * li;
      uq[q][i] = c[q];
      lq[q][i] = li;
      left -= product;
      sum += MAGNITUDE(product);
    }
    update[to] = left;
    magnitude[i] = sum;
  }
  for (int j = 0; j + 1 < rows; j++) {
    v4 lj[6];
    VINI_UNROLL
    for (int q = 0; q < coupled; q++) lj[q] = lq[q][j], uq[q]++;
    for (int i = 0; i < rows - 1 - j; i++) {
      v4 left = w[i + 1];
      VINI_UNROLL
      for (int q = 0; q < coupled; q++) left -= uq[q][i] * lj[q];
      update[i + 1] = left;
    }
    w += rows - j;
    update += rows - j;
  }
}

KERNEL_INLINE bool KERNEL(eliminate_body)(vini_lanes *x, vini_lanes_tally *t,
                                          const vini_batch *batch, const double *a,
                                          const bool careful, const int coupled) {
  const vini_lane_plan *plan = &x->plan;
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  const int pivots = kind->pivots, rows = kind->rows, single = pivots - coupled;
  const int left = rows * (rows + 1) / 2;
  v4 *w = (v4 *)(void *)x->work, *u = w + pivots, *update = u + kind->numbers, *s = update + left;
  v4 *l = (v4 *)(void *)(x->value + batch->value);
  v4 *buffer = (v4 *)(void *)(x->buffer + batch->update);
  v4i good = {-1, -1, -1, -1};
  KERNEL(load_body)(plan, batch, a, w);
  for (int i = 0; i < left + pivots + rows; i++) update[i] = (v4){0};
  for (int k = 0; k < pivots; k++) s[k] = MAGNITUDE(w[k]);
  const uint16_t *c = plan->code + kind->factor, *column = plan->code + kind->column;
  const uint16_t *row = plan->code + kind->row;
  for (int k = 0; k < single; k++) {
    v4 inverse;
    KERNEL(batch_pivot)
    (x, t, batch, batch->position + VINI_LANES * k, w + k, s + k, &good, &inverse, careful);
    const int e = column[k], count = column[k + 1] - e;
    switch (count) {
    case 1:
      c = KERNEL(body_column)(c, row + e, w, s, u + e, l + e, &inverse, 1);
      break;
    case 2:
      c = KERNEL(body_column)(c, row + e, w, s, u + e, l + e, &inverse, 2);
      break;
    case 3:
      c = KERNEL(body_column)(c, row + e, w, s, u + e, l + e, &inverse, 3);
      break;
    case 4:
      c = KERNEL(body_column)(c, row + e, w, s, u + e, l + e, &inverse, 4);
      break;
    default:
      c = KERNEL(long_column)(c, row + e, w, s, u + e, l + e, &inverse, count);
    }
  }
  if (coupled > 0) {
    KERNEL(core) core;
    const int e = column[single];
    KERNEL(eliminate_core)
    (x, t, batch, batch->position + VINI_LANES * single, w + single, s + single, u + e, l + e,
     &good, careful, &core, rows, coupled);
    KERNEL(eliminate_rows)(&core, u + e, l + e, update, s + pivots, buffer, rows, coupled);
  } else {
    for (int i = 0; i < left; i++) buffer[i] = update[i];
    for (int i = 0; i < rows; i++) buffer[left + i] = s[pivots + i];
  }
  return careful || (good[0] & good[1] & good[2] & good[3]);
}

KERNEL_INLINE bool KERNEL(body_of)(vini_lanes *x, vini_lanes_tally *t, const vini_batch *batch,
                                   const double *a, const bool careful) {
  switch (x->plan.kind[batch->kind].coupled) {
  case 0:
    return KERNEL(eliminate_body)(x, t, batch, a, careful, 0);
  case 2:
    return KERNEL(eliminate_body)(x, t, batch, a, careful, 2);
  case 3:
    return KERNEL(eliminate_body)(x, t, batch, a, careful, 3);
  default:
    return KERNEL(eliminate_body)(x, t, batch, a, careful, 6);
  }
}

/* false: a pivot is weak. */
KERNEL_APART bool KERNEL(body)(vini_lanes *x, vini_lanes_tally *t, const vini_batch *batch,
                               const double *a) {
  return KERNEL(body_of)(x, t, batch, a, false);
}

KERNEL_APART bool KERNEL(careful_body)(vini_lanes *x, vini_lanes_tally *t, const vini_batch *batch,
                                       const double *a) {
  return KERNEL(body_of)(x, t, batch, a, true);
}
