/* Copies between plain host memory and the device through pinned buffers. */
#include "cuda/device/staged_cuda.h"

extern "C" {
#include "base/mem.h"
}

namespace {

/* Bytes of a buffer. There are two: one is copied on the host while the other is transferred. */
constexpr uint64_t piece_bytes = UINT64_C(4) << 20;

/* Least bytes for which buffers are used. */
constexpr uint64_t least_bytes = UINT64_C(1) << 20;

struct stage {
  cudaStream_t stream;
  char *pieces[2]; /* in one block of memory */
  cudaEvent_t arrived[2];
};

void close_stage(stage *s) {
  for (cudaEvent_t event : s->arrived)
    if (event != nullptr)
      (void)cudaEventDestroy(event);
  amped_cuda_host_free(s->pieces[0]);
}

amped_status open_stage(stage *s, cudaStream_t stream) {
  s->stream = stream;
  AMPED_TRY(amped_cuda_host_alloc((void **)&s->pieces[0], 2 * piece_bytes, "transfer buffers"));
  s->pieces[1] = s->pieces[0] + piece_bytes;
  for (cudaEvent_t &event : s->arrived)
    AMPED_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return AMPED_OK;
}

uint64_t bytes_at(uint64_t at, uint64_t bytes) {
  return bytes - at < piece_bytes ? bytes - at : piece_bytes;
}

amped_status put_pieces(const stage *s, char *d_to, const char *from, uint64_t bytes) {
  for (uint64_t at = 0, i = 0; at < bytes; at += piece_bytes, i ^= 1) {
    const uint64_t n = bytes_at(at, bytes);
    AMPED_CUDA(cudaEventSynchronize(s->arrived[i])); /* returns at once if it was never recorded */
    amped_mem_copy(s->pieces[i], from + at, n);
    AMPED_CUDA(cudaMemcpyAsync(d_to + at, s->pieces[i], n, cudaMemcpyHostToDevice, s->stream));
    AMPED_CUDA(cudaEventRecord(s->arrived[i], s->stream));
  }
  return AMPED_OK;
}

amped_status send_piece(const stage *s, const char *d_from, uint64_t at, uint64_t bytes) {
  const uint64_t i = at / piece_bytes % 2;
  if (at >= bytes)
    return AMPED_OK;
  AMPED_CUDA(cudaMemcpyAsync(s->pieces[i], d_from + at, bytes_at(at, bytes), cudaMemcpyDeviceToHost,
                             s->stream));
  AMPED_CUDA(cudaEventRecord(s->arrived[i], s->stream));
  return AMPED_OK;
}

amped_status get_pieces(const stage *s, char *to, const char *d_from, uint64_t bytes) {
  AMPED_TRY(send_piece(s, d_from, 0, bytes));
  for (uint64_t at = 0, i = 0; at < bytes; at += piece_bytes, i ^= 1) {
    AMPED_TRY(send_piece(s, d_from, at + piece_bytes, bytes));
    AMPED_CUDA(cudaEventSynchronize(s->arrived[i]));
    amped_mem_copy(to + at, s->pieces[i], bytes_at(at, bytes));
  }
  return AMPED_OK;
}

/* True for pinned memory, which needs no buffers. */
bool is_pinned(const void *memory) {
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess)
    return attributes.type == cudaMemoryTypeHost;
  (void)cudaGetLastError();
  return false;
}

amped_status copy(void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind,
                  cudaStream_t stream) {
  stage s = {};
  if (bytes == 0)
    return AMPED_OK;
  if (bytes < least_bytes || !amped_cuda_keeps_memory() ||
      is_pinned(kind == cudaMemcpyHostToDevice ? from : to))
    return amped_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
  amped_status status = open_stage(&s, stream);
  if (status == AMPED_OK)
    status = kind == cudaMemcpyHostToDevice
                 ? put_pieces(&s, static_cast<char *>(to), static_cast<const char *>(from), bytes)
                 : get_pieces(&s, static_cast<char *>(to), static_cast<const char *>(from), bytes);
  const amped_status done =
      amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  close_stage(&s);
  return status == AMPED_OK ? done : status;
}

} // namespace

amped_status amped_staged_cuda_put(void *d_to, const void *from, uint64_t bytes,
                                   cudaStream_t stream) {
  return copy(d_to, from, bytes, cudaMemcpyHostToDevice, stream);
}

amped_status amped_staged_cuda_get(void *to, const void *d_from, uint64_t bytes,
                                   cudaStream_t stream) {
  return copy(to, d_from, bytes, cudaMemcpyDeviceToHost, stream);
}
