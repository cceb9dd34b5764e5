/* Dense kept: a rank's last contraction of its slab. It records the contracted modes and the
 * versions of their factors, decides whether the contraction serves an MTTKRP and, if not, what to
 * contract.
 *
 * Tree ONE: among the modes not being updated, contract the one whose factor changed last. Pure
 * functions of the arguments; the sequence in a run depends only on the order of its updates. */
#ifndef AMPED_DENSE_KEPT_H
#define AMPED_DENSE_KEPT_H

#include "plan/dense_plan.h"

/* The contraction that is kept. All zero: none. */
typedef struct amped_dense_kept {
  int from, end; /* places in the layout of the contracted modes; equal: none */
  uint64_t versions[AMPED_MAX_ORDER]; /* versions of these modes' factors at that time */
  bool goes_on;                       /* after a resume: the next contraction is over `next` */
  int next;
} amped_dense_kept;

/* Does the kept contraction serve MTTKRP of mode, with factors of these versions? If not, *kept
 * then describes the contraction to make. */
bool amped_dense_serves(amped_dense_kept *kept, const amped_dense_plan *plan, int order, int mode,
                        const uint64_t *versions);

/* Follow one sweep: the updates of all modes except those with a bit in `fixed`, in the order 0, 1,
 * ... Returns the number of contractions that it makes. versions, *clock: the factors' versions and
 * the latest of them; zeros before the first sweep. */
uint64_t amped_dense_follow(amped_dense_kept *kept, const amped_dense_plan *plan, int order,
                            uint64_t fixed, uint64_t *versions, uint64_t *clock);

/* Resume after `sweeps` such sweeps: nothing is kept, and the next contraction repeats the one that
 * the interrupted run had. */
void amped_dense_go_on(amped_dense_kept *kept, const amped_dense_plan *plan, int order,
                       uint64_t fixed, uint64_t sweeps);

#endif
