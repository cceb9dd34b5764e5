/* Planted tensors: sparse tensors of exactly low rank (plus noise), with known factors.
 *
 * Cells that are not stored count as zero, so values of a dense model at random coordinates would
 * not have low rank. Here every component is a block. It has a random subset of the indices of each
 * mode, with positive factor entries there and zeros elsewhere. All cells of all blocks are stored;
 * if blocks overlap, their values are added. So the tensor equals its model everywhere. CP-ALS with
 * the same number of components reaches a fit of 1 (with noise e: 1 - e / sqrt(1 + e^2)).
 *
 * In each mode the subsets are drawn from a pool of about 2.5 times their size. Then blocks share
 * indices but seldom cells, and ALS finds the blocks from nearly every start. If they shared no
 * indices, ALS would often stay at a model that covers one block twice and another never.
 *
 * The noise (planted_noise.h) is Gaussian, on stored cells only: `noise` times the root mean square
 * of the model's stored values. Entries are multiples of a power of two, such that values without
 * noise are exact in float; values with noise are rounded to float.
 *
 * nnz is close to the requested number, but not equal. The tensor does not depend on the number of
 * threads. Host memory; not collective. */
#ifndef AMPED_PLANTED_TENSOR_H
#define AMPED_PLANTED_TENSOR_H

#include "tensor/ktensor.h"
#include "tensor/sptensor.h"

typedef struct amped_planted_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz; /* approximate; at least 2^order per component, at most half of the cells */
  int ncomps;
  double noise;
  uint64_t seed;
} amped_planted_spec;

/* Make the tensor, sorted by mode 0; its model, with unit columns; and the standard deviation of
 * the noise. AMPED_USAGE if the numbers do not fit together. Free with amped_sptensor_free and
 * amped_ktensor_free. */
amped_status amped_planted_create(const amped_planted_spec *spec, amped_sptensor *out,
                                  amped_ktensor *model, double *noise_sd);

#endif
