/* Row counts: n of every row (backend/row_fit.h), the sum of its nonzeros' weights over all ranks,
 * without held-out nonzeros. Model histories use them (stream_model.h). */
#ifndef AMPED_ROW_COUNTS_H
#define AMPED_ROW_COUNTS_H

#include "factor/context.h"
#include "solver/fixed_modes.h"

/* Host memory. */
typedef struct amped_row_counts {
  double *all[AMPED_MAX_ORDER]; /* by position in the mode's factor */
  double *own[AMPED_MAX_ORDER]; /* this rank's block of `all`; borrowed */
} amped_row_counts;

/* Bytes of host memory that find takes. */
uint64_t amped_row_counts_bytes(const amped_plan *plan);

/* Collective; the status is agreed. Row fits must be prepared. *out is empty on failure. */
amped_status amped_row_counts_find(const amped_context *context, amped_row_counts *out);

/* Collective; the status is agreed. *entries = held-out nonzeros, of all ranks, with a row without
 * training nonzeros in a mode that is not fixed; of_mode[m] = those with such a row of mode m. */
amped_status amped_row_counts_unlearnt(const amped_context *context, const amped_row_counts *counts,
                                       const amped_fixed_modes *fixed, uint64_t *entries,
                                       uint64_t of_mode[AMPED_MAX_ORDER]);
void amped_row_counts_free(amped_row_counts *counts);

#endif
