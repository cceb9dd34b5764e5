/* Row store of the CUDA backend: rows of a stream's model in device memory
 * (backend/row_store.h). */
#include "cuda/complete/row_store_cuda.h"

#include <cmath>
#include <cstring>

#include "cuda/device/grid_cuda.cuh"
#include "cuda/device/growable_cuda.h"
#include "cuda/device/rank_device_cuda.h"
#include "cuda/device/staged_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
#include "plan/touched.h"
}

static const char what[] = "the rows of a stream";

/* Thread blocks that add up errors. */
#define ERROR_BLOCKS 1024

namespace {

/* Device buffer that is kept from batch to batch, and enlarged if a batch needs more. */
struct kept {
  void *d_block;
  uint64_t bytes;
};

struct mode_rows {
  uint64_t dim;
  amped_growable_cuda factor;  /* [dim][ncomps] */
  amped_growable_cuda history; /* [own rows][length], by slot */
  amped_growable_cuda touched; /* [own rows] uint64_t: number of the last batch */
  /* Current batch: */
  uint64_t count;
  kept rows, positions; /* [count] uint64_t */
  kept at, keep;        /* [block rows] uint64_t, double */
  kept indices;         /* entries for errors: indices, uint64_t */
};

} // namespace

struct amped_row_store {
  amped_device *device;
  amped_row_shape shape;
  mode_rows modes[AMPED_MAX_ORDER];
  const amped_plan *plan; /* plan of the current batch, borrowed */
  kept piece;             /* buffer for rows on their way to the host */
  uint64_t entries;
  kept values; /* values of these entries, double */
  kept held;   /* marks of held-out entries, bool; only if any_held */
  bool any_held;
  amped_errors *d_sums, *sums;
};

namespace {

/* --- memory ---------------------------------------------------------------------------------- */

/* Bytes with a quarter more, for a larger batch. */
uint64_t kept_bytes(uint64_t bytes) {
  return bytes + bytes / 4;
}

amped_status keep_room(kept *k, uint64_t bytes) {
  if (bytes <= k->bytes)
    return AMPED_OK;
  amped_cuda_free(k->d_block);
  *k = {};
  AMPED_TRY(amped_cuda_malloc(&k->d_block, kept_bytes(bytes), what));
  k->bytes = kept_bytes(bytes);
  return AMPED_OK;
}

void free_kept(kept *k) {
  amped_cuda_free(k->d_block);
  *k = {};
}

uint64_t row_bytes(const amped_row_shape *s) {
  return s->ncomps * s->type;
}

uint64_t history_bytes(const amped_row_shape *s) {
  return s->length * s->type;
}

uint64_t own_rows(const amped_row_store *s, uint64_t dim) {
  return amped_stream_own_rows(dim, s->shape.rank, s->shape.nranks);
}

bool is_own(const amped_row_store *s, uint64_t row) {
  return amped_stream_owner(row, s->shape.nranks) == s->shape.rank;
}

cudaStream_t stream_of(const amped_row_store *s) {
  return s->device->stream;
}

amped_status wait_for(const amped_row_store *s) {
  AMPED_CUDA(cudaStreamSynchronize(stream_of(s)));
  return AMPED_OK;
}

/* Grow memory to `count` rows of `bytes` each, with zeros from row `old` on. */
amped_status extend(const amped_row_store *s, amped_growable_cuda *g, uint64_t old, uint64_t count,
                    uint64_t bytes) {
  uint64_t all = 0;
  if (!amped_mul(count, bytes, &all) || all > UINT64_MAX / 2)
    return amped_error(AMPED_FAILED, nullptr, "%" PRIu64 " rows are too many for any machine",
                       count);
  AMPED_TRY(amped_growable_cuda_grow(g, all, what));
  if (count > old && bytes > 0)
    AMPED_CUDA(
        cudaMemsetAsync((char *)g->d_block + old * bytes, 0, (count - old) * bytes, stream_of(s)));
  return AMPED_OK;
}

amped_status make_room(const amped_row_store *s, mode_rows *m, uint64_t dim) {
  const uint64_t old = own_rows(s, m->dim);
  const uint64_t own = own_rows(s, dim);
  AMPED_TRY(extend(s, &m->factor, m->dim, dim, row_bytes(&s->shape)));
  AMPED_TRY(extend(s, &m->touched, old, own, sizeof(uint64_t)));
  return extend(s, &m->history, old, own, history_bytes(&s->shape));
}

amped_status grow(amped_row_store *s, const uint64_t *dims) {
  for (int m = 0; m < s->shape.order; m++)
    AMPED_TRY(make_room(s, &s->modes[m], dims[m]));
  AMPED_TRY(wait_for(s));
  for (int m = 0; m < s->shape.order; m++)
    s->modes[m].dim = dims[m];
  return AMPED_OK;
}

void require(const amped_row_shape *shape, const uint64_t *dims, bool grows, uint64_t *device_bytes,
             uint64_t *host_bytes) {
  *device_bytes = ERROR_BLOCKS * sizeof(amped_errors);
  *host_bytes = *device_bytes;
  for (int m = 0; m < shape->order; m++) {
    const uint64_t own = amped_stream_own_rows(dims[m], shape->rank, shape->nranks);
    *device_bytes += amped_growable_cuda_bytes(dims[m] * row_bytes(shape)) +
                     amped_growable_cuda_bytes(own * history_bytes(shape)) +
                     amped_growable_cuda_bytes(own * sizeof(uint64_t)) +
                     (grows ? 0 : 4 * kept_bytes(dims[m] * sizeof(uint64_t)));
  }
}

uint64_t device_bytes(const amped_row_store *s) {
  uint64_t bytes =
      s->piece.bytes + s->values.bytes + s->held.bytes + ERROR_BLOCKS * sizeof(amped_errors);
  for (const mode_rows &m : s->modes)
    bytes += m.factor.bytes + m.history.bytes + m.touched.bytes + m.rows.bytes + m.positions.bytes +
             m.at.bytes + m.keep.bytes + m.indices.bytes;
  return bytes;
}

void destroy(amped_row_store *s) {
  if (s == nullptr)
    return;
  (void)cudaStreamSynchronize(stream_of(s));
  for (mode_rows &m : s->modes) {
    amped_growable_cuda_free(&m.factor);
    amped_growable_cuda_free(&m.history);
    amped_growable_cuda_free(&m.touched);
    kept *const all[] = {&m.rows, &m.positions, &m.at, &m.keep, &m.indices};
    for (kept *k : all)
      free_kept(k);
  }
  free_kept(&s->piece);
  free_kept(&s->values);
  free_kept(&s->held);
  amped_cuda_free(s->d_sums);
  amped_cuda_stop_keeping();
  amped_free(s->sums);
  amped_free(s);
}

amped_status allocate(amped_row_store *s, const uint64_t *dims) {
  AMPED_TRY(amped_alloc(&s->sums, ERROR_BLOCKS, sizeof *s->sums, what));
  AMPED_TRY(amped_cuda_malloc((void **)&s->d_sums, ERROR_BLOCKS * sizeof *s->d_sums, what));
  for (int m = 0; m < s->shape.order; m++) {
    AMPED_TRY(amped_growable_cuda_create(&s->modes[m].factor, &s->device->gpu));
    AMPED_TRY(amped_growable_cuda_create(&s->modes[m].history, &s->device->gpu));
    AMPED_TRY(amped_growable_cuda_create(&s->modes[m].touched, &s->device->gpu));
  }
  return grow(s, dims);
}

amped_status create(amped_device *device, const amped_row_shape *shape, const uint64_t *dims,
                    amped_row_store **out) {
  amped_row_store *s = nullptr;
  *out = nullptr;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, what));
  amped_cuda_keep_memory(); /* each batch allocates blocks of the same sizes */
  s->device = device;
  s->shape = *shape;
  const amped_status status = allocate(s, dims);
  if (status == AMPED_OK)
    *out = s;
  else
    destroy(s);
  return status;
}

/* --- from and to host memory ----------------------------------------------------------------- */

/* Copy to device memory on the device's stream. The copy is complete when wait_for returns. */
amped_status copy_in(const amped_row_store *s, void *d_to, const void *from, uint64_t bytes) {
  return amped_staged_cuda_put(d_to, from, bytes, stream_of(s));
}

amped_status copy_out(const amped_row_store *s, void *to, const void *d_from, uint64_t bytes) {
  return amped_staged_cuda_get(to, d_from, bytes, stream_of(s));
}

amped_status put_factors(amped_row_store *s, int mode, uint64_t first, uint64_t count,
                         const void *factors) {
  const uint64_t bytes = row_bytes(&s->shape);
  AMPED_TRY(
      copy_in(s, (char *)s->modes[mode].factor.d_block + first * bytes, factors, count * bytes));
  return wait_for(s);
}

amped_status get_factors(amped_row_store *s, int mode, uint64_t first, uint64_t count,
                         void *factors) {
  const uint64_t bytes = row_bytes(&s->shape);
  AMPED_TRY(
      copy_out(s, factors, (char *)s->modes[mode].factor.d_block + first * bytes, count * bytes));
  return wait_for(s);
}

/* Number of rows from `row` on, below `end`, that have one owner. They lie in consecutive slots. */
uint64_t run_of_owner(const amped_row_store *s, uint64_t row, uint64_t end) {
  const uint64_t block = AMPED_STREAM_BLOCK - row % AMPED_STREAM_BLOCK;
  return s->shape.nranks == 1 || block > end - row ? end - row : block;
}

amped_status put(amped_row_store *s, int mode, uint64_t first, uint64_t count, const void *factors,
                 const void *histories, const uint64_t *touched) {
  const mode_rows *m = &s->modes[mode];
  const uint64_t bytes = history_bytes(&s->shape);
  for (uint64_t i = 0; i < count;) {
    const uint64_t run = run_of_owner(s, first + i, first + count);
    const uint64_t slot = amped_stream_slot(first + i, s->shape.nranks);
    if (is_own(s, first + i)) {
      AMPED_TRY(
          copy_in(s, (uint64_t *)m->touched.d_block + slot, touched + i, run * sizeof *touched));
      if (bytes > 0)
        AMPED_TRY(copy_in(s, (char *)m->history.d_block + slot * bytes,
                          (const char *)histories + i * bytes, run * bytes));
    }
    i += run;
  }
  return put_factors(s, mode, first, count, factors);
}

/* --- kernels of rows ------------------------------------------------------------------------- */

/* Gather rows of n numbers from `from` into consecutive rows of `to`. slots: a row lies at its slot
 * on its owner, of nranks ranks; else at its index. */
template <typename T>
__global__ void gather_rows(uint64_t count, uint64_t n, const uint64_t *indices, bool slots,
                            int nranks, const T *from, T *to) {
  for (uint64_t e = thread_number(); e < count * n; e += grid_threads()) {
    const uint64_t index = indices[e / n];
    to[e] = from[(slots ? amped_stream_slot(index, nranks) : index) * n + e % n];
  }
}

template <typename T> struct travel {
  uint64_t count, ncomps, ld;
  const uint64_t *rows, *positions;
  T *store, *set;
};

template <typename T, bool IN> __global__ void move_rows(const travel<T> t) {
  for (uint64_t e = thread_number(); e < t.count * t.ncomps; e += grid_threads()) {
    const uint64_t k = e / t.ncomps;
    const uint64_t c = e - k * t.ncomps;
    T *const row = t.store + t.rows[k] * t.ncomps + c;
    T *const at = t.set + t.positions[k] * t.ld + c;
    if (IN)
      *at = *row;
    else
      *row = *at;
  }
}

/* Give the rows that are at the prior, with bias 0, their start (amped_row_start), except those
 * that have learnt entries. One warp per row. */
template <typename T>
__global__ void start_rows(uint64_t count, const uint64_t *rows, uint64_t ncomps, int mode,
                           const amped_row_start start, const uint64_t *learnt, T *factor) {
  const uint64_t components = ncomps - (start.biased ? 1 : 0);
  const unsigned lane = threadIdx.x % 32;
  for (uint64_t k = thread_number() / 32; k < count; k += grid_threads() / 32) {
    T *const row = factor + rows[k] * ncomps;
    bool is_at_prior = learnt == nullptr || (learnt[k / 64] >> (k % 64) & 1) == 0;
    for (uint64_t c = lane; c < ncomps; c += 32)
      is_at_prior = is_at_prior && row[c] == (c < components ? (T)start.prior : (T)0);
    if (!__all_sync(0xffffffffU, is_at_prior))
      continue;
    for (uint64_t c = lane; c < components; c += 32)
      row[c] = (T)amped_row_start_entry(&start, components, mode, rows[k], c);
  }
}

struct touched_rows {
  uint64_t count;
  const uint64_t *rows, *positions;
  int rank, nranks;
  uint64_t number;
  uint64_t *touched;
};

/* Slot of touched row k. Returns false if another rank owns the row. */
__device__ inline bool own_slot(const touched_rows &t, uint64_t k, uint64_t *slot) {
  *slot = amped_stream_slot(t.rows[k], t.nranks);
  return amped_stream_owner(t.rows[k], t.nranks) == t.rank;
}

__global__ void find_histories(const touched_rows t, uint64_t block_first, double forget,
                               uint64_t *at, double *keep) {
  for (uint64_t k = thread_number(); k < t.count; k += grid_threads()) {
    uint64_t slot = 0;
    if (!own_slot(t, k, &slot))
      continue;
    const uint64_t last = t.touched[slot];
    at[t.positions[k] - block_first] = slot;
    keep[t.positions[k] - block_first] = last > 0 ? pow(forget, (double)(t.number - last)) : 0.0;
  }
}

__global__ void mark_touched(const touched_rows t) {
  for (uint64_t k = thread_number(); k < t.count; k += grid_threads()) {
    uint64_t slot = 0;
    if (own_slot(t, k, &slot))
      t.touched[slot] = t.number;
  }
}

__global__ void fill_numbers(uint64_t count, uint64_t number, uint64_t *to) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    to[i] = number;
}

/* --- rows to host memory, by their indices --------------------------------------------------- */

template <typename T>
amped_status gather(const amped_row_store *s, uint64_t count, uint64_t n, const uint64_t *d_indices,
                    bool slots, const void *d_from, void *d_to) {
  if (count * n == 0)
    return AMPED_OK;
  gather_rows<T><<<blocks_for(count * n), block_threads, 0, stream_of(s)>>>(
      count, n, d_indices, slots, s->shape.nranks, static_cast<const T *>(d_from),
      static_cast<T *>(d_to));
  AMPED_CUDA_LAUNCHED("the kernel of a stream's rows");
  return AMPED_OK;
}

amped_status gather_numbers(const amped_row_store *s, uint64_t count, uint64_t n,
                            const uint64_t *d_indices, bool slots, const void *d_from, void *d_to) {
  return s->shape.type == AMPED_F32 ? gather<float>(s, count, n, d_indices, slots, d_from, d_to)
                                    : gather<double>(s, count, n, d_indices, slots, d_from, d_to);
}

amped_status get(amped_row_store *s, int mode, uint64_t count, const uint64_t *indices,
                 void *factors, void *histories, uint64_t *touched) {
  const mode_rows *m = &s->modes[mode];
  const uint64_t words = count * sizeof(uint64_t);
  const uint64_t factor_bytes = count * row_bytes(&s->shape);
  const uint64_t bytes_of_histories = count * history_bytes(&s->shape);
  AMPED_TRY(keep_room(&s->piece, 2 * words + factor_bytes + bytes_of_histories));
  uint64_t *const d_indices = static_cast<uint64_t *>(s->piece.d_block);
  uint64_t *const d_touched = d_indices + count;
  char *const d_history = reinterpret_cast<char *>(d_touched + count); /* starts at a multiple of 8
                                                                       bytes */
  char *const d_factors = d_history + bytes_of_histories;
  AMPED_TRY(copy_in(s, d_indices, indices, words));
  AMPED_TRY(gather<uint64_t>(s, count, 1, d_indices, true, m->touched.d_block, d_touched));
  AMPED_TRY(
      gather_numbers(s, count, s->shape.length, d_indices, true, m->history.d_block, d_history));
  AMPED_TRY(
      gather_numbers(s, count, s->shape.ncomps, d_indices, false, m->factor.d_block, d_factors));
  AMPED_TRY(copy_out(s, touched, d_touched, words));
  AMPED_TRY(copy_out(s, histories, d_history, bytes_of_histories));
  AMPED_TRY(copy_out(s, factors, d_factors, factor_bytes));
  return wait_for(s);
}

amped_status get_touched(amped_row_store *s, int mode, uint64_t count, const uint64_t *indices,
                         uint64_t *touched) {
  const uint64_t words = count * sizeof(uint64_t);
  AMPED_TRY(keep_room(&s->piece, 2 * words));
  uint64_t *const d_indices = static_cast<uint64_t *>(s->piece.d_block);
  uint64_t *const d_touched = d_indices + count;
  AMPED_TRY(copy_in(s, d_indices, indices, words));
  AMPED_TRY(
      gather<uint64_t>(s, count, 1, d_indices, true, s->modes[mode].touched.d_block, d_touched));
  AMPED_TRY(copy_out(s, touched, d_touched, words));
  return wait_for(s);
}

amped_status touch_all(amped_row_store *s, int mode, uint64_t number) {
  const uint64_t own = own_rows(s, s->modes[mode].dim);
  if (own == 0)
    return AMPED_OK;
  fill_numbers<<<blocks_for(own), block_threads, 0, stream_of(s)>>>(
      own, number, static_cast<uint64_t *>(s->modes[mode].touched.d_block));
  AMPED_CUDA_LAUNCHED("the kernel of touched rows");
  return wait_for(s);
}

/* --- a batch --------------------------------------------------------------------------------- */

amped_status take_list(amped_row_store *s, int mode, const amped_row_list *list) {
  mode_rows *m = &s->modes[mode];
  const uint64_t bytes = list->count * sizeof(uint64_t);
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  m->count = 0;
  AMPED_TRY(keep_room(&m->rows, bytes));
  AMPED_TRY(keep_room(&m->positions, bytes));
  AMPED_TRY(keep_room(&m->at, block * sizeof(uint64_t)));
  AMPED_TRY(keep_room(&m->keep, block * sizeof(double)));
  AMPED_TRY(copy_in(s, m->rows.d_block, list->rows, bytes));
  AMPED_TRY(copy_in(s, m->positions.d_block, list->positions, bytes));
  m->count = list->count;
  return AMPED_OK;
}

amped_status begin(amped_row_store *s, const amped_plan *plan, const amped_row_list *lists) {
  s->plan = plan;
  for (int m = 0; m < s->shape.order; m++)
    AMPED_TRY(take_list(s, m, &lists[m]));
  return wait_for(s);
}

template <typename T>
amped_status move_numbers(const amped_row_store *s, amped_factor_set *factors, int mode, bool in) {
  const mode_rows *m = &s->modes[mode];
  const travel<T> t = {m->count,
                       s->shape.ncomps,
                       s->plan->ld,
                       static_cast<const uint64_t *>(m->rows.d_block),
                       static_cast<const uint64_t *>(m->positions.d_block),
                       static_cast<T *>(m->factor.d_block),
                       static_cast<T *>(amped_factor_set_cuda_rows(factors, mode))};
  const unsigned blocks = blocks_for(t.count * t.ncomps);
  if (t.count == 0)
    return AMPED_OK;
  if (in)
    move_rows<T, true><<<blocks, block_threads, 0, stream_of(s)>>>(t);
  else
    move_rows<T, false><<<blocks, block_threads, 0, stream_of(s)>>>(t);
  AMPED_CUDA_LAUNCHED("the kernel of a batch's rows");
  return wait_for(s);
}

amped_status move(amped_row_store *s, amped_factor_set *factors, int mode, bool in) {
  return s->shape.type == AMPED_F32 ? move_numbers<float>(s, factors, mode, in)
                                    : move_numbers<double>(s, factors, mode, in);
}

template <typename T>
amped_status start_numbers(const amped_row_store *s, int mode, const amped_row_start *start,
                           const uint64_t *d_learnt) {
  const mode_rows *m = &s->modes[mode];
  start_rows<T><<<blocks_for(m->count * 32), block_threads, 0, stream_of(s)>>>(
      m->count, static_cast<const uint64_t *>(m->rows.d_block), s->shape.ncomps, mode, *start,
      d_learnt, static_cast<T *>(m->factor.d_block));
  AMPED_CUDA_LAUNCHED("the kernel of new rows");
  return wait_for(s);
}

amped_status start(amped_row_store *s, int mode, const amped_row_start *how,
                   const uint64_t *learnt) {
  const uint64_t count = s->modes[mode].count;
  const uint64_t bytes = (count / 64 + 1) * sizeof *learnt;
  const uint64_t *d_learnt = nullptr;
  if (count == 0)
    return AMPED_OK;
  if (learnt != nullptr) {
    AMPED_TRY(keep_room(&s->piece, bytes));
    AMPED_TRY(copy_in(s, s->piece.d_block, learnt, bytes));
    d_learnt = static_cast<const uint64_t *>(s->piece.d_block);
  }
  return s->shape.type == AMPED_F32 ? start_numbers<float>(s, mode, how, d_learnt)
                                    : start_numbers<double>(s, mode, how, d_learnt);
}

touched_rows touched_of(const amped_row_store *s, int mode, uint64_t number) {
  const mode_rows *m = &s->modes[mode];
  return {m->count,
          static_cast<const uint64_t *>(m->rows.d_block),
          static_cast<const uint64_t *>(m->positions.d_block),
          s->shape.rank,
          s->shape.nranks,
          number,
          static_cast<uint64_t *>(m->touched.d_block)};
}

amped_status history(amped_row_store *s, int mode, uint64_t number, double forget,
                     amped_row_history *out) {
  const mode_rows *m = &s->modes[mode];
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  uint64_t *const d_at = static_cast<uint64_t *>(m->at.d_block);
  double *const d_keep = static_cast<double *>(m->keep.d_block);
  AMPED_CUDA(cudaMemsetAsync(d_at, 0, block * sizeof *d_at, stream_of(s)));
  AMPED_CUDA(cudaMemsetAsync(d_keep, 0, block * sizeof *d_keep, stream_of(s)));
  if (m->count > 0) {
    find_histories<<<blocks_for(m->count), block_threads, 0, stream_of(s)>>>(
        touched_of(s, mode, number), (uint64_t)s->plan->rank * block, forget, d_at, d_keep);
    AMPED_CUDA_LAUNCHED("the kernel of histories");
  }
  *out = {m->history.d_block, d_at, d_keep};
  return wait_for(s);
}

amped_status touch(amped_row_store *s, int mode, uint64_t number) {
  const uint64_t count = s->modes[mode].count;
  if (count == 0)
    return AMPED_OK;
  mark_touched<<<blocks_for(count), block_threads, 0, stream_of(s)>>>(touched_of(s, mode, number));
  AMPED_CUDA_LAUNCHED("the kernel of touched rows");
  return wait_for(s);
}

/* --- errors ---------------------------------------------------------------------------------- */

constexpr unsigned group = 8; /* lanes that share an entry */
constexpr unsigned whole_warp = 0xffffffffU;

template <typename T> struct model {
  const T *factors[AMPED_MAX_ORDER];
  const uint64_t *indices[AMPED_MAX_ORDER];
  const double *values;
  uint64_t count;
  int order;
  unsigned ncomps, components;
  amped_row_model of;
  const bool *held; /* nullptr: all entries count */
};

/* Model at an entry with these rows, without mean and scale; the same in all lanes of the group. */
template <typename T>
__device__ inline double model_at(const model<T> &w, const T *const *rows, unsigned lane) {
  double sum = 0.0;
  for (unsigned c = lane; c < w.components; c += group) {
    double product = 1.0;
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < w.order)
        product *= (double)rows[m][c];
    sum += product;
  }
  if (w.of.biased && lane == 0)
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < w.order)
        sum += (double)rows[m][w.components];
  for (int i = (int)group / 2; i > 0; i /= 2)
    sum += __shfl_xor_sync(whole_warp, sum, i);
  return sum;
}

__host__ __device__ inline void add(amped_errors &to, const amped_errors &from) {
  to.count += from.count;
  to.squares += from.squares;
  to.absolute += from.absolute;
  to.clipped += from.clipped;
}

/* Sum of the thread block's threads, added up in a fixed order. */
__device__ inline void add_block(const amped_errors &own, amped_errors *sums) {
  __shared__ amped_errors parts[block_threads];
  parts[threadIdx.x] = own;
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      add(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = parts[0];
}

/* Sum the errors at the entries. Each lane of a warp takes one entry; then the lanes of a group
 * together go through the group's entries. */
template <typename T>
__global__ void __launch_bounds__(block_threads) add_errors(const model<T> w, amped_errors *sums) {
  const unsigned lane = threadIdx.x % group;
  amped_errors own = {0, 0.0, 0.0, 0.0};
  for (uint64_t k = thread_number(); k - threadIdx.x % 32 < w.count; k += grid_threads()) {
    uint64_t index[AMPED_MAX_ORDER] = {0};
#pragma unroll
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      if (m < w.order && k < w.count)
        index[m] = w.indices[m][k];
    const bool counts = k < w.count && (w.held == nullptr || w.held[k]);
    const unsigned counted = __ballot_sync(whole_warp, counts);
    double sum = 0.0;
    for (unsigned j = 0; j < group; j++) {
      if ((counted >> j & 0x01010101U) == 0) /* one bit per group */
        continue;
      const T *rows[AMPED_MAX_ORDER];
#pragma unroll
      for (int m = 0; m < AMPED_MAX_ORDER; m++)
        if (m < w.order)
          rows[m] = w.factors[m] + __shfl_sync(whole_warp, index[m], (int)j, (int)group) * w.ncomps;
      const double here = model_at(w, rows, lane);
      sum = lane == j ? here : sum;
    }
    if (counts) {
      const double x = w.values[k];
      const double value = w.of.mean + w.of.scale * sum;
      const double clipped = value < w.of.least  ? w.of.least
                             : value > w.of.most ? w.of.most
                                                 : value;
      add(own, {1, (x - value) * (x - value), fabs(x - value), (x - clipped) * (x - clipped)});
    }
  }
  add_block(own, sums);
}

amped_status enter(amped_row_store *s, uint64_t count, const uint64_t *const *indices,
                   const double *values, const bool *held) {
  const uint64_t bytes = count * sizeof(uint64_t);
  s->entries = 0;
  s->any_held = held != nullptr;
  AMPED_TRY(keep_room(&s->values, bytes));
  AMPED_TRY(copy_in(s, s->values.d_block, values, bytes));
  if (held != nullptr) {
    AMPED_TRY(keep_room(&s->held, count * sizeof(bool)));
    AMPED_TRY(copy_in(s, s->held.d_block, held, count * sizeof(bool)));
  }
  for (int m = 0; m < s->shape.order && count > 0; m++) {
    AMPED_TRY(keep_room(&s->modes[m].indices, bytes));
    AMPED_TRY(copy_in(s, s->modes[m].indices.d_block, indices[m], bytes));
  }
  s->entries = count;
  return wait_for(s);
}

template <typename T>
amped_status launch_errors(const amped_row_store *s, const amped_row_model *of, bool held,
                           unsigned blocks) {
  model<T> w = {};
  for (int m = 0; m < s->shape.order; m++) {
    w.factors[m] = static_cast<const T *>(s->modes[m].factor.d_block);
    w.indices[m] = static_cast<const uint64_t *>(s->modes[m].indices.d_block);
  }
  w.values = static_cast<const double *>(s->values.d_block);
  w.count = s->entries;
  w.order = s->shape.order;
  w.ncomps = (unsigned)s->shape.ncomps;
  w.components = w.ncomps - (of->biased ? 1U : 0U);
  w.of = *of;
  w.held = held ? static_cast<const bool *>(s->held.d_block) : nullptr;
  add_errors<T><<<blocks, block_threads, 0, stream_of(s)>>>(w, s->d_sums);
  AMPED_CUDA_LAUNCHED("the kernel of a stream's errors");
  return AMPED_OK;
}

amped_status errors(amped_row_store *s, const amped_row_model *of, bool held, amped_errors *out) {
  const uint64_t wanted = blocks_for(s->entries);
  const unsigned blocks = wanted < ERROR_BLOCKS ? (unsigned)wanted : ERROR_BLOCKS;
  *out = {0, 0.0, 0.0, 0.0};
  if (s->entries == 0 || (held && !s->any_held))
    return AMPED_OK;
  AMPED_TRY(s->shape.type == AMPED_F32 ? launch_errors<float>(s, of, held, blocks)
                                       : launch_errors<double>(s, of, held, blocks));
  AMPED_TRY(copy_out(s, s->sums, s->d_sums, blocks * sizeof *s->sums));
  AMPED_TRY(wait_for(s));
  for (unsigned i = 0; i < blocks; i++)
    add(*out, s->sums[i]);
  return AMPED_OK;
}

} // namespace

const amped_row_store_ops amped_row_store_cuda = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .grow = grow,
    .device_bytes = device_bytes,
    .put = put,
    .get = get,
    .put_factors = put_factors,
    .get_factors = get_factors,
    .get_touched = get_touched,
    .touch_all = touch_all,
    .begin = begin,
    .start = start,
    .move = move,
    .history = history,
    .touch = touch,
    .enter = enter,
    .errors = errors,
};
