/* The kernel of row fits with P warps per row of up to W = 32 P components, and its launch, as
 * templates. A .cu file for each width instantiates them (row_wide_96.cu, ...).
 *
 * Coordinates are as in row_warps_cuda.cuh: column 32 w + 4 g + c is coordinate 8 (4 w + c) + g.
 * Warp w gathers the 32 columns from 32 w on: eight lanes read a nonzero's, which are one cache
 * line. Products of eight nonzeros go to shared memory as fragments of m16n8k8, from which all
 * warps read them, 16 bytes per lane. There are two such buffers, and one barrier per step.
 *
 * Sums and solution: wide_solve_cuda.cuh. Every 32 P nonzeros the accumulators are added to sums in
 * shared memory, in which equations are solved later, because tensor cores cut off what does not
 * fit. */
#ifndef AMPED_ROW_WIDE_CUDA_CUH
#define AMPED_ROW_WIDE_CUDA_CUH

#include "cuda/complete/row_history_cuda.cuh"
#include "cuda/complete/wide_solve_cuda.cuh"

namespace {

/* Thread blocks that must fit on a multiprocessor, which limits registers per thread. */
template <int P, int N> struct wide_tuning { static constexpr int blocks = P == 4 ? 3 : 4; };

/* Write a piece's sums to its slot, as packed equations (row_fit.h). totals: n, targets, squares.
 */
template <int P, int N, typename I>
__device__ __forceinline__ void store_slot(const fit_problem<float, I> &p,
                                           const wide_workspace<P, N, I> &d, const float (*h)[2][4],
                                           const double *totals, unsigned slot, unsigned w,
                                           unsigned lane, unsigned row, unsigned coordinate) {
  constexpr int W = 32 * P;
  const unsigned column = column_at<W>(coordinate);
  double *const to = p.slots + (uint64_t)slot * p.slot_length;
  const equation_places places = places_of(p.components, p.biased);
  for_numbers<P>(w, lane, [&](int u, int half, int e, unsigned i, unsigned j) {
    const unsigned r = column_at<W>(i);
    const unsigned c = column_at<W>(j);
    if ((i >= j || i / 16 != j / 16) && r < p.components && c < p.components)
      to[place_of_pair(r, c)] = (double)h[u][half][e];
  });
  if (column < p.components) {
    to[places.targets + column] = (double)d.targets[coordinate];
    if (p.biased)
      to[places.sum + column] = (double)d.sums[coordinate];
  }
  if (row == 0) {
    to[places.count] = totals[0];
    if (p.biased)
      to[places.target] = totals[1];
    to[places.squares] = totals[2];
  }
}

/* Add the row's history, times what is kept of it, to its sums; with `absorbs`, store all of it as
 * the row's history. own_squares: the thread's share of the squares. */
template <int P, int N, typename I>
__device__ __forceinline__ void
add_history(const fit_problem<float, I> &p, wide_workspace<P, N, I> &d, float (*h)[2][4],
            double *totals, double *own_squares, uint64_t own_row, unsigned w, unsigned lane,
            unsigned row, unsigned coordinate) {
  constexpr int W = 32 * P;
  const unsigned column = column_at<W>(coordinate);
  const bool is_there = column < p.components;
  float *const kept = history_of(p, own_row);
  const double keep = p.history_keep[own_row];
  const float by = (float)keep;
  const equation_places places = places_of(p.components, p.biased);
  /* The history is loaded into the memory of the folded sums. */
  float *const from = reinterpret_cast<float *>(d.folds) + history_offset(kept);
  static_assert(sizeof d.folds >= sizeof(float) * history_floats<W>, "no room");
  ask_history<W>(reinterpret_cast<float *>(d.folds), kept, keep > 0.0, p.slot_length, coordinate);
  __pipeline_wait_prior(0);
  __syncthreads();
  /* Units on the diagonal hold each sum twice. */
  for_numbers<P>(w, lane, [&](int u, int half, int e, unsigned i, unsigned j) {
    const unsigned r = column_at<W>(i);
    const unsigned c = column_at<W>(j);
    if (r < p.components && c < p.components && (i >= j || i / 16 != j / 16 || !p.absorbs)) {
      float *const old = from + place_of_pair(r, c);
      h[u][half][e] = fmaf(by, *old, h[u][half][e]);
      if (p.absorbs)
        *old = h[u][half][e];
    }
  });
  totals[0] += keep * (double)from[places.count];
  if (p.biased)
    totals[1] += keep * (double)from[places.target];
  totals[2] += keep * (double)from[places.squares];
  if (row == 0)
    *own_squares += keep * (double)from[places.squares];
  if (is_there) {
    d.targets[coordinate] = fmaf(by, from[places.targets + column], d.targets[coordinate]);
    if (p.biased)
      d.sums[coordinate] = fmaf(by, from[places.sum + column], d.sums[coordinate]);
  }
  __syncthreads();
  if (p.absorbs) {
    if (is_there) {
      from[places.targets + column] = d.targets[coordinate];
      if (p.biased)
        from[places.sum + column] = d.sums[coordinate];
    }
    if (row == 0) {
      from[places.count] = (float)totals[0];
      if (p.biased)
        from[places.target] = (float)totals[1];
      from[places.squares] = (float)totals[2];
      d.count_of_strip += totals[0];
    }
    __syncthreads();
    for (unsigned i = coordinate; i < p.slot_length; i += (unsigned)W)
      kept[i] = from[i];
  }
}

/* Add the sums over all cells (row_fit.h) to H. */
template <int P, typename I>
__device__ __forceinline__ void add_base(const fit_problem<float, I> &p, float (*h)[2][4],
                                         unsigned w, unsigned lane) {
  constexpr int W = 32 * P;
  for_numbers<P>(w, lane, [&](int u, int half, int e, unsigned i, unsigned j) {
    const unsigned r = column_at<W>(i);
    const unsigned c = column_at<W>(j);
    if (r < p.components && c < p.components)
      h[u][half][e] += (float)__ldg(p.base + r * p.components + c);
  });
}

/* Add the penalty to H's diagonal, which is in units (2 w, 2 w) and (2 w + 1, 2 w + 1); 1 after the
 * components. Sets the least pivots. */
template <int P, int N, typename I>
__device__ __forceinline__ void add_weight(const fit_problem<float, I> &p,
                                           wide_workspace<P, N, I> &d, float (*h)[2][4],
                                           float weight, unsigned w, unsigned lane) {
  constexpr int W = 32 * P;
#pragma unroll
  for (int c = 0; c < 4; c++) {
    float *const two = h[c < 2 ? 0 : P][c % 2] + 2 * (c % 2);
    const unsigned i = lane / 4;
    const float more = 32 * w + 4 * i + (unsigned)c < p.components ? weight : 1.0F;
    if (lane % 4 == i / 2) {
      two[0] += i % 2 == 0 ? more : 0.0F;
      two[1] += i % 2 == 1 ? more : 0.0F;
      d.least[32 * w + 8 * (unsigned)c + i] =
          (i % 2 == 0 ? two[0] : two[1]) * (2.0F * (float)W * FLT_EPSILON);
    }
  }
}

/* Fit the pieces of a strip, one thread block per strip. has_history: rows have histories. A kernel
 * without them has few enough registers. */
template <int P, int N, typename I, bool has_history>
__global__ void __launch_bounds__(32 * P, wide_tuning<P, N>::blocks)
    fit_wide_rows(const fit_problem<float, I> p) {
  constexpr int W = 32 * P;
  constexpr unsigned columns = wide_shape<P>::columns;
  constexpr unsigned round = wide_shape<P>::steps;
  constexpr int units = wide_shape<P>::units;
  constexpr int held_inputs = N < most_inputs ? N : 1; /* most_inputs: inputs are multiplied as they
                                                          arrive */
  /* Step 1: take the strip, and clear its sums. */
  extern __shared__ __align__(16) unsigned char shared[];
  wide_workspace<P, N, I> &d = *reinterpret_cast<wide_workspace<P, N, I> *>(shared);
  const unsigned lane = threadIdx.x % 32;
  /* Warps with a high w have more to do when rows are solved, so w rotates from thread block to
   * thread block. */
  const unsigned w = (__shfl_sync(all_lanes, threadIdx.x / 32, 0) + blockIdx.x) % P;
  const unsigned g = lane % 8; /* the lane gathers 4 columns of nonzeros t and t + 4 */
  const unsigned t = lane / 8;
  const unsigned row = 32 * w + lane; /* the thread's coordinate in solutions */
  const uint64_t strip = p.first_strip + blockIdx.x;
  const amped_row_piece_cuda *const end = p.pieces + p.strip_ends[strip];
  const unsigned ld = (unsigned)p.ld;
  const unsigned first_column = 32 * w + 4 * g;
  const unsigned offset = first_column < ld ? first_column : 0;
  const bool masks = p.components < columns;
  const bool weighs = p.weights != nullptr || p.implicit > 0.0;
  const amped_row_piece_cuda *piece = p.pieces + (strip > 0 ? p.strip_ends[strip - 1] : 0);
  unsigned base = (unsigned)(piece->first - p.first);
  unsigned count = piece->count;
  const unsigned last = (unsigned)(end[-1].first - p.first) + end[-1].count - 1;
  if (row == 0)
    d.count_of_strip = 0.0;
#pragma unroll
  for (int i = 0; i < 3; i++)
    d.of_piece[i][row] = d.of_strip[i / 2][row] = 0.0;

  /* The round after the one taken last: one nonzero per thread, packed as in memory. */
  const auto place = [&](unsigned k) { return k < last ? k : last; };
  unsigned k = 0;
  raw_nonzero<float, N> raw;
  unsigned held = 0;
  const auto load = [&](unsigned first) {
    k = place(first + row);
    raw = load_nonzero<float, I, N>(p, k);
    held = p.held != nullptr ? __ldg(p.held + k / 32) : 0U;
  };

  /* Take nonzeros j and on of the piece at `base`, of `count`, into shared memory; then start to
   * load the next ones. */
  const auto take = [&](unsigned j) {
    auto &to = d.taken[j / columns % 2];
    const bool on = j + row < count && !(held >> (k % 32) & 1U);
    const nonzero<float, I, N> mine = decode<float, I, N>(p, raw, k);
    double y = ((double)mine.value - p.mean) * p.per_scale;
    if (p.biased) {
      float others = 0.0F;
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs)
          others += __ldg(row_at(p.factors[m], mine.input[m], ld) + p.components);
      y -= (double)others;
    }
    const unsigned alive = __ballot_sync(all_lanes, on);
    fit_term of = {0.0, 0.0, 0.0, 0.0};
    if (on)
      of = weighs ? term_of(p, y, k) : fit_term{1.0, y, y * y, 1.0};
    d.of_piece[0][row] += of.count;
    d.of_piece[1][row] += of.target;
    d.of_piece[2][row] += of.square;
#pragma unroll
    for (int m = 0; m < N; m++)
      if (N < most_inputs || m < (int)p.inputs)
        to.inputs[m][row] = mine.input[m];
    to.target[row] = (float)of.target;
    if (weighs)
      to.root[row] = (float)sqrt(of.weight);
    if (lane == 0)
      to.alive[w] = alive;
    load(base + (j + columns < count ? j + columns : count));
  };

  const float *shares[held_inputs]; /* the lane's columns of each factor's first row */
#pragma unroll
  for (int m = 0; m < held_inputs; m++)
    shares[m] = kept(p.factors[m] + offset);

  /* The lane's columns of nonzeros t and t + 4 of the piece's step s. */
  float rows[2][held_inputs][4];
  const auto ask = [&](unsigned s) {
    const auto &of = d.taken[s / round % 2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const unsigned from = 8 * (s % round) + t + 4 * (unsigned)i;
#pragma unroll
      for (int m = 0; m < N; m++)
        if (N < most_inputs || m < (int)p.inputs) {
          const float4 v = __ldg(reinterpret_cast<const float4 *>(
              row_at(N < most_inputs ? shares[N < most_inputs ? m : 0] : p.factors[m] + offset,
                     of.inputs[m][from], ld)));
          float *const to = rows[i][N < most_inputs ? m : 0];
          const bool is_first = N < most_inputs || m == 0;
          to[0] = is_first ? v.x : to[0] * v.x;
          to[1] = is_first ? v.y : to[1] * v.y;
          to[2] = is_first ? v.z : to[2] * v.z;
          to[3] = is_first ? v.w : to[3] * v.w;
        }
    }
  };

  /* Step 2: request the first piece's nonzeros, and the rows of the first eight. */
  load(base);
  take(0);
  __syncthreads();
  ask(0);
  for (; piece < end;) {
    /* Step 3: add up the products of the piece, eight nonzeros at a time. */
    float h[units][2][4];
    float targets[4]; /* sums for the lane's columns */
    float sums[4];
#pragma unroll
    for (int u = 0; u < units; u++)
#pragma unroll
      for (int e = 0; e < 8; e++)
        h[u][e / 4][e % 4] = 0.0F;
#pragma unroll
    for (int c = 0; c < 4; c++)
      targets[c] = sums[c] = 0.0F;

    /* Multiply the loaded columns, and store them as the fragments of step s. */
    const auto put = [&](unsigned s) {
      const auto &of = d.taken[s / round % 2];
      const unsigned from = 8 * (s % round) + t;
      const unsigned alive = of.alive[s % round / 4] >> 8 * (s % 4) & 0xffU;
      float x[2][4];
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
          x[i][c] = rows[i][0][c];
#pragma unroll
          for (int m = 1; m < held_inputs; m++)
            x[i][c] *= rows[i][m][c];
        }
      if (masks) {
#pragma unroll
        for (int c = 0; c < 4; c++) {
          const bool is_there = first_column + (unsigned)c < p.components;
          x[0][c] = is_there ? x[0][c] : 0.0F;
          x[1][c] = is_there ? x[1][c] : 0.0F;
        }
      }
      if (alive != 0xffU) {
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
          for (int c = 0; c < 4; c++)
            x[i][c] = alive >> (t + 4 * (unsigned)i) & 1U ? x[i][c] : 0.0F;
      }
      const float y[2] = {of.target[from], of.target[from + 4]};
#pragma unroll
      for (int c = 0; c < 4; c++)
        targets[c] = fmaf(y[0], x[0][c], fmaf(y[1], x[1][c], targets[c]));
      if (weighs) {
        const float root[2] = {of.root[from], of.root[from + 4]};
#pragma unroll
        for (int c = 0; c < 4; c++) {
          x[0][c] *= root[0];
          x[1][c] *= root[1];
          sums[c] = fmaf(root[0], x[0][c], fmaf(root[1], x[1][c], sums[c]));
        }
      } else if (p.biased) {
#pragma unroll
        for (int c = 0; c < 4; c++)
          sums[c] += x[0][c] + x[1][c];
      }
#pragma unroll
      for (int c = 0; c < 4; c++)
        d.parts[s % 2][4 * w + (unsigned)c][spot_of(4 * g + t)] = parts_of(x[0][c], x[1][c]);
    };

    const auto fold = [&](bool is_first, bool is_last) {
      float4 *const own = &d.folds[0][row];
      const auto four = [&](int i, float *x) {
        float4 sum = is_first ? make_float4(0.0F, 0.0F, 0.0F, 0.0F) : own[i * W];
        sum = make_float4(sum.x + x[0], sum.y + x[1], sum.z + x[2], sum.w + x[3]);
        if (!is_last)
          own[i * W] = sum;
        x[0] = is_last ? sum.x : 0.0F;
        x[1] = is_last ? sum.y : 0.0F;
        x[2] = is_last ? sum.z : 0.0F;
        x[3] = is_last ? sum.w : 0.0F;
      };
#pragma unroll
      for (int u = 0; u < units; u++) {
        four(2 * u, h[u][0]);
        four(2 * u + 1, h[u][1]);
      }
      four(2 * units, targets);
      four(2 * units + 1, sums);
    };

    const unsigned steps = count / 8 + (count % 8 > 0 ? 1 : 0);
    put(0);
    if (steps > 1)
      ask(1);
    for (unsigned first = 0; first < steps; first += round) {
      const unsigned behind = first + round;
      if (8 * behind < count)
        take(8 * behind);
      for (unsigned s = first; s < behind && s < steps; s++) {
        __syncthreads();
        multiply_units<P, false>(
            h, reinterpret_cast<const uint4(*)[32]>(&d.parts[s % 2][0][spot_of(lane)]), w, 0);
        if (s + 1 < steps)
          put(s + 1);
        if (s + 2 < steps)
          ask(s + 2);
      }
      if (steps > round)
        fold(first == 0, behind >= steps);
    }

    /* Step 4: add up the shares of lanes and warps. */
#pragma unroll
    for (int c = 0; c < 4; c++) {
      for (int i = 8; i < 32; i *= 2) {
        targets[c] += __shfl_xor_sync(all_lanes, targets[c], i);
        if (p.biased)
          sums[c] += __shfl_xor_sync(all_lanes, sums[c], i);
      }
      if (t == 0) {
        d.targets[32 * w + 8 * (unsigned)c + g] = targets[c];
        d.sums[32 * w + 8 * (unsigned)c + g] = sums[c];
      }
    }
    const uint64_t own_row = piece->row;
    const unsigned slot = piece->slot;
    const uint64_t done = (uint64_t)(piece - p.pieces);
    double own_squares = d.of_piece[2][row];
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const double sum = sum_of_lanes(d.of_piece[i][row]);
      d.of_piece[i][row] = 0.0;
      if (lane == 0)
        d.totals[i][w] = sum;
    }
    __syncthreads();
    double totals[3] = {0.0, 0.0, 0.0};
#pragma unroll
    for (int i = 0; i < 3 * P; i++)
      totals[i / P] += d.totals[i / P][i % P];
    const unsigned coordinate = fresh(row);
    const unsigned column = column_at<W>(coordinate);
    const bool is_there = column < p.components;
    /* Take the next piece's first nonzeros. Their rows are then loaded during this row's back
     * substitution. */
    if (++piece < end) {
      base = (unsigned)(piece->first - p.first);
      count = piece->count;
      take(0);
    }

    /* Step 5: pieces of long rows go to their slots; the history is added. */
    if (slot != AMPED_NO_SLOT) {
      store_slot<P, N, I>(p, d, h, totals, slot, w, lane, row, coordinate);
      __syncthreads();
      ask(0);
      continue;
    }
    if constexpr (has_history) {
      const bool works = totals[0] > 0.0;
      if (works)
        add_history<P, N, I>(p, d, h, totals, &own_squares, own_row, w, lane, row, coordinate);
      if (!works || p.absorbs) { /* the row stays */
        __syncthreads();
        ask(0);
        continue;
      }
    }

    /* Step 6: solve, and add up the row's sums. */
    float x = 0.0F;
    float bias = 0.0F;
    if (totals[0] > 0.0) {
      const double weight = penalty_of(p, totals[0]);
      if (p.base != nullptr)
        add_base<P>(p, h, w, lane);
      add_weight<P, N, I>(p, d, h, (float)weight, w, lane);
      const double own_target = (double)d.targets[coordinate];
      factor_wide<P, N, I>(d, h, is_there ? (float)(own_target + weight * p.prior) : 0.0F,
                           p.biased ? d.sums[coordinate] : 0.0F, w, coordinate % 32);
      ask(0);
      const float y = d.y[0][coordinate];
      const float z = d.y[1][coordinate];
      const float by = d.pivots[coordinate]; /* by^-2 is the pivot */
      bool good = by * by * d.least[coordinate] < 1.0F;
      if (p.biased) {
        float zz = z * z;
        float zy = z * y;
        for (int i = 16; i > 0; i /= 2) {
          zz += __shfl_xor_sync(all_lanes, zz, i);
          zy += __shfl_xor_sync(all_lanes, zy, i);
        }
        if (lane == 0) {
          d.products[0][w] = zz;
          d.products[1][w] = zy;
        }
        __syncthreads();
        zz = zy = 0.0F;
#pragma unroll
        for (int i = 0; i < P; i++) {
          zz += d.products[0][i];
          zy += d.products[1][i];
        }
        const float corner = (float)(totals[0] + p.reg_bias);
        const float pivot = corner - zz;
        good = good && pivot > corner * (2.0F * (float)W * FLT_EPSILON);
        bias = ((float)totals[1] - zy) / pivot;
      }
      x = solve_back<P, N, I>(d, y - bias * z, coordinate);
      good = good && fabsf(x) <= FLT_MAX && fabsf(bias) <= FLT_MAX;
      if (!__syncthreads_and(good)) {
        if (row == 0)
          p.failed[done] = 1;
        continue;
      }
      /* Sum of squares: tt - x g + weight (prior - x) x, because M x = right and M = H + weight. */
      double squares = own_squares;
      double penalty = 0.0;
      if (is_there) {
        const double off = (double)x - p.prior;
        squares -= (double)x * (own_target + weight * off);
        penalty = weight * off * off;
      }
      if (row == 0) {
        if (p.biased)
          squares -= (double)bias * (totals[1] + p.reg_bias * (double)bias);
        penalty += p.told_bias * (double)bias * (double)bias;
        d.count_of_strip += totals[0];
      }
      d.of_strip[0][coordinate] += squares;
      d.of_strip[1][coordinate] += penalty;
    } else {
      x = is_there ? (float)p.empty[column] : 0.0F;
      if (row == 0) {
        d.of_strip[0][coordinate] += p.of_empty.squares;
        d.of_strip[1][coordinate] += p.of_empty.penalty;
      }
      __syncthreads();
      ask(0);
    }

    /* Step 7: store the row. */
    float *const to = p.own + own_row * ld;
    if (p.biased && column == p.components)
      x = bias;
    if (column < (p.is_block ? p.components + (p.biased ? 1U : 0U) : ld))
      to[column] = x;
    if (p.biased && p.components == columns && row == 0)
      to[columns] = bias;
  }
  double all_squares = sum_of_lanes(d.of_strip[0][row]);
  double all_penalty = sum_of_lanes(d.of_strip[1][row]);
  __syncthreads();
  if (lane == 0) {
    d.totals[0][w] = all_squares;
    d.totals[1][w] = all_penalty;
  }
  __syncthreads();
  if (row == 0) {
    for (int i = 1; i < P; i++) {
      all_squares += d.totals[0][i];
      all_penalty += d.totals[1][i];
    }
    p.sums[strip] = {d.count_of_strip, all_squares, all_penalty, 0};
  }
}

template <int P, int N, typename I, bool has_history>
amped_status launch_wide(const amped_row_kernel_cuda_args *args) {
  constexpr int bytes = (int)sizeof(wide_workspace<P, N, I>);
  const auto kernel = fit_wide_rows<P, N, I, has_history>;
  fit_problem<float, I> p = {};
  describe_fit(&p, args);
  if (p.strips > INT32_MAX)
    return amped_error(AMPED_FAILED, "CUDA",
                       "%" PRIu64 " thread blocks are too many for one launch; use more GPUs",
                       p.strips);
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<(unsigned)p.strips, 32 * P, bytes, args->stream>>>(p);
  AMPED_CUDA_LAUNCHED("the row-fit kernel");
  return AMPED_OK;
}

template <int P, bool has_history>
amped_status launch_wide_for_order(const amped_row_kernel_cuda_args *args) {
  switch (args->inputs) {
  case 2:
    return launch_wide<P, 2, index32, has_history>(args);
  case 3:
    return launch_wide<P, 3, index32, has_history>(args);
  case 4:
    return launch_wide<P, 4, index32, has_history>(args);
  default:
    return launch_wide<P, most_inputs, index32, has_history>(args);
  }
}

} // namespace

#endif
