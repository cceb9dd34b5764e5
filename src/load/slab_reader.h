/* Slab reader: a thread that reads the slabs of a copy ahead of its caller.
 *
 * A slab is AMPED_SLAB_NNZ consecutive nonzeros as they stand in the input (the last slab has
 * fewer): index arrays of info->index_types and values of info->value_type. The reader has two
 * slabs in host memory, which it owns: it reads one while the caller works on the other. One slab
 * alone is read when the caller asks for it, by all threads. Where it is given a worker, that
 * memory transfers fast to the worker's device. */
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

/* Bytes of one nonzero in a slab, and of the slabs of one reader at most. */
uint64_t amped_slab_nonzero_bytes(const amped_tensor_info *info);
uint64_t amped_slab_reader_bytes(const amped_tensor_info *info);

/* Start reading the slabs of mode's copy (or AMPED_INPUT_LIST) for which wanted[slab number] is
 * true, in order; NULL: all slabs. Input, `wanted` and worker (or NULL) are borrowed until the
 * reader is closed. *out is NULL on failure. Not collective.
 *
 * Until then no other thread may use the input, and reader and caller share the caller's OpenMP
 * threads: the caller has half of them where there is more than one slab. A caller has one reader
 * at a time. */
amped_status amped_slab_reader_open(amped_input *input, int mode, const bool *wanted,
                                    const amped_worker *worker, amped_slab_reader **out);

/* A slab of the input's types in memory that transfers fast to the worker's device (NULL: plain
 * memory), with room for `count` nonzeros. free takes a slab of NULLs, too. */
amped_status amped_slab_create(amped_slab *slab, const amped_tensor_info *info, uint64_t count,
                               const amped_worker *worker);
void amped_slab_free(amped_slab *slab, const amped_worker *worker);

/* Waits for the next slab. *out is NULL behind the last slab, and on an error of reading. The slab
 * before it is no longer valid. */
amped_status amped_slab_reader_next(amped_slab_reader *reader, const amped_slab **out);

/* Stops the thread after the read in hand, frees the slabs and gives the caller all its OpenMP
 * threads again. Called by the thread that opened the reader; NULL is allowed. */
void amped_slab_reader_close(amped_slab_reader *reader);

#endif
