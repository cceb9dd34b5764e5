/* Cells of a slab at scattered indices, packed into blocks or read one by one; and the squared
 * error of a model at single cells. Kernels for cuda/dense/dense_block_cuda. Pointers d_ are device
 * memory, or pinned host memory if a slab is streamed. Nothing waits. */
#ifndef AMPED_BLOCK_CELLS_CUDA_H
#define AMPED_BLOCK_CELLS_CUDA_H

#include "cuda/device/device_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A slab. Arrays over modes follow its layout, slowest mode first. A row is the cells of one index
 * of the slowest mode. The first `resident` rows are contiguous; the others lie in pieces. */
typedef struct amped_slab_cells_cuda {
  amped_cell_type type;
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t row_bytes;
  const char *d_resident;
  uint64_t resident;           /* number of rows at d_resident */
  uint64_t piece;              /* rows per piece; at least 1 if there are pieces */
  const char *const *d_pieces; /* address of each piece */
} amped_slab_cells_cuda;

/* A block among others. In each place of the layout it has dims indices, from entry `first` of the
 * index array on. */
typedef struct amped_block_place_cuda {
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t first[AMPED_MAX_ORDER];
  uint64_t begin; /* offset of its cells from d_cells, in bytes */
} amped_block_place_cuda;

/* Pack the cells of `count` blocks. d_indices[k]: the blocks' indices of the slab in place k.
 * fibres: the largest product of a block's dims except the last. */
amped_status amped_block_cells_cuda_pack(const amped_slab_cells_cuda *slab, uint64_t count,
                                         const amped_block_place_cuda *d_places,
                                         const uint64_t *const *d_indices, uint64_t fibres,
                                         void *d_cells, cudaStream_t stream);

/* d_out[i] = the cell whose index in place k of the layout is d_indices[k * count + i]. */
amped_status amped_block_cells_cuda_get(const amped_slab_cells_cuda *slab, uint64_t count,
                                        const uint64_t *d_indices, double *d_out,
                                        cudaStream_t stream);

/* A model: rows of all factors, in any order of modes. */
typedef struct amped_model_cuda {
  amped_vtype value_type;
  int order;
  int ncomps;
  uint64_t ld;
  const void *d_rows[AMPED_MAX_ORDER];
  const double *d_weights; /* [ncomps] */
} amped_model_cuda;

/* Subtract from each d_cells[i] the model's value at row d_positions[m * count + i] of each factor
 * m. */
amped_status amped_misses_cuda(const amped_model_cuda *model, uint64_t count,
                               const uint64_t *d_positions, double *d_cells, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
