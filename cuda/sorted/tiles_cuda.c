/* Numbers and sizes that follow from the tiles of a copy. */
#include "cuda/sorted/tiles_cuda.h"

amped_tiles_cuda amped_tiles_cuda_none(void) {
  return (amped_tiles_cuda){.count = 1, .rows = UINT64_MAX, .parts = 1};
}

uint32_t amped_tiles_cuda_far_bits(const amped_plan *plan, int mode, int input) {
  const amped_packing *packing = &plan->modes[mode].copy.packing;
  uint32_t most = 0;
  for (int i = 0; i < plan->order - 1; i++)
    if (i != input && packing->bits[i] > most)
      most = packing->bits[i];
  return most;
}

uint64_t amped_tiles_cuda_shared(const amped_tiles_cuda *tiles) {
  return tiles->count - tiles->last;
}

uint64_t amped_tiles_cuda_ranges(const amped_tiles_cuda *tiles) {
  return amped_tiles_cuda_shared(tiles) + (uint64_t)tiles->parts * tiles->last;
}

uint64_t amped_tiles_cuda_segment(const amped_tiles_cuda *tiles, uint64_t nnz) {
  return nnz / tiles->count / (tiles->parts > 1 ? 2 : 1);
}

uint64_t amped_tiles_cuda_list_rows(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t rows) {
  uint64_t all = 0;
  if (!amped_mul(rows, tiles->count, &all))
    all = nnz;
  return all < nnz ? all : nnz;
}

uint64_t amped_tiles_cuda_room(const amped_tiles_cuda *tiles, uint64_t nnz, uint64_t pack) {
  return nnz + (tiles->count > 1 ? amped_tiles_cuda_ranges(tiles) * pack : 0);
}

/* Bytes of two arrays of ranges, and two of places. CUB's workspace is small. */
uint64_t amped_tiles_cuda_sort_bytes(uint64_t nnz) {
  uint64_t place = nnz <= UINT32_MAX ? AMPED_U32 : AMPED_U64;
  return nnz * 2 * (sizeof(uint16_t) + place) + nnz / 2 + (UINT64_C(32) << 20);
}
