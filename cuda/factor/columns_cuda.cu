/* Columns of factor rows: the kernel that copies them. */
#include "cuda/factor/columns_cuda.h"

namespace {

constexpr unsigned threads = 256;
constexpr uint64_t most_blocks = 1 << 20;

/* A row of the thread block copies a row, blockDim.x columns at a time. */
template <typename T>
__global__ void copy_columns(const T *from, uint64_t from_ld, uint64_t rows, int columns, T *to,
                             uint64_t to_ld, int to_columns) {
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y; i < rows;
       i += (uint64_t)gridDim.x * blockDim.y)
    for (int c = (int)threadIdx.x; c < to_columns; c += (int)blockDim.x)
      to[i * to_ld + c] = c < columns ? from[i * from_ld + c] : T(0);
}

template <typename T>
void launch(uint64_t rows, int columns, const void *d_from, uint64_t from_ld, void *d_to,
            uint64_t to_ld, int to_columns, cudaStream_t stream) {
  unsigned width = 1;
  while (width < 32 && width < (unsigned)to_columns)
    width *= 2;
  const uint64_t blocks = amped_ceil_div(rows, threads / width);
  copy_columns<T>
      <<<(unsigned)(blocks < most_blocks ? blocks : most_blocks), dim3(width, threads / width), 0,
         stream>>>(static_cast<const T *>(d_from), from_ld, rows, columns, static_cast<T *>(d_to),
                   to_ld, to_columns);
}

} // namespace

amped_status amped_columns_cuda_copy(amped_vtype type, uint64_t rows, int columns,
                                     const void *d_from, uint64_t from_ld, void *d_to,
                                     uint64_t to_ld, int to_columns, cudaStream_t stream) {
  if (rows == 0)
    return AMPED_OK;
  if (type == AMPED_F32)
    launch<float>(rows, columns, d_from, from_ld, d_to, to_ld, to_columns, stream);
  else
    launch<double>(rows, columns, d_from, from_ld, d_to, to_ld, to_columns, stream);
  AMPED_CUDA_LAUNCHED("the kernel that copies columns");
  return AMPED_OK;
}
