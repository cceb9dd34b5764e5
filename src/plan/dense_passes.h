/* Dense passes: which updates of sweeps over a dense tensor contract it (dense_plan.h), and which
 * read an earlier contraction. It depends on the order of updates alone: modes 0, 1, .. of sweep
 * after sweep, from factors that were set in that order. Pure functions. */
#ifndef AMPED_DENSE_PASSES_H
#define AMPED_DENSE_PASSES_H

#include "plan/dense_plan.h"

/* "one mode", "half of the modes": what is contracted at a time. Static text. */
const char *amped_dense_tree_name(amped_dense_tree tree);

/* Passes over the slab a sweep, in the long run. */
double amped_dense_passes(const amped_dense_plan *plan, int order);

/* Sweeps after which the pattern repeats. */
int amped_dense_period(const amped_dense_plan *plan, int order);

/* Does that update contract the tensor? Updates are counted from 0 over all sweeps. */
bool amped_dense_contracts(const amped_dense_plan *plan, int order, uint64_t update);

/* Passes of updates first .. end. The first of them contracts in any case, as nothing stands. */
uint64_t amped_dense_count_passes(const amped_dense_plan *plan, int order, uint64_t first,
                                  uint64_t end);

#endif
