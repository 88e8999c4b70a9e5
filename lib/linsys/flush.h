/* flush - arithmetic without subnormal numbers for the length of a factorisation or substitution.
 *
 * Along a free chain of massive rods the multipliers fall by 0.27 from link to link, and after 540
 * links they are subnormal, where a multiplication costs a hundred times as much (measured: a step of
 * 600 rods took 157 ns a link instead of 114). They are far below rounding, so they become zero. The
 * thread's own settings are put back at the end. */
#ifndef VINI_FLUSH_H
#define VINI_FLUSH_H

#if defined(__SSE2__)
#include <xmmintrin.h>

#define VINI_FLUSH_BITS 0x8040u /* flush to zero, subnormals are zero */

static inline unsigned vini_flush_begin(void) {
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | VINI_FLUSH_BITS);
  return before;
}

static inline void vini_flush_end(unsigned before) {
  _mm_setcsr(before);
}

#else

static inline unsigned vini_flush_begin(void) {
  return 0;
}

static inline void vini_flush_end(unsigned before) {
  (void)before;
}

#endif
#endif
