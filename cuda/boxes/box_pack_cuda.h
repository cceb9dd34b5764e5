/* Packing into boxes on the GPU: plain nonzeros become numbers of a box copy (plan/linear.h), and
 * back. Twin of the packing in src/cpu/box_copy_cpu.c.
 *
 * Nonzeros come by boxes, in a box by rows of the copy's mode. Pointers are device memory;
 * everything is enqueued on `stream`. */
#ifndef AMPED_BOX_PACK_CUDA_H
#define AMPED_BOX_PACK_CUDA_H

#include "cuda/device/device_cuda.h"
#include "cuda/sorted/pack_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where no nonzero is. */
#define AMPED_BOX_EMPTY UINT64_MAX

/* What packing finds out. The host reads it when the stream has finished. */
typedef struct amped_box_found {
  uint64_t strangers; /* values that are not in the dictionary */
  uint64_t largest;   /* bits of the largest |value|, as a double */
} amped_box_found;

typedef struct amped_box_pack_args {
  const amped_plan *plan; /* host memory */
  const amped_linear *linear;
  amped_batch batch; /* plain nonzeros: rows, and positions in the other modes */
  uint64_t first;    /* number of the first one in the copy */
  const double *dictionary;
  /* Their places in the planes and the values (NULL where values are coded). */
  void *planes[AMPED_MAX_PLANES];
  void *values;
  /* The first nonzero of each box; with shared rows two numbers a box, of own rows and of shared
   * ones. AMPED_BOX_EMPTY before the first call. */
  uint64_t *starts;
  amped_box_found *found; /* zero before the first call */
  cudaStream_t stream;
} amped_box_pack_args;

amped_status amped_box_pack_cuda(const amped_box_pack_args *args);

/* Pieces (box_walk_cuda.h) as plain nonzeros, whose rows are positions in the factor. */
typedef struct amped_box_unpack_args {
  const amped_plan *plan; /* host memory */
  const amped_linear *linear;
  amped_packed_cuda packed; /* begins with nonzero `packed.first` of the copy */
  uint64_t piece, pieces;   /* the first of them, and how many */
  uint64_t first;           /* nonzero with which the batch begins */
  const uint64_t *firsts;
  const uint32_t *counts;
  const uint32_t *tiles;
  const uint64_t *shared_positions; /* of shared rows */
  amped_batch batch;                /* where they go */
  cudaStream_t stream;
} amped_box_unpack_args;

amped_status amped_box_unpack_cuda(const amped_box_unpack_args *args);

#ifdef __cplusplus
}
#endif

#endif
