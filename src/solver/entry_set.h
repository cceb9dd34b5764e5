/* Entry set: entries of a tensor that are not learnt, such as those of --validate and --test, and
 * the error of a model at them.
 *
 * Every rank holds a part of the entries, in host memory, and all factors: so each finds the errors
 * of its part. An entry has the position of its row in each mode's factor, or AMPED_NO_ROW where
 * the model has no such row. */
#ifndef AMPED_ENTRY_SET_H
#define AMPED_ENTRY_SET_H

#include "factor/context.h"

typedef struct amped_entry_set {
  int order;
  uint64_t total;                       /* entries of all ranks */
  uint64_t count;                       /* of this one */
  uint64_t first;                       /* number of its first entry among those of all ranks */
  uint64_t *positions[AMPED_MAX_ORDER]; /* [count] */
  uint64_t *sorted[AMPED_MAX_ORDER];    /* [count] entries by their position in this mode */
  double *values;                       /* [count] by the plan's map, in double */
} amped_entry_set;

/* Errors at entries. Cold ones have a row that was never trained: it is the prior, without bias, or
 * there is none. They are predicted with the prior, and are in both sums. */
typedef struct amped_entry_errors {
  amped_errors all, cold;
} amped_entry_errors;

/* Room for count entries of this rank, for the caller to fill. free takes a zeroed set, too. */
amped_status amped_entry_set_create(amped_entry_set *set, int order, uint64_t count);
void amped_entry_set_free(amped_entry_set *set);

/* Once, when all entries are there: total is set. Collective; the status is agreed. */
amped_status amped_entry_set_finish(const amped_context *context, amped_entry_set *set);

/* Collective; the status is agreed. Errors of the context's factors at all entries, the same on
 * every rank, in the units of values in memory; clipped to least .. most in the sum of that name.
 */
amped_status amped_entry_set_errors(const amped_context *context, const amped_entry_set *set,
                                    const amped_row_fit *fit, double least, double most,
                                    amped_entry_errors *out);

/* Collective: the sum of these over all ranks. */
void amped_errors_sum(const amped_comm *comm, amped_errors *errors);

/* Root mean squares; NaN without entries. */
double amped_errors_rmse(const amped_errors *errors);
double amped_errors_clipped_rmse(const amped_errors *errors);

#endif
