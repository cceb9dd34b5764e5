/* Start of a completion: random factors, and the biases 0.
 *
 * Entry (i, r) of mode m, of R components, is a function of m, i, r and the seed: the same on any
 * number of ranks, of a model with biases and of one without. With u uniform on [0, 1) and g normal
 * (mean 0, variance 1) it is
 *   context modes                1 + 0.1 g
 *   first other mode, else       g / sqrt(R), else g: where the values are centred
 *   no mean, no negative values  2 (mean / (scale R))^(1 / N) u
 *   no mean                      0.3 R^(-1 / (2 N)) g
 * and its absolute value where components are nonnegative. */
#ifndef AMPED_COMPLETE_START_H
#define AMPED_COMPLETE_START_H

#include "factor/factors.h"

typedef struct amped_complete_start {
  bool centred;                  /* y has the mean 0 */
  bool positive;                 /* no value is negative */
  double level;                  /* the values' mean over their scale */
  bool context[AMPED_MAX_ORDER]; /* modes whose prior is 1 */
  bool biased, nonnegative;
} amped_complete_start;

/* The entry before it is rounded to the factors' type. */
double amped_complete_start_entry(const amped_complete_start *start, int order, int components,
                                  uint64_t seed, int mode, uint64_t index, int column);

/* Collective; the status is agreed. Fills the context's factors. */
amped_status amped_complete_start_fill(const amped_context *context,
                                       const amped_complete_start *start, uint64_t seed);

#endif
