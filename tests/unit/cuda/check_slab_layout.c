/* Slab layout: visits take every row once, shares and pieces in turn, each within its bounds. */
#include "tests/lib/testing.h"

#include "cuda/dense/slab_layout_cuda.h"

static void layout_is_right(uint64_t rows, uint64_t row_bytes, uint64_t resident) {
  const amped_slab_layout_cuda l =
      amped_slab_layout_cuda_make(rows, row_bytes, resident, rows * 1000);
  const uint64_t visits = amped_slab_visits_cuda(&l);
  const uint64_t most = amped_slab_most_rows_cuda(&l);
  uint64_t share = 0;
  uint64_t piece = resident;
  for (uint64_t i = 0; i < visits; i++) {
    const amped_slab_visit_cuda v = amped_slab_visit_cuda_at(&l, i);
    uint64_t *const at = v.streamed ? &piece : &share;
    ck_assert_uint_eq(v.first, *at);
    ck_assert_uint_ge(v.end, v.first);
    ck_assert_uint_le(v.end - v.first, most);
    *at = v.end;
    if (visits == 1)
      continue;
    ck_assert_int_eq(v.streamed, i % 2 == 1);
    if (!v.streamed)
      continue;
    ck_assert_uint_eq(v.number, i / 2);
    ck_assert_uint_gt(v.end, v.first);
    ck_assert_uint_le(v.end - v.first, l.piece);
    ck_assert(v.end - v.first == 1 || (v.end - v.first) * row_bytes <= UINT64_C(128) << 20);
  }
  ck_assert_uint_eq(share, resident);
  ck_assert_uint_eq(piece, rows);
  ck_assert_uint_eq(amped_slab_resident_bytes_cuda(&l) + amped_slab_streamed_bytes_cuda(&l),
                    rows * row_bytes);
  ck_assert_uint_eq(amped_slab_buffer_bytes_cuda(&l), 2 * l.piece * row_bytes);
}

START_TEST(visits_take_every_row_once) {
  static const uint64_t bytes[] = {1, 4, 1000003, 50 << 20, UINT64_C(3) << 30};
  for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
    for (uint64_t rows = 0; rows < 40; rows++)
      for (uint64_t resident = 0; resident <= rows; resident++)
        layout_is_right(rows, bytes[b], resident);
  layout_is_right(4000, 64000000, 1700);
  layout_is_right(1000003, 999, 999983);
}
END_TEST

/* What stays as a whole is one visit; of what is streamed there are some pieces, so that transfers
 * and kernels overlap. */
START_TEST(pieces_are_several) {
  amped_slab_layout_cuda l = amped_slab_layout_cuda_make(100, 8, 100, 1);
  ck_assert_uint_eq(amped_slab_visits_cuda(&l), 1);
  ck_assert_uint_eq(amped_slab_buffer_bytes_cuda(&l), 0);
  l = amped_slab_layout_cuda_make(100, 8, 20, 1);
  ck_assert_uint_eq(amped_slab_pieces_cuda(&l), 8);
  l = amped_slab_layout_cuda_make(4000, 64000000, 0, 1);
  ck_assert_uint_eq(l.piece, 2);
  ck_assert_uint_eq(amped_slab_pieces_cuda(&l), 2000);
  l = amped_slab_layout_cuda_make(4000, 64000000, 0, UINT64_C(4096000000));
  ck_assert_uint_eq(l.piece, 16);
}
END_TEST

TESTING_MAIN("slab layout", visits_take_every_row_once, pieces_are_several)
