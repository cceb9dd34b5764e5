/* Makes the schedule of a copy, and allocates and uploads it. */
#include "cuda/sorted/work_cuda.h"

#include <cstring>

extern "C" {
#include "base/mem.h"
}

static const int start_threads = 256;

/* --- the first rows of blocks ---------------------------------------------------------------- */

template <typename index>
static __global__ void find_starts(const amped_packed_cuda copy, const amped_block_cuda *blocks,
                                   uint64_t count, amped_block_start_cuda *starts) {
  const uint64_t b = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= count)
    return;
  const uint64_t k = blocks[b].first;
  amped_block_start_cuda start;
  start.entry = static_cast<const index *>(copy.starts)[k / copy.packing.pack];
  start.row = static_cast<const index *>(copy.rows)[start.entry];
  start.begins = copy.bits[k / 32] >> (k % 32) & 1U;
  starts[b] = start;
}

static amped_status read_starts(const amped_packed_cuda *copy, const amped_block_cuda *d_blocks,
                                uint64_t count, amped_block_start_cuda *starts,
                                cudaStream_t stream) {
  void *d_starts = nullptr;
  const unsigned grid = (unsigned)amped_ceil_div(count, (uint64_t)start_threads);
  AMPED_TRY(amped_cuda_malloc(&d_starts, count * sizeof *starts, "the schedule of a copy"));
  if (copy->index_type == AMPED_U32)
    find_starts<uint32_t><<<grid, start_threads, 0, stream>>>(*copy, d_blocks, count,
                                                              (amped_block_start_cuda *)d_starts);
  else
    find_starts<uint64_t><<<grid, start_threads, 0, stream>>>(*copy, d_blocks, count,
                                                              (amped_block_start_cuda *)d_starts);
  amped_status status = amped_cuda_check(cudaGetLastError(), "the schedule kernel");
  if (status == AMPED_OK)
    status = amped_cuda_check(
        cudaMemcpyAsync(starts, d_starts, count * sizeof *starts, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  if (status == AMPED_OK)
    status = amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  amped_cuda_free(d_starts);
  return status;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Allocate one block of memory for all arrays. */
static amped_status allocate(amped_copy_work_cuda *s, const amped_work_cuda_args *a) {
  amped_work_cuda *const w = &s->work;
  const amped_schedule_memory_cuda m =
      amped_schedule_cuda_memory(a->plan, a->mode, &w->cut, w->blocks);
  const uint64_t flags = w->blocks * w->cut.columns;
  AMPED_TRY(amped_cuda_malloc(&s->d_memory, m.outputs + m.carries + m.blocks + m.flags,
                              "the schedule of a copy"));
  char *const at = (char *)s->d_memory + m.outputs;
  w->d_outputs = s->d_memory;
  w->d_carries = at;
  w->d_blocks = (const amped_block_cuda *)(at + m.carries);
  w->d_incoming = (uint32_t *)(at + m.carries + m.blocks);
  w->d_finished = w->d_incoming + flags;
  w->d_ticket = w->d_finished + flags;
  w->d_done = w->d_ticket + 1;
  if (w->parts > 1) {
    AMPED_TRY(amped_cuda_host_alloc((void **)&w->turns, AMPED_MAX_PARTS * sizeof *w->turns,
                                    "the schedule of a copy"));
    memset(w->turns, 0, AMPED_MAX_PARTS * sizeof *w->turns);
  }
  AMPED_CUDA(cudaMemsetAsync(w->d_incoming, 0, m.flags, a->stream));
  return AMPED_OK;
}

static amped_status upload(const amped_copy_work_cuda *s, cudaStream_t stream) {
  AMPED_CUDA(cudaMemcpyAsync((void *)s->work.d_blocks, s->blocks,
                             s->work.blocks * sizeof *s->blocks, cudaMemcpyHostToDevice, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

static amped_status link_blocks(amped_copy_work_cuda *s, const amped_work_cuda_args *a) {
  amped_block_start_cuda *starts = nullptr;
  AMPED_TRY(amped_alloc(&starts, s->work.blocks, sizeof *starts, "the schedule of a copy"));
  amped_status status = read_starts(a->copy, s->work.d_blocks, s->work.blocks, starts, a->stream);
  if (status == AMPED_OK)
    amped_schedule_cuda_link(s->blocks, s->work.blocks, s->work.cut.outputs, starts,
                             amped_work_cuda_block(s, a->parts->shared), s->work.part_ends,
                             s->work.parts);
  amped_free(starts);
  return status;
}

static uint64_t largest(const amped_segment_cuda *segments, uint64_t count) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < count; i++)
    most = segments[i].count > most ? segments[i].count : most;
  return most;
}

uint32_t amped_work_cuda_part(const amped_work_cuda *w, int part) {
  return w->part_ends[part] - (part > 0 ? w->part_ends[part - 1] : 0);
}

/* Set how the copy is cut, and the cache hints of its gathers. */
static void shape(amped_work_cuda *w, const amped_work_cuda_args *a) {
  const amped_mode_plan *m = &a->plan->modes[a->mode];
  w->tiled = a->tiles->count > 1;
  const uint64_t segment = w->tiled
                               ? amped_tiles_cuda_segment(a->tiles, m->copy.rank_nnz[a->plan->rank])
                               : largest(a->segments, a->segment_count);
  amped_schedule_cuda_shape(&w->cut, a->plan, a->mode, segment, a->tiles,
                            a->caches->multiprocessors);
  amped_tiles_cuda_hint(w->hints, a->plan, a->mode, a->tiles, a->caches->l2_bytes);
  w->output_bytes = m->copy.output_rows * amped_plan_row_bytes(a->plan);
}

/* Upload the blocks twice: the GPU finds their first rows, from which the host links them. */
amped_status amped_work_cuda_create(amped_copy_work_cuda *out, const amped_work_cuda_args *a) {
  amped_work_cuda *const w = &out->work;
  memset(out, 0, sizeof *out);
  shape(w, a);
  AMPED_TRY(amped_schedule_cuda_count(a->segments, a->segment_count, w->cut.unit, &w->blocks));
  if (w->blocks == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&out->blocks, w->blocks, sizeof *out->blocks, "the schedule of a copy"));
  amped_schedule_cuda_cut(a->segments, a->segment_count, w->cut.unit, out->blocks);
  /* Several outputs are added up after the last block, so no part of the rows ends before. */
  w->parts = w->cut.outputs > 1 ? 1 : a->parts->count;
  amped_schedule_cuda_parts(out->blocks, w->blocks, a->parts->ends, w->parts, w->part_ends);
  AMPED_TRY(allocate(out, a));
  AMPED_TRY(upload(out, a->stream));
  AMPED_TRY(link_blocks(out, a));
  return upload(out, a->stream);
}

void amped_work_cuda_destroy(amped_copy_work_cuda *s) {
  amped_cuda_free(s->d_memory);
  amped_cuda_host_free(s->work.turns);
  amped_free(s->blocks);
  memset(s, 0, sizeof *s);
}

uint32_t amped_work_cuda_block(const amped_copy_work_cuda *s, uint64_t k) {
  return amped_schedule_cuda_block(s->blocks, s->work.blocks, k);
}
