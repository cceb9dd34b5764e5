/* Cell sample: some cells of a dense tensor, drawn at random once, by which models are judged
 * without a pass over the tensor. Each rank has those of its slab; where cells are in their file,
 * those of the slices that it has seen. */
#ifndef AMPED_CELL_SAMPLE_H
#define AMPED_CELL_SAMPLE_H

#include "factor/context.h"

/* Cells that are drawn, on all ranks together. */
#define AMPED_SAMPLED_CELLS (UINT64_C(1) << 16)

typedef struct amped_cell_sample {
  uint64_t count; /* of this rank's cells */
  uint64_t *indices[AMPED_MAX_ORDER];
  double *cells;
  double squares; /* of the cells of all ranks, summed */
  /* Of cells in their file: draws, ordered by slice; the draw of each of this rank's cells. */
  uint64_t *draws, *slices, *kept;
  uint64_t seed;
} amped_cell_sample;

/* Bytes that draw takes. */
uint64_t amped_cell_sample_bytes(const amped_plan *plan);

/* Collective; the status is agreed. Of the slabs of all ranks, or where cells are in their file, of
 * slices to come. AMPED_FAILED where all cells of the slabs are 0. */
amped_status amped_cell_sample_draw(const amped_context *context, amped_dense_blocks *blocks,
                                    uint64_t seed, amped_cell_sample *out);
/* Slices of these indices, with their cells in the file's layout. Each slice is seen once. Then,
 * collective; the status is agreed: all have been. AMPED_FAILED as above. */
void amped_cell_sample_see(const amped_context *context, amped_cell_sample *sample,
                           const uint64_t *slices, uint64_t count, const void *cells);
amped_status amped_cell_sample_end(const amped_context *context, amped_cell_sample *sample);
void amped_cell_sample_free(amped_cell_sample *sample); /* takes zeros, too */

/* Of cells in their file, for a checkpoint. Collective, after the end: all cells of all ranks, draw
 * by draw; [AMPED_SAMPLED_CELLS]. In place of see: these slices' cells from there. */
void amped_cell_sample_gather(const amped_context *context, const amped_cell_sample *sample,
                              double *cells);
void amped_cell_sample_recall(const amped_context *context, amped_cell_sample *sample,
                              const uint64_t *slices, uint64_t count, const double *cells);

/* Collective. `status` is this rank's own so far, that of the return is agreed. *fit = 1 - |X - M|
 * / |X| over the cells, of the model of the context's factors with these weights. *error: its
 * standard deviation, as the cells are but a sample. */
amped_status amped_cell_sample_fit(const amped_context *context, amped_dense_blocks *blocks,
                                   const amped_cell_sample *sample, const double *weights,
                                   amped_status status, double *fit, double *error);

#endif
