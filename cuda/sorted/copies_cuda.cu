/* A rank's tensor copies on a GPU: loading, streaming, and passes over their nonzeros. */
#include "cuda/sorted/copies_cuda.h"

#include <cassert>
#include <cstring>

extern "C" {
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
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

/* Convert the time of a GPU event to the host's clock. */
static amped_status host_time(const amped_copies_cuda *c, cudaEvent_t event, double *sec) {
  float milliseconds = 0.0F; /* negative if the event precedes the anchor */
  AMPED_CUDA(cudaEventElapsedTime(&milliseconds, c->anchor, event));
  *sec = c->anchor_sec + (double)milliseconds * 1e-3;
  return AMPED_OK;
}

/* Show a kernel or a transfer of mode in the trace. Transfers never overlap, but the anchors of two
 * MTTKRPs may disagree by some microseconds. The trace therefore shows that a transfer begins after
 * the previous transfer ends. */
static amped_status show(amped_copies_cuda *c, const amped_clock_cuda *clock, amped_phase phase,
                         int mode) {
  amped_lane lane = AMPED_LANE_KERNELS;
  double begin = 0.0;
  double end = 0.0;
  AMPED_TRY(host_time(c, clock->begin, &begin));
  AMPED_TRY(host_time(c, clock->end, &end));
  if (phase == AMPED_PHASE_COPY) {
    lane = AMPED_LANE_TRANSFERS;
    begin = begin > c->transferred_sec ? begin : c->transferred_sec;
    end = end > begin ? end : begin;
    c->transferred_sec = end;
  }
  amped_trace_span(lane, phase, mode, begin, end);
  return AMPED_OK;
}

/* Wait for the end of a timed kernel or transfer of mode, and add its seconds. */
static amped_status clock_read(amped_copies_cuda *c, const amped_clock_cuda *clock,
                               amped_phase phase, int mode, double *seconds) {
  float milliseconds = 0.0F;
  AMPED_CUDA(cudaEventSynchronize(clock->end));
  AMPED_CUDA(cudaEventElapsedTime(&milliseconds, clock->begin, clock->end));
  *seconds += (double)milliseconds * 1e-3;
  return amped_trace_is_on() ? show(c, clock, phase, mode) : AMPED_OK;
}

amped_status amped_copies_cuda_take_back(amped_copies_cuda *c) {
  for (int i = 0; i < 2; i++) {
    c->buffers[i].mode = -1;
    AMPED_TRY(amped_cuda_malloc(&c->buffers[i].d_block, c->layout.piece_bytes,
                                "the buffers that nonzeros are streamed through"));
  }
  return AMPED_OK;
}

void amped_copies_cuda_lend(amped_copies_cuda *c) {
  for (int i = 0; i < 2; i++) {
    amped_cuda_free(c->buffers[i].d_block);
    c->buffers[i].d_block = nullptr;
  }
}

static amped_status create_buffers(amped_copies_cuda *c) {
  for (int i = 0; i < 2; i++) {
    amped_buffer_cuda *buffer = &c->buffers[i];
    AMPED_TRY(clock_create(&buffer->resident));
    AMPED_TRY(clock_create(&buffer->transfer));
    AMPED_TRY(clock_create(&buffer->compute));
  }
  AMPED_CUDA(cudaEventCreate(&c->anchor));
  return amped_copies_cuda_take_back(c);
}

static amped_status list_blocks(amped_copies_cuda *c, uint64_t *bytes) {
  amped_span_cuda span;
  for (int m = 0; m < c->plan->order; m++)
    for (uint64_t k = 0; k < c->layout.nnz[m]; k = span.first + span.count) {
      AMPED_TRY(amped_layout_cuda_span(&c->layout, c->plan, m, k, &span));
      if (!span.resident)
        bytes[span.block] = span.arrays.bytes;
    }
  return AMPED_OK;
}

/* Pin the blocks of all pieces, in the order in which modes are loaded. */
static amped_status start_pinning(amped_copies_cuda *c) {
  const uint64_t count = c->layout.first_block[c->plan->order];
  uint64_t *bytes = nullptr;
  AMPED_TRY(amped_calloc(&bytes, count, sizeof *bytes, "the list of pinned blocks"));
  amped_status status = list_blocks(c, bytes);
  if (status == AMPED_OK)
    status = amped_pinned_cuda_start(&c->pinned, count, bytes);
  amped_free(bytes);
  return status;
}

/* Returns the most bytes of a packed nonzero in any mode. */
static uint64_t most_packed_bytes(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t bytes =
        amped_packing_nonzero_bytes(&plan->modes[m].copy.packing, plan->value_type);
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
  AMPED_TRY(
      amped_cuda_malloc(&k->d_packed, AMPED_PACK_NNZ * most_packed_bytes(plan), "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc((void **)&k->d_ordinals, AMPED_PACK_NNZ * sizeof(uint32_t),
                              "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc(&k->d_scan, scan_bytes, "a piece to pack"));
  AMPED_TRY(amped_cuda_malloc((void **)&k->d_result, sizeof *k->d_result, "a piece to pack"));
  return amped_cuda_host_alloc((void **)&k->result, sizeof *k->result, "a piece to pack");
}

/* Upload the dictionary twice, rounded to the factors' type: stored as doubles, and in that type.
 */
amped_status amped_copies_cuda_create_dictionary(amped_copies_cuda *c) {
  const amped_dictionary *d = c->plan->dictionary;
  double *rounded = nullptr;
  void *narrow = nullptr;
  amped_status status = AMPED_OK;
  if (d->count == 0)
    return AMPED_OK;
  c->ruler = amped_dictionary_ruler(d, c->plan->value_type);
  AMPED_TRY(amped_cuda_malloc((void **)&c->d_dictionary, d->count * sizeof(double),
                              "the dictionary of values"));
  AMPED_TRY(
      amped_cuda_malloc(&c->d_values, d->count * c->plan->value_type, "the dictionary of values"));
  AMPED_TRY(amped_alloc(&rounded, d->count, sizeof *rounded, "the dictionary of values"));
  status = amped_alloc(&narrow, d->count, c->plan->value_type, "the dictionary of values");
  if (status == AMPED_OK) {
    for (uint64_t i = 0; i < d->count; i++) {
      amped_value_put(narrow, c->plan->value_type, i, d->values[i]);
      rounded[i] = amped_value_get(narrow, c->plan->value_type, i);
    }
    status = amped_cuda_check(cudaMemcpyAsync(c->d_dictionary, rounded, d->count * sizeof(double),
                                              cudaMemcpyHostToDevice, c->stream),
                              "cudaMemcpyAsync");
  }
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaMemcpyAsync(c->d_values, narrow, d->count * c->plan->value_type,
                                              cudaMemcpyHostToDevice, c->stream),
                              "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(c->stream), "cudaStreamSynchronize");
  amped_free(narrow);
  amped_free(rounded);
  return status;
}

static uint64_t aligned(uint64_t bytes) {
  return amped_ceil_div(bytes, AMPED_CUDA_ALIGNMENT) * AMPED_CUDA_ALIGNMENT;
}

/* Allocate row bits, row list and row table of a copy. */
static amped_status create_index(amped_copies_cuda *c, int mode, const amped_tiles_cuda *tiles,
                                 amped_copy_cuda *copy) {
  const amped_plan *plan = c->plan;
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t nnz = m->copy.rank_nnz[plan->rank];
  const uint64_t room = amped_tiles_cuda_room(tiles, nnz, m->copy.packing.pack);
  const uint64_t bit_bytes = aligned(amped_packing_bit_words(room) * sizeof(uint32_t));
  copy->last_row = UINT64_MAX;
  copy->rows_capacity = amped_tiles_cuda_list_rows(tiles, nnz, amped_plan_copy_rows(plan, mode));
  if (nnz == 0)
    return AMPED_OK;
  const uint64_t list_bytes = aligned(copy->rows_capacity * plan->index_type);
  AMPED_TRY(amped_cuda_malloc(&copy->d_index,
                              bit_bytes + list_bytes +
                                  amped_packing_packs(&m->copy.packing, room) * plan->index_type,
                              "a copy's row lists"));
  copy->d_bits = (uint32_t *)copy->d_index;
  copy->d_rows = (char *)copy->d_index + bit_bytes;
  copy->d_starts = (char *)copy->d_rows + list_bytes;
  AMPED_CUDA(cudaMemsetAsync(copy->d_bits, 0, bit_bytes, c->stream));
  return AMPED_OK;
}

/* Allocate the memory of a copy: its resident block, and the arrays of its form. The copy has no
 * nonzeros yet. */
static amped_status create_copy(amped_copies_cuda *c, int mode, const amped_tiles_cuda *tiles,
                                amped_copy_cuda *copy) {
  AMPED_TRY(amped_cuda_malloc(&copy->d_block, c->layout.device[mode].bytes, "a tensor copy"));
  return c->form->create_index(c, mode, tiles, copy);
}

static void destroy_copy(amped_copy_cuda *copy) {
  amped_cuda_free(copy->d_block);
  amped_cuda_free(copy->d_index);
  amped_work_cuda_destroy(&copy->work);
  memset(copy, 0, sizeof *copy);
}

static amped_status packer_bytes(const amped_plan *plan, uint64_t *bytes) {
  size_t scan_bytes = 0;
  AMPED_TRY(amped_pack_cuda_scan_bytes(&scan_bytes));
  *bytes = AMPED_PACK_NNZ *
               (amped_plan_nonzero_bytes(plan) + most_packed_bytes(plan) + sizeof(uint32_t)) +
           scan_bytes + sizeof(amped_pack_result) +
           plan->dictionary->count * (sizeof(double) + plan->value_type);
  return AMPED_OK;
}

amped_status amped_copies_cuda_create(amped_copies_cuda *c, const amped_plan *plan,
                                      const amped_copy_form_cuda *form,
                                      const amped_layout_cuda *layout,
                                      const amped_device_cuda *device, cudaStream_t stream) {
  const amped_tiles_cuda none = amped_tiles_cuda_none();
  c->plan = plan;
  c->form = form;
  c->device = device;
  c->layout = *layout;
  c->stream = stream;
  AMPED_CUDA(cudaStreamCreateWithFlags(&c->transfers, cudaStreamNonBlocking));
  AMPED_TRY(create_buffers(c));
  AMPED_TRY(amped_cuda_malloc((void **)&c->d_products, sizeof *c->d_products, "the fit's sums"));
  AMPED_TRY(form->create(c));
  for (int m = 0; m < plan->order; m++)
    AMPED_TRY(create_copy(c, m, &none, &c->copies[m]));
  return start_pinning(c);
}

void amped_copies_cuda_destroy(amped_copies_cuda *c) {
  if (c->transfers != nullptr) {
    (void)cudaStreamSynchronize(c->transfers);
    (void)cudaStreamDestroy(c->transfers);
  }
  if (c->form != nullptr && c->form->destroy != nullptr)
    c->form->destroy(c);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    destroy_copy(&c->copies[m]);
  amped_copies_cuda_lend(c);
  for (int i = 0; i < 2; i++) {
    clock_destroy(&c->buffers[i].resident);
    clock_destroy(&c->buffers[i].transfer);
    clock_destroy(&c->buffers[i].compute);
  }
  if (c->anchor != nullptr)
    (void)cudaEventDestroy(c->anchor);
  amped_pinned_cuda_stop(&c->pinned);
  amped_cuda_free(c->d_products);
  amped_cuda_free(c->packer.d_plain);
  amped_cuda_free(c->packer.d_packed);
  amped_cuda_free(c->packer.d_ordinals);
  amped_cuda_free(c->packer.d_scan);
  amped_cuda_free(c->packer.d_result);
  amped_cuda_host_free(c->packer.result);
  amped_cuda_free(c->d_dictionary);
  amped_cuda_free(c->d_values);
  memset(c, 0, sizeof *c);
}

const void *amped_batch_cuda_array(const amped_plan *plan, const amped_batch *batch, int i) {
  return i == 0 ? batch->rows : i < plan->order ? batch->inputs[i - 1] : batch->values;
}

/* Returns nonzeros first .. first + count - 1 of a batch. */
static amped_batch batch_at(const amped_plan *plan, const amped_batch *batch, uint64_t first,
                            uint64_t count) {
  amped_batch at = *batch;
  at.count = count;
  at.rows = (const char *)batch->rows + first * plan->index_type;
  for (int i = 0; i < plan->order - 1; i++)
    at.inputs[i] = (const char *)batch->inputs[i] + first * plan->index_type;
  at.values = (const char *)batch->values + first * plan->value_type;
  return at;
}

amped_status amped_copies_cuda_next(amped_copies_cuda *c, int mode, amped_span_cuda *span,
                                    void **block, uint64_t *at, uint64_t *room) {
  const amped_copy_cuda *copy = &c->copies[mode];
  AMPED_TRY(amped_layout_cuda_span(&c->layout, c->plan, mode, copy->nnz, span));
  const uint64_t behind = copy->nnz - span->first;
  *at = span->at + behind;
  *room = span->count - behind;
  *block = copy->d_block;
  return span->resident ? AMPED_OK : amped_pinned_cuda_wait(&c->pinned, span->block, block);
}

/* Arguments to pack a device batch as the copy's next nonzeros, at element `at` of a device
 * block. */
static amped_pack_cuda_args pack_args(const amped_copies_cuda *c, int mode,
                                      const amped_batch *d_batch, const amped_arrays_cuda *to,
                                      void *d_block, uint64_t at) {
  const amped_plan *plan = c->plan;
  const amped_copy_cuda *copy = &c->copies[mode];
  amped_pack_cuda_args args = {};
  args.packing = plan->modes[mode].copy.packing;
  args.index_type = plan->index_type;
  args.value_type = plan->value_type;
  args.first = copy->nnz;
  args.count = d_batch->count;
  args.previous_row = copy->last_row;
  args.rows_before = copy->rows;
  args.batch = *d_batch;
  args.dictionary = c->d_dictionary;
  args.codes = plan->dictionary->count;
  for (int i = 0; i < args.packing.planes; i++)
    args.planes[i] = amped_arrays_cuda_at(to, d_block, i, at);
  if (!args.packing.coded)
    args.values = amped_arrays_cuda_at(to, d_block, args.packing.planes, at);
  args.bits = copy->d_bits;
  args.rows = copy->d_rows;
  args.rows_capacity = copy->rows_capacity;
  args.starts = copy->d_starts;
  args.ordinals = c->packer.d_ordinals;
  args.scan = c->packer.d_scan;
  args.result = c->packer.d_result;
  args.stream = c->stream;
  return args;
}

static amped_status check_packed(const amped_pack_result *result, int mode) {
  if (result->strangers > 0)
    return amped_error(AMPED_BAD_INPUT, nullptr,
                       "values of mode %d's copy disagree with the file's dictionary; convert the "
                       "tensor again",
                       mode + 1);
  if (result->descents > 0)
    return amped_error(AMPED_BAD_INPUT, nullptr,
                       "the nonzeros of mode %d's copy are not in order; convert the tensor again",
                       mode + 1);
  return AMPED_OK;
}

/* Pack the first *count nonzeros of a device batch, and append them to the copy. A call packs at
 * most AMPED_PACK_NNZ, and at most to the end of a span. Streamed nonzeros are packed in a device
 * buffer and copied from there to the host. */
static amped_status append_packed(amped_copies_cuda *c, int mode, const amped_batch *d_batch,
                                  uint64_t *count) {
  amped_copy_cuda *copy = &c->copies[mode];
  amped_batch batch = *d_batch;
  amped_span_cuda span;
  amped_arrays_cuda buffer;
  void *block = nullptr;
  uint64_t at = 0;
  uint64_t room = 0;
  AMPED_TRY(amped_copies_cuda_next(c, mode, &span, &block, &at, &room));
  room = room < AMPED_PACK_NNZ ? room : AMPED_PACK_NNZ;
  batch.count = batch.count < room ? batch.count : room;
  AMPED_TRY(
      amped_arrays_cuda_make(&buffer, c->plan, mode, &amped_storage_packed_cuda, AMPED_PACK_NNZ));
  const amped_pack_cuda_args args =
      span.resident ? pack_args(c, mode, &batch, &span.arrays, block, at)
                    : pack_args(c, mode, &batch, &buffer, c->packer.d_packed, 0);
  AMPED_TRY(amped_pack_cuda(&args));
  for (int i = 0; i < buffer.arrays && !span.resident; i++)
    AMPED_CUDA(cudaMemcpyAsync(amped_arrays_cuda_at(&span.arrays, block, i, at),
                               amped_arrays_cuda_at(&buffer, c->packer.d_packed, i, 0),
                               batch.count * buffer.element_bytes[i], cudaMemcpyDeviceToHost,
                               c->stream));
  AMPED_CUDA(cudaMemcpyAsync(c->packer.result, c->packer.d_result, sizeof *c->packer.result,
                             cudaMemcpyDeviceToHost, c->stream));
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  AMPED_TRY(check_packed(c->packer.result, mode));
  copy->nnz += batch.count;
  copy->rows += c->packer.result->rows;
  copy->last_row = c->packer.result->last_row;
  *count = batch.count;
  return AMPED_OK;
}

amped_status amped_copies_cuda_append(amped_copies_cuda *c, int mode, const amped_batch *d_batch) {
  uint64_t count = 0;
  for (uint64_t first = 0; first < d_batch->count; first += count) {
    const amped_batch rest = batch_at(c->plan, d_batch, first, d_batch->count - first);
    AMPED_TRY(c->form->append(c, mode, &rest, &count));
  }
  return AMPED_OK;
}

/* Make a batch of `count` plain nonzeros in the packer's buffer. */
static amped_status set_plain(const amped_copies_cuda *c, int mode, uint64_t count,
                              amped_batch *d_batch) {
  amped_arrays_cuda arrays;
  AMPED_TRY(amped_arrays_cuda_make(&arrays, c->plan, mode, &amped_storage_plain_cuda, count));
  d_batch->count = count;
  d_batch->rows = amped_arrays_cuda_at(&arrays, c->packer.d_plain, 0, 0);
  for (int i = 1; i < c->plan->order; i++)
    d_batch->inputs[i - 1] = amped_arrays_cuda_at(&arrays, c->packer.d_plain, i, 0);
  d_batch->values = amped_arrays_cuda_at(&arrays, c->packer.d_plain, c->plan->order, 0);
  return AMPED_OK;
}

/* Copy a host batch to the packer's buffer. */
static amped_status fetch_plain(amped_copies_cuda *c, int mode, const amped_batch *from,
                                amped_batch *d_batch) {
  AMPED_TRY(set_plain(c, mode, from->count, d_batch));
  for (int i = 0; i <= c->plan->order; i++)
    AMPED_CUDA(cudaMemcpyAsync(
        (void *)amped_batch_cuda_array(c->plan, d_batch, i),
        amped_batch_cuda_array(c->plan, from, i),
        from->count * (i < c->plan->order ? (uint64_t)c->plan->index_type : c->plan->value_type),
        cudaMemcpyDefault, c->stream));
  return AMPED_OK;
}

/* Append a host batch. The arrays in d_plain are aligned, so a little fewer than AMPED_PACK_NNZ
 * nonzeros fit. */
static amped_status upload_packed(amped_copies_cuda *c, int mode, const amped_batch *batch) {
  const uint64_t most = AMPED_PACK_NNZ - AMPED_CUDA_ALIGNMENT;
  for (uint64_t first = 0; first < batch->count; first += most) {
    const uint64_t left = batch->count - first;
    const amped_batch from = batch_at(c->plan, batch, first, left < most ? left : most);
    amped_batch d_batch = {};
    AMPED_TRY(fetch_plain(c, mode, &from, &d_batch));
    AMPED_TRY(amped_copies_cuda_append(c, mode, &d_batch));
  }
  return AMPED_OK;
}

amped_status amped_copies_cuda_upload(amped_copies_cuda *c, int mode, uint64_t offset,
                                      const amped_batch *batch) {
  assert(offset == c->copies[mode].nnz);
  (void)offset;
  return c->form->upload(c, mode, batch);
}

/* --- after loading ---------------------------------------------------------------------------- */

/* Returns the copy's nonzeros from `first` on, which lie in a block from element `at` on. */
static amped_packed_cuda packed_at(const amped_copies_cuda *c, int mode,
                                   const amped_copy_cuda *copy, const amped_arrays_cuda *arrays,
                                   void *d_block, uint64_t at, uint64_t first) {
  const amped_plan *plan = c->plan;
  amped_packed_cuda p = {};
  p.packing = plan->modes[mode].copy.packing;
  p.index_type = plan->index_type;
  p.value_type = plan->value_type;
  p.first = first;
  p.nnz = c->layout.nnz[mode] > first ? c->layout.nnz[mode] - first : 0;
  for (int i = 0; i < p.packing.planes; i++)
    p.planes[i] = amped_arrays_cuda_at(arrays, d_block, i, at);
  if (!p.packing.coded)
    p.values = amped_arrays_cuda_at(arrays, d_block, p.packing.planes, at);
  p.dictionary = c->d_values;
  p.ruler = c->ruler;
  p.bits = copy->d_bits;
  p.rows = copy->d_rows;
  p.starts = copy->d_starts;
  return p;
}

amped_packed_cuda amped_copies_cuda_packed(const amped_copies_cuda *c, int mode,
                                           const amped_span_cuda *span, void *d_block,
                                           uint64_t first) {
  return packed_at(c, mode, &c->copies[mode], &span->arrays, d_block,
                   span->at + (first - span->first), first);
}

/* Returns a wholly resident copy, with the nonzeros that it has now. */
static amped_packed_cuda packed_of(const amped_copies_cuda *c, int mode,
                                   const amped_copy_cuda *copy) {
  return packed_at(c, mode, copy, &c->layout.device[mode], copy->d_block, 0, 0);
}

/* Append nonzeros first .. first + count - 1 of the new order. They are one range, in which rows
 * ascend. */
static amped_status append_range(amped_copies_cuda *c, int mode, const amped_packed_cuda *from,
                                 const void *d_order, uint64_t first, uint64_t count) {
  const uint64_t most = AMPED_PACK_NNZ - AMPED_CUDA_ALIGNMENT;
  c->copies[mode].last_row = UINT64_MAX;
  for (uint64_t done = 0; done < count; done += most) {
    amped_batch batch = {};
    AMPED_TRY(set_plain(c, mode, count - done < most ? count - done : most, &batch));
    AMPED_TRY(
        amped_reorder_cuda_unpack(from, d_order, first + done, batch.count, &batch, c->stream));
    AMPED_TRY(amped_copies_cuda_append(c, mode, &batch));
  }
  return AMPED_OK;
}

/* Record the end of range i of the copy (tiles_cuda.h). Empty ranges count, too. The first ranges
 * are tiles with the rows of all parts. After them each part has `last` ranges. */
static void end_range(amped_copy_cuda *copy, const amped_tiles_cuda *tiles, uint64_t i) {
  const uint64_t shared = amped_tiles_cuda_shared(tiles);
  const uint64_t part = i < shared ? 0 : (i - shared) / tiles->last;
  if (i < shared)
    copy->parts.shared = copy->nnz;
  for (uint64_t p = part; p < (uint64_t)copy->parts.count; p++)
    copy->parts.ends[p] = copy->nnz;
}

/* Rebuild the copy in the new order, one segment per range. A range begins with a pack, so there
 * may be a gap before it. */
static amped_status append_ranges(amped_copies_cuda *c, int mode, const amped_packed_cuda *from,
                                  const void *d_order, amped_segment_cuda *segments) {
  const amped_tiles_cuda *tiles = &c->layout.tiles[mode];
  amped_copy_cuda *copy = &c->copies[mode];
  uint64_t done = 0;
  AMPED_TRY(create_copy(c, mode, tiles, copy));
  copy->parts.count = c->plan->modes[mode].rows.parts;
  for (uint64_t i = 0; i < amped_tiles_cuda_ranges(tiles); i++) {
    copy->nnz = amped_ceil_div(copy->nnz, from->packing.pack) * from->packing.pack;
    segments[i].first = copy->nnz;
    segments[i].new_tile = true;
    AMPED_TRY(append_range(c, mode, from, d_order, done, segments[i].count));
    done += segments[i].count;
    end_range(copy, tiles, i);
  }
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  return AMPED_OK;
}

/* Sort the nonzeros by ranges, and rebuild the copy in this order. segments[i] becomes range i. */
static amped_status order_by_tiles(amped_copies_cuda *c, int mode, amped_segment_cuda *segments) {
  const uint64_t ranges = amped_tiles_cuda_ranges(&c->layout.tiles[mode]);
  amped_copy_cuda old = c->copies[mode];
  const amped_packed_cuda from = packed_of(c, mode, &old);
  uint64_t *range_nnz = nullptr;
  void *d_block = nullptr;
  void *d_order = nullptr;
  AMPED_TRY(amped_alloc(&range_nnz, ranges, sizeof *range_nnz, "the schedule of a copy"));
  memset(&c->copies[mode], 0, sizeof c->copies[mode]);
  amped_status status = amped_reorder_cuda_sort(&from, &c->layout.tiles[mode], range_nnz, &d_block,
                                                &d_order, c->stream);
  for (uint64_t i = 0; i < ranges && status == AMPED_OK; i++)
    segments[i].count = range_nnz[i];
  if (status == AMPED_OK)
    status = append_ranges(c, mode, &from, d_order, segments);
  amped_cuda_free(d_block);
  amped_free(range_nnz);
  destroy_copy(&old);
  return status;
}

/* List the segments of a copy without tiles: its resident spans and its pieces. Set the ends of the
 * copy's parts, too. */
static amped_status list_parts(amped_copies_cuda *c, int mode, amped_segment_cuda *segments,
                               uint64_t *count) {
  amped_copy_cuda *copy = &c->copies[mode];
  copy->parts.count = c->plan->modes[mode].rows.parts;
  for (int i = 0; i < copy->parts.count; i++)
    copy->parts.ends[i] = amped_plan_part_nnz(c->plan, mode, i);
  *count = 0;
  for (uint64_t k = 0; k < c->layout.nnz[mode];) {
    amped_span_cuda span;
    AMPED_TRY(amped_layout_cuda_span(&c->layout, c->plan, mode, k, &span));
    segments[*count].first = span.first;
    segments[*count].count = span.count;
    segments[*count].new_tile = false;
    *count += 1;
    k = span.first + span.count;
  }
  return AMPED_OK;
}

/* List the tiles from an existing schedule. A schedule does not contain tiles without nonzeros;
 * their segments stay empty. */
static void list_tiles(const amped_copy_work_cuda *work, amped_segment_cuda *segments) {
  const amped_block_cuda *blocks = work->blocks;
  for (uint64_t b = 0; b < work->work.blocks; b++) {
    amped_segment_cuda *s = &segments[blocks[b].tile];
    if (b == 0 || blocks[b].tile != blocks[b - 1].tile)
      s->first = blocks[b].first;
    s->count += blocks[b].count;
    s->new_tile = true;
  }
}

/* Make the schedule. segments: zero on entry. If there is a schedule already, the nonzeros are in
 * the order of tiles. */
static amped_status schedule(amped_copies_cuda *c, int mode, amped_segment_cuda *segments) {
  const amped_tiles_cuda *tiles = &c->layout.tiles[mode];
  uint64_t count = amped_tiles_cuda_ranges(tiles);
  if (tiles->count <= 1)
    AMPED_TRY(list_parts(c, mode, segments, &count));
  else if (c->copies[mode].work.blocks == nullptr)
    AMPED_TRY(order_by_tiles(c, mode, segments));
  else
    list_tiles(&c->copies[mode].work, segments);
  amped_work_cuda_destroy(&c->copies[mode].work);
  const amped_packed_cuda packed = packed_of(c, mode, &c->copies[mode]);
  amped_work_cuda_args args = {};
  args.plan = c->plan;
  args.mode = mode;
  args.copy = &packed;
  args.segments = segments;
  args.segment_count = count;
  args.parts = &c->copies[mode].parts;
  args.tiles = tiles;
  args.caches = &c->device->caches;
  args.stream = c->stream;
  return amped_work_cuda_create(&c->copies[mode].work, &args);
}

static amped_status make_schedule(amped_copies_cuda *c, int mode) {
  const uint64_t pieces = c->layout.first_block[mode + 1] - c->layout.first_block[mode];
  amped_segment_cuda *segments = nullptr;
  if (c->layout.nnz[mode] == 0)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&segments,
                         2 * pieces + 1 + amped_tiles_cuda_ranges(&c->layout.tiles[mode]),
                         sizeof *segments, "the schedule of a copy"));
  amped_status status = schedule(c, mode, segments);
  amped_free(segments);
  return status;
}

amped_status amped_copies_cuda_loaded(amped_copies_cuda *c, int mode) {
  assert(c->copies[mode].nnz == c->layout.nnz[mode]);
  return c->form->schedule(c, mode);
}

amped_status amped_copies_cuda_resize(amped_copies_cuda *c, int mode) {
  return c->form->schedule(c, mode);
}

/* --- MTTKRP ----------------------------------------------------------------------------------- */

/* Launch the sorted kernel over a span, AMPED_LAUNCH_NNZ nonzeros at a time. */
static amped_status launch_packed(amped_copies_cuda *c, const amped_mttkrp_task_cuda *task,
                                  const amped_span_cuda *span, void *d_block) {
  amped_copy_cuda *copy = &c->copies[task->mode];
  amped_mttkrp_cuda_args a = *task->args;
  amped_ratio_cuda_args ratio = {};
  a.work = &copy->work.work;
  if (a.ratio != nullptr) {
    ratio = *a.ratio;
    ratio.row_count = copy->rows;
    a.ratio = &ratio;
  }
  const uint32_t end = amped_work_cuda_block(&copy->work, span->first + span->count);
  for (a.first_block = amped_work_cuda_block(&copy->work, span->first); a.first_block < end;
       a.first_block += a.blocks) {
    const uint64_t first = copy->work.blocks[a.first_block].first;
    const uint32_t most = amped_work_cuda_block(&copy->work, first + AMPED_LAUNCH_NNZ);
    a.blocks = (most < end ? most : end) - a.first_block;
    a.packed = amped_copies_cuda_packed(c, task->mode, span, d_block, first);
    AMPED_TRY(amped_mttkrp_cuda(&a));
    copy->work.work.tickets += (uint32_t)(a.blocks * copy->work.work.cut.columns);
  }
  return a.work->cut.outputs > 1 ? amped_mttkrp_cuda_sum(&a) : AMPED_OK;
}

/* Unpack nonzeros first .. first + count - 1 of a span, and pass them to the visitor. */
static amped_status visit_unpacked(amped_copies_cuda *c, int mode,
                                   const amped_visitor_cuda *visitor, const amped_span_cuda *span,
                                   void *d_block, uint64_t first, uint64_t count) {
  const uint64_t most = AMPED_PACK_NNZ - AMPED_CUDA_ALIGNMENT;
  for (uint64_t done = 0; done < count; done += most) {
    const uint64_t k = first + done;
    const uint64_t length = count - done < most ? count - done : most;
    if (k >= visitor->end || k + length <= visitor->begin)
      continue;
    const amped_packed_cuda packed = amped_copies_cuda_packed(c, mode, span, d_block, k);
    amped_batch batch = {};
    AMPED_TRY(set_plain(c, mode, length, &batch));
    AMPED_TRY(amped_reorder_cuda_unpack(&packed, nullptr, 0, batch.count, &batch, c->stream));
    AMPED_TRY(visitor->batch(visitor->self, k, &batch));
  }
  return AMPED_OK;
}

/* Pass all nonzeros of a span to the visitor. The schedule's blocks contain exactly these nonzeros,
 * without the gaps before tiles. Contiguous blocks are passed together. */
static amped_status visit_packed(amped_copies_cuda *c, int mode, const amped_visitor_cuda *visitor,
                                 const amped_span_cuda *span, void *d_block) {
  const amped_copy_work_cuda *work = &c->copies[mode].work;
  const uint32_t end = amped_work_cuda_block(work, span->first + span->count);
  for (uint32_t b = amped_work_cuda_block(work, span->first); b < end;) {
    const uint64_t first = work->blocks[b].first;
    uint64_t count = 0;
    for (; b < end && work->blocks[b].first == first + count; b++)
      count += work->blocks[b].count;
    AMPED_TRY(visit_unpacked(c, mode, visitor, span, d_block, first, count));
  }
  return AMPED_OK;
}

/* Zero the rows that MTTKRP does not store. */
static amped_status zero_packed(const amped_copies_cuda *c, const amped_mttkrp_task_cuda *task) {
  const amped_copy_cuda *copy = &c->copies[task->mode];
  const amped_work_cuda *work = &copy->work.work;
  if (!work->tiled && copy->nnz > 0) {
    const amped_packed_cuda packed = packed_of(c, task->mode, copy);
    return amped_mttkrp_cuda_zero_empty_rows(task->args, &packed, copy->rows, task->output_bytes);
  }
  AMPED_CUDA(cudaMemsetAsync(task->args->output, 0, task->output_bytes, c->stream));
  if (work->cut.outputs > 1)
    AMPED_CUDA(
        cudaMemsetAsync(work->d_outputs, 0, work->cut.outputs * work->output_bytes, c->stream));
  return AMPED_OK;
}

static amped_status create_packing(amped_copies_cuda *c) {
  AMPED_TRY(create_packer(c));
  return amped_copies_cuda_create_dictionary(c);
}

const amped_copy_form_cuda amped_packed_cuda_form = {
    .storage = &amped_storage_packed_cuda,
    .read_bytes = amped_plan_copy_bytes,
    .bytes = packer_bytes,
    .create = create_packing,
    .create_index = create_index,
    .upload = upload_packed,
    .append = append_packed,
    .schedule = make_schedule,
    .zero = zero_packed,
    .launch = launch_packed,
    .visit = visit_packed,
};

/* Wait for the step of mode that last used a buffer, if any, and add up its times. */
static amped_status finish_step(amped_copies_cuda *c, int mode, amped_buffer_cuda *buffer) {
  amped_mttkrp_times *times = &c->times;
  if (buffer->resident_busy)
    AMPED_TRY(clock_read(c, &buffer->resident, AMPED_PHASE_KERNEL, mode, &times->compute_sec));
  buffer->resident_busy = false;
  if (!buffer->piece_busy)
    return AMPED_OK;
  buffer->piece_busy = false;
  if (!buffer->timed)
    AMPED_TRY(clock_read(c, &buffer->transfer, AMPED_PHASE_COPY, mode, &times->copy_sec));
  buffer->timed = true;
  return clock_read(c, &buffer->compute, AMPED_PHASE_KERNEL, mode, &times->compute_sec);
}

/* Transfer a piece to a finished buffer, unless it is there or on its way already. */
static amped_status fetch(amped_copies_cuda *c, int mode, const amped_span_cuda *piece,
                          amped_buffer_cuda *buffer) {
  void *block = nullptr;
  if (buffer->mode == mode && buffer->piece.block == piece->block)
    return AMPED_OK;
  AMPED_TRY(amped_pinned_cuda_wait(&c->pinned, piece->block, &block));
  buffer->mode = mode;
  buffer->piece = *piece;
  buffer->timed = false;
  AMPED_CUDA(cudaEventRecord(buffer->transfer.begin, c->transfers));
  AMPED_CUDA(cudaMemcpyAsync(buffer->d_block, block, piece->arrays.bytes, cudaMemcpyHostToDevice,
                             c->transfers));
  AMPED_CUDA(cudaEventRecord(buffer->transfer.end, c->transfers));
  return AMPED_OK;
}

/* Returns the span that follows in a pass after `done` nonzeros; an empty span at the end. */
static amped_status span_after(const amped_copies_cuda *c, int mode, uint64_t done,
                               amped_span_cuda *span) {
  const uint64_t nnz = c->layout.nnz[mode];
  *span = {};
  return done < nnz ? amped_layout_cuda_span(&c->layout, c->plan, mode,
                                             c->backward ? nnz - 1 - done : done, span)
                    : AMPED_OK;
}

/* State of a pass. */
typedef struct pass_steps {
  int mode;
  const amped_pass_cuda *pass;
  uint64_t done; /* nonzeros whose kernels were launched */
} pass_steps;

/* Launch the first half of a step. The first step of a pass calls its `begin`. If the next span is
 * resident, kernels work on it. Both are timed together. */
static amped_status launch_resident(amped_copies_cuda *c, pass_steps *s,
                                    amped_buffer_cuda *buffer) {
  amped_span_cuda span;
  AMPED_TRY(span_after(c, s->mode, s->done, &span));
  AMPED_CUDA(cudaEventRecord(buffer->resident.begin, c->stream));
  if (s->done == 0)
    AMPED_TRY(s->pass->begin(s->pass->self));
  if (span.resident) {
    AMPED_TRY(s->pass->span(s->pass->self, &span, c->copies[s->mode].d_block));
    s->done += span.count;
  }
  AMPED_CUDA(cudaEventRecord(buffer->resident.end, c->stream));
  buffer->resident_busy = true;
  return AMPED_OK;
}

/* Launch the second half of a step: transfer the next piece, and launch kernels over it. */
static amped_status launch_piece(amped_copies_cuda *c, pass_steps *s, const amped_span_cuda *piece,
                                 amped_buffer_cuda *buffer) {
  AMPED_TRY(fetch(c, s->mode, piece, buffer));
  AMPED_CUDA(cudaStreamWaitEvent(c->stream, buffer->transfer.end, 0));
  AMPED_CUDA(cudaEventRecord(buffer->compute.begin, c->stream));
  AMPED_TRY(s->pass->span(s->pass->self, &buffer->piece, buffer->d_block));
  AMPED_CUDA(cudaEventRecord(buffer->compute.end, c->stream));
  buffer->piece_busy = true;
  s->done += piece->count;
  return AMPED_OK;
}

/* Launch a step: kernels over a resident span, then over a piece in the next buffer. Either may be
 * missing. A step without a piece is the last one. */
static amped_status launch_step(amped_copies_cuda *c, pass_steps *s) {
  amped_buffer_cuda *buffer = &c->buffers[c->turn];
  amped_span_cuda piece;
  AMPED_TRY(finish_step(c, s->mode, buffer));
  AMPED_TRY(launch_resident(c, s, buffer));
  AMPED_TRY(span_after(c, s->mode, s->done, &piece));
  if (piece.count == 0)
    return AMPED_OK;
  AMPED_TRY(launch_piece(c, s, &piece, buffer));
  c->turn ^= 1;
  return AMPED_OK;
}

/* Find the first piece of a pass over mode's copy after *done nonzeros. *done then includes the
 * piece. *found is false if no piece is left. */
static amped_status next_piece(const amped_copies_cuda *c, int mode, uint64_t *done,
                               amped_span_cuda *piece, bool *found) {
  *found = false;
  while (*done < c->layout.nnz[mode] && !*found) {
    AMPED_TRY(span_after(c, mode, *done, piece));
    *done += piece->count;
    *found = !piece->resident;
  }
  return AMPED_OK;
}

/* Returns the next mode whose copy is loaded and has pieces; `mode` if no other mode has. */
static int next_streamed(const amped_copies_cuda *c, int mode) {
  int next = mode;
  do
    next = (next + 1) % c->plan->order;
  while (next != mode && (amped_layout_cuda_streamed(&c->layout, next) == 0 ||
                          c->copies[next].nnz < c->layout.nnz[next]));
  return next;
}

/* Wait for the last steps. Then transfer the first pieces of the sweep's next mode to the buffers.
 * Nonzeros do not change, so these transfers need not wait for the start of that mode. If passes
 * alternate their direction, these pieces are in the buffers already, the last one in the buffer
 * that was used last. */
static amped_status finish_steps(amped_copies_cuda *c, int mode) {
  const int next = next_streamed(c, mode);
  amped_span_cuda piece = {};
  uint64_t done = 0;
  bool found = false;
  if (c->form->turns_round) {
    c->backward = !c->backward;
    c->turn ^= 1;
  }
  for (int i = 0; i < 2; i++) {
    amped_buffer_cuda *buffer = &c->buffers[(c->turn + i) % 2];
    AMPED_TRY(finish_step(c, mode, buffer));
    AMPED_TRY(next_piece(c, next, &done, &piece, &found));
    if (found)
      AMPED_TRY(fetch(c, next, &piece, buffer));
  }
  return AMPED_OK;
}

amped_status amped_copies_cuda_begin_pass(amped_copies_cuda *c, int mode,
                                          const amped_pass_cuda *pass) {
  pass_steps steps = {mode, pass, 0};
  memset(&c->times, 0, sizeof c->times);
  if (amped_trace_is_on()) {
    c->anchor_sec = amped_time();
    AMPED_CUDA(cudaEventRecord(c->anchor, c->stream));
  }
  do
    AMPED_TRY(launch_step(c, &steps));
  while (steps.done < c->layout.nnz[mode]);
  return AMPED_OK;
}

static amped_status begin_mttkrp(void *self) {
  const amped_mttkrp_task_cuda *task = (const amped_mttkrp_task_cuda *)self;
  return task->copies->form->zero(task->copies, task);
}

static amped_status launch_mttkrp(void *self, const amped_span_cuda *span, void *d_block) {
  const amped_mttkrp_task_cuda *task = (const amped_mttkrp_task_cuda *)self;
  return task->copies->form->launch(task->copies, task, span, d_block);
}

amped_status amped_copies_cuda_begin(amped_copies_cuda *c, int mode,
                                     const amped_mttkrp_cuda_args *args, uint64_t output_bytes) {
  amped_mttkrp_task_cuda task = {c, mode, args, output_bytes};
  const amped_pass_cuda pass = {.begin = begin_mttkrp, .span = launch_mttkrp, .self = &task};
  c->copies[mode].work.work.turn++;
  return amped_copies_cuda_begin_pass(c, mode, &pass);
}

/* Wait for the rows of part `part`. The kernel writes to pinned memory, which the host polls. If
 * the kernel fails, the stream's state reports it. */
amped_status amped_copies_cuda_wait(amped_copies_cuda *c, int mode, int part) {
  const amped_work_cuda *w = &c->copies[mode].work.work;
  for (int i = 0; i <= part; i++)
    while (w->parts <= 1 ||
           (amped_work_cuda_part(w, i) > 0 && *(volatile uint32_t *)&w->turns[i] != w->turn)) {
      cudaError_t state = cudaStreamQuery(c->stream);
      if (state == cudaSuccess)
        return AMPED_OK;
      if (state != cudaErrorNotReady)
        return amped_cuda_check(state, "the sorted MTTKRP kernel");
    }
  return AMPED_OK;
}

amped_status amped_copies_cuda_finish(amped_copies_cuda *c, int mode, amped_mttkrp_times *times) {
  AMPED_TRY(finish_steps(c, mode));
  *times = c->times;
  return AMPED_OK;
}

/* --- visits ----------------------------------------------------------------------------------- */

/* Visit a piece of mode's copy in a buffer. The last pass has finished with the buffers; pieces
 * that were transferred for the next pass are transferred again. */
static amped_status visit_piece(amped_copies_cuda *c, int mode, const amped_visitor_cuda *visitor,
                                const amped_span_cuda *piece) {
  amped_buffer_cuda *buffer = &c->buffers[c->turn];
  AMPED_TRY(fetch(c, mode, piece, buffer));
  AMPED_CUDA(cudaStreamWaitEvent(c->stream, buffer->transfer.end, 0));
  AMPED_TRY(c->form->visit(c, mode, visitor, &buffer->piece, buffer->d_block));
  AMPED_CUDA(cudaStreamSynchronize(c->stream));
  return AMPED_OK;
}

amped_status amped_copies_cuda_visit(amped_copies_cuda *c, int mode,
                                     const amped_visitor_cuda *visitor) {
  for (uint64_t k = 0; k < c->layout.nnz[mode];) {
    amped_span_cuda span;
    AMPED_TRY(amped_layout_cuda_span(&c->layout, c->plan, mode, k, &span));
    if (span.resident)
      AMPED_TRY(c->form->visit(c, mode, visitor, &span, c->copies[mode].d_block));
    else if (k < visitor->end && k + span.count > visitor->begin)
      AMPED_TRY(visit_piece(c, mode, visitor, &span));
    k = span.first + span.count;
  }
  return AMPED_OK;
}

static amped_status add_products(void *self, uint64_t, const amped_batch *d_batch) {
  return amped_products_cuda_add((const amped_products_cuda_args *)self, d_batch);
}

amped_status amped_copies_cuda_products(amped_copies_cuda *c, int mode,
                                        const amped_products_cuda_args *args, amped_products *out) {
  amped_products_cuda_args a = *args;
  const amped_visitor_cuda visitor = {
      .batch = add_products, .self = &a, .begin = 0, .end = UINT64_MAX};
  a.d_room = c->d_products;
  AMPED_TRY(amped_products_cuda_begin(&a));
  AMPED_TRY(amped_copies_cuda_visit(c, mode, &visitor));
  return amped_products_cuda_end(&a, out);
}
