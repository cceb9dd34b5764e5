/* Unit model: a model whose columns have unit length or are zero, with separate weights. Its
 * weights and the grams of its factors are the same on every rank. */
#ifndef AMPED_UNIT_MODEL_H
#define AMPED_UNIT_MODEL_H

#include "factor/context.h"

/* Collective. gram = gram of mode's factor over all ranks, [ncomps][ncomps]. status: this rank's
 * own so far. The returned status is agreed. */
amped_status amped_unit_gram(const amped_context *context, int mode, amped_status status,
                             double *gram);

/* lengths[r] = length of column r of a factor with this gram over all ranks; scale[r] = its
 * inverse, 0 for a zero column. The gram becomes the gram of the scaled columns. */
void amped_unit_lengths(int ncomps, double *gram, double *lengths, double *scale);

/* Scale the columns of mode's factor to unit length, in `rows` rows from `position` on. gram: the
 * factor's gram over all ranks, [ncomps][ncomps]; it is scaled, too. lengths[r] = old length of
 * column r; a zero column stays zero. scale: workspace, [ncomps]. Not collective; the status is
 * this rank's own. */
amped_status amped_unit_columns(const amped_context *context, int mode, uint64_t position,
                                uint64_t rows, double *gram, double *lengths, double *scale);

/* Returns |M|^2 = sum over r, s of weight_r weight_s prod over modes of gram[r][s]. *sizes = sum of
 * the terms' absolute values. v: workspace, [ncomps][ncomps]. */
double amped_unit_norm_squared(const amped_plan *plan, const double *weights,
                               const double *const *grams, double *v, double *sizes);

#endif
