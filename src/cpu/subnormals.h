/* Subnormal numbers, the ones next to 0, make many processors some twenty times slower. Where
 * entries of rows fade out, they count as 0: between `off` and `restore`, in the calling thread. */
#ifndef AMPED_SUBNORMALS_H
#define AMPED_SUBNORMALS_H

#ifdef __SSE2__
#include <xmmintrin.h>

/* Flush to zero, and take subnormal operands for zero. */
#define AMPED_SUBNORMALS_ARE_ZERO 0x8040U

static inline unsigned amped_subnormals_off(void) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | AMPED_SUBNORMALS_ARE_ZERO);
  return before;
}

static inline void amped_subnormals_restore(unsigned before) {
  _mm_setcsr(before);
}

#else /* other processors do as they do */

static inline unsigned amped_subnormals_off(void) {
  return 0;
}

static inline void amped_subnormals_restore(unsigned before) {
  (void)before;
}

#endif

#endif
