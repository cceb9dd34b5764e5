/* Packing on the GPU: plain nonzeros become a packed copy (src/tensor/packing.h), a piece at a
 * time. Twin of the packing in src/cpu/sorted/pack_cpu.c.
 *
 * All pointers are device memory; everything is enqueued on `stream`. */
#ifndef AMPED_PACK_CUDA_H
#define AMPED_PACK_CUDA_H

#include "cuda/device/device_cuda.h"
#include "tensor/dictionary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most nonzeros of one call. */
#define AMPED_PACK_NNZ (UINT64_C(1) << 20)

/* All nonzeros of a packed copy, or some. Planes and values begin with nonzero `first`. */
typedef struct amped_packed_cuda {
  amped_packing packing;
  amped_itype index_type;
  amped_vtype value_type;
  uint64_t first;
  uint64_t nnz;
  const void *planes[AMPED_MAX_PLANES];
  const void *values;
  const void *dictionary; /* values of value_type */
  amped_ruler ruler;      /* computes the dictionary's values; step 0: look them up */
  /* Row bits, list and table of the whole copy. */
  const uint32_t *bits;
  const void *rows;
  const void *starts;
} amped_packed_cuda;

/* Results of packing a piece. The host may read them when the stream has finished. */
typedef struct amped_pack_result {
  uint64_t rows;      /* number of rows that begin in the piece */
  uint64_t last_row;  /* row of its last nonzero */
  uint64_t strangers; /* number of values that are not in the dictionary */
  uint64_t descents;  /* number of rows below the row before them */
} amped_pack_result;

typedef struct amped_pack_cuda_args {
  amped_packing packing;
  amped_itype index_type;
  amped_vtype value_type;
  uint64_t first;        /* number of the piece's first nonzero in the copy */
  uint64_t count;        /* 1 .. AMPED_PACK_NNZ */
  uint64_t previous_row; /* row of nonzero first - 1; UINT64_MAX if first is 0 */
  uint64_t rows_before;  /* entries of the row list so far */
  amped_batch batch;     /* plain nonzeros */
  const double *dictionary;
  uint64_t codes;
  /* Destination in the planes and the values. values: NULL if they are coded. */
  void *planes[AMPED_MAX_PLANES];
  void *values;
  /* The copy's whole arrays. The caller zeroes the bits before the first piece. */
  uint32_t *bits;
  void *rows;
  uint64_t rows_capacity; /* entries; further ones, from rows that do not ascend, are not written */
  void *starts;
  /* Workspace: AMPED_PACK_NNZ ordinals, and amped_pack_cuda_scan_bytes. */
  uint32_t *ordinals;
  void *scan;
  amped_pack_result *result;
  cudaStream_t stream;
} amped_pack_cuda_args;

/* Pack a piece and append it to a copy. */
amped_status amped_pack_cuda(const amped_pack_cuda_args *args);

/* Find the bytes of workspace for scanning a piece. */
amped_status amped_pack_cuda_scan_bytes(size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
