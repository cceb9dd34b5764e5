/* Kernel of a sparse tensor's fit: sums of x x and x m over nonzeros, in double-double. */
#include "cuda/sorted/products_cuda.h"

#include "cuda/device/grid_cuda.cuh"

extern "C" {
#include "base/mem.h"
}

namespace {

template <typename T, typename I> struct products_problem {
  uint64_t count;
  uint64_t ld;
  const I *rows;
  const I *inputs[AMPED_MAX_ORDER - 1];
  const T *values;
  const T *output;
  const T *factors[AMPED_MAX_ORDER - 1];
  int input_count;
  int ncomps;
  double scale;
  amped_products_room_cuda *room;
};

/* Returns the model's value at nonzero k. */
template <typename T, typename I>
__device__ amped_dd model_at(const products_problem<T, I> &p, uint64_t k) {
  const T *rows[AMPED_MAX_ORDER - 1];
  const T *own = p.output + (uint64_t)p.rows[k] * p.ld;
  amped_dd sum = {0.0, 0.0};
#pragma unroll
  for (int m = 0; m < AMPED_MAX_ORDER - 1; m++)
    if (m < p.input_count)
      rows[m] = p.factors[m] + (uint64_t)p.inputs[m][k] * p.ld;
  for (int r = 0; r < p.ncomps; r++) {
    amped_dd product = amped_dd_product(p.room->weights[r], (double)own[r]);
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER - 1; m++)
      if (m < p.input_count)
        product = amped_dd_scale(product, (double)__ldg(rows[m] + r));
    sum = amped_dd_add(sum, product);
  }
  return sum;
}

__device__ void add_to(amped_products &to, const amped_products &from) {
  to.xx = amped_dd_add(to.xx, from.xx);
  to.xm = amped_dd_add(to.xm, from.xm);
}

/* A thread takes one nonzero at a time. */
template <typename T, typename I>
__global__ void __launch_bounds__(block_threads) add_products(const products_problem<T, I> p) {
  __shared__ amped_products sums[block_threads];
  amped_products own = {{0.0, 0.0}, {0.0, 0.0}};
  for (uint64_t k = thread_number(); k < p.count; k += grid_threads()) {
    const double x = (double)p.values[k] * p.scale;
    const amped_products one = {amped_dd_product(x, x), amped_dd_scale(model_at(p, k), x)};
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

template <typename T, typename I>
amped_status launch(const amped_products_cuda_args *args, const amped_batch *batch) {
  products_problem<T, I> p = {};
  p.count = batch->count;
  p.ld = args->ld;
  p.rows = static_cast<const I *>(batch->rows);
  p.values = static_cast<const T *>(batch->values);
  p.output = static_cast<const T *>(args->output);
  for (int m = 0; m < args->inputs; m++) {
    p.inputs[m] = static_cast<const I *>(batch->inputs[m]);
    p.factors[m] = static_cast<const T *>(args->factors[m]);
  }
  p.input_count = args->inputs;
  p.ncomps = args->ncomps;
  p.scale = args->scale;
  p.room = args->d_room;
  const unsigned most = AMPED_PRODUCTS_BLOCKS;
  const unsigned blocks = blocks_for(p.count) < most ? blocks_for(p.count) : most;
  add_products<T, I><<<blocks, block_threads, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the fit's kernel");
  return AMPED_OK;
}

} // namespace

amped_status amped_products_cuda_begin(const amped_products_cuda_args *args) {
  AMPED_CUDA(cudaMemsetAsync(args->d_room->sums, 0, sizeof args->d_room->sums, args->stream));
  AMPED_CUDA(cudaMemcpyAsync(args->d_room->weights, args->weights,
                             (size_t)args->ncomps * sizeof *args->weights, cudaMemcpyHostToDevice,
                             args->stream));
  AMPED_CUDA(cudaStreamSynchronize(args->stream));
  return AMPED_OK;
}

amped_status amped_products_cuda_add(const amped_products_cuda_args *args,
                                     const amped_batch *batch) {
  if (batch->count == 0)
    return AMPED_OK;
  if (args->value_type == AMPED_F32)
    return args->index_type == AMPED_U32 ? launch<float, uint32_t>(args, batch)
                                         : launch<float, uint64_t>(args, batch);
  return args->index_type == AMPED_U32 ? launch<double, uint32_t>(args, batch)
                                       : launch<double, uint64_t>(args, batch);
}

amped_status amped_products_cuda_end(const amped_products_cuda_args *args, amped_products *out) {
  amped_products *sums = nullptr;
  *out = {};
  AMPED_TRY(amped_alloc(&sums, AMPED_PRODUCTS_BLOCKS, sizeof *sums, "the sums of the fit"));
  amped_status status =
      amped_cuda_check(cudaMemcpyAsync(sums, args->d_room->sums, sizeof args->d_room->sums,
                                       cudaMemcpyDeviceToHost, args->stream),
                       "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(args->stream), "cudaStreamSynchronize");
  for (int i = 0; i < AMPED_PRODUCTS_BLOCKS && status == AMPED_OK; i++) {
    out->xx = amped_dd_add(out->xx, sums[i].xx);
    out->xm = amped_dd_add(out->xm, sums[i].xm);
  }
  amped_free(sums);
  return status;
}
