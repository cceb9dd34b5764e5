/* Counter-based random numbers: a pure function of (seed, stream, counter). Any process or thread
 * can compute any number of a sequence without the previous ones.
 *
 * The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood 2014), applied once to each word. */
#ifndef AMPED_RANDOM_H
#define AMPED_RANDOM_H

#include <math.h>

#include "base/types.h"

AMPED_BOTH static inline uint64_t amped_mix64(uint64_t x) {
  x += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}

/* 64 random bits. */
AMPED_BOTH static inline uint64_t amped_random_u64(uint64_t seed, uint64_t stream,
                                                   uint64_t counter) {
  return amped_mix64(counter + amped_mix64(stream + amped_mix64(seed)));
}

/* Uniform on [0, 1), 53 bits. */
AMPED_BOTH static inline double amped_random_double(uint64_t seed, uint64_t stream,
                                                    uint64_t counter) {
  return (double)(amped_random_u64(seed, stream, counter) >> 11) * 0x1.0p-53;
}

/* Normal, with mean 0 and variance 1, from two uniform numbers that belong to the counter (Box and
 * Muller 1958). GPUs and CPUs agree to rounding. */
AMPED_BOTH static inline double amped_random_normal(uint64_t seed, uint64_t stream,
                                                    uint64_t counter) {
  const double u = 1.0 - amped_random_double(seed, stream, 2 * counter);
  const double v = amped_random_double(seed, stream, 2 * counter + 1);
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

#endif
