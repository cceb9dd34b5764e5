/* Sorts the nonzeros of a packed copy by tiles on the GPU, and unpacks them. */
#include "cuda/sorted/reorder_cuda.h"

#include "cuda/device/grid_cuda.cuh"
#include "cuda/device/sort_cuda.h"

extern "C" {
#include "base/mem.h"
}

constexpr uint64_t most_ranges = (uint64_t)AMPED_MAX_TILES * AMPED_MAX_PARTS;
typedef uint16_t range_number; /* below most_ranges */

/* --- order ----------------------------------------------------------------------------------- */

/* Returns the range of nonzero k of a tile (tiles_cuda.h). The last tiles are ordered by part
 * first; every second part has them in descending order. */
static __device__ uint64_t range_of(const amped_tiles_cuda &tiles, uint64_t tile, uint64_t k) {
  const uint64_t shared = tiles.count - tiles.last;
  int part = 0;
  if (tile < shared)
    return tile;
  while (part + 1 < tiles.parts && k >= tiles.part_nnz[part])
    part++;
  const uint64_t at = tile - shared;
  return shared + (uint64_t)part * tiles.last + (part % 2 == 0 ? at : tiles.last - 1 - at);
}

template <typename number>
static __global__ void number_ranges(const amped_packed_cuda copy, const amped_tiles_cuda tiles,
                                     range_number *ranges, number *order) {
  const int input = tiles.input;
  for (uint64_t k = thread_number(); k < copy.nnz; k += grid_threads()) {
    uint64_t words[AMPED_MAX_PLANES];
    amped_packed_get(&copy.packing, copy.planes, k, words);
    const uint64_t at =
        amped_packed_field(words, copy.packing.shifts[input], copy.packing.bits[input]);
    ranges[k] = (range_number)range_of(tiles, at / tiles.rows, k);
    order[k] = (number)k;
  }
}

/* ends[i] = number of nonzeros of ranges up to i; `ranges` ascends. */
static __global__ void find_ends(const range_number *ranges, uint64_t nnz, uint64_t count,
                                 uint64_t *ends) {
  const uint64_t t = thread_number();
  if (t >= count)
    return;
  uint64_t low = 0;
  uint64_t high = nnz;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (ranges[middle] <= t)
      low = middle + 1;
    else
      high = middle;
  }
  ends[t] = low;
}

static int bits_of(uint64_t count) {
  int bits = 1;
  while ((count - 1) >> bits != 0)
    bits++;
  return bits;
}

static amped_status count_ranges(const range_number *d_ranges, uint64_t nnz, uint64_t count,
                                 uint64_t *range_nnz, void *d_ends, cudaStream_t stream) {
  find_ends<<<blocks_for(count), block_threads, 0, stream>>>(d_ranges, nnz, count,
                                                             (uint64_t *)d_ends);
  AMPED_CUDA_LAUNCHED("the ends of tiles");
  AMPED_CUDA(cudaMemcpyAsync(range_nnz, d_ends, count * sizeof *range_nnz, cudaMemcpyDeviceToHost,
                             stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  for (uint64_t t = count - 1; t > 0; t--)
    range_nnz[t] -= range_nnz[t - 1];
  return AMPED_OK;
}

/* Sort by range. One block of memory holds two arrays of places, two arrays of ranges, the ends,
 * and CUB's workspace. */
template <typename number>
static amped_status sort(const amped_packed_cuda *copy, const amped_tiles_cuda *tiles,
                         uint64_t *range_nnz, void **d_block, void **d_order, cudaStream_t stream) {
  const uint64_t nnz = copy->nnz;
  const uint64_t padded = amped_ceil_div(nnz, UINT64_C(64)) * 64;
  const uint64_t arrays = padded * 2 * (sizeof(range_number) + sizeof(number));
  amped_sort_cuda pairs = {.key_bytes = (int)sizeof(range_number),
                           .number_bytes = (int)sizeof(number),
                           .bits = bits_of(amped_tiles_cuda_ranges(tiles)),
                           .count = nnz};
  size_t bytes = 0;
  AMPED_TRY(amped_sort_cuda_bytes(&pairs, &bytes));
  AMPED_TRY(amped_cuda_malloc(d_block, arrays + most_ranges * sizeof(uint64_t) + bytes,
                              "ordering a copy by tiles"));
  char *const at = (char *)*d_block;
  number *const d_places = (number *)at;
  range_number *const d_ranges = (range_number *)(at + padded * 2 * sizeof(number));
  void *const d_ends = at + arrays;
  void *const d_temporary = at + arrays + most_ranges * sizeof(uint64_t);
  number_ranges<<<blocks_for(nnz), block_threads, 0, stream>>>(*copy, *tiles, d_ranges, d_places);
  AMPED_CUDA_LAUNCHED("the numbers of ranges");
  for (int i = 0; i < 2; i++) {
    pairs.d_keys[i] = d_ranges + (uint64_t)i * padded;
    pairs.d_numbers[i] = d_places + (uint64_t)i * padded;
  }
  AMPED_TRY(amped_sort_cuda_run(&pairs, d_temporary, bytes, stream));
  *d_order = pairs.d_numbers[0];
  return count_ranges(static_cast<const range_number *>(pairs.d_keys[0]), nnz,
                      amped_tiles_cuda_ranges(tiles), range_nnz, d_ends, stream);
}

static amped_itype order_type(uint64_t nnz) {
  return nnz <= UINT32_MAX ? AMPED_U32 : AMPED_U64;
}

amped_status amped_reorder_cuda_sort(const amped_packed_cuda *copy, const amped_tiles_cuda *tiles,
                                     uint64_t *range_nnz, void **d_block, void **d_order,
                                     cudaStream_t stream) {
  *d_block = nullptr;
  return order_type(copy->nnz) == AMPED_U32
             ? sort<uint32_t>(copy, tiles, range_nnz, d_block, d_order, stream)
             : sort<uint64_t>(copy, tiles, range_nnz, d_block, d_order, stream);
}

/* --- unpack ---------------------------------------------------------------------------------- */

/* Returns the output row of nonzero k of the whole copy, from its pack's entry of the row list, and
 * the row bits from there to k. */
template <typename index>
static __device__ index row_of(const amped_packed_cuda &copy, uint64_t k) {
  const uint64_t pack_first = k / copy.packing.pack * copy.packing.pack;
  uint64_t entry = static_cast<const index *>(copy.starts)[k / copy.packing.pack];
  uint32_t word = copy.bits[pack_first / 32] & ~1U;
  for (uint64_t w = pack_first / 32; w < k / 32; w++) {
    entry += (uint64_t)__popc(word);
    word = copy.bits[w + 1];
  }
  entry += (uint64_t)__popc(word & (~0U >> (31 - k % 32)));
  return static_cast<const index *>(copy.rows)[entry];
}

/* The arrays of an unpacked batch. */
typedef struct batch_arrays {
  void *rows;
  void *inputs[AMPED_MAX_ORDER - 1];
  void *values;
} batch_arrays;

template <typename value, typename index, typename number>
static __global__ void unpack(const amped_packed_cuda copy, const number *order, uint64_t count,
                              batch_arrays out) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    const uint64_t k = order != nullptr ? order[i] : i;
    uint64_t words[AMPED_MAX_PLANES];
    amped_packed_get(&copy.packing, copy.planes, k, words);
    static_cast<index *>(out.rows)[i] = row_of<index>(copy, copy.first + k);
    for (int m = 0; m < copy.packing.inputs; m++)
      static_cast<index *>(out.inputs[m])[i] =
          (index)amped_packed_field(words, copy.packing.shifts[m], copy.packing.bits[m]);
    static_cast<value *>(out.values)[i] =
        copy.packing.coded ? static_cast<const value *>(copy.dictionary)[amped_packed_field(
                                 words, copy.packing.value_shift, copy.packing.value_bits)]
                           : static_cast<const value *>(copy.values)[k];
  }
}

template <typename value, typename index>
static amped_status unpack_launch(const amped_packed_cuda *copy, const void *d_order,
                                  uint64_t first, uint64_t count, const batch_arrays &out,
                                  cudaStream_t stream) {
  if (order_type(copy->nnz) == AMPED_U32)
    unpack<value, index><<<blocks_for(count), block_threads, 0, stream>>>(
        *copy, static_cast<const uint32_t *>(d_order) + first, count, out);
  else
    unpack<value, index><<<blocks_for(count), block_threads, 0, stream>>>(
        *copy, static_cast<const uint64_t *>(d_order) + first, count, out);
  AMPED_CUDA_LAUNCHED("the unpacking kernel");
  return AMPED_OK;
}

amped_status amped_reorder_cuda_unpack(const amped_packed_cuda *copy, const void *d_order,
                                       uint64_t first, uint64_t count, const amped_batch *batch,
                                       cudaStream_t stream) {
  batch_arrays out = {};
  out.rows = const_cast<void *>(batch->rows);
  for (int i = 0; i < copy->packing.inputs; i++)
    out.inputs[i] = const_cast<void *>(batch->inputs[i]);
  out.values = const_cast<void *>(batch->values);
  if (copy->value_type == AMPED_F32)
    return copy->index_type == AMPED_U32
               ? unpack_launch<float, uint32_t>(copy, d_order, first, count, out, stream)
               : unpack_launch<float, uint64_t>(copy, d_order, first, count, out, stream);
  return copy->index_type == AMPED_U32
             ? unpack_launch<double, uint32_t>(copy, d_order, first, count, out, stream)
             : unpack_launch<double, uint64_t>(copy, d_order, first, count, out, stream);
}
