#include "copies_cuda.h"

#include <cassert>
#include <cstring>

static amped_status clock_create(amped_clock_cuda *clock) {
  AMPED_CUDA(cudaEventCreate(&clock->begin));
  AMPED_CUDA(cudaEventCreate(&clock->end));
  return AMPED_OK;
}

static void clock_destroy(amped_clock_cuda *clock) {
  if (clock->begin != nullptr)
    (void)cudaEventDestroy(clock->begin);
  if (clock->end != nullptr)
    (void)cudaEventDestroy(clock->end);
}

/* Wait for the end of what was timed and add its seconds. */
static amped_status clock_read(const amped_clock_cuda *clock, double *seconds) {
  float milliseconds = 0.0F;
  AMPED_CUDA(cudaEventSynchronize(clock->end));
  AMPED_CUDA(cudaEventElapsedTime(&milliseconds, clock->begin, clock->end));
  *seconds += (double)milliseconds * 1e-3;
  return AMPED_OK;
}

static amped_status create_pieces(amped_copies_cuda *c) {
  for (int i = 0; i < 2; i++) {
    amped_piece_cuda *piece = &c->pieces[i];
    AMPED_TRY(amped_cuda_malloc(&piece->d_block, c->layout.piece_arrays.bytes,
                                "the buffers that nonzeros are streamed through"));
    AMPED_TRY(clock_create(&piece->transfer));
    AMPED_TRY(clock_create(&piece->compute));
  }
  return AMPED_OK;
}

amped_status amped_copies_cuda_create(amped_copies_cuda *c, const amped_plan *plan,
                                      const amped_layout_cuda *layout, cudaStream_t stream) {
  c->plan = plan;
  c->layout = *layout;
  c->stream = stream;
  AMPED_CUDA(cudaStreamCreateWithFlags(&c->transfers, cudaStreamNonBlocking));
  AMPED_TRY(clock_create(&c->clock));
  if (layout->piece > 0)
    AMPED_TRY(create_pieces(c));
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes = layout->copies[m].bytes;
    if (layout->resident[m])
      AMPED_TRY(amped_cuda_malloc(&c->blocks[m], bytes, "a tensor copy"));
    else
      AMPED_TRY(amped_cuda_host_alloc(&c->blocks[m], bytes, "a tensor copy"));
  }
  return AMPED_OK;
}

void amped_copies_cuda_destroy(amped_copies_cuda *c) {
  if (c->transfers != nullptr) {
    (void)cudaStreamSynchronize(c->transfers);
    (void)cudaStreamDestroy(c->transfers);
  }
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    if (c->layout.resident[m])
      amped_cuda_free(c->blocks[m]);
    else
      amped_cuda_host_free(c->blocks[m]);
  }
  for (int i = 0; i < 2; i++) {
    amped_cuda_free(c->pieces[i].d_block);
    clock_destroy(&c->pieces[i].transfer);
    clock_destroy(&c->pieces[i].compute);
  }
  clock_destroy(&c->clock);
  memset(c, 0, sizeof *c);
}

/* Copy count nonzeros between runs in any memory. */
static amped_status copy_run(const amped_plan *plan, const amped_run *to, const amped_run *from,
                             uint64_t count, cudaStream_t stream) {
  uint64_t index_bytes = count * plan->index_type;
  /* A run's pointers are const for its readers; these lead into memory that is ours. */
  AMPED_CUDA(cudaMemcpyAsync((void *)to->rows, from->rows, index_bytes, cudaMemcpyDefault, stream));
  for (int m = 0; m < plan->order - 1; m++)
    AMPED_CUDA(cudaMemcpyAsync((void *)to->inputs[m], from->inputs[m], index_bytes,
                               cudaMemcpyDefault, stream));
  AMPED_CUDA(cudaMemcpyAsync((void *)to->values, from->values, count * plan->value_type,
                             cudaMemcpyDefault, stream));
  return AMPED_OK;
}

static void copy_run_on_host(const amped_plan *plan, const amped_run *to, const amped_run *from) {
  uint64_t index_bytes = from->count * plan->index_type;
  memcpy((void *)to->rows, from->rows, index_bytes);
  for (int m = 0; m < plan->order - 1; m++)
    memcpy((void *)to->inputs[m], from->inputs[m], index_bytes);
  memcpy((void *)to->values, from->values, from->count * plan->value_type);
}

amped_status amped_copies_cuda_upload(amped_copies_cuda *c, int mode, uint64_t offset,
                                      const amped_run *run) {
  const amped_plan *plan = c->plan;
  uint64_t nnz = plan->modes[mode].rank_nnz[plan->rank];
  assert(offset <= nnz && run->count <= nnz - offset);
  (void)nnz;
  if (run->count == 0)
    return AMPED_OK;
  amped_run to = amped_layout_cuda_run(plan, &c->layout.copies[mode], c->blocks[mode], offset);
  if (c->layout.resident[mode]) {
    AMPED_TRY(copy_run(plan, &to, run, run->count, c->stream));
    AMPED_CUDA(cudaStreamSynchronize(c->stream));
  } else {
    copy_run_on_host(plan, &to, run);
  }
  return AMPED_OK;
}

static amped_status compute(const amped_mttkrp_cuda_args *args, const amped_run *run,
                            uint64_t count, amped_kernel kernel) {
  amped_mttkrp_cuda_args a = *args;
  a.run = *run;
  a.run.count = count;
  return amped_mttkrp_cuda(&a, kernel);
}

/* Wait until a piece's buffer is free again and add up what its work took. */
static amped_status finish_piece(amped_piece_cuda *piece, amped_mttkrp_times *times) {
  if (!piece->busy)
    return AMPED_OK;
  piece->busy = false;
  AMPED_TRY(clock_read(&piece->transfer, &times->copy_sec));
  return clock_read(&piece->compute, &times->compute_sec);
}

static amped_status start_piece(amped_copies_cuda *c, amped_piece_cuda *piece,
                                const amped_run *from, uint64_t count, amped_kernel kernel,
                                const amped_mttkrp_cuda_args *args) {
  amped_run to = amped_layout_cuda_run(c->plan, &c->layout.piece_arrays, piece->d_block, 0);
  piece->busy = true;
  AMPED_CUDA(cudaEventRecord(piece->transfer.begin, c->transfers));
  AMPED_TRY(copy_run(c->plan, &to, from, count, c->transfers));
  AMPED_CUDA(cudaEventRecord(piece->transfer.end, c->transfers));
  AMPED_CUDA(cudaStreamWaitEvent(c->stream, piece->transfer.end, 0));
  AMPED_CUDA(cudaEventRecord(piece->compute.begin, c->stream));
  AMPED_TRY(compute(args, &to, count, kernel));
  AMPED_CUDA(cudaEventRecord(piece->compute.end, c->stream));
  return AMPED_OK;
}

static amped_status run_streamed(amped_copies_cuda *c, int mode, amped_kernel kernel,
                                 const amped_mttkrp_cuda_args *args, amped_mttkrp_times *times) {
  uint64_t nnz = c->plan->modes[mode].rank_nnz[c->plan->rank];
  uint64_t count = 0;
  int turn = 0;
  for (uint64_t first = 0; first < nnz; first += count, turn ^= 1) {
    amped_run from =
        amped_layout_cuda_run(c->plan, &c->layout.copies[mode], c->blocks[mode], first);
    count = nnz - first < c->layout.piece ? nnz - first : c->layout.piece;
    AMPED_TRY(finish_piece(&c->pieces[turn], times));
    AMPED_TRY(start_piece(c, &c->pieces[turn], &from, count, kernel, args));
  }
  AMPED_TRY(finish_piece(&c->pieces[turn], times));
  return finish_piece(&c->pieces[turn ^ 1], times);
}

amped_status amped_copies_cuda_mttkrp(amped_copies_cuda *c, int mode, amped_kernel kernel,
                                      const amped_mttkrp_cuda_args *args, uint64_t output_bytes,
                                      amped_mttkrp_times *times) {
  memset(times, 0, sizeof *times);
  AMPED_CUDA(cudaEventRecord(c->clock.begin, c->stream));
  AMPED_CUDA(cudaMemsetAsync(args->output, 0, output_bytes, c->stream));
  if (c->layout.resident[mode]) {
    amped_run run = amped_layout_cuda_run(c->plan, &c->layout.copies[mode], c->blocks[mode], 0);
    AMPED_TRY(compute(args, &run, c->plan->modes[mode].rank_nnz[c->plan->rank], kernel));
  }
  AMPED_CUDA(cudaEventRecord(c->clock.end, c->stream));
  if (!c->layout.resident[mode])
    AMPED_TRY(run_streamed(c, mode, kernel, args, times));
  return clock_read(&c->clock, &times->compute_sec);
}
