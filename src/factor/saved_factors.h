/* Saved factors: a copy of a decomposition, while another one takes its place in the context.
 *
 * Every rank saves its own rows of the factors in host memory, so the ranks together save each row
 * once. The rows have the factors' type, and restore gives the same bits back.
 *
 * All functions are collective and their statuses agreed, except free and bytes. */
#ifndef AMPED_SAVED_FACTORS_H
#define AMPED_SAVED_FACTORS_H

#include "factor/factors.h"
#include "tensor/match.h"

typedef struct amped_saved_factors {
  int order;
  int ncomps;
  double *weights;                  /* [ncomps] */
  void *rows[AMPED_MAX_ORDER];      /* own rows, ncomps elements each, without padding */
  double *lengths[AMPED_MAX_ORDER]; /* [ncomps] of whole columns */
} amped_saved_factors;

/* Bytes of host memory that take needs on this rank. */
uint64_t amped_saved_factors_bytes(const amped_plan *plan);

/* Save the context's factors, and these weights ([ncomps]). free takes a zeroed struct, too. */
amped_status amped_saved_factors_take(const amped_context *context, const double *weights,
                                      amped_saved_factors *out);
void amped_saved_factors_free(amped_saved_factors *saved);

/* The saved factors become the factors of the context, on all ranks. */
amped_status amped_saved_factors_restore(const amped_context *context,
                                         const amped_saved_factors *saved);

/* The context's factor of mode becomes the saved factor times q, which is ncomps x ncomps doubles,
 * row-major. NULL stands for the identity. */
amped_status amped_saved_factors_put(const amped_context *context, const amped_saved_factors *saved,
                                     int mode, const double *q);

/* product = saved factor of mode, transposed, times the MTTKRP result of mode, summed over all
 * ranks: ncomps x ncomps, row-major. */
amped_status amped_saved_factors_times_output(const amped_context *context,
                                              const amped_saved_factors *saved, int mode,
                                              double *product);

/* The match of two decompositions (match.h), the same on every rank. Both were taken with as many
 * components as the plan has. */
amped_status amped_saved_factors_match(const amped_context *context, const amped_saved_factors *a,
                                       const amped_saved_factors *b, amped_match *out);

#endif
