/* ldlt_points_solve - substitution in runs of point masses, part of ldlt_kernel_solve.h. No include guard
 * on purpose.
 *
 * Four links at a time, as they were eliminated (ldlt_points_body.h). Forward only multipliers change, and
 * each waits for the one before; the nodes follow on the way back, side by side. */

/* Groups whose numbers are fetched ahead on the way back, as AHEAD of ldlt_kernel_solve.h. */
#define GROUPS_AHEAD 4

/* b: the numbers of the first link's x; node, rod: steps. carry: what the link before takes from the
 * rod. */
KERNEL_INLINE void KERNEL(points_down)(const double *l, const double *b, const int64_t node,
                                       double *rod, const int64_t rod_step, double *carry) {
  v4 at[3], own = STRIDED(rod, rod_step), next = {0};
  KERNEL(pairs)(LINKS(b, node), at, at + 1);
  at[2] = STRIDED(b + 2, node);
  if (*carry == 0) { /* nothing yet: L need not be read */
    const v4i none = ((v4i)at[0] | (v4i)at[1] | (v4i)at[2] | (v4i)own) == 0;
    if (KERNEL(all)(&none)) return;
  }
  VINI_UNROLL
  for (int i = 0; i < 3; i++) {
    own -= *(const v4 *)(l + POINT_HERE + 4 * i) * at[i];
    next += *(const v4 *)(l + POINT_NEXT + 4 * i) * at[i];
  }
  own -= SHIFTED_UP(0, next);
  const double *l_rod = l + POINT_ROD;
  const double y0 = own[0] - *carry, y1 = own[1] - l_rod[0] * y0, y2 = own[2] - l_rod[1] * y1;
  const double y3 = own[3] - l_rod[2] * y2;
  rod[0] = y0;
  rod[rod_step] = y1;
  rod[2 * rod_step] = y2;
  rod[3 * rod_step] = y3;
  *carry = next[3] + l_rod[3] * y3;
}

/* last: the multiplier of the next link. */
KERNEL_INLINE void KERNEL(points_up)(const double *l, double *b, const int64_t node, double *rod,
                                     const int64_t rod_step, double *last) {
  const double *l_rod = l + POINT_ROD;
  const v4 y = STRIDED(rod, rod_step) * *(const v4 *)(l + POINT_INVERSE + 12);
  const double z3 = y[3] - l_rod[3] * *last, z2 = y[2] - l_rod[2] * z3;
  const double z1 = y[1] - l_rod[1] * z2, z0 = y[0] - l_rod[0] * z1;
  const v4 here = {z0, z1, z2, z3}, next = {z1, z2, z3, *last};
  v4 at[3];
  KERNEL(pairs)(LINKS(b, node), at, at + 1);
  at[2] = STRIDED(b + 2, node);
  VINI_UNROLL
  for (int i = 0; i < 3; i++) {
    at[i] *= *(const v4 *)(l + POINT_INVERSE + 4 * i);
    at[i] -= *(const v4 *)(l + POINT_HERE + 4 * i) * here;
    at[i] -= *(const v4 *)(l + POINT_NEXT + 4 * i) * next;
  }
  KERNEL(store_pairs)(LINKS(b, node), at, at + 1);
  SPREAD(b + 2, node, at[2]);
  rod[0] = z0;
  rod[rod_step] = z1;
  rod[2 * rod_step] = z2;
  rod[3 * rod_step] = z3;
  *last = z0;
}

KERNEL_TARGET static void KERNEL(point_run_down)(const vini_fronts *x, const vini_front_run *run,
                                                 vin_int link, const vin_int end, double *b,
                                                 double *b2) {
  double carry = 0, carry2 = 0;
  for (; link < end; link += POINT_LANES) {
    const double *l = vini_point_group(x, run, link);
    const int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;
    KERNEL(points_down)(l, b + node, run->node_step, b + rod, run->rod_step, &carry);
    if (b2 == NULL) continue;
    KERNEL(points_down)(l, b2 + node, run->node_step, b2 + rod, run->rod_step, &carry2);
  }
  b[run->rod + end * run->rod_step] -= carry;
  if (b2 != NULL) b2[run->rod + end * run->rod_step] -= carry2;
}

KERNEL_TARGET static void KERNEL(point_run_up)(const vini_fronts *x, const vini_front_run *run,
                                               const vin_int begin, vin_int link, double *b,
                                               double *b2) {
  double last = b[run->rod + link * run->rod_step];
  double last2 = b2 != NULL ? b2[run->rod + link * run->rod_step] : 0;
  while (link > begin) {
    link -= POINT_LANES;
    const double *l = vini_point_group(x, run, link);
    const int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;
    VINI_UNROLL
    for (int line = 0; line < POINT_GROUP / 8; line++) {
      __builtin_prefetch(l + 8 * line - GROUPS_AHEAD * POINT_GROUP);
    }
    KERNEL(points_up)(l, b + node, run->node_step, b + rod, run->rod_step, &last);
    if (b2 == NULL) continue;
    KERNEL(points_up)(l, b2 + node, run->node_step, b2 + rod, run->rod_step, &last2);
  }
}

#undef GROUPS_AHEAD
