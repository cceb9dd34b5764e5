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

/* A walk over this rank's nonzeros of mode 0's copy, slab by slab, with `take`. */
typedef struct amped_nonzero_slab {
  uint64_t *positions[AMPED_MAX_ORDER];
  bool *held;
  double *weights, *values;
} amped_nonzero_slab;

typedef void amped_nonzero_take(void *self, const amped_nonzero_slab *slab, uint64_t count);

amped_status amped_nonzeros_walk(const amped_context *context, amped_nonzero_take *take,
                                 void *self);
void amped_row_counts_free(amped_row_counts *counts);

#endif
