/* Slab reader: a thread that reads the slabs of a copy ahead of its caller.
 *
 * A slab is AMPED_SLAB_NNZ consecutive nonzeros in file order (the last slab has fewer): index
 * arrays of info->index_types and values of info->value_type. The reader owns two slabs in host
 * memory: it reads one while the caller works on the other. A single slab is read when the caller
 * asks for it, with all threads. If a worker is given, the memory transfers fast to its device. */
#ifndef AMPED_SLAB_READER_H
#define AMPED_SLAB_READER_H

#include "backend/backend.h"
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

/* Nonzeros of the input's largest slab. */
static inline uint64_t amped_slab_nnz(const amped_tensor_info *info) {
  return info->nnz < AMPED_SLAB_NNZ ? info->nnz : AMPED_SLAB_NNZ;
}

/* Bytes of one nonzero in a slab, and most bytes of one reader's slabs. */
uint64_t amped_slab_nonzero_bytes(const amped_tensor_info *info);
uint64_t amped_slab_reader_bytes(const amped_tensor_info *info);

/* Start reading the slabs of mode's copy (or AMPED_INPUT_LIST) with wanted[slab number] = true, in
 * order; wanted NULL: all slabs. Input, `wanted` and worker (or NULL) are borrowed until the reader
 * is closed. *out is NULL on failure. Not collective.
 *
 * Until the close, no other thread may use the input, and reader and caller share the caller's
 * OpenMP threads: with more than one slab the caller has half of them. A caller has one reader at a
 * time. */
amped_status amped_slab_reader_open(amped_input *input, int mode, const bool *wanted,
                                    const amped_worker *worker, amped_slab_reader **out);

/* Allocate a slab of the input's types, for `count` nonzeros, in memory that transfers fast to the
 * worker's device (NULL: plain memory). free accepts a slab of NULLs. */
amped_status amped_slab_create(amped_slab *slab, const amped_tensor_info *info, uint64_t count,
                               const amped_worker *worker);
void amped_slab_free(amped_slab *slab, const amped_worker *worker);

/* Wait for the next slab. *out is NULL after the last slab, and if reading failed. The previous
 * slab is no longer valid. */
amped_status amped_slab_reader_next(amped_slab_reader *reader, const amped_slab **out);

/* Stop the thread after its current read, free the slabs and give the caller all its OpenMP threads
 * again. Called by the thread that opened the reader; NULL is allowed. */
void amped_slab_reader_close(amped_slab_reader *reader);

#endif
