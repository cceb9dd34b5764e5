/* Row walk: the inner loops of row steps (backend/row_steps.h) on CPU cores. A walker is a row on
 * its way through the nonzeros of a piece. A step waits for the one before it, so walkers go side
 * by side: the processor works on one while another waits.
 *
 * Rows are without the prior: a - c 1. Elements are of the factors' type. */
#ifndef AMPED_ROW_WALK_CPU_H
#define AMPED_ROW_WALK_CPU_H

#include "base/types.h"

/* Walkers that go side by side. */
#define AMPED_WALKERS 4

/* Steps that are written down at a time. */
#define AMPED_STEPS 32

/* What a step needs beside p: so many arrays of AMPED_STEPS. The row becomes keep * row + s p and,
 * where it is in the tail, is added to the tail's sum. */
enum {
  AMPED_STEP_TARGET, /* t - c sum(p) */
  AMPED_STEP_KEEP,   /* k */
  AMPED_STEP_GAIN,   /* k s over the error: e k / (1 + e k |p|^2 + e l) */
  AMPED_STEP_KEEP_BIAS,
  AMPED_STEP_GAIN_BIAS,
  AMPED_STEP_TAIL, /* 1 or 0 */
  AMPED_STEP_NUMBERS
};

typedef struct amped_walker {
  void *row, *sum;      /* [width]; sum is that of the tail's rows */
  void *bias;           /* [2] the row's, and its sum */
  const void *products; /* of its next nonzero: width elements each */
  const void *numbers;  /* likewise, in the first of the arrays */
} amped_walker;

/* The walkers, AMPED_WALKERS or one, go `count` steps each. clip: entries below `least` become it.
 * products and numbers are moved on. */
typedef void amped_row_walk(amped_walker *walkers, int count_walkers, uint64_t count,
                            uint64_t width, bool clip, double least);

/* What the steps of a piece have in common. */
typedef struct amped_step_rule {
  double step, prior;
  double per_row, per_bias; /* L / n, reg_bias / n */
  bool biased;
} amped_step_rule;

/* Numbers of `count` steps, at most AMPED_STEPS, of which those from `tail` on are in the tail.
 * *seen nonzeros of the piece came before them, whose |p|^2 add up to *curvatures: both go on. */
typedef void amped_row_numbers(const amped_step_rule *rule, const void *products,
                               const void *targets, uint64_t count, uint64_t width, uint64_t tail,
                               uint64_t *seen, double *curvatures, void *numbers);

/* Sum of (t - p row - bias)^2 over `count` rows p of products and their targets t. */
typedef double amped_row_errors(const void *products, const void *targets, uint64_t count,
                                uint64_t width, const void *row, double bias);

typedef struct amped_row_walk_kernels {
  amped_row_walk *walk;
  amped_row_numbers *numbers;
  amped_row_errors *errors;
} amped_row_walk_kernels;

/* The best instances for this processor. */
amped_row_walk_kernels amped_row_walk_kernels_find(amped_vtype type);

#endif
