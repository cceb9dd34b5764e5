/* Subnormal numbers, which are the numbers next to 0, make many processors about 20 times slower.
 * Between `off` and `restore` they count as 0 in the calling thread, for loops in which rows fade
 * out. */
#ifndef AMPED_SUBNORMALS_H
#define AMPED_SUBNORMALS_H

#ifdef __SSE2__
#include <xmmintrin.h>

/* Bits of MXCSR: flush results to zero, and take subnormal operands as zero. */
#define AMPED_SUBNORMALS_ARE_ZERO 0x8040U

static inline unsigned amped_subnormals_off(void) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | AMPED_SUBNORMALS_ARE_ZERO);
  return before;
}

static inline void amped_subnormals_restore(unsigned before) {
  _mm_setcsr(before);
}

#else /* other processors: no effect */

static inline unsigned amped_subnormals_off(void) {
  return 0;
}

static inline void amped_subnormals_restore(unsigned before) {
  (void)before;
}

#endif

#endif
