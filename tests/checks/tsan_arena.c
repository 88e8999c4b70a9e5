/* tsan_arena.c - lets Criterion start under the thread sanitizer; linked into tests of that build.
 *
 * Criterion's process library (boxfort) needs one region at the same address in each child. It
 * draws addresses 2^45 + 2^24 rand_r(), until mincore() says that one is free. On x86-64 nearly all
 * of that range is the sanitizer's own, so that Criterion mostly stops with "Could not initialize
 * inheritable arena" (Criterion, issue 274). What the sanitizer leaves to programs there is 0x5500
 * .. 0x5680 in units of 2^32; this rand_r(), which is found before the C library's, draws from its
 * upper third. Criterion 2.4.1 uses rand_r() for nothing else. */
#include <stdlib.h>

int rand_r(unsigned int *seed) {
  *seed = *seed * 1103515245u + 12345u; /* the example in the C standard */
  return (int)(0x360000u | (*seed >> 16 & 0x7fffu));
}
