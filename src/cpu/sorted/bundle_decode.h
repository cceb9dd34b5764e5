/* Bundle decode: turns nonzeros of a packed copy into bundles (mttkrp_bundle.h), for MTTKRP and for
 * row fits. One instance per processor. */
#ifndef AMPED_BUNDLE_DECODE_H
#define AMPED_BUNDLE_DECODE_H

#include "cpu/sorted/mttkrp_bundle.h"
#include "cpu/sorted/pack_cpu.h"
#include "tensor/dictionary.h"

struct amped_ratio_cpu;

/* Arguments of a traversal over a copy. All memory is host memory of the caller. */
typedef struct amped_cpu_mttkrp {
  const amped_cpu_copy *copy;
  bool adds;                            /* add to the rows of out, instead of storing them */
  amped_vtype value_type;               /* type of dictionary, factors and out */
  const void *dictionary;               /* values of codes */
  amped_ruler ruler;                    /* computes the same values, unless its step is 0 */
  const void *factors[AMPED_MAX_ORDER]; /* per input, rows of ld elements */
  bool fetch[AMPED_MAX_ORDER];          /* prefetch this input's rows: the factor exceeds the
                                           cache */
  uint64_t rows;                        /* rows of out */
  uint64_t ld;                          /* elements of a row, including padding */
  double *fixup;                        /* workspace: amped_cpu_most_strips * ld elements */
  void *out;                            /* rows without nonzeros become zero */
  const struct amped_ratio_cpu *ratio;  /* values become ratios (ratio_bundle.h); NULL: MTTKRP */
} amped_cpu_mttkrp;

/* *b = the nonzeros of m->copy from k on, up to `end` or a whole bundle; k < end. Prefetches later
 * nonzeros. */
typedef void amped_bundle_decoder(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end,
                                  amped_bundle *b);

/* Addresses of the sums of a box's nonzeros. One input of the box copy's packing is the output
 * mode. */
typedef struct amped_box_sums {
  int mode;       /* index of that input */
  uintptr_t base; /* address of the row of field 0 */
  uint64_t bytes; /* bytes of a row */
} amped_box_sums;

/* Decode like a bundle decoder, from a copy without row bits: begins, fibres and closes are not
 * set. fields[j] = nonzero j's field of the output mode; sums[j] = address of its row of sums.
 * b->rows[mode] is not set. */
typedef void amped_bundle_box_decoder(const amped_cpu_mttkrp *m, const amped_box_sums *to,
                                      uint64_t k, uint64_t end, amped_bundle *b, uint64_t *fields,
                                      uintptr_t *sums);

/* *b = the `count` nonzeros of m->copy with these numbers, in any order, at most one bundle. None
 * of them begins or closes a row. */
typedef void amped_bundle_picker(const amped_cpu_mttkrp *m, const uint64_t *numbers, int count,
                                 amped_bundle *b);

/* Find the best instances for this processor. */
amped_bundle_decoder *amped_bundle_decoder_find(void);
amped_bundle_box_decoder *amped_bundle_box_decoder_find(void);
amped_bundle_picker *amped_bundle_picker_find(void);

#endif
