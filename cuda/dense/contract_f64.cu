/* Contractions with double sums: chooses the kernel by cell type and width of a tile. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/dense/contract_cuda.cuh"

template <typename C>
static amped_status launch_values(const amped_contract_cuda_args *args, contraction<double> p,
                                  int n) {
  switch (n) {
  case 16:
    return launch_columns<C, double, 16>(args, p);
  case 32:
    return launch_columns<C, double, 32>(args, p);
  default:
    return launch_columns<C, double, 64>(args, p);
  }
}

amped_status amped_contract_f64(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                int n) {
  contraction<double> p = contraction_of<double>(args, parts);
  p.first_column = (unsigned)column;
  switch (args->type) {
  case AMPED_CELL_F32:
    return launch_values<float>(args, p, n);
  case AMPED_CELL_F64:
    return launch_values<double>(args, p, n);
  default:
    break;
  }
  switch (amped_cell_bytes(args->type)) {
  case 1:
    return launch_columns<uint8_t, double, 32>(args, p);
  case 2:
    return launch_columns<uint16_t, double, 32>(args, p);
  case 4:
    return launch_columns<uint32_t, double, 32>(args, p);
  default:
    return launch_columns<uint64_t, double, 32>(args, p);
  }
}
