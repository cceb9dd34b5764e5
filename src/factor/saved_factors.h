/* Saved factors: a copy of a decomposition, while another one is in the context.
 *
 * Every rank saves its own rows of the factors in host memory, so all ranks together save each row
 * once. The rows keep the factors' type, so restore returns the same bits.
 *
 * All functions are collective and their statuses agreed, except free and bytes. */
#ifndef AMPED_SAVED_FACTORS_H
#define AMPED_SAVED_FACTORS_H

#include "factor/factors.h"
#include "tensor/match.h"

typedef struct amped_saved_factors {
  int order;
  int ncomps;
  double *weights;             /* [ncomps] */
  void *rows[AMPED_MAX_ORDER]; /* own rows of ncomps elements, without padding */
} amped_saved_factors;

/* Bytes of host memory that take allocates on this rank. */
uint64_t amped_saved_factors_bytes(const amped_plan *plan);

/* Save the context's factors, and these weights ([ncomps]). out is zeroed, or was taken of the same
 * plan before, and its memory is used again. free accepts a zeroed struct; a failure has freed it.
 */
amped_status amped_saved_factors_take(const amped_context *context, const double *weights,
                                      amped_saved_factors *out);
void amped_saved_factors_free(amped_saved_factors *saved);

/* The saved weights are of columns that sum to 1: divide them by the sums of the saved columns, so
 * that the saved columns have the model's size. */
amped_status amped_saved_factors_divide_by_sums(const amped_context *context,
                                                amped_saved_factors *saved);

/* Restore the saved factors in the context, on all ranks. */
amped_status amped_saved_factors_restore(const amped_context *context,
                                         const amped_saved_factors *saved);

/* Set the context's factor of mode to the saved factor times q, which is ncomps x ncomps doubles,
 * row-major. NULL: the identity. */
amped_status amped_saved_factors_put(const amped_context *context, const amped_saved_factors *saved,
                                     int mode, const double *q);

/* Set product to the transposed saved factor of mode times the MTTKRP result of mode, summed over
 * all ranks: ncomps x ncomps, row-major. */
amped_status amped_saved_factors_times_output(const amped_context *context,
                                              const amped_saved_factors *saved, int mode,
                                              double *product);

/* Match two decompositions (match.h); the result is the same on every rank. Both must have been
 * taken with the plan's number of components. */
amped_status amped_saved_factors_match(const amped_context *context, const amped_saved_factors *a,
                                       const amped_saved_factors *b, amped_match *out);

#endif
