/* Cell sample: cells of a dense tensor that are drawn at random once, to judge models without a
 * pass over the tensor. Each rank has the cells in its slab or, if cells stay in their file, in the
 * slices that it has read. */
#ifndef AMPED_CELL_SAMPLE_H
#define AMPED_CELL_SAMPLE_H

#include "factor/context.h"

/* Maximum number of cells that are drawn, on all ranks together. */
#define AMPED_SAMPLED_CELLS (UINT64_C(1) << 16)

typedef struct amped_cell_sample {
  uint64_t drawn; /* number of cells on all ranks together */
  uint64_t count; /* number of this rank's cells */
  uint64_t *indices[AMPED_MAX_ORDER];
  double *cells;
  double *misses; /* workspace: cells minus the model */
  double squares; /* sum of squares of all ranks' cells */
  /* Only if cells stay in their file. draws, slices: all draws and their slices, ordered by slice;
   * kept: draws of this rank's cells. */
  uint64_t *draws, *slices, *kept;
  uint64_t seed;
} amped_cell_sample;

/* Bytes of host memory that draw takes at most. */
uint64_t amped_cell_sample_bytes(const amped_plan *plan);

/* Collective; the status is agreed. Draw `drawn` cells from the slabs of all ranks; if cells stay
 * in their file, from slices that see will bring. Returns AMPED_FAILED if all cells of the slabs
 * are 0. */
amped_status amped_cell_sample_draw(const amped_context *context, amped_dense_blocks *blocks,
                                    uint64_t seed, uint64_t drawn, amped_cell_sample *out);
/* see: take the sample's cells from slices with these indices; cells: their values in the file's
 * layout. Each slice is seen once. end: collective, the status is agreed, after all slices. Returns
 * AMPED_FAILED as above. */
void amped_cell_sample_see(const amped_context *context, amped_cell_sample *sample,
                           const uint64_t *slices, uint64_t count, const void *cells);
amped_status amped_cell_sample_end(const amped_context *context, amped_cell_sample *sample);
void amped_cell_sample_free(const amped_plan *plan,
                            amped_cell_sample *sample); /* accepts a zeroed struct */

/* For a checkpoint, if cells stay in their file. gather: collective, after end; cells = cells of
 * all ranks in the order of draws, [drawn]. recall: in place of see, take the cells
 * of these slices from that array. */
void amped_cell_sample_gather(const amped_context *context, const amped_cell_sample *sample,
                              double *cells);
void amped_cell_sample_recall(const amped_context *context, amped_cell_sample *sample,
                              const uint64_t *slices, uint64_t count, const double *cells);

/* Collective. *fit = 1 - |X - M| / |X| over the cells, with the context's factors and these
 * weights. *error = its standard deviation from sampling, from the
 * sampled cells: draws are independent. It is too small if a few cells that were not drawn hold
 * most of |X|^2. status: this rank's own so far. The
 * returned status is agreed. */
amped_status amped_cell_sample_fit(const amped_context *context, amped_dense_blocks *blocks,
                                   const amped_cell_sample *sample, const double *weights,
                                   amped_status status, double *fit, double *error);

#endif
