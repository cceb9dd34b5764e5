/* Layout: where the arrays of a rank's tensor copies lie, on the GPU or in pinned host memory.
 *
 * Pure functions of the plan and a number of bytes; no CUDA in here. */
#ifndef AMPED_LAYOUT_CUDA_H
#define AMPED_LAYOUT_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend.h"

/* One block of memory that holds `count` nonzeros as arrays: packed (the planes, then the values
 * unless they are coded), or plain as the published kernel wants them (rows, inputs, values). Byte
 * offsets are multiples of AMPED_CUDA_ALIGNMENT. */
#define AMPED_CUDA_ALIGNMENT 256
#define AMPED_CUDA_ARRAYS (AMPED_MAX_ORDER + 1)
typedef struct amped_arrays_cuda {
  int arrays;
  uint64_t element_bytes[AMPED_CUDA_ARRAYS];
  uint64_t offsets[AMPED_CUDA_ARRAYS];
  uint64_t bytes; /* of the block, 0 where count is */
} amped_arrays_cuda;

typedef struct amped_layout_cuda {
  bool plain;
  bool resident[AMPED_MAX_ORDER];
  amped_arrays_cuda copies[AMPED_MAX_ORDER];
  uint64_t index_bytes[AMPED_MAX_ORDER]; /* row bits, list and table: always on the device */
  uint64_t piece;        /* nonzeros that are streamed at a time, 0 where nothing is streamed */
  uint64_t piece_bytes;  /* of either of the two device buffers */
  uint64_t device_bytes; /* `other_bytes` included */
  uint64_t host_bytes;   /* pinned */
} amped_layout_cuda;

/* The arrays of `count` nonzeros of mode's copy. */
amped_status amped_arrays_cuda_make(amped_arrays_cuda *out, const amped_plan *plan, int mode,
                                    bool plain, uint64_t count);

/* Element `first` of array i in a block. */
void *amped_arrays_cuda_at(const amped_arrays_cuda *arrays, void *block, int i, uint64_t first);

/* Decide, for the copies of plan->rank, within budget_bytes of device memory, of which
 * `other_bytes` are taken by everything else. AUTO keeps modes on the device in descending order of
 * their bytes (what stays need not be streamed in every sweep), as far as they fit. AMPED_FAILED,
 * with what is needed and a remedy, where it cannot be. */
amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan, bool plain,
                                    amped_residency residency, uint64_t budget_bytes,
                                    uint64_t other_bytes);

#ifdef __cplusplus
}
#endif

#endif
