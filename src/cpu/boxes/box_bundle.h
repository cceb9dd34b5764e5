/* MTTKRP of a bundle of a box copy: decoded nonzeros, each added to its own sum. These are the
 * inner loops of box_mttkrp_cpu, with one instance per type of values and sums, row length, number
 * of inputs and processor. */
#ifndef AMPED_BOX_BUNDLE_H
#define AMPED_BOX_BUNDLE_H

#include "cpu/sorted/mttkrp_bundle.h"

/* A decoded bundle. bundle.rows are the inputs' rows, indexed by mode. */
typedef struct amped_box_bundle {
  amped_bundle bundle;
  uint64_t fields[AMPED_BUNDLE]; /* output mode's fields */
  uintptr_t sums[AMPED_BUNDLE];  /* address of each nonzero's sums */
  uint64_t frequent; /* bit j: nonzero j's sums are in double, not in the values' type */
} amped_box_bundle;

/* Shape shared by all bundles of a traversal. */
typedef struct amped_box_shape {
  int inputs;
  int modes[AMPED_MAX_ORDER]; /* [inputs] the inputs' modes */
  uint64_t ld;
  bool fetches;                /* true if any rows are prefetched: */
  bool fetch[AMPED_MAX_ORDER]; /* [inputs] rows of this input */
  bool fetch_sums;             /* rows of sums */
} amped_box_shape;

/* Add up the nonzeros of b whose bits are set in `which`, and prefetch rows of `ahead`. ahead: the
 * bundle after b, or b itself if there is none. */
typedef void amped_box_kernel(const amped_box_shape *shape, const amped_box_bundle *b,
                              const amped_box_bundle *ahead, uint64_t which);

/* Find the best instance for this processor. sum_type is value_type or AMPED_F64. runs: neighbours
 * with the same sum are first added up in registers. */
amped_box_kernel *amped_box_kernel_find(amped_vtype value_type, amped_vtype sum_type, uint64_t ld,
                                        int inputs, bool runs);

#endif
