/* Copies: a rank's nonzeros of every mode, on the GPU or in pinned host memory, and MTTKRP over
 * them.
 *
 * A streamed copy goes through two device buffers: while a kernel works on one piece, the next is
 * transferred on a stream of its own. */
#ifndef AMPED_COPIES_CUDA_H
#define AMPED_COPIES_CUDA_H

#include "layout_cuda.h"
#include "mttkrp_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_clock_cuda {
  cudaEvent_t begin, end;
} amped_clock_cuda;

typedef struct amped_piece_cuda {
  void *d_block;
  amped_clock_cuda transfer, compute;
  bool busy;
} amped_piece_cuda;

typedef struct amped_copies_cuda {
  const amped_plan *plan;
  amped_layout_cuda layout;
  void *blocks[AMPED_MAX_ORDER]; /* device memory where layout.resident, else pinned host memory */
  amped_piece_cuda pieces[2];
  amped_clock_cuda clock;
  cudaStream_t stream; /* borrowed */
  cudaStream_t transfers;
} amped_copies_cuda;

/* Allocate for a layout. On failure, as after use, destroy frees what there is; copies start out
 * zeroed. */
amped_status amped_copies_cuda_create(amped_copies_cuda *copies, const amped_plan *plan,
                                      const amped_layout_cuda *layout, cudaStream_t stream);
void amped_copies_cuda_destroy(amped_copies_cuda *copies);

/* As struct amped_backend's upload. */
amped_status amped_copies_cuda_upload(amped_copies_cuda *copies, int mode, uint64_t offset,
                                      const amped_run *run);

/* Zero the output, of output_bytes, and run the kernel over mode's copy; waits for the end. args
 * are complete but for the run. */
amped_status amped_copies_cuda_mttkrp(amped_copies_cuda *copies, int mode, amped_kernel kernel,
                                      const amped_mttkrp_cuda_args *args, uint64_t output_bytes,
                                      amped_mttkrp_times *times);

#ifdef __cplusplus
}
#endif

#endif
