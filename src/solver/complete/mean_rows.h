/* Mean rows: in each mode the mean of the rows that have learnt something. It stands for a row that
 * has not, in the errors of entries, as predict --cold=predict has it (tensor/predictor.h). With
 * --fix, rows of the model that the tensor does not have are not in the means here. */
#ifndef AMPED_MEAN_ROWS_H
#define AMPED_MEAN_ROWS_H

#include "factor/context.h"
#include "solver/complete/row_counts.h"
#include "solver/fixed_modes.h"

typedef struct amped_mean_rows {
  double *rows[AMPED_MAX_ORDER]; /* [ncomps] with the bias last, if biased; NULL: not asked for */
} amped_mean_rows;

/* Has the row learnt something: a nonzero, or in a fixed mode an entry of the model? count: of its
 * nonzeros. */
bool amped_row_is_known(const amped_fixed_modes *fixed, int mode, uint64_t position, double count);

/* Collective; the status is agreed. Find the means of the modes with asked[m] > 0, the same on all
 * ranks. free accepts a zeroed object. */
amped_status amped_mean_rows_find(const amped_context *context, const amped_row_counts *counts,
                                  const amped_fixed_modes *fixed,
                                  const uint64_t asked[AMPED_MAX_ORDER], amped_mean_rows *out);
void amped_mean_rows_free(amped_mean_rows *means);

#endif
