/* History of a batch's rows, from one count per row and a model, on a GPU (backend/row_history.h).
 */
#include "cuda/complete/row_history_cuda.h"

#include <cstring>

#include "cuda/device/buffers_cuda.h"
#include "cuda/device/grid_cuda.cuh"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

static const char what[] = "the histories of a batch's rows";

struct amped_row_history_cuda {
  int ncomps;                       /* components that there is memory for */
  double *d_count[AMPED_MAX_ORDER]; /* [own rows] n */
  void *d_before[AMPED_MAX_ORDER];  /* [own rows][ncomps] of the factors' type */
  double *d_more;                   /* [own rows of the largest mode] */
  double *d_sums;                   /* sums of each chunk, then of all chunks */
  double *d_recipe;                 /* left, then right */
  void *d_history;                  /* the three arrays of recall's result */
};

namespace {

/* Sums are made in tiles of tile x tile elements, from `depth` rows of factors at a time. */
constexpr int tile = 32;
constexpr int depth = 16;

/* Rows of factors that a thread block adds up, at least; chunks, and numbers of all chunks, at
 * most. */
constexpr uint64_t least_rows = 512;
constexpr uint64_t most_chunks = 256;
constexpr uint64_t most_numbers = UINT64_C(1) << 23;

/* --- sizes ----------------------------------------------------------------------------------- */

uint64_t own_rows(const amped_plan *plan, int mode) {
  return plan->modes[mode].rows.rank_rows[plan->rank];
}

uint64_t most_own_rows(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = own_rows(plan, m) > most ? own_rows(plan, m) : most;
  return most;
}

uint64_t width_of(const amped_plan *plan) {
  return (uint64_t)plan->ncomps + 1;
}

/* Numbers of the result of change, which has more than the result of grow. */
uint64_t change_numbers(const amped_plan *plan) {
  return 2 * width_of(plan) * width_of(plan);
}

/* Number of chunks of `rows`. Depends on the plan alone, because it sets the order of additions. */
uint64_t chunks_of(const amped_plan *plan, uint64_t rows) {
  const uint64_t room = most_numbers / change_numbers(plan);
  uint64_t chunks = amped_ceil_div(rows, least_rows);
  chunks = chunks < most_chunks ? chunks : most_chunks;
  chunks = chunks < room ? chunks : room;
  return chunks > 0 ? chunks : 1;
}

uint64_t sums_bytes(const amped_plan *plan) {
  return (chunks_of(plan, most_own_rows(plan)) + 1) * change_numbers(plan) * sizeof(double);
}

uint64_t left_numbers(const amped_plan *plan) {
  return (uint64_t)plan->ncomps * width_of(plan) / 2;
}

uint64_t right_numbers(const amped_plan *plan) {
  return (uint64_t)plan->ncomps * width_of(plan);
}

amped_buffers buffers(amped_row_history_cuda *p, const amped_plan *plan) {
  amped_buffers b = {};
  b.what = what;
  AMPED_BUFFER_OF(&b, DEVICE, p->d_sums, sums_bytes(plan), 1);
  AMPED_BUFFER(&b, DEVICE, p->d_more, most_own_rows(plan));
  AMPED_BUFFER(&b, DEVICE, p->d_recipe, left_numbers(plan) + right_numbers(plan));
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, DEVICE, p->d_count[m], own_rows(plan, m));
    AMPED_BUFFER_OF(&b, DEVICE, p->d_before[m], own_rows(plan, m),
                    (uint64_t)plan->ncomps * plan->value_type);
  }
  return b;
}

void history_require(const amped_plan *plan, uint64_t *device_bytes, uint64_t *host_bytes) {
  amped_row_history_cuda none = {};
  amped_buffers_require(buffers(&none, plan), device_bytes, host_bytes);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Allocate the history of all modes, once for a number of components. */
amped_status make_room(amped_tensor_part *part) {
  if (part->row_history != nullptr && part->row_history->ncomps == part->plan->ncomps)
    return AMPED_OK;
  amped_row_history_cuda_free(part->row_history, part->plan);
  part->row_history = nullptr;
  AMPED_TRY(amped_calloc(&part->row_history, 1, sizeof *part->row_history, what));
  part->row_history->ncomps = part->plan->ncomps;
  const amped_status status = amped_buffers_cuda_allocate(buffers(part->row_history, part->plan));
  if (status != AMPED_OK) {
    amped_row_history_cuda_free(part->row_history, part->plan);
    part->row_history = nullptr;
  }
  return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* This rank's rows of a mode. */
template <typename T> struct rows_of {
  uint64_t count, ncomps, ld;
  const T *now; /* [count][ld] */
  T *before;    /* [count][ncomps] */
  double *n;
};

template <typename T> rows_of<T> find_rows(const amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const uint64_t first = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  return {own_rows(plan, mode),
          (uint64_t)plan->ncomps,
          plan->ld,
          static_cast<const T *>(amped_factor_set_cuda_rows(part->factors, mode)) +
              first * plan->ld,
          static_cast<T *>(part->row_history->d_before[mode]),
          part->row_history->d_count[mode]};
}

/* Count that row fits keep per row (amped_row_history): n = keep[i] * numbers[at[i]]. */
template <typename T> struct kept_numbers {
  T *numbers;
  const uint64_t *at;
  const double *keep;
};

template <typename T> kept_numbers<T> kept_of(const amped_row_history *h) {
  return {static_cast<T *>(h->equations), h->at, h->keep};
}

template <typename T> __global__ void keep_rows(const rows_of<T> r, const kept_numbers<T> k) {
  for (uint64_t e = thread_number(); e < r.count * r.ncomps; e += grid_threads()) {
    const uint64_t i = e / r.ncomps;
    const uint64_t c = e - i * r.ncomps;
    r.before[e] = r.now[i * r.ld + c];
    if (c == 0)
      r.n[i] = k.keep[i] > 0.0 ? k.keep[i] * (double)k.numbers[k.at[i]] : 0.0;
  }
}

amped_status wait_for(const amped_tensor_part *part) {
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  return AMPED_OK;
}

template <typename T>
amped_status begin_typed(amped_tensor_part *part, int mode, const amped_row_history *counts) {
  const rows_of<T> r = find_rows<T>(part, mode);
  if (r.count == 0)
    return AMPED_OK;
  keep_rows<T><<<blocks_for(r.count * r.ncomps), block_threads, 0, part->device->stream>>>(
      r, kept_of<T>(counts));
  AMPED_CUDA_LAUNCHED("the kernel of rows before a batch");
  return wait_for(part);
}

amped_status history_begin(amped_tensor_part *part, int mode, const amped_row_history *counts) {
  AMPED_TRY(make_room(part));
  return part->plan->value_type == AMPED_F32 ? begin_typed<float>(part, mode, counts)
                                             : begin_typed<double>(part, mode, counts);
}

/* --- equations ------------------------------------------------------------------------------- */

/* Numbers of a row's equations, in order: `triangle` from left; n if there is no bias; ncomps from
 * right; 0. */
struct equations_shape {
  uint64_t length, triangle;
  bool biased;
  const double *left, *right;
  double reg, reg_power, prior, reg_bias;
};

/* Number k of the equations of a row with this n. */
template <typename T>
__device__ double number_of(const equations_shape &s, double n, uint64_t k, uint64_t ncomps,
                            const T *before) {
  if (k < s.triangle)
    return n * s.left[k];
  k -= s.triangle;
  if (!s.biased && k == 0)
    return n;
  k -= s.biased ? 0 : 1;
  if (k == ncomps)
    return 0.0;
  const double *right = s.right + k * (ncomps + 1);
  double sum = right[ncomps];
  for (uint64_t c = 0; c < ncomps; c++)
    sum += right[c] * (double)before[c];
  const double own = (double)before[k];
  return n * sum + (s.biased && k + 1 == ncomps ? s.reg_bias * own
                                                : s.reg * pow(n, s.reg_power) * (own - s.prior));
}

template <typename T>
__global__ void make_equations(const rows_of<T> r, const equations_shape s, T *equations) {
  for (uint64_t e = thread_number(); e < r.count * s.length; e += grid_threads()) {
    const uint64_t i = e / s.length;
    const double n = r.n[i];
    if (n > 0.0)
      equations[e] = (T)number_of(s, n, e - i * s.length, r.ncomps, r.before + i * r.ncomps);
  }
}

template <typename T> __global__ void make_places(const rows_of<T> r, uint64_t *at, double *keep) {
  for (uint64_t i = thread_number(); i < r.count; i += grid_threads()) {
    at[i] = i;
    keep[i] = r.n[i] > 0.0 ? 1.0 : 0.0;
  }
}

template <typename T>
amped_status recall_typed(amped_tensor_part *part, int mode, const equations_shape &s,
                          const amped_row_history *h) {
  const cudaStream_t stream = part->device->stream;
  const rows_of<T> r = find_rows<T>(part, mode);
  if (r.count == 0)
    return AMPED_OK;
  make_places<T><<<blocks_for(r.count), block_threads, 0, stream>>>(
      r, const_cast<uint64_t *>(h->at), const_cast<double *>(h->keep));
  AMPED_CUDA_LAUNCHED("the kernel of places");
  make_equations<T><<<blocks_for(r.count * s.length), block_threads, 0, stream>>>(
      r, s, static_cast<T *>(h->equations));
  AMPED_CUDA_LAUNCHED("the kernel of a model's equations");
  return wait_for(part);
}

amped_status history_recall(amped_tensor_part *part, int mode, const amped_row_recipe *recipe,
                            amped_row_history *out) {
  const amped_plan *plan = part->plan;
  const cudaStream_t stream = part->device->stream;
  const uint64_t most = most_own_rows(plan);
  const uint64_t left = left_numbers(plan);
  const uint64_t right = right_numbers(plan);
  amped_row_history_cuda *p = part->row_history;
  const equations_shape s = {
      .length = amped_equation_length(plan->ncomps - (recipe->biased ? 1 : 0), recipe->biased),
      .triangle = left,
      .biased = recipe->biased,
      .left = p->d_recipe,
      .right = p->d_recipe + left,
      .reg = recipe->reg,
      .reg_power = recipe->reg_power,
      .prior = recipe->prior,
      .reg_bias = recipe->reg_bias};
  const uint64_t equations = amped_ceil_div(most * s.length * plan->value_type, 16) * 16;
  if (p->d_history == nullptr)
    AMPED_TRY(amped_cuda_malloc(&p->d_history,
                                most * (sizeof(double) + sizeof(uint64_t)) + equations, what));
  double *const d_keep = static_cast<double *>(p->d_history);
  uint64_t *const d_at = reinterpret_cast<uint64_t *>(d_keep + most);
  *out = {d_at + most, d_at, d_keep};
  AMPED_CUDA(cudaMemcpyAsync(p->d_recipe, recipe->left, left * sizeof(double),
                             cudaMemcpyHostToDevice, stream));
  AMPED_CUDA(cudaMemcpyAsync(p->d_recipe + left, recipe->right, right * sizeof(double),
                             cudaMemcpyHostToDevice, stream));
  AMPED_TRY(plan->value_type == AMPED_F32 ? recall_typed<float>(part, mode, s, out)
                                          : recall_typed<double>(part, mode, s, out));
  return wait_for(part);
}

/* --- sums ------------------------------------------------------------------------------------ */

/* Element c of e, and of ~e (row_history.h). */
template <typename T> __device__ double now_of(const rows_of<T> &r, uint64_t i, uint64_t c) {
  return c < r.ncomps ? (double)r.now[i * r.ld + c] : 1.0;
}
template <typename T> __device__ double before_of(const rows_of<T> &r, uint64_t i, uint64_t c) {
  return c < r.ncomps ? (double)r.before[i * r.ncomps + c] : 1.0;
}

/* Terms of the sums over rows i: element (row, column) sums a(i, row) b(i, column). */
template <typename T> struct change_terms {
  rows_of<T> r;
  __device__ double a(uint64_t i, uint64_t row) const {
    return now_of(r, i, row) - before_of(r, i, row);
  }
  __device__ double b(uint64_t i, uint64_t column) const {
    const uint64_t width = r.ncomps + 1;
    return r.n[i] * (column < width ? before_of(r, i, column) : a(i, column - width));
  }
};
template <typename T> struct growth_terms {
  rows_of<T> r;
  const double *grown;
  __device__ double a(uint64_t i, uint64_t row) const {
    return now_of(r, i, row);
  }
  __device__ double b(uint64_t i, uint64_t column) const {
    return grown[i] * now_of(r, i, column);
  }
};

/* Sum a chunk of rows: blockIdx.x is the tile, blockIdx.y the chunk. Each thread has four elements
 * of a column. */
template <typename TERMS>
__global__ void __launch_bounds__(block_threads)
    add_chunks(const TERMS terms, uint64_t count, uint64_t rows, uint64_t columns, double *sums) {
  constexpr int elements = tile * tile / block_threads;
  __shared__ double a[depth][tile];
  __shared__ double b[depth][tile];
  const uint64_t tiles = (columns + tile - 1) / tile;
  const uint64_t row = blockIdx.x / tiles * tile;
  const uint64_t column = blockIdx.x % tiles * tile;
  const uint64_t begin = count * blockIdx.y / gridDim.y;
  const uint64_t end = count * (blockIdx.y + 1) / gridDim.y;
  const int x = (int)threadIdx.x % tile;
  const int y = (int)threadIdx.x / tile;
  double sum[elements] = {};
  for (uint64_t i = begin; i < end; i += depth) {
    for (int d = y; d < depth; d += block_threads / tile) {
      a[d][x] = i + d < end && row + x < rows ? terms.a(i + d, row + x) : 0.0;
      b[d][x] = i + d < end && column + x < columns ? terms.b(i + d, column + x) : 0.0;
    }
    __syncthreads();
    for (int d = 0; d < depth; d++)
      for (int k = 0; k < elements; k++)
        sum[k] += a[d][y * elements + k] * b[d][x];
    __syncthreads();
  }
  for (int k = 0; k < elements; k++)
    if (row + y * elements + k < rows && column + x < columns)
      sums[(blockIdx.y * rows + row + y * elements + k) * columns + column + x] = sum[k];
}

/* Add up the chunks' sums, in order. */
__global__ void add_sums(uint64_t chunks, uint64_t numbers, const double *sums, double *out) {
  for (uint64_t e = thread_number(); e < numbers; e += grid_threads()) {
    double sum = 0.0;
    for (uint64_t k = 0; k < chunks; k++)
      sum += sums[k * numbers + e];
    out[e] = sum;
  }
}

template <typename TERMS>
amped_status add_up(const amped_tensor_part *part, const TERMS &terms, uint64_t count,
                    uint64_t columns, double *out) {
  const cudaStream_t stream = part->device->stream;
  const uint64_t rows = width_of(part->plan);
  const uint64_t tiles =
      amped_ceil_div(rows, (uint64_t)tile) * amped_ceil_div(columns, (uint64_t)tile);
  const uint64_t chunks = chunks_of(part->plan, count);
  double *const d_sums = part->row_history->d_sums;
  double *const d_out = d_sums + chunks * rows * columns;
  memset(out, 0, rows * columns * sizeof *out);
  if (count == 0)
    return AMPED_OK;
  add_chunks<<<dim3((unsigned)tiles, (unsigned)chunks), block_threads, 0, stream>>>(
      terms, count, rows, columns, d_sums);
  AMPED_CUDA_LAUNCHED("the kernel of sums over rows");
  add_sums<<<blocks_for(rows * columns), block_threads, 0, stream>>>(chunks, rows * columns, d_sums,
                                                                     d_out);
  AMPED_CUDA_LAUNCHED("the kernel of sums over rows");
  AMPED_CUDA(
      cudaMemcpyAsync(out, d_out, rows * columns * sizeof *out, cudaMemcpyDeviceToHost, stream));
  return wait_for(part);
}

template <typename T>
amped_status change_typed(const amped_tensor_part *part, int mode, double *out) {
  const change_terms<T> terms = {find_rows<T>(part, mode)};
  return add_up(part, terms, terms.r.count, 2 * width_of(part->plan), out);
}

amped_status history_change(amped_tensor_part *part, int mode, double *out) {
  return part->plan->value_type == AMPED_F32 ? change_typed<float>(part, mode, out)
                                             : change_typed<double>(part, mode, out);
}

/* Store n + more as counts. more becomes the growth of the stored, rounded counts. */
template <typename T>
__global__ void grow_numbers(const rows_of<T> r, const kept_numbers<T> k, double *more) {
  for (uint64_t i = thread_number(); i < r.count; i += grid_threads()) {
    if (!(more[i] > 0.0)) {
      more[i] = 0.0;
      continue;
    }
    const T number = (T)(r.n[i] + more[i]);
    k.numbers[k.at[i]] = number;
    more[i] = (double)number - r.n[i];
  }
}

template <typename T>
amped_status grow_typed(amped_tensor_part *part, int mode, const amped_row_history *counts,
                        const double *more, double *out) {
  const cudaStream_t stream = part->device->stream;
  double *const d_more = part->row_history->d_more;
  const growth_terms<T> terms = {find_rows<T>(part, mode), d_more};
  const uint64_t count = terms.r.count;
  if (count > 0) {
    AMPED_CUDA(cudaMemcpyAsync(d_more, more, count * sizeof *more, cudaMemcpyHostToDevice, stream));
    grow_numbers<T>
        <<<blocks_for(count), block_threads, 0, stream>>>(terms.r, kept_of<T>(counts), d_more);
    AMPED_CUDA_LAUNCHED("the kernel of numbers of rows");
  }
  return add_up(part, terms, count, width_of(part->plan), out);
}

amped_status history_grow(amped_tensor_part *part, int mode, const amped_row_history *counts,
                          const double *more, double *out) {
  return part->plan->value_type == AMPED_F32 ? grow_typed<float>(part, mode, counts, more, out)
                                             : grow_typed<double>(part, mode, counts, more, out);
}

} // namespace

void amped_row_history_cuda_free(amped_row_history_cuda *p, const amped_plan *plan) {
  if (p == nullptr)
    return;
  amped_buffers_cuda_free(buffers(p, plan));
  amped_cuda_free(p->d_history);
  amped_free(p);
}

const amped_row_history_ops amped_row_history_cuda_ops = {.require = history_require,
                                                          .begin = history_begin,
                                                          .recall = history_recall,
                                                          .change = history_change,
                                                          .grow = history_grow};
