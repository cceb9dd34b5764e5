/* MTTKRP on CPU cores over a packed copy. Twin of cuda/sorted/mttkrp_cuda.h.
 *
 * The nonzeros are cut into equal strips (iSMps), which threads take in turn. The strip that holds
 * a row's first nonzero stores the row. A strip that only continues a row puts its partial sum into
 * the fix-up buffer. Afterwards these are added to the rows, in the order of strips. There are no
 * atomic additions, and any number of threads gives the same bits.
 *
 * Sums of floats are carried in double beyond a bundle of nonzeros (mttkrp_bundle.h). Where a copy
 * is cut into tiles, a row is rounded once a tile. So the error of an output element stays below
 * 1e-5 of the sum of |x| prod |a|, for rows of any length.
 */
#ifndef AMPED_MTTKRP_CPU_H
#define AMPED_MTTKRP_CPU_H

#include "cpu/bundle_decode.h"

/* Nonzeros of a strip (a multiple of the packing's pack), and strips of a copy. They do not depend
 * on the number of threads. */
uint64_t amped_cpu_strip_nnz(const amped_packing *p, uint64_t nnz);
uint64_t amped_cpu_strips(const amped_packing *p, uint64_t nnz);

/* As many strips has a copy of nnz nonzeros or fewer at most. */
uint64_t amped_cpu_most_strips(uint64_t nnz);

/* Cannot fail. */
void amped_mttkrp_cpu(const amped_cpu_mttkrp *m, int threads);

#endif
