/* Slab: the cells of a rank, on its GPU or in pinned host memory as the layout says; and a pass
 * over them, visit by visit.
 *
 * A pass enqueues transfers on the device's stream_in; the caller enqueues its work on a visit's
 * cells on the device's stream. Nothing waits for the GPU, except create, insert and destroy. */
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
  amped_pinned_cuda pinned; /* one block of memory per piece */
  char *d_resident;
  char *d_buffers[2];
  cudaEvent_t arrived[2], used[2]; /* a piece is in the buffer; kernels are done with it */
  cudaEvent_t begin, stop;         /* begin and end of a pass's transfers */
  uint64_t filled;                 /* bytes inserted so far */
} amped_slab_cuda;

/* create expects a zeroed slab; the device must outlive it. destroy accepts a slab whose create
 * failed. */
amped_status amped_slab_cuda_create(amped_slab_cuda *slab, const amped_device *device,
                                    const amped_slab_layout_cuda *layout);
void amped_slab_cuda_destroy(amped_slab_cuda *slab);

/* Append the slab's next bytes, from host memory. */
amped_status amped_slab_cuda_insert(amped_slab_cuda *slab, const void *cells, uint64_t bytes);

/* A pass: call begin; then for each visit of the layout in order: cells, enqueue work on the
 * visit's *d_cells, and done. */
amped_status amped_slab_cuda_begin(amped_slab_cuda *slab);
amped_status amped_slab_cuda_cells(amped_slab_cuda *slab, const amped_slab_visit_cuda *visit,
                                   const void **d_cells);
amped_status amped_slab_cuda_done(amped_slab_cuda *slab, const amped_slab_visit_cuda *visit);

/* Seconds from the first to the last transfer of the last pass; 0 if nothing is streamed. Call it
 * when the device's stream has finished. */
amped_status amped_slab_cuda_copy_seconds(const amped_slab_cuda *slab, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
