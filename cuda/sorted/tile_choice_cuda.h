/* Tile choice: a cost model says which copies get tiles, and which cache hints gathers get. Pure
 * functions of the plan and of a GPU's caches; no CUDA in here. */
#ifndef AMPED_TILE_CHOICE_CUDA_H
#define AMPED_TILE_CHOICE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/device/caches_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

/* What the L2 cache does with the gathered rows of a factor. */
typedef enum amped_hint_cuda {
  AMPED_HINT_NONE,
  AMPED_HINT_EVICT_LAST,   /* keep them: they come again soon, and there is room for most of them */
  AMPED_HINT_EVICT_FIRST,  /* drop them first: they do not come again soon */
  AMPED_HINT_SHARED_MEMORY /* they lie in shared memory */
} amped_hint_cuda;

/* The tiles of mode's copy on this rank, for a GPU with such caches. tile_bytes asks for tiles of
 * so many bytes, where that makes more than one tile. AMPED_TILES_AUTO leaves it to the cost model;
 * AMPED_TILES_OFF asks for no tiles. */
#define AMPED_TILES_AUTO UINT64_C(0)
#define AMPED_TILES_OFF UINT64_MAX
void amped_tiles_cuda_choose(amped_tiles_cuda *tiles, const amped_plan *plan, int mode,
                             const amped_caches_cuda *caches, uint64_t tile_bytes);

/* The hint for the gathers from each input factor of mode's copy, in such tiles. */
void amped_tiles_cuda_hint(amped_hint_cuda *hints, const amped_plan *plan, int mode,
                           const amped_tiles_cuda *tiles, uint64_t l2_bytes);

#ifdef __cplusplus
}
#endif

#endif
