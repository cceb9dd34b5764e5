/* Dense kept: which modes a rank's last contraction took out of its slab, and with which factors;
 * whether it serves an MTTKRP, and what is contracted where it does not.
 *
 * Tree ONE contracts, of all modes but the one that is updated, that whose factor changed last.
 * Pure functions of the arguments; the path of a run depends on the order of its updates alone. */
#ifndef AMPED_DENSE_KEPT_H
#define AMPED_DENSE_KEPT_H

#include "plan/dense_plan.h"

/* All zero: nothing is kept. */
typedef struct amped_dense_kept {
  int from, end; /* places in the layout of the modes that are contracted; equal: there is none */
  uint64_t versions[AMPED_MAX_ORDER]; /* of these modes' factors then */
  bool goes_on;                       /* the next contraction is that of mode `next` */
  int next;
} amped_dense_kept;

/* Is what is kept the contraction for MTTKRP of mode, with factors of these versions? If not, *kept
 * tells of the one to make. */
bool amped_dense_serves(amped_dense_kept *kept, const amped_dense_plan *plan, int order, int mode,
                        const uint64_t *versions);

/* Nothing is kept. A run goes on that made so many sweeps of updates of modes 0, 1, ...: the next
 * contraction is made again as the one that it had. */
void amped_dense_go_on(amped_dense_kept *kept, int order, uint64_t sweeps);

#endif
