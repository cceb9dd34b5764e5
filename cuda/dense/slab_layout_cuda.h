/* Slab layout: which rows of a rank's slab lie on the GPU, which are streamed to it, and in what
 * order a contraction visits them.
 *
 * A row is the cells of one index of the slab's slowest mode, which lie together. Streamed rows go
 * through two device buffers, in pieces; the rows that stay are cut into as many shares. Shares and
 * pieces take turns: transfers go on while kernels work on shares
 * (docs/decisions/015-streaming-layout.md). A slab that stays as a whole has one visit. Pure
 * functions; no CUDA in here. */
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
  uint64_t resident; /* the first so many rows stay on the GPU */
  uint64_t piece;    /* rows of a piece, at least 1 where any are streamed */
} amped_slab_layout_cuda;

/* Rows first .. end, which is more than first. */
typedef struct amped_slab_visit_cuda {
  uint64_t first, end;
  bool streamed;
  uint64_t number; /* of the piece, where it is streamed */
} amped_slab_visit_cuda;

/* The layout with as many resident rows; pieces of 128 MiB, and an eighth of what is streamed at
 * most, but a row at least. sum_bytes: of the largest array that every visit adds to; where it is
 * large, pieces are larger. */
amped_slab_layout_cuda amped_slab_layout_cuda_make(uint64_t rows, uint64_t row_bytes,
                                                   uint64_t resident, uint64_t sum_bytes);

/* Pieces; visits, of which some shares may be left out where resident rows are few. A slab of no
 * rows has none. */
uint64_t amped_slab_pieces_cuda(const amped_slab_layout_cuda *layout);
uint64_t amped_slab_visits_cuda(const amped_slab_layout_cuda *layout);

/* Visit i. Where its share has no row, first is end. */
amped_slab_visit_cuda amped_slab_visit_cuda_at(const amped_slab_layout_cuda *layout, uint64_t i);

/* The most rows of any visit. */
uint64_t amped_slab_most_rows_cuda(const amped_slab_layout_cuda *layout);

/* Bytes of the resident rows, of both buffers, and of the pinned memory. */
uint64_t amped_slab_resident_bytes_cuda(const amped_slab_layout_cuda *layout);
uint64_t amped_slab_buffer_bytes_cuda(const amped_slab_layout_cuda *layout);
uint64_t amped_slab_streamed_bytes_cuda(const amped_slab_layout_cuda *layout);

#ifdef __cplusplus
}
#endif

#endif
