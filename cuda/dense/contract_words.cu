/* Contractions with float sums of cells of 1 and 2 bytes: chooses the kernel by their size, with
 * fewer widths of tiles than float cells have. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/dense/contract_cuda.cuh"

amped_status amped_contract_words(const amped_contract_cuda_args *args, uint64_t parts, int column,
                                  int n) {
  return amped_cell_bytes(args->type) == 1 ? launch_words<uint8_t>(args, parts, column, n)
                                           : launch_words<uint16_t>(args, parts, column, n);
}
