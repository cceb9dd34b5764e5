/* Bundle decode: nonzeros of a packed copy become bundles (mttkrp_bundle.h), for MTTKRP and for row
 * fits. One instance for each processor. */
#ifndef AMPED_BUNDLE_DECODE_H
#define AMPED_BUNDLE_DECODE_H

#include "cpu/mttkrp_bundle.h"
#include "cpu/mttkrp_cpu.h"

/* *b = the nonzeros of m->copy from k on, up to `end` or a whole bundle; k is below end. Asks
 * memory for nonzeros that come later. */
typedef void amped_bundle_decoder(const amped_cpu_mttkrp *m, uint64_t k, uint64_t end,
                                  amped_bundle *b);

/* The best instance for this processor. */
amped_bundle_decoder *amped_bundle_decoder_find(void);

#endif
