/* The kernels of row steps, as templates. step_traversal_f32.cu and step_traversal_f64.cu
 * instantiate them.
 *
 * A group is `lanes` neighbouring lanes of a warp, which share a row: lane l has its chunks l, l +
 * lanes, ... of 16 bytes. The groups of a warp go in step. In a round each lane decodes one of the
 * group's next visits. Then the group makes these visits one by one, while the rows of the next
 * visits are loaded. At the end of a row a group takes another row; if none is left, it goes on
 * with steps of length 0. */
#ifndef AMPED_STEP_TRAVERSAL_CUDA_CUH
#define AMPED_STEP_TRAVERSAL_CUDA_CUH

#include <cfloat>

#include "cuda/complete/step_kernels_cuda.h"
#include "cuda/device/ptx_cuda.cuh"

namespace {

constexpr unsigned step_threads = 128;
constexpr unsigned whole_warp = 0xffffffffU;
constexpr int most_inputs = AMPED_MAX_ORDER - 1;

template <typename T> struct step_problem {
  amped_packing packing;
  const void *planes[AMPED_MAX_PLANES];
  const T *values;
  const T *dictionary;
  const void *row_list;
  bool long_indices; /* indices of the row list have 8 bytes, else 4 */
  const T *factors[most_inputs];
  int inputs;
  T *factor;
  uint64_t block_first, block_rows;
  const uint64_t *shared_at;
  const uint32_t *held;
  const uint64_t *begins;
  const uint64_t *counts;
  uint64_t own_entries;
  const amped_step_piece_cuda *pieces;
  uint64_t piece_count;
  const amped_step_row_cuda *rows;
  uint64_t row_count, own_rows;
  double *results;
  double *shared;
  amped_row_step_sums *sums;
  unsigned ncomps, components;
  uint64_t ld;
  bool biased, nonnegative;
  bool far; /* positions of inputs may take more than 32 bits */
  double mean, per_scale, reg, reg_power, reg_bias, prior, step;
  amped_step_order order;
};

template <typename T> step_problem<T> describe_steps(const amped_step_kernel_cuda_args *a) {
  step_problem<T> p = {};
  p.packing = a->packed->packing;
  for (int i = 0; i < p.packing.planes; i++)
    p.planes[i] = a->packed->planes[i];
  p.values = static_cast<const T *>(a->packed->values);
  p.dictionary = static_cast<const T *>(a->packed->dictionary);
  p.row_list = a->packed->rows;
  p.long_indices = a->packed->index_type == AMPED_U64;
  for (int m = 0; m < a->inputs; m++) {
    p.factors[m] = static_cast<const T *>(a->factors[m]);
    p.far = p.far || p.packing.bits[m] > 32;
  }
  p.inputs = a->inputs;
  p.factor = static_cast<T *>(a->factor);
  p.block_first = a->block_first;
  p.block_rows = a->block_rows;
  p.shared_at = a->shared_at;
  p.held = a->held;
  p.begins = a->begins;
  p.counts = a->counts;
  p.own_entries = a->own_entries;
  p.pieces = a->pieces;
  p.piece_count = a->piece_count;
  p.rows = a->rows;
  p.row_count = a->row_count;
  p.own_rows = a->own_rows;
  p.results = a->results;
  p.shared = a->shared;
  p.sums = a->sums;
  p.ncomps = (unsigned)a->ncomps;
  p.components = (unsigned)a->ncomps - (a->fit->biased ? 1U : 0U);
  p.ld = a->ld;
  p.biased = a->fit->biased;
  p.nonnegative = a->fit->nonnegative;
  p.mean = a->fit->mean;
  p.per_scale = 1.0 / a->fit->scale;
  p.reg = a->fit->reg * a->fit->pull[a->mode];
  p.reg_power = a->fit->reg_power;
  p.reg_bias = a->fit->reg_bias;
  p.prior = a->fit->prior[a->mode];
  p.step = a->step;
  p.order = a->order;
  return p;
}

template <typename P> __device__ inline double weight_of(const P &p, double n) {
  const double power = p.reg_power;
  return p.reg * (power == 0.5 ? sqrt(n) : power == 0.0 ? 1.0 : power == 1.0 ? n : pow(n, power));
}

template <typename P> __device__ inline uint64_t row_at(const P &p, uint64_t entry) {
  return p.long_indices ? static_cast<const uint64_t *>(p.row_list)[entry]
                        : static_cast<const uint32_t *>(p.row_list)[entry];
}

/* Offset in mode's factor of a row of the MTTKRP result. */
template <typename P> __device__ inline uint64_t place_of(const P &p, uint64_t row) {
  return (row < p.block_rows ? p.block_first + row : p.shared_at[row - p.block_rows]) * p.ld;
}

/* Chunk of a row: 16 bytes. */
template <typename T> struct chunk {
  static constexpr int size = 16 / (int)sizeof(T);
  T at[size];
};
template <typename T> __device__ inline chunk<T> load_chunk(const T *from) {
  chunk<T> c;
  const uint4 all = *reinterpret_cast<const uint4 *>(from);
  memcpy(c.at, &all, sizeof all);
  return c;
}

template <int lanes, typename T> __device__ inline T group_sum(T x) {
#pragma unroll
  for (int i = lanes / 2; i > 0; i /= 2)
    x += __shfl_xor_sync(whole_warp, x, i, lanes);
  return x;
}

/* A decoded visit, in the lane that decoded it: positions of its input rows; target, y without the
 * biases of the inputs; and whether the nonzero takes part. N: 2 for two inputs, else
 * most_inputs. */
template <typename T, int N> struct visit {
  uint64_t rows[N];
  T target;
  bool takes_part;
};

template <typename T, int N>
__device__ inline void decode_visit(const step_problem<T> &p, uint64_t k, visit<T, N> *v) {
  uint64_t words[AMPED_MAX_PLANES];
  amped_packed_get(&p.packing, p.planes, k, words);
#pragma unroll
  for (int m = 0; m < N; m++)
    if (N == 2 || m < p.inputs)
      v->rows[m] = amped_packed_field(words, p.packing.shifts[m], p.packing.bits[m]);
  const T x =
      p.packing.coded
          ? p.dictionary[amped_packed_field(words, p.packing.value_shift, p.packing.value_bits)]
          : p.values[k];
  double y = ((double)x - p.mean) * p.per_scale;
  if (p.biased)
#pragma unroll
    for (int m = 0; m < N; m++)
      if (N == 2 || m < p.inputs)
        y -= (double)p.factors[m][v->rows[m] * p.ld + p.components];
  v->target = (T)y;
  v->takes_part = p.held == nullptr || (p.held[k / 32] >> k % 32 & 1U) == 0;
}

/* Add up the threads' sums in a fixed order, and store the result in the thread block's place. */
__device__ inline void add_block(const amped_row_step_sums &own, amped_row_step_sums *sums) {
  __shared__ amped_row_step_sums parts[step_threads];
  parts[threadIdx.x] = own;
  for (unsigned half = step_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      parts[threadIdx.x].count += parts[threadIdx.x + half].count;
      parts[threadIdx.x].penalty += parts[threadIdx.x + half].penalty;
      parts[threadIdx.x].bias_penalty += parts[threadIdx.x + half].bias_penalty;
    }
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = parts[0];
}

/* State of a group's current row. */
template <typename T, int chunks> struct walker {
  bool busy;
  bool listed; /* piece of a row: its result goes to a slot */
  uint64_t task, row, first;
  unsigned piece, pieces;
  amped_step_visits visits;
  uint32_t own_at, per_round; /* the lane's next visit; its distance to the next round's */
  unsigned visited, taken, in_tail;
  T curvatures;
  double n;
  T per_row, per_bias;
  T bias, bias_sum;
  T row_at[chunks * chunk<T>::size], sum[chunks * chunk<T>::size];
};

/* Begin the group's next row, if there is one. Pieces come first. */
template <typename T, int lanes, int chunks>
__device__ inline void begin_row(const step_problem<T> &p, uint64_t task, int lane,
                                 walker<T, chunks> *w) {
  constexpr int size = chunk<T>::size;
  uint64_t entry = 0;
  w->busy = false;
  if (task >= p.piece_count + p.own_entries)
    return;
  w->task = task;
  w->listed = task < p.piece_count;
  entry = w->listed ? p.pieces[task].entry : task - p.piece_count;
  w->piece = w->listed ? p.pieces[task].piece : 0;
  w->pieces = w->listed ? p.pieces[task].pieces : 1;
  w->first = p.begins[entry];
  const uint64_t count = p.begins[entry + 1] - w->first;
  w->n = (double)p.counts[entry];
  if (!w->listed && (count > AMPED_STEP_PIECE || w->n == 0.0 || !(p.step > 0.0)))
    return;
  w->row = row_at(p, entry);
  w->visits = amped_step_visits_of(p.order, count, w->pieces, w->piece);
  w->busy = true;
  w->visited = w->taken = w->in_tail = 0;
  w->curvatures = (T)0;
  const uint32_t length = w->visits.length;
  w->own_at = (uint32_t)((w->visits.at + (uint64_t)w->visits.stride * (unsigned)lane) % length);
  w->per_round = (uint32_t)((uint64_t)w->visits.stride * lanes % length);
  w->per_row = (T)(w->n > 0.0 ? weight_of(p, w->n) / w->n : 0.0);
  w->per_bias = (T)(w->n > 0.0 ? p.reg_bias / w->n : 0.0);
  const T *const place = p.factor + place_of(p, w->row);
#pragma unroll
  for (int i = 0; i < chunks; i++)
#pragma unroll
    for (int c = 0; c < size; c++) {
      const unsigned column = (unsigned)((lane + i * lanes) * size + c);
      w->row_at[i * size + c] = column < p.components ? place[column] - (T)p.prior : (T)0;
      w->sum[i * size + c] = (T)0;
    }
  w->bias = p.biased ? place[p.components] : (T)0;
  w->bias_sum = (T)0;
}

template <typename T, int lanes, int chunks>
__device__ inline void end_row(const step_problem<T> &p, int lane, const walker<T, chunks> &w,
                               bool ends, amped_row_step_sums *sums) {
  constexpr int size = chunk<T>::size;
  const double most = sizeof(T) == 4 ? (double)FLT_MAX : DBL_MAX;
  const double by = w.in_tail > 0 ? 1.0 / (double)w.in_tail : 1.0;
  double *const slot = p.results + (ends && w.listed ? w.task * (p.ncomps + 1) : 0);
  T *const place = p.factor + place_of(p, ends ? w.row : 0);
  double squares = 0.0;
  bool finite = true;
  double x[chunks * size];
  double bias = (double)(w.in_tail > 0 ? w.bias_sum : w.bias) * by;
#pragma unroll
  for (int i = 0; i < chunks * size; i++) {
    x[i] = (double)(w.in_tail > 0 ? w.sum[i] : w.row_at[i]) * by + p.prior;
    finite = finite && fabs(x[i]) <= most;
  }
  finite = finite && fabs(bias) <= most;
  const unsigned good = __ballot_sync(whole_warp, finite) >> (threadIdx.x % 32 / lanes * lanes);
  constexpr unsigned group = lanes == 32 ? whole_warp : (1U << lanes % 32) - 1U;
  finite = (good & group) == group;
  if (!finite && p.biased && ends)
    bias = (double)place[p.components];
#pragma unroll
  for (int i = 0; i < chunks; i++)
#pragma unroll
    for (int c = 0; c < size; c++) {
      const unsigned column = (unsigned)((lane + i * lanes) * size + c);
      if (column >= p.components || !ends)
        continue;
      double here = finite ? x[i * size + c] : (double)place[column];
      if (w.listed) {
        slot[column] = here;
        continue;
      }
      place[column] = (T)here;
      here = (double)(T)here - p.prior;
      squares += here * here;
    }
  squares = group_sum<lanes>(squares);
  if (!ends || lane != 0)
    return;
  if (p.biased && w.listed)
    slot[p.components] = bias;
  if (w.listed) {
    slot[p.ncomps] = (double)w.taken;
    return;
  }
  if (p.biased)
    place[p.components] = (T)bias;
  sums->count += (uint64_t)w.n;
  sums->penalty += weight_of(p, w.n) * squares;
  if (p.biased)
    sums->bias_penalty += p.reg_bias * (double)(T)bias * (double)(T)bias;
}

/* Address in input m's row of the visit that lane `from` decoded. begin: the same address in the
 * first row of the input's factor. */
template <typename T, int N, int lanes>
__device__ inline const T *row_of_visit(const step_problem<T> &p, const T *begin,
                                        const visit<T, N> &v, int m, int from) {
  if (p.far)
    return begin + __shfl_sync(whole_warp, (unsigned long long)v.rows[m], from, lanes) * p.ld;
  return row_address(begin, __shfl_sync(whole_warp, (unsigned)v.rows[m], from, lanes),
                     (unsigned)(p.ld * sizeof(T)));
}

/* Column at which the lane's chunk i begins; 0 if it is after the components. */
template <typename T, int lanes>
__device__ inline unsigned chunk_at(const step_problem<T> &p, int lane, int i) {
  const unsigned at = (unsigned)((lane + i * lanes) * chunk<T>::size);
  return at < p.components ? at : 0U;
}

/* Load the lane's chunks of the first two inputs' rows; a matrix has one input. begins: addresses
 * of chunk 0 in the factors' first rows. */
template <typename T, int N, int lanes, int chunks>
__device__ inline void load_rows(const step_problem<T> &p, const T *const *begins,
                                 const visit<T, N> &v, int from, int lane,
                                 chunk<T> (*rows)[chunks]) {
#pragma unroll
  for (int m = 0; m < 2; m++) {
    if (N > 2 && m >= p.inputs)
      continue;
    const T *const row = row_of_visit<T, N, lanes>(p, begins[m], v, m, from);
    rows[m][0] = load_chunk(row);
#pragma unroll
    for (int i = 1; i < chunks; i++)
      rows[m][i] =
          load_chunk(row + chunk_at<T, lanes>(p, lane, i) - chunk_at<T, lanes>(p, lane, 0));
  }
}

/* Make the group's visit that lane `from` decoded. part: the nonzero takes part. With c the
 * curvature, a the step's length times the visits so far, and r the penalty per visit: the row
 * keeps 1 / (1 + a r / c) of itself. */
template <typename T, int N, int lanes, int chunks>
__device__ inline void step_row(const step_problem<T> &p, const visit<T, N> &v, bool part, int from,
                                int lane, const chunk<T> (*rows)[chunks], bool tail,
                                walker<T, chunks> *w) {
  constexpr int size = chunk<T>::size;
  const T target = __shfl_sync(whole_warp, v.target, from, lanes);
  const T *others[N > 2 ? N - 2 : 1];
#pragma unroll
  for (int m = 2; m < N; m++)
    if (m < p.inputs)
      others[m - 2] = row_of_visit<T, N, lanes>(p, p.factors[m], v, m, from);
  T x[chunks * size];
  T square = (T)0;
  T dot = (T)0;
#pragma unroll
  for (int i = 0; i < chunks; i++) {
    const unsigned at = (unsigned)((lane + i * lanes) * size);
#pragma unroll
    for (int c = 0; c < size; c++) {
      const T first = rows[0][i].at[c];
      const T product = N == 2 || p.inputs > 1 ? first * rows[1][i].at[c] : first;
      x[i * size + c] = at + (unsigned)c < p.components ? product : (T)0;
    }
#pragma unroll
    for (int m = 2; m < N; m++)
      if (m < p.inputs && at < p.components) {
        const chunk<T> more = load_chunk(others[m - 2] + at);
#pragma unroll
        for (int c = 0; c < size; c++)
          if (at + (unsigned)c < p.components)
            x[i * size + c] *= more.at[c];
      }
#pragma unroll
    for (int c = 0; c < size; c++) {
      const T a = x[i * size + c];
      square += a * a;
      dot += a * w->row_at[i * size + c];
    }
  }
  square = group_sum<lanes>(square);
  dot = group_sum<lanes>(dot);
  T error = target;
  if (p.prior != 0.0) {
    T sum = (T)0;
#pragma unroll
    for (int i = 0; i < chunks * size; i++)
      sum += x[i];
    error -= (T)p.prior * group_sum<lanes>(sum);
  }
  const T most = sizeof(T) == 4 ? (T)FLT_MAX : (T)DBL_MAX;
  const T seen = (T)(w->taken + 1);
  const T before = w->curvatures + (part ? square : (T)0);
  const T curvature = before + (p.biased ? seen : (T)0);
  const bool moves = part && curvature > (T)0 && curvature <= most;
  const T a = (T)p.step * seen;
  const T keep = moves ? curvature * reciprocal(curvature + a * w->per_row) : (T)1;
  T keep_bias = (T)0;
  if (p.biased)
    keep_bias = moves ? curvature * reciprocal(curvature + a * w->per_bias) : (T)1;
  error -= keep * dot + keep_bias * w->bias;
  const T gain = moves ? a * reciprocal(curvature + a * (keep * square + keep_bias)) * error : (T)0;
  const T s = gain * keep;
  const T counts = part && tail ? (T)1 : (T)0;
#pragma unroll
  for (int i = 0; i < chunks * size; i++) {
    T next = keep * w->row_at[i] + s * x[i];
    if (p.nonnegative && next < (T)-p.prior)
      next = (T)-p.prior;
    w->row_at[i] = part ? next : w->row_at[i];
    w->sum[i] += counts * w->row_at[i];
  }
  if (p.biased) {
    w->bias = part ? keep_bias * w->bias + gain * keep_bias : w->bias;
    w->bias_sum += counts * w->bias;
  }
  w->curvatures = before;
  w->taken += part ? 1 : 0;
  w->in_tail += part && tail ? 1 : 0;
}

/* Thread blocks of a traversal, per multiprocessor. With short rows all of them run at the same
 * time. If there were more, the last ones would begin when the first ones end, and leave half of
 * the GPU idle. Groups take tens of rows, so they end at about the same time. */
template <typename T, int chunks> constexpr bool all_fit = sizeof(T) == 4 && chunks == 1;
template <typename T, int chunks> constexpr int walkers = all_fit<T, chunks> ? 5 : 8;

template <typename T, int N, int lanes, int chunks>
__global__ void __launch_bounds__(step_threads, all_fit<T, chunks> ? walkers<T, chunks> : 1)
    traverse_rows(const step_problem<T> p) {
  constexpr int ahead = chunks == 1 ? 4 : 1;   /* visits whose rows are being loaded */
  constexpr int unrolled = chunks > 2 ? 2 : 8; /* visits in a row without a branch */
  constexpr unsigned groups = step_threads / lanes;
  const int lane = (int)(threadIdx.x % lanes);
  const uint64_t all = (uint64_t)gridDim.x * groups;
  const uint64_t tasks = p.piece_count + p.own_entries;
  uint64_t task = (uint64_t)blockIdx.x * groups + threadIdx.x / lanes;
  amped_row_step_sums own = {0, 0.0, 0.0};
  walker<T, chunks> w;
  const T *begins[2]; /* addresses of the lane's chunk 0 in the first rows */
#pragma unroll
  for (int m = 0; m < 2; m++)
    begins[m] = kept(p.factors[m] + chunk_at<T, lanes>(p, lane, 0));
  w.busy = false;
  for (;;) {
    while (!w.busy && task < tasks) {
      begin_row<T, lanes, chunks>(p, task, lane, &w);
      task += all;
    }
    if (!__any_sync(whole_warp, w.busy))
      break;
    visit<T, N> v;
    const unsigned left = w.busy ? w.visits.length - w.visited : 0;
    v.takes_part = false;
    v.target = (T)0;
#pragma unroll
    for (int m = 0; m < N; m++)
      v.rows[m] = 0;
    if ((unsigned)lane < left) {
      amped_step_visits mine = w.visits;
      mine.at = w.own_at;
      decode_visit(p, w.first + amped_step_number(&mine, w.pieces, w.piece), &v);
    }
    const unsigned parts =
        __ballot_sync(whole_warp, v.takes_part) >> (threadIdx.x % 32 / lanes * lanes);
    chunk<T> rows[ahead][2][chunks];
#pragma unroll
    for (int j = 0; j < ahead; j++)
      load_rows<T, N, lanes, chunks>(p, begins, v, j, lane, rows[j]);
#pragma unroll 1
    for (int first = 0; first < lanes; first += unrolled)
#pragma unroll
      for (int k = 0; k < unrolled; k++) {
        const int j = first + k;
        const bool tail = w.busy && w.visited + (unsigned)j >= w.visits.length / 2;
        step_row<T, N, lanes, chunks>(p, v, parts >> j & 1U, j, lane, rows[k % ahead], tail, &w);
        if (j + ahead < lanes)
          load_rows<T, N, lanes, chunks>(p, begins, v, j + ahead, lane, rows[k % ahead]);
      }
    const bool ends = w.busy && left <= (unsigned)lanes;
    if (w.busy) {
      w.own_at += w.per_round; /* lengths are far below 2^31 */
      w.own_at -= w.own_at >= w.visits.length ? w.visits.length : 0;
      w.visited += lanes;
    }
    if (__any_sync(whole_warp, ends))
      end_row<T, lanes, chunks>(p, lane, w, ends, &own);
    w.busy = w.busy && !ends;
  }
  __syncthreads();
  add_block(own, p.sums);
}

/* Add the sums of rows that stay because the step is 0, and set rows whose nonzeros are all held
 * out to the prior. One warp per row. */
template <typename T>
__global__ void __launch_bounds__(step_threads) visit_rows(const step_problem<T> p) {
  const int lane = (int)(threadIdx.x % 32);
  const uint64_t step = (uint64_t)gridDim.x * (step_threads / 32);
  amped_row_step_sums own = {0, 0.0, 0.0};
  for (uint64_t e = (uint64_t)blockIdx.x * (step_threads / 32) + threadIdx.x / 32;
       e < p.own_entries; e += step) {
    T *const place = p.factor + place_of(p, row_at(p, e));
    const double n = (double)p.counts[e];
    double squares = 0.0;
    if (n > 0.0 && p.step > 0.0)
      continue;
    for (unsigned c = (unsigned)lane; c < p.ncomps; c += 32) {
      if (!(n > 0.0))
        place[c] = c < p.components ? (T)p.prior : (T)0;
      const double off = (double)place[c] - p.prior;
      squares += c < p.components ? off * off : 0.0;
    }
    squares = group_sum<32>(squares);
    if (lane == 0 && n > 0.0) {
      const double bias = p.biased ? (double)place[p.components] : 0.0;
      own.count += (uint64_t)n;
      own.penalty += weight_of(p, n) * squares;
      own.bias_penalty += p.reg_bias * bias * bias;
    }
  }
  add_block(own, p.sums + AMPED_STEP_BLOCKS);
}

/* Join the results of a row's pieces: an own row becomes their weighted mean; a shared row leaves
 * the weighted sum and the sum of weights. One warp per row. */
template <typename T>
__global__ void __launch_bounds__(step_threads) join_rows(const step_problem<T> p) {
  const int lane = (int)(threadIdx.x % 32);
  const uint64_t step = (uint64_t)gridDim.x * (step_threads / 32);
  const uint64_t length = p.ncomps + 1;
  amped_row_step_sums own = {0, 0.0, 0.0};
  for (uint64_t i = (uint64_t)blockIdx.x * (step_threads / 32) + threadIdx.x / 32; i < p.row_count;
       i += step) {
    const amped_step_row_cuda row = p.rows[i];
    const bool shared = i >= p.own_rows;
    const double n = (double)p.counts[row.entry];
    if (!shared && !(p.step > 0.0))
      continue;
    double *const out = shared ? p.shared + (i - p.own_rows) * length : nullptr;
    double squares = 0.0;
    double bias = 0.0;
    double taken = 0.0;
    for (uint64_t k = 0; k < row.count; k++)
      taken += p.results[(row.first + k) * length + p.ncomps];
    T *const place = p.factor + place_of(p, row_at(p, row.entry));
    for (unsigned c = (unsigned)lane; c < p.ncomps && (taken > 0.0 || shared); c += 32) {
      double sum = 0.0;
      for (uint64_t k = 0; k < row.count; k++) {
        const double *const result = p.results + (row.first + k) * length;
        if (result[p.ncomps] > 0.0)
          sum += result[p.ncomps] * result[c];
      }
      if (shared) {
        out[c] = sum;
        continue;
      }
      place[c] = (T)(sum / taken);
      const double off = (double)place[c] - p.prior;
      squares += c < p.components ? off * off : 0.0;
      bias = c < p.components ? bias : (double)place[c];
    }
    if (shared && lane == 0)
      out[p.ncomps] = taken;
    squares = group_sum<32>(squares);
    bias = group_sum<32>(bias);
    if (lane == 0 && !shared && taken > 0.0) {
      own.count += (uint64_t)n;
      own.penalty += weight_of(p, n) * squares;
      own.bias_penalty += p.reg_bias * bias * bias;
    }
  }
  add_block(own, p.sums + 2 * AMPED_STEP_BLOCKS);
}

/* Set own rows of split iDps from their sums over all ranks. One warp per row. */
template <typename T>
__global__ void __launch_bounds__(step_threads)
    put_rows(const step_problem<T> p, uint64_t first, uint64_t count, const double *rows) {
  const int lane = (int)(threadIdx.x % 32);
  const uint64_t step = (uint64_t)gridDim.x * (step_threads / 32);
  amped_row_step_sums own = {0, 0.0, 0.0};
  for (uint64_t i = (uint64_t)blockIdx.x * (step_threads / 32) + threadIdx.x / 32; i < count;
       i += step) {
    const double *const row = rows + i * (p.ncomps + 1);
    T *const place = p.factor + place_of(p, first + i);
    const double n = row[p.ncomps];
    double squares = 0.0;
    double bias = 0.0;
    for (unsigned c = (unsigned)lane; c < p.ncomps; c += 32) {
      if (!(n > 0.0))
        place[c] = c < p.components ? (T)p.prior : (T)0;
      else if (p.step > 0.0)
        place[c] = (T)(row[c] / n);
      const double off = (double)place[c] - p.prior;
      squares += c < p.components ? off * off : 0.0;
      bias = c < p.components ? bias : (double)place[c];
    }
    squares = group_sum<32>(squares);
    bias = group_sum<32>(bias);
    if (lane == 0 && n > 0.0) {
      own.count += (uint64_t)n;
      own.penalty += weight_of(p, n) * squares;
      own.bias_penalty += p.reg_bias * bias * bias;
    }
  }
  add_block(own, p.sums);
}

unsigned step_blocks(uint64_t tasks, unsigned per_block) {
  const uint64_t blocks = amped_ceil_div(tasks, (uint64_t)per_block);
  return (unsigned)(blocks < 1 ? 1 : blocks < AMPED_STEP_BLOCKS ? blocks : AMPED_STEP_BLOCKS);
}

template <typename T, int lanes, int chunks>
amped_status launch_traversal(const amped_step_kernel_cuda_args *a) {
  const step_problem<T> p = describe_steps<T>(a);
  const unsigned wanted = step_blocks(a->piece_count + a->own_entries, step_threads / lanes);
  const unsigned most = (unsigned)(a->multiprocessors * walkers<T, chunks>);
  const unsigned blocks = wanted < most ? wanted : most;
  if (a->inputs == 2)
    traverse_rows<T, 2, lanes, chunks><<<blocks, step_threads, 0, a->stream>>>(p);
  else
    traverse_rows<T, most_inputs, lanes, chunks><<<blocks, step_threads, 0, a->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of row steps");
  return AMPED_OK;
}

/* Launch a pass, with the narrowest group that holds a row. */
template <typename T> amped_status traversal(const amped_step_kernel_cuda_args *a) {
  constexpr int size = chunk<T>::size;
  const int n = a->ncomps - (a->fit->biased ? 1 : 0);
  const step_problem<T> p = describe_steps<T>(a);
  AMPED_CUDA(cudaMemsetAsync(a->sums, 0, 3 * AMPED_STEP_BLOCKS * sizeof *a->sums, a->stream));
  if (a->piece_count > 0 || (a->step > 0.0 && a->own_entries > 0))
    AMPED_TRY(n <= 8 * size    ? (launch_traversal<T, 8, 1>(a))
              : n <= 16 * size ? (launch_traversal<T, 16, 1>(a))
              : n <= 32 * size ? (launch_traversal<T, 32, 1>(a))
              : n <= 64 * size ? (launch_traversal<T, 32, 2>(a))
                               : (launch_traversal<T, 32, AMPED_MAX_NCOMPS / 32 / size>(a)));
  visit_rows<T><<<step_blocks(a->own_entries, step_threads / 32), step_threads, 0, a->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of rows that stay");
  if (a->row_count > 0) {
    join_rows<T><<<step_blocks(a->row_count, step_threads / 32), step_threads, 0, a->stream>>>(p);
    AMPED_CUDA_LAUNCHED("the kernel of long rows");
  }
  return AMPED_OK;
}

template <typename T>
amped_status put(const amped_step_kernel_cuda_args *a, uint64_t first, uint64_t count,
                 const double *rows) {
  AMPED_CUDA(cudaMemsetAsync(a->sums, 0, 3 * AMPED_STEP_BLOCKS * sizeof *a->sums, a->stream));
  put_rows<T><<<step_blocks(count, step_threads / 32), step_threads, 0, a->stream>>>(
      describe_steps<T>(a), first, count, rows);
  AMPED_CUDA_LAUNCHED("the kernel of shared rows");
  return AMPED_OK;
}

} // namespace

#endif
