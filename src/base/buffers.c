/* Buffers of a struct: the list, and what follows from it. */
#include "base/buffers.h"

#include <assert.h>
#include <string.h>

#include "base/huge_pages.h"
#include "base/types.h"

/* More bytes than any machine has; sums of several do not wrap. */
#define TOO_MANY (UINT64_C(1) << 63)

void amped_buffer_add(amped_buffers *b, amped_buffer_kind kind, void *pointer, uint64_t count,
                      uint64_t size) {
  assert(b->count < AMPED_BUFFERS_MAX);
  b->list[b->count++] = (amped_buffer){kind, pointer, count, size, b->what};
}

static uint64_t data_bytes(const amped_buffer *buffer) {
  uint64_t bytes = 0;
  return amped_mul(buffer->count, buffer->size, &bytes) && bytes < TOO_MANY ? bytes : TOO_MANY;
}

static void add(uint64_t *sum, uint64_t bytes) {
  if (!amped_add(*sum, bytes, sum) || *sum > TOO_MANY)
    *sum = TOO_MANY;
}

uint64_t amped_buffer_bytes(const amped_buffer *buffer) {
  const uint64_t bytes = data_bytes(buffer);
  if (bytes == TOO_MANY)
    return TOO_MANY;
  switch (buffer->kind) {
  case AMPED_BUFFER_PART:
    return amped_ceil_div(bytes, AMPED_BUFFER_ALIGNMENT) * AMPED_BUFFER_ALIGNMENT;
  case AMPED_BUFFER_LARGE:
  case AMPED_BUFFER_SPREAD:
    return amped_huge_pages_bytes(bytes);
  default:
    return bytes;
  }
}

void amped_buffers_require(amped_buffers b, uint64_t *device_bytes, uint64_t *host_bytes) {
  for (int i = 0; i < b.count; i++) {
    const amped_buffer_kind kind = b.list[i].kind;
    const bool device = kind == AMPED_BUFFER_DEVICE || kind == AMPED_BUFFER_PART;
    add(device ? device_bytes : host_bytes, amped_buffer_bytes(&b.list[i]));
  }
}

uint64_t amped_buffers_bytes(amped_buffers b) {
  uint64_t sum = 0;
  for (int i = 0; i < b.count; i++)
    add(&sum, data_bytes(&b.list[i]));
  return sum;
}

static amped_status allocate(const amped_buffer *o, int threads) {
  switch (o->kind) {
  case AMPED_BUFFER_HOST:
    return amped_alloc(o->pointer, o->count, o->size, o->what);
  case AMPED_BUFFER_ZEROED:
    return amped_calloc(o->pointer, o->count, o->size, o->what);
  case AMPED_BUFFER_LARGE:
    return amped_huge_pages_alloc(o->pointer, o->count, o->size, o->what);
  case AMPED_BUFFER_SPREAD:
    return amped_huge_pages_calloc(o->pointer, o->count, o->size, threads, o->what);
  default:
    return AMPED_OK;
  }
}

amped_status amped_buffers_allocate(amped_buffers b) {
  for (int i = 0; i < b.count; i++)
    AMPED_TRY(allocate(&b.list[i], b.threads));
  return AMPED_OK;
}

void amped_buffers_free(amped_buffers b) {
  for (int i = 0; i < b.count; i++) {
    void *block = NULL;
    if (b.list[i].kind > AMPED_BUFFER_SPREAD)
      continue;
    memcpy(&block, b.list[i].pointer, sizeof block);
    if (b.list[i].kind >= AMPED_BUFFER_LARGE)
      amped_huge_pages_free(block);
    else
      amped_free(block);
    memset(b.list[i].pointer, 0, sizeof block);
  }
}
