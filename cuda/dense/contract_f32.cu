/* Contractions with float sums: chooses the kernel by cell type and width of a tile. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/dense/contract_cuda.cuh"

/* Launch for cells other than float, with fewer widths of tiles. */
template <typename C>
static amped_status launch_words(const amped_contract_cuda_args *args, contraction<float> p,
                                 int n) {
  return n <= 32 ? launch_columns<C, float, 32>(args, p) : launch_columns<C, float, 64>(args, p);
}

static amped_status launch_floats(const amped_contract_cuda_args *args, contraction<float> p,
                                  int n) {
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

amped_status amped_contract_f32(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                int n) {
  if (args->type == AMPED_CELL_F32 && args->caches.groups && n >= 32)
    return amped_contract_group(args, parts, column, n);
  contraction<float> p = contraction_of<float>(args, parts);
  p.first_column = (unsigned)column;
  switch (args->type) {
  case AMPED_CELL_F32:
    return launch_floats(args, p, n);
  case AMPED_CELL_F64:
    return launch_words<double>(args, p, n);
  default:
    break;
  }
  switch (amped_cell_bytes(args->type)) {
  case 1:
    return launch_words<uint8_t>(args, p, n);
  case 2:
    return launch_words<uint16_t>(args, p, n);
  case 4:
    return launch_words<uint32_t>(args, p, n);
  default:
    return launch_words<uint64_t>(args, p, n);
  }
}
