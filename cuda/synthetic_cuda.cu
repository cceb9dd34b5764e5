/* order_cuda.cuh orders piles in the same way; the two become one when it has been measured on a
 * GPU.
 *
 * A share is made piece by piece: the nonzeros whose keys lie in one range. For each piece all
 * counters are looked at again (a few nanoseconds a thousand of them), those in the range are kept,
 * and only they are sorted; so memory is bounded by the piece, however large the tensor.
 *
 * Ranges come from a histogram of the keys' leading bits. A bin that is larger than a piece (one
 * popular row of a short mode) is divided by its next bits; where no bits are left all its keys are
 * equal, the order is that of the counters, and ranges of counters divide it. */
#include "synthetic_cuda.h"

#include <cassert>
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "grid_cuda.cuh"

extern "C" {
#include "mem.h"
}

/* Nonzeros of a piece, and of a run that is appended at a time. */
static const uint64_t least_piece = UINT64_C(1) << 16;
static const uint64_t most_piece = UINT64_C(1) << 29;
static const uint64_t most_run = UINT64_C(1) << 24;

/* Counters that one launch looks at: counts of a block fit in 32 bits, CUB's in an int. */
static const uint64_t most_counters = UINT64_C(1) << 29;

static const int histogram_bits = 20;
static const uint64_t shared_bins = 8192;

typedef unsigned long long word; /* uint64_t as atomics want it */

/* ---- count -------------------------------------------------------------------------------------
 */

/* Few bins are hot ones: each block counts in its own memory first. */
static __global__ void count_few(const amped_synthetic t, int mode, uint32_t width, uint64_t first,
                                 uint64_t count, unsigned bins, word *total) {
  extern __shared__ unsigned own[];
  for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
    own[b] = 0;
  __syncthreads();
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    atomicAdd(&own[(uint32_t)amped_synthetic_index(&t, mode, first + i) / width], 1U);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
    if (own[b] > 0)
      atomicAdd(&total[b], (word)own[b]);
}

static __global__ void count_many(const amped_synthetic t, int mode, uint32_t width, uint64_t first,
                                  uint64_t count, word *total) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    atomicAdd(&total[(uint32_t)amped_synthetic_index(&t, mode, first + i) / width], 1ULL);
}

static __global__ void sum_squares(const amped_synthetic t, uint64_t first, uint64_t count,
                                   word *total) {
  amped_synthetic_squares sum = {0, 0};
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    amped_synthetic_square(&sum, amped_synthetic_units(&t, first + i));
  for (int lane = 16; lane > 0; lane /= 2) {
    sum.high += __shfl_down_sync(0xffffffffU, sum.high, lane);
    sum.low += __shfl_down_sync(0xffffffffU, sum.low, lane);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&total[0], (word)sum.high);
    atomicAdd(&total[1], (word)sum.low);
  }
}

static amped_status count_launch(const amped_synthetic *t, int mode, uint32_t width, uint64_t first,
                                 uint64_t count, uint64_t bins, word *d_bins, cudaStream_t stream) {
  unsigned blocks = blocks_for(count);
  if (bins <= shared_bins)
    count_few<<<blocks, block_threads, bins * sizeof(unsigned), stream>>>(
        *t, mode, width, first, count, (unsigned)bins, d_bins);
  else
    count_many<<<blocks, block_threads, 0, stream>>>(*t, mode, width, first, count, d_bins);
  AMPED_CUDA_LAUNCHED("the count of a synthetic tensor");
  sum_squares<<<blocks, block_threads, 0, stream>>>(*t, first, count, d_bins + bins);
  AMPED_CUDA_LAUNCHED("the norm of a synthetic tensor");
  return AMPED_OK;
}

/* d_bins: the bins, then the two words of the sum of squares. */
static amped_status count_all(const amped_synthetic *t, int mode, uint64_t width, uint64_t first,
                              uint64_t count, uint64_t bins, uint64_t *idp_nnz,
                              amped_synthetic_squares *squares, word *d_bins, cudaStream_t stream) {
  uint64_t n = 0;
  AMPED_CUDA(cudaMemsetAsync(d_bins, 0, (bins + 2) * sizeof(word), stream));
  for (uint64_t done = 0; done < count; done += n) {
    n = count - done < most_counters ? count - done : most_counters;
    AMPED_TRY(count_launch(t, mode, (uint32_t)width, first + done, n, bins, d_bins, stream));
  }
  AMPED_CUDA(cudaMemcpyAsync(idp_nnz, d_bins, bins * sizeof(word), cudaMemcpyDeviceToHost, stream));
  AMPED_CUDA(
      cudaMemcpyAsync(squares, d_bins + bins, sizeof *squares, cudaMemcpyDeviceToHost, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

amped_status amped_synthetic_cuda_count(const amped_synthetic *t, int mode, uint64_t width,
                                        uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                        double *sum_of_squares, cudaStream_t stream) {
  uint64_t bins = amped_ceil_div(t->dims[mode], width);
  amped_synthetic_squares squares = {0, 0};
  void *d_bins = nullptr;
  AMPED_TRY(amped_cuda_malloc(&d_bins, (bins + 2) * sizeof(word), "the iDp tables"));
  amped_status status =
      count_all(t, mode, width, first, count, bins, idp_nnz, &squares, (word *)d_bins, stream);
  amped_cuda_free(d_bins);
  if (status == AMPED_OK && sum_of_squares != nullptr)
    *sum_of_squares = amped_synthetic_sum(t, squares);
  return status;
}

/* ---- load --------------------------------------------------------------------------------------
 */

/* Keys low .. high, both included. */
typedef struct key_range {
  uint64_t low, high;
} key_range;

typedef struct loader {
  const amped_plan *plan;
  amped_copies_cuda *copies;
  cudaStream_t stream;
  amped_synthetic_share share; /* its tables on the device */
  uint64_t capacity;           /* nonzeros of a piece */
  uint64_t run;                /* nonzeros that are appended at a time */
  uint64_t appended;
  void *d_tables;
  void *d_share; /* the same share */
  void *d_bins;
  void *d_selected; /* a count */
  void *d_keys[2];  /* before and after sorting */
  void *d_counters[2];
  void *d_temporary; /* CUB's */
  size_t temporary_bytes;
  void *d_rows;
  void *d_inputs[AMPED_MAX_ORDER - 1];
  void *d_values;
} loader;

/* Is a counter's nonzero of the share, and its key in the range? */
static __device__ __noinline__ bool is_in_range(const amped_synthetic_share *share, key_range range,
                                                uint64_t k) {
  uint64_t row = 0;
  if (!amped_synthetic_row(share, k, &row) || row < range.low >> share->row_shift ||
      row > range.high >> share->row_shift)
    return false;
  uint64_t key = amped_synthetic_key(share, row, k);
  return key >= range.low && key <= range.high;
}

/* As CUB asks it. It copies this into every thread: the share stays behind a pointer. */
struct range_test {
  const amped_synthetic_share *d_share;
  key_range range;
  __device__ bool operator()(uint64_t k) const {
    return is_in_range(d_share, range, k);
  }
};

static __global__ void count_keys(const amped_synthetic_share share, uint64_t first, uint64_t count,
                                  key_range range, int shift, word *bins) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t row = 0;
    if (!amped_synthetic_row(&share, first + i, &row) || row < range.low >> share.row_shift ||
        row > range.high >> share.row_shift)
      continue;
    uint64_t key = amped_synthetic_key(&share, row, first + i);
    if (key >= range.low && key <= range.high)
      atomicAdd(&bins[(key - range.low) >> shift], 1ULL);
  }
}

static __global__ void make_keys(const amped_synthetic_share share, const uint64_t *counters,
                                 uint64_t count, uint64_t *keys) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t row = 0;
    (void)amped_synthetic_row(&share, counters[i], &row);
    keys[i] = amped_synthetic_key(&share, row, counters[i]);
  }
}

/* Where a run is written. */
typedef struct run_arrays {
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} run_arrays;

template <typename index, typename value>
static __global__ void make_run(const amped_synthetic_share share, const uint64_t *counters,
                                uint64_t count, run_arrays out) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t k = counters[i];
    uint64_t row = 0;
    int input = 0;
    (void)amped_synthetic_row(&share, k, &row);
    ((index *)out.rows)[i] = (index)row;
    for (int m = 0; m < share.tensor.order; m++)
      if (m != share.mode)
        ((index *)out.inputs[input++])[i] = (index)amped_synthetic_position(&share, m, k);
    ((value *)out.values)[i] = (value)amped_synthetic_value(&share.tensor, k);
  }
}

static amped_status make_run_launch(const loader *l, const uint64_t *d_counters, uint64_t count) {
  const amped_plan *plan = l->plan;
  unsigned blocks = blocks_for(count);
  run_arrays out;
  out.rows = l->d_rows;
  memcpy(out.inputs, l->d_inputs, sizeof out.inputs);
  out.values = l->d_values;
  if (plan->index_type == AMPED_U32 && plan->value_type == AMPED_F32)
    make_run<uint32_t, float>
        <<<blocks, block_threads, 0, l->stream>>>(l->share, d_counters, count, out);
  else if (plan->index_type == AMPED_U32)
    make_run<uint32_t, double>
        <<<blocks, block_threads, 0, l->stream>>>(l->share, d_counters, count, out);
  else if (plan->value_type == AMPED_F32)
    make_run<uint64_t, float>
        <<<blocks, block_threads, 0, l->stream>>>(l->share, d_counters, count, out);
  else
    make_run<uint64_t, double>
        <<<blocks, block_threads, 0, l->stream>>>(l->share, d_counters, count, out);
  AMPED_CUDA_LAUNCHED("a run of a synthetic tensor");
  return AMPED_OK;
}

static amped_status append(loader *l, int mode, const uint64_t *d_counters, uint64_t count) {
  uint64_t n = 0;
  for (uint64_t done = 0; done < count; done += n) {
    amped_run run = {};
    n = count - done < l->run ? count - done : l->run;
    AMPED_TRY(make_run_launch(l, d_counters + done, n));
    run.count = n;
    run.rows = l->d_rows;
    for (int i = 0; i < l->plan->order - 1; i++)
      run.inputs[i] = l->d_inputs[i];
    run.values = l->d_values;
    AMPED_TRY(amped_copies_cuda_append(l->copies, mode, &run));
  }
  l->appended += count;
  return AMPED_OK;
}

/* Append those of counters first .. first+count to the *selected ones that d_counters[0] holds. */
static amped_status select_some(loader *l, key_range range, uint64_t first, uint64_t count,
                                uint64_t *selected) {
  uint64_t found = 0;
  size_t bytes = l->temporary_bytes;
  AMPED_CUDA(cub::DeviceSelect::If(
      l->d_temporary, bytes, thrust::counting_iterator<uint64_t>(first),
      (uint64_t *)l->d_counters[0] + *selected, (uint64_t *)l->d_selected, (int)count,
      range_test{(const amped_synthetic_share *)l->d_share, range}, l->stream));
  AMPED_CUDA(
      cudaMemcpyAsync(&found, l->d_selected, sizeof found, cudaMemcpyDeviceToHost, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  *selected += found;
  return AMPED_OK;
}

/* Bits in which keys of a range may differ. */
static int differing_bits(key_range range) {
  uint64_t difference = range.low ^ range.high;
  int bits = 0;
  while (bits < 64 && difference >> bits != 0)
    bits++;
  return bits;
}

/* Make the nonzeros with keys in a range from counters first .. first+count: at most a piece. */
static amped_status make_piece(loader *l, key_range range, uint64_t first, uint64_t count) {
  uint64_t selected = 0;
  uint64_t n = 0;
  for (uint64_t done = 0; done < count; done += n) {
    n = count - done < most_counters ? count - done : most_counters;
    AMPED_TRY(select_some(l, range, first + done, n, &selected));
  }
  assert(selected <= l->capacity);
  if (selected == 0)
    return AMPED_OK;
  int bits = differing_bits(range);
  cub::DoubleBuffer<uint64_t> keys((uint64_t *)l->d_keys[0], (uint64_t *)l->d_keys[1]);
  cub::DoubleBuffer<uint64_t> counters((uint64_t *)l->d_counters[0], (uint64_t *)l->d_counters[1]);
  if (bits > 0) {
    size_t bytes = l->temporary_bytes;
    make_keys<<<blocks_for(selected), block_threads, 0, l->stream>>>(l->share, counters.Current(),
                                                                     selected, keys.Current());
    AMPED_CUDA_LAUNCHED("the keys of a synthetic tensor");
    AMPED_CUDA(cub::DeviceRadixSort::SortPairs(l->d_temporary, bytes, keys, counters, (int)selected,
                                               0, bits, l->stream));
  }
  return append(l, l->share.mode, counters.Current(), selected);
}

/* All keys of the range are one: its nonzeros are in order already. */
static amped_status make_equal_keys(loader *l, uint64_t key) {
  uint64_t nnz = l->share.tensor.nnz;
  key_range range = {key, key};
  for (uint64_t first = 0; first < nnz; first += l->capacity)
    AMPED_TRY(make_piece(l, range, first, nnz - first < l->capacity ? nnz - first : l->capacity));
  return AMPED_OK;
}

/* bins[b] = keys low + (b << shift) .. in the range. */
static amped_status count_range(loader *l, key_range range, int shift, uint64_t nbins,
                                uint64_t *bins) {
  uint64_t nnz = l->share.tensor.nnz;
  uint64_t n = 0;
  AMPED_CUDA(cudaMemsetAsync(l->d_bins, 0, nbins * sizeof *bins, l->stream));
  for (uint64_t first = 0; first < nnz; first += n) {
    n = nnz - first < most_counters ? nnz - first : most_counters;
    count_keys<<<blocks_for(n), block_threads, 0, l->stream>>>(l->share, first, n, range, shift,
                                                               (word *)l->d_bins);
    AMPED_CUDA_LAUNCHED("the histogram of a synthetic tensor");
  }
  AMPED_CUDA(
      cudaMemcpyAsync(bins, l->d_bins, nbins * sizeof *bins, cudaMemcpyDeviceToHost, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  return AMPED_OK;
}

static amped_status make_range(loader *l, uint64_t low, int free_bits, uint64_t count);

/* Neighbouring bins together as long as they fit in a piece; larger ones divided further. */
static amped_status make_bins(loader *l, uint64_t low, int shift, uint64_t nbins,
                              const uint64_t *bins) {
  for (uint64_t b = 0; b < nbins;) {
    uint64_t sum = bins[b];
    uint64_t end = b + 1;
    if (sum > l->capacity) {
      AMPED_TRY(make_range(l, low + (b << shift), shift, sum));
      b = end;
      continue;
    }
    while (end < nbins && sum + bins[end] <= l->capacity)
      sum += bins[end++];
    key_range range = {low + (b << shift),
                       low + ((end - 1) << shift) + ((UINT64_C(1) << shift) - 1)};
    if (sum > 0)
      AMPED_TRY(make_piece(l, range, 0, l->share.tensor.nnz));
    b = end;
  }
  return AMPED_OK;
}

/* Make the `count` nonzeros whose keys are low with any free_bits low bits. */
static amped_status make_range(loader *l, uint64_t low, int free_bits, uint64_t count) {
  uint64_t *bins = nullptr;
  uint64_t ones = free_bits < 64 ? (UINT64_C(1) << free_bits) - 1 : UINT64_MAX;
  key_range range = {low, low | ones};
  if (count == 0)
    return AMPED_OK;
  if (count <= l->capacity)
    return make_piece(l, range, 0, l->share.tensor.nnz);
  if (free_bits == 0)
    return make_equal_keys(l, low);
  int bits = free_bits < histogram_bits ? free_bits : histogram_bits;
  int shift = free_bits - bits;
  uint64_t nbins = UINT64_C(1) << bits;
  AMPED_TRY(amped_alloc(&bins, nbins, sizeof *bins, "a histogram of keys"));
  amped_status status = count_range(l, range, shift, nbins, bins);
  if (status == AMPED_OK)
    status = make_bins(l, low, shift, nbins, bins);
  amped_free(bins);
  return status;
}

/* The context of amped_synthetic_counter is the stream. */
static amped_status count_on_stream(void *stream, const amped_synthetic *t, int mode,
                                    uint64_t width, uint64_t first, uint64_t count,
                                    uint64_t *idp_nnz) {
  return amped_synthetic_cuda_count(t, mode, width, first, count, idp_nnz, nullptr,
                                    (cudaStream_t)stream);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

/* Copies of the plan's tables: positions of every mode, rows of the output mode. */
static amped_status upload_tables(loader *l) {
  const amped_plan *plan = l->plan;
  const amped_mode_plan *out = &plan->modes[l->share.mode];
  uint64_t entries = out->idp_count;
  for (int m = 0; m < plan->order; m++)
    entries += plan->modes[m].idp_count;
  AMPED_TRY(amped_cuda_malloc(&l->d_tables, entries * sizeof(uint64_t), "the plan's tables"));
  uint64_t *at = (uint64_t *)l->d_tables;
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    AMPED_CUDA(cudaMemcpyAsync(at, mode->position, mode->idp_count * sizeof *at,
                               cudaMemcpyHostToDevice, l->stream));
    l->share.modes[m].position = at;
    at += mode->idp_count;
  }
  AMPED_CUDA(cudaMemcpyAsync(at, out->row, out->idp_count * sizeof *at, cudaMemcpyHostToDevice,
                             l->stream));
  l->share.rows = at;
  AMPED_TRY(amped_cuda_malloc(&l->d_share, sizeof l->share, "the plan's tables"));
  AMPED_CUDA(
      cudaMemcpyAsync(l->d_share, &l->share, sizeof l->share, cudaMemcpyHostToDevice, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  return AMPED_OK;
}

/* What CUB wants for pieces of `capacity`; it takes no pointers for that. */
static amped_status temporary_bytes(const loader *l, uint64_t capacity, size_t *bytes) {
  uint64_t nnz = l->share.tensor.nnz;
  uint64_t most = nnz < most_counters ? nnz : most_counters;
  key_range all = {0, UINT64_MAX};
  cub::DoubleBuffer<uint64_t> pairs(nullptr, nullptr);
  size_t select = 0;
  size_t sort = 0;
  AMPED_CUDA(cub::DeviceSelect::If(nullptr, select, thrust::counting_iterator<uint64_t>(0),
                                   (uint64_t *)nullptr, (uint64_t *)nullptr, (int)most,
                                   range_test{nullptr, all}, l->stream));
  AMPED_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, sort, pairs, pairs, (int)capacity, 0, 64,
                                             l->stream));
  *bytes = select > sort ? select : sort;
  return AMPED_OK;
}

/* The largest piece for which keys, counters, a run and CUB's part take no more than scratch. */
static amped_status set_capacity(loader *l, uint64_t nnz, uint64_t scratch_bytes) {
  uint64_t each = 4 * sizeof(uint64_t);
  uint64_t most = nnz < most_piece ? nnz : most_piece;
  l->capacity = scratch_bytes / (each + amped_plan_nonzero_bytes(l->plan));
  for (;;) {
    if (l->capacity < least_piece)
      l->capacity = least_piece;
    if (l->capacity > most)
      l->capacity = most;
    l->run = l->capacity < most_run ? l->capacity : most_run;
    AMPED_TRY(temporary_bytes(l, l->capacity, &l->temporary_bytes));
    uint64_t bytes = l->capacity * each + l->run * amped_plan_nonzero_bytes(l->plan) +
                     l->temporary_bytes + (sizeof(uint64_t) << histogram_bits);
    if (bytes <= scratch_bytes || l->capacity <= least_piece)
      return AMPED_OK;
    l->capacity -= l->capacity / 8;
  }
}

static amped_status allocate(loader *l) {
  static const char what[] = "a piece of the synthetic tensor";
  const amped_plan *plan = l->plan;
  AMPED_TRY(amped_cuda_malloc(&l->d_bins, sizeof(uint64_t) << histogram_bits, what));
  AMPED_TRY(amped_cuda_malloc(&l->d_selected, sizeof(uint64_t), what));
  for (int i = 0; i < 2; i++) {
    AMPED_TRY(amped_cuda_malloc(&l->d_keys[i], l->capacity * sizeof(uint64_t), what));
    AMPED_TRY(amped_cuda_malloc(&l->d_counters[i], l->capacity * sizeof(uint64_t), what));
  }
  AMPED_TRY(amped_cuda_malloc(&l->d_temporary, l->temporary_bytes, what));
  AMPED_TRY(amped_cuda_malloc(&l->d_rows, l->run * plan->index_type, what));
  for (int i = 0; i < plan->order - 1; i++)
    AMPED_TRY(amped_cuda_malloc(&l->d_inputs[i], l->run * plan->index_type, what));
  return amped_cuda_malloc(&l->d_values, l->run * plan->value_type, what);
}

static void release(loader *l) {
  (void)cudaStreamSynchronize(l->stream);
  amped_cuda_free(l->d_tables);
  amped_cuda_free(l->d_share);
  amped_cuda_free(l->d_bins);
  amped_cuda_free(l->d_selected);
  for (int i = 0; i < 2; i++) {
    amped_cuda_free(l->d_keys[i]);
    amped_cuda_free(l->d_counters[i]);
  }
  amped_cuda_free(l->d_temporary);
  amped_cuda_free(l->d_rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    amped_cuda_free(l->d_inputs[i]);
  amped_cuda_free(l->d_values);
}

amped_status amped_synthetic_cuda_load(const amped_synthetic *t, const amped_plan *plan, int mode,
                                       uint64_t scratch_bytes, amped_copies_cuda *copies,
                                       cudaStream_t stream) {
  uint64_t nnz = plan->modes[mode].rank_nnz[plan->rank];
  amped_status status = AMPED_OK;
  loader l;
  if (nnz == 0)
    return AMPED_OK;
  memset(&l, 0, sizeof l);
  l.plan = plan;
  l.copies = copies;
  l.stream = stream;
  AMPED_GO(done, amped_synthetic_share_make(&l.share, t, plan, mode, count_on_stream, stream));
  AMPED_GO(done, upload_tables(&l));
  AMPED_GO(done, set_capacity(&l, nnz, scratch_bytes));
  AMPED_GO(done, allocate(&l));
  AMPED_GO(done, make_range(&l, 0, l.share.key_bits, nnz));
  AMPED_GO(done, amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  if (l.appended != nnz)
    status =
        amped_error(AMPED_FAILED, "CUDA",
                    "mode %d of the synthetic tensor has %" PRIu64 " nonzeros, not the %" PRIu64
                    " that were counted; the GPU miscomputes, see the system log",
                    mode, l.appended, nnz);
done:
  release(&l);
  return status;
}
