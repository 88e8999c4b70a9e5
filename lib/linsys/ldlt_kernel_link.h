/* ldlt_kernel_link - substitution in runs of massive rods, for ldlt_kernel.c. No include guard on purpose.
 *
 * A link stores the least that a solve must read, since long chains are as fast as the memory: 16 numbers, two
 * lines of the cache. With A = L D L' the pivots' part of its front and B the rows below,
 *     B = [ diag(c) 0 ; j' 0 ]     (next node, next rod; the rod's own multiplier stands in none of them),
 * it holds 1/D, W = L^-1 below its diagonal, c and j. L21 = B W' / D has 16 numbers and is not stored: it is
 * applied by its factors. Not A^-1 itself: the rods behind a link are a huge mass along it and nearly
 * none across, which the columns of W keep apart. */

/* Links of a run whose numbers are fetched ahead on the way back, where the hardware, which sees several
 * streams in two directions, comes late: 4 % of a step of 10^6 rods, nothing in the cache. */
#define AHEAD 24

/* V is double (one right-hand side) or v2 (two at once).
 *  down: own := L11^-1 own, z := L21 own;  up: own := L11^-T (D^-1 own - L21' z). z: x, y, z and the
 *        rod of the next link.
 *  step: one link down, in place in b, b2; z is what the link before has left.
 *  rest: the last z goes to the link behind a stretch that begins there. */
#define ROD_SUBSTITUTION(V, FMA, one_or_two)                                                       \
  /* t := W' t */                                                                                  \
  KERNEL_INLINE void KERNEL(rod_back_##one_or_two)(const double *w, V t[4]) {                      \
    t[0] = FMA(w[2], t[3], FMA(w[1], t[2], FMA(w[0], t[1], t[0])));                                \
    t[1] = FMA(w[4], t[3], FMA(w[3], t[2], t[1]));                                                 \
    t[2] = FMA(w[5], t[3], t[2]);                                                                  \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(rod_down_##one_or_two)(const double *restrict l, V own[4], V z[4]) {   \
    const double *w = l + VINI_ROD_W, *c = l + VINI_ROD_NODE, *j = l + VINI_ROD_NEXT;              \
    V t[4];                                                                                        \
    own[3] += FMA(w[5], own[2], FMA(w[4], own[1], w[2] * own[0]));                                 \
    own[2] = FMA(w[3], own[1], FMA(w[1], own[0], own[2]));                                         \
    own[1] = FMA(w[0], own[0], own[1]);                                                            \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 4; i++) t[i] = own[i] * l[VINI_ROD_INVERSE + i];                           \
    KERNEL(rod_back_##one_or_two)(w, t);                                                           \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) z[i] = c[i] * t[i];                                                \
    z[3] = FMA(j[0], t[0], FMA(j[1], t[1], j[2] * t[2]));                                          \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(rod_up_##one_or_two)(const double *restrict l, V own[4],               \
                                                 const V z[4]) {                                   \
    const double *w = l + VINI_ROD_W, *c = l + VINI_ROD_NODE, *j = l + VINI_ROD_NEXT;              \
    V g[3];                                                                                        \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) g[i] = FMA(j[i], z[3], c[i] * z[i]);                               \
    own[3] = FMA(w[2], -g[0], own[3]) - FMA(w[5], g[2], w[4] * g[1]);                              \
    own[2] = FMA(w[3], -g[1], FMA(w[1], -g[0], own[2] - g[2]));                                    \
    own[1] = FMA(w[0], -g[0], own[1] - g[1]);                                                      \
    own[0] -= g[0];                                                                                \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) own[i] *= l[VINI_ROD_INVERSE + i];                                 \
    own[3] = FMA(l[VINI_ROD_INVERSE + 3], own[3], (V){0}); /* of a dropped one 0, and not -0 */    \
    KERNEL(rod_back_##one_or_two)(w, own);                                                         \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(step_##one_or_two)(const double *l, int64_t node, int64_t rod,         \
                                               double *restrict b, double *restrict b2, V z[4]) {  \
    V own[4];                                                                                      \
    (void)b2;                                                                                      \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) own[i] = LOAD_##one_or_two(node + i) - z[i];                       \
    own[3] = LOAD_##one_or_two(rod) - z[3];                                                        \
    if (NONE_##one_or_two(own)) { /* nothing yet: L need not be read */                            \
      if (NONE_##one_or_two(z)) return;                                                            \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 4; i++) z[i] = (V){0};                                                   \
    } else {                                                                                       \
      KERNEL(rod_down_##one_or_two)(l, own, z);                                                    \
    }                                                                                              \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) STORE_##one_or_two(node + i, own[i]);                              \
    STORE_##one_or_two(rod, own[3]);                                                               \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(rest_##one_or_two)(int64_t node, int64_t rod, double *restrict b,      \
                                               double *restrict b2, const V z[4]) {                \
    (void)b2;                                                                                      \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) {                                                                  \
      STORE_##one_or_two(node + i, LOAD_##one_or_two(node + i) - z[i]);                            \
    }                                                                                              \
    STORE_##one_or_two(rod, LOAD_##one_or_two(rod) - z[3]);                                        \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(run_down_##one_or_two)(                                                \
      const vini_fronts *x, const vini_front_run *run, vin_int link, const vin_int end,            \
      double *restrict b, double *restrict b2) {                                                   \
    const double *l = x->value + run->panel + link * run->panel_step;                              \
    int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;       \
    V z[4] = {(V){0}, (V){0}, (V){0}, (V){0}};                                                     \
    for (; link < end; link++) {                                                                   \
      KERNEL(step_##one_or_two)(l, node, rod, b, b2, z);                                           \
      l += run->panel_step;                                                                        \
      node += run->node_step;                                                                      \
      rod += run->rod_step;                                                                        \
    }                                                                                              \
    KERNEL(rest_##one_or_two)(node, rod, b, b2, z);                                                \
  }                                                                                                \
  KERNEL_INLINE void KERNEL(run_up_##one_or_two)(const vini_fronts *x, const vini_front_run *run,  \
                                                 const vin_int begin, vin_int link,                \
                                                 double *restrict b, double *restrict b2) {        \
    const double *l = x->value + run->panel + link * run->panel_step;                              \
    int64_t node = run->node + link * run->node_step, rod = run->rod + link * run->rod_step;       \
    V own[4], z[4];                                                                                \
    (void)b2;                                                                                      \
    VINI_UNROLL                                                                                    \
    for (int i = 0; i < 3; i++) own[i] = LOAD_##one_or_two(node + i);                              \
    own[3] = LOAD_##one_or_two(rod);                                                               \
    while (link > begin) {                                                                         \
      link--;                                                                                      \
      l -= run->panel_step;                                                                        \
      node -= run->node_step;                                                                      \
      rod -= run->rod_step;                                                                        \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 4; i++) z[i] = own[i];                                                   \
      __builtin_prefetch(l - AHEAD * run->panel_step);                                             \
      __builtin_prefetch(l - AHEAD * run->panel_step + 8);                                         \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 3; i++) own[i] = LOAD_##one_or_two(node + i);                            \
      own[3] = LOAD_##one_or_two(rod);                                                             \
      KERNEL(rod_up_##one_or_two)(l, own, z);                                                      \
      VINI_UNROLL                                                                                  \
      for (int i = 0; i < 3; i++) STORE_##one_or_two(node + i, own[i]);                            \
      STORE_##one_or_two(rod, own[3]);                                                             \
    }                                                                                              \
  }

ROD_SUBSTITUTION(double, KERNEL(fma_one), one)
ROD_SUBSTITUTION(v2, KERNEL(fma_two), two)
#undef ROD_SUBSTITUTION
#undef AHEAD

/* no right-hand side */
KERNEL_INLINE void KERNEL(step_none)(const double *l, int64_t node, int64_t rod, double *b,
                                     double *b2, double z[4]) {
  (void)l, (void)node, (void)rod, (void)b, (void)b2, (void)z;
}

KERNEL_INLINE void KERNEL(rest_none)(int64_t node, int64_t rod, double *b, double *b2,
                                     const double z[4]) {
  (void)node, (void)rod, (void)b, (void)b2, (void)z;
}
