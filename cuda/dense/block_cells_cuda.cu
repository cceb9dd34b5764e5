/* Kernels that gather cells of a slab, and that sum a model's squared errors. */
#include "cuda/dense/block_cells_cuda.h"

#include "cuda/dense/cells_cuda.cuh"
#include "cuda/device/grid_cuda.cuh"

namespace {

constexpr unsigned warp = 32;
constexpr unsigned most_in_y = 65535;

/* Returns the address of a row's first byte. */
__device__ inline const char *row_at(const amped_slab_cells_cuda &s, uint64_t row) {
  if (row < s.resident)
    return s.d_resident + row * s.row_bytes;
  row -= s.resident;
  return s.d_pieces[row / s.piece] + row % s.piece * s.row_bytes;
}

struct index_arrays {
  const uint64_t *of[AMPED_MAX_ORDER];
};

/* Cells that a lane loads at a time. */
constexpr unsigned ahead = 8;

/* *rest = *rest / by; returns the remainder. Uses 32 bits if both fit, because 64-bit divisions
 * take several times as long. */
__device__ inline uint64_t divide(uint64_t *rest, uint64_t by) {
  if ((*rest | by) >> 32 == 0) {
    const uint32_t whole = (uint32_t)*rest / (uint32_t)by;
    const uint32_t left = (uint32_t)*rest - whole * (uint32_t)by;
    *rest = whole;
    return left;
  }
  const uint64_t left = *rest % by;
  *rest /= by;
  return left;
}

/* out[i] = from[along[i]]; a warp works on it together. */
template <typename W>
__device__ inline void pack_fibre(const W *from, const uint64_t *along, uint64_t length, W *out) {
  for (uint64_t first = threadIdx.x % warp; first < length; first += ahead * warp) {
    W cells[ahead];
#pragma unroll
    for (unsigned u = 0; u < ahead; u++)
      if (first + u * warp < length)
        cells[u] = from[along[first + u * warp]];
#pragma unroll
    for (unsigned u = 0; u < ahead; u++)
      if (first + u * warp < length)
        out[first + u * warp] = cells[u];
  }
}

/* A warp packs one fibre of the fastest mode at a time. */
template <typename W>
__global__ void __launch_bounds__(block_threads)
    pack_blocks(const amped_slab_cells_cuda s, const index_arrays indices,
                const amped_block_place_cuda *places, uint64_t count, char *cells) {
  const int last = s.order - 1;
  for (uint64_t b = blockIdx.y; b < count; b += gridDim.y) {
    const amped_block_place_cuda &p = places[b];
    const uint64_t length = p.dims[last];
    const uint64_t *along = indices.of[last] + p.first[last];
    W *const out = reinterpret_cast<W *>(cells + p.begin);
    uint64_t fibres = 1;
    for (int k = 0; k < last; k++)
      fibres *= p.dims[k];
    for (uint64_t f = thread_number() / warp; f < fibres; f += grid_threads() / warp) {
      uint64_t rest = f;
      uint64_t stride = s.dims[last];
      uint64_t cell = 0;
      for (int k = last - 1; k > 0; k--) {
        cell += indices.of[k][p.first[k] + divide(&rest, p.dims[k])] * stride;
        stride *= s.dims[k];
      }
      const char *row = row_at(s, indices.of[0][p.first[0] + rest]);
      pack_fibre(reinterpret_cast<const W *>(row) + cell, along, length, out + f * length);
    }
  }
}

__global__ void __launch_bounds__(block_threads)
    get_cells(const amped_slab_cells_cuda s, uint64_t count, const uint64_t *indices, double *out) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads()) {
    uint64_t cell = 0;
    for (int k = 1; k < s.order; k++)
      cell = cell * s.dims[k] + indices[(uint64_t)k * count + i];
    out[i] = cell_at(row_at(s, indices[i]), s.type, cell);
  }
}

template <typename T>
__device__ double model_at(const amped_model_cuda &m, uint64_t count, const uint64_t *positions) {
  double sum = 0.0;
  for (int r = 0; r < m.ncomps; r++) {
    double product = m.d_weights[r];
    for (int k = 0; k < m.order; k++)
      product *=
          (double)static_cast<const T *>(m.d_rows[k])[positions[(uint64_t)k * count] * m.ld + r];
    sum += product;
  }
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    subtract_model(const amped_model_cuda m, uint64_t count, const uint64_t *positions,
                   double *cells) {
  for (uint64_t i = thread_number(); i < count; i += grid_threads())
    cells[i] -= model_at<T>(m, count, positions + i);
}

} // namespace

amped_status amped_block_cells_cuda_pack(const amped_slab_cells_cuda *slab, uint64_t count,
                                         const amped_block_place_cuda *d_places,
                                         const uint64_t *const *d_indices, uint64_t fibres,
                                         void *d_cells, cudaStream_t stream) {
  index_arrays indices = {};
  const dim3 grid(blocks_for(fibres * warp), (unsigned)(count < most_in_y ? count : most_in_y), 1);
  char *const to = static_cast<char *>(d_cells);
  for (int k = 0; k < slab->order; k++)
    indices.of[k] = d_indices[k];
  if (count == 0 || fibres == 0)
    return AMPED_OK;
  switch (amped_cell_bytes(slab->type)) {
  case 1:
    pack_blocks<uint8_t><<<grid, block_threads, 0, stream>>>(*slab, indices, d_places, count, to);
    break;
  case 2:
    pack_blocks<uint16_t><<<grid, block_threads, 0, stream>>>(*slab, indices, d_places, count, to);
    break;
  case 4:
    pack_blocks<uint32_t><<<grid, block_threads, 0, stream>>>(*slab, indices, d_places, count, to);
    break;
  default:
    pack_blocks<uint64_t><<<grid, block_threads, 0, stream>>>(*slab, indices, d_places, count, to);
  }
  AMPED_CUDA_LAUNCHED("the kernel that packs blocks");
  return AMPED_OK;
}

amped_status amped_block_cells_cuda_get(const amped_slab_cells_cuda *slab, uint64_t count,
                                        const uint64_t *d_indices, double *d_out,
                                        cudaStream_t stream) {
  if (count == 0)
    return AMPED_OK;
  get_cells<<<blocks_for(count), block_threads, 0, stream>>>(*slab, count, d_indices, d_out);
  AMPED_CUDA_LAUNCHED("the kernel of single cells");
  return AMPED_OK;
}

amped_status amped_misses_cuda(const amped_model_cuda *model, uint64_t count,
                               const uint64_t *d_positions, double *d_cells, cudaStream_t stream) {
  const unsigned blocks = blocks_for(count);
  if (count == 0)
    return AMPED_OK;
  if (model->value_type == AMPED_F32)
    subtract_model<float>
        <<<blocks, block_threads, 0, stream>>>(*model, count, d_positions, d_cells);
  else
    subtract_model<double>
        <<<blocks, block_threads, 0, stream>>>(*model, count, d_positions, d_cells);
  AMPED_CUDA_LAUNCHED("the kernel of a model's misses");
  return AMPED_OK;
}
