/* ldlt_lanes_solve_body - the substitution of ldlt_lanes_kernel.c for one right-hand side or two, included
 * once for every instruction set like ldlt_lanes_body.h. No include guard on purpose. Each component sees the
 * same operations in the same order with one right-hand side as with two. */

KERNEL_INLINE void KERNEL(lanes_forward)(vini_lanes *x, const vini_batch *batch, double *const *b,
                                         const int rhs, const int count) {
  const vini_lane_plan *plan = &x->plan;
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  const int pivots = kind->pivots, size = pivots + kind->rows;
  const vin_int *index = plan->index + batch->index;
  const v4 *l = (const v4 *)(const void *)(x->value + batch->value);
  v4 *y = (v4 *)(void *)x->work; /* right-hand sides side by side */
  for (int k = 0; k < pivots; k++, index += VINI_LANES) {
    for (int r = 0; r < rhs; r++) {
      y[k * rhs + r] = (v4){b[r][index[0]], b[r][index[1]], b[r][index[2]], b[r][index[3]]};
    }
  }
  for (int k = pivots * rhs; k < size * rhs; k++) y[k] = (v4){0};
  const uint16_t *row = plan->code + kind->row, *column = plan->code + kind->forward;
  const int numbers = kind->numbers; /* one flat loop: its end is all that a processor must guess */
  for (int e = 0; e < numbers; e++) {
    for (int r = 0; r < rhs; r++) y[row[e] * rhs + r] -= l[e] * y[column[e] * rhs + r];
  }
  index = plan->index + batch->index;
  for (int k = 0; k < pivots; k++, index += VINI_LANES) {
    for (int r = 0; r < rhs; r++) vini_put_lanes(b[r], index, y + k * rhs + r, count);
  }
  for (int k = pivots; k < size; k++, index += VINI_LANES) {
    for (int r = 0; r < rhs; r++) vini_add_lanes(b[r], index, y + k * rhs + r, count);
  }
}

/* A batch with all lanes in use, as most are, does without the questions. */
KERNEL_APART void KERNEL(batch_forward)(vini_lanes *x, const vini_batch *batch, double *const *b,
                                        const int rhs) {
  if (x->plan.kind[batch->kind].body) {
    KERNEL(body_forward)(x, batch, b, rhs);
  } else if (batch->count == VINI_LANES) {
    KERNEL(lanes_forward)(x, batch, b, rhs, VINI_LANES);
  } else {
    KERNEL(lanes_forward)(x, batch, b, rhs, batch->count);
  }
}

KERNEL_INLINE void KERNEL(lanes_backward)(vini_lanes *x, const vini_batch *batch, double *const *b,
                                          const int rhs, const int count) {
  const vini_lane_plan *plan = &x->plan;
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  const int pivots = kind->pivots, size = pivots + kind->rows;
  const vin_int *index = plan->index + batch->index;
  const v4 *l = (const v4 *)(const void *)(x->value + batch->value);
  const v4 *inverse = (const v4 *)(const void *)(x->inverse + batch->position);
  v4 *y = (v4 *)(void *)x->work;
  for (int k = 0; k < size; k++, index += VINI_LANES) {
    for (int r = 0; r < rhs; r++) {
      y[k * rhs + r] = (v4){b[r][index[0]], b[r][index[1]], b[r][index[2]], b[r][index[3]]};
    }
  }
  for (int k = 0; k < pivots; k++) {
    for (int r = 0; r < rhs; r++) y[k * rhs + r] *= inverse[k];
  }
  const uint16_t *c = plan->code + kind->backward, *end = c + 3 * kind->numbers;
  for (; c < end; c += 3) {
    for (int r = 0; r < rhs; r++) y[c[1] * rhs + r] -= l[c[0]] * y[c[2] * rhs + r];
  }
  index = plan->index + batch->index;
  for (int k = 0; k < pivots; k++, index += VINI_LANES) {
    for (int r = 0; r < rhs; r++) vini_put_lanes(b[r], index, y + k * rhs + r, count);
  }
}

KERNEL_APART void KERNEL(batch_backward)(vini_lanes *x, const vini_batch *batch, double *const *b,
                                         const int rhs) {
  if (x->plan.kind[batch->kind].body) {
    KERNEL(body_backward)(x, batch, b, rhs);
  } else if (batch->count == VINI_LANES) {
    KERNEL(lanes_backward)(x, batch, b, rhs, VINI_LANES);
  } else {
    KERNEL(lanes_backward)(x, batch, b, rhs, batch->count);
  }
}

KERNEL_INLINE void KERNEL(front_forward)(vini_lanes *x, const vini_lane_front *front,
                                         double *const *b, const int rhs, const int pivots,
                                         const int rows, double *y) {
  const vin_int *index = x->plan.index + front->index;
  const double *triangle = x->value + front->value;
  const double *rectangle = triangle + vini_lane_rectangle(front);
  for (int r = 0; r < rhs; r++) {
    VINI_UNROLL
    for (int k = 0; k < pivots; k++) y[k] = b[r][index[k]];
    VINI_UNROLL
    for (int k = 0; k < pivots; k++) {
      const double *l = triangle + vini_lane_column(k, pivots) - k - 1;
      VINI_UNROLL
      for (int i = k + 1; i < pivots; i++) y[i] -= l[i] * y[k];
    }
    VINI_UNROLL
    for (int k = 0; k < pivots; k++) b[r][index[k]] = y[k];
    if (pivots + rows <= FEW_COLUMNS) { /* the next front waits for this */
      VINI_UNROLL
      for (int i = 0; i < rows; i++) {
        double left = b[r][index[pivots + i]];
        VINI_UNROLL
        for (int k = 0; k < pivots; k++) left -= rectangle[k * rows + i] * y[k];
        b[r][index[pivots + i]] = left;
      }
      continue;
    }
    double z[4];
    VINI_UNROLL
    for (int i = 0; i < rows; i += 4) {
      v4 sum = {0};
      VINI_UNROLL
      for (int k = 0; k < pivots; k++) sum += *(const v4 *)(rectangle + k * rows + i) * y[k];
      *(v4 *)z = sum;
      for (int j = 0; j < 4 && i + j < rows; j++) b[r][index[pivots + i + j]] -= z[j];
    }
  }
}

KERNEL_INLINE void KERNEL(front_backward)(vini_lanes *x, const vini_lane_front *front,
                                          double *const *b, const int rhs, const int pivots,
                                          const int rows, double *y, double *z) {
  const vin_int *index = x->plan.index + front->index;
  const double *triangle = x->value + front->value;
  const double *rectangle = triangle + vini_lane_rectangle(front);
  const double *inverse = x->inverse + front->position;
  for (int r = 0; r < rhs; r++) {
    VINI_UNROLL
    for (int i = 0; i < rows; i++) z[i] = b[r][index[pivots + i]];
    VINI_UNROLL
    for (int k = pivots - 1; k >= 0; k--) {
      const double *l = triangle + vini_lane_column(k, pivots) - k - 1;
      double even = b[r][index[k]] * inverse[k], odd = 0;
      int i = 0;
      VINI_UNROLL
      for (; i + 1 < rows; i += 2) {
        even -= rectangle[k * rows + i] * z[i];
        odd -= rectangle[k * rows + i + 1] * z[i + 1];
      }
      if (i < rows) even -= rectangle[k * rows + i] * z[i];
      even += odd;
      VINI_UNROLL
      for (int j = pivots - 1; j > k; j--) even -= l[j] * y[j];
      y[k] = even;
      b[r][index[k]] = even;
    }
  }
}

KERNEL_INLINE void KERNEL(sweep)(vini_lanes *x, double *const *b, const int rhs) {
  const vini_lane_plan *plan = &x->plan;
  const vin_int steps = plan->batch_count + plan->front_count;
  for (vin_int k = 0; k < steps; k++) {
    const vin_int step = plan->step[k];
    if (step < 0) {
      KERNEL(batch_forward)(x, &plan->batch[-1 - step], b, rhs);
    } else {
      const vini_lane_front *f = &plan->front[step];
      double y[8];
      if (f->pivots == 3 && f->rows == 3) {
        KERNEL(front_forward)(x, f, b, rhs, 3, 3, y);
      } else if (f->pivots == 5 && f->rows == 5) {
        KERNEL(front_forward)(x, f, b, rhs, 5, 5, y);
      } else if (f->pivots == 4 && f->rows == 2) {
        KERNEL(front_forward)(x, f, b, rhs, 4, 2, y);
      } else {
        KERNEL(front_forward)(x, f, b, rhs, f->pivots, f->rows, x->work);
      }
    }
  }
  for (vin_int k = steps - 1; k >= 0; k--) {
    const vin_int step = plan->step[k];
    if (step < 0) {
      KERNEL(batch_backward)(x, &plan->batch[-1 - step], b, rhs);
    } else {
      const vini_lane_front *f = &plan->front[step];
      double y[8], z[8];
      if (f->pivots == 3 && f->rows == 3) {
        KERNEL(front_backward)(x, f, b, rhs, 3, 3, y, z);
      } else if (f->pivots == 5 && f->rows == 5) {
        KERNEL(front_backward)(x, f, b, rhs, 5, 5, y, z);
      } else if (f->pivots == 4 && f->rows == 2) {
        KERNEL(front_backward)(x, f, b, rhs, 4, 2, y, z);
      } else {
        KERNEL(front_backward)(x, f, b, rhs, f->pivots, f->rows, x->work, x->work + f->below);
      }
    }
  }
}

KERNEL_TARGET static void KERNEL(substitute_one)(vini_lanes *x, double *b) {
  double *const columns[1] = {b};
  KERNEL(sweep)(x, columns, 1);
}

KERNEL_TARGET static void KERNEL(substitute_two)(vini_lanes *x, double *b, double *b2) {
  double *const columns[2] = {b, b2};
  KERNEL(sweep)(x, columns, 2);
}
