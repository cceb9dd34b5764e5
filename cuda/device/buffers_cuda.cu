/* Buffers of a struct: traversals of lists with device and pinned memory. */
#include "cuda/device/buffers_cuda.h"

#include <cstring>

#include "cuda/device/device_cuda.h"

/* Bytes of the parts that follow an arena. */
static uint64_t arena_bytes(const amped_buffers *b, int arena) {
  uint64_t bytes = 0;
  for (int i = arena + 1; i < b->count && b->list[i].kind != AMPED_BUFFER_ARENA; i++)
    if (b->list[i].kind == AMPED_BUFFER_PART &&
        !amped_add(bytes, amped_buffer_bytes(&b->list[i]), &bytes))
      bytes = UINT64_MAX;
  return bytes;
}

amped_status amped_buffers_cuda_allocate(amped_buffers b) {
  char *part = nullptr;
  AMPED_TRY(amped_buffers_allocate(b));
  for (int i = 0; i < b.count; i++) {
    const amped_buffer *o = &b.list[i];
    void *block = nullptr;
    if (o->kind == AMPED_BUFFER_DEVICE) {
      AMPED_TRY(amped_cuda_malloc(&block, amped_buffer_bytes(o), o->what));
    } else if (o->kind == AMPED_BUFFER_PINNED) {
      AMPED_TRY(amped_cuda_host_alloc(&block, amped_buffer_bytes(o), o->what));
    } else if (o->kind == AMPED_BUFFER_ARENA) {
      AMPED_TRY(amped_cuda_malloc(&block, arena_bytes(&b, i), o->what));
      part = static_cast<char *>(block);
    } else if (o->kind == AMPED_BUFFER_PART) {
      block = o->count > 0 ? part : nullptr;
      part += amped_buffer_bytes(o);
    } else {
      continue;
    }
    memcpy(o->pointer, &block, sizeof block);
  }
  return AMPED_OK;
}

void amped_buffers_cuda_free(amped_buffers b) {
  for (int i = 0; i < b.count; i++) {
    const amped_buffer *o = &b.list[i];
    void *block = nullptr;
    if (o->kind < AMPED_BUFFER_DEVICE)
      continue;
    memcpy(&block, o->pointer, sizeof block);
    if (o->kind == AMPED_BUFFER_PINNED)
      amped_cuda_host_free(block);
    else if (o->kind != AMPED_BUFFER_PART)
      amped_cuda_free(block);
    memset(o->pointer, 0, sizeof block);
  }
  amped_buffers_free(b);
}
