/* The MTTKRP kernel over bundles of boxes, and its launch, as templates. One .cu file for each
 * value type instantiates them.
 *
 * A thread block draws a bundle. First each of its threads decodes one nonzero at a time into
 * shared memory; loads are coalesced. If rows repeat in a bundle, its nonzeros are then sorted by
 * rows, with counters in shared memory. At last groups of lanes take even stretches of the bundle.
 * A lane has one vector of 16 bytes of each row. Consecutive terms of one row are added in
 * registers; then one addition of 16 bytes per lane takes the sum to the output.
 *
 * Rows of more than 32 vectors are cut into columns, and each column has thread blocks of its
 * own. */
#ifndef AMPED_BOX_MTTKRP_CUDA_CUH
#define AMPED_BOX_MTTKRP_CUDA_CUH

#include "cuda/boxes/box_mttkrp_cuda.h"
#include "cuda/device/ptx_cuda.cuh"
#include "cuda/device/vectors_cuda.cuh"
#include "cuda/sorted/decode_cuda.cuh"

namespace {

constexpr unsigned box_threads = 256;
constexpr unsigned box_sort_threads = 512;
constexpr unsigned frequent_flag = 0x80000000U;
constexpr unsigned no_row = 0xffffffffU;
constexpr int any_inputs = AMPED_MAX_ORDER - 1;

/* Nonzeros whose rows a group gathers at a time, limited by registers. */
__host__ __device__ constexpr unsigned ahead_of(int inputs) {
  return inputs == 2 ? 4U : inputs <= 4 ? 2U : 1U;
}

constexpr uint64_t shared_flag = UINT64_C(1) << 63;

/* Arguments of the kernel. Arrays over modes hold the inputs first, then the output. */
template <typename T, typename I> struct box_problem {
  typedef typename vector_of<T>::type vector;
  packed_nonzeros<T, I> x; /* its planes and values */
  int inputs, order;
  unsigned shifts[AMPED_MAX_ORDER];
  unsigned bits[AMPED_MAX_ORDER];
  I masks[AMPED_MAX_ORDER];
  unsigned low_bits[AMPED_MAX_ORDER];
  unsigned modes[AMPED_MAX_ORDER];
  int copied; /* input that is the copy's mode; `inputs` if the output is */
  I own_first, own_rows;
  const uint64_t *shared_positions;
  const vector *factors[AMPED_MAX_ORDER - 1];
  void *sums;      /* the output, or fixed sums */
  void *parts;     /* parts of frequent rows, or fixed ones */
  unsigned stride; /* vectors per row */
  unsigned lanes;  /* lanes of a group */
  const uint64_t *firsts;
  const uint32_t *counts;
  const uint32_t *tiles;
  const uint32_t *turns;
  const uint32_t *bundle_firsts;
  uint64_t first;                  /* the number that the planes' first nonzero has in the copy */
  unsigned bundles, most, buckets; /* buckets: 0 if bundles are not sorted */
  amped_box_job job;
  const uint32_t *frequent_bits;
  const uint32_t *frequent_before;
  const uint32_t *part_firsts;
  uint32_t first_bundle; /* number of the launch's first bundle, counted over all spans */
  uint32_t *adds;
  uint32_t *ticket;
  const double *scales;
};

/* --- shared memory ---------------------------------------------------------------------------- */

/* Arrays of a thread block in shared memory. */
template <typename T, typename I> struct box_room {
  uint64_t *firsts; /* [pieces] with shared_flag */
  T *values;        /* [most] */
  I *bases;         /* [pieces * order] */
  I *positions;     /* [inputs * most] */
  uint32_t *rows;   /* [most] row in the tile; for a frequent row frequent_flag and a part */
  uint32_t *begins; /* [pieces + 1] nonzeros of the bundle before each piece */
  uint32_t *buckets;
  uint16_t *order; /* [most] */
};

template <typename T, typename I>
__host__ __device__ inline uint64_t room_bytes(int order, uint64_t most, uint64_t buckets) {
  const uint64_t bases = (uint64_t)order * AMPED_BOX_BUNDLE_PIECES * sizeof(I);
  return AMPED_BOX_BUNDLE_PIECES * sizeof(uint64_t) + most * sizeof(T) + bases +
         (uint64_t)(order - 1) * most * sizeof(I) + most * sizeof(uint32_t) +
         (AMPED_BOX_BUNDLE_PIECES + 2) * sizeof(uint32_t) + buckets * sizeof(uint32_t) +
         (buckets > 0 ? most * sizeof(uint16_t) : 0);
}

template <typename T, typename I>
__device__ inline box_room<T, I> room_of(const box_problem<T, I> &p, unsigned char *shared) {
  box_room<T, I> r;
  r.firsts = reinterpret_cast<uint64_t *>(shared);
  r.values = reinterpret_cast<T *>(r.firsts + AMPED_BOX_BUNDLE_PIECES);
  r.bases = reinterpret_cast<I *>(r.values + p.most);
  r.positions = r.bases + p.order * AMPED_BOX_BUNDLE_PIECES;
  r.rows = reinterpret_cast<uint32_t *>(r.positions + p.inputs * p.most);
  r.begins = r.rows + p.most;
  r.buckets = r.begins + AMPED_BOX_BUNDLE_PIECES + 2;
  r.order = reinterpret_cast<uint16_t *>(r.buckets + p.buckets);
  return r;
}

/* --- frequent rows ---------------------------------------------------------------------------- */

/* Even stretches of a bundle, one for each group of lanes. */
struct stretches {
  unsigned each;  /* nonzeros of a stretch */
  uint32_t first; /* number of the bundle's first stretch, counted over all bundles */
};

/* 2^32 over the golden ratio: its multiples, modulo 2^32, are evenly spread. */
constexpr uint32_t golden_turn = 0x9e3779b9U;

/* Encode an output row as an entry of rows[]: the row in its tile. A frequent row's entry is the
 * part that this stretch adds to. All nonzeros of a row in one stretch get the same entry. */
template <typename T, typename I>
__device__ inline uint32_t word_of(const box_problem<T, I> &p, I tile, uint32_t row,
                                   const stretches &s, unsigned place) {
  const I at = tile + row;
  const uint32_t word = __ldg(p.frequent_bits + at / 32);
  const uint32_t bit = 1U << at % 32;
  if ((word & bit) == 0)
    return row;
  const uint32_t *firsts =
      p.part_firsts + __ldg(p.frequent_before + at / 32) + (unsigned)__popc(word & (bit - 1U));
  const uint32_t first = __ldg(firsts);
  const uint32_t turn = (s.first + place / s.each) * golden_turn;
  return frequent_flag | (first + (uint32_t)((uint64_t)turn * (__ldg(firsts + 1) - first) >> 32));
}

/* --- decoding --------------------------------------------------------------------------------- */

template <typename T, typename I>
__device__ inline uint64_t box_word(const box_problem<T, I> &p, unsigned j, uint64_t k) {
  if (p.x.packing.plane_bytes[j] == 8)
    return __ldcs(static_cast<const unsigned long long *>(p.x.planes[j]) + k);
  if (p.x.packing.plane_bytes[j] == 4)
    return __ldcs(static_cast<const unsigned *>(p.x.planes[j]) + k);
  return __ldcs(static_cast<const unsigned short *>(p.x.planes[j]) + k);
}

/* The first two words of nonzero k's number. */
struct box_words {
  uint64_t w0, w1;
};

template <typename T, typename I>
__device__ inline box_words load_words(const box_problem<T, I> &p, uint64_t k) {
  box_words w = {0, 0};
  if (p.x.layout <= NUMBER_48) {
    w.w0 = __ldcs(static_cast<const unsigned *>(p.x.planes[0]) + k);
    if (p.x.layout == NUMBER_48)
      w.w0 |= (uint64_t)__ldcs(static_cast<const unsigned short *>(p.x.planes[1]) + k) << 32;
  } else {
    w.w0 = __ldcs(static_cast<const unsigned long long *>(p.x.planes[0]) + k);
    if (p.x.layout == NUMBER_LONG)
      w.w1 = box_word(p, 1, k);
  }
  return w;
}

/* Returns a field, with other bits above it: the caller masks them. */
template <typename T, typename I>
__device__ inline uint64_t box_field(const box_problem<T, I> &p, uint64_t k, box_words w,
                                     unsigned shift, unsigned bits) {
  const unsigned j = shift / 64;
  const unsigned s = shift % 64;
  if (p.x.layout != NUMBER_LONG)
    return w.w0 >> s;
  uint64_t v = (j == 0 ? w.w0 : j == 1 ? w.w1 : box_word(p, j, k)) >> s;
  if (s + bits > 64)
    v |= (j == 0 ? w.w1 : box_word(p, j + 1, k)) << (64 - s);
  return v;
}

/* List the pieces of a bundle, by their first nonzero in the copy and in the bundle. Returns the
 * number of pieces. */
template <typename T, typename I>
__device__ inline unsigned list_pieces(const box_problem<T, I> &p, const box_room<T, I> &r,
                                       unsigned bundle) {
  const unsigned first = p.bundle_firsts[bundle];
  const unsigned pieces = p.bundle_firsts[bundle + 1] - first;
  if (threadIdx.x < pieces) {
    const unsigned i = threadIdx.x;
    const unsigned piece = p.turns[first + i];
    const unsigned count = p.counts[piece];
    const bool shared = (count & AMPED_BOX_SHARED) != 0;
    r.firsts[i] = (p.firsts[piece] - p.first) | (shared ? shared_flag : 0);
    r.begins[i + 1] = count & AMPED_BOX_COUNT;
    for (int m = 0; m < p.order; m++)
      r.bases[m * AMPED_BOX_BUNDLE_PIECES + i] =
          ((I)p.tiles[(uint64_t)piece * (unsigned)p.order + p.modes[m]] << p.low_bits[m]) +
          (m == p.copied && m < p.inputs && !shared ? p.own_first : (I)0);
  }
  __syncthreads();
  unsigned before = 0;
  if (threadIdx.x <= pieces)
    for (unsigned i = 1; i <= threadIdx.x; i++)
      before += r.begins[i];
  __syncthreads();
  if (threadIdx.x <= pieces)
    r.begins[threadIdx.x] = before;
  __syncthreads();
  return pieces;
}

/* Returns the piece that holds the bundle's nonzero i. */
__device__ inline unsigned piece_of(const uint32_t *begins, unsigned pieces, unsigned i) {
  unsigned low = 0;
  unsigned high = pieces - 1;
  while (low < high) {
    const unsigned middle = (low + high + 1) / 2;
    if (begins[middle] <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Decode the bundle's nonzero i into shared memory. If bundles are sorted, put_in_order replaces
 * frequent rows by parts later. */
template <typename T, typename I, int N>
__device__ inline void decode_one(const box_problem<T, I> &p, const box_room<T, I> &r,
                                  unsigned pieces, const stretches &s, unsigned i) {
  const unsigned piece = piece_of(r.begins, pieces, i);
  const bool shared = (r.firsts[piece] & shared_flag) != 0;
  const uint64_t k = (r.firsts[piece] & ~shared_flag) + (i - r.begins[piece]);
  const box_words w = load_words(p, k);
#pragma unroll
  for (int m = 0; m < N; m++)
    if (N < any_inputs || m < p.inputs) {
      I at = r.bases[m * AMPED_BOX_BUNDLE_PIECES + piece] +
             ((I)box_field(p, k, w, p.shifts[m], p.bits[m]) & p.masks[m]);
      if (shared && m == p.copied)
        at = (I)p.shared_positions[at - p.own_rows];
      r.positions[m * p.most + i] = at;
    }
  uint32_t row =
      (uint32_t)((I)box_field(p, k, w, p.shifts[p.inputs], p.bits[p.inputs]) & p.masks[p.inputs]);
  if (p.frequent_bits != nullptr && p.buckets == 0)
    row = word_of(p, r.bases[p.inputs * AMPED_BOX_BUNDLE_PIECES + piece], row, s, i);
  r.rows[i] = row;
  if (p.x.packing.coded)
    r.values[i] = value_of(p.x, box_field(p, k, w, p.x.code_shift, p.x.packing.value_bits));
  else
    r.values[i] = __ldcs(p.x.values + k);
}

/* --- order ------------------------------------------------------------------------------------ */

/* Replace each counter by the sum of the counters before it. */
__device__ inline void scan_buckets(uint32_t *buckets, unsigned count) {
  __shared__ uint32_t of_warp[box_sort_threads / 32];
  const unsigned each = (count + blockDim.x - 1) / blockDim.x;
  const unsigned first = threadIdx.x * each;
  uint32_t own = 0;
  for (unsigned i = first; i < first + each && i < count; i++)
    own += buckets[i];
  uint32_t sum = own;
  for (unsigned by = 1; by < 32; by *= 2) {
    const uint32_t other = __shfl_up_sync(0xffffffffU, sum, by);
    sum += threadIdx.x % 32 >= by ? other : 0U;
  }
  if (threadIdx.x % 32 == 31)
    of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  uint32_t before = sum - own;
  for (unsigned w = 0; w < threadIdx.x / 32; w++)
    before += of_warp[w];
  for (unsigned i = first; i < first + each && i < count; i++) {
    const uint32_t n = buckets[i];
    buckets[i] = before;
    before += n;
  }
  __syncthreads();
}

/* r.order = the bundle's nonzeros, those with equal rows together: exactly so if every row has a
 * bucket, else mostly so. Replaces frequent rows by parts. */
template <typename T, typename I>
__device__ inline void put_in_order(const box_problem<T, I> &p, const box_room<T, I> &r, I tile,
                                    const stretches &s, unsigned nnz) {
  const unsigned mask = p.buckets - 1;
  for (unsigned i = threadIdx.x; i < p.buckets; i += blockDim.x)
    r.buckets[i] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < nnz; i += blockDim.x)
    atomicAdd(&r.buckets[r.rows[i] & mask], 1U);
  __syncthreads();
  scan_buckets(r.buckets, p.buckets);
  for (unsigned i = threadIdx.x; i < nnz; i += blockDim.x) {
    const unsigned place = atomicAdd(&r.buckets[r.rows[i] & mask], 1U);
    r.order[place] = (uint16_t)i;
    if (p.frequent_bits != nullptr)
      r.rows[i] = word_of(p, tile, r.rows[i], s, place);
  }
  __syncthreads();
}

/* --- sums ------------------------------------------------------------------------------------- */

struct fixed4 {
  long long x, y, z, w;
};

template <typename T, bool F> struct box_sum_of { typedef typename vector_of<T>::type type; };
template <> struct box_sum_of<float, true> { typedef fixed4 type; };

struct scales4 {
  double x, y, z, w;
};

__device__ inline void term_of(float4 v, const scales4 &, float4 *out) {
  *out = v;
}
__device__ inline void term_of(double2 v, const scales4 &, double2 *out) {
  *out = v;
}
__device__ inline void term_of(float4 v, const scales4 &s, fixed4 *out) {
  out->x = __double2ll_rn((double)v.x * s.x);
  out->y = __double2ll_rn((double)v.y * s.y);
  out->z = __double2ll_rn((double)v.z * s.z);
  out->w = __double2ll_rn((double)v.w * s.w);
}

__device__ inline fixed4 plus(fixed4 a, fixed4 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

/* Add to one vector of a row of sums. */
__device__ inline void add_atomically(void *sums, uint64_t row, unsigned stride, unsigned vector,
                                      float4 v) {
  float4 *to = static_cast<float4 *>(sums) + row * stride + vector;
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
#else
  atomicAdd(&to->x, v.x);
  atomicAdd(&to->y, v.y);
  atomicAdd(&to->z, v.z);
  atomicAdd(&to->w, v.w);
#endif
}
__device__ inline void add_atomically(void *sums, uint64_t row, unsigned stride, unsigned vector,
                                      double2 v) {
  double2 *to = static_cast<double2 *>(sums) + row * stride + vector;
  atomicAdd(&to->x, v.x);
  atomicAdd(&to->y, v.y);
}
/* Add to fixed sums. A row has the first elements of all vectors, then the second elements, and so
 * on, so that neighbouring lanes add to neighbouring words. */
__device__ inline void add_atomically(void *sums, uint64_t row, unsigned stride, unsigned vector,
                                      fixed4 v) {
  unsigned long long *to = static_cast<unsigned long long *>(sums) + 4 * row * stride + vector;
  atomicAdd(to, (unsigned long long)v.x);
  atomicAdd(to + stride, (unsigned long long)v.y);
  atomicAdd(to + 2 * stride, (unsigned long long)v.z);
  atomicAdd(to + 3 * stride, (unsigned long long)v.w);
}

/* *counter += count, saturating at UINT32_MAX. A thread whose addition overflows restores the
 * maximum. */
__device__ inline void count_up(uint32_t *counter, uint32_t count) {
  if (atomicAdd(counter, count) > UINT32_MAX - count)
    atomicMax(counter, UINT32_MAX);
}

template <typename vector>
__device__ inline const vector *factor_row(const vector *from, index32 row, unsigned stride) {
  return row_address(from, row, stride * (unsigned)sizeof(vector));
}
template <typename vector>
__device__ inline const vector *factor_row(const vector *from, index64 row, unsigned stride) {
  return from + row * stride;
}

/* --- work of a group -------------------------------------------------------------------------- */

/* Count each row's additions, or its nonzeros, in nonzeros begin .. end of the bundle. Consecutive
 * nonzeros of one row make one addition. */
template <typename T, typename I>
__device__ inline void count_stretch(const box_problem<T, I> &p, const box_room<T, I> &r,
                                     uint64_t tile, unsigned begin, unsigned end) {
  unsigned count = 0;
  for (unsigned i = begin; i < end; i++) {
    const unsigned row = r.rows[p.buckets > 0 ? r.order[i] : i];
    count++;
    if (i + 1 < end && r.rows[p.buckets > 0 ? r.order[i + 1] : i + 1] == row)
      continue;
    count_up(&p.adds[tile + row], p.job == AMPED_BOX_COUNT_NNZ ? count : 1U);
    count = 0;
  }
}

template <typename T, typename I, int N, bool F>
__device__ inline void add_stretch(const box_problem<T, I> &p, const box_room<T, I> &r,
                                   uint64_t tile, unsigned begin, unsigned end,
                                   unsigned vector_of_row, const scales4 &scales) {
  typedef typename vector_of<T>::type vector;
  typedef typename box_sum_of<T, F>::type sum_type;
  constexpr unsigned ahead = ahead_of(N);
  sum_type sum = {};
  unsigned current = no_row;
  const auto flush = [&]() {
    const bool frequent = (current & frequent_flag) != 0;
    const uint64_t row = frequent ? current & ~frequent_flag : tile + current;
    if (current != no_row)
      add_atomically(frequent ? p.parts : p.sums, row, p.stride, vector_of_row, sum);
  };
  for (unsigned i = begin; i < end; i += ahead) {
    unsigned rows[ahead];
    vector product[ahead];
    vector gathered[N][ahead];
#pragma unroll
    for (unsigned u = 0; u < ahead; u++) {
      const unsigned at = i + u < end ? i + u : end - 1;
      const unsigned slot = p.buckets > 0 ? r.order[at] : at;
      rows[u] = r.rows[slot];
      product[u] = splat(r.values[slot]);
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < any_inputs || m < p.inputs)
          gathered[m][u] =
              __ldg(factor_row(p.factors[m], r.positions[(unsigned)m * p.most + slot], p.stride) +
                    vector_of_row);
    }
#pragma unroll
    for (unsigned u = 0; u < ahead; u++) {
      sum_type term;
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < any_inputs || m < p.inputs)
          product[u] = times(product[u], gathered[m][u]);
      if (i + u >= end)
        break;
      term_of(product[u], scales, &term);
      if (rows[u] == current) {
        sum = plus(sum, term);
        continue;
      }
      flush();
      sum = term;
      current = rows[u];
    }
  }
  flush();
}

template <typename T, typename I>
__device__ inline scales4 scales_of(const box_problem<T, I> &p, unsigned vector_of_row,
                                    bool works) {
  if (p.scales == nullptr || !works)
    return {0.0, 0.0, 0.0, 0.0};
  const double *s = p.scales + vector_of_row * 4;
  return {s[0], s[1], s[2], s[3]};
}

template <typename T, typename I, int N, bool F>
__global__ void __launch_bounds__(box_sort_threads, 2) mttkrp_boxes(const box_problem<T, I> p) {
  extern __shared__ __align__(16) unsigned char box_shared[];
  __shared__ unsigned drawn;
  const box_room<T, I> r = room_of(p, box_shared);
  const unsigned groups = blockDim.x / p.lanes;
  const unsigned group = threadIdx.x / p.lanes;
  const unsigned of_row = blockIdx.y * 32 + threadIdx.x % p.lanes;
  const bool works = of_row < p.stride;
  const scales4 scales = scales_of(p, of_row, works);
  unsigned bundle = 0;
  if (threadIdx.x == 0)
    drawn = atomicAdd(p.ticket + blockIdx.y, 1U);
  __syncthreads();
  for (bundle = drawn; bundle < p.bundles; bundle = drawn) {
    unsigned next = 0;
    if (threadIdx.x == 0)
      next = atomicAdd(p.ticket + blockIdx.y, 1U);
    const unsigned pieces = list_pieces(p, r, bundle);
    const unsigned nnz = r.begins[pieces];
    const unsigned each = ((nnz + groups - 1) / groups) | 1U; /* odd: avoids bank conflicts */
    const stretches all = {each, (p.first_bundle + bundle) * groups};
    const I tile = r.bases[p.inputs * AMPED_BOX_BUNDLE_PIECES];
    for (unsigned i = threadIdx.x; i < nnz; i += blockDim.x)
      decode_one<T, I, N>(p, r, pieces, all, i);
    __syncthreads();
    if (p.buckets > 0)
      put_in_order(p, r, tile, all, nnz);
    const unsigned begin = group * each < nnz ? group * each : nnz;
    const unsigned end = begin + each < nnz ? begin + each : nnz;
    if (p.job != AMPED_BOX_ADD) {
      if (threadIdx.x % p.lanes == 0)
        count_stretch(p, r, tile, begin, end);
    } else if (works && begin < end) {
      add_stretch<T, I, N, F>(p, r, tile, begin, end, of_row, scales);
    }
    if (threadIdx.x == 0)
      drawn = next;
    __syncthreads();
  }
}

/* --- launch ----------------------------------------------------------------------------------- */

template <typename T, typename I> box_problem<T, I> problem_of(const amped_box_mttkrp_args *a) {
  const amped_plan *plan = a->plan;
  const amped_mode_plan *copied = &plan->modes[plan->boxed];
  const amped_packing *packing = &plan->linear.packing;
  box_problem<T, I> p = {};
  p.x.packing = *packing;
  p.x.layout = layout_of(packing);
  p.x.code_shift = packing->value_bits > 0 ? packing->value_shift : 0;
  p.x.code_mask = mask_of<unsigned>(packing->value_bits);
  p.x.ruler = a->packed.ruler;
  p.x.step = float_step_of(&a->packed.ruler, p.x.code_mask);
  for (int i = 0; i < packing->planes; i++)
    p.x.planes[i] = a->packed.planes[i];
  p.x.values = static_cast<const T *>(a->packed.values);
  p.x.dictionary = static_cast<const T *>(a->packed.dictionary);
  p.first = a->packed.first;
  p.order = plan->order;
  p.inputs = plan->order - 1;
  p.copied = p.inputs;
  for (int m = 0, input = 0; m < plan->order; m++) {
    const int field = m == a->mode ? p.inputs : input++;
    /* A field of no bits may lie behind the last word, and the kernel must not load a word for
     * it. */
    p.shifts[field] = packing->bits[m] > 0 ? packing->shifts[m] : 0;
    p.bits[field] = packing->bits[m];
    p.masks[field] = mask_of<I>(packing->bits[m]);
    p.low_bits[field] = plan->linear.low_bits[m] < 8 * sizeof(I) ? plan->linear.low_bits[m] : 0;
    p.modes[field] = (unsigned)m;
    if (m == plan->boxed)
      p.copied = field;
    if (m != a->mode)
      p.factors[field] = static_cast<const typename vector_of<T>::type *>(a->factors[m]);
  }
  p.own_first = (I)((uint64_t)plan->rank * copied->rows.block_rows);
  p.own_rows = (I)copied->rows.block_rows;
  p.shared_positions = a->shared_positions;
  p.sums = a->fixed != nullptr ? a->fixed : a->output;
  p.parts = a->parts;
  p.stride = (unsigned)(plan->ld * sizeof(T) / 16);
  p.lanes = 1;
  while (p.lanes < p.stride && p.lanes < 32)
    p.lanes *= 2;
  p.firsts = a->firsts;
  p.counts = a->counts;
  p.tiles = a->tiles;
  p.turns = a->turns;
  p.bundle_firsts = a->bundle_firsts + a->bundle;
  p.first_bundle = (uint32_t)a->bundle;
  p.bundles = (unsigned)a->bundles;
  p.most = (unsigned)a->most;
  p.job = a->job;
  p.frequent_bits = a->job == AMPED_BOX_ADD && a->frequent.count > 0 ? a->frequent.d_bits : nullptr;
  p.frequent_before = a->frequent.d_before;
  p.part_firsts = a->frequent.d_firsts;
  p.adds = a->adds;
  p.ticket = a->ticket;
  p.scales = a->fixed != nullptr ? a->scales : nullptr;
  return p;
}

/* Counters by which a bundle is sorted: one for each row of a tile, at most AMPED_BOX_BUCKETS. */
inline unsigned buckets_of(const amped_plan *plan, int mode, bool sorts) {
  const unsigned bits = plan->linear.low_bits[mode];
  return !sorts ? 0U : bits < 12 ? 1U << bits : (unsigned)AMPED_BOX_BUCKETS;
}

template <typename T, typename I, int N, bool F>
amped_status launch_boxes(const amped_box_mttkrp_args *a) {
  const auto kernel = mttkrp_boxes<T, I, N, F>;
  box_problem<T, I> p = problem_of<T, I>(a);
  p.buckets = buckets_of(a->plan, a->mode, a->sorts);
  const unsigned threads = a->sorts ? box_sort_threads : box_threads;
  const size_t bytes = room_bytes<T, I>(p.order, p.most, p.buckets);
  const unsigned columns = a->job == AMPED_BOX_ADD ? (p.stride + 31) / 32 : 1;
  int each = 0;
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  AMPED_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, (int)threads, bytes));
  const uint64_t most = (uint64_t)(each > 0 ? each : 1) * (uint64_t)a->multiprocessors;
  const dim3 grid((unsigned)(a->bundles < most ? a->bundles : most), columns, 1);
  AMPED_CUDA(cudaMemsetAsync(a->ticket, 0, columns * sizeof(uint32_t), a->stream));
  kernel<<<grid, threads, bytes, a->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the MTTKRP kernel of boxes");
  return AMPED_OK;
}

/* All orders share one kernel for 64-bit positions, which are rare (factors of more than 2^32
 * rows). */
template <typename T, typename I, bool F>
amped_status launch_for_order(const amped_box_mttkrp_args *a) {
  if constexpr (sizeof(I) == sizeof(index32)) {
    switch (a->plan->order) {
    case 3:
      return launch_boxes<T, I, 2, F>(a);
    case 4:
      return launch_boxes<T, I, 3, F>(a);
    case 5:
      return launch_boxes<T, I, 4, F>(a);
    default:
      break;
    }
  }
  return launch_boxes<T, I, any_inputs, F>(a);
}

} // namespace

#endif
