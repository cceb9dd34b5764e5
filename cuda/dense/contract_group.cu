/* Contraction of floats by products of warp groups (wgmma), for compute capability 9.0.
 *
 * x = h + l: h has the bits that tensor cores read as TF32, cut for X and rounded for F. One
 * product in TF32 gives h h'. One product in bfloat16, of the same number of steps, gives l h' + h
 * l'. Everything rounded or left out is at most 2^-18 of |x x'|.
 *
 * Groups of four warps have a tile of T: 64 rows (l, t) per group, N columns. Tiles of X of `deep`
 * indices k are copied to shared memory as in contract_cuda.cuh. A lane reads its cells there, and
 * splits them in registers.
 *
 * F is split before, by a kernel of its own. For each eight k it stores N columns of h in TF32,
 * first of four k, then of the other four. N columns of h and N of l follow, of all eight k in
 * bfloat16. The order is the tensor cores' own, so one copy loads a stage of F while they work on
 * the stage before. Three buffers alternate. Tensor cores truncate their sums, so sums of four
 * stages are added up in registers.
 *
 * If the contracted mode is the last in memory, lane t of four has k = 4 t .. 4 t + 3 of sixteen.
 * Four k of F in shared memory are then q, q + 4, q + 8, q + 12. In bfloat16 a lane's two k of
 * eight are neighbours. Columns are permuted within sixteen, so that a lane's four sums are
 * neighbours in T. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/dense/contract_cuda.cuh"
#include "cuda/device/grid_cuda.cuh"

namespace {

template <int N, bool is_last> struct group_shape {
  static constexpr int cell = (int)sizeof(float);
  static constexpr int deep = AMPED_CONTRACT_STEP;
  static constexpr unsigned threads = N == 32 ? 512 : N == 64 ? 384 : 256;
  static constexpr int tile_rows = (int)threads / 2;
  static constexpr int pitch = (is_last ? deep : tile_rows) * cell;
  static constexpr int stage_bytes = tile_rows * deep * cell;
  static constexpr int stages = 4;
  static constexpr int steps = deep / 8;
  static constexpr int core_bytes = N * 16;
  static constexpr int factor_bytes = steps * 4 * core_bytes;
  static constexpr int places = 3; /* buffers of F */
  static constexpr int bytes = stages * stage_bytes + places * factor_bytes;
  static constexpr unsigned fold = 4; /* stages whose sums tensor cores add up */
};

/* Returns the column of T at this place of F in shared memory. */
__device__ inline int column_at(int slot) {
  return (slot & ~15) + ((slot >> 1 & 3) << 2) + ((slot >> 3 & 1) << 1) + (slot & 1);
}

/* The stage that is loaded next. item: number of its tile and part (part * tiles + tile). k: its
 * first k; end: the end of the item's k; both counted from p.from. */
struct group_cursor {
  unsigned item, k, end;
};

__device__ inline void start_group(const contraction<float> &p, group_cursor &c) {
  const unsigned part = c.item / (unsigned)p.tiles;
  const unsigned each = (unsigned)p.each * AMPED_CONTRACT_STEP;
  const unsigned all = (unsigned)(p.end - p.from);
  c.k = part * each;
  c.end = all - c.k < each ? all : c.k + each;
}

__device__ inline unsigned stages_of(const contraction<float> &p, unsigned item) {
  group_cursor c = {item, 0, 0};
  start_group(p, c);
  return (c.end - c.k + AMPED_CONTRACT_STEP - 1) / AMPED_CONTRACT_STEP;
}

/* Advance to the next stage. Returns true if an item ends. */
__device__ inline bool go_on(const contraction<float> &p, group_cursor &c) {
  c.k += AMPED_CONTRACT_STEP;
  if (c.k < c.end)
    return false;
  c.item += gridDim.x;
  if (c.item < (unsigned)(p.tiles * p.parts))
    start_group(p, c);
  return true;
}

/* The cells that this thread copies of a tile. */
struct group_cells {
  group_cursor at;
  unsigned rows;     /* rows of the tile, at most tile_rows */
  const float *from; /* address for at.k = 0 */
};

/* A thread's cells in a stage: `count` neighbours, beginning at `e`, in rows first, first + down,
 * and so on of shared memory. */
template <typename shape, bool is_last, int count> struct bring_shape {
  static constexpr unsigned wide = is_last ? shape::deep : shape::tile_rows;
  static constexpr unsigned all = is_last ? shape::tile_rows : shape::deep;
  static constexpr unsigned across = wide / count;
  static constexpr unsigned down = shape::threads / across;
  __device__ static unsigned e() {
    return threadIdx.x % across * count;
  }
  __device__ static unsigned first() {
    return threadIdx.x / across;
  }
};

template <typename shape, bool is_last, int count>
__device__ inline void start_cells(const contraction<float> &p, group_cells &c) {
  using bring = bring_shape<shape, is_last, count>;
  const uint64_t tile_row = (uint64_t)(c.at.item % (unsigned)p.tiles) * shape::tile_rows;
  const float *const cells = reinterpret_cast<const float *>(p.cells);
  const uint64_t left = p.rows - tile_row;
  c.rows = left < shape::tile_rows ? (unsigned)left : shape::tile_rows;
  if (is_last) {
    c.from = cells + (tile_row + bring::first()) * p.mid + p.from + bring::e();
  } else {
    const uint64_t row = tile_row + bring::e();
    const uint64_t l = row / p.trail;
    c.from = cells + (l * p.mid + p.from + bring::first()) * p.trail + (row - l * p.trail);
  }
}

/* Copy the thread's cells of a stage. whole: all cells exist. Rows whose distance is a multiple of
 * four have the same permutation in shared memory. */
template <typename shape, bool is_last, int count, bool whole>
__device__ inline void bring_floats(const contraction<float> &p, const group_cells &c,
                                    unsigned char *to) {
  using bring = bring_shape<shape, is_last, count>;
  const unsigned e = bring::e();
  const unsigned first = bring::first();
  const float *from = c.from + (uint64_t)c.at.k * (is_last ? 1 : p.trail);
  const uint64_t pace = bring::down * (is_last ? p.mid : p.trail);
  const unsigned rows = is_last ? c.rows : c.at.end - c.at.k;
  const bool is_there = is_last ? c.at.k + e < c.at.end : e < c.rows;
  constexpr bool alike = bring::down % 4 == 0;
  const int place = cell_place<shape, is_last>((int)first, (int)e * shape::cell);
#pragma unroll
  for (unsigned i = 0; i < bring::all / bring::down; i++) {
    const bool here = whole || (is_there && first + i * bring::down < rows);
    const int row = (int)(first + i * bring::down);
    unsigned char *const at = to + (alike ? place + (int)(i * bring::down) * shape::pitch
                                          : cell_place<shape, is_last>(row, (int)e * shape::cell));
    __pipeline_memcpy_async(at, here ? from : reinterpret_cast<const float *>(p.cells),
                            count * sizeof(float), here ? 0 : count * sizeof(float));
    from += pace;
  }
}

template <typename shape, bool is_last>
__device__ inline void start_tile(const contraction<float> &p, group_cells &c) {
  if (p.wide)
    start_cells<shape, is_last, 4>(p, c);
  else
    start_cells<shape, is_last, 1>(p, c);
}

template <typename shape, bool is_last>
__device__ inline void bring_next(const contraction<float> &p, group_cells &c, unsigned char *to) {
  if (c.at.item < (unsigned)(p.tiles * p.parts)) {
    if (!p.wide)
      bring_floats<shape, is_last, 1, false>(p, c, to);
    else if (c.rows < shape::tile_rows || c.at.end - c.at.k < shape::deep)
      bring_floats<shape, is_last, 4, false>(p, c, to);
    else
      bring_floats<shape, is_last, 4, true>(p, c, to);
    if (go_on(p, c.at))
      start_tile<shape, is_last>(p, c);
  }
  __pipeline_commit();
}

/* Split F for a tile of n columns. A thread takes eight k of a column. */
template <bool is_last>
__global__ void __launch_bounds__(block_threads)
    split_factor(const contraction<float> p, unsigned n, uint4 *out) {
  const uint64_t columns = (p.end - p.from + AMPED_CONTRACT_STEP - 1) / AMPED_CONTRACT_STEP * 4 * n;
  for (uint64_t i = thread_number(); i < columns; i += grid_threads()) {
    const uint64_t step = i / n;
    const unsigned slot = (unsigned)(i % n);
    const uint64_t k = is_last ? step / 2 * 16 + step % 2 * 2 : 8 * step;
    const float *const from = p.factor + k * p.columns + p.first_column + column_at((int)slot);
    float f[8];
    unsigned high[8];
    float low[8];
    unsigned both[2][4];
#pragma unroll
    for (unsigned e = 0; e < 8; e++) {
      unsigned bits = 0;
      f[e] = from[(is_last ? 4 * (e % 4) + e / 4 : e) * p.columns];
      split(f[e], high[e], bits);
      low[e] = __uint_as_float(bits);
    }
#pragma unroll
    for (unsigned e = 0; e < 4; e++) {
      both[0][e] = two_halves(f[e], f[e + 4]);
      both[1][e] = two_halves(low[e], low[e + 4]);
    }
    uint4 *const core = out + step * 4 * n + slot;
    core[0] = make_uint4(high[0], high[1], high[2], high[3]);
    core[n] = make_uint4(high[4], high[5], high[6], high[7]);
    core[2 * n] = make_uint4(both[0][0], both[0][1], both[0][2], both[0][3]);
    core[3 * n] = make_uint4(both[1][0], both[1][1], both[1][2], both[1][3]);
  }
}

/* Copy the next stage of F to its buffer in shared memory; called by one thread. */
template <typename shape>
__device__ inline void bring_factor(const contraction<float> &p, const unsigned char *split,
                                    group_cursor &c, unsigned char *factor, uint64_t *arrived,
                                    unsigned place) {
  if (c.item >= (unsigned)(p.tiles * p.parts))
    return;
  group_copy(factor + place * shape::factor_bytes,
             split + (uint64_t)(c.k / shape::deep) * shape::factor_bytes, shape::factor_bytes,
             arrived + place);
  go_on(p, c);
}

/* A lane's cells of a step, as fragments of 16 rows: the cells themselves, and in bfloat16 l, then
 * h. */
struct group_fragment {
  float cells[4];
  unsigned halves[4];
};

/* Returns x rounded to the nearest TF32 number. */
__device__ inline float rounded(float x) {
  return __uint_as_float(__float_as_uint(x) + 0x1000U);
}

/* Returns the part of x that tensor cores ignore. */
__device__ inline float rest_of(float x) {
  return x - __uint_as_float(__float_as_uint(x) & 0xffffe000U);
}

template <int steps, bool tf32> __device__ inline void split_fragments(group_fragment *a) {
#pragma unroll
  for (int s = 0; s < steps; s++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if constexpr (tf32) {
        a[s].cells[h] = rounded(a[s].cells[h]);
        a[s].cells[h + 2] = rounded(a[s].cells[h + 2]);
      } else {
        a[s].halves[h] = two_halves(rest_of(a[s].cells[h]), rest_of(a[s].cells[h + 2]));
        a[s].halves[h + 2] = two_halves(a[s].cells[h], a[s].cells[h + 2]);
      }
    }
}

/* Read the lane's cells of a stage. */
template <typename shape, bool is_last>
__device__ inline void take_fragments(const unsigned char *stage, int row, group_fragment *a) {
  const int g = (int)threadIdx.x % 32 / 4;
  const int t = (int)threadIdx.x % 4;
#pragma unroll
  for (int s = 0; s < shape::steps; s++)
#pragma unroll
    for (int j = 0; j < 2; j++) {
      if constexpr (is_last) {
        if (s % 2 == 1)
          continue;
        const float4 x = *reinterpret_cast<const float4 *>(
            stage + cell_place<shape, is_last>(row + 8 * j + g, (8 * s + 4 * t) * shape::cell));
        a[s].cells[j] = x.x;
        a[s].cells[j + 2] = x.y;
        a[s + 1].cells[j] = x.z;
        a[s + 1].cells[j + 2] = x.w;
      } else {
        const float2 x = *reinterpret_cast<const float2 *>(
            stage + cell_place<shape, is_last>(8 * s + 4 * j + t, (row + 2 * g) * shape::cell));
        a[s].cells[2 * j] = x.x;
        a[s].cells[2 * j + 1] = x.y;
      }
    }
}

/* Store the warp's sums of an item, and zero them. */
template <int N, bool is_last>
__device__ inline void put_group_sums(const contraction<float> &p, unsigned item, int row,
                                      bool again, float *sums) {
  const int g = (int)threadIdx.x % 32 / 4;
  const int t = (int)threadIdx.x % 4;
  const uint64_t first = item % (unsigned)p.tiles * (uint64_t)group_shape<N, is_last>::tile_rows;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int n = 0; n < N; n += 16) {
      float v[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        float &sum = sums[n / 2 + 4 * (e / 2) + 2 * h + e % 2];
        v[e] = sum;
        sum = 0;
      }
      put_vector<4>(p, item / (unsigned)p.tiles,
                    first + (uint64_t)(row + (is_last ? 8 * h + g : 2 * g + h)),
                    p.first_column + (unsigned)(n + 4 * t), v, again);
    }
}

/* Progress of a block: stage `done` of an item, and the stage's buffers in shared memory. turn:
 * lowest bit of the number of arrivals in F's buffers. */
struct group_place {
  unsigned item, done, stages;
  unsigned cells, factor, turn;
};

template <int N, bool is_last, bool tf32>
__global__ void __launch_bounds__((group_shape<N, is_last>::threads), 1)
    contract_floats(const contraction<float> p, const unsigned char *split) {
  using shape = group_shape<N, is_last>;
  constexpr unsigned range = AMPED_CONTRACT_RANGE / shape::deep;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ uint64_t arrived[shape::places];
  unsigned char *const factor = shared + shape::stages * shape::stage_bytes;
  const bool brings = threadIdx.x == 0;
  const int row = (int)threadIdx.x / 32 * 16;
  const unsigned items = (unsigned)(p.tiles * p.parts);
  group_cursor rows = {blockIdx.x, 0, 0};
  start_group(p, rows);
  group_cells cells = {rows, 0, nullptr};
  start_tile<shape, is_last>(p, cells);
  for (int s = 0; s < shape::stages; s++)
    bring_next<shape, is_last>(p, cells, shared + s * shape::stage_bytes);
  if (brings) {
    group_arrivals(arrived, shape::places);
    bring_factor<shape>(p, split, rows, factor, arrived, 0);
    bring_factor<shape>(p, split, rows, factor, arrived, 1);
  }
  group_fragment even[shape::steps];
  group_fragment odd[shape::steps];
  float own[N / 2];
  float sums[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; i++)
    own[i] = sums[i] = 0;
  __pipeline_wait_prior(shape::stages - 1);
  __syncthreads();
  take_fragments<shape, is_last>(shared, row, even);
  split_fragments<shape::steps, tf32>(even);
  group_place at = {blockIdx.x, 0, stages_of(p, blockIdx.x), 0, 0, 0};

  /* Multiply the stage whose cells are in `a`, and read the next stage's cells into `next`. Returns
   * false after the last stage. */
  const auto multiply = [&](const group_fragment *a, group_fragment *next) {
    const unsigned char *const right = factor + at.factor * shape::factor_bytes;
    group_arrival(arrived + at.factor, at.turn);
    group_begin();
#pragma unroll
    for (int s = 0; s < shape::steps; s++) {
      const unsigned char *const b = right + s * 4 * shape::core_bytes;
      const bool add = s > 0 || at.done % shape::fold != 0;
      if (!tf32)
        group_multiply_bf16<N>(own, a[s].halves, b + 2 * shape::core_bytes, add);
      group_multiply_tf32<N>(own, a[s].cells, b, !tf32 || add);
    }
    group_commit();
    __pipeline_wait_prior(shape::stages - 2);
    __syncthreads();
    if (brings)
      bring_factor<shape>(p, split, rows, factor, arrived,
                          at.factor == 0 ? shape::places - 1 : at.factor - 1);
    bring_next<shape, is_last>(p, cells, shared + at.cells * shape::stage_bytes);
    at.cells = (at.cells + 1) % shape::stages;
    take_fragments<shape, is_last>(shared + at.cells * shape::stage_bytes, row, next);
    split_fragments<shape::steps, tf32>(next);
    at.factor++;
    if (at.factor == shape::places) {
      at.factor = 0;
      at.turn ^= 1;
    }
    group_wait<N>(own);
    at.done++;
    if (at.done % shape::fold == 0 || at.done == at.stages)
#pragma unroll
      for (int i = 0; i < N / 2; i++)
        sums[i] += own[i];
    if (at.done % range == 0 || at.done == at.stages)
      put_group_sums<N, is_last>(p, at.item, row, p.again || at.done > range, sums);
    if (at.done == at.stages) {
      at.item += gridDim.x;
      at.done = 0;
      at.stages = at.item < items ? stages_of(p, at.item) : 0;
    }
    return at.stages > 0;
  };
  while (multiply(even, odd) && multiply(odd, even))
    ;
}

template <int N, bool is_last, bool tf32>
amped_status launch_floats(const amped_contract_cuda_args *args, contraction<float> p) {
  using shape = group_shape<N, is_last>;
  const auto kernel = contract_floats<N, is_last, tf32>;
  const uint64_t steps = amped_ceil_div(p.end - p.from, (uint64_t)shape::deep);
  unsigned char *const split = static_cast<unsigned char *>(args->split);
  p.wide = (is_last ? args->mid : args->trail) % 4 == 0;
  p.tiles = amped_ceil_div(p.rows, (uint64_t)shape::tile_rows);
  p.each = amped_ceil_div(steps, p.parts);
  p.parts = amped_ceil_div(steps, p.each);
  const uint64_t most = (uint64_t)args->caches.multiprocessors;
  const uint64_t items = p.tiles * p.parts;
  split_factor<is_last><<<blocks_for(steps * 4 * N), block_threads, 0, args->stream>>>(
      p, N, reinterpret_cast<uint4 *>(split));
  AMPED_CUDA_LAUNCHED("the kernel that splits factors");
  AMPED_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape::bytes));
  contract_floats<N, is_last, tf32>
      <<<(unsigned)(items < most ? items : most), shape::threads, shape::bytes, args->stream>>>(
          p, split);
  AMPED_CUDA_LAUNCHED("the kernel of contractions by warp groups");
  return AMPED_OK;
}

template <int N, bool is_last>
amped_status launch_exact(const amped_contract_cuda_args *args, const contraction<float> &p) {
  return args->tf32 ? launch_floats<N, is_last, true>(args, p)
                    : launch_floats<N, is_last, false>(args, p);
}

template <int N>
amped_status launch_group(const amped_contract_cuda_args *args, const contraction<float> &p) {
  return args->trail == 1 ? launch_exact<N, true>(args, p) : launch_exact<N, false>(args, p);
}

} // namespace

amped_status amped_contract_group(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                  int n) {
  contraction<float> p = contraction_of<float>(args, parts);
  p.first_column = (unsigned)column;
  switch (n) {
  case 32:
    return launch_group<32>(args, p);
  case 64:
    return launch_group<64>(args, p);
  default:
    return launch_group<128>(args, p);
  }
}
