/* Layout: where the arrays of a rank's tensor copies lie, on the GPU or in pinned host memory.
 *
 * Pure functions of the plan and a number of bytes; no CUDA in here.
 *
 * What of the copies does not fit on the device is streamed in pieces of equal length through two
 * device buffers. Every copy keeps the same share of its bytes on the device, and its resident
 * parts and streamed pieces take turns: resident, piece, resident, piece, ... So transfers pack
 * while resident parts are computed, in every mode, and a mode takes as long as the longer of the
 * two. Parts are whole packs of AMPED_LONG_PACK nonzeros, but for the end of a copy. Where all of a
 * copy is resident it is one part. */
#ifndef AMPED_LAYOUT_CUDA_H
#define AMPED_LAYOUT_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/device/caches_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

/* One block of memory that holds `count` nonzeros as arrays: packed (the planes, then the values
 * unless they are coded), or plain as the atomic kernel wants them (rows, inputs, values). Byte
 * offsets are multiples of AMPED_CUDA_ALIGNMENT. */
#define AMPED_CUDA_ALIGNMENT 256
#define AMPED_CUDA_ARRAYS (AMPED_MAX_ORDER + 1)
typedef struct amped_arrays_cuda {
  int arrays;
  uint64_t element_bytes[AMPED_CUDA_ARRAYS];
  uint64_t offsets[AMPED_CUDA_ARRAYS];
  uint64_t bytes; /* of the block, 0 where count is */
} amped_arrays_cuda;

/* Nonzeros of a copy that lie behind each other in one block. */
typedef struct amped_part_cuda {
  bool resident;            /* in the copy's device block, else in a pinned block of its own */
  uint64_t first, count;    /* which nonzeros of the copy */
  uint64_t at;              /* nonzeros of the block before them: 0 in pinned blocks */
  uint64_t block;           /* number of the pinned block, over all modes */
  amped_arrays_cuda arrays; /* of the whole block */
} amped_part_cuda;

typedef struct amped_layout_cuda {
  bool plain;
  uint64_t nnz[AMPED_MAX_ORDER];             /* of this rank */
  uint64_t resident[AMPED_MAX_ORDER];        /* of these, nonzeros on the device */
  amped_tiles_cuda tiles[AMPED_MAX_ORDER];   /* of copies that are wholly resident */
  amped_arrays_cuda copies[AMPED_MAX_ORDER]; /* of all of them */
  amped_arrays_cuda device[AMPED_MAX_ORDER]; /* of the resident ones, in one block of memory, with
                                                gaps before tiles */
  uint64_t index_bytes[AMPED_MAX_ORDER];     /* row bits, list and table: always on the device */
  uint64_t
      first_block[AMPED_MAX_ORDER + 1]; /* of mode's pinned blocks, one a piece; then of none */
  uint64_t piece;        /* nonzeros that are streamed at a time, 0 where nothing is streamed */
  uint64_t piece_bytes;  /* of either of the two device buffers */
  uint64_t device_bytes; /* `other_bytes` included */
  uint64_t host_bytes;   /* pinned */
} amped_layout_cuda;

/* The arrays of `count` nonzeros of mode's copy. */
amped_status amped_arrays_cuda_make(amped_arrays_cuda *out, const amped_plan *plan, int mode,
                                    bool plain, uint64_t count);

/* Element `first` of array i in a block. */
void *amped_arrays_cuda_at(const amped_arrays_cuda *arrays, void *block, int i, uint64_t first);

/* What a layout is made for. */
typedef struct amped_layout_wish_cuda {
  bool plain;
  amped_residency residency;
  uint64_t budget_bytes; /* of device memory */
  uint64_t other_bytes;  /* of these, taken by everything else */
  uint64_t tile_bytes;   /* as in tiles_cuda.h */
  amped_caches_cuda caches;
} amped_layout_wish_cuda;

/* Decide, for the copies of plan->rank. AUTO keeps all on the device where that fits, else fills
 * the budget up to less than a pack. Copies in tiles need memory while they are put in order; where
 * it is not there they go without. AMPED_FAILED, with what is needed and a remedy, where it cannot
 * be.
 */
amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan,
                                    const amped_layout_wish_cuda *wish);

/* Device memory that a copy in tiles takes, while it is put in order, beside what it takes anyway.
 */
uint64_t amped_layout_cuda_reorder_bytes(const amped_layout_cuda *layout, int mode);
/* The most of any mode: they are put in order one after the other. */
uint64_t amped_layout_cuda_most_reorder_bytes(const amped_layout_cuda *layout);

/* Bytes of mode's copy that are not resident: what is transferred in every MTTKRP. */
uint64_t amped_layout_cuda_streamed(const amped_layout_cuda *layout, int mode);

/* The part that nonzero k < nnz[mode] of mode's copy lies in. */
amped_status amped_layout_cuda_part(const amped_layout_cuda *layout, const amped_plan *plan,
                                    int mode, uint64_t k, amped_part_cuda *out);

#ifdef __cplusplus
}
#endif

#endif
