/* A rank's part of a list of nonzeros in device memory: counts them, and distributes them to
 * ranks. */
#include "cuda/load/list_part_cuda.h"

#include <cstring>

#include "cuda/device/buffers_cuda.h"
#include "cuda/device/grid_cuda.cuh"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/device/sort_cuda.h"
#include "cuda/device/staged_cuda.h"

extern "C" {
#include "base/mem.h"
#include "base/random.h"
}

namespace {

/* Slots of the hash table of distinct values, a power of two. No finite value has the bits of a
 * free slot. */
constexpr uint64_t value_slots = 2 * AMPED_MAX_CODES;
constexpr unsigned long long free_slot = ~0ULL;

constexpr unsigned sum_blocks = 256; /* fixed, so that the order of additions is always the same */

typedef unsigned long long word; /* uint64_t, as CUDA's atomics take it */

/* The arrays of a part, for kernels. */
struct arrays {
  int order;
  const void *indices[AMPED_MAX_ORDER];
  unsigned index_bytes[AMPED_MAX_ORDER];
  const void *values;
  unsigned value_bytes;
};

/* Tables that give the receiving rank of a nonzero. */
struct receivers {
  int mode; /* mode, or AMPED_BY_COORDINATE */
  unsigned nranks;
  uint64_t width;
  const unsigned *of_idps; /* a rank, or nranks + number of a split */
  const uint64_t *cuts;    /* [nranks + 1] */
};

__device__ uint64_t index_at(const void *array, unsigned bytes, uint64_t k) {
  switch (bytes) {
  case 1:
    return ((const uint8_t *)array)[k];
  case 2:
    return ((const uint16_t *)array)[k];
  case 4:
    return ((const uint32_t *)array)[k];
  default:
    return ((const uint64_t *)array)[k];
  }
}

__device__ double value_at(const arrays &a, uint64_t k) {
  return a.value_bytes == 4 ? (double)((const float *)a.values)[k] : ((const double *)a.values)[k];
}

/* Returns the iDp of nonzero k. Uses 32 bits if they suffice, because GPUs divide 32-bit numbers
 * several times faster. */
__device__ uint64_t idp_at(const arrays &a, int mode, uint64_t width, uint64_t k) {
  const uint64_t index = index_at(a.indices[mode], a.index_bytes[mode], k);
  return a.index_bytes[mode] <= 4 ? (uint32_t)index / (uint32_t)width : index / width;
}

__device__ uint64_t hash_at(const arrays &a, uint64_t k, double value) {
  uint64_t hash = amped_hash_value(value);
  for (int m = 0; m < a.order; m++)
    hash = amped_hash_index(hash, index_at(a.indices[m], a.index_bytes[m], k));
  return hash;
}

/* --- counting -------------------------------------------------------------------------------- */

__global__ void narrow(const void *from, unsigned from_bytes, uint64_t count, void *to,
                       unsigned to_bytes) {
  for (uint64_t k = thread_number(); k < count; k += grid_threads()) {
    const uint64_t index = index_at(from, from_bytes, k);
    if (to_bytes == 1)
      ((uint8_t *)to)[k] = (uint8_t)index;
    else if (to_bytes == 2)
      ((uint16_t *)to)[k] = (uint16_t)index;
    else if (to_bytes == 4)
      ((uint32_t *)to)[k] = (uint32_t)index;
    else
      ((uint64_t *)to)[k] = index;
  }
}

__global__ void count_idps(const arrays a, int mode, uint64_t width, uint64_t first, uint64_t count,
                           word *idp_nnz) {
  for (uint64_t k = thread_number(); k < count; k += grid_threads())
    atomicAdd(&idp_nnz[idp_at(a, mode, width, first + k)], 1ULL);
}

__global__ void add_hashes(const arrays a, uint64_t first, uint64_t count, word *hash) {
  uint64_t sum = 0;
  for (uint64_t k = thread_number(); k < count; k += grid_threads())
    sum += hash_at(a, first + k, value_at(a, first + k));
  for (int lanes = 16; lanes > 0; lanes /= 2)
    sum += __shfl_down_sync(0xffffffffU, sum, lanes);
  if (threadIdx.x % 32 == 0)
    atomicAdd(hash, (word)sum);
}

/* sums[b] = the sum of the squares of block b's values. */
__global__ void __launch_bounds__(block_threads)
    add_squares(const arrays a, uint64_t first, uint64_t count, amped_dd *sums) {
  __shared__ amped_dd of_threads[block_threads];
  amped_dd sum = {0.0, 0.0};
  for (uint64_t k = thread_number(); k < count; k += grid_threads()) {
    const double value = value_at(a, first + k);
    sum = amped_dd_add(sum, amped_dd_product(value, value));
  }
  of_threads[threadIdx.x] = sum;
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      of_threads[threadIdx.x] =
          amped_dd_add(of_threads[threadIdx.x], of_threads[threadIdx.x + half]);
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = of_threads[0];
}

/* Insert values that are not in the hash table yet, and append them to `values`. The search ends
 * when there is one value too many. */
__global__ void find_values(const arrays a, uint64_t first, uint64_t count, word *slots,
                            unsigned *found, double *values) {
  volatile unsigned *const so_far = found;
  for (uint64_t k = thread_number(); k < count && *so_far <= AMPED_MAX_CODES; k += grid_threads()) {
    const double value = value_at(a, first + k) + 0.0; /* minus zero becomes zero */
    const word bits = (word)__double_as_longlong(value);
    uint64_t at = amped_mix64(bits) % value_slots;
    while (*so_far <= AMPED_MAX_CODES) {
      word there = *(volatile word *)&slots[at];
      if (there == free_slot)
        there = atomicCAS(&slots[at], free_slot, bits);
      if (there == bits)
        break;
      if (there == free_slot) { /* this thread inserted the value */
        const unsigned place = atomicAdd(found, 1U);
        if (place < AMPED_MAX_CODES)
          values[place] = value;
        break;
      }
      at = (at + 1) % value_slots;
    }
  }
}

/* --- distribution to ranks ------------------------------------------------------------------- */

/* keys[i] = the rank that receives nonzero first + i, or nranks + the number of its split;
 * numbers[i] = i. */
__global__ void find_receivers(const arrays a, const receivers r, uint64_t first, unsigned count,
                               unsigned *keys, unsigned *numbers) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    keys[i] = r.mode == AMPED_BY_COORDINATE ? (unsigned)(hash_at(a, first + i, 0.0) % r.nranks)
                                            : r.of_idps[idp_at(a, r.mode, r.width, first + i)];
    numbers[i] = (unsigned)i;
  }
}

/* counts[k] = number of keys that are base + k. A warp adds up equal keys first, because there may
 * be few different keys, and atomic additions to one counter are serial. */
__global__ void count_keys(const unsigned *keys, unsigned count, unsigned base, unsigned end,
                           word *counts) {
  const uint64_t steps = (count + grid_threads() - 1) / grid_threads();
  for (uint64_t s = 0; s < steps; s++) {
    const uint64_t i = s * grid_threads() + thread_number();
    const unsigned key = i < count ? keys[i] : end;
    const unsigned equal = __match_any_sync(~0U, key);
    if (key >= base && key < end && threadIdx.x % 32 == (unsigned)__ffs((int)equal) - 1)
      atomicAdd(&counts[key - base], (word)__popc(equal));
  }
}

__device__ unsigned rank_of(const receivers &r, uint64_t number) {
  unsigned low = 0; /* low <= rank < high */
  unsigned high = r.nranks;
  while (high - low > 1) {
    const unsigned middle = low + (high - low) / 2;
    if (r.cuts[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Find the receivers of nonzeros that are sorted by key. Split k's nonzeros begin at place
 * starts[k] and have the numbers from firsts[k] on. ranks[i] = the rank that receives nonzero i;
 * order[i] = i. */
__global__ void split_receivers(const receivers r, const unsigned *keys, const unsigned *numbers,
                                unsigned count, const uint64_t *starts, const uint64_t *firsts,
                                unsigned *ranks, unsigned *order) {
  for (uint64_t j = thread_number(); j < count; j += grid_threads()) {
    const unsigned key = keys[j];
    const unsigned split = key - r.nranks;
    ranks[numbers[j]] = key < r.nranks ? key : rank_of(r, firsts[split] + (j - starts[split]));
    order[j] = (unsigned)j;
  }
}

template <typename T>
__global__ void gather(const T *from, const unsigned *order, unsigned count, T *to) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    to[i] = from[order[i]];
}

bool deals(const amped_list_shape *shape) {
  return shape->nranks > 1;
}

/* Find CUB's temporary memory for windows of `window` nonzeros. */
amped_status sort_bytes(uint64_t window, size_t *bytes) {
  const amped_sort_cuda pairs = {.key_bytes = (int)sizeof(unsigned),
                                 .number_bytes = (int)sizeof(unsigned),
                                 .bits = 32,
                                 .count = window};
  return amped_sort_cuda_bytes(&pairs, bytes);
}

constexpr int last_array = AMPED_MAX_ORDER; /* index of the values */

} // namespace

struct amped_list_part {
  amped_device *device;
  cudaStream_t stream;
  amped_list_shape shape;
  uint64_t held;
  void *d_indices[AMPED_MAX_ORDER]; /* [capacity] of amped_itype_for(dim) */
  void *d_values;                   /* [capacity] */
  void *d_wide;                     /* indices of a wider type, as received */
  uint64_t wide_bytes;
  /* Counting: */
  void *d_tables; /* an iDp table of one mode */
  uint64_t table_bytes;
  uint64_t *h_table;
  void *d_sums; /* [sum_blocks] */
  void *d_hash;
  void *d_slots;
  void *d_found;
  void *d_distinct; /* [AMPED_MAX_CODES] */
  uint64_t distinct;
  /* The mode by which windows are distributed: */
  const amped_plan *plan;
  int mode;
  uint64_t splits;
  void *d_of_idps;
  void *d_cuts;
  void *d_starts; /* [splits] */
  void *d_firsts; /* [splits] */
  uint64_t *h_starts;
  /* The window that was distributed last: */
  uint64_t first, count;
  void *d_keys[2];               /* [window] */
  void *d_order[2];              /* [window] */
  const unsigned *d_distributed; /* the window's nonzeros sorted by rank: one of d_order */
  void *d_counts;                /* [nranks or splits] */
  uint64_t counts_room;
  void *d_temporary;
  size_t temporary_bytes;
  void *sent;                          /* [window] indices of one mode, or values, to send */
  void *arriving[AMPED_MAX_ORDER + 1]; /* [arriving] */
};

/* --- memory ---------------------------------------------------------------------------------- */

/* CUB's query of bytes does not fail for sizes that fit an int. */
static amped_buffers buffers(amped_list_part *p, const amped_list_shape *shape) {
  const amped_buffer_kind passing = shape->device_mpi ? AMPED_BUFFER_DEVICE : AMPED_BUFFER_PINNED;
  size_t temporary = 0;
  amped_buffers b = {};
  b.what = "the nonzeros of a list";
  for (int m = 0; m < shape->order; m++)
    AMPED_BUFFER_OF(&b, DEVICE, p->d_indices[m], shape->capacity, amped_list_index_bytes(shape, m));
  AMPED_BUFFER_OF(&b, DEVICE, p->d_values, shape->capacity, shape->value_type);
  AMPED_BUFFER_OF(&b, DEVICE, p->d_sums, sum_blocks, sizeof(amped_dd));
  AMPED_BUFFER_OF(&b, DEVICE, p->d_hash, 1, sizeof(word));
  AMPED_BUFFER_OF(&b, DEVICE, p->d_slots, value_slots, sizeof(word));
  AMPED_BUFFER_OF(&b, DEVICE, p->d_found, 1, sizeof(unsigned));
  AMPED_BUFFER_OF(&b, DEVICE, p->d_distinct, AMPED_MAX_CODES, sizeof(double));
  if (!deals(shape))
    return b;
  b.what = "the nonzeros in transit";
  (void)sort_bytes(shape->window, &temporary);
  AMPED_BUFFER_OF(&b, DEVICE, p->d_temporary, temporary, 1);
  for (int i = 0; i < 2; i++) {
    AMPED_BUFFER_OF(&b, DEVICE, p->d_keys[i], shape->window, sizeof(unsigned));
    AMPED_BUFFER_OF(&b, DEVICE, p->d_order[i], shape->window, sizeof(unsigned));
  }
  amped_buffer_add(&b, passing, &p->sent, shape->window, sizeof(uint64_t));
  for (int m = 0; m < shape->order; m++)
    amped_buffer_add(&b, passing, &p->arriving[m], shape->arriving,
                     amped_list_index_bytes(shape, m));
  amped_buffer_add(&b, passing, &p->arriving[last_array], shape->arriving, shape->value_type);
  return b;
}

static void require(const amped_device *, const amped_list_shape *shape, uint64_t *device_bytes,
                    uint64_t *host_bytes) {
  amped_list_part none = {};
  *device_bytes = 0;
  *host_bytes = 0;
  amped_buffers_require(buffers(&none, shape), device_bytes, host_bytes);
}

static void destroy(amped_list_part *p) {
  if (p == nullptr)
    return;
  (void)cudaStreamSynchronize(p->stream);
  amped_buffers_cuda_free(buffers(p, &p->shape));
  void *const blocks[] = {p->d_wide,   p->d_tables, p->d_of_idps, p->d_cuts,
                          p->d_starts, p->d_firsts, p->d_counts};
  for (void *block : blocks)
    amped_cuda_free(block);
  amped_free(p->h_table);
  amped_free(p->h_starts);
  amped_free(p);
}

static amped_status allocate(amped_list_part *p) {
  if (deals(&p->shape))
    AMPED_TRY(sort_bytes(p->shape.window, &p->temporary_bytes));
  AMPED_TRY(amped_buffers_cuda_allocate(buffers(p, &p->shape)));
  AMPED_CUDA(cudaMemsetAsync(p->d_slots, 0xff, value_slots * sizeof(word), p->stream));
  AMPED_CUDA(cudaMemsetAsync(p->d_found, 0, sizeof(unsigned), p->stream));
  return AMPED_OK;
}

static amped_status create(amped_device *device, const amped_list_shape *shape,
                           amped_list_part **out) {
  amped_list_part *p = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&p, 1, sizeof *p, "the nonzeros of a list"));
  p->device = device;
  p->stream = device->stream;
  p->shape = *shape;
  amped_status status = allocate(p);
  if (status == AMPED_OK)
    *out = p;
  else
    destroy(p);
  return status;
}

/* Enlarge a block of device memory to at least `bytes`; contents are lost. `*room` = its size in
 * bytes afterwards. */
static amped_status grow(void **d_block, uint64_t *room, uint64_t bytes) {
  if (bytes <= *room)
    return AMPED_OK;
  amped_cuda_free(*d_block);
  *d_block = nullptr;
  *room = 0;
  AMPED_TRY(amped_cuda_malloc(d_block, bytes, "the nonzeros of a list"));
  *room = bytes;
  return AMPED_OK;
}

/* --- nonzeros -------------------------------------------------------------------------------- */

static void *element(void *d_array, uint64_t bytes, uint64_t i) {
  return (char *)d_array + i * bytes;
}

static amped_status to_device(const amped_list_part *p, void *d_to, const void *from,
                              uint64_t bytes) {
  return amped_staged_cuda_put(d_to, from, bytes, p->stream);
}

static amped_status append_indices(amped_list_part *p, int mode, uint64_t count,
                                   const void *indices) {
  const uint64_t from_bytes = p->shape.index_types[mode];
  const uint64_t bytes = amped_list_index_bytes(&p->shape, mode);
  void *const d_to = element(p->d_indices[mode], bytes, p->held);
  if (from_bytes == bytes)
    return to_device(p, d_to, indices, count * bytes);
  AMPED_CUDA(cudaStreamSynchronize(p->stream)); /* another mode's wide indices may be in use */
  AMPED_TRY(grow(&p->d_wide, &p->wide_bytes, count * from_bytes));
  AMPED_TRY(to_device(p, p->d_wide, indices, count * from_bytes));
  narrow<<<blocks_for(count), block_threads, 0, p->stream>>>(p->d_wide, (unsigned)from_bytes, count,
                                                             d_to, (unsigned)bytes);
  AMPED_CUDA_LAUNCHED("the kernel that narrows indices");
  return AMPED_OK;
}

static amped_status append(amped_list_part *p, uint64_t count, void *const *indices,
                           const void *values) {
  const uint64_t value_bytes = p->shape.value_type;
  if (count == 0)
    return AMPED_OK;
  for (int m = 0; m < p->shape.order; m++)
    AMPED_TRY(append_indices(p, m, count, indices[m]));
  AMPED_TRY(to_device(p, element(p->d_values, value_bytes, p->held), values, count * value_bytes));
  AMPED_CUDA(cudaStreamSynchronize(p->stream));
  p->held += count;
  return AMPED_OK;
}

static void clear(amped_list_part *p) {
  p->held = 0;
}

static void view(amped_list_part *p, uint64_t first, uint64_t count, amped_nonzeros *out) {
  memset(out, 0, sizeof *out);
  out->count = count;
  for (int m = 0; m < p->shape.order; m++)
    out->indices[m] = element(p->d_indices[m], amped_list_index_bytes(&p->shape, m), first);
  out->values = element(p->d_values, p->shape.value_type, first);
  out->value_type = p->shape.value_type;
}

static amped_status fetch(amped_list_part *p, const void *from, uint64_t bytes, void *to) {
  AMPED_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, p->stream));
  AMPED_CUDA(cudaStreamSynchronize(p->stream));
  return AMPED_OK;
}

static arrays arrays_of(const amped_list_part *p) {
  arrays a = {};
  a.order = p->shape.order;
  for (int m = 0; m < a.order; m++) {
    a.indices[m] = p->d_indices[m];
    a.index_bytes[m] = (unsigned)amped_list_index_bytes(&p->shape, m);
  }
  a.values = p->d_values;
  a.value_bytes = (unsigned)p->shape.value_type;
  return a;
}

/* --- counting -------------------------------------------------------------------------------- */

static amped_status count_mode(amped_list_part *p, int mode, uint64_t first, uint64_t count,
                               amped_partition *out) {
  const uint64_t bytes = out->idp_count * sizeof(uint64_t);
  if (bytes > p->table_bytes)
    AMPED_TRY(amped_realloc(&p->h_table, out->idp_count, sizeof(uint64_t), "the iDp tables"));
  AMPED_TRY(grow(&p->d_tables, &p->table_bytes, bytes));
  AMPED_CUDA(cudaMemsetAsync(p->d_tables, 0, bytes, p->stream));
  count_idps<<<blocks_for(count), block_threads, 0, p->stream>>>(arrays_of(p), mode, out->width,
                                                                 first, count, (word *)p->d_tables);
  AMPED_CUDA_LAUNCHED("the kernel that counts iDps");
  AMPED_TRY(fetch(p, p->d_tables, bytes, p->h_table));
  for (uint64_t i = 0; i < out->idp_count; i++)
    out->idp_nnz[i] += p->h_table[i];
  return AMPED_OK;
}

static amped_status count_squares(amped_list_part *p, uint64_t first, uint64_t count,
                                  amped_kahan *squares) {
  amped_dd sums[sum_blocks];
  add_squares<<<sum_blocks, block_threads, 0, p->stream>>>(arrays_of(p), first, count,
                                                           (amped_dd *)p->d_sums);
  AMPED_CUDA_LAUNCHED("the kernel that adds squares");
  AMPED_TRY(fetch(p, p->d_sums, sizeof sums, sums));
  for (const amped_dd &sum : sums) {
    amped_kahan_add(squares, (long double)sum.hi);
    amped_kahan_add(squares, (long double)sum.lo);
  }
  return AMPED_OK;
}

/* Pass the values that are new in this window to the search on the host. */
static amped_status count_values(amped_list_part *p, uint64_t first, uint64_t count,
                                 amped_dictionary_search *search) {
  unsigned found = 0;
  double *values = nullptr;
  if (search->too_many)
    return AMPED_OK;
  find_values<<<blocks_for(count), block_threads, 0, p->stream>>>(
      arrays_of(p), first, count, (word *)p->d_slots, (unsigned *)p->d_found,
      (double *)p->d_distinct);
  AMPED_CUDA_LAUNCHED("the kernel that looks for distinct values");
  AMPED_TRY(fetch(p, p->d_found, sizeof found, &found));
  search->too_many = found > AMPED_MAX_CODES;
  if (search->too_many || found == p->distinct)
    return AMPED_OK;
  const uint64_t more = found - p->distinct;
  AMPED_TRY(amped_alloc(&values, more, sizeof *values, "the dictionary of values"));
  amped_status status =
      fetch(p, (const double *)p->d_distinct + p->distinct, more * sizeof *values, values);
  if (status == AMPED_OK)
    amped_dictionary_search_add(search, values, AMPED_F64, more);
  amped_free(values);
  p->distinct = found;
  return status;
}

static amped_status count_window(amped_list_part *p, uint64_t first, uint64_t count,
                                 amped_list_counts *out) {
  if (count == 0)
    return AMPED_OK;
  for (int m = 0; m < p->shape.order; m++)
    AMPED_TRY(count_mode(p, m, first, count, &out->partitions[m]));
  AMPED_TRY(count_squares(p, first, count, &out->squares));
  return count_values(p, first, count, &out->distinct);
}

static amped_status add_hash(amped_list_part *p, uint64_t first, uint64_t count, uint64_t *hash) {
  uint64_t sum = 0;
  if (count == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaMemsetAsync(p->d_hash, 0, sizeof sum, p->stream));
  add_hashes<<<blocks_for(count), block_threads, 0, p->stream>>>(arrays_of(p), first, count,
                                                                 (word *)p->d_hash);
  AMPED_CUDA_LAUNCHED("the kernel that adds hashes");
  AMPED_TRY(fetch(p, p->d_hash, sizeof sum, &sum));
  *hash += sum;
  return AMPED_OK;
}

/* --- distribution to ranks ------------------------------------------------------------------- */

/* Upload a table of the plan, in place of an earlier one. */
static amped_status upload(const amped_list_part *p, void **d_table, const void *table,
                           uint64_t bytes) {
  amped_cuda_free(*d_table);
  *d_table = nullptr;
  AMPED_TRY(amped_cuda_malloc(d_table, bytes, "the plan's tables"));
  if (bytes > 0 && table != nullptr)
    AMPED_TRY(to_device(p, *d_table, table, bytes));
  AMPED_CUDA(cudaStreamSynchronize(p->stream));
  return AMPED_OK;
}

static amped_status upload_receivers(amped_list_part *p, const amped_mode_plan *m) {
  unsigned *of_idps = nullptr;
  AMPED_TRY(amped_alloc(&of_idps, m->rows.idp_count, sizeof *of_idps, "the plan's tables"));
  for (uint64_t i = 0; i < m->rows.idp_count; i++)
    of_idps[i] = (unsigned)m->rows.owner[i];
  for (uint64_t k = 0; k < p->splits; k++)
    of_idps[m->copy.splits[k].idp] = (unsigned)p->shape.nranks + (unsigned)k;
  amped_status status = upload(p, &p->d_of_idps, of_idps, m->rows.idp_count * sizeof *of_idps);
  amped_free(of_idps);
  return status;
}

static amped_status distribute_by(amped_list_part *p, const amped_plan *plan, int mode) {
  const uint64_t nranks = (uint64_t)p->shape.nranks;
  p->plan = plan;
  p->mode = mode;
  p->splits = 0;
  if (!deals(&p->shape))
    return AMPED_OK;
  if (mode != AMPED_BY_COORDINATE) {
    const amped_mode_plan *m = &plan->modes[mode];
    p->splits = m->copy.split_count;
    AMPED_TRY(upload_receivers(p, m));
    AMPED_TRY(upload(p, &p->d_cuts, m->copy.cuts, (nranks + 1) * sizeof *m->copy.cuts));
    AMPED_TRY(upload(p, &p->d_starts, nullptr, p->splits * sizeof(uint64_t)));
    AMPED_TRY(upload(p, &p->d_firsts, nullptr, p->splits * sizeof(uint64_t)));
    AMPED_TRY(amped_realloc(&p->h_starts, p->splits, sizeof *p->h_starts, "the split iDps"));
  }
  const uint64_t most = p->splits > nranks ? p->splits : nranks;
  return grow(&p->d_counts, &p->counts_room, most * sizeof(uint64_t));
}

/* Fill d_keys[0] and d_order[0]. */
static amped_status launch_receivers(const amped_list_part *p, uint64_t first, uint64_t count,
                                     const receivers *r) {
  find_receivers<<<blocks_for(count), block_threads, 0, p->stream>>>(
      arrays_of(p), *r, first, (unsigned)count, (unsigned *)p->d_keys[0],
      (unsigned *)p->d_order[0]);
  AMPED_CUDA_LAUNCHED("the kernel that finds receivers");
  return AMPED_OK;
}

static receivers receivers_of(const amped_list_part *p) {
  receivers r = {};
  r.mode = p->mode;
  r.nranks = (unsigned)p->shape.nranks;
  r.width = p->mode == AMPED_BY_COORDINATE ? 1 : p->plan->modes[p->mode].rows.width;
  r.of_idps = static_cast<const unsigned *>(p->d_of_idps);
  r.cuts = static_cast<const uint64_t *>(p->d_cuts);
  return r;
}

/* counts[k] = number of keys that are base + k, k < n. */
static amped_status count_of_keys(const amped_list_part *p, const void *d_keys, uint64_t count,
                                  uint64_t base, uint64_t n, uint64_t *counts) {
  AMPED_CUDA(cudaMemsetAsync(p->d_counts, 0, n * sizeof *counts, p->stream));
  count_keys<<<blocks_for(count), block_threads, 0, p->stream>>>(
      static_cast<const unsigned *>(d_keys), (unsigned)count, (unsigned)base, (unsigned)(base + n),
      (word *)p->d_counts);
  AMPED_CUDA_LAUNCHED("the kernel that counts receivers");
  AMPED_CUDA(
      cudaMemcpyAsync(counts, p->d_counts, n * sizeof *counts, cudaMemcpyDeviceToHost, p->stream));
  AMPED_CUDA(cudaStreamSynchronize(p->stream));
  return AMPED_OK;
}

static amped_status count_splits(amped_list_part *p, uint64_t first, uint64_t count,
                                 uint64_t *counts) {
  const receivers r = receivers_of(p);
  if (p->splits == 0)
    return AMPED_OK;
  /* Buffers hold shape.window nonzeros, and `count` may be larger: count window by window. */
  for (uint64_t done = 0; done < count; done += p->shape.window) {
    const uint64_t n = count - done < p->shape.window ? count - done : p->shape.window;
    AMPED_TRY(launch_receivers(p, first + done, n, &r));
    AMPED_TRY(count_of_keys(p, p->d_keys[0], n, r.nranks, p->splits, p->h_starts));
    for (uint64_t k = 0; k < p->splits; k++)
      counts[k] += p->h_starts[k];
  }
  return AMPED_OK;
}

/* Sort by keys below `most`. The sort is stable. */
static amped_status sort_keys(const amped_list_part *p, uint64_t most, amped_sort_cuda *pairs) {
  pairs->bits = amped_bits_for(most);
  return amped_sort_cuda_run(pairs, p->d_temporary, p->temporary_bytes, p->stream);
}

static unsigned *keys_of(const amped_sort_cuda *pairs) {
  return static_cast<unsigned *>(pairs->d_keys[0]);
}

static unsigned *order_of(const amped_sort_cuda *pairs) {
  return static_cast<unsigned *>(pairs->d_numbers[0]);
}

/* Find the ranks of nonzeros of split iDps from their numbers. Keys become ranks, in the nonzeros'
 * original order. */
static amped_status number_splits(amped_list_part *p, uint64_t count, const receivers *r,
                                  uint64_t *numbers, amped_sort_cuda *pairs) {
  uint64_t place = count;
  AMPED_TRY(count_of_keys(p, keys_of(pairs), count, r->nranks, p->splits, p->h_starts));
  AMPED_TRY(to_device(p, p->d_firsts, numbers, p->splits * sizeof *numbers));
  AMPED_CUDA(cudaStreamSynchronize(p->stream));
  for (uint64_t k = p->splits; k-- > 0;) { /* splits are sorted after all ranks */
    numbers[k] += p->h_starts[k];
    place -= p->h_starts[k];
    p->h_starts[k] = place;
  }
  AMPED_TRY(to_device(p, p->d_starts, p->h_starts, p->splits * sizeof *p->h_starts));
  AMPED_TRY(sort_keys(p, r->nranks + p->splits, pairs));
  split_receivers<<<blocks_for(count), block_threads, 0, p->stream>>>(
      *r, keys_of(pairs), order_of(pairs), (unsigned)count,
      static_cast<const uint64_t *>(p->d_starts), static_cast<const uint64_t *>(p->d_firsts),
      static_cast<unsigned *>(pairs->d_keys[1]), static_cast<unsigned *>(pairs->d_numbers[1]));
  AMPED_CUDA_LAUNCHED("the kernel that numbers nonzeros of split iDps");
  amped_sort_cuda_exchange(pairs);
  return AMPED_OK;
}

static amped_status deal(amped_list_part *p, uint64_t first, uint64_t count, uint64_t *numbers,
                         uint64_t *counts) {
  const receivers r = receivers_of(p);
  amped_sort_cuda pairs = {.key_bytes = (int)sizeof(unsigned),
                           .number_bytes = (int)sizeof(unsigned),
                           .count = count,
                           .d_keys = {p->d_keys[0], p->d_keys[1]},
                           .d_numbers = {p->d_order[0], p->d_order[1]}};
  p->first = first;
  p->count = count;
  AMPED_TRY(launch_receivers(p, first, count, &r));
  if (p->splits > 0)
    AMPED_TRY(number_splits(p, count, &r, numbers, &pairs));
  AMPED_TRY(count_of_keys(p, keys_of(&pairs), count, 0, r.nranks, counts));
  AMPED_TRY(sort_keys(p, r.nranks, &pairs));
  p->d_distributed = order_of(&pairs);
  return AMPED_OK;
}

template <typename T> static void launch_gather(const amped_list_part *p, const void *d_array) {
  gather<<<blocks_for(p->count), block_threads, 0, p->stream>>>(
      static_cast<const T *>(d_array) + p->first, p->d_distributed, (unsigned)p->count,
      static_cast<T *>(p->sent));
}

static amped_status distributed(amped_list_part *p, int array, void **out) {
  const bool values = array == AMPED_LIST_VALUES;
  const uint64_t bytes =
      values ? (uint64_t)p->shape.value_type : amped_list_index_bytes(&p->shape, array);
  const void *d_array = values ? p->d_values : p->d_indices[array];
  if (bytes == 1)
    launch_gather<uint8_t>(p, d_array);
  else if (bytes == 2)
    launch_gather<uint16_t>(p, d_array);
  else if (bytes == 4)
    launch_gather<uint32_t>(p, d_array);
  else
    launch_gather<uint64_t>(p, d_array);
  AMPED_CUDA_LAUNCHED("the kernel that orders nonzeros by rank");
  AMPED_CUDA(cudaStreamSynchronize(p->stream));
  *out = p->sent;
  return AMPED_OK;
}

static void *arriving(amped_list_part *p, int array) {
  return p->arriving[array == AMPED_LIST_VALUES ? last_array : array];
}

const amped_list_ops amped_list_part_cuda = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .append = append,
    .clear = clear,
    .count = count_window,
    .hash = add_hash,
    .view = view,
    .distribute_by = distribute_by,
    .count_splits = count_splits,
    .deal = deal,
    .distributed = distributed,
    .arriving = arriving,
    .fetch = fetch,
};
