/* COO buffers of a rank, in device or pinned memory: collect nonzeros, then sort them. */
#include "cuda/load/coo_buffer_cuda.h"

#include <cstring>

#include "cuda/load/sort_boxed_cuda.cuh"

static __device__ bool sort_copy_row(const amped_coo_buffer *buffer, uint64_t k, uint64_t *row) {
  return amped_coo_buffer_row(buffer, k, row);
}

static __device__ uint64_t sort_copy_word(const amped_coo_buffer *buffer, int word, uint64_t row,
                                          uint64_t k) {
  return amped_coo_buffer_word(buffer, word, row, k);
}

static __device__ uint64_t sort_copy_position(const amped_coo_buffer *buffer, int mode,
                                              uint64_t k) {
  return amped_coo_buffer_position(buffer, mode, k);
}

static __device__ double sort_copy_value(const amped_coo_buffer *buffer, uint64_t k) {
  return amped_coo_buffer_value(buffer, k);
}

/* --- memory ---------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, (uint64_t)AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

static uint64_t block_bytes(const amped_plan *plan, uint64_t nnz) {
  uint64_t bytes = aligned(nnz * plan->value_type);
  for (int m = 0; m < plan->order; m++)
    bytes += aligned(nnz * amped_itype_for(plan->dims[m]));
  return bytes;
}

/* Returns the bytes of the plan's tables on the device: positions of every mode, rows of the output
 * mode. */
static uint64_t table_bytes(const amped_plan *plan, int mode) {
  uint64_t bytes = plan->modes[mode].rows.idp_count * sizeof(uint64_t);
  for (int m = 0; m < plan->order; m++)
    bytes += plan->modes[m].rows.idp_count * sizeof(uint64_t);
  return bytes;
}

/* Returns the workspace in bytes for sorting nnz nonzeros in one piece, without CUB's part. */
static uint64_t scratch_bytes(const amped_plan *plan, uint64_t nnz) {
  return nnz * (amped_sort_copy::piece_bytes + amped_plan_nonzero_bytes(plan)) +
         (sizeof(uint64_t) << amped_sort_copy::histogram_bits);
}

/* Returns the fewest nonzeros per piece with which a buffer on the device pays. The device must
 * hold the workspace of such a piece in addition to the buffer. With smaller pieces, kernels read
 * the buffer so often that a buffer in pinned memory is faster. */
static uint64_t good_piece(uint64_t nnz) {
  uint64_t part = nnz / 8;
  return part > amped_sort_copy::least_piece ? part : amped_sort_copy::least_piece;
}

static bool fits_device(const amped_plan *plan, int mode, uint64_t nnz, uint64_t room_bytes) {
  return block_bytes(plan, nnz) + table_bytes(plan, mode) + scratch_bytes(plan, good_piece(nnz)) <=
         room_bytes;
}

void amped_coo_buffer_cuda_bytes(const amped_plan *plan, uint64_t room_bytes,
                                 uint64_t *device_bytes, uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = 0;
  for (int m = 0; m < plan->order; m++) {
    uint64_t nnz = plan->modes[m].copy.rank_nnz[plan->rank];
    uint64_t block = block_bytes(plan, nnz);
    bool on_device = fits_device(plan, m, nnz, room_bytes);
    uint64_t taken = table_bytes(plan, m) + (on_device ? block : 0);
    uint64_t least = scratch_bytes(
        plan, nnz < amped_sort_copy::least_piece ? nnz : amped_sort_copy::least_piece);
    uint64_t left = room_bytes > taken + least ? room_bytes - taken : least;
    uint64_t scratch = scratch_bytes(plan, nnz);
    uint64_t device = taken + (scratch < left ? scratch : left);
    *device_bytes = device > *device_bytes ? device : *device_bytes;
    if (!on_device && block > *host_bytes)
      *host_bytes = block;
  }
}

static amped_status upload_tables(amped_coo_buffer_cuda *b, const amped_plan *plan, int mode,
                                  cudaStream_t stream) {
  const amped_mode_plan *out = &plan->modes[mode];
  AMPED_TRY(amped_cuda_malloc(&b->d_tables, table_bytes(plan, mode), "the plan's tables"));
  uint64_t *at = (uint64_t *)b->d_tables;
  for (int m = 0; m < plan->order; m++) {
    uint64_t count = plan->modes[m].rows.idp_count;
    AMPED_CUDA(cudaMemcpyAsync(at, plan->modes[m].rows.position, count * sizeof *at,
                               cudaMemcpyHostToDevice, stream));
    b->buffer.modes[m].position = at;
    at += count;
  }
  AMPED_CUDA(cudaMemcpyAsync(at, out->copy.row, out->rows.idp_count * sizeof *at,
                             cudaMemcpyHostToDevice, stream));
  b->buffer.rows = at;
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

static amped_status create(amped_coo_buffer_cuda *b, const amped_plan *plan, int mode,
                           uint64_t room_bytes, cudaStream_t stream) {
  static const char what[] = "the nonzeros of a copy";
  uint64_t nnz = plan->modes[mode].copy.rank_nnz[plan->rank];
  uint64_t bytes = block_bytes(plan, nnz);
  amped_coo_buffer_make(&b->buffer, plan, mode);
  b->capacity = nnz;
  b->on_device = fits_device(plan, mode, nnz, room_bytes);
  if (b->on_device)
    AMPED_TRY(amped_cuda_malloc(&b->block, bytes, what));
  else
    AMPED_TRY(amped_cuda_host_alloc(&b->block, bytes, what));
  b->bytes = table_bytes(plan, mode) + (b->on_device ? bytes : 0);
  char *at = (char *)b->block;
  for (int m = 0; m < plan->order; m++) {
    b->buffer.modes[m].indices = at;
    at += aligned(nnz * b->buffer.modes[m].index_bytes);
  }
  b->buffer.values = at;
  return upload_tables(b, plan, mode, stream);
}

void amped_coo_buffer_cuda_free(amped_coo_buffer_cuda *b) {
  if (b->on_device)
    amped_cuda_free(b->block);
  else
    amped_cuda_host_free(b->block);
  amped_cuda_free(b->d_tables);
  memset(b, 0, sizeof *b);
}

/* --- nonzeros -------------------------------------------------------------------------------- */

static amped_status append(const amped_coo_buffer_cuda *b, const void *array, const void *from,
                           uint64_t element_bytes, uint64_t count, cudaStream_t stream) {
  char *to = (char *)array + b->buffer.count * element_bytes;
  AMPED_CUDA(cudaMemcpyAsync(to, from, count * element_bytes, cudaMemcpyDefault, stream));
  return AMPED_OK;
}

/* Round values to the buffer's type, in double, if their type differs or the plan maps them. Device
 * memory. */
template <typename T, typename F>
static __global__ void round_values(const F *from, uint64_t count, amped_value_map map, T *to) {
  for (uint64_t k = thread_number(); k < count; k += grid_threads())
    to[k] = (T)amped_value_map_store(map, (double)from[k]);
}

template <typename F>
static void round_all(const amped_coo_buffer_cuda *b, const void *values, uint64_t count,
                      amped_value_map map, cudaStream_t stream) {
  const F *from = static_cast<const F *>(values);
  const uint64_t done = b->buffer.count;
  if (b->buffer.value_bytes == AMPED_F32)
    round_values<<<blocks_for(count), block_threads, 0, stream>>>(from, count, map,
                                                                  (float *)b->buffer.values + done);
  else
    round_values<<<blocks_for(count), block_threads, 0, stream>>>(
        from, count, map, (double *)b->buffer.values + done);
}

static amped_status append_values(const amped_coo_buffer_cuda *b, const amped_plan *plan,
                                  const amped_nonzeros *nonzeros, cudaStream_t stream) {
  const uint64_t count = nonzeros->count;
  if (nonzeros->value_type == b->buffer.value_bytes && amped_value_map_is_none(plan->map))
    return append(b, b->buffer.values, nonzeros->values, b->buffer.value_bytes, count, stream);
  if (nonzeros->value_type == AMPED_F64)
    round_all<double>(b, nonzeros->values, count, plan->map, stream);
  else
    round_all<float>(b, nonzeros->values, count, plan->map, stream);
  AMPED_CUDA_LAUNCHED("the kernel that rounds values");
  return AMPED_OK;
}

amped_status amped_coo_buffer_cuda_add(amped_coo_buffer_cuda *b, const amped_plan *plan, int mode,
                                       const amped_nonzeros *nonzeros, uint64_t room_bytes,
                                       cudaStream_t stream) {
  if (nonzeros->count == 0)
    return AMPED_OK;
  if (b->capacity == 0)
    AMPED_TRY(create(b, plan, mode, room_bytes, stream));
  if (nonzeros->count > b->capacity - b->buffer.count)
    return amped_coo_buffer_overflow(plan, mode);
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(append(b, b->buffer.modes[m].indices, nonzeros->indices[m],
                     b->buffer.modes[m].index_bytes, nonzeros->count, stream));
  AMPED_TRY(append_values(b, plan, nonzeros, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  b->buffer.count += nonzeros->count;
  return AMPED_OK;
}

amped_status amped_coo_buffer_cuda_sort(amped_coo_buffer_cuda *b, const amped_plan *plan, int mode,
                                        uint64_t room_bytes, amped_copies_cuda *copies,
                                        cudaStream_t stream, uint64_t *repeats) {
  amped_sort_copy_cuda<amped_coo_buffer> sort = {};
  if (b->capacity == 0)
    amped_coo_buffer_make(&b->buffer, plan, mode); /* no nonzeros came: the shard must be empty */
  sort.plan = plan;
  sort.mode = mode;
  sort.total = b->buffer.count;
  sort.words = b->buffer.words;
  sort.word_bits = b->buffer.word_bits;
  sort.row_shift = b->buffer.row_shift;
  sort.nonzeros = b->buffer;
  amped_status status = amped_sort_on_gpu(&sort, room_bytes > b->bytes ? room_bytes - b->bytes : 0,
                                          copies, stream, repeats);
  amped_coo_buffer_cuda_free(b);
  return status;
}
