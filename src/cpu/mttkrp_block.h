/* MTTKRP of a block: a few decoded nonzeros of a copy are added up row by row. These are the inner
 * loops of mttkrp_cpu, with one instance for each value type, row length, number of inputs and
 * processor.
 *
 * A row that begins and ends in one block is summed in registers and stored. Other rows are carried
 * in `sum`, in double, from block to block: floats are added up over one block at most. */
#ifndef AMPED_MTTKRP_BLOCK_H
#define AMPED_MTTKRP_BLOCK_H

#include "base/types.h"

/* Nonzeros of a block, and of a word of row bits. */
#define AMPED_BLOCK 32

/* Decoded nonzeros. */
typedef struct amped_block {
  int count;
  uint32_t begins; /* bit j: nonzero j begins a row */
  uint32_t fibres; /* bit j: nonzero j begins a row, or a fibre: its first input position changes */
  bool closes;     /* the last nonzero ends its row, or the strip */
  const void *values;
  uint64_t positions[AMPED_MAX_ORDER - 1][AMPED_BLOCK];
  double coded[AMPED_BLOCK]; /* room for values of either type */
} amped_block;

/* The strip that a thread works on. Pointers are borrowed. */
typedef struct amped_block_strip {
  int inputs;
  const void *factors[AMPED_MAX_ORDER - 1];
  uint64_t ld;
  int fetches; /* inputs whose rows are prefetched: large factors */
  int fetch[AMPED_MAX_ORDER - 1];
  void *out;
  const void *row_list;
  amped_itype index_type;
  uint64_t entry; /* of the row in hand in row_list */
  bool open;      /* the row in hand has a part in `sum` */
  double *sum;    /* [ld] */
  double *fixup;  /* where that row goes if an earlier strip began it, else NULL */
} amped_block_strip;

/* Add up `b`, the strip's next block. `ahead` is the block after it, whose rows are prefetched; b
 * itself at the end of the strip. */
typedef void amped_block_kernel(amped_block_strip *strip, const amped_block *b,
                                const amped_block *ahead);

/* The best instance for this processor. reuse: the first input's row is multiplied once a fibre,
 * which pays where fibres are long. */
amped_block_kernel *amped_block_kernel_find(amped_vtype value_type, uint64_t ld, int inputs,
                                            bool reuse);

#endif
