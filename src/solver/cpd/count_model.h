/* Count model: the scale in which a Poisson model is kept in memory.
 *
 * The model is m = sum over components r of lambda[r] times the product over modes of A[i][r], and
 * the columns of every A sum to 1. In memory the columns have other lengths: their root mean square
 * lies between 0.7 and 1.4, so that products over all modes stay within float's range for any
 * dimensions. a = A sums[r] is an entry in memory, and `sums` are the columns' sums over all ranks,
 * in double. A column's scale changes by powers of two only, so its entries keep their bits.
 *
 * Host memory, the same on every rank. Not collective. */
#ifndef AMPED_COUNT_MODEL_H
#define AMPED_COUNT_MODEL_H

#include "base/buffers.h"
#include "backend/backend.h"

typedef struct amped_count_model {
  const amped_plan *plan;
  double total;    /* sum of all values */
  double *weights; /* lambda, [ncomps]; borrowed */
  double *sums;    /* [order][ncomps]; borrowed */
  /* For one mode's update, set by prepare; [ncomps] each. */
  double *relative; /* weights of the model in memory, divided by `unit`: at most 2 */
  double *by, *least, *raised, *size; /* numbers of a row product (backend/row_product.h) */
  double *scale;                      /* scales of the columns, set by take */
  double unit;                        /* the model's value is `unit` times the ratios' m */
  double floor;                       /* least model value of the ratios */
} amped_count_model;

/* The arrays that the model owns. */
amped_buffers amped_count_model_buffers(amped_count_model *model, const amped_plan *plan);

/* Set the numbers for mode's update. */
void amped_count_model_prepare(amped_count_model *model, int mode);
amped_ratio amped_count_model_ratio(const amped_count_model *model, bool sums);
/* raises: entries that went to 0 too early become 0.01 times their column's mean. */
amped_row_product amped_count_model_product(const amped_count_model *model, bool raises,
                                            bool measures);

/* Take mode's new columns, before they are scaled: sums and squares over all ranks. Sets `sums` of
 * the mode, and `scale`. weighs: weights change with the sums, as in an update. Returns false if
 * all scales are 1. */
bool amped_count_model_take(amped_count_model *model, int mode, const double *sums,
                            const double *squares, bool weighs);

/* Scale the weights, so that they sum to the total. */
void amped_count_model_normalise(amped_count_model *model);

/* Returns the deviance, 2 sum over cells of x log(x / m) - x + m, of the model that prepare saw.
 * sums: of its ratios, over all ranks. */
double amped_count_model_deviance(const amped_count_model *model, const amped_ratio_sums *sums);

#endif
