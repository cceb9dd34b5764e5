#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/device/grid_cuda.cuh"

/* Stages of a part of the k at least, where rows are few. */
#define LEAST_STAGES 4

namespace {

/* T = the sums of all parts, in their order. */
template <typename T>
__global__ void __launch_bounds__(block_threads)
    add_parts(const double *sums, uint64_t elements, uint64_t parts, T *out) {
  for (uint64_t e = thread_number(); e < elements; e += grid_threads()) {
    double sum = sums[e];
    for (uint64_t i = 1; i < parts; i++)
      sum += sums[i * elements + e];
    out[e] = (T)sum;
  }
}

} // namespace

/* The columns of a tile of T from `column` on: as wide as kernels go, and as few as do. */
static int tile_columns(const amped_contract_cuda_args *args, int column) {
  const int left = args->ncomps - column;
  const bool is_float = args->value_type == AMPED_F32;
  const bool is_cell = args->type == AMPED_CELL_F32 || args->type == AMPED_CELL_F64;
  if (!is_cell && !is_float)
    return 32;
  const int most = is_float && args->type == AMPED_CELL_F32 ? 128 : 64;
  int n = is_float && args->type != AMPED_CELL_F32 ? 32 : 16;
  while (n < left && n < most)
    n *= 2;
  return n;
}

uint64_t amped_contract_cuda_columns(amped_vtype type, int ncomps) {
  (void)type;
  if (ncomps <= 32)
    return 32;
  return ncomps <= 64 ? 64 : amped_ceil_div((uint64_t)ncomps, 128) * 128;
}

/* Parts of the k of rows first .. end: one, unless tiles are fewer than multiprocessors. */
static uint64_t parts_of(const amped_contract_cuda_args *args) {
  const uint64_t deep = amped_cell_bytes(args->type) == 8 ? 16 : 32;
  const uint64_t most = args->mid < AMPED_CONTRACT_ROWS ? args->mid : AMPED_CONTRACT_ROWS;
  const uint64_t steps = amped_ceil_div(most, deep);
  const uint64_t tiles = amped_ceil_div(args->lead * args->trail, (uint64_t)256);
  const uint64_t blocks = (uint64_t)args->caches.multiprocessors;
  if (tiles >= blocks || steps < 2 * LEAST_STAGES)
    return 1;
  const uint64_t wanted = amped_ceil_div(blocks, tiles);
  const uint64_t parts = wanted < steps / LEAST_STAGES ? wanted : steps / LEAST_STAGES;
  return amped_ceil_div(steps, amped_ceil_div(steps, parts));
}

uint64_t amped_contract_cuda_split(const amped_contract_cuda_args *args) {
  const uint64_t most = args->mid < AMPED_CONTRACT_ROWS ? args->mid : AMPED_CONTRACT_ROWS;
  if (!args->caches.groups || args->type != AMPED_CELL_F32 || args->value_type != AMPED_F32)
    return 0;
  return amped_ceil_div(most, AMPED_CONTRACT_STEP) * AMPED_CONTRACT_STEP *
         amped_contract_cuda_columns(args->value_type, args->ncomps) * 8;
}

uint64_t amped_contract_cuda_sums(const amped_contract_cuda_args *args) {
  const uint64_t parts = parts_of(args);
  const uint64_t elements = args->lead * args->trail * (uint64_t)args->ncomps;
  return parts > 1 || args->mid > AMPED_CONTRACT_RANGE ? parts * elements : 0;
}

static amped_status add_all_parts(const amped_contract_cuda_args *args, uint64_t parts) {
  const uint64_t elements = args->lead * args->trail * (uint64_t)args->ncomps;
  if (args->value_type == AMPED_F32)
    add_parts<<<blocks_for(elements), block_threads, 0, args->stream>>>(
        args->sums, elements, parts, static_cast<float *>(args->out));
  else
    add_parts<<<blocks_for(elements), block_threads, 0, args->stream>>>(
        args->sums, elements, parts, static_cast<double *>(args->out));
  AMPED_CUDA_LAUNCHED("the kernel that adds parts up");
  return AMPED_OK;
}

amped_status amped_contract_cuda(const amped_contract_cuda_args *args) {
  const uint64_t parts = parts_of(args);
  for (int column = 0; column < args->ncomps;) {
    const int n = tile_columns(args, column);
    AMPED_TRY(args->value_type == AMPED_F32 ? amped_contract_f32(args, parts, column, n)
                                            : amped_contract_f64(args, parts, column, n));
    column += n;
  }
  if (args->sums != nullptr && args->end == args->mid)
    return add_all_parts(args, parts);
  return AMPED_OK;
}
