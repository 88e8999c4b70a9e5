/* ldlt_points_body - elimination of runs of point masses (theory 2.6), part of ldlt_kernel_body.h. No include guard on
 * purpose.
 *
 * Four links at a time, one in each lane: nodes do not know of each other, so that their eliminations go
 * side by side. What is left is the tridiagonal S = J M^-1 J', whose pivots wait for each other,
 *   d_k = s_k - c_(k-1) / d_(k-1).   (112)
 * Within four links the leading minors go on without a division, p_k = s_k p_(k-1) - c_(k-1) p_(k-2) (113), and
 * d_k = p_k / p_(k-1) are divided side by side. Rounding of p_k is as good as one of s_k and c_(k-1): the
 * ratios are, as the d_k of the recurrence are, pivots of a matrix that differs in its last bits. A group
 * in which anything is out of the ordinary (a mass that is not positive, a minor that is large or small,
 * a pivot near the threshold, a number that is none) goes the way of single links, which decides; with the plain
 * instruction set all do. */

#if KERNEL_FAST
/* Minors outside have terms that over- or underflow; the range is far from where a lost term counts. */
#define LEAST_MINOR 0x1p-332
#define MOST_MINOR 0x1p+332
/* 1/d of a mass is a normal number, and so are its products with an entry of J. */
#define LEAST_INVERSE 0x1p-500
#define MOST_INVERSE 0x1p+500

/* Entries of four links; in a K of its own a node's nine stand in a row, the rods in either order. */
KERNEL_INLINE void KERNEL(point_entries)(const double *a, const vini_front_run *run, v4 mass[3],
                                         v4 here[3], v4 next[3]) {
  const int64_t step = run->entry_step;
  const vin_int *e = run->entry;
  a += e[0];
  if (run->nodes == VINI_NODES_HERE_FIRST) {
    KERNEL(pairs)(LINKS(a, step), mass, here);
    KERNEL(pairs)(LINKS(a + 2, step), next, mass + 1);
    KERNEL(pairs)(LINKS(a + 4, step), here + 1, next + 1);
    KERNEL(pairs)(LINKS(a + 6, step), mass + 2, here + 2);
    next[2] = STRIDED(a + 8, step);
  } else if (run->nodes == VINI_NODES_NEXT_FIRST) {
    KERNEL(pairs)(LINKS(a, step), mass, next);
    KERNEL(pairs)(LINKS(a + 2, step), here, mass + 1);
    KERNEL(pairs)(LINKS(a + 4, step), next + 1, here + 1);
    KERNEL(pairs)(LINKS(a + 6, step), mass + 2, next + 2);
    here[2] = STRIDED(a + 8, step);
  } else {
    VINI_UNROLL
    for (int i = 0; i < 3; i++) {
      mass[i] = STRIDED(a + (e[3 * i] - e[0]), step);
      here[i] = STRIDED(a + (e[3 * i + 1] - e[0]), step);
      next[i] = STRIDED(a + (e[3 * i + 2] - e[0]), step);
    }
  }
}

/* One group, to l, where the carry of a run goes on. false: it must go the other way, what l holds is void. a
 * and last: the first link's entries. */
KERNEL_INLINE bool KERNEL(point_group)(double *restrict l, const double *a, const double *last,
                                       const vini_front_run *run, const double most_ratio,
                                       KERNEL(extremes) * e, double carry[2]) {
  const v4 zero = {0}, one = zero + 1;
  v4 sum = zero, cross = zero, next_sum = zero, mass[3], inverse[3], here[3], next[3];
  KERNEL(point_entries)(a, run, mass, here, next);
  const v4i alike = (mass[0] == mass[1]) & (mass[0] == mass[2]);
  inverse[0] = inverse[1] = inverse[2] = one / mass[0];
  v4 least = inverse[0], most = inverse[0];
  if (!KERNEL(all)(&alike)) {
    VINI_UNROLL
    for (int i = 1; i < 3; i++) {
      inverse[i] = one / mass[i];
      KERNEL(lower)(&least, inverse + i);
      KERNEL(raise)(&most, inverse + i);
    }
  }
  VINI_UNROLL
  for (int i = 0; i < 3; i++) {
    const v4 l_here = here[i] * inverse[i], l_next = next[i] * inverse[i];
    sum += here[i] * l_here;
    cross -= next[i] * l_here;
    next_sum += next[i] * l_next;
    *(v4 *)(l + POINT_HERE + 4 * i) = l_here;
    *(v4 *)(l + POINT_NEXT + 4 * i) = l_next;
    *(v4 *)(l + POINT_INVERSE + 4 * i) = inverse[i];
  }
  const v4 own = STRIDED(last, run->last_step), c = cross * cross;
  const v4 s = own - sum - SHIFTED_UP(0, next_sum);
  const double p0 = s[0] + carry[0], p1 = s[1] * p0 - c[0], p2 = s[2] * p1 - c[1] * p0;
  const double p3 = s[3] * p2 - c[2] * p1;
  const v4 minor = {p0, p1, p2, p3}, before = {1, p0, p1, p2};
  const v4 d_inverse = before / minor, l_rod = cross * d_inverse, gone = cross * l_rod;
  const v4 left = next_sum + MAGNITUDE(gone);
  const v4 scale = MAGNITUDE(own) + sum + SHIFTED_UP(carry[1], left);
  const v4 size = MAGNITUDE(minor), d_size = MAGNITUDE(d_inverse), ratio = scale * d_size;
  const v4i fine = (size >= LEAST_MINOR) & (size <= MOST_MINOR) & (ratio <= most_ratio) &
                   (least >= LEAST_INVERSE) & (most <= MOST_INVERSE);
  if (__builtin_expect(!KERNEL(all)(&fine), 0)) return false;
  KERNEL(lower)(&least, &d_size);
  KERNEL(raise)(&most, &d_size);
  KERNEL(lower)(&e->least, &least);
  KERNEL(raise)(&e->most, &most);
  KERNEL(raise)(&e->cancellation, &ratio);
  e->negative -= d_inverse < zero;
  *(v4 *)(l + POINT_ROD) = l_rod;
  *(v4 *)(l + POINT_INVERSE + 12) = d_inverse;
  carry[0] = -next_sum[3] - c[3] * (p2 / p3);
  carry[1] = left[3];
  return true;
}
#endif

/* A group link by link; t->failed is set where that breaks down. */
KERNEL_APART void KERNEL(single_links)(vini_fronts *x, vini_tally *t, double *restrict l,
                                       const double *a, const vini_front_run *run, vin_int link,
                                       double carry[2]) {
  for (int i = 0; i < POINT_LANES && t->failed < 0; i++, link++) {
    const vin_int column = run->first + 4 * link;
    KERNEL(point) p;
    KERNEL(point_link)
    (x, t, column, a + link * run->entry_step, run->entry, a[run->entry[9] + link * run->last_step],
     carry, &p);
    VINI_UNROLL
    for (int k = 0; k < 3; k++) {
      l[POINT_HERE + 4 * k + i] = p.here[k];
      l[POINT_NEXT + 4 * k + i] = p.next[k];
    }
    VINI_UNROLL
    for (int k = 0; k < 4; k++) l[POINT_INVERSE + 4 * k + i] = p.inverse[k];
    l[POINT_ROD + i] = p.rod;
  }
}

KERNEL_TARGET static void KERNEL(point_run)(vini_fronts *x, vini_tally *tally,
                                            const vini_front_run *run, vin_int link,
                                            const vin_int end, const double *a) {
  const vini_front *child = &x->plan.front[run->child];
  double carry[2] = {*KERNEL(single_update)(x, child), *KERNEL(single_magnitude)(x, child)};
  vini_tally t = *tally;
#if KERNEL_FAST
  const double most_ratio = 0.5 / vini_max(x->threshold, LEAST_MINOR);
  KERNEL(extremes) extremes = KERNEL(no_extremes);
#endif
  for (; link < end && t.failed < 0; link += POINT_LANES) {
    double *l = vini_point_group(x, run, link);
#if KERNEL_FAST
    const double *entries = a + link * run->entry_step;
    const double *last = a + run->entry[9] + link * run->last_step;
    if (KERNEL(point_group)(l, entries, last, run, most_ratio, &extremes, carry)) continue;
#endif
    double handed[2] = {carry[0], carry[1]}; /* carry has no address: it stays in registers */
    KERNEL(single_links)(x, &t, l, a, run, link, handed);
    carry[0] = handed[0];
    carry[1] = handed[1];
  }
#if KERNEL_FAST
  const KERNEL(extremes) found = extremes;
  KERNEL(merge)(&t, &found);
  t.cancellation = fmax(t.cancellation, 1); /* of the masses */
#endif
  *KERNEL(single_update)(x, child) = carry[0];
  *KERNEL(single_magnitude)(x, child) = carry[1];
  *tally = t;
}

#if KERNEL_FAST
#undef LEAST_MINOR
#undef MOST_MINOR
#undef LEAST_INVERSE
#undef MOST_INVERSE
#endif
