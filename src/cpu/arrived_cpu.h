/* Parts of sums that have arrived from all ranks (amped_partial_rows), added up. */
#ifndef AMPED_ARRIVED_CPU_H
#define AMPED_ARRIVED_CPU_H

#include "plan/plan.h"

/* Own rows of mode's output = the sums over ranks of `arriving`, which has a block of mode's rows
 * of each rank: in the order of ranks and in double. */
void amped_arrived_cpu(const amped_plan *plan, int mode, const void *arriving, void *output,
                       int threads);

#endif
