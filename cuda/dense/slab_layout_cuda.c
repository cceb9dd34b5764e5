/* Divides a rank's slab into resident rows and streamed pieces. */
#include "cuda/dense/slab_layout_cuda.h"

/* Size and least number of pieces. The transfer of a piece takes a few milliseconds, which hides
 * launches. With fewer pieces, kernels would wait long for the first one, and the link for the
 * last. */
#define PIECE_BYTES (UINT64_C(128) << 20)
#define PIECES 8

/* If every visit adds to the same sums, a piece has at least 1/SUMS_SHARE of their bytes. Reading
 * and writing the sums then takes less time than the piece's transfer. */
#define SUMS_SHARE 4
#define BUFFERS 2

amped_slab_layout_cuda amped_slab_layout_cuda_make(uint64_t rows, uint64_t row_bytes,
                                                   uint64_t resident, uint64_t sum_bytes) {
  const uint64_t bytes =
      sum_bytes / SUMS_SHARE > PIECE_BYTES ? sum_bytes / SUMS_SHARE : PIECE_BYTES;
  amped_slab_layout_cuda l = {.rows = rows, .row_bytes = row_bytes, .resident = resident};
  const uint64_t streamed = rows - resident;
  if (streamed == 0)
    return l;
  l.piece = row_bytes < bytes ? bytes / row_bytes : 1;
  if (l.piece > (streamed - 1) / PIECES + 1)
    l.piece = (streamed - 1) / PIECES + 1;
  return l;
}

uint64_t amped_slab_pieces_cuda(const amped_slab_layout_cuda *l) {
  const uint64_t streamed = l->rows - l->resident;
  return streamed == 0 ? 0 : (streamed - 1) / l->piece + 1;
}

uint64_t amped_slab_visits_cuda(const amped_slab_layout_cuda *l) {
  const uint64_t pieces = amped_slab_pieces_cuda(l);
  return pieces > 0 ? 2 * pieces : l->rows > 0 ? 1 : 0;
}

/* Returns the first row of share i. If shares differ, the first ones have one row more. */
static uint64_t share_begin(const amped_slab_layout_cuda *l, uint64_t pieces, uint64_t i) {
  const uint64_t more = l->resident % pieces;
  return l->resident / pieces * i + (i < more ? i : more);
}

amped_slab_visit_cuda amped_slab_visit_cuda_at(const amped_slab_layout_cuda *l, uint64_t i) {
  const uint64_t pieces = amped_slab_pieces_cuda(l);
  const uint64_t number = i / 2;
  amped_slab_visit_cuda v = {.end = l->rows};
  if (pieces == 0)
    return v;
  v.number = number;
  if (i % 2 == 0) {
    v.first = share_begin(l, pieces, number);
    v.end = share_begin(l, pieces, number + 1);
    return v;
  }
  v.streamed = true;
  v.first = l->resident + number * l->piece;
  v.end = l->rows - v.first < l->piece ? l->rows : v.first + l->piece;
  return v;
}

uint64_t amped_slab_most_rows_cuda(const amped_slab_layout_cuda *l) {
  const uint64_t pieces = amped_slab_pieces_cuda(l);
  if (pieces == 0)
    return l->rows;
  const uint64_t share = share_begin(l, pieces, 1);
  return share > l->piece ? share : l->piece;
}

uint64_t amped_slab_resident_bytes_cuda(const amped_slab_layout_cuda *l) {
  return l->resident * l->row_bytes;
}

uint64_t amped_slab_buffer_bytes_cuda(const amped_slab_layout_cuda *l) {
  return BUFFERS * l->piece * l->row_bytes;
}

uint64_t amped_slab_streamed_bytes_cuda(const amped_slab_layout_cuda *l) {
  return (l->rows - l->resident) * l->row_bytes;
}
