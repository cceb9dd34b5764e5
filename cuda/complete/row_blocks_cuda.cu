/* Row fits in double, with one thread block per row. Shared memory holds the row's matrix M, its
 * Cholesky factor and its vectors. If they do not fit, the thread block's scratch memory holds
 * them.
 *
 * Equations without a unique solution are solved as on CPUs (cpu/complete/row_solve_cpu.c):
 * Cholesky with pivoting gives M = B^T B, and the pseudoinverse is B^T (B B^T)^-2 B. Nonnegative
 * rows: coordinate descent. */
#include <cfloat>

#include "cuda/complete/fit_problem_cuda.cuh"

namespace {

constexpr unsigned fit_threads = 256;
constexpr unsigned chunk = 16; /* nonzeros whose products shared memory holds at a time */

/* Coordinate descent ends after this number of passes, or after one that leaves this residual
 * (row_fit.h). */
constexpr int most_passes = 20;
constexpr double enough = 1e-4;

/* Bytes of shared memory of a thread block, at most. */
constexpr uint64_t most_shared = UINT64_C(200) << 10;

/* Bytes of scratch memory of all thread blocks, at most: enough for 64 thread blocks at the largest
 * number of components. */
constexpr uint64_t most_scratch = UINT64_C(1) << 30;

__host__ __device__ inline uint64_t matrix_doubles(uint64_t components) {
  const uint64_t n = components + 1;
  return n * (n + 1);
}

/* Doubles of a row's workspace: two matrices and six vectors. */
__host__ __device__ inline uint64_t workspace_doubles(uint64_t components) {
  return 2 * matrix_doubles(components) + 6 * (components + 2);
}

inline uint64_t product_bytes(uint64_t components) {
  return chunk * (components + 2) * sizeof(double);
}

/* Workspace for the equations of one row: n unknowns, of which the bias is the last. Rows of
 * matrices are ld doubles long. */
struct row_workspace {
  unsigned n, ld;
  double *m;       /* lower triangle of the matrix; add_penalty adds the penalty to it */
  double *l;       /* workspace of the same size */
  double *targets; /* g, then tau */
  double *right;
  double *x;
  double *y, *z;  /* workspace */
  double *column; /* workspace */
  double count, squares, weight;
};

__device__ inline double sum_of_block(double x) {
  __shared__ double parts[fit_threads / 32];
  x = sum_of_lanes(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0.0;
  for (unsigned i = 0; i < fit_threads / 32; i++)
    sum += parts[i];
  return sum;
}

__device__ inline double most_of_block(double x) {
  __shared__ double parts[fit_threads / 32];
  for (int i = 16; i > 0; i /= 2)
    x = fmax(x, __shfl_xor_sync(all_lanes, x, i));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = x;
  __syncthreads();
  double most = parts[0];
  for (unsigned i = 1; i < fit_threads / 32; i++)
    most = fmax(most, parts[i]);
  return most;
}

template <typename P>
__device__ inline row_workspace workspace_of(const P &p, double *shared, bool is_shared) {
  double *base = is_shared ? shared : p.scratch + blockIdx.x * p.scratch_stride;
  const uint64_t matrix = matrix_doubles(p.components);
  const unsigned n = p.components + (p.biased ? 1 : 0);
  row_workspace d = {};
  d.n = n;
  d.ld = p.components + 2;
  d.m = base;
  d.l = d.m + matrix;
  d.targets = d.l + matrix;
  d.right = d.targets + d.ld;
  d.x = d.right + d.ld;
  d.y = d.x + d.ld;
  d.z = d.y + d.ld;
  d.column = d.z + d.ld;
  return d;
}

template <typename P> __device__ inline void clear_workspace(const P &p, row_workspace *d) {
  for (unsigned i = threadIdx.x; i < d->n * d->ld; i += fit_threads)
    d->m[i] = 0.0;
  for (unsigned i = threadIdx.x; i < d->ld; i += fit_threads)
    d->targets[i] = 0.0;
  d->count = d->squares = 0.0;
  __syncthreads();
}

/* --- equations ------------------------------------------------------------------------------- */

/* Compute the equations of a piece in the workspace. products: `chunk` rows in shared memory. */
template <typename T, typename I>
__device__ void assemble(const fit_problem<T, I> &p, const amped_row_piece_cuda &piece,
                         double *products, row_workspace *d) {
  __shared__ I positions[most_inputs][chunk];
  __shared__ fit_term terms[chunk];
  const unsigned comps = p.components;
  const unsigned base = (unsigned)(piece.first - p.first);
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  __shared__ unsigned filled;
  clear_workspace(p, d);
  for (unsigned done = 0; done < piece.count; done += chunk) {
    /* The first warp decodes the nonzeros and packs together all that take part. */
    if (warp == 0) {
      const unsigned k = base + done + lane;
      const bool here = lane < chunk && done + lane < piece.count;
      const bool on = here && !(p.held != nullptr && p.held[k / 32] >> k % 32 & 1U);
      const unsigned alive = __ballot_sync(all_lanes, on);
      if (on) {
        const raw_nonzero<T, most_inputs> raw = load_nonzero<T, I, most_inputs>(p, k);
        const nonzero<T, I, most_inputs> x = decode<T, I, most_inputs>(p, raw, k);
        const unsigned to = (unsigned)__popc(alive & ((1U << lane) - 1U));
        double y = ((double)x.value - p.mean) * p.per_scale;
        for (unsigned m = 0; m < p.inputs; m++) {
          positions[m][to] = x.input[m];
          if (p.biased)
            y -= (double)p.factors[m][(uint64_t)x.input[m] * p.ld + comps];
        }
        terms[to] = term_of(p, y, k);
      }
      if (lane == 0)
        filled = (unsigned)__popc(alive);
    }
    __syncthreads();
    const unsigned rows = filled;
    for (unsigned i = threadIdx.x; i < rows * comps; i += fit_threads) {
      const unsigned q = i / comps;
      const unsigned c = i % comps;
      double product = 1.0;
      for (unsigned m = 0; m < p.inputs; m++)
        product *= (double)p.factors[m][(uint64_t)positions[m][q] * p.ld + c];
      products[q * comps + c] = product;
    }
    __syncthreads();
    for (unsigned i = warp; i < comps; i += fit_threads / 32) {
      for (unsigned j = lane; j <= i; j += 32) {
        double sum = 0.0;
        for (unsigned q = 0; q < rows; q++)
          sum += terms[q].weight * products[q * comps + i] * products[q * comps + j];
        d->m[i * d->ld + j] += sum;
      }
    }
    for (unsigned i = threadIdx.x; i < comps; i += fit_threads) {
      double sum = 0.0;
      double plain = 0.0;
      for (unsigned q = 0; q < rows; q++) {
        sum += products[q * comps + i] * terms[q].target;
        plain += products[q * comps + i] * terms[q].weight;
      }
      d->targets[i] += sum;
      if (p.biased)
        d->m[comps * d->ld + i] += plain;
    }
    for (unsigned q = 0; q < rows; q++) {
      d->count += terms[q].count;
      d->squares += terms[q].square;
      if (p.biased && threadIdx.x == 0)
        d->targets[comps] += terms[q].target;
    }
    __syncthreads();
  }
}

/* Write the workspace's equations in packed form (row_fit.h), to a slot or to a row's history. */
template <typename P, typename T>
__device__ void store_equations(const P &p, const row_workspace &d, T *to) {
  const unsigned comps = p.components;
  const equation_places at = places_of(comps, p.biased);
  for (unsigned i = threadIdx.x / 32; i < comps; i += fit_threads / 32)
    for (unsigned j = threadIdx.x % 32; j <= i; j += 32)
      to[place_of_pair(i, j)] = (T)d.m[i * d.ld + j];
  for (unsigned i = threadIdx.x; i < comps; i += fit_threads) {
    to[at.targets + i] = (T)d.targets[i];
    if (p.biased)
      to[at.sum + i] = (T)d.m[comps * d.ld + i];
  }
  if (threadIdx.x == 0) {
    to[at.count] = (T)d.count;
    to[at.squares] = (T)d.squares;
    if (p.biased)
      to[at.target] = (T)d.targets[comps];
  }
}

/* Load packed equations (row_fit.h) into the workspace. */
template <typename P>
__device__ void load_equations(const P &p, const double *from, row_workspace *d) {
  const unsigned comps = p.components;
  const equation_places at = places_of(comps, p.biased);
  clear_workspace(p, d);
  for (unsigned i = threadIdx.x / 32; i < comps; i += fit_threads / 32)
    for (unsigned j = threadIdx.x % 32; j <= i; j += 32)
      d->m[i * d->ld + j] = from[place_of_pair(i, j)];
  for (unsigned i = threadIdx.x; i < comps; i += fit_threads) {
    d->targets[i] = from[at.targets + i];
    if (p.biased)
      d->m[comps * d->ld + i] = from[at.sum + i];
  }
  d->count = from[at.count];
  d->squares = from[at.squares];
  if (p.biased && threadIdx.x == 0)
    d->targets[comps] = from[at.target];
  __syncthreads();
}

/* Add the history of a row of the block, times its `keep`, to the workspace's equations. */
template <typename T, typename I>
__device__ void add_history(const fit_problem<T, I> &p, uint64_t row, row_workspace *d) {
  const T *const from = history_of(p, row);
  const double keep = p.history_keep[row];
  const unsigned comps = p.components;
  const equation_places at = places_of(comps, p.biased);
  if (!(keep > 0.0))
    return;
  for (unsigned i = threadIdx.x / 32; i < comps; i += fit_threads / 32)
    for (unsigned j = threadIdx.x % 32; j <= i; j += 32)
      d->m[i * d->ld + j] += keep * (double)from[place_of_pair(i, j)];
  for (unsigned i = threadIdx.x; i < comps; i += fit_threads) {
    d->targets[i] += keep * (double)from[at.targets + i];
    if (p.biased)
      d->m[comps * d->ld + i] += keep * (double)from[at.sum + i];
  }
  d->count += keep * (double)from[at.count];
  d->squares += keep * (double)from[at.squares];
  if (p.biased && threadIdx.x == 0)
    d->targets[comps] += keep * (double)from[at.target];
  __syncthreads();
}

/* --- solutions ------------------------------------------------------------------------------- */

/* Add the penalty and, for implicit fits, the sums over all cells to the matrix, and make the right
 * side. */
template <typename P> __device__ void add_penalty(const P &p, row_workspace *d) {
  d->weight = penalty_of(p, d->count);
  for (unsigned i = threadIdx.x / 32; i < p.components && p.base != nullptr; i += fit_threads / 32)
    for (unsigned j = threadIdx.x % 32; j <= i; j += 32)
      d->m[i * d->ld + j] += p.base[i * p.components + j];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < d->n; i += fit_threads) {
    const bool bias = i == p.components;
    if (bias)
      d->m[i * d->ld + i] = d->count;
    d->m[i * d->ld + i] += bias ? p.reg_bias : d->weight;
    d->right[i] = d->targets[i] + (bias ? 0.0 : d->weight * p.prior);
  }
  __syncthreads();
}

__device__ inline double element(const row_workspace &d, unsigned i, unsigned j) {
  return i >= j ? d.m[i * d.ld + j] : d.m[j * d.ld + i];
}

/* Cholesky factor of 4 x 4 elements on a matrix's diagonal. Rows after the matrix's last row are
 * rows of the identity. */
struct corner {
  double d[4][4]; /* below the diagonal */
  double s[4];    /* reciprocals of the diagonal */
  bool good;      /* all pivots are above their bounds */
};
__device__ inline void factor_corner(corner *to, const double *l, unsigned ld, unsigned n,
                                     unsigned first, const double *bounds) {
  double d[4][4];
  double s[4];
  bool good = true;
#pragma unroll
  for (unsigned i = 0; i < 4; i++)
#pragma unroll
    for (unsigned j = 0; j <= i; j++)
      d[i][j] = first + i < n ? l[(first + i) * ld + first + j] : i == j ? 1.0 : 0.0;
#pragma unroll
  for (unsigned k = 0; k < 4; k++) {
    double pivot = d[k][k];
#pragma unroll
    for (unsigned q = 0; q < k; q++)
      pivot -= d[k][q] * d[k][q];
    good = good && (first + k >= n || pivot > bounds[first + k]) && pivot <= DBL_MAX;
    s[k] = 1.0 / sqrt(pivot);
#pragma unroll
    for (unsigned i = k + 1; i < 4; i++) {
#pragma unroll
      for (unsigned q = 0; q < k; q++)
        d[i][k] -= d[i][q] * d[k][q];
      d[i][k] *= s[k];
      to->d[i][k] = d[i][k];
    }
    to->s[k] = s[k];
  }
  to->good = good;
}

/* x = (L L^T)^-1 x. l: lower triangle of a matrix of n rows, which its Cholesky factor L replaces.
 * Returns false if a pivot is not above `share` of its diagonal element. Four columns at a time,
 * with x as a row below the last one. */
__device__ __noinline__ bool solve_cholesky(double *l, unsigned ld, unsigned n, double share,
                                            double *x, double *column) {
  __shared__ corner c;
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = threadIdx.x; i < n; i += fit_threads)
    column[i] = l[i * ld + i] * share;
  __syncthreads();
  for (unsigned k = 0; k < n; k += 4) {
    const unsigned behind = k + 4 < n ? k + 4 : n;
    if (threadIdx.x == 0)
      factor_corner(&c, l, ld, n, k, column);
    __syncthreads();
    if (!c.good)
      return false;
    /* One thread per row of the four columns. */
    for (unsigned i = k + threadIdx.x; i <= n; i += fit_threads) {
      double *const row = (i < n ? l + i * ld : x) + k;
      double v[4];
#pragma unroll
      for (unsigned q = 0; q < 4; q++) {
        v[q] = k + q < n ? row[q] : 0.0;
#pragma unroll
        for (unsigned r = 0; r < q; r++)
          v[q] -= v[r] * c.d[q][r];
        v[q] *= c.s[q];
        if (k + q < n && k + q <= i)
          row[q] = v[q];
      }
      if (i < behind)
        column[i] = c.s[i - k]; /* in place of the bound */
    }
    __syncthreads();
    /* One warp per row of the columns after them. */
    for (unsigned i = behind + warp; i <= n && behind < n; i += fit_threads / 32) {
      double *const row = i < n ? l + i * ld : x;
      double own[4];
#pragma unroll
      for (unsigned q = 0; q < 4; q++)
        own[q] = row[k + q];
      for (unsigned j = behind + lane; j < n && j <= i; j += 32) {
        const double *const other = l + j * ld + k;
        row[j] -= own[0] * other[0] + own[1] * other[1] + own[2] * other[2] + own[3] * other[3];
      }
    }
    __syncthreads();
  }
  for (unsigned k = (n - 1) / 4 * 4; k < n; k -= 4) { /* ends below 0 */
    double v[4];
#pragma unroll
    for (unsigned q = 4; q-- > 0;) {
      v[q] = k + q < n ? x[k + q] : 0.0;
#pragma unroll
      for (unsigned r = q + 1; r < 4; r++)
        if (k + r < n)
          v[q] -= v[r] * l[(k + r) * ld + k + q];
      if (k + q < n)
        v[q] *= column[k + q];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < k; i += fit_threads) {
      double sum = 0.0;
#pragma unroll
      for (unsigned q = 0; q < 4; q++)
        if (k + q < n)
          sum += l[(k + q) * ld + i] * v[q];
      x[i] -= sum;
    }
    if (threadIdx.x < 4 && k + threadIdx.x < n)
      x[k + threadIdx.x] = threadIdx.x == 0   ? v[0]
                           : threadIdx.x == 1 ? v[1]
                           : threadIdx.x == 2 ? v[2]
                                              : v[3];
    __syncthreads();
  }
  return true;
}

__device__ bool solve_primal(row_workspace *d) {
  for (unsigned i = threadIdx.x; i < d->n * d->ld; i += fit_threads)
    d->l[i] = d->m[i];
  for (unsigned i = threadIdx.x; i < d->n; i += fit_threads)
    d->x[i] = d->right[i];
  __syncthreads();
  return solve_cholesky(d->l, d->ld, d->n, (double)d->n * DBL_EPSILON, d->x, d->column);
}

/* Fill l with rows b of B, so that the matrix is B^T B, by Cholesky with pivoting. Returns the
 * number of rows, the rank. */
__device__ __noinline__ unsigned split_matrix(row_workspace *d) {
  double *const diagonal = d->column;
  double most = 0.0;
  for (unsigned i = threadIdx.x; i < d->n; i += fit_threads)
    diagonal[i] = d->m[i * d->ld + i];
  __syncthreads();
  for (unsigned i = 0; i < d->n; i++)
    most = diagonal[i] > most ? diagonal[i] : most;
  for (unsigned rank = 0; rank < d->n; rank++) {
    unsigned pivot = 0;
    for (unsigned i = 1; i < d->n; i++)
      pivot = diagonal[i] > diagonal[pivot] ? i : pivot;
    const double size = diagonal[pivot];
    if (!(size > (double)d->n * DBL_EPSILON * most))
      return rank;
    __syncthreads();
    double *const row = d->l + rank * d->ld;
    const double by = 1.0 / sqrt(size);
    for (unsigned c = threadIdx.x; c < d->n; c += fit_threads) {
      double v = element(*d, pivot, c);
      for (unsigned q = 0; q < rank; q++)
        v -= d->l[q * d->ld + pivot] * d->l[q * d->ld + c];
      row[c] = v * by;
      diagonal[c] = c == pivot ? 0.0 : diagonal[c] - row[c] * row[c];
    }
    __syncthreads();
  }
  return d->n;
}

/* y = (B B^T)^-1 y. B: the first `rank` rows of l. Overwrites the matrix m. */
__device__ __noinline__ bool solve_rows(row_workspace *d, unsigned rank) {
  for (unsigned i = threadIdx.x / 32; i < rank; i += fit_threads / 32)
    for (unsigned j = threadIdx.x % 32; j <= i; j += 32) {
      double sum = 0.0;
      for (unsigned c = 0; c < d->n; c++)
        sum += d->l[i * d->ld + c] * d->l[j * d->ld + c];
      d->m[i * d->ld + j] = sum;
    }
  __syncthreads();
  return rank == 0 || solve_cholesky(d->m, d->ld, rank, 0.0, d->y, d->column);
}

/* Sum of w (t - model)^2 with the row x. The penalty in the matrix is subtracted. rank: rows of B,
 * if solving has overwritten the matrix; else -1. */
template <typename P> __device__ double squares_of(const P &p, const row_workspace &d, int rank) {
  double sum = 0.0;
  for (unsigned i = threadIdx.x; i < d.n; i += fit_threads) {
    double product = (i == p.components ? -p.reg_bias : -d.weight) * d.x[i];
    if (rank < 0)
      product += d.m[i * d.ld + i] * d.x[i];
    sum += d.x[i] * (product - 2.0 * d.targets[i]);
  }
  for (unsigned i = threadIdx.x / 32; i < d.n && rank < 0; i += fit_threads / 32)
    for (unsigned j = threadIdx.x % 32; j < i; j += 32)
      sum += 2.0 * d.x[i] * d.m[i * d.ld + j] * d.x[j];
  for (int k = (int)threadIdx.x; k < rank; k += fit_threads) {
    double product = 0.0;
    for (unsigned j = 0; j < d.n; j++)
      product += d.l[(unsigned)k * d.ld + j] * d.x[j];
    sum += product * product;
  }
  sum = sum_of_block(sum) + d.squares;
  return isnan(sum) ? (double)INFINITY : sum < 0.0 ? 0.0 : sum;
}

/* x = the solution nearest to the prior or, with weight 0, of least norm. Returns the rank. */
template <typename P> __device__ int solve_least(const P &p, row_workspace *d) {
  const double prior = d->weight > 0.0 ? p.prior : 0.0;
  for (unsigned i = threadIdx.x; i < d->n; i += fit_threads) {
    double sum = d->right[i];
    for (unsigned c = 0; c < p.components; c++)
      sum -= prior * element(*d, i, c);
    d->z[i] = sum;
  }
  __syncthreads();
  const unsigned rank = split_matrix(d);
  for (unsigned k = threadIdx.x; k < rank; k += fit_threads) {
    double sum = 0.0;
    for (unsigned c = 0; c < d->n; c++)
      sum += d->l[k * d->ld + c] * d->z[c];
    d->y[k] = sum;
  }
  __syncthreads();
  bool solved = solve_rows(d, rank);
  __syncthreads();
  solved = solved && solve_rows(d, rank);
  __syncthreads();
  for (unsigned c = threadIdx.x; c < d->n; c += fit_threads) {
    double sum = c < p.components ? prior : 0.0;
    for (unsigned k = 0; k < rank && solved; k++)
      sum += d->y[k] * d->l[k * d->ld + c];
    d->x[c] = sum;
  }
  __syncthreads();
  return (int)rank;
}

/* Largest residual of the optimality conditions (row_fit.h). z: the gradient. */
template <typename P> __device__ double residual_of(const P &p, const row_workspace &d) {
  double most = 0.0;
  for (unsigned i = threadIdx.x; i < d.n; i += fit_threads) {
    const double diagonal = d.m[i * d.ld + i];
    const bool held = i < p.components && d.x[i] <= 0.0 && d.z[i] > 0.0;
    if (!held && diagonal > 0.0)
      most = fmax(most, fabs(d.z[i]) / sqrt(diagonal));
  }
  return most_of_block(most);
}

/* Coordinate descent from the row in x, for a nonnegative row. */
template <typename P> __device__ void solve_nonnegative(const P &p, row_workspace *d) {
  double most = 0.0;
  for (unsigned i = threadIdx.x; i < d->n; i += fit_threads)
    if (i < p.components && !(d->x[i] > 0.0))
      d->x[i] = 0.0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < d->n; i += fit_threads) {
    const double diagonal = d->m[i * d->ld + i];
    double sum = -d->right[i];
    if (diagonal > 0.0)
      most = fmax(most, fabs(d->right[i]) / sqrt(diagonal));
    for (unsigned c = 0; c < d->n; c++)
      sum += element(*d, i, c) * d->x[c];
    d->z[i] = sum;
  }
  most = most_of_block(most);
  for (int pass = 0; pass == 0 || (pass < most_passes && residual_of(p, *d) > enough * most);
       pass++)
    for (unsigned i = 0; i < d->n; i++) {
      const double diagonal = d->m[i * d->ld + i];
      const double old = d->x[i];
      double x = diagonal > 0.0 ? old - d->z[i] / diagonal : old;
      if (i < p.components && diagonal > 0.0 && !(x > 0.0))
        x = 0.0;
      const double change = x - old;
      __syncthreads();
      for (unsigned c = threadIdx.x; c < d->n && change != 0.0; c += fit_threads)
        d->z[c] += change * element(*d, i, c);
      if (threadIdx.x == 0)
        d->x[i] = x;
      __syncthreads();
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

template <typename T> __device__ inline double most_number() {
  return sizeof(T) == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
}

/* Solve the equations in the workspace and store the row. Adds to *sums, which only thread 0
 * uses. */
template <typename T, typename I>
__device__ __noinline__ void solve_row(const fit_problem<T, I> &p, row_workspace *d, uint64_t row,
                                       amped_row_fit_sums *sums) {
  T *const to = p.own + row * p.ld;
  const unsigned columns = p.components + (p.biased ? 1 : 0);
  int rank = -1; /* rank of equations without a unique solution; else -1 */
  if (d->count > 0.0) {
    add_penalty(p, d);
    if (p.nonnegative) {
      for (unsigned i = threadIdx.x; i < d->n; i += fit_threads)
        d->x[i] = (double)to[i];
      __syncthreads();
      solve_nonnegative(p, d);
    } else if (!solve_primal(d)) {
      __syncthreads();
      rank = solve_least(p, d);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < d->n && p.overstep > 0.0 && rank < 0; i += fit_threads)
      d->x[i] += p.overstep * (d->x[i] - (double)to[i]);
  }
  __syncthreads();
  bool finite = true;
  for (unsigned i = threadIdx.x; i < d->n && d->count > 0.0; i += fit_threads)
    finite = finite && fabs(d->x[i]) <= most_number<T>();
  finite = __syncthreads_and(finite) != 0;
  for (unsigned i = threadIdx.x; i < columns; i += fit_threads) {
    const double prior = i < p.components ? p.prior : 0.0;
    const T stored = (T)(!(d->count > 0.0) ? p.empty[i] : finite ? d->x[i] : prior);
    to[i] = stored;
    d->x[i] = (double)stored;
  }
  __syncthreads();
  if (!(d->count > 0.0)) {
    sums->squares += p.of_empty.squares;
    sums->penalty += p.of_empty.penalty;
    return;
  }
  double penalty = 0.0;
  for (unsigned i = threadIdx.x; i < columns; i += fit_threads) {
    const bool bias = i == p.components;
    const double off = d->x[i] - (bias ? 0.0 : p.prior);
    penalty += (bias ? p.told_bias : d->weight) * off * off;
  }
  penalty = sum_of_block(penalty);
  sums->count += d->count;
  sums->squares += squares_of(p, *d, rank);
  sums->penalty += penalty;
  sums->unsure += rank >= 0 || !finite ? 1 : 0;
}

/* Finish a row whose own equations are complete in the workspace: add its history and solve it.
 * With `absorbs`, the sum becomes the row's history, and the row is not solved. A row without
 * entries keeps its history. */
template <typename T, typename I>
__device__ void make_row(const fit_problem<T, I> &p, row_workspace *d, uint64_t row,
                         amped_row_fit_sums *sums) {
  if (p.history == nullptr) {
    solve_row(p, d, row, sums);
    return;
  }
  if (!(d->count > 0.0))
    return;
  add_history(p, row, d);
  if (!p.absorbs) {
    solve_row(p, d, row, sums);
    return;
  }
  store_equations(p, *d, history_of(p, row));
  sums->count += d->count;
}

__device__ inline void add_sums(amped_row_fit_sums *to, const amped_row_fit_sums &from) {
  to->count += from.count;
  to->squares += from.squares;
  to->penalty += from.penalty;
  to->unsure += from.unsure;
}

/* --- kernels --------------------------------------------------------------------------------- */

template <typename T, typename I>
__global__ void __launch_bounds__(fit_threads)
    fit_pieces(const __grid_constant__ fit_problem<T, I> p, bool is_shared) {
  extern __shared__ double shared[];
  row_workspace d = workspace_of(p, shared + chunk * (p.components + 2), is_shared);
  amped_row_fit_sums sums = {0.0, 0.0, 0.0, 0};
  const uint64_t step = p.only_failed ? (uint64_t)gridDim.x * fit_threads : gridDim.x;
  for (uint64_t at =
           p.first_piece + (p.only_failed ? (uint64_t)blockIdx.x * fit_threads : blockIdx.x);
       at < p.end_piece; at += step) {
    uint64_t piece = at;
    uint64_t end = at + 1;
    if (p.only_failed) { /* fit_threads pieces at a time, because few fail */
      const uint64_t mine = at + threadIdx.x;
      end = at + fit_threads < p.end_piece ? at + fit_threads : p.end_piece;
      if (!__syncthreads_or(mine < end && p.failed[mine] != 0))
        continue;
    }
    for (; piece < end; piece++) {
      if (p.only_failed && p.failed[piece] == 0)
        continue;
      const amped_row_piece_cuda e = p.pieces[piece];
      assemble(p, e, shared, &d);
      if (e.slot == AMPED_NO_SLOT)
        make_row(p, &d, e.row, &sums);
      else
        store_equations(p, d, p.slots + (uint64_t)e.slot * p.slot_length);
      __syncthreads();
    }
  }
  if (threadIdx.x == 0)
    add_sums(&p.sums[blockIdx.x], sums);
}

template <typename T, typename I>
__global__ void __launch_bounds__(fit_threads)
    finish_rows(const __grid_constant__ fit_problem<T, I> p, bool is_shared) {
  extern __shared__ double shared[];
  row_workspace d = workspace_of(p, shared, is_shared);
  amped_row_fit_sums sums = {0.0, 0.0, 0.0, 0};
  for (uint64_t i = p.first_row + blockIdx.x; i < p.end_row; i += gridDim.x) {
    const amped_long_row_cuda row = p.long_rows[i];
    load_equations(p, p.slots + (uint64_t)row.first * p.slot_length, &d);
    make_row(p, &d, row.row, &sums);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    add_sums(&p.sums[blockIdx.x], sums);
}

template <typename T, typename I>
__global__ void __launch_bounds__(fit_threads)
    solve_equations(const __grid_constant__ fit_problem<T, I> p, bool is_shared) {
  extern __shared__ double shared[];
  row_workspace d = workspace_of(p, shared, is_shared);
  amped_row_fit_sums sums = {0.0, 0.0, 0.0, 0};
  for (uint64_t i = p.first_row + blockIdx.x; i < p.end_row; i += gridDim.x) {
    load_equations(p, p.equations + (i - p.first_row) * p.slot_length, &d);
    make_row(p, &d, i, &sums);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    add_sums(&p.sums[blockIdx.x], sums);
}

/* Sum a long row's slots into its equations or, if `equations` is NULL, into its first slot. One
 * thread per number, a few slots at a time: few rows have most of the slots. */
__global__ void __launch_bounds__(fit_threads)
    sum_slots(const amped_long_row_cuda *rows, double *slots, unsigned length, double *equations) {
  constexpr unsigned few = 8;
  const amped_long_row_cuda row = rows[blockIdx.x];
  const unsigned i = blockIdx.y * fit_threads + threadIdx.x;
  if (i >= length)
    return;
  double *const first = slots + (uint64_t)row.first * length + i;
  double sum = 0.0;
  unsigned s = 0;
  for (; s + few <= row.count; s += few) {
    double v[few];
#pragma unroll
    for (unsigned q = 0; q < few; q++)
      v[q] = first[(uint64_t)(s + q) * length];
#pragma unroll
    for (unsigned q = 0; q < few; q++)
      sum += v[q];
  }
  for (; s < row.count; s++)
    sum += first[(uint64_t)s * length];
  *(equations != nullptr ? equations + (uint64_t)blockIdx.x * length + i : first) = sum;
}

template <typename T>
__global__ void __launch_bounds__(fit_threads)
    fill_empty_rows(T *own, uint64_t ld, unsigned columns, const double *empty,
                    const uint32_t *empty_rows, uint64_t rows) {
  const uint64_t step = (uint64_t)gridDim.x * (fit_threads / 32);
  for (uint64_t word = (uint64_t)blockIdx.x * (fit_threads / 32) + threadIdx.x / 32;
       word * 32 < rows; word += step)
    for (uint32_t bits = empty_rows[word]; bits != 0; bits &= bits - 1) {
      const uint64_t row = word * 32 + (uint64_t)(__ffs((int)bits) - 1);
      for (unsigned c = threadIdx.x % 32; c < columns; c += 32)
        own[row * ld + c] = (T)empty[c];
    }
}

__global__ void __launch_bounds__(1024)
    add_all(const amped_row_fit_sums *sums, uint64_t count, amped_row_fit_sums *out) {
  __shared__ amped_row_fit_sums parts[1024];
  amped_row_fit_sums own = {0.0, 0.0, 0.0, 0};
  for (uint64_t i = threadIdx.x; i < count; i += 1024)
    add_sums(&own, sums[i]);
  parts[threadIdx.x] = own;
  for (unsigned half = 512; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      add_sums(&parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  if (threadIdx.x == 0)
    *out = parts[0];
}

/* --- launches -------------------------------------------------------------------------------- */

/* Launch a kernel of this file. with_products: products precede the workspace in shared memory. */
template <typename T, typename I, typename K>
amped_status launch(const amped_row_kernel_cuda_args *a, K kernel, uint64_t items,
                    bool with_products, const char *name) {
  fit_problem<T, I> p = {};
  describe_fit(&p, a);
  const uint64_t products = with_products ? product_bytes(p.components) : 0;
  const uint64_t workspace = workspace_doubles(p.components) * sizeof(double);
  const bool is_shared = products + workspace <= most_shared;
  const uint64_t bytes = products + (is_shared ? workspace : 0);
  const uint64_t most = is_shared ? AMPED_FIT_BLOCKS : amped_row_scratch_cuda_blocks(a->components);
  const uint64_t blocks = items < most ? items : most;
  if (items == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  kernel<<<(unsigned)blocks, fit_threads, (size_t)bytes, a->stream>>>(p, is_shared);
  AMPED_CUDA_LAUNCHED(name);
  return AMPED_OK;
}

template <typename T, typename I> amped_status pieces_of(const amped_row_kernel_cuda_args *a) {
  const uint64_t pieces = a->end_piece - a->first_piece;
  return launch<T, I>(a, fit_pieces<T, I>,
                      a->only_failed ? amped_ceil_div(pieces, (uint64_t)fit_threads) : pieces, true,
                      "the row-fit kernel of thread blocks");
}

template <typename T, typename I> amped_status finish_of(const amped_row_kernel_cuda_args *a) {
  return launch<T, I>(a, finish_rows<T, I>, a->end_row - a->first_row, false,
                      "the kernel of long rows");
}

template <typename T, typename I> amped_status solve_of(const amped_row_kernel_cuda_args *a) {
  return launch<T, I>(a, solve_equations<T, I>, a->end_row - a->first_row, false,
                      "the kernel of shared rows");
}

} // namespace

uint64_t amped_row_scratch_cuda_bytes(int components) {
  const uint64_t n = (uint64_t)components;
  const uint64_t workspace = workspace_doubles(n) * sizeof(double);
  return product_bytes(n) + workspace <= most_shared ? 0 : amped_ceil_div(workspace, 256) * 256;
}

uint64_t amped_row_scratch_cuda_blocks(int components) {
  const uint64_t bytes = amped_row_scratch_cuda_bytes(components);
  const uint64_t blocks = bytes > 0 ? most_scratch / bytes : AMPED_FIT_BLOCKS;
  return blocks < AMPED_FIT_BLOCKS ? blocks : AMPED_FIT_BLOCKS;
}

#define FOR_TYPES(function, a)                                                                     \
  ((a)->value_type == AMPED_F32 ? ((a)->index_type == AMPED_U32 ? function<float, index32>(a)      \
                                                                : function<float, index64>(a))     \
                                : ((a)->index_type == AMPED_U32 ? function<double, index32>(a)     \
                                                                : function<double, index64>(a)))

amped_status amped_row_blocks_cuda(const amped_row_kernel_cuda_args *a) {
  return FOR_TYPES(pieces_of, a);
}

amped_status amped_row_blocks_solve(const amped_row_kernel_cuda_args *a) {
  return FOR_TYPES(solve_of, a);
}

static amped_status sum_long_rows(const amped_row_kernel_cuda_args *a, double *equations) {
  const uint64_t rows = a->end_row - a->first_row;
  const unsigned length = (unsigned)amped_equation_length(a->components, a->fit->biased);
  if (rows == 0)
    return AMPED_OK;
  const dim3 grid((unsigned)rows, (length + fit_threads - 1) / fit_threads);
  sum_slots<<<grid, fit_threads, 0, a->stream>>>(a->long_rows + a->first_row, a->slots, length,
                                                 equations);
  AMPED_CUDA_LAUNCHED("the sums of long rows");
  return AMPED_OK;
}

amped_status amped_row_blocks_sum(const amped_row_kernel_cuda_args *a) {
  return sum_long_rows(a, a->equations);
}

amped_status amped_row_blocks_finish(const amped_row_kernel_cuda_args *a) {
  AMPED_TRY(sum_long_rows(a, nullptr));
  return FOR_TYPES(finish_of, a);
}

amped_status amped_empty_rows_cuda(const amped_row_kernel_cuda_args *a, const uint32_t *empty_rows,
                                   uint64_t rows) {
  const uint64_t words = amped_ceil_div(rows, UINT64_C(32));
  const uint64_t wanted = amped_ceil_div(words, (uint64_t)(fit_threads / 32));
  const unsigned blocks = (unsigned)(wanted < 4096 ? wanted : 4096);
  const unsigned columns = (unsigned)a->components + (a->fit->biased ? 1 : 0);
  if (blocks == 0)
    return AMPED_OK;
  if (a->value_type == AMPED_F32)
    fill_empty_rows<<<blocks, fit_threads, 0, a->stream>>>((float *)a->own, a->ld, columns,
                                                           a->empty, empty_rows, rows);
  else
    fill_empty_rows<<<blocks, fit_threads, 0, a->stream>>>((double *)a->own, a->ld, columns,
                                                           a->empty, empty_rows, rows);
  AMPED_CUDA_LAUNCHED("the kernel of empty rows");
  return AMPED_OK;
}

amped_status amped_row_sums_cuda(const amped_row_fit_sums *sums, uint64_t count,
                                 amped_row_fit_sums *out, cudaStream_t stream) {
  add_all<<<1, 1024, 0, stream>>>(sums, count, out);
  AMPED_CUDA_LAUNCHED("the sums of row fits");
  return AMPED_OK;
}
