/* MTTKRP on CPU cores over a packed copy. Twin of cuda/sorted/mttkrp_cuda.h.
 *
 * The nonzeros are cut into equal strips (iSMps), which threads take in turn. The strip that has a
 * row's first nonzero stores the row. A strip that only continues a row puts its partial sum into
 * the fix-up buffer. These sums are then added to the rows in the order of strips. There are no
 * atomic additions, and any number of threads gives the same bits.
 *
 * Sums of floats are carried in double beyond a bundle of nonzeros (mttkrp_bundle.h). If a copy is
 * cut into tiles, a row is rounded once per tile. The error of an output element therefore stays
 * below 1e-5 of the sum of |x| prod |a|, for rows of any length. */
#ifndef AMPED_MTTKRP_CPU_H
#define AMPED_MTTKRP_CPU_H

#include "cpu/sorted/bundle_decode.h"

/* Nonzeros of a strip, a multiple of the packing's pack, and number of strips of a copy. Both are
 * independent of the number of threads. */
uint64_t amped_cpu_strip_nnz(const amped_packing *p, uint64_t nnz);
uint64_t amped_cpu_strips(const amped_packing *p, uint64_t nnz);

/* Upper bound on the number of strips of a copy with at most nnz nonzeros. */
uint64_t amped_cpu_most_strips(uint64_t nnz);

/* Compute `count` traversals side by side. Each has its own output and fix-up buffer. Cannot fail.
 */
void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int count, int threads);

/* out = sum of the outputs of `count` traversals, in their order, in double. */
void amped_mttkrp_cpu_join(const amped_cpu_mttkrp *m, int count, void *out, int threads);

#endif
