/* Predictor: values of a model at any cells, also at indices that are not in the model.
 *
 * An index that is not in the model gets the mode's mean row and mean bias: it counts as average.
 * Rows of a completion that were never observed do not count in means. Model and completion are
 * borrowed; rows are host memory. All OpenMP threads; not collective. */
#ifndef AMPED_PREDICTOR_H
#define AMPED_PREDICTOR_H

#include "tensor/completion.h"
#include "tensor/sptensor.h"

/* In place of an index: not in the model. */
#define AMPED_PREDICTOR_COLD UINT64_MAX

typedef struct amped_predictor {
  const amped_ktensor *k;
  const amped_completion *c;         /* NULL: a plain decomposition */
  double *mean_row[AMPED_MAX_ORDER]; /* [ncomps] */
  double mean_bias[AMPED_MAX_ORDER];
} amped_predictor;

/* c may be NULL, or have order 0. free accepts a zeroed or freed predictor. */
amped_status amped_predictor_create(const amped_ktensor *k, const amped_completion *c,
                                    amped_predictor *out);
void amped_predictor_free(amped_predictor *p);

/* Did the model learn an entry of this index? If a completion model does not state it: its row or
 * its bias is not 0. True in a plain decomposition. */
bool amped_predictor_knows(const amped_predictor *p, int mode, uint64_t index);

/* Returns the index, or AMPED_PREDICTOR_COLD if the model learnt no entry of it: the zeros of an
 * implicit fit say nothing of who was never seen. */
uint64_t amped_predictor_known(const amped_predictor *p, int mode, uint64_t index);

/* The row of an index, ncomps numbers, and its bias. */
const double *amped_predictor_row(const amped_predictor *p, int mode, uint64_t index);
double amped_predictor_bias(const amped_predictor *p, int mode, uint64_t index);

/* out[i] = the value at cell i of count; indices[m][i] is below dims[m], or
 * AMPED_PREDICTOR_COLD. */
void amped_predictor_values(const amped_predictor *p, uint64_t *const *indices, uint64_t count,
                            double *out);

#endif
