/* Planted tensors: exactly low rank (plus noise), although sparse, with the factors known.
 *
 * Cells that are not stored count as zero, so values of a dense model at random coordinates would
 * not be of low rank. Here every component is a block: it has a random subset of the indices of
 * each mode, positive factor entries on these and zeros elsewhere; all cells of all blocks are
 * stored, overlapping ones summed. So the tensor equals its model everywhere, and CP-ALS of the
 * same number of components reaches a fit of 1 (with noise e: 1 - e / sqrt(1 + e^2)). The subsets
 * are drawn from a pool of about 2.5 times their size in each mode: where blocks share indices, but
 * seldom cells, ALS finds them from nearly every start; far apart it would often stay at a model
 * that covers one block twice and another never. The noise is Gaussian, on stored cells only,
 * `noise` times the root mean square of the model's stored values. Entries are multiples of a power
 * of two such that values without noise are exact in float; values with noise are rounded to float.
 *
 * nnz comes out near what is asked for, not exact. Same tensor for any number of threads. */
#ifndef AMPED_PLANTED_TENSOR_H
#define AMPED_PLANTED_TENSOR_H

#include "tensor/ktensor.h"
#include "tensor/sptensor.h"

typedef struct amped_planted_spec {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz; /* about; at least 2^order for each component, at most half of the cells */
  int ncomps;
  double noise;
  uint64_t seed;
} amped_planted_spec;

/* The tensor, sorted by mode 0, and its model with unit columns. AMPED_USAGE
 * where the numbers do not go together. */
amped_status amped_planted_create(const amped_planted_spec *spec, amped_sptensor *out,
                                  amped_ktensor *model);

#endif
