/* Incoming partial sums from all ranks (amped_partial_rows), added up. */
#ifndef AMPED_PARTIAL_ROWS_CPU_H
#define AMPED_PARTIAL_ROWS_CPU_H

#include "backend/backend.h"

/* Add up blocks of mode's rows in `arriving` (amped_row_sum), in their order and in double. */
void amped_partial_rows_cpu(const amped_plan *plan, int mode, amped_row_sum sum,
                            const amped_partial_rows *parts, void *output, int threads);

#endif
