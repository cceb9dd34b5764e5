/* Weights of nonzeros, and the view of nonzeros on the host, for row fits on a GPU. */
#include "cuda/complete/fit_batch_cuda.cuh"
#include "cuda/complete/held_out_cuda.h"

extern "C" {
#include "base/mem.h"
}

/* --- weights ---------------------------------------------------------------------------------- */

namespace {

/* Coordinates that are uploaded at a time, and entries of the hash table that finds them. */
constexpr uint64_t most_given = UINT64_C(1) << 20;
constexpr uint64_t table_places = 2 * most_given;

/* Coordinates with weights, and a hash table of them: number + 1, or 0 if empty. Device memory. */
struct given {
  uint64_t count;
  int order;
  const uint64_t *index[AMPED_MAX_ORDER];
  const double *weights;
  unsigned *table;
};

__device__ inline uint64_t place_of(const given &g, const uint64_t *index) {
  uint64_t hash = amped_mix64(0);
  for (int m = 0; m < g.order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash % table_places;
}

__global__ void __launch_bounds__(threads) enter(const given g) {
  const uint64_t step = (uint64_t)gridDim.x * threads;
  for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < g.count; i += step) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < g.order; m++)
      index[m] = g.index[m][i];
    for (uint64_t at = place_of(g, index);; at = (at + 1) % table_places)
      if (atomicCAS(g.table + at, 0U, (unsigned)(i + 1)) == 0U)
        break;
  }
}

/* Number of a coordinate among the uploaded ones, or `count` if it is not there. */
__device__ inline uint64_t number_of(const given &g, const uint64_t *index) {
  for (uint64_t at = place_of(g, index); g.table[at] != 0; at = (at + 1) % table_places) {
    const uint64_t i = g.table[at] - 1;
    bool same = true;
    for (int m = 0; m < g.order; m++)
      same = same && g.index[m][i] == index[m];
    if (same)
      return i;
  }
  return g.count;
}

template <typename T, typename I>
__global__ void __launch_bounds__(threads)
    take_weights(const batch_problem<T, I> p, file_indices<I> indices, const given g, T *weights,
                 unsigned long long *placed) {
  const uint64_t step = (uint64_t)gridDim.x * threads;
  for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k < p.count; k += step) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0, input = 0; m < p.order; m++)
      index[m] = m == p.mode ? indices.of[m][position_of(p, p.rows[k])]
                             : indices.of[m][p.inputs[input++][k]];
    const uint64_t i = number_of(g, index);
    if (i < g.count) {
      weights[p.first + k] = (T)g.weights[i];
      atomicAdd(placed, 1ULL);
    }
  }
}

struct weigh_job {
  amped_tensor_part *part;
  int mode;
  given g;
  uint64_t *d_placed;
};

template <typename T, typename I>
amped_status weigh_typed(const weigh_job *j, uint64_t first, const amped_batch *batch) {
  take_weights<T, I><<<blocks_of(batch->count), threads, 0, j->part->device->stream>>>(
      problem_of<T, I>(j->part, j->mode, first, batch), indices_of<I>(j->part), j->g,
      static_cast<T *>(j->part->row_fit->copies[j->mode].d_weights),
      (unsigned long long *)j->d_placed);
  AMPED_CUDA_LAUNCHED("the kernel of weights");
  return AMPED_OK;
}

amped_status weigh_batch(void *self, uint64_t first, const amped_batch *batch) {
  const weigh_job *j = static_cast<const weigh_job *>(self);
  return FOR_TYPES(j->part->plan, weigh_typed, j, first, batch);
}

/* Upload the caller's coordinates first .. first + count, and enter them into the hash table.
 * d_memory: amped_weigh_cuda_bytes. */
amped_status give(weigh_job *j, char *d_memory, uint64_t first, uint64_t count,
                  const uint64_t *const *indices, const double *weights) {
  const cudaStream_t stream = j->part->device->stream;
  j->g.count = count;
  j->g.order = j->part->plan->order;
  j->d_placed = reinterpret_cast<uint64_t *>(d_memory);
  j->g.table = reinterpret_cast<unsigned *>(d_memory + sizeof(uint64_t));
  uint64_t *at = reinterpret_cast<uint64_t *>(j->g.table + table_places);
  AMPED_CUDA(
      cudaMemsetAsync(d_memory, 0, sizeof(uint64_t) + table_places * sizeof(unsigned), stream));
  for (int m = 0; m <= j->g.order; m++, at += most_given) {
    const void *from = m < j->g.order ? (const void *)(indices[m] + first) : weights + first;
    AMPED_CUDA(cudaMemcpyAsync(at, from, count * sizeof *at, cudaMemcpyHostToDevice, stream));
    if (m < j->g.order)
      j->g.index[m] = at;
    else
      j->g.weights = reinterpret_cast<const double *>(at);
  }
  enter<<<blocks_of(count), threads, 0, stream>>>(j->g);
  AMPED_CUDA_LAUNCHED("the kernel of weights");
  return AMPED_OK;
}

amped_status weigh_some(weigh_job *j, uint64_t *placed) {
  const cudaStream_t stream = j->part->device->stream;
  const amped_visitor_cuda visitor = {
      .batch = weigh_batch, .self = j, .begin = 0, .end = UINT64_MAX};
  for (j->mode = 0; j->mode < j->part->plan->order; j->mode++) {
    uint64_t count = 0;
    AMPED_TRY(amped_copies_cuda_visit(&j->part->copies, j->mode, &visitor));
    AMPED_CUDA(cudaMemcpyAsync(&count, j->d_placed, sizeof count, cudaMemcpyDeviceToHost, stream));
    AMPED_CUDA(cudaStreamSynchronize(stream));
    *placed += j->mode == 0 ? count : 0;
  }
  return AMPED_OK;
}

} // namespace

uint64_t amped_weigh_cuda_bytes(const amped_plan *plan) {
  return sizeof(uint64_t) + table_places * sizeof(unsigned) +
         most_given * ((uint64_t)plan->order + 1) * sizeof(uint64_t);
}

amped_status amped_weigh_cuda(amped_tensor_part *part, uint64_t count,
                              const uint64_t *const *indices, const double *weights,
                              uint64_t *placed) {
  void *d_memory = nullptr;
  weigh_job j = {};
  j.part = part;
  AMPED_TRY(amped_file_indices_cuda_find(part, nullptr));
  AMPED_TRY(
      amped_cuda_malloc(&d_memory, amped_weigh_cuda_bytes(part->plan), "the weights of nonzeros"));
  amped_status status = AMPED_OK;
  for (uint64_t first = 0; first < count && status == AMPED_OK; first += most_given) {
    const uint64_t some = count - first < most_given ? count - first : most_given;
    status = give(&j, static_cast<char *>(d_memory), first, some, indices, weights);
    if (status == AMPED_OK)
      status = weigh_some(&j, placed);
  }
  amped_cuda_free(d_memory);
  return status;
}

/* --- view ------------------------------------------------------------------------------------- */

namespace {

struct view_job {
  amped_tensor_part *part;
  uint64_t first, count;
  uint64_t *const *positions;
  double *values; // may be null
};

template <typename T, typename I>
__global__ void __launch_bounds__(threads)
    find_positions(const batch_problem<T, I> p, uint64_t from, uint64_t count, int mode,
                   uint64_t *out) {
  const uint64_t step = (uint64_t)gridDim.x * threads;
  for (uint64_t i = (uint64_t)blockIdx.x * threads + threadIdx.x; i < count; i += step)
    out[i] = mode == 0 ? position_of(p, p.rows[from + i]) : (uint64_t)p.inputs[mode - 1][from + i];
}

/* Copy `count` numbers of the plan's value type to the host, as doubles. */
amped_status view_numbers(const amped_tensor_part *part, const void *d_from, uint64_t count,
                          const char *what, double *out) {
  const amped_vtype type = part->plan->value_type;
  void *raw = nullptr;
  AMPED_TRY(amped_alloc(&raw, count, type, what));
  amped_status status = amped_cuda_check(
      cudaMemcpyAsync(raw, d_from, count * type, cudaMemcpyDeviceToHost, part->device->stream),
      "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(part->device->stream), "cudaStreamSynchronize");
  if (status == AMPED_OK)
    amped_values_get(raw, type, 0, count, out);
  amped_free(raw);
  return status;
}

/* Copy positions and values of nonzeros from .. from + count of a batch to the caller's, from place
 * `to` on. */
template <typename T, typename I>
amped_status view_typed(const view_job *j, uint64_t first, const amped_batch *batch, uint64_t from,
                        uint64_t count, uint64_t to) {
  const cudaStream_t stream = j->part->device->stream;
  void *d_out = nullptr;
  AMPED_TRY(amped_cuda_malloc(&d_out, count * sizeof(uint64_t), "positions of nonzeros"));
  amped_status status = AMPED_OK;
  for (int m = 0; m < j->part->plan->order && status == AMPED_OK; m++) {
    find_positions<T, I><<<blocks_of(count), threads, 0, stream>>>(
        problem_of<T, I>(j->part, 0, first, batch), from, count, m, static_cast<uint64_t *>(d_out));
    status = amped_cuda_check(cudaGetLastError(), "the kernel of positions");
    if (status == AMPED_OK)
      status =
          amped_cuda_check(cudaMemcpyAsync(j->positions[m] + to, d_out, count * sizeof(uint64_t),
                                           cudaMemcpyDeviceToHost, stream),
                           "cudaMemcpyAsync");
    if (status == AMPED_OK)
      status = amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  amped_cuda_free(d_out);
  if (status == AMPED_OK && j->values != nullptr)
    status = view_numbers(j->part, static_cast<const T *>(batch->values) + from, count,
                          "the values of nonzeros", j->values + to);
  return status;
}

amped_status view_batch(void *self, uint64_t first, const amped_batch *batch) {
  const view_job *j = static_cast<const view_job *>(self);
  const uint64_t begin = first > j->first ? first : j->first;
  const uint64_t end =
      first + batch->count < j->first + j->count ? first + batch->count : j->first + j->count;
  return FOR_TYPES(j->part->plan, view_typed, j, first, batch, begin - first, end - begin,
                   begin - j->first);
}

/* Weights of nonzeros first .. first + count of mode 0's copy, to host memory. */
amped_status view_weights(const amped_tensor_part *part, uint64_t first, uint64_t count,
                          double *weights) {
  const amped_vtype type = part->plan->value_type;
  const char *d_weights = static_cast<const char *>(part->row_fit->copies[0].d_weights);
  if (d_weights == nullptr) {
    for (uint64_t i = 0; i < count; i++)
      weights[i] = 1.0;
    return AMPED_OK;
  }
  return view_numbers(part, d_weights + first * type, count, "the weights of nonzeros", weights);
}

} // namespace

amped_status amped_view_cuda(amped_tensor_part *part, uint64_t first, uint64_t count,
                             uint64_t *const *positions, bool *held, double *weights,
                             double *values) {
  const cudaStream_t stream = part->device->stream;
  view_job j = {part, first, count, positions, values};
  const amped_visitor_cuda visitor = {
      .batch = view_batch, .self = &j, .begin = first, .end = first + count};
  const uint64_t words = (first + count + 31) / 32 - first / 32;
  uint32_t *bits = nullptr;
  if (count == 0)
    return AMPED_OK;
  if (weights != nullptr)
    AMPED_TRY(view_weights(part, first, count, weights));
  AMPED_TRY(amped_copies_cuda_visit(&part->copies, 0, &visitor));
  AMPED_TRY(amped_calloc(&bits, words, sizeof *bits, "the bits of held out nonzeros"));
  amped_status status = AMPED_OK;
  if (part->row_fit->any_held)
    status = amped_cuda_check(cudaMemcpyAsync(bits, part->row_fit->copies[0].d_held + first / 32,
                                              words * sizeof *bits, cudaMemcpyDeviceToHost, stream),
                              "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (uint64_t i = 0; i < count && status == AMPED_OK; i++) {
    const uint64_t k = first % 32 + i;
    held[i] = bits[k / 32] >> k % 32 & 1U;
  }
  amped_free(bits);
  return status;
}
