/* Contractions of dense tensors: tile sizes, number of parts, and the sum of the parts. */
#include "cuda/dense/contract_kernels_cuda.h"

#include "cuda/device/grid_cuda.cuh"

/* Fewest stages of a part, if the contracted indices k are divided into parts. */
#define LEAST_STAGES 4
/* Waves of thread blocks from which on parts are not needed: a short last wave costs little. */
#define MANY_TURNS 8

namespace {

/* T = the sums of all parts, added in their order. */
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

/* Returns the columns of a tile of T from `column` on: the smallest width that holds the columns
 * left, at most the widest that kernels have. */
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

static bool takes_groups(const amped_contract_cuda_args *args) {
  return args->caches.groups && args->type == AMPED_CELL_F32 && args->value_type == AMPED_F32;
}

/* Rows of a tile of n columns, and number of such tiles that a multiprocessor works on at a
 * time. */
static void tile_shape(const amped_contract_cuda_args *args, int n, uint64_t *rows,
                       uint64_t *at_once) {
  const int bytes = n * (int)args->value_type;
  *rows = bytes > 256 ? 128 : 256;
  *at_once = bytes <= 128 ? 2 : 1;
  if (takes_groups(args) && n >= 32) {
    *rows = n == 32 ? 256 : n == 64 ? 192 : 128;
    *at_once = 1;
  }
}

/* Parts of the k of rows first .. end, if tiles are few: enough to keep all multiprocessors at work
 * to the end. A part costs as much time as the stages that load the bytes of its sums. */
uint64_t amped_contract_cuda_parts(const amped_contract_cuda_args *args) {
  const uint64_t deep = amped_cell_bytes(args->type) == 8 ? 16 : 32;
  const uint64_t most = args->mid < AMPED_CONTRACT_ROWS ? args->mid : AMPED_CONTRACT_ROWS;
  const uint64_t steps = amped_ceil_div(most, deep);
  const int n = tile_columns(args, 0);
  const uint64_t costs = LEAST_STAGES + (uint64_t)n / 8;
  uint64_t rows = 0;
  uint64_t at_once = 0;
  tile_shape(args, n, &rows, &at_once);
  const uint64_t tiles = amped_ceil_div(args->lead * args->trail, rows);
  const uint64_t blocks = (uint64_t)args->caches.multiprocessors * at_once;
  if (tiles == 0 || steps == 0 || tiles >= MANY_TURNS * blocks)
    return 1;
  uint64_t best = 1;
  uint64_t least = amped_ceil_div(tiles, blocks) * steps;
  const uint64_t end = MANY_TURNS * amped_ceil_div(blocks, tiles);
  for (uint64_t parts = 2; parts <= end && parts <= steps / LEAST_STAGES; parts++) {
    const uint64_t turns = amped_ceil_div(tiles * parts, blocks);
    const uint64_t stages = turns * (amped_ceil_div(steps, parts) + costs);
    if (stages < least) {
      least = stages;
      best = parts;
    }
  }
  return amped_ceil_div(steps, amped_ceil_div(steps, best));
}

uint64_t amped_contract_cuda_split(const amped_contract_cuda_args *args) {
  const uint64_t most = args->mid < AMPED_CONTRACT_ROWS ? args->mid : AMPED_CONTRACT_ROWS;
  if (!takes_groups(args))
    return 0;
  return amped_ceil_div(most, AMPED_CONTRACT_STEP) * AMPED_CONTRACT_STEP *
         amped_contract_cuda_columns(args->value_type, args->ncomps) * 8;
}

bool amped_contract_cuda_needs_sums(const amped_contract_cuda_args *args) {
  return args->mid > AMPED_CONTRACT_RANGE || amped_contract_cuda_parts(args) > 1;
}

static amped_status add_all_parts(const amped_contract_cuda_args *args) {
  const uint64_t elements = args->lead * args->trail * (uint64_t)args->ncomps;
  if (args->value_type == AMPED_F32)
    add_parts<<<blocks_for(elements), block_threads, 0, args->stream>>>(
        args->sums, elements, args->parts, static_cast<float *>(args->out));
  else
    add_parts<<<blocks_for(elements), block_threads, 0, args->stream>>>(
        args->sums, elements, args->parts, static_cast<double *>(args->out));
  AMPED_CUDA_LAUNCHED("the kernel that adds parts up");
  return AMPED_OK;
}

amped_status amped_contract_cuda(const amped_contract_cuda_args *args) {
  const uint64_t parts = amped_contract_cuda_parts(args);
  for (int column = 0; column < args->ncomps;) {
    const int n = tile_columns(args, column);
    AMPED_TRY(args->value_type == AMPED_F32 ? amped_contract_f32(args, parts, column, n)
                                            : amped_contract_f64(args, parts, column, n));
    column += n;
  }
  if (args->sums != nullptr && !args->more)
    return add_all_parts(args);
  return AMPED_OK;
}
