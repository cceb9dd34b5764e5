/* Row fit: rows of a factor that fit a rank's observed nonzeros alone, as tensor completion has
 * them (docs/completion.md). An optional part of a tensor format, with its own table of operations.
 *
 * A nonzero x counts as y = (x - mean) / scale. A row has R components; with `biased` the plan has
 * ncomps = R + 1, and the last column of a row is its bias, else R = ncomps. The model at a nonzero
 * is the sum of its rows' biases and, over components, of the products of its rows' entries.
 *
 * For row i of a mode, p is the product of a nonzero's input rows, component by component, t is y
 * without the biases of the inputs, and w is its weight: 1, unless weigh gave it another. Its
 * equations are H = sum of w p p^T, h = sum of w p, n = sum of w, g = sum of w t p, tau = sum of
 * w t, and tt = sum of w t^2. The new row a, b solves
 *
 *     [ H + L I   h        ] [ a ]   [ g + L c 1 ]        L = reg * pull[mode] * n^reg_power
 *     [ h^T       n + reg_bias ] [ b ] = [ tau       ]        c = prior[mode]
 *
 * without bias: (H + L I) a = g + L c 1. A row of n = 0 becomes a = c 1, b = 0. With L = 0
 * and too few nonzeros it is the solution of least norm.
 *
 * Implicit: a nonzero of value v >= 0 is an observed 1 of weight 1 + A v, and every other cell is
 * an observed 0 of weight 1. Then H = sum of A v p p^T, g = sum of (1 + A v) p, tt = sum of
 * (1 + A v), n = the number of nonzeros; `base` is the sum of p p^T over all cells, and the new row
 * solves (base + H + L I) a = g + L c 1. Equations have H without base: the owner of a row adds it.
 * A row without nonzeros has L = reg * pull[mode] * 0^reg_power, where 0^0 = 1: it is 0 if L c = 0.
 *
 * Nonnegative: the least of the same objective over a >= 0 (b is free), by coordinate descent from
 * the old row until the conditions of optimality have a residual of 1e-4, or for 20 passes. The
 * residual is the largest of |d_i| / sqrt(M_ii) over that of the right side, where d = M x - right;
 * d_i >= 0 is none where a_i = 0. A row whose sums overflow becomes its prior. Sums are in double
 * or as good.
 *
 * History: the equations that earlier nonzeros have left (docs/streaming.md). A row solves
 * keep * these + its own, n included. A row without nonzeros of weight stays as it is.
 *
 * Nonzeros that are held out take part in no sum. A nonzero is held out where the hash of its file
 * indices is below a bound: the same on any number of ranks, in every copy.
 *
 * The copies are without tiles (amped_copy_needs.whole_rows). Sources: Smith, Park, Karypis,
 * "HPC formulations of optimization algorithms for tensor completion", Parallel Computing 2018;
 * Zhou et al., "Large-scale parallel collaborative filtering for the Netflix prize", 2008 (n in the
 * penalty). Not collective. */
#ifndef AMPED_ROW_FIT_H
#define AMPED_ROW_FIT_H

#include "plan/plan.h"
#include "tensor/sptensor.h"

/* The history of mode's own rows. Row i of the block: equations' row at[i] times keep[i], which is
 * 0 where it has none (then they are not read). Rows without nonzeros are not looked at. No two
 * rows have one row of equations. All three are in the backend's memory. The memory of equations
 * begins at a multiple of 16 bytes and has a multiple of 16 bytes, as kernels read 16 at a time. */
typedef struct amped_row_history {
  void *equations; /* rows of amped_equation_length numbers of the plan's value type */
  const uint64_t *at;
  const double *keep;
} amped_row_history;

typedef struct amped_row_fit {
  bool biased;
  bool nonnegative;
  double mean, scale;           /* of y; scale > 0 */
  double reg;                   /* at least 0 */
  double reg_power;             /* 0 to 1 */
  double reg_bias;              /* at least 0 */
  double pull[AMPED_MAX_ORDER]; /* per mode, more than 0 */
  double prior[AMPED_MAX_ORDER];
  /* A; 0: observed nonzeros alone. Never with biases or weights; mean 0, scale 1. */
  double implicit;
  /* Of implicit: [R][R] of the mode in hand, in host memory; the caller's until solve_shared. */
  const double *base;
  bool timed; /* tell solve_sec, at some cost in time; new rows stay the same to the bit */
  /* Of the mode in hand; the caller's until solve_shared. Never with implicit. NULL: none. */
  const amped_row_history *history;
  /* Rows stay as they are. Their history, which is not NULL, becomes what they would have solved.
   * Sums are not told, but count. */
  bool absorb;
} amped_row_fit;

/* Sums over the rows that were solved; implicit: over rows without nonzeros, too. */
typedef struct amped_row_fit_sums {
  double count;     /* sum of the rows' n */
  double squares;   /* of y - model, times w, with the new rows; implicit: over all cells */
  double penalty;   /* of the new rows: sum of L |a - c 1|^2 + reg_bias b^2 */
  uint64_t unsure;  /* rows without a unique solution, where the one of least norm was taken; and
                       those whose sums overflow */
  double solve_sec; /* with `timed`: of compute_sec, what solving took rather than assembling; 0
                       where the two are not told apart */
} amped_row_fit_sums;

/* Sums over nonzeros x that are not held out: how many have w > 0; w; w x; w x^2. And the least x
 * and w of all nonzeros. */
typedef struct amped_moments {
  uint64_t count;
  double weight, sum, squares;
  double least, least_weight;
} amped_moments;

/* Sums over nonzeros of the model's errors, in the values' own units, without weights. */
typedef struct amped_errors {
  uint64_t count;
  double squares, absolute;
  double clipped; /* squares where the model is clipped to least .. most */
} amped_errors;

/* Is the nonzero with these file indices held out? below: the share times 2^64. */
AMPED_BOTH static inline bool amped_held_out(int order, const uint64_t *index, uint64_t seed,
                                             uint64_t below) {
  uint64_t hash = amped_mix64(seed);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash < below;
}

/* Doubles of a row's equations: the lower triangle of H, row by row; h and n where biased (n stays
 * without); g; tau where biased; tt. Order: H, h, n, g, tau, tt; without bias H, n, g,
 * tt. */
static inline uint64_t amped_equation_length(int components, bool biased) {
  const uint64_t n = (uint64_t)components;
  return n * (n + 1) / 2 + 1 + n + 1 + (biased ? n + 1 : 0);
}

struct amped_device;
struct amped_tensor_part;
struct amped_mttkrp_times;

typedef struct amped_row_fit_ops {
  /* Bytes that the part takes for row fits with and without bias, beside those of its require.
   * weighted: and for a weight of the plan's value type for each nonzero of each copy. */
  void (*require)(const struct amped_device *device, const amped_plan *plan, bool weighted,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Allocate them; after finish of all copies. They are freed with the part. Weighted: every
   * nonzero has the weight -1, which weigh replaces before anything else is asked for. */
  amped_status (*prepare)(struct amped_tensor_part *part, bool weighted);

  /* The nonzeros at these coordinates get these weights: count file indices of each mode, below its
   * dims. A coordinate comes once in a call; those that this rank lacks are passed over. Nonzeros
   * of one coordinate all get the weight. (A copy's nonzeros lie by row of the MTTKRP result, then
   * by the file's indices in modes 0, 1, ... without the copy's.) *placed += nonzeros of mode 0's
   * copy that got one. */
  amped_status (*weigh)(struct amped_tensor_part *part, uint64_t count,
                        const uint64_t *const *indices, const double *weights, uint64_t *placed);

  /* From now on these nonzeros are held out; below = 0: none. *held = their number in this rank's
   * copy of mode 0. */
  amped_status (*hold_out)(struct amped_tensor_part *part, uint64_t seed, uint64_t below,
                           uint64_t *held);
  /* Of this rank's nonzeros of mode 0's copy: *out += their sums; its least ones become smaller. */
  amped_status (*moments)(struct amped_tensor_part *part, amped_moments *out);
  /* This rank's nonzeros first .. first + count of mode 0's copy, to host memory: the position of
   * each one's row in every mode's factor, whether it is held out and, unless NULL, its weight. */
  amped_status (*view)(struct amped_tensor_part *part, uint64_t first, uint64_t count,
                       uint64_t *const *positions, bool *held, double *weights);

  /* New rows of mode: own rows of iDps that are not split. When wait returns, the rows of
   * block_part (plan.h) and of all earlier parts are new; with the last part all are, *times is set
   * and *sums is added to. Calls come as those of mttkrp_begin and mttkrp_wait (backend.h). *fit
   * is copied. */
  amped_status (*begin)(struct amped_tensor_part *part, int mode, const amped_row_fit *fit);
  amped_status (*wait)(struct amped_tensor_part *part, int mode, int block_part,
                       struct amped_mttkrp_times *times, amped_row_fit_sums *sums);
  /* Split iDps, after the last wait: get equations of this rank's shared rows, `row` as in MTTKRP's
   * result (plan.h); put the summed equations of own rows of split iDps; then solve these rows. For
   * row_reduce.h: rows of amped_equation_length doubles, of the fit in hand. */
  amped_status (*get_equations)(struct amped_tensor_part *part, int mode, uint64_t row,
                                uint64_t count, double *equations);
  amped_status (*put_equations)(struct amped_tensor_part *part, int mode, uint64_t row,
                                uint64_t count, const double *equations);
  amped_status (*solve_shared)(struct amped_tensor_part *part, int mode, amped_row_fit_sums *sums);

  /* *out += errors at this rank's nonzeros of mode's copy: those held out, or the others. */
  amped_status (*errors)(struct amped_tensor_part *part, int mode, bool held,
                         const amped_row_fit *fit, double least, double most, amped_errors *out);
} amped_row_fit_ops;

#endif
