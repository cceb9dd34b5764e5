/* Rows of few nonzeros, by one warp: they are fitted by as many unknowns as they have nonzeros.
 *
 * With P the products of the inputs' rows, a nonzero a row of P, and y the targets, the least of
 * |y - P x|^2 + w |x - prior|^2 + w_b b^2, where b is a bias in all targets, has
 *
 *   x = prior + P^T z,  b = (w / w_b) sum z,  (P P^T + w + w / w_b) z = y - P prior
 *
 * and residuals w z: Saunders, Gammerman, Vovk, Ridge regression learning algorithm in dual
 * variables, 1998. Half as many unknowns take a third of the time.
 *
 * P lies in shared memory, beside the desk on which the equations are solved. P P^T is made by
 * tensor cores, in three products of TF32. */
#ifndef AMPED_ROW_DUAL_CUDA_CUH
#define AMPED_ROW_DUAL_CUDA_CUH

#include "cuda/complete/fit_columns_cuda.cuh"
#include "cuda/complete/warp_solve_cuda.cuh"
#include "cuda/device/ptx_cuda.cuh"

namespace {

/* The most nonzeros of such a row. */
template <int W> constexpr unsigned dual_nonzeros = W / 2;

template <int W> struct dual_desk {
  solve_desk<W / 2> desk;
  float products[dual_nonzeros<W>][W + 4];
};

/* Eight lanes have the products of nonzero `number`, W / 8 each, as they gather rows: W / 32 runs
 * of four. What takes no part is kept as zeros: nonzeros, up to a multiple of 8, and what lies
 * behind the components. */
template <int W>
__device__ inline void keep_products(dual_desk<W> *dual, const float *products, unsigned number,
                                     bool takes_part, unsigned components, unsigned lane) {
#pragma unroll
  for (int q = 0; q < W / 32; q++) {
    const unsigned column = 32U * (unsigned)q + 4 * (lane % 8);
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = takes_part && column + (unsigned)i < components ? products[4 * q + i] : 0.0F;
    write4(&dual->products[number][column], v[0], v[1], v[2], v[3]);
  }
}

/* Put P P^T on the desk, of 8 `eights` nonzeros, with `weight` on its diagonal and of_bias in each
 * element of two nonzeros that take part; and as the right side what each lane has. */
template <int W>
__device__ inline void put_dual(dual_desk<W> *dual, unsigned eights, float weight, float of_bias,
                                unsigned takes_part, float right, unsigned lane) {
  constexpr int D = W / 2;
  const unsigned g = lane / 4;
  const unsigned t = lane % 4;
  float k[D / 16 * (D / 16 + 1)][4] = {};
  __syncwarp();
  /* Sums over columns take any order of them: this one has no two lanes in one bank. */
#pragma unroll
  for (int q = 0; q < W / 16; q++) {
    float v[D / 8][4];
#pragma unroll
    for (int e = 0; e < D / 8; e++) {
      v[e][0] = v[e][1] = v[e][2] = v[e][3] = 0.0F;
      if ((unsigned)e < eights)
        read4(&dual->products[8 * e + g][8 * t + 32 * (q / 2) + 4 * (q % 2)], v[e]);
    }
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      unsigned high[D / 8][2];
      unsigned low[D / 8][2];
#pragma unroll
      for (int e = 0; e < D / 8; e++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
          high[e][j] = (__float_as_uint(v[e][i + j]) + 0x1000U) & 0xffffe000U;
          low[e][j] = __float_as_uint(v[e][i + j] - __uint_as_float(high[e][j]));
        }
#pragma unroll
      for (int kind = 0; kind < 3; kind++)
#pragma unroll
        for (int m = 0; m < D / 16; m++)
#pragma unroll
          for (int n = 0; n < 2 * m + 2; n++)
            if ((unsigned)n < eights) {
              const unsigned(*const a)[2] = kind == 0 ? low : high;
              const unsigned(*const b)[2] = kind == 1 ? low : high;
              multiply_tf32(k[tile_at(m, n)], a[2 * m][0], a[2 * m + 1][0], a[2 * m][1],
                            a[2 * m + 1][1], b[n][0], b[n][1]);
            }
    }
  }
#pragma unroll
  for (int m = 0; m < D / 16; m++)
#pragma unroll
    for (int n = 0; n < 2 * m + 2; n++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const unsigned row = 16U * m + g + 8U * i;
        const unsigned column = 8U * n + 2 * t;
        float x[2];
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const unsigned both = takes_part >> row & takes_part >> (column + (unsigned)j) & 1U;
          x[j] = k[tile_at(m, n)][2 * i + j] + (both ? of_bias : 0.0F) +
                 (row == column + (unsigned)j ? weight : 0.0F);
        }
        *reinterpret_cast<float2 *>(&dual->desk.a[row][column]) = make_float2(x[0], x[1]);
      }
  if (lane < (unsigned)D) {
    dual->desk.a[D][lane] = right;
    dual->desk.a[D + 1][lane] = 0.0F;
  }
  __syncwarp();
}

/* Row `row` of the block becomes that of `count` nonzeros, of which `seen` take part. Their
 * products are kept; each lane has the target of one, or 0. A lane's share of the sum of squares
 * and of the penalty is added. False, in all lanes, where the equations are too near to singular.
 */
template <int W, typename P>
__device__ inline bool fit_dual(const P &p, dual_desk<W> *dual, unsigned count, unsigned takes_part,
                                unsigned seen, float target, uint64_t row, bool biased,
                                double *squares, double *penalty, unsigned lane) {
  constexpr unsigned D = dual_nonzeros<W>;
  const double weight = penalty_of(p, (double)seen);
  const double of_bias = biased ? weight / p.reg_bias : 0.0;
  const float prior = (float)p.prior;
  float right = target;
  float bias = 0.0F;
  if (prior != 0.0F) {
    float sum = 0.0F;
    __syncwarp();
    if (lane < count)
      for (unsigned c = 0; c < p.components; c++)
        sum += dual->products[lane][c];
    right -= takes_part >> lane & 1U ? prior * sum : 0.0F;
  }
  put_dual<W>(dual, (count + 7) / 8, (float)weight, (float)of_bias, takes_part, right, lane);
  const unsigned fours = (count + 3) / 4;
  if (!solve_on_desk<(int)D>(&dual->desk, false, 1.0F, 0.0F, &bias, fours, lane))
    return false;
  float x[W / 32];
#pragma unroll
  for (int q = 0; q < W / 32; q++)
    x[q] = 0.0F;
  float all = 0.0F;
#pragma unroll 1
  for (unsigned j = 0; j < 4 * fours; j += 4) {
    float z[4];
    read4(&dual->desk.x[j], z);
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
      all += z[i];
#pragma unroll
      for (unsigned q = 0; q < W / 32; q++)
        x[q] = fmaf(z[i], dual->products[j + i][32 * q + lane], x[q]);
    }
  }
  float *const to = p.own + row * p.ld;
#pragma unroll
  for (unsigned q = 0; q < W / 32; q++)
    if (32 * q + lane < p.components) {
      to[32 * q + lane] = prior + x[q];
      *penalty += weight * (double)x[q] * (double)x[q];
    }
  if (biased && lane == 0) {
    const double b = of_bias * (double)all;
    to[p.components] = (float)b;
    *penalty += p.told_bias * b * b;
  }
  const double residual = lane < count ? weight * (double)dual->desk.x[lane] : 0.0;
  *squares += residual * residual;
  __syncwarp();
  return true;
}

} // namespace

#endif
