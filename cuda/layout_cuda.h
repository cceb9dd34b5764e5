/* Layout: where the arrays of a rank's tensor copies lie, on the GPU or in pinned host memory.
 *
 * Pure functions of the plan and a number of bytes; no CUDA in here. */
#ifndef AMPED_LAYOUT_CUDA_H
#define AMPED_LAYOUT_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend.h"

/* One block of memory that holds `count` nonzeros as arrays: byte offsets, each a multiple of
 * AMPED_CUDA_ALIGNMENT. */
#define AMPED_CUDA_ALIGNMENT 256
typedef struct amped_arrays_cuda {
  uint64_t rows;
  uint64_t inputs[AMPED_MAX_ORDER - 1];
  uint64_t values;
  uint64_t bytes; /* of the block, 0 where count is */
} amped_arrays_cuda;

typedef struct amped_layout_cuda {
  bool resident[AMPED_MAX_ORDER];
  amped_arrays_cuda copies[AMPED_MAX_ORDER];
  uint64_t piece; /* nonzeros that are streamed at a time, 0 where nothing is streamed */
  amped_arrays_cuda piece_arrays; /* of either of the two device buffers */
  uint64_t device_bytes;          /* `other_bytes` included */
  uint64_t host_bytes;            /* pinned */
} amped_layout_cuda;

/* Decide, for the copies of plan->rank, within budget_bytes of device memory, of which
 * `other_bytes` are taken by everything else. AUTO keeps modes on the device in the order of their
 * numbers (a nonzero costs the same bytes and the same transfer in each), as far as they fit.
 * AMPED_FAILED, with what is needed and a remedy, where it cannot be. */
amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan,
                                    amped_residency residency, uint64_t budget_bytes,
                                    uint64_t other_bytes);

/* The run of a block's nonzeros that starts with number `first` (count is left 0). */
amped_run amped_layout_cuda_run(const amped_plan *plan, const amped_arrays_cuda *arrays,
                                const void *block, uint64_t first);

#ifdef __cplusplus
}
#endif

#endif
