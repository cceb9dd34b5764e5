/* The kernel of contractions, and its launch, as templates: contract_f32.cu, contract_f64.cu,
 * contract_words.cu and contract_long_words.cu instantiate them.
 *
 * A thread block has a tile of T: `tile_rows` rows (l, t), N columns. Tiles of X and F of `deep`
 * indices k are copied to shared memory asynchronously, a few stages ahead. The copies run on into
 * the block's next tile. A warp has 32 rows and up to 64 columns of the tile in fragments of
 * m16n8k8.
 *
 * In shared memory X lies as in the tensor: rows of cells with neighbouring k if the mode is the
 * last (trail = 1), else rows of cells with neighbouring t. A lane reads four neighbours in one
 * access. They are k of two steps, or rows of two fragments, and F's rows, or rows of T, are
 * permuted to match. Units of 16 bytes are permuted, too, so that eight lanes use eight groups of
 * banks. F's columns are permuted likewise: a lane reads columns of V fragments at once. */
#ifndef AMPED_CONTRACT_CUDA_CUH
#define AMPED_CONTRACT_CUDA_CUH

#include <cuda_pipeline.h>

#include "cuda/dense/cells_cuda.cuh"
#include "cuda/dense/contract_cuda.h"
#include "cuda/device/ptx_cuda.cuh"

namespace {

constexpr unsigned contract_threads = 256;

/* Arguments of a launch: k in from .. end - 1, and N columns from first_column on. N is a template
 * parameter of the kernel. */
template <typename T> struct contraction {
  amped_cell_type type;
  const unsigned char *cells;
  uint64_t rows; /* lead * trail */
  uint64_t mid, trail, from, end;
  const T *factor; /* row `from` */
  uint64_t columns;
  unsigned first_column, ncomps;
  T *out;
  double *sums;         /* NULL: T is stored directly in `out` */
  bool again;           /* add to the sums */
  bool wide;            /* X can be copied 16 bytes at a time */
  bool vectors;         /* rows of T begin at whole vectors */
  bool tf32;            /* one TF32 product, not three */
  uint64_t tiles;       /* number of tiles in the rows */
  uint64_t parts, each; /* parts of the k; each has `each` stages */
  unsigned stages;      /* in shared memory, 2 to 4 */
};

template <typename C, typename T, int N, bool is_last> struct contract_shape {
  static constexpr int cell = (int)sizeof(C);
  static constexpr int deep = cell == 8 ? 16 : 32;
  static constexpr int warp_columns = N < 256 / (int)sizeof(T) ? N : 256 / (int)sizeof(T);
  static constexpr int warps_across = N / warp_columns;
  static constexpr int tile_rows = 256 / warps_across;
  static constexpr int fragments = warp_columns / 8; /* number per warp, side by side */
  static constexpr int wanted = 16 / (int)sizeof(T);
  static constexpr int V = wanted < fragments ? wanted : fragments;
  static constexpr int factor_ld = N + 32 / (int)sizeof(T); /* elements; avoids bank conflicts */
  static constexpr int cell_bytes = tile_rows * deep * cell;
  static constexpr int stage_bytes = cell_bytes + deep * factor_ld * (int)sizeof(T);
  static constexpr int blocks = N * (int)sizeof(T) <= 128 ? 2 : 1;
  /* Bytes of a row of X in shared memory. */
  static constexpr int pitch = (is_last ? deep : tile_rows) * cell;
};

/* Returns the offset in shared memory of byte `at` of a row of X. */
template <typename shape, bool is_last> __device__ inline int cell_place(int row, int at) {
  constexpr int s = shape::cell;
  int flip = 0;
  if (is_last)
    flip = s == 8 ? row & 1 : (row * s / 4 & 1) * s;
  else
    flip = s == 8 ? (row & 1) | (row & 2) << 1 : 2 * (row & 3);
  return row * shape::pitch + (((at >> 4) ^ flip) << 4 | (at & 15));
}

template <int bytes>
__device__ inline void bring(unsigned char *to, const unsigned char *from, bool is_there) {
  if constexpr (bytes >= 4)
    __pipeline_memcpy_async(to, from, bytes, is_there ? 0 : bytes);
  else if constexpr (bytes == 2)
    *reinterpret_cast<uint16_t *>(to) =
        is_there ? *reinterpret_cast<const uint16_t *>(from) : (uint16_t)0;
  else
    *to = is_there ? *from : (unsigned char)0;
}

/* The stage that a block loads next: a tile and part (item), and its k. */
struct contract_cursor {
  uint64_t item, k, end;
};

template <typename T>
__device__ inline void start_item(const contraction<T> &p, int deep, contract_cursor &c) {
  const uint64_t part = c.item / p.tiles;
  c.k = p.from + part * p.each * (uint64_t)deep;
  const uint64_t end = c.k + p.each * (uint64_t)deep;
  c.end = end < p.end ? end : p.end;
}

/* Copy the cells of a stage, `count` at a time. */
template <typename shape, bool is_last, int count, typename T>
__device__ inline void bring_cells(const contraction<T> &p, const contract_cursor &c,
                                   unsigned char *to) {
  constexpr int bytes = count * shape::cell;
  constexpr int across = (is_last ? shape::deep : shape::tile_rows) / count;
  constexpr int down = (int)contract_threads / across;
  constexpr int all = is_last ? shape::tile_rows : shape::deep;
  const int e = (int)threadIdx.x % across * count;
  const int first = (int)threadIdx.x / across;
  const uint64_t tile_row = c.item % p.tiles * (uint64_t)shape::tile_rows;
  if (is_last) {
    const uint64_t k = c.k + (uint64_t)e;
    const unsigned char *from =
        p.cells + ((tile_row + (uint64_t)first) * p.mid + k) * (uint64_t)shape::cell;
    const bool column = k < c.end;
#pragma unroll 8
    for (int row = first; row < all; row += down) {
      const bool is_there = column && tile_row + (uint64_t)row < p.rows;
      bring<bytes>(to + cell_place<shape, is_last>(row, e * shape::cell), is_there ? from : p.cells,
                   is_there);
      from += (uint64_t)down * p.mid * (uint64_t)shape::cell;
    }
  } else {
    const uint64_t row = tile_row + (uint64_t)e;
    const bool column = row < p.rows;
    const uint64_t l = row / p.trail;
    const unsigned char *from =
        p.cells + ((l * p.mid + c.k + (uint64_t)first) * p.trail + (row - l * p.trail)) *
                      (uint64_t)shape::cell;
#pragma unroll 8
    for (int k = first; k < all; k += down) {
      const bool is_there = column && c.k + (uint64_t)k < c.end;
      bring<bytes>(to + cell_place<shape, is_last>(k, e * shape::cell), is_there ? from : p.cells,
                   is_there);
      from += (uint64_t)down * p.trail * (uint64_t)shape::cell;
    }
  }
}

/* Copy the rows of F of a stage. If k are neighbours in X, lane t of four has k = 4 t .. 4 t + 3 of
 * sixteen: k = 4 t + 2 s + i is row t + 4 i of step s. */
template <typename shape, int N, bool is_last, typename T>
__device__ inline void bring_factor(const contraction<T> &p, const contract_cursor &c,
                                    unsigned char *to) {
  constexpr int across = N * (int)sizeof(T) / 16;
  constexpr int count = 16 / (int)sizeof(T);
  const T *const from = p.factor + (c.k - p.from) * p.columns + p.first_column;
  for (int u = (int)threadIdx.x; u < across * shape::deep; u += (int)contract_threads) {
    const int k = u / across;
    const int e = u % across * count;
    const int slot = is_last ? (k & ~15) + ((k >> 1 & 1) << 3) + ((k & 1) << 2) + (k >> 2 & 3) : k;
    bring<16>(to + (slot * shape::factor_ld + e) * (int)sizeof(T),
              reinterpret_cast<const unsigned char *>(from + (uint64_t)k * p.columns + e), true);
  }
}

template <typename C, typename T, int N, bool is_last>
__device__ inline void bring_stage(const contraction<T> &p, contract_cursor &c, unsigned char *to) {
  using shape = contract_shape<C, T, N, is_last>;
  if (c.item < p.tiles * p.parts) {
    if (p.wide)
      bring_cells<shape, is_last, 16 / shape::cell>(p, c, to);
    else
      bring_cells<shape, is_last, 1>(p, c, to);
    bring_factor<shape, N, is_last>(p, c, to + shape::cell_bytes);
    c.k += (uint64_t)shape::deep;
    if (c.k >= c.end) {
      c.item += gridDim.x;
      if (c.item < p.tiles * p.parts)
        start_item(p, shape::deep, c);
    }
  }
  __pipeline_commit();
}

/* Wait until the oldest of `stages` stages has arrived. The stage that is loaded next is not
 * counted. */
__device__ inline void wait_for_stage(unsigned stages) {
  if (stages == 2)
    __pipeline_wait_prior(0);
  else if (stages == 3)
    __pipeline_wait_prior(1);
  else
    __pipeline_wait_prior(2);
}

/* Read the lane's cells of sixteen k: a[s][i] is the fragment of step s, of 16 rows i. */
template <typename C, typename T, int N, bool is_last>
__device__ inline void take_cells(const contraction<T> &p, const unsigned char *stage, int row,
                                  int k, T (*a)[2][4]) {
  using shape = contract_shape<C, T, N, is_last>;
  const int g = (int)threadIdx.x % 32 / 4;
  const int t = (int)threadIdx.x % 4;
  T x[4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (is_last) {
      const int at = cell_place<shape, is_last>(row + 8 * j + g, (k + 4 * t) * shape::cell);
      const int next =
          shape::cell == 8
              ? cell_place<shape, is_last>(row + 8 * j + g, (k + 4 * t) * shape::cell + 16) - at
              : 0;
      widen(stage + at, next, p.type, static_cast<const C *>(nullptr), x);
#pragma unroll
      for (int s = 0; s < 2; s++) {
        a[s][j / 2][j % 2] = x[2 * s];
        a[s][j / 2][j % 2 + 2] = x[2 * s + 1];
      }
    } else {
      const int kj = k + 4 * j + t;
      const int at = cell_place<shape, is_last>(kj, (row + 4 * g) * shape::cell);
      const int next = shape::cell == 8
                           ? cell_place<shape, is_last>(kj, (row + 4 * g) * shape::cell + 16) - at
                           : 0;
      widen(stage + at, next, p.type, static_cast<const C *>(nullptr), x);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        a[j / 2][i][2 * (j % 2)] = x[2 * i];
        a[j / 2][i][2 * (j % 2) + 1] = x[2 * i + 1];
      }
    }
  }
}

/* Read V neighbouring elements of F. */
template <int V, typename T> __device__ inline void take_vector(const T *from, T *to) {
  if constexpr (V * sizeof(T) == 16) {
    const uint4 v = *reinterpret_cast<const uint4 *>(from);
    memcpy(to, &v, 16);
  } else if constexpr (V * sizeof(T) == 8) {
    const uint2 v = *reinterpret_cast<const uint2 *>(from);
    memcpy(to, &v, 8);
  } else {
    *to = *from;
  }
}

/* x = high + low. high has the bits that tensor cores read, rounded. */
__device__ inline void split(float x, unsigned &high, unsigned &low) {
  high = (__float_as_uint(x) + 0x1000U) & 0xffffe000U;
  low = __float_as_uint(x - __uint_as_float(high));
}

/* sums += a F of one step, in three products. The first left_out of them are skipped: 1 if a has no
 * low part, 2 for TF32. */
template <typename shape>
__device__ inline void multiply_step(const float (*a)[4], const float *f, int left_out,
                                     float (*sums)[shape::fragments][4]) {
  constexpr int V = shape::V;
  unsigned high[2][4];
  unsigned low[2][4];
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      split(a[i][e], high[i][e], low[i][e]);
#pragma unroll
  for (int n = 0; n < shape::fragments; n += V) {
    unsigned right_high[V][2];
    unsigned right_low[V][2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float b[V];
      take_vector<V>(f + 4 * h * shape::factor_ld + 8 * n, b);
#pragma unroll
      for (int v = 0; v < V; v++)
        split(b[v], right_high[v][h], right_low[v][h]);
    }
#pragma unroll
    for (int kind = 0; kind < 3; kind++) {
      if (kind < left_out)
        continue;
#pragma unroll
      for (int v = 0; v < V; v++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
          const unsigned *const l = kind == 0 ? low[i] : high[i];
          const unsigned *const r = kind == 1 ? right_low[v] : right_high[v];
          multiply_tf32(sums[i][n + v], l[0], l[1], l[2], l[3], r[0], r[1]);
        }
    }
  }
}

template <typename shape>
__device__ inline void multiply_step(const double (*a)[4], const double *f, int,
                                     double (*sums)[shape::fragments][4]) {
  constexpr int V = shape::V;
#pragma unroll
  for (int n = 0; n < shape::fragments; n += V) {
    double b[2][V];
#pragma unroll
    for (int h = 0; h < 2; h++)
      take_vector<V>(f + 4 * h * shape::factor_ld + 8 * n, b[h]);
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        multiply_f64(sums[i][n + v], a[i][0], a[i][1], a[i][2], a[i][3], b[0][v], b[1][v]);
  }
}

/* Store V elements of a row of T from column r on: in T, or in the part's sums. */
template <int V, typename T>
__device__ inline void put_vector(const contraction<T> &p, uint64_t part, uint64_t row, unsigned r,
                                  const T *v, bool again) {
  if (row >= p.rows)
    return;
  if (p.sums != nullptr) {
    double *const to = p.sums + (part * p.rows + row) * p.ncomps + r;
#pragma unroll
    for (int i = 0; i < V; i++)
      if (r + (unsigned)i < p.ncomps)
        to[i] = again ? to[i] + (double)v[i] : (double)v[i];
    return;
  }
  T *const to = p.out + row * p.ncomps + r;
  if (p.vectors && r + V <= p.ncomps) {
    if constexpr (V * sizeof(T) == 16) {
      uint4 x;
      memcpy(&x, v, 16);
      *reinterpret_cast<uint4 *>(to) = x;
    } else {
      uint2 x;
      memcpy(&x, v, 8);
      *reinterpret_cast<uint2 *>(to) = x;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < V; i++)
    if (r + (unsigned)i < p.ncomps)
      to[i] = v[i];
}

/* Store the warp's sums of an item, and zero them. */
template <typename shape, bool is_last, typename T>
__device__ inline void put_sums(const contraction<T> &p, uint64_t item, int warp_row,
                                int warp_column, bool again, T (*sums)[shape::fragments][4]) {
  constexpr int V = shape::V;
  const int g = (int)threadIdx.x % 32 / 4;
  const int t = (int)threadIdx.x % 4;
  const uint64_t part = item / p.tiles;
  const uint64_t first = item % p.tiles * (uint64_t)shape::tile_rows + (uint64_t)warp_row;
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const uint64_t row = first + (uint64_t)(is_last ? 16 * i + 8 * h + g : 4 * g + 2 * i + h);
#pragma unroll
      for (int n = 0; n < shape::fragments; n += V)
#pragma unroll
        for (int c = 0; c < 2; c++) {
          T v[V];
#pragma unroll
          for (int e = 0; e < V; e++) {
            v[e] = sums[i][n + e][2 * h + c];
            sums[i][n + e][2 * h + c] = (T)0;
          }
          put_vector<V>(p, part, row,
                        p.first_column + (unsigned)(warp_column + 8 * n + V * (2 * t + c)), v,
                        again);
        }
    }
}

template <int F, typename T> __device__ inline void clear(T (*sums)[F][4]) {
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int n = 0; n < F; n++)
#pragma unroll
      for (int e = 0; e < 4; e++)
        sums[i][n][e] = (T)0;
}

/* Add the products of a stage to sums. */
template <typename C, typename T, int N, bool is_last>
__device__ inline void multiply_stage(const contraction<T> &p, const unsigned char *stage,
                                      int warp_row, int warp_column,
                                      T (*sums)[contract_shape<C, T, N, is_last>::fragments][4]) {
  using shape = contract_shape<C, T, N, is_last>;
  const int g = (int)threadIdx.x % 32 / 4;
  const int t = (int)threadIdx.x % 4;
  const T *const f = reinterpret_cast<const T *>(stage + shape::cell_bytes) + t * shape::factor_ld +
                     warp_column + shape::V * g;
  const bool whole = shape::cell == 1 || (shape::cell == 2 && p.type == AMPED_CELL_F16);
  const int left_out = p.tf32 ? 2 : whole ? 1 : 0;
#pragma unroll
  for (int k = 0; k < shape::deep; k += 16) {
    T a[2][2][4];
    take_cells<C, T, N, is_last>(p, stage, warp_row, k, a);
#pragma unroll
    for (int s = 0; s < 2; s++)
      multiply_step<shape>(a[s], f + (k + 8 * s) * shape::factor_ld, left_out, sums);
  }
}

/* Add the sums of a stage to the item's sums. Tensor cores truncate float sums, so a stage's float
 * sums begin at zero. */
template <typename C, typename T, int N, bool is_last>
__device__ inline void add_stage(const contraction<T> &p, const unsigned char *stage, int warp_row,
                                 int warp_column,
                                 T (*sums)[contract_shape<C, T, N, is_last>::fragments][4]) {
  constexpr int fragments = contract_shape<C, T, N, is_last>::fragments;
  if constexpr (sizeof(T) == 8) {
    multiply_stage<C, T, N, is_last>(p, stage, warp_row, warp_column, sums);
  } else {
    T own[2][fragments][4];
    clear(own);
    multiply_stage<C, T, N, is_last>(p, stage, warp_row, warp_column, own);
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int n = 0; n < fragments; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
          sums[i][n][e] += own[i][n][e];
  }
}

template <typename C, typename T, int N, bool is_last>
__global__ void __launch_bounds__(contract_threads, contract_shape<C, T, N, is_last>::blocks)
    contract_cells(const contraction<T> p) {
  using shape = contract_shape<C, T, N, is_last>;
  extern __shared__ __align__(128) unsigned char shared[];
  const int warp = (int)threadIdx.x / 32;
  const int warp_row = warp / shape::warps_across * 32;
  const int warp_column = warp % shape::warps_across * shape::warp_columns;
  const uint64_t items = p.tiles * p.parts;
  contract_cursor next = {blockIdx.x, 0, 0};
  start_item(p, shape::deep, next);
  for (unsigned s = 0; s + 1 < p.stages; s++)
    bring_stage<C, T, N, is_last>(p, next, shared + s * shape::stage_bytes);
  T sums[2][shape::fragments][4];
  clear(sums);
  unsigned turn = 0;
  for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
    contract_cursor c = {item, 0, 0};
    start_item(p, shape::deep, c);
    bool again = p.again;
    unsigned in_range = 0;
    for (; c.k < c.end; c.k += (uint64_t)shape::deep) {
      wait_for_stage(p.stages);
      __syncthreads();
      const unsigned free = turn == 0 ? p.stages - 1 : turn - 1;
      bring_stage<C, T, N, is_last>(p, next, shared + free * shape::stage_bytes);
      add_stage<C, T, N, is_last>(p, shared + turn * shape::stage_bytes, warp_row, warp_column,
                                  sums);
      turn = turn + 1 == p.stages ? 0 : turn + 1;
      in_range += shape::deep;
      if (in_range == AMPED_CONTRACT_RANGE && c.k + (uint64_t)shape::deep < c.end) {
        put_sums<shape, is_last>(p, item, warp_row, warp_column, again, sums);
        again = true;
        in_range = 0;
      }
    }
    put_sums<shape, is_last>(p, item, warp_row, warp_column, again, sums);
  }
}

/* --- launches --------------------------------------------------------------------------------- */

template <typename C, typename T, int N, bool is_last>
amped_status launch_contraction(const amped_contract_cuda_args *args, contraction<T> p) {
  using shape = contract_shape<C, T, N, is_last>;
  const auto kernel = contract_cells<C, T, N, is_last>;
  const uint64_t room = args->caches.shared_bytes / shape::blocks - 1024 * (shape::blocks - 1);
  const uint64_t fit = room / shape::stage_bytes;
  p.stages = fit > 4 ? 4 : fit < 2 ? 2 : (unsigned)fit;
  p.wide = (args->trail == 1 ? args->mid : args->trail) % (16 / shape::cell) == 0;
  const uint64_t steps = amped_ceil_div(p.end - p.from, (uint64_t)shape::deep);
  p.tiles = amped_ceil_div(p.rows, (uint64_t)shape::tile_rows);
  p.each = amped_ceil_div(steps, p.parts);
  p.parts = amped_ceil_div(steps, p.each);
  const uint64_t most = (uint64_t)args->caches.multiprocessors * shape::blocks;
  const uint64_t items = p.tiles * p.parts;
  const unsigned bytes = p.stages * shape::stage_bytes;
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  contract_cells<C, T, N, is_last>
      <<<(unsigned)(items < most ? items : most), contract_threads, bytes, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the kernel of contractions");
  return AMPED_OK;
}

template <typename C, typename T, int N>
amped_status launch_columns(const amped_contract_cuda_args *args, const contraction<T> &p) {
  return args->trail == 1 ? launch_contraction<C, T, N, true>(args, p)
                          : launch_contraction<C, T, N, false>(args, p);
}

/* Returns the contraction that args describe, except its columns. */
template <typename T>
contraction<T> contraction_of(const amped_contract_cuda_args *args, uint64_t parts) {
  contraction<T> p = {};
  p.type = args->type;
  p.cells = static_cast<const unsigned char *>(args->cells);
  p.rows = args->lead * args->trail;
  p.mid = args->mid;
  p.trail = args->trail;
  p.from = args->first;
  p.end = args->end;
  p.factor = static_cast<const T *>(args->factor);
  p.columns = amped_contract_cuda_columns(args->value_type, args->ncomps);
  p.ncomps = (unsigned)args->ncomps;
  p.out = static_cast<T *>(args->out);
  p.sums = args->sums;
  p.again = args->again;
  p.tf32 = args->tf32;
  p.vectors = (uint64_t)args->ncomps * sizeof(T) % 16 == 0;
  p.parts = parts;
  return p;
}

/* Contract cells C that are not float, with float sums. n: 64, or at most 32. */
template <typename C>
amped_status launch_words(const amped_contract_cuda_args *args, uint64_t parts, int column, int n) {
  contraction<float> p = contraction_of<float>(args, parts);
  p.first_column = (unsigned)column;
  return n <= 32 ? launch_columns<C, float, 32>(args, p) : launch_columns<C, float, 64>(args, p);
}

} // namespace

#endif
