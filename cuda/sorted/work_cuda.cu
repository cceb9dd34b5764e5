#include "cuda/sorted/work_cuda.h"

#include <cstring>

extern "C" {
#include "base/mem.h"
}

static const int start_threads = 256;

/* --- what rows blocks begin with -----------------------------------------------------------------
 */

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

/* --- memory --------------------------------------------------------------------------------------
 */

static amped_status allocate(amped_copy_work_cuda *s, const amped_plan *plan, int mode,
                             cudaStream_t stream) {
  amped_work_cuda *const w = &s->work;
  const amped_schedule_memory_cuda m = amped_schedule_cuda_memory(plan, mode, &w->cut, w->blocks);
  const uint64_t flags = w->blocks * w->cut.columns;
  AMPED_TRY(amped_cuda_malloc(&s->d_memory, m.outputs + m.carries + m.blocks + m.flags,
                              "the schedule of a copy"));
  char *const at = (char *)s->d_memory + m.outputs;
  w->d_outputs = s->d_memory;
  w->d_carries = at;
  w->d_blocks = (const amped_block_cuda *)(at + m.carries);
  w->d_arrived = (uint32_t *)(at + m.carries + m.blocks);
  w->d_finished = w->d_arrived + flags;
  w->d_ticket = w->d_finished + flags;
  w->d_done = w->d_ticket + 1;
  if (w->parts > 1) {
    AMPED_TRY(amped_cuda_host_alloc((void **)&w->turns, AMPED_MAX_PARTS * sizeof *w->turns,
                                    "the schedule of a copy"));
    memset(w->turns, 0, AMPED_MAX_PARTS * sizeof *w->turns);
  }
  AMPED_CUDA(cudaMemsetAsync(w->d_arrived, 0, m.flags, stream));
  return AMPED_OK;
}

static amped_status upload(const amped_copy_work_cuda *s, cudaStream_t stream) {
  AMPED_CUDA(cudaMemcpyAsync((void *)s->work.d_blocks, s->blocks,
                             s->work.blocks * sizeof *s->blocks, cudaMemcpyHostToDevice, stream));
  AMPED_CUDA(cudaStreamSynchronize(stream));
  return AMPED_OK;
}

static amped_status link_blocks(amped_copy_work_cuda *s, const amped_packed_cuda *copy,
                                uint64_t shared, cudaStream_t stream) {
  amped_block_start_cuda *starts = nullptr;
  AMPED_TRY(amped_alloc(&starts, s->work.blocks, sizeof *starts, "the schedule of a copy"));
  amped_status status = read_starts(copy, s->work.d_blocks, s->work.blocks, starts, stream);
  if (status == AMPED_OK)
    amped_schedule_cuda_link(s->blocks, s->work.blocks, s->work.cut.outputs, starts,
                             amped_work_cuda_block(s, shared), s->work.part_ends, s->work.parts);
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

amped_status amped_work_cuda_create(amped_copy_work_cuda *out, const amped_plan *plan, int mode,
                                    const amped_packed_cuda *copy,
                                    const amped_segment_cuda *segments, uint64_t count,
                                    const amped_parts_cuda *parts, const amped_tiles_cuda *tiles,
                                    const amped_caches_cuda *caches, cudaStream_t stream) {
  amped_work_cuda *const w = &out->work;
  memset(out, 0, sizeof *out);
  w->tiled = tiles->count > 1;
  const uint64_t tile = amped_tiles_cuda_segment(tiles, plan->modes[mode].rank_nnz[plan->rank]);
  amped_schedule_cuda_shape(&w->cut, plan, mode, w->tiled ? tile : largest(segments, count), tiles,
                            caches->multiprocessors);
  amped_tiles_cuda_hint(w->hints, plan, mode, tiles, caches->l2_bytes);
  w->output_bytes = plan->modes[mode].output_rows * plan->ld * plan->value_type;
  AMPED_TRY(amped_schedule_cuda_count(segments, count, w->cut.unit, &w->blocks));
  if (w->blocks == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&out->blocks, w->blocks, sizeof *out->blocks, "the schedule of a copy"));
  amped_schedule_cuda_cut(segments, count, w->cut.unit, out->blocks);
  w->parts =
      w->cut.outputs > 1 ? 1 : parts->count; /* rows are then added up behind the last block */
  amped_schedule_cuda_parts(out->blocks, w->blocks, parts->ends, w->parts, w->part_ends);
  AMPED_TRY(allocate(out, plan, mode, stream));
  AMPED_TRY(upload(out, stream));
  AMPED_TRY(link_blocks(out, copy, parts->shared, stream));
  return upload(out, stream);
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
