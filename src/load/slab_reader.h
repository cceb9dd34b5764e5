/* Slabs: consecutive nonzeros of a copy as they stand in the source, read ahead by a thread.
 *
 * A slab holds index arrays of info->index_types and values of info->value_type. The ring has two
 * slabs: one is read while the other is worked on. Host memory, owned by the ring. */
#ifndef AMPED_SLAB_READER_H
#define AMPED_SLAB_READER_H

#include "load/input.h"

/* Nonzeros of a slab: one HDF5 chunk of each dataset. */
#define AMPED_SLAB_NNZ (UINT64_C(1) << 20)

typedef struct amped_slab {
  uint64_t first; /* number of its first nonzero in the copy */
  uint64_t count;
  void *indices[AMPED_MAX_ORDER];
  void *values;
} amped_slab;

typedef struct amped_slab_reader amped_slab_reader;

/* Bytes of one nonzero in a slab, and of a whole ring. */
uint64_t amped_slab_nonzero_bytes(const amped_tensor_info *info);
uint64_t amped_slab_reader_bytes(const amped_tensor_info *info);

/* Start reading the slabs of mode's copy for which wanted[slab number] is true (NULL: all), in
 * order. `wanted` is borrowed until the end. Until amped_slab_reader_close no other thread may use
 * the source, and reader and caller share the caller's OpenMP threads, which it has to itself again
 * when it closes the ring, itself. A caller has one ring at a time. */
amped_status amped_slab_reader_open(amped_input *source, int mode, const bool *wanted,
                                    amped_slab_reader **out);

/* What a caller that has so many threads has left of them beside a reader. */
int amped_slab_caller_threads(int threads);

/* The next slab, waiting for it; NULL in *out behind the last. The slab before it is given back. */
amped_status amped_slab_reader_next(amped_slab_reader *ring, const amped_slab **out);

/* Stops the thread wherever it is. By the thread that opened the ring. */
void amped_slab_reader_close(amped_slab_reader *ring);

#endif
