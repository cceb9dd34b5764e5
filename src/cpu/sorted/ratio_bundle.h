/* Ratios of a bundle (backend/ratio.h): its values x become x / m, and the kernels of MTTKRP add
 * the bundle up as ever. One instance per value type, row length, number of inputs and processor.
 */
#ifndef AMPED_RATIO_BUNDLE_H
#define AMPED_RATIO_BUNDLE_H

#include "backend/ratio.h"
#include "cpu/sorted/bundle_decode.h"

/* Arguments of a traversal that are the same for all of its strips. */
typedef struct amped_ratio_cpu {
  const amped_plan *plan;
  int mode;
  const void *rows;    /* mode's whole factor */
  uint64_t own_first;  /* position of the rank's first own row */
  uint64_t own_rows;   /* own rows of the output, padding included */
  const void *weights; /* [ld] of the plan's value type; padding 0 */
  double least;
  amped_ratio_sums *sums; /* [strips], NULL: not asked for */
} amped_ratio_cpu;

/* A strip's state: the current row, times the weights. */
typedef struct amped_ratio_strip {
  const amped_ratio_cpu *ratio;
  amped_ratio_sums sums;
  bool has_row;
  uint64_t entry; /* the entry whose row is in `row` */
  double row[AMPED_MAX_NCOMPS];
  double ratios[AMPED_BUNDLE]; /* memory for the new values, of either type */
} amped_ratio_strip;

/* Change the values of *b, the strip's next bundle, to ratios. strip: before the bundle is added
 * up. Prefetches rows of `ahead`, the bundle after b, or b itself at the end of the strip. */
typedef void amped_ratio_kernel(amped_ratio_strip *s, const amped_strip *strip, amped_bundle *b,
                                const amped_bundle *ahead);

/* Find the best instance for this processor. */
amped_ratio_kernel *amped_ratio_kernel_find(amped_vtype value_type, uint64_t ld, int inputs);

/* *sums += the sums of `count` strips, in their order. */
void amped_ratio_cpu_add(const amped_ratio_sums *strips, uint64_t count, amped_ratio_sums *sums);

#endif
