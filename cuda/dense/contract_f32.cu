/* Contractions of float cells with float sums: chooses the kernel by width of a tile. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/dense/contract_cuda.cuh"

amped_status amped_contract_f32(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                int n) {
  if (amped_cell_bytes(args->type) < 4)
    return amped_contract_words(args, parts, column, n);
  if (args->type != AMPED_CELL_F32)
    return amped_contract_long_words(args, parts, column, n);
  if (args->caches.groups && n >= 32)
    return amped_contract_group(args, parts, column, n);
  contraction<float> p = contraction_of<float>(args, parts);
  p.first_column = (unsigned)column;
  switch (n) {
  case 16:
    return launch_columns<float, float, 16>(args, p);
  case 32:
    return launch_columns<float, float, 32>(args, p);
  case 64:
    return launch_columns<float, float, 64>(args, p);
  default:
    return launch_columns<float, float, 128>(args, p);
  }
}
