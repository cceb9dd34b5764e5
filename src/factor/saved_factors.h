/* Kept: a decomposition put aside. Every rank keeps its own rows of the factors in host memory, in
 * the factors' type, so that they come back to the bit while another decomposition of the same
 * tensor takes their place; together the ranks keep each row once.
 *
 * Functions are collective and their statuses agreed, but for free and bytes. */
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

/* Host memory of a rank for one of them. */
uint64_t amped_saved_factors_bytes(const amped_plan *plan);

amped_status amped_saved_factors_take(const amped_context *context, const double *weights,
                                      amped_saved_factors *out);
void amped_saved_factors_free(amped_saved_factors *kept);

/* The factors of the run become those that were taken. */
amped_status amped_saved_factors_restore(const amped_context *context,
                                         const amped_saved_factors *kept);

/* The run's factor of mode becomes the kept one times q, ncomps x ncomps doubles, row-major; the
 * kept one where q is NULL. */
amped_status amped_saved_factors_put(const amped_context *context, const amped_saved_factors *kept,
                                     int mode, const double *q);

/* product = kept factor of mode, transposed, times the MTTKRP result of mode, over all ranks:
 * ncomps x ncomps, row-major. */
amped_status amped_saved_factors_times_output(const amped_context *context,
                                              const amped_saved_factors *kept, int mode,
                                              double *product);

/* As match.h; the same on every rank. Both were taken with as many components as the plan has. */
amped_status amped_saved_factors_match(const amped_context *context, const amped_saved_factors *a,
                                       const amped_saved_factors *b, amped_match *out);

#endif
