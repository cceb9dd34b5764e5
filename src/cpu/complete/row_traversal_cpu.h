/* Row traversal: the inner loops of row steps (backend/row_steps.h) on CPU cores. A walker is a row
 * that steps through the nonzeros of a piece. Each step depends on the step before; therefore
 * several walkers advance side by side, so that the processor works on one while another waits.
 *
 * Rows are stored without the prior: each element minus c (backend/row_steps.h). Elements have the
 * factors' type. */
#ifndef AMPED_ROW_TRAVERSAL_CPU_H
#define AMPED_ROW_TRAVERSAL_CPU_H

#include "base/types.h"

/* Number of walkers that advance side by side. */
#define AMPED_WALKERS 4

/* Most steps that are prepared at a time. */
#define AMPED_STEPS 32

/* Coefficients of a step in addition to p: AMPED_STEP_NUMBERS arrays of AMPED_STEPS numbers. The
 * row becomes keep * row + s p. In the tail it is also added to the tail's sum. */
enum {
  AMPED_STEP_TARGET, /* t - c sum(p) */
  AMPED_STEP_KEEP,   /* k */
  AMPED_STEP_GAIN,   /* k s divided by the error: e k / (1 + e k |p|^2 + e l) */
  AMPED_STEP_KEEP_BIAS,
  AMPED_STEP_GAIN_BIAS,
  AMPED_STEP_TAIL, /* 1 or 0 */
  AMPED_STEP_NUMBERS
};

typedef struct amped_walker {
  void *row, *sum;      /* [width]; sum: over the rows in the tail */
  void *bias;           /* [2] the row's bias, and its sum over the tail */
  const void *products; /* from its next nonzero on, width elements per nonzero */
  const void *numbers;  /* from its next nonzero on, in the first array */
} amped_walker;

/* Advance each walker by `count` steps; count_walkers is AMPED_WALKERS or 1. clip: entries below
 * `least` become `least`. Moves products and numbers on. */
typedef void amped_row_traversal(amped_walker *walkers, int count_walkers, uint64_t count,
                                 uint64_t width, bool clip, double least);

/* Constants shared by all steps of a piece. */
typedef struct amped_step_rule {
  double step, prior;
  double per_row, per_bias; /* L / n, reg_bias / n */
  bool biased;
} amped_step_rule;

/* Coefficients of `count` steps, at most AMPED_STEPS; steps from `tail` on are in the tail. *seen:
 * nonzeros of the piece before these; *curvatures: sum of their |p|^2. Both are updated. */
typedef void amped_row_numbers(const amped_step_rule *rule, const void *products,
                               const void *targets, uint64_t count, uint64_t width, uint64_t tail,
                               uint64_t *seen, double *curvatures, void *numbers);

/* Sum of (t - p row - bias)^2 over `count` rows p of products and their targets t. */
typedef double amped_row_errors(const void *products, const void *targets, uint64_t count,
                                uint64_t width, const void *row, double bias);

typedef struct amped_row_traversal_kernels {
  amped_row_traversal *traversal;
  amped_row_numbers *numbers;
  amped_row_errors *errors;
} amped_row_traversal_kernels;

/* Find the best instances for this processor. */
amped_row_traversal_kernels amped_row_traversal_kernels_find(amped_vtype type);

#endif
