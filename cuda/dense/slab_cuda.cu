/* Memory of a rank's slab of cells, its streaming through two buffers, and passes over it. */
#include "cuda/dense/slab_cuda.h"

#include <cstring>

extern "C" {
#include "base/mem.h"
}

namespace {

constexpr uint64_t buffers = 2;

uint64_t piece_bytes(const amped_slab_layout_cuda *l, uint64_t number) {
  const amped_slab_visit_cuda v = amped_slab_visit_cuda_at(l, 2 * number + 1);
  return (v.end - v.first) * l->row_bytes;
}

amped_status pin(amped_slab_cuda *s) {
  const uint64_t pieces = amped_slab_pieces_cuda(&s->layout);
  uint64_t *bytes = nullptr;
  if (pieces == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&bytes, pieces, sizeof *bytes, "the sizes of pieces"));
  for (uint64_t i = 0; i < pieces; i++)
    bytes[i] = piece_bytes(&s->layout, i);
  const amped_status status = amped_pinned_cuda_start(&s->pinned, pieces, bytes);
  amped_free(bytes);
  return status;
}

/* Enqueue the transfer of piece `number`, after the kernels that use its buffer's old contents. */
amped_status fetch(amped_slab_cuda *s, uint64_t number) {
  const cudaStream_t in = s->device->stream_in;
  const uint64_t at = number % buffers;
  const uint64_t last = amped_slab_pieces_cuda(&s->layout) - 1;
  void *block = nullptr;
  AMPED_TRY(amped_pinned_cuda_wait(&s->pinned, number, &block));
  AMPED_CUDA(cudaStreamWaitEvent(in, s->used[at], 0));
  AMPED_CUDA(cudaMemcpyAsync(s->d_buffers[at], block, piece_bytes(&s->layout, number),
                             cudaMemcpyHostToDevice, in));
  AMPED_CUDA(cudaEventRecord(s->arrived[at], in));
  if (number == last)
    AMPED_CUDA(cudaEventRecord(s->stop, in));
  return AMPED_OK;
}

amped_status create_event(cudaEvent_t *event, unsigned flags) {
  AMPED_CUDA(cudaEventCreateWithFlags(event, flags));
  return AMPED_OK;
}

} // namespace

amped_status amped_slab_cuda_create(amped_slab_cuda *s, const amped_device *device,
                                    const amped_slab_layout_cuda *layout) {
  s->device = device;
  s->layout = *layout;
  AMPED_TRY(amped_cuda_malloc((void **)&s->d_resident, amped_slab_resident_bytes_cuda(layout),
                              "the cells of the tensor"));
  if (layout->piece == 0)
    return AMPED_OK;
  for (uint64_t i = 0; i < buffers; i++) {
    AMPED_TRY(amped_cuda_malloc((void **)&s->d_buffers[i], layout->piece * layout->row_bytes,
                                "a buffer of streamed cells"));
    AMPED_TRY(create_event(&s->arrived[i], cudaEventDisableTiming));
    AMPED_TRY(create_event(&s->used[i], cudaEventDisableTiming));
  }
  AMPED_TRY(create_event(&s->begin, cudaEventDefault));
  AMPED_TRY(create_event(&s->stop, cudaEventDefault));
  return pin(s);
}

void amped_slab_cuda_destroy(amped_slab_cuda *s) {
  const cudaEvent_t events[] = {s->arrived[0], s->arrived[1], s->used[0],
                                s->used[1],    s->begin,      s->stop};
  if (s->device == nullptr)
    return;
  (void)cudaStreamSynchronize(s->device->stream_in);
  (void)cudaStreamSynchronize(s->device->stream);
  for (cudaEvent_t event : events)
    if (event != nullptr)
      (void)cudaEventDestroy(event);
  if (s->layout.piece > 0)
    amped_pinned_cuda_stop(&s->pinned);
  for (char *d_buffer : s->d_buffers)
    amped_cuda_free(d_buffer);
  amped_cuda_free(s->d_resident);
  *s = {};
}

/* Insert the bytes that lie on the device, or in one piece; *taken: their number. */
static amped_status insert_some(amped_slab_cuda *s, const void *cells, uint64_t bytes,
                                uint64_t *taken) {
  const uint64_t resident = amped_slab_resident_bytes_cuda(&s->layout);
  if (s->filled < resident) {
    *taken = resident - s->filled < bytes ? resident - s->filled : bytes;
    AMPED_CUDA(cudaMemcpyAsync(s->d_resident + s->filled, cells, *taken, cudaMemcpyHostToDevice,
                               s->device->stream));
    AMPED_CUDA(cudaStreamSynchronize(s->device->stream));
    return AMPED_OK;
  }
  const uint64_t all = s->layout.piece * s->layout.row_bytes;
  const uint64_t number = (s->filled - resident) / all;
  const uint64_t at = (s->filled - resident) % all;
  const uint64_t left = piece_bytes(&s->layout, number) - at;
  void *block = nullptr;
  *taken = left < bytes ? left : bytes;
  AMPED_TRY(amped_pinned_cuda_wait(&s->pinned, number, &block));
  memcpy((char *)block + at, cells, *taken);
  return AMPED_OK;
}

amped_status amped_slab_cuda_insert(amped_slab_cuda *s, const void *cells, uint64_t bytes) {
  const char *from = static_cast<const char *>(cells);
  while (bytes > 0) {
    uint64_t taken = 0;
    AMPED_TRY(insert_some(s, from, bytes, &taken));
    s->filled += taken;
    from += taken;
    bytes -= taken;
  }
  return AMPED_OK;
}

amped_status amped_slab_cuda_begin(amped_slab_cuda *s) {
  const uint64_t pieces = amped_slab_pieces_cuda(&s->layout);
  if (pieces == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaEventRecord(s->begin, s->device->stream_in));
  for (uint64_t i = 0; i < buffers && i < pieces; i++)
    AMPED_TRY(fetch(s, i));
  return AMPED_OK;
}

amped_status amped_slab_cuda_cells(amped_slab_cuda *s, const amped_slab_visit_cuda *visit,
                                   const void **d_cells) {
  *d_cells = s->d_resident + visit->first * s->layout.row_bytes;
  if (!visit->streamed)
    return AMPED_OK;
  AMPED_CUDA(cudaStreamWaitEvent(s->device->stream, s->arrived[visit->number % buffers], 0));
  *d_cells = s->d_buffers[visit->number % buffers];
  return AMPED_OK;
}

amped_status amped_slab_cuda_done(amped_slab_cuda *s, const amped_slab_visit_cuda *visit) {
  if (!visit->streamed)
    return AMPED_OK;
  AMPED_CUDA(cudaEventRecord(s->used[visit->number % buffers], s->device->stream));
  if (visit->number + buffers < amped_slab_pieces_cuda(&s->layout))
    return fetch(s, visit->number + buffers);
  return AMPED_OK;
}

amped_status amped_slab_cuda_copy_seconds(const amped_slab_cuda *s, double *seconds) {
  float ms = 0.0F;
  *seconds = 0.0;
  if (s->layout.piece == 0)
    return AMPED_OK;
  AMPED_CUDA(cudaEventElapsedTime(&ms, s->begin, s->stop));
  *seconds = (double)ms * 1e-3;
  return AMPED_OK;
}
