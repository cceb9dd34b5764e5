/* Scatter: to[places[i]] = from[i], for elements of 1, 2, 4 or 8 bytes, with all threads.
 *
 * AMPED_DEFINE_SCATTER(P) defines a static function `scatter` for places of type P. No two places
 * are equal. */
#ifndef AMPED_SCATTER_H
#define AMPED_SCATTER_H

#include <stdint.h>

#define AMPED_SCATTER_AS(T)                                                                        \
  do {                                                                                             \
    const T *source = from;                                                                        \
    T *target = to;                                                                                \
    _Pragma("omp parallel for schedule(static)") for (uint64_t i = 0; i < count; i++)              \
        target[places[i]] = source[i];                                                             \
  } while (0)

#define AMPED_DEFINE_SCATTER(P)                                                                    \
  static void scatter(void *to, const void *from, uint64_t element_bytes, const P *places,         \
                      uint64_t count) {                                                            \
    switch (element_bytes) {                                                                       \
    case 1:                                                                                        \
      AMPED_SCATTER_AS(uint8_t);                                                                   \
      break;                                                                                       \
    case 2:                                                                                        \
      AMPED_SCATTER_AS(uint16_t);                                                                  \
      break;                                                                                       \
    case 4:                                                                                        \
      AMPED_SCATTER_AS(uint32_t);                                                                  \
      break;                                                                                       \
    default:                                                                                       \
      AMPED_SCATTER_AS(uint64_t);                                                                  \
      break;                                                                                       \
    }                                                                                              \
  }

#endif
