/* MTTKRP of a bundle of a box copy: decoded nonzeros, each added to its own sum. These are the
 * inner loops of box_mttkrp_cpu, with one instance for each type of values and sums, row length,
 * number of inputs and processor. */
#ifndef AMPED_BOX_BUNDLE_H
#define AMPED_BOX_BUNDLE_H

#include "cpu/mttkrp_bundle.h"

/* bundle.rows are those of the inputs, by their modes. */
typedef struct amped_box_bundle {
  amped_bundle bundle;
  uint64_t fields[AMPED_BUNDLE]; /* of the output mode */
  uintptr_t sums[AMPED_BUNDLE];  /* where the sums of each nonzero begin */
  uint64_t hot; /* bit j: nonzero j's sums are in double, not in the values' type */
} amped_box_bundle;

/* What all bundles of a walk share. */
typedef struct amped_box_shape {
  int inputs;
  int modes[AMPED_MAX_ORDER]; /* [inputs] of the inputs */
  uint64_t ld;
  bool fetches;                /* some rows are prefetched: */
  bool fetch[AMPED_MAX_ORDER]; /* [inputs] of these inputs, */
  bool fetch_sums;             /* and the sums */
} amped_box_shape;

/* Add up the nonzeros of b whose bits are set in `which`. `ahead` is the bundle after it, whose
 * rows are prefetched; b itself where there is none. */
typedef void amped_box_kernel(const amped_box_shape *shape, const amped_box_bundle *b,
                              const amped_box_bundle *ahead, uint64_t which);

/* The best instance for this processor: sum_type is value_type or AMPED_F64. runs: neighbours with
 * one sum are added up before it is. */
amped_box_kernel *amped_box_kernel_find(amped_vtype value_type, amped_vtype sum_type, uint64_t ld,
                                        int inputs, bool runs);

#endif
