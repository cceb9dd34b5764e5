/* Slab: the cells of a rank, on its GPU or in pinned host memory, as the layout says; and a pass
 * over them, visit by visit.
 *
 * A pass enqueues: transfers on the device's stream_in, what the caller does with a visit's cells
 * on its stream. Nothing waits for the GPU but create, insert and destroy. */
#ifndef AMPED_SLAB_CUDA_H
#define AMPED_SLAB_CUDA_H

#include "cuda/dense/slab_layout_cuda.h"
#include "cuda/device/pinned_cuda.h"
#include "cuda/device/rank_device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_slab_cuda {
  const amped_device *device;
  amped_slab_layout_cuda layout;
  amped_pinned_cuda pinned; /* a block for each piece */
  char *d_resident;
  char *d_buffers[2];
  cudaEvent_t arrived[2], used[2]; /* a piece is in the buffer; kernels are done with it */
  cudaEvent_t begin, stop;         /* of a pass's transfers */
  uint64_t filled;                 /* bytes that were inserted */
} amped_slab_cuda;

/* The slab is zero. The device outlives it. destroy takes what a failed create leaves. */
amped_status amped_slab_cuda_create(amped_slab_cuda *slab, const amped_device *device,
                                    const amped_slab_layout_cuda *layout);
void amped_slab_cuda_destroy(amped_slab_cuda *slab);

/* The slab's next bytes, from host memory. */
amped_status amped_slab_cuda_insert(amped_slab_cuda *slab, const void *cells, uint64_t bytes);

/* A pass: begin; then for each visit of the layout in order, cells, work on *d_cells, which are the
 * visit's, and done. */
amped_status amped_slab_cuda_begin(amped_slab_cuda *slab);
amped_status amped_slab_cuda_cells(amped_slab_cuda *slab, const amped_slab_visit_cuda *visit,
                                   const void **d_cells);
amped_status amped_slab_cuda_done(amped_slab_cuda *slab, const amped_slab_visit_cuda *visit);

/* Seconds from the first to the last transfer of the last pass, when the device's stream has
 * ended; 0 where nothing is streamed. */
amped_status amped_slab_cuda_copy_seconds(const amped_slab_cuda *slab, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
