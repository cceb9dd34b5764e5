/* Layout: where the arrays of a rank's tensor copies lie, on the GPU or in pinned host memory.
 *
 * Nonzeros that do not fit on the device are streamed through two device buffers, in pieces of
 * equal length. Every copy keeps the same share of its bytes on the device. Its resident spans and
 * its streamed pieces take turns: resident, piece, resident, piece, ... So in every mode transfers
 * go on while kernels work on resident spans. A mode takes as long as the longer of the two
 * (docs/decisions/015-streaming-layout.md).
 *
 * Spans are whole packs of AMPED_LONG_PACK nonzeros, but for the end of a copy. A copy that is
 * wholly resident is one span. Pure functions of the plan and a number of bytes; no CUDA in here.
 */
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
  uint64_t bytes; /* of the block; 0 where count is 0 */
} amped_arrays_cuda;

typedef struct amped_layout_cuda amped_layout_cuda;
typedef struct amped_layout_wish_cuda amped_layout_wish_cuda;

/* Storage: the form in which a tensor format keeps its nonzeros. */
typedef struct amped_storage_cuda {
  /* The nonzeros are those of plan->boxed, by the boxes of plan->linear, in a box in the copy's
   * order; else those of each mode with a copy of its own. */
  bool in_boxes;
  /* Set `arrays` and `element_bytes` of mode's copy. */
  void (*list_arrays)(amped_arrays_cuda *out, const amped_plan *plan, int mode);
  /* Device memory beside the arrays, for pieces of the layout's length. */
  uint64_t (*index_bytes)(const amped_plan *plan, int mode, const amped_layout_cuda *layout,
                          const amped_layout_wish_cuda *wish);
  /* Choose tiles for copies that are wholly resident. */
  amped_status (*choose_tiles)(amped_layout_cuda *layout, const amped_plan *plan,
                               const amped_layout_wish_cuda *wish);
} amped_storage_cuda;

/* The sorted copies': packed planes, and values unless they are coded; row bits, row list, row
 * table and schedule. */
extern const amped_storage_cuda amped_storage_packed_cuda;

/* A batch as it comes (backend.h): rows, inputs, values; nothing beside them, and no tiles. */
extern const amped_storage_cuda amped_storage_plain_cuda;

/* Consecutive nonzeros of a copy in one block. */
typedef struct amped_span_cuda {
  bool resident;            /* in the copy's device block; else alone in a pinned block */
  uint64_t first, count;    /* which nonzeros of the copy */
  uint64_t at;              /* nonzeros before them in the block: 0 in pinned blocks */
  uint64_t block;           /* number of the pinned block, over all modes */
  amped_arrays_cuda arrays; /* of the whole block */
} amped_span_cuda;

struct amped_layout_cuda {
  const amped_storage_cuda *storage;
  uint64_t nnz[AMPED_MAX_ORDER];             /* of this rank */
  uint64_t resident[AMPED_MAX_ORDER];        /* nonzeros of them on the device */
  amped_tiles_cuda tiles[AMPED_MAX_ORDER];   /* of copies that are wholly resident */
  amped_arrays_cuda copies[AMPED_MAX_ORDER]; /* arrays of all nonzeros */
  amped_arrays_cuda device[AMPED_MAX_ORDER]; /* of the resident ones, with gaps before tiles */
  uint64_t index_bytes[AMPED_MAX_ORDER];     /* row bits, row list, row table and schedule */
  /* Mode m has the pinned blocks first_block[m] .. first_block[m + 1] - 1, one for each piece. */
  uint64_t first_block[AMPED_MAX_ORDER + 1];
  uint64_t piece;        /* nonzeros that are streamed at a time, 0 where nothing is streamed */
  uint64_t piece_bytes;  /* of either of the two device buffers */
  uint64_t device_bytes; /* `other_bytes` included */
  uint64_t host_bytes;   /* pinned */
};

/* The arrays of `count` nonzeros of mode's copy. */
amped_status amped_arrays_cuda_make(amped_arrays_cuda *out, const amped_plan *plan, int mode,
                                    const amped_storage_cuda *storage, uint64_t count);

/* Element `first` of array i in a block. */
void *amped_arrays_cuda_at(const amped_arrays_cuda *arrays, void *block, int i, uint64_t first);

/* The requirements of a layout. */
struct amped_layout_wish_cuda {
  const amped_storage_cuda *storage;
  amped_residency residency;
  uint64_t budget_bytes; /* of device memory */
  uint64_t other_bytes;  /* of the budget, for everything but copies */
  uint64_t tile_bytes;   /* as in tiles_cuda.h */
  amped_caches_cuda caches;
};

/* Lay out the copies of plan->rank. AUTO keeps all of them on the device where they fit; else it
 * fills the budget up to less than a pack. A copy gets tiles only if the memory for putting it in
 * order is there. AMPED_FAILED, with the bytes needed and a remedy, where the budget is too small.
 */
amped_status amped_layout_cuda_make(amped_layout_cuda *out, const amped_plan *plan,
                                    const amped_layout_wish_cuda *wish);

/* Device memory that putting a copy in the order of tiles takes beside the layout's own. */
uint64_t amped_layout_cuda_reorder_bytes(const amped_layout_cuda *layout, int mode);
/* The most of any mode: copies are put in order one after the other. */
uint64_t amped_layout_cuda_most_reorder_bytes(const amped_layout_cuda *layout);

/* Bytes of mode's copy that are not resident: every MTTKRP transfers them. */
uint64_t amped_layout_cuda_streamed(const amped_layout_cuda *layout, int mode);

/* The span of mode's copy that holds nonzero k < nnz[mode]. */
amped_status amped_layout_cuda_span(const amped_layout_cuda *layout, const amped_plan *plan,
                                    int mode, uint64_t k, amped_span_cuda *out);

#ifdef __cplusplus
}
#endif

#endif
