/* Slab layout: the rows of a rank's slab that lie on the GPU, the rows that are streamed to it, and
 * the order in which a contraction visits them.
 *
 * A row is the cells of one index of the slab's slowest mode, which are contiguous. Streamed rows
 * go through two device buffers, in pieces. The resident rows are cut into shares, one per piece.
 * Shares and pieces alternate, so that transfers go on while kernels work on shares
 * (docs/decisions/015-streaming-layout.md). A slab that is resident as a whole has one visit. Pure
 * functions, without CUDA. */
#ifndef AMPED_SLAB_LAYOUT_CUDA_H
#define AMPED_SLAB_LAYOUT_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_slab_layout_cuda {
  uint64_t rows;
  uint64_t row_bytes;
  uint64_t resident; /* number of rows that stay on the GPU: the first ones */
  uint64_t piece;    /* rows per piece; at least 1 if any are streamed */
} amped_slab_layout_cuda;

/* Visit of rows first .. end - 1. */
typedef struct amped_slab_visit_cuda {
  uint64_t first, end;
  bool streamed;
  uint64_t number; /* number of the piece, if streamed */
} amped_slab_visit_cuda;

/* Returns the layout with `resident` resident rows. A piece has 128 MiB, at most an eighth of the
 * streamed rows, and at least one row. sum_bytes: size of the largest array that every visit adds
 * to; a large one makes pieces larger. */
amped_slab_layout_cuda amped_slab_layout_cuda_make(uint64_t rows, uint64_t row_bytes,
                                                   uint64_t resident, uint64_t sum_bytes);

/* Number of pieces, and of visits. A visit is empty if its share has no rows. A slab of no rows has
 * neither pieces nor visits. */
uint64_t amped_slab_pieces_cuda(const amped_slab_layout_cuda *layout);
uint64_t amped_slab_visits_cuda(const amped_slab_layout_cuda *layout);

/* Returns visit i. If the visit has no rows, first equals end. */
amped_slab_visit_cuda amped_slab_visit_cuda_at(const amped_slab_layout_cuda *layout, uint64_t i);

/* Returns the most rows of any visit. */
uint64_t amped_slab_most_rows_cuda(const amped_slab_layout_cuda *layout);

/* Bytes of the resident rows, of both buffers, and of the pinned memory. */
uint64_t amped_slab_resident_bytes_cuda(const amped_slab_layout_cuda *layout);
uint64_t amped_slab_buffer_bytes_cuda(const amped_slab_layout_cuda *layout);
uint64_t amped_slab_streamed_bytes_cuda(const amped_slab_layout_cuda *layout);

#ifdef __cplusplus
}
#endif

#endif
