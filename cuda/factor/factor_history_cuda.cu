/* Copies of the factors before a step, for extrapolation and step lengths. */
#include "cuda/factor/factor_history_cuda.h"

#include "cuda/device/buffers_cuda.h"
#include "cuda/device/grid_cuda.cuh"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

#include <cmath>

static const char what[] = "the previous factors";

struct amped_factor_history {
  amped_device *device;
  const amped_plan *plan;
  amped_factor_set *factors;
  void *d_rows[AMPED_MAX_ORDER];
  double *d_now, *d_then; /* [ncomps] */
  double *d_sums;         /* [strips][ncomps] */
  double *h_sums;
};

namespace {

/* Strips into which own rows are cut for sums. */
constexpr uint64_t strips = 128;

/* Returns the number of doubles in d_now, d_then and d_sums, which are contiguous. */
uint64_t numbers_of(const amped_plan *plan) {
  return (2 + strips) * (uint64_t)plan->ncomps;
}

uint64_t factor_bytes(const amped_plan *plan, int mode) {
  return amped_plan_factor_rows(plan, mode) * amped_plan_row_bytes(plan);
}

amped_buffers buffers(amped_factor_history *history, const amped_plan *plan) {
  amped_buffers b = {};
  b.what = what;
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER_OF(&b, DEVICE, history->d_rows[m], factor_bytes(plan, m), 1);
  AMPED_BUFFER(&b, DEVICE, history->d_now, numbers_of(plan));
  AMPED_BUFFER(&b, HOST, history->h_sums, strips * (uint64_t)plan->ncomps);
  return b;
}

void history_require(const amped_device *, const amped_plan *plan, uint64_t *device_bytes,
                     uint64_t *host_bytes) {
  amped_factor_history none = {};
  amped_buffers_require(buffers(&none, plan), device_bytes, host_bytes);
}

void history_destroy(amped_factor_history *history) {
  if (history == nullptr)
    return;
  amped_buffers_cuda_free(buffers(history, history->plan));
  amped_free(history);
}

amped_status allocate(amped_factor_history *history) {
  const amped_plan *plan = history->plan;
  AMPED_TRY(amped_buffers_cuda_allocate(buffers(history, plan)));
  history->d_then = history->d_now + plan->ncomps;
  history->d_sums = history->d_then + plan->ncomps;
  for (int m = 0; m < plan->order; m++)
    AMPED_CUDA(cudaMemsetAsync(history->d_rows[m], 0, factor_bytes(plan, m),
                               history->device->stream_dense));
  return AMPED_OK;
}

amped_status wait_for(const amped_factor_history *history) {
  AMPED_CUDA(cudaStreamSynchronize(history->device->stream_dense));
  return AMPED_OK;
}

amped_status history_create(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                            amped_factor_history **out) {
  amped_factor_history *history = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&history, 1, sizeof *history, what));
  history->device = device;
  history->plan = plan;
  history->factors = factors;
  amped_status status = allocate(history);
  if (status == AMPED_OK)
    status = wait_for(history);
  if (status == AMPED_OK)
    *out = history;
  else
    history_destroy(history);
  return status;
}

__device__ inline double term(double by, double x) {
  return by != 0.0 ? by * x : 0.0;
}

template <typename T>
__global__ void step_rows(T *factor, uint64_t factor_ld, T *before, uint64_t rows, uint64_t ld,
                          uint64_t ncomps, const double *now, const double *then, double least) {
  for (uint64_t e = thread_number(); e < rows * ncomps; e += grid_threads()) {
    const uint64_t i = e / ncomps;
    const uint64_t c = e - i * ncomps;
    const T x = factor[i * factor_ld + c];
    const double b = (double)before[i * ld + c];
    const double y = term(now[c], (double)x) + term(then[c], b);
    factor[i * factor_ld + c] = (T)(y < least ? least : y);
    before[i * ld + c] = x;
  }
}

template <typename T>
__global__ void power_rows(T *factor, uint64_t factor_ld, T *before, uint64_t rows, uint64_t ld,
                           uint64_t ncomps, const double *ratio, double by) {
  for (uint64_t e = thread_number(); e < rows * ncomps; e += grid_threads()) {
    const uint64_t i = e / ncomps;
    const uint64_t c = e - i * ncomps;
    const T x = factor[i * factor_ld + c];
    const double b = (double)before[i * ld + c];
    factor[i * factor_ld + c] = (T)amped_powered((double)x, b, ratio[c], by);
    before[i * ld + c] = x;
  }
}

/* Thread block b sums strip b; neighbouring threads have neighbouring columns. */
template <typename T>
__global__ void add_squares(const T *factor, uint64_t factor_ld, const T *before, uint64_t rows,
                            uint64_t ld, uint64_t ncomps, const double *now, const double *then,
                            double *sums) {
  const uint64_t first = rows * blockIdx.x / gridDim.x;
  const uint64_t end = rows * (blockIdx.x + 1) / gridDim.x;
  for (uint64_t c = threadIdx.x; c < ncomps; c += blockDim.x) {
    double sum = 0.0;
    for (uint64_t i = first; i < end; i++) {
      const double d = term(now[c], (double)factor[i * factor_ld + c]) -
                       term(then[c], (double)before[i * ld + c]);
      sum += d * d;
    }
    sums[blockIdx.x * ncomps + c] = sum;
  }
}

amped_status put_numbers(amped_factor_history *history, const double *now, const double *then) {
  const uint64_t bytes = (uint64_t)history->plan->ncomps * sizeof(double);
  cudaStream_t stream = history->device->stream_dense;
  AMPED_CUDA(cudaMemcpyAsync(history->d_now, now, bytes, cudaMemcpyHostToDevice, stream));
  AMPED_CUDA(cudaMemcpyAsync(history->d_then, then, bytes, cudaMemcpyHostToDevice, stream));
  return AMPED_OK;
}

template <typename T>
amped_status step_typed(amped_factor_history *history, int mode, bool nonnegative) {
  const amped_plan *plan = history->plan;
  const uint64_t rows = amped_plan_factor_rows(plan, mode);
  T *const factor = static_cast<T *>(amped_factor_set_cuda.rows(history->factors, mode));
  step_rows<T><<<blocks_for(rows * (uint64_t)plan->ncomps), block_threads, 0,
                 history->device->stream_dense>>>(
      factor + amped_factor_set_cuda_at(history->factors, 0),
      amped_factor_set_cuda_ld(history->factors), static_cast<T *>(history->d_rows[mode]), rows,
      plan->ld, (uint64_t)plan->ncomps, history->d_now, history->d_then,
      nonnegative ? 0.0 : -INFINITY);
  AMPED_CUDA_LAUNCHED("the kernel of a step");
  return wait_for(history);
}

amped_status history_step(amped_factor_history *history, int mode, const double *now,
                          const double *then, bool nonnegative) {
  AMPED_TRY(put_numbers(history, now, then));
  return history->plan->value_type == AMPED_F32 ? step_typed<float>(history, mode, nonnegative)
                                                : step_typed<double>(history, mode, nonnegative);
}

template <typename T> amped_status power_typed(amped_factor_history *history, int mode, double by) {
  const amped_plan *plan = history->plan;
  const uint64_t rows = amped_plan_factor_rows(plan, mode);
  T *const factor = static_cast<T *>(amped_factor_set_cuda.rows(history->factors, mode));
  power_rows<T><<<blocks_for(rows * (uint64_t)plan->ncomps), block_threads, 0,
                  history->device->stream_dense>>>(
      factor + amped_factor_set_cuda_at(history->factors, 0),
      amped_factor_set_cuda_ld(history->factors), static_cast<T *>(history->d_rows[mode]), rows,
      plan->ld, (uint64_t)plan->ncomps, history->d_now, by);
  AMPED_CUDA_LAUNCHED("the kernel of a step in the logarithm");
  return wait_for(history);
}

amped_status history_power(amped_factor_history *history, int mode, const double *ratio,
                           double by) {
  AMPED_TRY(put_numbers(history, ratio, ratio));
  return history->plan->value_type == AMPED_F32 ? power_typed<float>(history, mode, by)
                                                : power_typed<double>(history, mode, by);
}

template <typename T> amped_status distance_typed(amped_factor_history *history, int mode) {
  const amped_plan *plan = history->plan;
  const uint64_t first = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  const T *const factor =
      static_cast<const T *>(amped_factor_set_cuda_rows(history->factors, mode)) +
      amped_factor_set_cuda_at(history->factors, first);
  add_squares<T><<<(unsigned)strips, block_threads, 0, history->device->stream_dense>>>(
      factor, amped_factor_set_cuda_ld(history->factors),
      static_cast<const T *>(history->d_rows[mode]) + first * plan->ld,
      plan->modes[mode].rows.rank_rows[plan->rank], plan->ld, (uint64_t)plan->ncomps,
      history->d_now, history->d_then, history->d_sums);
  AMPED_CUDA_LAUNCHED("the kernel of a step's length");
  return AMPED_OK;
}

amped_status history_distance(amped_factor_history *history, int mode, const double *now,
                              const double *then, double *squares) {
  const uint64_t n = (uint64_t)history->plan->ncomps;
  AMPED_TRY(put_numbers(history, now, then));
  AMPED_TRY(history->plan->value_type == AMPED_F32 ? distance_typed<float>(history, mode)
                                                   : distance_typed<double>(history, mode));
  AMPED_CUDA(cudaMemcpyAsync(history->h_sums, history->d_sums, strips * n * sizeof(double),
                             cudaMemcpyDeviceToHost, history->device->stream_dense));
  AMPED_TRY(wait_for(history));
  for (uint64_t s = 0; s < strips; s++)
    for (uint64_t c = 0; c < n; c++)
      squares[c] += history->h_sums[s * n + c];
  return AMPED_OK;
}

} // namespace

const amped_factor_history_ops amped_factor_history_cuda = {
    .require = history_require,
    .create = history_create,
    .destroy = history_destroy,
    .step = history_step,
    .power = history_power,
    .distance = history_distance,
};
