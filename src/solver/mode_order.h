/* Mode order: the order in which a sweep updates the modes. It is a pure function of its struct and
 * the sweep's number, so all ranks have the same order, and a run that goes on has the orders of
 * one run. */
#ifndef AMPED_MODE_ORDER_H
#define AMPED_MODE_ORDER_H

#include "base/types.h"

typedef struct amped_mode_order {
  int count;
  int modes[AMPED_MAX_ORDER]; /* order of every sweep, unless random */
  bool random;                /* each sweep has a random permutation of them */
  uint64_t seed, stream;      /* random numbers (base/random.h) */
} amped_mode_order;

/* Set out[0 .. count) to the modes of a sweep, the first to be updated first. */
void amped_mode_order_of(const amped_mode_order *order, uint64_t sweep, int *out);

#endif
