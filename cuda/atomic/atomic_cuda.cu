/* The atomic kernel, AMPED's Algorithm 2, and its form of the copies. */
#include "cuda/atomic/atomic_cuda.h"

namespace {

typedef uint32_t index32;
typedef uint64_t index64;

constexpr int atomic_threads = 1024;
constexpr uint64_t atomic_rounds = 32; /* nonzeros that a column of threads takes in turn */

template <typename T, typename I> struct atomic_problem {
  uint64_t count;
  uint64_t ld;
  const I *rows;
  const I *inputs[AMPED_MAX_ORDER - 1];
  const T *values;
  const T *factors[AMPED_MAX_ORDER - 1];
  T *output;
  int input_count;
};

/* AMPED's Algorithm 2, kept for comparison (--kernel=published). A thread block has R x P threads:
 * threadIdx.y chooses one of P nonzeros, threadIdx.x one of R components. Every product is added
 * atomically. Neighbouring nonzeros, which often have the same output row, go to
 * different multiprocessors: their additions wait less for one another than additions of one
 * multiprocessor. */
template <typename T, typename I>
__global__ void __launch_bounds__(atomic_threads) mttkrp_atomic(const atomic_problem<T, I> p) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.y;
  const unsigned r = threadIdx.x;
  for (uint64_t k = (uint64_t)threadIdx.y * gridDim.x + blockIdx.x; k < p.count; k += step) {
    T product = p.values[k];
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER - 1; m++)
      if (m < p.input_count)
        product *= __ldg(p.factors[m] + ((uint64_t)p.inputs[m][k] * p.ld + r));
    atomicAdd(p.output + ((uint64_t)p.rows[k] * p.ld + r), product);
  }
}

template <typename T, typename I>
amped_status launch_atomic(const amped_mttkrp_cuda_args *args, const amped_batch &batch) {
  atomic_problem<T, I> p = {};
  p.count = batch.count;
  p.ld = args->ld;
  p.rows = static_cast<const I *>(batch.rows);
  p.values = static_cast<const T *>(batch.values);
  for (int m = 0; m < args->inputs; m++) {
    p.inputs[m] = static_cast<const I *>(batch.inputs[m]);
    p.factors[m] = static_cast<const T *>(args->factors[m]);
  }
  p.output = static_cast<T *>(args->output);
  p.input_count = args->inputs;
  const dim3 block((unsigned)args->ncomps, (unsigned)(atomic_threads / args->ncomps));
  const uint64_t blocks = amped_ceil_div(p.count, atomic_rounds * block.y);
  if (blocks > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " nonzeros are too many for one launch of the published kernel; "
                       "use --residency=stream or --kernel=sorted",
                       p.count);
  mttkrp_atomic<T, I><<<(unsigned)blocks, block, 0, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the published MTTKRP kernel");
  return AMPED_OK;
}

amped_status launch_for_types(const amped_mttkrp_cuda_args *args, const amped_batch &batch) {
  if (batch.count == 0)
    return AMPED_OK;
  if (args->value_type == AMPED_F32)
    return args->index_type == AMPED_U32 ? launch_atomic<float, index32>(args, batch)
                                         : launch_atomic<float, index64>(args, batch);
  return args->index_type == AMPED_U32 ? launch_atomic<double, index32>(args, batch)
                                       : launch_atomic<double, index64>(args, batch);
}

} // namespace

static amped_status no_bytes(const amped_plan *, uint64_t *bytes) {
  *bytes = 0;
  return AMPED_OK;
}

static amped_status create_nothing(amped_copies_cuda *) {
  return AMPED_OK;
}

static amped_status no_index(amped_copies_cuda *, int, const amped_tiles_cuda *,
                             amped_copy_cuda *) {
  return AMPED_OK;
}

static amped_status upload_plain(amped_copies_cuda *c, int mode, const amped_batch *batch) {
  return amped_copies_cuda_append(c, mode, batch);
}

/* Append a batch's first nonzeros to the copy, at most to the end of a span. *count: their
 * number. */
static amped_status append_plain(amped_copies_cuda *c, int mode, const amped_batch *batch,
                                 uint64_t *count) {
  amped_span_cuda span;
  void *block = nullptr;
  uint64_t at = 0;
  uint64_t room = 0;
  AMPED_TRY(amped_copies_cuda_next(c, mode, &span, &block, &at, &room));
  *count = batch->count < room ? batch->count : room;
  for (int i = 0; i < span.arrays.arrays; i++)
    AMPED_CUDA(cudaMemcpyAsync(
        amped_arrays_cuda_at(&span.arrays, block, i, at), amped_batch_cuda_array(c->plan, batch, i),
        *count * span.arrays.element_bytes[i], cudaMemcpyDefault, c->stream));
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  c->copies[mode].nnz += *count;
  return AMPED_OK;
}

static amped_status no_schedule(amped_copies_cuda *, int) {
  return AMPED_OK;
}

static amped_status zero_all(const amped_copies_cuda *c, const amped_mttkrp_task_cuda *task) {
  AMPED_CUDA(cudaMemsetAsync(task->args->output, 0, task->output_bytes, c->stream));
  return AMPED_OK;
}

/* Batch of the nonzeros of a span, which lies in d_block. */
static amped_batch span_batch(const amped_copies_cuda *c, const amped_span_cuda *span,
                              void *d_block) {
  const amped_arrays_cuda *arrays = &span->arrays;
  amped_batch batch = {};
  batch.count = span->count;
  batch.rows = amped_arrays_cuda_at(arrays, d_block, 0, span->at);
  for (int i = 1; i < c->plan->order; i++)
    batch.inputs[i - 1] = amped_arrays_cuda_at(arrays, d_block, i, span->at);
  batch.values = amped_arrays_cuda_at(arrays, d_block, c->plan->order, span->at);
  return batch;
}

/* Launch the atomic kernel over a span. */
static amped_status launch_plain(amped_copies_cuda *c, const amped_mttkrp_task_cuda *task,
                                 const amped_span_cuda *span, void *d_block) {
  return launch_for_types(task->args, span_batch(c, span, d_block));
}

static amped_status visit_plain(amped_copies_cuda *c, int, const amped_visitor_cuda *visitor,
                                const amped_span_cuda *span, void *d_block) {
  const amped_batch batch = span_batch(c, span, d_block);
  if (span->first >= visitor->end || span->first + span->count <= visitor->begin)
    return AMPED_OK;
  return visitor->batch(visitor->self, span->first, &batch);
}

static uint64_t plain_bytes(const amped_plan *plan, int mode) {
  return plan->modes[mode].copy.rank_nnz[plan->rank] * amped_plan_nonzero_bytes(plan);
}

const amped_copy_form_cuda amped_atomic_cuda_form = {
    .storage = &amped_storage_plain_cuda,
    .read_bytes = plain_bytes,
    .bytes = no_bytes,
    .create = create_nothing,
    .create_index = no_index,
    .upload = upload_plain,
    .append = append_plain,
    .schedule = no_schedule,
    .zero = zero_all,
    .launch = launch_plain,
    .visit = visit_plain,
};
