/* Collects the nonzeros of an ordered copy from a file, then sorts them into boxes on the GPU. */
#include "cuda/boxes/box_incoming_cuda.h"

#include "cuda/load/sort_boxed_cuda.cuh"

/* Nonzeros as batches deliver them, an input of sort_copy_cuda.cuh. Rows and positions are already
 * computed; the key is the row, and the sort is stable. */
struct incoming_nonzeros {
  int mode;
  bool wide, doubles;                    /* rows and positions have 64 bits; values have 64 bits */
  const void *arrays[AMPED_CUDA_ARRAYS]; /* rows, positions in the other modes, values */
};

static __device__ uint64_t incoming_index(const incoming_nonzeros *a, int array, uint64_t k) {
  return a->wide ? static_cast<const uint64_t *>(a->arrays[array])[k]
                 : static_cast<const uint32_t *>(a->arrays[array])[k];
}

static __device__ bool sort_copy_row(const incoming_nonzeros *a, uint64_t k, uint64_t *row) {
  *row = incoming_index(a, 0, k);
  return true;
}

static __device__ uint64_t sort_copy_word(const incoming_nonzeros *, int, uint64_t row, uint64_t) {
  return row;
}

static __device__ uint64_t sort_copy_position(const incoming_nonzeros *a, int mode, uint64_t k) {
  return incoming_index(a, mode < a->mode ? mode + 1 : mode, k);
}

/* Values are the last array. */
static __device__ double sort_copy_value(const incoming_nonzeros *a, uint64_t k) {
  const void *values = a->arrays[AMPED_CUDA_ARRAYS - 1];
  return a->doubles ? static_cast<const double *>(values)[k]
                    : (double)static_cast<const float *>(values)[k];
}

void amped_box_incoming_cuda_free(amped_box_incoming_cuda *a) {
  if (a->on_device)
    amped_cuda_free(a->block);
  else
    amped_cuda_host_free(a->block);
  memset(a, 0, sizeof *a);
}

static uint64_t own_nnz(const amped_plan *plan) {
  return plan->modes[plan->boxed].copy.rank_nnz[plan->rank];
}

static amped_status create(amped_box_incoming_cuda *a, const amped_plan *plan,
                           uint64_t room_bytes) {
  static const char what[] = "the nonzeros of a copy";
  const uint64_t nnz = own_nnz(plan);
  const uint64_t least =
      nnz / 8 > amped_sort_copy::least_piece ? nnz / 8 : amped_sort_copy::least_piece;
  AMPED_TRY(amped_arrays_cuda_make(&a->arrays, plan, plan->boxed, &amped_storage_plain_cuda, nnz));
  a->on_device = a->arrays.bytes +
                     least * (amped_sort_copy::piece_bytes + amped_plan_nonzero_bytes(plan)) +
                     (sizeof(uint64_t) << amped_sort_copy::histogram_bits) <=
                 room_bytes;
  return a->on_device ? amped_cuda_malloc(&a->block, a->arrays.bytes, what)
                      : amped_cuda_host_alloc(&a->block, a->arrays.bytes, what);
}

static uint64_t row_at(const amped_plan *plan, const amped_batch *batch, uint64_t k) {
  return plan->index_type == AMPED_U32 ? static_cast<const uint32_t *>(batch->rows)[k]
                                       : static_cast<const uint64_t *>(batch->rows)[k];
}

static bool rows_ascend(const amped_box_incoming_cuda *a, const amped_plan *plan,
                        const amped_batch *batch) {
  const uint64_t limit = plan->modes[plan->boxed].copy.output_rows;
  uint64_t before = a->last_row;
  bool ascend = true;
  for (uint64_t k = 0; k < batch->count; k++) {
    const uint64_t row = row_at(plan, batch, k);
    ascend = ascend && row >= before;
    before = row;
  }
  return ascend && before < limit;
}

amped_status amped_box_incoming_cuda_add(amped_box_incoming_cuda *a, const amped_plan *plan,
                                         uint64_t offset, const amped_batch *batch,
                                         uint64_t room_bytes, cudaStream_t stream) {
  if (batch->count == 0)
    return AMPED_OK;
  assert(offset == a->count && batch->count <= own_nnz(plan) - offset);
  if (a->block == nullptr)
    AMPED_TRY(create(a, plan, room_bytes));
  if (!rows_ascend(a, plan, batch))
    return amped_error(AMPED_BAD_INPUT, nullptr,
                       "the nonzeros of mode %d's copy are not in order; convert the tensor again",
                       plan->boxed + 1);
  for (int i = 0; i < a->arrays.arrays; i++)
    AMPED_CUDA(cudaMemcpyAsync(amped_arrays_cuda_at(&a->arrays, a->block, i, offset),
                               amped_batch_cuda_array(plan, batch, i),
                               batch->count * a->arrays.element_bytes[i], cudaMemcpyDefault,
                               stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  a->last_row = row_at(plan, batch, batch->count - 1);
  a->count += batch->count;
  return AMPED_OK;
}

amped_status amped_box_incoming_cuda_sort(amped_box_incoming_cuda *a, const amped_plan *plan,
                                          uint64_t room_bytes, amped_copies_cuda *copies,
                                          cudaStream_t stream) {
  const uint64_t rows = plan->modes[plan->boxed].copy.output_rows;
  const uint64_t taken = a->on_device ? a->arrays.bytes : 0;
  const uint8_t row_bits = (uint8_t)(amped_bits_for(rows) > 0 ? amped_bits_for(rows) : 1);
  amped_sort_copy_cuda<incoming_nonzeros> sort = {};
  sort.plan = plan;
  sort.mode = plan->boxed;
  sort.total = a->count;
  sort.words = 1;
  sort.word_bits = &row_bits;
  sort.nonzeros.mode = plan->boxed;
  sort.nonzeros.wide = plan->index_type == AMPED_U64;
  sort.nonzeros.doubles = plan->value_type == AMPED_F64;
  for (int i = 0; i < plan->order && a->block != nullptr; i++)
    sort.nonzeros.arrays[i] = amped_arrays_cuda_at(&a->arrays, a->block, i, 0);
  if (a->block != nullptr)
    sort.nonzeros.arrays[AMPED_CUDA_ARRAYS - 1] =
        amped_arrays_cuda_at(&a->arrays, a->block, plan->order, 0);
  amped_status status = amped_sort_on_gpu(&sort, room_bytes > taken ? room_bytes - taken : 0,
                                          copies, stream, (uint64_t *)nullptr);
  amped_box_incoming_cuda_free(a);
  return status;
}
