/* Sort copy: makes a rank's copy on the GPU from nonzeros in any order, which are identified by
 * numbers. Twin of src/cpu/load/sort_copy_cpu.h.
 *
 * A copy is made piece by piece. A piece is the nonzeros whose keys lie in one range. For each
 * piece, kernels read all numbers again, keep the numbers in the range, and sort them. The
 * workspace therefore depends on the piece, not on the number of nonzeros, and nonzeros can lie in
 * any memory.
 *
 * Ranges come from a histogram of the keys' leading bits. A bin may be larger than a piece, for
 * example one frequent row of a short mode. Such a bin is divided by its next bits, and by the next
 * words of the key. If no bits are left, all its keys are equal. Its nonzeros are then in the order
 * of their numbers, and ranges of numbers divide it.
 *
 * A caller has a struct `source` for kernels, which holds the nonzeros, and these overloads for it
 * (see sort_copy_cpu.h):
 *
 *     __device__ bool sort_copy_row(const source *, uint64_t k, uint64_t *row)
 *     __device__ uint64_t sort_copy_word(const source *, int word, uint64_t row, uint64_t k)
 *     __device__ uint64_t sort_copy_position(const source *, int mode, uint64_t k)
 *     __device__ double sort_copy_value(const source *, uint64_t k)
 *
 * If the row that begins the key is not the copy's row, there is also
 *
 *     __device__ uint64_t sort_copy_row_of(const source *, uint64_t row, uint64_t k)
 */
#ifndef AMPED_SORT_COPY_CUDA_CUH
#define AMPED_SORT_COPY_CUDA_CUH

#include <cassert>
#include <cstring>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "cuda/sorted/copies_cuda.h"

#include "cuda/device/grid_cuda.cuh"
#include "cuda/device/sort_cuda.h"

extern "C" {
#include "base/mem.h"
}

template <typename source>
static __device__ uint64_t sort_copy_row_of(const source *, uint64_t row, uint64_t) {
  return row;
}

namespace amped_sort_copy {

/* Limits in nonzeros: least and most of a piece, and most of a batch that is appended at once. */
static const uint64_t least_piece = UINT64_C(1) << 16;
static const uint64_t most_piece = UINT64_C(1) << 29;
static const uint64_t most_batch = UINT64_C(1) << 24;

/* Most numbers of nonzeros in one launch, because CUB counts them in an int. */
static const uint64_t most_numbers = UINT64_C(1) << 29;

static const int histogram_bits = 20;

/* Bytes of workspace for a nonzero of a piece: keys and numbers, before and after sorting. */
static const uint64_t piece_bytes = 4 * sizeof(uint64_t);

typedef unsigned long long word; /* uint64_t, as CUDA's atomics take it */

/* The keys whose words before word `at` equal the prefix, and whose word `at` is low .. high, both
 * included. */
struct key_range {
  int at;
  uint64_t low, high;
  uint64_t prefix[AMPED_MAX_ORDER];
};

/* The nonzeros that a kernel selects. */
template <typename source> struct query {
  source nonzeros;
  int row_shift; /* bit at which the row begins in word 0 */
  key_range range;
};

template <typename source> struct loader {
  const amped_plan *plan;
  int mode;
  uint64_t total; /* number of all nonzeros of the source */
  int words;
  const uint8_t *word_bits;
  query<source> q;
  amped_copies_cuda *copies;
  cudaStream_t stream;
  bool with_repeats;
  uint64_t capacity; /* nonzeros of a piece */
  uint64_t batch;    /* nonzeros that are appended at once */
  uint64_t appended;
  uint64_t last; /* number of the last nonzero appended */
  void *d_query; /* device copy of q */
  void *d_bins;
  void *d_selected; /* one counter */
  void *d_repeats;  /* one counter */
  void *d_keys[2];  /* before and after sorting */
  void *d_numbers[2];
  void *d_temporary; /* CUB's */
  size_t temporary_bytes;
  void *d_rows;
  void *d_inputs[AMPED_MAX_ORDER - 1];
  void *d_values;
};

/* --- kernels ------------------------------------------------------------------------------------
 */

/* True if nonzero k belongs to the rank's shard, and its key is in the range. *key: word range.at
 * of the key. */
template <typename source>
static __device__ bool find_key(const query<source> *q, uint64_t k, uint64_t *key) {
  const key_range *r = &q->range;
  uint64_t row = 0;
  uint64_t low = r->at == 0 ? r->low : r->prefix[0];
  uint64_t high = r->at == 0 ? r->high : r->prefix[0];
  if (!sort_copy_row(&q->nonzeros, k, &row) || row < low >> q->row_shift ||
      row > high >> q->row_shift)
    return false;
  for (int w = 0; w < r->at; w++)
    if (sort_copy_word(&q->nonzeros, w, row, k) != r->prefix[w])
      return false;
  *key = sort_copy_word(&q->nonzeros, r->at, row, k);
  return *key >= r->low && *key <= r->high;
}

template <typename source>
static __device__ __noinline__ bool is_in_range(const query<source> *q, uint64_t k) {
  uint64_t key = 0;
  return find_key(q, k, &key);
}

/* is_in_range for CUB. CUB copies the struct into every thread, so it holds a pointer to the
 * query. */
template <typename source> struct range_test {
  const query<source> *d_query;
  __device__ bool operator()(uint64_t k) const {
    return is_in_range(d_query, k);
  }
};

template <typename source>
static __global__ void count_keys(const query<source> q, uint64_t first, uint64_t count, int shift,
                                  word *bins) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t key = 0;
    if (find_key(&q, first + i, &key))
      atomicAdd(&bins[(key - q.range.low) >> shift], 1ULL);
  }
}

template <typename source>
static __global__ void make_keys(const query<source> q, int at, const uint64_t *numbers,
                                 uint64_t count, uint64_t *keys) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t row = 0;
    (void)sort_copy_row(&q.nonzeros, numbers[i], &row);
    keys[i] = sort_copy_word(&q.nonzeros, at, row, numbers[i]);
  }
}

template <typename source>
static __device__ bool same_key(const source *nonzeros, int words, uint64_t a, uint64_t b) {
  uint64_t row_a = 0;
  uint64_t row_b = 0;
  (void)sort_copy_row(nonzeros, a, &row_a);
  (void)sort_copy_row(nonzeros, b, &row_b);
  for (int w = 0; w < words; w++)
    if (sort_copy_word(nonzeros, w, row_a, a) != sort_copy_word(nonzeros, w, row_b, b))
      return false;
  return true;
}

/* Count the nonzeros with the same key as the nonzero before them. The nonzeros are sorted; `keys`
 * holds one word of their keys; `before` is the nonzero before the first. */
template <typename source>
static __global__ void count_repeats(const query<source> q, int words, const uint64_t *numbers,
                                     const uint64_t *keys, uint64_t count, bool has_before,
                                     uint64_t before, word *total) {
  unsigned repeats = 0;
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    if (i > 0)
      repeats += keys[i] == keys[i - 1] && same_key(&q.nonzeros, words, numbers[i - 1], numbers[i]);
    else if (has_before)
      repeats += same_key(&q.nonzeros, words, before, numbers[0]);
  }
  if (repeats > 0)
    atomicAdd(total, (word)repeats);
}

/* The arrays of a batch. */
struct batch_arrays {
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
};

template <typename source, typename index, typename value>
static __global__ void make_batch(const query<source> q, int order, int mode,
                                  const uint64_t *numbers, uint64_t count, batch_arrays out) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t k = numbers[i];
    uint64_t row = 0;
    int input = 0;
    (void)sort_copy_row(&q.nonzeros, k, &row);
    ((index *)out.rows)[i] = (index)sort_copy_row_of(&q.nonzeros, row, k);
    for (int m = 0; m < order; m++)
      if (m != mode)
        ((index *)out.inputs[input++])[i] = (index)sort_copy_position(&q.nonzeros, m, k);
    ((value *)out.values)[i] = (value)sort_copy_value(&q.nonzeros, k);
  }
}

/* --- pieces -------------------------------------------------------------------------------------
 */

template <typename source, typename index, typename value>
static void launch_batch(const loader<source> *l, const uint64_t *d_numbers, uint64_t count,
                         const batch_arrays *out) {
  make_batch<source, index, value><<<blocks_for(count), block_threads, 0, l->stream>>>(
      l->q, l->plan->order, l->mode, d_numbers, count, *out);
}

template <typename source>
static amped_status fill_batch(const loader<source> *l, const uint64_t *d_numbers, uint64_t count) {
  const amped_plan *plan = l->plan;
  batch_arrays out;
  out.rows = l->d_rows;
  memcpy(out.inputs, l->d_inputs, sizeof out.inputs);
  out.values = l->d_values;
  if (plan->index_type == AMPED_U32 && plan->value_type == AMPED_F32)
    launch_batch<source, uint32_t, float>(l, d_numbers, count, &out);
  else if (plan->index_type == AMPED_U32)
    launch_batch<source, uint32_t, double>(l, d_numbers, count, &out);
  else if (plan->value_type == AMPED_F32)
    launch_batch<source, uint64_t, float>(l, d_numbers, count, &out);
  else
    launch_batch<source, uint64_t, double>(l, d_numbers, count, &out);
  AMPED_CUDA_LAUNCHED("a batch of a copy");
  return AMPED_OK;
}

template <typename source>
static amped_status append(loader<source> *l, const uint64_t *d_numbers, uint64_t count) {
  uint64_t n = 0;
  for (uint64_t done = 0; done < count; done += n) {
    amped_batch batch = {};
    n = count - done < l->batch ? count - done : l->batch;
    AMPED_TRY(fill_batch(l, d_numbers + done, n));
    batch.count = n;
    batch.rows = l->d_rows;
    for (int i = 0; i < l->plan->order - 1; i++)
      batch.inputs[i] = l->d_inputs[i];
    batch.values = l->d_values;
    AMPED_TRY(amped_copies_cuda_append(l->copies, l->mode, &batch));
  }
  l->appended += count;
  return AMPED_OK;
}

template <typename source>
static amped_status set_range(loader<source> *l, const key_range *range) {
  l->q.range = *range;
  AMPED_CUDA(cudaMemcpyAsync(l->d_query, &l->q, sizeof l->q, cudaMemcpyHostToDevice, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  return AMPED_OK;
}

/* Select the numbers first .. first + count - 1 that are in the range. Append them to d_numbers[0],
 * which holds *selected numbers already. */
template <typename source>
static amped_status select_some(loader<source> *l, uint64_t first, uint64_t count,
                                uint64_t *selected) {
  uint64_t found = 0;
  size_t bytes = l->temporary_bytes;
  AMPED_CUDA(cub::DeviceSelect::If(
      l->d_temporary, bytes, thrust::counting_iterator<uint64_t>(first),
      (uint64_t *)l->d_numbers[0] + *selected, (uint64_t *)l->d_selected, (int)count,
      range_test<source>{(const query<source> *)l->d_query}, l->stream));
  AMPED_CUDA(
      cudaMemcpyAsync(&found, l->d_selected, sizeof found, cudaMemcpyDeviceToHost, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  *selected += found;
  return AMPED_OK;
}

/* Returns the number of low bits in which keys of a range can differ. */
static int differing_bits(const key_range *range) {
  uint64_t difference = range->low ^ range->high;
  int bits = 0;
  while (bits < 64 && difference >> bits != 0)
    bits++;
  return bits;
}

static uint64_t *keys_of(const amped_sort_cuda *pairs) {
  return static_cast<uint64_t *>(pairs->d_keys[0]);
}

static uint64_t *numbers_of(const amped_sort_cuda *pairs) {
  return static_cast<uint64_t *>(pairs->d_numbers[0]);
}

/* Sort the selected numbers by their keys, word by word: the last word first, the range's word at
 * the end. The keys are then the range's word. */
template <typename source>
static amped_status sort_piece(loader<source> *l, amped_sort_cuda *pairs) {
  for (int w = l->words - 1; w >= l->q.range.at; w--) {
    pairs->bits = w > l->q.range.at ? l->word_bits[w] : differing_bits(&l->q.range);
    make_keys<<<blocks_for(pairs->count), block_threads, 0, l->stream>>>(
        l->q, w, numbers_of(pairs), pairs->count, keys_of(pairs));
    AMPED_CUDA_LAUNCHED("the keys of a copy");
    if (pairs->bits > 0)
      AMPED_TRY(amped_sort_cuda_run(pairs, l->d_temporary, l->temporary_bytes, l->stream));
  }
  return AMPED_OK;
}

template <typename source>
static amped_status note_repeats(loader<source> *l, const uint64_t *d_numbers,
                                 const uint64_t *d_keys, uint64_t count) {
  count_repeats<<<blocks_for(count), block_threads, 0, l->stream>>>(
      l->q, l->words, d_numbers, d_keys, count, l->appended > 0, l->last, (word *)l->d_repeats);
  AMPED_CUDA_LAUNCHED("the repeats of a copy");
  AMPED_CUDA(cudaMemcpyAsync(&l->last, d_numbers + count - 1, sizeof l->last,
                             cudaMemcpyDeviceToHost, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  return AMPED_OK;
}

/* Make the nonzeros with keys in the range and numbers first .. first + count - 1: at most a
 * piece. */
template <typename source>
static amped_status make_piece(loader<source> *l, const key_range *range, uint64_t first,
                               uint64_t count) {
  uint64_t selected = 0;
  uint64_t n = 0;
  AMPED_TRY(set_range(l, range));
  for (uint64_t done = 0; done < count; done += n) {
    n = count - done < most_numbers ? count - done : most_numbers;
    AMPED_TRY(select_some(l, first + done, n, &selected));
  }
  assert(selected <= l->capacity);
  if (selected == 0)
    return AMPED_OK;
  amped_sort_cuda pairs = {.key_bytes = (int)sizeof(uint64_t),
                           .number_bytes = (int)sizeof(uint64_t),
                           .count = selected,
                           .d_keys = {l->d_keys[0], l->d_keys[1]},
                           .d_numbers = {l->d_numbers[0], l->d_numbers[1]}};
  AMPED_TRY(sort_piece(l, &pairs));
  if (l->with_repeats)
    AMPED_TRY(note_repeats(l, numbers_of(&pairs), keys_of(&pairs), selected));
  return append(l, numbers_of(&pairs), selected);
}

/* --- ranges -------------------------------------------------------------------------------------
 */

static key_range range_of(const key_range *outer, uint64_t low, uint64_t high) {
  key_range range = *outer;
  range.low = low;
  range.high = high;
  return range;
}

/* Make a range whose keys are all equal: its nonzeros are in order already. */
template <typename source>
static amped_status make_equal_keys(loader<source> *l, const key_range *range) {
  for (uint64_t first = 0; first < l->total; first += l->capacity)
    AMPED_TRY(make_piece(l, range, first,
                         l->total - first < l->capacity ? l->total - first : l->capacity));
  return AMPED_OK;
}

/* bins[b] = number of the range's nonzeros with keys from low + (b << shift) to the next bin. */
template <typename source>
static amped_status count_range(loader<source> *l, const key_range *range, int shift,
                                uint64_t nbins, uint64_t *bins) {
  uint64_t n = 0;
  l->q.range = *range;
  AMPED_CUDA(cudaMemsetAsync(l->d_bins, 0, nbins * sizeof *bins, l->stream));
  for (uint64_t first = 0; first < l->total; first += n) {
    n = l->total - first < most_numbers ? l->total - first : most_numbers;
    count_keys<<<blocks_for(n), block_threads, 0, l->stream>>>(l->q, first, n, shift,
                                                               (word *)l->d_bins);
    AMPED_CUDA_LAUNCHED("the histogram of a copy");
  }
  AMPED_CUDA(
      cudaMemcpyAsync(bins, l->d_bins, nbins * sizeof *bins, cudaMemcpyDeviceToHost, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  return AMPED_OK;
}

template <typename source>
static amped_status make_range(loader<source> *l, const key_range *outer, uint64_t low,
                               int free_bits, uint64_t count);

/* Make pieces of neighbouring bins. A piece takes bins while they fit. Divide a bin that is too
 * large for a piece. */
template <typename source>
static amped_status make_bins(loader<source> *l, const key_range *outer, int shift, uint64_t nbins,
                              const uint64_t *bins) {
  for (uint64_t b = 0; b < nbins;) {
    uint64_t low = outer->low + (b << shift);
    uint64_t sum = bins[b];
    uint64_t end = b + 1;
    if (sum > l->capacity) {
      AMPED_TRY(make_range(l, outer, low, shift, sum));
      b = end;
      continue;
    }
    while (end < nbins && sum + bins[end] <= l->capacity)
      sum += bins[end++];
    key_range range =
        range_of(outer, low, outer->low + ((end - 1) << shift) + ((UINT64_C(1) << shift) - 1));
    if (sum > 0)
      AMPED_TRY(make_piece(l, &range, 0, l->total));
    b = end;
  }
  return AMPED_OK;
}

/* Continue with the next word of the keys: one word is the same in the whole range. */
template <typename source>
static amped_status make_next_word(loader<source> *l, const key_range *outer, uint64_t count) {
  key_range next = *outer;
  if (outer->at + 1 == l->words)
    return make_equal_keys(l, outer);
  next.prefix[outer->at] = outer->low;
  next.at++;
  return make_range(l, &next, 0, l->word_bits[next.at], count);
}

/* Make the `count` nonzeros of the outer range whose keys equal `low`, except in the free_bits low
 * bits. */
template <typename source>
static amped_status make_range(loader<source> *l, const key_range *outer, uint64_t low,
                               int free_bits, uint64_t count) {
  uint64_t *bins = nullptr;
  uint64_t ones = free_bits < 64 ? (UINT64_C(1) << free_bits) - 1 : UINT64_MAX;
  key_range range = range_of(outer, low, low | ones);
  if (count == 0)
    return AMPED_OK;
  if (count <= l->capacity)
    return make_piece(l, &range, 0, l->total);
  if (free_bits == 0)
    return make_next_word(l, &range, count);
  int bits = free_bits < histogram_bits ? free_bits : histogram_bits;
  int shift = free_bits - bits;
  uint64_t nbins = UINT64_C(1) << bits;
  AMPED_TRY(amped_alloc(&bins, nbins, sizeof *bins, "a histogram of keys"));
  amped_status status = count_range(l, &range, shift, nbins, bins);
  if (status == AMPED_OK)
    status = make_bins(l, &range, shift, nbins, bins);
  amped_free(bins);
  return status;
}

/* --- memory -------------------------------------------------------------------------------------
 */

/* Find CUB's workspace for pieces of `capacity` nonzeros. */
template <typename source>
static amped_status temporary_bytes(const loader<source> *l, uint64_t capacity, size_t *bytes) {
  uint64_t most = l->total < most_numbers ? l->total : most_numbers;
  const amped_sort_cuda pairs = {.key_bytes = (int)sizeof(uint64_t),
                                 .number_bytes = (int)sizeof(uint64_t),
                                 .bits = 64,
                                 .count = capacity};
  size_t select = 0;
  size_t sort = 0;
  AMPED_CUDA(cub::DeviceSelect::If(nullptr, select, thrust::counting_iterator<uint64_t>(0),
                                   (uint64_t *)nullptr, (uint64_t *)nullptr, (int)most,
                                   range_test<source>{nullptr}, l->stream));
  AMPED_TRY(amped_sort_cuda_bytes(&pairs, &sort));
  *bytes = select > sort ? select : sort;
  return AMPED_OK;
}

/* Set the number of nonzeros per piece and per batch, so that keys, numbers, batch and CUB's memory
 * fit in scratch_bytes. The least piece is used even if it does not fit. */
template <typename source>
static amped_status set_capacity(loader<source> *l, uint64_t nnz, uint64_t scratch_bytes) {
  uint64_t most = nnz < most_piece ? nnz : most_piece;
  l->capacity = scratch_bytes / (piece_bytes + amped_plan_nonzero_bytes(l->plan));
  for (;;) {
    if (l->capacity < least_piece)
      l->capacity = least_piece;
    if (l->capacity > most)
      l->capacity = most;
    l->batch = l->capacity < most_batch ? l->capacity : most_batch;
    AMPED_TRY(temporary_bytes(l, l->capacity, &l->temporary_bytes));
    uint64_t bytes = l->capacity * piece_bytes + l->batch * amped_plan_nonzero_bytes(l->plan) +
                     l->temporary_bytes + (sizeof(uint64_t) << histogram_bits);
    if (bytes <= scratch_bytes || l->capacity <= least_piece)
      return AMPED_OK;
    l->capacity -= l->capacity / 8;
  }
}

template <typename source> static amped_status allocate(loader<source> *l) {
  static const char what[] = "a piece of a copy";
  const amped_plan *plan = l->plan;
  AMPED_TRY(amped_cuda_malloc(&l->d_query, sizeof l->q, what));
  AMPED_TRY(amped_cuda_malloc(&l->d_bins, sizeof(uint64_t) << histogram_bits, what));
  AMPED_TRY(amped_cuda_malloc(&l->d_selected, sizeof(uint64_t), what));
  AMPED_TRY(amped_cuda_malloc(&l->d_repeats, sizeof(word), what));
  AMPED_CUDA(cudaMemsetAsync(l->d_repeats, 0, sizeof(word), l->stream));
  for (int i = 0; i < 2; i++) {
    AMPED_TRY(amped_cuda_malloc(&l->d_keys[i], l->capacity * sizeof(uint64_t), what));
    AMPED_TRY(amped_cuda_malloc(&l->d_numbers[i], l->capacity * sizeof(uint64_t), what));
  }
  AMPED_TRY(amped_cuda_malloc(&l->d_temporary, l->temporary_bytes, what));
  AMPED_TRY(amped_cuda_malloc(&l->d_rows, l->batch * plan->index_type, what));
  for (int i = 0; i < plan->order - 1; i++)
    AMPED_TRY(amped_cuda_malloc(&l->d_inputs[i], l->batch * plan->index_type, what));
  return amped_cuda_malloc(&l->d_values, l->batch * plan->value_type, what);
}

template <typename source> static void release(loader<source> *l) {
  (void)cudaStreamSynchronize(l->stream);
  amped_cuda_free(l->d_query);
  amped_cuda_free(l->d_bins);
  amped_cuda_free(l->d_selected);
  amped_cuda_free(l->d_repeats);
  for (int i = 0; i < 2; i++) {
    amped_cuda_free(l->d_keys[i]);
    amped_cuda_free(l->d_numbers[i]);
  }
  amped_cuda_free(l->d_temporary);
  amped_cuda_free(l->d_rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    amped_cuda_free(l->d_inputs[i]);
  amped_cuda_free(l->d_values);
}

template <typename source>
static amped_status take_repeats(const loader<source> *l, uint64_t *repeats) {
  AMPED_CUDA(
      cudaMemcpyAsync(repeats, l->d_repeats, sizeof *repeats, cudaMemcpyDeviceToHost, l->stream));
  AMPED_CUDA(cudaStreamSynchronize(l->stream));
  return AMPED_OK;
}

} // namespace amped_sort_copy

/* Nonzeros with numbers 0 .. total - 1. Their keys have `words` words of word_bits bits each; the
 * row begins at bit row_shift of word 0. */
template <typename source> struct amped_sort_copy_cuda {
  const amped_plan *plan;
  int mode;
  uint64_t total;
  int words;
  const uint8_t *word_bits;
  int row_shift;
  source nonzeros;
};

/* Append the shard of plan->rank in mode's copy to copies. This uses about scratch_bytes of device
 * memory, but at least the memory for a piece of 65536 nonzeros. The amount changes the time, not
 * the result. *repeats: as in src/cpu/load/sort_copy_cpu.h. */
template <typename source>
static amped_status amped_sort_copy_on_gpu(const amped_sort_copy_cuda<source> *c,
                                           uint64_t scratch_bytes, amped_copies_cuda *copies,
                                           cudaStream_t stream, uint64_t *repeats) {
  uint64_t nnz = c->plan->modes[c->mode].copy.rank_nnz[c->plan->rank];
  amped_status status = AMPED_OK;
  amped_sort_copy::key_range all = {};
  amped_sort_copy::loader<source> l = {};
  if (repeats != nullptr)
    *repeats = 0;
  if (nnz == 0)
    return AMPED_OK;
  l.plan = c->plan;
  l.mode = c->mode;
  l.total = c->total;
  l.words = c->words;
  l.word_bits = c->word_bits;
  l.q.nonzeros = c->nonzeros;
  l.q.row_shift = c->row_shift;
  l.copies = copies;
  l.stream = stream;
  l.with_repeats = repeats != nullptr;
  AMPED_GO(done, amped_sort_copy::set_capacity(&l, nnz, scratch_bytes));
  AMPED_GO(done, amped_sort_copy::allocate(&l));
  AMPED_GO(done, amped_sort_copy::make_range(&l, &all, 0, l.word_bits[0], nnz));
  if (l.appended != nnz) {
    status = amped_error(AMPED_FAILED, NULL,
                         "mode %d has %" PRIu64 " nonzeros on rank %d, not the %" PRIu64
                         " that were counted; this is a mistake of amped_mpi, please report it",
                         l.mode + 1, l.appended, c->plan->rank, nnz);
    goto done;
  }
  if (repeats != nullptr)
    status = amped_sort_copy::take_repeats(&l, repeats);
done:
  amped_sort_copy::release(&l);
  return status;
}

#endif
