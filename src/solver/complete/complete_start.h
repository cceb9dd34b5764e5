/* Start of a completion: random factors; biases are 0.
 *
 * Entry (i, r) of mode m, of R components, is a function of m, i, r and the seed. It is the same on
 * any number of ranks, and with or without biases. With u uniform on [0, 1) and g normal (mean 0,
 * variance 1) the entry is:
 *   context modes                1 + 0.1 g;
 *   centred values               g / sqrt(R) in the first other mode, g in the rest;
 *   no mean, no negative values  2 (mean / (scale R))^(1 / N) u;
 *   no mean                      0.3 R^(-1 / (2 N)) g.
 * If a mode's components are nonnegative, the entry is the absolute value of this. */
#ifndef AMPED_COMPLETE_START_H
#define AMPED_COMPLETE_START_H

#include "factor/factors.h"

typedef struct amped_complete_start {
  bool centred;                  /* y has mean 0 */
  bool positive;                 /* no value is negative */
  double level;                  /* mean of the values / their scale */
  bool context[AMPED_MAX_ORDER]; /* modes whose prior is 1 */
  bool biased;
  uint64_t nonnegative; /* bit m: components of mode m are nonnegative */
} amped_complete_start;

/* Returns the entry, before it is rounded to the factors' type. */
double amped_complete_start_entry(const amped_complete_start *start, int order, int components,
                                  uint64_t seed, int mode, uint64_t index, int column);

/* Collective; the status is agreed. Fill the context's factors. */
amped_status amped_complete_start_fill(const amped_context *context,
                                       const amped_complete_start *start, uint64_t seed);

#endif
