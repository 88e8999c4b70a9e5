/* check_body - the arithmetic of check.c, included once for every instruction set. No include guard on
 * purpose. */

/* (r, s) of the lanes in use added to the pairs at `place` (a multiple of 2); lanes may share one. */
KERNEL_INLINE void KERNEL(add_pairs)(double *pair, const uint32_t *place, const v4 *r, const v4 *s,
                                     const int count) {
  const v4 even = INTERLEAVE(*r, *s, 0), odd = INTERLEAVE(*r, *s, 1);
  *(v2 *)(pair + place[0]) += LOWER(even);
  if (count > 1) *(v2 *)(pair + place[1]) += LOWER(odd);
  if (count > 2) *(v2 *)(pair + place[2]) += UPPER(even);
  if (count > 3) *(v2 *)(pair + place[3]) += UPPER(odd);
}

/* The other rows of a group to their pairs. */
KERNEL_INLINE void KERNEL(add_rows)(double *pair, const uint32_t *place, const cell *c,
                                    const int rows, const int count) {
  VINI_UNROLL_FEW
  for (int i = 0; i < rows; i++, place += VINI_CHECK_LANES) {
    KERNEL(add_pairs)(pair, place, &c[i].r, &c[i].s, count);
  }
}

/* Brings *worst, in all lanes, up to the worst of `rows` rows, which are `step` vectors apart. Seldom called: with
 * all lanes alike there are the fewer records to beat. */
KERNEL_APART void KERNEL(take)(const v4 *r, const v4 *s, int rows, int step, v4 *worst) {
  double most = (*worst)[0];
  for (int k = 0; k < rows; k++, r += step, s += step) {
    for (int lane = 0; lane < VINI_CHECK_LANES; lane++) {
      vini_check_row((*r)[lane], (*s)[lane], &most);
    }
  }
  *worst = (v4){most, most, most, most};
}

/* Brings *worst, in all lanes, up to the worst row. */
KERNEL_INLINE void KERNEL(judge)(const cell *own, const int width, v4 *worst) {
  v4i fine = {-1, -1, -1, -1};
  VINI_UNROLL_FEW
  for (int k = 0; k < width; k++) {
    const v4 error = MAGNITUDE(own[k].r);
    fine &= (error <= *worst * own[k].s) & (error <= (v4){0} + DBL_MAX);
  }
  if (__builtin_expect((fine[0] & fine[1] & fine[2] & fine[3]) != 0, 1)) return;
  KERNEL(take)(&own->r, &own->s, width, sizeof *own / sizeof own->r, worst);
}

/* Unknowns and right-hand sides of the blocks' own columns; the other rows begin with (0, 0). */
KERNEL_INLINE void KERNEL(load)(const vini_check_group *group, const uint32_t *place,
                                const double *f, const double *x, const bool apart, cell *c,
                                const int width, const int rows) {
  const vin_int *at = group->column;
  VINI_UNROLL_FEW
  for (int k = 0; k < width; k++) {
    c[k].z = (v4){x[at[0] + k], x[at[1] + k], x[at[2] + k], x[at[3] + k]};
    c[k].size = MAGNITUDE(c[k].z);
    c[k].r = apart ? (v4){f[at[0] + k], f[at[1] + k], f[at[2] + k], f[at[3] + k]} : (v4){0};
    c[k].s = MAGNITUDE(c[k].r);
  }
  VINI_UNROLL_FEW
  for (int i = width; i < width + rows; i++, place += VINI_CHECK_LANES) {
    c[i].z = (v4){x[place[0] / 2], x[place[1] / 2], x[place[2] / 2], x[place[3] / 2]};
    c[i].size = MAGNITUDE(c[i].z);
    c[i].r = c[i].s = (v4){0};
  }
}

/* r -= K z, s += |K| |z|. code: cells of the entries below each diagonal, as distances in bytes. */
KERNEL_INLINE void KERNEL(multiply)(const vini_check_group *group, const double *value,
                                    const uint16_t *code, cell *c, const int width) {
  const double *a0 = value + group->entry[0], *a1 = value + group->entry[1];
  const double *a2 = value + group->entry[2], *a3 = value + group->entry[3];
  int e = 0;
  for (int k = 0; k < width; k++) {
    const v4 z = c[k].z, size = c[k].size, diagonal = {a0[e], a1[e], a2[e], a3[e]};
    v4 dot = c[k].r - diagonal * z, sum = c[k].s + MAGNITUDE(diagonal) * size;
    const uint16_t *end = code + 1 + code[0];
    for (code++, e++; code < end; code++, e++) {
      cell *other = (cell *)(void *)((char *)c + code[0]);
      const v4 a = {a0[e], a1[e], a2[e], a3[e]}, magnitude = MAGNITUDE(a);
      other->r -= a * z;
      other->s += magnitude * size;
      dot -= a * other->z;
      sum += magnitude * other->size;
    }
    c[k].r = dot;
    c[k].s = sum;
  }
}

/* The same for blocks whose columns know nothing of each other and reach all rows: points. */
KERNEL_INLINE void KERNEL(multiply_point)(const vini_check_group *group, const double *value,
                                          cell *c, const int width, const int rows) {
  const double *a0 = value + group->entry[0], *a1 = value + group->entry[1];
  const double *a2 = value + group->entry[2], *a3 = value + group->entry[3];
  VINI_UNROLL_FEW
  for (int k = 0; k < width; k++) {
    VINI_UNROLL_FEW
    for (int i = 0; i <= rows; i++) {
      const int e = k * (rows + 1) + i;
      const v4 a = {a0[e], a1[e], a2[e], a3[e]}, magnitude = MAGNITUDE(a);
      cell *other = i == 0 ? c + k : c + width + i - 1;
      c[k].r -= a * other->z;
      c[k].s += magnitude * other->size;
      if (i == 0) continue;
      other->r -= a * c[k].z;
      other->s += magnitude * c[k].size;
    }
  }
}

/* code: NULL for points. */
KERNEL_INLINE void KERNEL(group)(const vini_check *check, const vini_check_group *group,
                                 const uint16_t *code, const double *value, const double *f,
                                 const double *x, double *pair, v4 *worst, cell *c, const int width,
                                 const int rows) {
  const uint32_t *place = check->place + group->place;
  const int count = group->count;
  const bool apart = check->apart;
  KERNEL(load)(group, place, f, x, apart, c, width, rows);
  if (code != NULL) {
    KERNEL(multiply)(group, value, code, c, width);
  } else {
    KERNEL(multiply_point)(group, value, c, width, rows);
  }
  if (count == VINI_CHECK_LANES) {
    KERNEL(add_rows)(pair, place, c + width, rows, VINI_CHECK_LANES);
  } else {
    KERNEL(add_rows)(pair, place, c + width, rows, count);
  }
  if (apart) {
    KERNEL(judge)(c, width, worst);
    return;
  }
  for (int k = 0; k < width; k++) {
    uint32_t own[VINI_CHECK_LANES];
    for (int lane = 0; lane < VINI_CHECK_LANES; lane++) {
      own[lane] = 2 * ((uint32_t)group->column[lane] + (uint32_t)k);
    }
    KERNEL(add_pairs)(pair, own, &c[k].r, &c[k].s, count);
  }
}

/* Numbers of the lanes' own columns. */
KERNEL_INLINE void KERNEL(own)(const vin_int *at, const double *x, v4 *own, const int width) {
  const double *a = x + at[0], *b = x + at[1], *c = x + at[2], *d = x + at[3];
  int k = 0;
  VINI_UNROLL_FEW
  for (; k + 1 < width; k += 2) KERNEL(pairs)(a + k, b + k, c + k, d + k, own + k, own + k + 1);
  if (k < width) own[k] = (v4){a[k], b[k], c[k], d[k]};
}

/* Entries of points: the columns one behind the other. */
KERNEL_INLINE void KERNEL(point_entries)(const vini_check_group *group, const double *value, v4 *a,
                                         const int count) {
  const double *a0 = value + group->entry[0], *a1 = value + group->entry[1];
  const double *a2 = value + group->entry[2], *a3 = value + group->entry[3];
  int e = 0;
  VINI_UNROLL_POINT
  for (; e + 1 < count; e += 2) KERNEL(pairs)(a0 + e, a1 + e, a2 + e, a3 + e, a + e, a + e + 1);
  if (e < count) a[e] = (v4){a0[e], a1[e], a2[e], a3[e]};
}

/* Four points of a chain: what the second row of a lane gets belongs to the first of the next, and in
 * memory these rows follow each other. carry: of the group before to the first row, and of this one to the
 * row behind the last. */
KERNEL_INLINE void KERNEL(chain_group)(const vini_check_group *group, const double *value,
                                       const double *f, const double *x, const double *lambda,
                                       double *pair, v2 *carry, v4 *worst) {
  const v4 zero = {0}, here = *(const v4 *)lambda, next = *(const v4 *)(lambda + 1);
  const v4 here_size = MAGNITUDE(here), next_size = MAGNITUDE(next);
  v4 z[3], right[3], a[9], r = zero, s = zero, next_r = zero, next_s = zero;
  KERNEL(own)(group->column, x, z, 3);
  KERNEL(own)(group->column, f, right, 3);
  KERNEL(point_entries)(group, value, a, 9);
  v4i fine = {-1, -1, -1, -1};
  v4 error[3], scale[3];
  VINI_UNROLL_FEW
  for (int k = 0; k < 3; k++) {
    const v4 mass = a[3 * k], to_here = a[3 * k + 1], to_next = a[3 * k + 2];
    const v4 size = MAGNITUDE(z[k]), here_part = MAGNITUDE(to_here), next_part = MAGNITUDE(to_next);
    error[k] = right[k] - mass * z[k] - to_here * here - to_next * next;
    scale[k] = MAGNITUDE(right[k]) + MAGNITUDE(mass) * size + here_part * here_size +
               next_part * next_size;
    r -= to_here * z[k];
    s += here_part * size;
    next_r -= to_next * z[k];
    next_s += next_part * size;
    const v4 wrong = MAGNITUDE(error[k]);
    fine &= (wrong <= *worst * scale[k]) & (wrong <= zero + DBL_MAX);
  }
  r += SHIFTED_UP((*carry)[0], next_r);
  s += SHIFTED_UP((*carry)[1], next_s);
  *carry = (v2){next_r[3], next_s[3]};
  *(v4 *)pair += ZIP(r, s, 0);
  *(v4 *)(pair + 4) += ZIP(r, s, 2);
  if (__builtin_expect((fine[0] & fine[1] & fine[2] & fine[3]) != 0, 1)) return;
  const v4 wrong[3] = {error[0], error[1], error[2]}, terms[3] = {scale[0], scale[1], scale[2]};
  v4 most = *worst; /* copies: the others are to stay in registers */
  KERNEL(take)(wrong, terms, 3, 1, &most);
  *worst = most;
}

/* Groups of chains from g on; returns the first other one. */
KERNEL_APART vin_int KERNEL(chain)(const vini_check *check, vin_int g, const double *value,
                                   const double *f, const double *x, double *pair, v4 *worst) {
  v4 most = *worst;
  v2 carry = {0, 0};
  uint32_t row = check->place[check->group[g].place]; /* of its pair */
  for (; g < check->group_count && check->group[g].chain; g++, row += 2 * VINI_CHECK_LANES) {
    const vini_check_group *group = &check->group[g];
    const uint32_t first = check->place[group->place];
    if (first != row) { /* another chain */
      *(v2 *)(pair + row) += carry;
      carry = (v2){0, 0};
      row = first;
    }
    KERNEL(chain_group)(group, value, f, x, x + row / 2, pair + row, &carry, &most);
  }
  *(v2 *)(pair + row) += carry;
  *worst = most;
  return g;
}

KERNEL_TARGET static void KERNEL(groups)(const vini_check *check, const vin_sparse *k,
                                         const double *f, const double *z, double *pair,
                                         double *worst) {
  const double *value = k->value;
  v4 most = (v4){0} + *worst; /* all lanes alike */
  for (vin_int g = 0; g < check->group_count; g++) {
    const vini_check_group *group = &check->group[g];
    if (group->chain) {
      g = KERNEL(chain)(check, g, value, f, z, pair, &most) - 1;
      continue;
    }
    if (group->kind < 0) {
      most = (v4){0} + loose_columns(check, group, k, f, z, pair, most[0]);
      continue;
    }
    const vini_check_kind *kind = &check->kind[group->kind];
    cell c[5];
    switch (kind->point ? kind->rows : 0) {
    case 1:
      KERNEL(group)(check, group, NULL, value, f, z, pair, &most, c, 3, 1);
      break;
    case 2:
      KERNEL(group)(check, group, NULL, value, f, z, pair, &most, c, 3, 2);
      break;
    default:
      KERNEL(group)
      (check, group, check->code + kind->code, value, f, z, pair, &most,
       (cell *)(void *)check->work, kind->width, kind->rows);
    }
  }
  *worst = most[0];
}
