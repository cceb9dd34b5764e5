/* Products on the GPU: sums over nonzeros x of x x and x m, with the model's values m. Twin of
 * src/cpu/sorted/products_cpu.h.
 *
 * Plain nonzeros come in batches. Each thread block has sums of its own, to which every batch adds,
 * so the order of additions is fixed. Pointers are device memory, except weights and `out` of
 * amped_products_cuda_end. Work is enqueued on `stream`. */
#ifndef AMPED_PRODUCTS_CUDA_H
#define AMPED_PRODUCTS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AMPED_PRODUCTS_BLOCKS 1024

/* Device memory of the work. */
typedef struct amped_products_room_cuda {
  amped_products sums[AMPED_PRODUCTS_BLOCKS];
  double weights[AMPED_MAX_NCOMPS];
} amped_products_room_cuda;

typedef struct amped_products_cuda_args {
  amped_vtype value_type;
  amped_itype index_type;
  int inputs; /* order - 1 */
  int ncomps;
  uint64_t ld;
  const void *factors[AMPED_MAX_ORDER - 1]; /* rows of the input modes' factors, ascending */
  const void *output;                       /* rows of the output mode's factor */
  double scale;
  const double *weights; /* [ncomps] host memory */
  amped_products_room_cuda *d_room;
  cudaStream_t stream;
} amped_products_cuda_args;

/* Arguments for a plan's nonzeros or cells, without its factors. d_room: NULL if set later. */
static inline amped_products_cuda_args amped_products_cuda_of(const amped_plan *plan, double scale,
                                                              const double *weights,
                                                              amped_products_room_cuda *d_room,
                                                              cudaStream_t stream) {
  amped_products_cuda_args args = {};
  args.value_type = plan->value_type;
  args.index_type = plan->index_type;
  args.inputs = plan->order - 1;
  args.ncomps = plan->ncomps;
  args.ld = plan->ld;
  args.scale = scale;
  args.weights = weights;
  args.d_room = d_room;
  args.stream = stream;
  return args;
}

/* Zero the sums, and copy the weights. Waits. */
amped_status amped_products_cuda_begin(const amped_products_cuda_args *args);
/* Add a batch in device memory. */
amped_status amped_products_cuda_add(const amped_products_cuda_args *args,
                                     const amped_batch *d_batch);
/* Sum over all batches. Waits. */
amped_status amped_products_cuda_end(const amped_products_cuda_args *args, amped_products *out);

#ifdef __cplusplus
}
#endif

#endif
