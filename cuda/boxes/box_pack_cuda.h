/* Packing into boxes on the GPU: plain nonzeros become numbers of a box copy (plan/linear.h), and
 * back. Twin of the packing in src/cpu/boxes/box_copy_cpu.c.
 *
 * Nonzeros arrive box by box, and in a box by rows of the copy's mode. Pointers are device memory,
 * except for the plan. Everything is enqueued on `stream`. */
#ifndef AMPED_BOX_PACK_CUDA_H
#define AMPED_BOX_PACK_CUDA_H

#include "cuda/device/device_cuda.h"
#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entry of `starts` for a box without nonzeros. */
#define AMPED_BOX_EMPTY UINT64_MAX

/* Results of packing. The host may read them when the stream has finished. */
typedef struct amped_box_found {
  uint64_t strangers; /* number of values that are not in the dictionary */
  uint64_t largest;   /* bits of the largest |value|, as a double */
} amped_box_found;

typedef struct amped_box_pack_args {
  const amped_plan *plan; /* host memory */
  const amped_linear *linear;
  amped_batch batch; /* plain nonzeros: rows, and positions in the other modes */
  uint64_t first;    /* number in the copy of the batch's first nonzero */
  const double *dictionary;
  /* Destination in the planes and the values. values: NULL if they are coded. */
  void *planes[AMPED_MAX_PLANES];
  void *values;
  /* First nonzero of each box; with shared rows two entries per box, of own and of shared rows.
   * AMPED_BOX_EMPTY before the first call. */
  uint64_t *starts;
  amped_box_found *found; /* zero before the first call */
  cudaStream_t stream;
} amped_box_pack_args;

amped_status amped_box_pack_cuda(const amped_box_pack_args *args);

/* Unpack pieces (box_traversal_cuda.h) into plain nonzeros, whose rows are positions in the factor.
 */
typedef struct amped_box_unpack_args {
  const amped_plan *plan; /* host memory */
  const amped_linear *linear;
  amped_packed_cuda packed; /* its first nonzero has number packed.first in the copy */
  uint64_t piece, pieces;   /* first piece, and number of pieces */
  uint64_t first;           /* number in the copy of the batch's first nonzero */
  const uint64_t *firsts;
  const uint32_t *counts;
  const uint32_t *tiles;
  const uint64_t *shared_positions; /* factor positions of shared rows */
  amped_batch batch;                /* destination */
  cudaStream_t stream;
} amped_box_unpack_args;

amped_status amped_box_unpack_cuda(const amped_box_unpack_args *args);

#ifdef __cplusplus
}
#endif

#endif
