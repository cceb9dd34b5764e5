/* Subnormal numbers, which are the numbers next to 0, make many processors about 20 times slower.
 * amped_subnormals_flush(true): they count as 0 in the calling thread. Returns whether they did
 * before. */
#ifndef AMPED_SUBNORMALS_H
#define AMPED_SUBNORMALS_H

#include <stdbool.h>

#ifdef __SSE2__
#include <xmmintrin.h>

/* Bits of MXCSR: flush results to zero, and take subnormal operands as zero. */
#define AMPED_SUBNORMALS_ARE_ZERO 0x8040U

static inline bool amped_subnormals_flush(bool on) {
  const unsigned now = _mm_getcsr();
  const unsigned others = now & ~AMPED_SUBNORMALS_ARE_ZERO;
  _mm_setcsr(others | (on ? AMPED_SUBNORMALS_ARE_ZERO : 0U));
  return now != others;
}

#else /* other processors: no effect */

static inline bool amped_subnormals_flush(bool on) {
  (void)on;
  return false;
}

#endif

#endif
