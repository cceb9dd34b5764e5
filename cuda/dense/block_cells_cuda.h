/* Cells of a slab at scattered indices: packed into blocks, or one by one; and how far a model is
 * from single cells. Kernels for cuda/dense/dense_block_cuda. Pointers d_ are device memory, or
 * pinned host memory where a slab is streamed. Nothing waits. */
#ifndef AMPED_BLOCK_CELLS_CUDA_H
#define AMPED_BLOCK_CELLS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A slab; places of modes are those of its layout, slowest first. A row is the cells of one index
 * of the slowest mode: the first so many lie together, the others in pieces. */
typedef struct amped_slab_cells_cuda {
  amped_cell_type type;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t row_bytes;
  const char *d_resident;
  uint64_t resident;           /* rows */
  uint64_t piece;              /* rows of a piece; at least 1 where there are any */
  const char *const *d_pieces; /* where each begins */
} amped_slab_cells_cuda;

/* A block among others: in each place of the layout so many indices, from `first` on. */
typedef struct amped_block_place_cuda {
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t first[AMPED_MAX_ORDER];
  uint64_t begin; /* bytes from d_cells to its own */
} amped_block_place_cuda;

/* The cells of `count` blocks, which have d_indices[k] in place k: indices of the slab. fibres: the
 * most of a block, that is, the product of all dims but the last. */
amped_status amped_block_cells_cuda_pack(const amped_slab_cells_cuda *slab, uint64_t count,
                                         const amped_block_place_cuda *d_places,
                                         const uint64_t *const *d_indices, uint64_t fibres,
                                         void *d_cells, cudaStream_t stream);

/* d_out[i] = the cell at indices d_indices[k * count + i] in place k. */
amped_status amped_block_cells_cuda_get(const amped_slab_cells_cuda *slab, uint64_t count,
                                        const uint64_t *d_indices, double *d_out,
                                        cudaStream_t stream);

/* Rows of all factors, in any order of modes. */
typedef struct amped_model_cuda {
  amped_vtype value_type;
  int order;
  int ncomps;
  uint64_t ld;
  const void *d_rows[AMPED_MAX_ORDER];
  const double *d_weights; /* [ncomps] */
} amped_model_cuda;

/* Sums of amped_misfit_cuda_parts(count) parts of the cells: of squares of d_cells[i] minus the
 * model's value at row d_positions[m * count + i] of factor m. */
uint64_t amped_misfit_cuda_parts(uint64_t count);
amped_status amped_misfit_cuda(const amped_model_cuda *model, uint64_t count,
                               const uint64_t *d_positions, const double *d_cells, double *d_sums,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
