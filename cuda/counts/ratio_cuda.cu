/* Ratios on a GPU: weights, positions of shared rows, and sums of thread blocks. */
#include "cuda/counts/ratio_cuda.h"

#include "cuda/device/buffers_cuda.h"
#include "cuda/factor/factor_set_cuda.h"

extern "C" {
#include "base/mem.h"
}

static const char what[] = "the sums of counts";

struct amped_ratio_cuda {
  const amped_plan *plan;
  int ncomps;                      /* components that there is memory for */
  char *d_weights;                 /* [ld] of the value type */
  char *d_shared[AMPED_MAX_ORDER]; /* positions of the shared rows, of the index type */
  char *h_numbers;                 /* [ld] elements to upload */
  amped_ratio_sums *d_sums;        /* [blocks] sums of thread blocks */
  amped_ratio_sums *h_sums;
  uint64_t blocks; /* elements of the last two */
  bool sums;       /* the current pass has sums */
};

namespace {

/* Least nonzeros of a thread block, except of the last block of a segment: AMPED_BLOCK_THREADS / 32
 * groups with a pack each. */
constexpr uint64_t least_unit = AMPED_BLOCK_THREADS / 32 * 32;

/* Rows of mode's output after the own rows. */
uint64_t shared_rows(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t first = 0;
  uint64_t end = 0;
  amped_plan_shared_idps(m, plan->rank, &first, &end);
  return first < end ? m->copy.splits[end].row - m->copy.splits[first].row : 0;
}

/* An upper bound of the thread blocks of any mode. Copies in tiles and pieces have some more
 * segments. */
uint64_t most_blocks(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t nnz = plan->modes[m].copy.rank_nnz[plan->rank];
    const uint64_t blocks = amped_ceil_div(nnz, least_unit) + 1;
    most = blocks > most ? blocks : most;
  }
  return most;
}

amped_buffers buffers(amped_ratio_cuda *r, const amped_plan *plan) {
  amped_buffers b = {};
  b.what = what;
  AMPED_BUFFER(&b, DEVICE, r->d_weights, amped_plan_row_bytes(plan));
  AMPED_BUFFER(&b, ZEROED, r->h_numbers, amped_plan_row_bytes(plan));
  for (int m = 0; m < plan->order; m++)
    AMPED_BUFFER_OF(&b, DEVICE, r->d_shared[m], shared_rows(plan, m), (uint64_t)plan->index_type);
  return b;
}

amped_buffers sum_buffers(amped_ratio_cuda *r, uint64_t blocks) {
  amped_buffers b = {};
  b.what = what;
  AMPED_BUFFER(&b, DEVICE, r->d_sums, blocks);
  AMPED_BUFFER(&b, HOST, r->h_sums, blocks);
  return b;
}

void require(const amped_device *, const amped_plan *plan, uint64_t *device_bytes,
             uint64_t *host_bytes) {
  amped_ratio_cuda none = {};
  amped_buffers_require(buffers(&none, plan), device_bytes, host_bytes);
  amped_buffers_require(sum_buffers(&none, most_blocks(plan)), device_bytes, host_bytes);
}

/* Upload the positions of mode's shared rows. */
amped_status put_shared(amped_tensor_part *part, int mode) {
  const amped_plan *plan = part->plan;
  const uint64_t count = shared_rows(plan, mode);
  const uint64_t own = plan->modes[mode].rows.block_rows;
  const uint64_t bytes = count * (uint64_t)plan->index_type;
  void *positions = nullptr;
  if (count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&positions, bytes, 1, what));
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t position = amped_plan_row_position(plan, mode, own + i);
    if (plan->index_type == AMPED_U32)
      static_cast<uint32_t *>(positions)[i] = (uint32_t)position;
    else
      static_cast<uint64_t *>(positions)[i] = position;
  }
  amped_status status =
      amped_cuda_check(cudaMemcpyAsync(part->ratio->d_shared[mode], positions, bytes,
                                       cudaMemcpyHostToDevice, part->device->stream),
                       "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(part->device->stream), "cudaStreamSynchronize");
  amped_free(positions);
  return status;
}

/* Make room for the sums of all blocks. Their number changes with the number of components. */
amped_status require_blocks(amped_tensor_part *part) {
  amped_ratio_cuda *const r = part->ratio;
  uint64_t blocks = 1;
  for (int m = 0; m < part->plan->order; m++) {
    const uint64_t some = part->copies.copies[m].work.work.blocks;
    blocks = some > blocks ? some : blocks;
  }
  if (blocks <= r->blocks)
    return AMPED_OK;
  amped_buffers_cuda_free(sum_buffers(r, r->blocks));
  r->blocks = 0;
  AMPED_TRY(amped_buffers_cuda_allocate(sum_buffers(r, blocks)));
  r->blocks = blocks;
  return AMPED_OK;
}

amped_status make(amped_tensor_part *part) {
  AMPED_TRY(amped_buffers_cuda_allocate(buffers(part->ratio, part->plan)));
  for (int m = 0; m < part->plan->order; m++)
    AMPED_TRY(put_shared(part, m));
  return require_blocks(part);
}

amped_status prepare(amped_tensor_part *part) {
  if (part->ratio != nullptr && part->ratio->ncomps == part->plan->ncomps)
    return require_blocks(part);
  amped_ratio_cuda_free(part->ratio);
  part->ratio = nullptr;
  AMPED_TRY(amped_calloc(&part->ratio, 1, sizeof *part->ratio, what));
  part->ratio->plan = part->plan;
  part->ratio->ncomps = part->plan->ncomps;
  const amped_status status = make(part);
  if (status != AMPED_OK) {
    amped_ratio_cuda_free(part->ratio);
    part->ratio = nullptr;
  }
  return status;
}

/* Upload the weights. Padding is 0. */
amped_status put_weights(amped_tensor_part *part, const amped_ratio *ratio) {
  const amped_plan *plan = part->plan;
  amped_ratio_cuda *const r = part->ratio;
  for (uint64_t c = 0; c < plan->ld; c++)
    amped_value_put(r->h_numbers, plan->value_type, c,
                    c < (uint64_t)plan->ncomps ? ratio->weights[c] : 0.0);
  AMPED_CUDA(cudaMemcpyAsync(r->d_weights, r->h_numbers, amped_plan_row_bytes(plan),
                             cudaMemcpyHostToDevice, part->device->stream));
  return AMPED_OK;
}

amped_status begin(amped_tensor_part *part, int mode, const amped_ratio *ratio) {
  const amped_plan *plan = part->plan;
  amped_ratio_cuda *const r = part->ratio;
  amped_ratio_cuda_args numbers = {};
  amped_mttkrp_cuda_args args = {};
  r->sums = ratio->sums;
  AMPED_TRY(put_weights(part, ratio));
  numbers.rows = amped_factor_set_cuda_rows(part->factors, mode);
  numbers.first = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  numbers.own = plan->modes[mode].rows.block_rows;
  numbers.shared = r->d_shared[mode];
  numbers.weights = r->d_weights;
  numbers.least = ratio->least;
  numbers.sums = ratio->sums ? r->d_sums : nullptr;
  args.value_type = plan->value_type;
  args.index_type = plan->index_type;
  args.inputs = plan->order - 1;
  args.ncomps = plan->ncomps;
  args.ld = plan->ld;
  for (int m = 0, input = 0; m < plan->order; m++)
    if (m != mode)
      args.factors[input++] = amped_factor_set_cuda_rows(part->factors, m);
  args.output = amped_factor_set_cuda_output(part->factors);
  args.ratio = &numbers;
  args.stream = part->device->stream;
  return amped_copies_cuda_begin(&part->copies, mode, &args,
                                 plan->modes[mode].copy.output_rows * amped_plan_row_bytes(plan));
}

/* Add the sums of the thread blocks, in their order. */
amped_status add_sums(amped_tensor_part *part, int mode, amped_ratio_sums *sums) {
  amped_ratio_cuda *const r = part->ratio;
  const uint64_t blocks = part->copies.copies[mode].work.work.blocks;
  AMPED_CUDA(cudaMemcpyAsync(r->h_sums, r->d_sums, blocks * sizeof *r->h_sums,
                             cudaMemcpyDeviceToHost, part->device->stream));
  AMPED_CUDA(cudaStreamSynchronize(part->device->stream));
  for (uint64_t b = 0; b < blocks; b++) {
    sums->values += r->h_sums[b].values;
    sums->logs += r->h_sums[b].logs;
    sums->negative += r->h_sums[b].negative;
    sums->fractions += r->h_sums[b].fractions;
    sums->low += r->h_sums[b].low;
  }
  return AMPED_OK;
}

amped_status wait(amped_tensor_part *part, int mode, int block_part, amped_mttkrp_times *times,
                  amped_ratio_sums *sums) {
  if (block_part + 1 < part->plan->modes[mode].rows.parts)
    return amped_copies_cuda_wait(&part->copies, mode, block_part);
  AMPED_TRY(amped_copies_cuda_finish(&part->copies, mode, times));
  return part->ratio->sums ? add_sums(part, mode, sums) : AMPED_OK;
}

} // namespace

void amped_ratio_cuda_free(amped_ratio_cuda *r) {
  if (r == nullptr)
    return;
  amped_buffers_cuda_free(buffers(r, r->plan));
  amped_buffers_cuda_free(sum_buffers(r, r->blocks));
  amped_free(r);
}

const amped_ratio_ops amped_ratio_cuda_ops = {
    .require = require,
    .prepare = prepare,
    .begin = begin,
    .wait = wait,
};
