/* Spill: nonzeros on disk, in fragments, for sorting more nonzeros than memory holds.
 *
 * A fragment is a set of nonzeros added by one call. The fragments are in a temporary file without
 * a name: the file disappears however the program ends. Indices and values of a fragment have the
 * narrowest types that represent them. All OpenMP threads read and write. Not collective. */
#ifndef AMPED_SPILL_H
#define AMPED_SPILL_H

#include "tensor/sptensor.h"

typedef struct amped_spill amped_spill;

/* Create an empty spill in a folder. Free with amped_spill_free. */
amped_status amped_spill_create(const char *folder, int order, amped_spill **out);
void amped_spill_free(amped_spill *s);

/* Append t's nonzeros as a fragment. */
amped_status amped_spill_add(amped_spill *s, const amped_sptensor *t);

/* Number of nonzeros so far, and their bytes on disk. */
uint64_t amped_spill_nnz(const amped_spill *s);
uint64_t amped_spill_bytes(const amped_spill *s);

/* Read nonzeros first .. first+count, in the order of adding, into t's first `count` nonzeros. t
 * must be large enough; its order, dims and labels do not change. */
amped_status amped_spill_read(const amped_spill *s, uint64_t first, uint64_t count,
                              amped_sptensor *t);

/* Receiver of the pieces of amped_spill_merge. It sets t->nnz to 0. Or it moves the last nonzero to
 * the front and sets t->nnz to 1: this nonzero is then passed again before the next ones. `last`:
 * this is the last piece. */
typedef amped_status (*amped_spill_sink)(void *context, amped_sptensor *t, bool last);

/* Merge all fragments into one sequence, in ascending order of the indices in `modes` (the first
 * mode counts most). Equal nonzeros stay in the order of the fragments. Each fragment must already
 * be sorted in this order. `memory` is the number of bytes to use; AMPED_USAGE if they are too few
 * for the number of fragments. */
amped_status amped_spill_merge(const amped_spill *s, const int *modes, int nmodes, uint64_t memory,
                               amped_spill_sink sink, void *context);

/* Fewest bytes of memory for merging this number of fragments. */
uint64_t amped_spill_merge_memory(int order, uint64_t fragments);

#endif
