/* Dense passes: which updates of sweeps over a dense tensor contract it (dense_plan.h), and which
 * reuse an earlier contraction. The answer depends only on the order of updates: modes 0, 1, .. of
 * sweep after sweep, from factors that were set in this order. Pure functions. */
#ifndef AMPED_DENSE_PASSES_H
#define AMPED_DENSE_PASSES_H

#include "plan/dense_plan.h"

/* Name of the modes that one contraction sums over, for users: "one mode" or "half of the modes".
 * Static text. */
const char *amped_dense_tree_name(amped_dense_tree tree);

/* Passes over the slab per sweep, on average. */
double amped_dense_passes(const amped_dense_plan *plan, int order);

/* Sweeps after which the pattern repeats. */
int amped_dense_period(const amped_dense_plan *plan, int order);

/* Does this update contract the tensor? Updates are counted from 0 over all sweeps. */
bool amped_dense_contracts(const amped_dense_plan *plan, int order, uint64_t update);

/* Passes in updates first .. end. The first update always contracts, because nothing is kept. */
uint64_t amped_dense_count_passes(const amped_dense_plan *plan, int order, uint64_t first,
                                  uint64_t end);

/* Passes in sweeps first .. end that update all modes except those with a bit in `fixed`. The first
 * update always contracts. */
uint64_t amped_dense_free_passes(const amped_dense_plan *plan, int order, uint64_t fixed,
                                 uint64_t first, uint64_t end);

#endif
