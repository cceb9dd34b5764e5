/* Unit model: a model whose columns have unit length or are zero, with weights apart. Its weights
 * and the grams of its factors are the same on every rank. */
#ifndef AMPED_UNIT_MODEL_H
#define AMPED_UNIT_MODEL_H

#include "factor/context.h"

/* Collective: gram = that of mode's factor over all ranks, [ncomps][ncomps]. `status` is this
 * rank's own so far, that of the return is agreed. */
amped_status amped_unit_gram(const amped_context *context, int mode, amped_status status,
                             double *gram);

/* Columns of mode's factor get unit length, in `rows` rows from `position` on, where gram is the
 * factor's own over all ranks: [ncomps][ncomps], scaled likewise. lengths[r] gets the length that
 * column r had; a zero column stays zero. scale: room for [ncomps]. Not collective; the status is
 * this rank's own. */
amped_status amped_unit_columns(const amped_context *context, int mode, uint64_t position,
                                uint64_t rows, double *gram, double *lengths, double *scale);

/* |M|^2 = sum over r, s of weight_r weight_s prod over modes of gram[r][s]; *sizes is the sum of
 * the terms' sizes. v: room for [ncomps][ncomps]. */
double amped_unit_norm_squared(const amped_plan *plan, const double *weights,
                               const double *const *grams, double *v, double *sizes);

#endif
