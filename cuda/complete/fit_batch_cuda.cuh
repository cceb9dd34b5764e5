/* Batches of plain nonzeros of a copy, as arguments of the kernels of single nonzeros. */
#ifndef AMPED_FIT_BATCH_CUDA_CUH
#define AMPED_FIT_BATCH_CUDA_CUH

#include "cuda/complete/row_state_cuda.h"

namespace {

constexpr unsigned threads = 256;

/* A batch of plain nonzeros: number `first` of the copy and the following ones. */
template <typename T, typename I> struct batch_problem {
  uint64_t first, count;
  int order, mode;
  const I *rows;
  const I *inputs[AMPED_MAX_ORDER - 1];
  const T *values;
  uint32_t *held;
  uint64_t block_rows, block_first;
  const uint64_t *shared; /* positions of shared rows */
};

/* Position of a row of the MTTKRP result in the mode's factor. */
template <typename P> __device__ inline uint64_t position_of(const P &p, uint64_t row) {
  return row < p.block_rows ? p.block_first + row : p.shared[row - p.block_rows];
}

template <typename T, typename I>
batch_problem<T, I> problem_of(const amped_tensor_part *part, int mode, uint64_t first,
                               const amped_batch *batch) {
  const amped_plan *plan = part->plan;
  batch_problem<T, I> p = {};
  p.first = first;
  p.count = batch->count;
  p.order = plan->order;
  p.mode = mode;
  p.rows = static_cast<const I *>(batch->rows);
  for (int i = 0; i < plan->order - 1; i++)
    p.inputs[i] = static_cast<const I *>(batch->inputs[i]);
  p.values = static_cast<const T *>(batch->values);
  p.held = part->row_fit->copies[mode].d_held;
  p.block_rows = plan->modes[mode].rows.block_rows;
  p.block_first = (uint64_t)plan->rank * p.block_rows;
  p.shared = part->row_fit->d_positions[mode];
  return p;
}

__device__ inline bool is_held(const uint32_t *held, uint64_t k) {
  return held[k / 32] >> k % 32 & 1U;
}

unsigned blocks_of(uint64_t count) {
  const uint64_t blocks = amped_ceil_div(count, (uint64_t)threads);
  return (unsigned)(blocks < AMPED_ERROR_BLOCKS ? blocks : AMPED_ERROR_BLOCKS);
}

/* File indices of each mode's rows, by position; device memory. */
template <typename I> struct file_indices { const I *of[AMPED_MAX_ORDER]; };

/* File indices of a part, after amped_file_indices_cuda_find. */
template <typename I> file_indices<I> indices_of(const amped_tensor_part *part) {
  file_indices<I> indices = {};
  const char *at = static_cast<const char *>(part->row_fit->d_indices);
  for (int m = 0; m < part->plan->order; m++) {
    indices.of[m] = reinterpret_cast<const I *>(at);
    at += amped_plan_factor_rows(part->plan, m) * part->plan->index_type;
  }
  return indices;
}

} // namespace

#define FOR_TYPES(plan, function, ...)                                                             \
  ((plan)->value_type == AMPED_F32                                                                 \
       ? ((plan)->index_type == AMPED_U32 ? function<float, uint32_t>(__VA_ARGS__)                 \
                                          : function<float, uint64_t>(__VA_ARGS__))                \
       : ((plan)->index_type == AMPED_U32 ? function<double, uint32_t>(__VA_ARGS__)                \
                                          : function<double, uint64_t>(__VA_ARGS__)))

#endif
