/* Layout: the place of a rank's tensor copies, on the GPU or in pinned host memory.
 *
 * Nonzeros that do not fit on the device are streamed through two device buffers, in pieces of
 * equal length. Every copy keeps the same share of its bytes on the device. Its resident spans and
 * its streamed pieces alternate: resident, piece, resident, piece, ... In every mode, transfers
 * therefore go on while kernels work on resident spans. The time of a mode is the longer of the two
 * (docs/decisions/015-streaming-layout.md).
 *
 * Spans are whole packs of AMPED_LONG_PACK nonzeros, except at the end of a copy. A wholly resident
 * copy is one span. Pure functions of the plan and a number of bytes, without CUDA. */
#ifndef AMPED_LAYOUT_CUDA_H
#define AMPED_LAYOUT_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/device/caches_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

/* One block of memory that holds `count` nonzeros as arrays, which a storage lists. Byte offsets
 * are multiples of AMPED_CUDA_ALIGNMENT. */
#define AMPED_CUDA_ALIGNMENT 256
#define AMPED_CUDA_ARRAYS (AMPED_MAX_ORDER + 1)
typedef struct amped_arrays_cuda {
  int arrays;
  uint64_t element_bytes[AMPED_CUDA_ARRAYS];
  uint64_t offsets[AMPED_CUDA_ARRAYS];
  uint64_t bytes; /* bytes of the block; 0 if count is 0 */
} amped_arrays_cuda;

typedef struct amped_layout_cuda amped_layout_cuda;
typedef struct amped_layout_wish_cuda amped_layout_wish_cuda;

/* Storage: the form in which a tensor format keeps its nonzeros. */
typedef struct amped_storage_cuda {
  /* True: one copy, of mode plan->boxed, sorted by the boxes of plan->linear and in a box by rows.
   * False: the copies of all modes that have their own. */
  bool in_boxes;
  /* Set `arrays` and `element_bytes` of mode's copy. */
  void (*list_arrays)(amped_arrays_cuda *out, const amped_plan *plan, int mode);
  /* Returns the device memory needed in addition to the arrays, for pieces of the layout's
   * length. */
  uint64_t (*index_bytes)(const amped_plan *plan, int mode, const amped_layout_cuda *layout,
                          const amped_layout_wish_cuda *wish);
  /* Choose tiles for copies that are wholly resident. */
  amped_status (*choose_tiles)(amped_layout_cuda *layout, const amped_plan *plan,
                               const amped_layout_wish_cuda *wish);
} amped_storage_cuda;

/* Storage of sorted copies: packed planes, and values unless they are coded; row bits, row list,
 * row table and schedule. */
extern const amped_storage_cuda amped_storage_packed_cuda;

/* Storage of plain batches (backend.h): arrays of rows, inputs and values. A plain batch has no row
 * bits, row list, row table or tiles. */
extern const amped_storage_cuda amped_storage_plain_cuda;

/* Consecutive nonzeros of a copy in one block. */
typedef struct amped_span_cuda {
  bool resident;            /* true: in the copy's device block; false: alone in a pinned block */
  uint64_t first, count;    /* range of nonzeros of the copy */
  uint64_t at;              /* nonzeros before them in the block: 0 in pinned blocks */
  uint64_t block;           /* number of the pinned block, over all modes */
  amped_arrays_cuda arrays; /* arrays of the whole block */
} amped_span_cuda;

struct amped_layout_cuda {
  const amped_storage_cuda *storage;
  uint64_t nnz[AMPED_MAX_ORDER];             /* nonzeros of this rank */
  uint64_t resident[AMPED_MAX_ORDER];        /* number of resident nonzeros */
  amped_tiles_cuda tiles[AMPED_MAX_ORDER];   /* tiles of copies that are wholly resident */
  amped_arrays_cuda copies[AMPED_MAX_ORDER]; /* arrays of all nonzeros */
  amped_arrays_cuda device[AMPED_MAX_ORDER]; /* arrays of the resident nonzeros, with gaps before
                                                tiles */
  uint64_t index_bytes[AMPED_MAX_ORDER];     /* row bits, row list, row table and schedule */
  /* Mode m has the pinned blocks first_block[m] .. first_block[m + 1] - 1, one for each piece. */
  uint64_t first_block[AMPED_MAX_ORDER + 1];
  uint64_t piece;        /* nonzeros that are streamed at a time, 0 if nothing is streamed */
  uint64_t piece_bytes;  /* size of each of the two device buffers */
  uint64_t device_bytes; /* `other_bytes` included */
  uint64_t host_bytes;   /* pinned */
};

/* Make the arrays of `count` nonzeros of mode's copy. */
amped_status amped_arrays_cuda_make(amped_arrays_cuda *out, const amped_plan *plan, int mode,
                                    const amped_storage_cuda *storage, uint64_t count);

/* Returns the address of element `first` of array i in a block. */
void *amped_arrays_cuda_at(const amped_arrays_cuda *arrays, void *block, int i, uint64_t first);

/* The requirements of a layout. */
struct amped_layout_wish_cuda {
  const amped_storage_cuda *storage;
  amped_residency residency;
  uint64_t budget_bytes; /* device memory in total */
  uint64_t other_bytes;  /* part of the budget for everything except copies */
  uint64_t tile_bytes;   /* size of a tile in bytes, as in tile_choice_cuda.h */
  amped_caches_cuda caches;
};

/* Lay out the copies of plan->rank. AUTO keeps all of them on the device if they fit; else it fills
 * the budget, with less than a pack left over. A copy gets tiles only if there is memory for
 * sorting it by tiles. Returns AMPED_FAILED, with the bytes needed and a remedy, if the budget is
 * too small. */
amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan,
                                    const amped_layout_wish_cuda *wish);

/* Returns the device memory that sorting a copy by tiles needs in addition to the layout. */
uint64_t amped_layout_cuda_reorder_bytes(const amped_layout_cuda *layout, int mode);
/* Returns the maximum over modes: copies are sorted one after the other. */
uint64_t amped_layout_cuda_most_reorder_bytes(const amped_layout_cuda *layout);

/* Returns the bytes of mode's copy that are not resident. Every MTTKRP transfers them. */
uint64_t amped_layout_cuda_streamed(const amped_layout_cuda *layout, int mode);

/* Find the span of mode's copy that holds nonzero k < nnz[mode]. */
amped_status amped_layout_cuda_span(const amped_layout_cuda *layout, const amped_plan *plan,
                                    int mode, uint64_t k, amped_span_cuda *out);

#ifdef __cplusplus
}
#endif

#endif
