/* Row counts: the n of every row (backend/row_fit.h), which is the sum of its nonzeros' weights
 * over all ranks, without those that are held out; and sums over rows that are weighted so. A model
 * history is made of these (stream_model.h).
 *
 * Both functions are collective. */
#ifndef AMPED_ROW_COUNTS_H
#define AMPED_ROW_COUNTS_H

#include "factor/context.h"

/* Host memory. */
typedef struct amped_row_counts {
  double *all[AMPED_MAX_ORDER]; /* of mode's positions */
  double *own[AMPED_MAX_ORDER]; /* of this rank's block, in `all` */
} amped_row_counts;

/* The bytes that find takes. */
uint64_t amped_row_counts_bytes(const amped_plan *plan);

/* Collective; the status is agreed. *out is empty on failure. Row fits are prepared. */
amped_status amped_row_counts_find(const amped_context *context, amped_row_counts *out);
void amped_row_counts_free(amped_row_counts *counts);

#endif
