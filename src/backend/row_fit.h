/* Row fit: factor rows that fit a rank's observed nonzeros only, for tensor completion
 * (docs/completion.md). An optional part of a tensor format, with its own table of operations.
 *
 * A nonzero x counts as y = (x - mean) / scale. A row has R components. With `biased` the plan has
 * ncomps = R + 1, and the last column of a row is its bias; else R = ncomps. The model at a nonzero
 * is the sum of its rows' biases, plus the sum over components of the products of its rows'
 * entries.
 *
 * For row i of a mode, p is the product of a nonzero's input rows, component by component, t is y
 * without the biases of the inputs, and w is its weight: 1, unless weigh set another. The row's
 * normal equations are these sums over its nonzeros:
 *
 *     H = sum of w p p^T, h = sum of w p, n = sum of w, g = sum of w t p, tau = sum of w t,
 *     tt = sum of w t^2
 *
 * The new row a, b solves
 *
 *     [ H + L I   h        ] [ a ]   [ g + L c 1 ]        L = reg * pull[mode] * n^reg_power
 *     [ h^T       n + reg_bias ] [ b ] = [ tau       ]        c = prior[mode]
 *
 * Without bias: (H + L I) a = g + L c 1. A row with n = 0 becomes a = c 1, b = 0. With L = 0 and
 * too few nonzeros, the row is the solution of least norm.
 *
 * Implicit: a nonzero of value v >= 0 is an observed 1 of weight 1 + A v, and every other cell is
 * an observed 0 of weight 1. Then H = sum of A v p p^T, g = sum of (1 + A v) p, tt = sum of (1 + A
 * v), n = the number of nonzeros. `base` is the sum of p p^T over all cells, and the new row solves
 * (base + H + L I) a = g + L c 1. H does not include base: the owner of a row adds it. A row
 * without nonzeros has L = reg * pull[mode] * 0^reg_power, with 0^0 = 1. It becomes 0 if L c = 0.
 *
 * Overstep: a row with a unique solution x becomes x + overstep (x - old), where old is the row
 * before. This is over-relaxation by 1 + overstep.
 *
 * Nonnegative: the minimum of the same objective over a >= 0 (b is free), by coordinate descent
 * from the old row. It ends after 20 passes, or after the first pass that leaves a residual of 1e-4
 * in the optimality conditions. Each call makes a pass, so that sweeps reach the minimum. The
 * residual is the maximum of |d_i| / sqrt(M_ii), with d = M x - right, relative to the same maximum
 * of the right side. If a_i = 0, d_i >= 0 does not count. A row whose sums overflow becomes its
 * prior. Sums are in double, or as accurate.
 *
 * History: the equations that earlier nonzeros left (docs/streaming.md). A row solves keep *
 * history + its own equations, n included. A row without nonzeros of positive weight stays as it
 * is.
 *
 * Held-out nonzeros enter no sum. A nonzero is held out if the hash of its file indices is below a
 * bound: the same nonzeros on any number of ranks, in every copy.
 *
 * The copies are without tiles (amped_copy_needs.whole_rows). Sources: Smith, Park, Karypis, "HPC
 * formulations of optimization algorithms for tensor completion", Parallel Computing 2018; Zhou et
 * al., "Large-scale parallel collaborative filtering for the Netflix prize", 2008 (n in the
 * penalty). Not collective. */
#ifndef AMPED_ROW_FIT_H
#define AMPED_ROW_FIT_H

#include "plan/plan.h"
#include "tensor/sptensor.h"

/* History of mode's own rows, in the backend's memory. The history of row i of the block is keep[i]
 * times row at[i] of `equations`. keep[i] = 0: no history; the equations are not read. If a row has
 * no nonzeros, they are not read either. No two rows share a row of equations. Address and size of
 * `equations` are multiples of 16 bytes, because kernels read 16 bytes at a time. */
typedef struct amped_row_history {
  void *equations; /* rows of amped_equation_length numbers of the plan's value type */
  const uint64_t *at;
  const double *keep;
} amped_row_history;

/* Below this penalty `reg`, sums of floats are too inexact, because only small pivots show whether
 * a row is unique: sums are in double. */
#define AMPED_ROW_FIT_LEAST_REG 1e-6

typedef struct amped_row_fit {
  bool biased;
  bool nonnegative;
  double mean, scale;           /* y = (x - mean) / scale; scale > 0 */
  double reg;                   /* at least 0 */
  double reg_power;             /* 0 to 1 */
  double reg_bias;              /* at least 0 */
  double overstep;              /* 0 to 1, without 1; above 0 only in block fits of one column,
                                   never with nonnegative */
  double pull[AMPED_MAX_ORDER]; /* multiplier of reg for each mode, above 0 */
  double prior[AMPED_MAX_ORDER];
  /* A of implicit fits; 0: observed nonzeros only. Never with biases or weights; mean 0, scale
   * 1. */
  double implicit;
  /* For implicit fits: base [R][R] of the current mode, in host memory; the caller's until
   * solve_shared. */
  const double *base;
  bool timed; /* measure solve_sec, which takes some time; new rows have the same bits */
  /* History of the current mode; the caller's until solve_shared. Never with implicit. NULL:
   * none. */
  const amped_row_history *history;
  /* Store each row's equations as its new history (`history`, not NULL), and do not solve them.
   * Rows stay unchanged. Only sums.count is reported. */
  bool absorb;
} amped_row_fit;

/* Sums over the solved rows; implicit: over rows without nonzeros, too. */
typedef struct amped_row_fit_sums {
  double count;     /* sum of the rows' n */
  double squares;   /* sum of w (y - model)^2, with the new rows; implicit: over all cells */
  double penalty;   /* penalty of the new rows: sum of L |a - c 1|^2 + reg_bias b^2 */
  uint64_t unsure;  /* rows without a unique solution, which got the one of least norm; and rows
                       whose sums overflow */
  double solve_sec; /* with `timed`: share of compute_sec spent on solving, not on assembling; 0 if
                       the two are not separable */
} amped_row_fit_sums;

/* Sums over nonzeros x that are not held out: the number with w > 0; w; w x; w x^2. Also the least
 * x of all nonzeros with w > 0, and the least w of all nonzeros. */
typedef struct amped_moments {
  uint64_t count;
  double weight, sum, squares;
  double least, least_weight;
} amped_moments;

/* Sums of the model's errors over nonzeros, in the values' own units, without weights. */
typedef struct amped_errors {
  uint64_t count;
  double squares, absolute;
  double clipped; /* squares, with the model clipped to least .. most */
} amped_errors;

/* Is the nonzero with these keys held out? Its key in a mode is the key of its index:
 * amped_label_key (tensor/labels.h), the index itself without labels. below: the held-out share
 * times 2^64. */
AMPED_BOTH static inline bool amped_held_out(int order, const uint64_t *keys, uint64_t seed,
                                             uint64_t below) {
  uint64_t hash = amped_mix64(seed);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, keys[m]);
  return hash < below;
}

/* Length of a row's equations in doubles. Order: lower triangle of H, row by row; h; n; g; tau; tt.
 * Without bias: H, n, g, tt. */
static inline uint64_t amped_equation_length(int components, bool biased) {
  const uint64_t n = (uint64_t)components;
  return n * (n + 1) / 2 + 1 + n + 1 + (biased ? n + 1 : 0);
}

struct amped_device;
struct amped_tensor_part;
struct amped_mttkrp_times;

typedef struct amped_row_fit_ops {
  /* Bytes that the part takes for row fits with and without bias, in addition to its require.
   * weighted: also one weight of the plan's value type per nonzero of each copy. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, bool weighted,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Allocate these bytes, after finish of all copies. They are freed with the part. weighted: every
   * nonzero gets the weight -1, which weigh must replace before any other operation. */
  amped_status (*prepare)(struct amped_tensor_part *part, bool weighted);

  /* Set the weights of the nonzeros at these coordinates: `count` file indices of each mode, below
   * its dims. A coordinate comes once per call; coordinates without nonzero on this rank are
   * skipped. All nonzeros of one coordinate get the weight. (A copy's nonzeros are ordered by row
   * of the MTTKRP result, then by the file's indices in modes 0, 1, ... without the copy's mode.)
   * *placed += nonzeros of mode 0's copy that got a weight. */
  amped_status (*weigh)(struct amped_tensor_part *part, uint64_t count,
                        const uint64_t *const *indices, const double *weights, uint64_t *placed);

  /* Hold out nonzeros of positive weight from now on, as amped_held_out selects them; below = 0:
   * none. keys[m]: the key of each index of mode m, in host memory; NULL, or keys NULL: the index.
   * *held = their number in this rank's copy of mode 0. */
  amped_status (*hold_out)(struct amped_tensor_part *part, const uint32_t *const *keys,
                           uint64_t seed, uint64_t below, uint64_t *held);
  /* Add the sums over this rank's nonzeros of mode 0's copy to *out, and lower its minima. */
  amped_status (*moments)(struct amped_tensor_part *part, amped_moments *out);
  /* This rank's nonzeros first .. first + count of mode 0's copy, to host memory: the position of
   * each one's row in every mode's factor, whether it is held out and, unless NULL, its weight and
   * its value as it is in memory. */
  amped_status (*view)(struct amped_tensor_part *part, uint64_t first, uint64_t count,
                       uint64_t *const *positions, bool *held, double *weights, double *values);

  /* Fit new rows of mode: own rows of iDps that are not split. When wait returns, the rows of
   * block_part (plan.h) and of all earlier parts are new. With the last part all rows are new,
   * *times is set and *sums is added to. Order of calls: as for mttkrp_begin and mttkrp_wait
   * (backend.h). *fit is copied. */
  amped_status (*begin)(struct amped_tensor_part *part, int mode, const amped_row_fit *fit);
  amped_status (*wait)(struct amped_tensor_part *part, int mode, int block_part,
                       struct amped_mttkrp_times *times, amped_row_fit_sums *sums);
  /* Split iDps, after the last wait: get equations of this rank's shared rows, `row` as in MTTKRP's
   * result (plan.h); put the summed equations of own rows of split iDps; then solve these rows. For
   * row_reduce.h: rows of amped_equation_length doubles, of the current fit. */
  amped_status (*get_equations)(struct amped_tensor_part *part, int mode, uint64_t row,
                                uint64_t count, double *equations);
  amped_status (*put_equations)(struct amped_tensor_part *part, int mode, uint64_t row,
                                uint64_t count, const double *equations);
  amped_status (*solve_shared)(struct amped_tensor_part *part, int mode, amped_row_fit_sums *sums);

  /* *out += errors at this rank's nonzeros of mode's copy: at the held-out ones (held), or at the
   * others. */
  amped_status (*errors)(struct amped_tensor_part *part, int mode, bool held,
                         const amped_row_fit *fit, double least, double most, amped_errors *out);
} amped_row_fit_ops;

#endif
