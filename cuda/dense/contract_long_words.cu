/* Contractions with float sums of double cells and of integers of 4 and 8 bytes: chooses the kernel
 * by cell type, with fewer widths of tiles than float cells have. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/dense/contract_cuda.cuh"

amped_status amped_contract_long_words(const amped_contract_cuda_args *args, uint64_t parts,
                                       int column, int n) {
  if (args->type == AMPED_CELL_F64)
    return launch_words<double>(args, parts, column, n);
  return amped_cell_bytes(args->type) == 4 ? launch_words<uint32_t>(args, parts, column, n)
                                           : launch_words<uint64_t>(args, parts, column, n);
}
