/* Entry set: entries of a tensor that are not trained on, such as those given by --validate and
 * --test, and a model's error at them.
 *
 * Every rank holds a part of the entries, in host memory, and all factors, so each rank finds the
 * errors of its part. An entry has the position of its row in each mode's factor, or AMPED_NO_ROW
 * if the model has no such row. */
#ifndef AMPED_ENTRY_SET_H
#define AMPED_ENTRY_SET_H

#include "factor/context.h"
#include "solver/complete/mean_rows.h"
#include "solver/complete/row_counts.h"

typedef struct amped_entry_set {
  int order;
  uint64_t total;                       /* number of entries of all ranks */
  uint64_t count;                       /* number of entries of this rank */
  uint64_t first;                       /* number of this rank's first entry among all ranks'
                                           entries */
  uint64_t *positions[AMPED_MAX_ORDER]; /* [count] */
  uint64_t *cells;                      /* [count] hashes of the cells; rows that the model does not
                                           have count by the file's label or index */
  uint8_t *trained;                     /* [count] bit m: row of mode m has training nonzeros */
  uint64_t untrained[AMPED_MAX_ORDER];  /* entries of all ranks without that bit */
  double *values;                       /* [count] values, mapped by the plan's map, in double */
  uint64_t given;                       /* number of entries in the file, of all ranks */
  uint64_t unknown[AMPED_MAX_ORDER];    /* entries with a new label or index */
  uint64_t hash;                        /* hash of all entries as given, in any order; the same on
                                           every rank */
} amped_entry_set;

/* Errors at entries. An entry is cold if one of its rows is missing or was never trained: in a
 * fixed mode by the model, in others by the bit of `trained`. The mean row of its mode stands for
 * such a row. Cold entries are in both sums. */
typedef struct amped_entry_errors {
  amped_errors all, cold;
} amped_entry_errors;

/* Allocate count entries of this rank, for the caller to fill. free accepts a zeroed set. */
amped_status amped_entry_set_create(amped_entry_set *set, int order, uint64_t count);
void amped_entry_set_free(amped_entry_set *set);

/* Collective. Set total and first. Call it when all entries are filled in, or their number has
 * changed. */
void amped_entry_set_finish(const amped_context *context, amped_entry_set *set);

/* Collective; the status is agreed. Append the entries of `more`, which is finished, to a finished
 * or zeroed set. */
amped_status amped_entry_set_append(const amped_context *context, amped_entry_set *set,
                                    const amped_entry_set *more);

/* Collective. Set `trained`, which is 0 before, and `untrained`. counts: the numbers of the
 * context's nonzeros. */
void amped_entry_set_train(const amped_context *context, amped_entry_set *set,
                           const amped_row_counts *counts);

/* Collective; the status is agreed. found[m][position] = number of entries of all ranks at a row of
 * mode m without training nonzeros, the same on every rank; NULL: there are none in mode m. `set`
 * is trained. The caller frees found[m], also on failure. */
amped_status amped_entry_set_find_untrained(const amped_context *context,
                                            const amped_entry_set *set,
                                            uint64_t *found[AMPED_MAX_ORDER]);

/* Collective; the status is agreed. *out = errors of the context's factors at all entries, the same
 * on every rank, in units of values in memory. means: of modes with untrained entries; NULL: rows
 * count as they are. Fixed rows that have learnt nothing are means already. The model is clipped to
 * least .. most in the sum `clipped`. */
amped_status amped_entry_set_errors(const amped_context *context, const amped_entry_set *set,
                                    const amped_row_fit *fit, const amped_fixed_modes *fixed,
                                    const amped_mean_rows *means, double least, double most,
                                    amped_entry_errors *out);

/* Collective. Sum the errors over all ranks. */
void amped_errors_sum(const amped_comm *comm, amped_errors *errors);

/* Root mean squares; NaN without entries. */
double amped_errors_rmse(const amped_errors *errors);
double amped_errors_clipped_rmse(const amped_errors *errors);

#endif
