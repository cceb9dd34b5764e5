/* Kernel of a dense tensor's fit: sums of x x and x m over the cells of a slab, in
 * double-double. */
#include "cuda/dense/dense_products_cuda.h"

#include "cuda/dense/cells_cuda.cuh"
#include "cuda/device/grid_cuda.cuh"

namespace {

struct slab_problem {
  amped_products_slab_cuda slab;
  uint64_t cells;
  uint64_t ld;
  int ncomps;
  double scale;
  amped_products_room_cuda *room;
};

/* Returns the model's value at cell i. */
template <typename T> __device__ amped_dd model_at(const slab_problem &p, uint64_t i) {
  const T *rows[AMPED_MAX_ORDER];
  amped_dd sum = {0.0, 0.0};
#pragma unroll
  for (int m = AMPED_MAX_ORDER - 1; m >= 0; m--)
    if (m < p.slab.order) {
      rows[m] = static_cast<const T *>(p.slab.factors[m]) + i % p.slab.dims[m] * p.ld;
      i /= p.slab.dims[m];
    }
  for (int r = 0; r < p.ncomps; r++) {
    amped_dd product = {p.room->weights[r], 0.0};
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < p.slab.order)
        product = amped_dd_scale(product, (double)rows[m][r]);
    sum = amped_dd_add(sum, product);
  }
  return sum;
}

__device__ void add_to(amped_products &to, const amped_products &from) {
  to.xx = amped_dd_add(to.xx, from.xx);
  to.xm = amped_dd_add(to.xm, from.xm);
}

/* A thread takes one cell at a time. */
template <typename T>
__global__ void __launch_bounds__(block_threads) add_slab(const slab_problem p) {
  __shared__ amped_products sums[block_threads];
  amped_products own = {{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t i = thread_number(); i < p.cells; i += grid_threads()) {
    const double x = cell_at(p.slab.cells, p.slab.type, i) * p.scale;
    const amped_products one = {amped_dd_product(x, x), amped_dd_scale(model_at<T>(p, i), x)};
    add_to(own, one);
  }
  sums[threadIdx.x] = own;
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      add_to(sums[threadIdx.x], sums[threadIdx.x + half]);
  }
  if (threadIdx.x == 0)
    add_to(p.room->sums[blockIdx.x], sums[0]);
}

} // namespace

amped_status amped_dense_products_cuda(const amped_products_cuda_args *args,
                                       const amped_products_slab_cuda *slab) {
  slab_problem p = {*slab, 1, args->ld, args->ncomps, args->scale, args->d_room};
  for (int m = 0; m < slab->order; m++)
    p.cells *= slab->dims[m];
  if (p.cells == 0)
    return AMPED_OK;
  const unsigned most = AMPED_PRODUCTS_BLOCKS;
  const unsigned blocks = blocks_for(p.cells) < most ? blocks_for(p.cells) : most;
  if (args->value_type == AMPED_F32)
    add_slab<float><<<blocks, block_threads, 0, args->stream>>>(p);
  else
    add_slab<double><<<blocks, block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of a dense tensor's fit");
  return AMPED_OK;
}
