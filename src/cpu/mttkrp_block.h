/* MTTKRP of a block: a few decoded nonzeros of a copy, added up row by row. The inner loops of
 * mttkrp_cpu, one instance for each value type, row length, number of inputs and processor.
 *
 * A row that begins and ends in one block is summed in registers and stored. What a block holds of
 * any other row is added, in double, to `sum`: floats are added up over a block at most. */
#ifndef AMPED_MTTKRP_BLOCK_H
#define AMPED_MTTKRP_BLOCK_H

#include "base/types.h"

/* Nonzeros of a block, and of a word of row bits. */
#define AMPED_BLOCK 32

/* Decoded nonzeros. */
typedef struct amped_block {
  int count;
  uint32_t begins; /* bit j: nonzero j begins a row */
  uint32_t fibres; /* bit j: nonzero j begins a row or is in another row of the first input */
  bool closes;     /* the last nonzero ends its row, or the strip */
  const void *values;
  uint64_t positions[AMPED_MAX_ORDER - 1][AMPED_BLOCK];
  double coded[AMPED_BLOCK]; /* room for values of either type */
} amped_block;

/* What a thread knows of the strip in hand. */
typedef struct amped_block_strip {
  int inputs;
  const void *factors[AMPED_MAX_ORDER - 1];
  uint64_t ld;
  int fetches; /* inputs whose rows are worth fetching ahead: large factors */
  int fetch[AMPED_MAX_ORDER - 1];
  void *out;
  const void *row_list;
  amped_itype index_type;
  uint64_t entry; /* of the row in hand in row_list */
  bool open;      /* the row in hand has a part in `sum` */
  double *sum;    /* [ld] */
  double *fixup;  /* where that row goes if an earlier strip began it, else NULL */
} amped_block_strip;

/* Add up `b`; `ahead` is the block that comes after it, or b itself at the end. */
typedef void amped_block_kernel(amped_block_strip *strip, const amped_block *b,
                                const amped_block *ahead);

/* The best one on this processor. reuse: rows of the first input are multiplied once for each
 * stretch of nonzeros that shares them, which pays where these are long. */
amped_block_kernel *amped_block_kernel_find(amped_vtype value_type, uint64_t ld, int inputs,
                                            bool reuse);

#endif
