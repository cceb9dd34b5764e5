/* Observed tensors: some cells of a dense tensor of low rank (plus noise), with known factors.
 * Cells that are not stored are missing, not zero; completion predicts them. (Planted tensors,
 * planted_tensor.h, are zero elsewhere.)
 *
 * Factor entries are normal numbers with standard deviation 1 and mean `factor_mean`. If the mean
 * is 0 and the tensor is large and sparse, completion from a random start finds nothing of the
 * model (docs/decisions/058-values-that-a-start-finds.md).
 *
 * The cells are drawn without replacement, all with the same probability: they are the first ones
 * of a permutation of all cells, chosen by the seed. If there are more than 2^63 cells, the
 * permutation covers only the last modes, up to 2^63 cells. Indices of the other, leading modes are
 * drawn one by one. So no cell is drawn twice.
 *
 * The noise (planted_noise.h) is added to the drawn cells. Values without noise are the model's, in
 * double; values with noise are rounded to float. The tensor does not depend on the number of
 * threads. Host memory; not collective. */
#ifndef AMPED_OBSERVED_TENSOR_H
#define AMPED_OBSERVED_TENSOR_H

#include "tensor/ktensor.h"
#include "tensor/sptensor.h"

typedef struct amped_observed_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  double share; /* share of all cells, above 0, at most 1 */
  int ncomps;
  double factor_mean; /* mean of factor entries; finite */
  double noise;
  uint64_t seed;
} amped_observed_spec;

/* Set *nnz to the number of cells to draw. AMPED_USAGE if the numbers do not fit together;
 * AMPED_FAILED if this machine has too little memory. */
amped_status amped_observed_check(const amped_observed_spec *spec, uint64_t *nnz);

/* Make the tensor, sorted by mode 0; its model, with unit columns; and the standard deviation of
 * the noise. Fails under the same conditions as amped_observed_check. Free with amped_sptensor_free
 * and amped_ktensor_free. */
amped_status amped_observed_create(const amped_observed_spec *spec, amped_sptensor *out,
                                   amped_ktensor *model, double *noise_sd);

#endif
