/* ldlt_lanes_body - the factorisation of ldlt_lanes_kernel.c, included once for every instruction set.
 * KERNEL(name) gives the version's names, KERNEL_TARGET its function attribute. No include guard on
 * purpose. */

/* ---- leaves --------------------------------------------------------------------------------------- */

/* target -= u l for a list of terms; returns what comes after it. */
KERNEL_INLINE const uint16_t *KERNEL(terms)(const uint16_t *c, const v4 *u, const v4 *l,
                                            v4 *target) {
  const uint16_t *end = c + 1 + 3 * c[0];
  for (c++; c < end; c += 3) target[c[0]] -= u[c[1]] * l[c[2]];
  return c;
}

/* target := - sum over `terms` pairs of u l, for `count` targets. */
KERNEL_INLINE const uint16_t *KERNEL(leaf_pairs)(const uint16_t *c, int count, const int terms,
                                                 const v4 *u, const v4 *l, v4 *target) {
  for (; count > 0; count--) {
    v4 sum = {0};
    VINI_UNROLL
    for (int k = 0; k < terms; k++) sum -= u[c[1 + 2 * k]] * l[c[2 + 2 * k]];
    target[c[0]] = sum;
    c += 1 + 2 * terms;
  }
  return c;
}

/* All groups up to the end, with constant numbers of terms for the common ones. */
KERNEL_INLINE const uint16_t *KERNEL(groups)(const uint16_t *c, const v4 *u, const v4 *l,
                                             v4 *target) {
  while (c[0] != VINI_GROUPS_END) {
    const int terms = c[0], count = c[1];
    c += 2;
    switch (terms) {
    case 0:
      c = KERNEL(leaf_pairs)(c, count, 0, u, l, target);
      break;
    case 1:
      c = KERNEL(leaf_pairs)(c, count, 1, u, l, target);
      break;
    case 2:
      c = KERNEL(leaf_pairs)(c, count, 2, u, l, target);
      break;
    case 3:
      c = KERNEL(leaf_pairs)(c, count, 3, u, l, target);
      break;
    case 4:
      c = KERNEL(leaf_pairs)(c, count, 4, u, l, target);
      break;
    case 5:
      c = KERNEL(leaf_pairs)(c, count, 5, u, l, target);
      break;
    case 6:
      c = KERNEL(leaf_pairs)(c, count, 6, u, l, target);
      break;
    default:
      c = KERNEL(leaf_pairs)(c, count, terms, u, l, target);
    }
  }
  return c + 1;
}

/* The larger (smaller) of each lane. */
KERNEL_INLINE void KERNEL(larger)(v4 *most, const v4 *x) {
  const v4i more = *x > *most;
  *most = (v4)(((v4i)*x & more) | ((v4i)*most & ~more));
}

KERNEL_INLINE void KERNEL(smaller)(v4 *least, const v4 *x) {
  const v4i less = *x < *least;
  *least = (v4)(((v4i)*x & less) | ((v4i)*least & ~less));
}

/* |d|, cancellation and inertia of all pivots that were kept (1/d is not 0). Behind the last position stand
 * zeros up to a multiple of eight. Two of each, so that a comparison need not wait for the one before. */
KERNEL_INLINE void KERNEL(survey)(const vini_lanes *x, vini_lanes_tally *t) {
  const v4 none = (v4){0} + DBL_MAX;
  v4 least[2] = {none, none}, most[2] = {{0}}, lost[2] = {{0}};
  v4i negative = {0};
  for (vin_int k = 0; k < x->plan.positions; k += 8) {
    VINI_UNROLL
    for (int h = 0; h < 2; h++) {
      const v4 inverse = *(const v4 *)(x->inverse + k + 4 * h), size = MAGNITUDE(inverse);
      const v4 ratio = *(const v4 *)(x->scale + k + 4 * h) * size;
      const v4i kept = size > (v4){0};
      const v4 size_kept = (v4)(((v4i)size & kept) | ((v4i)none & ~kept));
      KERNEL(smaller)(&least[h], &size_kept);
      KERNEL(larger)(&most[h], &size);
      KERNEL(larger)(&lost[h], &ratio);
      negative += inverse < (v4){0};
    }
  }
  KERNEL(smaller)(&least[0], &least[1]);
  KERNEL(larger)(&most[0], &most[1]);
  KERNEL(larger)(&lost[0], &lost[1]);
  double small = least[0][0], large = most[0][0], cancellation = lost[0][0];
  for (int lane = 0; lane < 4; lane++) {
    small = fmin(small, least[0][lane]);
    large = fmax(large, most[0][lane]);
    cancellation = fmax(cancellation, lost[0][lane]);
    t->negative -= (vin_int)negative[lane];
  }
  t->smallest = large > 0 ? 1 / large : 0;
  t->largest = large > 0 ? 1 / small : 0;
  t->cancellation = cancellation;
}

/* Eliminates the leaves of a batch; false: a pivot is weak and careful is not set. */
KERNEL_APART bool KERNEL(batch)(vini_lanes *x, vini_lanes_tally *t, const vini_batch *batch,
                                const double *a, const bool careful) {
  const vini_lane_plan *plan = &x->plan;
  const vini_leaf_kind *kind = &plan->kind[batch->kind];
  if (kind->body)
    return careful ? KERNEL(careful_body)(x, t, batch, a) : KERNEL(body)(x, t, batch, a);
  const int pivots = kind->pivots, rows = kind->rows;
  const uint16_t *entry = plan->code + kind->entry, *column = plan->code + kind->column;
  const uint16_t *row = plan->code + kind->row;
  const vin_int *source = plan->source + batch->source;
  const int size = pivots + rows, work = 2 * size + kind->numbers;
  v4 *d = (v4 *)(void *)x->work, *scale = d + size, *u = scale + size;
  v4 *l = (v4 *)(void *)(x->value + batch->value);
  v4 *update = (v4 *)(void *)(x->buffer + batch->update);
  v4i good = {-1, -1, -1, -1};
  for (int e = 0; e < work; e++) d[e] = (v4){0};
  for (int e = 0; e < kind->entries; e++, source += VINI_LANES) {
    d[entry[e]] = (v4){a[source[0]], a[source[1]], a[source[2]], a[source[3]]};
  }
  for (int k = 0; k < pivots; k++) scale[k] = MAGNITUDE(d[k]);
  const uint16_t *c = plan->code + kind->factor;
  for (int k = 0; k < pivots; k++) {
    const vin_int position = batch->position + VINI_LANES * k;
    v4 inverse;
    KERNEL(batch_pivot)(x, t, batch, position, d + k, scale + k, &good, &inverse, careful);
    for (int e = column[k]; e < column[k + 1]; e++) {
      const v4 entry_l = u[e] * inverse, product = u[e] * entry_l;
      l[e] = entry_l;
      d[row[e]] -= product;
      scale[row[e]] += MAGNITUDE(product);
    }
    c = KERNEL(terms)(c, u, l, u);
  }
  if (!careful && !(good[0] & good[1] & good[2] & good[3])) return false;
  KERNEL(groups)(c, u, l, update);
  v4 *magnitude = update + rows * (rows + 1) / 2;
  for (int i = 0, place = 0; i < rows; place += rows - i, i++) {
    update[place] = d[pivots + i];
    magnitude[i] = scale[pivots + i];
  }
  return true;
}

/* ---- fronts --------------------------------------------------------------------------------------- */

KERNEL_INLINE double KERNEL(front_pivot)(vini_lanes *x, vini_lanes_tally *t, vin_int position,
                                         double d, double scale) {
  const double size = fabs(d), least = x->threshold * scale;
  x->scale[position] = scale;
  if (__builtin_expect(!(size > (least > DBL_MIN ? least : DBL_MIN) && size <= DBL_MAX), 0)) {
    return x->inverse[position] = weak_pivot(x, t, position, d);
  }
  return x->inverse[position] = 1 / d;
}

/* Adds what a child leaves. */
KERNEL_INLINE void KERNEL(add_child)(double *restrict f, const int ld, double *restrict s,
                                     const double *restrict buffer, const vini_lane_child *child,
                                     const vin_int *restrict rel) {
  const double *u = buffer + child->update, *magnitude = buffer + child->scale;
  const int rows = child->rows;
  if (child->stride == 1) {
    for (int j = 0; j < rows; j++, u += child->ld) {
      double *column = f + (int64_t)rel[j] * ld;
      for (int i = j; i < rows; i++) column[rel[i]] += u[i];
      s[rel[j]] += magnitude[j];
    }
    return;
  }
  for (int j = 0; j < rows; j++) {
    double *column = f + (int64_t)rel[j] * ld;
    for (int i = j; i < rows; i++, u += VINI_LANES) column[rel[i]] += u[0];
    s[rel[j]] += magnitude[VINI_LANES * j];
  }
}

/* F and the magnitudes s behind it := the matrix's entries plus what the children leave. */
KERNEL_INLINE void KERNEL(assemble_front)(vini_lanes *x, const vini_lane_front *front,
                                          const double *a) {
  const vini_lane_plan *plan = &x->plan;
  const int pivots = front->pivots, below = front->below, rows = front->rows, ld = front->ld;
  double *f = x->buffer + front->square, *s = f + (int64_t)ld * ld;
  for (int j = 0; j < below + rows; j++) {
    if (j == pivots) j = below;
    for (int i = j & ~3; i < ld; i += 4) *(v4 *)(f + (int64_t)j * ld + i) = (v4){0};
  }
  for (int i = 0; i < ld; i += 4) *(v4 *)(s + i) = (v4){0};
  for (vin_int e = front->entry; e < front->entry_end; e++) {
    f[plan->front_place[e]] = a[plan->front_source[e]];
  }
  for (int k = 0; k < pivots; k++) s[k] = fabs(f[k + (int64_t)k * ld]);
  for (vin_int c = front->child; c < front->child_end; c++) {
    const vini_lane_child *child = &plan->child[c];
    KERNEL(add_child)(f, ld, s, x->buffer, child, plan->rel + child->rel);
  }
}

/* c -= l_0 u_0 + .. + l_(block-1) u_(block-1) for columns j and, when `two`, j + 1. */
KERNEL_INLINE void KERNEL(update_columns)(double *restrict f, const int ld,
                                          const double *restrict l, const int k, const int j,
                                          const int block, const bool two) {
  double *c = f + (int64_t)j * ld, *next = c + ld;
  double lj[4], ln[4];
  const double *u[4];
  VINI_UNROLL
  for (int m = 0; m < block; m++) {
    lj[m] = l[m * ld + j];
    ln[m] = two ? l[m * ld + j + 1] : 0;
    u[m] = f + (int64_t)(k + m) * ld;
  }
  for (int i = j & ~3; i < ld; i += 4) {
    v4 sum = *(v4 *)(c + i), sum_next = two ? *(v4 *)(next + i) : (v4){0};
    VINI_UNROLL
    for (int m = 0; m < block; m++) {
      const v4 um = *(const v4 *)(u[m] + i);
      sum -= lj[m] * um;
      if (two) sum_next -= ln[m] * um;
    }
    *(v4 *)(c + i) = sum;
    if (two) *(v4 *)(next + i) = sum_next;
  }
}

/* Columns first .. end - 1. */
KERNEL_INLINE void KERNEL(update_range)(double *f, const int ld, const double *l, const int k,
                                        int first, const int end, const int block) {
  for (; first + 2 <= end; first += 2) KERNEL(update_columns)(f, ld, l, k, first, block, true);
  if (first < end) KERNEL(update_columns)(f, ld, l, k, first, block, false);
}

/* Up to four pivots k .. k + block - 1, k a multiple of 4: within themselves, then in all columns
 * behind. What stands above the diagonal is garbage that nobody reads. */
KERNEL_INLINE void KERNEL(front_block)(vini_lanes *x, vini_lanes_tally *t,
                                       const vini_lane_front *front, const int k, const int block) {
  const int pivots = front->pivots, below = front->below, rows = front->rows, ld = front->ld;
  double *f = x->buffer + front->square, *s = f + (int64_t)ld * ld, *l = x->work;
  double *triangle = x->value + front->value;
  double *rectangle = triangle + vini_lane_rectangle(front);
  for (int m = 0; m < block; m++) {
    double *u = f + (int64_t)(k + m) * ld, *lm = l + m * ld;
    const double inverse = KERNEL(front_pivot)(x, t, front->position + k + m, u[k + m], s[k + m]);
    for (int i = k; i < ld; i += 4) {
      const v4 ui = *(const v4 *)(u + i), li = ui * inverse;
      *(v4 *)(lm + i) = li;
      *(v4 *)(s + i) += MAGNITUDE(ui * li);
    }
    double *column = triangle + vini_lane_column(k + m, pivots) - (k + m) - 1;
    for (int i = k + m + 1; i < k + 4 && i < pivots; i++) column[i] = lm[i];
    for (int i = k + 4; i < pivots; i += 4) *(v4 *)(column + i) = *(const v4 *)(lm + i);
    column = rectangle + (int64_t)(k + m) * rows;
    for (int i = 0; i < rows; i += 4) *(v4 *)(column + i) = *(const v4 *)(lm + below + i);
    for (int j = k + m + 1; j < k + block; j++) {
      double *c = f + (int64_t)j * ld;
      const double lj = lm[j];
      for (int i = k; i < ld; i += 4) *(v4 *)(c + i) -= lj * *(const v4 *)(u + i);
    }
  }
  KERNEL(update_range)(f, ld, l, k, k + 4, pivots, block);
  KERNEL(update_range)(f, ld, l, k, below, below + rows, block);
}

KERNEL_APART void KERNEL(front)(vini_lanes *x, vini_lanes_tally *t, const vini_lane_front *front,
                                const double *a) {
  KERNEL(assemble_front)(x, front, a);
  for (int k = 0; k < front->pivots; k += 4) {
    switch (front->pivots - k) {
    case 1:
      KERNEL(front_block)(x, t, front, k, 1);
      break;
    case 2:
      KERNEL(front_block)(x, t, front, k, 2);
      break;
    case 3:
      KERNEL(front_block)(x, t, front, k, 3);
      break;
    default:
      KERNEL(front_block)(x, t, front, k, 4);
    }
  }
}

/* Number (i, j) of what a leaf with `size` rows leaves, lanes together; 0 above the diagonal. i: a place in
 * a front with `pivots` pivots, all of whose columns are the leaf's rows. */
KERNEL_INLINE double KERNEL(of_leaf)(const double *u, const int i, const int j, const int pivots,
                                     const int below, const int size) {
  const int row = i < pivots ? i : i - below + pivots, column = j < pivots ? j : j - below + pivots;
  if (row < column || (i >= pivots && i < below) || row >= size) return 0;
  return u[VINI_LANES * (column * size - column * (column - 1) / 2 + row - column)];
}

/* A front of known size whose first child is a leaf that has all of its columns as rows, and whose second
 * child, if any, is a front with as many rows, its first pivots: a joint between two bodies of a chain. All
 * in local variables, c by columns, m the magnitudes: what waits for memory here waits in every link. */
KERNEL_INLINE void KERNEL(chain_assemble)(const vini_lanes *x, const vini_lane_front *front,
                                          const double *a, const int pivots, const int rows,
                                          v4 (*c)[4], v4 *m) {
  const int below = (pivots + 3) / 4 * 4, size = pivots + rows;
  const int top = below / 4, vectors = top + (rows + 3) / 4;
  const vini_lane_child *child = &x->plan.child[front->child];
  const double *u = x->buffer + child->update, *scale = x->buffer + child->scale;
  const vin_int *e = x->plan.front_source + front->entry;
  VINI_UNROLL
  for (int v = 0; v < vectors; v++) {
    VINI_UNROLL
    for (int i = 0; i < 4; i++) {
      const int place = 4 * v + i, row = place < pivots ? place : place - below + pivots;
      const bool none = (place >= pivots && place < below) || row >= size;
      m[v][i] = none ? 0 : scale[VINI_LANES * row];
    }
  }
  VINI_UNROLL
  for (int j = 0; j < pivots; j++) {
    VINI_UNROLL
    for (int v = j / 4; v < vectors; v++) {
      VINI_UNROLL
      for (int i = 0; i < 4; i++)
        c[j][v][i] = KERNEL(of_leaf)(u, 4 * v + i, j, pivots, below, size);
    }
    const double diagonal = a[e[j]];
    c[j][j / 4][j % 4] += diagonal;
    m[j / 4][j % 4] += fabs(diagonal);
  }
  if (front->child_end - front->child == 1) return;
  const double *before = x->buffer + child[1].update;
  VINI_UNROLL
  for (int v = 0; v < vectors - top; v++) {
    m[v] += *(const v4 *)(x->buffer + child[1].scale + 4 * v);
  }
  VINI_UNROLL
  for (int j = 0; j < rows; j++) {
    VINI_UNROLL
    for (int v = j / 4; v < vectors - top; v++) {
      c[j][v] += *(const v4 *)(before + j * child[1].ld + 4 * v);
    }
  }
}

/* Its rows' part, from the leaf's update and the finished columns. */
KERNEL_INLINE void KERNEL(chain_update)(vini_lanes *x, const vini_lane_front *front,
                                        const int pivots, const int rows, v4 (*c)[4], v4 (*l)[4],
                                        const v4 *m, const double inverse) {
  const int below = (pivots + 3) / 4 * 4, size = pivots + rows, ld = below + (rows + 3) / 4 * 4;
  const bool early = pivots <= EARLY_PIVOTS;
  const double *u = x->buffer + x->plan.child[front->child].update;
  double *restrict f = x->buffer + front->square;
  VINI_UNROLL
  for (int j = below; j < below + rows; j++) {
    VINI_UNROLL
    for (int v = j / 4; v < ld / 4; v++) {
      v4 sum;
      VINI_UNROLL
      for (int i = 0; i < 4; i++) sum[i] = KERNEL(of_leaf)(u, 4 * v + i, j, pivots, below, size);
      VINI_UNROLL
      for (int k = 0; k < pivots - early; k++) sum -= l[k][j / 4][j % 4] * c[k][v];
      if (early) sum -= c[pivots - 1][j / 4][j % 4] * c[pivots - 1][v] * inverse;
      *(v4 *)(f + j * ld + 4 * v) = sum;
    }
  }
  VINI_UNROLL
  for (int v = below / 4; v < ld / 4; v++) *(v4 *)(f + ld * ld + 4 * v) = m[v];
}

KERNEL_INLINE void KERNEL(chain_front)(vini_lanes *x, vini_lanes_tally *t,
                                       const vini_lane_front *front, const double *a,
                                       const int pivots, const int rows) {
  const int top = (pivots + 3) / 4, vectors = top + (rows + 3) / 4;
  const bool early = pivots <= EARLY_PIVOTS; /* u u' while 1/d is awaited */
  double *restrict triangle = x->value + front->value;
  double *restrict rectangle = triangle + pivots * (pivots - 1) / 2 + 4;
  v4 c[8][4], l[8][4], m[4];
  double inverse = 0;
  KERNEL(chain_assemble)(x, front, a, pivots, rows, c, m);
  VINI_UNROLL
  for (int k = 0; k < pivots; k++) {
    inverse = KERNEL(front_pivot)(x, t, front->position + k, c[k][k / 4][k % 4], m[k / 4][k % 4]);
    VINI_UNROLL
    for (int v = k / 4; v < vectors; v++) {
      l[k][v] = c[k][v] * inverse;
      m[v] += MAGNITUDE(c[k][v] * l[k][v]);
    }
    VINI_UNROLL
    for (int j = k + 1; j < pivots; j++) {
      VINI_UNROLL
      for (int v = j / 4; v < vectors; v++) {
        c[j][v] -= early ? c[k][j / 4][j % 4] * c[k][v] * inverse : l[k][j / 4][j % 4] * c[k][v];
      }
      triangle[k * (pivots - 1) - k * (k - 1) / 2 + j - k - 1] = l[k][j / 4][j % 4];
    }
    VINI_UNROLL
    for (int v = top; v < vectors; v++) {
      *(v4 *)(rectangle + k * rows + 4 * (v - top)) = l[k][v];
    }
  }
  KERNEL(chain_update)(x, front, pivots, rows, c, l, m, inverse);
}

KERNEL_APART void KERNEL(chain_front_3)(vini_lanes *x, vini_lanes_tally *t,
                                        const vini_lane_front *front, const double *a) {
  KERNEL(chain_front)(x, t, front, a, 3, 3);
}

KERNEL_APART void KERNEL(chain_front_5)(vini_lanes *x, vini_lanes_tally *t,
                                        const vini_lane_front *front, const double *a) {
  KERNEL(chain_front)(x, t, front, a, 5, 5);
}

KERNEL_APART void KERNEL(chain_front_4)(vini_lanes *x, vini_lanes_tally *t,
                                        const vini_lane_front *front, const double *a) {
  KERNEL(chain_front)(x, t, front, a, 4, 2);
}

KERNEL_TARGET static bool KERNEL(eliminate)(vini_lanes *x, const double *a) {
  const vini_lane_plan *plan = &x->plan;
  vini_lanes_tally t = x->tally;
  for (vin_int k = 0; k < plan->batch_count + plan->front_count && t.failed < 0; k++) {
    const vin_int step = plan->step[k];
    if (step >= 0) {
      const vini_lane_front *front = &plan->front[step];
      if (front->chain && front->pivots == 3 && front->rows == 3) {
        KERNEL(chain_front_3)(x, &t, front, a);
      } else if (front->chain && front->pivots == 5 && front->rows == 5) {
        KERNEL(chain_front_5)(x, &t, front, a);
      } else if (front->chain && front->pivots == 4 && front->rows == 2) {
        KERNEL(chain_front_4)(x, &t, front, a);
      } else {
        KERNEL(front)(x, &t, front, a);
      }
    } else if (!KERNEL(batch)(x, &t, &plan->batch[-1 - step], a, false)) {
      KERNEL(batch)(x, &t, &plan->batch[-1 - step], a, true);
    }
  }
  if (t.failed < 0) KERNEL(survey)(x, &t);
  x->tally = t;
  return t.failed < 0;
}
