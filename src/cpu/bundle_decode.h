/* Bundle decode: nonzeros of a packed copy become bundles (mttkrp_bundle.h), for MTTKRP and for row
 * fits. One instance for each processor. */
#ifndef AMPED_BUNDLE_DECODE_H
#define AMPED_BUNDLE_DECODE_H

#include "cpu/mttkrp_bundle.h"
#include "cpu/pack_cpu.h"
#include "tensor/dictionary.h"

/* All that a walk over a copy reads and writes. All memory is host memory of the caller. */
typedef struct amped_cpu_mttkrp {
  const amped_cpu_copy *copy;
  bool adds;                            /* out has rows already, which are added to */
  amped_vtype value_type;               /* of dictionary, factors and out */
  const void *dictionary;               /* of coded values */
  amped_ruler ruler;                    /* gives the same values, unless its step is 0 */
  const void *factors[AMPED_MAX_ORDER]; /* of every input, rows of ld elements */
  bool fetch[AMPED_MAX_ORDER];          /* prefetch its rows: it is too large for the cache */
  uint64_t rows;                        /* of out */
  uint64_t ld;                          /* elements of a row, padding included */
  double *fixup;                        /* workspace: amped_cpu_most_strips * ld elements */
  void *out;                            /* rows without nonzeros become zero */
} amped_cpu_mttkrp;

/* *b = the nonzeros of m->copy from k on, up to `end` or a whole bundle; k is below end. Asks
 * memory for nonzeros that come later. */
typedef void amped_bundle_decoder(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end,
                                  amped_bundle *b);

/* Where the sums of a box's nonzeros lie: one input of its packing is the output mode. */
typedef struct amped_box_sums {
  int mode;       /* that input */
  uintptr_t base; /* of the row of field 0 */
  uint64_t bytes; /* of a row */
} amped_box_sums;

/* As a bundle decoder, of a copy without row bits: begins, fibres and closes are not set.
 * fields[j] = nonzero j's field of the output mode, sums[j] = where its row of sums begins; b->rows
 * has nothing of that mode. */
typedef void amped_bundle_box_decoder(const amped_cpu_mttkrp *m, const amped_box_sums *to,
                                      uint64_t k, uint64_t end, amped_bundle *b, uint64_t *fields,
                                      uintptr_t *sums);

/* *b = count nonzeros of m->copy, at most a bundle of them, in any order. Neither begins nor closes
 * a row. */
typedef void amped_bundle_picker(const amped_cpu_mttkrp *m, const uint64_t *numbers, int count,
                                 amped_bundle *b);

/* The best instances for this processor. */
amped_bundle_decoder *amped_bundle_decoder_find(void);
amped_bundle_box_decoder *amped_bundle_box_decoder_find(void);
amped_bundle_picker *amped_bundle_picker_find(void);

#endif
