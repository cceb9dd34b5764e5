/* Observed tensors: some cells of a dense tensor of low rank (plus noise), with known factors.
 * Cells that are not stored are missing, not zero: this is what completion predicts. (Planted
 * tensors, planted_tensor.h, are zero elsewhere.)
 *
 * Factor entries are normal numbers of standard deviation 1 and a mean. Where the mean is 0 and
 * the tensor large and sparse, completion from a random start finds nothing of the model
 * (docs/decisions/058-values-that-a-start-finds.md).
 *
 * The cells are drawn without replacement, each as likely as another: the first of a permutation of
 * all cells that the seed chooses. Where the cells are more than 2^63, leading modes are left out
 * of the permutation until the others' are not, and their indices are drawn one by one: so few of
 * so many cells meet next to never. The noise is that of planted_noise.h, on the drawn cells.
 * Values without noise are those of the model, in double; with noise they are rounded to float.
 *
 * The tensor does not depend on the number of threads. Host memory; not collective. */
#ifndef AMPED_OBSERVED_TENSOR_H
#define AMPED_OBSERVED_TENSOR_H

#include "tensor/ktensor.h"
#include "tensor/sptensor.h"

typedef struct amped_observed_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  double share; /* of all cells, above 0, at most 1 */
  int ncomps;
  double factor_mean; /* finite */
  double noise;
  uint64_t seed;
} amped_observed_spec;

/* *nnz = the number of cells to draw. AMPED_USAGE where the numbers do not fit together;
 * AMPED_FAILED where this machine has too little memory. */
amped_status amped_observed_check(const amped_observed_spec *spec, uint64_t *nnz);

/* Make the tensor, sorted by mode 0, its model with unit columns, and the standard deviation of the
 * noise. Fails as the check does. Free with amped_sptensor_free and amped_ktensor_free. */
amped_status amped_observed_create(const amped_observed_spec *spec, amped_sptensor *out,
                                   amped_ktensor *model, double *noise_sd);

#endif
