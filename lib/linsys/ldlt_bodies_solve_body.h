/* ldlt_bodies_solve_body - the substitution of ldlt_bodies_body.h, included before ldlt_lanes_solve_body.h once
 * for every instruction set. What the forward pass makes of the pivots' right-hand sides waits in
 * x->forward for the backward pass. No include guard on purpose. */

/* v[k] := b at the unknowns of `count` pivots or rows. */
KERNEL_INLINE void KERNEL(gather)(const double *b, const vin_int *index, int count, v4 *v) {
  for (int k = 0; k < count; k++, index += VINI_LANES)
    v[k] = (v4){b[index[0]], b[index[1]], b[index[2]], b[index[3]]};
}

KERNEL_INLINE void KERNEL(gather_pivots)(const vini_batch *batch, const double *b,
                                         const vin_int *index, const int pivots, v4 *v) {
  if (!batch->pivot_run) {
    KERNEL(gather)(b, index, pivots, v);
    return;
  }
  const double *b0 = b + index[0], *b1 = b + index[1], *b2 = b + index[2], *b3 = b + index[3];
  int k = 0;
  for (; k + 4 <= pivots; k += 4) KERNEL(turn)(b0 + k, b1 + k, b2 + k, b3 + k, v + k);
  for (; k < pivots; k++) v[k] = (v4){b0[k], b1[k], b2[k], b3[k]};
}

KERNEL_INLINE void KERNEL(scatter_pivots)(const vini_batch *batch, double *b, const vin_int *index,
                                          const int pivots, const v4 *v) {
  int k = 0;
  if (batch->pivot_run) {
    double *b0 = b + index[0], *b1 = b + index[1], *b2 = b + index[2], *b3 = b + index[3];
    for (; k + 2 <= pivots; k += 2) {
      const v4 even = LOWERS(v[k], v[k + 1]), odd = UPPERS(v[k], v[k + 1]);
      *(v2 *)(b0 + k) = (v2){even[0], even[1]};
      *(v2 *)(b1 + k) = (v2){odd[0], odd[1]};
      *(v2 *)(b2 + k) = (v2){even[2], even[3]};
      *(v2 *)(b3 + k) = (v2){odd[2], odd[3]};
    }
  }
  for (; k < pivots; k++) vini_put_lanes(b, index + VINI_LANES * k, v + k, batch->count);
}

/* l: the coupled columns, y: their pivots. */
KERNEL_INLINE void KERNEL(forward_coupled)(const v4 *l, v4 *y, v4 *z, const int rows,
                                           const int coupled) {
  const v4 *lq[6];
  v4 own[6];
  VINI_UNROLL
  for (int q = 0; q < coupled; q++) own[q] = y[q];
  VINI_UNROLL
  for (int q = 0; q < coupled; q++) {
    VINI_UNROLL
    for (int i = q + 1; i < coupled; i++) own[i] -= l[i - q - 1] * own[q];
    lq[q] = l + coupled - 1 - q;
    l += coupled - 1 - q + rows;
    y[q] = own[q];
  }
  for (int i = 0; i < rows; i++) {
    v4 sum = z[i];
    VINI_UNROLL
    for (int q = 0; q < coupled; q++) sum -= lq[q][i] * own[q];
    z[i] = sum;
  }
}

KERNEL_INLINE void KERNEL(backward_coupled)(const v4 *l, v4 *y, const v4 *z, const int rows,
                                            const int coupled) {
  const v4 *lq[6];
  v4 own[6];
  VINI_UNROLL
  for (int q = 0; q < coupled; q++) {
    own[q] = y[q];
    lq[q] = l + coupled - 1 - q;
    l += coupled - 1 - q + rows;
  }
  for (int i = 0; i < rows; i++) {
    VINI_UNROLL
    for (int q = 0; q < coupled; q++) own[q] -= lq[q][i] * z[i];
  }
  VINI_UNROLL
  for (int q = coupled - 1; q >= 0; q--) {
    VINI_UNROLL
    for (int i = q + 1; i < coupled; i++) own[q] -= lq[q][i - coupled] * own[i];
    y[q] = own[q];
  }
}

KERNEL_INLINE void KERNEL(body_forward)(vini_lanes *x, const vini_batch *batch, double *const *b,
                                        const int rhs) {
  const vini_lane_plan *plan = &x->plan;
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  const int pivots = kind->pivots, rows = kind->rows, single = pivots - kind->coupled;
  const vin_int *index = plan->index + batch->index;
  const uint16_t *row = plan->code + kind->row, *column = plan->code + kind->column;
  const v4 *l = (const v4 *)(const void *)(x->value + batch->value);
  v4 *y = (v4 *)(void *)x->work, *z = y + pivots;
  for (int r = 0; r < rhs; r++) {
    KERNEL(gather_pivots)(batch, b[r], index, pivots, y);
    for (int i = 0; i < rows; i++) z[i] = (v4){0};
    for (int k = 0, e = 0; k < single; k++) {
      const v4 own = y[k];
      for (const int end = column[k + 1]; e < end; e++) AT(y, row[e]) -= l[e] * own;
    }
    const v4 *dense = l + column[single];
    switch (kind->coupled) {
    case 2:
      KERNEL(forward_coupled)(dense, y + single, z, rows, 2);
      break;
    case 3:
      KERNEL(forward_coupled)(dense, y + single, z, rows, 3);
      break;
    case 6:
      KERNEL(forward_coupled)(dense, y + single, z, rows, 6);
    }
    v4 *kept = (v4 *)(void *)(x->forward[r] + batch->position);
    for (int k = 0; k < pivots; k++) kept[k] = y[k];
    const vin_int *at = index + VINI_LANES * pivots;
    if (batch->count == VINI_LANES) {
      for (int i = 0; i < rows; i++, at += VINI_LANES) vini_add_lanes(b[r], at, z + i, VINI_LANES);
    } else {
      for (int i = 0; i < rows; i++, at += VINI_LANES)
        vini_add_lanes(b[r], at, z + i, batch->count);
    }
  }
}

KERNEL_INLINE void KERNEL(body_backward)(vini_lanes *x, const vini_batch *batch, double *const *b,
                                         const int rhs) {
  const vini_lane_plan *plan = &x->plan;
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  const int pivots = kind->pivots, rows = kind->rows, single = pivots - kind->coupled;
  const vin_int *index = plan->index + batch->index;
  const uint16_t *row = plan->code + kind->row, *column = plan->code + kind->column;
  const v4 *l = (const v4 *)(const void *)(x->value + batch->value);
  const v4 *inverse = (const v4 *)(const void *)(x->inverse + batch->position);
  v4 *y = (v4 *)(void *)x->work, *z = y + pivots;
  for (int r = 0; r < rhs; r++) {
    const v4 *kept = (const v4 *)(const void *)(x->forward[r] + batch->position);
    KERNEL(gather)(b[r], index + VINI_LANES * pivots, rows, z);
    for (int k = 0; k < pivots; k++) y[k] = kept[k] * inverse[k];
    const v4 *dense = l + column[single];
    switch (kind->coupled) {
    case 2:
      KERNEL(backward_coupled)(dense, y + single, z, rows, 2);
      break;
    case 3:
      KERNEL(backward_coupled)(dense, y + single, z, rows, 3);
      break;
    case 6:
      KERNEL(backward_coupled)(dense, y + single, z, rows, 6);
    }
    for (int k = single - 1; k >= 0; k--) {
      v4 sum = y[k];
      for (int e = column[k]; e < column[k + 1]; e++) sum -= l[e] * AT(y, row[e]);
      y[k] = sum;
    }
    KERNEL(scatter_pivots)(batch, b[r], index, pivots, y);
  }
}
