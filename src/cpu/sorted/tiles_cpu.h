/* Tiles: parts of a mode's copy, each with the nonzeros of one range of positions in one input. The
 * rows that a tile gathers from that input stay in a core's caches. Twin of
 * cuda/sorted/tile_choice_cuda.h.
 *
 * A tile is a packed copy of its own, with nonzeros in the copy's order. An output row may be in
 * many tiles. Tiles are usually processed one after another. If outputs are small, so that a tile
 * is little work for many threads, tiles are processed side by side: each has its own output, and
 * the outputs are added up in the order of tiles. Not collective. */
#ifndef AMPED_TILES_CPU_H
#define AMPED_TILES_CPU_H

#include "cpu/sorted/pack_cpu.h"

/* Most tiles of a copy. Each tile adds to a row once, in the values' type, so their number is part
 * of the error of a sum (mttkrp_cpu.h). */
#define AMPED_CPU_MOST_TILES 64

typedef struct amped_cpu_tiling {
  int count;      /* number of tiles; 1: the copy stays whole */
  int input;      /* the input whose positions are cut into ranges */
  uint64_t width; /* positions per range */
  bool apart;     /* each of several tiles has its own output */
} amped_cpu_tiling;

/* Choose the tiling of mode's copy: a pure function of the plan. */
amped_cpu_tiling amped_cpu_tiling_choose(const amped_plan *plan, int mode);

/* Bytes of the outputs of all tiles; 0 if tiles have no outputs of their own. */
uint64_t amped_cpu_tiling_output_bytes(const amped_plan *plan, int mode);

/* Bytes of mode's finished copy, and bytes that cutting it takes in addition for a while. The
 * second is 0 if the copy stays whole. */
uint64_t amped_cpu_tiling_bytes(const amped_plan *plan, int mode);
uint64_t amped_cpu_cutting_bytes(const amped_plan *plan, int mode);

/* Cut a complete copy into tiles. *tiles becomes an array of tiling->count copies, which the caller
 * frees; their arrays belong to `copy`. The whole copy's arrays are freed. Returns AMPED_FAILED if
 * memory is short. */
amped_status amped_cpu_tiles_cut(amped_cpu_copy *copy, const amped_plan *plan, int mode,
                                 const amped_cpu_tiling *tiling, int threads,
                                 amped_cpu_copy **tiles);

#endif
