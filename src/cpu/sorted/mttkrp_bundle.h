/* MTTKRP of a bundle: a few decoded nonzeros of a copy are added up row by row. These are the inner
 * loops of mttkrp_cpu, with one instance per value type, row length, number of inputs and
 * processor.
 *
 * A row that begins and ends in one bundle is summed in registers and stored. Other rows are
 * carried from bundle to bundle in `sum`, in double: floats are summed over at most one bundle. */
#ifndef AMPED_MTTKRP_BUNDLE_H
#define AMPED_MTTKRP_BUNDLE_H

#include "base/types.h"

/* Nonzeros of a bundle; one bit per nonzero fits in a word. */
#define AMPED_BUNDLE 64

/* Decoded nonzeros. */
typedef struct amped_bundle {
  int count;
  uint64_t begins; /* bit j: nonzero j begins a row */
  uint64_t fibres; /* bit j: nonzero j begins a row or a fibre: its first input position changes */
  bool closes;     /* the last nonzero ends its row, or the strip */
  const void *values;                            /* nonzero j's value is values[codes[j]] */
  const uint64_t *codes;                         /* [count] */
  uintptr_t rows[AMPED_MAX_ORDER][AMPED_BUNDLE]; /* per input: addresses of the rows */
  uint64_t coded[AMPED_BUNDLE];                  /* memory for codes */
  double computed[AMPED_BUNDLE];                 /* memory for values of either type */
} amped_bundle;

/* The strip that a thread works on. Pointers are borrowed. */
typedef struct amped_strip {
  int inputs;
  uint64_t ld;
  int fetches; /* number of inputs whose rows are prefetched: large factors */
  bool fetch[AMPED_MAX_ORDER - 1];
  void *out;
  bool adds; /* add to the rows of out, instead of storing them */
  const void *row_list;
  amped_itype index_type;
  uint64_t entry; /* index of the current row in row_list */
  bool open;      /* the current row has a part in `sum` */
  double *sum;    /* [ld] */
  double *fixup;  /* if an earlier strip began the current row: memory for its sum; else NULL */
} amped_strip;

/* Add up `b`, the strip's next bundle, and prefetch the rows of `ahead`. ahead: the bundle after b,
 * or b itself at the end of the strip. */
typedef void amped_bundle_kernel(amped_strip *strip, const amped_bundle *b,
                                 const amped_bundle *ahead);

/* Find the best instance for this processor. reuse: multiply by the first input's row once per
 * fibre, which pays if fibres are long. */
amped_bundle_kernel *amped_bundle_kernel_find(amped_vtype value_type, uint64_t ld, int inputs,
                                              bool reuse);

#endif
