#include "copies_cuda.h"

#include <cassert>
#include <cstring>

extern "C" {
#include "mem.h"
#include "timer.h"
#include "trace.h"
}

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

/* Wait for the end of what was timed, a copy or a kernel of mode, and add its seconds. */
static amped_status clock_read(const amped_copies_cuda *c, const amped_clock_cuda *clock,
                               amped_phase phase, int mode, double *seconds) {
  float milliseconds = 0.0F;
  AMPED_CUDA(cudaEventSynchronize(clock->end));
  AMPED_CUDA(cudaEventElapsedTime(&milliseconds, clock->begin, clock->end));
  *seconds += (double)milliseconds * 1e-3;
  if (amped_trace_is_on()) {
    float since = 0.0F;
    AMPED_CUDA(cudaEventElapsedTime(&since, c->clock.begin, clock->begin));
    const double begin = c->began_sec + (double)since * 1e-3;
    amped_trace_span(phase == AMPED_PHASE_COPY ? AMPED_LANE_TRANSFERS : AMPED_LANE_KERNELS, phase,
                     mode, begin, begin + (double)milliseconds * 1e-3);
  }
  return AMPED_OK;
}

static amped_status create_pieces(amped_copies_cuda *c) {
  for (int i = 0; i < 2; i++) {
    amped_piece_cuda *piece = &c->pieces[i];
    AMPED_TRY(amped_cuda_malloc(&piece->d_block, c->layout.piece_bytes,
                                "the buffers that nonzeros are streamed through"));
    AMPED_TRY(clock_create(&piece->transfer));
    AMPED_TRY(clock_create(&piece->compute));
  }
  return AMPED_OK;
}

/* Bytes of a packed nonzero in whatever mode takes most. */
static uint64_t most_packed_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    uint64_t bytes = amped_packing_nonzero_bytes(&plan->modes[m].packing, plan->value_type);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static amped_status create_packer(amped_copies_cuda *c) {
  const amped_plan *plan = c->plan;
  amped_packer_cuda *k = &c->packer;
  size_t scan_bytes = 0;
  AMPED_TRY(amped_pack_cuda_scan_bytes(&scan_bytes));
  AMPED_TRY(amped_cuda_malloc(&k->d_plain, AMPED_PACK_NNZ * amped_plan_nonzero_bytes(plan),
                              "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc(&k->d_packed, AMPED_PACK_NNZ * most_packed_bytes(plan),
                              "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc((void **)&k->d_ordinals, AMPED_PACK_NNZ * sizeof(uint32_t),
                              "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc(&k->d_scan, scan_bytes, "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc((void **)&k->d_result, sizeof *k->d_result, "a piece to pack"));
  return amped_cuda_host_alloc((void **)&k->result, sizeof *k->result, "a piece to pack");
}

/* The dictionary as factors' type rounds it, as doubles and in that type. */
static amped_status create_dictionary(amped_copies_cuda *c) {
  const amped_dictionary *d = c->plan->dictionary;
  double *rounded = nullptr;
  void *narrow = nullptr;
  amped_status status = AMPED_OK;
  if (d->count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_cuda_malloc((void **)&c->d_dictionary, d->count * sizeof(double),
                              "the dictionary of values"));
  AMPED_TRY(amped_cuda_malloc(&c->d_values, d->count * c->plan->value_type,
                              "the dictionary of values"));
  AMPED_TRY(amped_alloc(&rounded, d->count, sizeof *rounded, "the dictionary of values"));
  status = amped_alloc(&narrow, d->count, c->plan->value_type, "the dictionary of values");
  if (status == AMPED_OK) {
    for (uint64_t i = 0; i < d->count; i++) {
      amped_value_put(narrow, c->plan->value_type, i, d->values[i]);
      rounded[i] = amped_value_get(narrow, c->plan->value_type, i);
    }
    status = amped_cuda_check(cudaMemcpy(c->d_dictionary, rounded, d->count * sizeof(double),
                                         cudaMemcpyHostToDevice),
                              "cudaMemcpy");
  }
  if (status == AMPED_OK)
    status = amped_cuda_check(
        cudaMemcpy(c->d_values, narrow, d->count * c->plan->value_type, cudaMemcpyHostToDevice),
        "cudaMemcpy");
  amped_free(narrow);
  amped_free(rounded);
  return status;
}

static uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

static amped_status create_copy(amped_copies_cuda *c, int mode) {
  const amped_plan *plan = c->plan;
  const amped_mode_plan *m = &plan->modes[mode];
  amped_copy_cuda *copy = &c->copies[mode];
  uint64_t nnz = m->rank_nnz[plan->rank];
  uint64_t bit_bytes = aligned(amped_packing_bit_words(nnz) * sizeof(uint32_t));
  uint64_t row_bytes =
      aligned(amped_packing_list_rows(nnz, m->rank_rows[plan->rank]) * plan->index_type);
  copy->last_row = UINT64_MAX;
  if (c->layout.resident[mode])
    AMPED_TRY(amped_cuda_malloc(&copy->block, c->layout.copies[mode].bytes, "a tensor copy"));
  else
    AMPED_TRY(amped_cuda_host_alloc(&copy->block, c->layout.copies[mode].bytes, "a tensor copy"));
  if (c->layout.plain || nnz == 0)
    return AMPED_OK;
  AMPED_TRY(amped_cuda_malloc(&copy->d_index, c->layout.index_bytes[mode], "a copy's row lists"));
  copy->d_bits = (uint32_t *)copy->d_index;
  copy->d_rows = (char *)copy->d_index + bit_bytes;
  copy->d_starts = (char *)copy->d_rows + row_bytes;
  AMPED_CUDA(cudaMemsetAsync(copy->d_bits, 0, bit_bytes, c->stream));
  return AMPED_OK;
}

amped_status amped_copies_cuda_bytes(const amped_plan *plan, uint64_t *bytes) {
  size_t scan_bytes = 0;
  AMPED_TRY(amped_pack_cuda_scan_bytes(&scan_bytes));
  *bytes = AMPED_PACK_NNZ * (amped_plan_nonzero_bytes(plan) + most_packed_bytes(plan) +
                             sizeof(uint32_t)) +
           scan_bytes + sizeof(amped_pack_result) +
           plan->dictionary->count * (sizeof(double) + plan->value_type);
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
  if (!layout->plain) {
    AMPED_TRY(create_packer(c));
    AMPED_TRY(create_dictionary(c));
  }
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(create_copy(c, m));
  return AMPED_OK;
}

void amped_copies_cuda_destroy(amped_copies_cuda *c) {
  if (c->transfers != nullptr) {
    (void)cudaStreamSynchronize(c->transfers);
    (void)cudaStreamDestroy(c->transfers);
  }
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    if (c->layout.resident[m])
      amped_cuda_free(c->copies[m].block);
    else
      amped_cuda_host_free(c->copies[m].block);
    amped_cuda_free(c->copies[m].d_index);
  }
  for (int i = 0; i < 2; i++) {
    amped_cuda_free(c->pieces[i].d_block);
    clock_destroy(&c->pieces[i].transfer);
    clock_destroy(&c->pieces[i].compute);
  }
  amped_cuda_free(c->packer.d_plain);
  amped_cuda_free(c->packer.d_packed);
  amped_cuda_free(c->packer.d_ordinals);
  amped_cuda_free(c->packer.d_scan);
  amped_cuda_free(c->packer.d_result);
  amped_cuda_host_free(c->packer.result);
  amped_cuda_free(c->d_dictionary);
  amped_cuda_free(c->d_values);
  clock_destroy(&c->clock);
  memset(c, 0, sizeof *c);
}

/* The arrays of a plain run, in the order of a plain layout. */
static const void *plain_array(const amped_plan *plan, const amped_run *run, int i) {
  return i == 0 ? run->rows : i < plan->order ? run->inputs[i - 1] : run->values;
}

static amped_run run_at(const amped_plan *plan, const amped_run *run, uint64_t first,
                        uint64_t count) {
  amped_run at = *run;
  at.count = count;
  at.rows = (const char *)run->rows + first * plan->index_type;
  for (int i = 0; i < plan->order - 1; i++)
    at.inputs[i] = (const char *)run->inputs[i] + first * plan->index_type;
  at.values = (const char *)run->values + first * plan->value_type;
  return at;
}

static amped_status append_plain(amped_copies_cuda *c, int mode, const amped_run *run) {
  const amped_arrays_cuda *arrays = &c->layout.copies[mode];
  amped_copy_cuda *copy = &c->copies[mode];
  for (int i = 0; i < arrays->arrays; i++)
    AMPED_CUDA(cudaMemcpyAsync(amped_arrays_cuda_at(arrays, copy->block, i, copy->nnz),
                               plain_array(c->plan, run, i),
                               run->count * arrays->element_bytes[i], cudaMemcpyDefault,
                               c->stream));
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  copy->nnz += run->count;
  return AMPED_OK;
}

/* Pack one piece of at most AMPED_PACK_NNZ device nonzeros behind the copy. */
static amped_status append_packed(amped_copies_cuda *c, int mode, const amped_run *d_run) {
  const amped_plan *plan = c->plan;
  const amped_packing *packing = &plan->modes[mode].packing;
  const bool resident = c->layout.resident[mode];
  amped_copy_cuda *copy = &c->copies[mode];
  amped_arrays_cuda piece;
  AMPED_TRY(amped_arrays_cuda_make(&piece, plan, mode, false, AMPED_PACK_NNZ));
  const amped_arrays_cuda *to = resident ? &c->layout.copies[mode] : &piece;
  void *const block = resident ? copy->block : c->packer.d_packed;
  const uint64_t at = resident ? copy->nnz : 0;
  amped_pack_cuda_args args = {};
  args.packing = *packing;
  args.index_type = plan->index_type;
  args.value_type = plan->value_type;
  args.first = copy->nnz;
  args.count = d_run->count;
  args.previous_row = copy->last_row;
  args.rows_before = copy->rows;
  args.run = *d_run;
  args.dictionary = c->d_dictionary;
  args.codes = plan->dictionary->count;
  for (int i = 0; i < packing->planes; i++)
    args.planes[i] = amped_arrays_cuda_at(to, block, i, at);
  if (!packing->coded)
    args.values = amped_arrays_cuda_at(to, block, packing->planes, at);
  args.bits = copy->d_bits;
  args.rows = copy->d_rows;
  args.rows_capacity = amped_packing_list_rows(plan->modes[mode].rank_nnz[plan->rank],
                                               plan->modes[mode].rank_rows[plan->rank]);
  args.starts = copy->d_starts;
  args.ordinals = c->packer.d_ordinals;
  args.scan = c->packer.d_scan;
  args.result = c->packer.d_result;
  args.stream = c->stream;
  AMPED_TRY(amped_pack_cuda(&args));
  for (int i = 0; i < to->arrays && !resident; i++)
    AMPED_CUDA(cudaMemcpyAsync(
        amped_arrays_cuda_at(&c->layout.copies[mode], copy->block, i, copy->nnz),
        amped_arrays_cuda_at(to, block, i, 0), d_run->count * to->element_bytes[i],
        cudaMemcpyDeviceToHost, c->stream));
  AMPED_CUDA(cudaMemcpyAsync(c->packer.result, c->packer.d_result, sizeof *c->packer.result,
                             cudaMemcpyDeviceToHost, c->stream));
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  if (c->packer.result->strangers > 0)
    return amped_error(AMPED_BAD_INPUT, nullptr,
                       "copy %d has values that are not in the tensor's list of distinct values; "
                       "convert the tensor again",
                       mode);
  if (c->packer.result->descents > 0)
    return amped_error(AMPED_BAD_INPUT, nullptr,
                       "copy %d is not ordered by its output index; convert the tensor again",
                       mode);
  copy->nnz += d_run->count;
  copy->rows += c->packer.result->rows;
  copy->last_row = c->packer.result->last_row;
  return AMPED_OK;
}

amped_status amped_copies_cuda_append(amped_copies_cuda *c, int mode, const amped_run *d_run) {
  assert(d_run->count <=
         c->plan->modes[mode].rank_nnz[c->plan->rank] - c->copies[mode].nnz);
  if (c->layout.plain)
    return d_run->count > 0 ? append_plain(c, mode, d_run) : AMPED_OK;
  for (uint64_t first = 0; first < d_run->count; first += AMPED_PACK_NNZ) {
    const uint64_t left = d_run->count - first;
    const amped_run piece =
        run_at(c->plan, d_run, first, left < AMPED_PACK_NNZ ? left : AMPED_PACK_NNZ);
    AMPED_TRY(append_packed(c, mode, &piece));
  }
  return AMPED_OK;
}

/* Copy a piece of a host run to the packer's buffer. */
static amped_status fetch_plain(amped_copies_cuda *c, int mode, const amped_run *from,
                                amped_run *d_run) {
  amped_arrays_cuda arrays;
  AMPED_TRY(amped_arrays_cuda_make(&arrays, c->plan, mode, true, from->count));
  d_run->count = from->count;
  for (int i = 0; i < arrays.arrays; i++) {
    void *const to = amped_arrays_cuda_at(&arrays, c->packer.d_plain, i, 0);
    AMPED_CUDA(cudaMemcpyAsync(to, plain_array(c->plan, from, i),
                               from->count * arrays.element_bytes[i], cudaMemcpyDefault,
                               c->stream));
    if (i == 0)
      d_run->rows = to;
    else if (i < c->plan->order)
      d_run->inputs[i - 1] = to;
    else
      d_run->values = to;
  }
  return AMPED_OK;
}

amped_status amped_copies_cuda_upload(amped_copies_cuda *c, int mode, uint64_t offset,
                                      const amped_run *run) {
  /* Alignment of the arrays in d_plain takes a little of its room. */
  const uint64_t most = AMPED_PACK_NNZ - AMPED_CUDA_ALIGNMENT;
  assert(offset == c->copies[mode].nnz);
  (void)offset;
  if (c->layout.plain)
    return amped_copies_cuda_append(c, mode, run);
  for (uint64_t first = 0; first < run->count; first += most) {
    const uint64_t left = run->count - first;
    const amped_run from = run_at(c->plan, run, first, left < most ? left : most);
    amped_run d_run = {};
    AMPED_TRY(fetch_plain(c, mode, &from, &d_run));
    AMPED_TRY(append_packed(c, mode, &d_run));
  }
  return AMPED_OK;
}

/* Run the kernel over count nonzeros from number `first`, which lie at `at` of a block. */
static amped_status compute(amped_copies_cuda *c, int mode, const amped_arrays_cuda *arrays,
                            void *d_block, uint64_t at, uint64_t first, uint64_t count,
                            amped_kernel kernel, const amped_mttkrp_cuda_args *args) {
  const amped_copy_cuda *copy = &c->copies[mode];
  amped_mttkrp_cuda_args a = *args;
  a.first = first;
  a.count = count;
  if (c->layout.plain) {
    a.run.count = count;
    a.run.rows = amped_arrays_cuda_at(arrays, d_block, 0, at);
    for (int i = 1; i < c->plan->order; i++)
      a.run.inputs[i - 1] = amped_arrays_cuda_at(arrays, d_block, i, at);
    a.run.values = amped_arrays_cuda_at(arrays, d_block, c->plan->order, at);
    return amped_mttkrp_cuda(&a, kernel);
  }
  a.packing = c->plan->modes[mode].packing;
  for (int i = 0; i < a.packing.planes; i++)
    a.planes[i] = amped_arrays_cuda_at(arrays, d_block, i, at);
  if (!a.packing.coded)
    a.values = amped_arrays_cuda_at(arrays, d_block, a.packing.planes, at);
  a.dictionary = c->d_values;
  a.bits = copy->d_bits;
  a.rows = copy->d_rows;
  a.starts = copy->d_starts;
  return amped_mttkrp_cuda(&a, kernel);
}

/* Wait until a piece's buffer is free again and add up what its work took. */
static amped_status finish_piece(const amped_copies_cuda *c, int mode, amped_piece_cuda *piece,
                                 amped_mttkrp_times *times) {
  if (!piece->busy)
    return AMPED_OK;
  piece->busy = false;
  AMPED_TRY(clock_read(c, &piece->transfer, AMPED_PHASE_COPY, mode, &times->copy_sec));
  return clock_read(c, &piece->compute, AMPED_PHASE_KERNEL, mode, &times->compute_sec);
}

static amped_status start_piece(amped_copies_cuda *c, int mode, amped_piece_cuda *piece,
                                uint64_t first, uint64_t count, amped_kernel kernel,
                                const amped_mttkrp_cuda_args *args) {
  const amped_arrays_cuda *from = &c->layout.copies[mode];
  amped_arrays_cuda to;
  AMPED_TRY(amped_arrays_cuda_make(&to, c->plan, mode, c->layout.plain, count));
  piece->busy = true;
  AMPED_CUDA(cudaEventRecord(piece->transfer.begin, c->transfers));
  for (int i = 0; i < to.arrays; i++)
    AMPED_CUDA(cudaMemcpyAsync(amped_arrays_cuda_at(&to, piece->d_block, i, 0),
                               amped_arrays_cuda_at(from, c->copies[mode].block, i, first),
                               count * to.element_bytes[i], cudaMemcpyHostToDevice, c->transfers));
  AMPED_CUDA(cudaEventRecord(piece->transfer.end, c->transfers));
  AMPED_CUDA(cudaStreamWaitEvent(c->stream, piece->transfer.end, 0));
  AMPED_CUDA(cudaEventRecord(piece->compute.begin, c->stream));
  AMPED_TRY(compute(c, mode, &to, piece->d_block, 0, first, count, kernel, args));
  AMPED_CUDA(cudaEventRecord(piece->compute.end, c->stream));
  return AMPED_OK;
}

static amped_status run_streamed(amped_copies_cuda *c, int mode, amped_kernel kernel,
                                 const amped_mttkrp_cuda_args *args, amped_mttkrp_times *times) {
  uint64_t nnz = c->plan->modes[mode].rank_nnz[c->plan->rank];
  uint64_t count = 0;
  int turn = 0;
  for (uint64_t first = 0; first < nnz; first += count, turn ^= 1) {
    count = nnz - first < c->layout.piece ? nnz - first : c->layout.piece;
    AMPED_TRY(finish_piece(c, mode, &c->pieces[turn], times));
    AMPED_TRY(start_piece(c, mode, &c->pieces[turn], first, count, kernel, args));
  }
  AMPED_TRY(finish_piece(c, mode, &c->pieces[turn], times));
  return finish_piece(c, mode, &c->pieces[turn ^ 1], times);
}

amped_status amped_copies_cuda_mttkrp(amped_copies_cuda *c, int mode, amped_kernel kernel,
                                      const amped_mttkrp_cuda_args *args, uint64_t output_bytes,
                                      amped_mttkrp_times *times) {
  memset(times, 0, sizeof *times);
  c->began_sec = amped_time();
  AMPED_CUDA(cudaEventRecord(c->clock.begin, c->stream));
  AMPED_CUDA(cudaMemsetAsync(args->output, 0, output_bytes, c->stream));
  if (c->layout.resident[mode])
    AMPED_TRY(compute(c, mode, &c->layout.copies[mode], c->copies[mode].block, 0, 0,
                      c->plan->modes[mode].rank_nnz[c->plan->rank], kernel, args));
  AMPED_CUDA(cudaEventRecord(c->clock.end, c->stream));
  if (!c->layout.resident[mode])
    AMPED_TRY(run_streamed(c, mode, kernel, args, times));
  return clock_read(c, &c->clock, AMPED_PHASE_KERNEL, mode, &times->compute_sec);
}
