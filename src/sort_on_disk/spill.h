/* Spill: nonzeros on disk, in fragments, for sorting what memory does not hold.
 *
 * They lie in a temporary file that has no name any more once it is open: however the program ends,
 * nothing stays behind. Indices and values of a fragment have the narrowest types that hold them.
 * All OpenMP threads read and write. */
#ifndef AMPED_SPILL_H
#define AMPED_SPILL_H

#include "tensor/sptensor.h"

typedef struct amped_spill amped_spill;

/* An empty one, in a folder. */
amped_status amped_spill_create(const char *folder, int order, amped_spill **out);
void amped_spill_free(amped_spill *s);

/* Append t's nonzeros as a fragment. */
amped_status amped_spill_add(amped_spill *s, const amped_sptensor *t);

/* All nonzeros so far, and their bytes on disk. */
uint64_t amped_spill_nnz(const amped_spill *s);
uint64_t amped_spill_bytes(const amped_spill *s);

/* Nonzeros first .. first+count, in the order in which they were added, into t (which has room;
 * order, dims and labels are left alone) from its nonzero 0 on. */
amped_status amped_spill_read(const amped_spill *s, uint64_t first, uint64_t count,
                              amped_sptensor *t);

/* What amped_spill_merge gives in pieces. The callee sets t->nnz to 0, or to 1 where it moved the
 * last nonzero to the front: it then comes again before the next ones. `last`: no more come. */
typedef amped_status (*amped_spill_sink)(void *context, amped_sptensor *t, bool last);

/* All fragments as one sequence in ascending order of the indices in `modes` (the first counts
 * most), equal ones in the order of the fragments; each fragment is in that order already.
 * `memory`: bytes to use. AMPED_USAGE where that is too little for the number of fragments. */
amped_status amped_spill_merge(const amped_spill *s, const int *modes, int nmodes, uint64_t memory,
                               amped_spill_sink sink, void *context);

/* The least memory with which so many fragments can be merged. */
uint64_t amped_spill_merge_memory(int order, uint64_t fragments);

#endif
