/* Sums of products p p^T of a row's nonzeros by one warp, as accumulators of the tensor cores.
 * Coordinates: row_warps_cuda.cuh. */
#ifndef AMPED_WARP_PRODUCTS_CUDA_CUH
#define AMPED_WARP_PRODUCTS_CUDA_CUH

#include "cuda/complete/fit_columns_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

template <int W> struct fit_shape {
  static constexpr int blocks = W / 8;
  static constexpr int halves = W / 16;
  static constexpr int tiles = halves * (halves + 1);
  static constexpr int numbers = 4 * tiles - 2 * halves; /* a lane's, except those that is_above */
};

/* True if the lane's number i of tile (m, n) lies in a block of 8 x 8 above the diagonal. */
__host__ __device__ constexpr bool is_above(int m, int n, int i) {
  return n == 2 * m + 1 && i < 2;
}

/* Fragments of eight products p: of the left factor, and of the right one. */
template <int W> struct fragments {
  unsigned high[W / 16][4], low[W / 16][4];
  unsigned right_high[W / 8][2], right_low[W / 8][2];
};

/* Split products into high and low parts. The left factor's high parts are rounded to the 10 bits
 * that tensor cores read, and the right one's are cut to them; the low parts are the rest. The two
 * factors are separate registers, in the order that the instruction needs. If both were rounded,
 * their registers would be equal, and the compiler would copy them. minus: the right factor has the
 * other sign. */
template <int W, bool minus>
__device__ __forceinline__ void split(const float (*products)[W / 8], fragments<W> *f) {
#pragma unroll
  for (int c = 0; c < W / 8; c++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float x = products[i][c];
      const unsigned rounded = __float_as_uint(x) + 0x1000U;
      const float cut = __uint_as_float(__float_as_uint(x) & 0xffffe000U);
      f->high[c / 2][c % 2 + 2 * i] = rounded;
      f->low[c / 2][c % 2 + 2 * i] = __float_as_uint(x - __uint_as_float(rounded & 0xffffe000U));
      f->right_high[c][i] = __float_as_uint(minus ? -x : x);
      f->right_low[c][i] = __float_as_uint(minus ? cut - x : x - cut);
    }
}

/* Add product `kind` of 0 to 2 to tile (m, n) of H: low by high, high by low, high by high. */
template <int W>
__device__ __forceinline__ void add_to_tile(float (*h)[4], const fragments<W> &f, int kind, int m,
                                            int n) {
  const unsigned *const a = kind == 0 ? f.low[m] : f.high[m];
  const unsigned *const b = kind == 1 ? f.right_low[n] : f.right_high[n];
  multiply_tf32(h[tile_at(m, n)], a[0], a[1], a[2], a[3], b[0], b[1]);
}

/* H += p p^T of eight nonzeros, in three TF32 products. Products of one kind follow each other, so
 * that no product waits for the one before. */
template <int W>
__device__ inline void add_products(float (*h)[4], const float (*products)[W / 8]) {
  fragments<W> f;
  split<W, false>(products, &f);
#pragma unroll
  for (int kind = 0; kind < 3; kind++)
#pragma unroll
    for (int m = 0; m < W / 16; m++)
#pragma unroll
      for (int n = 0; n < 2 * m + 2; n++)
        add_to_tile(h, f, kind, m, n);
}

/* H -= p p^T of the eight columns of a panel, in the tiles right of block `done`. */
template <int W>
__device__ inline void subtract_products(float (*h)[4], const float (*products)[W / 8],
                                         unsigned done) {
  fragments<W> f;
  split<W, true>(products, &f);
  /* Without `fresh` the compiler computes the parts again for each tile. */
#pragma unroll
  for (int c = 0; c < W / 8; c++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      f.high[c / 2][c % 2 + 2 * i] = fresh(f.high[c / 2][c % 2 + 2 * i]);
      f.low[c / 2][c % 2 + 2 * i] = fresh(f.low[c / 2][c % 2 + 2 * i]);
      f.right_high[c][i] = fresh(f.right_high[c][i]);
      f.right_low[c][i] = fresh(f.right_low[c][i]);
    }
#pragma unroll
  for (int n = 1; n < W / 8; n++)
    if ((unsigned)n > done)
#pragma unroll
      for (int kind = 0; kind < 3; kind++)
#pragma unroll
        for (int m = n / 2; m < W / 16; m++)
          add_to_tile(h, f, kind, m, n);
}

} // namespace

#endif
