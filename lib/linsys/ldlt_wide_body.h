/* ldlt_wide_body - the update of ldlt_wide.c, included once for every instruction set. KERNEL(name) gives the
 * version's names, KERNEL_TARGET its function attribute. No include guard on purpose.
 *
 * Twelve rows are copied side by side, so that they stay in the first cache while all columns of the target pass
 * by; twelve rows times four columns of sums are as many as the sixteen registers of AVX2 hold. */

/* Twelve rows of u, the ones beyond the end as zeros. */
KERNEL_INLINE void KERNEL(pack_rows)(const double *restrict u, vin_int ld, vin_int rows,
                                     vin_int width, double *restrict packed) {
  for (vin_int k = 0; k < width; k++, u += ld, packed += TILE_ROWS) {
    if (rows >= TILE_ROWS) {
      VINI_UNROLL
      for (int i = 0; i < TILE_ROWS; i += 4) *(v4 *)(packed + i) = *(const v4 *)(u + i);
    } else {
      for (int i = 0; i < TILE_ROWS; i++) packed[i] = i < rows ? u[i] : 0;
    }
  }
}

/* tile: columns of the sums */
KERNEL_INLINE void KERNEL(multiply)(const double *restrict u, const double *restrict l,
                                    vin_int width, v4 *restrict tile) {
  v4 sum[VINI_WIDE_COLUMNS][TILE_VECTORS];
  VINI_UNROLL
  for (int c = 0; c < VINI_WIDE_COLUMNS; c++) {
    VINI_UNROLL
    for (int v = 0; v < TILE_VECTORS; v++) sum[c][v] = (v4){0};
  }
  for (vin_int k = 0; k < width; k++, u += TILE_ROWS, l += VINI_WIDE_COLUMNS) {
    v4 row[TILE_VECTORS];
    VINI_UNROLL
    for (int v = 0; v < TILE_VECTORS; v++) row[v] = *(const v4 *)(u + 4 * v);
    VINI_UNROLL
    for (int c = 0; c < VINI_WIDE_COLUMNS; c++) {
      VINI_UNROLL
      for (int v = 0; v < TILE_VECTORS; v++) sum[c][v] += row[v] * l[c];
    }
  }
  VINI_UNROLL
  for (int c = 0; c < VINI_WIDE_COLUMNS; c++) {
    VINI_UNROLL
    for (int v = 0; v < TILE_VECTORS; v++) tile[c * TILE_VECTORS + v] = sum[c][v];
  }
}

/* One column of sums, from row i on, goes to its column of the target. */
KERNEL_INLINE void KERNEL(subtract)(double *restrict y, const vin_int *restrict storage,
                                    vin_int row, vin_int rows, vin_int skip, bool together,
                                    const double *restrict sum) {
  if (together && skip <= 0 && rows >= TILE_ROWS) {
    y += storage ? storage[row] : row;
    VINI_UNROLL
    for (int v = 0; v < TILE_VECTORS; v++) *(v4 *)(y + 4 * v) -= *(const v4 *)(sum + 4 * v);
    return;
  }
  const vin_int end = rows < TILE_ROWS ? rows : TILE_ROWS;
  for (vin_int i = skip > 0 ? skip : 0; i < end; i++) {
    y[storage ? storage[row + i] : row + i] -= sum[i];
  }
}

KERNEL_TARGET static void KERNEL(update)(const vini_wide_update *x) {
  double packed[TILE_ROWS * VINI_LDLT_MAX_WIDTH];
  v4 tile[VINI_WIDE_COLUMNS * TILE_VECTORS];
  for (vin_int i = 1; i < x->rows; i += TILE_ROWS) {
    const vin_int left = x->rows - i, last = i + (left < TILE_ROWS ? left : TILE_ROWS) - 1;
    const bool together = !x->storage || x->storage[last] - x->storage[i] == last - i;
    KERNEL(pack_rows)(x->u + i, x->ld, left, x->width, packed);
    for (vin_int j = 0; j < x->length && j < last; j += VINI_WIDE_COLUMNS) {
      KERNEL(multiply)(packed, x->l + (ptrdiff_t)j * x->width, x->width, tile);
      for (vin_int c = 0; c < VINI_WIDE_COLUMNS && j + c < x->length; c++) {
        double *y = x->y + (ptrdiff_t)(x->storage ? x->storage[j + c] : j + c) * x->ld_y;
        KERNEL(subtract)
        (y, x->storage, i, left, j + c + 1 - i, together,
         (const double *)(tile + (ptrdiff_t)c * TILE_VECTORS));
      }
    }
  }
}
