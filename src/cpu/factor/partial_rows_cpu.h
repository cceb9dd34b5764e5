/* Incoming partial sums from all ranks (amped_partial_rows), added up. */
#ifndef AMPED_PARTIAL_ROWS_CPU_H
#define AMPED_PARTIAL_ROWS_CPU_H

#include "plan/plan.h"

/* Own rows of mode's output = sums over ranks of `arriving`, in rank order and in double. arriving
 * has one block of mode's rows per rank. */
void amped_partial_rows_cpu(const amped_plan *plan, int mode, const void *arriving, void *output,
                            int threads);

#endif
