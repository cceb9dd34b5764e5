/* Held-out nonzeros, moments and errors on a GPU: kernels over single nonzeros, and their
 * launches. */
#include "cuda/complete/held_out_cuda.h"

#include <cmath>
#include <cstring>

#include "cuda/complete/fit_batch_cuda.cuh"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

namespace {

constexpr unsigned group = 8; /* lanes that share a nonzero */
constexpr unsigned whole_warp = 0xffffffffU;

/* --- which nonzeros are held out ------------------------------------------------------------- */

/* Mark the held-out nonzeros of a batch, which begins at a word of the bits. Each warp writes one
 * word. *all += their number. weights: of all nonzeros of the copy; null: all are 1. */
template <typename T, typename I>
__global__ void __launch_bounds__(threads)
    mark_held(const batch_problem<T, I> p, file_indices<I> indices, const T *weights, uint64_t seed,
              uint64_t below, unsigned long long *all) {
  const uint64_t step = (uint64_t)gridDim.x * threads;
  for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k - threadIdx.x % 32 < p.count;
       k += step) {
    bool held = false;
    if (k < p.count) {
      uint64_t keys[AMPED_MAX_ORDER];
      for (int m = 0, input = 0; m < p.order; m++)
        keys[m] = m == p.mode ? indices.of[m][position_of(p, p.rows[k])]
                              : indices.of[m][p.inputs[input++][k]];
      held = amped_held_out(p.order, keys, seed, below) &&
             (weights == nullptr || weights[p.first + k] > T(0));
    }
    const unsigned word = __ballot_sync(whole_warp, held);
    if (threadIdx.x % 32 == 0) {
      p.held[(p.first + k) / 32] = word;
      if (word != 0)
        atomicAdd(all, (unsigned long long)__popc(word));
    }
  }
}

struct hold_out_job {
  amped_tensor_part *part;
  int mode;
  uint64_t seed, below;
  uint64_t *d_count;
};

template <typename T, typename I>
amped_status mark_batch(const hold_out_job *j, uint64_t first, const amped_batch *batch) {
  mark_held<T, I><<<blocks_of(batch->count), threads, 0, j->part->device->stream>>>(
      problem_of<T, I>(j->part, j->mode, first, batch), indices_of<I>(j->part),
      static_cast<const T *>(j->part->row_fit->copies[j->mode].d_weights), j->seed, j->below,
      (unsigned long long *)j->d_count);
  AMPED_CUDA_LAUNCHED("the kernel of held-out nonzeros");
  return AMPED_OK;
}

amped_status mark(void *self, uint64_t first, const amped_batch *batch) {
  const hold_out_job *j = static_cast<const hold_out_job *>(self);
  return FOR_TYPES(j->part->plan, mark_batch, j, first, batch);
}

/* Write the file index of each position, or its key, to `out`, mode after mode, in
 * plan->index_type. */
void list_indices(const amped_plan *plan, const uint32_t *const *keys, char *out) {
  for (int m = 0; m < plan->order; m++) {
    const amped_row_plan *rows = &plan->modes[m].rows;
    const uint32_t *key = keys != nullptr ? keys[m] : nullptr;
    for (uint64_t i = 0; i < rows->idp_count; i++)
      for (uint64_t index = i * rows->width; index < (i + 1) * rows->width && index < rows->dim;
           index++) {
        const uint64_t at = rows->position[i] + index - i * rows->width;
        const uint64_t here = key != nullptr ? key[index] : index;
        if (plan->index_type == AMPED_U32)
          reinterpret_cast<uint32_t *>(out)[at] = (uint32_t)here;
        else
          reinterpret_cast<uint64_t *>(out)[at] = here;
      }
    out += amped_plan_factor_rows(plan, m) * plan->index_type;
  }
}

amped_status mark_copies(hold_out_job *j, uint64_t *held) {
  amped_tensor_part *part = j->part;
  const amped_visitor_cuda visitor = {.batch = mark, .self = j, .begin = 0, .end = UINT64_MAX};
  for (j->mode = 0; j->mode < part->plan->order; j->mode++) {
    uint64_t count = 0;
    AMPED_CUDA(cudaMemsetAsync(j->d_count, 0, sizeof count, part->device->stream));
    AMPED_TRY(amped_copies_cuda_visit(&part->copies, j->mode, &visitor));
    AMPED_CUDA(cudaMemcpyAsync(&count, j->d_count, sizeof count, cudaMemcpyDeviceToHost,
                               part->device->stream));
    AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
    *held = j->mode == 0 ? count : *held;
  }
  return AMPED_OK;
}

/* --- sums ------------------------------------------------------------------------------------ */

__host__ __device__ inline void add(amped_errors &to, const amped_errors &from) {
  to.count += from.count;
  to.squares += from.squares;
  to.absolute += from.absolute;
  to.clipped += from.clipped;
}

__host__ __device__ inline void add(amped_moments &to, const amped_moments &from) {
  to.count += from.count;
  to.weight += from.weight;
  to.sum += from.sum;
  to.squares += from.squares;
  to.least = from.least < to.least ? from.least : to.least;
  to.least_weight = from.least_weight < to.least_weight ? from.least_weight : to.least_weight;
}

__device__ inline amped_moments no_moments() {
  return {0, 0.0, 0.0, 0.0, (double)INFINITY, (double)INFINITY};
}

/* Add the threads' sums to the thread block's, in a fixed order. */
template <typename S> __device__ void add_block(const S &own, S *sums) {
  __shared__ S parts[threads];
  parts[threadIdx.x] = own;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      add(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  if (threadIdx.x == 0)
    add(sums[blockIdx.x], parts[0]);
}

template <typename T, typename I>
__global__ void __launch_bounds__(threads)
    add_moments(const batch_problem<T, I> p, const T *weights, bool any_held, amped_moments *sums) {
  const uint64_t step = (uint64_t)gridDim.x * threads;
  amped_moments own = no_moments();
  for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k < p.count; k += step) {
    const double x = (double)p.values[k];
    const double w = weights != nullptr ? (double)weights[p.first + k] : 1.0;
    const double least = w > 0.0 ? x : (double)INFINITY;
    if (any_held && is_held(p.held, p.first + k))
      add(own, {0, 0.0, 0.0, 0.0, least, w});
    else
      add(own, {w > 0.0 ? 1ULL : 0ULL, w, w * x, w * x * x, least, w});
  }
  add_block(own, sums);
}

template <typename T> struct model {
  const T *factors[AMPED_MAX_ORDER]; /* factors of the inputs, then the mode's */
  uint64_t ld;
  int components;
  bool biased, held;
  double mean, scale, least, most;
};

/* Numbers of a row that a lane reads at a time: 16 bytes. */
template <typename T> constexpr int run = 16 / (int)sizeof(T);

template <typename T> __device__ inline void read_run(const T *from, T *to) {
  const uint4 all = __ldg(reinterpret_cast<const uint4 *>(from));
  memcpy(to, &all, sizeof all);
}

/* Model at a nonzero with these rows, without mean and scale; the same in all lanes of the
 * group. */
template <typename T>
__device__ inline double model_at(const model<T> &w, int order, const T *const *rows, int lane) {
  double sum = 0.0;
  for (int c = lane * run<T>; c < w.components; c += (int)group * run<T>) {
    double products[run<T>];
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < order) {
        T row[run<T>];
        read_run(rows[m] + c, row);
#pragma unroll
        for (int i = 0; i < run<T>; i++)
          products[i] = m == 0 ? (double)row[i] : products[i] * (double)row[i];
      }
#pragma unroll
    for (int i = 0; i < run<T>; i++)
      sum += c + i < w.components ? products[i] : 0.0;
  }
  if (w.biased && lane == 0)
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < order)
        sum += (double)rows[m][w.components];
  for (int i = (int)group / 2; i > 0; i /= 2)
    sum += __shfl_xor_sync(whole_warp, sum, i);
  return sum;
}

/* Add the errors at a batch's nonzeros. Each lane of a warp takes one nonzero; then the lanes of a
 * group together go through the group's nonzeros. */
template <typename T, typename I>
__global__ void __launch_bounds__(threads)
    add_errors(const batch_problem<T, I> p, const model<T> w, bool any_held, amped_errors *sums) {
  const uint64_t step = (uint64_t)gridDim.x * threads;
  const int lane = (int)(threadIdx.x % group);
  amped_errors own = {0, 0.0, 0.0, 0.0};
  for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k - threadIdx.x % 32 < p.count;
       k += step) {
    const bool counts = k < p.count && (any_held && is_held(p.held, p.first + k)) == w.held;
    const unsigned counted = __ballot_sync(whole_warp, counts);
    I positions[AMPED_MAX_ORDER];
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < p.order)
        positions[m] = !counts           ? (I)0
                       : m < p.order - 1 ? p.inputs[m < AMPED_MAX_ORDER - 1 ? m : 0][k]
                                         : (I)position_of(p, p.rows[k]);
    double sum = 0.0;
    for (int j = 0; j < (int)group; j++) {
      if ((counted >> j & 0x01010101U) == 0) /* one bit per group */
        continue;
      const T *rows[AMPED_MAX_ORDER];
#pragma unroll
      for (int m = 0; m < AMPED_MAX_ORDER; m++)
        if (m < p.order)
          rows[m] =
              w.factors[m] + (uint64_t)__shfl_sync(whole_warp, positions[m], j, (int)group) * w.ld;
      const double here = model_at(w, p.order, rows, lane);
      sum = lane == j ? here : sum;
    }
    if (counts) {
      const double x = (double)p.values[k];
      const double value = w.mean + w.scale * sum;
      const double clipped = value < w.least ? w.least : value > w.most ? w.most : value;
      add(own, {1, (x - value) * (x - value), fabs(x - value), (x - clipped) * (x - clipped)});
    }
  }
  add_block(own, sums);
}

struct sums_job {
  amped_tensor_part *part;
  int mode;
  bool held;
  const amped_row_fit *fit;
  double least, most;
};

template <typename T, typename I>
amped_status moments_of(const sums_job *j, uint64_t first, const amped_batch *batch) {
  const amped_row_fit_cuda *f = j->part->row_fit;
  add_moments<T, I><<<blocks_of(batch->count), threads, 0, j->part->device->stream>>>(
      problem_of<T, I>(j->part, j->mode, first, batch),
      static_cast<const T *>(f->copies[j->mode].d_weights), f->any_held,
      static_cast<amped_moments *>(f->d_errors));
  AMPED_CUDA_LAUNCHED("the kernel of moments");
  return AMPED_OK;
}

template <typename T, typename I>
amped_status errors_of(const sums_job *j, uint64_t first, const amped_batch *batch) {
  const amped_row_fit_cuda *f = j->part->row_fit;
  const amped_plan *plan = j->part->plan;
  model<T> w = {};
  for (int m = 0, input = 0; m < plan->order; m++)
    w.factors[m == j->mode ? plan->order - 1 : input++] =
        static_cast<const T *>(amped_factor_set_cuda_rows(j->part->factors, m));
  w.ld = plan->ld;
  w.components = plan->ncomps - (j->fit->biased ? 1 : 0);
  w.biased = j->fit->biased;
  w.held = j->held;
  w.mean = j->fit->mean;
  w.scale = j->fit->scale;
  w.least = j->least;
  w.most = j->most;
  add_errors<T, I><<<blocks_of(batch->count), threads, 0, j->part->device->stream>>>(
      problem_of<T, I>(j->part, j->mode, first, batch), w, f->any_held,
      static_cast<amped_errors *>(f->d_errors));
  AMPED_CUDA_LAUNCHED("the kernel of errors");
  return AMPED_OK;
}

amped_status moments_batch(void *self, uint64_t first, const amped_batch *batch) {
  const sums_job *j = static_cast<const sums_job *>(self);
  return FOR_TYPES(j->part->plan, moments_of, j, first, batch);
}

amped_status errors_batch(void *self, uint64_t first, const amped_batch *batch) {
  const sums_job *j = static_cast<const sums_job *>(self);
  return FOR_TYPES(j->part->plan, errors_of, j, first, batch);
}

/* Visit all nonzeros of mode's copy with `batch`. out: sums of the thread blocks, `bytes` of host
 * memory; they are copied to the device, added to, and copied back. */
amped_status visit(const sums_job *j, amped_status (*batch)(void *, uint64_t, const amped_batch *),
                   void *out, uint64_t bytes) {
  const cudaStream_t stream = j->part->device->stream;
  void *d_sums = j->part->row_fit->d_errors;
  sums_job job = *j;
  const amped_visitor_cuda visitor = {.batch = batch, .self = &job, .begin = 0, .end = UINT64_MAX};
  AMPED_CUDA(cudaMemcpyAsync(d_sums, out, bytes, cudaMemcpyHostToDevice, stream));
  AMPED_TRY(amped_copies_cuda_visit(&j->part->copies, j->mode, &visitor));
  AMPED_CUDA(cudaMemcpyAsync(out, d_sums, bytes, cudaMemcpyDeviceToHost, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

} // namespace

uint64_t amped_file_indices_cuda_bytes(const amped_plan *plan) {
  uint64_t rows = 0;
  for (int m = 0; m < plan->order; m++)
    rows += amped_plan_factor_rows(plan, m);
  return rows * plan->index_type;
}

amped_status amped_file_indices_cuda_find(amped_tensor_part *part, const uint32_t *const *keys) {
  const uint64_t bytes = amped_file_indices_cuda_bytes(part->plan);
  static const char what[] = "the indices of positions";
  char *host = nullptr;
  if (part->row_fit->d_indices != nullptr && keys == nullptr)
    return AMPED_OK;
  amped_file_indices_cuda_free(part);
  AMPED_TRY(amped_calloc(&host, bytes, 1, what));
  list_indices(part->plan, keys, host);
  amped_status status = amped_cuda_malloc(&part->row_fit->d_indices, bytes, what);
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaMemcpyAsync(part->row_fit->d_indices, host, bytes,
                                              cudaMemcpyHostToDevice, part->device->stream),
                              "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(part->device->stream), "cudaStreamSynchronize");
  amped_free(host);
  return status;
}

void amped_file_indices_cuda_free(amped_tensor_part *part) {
  amped_cuda_free(part->row_fit->d_indices);
  part->row_fit->d_indices = nullptr;
}

amped_status amped_held_out_cuda(amped_tensor_part *part, const uint32_t *const *keys,
                                 uint64_t seed, uint64_t below, uint64_t *held) {
  void *d_count = nullptr;
  hold_out_job j = {};
  j.part = part;
  j.seed = seed;
  j.below = below;
  *held = 0;
  part->row_fit->any_held = below > 0;
  amped_status status = AMPED_OK;
  if (below > 0) {
    status = amped_file_indices_cuda_find(part, keys);
    if (status == AMPED_OK)
      status = amped_cuda_malloc(&d_count, sizeof(uint64_t), "the count of held out nonzeros");
    j.d_count = static_cast<uint64_t *>(d_count);
    if (status == AMPED_OK)
      status = mark_copies(&j, held);
    amped_cuda_free(d_count);
  }
  amped_file_indices_cuda_free(part);
  return status;
}

amped_status amped_moments_cuda(amped_tensor_part *part, amped_moments *out) {
  const sums_job j = {
      .part = part, .mode = 0, .held = false, .fit = nullptr, .least = 0.0, .most = 0.0};
  amped_moments *sums = nullptr;
  AMPED_TRY(amped_calloc(&sums, AMPED_ERROR_BLOCKS, sizeof *sums, "moments"));
  for (int i = 0; i < AMPED_ERROR_BLOCKS; i++)
    sums[i].least = sums[i].least_weight = (double)INFINITY;
  const amped_status status = visit(&j, moments_batch, sums, AMPED_ERROR_BLOCKS * sizeof *sums);
  for (int i = 0; i < AMPED_ERROR_BLOCKS && status == AMPED_OK; i++)
    add(*out, sums[i]);
  amped_free(sums);
  return status;
}

amped_status amped_errors_cuda(amped_tensor_part *part, int mode, bool held,
                               const amped_row_fit *fit, double least, double most,
                               amped_errors *out) {
  const sums_job j = {
      .part = part, .mode = mode, .held = held, .fit = fit, .least = least, .most = most};
  amped_errors *sums = nullptr;
  AMPED_TRY(amped_calloc(&sums, AMPED_ERROR_BLOCKS, sizeof *sums, "errors"));
  const amped_status status = visit(&j, errors_batch, sums, AMPED_ERROR_BLOCKS * sizeof *sums);
  for (int i = 0; i < AMPED_ERROR_BLOCKS && status == AMPED_OK; i++)
    add(*out, sums[i]);
  amped_free(sums);
  return status;
}
