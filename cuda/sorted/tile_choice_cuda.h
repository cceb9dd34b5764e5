/* Tile choice: a cost model that chooses the copies with tiles, and the cache hints of gathers.
 * Pure functions of the plan and of a GPU's caches, without CUDA. */
#ifndef AMPED_TILE_CHOICE_CUDA_H
#define AMPED_TILE_CHOICE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "cuda/device/caches_cuda.h"
#include "cuda/sorted/tiles_cuda.h"

/* Treatment of a factor's gathered rows in the L2 cache. */
typedef enum amped_hint_cuda {
  AMPED_HINT_NONE,
  AMPED_HINT_EVICT_LAST,   /* keep them: they are needed again soon, and most of them fit */
  AMPED_HINT_EVICT_FIRST,  /* evict them first: they are not needed again soon */
  AMPED_HINT_SHARED_MEMORY /* rows lie in shared memory */
} amped_hint_cuda;

/* Choose the tiles of mode's copy on this rank, for a GPU with these caches. tile_bytes: size of a
 * tile, if this makes more than one tile. AMPED_TILES_AUTO: the cost model decides.
 * AMPED_TILES_OFF: no tiles. */
#define AMPED_TILES_AUTO UINT64_C(0)
#define AMPED_TILES_OFF UINT64_MAX
void amped_tiles_cuda_choose(amped_tiles_cuda *tiles, const amped_plan *plan, int mode,
                             const amped_caches_cuda *caches, uint64_t tile_bytes);

/* Choose the hint for the gathers from each input factor of mode's copy, in these tiles. */
void amped_tiles_cuda_hint(amped_hint_cuda *hints, const amped_plan *plan, int mode,
                           const amped_tiles_cuda *tiles, uint64_t l2_bytes);

#ifdef __cplusplus
}
#endif

#endif
